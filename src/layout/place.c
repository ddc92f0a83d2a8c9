/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "layout/priv.h"

/*
 * This file computes coordinates: first those of the CAs (in blocks) and of the switches above the blocks, then those
 * of the higher levels.
 */

#define GAP 0.5 /* space between the blocks of two switches */

/*
 * The CAs that stand below each switch, in linked lists. The elements of both arrays are indices of
 * CAs plus 1; 0 ends a list
 */
struct blocks {
	/* first CA of the block of each switch; element nnodes is the block of CAs without a switch */
	unsigned int *first;
	unsigned int *next; /* for each CA, the next CA of its block */
};

/* Return the switch below which a CA stands: the leftmost of the switches to which it is connected. */
static unsigned int home_of(const struct layout *l, const struct layout_graph *g, unsigned int ca)
{
	unsigned int home = (unsigned int)l->nnodes;

	for (unsigned int k = g->start[ca]; k < g->start[ca + 1]; k++) {
		unsigned int s = g->to[k];

		if (l->node[s].is_switch && (home == l->nnodes || l->node[s].x < l->node[home].x))
			home = s;
	}
	return home;
}

/* Build the list of each block in the order of the CAs' indices. */
static void make_blocks(struct layout *l, const struct layout_graph *g, struct blocks *b)
{
	size_t cas = 0;

	for (size_t n = 0; n < l->nnodes; n++)
		cas += !l->node[n].is_switch;
	for (unsigned int n = (unsigned int)l->nnodes; n-- > 0;) {
		struct layout_node *ca = &l->node[n];
		unsigned int home;

		if (ca->is_switch)
			continue;
		home = home_of(l, g, n);
		if (cas > LAYOUT_FOLD && !ca->keep && home < l->nnodes &&
		    g->start[n + 1] - g->start[n] == 1) {
			ca->hidden = true;
			l->node[home].folded++;
			continue;
		}
		b->next[n] = b->first[home];
		b->first[home] = n + 1;
	}
}

/*
 * Return the number of columns of a block of @n CAs; @n is not 0. Up to four CAs stand in one row,
 * and up to 16 CAs in four columns. A larger block has as many columns as the smallest square with
 * room for @n CAs.
 */
static unsigned int columns_of(unsigned int n)
{
	unsigned int c = n < 4 ? n : 4;

	while (c * c < n)
		c++;
	return c;
}

/* Place the CAs of a block from @left on. Returns the width of the block */
static double place_block(struct layout *l, const struct blocks *b, unsigned int home, double left)
{
	unsigned int n = 0, columns, k = 0;

	for (unsigned int c = b->first[home]; c; c = b->next[c - 1])
		n++;
	if (!n)
		return 0;
	columns = columns_of(n);
	for (unsigned int c = b->first[home]; c; c = b->next[c - 1], k++) {
		struct layout_node *ca = &l->node[c - 1];

		ca->row = k / columns;
		ca->x = left + (k % columns + 0.5) * LAYOUT_APART;
		if (ca->row >= l->rows)
			l->rows = ca->row + 1;
	}
	return columns * LAYOUT_APART;
}

static void place_leaves(struct layout *l, const struct layout_order *o, const struct blocks *b)
{
	double left = 0, width;

	for (unsigned int k = 0; l->levels > 1 && k < o->start[2]; k++) {
		width = place_block(l, b, o->at[k], left);
		width = width > LAYOUT_APART ? width : LAYOUT_APART;
		l->node[o->at[k]].x = left + width / 2;
		left += width + GAP;
	}
	width = place_block(l, b, (unsigned int)l->nnodes, left);
	l->width = width > 0 ? left + width : left > 0 ? left - GAP : 0;
}

/* --- a level above */

/* Neighbouring switches of a level that stand at the smallest distance from each other */
struct run {
	/* sum, over the switches of the run, of (best x of the switch - its distance from the first switch) */
	double sum;
	unsigned int n;
};

static double mean(const struct run *r)
{
	return r->sum / r->n;
}

/*
 * Place the switches of a level so that the sum of the squares of their distances from their best places is smallest.
 * Runs that would overlap are merged (pool adjacent violators).
 */
static void place_level(struct layout *l, const struct layout_order *o, unsigned int level,
			struct run *run)
{
	unsigned int from = o->start[level], to = o->start[level + 1], nruns = 0;

	for (unsigned int k = from; k < to; k++) {
		run[nruns++] = (struct run){ l->node[o->at[k]].x, 1 };
		while (nruns > 1 && mean(&run[nruns - 2]) + run[nruns - 2].n * LAYOUT_APART >
					    mean(&run[nruns - 1])) {
			struct run *left = &run[nruns - 2], *right = &run[nruns - 1];

			left->sum += right->sum - right->n * (left->n * LAYOUT_APART);
			left->n += right->n;
			nruns--;
		}
	}
	for (unsigned int r = 0, k = from; r < nruns; r++)
		for (unsigned int i = 0; i < run[r].n; i++)
			l->node[o->at[k++]].x = mean(&run[r]) + i * LAYOUT_APART;
}

/* Return the mean x of a switch's neighbours in the level below; each switch above level 1 has such a neighbour */
static double wish_of(const struct layout *l, const struct layout_graph *g, unsigned int n)
{
	unsigned int count = 0;
	double sum = 0;

	for (unsigned int k = g->start[n]; k < g->start[n + 1]; k++)
		if (l->node[g->to[k]].level + 1 == l->node[n].level) {
			sum += l->node[g->to[k]].x;
			count++;
		}
	return count ? sum / count : 0;
}

/*
 * Move all nodes to the right if a level extends beyond the left border. A level that is wider than
 * the levels below it can do so.
 */
static void shift_right(struct layout *l)
{
	double low = 0, high = l->width;

	for (size_t n = 0; n < l->nnodes; n++) {
		const struct layout_node *m = &l->node[n];

		if (m->hidden)
			continue;
		low = m->x - LAYOUT_APART / 2 < low ? m->x - LAYOUT_APART / 2 : low;
		high = m->x + LAYOUT_APART / 2 > high ? m->x + LAYOUT_APART / 2 : high;
	}
	for (size_t n = 0; n < l->nnodes; n++)
		l->node[n].x -= low;
	l->width = high - low;
}

int layout_coordinates(struct layout *l, const struct layout_graph *g, const struct layout_order *o)
{
	struct run *run = calloc(l->nnodes + 1, sizeof(*run));
	struct blocks b = { .first = calloc(l->nnodes + 1, sizeof(*b.first)),
			    .next = calloc(l->nnodes + 1, sizeof(*b.next)) };
	int status = run && b.first && b.next ? 0 : -ENOMEM;

	l->rows = 0;
	if (!status) {
		make_blocks(l, g, &b);
		place_leaves(l, o, &b);
		for (unsigned int level = 2; level < l->levels; level++) {
			for (unsigned int k = o->start[level]; k < o->start[level + 1]; k++)
				l->node[o->at[k]].x = wish_of(l, g, o->at[k]);
			place_level(l, o, level, run);
		}
		shift_right(l);
	}
	free(run);
	free(b.first);
	free(b.next);
	return status;
}

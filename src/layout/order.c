/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "layout/priv.h"

/*
 * This file orders the switches of each level from left to right. In this file, .x of a switch is
 * its relative place in its level, from 0 to 1.
 */

#define SWEEPS 8 /* number of rounds, each upwards and then downwards; more rounds change little */

/* A switch, and the mean place of its neighbours, which is the best place for the switch */
struct wish {
	double x;
	unsigned int node, was; /* .was: former index in the level; orders switches with equal .x */
};

static int by_wish(const void *pa, const void *pb)
{
	const struct wish *a = pa, *b = pb;

	if (a->x < b->x || a->x > b->x)
		return a->x < b->x ? -1 : 1;
	return a->was < b->was ? -1 : a->was > b->was;
}

/*
 * Return the mean place of the neighbours at @level; if the node has no neighbour at this level,
 * return the node's present place
 */
static double mean_at(const struct layout *l, const struct layout_graph *g, unsigned int n,
		      unsigned int level)
{
	unsigned int count = 0;
	double sum = 0;

	for (unsigned int k = g->start[n]; k < g->start[n + 1]; k++)
		if (l->node[g->to[k]].level == level) {
			sum += l->node[g->to[k]].x;
			count++;
		}
	return count ? sum / count : l->node[n].x;
}

static void spread_out(struct layout *l, const struct layout_order *o, unsigned int level)
{
	unsigned int from = o->start[level], n = o->start[level + 1] - from;

	for (unsigned int k = 0; k < n; k++)
		l->node[o->at[from + k]].x = (k + 0.5) / n;
}

/* Order the switches of @level by the mean places of their neighbours at the level @other. */
static void reorder(struct layout *l, const struct layout_graph *g, struct layout_order *o,
		    struct wish *w, unsigned int level, unsigned int other)
{
	unsigned int from = o->start[level], n = o->start[level + 1] - from;

	for (unsigned int k = 0; k < n; k++) {
		unsigned int node = o->at[from + k];

		w[k] = (struct wish){ mean_at(l, g, node, other), node, k };
	}
	qsort(w, n, sizeof(*w), by_wish);
	for (unsigned int k = 0; k < n; k++)
		o->at[from + k] = w[k].node;
	spread_out(l, o, level);
}

static void collect(struct layout *l, struct layout_order *o)
{
	unsigned int at = 0;

	for (unsigned int level = 1; level < l->levels; level++) {
		o->start[level] = at;
		for (unsigned int n = 0; n < l->nnodes; n++)
			if (l->node[n].level == level)
				o->at[at++] = n;
		o->start[level + 1] = at;
		spread_out(l, o, level);
	}
}

int layout_order_make(struct layout_order *o, struct layout *l, const struct layout_graph *g)
{
	struct wish *w = calloc(l->nnodes + 1, sizeof(*w));

	o->at = calloc(l->nnodes + 1, sizeof(*o->at));
	o->start = calloc(l->levels + 2, sizeof(*o->start));
	if (!w || !o->at || !o->start) {
		free(w);
		return -ENOMEM;
	}
	collect(l, o);
	for (unsigned int k = 0; k < SWEEPS; k++) {
		for (unsigned int level = 2; level < l->levels; level++)
			reorder(l, g, o, w, level, level - 1);
		for (unsigned int level = l->levels; level-- > 2;)
			reorder(l, g, o, w, level - 1, level);
	}
	free(w);
	return 0;
}

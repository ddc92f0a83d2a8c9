/* SPDX-License-Identifier: BSD-2-Clause */
#include "layout/layout.h"

#include <errno.h>
#include <stdlib.h>

#include "layout/priv.h"

#define NO_LEVEL (~0u)

int layout_graph_make(struct layout_graph *g, const struct layout *l)
{
	unsigned int *fill;

	g->start = calloc(l->nnodes + 2, sizeof(*g->start));
	g->to = calloc(2 * l->nlinks + 1, sizeof(*g->to));
	if (!g->start || !g->to)
		return -ENOMEM;
	/*
	 * The neighbours of node n are row n of .to, and start[n] will be where row n begins. The
	 * loops have these tasks:
	 * 1. Count the neighbours of node n in start[n + 2].
	 * 2. Add up the counts. Now row n begins at start[n + 1].
	 * 3. Fill the rows. Each neighbour of node n moves start[n + 1] one place on. At the end,
	 *    start[n + 1] is the end of row n, where row n + 1 begins.
	 */
	fill = g->start + 1;
	for (size_t k = 0; k < l->nlinks; k++) {
		fill[l->link[k].a + 1]++;
		fill[l->link[k].b + 1]++;
	}
	for (size_t k = 1; k <= l->nnodes; k++)
		fill[k] += fill[k - 1];
	for (size_t k = 0; k < l->nlinks; k++) {
		g->to[fill[l->link[k].a]++] = l->link[k].b;
		g->to[fill[l->link[k].b]++] = l->link[k].a;
	}
	return 0;
}

/* --- levels */

static bool has_ca(const struct layout *l, const struct layout_graph *g, unsigned int n)
{
	for (unsigned int k = g->start[n]; k < g->start[n + 1]; k++)
		if (!l->node[g->to[k]].is_switch)
			return true;
	return false;
}

/* Give a level to every switch that can be reached from the switches in the queue. */
static void spread(struct layout *l, const struct layout_graph *g, unsigned int *queue, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned int n = queue[i];

		for (unsigned int k = g->start[n]; k < g->start[n + 1]; k++) {
			struct layout_node *m = &l->node[g->to[k]];

			if (m->level != NO_LEVEL)
				continue;
			m->level = l->node[n].level + 1;
			queue[len++] = g->to[k];
		}
	}
}

int layout_levels(struct layout *l, const struct layout_graph *g)
{
	unsigned int *queue = calloc(l->nnodes + 1, sizeof(*queue));
	size_t len = 0;

	if (!queue)
		return -ENOMEM;
	for (unsigned int n = 0; n < l->nnodes; n++) {
		struct layout_node *m = &l->node[n];

		m->level = m->is_switch ? NO_LEVEL : 0;
		m->row = m->folded = 0;
		m->hidden = false;
		m->x = 0;
		if (m->is_switch && has_ca(l, g, n)) {
			m->level = 1;
			queue[len++] = n;
		}
	}
	spread(l, g, queue, len);
	free(queue);
	l->levels = 1;
	for (size_t n = 0; n < l->nnodes; n++) {
		if (l->node[n].level == NO_LEVEL) /* this part of the fabric has no CA */
			l->node[n].level = 1;
		if (l->node[n].level >= l->levels)
			l->levels = l->node[n].level + 1;
	}
	return 0;
}

/* --- parallel cables */

static void ends(const struct layout_link *k, unsigned int *ret_low, unsigned int *ret_high)
{
	*ret_low = k->a < k->b ? k->a : k->b;
	*ret_high = k->a < k->b ? k->b : k->a;
}

static int by_ends(const void *pa, const void *pb)
{
	const struct layout_link *a = *(struct layout_link *const *)pa,
				 *b = *(struct layout_link *const *)pb;
	unsigned int al, ah, bl, bh;

	ends(a, &al, &ah);
	ends(b, &bl, &bh);
	if (al != bl)
		return al < bl ? -1 : 1;
	if (ah != bh)
		return ah < bh ? -1 : 1;
	return a < b ? -1 : a > b;
}

static bool parallel(const struct layout_link *a, const struct layout_link *b)
{
	unsigned int al, ah, bl, bh;

	ends(a, &al, &ah);
	ends(b, &bl, &bh);
	return al == bl && ah == bh;
}

static int count_parallel(struct layout *l)
{
	struct layout_link **v = calloc(l->nlinks + 1, sizeof(struct layout_link *));

	if (!v)
		return -ENOMEM;
	for (size_t k = 0; k < l->nlinks; k++)
		v[k] = &l->link[k];
	qsort(v, l->nlinks, sizeof(*v), by_ends);
	for (size_t from = 0, to; from < l->nlinks; from = to) {
		for (to = from; to < l->nlinks && parallel(v[from], v[to]); to++)
			v[to]->nth = (unsigned int)(to - from);
		for (size_t k = from; k < to; k++)
			v[k]->of = (unsigned int)(to - from);
	}
	free(v);
	return 0;
}

/* --- all steps */

int layout_place(struct layout *l)
{
	struct layout_graph g = { NULL, NULL };
	struct layout_order o = { NULL, NULL };
	int status = layout_graph_make(&g, l);

	if (!status)
		status = layout_levels(l, &g);
	if (!status)
		status = layout_order_make(&o, l, &g);
	if (!status)
		status = layout_coordinates(l, &g, &o);
	if (!status)
		status = count_parallel(l);
	free(g.start);
	free(g.to);
	free(o.at);
	free(o.start);
	return status;
}

void layout_free(struct layout *l)
{
	for (size_t k = 0; k < l->nnodes; k++) {
		free(l->node[k].name);
		free(l->node[k].note);
	}
	free(l->node);
	free(l->link);
	*l = (struct layout){ 0 };
}

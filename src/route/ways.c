/* SPDX-License-Identifier: BSD-2-Clause */
#include "route/ways.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WAY_MAX 0x7e

int ways_place_cmp(const void *a, const void *b)
{
	const struct ways_place *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->guid < y->guid ? -1 : x->guid > y->guid;
}

struct ways_place *ways_places(const struct sm_router *r)
{
	struct ways_place *v = calloc(r->db->nswitches + 1u, sizeof(*v));

	for (uint32_t s = 0; v && s < r->db->nswitches; s++)
		v[s] = (struct ways_place){ .index = s, .guid = r->db->sw[s]->info.node_guid };
	return v;
}

int ways_init(struct ways *w, const struct sm_router *r, struct ways_place *v)
{
	size_t n = r->db->nswitches;

	w->order = calloc(n + 1, sizeof(*w->order));
	w->at = calloc(n + 1, sizeof(*w->at));
	w->way = malloc(n * n + 1);
	if (!w->order || !w->at || !w->way)
		return -ENOMEM;
	qsort(v, n, sizeof(*v), ways_place_cmp);
	for (uint32_t i = 0; i < n; i++) {
		w->order[v[i].index] = i;
		w->at[i] = v[i].index;
	}
	return 0;
}

void ways_fini(struct ways *w)
{
	free(w->order);
	free(w->at);
	free(w->way);
}

/* Find the switches with a path downwards to @d, by a search from @d along links that go up. */
static void find_down(const struct ways *w, struct sm_router *r, uint32_t d, uint8_t *way)
{
	uint32_t head = 0, tail = 0;

	memset(way, WAY_NONE, r->db->nswitches);
	way[d] = WAY_DOWN;
	r->queue[tail++] = d;
	while (head < tail) {
		uint32_t s = r->queue[head++];

		for (uint32_t e = r->rt->g.first[s]; e < r->rt->g.first[s + 1]; e++) {
			uint32_t to = r->rt->g.edge[e].to;

			if (w->order[to] > w->order[s] || way[to] != WAY_NONE ||
			    way[s] == (WAY_DOWN | WAY_MAX))
				continue;
			way[to] = way[s] + 1;
			r->queue[tail++] = to;
		}
	}
}

/*
 * Find the lengths of the paths from the switches that have no path downwards. Such a switch sends
 * packets up, to the neighbour above it with the shortest path. Neighbours above are earlier in the
 * order, so the lengths of their paths are known already.
 */
static void find_up(const struct ways *w, const struct sm_router *r, uint8_t *way)
{
	for (uint32_t i = 0; i < r->db->nswitches; i++) {
		uint32_t s = w->at[i];

		if (way[s] != WAY_NONE)
			continue;
		for (uint32_t e = r->rt->g.first[s]; e < r->rt->g.first[s + 1]; e++) {
			uint32_t to = r->rt->g.edge[e].to;
			uint8_t via = way[to] & (uint8_t)~WAY_DOWN;

			if (w->order[to] < i && way[to] != WAY_NONE && via < WAY_MAX &&
			    (way[s] == WAY_NONE || via + 1 < way[s]))
				way[s] = via + 1;
		}
	}
}

void ways_row(const struct ways *w, struct sm_router *r, uint32_t d)
{
	uint8_t *way = w->way + (size_t)d * r->db->nswitches;

	find_down(w, r, d, way);
	find_up(w, r, way);
	r->done += 2ul * r->rt->g.first[r->db->nswitches];
}

unsigned int ways_edges(const struct ways *w, const struct sm_router *r, uint32_t s, uint32_t d,
			uint32_t ret[256])
{
	const uint8_t *way = ways_to(w, r, d);
	bool down = way[s] & WAY_DOWN;
	unsigned int count = 0;

	if (way[s] == WAY_NONE)
		return 0;
	for (uint32_t e = r->rt->g.first[s]; e < r->rt->g.first[s + 1]; e++) {
		uint32_t to = r->rt->g.edge[e].to;

		if (way[to] == WAY_NONE || (w->order[to] > w->order[s]) != down)
			continue;
		if (down ? way[to] + 1 == way[s] : (way[to] & ~WAY_DOWN) + 1 == way[s])
			ret[count++] = e;
	}
	return count;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "route/engine.h"

/*
 * DOC: Up-down routing
 *
 * Switches are put in one order: by their hops from a root switch, then by GUID. A link goes up if
 * it leads to the switch that is earlier in the order. A path goes up some links, then down some,
 * and never up again. So no links can wait for each other's buffers in a circle (a credit loop),
 * which minimum hops allow on a ring of five switches.
 *
 * An LFT chooses by destination, not by the link on which a packet came. So a switch that has a
 * path downwards to the destination takes it even if a path upwards is shorter, because a packet
 * that came down to this switch must not go up. All other switches go up.
 *
 * The root is the switch with most links to other switches, and of several the one with the lowest
 * GUID.
 */

#define NO_WAY 0xff
#define DOWN 0x80 /* flag in struct updn.way: the path goes down only */
#define WAY_MAX 0x7e

struct updn {
	uint32_t *order; /* position of each switch in the order, [nswitches] */
	uint32_t *at; /* index of the switch at each position, [nswitches] */
	/* length of the path to the row's switch, with DOWN; or NO_WAY; [nswitches][nswitches] */
	uint8_t *way;
};

static uint32_t links(const struct sm_router *r, uint32_t s)
{
	return r->rt->g.first[s + 1] - r->rt->g.first[s];
}

static uint64_t guid(const struct sm_router *r, uint32_t s)
{
	return r->db->sw[s]->info.node_guid;
}

static uint32_t root_choose(const struct sm_router *r)
{
	uint32_t best = 0;

	for (uint32_t s = 1; s < r->db->nswitches; s++) {
		if (links(r, s) > links(r, best) ||
		    (links(r, s) == links(r, best) && guid(r, s) < guid(r, best)))
			best = s;
	}
	return best;
}

struct place {
	uint32_t rank;
	uint32_t index;
	uint64_t guid;
};

static int place_cmp(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->guid < y->guid ? -1 : x->guid > y->guid;
}

/* Set .rank to the hops from the root. Switches that the root does not reach come last. */
static void rank_from(struct sm_router *r, uint32_t root, struct place *v)
{
	uint32_t head = 0, tail = 0;

	for (uint32_t s = 0; s < r->db->nswitches; s++)
		v[s] = (struct place){ .rank = UINT32_MAX, .index = s, .guid = guid(r, s) };
	v[root].rank = 0;
	r->queue[tail++] = root;
	while (head < tail) {
		uint32_t s = r->queue[head++];

		for (uint32_t e = r->rt->g.first[s]; e < r->rt->g.first[s + 1]; e++) {
			uint32_t to = r->rt->g.edge[e].to;

			if (v[to].rank != UINT32_MAX)
				continue;
			v[to].rank = v[s].rank + 1;
			r->queue[tail++] = to;
		}
	}
}

static void end(struct sm_router *r)
{
	struct updn *u = r->engine_state;

	if (!u)
		return;
	free(u->order);
	free(u->at);
	free(u->way);
	free(u);
	r->engine_state = NULL;
}

static int begin(struct sm_router *r)
{
	size_t n = r->db->nswitches;
	struct place *v = calloc(n + 1, sizeof(*v));
	struct updn *u = calloc(1, sizeof(*u));

	r->engine_state = u;
	if (u) {
		u->order = calloc(n + 1, sizeof(*u->order));
		u->at = calloc(n + 1, sizeof(*u->at));
		u->way = malloc(n * n + 1);
	}
	if (!v || !u || !u->order || !u->at || !u->way) {
		free(v);
		return -ENOMEM; /* end() frees the state: sm_router_destroy() calls it */
	}
	if (n) {
		rank_from(r, root_choose(r), v);
		qsort(v, n, sizeof(*v), place_cmp);
	}
	for (uint32_t i = 0; i < n; i++) {
		u->order[v[i].index] = i;
		u->at[i] = v[i].index;
	}
	free(v);
	return 0;
}

/* Find the switches with a path downwards to @d, by a search from @d along links that go up. */
static void ways_down(struct sm_router *r, uint32_t d, uint8_t *way)
{
	const struct updn *u = r->engine_state;
	uint32_t head = 0, tail = 0;

	memset(way, NO_WAY, r->db->nswitches);
	way[d] = DOWN;
	r->queue[tail++] = d;
	while (head < tail) {
		uint32_t s = r->queue[head++];

		for (uint32_t e = r->rt->g.first[s]; e < r->rt->g.first[s + 1]; e++) {
			uint32_t to = r->rt->g.edge[e].to;

			if (u->order[to] > u->order[s] || way[to] != NO_WAY ||
			    way[s] == (DOWN | WAY_MAX))
				continue;
			way[to] = way[s] + 1;
			r->queue[tail++] = to;
		}
	}
}

/*
 * All other switches go up to the neighbour with the shortest path. Neighbours above are earlier in
 * the order, so their paths are known already.
 */
static void ways_up(struct sm_router *r, uint8_t *way)
{
	const struct updn *u = r->engine_state;

	for (uint32_t i = 0; i < r->db->nswitches; i++) {
		uint32_t s = u->at[i];

		if (way[s] != NO_WAY)
			continue;
		for (uint32_t e = r->rt->g.first[s]; e < r->rt->g.first[s + 1]; e++) {
			uint32_t to = r->rt->g.edge[e].to;
			uint8_t via = way[to] & (uint8_t)~DOWN;

			if (u->order[to] < i && way[to] != NO_WAY && via < WAY_MAX &&
			    (way[s] == NO_WAY || via + 1 < way[s]))
				way[s] = via + 1;
		}
	}
}

static void row(struct sm_router *r, uint32_t d)
{
	const struct updn *u = r->engine_state;
	uint8_t *way = u->way + (size_t)d * r->db->nswitches;

	ways_down(r, d, way);
	ways_up(r, way);
	r->done += 2ul * r->rt->g.first[r->db->nswitches];
}

static unsigned int ports(const struct sm_router *r, uint32_t s, uint32_t d, uint8_t ret[256])
{
	const struct updn *u = r->engine_state;
	const uint8_t *way = u->way + (size_t)d * r->db->nswitches;
	bool down = way[s] & DOWN;
	unsigned int count = 0;

	if (way[s] == NO_WAY)
		return 0;
	for (uint32_t e = r->rt->g.first[s]; e < r->rt->g.first[s + 1]; e++) {
		uint32_t to = r->rt->g.edge[e].to;

		if (way[to] == NO_WAY || (u->order[to] > u->order[s]) != down)
			continue;
		if (down ? way[to] + 1 == way[s] : (way[to] & ~DOWN) + 1 == way[s])
			ret[count++] = r->rt->g.edge[e].port;
	}
	return count;
}

const struct sm_engine sm_engine_updn = {
	.name = "updn",
	.begin = begin,
	.row = row,
	.ports = ports,
	.end = end,
};

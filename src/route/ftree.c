/* SPDX-License-Identifier: BSD-2-Clause */
#include "route/ftree.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * DOC: Fat-tree routing
 *
 * In a fat tree, switches have levels, from the leaf switches with the channel adapters upwards, and each
 * link joins two neighbouring levels. Packets go up to a switch that is above source and destination, and
 * down from there (route/ways.h), so there are no credit loops. The destination of a packet alone decides
 * which of the links upwards the packet takes, by the rule "destination modulo number of links":
 *
 *	destinations are numbered leaf switch by leaf switch; with w[l] parents of each switch of level l, destination j
 *	takes link j / (w[0] * ... * w[l - 1]) modulo w[l] of a switch of level l
 *
 * Then each link upwards has the same number of destinations, and each link downwards of a tree with full
 * bisection has one destination. So if every port sends to the port that is k further in the numbering, no two
 * of these flows share a link. (Collective operations consist of such shift permutations.) ftree_slot.c numbers
 * destinations and links.
 *
 * Where a link or switch is missing, only the destinations that would take this link or switch are distributed over the
 * other links. With LMC, a port has several LIDs. For the i-th of these LIDs,
 * i / (w[0] * ... * w[l - 1]) is added to the number of the link before the modulo.
 *
 * Some pairs of switches have no path that goes up and then down: pairs of topmost switches, and
 * pairs for which every such path has a missing link. Usually only management sends packets between
 * such switches. These packets follow the path to one leaf switch, the hub, until they reach a
 * switch that has a path up and then down to the destination. So packets that came down go up again
 * only at the hub and at switches above the hub.
 *
 * A leaf switch can be the hub only if each switch above it has exactly one switch below that leads
 * to the hub. Then no credit loop arises. A loop would need a packet that goes up from the hub, or
 * from a switch above the hub, and comes back down to the same switch. On its way down, this packet
 * could take only the links on which it went up. But no packet leaves by the link on which it has
 * just come.
 *
 * If a topology is no fat tree, up-down routing is used instead.
 */

#define HUBS_TRIED 64

static void end(struct sm_router *r)
{
	struct ftree *t = r->engine_state;

	if (!t)
		return;
	ways_fini(&t->w);
	free(t->level);
	free(t->slot);
	free(t->nslots);
	free(t->turn);
	free(t->by_switch);
	free(t->by_slot);
	free(t);
	r->engine_state = NULL;
}

/* Tell whether @s, which is above the hub, has exactly one switch below it that leads to the hub. */
static bool one_below(const struct sm_router *r, const struct ways *w, const uint8_t *way,
		      uint32_t s)
{
	uint32_t below = UINT32_MAX;

	for (uint32_t e = r->rt->g.first[s]; e < r->rt->g.first[s + 1]; e++) {
		uint32_t to = r->rt->g.edge[e].to;

		if (w->order[to] < w->order[s] || !way_is_down(way[to]))
			continue;
		if (below != UINT32_MAX && to != below)
			return false;
		below = to;
	}
	return true;
}

/*
 * Tell whether @d can be the hub: all switches have a way to @d, and one_below() is true for the switches above @d.
 */
static bool is_hub(struct sm_router *r, const struct ftree *t, uint32_t d)
{
	const uint8_t *way = ways_to(&t->w, r, d);

	ways_row(&t->w, r, d);
	for (uint32_t s = 0; s < r->db->nswitches; s++) {
		if (way[s] == WAY_NONE ||
		    (s != d && way_is_down(way[s]) && !one_below(r, &t->w, way, s)))
			return false;
	}
	return true;
}

static int find_hub(struct sm_router *r, struct ftree *t)
{
	unsigned int tried = 0;

	for (uint32_t i = r->db->nswitches; i-- > 0 && tried < HUBS_TRIED;) {
		t->hub = t->w.at[i]; /* leaf switches are the last in the order */
		if (t->level[t->hub])
			break;
		if (is_hub(r, t, t->hub))
			return 0;
		tried++;
	}
	snprintf(r->why, sizeof(r->why),
		 "no leaf switch that was tried reaches all switches by a path up and then down");
	return -EINVAL;
}

/* Compute the levels and find a hub. A leaf switch has @fewest or more channel adapters. */
static int attempt(struct sm_router *r, struct ftree *t, uint32_t fewest)
{
	struct ways_place *v;
	int err = ftree_levels(t, r, fewest);

	if (err)
		return err;
	v = ways_places(r);
	if (!v)
		return -ENOMEM;
	for (uint32_t s = 0; s < r->db->nswitches; s++)
		v[s].rank = FTREE_LEVELS - t->level[s]; /* the top comes first */
	ways_fini(&t->w);
	err = ways_init(&t->w, r, v);
	free(v);
	return err ? err : find_hub(r, t);
}

static int make(struct sm_router *r, struct ftree *t)
{
	uint32_t most = ftree_most_adapters(r);
	int err;

	t->level = calloc(r->db->nswitches + 1u, 1);
	t->by_switch = calloc(r->db->nswitches + 1u, 1);
	if (!t->level || !t->by_switch)
		return -ENOMEM;
	if (!most) {
		snprintf(r->why, sizeof(r->why), "no channel adapter is connected to a switch");
		return -EINVAL;
	}
	err = attempt(r, t, 1);
	if (err == -EINVAL && most > 2)
		err = attempt(r, t, (most + 1) / 2);
	if (err)
		return err;
	r->why[0] = '\0';
	return ftree_slots(t, r);
}

static int begin(struct sm_router *r)
{
	struct ftree *t = calloc(1, sizeof(*t));
	int err;

	r->engine_state = t;
	if (!t)
		return -ENOMEM;
	err = make(r, t);
	if (err != -EINVAL)
		return err;
	end(r);
	r->engine = &sm_engine_updn;
	return r->engine->begin(r);
}

static void row(struct sm_router *r, uint32_t d)
{
	const struct ftree *t = r->engine_state;

	ways_row(&t->w, r, d);
}

/*
 * Give each target on switch @d the port of the slot that the target prefers. If no link in
 * @cand has this slot, distribute the target over all links in @cand.
 */
static bool distribute(struct sm_router *r, uint32_t lower, uint32_t d, const uint32_t *cand,
		       unsigned int n, uint8_t *lft, bool *known)
{
	const struct ftree *t = r->engine_state;
	const struct sm_routes *rt = r->rt;
	const uint32_t *turn =
		t->turn + (size_t)t->level[lower] * rt->first_target[r->db->nswitches];
	uint32_t nslots = t->nslots[lower];
	bool changed = false;

	for (uint32_t i = rt->first_target[d]; i < rt->first_target[d + 1]; i++) {
		uint8_t port = t->by_slot[turn[i] % nslots];

		if (!port)
			port = rt->g.edge[cand[turn[i] / nslots % n]].port;
		changed |= route_set(lft, known, rt->target[i].lid, port);
	}
	return changed;
}

static bool pair(struct sm_router *r, uint32_t s, uint32_t d, uint8_t *lft, bool *known)
{
	const struct ftree *t = r->engine_state;
	const struct route_edge *edge = r->rt->g.edge;
	uint32_t lower, cand[256];
	unsigned int n = ways_edges(&t->w, r, s, d, cand);
	bool changed;

	if (!n)
		n = ways_edges(&t->w, r, s, t->hub, cand);
	assert(n); /* is_hub() has checked that all switches have a way to the hub */
	/* the links are numbered by the switch at their lower end */
	lower = t->level[edge[cand[0]].to] < t->level[s] ? edge[cand[0]].to : s;
	for (unsigned int i = 0; i < n; i++)
		t->by_slot[t->slot[cand[i]]] = edge[cand[i]].port;
	changed = distribute(r, lower, d, cand, n, lft, known);
	for (unsigned int i = 0; i < n; i++)
		t->by_slot[t->slot[cand[i]]] = 0;
	return changed;
}

const struct sm_engine sm_engine_ftree = {
	.name = "ftree",
	.begin = begin,
	.row = row,
	.pair = pair,
	.end = end,
};

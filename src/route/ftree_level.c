/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "route/ftree.h"

/*
 * Levels of a fat tree. The level of a switch is the number of hops to the nearest leaf switch, and leaf switches are
 * those with channel adapters. Two kinds of trees need more rules:
 *
 * - Some trees have a few channel adapters, such as those of managers or storage, at switches above the leaf switches.
 *   If the first attempt finds no fat tree, leaf switches are those that have at least half as many channel adapters
 *   as the switch with the most channel adapters (make()).
 * - If all channel adapters of a leaf switch are down, the search gives this switch a level above its neighbours,
 *   which is wrong. A switch that is really above its neighbours joins parts of the tree that have no other
 *   connection below its level. So if all neighbours of a switch belong to one such part, the switch is a leaf switch
 *   without adapters (leads_to_one_part()). Its level is then reduced by 2, and so is one lower
 *   than that of its neighbours.
 */

#define NO_LEVEL 0xff

static uint32_t adapters(const struct sm_router *r, uint32_t s)
{
	uint32_t count = 0;

	for (uint32_t i = r->rt->first_target[s]; i < r->rt->first_target[s + 1]; i++) {
		const struct route_target *t = &r->rt->target[i];

		count += t->port && r->db->by_lid[t->lid]->lid == t->lid;
	}
	return count;
}

/* Set .level to the hops from the nearest leaf switch (@fewest or more channel adapters). */
static void search(struct ftree *t, struct sm_router *r, uint32_t fewest)
{
	uint32_t head = 0, tail = 0;

	memset(t->level, NO_LEVEL, r->db->nswitches);
	for (uint32_t s = 0; s < r->db->nswitches; s++) {
		if (adapters(r, s) < fewest)
			continue;
		t->level[s] = 0;
		r->queue[tail++] = s;
	}
	while (head < tail) {
		uint32_t s = r->queue[head++];

		for (uint32_t e = r->rt->g.first[s]; e < r->rt->g.first[s + 1]; e++) {
			uint32_t to = r->rt->g.edge[e].to;

			if (t->level[to] != NO_LEVEL || t->level[s] == NO_LEVEL - 1)
				continue;
			t->level[to] = t->level[s] + 1;
			r->queue[tail++] = to;
		}
	}
}

/*
 * Search from the first neighbour of @s over links below the level of @s. Return: true if all neighbours of @s are
 * one level below @s, and the search reaches all of them
 */
static bool leads_to_one_part(const struct ftree *t, struct sm_router *r, uint32_t s)
{
	const struct route_graph *g = &r->rt->g;
	uint8_t *seen = t->by_switch;
	uint32_t head = 0, tail = 0;

	for (uint32_t e = g->first[s]; e < g->first[s + 1]; e++) {
		if (t->level[g->edge[e].to] + 1 != t->level[s])
			return false;
	}
	memset(seen, 0, r->db->nswitches);
	r->queue[tail++] = g->edge[g->first[s]].to;
	seen[r->queue[0]] = 1;
	while (head < tail) {
		uint32_t x = r->queue[head++];

		for (uint32_t e = g->first[x]; e < g->first[x + 1]; e++) {
			uint32_t to = g->edge[e].to;

			if (seen[to] || t->level[to] >= t->level[s])
				continue;
			seen[to] = 1;
			r->queue[tail++] = to;
		}
	}
	for (uint32_t e = g->first[s]; e < g->first[s + 1]; e++) {
		if (!seen[g->edge[e].to])
			return false;
	}
	return true;
}

static void sink_empty_leaves(struct ftree *t, struct sm_router *r)
{
	for (uint32_t s = 0; s < r->db->nswitches; s++) {
		if (t->level[s] >= 2 && t->level[s] != NO_LEVEL && leads_to_one_part(t, r, s))
			t->level[s] -= 2;
	}
}

static const char *desc(const struct sm_router *r, uint32_t s)
{
	return r->db->sw[s]->desc;
}

/* Tell whether each link joins neighbouring levels, and there are not too many levels. */
static bool judge(struct ftree *t, struct sm_router *r)
{
	const struct route_graph *g = &r->rt->g;

	t->nlevels = 0;
	for (uint32_t s = 0; s < r->db->nswitches; s++) {
		unsigned int l = t->level[s];

		if (l >= FTREE_LEVELS) {
			snprintf(r->why, sizeof(r->why),
				 "\"%s\" is more than %u switches away from the channel adapters",
				 desc(r, s), FTREE_LEVELS - 1);
			return false;
		}
		if (l >= t->nlevels)
			t->nlevels = l + 1;
		for (uint32_t e = g->first[s]; e < g->first[s + 1]; e++) {
			uint32_t to = g->edge[e].to;

			if (t->level[to] + 1u == l || t->level[to] == l + 1)
				continue;
			snprintf(r->why, sizeof(r->why),
				 "the cable at \"%s\" port %u leads from level %u to level %u, to "
				 "\"%s\"",
				 desc(r, s), g->edge[e].port, l, t->level[to], desc(r, to));
			return false;
		}
	}
	return true;
}

uint32_t ftree_most_adapters(const struct sm_router *r)
{
	uint32_t most = 0;

	for (uint32_t s = 0; s < r->db->nswitches; s++) {
		if (adapters(r, s) > most)
			most = adapters(r, s);
	}
	return most;
}

int ftree_levels(struct ftree *t, struct sm_router *r, uint32_t fewest)
{
	search(t, r, fewest);
	sink_empty_leaves(t, r);
	return judge(t, r) ? 0 : -EINVAL;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "subnet/routes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t edges_of(const struct sm_node *sw, struct route_edge *ret)
{
	uint32_t n = 0;

	for (unsigned int p = 1; p <= sw->info.nports; p++) {
		const struct sm_node *to = sm_port_switch_behind(&sw->port[p]);

		if (to)
			ret[n++] = (struct route_edge){ (uint8_t)p, to->sw->index };
	}
	return n;
}

static int graph_alloc(struct route_graph *g, const struct sm_db *db)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < db->nswitches; s++)
		n += db->sw[s]->info.nports;
	g->edge = calloc(n + 1, sizeof(*g->edge));
	g->first = calloc(db->nswitches + 1u, sizeof(*g->first));
	return g->edge && g->first ? 0 : -ENOMEM;
}

static void graph_free(struct route_graph *g)
{
	free(g->edge);
	free(g->first);
}

static int graph_build(struct route_graph *g, const struct sm_db *db)
{
	uint32_t n = 0;

	if (graph_alloc(g, db))
		return -ENOMEM;
	for (uint32_t s = 0; s < db->nswitches; s++) {
		g->first[s] = n;
		n += edges_of(db->sw[s], g->edge + n);
	}
	g->first[db->nswitches] = n;
	return 0;
}

static bool is_among(const struct sm_node *s, struct sm_node *const *at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (at[i] == s)
			return true;
	}
	return false;
}

int sm_routes_relink(struct sm_routes *rt, const struct sm_db *db, struct sm_node *const *at,
		     uint32_t n)
{
	struct route_graph g, *old = &rt->g;
	uint32_t sum = 0;

	if (graph_alloc(&g, db)) {
		graph_free(&g);
		return -ENOMEM;
	}
	for (uint32_t s = 0; s < db->nswitches; s++) {
		uint32_t count = old->first[s + 1] - old->first[s];

		g.first[s] = sum;
		if (is_among(db->sw[s], at, n))
			count = edges_of(db->sw[s], g.edge + sum);
		else
			memcpy(g.edge + sum, old->edge + old->first[s], count * sizeof(*g.edge));
		sum += count;
	}
	g.first[db->nswitches] = sum;
	graph_free(old);
	rt->g = g;
	return 0;
}

/* Set .run of the @n targets @t of one switch. The targets are in the order of their LIDs. */
static void runs_count(struct route_target *t, uint32_t n)
{
	for (uint32_t i = n; i-- > 0;) {
		bool more = i + 1 < n && t[i].port && t[i + 1].port && t[i + 1].lid == t[i].lid + 1;

		t[i].run = (uint16_t)(more ? t[i + 1].run + 1 : 1);
	}
}

static int targets_build(struct sm_routes *rt, const struct sm_db *db)
{
	uint32_t *fill;
	uint8_t port;

	rt->target = calloc(db->top_lid + 1u, sizeof(*rt->target));
	rt->first_target = calloc(db->nswitches + 2u, sizeof(*rt->first_target));
	rt->lid = calloc(db->nswitches + 1u, sizeof(*rt->lid));
	if (!rt->target || !rt->first_target || !rt->lid)
		return -ENOMEM;
	for (uint32_t s = 0; s < db->nswitches; s++)
		rt->lid[s] = db->sw[s]->port[0].lid;

	/*
	 * The LIDs of each switch are counted in first_target[index + 2], and the counts are added
	 * up. Then first_target[index + 1] is the index in target[] at which the LIDs of the switch
	 * begin. This value grows by one with each LID that is entered, so at the end it is the
	 * index at which the LIDs of the next switch begin.
	 */
	for (unsigned int lid = 1; lid <= db->top_lid; lid++) {
		struct sm_node *at = sm_port_attachment(db->by_lid[lid], &port);

		if (at)
			rt->first_target[at->sw->index + 2]++;
	}
	for (uint32_t s = 2; s <= db->nswitches; s++)
		rt->first_target[s] += rt->first_target[s - 1];
	fill = rt->first_target + 1;
	for (unsigned int lid = 1; lid <= db->top_lid; lid++) {
		struct sm_node *at = sm_port_attachment(db->by_lid[lid], &port);

		if (at)
			rt->target[fill[at->sw->index]++] =
				(struct route_target){ .lid = (uint16_t)lid, .port = port };
	}
	for (uint32_t s = 0; s < db->nswitches; s++)
		runs_count(rt->target + rt->first_target[s],
			   rt->first_target[s + 1] - rt->first_target[s]);
	return 0;
}

struct sm_routes *sm_routes_create(const struct sm_db *db)
{
	struct sm_routes *rt = calloc(1, sizeof(*rt));

	if (rt && graph_build(&rt->g, db) == 0 && targets_build(rt, db) == 0)
		return rt;
	sm_routes_free(rt);
	return NULL;
}

void sm_routes_free(struct sm_routes *rt)
{
	if (!rt)
		return;
	graph_free(&rt->g);
	free(rt->target);
	free(rt->first_target);
	free(rt->lid);
	free(rt);
}

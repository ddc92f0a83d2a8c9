/* SPDX-License-Identifier: BSD-2-Clause */
#include "subnet/route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "subnet/engine.h"
#include "util/list.h"

/*
 * DOC: Unicast routing
 *
 * A breadth-first search from every switch gives the matrix of hops. Then, for each switch, a
 * routing engine names the ports that lead to each other switch. Each destination on that switch
 * gets the one of these ports that has the fewest destinations so far. Parallel links are ports
 * like any others. Destinations are taken in the order in which their switches were discovered,
 * LIDs and ports in ascending order. So the same subnet with the same LIDs gets the same tables.
 *
 * A thousand switches need tens of millions of decisions. They are made switch by switch, so that
 * the data for them (port loads, hops of the neighbours) stays in the cache, and in slices, so that
 * the event loop is not held up.
 */

static const struct sm_engine *const engines[] = {
	&sm_engine_minhop,
	&sm_engine_updn,
};

const struct sm_engine *sm_engine_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
		if (strcmp(engines[i]->name, name) == 0)
			return engines[i];
	}
	return NULL;
}

const char *sm_engine_name(const struct sm_engine *e)
{
	return e ? e->name : sm_engine_minhop.name;
}

static int graph_build(struct sm_router *r)
{
	struct sm_db *db = r->db;
	uint32_t n = 0;

	for (uint32_t s = 0; s < db->nswitches; s++)
		n += db->sw[s]->info.nports;
	r->g.edge = calloc(n + 1, sizeof(*r->g.edge));
	r->g.first = calloc(db->nswitches + 1u, sizeof(*r->g.first));
	if (!r->g.edge || !r->g.first)
		return -ENOMEM;

	n = 0;
	for (uint32_t s = 0; s < db->nswitches; s++) {
		struct sm_node *sw = db->sw[s];

		r->g.first[s] = n;
		for (unsigned int p = 1; p <= sw->info.nports; p++) {
			struct sm_node *to = sm_port_switch_behind(&sw->port[p]);

			if (to)
				r->g.edge[n++] = (struct route_edge){ (uint8_t)p, to->sw->index };
		}
	}
	r->g.first[db->nswitches] = n;
	return 0;
}

static void hops_from(struct sm_router *r, uint32_t from)
{
	uint32_t n = r->db->nswitches, head = 0, tail = 0;
	uint8_t *row = r->db->hops + (size_t)from * n;

	memset(row, SM_HOPS_NONE, n);
	row[from] = 0;
	r->done += r->g.first[n];
	r->queue[tail++] = from;
	while (head < tail) {
		uint32_t s = r->queue[head++];

		for (uint32_t e = r->g.first[s]; e < r->g.first[s + 1]; e++) {
			uint32_t to = r->g.edge[e].to;

			if (row[to] != SM_HOPS_NONE || row[s] >= IB_MAX_HOPS)
				continue;
			row[to] = row[s] + 1;
			r->queue[tail++] = to;
		}
	}
}

static int targets_build(struct sm_router *r)
{
	struct sm_db *db = r->db;
	uint32_t *fill;
	uint8_t port;

	r->target = calloc(db->top_lid + 1u, sizeof(*r->target));
	r->first_target = calloc(db->nswitches + 2u, sizeof(*r->first_target));
	if (!r->target || !r->first_target)
		return -ENOMEM;

	/*
	 * The LIDs of each switch are counted in first_target[index + 2], and the counts are added
	 * up. Then first_target[index + 1] is where the LIDs of the switch begin. It advances with
	 * each LID that is entered, so at the end it is where the next switch begins.
	 */
	for (unsigned int lid = 1; lid <= db->top_lid; lid++) {
		struct sm_node *at = sm_port_attachment(db->by_lid[lid], &port);

		if (at)
			r->first_target[at->sw->index + 2]++;
	}
	for (uint32_t s = 2; s <= db->nswitches; s++)
		r->first_target[s] += r->first_target[s - 1];
	fill = r->first_target + 1;
	for (unsigned int lid = 1; lid <= db->top_lid; lid++) {
		struct sm_node *at = sm_port_attachment(db->by_lid[lid], &port);

		if (at)
			r->target[fill[at->sw->index]++] =
				(struct route_target){ (uint16_t)lid, port };
	}
	return 0;
}

/*
 * Distribute targets [@t .. @end) over the ports @cand. Each target gets the port with the lowest
 * load, and of several the first. Every port whose load equals @level gets one target before the
 * level rises.
 */
static void spread(struct sm_router *r, uint8_t *lft, const uint8_t *cand, unsigned int n,
		   const struct route_target *t, const struct route_target *end)
{
	uint32_t level = 0;
	unsigned int i = n;

	while (t < end) {
		while (i < n && r->load[cand[i]] != level)
			i++;
		if (i == n) {
			level = r->load[cand[0]];
			for (i = 1; i < n; i++)
				if (r->load[cand[i]] < level)
					level = r->load[cand[i]];
			i = 0;
			continue;
		}
		lft[t->lid] = cand[i];
		/*
		 * Targets with port 0 are the switches themselves. They do not count, because they
		 * get little traffic.
		 */
		if (t->port)
			r->load[cand[i++]]++;
		t++;
	}
}

/* Set the egress ports of switch @s for all targets on switch @d. */
static void route_pair(struct sm_router *r, uint32_t s, uint32_t d, uint8_t *lft)
{
	const struct route_target *t = r->target + r->first_target[d];
	const struct route_target *end = r->target + r->first_target[d + 1];
	unsigned int ncand;
	uint8_t cand[256];

	if (s == d) {
		for (; t < end; t++)
			lft[t->lid] = t->port;
		return;
	}
	ncand = r->engine->ports(r, s, d, cand);
	if (ncand)
		spread(r, lft, cand, ncand, t, end);
}

static int route_switch(struct sm_router *r, uint32_t s)
{
	struct sm_db *db = r->db;
	struct sm_switch *sw = db->sw[s]->sw;
	size_t len = (db->top_lid / SMP_LFT_PER_BLOCK + 1u) * SMP_LFT_PER_BLOCK;

	sw->lft = malloc(len);
	if (!sw->lft)
		return -ENOMEM;
	memset(sw->lft, SMP_LFT_NONE, len);
	sw->lft_top = db->top_lid;
	memset(r->load, 0, sizeof(r->load));
	for (uint32_t d = 0; d < db->nswitches; d++)
		route_pair(r, s, d, sw->lft);
	r->done += (size_t)(r->g.first[s + 1] - r->g.first[s] + 1) * db->nswitches + db->top_lid;
	return 0;
}

int sm_router_create(struct sm_router **ret, struct sm_db *db, const struct sm_engine *e)
{
	struct sm_router *r = calloc(1, sizeof(*r));
	size_t n = db->nswitches;

	if (!r)
		return -ENOMEM;
	r->db = db;
	r->engine = e ? e : &sm_engine_minhop;
	db->hops = malloc(n * n + 1);
	r->queue = calloc(n + 1, sizeof(*r->queue));
	if (!db->hops || !r->queue || graph_build(r) || targets_build(r) ||
	    (r->engine->begin && r->engine->begin(r))) {
		sm_router_destroy(r);
		return -ENOMEM;
	}
	*ret = r;
	return 0;
}

void sm_router_destroy(struct sm_router *r)
{
	if (!r)
		return;
	if (r->engine->end)
		r->engine->end(r);
	free(r->g.edge);
	free(r->g.first);
	free(r->target);
	free(r->first_target);
	free(r->queue);
	free(r);
}

int sm_router_run(struct sm_router *r, size_t steps, struct sm_node **ret)
{
	uint32_t n = r->db->nswitches;
	int err;

	*ret = NULL;
	for (; r->next_row < n; r->next_row++) {
		if (r->done >= steps)
			goto pause;
		hops_from(r, r->next_row);
		if (r->engine->row)
			r->engine->row(r, r->next_row);
	}
	if (r->next_switch == n)
		return 0;
	if (r->done >= steps)
		goto pause;
	err = route_switch(r, r->next_switch);
	if (!err)
		*ret = r->db->sw[r->next_switch++];
	return err;
pause:
	r->done = 0;
	return -EAGAIN;
}

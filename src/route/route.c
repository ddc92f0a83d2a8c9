/* SPDX-License-Identifier: BSD-2-Clause */
#include "route/route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "route/engine.h"
#include "util/list.h"

/*
 * DOC: Unicast routing
 *
 * A breadth-first search from every switch gives the matrix of hops. Then, for each switch, a
 * routing engine names the ports that lead to each other switch. The destinations on that switch
 * take these ports in turn. Parallel links are treated as any other ports. The port with which the
 * distribution begins depends only on the LID of the destinations' switch. So the same subnet with
 * the same LIDs gets the same tables, in whatever order it was discovered. A change of the topology
 * changes the entries only for those destinations to which other ports lead now. A rule that
 * compares the loads of ports would distribute more evenly, but each change of a cable would change
 * nearly every table near it.
 *
 * A thousand switches need tens of millions of decisions. The decisions are made switch by switch,
 * so that the data for them (the LFT, the hops of the neighbours) stays in the cache. They are made
 * in slices, so that the event loop is not delayed.
 */

/*
 * spread() doubles its list of candidates until the list has RUN_COPY entries or more. RUN_COPY
 * must not exceed 128, because the array of the list has 256 places.
 */
#define RUN_COPY 64
#define GOLDEN_32 2654435769u /* 2^32 divided by the golden ratio */

static const struct sm_engine *const engines[] = {
	&sm_engine_minhop,
	&sm_engine_updn,
	&sm_engine_ftree,
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

/* Set the entries of @n successive LIDs to @port[]. Return: true if an entry changed */
static bool run_set(uint8_t *lft, bool *known, uint16_t lid, const uint8_t *port, unsigned int n)
{
	bool changed = memcmp(lft + lid, port, n) != 0;

	for (unsigned int i = 0; i < n && changed && known; i++)
		route_set(lft, known, (uint16_t)(lid + i), port[i]);
	if (changed && !known)
		memcpy(lft + lid, port, n);
	return changed;
}

/*
 * Distribute targets [@t .. @end), which are all on one switch D, over the ports @cand, in turn.
 * The LID of D (@lid) decides the first port: the LID is multiplied by the golden ratio, and the
 * fraction of the product selects the port in @cand. So the targets of two switches with the same
 * candidates begin at different ports, even if the LIDs of the switches are at equal distances. The
 * choice depends on nothing else. So if the candidates for D change, packets to other switches keep
 * their ports.
 *
 * The hosts of a switch mostly have successive LIDs, so that memcpy() can write many entries at once. For this purpose
 * @cand is repeated until it is long enough.
 */
static bool spread(uint8_t *lft, bool *known, uint8_t cand[256], unsigned int n, uint16_t lid,
		   const struct route_target *t, const struct route_target *end)
{
	unsigned int i = (unsigned int)((uint64_t)(lid * GOLDEN_32) * n >> 32);
	unsigned int long_enough = end - t < RUN_COPY ? (unsigned int)(end - t) : RUN_COPY;
	bool changed = false;

	for (; n < long_enough; n *= 2)
		memcpy(cand + n, cand, n);
	while (t < end) {
		unsigned int len = t->run < n - i ? t->run : n - i;

		changed |= run_set(lft, known, t->lid, cand + i, len);
		/*
		 * Targets with port 0 are the switches themselves. They do not count in the distribution, because
		 * they get little traffic.
		 */
		i = t->port ? i + len : i;
		i = i < n ? i : 0;
		t += len;
	}
	return changed;
}

bool sm_router_pair(struct sm_router *r, uint32_t s, uint32_t d, uint8_t *lft, bool *known)
{
	const struct route_target *t = r->rt->target + r->rt->first_target[d];
	const struct route_target *end = r->rt->target + r->rt->first_target[d + 1];
	bool changed = false;
	unsigned int ncand;
	uint8_t cand[256];

	if (s == d) {
		for (; t < end; t++)
			changed |= route_set(lft, known, t->lid, t->port);
		return changed;
	}
	if (r->engine->pair)
		return r->engine->pair(r, s, d, lft, known);
	ncand = r->engine->ports(r, s, d, cand);
	if (ncand)
		return spread(lft, known, cand, ncand, r->rt->lid[d], t, end);
	for (; t < end; t++)
		changed |= route_set(lft, known, t->lid, SMP_LFT_NONE);
	return changed;
}

static int route_switch(struct sm_router *r, uint32_t s)
{
	struct sm_db *db = r->db;
	struct sm_switch *sw = db->sw[s]->sw;

	sw->lft = sm_lft_create(db->top_lid);
	if (!sw->lft)
		return -ENOMEM;
	sw->lft_top = db->top_lid;
	for (uint32_t d = 0; d < db->nswitches; d++)
		sm_router_pair(r, s, d, sw->lft->port, NULL);
	r->done += (size_t)(r->rt->g.first[s + 1] - r->rt->g.first[s] + 1) * db->nswitches +
		   db->top_lid;
	return 0;
}

struct sm_router *sm_router_open(struct sm_db *db, const struct sm_engine *e)
{
	struct sm_router *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->db = db;
	r->engine = e ? e : &sm_engine_minhop;
	r->rt = db->routes;
	r->queue = calloc(db->nswitches + 1u, sizeof(*r->queue));
	if (r->queue)
		return r;
	sm_router_destroy(r);
	return NULL;
}

int sm_router_create(struct sm_router **ret, struct sm_db *db, const struct sm_engine *e)
{
	size_t n = db->nswitches;
	struct sm_router *r;

	sm_routes_free(db->routes);
	db->routes = sm_routes_create(db);
	r = db->routes ? sm_router_open(db, e) : NULL;
	if (!r)
		return -ENOMEM;
	db->hops = malloc(n * n + 1);
	if (!db->hops || (r->engine->begin && r->engine->begin(r))) {
		sm_router_destroy(r);
		return -ENOMEM;
	}
	*ret = r;
	return 0;
}

const char *sm_router_why(const struct sm_router *r)
{
	return r->why;
}

const struct sm_engine *sm_router_engine(const struct sm_router *r)
{
	return r->engine;
}

void sm_router_destroy(struct sm_router *r)
{
	if (!r)
		return;
	if (r->engine->end)
		r->engine->end(r);
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
		if (r->next_row % ROUTE_ROWS == 0 && sm_router_rows(r, r->next_row))
			return -ENOMEM;
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

/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "route/engine.h"

/*
 * DOC: Following changes of links
 *
 * In a correct row of the matrix of hops, the switch of the row has 0 hops. Every other switch has
 * one hop more than its neighbour with the fewest hops. A wrong row does not have this property. A
 * link that is added or removed changes only the neighbours of the two switches at its ends. So a
 * row that still has the property at these two switches is still correct, and all other rows are
 * computed again.
 *
 * The ports by which a switch S sends to a destination switch depend on the links of S, and on the
 * hops from S and from its neighbours to the destination. So the ports are computed again only for
 * the pairs of switches for which such a link or number of hops has changed.
 */

struct reroute {
	struct sm_router *r;
	/*
	 * for each switch, a bit mask of .words words: the destination switches for which the ports of the
	 * switch have to be computed again
	 */
	uint64_t *stale;
	size_t words;
	uint8_t *before; /* copy of a row before the row is computed again, [nswitches] */
};

bool sm_engine_is_local(const struct sm_engine *e)
{
	return (e ? e : &sm_engine_minhop)->local;
}

static void mark(struct reroute *x, uint32_t s, uint32_t d)
{
	x->stale[s * x->words + d / 64] |= 1ull << d % 64;
}

static bool row_holds(const struct sm_router *r, const uint8_t *row, uint32_t from, uint32_t s)
{
	uint8_t lowest = SM_HOPS_NONE;

	if (s == from)
		return true;
	for (uint32_t e = r->rt->g.first[s]; e < r->rt->g.first[s + 1]; e++) {
		if (row[r->rt->g.edge[e].to] < lowest)
			lowest = row[r->rt->g.edge[e].to];
	}
	return row[s] == (lowest < IB_MAX_HOPS ? lowest + 1 : SM_HOPS_NONE);
}

static void row_again(struct reroute *x, uint32_t from)
{
	struct sm_router *r = x->r;
	uint32_t n = r->db->nswitches;
	const uint8_t *row = r->db->hops + (size_t)from * n;

	memcpy(x->before, row, n);
	sm_router_row(r, from);
	for (uint32_t d = 0; d < n; d++) {
		if (row[d] == x->before[d])
			continue;
		mark(x, from, d);
		for (uint32_t e = r->rt->g.first[from]; e < r->rt->g.first[from + 1]; e++)
			mark(x, r->rt->g.edge[e].to, d);
	}
}

static void rows_update(struct reroute *x, struct sm_node *const *at, uint32_t nat)
{
	const struct sm_db *db = x->r->db;
	uint32_t n = db->nswitches;

	for (uint32_t from = 0; from < n; from++) {
		const uint8_t *row = db->hops + (size_t)from * n;
		bool holds = true;

		for (uint32_t i = 0; i < nat && holds; i++)
			holds = row_holds(x->r, row, from, at[i]->sw->index);
		if (!holds)
			row_again(x, from);
	}
	for (uint32_t i = 0; i < nat; i++) {
		for (uint32_t d = 0; d < n; d++)
			mark(x, at[i]->sw->index, d);
	}
}

/* Compute the outdated LFT entries of a switch. Return: true if an entry changed */
static bool table_update(struct reroute *x, uint32_t s)
{
	struct sm_fdb *f = x->r->db->sw[s]->sw->fdb;
	const uint64_t *stale = x->stale + s * x->words;
	bool changed = false;

	for (size_t w = 0; w < x->words; w++) {
		for (uint64_t bits = stale[w]; bits; bits &= bits - 1)
			changed |= sm_router_pair(
				x->r, s, (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(bits),
				f->lft->port, f->lft_known);
	}
	return changed;
}

int sm_reroute(struct sm_db *db, const struct sm_engine *e, struct sm_node *const *at, uint32_t n,
	       void (*changed)(void *ctx, struct sm_node *s), void *ctx)
{
	struct reroute x = { .words = db->nswitches / 64 + 1u };
	int err = -ENOMEM;

	x.r = sm_router_open(db, e);
	x.stale = calloc(db->nswitches * x.words, sizeof(*x.stale));
	x.before = malloc(db->nswitches + 1u);
	if (x.r && x.stale && x.before && sm_routes_relink(db->routes, db, at, n) == 0) {
		err = 0;
		rows_update(&x, at, n);
		for (uint32_t s = 0; s < db->nswitches; s++) {
			if (table_update(&x, s))
				changed(ctx, db->sw[s]);
		}
	}
	sm_router_destroy(x.r);
	free(x.stale);
	free(x.before);
	return err;
}

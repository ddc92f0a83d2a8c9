/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "route/engine.h"

/* This file computes the matrix of hops between switches, one row or many rows at a time. */

#define WORDS (ROUTE_ROWS / 64)

void sm_router_row(struct sm_router *r, uint32_t from)
{
	uint32_t n = r->db->nswitches, head = 0, tail = 0;
	uint8_t *row = r->db->hops + (size_t)from * n;

	memset(row, SM_HOPS_NONE, n);
	row[from] = 0;
	r->done += r->rt->g.first[n];
	r->queue[tail++] = from;
	while (head < tail) {
		uint32_t s = r->queue[head++];

		for (uint32_t e = r->rt->g.first[s]; e < r->rt->g.first[s + 1]; e++) {
			uint32_t to = r->rt->g.edge[e].to;

			if (row[to] != SM_HOPS_NONE || row[s] >= IB_MAX_HOPS)
				continue;
			row[to] = row[s] + 1;
			r->queue[tail++] = to;
		}
	}
}

/*
 * Breadth-first searches run from ROUTE_ROWS switches at the same time. Each switch has this struct, with a bit for
 * each search. Many searches reach a switch after the same number of hops, so one look at a link serves many searches.
 */
struct search {
	/* searches that reached the switch for the first time in their latest hop */
	uint64_t front[WORDS];
	/* searches that reach the switch in their next hop, also if they have reached it before */
	uint64_t next[WORDS];
	uint64_t seen[WORDS]; /* searches that have reached the switch in any hop */
};

static bool is_empty(const uint64_t bits[WORDS])
{
	uint64_t any = 0;

	for (unsigned int w = 0; w < WORDS; w++)
		any |= bits[w];
	return !any;
}

static void hop(const struct route_graph *g, uint32_t n, struct search *v)
{
	for (uint32_t s = 0; s < n; s++) {
		if (is_empty(v[s].front))
			continue;
		for (uint32_t e = g->first[s]; e < g->first[s + 1]; e++) {
			for (unsigned int w = 0; w < WORDS; w++)
				v[g->edge[e].to].next[w] |= v[s].front[w];
		}
	}
}

/*
 * For each search and each switch that the search has just reached for the first time, write @hops
 * into the row of the search. @from: row of the first search. Return: true if there was such a
 * switch for any search
 */
static bool arrive(struct sm_router *r, struct search *v, uint32_t from, uint8_t hops)
{
	uint32_t n = r->db->nswitches;
	uint8_t *rows = r->db->hops + (size_t)from * n;
	bool any = false;

	for (uint32_t s = 0; s < n; s++) {
		for (unsigned int w = 0; w < WORDS; w++) {
			uint64_t bits = v[s].next[w] & ~v[s].seen[w];

			v[s].front[w] = bits;
			v[s].seen[w] |= bits;
			v[s].next[w] = 0;
			any |= bits != 0;
			for (; bits; bits &= bits - 1)
				rows[(w * 64 + (size_t)__builtin_ctzll(bits)) * n + s] = hops;
		}
	}
	return any;
}

int sm_router_rows(struct sm_router *r, uint32_t from)
{
	uint32_t n = r->db->nswitches, count = n - from < ROUTE_ROWS ? n - from : ROUTE_ROWS;
	struct search *v = calloc(n, sizeof(*v));

	if (!v)
		return -ENOMEM;
	memset(r->db->hops + (size_t)from * n, SM_HOPS_NONE, (size_t)count * n);
	for (uint32_t i = 0; i < count; i++)
		v[from + i].next[i / 64] = 1ull << i % 64;
	for (uint8_t hops = 0; arrive(r, v, from, hops) && hops < IB_MAX_HOPS; hops++) {
		hop(&r->rt->g, n, v);
		r->done += r->rt->g.first[n];
	}
	free(v);
	return 0;
}

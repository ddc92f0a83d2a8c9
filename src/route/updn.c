/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "route/ways.h"

/*
 * DOC: Up-down routing
 *
 * Switches are ordered (route/ways.h) by their hops from a root switch, then by GUID. So every
 * switch except the root has a link that leads up, and all switches reach each other.
 *
 * The root is the switch with the most links to other switches. If several switches have equally many, the root is the
 * one with the lowest GUID.
 */

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

/* Set .rank to the number of hops from @root. Switches that @root does not reach come last. */
static void rank_from(struct sm_router *r, uint32_t root, struct ways_place *v)
{
	uint32_t head = 0, tail = 0;

	for (uint32_t s = 0; s < r->db->nswitches; s++)
		v[s].rank = UINT32_MAX;
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
	struct ways *w = r->engine_state;

	if (!w)
		return;
	ways_fini(w);
	free(w);
	r->engine_state = NULL;
}

static int begin(struct sm_router *r)
{
	struct ways_place *v = ways_places(r);
	struct ways *w = calloc(1, sizeof(*w));
	int err = -ENOMEM; /* sm_router_destroy() calls end(), which frees the state */

	r->engine_state = w;
	if (v && w) {
		if (r->db->nswitches)
			rank_from(r, root_choose(r), v);
		err = ways_init(w, r, v);
	}
	free(v);
	return err;
}

static void row(struct sm_router *r, uint32_t d)
{
	ways_row(r->engine_state, r, d);
}

static unsigned int ports(const struct sm_router *r, uint32_t s, uint32_t d, uint8_t ret[256])
{
	uint32_t edge[256];
	unsigned int n = ways_edges(r->engine_state, r, s, d, edge);

	for (unsigned int i = 0; i < n; i++)
		ret[i] = r->rt->g.edge[edge[i]].port;
	return n;
}

const struct sm_engine sm_engine_updn = {
	.name = "updn",
	.begin = begin,
	.row = row,
	.ports = ports,
	.end = end,
};

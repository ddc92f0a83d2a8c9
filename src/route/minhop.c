/* SPDX-License-Identifier: BSD-2-Clause */
#include "route/engine.h"

/* Minimum hops: every port that leads one hop nearer to the destination is used. */

static unsigned int ports(const struct sm_router *r, uint32_t s, uint32_t d, uint8_t ret[256])
{
	size_t n = r->db->nswitches;
	const uint8_t *hops = r->db->hops;
	uint8_t here = hops[s * n + d];
	unsigned int count = 0;

	if (here == SM_HOPS_NONE)
		return 0;
	for (uint32_t e = r->rt->g.first[s]; e < r->rt->g.first[s + 1]; e++) {
		if (hops[r->rt->g.edge[e].to * n + d] + 1 == here)
			ret[count++] = r->rt->g.edge[e].port;
	}
	return count;
}

const struct sm_engine sm_engine_minhop = { .name = "minhop", .ports = ports, .local = true };

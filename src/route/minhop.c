/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "route/engine.h"

/*
 * The routing engine minhop (minimum hops): the routes use every port that leads one hop nearer to
 * the destination.
 *
 * While the SM computes all LFTs, it asks for the ports to one destination switch after the other,
 * in ascending order. So the ports to a block of BLOCK destination switches are found together. The
 * numbers of hops to the switches of a block are one 64-bit word, with one octet for each switch.
 * One comparison of two such words serves the whole block. In most blocks, all destination switches
 * have the same ports.
 */

#define BLOCK 8
#define EACH_OCTET 0x0101010101010101ull
#define LOW_BITS (0x7f * EACH_OCTET)

/* The ports of switch .s for the destinations .block * BLOCK to .block * BLOCK + BLOCK - 1 */
struct minhop {
	uint32_t s, block;
	bool same; /* true if all destinations of the block have the ports of the first destination */
	unsigned int count[BLOCK];
	uint8_t port[BLOCK][256];
};

static unsigned int find(const struct sm_router *r, uint32_t s, uint32_t d, uint8_t ret[256])
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

static uint64_t load(const uint8_t *hops)
{
	uint64_t x;

	memcpy(&x, hops, sizeof(x));
	return x;
}

/* Compare @a and @b octet by octet. Return: a word with the highest bit set in each equal octet */
static uint64_t equal(uint64_t a, uint64_t b)
{
	uint64_t x = a ^ b;

	return ~(((x & LOW_BITS) + LOW_BITS) | x | LOW_BITS);
}

/*
 * Return a word with an octet for each destination of a block: the number of hops that a neighbour
 * must have to the destination to be one hop nearer than the switch. @here: hops from the switch to
 * these destinations
 */
static uint64_t nearer(const uint8_t *here)
{
	uint8_t want[BLOCK];

	for (unsigned int i = 0; i < BLOCK; i++)
		want[i] = here[i] == 0 || here[i] == SM_HOPS_NONE ? SM_HOPS_NONE - 1 : here[i] - 1;
	return load(want);
}

/* Record that @port leads to those destinations of the block that have a bit in @mask. */
static void note(struct minhop *m, uint64_t mask, uint8_t port)
{
	uint8_t hit[BLOCK];

	memcpy(hit, &mask, sizeof(hit));
	for (unsigned int i = 0; i < BLOCK; i++) {
		if (hit[i])
			m->port[i][m->count[i]++] = port;
	}
}

static void find_block(const struct sm_router *r, struct minhop *m, uint32_t s, uint32_t block)
{
	size_t n = r->db->nswitches;
	const uint8_t *hops = r->db->hops + block * BLOCK;
	const struct route_edge *edge = r->rt->g.edge;
	uint64_t masks[256], want = nearer(hops + s * n);
	uint32_t first = r->rt->g.first[s], count = r->rt->g.first[s + 1] - first;

	m->s = s;
	m->block = block;
	m->same = true;
	memset(m->count, 0, sizeof(m->count));
	for (uint32_t e = 0; e < count; e++) {
		masks[e] = equal(load(hops + edge[first + e].to * n), want);
		m->same &= masks[e] == 0 || masks[e] == EACH_OCTET << 7;
	}
	for (uint32_t e = 0; e < count; e++) {
		if (m->same && masks[e])
			m->port[0][m->count[0]++] = edge[first + e].port;
		else if (masks[e])
			note(m, masks[e], edge[first + e].port);
	}
}

static unsigned int ports(const struct sm_router *r, uint32_t s, uint32_t d, uint8_t ret[256])
{
	struct minhop *m = r->engine_state;
	uint32_t block = d / BLOCK, i = d % BLOCK;

	/*
	 * Compute this destination alone if its block is incomplete, or if @m is NULL. @m is NULL
	 * in sm_reroute(), which asks for single destinations.
	 */
	if (!m || (block + 1) * BLOCK > r->db->nswitches)
		return find(r, s, d, ret);
	if (m->s != s || m->block != block)
		find_block(r, m, s, block);
	i = m->same ? 0 : i;
	memcpy(ret, m->port[i], m->count[i]);
	return m->count[i];
}

static int begin(struct sm_router *r)
{
	struct minhop *m = malloc(sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->s = m->block = UINT32_MAX;
	r->engine_state = m;
	return 0;
}

static void end(struct sm_router *r)
{
	free(r->engine_state);
	r->engine_state = NULL;
}

const struct sm_engine sm_engine_minhop = {
	.name = "minhop",
	.begin = begin,
	.ports = ports,
	.end = end,
	.local = true,
};

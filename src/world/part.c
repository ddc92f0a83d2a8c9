/* SPDX-License-Identifier: BSD-2-Clause */
#include "world/part.h"

#include "world/sa.h"
#include "world/sm.h"

bool world_part_set(struct world *w, const uint16_t *pkeys, unsigned int n)
{
	uint8_t table[SMP_DATA_LEN] = { 0 };
	struct sm_request q = { .method = MAD_METHOD_SET,
				.attr = SMP_ATTR_PKEY_TABLE,
				.data = table };
	const struct seen *s;

	for (unsigned int i = 0; i < n; i++) {
		be16_put(table + 2 * (size_t)i, pkeys[i]);
		w->part.known = w->part.known || pkeys[i] == WORLD_PKEY2;
	}
	return world_sm_ask(w, &q, &s) == 0;
}

static bool is_second(const struct world *w, uint16_t pkey)
{
	return w->part.known && !((pkey ^ WORLD_PKEY2) & 0x7fff);
}

uint16_t part_of_packet(const struct world *w, const struct seen *s)
{
	return is_second(w, s->h.bth.pkey) ? WORLD_PKEY2 : WORLD_PKEY;
}

uint16_t part_of_mgid(const struct world *w, const ib_gid *mgid)
{
	uint16_t signature = be16_at(mgid->raw + 2);

	if (signature != 0x401b && signature != 0x601b)
		return WORLD_PKEY;
	return is_second(w, be16_at(mgid->raw + 4)) ? WORLD_PKEY2 : WORLD_PKEY;
}

const uint8_t *part_dut_ip4(const struct world *w, uint16_t pkey)
{
	return pkey == WORLD_PKEY2 ? w->part.ip4 : w->dut.ip4;
}

uint32_t *part_dut_qpn(struct world *w, uint16_t pkey)
{
	return pkey == WORLD_PKEY2 ? &w->part.qpn : &w->dut.qpn;
}

unsigned int part_ip_mtu(const struct world *w, uint16_t pkey)
{
	return pkey == WORLD_PKEY2 ? w->wire->ip_mtu(128u << WORLD_MTU2) : w->ip_mtu;
}

struct world_group *world_part_group(struct world *w)
{
	ib_gid bcast = sa_mgid_broadcast_in(w, WORLD_PKEY2);
	struct world_group *g = world_group_make(w, &bcast);

	if (g)
		g->rec.qkey = WORLD_QKEY2;
	return g;
}

bool part_is(const struct seen *s, const void *pkey)
{
	return s->kind == SEEN_DATA && !((s->h.bth.pkey ^ *(const uint16_t *)pkey) & 0x7fff);
}

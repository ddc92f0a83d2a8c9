/* SPDX-License-Identifier: BSD-2-Clause */
#include "world/wire.h"

/* --- RFC 4391 section 4 */

static ib_gid with_signature(const struct world_map *map, uint16_t signature)
{
	ib_gid g = { { 0xff, (uint8_t)(0x10 | map->scope) } };

	be16_put(g.raw + 2, signature);
	be16_put(g.raw + 4, map->pkey);
	return g;
}

static ib_gid rfc4391_broadcast(const struct world_map *map)
{
	ib_gid g = with_signature(map, 0x401b);

	memset(g.raw + 12, 0xff, 4);
	return g;
}

static ib_gid rfc4391_ip4(const struct world_map *map, const uint8_t group[4])
{
	ib_gid g = with_signature(map, 0x401b);

	memcpy(g.raw + 12, group, 4);
	g.raw[12] &= 0x0f;
	return g;
}

static ib_gid rfc4391_ip6(const struct world_map *map, const uint8_t group[16])
{
	ib_gid g = with_signature(map, 0x601b);

	memcpy(g.raw + 6, group + 6, 10);
	return g;
}

/* --- draft-kashyap-ipoib-ipv4-multicast-01 section 3.3 */

static ib_gid v4mc01_ip4(const struct world_map *map, const uint8_t group[4])
{
	ib_gid g = { { 0xff, (uint8_t)(0x10 | map->scope) } };

	be16_put(g.raw + 10, map->subnet);
	memcpy(g.raw + 12, group, 4);
	return g;
}

static ib_gid v4mc01_broadcast(const struct world_map *map)
{
	static const uint8_t ones[4] = { 0xff, 0xff, 0xff, 0xff };

	return v4mc01_ip4(map, ones);
}

const struct world_wire world_wire_rfc4391 = {
	.mgid_broadcast = rfc4391_broadcast,
	.mgid_ip4 = rfc4391_ip4,
	.mgid_ip6 = rfc4391_ip6,
};

const struct world_wire world_wire_v4mc01 = {
	.mgid_broadcast = v4mc01_broadcast,
	.mgid_ip4 = v4mc01_ip4,
	.mgid_ip6 = rfc4391_ip6,
};

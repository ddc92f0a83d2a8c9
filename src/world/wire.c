/* SPDX-License-Identifier: BSD-2-Clause */
#include "world/wire.h"

/* --- formats of RFC 4391; section 4 defines the addresses of groups (MGIDs) */

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

/* Sections 6 and 7 of RFC 4391 */
static void type_reserved(uint8_t *p, uint16_t type, uint16_t reserved)
{
	be16_put(p, type);
	be16_put(p + 2, reserved);
}

static int type_first(const uint8_t *p, size_t len)
{
	return len >= 4 ? be16_at(p) : -1;
}

static unsigned int less_4(unsigned int mtu)
{
	return mtu - 4;
}

/* Section 9.1.1 of RFC 4391 */
static void put_20_octets(uint8_t *p, const struct world_lladdr *a)
{
	be32_put(p, a->qpn);
	p[0] = a->flags;
	memcpy(p + 4, a->gid.raw, 16);
}

/* Section 9.2 of RFC 4391 */
static void arp_head(uint8_t *p, uint16_t op)
{
	static const uint8_t head[6] = { 0, 32, 8, 0, 20, 4 };

	memset(p, 0, ARP_LEN);
	memcpy(p, head, sizeof(head));
	be16_put(p + 6, op);
}

static void arp_request(uint8_t *p, const struct world_lladdr *from, const uint8_t spa[4],
			const uint8_t tpa[4])
{
	arp_head(p, 1);
	put_20_octets(p + ARP_SHA, from);
	memcpy(p + ARP_SPA, spa, 4);
	memcpy(p + ARP_TPA, tpa, 4);
}

static void arp_reply(uint8_t *p, const uint8_t *req, const struct world_lladdr *from,
		      const uint8_t spa[4])
{
	arp_head(p, 2);
	put_20_octets(p + ARP_SHA, from);
	memcpy(p + ARP_SPA, spa, 4);
	memcpy(p + ARP_THA, req + ARP_SHA, 24);
}

static const struct wire_arp arp = { ARP_LEN, ARP_TPA, arp_request, arp_reply };

/* Section 9.3 of RFC 4391 */
static void opt_20_octets(uint8_t *p, uint8_t type, const struct world_lladdr *a)
{
	memset(p, 0, 24);
	p[0] = type;
	p[1] = 3;
	put_20_octets(p + 4, a);
}

#define PACKETS_RFC4391                                                                         \
	.hdr_len = 4, .put_hdr = type_reserved, .type = type_first, .arp = &arp, .opt_len = 24, \
	.put_opt = opt_20_octets, .mtu = IB_MTU_2048, .ip_mtu = less_4

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

/* --- draft-kashyap-ipoib-ipv6-over-ib-00 */

/*
 * draft-kashyap-ipoib-ipv6-over-ib-00 section 7: there is no encapsulation header, because the
 * first nibble of an IP packet tells the version of IP.
 */
static void nothing(uint8_t *p, uint16_t type, uint16_t reserved)
{
}

static int first_nibble(const uint8_t *p, size_t len)
{
	if (!len)
		return -1;
	return p[0] >> 4 == 6 ? TYPE_IP6 : p[0] >> 4 == 4 ? TYPE_IP4 : 0;
}

/* draft-kashyap-ipoib-ipv6-over-ib-00 section 5.1: the option is padded to 32 octets */
static void opt_link_information(uint8_t *p, uint8_t type, const struct world_lladdr *a)
{
	memset(p, 0, 32);
	p[0] = type;
	p[1] = 4;
	be16_put(p + 2, a->lid);
	be32_put(p + 4, a->qpn);
	p[4] = a->flags;
	be32_put(p + 8, a->qkey);
	memcpy(p + 12, a->gid.raw, 16);
}

static unsigned int whole(unsigned int mtu)
{
	return mtu;
}

/* Section 4.1 of draft-kashyap-ipoib-ipv6-over-ib-00 */
static ib_gid v6ib00_ip6(const struct world_map *map, const uint8_t group[16])
{
	ib_gid g = { { 0xff, (uint8_t)(0x10 | (group[1] & 15)), 0x33, 0x33 } };

	memcpy(g.raw + 4, group + 4, 12);
	return g;
}

static ib_gid v6ib00_broadcast(const struct world_map *map)
{
	static const uint8_t all_hosts[16] = { 0xff, 2, [15] = 1 };

	return v6ib00_ip6(map, all_hosts);
}

const struct world_wire world_wire_rfc4391 = {
	PACKETS_RFC4391,
	.mgid_broadcast = rfc4391_broadcast,
	.mgid_ip4 = rfc4391_ip4,
	.mgid_ip6 = rfc4391_ip6,
};

const struct world_wire world_wire_v4mc01 = {
	PACKETS_RFC4391,
	.mgid_broadcast = v4mc01_broadcast,
	.mgid_ip4 = v4mc01_ip4,
	.mgid_ip6 = rfc4391_ip6,
};

const struct world_wire world_wire_v6ib00 = {
	.hdr_len = 0,
	.put_hdr = nothing,
	.type = first_nibble,
	.opt_len = 32,
	.put_opt = opt_link_information,
	.mtu = IB_MTU_2048,
	.ip_mtu = whole,
	.peer_qkey = true,
	.group_sl = true,
	.mgid_broadcast = v6ib00_broadcast,
	.mgid_ip6 = v6ib00_ip6,
};

/* --- draft-pelissier-ipoib-encaparp-00 */

/* draft-pelissier-ipoib-encaparp-00 sections 3 and 6.4: IBARP has the same EtherType as IPv4. */
static void reserved_type(uint8_t *p, uint16_t type, uint16_t reserved)
{
	be16_put(p, reserved);
	be16_put(p + 2, type == TYPE_ARP ? TYPE_IP4 : type);
}

/*
 * IBARP and IPv4 have the same EtherType. The octets after the encapsulation header decide: IBARP
 * begins with a hardware type of 16 bits, which is 32; IPv4 begins with the version in 4 bits
 */
static int type_second(const uint8_t *p, size_t len)
{
	if (len < 4)
		return -1;
	if (be16_at(p + 2) == TYPE_IP4 && len >= 12 && p[4] >> 4 != 4 && be16_at(p + 4) == 32)
		return TYPE_ARP;
	return be16_at(p + 2);
}

/*
 * draft-pelissier-ipoib-encaparp-00 sections 5 and 6.3: an address is EUI-64, flags and QPN, Q_Key,
 * and the GID. The first 4 octets of the GID are written twice, as in the drawing of the draft
 */
static void put_36_octets(uint8_t *p, const struct world_lladdr *a)
{
	memcpy(p, a->gid.raw + 8, 8);
	be32_put(p + 8, a->qpn);
	p[8] = a->flags;
	be32_put(p + 12, a->qkey);
	memcpy(p + 16, a->gid.raw, 4);
	memcpy(p + 20, a->gid.raw, 16);
}

static void ibarp_request(uint8_t *p, const struct world_lladdr *from, const uint8_t spa[4],
			  const uint8_t tpa[4])
{
	static const uint8_t head[8] = { 0, 32, 8, 0, 32, 4, 0, 1 };

	memset(p, 0, IBARP_OCTETS);
	memcpy(p, head, sizeof(head));
	put_36_octets(p + IBARP_SENDER, from);
	memcpy(p + IBARP_SPA, spa, 4);
	memcpy(p + IBARP_TPA, tpa, 4);
}

static void ibarp_reply(uint8_t *p, const uint8_t *req, const struct world_lladdr *from,
			const uint8_t spa[4])
{
	memcpy(p, req, IBARP_OCTETS);
	p[7] = 2;
	put_36_octets(p + IBARP_TARGET, from);
}

static const struct wire_arp ibarp = { IBARP_OCTETS, IBARP_TPA, ibarp_request, ibarp_reply };

static void opt_36_octets(uint8_t *p, uint8_t type, const struct world_lladdr *a)
{
	p[0] = type;
	p[1] = 5;
	p[2] = p[3] = 0;
	put_36_octets(p + 4, a);
}

/* Section 3.2 of draft-pelissier-ipoib-encaparp-00 */
static unsigned int at_most_2048(unsigned int mtu)
{
	return mtu > 2048 ? 2048 : mtu - 4;
}

const struct world_wire world_wire_encaparp00 = {
	.hdr_len = 4,
	.put_hdr = reserved_type,
	.type = type_second,
	.arp = &ibarp,
	.opt_len = 40,
	.put_opt = opt_36_octets,
	.mtu = IB_MTU_4096,
	.ip_mtu = at_most_2048,
	.peer_qkey = true,
	.sidr = true,
	.mgid_broadcast = rfc4391_broadcast,
	.mgid_ip4 = rfc4391_ip4,
	.mgid_ip6 = rfc4391_ip6,
};

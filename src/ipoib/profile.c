/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/profile.h"

#include <errno.h>
#include <string.h>

#include "ipoib/iid.h"
#include "util/hex.h"
#include "util/list.h"
#include "util/text.h"
#include "wire/ibarp.h"
#include "wire/ipoib_hdr.h"
#include "wire/records.h"

static void write_type_reserved(uint8_t *p, uint16_t ethertype)
{
	ipoib_hdr_encode(p, ethertype);
}

static int read_type_reserved(const uint8_t *p, size_t len)
{
	return ipoib_hdr_decode(p, len);
}

/*
 * The encapsulation of RFC 4391 §6 is the ethertype and two reserved octets. RFC 4391 allows four
 * ethertypes.
 */
#define ENCAP_TYPE_RESERVED                                                        \
	.len = IPOIB_HDR_LEN, .look = IPOIB_HDR_LEN, .write = write_type_reserved, \
	.read = read_type_reserved, .carries = ipoib_type_valid

static void encode_20_octets(void *p, uint8_t type, const struct nd_port *a)
{
	nd_opt_lladdr_encode(p, type, &a->lladdr);
}

static int decode_20_octets(struct nd_port *ret, const struct nd_opt *o)
{
	*ret = (struct nd_port){ 0 };
	return nd_opt_lladdr_decode(&ret->lladdr, o);
}

/*
 * The link-layer address option of RFC 4391 §9.3 has two zero octets and the address of 20 octets.
 */
#define ND_20_OCTETS \
	.len = ND_OPT_LLADDR_IPOIB, .encode = encode_20_octets, .decode = decode_20_octets

/* Returns the IP MTU. RFC 4391 §7: the IB MTU includes the octets of the encapsulation. */
static unsigned int mtu_less_encap(unsigned int group_mtu)
{
	return group_mtu - IPOIB_HDR_LEN;
}

static int rfc4391_broadcast(ib_gid *ret, const struct ipoib_map *map)
{
	return mgid_broadcast(ret, map->pkey, map->scope);
}

static int rfc4391_ipv4(ib_gid *ret, const uint8_t group[4], const struct ipoib_map *map)
{
	return mgid_from_ipv4(ret, group, map->pkey, map->scope);
}

static int rfc4391_ipv6(ib_gid *ret, const uint8_t group[16], const struct ipoib_map *map)
{
	return mgid_from_ipv6(ret, group, map->pkey, map->scope);
}

static int rfc4391_group(uint8_t ret[16], const ib_gid *mgid, const struct ipoib_map *map)
{
	return mgid_to_group(ret, mgid, map->pkey, map->scope);
}

/* Packet format and IP MTU of RFC 4391 */
#define PACKETS_RFC4391                                                                         \
	.encap = { ENCAP_TYPE_RESERVED }, .resolve = IPOIB_RESOLVE_ARP, .nd = { ND_20_OCTETS }, \
	.iid = ipoib_iid_from_guid, .ip_mtu = mtu_less_encap, .sl_from = IPOIB_SL_PATH

/* Packets and MGIDs of RFC 4391. The default scope is link-local (§4.1). */
#define WIRE_RFC4391                                                                               \
	.mgid_broadcast = rfc4391_broadcast, .mgid_ipv4 = rfc4391_ipv4, .mgid_ipv6 = rfc4391_ipv6, \
	.mgid_group = rfc4391_group, .scope = 2, PACKETS_RFC4391

/*
 * RFC 4391 §10: a sender joins a group that exists, and sends to the all-routers group instead of a
 * group that does not exist.
 */
#define SENDER_RFC4391                                                                      \
	.asks = true, .join_state = MCM_JOIN_SEND_ONLY_NON, .absent = IPOIB_ABSENT_ROUTERS, \
	.idle = NS_SEC(120)

/*
 * If Linux only sends to a group, its membership lasts until the kernel frees the neighbour entry
 * of the group. This happens after two intervals of the kernel's neighbour collector,
 * arp_tbl.gc_interval (30 s).
 */
#define LINUX_SENDER_IDLE NS_SEC(60)

/*
 * Writes nothing, because packets have no encapsulation (draft-kashyap-ipoib-ipv6-over-ib-00 §7).
 * The first nibble of the packet is the IP version.
 */
static void write_nothing(uint8_t *p, uint16_t ethertype)
{
}

static int read_first_nibble(const uint8_t *p, size_t len)
{
	if (!len)
		return -EBADMSG;
	switch (p[0] >> 4) {
	case 4:
		return ETH_P_IPV4;
	case 6:
		return ETH_P_IPV6_;
	default:
		/* the packet has the encapsulation of another profile, or is no IP packet */
		return 0;
	}
}

static bool is_ipv6(uint16_t ethertype)
{
	return ethertype == ETH_P_IPV6_;
}

/*
 * The broadcast group is FF12:3333::1 for every P_Key (draft-kashyap-ipoib-ipv6-over-ib-00 §5.1.6),
 * so an IB subnet can have only one such link.
 */
static int all_hosts_3333(ib_gid *ret, const struct ipoib_map *map)
{
	static const uint8_t all_hosts[16] = { 0xff, 0x02, [15] = 1 };

	return map->scope == 2 ? mgid_3333_from_ipv6(ret, all_hosts) : -EINVAL;
}

static int no_ipv4_group(ib_gid *ret, const uint8_t group[4], const struct ipoib_map *map)
{
	return -EINVAL;
}

/*
 * draft-kashyap-ipoib-ipv6-over-ib-00 §4.1: the MGID has the scope of the IPv6 group, and not that
 * of the link.
 */
static int ipv6_to_3333(ib_gid *ret, const uint8_t group[16], const struct ipoib_map *map)
{
	return mgid_3333_from_ipv6(ret, group);
}

static int group_of_3333(uint8_t ret[16], const ib_gid *mgid, const struct ipoib_map *map)
{
	int err = mgid_3333_to_ipv6(ret, mgid);

	return err ? err : 6;
}

static unsigned int mtu_whole(unsigned int group_mtu)
{
	return group_mtu;
}

/*
 * draft-pelissier-ipoib-encaparp-00 §3 and §6.4: two reserved octets and the ethertype. IBARP has the ethertype of IPv4;
 * received IBARP with the ethertype of ARP is understood as well.
 */
static void write_reserved_type(uint8_t *p, uint16_t ethertype)
{
	be16_put(p, 0);
	be16_put(p + 2, ethertype == ETH_P_ARP4 ? ETH_P_IPV4 : ethertype);
}

static int read_reserved_type(const uint8_t *p, size_t len)
{
	uint16_t type;
	bool ibarp;

	if (len <= IPOIB_HDR_LEN)
		return -EBADMSG;
	type = be16_at(p + 2);
	p += IPOIB_HDR_LEN;
	ibarp = ibarp_is(p, len - IPOIB_HDR_LEN);
	if (type == ETH_P_ARP4 || type == ETH_P_IPV4) {
		if (ibarp)
			return ETH_P_ARP4;
		return type == ETH_P_IPV4 && p[0] >> 4 == 4 ? type : 0;
	}
	return type == ETH_P_IPV6_ && p[0] >> 4 == 6 ? type : 0;
}

static bool is_ip_or_ibarp(uint16_t ethertype)
{
	return ethertype == ETH_P_IPV4 || ethertype == ETH_P_ARP4 || ethertype == ETH_P_IPV6_;
}

/*
 * draft-pelissier-ipoib-encaparp-00 §3.2: paths have an MTU of 2048 or 4096. The IP MTU is 2048 on
 * a link with an MTU of 4096, and 2048 less the encapsulation on a link with an MTU of 2048.
 */
static unsigned int mtu_2048_at_most(unsigned int group_mtu)
{
	switch (group_mtu) {
	case 2048:
		return group_mtu - IPOIB_HDR_LEN;
	case 4096:
		return 2048;
	default:
		return 0;
	}
}

/*
 * draft-kashyap-ipoib-ipv4-multicast-01 §3.3: the broadcast address is mapped to an MGID like an
 * IPv4 group.
 */
static int v4mc_broadcast(ib_gid *ret, const struct ipoib_map *map)
{
	static const uint8_t all_ones[4] = { 0xff, 0xff, 0xff, 0xff };

	return mgid_v4mc_from_ipv4(ret, all_ones, map->subnet, map->scope);
}

static int v4mc_ipv4(ib_gid *ret, const uint8_t group[4], const struct ipoib_map *map)
{
	return mgid_v4mc_from_ipv4(ret, group, map->subnet, map->scope);
}

/*
 * draft-kashyap-ipoib-ipv4-multicast-01 does not mention IPv6, so IPv6 groups have the MGIDs of RFC
 * 4391.
 */
static int v4mc_group(uint8_t ret[16], const ib_gid *mgid, const struct ipoib_map *map)
{
	if (!mgid_v4mc_to_ipv4(ret, mgid, map->subnet, map->scope))
		return 4;
	return rfc4391_group(ret, mgid, map) == 6 ? 6 : -EINVAL;
}

/*
 * intel-ipoib-linux-hld-2002 §2.1.1: a name is ibX_Y_Z with the CA, the port and the P_Key in
 * hexadecimal. A P_Key with full membership and the same P_Key with limited membership give the
 * same name, because they mean the same link.
 */
static void name_of_pkey(char ret[IPOIB_IFNAME_LEN], unsigned int ca, unsigned int port,
			 uint16_t pkey)
{
	struct text t = { .buf = ret, .size = IPOIB_IFNAME_LEN };

	text_add(&t, "ib%x_%x_", ca, port);
	if (pkey & 0x7fff)
		text_add(&t, "%x", pkey & 0x7fffu);
}

/*
 * Reads a hexadecimal number as name_of_pkey() writes it: in lower case, and without leading zeros.
 */
static bool read_hex(const char **at, unsigned int *ret)
{
	const char *start = *at;

	for (*ret = 0; **at && hex_digit(**at) >= 0; ++*at) {
		if (*at - start == 4 || (**at >= 'A' && **at <= 'F'))
			return false;
		*ret = *ret << 4 | (unsigned int)hex_digit(**at);
	}
	return *at != start && (*start != '0' || *at == start + 1);
}

static bool skip(const char **at, const char *text)
{
	size_t len = strlen(text);

	if (strncmp(*at, text, len) != 0)
		return false;
	*at += len;
	return true;
}

static bool is_name_of_pkey(const char *name)
{
	unsigned int ca, port, pkey;

	if (!skip(&name, "ib") || !read_hex(&name, &ca) || !skip(&name, "_") ||
	    !read_hex(&name, &port) || !skip(&name, "_") || !read_hex(&name, &pkey) || *name)
		return false;
	return port && port <= 0xff && pkey && pkey <= 0x7fff;
}

static const struct ipoib_profile profiles[] = {
	{
		.name = "rfc4391",
		WIRE_RFC4391,
		.sender = { SENDER_RFC4391 },
		.reports = true,
	},
	{
		/* Behaviour of the kernel's ib_ipoib: items L1 to L6 in doc/fidelity.md */
		.name = "linux",
		WIRE_RFC4391,
		.sender = { .creates = true,
			    .join_state = MCM_JOIN_SEND_ONLY_FULL,
			    .absent = IPOIB_ABSENT_DROP,
			    .idle = LINUX_SENDER_IDLE },
		.reports = false,
	},
	{
		/* draft-kashyap-ipoib-ipv6-over-ib-00: IPv6 only */
		.name = "v6ib00",
		.encap = { .len = 0,
			   .look = 1,
			   .write = write_nothing,
			   .read = read_first_nibble,
			   .carries = is_ipv6 },
		.resolve = IPOIB_RESOLVE_ND,
		.nd = { .len = ND_OPT_LINK_INFO,
			.has_lid = true,
			.encode = nd_opt_link_info_encode,
			.decode = nd_opt_link_info_decode },
		.iid = ipoib_iid_from_guid,
		.mgid_broadcast = all_hosts_3333,
		.mgid_ipv4 = no_ipv4_group,
		.mgid_ipv6 = ipv6_to_3333,
		.mgid_group = group_of_3333,
		.scope = 2,
		.ip_mtu = mtu_whole,
		.sender = { SENDER_RFC4391 },
		.sl_from = IPOIB_SL_GROUP,
		.joins_only = true,
		.reports = true,
	},
	{
		/* intel-ipoib-linux-hld-2002: interfaces come and go with the P_Keys of a port */
		.name = "hld2002",
		WIRE_RFC4391,
		.sender = { SENDER_RFC4391 },
		.joins_only = true,
		.ifname = name_of_pkey,
		.is_ifname = is_name_of_pkey,
		.reports = true,
	},
	{
		/* draft-pelissier-ipoib-encaparp-00 */
		.name = "encaparp00",
		.encap = { .len = IPOIB_HDR_LEN,
			   .look = IPOIB_HDR_LEN + IBARP_LOOK,
			   .write = write_reserved_type,
			   .read = read_reserved_type,
			   .carries = is_ip_or_ibarp },
		.resolve = IPOIB_RESOLVE_IBARP,
		.nd = { .len = ND_OPT_IBARP,
			.encode = nd_opt_ibarp_encode,
			.decode = nd_opt_ibarp_decode },
		.iid = ipoib_iid_complement,
		.group_from = IPOIB_GROUP_SIDR,
		.mgid_broadcast = rfc4391_broadcast,
		.mgid_ipv4 = rfc4391_ipv4,
		.mgid_ipv6 = rfc4391_ipv6,
		.mgid_group = rfc4391_group,
		.scope = 2,
		.ip_mtu = mtu_2048_at_most,
		.sender = { SENDER_RFC4391 },
		.sl_from = IPOIB_SL_PATH,
		.reports = true,
	},
	{
		/* draft-kashyap-ipoib-ipv4-multicast-01; .sender follows §6.3 of this draft */
		.name = "v4mc01",
		PACKETS_RFC4391,
		.mgid_broadcast = v4mc_broadcast,
		.mgid_ipv4 = v4mc_ipv4,
		.mgid_ipv6 = rfc4391_ipv6,
		.mgid_group = v4mc_group,
		.scope = 2,
		.subnet_numbers = true,
		.sender = { .join_state = MCM_JOIN_SEND_ONLY_NON,
			    .absent = IPOIB_ABSENT_LENT,
			    .idle = NS_SEC(120) },
		.join_first = true,
		.joins_only = true,
		.reports = true,
	},
};

bool ipoib_profile_has(const struct ipoib_profile *p, enum ipoib_proto proto)
{
	return p->encap.carries(proto == IPOIB_IPV4 ? ETH_P_IPV4 : ETH_P_IPV6_);
}

struct ipoib_map ipoib_profile_map(const struct ipoib_profile *p, uint16_t pkey, uint8_t scope,
				   uint16_t subnet)
{
	if (!scope)
		scope = subnet ? MGID_SCOPE_GLOBAL : p->scope;
	return (struct ipoib_map){ .pkey = pkey | IB_PKEY_FULL, .scope = scope, .subnet = subnet };
}

const struct ipoib_profile *ipoib_profile_at(unsigned int i)
{
	return i < ARRAY_SIZE(profiles) ? &profiles[i] : NULL;
}

const struct ipoib_profile *ipoib_profile_find(const char *name)
{
	const struct ipoib_profile *p;

	for (unsigned int i = 0; (p = ipoib_profile_at(i)); i++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_MGID_H
#define WIRE_MGID_H

/*
 * Mapping of IP multicast groups to MGIDs of the form FF, flags 1, scope, signature, P_Key, group
 * ID (RFC 4391 §4)
 */

#include "wire/ib.h"

#define MGID_SIG_IPV4 0x401b
#define MGID_SIG_IPV6 0x601b

/*
 * The next three functions take the P_Key in host order with bit 15 set, and a scope of 4 bits. For other
 * values they return -EINVAL.
 */
int mgid_broadcast(ib_gid *ret, uint16_t pkey, uint8_t scope);
/*
 * @group is in network order. 255.255.255.255 maps to the broadcast group; for other addresses that
 * are not multicast, both functions return -EINVAL.
 */
int mgid_from_ipv4(ib_gid *ret, const uint8_t group[4], uint16_t pkey, uint8_t scope);
int mgid_from_ipv6(ib_gid *ret, const uint8_t group[16], uint16_t pkey, uint8_t scope);

/*
 * mgid_3333_from_ipv6() - Map an IPv6 group as in draft-kashyap-ipoib-ipv6-over-ib-00 §4.1. The
 * MGID is FF1y:3333, followed by the last 96 bits of the group. y is the scope of the group; P_Key
 * and scope of the link are not used. Return: 0; -EINVAL: @group is not a multicast address
 */
#define MGID_SIG_3333 0x3333
int mgid_3333_from_ipv6(ib_gid *ret, const uint8_t group[16]);
/*
 * mgid_3333_to_ipv6() - Find the IPv6 group, with flags 0, that mgid_3333_from_ipv6() maps to @mgid. Return: 0;
 * -EINVAL: there is none
 */
int mgid_3333_to_ipv6(uint8_t ret[16], const ib_gid *mgid);

/*
 * mgid_v4mc_from_ipv4() - Map an IPv4 group, or the address 255.255.255.255, as in
 * draft-kashyap-ipoib-ipv4-multicast-01 §3.3. The MGID is FF1y (y is @scope), eight zero octets,
 * two octets with the number of the IP subnet (0: none), and all 32 bits of @group.
 *
 * Return: 0; -EINVAL in one of these cases:
 * - @group is neither a multicast address nor 255.255.255.255.
 * - @scope has more than 4 bits.
 * - @subnet is not 0, although @scope is not global (§3.1.1).
 */
int mgid_v4mc_from_ipv4(ib_gid *ret, const uint8_t group[4], uint16_t subnet, uint8_t scope);
/*
 * mgid_v4mc_to_ipv4() - Find the IPv4 group that mgid_v4mc_from_ipv4() maps to @mgid. Return: 0; -EINVAL: no group maps to
 * @mgid, or @mgid is the broadcast group
 */
int mgid_v4mc_to_ipv4(uint8_t ret[4], const ib_gid *mgid, uint16_t subnet, uint8_t scope);
#define MGID_SCOPE_GLOBAL 14

static inline uint8_t mgid_scope(const ib_gid *mgid)
{
	return mgid->raw[1] & 0x0f;
}

static inline uint16_t mgid_signature(const ib_gid *mgid)
{
	return be16_at(mgid->raw + 2);
}

static inline uint16_t mgid_pkey(const ib_gid *mgid)
{
	return be16_at(mgid->raw + 4);
}

/*
 * mgid_to_group() - Find an IP group of an MGID; the reverse of mgid_from_ipv4() and mgid_from_ipv6()
 *
 * @ret gets an IPv4 group (4 octets) or an IPv6 group (16 octets). Several IPv6 groups map to one
 * MGID, because the MGID lacks their flags, their scope and 32 more bits. Of these groups, @ret
 * gets the one that has @scope, no flags, and zeros for the 32 bits.
 * Return: 4 or 6, the version of IP; -EINVAL: with this P_Key and scope, no group maps to @mgid
 */
int mgid_to_group(uint8_t ret[16], const ib_gid *mgid, uint16_t pkey, uint8_t scope);

/* mgid_is_ipoib() - Tell whether @mgid has signature 401B or 601B and the T flag */
bool mgid_is_ipoib(const ib_gid *mgid);

#endif

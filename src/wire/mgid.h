/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_MGID_H
#define WIRE_MGID_H

/* Maps from IP groups to MGIDs. RFC 4391 §4: FF, flags 1, scope, signature, P_Key, group ID. */

#include "wire/ib.h"

#define MGID_SIG_IPV4 0x401b
#define MGID_SIG_IPV6 0x601b

/* All take the P_Key in host order with bit 15 set and a 4-bit scope; -EINVAL otherwise. */
int mgid_broadcast(ib_gid *ret, uint16_t pkey, uint8_t scope);
/* @group: network order octets; 255.255.255.255 maps to the broadcast group. -EINVAL if no group */
int mgid_from_ipv4(ib_gid *ret, const uint8_t group[4], uint16_t pkey, uint8_t scope);
int mgid_from_ipv6(ib_gid *ret, const uint8_t group[16], uint16_t pkey, uint8_t scope);

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

/* mgid_is_ipoib() - Signature 401B or 601B and T flag set */
bool mgid_is_ipoib(const ib_gid *mgid);

#endif

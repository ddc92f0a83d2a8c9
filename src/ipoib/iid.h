/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IPOIB_IID_H
#define IPOIB_IID_H

/* IPv6 interface identifiers, RFC 4391 §8. All octets in network order. */

#include <stdint.h>

/**
 * ipoib_iid_from_guid() - Interface identifier of a port GUID
 *
 * RFC 4391 does not say how a modified EUI-64 is told from one that is not: the u bit (0x02 of
 * the first octet) set is taken as modified already and kept, clear as unmodified and toggled.
 */
void ipoib_iid_from_guid(uint8_t ret[8], uint64_t guid);

/* ipoib_iid_from_lid() - 0000:00ff:fe00:LID, for subnets within one IB subnet; not persistent */
void ipoib_iid_from_lid(uint8_t ret[8], uint16_t lid);

/* ipoib_linklocal() - fe80::/64 and the interface identifier, §8.1 */
void ipoib_linklocal(uint8_t ret[16], const uint8_t iid[8]);

#endif

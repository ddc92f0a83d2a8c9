/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IPOIB_IID_H
#define IPOIB_IID_H

/* IPv6 interface identifiers, RFC 4391 §8. All octets in network order. */

#include <stdint.h>

/**
 * ipoib_iid_from_guid() - Interface identifier of a port GUID
 *
 * RFC 4391 does not say how to recognize a GUID that is a modified EUI-64 already. A GUID whose u
 * bit (0x02 of the first octet) is set is taken as modified and kept. Otherwise the bit is set.
 */
void ipoib_iid_from_guid(uint8_t ret[8], uint64_t guid);

/* ipoib_iid_from_lid() - 0000:00ff:fe00:LID, for IP subnets within one IB subnet; not persistent */
void ipoib_iid_from_lid(uint8_t ret[8], uint16_t lid);

/* ipoib_linklocal() - Address of fe80::/64 with the interface identifier @iid, §8.1 */
void ipoib_linklocal(uint8_t ret[16], const uint8_t iid[8]);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_IPOIB_HDR_H
#define WIRE_IPOIB_HDR_H

/* The IPoIB encapsulation header (RFC 4391 §6) and link-layer address (§9.1.1) */

#include <stddef.h>

#include "wire/ib.h"

#define IPOIB_HDR_LEN 4
#define IPOIB_ALEN 20

#define ETH_P_IPV4 0x0800
#define ETH_P_ARP4 0x0806
#define ETH_P_RARP4 0x8035
#define ETH_P_IPV6_ 0x86dd

struct ipoib_hdr {
	be16 type; /* ethertype */
	be16 reserved; /* sent as 0, ignored on receive */
};
static_assert(sizeof(struct ipoib_hdr) == IPOIB_HDR_LEN, "RFC 4391 §6");

/* ipoib_hdr_decode() - Decode the encapsulation header. Return: the ethertype; -EBADMSG: @len < 4 */
int ipoib_hdr_decode(const void *p, size_t len);
void ipoib_hdr_encode(void *p, uint16_t type);

/* ipoib_type_valid() - Tell whether an ethertype is one of the four that RFC 4391 §6 allows */
bool ipoib_type_valid(uint16_t type);

struct ipoib_lladdr {
	uint8_t flags; /* the reserved octet as received, with the bits of RFC 4755; sent as 0 */
	uint32_t qpn; /* 24 bits */
	ib_gid gid;
};

/* ipoib_lladdr_decode() - Decode a link-layer address. Return: 0; -EBADMSG: @len is not 20 */
int ipoib_lladdr_decode(struct ipoib_lladdr *ret, const void *p, size_t len);
/* ipoib_lladdr_encode() - Write a link-layer address of 20 octets, with the reserved octet 0 */
void ipoib_lladdr_encode(void *p, const struct ipoib_lladdr *a);

#endif

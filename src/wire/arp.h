/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_ARP_H
#define WIRE_ARP_H

/* ARP and RARP for IPv4 over Ethernet and InfiniBand. RFC 826, RFC 4391 §9.2. */

#include <stddef.h>

#include "wire/ib.h"

#define ARP_HRD_ETHER 1
#define ARP_HRD_INFINIBAND 32
#define ARP_OP_REQUEST 1
#define ARP_OP_REPLY 2
#define ARP_OP_RREQUEST 3
#define ARP_OP_RREPLY 4
#define ARP_ETHER_LEN 28 /* 8 + 2 * (6 + 4) */
#define ARP_IPOIB_LEN 56 /* 8 + 2 * (20 + 4) */

struct arp_pkt {
	uint16_t hrd, pro;
	uint8_t hln, pln;
	uint16_t op;
	uint8_t sha[20], spa[4], tha[20],
		tpa[4]; /* only the first .hln octets of .sha and .tha are valid */
};

/*
 * arp_decode() - Decode ARP or RARP for IPv4 over Ethernet (hardware type 1, 6 octets) or InfiniBand (type 32,
 * 20 octets). Octets after the message are ignored, because Ethernet pads short frames.
 * Return: 0; -EBADMSG: too short; -EPROTO: other types or lengths
 */
int arp_decode(struct arp_pkt *ret, const void *p, size_t len);
/*
 * arp_encode() - Write an ARP message. Return: number of octets, 28 for Ethernet or 56 for
 * InfiniBand
 */
size_t arp_encode(void *p, const struct arp_pkt *a);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ETH_CSUM_H
#define ETH_CSUM_H

#include "util/frame.h"

/**
 * eth_csum_complete() - Complete a checksum that covers only the pseudo-header
 * @l3:		octets before the IP header
 *
 * The function has no effect on a packet without FRAME_CSUM_PARTIAL.
 * Return: 0; -EBADMSG: csum_start and csum_offset lie outside the packet; -ENOMEM
 */
int eth_csum_complete(struct pkt *p, unsigned int l3);

/*
 * eth_csum_by_ca() - Tell whether a CA that makes checksums (ca.csum of ca/ca.h) can make the
 * checksum of @p. @p is one packet or a train, and begins with the IPoIB encapsulation. Return:
 * false also if @p has no FRAME_CSUM_PARTIAL, so that no checksum has to be made
 */
bool eth_csum_by_ca(struct pkt *p);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NODE_MAD_PKT_H
#define NODE_MAD_PKT_H

/*
 * Conversion between MADs and packets. A packet without GRH has 290 octets: a MAD of 256 octets,
 * with the headers and CRCs that HCAs and switches put around it.
 */

#include "node/node.h"
#include "wire/ib_hdr.h"

/**
 * mad_pkt_build() - Make the packet of one MAD
 * @port:	the end port that sends the MAD; the headers contain its LID, P_Key and GID
 * @vl:		the virtual lane of a GMP
 * @seal:	true: compute both CRCs. false: leave both CRCs 0. Code that shows or damages such a
 *		packet must first compute its CRCs
 *
 * An SMP is sent on VL15 with SL 0, P_Key 0xffff and Q_Key 0, and with permissive LIDs if its route is directed. The
 * P_Key of a GMP is the entry of the port's P_Key table that matches @to->pkey, or @to->pkey if no entry matches.
 * Return: NULL if the pool is exhausted
 */
struct pkt *mad_pkt_build(struct pkt_pool *pool, const struct node_port *port,
			  const struct mad_addr *to, const void *mad, uint8_t vl, bool seal);

/**
 * mad_pkt_parse() - Copy the MAD out of a received packet
 * @ret:	address of the sender. The member .gid_index is about the receiver: it is the index
 *		of that GID of @end to which the packet was sent
 * @ret_mad:	the MAD
 * @h:		decoded headers of the packet
 * @end:	end port to which the packet was sent
 * @in_port:	ingress port
 * @payload:	@len octets after the DETH, without pad octets
 *
 * Return: 0; -EBADMSG: the payload does not have 256 octets
 */
int mad_pkt_parse(struct mad_addr *ret, uint8_t ret_mad[MAD_LEN], const struct ib_ud_hdr *h,
		  const struct node_port *end, uint8_t in_port, const void *payload, size_t len);

#endif

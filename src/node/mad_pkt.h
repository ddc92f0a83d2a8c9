/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NODE_MAD_PKT_H
#define NODE_MAD_PKT_H

/* MADs as packets: what HCAs and switches put around the 256 octets. FACTS: 290 octets on the wire. */

#include "node/node.h"
#include "wire/ib_hdr.h"

/**
 * mad_pkt_build() - A packet of one MAD, sealed with CRCs
 * @port:	the end port that sends it: LID, P_Key, QPN
 *
 * SMPs: VL15, SL 0, P_Key 0xffff, Q_Key 0; directed routes LIDs permissive. GMPs:
 * P_Key @to->pkey, VL @vl.
 * Return: NULL if the pool is exhausted
 */
struct pkt *mad_pkt_build(struct pkt_pool *pool, const struct node_port *port,
			  const struct mad_addr *to, const void *mad, uint8_t vl);

/**
 * mad_pkt_parse() - The MAD of a received packet
 * @h:		its decoded headers
 * @end:	the end port that it is for
 * @in_port:	by which it came
 * @payload:	what follows the DETH, without pad, @len octets
 * @ret:	who sent it, and which of our GIDs it was sent to
 *
 * Return: 0; -EBADMSG not 256 octets
 */
int mad_pkt_parse(struct mad_addr *ret, uint8_t ret_mad[MAD_LEN], const struct ib_ud_hdr *h,
		  const struct node_port *end, uint8_t in_port, const void *payload, size_t len);

#endif

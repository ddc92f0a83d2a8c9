/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ETH_COALESCE_H
#define ETH_COALESCE_H

/*
 * DOC: Datagrams of the kernel as trains
 *
 * A program that sends many small datagrams sends them one by one, so the TAP has a frame for each
 * of them. The datagrams that one call of eth_tx_link() sends to the same destination are coalesced
 * (eth/gro.h), and so they cross the fabric as a train (train/train.h). Datagrams to a multicast
 * group are not coalesced, because trains to groups are cut again.
 */

#include "eth/eth.h"

struct eth_coalescer {
	struct eth_gro gro; /* contains packets only during a call of eth_tx_link() */
	struct eth_send to; /* destination of the packets in .gro; .pkt is not used */
	uint32_t station; /* frame_info.station of these packets */
};

void eth_coalesce_init(struct eth_if *e);
/*
 * eth_coalesce() - Send the packet @t, which has the verdict IPOIB_SEND, unless it has to wait for
 * packets with which it can be coalesced. @n: number of packets that the caller sends
 */
void eth_coalesce(struct eth_if *e, const struct ipoib_tx *t, unsigned int n);
/* eth_coalesce_flush() - Send all packets that wait */
void eth_coalesce_flush(struct eth_if *e);

#endif

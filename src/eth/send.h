/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ETH_SEND_H
#define ETH_SEND_H

/*
 * The last step before the queue pair, for packets whose destination is known: cut super-frames or make trains of
 * them, complete checksums, and gather packets into batches.
 */

#include "eth/eth.h"

/*
 * super-frames that wait for room in the send queue; as many as one neighbour can release at once
 * (IPOIB_HELD_NEIGH)
 */
#define ETH_WAITING_MAX 64

struct eth_out {
	struct eth_send batch[PKT_BATCH]; /* packets gathered for the next call of eth_ops.post() */
	unsigned int n;
	/* number of packets of super-frames that may still be posted, see eth_set_room() */
	unsigned int room;
	/* super-frames that wait for room, first in, first out */
	struct eth_send waiting[ETH_WAITING_MAX];
	unsigned int head, nwaiting;
	/*
	 * true if the first entry of .waiting was turned into a train, and some packets of this
	 * train still wait
	 */
	bool begun;
	/* true if the first entry of .waiting is posted as a train, false if packet by packet */
	bool whole;
	bool coalesced; /* the first entry of .waiting, if .begun, was made of datagrams of the kernel */
	/* eth_ops.post() takes packets with partial checksums, see eth_set_csum() */
	bool csum_by_ca;
};

void eth_out_init(struct eth_if *e);
/* eth_out_fini() - Free the super-frames that wait */
void eth_out_fini(struct eth_if *e);
/*
 * eth_out_ah_gone() - Post the super-frames that use an address handle, because the handle is about
 * to be destroyed
 *
 * The super-frames are posted even if the send queue has no room for them. Dropping the super-frames would lose
 * packets each time that the SA's new answer about a path replaces the path's handle.
 */
void eth_out_ah_gone(struct eth_if *e, const void *ah, ns_t now);

/*
 * eth_tx_link() - Pass packets to the link, and send those packets that get the verdict IPOIB_SEND
 */
void eth_tx_link(struct eth_if *e, struct ipoib_tx *v, unsigned int n, ns_t now);
/*
 * eth_send_pkt() - Segment @p or complete its checksum, and add the result to the batch that
 * eth_send_flush() passes to eth_ops.post()
 */
void eth_send_pkt(struct eth_if *e, struct pkt *p, void *ah, uint32_t dest_qpn, uint32_t qkey,
		  ns_t now);
void eth_send_flush(struct eth_if *e, ns_t now);

#endif

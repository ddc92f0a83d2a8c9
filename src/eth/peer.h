/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ETH_PEER_H
#define ETH_PEER_H

/*
 * For as long as the kernel may use a neighbour's address, this layer keeps the token that stands for the neighbour, and what
 * the neighbour's messages contain besides the address.
 */

#include "eth/eth.h"

/* The neighbour points back by its .user. This struct holds a reference to the neighbour. */
struct eth_peer {
	struct list link; /* in eth_if.peers */
	struct ipoib_neigh *neigh;
	uint8_t flags; /* reserved octet of the peer's address, as its last ARP message had it */
	/* true if the peer has asked by IBARP; the next two are from its last request */
	bool asked;
	uint32_t asked_qkey;
	uint64_t asked_eui64;
	/* Ethernet shape */
	struct hlink by_mac; /* in eth_tokens.peers */
	uint8_t mac[6]; /* the token */
};

/* eth_peer_get() - What is kept of a neighbour, made on first use; NULL: out of memory */
struct eth_peer *eth_peer_get(struct eth_if *e, struct ipoib_neigh *n);
/*
 * eth_peer_said() - Keep what a message from @src (NULL: unknown) said of the neighbour besides its address, if it said more
 *
 * Return: 0; -EKEYREJECTED as ipoib_neigh_said(); -ENOMEM
 */
int eth_peer_said(struct eth_if *e, struct ipoib_neigh *n, const struct ipoib_neigh *src,
		  const struct nd_port *port);
/* eth_peer_gone() - The link gives the neighbour up: report that and forget it */
void eth_peer_gone(struct eth_if *e, struct ipoib_neigh *n);
/* eth_peers_fini() - Forget all neighbours, without a report */
void eth_peers_fini(struct eth_if *e);

#endif

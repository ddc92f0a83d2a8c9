/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ETH_PEER_H
#define ETH_PEER_H

/*
 * This layer stores the token of a neighbour, and other data from messages about the neighbour,
 * such as its Q_Key. It keeps these data as long as the kernel's tables can contain the neighbour's
 * address.
 */

#include "eth/eth.h"

/*
 * The data that this layer stores about a neighbour. The struct has a reference to the neighbour, whose .user points
 * to the struct.
 */
struct eth_peer {
	struct list link; /* in eth_if.peers */
	struct ipoib_neigh *neigh;
	uint8_t flags; /* the reserved octet of the peer's address in its last ARP message */
	/*
	 * true if the peer has sent an IBARP request; .asked_qkey and .asked_eui64 are from the
	 * last such request
	 */
	bool asked;
	uint32_t asked_qkey;
	uint64_t asked_eui64;
	/* members that only the Ethernet shape uses */
	struct hlink by_mac; /* in eth_tokens.peers */
	uint8_t mac[6]; /* the neighbour's token */
};

/*
 * eth_peer_get() - Return: this layer's data about a neighbour, which are created on first use; NULL: out of memory
 */
struct eth_peer *eth_peer_get(struct eth_if *e, struct ipoib_neigh *n);
/*
 * eth_peer_said() - Store the values @port (such as the Q_Key) that a message from @src (NULL: unknown)
 * contained about the neighbour @n
 *
 * Return: 0; -EKEYREJECTED as ipoib_neigh_said(); -ENOMEM
 */
int eth_peer_said(struct eth_if *e, struct ipoib_neigh *n, const struct ipoib_neigh *src,
		  const struct nd_port *port);
/*
 * eth_peer_gone() - Tell the owner of the interface that the link drops the neighbour, and free
 * this layer's data about the neighbour
 */
void eth_peer_gone(struct eth_if *e, struct ipoib_neigh *n);
/*
 * eth_peers_fini() - Drop the data about all neighbours, without telling the owner of the interface
 */
void eth_peers_fini(struct eth_if *e);

#endif

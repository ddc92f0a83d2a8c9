/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ETH_TOKEN_H
#define ETH_TOKEN_H

/* Tokens: the MACs that stand for link-layer addresses of peers in the kernel. */

#include "eth/eth.h"

#define ETH_UNKNOWN_SLOTS 16 /* unknown tokens remembered, so that each is reported once a second */
#define ETH_UNKNOWN_RATE 64 /* unknown tokens reported per second, all together */

/* The token of one peer. It is the .user of its neighbour, on which it holds a reference. */
struct eth_peer {
	struct hlink by_mac; /* in eth_tokens.peers */
	struct ipoib_neigh *neigh;
	uint8_t mac[6]; /* the token */
	uint8_t flags; /* reserved octet of the peer's address, as its last ARP message had it */
	/* true if the peer has asked by IBARP; the next two are from its last request */
	bool asked;
	uint32_t asked_qkey;
	uint64_t asked_eui64;
};

/*
 * MACs to which a frame was sent although they are no token. Each is reported to the owner, who deletes the
 * kernel's neighbour entry. That costs a system call, so a stream of frames to one such MAC is reported once a
 * second, and streams to many such MACs ETH_UNKNOWN_RATE times a second in all.
 */
struct eth_unknown {
	struct {
		uint8_t mac[6];
		bool used;
		ns_t at; /* time of the last report */
	} slot[ETH_UNKNOWN_SLOTS];
	ns_t since; /* start of the one-second window in which .n counts reports */
	unsigned int n;
};

struct eth_tokens {
	struct htab peers; /* struct eth_peer.by_mac */
	struct eth_unknown unknown;
};

/* eth_peer_by_mac() - The neighbour that has the token @mac, or NULL */
struct ipoib_neigh *eth_peer_by_mac(const struct eth_if *e, const uint8_t mac[6]);
/* eth_peer_mac() - Token of a neighbour, made on first use; NULL: out of memory */
const uint8_t *eth_peer_mac(struct eth_if *e, struct ipoib_neigh *n);
/* eth_peer_gone() - The link gives the neighbour up: report its token and forget it */
void eth_peer_gone(struct eth_if *e, struct ipoib_neigh *n);
/* eth_tokens_fini() - Forget all tokens, without a report */
void eth_tokens_fini(struct eth_if *e);
/* eth_token_unknown() - A frame was sent to @mac, which is no token: report it, within the limits above */
void eth_token_unknown(struct eth_if *e, const uint8_t mac[6], ns_t now);

/* eth_mac_to_lladdr() - Link-layer address for our own MAC, a station's MAC or a token. 0; -ENOENT */
int eth_mac_to_lladdr(const struct eth_if *e, const uint8_t mac[6], struct ipoib_lladdr *ret);
/*
 * eth_lladdr_to_mac() - MAC of a link-layer address; a peer that was not known becomes a neighbour
 * @probe:	resolve the path to the peer now, since traffic to it will follow
 *
 * Return: 0; -ENOBUFS: @a is no unicast address, or there is no room for one more neighbour
 */
int eth_lladdr_to_mac(struct eth_if *e, const struct ipoib_lladdr *a, uint8_t ret[6], ns_t now,
		      bool probe);

#endif

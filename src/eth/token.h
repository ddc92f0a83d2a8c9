/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ETH_TOKEN_H
#define ETH_TOKEN_H

/* Ethernet shape. A token is the MAC by which the kernel knows the link-layer address of a peer. */

#include "eth/peer.h"

/* number of unknown tokens that are remembered, so that each is reported at most once a second */
#define ETH_UNKNOWN_SLOTS 16
#define ETH_UNKNOWN_RATE 64 /* largest number of reports per second, of all unknown tokens */

/*
 * MACs to which the kernel sent frames, although these MACs are not the tokens of peers. Each of
 * these MACs is reported by eth_ops.neigh_gone(), which deletes the kernel's neighbour entry. The
 * deletion costs a system call. So the rate of reports is limited: once a second for one MAC, and
 * ETH_UNKNOWN_RATE times a second for all MACs together.
 */
struct eth_unknown {
	struct {
		uint8_t mac[6];
		bool used;
		ns_t at; /* time of the last report */
	} slot[ETH_UNKNOWN_SLOTS];
	ns_t since; /* start of the present one-second window, in which .n reports were made */
	unsigned int n;
};

struct eth_tokens {
	struct htab peers; /* struct eth_peer.by_mac */
	struct eth_unknown unknown;
};

/* eth_peer_by_mac() - Return the neighbour that has the token @mac, or NULL */
struct ipoib_neigh *eth_peer_by_mac(const struct eth_if *e, const uint8_t mac[6]);
/*
 * eth_peer_by_hw() - Find the neighbour that the kernel's tables have under @hw, which is a token
 * of 6 octets or a link-layer address of 20 octets. NULL: there is none
 */
struct ipoib_neigh *eth_peer_by_hw(const struct eth_if *e, const uint8_t *hw, size_t len);
/*
 * eth_peer_mac() - Return the token of a neighbour, which is made on first use; NULL: out of
 * memory, or no free token
 */
const uint8_t *eth_peer_mac(struct eth_if *e, struct ipoib_neigh *n);
/*
 * eth_token_init(), eth_token_fini() - Assign a token to a peer, and remove the token. Return:
 * false if memory ran out, or if all tokens that were tried are in use
 */
bool eth_token_init(struct eth_if *e, struct eth_peer *p);
void eth_token_fini(struct eth_if *e, struct eth_peer *p);
/*
 * eth_token_gone() - Call eth_ops.neigh_gone() for the token of @p, because no peer has this token
 * any more
 */
void eth_token_gone(struct eth_if *e, const struct eth_peer *p);
/*
 * eth_token_unknown() - Call eth_ops.neigh_gone(), within the limits of struct eth_unknown, because
 * a frame was sent to @mac, which is no token
 */
void eth_token_unknown(struct eth_if *e, const uint8_t mac[6], ns_t now);

/*
 * eth_mac_to_lladdr(), eth_lladdr_to_mac() - Implement eth_shape_ops.lladdr and .hw: convert a MAC
 * (the interface's, a station's, or a token) to a link-layer address, and back
 */
int eth_mac_to_lladdr(const struct eth_if *e, const uint8_t *mac, struct ipoib_lladdr *ret);
int eth_lladdr_to_mac(struct eth_if *e, const struct ipoib_lladdr *a, uint8_t *ret,
		      struct ipoib_neigh **ret_n, ns_t now);

#endif

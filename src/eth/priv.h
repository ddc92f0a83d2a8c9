/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ETH_PRIV_H
#define ETH_PRIV_H

/*
 * The interface and the functions that the files of eth/ share. Each header below declares a part of the interface's
 * state.
 */

#include "eth/coalesce.h"
#include "eth/dhcp.h"
#include "eth/eth.h"
#include "eth/group.h"
#include "eth/held.h"
#include "eth/peer.h"
#include "eth/send.h"
#include "eth/shape.h"
#include "eth/station.h"
#include "eth/token.h"
#include "util/pace.h"

#define ETH_MTU_LINES_EVERY NS_SEC(60)

struct eth_if {
	struct eth_if_cfg cfg;
	const struct eth_shape_ops *shape;
	const struct ipoib_profile *profile; /* link profile of the interface's link */
	const struct eth_ops *ops;
	void *ctx;
	uint8_t mac[6];
	struct ipoib_lladdr own;
	bool has_own; /* .mac and .own are valid */
	bool up; /* the network device is up */
	ns_t now; /* time that the owner passed to its last call into this layer */
	struct list peers; /* struct eth_peer.link */
	struct eth_tokens tokens;
	struct eth_stations stations;
	struct eth_groups groups;
	struct eth_held_reports held;
	struct eth_dhcp *dhcp;
	struct eth_out out;
	struct eth_coalescer coalescer; /* of packets to the link */
	struct eth_gro gro; /* of packets from the link */
	struct pace_lines mtu_lines; /* log lines about MTUs in router advertisements */
	struct eth_stats stats;
};

static inline bool eth_mac_equal(const uint8_t *a, const uint8_t *b)
{
	return !memcmp(a, b, 6);
}

/*
 * Multiplies the MAC by a constant. Returns the upper 32 bits of the product, because these depend
 * on all bits of the MAC. Tokens are hash values already. But the tables also contain the MACs of
 * stations, which are not.
 */
static inline uint64_t eth_mac_hash(const uint8_t mac[6])
{
	return ((uint64_t)be16_at(mac) << 32 | be32_at(mac + 2)) * 0x9e3779b97f4a7c15ull >> 32;
}

/* eth_drop() - Free @p and count it under @why */
void eth_drop(struct eth_if *e, enum eth_drop why, struct pkt *p);

/*
 * --- arp.c, ibarp.c, nd.c: these functions return a new packet whose addresses have the format of
 * the receiver (link or kernel), and leave @p to the caller. They return NULL if the message is
 * refused; *why is then the reason
 */

struct pkt *eth_arp_to_link(struct eth_if *e, struct pkt *p, enum eth_drop *why);
struct pkt *eth_arp_from_link(struct eth_if *e, struct pkt *p, ns_t now, enum eth_drop *why);
/* eth_ibarp_to_link() - Translate the kernel's ARP message t->pkt to IBARP, and set the destination in @t */
struct pkt *eth_ibarp_to_link(struct eth_if *e, struct ipoib_tx *t, ns_t now, enum eth_drop *why);
struct pkt *eth_ibarp_from_link(struct eth_if *e, const struct ipoib_rx *r, ns_t now,
				enum eth_drop *why);
/*
 * eth_nd_type() - Return the ICMPv6 type if the IPv6 packet is an ND message (RFC 4861: hop limit 255), otherwise 0
 */
uint8_t eth_nd_type(struct pkt *p);
struct pkt *eth_nd_to_link(struct eth_if *e, struct pkt *p, enum eth_drop *why);
struct pkt *eth_nd_from_link(struct eth_if *e, struct pkt *p, const struct ipoib_neigh *src,
			     ns_t now, enum eth_drop *why);

/* --- tx.c */

/*
 * eth_ip_dst() - Set the destination of the IP packet in @t, which came in a frame with the
 * destination address @dst. Return: ETH_DROP_NONE, or the reason for which the packet is dropped
 */
enum eth_drop eth_ip_dst(struct eth_if *e, struct ipoib_tx *t, const struct eth_dst *dst, ns_t now);

#endif

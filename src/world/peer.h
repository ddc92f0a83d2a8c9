/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFORM_PEER_H
#define CONFORM_PEER_H

/* Peers: other IPoIB interfaces of the link. They answer ARP, Neighbour Solicitations and pings by themselves. */

#include "world/world.h"

/* world_peer_rx() - The DUT sent a packet of IPoIB */
void world_peer_rx(struct world *w, const struct seen *s);

/* world_peer() - A peer that the DUT does not know yet. When all were used, the first is used again. */
struct world_peer *world_peer(struct world *w);
struct world_peer *world_peer_by_gid(struct world *w, const ib_gid *gid);

/* What a peer sends of its own accord */
void peer_arp_request(struct world *w, const struct world_peer *p);
/* The same for another form: the caller fills in an ARP message of @len octets */
void peer_broadcast(struct world *w, const struct world_peer *p, uint16_t type, const void *data,
		    size_t len);
/* Ask for @target by Neighbour Solicitation, to its solicited-node group */
void peer_solicit(struct world *w, const struct world_peer *p, const uint8_t target[16]);
/* An echo request whose IP packet has @ip_len octets; cut into fragments of at most WORLD_IP_MTU */
void peer_ping(struct world *w, const struct world_peer *p, size_t ip_len, uint16_t seq);
/* A unicast packet to the DUT, beginning with the encapsulation header; @h has P_Key and Q_Key filled in */
void peer_unicast(struct world *w, const struct world_peer *p, const struct ib_ud_hdr *h,
		  const void *data, size_t len);
/* Headers of a unicast of the peer to the DUT */
struct ib_ud_hdr peer_headers(const struct world *w, const struct world_peer *p);
/* peer_arp_message() - Write an ARP message of 56 octets from the peer about the DUT's address */
void peer_arp_message(uint8_t *buf, const struct world *w, const struct world_peer *p, uint16_t op);
/* peer_echo() - Write the encapsulation header and an echo request of one packet. Return: octets */
size_t peer_echo(uint8_t *buf, struct world *w, const struct world_peer *p, size_t ip_len,
		 uint16_t seq);

/* peer_echo6() - The same by IPv6, with the number 1 */
size_t peer_echo6(uint8_t *buf, const struct world *w, const struct world_peer *p, size_t ip_len);

/* --- matchers */

/* Data of IPoIB, with its ethertype; -1: no data, or too short */
static inline int data_type(const struct seen *s)
{
	return s->kind == SEEN_DATA && s->payload_len >= 4 ? be16_at(s->payload) : -1;
}

static inline bool data_is_mcast(const struct seen *s)
{
	return s->h.bth.dest_qp == IB_QPN_MCAST;
}

struct arp_want {
	uint16_t op;
	const uint8_t *tpa; /* target protocol address; NULL: any */
};
bool arp_is(const struct seen *s, const void *want);

struct echo_want {
	const uint8_t *dst; /* 4 octets, or 16 with .v6 */
	int seq; /* -1: any */
	bool v6;
	bool request; /* else a reply */
};
bool echo_is(const struct seen *s, const void *want);

struct nd_want {
	uint8_t type;
	const uint8_t *target; /* NULL: any */
};
bool nd_is(const struct seen *s, const void *want);

/* A packet of IP to this destination, @arg has 4 or 16 octets, with or without GRH */
bool ip4_to(const struct seen *s, const void *dst);
bool ip6_to(const struct seen *s, const void *dst);
/* A unicast packet of any type to a peer, @arg */
bool unicast_to(const struct seen *s, const void *peer);

#define ARP_LEN 56
/* Offsets of fields in an ARP message of this length */
#define ARP_SHA 8
#define ARP_SPA 28
#define ARP_THA 32
#define ARP_TPA 52

#endif

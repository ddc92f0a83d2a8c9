/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFORM_PEER_H
#define CONFORM_PEER_H

/* Peers: other IPoIB interfaces of the link. They answer ARP, Neighbour Solicitations and pings by themselves. */

#include "world/match.h"
#include "world/world.h"

/* world_peer_rx() - The DUT sent a packet of IPoIB */
void world_peer_rx(struct world *w, const struct seen *s);

/* world_peer() - A peer that the DUT does not know yet. When all were used, the first is used again. */
struct world_peer *world_peer(struct world *w);
struct world_peer *world_peer_by_gid(struct world *w, const ib_gid *gid);
/* The peer that has this LID; NULL: none */
const struct world_peer *world_peer_by_lid(const struct world *w, uint16_t lid);
/* What a peer says of itself, and the Q_Key that packets to it have to have */
struct world_lladdr peer_lladdr(const struct world *w, const struct world_peer *p);
uint32_t peer_qkey(const struct world *w, const struct world_peer *p);

/* What a peer sends of its own accord */
void peer_arp_request(struct world *w, const struct world_peer *p);
/* The same for another form: the caller fills in an ARP message of @len octets */
void peer_broadcast(struct world *w, const struct world_peer *p, uint16_t type, const void *data,
		    size_t len);
/* The same with this very ethertype behind two reserved octets, as draft-pelissier-ipoib-encaparp-00 has it */
void peer_broadcast_as(struct world *w, const struct world_peer *p, uint16_t type, const void *data,
		       size_t len);
/* Ask for @target by Neighbour Solicitation, to its solicited-node group */
void peer_solicit(struct world *w, const struct world_peer *p, const uint8_t target[16]);
/* An echo request whose IP packet has @ip_len octets; cut into fragments of at most w->ip_mtu. By IPv4 where the link carries it */
void peer_ping(struct world *w, const struct world_peer *p, size_t ip_len, uint16_t seq);
void peer_ping6(struct world *w, const struct world_peer *p, size_t ip_len, uint16_t seq);
/* Look for a duplicate of @target, as before the peer took this address; its owner answers to all nodes */
void peer_probe(struct world *w, const struct world_peer *p, const uint8_t target[16]);
/* A router advertisement with an MTU, if it is not 0, and a prefix of 64 bits for addresses; NULL: none */
void peer_advertise(struct world *w, const struct world_peer *p, uint32_t mtu,
		    const uint8_t prefix[8]);
/* A unicast packet to the DUT, beginning with the encapsulation; @h has P_Key and Q_Key filled in */
void peer_unicast(struct world *w, const struct world_peer *p, const struct ib_ud_hdr *h,
		  const void *data, size_t len);
/* Headers of a unicast of the peer to the DUT */
struct ib_ud_hdr peer_headers(const struct world *w, const struct world_peer *p);
/* peer_arp_message() - Write the request of a peer for the DUT's address, w->wire->arp->len octets */
void peer_arp_message(uint8_t *buf, const struct world *w, const struct world_peer *p);
/* peer_echo() - Write the encapsulation and an echo request of one packet. Return: octets */
size_t peer_echo(uint8_t *buf, struct world *w, const struct world_peer *p, size_t ip_len,
		 uint16_t seq);
size_t peer_echo6(uint8_t *buf, struct world *w, const struct world_peer *p, size_t ip_len,
		  uint16_t seq);

#endif

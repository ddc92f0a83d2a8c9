/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFORM_PEER_H
#define CONFORM_PEER_H

/*
 * Peers: IPoIB interfaces that the suite plays on the DUT's link. Peers answer ARP, Neighbour
 * Solicitations and pings by themselves.
 */

#include "world/match.h"
#include "world/world.h"

/* world_peer_rx() - Handle an IPoIB packet of the DUT, which a peer may have to answer */
void world_peer_rx(struct world *w, const struct seen *s);

/*
 * world_peer() - Make a peer on the default link. Its addresses are new to the DUT, unless
 * WORLD_PEERS peers were made before; then the new peer replaces the oldest peer and has the same
 * addresses
 */
struct world_peer *world_peer(struct world *w);
/* world_peer_in() - As world_peer(), but the peer is on the link of @pkey instead of the default link */
struct world_peer *world_peer_in(struct world *w, uint16_t pkey);
struct world_peer *world_peer_by_gid(struct world *w, const ib_gid *gid);
/* world_peer_by_lid() - Return: the peer that has this LID; NULL if there is none */
const struct world_peer *world_peer_by_lid(const struct world *w, uint16_t lid);
/*
 * peer_lladdr() - Return: the peer's link-layer address, as the DUT's profile defines it;
 * peer_qkey() - Return: the Q_Key that packets to the peer must have
 */
struct world_lladdr peer_lladdr(const struct world *w, const struct world_peer *p);
uint32_t peer_qkey(const struct world *w, const struct world_peer *p);

/*
 * The functions below send packets that do not answer a packet of the DUT. peer_arp_request() asks
 * for the DUT's address by ARP
 */
void peer_arp_request(struct world *w, const struct world_peer *p);
/*
 * peer_broadcast() - Broadcast an ARP message of @len octets that the caller has written, for
 * example one in an unusual format
 */
void peer_broadcast(struct world *w, const struct world_peer *p, uint16_t type, const void *data,
		    size_t len);
/*
 * peer_broadcast_as() - Broadcast as peer_broadcast() does, but with the header of
 * draft-pelissier-ipoib-encaparp-00: two reserved octets and the ethertype. The ethertype is @type,
 * even if @type is TYPE_ARP. On a link of this draft, peer_broadcast() would write TYPE_IP4 instead
 */
void peer_broadcast_as(struct world *w, const struct world_peer *p, uint16_t type, const void *data,
		       size_t len);
/*
 * peer_solicit() - Send a Neighbour Solicitation for the address @target to the solicited-node
 * group of @target
 */
void peer_solicit(struct world *w, const struct world_peer *p, const uint8_t target[16]);
/*
 * peer_ping() - Send an echo request whose IP packet has @ip_len octets, in fragments no longer
 * than the IP MTU of the peer's link. peer_ping() uses IPv4 if the link carries IPv4, otherwise
 * IPv6; peer_ping6() uses IPv6
 */
void peer_ping(struct world *w, const struct world_peer *p, size_t ip_len, uint16_t seq);
void peer_ping6(struct world *w, const struct world_peer *p, size_t ip_len, uint16_t seq);
/*
 * peer_probe() - Probe for duplicates of @target, as a node does before it uses an address. The node that has the
 * address answers to all nodes
 */
void peer_probe(struct world *w, const struct world_peer *p, const uint8_t target[16]);
/*
 * peer_advertise() - Send a router advertisement with an MTU, unless @mtu is 0, and with a prefix of 64 bits for addresses,
 * unless @prefix is NULL
 */
void peer_advertise(struct world *w, const struct world_peer *p, uint32_t mtu,
		    const uint8_t prefix[8]);
/*
 * peer_unicast() - Send @data, which begins with the encapsulation header, to the DUT as a unicast
 * packet. The caller has already written P_Key and Q_Key to @h
 */
void peer_unicast(struct world *w, const struct world_peer *p, const struct ib_ud_hdr *h,
		  const void *data, size_t len);
/* peer_headers() - Return: the headers of a unicast packet of the peer to the DUT */
struct ib_ud_hdr peer_headers(const struct world *w, const struct world_peer *p);
/*
 * peer_arp_message() - Write an ARP request of w->wire->arp->len octets, in which @p asks for the
 * DUT's IPv4 address
 */
void peer_arp_message(uint8_t *buf, const struct world *w, const struct world_peer *p);
/*
 * peer_echo() - Write the encapsulation header and an echo request that fits into one packet.
 * Return: number of octets
 */
size_t peer_echo(uint8_t *buf, struct world *w, const struct world_peer *p, size_t ip_len,
		 uint16_t seq);
size_t peer_echo6(uint8_t *buf, struct world *w, const struct world_peer *p, size_t ip_len,
		  uint16_t seq);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORLD_WIRE_H
#define WORLD_WIRE_H

/*
 * What the packets of a link look like: a row of independent choices. Each choice is computed from its document here, not by
 * code that the product uses.
 */

#include <stddef.h>

#include "wire/ib.h"

#define TYPE_IP4 0x0800
#define TYPE_ARP 0x0806
#define TYPE_RARP 0x8035
#define TYPE_IP6 0x86dd

/* What MGIDs depend on besides the IP group */
struct world_map {
	uint16_t pkey;
	uint8_t scope;
	uint16_t subnet; /* number of the IP subnet; 0: none */
};

/* What a link-layer address tells about an interface. Not every form has all members. */
struct world_lladdr {
	ib_gid gid;
	uint32_t qpn, qkey;
	uint16_t lid;
	uint8_t flags; /* the reserved octet, or capability flags */
};

/* How the addresses of IPv4 are asked for */
struct wire_arp {
	size_t len; /* octets of a message */
	size_t tpa; /* offset of the target's IP address; the operation is at 6 */
	/* Both write .len octets. A reply is made of the request, @req. */
	void (*request)(uint8_t *p, const struct world_lladdr *from, const uint8_t spa[4],
			const uint8_t tpa[4]);
	void (*reply)(uint8_t *p, const uint8_t *req, const struct world_lladdr *from,
		      const uint8_t spa[4]);
};

struct world_wire {
	/* Encapsulation: octets before the IP packet, how they are written, and what a packet is: an ethertype, -1: too short */
	uint8_t hdr_len;
	void (*put_hdr)(uint8_t *p, uint16_t type, uint16_t reserved);
	int (*type)(const uint8_t *p, size_t len);
	const struct wire_arp *arp; /* NULL: the link carries no IPv4 */
	/* The option of Neighbour Discovery with a link-layer address: octets, a multiple of 8 */
	uint8_t opt_len;
	void (*put_opt)(uint8_t *p, uint8_t type, const struct world_lladdr *a);
	uint8_t mtu; /* code of the group's MTU */
	unsigned int (*ip_mtu)(unsigned int mtu); /* of a group with an MTU of so many octets */
	bool peer_qkey; /* unicasts have the Q_Key that the peer's link-layer address names; else that of the link's group */
	bool sidr; /* the link's group is asked by SIDR; else its MGID comes from the map */
	bool group_sl; /* unicasts have the SL of the link's group; else that of the PathRecord */
	/* The link's own group, and the groups of IP multicast addresses */
	ib_gid (*mgid_broadcast)(const struct world_map *map);
	/* NULL without IPv4 */
	ib_gid (*mgid_ip4)(const struct world_map *map, const uint8_t group[4]);
	ib_gid (*mgid_ip6)(const struct world_map *map, const uint8_t group[16]);
};

/* RFC 4391 */
extern const struct world_wire world_wire_rfc4391;
/* draft-kashyap-ipoib-ipv4-multicast-01: other groups of IPv4, otherwise as RFC 4391 */
extern const struct world_wire world_wire_v4mc01;
/* draft-kashyap-ipoib-ipv6-over-ib-00: IPv6 without a header */
extern const struct world_wire world_wire_v6ib00;

/* draft-pelissier-ipoib-encaparp-00: IBARP, and the group by SIDR */
extern const struct world_wire world_wire_encaparp00;

/* IBARP: octets behind the encapsulation, and offsets in them */
#define IBARP_OCTETS 88
#define IBARP_SENDER 8
#define IBARP_SPA 44
#define IBARP_TARGET 48
#define IBARP_TPA 84
/* Octets of the link-layer address in it, and offsets in that */
#define IBARP_ADDR 36
#define IBARP_QPN 8
#define IBARP_QKEY 12
#define IBARP_GID 20

/* ARP of RFC 4391 */
#define ARP_LEN 56
/* Offsets of fields in an ARP message of this length */
#define ARP_SHA 8
#define ARP_SPA 28
#define ARP_THA 32
#define ARP_TPA 52

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORLD_WIRE_H
#define WORLD_WIRE_H

/*
 * The format of a link's packets differs between the documents about IPoIB. struct world_wire has a
 * member for each difference. Each function follows the text of its document, and uses no code of
 * src/ipoib.
 */

#include <stddef.h>

#include "wire/ib.h"

#define TYPE_IP4 0x0800
#define TYPE_ARP 0x0806
#define TYPE_RARP 0x8035
#define TYPE_IP6 0x86dd

/* Values that an MGID contains besides the address of the IP group */
struct world_map {
	uint16_t pkey;
	uint8_t scope;
	uint16_t subnet; /* number of the IP subnet; 0: none */
};

/*
 * Contents of a link-layer address. Depending on the document, an address lacks some of these
 * members.
 */
struct world_lladdr {
	ib_gid gid;
	uint32_t qpn, qkey;
	uint16_t lid;
	uint8_t flags; /* the reserved octet, or capability flags */
};

/* The format of ARP messages, for IPv4 */
struct wire_arp {
	size_t len; /* length of a message in octets */
	/*
	 * offset of the target's IP address in the ARP message. The offset of the operation is 6 in
	 * every format of ARP
	 */
	size_t tpa;
	/*
	 * These functions write an ARP request, and the reply to the request @req; each message has
	 * .len octets.
	 */
	void (*request)(uint8_t *p, const struct world_lladdr *from, const uint8_t spa[4],
			const uint8_t tpa[4]);
	void (*reply)(uint8_t *p, const uint8_t *req, const struct world_lladdr *from,
		      const uint8_t spa[4]);
};

struct world_wire {
	/*
	 * Encapsulation: .hdr_len is the number of octets before the IP packet. One function writes
	 * these octets. The other function returns the ethertype of a packet, or -1 if the packet
	 * is too short
	 */
	uint8_t hdr_len;
	void (*put_hdr)(uint8_t *p, uint16_t type, uint16_t reserved);
	int (*type)(const uint8_t *p, size_t len);
	const struct wire_arp *arp; /* NULL: the link carries no IPv4 */
	/*
	 * Link-layer address option of Neighbour Discovery. .opt_len is the length of the option in
	 * octets, a multiple of 8
	 */
	uint8_t opt_len;
	void (*put_opt)(uint8_t *p, uint8_t type, const struct world_lladdr *a);
	uint8_t mtu; /* code of the group's MTU */
	/* the IP MTU of a link whose group has an MTU of @mtu octets */
	unsigned int (*ip_mtu)(unsigned int mtu);
	/*
	 * true: a unicast packet has the Q_Key that is in the receiver's link-layer address; false:
	 * it has the Q_Key of the broadcast group
	 */
	bool peer_qkey;
	/* true: SIDR tells which group is the broadcast group; false: its MGID is computed */
	bool sidr;
	/*
	 * true: unicast packets have the SL of the broadcast group; false: the SL of the PathRecord
	 */
	bool group_sl;
	/* MGID of the broadcast group, and MGIDs to which IP multicast groups are mapped */
	ib_gid (*mgid_broadcast)(const struct world_map *map);
	/* NULL: the link carries no IPv4 */
	ib_gid (*mgid_ip4)(const struct world_map *map, const uint8_t group[4]);
	ib_gid (*mgid_ip6)(const struct world_map *map, const uint8_t group[16]);
};

/* RFC 4391 */
extern const struct world_wire world_wire_rfc4391;
/* draft-kashyap-ipoib-ipv4-multicast-01: IPv4 groups have other MGIDs, everything else is as in RFC 4391 */
extern const struct world_wire world_wire_v4mc01;
/* draft-kashyap-ipoib-ipv6-over-ib-00: IPv6 packets without the encapsulation header */
extern const struct world_wire world_wire_v6ib00;

/*
 * draft-pelissier-ipoib-encaparp-00: IBARP in place of ARP, and SIDR tells which group is the
 * broadcast group
 */
extern const struct world_wire world_wire_encaparp00;

/* Length of an IBARP message without the encapsulation header, and offsets of its fields */
#define IBARP_OCTETS 88
#define IBARP_SENDER 8
#define IBARP_SPA 44
#define IBARP_TARGET 48
#define IBARP_TPA 84
/* Length of the link-layer address in an IBARP message, and offsets in the address */
#define IBARP_ADDR 36
#define IBARP_QPN 8
#define IBARP_QKEY 12
#define IBARP_GID 20

/* length of an ARP message of RFC 4391 */
#define ARP_LEN 56
/* Offsets of fields in an ARP message of RFC 4391 */
#define ARP_SHA 8
#define ARP_SPA 28
#define ARP_THA 32
#define ARP_TPA 52

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ETH_ETH_H
#define ETH_ETH_H

/*
 * DOC: The Ethernet shape
 *
 * A TAP cannot have a 20-octet address, so an IPoIB link is shown to the kernel as an
 * Ethernet interface (option 2 of the HLD): a MAC is a token for a link-layer address.
 * A peer's token is 06 and 40 bits of a hash with a fixed key of (QPN, GID, P_Key), the
 * same in every daemon and after every restart; our own MAC is 02 and such a hash of
 * (port GUID, P_Key, QPN). ARP, RARP and ND are rewritten both ways, with lengths and
 * checksums; IGMP and MLD are read on their way out, so that groups are joined before
 * the report leaves; DHCP takes the form of RFC 4390 on the link.
 *
 *	TAP -> eth_tx()   -> ops->post()	packets to send, segmented, checksums complete
 *	QP  -> eth_rx()   -> ops->deliver()	frames to write, coalesced
 *	ipoib_next_action() -> eth_action()	the actions that concern this layer
 *
 * Several stations may be behind the TAP: a bridge, macvlan, virtual machines. A source MAC
 * that is not the interface's own is one, and gets a queue pair, and so a link-layer address,
 * of its own; it is given up when no packet went either way for ETH_STATION_AGE. Neighbours,
 * paths and groups are the link's; groups are attached to the main queue pair alone.
 *
 * Sans I/O. What cannot be carried is dropped under a reason.
 */

#include "eth/gro.h"
#include "ipoib/ipoib.h"

struct eth_if;
struct eth_station;

#define ETH_STATIONS_MAX IPOIB_MAX_OWN_QPS
#define ETH_STATION_AGE NS_SEC(300)

enum eth_drop {
	ETH_DROP_NONE,
	/* from the TAP */
	ETH_DROP_SHORT, /* shorter than an Ethernet header, or than what its type promises */
	ETH_DROP_TYPE, /* ethertype that IPoIB does not carry */
	ETH_DROP_VLAN, /* VLAN tags: a P_Key is the VLAN of InfiniBand */
	ETH_DROP_BPDU, /* IEEE 802.3 length, spanning tree */
	ETH_DROP_LLDP,
	ETH_DROP_SOURCE, /* source MAC that is none: zero, or a group's */
	ETH_DROP_SOURCE_TOKEN, /* source MAC that is a peer's token: a loop, or somebody who pretends */
	ETH_DROP_STATION_LIMIT, /* a source MAC more than there may be stations */
	ETH_DROP_STATION_QP, /* no queue pair for the source MAC: the link is down, or the CA refused */
	ETH_DROP_TOKEN, /* unicast to a MAC that is no token we know */
	ETH_DROP_LOCAL, /* unicast to a MAC that is behind the TAP itself: flooded by a bridge */
	ETH_DROP_MAC_MISMATCH, /* unicast IP in a group MAC (I28) */
	ETH_DROP_ARP, /* ARP, RARP or ND that cannot be rewritten */
	ETH_DROP_DHCP, /* DHCP that cannot be rewritten, or is above the IP MTU then */
	ETH_DROP_TOO_BIG, /* a super-frame of datagrams above the link's IP MTU */
	ETH_DROP_OFFLOAD, /* super-frame or partial checksum that its headers do not bear out */
	ETH_DROP_NO_MEM, /* out of packets */
	ETH_DROP_HELD, /* too many IGMP/MLD reports wait for their joins; the TAP went down meanwhile */
	/* from the link */
	ETH_DROP_RX_ARP, /* malformed ARP, RARP or ND, or no room for an address in it */
	ETH_DROP_RX_DHCP, /* DHCP that cannot be rewritten */
	ETH_DROP_RX_DOWN, /* the TAP is down */
	ETH_DROP_MAX,
};
const char *eth_drop_name(enum eth_drop d);

/* One packet for the QP: head at the encapsulation. */
struct eth_send {
	struct pkt *pkt;
	void *ah; /* as ipoib_ah_ready() gave it */
	void *qp; /* as station_open() gave it; NULL: the main one */
	uint32_t dest_qpn, qkey;
};

struct eth_ops {
	/* Takes all @n (at most PKT_BATCH) packets. */
	void (*post)(void *ctx, const struct eth_send *v, unsigned int n, ns_t now);
	/* Takes the frame: write it to the TAP, then eth_frame_free(). */
	void (*deliver)(void *ctx, struct eth_frame *f);
	/* A token is void: delete the kernel's neighbour entries that name it. Limited in rate. */
	void (*neigh_gone)(void *ctx, const uint8_t mac[6]);
	/*
	 * A UD queue pair like the main one, best with the same QPN for the same MAC each time; what it
	 * receives goes to eth_rx_station(). 0 or -errno. NULL: one station, the interface itself
	 */
	int (*station_open)(void *ctx, struct eth_station *st, const uint8_t mac[6], void **ret_qp,
			    uint32_t *ret_qpn);
	void (*station_close)(void *ctx, void *qp);
};

struct eth_if_cfg {
	struct ipoib_link *link; /* borrowed, as all below; must outlive the interface */
	struct pkt_pool *pool;
	struct timers *timers;
	const struct log_sink *log;
	uint16_t pkey; /* full form */
	bool gro_tcp, gro_udp; /* super-frames that the TAP takes */
	bool dhcp_raw; /* DHCP passes as it is */
	unsigned int stations; /* at most, besides the interface itself; up to ETH_STATIONS_MAX */
};

/* 0 or -ENOMEM */
int eth_if_create(struct eth_if **ret, const struct eth_if_cfg *cfg, const struct eth_ops *ops,
		  void *ctx);
/* Gives neighbours and groups back, as of its last call; before ipoib_link_destroy(). NULL is accepted. */
void eth_if_destroy(struct eth_if *e);

/* eth_own_mac() - MAC of an interface: 02 + hash(port GUID, P_Key, QPN); bit 15 of @pkey does not matter */
void eth_own_mac(uint8_t ret[6], uint64_t port_guid, uint16_t pkey, uint32_t qpn);
/* eth_token() - Token of a peer, before any collision: 06 + hash(QPN, GID, P_Key), flags masked; same @pkey */
void eth_token(uint8_t ret[6], const struct ipoib_lladdr *a, uint16_t pkey);

/* eth_if_set_addr() - What goes into ARP and ND as our own: the MAC of the TAP and the address of the QP */
void eth_if_set_addr(struct eth_if *e, const uint8_t mac[6], const struct ipoib_lladdr *own);

/* eth_tx() - Frames read from the TAP; takes them. Super-frames say so in gso, gso_size, csum_start,
 * csum_offset (from the IP header on) and PKT_CSUM_PARTIAL. @n at most PKT_BATCH */
void eth_tx(struct eth_if *e, struct pkt **v, unsigned int n, ns_t now);

/* eth_rx() - Packets polled from the main QP (inputs of ipoib_rx() filled in); takes them */
void eth_rx(struct eth_if *e, struct ipoib_rx *v, unsigned int n, ns_t now);

/* eth_rx_station() - The same from the QP of a station; NULL: the main QP */
void eth_rx_station(struct eth_if *e, struct eth_station *st, struct ipoib_rx *v, unsigned int n,
		    ns_t now);

struct eth_station_info {
	uint8_t mac[6];
	struct ipoib_lladdr lladdr;
	ns_t since, last_used;
	uint64_t tx_frames, rx_packets;
	unsigned int groups; /* that it reported */
};
void eth_station_each(const struct eth_if *e,
		      void (*fn)(void *ctx, const struct eth_station_info *i), void *ctx);

/* eth_action() - True if the action was this layer's: NEIGH_GONE, MCAST_READY, SEND; false: the owner's.
 * Every action is shown to it before the owner carries it out. */
bool eth_action(struct eth_if *e, const struct ipoib_action *act, ns_t now);

/* eth_if_set_up() - The TAP was set up or down; down leaves all groups (I31) */
void eth_if_set_up(struct eth_if *e, bool up, ns_t now);

/*
 * eth_groups_sync() - What the kernel itself has joined (/proc/net/igmp, igmp6): groups that snooping
 * missed are joined, those it had and no longer has are left. A group that was only ever reported
 * (by a station, or not in the list yet) stays until all who reported it left, or were not heard
 * of it for 260 s; who reported one is asked every 125 s. 224.0.0.1 and ff02::1 are always joined (I30). v4: 4 octets each, v6: 16
 */
void eth_groups_sync(struct eth_if *e, const uint8_t (*v4)[4], unsigned int n4,
		     const uint8_t (*v6)[16], unsigned int n6, ns_t now);

struct eth_stats {
	uint64_t tx_frames, tx_segments; /* from the TAP; packets made of super-frames */
	uint64_t rx_packets, rx_frames; /* from the link; frames written after coalescing */
	uint64_t arp_tx, arp_rx, nd_tx, nd_rx; /* rewritten */
	uint64_t igmp, mld; /* reports and leaves snooped */
	uint64_t dhcp_tx, dhcp_rx; /* rewritten */
	uint64_t queries; /* IGMP and MLD queries of our own */
	uint64_t token_collisions;
	uint64_t stations_added, stations_aged;
	uint64_t drops[ETH_DROP_MAX];
};
const struct eth_stats *eth_if_stats(const struct eth_if *e);

#endif

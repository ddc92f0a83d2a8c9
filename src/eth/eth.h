/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ETH_ETH_H
#define ETH_ETH_H

/*
 * DOC: The shape in which the kernel sees the link
 *
 * The kernel sees an IPoIB link as a network device of Ethernet or of InfiniBand (enum eth_shape).
 * This layer turns frames of the device into packets of the link, and received packets into frames.
 * In every shape, this layer segments super-frames (GSO) from the device, and coalesces packets
 * from the link. It reads outgoing IGMP and MLD reports, and joins the groups before the reports
 * leave. In ARP, RARP and ND messages it replaces the kernel's hardware addresses by addresses in
 * the format of the link's profile, and vice versa. It also adjusts the lengths and checksums of
 * these messages. The differences between the shapes are in struct eth_shape_ops (shape.h).
 *
 *	device -> eth_tx() -> ops->post()	packets or trains (train/train.h) to send
 *	QP -> eth_rx() -> ops->deliver()	frames to write, coalesced
 *	ipoib_next_action() -> eth_action()	the actions that concern this layer
 *
 * The Ethernet shape (option 2 of intel-ipoib-linux-hld-2002) is for a TAP, which cannot have a
 * 20-octet address. So the kernel knows each peer by a MAC that stands for the peer's link-layer
 * address; this MAC is the peer's token. A token is 06 and 40 bits of a keyed hash of (QPN, GID,
 * P_Key). The key is fixed, so the token is the same in every daemon and after every restart. The
 * interface's own MAC is 02 and 40 bits of a hash of (port GUID, P_Key, QPN) with the same key.
 * DHCP messages have the format of RFC 4390 on the link. The InfiniBand shape (option 1) is for a
 * device of type 32, whose hardware addresses are link-layer addresses. With the profile of RFC
 * 4391, ARP and ND messages have the same format on the device and on the link.
 *
 * Several stations may be behind a TAP: the other ports of a bridge, a macvlan, virtual machines.
 * Each source MAC other than the interface's is a station. A station has its own queue pair, and so
 * its own link-layer address, until it has neither sent nor received a packet for ETH_STATION_AGE.
 * The interface and its stations share the link's neighbours, paths and groups, and only the main
 * queue pair is attached to groups.
 *
 * This layer does no I/O. A frame that cannot be carried is dropped and counted under a reason.
 */

#include "eth/gro.h"
#include "ipoib/ipoib.h"
#include "util/frame.h"

struct eth_if;
struct eth_station;

#define ETH_STATIONS_MAX IPOIB_MAX_OWN_QPS
#define ETH_STATION_AGE NS_SEC(300)

enum eth_drop {
	ETH_DROP_NONE,
	/* reasons to drop a frame from the TAP */
	/*
	 * frame that is too short for the link header, or for the headers that its ethertype
	 * requires
	 */
	ETH_DROP_SHORT,
	ETH_DROP_TYPE, /* frame with an ethertype that IPoIB does not carry */
	ETH_DROP_VLAN, /* frame with a VLAN tag; on InfiniBand a P_Key has the role of a VLAN */
	/* frame with an IEEE 802.3 length instead of an ethertype, such as a spanning tree frame */
	ETH_DROP_BPDU,
	ETH_DROP_LLDP,
	/*
	 * the source MAC is zero or a group address; InfiniBand shape: the source is not the
	 * interface's own address
	 */
	ETH_DROP_SOURCE,
	/* the source MAC is the token of a peer, so the frame went in a loop or is forged */
	ETH_DROP_SOURCE_TOKEN,
	/* the source MAC is unknown, and the number of stations has reached its limit */
	ETH_DROP_STATION_LIMIT,
	/*
	 * the source MAC has no queue pair: the link is down, the CA refused to make a queue pair,
	 * or the station was closed while the frame waited
	 */
	ETH_DROP_STATION_QP,
	ETH_DROP_TOKEN, /* unicast frame to a MAC that is not the token of a known peer */
	/*
	 * unicast frame to a link-layer address that no port can have, or there is no room for one
	 * more neighbour
	 */
	ETH_DROP_NO_NEIGH,
	/*
	 * unicast frame whose sender and receiver are behind the same device, for example because a
	 * bridge floods frames
	 */
	ETH_DROP_LOCAL,
	ETH_DROP_MAC_MISMATCH, /* frame to the MAC of a group, although the IP destination is unicast */
	ETH_DROP_ARP, /* ARP, RARP or ND message that cannot be rewritten */
	ETH_DROP_DHCP, /* DHCP message that cannot be rewritten, or that would exceed the IP MTU */
	ETH_DROP_TOO_BIG, /* super-frame whose datagrams exceed the link's IP MTU */
	/*
	 * a super-frame or partial checksum that contradicts the packet's headers, or a super-frame
	 * with more or smaller segments than Linux makes
	 */
	ETH_DROP_OFFLOAD,
	/*
	 * there is no free packet buffer, or too many super-frames wait for room in the send queue
	 */
	ETH_DROP_NO_MEM,
	/*
	 * an IGMP or MLD report had to wait, but the queue of waiting reports was full, memory ran
	 * out, or the TAP went down
	 */
	ETH_DROP_HELD,
	/* reasons to drop a packet from the link */
	/*
	 * malformed ARP, RARP or ND, or no room for the neighbour whose address is in the message
	 */
	ETH_DROP_RX_ARP,
	/* IBARP or ND message with a Q_Key that has bit 31 set and is not the link's Q_Key */
	ETH_DROP_RX_QKEY,
	ETH_DROP_RX_DHCP, /* DHCP message that cannot be rewritten */
	ETH_DROP_RX_DOWN, /* the TAP is down */
	ETH_DROP_MAX,
};
const char *eth_drop_name(enum eth_drop d);

/* One packet or train for a QP. It begins with the IPoIB encapsulation. */
struct eth_send {
	struct pkt *pkt;
	void *ah; /* address handle, as passed to ipoib_ah_ready() */
	void *qp; /* queue pair, as returned by station_open(); NULL: the main queue pair */
	uint32_t dest_qpn, qkey;
};

struct eth_ops {
	/*
	 * Posts all @n (at most PKT_BATCH) descriptors to their queue pairs, and owns the packets.
	 * Each descriptor has one packet, or, if eth_if_cfg.trains is set, one train
	 * (train/train.h).
	 */
	void (*post)(void *ctx, const struct eth_send *v, unsigned int n, ns_t now);
	/* Writes the frame to the TAP and then calls eth_frame_free(); the callback owns the frame. */
	void (*deliver)(void *ctx, struct eth_frame *f);
	/*
	 * Called when the kernel sent a frame to @mac although no neighbour has this token, or when
	 * the neighbour with this token is gone. The callback must delete the kernel's neighbour
	 * entries that contain @mac. Frames to unknown MACs cause this call at a limited rate only
	 * (ETH_UNKNOWN_RATE).
	 */
	void (*neigh_gone)(void *ctx, const uint8_t mac[6]);
	/*
	 * Make a UD queue pair for the station @mac, with the attributes of the main queue pair. If
	 * possible, a MAC gets the same QPN each time. The owner passes the packets that the queue
	 * pair receives to eth_rx(). Return 0 or -errno. If this pointer is NULL, frames with other
	 * source MACs than the interface's are dropped.
	 */
	int (*station_open)(void *ctx, struct eth_station *st, const uint8_t mac[6], void **ret_qp,
			    uint32_t *ret_qpn);
	void (*station_close)(void *ctx, void *qp);
	/*
	 * Called in the InfiniBand shape instead of .neigh_gone, when this layer no longer has the
	 * data (such as the Q_Key) that it learnt from messages of the peer @a. The callback must
	 * delete the kernel's neighbour entries with this address, so that the kernel asks the peer
	 * again. If this pointer is NULL, the kernel keeps its entry. The first packets to @a can
	 * then get lost.
	 */
	void (*lladdr_gone)(void *ctx, const struct ipoib_lladdr *a);
};

/* How the kernel's network device presents the link */
enum eth_shape {
	ETH_SHAPE_ETHERNET, /* a TAP: the MACs of peers are their tokens */
	/*
	 * a device of type 32 (kmod/ibtap.h): hardware addresses are link-layer addresses of 20
	 * octets
	 */
	ETH_SHAPE_INFINIBAND,
};

struct eth_if_cfg {
	enum eth_shape shape;
	/*
	 * the IPoIB link; the link and the objects to which the pointers below point must outlive
	 * the interface
	 */
	struct ipoib_link *link;
	struct pkt_pool *pool;
	struct timers *timers;
	const struct log_sink *log;
	uint16_t pkey; /* P_Key with bit 15 set */
	bool gro_tcp, gro_udp; /* kinds of super-frames that the TAP accepts */
	bool trains; /* eth_ops.post() accepts trains (train/train.h) */
	bool dhcp_raw; /* DHCP messages are not rewritten */
	unsigned int stations; /* largest number of stations, not counting the interface itself */
};

/*
 * eth_if_create() - Make an interface; its TAP counts as down until eth_if_set_up(). Return: 0 or
 * -ENOMEM
 */
int eth_if_create(struct eth_if **ret, const struct eth_if_cfg *cfg, const struct eth_ops *ops,
		  void *ctx);
/*
 * eth_if_destroy() - Leave the groups, release the neighbours, and free the interface
 *
 * Call this function before ipoib_link_destroy(). NULL is accepted. As the present time the
 * function uses the @now of an earlier call, such as eth_rx().
 */
void eth_if_destroy(struct eth_if *e);

/*
 * eth_own_mac() - Compute the MAC of an interface: 02 + hash(port GUID, P_Key, QPN); bit 15 of
 * @pkey is ignored
 */
void eth_own_mac(uint8_t ret[6], uint64_t port_guid, uint16_t pkey, uint32_t qpn);
/*
 * eth_token() - Compute the token of a peer: 06 + hash(QPN, GID, P_Key). The flags in @a and bit 15
 * of @pkey are ignored. If another peer has this token already, the interface gives a different
 * token to the peer with the address @a
 */
void eth_token(uint8_t ret[6], const struct ipoib_lladdr *a, uint16_t pkey);

/*
 * eth_if_set_addr() - Set the link-layer address of the main QP, and (Ethernet shape) the MAC by
 * which the kernel knows this address
 */
void eth_if_set_addr(struct eth_if *e, const uint8_t mac[6], const struct ipoib_lladdr *own);

/*
 * eth_tx() - Send @n frames (at most PKT_BATCH) that were read from the TAP; takes ownership of the
 * frames
 *
 * The struct frame_info of a frame shows whether the frame is a super-frame.
 */
void eth_tx(struct eth_if *e, struct pkt **v, unsigned int n, ns_t now);

/*
 * eth_set_room() - Set the number of packets for which the send queue behind eth_ops.post() has
 * room
 *
 * Until the next call, this layer posts at most @packets packets that come from super-frames. The
 * other packets of super-frames wait until the caller sets new room and calls eth_tx_more().
 * Packets that do not come from super-frames are posted in any case. Without this call there is no
 * limit.
 */
void eth_set_room(struct eth_if *e, unsigned int packets);
/*
 * eth_set_csum() - Set whether eth_ops.post() takes packets whose checksum the CA makes (ca.csum of
 * ca/ca.h). Before the first call, this layer completes all checksums itself
 */
void eth_set_csum(struct eth_if *e, bool by_ca);
/*
 * eth_tx_more() - Send more packets of the super-frames that wait for room. Return: number of
 * super-frames that still wait
 */
unsigned int eth_tx_more(struct eth_if *e, ns_t now);
unsigned int eth_tx_waiting(const struct eth_if *e);
/*
 * eth_tx_cost() - Estimate how many packets a frame becomes. Return: 1 or more; the estimate is
 * seldom too low
 */
unsigned int eth_tx_cost(const struct eth_if *e, const struct pkt *p);

/*
 * eth_rx() - Handle packets polled from a QP; takes ownership of the packets. The caller has filled in the
 * members of @v that ipoib_rx() reads
 * @st:	station to which the QP belongs; NULL for the main QP
 */
void eth_rx(struct eth_if *e, struct eth_station *st, struct ipoib_rx *v, unsigned int n, ns_t now);

/*
 * eth_stations_renumber() - Adopt the new numbers of the stations' queue pairs after all these
 * queue pairs were made again
 * @qpn:	function that returns the new number of a queue pair; its argument is *ret_qp of
 *	eth_ops.station_open()
 */
void eth_stations_renumber(struct eth_if *e, uint32_t (*qpn)(void *qp));

struct eth_station_info {
	uint8_t mac[6];
	struct ipoib_lladdr lladdr;
	ns_t since, last_used;
	uint64_t tx_frames, rx_packets;
	unsigned int groups; /* number of groups that the station reported */
};
void eth_station_each(const struct eth_if *e,
		      void (*fn)(void *ctx, const struct eth_station_info *i), void *ctx);

/*
 * eth_action() - Carry out an action of the link that concerns this layer
 *
 * Pass every action to this function first.
 * Return: true for NEIGH_GONE, MCAST_READY and SEND, which this function carries out; false: the owner carries the
 * action out
 */
bool eth_action(struct eth_if *e, const struct ipoib_action *act, ns_t now);

/*
 * eth_if_set_up() - Tell this layer that the TAP was set up or down. When the TAP is set down, this
 * layer leaves all groups
 */
void eth_if_set_up(struct eth_if *e, bool up, ns_t now);

/*
 * Compare the groups of this layer with the list of groups that the kernel has joined (/proc/net/igmp, igmp6). The
 * list may be read in pieces:
 *
 *	eth_groups_sync_begin()
 *	eth_groups_sync_seen()	for each group of the list; a group that snooping missed is joined
 *				at once
 *	eth_groups_sync_end()	groups that were in an earlier list and are missing in this list
 *				are left, unless a station has reported them
 *
 * A station or the kernel may have reported a group that was in no list. A reporter stops being a
 * member when it leaves the group, or when it has not reported the group for 260 s. When no member
 * remains, this layer leaves the group. Reporters are queried every 125 s.
 * 224.0.0.1 and ff02::1 stay joined, because every host receives them and no host reports them.
 */
void eth_groups_sync_begin(struct eth_if *e);
/*
 * eth_groups_sync_seen() - Report a group of the list. @addr: 4 octets (IPv4) or 16 octets (IPv6)
 */
void eth_groups_sync_seen(struct eth_if *e, enum ipoib_proto proto, const uint8_t *addr, ns_t now);
/*
 * @exact: true: the list was read in one piece; false: the list was read in several pieces, and the
 *	reader may have missed a group. A group is then left only if it is missing in two lists in a
 *	row
 */
void eth_groups_sync_end(struct eth_if *e, bool exact, ns_t now);

struct eth_stats {
	/* frames read from the TAP; packets into which super-frames of the kernel were split */
	uint64_t tx_frames, tx_segments;
	/* packets received from the link; frames written to the TAP after coalescing */
	uint64_t rx_packets, rx_frames;
	uint64_t arp_tx, arp_rx, nd_tx, nd_rx; /* number of messages that were rewritten */
	uint64_t igmp, mld; /* packets in which snooping found reports or leaves */
	uint64_t dhcp_tx, dhcp_rx; /* number of messages that were rewritten */
	uint64_t queries; /* IGMP and MLD queries that this layer sent to the TAP */
	uint64_t token_collisions;
	uint64_t stations_added, stations_aged;
	uint64_t drops[ETH_DROP_MAX];
};
const struct eth_stats *eth_if_stats(const struct eth_if *e);

#endif

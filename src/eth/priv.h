/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ETH_PRIV_H
#define ETH_PRIV_H

/* Inside eth/: the interface, its stations, its tokens, its groups. */

#include "eth/eth.h"
#include "util/list.h"

#define ETH_HLEN_ 14
#define ETH_HELD_MAX 64 /* reports that wait for their joins */
#define ETH_HELD_TIME NS_SEC(2) /* after which a report goes out anyway */
#define ETH_REPORT_LIFE NS_SEC(260) /* of a report: RFC 3376 §8.4, RFC 3810 §9.4 */
#define ETH_QUERY_PERIOD NS_SEC(125) /* RFC 3376 §8.2, RFC 3810 §9.2 */
#define ETH_QUERY_SOON NS_SEC(1) /* the query to all after a new station */
#define ETH_GROUPS_MAX 1024
#define ETH_MEMBERS_MAX 8192 /* groups of all stations together */
#define ETH_STATION_SPARE NS_SEC(10) /* idle so long it gives way to a new one */
#define ETH_VOID_SLOTS 16 /* void tokens remembered */
#define ETH_VOID_RATE 64 /* void tokens reported per second, in all */

/* A peer's token. Held by neigh->user; the neighbour is held in turn. */
struct eth_peer {
	struct hnode by_mac;
	struct ipoib_neigh *neigh;
	uint8_t mac[6];
	uint8_t flags; /* the reserved octet of its address, as its last ARP message had it */
};

/*
 * A station behind the TAP. Packets name it by @id (pkt->from), which no other ever has, so that what was
 * held for a station that went does not leave by the queue pair of another.
 */
struct eth_station {
	struct hnode by_mac;
	uint32_t id; /* its slot, and above that how often slots were given */
	uint8_t mac[6];
	uint32_t qpn;
	void *qp;
	ns_t since, last_used;
	ns_t query_at; /* when it is asked for its groups next */
	uint64_t tx_frames, rx_packets;
};

/* Who reported a group. */
struct eth_member {
	struct list link; /* in eth_group.members */
	uint32_t station; /* its id; 0: the interface itself, or a bridge with its MAC */
	ns_t reported; /* last */
};

/* A group that the kernel or a station receives. */
struct eth_group {
	struct list link; /* in eth_if.groups */
	struct hnode by_addr;
	enum ipoib_proto proto;
	uint8_t addr[16];
	bool always; /* 224.0.0.1, ff02::1 */
	bool kernel; /* in its list at the last look */
	bool in_list; /* at this look */
	bool settled; /* the join came out, for better or worse, since the link is up */
	struct list members;
};

/* A report that waits for its joins. */
struct eth_held {
	struct pkt *pkt; /* head at the IP header */
	uint16_t ethertype;
	ns_t until;
};

/*
 * Void tokens that were reported, so that a stream to one asks once a second, and streams to many
 * do not make a system call of each frame.
 */
struct eth_void {
	struct {
		uint8_t mac[6];
		bool used;
		ns_t at;
	} slot[ETH_VOID_SLOTS];
	ns_t since; /* of the second that n counts */
	unsigned int n;
};

struct eth_if {
	struct eth_if_cfg cfg;
	const struct eth_ops *ops;
	void *ctx;
	uint8_t mac[6];
	struct ipoib_lladdr own;
	bool has_own, up;
	struct htab peers;
	struct eth_gro gro;
	ns_t now; /* of the last call */
	struct list groups;
	struct htab group_tab;
	unsigned int ngroups, nmembers;
	bool full_said; /* "no room for a group" was logged */
	struct eth_held held[ETH_HELD_MAX]; /* a ring: the order of reports is kept */
	unsigned int held_head, nheld;
	struct timer held_timer;
	struct eth_void gone;
	struct eth_station *station[ETH_STATIONS_MAX];
	struct htab stations; /* by MAC */
	unsigned int nstations;
	uint32_t station_seq; /* slots given */
	ns_t query_at; /* when the interface itself is asked for groups next */
	ns_t query_all_at; /* when all are; 0: not now */
	struct timer station_timer; /* ageing and queries */
	struct eth_dhcp *dhcp; /* made with the first client; dhcp.c */
	struct eth_send post[PKT_BATCH]; /* gathered by eth_send_pkt() */
	unsigned int npost;
	struct eth_stats stats;
};

static inline bool eth_mac_equal(const uint8_t *a, const uint8_t *b)
{
	return !memcmp(a, b, 6);
}

/* A token is a hash already, but any MAC may be looked up: the upper half depends on all its bits. */
static inline uint64_t eth_mac_hash(const uint8_t mac[6])
{
	return ((uint64_t)be16_at(mac) << 32 | be32_at(mac + 2)) * 0x9e3779b97f4a7c15ull >> 32;
}

/* eth_drop() - Count and free */
void eth_drop(struct eth_if *e, enum eth_drop why, struct pkt *p);

/* --- token.c */

/* eth_peer_by_mac() - The neighbour of a token, or NULL */
struct ipoib_neigh *eth_peer_by_mac(const struct eth_if *e, const uint8_t mac[6]);
/* eth_peer_mac() - Token of a neighbour, made on first use; NULL: no memory */
const uint8_t *eth_peer_mac(struct eth_if *e, struct ipoib_neigh *n);
void eth_peer_gone(struct eth_if *e, struct ipoib_neigh *n);
void eth_peers_free(struct eth_if *e);
/* eth_token_void() - A frame went to a MAC that is no token: have the kernel forget it */
void eth_token_void(struct eth_if *e, const uint8_t mac[6], ns_t now);

/* --- station.c */

void eth_stations_init(struct eth_if *e);
void eth_stations_fini(struct eth_if *e);
/* eth_station_from() - Who sent a frame with a source MAC that is not ours; its id goes to @p->from */
enum eth_drop eth_station_from(struct eth_if *e, const uint8_t mac[6], struct pkt *p, ns_t now);
/* eth_station_wake() - There is something to do for stations at @at: ageing, or a query */
void eth_station_wake(struct eth_if *e, ns_t at);
/* eth_station_by_id(), eth_station_by_mac() - NULL: there is none */
struct eth_station *eth_station_by_id(const struct eth_if *e, uint32_t id);
struct eth_station *eth_station_by_mac(const struct eth_if *e, const uint8_t mac[6]);
/* eth_mac_is_local(), eth_local_mac() - The interface's own MAC or a station's; NULL: not one of ours */
bool eth_mac_is_local(const struct eth_if *e, const uint8_t mac[6]);
const uint8_t *eth_local_mac(const struct eth_if *e, const struct ipoib_lladdr *a);

/* Maps between the two forms of an address. 0; -ENOENT no such token; -ENOBUFS no unicast address, or no room */
int eth_mac_to_lladdr(const struct eth_if *e, const uint8_t mac[6], struct ipoib_lladdr *ret);
int eth_lladdr_to_mac(struct eth_if *e, const struct ipoib_lladdr *a, uint8_t ret[6], ns_t now,
		      bool probe);

/* --- arp.c, nd.c: a new packet that says the same for the other side; NULL: refused, *why says it. @p is borrowed */

struct pkt *eth_arp_to_link(struct eth_if *e, struct pkt *p, enum eth_drop *why);
struct pkt *eth_arp_from_link(struct eth_if *e, struct pkt *p, ns_t now, enum eth_drop *why);
/* eth_nd_type() - ICMPv6 type if the IPv6 packet is an ND message (RFC 4861: hop limit 255), else 0 */
uint8_t eth_nd_type(struct pkt *p);
struct pkt *eth_nd_to_link(struct eth_if *e, struct pkt *p, enum eth_drop *why);
struct pkt *eth_nd_from_link(struct eth_if *e, struct pkt *p, ns_t now, enum eth_drop *why);

/* --- dhcp.c: as arp.c, nd.c; @p itself if it is none of ours to rewrite */

/* eth_dhcp_ports() - Is an IPv4 packet with UDP one of DHCP's? */
bool eth_dhcp_ports(struct pkt *p);
/* eth_is_dhcp() - An IPv4 packet to be rewritten; @ip: its first 20 octets */
static inline bool eth_is_dhcp(const struct eth_if *e, struct pkt *p, const uint8_t *ip)
{
	if (ip[9] != 17 || e->cfg.dhcp_raw || p->gso)
		return false;
	if (ip[0] == 0x45) { /* the ports are where they always are: not worth a call */
		const uint8_t *udp = pkt_pull(p, 20 + 4);

		if (!udp || (udp[20 + 2] != 0 || (udp[20 + 3] != 67 && udp[20 + 3] != 68)))
			return false;
	}
	return eth_dhcp_ports(p);
}
struct pkt *eth_dhcp_to_link(struct eth_if *e, struct pkt *p, ns_t now, enum eth_drop *why);
struct pkt *eth_dhcp_from_link(struct eth_if *e, struct pkt *p, struct ipoib_neigh *src,
			       enum eth_drop *why);
void eth_dhcp_fini(struct eth_if *e);

/* --- query.c */

/* eth_query() - Ask the station with @mac, or all, for groups */
void eth_query(struct eth_if *e, const uint8_t mac[6]);

/* --- snoop.c */

/* eth_snoop() - Look at an IP packet on its way out; true: it was taken, until its groups are joined */
bool eth_snoop(struct eth_if *e, struct pkt *p, uint16_t ethertype, ns_t now);
void eth_snoop_ready(struct eth_if *e, enum ipoib_proto proto, const uint8_t *group, ns_t now);
void eth_snoop_init(struct eth_if *e);
void eth_snoop_fini(struct eth_if *e); /* leaves all groups */
/* eth_groups_station_gone() - It left all of its groups */
void eth_groups_station_gone(struct eth_if *e, uint32_t station, ns_t now);
/* eth_groups_of() - How many groups a station reported; those in the kernel's own list aside */
unsigned int eth_groups_of(const struct eth_if *e, uint32_t station);
/* eth_groups_always(), eth_groups_leave() - The TAP came up, went down */
void eth_groups_always(struct eth_if *e, ns_t now);
void eth_groups_leave(struct eth_if *e, ns_t now);
/* eth_groups_unsettle() - The link went down: all groups will be joined again */
void eth_groups_unsettle(struct eth_if *e);

/* --- igmp.c: pure parsers */

/* eth_report_maybe() - From the fixed IP header alone: may it be an IGMP or MLD report? */
bool eth_report_maybe(const uint8_t *ip);

struct eth_report {
	enum ipoib_proto proto;
	uint8_t group[16];
	bool join; /* else leave */
};
/*
 * eth_report_parse() - Calls @fn for each group of an IGMP or MLD report, leave or done
 * @len:	octets of the IP packet, without padding
 *
 * Return: true if it was one, its checksum right. A truncated record ends it.
 */
bool eth_report_parse(const uint8_t *ip, size_t len,
		      void (*fn)(void *ctx, const struct eth_report *r), void *ctx);

/* --- tx.c */

/* eth_tx_link() - Hand packets to the link; sends what may go */
void eth_tx_link(struct eth_if *e, struct ipoib_tx *v, unsigned int n, ns_t now);
/* eth_send_pkt() - Segment or complete, gather for post(); eth_send_flush() hands it out */
void eth_send_pkt(struct eth_if *e, struct pkt *p, void *ah, uint32_t dest_qpn, uint32_t qkey,
		  ns_t now);
void eth_send_flush(struct eth_if *e, ns_t now);
/* eth_ip_dst() - Fill in where an IP packet goes; @mac of the frame. ETH_DROP_NONE or why not */
enum eth_drop eth_ip_dst(struct eth_if *e, struct ipoib_tx *t, const uint8_t mac[6]);

#endif

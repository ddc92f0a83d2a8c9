/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ETH_PRIV_H
#define ETH_PRIV_H

/* Inside eth/: the interface, its tokens, its groups. */

#include "eth/eth.h"
#include "util/list.h"

#define ETH_HLEN_ 14
#define ETH_HELD_MAX 64 /* reports that wait for their joins */
#define ETH_HELD_TIME NS_SEC(2) /* after which a report goes out anyway */
#define ETH_REPORT_GRACE NS_SEC(5) /* a snooped group needs not be in the kernel's list yet */
#define ETH_GROUPS_MAX 1024

/* A peer's token. Held by neigh->user; the neighbour is held in turn. */
struct eth_peer {
	struct hnode by_mac;
	struct ipoib_neigh *neigh;
	uint8_t mac[6];
};

/* A group that the kernel receives. */
struct eth_group {
	struct list link; /* in eth_if.groups */
	enum ipoib_proto proto;
	uint8_t addr[16];
	bool always; /* 224.0.0.1, ff02::1 */
	bool kernel; /* in its list at the last look */
	bool settled; /* the first join came out, for better or worse */
	ns_t reported; /* when a report was snooped last; 0: never, or left */
};

struct eth_held {
	struct list link;
	struct pkt *pkt; /* head at the IP header */
	uint16_t ethertype;
	ns_t until;
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
	struct list groups, held;
	unsigned int ngroups, nheld;
	struct timer held_timer;
	/* The last MAC reported by neigh_gone(), so that a stream to a void token asks once a second. */
	uint8_t gone_mac[6];
	ns_t gone_at;
	struct eth_send post[PKT_BATCH]; /* gathered by eth_send_pkt() */
	unsigned int npost;
	struct eth_stats stats;
};

static inline bool eth_mac_equal(const uint8_t *a, const uint8_t *b)
{
	return !memcmp(a, b, 6);
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

/* Maps between the two forms of an address. 0; -ENOENT no such token; -ENOBUFS no room */
int eth_mac_to_lladdr(struct eth_if *e, const uint8_t mac[6], struct ipoib_lladdr *ret);
int eth_lladdr_to_mac(struct eth_if *e, const struct ipoib_lladdr *a, uint8_t ret[6], ns_t now,
		      bool probe);

/* --- arp.c, nd.c: a new packet that says the same for the other side; NULL: refused, *why says it. @p is borrowed */

struct pkt *eth_arp_to_link(struct eth_if *e, struct pkt *p, enum eth_drop *why);
struct pkt *eth_arp_from_link(struct eth_if *e, struct pkt *p, ns_t now, enum eth_drop *why);
/* eth_nd_type() - ICMPv6 type if the IPv6 packet is an ND message, else 0 */
uint8_t eth_nd_type(struct pkt *p);
struct pkt *eth_nd_to_link(struct eth_if *e, struct pkt *p, enum eth_drop *why);
struct pkt *eth_nd_from_link(struct eth_if *e, struct pkt *p, ns_t now, enum eth_drop *why);

/* --- snoop.c */

/* eth_snoop() - Look at an IP packet on its way out; true: it was taken, until its groups are joined */
bool eth_snoop(struct eth_if *e, struct pkt *p, uint16_t ethertype, ns_t now);
void eth_snoop_ready(struct eth_if *e, enum ipoib_proto proto, const uint8_t *group, ns_t now);
void eth_snoop_free(struct eth_if *e);
/* eth_groups_always(), eth_groups_leave() - The TAP came up, went down */
void eth_groups_always(struct eth_if *e, ns_t now);
void eth_groups_leave(struct eth_if *e, ns_t now);

/* --- igmp.c: pure parsers */

struct eth_report {
	enum ipoib_proto proto;
	uint8_t group[16];
	bool join; /* else leave */
};
/* eth_report_parse() - Calls @fn for each group of an IGMP or MLD report, leave or done. True if it was one */
bool eth_report_parse(const uint8_t *ip, size_t len,
		      void (*fn)(void *ctx, const struct eth_report *r), void *ctx);

/* --- tx.c */

/* eth_tx_ip() - Hand IP packets to the link; sends what may go */
void eth_tx_link(struct eth_if *e, struct ipoib_tx *v, unsigned int n, ns_t now);
/* eth_send_pkt() - Segment or complete, gather for post(); eth_send_flush() hands it out */
void eth_send_pkt(struct eth_if *e, struct pkt *p, void *ah, uint32_t dest_qpn, uint32_t qkey,
		  ns_t now);
void eth_send_flush(struct eth_if *e, ns_t now);
/* eth_ip_dst() - Fill in where an IP packet goes; @mac of the frame. ETH_DROP_NONE or why not */
enum eth_drop eth_ip_dst(struct eth_if *e, struct ipoib_tx *t, const uint8_t mac[6]);

#endif

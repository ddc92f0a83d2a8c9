/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UDP_LINK_H
#define UDP_LINK_H

/*
 * DOC: A link over UDP
 *
 * One datagram is one IBA packet, LRH to VCRC, and nothing else; an empty datagram is a
 * keepalive. This machine decides when the link is up, who the peer is and which datagrams
 * count; it neither opens sockets nor looks behind the LRH.
 *
 *	state	   what it means		left by
 *	OFF	   this side does not take part	udp_link_want(true): DEAF, or LISTENING if it was
 *						silent for UDP_LINK_SILENCE already
 *	DEAF	   silent and deaf, so that the	UDP_LINK_SILENCE after that began: LISTENING;
 *		   peer sees the link drop	udp_link_want(false): OFF
 *	LISTENING  keepalives go to the peer	a valid datagram of the peer: UP; udp_link_want(false): OFF
 *		   if one is known; nothing
 *		   was heard
 *	UP	   packets pass			nothing valid for UDP_LINK_TIMEOUT: DEAF;
 *						udp_link_want(false): OFF
 *
 * A peer that is not configured is learnt from the first valid datagram in LISTENING and
 * forgotten when UP is left. Valid is an empty datagram, or a packet whose LVer, PktLen and VCRC
 * are right.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/endpoint.h"
#include "util/timer.h"

#define UDP_LINK_KEEPALIVE NS_SEC(1)
#define UDP_LINK_TIMEOUT NS_SEC(3)
#define UDP_LINK_SILENCE NS_SEC(4)

enum udp_link_state {
	UDP_LINK_OFF,
	UDP_LINK_DEAF,
	UDP_LINK_LISTENING,
	UDP_LINK_UP,
};
/* "off", "deaf", "listening", "up" */
const char *udp_link_state_name(enum udp_link_state s);

/* Why a datagram or a packet was discarded. */
enum udp_drop {
	UDP_DROP_NONE,
	/* received */
	UDP_DROP_DEAF, /* while DEAF or OFF */
	UDP_DROP_STRAY_ADDR, /* not the peer's address */
	UDP_DROP_STRAY_PORT, /* the peer's address, another port */
	UDP_DROP_SHORT, /* shorter than LRH and CRCs */
	UDP_DROP_OVERSIZED, /* longer than the longest packet */
	UDP_DROP_LVER, /* LVer is not 0 */
	UDP_DROP_TRUNCATED, /* PktLen says more than there is */
	UDP_DROP_LEN, /* PktLen says less than there is */
	UDP_DROP_VCRC,
	UDP_DROP_NO_MEM, /* no packet or buffer left for it */
	/* to be sent */
	UDP_DROP_TX_DOWN, /* the link is not up */
	UDP_DROP_TX_QUEUE, /* too many wait for the socket */
	UDP_DROP_TX_ERROR, /* the socket refused it */
	UDP_DROP_MAX,
};
/* "stray address" and the like, for people; never NULL */
const char *udp_drop_name(enum udp_drop d);

struct udp_link_stats {
	uint64_t rx_packets, rx_octets, rx_keepalives;
	uint64_t tx_packets, tx_octets, tx_keepalives;
	uint64_t ups, downs; /* how often UP was reached and left */
	uint64_t drops[UDP_DROP_MAX];
};

struct udp_link_ops {
	/* Send an empty datagram to @peer. */
	void (*keepalive)(void *ctx, const struct ip_endpoint *peer, ns_t now);
	/* UP was reached or left. */
	void (*carrier)(void *ctx, bool up, ns_t now);
};

struct udp_link {
	enum udp_link_state state;
	struct timers *timers;
	const struct udp_link_ops *ops;
	void *ctx;
	bool has_peer; /* configured or learnt */
	bool learn; /* none is configured */
	struct ip_endpoint peer;
	ns_t silent_since, heard, changed; /* changed: when the state was entered */
	struct timer state_timer; /* ends DEAF and UP */
	struct timer keepalive_timer;
	struct udp_link_stats stats;
};

/**
 * udp_link_init() - A link that starts now: DEAF
 * @peer:	NULL: learnt
 *
 * Everything but @peer is borrowed.
 */
void udp_link_init(struct udp_link *l, struct timers *timers, const struct ip_endpoint *peer,
		   const struct udp_link_ops *ops, void *ctx, ns_t now);

/*
 * udp_link_fresh() - After udp_link_init(): the other end is new, too, and has no session to see ended
 *
 * LISTENING at once. Every later silence is whole.
 */
void udp_link_fresh(struct udp_link *l, ns_t now);

/* udp_link_fini() - No timer is left; nobody is told. A zeroed link is accepted. */
void udp_link_fini(struct udp_link *l);

/**
 * udp_link_want() - Whether this side takes part
 *
 * Off is what a node does that is disabled or told PortState Down; on again it is silent
 * for the rest of UDP_LINK_SILENCE. Off and on at once retrains.
 */
void udp_link_want(struct udp_link *l, bool on, ns_t now);

/**
 * udp_link_rx() - A datagram arrived
 * @data:	@len octets; of one that is longer than IB_PKT_MAX at least IB_PKT_MAX + 1
 *
 * Counts it. ops->carrier() may be called before it returns.
 * Return: UDP_DROP_NONE: @len is 0 (a keepalive) or the packet is to be delivered; else why not
 */
enum udp_drop udp_link_rx(struct udp_link *l, const struct ip_endpoint *from, const void *data,
			  size_t len, ns_t now);

/* udp_link_peer() - Where packets go; NULL unless UP */
const struct ip_endpoint *udp_link_peer(const struct udp_link *l);

/* udp_link_sent() - The owner sent packets */
static inline void udp_link_sent(struct udp_link *l, uint64_t packets, uint64_t octets)
{
	l->stats.tx_packets += packets;
	l->stats.tx_octets += octets;
}

/* udp_link_drop() - The owner discarded a packet: UDP_DROP_NO_MEM or one of those to be sent */
static inline void udp_link_drop(struct udp_link *l, enum udp_drop why)
{
	l->stats.drops[why]++;
}

#endif

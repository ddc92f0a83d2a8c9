/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UDP_LINK_H
#define UDP_LINK_H

/*
 * DOC: A link over UDP
 *
 * Each datagram is one IBA packet from LRH to VCRC, without any other octets, or it is empty and
 * serves as a keepalive. This state machine decides when the link is up, what address the peer has,
 * and which datagrams are accepted. It neither opens sockets nor reads headers after the LRH.
 *
 *	state	   meaning			left by
 *	OFF	   this side does not take part	udp_link_want(true): SILENT, or POLLING if this side
 *						was silent for UDP_LINK_SILENCE already
 *	SILENT	   nothing is sent or accepted,	end of UDP_LINK_SILENCE: POLLING;
 *		   so that the peer sees the	udp_link_want(false): OFF
 *		   link go down
 *	POLLING	   keepalives are sent, if the	valid datagram of the peer: UP;
 *		   peer is known; this side	udp_link_want(false): OFF
 *		   waits for a valid datagram
 *	UP	   packets are exchanged	no valid datagram for UDP_LINK_TIMEOUT: SILENT;
 *						udp_link_want(false): OFF
 *
 * If no peer is configured, the link learns the address of its peer from the first valid datagram
 * in POLLING, and forgets the address when it leaves UP. A datagram is valid if it is empty, or if
 * LVer, PktLen and VCRC of its packet are right.
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
	UDP_LINK_SILENT,
	UDP_LINK_POLLING,
	UDP_LINK_UP,
};
/* Return "off", "silent", "polling" or "up". */
const char *udp_link_state_name(enum udp_link_state s);

/* Reasons for which a datagram or a packet is discarded. */
enum udp_drop {
	UDP_DROP_NONE,
	/* reasons to discard a received datagram */
	UDP_DROP_SILENT, /* datagram that was received in the state SILENT or OFF */
	UDP_DROP_STRAY_ADDR, /* the sender's address is not the peer's */
	UDP_DROP_STRAY_PORT, /* the sender has the peer's address, but another UDP port */
	UDP_DROP_SHORT, /* the datagram is shorter than LRH and CRCs */
	UDP_DROP_OVERSIZED, /* the datagram is longer than IB_PKT_MAX */
	UDP_DROP_LVER, /* LVer is not 0 */
	UDP_DROP_TRUNCATED, /* PktLen is greater than the length of the datagram */
	UDP_DROP_LEN, /* PktLen is smaller than the length of the datagram */
	UDP_DROP_VCRC,
	UDP_DROP_NO_MEM, /* there is no packet descriptor or buffer for the packet */
	/* reasons to discard a packet that is to be sent */
	UDP_DROP_TX_DOWN, /* the link is not up */
	UDP_DROP_TX_QUEUE, /* too many packets wait for the socket */
	UDP_DROP_TX_ERROR, /* the socket refused the packet */
	UDP_DROP_MAX,
};
/* Return the name of a reason, such as "stray address"; never NULL. */
const char *udp_drop_name(enum udp_drop d);

struct udp_link_stats {
	uint64_t rx_packets, rx_octets, rx_keepalives;
	uint64_t tx_packets, tx_octets, tx_keepalives;
	uint64_t ups, downs; /* number of times that the state UP was entered and left */
	uint64_t drops[UDP_DROP_MAX];
};

struct udp_link_ops {
	/* Send an empty datagram to @peer. */
	void (*keepalive)(void *ctx, const struct ip_endpoint *peer, ns_t now);
	/* Called when the state UP was entered (@up is true) or left. */
	void (*carrier)(void *ctx, bool up, ns_t now);
};

struct udp_link {
	enum udp_link_state state;
	struct timers *timers;
	const struct udp_link_ops *ops;
	void *ctx;
	bool has_peer; /* true if .peer is set, by configuration or by learning */
	bool learn; /* true if no peer is configured, so that the link learns the peer's address */
	struct ip_endpoint peer;
	/*
	 * .silent_since: start of this side's last silence; .heard: time of the last valid
	 * datagram; .changed: time at which the present state was entered
	 */
	ns_t silent_since, heard, changed;
	/* timer for the end of SILENT, and for the end of UP when nothing is received */
	struct timer state_timer;
	struct timer keepalive_timer;
	/*
	 * true if the ICRC of the last packet that udp_link_rx() checked was right. The link itself
	 * needs only the VCRC, but one pass over a packet computes both CRCs
	 */
	bool icrc_right;
	bool timed_out; /* true if the link last left UP because nothing came from the peer */
	struct udp_link_stats stats;
};

/**
 * udp_link_init() - Start a link, in state SILENT
 * @peer:	address of the peer, which is copied; NULL: the link learns the address
 *
 * All pointers except @peer are borrowed until udp_link_fini().
 */
void udp_link_init(struct udp_link *l, struct timers *timers, const struct ip_endpoint *peer,
		   const struct udp_link_ops *ops, void *ctx, ns_t now);

/*
 * udp_link_fresh() - Skip the state SILENT after udp_link_init(), and enter POLLING at once
 *
 * The peer must be new, too: a peer whose link is UP notices a restart of this side only if this
 * side is silent for a while. Only this first silence is skipped.
 */
void udp_link_fresh(struct udp_link *l, ns_t now);

/* udp_link_fini() - Cancel the timers; no callback is called. A zeroed link is accepted. */
void udp_link_fini(struct udp_link *l);

/**
 * udp_link_want() - Set whether this side takes part in the link
 *
 * A node whose port is disabled or set to PortState Down does not take part. When the node takes part again, it is
 * first silent for the rest of UDP_LINK_SILENCE. So switching the port off and on retrains the link.
 */
void udp_link_want(struct udp_link *l, bool on, ns_t now);

/**
 * udp_link_rx() - Check and count a received datagram
 * @data:	@len octets; of a longer datagram, the first IB_PKT_MAX + 1 octets are enough
 *
 * ops->carrier() may be called before the function returns.
 * Return: UDP_DROP_NONE if @len is 0 (a keepalive) or the packet is to be delivered; otherwise the reason to discard
 * the datagram
 */
enum udp_drop udp_link_rx(struct udp_link *l, const struct ip_endpoint *from, const void *data,
			  size_t len, ns_t now);

/* udp_link_peer() - Return the address to which packets are sent; NULL unless the state is UP */
const struct ip_endpoint *udp_link_peer(const struct udp_link *l);

/* udp_link_sent() - Count packets that the owner has sent */
static inline void udp_link_sent(struct udp_link *l, uint64_t packets, uint64_t octets)
{
	l->stats.tx_packets += packets;
	l->stats.tx_octets += octets;
}

/*
 * udp_link_drop() - Count @n packets that the owner discarded; @why is UDP_DROP_NO_MEM or
 * UDP_DROP_TX_*
 */
static inline void udp_link_drop(struct udp_link *l, enum udp_drop why, unsigned int n)
{
	l->stats.drops[why] += n;
}

#endif

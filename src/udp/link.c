/* SPDX-License-Identifier: BSD-2-Clause */
#include "udp/link.h"

#include "util/list.h"
#include "crc/crc.h"
#include "wire/ib_hdr.h"

#define CRCS (IB_ICRC_LEN + IB_VCRC_LEN)

const char *udp_link_state_name(enum udp_link_state s)
{
	static const char *const names[] = {
		[UDP_LINK_OFF] = "off",
		[UDP_LINK_SILENT] = "silent",
		[UDP_LINK_POLLING] = "polling",
		[UDP_LINK_UP] = "up",
	};

	return (unsigned int)s < ARRAY_SIZE(names) ? names[s] : "?";
}

const char *udp_drop_name(enum udp_drop d)
{
	static const char *const names[UDP_DROP_MAX] = {
		[UDP_DROP_NONE] = "none",
		[UDP_DROP_SILENT] = "silent",
		[UDP_DROP_STRAY_ADDR] = "stray address",
		[UDP_DROP_STRAY_PORT] = "stray port",
		[UDP_DROP_SHORT] = "too short",
		[UDP_DROP_OVERSIZED] = "oversized",
		[UDP_DROP_LVER] = "link version",
		[UDP_DROP_TRUNCATED] = "truncated",
		[UDP_DROP_LEN] = "bad length",
		[UDP_DROP_VCRC] = "bad VCRC",
		[UDP_DROP_NO_MEM] = "no memory",
		[UDP_DROP_TX_DOWN] = "link down",
		[UDP_DROP_TX_QUEUE] = "queue full",
		[UDP_DROP_TX_ERROR] = "send error",
	};

	return (unsigned int)d < UDP_DROP_MAX ? names[d] : "?";
}

/* --- states, which only enter() changes */

static void enter(struct udp_link *l, enum udp_link_state state, ns_t now)
{
	bool was_up = l->state == UDP_LINK_UP, up = state == UDP_LINK_UP;

	l->state = state;
	l->changed = now;
	timer_cancel(l->timers, &l->state_timer);
	if (was_up && l->learn)
		l->has_peer = false;
	if (state == UDP_LINK_OFF || state == UDP_LINK_SILENT || !l->has_peer)
		timer_cancel(l->timers, &l->keepalive_timer);
	if (was_up == up)
		return;
	l->stats.ups += up;
	l->stats.downs += was_up;
	l->ops->carrier(l->ctx, up, now);
}

/* Sends a keepalive now, and lets the timer send one every second from now on. */
static void keep_alive(struct udp_link *l, ns_t now)
{
	if (!l->has_peer)
		return;
	timer_arm(l->timers, &l->keepalive_timer, now + UDP_LINK_KEEPALIVE);
	l->stats.tx_keepalives++;
	l->ops->keepalive(l->ctx, &l->peer, now);
}

static void keepalive_due(struct timer *t, ns_t now)
{
	keep_alive(container_of(t, struct udp_link, keepalive_timer), now);
}

/*
 * Enters POLLING if this side has been silent for UDP_LINK_SILENCE; otherwise stays in SILENT until
 * this time has passed.
 */
static void try_listen(struct udp_link *l, ns_t now)
{
	ns_t until = l->silent_since + UDP_LINK_SILENCE;

	if (now < until) {
		enter(l, UDP_LINK_SILENT, now);
		timer_arm(l->timers, &l->state_timer, until);
		return;
	}
	enter(l, UDP_LINK_POLLING, now);
	keep_alive(l, now);
}

/*
 * Called in the state UP when .state_timer fires. Leaves UP if nothing was received for
 * UDP_LINK_TIMEOUT; otherwise arms the timer again. So a received datagram need not arm the timer,
 * and only updates .heard.
 *
 * After UP this side is silent for UDP_LINK_SILENCE, so that the peer's link goes down, too.
 * Without the silence, the peer's link would stay up if only the datagrams to this side were lost.
 * Then the peer's port would stay Active, and the SM would not bring up this port.
 */
static void check_heard(struct udp_link *l, ns_t now)
{
	if (now - l->heard < UDP_LINK_TIMEOUT) {
		timer_arm(l->timers, &l->state_timer, l->heard + UDP_LINK_TIMEOUT);
		return;
	}
	l->timed_out = true;
	l->silent_since = now;
	try_listen(l, now);
}

static void state_due(struct timer *t, ns_t now)
{
	struct udp_link *l = container_of(t, struct udp_link, state_timer);

	if (l->state == UDP_LINK_SILENT)
		try_listen(l, now);
	else if (l->state == UDP_LINK_UP)
		check_heard(l, now);
}

void udp_link_init(struct udp_link *l, struct timers *timers, const struct ip_endpoint *peer,
		   const struct udp_link_ops *ops, void *ctx, ns_t now)
{
	*l = (struct udp_link){
		.state = UDP_LINK_OFF,
		.timers = timers,
		.ops = ops,
		.ctx = ctx,
		.has_peer = peer,
		.learn = !peer,
		.silent_since = now,
	};
	if (peer)
		l->peer = *peer;
	timer_init(&l->state_timer, state_due);
	timer_init(&l->keepalive_timer, keepalive_due);
	try_listen(l, now);
}

void udp_link_fresh(struct udp_link *l, ns_t now)
{
	timer_cancel(l->timers, &l->state_timer);
	l->silent_since = now - UDP_LINK_SILENCE;
	try_listen(l, now);
}

void udp_link_fini(struct udp_link *l)
{
	if (!l->timers)
		return;
	timer_cancel(l->timers, &l->state_timer);
	timer_cancel(l->timers, &l->keepalive_timer);
}

void udp_link_want(struct udp_link *l, bool on, ns_t now)
{
	if (on == (l->state != UDP_LINK_OFF))
		return;
	if (on) {
		try_listen(l, now);
		return;
	}
	/* In the state SILENT the silence has begun already. */
	if (l->state != UDP_LINK_SILENT)
		l->silent_since = now;
	l->timed_out = false;
	enter(l, UDP_LINK_OFF, now);
}

/* --- datagrams */

/*
 * Checks the lengths and the VCRC of a packet. PktLen counts 4-octet words from the LRH to the ICRC
 * (IBTA 7.7).
 */
static enum udp_drop check_packet(const uint8_t *p, size_t len, bool *ret_icrc)
{
	struct crc_right right;
	size_t said;

	if (len < IB_LRH_LEN + CRCS)
		return UDP_DROP_SHORT;
	if (len > IB_PKT_MAX)
		return UDP_DROP_OVERSIZED;
	if (p[0] & 0xf)
		return UDP_DROP_LVER;
	said = (be16_at(p + 4) & 0x7ffu) * 4 + IB_VCRC_LEN;
	if (said > len)
		return UDP_DROP_TRUNCATED;
	if (said < len)
		return UDP_DROP_LEN;
	right = crc_right(p, len);
	*ret_icrc = right.icrc;
	return right.vcrc ? UDP_DROP_NONE : UDP_DROP_VCRC;
}

static enum udp_drop check(struct udp_link *l, const struct ip_endpoint *from, const uint8_t *data,
			   size_t len)
{
	if (l->state != UDP_LINK_POLLING && l->state != UDP_LINK_UP)
		return UDP_DROP_SILENT;
	if (l->has_peer && !ip_endpoint_same_addr(from, &l->peer))
		return UDP_DROP_STRAY_ADDR;
	if (l->has_peer && from->port != l->peer.port)
		return UDP_DROP_STRAY_PORT;
	return len ? check_packet(data, len, &l->icrc_right) : UDP_DROP_NONE;
}

static void came_up(struct udp_link *l, const struct ip_endpoint *from, ns_t now)
{
	l->peer = *from;
	l->has_peer = true;
	enter(l, UDP_LINK_UP, now);
	/* enter() calls ops->carrier(), which may have changed the state again. */
	if (l->state != UDP_LINK_UP)
		return;
	timer_arm(l->timers, &l->state_timer, now + UDP_LINK_TIMEOUT);
	/*
	 * Send a keepalive at once, so that the peer's link need not wait up to a second before it
	 * goes up.
	 */
	keep_alive(l, now);
}

enum udp_drop udp_link_rx(struct udp_link *l, const struct ip_endpoint *from, const void *data,
			  size_t len, ns_t now)
{
	enum udp_drop why = check(l, from, data, len);

	if (why != UDP_DROP_NONE) {
		l->stats.drops[why]++;
		return why;
	}
	l->heard = now;
	if (len) {
		l->stats.rx_packets++;
		l->stats.rx_octets += len;
	} else {
		l->stats.rx_keepalives++;
	}
	if (l->state == UDP_LINK_POLLING)
		came_up(l, from, now);
	return UDP_DROP_NONE;
}

const struct ip_endpoint *udp_link_peer(const struct udp_link *l)
{
	return l->state == UDP_LINK_UP ? &l->peer : NULL;
}

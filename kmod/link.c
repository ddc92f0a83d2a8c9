// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

/*
 * The link over UDP, doc/udp-link.md: one datagram is one packet, an empty one a keepalive. States:
 *
 *	OFF		not started, or disabled: left by uib_link_start(), uib_link_enable(true)
 *	DEAF		until SILENCE after it began, at the start until what the device's silence= says
 *	POLLING		until a valid datagram of the peer
 *	UP		until nothing valid was heard for TIMEOUT, or uib_link_retrain()
 *
 * Packets come in softirq by encap_rcv; everything is sent from process context.
 */

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/udp_tunnel.h>

#include "uib.h"

#define KEEPALIVE HZ
#define TIMEOUT (3 * HZ)
#define SILENCE msecs_to_jiffies(UIB_SILENCE_MS)
#define SEND_BUFFER (8 << 20)

static struct uib_dev *to_dev(struct uib_link *l)
{
	return container_of(l, struct uib_dev, link);
}

const char *uib_link_state_name(enum uib_link_state s)
{
	static const char *const names[] = {
		[UIB_LINK_OFF] = "off",
		[UIB_LINK_DEAF] = "deaf",
		[UIB_LINK_POLLING] = "listening",
		[UIB_LINK_UP] = "up",
	};

	return names[s];
}

/* --- states; enter() alone changes them, with the lock held */

static void enter(struct uib_link *l, enum uib_link_state state)
{
	bool was_up = l->state == UIB_LINK_UP, up = state == UIB_LINK_UP;

	WRITE_ONCE(l->state, state);
	if (was_up && l->learn)
		l->has_peer = false;
	if (was_up == up)
		return;
	if (up)
		uib_count(to_dev(l), UIB_C_LINK_UPS);
	uib_port_link(to_dev(l), up);
}

/* Silence ends, or goes on until it has been long enough. */
static void try_listen(struct uib_link *l)
{
	u64 now = get_jiffies_64();

	if (time_before64(now, l->silent_until)) {
		enter(l, UIB_LINK_DEAF);
		mod_delayed_work(uib_wq, &l->state_work, l->silent_until - now);
		return;
	}
	enter(l, UIB_LINK_POLLING);
	mod_delayed_work(uib_wq, &l->keepalive_work, 0);
}

static void go_silent(struct uib_link *l)
{
	l->silent_until = get_jiffies_64() + SILENCE;
	try_listen(l);
}

/*
 * What was heard since it was armed moves the end of UP: once a time-out, not once a packet. A loss in one direction
 * only is shown to the other end by silence.
 */
static void state_work(struct work_struct *work)
{
	struct uib_link *l = container_of(work, struct uib_link, state_work.work);
	unsigned long end;

	spin_lock_bh(&l->lock);
	if (l->state == UIB_LINK_DEAF) {
		try_listen(l);
	} else if (l->state == UIB_LINK_UP) {
		end = READ_ONCE(l->heard) + TIMEOUT;
		if (time_before(jiffies, end))
			mod_delayed_work(uib_wq, &l->state_work, end - jiffies);
		else
			go_silent(l);
	}
	spin_unlock_bh(&l->lock);
}

static void retrain_work(struct work_struct *work)
{
	struct uib_link *l = container_of(work, struct uib_link, retrain_work.work);

	if (READ_ONCE(to_dev(l)->port.phys_state) == UIB_PHYS_DISABLED) {
		uib_link_enable(l, false);
		return;
	}
	spin_lock_bh(&l->lock);
	if (l->state == UIB_LINK_UP)
		go_silent(l);
	spin_unlock_bh(&l->lock);
}

void uib_link_retrain(struct uib_link *l, unsigned long delay)
{
	queue_delayed_work(uib_wq, &l->retrain_work, delay);
}

void uib_link_retrain_now(struct uib_link *l)
{
	if (delayed_work_pending(&l->retrain_work))
		mod_delayed_work(uib_wq, &l->retrain_work, 0);
}

void uib_link_enable(struct uib_link *l, bool on)
{
	spin_lock_bh(&l->lock);
	if (on && l->state == UIB_LINK_OFF) {
		try_listen(l);
	} else if (!on && l->state != UIB_LINK_OFF) {
		if (l->state != UIB_LINK_DEAF) /* there it has been silent already */
			l->silent_until = get_jiffies_64() + SILENCE;
		enter(l, UIB_LINK_OFF);
	}
	spin_unlock_bh(&l->lock);
}

/* --- sending */

/* Return: octets sent; -ENETDOWN unless @least, or more, is reached; what the socket says */
static int send_to_peer(struct uib_link *l, enum uib_link_state least, struct kvec *v, size_t n,
			size_t len)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	union uib_addr peer;
	bool ok;

	spin_lock_bh(&l->lock);
	ok = l->state >= least && l->has_peer;
	peer = l->peer;
	spin_unlock_bh(&l->lock);
	if (!ok)
		return -ENETDOWN;
	msg.msg_name = &peer;
	msg.msg_namelen = peer.sa.sa_family == AF_INET ? sizeof(peer.in4) : sizeof(peer.in6);
	return kernel_sendmsg(l->sock, &msg, v, n, len);
}

int uib_link_send(struct uib_link *l, struct kvec *v, size_t n, size_t len)
{
	int ret = send_to_peer(l, UIB_LINK_UP, v, n, len);

	return ret < 0 ? ret : 0;
}

/* Now, and every second from now on. */
static void keepalive_work(struct work_struct *work)
{
	struct uib_link *l = container_of(work, struct uib_link, keepalive_work.work);
	struct kvec none = {};

	if (READ_ONCE(l->state) < UIB_LINK_POLLING)
		return;
	queue_delayed_work(uib_wq, &l->keepalive_work, KEEPALIVE);
	if (send_to_peer(l, UIB_LINK_POLLING, &none, 0, 0) >= 0)
		uib_count(to_dev(l), UIB_C_TX_KEEPALIVES);
}

/* --- receiving */

static void sender(const struct sk_buff *skb, union uib_addr *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (ip_hdr(skb)->version == 4) {
		ret->in4.sin_family = AF_INET;
		ret->in4.sin_addr.s_addr = ip_hdr(skb)->saddr;
		ret->in4.sin_port = udp_hdr(skb)->source;
	} else {
		ret->in6.sin6_family = AF_INET6;
		ret->in6.sin6_addr = ipv6_hdr(skb)->saddr;
		ret->in6.sin6_port = udp_hdr(skb)->source;
		ret->in6.sin6_scope_id = ipv6_iface_scope_id(&ret->in6.sin6_addr, inet6_iif(skb));
	}
}

static enum uib_counter check_sender(const struct uib_link *l, const union uib_addr *from)
{
	bool same;

	if (!l->has_peer)
		return UIB_C_NONE;
	if (from->sa.sa_family != l->peer.sa.sa_family)
		return UIB_DROP_STRAY_ADDR;
	same = from->sa.sa_family == AF_INET
		       ? from->in4.sin_addr.s_addr == l->peer.in4.sin_addr.s_addr
		       : ipv6_addr_equal(&from->in6.sin6_addr, &l->peer.in6.sin6_addr);
	if (!same)
		return UIB_DROP_STRAY_ADDR;
	/* The port is in the same place. */
	return from->in4.sin_port == l->peer.in4.sin_port ? UIB_C_NONE : UIB_DROP_STRAY_PORT;
}

static enum uib_counter check_packet(struct sk_buff *skb)
{
	u32 len = skb->len;
	const u8 *p;

	if (len < UIB_PKT_MIN)
		return UIB_DROP_SHORT;
	if (len > UIB_PKT_MAX)
		return UIB_DROP_OVERSIZED;
	if (skb_linearize(skb))
		return UIB_DROP_NO_MEM;
	p = skb->data;
	if (p[0] & 0xf)
		return UIB_DROP_LVER;
	if ((get_unaligned_be16(p + 4) & 0x7ff) * 4 + UIB_VCRC_LEN != len)
		return UIB_DROP_LEN;
	if ((u16)~uib_vcrc(U16_MAX, p, len - UIB_VCRC_LEN) !=
	    get_unaligned_le16(p + len - UIB_VCRC_LEN))
		return UIB_DROP_VCRC;
	return UIB_C_NONE;
}

static enum uib_counter came_up(struct uib_link *l, const union uib_addr *from)
{
	enum uib_counter why = UIB_C_NONE;

	spin_lock(&l->lock);
	if (l->state == UIB_LINK_POLLING) {
		l->peer = *from;
		l->has_peer = true;
		enter(l, UIB_LINK_UP);
		mod_delayed_work(uib_wq, &l->state_work, TIMEOUT);
		/* The peer is not to wait for the next second to see the link up. */
		mod_delayed_work(uib_wq, &l->keepalive_work, 0);
	} else if (l->state != UIB_LINK_UP) {
		why = UIB_DROP_DEAF;
	}
	spin_unlock(&l->lock);
	return why;
}

/* Strays cost an address comparison, no CRC. */
static enum uib_counter check(struct uib_link *l, struct sk_buff *skb)
{
	enum uib_counter why = UIB_DROP_DEAF;
	union uib_addr from;

	sender(skb, &from);
	spin_lock(&l->lock);
	if (l->state >= UIB_LINK_POLLING)
		why = check_sender(l, &from);
	spin_unlock(&l->lock);
	if (why == UIB_C_NONE && skb->len)
		why = check_packet(skb);
	if (why != UIB_C_NONE)
		return why;
	WRITE_ONCE(l->heard, jiffies);
	return READ_ONCE(l->state) == UIB_LINK_UP ? UIB_C_NONE : came_up(l, &from);
}

/* A bad packet is an error of the port, IBTA 16.1.3.5; what is not for it is none. */
static void count_drop(struct uib_dev *dev, enum uib_counter why)
{
	uib_count(dev, why);
	switch (why) {
	case UIB_DROP_VCRC:
		uib_count(dev, UIB_C_RCV_ERRORS);
		uib_count(dev, UIB_C_RCV_PHYSICAL);
		break;
	case UIB_DROP_SHORT:
	case UIB_DROP_OVERSIZED:
	case UIB_DROP_LVER:
	case UIB_DROP_LEN:
		uib_count(dev, UIB_C_RCV_ERRORS);
		uib_count(dev, UIB_C_RCV_MALFORMED);
		break;
	default:
		break;
	}
}

/* The socket's encap_rcv: in softirq, under rcu_read_lock(), skb->data is the UDP header. */
static int receive(struct sock *sk, struct sk_buff *skb)
{
	struct uib_link *l = rcu_dereference_sk_user_data(sk);
	enum uib_counter why;

	if (!l || !pskb_may_pull(skb, sizeof(struct udphdr)))
		goto out;
	__skb_pull(skb, sizeof(struct udphdr));
	why = check(l, skb);
	if (why != UIB_C_NONE)
		count_drop(to_dev(l), why);
	else if (skb->len)
		uib_rx(to_dev(l), skb->data, skb->len, true);
	else
		uib_count(to_dev(l), UIB_C_RX_KEEPALIVES);
out:
	consume_skb(skb);
	return 0;
}

/* --- open and close */

static int open_socket(struct uib_link *l)
{
	struct udp_port_cfg cfg = {
		.family = l->listen.sa.sa_family,
		.local_udp_port = l->listen.in4.sin_port,
		.use_udp_checksums = true,
		.use_udp6_tx_checksums = true,
		.use_udp6_rx_checksums = true,
		.ipv6_v6only = true,
	};

	if (cfg.family == AF_INET6 && !IS_ENABLED(CONFIG_IPV6))
		return -EAFNOSUPPORT;
	if (cfg.family == AF_INET)
		cfg.local_ip = l->listen.in4.sin_addr;
#if IS_ENABLED(CONFIG_IPV6)
	else
		cfg.local_ip6 = l->listen.in6.sin6_addr;
#endif
	return udp_sock_create(l->net, &cfg, &l->sock);
}

int uib_link_open(struct uib_link *l)
{
	struct udp_tunnel_sock_cfg cfg = {
		.sk_user_data = l,
		.encap_type = 1,
		.encap_rcv = receive,
	};
	int err;

	spin_lock_init(&l->lock);
	INIT_DELAYED_WORK(&l->state_work, state_work);
	INIT_DELAYED_WORK(&l->keepalive_work, keepalive_work);
	INIT_DELAYED_WORK(&l->retrain_work, retrain_work);
	l->state = UIB_LINK_OFF;
	l->learn = !l->has_peer;
	err = open_socket(l);
	if (err)
		return err;
	lock_sock(l->sock->sk);
	l->sock->sk->sk_sndbuf = SEND_BUFFER;
	release_sock(l->sock->sk);
	/* Fragments work: DF must not be set. */
	if (l->listen.sa.sa_family == AF_INET)
		ip_sock_set_mtu_discover(l->sock->sk, IP_PMTUDISC_DONT);
	setup_udp_tunnel_sock(l->net, uib_tunnel_sock(l->sock), &cfg);
	return 0;
}

void uib_link_start(struct uib_link *l)
{
	spin_lock_bh(&l->lock);
	l->silent_until = get_jiffies_64() + l->start_silence;
	try_listen(l);
	spin_unlock_bh(&l->lock);
}

/* Says nothing: the other end's 3 s end. Nothing is received or, but by others, sent any more. */
void uib_link_stop(struct uib_link *l)
{
	if (!l->sock)
		return;
	uib_link_enable(l, false);
	cancel_delayed_work_sync(&l->retrain_work);
	cancel_delayed_work_sync(&l->state_work);
	cancel_delayed_work_sync(&l->keepalive_work);
	/* Receivers that found it up before. */
	synchronize_rcu();
}

/* Stopped; the others have stopped sending, too. */
void uib_link_close(struct uib_link *l)
{
	if (!l->sock)
		return;
	udp_tunnel_sock_release(uib_tunnel_sock(l->sock));
	l->sock = NULL;
	/* Who found the link in sk_user_data before. */
	synchronize_rcu();
}

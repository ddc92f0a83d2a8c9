// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

/*
 * The socket of the link. The functions here send and receive datagrams, and check packets before code in rx.c reads the
 * transport headers.
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

#define SEND_BUFFER (8 << 20)

static struct uib_dev *to_dev(struct uib_link *l)
{
	return container_of(l, struct uib_dev, link);
}

int uib_udp_send(struct uib_link *l, union uib_addr *to, struct kvec *v, size_t n, size_t len)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL,
		.msg_name = to,
		.msg_namelen = to->sa.sa_family == AF_INET ? sizeof(to->in4) : sizeof(to->in6),
	};

	return kernel_sendmsg(l->sock, &msg, v, n, len);
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

/* Do the checks of IBTA 7.8: length, LVer, PktLen, VCRC. */
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

/* The sender is checked first, because comparing addresses costs less time than computing a CRC. */
static enum uib_counter check(struct uib_link *l, struct sk_buff *skb)
{
	enum uib_counter why;
	union uib_addr from;

	sender(skb, &from);
	why = uib_link_check_sender(l, &from);
	if (why == UIB_C_NONE && skb->len)
		why = check_packet(skb);
	return why == UIB_C_NONE ? uib_link_heard(l, &from) : why;
}

/*
 * Count a dropped datagram. If the packet is damaged, the error counters of the port count it, too (IBTA 16.1.3.5). A
 * datagram from another sender than the peer is no error of the port.
 */
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

/* The encap_rcv function of the socket. Runs in softirq under rcu_read_lock(); skb->data points to the UDP header. */
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

static int create(struct uib_link *l)
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

int uib_udp_open(struct uib_link *l)
{
	struct udp_tunnel_sock_cfg cfg = {
		.sk_user_data = l,
		.encap_type = 1,
		.encap_rcv = receive,
	};
	int err = create(l);

	if (err)
		return err;
	lock_sock(l->sock->sk);
	l->sock->sk->sk_sndbuf = SEND_BUFFER;
	release_sock(l->sock->sk);
	/* A packet may be larger than the path MTU and travel in fragments, so DF must not be set. */
	if (l->listen.sa.sa_family == AF_INET)
		ip_sock_set_mtu_discover(l->sock->sk, IP_PMTUDISC_DONT);
	setup_udp_tunnel_sock(l->net, uib_tunnel_sock(l->sock), &cfg);
	return 0;
}

void uib_udp_close(struct uib_link *l)
{
	udp_tunnel_sock_release(uib_tunnel_sock(l->sock));
	l->sock = NULL;
	/* Wait for receivers that have read the link from sk_user_data. */
	synchronize_rcu();
}

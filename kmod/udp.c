// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

/*
 * The socket of the link. The functions here send and receive datagrams, and check packets before code in rx.c reads the
 * transport headers.
 */

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/security.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>
#include <net/udp_tunnel.h>

#include "uib.h"

#define SEND_BUFFER (8 << 20)

static struct uib_dev *to_dev(struct uib_link *l)
{
	return container_of(l, struct uib_dev, link);
}

/* --- sending */

#define HEADROOM (LL_MAX_HEADER + sizeof(struct ipv6hdr) + sizeof(struct udphdr))

struct sk_buff *uib_udp_alloc(gfp_t gfp)
{
	struct sk_buff *skb = alloc_skb(HEADROOM, gfp);

	if (skb)
		skb_reserve(skb, HEADROOM);
	return skb;
}

void uib_udp_new_peer(struct uib_link *l)
{
	dst_cache_reset(&l->route);
}

static int send4(struct uib_link *l, const struct sockaddr_in *to, struct sk_buff *skb)
{
	struct sock *sk = l->sock->sk;
	struct flowi4 fl = {
		.flowi4_proto = IPPROTO_UDP,
		.daddr = to->sin_addr.s_addr,
		.saddr = l->listen.in4.sin_addr.s_addr,
		.fl4_dport = to->sin_port,
		.fl4_sport = l->listen.in4.sin_port,
	};
	struct rtable *rt = dst_cache_get_ip4(&l->route, &fl.saddr);

	if (!rt) {
		security_sk_classify_flow(sk, flowi4_to_flowi_common(&fl));
		rt = ip_route_output_flow(l->net, &fl, sk);
		if (IS_ERR(rt))
			return PTR_ERR(rt);
		dst_cache_set_ip4(&l->route, &rt->dst, fl.saddr);
	}
	/* A packet may be larger than the path MTU and travel in fragments, so DF is not set. */
	udp_tunnel_xmit_skb(rt, sk, skb, fl.saddr, fl.daddr, 0, ip4_dst_hoplimit(&rt->dst), 0,
			    fl.fl4_sport, fl.fl4_dport, false, false uib_no_cb_flags);
	return 0;
}

#if IS_ENABLED(CONFIG_IPV6)
static int send6(struct uib_link *l, const struct sockaddr_in6 *to, struct sk_buff *skb)
{
	struct sock *sk = l->sock->sk;
	struct flowi6 fl = {
		.flowi6_proto = IPPROTO_UDP,
		.flowi6_oif = to->sin6_scope_id,
		.daddr = to->sin6_addr,
		.saddr = l->listen.in6.sin6_addr,
		.fl6_dport = to->sin6_port,
		.fl6_sport = l->listen.in6.sin6_port,
	};
	struct dst_entry *dst = dst_cache_get_ip6(&l->route, &fl.saddr);

	if (!dst) {
		security_sk_classify_flow(sk, flowi6_to_flowi_common(&fl));
		dst = uib_route6(l->net, sk, &fl);
		if (IS_ERR(dst))
			return PTR_ERR(dst);
		dst_cache_set_ip6(&l->route, dst, &fl.saddr);
	}
	skb->ignore_df = 1; /* as in send4() */
	udp_tunnel6_xmit_skb(dst, sk, skb, NULL, &fl.saddr, &fl.daddr, 0, ip6_dst_hoplimit(dst), 0,
			     fl.fl6_sport, fl.fl6_dport, false uib_no_cb_flags);
	return 0;
}
#else
static int send6(struct uib_link *l, const struct sockaddr_in6 *to, struct sk_buff *skb)
{
	return -EAFNOSUPPORT;
}
#endif

int uib_udp_send(struct uib_link *l, const union uib_addr *to, struct sk_buff *skb)
{
	struct sock *sk = l->sock->sk;
	int err = -ENOBUFS;

	if (sk_wmem_alloc_get(sk) < READ_ONCE(sk->sk_sndbuf)) {
		skb_set_owner_w(skb, sk);
		if (skb_is_gso(skb)) {
			skb->ip_summed = CHECKSUM_PARTIAL;
			skb->csum_start = skb_headroom(skb) - sizeof(struct udphdr);
			skb->csum_offset = offsetof(struct udphdr, check);
		}
		rcu_read_lock_bh();
		err = to->sa.sa_family == AF_INET ? send4(l, &to->in4, skb)
						  : send6(l, &to->in6, skb);
		rcu_read_unlock_bh();
	}
	if (err)
		kfree_skb(skb);
	return err;
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
	int err = dst_cache_init(&l->route, GFP_KERNEL);

	if (err)
		return err;
	err = create(l);
	if (err) {
		dst_cache_destroy(&l->route);
		return err;
	}
	lock_sock(l->sock->sk);
	l->sock->sk->sk_sndbuf = SEND_BUFFER;
	release_sock(l->sock->sk);
	setup_udp_tunnel_sock(l->net, uib_tunnel_sock(l->sock), &cfg);
	/*
	 * The kernel cuts a burst from a sender in the same kernel before it calls receive(), and would make a checksum for
	 * each datagram, because setup_udp_tunnel_sock() has asked for checksums. Only tunnels of IP packets use them.
	 */
	inet_dec_convert_csum(l->sock->sk);
	return 0;
}

void uib_udp_close(struct uib_link *l)
{
	udp_tunnel_sock_release(uib_tunnel_sock(l->sock));
	l->sock = NULL;
	/* Wait for receivers that have read the link from sk_user_data. */
	synchronize_rcu();
	dst_cache_destroy(&l->route);
}

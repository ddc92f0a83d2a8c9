/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "eth/csum.h"
#include "eth/priv.h"
#include "wire/inet.h"
#include "wire/ip.h"
#include "wire/nd.h"

/*
 * Neighbour Discovery: this file converts options with a source or target link-layer address between the kernel's
 * format and the format of the link's profile. The kernel's format has 8 octets with a MAC (Ethernet shape), or 24
 * octets with two zero octets and an address of 20 octets (InfiniBand shape). The format of RFC 4391 §9.3 has the
 * same 24 octets. Payload length and checksum are adjusted. A message with a wrong checksum is dropped, because the
 * adjusted checksum would be right and hide the damage.
 */

#define ND_MAX 4096
#define HOP_LIMIT 255 /* hop limit of all ND messages, RFC 4861 §6.1, §7.1, §8.1 */
#define NA_SOLICITED 0x40

struct rewrite {
	struct eth_if *e;
	/* neighbour that sent the message; NULL: the sender is unknown, or is this interface */
	const struct ipoib_neigh *src;
	ns_t now;
	bool to_link;
	bool probe;
	uint8_t out[ND_MAX + 256];
	size_t len;
};

uint8_t eth_nd_type(struct pkt *p)
{
	const uint8_t *h = pkt_pull(p, IPV6_LEN);

	if (!h || h[0] >> 4 != 6 || h[6] != PROTO_ICMPV6 || h[7] != HOP_LIMIT || frame_info(p)->gso)
		return 0;
	h = pkt_pull(p, IPV6_LEN + 1);
	return h && nd_fixed_len(h[IPV6_LEN]) ? h[IPV6_LEN] : 0;
}

static uint16_t icmp_sum(const uint8_t *ip, size_t len)
{
	uint32_t sum = inet_pseudo6(ip + 8, ip + 24, PROTO_ICMPV6, (uint32_t)(len - IPV6_LEN));

	return inet_fold(inet_sum(sum, ip + IPV6_LEN, len - IPV6_LEN));
}

static int put(struct rewrite *w, const void *p, size_t n)
{
	if (n > sizeof(w->out) - w->len)
		return -EMSGSIZE;
	memcpy(w->out + w->len, p, n);
	w->len += n;
	return 0;
}

/*
 * Tells whether the message must be sent without the link-layer address option. A Redirect has this
 * option only "if known" (RFC 4861 §4.5). If the profile's option contains a LID, the option is
 * known only when the path to the port is known. In other messages the option is about the sender
 * of the message, whose LID is known.
 */
static bool leaves_out(const struct rewrite *w, const struct nd_port *port)
{
	return w->out[IPV6_LEN] == ICMP6_REDIRECT && w->e->profile->nd.has_lid && !port->lid;
}

/*
 * Tells whether the address in @o begins too early: some senders (dnsmasq, in router advertisements) put the two
 * zero octets of RFC 4391's option behind the address. If such an option were decoded as the RFC specifies, the
 * result would be the address of no port. So this function looks for the link's subnet prefix, whose position
 * shows where the address begins.
 */
static bool is_early(const struct eth_if *e, const struct nd_opt *o)
{
	uint64_t prefix = ib_gid_prefix(&e->own.gid);
	const uint8_t *gid = o->data + 8;

	return o->len == ND_OPT_LLADDR_IPOIB && e->has_own && be64_at(gid) != prefix &&
	       be64_at(gid - 2) == prefix && !be16_at(o->data + 2 + IPOIB_ALEN);
}

static int lladdr_to_link(struct rewrite *w, const struct nd_opt *o)
{
	const struct ipoib_nd_form *nd = &w->e->profile->nd;
	const struct eth_shape_ops *s = w->e->shape;
	uint8_t opt[IPOIB_ND_OPT_MAX];
	const uint8_t *hw = o->data + 2 + (is_early(w->e, o) ? 0 : s->nd_pad);
	struct ipoib_lladdr a;
	struct nd_port port;

	if (o->len != eth_nd_opt_len(s) || s->lladdr(w->e, hw, &a))
		return -EINVAL;
	port = ipoib_nd_port(w->e->cfg.link, &a);
	if (leaves_out(w, &port))
		return 0;
	nd->encode(opt, o->type, &port);
	return put(w, opt, nd->len);
}

static int lladdr_decode(const struct eth_if *e, struct nd_port *ret, const struct nd_opt *o)
{
	int err = e->profile->nd.decode(ret, o);

	if (!err && is_early(e, o))
		ipoib_lladdr_decode(&ret->lladdr, o->data + 2, IPOIB_ALEN);
	return err;
}

/*
 * Finds the hardware address by which the kernel knows the port @port. The function also stores the
 * other values in @port (such as the Q_Key), because packets to the port need these values.
 */
static int peer_hw(struct rewrite *w, const struct nd_port *port, uint8_t *ret)
{
	struct ipoib_neigh *n;
	int err = w->e->shape->hw(w->e, &port->lladdr, ret, &n, w->now);

	if (!err && n)
		err = eth_peer_said(w->e, n, w->src, port);
	if (!err && n && w->probe)
		ipoib_neigh_probe(n, w->now);
	return err;
}

static int lladdr_from_link(struct rewrite *w, const struct nd_opt *o)
{
	const struct eth_shape_ops *s = w->e->shape;
	unsigned int len = eth_nd_opt_len(s);
	uint8_t opt[ETH_ND_OPT_MAX] = { o->type, (uint8_t)(len / 8) };
	struct nd_port port;
	int err = lladdr_decode(w->e, &port, o);

	/*
	 * Only in the option of RFC 4391, the octet that was decoded into port.lladdr.flags
	 * contains the flags of a link-layer address.
	 */
	if (o->len != ND_OPT_LLADDR_IPOIB)
		port.lladdr.flags = 0;
	if (!err)
		err = peer_hw(w, &port, opt + 2 + s->nd_pad);
	return err ? err : put(w, opt, len);
}

/*
 * Logs a router advertisement whose MTU option exceeds the link's MTU, which is also the MTU of the
 * device. The kernel ignores such an option, and does not log it.
 */
static void check_mtu_option(struct rewrite *w, const struct nd_opt *o)
{
	unsigned int link = ipoib_link_ip_mtu(w->e->cfg.link);
	char left_out[PACE_LINE] = "";
	uint32_t mtu;

	if (w->to_link || w->out[IPV6_LEN] != ICMP6_RA || o->type != ND_OPT_MTU || o->len != 8)
		return;
	mtu = be32_at(o->data + 4);
	if (mtu > link && pace_line(&w->e->mtu_lines, 1, ETH_MTU_LINES_EVERY, w->now, left_out))
		log_to(w->e->cfg.log, LOG_LVL_INFO,
		       "router advertisement with MTU %" PRIu32
		       ", more than the link's %u: ignored%s",
		       mtu, link, left_out);
}

static int options(struct rewrite *w, const uint8_t *p, size_t len)
{
	struct nd_opt o;
	size_t pos = 0;
	int more;

	while ((more = nd_opt_next(&o, p, len, &pos)) > 0) {
		int status;

		check_mtu_option(w, &o);
		if (o.type != ND_OPT_SLLA && o.type != ND_OPT_TLLA)
			status = put(w, o.data, o.len);
		else
			status = w->to_link ? lladdr_to_link(w, &o) : lladdr_from_link(w, &o);
		if (status)
			return status;
	}
	return more;
}

static int rewrite(struct rewrite *w, struct pkt *p)
{
	uint8_t in[ND_MAX];
	size_t len = pkt_copy_out(p, 0, in, sizeof(in)), ip_len, fixed;
	int err;

	if (len < IPV6_LEN + 4 || p->len > sizeof(in))
		return -EMSGSIZE;
	ip_len = IPV6_LEN + be16_at(in + 4);
	fixed = IPV6_LEN + nd_fixed_len(in[IPV6_LEN]);
	if (ip_len > len || fixed > ip_len || icmp_sum(in, ip_len))
		return -EBADMSG;
	/*
	 * After a solicited Neighbour Advertisement, packets to its sender will follow, so the path
	 * to this sender is resolved now. Unsolicited advertisements need no path.
	 */
	w->probe = in[IPV6_LEN] == ICMP6_NA && (in[IPV6_LEN + 4] & NA_SOLICITED);
	w->len = 0;
	err = put(w, in, fixed);
	if (!err)
		err = options(w, in + fixed, ip_len - fixed);
	if (err)
		return err;
	be16_put(w->out + 4, (uint16_t)(w->len - IPV6_LEN));
	be16_put(w->out + IPV6_LEN + 2, 0);
	be16_put(w->out + IPV6_LEN + 2, icmp_sum(w->out, w->len));
	return 0;
}

struct pkt *eth_nd_to_link(struct eth_if *e, struct pkt *p, enum eth_drop *why)
{
	struct rewrite w;

	w.e = e;
	w.src = NULL;
	w.now = 0;
	w.to_link = true;
	*why = ETH_DROP_ARP;
	if (eth_csum_complete(p, 0) || rewrite(&w, p))
		return NULL;
	*why = ETH_DROP_NO_MEM;
	p = pkt_from_data(e->cfg.pool, w.out, w.len);
	e->stats.nd_tx += p != NULL;
	return p;
}

struct pkt *eth_nd_from_link(struct eth_if *e, struct pkt *p, const struct ipoib_neigh *src,
			     ns_t now, enum eth_drop *why)
{
	struct rewrite w;
	int err;

	w.e = e;
	w.src = src;
	w.now = now;
	w.to_link = false;
	err = rewrite(&w, p);
	if (err) {
		*why = err == -EKEYREJECTED ? ETH_DROP_RX_QKEY : ETH_DROP_RX_ARP;
		return NULL;
	}
	*why = ETH_DROP_NO_MEM;
	p = pkt_from_data(e->cfg.pool, w.out, w.len);
	e->stats.nd_rx += p != NULL;
	return p;
}

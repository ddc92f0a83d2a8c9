/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "eth/priv.h"
#include "eth/seg.h"
#include "wire/inet.h"
#include "wire/nd.h"

/*
 * Neighbour Discovery, RFC 4391 §9.3: source and target link-layer address options change
 * between 8 octets (a MAC) and 24 (two zero octets and 20 of address); payload length and checksum
 * follow. A message whose checksum is wrong is not blessed with a right one.
 */

#define IPV6_LEN 40
#define PROTO_ICMPV6 58
#define ND_MAX 4096
#define HOP_LIMIT 255 /* RFC 4861 §6.1, §7.1, §8.1: else it is not from a neighbour */
#define NA_SOLICITED 0x40

struct rewrite {
	struct eth_if *e;
	ns_t now;
	bool to_link;
	bool probe;
	uint8_t out[ND_MAX + 256];
	size_t len;
};

uint8_t eth_nd_type(struct pkt *p)
{
	const uint8_t *h = pkt_pull(p, IPV6_LEN);

	if (!h || h[0] >> 4 != 6 || h[6] != PROTO_ICMPV6 || h[7] != HOP_LIMIT || p->gso)
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

static int lladdr_to_link(struct rewrite *w, const struct nd_opt *o)
{
	uint8_t opt[ND_OPT_LLADDR_IPOIB];
	struct ipoib_lladdr a;

	if (o->len != ND_OPT_LLADDR_ETHER || eth_mac_to_lladdr(w->e, o->data + 2, &a))
		return -EINVAL;
	nd_opt_lladdr_encode(opt, o->type, &a);
	return put(w, opt, sizeof(opt));
}

/*
 * Some (dnsmasq, in router advertisements) have the two zero octets behind the address. Read as it should be, such an
 * address names a port that does not exist; the link's subnet prefix shows where it begins.
 */
static int lladdr_decode(const struct eth_if *e, struct ipoib_lladdr *ret, const struct nd_opt *o)
{
	uint64_t prefix = ib_gid_prefix(&e->own.gid);
	struct ipoib_lladdr early;
	int err = nd_opt_lladdr_decode(ret, o);

	if (err || !e->has_own || ib_gid_prefix(&ret->gid) == prefix ||
	    be16_at(o->data + 2 + IPOIB_ALEN) ||
	    ipoib_lladdr_decode(&early, o->data + 2, IPOIB_ALEN))
		return err;
	if (ib_gid_prefix(&early.gid) == prefix)
		*ret = early;
	return 0;
}

static int lladdr_from_link(struct rewrite *w, const struct nd_opt *o)
{
	uint8_t opt[ND_OPT_LLADDR_ETHER] = { o->type, 1 };
	struct ipoib_lladdr a;

	if (lladdr_decode(w->e, &a, o) || eth_lladdr_to_mac(w->e, &a, opt + 2, w->now, w->probe))
		return -EINVAL;
	return put(w, opt, sizeof(opt));
}

static int options(struct rewrite *w, const uint8_t *p, size_t len)
{
	struct nd_opt o;
	size_t pos = 0;
	int more;

	while ((more = nd_opt_next(&o, p, len, &pos)) > 0) {
		int status;

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

	if (len < IPV6_LEN + 4 || p->len > sizeof(in))
		return -EMSGSIZE;
	ip_len = IPV6_LEN + be16_at(in + 4);
	fixed = IPV6_LEN + nd_fixed_len(in[IPV6_LEN]);
	if (ip_len > len || fixed > ip_len || icmp_sum(in, ip_len))
		return -EBADMSG;
	/* An answer is followed by traffic: have its sender's path ready. An announcement is not. */
	w->probe = in[IPV6_LEN] == ICMP6_NA && (in[IPV6_LEN + 4] & NA_SOLICITED);
	w->len = 0;
	if (put(w, in, fixed) || options(w, in + fixed, ip_len - fixed))
		return -EBADMSG;
	be16_put(w->out + 4, (uint16_t)(w->len - IPV6_LEN));
	be16_put(w->out + IPV6_LEN + 2, 0);
	be16_put(w->out + IPV6_LEN + 2, icmp_sum(w->out, w->len));
	return 0;
}

struct pkt *eth_nd_to_link(struct eth_if *e, struct pkt *p, enum eth_drop *why)
{
	struct rewrite w;

	w.e = e;
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

struct pkt *eth_nd_from_link(struct eth_if *e, struct pkt *p, ns_t now, enum eth_drop *why)
{
	struct rewrite w;

	w.e = e;
	w.now = now;
	w.to_link = false;
	*why = ETH_DROP_RX_ARP;
	if (rewrite(&w, p))
		return NULL;
	*why = ETH_DROP_NO_MEM;
	p = pkt_from_data(e->cfg.pool, w.out, w.len);
	e->stats.nd_rx += p != NULL;
	return p;
}

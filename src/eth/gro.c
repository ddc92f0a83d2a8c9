/* SPDX-License-Identifier: BSD-2-Clause */
#include "eth/gro.h"

#include <string.h>

#include "train/train.h"
#include "util/be.h"
#include "wire/inet.h"
#include "wire/ip.h"
#include "wire/ipoib_hdr.h"

#define TCP_ACK 0x10
#define TCP_PSH 0x08
#define IP_DF 0x4000
#define LEN_MAX 65535 /* octets of an IP packet */

/* A packet that may be coalesced, as parsed by parse() */
struct cand {
	/* all headers from the first octet of the packet; all .hlen octets of them are in pkt.hdr[] */
	const uint8_t *h;
	uint16_t l3, l4; /* offsets of the IP header and of the L4 header */
	uint16_t hlen;
	uint32_t payload;
	uint16_t ip_id; /* IPv4 identification */
	bool ipv6, udp;
};

void eth_gro_init(struct eth_gro *g, unsigned int l3, bool tcp, bool udp, eth_emit_fn *emit,
		  void *ctx)
{
	*g = (struct eth_gro){ .l3 = l3, .tcp = tcp, .udp = udp, .emit = emit, .ctx = ctx };
}

void eth_gro_init_sent(struct eth_gro *g, unsigned int l3, eth_emit_fn *emit, void *ctx)
{
	*g = (struct eth_gro){ .l3 = l3, .udp = true, .sent = true, .emit = emit, .ctx = ctx };
}

static bool parse_ip(struct cand *c, const struct pkt *p, uint16_t type, uint8_t *ret_proto)
{
	const uint8_t *ip = c->h + c->l3;

	c->ipv6 = type == ETH_P_IPV6_;
	if (c->ipv6) {
		if (ip[0] >> 4 != 6 || p->len != be16_at(ip + 4) + (uint32_t)(c->l3 + IPV6_LEN))
			return false;
		*ret_proto = ip[6];
		c->l4 = c->l3 + IPV6_LEN;
		return true;
	}
	if (type != ETH_P_IPV4 || ip[0] != 0x45 || p->len != be16_at(ip + 2) + (uint32_t)c->l3 ||
	    (be16_at(ip + 6) & IPV4_FRAGMENT) || inet_fold(inet_sum(0, ip, IPV4_LEN)))
		return false;
	*ret_proto = ip[9];
	c->l4 = c->l3 + IPV4_LEN;
	c->ip_id = be16_at(ip + 4);
	return true;
}

static bool parse_l4(struct cand *c, struct pkt *p, uint8_t proto)
{
	unsigned int l4_len = 8;

	c->udp = proto == PROTO_UDP;
	if (proto == PROTO_TCP) {
		c->h = pkt_pull_hdr(p, c->l4 + 20u);
		if (!c->h)
			return false;
		l4_len = (unsigned int)(c->h[c->l4 + 12] >> 4) * 4;
		if (l4_len < 20)
			return false;
	} else if (proto != PROTO_UDP) {
		return false;
	}
	c->h = pkt_pull_hdr(p, c->l4 + l4_len);
	if (!c->h)
		return false;
	c->hlen = (uint16_t)(c->l4 + l4_len);
	c->payload = p->len - c->hlen;
	return true;
}

static bool parse(const struct eth_gro *g, struct cand *c, struct pkt *p, uint16_t type)
{
	uint8_t proto;

	*c = (struct cand){ .l3 = (uint16_t)g->l3 };
	if (pkt_hdr_len(p) < g->l3)
		return false;
	c->h = pkt_pull_hdr(p, g->l3 + (type == ETH_P_IPV6_ ? IPV6_LEN : IPV4_LEN));
	return c->h && parse_ip(c, p, type, &proto) && parse_l4(c, p, proto);
}

static uint32_t pseudo_sum(const struct cand *c, const struct pkt *p)
{
	const uint8_t *ip = c->h + c->l3;
	uint8_t proto = c->udp ? PROTO_UDP : PROTO_TCP;

	return c->ipv6 ? inet_pseudo6(ip + 8, ip + 24, proto, p->len - c->l4)
		       : inet_pseudo4(ip + 12, ip + 16, proto, p->len - c->l4);
}

static bool l4_csum_ok(const struct cand *c, const struct pkt *p)
{
	if (frame_info_const(p)->csum == FRAME_CSUM_PARTIAL)
		return false;

	/*
	 * A UDP packet without a checksum is not coalesced, because the kernel would add checksums
	 * when it cuts the super-frame.
	 */
	if (c->udp && !be16_at(c->h + c->l4 + 6))
		return false;
	if (frame_info_const(p)->csum == FRAME_CSUM_OK)
		return true;
	return inet_fold(inet_sum_pkt(pseudo_sum(c, p), p, c->l4)) == 0;
}

/*
 * Tells whether the checksums of a datagram are as in the datagrams of the kernel's own stack: that of UDP is partial, and
 * that of IPv4, which a sum of zero could also make 0xffff (RFC 1624), is what the code that cuts a super-frame writes
 */
static bool kernel_csums(const struct cand *c, const struct pkt *p)
{
	const struct frame_info *f = frame_info_const(p);

	if (!c->ipv6 && be16_at(c->h + c->l3 + 10) == 0xffff)
		return false;
	return f->csum == FRAME_CSUM_PARTIAL && f->csum_start == c->l4 - c->l3 &&
	       f->csum_offset == 6 &&
	       (be16_at(c->h + c->l4 + 6) ^ inet_fold(pseudo_sum(c, p))) == 0xffff;
}

/* Tells whether the packet may start a super-frame or join one. */
static bool mergeable(const struct eth_gro *g, const struct cand *c, const struct pkt *p)
{
	const uint8_t *l4 = c->h + c->l4;

	if (!c->payload || !(c->udp ? g->udp : g->tcp))
		return false;
	if (c->udp ? be16_at(l4 + 4) != c->payload + 8 : (l4[13] & ~TCP_PSH) != TCP_ACK)
		return false;
	return g->sent ? kernel_csums(c, p) : l4_csum_ok(c, p);
}

/* Tells whether @c has the IP addresses and ports of the flow @f. */
static bool same_flow(const struct eth_gro_flow *f, const struct cand *c)
{
	const uint8_t *a = pkt_hdr(f->frame.first), *b = c->h;
	unsigned int addr = c->l3 + (c->ipv6 ? 8u : 12u);

	return f->ipv6 == c->ipv6 && f->udp == c->udp && f->l4 == c->l4 &&
	       !memcmp(a + f->l4, b + f->l4, 4) && !memcmp(a + addr, b + addr, c->ipv6 ? 32 : 8);
}

/*
 * Tells whether a packet may join its flow by its IPv4 identification. If DF is set in a received
 * packet, the identification has no meaning. Otherwise the packets that are cut from the super-frame
 * must have the same identifications as the packets that join: consecutive ones, or, if the second
 * of the datagrams that are sent with DF has that of the first one, all the same (.fixed_id).
 */
static bool id_follows(const struct eth_gro *g, const struct eth_gro_flow *f, const struct cand *c)
{
	bool df = be16_at(c->h + c->l3 + 6) & IP_DF;

	if (c->ip_id == f->ip_id || (df && !g->sent))
		return true;
	return df && f->frame.n == 1 && c->ip_id == (uint16_t)(f->ip_id - 1);
}

/*
 * Tells whether these fields, which all packets of a super-frame share, are equal: the octets before the IP header;
 * TOS, TTL and flags of IP; acknowledgement, window and options of TCP. same_flow() compares the addresses and ports
 */
static bool same_headers(const struct eth_gro *g, const struct eth_gro_flow *f,
			 const struct cand *c)
{
	const uint8_t *a = pkt_hdr(f->frame.first), *b = c->h;
	const uint8_t *ia = a + c->l3, *ib = b + c->l3;
	const uint8_t *ta = a + f->l4, *tb = b + f->l4;

	if (f->hlen != c->hlen || memcmp(a, b, c->l3))
		return false;
	if (f->ipv6 ? memcmp(ia, ib, 4) || ia[7] != ib[7]
		    : ia[1] != ib[1] || memcmp(ia + 6, ib + 6, 3))
		return false;
	if (!f->ipv6 && !id_follows(g, f, c))
		return false;
	if (f->udp)
		return true;
	return !memcmp(ta + 8, tb + 8, 5) && !memcmp(ta + 14, tb + 14, 2) &&
	       !memcmp(ta + 20, tb + 20, (size_t)(f->hlen - f->l4 - 20));
}

static bool fits(const struct eth_gro_flow *f, const struct cand *c)
{
	return f->frame.n < ETH_GRO_SEGS && c->payload <= f->mss &&
	       f->frame.len + c->payload <= LEN_MAX + c->l3 - 20u &&
	       (f->udp || be32_at(c->h + c->l4 + 4) == f->next_seq);
}

static void finish(struct eth_gro_flow *f, unsigned int l3)
{
	struct frame_info *info = frame_info(f->frame.first);

	info->gso = f->udp ? FRAME_GSO_UDP : f->ipv6 ? FRAME_GSO_TCP6 : FRAME_GSO_TCP4;
	info->gso_size = f->mss;
	info->fixed_id = f->fixed_id;
	info->csum_start = (uint16_t)(f->l4 - l3);
	train_frame_headers(pkt_hdr(f->frame.first) + l3, info, f->frame.len - l3);
}

static void emit_flow(struct eth_gro *g, unsigned int i)
{
	struct eth_gro_flow *f = &g->flow[i];
	struct eth_frame frame;

	if (f->frame.n > 1)
		finish(f, g->l3);
	frame = f->frame;
	*f = g->flow[--g->n];
	g->emit(g->ctx, &frame);
}

static void emit_one(struct eth_gro *g, struct pkt *p)
{
	struct eth_frame frame = { .first = p, .n = 1, .len = p->len };

	p->next = NULL;
	g->emit(g->ctx, &frame);
}

static void join(struct eth_gro *g, unsigned int i, const struct cand *c, struct pkt *p)
{
	struct eth_gro_flow *f = &g->flow[i];
	bool psh = !f->udp && (c->h[c->l4 + 13] & TCP_PSH);

	if (psh)
		pkt_hdr(f->frame.first)[f->l4 + 13] |= TCP_PSH;
	if (g->sent && c->ip_id != f->ip_id)
		f->fixed_id = true;
	f->ip_id = (uint16_t)(c->ip_id + (f->ipv6 || f->fixed_id ? 0 : 1));
	pkt_trim_head(p, c->hlen);
	p->next = NULL;
	f->last->next = p;
	f->last = p;
	f->frame.n++;
	f->frame.len += c->payload;
	f->next_seq += c->payload;
	/*
	 * Only the last packet of a super-frame may be shorter than the others, and PSH asks for
	 * immediate delivery. So a shorter packet, or a packet with PSH, ends its super-frame.
	 */
	if (c->payload < f->mss || psh)
		emit_flow(g, i);
}

static void start(struct eth_gro *g, const struct cand *c, struct pkt *p)
{
	struct eth_gro_flow *f;

	if (g->n == ETH_GRO_FLOWS)
		emit_flow(g, 0);
	f = &g->flow[g->n++];
	*f = (struct eth_gro_flow){
		.frame = { .first = p, .n = 1, .len = p->len },
		.last = p,
		.mss = (uint16_t)c->payload,
		.hlen = c->hlen,
		.l4 = (uint8_t)c->l4,
		.ipv6 = c->ipv6,
		.udp = c->udp,
		.ip_id = (uint16_t)(c->ip_id + (c->ipv6 ? 0 : 1)),
	};
	p->next = NULL;
	if (!f->udp)
		f->next_seq = be32_at(c->h + c->l4 + 4) + c->payload;
	if (!f->udp && (c->h[c->l4 + 13] & TCP_PSH))
		emit_flow(g, g->n - 1);
}

void eth_gro_add(struct eth_gro *g, struct pkt *p, uint16_t ethertype)
{
	struct cand c;
	bool ok;

	if (!parse(g, &c, p, ethertype)) {
		/*
		 * Packets of other protocols, such as ARP, and fragments are rare. Emitting all
		 * flows before such a packet is the simplest way to keep the order.
		 */
		eth_gro_flush(g);
		emit_one(g, p);
		return;
	}
	ok = mergeable(g, &c, p);
	for (unsigned int i = 0; i < g->n; i++) {
		if (!same_flow(&g->flow[i], &c))
			continue;
		if (ok && same_headers(g, &g->flow[i], &c) && fits(&g->flow[i], &c)) {
			join(g, i, &c, p);
			return;
		}
		emit_flow(g, i);
		break;
	}
	/* sent packets keep their order, even if they belong to different flows */
	if (g->sent)
		eth_gro_flush(g);
	if (ok)
		start(g, &c, p);
	else
		emit_one(g, p);
}

void eth_gro_flush(struct eth_gro *g)
{
	while (g->n)
		emit_flow(g, 0);
}

static unsigned int add_part(struct iovec *iov, unsigned int n, const uint8_t *data, size_t len)
{
	if (!len)
		return n;
	if (n && (const uint8_t *)iov[n - 1].iov_base + iov[n - 1].iov_len == data) {
		iov[n - 1].iov_len += len;
		return n;
	}
	memcpy(&iov[n].iov_base, &data, sizeof(data)); /* struct iovec has no const form */
	iov[n].iov_len = len;
	return n + 1;
}

unsigned int eth_frame_iov(const struct eth_frame *f, struct iovec iov[ETH_FRAME_PARTS])
{
	unsigned int n = 0;

	for (const struct pkt *p = f->first; p; p = p->next) {
		n = add_part(iov, n, p->hdr + p->head, pkt_hdr_len(p));
		for (unsigned int i = 0; i < p->nslices; i++)
			n = add_part(iov, n, p->slice[i].data, p->slice[i].len);
	}
	return n;
}

void eth_frame_free(struct eth_frame *f)
{
	struct pkt *p, *next;

	for (p = f->first; p; p = next) {
		next = p->next;
		pkt_free(p);
	}
	f->first = NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "eth/seg.h"

#include <errno.h>
#include <string.h>

#include "util/be.h"
#include "wire/ib_hdr.h"
#include "wire/inet.h"

#define IPV4_MIN 20
#define IPV6_LEN 40
#define TCP_MIN 20
#define UDP_LEN 8
#define IPPROTO_TCP_ 6
#define IPPROTO_UDP_ 17
#define TCP_FIN_PSH 0x09
#define TCP_CWR 0x80

/* The HCA pushes LRH .. DETH before what is here. */
#define HDR_ROOM (PKT_HDR_MAX - IB_LRH_LEN - IB_GRH_LEN - IB_BTH_LEN - IB_DETH_LEN)

static int check_l3(struct eth_seg *s, const struct pkt *p, const uint8_t *ip)
{
	s->ipv6 = ip[0] >> 4 == 6;
	if (s->ipv6)
		return p->csum_start >= IPV6_LEN ? 0 : -EBADMSG;
	if (ip[0] >> 4 != 4 || p->csum_start != (ip[0] & 0x0f) * 4 || p->csum_start < IPV4_MIN)
		return -EBADMSG;
	s->ip_id = be16_at(ip + 4);
	return 0;
}

int eth_seg_start(struct eth_seg *s, struct pkt *super, unsigned int l3, unsigned int ip_mtu)
{
	unsigned int l4 = l3 + super->csum_start, l4_len;
	const uint8_t *h;

	*s = (struct eth_seg){
		.super = super, .l3 = (uint16_t)l3, .l4 = (uint16_t)l4, .first = true
	};
	s->udp = super->gso == PKT_GSO_UDP;
	l4_len = s->udp ? UDP_LEN : TCP_MIN;
	if (l4 + l4_len > HDR_ROOM || !super->gso_size)
		return -EBADMSG;
	h = pkt_pull(super, l4 + l4_len);
	if (!h || check_l3(s, super, h + l3))
		return -EBADMSG;
	if (!s->udp) {
		l4_len = (unsigned int)(h[l4 + 12] >> 4) * 4;
		if (l4_len < TCP_MIN || l4 + l4_len > HDR_ROOM)
			return -EBADMSG;
		h = pkt_pull(super, l4 + l4_len);
		if (!h)
			return -EBADMSG;
		s->seq = be32_at(h + l4 + 4);
	}
	s->hlen = (uint16_t)(l4 + l4_len);
	s->left = super->len - s->hlen;
	if (!s->left)
		return -EBADMSG;

	if (s->hlen - l3 >= ip_mtu)
		return -EMSGSIZE;
	s->mss = super->gso_size;
	if (s->hlen - l3 + s->mss > ip_mtu) {
		if (s->udp)
			return -EMSGSIZE; /* datagram boundaries are the application's */
		s->mss = (uint16_t)(ip_mtu - (s->hlen - l3));
	}
	return 0;
}

/* Append octets [off, off + len) of @src's payload, found after @skip octets, to @dst. */
static void add_payload(struct pkt *dst, const struct pkt *src, unsigned int skip, uint32_t off,
			uint32_t len)
{
	uint32_t in_hdr = pkt_hdr_len(src) - skip;

	if (off < in_hdr) { /* a small super-frame lies in hdr[] alone */
		uint32_t n = in_hdr - off < len ? in_hdr - off : len;

		memcpy(dst->hdr + PKT_HDR_MAX - n, src->hdr + src->head + skip + off, n);
		dst->head = (uint16_t)(PKT_HDR_MAX - n);
		dst->len = n;
		off += n;
		len -= n;
	}
	off -= in_hdr;
	for (unsigned int i = 0; i < src->nslices && len; i++) {
		const struct pkt_slice *sl = &src->slice[i];
		uint32_t n;

		if (off >= sl->len) {
			off -= sl->len;
			continue;
		}
		n = sl->len - off < len ? sl->len - off : len;
		pkt_add_slice(dst, sl->buf, sl->data + off, n);
		off = 0;
		len -= n;
	}
}

/* Sum over everything from @from on; only the last part may have an odd length. */
static uint32_t sum_from(const struct pkt *p, unsigned int from)
{
	uint32_t sum = inet_sum(0, p->hdr + p->head + from, pkt_hdr_len(p) - from);
	bool odd = (pkt_hdr_len(p) - from) & 1;

	for (unsigned int i = 0; i < p->nslices; i++) {
		uint32_t part = inet_sum(0, p->slice[i].data, p->slice[i].len);

		/* Fold to 16 bits; octets at odd places count in the other half. */
		part = (part & 0xffff) + (part >> 16);
		part = (part & 0xffff) + (part >> 16);
		if (odd)
			part = (part >> 8 | part << 8) & 0xffff;
		sum += part;
		odd ^= p->slice[i].len & 1;
	}
	return sum;
}

static void mend_ip(const struct eth_seg *s, uint8_t *ip, uint32_t ip_len)
{
	if (s->ipv6) {
		be16_put(ip + 4, (uint16_t)(ip_len - IPV6_LEN));
		return;
	}
	be16_put(ip + 2, (uint16_t)ip_len);
	be16_put(ip + 4, s->ip_id);
	be16_put(ip + 10, 0);
	be16_put(ip + 10, inet_fold(inet_sum(0, ip, (size_t)(s->l4 - s->l3))));
}

static uint32_t pseudo_sum(const struct eth_seg *s, const uint8_t *ip, uint32_t l4_len)
{
	uint8_t proto = s->udp ? IPPROTO_UDP_ : IPPROTO_TCP_;

	return s->ipv6 ? inet_pseudo6(ip + 8, ip + 24, proto, l4_len)
		       : inet_pseudo4(ip + 12, ip + 16, proto, l4_len);
}

static uint32_t add_sums(uint32_t a, uint32_t b)
{
	uint64_t sum = (uint64_t)a + b;

	return (uint32_t)(sum & 0xffffffff) + (uint32_t)(sum >> 32);
}

static void mend_l4(const struct eth_seg *s, struct pkt *p, uint32_t payload)
{
	uint8_t *ip = pkt_hdr(p) + s->l3, *l4 = pkt_hdr(p) + s->l4;
	unsigned int csum_at = s->udp ? 6 : 16;
	uint32_t l4_len = s->hlen - s->l4 + payload;
	uint16_t csum;

	if (s->udp) {
		be16_put(l4 + 4, (uint16_t)l4_len);
	} else {
		be32_put(l4 + 4, s->seq);
		if (payload < s->left)
			l4[13] &= (uint8_t)~TCP_FIN_PSH;
		if (!s->first)
			l4[13] &= (uint8_t)~TCP_CWR;
	}
	be16_put(l4 + csum_at, 0);
	csum = inet_fold(add_sums(sum_from(p, s->l4), pseudo_sum(s, ip, l4_len)));
	be16_put(l4 + csum_at, s->udp && !csum ? 0xffff : csum);
}

struct pkt *eth_seg_next(struct eth_seg *s)
{
	uint32_t payload = s->left < s->mss ? s->left : s->mss;
	struct pkt *p;

	if (!s->left)
		return NULL;
	p = pkt_alloc(s->super->pool);
	if (!p)
		return NULL;
	add_payload(p, s->super, s->hlen, s->off, payload);
	memcpy(pkt_push(p, s->hlen), pkt_hdr(s->super), s->hlen);
	mend_ip(s, pkt_hdr(p) + s->l3, s->hlen - s->l3 + payload);
	mend_l4(s, p, payload);
	p->flags |= PKT_CSUM_OK;

	s->first = false;
	s->off += payload;
	s->left -= payload;
	s->seq += payload;
	s->ip_id++;
	return p;
}

/* RFC 768: a sum of zero is sent as all ones, since zero says that there is none. */
static uint16_t l4_csum(const struct pkt *p, uint32_t sum)
{
	uint16_t csum = inet_fold(sum);

	return p->csum_offset == 6 && !csum ? 0xffff : csum;
}

static void csum_is_whole(struct pkt *p)
{
	p->flags = (p->flags & ~(uint32_t)PKT_CSUM_PARTIAL) | PKT_CSUM_OK;
}

/* Behind long IPv6 extension headers the field does not reach hdr[]: patched in a copy of the payload. */
static int csum_deep(struct pkt *p, unsigned int l4, unsigned int at)
{
	unsigned int hlen = pkt_hdr_len(p);
	struct pkt_buf *b;
	uint32_t n = p->len - hlen;

	if (at + 2 > p->len || l4 < hlen || n > PKT_BUF_SIZE)
		return -EBADMSG;
	b = pkt_buf_alloc(p->pool);
	if (!b)
		return -ENOMEM;
	pkt_copy_out(p, hlen, b->data, n);
	be16_put(b->data + at - hlen,
		 l4_csum(p, inet_sum(0, b->data + l4 - hlen, n - (l4 - hlen))));
	pkt_trim(p, hlen);
	pkt_add_slice(p, b, b->data, n);
	pkt_buf_put(b);
	csum_is_whole(p);
	return 0;
}

int eth_csum_complete(struct pkt *p, unsigned int l3)
{
	unsigned int l4 = l3 + p->csum_start, at = l4 + p->csum_offset;
	uint8_t *h;

	if (!(p->flags & PKT_CSUM_PARTIAL))
		return 0;
	if (at + 2 > HDR_ROOM)
		return csum_deep(p, l4, at);
	if (pkt_hdr_len(p) < at + 2 && !pkt_pull(p, at + 2))
		return -EBADMSG;
	if (pkt_hdr_len(p) < at + 2) {
		/* pkt_pull() left the octets in a slice: bring them in, they are about to change. */
		uint8_t head[HDR_ROOM];

		pkt_copy_out(p, 0, head, at + 2);
		pkt_trim_head(p, at + 2);
		memcpy(pkt_push(p, at + 2), head, at + 2);
	}
	h = pkt_hdr(p);
	/* The field holds the pseudo-header's sum, so summing over it adds that. */
	be16_put(h + at, l4_csum(p, sum_from(p, l4)));
	csum_is_whole(p);
	return 0;
}

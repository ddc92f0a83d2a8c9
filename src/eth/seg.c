/* SPDX-License-Identifier: BSD-2-Clause */
#include "eth/seg.h"

#include <errno.h>
#include <string.h>

#include "eth/shape.h"
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

/* Octets of pkt.hdr[] that are left for our headers, because the HCA adds LRH to DETH before them. */
#define HDR_ROOM (PKT_HDR_MAX - IB_LRH_LEN - IB_GRH_LEN - IB_BTH_LEN - IB_DETH_LEN)
static_assert(HDR_ROOM + ETH_HEAD_MAX <= PKT_HDR_MAX,
	      "another interface of ours puts its link header before our headers");

static int check_l3(struct eth_seg *s, const struct pkt *p, const uint8_t *ip)
{
	unsigned int l4 = frame_info_const(p)->csum_start;

	s->ipv6 = ip[0] >> 4 == 6;
	if (s->ipv6)
		return l4 >= IPV6_LEN ? 0 : -EBADMSG;
	if (ip[0] >> 4 != 4 || l4 != (ip[0] & 0x0f) * 4u || l4 < IPV4_MIN)
		return -EBADMSG;
	s->ip_id = be16_at(ip + 4);
	return 0;
}

static bool size_allowed(const struct eth_seg *s, uint32_t size)
{
	return s->udp ? s->left <= size * ETH_SEG_UDP_MAX : size >= ETH_SEG_TCP_MIN;
}

int eth_seg_start(struct eth_seg *s, struct pkt *super, unsigned int l3, unsigned int ip_mtu)
{
	unsigned int l4 = l3 + frame_info(super)->csum_start, l4_len;
	const uint8_t *h;

	*s = (struct eth_seg){
		.super = super, .l3 = (uint16_t)l3, .l4 = (uint16_t)l4, .first = true
	};
	s->udp = frame_info(super)->gso == FRAME_GSO_UDP;
	l4_len = s->udp ? UDP_LEN : TCP_MIN;
	if (l4 + l4_len > HDR_ROOM || !frame_info(super)->gso_size)
		return -EBADMSG;
	/* The segments begin with a copy of these octets in hdr[]. */
	h = pkt_pull_hdr(super, l4 + l4_len);
	if (!h || check_l3(s, super, h + l3))
		return -EBADMSG;
	if (!s->udp) {
		l4_len = (unsigned int)(h[l4 + 12] >> 4) * 4;
		if (l4_len < TCP_MIN || l4 + l4_len > HDR_ROOM)
			return -EBADMSG;
		h = pkt_pull_hdr(super, l4 + l4_len);
		if (!h)
			return -EBADMSG;
		s->seq = be32_at(h + l4 + 4);
	}
	s->hlen = (uint16_t)(l4 + l4_len);
	s->left = super->len - s->hlen;
	if (!s->left || !size_allowed(s, frame_info(super)->gso_size))
		return -EBADMSG;

	if (s->hlen - l3 >= ip_mtu)
		return -EMSGSIZE;
	s->mss = frame_info(super)->gso_size;
	if (s->hlen - l3 + s->mss > ip_mtu) {
		if (s->udp)
			return -EMSGSIZE; /* the application chose the size of the datagrams */
		s->mss = (uint16_t)(ip_mtu - (s->hlen - l3));
	}
	return 0;
}

/* Appends octets [off, off + len) of the payload of @src, which begins after @skip octets, to @dst. */
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
	csum = inet_fold(add_sums(inet_sum_pkt(0, p, s->l4), pseudo_sum(s, ip, l4_len)));
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
	frame_info(p)->csum = FRAME_CSUM_OK;

	s->first = false;
	s->off += payload;
	s->left -= payload;
	s->seq += payload;
	s->ip_id++;
	return p;
}

/* RFC 768: a UDP checksum of zero is sent as all ones, since zero stands for no checksum. */
static uint16_t l4_csum(const struct pkt *p, uint32_t sum)
{
	uint16_t csum = inet_fold(sum);

	return frame_info_const(p)->csum_offset == 6 && !csum ? 0xffff : csum;
}

static void csum_is_whole(struct pkt *p)
{
	frame_info(p)->csum = FRAME_CSUM_OK;
}

/*
 * Behind long IPv6 extension headers the checksum field is not within hdr[]. It is set in a copy of the
 * payload, because other packets may share the buffer.
 */
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
	unsigned int l4 = l3 + frame_info(p)->csum_start, at = l4 + frame_info(p)->csum_offset;
	uint8_t *h;

	if (frame_info(p)->csum != FRAME_CSUM_PARTIAL)
		return 0;
	if (at + 2 > HDR_ROOM)
		return csum_deep(p, l4, at);
	h = pkt_pull_hdr(p, at + 2);
	if (!h)
		return -EBADMSG;
	/* The field contains the sum of the pseudo-header, so the sum over the packet includes it. */
	be16_put(h + at, l4_csum(p, inet_sum_pkt(0, p, l4)));
	csum_is_whole(p);
	return 0;
}

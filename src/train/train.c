/* SPDX-License-Identifier: BSD-2-Clause */
#include "train/train.h"

#include <errno.h>

#include "train/priv.h"
#include "wire/inet.h"
#include "wire/ip.h"

#define TCP_MIN 20
#define TCP_ACK 0x10
#define TCP_ECE 0x40

/* --- making a train */

static int check_l3(const struct pkt *p, const uint8_t *ip)
{
	unsigned int l4 = frame_info_const(p)->csum_start;

	if (train_is_ipv6(ip))
		return l4 >= IPV6_LEN ? 0 : -EBADMSG;
	return ip[0] >> 4 == 4 && l4 == (ip[0] & 0x0f) * 4u && l4 >= IPV4_LEN ? 0 : -EBADMSG;
}

/*
 * Moves the IP and L4 headers into hdr[]. Return: length of the L4 header; 0: the headers
 * contradict the GSO type, or are too long
 */
static unsigned int pull_headers(struct pkt *p, unsigned int l3, unsigned int l4)
{
	unsigned int len = train_is_udp(frame_info(p)) ? UDP_LEN : TCP_MIN;
	const uint8_t *h;

	if (l4 + len > TRAIN_HDR_MAX)
		return 0;
	h = pkt_pull_hdr(p, l4 + len);
	if (!h || check_l3(p, h + l3))
		return 0;
	if (train_is_udp(frame_info(p)))
		return len;
	len = (unsigned int)(h[l4 + 12] >> 4) * 4;
	if (len < TCP_MIN || l4 + len > TRAIN_HDR_MAX || !pkt_pull_hdr(p, l4 + len))
		return 0;
	return len;
}

/* Moves payload that lies in hdr[] into a buffer. Only a small super-frame has such payload. */
static int payload_to_slice(struct pkt *p, unsigned int hlen)
{
	uint32_t n = p->len - hlen;
	struct pkt_buf *b;

	if (pkt_hdr_len(p) == hlen)
		return 0;
	b = n <= PKT_BUF_SIZE ? pkt_buf_alloc(p->pool) : NULL;
	if (!b)
		return -ENOMEM;
	pkt_copy_out(p, hlen, b->data, n);
	pkt_replace_payload(p, hlen, b, n);
	return 0;
}

static bool size_allowed(const struct frame_info *f, uint32_t payload)
{
	return train_is_udp(f) ? payload <= (uint32_t)f->gso_size * TRAIN_UDP_MAX
			       : f->gso_size >= TRAIN_TCP_MIN;
}

/*
 * Return: octets of payload in each packet but the last; -EMSGSIZE: the packets would be longer
 * than @ip_mtu
 */
static int seg_size(const struct frame_info *f, unsigned int hlen, unsigned int ip_mtu)
{
	if (hlen >= ip_mtu)
		return -EMSGSIZE;
	if (hlen + f->gso_size <= ip_mtu)
		return f->gso_size;
	/* The application chose the size of the datagrams, so they may not be made shorter. */
	if (train_is_udp(f))
		return -EMSGSIZE;
	return (int)(ip_mtu - hlen);
}

static void become_packet(struct pkt *p);

int train_make(struct pkt *p, unsigned int l3, unsigned int ip_mtu)
{
	struct frame_info *f = frame_info(p);
	unsigned int l4 = l3 + f->csum_start, l4_len, hlen;
	uint32_t payload;
	int seg, err;

	l4_len = f->gso_size ? pull_headers(p, l3, l4) : 0;
	if (!l4_len)
		return -EBADMSG;
	hlen = l4 + l4_len;
	payload = p->len - hlen;
	if (!payload || !size_allowed(f, payload))
		return -EBADMSG;
	seg = seg_size(f, hlen - l3, ip_mtu);
	if (seg < 0)
		return seg;
	err = payload_to_slice(p, hlen);
	if (err)
		return err;
	f->hlen = (uint16_t)(hlen - l3);
	p->seg = f->gso_size = (uint16_t)seg;
	p->count = (uint16_t)((payload + (uint32_t)seg - 1) / (uint32_t)seg);
	if (!pkt_is_train(p))
		become_packet(p);
	return 0;
}

/* --- which packets may be delivered as a train */

static bool plain_ip(const uint8_t *ip, const struct frame_info *f, uint32_t len, uint8_t proto)
{
	if (train_is_ipv6(ip))
		return f->gso != FRAME_GSO_TCP4 && f->csum_start == IPV6_LEN && ip[6] == proto &&
		       be16_at(ip + 4) + (uint32_t)IPV6_LEN == len;
	return f->gso != FRAME_GSO_TCP6 && f->csum_start == IPV4_LEN && ip[9] == proto &&
	       !(be16_at(ip + 6) & IPV4_FRAGMENT) && be16_at(ip + 2) == len;
}

static bool plain_l4(const uint8_t *l4, const struct frame_info *f, uint32_t len)
{
	static const uint8_t flags = TCP_ACK | TCP_PSH | TCP_FIN | TCP_ECE | TCP_CWR;

	if (train_is_udp(f))
		return f->csum_offset == 6 && be16_at(l4 + 4) == len;
	return f->csum_offset == 16 && !(l4[13] & ~flags);
}

bool train_may_travel(const struct pkt *t)
{
	const struct frame_info *f = frame_info_const(t);
	const uint8_t *ip = train_ip_const(t);
	uint32_t len = t->len - pkt_hdr_len(t) + f->hlen;

	return plain_ip(ip, f, len, train_is_udp(f) ? PROTO_UDP : PROTO_TCP) &&
	       plain_l4(ip + f->csum_start, f, len - f->csum_start);
}

/* --- lengths and checksums */

static void mend_ip(uint8_t *ip, unsigned int ip_hlen, uint32_t ip_len)
{
	if (train_is_ipv6(ip)) {
		be16_put(ip + 4, (uint16_t)(ip_len - IPV6_LEN));
		return;
	}
	be16_put(ip + 2, (uint16_t)ip_len);
	be16_put(ip + 10, 0);
	be16_put(ip + 10, inet_fold(inet_sum(0, ip, ip_hlen)));
}

uint32_t train_pseudo_sum(const uint8_t *ip, bool udp, uint32_t l4_len)
{
	uint8_t proto = udp ? PROTO_UDP : PROTO_TCP;

	return train_is_ipv6(ip) ? inet_pseudo6(ip + 8, ip + 24, proto, l4_len)
				 : inet_pseudo4(ip + 12, ip + 16, proto, l4_len);
}

/* Writes the sum of the pseudo-header alone into the checksum field, as the kernel does before an offload. */
static void put_partial_csum(uint8_t *ip, struct frame_info *info, uint32_t l4_len)
{
	bool udp = train_is_udp(info);

	info->csum_offset = udp ? 6 : 16;
	info->csum = FRAME_CSUM_PARTIAL;
	be16_put(ip + info->csum_start + info->csum_offset,
		 (uint16_t)~inet_fold(train_pseudo_sum(ip, udp, l4_len)));
}

static uint32_t add_sums(uint32_t a, uint32_t b)
{
	uint64_t sum = (uint64_t)a + b;

	return (uint32_t)(sum & 0xffffffff) + (uint32_t)(sum >> 32);
}

void train_mend_lengths(struct pkt *p)
{
	const struct frame_info *f = frame_info_const(p);
	uint8_t *ip = train_ip(p);
	uint32_t ip_len = p->len - (uint32_t)(ip - pkt_hdr(p));

	mend_ip(ip, f->csum_start, ip_len);
	if (train_is_udp(f))
		be16_put(ip + f->csum_start + 4, (uint16_t)(ip_len - f->csum_start));
}

void train_mend_link(struct pkt *p)
{
	unsigned int pad = -p->len & 3, bth;
	uint16_t octets = (uint16_t)(p->len + pad + IB_ICRC_LEN);
	uint8_t *lrh = pkt_hdr(p);

	bth = ib_bth_off(lrh);
	be16_put(lrh + IB_LRH_OFF_PKT_LEN, octets / 4);
	if (ib_lrh_has_grh(lrh))
		be16_put(lrh + IB_LRH_LEN + IB_GRH_OFF_PAY_LEN, (uint16_t)(octets - bth));
	ib_bth_set_pad(lrh + bth, pad);
	crc_pkt_pad(p);
}

void train_make_csum(struct pkt *p)
{
	const struct frame_info *f = frame_info_const(p);
	uint8_t *ip = train_ip(p), *field = train_csum_field(p);
	uint32_t before = (uint32_t)(ip - pkt_hdr(p)) + f->csum_start;
	uint32_t pseudo = train_pseudo_sum(ip, train_is_udp(f), p->len - before);

	be16_put(field, 0);
	be16_put(field,
		 inet_fold_udp(add_sums(inet_sum_pkt(0, p, before), pseudo), train_is_udp(f)));
}

static void leave_csum(struct pkt *p)
{
	struct frame_info *f = frame_info(p);

	put_partial_csum(train_ip(p), f, p->len - pkt_hdr_len(p) + f->hlen - f->csum_start);
	*f = (struct frame_info){
		.station = f->station,
		.csum = FRAME_CSUM_PARTIAL,
		.csum_start = f->csum_start,
		.csum_offset = f->csum_offset,
	};
}

static void make_csum(struct pkt *p)
{
	if (train_is_sealed(p))
		train_seal_csum(p);
	else
		train_make_csum(p);
	*frame_info(p) =
		(struct frame_info){ .station = frame_info(p)->station, .csum = FRAME_CSUM_OK };
}

/*
 * Turns a train that has only one packet into an ordinary packet: writes the packet's lengths and
 * checksums.
 */
static void become_packet(struct pkt *p)
{
	train_mend_lengths(p);
	if (frame_info(p)->offload)
		leave_csum(p);
	else
		make_csum(p);
	p->count = 1;
	p->seg = 0;
}

void train_frame_headers(uint8_t *ip, struct frame_info *info, uint32_t ip_len)
{
	uint32_t l4_len = ip_len - info->csum_start;

	mend_ip(ip, info->csum_start, ip_len);
	if (train_is_udp(info))
		be16_put(ip + info->csum_start + 4, (uint16_t)l4_len);
	put_partial_csum(ip, info, l4_len);
}

void train_to_frame(struct pkt *t)
{
	struct frame_info *f = frame_info(t);

	f->gso_size = t->seg;

	train_frame_headers(train_ip(t), f, t->len - pkt_hdr_len(t) + f->hlen);
	t->count = 1;
	t->seg = 0;
}

/* --- splitting a train */

/*
 * Makes a descriptor for the first @k packets, with the headers of @t and without payload. NULL:
 * there is no free descriptor
 */
static struct pkt *first_part(const struct pkt *t, unsigned int k)
{
	struct pkt *f = pkt_alloc(t->pool);

	if (!f)
		return NULL;
	f->flags = t->flags;
	f->hops = t->hops;
	f->vl = t->vl;
	f->count = (uint16_t)k;
	f->seg = t->seg;
	memcpy(f->priv, t->priv, sizeof(f->priv));
	memcpy(pkt_push(f, pkt_hdr_len(t)), t->hdr + t->head, pkt_hdr_len(t));
	if (!train_is_udp(frame_info(f)))
		train_l4(f)[13] &= 0xff ^ (TCP_FIN | TCP_PSH);
	train_share_seals(f, t);
	return f;
}

/* Removes the first @k packets from the headers and from .count. */
static void advance(struct pkt *t, unsigned int k)
{
	struct train_hdrs h = train_hdrs(t);

	train_advance(&h, k, k * t->seg);
	t->count = (uint16_t)(t->count - k);
}

struct pkt *train_split(struct pkt *t, unsigned int k)
{
	struct pkt *f = first_part(t, k);

	if (!f)
		return NULL;
	pkt_move_slices(f, t, k * t->seg);
	advance(t, k);
	t->seals_at = (uint16_t)(t->seals_at + k);
	if (!pkt_is_train(f))
		become_packet(f);
	if (!pkt_is_train(t))
		become_packet(t);
	return f;
}

/*
 * Writes the tail of a packet that was taken off a train: with the CRCs of the seal, or without
 * CRCs if the train has no seals.
 */
static void finish_link(struct pkt *p)
{
	bool sealed = train_is_sealed(p);
	uint32_t flags = p->flags;

	train_mend_link(p);
	if (!sealed)
		return;
	train_seal_tail(p);
	p->flags = flags;
	train_unseal(p);
}

struct pkt *train_split_link(struct pkt *t, unsigned int k)
{
	struct pkt *f = train_split(t, k);

	if (!f)
		return NULL;
	train_advance_psn(train_psn(t), k);
	if (!pkt_is_train(f))
		finish_link(f);
	if (!pkt_is_train(t))
		finish_link(t);
	return f;
}

void train_skip_link(struct pkt *t, unsigned int k)
{
	struct pkt gone = { .head = PKT_HDR_MAX };

	pkt_move_slices(&gone, t, k * t->seg);
	for (unsigned int i = 0; i < gone.nslices; i++)
		pkt_buf_put(gone.slice[i].buf);
	advance(t, k);
	train_advance_psn(train_psn(t), k);
	t->seals_at = (uint16_t)(t->seals_at + k);
	if (pkt_is_train(t))
		return;
	become_packet(t);
	finish_link(t);
}

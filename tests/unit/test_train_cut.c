/* SPDX-License-Identifier: BSD-2-Clause */
#include "train/train.h"

#include <errno.h>
#include <string.h>

#include "check.h"
#include "crc/kern.h"
#include "crc/sum.h"
#include "util/list.h"
#include "util/prng.h"

/*
 * Compare the packets of random super-frames with those of a model in this file. The model makes
 * each packet from a description of its flow, and shares no code with src/train.
 */

#define LEN_MAX 70000
#define PSN_MASK 0xffffffu

/* Description of a super-frame */
struct flow {
	bool v6, udp, grh;
	uint32_t l3, l4; /* octets of the IP and L4 headers */
	uint32_t encap;
	/*
	 * .payload: octets of payload in all packets together. .mss: octets of payload in each
	 * segment, as in the virtio-net header.
	 */
	uint32_t payload, mss;
	uint32_t mtu;
	uint32_t seq, psn;
	uint16_t id;
	uint8_t flags, tos;
	uint8_t filler; /* first octet of the payload */
	uint32_t crcs; /* kind of the train's seals: PKT_CRC, PKT_ICRC or 0 */
	uint8_t vl;
};

/* Returns the sum of 16-bit words (RFC 1071), computed one word at a time. */
static uint16_t sum16(const uint8_t *p, size_t len, uint32_t sum)
{
	for (size_t i = 0; i < len; i++)
		sum += (i & 1) ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

static uint16_t pseudo(const struct flow *f, const uint8_t *ip, uint32_t len)
{
	return sum16(ip + (f->v6 ? 8 : 12), f->v6 ? 32 : 8,
		     (f->udp ? 17 : 6) + (len >> 16) + (len & 0xffff));
}

static uint8_t octet(const struct flow *f, uint32_t at)
{
	return (uint8_t)(f->filler + at * 7 + (at >> 8));
}

/*
 * Write the IP and L4 headers of packet @k, without checksums. Octet @at of the flow's payload is
 * the first of the packet's @n octets of payload. Returns the length of the headers.
 */
static uint32_t model_headers(const struct flow *f, uint8_t *b, uint32_t k, uint32_t at, uint32_t n,
			      uint8_t flags)
{
	uint8_t *l4 = b + f->l3;

	memset(b, 0, f->l3 + f->l4);
	if (f->v6) {
		b[0] = (uint8_t)(0x60 | f->tos >> 4);
		b[1] = (uint8_t)(f->tos << 4);
		put16(b + 4, f->l3 - 40 + f->l4 + n);
		b[6] = f->l3 > 40 ? 60 : f->udp ? 17 : 6; /* 60: destination options */
		b[7] = 63;
		memcpy(b + 8,
		       "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2", 32);
		if (f->l3 > 40)
			memcpy(b + 40, f->udp ? "\x11\0\1\4\0\0\0\0" : "\x06\0\1\4\0\0\0\0", 8);
	} else {
		b[0] = (uint8_t)(0x40 | f->l3 / 4);
		b[1] = f->tos;
		put16(b + 2, f->l3 + f->l4 + n);
		put16(b + 4, f->id + k);
		b[6] = 0x40;
		b[8] = 63;
		b[9] = f->udp ? 17 : 6;
		memcpy(b + 12, "\x0a\x04\x00\x01\x0a\x04\x00\x02", 8);
		memset(b + 20, 1, f->l3 - 20); /* options: no operation */
	}
	put16(l4, 5001);
	put16(l4 + 2, 5002);
	if (f->udp) {
		put16(l4 + 4, 8 + n);
		return f->l3 + f->l4;
	}
	put32(l4 + 4, f->seq + at);
	put32(l4 + 8, 0x01020304);
	l4[12] = (uint8_t)(f->l4 / 4 << 4);
	l4[13] = flags;
	put16(l4 + 14, 512);
	memset(l4 + 20, 1, f->l4 - 20);
	return f->l3 + f->l4;
}

static uint32_t model_size(const struct flow *f)
{
	uint32_t room = f->mtu - f->l3 - f->l4;

	return f->mss < room ? f->mss : room;
}

static uint32_t model_count(const struct flow *f)
{
	return (f->payload + model_size(f) - 1) / model_size(f);
}

static uint32_t link_len(const struct flow *f)
{
	return f->grh ? 68 : 28;
}

static void model_link(const struct flow *f, uint8_t *b, uint32_t k, uint32_t len)
{
	uint8_t *bth = b + (f->grh ? 48 : 8);
	uint32_t pad = (4 - len % 4) % 4, octets = link_len(f) + len + pad + 4;

	memset(b, 0, link_len(f));
	memcpy(b, f->grh ? "\x20\x33\0\x07\0\0\0\x05" : "\x20\x32\0\x07\0\0\0\x05", 8);
	b[0] = (uint8_t)(f->vl << 4);
	put16(b + 4, octets / 4);
	if (f->grh) {
		b[8] = 0x60;
		put16(b + 12, octets - 48);
		b[14] = 0x1b;
		b[15] = 64;
	}
	bth[0] = 0x64;
	bth[1] = (uint8_t)(pad << 4);
	put16(bth + 2, 0x8001);
	put32(bth + 4, 0x48);
	put32(bth + 8, (f->psn + k) & PSN_MASK);
	put32(bth + 12, 0x0b1b);
	put32(bth + 16, 0x77);
}

/* Write packet @k of the flow, from the encapsulation header on. Returns the number of octets. */
static uint32_t model_packet(const struct flow *f, uint8_t *b, uint32_t k)
{
	uint32_t size = model_size(f), at = k * size, n = f->payload - at, len;
	uint8_t *ip = b + f->encap, *l4 = ip + f->l3, flags = f->flags;
	uint16_t csum;

	if (n > size)
		n = size;
	if (k)
		flags &= 0x7f; /* only the first packet has CWR */
	if (at + n < f->payload)
		flags &= 0xf6; /* only the last packet has PSH, FIN */
	memset(b, 0, f->encap);
	if (f->encap)
		put16(b, f->v6 ? 0x86dd : 0x0800);
	len = model_headers(f, ip, k, at, n, flags);
	for (uint32_t i = 0; i < n; i++)
		ip[len + i] = octet(f, at + i);
	len += n;
	if (!f->v6)
		put16(ip + 10, (uint16_t)~sum16(ip, f->l3, 0));
	csum = (uint16_t)~sum16(l4, len - f->l3, pseudo(f, ip, len - f->l3));
	put16(l4 + (f->udp ? 6 : 16), f->udp && !csum ? 0xffff : csum);
	return f->encap + len;
}

/*
 * Write the super-frame as a single IP packet with a partial checksum. Returns the number of
 * octets.
 */
static uint32_t model_super(const struct flow *f, uint8_t *b, bool ip_csum)
{
	uint32_t hlen = model_headers(f, b, 0, 0, f->payload, f->flags);
	uint32_t l4_len = f->l4 + f->payload;

	for (uint32_t i = 0; i < f->payload; i++)
		b[hlen + i] = octet(f, i);
	if (!f->v6 && ip_csum)
		put16(b + 10, (uint16_t)~sum16(b, f->l3, 0));
	put16(b + f->l3 + (f->udp ? 6 : 16), pseudo(f, b, l4_len));
	return hlen + f->payload;
}

static struct flow random_flow(struct prng *r)
{
	struct flow f = {
		.v6 = prng_below(r, 2),
		.udp = prng_below(r, 2),
		.grh = prng_below(r, 2),
		.encap = prng_below(r, 4) ? 4 : 0,
		.seq = (uint32_t)prng_u64(r),
		.psn = prng_below(r, 3) ? (uint32_t)prng_u64(r) & PSN_MASK : PSN_MASK - 1,
		.id = prng_below(r, 3) ? (uint16_t)prng_u64(r) : 0xfffe,
		.flags = (uint8_t)(0x10 | (prng_below(r, 256) & 0xc9)),
		.tos = (uint8_t)prng_below(r, 256),
		.filler = (uint8_t)prng_below(r, 256),
		.mtu = prng_below(r, 3) ? 2044 : 600 + prng_below(r, 3500),
		.vl = 2,
	};

	f.l3 = f.v6 ? 40 : 20;
	if (!prng_below(r, 6))
		f.l3 += 8;
	f.l4 = f.udp ? 8 : 20 + 4 * prng_below(r, 6);
	f.mss = 8 + prng_below(r, f.mtu - f.l3 - f.l4 - 7);
	if (!f.udp && !prng_below(r, 4))
		f.mss += 500; /* the MTU became smaller after the kernel chose the MSS */
	if (!prng_below(r, 4))
		f.mss &= ~1u;
	f.payload = 1 + prng_below(r, prng_below(r, 3) ? 60000 : 3 * f.mss);
	if (f.udp && f.payload > f.mss * 128)
		f.payload = f.mss * 128;
	if (!prng_below(r, 3) && f.payload > f.mss)
		f.payload -= f.payload % model_size(&f);
	return f;
}

/*
 * Make a super-frame as it is read from a TAP: in one slice or in two slices. A small super-frame
 * can begin in hdr[].
 */
static struct pkt *make_super(struct pkt_pool *pool, struct prng *r, const struct flow *f)
{
	static uint8_t b[LEN_MAX];
	uint32_t len = model_super(f, b, true), first = len;
	struct pkt *p = pkt_alloc(pool);
	struct pkt_buf *buf;

	assert_non_null(p);
	if (len < 60 && prng_below(r, 2)) {
		memcpy(pkt_push(p, len), b, len);
		len = 0;
	}
	if (len > 200 && prng_below(r, 2))
		first = 120 + prng_below(r, len - 120);
	for (uint32_t at = 0; at < len; at += first, first = len - first) {
		uint32_t n = first < len - at ? first : len - at;

		buf = pkt_buf_alloc(pool);
		assert_non_null(buf);
		memcpy(buf->data, b + at, n);
		assert_int_equal(pkt_add_slice(p, buf, buf->data, n), 0);
		pkt_buf_put(buf);
	}
	if (f->encap) {
		uint8_t *h = pkt_push(p, f->encap);

		memset(h, 0, f->encap);
		put16(h, f->v6 ? 0x86dd : 0x0800);
	}
	*frame_info(p) = (struct frame_info){
		.gso = f->udp  ? FRAME_GSO_UDP
		       : f->v6 ? FRAME_GSO_TCP6
			       : FRAME_GSO_TCP4,
		.gso_size = (uint16_t)f->mss,
		.csum_start = (uint16_t)f->l3,
		.csum_offset = f->udp ? 6 : 16,
		.csum = FRAME_CSUM_PARTIAL,
	};
	return p;
}

/*
 * Check the tail of @p (pad and CRCs). @b: octets of the packet from the LRH to the end of the IP
 * packet, with room for pad and CRCs behind them
 */
static void check_tail(const struct flow *f, const struct pkt *p, uint8_t *b, uint32_t len)
{
	uint32_t pad = (4 - len % 4) % 4;

	memset(b + len, 0, pad + 6);
	if (f->crcs)
		crc_put(b, len + pad);
	if (f->crcs == PKT_ICRC)
		memset(b + len + pad + 4, 0, 2);
	assert_int_equal(p->tail_len, pad + 6);
	assert_memory_equal(p->tail, b + len, pad + 6);
	assert_int_equal(p->flags & (PKT_CRC | PKT_ICRC), f->crcs);
	assert_null(p->seals);
}

/*
 * Check packet @k of the flow, and free it. @link: the packet also has InfiniBand headers and CRCs
 */
static void check_packet(const struct flow *f, struct pkt *p, uint32_t k, bool link)
{
	static uint8_t want[9000], got[9000];
	uint32_t skip = link ? link_len(f) : 0, len;

	assert_false(pkt_is_train(p));
	assert_int_equal(pkt_count(p), 1);
	len = model_packet(f, want + skip, k);
	if (link)
		model_link(f, want, k, len);
	assert_int_equal(p->len, skip + len);
	assert_int_equal(pkt_copy_out(p, 0, got, sizeof(got)), skip + len);
	assert_memory_equal(got, want, skip + len);
	assert_int_equal(frame_info(p)->gso, FRAME_GSO_NONE);
	assert_int_equal(frame_info(p)->csum, FRAME_CSUM_OK);
	if (link) {
		check_tail(f, p, want, skip + len);
		assert_int_equal(p->hops, 9);
		assert_int_equal(p->vl, f->vl);
	}
	pkt_free(p);
}

/*
 * Check that the train @t represents @n packets of the flow, of which packet @k is the first. Then
 * cut the train at random places.
 */
static void check_parts(struct prng *r, const struct flow *f, struct pkt *t, uint32_t k, uint32_t n,
			bool link)
{
	while (pkt_is_train(t)) {
		uint32_t take = prng_below(r, 2) ? 1 : 1 + prng_below(r, n - 1);
		struct pkt *p;

		assert_int_equal(pkt_count(t), n);
		assert_int_equal(train_check(t), CRC_OK);
		assert_int_equal(train_check_vcrc(t), CRC_OK);
		p = link ? train_split_link(t, take) : train_split(t, take);
		assert_non_null(p);
		assert_int_equal(pkt_count(p), take);
		check_parts(r, f, p, k, take, link);
		k += take;
		n -= take;
	}
	assert_int_equal(n, 1);
	check_packet(f, t, k, link);
}

static void push_link(const struct flow *f, struct pkt *t)
{
	uint8_t *h = pkt_push(t, link_len(f));

	assert_non_null(h);
	model_link(f, h, 0, 0);
	t->hops = 9;
	t->vl = f->vl;
}

/*
 * Check the packets of the train @t in the form in which they leave the process. The first packet
 * of @t is packet @k of the flow.
 */
static void check_out(const struct flow *f, const struct pkt *t, uint32_t k)
{
	static uint8_t want[9000], got[9000];
	unsigned int n = 0;
	const struct pkt *p;
	struct train_walk o;

	train_walk_begin(&o, t);
	while ((p = train_out_next(&o))) {
		uint32_t skip = link_len(f), len = skip + model_packet(f, want + skip, k), pad;

		model_link(f, want, k++, len - skip);
		pad = (4 - len % 4) % 4;
		memset(want + len, 0, pad);
		crc_put(want, len + pad);
		assert_int_equal(p->len, len);
		assert_int_equal(p->tail_len, pad + 6);
		assert_int_equal(pkt_copy_out(p, 0, got, sizeof(got)), len);
		memcpy(got + len, p->tail, p->tail_len);
		assert_memory_equal(got, want, len + pad + 6);
		n++;
	}
	assert_int_equal(n, pkt_count(t));
	assert_null(train_out_next(&o));
}

/*
 * Check all packets in the form in which they leave the process. Then remove some packets from the
 * front of the train, and check the packets that are left. Returns the number of removed packets.
 */
static uint32_t skip_some(struct prng *r, const struct flow *f, struct pkt *t, uint32_t n)
{
	uint32_t k = 0;

	check_out(f, t, 0);
	while (n - k > 1 && prng_below(r, 2)) {
		uint32_t take = 1 + prng_below(r, n - k - 1);

		train_skip_link(t, take);
		k += take;
		assert_int_equal(pkt_count(t), n - k);
		if (pkt_is_train(t))
			check_out(f, t, k);
	}
	return k;
}

/*
 * At random, seal the train with CRCs (unless it is too long), and move it to another VL, as a
 * switch does.
 */
static void seal(struct prng *r, struct flow *f, struct pkt *t)
{
	static const uint32_t crcs[] = { 0, PKT_ICRC, PKT_CRC };

	f->crcs = crcs[prng_below(r, 3)];
	if (f->crcs && train_take_seals(t)) {
		assert_true(pkt_count(t) > PKT_SMALL_SIZE / 8);
		f->crcs = 0;
	}
	if (f->crcs)
		train_seal(t, f->crcs == PKT_CRC);
	else
		crc_pkt_pad(t);
	if (prng_below(r, 2))
		train_set_vl(t, f->vl = 9);
}

static uint32_t model_words(const struct flow *f)
{
	static uint8_t b[9000];
	uint32_t words = 0;

	for (uint32_t k = 0; k < model_count(f); k++)
		words += (link_len(f) + model_packet(f, b, k) + 3 + 4) / 4;
	return words;
}

static void cut_one(struct pkt_pool *pool, struct prng *r)
{
	struct flow f = random_flow(r);
	struct pkt *t = make_super(pool, r, &f);
	bool link = prng_below(r, 2);
	uint32_t n = model_count(&f), skipped = 0;

	assert_int_equal(train_make(t, f.encap, f.mtu), 0);
	assert_int_equal(pkt_count(t), n);
	if (n > 1) {
		assert_int_equal(train_first_len(t), f.encap + f.l3 + f.l4 + model_size(&f));
		assert_int_equal(pkt_octets(t), f.payload + n * (f.encap + f.l3 + f.l4));
		assert_int_equal(train_may_travel(t), f.l3 == (f.v6 ? 40 : 20));
	} else {
		link = false;
	}
	if (link) {
		push_link(&f, t);
		seal(r, &f, t);
		assert_int_equal(train_words(t), model_words(&f));
		skipped = skip_some(r, &f, t, n);
	}
	check_parts(r, &f, t, skipped, n - skipped, link);
	assert_int_equal(pkt_pool_pkts_used(pool), 0);
	assert_int_equal(pkt_pool_bufs_used(pool), 0);
}

/* Check that all @n small buffers of the pool are free again. */
static void check_small(struct pkt_pool *pool, unsigned int n)
{
	unsigned int free = 0;

	while (pkt_buf_alloc_small(pool))
		free++;
	assert_int_equal(free, n);
}

static void test_packets_of_random_trains(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(8192, 8);
	const struct crc_kernel *best = crc_best;
	const struct crc_kernel *const *k;
	struct prng r;
	size_t n;

	prng_seed(&r, 11);
	k = crc_kernels(&n);
	for (size_t i = 0; i < n; i++) {
		crc_best = k[i];
		for (int round = 0; round < 600; round++)
			cut_one(pool, &r);
	}
	crc_best = best;
	check_small(pool, 8192 / 4);
	pkt_pool_destroy(pool);
}

/* Make a sealed train of @n packets of a random flow, with VL 2. */
static struct pkt *sealed(struct pkt_pool *pool, struct prng *r, bool vcrc, unsigned int n)
{
	struct flow f = random_flow(r);
	struct pkt *t;

	f.mss = 100 + prng_below(r, 400);
	f.payload = n * f.mss - prng_below(r, f.mss);
	t = make_super(pool, r, &f);
	assert_int_equal(train_make(t, f.encap, f.mtu), 0);
	assert_int_equal(pkt_count(t), n);
	push_link(&f, t);
	assert_int_equal(train_take_seals(t), 0);
	train_seal(t, vcrc);
	return t;
}

/* Flip a bit of octet @at of the train. The train's payload is in one or two slices. */
static void damage(struct pkt *t, uint32_t at)
{
	if (at < pkt_hdr_len(t)) {
		pkt_hdr(t)[at] ^= 0x10;
		return;
	}
	at -= pkt_hdr_len(t);
	for (unsigned int i = 0; i < t->nslices; i++) {
		const struct pkt_slice *s = &t->slice[i];

		if (at < s->len) {
			s->buf->data[s->data + at - s->buf->data] ^= 0x10;
			return;
		}
		at -= s->len;
	}
	fail_msg("the train has no such octet");
}

/*
 * Choose a number of packets for a train. To verify the CRCs of a train, its packets are added up
 * (crc/sum.h). Depending on the number of packets, this takes no sum, one or more sums, or a sum
 * and checks of single packets.
 */
static unsigned int some_packets(struct prng *r)
{
	static const uint8_t n[] = { 2,
				     3,
				     4,
				     5,
				     5,
				     5,
				     CRC_SUM_MAX + 1,
				     CRC_SUM_MAX + 2,
				     CRC_SUM_MAX + 4,
				     CRC_SUM_MAX + 5,
				     2 * CRC_SUM_MAX + 6 };

	return n[prng_below(r, ARRAY_SIZE(n))];
}

/*
 * Return the offset of an octet of the headers that each packet of the train has: in the PSN, the
 * IP addresses, the port numbers or the TCP sequence number, or in the LRH or the destination QP.
 * The VCRC covers the LRH, but the ICRC covers the LRH only in packets without a GRH.
 */
static uint32_t header_octet(struct prng *r, struct pkt *t, bool vcrc)
{
	const struct frame_info *f = frame_info(t);
	uint32_t bth = 8 + 40 * ib_lrh_has_grh(pkt_hdr(t));
	uint32_t l4 = pkt_hdr_len(t) - f->hlen + f->csum_start;
	uint32_t at[] = { bth + 11, l4 - 1, l4 + 3, f->gso == FRAME_GSO_UDP ? l4 : l4 + 5,
			  vcrc ? 2 : bth + 7 };

	return at[prng_below(r, ARRAY_SIZE(at))];
}

/*
 * Damage to the payload must damage one packet of the train, and damage to the headers must damage
 * all its packets.
 */
static void damage_one(struct pkt_pool *pool, struct prng *r)
{
	bool vcrc = prng_below(r, 2), header = !prng_below(r, 3);
	unsigned int n = some_packets(r);
	struct pkt *t = sealed(pool, r, vcrc, n), *p;
	uint32_t hlen = pkt_hdr_len(t),
		 at = header ? header_octet(r, t, vcrc) : hlen + prng_below(r, t->len - hlen);
	unsigned int at_packet = (at - hlen) / t->seg;

	damage(t, at);
	assert_int_not_equal(train_check(t), CRC_OK);
	assert_int_equal(train_check_vcrc(t), vcrc ? CRC_BAD_VCRC : CRC_OK);
	for (unsigned int k = 0; k < n; k++) {
		bool bad = header || k == at_packet;

		p = k + 1 < n ? train_split_link(t, 1) : t;
		assert_non_null(p);
		assert_int_equal((vcrc ? crc_pkt_check(p) : crc_pkt_check_icrc(p)) != CRC_OK, bad);
		pkt_free(p);
	}
}

static void test_damage_to_a_sealed_train(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(64, 8);
	struct prng r;

	prng_seed(&r, 15);
	for (int i = 0; i < 1000; i++)
		damage_one(pool, &r);
	assert_int_equal(pkt_pool_pkts_used(pool), 0);
	assert_int_equal(pkt_pool_bufs_used(pool), 0);
	check_small(pool, 16);
	pkt_pool_destroy(pool);
}

/*
 * Returns the place of the CRCs of packet @k in the train's buffer of seals. There they follow the
 * TCP or UDP checksum of the packet
 */
static uint8_t *crcs_in_seal(struct pkt *t, unsigned int k)
{
	return t->seals->data + (t->seals_at + k) * (2 + IB_CRCS_LEN) + 2;
}

/*
 * One packet of a train has a wrong ICRC, and a VCRC that is right for this ICRC. Switches must
 * forward the packet, and the end port must drop it.
 */
static void test_a_wrong_icrc_under_a_right_vcrc(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(128, 8);
	struct prng r;

	prng_seed(&r, 17);
	for (int i = 0; i < 200; i++) {
		unsigned int n = some_packets(&r), k = prng_below(&r, n);
		struct pkt *t = sealed(pool, &r, true, n), *all = pkt_clone(t), *p = all;

		assert_non_null(all);
		for (unsigned int j = 0; j < k; j++)
			pkt_free(train_split_link(all, 1));
		if (k + 1 < n)
			assert_non_null(p = train_split_link(all, 1));
		p->tail[p->tail_len - IB_CRCS_LEN + i % IB_ICRC_LEN] ^= 1;
		crc_pkt_mend_vcrc(p);
		memcpy(crcs_in_seal(t, k), p->tail + p->tail_len - IB_CRCS_LEN, IB_CRCS_LEN);
		assert_int_equal(train_check_vcrc(t), CRC_OK);
		assert_int_equal(train_check(t), CRC_BAD_ICRC);
		if (p != all)
			pkt_free(p);
		pkt_free(all);
		pkt_free(t);
	}
	pkt_pool_destroy(pool);
}

/* --- a train is verified by few CRCs */

static const struct crc_kernel *real;
static unsigned int msgs, crc16s, crc32s;

static struct crc_regs count_msg(const struct crc_msg *m)
{
	msgs++;
	return real->msg(m);
}

static uint16_t count_crc16(uint16_t reg, const void *p, size_t len)
{
	crc16s++;
	return real->crc16(reg, p, len);
}

static uint32_t count_crc32(uint32_t reg, const void *p, size_t len)
{
	crc32s++;
	return real->crc32(reg, p, len);
}

/*
 * The CRCs of 40 packets are verified in three steps: one sum for CRC_SUM_MAX (32) packets, one sum
 * for 7 packets, and the last packet alone.
 */
static void check_counts(struct pkt *t, enum crc_verdict (*fn)(const struct pkt *t),
			 unsigned int want16, unsigned int want32)
{
	msgs = crc16s = crc32s = 0;
	assert_int_equal(fn(t), CRC_OK);
	assert_int_equal(msgs, 1);
	assert_int_equal(crc16s, want16);
	assert_int_equal(crc32s, want32);
}

/* Make a sealed train whose payload is in one slice, so that its packets are added up. */
static struct pkt *sealed_in_one_slice(struct pkt_pool *pool, struct prng *r, bool vcrc)
{
	struct pkt *t = sealed(pool, r, vcrc, 40);

	while (t->nslices > 1) {
		pkt_free(t);
		t = sealed(pool, r, vcrc, 40);
	}
	return t;
}

static void test_sums_take_the_place_of_single_crcs(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(64, 8);
	const struct crc_kernel counting = { .name = "counting",
					     .msg = count_msg,
					     .crc16 = count_crc16,
					     .crc32 = count_crc32,
					     .add = crc_best->add };
	struct prng r;
	struct pkt *t, *u;

	if (!crc_best->msg) /* This CPU has no code for both CRCs in one pass. */
		skip();
	prng_seed(&r, 18);
	t = sealed_in_one_slice(pool, &r, true);
	u = sealed_in_one_slice(pool, &r, false);
	real = crc_best;
	crc_best = &counting;
	check_counts(t, train_check, 2, 2);
	check_counts(t, train_check_vcrc, 2, 0);
	check_counts(u, train_check, 0, 2);
	crc_best = real;
	pkt_free(t);
	pkt_free(u);
	pkt_pool_destroy(pool);
}

static void test_no_memory_for_seals(void **state)
{
	struct flow f = { .l3 = 20, .l4 = 20, .payload = 5440, .mss = 10, .mtu = 2044 };
	struct pkt_pool *pool = pkt_pool_create(4, 4);
	struct prng r;
	struct pkt *t, *u;

	prng_seed(&r, 16);
	t = make_super(pool, &r, &f);
	assert_int_equal(train_make(t, 0, f.mtu), 0);
	assert_int_equal(pkt_count(t), 544);
	assert_int_equal(train_take_seals(t), 0);
	f.payload++;
	u = make_super(pool, &r, &f);
	assert_int_equal(train_make(u, 0, f.mtu), 0);
	assert_int_equal(train_take_seals(u), -EMSGSIZE);
	pkt_free(u);
	f.payload = 100;
	u = make_super(pool, &r, &f);
	assert_int_equal(train_make(u, 0, f.mtu), 0);
	assert_int_equal(train_take_seals(u), -ENOMEM); /* t uses the pool's only small buffer */
	pkt_free(t);
	assert_int_equal(train_take_seals(u), 0);
	train_unseal(u);
	check_parts(&r, &f, u, 0, 10, false);
	check_small(pool, 1);
	pkt_pool_destroy(pool);
}

/*
 * Deliver a part of a train as one frame. The frame must be the super-frame from which exactly the
 * packets of this part would be made.
 */
static void frame_one(struct pkt_pool *pool, struct prng *r)
{
	static uint8_t want[LEN_MAX], got[LEN_MAX];
	struct flow f = random_flow(r), part;
	struct pkt *t = make_super(pool, r, &f), *front = NULL;
	uint32_t n = model_count(&f), k = 0;

	assert_int_equal(train_make(t, f.encap, f.mtu), 0);
	part = f;
	if (n > 3 && prng_below(r, 2)) {
		k = 1 + prng_below(r, n - 2);
		front = train_split(t, k);
		assert_non_null(front);
		part.payload -= k * model_size(&f);
		part.filler = octet(&f, k * model_size(&f));
		part.seq += k * model_size(&f);
		part.id = (uint16_t)(part.id + k);
		part.flags &= 0x7f;
	}
	if (pkt_is_train(t)) {
		uint32_t len, at = k * model_size(&f);

		train_to_frame(t);
		len = model_super(&part, want, true);
		for (uint32_t i = 0; i < part.payload; i++)
			want[f.l3 + f.l4 + i] = octet(&f, at + i);
		assert_int_equal(pkt_copy_out(t, f.encap, got, sizeof(got)), len);
		assert_memory_equal(got, want, len);
		assert_int_equal(pkt_count(t), 1);
		assert_int_equal(frame_info(t)->gso, f.udp  ? FRAME_GSO_UDP
						     : f.v6 ? FRAME_GSO_TCP6
							    : FRAME_GSO_TCP4);
		assert_int_equal(frame_info(t)->gso_size, model_size(&f));
		assert_int_equal(frame_info(t)->csum, FRAME_CSUM_PARTIAL);
		assert_int_equal(frame_info(t)->csum_start, f.l3);
		assert_int_equal(frame_info(t)->csum_offset, f.udp ? 6 : 16);
	}
	pkt_free(t);
	pkt_free(front);
	assert_int_equal(pkt_pool_pkts_used(pool), 0);
}

static void test_frames_of_random_trains(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(64, 8);
	struct prng r;

	prng_seed(&r, 12);
	for (int i = 0; i < 1500; i++)
		frame_one(pool, &r);
	pkt_pool_destroy(pool);
}

/*
 * Each entry changes one octet of the IP packet. Unless .ok is set, train_may_travel() must refuse
 * the result. Such a super-frame must be cut where it was made.
 */
static void test_trains_that_must_be_cut_where_they_were_made(void **state)
{
	static const struct {
		bool v6, udp;
		uint16_t at;
		uint8_t value;
		bool ok;
	} c[] = {
		{ false, false, 1, 3, true }, /* ECN: congestion */
		{ false, false, 6, 0x20, false }, /* MF */
		{ false, false, 7, 1, false }, /* fragment offset */
		{ false, false, 9, 17, false }, /* the protocol does not fit gso_type */
		{ false, true, 9, 6, false },
		{ false, false, 3, 1, false }, /* IP length */
		{ true, false, 6, 0, false }, /* an extension header */
		{ true, false, 5, 1, false },
		{ true, true, 6, 44, false }, /* fragment header */
		{ false, true, 25, 1, false }, /* UDP length */
		{ true, true, 45, 1, false },
		{ false, false, 33, 0x10, true },
		{ false, false, 33, 0xd9, true }, /* CWR, ECE, ACK, PSH, FIN */
		{ false, false, 33, 0x12, false }, /* SYN */
		{ false, false, 33, 0x14, false }, /* RST */
		{ false, false, 33, 0x30, false }, /* URG */
	};
	struct pkt_pool *pool = pkt_pool_create(8, 8);
	struct prng r;

	prng_seed(&r, 13);
	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		struct flow f = { .v6 = c[i].v6,
				  .udp = c[i].udp,
				  .l3 = c[i].v6 ? 40 : 20,
				  .l4 = c[i].udp ? 8 : 20,
				  .payload = 5000,
				  .mss = 1000,
				  .mtu = 2044,
				  .flags = 0x10 };
		struct pkt *t = make_super(pool, &r, &f);

		assert_int_equal(train_make(t, 0, f.mtu), 0);
		assert_true(train_may_travel(t));
		pkt_hdr(t)[c[i].at] = c[i].value;
		assert_int_equal(train_may_travel(t), c[i].ok);
		frame_info(t)->csum_offset++;
		assert_false(train_may_travel(t));
		pkt_free(t);
	}
	pkt_pool_destroy(pool);
}

static void test_no_descriptor_for_a_part(void **state)
{
	struct flow f = { .l3 = 20, .l4 = 20, .payload = 3000, .mss = 1000, .mtu = 2044 };
	struct pkt_pool *pool = pkt_pool_create(2, 4);
	struct prng r;
	struct pkt *t, *other;

	prng_seed(&r, 14);
	t = make_super(pool, &r, &f);
	assert_int_equal(train_make(t, 0, f.mtu), 0);
	other = pkt_alloc(pool);
	assert_null(train_split(t, 1));
	assert_int_equal(pkt_count(t), 3);
	pkt_free(other);
	check_parts(&r, &f, t, 0, 3, false);
	assert_int_equal(pkt_pool_pkts_used(pool), 0);
	pkt_pool_destroy(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packets_of_random_trains),
		cmocka_unit_test(test_damage_to_a_sealed_train),
		cmocka_unit_test(test_a_wrong_icrc_under_a_right_vcrc),
		cmocka_unit_test(test_sums_take_the_place_of_single_crcs),
		cmocka_unit_test(test_no_memory_for_seals),
		cmocka_unit_test(test_frames_of_random_trains),
		cmocka_unit_test(test_trains_that_must_be_cut_where_they_were_made),
		cmocka_unit_test(test_no_descriptor_for_a_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

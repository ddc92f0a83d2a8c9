/* SPDX-License-Identifier: BSD-2-Clause */
#include "eth/csum.h"

#include <errno.h>
#include <string.h>

#include "check.h"
#include "eth/gro.h"
#include "train/train.h"
#include "util/be.h"
#include "util/list.h"
#include "util/prng.h"

static const struct eth_head ether = { .len = 14, .type_at = 12 };
static const struct eth_head infiniband = { .len = 44, .type_at = 40 };
static struct eth_head head = { .len = 14, .type_at = 12 }; /* link header of packets to coalesce */
static unsigned int encap = 4; /* octets of encapsulation before the IP header, 4 or 0 */

/* Compute the checksum of RFC 1071 octet by octet, without code of src/wire/inet. */
static uint16_t plain_sum(const uint8_t *p, size_t len, uint32_t sum)
{
	for (size_t i = 0; i < len; i++)
		sum += (i & 1) ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static uint32_t plain_pseudo(const uint8_t *ip, uint8_t proto, uint32_t l4_len)
{
	bool v6 = ip[0] >> 4 == 6;

	return plain_sum(ip + (v6 ? 8 : 12), v6 ? 32 : 8,
			 proto + (l4_len >> 16) + (l4_len & 0xffff));
}

/* Write an IP packet with a TCP or UDP header and @n octets of payload; returns its length. */
static size_t make_ip(uint8_t *b, bool v6, bool udp, uint32_t seq, uint8_t flags, size_t n)
{
	size_t l3 = v6 ? 40 : 20, l4 = udp ? 8 : 32;
	uint8_t *t = b + l3;

	memset(b, 0, l3 + l4);
	if (v6) {
		b[0] = 0x60;
		be16_put(b + 4, (uint16_t)(l4 + n));
		b[6] = udp ? 17 : 6;
		b[7] = 64;
		b[8] = 0xfd;
		b[23] = 1;
		b[24] = 0xfd;
		b[39] = 2;
	} else {
		b[0] = 0x45;
		be16_put(b + 2, (uint16_t)(l3 + l4 + n));
		be16_put(b + 4, 0x1234);
		b[6] = 0x40;
		b[8] = 64;
		b[9] = udp ? 17 : 6;
		memcpy(b + 12, "\x0a\x04\x00\x01\x0a\x04\x00\x02", 8);
		be16_put(b + 10, (uint16_t)~plain_sum(b, 20, 0));
	}
	be16_put(t, 5001);
	be16_put(t + 2, 5002);
	if (udp) {
		be16_put(t + 4, (uint16_t)(8 + n));
	} else {
		be32_put(t + 4, seq);
		t[12] = 0x80;
		t[13] = flags;
		be16_put(t + 14, 512);
		memcpy(t + 20, "\x01\x01\x08\x0a\0\0\0\1\0\0\0\2", 12);
	}
	for (size_t i = 0; i < n; i++)
		t[l4 + i] = (uint8_t)(i * 7 + (i >> 8));
	return l3 + l4 + n;
}

/*
 * Make a super-frame with a partial checksum, as the TAP delivers it. Then put the encapsulation
 * before the IP header, in hdr[].
 */
static struct pkt *make_super(struct pkt_pool *pool, bool v6, bool udp, size_t n, uint16_t mss,
			      uint8_t flags)
{
	static uint8_t raw[70000];
	size_t len = make_ip(raw, v6, udp, 1000, flags, n);
	size_t l3 = v6 ? 40 : 20;
	struct pkt *p;

	be16_put(raw + l3 + (udp ? 6 : 16),
		 plain_sum(NULL, 0, plain_pseudo(raw, udp ? 17 : 6, (uint32_t)(len - l3))));
	p = pkt_from_data(pool, raw, len);
	assert_non_null(p);
	memcpy(pkt_push(p, encap), v6 ? "\x86\xdd\0\0" : "\x08\0\0\0", encap);
	frame_info(p)->gso = udp ? FRAME_GSO_UDP : v6 ? FRAME_GSO_TCP6 : FRAME_GSO_TCP4;
	frame_info(p)->gso_size = mss;
	frame_info(p)->csum_start = (uint16_t)l3;
	frame_info(p)->csum_offset = udp ? 6 : 16;
	frame_info(p)->csum = FRAME_CSUM_PARTIAL;
	return p;
}

/* Take the next packet out of the train *@t. When the last packet has been taken, *@t is NULL. */
static struct pkt *next_packet(struct pkt **t)
{
	struct pkt *p = *t;

	if (p && pkt_is_train(p))
		return train_split(p, 1);
	*t = NULL;
	return p;
}

static void check_sums(const uint8_t *ip, size_t len)
{
	bool v6 = ip[0] >> 4 == 6;
	size_t l3 = v6 ? 40 : 20;
	uint8_t proto = v6 ? ip[6] : ip[9];

	if (!v6)
		assert_int_equal(plain_sum(ip, 20, 0), 0xffff);
	assert_int_equal(
		plain_sum(ip + l3, len - l3, plain_pseudo(ip, proto, (uint32_t)(len - l3))),
		0xffff);
}

static void seg_case(bool v6, bool udp, size_t n, uint16_t mss, unsigned int mtu)
{
	struct pkt_pool *pool = pkt_pool_create(128, 8);
	uint8_t flags = 0x80 | 0x10 | 0x08 | 0x01; /* flags CWR, ACK, PSH, FIN */
	struct pkt *super = make_super(pool, v6, udp, n, mss, flags), *p;
	size_t l3 = v6 ? 40 : 20, l4 = udp ? 8 : 32, done = 0, k = 0;
	uint8_t whole[70000], got[5000];

	pkt_copy_out(super, encap, whole, sizeof(whole));
	assert_int_equal(train_make(super, encap, mtu), 0);
	while ((p = next_packet(&super))) {
		size_t len = pkt_copy_out(p, 0, got, sizeof(got)), pay = len - encap - l3 - l4;
		uint8_t *ip = got + encap;

		assert_true(len - encap <= mtu);
		assert_memory_equal(got, v6 ? "\x86\xdd\0\0" : "\x08\0\0\0", encap);
		assert_memory_equal(ip + l3 + l4, whole + l3 + l4 + done, pay);
		check_sums(ip, len - encap);
		assert_true(frame_info(p)->csum == FRAME_CSUM_OK);
		assert_int_equal(be16_at(ip + (v6 ? 4 : 2)), len - encap - (v6 ? 40 : 0));
		if (!v6)
			assert_int_equal(be16_at(ip + 4), 0x1234 + k);
		if (udp)
			assert_int_equal(be16_at(ip + l3 + 4), 8 + pay);
		else
			assert_int_equal(be32_at(ip + l3 + 4), 1000 + done);
		done += pay;
		if (!udp)
			assert_int_equal(ip[l3 + 13],
					 0x10 | (k == 0 ? 0x80 : 0) | (done == n ? 0x09 : 0));
		k++;
		pkt_free(p);
	}
	assert_int_equal(done, n);
	assert_int_equal(pkt_pool_pkts_used(pool), 0);
	assert_int_equal(pkt_pool_bufs_used(pool), 0);
	pkt_pool_destroy(pool);
}

static void test_seg_tcp_udp_v4_v6(void **state)
{
	static const size_t size[] = { 1, 2, 1000, 1992, 1993, 4001, 30000, 65000 };

	for (size_t i = 0; i < ARRAY_SIZE(size); i++) {
		seg_case(false, false, size[i], 1992, 2044);
		seg_case(true, false, size[i], 1972, 2044);
		seg_case(false, true, size[i], 2016, 2044);
		seg_case(true, true, size[i], 1001, 2044);
	}
}

static void test_seg_shrinks_tcp_when_the_mtu_fell(void **state)
{
	seg_case(false, false, 10000, 1992, 1000);
}

static void test_seg_refuses_what_does_not_fit(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(8, 2);
	struct pkt *p = make_super(pool, false, true, 4000, 2016, 0);

	assert_int_equal(train_make(p, 4, 2043), -EMSGSIZE);
	assert_int_equal(train_make(p, 4, 28), -EMSGSIZE);
	frame_info(p)->csum_start = 24;
	assert_int_equal(train_make(p, 4, 2044), -EBADMSG);
	frame_info(p)->csum_start = 60000;
	assert_int_equal(train_make(p, 4, 2044), -EBADMSG);
	frame_info(p)->csum_start = 20;
	frame_info(p)->gso_size = 0;
	assert_int_equal(train_make(p, 4, 2044), -EBADMSG);
	pkt_free(p);
	pkt_pool_destroy(pool);
}

/*
 * Linux cuts a UDP super-frame into at most 128 datagrams, and a TCP super-frame into segments of
 * at least 8 octets. train_make() must have the same limits.
 */
static void test_seg_makes_no_more_segments_than_linux_does(void **state)
{
	static const struct {
		bool udp;
		size_t n;
		uint16_t size;
		int err;
	} c[] = {
		{ true, 128, 1, 0 },	       { true, 129, 1, -EBADMSG },
		{ true, 65000, 508, 0 },       { true, 65000, 507, -EBADMSG },
		{ false, 65000, 8, 0 },	       { false, 65000, 7, -EBADMSG },
		{ false, 65000, 1, -EBADMSG },
	};
	struct pkt_pool *pool = pkt_pool_create(8, 2);

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		struct pkt *p = make_super(pool, false, c[i].udp, c[i].n, c[i].size, 0x10);

		assert_int_equal(train_make(p, 4, 2044), c[i].err);
		pkt_free(p);
	}
	pkt_pool_destroy(pool);
}

static void test_csum_complete_small_and_large(void **state)
{
	static const size_t size[] = { 0, 1, 3, 40, 500, 1999 };
	struct pkt_pool *pool = pkt_pool_create(8, 2);
	uint8_t got[3000];

	for (size_t i = 0; i < ARRAY_SIZE(size); i++) {
		for (int v6 = 0; v6 < 2; v6++) {
			struct pkt *p = make_super(pool, v6, i & 1, size[i], 0, 0x10);
			size_t len;

			frame_info(p)->gso = FRAME_GSO_NONE;
			assert_int_equal(eth_csum_complete(p, encap), 0);
			assert_false(frame_info(p)->csum == FRAME_CSUM_PARTIAL);
			len = pkt_copy_out(p, 0, got, sizeof(got));
			check_sums(got + encap, len - encap);
			pkt_free(p);
		}
	}
	assert_int_equal(pkt_pool_pkts_used(pool), 0);
	pkt_pool_destroy(pool);
}

/*
 * If the profile has no encapsulation header, a packet can have all its octets in slices and none
 * in hdr[].
 */
static void test_seg_and_csum_without_an_encapsulation(void **state)
{
	encap = 0;
	test_seg_tcp_udp_v4_v6(state);
	test_seg_shrinks_tcp_when_the_mtu_fell(state);
	test_csum_complete_small_and_large(state);
	encap = 4;
}

static void test_csum_complete_refuses_a_place_outside(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(8, 2);
	struct pkt *p = make_super(pool, false, true, 10, 0, 0);

	frame_info(p)->csum_offset = 9999;
	assert_int_equal(eth_csum_complete(p, 4), -EBADMSG);
	frame_info(p)->csum_offset = 60;
	assert_int_equal(eth_csum_complete(p, 4), -EBADMSG);
	pkt_free(p);
	pkt_pool_destroy(pool);
}

struct sink {
	unsigned int frames;
	unsigned int n[256];
	uint32_t len[256];
	uint8_t gso[256];
	uint16_t gso_size[256], csum_start[256];
	uint8_t data[4][70000];
};

static void sink_emit(void *ctx, struct eth_frame *f)
{
	struct sink *k = ctx;
	struct iovec iov[ETH_FRAME_PARTS];
	unsigned int parts = eth_frame_iov(f, iov), i = k->frames++;
	size_t len = 0;

	assert_true(i < 256);
	k->n[i] = f->n;
	k->len[i] = f->len;
	k->gso[i] = frame_info(f->first)->gso;
	k->gso_size[i] = frame_info(f->first)->gso_size;
	k->csum_start[i] = frame_info(f->first)->csum_start;
	for (unsigned int j = 0; j < parts; j++) {
		if (i < 4)
			memcpy(k->data[i] + len, iov[j].iov_base, iov[j].iov_len);
		len += iov[j].iov_len;
	}
	assert_int_equal(len, f->len);
	eth_frame_free(f);
}

static struct sink sink;

/* Give a packet the link header that src/eth gives to received packets. */
static struct pkt *put_head(struct pkt *p, bool v6)
{
	uint8_t *h = pkt_push(p, head.len);

	assert_non_null(h);
	memset(h, 0x5a, head.len);
	be16_put(h + head.type_at, v6 ? 0x86dd : 0x0800);
	return p;
}

static void add(struct eth_gro *g, struct pkt *p)
{
	eth_gro_add(g, p, be16_at(pkt_hdr(p) + head.type_at));
}

static struct pkt *to_frame(struct pkt *p, bool v6)
{
	pkt_trim_head(p, 4);
	return put_head(p, v6);
}

/*
 * Super-frames are cut into segments, and the segments are coalesced again. The result must be one
 * frame with the octets of the super-frame.
 */
static void test_gro_is_the_inverse_of_seg(void **state)
{
	for (int kind = 0; kind < 4; kind++) {
		bool v6 = kind & 1, udp = kind & 2;
		struct pkt_pool *pool = pkt_pool_create(128, 8);
		struct pkt *super = make_super(pool, v6, udp, 60001, 1900, 0x18), *p;
		uint8_t whole[70000];
		struct eth_gro g;
		size_t len = pkt_copy_out(super, encap, whole, sizeof(whole));

		memset(&sink, 0, sizeof(sink));
		eth_gro_init(&g, head.len, true, true, sink_emit, &sink);
		assert_int_equal(train_make(super, 4, 2044), 0);
		while ((p = next_packet(&super)))
			add(&g, to_frame(p, v6));
		eth_gro_flush(&g);
		assert_int_equal(sink.frames, 1);
		assert_int_equal(sink.n[0], 32);
		assert_int_equal(sink.gso_size[0], 1900);
		assert_int_equal(sink.csum_start[0], v6 ? 40 : 20);
		assert_int_equal(sink.gso[0], udp  ? FRAME_GSO_UDP
					      : v6 ? FRAME_GSO_TCP6
						   : FRAME_GSO_TCP4);
		assert_memory_equal(sink.data[0] + head.len, whole, len);
		assert_int_equal(pkt_pool_pkts_used(pool), 0);
		assert_int_equal(pkt_pool_bufs_used(pool), 0);
		pkt_pool_destroy(pool);
	}
}

static struct pkt *tcp(struct pkt_pool *pool, uint32_t seq, uint8_t flags, size_t n)
{
	uint8_t b[2100];
	size_t len = make_ip(b, false, false, seq, flags, n);
	struct pkt *p;

	be16_put(b + 20 + 16,
		 (uint16_t)~plain_sum(b + 20, len - 20, plain_pseudo(b, 6, (uint32_t)len - 20)));
	p = pkt_from_data(pool, b, len);
	return put_head(p, false);
}

static void gro_sequence(const uint32_t *seq, const uint8_t *flags, const size_t *len,
			 unsigned int n)
{
	struct pkt_pool *pool = pkt_pool_create(128, 64);
	struct eth_gro g;

	memset(&sink, 0, sizeof(sink));
	eth_gro_init(&g, head.len, true, true, sink_emit, &sink);
	for (unsigned int i = 0; i < n; i++)
		add(&g, tcp(pool, seq[i], flags[i], len[i]));
	eth_gro_flush(&g);
	assert_int_equal(pkt_pool_pkts_used(pool), 0);
	pkt_pool_destroy(pool);
}

static void test_gro_verifies_foreign_checksums(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(16, 8);
	struct eth_gro g;
	struct pkt *bad;
	uint8_t b[64];

	memset(&sink, 0, sizeof(sink));
	eth_gro_init(&g, head.len, true, true, sink_emit, &sink);
	add(&g, tcp(pool, 0, 0x10, 1000));
	bad = tcp(pool, 1000, 0x10, 20);
	pkt_copy_out(bad, 0, b, sizeof(b));
	bad->hdr[PKT_HDR_MAX - 1] ^= 1;
	add(&g, bad);
	add(&g, tcp(pool, 1020, 0x10, 1000));
	eth_gro_flush(&g);
	/*
	 * the segment with a wrong checksum must be delivered uncoalesced, so that the kernel
	 * counts the error
	 */
	assert_int_equal(sink.frames, 3);
	assert_int_equal(sink.n[1], 1);
	assert_int_equal(sink.len[1], head.len + 52 + 20);
	pkt_pool_destroy(pool);
}

static void test_gro_gap_flags_and_short_packets_close_the_flow(void **state)
{
	/* a gap in the sequence */
	gro_sequence((uint32_t[]){ 0, 100, 300 }, (uint8_t[]){ 0x10, 0x10, 0x10 },
		     (size_t[]){ 100, 100, 100 }, 3);
	assert_int_equal(sink.frames, 2);
	assert_int_equal(sink.n[0], 2);
	/* a segment with PSH ends the frame */
	gro_sequence((uint32_t[]){ 0, 100, 200 }, (uint8_t[]){ 0x10, 0x18, 0x10 },
		     (size_t[]){ 100, 100, 100 }, 3);
	assert_int_equal(sink.frames, 2);
	assert_int_equal(sink.data[0][head.len + 20 + 13], 0x18);
	/* a segment that is shorter than the others ends its frame */
	gro_sequence((uint32_t[]){ 0, 100, 150 }, (uint8_t[]){ 0x10, 0x10, 0x10 },
		     (size_t[]){ 100, 50, 100 }, 3);
	assert_int_equal(sink.frames, 2);
	assert_int_equal(sink.n[0], 2);
	/* a FIN must not be coalesced, and must be delivered after the segments before it */
	gro_sequence((uint32_t[]){ 0, 100, 200 }, (uint8_t[]){ 0x10, 0x10, 0x11 },
		     (size_t[]){ 100, 100, 100 }, 3);
	assert_int_equal(sink.frames, 2);
	assert_int_equal(sink.n[0], 2);
	assert_int_equal(sink.n[1], 1);
	/* a pure acknowledgement is not coalesced */
	gro_sequence((uint32_t[]){ 0, 100, 100 }, (uint8_t[]){ 0x10, 0x10, 0x10 },
		     (size_t[]){ 100, 0, 100 }, 3);
	assert_int_equal(sink.frames, 3);
}

/*
 * Two segments look like one flow, but differ in one octet of the link header: either the
 * destination of one is a group and that of the other is the interface, or their senders differ.
 * The two segments must not be coalesced.
 */
static void test_gro_joins_no_packets_with_different_link_headers(void **state)
{
	for (unsigned int at = 0; at < head.len; at++) {
		struct pkt_pool *pool = pkt_pool_create(16, 8);
		struct pkt *other = tcp(pool, 1000, 0x10, 1000);
		struct eth_gro g;

		memset(&sink, 0, sizeof(sink));
		eth_gro_init(&g, head.len, true, true, sink_emit, &sink);
		add(&g, tcp(pool, 0, 0x10, 1000));
		pkt_hdr(other)[at] ^= 1;
		add(&g, other);
		eth_gro_flush(&g);
		assert_int_equal(sink.frames, 2);
		pkt_pool_destroy(pool);
	}
}

static void test_gro_off_passes_packets_as_they_are(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(16, 8);
	struct eth_gro g;

	memset(&sink, 0, sizeof(sink));
	eth_gro_init(&g, head.len, false, false, sink_emit, &sink);
	add(&g, tcp(pool, 0, 0x10, 1000));
	add(&g, tcp(pool, 1000, 0x10, 1000));
	assert_int_equal(sink.frames, 2);
	pkt_pool_destroy(pool);
}

/* Packets of random octets and lengths must be delivered with the same octets. */
static void test_gro_survives_garbage(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(128, 64);
	struct eth_gro g;
	struct prng r;

	prng_seed(&r, 42);
	for (int round = 0; round < 2000; round++) {
		memset(&sink.frames, 0, sizeof(sink.frames));
		eth_gro_init(&g, head.len, true, true, sink_emit, &sink);
		for (int i = 0; i < 8; i++) {
			struct pkt *p = tcp(pool, prng_below(&r, 3) * 100, 0x10, 100);
			unsigned int bits = prng_below(&r, 4);

			while (bits--)
				p->hdr[p->head + prng_below(&r, pkt_hdr_len(p))] ^=
					(uint8_t)(1u << prng_below(&r, 8));
			if (prng_chance(&r, 200000))
				pkt_trim(p, head.len + prng_below(&r, p->len - head.len));
			add(&g, p);
		}
		eth_gro_flush(&g);
		assert_int_equal(pkt_pool_pkts_used(pool), 0);
	}
	pkt_pool_destroy(pool);
}

/* Repeat the tests with the 44-octet link header of a device of ARP hardware type 32. */
static void test_gro_behind_a_header_of_44_octets(void **state)
{
	head = infiniband;
	test_gro_is_the_inverse_of_seg(state);
	test_gro_verifies_foreign_checksums(state);
	test_gro_gap_flags_and_short_packets_close_the_flow(state);
	test_gro_joins_no_packets_with_different_link_headers(state);
	test_gro_off_passes_packets_as_they_are(state);
	test_gro_survives_garbage(state);
	head = ether;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seg_tcp_udp_v4_v6),
		cmocka_unit_test(test_seg_shrinks_tcp_when_the_mtu_fell),
		cmocka_unit_test(test_seg_refuses_what_does_not_fit),
		cmocka_unit_test(test_seg_makes_no_more_segments_than_linux_does),
		cmocka_unit_test(test_csum_complete_small_and_large),
		cmocka_unit_test(test_seg_and_csum_without_an_encapsulation),
		cmocka_unit_test(test_csum_complete_refuses_a_place_outside),
		cmocka_unit_test(test_gro_is_the_inverse_of_seg),
		cmocka_unit_test(test_gro_verifies_foreign_checksums),
		cmocka_unit_test(test_gro_gap_flags_and_short_packets_close_the_flow),
		cmocka_unit_test(test_gro_joins_no_packets_with_different_link_headers),
		cmocka_unit_test(test_gro_off_passes_packets_as_they_are),
		cmocka_unit_test(test_gro_survives_garbage),
		cmocka_unit_test(test_gro_behind_a_header_of_44_octets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

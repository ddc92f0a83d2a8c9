/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/udp_batch.h"

#include <string.h>

#include "check.h"
#include "netdev/udp_sock.h"

/*
 * Tests, without a socket, which packets are put into one UDP message, which octets the parts
 * (iovecs) of a message contain, and how a received message is cut into datagrams.
 */

#define N PKT_BATCH

static uint8_t octet(unsigned int k, uint32_t i)
{
	return (uint8_t)(k * 37 + i * 11 + (i >> 8));
}

/* Make packet @k of @len octets: headers, payload in @slices slices, and a tail of 6 octets. */
static struct pkt *make(struct pkt_pool *pool, unsigned int k, uint32_t len, unsigned int slices)
{
	struct pkt *p = pkt_alloc(pool);
	struct pkt_buf *b = slices ? pkt_buf_alloc(pool) : NULL;
	uint32_t hlen = slices ? 28 : len - 6, at = 0, body = len - hlen - 6;

	assert_true(p && (b || !slices));
	for (uint8_t *h = pkt_push(p, hlen); at < hlen; at++)
		h[at] = octet(k, at);
	for (uint32_t i = 0; i < body; i++)
		b->data[i] = octet(k, at++);
	if (slices == 2)
		pkt_add_slice(p, b, b->data, body / 3);
	if (slices)
		pkt_add_slice(p, b, b->data + (slices == 2 ? body / 3 : 0),
			      slices == 2 ? body - body / 3 : body);
	for (unsigned int i = 0; i < 6; i++)
		p->tail[i] = octet(k, at++);
	p->tail_len = 6;
	if (b)
		pkt_buf_put(b);
	return p;
}

/*
 * A batch of packets. The packet descriptors are overwritten before the messages are checked,
 * because the caller of udp_batch_add() may reuse the descriptors at once.
 */
struct rig {
	struct pkt_pool *pool;
	struct udp_batch b;
	struct pkt *v[N];
	unsigned int slices;
};

static struct rig r;

static int setup(void **state)
{
	memset(&r, 0, sizeof(r));
	r.pool = pkt_pool_create(N, N);
	r.slices = 1;
	return 0;
}

static int teardown(void **state)
{
	pkt_pool_destroy(r.pool);
	return 0;
}

/* Put the parts of each message together, and check the octets of all messages. */
static void check_octets(const uint32_t *len, unsigned int n)
{
	static uint8_t got[UDP_BATCH_OCTETS];
	unsigned int k = 0;

	for (unsigned int i = 0; i < r.b.nmsgs; i++) {
		const struct udp_msg *m = &r.b.msg[i];
		uint32_t at = 0, off = 0;

		assert_true(m->octets <= UDP_BATCH_OCTETS);
		for (unsigned int j = 0; j < m->nparts; j++) {
			const struct iovec *part = &r.b.part[m->first_part + j];

			assert_true(part->iov_len > 0 && at + part->iov_len <= m->octets);
			memcpy(got + at, part->iov_base, part->iov_len);
			at += (uint32_t)part->iov_len;
		}
		assert_int_equal(at, m->octets);
		for (unsigned int j = 0; j < m->packets; j++, k++) {
			assert_true(k < n);
			assert_int_equal(r.b.len[k], len[k]);
			/* UDP_SEGMENT begins a new datagram every m->seg octets */
			assert_int_equal(off, j * m->seg);
			assert_true(len[k] == m->seg || (len[k] < m->seg && j + 1 == m->packets));
			for (uint32_t o = 0; o < len[k]; o++)
				assert_int_equal(got[off + o], octet(k, o));
			off += len[k];
		}
	}
	assert_int_equal(k, n);
}

/*
 * Check that packets of these lengths are put into @nwant messages, and message i has want[i]
 * packets.
 */
static void expect(const uint32_t *len, unsigned int n, bool gso, const unsigned int *want,
		   unsigned int nwant)
{
	udp_batch_begin(&r.b, gso);
	for (unsigned int i = 0; i < n; i++) {
		struct pkt *p = make(r.pool, i, len[i], len[i] <= 198 ? 0 : r.slices);

		assert_true(udp_batch_add(&r.b, p));
		/* the caller may reuse the descriptor at once */
		memset(p->hdr, 0xff, sizeof(p->hdr));
		memset(p->tail, 0xff, sizeof(p->tail));
		r.v[i] = p;
	}
	assert_int_equal(r.b.npackets, n);
	assert_int_equal(r.b.nmsgs, nwant);
	for (unsigned int i = 0; i < nwant; i++)
		assert_int_equal(r.b.msg[i].packets, want[i]);
	check_octets(len, n);
	pkt_free_batch(r.v, n);
}

#define EXPECT(len, ...)                                                         \
	expect(len, ARRAY_LEN(len), true, (const unsigned int[]){ __VA_ARGS__ }, \
	       ARRAY_LEN(((const unsigned int[]){ __VA_ARGS__ })))
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static void test_equal_lengths_are_one_message(void **state)
{
	static const uint32_t len[] = { 2082, 2082, 2082, 2082 };

	for (r.slices = 1; r.slices <= 2; r.slices++)
		EXPECT(len, 4);
}

static void test_a_shorter_packet_ends_the_message(void **state)
{
	static const uint32_t shorter[] = { 2082, 2082, 500, 500, 500 }, ends[] = { 900, 500, 400 };

	EXPECT(shorter, 3, 2);
	EXPECT(ends, 2, 1);
}

static void test_a_longer_packet_begins_a_message(void **state)
{
	static const uint32_t len[] = { 290, 2082, 2082, 290, 290, 2082 };

	EXPECT(len, 1, 3, 1, 1);
}

static void test_without_gso_each_packet_is_a_message(void **state)
{
	static const uint32_t len[] = { 2082, 2082, 2082 };

	expect(len, 3, false, (const unsigned int[]){ 1, 1, 1 }, 3);
}

static void test_at_most_64_packets(void **state)
{
	uint32_t len[N];

	for (unsigned int i = 0; i < N; i++)
		len[i] = 90;
	EXPECT(len, 64, 64);
}

/*
 * A message has at most 65,507 octets: 31 x 2113 = 65,503 fit, 65,503 + 14 do not, and 59 x 1110 +
 * 17 = 65,507 fit.
 */
static void test_at_most_65507_octets(void **state)
{
	uint32_t len[62];

	for (unsigned int i = 0; i < 62; i++)
		len[i] = 2113;
	EXPECT(len, 31, 31);
	len[31] = 14; /* 65,517 */
	EXPECT(len, 31, 1, 30);
	for (unsigned int i = 0; i < 60; i++)
		len[i] = 1110;
	len[59] = 17; /* exactly 65,507 */
	len[60] = len[61] = 1110;
	EXPECT(len, 60, 2);
	len[59] = 18;
	EXPECT(len, 59, 1, 2);
}

static void test_small_packets_are_one_part(void **state)
{
	static const uint32_t len[] = { 130, 130, 130, 130, 130 };

	EXPECT(len, 5);
	assert_int_equal(r.b.nparts, 1);
}

/*
 * The headers of the first packet are one part of the message. Each packet then adds two parts: its
 * payload, and the octets from the end of this payload to the next payload or to the end of the
 * message.
 */
static void test_packets_of_a_run_have_two_parts(void **state)
{
	static const uint32_t len[] = { 2082, 2082, 2082, 2082 };

	EXPECT(len, 4);
	assert_int_equal(r.b.nparts, 9);
}

static void test_a_full_batch_takes_no_more(void **state)
{
	struct pkt *p;

	udp_batch_begin(&r.b, true);
	for (unsigned int i = 0; i < N; i++) {
		r.v[i] = make(r.pool, i, i & 1 ? 4222 : 198, i & 1 ? 2 : 0);
		assert_true(udp_batch_add(&r.b, r.v[i]));
	}
	p = r.v[0];
	assert_false(udp_batch_add(&r.b, p));
	assert_int_equal(r.b.npackets, N);
	pkt_free_batch(r.v, N);
}

/*
 * Check that a message of @len octets, cut into pieces of @size octets, becomes @n datagrams. Each
 * has @each octets, except the last one, which has @last octets.
 */
static void expect_cut(uint32_t len, int size, unsigned int n, uint32_t each, uint32_t last)
{
	static const uint8_t data[70000];
	const struct udp_dgram msg = { .from = { .family = 4, .port = 7 },
				       .data = data,
				       .len = len };
	struct udp_dgram v[UDP_SOCK_RX_SEGS + 1];

	memset(v, 0xee, sizeof(v));
	assert_int_equal(udp_cut(v, &msg, size), n);
	for (unsigned int i = 0; i < n; i++) {
		assert_ptr_equal(v[i].data, data + i * each);
		assert_int_equal(v[i].len, i + 1 < n ? each : last);
		assert_int_equal(v[i].from.port, 7);
	}
	assert_int_equal(((uint8_t *)&v[n])[0], 0xee);
}

static void test_a_message_is_cut_by_its_size(void **state)
{
	expect_cut(62460, 2082, 30, 2082, 2082);
	expect_cut(62461, 2082, 31, 2082, 1); /* the length is no multiple of 2082 */
	expect_cut(2083, 2082, 2, 2082, 1);
	expect_cut(2082, 2082, 1, 2082, 2082);
	expect_cut(500, 2082, 1, 2082, 500); /* the size is larger than the message */
	expect_cut(65527, 65535, 1, 65535, 65527);
}

static void test_a_message_without_size_is_one_datagram(void **state)
{
	expect_cut(4222, 0, 1, 0, 4222);
	expect_cut(4222, -1, 1, 0, 4222);
	expect_cut(0, 0, 1, 0, 0); /* a keepalive */
	expect_cut(0, 2082, 1, 0, 0);
}

static void test_a_message_of_too_many_datagrams_is_cut_off(void **state)
{
	expect_cut(128, 1, 128, 1, 1);
	expect_cut(65507, 1, UDP_SOCK_RX_SEGS, 1, 1);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_equal_lengths_are_one_message),
		CASE(test_a_shorter_packet_ends_the_message),
		CASE(test_a_longer_packet_begins_a_message),
		CASE(test_without_gso_each_packet_is_a_message),
		CASE(test_at_most_64_packets),
		CASE(test_at_most_65507_octets),
		CASE(test_small_packets_are_one_part),
		CASE(test_packets_of_a_run_have_two_parts),
		CASE(test_a_full_batch_takes_no_more),
		CASE(test_a_message_is_cut_by_its_size),
		CASE(test_a_message_without_size_is_one_datagram),
		CASE(test_a_message_of_too_many_datagrams_is_cut_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

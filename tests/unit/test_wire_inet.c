/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/inet.h"

#include <string.h>

#include "check.h"
#include "util/prng.h"

#define BUF_LEN 4400

/* Compute the checksum of RFC 1071 §4.1 in its simplest form. */
static uint16_t ref_sum(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i++)
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void fill(struct prng *r, uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)prng_u64(r);
}

/* RFC 1071 §3: 00 01 f2 03 f4 f5 f6 f7 has the sum ddf2. */
static void test_inet_sum_example_of_rfc1071(void **state)
{
	const uint8_t p[] = { 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7 };

	assert_int_equal(inet_fold(inet_sum(0, p, sizeof(p))), 0xffff & ~0xddf2);
	assert_int_equal(inet_fold(0), 0xffff);
	assert_int_equal(inet_fold(0xffffffffu), 0);
}

static void test_inet_sum_every_length(void **state)
{
	uint8_t src[BUF_LEN];
	struct prng r;

	prng_seed(&r, 1);
	for (size_t len = 0; len <= 4200; len++) {
		size_t off = prng_below(&r, 64);
		uint16_t want;

		fill(&r, src + off, len);
		want = ref_sum(src + off, len);
		assert_int_equal(inet_fold(inet_sum(0, src + off, len)), want);
	}
}

/* Octets of all ones cause every possible carry. */
static void test_inet_sum_carries(void **state)
{
	static uint8_t p[65536];

	memset(p, 0xff, sizeof(p));
	for (size_t len = 0; len <= sizeof(p); len += 509)
		assert_int_equal(inet_fold(inet_sum(0, p, len)), ref_sum(p, len));
	assert_int_equal(inet_fold(inet_sum(0xffffffffu, p, 64)), 0);
}

static void test_inet_sum_of_parts(void **state)
{
	uint8_t p[BUF_LEN];
	struct prng r;

	prng_seed(&r, 2);
	fill(&r, p, sizeof(p));
	for (int round = 0; round < 2000; round++) {
		size_t len = prng_below(&r, 4201);
		size_t a = prng_below(&r, (uint32_t)len + 1) & ~(size_t)1;
		size_t b = a + (prng_below(&r, (uint32_t)(len - a) + 1) & ~1u);
		uint32_t sum = inet_sum(0, p, a);

		sum = inet_sum(sum, p + a, b - a);
		sum = inet_sum(sum, p + b, len - b);
		assert_int_equal(inet_fold(sum), ref_sum(p, len));
	}
}

/*
 * A packet has headers and two slices, each of any length. If one of these parts has an odd length,
 * the next part begins in the middle of a 16-bit word.
 */
static void test_inet_sum_of_a_packet_with_odd_parts(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(1, 1);
	uint8_t flat[300];
	struct prng r;

	prng_seed(&r, 3);
	for (int round = 0; round < 2000; round++) {
		unsigned int hdr = 1 + prng_below(&r, 90), from = prng_below(&r, hdr);
		unsigned int len[2] = { prng_below(&r, 100), prng_below(&r, 100) };
		struct pkt *p = pkt_alloc(pool);
		struct pkt_buf *b = pkt_buf_alloc(pool);

		fill(&r, flat, sizeof(flat));
		memcpy(pkt_push(p, hdr), flat, hdr);
		memcpy(b->data, flat + hdr, sizeof(flat) - hdr);
		pkt_add_slice(p, b, b->data, len[0]);
		pkt_add_slice(p, b, b->data + len[0], len[1]);
		assert_int_equal(inet_fold(inet_sum_pkt(0, p, from)),
				 ref_sum(flat + from, p->len - from));
		assert_int_equal(inet_fold(inet_sum_pkt(0x1fffe, p, from)),
				 inet_fold(inet_sum_pkt(0, p, from) + 0x1fffe));
		pkt_buf_put(b);
		pkt_free(p);
	}
	pkt_pool_destroy(pool);
}

/*
 * The values of header fields may be added to a sum as plain numbers, without being written as
 * octets first.
 */
static void test_inet_sum_counts_big_endian_values(void **state)
{
	const uint8_t p[] = { 0x12, 0x34, 0x00, 0x05 };

	assert_int_equal(inet_fold(inet_sum(0, p, 2) + 5), inet_fold(inet_sum(0, p, 4)));
	assert_int_equal(inet_fold(inet_sum(0x1234, p + 2, 2)), inet_fold(inet_sum(0, p, 4)));
}

/* The sum over an IPv4 header that contains its checksum (b861 here) is zero. */
static void test_inet_ipv4_header(void **state)
{
	const uint8_t ip[] = { 0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
			       0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7 };

	assert_int_equal(inet_fold(inet_sum(0, ip, sizeof(ip))), 0);
}

static void test_inet_pseudo_headers(void **state)
{
	const uint8_t a4[] = { 10, 4, 0, 1 }, b4[] = { 255, 254, 253, 252 };
	uint8_t flat4[12] = { 0 }, flat6[40] = { 0 }, a6[16], b6[16];
	struct prng r;

	memcpy(flat4, a4, 4);
	memcpy(flat4 + 4, b4, 4);
	flat4[9] = 6;
	flat4[10] = 0x07;
	flat4[11] = 0xe4;
	assert_int_equal(inet_fold(inet_pseudo4(a4, b4, 6, 0x7e4)), ref_sum(flat4, 12));

	prng_seed(&r, 3);
	fill(&r, a6, 16);
	fill(&r, b6, 16);
	memcpy(flat6, a6, 16);
	memcpy(flat6 + 16, b6, 16);
	flat6[33] = 1; /* a jumbo payload length uses all 32 bits */
	flat6[34] = 0x23;
	flat6[35] = 0x45;
	flat6[39] = 58;
	assert_int_equal(inet_fold(inet_pseudo6(a6, b6, 58, 0x12345)), ref_sum(flat6, 40));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inet_sum_example_of_rfc1071),
		cmocka_unit_test(test_inet_sum_every_length),
		cmocka_unit_test(test_inet_sum_carries),
		cmocka_unit_test(test_inet_sum_of_parts),
		cmocka_unit_test(test_inet_sum_of_a_packet_with_odd_parts),
		cmocka_unit_test(test_inet_sum_counts_big_endian_values),
		cmocka_unit_test(test_inet_ipv4_header),
		cmocka_unit_test(test_inet_pseudo_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

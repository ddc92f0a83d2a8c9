/* SPDX-License-Identifier: BSD-2-Clause */
#include "crc/sum.h"

#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "crc/crc.h"
#include "crc/kern.h"
#include "crc_ref.h"
#include "util/prng.h"

/*
 * Packets of equal length, all with a GRH or all without one. Their octets are random, except in
 * header fields that determine how CRCs are computed
 */
struct group {
	struct pkt_pool *pool;
	struct prng r;
	unsigned int n;
	struct pkt *p[CRC_SUM_MAX];
};

struct shape {
	bool grh;
	uint32_t payload; /* number of octets after the DETH */
	uint32_t in_hdr, in_first; /* numbers of payload octets in hdr[] and in slice[0] */
};

static struct pkt *make(struct group *g, const struct shape *s)
{
	struct ib_ud_hdr h = { .has_grh = s->grh,
			       .grh = { .ip_ver = 6, .hop_limit = (uint8_t)prng_u64(&g->r) } };
	struct pkt *p = pkt_alloc(g->pool);
	struct pkt_buf *b = pkt_buf_alloc(g->pool);
	uint32_t in_slices = s->payload - s->in_hdr;
	uint8_t *payload;

	assert_true(p && b);
	h.lrh.vl = (uint8_t)prng_below(&g->r, 16);
	h.lrh.dlid = (uint16_t)prng_u64(&g->r);
	h.bth.opcode = IB_OP_UD_SEND_ONLY;
	h.bth.psn = prng_below(&g->r, 1 << 24);
	fill(&g->r, pkt_push(p, s->in_hdr), s->in_hdr);
	ib_ud_hdr_encode(pkt_push(p, ib_ud_hdr_len(s->grh)), &h, s->payload);
	/* Other octets surround the payload, which begins anywhere in a line of the cache. */
	fill(&g->r, b->data, in_slices + 3 * CRC_LINE);
	payload = b->data + CRC_LINE + prng_below(&g->r, CRC_LINE);
	if (s->in_first)
		assert_int_equal(pkt_add_slice(p, b, payload, s->in_first), 0);
	if (s->in_first < in_slices)
		assert_int_equal(
			pkt_add_slice(p, b, payload + s->in_first, in_slices - s->in_first), 0);
	pkt_buf_put(b);
	crc_pkt_seal(p);
	return p;
}

static struct shape random_shape(struct prng *r)
{
	struct shape s = { .grh = prng_below(r, 2) };
	uint32_t room = PKT_HDR_MAX - ib_ud_hdr_len(s.grh);

	s.payload = prng_below(r, 3) ? prng_below(r, 300) : prng_below(r, CRC_SUM_PAYLOAD + 1);
	s.in_hdr = prng_below(r, (s.payload < room ? s.payload : room) + 1);
	s.in_first = s.payload - s.in_hdr;
	if (prng_below(r, 2))
		s.in_first = prng_below(r, s.in_first + 1);
	return s;
}

static void group_make(struct group *g, struct shape s)
{
	g->n = 1 + prng_below(&g->r, CRC_SUM_MAX);
	for (unsigned int i = 0; i < g->n; i++)
		g->p[i] = make(g, &s);
}

static void group_free(struct group *g)
{
	for (unsigned int i = 0; i < g->n; i++)
		pkt_free(g->p[i]);
}

static bool right(const struct group *g, unsigned int which)
{
	struct crc_sum s;

	memset(&s, 0xa5, sizeof(s));
	assert_true(crc_sum_begin(&s, which, g->p[0]));
	for (unsigned int i = 0; i < g->n; i++)
		crc_sum_add(&s, g->p[i]);
	return crc_sum_right(&s);
}

static bool each_right(const struct group *g, bool icrc, bool vcrc)
{
	for (unsigned int i = 0; i < g->n; i++) {
		uint8_t flat[BUF_LEN];
		size_t n = pkt_copy_out(g->p[i], 0, flat, sizeof(flat));
		struct crc_right r;

		memcpy(flat + n, g->p[i]->tail, g->p[i]->tail_len);
		r = crc_right(flat, n + g->p[i]->tail_len);
		if ((icrc && !r.icrc) || (vcrc && !r.vcrc))
			return false;
	}
	return true;
}

static void agrees(const struct group *g)
{
	assert_int_equal(right(g, CRC_SUM_ICRC), each_right(g, true, false));
	assert_int_equal(right(g, CRC_SUM_VCRC), each_right(g, false, true));
	assert_int_equal(right(g, CRC_SUM_ICRC | CRC_SUM_VCRC), each_right(g, true, true));
}

/* Change the octet with number @at of a packet, counted from the LRH to the end of the VCRC. */
static void damage(struct pkt *p, uint32_t at, uint8_t bits)
{
	uint32_t hdr_len = pkt_hdr_len(p);

	if (at < hdr_len) {
		p->hdr[p->head + at] ^= bits;
		return;
	}
	at -= hdr_len;
	for (unsigned int i = 0; i < p->nslices; at -= p->slice[i++].len)
		if (at < p->slice[i].len) {
			p->slice[i].buf->data[p->slice[i].data - p->slice[i].buf->data + at] ^=
				bits;
			return;
		}
	p->tail[at] ^= bits;
}

static uint32_t octets(const struct pkt *p)
{
	return p->len + p->tail_len;
}

/*
 * Return the offset of a random octet of a packet. It is never 1, because octet 1 contains the LNH,
 * and all packets of a sum must have the same LNH
 */
static uint32_t place(struct group *g)
{
	uint32_t at = prng_below(&g->r, octets(g->p[0]) - 1);

	return at ? at + 1 : 0;
}

static uint8_t some_bits(struct group *g)
{
	return (uint8_t)(1 + prng_below(&g->r, 255));
}

/* Run a test with each kernel (implementation of the CRCs) that this CPU supports. */
static void with_each_kernel(void (*fn)(struct group *g), unsigned int rounds)
{
	const struct crc_kernel *best = crc_best;
	struct group g = { .pool = pkt_pool_create(CRC_SUM_MAX, CRC_SUM_MAX) };
	const struct crc_kernel *const *k;
	size_t n;

	assert_non_null(g.pool);
	prng_seed(&g.r, 1);
	k = crc_kernels(&n);
	for (size_t i = 0; i < n; i++) {
		crc_best = k[i];
		for (unsigned int round = 0; round < rounds; round++) {
			group_make(&g, random_shape(&g.r));
			fn(&g);
			group_free(&g);
		}
	}
	crc_best = best;
	pkt_pool_destroy(g.pool);
}

static void undamaged(struct group *g)
{
	assert_true(right(g, CRC_SUM_ICRC | CRC_SUM_VCRC));
	crc_pkt_set_vl(g->p[g->n / 2], (uint8_t)prng_below(&g->r, 16));
	assert_true(right(g, CRC_SUM_ICRC | CRC_SUM_VCRC));
}

static void test_packets_without_damage(void **state)
{
	with_each_kernel(undamaged, 300);
}

static void one_damaged(struct group *g)
{
	damage(g->p[prng_below(&g->r, g->n)], place(g), some_bits(g));
	agrees(g);
}

static void test_a_damaged_packet_is_found_as_by_its_own_crcs(void **state)
{
	with_each_kernel(one_damaged, 300);
}

static void variant_field(struct group *g)
{
	struct pkt *p = g->p[prng_below(&g->r, g->n)];
	uint32_t bth = ib_bth_off(pkt_hdr(p));
	/*
	 * offsets of the octets of the VL and of the BTH's reserved bits; for packets with a GRH
	 * also of TClass, FlowLabel and HopLmt
	 */
	uint32_t at[] = { 0, bth + 4, IB_LRH_LEN + 1, IB_LRH_LEN + 3, IB_LRH_LEN + 7 };

	damage(p, at[prng_below(&g->r, ib_lrh_has_grh(pkt_hdr(p)) ? 5 : 2)], 0x10);
	assert_true(right(g, CRC_SUM_ICRC));
	assert_false(right(g, CRC_SUM_VCRC));
}

static void test_the_icrcs_leave_out_the_variant_fields(void **state)
{
	with_each_kernel(variant_field, 100);
}

static void icrc_damaged(struct group *g)
{
	struct pkt *p = g->p[prng_below(&g->r, g->n)];

	damage(p, place(g), some_bits(g));
	crc_pkt_mend_vcrc(p);
	agrees(g);
	assert_true(right(g, CRC_SUM_VCRC));
}

static void test_a_wrong_icrc_under_a_right_vcrc(void **state)
{
	with_each_kernel(icrc_damaged, 100);
}

/* Damage the same octets of two packets in the same way. */
static void equal_damage(struct group *g)
{
	uint32_t a = prng_below(&g->r, g->n), b = prng_below(&g->r, g->n);

	if (a == b)
		return;
	for (unsigned int i = prng_below(&g->r, 4); i < 4; i++) {
		uint32_t at = place(g);
		uint8_t bits = some_bits(g);

		damage(g->p[a], at, bits);
		damage(g->p[b], at, bits);
	}
	agrees(g);
}

static void test_equal_damage_in_two_packets_is_found(void **state)
{
	with_each_kernel(equal_damage, 300);
}

/*
 * --- if two packets have equal damage, and one packet is d octets behind the other in the sum, the
 * damage must never cancel out. It could cancel out only if x^(8 * d) + 1 and the generator
 * polynomial had a common factor
 */

static unsigned int degree(uint64_t a)
{
	return 63u - (unsigned int)__builtin_clzll(a);
}

static uint64_t mod(uint64_t a, uint64_t p)
{
	while (a && degree(a) >= degree(p))
		a ^= p << (degree(a) - degree(p));
	return a;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t r = mod(a, b);

		a = b;
		b = r;
	}
	return a;
}

static void no_common_factor(uint64_t generator)
{
	uint64_t x = 1;

	for (unsigned int d = 1; d <= CRC_SUM_MAX * CRC_SUM_STEP; d++) {
		for (unsigned int i = 0; i < 8; i++)
			x = mod(x << 1, generator);
		assert_int_equal(gcd(generator, x ^ 1), 1);
	}
}

static void test_no_equal_damage_in_two_packets_cancels(void **state)
{
	no_common_factor(0x1100b);
	no_common_factor(0x104c11db7);
}

/* --- shapes */

static void test_as_many_packets_of_the_largest_size_as_fit(void **state)
{
	struct group g = { .pool = pkt_pool_create(CRC_SUM_MAX, CRC_SUM_MAX), .n = CRC_SUM_MAX };
	const struct shape largest = { .grh = true, .payload = CRC_SUM_PAYLOAD, .in_first = 1 };

	assert_non_null(g.pool);
	prng_seed(&g.r, 2);
	for (unsigned int i = 0; i < g.n; i++)
		g.p[i] = make(&g, &largest);
	assert_true(right(&g, CRC_SUM_ICRC | CRC_SUM_VCRC));
	damage(g.p[g.n - 1], octets(g.p[0]) - 1, 1);
	assert_false(right(&g, CRC_SUM_VCRC));
	group_free(&g);
	pkt_pool_destroy(g.pool);
}

/*
 * The payloads end at the end of a buffer, and the next page is protected. So the test crashes if
 * octets behind the buffer are read
 */
static void test_payload_at_the_end_of_its_buffer(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(CRC_GROUP, 2);
	struct pkt_buf *b = pkt_buf_alloc(pool), *next = pkt_buf_alloc(pool);
	struct crc_sum s;

	assert_true(b && next && next->data == b->data + PKT_BUF_SIZE);
	assert_int_equal(mprotect(next->data, PKT_BUF_ALIGN, PROT_NONE), 0);
	memset(b->data, 0x5a, PKT_BUF_SIZE);
	for (uint32_t len = CRC_SUM_LINES; len < CRC_SUM_LINES + CRC_LINE; len++) {
		struct ib_ud_hdr h = { .bth.opcode = IB_OP_UD_SEND_ONLY };
		struct pkt *p = pkt_alloc(pool);

		ib_ud_hdr_encode(pkt_push(p, ib_ud_hdr_len(false)), &h, len);
		pkt_add_slice(p, b, b->data + PKT_BUF_SIZE - len, len);
		crc_pkt_seal(p);
		assert_true(crc_sum_begin(&s, CRC_SUM_ICRC | CRC_SUM_VCRC, p));
		for (unsigned int i = 0; i < CRC_GROUP; i++)
			crc_sum_add(&s, p);
		assert_true(crc_sum_right(&s));
		pkt_free(p);
	}
	mprotect(next->data, PKT_BUF_ALIGN, PROT_READ | PROT_WRITE);
	pkt_buf_put(next);
	pkt_buf_put(b);
	pkt_pool_destroy(pool);
}

static void test_shapes_that_are_verified_one_by_one(void **state)
{
	struct group g = { .pool = pkt_pool_create(2, 2) };
	struct pkt *p;
	struct crc_sum s;

	assert_non_null(g.pool);
	prng_seed(&g.r, 1);
	p = make(&g, &(struct shape){ .payload = CRC_SUM_PAYLOAD, .in_first = CRC_SUM_PAYLOAD });
	assert_true(crc_sum_begin(&s, CRC_SUM_ICRC, p));
	p->len++;
	assert_false(crc_sum_begin(&s, CRC_SUM_ICRC, p));
	p->len--;
	p->tail_len = IB_ICRC_LEN + IB_VCRC_LEN - 1;
	assert_false(crc_sum_begin(&s, CRC_SUM_ICRC, p));
	p->tail_len = PKT_TAIL_MAX + 1;
	assert_false(crc_sum_begin(&s, CRC_SUM_ICRC, p));
	p->tail_len = IB_ICRC_LEN + IB_VCRC_LEN;
	pkt_hdr(p)[1] &= (uint8_t)~IB_LNH_LOCAL; /* a raw packet */
	assert_false(crc_sum_begin(&s, CRC_SUM_ICRC, p));
	pkt_hdr(p)[1] |= IB_LNH_GLOBAL; /* LNH announces a GRH, for which the header is too short */
	assert_false(crc_sum_begin(&s, CRC_SUM_ICRC, p));
	p->head = PKT_HDR_MAX - IB_LRH_LEN + 1;
	assert_false(crc_sum_begin(&s, CRC_SUM_ICRC, p));
	p->head = PKT_HDR_MAX - ib_ud_hdr_len(false);
	pkt_free(p);
	pkt_pool_destroy(g.pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packets_without_damage),
		cmocka_unit_test(test_a_damaged_packet_is_found_as_by_its_own_crcs),
		cmocka_unit_test(test_the_icrcs_leave_out_the_variant_fields),
		cmocka_unit_test(test_a_wrong_icrc_under_a_right_vcrc),
		cmocka_unit_test(test_equal_damage_in_two_packets_is_found),
		cmocka_unit_test(test_no_equal_damage_in_two_packets_cancels),
		cmocka_unit_test(test_as_many_packets_of_the_largest_size_as_fit),
		cmocka_unit_test(test_payload_at_the_end_of_its_buffer),
		cmocka_unit_test(test_shapes_that_are_verified_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

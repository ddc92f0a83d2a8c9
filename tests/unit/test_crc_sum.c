/* SPDX-License-Identifier: BSD-2-Clause */
#include "crc/sum.h"

#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "crc/crc.h"
#include "crc/kern.h"
#include "crc_ref.h"
#include "util/prng.h"

#define WORDS 4

/*
 * Packets of equal length, whose headers differ in a few words, and whose payloads follow each
 * other in memory. Their octets are random, except in header fields that determine how CRCs are
 * computed
 */
struct group {
	struct pkt_pool *pool;
	struct prng r;
	unsigned int n;
	struct pkt_buf *b;
	struct pkt *p[CRC_SUM_MAX]; /* packets with all octets, each with a copy of its payload */
	/* What the packets have in common; refers to the payloads in .b */
	struct pkt *common;
	uint32_t word[WORDS]; /* offsets of the words in which the headers differ */
};

struct shape {
	bool grh;
	uint32_t payload; /* number of octets after the DETH */
	uint32_t in_hdr; /* number of payload octets in hdr[] */
};

static uint32_t in_slice(const struct shape *s)
{
	return s->payload - s->in_hdr;
}

static struct pkt *make_common(struct group *g, const struct shape *s)
{
	struct ib_ud_hdr h = { .has_grh = s->grh,
			       .grh = { .ip_ver = 6, .hop_limit = (uint8_t)prng_u64(&g->r) } };
	struct pkt *p = pkt_alloc(g->pool);
	uint32_t from = prng_below(&g->r, CRC_LINE);

	g->b = pkt_buf_alloc(g->pool);
	assert_true(p && g->b);
	h.lrh.vl = (uint8_t)prng_below(&g->r, 16);
	h.lrh.dlid = (uint16_t)prng_u64(&g->r);
	h.bth.opcode = IB_OP_UD_SEND_ONLY;
	fill(&g->r, pkt_push(p, s->in_hdr), s->in_hdr);
	ib_ud_hdr_encode(pkt_push(p, ib_ud_hdr_len(s->grh)), &h, s->payload);
	/* The payloads begin anywhere in a line of the cache, and other octets surround them. */
	fill(&g->r, g->b->data, from + g->n * in_slice(s) + CRC_LINE);
	assert_int_equal(pkt_add_slice(p, g->b, g->b->data + from, in_slice(s)), 0);
	crc_pkt_pad(p);
	return p;
}

/* Choose words from PSN on. */
static void choose_words(struct group *g, const struct shape *s)
{
	uint32_t psn = ib_ud_hdr_len(s->grh) - IB_DETH_LEN - 4;

	for (unsigned int i = 0; i < WORDS; i++)
		g->word[i] = psn + prng_below(&g->r, pkt_hdr_len(g->common) - psn - 3);
}

static const uint8_t *payload_of(const struct group *g, unsigned int k)
{
	return g->common->slice[0].data + k * g->common->slice[0].len;
}

static struct pkt *make(struct group *g, unsigned int k)
{
	struct pkt *p = pkt_alloc(g->pool);
	struct pkt_buf *b = pkt_buf_alloc(g->pool);
	uint32_t len = g->common->slice[0].len;

	assert_true(p && b);
	memcpy(pkt_push(p, pkt_hdr_len(g->common)), pkt_hdr(g->common), pkt_hdr_len(g->common));
	for (unsigned int i = 0; i < WORDS; i++)
		fill(&g->r, pkt_hdr(p) + g->word[i], 4);
	memcpy(b->data, payload_of(g, k), len);
	assert_int_equal(pkt_add_slice(p, b, b->data, len), 0);
	pkt_buf_put(b);
	crc_pkt_seal(p);
	return p;
}

static struct shape random_shape(struct prng *r)
{
	struct shape s = { .grh = prng_below(r, 2) };
	uint32_t room = PKT_HDR_MAX - ib_ud_hdr_len(s.grh);
	uint32_t most = PKT_BUF_SIZE / CRC_SUM_MAX - CRC_LINE;

	s.payload = 1 + (prng_below(r, 3) ? prng_below(r, 300) : prng_below(r, most));
	s.in_hdr = prng_below(r, s.payload < room ? s.payload : room);
	return s;
}

static void group_make(struct group *g, struct shape s, unsigned int n)
{
	g->n = n;
	g->common = make_common(g, &s);
	choose_words(g, &s);
	for (unsigned int k = 0; k < n; k++)
		g->p[k] = make(g, k);
}

static void group_free(struct group *g)
{
	for (unsigned int k = 0; k < g->n; k++)
		pkt_free(g->p[k]);
	pkt_free(g->common);
	pkt_buf_put(g->b);
}

/* Copy the payloads of the packets, which may be damaged, to the place where the sum reads them. */
static void put_payloads(const struct group *g)
{
	for (unsigned int k = 0; k < g->n; k++)
		memcpy(g->b->data + (payload_of(g, k) - g->b->data), g->p[k]->slice[0].data,
		       g->common->slice[0].len);
}

/* Add octets in which packet @p differs from the common ones. */
static void add_difference(uint8_t *to, const uint8_t *octets, const uint8_t *common, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		to[i] ^= octets[i] ^ common[i];
}

static bool right(const struct group *g, unsigned int which)
{
	const struct pkt *c = g->common;
	struct crc_sum s;

	memset(&s, 0xa5, sizeof(s));
	put_payloads(g);
	assert_true(crc_sum_begin(&s, which, c, g->n));
	for (unsigned int k = 0; k < g->n; k++) {
		const struct pkt *p = g->p[k];
		uint8_t *to = s.first + (ptrdiff_t)k * s.next;

		add_difference(to, p->hdr + p->head, c->hdr + c->head, pkt_hdr_len(p));
		add_difference(to + p->len, p->tail, c->tail, p->tail_len - IB_CRCS_LEN);
		crc_sum_crcs(&s, k, to, p->tail + p->tail_len - IB_CRCS_LEN);
	}
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

	if (at < hdr_len)
		p->hdr[p->head + at] ^= bits;
	else if (at < p->len)
		p->slice[0].buf->data[at - hdr_len] ^= bits;
	else
		p->tail[at - p->len] ^= bits;
}

static uint32_t octets(const struct pkt *p)
{
	return p->len + p->tail_len;
}

/*
 * Return the offset of a random octet of a packet. All packets of a sum have the LRH, the GRH and
 * the reserved bits of the BTH in common, so it is in none of these.
 */
static uint32_t place(struct group *g)
{
	uint32_t bth = ib_bth_off(pkt_hdr(g->common));
	uint32_t at = bth + prng_below(&g->r, octets(g->p[0]) - bth);

	return at == bth + 4 ? bth : at;
}

static uint8_t some_bits(struct group *g)
{
	return (uint8_t)(1 + prng_below(&g->r, 255));
}

/* Run a test with each kernel (implementation of the CRCs) that this CPU supports. */
static void with_each_kernel(void (*fn)(struct group *g), unsigned int rounds)
{
	const struct crc_kernel *best = crc_best;
	struct group g = { .pool = pkt_pool_create(CRC_SUM_MAX + 1, CRC_SUM_MAX + 1) };
	const struct crc_kernel *const *k;
	size_t n;

	assert_non_null(g.pool);
	prng_seed(&g.r, 1);
	k = crc_kernels(&n);
	for (size_t i = 0; i < n; i++) {
		crc_best = k[i];
		for (unsigned int round = 0; round < rounds; round++) {
			group_make(&g, random_shape(&g.r), 1 + prng_below(&g.r, CRC_SUM_MAX));
			fn(&g);
			group_free(&g);
		}
	}
	crc_best = best;
	pkt_pool_destroy(g.pool);
}

static void undamaged(struct group *g)
{
	uint8_t vl = (uint8_t)prng_below(&g->r, 16);

	assert_true(right(g, CRC_SUM_ICRC | CRC_SUM_VCRC));
	crc_pkt_set_vl(g->common, vl);
	for (unsigned int k = 0; k < g->n; k++)
		crc_pkt_set_vl(g->p[k], vl);
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
	uint32_t bth = ib_bth_off(pkt_hdr(g->common));
	/*
	 * offsets of the octets of the VL and of the BTH's reserved bits; for packets with a GRH
	 * also of TClass, FlowLabel and HopLmt
	 */
	uint32_t at[] = { 0, bth + 4, IB_LRH_LEN + 1, IB_LRH_LEN + 3, IB_LRH_LEN + 7 };
	uint32_t damaged = at[prng_below(&g->r, ib_lrh_has_grh(pkt_hdr(g->common)) ? 5 : 2)];

	damage(g->common, damaged, 0x10);
	for (unsigned int k = 0; k < g->n; k++)
		damage(g->p[k], damaged, 0x10);
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

	for (unsigned int d = 1; d <= CRC_SUM_MAX * CRC_LINE; d++) {
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

/* Damage the same octet of all packets in the same way. */
static void damage_to_all(struct group *g)
{
	uint32_t at = place(g);
	uint8_t bits = some_bits(g);

	for (unsigned int k = 0; k < g->n; k++)
		damage(g->p[k], at, bits);
	agrees(g);
}

static void test_equal_damage_in_all_packets_is_found(void **state)
{
	with_each_kernel(damage_to_all, 300);
}

/* --- shapes */

static void largest_sum(struct group *g, uint32_t payload, unsigned int n)
{
	group_make(g, (struct shape){ .grh = true, .payload = payload }, n);
	assert_true(right(g, CRC_SUM_ICRC | CRC_SUM_VCRC));
	damage(g->p[n - 1], octets(g->p[0]) - 1, 1);
	assert_false(right(g, CRC_SUM_VCRC));
	group_free(g);
}

/* A buffer has room for 17 of the largest payloads, or for 32 payloads of about half their size. */
static void test_as_many_packets_of_the_largest_size_as_fit(void **state)
{
	struct group g = { .pool = pkt_pool_create(CRC_SUM_MAX + 1, CRC_SUM_MAX + 1) };

	assert_non_null(g.pool);
	prng_seed(&g.r, 2);
	largest_sum(&g, CRC_SUM_PAYLOAD, PKT_BUF_SIZE / CRC_SUM_PAYLOAD - 1);
	largest_sum(&g, CRC_SUM_PAYLOAD / 2, CRC_SUM_MAX);
	pkt_pool_destroy(g.pool);
}

/* Verify the CRCs of packets of @len octets each, whose payloads lie at @payload. */
static void sum_at(struct pkt_pool *pool, struct pkt_buf *b, uint8_t *payload, uint32_t len)
{
	struct ib_ud_hdr h = { .bth.opcode = IB_OP_UD_SEND_ONLY };
	struct pkt *p = pkt_alloc(pool);
	struct crc_sum s;

	ib_ud_hdr_encode(pkt_push(p, ib_ud_hdr_len(false)), &h, len);
	pkt_add_slice(p, b, payload, len);
	crc_pkt_seal(p);
	assert_true(crc_sum_begin(&s, CRC_SUM_ICRC | CRC_SUM_VCRC, p, 3));
	for (unsigned int k = 0; k < 3; k++)
		crc_sum_crcs(&s, k, s.first + (ptrdiff_t)k * s.next,
			     p->tail + p->tail_len - IB_CRCS_LEN);
	assert_true(crc_sum_right(&s));
	pkt_free(p);
}

/*
 * The payloads begin at the start or end at the end of a buffer, and the memory before and after it
 * is protected. So the test crashes if octets outside the buffer are read
 */
static void test_payloads_at_the_ends_of_their_buffer(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(1, 3);
	struct pkt_buf *before = pkt_buf_alloc(pool), *b = pkt_buf_alloc(pool),
		       *next = pkt_buf_alloc(pool);

	assert_true(before && b && next);
	assert_ptr_equal(b->data, before->data + PKT_BUF_SIZE);
	assert_ptr_equal(next->data, b->data + PKT_BUF_SIZE);
	assert_int_equal(mprotect(before->data, PKT_BUF_SIZE, PROT_NONE), 0);
	assert_int_equal(mprotect(next->data, PKT_BUF_SIZE, PROT_NONE), 0);
	memset(b->data, 0x5a, PKT_BUF_SIZE);
	for (uint32_t len = 1; len < 5 * CRC_LINE; len++) {
		sum_at(pool, b, b->data, len);
		sum_at(pool, b, b->data + PKT_BUF_SIZE - 3 * len, len);
	}
	mprotect(before->data, PKT_BUF_SIZE, PROT_READ | PROT_WRITE);
	mprotect(next->data, PKT_BUF_SIZE, PROT_READ | PROT_WRITE);
	pkt_buf_put(before);
	pkt_buf_put(next);
	pkt_buf_put(b);
	pkt_pool_destroy(pool);
}

static void test_shapes_that_are_verified_one_by_one(void **state)
{
	struct group g = { .pool = pkt_pool_create(2, 2) };
	struct crc_sum s;
	struct pkt *p;

	assert_non_null(g.pool);
	prng_seed(&g.r, 1);
	group_make(&g, (struct shape){ .payload = CRC_SUM_PAYLOAD }, 1);
	p = g.common;
	assert_true(crc_sum_begin(&s, CRC_SUM_ICRC, p, 1));
	p->slice[0].len++;
	assert_false(crc_sum_begin(&s, CRC_SUM_ICRC, p, 1));
	p->slice[0].len = 0;
	assert_false(crc_sum_begin(&s, CRC_SUM_ICRC, p, 1));
	p->slice[0].len = CRC_SUM_PAYLOAD;
	p->nslices = 2;
	assert_false(crc_sum_begin(&s, CRC_SUM_ICRC, p, 1));
	p->nslices = 1;
	p->tail_len = IB_CRCS_LEN - 1;
	assert_false(crc_sum_begin(&s, CRC_SUM_ICRC, p, 1));
	p->tail_len = PKT_TAIL_MAX + 1;
	assert_false(crc_sum_begin(&s, CRC_SUM_ICRC, p, 1));
	p->tail_len = IB_CRCS_LEN;
	pkt_hdr(p)[1] &= (uint8_t)~IB_LNH_LOCAL; /* a raw packet */
	assert_false(crc_sum_begin(&s, CRC_SUM_ICRC, p, 1));
	pkt_hdr(p)[1] |= IB_LNH_GLOBAL; /* LNH announces a GRH, for which the header is too short */
	assert_false(crc_sum_begin(&s, CRC_SUM_ICRC, p, 1));
	p->head = PKT_HDR_MAX - IB_LRH_LEN + 1;
	assert_false(crc_sum_begin(&s, CRC_SUM_ICRC, p, 1));
	p->head = PKT_HDR_MAX - ib_ud_hdr_len(false);
	group_free(&g);
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
		cmocka_unit_test(test_equal_damage_in_all_packets_is_found),
		cmocka_unit_test(test_no_equal_damage_in_two_packets_cancels),
		cmocka_unit_test(test_as_many_packets_of_the_largest_size_as_fit),
		cmocka_unit_test(test_payloads_at_the_ends_of_their_buffer),
		cmocka_unit_test(test_shapes_that_are_verified_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

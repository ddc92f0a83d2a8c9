/* SPDX-License-Identifier: BSD-2-Clause */
#include "crc/crc.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "crc/kern.h"
#include "crc_ref.h"
#include "util/list.h"
#include "util/prng.h"
#include "wire/ib_hdr.h"

/*
 * The sample packet of IBTA volume 1, 7.8.3, which is an RC packet. The VCRC at its end was
 * computed by the bitwise function of crc_ref.h.
 */
static const uint8_t sample[] = {
	0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2, 0x0a, 0x20, 0x24, 0x87, 0x00, 0x87, 0xb1,
	0xb3, 0x00, 0x0d, 0xec, 0x2a, 0x01, 0x71, 0x0a, 0x1c, 0x01, 0x5d, 0x40, 0x02, 0x38, 0xf2,
	0x7a, 0x05, 0x00, 0x00, 0x00, 0x0e, 0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c, 0xfb, 0xa4, 0x72,
	0x8b, 0xc0, 0x69, 0x0e, 0xd4, 0x00, 0x00, 0x96, 0x25, 0xb7, 0x5a, 0x45, 0xfa,
};

static void test_crc_sample_packet_of_the_specification(void **state)
{
	assert_int_equal(crc_icrc(sample, 52), 0x5ab72596);
	assert_int_equal(crc_vcrc(sample, 56), 0xfa45);
	assert_int_equal(ref_vcrc(sample, 56), 0xfa45);
}

static void test_crc_parts_at_random_splits(void **state)
{
	static uint8_t buf[BUF_LEN];
	struct prng r;

	prng_seed(&r, 3);
	fill(&r, buf, sizeof(buf));
	for (int round = 0; round < 2000; round++) {
		size_t len = prng_below(&r, 4201), a = prng_below(&r, (uint32_t)len + 1);
		size_t b = a + prng_below(&r, (uint32_t)(len - a) + 1);
		uint16_t v = crc16_update(CRC16_INIT, buf, a);
		uint32_t c = crc32_update(CRC32_INIT, buf, a);

		v = crc16_update(crc16_update(v, buf + a, b - a), buf + b, len - b);
		c = crc32_update(crc32_update(c, buf + a, b - a), buf + b, len - b);
		assert_int_equal(v, ref_crc16(0xffff, buf, len));
		assert_int_equal(c, ref_crc32(0xffffffff, buf, len));
	}
}

static void test_icrc_random_packets(void **state)
{
	static uint8_t buf[BUF_LEN];
	struct prng r;

	prng_seed(&r, 4);
	for (int round = 0; round < 500; round++) {
		bool grh = prng_below(&r, 2);
		size_t len = ib_ud_hdr_len(grh) + prng_below(&r, 4100);

		fill(&r, buf, len);
		buf[1] = (uint8_t)((buf[1] & ~3) | (grh ? 3 : 2));
		assert_int_equal(crc_icrc(buf, len), ref_icrc(buf, len));
		assert_int_equal(crc_icrc_hdr(buf, ib_ud_hdr_len(grh)),
				 (uint32_t)~ref_icrc(buf, ib_ud_hdr_len(grh)));
	}
}

/*
 * Flip each bit of the headers. The ICRC must stay the same if the bit is in a variant field, and
 * must change otherwise.
 */
static void test_icrc_covers_all_but_the_variant_fields(void **state)
{
	for (int grh = 0; grh < 2; grh++) {
		uint8_t pkt[100] = { 0 }, ones[100] = { 0 };
		size_t hlen = ib_ud_hdr_len(grh);
		uint32_t icrc;

		pkt[1] = ones[1] = grh ? 3 : 2;
		icrc = crc_icrc(pkt, sizeof(pkt));
		ref_mask(ones);
		/* LNH is not flipped, because it determines which headers follow */
		ones[1] &= grh ? 0xfc : 0xff;
		for (size_t bit = 0; bit < 8 * hlen; bit++) {
			uint8_t m = (uint8_t)(1u << (bit % 8));
			bool variant = ones[bit / 8] & m && !(pkt[bit / 8] & m);

			if (bit / 8 == 1 && (m & 3))
				continue;
			pkt[bit / 8] ^= m;
			if ((crc_icrc(pkt, sizeof(pkt)) == icrc) != variant)
				fail_msg("%s GRH: octet %zu bit %zu", grh ? "with" : "no", bit / 8,
					 bit % 8);
			pkt[bit / 8] ^= m;
		}
	}
}

static void test_icrc_of_a_truncated_packet_reads_nothing_beyond(void **state)
{
	for (int lnh = 0; lnh < 4; lnh++)
		for (size_t len = 2; len <= 100; len++) {
			/*
			 * each packet is a heap block of its own length, so that the sanitizer
			 * notices reads beyond its end
			 */
			uint8_t *p = calloc(1, len);

			assert_non_null(p);
			p[1] = (uint8_t)lnh;
			if (len >= 68)
				assert_int_equal(crc_icrc(p, len), ref_icrc(p, len));
			else
				crc_icrc(p, len);
			free(p);
		}
}

/*
 * Shape of a packet. The octets of the packet are random, but the header fields that determine how
 * CRCs are computed are valid.
 */
struct shape {
	bool grh;
	uint32_t payload; /* octets after the DETH */
	uint32_t in_hdr; /* octets of the payload that are in hdr[] */
	uint32_t in_first; /* octets of the payload that are in slice[0] */
	bool all_in_slices; /* hdr[] is empty */
};

static struct pkt *make(struct pkt_pool *pool, struct prng *r, const struct shape *s)
{
	uint32_t hlen = ib_ud_hdr_len(s->grh), left = s->payload - s->in_hdr;
	struct ib_ud_hdr h = { .has_grh = s->grh, .grh = { .ip_ver = 6 } };
	struct pkt *p = pkt_alloc(pool);
	uint8_t data[BUF_LEN];

	assert_non_null(p);
	fill(r, data, hlen + s->payload);
	h.lrh.vl = (uint8_t)prng_below(r, 16);
	h.lrh.dlid = (uint16_t)prng_u64(r);
	h.bth.opcode = IB_OP_UD_SEND_ONLY;
	h.bth.dest_qp = prng_below(r, 1 << 24);
	h.deth.qkey = (uint32_t)prng_u64(r);
	ib_ud_hdr_encode(data, &h, s->payload);
	p->vl = h.lrh.vl;
	if (!s->all_in_slices)
		memcpy(pkt_push(p, hlen + s->in_hdr), data, hlen + s->in_hdr);
	else
		left = hlen + s->payload;
	if (left) {
		struct pkt_buf *b = pkt_buf_alloc(pool);
		uint32_t first = s->in_first < left ? s->in_first : left;

		assert_non_null(b);
		memcpy(b->data, data + hlen + s->payload - left, left);
		assert_int_equal(pkt_add_slice(p, b, b->data, first), 0);
		if (first < left)
			assert_int_equal(pkt_add_slice(p, b, b->data + first, left - first), 0);
		pkt_buf_put(b);
	}
	assert_int_equal(p->len, hlen + s->payload);
	return p;
}

static struct shape random_shape(struct prng *r)
{
	struct shape s = { .grh = prng_below(r, 2) };
	uint32_t room = PKT_HDR_MAX - ib_ud_hdr_len(s.grh);

	s.payload = prng_below(r, 3) ? prng_below(r, 300) : prng_below(r, 4097);
	s.in_hdr = prng_below(r, (s.payload < room ? s.payload : room) + 1);
	s.in_first = prng_below(r, s.payload + 1);
	return s;
}

static size_t flat(const struct pkt *p, uint8_t *out)
{
	size_t n = pkt_copy_out(p, 0, out, BUF_LEN);

	memcpy(out + n, p->tail, p->tail_len);
	return n + p->tail_len;
}

static void assert_crcs(const struct pkt *p)
{
	uint8_t out[BUF_LEN];
	size_t n = flat(p, out);
	uint32_t icrc = ref_icrc(out, n - 6);
	uint16_t vcrc = ref_vcrc(out, n - 2);

	for (int i = 0; i < 4; i++)
		assert_int_equal(out[n - 6 + i], (icrc >> 8 * i) & 0xff);
	assert_int_equal(out[n - 2], vcrc & 0xff);
	assert_int_equal(out[n - 1], vcrc >> 8);
}

static void test_pkt_seal_random_shapes(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(4, 4);
	struct prng r;

	prng_seed(&r, 5);
	for (int round = 0; round < 3000; round++) {
		struct shape s = random_shape(&r);
		struct pkt *p = make(pool, &r, &s);
		uint32_t pad = -s.payload & 3;

		memset(p->tail, 0xa5, sizeof(p->tail));
		crc_pkt_seal(p);
		assert_true(p->flags & PKT_CRC);
		assert_int_equal(p->tail_len, pad + 6);
		for (uint32_t i = 0; i < pad; i++)
			assert_int_equal(p->tail[i], 0);
		assert_crcs(p);
		assert_int_equal(crc_pkt_check(p), CRC_OK);
		pkt_free(p);
	}
	assert_int_equal(pkt_pool_bufs_used(pool), 0);
	pkt_pool_destroy(pool);
}

static void test_pkt_seal_sample_packet(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(1, 0);
	struct pkt *p = pkt_from_data(pool, sample, 50); /* two pad octets follow */

	assert_non_null(p);
	crc_pkt_seal(p);
	assert_int_equal(p->tail_len, 8);
	assert_memory_equal(p->tail, sample + 50, 8);
	assert_int_equal(crc_pkt_check(p), CRC_OK);
	pkt_free(p);
	pkt_pool_destroy(pool);
}

static void test_pkt_pad_has_no_crcs(void **state)
{
	static const uint8_t zero[PKT_TAIL_MAX];
	struct pkt_pool *pool = pkt_pool_create(1, 1);
	struct prng r;

	prng_seed(&r, 6);
	for (uint32_t len = 0; len < 8; len++) {
		struct shape s = { .grh = len & 1, .payload = len, .in_hdr = len };
		struct pkt *p = make(pool, &r, &s);

		memset(p->tail, 0xa5, sizeof(p->tail));
		p->flags |= PKT_CRC;
		crc_pkt_pad(p);
		assert_int_equal(p->tail_len, (-len & 3) + 6);
		assert_memory_equal(p->tail, zero, p->tail_len);
		assert_false(p->flags & PKT_CRC);
		assert_int_equal(crc_pkt_check(p), CRC_OK);
		pkt_free(p);
	}
	pkt_pool_destroy(pool);
}

/* crc_pkt_check() must find a change of any octet, in packets of several shapes. */
static void test_pkt_check_finds_every_changed_octet(void **state)
{
	const struct shape shapes[] = {
		{ .grh = false, .payload = 45, .in_hdr = 5, .in_first = 20 },
		{ .grh = true, .payload = 40, .in_hdr = 0, .in_first = 40 },
		{ .grh = true, .payload = 70, .in_hdr = 70 },
	};
	struct pkt_pool *pool = pkt_pool_create(1, 1);
	struct prng r;

	prng_seed(&r, 7);
	for (size_t n = 0; n < ARRAY_SIZE(shapes); n++) {
		struct pkt *p = make(pool, &r, &shapes[n]);

		crc_pkt_seal(p);
		for (uint32_t i = 0; i < p->len + p->tail_len; i++) {
			uint8_t m = (uint8_t)(1 + prng_below(&r, 255)), *o;
			uint32_t hlen = pkt_hdr_len(p);

			if (i == 1)
				m &= 0xfc; /* do not change LNH; the next test changes it */
			if (!m)
				m = 0x10;
			if (i < hlen)
				o = pkt_hdr(p) + i;
			else if (i < p->len)
				o = p->slice[0].buf->data + (i - hlen);
			else
				o = p->tail + (i - p->len);
			*o ^= m;
			assert_int_equal(crc_pkt_check(p), CRC_BAD_VCRC);
			*o ^= m;
		}
		assert_int_equal(crc_pkt_check(p), CRC_OK);
		pkt_free(p);
	}
	pkt_pool_destroy(pool);
}

/*
 * A switch has damaged a packet and then computed its VCRC again. The ICRC must still show the
 * damage.
 */
static void test_pkt_check_bad_icrc_under_a_right_vcrc(void **state)
{
	const struct shape s = { .payload = 100, .in_hdr = 20, .in_first = 50 };
	struct pkt_pool *pool = pkt_pool_create(1, 1);
	uint8_t out[BUF_LEN];
	struct prng r;
	struct pkt *p;
	uint16_t vcrc;
	size_t n;

	prng_seed(&r, 8);
	p = make(pool, &r, &s);
	crc_pkt_seal(p);
	p->slice[0].buf->data[60] ^= 1;
	n = flat(p, out);
	vcrc = ref_vcrc(out, n - 2);
	p->tail[p->tail_len - 2] = (uint8_t)vcrc;
	p->tail[p->tail_len - 1] = (uint8_t)(vcrc >> 8);
	assert_int_equal(crc_pkt_check(p), CRC_BAD_ICRC);
	pkt_free(p);
	pkt_pool_destroy(pool);
}

/*
 * crc_right() checks packets whose octets are in one array. Its result for the ICRC must not depend
 * on whether the VCRC is right, and its result for the VCRC must not depend on the ICRC.
 */
static void test_crc_right_judges_each(void **state)
{
	static uint8_t buf[BUF_LEN];
	struct crc_right right;
	struct prng r;

	prng_seed(&r, 21);
	for (int round = 0; round < 500; round++) {
		bool grh = prng_below(&r, 2), raw = !prng_below(&r, 8);
		size_t len = ib_ud_hdr_len(grh) + prng_below(&r, 4100), damaged;

		fill(&r, buf, len);
		buf[1] = (uint8_t)((buf[1] & ~3) | (raw ? 1 : grh ? 3 : 2));
		crc_put(buf, len);
		right = crc_right(buf, len + 6);
		assert_true(right.vcrc);
		assert_int_equal(right.icrc, !raw);
		buf[len + 4 + prng_below(&r, 2)] ^= 0x20; /* the VCRC */
		right = crc_right(buf, len + 6);
		assert_false(right.vcrc);
		assert_int_equal(right.icrc, !raw);
		damaged = grh ? 12 + prng_below(&r, 2) : 8 + prng_below(&r, 4);
		buf[damaged] ^= 1; /* GRH's PayLen or BTH; the ICRC covers this octet */
		assert_false(crc_right(buf, len + 6).icrc);
		buf[damaged] ^= 1;
		buf[len + prng_below(&r, 4)] ^= 1; /* the ICRC itself */
		assert_false(crc_right(buf, len + 6).icrc);
	}
}

/*
 * Tests crc_right() with the shortest raw packet, and with packets that are shorter than their
 * headers
 */
static void test_crc_right_of_short_packets(void **state)
{
	uint8_t buf[40] = { 0, 0, 0, 1, 0, 3, 0, 2 };

	for (size_t len = 8; len < 28; len++) {
		struct crc_right right;

		for (uint8_t lnh = 0; lnh < 4; lnh++) {
			uint16_t vcrc;

			buf[1] = lnh;
			vcrc = ref_vcrc(buf, len + 4);
			buf[len + 4] = (uint8_t)vcrc;
			buf[len + 5] = (uint8_t)(vcrc >> 8);
			right = crc_right(buf, len + 6);
			assert_true(right.vcrc);
			assert_false(right.icrc);
			buf[len + 5] ^= 1;
			assert_false(crc_right(buf, len + 6).vcrc);
			memset(buf + len, 0, sizeof(buf) - len);
		}
	}
}

/*
 * An acknowledgement of an RC connection has no DETH. Its headers LRH, BTH and AETH have 24 octets,
 * or 64 with a GRH. The headers of a UD packet are longer.
 */
static void test_crc_right_of_an_acknowledgement(void **state)
{
	uint8_t buf[80];
	struct prng r;

	(void)state;
	prng_seed(&r, 23);
	for (int grh = 0; grh < 2; grh++) {
		size_t len = grh ? 64 : 24;
		struct crc_right right;

		fill(&r, buf, len);
		buf[1] = (uint8_t)((buf[1] & ~3) | (grh ? 3 : 2));
		crc_put(buf, len);
		right = crc_right(buf, len + 6);
		assert_true(right.icrc && right.vcrc);
		buf[len - 1] ^= 1;
		right = crc_right(buf, len + 6);
		assert_false(right.icrc || right.vcrc);
	}
}

/*
 * If a flag of the packet says that a CRC was verified, crc_pkt_check() must not compute this CRC
 * again, even if the packet was damaged later.
 */
static void test_pkt_check_trusts_flags(void **state)
{
	const struct shape s = { .payload = 100, .in_hdr = 20, .in_first = 50 };
	struct pkt_pool *pool = pkt_pool_create(1, 1);
	struct prng r;
	struct pkt *p;

	prng_seed(&r, 22);
	p = make(pool, &r, &s);
	crc_pkt_seal(p);
	assert_int_equal(p->flags & (PKT_VCRC_OK | PKT_ICRC_OK), 0);
	p->slice[0].buf->data[60] ^= 1;
	assert_int_equal(crc_pkt_check(p), CRC_BAD_VCRC);
	p->flags |= PKT_VCRC_OK;
	assert_int_equal(crc_pkt_check(p), CRC_BAD_ICRC);
	p->flags |= PKT_ICRC_OK;
	assert_int_equal(crc_pkt_check(p), CRC_OK);
	crc_pkt_seal(p);
	assert_int_equal(p->flags & (PKT_VCRC_OK | PKT_ICRC_OK), 0);
	pkt_free(p);
	pkt_pool_destroy(pool);
}

/*
 * Tests packets as they come from a socket: all octets, also those of the headers, are in slices,
 * and the boundary between two slices can be anywhere.
 */
static void test_pkt_check_headers_in_slices(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(2, 2);
	struct prng r;

	prng_seed(&r, 9);
	for (uint32_t cut = 0; cut <= 80; cut++)
		for (int grh = 0; grh < 2; grh++) {
			struct shape s = { .grh = grh, .payload = 30, .in_first = cut };
			struct pkt *p = make(pool, &r, &s), *q;

			crc_pkt_seal(p);
			s.all_in_slices = true;
			q = make(pool, &r, &s);
			pkt_copy_out(p, 0, q->slice[0].buf->data, p->len);
			memcpy(q->tail, p->tail, sizeof(q->tail));
			q->tail_len = p->tail_len;
			q->flags |= PKT_CRC;
			assert_int_equal(crc_pkt_check(q), CRC_OK);
			q->slice[0].buf->data[q->len - 1] ^= 0x80;
			assert_int_equal(crc_pkt_check(q), CRC_BAD_VCRC);
			pkt_free(p);
			pkt_free(q);
		}
	pkt_pool_destroy(pool);
}

static void test_pkt_check_bad_len(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(1, 1);
	struct prng r;

	prng_seed(&r, 10);
	for (int grh = 0; grh < 2; grh++) {
		const struct shape s = { .grh = grh, .payload = 20, .in_hdr = 4, .in_first = 16 };
		uint32_t hlen = ib_ud_hdr_len(grh);
		struct pkt *p = make(pool, &r, &s);

		crc_pkt_seal(p);
		for (uint8_t n = 0; n < 20; n++) {
			p->tail_len = n;
			assert_int_equal(crc_pkt_check(p) == CRC_BAD_LEN,
					 n < 6 || n > PKT_TAIL_MAX);
		}
		crc_pkt_seal(p);
		for (unsigned int lnh = 0; lnh < 2; lnh++) {
			uint8_t was = pkt_hdr(p)[1];

			pkt_hdr(p)[1] = (uint8_t)((was & ~3u) | lnh);
			assert_int_equal(crc_pkt_check(p), CRC_BAD_LEN);
			pkt_hdr(p)[1] = was;
		}
		for (uint32_t len = p->len; len-- > 0;) {
			pkt_trim(p, len);
			assert_int_equal(crc_pkt_check(p), len < hlen ? CRC_BAD_LEN : CRC_BAD_VCRC);
		}
		pkt_free(p);
	}
	pkt_pool_destroy(pool);
}

static void test_pkt_set_vl_mends_the_vcrc(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(1, 1);
	struct prng r;

	prng_seed(&r, 11);
	for (int round = 0; round < 3000; round++) {
		struct shape s = random_shape(&r);
		struct pkt *p = make(pool, &r, &s);
		uint8_t vl = (uint8_t)prng_below(&r, 16), icrc[4];

		crc_pkt_seal(p);
		memcpy(icrc, p->tail + p->tail_len - 6, 4);
		crc_pkt_set_vl(p, vl);
		assert_int_equal(p->vl, vl);
		assert_int_equal(pkt_hdr(p)[0] >> 4, vl);
		assert_int_equal(pkt_hdr(p)[0] & 0xf, 0);
		assert_crcs(p);
		assert_memory_equal(p->tail + p->tail_len - 6, icrc, 4);
		assert_int_equal(crc_pkt_check(p), CRC_OK);
		pkt_free(p);
	}
	pkt_pool_destroy(pool);
}

/*
 * A change of the VL changes the VCRC. crc_pkt_set_vl() takes this change from a table that depends
 * on the packet's length. For a length without a table, crc_pkt_set_vl() must compute the VCRC
 * again over the whole packet.
 */
static void test_pkt_set_vl_of_odd_lengths(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(1, 1);
	const struct shape s = { .payload = 33, .in_hdr = 33 };
	struct prng r;
	struct pkt *p;

	prng_seed(&r, 12);
	p = make(pool, &r, &s);
	crc_pkt_seal(p);
	pkt_trim(p, p->len - 1);
	crc_pkt_set_vl(p, p->vl ^ 5);
	/* after pkt_trim() the ICRC is wrong, but the VCRC must be right */
	assert_int_equal(crc_pkt_check(p), CRC_BAD_ICRC);

	crc_pkt_pad(p);
	crc_pkt_set_vl(p, p->vl ^ 3);
	assert_int_equal(p->tail[p->tail_len - 1] | p->tail[p->tail_len - 2], 0);
	pkt_free(p);

	p = pkt_alloc(pool);
	crc_pkt_set_vl(p, 4);
	assert_int_equal(p->vl, 4);
	pkt_free(p);
	pkt_pool_destroy(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crc_sample_packet_of_the_specification),
		cmocka_unit_test(test_crc_parts_at_random_splits),
		cmocka_unit_test(test_icrc_random_packets),
		cmocka_unit_test(test_icrc_covers_all_but_the_variant_fields),
		cmocka_unit_test(test_icrc_of_a_truncated_packet_reads_nothing_beyond),
		cmocka_unit_test(test_pkt_seal_random_shapes),
		cmocka_unit_test(test_pkt_seal_sample_packet),
		cmocka_unit_test(test_pkt_pad_has_no_crcs),
		cmocka_unit_test(test_pkt_check_finds_every_changed_octet),
		cmocka_unit_test(test_pkt_check_bad_icrc_under_a_right_vcrc),
		cmocka_unit_test(test_crc_right_judges_each),
		cmocka_unit_test(test_crc_right_of_short_packets),
		cmocka_unit_test(test_crc_right_of_an_acknowledgement),
		cmocka_unit_test(test_pkt_check_trusts_flags),
		cmocka_unit_test(test_pkt_check_headers_in_slices),
		cmocka_unit_test(test_pkt_check_bad_len),
		cmocka_unit_test(test_pkt_set_vl_mends_the_vcrc),
		cmocka_unit_test(test_pkt_set_vl_of_odd_lengths),
	};

	const struct crc_kernel *const *k;
	int failed = 0;
	size_t n;

	/*
	 * Run the tests with each kernel, because all functions of src/crc/pkt.c use the kernel in
	 * crc_best.
	 */
	k = crc_kernels(&n);
	for (size_t i = 0; i < n; i++) {
		crc_best = k[i];
		failed += cmocka_run_group_tests_name(k[i]->name, tests, NULL, NULL);
	}
	return failed;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/ib_hdr.h"

#include <errno.h>

#include "check.h"
#include "util/prng.h"

/* LRH and BTH of the sample packet of IBTA volume 1, 7.8.3 */
static const uint8_t sample[] = { 0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2, 0x0a, 0x20,
				  0x24, 0x87, 0x00, 0x87, 0xb1, 0xb3, 0x00, 0x0d, 0xec, 0x2a };

static void test_R4_lrh_of_the_sample_packet(void **state)
{
	uint8_t out[IB_LRH_LEN];
	struct ib_lrh h;

	assert_int_equal(ib_lrh_decode(&h, sample, sizeof(sample)), 0);
	assert_int_equal(h.vl, 7);
	assert_int_equal(h.lver, 0);
	assert_int_equal(h.sl, 1);
	assert_int_equal(h.lnh, IB_LNH_LOCAL);
	assert_int_equal(h.dlid, 0x375c);
	assert_int_equal(h.slid, 0x17d2);
	assert_int_equal(h.pkt_len, 14);
	ib_lrh_encode(out, &h);
	assert_memory_equal(out, sample, IB_LRH_LEN);
}

static void test_R4_bth_of_the_sample_packet(void **state)
{
	uint8_t out[IB_BTH_LEN];
	struct ib_bth h;

	assert_int_equal(ib_bth_decode(&h, sample + 8, IB_BTH_LEN), 0);
	assert_int_equal(h.opcode, 0x0a);
	assert_false(h.se);
	assert_false(h.migreq);
	assert_false(h.ack_req);
	assert_int_equal(h.pad, 2);
	assert_int_equal(h.tver, 0);
	assert_int_equal(h.pkey, 0x2487);
	assert_int_equal(h.dest_qp, 0x87b1b3);
	assert_int_equal(h.psn, 0x0dec2a);
	ib_bth_encode(out, &h);
	assert_memory_equal(out, sample + 8, IB_BTH_LEN);
}

/* IBTA 8.3: a GRH looks like an IPv6 header with NxtHdr 0x1B */
static const uint8_t grh_golden[] = {
	0x61, 0x2a, 0xbc, 0xde, 0x01, 0x02, 0x1b, 0x3f, 0xfe, 0x80, 0,	  0,	0,    0,
	0,    0,    0x00, 0x02, 0xc9, 0x03, 0,	  0,	0,    1,    0xff, 0x12, 0x40, 0x1b,
	0xff, 0xff, 0,	  0,	0,    0,    0,	  0,	0xff, 0xff, 0xff, 0xff,
};

static void test_R4_grh_golden(void **state)
{
	uint8_t out[IB_GRH_LEN];
	struct ib_grh h;

	assert_int_equal(sizeof(grh_golden), IB_GRH_LEN);
	assert_int_equal(ib_grh_decode(&h, grh_golden, sizeof(grh_golden)), 0);
	assert_int_equal(h.ip_ver, 6);
	assert_int_equal(h.tclass, 0x12);
	assert_int_equal(h.flow_label, 0xabcde);
	assert_int_equal(h.pay_len, 0x102);
	assert_int_equal(h.nxt_hdr, IB_GRH_NXTHDR);
	assert_int_equal(h.hop_limit, 0x3f);
	assert_true(ib_gid_prefix(&h.sgid) == IB_SUBNET_PREFIX_DEFAULT);
	assert_true(ib_gid_guid(&h.sgid) == 0x0002c90300000001ull);
	assert_true(ib_gid_is_mcast(&h.dgid));
	ib_grh_encode(out, &h);
	assert_memory_equal(out, grh_golden, IB_GRH_LEN);
}

static void test_R4_deth_golden(void **state)
{
	const uint8_t golden[] = { 0x80, 0x01, 0x00, 0x00, 0x00, 0x12, 0x34, 0x56 };
	uint8_t in[IB_DETH_LEN], out[IB_DETH_LEN];
	struct ib_deth h;

	memcpy(in, golden, sizeof(in));
	in[4] = 0xff; /* reserved bits are ignored on receive and sent as 0 */
	assert_int_equal(ib_deth_decode(&h, in, sizeof(in)), 0);
	assert_int_equal(h.qkey, IB_QP1_QKEY);
	assert_int_equal(h.src_qp, 0x123456);
	h.src_qp |= 0xff000000u;
	ib_deth_encode(out, &h);
	assert_memory_equal(out, golden, sizeof(out));
}

static void test_bth_flags_and_reserved_bits(void **state)
{
	const uint8_t golden[] = { 0x64, 0xc5, 0x80, 0x01, 0x00, 0xff, 0xff, 0xff, 0x80, 1, 2, 3 };
	uint8_t in[IB_BTH_LEN], out[IB_BTH_LEN];
	struct ib_bth h;

	memcpy(in, golden, sizeof(in));
	in[4] = 0xff; /* FECN, BECN, reserved */
	in[8] |= 0x7f; /* reserved */
	assert_int_equal(ib_bth_decode(&h, in, sizeof(in)), 0);
	assert_true(h.se && h.migreq && h.ack_req);
	assert_int_equal(h.pad, 0);
	assert_int_equal(h.tver, 5);
	assert_int_equal(h.dest_qp, IB_QPN_MCAST);
	assert_int_equal(h.psn, 0x010203);
	ib_bth_encode(out, &h);
	assert_memory_equal(out, golden, sizeof(out));
}

static void test_lrh_reserved_bits_ignored(void **state)
{
	const uint8_t in[] = { 0xf0, 0xae, 0xff, 0xff, 0xff, 0x48, 0x00, 0x01 };
	const uint8_t want[] = { 0xf0, 0xa2, 0xff, 0xff, 0x07, 0x48, 0x00, 0x01 };
	uint8_t out[IB_LRH_LEN];
	struct ib_lrh h;

	assert_int_equal(ib_lrh_decode(&h, in, sizeof(in)), 0);
	assert_int_equal(h.pkt_len, 0x748);
	ib_lrh_encode(out, &h);
	assert_memory_equal(out, want, sizeof(out));
}

/* The LRH of a directed-route SMP from OpenSM: F0 02 FFFF 0048 FFFF */
static void test_R4_lrh_of_a_directed_route_smp(void **state)
{
	const uint8_t golden[] = { 0xf0, 0x02, 0xff, 0xff, 0x00, 0x48, 0xff, 0xff };
	const struct ib_ud_hdr h = {
		.lrh = { .vl = IB_VL15, .dlid = IB_LID_PERMISSIVE, .slid = IB_LID_PERMISSIVE },
		.bth = { .opcode = IB_OP_UD_SEND_ONLY, .pkey = IB_PKEY_DEFAULT },
	};
	uint8_t out[28];

	assert_int_equal(ib_ud_hdr_encode(out, &h, 256), 28);
	assert_memory_equal(out, golden, sizeof(golden));
}

#define TRUNCATED(decode, type, n)                                                 \
	do {                                                                       \
		type h_, was_;                                                     \
		memset(&was_, 0x5a, sizeof(was_));                                 \
		h_ = was_;                                                         \
		for (size_t len_ = 0; len_ < (n); len_++) {                        \
			assert_int_equal(decode(&h_, grh_golden, len_), -EBADMSG); \
			assert_memory_equal(&h_, &was_, sizeof(h_));               \
		}                                                                  \
		assert_int_equal(decode(&h_, grh_golden, n), 0);                   \
	} while (0)

static void test_headers_truncated(void **state)
{
	TRUNCATED(ib_lrh_decode, struct ib_lrh, IB_LRH_LEN);
	TRUNCATED(ib_grh_decode, struct ib_grh, IB_GRH_LEN);
	TRUNCATED(ib_bth_decode, struct ib_bth, IB_BTH_LEN);
	TRUNCATED(ib_deth_decode, struct ib_deth, IB_DETH_LEN);
}

static struct ib_ud_hdr random_hdr(struct prng *r)
{
	struct ib_ud_hdr h = { .has_grh = prng_below(r, 2) };

	h.lrh.vl = (uint8_t)prng_below(r, 16);
	h.lrh.sl = (uint8_t)prng_below(r, 16);
	h.lrh.dlid = (uint16_t)prng_u64(r);
	h.lrh.slid = (uint16_t)prng_u64(r);
	if (h.has_grh) {
		h.grh.ip_ver = 6;
		h.grh.tclass = (uint8_t)prng_u64(r);
		h.grh.flow_label = prng_below(r, 1 << 20);
		h.grh.nxt_hdr = IB_GRH_NXTHDR;
		h.grh.hop_limit = (uint8_t)prng_u64(r);
		h.grh.sgid = ib_gid_of(prng_u64(r), prng_u64(r));
		h.grh.dgid = ib_gid_of(prng_u64(r), prng_u64(r));
	}
	h.bth.opcode = IB_OP_UD_SEND_ONLY;
	h.bth.se = prng_below(r, 2);
	h.bth.migreq = prng_below(r, 2);
	h.bth.pkey = (uint16_t)prng_u64(r);
	h.bth.dest_qp = prng_below(r, 1 << 24);
	h.bth.psn = prng_below(r, 1 << 24);
	h.deth.qkey = (uint32_t)prng_u64(r);
	h.deth.src_qp = prng_below(r, 1 << 24);
	return h;
}

static void assert_hdr_equal(const struct ib_ud_hdr *a, const struct ib_ud_hdr *b)
{
	assert_int_equal(a->lrh.vl, b->lrh.vl);
	assert_int_equal(a->lrh.sl, b->lrh.sl);
	assert_int_equal(a->lrh.dlid, b->lrh.dlid);
	assert_int_equal(a->lrh.slid, b->lrh.slid);
	assert_int_equal(a->has_grh, b->has_grh);
	if (a->has_grh) {
		assert_int_equal(a->grh.tclass, b->grh.tclass);
		assert_int_equal(a->grh.flow_label, b->grh.flow_label);
		assert_int_equal(a->grh.hop_limit, b->grh.hop_limit);
		assert_memory_equal(&a->grh.sgid, &b->grh.sgid, 16);
		assert_memory_equal(&a->grh.dgid, &b->grh.dgid, 16);
	}
	assert_int_equal(a->bth.se, b->bth.se);
	assert_int_equal(a->bth.migreq, b->bth.migreq);
	assert_int_equal(a->bth.pkey, b->bth.pkey);
	assert_int_equal(a->bth.dest_qp, b->bth.dest_qp);
	assert_int_equal(a->bth.psn, b->bth.psn);
	assert_int_equal(a->deth.qkey, b->deth.qkey);
	assert_int_equal(a->deth.src_qp, b->deth.src_qp);
}

static void test_R34_ud_hdr_both_forms_there_and_back(void **state)
{
	struct prng r;

	prng_seed(&r, 1);
	for (size_t payload = 0; payload <= 4096; payload++) {
		struct ib_ud_hdr in = random_hdr(&r), out;
		unsigned int hlen = in.has_grh ? 68 : 28;
		size_t padded = (payload + 3) / 4 * 4;
		uint8_t buf[68];

		assert_int_equal(ib_ud_hdr_encode(buf, &in, payload), hlen);
		assert_int_equal(ib_ud_hdr_decode(&out, buf, hlen), hlen);
		assert_hdr_equal(&in, &out);
		assert_int_equal(out.lrh.lnh, in.has_grh ? 3 : 2);
		assert_int_equal(4 * out.lrh.pkt_len, hlen + padded + 4);
		assert_int_equal(out.bth.pad, padded - payload);
		if (in.has_grh)
			assert_int_equal(out.grh.pay_len, 12 + 8 + padded + 4);
	}
}

static void test_ud_hdr_truncated(void **state)
{
	struct prng r;

	prng_seed(&r, 2);
	for (int grh = 0; grh < 2; grh++) {
		struct ib_ud_hdr in = random_hdr(&r), out, was;
		uint8_t buf[68];
		unsigned int hlen;

		in.has_grh = grh;
		hlen = ib_ud_hdr_encode(buf, &in, 4);
		memset(&was, 0x5a, sizeof(was));
		out = was;
		for (unsigned int len = 0; len < hlen; len++) {
			assert_int_equal(ib_ud_hdr_decode(&out, buf, len), -EBADMSG);
			assert_memory_equal(&out, &was, sizeof(out));
		}
		assert_int_equal(ib_ud_hdr_decode(&out, buf, hlen + 1), hlen);
	}
}

static void test_ud_hdr_refuses_other_transports(void **state)
{
	struct ib_ud_hdr in, out;
	uint8_t buf[68];
	struct prng r;

	prng_seed(&r, 3);
	in = random_hdr(&r);
	in.has_grh = false;
	ib_ud_hdr_encode(buf, &in, 0);
	for (unsigned int op = 0; op < 256; op++) {
		buf[8] = (uint8_t)op;
		assert_int_equal(ib_ud_hdr_decode(&out, buf, 68), op == 0x64 ? 28 : -EPROTO);
	}
	buf[8] = IB_OP_UD_SEND_ONLY;
	buf[0] |= 1; /* LVer */
	assert_int_equal(ib_ud_hdr_decode(&out, buf, 68), -EPROTO);
	buf[0] &= 0xf0;
	buf[9] |= 1; /* TVer */
	assert_int_equal(ib_ud_hdr_decode(&out, buf, 68), -EPROTO);
	buf[9] &= 0xf0;
	for (unsigned int lnh = 0; lnh < 2; lnh++) {
		buf[1] = (uint8_t)lnh;
		assert_int_equal(ib_ud_hdr_decode(&out, buf, 68), -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R4_lrh_of_the_sample_packet),
		cmocka_unit_test(test_R4_bth_of_the_sample_packet),
		cmocka_unit_test(test_R4_grh_golden),
		cmocka_unit_test(test_R4_deth_golden),
		cmocka_unit_test(test_bth_flags_and_reserved_bits),
		cmocka_unit_test(test_lrh_reserved_bits_ignored),
		cmocka_unit_test(test_R4_lrh_of_a_directed_route_smp),
		cmocka_unit_test(test_headers_truncated),
		cmocka_unit_test(test_R34_ud_hdr_both_forms_there_and_back),
		cmocka_unit_test(test_ud_hdr_truncated),
		cmocka_unit_test(test_ud_hdr_refuses_other_transports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

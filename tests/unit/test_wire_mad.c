/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/mad.h"

#include "check.h"
#include "layout.h"

#define M(member, bit, width) FIELD(struct mad_hdr, member, bit, width)
static const struct field hdr_fields[] = {
	/* IBTA 13.4.3, figure "Standard MAD Header" */
	M(base_version, 0, 8), M(mgmt_class, 8, 8), M(class_version, 16, 8),
	M(method, 24, 8),      M(status, 32, 16),   M(class_specific, 48, 16),
	M(tid, 64, 64),	       M(attr_id, 128, 16), M(attr_mod, 160, 32),
};
LAYOUT(hdr_layout, struct mad_hdr, mad_hdr_decode, mad_hdr_encode, 24, 24, hdr_fields);

#define C(member, bit, width) FIELD(struct mad_class_port_info, member, bit, width)
static const struct field cpi_fields[] = {
	/* IBTA 13.4.8.1, table "ClassPortInfo" */
	C(base_version, 0, 8),	    C(class_version, 8, 8),	 C(cap_mask, 16, 16),
	C(cap_mask2, 32, 27),	    C(resp_time, 59, 5),	 C(redirect_gid, 64, 128),
	C(redirect_tclass, 192, 8), C(redirect_sl, 200, 4),	 C(redirect_flow_label, 204, 20),
	C(redirect_lid, 224, 16),   C(redirect_pkey, 240, 16),	 C(redirect_qp, 264, 24),
	C(redirect_qkey, 288, 32),  C(trap_gid, 320, 128),	 C(trap_tclass, 448, 8),
	C(trap_sl, 456, 4),	    C(trap_flow_label, 460, 20), C(trap_lid, 480, 16),
	C(trap_pkey, 496, 16),	    C(trap_hop_limit, 512, 8),	 C(trap_qp, 520, 24),
	C(trap_qkey, 544, 32),
};
LAYOUT(cpi_layout, struct mad_class_port_info, mad_class_port_info_decode,
       mad_class_port_info_encode, 72, 72, cpi_fields);

#define N(member, bit, width) FIELD(struct mad_notice, member, bit, width)
static const struct field notice_fields[] = {
	/* IBTA 13.4.8.2, table "Notice" */
	N(generic, 0, 1), N(type, 1, 7),	 N(producer, 8, 24),
	N(trap, 32, 16),  N(issuer_lid, 48, 16), N(toggle, 64, 1),
	N(count, 65, 15), N(details, 80, 432),	 N(issuer_gid, 512, 128),
};
LAYOUT(notice_layout, struct mad_notice, mad_notice_decode, mad_notice_encode, 80, 80,
       notice_fields);

#define I(member, bit, width) FIELD(struct mad_inform_info, member, bit, width)
static const struct field inform_fields[] = {
	/* IBTA 13.4.8.3, table "InformInfo". IsGeneric and Subscribe are octets of value 0 or 1. */
	I(gid, 0, 128),	      I(lid_begin, 128, 16), I(lid_end, 144, 16), I(generic, 183, 1),
	I(subscribe, 191, 1), I(type, 192, 16),	     I(trap, 208, 16),	  I(qpn, 224, 24),
	I(resp_time, 251, 5), I(producer, 264, 24),
};
LAYOUT(inform_layout, struct mad_inform_info, mad_inform_info_decode, mad_inform_info_encode, 36,
       36, inform_fields);

static void test_mad_hdr_layout(void **state)
{
	layout_check(&hdr_layout);
}

static void test_class_port_info_layout(void **state)
{
	layout_check(&cpi_layout);
}

static void test_inform_info_layout(void **state)
{
	layout_check(&inform_layout);
}

static void test_notice_layout(void **state)
{
	layout_check_fields(&notice_layout);
	layout_check_reserved(&notice_layout);
	layout_check_stable(&notice_layout);
}

/*
 * A notice has 64 octets in a trap SMP and 80 octets with IssuerGID. No other length below 80 may
 * be accepted.
 */
static void test_notice_lengths(void **state)
{
	for (size_t n = 0; n <= 81; n++) {
		struct mad_notice ret = { .count = 77 };
		uint8_t *p = malloc(n ? n : 1);

		assert_non_null(p);
		memset(p, 0xff, n ? n : 1);
		if (n == MAD_NOTICE_LEN || n >= MAD_NOTICE_GID_LEN) {
			assert_int_equal(mad_notice_decode(&ret, p, n), 0);
			assert_int_equal(ret.count, 0x7fff);
			assert_int_equal(ib_gid_is_zero(&ret.issuer_gid), n == MAD_NOTICE_LEN);
		} else {
			assert_int_equal(mad_notice_decode(&ret, p, n), -EBADMSG);
			assert_int_equal(ret.count, 77);
		}
		free(p);
	}
}

/* Answer to `smpquery nodeinfo -D 0,1`, recorded from ibsim 0.10 under OpenSM 3.3.23 */
static void test_mad_hdr_golden_directed_route(void **state)
{
	struct mad_hdr h;
	uint8_t b[24], out[24];

	layout_hex(b, sizeof(b), "01810181 80000001 00010001 4d2bbf4b 0011 0000 00000000");
	assert_int_equal(mad_hdr_decode(&h, b, sizeof(b)), 0);
	assert_int_equal(h.base_version, MAD_BASE_VERSION);
	assert_int_equal(h.mgmt_class, MAD_CLASS_SM_DR);
	assert_int_equal(h.class_version, 1);
	assert_int_equal(h.method, MAD_METHOD_GET_RESP);
	assert_int_equal(h.status, MAD_STATUS_DR_D);
	assert_int_equal(h.class_specific, 0x0001); /* HopPointer 0, HopCount 1 */
	assert_true(h.tid == 0x000100014d2bbf4bull);
	assert_int_equal(h.attr_id, 0x0011);
	assert_int_equal(h.attr_mod, 0);
	mad_hdr_encode(out, &h);
	assert_memory_equal(out, b, sizeof(b));
}

static void test_mad_accessors(void **state)
{
	uint8_t b[24];

	layout_hex(b, sizeof(b), "01030212 0102 0304 1122334455667788 0038 0000 80000007");
	assert_int_equal(mad_class(b), MAD_CLASS_SA);
	assert_int_equal(mad_method(b), MAD_METHOD_GET_TABLE);
	assert_int_equal(mad_status(b), 0x0102);
	assert_true(mad_tid(b) == 0x1122334455667788ull);
	assert_int_equal(mad_attr(b), 0x0038);
	assert_int_equal(mad_attr_mod(b), 0x80000007);
}

static void test_mad_responses(void **state)
{
	assert_true(mad_method_is_response(MAD_METHOD_GET_RESP));
	assert_true(mad_method_is_response(MAD_METHOD_REPORT_RESP));
	assert_true(mad_method_is_response(MAD_METHOD_TRAP_REPRESS));
	assert_false(mad_method_is_response(MAD_METHOD_TRAP));
	assert_false(mad_method_is_response(MAD_METHOD_SET));
	assert_true(mad_class_is_smp(MAD_CLASS_SM_LID));
	assert_true(mad_class_is_smp(MAD_CLASS_SM_DR));
	assert_false(mad_class_is_smp(MAD_CLASS_SA));
}

/*
 * Answer of OpenSM 3.3.23 to `saquery CPI`: CapabilityMask2 is 0xB5E8 (27 bits), the response time
 * value is 16
 */
static void test_class_port_info_golden_opensm(void **state)
{
	struct mad_class_port_info c;
	uint8_t b[72], out[72];

	assert_int_equal(layout_hex(b, sizeof(b),
				    "0102 2602 0016bd10 00000000000000000000000000000000"
				    "00000000 0000 0000 00000001 80010000"
				    "00000000000000000000000000000000"
				    "00000000 0000 0000 00000000 80010000"),
			 72);
	assert_int_equal(mad_class_port_info_decode(&c, b, sizeof(b)), 0);
	assert_int_equal(c.base_version, 1);
	assert_int_equal(c.class_version, 2);
	assert_int_equal(c.cap_mask, 0x2602);
	assert_int_equal(c.cap_mask2, 0xb5e8);
	assert_int_equal(c.resp_time, 16);
	assert_int_equal(c.redirect_qp, 1);
	assert_int_equal(c.redirect_qkey, IB_QP1_QKEY);
	assert_int_equal(c.trap_qkey, IB_QP1_QKEY);
	mad_class_port_info_encode(out, &c);
	assert_memory_equal(out, b, sizeof(b));
}

/* The DataDetails of traps 64 to 67 have 6 reserved octets, and then the GID (IBA 15.2.4.2). */
static void test_notice_gid_in_details(void **state)
{
	struct mad_notice n = {
		.generic = true,
		.type = MAD_NOTICE_TYPE_INFO,
		.producer = 4,
		.trap = MAD_TRAP_MC_CREATED,
		.issuer_lid = 3,
	};
	ib_gid g, got;
	uint8_t out[80], want[80] = { 0 };

	layout_hex(g.raw, 16, "ff12401bffff000000000000ffffffff");
	layout_hex(want, 10, "84 000004 0042 0003 0000");
	memcpy(want + 16, g.raw, 16);
	mad_notice_gid(&n, &g);
	mad_notice_encode(out, &n);
	assert_memory_equal(out, want, sizeof(out));
	got = mad_notice_get_gid(&n);
	assert_true(ib_gid_equal(&g, &got));
}

/*
 * As in libibmad and IBTA 14.2.5.1: LIDADDR begins at bit 80 of the Notice in trap 128, and at bit
 * 96 in trap 144, whose capability mask begins at bit 128.
 */
static void test_notice_lid_in_details(void **state)
{
	struct mad_notice n = { .generic = true, .trap = MAD_TRAP_LINK_STATE };
	uint8_t out[80], want[80] = { 0 };

	layout_hex(want, 12, "80 000000 0080 0000 0000 1234");
	mad_notice_lid(&n, 0x1234);
	assert_int_equal(mad_notice_get_lid(&n), 0x1234);
	mad_notice_encode(out, &n);
	assert_memory_equal(out, want, sizeof(out));

	n = (struct mad_notice){ .generic = true, .trap = MAD_TRAP_CAP_CHANGE };
	memset(want, 0, sizeof(want));
	layout_hex(want, 20, "80 000000 0090 0000 0000 0000 1234 0000 0250c04a");
	mad_notice_lid(&n, 0x1234);
	mad_notice_cap_mask(&n, 0x0250c04a);
	assert_int_equal(mad_notice_get_lid(&n), 0x1234);
	mad_notice_encode(out, &n);
	assert_memory_equal(out, want, sizeof(out));
}

/* Made by hand from 13.4.8.3: subscribe QP1 to all traps of all LIDs, response time value 18 */
static void test_inform_info_golden(void **state)
{
	struct mad_inform_info i = {
		.lid_begin = 0xffff,
		.generic = true,
		.subscribe = true,
		.type = 0xffff,
		.trap = 0xffff,
		.qpn = 1,
		.resp_time = 18,
		.producer = 0xffffff,
	};
	uint8_t out[36], want[36] = { 0 };

	layout_hex(want + 16, 20, "ffff 0000 0000 01 01 ffff ffff 00000112 00ffffff");
	mad_inform_info_encode(out, &i);
	assert_memory_equal(out, want, sizeof(out));
}

/*
 * The codes of PathRecord:Rate, and the rates that 15.2.5.16 names; links with 64b/66b coding carry
 * more than their name says.
 */
static void test_ib_rate_mbps(void **state)
{
	static const unsigned int mbps[] = { 0,	     0,	     2500,   10000,   30000,  5000,  20000,
					     40000,  60000,  80000,  120000,  14062,  56250, 112500,
					     168750, 25781,  103125, 206250,  309375, 28125, 53125,
					     425000, 637500, 850000, 1275000, 0 };

	for (unsigned int i = 0; i < sizeof(mbps) / sizeof(mbps[0]); i++)
		assert_int_equal(ib_rate_mbps(i), mbps[i]);
	assert_int_equal(ib_rate_mbps(255), 0);
}

/*
 * The code for a width and a speed must name a rate within 7 % of the number of lanes times the
 * rate of one lane.
 */
static void test_ib_rate_code_of_links(void **state)
{
	static const unsigned int lanes[] = { 1, 4, 8, 12, 2 };
	static const unsigned int plain[] = { 2500, 5000, 10000 };
	static const unsigned int ext[] = { 14062, 25781, 53125, 106250 };

	for (unsigned int w = 0; w < 5; w++) {
		for (unsigned int s = 0; s < 3; s++)
			assert_int_equal(ib_rate_mbps(ib_rate_code(1u << w, 1u << s, 0)),
					 lanes[w] * plain[s]);
		for (unsigned int s = 0; s < 4; s++) {
			unsigned int got = ib_rate_mbps(ib_rate_code(1u << w, 4, 1u << s));
			unsigned int want = lanes[w] * ext[s];

			assert_in_range(got, want * 93 / 100, want * 107 / 100);
		}
	}
	assert_int_equal(ib_rate_code(2, 1, 0), 3); /* 4x SDR: 10 Gb/s */
	assert_int_equal(ib_rate_code(2, 0, 2), 16); /* 4x EDR: 100 Gb/s */
}

static void test_ib_rate_code_unknown(void **state)
{
	assert_int_equal(ib_rate_code(0, 1, 0), 0);
	assert_int_equal(ib_rate_code(3, 1, 0), 0);
	assert_int_equal(ib_rate_code(32, 1, 0), 0);
	assert_int_equal(ib_rate_code(1, 0, 0), 0);
	assert_int_equal(ib_rate_code(1, 8, 0), 0);
	assert_int_equal(ib_rate_code(1, 3, 0), 0);
	assert_int_equal(ib_rate_code(1, 4, 16), 0);
	assert_int_equal(ib_rate_code(0x80000000u, 0x80000000u, 0x80000000u), 0);
}

static void test_I7_pkey_match(void **state)
{
	assert_true(ib_pkey_match(0xffff, 0x7fff));
	assert_true(ib_pkey_match(0x8001, 0x8001));
	assert_false(ib_pkey_match(0x7fff, 0x7fff));
	assert_false(ib_pkey_match(0x8000, 0x8000));
	assert_false(ib_pkey_match(0x8001, 0x8002));
}

static void test_ib_scalars(void **state)
{
	assert_int_equal(ib_mtu_octets(IB_MTU_256), 256);
	assert_int_equal(ib_mtu_octets(IB_MTU_4096), 4096);
	assert_int_equal(ib_mtu_octets(0), 0);
	assert_int_equal(ib_mtu_octets(6), 0);
	assert_false(ib_lid_is_unicast(0));
	assert_true(ib_lid_is_unicast(0xbfff));
	assert_false(ib_lid_is_unicast(0xc000));
	assert_true(ib_lid_is_mcast(0xc000));
	assert_true(ib_lid_is_mcast(0xfffe));
	assert_false(ib_lid_is_mcast(IB_LID_PERMISSIVE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mad_hdr_layout),
		cmocka_unit_test(test_mad_hdr_golden_directed_route),
		cmocka_unit_test(test_mad_accessors),
		cmocka_unit_test(test_mad_responses),
		cmocka_unit_test(test_class_port_info_layout),
		cmocka_unit_test(test_class_port_info_golden_opensm),
		cmocka_unit_test(test_notice_layout),
		cmocka_unit_test(test_notice_lengths),
		cmocka_unit_test(test_notice_gid_in_details),
		cmocka_unit_test(test_notice_lid_in_details),
		cmocka_unit_test(test_inform_info_layout),
		cmocka_unit_test(test_inform_info_golden),
		cmocka_unit_test(test_ib_rate_mbps),
		cmocka_unit_test(test_ib_rate_code_of_links),
		cmocka_unit_test(test_ib_rate_code_unknown),
		cmocka_unit_test(test_I7_pkey_match),
		cmocka_unit_test(test_ib_scalars),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/records.h"

#include "check.h"
#include "layout.h"

#define P(member, bit, width) FIELD(struct ib_path_rec, member, bit, width)
static const struct field path_fields[] = {
	/* IBTA 15.2.5.16, table "PathRecord" */
	P(service_id, 0, 64),  P(dgid, 64, 128),      P(sgid, 192, 128),      P(dlid, 320, 16),
	P(slid, 336, 16),      P(raw, 352, 1),	      P(flow_label, 356, 20), P(hop_limit, 376, 8),
	P(tclass, 384, 8),     P(reversible, 392, 1), P(numb_path, 393, 7),   P(pkey, 400, 16),
	P(qos_class, 416, 12), P(sl, 428, 4),	      P(mtu_sel, 432, 2),     P(mtu_code, 434, 6),
	P(rate_sel, 440, 2),   P(rate_code, 442, 6),  P(life_sel, 448, 2),    P(life, 450, 6),
	P(preference, 456, 8),
};
LAYOUT(path_layout, struct ib_path_rec, ib_path_rec_decode, ib_path_rec_encode, 64, 64,
       path_fields);

#define M(member, bit, width) FIELD(struct ib_mcmember_rec, member, bit, width)
static const struct field mcm_fields[] = {
	/* IBTA 15.2.5.17, table "MCMemberRecord" */
	M(mgid, 0, 128),       M(port_gid, 128, 128),  M(qkey, 256, 32),     M(mlid, 288, 16),
	M(mtu_sel, 304, 2),    M(mtu_code, 306, 6),    M(tclass, 312, 8),    M(pkey, 320, 16),
	M(rate_sel, 336, 2),   M(rate_code, 338, 6),   M(life_sel, 344, 2),  M(life, 346, 6),
	M(sl, 352, 4),	       M(flow_label, 356, 20), M(hop_limit, 376, 8), M(scope, 384, 4),
	M(join_state, 388, 4), M(proxy_join, 392, 1),
};
LAYOUT(mcm_layout, struct ib_mcmember_rec, ib_mcmember_rec_decode, ib_mcmember_rec_encode, 52, 52,
       mcm_fields);

#define N(member, bit, width) FIELD(struct ib_node_rec, member, bit, width)
static const struct field node_fields[] = {
	/* NodeRecord (IBTA 15.2.5.2): LID, 16 reserved bits, NodeInfo, NodeDescription */
	N(lid, 0, 16),
	N(info.base_version, 32, 8),
	N(info.class_version, 40, 8),
	N(info.node_type, 48, 8),
	N(info.nports, 56, 8),
	N(info.sys_guid, 64, 64),
	N(info.node_guid, 128, 64),
	N(info.port_guid, 192, 64),
	N(info.pkey_cap, 256, 16),
	N(info.device_id, 272, 16),
	N(info.revision, 288, 32),
	N(info.local_port, 320, 8),
	N(info.vendor_id, 328, 24),
	N(desc, 352, 512),
};
LAYOUT(node_layout, struct ib_node_rec, ib_node_rec_decode, ib_node_rec_encode, 108, 108,
       node_fields);

#define S(member, bit, width) FIELD(struct ib_service_rec, member, bit, width)
static const struct field service_fields[] = {
	/* IBTA 15.2.5.14, table "ServiceRecord" */
	S(id, 0, 64),	  S(gid, 64, 128),   S(pkey, 192, 16),	S(lease, 224, 32),
	S(key, 256, 128), S(name, 384, 512), S(data, 896, 512),
};
LAYOUT(service_layout, struct ib_service_rec, ib_service_rec_decode, ib_service_rec_encode, 176,
       176, service_fields);

static void test_path_rec_layout(void **state)
{
	layout_check(&path_layout);
}

static void test_mcmember_rec_layout(void **state)
{
	layout_check(&mcm_layout);
}

static void test_node_rec_layout(void **state)
{
	layout_check(&node_layout);
}

static void test_service_rec_layout(void **state)
{
	layout_check(&service_layout);
}

static bool gid_is(const ib_gid *g, const char *hex)
{
	uint8_t want[16];

	return layout_hex(want, 16, hex) == 16 && memcmp(g->raw, want, 16) == 0;
}

/*
 * The expected octets are answers of OpenSM 3.3.23 on ibsim, and the expected values are the output
 * of saquery.
 */

static void test_path_rec_golden(void **state)
{
	struct ib_path_rec r;
	uint8_t b[64], out[64];

	assert_int_equal(layout_hex(b, sizeof(b),
				    "0000000000000000 fe800000000000000000000000200000"
				    "fe800000000000000000000000100001 0002 0001 00000000"
				    "00 80 ffff 0000 83 83 92 00 000000000000"),
			 64);
	assert_int_equal(ib_path_rec_decode(&r, b, sizeof(b)), 0);
	assert_true(gid_is(&r.dgid, "fe800000000000000000000000200000"));
	assert_true(gid_is(&r.sgid, "fe800000000000000000000000100001"));
	assert_int_equal(r.dlid, 2);
	assert_int_equal(r.slid, 1);
	assert_true(r.reversible);
	assert_int_equal(r.numb_path, 0);
	assert_int_equal(r.pkey, 0xffff);
	assert_int_equal(r.sl, 0);
	assert_int_equal(r.mtu_sel, SA_SEL_EXACT);
	assert_int_equal(r.mtu_code, 3);
	assert_int_equal(r.rate_sel, SA_SEL_EXACT);
	assert_int_equal(r.rate_code, 3);
	assert_int_equal(r.life_sel, SA_SEL_EXACT);
	assert_int_equal(r.life, 18);
	ib_path_rec_encode(out, &r);
	assert_memory_equal(out, b, sizeof(b));
}

static void test_mcmember_rec_golden(void **state)
{
	struct ib_mcmember_rec r;
	uint8_t b[52], out[52];

	assert_int_equal(layout_hex(b, sizeof(b),
				    "ff12401bffff000000000000ffffffff"
				    "00000000000000000000000000000000 00000b1b c000 84 00"
				    "ffff 83 92 00000000 20 00 0000"),
			 52);
	assert_int_equal(ib_mcmember_rec_decode(&r, b, sizeof(b)), 0);
	assert_true(gid_is(&r.mgid, "ff12401bffff000000000000ffffffff"));
	assert_true(ib_gid_is_zero(&r.port_gid));
	assert_int_equal(r.qkey, 0xb1b);
	assert_int_equal(r.mlid, 0xc000);
	assert_int_equal(r.mtu_sel, SA_SEL_EXACT);
	assert_int_equal(r.mtu_code, IB_MTU_2048);
	assert_int_equal(r.pkey, 0xffff);
	assert_int_equal(r.rate_code, 3);
	assert_int_equal(r.life, 18);
	assert_int_equal(r.scope, 2);
	assert_int_equal(r.join_state, 0);
	ib_mcmember_rec_encode(out, &r);
	assert_memory_equal(out, b, sizeof(b));
}

static void test_node_rec_golden(void **state)
{
	struct ib_node_rec r;
	uint8_t b[108] = { 0 }, out[108];

	assert_int_equal(layout_hex(b, 44,
				    "0001 0000 01010101 0000000000100000 0000000000100000"
				    "0000000000100001 0040 0000 000000a1 01000000"),
			 44);
	layout_hex(b + 44, 7, "6863 6120 6f6e 65");
	assert_int_equal(ib_node_rec_decode(&r, b, sizeof(b)), 0);
	assert_int_equal(r.lid, 1);
	assert_int_equal(r.info.node_type, IB_NODE_CA);
	assert_int_equal(r.info.nports, 1);
	assert_true(r.info.port_guid == 0x100001);
	assert_int_equal(r.info.pkey_cap, 0x40);
	assert_int_equal(r.info.local_port, 1);
	assert_string_equal(r.desc, "hca one");
	ib_node_rec_encode(out, &r);
	assert_memory_equal(out, b, sizeof(b));
}

/* A description may fill all 64 octets. Octets behind a NUL must not be sent. */
static void test_node_rec_description(void **state)
{
	struct ib_node_rec r = { .lid = 1 };
	uint8_t out[108];

	memset(r.desc, 'x', 64);
	ib_node_rec_encode(out, &r);
	assert_int_equal(out[107], 'x');
	assert_int_equal(ib_node_rec_decode(&r, out, sizeof(out)), 0);
	assert_int_equal(strlen(r.desc), 64);
	r.desc[2] = '\0';
	ib_node_rec_encode(out, &r);
	assert_int_equal(out[45], 'x');
	for (unsigned int i = 46; i < 108; i++)
		assert_int_equal(out[i], 0);
}

static const char pir_hex[] = "0001 01 00 0000000000000000 fe80000000000000 0001 0001 0050c04a"
			      "0000 0ff9 01021f02 74520011 40400008 0804e040 0000 0000 0000 201f"
			      "0000 0000 00000000 0030 0000";

static void test_port_info_rec_golden(void **state)
{
	struct ib_port_info_rec r;
	uint8_t b[68], out[68];

	assert_int_equal(layout_hex(b, sizeof(b), pir_hex), 68);
	assert_int_equal(ib_port_info_rec_decode(&r, b, sizeof(b)), 0);
	assert_int_equal(r.lid, 1);
	assert_int_equal(r.port_num, 1);
	assert_int_equal(r.options, 0);
	assert_int_equal(r.info.cap_mask, 0x50c04a);
	assert_int_equal(r.info.port_state, IB_PORT_ACTIVE);
	assert_int_equal(r.info.cap_mask2, 0x30);
	ib_port_info_rec_encode(out, &r);
	assert_memory_equal(out, b, sizeof(b));
	r.options = 0x80;
	ib_port_info_rec_encode(out, &r);
	assert_int_equal(out[3], 0x80);
}

static void test_port_info_rec_lengths(void **state)
{
	uint8_t b[68];

	layout_hex(b, sizeof(b), pir_hex);
	b[58] = b[67] = 0x15;
	for (size_t n = 0; n <= sizeof(b); n++) {
		struct ib_port_info_rec r = { .lid = 77 };
		uint8_t *p = malloc(n ? n : 1);

		assert_non_null(p);
		memcpy(p, b, n);
		if (n < PORT_INFO_REC_MIN_LEN) {
			assert_int_equal(ib_port_info_rec_decode(&r, p, n), -EBADMSG);
			assert_int_equal(r.lid, 77);
		} else {
			assert_int_equal(ib_port_info_rec_decode(&r, p, n), 0);
			assert_int_equal(r.info.lid, 1);
			assert_int_equal(r.info.max_credit_hint, n > 58 ? 0x1500 : 0);
			assert_int_equal(r.info.speed_ext_enabled, n == 68 ? 0x15 : 0);
		}
		free(p);
	}
}

/*
 * Component masks that Linux 6.1 sends: to join a group, to join and create one, and to query a
 * path
 */
static void test_component_masks_as_linux_sends_them(void **state)
{
	assert_true((MCM_COMP_MGID | MCM_COMP_PORT_GID | MCM_COMP_PKEY | MCM_COMP_JOIN_STATE) ==
		    0x10083);
	assert_true((MCM_COMP_MGID | MCM_COMP_PORT_GID | MCM_COMP_PKEY | MCM_COMP_JOIN_STATE |
		     MCM_COMP_QKEY | MCM_COMP_MTU_SEL | MCM_COMP_MTU | MCM_COMP_TCLASS |
		     MCM_COMP_RATE_SEL | MCM_COMP_RATE | MCM_COMP_SL | MCM_COMP_FLOW_LABEL |
		     MCM_COMP_HOP_LIMIT) == 0x173f7);
	assert_true((MCM_COMP_MGID | MCM_COMP_PORT_GID | MCM_COMP_JOIN_STATE) == 0x10003);
	assert_true((PATH_COMP_DGID | PATH_COMP_SGID | PATH_COMP_TCLASS | PATH_COMP_NUMB_PATH |
		     PATH_COMP_PKEY) == 0x340c);
	/* mask of saquery --src-to-dst, infiniband-diags 44 */
	assert_true((PATH_COMP_DLID | PATH_COMP_SLID | PATH_COMP_NUMB_PATH) == 0x1030);
}

/* IBTA 15.2.5.2, .3 and .14: reserved fields have a bit of the component mask, too. */
static void test_component_masks_of_records(void **state)
{
	assert_true((NODE_COMP_LID | NODE_COMP_NODE_TYPE | NODE_COMP_SYS_GUID |
		     NODE_COMP_NODE_GUID | NODE_COMP_PORT_GUID | NODE_COMP_NODE_DESC) == 0x41d1);
	assert_true((PORT_INFO_COMP_LID | PORT_INFO_COMP_PORT_NUM) == 3);
	assert_true((SERVICE_COMP_ID | SERVICE_COMP_GID | SERVICE_COMP_PKEY | SERVICE_COMP_LEASE |
		     SERVICE_COMP_KEY | SERVICE_COMP_NAME) == 0x77);
	assert_true((PATH_COMP_SL | PATH_COMP_MTU_SEL | PATH_COMP_MTU | PATH_COMP_RATE_SEL |
		     PATH_COMP_RATE | PATH_COMP_LIFE_SEL | PATH_COMP_LIFE | PATH_COMP_PREFERENCE) ==
		    0x7f8000);
	assert_true((PATH_COMP_SERVICE_ID | PATH_COMP_RAW | PATH_COMP_FLOW_LABEL |
		     PATH_COMP_HOP_LIMIT | PATH_COMP_REVERSIBLE | PATH_COMP_QOS_CLASS) == 0x4b43);
	assert_true((MCM_COMP_MLID | MCM_COMP_LIFE_SEL | MCM_COMP_LIFE | MCM_COMP_SCOPE |
		     MCM_COMP_PROXY_JOIN) == 0x28c08);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path_rec_layout),
		cmocka_unit_test(test_path_rec_golden),
		cmocka_unit_test(test_mcmember_rec_layout),
		cmocka_unit_test(test_mcmember_rec_golden),
		cmocka_unit_test(test_node_rec_layout),
		cmocka_unit_test(test_node_rec_golden),
		cmocka_unit_test(test_node_rec_description),
		cmocka_unit_test(test_port_info_rec_golden),
		cmocka_unit_test(test_port_info_rec_lengths),
		cmocka_unit_test(test_service_rec_layout),
		cmocka_unit_test(test_component_masks_as_linux_sends_them),
		cmocka_unit_test(test_component_masks_of_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

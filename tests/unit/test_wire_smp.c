/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/smp.h"

#include "check.h"
#include "layout.h"

#define N(member, bit, width) FIELD(struct smp_node_info, member, bit, width)
static const struct field node_fields[] = {
	/* IBTA 14.2.5.3, table "NodeInfo" */
	N(base_version, 0, 8), N(class_version, 8, 8), N(node_type, 16, 8),   N(nports, 24, 8),
	N(sys_guid, 32, 64),   N(node_guid, 96, 64),   N(port_guid, 160, 64), N(pkey_cap, 224, 16),
	N(device_id, 240, 16), N(revision, 256, 32),   N(local_port, 288, 8), N(vendor_id, 296, 24),
};
LAYOUT(node_layout, struct smp_node_info, smp_node_info_decode, smp_node_info_encode, 40, 40,
       node_fields);

#define S(member, bit, width) FIELD(struct smp_switch_info, member, bit, width)
static const struct field switch_fields[] = {
	/* IBTA 14.2.5.4, table "SwitchInfo" */
	S(lft_cap, 0, 16),
	S(rft_cap, 16, 16),
	S(mft_cap, 32, 16),
	S(lft_top, 48, 16),
	S(default_port, 64, 8),
	S(default_mcast_primary, 72, 8),
	S(default_mcast_not_primary, 80, 8),
	S(life_time, 88, 5),
	S(port_state_change, 93, 1),
	S(opt_sl2vl, 94, 2),
	S(lids_per_port, 96, 16),
	S(enforce_cap, 112, 16),
	S(inbound_enforce, 128, 1),
	S(outbound_enforce, 129, 1),
	S(filter_raw_in, 130, 1),
	S(filter_raw_out, 131, 1),
	S(enhanced_port0, 132, 1),
	S(mft_top, 144, 16),
};
LAYOUT(switch_layout, struct smp_switch_info, smp_switch_info_decode, smp_switch_info_encode, 20,
       20, switch_fields);

#define P(member, bit, width) FIELD(struct smp_port_info, member, bit, width)
static const struct field port_fields[] = {
	/* IBTA 14.2.5.6, table "PortInfo" */
	P(mkey, 0, 64),
	P(gid_prefix, 64, 64),
	P(lid, 128, 16),
	P(sm_lid, 144, 16),
	P(cap_mask, 160, 32),
	P(diag_code, 192, 16),
	P(mkey_lease, 208, 16),
	P(local_port, 224, 8),
	P(width_enabled, 232, 8),
	P(width_supported, 240, 8),
	P(width_active, 248, 8),
	P(speed_supported, 256, 4),
	P(port_state, 260, 4),
	P(phys_state, 264, 4),
	P(down_default, 268, 4),
	P(mkey_protect, 272, 2),
	P(lmc, 277, 3),
	P(speed_active, 280, 4),
	P(speed_enabled, 284, 4),
	P(neighbor_mtu, 288, 4),
	P(sm_sl, 292, 4),
	P(vl_cap, 296, 4),
	P(init_type, 300, 4),
	P(vl_high_limit, 304, 8),
	P(vlarb_high_cap, 312, 8),
	P(vlarb_low_cap, 320, 8),
	P(init_type_reply, 328, 4),
	P(mtu_cap, 332, 4),
	P(vl_stall, 336, 3),
	P(hoq_life, 339, 5),
	P(oper_vls, 344, 4),
	P(part_enforce_in, 348, 1),
	P(part_enforce_out, 349, 1),
	P(filter_raw_in, 350, 1),
	P(filter_raw_out, 351, 1),
	P(mkey_violations, 352, 16),
	P(pkey_violations, 368, 16),
	P(qkey_violations, 384, 16),
	P(guid_cap, 400, 8),
	P(client_reregister, 408, 1),
	P(mcast_pkey_trap_suppress, 409, 2),
	P(subnet_timeout, 411, 5),
	P(resp_time, 419, 5),
	P(local_phys_errors, 424, 4),
	P(overrun_errors, 428, 4),
	P(max_credit_hint, 432, 16),
	P(link_latency, 456, 24),
	P(cap_mask2, 480, 16),
	P(speed_ext_active, 496, 4),
	P(speed_ext_supported, 500, 4),
	P(speed_ext_enabled, 507, 5),
};
LAYOUT(port_layout, struct smp_port_info, smp_port_info_decode, smp_port_info_encode, 64, 64,
       port_fields);

#define G(member, bit, width) FIELD(struct smp_sm_info, member, bit, width)
static const struct field sm_fields[] = {
	/* IBTA 14.2.5.13, table "SMInfo" */
	G(guid, 0, 64),	     G(sm_key, 64, 64), G(act_count, 128, 32),
	G(priority, 160, 4), G(state, 164, 4),
};
LAYOUT(sm_layout, struct smp_sm_info, smp_sm_info_decode, smp_sm_info_encode, 21, 21, sm_fields);

static void test_node_info_layout(void **state)
{
	layout_check(&node_layout);
}

static void test_switch_info_layout(void **state)
{
	layout_check(&switch_layout);
}

static void test_port_info_layout(void **state)
{
	layout_check(&port_layout);
}

static void test_sm_info_layout(void **state)
{
	layout_check(&sm_layout);
}

/*
 * The expected octets are answers of ibsim 0.10 (with OpenSM 3.3.23), and the expected values are
 * the output of smpquery.
 */

static void test_node_info_golden(void **state)
{
	struct smp_node_info i;
	uint8_t b[40], out[40];

	assert_int_equal(layout_hex(b, sizeof(b),
				    "01010204 0000000000200000 0000000000200000 0000000000200000"
				    "0008 0000 000000a1 01000000"),
			 40);
	assert_int_equal(smp_node_info_decode(&i, b, sizeof(b)), 0);
	assert_int_equal(i.base_version, 1);
	assert_int_equal(i.class_version, 1);
	assert_int_equal(i.node_type, IB_NODE_SWITCH);
	assert_int_equal(i.nports, 4);
	assert_true(i.sys_guid == 0x200000 && i.node_guid == 0x200000 && i.port_guid == 0x200000);
	assert_int_equal(i.pkey_cap, 8);
	assert_int_equal(i.revision, 0xa1);
	assert_int_equal(i.local_port, 1);
	assert_int_equal(i.vendor_id, 0);
	smp_node_info_encode(out, &i);
	assert_memory_equal(out, b, sizeof(b));
}

static void test_switch_info_golden(void **state)
{
	struct smp_switch_info i;
	uint8_t b[20], out[20];

	layout_hex(b, sizeof(b), "7800 0000 0400 0003 000000 90 0000 0040 30 00 0000");
	assert_int_equal(smp_switch_info_decode(&i, b, sizeof(b)), 0);
	assert_int_equal(i.lft_cap, 30720);
	assert_int_equal(i.mft_cap, 1024);
	assert_int_equal(i.lft_top, 3);
	assert_int_equal(i.life_time, 18);
	assert_false(i.port_state_change);
	assert_int_equal(i.enforce_cap, 64);
	assert_true(i.filter_raw_in && i.filter_raw_out);
	assert_false(i.inbound_enforce || i.outbound_enforce || i.enhanced_port0);
	smp_switch_info_encode(out, &i);
	assert_memory_equal(out, b, sizeof(b));
}

static void test_port_info_golden(void **state)
{
	struct smp_port_info i;
	uint8_t b[64], out[64];

	assert_int_equal(layout_hex(b, sizeof(b),
				    "0000000000000000 fe80000000000000 0001 0001 0050c04a 0000 0ff9"
				    "01021f02 74520011 40400008 0804e040 0000 0000 0000 201f"
				    "0000 0000 00000000 0030 0000"),
			 64);
	assert_int_equal(smp_port_info_decode(&i, b, sizeof(b)), 0);
	assert_true(i.gid_prefix == IB_SUBNET_PREFIX_DEFAULT);
	assert_int_equal(i.lid, 1);
	assert_int_equal(i.sm_lid, 1);
	assert_int_equal(i.cap_mask, SMP_CAP_IS_SM | SMP_CAP_IS_TRAP | SMP_CAP_IS_SL_MAP |
					     SMP_CAP_IS_EXT_SPEEDS | SMP_CAP_IS_CAP_MASK2 |
					     SMP_CAP_IS_VENDOR_CLASS | SMP_CAP_IS_CAP_MASK_NOTICE);
	assert_int_equal(i.mkey_lease, 4089);
	assert_int_equal(i.local_port, 1);
	assert_int_equal(i.width_enabled, 2);
	assert_int_equal(i.width_supported, 0x1f);
	assert_int_equal(i.width_active, 2);
	assert_int_equal(i.speed_supported, 7);
	assert_int_equal(i.port_state, IB_PORT_ACTIVE);
	assert_int_equal(i.phys_state, IB_PHYS_LINK_UP);
	assert_int_equal(i.down_default, IB_PHYS_POLLING);
	assert_int_equal(i.speed_active, 1);
	assert_int_equal(i.speed_enabled, 1);
	assert_int_equal(i.neighbor_mtu, IB_MTU_2048);
	assert_int_equal(i.vl_cap, 4);
	assert_int_equal(i.vlarb_high_cap, 8);
	assert_int_equal(i.vlarb_low_cap, 8);
	assert_int_equal(i.mtu_cap, IB_MTU_2048);
	assert_int_equal(i.vl_stall, 7);
	assert_int_equal(i.oper_vls, 4);
	assert_int_equal(i.guid_cap, 32);
	assert_false(i.client_reregister);
	assert_int_equal(i.subnet_timeout, 31);
	assert_int_equal(i.cap_mask2, 0x30);
	smp_port_info_encode(out, &i);
	assert_memory_equal(out, b, sizeof(b));
}

static void test_sm_info_golden(void **state)
{
	struct smp_sm_info i;
	uint8_t b[21], out[21];

	layout_hex(b, sizeof(b), "0000000000100001 0000000000000001 0000002b 03");
	assert_int_equal(smp_sm_info_decode(&i, b, sizeof(b)), 0);
	assert_true(i.guid == 0x100001 && i.sm_key == 1);
	assert_int_equal(i.act_count, 43);
	assert_int_equal(i.priority, 0);
	assert_int_equal(i.state, SMP_SM_MASTER);
	smp_sm_info_encode(out, &i);
	assert_memory_equal(out, b, sizeof(b));
}

static void test_sltovl_golden(void **state)
{
	uint8_t b[8], out[8], vl[16];

	layout_hex(b, sizeof(b), "0123456789abcde7");
	assert_int_equal(smp_sltovl_decode(vl, b, sizeof(b)), 0);
	for (unsigned int sl = 0; sl < 15; sl++)
		assert_int_equal(vl[sl], sl);
	assert_int_equal(vl[15], 7);
	smp_sltovl_encode(out, vl);
	assert_memory_equal(out, b, sizeof(b));
	for (size_t n = 0; n < 8; n++)
		assert_int_equal(smp_sltovl_decode(vl, b, n), -EBADMSG);
}

static void test_vlarb_golden(void **state)
{
	struct smp_vlarb_entry e[32];
	uint8_t b[64] = { 0 }, out[64];

	layout_hex(b, 16, "0000 0104 0204 0304 0404 0504 0604 0704");
	assert_int_equal(smp_vlarb_decode(e, b, sizeof(b)), 0);
	for (unsigned int i = 0; i < 32; i++) {
		assert_int_equal(e[i].vl, i < 8 ? i : 0);
		assert_int_equal(e[i].weight, i > 0 && i < 8 ? 4 : 0);
	}
	smp_vlarb_encode(out, e);
	assert_memory_equal(out, b, sizeof(b));
	for (size_t n = 0; n < 64; n++)
		assert_int_equal(smp_vlarb_decode(e, b, n), -EBADMSG);

	/* The high half of a VL octet is reserved, so it must be ignored. */
	memset(b, 0xff, sizeof(b));
	assert_int_equal(smp_vlarb_decode(e, b, sizeof(b)), 0);
	assert_int_equal(e[31].vl, 15);
	smp_vlarb_encode(out, e);
	assert_int_equal(out[62], 0x0f);
	assert_int_equal(out[63], 0xff);
}

static void test_table_blocks(void **state)
{
	uint16_t pkeys[32], masks[32];
	uint64_t guids[8];
	uint8_t b[64], out[64];

	for (unsigned int i = 0; i < 64; i++)
		b[i] = (uint8_t)i;
	assert_int_equal(smp_pkey_block_decode(pkeys, b, sizeof(b)), 0);
	assert_int_equal(pkeys[0], 0x0001);
	assert_int_equal(pkeys[31], 0x3e3f);
	smp_pkey_block_encode(out, pkeys);
	assert_memory_equal(out, b, sizeof(b));
	assert_int_equal(smp_mft_block_decode(masks, b, sizeof(b)), 0);
	assert_int_equal(masks[16], 0x2021);
	memset(out, 0, sizeof(out));
	smp_mft_block_encode(out, masks);
	assert_memory_equal(out, b, sizeof(b));
	assert_int_equal(smp_guid_block_decode(guids, b, sizeof(b)), 0);
	assert_true(guids[7] == 0x38393a3b3c3d3e3full);
	memset(out, 0, sizeof(out));
	smp_guid_block_encode(out, guids);
	assert_memory_equal(out, b, sizeof(b));

	for (size_t n = 0; n < 64; n++) {
		assert_int_equal(smp_pkey_block_decode(pkeys, b, n), -EBADMSG);
		assert_int_equal(smp_mft_block_decode(masks, b, n), -EBADMSG);
		assert_int_equal(smp_guid_block_decode(guids, b, n), -EBADMSG);
	}
}

/* Start of the 256 octets that `smpquery nodeinfo -D 0,1` sends */
static const char dr_request[] = "0181010100000001000000004d2bbf4b00110000000000000000000000000000"
				 "ffffffff";

static void test_smp_golden_directed_route(void **state)
{
	uint8_t b[256] = { 0 }, out[256];
	struct mad_hdr h;
	struct smp_dr dr;

	layout_hex(b, 36, dr_request);
	b[129] = 1;
	assert_int_equal(smp_hdr_decode(&h, &dr, b, sizeof(b)), 0);
	assert_int_equal(h.method, MAD_METHOD_GET);
	assert_int_equal(h.class_specific, 1);
	assert_int_equal(dr.dr_slid, IB_LID_PERMISSIVE);
	assert_int_equal(dr.dr_dlid, IB_LID_PERMISSIVE);
	assert_int_equal(dr.initial_path[1], 1);
	assert_int_equal(dr.initial_path[2], 0);
	memset(out, 0xcc, sizeof(out));
	smp_encode(out, &h, &dr, NULL);
	assert_memory_equal(out, b, sizeof(b));
}

/* Made by hand from 14.2.1.2: every field of a directed-route SMP must be at its place. */
static void test_smp_places(void **state)
{
	struct mad_hdr h = { .base_version = 1, .mgmt_class = MAD_CLASS_SM_DR, .class_version = 1 };
	struct smp_dr dr = { .mkey = 0x1122334455667788ull, .dr_slid = 0x99aa, .dr_dlid = 0xbbcc };
	uint8_t data[64], out[256];

	for (unsigned int i = 0; i < 64; i++) {
		data[i] = (uint8_t)(i + 1);
		dr.initial_path[i] = (uint8_t)(i + 65);
		dr.return_path[i] = (uint8_t)(i + 129);
	}
	smp_encode(out, &h, &dr, data);
	assert_true(be64_at(out + SMP_OFF_MKEY) == dr.mkey);
	assert_int_equal(be16_at(out + 32), 0x99aa);
	assert_int_equal(be16_at(out + 34), 0xbbcc);
	for (unsigned int i = 36; i < 64; i++)
		assert_int_equal(out[i], 0);
	assert_memory_equal(out + 64, data, 64);
	assert_memory_equal(smp_data(out), data, 64);
	assert_int_equal(out[128], 0); /* octet 0 of a path is reserved */
	assert_memory_equal(out + 129, dr.initial_path + 1, 63);
	assert_int_equal(out[192], 0);
	assert_memory_equal(out + 193, dr.return_path + 1, 63);
}

/*
 * Decode an SMP of all ones, and encode it again. The reserved fields of its header must then be
 * zero, and its data must be unchanged.
 */
static void test_smp_reserved(void **state)
{
	uint8_t b[256], out[256], want[256];
	struct mad_hdr h;
	struct smp_dr dr;

	memset(b, 0xff, sizeof(b));
	b[1] = MAD_CLASS_SM_DR;
	memcpy(want, b, sizeof(want));
	memset(want + 18, 0, 2);
	memset(want + 36, 0, 28);
	want[128] = want[192] = 0;
	assert_int_equal(smp_hdr_decode(&h, &dr, b, sizeof(b)), 0);
	smp_encode(out, &h, &dr, smp_data(b));
	assert_memory_equal(out, want, sizeof(out));

	/*
	 * 14.2.1.1: of the fields after the MAD header, an SMP of class 0x01 has only M_Key and
	 * data.
	 */
	b[1] = want[1] = MAD_CLASS_SM_LID;
	memset(want + 32, 0, 32);
	memset(want + 128, 0, 128);
	assert_int_equal(smp_hdr_decode(&h, &dr, b, sizeof(b)), 0);
	assert_int_equal(dr.dr_dlid, 0);
	smp_encode(out, &h, &dr, smp_data(b));
	assert_memory_equal(out, want, sizeof(out));
}

static void test_smp_refused(void **state)
{
	uint8_t b[256] = { 1, MAD_CLASS_SM_DR };
	struct mad_hdr h = { .tid = 5 };
	struct smp_dr dr = { .mkey = 6 };

	for (size_t n = 0; n < sizeof(b); n++) {
		uint8_t *p = malloc(n ? n : 1);

		assert_non_null(p);
		memcpy(p, b, n);
		assert_int_equal(smp_hdr_decode(&h, &dr, p, n), -EBADMSG);
		free(p);
	}
	b[1] = MAD_CLASS_SA;
	assert_int_equal(smp_hdr_decode(&h, &dr, b, sizeof(b)), -EBADMSG);
	assert_true(h.tid == 5 && dr.mkey == 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_node_info_layout),
		cmocka_unit_test(test_node_info_golden),
		cmocka_unit_test(test_switch_info_layout),
		cmocka_unit_test(test_switch_info_golden),
		cmocka_unit_test(test_port_info_layout),
		cmocka_unit_test(test_port_info_golden),
		cmocka_unit_test(test_sm_info_layout),
		cmocka_unit_test(test_sm_info_golden),
		cmocka_unit_test(test_sltovl_golden),
		cmocka_unit_test(test_vlarb_golden),
		cmocka_unit_test(test_table_blocks),
		cmocka_unit_test(test_smp_golden_directed_route),
		cmocka_unit_test(test_smp_places),
		cmocka_unit_test(test_smp_reserved),
		cmocka_unit_test(test_smp_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

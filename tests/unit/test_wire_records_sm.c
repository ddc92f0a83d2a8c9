/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/records_sm.h"

#include "check.h"
#include "layout.h"
#include "util/list.h"

#define L(member, bit, width) FIELD(struct ib_link_rec, member, bit, width)
static const struct field link_fields[] = {
	/* IBTA 15.2.5.13, table "LinkRecord" */
	L(from_lid, 0, 16),
	L(from_port, 16, 8),
	L(to_port, 24, 8),
	L(to_lid, 32, 16),
};
LAYOUT(link_layout, struct ib_link_rec, ib_link_rec_decode, ib_link_rec_encode, 8, 8, link_fields);

#define I(member, bit, width) FIELD(struct ib_sm_info_rec, member, bit, width)
static const struct field sm_info_fields[] = {
	/* IBTA 15.2.5.10: LID, 16 reserved bits, SMInfo */
	I(lid, 0, 16),
	I(info.guid, 32, 64),
	I(info.sm_key, 96, 64),
	I(info.act_count, 160, 32),
	I(info.priority, 192, 4),
	I(info.state, 196, 4),
};
LAYOUT(sm_info_layout, struct ib_sm_info_rec, ib_sm_info_rec_decode, ib_sm_info_rec_encode, 32, 32,
       sm_info_fields);

#define W(member, bit, width) FIELD(struct ib_switch_info_rec, member, bit, width)
static const struct field switch_fields[] = {
	/* IBTA 15.2.5.5: LID, 16 reserved bits, SwitchInfo */
	W(lid, 0, 16),
	W(info.lft_cap, 32, 16),
	W(info.rft_cap, 48, 16),
	W(info.mft_cap, 64, 16),
	W(info.lft_top, 80, 16),
	W(info.default_port, 96, 8),
	W(info.default_mcast_primary, 104, 8),
	W(info.default_mcast_not_primary, 112, 8),
	W(info.life_time, 120, 5),
	W(info.port_state_change, 125, 1),
	W(info.opt_sl2vl, 126, 2),
	W(info.lids_per_port, 128, 16),
	W(info.enforce_cap, 144, 16),
	W(info.inbound_enforce, 160, 1),
	W(info.outbound_enforce, 161, 1),
	W(info.filter_raw_in, 162, 1),
	W(info.filter_raw_out, 163, 1),
	W(info.enhanced_port0, 164, 1),
	W(info.mft_top, 176, 16),
};
LAYOUT(switch_layout, struct ib_switch_info_rec, ib_switch_info_rec_decode,
       ib_switch_info_rec_encode, 24, 24, switch_fields);

#define V(member, bit, width) FIELD(struct ib_sltovl_rec, member, bit, width)
static const struct field sltovl_fields[] = {
	/* IBTA 15.2.5.4, table "SLtoVLMappingTableRecord" */
	V(lid, 0, 16),
	V(in_port, 16, 8),
	V(out_port, 24, 8),
	V(data, 64, 64),
};
LAYOUT(sltovl_layout, struct ib_sltovl_rec, ib_sltovl_rec_decode, ib_sltovl_rec_encode, 16, 16,
       sltovl_fields);

#define T(member, bit, width) FIELD(struct ib_table_rec, member, bit, width)
static const struct field lft_fields[] = { T(lid, 0, 16), T(block, 16, 16), T(data, 64, 512) };
LAYOUT(lft_layout, struct ib_table_rec, ib_lft_rec_decode, ib_lft_rec_encode, 72, 72, lft_fields);

static const struct field mft_fields[] = {
	T(lid, 0, 16),
	T(position, 16, 4),
	T(block, 23, 9),
	T(data, 64, 512),
};
LAYOUT(mft_layout, struct ib_table_rec, ib_mft_rec_decode, ib_mft_rec_encode, 72, 72, mft_fields);

static const struct field pkey_fields[] = {
	T(lid, 0, 16),
	T(block, 16, 16),
	T(port, 32, 8),
	T(data, 64, 512),
};
LAYOUT(pkey_layout, struct ib_table_rec, ib_pkey_table_rec_decode, ib_pkey_table_rec_encode, 72, 72,
       pkey_fields);

static const struct field vlarb_fields[] = {
	T(lid, 0, 16),
	T(port, 16, 8),
	T(block, 24, 8),
	T(data, 64, 512),
};
LAYOUT(vlarb_layout, struct ib_table_rec, ib_vlarb_rec_decode, ib_vlarb_rec_encode, 72, 72,
       vlarb_fields);

static const struct field guid_fields[] = { T(lid, 0, 16), T(block, 16, 8), T(data, 64, 512) };
LAYOUT(guid_layout, struct ib_table_rec, ib_guid_info_rec_decode, ib_guid_info_rec_encode, 72, 72,
       guid_fields);

/*
 * Decode a copy of the record @p in which the numbers of GIDs are zero. The length that a record
 * must have depends on these numbers.
 */
static int multi_decode(struct ib_multi_path_rec *ret, const void *p, size_t len)
{
	uint8_t w[MULTI_PATH_REC_LEN];

	if (len < sizeof(w))
		return -EBADMSG;
	memcpy(w, p, sizeof(w));
	w[15] = w[16] = 0;
	return ib_multi_path_rec_decode(ret, w, sizeof(w));
}

#define M(member, bit, width) FIELD(struct ib_multi_path_rec, member, bit, width)
static const struct field multi_fields[] = {
	/*
	 * IBTA 15.2.5.20, table "MultiPathRecord", without the ServiceID, which is in two pieces
	 * and has a test of its own.
	 */
	M(path.raw, 0, 1),	  M(path.flow_label, 4, 20), M(path.hop_limit, 24, 8),
	M(path.tclass, 32, 8),	  M(path.reversible, 40, 1), M(path.numb_path, 41, 7),
	M(path.pkey, 48, 16),	  M(path.qos_class, 64, 12), M(path.sl, 76, 4),
	M(path.mtu_sel, 80, 2),	  M(path.mtu_code, 82, 6),   M(path.rate_sel, 88, 2),
	M(path.rate_code, 90, 6), M(path.life_sel, 96, 2),   M(path.life, 98, 6),
	M(independence, 112, 2),
};

#define LAYOUT_CASE(name)                              \
	static void test_##name##_layout(void **state) \
	{                                              \
		layout_check(&name##_layout);          \
	}
LAYOUT_CASE(link)
LAYOUT_CASE(sm_info)
LAYOUT_CASE(switch)
LAYOUT_CASE(sltovl)
LAYOUT_CASE(lft)
LAYOUT_CASE(mft)
LAYOUT_CASE(pkey)
LAYOUT_CASE(vlarb)
LAYOUT_CASE(guid)

/*
 * InformInfoRecord (15.2.5.12): SubscriberGID, Enum, 48 reserved bits, InformInfo (whose layout
 * test_wire_mad.c tests), padding
 */
static void test_inform_is_gid_number_info(void **state)
{
	const struct ib_inform_rec rec = {
		.subscriber = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, 0x100001),
		.number = 0x1234,
		.info = { .lid_begin = 0xffff,
			  .generic = true,
			  .subscribe = true,
			  .type = 0xffff,
			  .trap = 64,
			  .qpn = 1,
			  .resp_time = 19,
			  .producer = 0xffffff },
	};
	uint8_t w[INFORM_REC_LEN], info[MAD_INFORM_INFO_LEN], zero[6] = { 0 };
	struct ib_inform_rec back;

	memset(w, 0xee, sizeof(w));
	ib_inform_rec_encode(w, &rec);
	mad_inform_info_encode(info, &rec.info);
	assert_memory_equal(w, &rec.subscriber, 16);
	assert_int_equal(be16_at(w + 16), 0x1234);
	assert_memory_equal(w + 18, zero, 6);
	assert_memory_equal(w + 24, info, sizeof(info));
	assert_memory_equal(w + 60, zero, 4);
	for (size_t len = 0; len < sizeof(w); len++)
		assert_int_equal(ib_inform_rec_decode(&back, w, len), -EBADMSG);
	memset(&back, 0, sizeof(back));
	assert_int_equal(ib_inform_rec_decode(&back, w, sizeof(w)), 0);
	assert_int_equal(back.number, rec.number);
	assert_true(ib_gid_equal(&back.subscriber, &rec.subscriber));
	assert_int_equal(back.info.trap, 64);
	assert_int_equal(back.info.qpn, 1);
}

/* Return a member of 1, 2, 4 or 8 octets in host order. */
static uint64_t field_get(const void *rec, const struct field *f)
{
	union {
		uint8_t u8;
		uint16_t u16;
		uint32_t u32;
		uint64_t u64;
	} v = { .u64 = 0 };

	memcpy(&v, (const uint8_t *)rec + f->offset, f->size);
	return f->size == 1 ? v.u8 : f->size == 2 ? v.u16 : f->size == 4 ? v.u32 : v.u64;
}

/*
 * Test the layout field by field, except the numbers of GIDs, because the length of the record must
 * match them.
 */
static void test_multi_path_layout(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(multi_fields); i++) {
		const struct field *f = &multi_fields[i];
		uint8_t w[MULTI_PATH_REC_LEN] = { 0 }, out[MULTI_PATH_REC_LEN];
		struct ib_multi_path_rec r, zero;
		uint64_t got;

		assert_int_equal(multi_decode(&zero, w, sizeof(w)), 0);
		for (unsigned int b = f->bit; b < f->bit + f->width; b++)
			w[b / 8] |= (uint8_t)(0x80 >> b % 8);
		assert_int_equal(multi_decode(&r, w, sizeof(w)), 0);
		got = field_get(&r, f);
		assert_int_equal(got, (1ull << f->width) - 1);
		ib_multi_path_rec_encode(out, &r);
		assert_memory_equal(out, w, sizeof(w));
		/* No other member was changed. */
		memset((uint8_t *)&r + f->offset, 0, f->size);
		assert_memory_equal(&r, &zero, sizeof(r));
	}
}

static void test_multi_path_service_id_is_in_two_pieces(void **state)
{
	struct ib_multi_path_rec r = { .path.service_id = 0x0123456789abcdef };
	uint8_t w[MULTI_PATH_REC_LEN];

	ib_multi_path_rec_encode(w, &r);
	assert_int_equal(w[13], 0x01);
	assert_int_equal(be64_at(w + 16) & 0xffffffffffffff, 0x23456789abcdef);
	memset(&r, 0, sizeof(r));
	assert_int_equal(ib_multi_path_rec_decode(&r, w, sizeof(w)), 0);
	assert_true(r.path.service_id == 0x0123456789abcdef);
}

static void test_multi_path_gids_are_counted(void **state)
{
	struct ib_multi_path_rec r = { .nsgid = 2, .ndgid = 1 }, back;
	uint8_t w[MULTI_PATH_REC_LEN + 3 * 16];

	for (unsigned int i = 0; i < 3; i++)
		r.gid[i] = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, i + 1);
	ib_multi_path_rec_encode(w, &r);
	assert_int_equal(w[15], 2);
	assert_int_equal(w[16], 1);
	for (size_t len = 0; len < sizeof(w); len++)
		assert_int_equal(ib_multi_path_rec_decode(&back, w, len), -EBADMSG);
	assert_int_equal(ib_multi_path_rec_decode(&back, w, sizeof(w)), 0);
	assert_memory_equal(&back, &r, sizeof(r));
	w[15] = 255; /* more GIDs than one MAD holds */
	w[16] = 255;
	assert_int_equal(ib_multi_path_rec_decode(&back, w, sizeof(w)), -EBADMSG);
	w[15] = 11;
	w[16] = 1;
	assert_int_equal(ib_multi_path_rec_decode(&back, w, 1024), -EBADMSG);
}

/*
 * The expected octets are answers of OpenSM 3.3.23 on ibsim, and the expected values are the output
 * of saquery.
 */

static void test_link_golden(void **state)
{
	struct ib_link_rec r;
	uint8_t b[8], out[8];

	assert_int_equal(layout_hex(b, sizeof(b), "0001 01 01 0002 0000"), 8);
	assert_int_equal(ib_link_rec_decode(&r, b, sizeof(b)), 0);
	assert_int_equal(r.from_lid, 1);
	assert_int_equal(r.from_port, 1);
	assert_int_equal(r.to_port, 1);
	assert_int_equal(r.to_lid, 2);
	ib_link_rec_encode(out, &r);
	assert_memory_equal(out, b, sizeof(b));
}

static void test_sm_info_golden(void **state)
{
	struct ib_sm_info_rec r;
	uint8_t b[32], out[32];

	assert_int_equal(layout_hex(b, sizeof(b),
				    "0001 0000 0000000000100001 0000000000000000 00000072"
				    "03 00000000000000"),
			 32);
	assert_int_equal(ib_sm_info_rec_decode(&r, b, sizeof(b)), 0);
	assert_int_equal(r.lid, 1);
	assert_true(r.info.guid == 0x100001 && r.info.sm_key == 0);
	assert_int_equal(r.info.act_count, 114);
	assert_int_equal(r.info.priority, 0);
	assert_int_equal(r.info.state, SMP_SM_MASTER);
	ib_sm_info_rec_encode(out, &r);
	assert_memory_equal(out, b, sizeof(b));
}

static void test_switch_info_golden(void **state)
{
	struct ib_switch_info_rec r;
	uint8_t b[24], out[24];

	assert_int_equal(layout_hex(b, sizeof(b),
				    "0002 0000 7800 0000 0400 0006 00 00 00 90 0000 0040 30 00"
				    "0000"),
			 24);
	assert_int_equal(ib_switch_info_rec_decode(&r, b, sizeof(b)), 0);
	assert_int_equal(r.lid, 2);
	assert_int_equal(r.info.lft_cap, 0x7800);
	assert_int_equal(r.info.mft_cap, 0x400);
	assert_int_equal(r.info.lft_top, 6);
	assert_int_equal(r.info.life_time, 18);
	assert_int_equal(r.info.enforce_cap, 0x40);
	assert_true(r.info.filter_raw_in && r.info.filter_raw_out && !r.info.inbound_enforce);
	ib_switch_info_rec_encode(out, &r);
	assert_memory_equal(out, b, sizeof(b));
}

static void test_table_goldens(void **state)
{
	struct ib_table_rec r;
	uint8_t b[72] = { 0 }, out[72];

	layout_hex(b, sizeof(b), "0002 0000 00000000 ff010003020303ff");
	memset(b + 15, 0xff, sizeof(b) - 15);
	assert_int_equal(ib_lft_rec_decode(&r, b, sizeof(b)), 0);
	assert_int_equal(r.lid, 2);
	assert_int_equal(r.block, 0);
	assert_int_equal(r.data[4], 2);
	ib_lft_rec_encode(out, &r);
	assert_memory_equal(out, b, sizeof(b));

	memset(b, 0, sizeof(b));
	layout_hex(b, sizeof(b), "0002 0000 01000000 ffff");
	assert_int_equal(ib_pkey_table_rec_decode(&r, b, sizeof(b)), 0);
	assert_int_equal(r.port, 1);
	assert_int_equal(be16_at(r.data), 0xffff);
	ib_pkey_table_rec_encode(out, &r);
	assert_memory_equal(out, b, sizeof(b));

	memset(b, 0, sizeof(b));
	layout_hex(b, sizeof(b), "0002 01 01 00000000");
	assert_int_equal(ib_vlarb_rec_decode(&r, b, sizeof(b)), 0);
	assert_int_equal(r.port, 1);
	assert_int_equal(r.block, 1);
	ib_vlarb_rec_encode(out, &r);
	assert_memory_equal(out, b, sizeof(b));

	memset(b, 0, sizeof(b));
	layout_hex(b, sizeof(b), "0002 00 00 00000000 0000000000200000");
	assert_int_equal(ib_guid_info_rec_decode(&r, b, sizeof(b)), 0);
	assert_true(be64_at(r.data) == 0x200000);
	ib_guid_info_rec_encode(out, &r);
	assert_memory_equal(out, b, sizeof(b));
}

static void test_sltovl_golden(void **state)
{
	struct ib_sltovl_rec r;
	uint8_t b[16], out[16];

	assert_int_equal(layout_hex(b, sizeof(b), "0002 01 02 00000000 0000000000000000"), 16);
	assert_int_equal(ib_sltovl_rec_decode(&r, b, sizeof(b)), 0);
	assert_int_equal(r.in_port, 1);
	assert_int_equal(r.out_port, 2);
	ib_sltovl_rec_encode(out, &r);
	assert_memory_equal(out, b, sizeof(b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_link_layout),
		cmocka_unit_test(test_sm_info_layout),
		cmocka_unit_test(test_switch_layout),
		cmocka_unit_test(test_sltovl_layout),
		cmocka_unit_test(test_lft_layout),
		cmocka_unit_test(test_mft_layout),
		cmocka_unit_test(test_pkey_layout),
		cmocka_unit_test(test_vlarb_layout),
		cmocka_unit_test(test_guid_layout),
		cmocka_unit_test(test_inform_is_gid_number_info),
		cmocka_unit_test(test_multi_path_layout),
		cmocka_unit_test(test_multi_path_service_id_is_in_two_pieces),
		cmocka_unit_test(test_multi_path_gids_are_counted),
		cmocka_unit_test(test_link_golden),
		cmocka_unit_test(test_sm_info_golden),
		cmocka_unit_test(test_switch_info_golden),
		cmocka_unit_test(test_table_goldens),
		cmocka_unit_test(test_sltovl_golden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/sa.h"

#include "check.h"
#include "layout.h"

#define R(member, bit, width) FIELD(struct rmpp_hdr, member, bit, width)
static const struct field rmpp_fields[] = {
	/* IBTA 13.6.2.1: RRespTime and RMPPFlags share one octet, octet 2. */
	R(version, 0, 8), R(type, 8, 8),    R(resp_time, 16, 5), R(flags, 21, 3),
	R(status, 24, 8), R(data1, 32, 32), R(data2, 64, 32),
};
LAYOUT(rmpp_layout, struct rmpp_hdr, rmpp_hdr_decode, rmpp_hdr_encode, 12, 12, rmpp_fields);

#define S(member, bit, width) FIELD(struct sa_hdr, member, bit, width)
static const struct field sa_fields[] = {
	/* IBTA 15.2.1.1: 16 reserved bits after AttributeOffset */
	S(sm_key, 0, 64),
	S(attr_offset, 64, 16),
	S(comp_mask, 96, 64),
};
LAYOUT(sa_layout, struct sa_hdr, sa_hdr_decode, sa_hdr_encode, 20, 20, sa_fields);

static void test_rmpp_hdr_layout(void **state)
{
	layout_check(&rmpp_layout);
}

static void test_sa_hdr_layout(void **state)
{
	layout_check(&sa_layout);
}

/*
 * Clause I20: the only segment of a GetTableResp must have the flags Active, First and Last, and
 * RRespTime 31, which means that no response time is given.
 */
static void test_rmpp_hdr_single_segment(void **state)
{
	struct rmpp_hdr h = {
		.version = RMPP_VERSION,
		.type = RMPP_TYPE_DATA,
		.resp_time = 31,
		.flags = RMPP_FLAG_ACTIVE | RMPP_FLAG_FIRST | RMPP_FLAG_LAST,
		.data1 = 1,
		.data2 = 132,
	};
	uint8_t out[12], want[12];

	layout_hex(want, sizeof(want), "01 01 ff 00 00000001 00000084");
	rmpp_hdr_encode(out, &h);
	assert_memory_equal(out, want, sizeof(out));
}

/*
 * First octets of the request that `saquery PR --src-to-dst 1:2` sends; it gives DLID, SLID and
 * NumbPath
 */
static void test_sa_mad_golden_request(void **state)
{
	uint8_t b[256] = { 0 };
	struct sa_mad m;

	assert_int_equal(layout_hex(b, 56,
				    "01030212 0000 0000 00000000420e0741 0035 0000 00000000"
				    "00000000 00000000 00000000"
				    "0000000000000000 0000 0000 0000000000001030"),
			 56);
	assert_int_equal(sa_mad_decode(&m, b, sizeof(b)), 0);
	assert_int_equal(m.mad.mgmt_class, MAD_CLASS_SA);
	assert_int_equal(m.mad.class_version, 2);
	assert_int_equal(m.mad.method, MAD_METHOD_GET_TABLE);
	assert_int_equal(m.mad.attr_id, SA_ATTR_PATH_RECORD);
	assert_int_equal(m.rmpp.type, RMPP_TYPE_NONE);
	assert_true(m.sa.comp_mask == 0x1030);
	assert_ptr_equal(m.data, b + SA_DATA_OFF);
	assert_int_equal(m.data_len, SA_DATA_LEN);
}

static void test_sa_mad_encode_whole(void **state)
{
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = 2,
		.method = MAD_METHOD_SET,
		.tid = 0x420e0741,
		.attr_id = SA_ATTR_MCMEMBER_RECORD,
	};
	struct sa_hdr sa = { .sm_key = 7, .attr_offset = 0x0809, .comp_mask = 0x10083 };
	uint8_t out[256], want[256] = { 0 };

	layout_hex(want, 24, "01030202 0000 0000 00000000420e0741 0038 0000 00000000");
	layout_hex(want + 36, 20, "0000000000000007 0809 0000 0000000000010083");
	memset(out, 0xcc, sizeof(out));
	sa_mad_encode(out, &h, &sa);
	assert_memory_equal(out, want, sizeof(out));
}

static void test_sa_mad_refused(void **state)
{
	struct sa_mad m = { .data_len = 12345 };
	uint8_t b[256] = { 1, MAD_CLASS_PERF };

	assert_int_equal(sa_mad_decode(&m, b, sizeof(b)), -EBADMSG);
	b[1] = MAD_CLASS_SA;
	for (size_t n = 0; n < SA_DATA_OFF; n++) {
		uint8_t *p = malloc(n ? n : 1);

		assert_non_null(p);
		memcpy(p, b, n);
		assert_int_equal(sa_mad_decode(&m, p, n), -EBADMSG);
		free(p);
	}
	assert_int_equal(m.data_len, 12345);
	assert_int_equal(sa_mad_decode(&m, b, SA_DATA_OFF), 0);
	assert_int_equal(m.data_len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rmpp_hdr_layout),
		cmocka_unit_test(test_rmpp_hdr_single_segment),
		cmocka_unit_test(test_sa_hdr_layout),
		cmocka_unit_test(test_sa_mad_golden_request),
		cmocka_unit_test(test_sa_mad_encode_whole),
		cmocka_unit_test(test_sa_mad_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

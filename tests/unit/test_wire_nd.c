/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/nd.h"

#include <errno.h>

#include "check.h"

/*
 * The option of RFC 4391 §9.3, figure 6: Type, Length 3, 16 zero bits, then the link-layer address
 * of §9.1.1
 */
static const uint8_t slla[] = { 1, 3, 0, 0, 0x00, 0x00, 0x04, 0x04, 0xfe, 0x80, 0, 0,
				0, 0, 0, 0, 0x00, 0x02, 0xc9, 0x03, 0,	  0,	0, 1 };

static void test_R57_lladdr_option_is_three_units(void **state)
{
	size_t pos = 0;
	struct ipoib_lladdr a;
	struct nd_opt o;
	uint8_t out[24];

	assert_int_equal(nd_opt_next(&o, slla, sizeof(slla), &pos), 1);
	assert_int_equal(pos, 24);
	assert_int_equal(o.type, ND_OPT_SLLA);
	assert_int_equal(o.len, ND_OPT_LLADDR_IPOIB);
	assert_int_equal(nd_opt_lladdr_decode(&a, &o), 0);
	assert_int_equal(a.qpn, 0x404);
	assert_memory_equal(a.gid.raw, slla + 8, 16);
	assert_int_equal(nd_opt_next(&o, slla, sizeof(slla), &pos), 0);

	nd_opt_lladdr_encode(out, ND_OPT_SLLA, &a);
	assert_memory_equal(out, slla, sizeof(out));
	nd_opt_lladdr_encode(out, ND_OPT_TLLA, &a);
	assert_int_equal(out[0], 2);
	assert_memory_equal(out + 1, slla + 1, 23);
}

static void test_R58_two_zero_octets_before_the_address(void **state)
{
	struct ipoib_lladdr a = { .flags = 0x80, .qpn = 0xffffff };
	uint8_t out[24];

	memset(out, 0xff, sizeof(out));
	nd_opt_lladdr_encode(out, ND_OPT_TLLA, &a);
	assert_int_equal(out[1], 3);
	assert_int_equal(out[2], 0);
	assert_int_equal(out[3], 0);
	/* Clause R47: the reserved octet of the link-layer address must be sent as zero, too. */
	assert_int_equal(out[4], 0);
	assert_int_equal(out[5], 0xff);
}

static void test_R57_option_of_other_type_or_length_is_refused(void **state)
{
	uint8_t buf[8 * 255] = { 0 };
	struct ipoib_lladdr a;
	struct nd_opt o;

	for (unsigned int units = 1; units < 256; units++) {
		size_t pos = 0;

		buf[0] = ND_OPT_TLLA;
		buf[1] = (uint8_t)units;
		assert_int_equal(nd_opt_next(&o, buf, sizeof(buf), &pos), 1);
		assert_int_equal(nd_opt_lladdr_decode(&a, &o), units == 3 ? 0 : -EBADMSG);
	}
	for (unsigned int type = 0; type < 256; type++) {
		size_t pos = 0;

		buf[0] = (uint8_t)type;
		buf[1] = 3;
		assert_int_equal(nd_opt_next(&o, buf, sizeof(buf), &pos), 1);
		assert_int_equal(nd_opt_lladdr_decode(&a, &o),
				 type == 1 || type == 2 ? 0 : -EBADMSG);
	}
}

/*
 * The option of draft-kashyap-ipoib-ipv6-over-ib-00 §5.1, field by field: Type 1, Length (4 units
 * of 8 octets), 16 bits LID 5, 8 bits capability flags, 24 bits QPN 0x404, 32 bits Q_Key
 * 0x80004391, 128 bits GID fe80::2:c903:0:1, zero padding. The fields have 2 + 2 + 1 + 3 + 4 + 16 =
 * 28 octets, so the draft's length of 32 octets leaves 4 octets of padding, not the "48 bits" that
 * the draft names.
 */
static const uint8_t link_info[] = { 1,	   4,	 0x00, 0x05, 0x00, 0x00, 0x04, 0x04,
				     0x80, 0x00, 0x43, 0x91, 0xfe, 0x80, 0,    0,
				     0,	   0,	 0,    0,    0x00, 0x02, 0xc9, 0x03,
				     0,	   0,	 0,    1,    0,	   0,	 0,    0 };

static void test_V10_V11_V14_link_information_is_four_units(void **state)
{
	struct nd_opt o;
	struct nd_port a;
	uint8_t out[32];
	size_t pos = 0;

	assert_int_equal(nd_opt_next(&o, link_info, sizeof(link_info), &pos), 1);
	assert_int_equal(o.len, ND_OPT_LINK_INFO);
	assert_int_equal(nd_opt_link_info_decode(&a, &o), 0);
	assert_int_equal(a.lid, 5);
	assert_int_equal(a.lladdr.flags, 0);
	assert_int_equal(a.lladdr.qpn, 0x404);
	assert_true(a.has_qkey);
	assert_int_equal(a.qkey, 0x80004391);
	assert_memory_equal(a.lladdr.gid.raw, link_info + 12, 16);

	memset(out, 0xff, sizeof(out));
	nd_opt_link_info_encode(out, ND_OPT_SLLA, &a);
	assert_memory_equal(out, link_info, sizeof(out));
	nd_opt_link_info_encode(out, ND_OPT_TLLA, &a);
	assert_int_equal(out[0], 2);
	assert_memory_equal(out + 1, link_info + 1, 31);
}

/*
 * The capability flags UC, RC, RE, R6 and QPN, beginning with the first bit. UD has no flag, and
 * the other three bits are reserved.
 */
static void test_V12_capability_flags(void **state)
{
	uint8_t in[32], out[32];
	struct nd_opt o = { .type = 1, .len = 32, .data = in };
	struct nd_port a;

	assert_int_equal(ND_CAP_UC, 1 << 7);
	assert_int_equal(ND_CAP_RC, 1 << 6);
	assert_int_equal(ND_CAP_RAW_ETHERTYPE, 1 << 5);
	assert_int_equal(ND_CAP_RAW_IPV6, 1 << 4);
	assert_int_equal(ND_CAP_QPN, 1 << 3);
	memcpy(in, link_info, sizeof(in));
	in[4] = ND_CAP_RC | ND_CAP_QPN;
	assert_int_equal(nd_opt_link_info_decode(&a, &o), 0);
	assert_int_equal(a.lladdr.flags, 0x48);
	assert_int_equal(a.lladdr.qpn, 0x404);
	/* uipoib supports only UD, so it must set no flag. */
	nd_opt_link_info_encode(out, 1, &a);
	assert_memory_equal(out, link_info, sizeof(out));
}

static void test_V10_option_of_other_type_or_length_is_refused(void **state)
{
	uint8_t buf[8 * 255] = { 0 };
	struct nd_port a;
	struct nd_opt o;

	for (unsigned int units = 1; units < 256; units++) {
		size_t pos = 0;

		memcpy(buf, link_info, sizeof(link_info));
		buf[1] = (uint8_t)units;
		assert_int_equal(nd_opt_next(&o, buf, sizeof(buf), &pos), 1);
		assert_int_equal(nd_opt_link_info_decode(&a, &o),
				 units == 4 || units == 5 ? 0 : -EBADMSG);
		if (units == 5)
			assert_int_equal(a.qkey, 0x80004391);
	}
	for (unsigned int type = 0; type < 256; type++) {
		size_t pos = 0;

		buf[0] = (uint8_t)type;
		buf[1] = 4;
		assert_int_equal(nd_opt_next(&o, buf, sizeof(buf), &pos), 1);
		assert_int_equal(nd_opt_link_info_decode(&a, &o),
				 type == 1 || type == 2 ? 0 : -EBADMSG);
	}
}

/* Only the five messages of RFC 4861 §4.1 to §4.5 may have the option. */
static void test_R57_messages_that_carry_the_option(void **state)
{
	for (unsigned int type = 0; type < 256; type++) {
		static const unsigned int len[] = { 8, 16, 24, 24, 40 };

		assert_int_equal(nd_fixed_len((uint8_t)type),
				 type >= 133 && type <= 137 ? len[type - 133] : 0);
	}
}

static void test_nd_walks_several_options(void **state)
{
	const uint8_t p[] = { 0xee, 0xee, 0xee, 0xee, 5, 1, 0, 0, 0, 0, 7, 0xfc, 3, 2, 0, 0, 0, 0,
			      0,    0,	  0,	0,    0, 0, 0, 0, 0, 0, 1, 1,	 2, 0, 0, 0, 0, 9 };
	const uint8_t types[] = { ND_OPT_MTU, 3, ND_OPT_SLLA };
	size_t pos = 4;
	struct nd_opt o;

	for (unsigned int i = 0; i < 3; i++) {
		size_t at = pos;

		assert_int_equal(nd_opt_next(&o, p, sizeof(p), &pos), 1);
		assert_int_equal(o.type, types[i]);
		assert_int_equal(o.len, 8 * p[at + 1]);
		assert_ptr_equal(o.data, p + at);
		assert_int_equal(pos, at + o.len);
	}
	assert_int_equal(nd_opt_next(&o, p, sizeof(p), &pos), 0);
	pos = sizeof(p) + 1;
	assert_int_equal(nd_opt_next(&o, p, sizeof(p), &pos), -EBADMSG);
}

static void test_nd_option_truncated(void **state)
{
	struct nd_opt o, was;

	memset(&was, 0x5a, sizeof(was));
	o = was;
	for (size_t len = 1; len < sizeof(slla); len++) {
		size_t pos = 0;

		assert_int_equal(nd_opt_next(&o, slla, len, &pos), -EBADMSG);
		assert_int_equal(pos, 0);
		assert_memory_equal(&o, &was, sizeof(o));
	}
}

/* RFC 4861 §4.6: a node must discard a packet with an option of length zero. */
static void test_nd_option_of_length_zero(void **state)
{
	const uint8_t p[16] = { 1, 0 };
	size_t pos = 0;
	struct nd_opt o;

	assert_int_equal(nd_opt_next(&o, p, sizeof(p), &pos), -EBADMSG);
	assert_int_equal(pos, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R57_lladdr_option_is_three_units),
		cmocka_unit_test(test_R58_two_zero_octets_before_the_address),
		cmocka_unit_test(test_R57_option_of_other_type_or_length_is_refused),
		cmocka_unit_test(test_R57_messages_that_carry_the_option),
		cmocka_unit_test(test_nd_walks_several_options),
		cmocka_unit_test(test_nd_option_truncated),
		cmocka_unit_test(test_nd_option_of_length_zero),
		cmocka_unit_test(test_V10_V11_V14_link_information_is_four_units),
		cmocka_unit_test(test_V12_capability_flags),
		cmocka_unit_test(test_V10_option_of_other_type_or_length_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/ipoib_hdr.h"

#include <errno.h>

#include "check.h"

static void test_R29_header_is_type_then_reserved(void **state)
{
	const uint8_t golden[] = { 0x86, 0xdd, 0x00, 0x00, 0x60 }; /* RFC 4391 §6, figure 3 */
	uint8_t out[5] = { 0xff, 0xff, 0xff, 0xff, 0x60 };

	assert_int_equal(IPOIB_HDR_LEN, 4);
	assert_int_equal(ipoib_hdr_decode(golden, sizeof(golden)), 0x86dd);
	ipoib_hdr_encode(out, 0x86dd);
	assert_memory_equal(out, golden, sizeof(golden));
}

static void test_R29_header_truncated(void **state)
{
	const uint8_t golden[] = { 0x08, 0x00, 0x00, 0x00 };

	for (size_t len = 0; len < 4; len++)
		assert_int_equal(ipoib_hdr_decode(golden, len), -EBADMSG);
	assert_int_equal(ipoib_hdr_decode(golden, 4), 0x0800);
}

static void test_R30_reserved_zero_on_send_ignored_on_receive(void **state)
{
	const uint8_t in[] = { 0x08, 0x06, 0xde, 0xad };
	uint8_t out[4] = { 0xff, 0xff, 0xff, 0xff };

	assert_int_equal(ipoib_hdr_decode(in, sizeof(in)), 0x0806);
	ipoib_hdr_encode(out, 0x0806);
	assert_int_equal(out[2], 0);
	assert_int_equal(out[3], 0);
}

static void test_R31_R32_only_four_types(void **state)
{
	unsigned int valid = 0;

	for (unsigned int type = 0; type <= 0xffff; type++)
		valid += ipoib_type_valid((uint16_t)type);
	assert_int_equal(valid, 4);
	assert_true(ipoib_type_valid(0x0800));
	assert_true(ipoib_type_valid(0x0806));
	assert_true(ipoib_type_valid(0x8035));
	assert_true(ipoib_type_valid(0x86dd));
}

/*
 * Link-layer address of RFC 4391 §9.1.1, figure 5; in the flag octet the bit RC of RFC 4755 is set.
 */
static const uint8_t lladdr[] = { 0x80, 0x12, 0x34, 0x56, 0xfe, 0x80, 0,    0, 0, 0,
				  0,	0,    0x00, 0x02, 0xc9, 0x03, 0x00, 1, 2, 3 };

static void test_R46_lladdr_is_reserved_qpn_gid(void **state)
{
	uint8_t out[IPOIB_ALEN];
	struct ipoib_lladdr a;

	assert_int_equal(IPOIB_ALEN, 20);
	assert_int_equal(ipoib_lladdr_decode(&a, lladdr, sizeof(lladdr)), 0);
	assert_int_equal(a.qpn, 0x123456);
	assert_memory_equal(a.gid.raw, lladdr + 4, 16);
	ipoib_lladdr_encode(out, &a);
	assert_memory_equal(out + 1, lladdr + 1, 19);
}

static void test_R46_lladdr_of_any_other_length_is_refused(void **state)
{
	struct ipoib_lladdr a, was;
	uint8_t buf[40] = { 0 };

	memset(&was, 0x5a, sizeof(was));
	a = was;
	for (size_t len = 0; len <= sizeof(buf); len++) {
		if (len == IPOIB_ALEN)
			continue;
		assert_int_equal(ipoib_lladdr_decode(&a, buf, len), -EBADMSG);
		assert_memory_equal(&a, &was, sizeof(a));
	}
}

static void test_R47_lladdr_reserved_zero_on_send_ignored_on_receive(void **state)
{
	struct ipoib_lladdr a, b;
	uint8_t in[IPOIB_ALEN], out[IPOIB_ALEN];

	memcpy(in, lladdr, sizeof(in));
	ipoib_lladdr_decode(&a, in, sizeof(in));
	in[0] = 0;
	ipoib_lladdr_decode(&b, in, sizeof(in));
	assert_int_equal(a.qpn, b.qpn); /* the flag bit is not part of the QPN */
	assert_int_equal(a.flags, 0x80);
	assert_int_equal(b.flags, 0);

	a.qpn |= 0xff000000u;
	ipoib_lladdr_encode(out, &a);
	assert_memory_equal(out, in, sizeof(out));
}

static void test_C1_connected_mode_flags_tolerated(void **state)
{
	uint8_t in[IPOIB_ALEN];
	struct ipoib_lladdr a;

	memcpy(in, lladdr, sizeof(in));
	for (unsigned int flags = 0; flags < 256; flags++) {
		in[0] = (uint8_t)flags;
		assert_int_equal(ipoib_lladdr_decode(&a, in, sizeof(in)), 0);
		assert_int_equal(a.flags, flags);
		assert_int_equal(a.qpn, 0x123456);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R29_header_is_type_then_reserved),
		cmocka_unit_test(test_R29_header_truncated),
		cmocka_unit_test(test_R30_reserved_zero_on_send_ignored_on_receive),
		cmocka_unit_test(test_R31_R32_only_four_types),
		cmocka_unit_test(test_R46_lladdr_is_reserved_qpn_gid),
		cmocka_unit_test(test_R46_lladdr_of_any_other_length_is_refused),
		cmocka_unit_test(test_R47_lladdr_reserved_zero_on_send_ignored_on_receive),
		cmocka_unit_test(test_C1_connected_mode_flags_tolerated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

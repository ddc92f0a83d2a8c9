/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/iid.h"

#include "check.h"
#include "ipoib/profile.h"
#include "wire/records.h"

static void test_R38_R40_u_bit_is_set_whatever_the_guid_had(void **state)
{
	/* A GUID with the u bit clear has it toggled; a GUID with the u bit set keeps it. */
	static const uint8_t want[8] = { 0x02, 0x02, 0xc9, 0x03, 0x00, 0x00, 0x12, 0x34 };
	uint8_t iid[8];

	ipoib_iid_from_guid(iid, 0x0002c90300001234ull);
	assert_memory_equal(iid, want, 8);
	ipoib_iid_from_guid(iid, 0x0202c90300001234ull);
	assert_memory_equal(iid, want, 8);
}

static void test_R41_lid_makes_a_local_identifier(void **state)
{
	static const uint8_t want[8] = { 0, 0, 0, 0xff, 0xfe, 0, 0x12, 0x34 };
	uint8_t iid[8];

	ipoib_iid_from_lid(iid, 0x1234);
	assert_memory_equal(iid, want, 8);
	assert_int_equal(iid[0] & 2, 0); /* u bit 0: not universal */
}

static void test_R39_R42_link_local_address(void **state)
{
	static const uint8_t want[16] = {
		0xfe, 0x80, [8] = 0x02, 0x02, 0xc9, 0x03, 0, 0, 0x12, 0x34
	};
	uint8_t iid[8], addr[16];

	ipoib_iid_from_guid(iid, 0x0002c90300001234ull);
	ipoib_linklocal(addr, iid);
	assert_memory_equal(addr, want, 16);
}

static void test_profile_rfc4391_is_the_default_row(void **state)
{
	const struct ipoib_profile *p = ipoib_profile_at(0);
	uint8_t hdr[4];

	assert_ptr_equal(ipoib_profile_find("rfc4391"), p);
	assert_null(ipoib_profile_find("rfc439"));
	assert_int_equal(p->scope, 2); /* R20: link-local scope */
	assert_int_equal(p->ip_mtu(2048), 2044); /* R37: the IB MTU less 4 octets */
	assert_int_equal(p->ip_mtu(4096), 4092);
	assert_int_equal(p->sender.join_state, MCM_JOIN_SEND_ONLY_NON); /* R62: sender's join */
	assert_int_equal(p->encap.len, 4);
	p->encap.write(hdr, 0x86dd);
	assert_memory_equal(hdr, "\x86\xdd\x00\x00", 4); /* R29, R30: the type, and zeros */
	assert_int_equal(p->encap.read(hdr, 4), 0x86dd);
	assert_true(p->encap.read(hdr, 3) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R38_R40_u_bit_is_set_whatever_the_guid_had),
		cmocka_unit_test(test_R41_lid_makes_a_local_identifier),
		cmocka_unit_test(test_R39_R42_link_local_address),
		cmocka_unit_test(test_profile_rfc4391_is_the_default_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/iid.h"

#include "check.h"
#include "ipoib/profile.h"
#include "wire/records.h"

static void test_R38_R40_u_bit_is_set_whatever_the_guid_had(void **state)
{
	/* The u bit of this GUID is 0, so it must be set to 1. (A u bit of 1 must stay 1.) */
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

/*
 * RFC 7217 section 5: the identifier depends on the secret, the interface, the link and the prefix.
 * The kernel adds the prefix. The octets here were computed by another implementation of
 * SipHash-2-4, in Python.
 */
static void test_S1_secret_of_an_interface(void **state)
{
	static const uint8_t key[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	static const uint8_t want[16] = { 0x4c, 0xaa, 0x3e, 0x0c, 0x22, 0xf7, 0x05, 0x81,
					  0xf2, 0x9e, 0x9f, 0x73, 0xc4, 0x55, 0x27, 0x64 };
	uint8_t got[16], other[16], key2[16] = { 1 };

	ipoib_stable_secret(got, key, 0x0002c90300001234ull, 0xffff, "uib0@h1");
	assert_memory_equal(got, want, 16);
	/*
	 * The two P_Keys of a partition differ only in the membership bit. The secret, and so the
	 * identifier, must be the same for both.
	 */
	ipoib_stable_secret(got, key, 0x0002c90300001234ull, 0x7fff, "uib0@h1");
	assert_memory_equal(got, want, 16);
	ipoib_stable_secret(other, key2, 0x0002c90300001234ull, 0xffff, "uib0@h1");
	assert_memory_not_equal(other, want, 8);
	ipoib_stable_secret(other, key, 0x0002c90300001235ull, 0xffff, "uib0@h1");
	assert_memory_not_equal(other, want, 8);
	ipoib_stable_secret(other, key, 0x0002c90300001234ull, 0x8001, "uib0@h1");
	assert_memory_not_equal(other, want, 8);
	ipoib_stable_secret(other, key, 0x0002c90300001234ull, 0xffff, "uib1@h1");
	assert_memory_not_equal(other, want, 8);
	assert_memory_not_equal(want, want + 8, 8);
}

static void test_S1_secret_of_a_machine(void **state)
{
	static const char id[] = "0123456789abcdef0123456789abcdef";
	static const uint8_t want[16] = { 0xd7, 0x98, 0x1e, 0xe1, 0xd2, 0x03, 0x83, 0x6b,
					  0x7c, 0xd0, 0xc1, 0x8c, 0xa5, 0x29, 0xdf, 0xd4 };
	uint8_t got[16];

	ipoib_machine_secret(got, id, 32);
	assert_memory_equal(got, want, 16);
	ipoib_machine_secret(got, "0123456789abcdef0123456789abcdee", 32);
	assert_memory_not_equal(got, want, 8);
}

static void test_profile_rfc4391_is_the_default_row(void **state)
{
	const struct ipoib_profile *p = ipoib_profile_at(0);
	uint8_t hdr[4];

	assert_ptr_equal(ipoib_profile_find("rfc4391"), p);
	assert_null(ipoib_profile_find("rfc439"));
	assert_int_equal(p->scope, 2); /* R20: link-local scope */
	/* Clause R37: the IP MTU is the IB MTU minus the 4 octets of the encapsulation. */
	assert_int_equal(p->ip_mtu(2048), 2044);
	assert_int_equal(p->ip_mtu(4096), 4092);
	/* clause R62: join state of senders that are not members */
	assert_int_equal(p->sender.join_state, MCM_JOIN_SEND_ONLY_NON);
	assert_int_equal(p->encap.len, 4);
	p->encap.write(hdr, 0x86dd);
	/* The encapsulation is the ethertype (clause R29) and 16 bits of zero (clause R30). */
	assert_memory_equal(hdr, "\x86\xdd\x00\x00", 4);
	assert_int_equal(p->encap.read(hdr, 4), 0x86dd);
	assert_true(p->encap.read(hdr, 3) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R38_R40_u_bit_is_set_whatever_the_guid_had),
		cmocka_unit_test(test_R41_lid_makes_a_local_identifier),
		cmocka_unit_test(test_R39_R42_link_local_address),
		cmocka_unit_test(test_S1_secret_of_an_interface),
		cmocka_unit_test(test_S1_secret_of_a_machine),
		cmocka_unit_test(test_profile_rfc4391_is_the_default_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

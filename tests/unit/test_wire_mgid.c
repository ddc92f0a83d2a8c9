/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/mgid.h"

#include <arpa/inet.h>
#include <errno.h>

#include "check.h"

/* libc parses the addresses, so that the expected values can be written as in the RFC. */
static ib_gid gid(const char *s)
{
	ib_gid g;

	assert_int_equal(inet_pton(AF_INET6, s, g.raw), 1);
	return g;
}

static ib_gid from4(const char *s, uint16_t pkey, uint8_t scope)
{
	uint8_t a[4];
	ib_gid g;

	assert_int_equal(inet_pton(AF_INET, s, a), 1);
	assert_int_equal(mgid_from_ipv4(&g, a, pkey, scope), 0);
	return g;
}

static ib_gid from6(const char *s, uint16_t pkey, uint8_t scope)
{
	ib_gid a = gid(s), g;

	assert_int_equal(mgid_from_ipv6(&g, a.raw, pkey, scope), 0);
	return g;
}

#define assert_gid(got, want)                                 \
	do {                                                  \
		ib_gid got_ = (got), want_ = gid(want);       \
		assert_memory_equal(got_.raw, want_.raw, 16); \
	} while (0)

static void test_R12_vectors_for_pkey_8000(void **state)
{
	assert_gid(from4("224.0.0.2", 0x8000, 2), "ff12:401b:8000::2");
	assert_gid(from6("ff02::2", 0x8000, 2), "ff12:601b:8000::2");
}

static void test_R5_R6_layout_and_t_flag(void **state)
{
	ib_gid g = from4("239.1.2.3", 0x8abc, 0xe);

	assert_int_equal(g.raw[0], 0xff);
	assert_int_equal(g.raw[1] >> 4, 1); /* flags 0001: T is the lowest flag */
	assert_int_equal(mgid_scope(&g), 0xe);
	assert_int_equal(mgid_signature(&g), 0x401b);
	assert_int_equal(mgid_pkey(&g), 0x8abc);
	assert_gid(g, "ff1e:401b:8abc::f01:203");

	/* The MGID has the flag T (transient) for every IPv6 group, also for a well-known one. */
	g = from6("ff05::1:3", 0xffff, 5);
	assert_int_equal(g.raw[1], 0x15);
}

static void test_R7_R8_signatures(void **state)
{
	ib_gid a = from4("224.0.0.1", 0xffff, 2), b = from6("ff02::1", 0xffff, 2);

	assert_int_equal(mgid_signature(&a), 0x401b);
	assert_int_equal(mgid_signature(&b), 0x601b);
}

static void test_R9_R15_pkey_must_be_full(void **state)
{
	const uint8_t g4[] = { 224, 0, 0, 1 };
	ib_gid g6 = gid("ff02::1"), out, was;

	memset(&was, 0x5a, sizeof(was));
	out = was;
	for (unsigned int pkey = 0; pkey < 0x8000; pkey += 0x7ff) {
		assert_int_equal(mgid_from_ipv4(&out, g4, (uint16_t)pkey, 2), -EINVAL);
		assert_int_equal(mgid_from_ipv6(&out, g6.raw, (uint16_t)pkey, 2), -EINVAL);
		assert_int_equal(mgid_broadcast(&out, (uint16_t)pkey, 2), -EINVAL);
	}
	assert_memory_equal(&out, &was, sizeof(out));
	assert_gid(from4("224.0.0.1", 0x8001, 2), "ff12:401b:8001::1");
}

static void test_R10_ipv6_low_80_bits(void **state)
{
	assert_gid(from6("ff02:1111:2222:3333:4444:5555:6666:7777", 0xffff, 2),
		   "ff12:601b:ffff:3333:4444:5555:6666:7777");
	/* Groups that differ only above their low 80 bits have the same MGID. */
	assert_gid(from6("ff02:1:2::5", 0xffff, 2), "ff12:601b:ffff::5");
	assert_gid(from6("ff02::1:ff00:1", 0xffff, 2), "ff12:601b:ffff::1:ff00:1");
}

static void test_R11_ipv4_low_28_bits(void **state)
{
	assert_gid(from4("239.255.255.250", 0xffff, 2), "ff12:401b:ffff::fff:fffa");
	assert_gid(from4("224.129.2.3", 0xffff, 2), "ff12:401b:ffff::81:203");
	assert_gid(from4("225.1.2.3", 0xffff, 2), "ff12:401b:ffff::101:203");
}

static void test_R13_limited_broadcast(void **state)
{
	ib_gid g;

	assert_gid(from4("255.255.255.255", 0xffff, 2), "ff12:401b:ffff::ffff:ffff");
	assert_int_equal(mgid_broadcast(&g, 0x8001, 5), 0);
	assert_gid(g, "ff15:401b:8001::ffff:ffff");
}

static void test_R14_scope_is_the_parameter_not_the_groups(void **state)
{
	for (unsigned int scope = 0; scope < 16; scope++) {
		ib_gid g = from6("ff0e::1", 0xffff, (uint8_t)scope);

		assert_int_equal(mgid_scope(&g), scope);
		g = from4("224.0.0.1", 0xffff, (uint8_t)scope);
		assert_int_equal(mgid_scope(&g), scope);
	}
}

static void test_mgid_refuses_what_is_no_group(void **state)
{
	const uint8_t v4[][4] = { { 10, 0, 0, 1 },	  { 223, 255, 255, 255 }, { 240, 0, 0, 1 },
				  { 255, 255, 255, 254 }, { 10, 255, 255, 255 },  { 0, 0, 0, 0 } };
	ib_gid g6 = gid("fe80::1"), out;

	for (size_t i = 0; i < sizeof(v4) / sizeof(v4[0]); i++)
		assert_int_equal(mgid_from_ipv4(&out, v4[i], 0xffff, 2), -EINVAL);
	assert_int_equal(mgid_from_ipv6(&out, g6.raw, 0xffff, 2), -EINVAL);
	assert_int_equal(mgid_broadcast(&out, 0xffff, 16), -EINVAL);
}

static void test_mgid_is_ipoib(void **state)
{
	ib_gid g = gid("ff12:401b:ffff::1");

	assert_true(mgid_is_ipoib(&g));
	g = gid("ff15:601b:8001::2");
	assert_true(mgid_is_ipoib(&g));
	g = gid("ff02:401b:ffff::1"); /* the flag T is missing */
	assert_false(mgid_is_ipoib(&g));
	g = gid("ff12:a01b:ffff::1");
	assert_false(mgid_is_ipoib(&g));
	g = gid("fe12:401b:ffff::1");
	assert_false(mgid_is_ipoib(&g));
}

static void test_R70_groups_of_mgids_and_back(void **state)
{
	static const struct {
		ib_gid mgid;
		int version;
		uint8_t group[16];
	} v[] = {
		{ { { 0xff, 0x12, 0x40, 0x1b, 0x80, 0x01, [12] = 0x0f, 9, 8, 7 } },
		  4,
		  { 239, 9, 8, 7 } },
		{ { { 0xff, 0x12, 0x60, 0x1b, 0x80, 0x01, [14] = 0x43, 0x91 } },
		  6,
		  { 0xff, 0x02, [14] = 0x43, 0x91 } },
		/*
		 * MGIDs that are no IPv4 group of this link: with another scope, P_Key or signature
		 * (such as that of rdma_cm), with more than 28 bits of IPv4, and the broadcast
		 * group.
		 */
		{ { { 0xff, 0x15, 0x40, 0x1b, 0x80, 0x01, [15] = 1 } }, -EINVAL, { 0 } },
		{ { { 0xff, 0x12, 0x40, 0x1b, 0x80, 0x02, [15] = 1 } }, -EINVAL, { 0 } },
		{ { { 0xff, 0x12, 0x40, 0x01, 0x80, 0x01, [15] = 1 } }, -EINVAL, { 0 } },
		{ { { 0xff, 0x12, 0x40, 0x1b, 0x80, 0x01, [12] = 0x1f } }, -EINVAL, { 0 } },
		{ { { 0xff, 0x12, 0x40, 0x1b, 0x80, 0x01, [12] = 255, 255, 255, 255 } },
		  -EINVAL,
		  { 0 } },
	};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		uint8_t group[16] = { 0 };

		assert_int_equal(mgid_to_group(group, &v[i].mgid, 0x8001, 2), v[i].version);
		assert_memory_equal(group, v[i].group, sizeof(group));
	}
}

static ib_gid from_3333(const char *s)
{
	ib_gid a = gid(s), g;

	assert_int_equal(mgid_3333_from_ipv6(&g, a.raw), 0);
	return g;
}

/*
 * draft-kashyap-ipoib-ipv6-over-ib-00 maps FFxy::<112 bits> to FF1y:3333::<96 bits>: the same scope
 * y, flag T, and 0x3333 in .raw[2] and .raw[3].
 */
static void test_V4_V5_V6_map_of_the_ipv6_draft(void **state)
{
	assert_gid(from_3333("ff02::1"), "ff12:3333::1");
	assert_gid(from_3333("ff02::1:ff00:5"), "ff12:3333::1:ff00:5");
	/* Clause V4: all scope bits are copied */
	assert_gid(from_3333("ff05::1:3"), "ff15:3333::1:3");
	assert_gid(from_3333("ff0e::101"), "ff1e:3333::101");
	assert_gid(from_3333("ff0f::2"), "ff1f:3333::2");
	/* V5: T is always set, and no other flag of the IPv6 group is copied to the MGID. */
	assert_gid(from_3333("ff15::4"), "ff15:3333::4");
	assert_gid(from_3333("ff35::4"), "ff15:3333::4");
	/* All of the last 96 bits are copied. */
	assert_gid(from_3333("ff08:0:1:203:405:607:809:a0b"), "ff18:3333:1:203:405:607:809:a0b");
}

/*
 * The 16 bits that the map drops are zero in most groups. Groups that differ only in these bits
 * have the same MGID.
 */
static void test_V6_groups_that_collide(void **state)
{
	assert_gid(from_3333("ff35:40:fd00::8"), "ff15:3333:fd00::8");
	assert_gid(from_3333("ff35:30:fd00::8"), "ff15:3333:fd00::8");
}

static void test_V6_back_to_the_group(void **state)
{
	const char *const foreign[] = { "ff12:601b:ffff::1", "ff02:3333::1", "ff32:3333::1",
					"fe80:3333::1" };
	ib_gid m = gid("ff15:3333:1::9"), want = gid("ff05::1:0:0:0:0:9"), again;
	uint8_t group[16];

	assert_int_equal(mgid_3333_to_ipv6(group, &m), 0);
	assert_memory_equal(group, want.raw, 16);
	assert_int_equal(mgid_3333_from_ipv6(&again, group), 0);
	assert_true(ib_gid_equal(&again, &m));
	for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++) {
		m = gid(foreign[i]);
		assert_int_equal(mgid_3333_to_ipv6(group, &m), -EINVAL);
	}
	m = gid("fe80::1");
	assert_int_equal(mgid_3333_from_ipv6(&again, m.raw), -EINVAL);
}

static ib_gid v4mc(uint32_t addr, uint16_t subnet, uint8_t scope)
{
	uint8_t group[4];
	ib_gid g;

	be32_put(group, addr);
	assert_int_equal(mgid_v4mc_from_ipv4(&g, group, subnet, scope), 0);
	return g;
}

/*
 * draft-kashyap-ipoib-ipv4-multicast-01 §3.2 and §3.3: FF1y::<IPv4 address> has flags 0001, scope
 * y, zeros, and all 32 bits of the address.
 */
static void test_M7_M8_M9_M10_map_of_the_ipv4_draft(void **state)
{
	assert_gid(v4mc(0xffffffff, 0, 2), "ff12::255.255.255.255");
	assert_gid(v4mc(0xe0000001, 0, 2), "ff12::224.0.0.1");
	assert_gid(v4mc(0xe0010101, 0, 2), "ff12::e001:101");
	assert_gid(v4mc(0xe1010101, 0, 2), "ff12::e101:101");
	assert_gid(v4mc(0xefffffff, 0, 5), "ff15::239.255.255.255");
}

/* FF1E::IP_subnet_number:<IPv4 address> (§3.3.1): the number is in .raw[10] and .raw[11] */
static void test_M6_M11_subnet_number_is_in_the_map(void **state)
{
	uint8_t group[4] = { 225, 1, 1, 1 };
	ib_gid g;

	assert_gid(v4mc(0xffffffff, 0x1234, 0xe), "ff1e::1234:ffff:ffff");
	assert_gid(v4mc(0xe1010101, 1, 0xe), "ff1e::1:e101:101");
	assert_gid(v4mc(0xe1010101, 0, 0xe), "ff1e::e101:101");
	/* with a subnet number, the scope must be global */
	assert_int_equal(mgid_v4mc_from_ipv4(&g, group, 1, 2), -EINVAL);
	assert_int_equal(mgid_v4mc_from_ipv4(&g, group, 0, 16), -EINVAL);
	group[0] = 10;
	assert_int_equal(mgid_v4mc_from_ipv4(&g, group, 0, 2), -EINVAL);
}

static void test_M9_back_to_the_group(void **state)
{
	const char *const foreign[] = { "ff12::255.255.255.255", "ff15::225.1.1.1",
					"ff02::225.1.1.1",	 "ff12::10.0.0.1",
					"ff12::1:225.1.1.1",	 "ff12:401b:ffff::101:101",
					"ff12:1::225.1.1.1" };
	ib_gid m = gid("ff12::225.1.1.1"), n = gid("ff1e::7:225.1.1.1");
	const uint8_t want[4] = { 225, 1, 1, 1 };
	uint8_t group[4];

	assert_int_equal(mgid_v4mc_to_ipv4(group, &m, 0, 2), 0);
	assert_memory_equal(group, want, 4);
	memset(group, 0, 4);
	assert_int_equal(mgid_v4mc_to_ipv4(group, &n, 7, 0xe), 0);
	assert_memory_equal(group, want, 4);
	assert_int_equal(mgid_v4mc_to_ipv4(group, &n, 8, 0xe), -EINVAL);
	for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++) {
		m = gid(foreign[i]);
		assert_int_equal(mgid_v4mc_to_ipv4(group, &m, 0, 2), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R12_vectors_for_pkey_8000),
		cmocka_unit_test(test_R5_R6_layout_and_t_flag),
		cmocka_unit_test(test_R7_R8_signatures),
		cmocka_unit_test(test_R9_R15_pkey_must_be_full),
		cmocka_unit_test(test_R10_ipv6_low_80_bits),
		cmocka_unit_test(test_R11_ipv4_low_28_bits),
		cmocka_unit_test(test_R13_limited_broadcast),
		cmocka_unit_test(test_R14_scope_is_the_parameter_not_the_groups),
		cmocka_unit_test(test_mgid_refuses_what_is_no_group),
		cmocka_unit_test(test_R70_groups_of_mgids_and_back),
		cmocka_unit_test(test_mgid_is_ipoib),
		cmocka_unit_test(test_V4_V5_V6_map_of_the_ipv6_draft),
		cmocka_unit_test(test_V6_groups_that_collide),
		cmocka_unit_test(test_V6_back_to_the_group),
		cmocka_unit_test(test_M7_M8_M9_M10_map_of_the_ipv4_draft),
		cmocka_unit_test(test_M6_M11_subnet_number_is_in_the_map),
		cmocka_unit_test(test_M9_back_to_the_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <stdio.h>

#include "world/wire.h"

/*
 * Tests the packet forms that the conformance suite expects. The expected octets were derived from
 * the documents by hand.
 */

static const struct world_map link_local = { .pkey = 0xffff, .scope = 2 };

static void is_gid(const ib_gid *g, const char *hex)
{
	uint8_t want[16];

	for (unsigned int i = 0; i < 16; i++) {
		unsigned int octet;

		sscanf(hex + 2 * i, "%2x", &octet);
		want[i] = (uint8_t)octet;
	}
	assert_memory_equal(g->raw, want, 16);
}

static void test_R11_R13_groups_of_rfc4391(void **state)
{
	static const uint8_t ip4[4] = { 239, 129, 2, 3 }, ip6[16] = { 0xff, 0x15, 1,  2, 3, 4,
								      5,    6,	  7,  8, 9, 10,
								      11,   12,	  13, 14 };
	ib_gid g = world_wire_rfc4391.mgid_broadcast(&link_local);

	is_gid(&g, "ff12401bffff000000000000ffffffff");
	g = world_wire_rfc4391.mgid_ip4(&link_local, ip4);
	is_gid(&g, "ff12401bffff0000000000000f810203");
	g = world_wire_rfc4391.mgid_ip6(&link_local, ip6);
	is_gid(&g, "ff12601bffff05060708090a0b0c0d0e");
}

static void test_M8_M9_M11_groups_of_v4mc01(void **state)
{
	const struct world_map numbered = { .pkey = 0xffff, .scope = 14, .subnet = 77 };
	static const uint8_t ip4[4] = { 239, 129, 2, 3 };
	ib_gid g = world_wire_v4mc01.mgid_broadcast(&link_local);

	is_gid(&g, "ff1200000000000000000000ffffffff");
	g = world_wire_v4mc01.mgid_ip4(&link_local, ip4);
	is_gid(&g, "ff1200000000000000000000ef810203");
	g = world_wire_v4mc01.mgid_ip4(&numbered, ip4);
	is_gid(&g, "ff1e0000000000000000004def810203");
}

static void test_V4_V5_V6_groups_of_v6ib00(void **state)
{
	static const uint8_t ip6[16] = {
		0xff, 0x05, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
	};
	ib_gid g = world_wire_v6ib00.mgid_broadcast(&link_local);

	is_gid(&g, "ff123333000000000000000000000001");
	g = world_wire_v6ib00.mgid_ip6(&link_local, ip6);
	is_gid(&g, "ff153333030405060708090a0b0c0d0e");
}

static const struct world_lladdr address = {
	.gid = { { 0xfe, 0x80, 0, 1, 0, 2, 0, 3, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7 } },
	.qpn = 0x112233,
	.qkey = 0x44556677,
	.lid = 0x0123,
};

static void test_R57_V10_P14_options(void **state)
{
	static const uint8_t r57[24] = {
		1, 3, 0, 0, 0,	  0x11, 0x22, 0x33, 0xfe, 0x80, 0,    1,
		0, 2, 0, 3, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7
	};
	static const uint8_t v10[32] = { 2,    4,    0x01, 0x23, 0,    0x11, 0x22, 0x33,
					 0x44, 0x55, 0x66, 0x77, 0xfe, 0x80, 0,	   1,
					 0,    2,    0,	   3,	 0xa0, 0xa1, 0xa2, 0xa3,
					 0xa4, 0xa5, 0xa6, 0xa7, 0,    0,    0,	   0 };
	static const uint8_t p14[40] = {
		1,    5,    0,	  0,	0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0, 0x11,
		0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0xfe, 0x80, 0,    1,    0xfe, 0x80, 0, 1,
		0,    2,    0,	  3,	0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7
	};
	uint8_t opt[40];

	world_wire_rfc4391.put_opt(opt, 1, &address);
	assert_memory_equal(opt, r57, sizeof(r57));
	world_wire_v6ib00.put_opt(opt, 2, &address);
	assert_memory_equal(opt, v10, sizeof(v10));
	world_wire_encaparp00.put_opt(opt, 1, &address);
	assert_memory_equal(opt, p14, sizeof(p14));
}

static void test_P20_P23_P27_ibarp(void **state)
{
	static const uint8_t spa[4] = { 10, 9, 0, 16 }, tpa[4] = { 10, 9, 0, 1 };
	static const uint8_t head[8] = { 0, 32, 8, 0, 32, 4, 0, 1 };
	const struct wire_arp *form = world_wire_encaparp00.arp;
	struct world_lladdr other = address;
	uint8_t req[88], rep[88], opt[40];

	other.qpn = 0x778899;
	form->request(req, &address, spa, tpa);
	assert_int_equal(form->len, 88);
	assert_memory_equal(req, head, 8);
	world_wire_encaparp00.put_opt(opt, 1, &address);
	assert_memory_equal(req + 8, opt + 4, 36);
	assert_memory_equal(req + 44, spa, 4);
	assert_memory_equal(req + 84, tpa, 4);
	form->reply(rep, req, &other, tpa);
	assert_int_equal(rep[7], 2);
	assert_memory_equal(rep + 8, req + 8, 40);
	world_wire_encaparp00.put_opt(opt, 1, &other);
	assert_memory_equal(rep + 48, opt + 4, 36);
	assert_memory_equal(rep + 84, tpa, 4);
}

static void test_R29_V20_P2_P22_what_a_packet_is(void **state)
{
	static const uint8_t arp[12] = { 8, 6, 0, 0, 0, 32, 8, 0, 20, 4, 0, 1 },
			     ip4[12] = { 0, 0, 8, 0, 0x45 }, ip6[4] = { 0x60 },
			     is_ibarp[12] = { 0, 0, 8, 0, 0, 32, 8, 0, 32, 4, 0, 1 };

	assert_int_equal(world_wire_rfc4391.type(arp, sizeof(arp)), TYPE_ARP);
	assert_int_equal(world_wire_rfc4391.type(arp, 3), -1);
	assert_int_equal(world_wire_encaparp00.type(ip4, sizeof(ip4)), TYPE_IP4);
	assert_int_equal(world_wire_encaparp00.type(is_ibarp, sizeof(is_ibarp)), TYPE_ARP);
	assert_int_equal(world_wire_encaparp00.type(ip4, 3), -1);
	assert_int_equal(world_wire_v6ib00.type(ip6, sizeof(ip6)), TYPE_IP6);
	assert_int_equal(world_wire_v6ib00.type(arp, sizeof(arp)), 0);
	assert_int_equal(world_wire_v6ib00.type(ip6, 0), -1);
}

static void test_R37_V16_P8_ip_mtu(void **state)
{
	assert_int_equal(world_wire_rfc4391.ip_mtu(2048), 2044);
	assert_int_equal(world_wire_v6ib00.ip_mtu(2048), 2048);
	assert_int_equal(world_wire_encaparp00.ip_mtu(2048), 2044);
	assert_int_equal(world_wire_encaparp00.ip_mtu(4096), 2048);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R11_R13_groups_of_rfc4391),
		cmocka_unit_test(test_M8_M9_M11_groups_of_v4mc01),
		cmocka_unit_test(test_V4_V5_V6_groups_of_v6ib00),
		cmocka_unit_test(test_R57_V10_P14_options),
		cmocka_unit_test(test_P20_P23_P27_ibarp),
		cmocka_unit_test(test_R29_V20_P2_P22_what_a_packet_is),
		cmocka_unit_test(test_R37_V16_P8_ip_mtu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include "world/part.h"
#include "world/peer.h"
#include "world/sa.h"

/*
 * The conformance suite uses a second partition of the DUT's port. These tests check which packets
 * and groups belong to this partition, and that its values differ from those of the first
 * partition.
 */

static struct world w;

static ns_t now(void *ctx)
{
	return NS_SEC(1);
}

static int begin(void **state)
{
	static const struct world_io io = { .now = now };
	const struct world_cfg cfg = { .wire = &world_wire_rfc4391 };

	return world_init(&w, &io, &cfg);
}

static int end(void **state)
{
	world_fini(&w);
	return 0;
}

static const ib_gid bcast2 = { { 0xff, 0x12, 0x40, 0x1b, 0x80, 0x14, [12] = 0xff, 0xff, 0xff,
				 0xff } };

static void test_H9_groups_belong_to_the_link_of_their_pkey(void **state)
{
	ib_gid limited = bcast2, v6 = bcast2, other = bcast2, mapped = bcast2;

	w.part.known = true;
	limited.raw[4] = 0;
	v6.raw[2] = 0x60;
	other.raw[5] = 0x15;
	mapped.raw[2] = mapped.raw[3] = 0x33;
	assert_int_equal(part_of_mgid(&w, &bcast2), WORLD_PKEY2);
	assert_int_equal(part_of_mgid(&w, &limited), WORLD_PKEY2);
	assert_int_equal(part_of_mgid(&w, &v6), WORLD_PKEY2);
	assert_int_equal(part_of_mgid(&w, &other), WORLD_PKEY);
	/* 0x3333 is the signature of another mapping */
	assert_int_equal(part_of_mgid(&w, &mapped), WORLD_PKEY);
}

static void test_H9_packets_belong_to_the_link_of_their_pkey(void **state)
{
	struct seen s = { .kind = SEEN_DATA, .h.bth.pkey = 0x8014 };
	const uint16_t pkey = WORLD_PKEY2;

	w.part.known = true;
	assert_int_equal(part_of_packet(&w, &s), WORLD_PKEY2);
	assert_true(part_is(&s, &pkey));
	s.h.bth.pkey = 0x0014;
	assert_int_equal(part_of_packet(&w, &s), WORLD_PKEY2);
	s.h.bth.pkey = 0x7fff;
	assert_int_equal(part_of_packet(&w, &s), WORLD_PKEY);
	assert_false(part_is(&s, &pkey));
}

static void test_H30_before_the_pkey_comes_there_is_one_link(void **state)
{
	struct seen s = { .kind = SEEN_DATA, .h.bth.pkey = 0x8014 };

	assert_int_equal(part_of_mgid(&w, &bcast2), WORLD_PKEY);
	assert_int_equal(part_of_packet(&w, &s), WORLD_PKEY);
}

static void test_H14_the_second_link_has_values_of_its_own(void **state)
{
	static const uint8_t ip[4] = { 239, 20, 0, 1 };
	static const uint8_t dut[4] = { 10, 9, 20, 1 };
	ib_gid bcast = sa_mgid_broadcast(&w), mgid;
	const struct world_group *first, *second, *g;
	const struct world_peer *p, *p2;

	w.part.known = true;
	first = world_group_make(&w, &bcast);
	second = world_part_group(&w);
	assert_memory_equal(second->rec.mgid.raw, bcast2.raw, 16);
	assert_int_equal(second->rec.pkey, 0x8014);
	assert_int_not_equal(second->rec.qkey, first->rec.qkey);
	assert_int_not_equal(second->rec.mtu_code, first->rec.mtu_code);
	assert_int_equal(part_ip_mtu(&w, WORLD_PKEY2), 1020);
	assert_int_equal(part_ip_mtu(&w, WORLD_PKEY), 2044);
	mgid = sa_mgid_ip4_in(&w, WORLD_PKEY2, ip);
	g = world_group_make(&w, &mgid);
	assert_int_equal(g->rec.pkey, 0x8014);
	assert_int_equal(g->rec.qkey, second->rec.qkey);
	assert_int_equal(g->rec.mtu_code, second->rec.mtu_code);
	assert_memory_equal(part_dut_ip4(&w, WORLD_PKEY2), dut, 4);
	p = world_peer(&w);
	p2 = world_peer_in(&w, WORLD_PKEY2);
	assert_memory_equal(p2->ip4, dut, 3);
	assert_memory_not_equal(p2->ip4, p->ip4, 3);
	assert_int_equal(peer_headers(&w, p2).bth.pkey, 0x8014);
	assert_int_equal(peer_headers(&w, p2).deth.qkey, second->rec.qkey);
	assert_int_equal(peer_headers(&w, p).deth.qkey, first->rec.qkey);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_H9_groups_belong_to_the_link_of_their_pkey,
						begin, end),
		cmocka_unit_test_setup_teardown(test_H9_packets_belong_to_the_link_of_their_pkey,
						begin, end),
		cmocka_unit_test_setup_teardown(test_H30_before_the_pkey_comes_there_is_one_link,
						begin, end),
		cmocka_unit_test_setup_teardown(test_H14_the_second_link_has_values_of_its_own,
						begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

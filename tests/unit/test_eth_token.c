/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/eth_rig.h"

#define PORT_GUID 0x0002c90300000005ull

static const uint8_t ip_a[4] = { 10, 4, 0, RIG_LID }, ip_b[4] = { 10, 4, 0, ER_PEER };

static void send_ip(const uint8_t mac[6])
{
	uint8_t b[100];

	er_tx(mac, ETH_P_IPV4, b, er_udp4(b, ip_a, ip_b, 32));
}

/*
 * The expected MAC comes from another implementation of SipHash-2-4; the hash is over the 20 octets
 * of the address and the P_Key.
 */
static void test_token_golden(void **state)
{
	struct ipoib_lladdr a = er_peer_addr(ER_PEER, ER_PEER_QPN);
	uint8_t mac[6];

	eth_token(mac, &a, 0x8001);
	assert_memory_equal(mac, "\x06\xf1\x2b\x60\x5c\x8b", 6);
	eth_token(mac, &a, 0xffff);
	assert_memory_equal(mac, "\x06\xa4\x65\xff\xf5\xc9", 6);
	a.qpn++;
	eth_token(mac, &a, 0x8001);
	assert_memory_equal(mac, "\x06\x11\xe2\xe3\x59\x6f", 6);
}

static void test_own_mac_golden(void **state)
{
	uint8_t mac[6];

	eth_own_mac(mac, PORT_GUID, 0x8001, 0x48);
	assert_memory_equal(mac, "\x02\xf7\x64\xef\xc6\xfe", 6);
	eth_own_mac(mac, PORT_GUID, 0xffff, 0x123456);
	assert_memory_equal(mac, "\x02\x84\x82\xf7\x54\x79", 6);
}

/*
 * The MAC that stands for a neighbour (its token) must depend neither on the membership bit of the
 * P_Key nor on the flags of RFC 4755.
 */
static void test_R47_token_knows_no_flags_and_no_membership(void **state)
{
	struct ipoib_lladdr a = er_peer_addr(ER_PEER, ER_PEER_QPN);
	uint8_t mac[6], again[6];

	eth_token(mac, &a, 0x8001);
	a.flags = 0x80;
	eth_token(again, &a, 0x0001);
	assert_memory_equal(mac, again, 6);
	eth_own_mac(mac, PORT_GUID, 0x8001, 0x48);
	eth_own_mac(again, PORT_GUID, 0x0001, 0x48);
	assert_memory_equal(mac, again, 6);
}

static void test_token_is_what_the_kernel_is_told(void **state)
{
	uint8_t mac[6];

	er_init();
	er_learn(ER_PEER, ER_PEER_QPN, mac);
	assert_memory_equal(mac, "\x06\xf1\x2b\x60\x5c\x8b", 6);
	assert_int_equal(eth_if_stats(er.e)->token_collisions, 0);
	er_fini();
}

static void test_token_collision_is_salted_and_counted(void **state)
{
	struct ipoib_lladdr a = er_peer_addr(ER_PEER, ER_PEER_QPN);
	uint8_t mac[6];

	er_init();
	eth_token(er.mac, &a, RIG_PKEY); /* the interface's MAC is the peer's token */
	eth_if_set_addr(er.e, er.mac, &er.own);
	er_learn(ER_PEER, ER_PEER_QPN, mac);
	assert_memory_equal(mac, "\x06\xf8\x37\x40\x2a\xb6", 6);
	assert_int_equal(eth_if_stats(er.e)->token_collisions, 1);

	send_ip(mac);
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].dest_qpn, ER_PEER_QPN);
	assert_int_equal(er.sent[0].ah.dlid, ER_PEER);
	er_fini();
}

/* A MAC that differs from a token in one bit must not be taken for this token. */
static void test_token_lookup_compares_all_bits(void **state)
{
	uint8_t mac[6];

	er_init();
	er_learn(ER_PEER, ER_PEER_QPN, mac);
	/* each bit but bit 40, which marks group addresses */
	for (unsigned int bit = 0; bit < 48; bit++) {
		uint8_t near[6];

		if (bit == 40)
			continue;
		memcpy(near, mac, 6);
		near[5 - bit / 8] ^= (uint8_t)(1u << bit % 8);
		send_ip(near);
	}
	assert_int_equal(er.nsent, 0);
	assert_int_equal(er_drops(ETH_DROP_TOKEN), 47);
	assert_int_equal(er_drops_sum(), 47);
	er_fini();
}

static void test_void_token_is_reported_once_a_second(void **state)
{
	static const uint8_t a[6] = { 6, 1 }, b[6] = { 6, 2 };

	er_init();
	for (int i = 0; i < 10; i++) {
		send_ip(a);
		send_ip(b);
	}
	assert_int_equal(er_drops(ETH_DROP_TOKEN), 20);
	assert_int_equal(er.ngone, 2);
	assert_memory_equal(er.gone[0], a, 6);
	assert_memory_equal(er.gone[1], b, 6);
	er_run(NS_MSEC(999));
	send_ip(a);
	assert_int_equal(er.ngone, 2);
	er_run(NS_MSEC(1));
	send_ip(a);
	send_ip(a);
	assert_int_equal(er.ngone, 3);
	er_fini();
}

static void test_void_tokens_of_many_macs_are_limited_together(void **state)
{
	uint8_t mac[6] = { 6 };

	er_init();
	for (unsigned int i = 0; i < 1000; i++) {
		be32_put(mac + 2, i);
		send_ip(mac);
	}
	assert_int_equal(er_drops(ETH_DROP_TOKEN), 1000);
	assert_int_equal(er.ngone, 64);
	er_run(NS_SEC(1));
	send_ip(mac);
	assert_int_equal(er.ngone, 65);
	er_fini();
}

/*
 * The link removes an idle neighbour. The interface must then report the neighbour's token as gone,
 * so that the kernel deletes its neighbour entry with this token. When the link learns the
 * neighbour again, the neighbour must get the same token.
 */
static void test_idle_neighbour_takes_its_token_along(void **state)
{
	uint8_t mac[6], again[6];

	er_init();
	er_learn(ER_PEER, ER_PEER_QPN, mac);
	er_run(NS_SEC(500));
	assert_int_equal(er.ngone, 0);
	send_ip(mac);
	er_run(NS_SEC(500)); /* the neighbour was in use, so it must not be removed */
	assert_int_equal(er.ngone, 0);
	er_run(NS_SEC(200));
	assert_int_equal(er.ngone, 1);
	assert_memory_equal(er.gone[0], mac, 6);
	er_clear();
	send_ip(mac);
	assert_int_equal(er_drops(ETH_DROP_TOKEN), 1);
	er_learn(ER_PEER, ER_PEER_QPN, again);
	assert_memory_equal(mac, again, 6);
	er_fini();
}

static void test_destroy_gives_neighbours_and_groups_back(void **state)
{
	struct ipoib_lladdr a = er_peer_addr(ER_PEER, ER_PEER_QPN);
	struct ipoib_neigh *n;
	uint8_t mac[6];

	er_init();
	er_learn(ER_PEER, ER_PEER_QPN, mac);
	n = ipoib_neigh_find(er.r.link, &a);
	assert_int_equal(n->refs, 1);
	assert_true(n->has_token);
	assert_memory_equal(n->token, mac, 6);
	assert_int_equal(er.r.natt, 3); /* the broadcast group, 224.0.0.1 and ff02::1 */

	eth_if_destroy(er.e);
	er.e = NULL;
	assert_int_equal(n->refs, 0);
	assert_null(n->user);
	assert_false(n->has_token);
	rig_drain(&er.r);
	assert_int_equal(er.r.natt, 1);
	er_fini();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_token_golden),
		cmocka_unit_test(test_own_mac_golden),
		cmocka_unit_test(test_R47_token_knows_no_flags_and_no_membership),
		cmocka_unit_test(test_token_is_what_the_kernel_is_told),
		cmocka_unit_test(test_token_collision_is_salted_and_counted),
		cmocka_unit_test(test_token_lookup_compares_all_bits),
		cmocka_unit_test(test_void_token_is_reported_once_a_second),
		cmocka_unit_test(test_void_tokens_of_many_macs_are_limited_together),
		cmocka_unit_test(test_idle_neighbour_takes_its_token_along),
		cmocka_unit_test(test_destroy_gives_neighbours_and_groups_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

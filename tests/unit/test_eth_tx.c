/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/eth_rig.h"

#include "ipoib/link.h"

static const uint8_t v6_own[16] = { 0xfd, [15] = 5 }, v6_peer[16] = { 0xfd, [15] = 7 };
static const uint8_t group_mac[6] = { 1, 0, 0x5e, 1, 2, 3 };
static const uint8_t group6_mac[6] = { 0x33, 0x33, 0, 0, 0, 9 };

static void check_to_peer(const uint8_t *ip, size_t len)
{
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].dest_qpn, ER_PEER_QPN);
	assert_int_equal(er.sent[0].ah.dlid, ER_PEER);
	assert_int_equal(er.sent[0].qkey, er.r.link->qkey); /* R52: Q_Key of the broadcast group */
	assert_int_equal(er.sent[0].len, len + 4);
	assert_memory_equal(er.sent[0].data + 4, ip, len);
	er_clear();
}

static void check_to_group(const ib_gid *mgid)
{
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].dest_qpn, 0xffffff);
	assert_true(er.sent[0].ah.has_grh);
	assert_true(ib_gid_equal(&er.sent[0].ah.dgid, mgid));
	er_clear();
}

/* --- frames that are dropped */

static void test_R32_I28_other_ethertypes_are_dropped_and_counted(void **state)
{
	static const struct {
		uint16_t type;
		enum eth_drop why;
	} t[] = {
		{ 0x88b5, ETH_DROP_TYPE }, { 0x8863, ETH_DROP_TYPE }, { 0x0600, ETH_DROP_TYPE },
		{ 0xffff, ETH_DROP_TYPE }, { 0x8100, ETH_DROP_VLAN }, { 0x88a8, ETH_DROP_VLAN },
		{ 0x0026, ETH_DROP_BPDU }, { 0x05ff, ETH_DROP_BPDU }, { 0x0000, ETH_DROP_BPDU },
		{ 0x88cc, ETH_DROP_LLDP }, { 0x8808, ETH_DROP_TYPE },
	};
	static const uint8_t stp_mac[6] = { 1, 0x80, 0xc2 };
	uint8_t b[46] = { 0x42, 0x42, 3 };

	for (unsigned int i = 0; i < ARRAY_SIZE(t); i++) {
		er_init_peer();
		er_tx(i & 1 ? stp_mac : er_bcast_mac, t[i].type, b, sizeof(b));
		er_check_dropped(t[i].why);
		er_fini();
	}
}

static void test_frame_shorter_than_its_header(void **state)
{
	er_init_peer();
	for (size_t n = 0; n < 14; n++)
		er_tx_pkt(pkt_from_data(er.r.pool, er_bcast_mac, n < 6 ? n : 6));
	assert_int_equal(er_drops(ETH_DROP_SHORT), 14);
	assert_int_equal(er_drops_sum(), 14);
	er_fini();
}

/*
 * A packet must be dropped if it has fewer octets than its IP header states. All such lengths are
 * tested. A packet whose IP version does not fit its ethertype must be dropped, too.
 */
static void test_ip_shorter_than_it_says(void **state)
{
	uint8_t b[100];
	size_t n = er_udp4(b, er_ip_own, er_ip_peer, 10), k;

	er_init_peer();
	for (k = 0; k < n; k++)
		er_tx(er_peer_mac, ETH_P_IPV4, b, k);
	assert_int_equal(er_drops(ETH_DROP_SHORT), n);
	be16_put(b + 2, 19);
	er_tx(er_peer_mac, ETH_P_IPV4, b, n);
	assert_int_equal(er_drops(ETH_DROP_SHORT), n + 1);
	be16_put(b + 2, (uint16_t)n);
	b[0] = 0x65;
	er_tx(er_peer_mac, ETH_P_IPV4, b, n);
	assert_int_equal(er_drops(ETH_DROP_SHORT), n + 2);
	assert_int_equal(er_drops_sum(), n + 2);
	er_fini();

	er_init_peer();
	n = er_ip6(b, v6_own, v6_peer, 59, 64, "payload", 7);
	for (k = 0; k < n; k++)
		er_tx(er_peer_mac, ETH_P_IPV6_, b, k);
	b[0] = 0x45;
	er_tx(er_peer_mac, ETH_P_IPV6_, b, n);
	assert_int_equal(er_drops(ETH_DROP_SHORT), n + 1);
	assert_int_equal(er_drops_sum(), n + 1);
	assert_int_equal(er.nsent, 0);
	er_fini();
}

/*
 * An interface without stations must drop frames with another source MAC than its own. Interfaces
 * with stations are tested in test_eth_station.c.
 */
static void test_other_source_mac_without_stations(void **state)
{
	static const uint8_t other[6] = { 0x52, 0x54, 0, 1, 2, 3 };
	uint8_t b[100];

	er_init_peer();
	er_tx_pkt(
		er_frame(er_peer_mac, other, ETH_P_IPV4, b, er_udp4(b, er_ip_own, er_ip_peer, 10)));
	er_check_dropped(ETH_DROP_STATION_LIMIT);
	er_fini();
}

static void test_unknown_token(void **state)
{
	static const uint8_t mac[6] = { 6, 1, 2, 3, 4, 5 };
	uint8_t b[100], arp[28] = { 0, 1, 8, 0, 6, 4, 0, 1 };

	er_init_peer();
	er_tx(mac, ETH_P_IPV4, b, er_udp4(b, er_ip_own, er_ip_peer, 10));
	er_check_dropped(ETH_DROP_TOKEN);
	assert_int_equal(er.ngone, 1);
	assert_memory_equal(er.gone[0], mac, 6);
	memcpy(arp + 8, er.mac, 6);
	er_tx(mac, ETH_P_ARP4, arp, sizeof(arp));
	assert_int_equal(er_drops(ETH_DROP_TOKEN), 2);
	assert_int_equal(eth_if_stats(er.e)->arp_tx, 0);
	er_fini();
}

static void test_I28_unicast_ip_in_a_group_mac(void **state)
{
	uint8_t b[100];

	er_init_peer();
	er_tx(group_mac, ETH_P_IPV4, b, er_udp4(b, er_ip_own, er_ip_peer, 10));
	er_check_dropped(ETH_DROP_MAC_MISMATCH);
	er_tx(group6_mac, ETH_P_IPV6_, b, er_ip6(b, v6_own, v6_peer, 59, 64, "x", 1));
	assert_int_equal(er_drops(ETH_DROP_MAC_MISMATCH), 2);
	er_tx(er_bcast_mac, ETH_P_IPV6_, b, er_ip6(b, v6_own, v6_peer, 59, 64, "x", 1));
	assert_int_equal(er_drops(ETH_DROP_MAC_MISMATCH), 3); /* IPv6 has no broadcast */
	er_fini();
}

static void test_above_the_mtu_without_gso(void **state)
{
	uint8_t b[3000];

	er_init_peer();
	er_tx(er_peer_mac, ETH_P_IPV4, b, er_udp4(b, er_ip_own, er_ip_peer, 2044 - 28));
	assert_int_equal(er.nsent, 1);
	er_tx(er_peer_mac, ETH_P_IPV4, b, er_udp4(b, er_ip_own, er_ip_peer, 2045 - 28));
	assert_int_equal(ipoib_link_stats(er.r.link)->drops[IPOIB_DROP_TOO_BIG], 1);
	assert_int_equal(er_drops_sum(), 1);
	er_fini();
}

static void test_drop_names_are_all_there(void **state)
{
	for (unsigned int i = 0; i < ETH_DROP_MAX; i++) {
		assert_non_null(eth_drop_name(i));
		for (unsigned int k = 0; k < i; k++)
			assert_string_not_equal(eth_drop_name(i), eth_drop_name(k));
	}
	assert_string_equal(eth_drop_name(ETH_DROP_MAX), "?");
}

/* --- destinations */

static void test_R48_ip_goes_to_the_qpn_of_the_address(void **state)
{
	uint8_t b[2100];
	size_t n;

	er_init_peer();
	n = er_udp4(b, er_ip_own, er_ip_peer, 2000);
	er_tx(er_peer_mac, ETH_P_IPV4, b, n);
	check_to_peer(b, n);
	n = er_ip6(b, v6_own, v6_peer, 59, 64, "payload", 7);
	er_tx(er_peer_mac, ETH_P_IPV6_, b, n);
	assert_int_equal(be16_at(er.sent[0].data), 0x86dd);
	check_to_peer(b, n);
	er_fini();
}

/*
 * Limited and directed broadcasts must be sent to the broadcast group. Only the kernel knows which
 * IP addresses are directed broadcasts. Its frames to these addresses have the broadcast MAC as
 * their destination, so the interface must recognize broadcasts by this MAC.
 */
static void test_R25_broadcasts(void **state)
{
	static const uint8_t directed[4] = { 10, 4, 0, 255 }, limited[4] = { 255, 255, 255, 255 };
	ib_gid bcast = rig_bcast();
	uint8_t b[100];

	er_init_peer();
	er_tx(er_bcast_mac, ETH_P_IPV4, b, er_udp4(b, er_ip_own, limited, 10));
	check_to_group(&bcast);
	er_tx(er_bcast_mac, ETH_P_IPV4, b, er_udp4(b, er_ip_own, directed, 10));
	check_to_group(&bcast);
	/*
	 * the limited broadcast address maps to the broadcast group whatever the MAC is (clause
	 * R13)
	 */
	er_tx(group_mac, ETH_P_IPV4, b, er_udp4(b, er_ip_own, limited, 10));
	check_to_group(&bcast);
	er_fini();
}

/*
 * The interface must derive the group from the IP destination, because many groups share one MAC:
 * 32 IPv4 groups (RFC 1112), or 2^80 IPv6 groups (RFC 2464).
 */
static void test_I28_group_is_the_ip_destinations(void **state)
{
	static const uint32_t g4[] = { 0xe0010203, 0xef010203, 0xef810203 };
	static const uint8_t g6[][16] = { { 0xff, 5, [15] = 9 }, { 0xff, 5, [8] = 1, [15] = 9 } };
	uint8_t b[100], dst[4];
	ib_gid mgid;

	er_init_peer();
	for (unsigned int i = 0; i < ARRAY_SIZE(g4); i++) {
		rig_sa_make(&er.r, g4[i]);
		be32_put(dst, g4[i]);
		er_tx(i ? group_mac : er_bcast_mac, ETH_P_IPV4, b, er_udp4(b, er_ip_own, dst, 10));
		er_run(NS_MSEC(10));
		mgid = rig_mgid4(g4[i]);
		check_to_group(&mgid);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(g6); i++) {
		assert_int_equal(mgid_from_ipv6(&mgid, g6[i], RIG_PKEY, 2), 0);
		sa_group_make(&er.r.s.sa, &mgid, RIG_PKEY, IB_MTU_2048);
		er_tx(group6_mac, ETH_P_IPV6_, b, er_ip6(b, v6_own, g6[i], 59, 64, "x", 1));
		er_run(NS_MSEC(10));
		check_to_group(&mgid);
	}
	assert_int_equal(eth_if_stats(er.e)->igmp + eth_if_stats(er.e)->mld, 0);
	assert_int_equal(er_drops_sum(), 0);
	er_fini();
}

/*
 * A frame to a unicast MAC has the IP address of a group. The packet must be sent only to the
 * receiver that the MAC stands for. RFC 6085 requires this, and bridges that turn multicast into
 * unicast expect it.
 */
static void test_multicast_ip_in_a_unicast_mac_is_unicast(void **state)
{
	static const uint8_t g4[4] = { 239, 1, 2, 3 }, g6[16] = { 0xff, 5, [15] = 9 };
	uint8_t b[100];
	size_t n;

	er_init_peer();
	n = er_udp4(b, er_ip_own, g4, 10);
	er_tx(er_peer_mac, ETH_P_IPV4, b, n);
	check_to_peer(b, n);
	n = er_ip6(b, v6_own, g6, 59, 64, "x", 1);
	er_tx(er_peer_mac, ETH_P_IPV6_, b, n);
	check_to_peer(b, n);
	er_fini();
}

/* --- the format of packets on the link */

static void test_ethernet_padding_is_not_carried(void **state)
{
	uint8_t b[200];
	size_t n;

	er_init_peer();
	memset(b, 0xa5, sizeof(b));
	n = er_udp4(b, er_ip_own, er_ip_peer, 3);
	er_tx(er_peer_mac, ETH_P_IPV4, b, 46);
	check_to_peer(b, n);
	er_tx(er_peer_mac, ETH_P_IPV4, b, 150); /* too long for hdr[], so it is in a buffer */
	check_to_peer(b, n);
	n = er_ip6(b, v6_own, v6_peer, 59, 64, "x", 1);
	er_tx(er_peer_mac, ETH_P_IPV6_, b, 46);
	check_to_peer(b, n);
	er_fini();
}

/*
 * The packet must be sent in the same descriptor and the same buffer in which it came from the TAP,
 * which shows that nothing was copied.
 */
static void test_payload_is_not_copied(void **state)
{
	unsigned int pkts, bufs;
	const uint8_t *data;
	uint8_t b[2100];
	struct pkt *p;

	er_init_peer();
	p = er_frame(er_peer_mac, er.mac, ETH_P_IPV4, b, er_udp4(b, er_ip_own, er_ip_peer, 2000));
	data = p->slice[0].data;
	pkts = pkt_pool_pkts_used(er.r.pool);
	bufs = pkt_pool_bufs_used(er.r.pool);
	er_tx_pkt(p);
	assert_int_equal(er.nsent, 1);
	assert_ptr_equal(er.sent[0].pkt, p);
	assert_ptr_equal(er.sent[0].slice, data + 14);
	assert_int_equal(pkt_pool_pkts_used(er.r.pool), pkts - 1);
	assert_int_equal(pkt_pool_bufs_used(er.r.pool), bufs - 1);
	er_fini();
}

/*
 * The second fragment of a packet has no L4 header, so its octets must not be read as an L4 header.
 */
static void test_fragments_pass_as_they_are(void **state)
{
	uint8_t b[2100];
	size_t n;

	er_init_peer();
	n = er_ip4(b, er_ip_own, er_ip_peer, 17, (const uint8_t[1000]){ 0xff, 0xff }, 1000);
	for (unsigned int i = 0; i < 2; i++) {
		be16_put(b + 6, i ? 0x00b9 : 0x2000);
		be16_put(b + 10, 0);
		be16_put(b + 10, (uint16_t)~er_sum(b, 20, 0));
		er_tx(er_peer_mac, ETH_P_IPV4, b, n);
		check_to_peer(b, n);
	}
	er_fini();
}

/* One invalid frame in a batch must not affect the other frames. */
static void test_batch_of_good_and_bad(void **state)
{
	static const uint8_t void_mac[6] = { 6, 9 };
	struct pkt *v[30];
	uint8_t b[100];

	er_init_peer();
	for (unsigned int i = 0; i < ARRAY_SIZE(v); i++) {
		size_t n = er_udp4(b, er_ip_own, er_ip_peer, i);

		v[i] = er_frame(i % 3 == 1 ? void_mac : er_peer_mac, er.mac,
				i % 3 == 2 ? 0x88cc : ETH_P_IPV4, b, n);
	}
	eth_tx(er.e, v, ARRAY_SIZE(v), er.r.s.now);
	er_drain();
	assert_int_equal(er.nsent, 10);
	for (unsigned int i = 0; i < 10; i++)
		assert_int_equal(er.sent[i].len, 4 + 28 + 3 * i);
	assert_int_equal(er_drops(ETH_DROP_TOKEN), 10);
	assert_int_equal(er_drops(ETH_DROP_LLDP), 10);
	assert_int_equal(er_drops_sum(), 20);
	er_fini();
}

/* The SM has changed the subnet prefix. The next ARP message must have the new address. */
static void test_own_address_follows_the_port(void **state)
{
	struct ipoib_lladdr moved;
	uint8_t arp[28] = { 0, 1, 8, 0, 6, 4, 0, 1 }, hw[20];

	er_init_peer();
	moved = er.own;
	moved.gid.raw[6] = 0x42;
	moved.flags = 0xff;
	eth_if_set_addr(er.e, er.mac, &moved);
	memcpy(arp + 8, er.mac, 6);
	er_tx(er_bcast_mac, ETH_P_ARP4, arp, sizeof(arp));
	moved.flags = 0;
	ipoib_lladdr_encode(hw, &moved);
	assert_int_equal(er.nsent, 1);
	assert_memory_equal(er.sent[0].data + 4 + 8, hw, 20);
	er_fini();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R32_I28_other_ethertypes_are_dropped_and_counted),
		cmocka_unit_test(test_frame_shorter_than_its_header),
		cmocka_unit_test(test_ip_shorter_than_it_says),
		cmocka_unit_test(test_other_source_mac_without_stations),
		cmocka_unit_test(test_unknown_token),
		cmocka_unit_test(test_I28_unicast_ip_in_a_group_mac),
		cmocka_unit_test(test_above_the_mtu_without_gso),
		cmocka_unit_test(test_drop_names_are_all_there),
		cmocka_unit_test(test_R48_ip_goes_to_the_qpn_of_the_address),
		cmocka_unit_test(test_R25_broadcasts),
		cmocka_unit_test(test_I28_group_is_the_ip_destinations),
		cmocka_unit_test(test_multicast_ip_in_a_unicast_mac_is_unicast),
		cmocka_unit_test(test_ethernet_padding_is_not_carried),
		cmocka_unit_test(test_payload_is_not_copied),
		cmocka_unit_test(test_fragments_pass_as_they_are),
		cmocka_unit_test(test_batch_of_good_and_bad),
		cmocka_unit_test(test_own_address_follows_the_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

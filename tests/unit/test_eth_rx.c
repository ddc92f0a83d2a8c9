/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/eth_rig.h"

#define PEER_MAC "\x06\xf1\x2b\x60\x5c\x8b"

static const uint8_t ip_own[4] = { 10, 4, 0, RIG_LID }, ip_peer[4] = { 10, 4, 0, ER_PEER };
static const uint8_t v6_peer[16] = { 0xfd, [15] = 7 };

static void check_frame(unsigned int i, const uint8_t *dst, const void *src, uint16_t type,
			const uint8_t *ip, size_t len)
{
	const struct er_got *g = &er.got[i];

	assert_true(i < er.ngot);
	assert_memory_equal(g->data, dst, 6);
	assert_memory_equal(g->data + 6, src, 6);
	assert_int_equal(be16_at(g->data + 12), type);
	assert_int_equal(g->len, 14 + len);
	assert_memory_equal(g->data + 14, ip, len);
}

static void test_R34_unicast_with_and_without_grh(void **state)
{
	uint8_t b[2100];
	size_t n = er_udp4(b, ip_peer, ip_own, 2000);

	er_init();
	er_rx(ETH_P_IPV4, b, n);
	check_frame(0, er.mac, PEER_MAC, 0x0800, b, n);
	/*
	 * The previous packet had a GRH and the same SLID and QPN. So the interface can identify
	 * the sender of this packet, although this packet has no GRH.
	 */
	er_rx_pkt(er_packet(ETH_P_IPV4, b, n), ER_PEER, ER_PEER_QPN, false, NULL);
	check_frame(1, er.mac, PEER_MAC, 0x0800, b, n);
	assert_int_equal(eth_if_stats(er.e)->rx_packets, 2);
	assert_int_equal(eth_if_stats(er.e)->rx_frames, 2);
	er_fini();
}

/*
 * The sender has no neighbour entry, and its packet has no GRH. The packet must be delivered with a
 * source MAC that belongs to no host.
 */
static void test_sender_without_name(void **state)
{
	uint8_t b[100];
	size_t n = er_udp4(b, ip_peer, ip_own, 20);

	er_init();
	er_rx_pkt(er_packet(ETH_P_IPV4, b, n), 9, 0x99, false, NULL);
	check_frame(0, er.mac, "\x06\0\0\0\0\0", 0x0800, b, n);
	assert_int_equal(er_drops_sum(), 0);
	er_fini();
}

/*
 * The link has resolved the path to a neighbour. Packets of this neighbour have no GRH, but the
 * interface must identify the neighbour by SLID and QPN.
 */
static void test_path_names_the_sender(void **state)
{
	struct ipoib_lladdr a = er_peer_addr(9, 0x99);
	uint8_t b[100], token[6];
	size_t n = er_udp4(b, ip_peer, ip_own, 20);

	er_init();
	rig_peer(&er.r, 9);
	ipoib_neigh_probe(ipoib_neigh_get(er.r.link, &a, er.r.s.now), er.r.s.now);
	er_run(NS_MSEC(10));
	er_rx_pkt(er_packet(ETH_P_IPV4, b, n), 9, 0x99, false, NULL);
	eth_token(token, &a, RIG_PKEY);
	check_frame(0, er.mac, token, 0x0800, b, n);
	er_fini();
}

static void test_mac_of_ipv4_groups(void **state)
{
	static const struct {
		uint32_t group;
		const char *mac;
	} t[] = {
		{ 0xe0000001, "\x01\0\x5e\0\0\1" },
		{ 0xef010203, "\x01\0\x5e\1\2\3" },
		{ 0xef810203, "\x01\0\x5e\1\2\3" }, /* RFC 1112 §6.4: the lower 23 bits */
		{ 0xefffffff, "\x01\0\x5e\x7f\xff\xff" },
	};
	uint8_t b[100], dst[4];

	for (unsigned int i = 0; i < ARRAY_SIZE(t); i++) {
		ib_gid mgid = rig_mgid4(t[i].group);
		size_t n;

		er_init();
		be32_put(dst, t[i].group);
		n = er_udp4(b, ip_peer, dst, 20);
		er_rx_mcast(&mgid, ETH_P_IPV4, b, n);
		check_frame(0, (const uint8_t *)t[i].mac, PEER_MAC, 0x0800, b, n);
		er_fini();
	}
}

static void test_mac_of_ipv6_groups(void **state)
{
	static const uint8_t g[16] = { 0xff, 5, [11] = 0x77, 0xff, 1, 2, 3 };
	uint8_t b[100];
	size_t n = er_ip6(b, v6_peer, g, 59, 64, "payload", 7);
	ib_gid mgid;

	er_init();
	assert_int_equal(mgid_from_ipv6(&mgid, g, RIG_PKEY, 2), 0);
	er_rx_mcast(&mgid, ETH_P_IPV6_, b, n);
	check_frame(0, (const uint8_t *)"\x33\x33\xff\1\2\3", PEER_MAC, 0x86dd, b,
		    n); /* RFC 2464 §7: 33:33 and the last 32 bits of the group */
	er_fini();
}

static void test_R25_broadcasts_get_the_broadcast_mac(void **state)
{
	static const uint8_t directed[4] = { 10, 4, 0, 255 }, limited[4] = { 255, 255, 255, 255 };
	ib_gid bcast = rig_bcast();
	uint8_t b[100];
	size_t n;

	er_init();
	n = er_udp4(b, ip_peer, limited, 20);
	er_rx_mcast(&bcast, ETH_P_IPV4, b, n);
	check_frame(0, er_bcast_mac, PEER_MAC, 0x0800, b, n);
	n = er_udp4(b, ip_peer, directed, 20);
	er_rx_mcast(&bcast, ETH_P_IPV4, b, n);
	check_frame(1, er_bcast_mac, PEER_MAC, 0x0800, b, n);
	/* too short to contain a destination address */
	er_rx_mcast(&bcast, ETH_P_IPV4, b, 10);
	check_frame(2, er_bcast_mac, PEER_MAC, 0x0800, b, 10);
	er_rx_mcast(&bcast, ETH_P_IPV6_, b, 39);
	check_frame(3, er_bcast_mac, PEER_MAC, 0x86dd, b, 39);
	er_fini();
}

/*
 * A packet to the IP address of a group arrives as a unicast. The frame must have the interface's
 * own MAC as destination, because the kernel must not treat the frame as multicast.
 */
static void test_multicast_ip_by_unicast_has_our_mac(void **state)
{
	static const uint8_t g[4] = { 239, 1, 2, 3 };
	uint8_t b[100];
	size_t n = er_udp4(b, ip_peer, g, 20);

	er_init();
	er_rx(ETH_P_IPV4, b, n);
	check_frame(0, er.mac, PEER_MAC, 0x0800, b, n);
	er_fini();
}

static void test_R32_what_is_not_ip_or_arp(void **state)
{
	er_init();
	er_rx(0x88b5, "payload", 7);
	assert_int_equal(ipoib_link_stats(er.r.link)->drops[IPOIB_DROP_RX_TYPE], 1);
	for (size_t n = 0; n < 4; n++)
		er_rx_pkt(pkt_from_data(er.r.pool, "\x08\0\0", n), ER_PEER, ER_PEER_QPN, true,
			  NULL);
	assert_int_equal(ipoib_link_stats(er.r.link)->drops[IPOIB_DROP_SHORT], 4);
	assert_int_equal(er_drops_sum(), 5);
	assert_int_equal(er.ngot, 0);
	er_fini();
}

static void test_I27_own_echo(void **state)
{
	ib_gid bcast = rig_bcast();
	uint8_t b[100];
	size_t n = er_udp4(b, ip_own, (const uint8_t[4]){ 255, 255, 255, 255 }, 20);

	er_init();
	er_rx_pkt(er_packet(ETH_P_IPV4, b, n), RIG_LID, RIG_QPN, true, &bcast);
	assert_int_equal(ipoib_link_stats(er.r.link)->drops[IPOIB_DROP_OWN_ECHO], 1);
	assert_int_equal(er.ngot, 0);
	er_fini();
}

static void test_I31_packets_for_a_tap_that_is_down(void **state)
{
	uint8_t b[100];
	size_t n = er_udp4(b, ip_peer, ip_own, 20);

	er_init();
	eth_if_set_up(er.e, false, er.r.s.now);
	er_rx(ETH_P_IPV4, b, n);
	assert_int_equal(er_drops(ETH_DROP_RX_DOWN), 1);
	assert_int_equal(er_drops_sum(), 1);
	assert_int_equal(er.ngot, 0);
	eth_if_set_up(er.e, true, er.r.s.now);
	er_rx(ETH_P_IPV4, b, n);
	assert_int_equal(er.ngot, 1);
	er_fini();
}

static void test_no_room_for_the_ethernet_header(void **state)
{
	uint8_t b[PKT_HDR_MAX];
	struct pkt *p;
	size_t n = er_udp4(b, ip_peer, ip_own, PKT_HDR_MAX - 4 - 28);

	er_init();
	p = pkt_alloc(er.r.pool);
	memcpy(pkt_push(p, (unsigned int)n), b, n);
	memcpy(pkt_push(p, 4), "\x08\0\0", 4);
	er_rx_pkt(p, ER_PEER, ER_PEER_QPN, true, NULL);
	assert_int_equal(er_drops(ETH_DROP_NO_MEM), 1);
	assert_int_equal(er_drops_sum(), 1);
	er_fini();
}

static void test_out_of_packets_for_a_rewritten_one(void **state)
{
	struct ipoib_lladdr a = er_peer_addr(ER_PEER, ER_PEER_QPN);
	uint8_t arp[56] = { 0, 32, 8, 0, 20, 4, 0, 1 };
	struct pkt_queue q = { 0 };
	struct pkt *p, *x;

	er_init();
	ipoib_lladdr_encode(arp + 8, &a);
	p = er_packet(ETH_P_ARP4, arp, sizeof(arp));
	while ((x = pkt_alloc(er.r.pool)))
		pkt_queue_add(&q, x);
	er_rx_pkt(p, ER_PEER, ER_PEER_QPN, true, NULL);
	assert_int_equal(er_drops(ETH_DROP_NO_MEM), 1);
	assert_int_equal(er_drops_sum(), 1);
	assert_int_equal(eth_if_stats(er.e)->arp_rx, 0);
	pkt_queue_purge(&q);
	er_fini();
}

/*
 * The received descriptor itself must be delivered, with its payload at the same address, which
 * shows that nothing was copied.
 */
static void test_payload_is_not_copied(void **state)
{
	uint8_t b[2100];
	struct pkt *p;
	size_t n = er_udp4(b, ip_peer, ip_own, 2000);
	unsigned int bufs;

	er_init();
	p = er_packet(ETH_P_IPV4, b, n);
	bufs = pkt_pool_bufs_used(er.r.pool);
	er_rx_pkt(p, ER_PEER, ER_PEER_QPN, true, NULL);
	assert_int_equal(er.ngot, 1);
	assert_ptr_equal(er.got[0].pkt, p);
	assert_int_equal(pkt_pool_bufs_used(er.r.pool), bufs - 1);
	er_fini();
}

static struct ipoib_rx tcp_in(uint32_t seq, size_t n, const uint8_t *grh)
{
	uint8_t b[2100], t[2000] = { [12] = 0x50, [13] = 0x10 };
	size_t len;

	be32_put(t + 4, seq);
	len = er_ip4(b, ip_peer, ip_own, 6, t, 20 + n);
	be16_put(b + 36, (uint16_t)~er_sum(b + 20, 20 + n, er_sum(b + 12, 8, (uint32_t)(26 + n))));
	b[6] = 0x40; /* DF is set, so the identification does not matter */
	be16_put(b + 10, 0);
	be16_put(b + 10, (uint16_t)~er_sum(b, 20, 0));
	return (struct ipoib_rx){ .pkt = er_packet(ETH_P_IPV4, b, len),
				  .grh = grh,
				  .src_qp = ER_PEER_QPN,
				  .slid = ER_PEER };
}

/*
 * A batch contains TCP segments and, between two of them, an ARP packet. The segments must be
 * coalesced, the ARP packet must keep its place, and no segment may wait for the next batch.
 */
static void test_batch_is_coalesced(void **state)
{
	uint8_t grh[40] = { 0x60 }, arp[56] = { 0, 32, 8, 0, 20, 4, 0, 1 };
	struct ipoib_lladdr a = er_peer_addr(ER_PEER, ER_PEER_QPN);
	struct ipoib_rx v[6];

	er_init();
	memcpy(grh + 8, &a.gid, 16);
	memcpy(grh + 24, &er.own.gid, 16);
	ipoib_lladdr_encode(arp + 8, &a);
	for (unsigned int i = 0; i < 6; i++)
		v[i] = tcp_in(i * 500, 500, grh);
	pkt_free(v[3].pkt);
	v[3].pkt = er_packet(ETH_P_ARP4, arp, sizeof(arp));
	eth_rx(er.e, NULL, v, 3, er.r.s.now);
	assert_int_equal(er.ngot, 1);
	assert_int_equal(er.got[0].n, 3);
	assert_int_equal(er.got[0].gso, FRAME_GSO_TCP4);
	assert_int_equal(er.got[0].len, 14 + 40 + 1500);
	assert_memory_equal(er.got[0].data, er.mac, 6);
	assert_memory_equal(er.got[0].data + 6, PEER_MAC, 6);
	eth_rx(er.e, NULL, v + 3, 3, er.r.s.now);
	assert_int_equal(er.ngot, 3);
	assert_int_equal(be16_at(er.got[1].data + 12), 0x0806);
	assert_int_equal(er.got[2].n, 2);
	assert_int_equal(eth_if_stats(er.e)->rx_packets, 6);
	assert_int_equal(eth_if_stats(er.e)->rx_frames, 3);
	er_fini();
}

/*
 * Packets whose octets are no valid IP must be delivered nevertheless, so that the kernel counts
 * them.
 */
static void test_garbage_is_delivered_as_it_is(void **state)
{
	uint8_t b[300];

	er_init();
	for (size_t n = 0; n < 200; n++) {
		memset(b, (int)(n * 7), sizeof(b));
		er_rx(n & 1 ? ETH_P_IPV4 : ETH_P_IPV6_, b, n);
		check_frame(0, er.mac, PEER_MAC, n & 1 ? 0x0800 : 0x86dd, b, n);
		er_clear();
	}
	assert_int_equal(er_drops_sum(), 0);
	er_fini();
}

/*
 * Anyone on the fabric can cause neighbour entries, so the table of these entries is bounded.
 * Packets must be delivered even when this table is full.
 */
static void test_more_senders_than_room(void **state)
{
	uint8_t b[100];
	size_t n = er_udp4(b, ip_peer, ip_own, 20);

	er_init();
	for (unsigned int i = 0; i < IPOIB_NEIGH_DEFAULT + 100; i++) {
		er_rx_pkt(er_packet(ETH_P_IPV4, b, n), 100 + i % 1000, 0x100 + i, true, NULL);
		assert_int_equal(er.ngot, 1);
		er_clear();
	}
	assert_int_equal(er_drops_sum(), 0);
	er_fini();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R34_unicast_with_and_without_grh),
		cmocka_unit_test(test_sender_without_name),
		cmocka_unit_test(test_path_names_the_sender),
		cmocka_unit_test(test_mac_of_ipv4_groups),
		cmocka_unit_test(test_mac_of_ipv6_groups),
		cmocka_unit_test(test_R25_broadcasts_get_the_broadcast_mac),
		cmocka_unit_test(test_multicast_ip_by_unicast_has_our_mac),
		cmocka_unit_test(test_R32_what_is_not_ip_or_arp),
		cmocka_unit_test(test_I27_own_echo),
		cmocka_unit_test(test_I31_packets_for_a_tap_that_is_down),
		cmocka_unit_test(test_no_room_for_the_ethernet_header),
		cmocka_unit_test(test_out_of_packets_for_a_rewritten_one),
		cmocka_unit_test(test_payload_is_not_copied),
		cmocka_unit_test(test_batch_is_coalesced),
		cmocka_unit_test(test_garbage_is_delivered_as_it_is),
		cmocka_unit_test(test_more_senders_than_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

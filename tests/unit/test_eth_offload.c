/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/eth_rig.h"

/*
 * Tests the work that the kernel leaves to the device: completing checksums, and cutting
 * super-frames into segments.
 */

static const uint8_t v6_own[16] = { 0xfd, [15] = 5 }, v6_peer[16] = { 0xfd, [15] = 7 };

/*
 * Make a frame whose checksum field of TCP, UDP or ICMPv6 contains only the sum of the
 * pseudo-header, as in frames from the kernel with a partial checksum.
 */
static struct pkt *partial(uint16_t type, uint8_t *ip, size_t n, unsigned int l4, unsigned int at,
			   uint8_t proto)
{
	bool v6 = type == ETH_P_IPV6_;
	struct pkt *p;

	be16_put(ip + l4 + at, er_sum(ip + (v6 ? 8 : 12), v6 ? 32 : 8, (uint32_t)(proto + n - l4)));
	p = er_frame(er_peer_mac, er.mac, type, ip, n);
	frame_info(p)->csum = FRAME_CSUM_PARTIAL;
	frame_info(p)->csum_start = (uint16_t)l4;
	frame_info(p)->csum_offset = (uint16_t)at;
	return p;
}

static void test_partial_checksum_is_completed(void **state)
{
	static const size_t size[] = { 0, 1, 30, 31, 500, 2001 };
	uint8_t b[2100];

	er_init_peer();
	for (unsigned int i = 0; i < ARRAY_SIZE(size); i++) {
		size_t n = er_udp4(b, er_ip_own, er_ip_peer, size[i]);

		er_tx_pkt(partial(ETH_P_IPV4, b, n, 20, 6, 17));
		assert_int_equal(er.nsent, 1);
		assert_int_equal(er.sent[0].csum, FRAME_CSUM_OK);
		er_check_ip(er.sent[0].data + 4, er.sent[0].len - 4);
		er_clear();
	}
	er_fini();
}

/*
 * A UDP checksum that is computed as zero must be sent as all ones (RFC 768). A TCP checksum of
 * zero must be sent as zero.
 */
static void test_udp_checksum_of_zero_is_sent_as_ones(void **state)
{
	uint8_t b[100];
	size_t n;

	er_init_peer();
	n = er_udp4(b, er_ip_own, er_ip_peer, 2);
	be16_put(b + 28, 0);
	be16_put(b + 26, 0);
	be16_put(b + 28, (uint16_t)~er_sum(b + 20, 10, er_sum(b + 12, 8, 17 + 10)));
	er_tx_pkt(partial(ETH_P_IPV4, b, n, 20, 6, 17));
	assert_int_equal(er.nsent, 1);
	assert_int_equal(be16_at(er.sent[0].data + 4 + 26), 0xffff);

	/* a TCP packet whose checksum is zero, too */
	n = er_ip4(b, er_ip_own, er_ip_peer, 6, (const uint8_t[24]){ 0 }, 24);
	be16_put(b + 40, (uint16_t)~er_sum(b + 12, 8, 6 + 24));
	er_tx_pkt(partial(ETH_P_IPV4, b, n, 20, 16, 6));
	assert_int_equal(er.nsent, 2);
	assert_int_equal(be16_at(er.sent[1].data + 4 + 36), 0);
	er_fini();
}

/*
 * The headers before UDP have several lengths: short headers fit into hdr[] of the packet, and long
 * headers extend into the payload buffer.
 */
static void test_partial_checksum_behind_extension_headers(void **state)
{
	static const unsigned int ext[] = { 8, 40, 64, 72, 80, 256, 1000 };

	er_init_peer();
	for (unsigned int i = 0; i < ARRAY_SIZE(ext); i++) {
		uint8_t b[2100], m[2048] = { 17, (uint8_t)(ext[i] / 8 - 1) };
		size_t payload = 333, n, l4 = 40 + ext[i];
		const uint8_t *ip = er.sent[0].data + 4;
		struct pkt *p;

		be16_put(m + ext[i] + 4, (uint16_t)(8 + payload));
		memset(m + ext[i] + 8, 0x5a, payload);
		n = er_ip6(b, v6_own, v6_peer, 60, 64, m, ext[i] + 8 + payload);
		p = partial(ETH_P_IPV6_, b, n, (unsigned int)l4, 6, 17);
		er_tx_pkt(p);
		assert_int_equal(er.nsent, 1);
		assert_int_equal(er.sent[0].len, n + 4);
		assert_int_equal(
			er_sum(ip + l4, n - l4, er_sum(ip + 8, 32, (uint32_t)(17 + n - l4))),
			0xffff);
		assert_memory_equal(ip, b, l4 + 6); /* everything but the checksum is unchanged */
		assert_memory_equal(ip + l4 + 8, b + l4 + 8, payload);
		er_clear();
	}
	assert_int_equal(er_drops_sum(), 0);
	er_fini();
}

static void test_the_ca_makes_checksums(void **state)
{
	static const size_t size[] = { 0, 1, 30, 500, 2001 };
	uint8_t b[2100];

	er_init_peer();
	er_csum_by_ca(true);
	for (unsigned int i = 0; i < ARRAY_SIZE(size); i++) {
		size_t n = er_udp4(b, er_ip_own, er_ip_peer, size[i]);

		er_tx_pkt(partial(ETH_P_IPV4, b, n, 20, 6, 17));
		assert_int_equal(er.nsent, 1);
		assert_int_equal(er.sent[0].csum, FRAME_CSUM_PARTIAL);
		er_check_ip(er.sent[0].data + 4, er.sent[0].len - 4);
		er_clear();
	}
	er_fini();
}

static void send_completed(uint16_t type, uint8_t *b, size_t n, unsigned int l4, unsigned int at,
			   uint8_t proto)
{
	er_clear();
	er_tx_pkt(partial(type, b, n, l4, at, proto));
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].csum, FRAME_CSUM_OK);
}

/*
 * A CA computes the checksums only of some kinds of packets. The interface must complete the
 * checksums of all other packets.
 */
static void test_checksums_that_a_ca_does_not_make(void **state)
{
	uint8_t b[200], udp[20] = { [5] = 20 }, opt[24] = { 0x46, [9] = 17 };
	size_t n;

	er_init_peer();
	er_csum_by_ca(true);
	n = er_ip6(b, v6_own, v6_peer, 17, 64, udp, sizeof(udp));
	send_completed(ETH_P_IPV6_, b, n, 40, 6, 17);
	/* an IPv4 header with options */
	memcpy(opt + 12, er_ip_own, 4);
	memcpy(opt + 16, er_ip_peer, 4);
	opt[3] = sizeof(opt) + sizeof(udp);
	be16_put(opt + 10, (uint16_t)~er_sum(opt, sizeof(opt), 0));
	memcpy(b, opt, sizeof(opt));
	memcpy(b + sizeof(opt), udp, sizeof(udp));
	send_completed(ETH_P_IPV4, b, sizeof(opt) + sizeof(udp), 24, 6, 17);
	/* a first fragment */
	n = er_ip4(b, er_ip_own, er_ip_peer, 17, udp, sizeof(udp));
	b[6] = 0x20;
	send_completed(ETH_P_IPV4, b, n, 20, 6, 17);
	/*
	 * protocol 33 (DCCP); then UDP, with a partial checksum at an offset where UDP has no
	 * checksum field
	 */
	n = er_ip4(b, er_ip_own, er_ip_peer, 33, udp, sizeof(udp));
	send_completed(ETH_P_IPV4, b, n, 20, 6, 33);
	n = er_ip4(b, er_ip_own, er_ip_peer, 17, udp, sizeof(udp));
	send_completed(ETH_P_IPV4, b, n, 20, 16, 17);
	er_fini();
}

static void test_partial_checksum_outside_the_packet(void **state)
{
	static const struct {
		uint16_t start, offset;
	} bad[] = { { 20, 40 },	   { 38, 0 },	       { 20, 0xffff },
		    { 0xffff, 6 }, { 0xffff, 0xffff }, { 20, 120 } };
	uint8_t b[100];

	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		struct pkt *p;

		er_init_peer();
		p = er_frame(er_peer_mac, er.mac, ETH_P_IPV4, b,
			     er_udp4(b, er_ip_own, er_ip_peer, 11));
		frame_info(p)->csum = FRAME_CSUM_PARTIAL;
		frame_info(p)->csum_start = bad[i].start;
		frame_info(p)->csum_offset = bad[i].offset;
		er_tx_pkt(p);
		er_check_dropped(ETH_DROP_OFFLOAD);
		er_fini();
	}
}

/* --- super-frames */

static struct pkt *super_tcp(size_t payload, uint16_t mss)
{
	static uint8_t b[65000], t[65000] = { [12] = 0x50, [13] = 0x10 };
	size_t n;
	struct pkt *p;

	be32_put(t + 4, 1000);
	for (size_t i = 0; i < payload; i++)
		t[20 + i] = (uint8_t)(i / 7 + i);
	n = er_ip4(b, er_ip_own, er_ip_peer, 6, t, 20 + payload);
	p = partial(ETH_P_IPV4, b, n, 20, 16, 6);
	frame_info(p)->gso = FRAME_GSO_TCP4;
	frame_info(p)->gso_size = mss;
	return p;
}

static struct pkt *super_udp(size_t payload, uint16_t size)
{
	uint8_t b[ER_OCTETS];
	size_t n = er_udp4(b, er_ip_own, er_ip_peer, payload);
	struct pkt *p = partial(ETH_P_IPV4, b, n, 20, 6, 17);

	frame_info(p)->gso = FRAME_GSO_UDP;
	frame_info(p)->gso_size = size;
	return p;
}

static void check_segments(unsigned int from, unsigned int n, size_t mss)
{
	size_t done = 0;

	for (unsigned int i = from; i < from + n; i++) {
		const uint8_t *ip = er.sent[i].data + 4;
		size_t pay = er.sent[i].len - 44;

		assert_true(pay <= mss);
		er_check_ip(ip, er.sent[i].len - 4);
		assert_int_equal(be32_at(ip + 24), 1000 + done);
		for (size_t k = 0; k < pay; k++)
			assert_int_equal(ip[40 + k], (uint8_t)((done + k) / 7 + done + k));
		done += pay;
	}
}

static void test_super_frame_is_segmented(void **state)
{
	er_init_peer();
	er_tx_pkt(super_tcp(60000, 2004));
	assert_int_equal(er.nsent, 30);
	check_segments(0, 30, 2004);
	assert_int_equal(eth_if_stats(er.e)->tx_segments, 30);
	assert_int_equal(eth_if_stats(er.e)->tx_frames, 2);
	assert_int_equal(pkt_pool_pkts_used(er.r.pool), 0);
	er_fini();
}

/*
 * A super-frame has more segments than the send queue has room for. Whenever there is room, further
 * segments must be sent, in order.
 */
static void test_super_frame_waits_for_room(void **state)
{
	er_init_peer();
	eth_set_room(er.e, 7);
	er_tx_pkt(super_tcp(60000, 2004)); /* 30 segments */
	assert_int_equal(er.nsent, 7);
	assert_int_equal(eth_tx_waiting(er.e), 1);
	er_tx_pkt(super_udp(3000, 1000)); /* this super-frame waits behind the first one */
	assert_int_equal(er.nsent, 7);
	assert_int_equal(eth_tx_more(er.e, er.r.s.now), 2); /* no room yet */
	eth_set_room(er.e, 20);
	assert_int_equal(eth_tx_more(er.e, er.r.s.now), 2);
	assert_int_equal(er.nsent, 27);
	eth_set_room(er.e, 20);
	assert_int_equal(eth_tx_more(er.e, er.r.s.now), 0);
	assert_int_equal(er.nsent, 33);
	check_segments(0, 30, 2004);
	assert_int_equal(er_drops_sum(), 0);
	assert_int_equal(pkt_pool_pkts_used(er.r.pool), 0);
	er_fini();
}

/*
 * Segments of a super-frame wait for room, and the link is about to destroy the address handle that
 * these segments use. The segments must be sent before the handle is destroyed, although the queue
 * is full.
 */
static void test_super_frame_that_waits_outlives_its_address_handle(void **state)
{
	er_init_peer();
	eth_set_room(er.e, 7);
	er_tx_pkt(super_tcp(60000, 2004));
	assert_int_equal(er.nsent, 7);
	ipoib_link_set_admin(er.r.link, false, er.r.s.now);
	er_drain();
	assert_int_equal(er.nsent, 30);
	assert_int_equal(eth_tx_waiting(er.e), 0);
	er_fini();
}

static void test_segments_whose_checksum_the_ca_makes(void **state)
{
	er_init_peer();
	er_csum_by_ca(true);
	er_tx_pkt(super_tcp(60000, 2004));
	assert_int_equal(er.nsent, 30);
	er_tx_pkt(super_udp(3000, 1000));
	assert_int_equal(er.nsent, 33);
	check_segments(0, 30, 2004);
	for (unsigned int i = 0; i < 33; i++) {
		assert_int_equal(er.sent[i].csum, FRAME_CSUM_PARTIAL);
		er_check_ip(er.sent[i].data + 4, er.sent[i].len - 4);
	}
	assert_int_equal(er_drops_sum(), 0);
	er_fini();
}

/*
 * While segments wait for room, another CA takes the place of the CA. One of the two CAs computes
 * checksums, the other does not. All segments must be sent with right checksums.
 */
static void test_another_ca_while_segments_wait(void **state)
{
	for (unsigned int sent = 1; sent < 30; sent++) {
		bool by_ca = sent % 2;

		er_init_peer();
		er_csum_by_ca(by_ca);
		eth_set_room(er.e, sent);
		er_tx_pkt(super_tcp(60000, 2004));
		assert_int_equal(er.nsent, sent);
		er_csum_by_ca(!by_ca);
		eth_set_room(er.e, 30);
		assert_int_equal(eth_tx_more(er.e, er.r.s.now), 0);
		assert_int_equal(er.nsent, 30);
		check_segments(0, 30, 2004);
		er_fini();
	}
}

static void test_frame_costs_at_least_its_segments(void **state)
{
	static const uint16_t mss[] = { 8, 36, 980, 2004, 9000 };

	er_init_peer();
	for (unsigned int i = 0; i < ARRAY_SIZE(mss); i++) {
		struct pkt *p = super_tcp(60000, mss[i]);
		unsigned int size = mss[i] < 2004 ? mss[i] : 2004;

		assert_in_range(eth_tx_cost(er.e, p), (60000 + size - 1) / size,
				60000 / size * 11 / 10 + 10);
		pkt_free(p);
	}
	er_fini();
}

static void test_I32_super_frame_held_for_its_path_is_segmented_on_release(void **state)
{
	uint8_t b[100];

	er_init();
	er_learn(ER_PEER, ER_PEER_QPN, er_peer_mac);
	er_tx(er_peer_mac, ETH_P_IPV4, b, er_udp4(b, er_ip_own, er_ip_peer, 10));
	er_tx_pkt(super_tcp(5000, 2004));
	er_tx(er_peer_mac, ETH_P_IPV4, b, er_udp4(b, er_ip_own, er_ip_peer, 20));
	assert_int_equal(er.nsent, 0);
	assert_int_equal(ipoib_link_stats(er.r.link)->tx_held, 3);
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 5); /* all packets were sent, in the order of arrival */
	assert_int_equal(er.sent[0].len, 4 + 28 + 10);
	check_segments(1, 3, 2004);
	assert_int_equal(er.sent[4].len, 4 + 28 + 20);
	for (unsigned int i = 0; i < 5; i++)
		assert_int_equal(er.sent[i].dest_qpn, ER_PEER_QPN);
	er_fini();
}

static void test_datagrams_of_a_super_frame_above_the_mtu(void **state)
{
	er_init_peer();
	er_tx_pkt(super_udp(4000, 2017));
	er_check_dropped(ETH_DROP_TOO_BIG);
	er_tx_pkt(super_udp(4000, 2016));
	assert_int_equal(er.nsent, 2);
	er_fini();
}

static void test_super_frame_that_its_headers_do_not_bear_out(void **state)
{
	static const struct {
		uint16_t start, size;
	} bad[] = { { 24, 1000 }, { 20, 0 }, { 60000, 1000 }, { 0, 1000 } };

	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		struct pkt *p;

		er_init_peer();
		p = super_tcp(3000, bad[i].size);
		frame_info(p)->csum_start = bad[i].start;
		er_tx_pkt(p);
		er_check_dropped(ETH_DROP_OFFLOAD);
		er_fini();
	}
}

/* --- resources */

static void take_all(struct pkt_queue *q, unsigned int leave)
{
	struct pkt *p;

	while ((p = pkt_alloc(er.r.pool)))
		pkt_queue_add(q, p);
	while (leave--)
		pkt_free(pkt_queue_pop(q));
}

static void test_out_of_packets(void **state)
{
	struct pkt_queue q = { 0 };
	uint8_t arp[28] = { 0, 1, 8, 0, 6, 4, 0, 1 };
	struct pkt *p;

	er_init_peer();
	memcpy(arp + 8, er.mac, 6);
	p = er_frame(er_bcast_mac, er.mac, ETH_P_ARP4, arp, sizeof(arp));
	take_all(&q, 0);
	er_tx_pkt(p);
	er_check_dropped(ETH_DROP_NO_MEM);
	pkt_queue_purge(&q);

	p = super_tcp(10000, 2000);
	take_all(&q, 2);
	/*
	 * The pool has only 2 more descriptors, but the super-frame has 5 segments. So 2 segments
	 * must be sent, and 3 must be dropped.
	 */
	er_tx_pkt(p);
	assert_int_equal(er.nsent, 2);
	assert_int_equal(er_drops(ETH_DROP_NO_MEM), 1 + 3);
	pkt_queue_purge(&q);
	er_fini();
}

static void test_full_batch_of_super_frames(void **state)
{
	struct pkt *v[PKT_BATCH];

	er_init_peer();
	for (unsigned int i = 0; i < 3; i++)
		v[i] = super_tcp(50 * 1000, 1000);
	for (unsigned int i = 3; i < PKT_BATCH; i++) {
		uint8_t b[100];

		v[i] = er_frame(er_peer_mac, er.mac, ETH_P_IPV4, b,
				er_udp4(b, er_ip_own, er_ip_peer, i % 50));
	}
	eth_tx(er.e, v, PKT_BATCH, er.r.s.now);
	er_drain();
	assert_int_equal(er.nsent, 150 + PKT_BATCH - 3);
	for (unsigned int i = 3; i < PKT_BATCH; i++)
		assert_int_equal(er.sent[150 + i - 3].len, 4 + 28 + i % 50);
	er_fini();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_partial_checksum_is_completed),
		cmocka_unit_test(test_udp_checksum_of_zero_is_sent_as_ones),
		cmocka_unit_test(test_partial_checksum_behind_extension_headers),
		cmocka_unit_test(test_the_ca_makes_checksums),
		cmocka_unit_test(test_checksums_that_a_ca_does_not_make),
		cmocka_unit_test(test_partial_checksum_outside_the_packet),
		cmocka_unit_test(test_super_frame_is_segmented),
		cmocka_unit_test(test_super_frame_waits_for_room),
		cmocka_unit_test(test_super_frame_that_waits_outlives_its_address_handle),
		cmocka_unit_test(test_segments_whose_checksum_the_ca_makes),
		cmocka_unit_test(test_another_ca_while_segments_wait),
		cmocka_unit_test(test_frame_costs_at_least_its_segments),
		cmocka_unit_test(test_I32_super_frame_held_for_its_path_is_segmented_on_release),
		cmocka_unit_test(test_datagrams_of_a_super_frame_above_the_mtu),
		cmocka_unit_test(test_super_frame_that_its_headers_do_not_bear_out),
		cmocka_unit_test(test_out_of_packets),
		cmocka_unit_test(test_full_batch_of_super_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib_rig.h"
#include "util/frame.h"

/*
 * Tests the data path of a link packet by packet: encapsulation, sizes, ethertypes, received copies
 * of packets that the link itself has sent, and how the sender of a packet is found.
 */

static struct ipoib_rig r;

/* Return a GRH from @src to @dgid, as a receive buffer has it before the payload. */
static const uint8_t *grh_of(unsigned int src, const ib_gid *dgid)
{
	static uint8_t grh[40];
	ib_gid sgid = peer_gid(src);

	memset(grh, 0, sizeof(grh));
	grh[0] = 0x60;
	grh[6] = 0x1b;
	memcpy(grh + 8, sgid.raw, 16);
	memcpy(grh + 24, dgid->raw, 16);
	return grh;
}

static struct ipoib_rx rx_of(uint16_t type, uint16_t slid, uint32_t src_qp, size_t payload)
{
	uint8_t b[64] = { 0 };

	be16_put(b, type);
	be16_put(b + 2, 0xdead); /* R30: ignored on receive */
	b[4] = 0x45;
	return (struct ipoib_rx){
		.pkt = pkt_from_data(r.pool, b, 4 + payload),
		.slid = slid,
		.src_qp = src_qp,
	};
}

static enum ipoib_drop rx(struct ipoib_rx *v)
{
	ipoib_rx(r.link, v, 1, r.s.now);
	rig_drain(&r);
	assert_int_equal(v->verdict, v->reason ? IPOIB_DROP : IPOIB_DELIVER);
	if (v->verdict == IPOIB_DELIVER) {
		assert_int_equal(pkt_pull(v->pkt, 1)[0], 0x45); /* decapsulated */
		pkt_free(v->pkt);
	} else {
		assert_null(v->pkt);
	}
	return v->reason;
}

static void test_R29_R31_the_four_types_and_no_other(void **state)
{
	static const struct {
		uint16_t type;
		bool ok;
	} t[] = {
		{ 0x0800, true },  { 0x0806, true },  { 0x8035, true },	 { 0x86dd, true },
		{ 0x8100, false }, { 0x88cc, false }, { 0x0000, false }, { 0xffff, false },
	};

	rig_init_up(&r, 1);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct ipoib_rx v = rx_of(t[i].type, 9, 0x77, 20);
		struct ipoib_tx o = { .dst = IPOIB_DST_BROADCAST,
				      .ethertype = t[i].type,
				      .pkt = rig_pkt(&r, 1, 40) };

		assert_int_equal(rx(&v), t[i].ok ? IPOIB_DROP_NONE : IPOIB_DROP_RX_TYPE);
		if (t[i].ok)
			assert_int_equal(v.ethertype, t[i].type);
		assert_int_equal(rig_tx(&r, &o), t[i].ok ? IPOIB_SEND : IPOIB_DROP);
		if (!t[i].ok)
			assert_int_equal(o.reason, IPOIB_DROP_TX_TYPE);
	}
	assert_int_equal(rig_drops(&r, IPOIB_DROP_RX_TYPE), 4); /* R32: dropped and counted */
	assert_int_equal(rig_drops(&r, IPOIB_DROP_TX_TYPE), 4);
	assert_int_equal(ipoib_link_stats(r.link)->rx_packets, 4);
	assert_int_equal(ipoib_link_stats(r.link)->tx_packets, 4);
	assert_int_equal(ipoib_link_stats(r.link)->tx_octets, 160);
	rig_fini(&r);
}

static void test_short_packets_are_dropped_and_counted(void **state)
{
	rig_init_up(&r, 1);
	for (size_t len = 0; len < 4; len++) {
		uint8_t b[4] = { 0x08, 0x00 };
		struct ipoib_rx v = { .slid = 9, .src_qp = 0x77 };

		v.pkt = pkt_from_data(r.pool, b, len);
		assert_int_equal(rx(&v), IPOIB_DROP_SHORT);
	}
	assert_int_equal(rig_drops(&r, IPOIB_DROP_SHORT), 4);
	rig_fini(&r);
}

static void test_R34_with_and_without_grh(void **state)
{
	ib_gid own = peer_gid(RIG_LID);
	struct ipoib_rx v;

	rig_init_up(&r, 1);
	v = rx_of(0x0800, 9, 0x77, 20);
	assert_int_equal(rx(&v), IPOIB_DROP_NONE);
	assert_null(v.src); /* no neighbour entry with LID 9, QPN 0x77 yet */
	assert_int_equal(ipoib_link_stats(r.link)->rx_no_source, 1);
	v = rx_of(0x0800, 9, 0x77, 20);
	v.grh = grh_of(9, &own);
	assert_int_equal(rx(&v), IPOIB_DROP_NONE);
	assert_ptr_equal(v.src, rig_neigh(&r, 9, 0x77));
	assert_false(v.mcast);
	/*
	 * The previous packet had a GRH and the same SLID and QPN, so the link has learnt which
	 * neighbour has this LID and QPN. The link must find the sender by them, although this
	 * packet has no GRH.
	 */
	v = rx_of(0x0800, 9, 0x77, 20);
	assert_int_equal(rx(&v), IPOIB_DROP_NONE);
	assert_ptr_equal(v.src, rig_neigh(&r, 9, 0x77));
	/* no neighbour with LID 9 and QPN 0x78 is known */
	v = rx_of(0x0800, 9, 0x78, 20);
	rx(&v);
	assert_null(v.src);
	rig_fini(&r);
}

static void test_resolved_path_names_the_sender_too(void **state)
{
	struct ipoib_neigh *n;
	struct ipoib_rx v;

	rig_init_up(&r, 1);
	rig_peer(&r, 9);
	n = rig_neigh(&r, 9, 0x77);
	rig_tx_neigh(&r, n, 1);
	rig_run(&r, NS_MSEC(1));
	v = rx_of(0x0800, 9, 0x77, 20);
	rx(&v);
	assert_ptr_equal(v.src, n);
	rig_fini(&r);
}

static void test_lid_that_moves_names_the_new_owner(void **state)
{
	ib_gid own = peer_gid(RIG_LID);
	struct ipoib_rx v;

	rig_init_up(&r, 1);
	v = rx_of(0x0800, 9, 0x77, 20);
	v.grh = grh_of(9, &own);
	rx(&v);
	v = rx_of(0x0800, 9, 0x77, 20);
	v.grh = grh_of(10, &own);
	rx(&v);
	v = rx_of(0x0800, 9, 0x77, 20);
	rx(&v);
	assert_ptr_equal(v.src, rig_neigh(&r, 10, 0x77));
	/*
	 * A packet shows that the neighbour with GID 10 has moved to LID 11. After this, the pair
	 * of LID 9 and QPN 0x77 must lead to no neighbour, not even to the neighbour with GID 9, to
	 * which the pair belonged at first.
	 */
	v = rx_of(0x0800, 11, 0x77, 20);
	v.grh = grh_of(10, &own);
	rx(&v);
	v = rx_of(0x0800, 9, 0x77, 20);
	rx(&v);
	assert_null(v.src);
	rig_fini(&r);
}

static void test_multicast_is_marked(void **state)
{
	ib_gid bcast = rig_bcast();
	struct ipoib_rx v;

	rig_init_up(&r, 1);
	v = rx_of(0x0806, 9, 0x77, 28);
	v.grh = grh_of(9, &bcast);
	assert_int_equal(rx(&v), IPOIB_DROP_NONE);
	assert_true(v.mcast);
	assert_int_equal(ipoib_link_stats(r.link)->rx_mcast, 1);
	rig_fini(&r);
}

static void test_I27_own_echo_is_dropped(void **state)
{
	ib_gid bcast = rig_bcast();
	static const struct {
		uint16_t slid;
		uint32_t qpn;
		unsigned int sgid;
		enum ipoib_drop want;
	} t[] = {
		{ RIG_LID, RIG_QPN, RIG_LID, IPOIB_DROP_OWN_ECHO },
		/* sent by another interface of this port */
		{ RIG_LID, 0x77, RIG_LID, IPOIB_DROP_NONE },
		{ 9, RIG_QPN, 9, IPOIB_DROP_NONE }, /* the same QPN at another port */
		/* the source GID is not that of this port, so the packet came through a router */
		{ RIG_LID, RIG_QPN, 9, IPOIB_DROP_NONE },
	};

	rig_init_up(&r, 1);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct ipoib_rx v = rx_of(0x0806, t[i].slid, t[i].qpn, 28);

		v.grh = grh_of(t[i].sgid, &bcast);
		assert_int_equal(rx(&v), t[i].want);
	}
	rig_fini(&r);
}

static void test_I27_own_echo_in_an_lmc_range_and_of_stations(void **state)
{
	ib_gid bcast = rig_bcast();
	struct ipoib_rx v;

	rig_init(&r, 1);
	r.port.lid = 8;
	r.port.lmc = 2;
	rig_port(&r);
	rig_up(&r);
	for (uint16_t slid = 7; slid <= 12; slid++) {
		v = rx_of(0x0806, slid, RIG_QPN, 28);
		v.grh = grh_of(RIG_LID, &bcast);
		assert_int_equal(rx(&v), slid >= 8 && slid <= 11 ? IPOIB_DROP_OWN_ECHO : 0);
	}
	assert_int_equal(ipoib_link_own_qp_add(r.link, 0x123), 0);
	assert_int_equal(ipoib_link_own_qp_add(r.link, 0x123), -EEXIST);
	v = rx_of(0x0806, 8, 0x123, 28);
	v.grh = grh_of(RIG_LID, &bcast);
	assert_int_equal(rx(&v), IPOIB_DROP_OWN_ECHO);
	ipoib_link_own_qp_del(r.link, 0x123);
	v = rx_of(0x0806, 8, 0x123, 28);
	v.grh = grh_of(RIG_LID, &bcast);
	assert_int_equal(rx(&v), IPOIB_DROP_NONE);
	rig_fini(&r);
}

static void test_R37_packets_above_the_mtu_are_dropped(void **state)
{
	struct ipoib_tx v = { .ethertype = 0x0800, .dst = IPOIB_DST_BROADCAST };

	rig_init_up(&r, 1);
	v.pkt = rig_pkt(&r, 1, 2044);
	assert_int_equal(rig_tx(&r, &v), IPOIB_SEND);
	assert_int_equal(r.sent[0].len, 2048);
	v.pkt = rig_pkt(&r, 1, 2045);
	assert_int_equal(rig_tx(&r, &v), IPOIB_DROP);
	assert_int_equal(v.reason, IPOIB_DROP_TOO_BIG);
	/*
	 * A super-frame may be larger than the MTU, and gets one encapsulation header, because it
	 * is cut into segments later.
	 */
	v.pkt = rig_pkt(&r, 1, 30000);
	frame_info(v.pkt)->gso = FRAME_GSO_TCP4;
	frame_info(v.pkt)->gso_size = 2004;
	assert_int_equal(rig_tx(&r, &v), IPOIB_SEND);
	assert_int_equal(r.sent[1].len, 30004);
	rig_fini(&r);
}

static void test_no_headroom_is_a_counted_drop(void **state)
{
	struct ipoib_tx v = { .ethertype = 0x0800, .dst = IPOIB_DST_BROADCAST };

	rig_init_up(&r, 1);
	v.pkt = rig_pkt(&r, 1, 64);
	assert_non_null(pkt_push(v.pkt, v.pkt->head - 3));
	assert_int_equal(rig_tx(&r, &v), IPOIB_DROP);
	assert_int_equal(v.reason, IPOIB_DROP_HEADROOM);
	rig_fini(&r);
}

static void test_a_batch_gets_a_verdict_each(void **state)
{
	struct ipoib_tx v[4];

	rig_init_up(&r, 1);
	memset(v, 0, sizeof(v));
	for (int i = 0; i < 4; i++) {
		v[i].pkt = rig_pkt(&r, (uint32_t)i, 40);
		v[i].ethertype = 0x0800;
	}
	v[0].dst = IPOIB_DST_BROADCAST;
	v[1].dst = IPOIB_DST_NEIGH;
	v[1].neigh = rig_neigh(&r, 9, 0x77);
	v[2].dst = 99;
	/* the destination is 0.0.0.0, which is no multicast address, so the packet is dropped */
	v[3].dst = IPOIB_DST_MCAST4;
	ipoib_tx(r.link, v, 4, r.s.now);
	assert_int_equal(v[0].verdict, IPOIB_SEND);
	assert_int_equal(v[1].verdict, IPOIB_HELD);
	assert_int_equal(v[2].verdict, IPOIB_DROP);
	assert_int_equal(v[3].verdict, IPOIB_DROP);
	assert_int_equal(rig_drops(&r, IPOIB_DROP_NOT_GROUP), 2);
	pkt_free(v[0].pkt);
	rig_fini(&r);
}

static void test_a_link_that_is_down_takes_and_gives_nothing(void **state)
{
	struct ipoib_tx o = { .ethertype = 0x0800, .dst = IPOIB_DST_BROADCAST };
	struct ipoib_rx v;

	rig_init(&r, 1);
	v = rx_of(0x0800, 9, 0x77, 20);
	assert_int_equal(rx(&v), IPOIB_DROP_RX_LINK_DOWN);
	o.pkt = rig_pkt(&r, 1, 40);
	assert_int_equal(rig_tx(&r, &o), IPOIB_DROP);
	assert_int_equal(o.reason, IPOIB_DROP_LINK_DOWN);
	rig_fini(&r);
}

static void test_every_reason_has_a_name_of_its_own(void **state)
{
	for (int i = 0; i < IPOIB_DROP_N; i++) {
		assert_non_null(ipoib_drop_name(i));
		for (int k = 0; k < i; k++)
			assert_string_not_equal(ipoib_drop_name(i), ipoib_drop_name(k));
	}
	assert_string_equal(ipoib_drop_name(IPOIB_DROP_N), "?");
}

static void test_floods_of_strange_senders_are_bounded(void **state)
{
	ib_gid own = peer_gid(RIG_LID);
	struct ipoib_link_info i;

	rig_init_up(&r, 1);
	for (unsigned int k = 0; k < IPOIB_NEIGH_DEFAULT + 500; k++) {
		struct ipoib_rx v = rx_of(0x0800, (uint16_t)(9 + k % 1000), 0x77, 20);

		v.grh = grh_of(1000 + k, &own);
		assert_int_equal(rx(&v), IPOIB_DROP_NONE);
	}
	ipoib_link_info(r.link, &i);
	assert_int_equal(i.neighs, IPOIB_NEIGH_DEFAULT);
	rig_run(&r, IPOIB_NEIGH_IDLE + (IPOIB_SWEEP_STEP / IPOIB_SWEEP_REMOVE + 2) * IPOIB_SWEEP);
	ipoib_link_info(r.link, &i);
	assert_int_equal(i.neighs, 0);
	assert_int_equal(i.paths, 0);
	rig_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R29_R31_the_four_types_and_no_other),
		cmocka_unit_test(test_short_packets_are_dropped_and_counted),
		cmocka_unit_test(test_R34_with_and_without_grh),
		cmocka_unit_test(test_resolved_path_names_the_sender_too),
		cmocka_unit_test(test_lid_that_moves_names_the_new_owner),
		cmocka_unit_test(test_multicast_is_marked),
		cmocka_unit_test(test_I27_own_echo_is_dropped),
		cmocka_unit_test(test_I27_own_echo_in_an_lmc_range_and_of_stations),
		cmocka_unit_test(test_R37_packets_above_the_mtu_are_dropped),
		cmocka_unit_test(test_no_headroom_is_a_counted_drop),
		cmocka_unit_test(test_a_batch_gets_a_verdict_each),
		cmocka_unit_test(test_a_link_that_is_down_takes_and_gives_nothing),
		cmocka_unit_test(test_every_reason_has_a_name_of_its_own),
		cmocka_unit_test(test_floods_of_strange_senders_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

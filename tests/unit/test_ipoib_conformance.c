/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib_rig.h"

/*
 * Tests clauses of RFC 4391 that other tests check only in passing. Each of these clauses has a
 * test of its own here.
 */

static struct ipoib_rig r;

static struct sa_group *bcast_at_sa(void)
{
	ib_gid g = rig_bcast();

	return sa_group_find(&r.s.sa, &g);
}

/* Let a packet without a GRH arrive from LID 9 and QPN 0x77. */
static enum ipoib_drop rx(const void *data, size_t len, struct ipoib_rx *v)
{
	*v = (struct ipoib_rx){
		.pkt = pkt_from_data(r.pool, data, len),
		.slid = 9,
		.src_qp = 0x77,
	};
	ipoib_rx(r.link, v, 1, r.s.now);
	rig_drain(&r);
	if (v->verdict == IPOIB_DELIVER)
		pkt_free(v->pkt);
	return v->reason;
}

static enum ipoib_verdict tx_bcast(uint16_t type, size_t len)
{
	struct ipoib_tx v = { .dst = IPOIB_DST_BROADCAST,
			      .ethertype = type,
			      .pkt = rig_pkt(&r, 1, len) };

	return rig_tx(&r, &v);
}

static void test_R13_limited_broadcast_leaves_by_the_broadcast_group(void **state)
{
	ib_gid g = rig_bcast();

	rig_init_up(&r, 1);
	assert_int_equal(rig_tx_group(&r, 0xffffffff, 1), IPOIB_SEND);
	assert_int_equal(r.nsent, 1);
	assert_memory_equal(&r.sent[0].attr.dgid, &g, sizeof(g));
	assert_memory_equal(g.raw + 6, "\0\0\0\0\0\0\xff\xff\xff\xff", 10); /* 48 zeros, 32 ones */
	assert_int_equal(r.sent[0].attr.dlid, bcast_at_sa()->rec.mlid);
	/* the link is a member of the group already, so no join is sent */
	assert_int_equal(r.s.sa.asks, 0);
	rig_fini(&r);
}

static void test_R20_scope_is_link_local_unless_configured(void **state)
{
	struct ipoib_link_cfg wide = { .scope = 0xe };
	struct ipoib_link_info i;

	rig_init(&r, 1);
	ipoib_link_info(r.link, &i);
	assert_int_equal(mgid_scope(&i.mgid), 2);
	rig_fini(&r);
	rig_init_cfg(&r, &wide, 1);
	ipoib_link_info(r.link, &i);
	assert_int_equal(mgid_scope(&i.mgid), 0xe);
	rig_fini(&r);
}

static void test_R30_reserved_octets_do_not_matter(void **state)
{
	uint8_t b[24] = { 0x08, 0x00, 0, 0, 0x45 };
	struct ipoib_rx v;

	rig_init_up(&r, 1);
	for (unsigned int reserved = 0; reserved < 0x10000; reserved += 0x1111) {
		be16_put(b + 2, (uint16_t)reserved);
		assert_int_equal(rx(b, sizeof(b), &v), IPOIB_DROP_NONE);
		assert_int_equal(v.ethertype, 0x0800);
	}
	/* rig_record(), which stores each sent packet, checks that the reserved octets are zero */
	assert_int_equal(tx_bcast(0x0800, 40), IPOIB_SEND);
	rig_fini(&r);
}

static void test_R32_every_other_ethertype_is_dropped_and_counted(void **state)
{
	uint8_t b[24] = { 0 };
	unsigned int carried = 0;
	struct ipoib_rx v;

	rig_init_up(&r, 1);
	for (unsigned int type = 0; type < 0x10000; type++) {
		be16_put(b, (uint16_t)type);
		carried += rx(b, sizeof(b), &v) == IPOIB_DROP_NONE;
	}
	assert_int_equal(carried, 4);
	assert_int_equal(rig_drops(&r, IPOIB_DROP_RX_TYPE), 0x10000 - 4);
	assert_int_equal(tx_bcast(0x88e5, 40), IPOIB_DROP);
	assert_int_equal(rig_drops(&r, IPOIB_DROP_TX_TYPE), 1);
	assert_int_equal(r.nsent, 0);
	rig_fini(&r);
}

static void test_R35_2044_octets_pass_and_2045_do_not(void **state)
{
	rig_init_up(&r, 1);
	assert_int_equal(bcast_at_sa()->rec.mtu_code, IB_MTU_2048);
	assert_int_equal(r.mtu, 2044);
	assert_int_equal(tx_bcast(0x0800, 2044), IPOIB_SEND);
	/* with the encapsulation the packet has 2048 octets, which is the whole IB MTU */
	assert_int_equal(r.sent[0].len, 2048);
	assert_int_equal(tx_bcast(0x0800, 2045), IPOIB_DROP);
	assert_int_equal(rig_drops(&r, IPOIB_DROP_TOO_BIG), 1);
	rig_fini(&r);
}

static unsigned int too_small;

static void count_too_small(const struct log_sink *sink, enum log_level lvl, const char *fmt,
			    va_list ap)
{
	if (lvl == LOG_LVL_WARN && strstr(fmt, "too small for IPv6"))
		too_small++;
}

static void test_R36_every_ib_mtu_makes_a_link(void **state)
{
	static const unsigned int octets[] = { 256, 512, 1024, 2048, 4096 };
	struct log_sink sink = { .emit = count_too_small, .max = LOG_LVL_WARN };

	for (unsigned int k = 0; k < ARRAY_SIZE(octets); k++) {
		struct ipoib_link_cfg cfg = { .log = &sink };

		too_small = 0;
		rig_init_cfg(&r, &cfg, 1);
		r.port.mtu_code = IB_MTU_4096;
		rig_port(&r);
		bcast_at_sa()->rec.mtu_code = (uint8_t)(IB_MTU_256 + k);
		rig_up(&r);
		assert_int_equal(r.mtu, octets[k] - 4);
		assert_int_equal(tx_bcast(0x0800, octets[k] - 4), IPOIB_SEND);
		/* the log must warn of an MTU below 1280, the minimum of IPv6 */
		assert_int_equal(too_small, octets[k] - 4 < 1280);
		rig_fini(&r);
	}
}

/*
 * The QP must get the Q_Key of the broadcast group. When this Q_Key changes, the QP must get the
 * new one (clauses R43 and R52). test_hca_addr.c tests that an HCA compares Q_Keys.
 */
static void
test_R43_R52_qkey_of_the_qp_and_of_all_that_is_sent_is_the_broadcast_groups(void **state)
{
	struct ipoib_neigh *n;

	rig_init_up(&r, 1);
	rig_peer(&r, 9);
	rig_sa_make(&r, 0xefabcdef);
	n = rig_neigh(&r, 9, 0x77);
	assert_int_equal(r.qp_qkey, 0x80000b1b);
	for (uint32_t qkey = 0x80000b1b; qkey <= 0x80000b1c; qkey++) {
		/*
		 * The SA changes the Q_Key of all groups of the link. The link learns the new Q_Key
		 * from the answer to its next join.
		 */
		bcast_at_sa()->rec.qkey = rig_sa_group(&r, 0xefabcdef)->rec.qkey = qkey;
		sac_reregister(r.s.sac, r.s.now);
		rig_run(&r, NS_SEC(1));
		assert_int_equal(r.qp_qkey, qkey);
		r.nsent = 0;
		rig_tx_neigh(&r, n, 1);
		rig_tx_group(&r, 0xefabcdef, 2);
		tx_bcast(0x0806, 56);
		rig_run(&r, NS_SEC(1));
		assert_int_equal(r.nsent, 3);
		for (unsigned int k = 0; k < r.nsent; k++)
			assert_int_equal(r.sent[k].qkey, qkey);
	}
	rig_fini(&r);
}

static void path_sl_and_rate(struct fake_sa *sa, uint8_t *mad)
{
	struct ib_path_rec rec;

	if (mad_attr(mad) != SA_ATTR_PATH_RECORD)
		return;
	assert_int_equal(ib_path_rec_decode(&rec, mad + SA_DATA_OFF, MAD_LEN - SA_DATA_OFF), 0);
	rec.sl = 6;
	rec.rate_code = 7; /* rate code 7: 40 Gb/s */
	ib_path_rec_encode(mad + SA_DATA_OFF, &rec);
}

static void test_R45_R54_R55_nothing_is_sent_before_sl_and_rate_are_known(void **state)
{
	struct ipoib_neigh *n;

	rig_init_up(&r, 1);
	rig_peer(&r, 9);
	r.s.sa.twist = path_sl_and_rate;
	r.s.sa.delay = NS_MSEC(5);
	n = rig_neigh(&r, 9, 0x77);
	assert_int_equal(rig_tx_neigh(&r, n, 1), IPOIB_HELD);
	rig_run(&r, NS_MSEC(4));
	assert_int_equal(r.nsent, 0);
	rig_run(&r, NS_MSEC(2));
	assert_int_equal(r.nsent, 1);
	assert_int_equal(r.sent[0].attr.sl, 6);
	assert_int_equal(r.sent[0].attr.rate_code, 7);
	rig_fini(&r);
}

static void test_R49_gid_is_subnet_prefix_and_port_guid(void **state)
{
	struct ipoib_link_info i;

	rig_init_up(&r, 1);
	ipoib_link_info(r.link, &i);
	assert_true(ib_gid_prefix(&i.lladdr.gid) == ib_gid_prefix(&r.port.gid));
	assert_true(ib_gid_guid(&i.lladdr.gid) == 0x0002c90300000005ull);
	/* A new subnet prefix must give the interface a new address. */
	r.port.gid = ib_gid_of(0xfec0000000000001ull, 0x0002c90300000005ull);
	rig_port(&r);
	rig_run(&r, NS_SEC(1));
	ipoib_link_info(r.link, &i);
	assert_true(ib_gid_prefix(&i.lladdr.gid) == 0xfec0000000000001ull);
	assert_int_equal(i.state, IPOIB_LINK_UP);
	rig_fini(&r);
}

static void test_R51_multicast_from_a_peer_proves_no_path_to_it(void **state)
{
	ib_gid g = rig_bcast(), peer = peer_gid(9);
	uint8_t grh[40] = { 0x60, [6] = 0x1b }, b[24] = { 0x08, 0x00, 0, 0, 0x45 };
	struct ipoib_rx v = { .grh = grh, .slid = 9, .src_qp = 0x77 };

	rig_init_up(&r, 1);
	memcpy(grh + 8, peer.raw, 16);
	memcpy(grh + 24, g.raw, 16);
	v.pkt = pkt_from_data(r.pool, b, sizeof(b));
	ipoib_rx(r.link, &v, 1, r.s.now);
	assert_int_equal(v.verdict, IPOIB_DELIVER);
	assert_non_null(v.src);
	pkt_free(v.pkt);
	/*
	 * The link must not use the LID from which a packet came as the LID of the sender. It must
	 * ask the SA for the path to the sender, and use only the SA's answer.
	 */
	assert_int_equal(rig_tx_neigh(&r, v.src, 1), IPOIB_HELD);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.s.sa.path_asks, 1);
	assert_int_equal(r.nsent, 0);
	assert_int_equal(rig_drops(&r, IPOIB_DROP_NO_PATH), 1);
	rig_fini(&r);
}

static void test_R53_pkey_is_the_configured_one_whatever_a_group_says(void **state)
{
	rig_init(&r, 1);
	bcast_at_sa()->rec.pkey = 0x8002;
	ipoib_link_set_admin(r.link, true, r.s.now);
	rig_run(&r, NS_SEC(5));
	assert_int_equal(rig_state(&r), IPOIB_LINK_JOINING);
	assert_reason(&r, "P_Key 0x8002 is not the link's 0x8001");
	bcast_at_sa()->rec.pkey = RIG_PKEY;
	rig_run(&r, NS_SEC(20));
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	assert_int_equal(r.s.sa.last_join.pkey, RIG_PKEY);
	rig_peer(&r, 9);
	rig_tx_neigh(&r, rig_neigh(&r, 9, 0x77), 1);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.s.sa.last_path.pkey, RIG_PKEY);
	rig_fini(&r);
}

/*
 * RFC 4755 uses reserved bits of the address for connected mode. These bits must be ignored in
 * received addresses, and sent as zeros.
 */
static void test_R74_reserved_bits_of_a_peers_address_change_nothing(void **state)
{
	struct ipoib_lladdr a = { .qpn = 0x77, .gid = peer_gid(9) }, back;
	uint8_t octets[IPOIB_ALEN];
	struct ipoib_neigh *n;

	rig_init_up(&r, 1);
	rig_peer(&r, 9);
	n = ipoib_neigh_get(r.link, &a, r.s.now);
	assert_non_null(n);
	for (unsigned int flags = 0; flags < 0x100; flags++) {
		ipoib_lladdr_encode(octets, &a);
		octets[0] = (uint8_t)flags;
		assert_int_equal(ipoib_lladdr_decode(&back, octets, sizeof(octets)), 0);
		assert_ptr_equal(ipoib_neigh_get(r.link, &back, r.s.now), n);
	}
	ipoib_lladdr_encode(octets, &n->lladdr);
	assert_int_equal(octets[0], 0);
	rig_tx_neigh(&r, n, 1);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.sent[0].dest_qpn, 0x77);
	rig_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R13_limited_broadcast_leaves_by_the_broadcast_group),
		cmocka_unit_test(test_R20_scope_is_link_local_unless_configured),
		cmocka_unit_test(test_R30_reserved_octets_do_not_matter),
		cmocka_unit_test(test_R32_every_other_ethertype_is_dropped_and_counted),
		cmocka_unit_test(test_R35_2044_octets_pass_and_2045_do_not),
		cmocka_unit_test(test_R36_every_ib_mtu_makes_a_link),
		cmocka_unit_test(
			test_R43_R52_qkey_of_the_qp_and_of_all_that_is_sent_is_the_broadcast_groups),
		cmocka_unit_test(test_R45_R54_R55_nothing_is_sent_before_sl_and_rate_are_known),
		cmocka_unit_test(test_R49_gid_is_subnet_prefix_and_port_guid),
		cmocka_unit_test(test_R51_multicast_from_a_peer_proves_no_path_to_it),
		cmocka_unit_test(test_R53_pkey_is_the_configured_one_whatever_a_group_says),
		cmocka_unit_test(test_R74_reserved_bits_of_a_peers_address_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib_rig.h"

/*
 * Profile v4mc01 (draft-kashyap-ipoib-ipv4-multicast-01): tests of the link, of receivers, and of
 * the groups between which a sender chooses (the group itself, all-systems, and the broadcast
 * group)
 */

#define BROADCAST 0xffffffffu
#define ALL_SYSTEMS 0xe0000001u
#define ROUTERS 0xe0000002u
#define GROUP 0xe1010101u /* 225.1.1.1 */
#define OTHER 0xe0010101u /* 224.1.1.1 */

static struct ipoib_rig r;

static ib_gid mgid4(uint32_t addr)
{
	ib_gid g = { { 0xff, 0x12 } };

	be32_put(g.raw + 12, addr);
	return g;
}

static struct sa_group *at_sa(uint32_t addr)
{
	ib_gid g = mgid4(addr);

	return sa_group_find(&r.s.sa, &g);
}

/* Create a group at the SA, as the administrator or another host would. */
static struct sa_group *make(uint32_t addr)
{
	ib_gid g = mgid4(addr);

	return sa_group_make(&r.s.sa, &g, RIG_PKEY, IB_MTU_2048);
}

static struct sa_group *slot(uint32_t addr)
{
	ib_gid g = mgid4(addr);

	return sa_group_slot(&r.s.sa, &g);
}

static void start(struct ipoib_link_cfg *cfg)
{
	cfg->profile = ipoib_profile_find("v4mc01");
	assert_non_null(cfg->profile);
	rig_init_cfg(&r, cfg, 1);
}

static void begin(void)
{
	struct ipoib_link_cfg cfg = { 0 };

	start(&cfg);
	rig_up(&r);
}

static int add(uint32_t addr)
{
	uint8_t b[4];
	int err;

	be32_put(b, addr);
	err = ipoib_mcast_add(r.link, IPOIB_IPV4, b, r.s.now);
	rig_run(&r, NS_MSEC(1));
	return err;
}

static int del(uint32_t addr)
{
	uint8_t b[4];
	int err;

	be32_put(b, addr);
	err = ipoib_mcast_del(r.link, IPOIB_IPV4, b, r.s.now);
	rig_run(&r, NS_MSEC(1));
	return err;
}

static void report(uint16_t trap, uint32_t addr)
{
	ib_gid g = mgid4(addr);

	sa_report(&r.s.sa, trap, &g, r.s.now);
	rig_run(&r, NS_MSEC(1));
}

/*
 * Send a packet to the IP group @addr. Check that the packet has the MGID of @addr, but the MLID of
 * the IP group @by.
 */
static void send_by(uint32_t addr, uint32_t by)
{
	static uint32_t tag;
	ib_gid g = mgid4(addr);
	unsigned int n = r.nsent;

	rig_tx_group(&r, addr, ++tag);
	/* time for the six requests that the SA client sends to a silent SA */
	rig_run(&r, NS_SEC(4));
	assert_int_equal(r.nsent, n + 1);
	assert_int_equal(r.sent[n].tag, tag);
	assert_memory_equal(&r.sent[n].attr.dgid, &g, sizeof(g));
	assert_int_equal(r.sent[n].attr.dlid, at_sa(by)->rec.mlid);
	assert_true(r.sent[n].attr.has_grh);
	assert_int_equal(r.sent[n].dest_qpn, IB_QPN_MCAST);
}

static bool hears(uint32_t addr, uint32_t by)
{
	ib_gid g = mgid4(addr);

	return rig_attached(&r, &g, at_sa(by)->rec.mlid) == 1;
}

static unsigned int attached(uint32_t addr)
{
	ib_gid g = mgid4(addr);
	unsigned int n = 0;

	for (unsigned int i = 0; i < r.natt; i++)
		n += ib_gid_equal(&r.att[i].mgid, &g);
	return n;
}

/* --- the link */

static void test_M8_M10_M14_M18_link_is_made_by_joining_the_broadcast_group(void **state)
{
	struct ipoib_link_info info;
	ib_gid all = mgid4(BROADCAST);
	struct ipoib_tx v = { .ethertype = 0x0800, .dst = IPOIB_DST_BROADCAST };

	begin();
	assert_memory_equal(&r.s.sa.last_join.mgid, &all, 16);
	assert_int_equal(r.s.sa.last_join.join_state, MCM_JOIN_FULL);
	assert_int_equal(r.s.sa.joins, 1);
	assert_int_equal(r.s.sa.join_mask, 0x10083);
	assert_true(hears(BROADCAST, BROADCAST));
	assert_int_equal(r.natt, 1);
	assert_int_equal(r.mtu, 2044);
	assert_int_equal(r.qp_qkey, at_sa(BROADCAST)->rec.qkey);
	ipoib_link_info(r.link, &info);
	assert_memory_equal(&info.mgid, &all, 16);
	v.pkt = rig_pkt(&r, 1, 64);
	assert_int_equal(rig_tx(&r, &v), IPOIB_SEND);
	assert_memory_equal(&r.sent[0].attr.dgid, &all, 16);
	rig_fini(&r);
}

static void test_M5_M6_M11_scope_and_subnet_number_are_in_all_groups(void **state)
{
	static const struct {
		uint8_t scope;
		uint16_t subnet;
		ib_gid bcast, group;
	} c[] = {
		{ 5,
		  0,
		  { { 0xff, 0x15, [12] = 0xff, 0xff, 0xff, 0xff } },
		  { { 0xff, 0x15, [12] = 225, 1, 1, 1 } } },
		{ 0,
		  0x1234,
		  { { 0xff, 0x1e, [10] = 0x12, 0x34, 0xff, 0xff, 0xff, 0xff } },
		  { { 0xff, 0x1e, [10] = 0x12, 0x34, 225, 1, 1, 1 } } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		struct ipoib_link_cfg cfg = { .scope = c[i].scope, .subnet = c[i].subnet };

		start(&cfg);
		rig_up(&r);
		assert_memory_equal(&r.s.sa.last_join.mgid, &c[i].bcast, 16);
		assert_int_equal(add(GROUP), 0);
		assert_memory_equal(&r.s.sa.last_join.mgid, &c[i].group, 16);
		rig_fini(&r);
	}
}

static void test_M6_a_subnet_number_needs_global_scope(void **state)
{
	struct ipoib_link_cfg cfg = { .subnet = 7, .scope = 2 };
	struct ipoib_link *l = NULL;

	begin();
	cfg.sac = r.s.sac;
	cfg.timers = &r.s.timers;
	cfg.pkey = RIG_PKEY;
	cfg.profile = ipoib_profile_find("v4mc01");
	assert_int_equal(ipoib_link_create(&l, &cfg), -EINVAL);
	cfg.scope = 0;
	cfg.profile = ipoib_profile_find("rfc4391");
	assert_int_equal(ipoib_link_create(&l, &cfg), -EINVAL);
	assert_null(l);
	rig_fini(&r);
}

static void test_M13_without_the_administrators_group_the_link_is_down(void **state)
{
	struct ipoib_link_cfg cfg = { 0 };

	start(&cfg);
	at_sa(BROADCAST)->others = false;
	ipoib_link_set_admin(r.link, true, r.s.now);
	rig_run(&r, NS_SEC(60));
	assert_int_equal(rig_state(&r), IPOIB_LINK_JOINING);
	assert_reason(&r, "ff12::ffff:ffff");
	assert_reason(&r, "the group does not exist");
	assert_true(r.s.sa.joins > 4);
	assert_int_equal(at_sa(BROADCAST)->have, 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(r.s.sa.join_masks); i++)
		assert_int_equal(r.s.sa.join_masks[i] & ~0x10083ull, 0);
	/* The administrator creates the broadcast group, so the link comes up. */
	at_sa(BROADCAST)->others = true;
	rig_run(&r, NS_SEC(21));
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	rig_fini(&r);
}

static void test_M13_a_broadcast_group_of_another_pkey_is_refused(void **state)
{
	struct ipoib_link_cfg cfg = { 0 };

	start(&cfg);
	at_sa(BROADCAST)->rec.pkey = 0x8123;
	ipoib_link_set_admin(r.link, true, r.s.now);
	rig_run(&r, NS_MSEC(10));
	assert_int_equal(rig_state(&r), IPOIB_LINK_JOINING);
	assert_reason(&r, "P_Key 0x8123 is not the link's 0x8001");
	rig_fini(&r);
}

/* --- receivers */

static void test_M19_a_receiver_joins_before_it_creates(void **state)
{
	begin();
	make(GROUP);
	assert_int_equal(add(GROUP), 0);
	assert_int_equal(r.s.sa.joins, 2);
	assert_int_equal(r.s.sa.join_masks[1], 0x10083); /* MGID, PortGID, P_Key, JoinState */
	assert_int_equal(at_sa(GROUP)->have, MCM_JOIN_FULL);

	r.ready_status = 1;
	assert_int_equal(add(OTHER), 0);
	assert_int_equal(r.s.sa.joins, 4);
	assert_int_equal(r.s.sa.join_masks[2], 0x10083);
	assert_int_equal(r.s.sa.join_masks[3], 0x173f7);
	assert_int_equal(at_sa(OTHER)->have, MCM_JOIN_FULL);
	assert_int_equal(r.ready_status, 0);
	assert_int_equal(ipoib_link_stats(r.link)->joins_failed, 0);
	/*
	 * M9: two IP groups that differ only in the first octet have different MGIDs, so they are
	 * two groups.
	 */
	assert_ptr_not_equal(at_sa(GROUP), at_sa(OTHER));
	assert_int_not_equal(at_sa(GROUP)->rec.mlid, at_sa(OTHER)->rec.mlid);
	rig_fini(&r);
}

static void test_M15_a_created_group_has_the_broadcast_groups_parameters(void **state)
{
	struct ipoib_link_cfg cfg = { 0 };
	struct ib_mcmember_rec *b;
	const struct ib_mcmember_rec *j = &r.s.sa.last_join;

	start(&cfg);
	b = &at_sa(BROADCAST)->rec;
	b->qkey = 0x81234567;
	b->sl = 3;
	b->tclass = 4;
	b->flow_label = 5;
	b->hop_limit = 6;
	b->rate_code = 2;
	rig_up(&r);
	assert_int_equal(add(GROUP), 0);
	assert_int_equal(r.s.sa.join_mask, 0x173f7);
	assert_int_equal(j->qkey, b->qkey);
	assert_int_equal(j->mtu_code, b->mtu_code);
	assert_int_equal(j->pkey, RIG_PKEY);
	assert_int_equal(j->sl, 3);
	assert_int_equal(j->tclass, 4);
	assert_int_equal(j->flow_label, 5);
	assert_int_equal(j->hop_limit, 6);
	assert_int_equal(j->rate_code, 2);
	rig_fini(&r);
}

static void test_M22_a_receiver_hears_all_three_lids(void **state)
{
	begin();
	make(ALL_SYSTEMS);
	assert_int_equal(add(ALL_SYSTEMS), 0);
	assert_int_equal(add(GROUP), 0);
	assert_true(hears(GROUP, GROUP));
	assert_true(hears(GROUP, ALL_SYSTEMS));
	assert_true(hears(GROUP, BROADCAST));
	assert_int_equal(attached(GROUP), 3);
	assert_true(hears(ALL_SYSTEMS, BROADCAST));
	assert_int_equal(attached(ALL_SYSTEMS), 2);
	assert_int_equal(attached(BROADCAST), 1);
	/* The SM gives all groups other MLIDs. */
	sa_forget(&r.s.sa);
	sac_reregister(r.s.sac, r.s.now);
	rig_run(&r, NS_SEC(1));
	assert_int_equal(attached(GROUP), 3);
	assert_true(hears(GROUP, GROUP));
	assert_true(hears(GROUP, ALL_SYSTEMS));
	assert_true(hears(GROUP, BROADCAST));
	assert_int_equal(del(GROUP), 0);
	assert_int_equal(attached(GROUP), 0);
	rig_fini(&r);
}

static void test_M22_a_receiver_that_is_refused_hears_both_other_lids(void **state)
{
	begin();
	make(ALL_SYSTEMS);
	assert_int_equal(add(ALL_SYSTEMS), 0);
	slot(GROUP)->refuse = SA_STATUS_NO_RESOURCES;
	assert_int_equal(add(GROUP), 0);
	assert_int_equal(r.ready_status, SA_STATUS_NO_RESOURCES);
	assert_int_equal(attached(GROUP), 2);
	assert_true(hears(GROUP, ALL_SYSTEMS));
	assert_true(hears(GROUP, BROADCAST));
	/*
	 * The SA refuses the join at first, so the host sends to the MLID of all-systems. As soon
	 * as the SA grants the join, the host must send to the MLID of the group itself.
	 */
	send_by(GROUP, ALL_SYSTEMS);
	slot(GROUP)->refuse = 0;
	rig_run(&r, NS_SEC(21));
	assert_int_equal(attached(GROUP), 3);
	assert_true(hears(GROUP, GROUP));
	send_by(GROUP, GROUP);
	assert_int_equal(del(GROUP), 0);
	assert_int_equal(attached(GROUP), 0);
	rig_fini(&r);
}

/*
 * A receiver's QP is attached to the MGID of GROUP with three MLIDs: with those of GROUP, of
 * all-systems and of the broadcast group. An SA can give several groups the same MLID. Here the
 * three MLIDs are equal, so the QP must be attached only once.
 */
static void test_M22_groups_that_share_a_lid(void **state)
{
	begin();
	make(ALL_SYSTEMS)->rec.mlid = at_sa(BROADCAST)->rec.mlid;
	make(GROUP)->rec.mlid = at_sa(BROADCAST)->rec.mlid;
	assert_int_equal(add(ALL_SYSTEMS), 0);
	assert_int_equal(add(GROUP), 0);
	assert_int_equal(attached(GROUP), 1);
	assert_int_equal(attached(ALL_SYSTEMS), 1);
	rig_fini(&r);
}

static void test_M22_an_attach_that_the_ca_refuses_is_repeated(void **state)
{
	begin();
	make(ALL_SYSTEMS);
	assert_int_equal(add(ALL_SYSTEMS), 0);
	r.attach_err = -ENOMEM;
	assert_int_equal(add(GROUP), 0);
	assert_int_equal(attached(GROUP), 0);
	r.attach_err = 0;
	rig_run(&r, IPOIB_SWEEP);
	assert_int_equal(attached(GROUP), 3);
	rig_fini(&r);
}

static void test_M25_M27_a_receiver_leaves_with_its_own_bits(void **state)
{
	begin();
	make(GROUP);
	assert_int_equal(add(GROUP), 0);
	send_by(GROUP, GROUP);
	assert_int_equal(del(GROUP), 0);
	assert_int_equal(r.s.sa.last[3], MAD_METHOD_DELETE);
	assert_int_equal(r.s.sa.last_comp_mask, 0x10003); /* MGID, PortGID, JoinState */
	assert_int_equal(at_sa(GROUP)->leaves, 1);
	assert_int_equal(at_sa(GROUP)->have, 0);
	/* The group still exists, because other ports are members. */
	assert_true(sa_group_exists(at_sa(GROUP)));
	/*
	 * The host is no receiver any more, but still sends to the group, so it joins the group as
	 * a sender.
	 */
	send_by(GROUP, GROUP);
	assert_int_equal(at_sa(GROUP)->have, MCM_JOIN_SEND_ONLY_NON);
	rig_run(&r, NS_SEC(130));
	assert_int_equal(r.s.sa.last[3], MAD_METHOD_DELETE);
	assert_int_equal(r.s.sa.last_comp_mask, 0x10003);
	assert_int_equal(at_sa(GROUP)->have, 0);
	rig_fini(&r);
}

/* --- senders */

static void test_M21_a_sender_joins_the_group(void **state)
{
	begin();
	make(ALL_SYSTEMS);
	make(GROUP);
	send_by(GROUP, GROUP);
	assert_int_equal(at_sa(GROUP)->have, MCM_JOIN_SEND_ONLY_NON);
	assert_int_equal(r.s.sa.join_mask, 0x10083);
	assert_int_equal(r.s.sa.asks, 0);
	assert_int_equal(attached(GROUP), 0); /* a sender does not receive */
	rig_fini(&r);
}

static void test_M20_M22_without_a_group_a_sender_uses_the_lid_of_all_systems(void **state)
{
	begin();
	make(ALL_SYSTEMS)->rec.sl = 6;
	assert_int_equal(add(ALL_SYSTEMS), 0);
	send_by(GROUP, ALL_SYSTEMS);
	/* The packet has the SL of the group whose MLID it uses. */
	assert_int_equal(r.sent[0].attr.sl, 6);
	assert_int_equal(r.sent[0].qkey, at_sa(BROADCAST)->rec.qkey);
	assert_int_equal(at_sa(GROUP)->joins, 1);
	assert_int_equal(r.s.sa.join_masks[2], 0x10083);
	assert_false(sa_group_exists(at_sa(GROUP)));
	/* From now on the link holds no packet, and does not ask the SA again for a while. */
	for (int i = 0; i < 10; i++)
		assert_int_equal(rig_tx_group(&r, GROUP, 1), IPOIB_SEND);
	assert_int_equal(at_sa(GROUP)->joins, 1);
	assert_int_equal(ipoib_link_stats(r.link)->joins_failed, 0);
	rig_fini(&r);
}

/* A link that does not receive all-systems must join it as a sender, to learn its MLID. */
static void test_M22_a_sender_that_is_not_in_all_systems_joins_it(void **state)
{
	begin();
	make(ALL_SYSTEMS);
	send_by(GROUP, ALL_SYSTEMS);
	assert_int_equal(at_sa(ALL_SYSTEMS)->have, MCM_JOIN_SEND_ONLY_NON);
	rig_fini(&r);
}

static void test_M22_without_all_systems_a_sender_uses_the_broadcast_lid(void **state)
{
	begin();
	send_by(GROUP, BROADCAST);
	send_by(GROUP, BROADCAST);
	send_by(ALL_SYSTEMS, BROADCAST);
	/*
	 * Another port creates all-systems. When the link has joined it, packets must be sent to
	 * its MLID.
	 */
	make(ALL_SYSTEMS);
	report(MAD_TRAP_MC_CREATED, ALL_SYSTEMS);
	/* While the link joins all-systems, a packet to the group must be sent as before. */
	send_by(GROUP, BROADCAST);
	send_by(GROUP, ALL_SYSTEMS);
	send_by(ALL_SYSTEMS, ALL_SYSTEMS);
	/* The all-systems group ends again. */
	at_sa(ALL_SYSTEMS)->others = false;
	report(MAD_TRAP_MC_DELETED, ALL_SYSTEMS);
	send_by(GROUP, BROADCAST);
	rig_fini(&r);
}

static void test_M21_a_group_that_is_made_is_joined(void **state)
{
	begin();
	make(ALL_SYSTEMS);
	assert_int_equal(add(ALL_SYSTEMS), 0);
	send_by(GROUP, ALL_SYSTEMS);
	make(GROUP);
	report(MAD_TRAP_MC_CREATED, GROUP);
	/* While the link joins the group, a packet to the group must be sent as before. */
	send_by(GROUP, ALL_SYSTEMS);
	send_by(GROUP, GROUP);
	assert_int_equal(at_sa(GROUP)->have, MCM_JOIN_SEND_ONLY_NON);
	at_sa(GROUP)->others = false;
	at_sa(GROUP)->have = 0;
	report(MAD_TRAP_MC_DELETED, GROUP);
	send_by(GROUP, ALL_SYSTEMS);
	rig_fini(&r);
}

/* The group exists, but the SM's policy refuses the sender's join. */
static void test_M22_a_sender_that_is_refused(void **state)
{
	begin();
	make(ALL_SYSTEMS);
	make(GROUP)->refuse = SA_STATUS_DENIED;
	send_by(GROUP, ALL_SYSTEMS);
	slot(ALL_SYSTEMS)->refuse = SA_STATUS_DENIED;
	sa_forget(&r.s.sa);
	sac_reregister(r.s.sac, r.s.now);
	rig_run(&r, NS_SEC(1));
	send_by(GROUP, BROADCAST);
	rig_fini(&r);
}

static void test_M22_a_silent_sa_keeps_no_packet_back_for_long(void **state)
{
	begin();
	make(ALL_SYSTEMS);
	assert_int_equal(add(ALL_SYSTEMS), 0);
	r.s.sa.deaf = true;
	send_by(GROUP, ALL_SYSTEMS);
	/* While the link asks the SA again, it must still send packets. */
	for (int i = 0; i < 100; i++) {
		rig_run(&r, NS_MSEC(250));
		assert_int_equal(rig_tx_group(&r, GROUP, 1), IPOIB_SEND);
	}
	r.s.sa.deaf = false;
	make(GROUP);
	for (int i = 0; i < 30; i++) {
		rig_run(&r, NS_SEC(1));
		assert_int_equal(rig_tx_group(&r, GROUP, 1), IPOIB_SEND);
	}
	send_by(GROUP, GROUP);
	rig_fini(&r);
}

static void test_M22_a_lender_with_another_lid(void **state)
{
	begin();
	make(ALL_SYSTEMS);
	assert_int_equal(add(ALL_SYSTEMS), 0);
	send_by(GROUP, ALL_SYSTEMS);
	sa_forget(&r.s.sa);
	sac_reregister(r.s.sac, r.s.now);
	rig_run(&r, NS_SEC(1));
	send_by(GROUP, ALL_SYSTEMS);
	rig_fini(&r);
}

static void test_M22_the_ca_refuses_the_address_handle(void **state)
{
	begin();
	make(ALL_SYSTEMS);
	assert_int_equal(add(ALL_SYSTEMS), 0);
	r.ah_err = -ENOMEM;
	assert_int_equal(rig_tx_group(&r, GROUP, 1), IPOIB_HELD);
	rig_run(&r, NS_MSEC(10));
	assert_int_equal(rig_drops(&r, IPOIB_DROP_GROUP_REFUSED), 1);
	assert_int_equal(rig_tx_group(&r, GROUP, 2), IPOIB_DROP);
	r.ah_err = 0;
	rig_run(&r, NS_SEC(1));
	send_by(GROUP, ALL_SYSTEMS);
	/*
	 * The CA makes the address handle late, so packets are held, and are sent in order when the
	 * handle is ready.
	 */
	r.ah_slow = true;
	at_sa(ALL_SYSTEMS)->rec.mlid = 0xc0ff;
	sac_reregister(r.s.sac, r.s.now);
	rig_run(&r, NS_MSEC(10));
	assert_int_equal(rig_tx_group(&r, GROUP, 11), IPOIB_HELD);
	rig_run(&r, NS_MSEC(10));
	assert_int_equal(rig_tx_group(&r, GROUP, 12), IPOIB_HELD);
	r.ah_slow = false;
	rig_ah_release(&r);
	rig_run(&r, NS_MSEC(10));
	assert_int_equal(r.nsent, 3);
	assert_int_equal(r.sent[1].tag, 11);
	assert_int_equal(r.sent[2].tag, 12);
	assert_int_equal(r.sent[2].attr.dlid, 0xc0ff);
	rig_fini(&r);
}

static void test_M22_ipv6_groups_take_the_lid_of_all_nodes(void **state)
{
	static const uint8_t all_nodes[16] = { 0xff, 0x02, [15] = 1 };
	const ib_gid nodes = { { 0xff, 0x12, 0x60, 0x1b, 0x80, 0x01, [15] = 1 } };
	const ib_gid want = { { 0xff, 0x12, 0x60, 0x1b, 0x80, 0x01, [15] = 9 } };
	struct ipoib_tx v = { .ethertype = 0x86dd,
			      .dst = IPOIB_DST_MCAST6,
			      .group = { 0xff, 0x05, [15] = 9 } };

	begin();
	sa_group_make(&r.s.sa, &nodes, RIG_PKEY, IB_MTU_2048);
	assert_int_equal(ipoib_mcast_add(r.link, IPOIB_IPV6, all_nodes, r.s.now), 0);
	rig_run(&r, NS_MSEC(1));
	v.pkt = rig_pkt(&r, 1, 64);
	rig_tx(&r, &v);
	rig_run(&r, NS_MSEC(10));
	assert_int_equal(r.nsent, 1);
	assert_memory_equal(&r.sent[0].attr.dgid, &want, 16);
	assert_int_equal(r.sent[0].attr.dlid, sa_group_find(&r.s.sa, &nodes)->rec.mlid);
	rig_fini(&r);
}

static void test_M23_a_sender_leaves_after_120_s(void **state)
{
	begin();
	make(GROUP);
	send_by(GROUP, GROUP);
	rig_run(&r, NS_SEC(100));
	send_by(GROUP, GROUP); /* starts the 120 s anew */
	rig_run(&r, NS_SEC(110));
	assert_int_equal(at_sa(GROUP)->have, MCM_JOIN_SEND_ONLY_NON);
	rig_run(&r, NS_SEC(15));
	assert_int_equal(at_sa(GROUP)->have, 0);
	assert_int_equal(at_sa(GROUP)->leaves, 1);
	rig_fini(&r);
}

static void test_M23_address_handles_of_idle_senders_are_given_back(void **state)
{
	unsigned int live = 0;

	begin();
	make(ALL_SYSTEMS);
	send_by(GROUP, ALL_SYSTEMS);
	send_by(OTHER, ALL_SYSTEMS);
	rig_run(&r, NS_SEC(130));
	for (unsigned int i = 0; i < r.nah; i++)
		live += r.ah[i].live;
	assert_int_equal(live, 1); /* the handle of the broadcast group */
	assert_int_equal(at_sa(ALL_SYSTEMS)->have, 0);
	rig_fini(&r);
}

static void test_M24_the_link_stays_in_broadcast_and_all_systems(void **state)
{
	begin();
	make(ALL_SYSTEMS);
	assert_int_equal(add(ALL_SYSTEMS), 0);
	send_by(ALL_SYSTEMS, ALL_SYSTEMS);
	rig_run(&r, NS_SEC(1000));
	assert_int_equal(at_sa(BROADCAST)->have, MCM_JOIN_FULL);
	assert_int_equal(at_sa(ALL_SYSTEMS)->have, MCM_JOIN_FULL);
	assert_int_equal(r.s.sa.leaves, 0);
	rig_fini(&r);
}

/* --- routers */

static void test_M20_M26_a_router_creates_its_own_group_and_follows_the_others(void **state)
{
	begin();
	make(GROUP);
	assert_int_equal(ipoib_link_set_router(r.link, true, r.s.now), 0);
	rig_run(&r, NS_SEC(1));
	/* the router's join has created the group */
	assert_int_equal(at_sa(ROUTERS)->have, MCM_JOIN_FULL);
	report(MAD_TRAP_MC_CREATED, GROUP);
	make(OTHER);
	report(MAD_TRAP_MC_CREATED, OTHER);
	assert_int_equal(at_sa(GROUP)->have, MCM_JOIN_NON);
	assert_int_equal(at_sa(OTHER)->have, MCM_JOIN_NON);
	assert_true(hears(GROUP, GROUP));
	assert_true(hears(GROUP, BROADCAST));
	/* Clause M26: the SM deletes the group, because it has no members any more. */
	at_sa(GROUP)->others = false;
	at_sa(GROUP)->have = 0;
	report(MAD_TRAP_MC_DELETED, GROUP);
	assert_int_equal(attached(GROUP), 0);
	/*
	 * The router's QP is attached to this group twice: with the MLID of the group itself, and
	 * with the MLID of the broadcast group.
	 */
	assert_int_equal(attached(OTHER), 2);
	assert_int_equal(ipoib_link_set_router(r.link, false, r.s.now), 0);
	rig_run(&r, NS_SEC(1));
	assert_int_equal(at_sa(OTHER)->have, 0);
	assert_int_equal(at_sa(ROUTERS)->have, 0);
	rig_fini(&r);
}

/* --- M28 */

static void other_qkey(struct ib_mcmember_rec *rec)
{
	rec->qkey ^= 1;
}

static void other_mtu(struct ib_mcmember_rec *rec)
{
	rec->mtu_code = IB_MTU_1024;
}

static void other_pkey(struct ib_mcmember_rec *rec)
{
	rec->pkey = 0x8123;
}

static void test_M28_a_group_with_incompatible_parameters_is_not_used(void **state)
{
	static void (*const change[])(struct ib_mcmember_rec *) = { other_qkey, other_mtu,
								    other_pkey };

	for (size_t i = 0; i < ARRAY_SIZE(change); i++) {
		begin();
		make(ALL_SYSTEMS);
		assert_int_equal(add(ALL_SYSTEMS), 0);
		change[i](&make(GROUP)->rec);
		send_by(GROUP, ALL_SYSTEMS);
		assert_int_equal(at_sa(GROUP)->have, 0); /* the link has left the group again */
		assert_int_equal(add(GROUP), 0);
		assert_int_equal(r.ready_status, -EPROTO);
		assert_false(hears(GROUP, GROUP));
		assert_true(hears(GROUP, ALL_SYSTEMS));
		assert_true(hears(GROUP, BROADCAST));
		send_by(GROUP, ALL_SYSTEMS);
		rig_fini(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_M8_M10_M14_M18_link_is_made_by_joining_the_broadcast_group),
		cmocka_unit_test(test_M5_M6_M11_scope_and_subnet_number_are_in_all_groups),
		cmocka_unit_test(test_M6_a_subnet_number_needs_global_scope),
		cmocka_unit_test(test_M13_without_the_administrators_group_the_link_is_down),
		cmocka_unit_test(test_M13_a_broadcast_group_of_another_pkey_is_refused),
		cmocka_unit_test(test_M19_a_receiver_joins_before_it_creates),
		cmocka_unit_test(test_M15_a_created_group_has_the_broadcast_groups_parameters),
		cmocka_unit_test(test_M22_a_receiver_hears_all_three_lids),
		cmocka_unit_test(test_M22_a_receiver_that_is_refused_hears_both_other_lids),
		cmocka_unit_test(test_M22_groups_that_share_a_lid),
		cmocka_unit_test(test_M22_an_attach_that_the_ca_refuses_is_repeated),
		cmocka_unit_test(test_M25_M27_a_receiver_leaves_with_its_own_bits),
		cmocka_unit_test(test_M21_a_sender_joins_the_group),
		cmocka_unit_test(test_M20_M22_without_a_group_a_sender_uses_the_lid_of_all_systems),
		cmocka_unit_test(test_M22_a_sender_that_is_not_in_all_systems_joins_it),
		cmocka_unit_test(test_M22_without_all_systems_a_sender_uses_the_broadcast_lid),
		cmocka_unit_test(test_M21_a_group_that_is_made_is_joined),
		cmocka_unit_test(test_M22_a_sender_that_is_refused),
		cmocka_unit_test(test_M22_a_silent_sa_keeps_no_packet_back_for_long),
		cmocka_unit_test(test_M22_a_lender_with_another_lid),
		cmocka_unit_test(test_M22_the_ca_refuses_the_address_handle),
		cmocka_unit_test(test_M22_ipv6_groups_take_the_lid_of_all_nodes),
		cmocka_unit_test(test_M23_a_sender_leaves_after_120_s),
		cmocka_unit_test(test_M23_address_handles_of_idle_senders_are_given_back),
		cmocka_unit_test(test_M24_the_link_stays_in_broadcast_and_all_systems),
		cmocka_unit_test(
			test_M20_M26_a_router_creates_its_own_group_and_follows_the_others),
		cmocka_unit_test(test_M28_a_group_with_incompatible_parameters_is_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

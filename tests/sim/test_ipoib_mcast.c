/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib_rig.h"

/* Tests of multicast groups: RFC 4391 §10 for senders and receivers */

#define GROUP 0xef000001u /* 239.0.0.1, beyond link-local scope */
#define LINK_LOCAL 0xe00000fbu /* 224.0.0.251 */
#define ROUTERS 0xe0000002u

static struct ipoib_rig r;

static int add(uint32_t addr)
{
	uint8_t b[4];
	int err;

	be32_put(b, addr);
	err = ipoib_mcast_add(r.link, IPOIB_IPV4, b, r.s.now);
	rig_drain(&r);
	return err;
}

static int del(uint32_t addr)
{
	uint8_t b[4];
	int err;

	be32_put(b, addr);
	err = ipoib_mcast_del(r.link, IPOIB_IPV4, b, r.s.now);
	rig_drain(&r);
	return err;
}

/* Tell whether sent packet @i has the MGID of the group @addr. */
static bool went_to(unsigned int i, uint32_t addr)
{
	ib_gid g = rig_mgid4(addr);

	assert_true(i < r.nsent);
	return ib_gid_equal(&r.sent[i].attr.dgid, &g) &&
	       r.sent[i].attr.dlid == rig_sa_group(&r, addr)->rec.mlid;
}

static void test_R63_branch_1_a_full_member_sends(void **state)
{
	rig_init_up(&r, 1);
	assert_int_equal(add(GROUP), 0);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_tx_group(&r, GROUP, 1), IPOIB_SEND);
	assert_true(went_to(0, GROUP));
	assert_int_equal(r.s.sa.asks, 0);
	assert_int_equal(rig_sa_group(&r, GROUP)->have, MCM_JOIN_FULL);
	rig_fini(&r);
}

static void test_R63_branch_2_existing_group_is_joined_send_only(void **state)
{
	rig_init_up(&r, 1);
	rig_sa_make(&r, GROUP);
	assert_int_equal(rig_tx_group(&r, GROUP, 1), IPOIB_HELD);
	assert_int_equal(rig_tx_group(&r, GROUP, 2), IPOIB_HELD);
	rig_run(&r, NS_MSEC(1));
	/*
	 * Clause R60: the link first asked the SA for the group. Clause R62: it joined the group
	 * before it sent the packet.
	 */
	assert_int_equal(r.s.sa.asks, 1);
	assert_int_equal(rig_sa_group(&r, GROUP)->have, MCM_JOIN_SEND_ONLY_NON);
	assert_int_equal(r.nsent, 2);
	assert_int_equal(r.sent[0].tag, 1);
	assert_int_equal(r.sent[1].tag, 2);
	assert_true(went_to(0, GROUP));
	assert_int_equal(r.sent[0].dest_qpn, IB_QPN_MCAST);
	assert_int_equal(r.sent[0].qkey, 0x80000b1b);
	/* Clause R64: the link has cached that the group exists, so it sends no further query. */
	for (int i = 0; i < 100; i++)
		assert_int_equal(rig_tx_group(&r, GROUP, 3), IPOIB_SEND);
	assert_int_equal(r.s.sa.asks, 1);
	assert_int_equal(r.natt, 1); /* a QP is not attached to a group that it only sends to */
	rig_fini(&r);
}

static void test_R63_branch_3_absent_group_goes_to_the_routers(void **state)
{
	rig_init_up(&r, 1);
	rig_sa_make(&r, ROUTERS);
	assert_int_equal(rig_tx_group(&r, GROUP, 1), IPOIB_HELD);
	assert_int_equal(rig_tx_group(&r, GROUP, 2), IPOIB_HELD);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nsent, 2);
	assert_true(went_to(0, ROUTERS));
	assert_int_equal(r.sent[0].tag, 1);
	assert_int_equal(rig_tx_group(&r, GROUP, 3), IPOIB_SEND);
	assert_true(went_to(2, ROUTERS));
	assert_int_equal(r.s.sa.asks,
			 2); /* a query for the group, another for the all-routers group */
	rig_fini(&r);
}

static void test_R63_branch_3_needs_scope_beyond_link_local(void **state)
{
	rig_init_up(&r, 1);
	rig_sa_make(&r, ROUTERS);
	assert_int_equal(rig_tx_group(&r, LINK_LOCAL, 1), IPOIB_HELD);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nsent, 0);
	assert_int_equal(rig_drops(&r, IPOIB_DROP_NO_GROUP), 1);
	assert_int_equal(rig_tx_group(&r, LINK_LOCAL, 2), IPOIB_DROP);
	assert_int_equal(rig_sa_group(&r, ROUTERS)->asks, 0);
	rig_fini(&r);
}

static void test_R63_branch_4_no_group_no_routers_drop(void **state)
{
	rig_init_up(&r, 1);
	assert_int_equal(rig_tx_group(&r, GROUP, 1), IPOIB_HELD);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_drops(&r, IPOIB_DROP_NO_GROUP), 1);
	assert_int_equal(rig_tx_group(&r, GROUP, 2), IPOIB_DROP);
	assert_int_equal(r.s.sa.asks, 2);
	assert_int_equal(r.nsent, 0);
	rig_fini(&r);
}

static void test_R61_broadcast_instead_of_dropping_is_a_switch(void **state)
{
	struct ipoib_link_cfg cfg = { .absent_to_broadcast = true };

	rig_init_cfg(&r, &cfg, 1);
	rig_up(&r);
	rig_tx_group(&r, GROUP, 1);
	rig_tx_group(&r, LINK_LOCAL, 9);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nsent, 1); /* R61 excludes link-local scope, so packet 9 is dropped */
	assert_true(went_to(0, 0xffffffff));
	/*
	 * When there is an all-routers group, packets to an absent group are sent to the
	 * all-routers group.
	 */
	rig_sa_make(&r, ROUTERS);
	{
		ib_gid g = rig_mgid4(ROUTERS);

		sa_report(&r.s.sa, MAD_TRAP_MC_CREATED, &g, r.s.now);
	}
	rig_tx_group(&r, GROUP, 2);
	rig_run(&r, NS_MSEC(1));
	assert_true(went_to(1, ROUTERS));
	rig_fini(&r);
}

static void test_R63_ipv6_scopes_and_routers(void **state)
{
	struct ipoib_tx v = { .ethertype = 0x86dd, .dst = IPOIB_DST_MCAST6 };
	static const uint8_t routers[16] = { 0xff, 0x02, [15] = 2 };
	ib_gid g;

	rig_init_up(&r, 1);
	mgid_from_ipv6(&g, routers, RIG_PKEY, 2);
	sa_group_make(&r.s.sa, &g, RIG_PKEY, IB_MTU_2048);
	v.group[0] = 0xff;
	v.group[1] = 0x02; /* link-local scope */
	v.group[15] = 0x77;
	v.pkt = rig_pkt(&r, 1, 60);
	rig_tx(&r, &v);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_drops(&r, IPOIB_DROP_NO_GROUP), 1);
	v.group[1] = 0x05; /* site-local scope */
	v.pkt = rig_pkt(&r, 2, 60);
	rig_tx(&r, &v);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nsent, 1);
	assert_int_equal(r.sent[0].type, 0x86dd);
	assert_memory_equal(&r.sent[0].attr.dgid, &g, 16);
	rig_fini(&r);
}

static void test_R66_traffic_moves_to_the_group_once_it_is_made(void **state)
{
	ib_gid g = rig_mgid4(GROUP);

	rig_init_up(&r, 1);
	rig_sa_make(&r, ROUTERS);
	rig_tx_group(&r, GROUP, 1);
	rig_run(&r, NS_MSEC(1));
	assert_true(went_to(0, ROUTERS));
	rig_sa_make(&r, GROUP);
	assert_int_equal(rig_tx_group(&r, GROUP, 2), IPOIB_SEND);
	assert_true(went_to(1, ROUTERS)); /* Clause R64: no trap about the new group came yet */
	/* Clause R65: trap 66 reports the group */
	sa_report(&r.s.sa, MAD_TRAP_MC_CREATED, &g, r.s.now);
	rig_tx_group(&r, GROUP, 3);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nsent, 3);
	assert_true(went_to(2, GROUP));
	rig_fini(&r);
}

static void test_R64_absence_is_believed_for_a_while_only(void **state)
{
	for (int blind = 0; blind < 2; blind++) {
		rig_init(&r, 1);
		r.s.sa.inform_refuse = blind ? 0x0100 : 0;
		rig_up(&r);
		for (int i = 0; i < 59; i++) {
			rig_tx_group(&r, LINK_LOCAL, 1);
			rig_run(&r, NS_SEC(1));
		}
		/*
		 * A link that gets no Reports of traps asks the SA for the group every few seconds.
		 */
		if (blind)
			assert_in_range(r.s.sa.asks, 10, 13);
		else
			assert_int_equal(r.s.sa.asks, 1);
		rig_run(&r, NS_SEC(3));
		rig_tx_group(&r, LINK_LOCAL, 1);
		if (!blind)
			assert_int_equal(r.s.sa.asks, 2);
		rig_fini(&r);
	}
}

static void test_R65_deleted_group_is_absent_again(void **state)
{
	ib_gid g = rig_mgid4(GROUP);
	unsigned int leaves;

	rig_init_up(&r, 1);
	rig_sa_make(&r, GROUP);
	rig_tx_group(&r, GROUP, 1);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nsent, 1);
	leaves = r.s.sa.leaves;
	rig_sa_group(&r, GROUP)->others = false;
	rig_sa_group(&r, GROUP)->have = 0;
	sa_report(&r.s.sa, MAD_TRAP_MC_DELETED, &g, r.s.now);
	rig_tx_group(&r, GROUP, 2);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nsent, 1);
	assert_int_equal(rig_drops(&r, IPOIB_DROP_NO_GROUP), 1);
	/*
	 * The Report may have arrived late: perhaps an earlier group with this MGID was deleted. So
	 * the host must not assume that its own membership has ended, and must leave the group.
	 */
	assert_int_equal(r.s.sa.leaves, leaves + 1);
	rig_fini(&r);
}

static void test_sender_leaves_when_idle(void **state)
{
	rig_init_up(&r, 1);
	rig_sa_make(&r, GROUP);
	rig_tx_group(&r, GROUP, 1);
	for (int i = 0; i < 200; i++) {
		rig_run(&r, NS_SEC(1));
		rig_tx_group(&r, GROUP, 1);
	}
	assert_int_equal(rig_sa_group(&r, GROUP)->have, MCM_JOIN_SEND_ONLY_NON);
	rig_run(&r, NS_SEC(119));
	assert_int_equal(rig_sa_group(&r, GROUP)->have, MCM_JOIN_SEND_ONLY_NON);
	rig_run(&r, NS_SEC(12));
	assert_int_equal(rig_sa_group(&r, GROUP)->have, 0);
	assert_int_equal(r.s.sa.leaves, 1);
	rig_fini(&r);
}

static void test_held_for_a_group_are_bounded(void **state)
{
	rig_init_up(&r, 1);
	r.s.sa.deaf = true;
	for (int i = 0; i < IPOIB_HELD_GROUP; i++)
		assert_int_equal(rig_tx_group(&r, GROUP, 1), IPOIB_HELD);
	assert_int_equal(rig_tx_group(&r, GROUP, 1), IPOIB_DROP);
	assert_int_equal(rig_drops(&r, IPOIB_DROP_HELD_FULL), 1);
	rig_run(&r, NS_SEC(3));
	assert_int_equal(rig_drops(&r, IPOIB_DROP_GROUP_REFUSED), IPOIB_HELD_GROUP);
	rig_fini(&r);
}

static void test_R67_R68_receiver_makes_the_group_like_the_broadcast_group(void **state)
{
	const struct ib_mcmember_rec *j = &r.s.sa.last_join;
	ib_gid bcast = rig_bcast(), g = rig_mgid4(GROUP);
	struct sa_group *b;

	rig_init(&r, 1);
	b = sa_group_find(&r.s.sa, &bcast);
	b->rec.sl = 5;
	b->rec.hop_limit = 4;
	b->rec.tclass = 3;
	b->rec.flow_label = 2;
	rig_up(&r);
	r.ready_status = -1;
	assert_int_equal(add(GROUP), 0);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.s.sa.join_mask, 0x173f7);
	assert_int_equal(j->join_state, MCM_JOIN_FULL);
	assert_int_equal(j->pkey, RIG_PKEY);
	assert_int_equal(j->qkey, b->rec.qkey);
	assert_int_equal(j->sl, 5);
	assert_int_equal(j->mtu_code, IB_MTU_2048);
	assert_int_equal(j->hop_limit, 4);
	assert_int_equal(j->tclass, 3);
	assert_int_equal(j->flow_label, 2);
	assert_int_equal(j->rate_code, b->rec.rate_code);
	assert_int_equal(rig_attached(&r, &g, rig_sa_group(&r, GROUP)->rec.mlid), 1);
	assert_int_equal(r.ready_status, 0);
	rig_fini(&r);
}

static void test_R69_leave_when_the_last_receiver_goes(void **state)
{
	ib_gid g = rig_mgid4(GROUP);
	uint16_t mlid;

	rig_init_up(&r, 1);
	add(GROUP);
	add(GROUP);
	rig_run(&r, NS_MSEC(1));
	mlid = rig_sa_group(&r, GROUP)->rec.mlid;
	assert_int_equal(del(GROUP), 0);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_attached(&r, &g, mlid), 1);
	assert_int_equal(del(GROUP), 0);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_attached(&r, &g, mlid), 0);
	assert_int_equal(rig_sa_group(&r, GROUP)->have, 0);
	assert_int_equal(del(GROUP), -ENOENT);
	rig_fini(&r);
}

static void test_sender_that_becomes_receiver_keeps_one_membership(void **state)
{
	rig_init_up(&r, 1);
	rig_sa_make(&r, GROUP);
	rig_tx_group(&r, GROUP, 1);
	rig_run(&r, NS_MSEC(1));
	add(GROUP);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_sa_group(&r, GROUP)->have, MCM_JOIN_FULL);
	assert_int_equal(rig_tx_group(&r, GROUP, 2), IPOIB_SEND);
	/* After the last receiver has left, the next packet makes the link join as a sender. */
	del(GROUP);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_sa_group(&r, GROUP)->have, 0);
	rig_tx_group(&r, GROUP, 3);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_sa_group(&r, GROUP)->have, MCM_JOIN_SEND_ONLY_NON);
	assert_int_equal(r.nsent, 3);
	rig_fini(&r);
}

static void test_receiver_wish_before_the_link_is_up(void **state)
{
	rig_init(&r, 1);
	assert_int_equal(add(GROUP), 0);
	rig_run(&r, NS_SEC(1));
	assert_int_equal(r.s.sa.joins, 0);
	rig_up(&r);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_sa_group(&r, GROUP)->have, MCM_JOIN_FULL);
	rig_fini(&r);
}

static void test_R71_refused_join_is_told_and_retried(void **state)
{
	rig_init_up(&r, 1);
	rig_sa_make(&r, GROUP)->refuse = SA_STATUS_NO_RESOURCES;
	add(GROUP);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.ready_status, SA_STATUS_NO_RESOURCES);
	assert_int_equal(rig_tx_group(&r, GROUP, 1), IPOIB_DROP);
	assert_int_equal(rig_drops(&r, IPOIB_DROP_GROUP_REFUSED), 1);
	assert_true(ipoib_link_stats(r.link)->joins_failed > 0);
	rig_sa_group(&r, GROUP)->refuse = 0;
	rig_run(&r, NS_SEC(3));
	assert_int_equal(r.ready_status, 0);
	assert_int_equal(rig_tx_group(&r, GROUP, 1), IPOIB_SEND);
	rig_fini(&r);
}

static void test_R62_refused_send_only_join_backs_off(void **state)
{
	rig_init_up(&r, 1);
	rig_sa_make(&r, GROUP)->refuse = SA_STATUS_REQ_INVALID;
	for (int i = 0; i < 3000; i++) {
		rig_tx_group(&r, GROUP, 1);
		rig_run(&r, NS_MSEC(10));
	}
	assert_in_range(rig_sa_group(&r, GROUP)->joins, 4, 6);
	assert_int_equal(rig_drops(&r, IPOIB_DROP_GROUP_REFUSED), 3000);
	rig_fini(&r);
}

static void test_R68_group_with_another_qkey_or_mtu_is_refused(void **state)
{
	rig_init_up(&r, 1);
	rig_sa_make(&r, GROUP)->rec.qkey = 0x1234;
	rig_sa_make(&r, GROUP + 1)->rec.mtu_code = IB_MTU_1024;
	for (uint32_t i = 0; i < 2; i++) {
		rig_tx_group(&r, GROUP + i, 1);
		rig_run(&r, NS_MSEC(1));
		assert_int_equal(rig_drops(&r, IPOIB_DROP_GROUP_REFUSED), i + 1);
		assert_int_equal(rig_sa_group(&r, GROUP + i)->have, 0);
	}
	rig_fini(&r);
}

/*
 * Bring a router's link up. The link is a NonMember of the group GROUP, which another host has
 * created.
 *
 * @ah_err:	error with which the CA refuses an address handle for the group; 0: it grants one
 */
static void begin_as_router(int ah_err)
{
	struct ipoib_link_cfg cfg = { .router = true };
	ib_gid g = rig_mgid4(GROUP);

	rig_init_cfg(&r, &cfg, 1);
	rig_up(&r);
	rig_sa_make(&r, GROUP);
	r.ah_err = ah_err;
	sa_report(&r.s.sa, MAD_TRAP_MC_CREATED, &g, r.s.now);
	rig_run(&r, NS_MSEC(1));
	r.ah_err = 0;
	assert_int_equal(rig_sa_group(&r, GROUP)->have, MCM_JOIN_NON);
}

static void test_R70_router_whose_full_join_is_refused_stays_non_member(void **state)
{
	ib_gid g = rig_mgid4(GROUP);

	begin_as_router(0);
	rig_sa_group(&r, GROUP)->refuse = SA_STATUS_NO_RESOURCES;
	assert_int_equal(add(GROUP), 0);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.ready_status, SA_STATUS_NO_RESOURCES);
	assert_int_equal(rig_sa_group(&r, GROUP)->have, MCM_JOIN_NON);
	assert_int_equal(rig_tx_group(&r, GROUP, 1), IPOIB_SEND);
	assert_true(went_to(0, GROUP));
	assert_int_equal(rig_attached(&r, &g, rig_sa_group(&r, GROUP)->rec.mlid), 1);
	rig_sa_group(&r, GROUP)->refuse = 0;
	rig_run(&r, NS_SEC(3));
	assert_int_equal(r.ready_status, 0);
	assert_int_equal(rig_sa_group(&r, GROUP)->have, MCM_JOIN_FULL | MCM_JOIN_NON);
	rig_fini(&r);
}

static void test_R68_router_leaves_a_group_with_another_qkey(void **state)
{
	unsigned int joins;

	begin_as_router(0);
	joins = rig_sa_group(&r, GROUP)->joins;
	rig_sa_group(&r, GROUP)->rec.qkey = 0x1234;
	assert_int_equal(add(GROUP), 0);
	rig_run(&r, NS_SEC(30));
	assert_int_equal(r.ready_status, -EPROTO);
	assert_int_equal(rig_sa_group(&r, GROUP)->have, 0);
	/* Joins are repeated after 1, 2, 4, 8 and 16 s. */
	assert_in_range(rig_sa_group(&r, GROUP)->joins - joins, 3, 7);
	assert_int_equal(rig_tx_group(&r, GROUP, 1), IPOIB_DROP);
	assert_int_equal(r.natt, 3); /* broadcast group and two all-routers groups */
	rig_fini(&r);
}

/*
 * The CA refuses an address handle for the group. Then a program wants to receive the group, and
 * the SA refuses the join as FullMember. The router must still be able to send to the group.
 */
static void test_R70_router_without_a_handle_goes_on_when_its_full_join_is_refused(void **state)
{
	begin_as_router(-ENOMEM);
	rig_sa_group(&r, GROUP)->refuse = SA_STATUS_NO_RESOURCES;
	assert_int_equal(add(GROUP), 0);
	rig_run(&r, NS_SEC(1));
	assert_int_equal(rig_tx_group(&r, GROUP, 1), IPOIB_SEND);
	rig_fini(&r);
}

static void test_R62_sender_whose_full_join_is_refused_still_sends(void **state)
{
	rig_init_up(&r, 1);
	rig_sa_make(&r, GROUP);
	rig_tx_group(&r, GROUP, 1);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_sa_group(&r, GROUP)->have, MCM_JOIN_SEND_ONLY_NON);
	rig_sa_group(&r, GROUP)->refuse = SA_STATUS_NO_RESOURCES;
	assert_int_equal(add(GROUP), 0);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.ready_status, SA_STATUS_NO_RESOURCES);
	assert_int_equal(rig_tx_group(&r, GROUP, 2), IPOIB_SEND);
	assert_int_equal(r.natt, 1); /* the broadcast group alone */
	rig_fini(&r);
}

static void test_sm_restart_rejoins_receivers_and_senders(void **state)
{
	ib_gid g = rig_mgid4(GROUP);

	rig_init_up(&r, 1);
	add(GROUP);
	rig_sa_make(&r, GROUP + 1);
	rig_tx_group(&r, GROUP + 1, 1);
	rig_run(&r, NS_MSEC(1));
	sa_forget(&r.s.sa);
	sac_reregister(r.s.sac, r.s.now);
	rig_run(&r, NS_MSEC(2));
	assert_int_equal(rig_sa_group(&r, GROUP)->have, MCM_JOIN_FULL);
	assert_int_equal(rig_sa_group(&r, GROUP + 1)->have, MCM_JOIN_SEND_ONLY_NON);
	assert_int_equal(rig_attached(&r, &g, rig_sa_group(&r, GROUP)->rec.mlid), 1);
	assert_int_equal(r.natt, 2);
	assert_int_equal(rig_tx_group(&r, GROUP + 1, 2), IPOIB_SEND);
	assert_true(went_to(1, GROUP + 1)); /* sent with the new MLID */
	rig_fini(&r);
}

static void test_sm_restart_without_the_group_ends_sending_to_it(void **state)
{
	rig_init_up(&r, 1);
	rig_sa_make(&r, LINK_LOCAL);
	rig_tx_group(&r, LINK_LOCAL, 1);
	rig_run(&r, NS_MSEC(1));
	sa_forget(&r.s.sa);
	rig_sa_group(&r, LINK_LOCAL)->others = false;
	sac_reregister(r.s.sac, r.s.now);
	rig_run(&r, NS_MSEC(2));
	assert_int_equal(rig_tx_group(&r, LINK_LOCAL, 2), IPOIB_DROP);
	rig_run(&r, NS_SEC(2));
	rig_tx_group(&r, LINK_LOCAL, 3);
	rig_run(&r, NS_MSEC(2));
	assert_int_equal(rig_drops(&r, IPOIB_DROP_NO_GROUP), 1);
	rig_fini(&r);
}

static void test_trap_67_receiver_makes_its_group_again(void **state)
{
	ib_gid g = rig_mgid4(GROUP);

	rig_init_up(&r, 1);
	add(GROUP);
	rig_run(&r, NS_MSEC(1));
	rig_sa_group(&r, GROUP)->have = 0;
	sa_report(&r.s.sa, MAD_TRAP_MC_DELETED, &g, r.s.now);
	assert_int_equal(rig_tx_group(&r, GROUP, 1), IPOIB_HELD);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nsent, 1);
	assert_int_equal(rig_sa_group(&r, GROUP)->have, MCM_JOIN_FULL);
	assert_int_equal(rig_attached(&r, &g, rig_sa_group(&r, GROUP)->rec.mlid), 1);
	rig_fini(&r);
}

static void test_handle_refused_for_a_member_is_asked_for_again(void **state)
{
	rig_init_up(&r, 1);
	rig_sa_make(&r, GROUP);
	r.ah_err = -ENOMEM;
	rig_tx_group(&r, GROUP, 1);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_drops(&r, IPOIB_DROP_GROUP_REFUSED), 1);
	r.ah_err = 0;
	rig_run(&r, NS_SEC(2));
	rig_tx_group(&r, GROUP, 2);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nsent, 1);
	assert_int_equal(rig_sa_group(&r, GROUP)->joins, 1);
	rig_fini(&r);
}

/* The requests are sent at 0, 1, 3, 7, 15, 31 and 47 s, and packets do not cause more of them. */
static void test_handle_that_is_refused_again_is_asked_for_less_often(void **state)
{
	unsigned int before;

	rig_init_up(&r, 1);
	rig_sa_make(&r, GROUP);
	r.ah_err = -ENOMEM;
	before = r.acts[IPOIB_ACT_AH_CREATE];
	for (unsigned int i = 0; i < 600; i++) {
		rig_tx_group(&r, GROUP, 1);
		rig_run(&r, NS_MSEC(100));
	}
	assert_in_range(r.acts[IPOIB_ACT_AH_CREATE] - before, 5, 7);
	r.ah_err = 0;
	rig_run(&r, IPOIB_BACKOFF_MAX);
	rig_tx_group(&r, GROUP, 2);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nsent, 1);
	rig_fini(&r);
}

static void test_full_group_table_drops_and_recovers(void **state)
{
	rig_init_up(&r, 1);
	for (uint32_t i = 0; i < IPOIB_MAX_GROUPS; i++) {
		rig_tx_group(&r, 0xe9000000u + i, 1);
		memset(r.s.sa.group + 1, 0, sizeof(r.s.sa.group) - sizeof(r.s.sa.group[0]));
		rig_run(&r, NS_USEC(200));
	}
	assert_true(rig_drops(&r, IPOIB_DROP_GROUPS_FULL) > 0);
	rig_run(&r, 2 * IPOIB_SWEEP);
	rig_sa_make(&r, GROUP);
	rig_tx_group(&r, GROUP, 2);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nsent, 1);
	rig_fini(&r);
}

static int map_with_own_group(ib_gid *ret, const uint8_t group[4], const struct ipoib_map *map)
{
	if (be32_at(group) == GROUP)
		return mgid_broadcast(ret, map->pkey, map->scope);
	return mgid_from_ipv4(ret, group, map->pkey, map->scope);
}

/*
 * A profile can map an IP group to the link's broadcast group. A host must be able to receive such
 * an IP group. No real profile with the packet format of RFC 4391 has such a map, so the test makes
 * one.
 */
static void test_the_links_own_group_can_be_received_as_an_ip_group(void **state)
{
	ib_gid bcast = rig_bcast();
	struct ipoib_profile p = *ipoib_profile_at(0);
	struct ipoib_link_cfg cfg = { .profile = &p };
	struct sa_group *g;

	p.mgid_ipv4 = map_with_own_group;
	rig_init_cfg(&r, &cfg, 1);
	g = sa_group_find(&r.s.sa, &bcast);
	assert_int_equal(add(GROUP), 0);
	r.ready_status = 1;
	rig_up(&r);
	/*
	 * The host added the IP group before the link joined the broadcast group. Now that this
	 * join has succeeded, the link must have reported to its owner that the IP group is ready.
	 */
	assert_int_equal(r.ready_status, 0);
	r.ready_status = 1;
	assert_int_equal(add(GROUP), 0);
	assert_int_equal(r.ready_status, 0);
	assert_int_equal(g->joins, 1);
	assert_int_equal(r.natt, 1);
	rig_run(&r, NS_SEC(30)); /* the link's periodic sweep runs several times */
	assert_int_equal(g->joins, 1);

	/* The link must stay in the broadcast group when the IP group has no receiver any more. */
	assert_int_equal(del(GROUP), 0);
	assert_int_equal(del(GROUP), 0);
	assert_int_equal(del(GROUP), -ENOENT);
	rig_run(&r, NS_SEC(300));
	assert_int_equal(g->have, MCM_JOIN_FULL);
	assert_int_equal(g->leaves, 0);
	assert_int_equal(r.natt, 1);
	assert_int_equal(rig_tx_group(&r, GROUP, 1), IPOIB_SEND);
	rig_fini(&r);
}

static void test_what_is_no_group_is_dropped(void **state)
{
	uint8_t addr[16] = { 10, 0, 0, 1 };

	rig_init_up(&r, 1);
	assert_int_equal(rig_tx_group(&r, 0x0a000001, 1), IPOIB_DROP);
	assert_int_equal(rig_drops(&r, IPOIB_DROP_NOT_GROUP), 1);
	assert_int_equal(ipoib_mcast_add(r.link, IPOIB_IPV4, addr, r.s.now), -EINVAL);
	assert_int_equal(ipoib_mcast_add(r.link, IPOIB_IPV6, addr, r.s.now), -EINVAL);
	memset(addr, 0xff, 4);
	assert_int_equal(ipoib_mcast_add(r.link, IPOIB_IPV4, addr, r.s.now), -EINVAL);
	rig_fini(&r);
}

static struct ipoib_mcast_info listed[8];
static int nlisted;

static void list_one(void *ctx, const struct ipoib_mcast_info *i)
{
	assert_true(nlisted < 8);
	listed[nlisted++] = *i;
}

static void test_groups_are_listed(void **state)
{
	rig_init_up(&r, 1);
	add(GROUP);
	rig_tx_group(&r, LINK_LOCAL, 1);
	rig_run(&r, NS_MSEC(1));
	nlisted = 0;
	ipoib_mcast_each(r.link, list_one, NULL);
	assert_int_equal(nlisted, 3);
	assert_true(listed[0].broadcast);
	assert_true(listed[0].attached);
	assert_int_equal(listed[1].receivers, 1);
	assert_true(listed[1].full);
	assert_int_equal(listed[1].state, IPOIB_MCAST_READY);
	assert_int_equal(be32_at(listed[1].group), GROUP);
	assert_int_equal(listed[2].state, IPOIB_MCAST_ABSENT);
	assert_int_equal(listed[2].status, SA_STATUS_NO_RECORDS);
	rig_fini(&r);
}

static void test_random_use_under_loss_keeps_the_books(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		unsigned int want[6] = { 0 }, sent = 0;
		struct prng rng;
		uint64_t drops = 0;

		prng_seed(&rng, seed);
		rig_init(&r, seed);
		r.s.sa.loss_ppm = 150000;
		ipoib_link_set_admin(r.link, true, r.s.now);
		for (int step = 0; step < 400; step++) {
			uint32_t g = prng_below(&rng, 6), addr = ROUTERS + g;
			ib_gid mgid = rig_mgid4(addr);

			switch (prng_below(&rng, 8)) {
			case 0:
				add(addr);
				want[g]++;
				break;
			case 1:
				want[g] -= del(addr) == 0;
				break;
			case 2:
				sa_forget(&r.s.sa);
				sac_reregister(r.s.sac, r.s.now);
				break;
			case 3:
				sa_report(&r.s.sa, prng_below(&rng, 2) ? 66 : 67, &mgid, r.s.now);
				break;
			default:
				rig_tx_group(&r, addr, 1);
				sent++;
				break;
			}
			rig_run(&r, NS_MSEC(prng_below(&rng, 300)));
		}
		r.s.sa.loss_ppm = 0;
		sac_reregister(r.s.sac, r.s.now);
		rig_run(&r, NS_SEC(300)); /* long enough for idle senders to leave */
		for (uint32_t g = 0; g < 6; g++) {
			struct sa_group *at = rig_sa_group(&r, ROUTERS + g);

			if ((at ? at->have : 0) != (want[g] ? MCM_JOIN_FULL : 0))
				fail_msg("seed %llu: group %u has %u", (unsigned long long)seed, g,
					 at ? at->have : 0);
		}
		for (int i = 0; i < IPOIB_DROP_N; i++)
			drops += ipoib_link_stats(r.link)->drops[i];
		assert_int_equal(r.nsent + drops, sent);
		rig_fini(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R63_branch_1_a_full_member_sends),
		cmocka_unit_test(test_R63_branch_2_existing_group_is_joined_send_only),
		cmocka_unit_test(test_R63_branch_3_absent_group_goes_to_the_routers),
		cmocka_unit_test(test_R63_branch_3_needs_scope_beyond_link_local),
		cmocka_unit_test(test_R63_branch_4_no_group_no_routers_drop),
		cmocka_unit_test(test_R61_broadcast_instead_of_dropping_is_a_switch),
		cmocka_unit_test(test_R63_ipv6_scopes_and_routers),
		cmocka_unit_test(test_R66_traffic_moves_to_the_group_once_it_is_made),
		cmocka_unit_test(test_R64_absence_is_believed_for_a_while_only),
		cmocka_unit_test(test_R65_deleted_group_is_absent_again),
		cmocka_unit_test(test_sender_leaves_when_idle),
		cmocka_unit_test(test_held_for_a_group_are_bounded),
		cmocka_unit_test(test_R67_R68_receiver_makes_the_group_like_the_broadcast_group),
		cmocka_unit_test(test_R69_leave_when_the_last_receiver_goes),
		cmocka_unit_test(test_sender_that_becomes_receiver_keeps_one_membership),
		cmocka_unit_test(test_receiver_wish_before_the_link_is_up),
		cmocka_unit_test(test_R71_refused_join_is_told_and_retried),
		cmocka_unit_test(test_R62_refused_send_only_join_backs_off),
		cmocka_unit_test(test_R68_group_with_another_qkey_or_mtu_is_refused),
		cmocka_unit_test(test_R70_router_whose_full_join_is_refused_stays_non_member),
		cmocka_unit_test(test_R68_router_leaves_a_group_with_another_qkey),
		cmocka_unit_test(
			test_R70_router_without_a_handle_goes_on_when_its_full_join_is_refused),
		cmocka_unit_test(test_R62_sender_whose_full_join_is_refused_still_sends),
		cmocka_unit_test(test_sm_restart_rejoins_receivers_and_senders),
		cmocka_unit_test(test_sm_restart_without_the_group_ends_sending_to_it),
		cmocka_unit_test(test_trap_67_receiver_makes_its_group_again),
		cmocka_unit_test(test_handle_refused_for_a_member_is_asked_for_again),
		cmocka_unit_test(test_handle_that_is_refused_again_is_asked_for_less_often),
		cmocka_unit_test(test_full_group_table_drops_and_recovers),
		cmocka_unit_test(test_the_links_own_group_can_be_received_as_an_ip_group),
		cmocka_unit_test(test_what_is_no_group_is_dropped),
		cmocka_unit_test(test_groups_are_listed),
		cmocka_unit_test(test_random_use_under_loss_keeps_the_books),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/iid.h"
#include "ipoib_rig.h"

/*
 * Links whose profile is not the default: one test for each behaviour in which a row of the table
 * of profiles differs from the default profile.
 */

#define GROUP 0xef000001u /* 239.0.0.1, beyond link-local scope */
#define ROUTERS 0xe0000002u

static struct ipoib_rig r;

static void begin(const char *profile)
{
	struct ipoib_link_cfg cfg = { .profile = ipoib_profile_find(profile) };

	assert_non_null(cfg.profile);
	rig_init_cfg(&r, &cfg, 1);
	rig_up(&r);
}

/* Let the SA answer joins of GROUP with this status; 0: grant them. */
static void refuse(uint16_t status)
{
	ib_gid g = rig_mgid4(GROUP);

	sa_group_slot(&r.s.sa, &g)->refuse = status;
}

static void no_event(struct sac_user *u, enum sac_event ev, const ib_gid *gid, ns_t now)
{
}

static void test_L4_linux_sender_creates_the_group_without_asking(void **state)
{
	const struct ib_mcmember_rec *j = &r.s.sa.last_join;
	ib_gid bcast = rig_bcast(), g = rig_mgid4(GROUP);
	const struct ib_mcmember_rec *b;

	begin("linux");
	b = &sa_group_find(&r.s.sa, &bcast)->rec;
	assert_null(rig_sa_group(&r, GROUP));
	assert_int_equal(rig_tx_group(&r, GROUP, 1), IPOIB_HELD);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.s.sa.asks, 0);
	assert_int_equal(r.s.sa.join_mask, 0x173f7); /* difference L4 of doc/fidelity.md */
	assert_int_equal(j->join_state, MCM_JOIN_SEND_ONLY_FULL);
	assert_int_equal(j->pkey, RIG_PKEY);
	assert_int_equal(j->qkey, b->qkey);
	assert_int_equal(j->mtu_code, b->mtu_code);
	assert_int_equal(j->sl, b->sl);
	assert_int_equal(r.nsent, 1);
	assert_int_equal(r.sent[0].tag, 1);
	assert_memory_equal(&r.sent[0].attr.dgid, &g, sizeof(g));
	/*
	 * The QP is attached to the broadcast group only, because a host that only sends to GROUP
	 * does not receive GROUP.
	 */
	assert_int_equal(r.natt, 1);
	rig_fini(&r);
}

/*
 * The broadcast group and GROUP get another Q_Key. While other ports are members of GROUP, the
 * sender joins the existing group. When these ports have left and the sender's port registers
 * again, the sender's join creates GROUP. So this join must have the new Q_Key.
 */
static void test_R68_linux_sender_makes_groups_with_changed_parameters(void **state)
{
	ib_gid bcast = rig_bcast();

	begin("linux");
	rig_sa_make(&r, GROUP);
	assert_int_equal(rig_tx_group(&r, GROUP, 1), IPOIB_HELD);
	rig_run(&r, NS_MSEC(1));
	sa_group_find(&r.s.sa, &bcast)->rec.qkey = 0x80001234;
	rig_sa_group(&r, GROUP)->rec.qkey = 0x80001234;
	sa_forget(&r.s.sa);
	sac_reregister(r.s.sac, r.s.now);
	rig_run(&r, NS_SEC(1));
	assert_int_equal(rig_sa_group(&r, GROUP)->have, MCM_JOIN_SEND_ONLY_FULL);
	rig_sa_group(&r, GROUP)->others = 0;
	sa_forget(&r.s.sa);
	sac_reregister(r.s.sac, r.s.now);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_sa_group(&r, GROUP)->have, MCM_JOIN_SEND_ONLY_FULL);
	assert_int_equal(rig_sa_group(&r, GROUP)->rec.qkey, 0x80001234);
	rig_fini(&r);
}

static void test_L5_linux_sender_that_is_refused_drops(void **state)
{
	begin("linux");
	rig_sa_make(&r, ROUTERS);
	refuse(SA_STATUS_REQ_INVALID);
	assert_int_equal(rig_tx_group(&r, GROUP, 1), IPOIB_HELD);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nsent, 0);
	assert_int_equal(rig_drops(&r, IPOIB_DROP_GROUP_REFUSED), 1);
	assert_int_equal(rig_sa_group(&r, ROUTERS)->have, 0); /* the routers' group is not used */
	/* After the back-off, the next packet makes the link try the join again. */
	refuse(0);
	rig_run(&r, NS_SEC(20));
	assert_int_equal(rig_tx_group(&r, GROUP, 2), IPOIB_HELD);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nsent, 1);
	assert_int_equal(r.sent[0].tag, 2);
	rig_fini(&r);
}

static void test_L6_linux_subscribes_to_nothing_and_keeps_a_deleted_group(void **state)
{
	ib_gid g = rig_mgid4(GROUP);
	struct sac_user other = { .event = no_event };

	begin("linux");
	rig_run(&r, NS_SEC(10));
	assert_int_equal(r.s.sa.subscribes, 0);
	rig_tx_group(&r, GROUP, 1);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nsent, 1);
	/*
	 * The SM deletes the group without a trap. The link cannot notice this, and must continue
	 * to send packets to the group.
	 */
	rig_sa_group(&r, GROUP)->have = 0;
	assert_int_equal(rig_tx_group(&r, GROUP, 2), IPOIB_SEND);
	/* After a ClientReregister the link joins again, and this join creates the group again. */
	sac_reregister(r.s.sac, r.s.now);
	rig_run(&r, NS_SEC(1));
	assert_int_equal(rig_sa_group(&r, GROUP)->have, MCM_JOIN_SEND_ONLY_FULL);
	assert_int_equal(r.s.sa.subscribes, 0);
	/*
	 * Another user of the port has subscribed to trap 67 (group deleted). A Report of trap 67
	 * must change nothing for this link either.
	 */
	sac_user_add(r.s.sac, &other);
	rig_run(&r, NS_SEC(1));
	assert_int_equal(r.s.sa.subscribes, 4);
	sa_report(&r.s.sa, MAD_TRAP_MC_DELETED, &g, r.s.now);
	assert_int_equal(rig_tx_group(&r, GROUP, 3), IPOIB_SEND);
	sac_user_del(&other);
	rig_fini(&r);
}

static void test_linux_sender_leaves_after_a_minute(void **state)
{
	begin("linux");
	rig_tx_group(&r, GROUP, 1);
	rig_run(&r, NS_SEC(59));
	assert_int_equal(rig_sa_group(&r, GROUP)->have, MCM_JOIN_SEND_ONLY_FULL);
	rig_run(&r, NS_SEC(12));
	assert_int_equal(rig_sa_group(&r, GROUP)->have, 0);
	assert_int_equal(r.s.sa.leaves, 1);
	rig_fini(&r);
}

static void test_linux_sender_that_becomes_receiver(void **state)
{
	uint8_t addr[4];

	begin("linux");
	rig_tx_group(&r, GROUP, 1);
	rig_run(&r, NS_MSEC(1));
	be32_put(addr, GROUP);
	assert_int_equal(ipoib_mcast_add(r.link, IPOIB_IPV4, addr, r.s.now), 0);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_sa_group(&r, GROUP)->have, MCM_JOIN_FULL);
	assert_int_equal(rig_tx_group(&r, GROUP, 2), IPOIB_SEND);
	rig_fini(&r);
}

/* --- profile = v6ib00, draft-kashyap-ipoib-ipv6-over-ib-00 */

static const uint8_t all_hosts[16] = { 0xff, 0x02, [15] = 1 };
static const uint8_t all_routers[16] = { 0xff, 0x02, [15] = 2 };
static const uint8_t site_group[16] = { 0xff, 0x05, [15] = 9 };

static ib_gid mgid_3333(const uint8_t group[16])
{
	ib_gid g;

	assert_int_equal(mgid_3333_from_ipv6(&g, group), 0);
	return g;
}

static struct sa_group *v6_at_sa(const uint8_t group[16])
{
	ib_gid g = mgid_3333(group);

	return sa_group_find(&r.s.sa, &g);
}

static enum ipoib_verdict v6_tx(const uint8_t group[16], uint32_t tag)
{
	struct ipoib_tx v = { .pkt = rig_pkt(&r, tag, 64),
			      .ethertype = 0x86dd,
			      .dst = IPOIB_DST_MCAST6 };

	memcpy(v.group, group, 16);
	return rig_tx(&r, &v);
}

static int v6_add(const uint8_t group[16])
{
	int err = ipoib_mcast_add(r.link, IPOIB_IPV6, group, r.s.now);

	rig_run(&r, NS_MSEC(1));
	return err;
}

static int v6_del(const uint8_t group[16])
{
	int err = ipoib_mcast_del(r.link, IPOIB_IPV6, group, r.s.now);

	rig_run(&r, NS_MSEC(1));
	return err;
}

/*
 * Make a link of profile v6ib00 on a port with an MTU of 4096, and set it up. @fit: changes the
 * link's broadcast group at the SA before the link is set up; NULL for no change
 */
static void v6_start(struct ipoib_link_cfg *cfg, void (*fit)(struct sa_group *all))
{
	cfg->profile = ipoib_profile_find("v6ib00");
	assert_non_null(cfg->profile);
	rig_init_cfg(&r, cfg, 1);
	r.port.mtu_code = IB_MTU_4096;
	rig_port(&r);
	if (fit)
		fit(v6_at_sa(all_hosts));
	ipoib_link_set_admin(r.link, true, r.s.now);
	rig_run(&r, NS_MSEC(10));
}

static void test_V16_V24_v6ib00_link_is_made_by_joining_all_hosts(void **state)
{
	ib_gid all = { { 0xff, 0x12, 0x33, 0x33, [15] = 1 } };
	struct ipoib_link_info info;

	begin("v6ib00");
	assert_memory_equal(&r.s.sa.last_join.mgid, &all, 16);
	assert_int_equal(r.s.sa.last_join.join_state, MCM_JOIN_FULL);
	assert_int_equal(r.s.sa.joins, 1);
	assert_int_equal(rig_attached(&r, &all, v6_at_sa(all_hosts)->rec.mlid), 1);
	/*
	 * The IP MTU is the whole MTU of the group, because this profile has no encapsulation
	 * header.
	 */
	assert_int_equal(r.mtu, 2048);
	ipoib_link_info(r.link, &info);
	assert_memory_equal(&info.mgid, &all, 16);
	/*
	 * The IP group ff02::1 maps to the link's own group, of which every host is a member
	 * already, so the IP group is ready at once.
	 */
	r.ready_status = 1;
	assert_int_equal(v6_add(all_hosts), 0);
	assert_int_equal(r.ready_status, 0);
	assert_int_equal(v6_tx(all_hosts, 1), IPOIB_SEND);
	assert_int_equal(r.sent[0].dest_qpn, 0xffffff); /* V22 */
	assert_int_equal(v6_del(all_hosts), 0);
	assert_int_equal(v6_at_sa(all_hosts)->have, MCM_JOIN_FULL);
	assert_int_equal(r.s.sa.joins, 1);
	rig_fini(&r);
}

static void no_such_group(struct sa_group *all)
{
	all->others = false;
	all->refuse = SA_STATUS_REQ_INVALID;
}

static void test_V19_v6ib00_without_the_administrators_group_is_down(void **state)
{
	struct ipoib_link_cfg cfg = { 0 };

	v6_start(&cfg, no_such_group);
	rig_run(&r, NS_SEC(60));
	assert_int_equal(rig_state(&r), IPOIB_LINK_JOINING);
	assert_reason(&r, "ff12:3333::1");
	assert_reason(&r, "the group does not exist");
	/*
	 * The component mask of the join must not have the components that an SA needs to create
	 * the group.
	 */
	assert_int_equal(r.s.sa.join_mask & (MCM_COMP_QKEY | MCM_COMP_SL), 0);
	rig_fini(&r);
}

static void of_another_partition(struct sa_group *all)
{
	all->rec.pkey = 0x8123;
}

static void test_V17_v6ib00_pkey_is_that_of_the_group(void **state)
{
	struct ipoib_link_cfg cfg = { 0 };
	ib_gid g = mgid_3333(site_group);

	v6_start(&cfg, of_another_partition);
	assert_int_equal(rig_state(&r), IPOIB_LINK_JOINING);
	assert_reason(&r, "P_Key 0x8123 is not the link's 0x8001");
	rig_fini(&r);

	/* The link's other groups must have the P_Key of the broadcast group, too. */
	begin("v6ib00");
	assert_int_equal(v6_add(site_group), 0);
	assert_memory_equal(&r.s.sa.last_join.mgid, &g, 16);
	assert_int_equal(r.s.sa.last_join.pkey, v6_at_sa(all_hosts)->rec.pkey);
	assert_int_equal(r.qp_pkey_index, 1);
	rig_fini(&r);
}

static void test_V18_v6ib00_manual_mtu_above_the_groups_is_ignored(void **state)
{
	static const unsigned int want[][2] = {
		{ 0, 2048 }, { 2049, 2048 }, { 4096, 2048 }, { 2048, 2048 }, { 1500, 1500 }
	};

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		struct ipoib_link_cfg cfg = { .max_ip_mtu = want[i][0] };

		v6_start(&cfg, NULL);
		assert_int_equal(r.mtu, want[i][1]);
		rig_fini(&r);
	}
}

static void of_4096(struct sa_group *all)
{
	all->rec.mtu_code = IB_MTU_4096;
	all->rec.sl = 5;
}

static void test_V16_v6ib00_whole_mtu_is_sent(void **state)
{
	struct ipoib_link_cfg cfg = { 0 };
	struct ipoib_tx v = { .ethertype = 0x86dd, .dst = IPOIB_DST_MCAST6 };

	memcpy(v.group, all_hosts, 16);
	v6_start(&cfg, of_4096);
	assert_int_equal(r.mtu, 4096);
	v.pkt = rig_pkt(&r, 1, 4096);
	assert_int_equal(rig_tx(&r, &v), IPOIB_SEND);
	assert_int_equal(r.sent[0].len, 4096);
	v.pkt = rig_pkt(&r, 2, 4097);
	assert_int_equal(rig_tx(&r, &v), IPOIB_DROP);
	assert_int_equal(rig_drops(&r, IPOIB_DROP_TOO_BIG), 1);
	rig_fini(&r);
}

/*
 * By default all packets have the SL of the group FF12:3333::1. The configuration key "sl" can
 * select another source of the SL.
 */
static void test_V15_v6ib00_sl_is_that_of_all_hosts(void **state)
{
	static const struct {
		enum ipoib_sl_from from;
		uint8_t sl;
	} c[] = { { IPOIB_SL_DEFAULT, 5 }, { IPOIB_SL_PATH, 3 }, { IPOIB_SL_FIXED, 7 } };

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		struct ipoib_link_cfg cfg = { .sl_from = c[i].from, .sl = 7 };
		struct ipoib_tx v = { .ethertype = 0x86dd };

		v6_start(&cfg, of_4096);
		rig_peer(&r, 7)->sl = 3;
		v.pkt = rig_pkt(&r, 1, 64);
		v.neigh = rig_neigh(&r, 7, 0x77);
		assert_int_equal(rig_tx(&r, &v), IPOIB_HELD);
		rig_run(&r, NS_MSEC(1));
		assert_int_equal(r.sent[0].attr.sl, c[i].sl);
		assert_false(r.sent[0].attr.has_grh); /* V21 */
		rig_fini(&r);
	}
}

/*
 * The mapping from IP groups to MGIDs drops 16 bits of the IP address. IP groups that differ only
 * in these bits have the same MGID, so they share one membership, which ends when the host leaves
 * the last of these IP groups.
 */
static void test_V6_v6ib00_groups_that_collide_share_a_join(void **state)
{
	const uint8_t a[16] = { 0xff, 0x35, 0, 0x40, 0xfd, [15] = 8 };
	const uint8_t b[16] = { 0xff, 0x35, 0, 0x30, 0xfd, [15] = 8 };
	struct sa_group *g;

	begin("v6ib00");
	assert_int_equal(v6_add(a), 0);
	assert_int_equal(v6_add(b), 0);
	g = v6_at_sa(a);
	assert_ptr_equal(g, v6_at_sa(b));
	assert_int_equal(g->joins, 1);
	assert_int_equal(r.natt, 2);
	assert_int_equal(v6_tx(b, 1), IPOIB_SEND);
	assert_int_equal(v6_del(a), 0);
	assert_int_equal(g->have, MCM_JOIN_FULL);
	assert_int_equal(v6_del(b), 0);
	assert_int_equal(g->have, 0);
	assert_int_equal(v6_del(b), -ENOENT);
	rig_fini(&r);
}

/*
 * Senders follow RFC 4391: packets to an absent group of a scope wider than link-local are sent to
 * the all-routers group.
 */
static void test_v6ib00_sender_without_a_group(void **state)
{
	static const uint8_t local[16] = { 0xff, 0x02, [15] = 9 };
	ib_gid to_routers = mgid_3333(all_routers);

	begin("v6ib00");
	sa_group_make(&r.s.sa, &to_routers, RIG_PKEY, IB_MTU_2048);
	assert_int_equal(v6_tx(site_group, 1), IPOIB_HELD);
	assert_int_equal(v6_tx(local, 2), IPOIB_HELD);
	rig_run(&r, NS_SEC(1));
	assert_int_equal(r.nsent, 1);
	assert_int_equal(r.sent[0].tag, 1);
	assert_memory_equal(&r.sent[0].attr.dgid, &to_routers, 16);
	assert_int_equal(rig_drops(&r, IPOIB_DROP_NO_GROUP), 1);
	assert_int_equal(rig_tx_group(&r, GROUP, 3), IPOIB_DROP); /* IPv4 */
	assert_int_equal(rig_drops(&r, IPOIB_DROP_TX_TYPE), 1);
	rig_fini(&r);
}

static void test_R70_v6ib00_router_receives_the_groups_of_ipv6(void **state)
{
	ib_gid g = mgid_3333(site_group);

	begin("v6ib00");
	assert_int_equal(ipoib_link_set_router(r.link, true, r.s.now), 0);
	rig_run(&r, NS_SEC(1));
	assert_int_equal(v6_at_sa(all_routers)->have, MCM_JOIN_FULL);
	assert_int_equal(r.s.sa.joins, 2);
	sa_group_make(&r.s.sa, &g, RIG_PKEY, IB_MTU_2048);
	sa_report(&r.s.sa, MAD_TRAP_MC_CREATED, &g, r.s.now);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(v6_at_sa(site_group)->have, MCM_JOIN_NON);
	assert_int_equal(ipoib_link_set_router(r.link, false, r.s.now), 0);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(v6_at_sa(all_routers)->have, 0);
	rig_fini(&r);
}

static void test_V8_V9_v6ib00_addresses_are_made_of_the_port_guid(void **state)
{
	static const uint8_t want[16] = { 0xfe, 0x80, [8] = 2, 2, 0xc9, 3, [15] = 5 };
	uint8_t iid[8], addr[16];

	ipoib_profile_find("v6ib00")->iid(iid, 0x0002c90300000005);
	ipoib_linklocal(addr, iid);
	assert_memory_equal(addr, want, 16);
}

/*
 * In these profiles only an administrator creates the broadcast group, so the link must not create
 * it, even if its owner asks it to.
 */
static void test_H30_V19_profiles_that_only_join_create_no_broadcast_group(void **state)
{
	static const char *const names[] = { "hld2002", "v6ib00" };

	for (unsigned int k = 0; k < 2; k++) {
		struct ipoib_link_cfg cfg = {
			.profile = ipoib_profile_find(names[k]),
			.create_broadcast = true,
		};
		struct ipoib_link_info info;
		struct sa_group *g;
		ib_gid bcast;

		rig_init_cfg(&r, &cfg, 1);
		ipoib_link_info(r.link, &info);
		bcast = info.mgid;
		g = sa_group_find(&r.s.sa, &bcast);
		if (g)
			g->others = false; /* no other host has created the group */
		ipoib_link_set_admin(r.link, true, r.s.now);
		rig_run(&r, NS_SEC(40));
		assert_int_equal(rig_state(&r), IPOIB_LINK_JOINING);
		assert_int_equal(r.acts[IPOIB_ACT_CARRIER], 0);
		if (k == 0) {
			sa_group_make(&r.s.sa, &bcast, RIG_PKEY, IB_MTU_2048);
			sa_report(&r.s.sa, MAD_TRAP_MC_CREATED, &bcast, r.s.now);
			rig_run(&r, NS_MSEC(1));
			assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
		}
		rig_fini(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_L4_linux_sender_creates_the_group_without_asking),
		cmocka_unit_test(test_R68_linux_sender_makes_groups_with_changed_parameters),
		cmocka_unit_test(test_L5_linux_sender_that_is_refused_drops),
		cmocka_unit_test(test_L6_linux_subscribes_to_nothing_and_keeps_a_deleted_group),
		cmocka_unit_test(test_linux_sender_leaves_after_a_minute),
		cmocka_unit_test(test_linux_sender_that_becomes_receiver),
		cmocka_unit_test(test_V16_V24_v6ib00_link_is_made_by_joining_all_hosts),
		cmocka_unit_test(test_V19_v6ib00_without_the_administrators_group_is_down),
		cmocka_unit_test(test_V17_v6ib00_pkey_is_that_of_the_group),
		cmocka_unit_test(test_V18_v6ib00_manual_mtu_above_the_groups_is_ignored),
		cmocka_unit_test(test_V16_v6ib00_whole_mtu_is_sent),
		cmocka_unit_test(test_V15_v6ib00_sl_is_that_of_all_hosts),
		cmocka_unit_test(test_V6_v6ib00_groups_that_collide_share_a_join),
		cmocka_unit_test(test_v6ib00_sender_without_a_group),
		cmocka_unit_test(test_R70_v6ib00_router_receives_the_groups_of_ipv6),
		cmocka_unit_test(test_V8_V9_v6ib00_addresses_are_made_of_the_port_guid),
		cmocka_unit_test(test_H30_V19_profiles_that_only_join_create_no_broadcast_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

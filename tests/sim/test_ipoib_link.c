/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "ipoib_rig.h"

/*
 * Tests of the states of a link: the reason for which the link waits in each state, the parameters
 * that it gets from the broadcast group, and failures that it must survive.
 */

static struct ipoib_rig r;

static struct sa_group *bcast_at_sa(void)
{
	ib_gid g = rig_bcast();

	return sa_group_find(&r.s.sa, &g);
}

static void test_R23_R24_up_by_joining_the_broadcast_group(void **state)
{
	struct ipoib_link_info i;
	ib_gid g = rig_bcast();

	rig_init(&r, 1);
	assert_int_equal(rig_state(&r), IPOIB_LINK_DOWN);
	assert_reason(&r, "administratively down");
	rig_up(&r);
	assert_int_equal(bcast_at_sa()->have, MCM_JOIN_FULL);
	assert_int_equal(r.s.sa.last_to.lid, SA_LID);
	ipoib_link_info(r.link, &i);
	assert_int_equal(i.state, IPOIB_LINK_UP);
	assert_string_equal(i.reason, "");
	assert_memory_equal(&i.mgid, &g, 16);
	assert_int_equal(i.group_mtu, 2048);
	/* Clauses R35 and R37: the IP MTU is the broadcast group's IB MTU less 4 octets. */
	assert_int_equal(i.ip_mtu, 2044);
	assert_int_equal(i.group.qkey, 0x80000b1b);
	assert_int_equal(i.lladdr.qpn, RIG_QPN);
	/*
	 * Clause R49: the GID in the link-layer address consists of the subnet prefix and the port
	 * GUID.
	 */
	assert_memory_equal(&i.lladdr.gid, &r.port.gid, 16);
	/* The link has passed all parameters of the group to its owner. */
	assert_true(r.carrier);
	assert_int_equal(r.mtu, 2044);
	/* Clauses R43 and R52: the QP has the Q_Key of the broadcast group. */
	assert_int_equal(r.qp_qkey, 0x80000b1b);
	assert_int_equal(r.qp_pkey_index, 1);
	assert_int_equal(rig_attached(&r, &g, bcast_at_sa()->rec.mlid), 1);
	rig_fini(&r);
}

static void test_R23_join_mask_and_R15_full_pkey(void **state)
{
	/*
	 * Clause R15: the link sets the membership bit of its P_Key (full member), even if the
	 * P_Key in the configuration does not have this bit.
	 */
	struct ipoib_link_cfg cfg = { .pkey = 0x0001 };

	rig_init_cfg(&r, &cfg, 1);
	ipoib_link_set_admin(r.link, true, r.s.now);
	rig_drain(&r);
	assert_int_equal(r.s.sa.last_comp_mask, 0x10083);
	assert_int_equal(r.s.sa.last_join.pkey, 0x8001);
	assert_int_equal(r.s.sa.last_join.join_state, MCM_JOIN_FULL);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	rig_fini(&r);
}

static void test_R14_R21_configured_scope_makes_all_mgids(void **state)
{
	struct ipoib_link_cfg cfg = { .scope = 5 };
	uint8_t group[4] = { 239, 1, 2, 3 };
	ib_gid bcast, m;

	rig_init_cfg(&r, &cfg, 1);
	mgid_broadcast(&bcast, RIG_PKEY, 5);
	sa_group_make(&r.s.sa, &bcast, RIG_PKEY, IB_MTU_2048);
	rig_up(&r);
	assert_int_equal(ipoib_mcast_add(r.link, IPOIB_IPV4, group, r.s.now), 0);
	rig_run(&r, NS_MSEC(1));
	mgid_from_ipv4(&m, group, RIG_PKEY, 5);
	assert_non_null(sa_group_find(&r.s.sa, &m));
	assert_int_equal(mgid_scope(&r.s.sa.last_join.mgid), 5);
	rig_fini(&r);
}

static void test_R27_waits_for_port_then_pkey(void **state)
{
	rig_init(&r, 1);
	r.port.state = IB_PORT_INIT;
	r.port.pkey_index = -1;
	rig_port(&r);
	ipoib_link_set_admin(r.link, true, r.s.now);
	rig_run(&r, NS_SEC(1));
	assert_int_equal(rig_state(&r), IPOIB_LINK_WAIT_PORT);
	assert_reason(&r, "Init");
	r.port.state = IB_PORT_ACTIVE;
	rig_port(&r);
	assert_int_equal(rig_state(&r), IPOIB_LINK_WAIT_PKEY);
	assert_reason(&r, "P_Key 0x8001 is not in the port's table");
	rig_run(&r, NS_SEC(100));
	assert_int_equal(r.s.sa.joins, 0);
	r.port.pkey_index = 3; /* the SM writes the P_Key to the port's table */
	rig_port(&r);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	assert_int_equal(r.qp_pkey_index, 3);
	rig_fini(&r);
}

static void test_R27_pkey_taken_away_and_given_back_elsewhere(void **state)
{
	rig_init_up(&r, 1);
	r.port.pkey_index = -1;
	rig_port(&r);
	rig_run(&r, NS_SEC(1));
	assert_int_equal(rig_state(&r), IPOIB_LINK_WAIT_PKEY);
	assert_false(r.carrier);
	assert_int_equal(bcast_at_sa()->have, 0);
	assert_int_equal(r.natt, 0);
	r.port.pkey_index = 7;
	rig_port(&r);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	assert_true(r.carrier);
	assert_int_equal(r.qp_pkey_index, 7);
	assert_int_equal(r.acts[IPOIB_ACT_QP_CREATE], 1);
	rig_fini(&r);
}

static void test_pkey_index_moves_while_up(void **state)
{
	unsigned int joins;

	rig_init_up(&r, 1);
	joins = r.s.sa.joins;
	r.port.pkey_index = 2;
	rig_port(&r);
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	assert_int_equal(r.qp_pkey_index, 2);
	assert_int_equal(r.qp_qkey, 0x80000b1b);
	assert_int_equal(r.s.sa.joins, joins);
	rig_fini(&r);
}

static void test_R26_refused_join_names_status_and_field(void **state)
{
	rig_init(&r, 1);
	bcast_at_sa()->rec.mtu_code = IB_MTU_4096;
	bcast_at_sa()->refuse = SA_STATUS_REQ_INVALID;
	ipoib_link_set_admin(r.link, true, r.s.now);
	rig_run(&r, NS_MSEC(5));
	assert_int_equal(rig_state(&r), IPOIB_LINK_JOINING);
	assert_reason(&r, "join of ff12:401b:8001::ffff:ffff refused: status 0x0200");
	assert_reason(&r, "MTU 4096 above the port's 2048");
	/* The back-off between joins is 1, 2, 4, 8, 16 s. */
	rig_run(&r, NS_SEC(60));
	assert_in_range(bcast_at_sa()->joins, 5, 8);
	bcast_at_sa()->refuse = 0;
	bcast_at_sa()->rec.mtu_code = IB_MTU_2048;
	rig_run(&r, NS_SEC(21));
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	rig_fini(&r);
}

static void test_R26_rate_is_named_too(void **state)
{
	rig_init(&r, 1);
	bcast_at_sa()->rec.rate_code = 7; /* code 7: 40 Gb/s */
	bcast_at_sa()->refuse = SA_STATUS_REQ_INVALID;
	ipoib_link_set_admin(r.link, true, r.s.now);
	rig_run(&r, NS_MSEC(5));
	assert_reason(&r, "rate 40000 Mb/s above the port's 10000");
	rig_fini(&r);
}

static void test_R17_group_mtu_above_the_ports_is_refused_by_us(void **state)
{
	rig_init(&r, 1);
	/*
	 * This SA grants the join although the group's MTU is too large for the port, so the link
	 * itself must refuse the group.
	 */
	bcast_at_sa()->rec.mtu_code = IB_MTU_4096;
	ipoib_link_set_admin(r.link, true, r.s.now);
	rig_run(&r, NS_MSEC(5));
	assert_int_equal(rig_state(&r), IPOIB_LINK_JOINING);
	assert_reason(&r, "MTU 4096 above the port's 2048");
	assert_int_equal(bcast_at_sa()->have, 0); /* the link has left the group again */
	rig_run(&r, NS_SEC(30));
	assert_in_range(bcast_at_sa()->joins, 4, 6);
	r.port.mtu_code = IB_MTU_4096;
	rig_port(&r);
	rig_run(&r, NS_SEC(20));
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	assert_int_equal(r.mtu, 4092); /* Clause R36: an MTU other than 2044 */
	/* The MTU of the port becomes smaller than that of the group, so the link goes down. */
	r.port.mtu_code = IB_MTU_2048;
	rig_port(&r);
	assert_int_equal(rig_state(&r), IPOIB_LINK_JOINING);
	assert_reason(&r, "MTU 4096 above the port's 2048");
	rig_fini(&r);
}

static void test_R28_absent_group_waits_for_the_administrator(void **state)
{
	ib_gid bcast = rig_bcast();

	rig_init(&r, 1);
	bcast_at_sa()->others = false;
	ipoib_link_set_admin(r.link, true, r.s.now);
	rig_run(&r, NS_SEC(40));
	assert_int_equal(rig_state(&r), IPOIB_LINK_JOINING);
	assert_reason(&r, "status 0x0600");
	assert_reason(&r, "the group does not exist");
	sa_group_make(&r.s.sa, &bcast, RIG_PKEY, IB_MTU_2048);
	sa_report(&r.s.sa, MAD_TRAP_MC_CREATED, &bcast, r.s.now); /* trap 66 ends the wait */
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	rig_fini(&r);
}

static void test_R28_R16_first_node_may_make_the_group(void **state)
{
	struct ipoib_link_cfg cfg = { .create_broadcast = true };

	rig_init_cfg(&r, &cfg, 1);
	bcast_at_sa()->others = false;
	rig_up(&r);
	assert_int_equal(r.s.sa.join_mask, 0x173f7);
	assert_true(r.s.sa.last_join.qkey & IB_QKEY_CONTROLLED);
	assert_int_equal(r.mtu, 2044);
	rig_fini(&r);
}

static void test_silent_sa_is_said_and_outlived(void **state)
{
	rig_init(&r, 1);
	r.s.sa.deaf = true;
	ipoib_link_set_admin(r.link, true, r.s.now);
	rig_run(&r, NS_SEC(3));
	assert_int_equal(rig_state(&r), IPOIB_LINK_JOINING);
	assert_reason(&r, "no answer from the SA");
	r.s.sa.deaf = false;
	rig_run(&r, NS_SEC(10));
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	rig_fini(&r);
}

static void test_sm_restart_rejoins_without_dropping_the_carrier(void **state)
{
	ib_gid bcast = rig_bcast();
	uint16_t old;

	rig_init_up(&r, 1);
	old = bcast_at_sa()->rec.mlid;
	sa_forget(&r.s.sa);
	sac_reregister(r.s.sac, r.s.now);
	rig_drain(&r);
	assert_int_equal(rig_state(&r), IPOIB_LINK_REJOINING);
	assert_true(ipoib_link_is_up(r.link));
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	assert_int_equal(r.acts[IPOIB_ACT_CARRIER], 1);
	assert_int_equal(bcast_at_sa()->have, MCM_JOIN_FULL);
	/*
	 * The QP must be attached to the group with the new MLID, and no longer with the old one.
	 */
	assert_int_equal(rig_attached(&r, &bcast, old), 0);
	assert_int_equal(rig_attached(&r, &bcast, bcast_at_sa()->rec.mlid), 1);
	rig_fini(&r);
}

static void test_sm_silent_after_restart_keeps_the_link(void **state)
{
	rig_init_up(&r, 1);
	r.s.sa.deaf = true;
	sac_reregister(r.s.sac, r.s.now);
	rig_run(&r, NS_SEC(60));
	assert_int_equal(rig_state(&r), IPOIB_LINK_REJOINING);
	assert_reason(&r, "no answer from the SA");
	assert_true(r.carrier);
	r.s.sa.deaf = false;
	rig_run(&r, NS_SEC(25));
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	rig_fini(&r);
}

static void test_refused_rejoin_takes_the_link_down(void **state)
{
	rig_init_up(&r, 1);
	bcast_at_sa()->refuse = SA_STATUS_DENIED;
	sac_reregister(r.s.sac, r.s.now);
	rig_run(&r, NS_MSEC(5));
	assert_int_equal(rig_state(&r), IPOIB_LINK_JOINING);
	assert_false(r.carrier);
	assert_int_equal(r.natt, 0);
	assert_reason(&r, "0x0700");
	bcast_at_sa()->refuse = 0;
	rig_run(&r, NS_SEC(5));
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	assert_true(r.carrier);
	rig_fini(&r);
}

static void test_R24_rejoin_adopts_what_changed(void **state)
{
	uint8_t group[4] = { 239, 0, 0, 9 };

	rig_init(&r, 1);
	r.port.mtu_code = IB_MTU_4096;
	rig_port(&r);
	rig_up(&r);
	ipoib_mcast_add(r.link, IPOIB_IPV4, group, r.s.now);
	rig_run(&r, NS_MSEC(1));
	sa_forget(&r.s.sa);
	bcast_at_sa()->rec.qkey = 0x80001234;
	bcast_at_sa()->rec.mtu_code = IB_MTU_4096;
	bcast_at_sa()->rec.sl = 3;
	sac_reregister(r.s.sac, r.s.now);
	rig_run(&r, NS_SEC(12));
	assert_int_equal(r.mtu, 4092);
	/*
	 * Clause R68: the link's other groups get the new parameters of the broadcast group, too.
	 */
	assert_int_equal(rig_sa_group(&r, 0xef000009)->rec.qkey, 0x80001234);
	assert_int_equal(rig_sa_group(&r, 0xef000009)->rec.mtu_code, IB_MTU_4096);
	assert_int_equal(r.natt, 2);
	assert_int_equal(r.qp_qkey, 0x80001234);
	assert_int_equal(r.acts[IPOIB_ACT_CARRIER], 1);
	rig_fini(&r);
}

static void test_R19_R33_broadcast_goes_by_the_groups_vector(void **state)
{
	ib_gid bcast = rig_bcast();
	struct ipoib_tx v = { .ethertype = 0x0806, .dst = IPOIB_DST_BROADCAST };

	rig_init(&r, 1);
	bcast_at_sa()->rec.sl = 3;
	bcast_at_sa()->rec.flow_label = 0x12345;
	bcast_at_sa()->rec.hop_limit = 9;
	bcast_at_sa()->rec.tclass = 7;
	rig_up(&r);
	v.pkt = rig_pkt(&r, 1, 56);
	assert_int_equal(rig_tx(&r, &v), IPOIB_SEND);
	assert_int_equal(r.sent[0].dest_qpn, IB_QPN_MCAST);
	assert_int_equal(r.sent[0].qkey, 0x80000b1b);
	assert_int_equal(r.sent[0].type, 0x0806);
	assert_int_equal(r.sent[0].attr.dlid, bcast_at_sa()->rec.mlid);
	assert_int_equal(r.sent[0].attr.sl, 3);
	assert_true(r.sent[0].attr.has_grh);
	assert_memory_equal(&r.sent[0].attr.dgid, &bcast, 16);
	assert_int_equal(r.sent[0].attr.flow_label, 0x12345);
	assert_int_equal(r.sent[0].attr.hop_limit, 9);
	assert_int_equal(r.sent[0].attr.tclass, 7);
	/* Clause R13: the IP address 255.255.255.255 maps to the broadcast group. */
	assert_int_equal(rig_tx_group(&r, 0xffffffff, 2), IPOIB_SEND);
	assert_int_equal(r.sent[1].attr.dlid, bcast_at_sa()->rec.mlid);
	rig_fini(&r);
}

static void test_port_down_and_up_again(void **state)
{
	struct ipoib_tx v = { .ethertype = 0x0800, .dst = IPOIB_DST_BROADCAST };

	rig_init_up(&r, 1);
	r.port.state = IB_PORT_DOWN;
	rig_port(&r);
	assert_int_equal(rig_state(&r), IPOIB_LINK_WAIT_PORT);
	assert_false(r.carrier);
	v.pkt = rig_pkt(&r, 1, 56);
	assert_int_equal(rig_tx(&r, &v), IPOIB_DROP);
	assert_int_equal(v.reason, IPOIB_DROP_LINK_DOWN);
	r.port.state = IB_PORT_ACTIVE;
	rig_port(&r);
	rig_run(&r, NS_MSEC(1));
	assert_true(r.carrier);
	/* The QP was not created again, so the link-layer address is the same. */
	assert_int_equal(r.acts[IPOIB_ACT_QP_CREATE], 1);
	rig_fini(&r);
}

static void test_new_gid_starts_over(void **state)
{
	struct ipoib_link_info i;

	rig_init_up(&r, 1);
	r.port.gid = peer_gid(99);
	rig_port(&r);
	rig_run(&r, NS_MSEC(1));
	ipoib_link_info(r.link, &i);
	assert_int_equal(i.state, IPOIB_LINK_UP);
	assert_int_equal(r.acts[IPOIB_ACT_CARRIER], 3);
	assert_memory_equal(&r.s.sa.last_join.port_gid, &r.port.gid, 16);
	rig_fini(&r);
}

static void test_ca_refusals_are_retried(void **state)
{
	ib_gid bcast = rig_bcast();

	rig_init(&r, 1);
	r.qp_err = r.ah_err = r.attach_err = r.modify_err = -ENOMEM;
	ipoib_link_set_admin(r.link, true, r.s.now);
	rig_run(&r, NS_MSEC(100));
	assert_int_equal(rig_state(&r), IPOIB_LINK_WAIT_QP);
	assert_reason(&r, "queue pair cannot be made: error 12");
	r.qp_err = 0;
	rig_run(&r, NS_SEC(2));
	assert_int_equal(rig_state(&r), IPOIB_LINK_JOINING);
	assert_true(ipoib_link_stats(r.link)->ah_failures > 0);
	r.ah_err = 0;
	rig_run(&r, 2 * IPOIB_SWEEP);
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	assert_int_equal(r.natt, 0);
	assert_true(ipoib_link_stats(r.link)->attach_failures > 0);
	r.attach_err = r.modify_err = 0;
	rig_run(&r, 2 * IPOIB_SWEEP);
	assert_int_equal(rig_attached(&r, &bcast, bcast_at_sa()->rec.mlid), 1);
	assert_int_equal(r.qp_qkey, 0x80000b1b);
	rig_fini(&r);
}

static void test_admin_down_leaves_all_and_keeps_wishes(void **state)
{
	uint8_t group[4] = { 239, 0, 0, 9 };

	rig_init_up(&r, 1);
	ipoib_mcast_add(r.link, IPOIB_IPV4, group, r.s.now);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.natt, 2);
	ipoib_link_set_admin(r.link, false, r.s.now);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(bcast_at_sa()->have, 0);
	/* Clause R69: a link that is taken down leaves its groups. */
	assert_int_equal(rig_sa_group(&r, 0xef000009)->have, 0);
	assert_int_equal(r.natt, 0);
	rig_up(&r);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.natt, 2);
	assert_int_equal(rig_sa_group(&r, 0xef000009)->have, MCM_JOIN_FULL);
	rig_fini(&r);
}

static void test_configured_mtu_only_lowers(void **state)
{
	static const unsigned int want[][2] = { { 1500, 1500 }, { 9000, 2044 } };

	for (int i = 0; i < 2; i++) {
		struct ipoib_link_cfg cfg = { .max_ip_mtu = want[i][0] };

		rig_init_cfg(&r, &cfg, 1);
		rig_up(&r);
		assert_int_equal(r.mtu, want[i][1]);
		rig_fini(&r);
	}
}

static void test_invalid_pkeys_are_refused(void **state)
{
	struct ipoib_link_cfg cfg = { 0 };
	struct ipoib_link *l = NULL;
	static const uint16_t pkey[] = { 0, 0x8000 };

	rig_init(&r, 1);
	cfg.sac = r.s.sac;
	cfg.timers = &r.s.timers;
	for (int i = 0; i < 2; i++) {
		cfg.pkey = pkey[i];
		assert_int_equal(ipoib_link_create(&l, &cfg), -EINVAL);
	}
	cfg.pkey = 0x8001;
	cfg.scope = 16;
	assert_int_equal(ipoib_link_create(&l, &cfg), -EINVAL);
	assert_null(l);
	rig_fini(&r);
}

static unsigned int logged;
static char log_last[512];

static void count_warnings(const struct log_sink *sink, enum log_level lvl, const char *fmt,
			   va_list ap) __attribute__((format(printf, 3, 0)));

static void count_warnings(const struct log_sink *sink, enum log_level lvl, const char *fmt,
			   va_list ap)
{
	if (lvl > LOG_LVL_WARN)
		return;
	logged++;
	vsnprintf(log_last, sizeof(log_last), fmt, ap);
}

static const struct log_sink warnings = { .emit = count_warnings, .max = LOG_LVL_WARN };

static void rig_init_logging(void)
{
	struct ipoib_link_cfg cfg = { .log = &warnings };

	logged = 0;
	sac_rig_log = &warnings;
	rig_init_cfg(&r, &cfg, 1);
	sac_rig_log = NULL;
}

/*
 * The SA refuses the join of the broadcast group. The SA client and the link together must log only
 * one line, and this line must have the reason that the link found.
 */
static void test_R71_a_refusal_is_logged_once(void **state)
{
	rig_init_logging();
	bcast_at_sa()->rec.mtu_code = IB_MTU_4096;
	bcast_at_sa()->refuse = SA_STATUS_REQ_INVALID;
	ipoib_link_set_admin(r.link, true, r.s.now);
	rig_run(&r, NS_SEC(60));
	assert_true(bcast_at_sa()->joins >= 5);
	assert_int_equal(logged, 1);
	assert_non_null(strstr(log_last, "0x0200"));
	assert_non_null(strstr(log_last, "MTU 4096 above the port's 2048"));
	/*
	 * A refusal for another reason must be logged, too, and so must be a refusal for the same
	 * reason after a join has succeeded.
	 */
	bcast_at_sa()->refuse = SA_STATUS_DENIED;
	rig_run(&r, NS_SEC(60));
	assert_int_equal(logged, 2);
	bcast_at_sa()->refuse = 0;
	bcast_at_sa()->rec.mtu_code = IB_MTU_2048;
	rig_run(&r, NS_SEC(21));
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	bcast_at_sa()->refuse = SA_STATUS_DENIED;
	sac_reregister(r.s.sac, r.s.now);
	rig_run(&r, NS_SEC(60));
	assert_int_equal(logged, 3);
	rig_fini(&r);
}

/*
 * The port of the SM answers that no SA runs there. This answer is no refusal, so the link must
 * stay up, and the log must report that no SA runs.
 */
static void test_no_sa_keeps_the_link_and_is_said(void **state)
{
	uint8_t group[4] = { 239, 0, 0, 9 };

	rig_init_logging();
	rig_up(&r);
	ipoib_mcast_add(r.link, IPOIB_IPV4, group, r.s.now);
	rig_run(&r, NS_MSEC(1));
	r.s.sa.absent = MAD_STATUS_BAD_ATTR;
	sac_reregister(r.s.sac, r.s.now);
	rig_run(&r, NS_SEC(60));
	assert_int_equal(rig_state(&r), IPOIB_LINK_REJOINING);
	assert_true(r.carrier);
	assert_int_equal(r.natt, 2);
	assert_reason(&r, "joining ff12:401b:8001::ffff:ffff again: no SA there");
	assert_int_equal(logged, 1);
	r.s.sa.absent = 0;
	rig_run(&r, NS_SEC(6));
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	assert_int_equal(r.acts[IPOIB_ACT_CARRIER], 1);
	assert_int_equal(logged, 1);
	rig_fini(&r);
}

static void test_no_sa_at_the_start_is_said_and_outlived(void **state)
{
	rig_init_logging();
	r.s.sa.absent = MAD_STATUS_BAD_ATTR;
	ipoib_link_set_admin(r.link, true, r.s.now);
	rig_run(&r, NS_SEC(60));
	assert_int_equal(rig_state(&r), IPOIB_LINK_JOINING);
	assert_reason(&r, "joining ff12:401b:8001::ffff:ffff: no SA there");
	assert_int_equal(logged, 1);
	r.s.sa.absent = 0;
	sac_reregister(r.s.sac, r.s.now);
	rig_run(&r, NS_MSEC(2));
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	rig_fini(&r);
}

static void count_qkey(const struct log_sink *sink, enum log_level lvl, const char *fmt, va_list ap)
{
	logged += strstr(fmt, "controlled") != NULL;
}

static void test_R16_R73_uncontrolled_qkey_is_accepted_and_said_once(void **state)
{
	struct log_sink sink = { .emit = count_qkey, .max = LOG_LVL_WARN };
	struct ipoib_link_cfg cfg = { .log = &sink };

	logged = 0;
	rig_init_cfg(&r, &cfg, 1);
	bcast_at_sa()->rec.qkey = 0x0b1b; /* OpenSM's default Q_Key */
	rig_up(&r);
	sac_reregister(r.s.sac, r.s.now);
	rig_run(&r, NS_SEC(1));
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	assert_int_equal(r.qp_qkey, 0x0b1b);
	assert_int_equal(logged, 1);
	rig_fini(&r);
}

static void test_H28_two_links_on_a_port_share_the_group(void **state)
{
	struct ipoib_link_cfg cfg = { .pkey = RIG_PKEY };
	struct ipoib_action a;
	struct ipoib_link *l2;

	rig_init_up(&r, 1);
	cfg.sac = r.s.sac;
	cfg.timers = &r.s.timers;
	assert_int_equal(ipoib_link_create(&l2, &cfg), 0);
	ipoib_link_port_update(l2, &r.port, r.s.now);
	ipoib_link_set_admin(l2, true, r.s.now);
	while (!ipoib_next_action(l2, &a))
		if (a.type == IPOIB_ACT_QP_CREATE)
			ipoib_qp_ready(l2, 0x99, 0, r.s.now);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(bcast_at_sa()->joins, 1);
	ipoib_link_set_admin(l2, false, r.s.now);
	rig_run(&r, NS_SEC(1));
	assert_int_equal(bcast_at_sa()->leaves, 0);
	assert_int_equal(bcast_at_sa()->have, MCM_JOIN_FULL);
	ipoib_link_destroy(l2);
	rig_fini(&r);
}

static void test_random_events_end_up(void **state)
{
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct prng rng;

		prng_seed(&rng, seed);
		rig_init(&r, seed);
		ipoib_link_set_admin(r.link, true, r.s.now);
		r.s.sa.loss_ppm = 200000;
		for (int step = 0; step < 100; step++) {
			uint32_t what = prng_below(&rng, 6);

			if (what == 0)
				r.port.state = r.port.state == IB_PORT_ACTIVE ? IB_PORT_DOWN
									      : IB_PORT_ACTIVE;
			if (what == 1)
				r.port.pkey_index = (int)prng_below(&rng, 3) - 1;
			if (what == 2)
				r.port.lid = (uint16_t)(5 + prng_below(&rng, 2));
			rig_port(&r);
			if (what == 3) {
				sa_forget(&r.s.sa);
				sac_reregister(r.s.sac, r.s.now);
			}
			if (what == 4)
				bcast_at_sa()->refuse = prng_below(&rng, 2) ? 0x0200 : 0;
			if (what == 5)
				ipoib_link_set_admin(r.link, prng_below(&rng, 4), r.s.now);
			rig_run(&r, NS_MSEC(prng_below(&rng, 1500)));
		}
		r.s.sa.loss_ppm = 0;
		bcast_at_sa()->refuse = 0;
		r.port.state = IB_PORT_ACTIVE;
		r.port.pkey_index = 0;
		rig_port(&r);
		ipoib_link_set_admin(r.link, true, r.s.now);
		rig_run(&r, NS_SEC(60));
		if (rig_state(&r) != IPOIB_LINK_UP || !r.carrier || r.natt != 1)
			fail_msg("seed %llu: %s", (unsigned long long)seed, rig_reason(&r));
		rig_fini(&r);
	}
}

static void count(void *ctx)
{
	++*(unsigned int *)ctx;
}

/* The owner is told once when the empty queue of actions gets its first action, and so misses no queue with actions. */
static void test_owner_is_told_that_the_queue_has_actions(void **state)
{
	unsigned int told = 0, before = 0, queues = 0;
	struct ipoib_link_cfg cfg = { .on_action = count, .on_ctx = &told };
	struct ipoib_action a;

	rig_init_cfg(&r, &cfg, 1);
	ipoib_link_set_admin(r.link, true, r.s.now);
	while (!ipoib_link_is_up(r.link)) {
		bool has = !ipoib_next_action(r.link, &a);

		assert_int_equal(told - before, has);
		queues += has;
		if (has)
			rig_do(&r, &a);
		rig_drain(&r);
		before = told;
		r.s.now = timers_next(&r.s.timers);
		timers_run(&r.s.timers, r.s.now);
	}
	assert_true(queues > 1);
	rig_fini(&r);
}

/* Each change of the P_Key's index is an action. The owner takes none of them for a long time, and then some of them. */
static void test_actions_keep_their_order_however_many_wait(void **state)
{
	enum { MANY = 5000 };
	unsigned int queued = 0, taken = 0;
	struct ipoib_action a;

	rig_init_up(&r, 1);
	for (unsigned int round = 0; round < 3; round++) {
		unsigned int keep = round < 2 ? MANY / 2 : 0;

		for (unsigned int k = 0; k < MANY; k++) {
			r.port.pkey_index = (int)(++queued % 100 + 2);
			ipoib_link_port_update(r.link, &r.port, r.s.now);
		}
		while (taken < queued - keep) {
			assert_int_equal(ipoib_next_action(r.link, &a), 0);
			assert_int_equal(a.type, IPOIB_ACT_QP_MODIFY);
			assert_int_equal(a.qp.pkey_index, ++taken % 100 + 2);
		}
	}
	for (unsigned int k = 0; k < 2; k++)
		assert_int_equal(ipoib_next_action(r.link, &a), -EAGAIN);
	rig_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R23_R24_up_by_joining_the_broadcast_group),
		cmocka_unit_test(test_R23_join_mask_and_R15_full_pkey),
		cmocka_unit_test(test_R14_R21_configured_scope_makes_all_mgids),
		cmocka_unit_test(test_R27_waits_for_port_then_pkey),
		cmocka_unit_test(test_R27_pkey_taken_away_and_given_back_elsewhere),
		cmocka_unit_test(test_pkey_index_moves_while_up),
		cmocka_unit_test(test_R26_refused_join_names_status_and_field),
		cmocka_unit_test(test_R26_rate_is_named_too),
		cmocka_unit_test(test_R17_group_mtu_above_the_ports_is_refused_by_us),
		cmocka_unit_test(test_R28_absent_group_waits_for_the_administrator),
		cmocka_unit_test(test_R28_R16_first_node_may_make_the_group),
		cmocka_unit_test(test_silent_sa_is_said_and_outlived),
		cmocka_unit_test(test_sm_restart_rejoins_without_dropping_the_carrier),
		cmocka_unit_test(test_sm_silent_after_restart_keeps_the_link),
		cmocka_unit_test(test_refused_rejoin_takes_the_link_down),
		cmocka_unit_test(test_R24_rejoin_adopts_what_changed),
		cmocka_unit_test(test_R19_R33_broadcast_goes_by_the_groups_vector),
		cmocka_unit_test(test_port_down_and_up_again),
		cmocka_unit_test(test_new_gid_starts_over),
		cmocka_unit_test(test_ca_refusals_are_retried),
		cmocka_unit_test(test_admin_down_leaves_all_and_keeps_wishes),
		cmocka_unit_test(test_configured_mtu_only_lowers),
		cmocka_unit_test(test_invalid_pkeys_are_refused),
		cmocka_unit_test(test_R16_R73_uncontrolled_qkey_is_accepted_and_said_once),
		cmocka_unit_test(test_R71_a_refusal_is_logged_once),
		cmocka_unit_test(test_no_sa_keeps_the_link_and_is_said),
		cmocka_unit_test(test_no_sa_at_the_start_is_said_and_outlived),
		cmocka_unit_test(test_H28_two_links_on_a_port_share_the_group),
		cmocka_unit_test(test_random_events_end_up),
		cmocka_unit_test(test_owner_is_told_that_the_queue_has_actions),
		cmocka_unit_test(test_actions_keep_their_order_however_many_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

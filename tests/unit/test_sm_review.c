/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm_net.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "sm/group.h"
#include "partition/partition.h"
#include "wire/mgid.h"

/*
 * Tests the state that an SM must keep when answers are lost, and when the administrator changes
 * partitions faster than the SM sweeps.
 */

static struct sm_partitions *parse(const char *text)
{
	struct sm_partitions *ps;
	char err[256];

	if (sm_partitions_parse(&ps, "test", text, strlen(text), err, sizeof(err)))
		fail_msg("%s", err);
	return ps;
}

/* Two switches, the first of which has the SM, and a CA with one port on each switch */
struct rig {
	struct net net;
	struct net_node *s1, *s2, *h;
	struct sm *sm;
};

static void rig_up(struct rig *r, const char *partitions, const struct sm_cfg *cfg)
{
	net_init(&r->net);
	r->s1 = net_switch(&r->net, 8);
	r->s2 = net_switch(&r->net, 8);
	net_join(r->s1, r->s2);
	r->h = net_ca(&r->net, 2);
	net_link(r->s1, 5, r->h, 1);
	net_link(r->s2, 5, r->h, 2);
	r->sm = net_sm(r->s1, cfg);
	if (partitions)
		sm_set_partitions(r->sm, parse(partitions), r->net.now);
	assert_true(net_until_up(&r->net, r->sm, 1));
}

static void rig_down(struct rig *r)
{
	sm_destroy(r->sm);
	net_fini(&r->net);
}

static uint64_t generation(const struct sm *sm)
{
	struct sm_status st;

	sm_status(sm, &st);
	return st.generation;
}

static void test_I16_a_lost_client_reregister_is_asked_again(void **state)
{
	/*
	 * The port was unreachable. In the sweep that finds it again, the CA stops answering after
	 * 1 to 12 SMPs. Once the CA answers again, the SM must send ClientReregister to the port.
	 */
	for (unsigned int after = 1; after <= 12; after++) {
		struct rig r;
		unsigned int before;

		rig_up(&r, NULL, NULL);
		net_cut(r.h, 1, true);
		net_cut(r.h, 2, true);
		net_run(&r.net, r.net.now + NS_SEC(3));
		assert_null(sm_db_port_by_guid(sm_db(r.sm), r.h->port[1].guid));
		before = r.h->port[1].reregisters;

		net_cut(r.h, 1, false);
		r.h->die_after = after;
		assert_true(net_until_up(&r.net, r.sm, generation(r.sm) + 1));
		r.h->die_after = 0;
		r.h->dead = false;
		net_run(&r.net, r.net.now + NS_SEC(10));
		assert_non_null(sm_db_port_by_guid(sm_db(r.sm), r.h->port[1].guid));
		if (r.h->port[1].reregisters == before)
			fail_msg("dead after %u SMPs: it has lost its memberships and is not told",
				 after);

		/* The port has acknowledged ClientReregister, so the SM must not send it again. */
		before = r.h->port[1].reregisters;
		sm_kick(r.sm, "test", r.net.now);
		net_run(&r.net, r.net.now + NS_SEC(3));
		assert_int_equal(r.h->port[1].reregisters, before);
		rig_down(&r);
	}
}

/*
 * SMPs are lost at random, so some sweeps do not reach the switch s2. Port 2 of the CA is behind
 * this switch, but the SM still reaches port 1. Each port must keep its own P_Key table.
 */
static void test_I26_tables_of_a_ca_stay_apart_when_a_switch_is_lost(void **state)
{
	struct sm_cfg cfg = sm_cfg_default();
	char text[256];
	struct rig r;

	cfg.retries = 0;
	rig_up(&r, NULL, &cfg);
	snprintf(text, sizeof(text),
		 "Default=0x7fff : ALL=full;\nLab=0x0001 : 0x%llx=full, SELF=full;",
		 (unsigned long long)r.h->port[1].guid);
	sm_set_partitions(r.sm, parse(text), r.net.now);
	net_run(&r.net, r.net.now + NS_SEC(2));
	r.net.loss_ppm = 30000;
	for (int i = 0; i < 200; i++) {
		sm_kick(r.sm, "test", r.net.now);
		net_run(&r.net, r.net.now + NS_SEC(1));
		if (r.h->port[1].pkeys[1] != 0x8001 || r.h->port[2].pkeys[1])
			fail_msg("sweep %d: port 1 has 0x%04x, port 2 0x%04x", i,
				 r.h->port[1].pkeys[1], r.h->port[2].pkeys[1]);
	}
	rig_down(&r);
}

#define WITH_H "Default=0x7fff, ipoib : ALL=full;\nLab=0x0001, ipoib : ALL=full;"
#define WITHOUT_H "Default=0x7fff, ipoib : ALL=full;\nLab=0x0001, ipoib : SELF=full;"

static struct sm_group *lab_group(struct rig *r)
{
	ib_gid mgid;

	assert_int_equal(mgid_broadcast(&mgid, 0x8001, 2), 0);
	return sm_group_find(r->sm, &mgid);
}

static void lab_join(struct rig *r)
{
	ib_gid gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, r->h->port[1].guid);

	assert_int_equal(sm_group_join(r->sm, lab_group(r), &gid, MCM_JOIN_FULL, false, NULL, NULL,
				       r->net.now),
			 0);
}

static void test_I26_a_partition_that_is_back_before_the_sweep_was_never_away(void **state)
{
	struct rig r;
	unsigned int sets;

	rig_up(&r, WITH_H, NULL);
	lab_join(&r);
	sets = r.h->port[1].pkey_sets;
	sm_set_partitions(r.sm, parse(WITHOUT_H), r.net.now);
	sm_set_partitions(r.sm, parse(WITH_H), r.net.now);
	net_run(&r.net, r.net.now + NS_SEC(2));
	/*
	 * The second file undoes the change of the first one, so the SM must write no P_Key table.
	 * If the SM removed the P_Key for a moment, the port's membership would end, too. The port
	 * could then not know that it has to join again.
	 */
	assert_int_equal(r.h->port[1].pkey_sets, sets);
	assert_int_equal(lab_group(&r)->nmembers, 1);
	rig_down(&r);
}

static void test_I26_a_membership_goes_with_the_pkey(void **state)
{
	struct rig r;

	rig_up(&r, WITH_H, NULL);
	lab_join(&r);
	sm_set_partitions(r.sm, parse(WITHOUT_H), r.net.now);
	net_run(&r.net, r.net.now + NS_SEC(2));
	assert_int_equal(r.h->port[1].pkeys[1], 0);
	assert_int_equal(lab_group(&r)->nmembers, 0);
	rig_down(&r);
}

static void test_I26_a_join_in_mid_sweep_does_not_outlive_the_pkey(void **state)
{
	struct rig r;

	rig_up(&r, WITH_H, NULL);
	sm_set_partitions(r.sm, parse(WITHOUT_H), r.net.now);
	lab_join(&r); /* the port's own table still has the P_Key, so the SA grants the join */
	net_run(&r.net, r.net.now + NS_SEC(2));
	assert_int_equal(lab_group(&r)->nmembers, 0);
	rig_down(&r);
}

static void test_I26_changed_parameters_make_the_groups_anew(void **state)
{
	unsigned int before;
	struct sm_group *g;
	struct rig r;
	ib_gid mgid;

	rig_up(&r, WITH_H, NULL);
	lab_join(&r);
	/* Make a second group with the parameters of the partition's broadcast group. */
	mgid = lab_group(&r)->rec.mgid;
	mgid.raw[15] = 0x16;
	{
		struct ib_mcmember_rec rec = lab_group(&r)->rec;

		rec.mgid = mgid;
		rec.mlid = 0;
		assert_int_equal(sm_group_create(r.sm, &rec, false, &g, r.net.now), 0);
	}
	before = r.h->port[1].reregisters;

	/* The same partitions are loaded again, so nothing may change. */
	sm_set_partitions(r.sm, parse(WITH_H), r.net.now);
	net_run(&r.net, r.net.now + NS_SEC(2));
	assert_int_equal(lab_group(&r)->nmembers, 1);
	assert_int_equal(r.h->port[1].reregisters, before);

	sm_set_partitions(r.sm,
			  parse("Default=0x7fff, ipoib : ALL=full;\n"
				"Lab=0x0001, ipoib, Q_Key=0x80000042, sl=2, mtu=3 : ALL=full;"),
			  r.net.now);
	assert_non_null(lab_group(&r));
	assert_int_equal(lab_group(&r)->rec.qkey, 0x80000042);
	assert_int_equal(lab_group(&r)->rec.sl, 2);
	assert_int_equal(lab_group(&r)->rec.mtu_code, IB_MTU_1024);
	assert_int_equal(lab_group(&r)->nmembers, 0);
	assert_null(sm_group_find(r.sm, &mgid));
	/*
	 * Members of the groups that ended perhaps have not subscribed to trap 67 (group deleted).
	 * So they must get ClientReregister, and other ports must not get it.
	 */
	net_run(&r.net, r.net.now + NS_SEC(2));
	assert_int_equal(r.h->port[1].reregisters, before + 1);
	assert_int_equal(r.h->port[2].reregisters, 1);
	rig_down(&r);
}

static void test_a_group_is_of_one_partition(void **state)
{
	static const char text[] = "Default=0x7fff, ipoib : ALL=full;\n"
				   "A=0x0001 :\n"
				   "  mgid=ff12::77\n"
				   "  ALL=full;\n"
				   "B=0x0002 :\n"
				   "  mgid=ff12::77\n"
				   "  ALL=full;\n";
	struct sm_partitions *ps;
	char err[256];

	assert_int_equal(sm_partitions_parse(&ps, "test", text, strlen(text), err, sizeof(err)),
			 -EINVAL);
	assert_string_equal(err, "test:5: a group of \"B\" is one of \"A\", too");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_I26_changed_parameters_make_the_groups_anew),
		cmocka_unit_test(test_a_group_is_of_one_partition),
		cmocka_unit_test(test_I16_a_lost_client_reregister_is_asked_again),
		cmocka_unit_test(test_I26_tables_of_a_ca_stay_apart_when_a_switch_is_lost),
		cmocka_unit_test(test_I26_a_partition_that_is_back_before_the_sweep_was_never_away),
		cmocka_unit_test(test_I26_a_membership_goes_with_the_pkey),
		cmocka_unit_test(test_I26_a_join_in_mid_sweep_does_not_outlive_the_pkey),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

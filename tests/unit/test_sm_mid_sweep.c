/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm_net.h"

#include "check.h"

/* Changes in the fabric, and the end of the SM, in the middle of a sweep. */

static void count_gone(void *ctx, const ib_gid *gid, bool in_service, ns_t now)
{
	unsigned int *gone = ctx;

	*gone += !in_service;
}

static const struct sm_events gone_ops = { .port = count_gone };

static void test_kick_in_mid_sweep_makes_another(void **state)
{
	struct sm_status st;
	struct net net;
	struct sm *sm;
	uint64_t heavy;

	net_init(&net);
	net_two_switches(&net, 2);
	sm = net_sm(net.node[0], NULL);
	net_run(&net, net.now + NS_SEC(5));
	sm_kick(sm, "test", net.now);
	sm_status(sm, &st);
	heavy = st.heavy_sweeps;
	while (st.stage != SM_STAGE_DISCOVER) {
		net_run(&net, timers_next(&net.timers));
		sm_status(sm, &st);
	}
	sm_kick(sm, "test", net.now);
	sm_kick(sm, "test", net.now);
	net_run(&net, net.now + NS_MSEC(100));
	sm_status(sm, &st);
	assert_int_equal(st.heavy_sweeps, heavy + 2);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_node_dies_in_mid_sweep(void **state)
{
	/* One node stops answering after 1 to 40 SMPs. All other nodes must come up. */
	for (unsigned int after = 1; after <= 40; after++) {
		struct net net;
		struct sm *sm;

		net_init(&net);
		net_two_switches(&net, 2);
		net.node[4]->die_after = after;
		sm = net_sm(net.node[0], NULL);
		assert_true(net_until_up(&net, sm, 1));
		net_run(&net, net.now + NS_SEC(5));
		net_assert_connected(&net);
		sm_destroy(sm);
		net_fini(&net);
	}
}

static void test_switch_dies_in_mid_sweep(void **state)
{
	for (unsigned int after = 1; after <= 120; after += 7) {
		struct net net;
		struct net_node *s[3];
		struct sm *sm;

		net_init(&net);
		for (int i = 0; i < 3; i++)
			s[i] = net_switch(&net, 8);
		net_join(s[0], s[1]);
		net_join(s[1], s[2]);
		net_join(s[2], s[0]);
		net_join(s[0], net_ca(&net, 1));
		net_join(s[2], net_ca(&net, 1));
		s[1]->die_after = after;
		sm = net_sm(s[0], NULL);
		assert_true(net_until_up(&net, sm, 1));
		if (!s[1]->dead)
			s[1]->dead = true;
		net_run(&net, net.now + NS_SEC(15));
		net_assert_connected(&net);
		assert_null(sm_db_node(sm_db(sm), s[1]->info.node_guid));
		/* The switch comes back. */
		s[1]->die_after = 0;
		s[1]->dead = false;
		net_reset(s[1]);
		sm_kick(sm, "test", net.now);
		net_run(&net, net.now + NS_SEC(5));
		net_assert_connected(&net);
		sm_destroy(sm);
		net_fini(&net);
	}
}

/*
 * A cable of a ring is pulled while a sweep reads the subnet. The sweep then reads the node behind
 * the cable by a route that no longer exists, but it must not take the node for absent.
 */
static void test_cable_pulled_in_mid_sweep_takes_nobody_away(void **state)
{
	for (unsigned int after = 1; after <= 80; after++) {
		struct net_node *s[3];
		unsigned int gone = 0;
		struct sm_listener l = { .ops = &gone_ops, .ctx = &gone };
		uint64_t smps;
		struct net net;
		struct sm *sm;

		net_init(&net);
		net_ring(&net, s);
		sm = net_sm(s[0], NULL);
		assert_true(net_until_up(&net, sm, 1));
		net_run(&net, net.now + NS_SEC(5));
		sm_listen(sm, &l);
		smps = net.smps;
		sm_kick(sm, "test", net.now);
		while (net.smps < smps + after)
			net_run(&net, timers_next(&net.timers));
		net_cut(s[0], 1, true);
		net_run(&net, net.now + NS_SEC(5));
		if (gone)
			fail_msg("cut after %u SMPs: %u ports gone", after, gone);
		net_assert_connected(&net);
		sm_destroy(sm);
		net_fini(&net);
	}
}

static void test_destroy_at_any_moment(void **state)
{
	for (ns_t us = 0; us < 400; us += 3) {
		struct net net;
		struct sm *sm;

		net_init(&net);
		net_two_switches(&net, 2);
		sm = net_sm(net.node[0], NULL);
		net_run(&net, net.now + NS_USEC(us));
		sm_destroy(sm);
		net_fini(&net);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kick_in_mid_sweep_makes_another),
		cmocka_unit_test(test_node_dies_in_mid_sweep),
		cmocka_unit_test(test_switch_dies_in_mid_sweep),
		cmocka_unit_test(test_cable_pulled_in_mid_sweep_takes_nobody_away),
		cmocka_unit_test(test_destroy_at_any_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests links that come up or go down while a sweep reads the subnet. */
#include "sm_net.h"

#include "check.h"

/*
 * The cable of a CA's second port is pulled while a sweep reads the subnet. The SM can reach this
 * port only by this cable. If the published database contains the port, it must therefore contain
 * the link of the port, too.
 */
static void test_cable_of_a_second_port_pulled_in_mid_sweep(void **state)
{
	for (unsigned int after = 1; after <= 60; after++) {
		struct net_node *s, *ca;
		const struct sm_node *n;
		uint64_t smps, gen;
		struct net net;
		struct sm *sm;

		net_init(&net);
		s = net_switch(&net, 8);
		ca = net_ca(&net, 2);
		net_link(s, 1, ca, 1);
		net_link(s, 2, ca, 2);
		net_join(s, net_ca(&net, 1));
		sm = net_sm(s, NULL);
		net_run(&net, net.now + NS_SEC(5));
		smps = net.smps;
		gen = sm_db(sm)->generation;
		sm_kick(sm, "test", net.now);
		while (net.smps < smps + after)
			net_run(&net, timers_next(&net.timers));
		net_cut(s, 2, true);
		assert_true(net_until_up(&net, sm, gen + 1));
		n = sm_db_node(sm_db(sm), ca->info.node_guid);
		for (unsigned int i = 1; n && i <= 2; i++) {
			if (i != n->info.local_port && n->port[i].known && !n->port[i].peer)
				fail_msg("cut after %u SMPs: port %u is known without a link",
					 after, i);
		}
		sm_destroy(sm);
		net_fini(&net);
	}
}

/*
 * Check that the SM's published database has a path between every pair of end ports, and that
 * packets on these paths arrive.
 */
static void assert_paths_lead_somewhere(struct net *net, struct sm *sm, unsigned int after)
{
	const struct sm_db *db = sm_db(sm);
	struct sm_port *a, *b;
	struct sm_path path;

	for (a = sm_db_end_port(db, NULL); a; a = sm_db_end_port(db, a)) {
		for (b = sm_db_end_port(db, NULL); b; b = sm_db_end_port(db, b)) {
			if (sm_db_path(db, a, b, 0, &path))
				fail_msg("link up after %u SMPs: no path from %s to %s", after,
					 a->node->desc, b->node->desc);
		}
	}
	net_assert_connected(net);
}

/*
 * A link of a ring comes up while a sweep reads the subnet: @after SMPs after the event that starts
 * the sweep. So the sweep may read one end of the link before the link comes up, and the other end
 * later. @whole: the sweep reads the whole subnet, and the fabric must deliver all packets at every
 * moment. If not @whole, another cable is cut, which starts a partial sweep. @at: index of the SM's
 * switch
 */
static void link_comes_in_mid_sweep(unsigned int after, bool whole, unsigned int at)
{
	struct sm_status st;
	struct net_node *s[3];
	uint64_t smps, gen;
	struct net net;
	struct sm *sm;
	ns_t end;

	net_init(&net);
	net_ring(&net, s);
	net_join(s[0], s[1]);
	sm = net_sm(s[at], NULL);
	net_run(&net, net.now + NS_SEC(5));
	net_cut(s[0], 1, true);
	net_run(&net, net.now + NS_SEC(5));
	smps = net.smps;
	if (whole)
		sm_kick(sm, "test", net.now);
	else
		net_cut(s[0], 4, true);
	while (net.smps < smps + after)
		net_run(&net, timers_next(&net.timers));
	net_cut(s[0], 1, false);
	gen = sm_db(sm)->generation;
	for (end = net.now + NS_SEC(5); net.now < end;
	     net_run(&net, ns_min(end, timers_next(&net.timers)))) {
		if (whole)
			net_assert_connected(&net);
		if (sm_db(sm)->generation == gen)
			continue;
		gen = sm_db(sm)->generation;
		assert_paths_lead_somewhere(&net, sm, after);
	}
	sm_status(sm, &st);
	assert_true(st.partial_sweeps > 0);
	assert_int_equal(sm_db(sm)->nlinks, whole ? 7 : 6);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_link_that_comes_in_mid_sweep_loses_no_packet(void **state)
{
	for (unsigned int i = 0; i < 3 * 90; i++)
		link_comes_in_mid_sweep(1 + i / 3, true, i % 3);
}

static void test_link_that_comes_in_mid_partial_sweep_breaks_no_path(void **state)
{
	for (unsigned int i = 0; i < 3 * 60; i++)
		link_comes_in_mid_sweep(1 + i / 3, false, i % 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cable_of_a_second_port_pulled_in_mid_sweep),
		cmocka_unit_test(test_link_that_comes_in_mid_sweep_loses_no_packet),
		cmocka_unit_test(test_link_that_comes_in_mid_partial_sweep_breaks_no_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

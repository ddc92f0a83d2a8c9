/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm_net.h"

#include <errno.h>

#include "check.h"

/* Subnets of all shapes, ordinary and impossible ones, come up. */

static void test_I16_random_topologies_are_connected(void **state)
{
	for (uint64_t seed = 1; seed <= 24; seed++) {
		struct net net;
		struct sm *sm;

		print_message("seed %d\n", (int)seed);
		net_init(&net);
		net_random(&net, seed, 1 + (unsigned int)seed % 12, 4 + (unsigned int)seed % 9, 3);
		sm = net_sm(net.node[seed % net.n], NULL);
		assert_true(net_until_up(&net, sm, 1));
		net_assert_connected(&net);
		assert_int_equal(net.errors, 0);
		assert_int_equal(net.active_unrouted, 0);
		assert_int_equal(sm_db(sm)->nnodes, net.n);
		sm_destroy(sm);
		net_fini(&net);
	}
}

static void test_random_topologies_with_losses(void **state)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct net net;
		struct sm *sm;

		print_message("seed %d\n", (int)seed);
		net_init(&net);
		prng_seed(&net.rnd, seed);
		net.loss_ppm = 100000;
		net_random(&net, seed, 5, 8, 2);
		sm = net_sm(net.node[0], NULL);
		assert_true(net_until_up(&net, sm, 1));
		net.loss_ppm = 0;
		net_run(&net, net.now + NS_SEC(30));
		net_assert_connected(&net);
		assert_int_equal(sm_db(sm)->nnodes, net.n);
		sm_destroy(sm);
		net_fini(&net);
	}
}

/*
 * 4 leaf switches with 6 hosts each, and 3 spine switches. For each leaf switch the 18 hosts on
 * other leaf switches must be divided among its 3 uplinks, 6 for each.
 */
static void test_balance_over_equal_ways(void **state)
{
	struct net net;
	struct net_node *leaf[4], *spine[3];
	struct sm *sm;

	net_init(&net);
	for (int i = 0; i < 4; i++)
		leaf[i] = net_switch(&net, 12);
	for (int i = 0; i < 3; i++) {
		spine[i] = net_switch(&net, 12);
		for (int k = 0; k < 4; k++)
			net_join(leaf[k], spine[i]);
	}
	for (int i = 0; i < 24; i++)
		net_join(leaf[i / 6], net_ca(&net, 1));
	sm = net_sm(leaf[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	net_assert_connected(&net);
	for (int k = 0; k < 4; k++) {
		unsigned int load[13] = { 0 };

		for (unsigned int i = 7; i < net.n; i++) {
			const struct net_port *p = &net.node[i]->port[1];

			if (p->peer->node != leaf[k])
				load[leaf[k]->lft[p->pi.lid]]++;
		}
		for (int port = 1; port <= 3; port++)
			assert_int_equal(load[port], 6);
	}
	sm_destroy(sm);
	net_fini(&net);
}

static void test_parallel_links_share_the_load(void **state)
{
	struct net net;
	struct sm *sm;

	net_init(&net);
	net_two_switches(&net, 2);
	sm = net_sm(net.node[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	net_assert_connected(&net);
	assert_int_equal(sm_db(sm)->nlinks, 6);
	assert_int_not_equal(net.node[0]->lft[net.node[4]->port[1].pi.lid],
			     net.node[0]->lft[net.node[5]->port[1].pi.lid]);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_sm_on_a_ca_port(void **state)
{
	struct net net;
	struct sm *sm;

	net_init(&net);
	net_random(&net, 11, 4, 6, 1);
	sm = net_sm(net.node[net.n - 1], NULL);
	assert_true(net_until_up(&net, sm, 1));
	net_assert_connected(&net);
	assert_int_equal(sm_db(sm)->self->num, 1);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_two_cas_back_to_back(void **state)
{
	struct net net;
	struct net_node *a, *b;
	struct sm_path path;
	struct sm *sm;

	net_init(&net);
	a = net_ca(&net, 1);
	b = net_ca(&net, 2);
	net_link(a, 1, b, 2);
	sm = net_sm(a, NULL);
	assert_true(net_until_up(&net, sm, 1));
	net_assert_connected(&net);
	assert_int_equal(sm_db_path(sm_db(sm), sm_db(sm)->self,
				    sm_db_port_by_guid(sm_db(sm), b->port[2].guid), 0, &path),
			 0);
	assert_int_equal(path.hops, 1);
	/* The port of b without a cable gets no LID. */
	assert_int_equal(b->port[1].pi.lid, 0);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_sm_waits_for_its_link(void **state)
{
	struct net net;
	struct net_node *a, *b;
	struct sm *sm;

	net_init(&net);
	a = net_ca(&net, 1);
	b = net_ca(&net, 1);
	sm = net_sm(a, NULL);
	assert_true(net_until_up(&net, sm, 1));
	assert_int_equal(sm_db(sm)->nnodes, 1);
	net_run(&net, net.now + NS_SEC(5));
	net_link(a, 1, b, 1);
	net_run(&net, net.now + NS_SEC(2));
	assert_int_equal(sm_db(sm)->nnodes, 2);
	net_assert_connected(&net);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_multi_port_ca_is_one_node(void **state)
{
	struct net net;
	struct net_node *s, *ca;
	const struct sm_port *p;
	struct sm *sm;

	net_init(&net);
	s = net_switch(&net, 8);
	ca = net_ca(&net, 3);
	net_link(s, 1, ca, 1);
	net_link(s, 2, ca, 3);
	sm = net_sm(s, NULL);
	assert_true(net_until_up(&net, sm, 1));
	assert_int_equal(sm_db(sm)->nnodes, 2);
	assert_int_not_equal(ca->port[1].pi.lid, ca->port[3].pi.lid);
	assert_int_equal(ca->port[1].pkeys[0], 0xffff);
	assert_int_equal(ca->port[3].pkeys[0], 0xffff);
	p = sm_db_port_by_guid(sm_db(sm), ca->port[3].guid);
	assert_int_equal(p->num, 3);
	assert_null(sm_db_port_by_guid(sm_db(sm), ca->port[2].guid));
	net_assert_connected(&net);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_I16_path_is_the_minimum_of_its_links(void **state)
{
	struct net net;
	struct net_node *s1, *s2, *h1, *h2;
	const struct sm_port *a, *b;
	const struct sm_db *db;
	struct sm_path path;
	struct sm *sm;

	net_init(&net);
	s1 = net_switch(&net, 4);
	s2 = net_switch(&net, 4);
	h1 = net_ca(&net, 1);
	h2 = net_ca(&net, 1);
	net_link(s1, 1, s2, 1);
	net_link(s1, 2, h1, 1);
	net_link(s2, 2, h2, 1);
	/*
	 * The link in the middle of the path runs at 1x SDR, and one of its ends has MTU 2048. The
	 * link of h2 runs at EDR.
	 */
	s2->port[1].pi.mtu_cap = IB_MTU_2048;
	s1->port[1].pi.width_active = s2->port[1].pi.width_active = 1;
	s1->port[1].pi.speed_active = s2->port[1].pi.speed_active = 1;
	sm = net_sm(s1, NULL);
	assert_true(net_until_up(&net, sm, 1));
	assert_int_equal(s1->port[1].pi.neighbor_mtu, IB_MTU_2048);
	assert_int_equal(s2->port[1].pi.neighbor_mtu, IB_MTU_2048);
	assert_int_equal(h1->port[1].pi.neighbor_mtu, IB_MTU_4096);

	db = sm_db(sm);
	a = sm_db_port_by_guid(db, h1->port[1].guid);
	b = sm_db_port_by_guid(db, h2->port[1].guid);
	assert_int_equal(sm_db_path(db, a, b, 0, &path), 0);
	assert_int_equal(path.mtu_code, IB_MTU_2048);
	assert_int_equal(ib_rate_mbps(path.rate_code), 2500);
	assert_int_equal(path.hops, 3);
	assert_int_equal(path.slid, h1->port[1].pi.lid);
	assert_int_equal(path.dlid, h2->port[1].pi.lid);
	/* This path does not cross the slow link in the middle. */
	assert_int_equal(sm_db_path(db, a, db->self, 0, &path), 0);
	assert_int_equal(path.mtu_code, IB_MTU_4096);
	assert_int_equal(path.hops, 1);
	assert_true(ib_rate_mbps(path.rate_code) > 2500);
	/* The path from a port to itself has no hops. */
	assert_int_equal(sm_db_path(db, a, a, 0, &path), 0);
	assert_int_equal(path.hops, 0);
	assert_int_equal(sm_db_path(db, a, b, a->lid, &path), -EINVAL);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_duplicate_guid_is_named_and_left_out(void **state)
{
	struct net net;
	struct sm *sm;

	net_init(&net);
	net_two_switches(&net, 1);
	net.node[5]->info.node_guid = net.node[2]->info.node_guid;
	net.node[5]->info.sys_guid = net.node[2]->info.sys_guid;
	net.node[5]->port[1].guid = net.node[2]->port[1].guid;
	sm = net_sm(net.node[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	assert_int_equal(net.errors, 1);
	assert_non_null(strstr(net.last_err, "h1 HCA-1"));
	assert_non_null(strstr(net.last_err, "h4 HCA-1"));
	assert_non_null(strstr(net.last_err, "\"s2 HCA-1\" port 3"));
	assert_int_equal(net.node[5]->port[1].pi.port_state, IB_PORT_INIT);
	net.node[5]->dead = true;
	net_assert_connected(&net);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_duplicate_port_guid_is_left_out(void **state)
{
	struct net net;
	struct sm *sm;

	net_init(&net);
	net_two_switches(&net, 1);
	net.node[5]->port[1].guid = net.node[2]->port[1].guid;
	sm = net_sm(net.node[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	assert_int_equal(net.errors, 1);
	assert_non_null(strstr(net.last_err, "h4 HCA-1"));
	net.node[5]->dead = true;
	net_assert_connected(&net);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_links_to_oneself(void **state)
{
	struct net net;
	struct net_node *s;
	struct sm *sm;

	net_init(&net);
	net_two_switches(&net, 1);
	s = net.node[1];
	net_link(s, 8, s, 9);
	s->port[10].peer = &s->port[10]; /* a port cabled to itself */
	net_reset(s);
	sm = net_sm(net.node[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	assert_int_equal(net.errors, 0);
	net_assert_connected(&net);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_more_than_63_hops(void **state)
{
	struct net net;
	struct sm *sm;

	net_init(&net);
	for (unsigned int i = 0; i < 70; i++) {
		net_switch(&net, 2);
		if (i)
			net_link(net.node[i - 1], 2, net.node[i], 1);
	}
	sm = net_sm(net.node[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	assert_int_equal(sm_db(sm)->nnodes, 64);
	assert_non_null(strstr(net.last_err, "more than 63 hops"));
	for (unsigned int i = 64; i < 70; i++)
		net.node[i]->dead = true;
	net_assert_connected(&net);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_impossible_node_info_is_refused(void **state)
{
	struct net net;
	struct sm *sm;

	net_init(&net);
	net_two_switches(&net, 1);
	net.node[5]->info.node_type = 9;
	sm = net_sm(net.node[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	assert_int_equal(sm_db(sm)->nnodes, 5);
	assert_non_null(strstr(net.last_err, "impossible NodeInfo"));
	sm_destroy(sm);
	net_fini(&net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_I16_random_topologies_are_connected),
		cmocka_unit_test(test_random_topologies_with_losses),
		cmocka_unit_test(test_balance_over_equal_ways),
		cmocka_unit_test(test_parallel_links_share_the_load),
		cmocka_unit_test(test_sm_on_a_ca_port),
		cmocka_unit_test(test_two_cas_back_to_back),
		cmocka_unit_test(test_sm_waits_for_its_link),
		cmocka_unit_test(test_multi_port_ca_is_one_node),
		cmocka_unit_test(test_I16_path_is_the_minimum_of_its_links),
		cmocka_unit_test(test_duplicate_guid_is_named_and_left_out),
		cmocka_unit_test(test_duplicate_port_guid_is_left_out),
		cmocka_unit_test(test_links_to_oneself),
		cmocka_unit_test(test_more_than_63_hops),
		cmocka_unit_test(test_impossible_node_info_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

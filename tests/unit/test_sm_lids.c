/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm_net.h"

#include <errno.h>

#include "check.h"

/* LIDs: who gets which, how long they stay, how they change, and who is told. */

static void test_I16_lids_stay_over_resweep_and_restart(void **state)
{
	uint16_t lid[64];
	struct net net;
	struct sm *sm;
	struct sm_cfg cfg = sm_cfg_default();

	net_init(&net);
	net_random(&net, 7, 4, 8, 2);
	sm = net_sm(net.node[2], &cfg);
	assert_true(net_until_up(&net, sm, 1));
	for (unsigned int i = 0; i < net.n; i++)
		lid[i] = net_end(&net.node[i]->port[1])->pi.lid;
	sm_kick(sm, "test", net.now);
	assert_true(net_until_up(&net, sm, 2));
	sm_destroy(sm);

	/*
	 * An SM on another node discovers the nodes in another order, but must assign the same LIDs
	 * and compute the same tables.
	 */
	sm = net_sm(net.node[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	for (unsigned int i = 0; i < net.n; i++)
		assert_int_equal(net_end(&net.node[i]->port[1])->pi.lid, lid[i]);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_I16_lid_waits_for_its_port(void **state)
{
	struct net net;
	struct net_node *h;
	uint16_t lid;
	struct sm *sm;

	net_init(&net);
	net_two_switches(&net, 1);
	h = net.node[3];
	sm = net_sm(net.node[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	lid = h->port[1].pi.lid;
	net_cut(h, 1, true);
	net_run(&net, net.now + NS_SEC(3));
	assert_null(sm_db_port_by_lid(sm_db(sm), lid));
	/* A new host must not get the LID of the absent host. */
	net_join(net.node[0], net_ca(&net, 1));
	sm_kick(sm, "test", net.now);
	net_run(&net, net.now + NS_SEC(3));
	assert_int_not_equal(net.node[net.n - 1]->port[1].pi.lid, lid);
	/* The host comes back after a power cycle, and must get the LID that it had before. */
	net_reset(h);
	net_cut(h, 1, false);
	net_run(&net, net.now + NS_SEC(3));
	assert_int_equal(h->port[1].pi.lid, lid);
	net_assert_connected(&net);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_I16_configured_lids(void **state)
{
	struct sm_cfg cfg = sm_cfg_default();
	struct sm_lid_entry e;
	struct net net;
	struct sm *sm;

	net_init(&net);
	net_two_switches(&net, 1);
	e = (struct sm_lid_entry){ net.node[2]->port[1].guid, 0x1234 };
	cfg.lids = &e;
	cfg.nlids = 1;
	sm = net_sm(net.node[0], &cfg);
	assert_true(net_until_up(&net, sm, 1));
	assert_int_equal(net.node[2]->port[1].pi.lid, 0x1234);
	assert_int_equal(net.node[0]->si.lft_top, 0x1234);
	net_assert_connected(&net);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_I16_set_lid(void **state)
{
	struct net_port *h1, *h2;
	struct net net;
	struct sm *sm;
	uint16_t lid;

	net_init(&net);
	net_two_switches(&net, 1);
	h1 = &net.node[2]->port[1];
	h2 = &net.node[3]->port[1];
	sm = net_sm(net.node[0], NULL);
	assert_int_equal(sm_set_lid(sm, h1->guid, 0x123, net.now), -EAGAIN);
	assert_true(net_until_up(&net, sm, 1));
	lid = h1->pi.lid;
	assert_int_equal(sm_set_lid(sm, 1, 0x123, net.now), -ENOENT);
	assert_int_equal(sm_set_lid(sm, h1->guid, 0, net.now), -EINVAL);
	assert_int_equal(sm_set_lid(sm, h1->guid, 0xc000, net.now), -EINVAL);
	assert_int_equal(sm_set_lid(sm, h1->guid, h2->pi.lid, net.now), -EEXIST);
	assert_int_equal(sm_set_lid(sm, h1->guid, 0x123, net.now), 0);
	assert_true(net_until_up(&net, sm, 2));
	assert_int_equal(h1->pi.lid, 0x123);
	net_assert_connected(&net);

	/*
	 * While h1 is absent, its LID 0x123 must stay reserved for it. But the LID that h1 had
	 * before sm_set_lid() must be free.
	 */
	net_cut(h1->node, 1, true);
	net_run(&net, net.now + NS_SEC(3));
	assert_int_equal(sm_set_lid(sm, h2->guid, 0x123, net.now), -EEXIST);
	assert_int_equal(sm_set_lid(sm, h2->guid, lid, net.now), 0);
	net_cut(h1->node, 1, false);
	net_run(&net, net.now + NS_SEC(3));
	assert_int_equal(h1->pi.lid, 0x123);
	assert_int_equal(h2->pi.lid, lid);
	net_assert_connected(&net);
	sm_destroy(sm);
	net_fini(&net);
}

/*
 * After a change of a LID, cached paths lead to the old LID. All ports must get ClientReregister,
 * because a port without subscriptions does not learn of the change otherwise.
 */
static void test_I16_all_register_again_after_a_lid_changed(void **state)
{
	unsigned int before[6], told;
	uint16_t sm_lid;
	struct net net;
	struct sm *sm;

	net_init(&net);
	net_two_switches(&net, 1);
	sm = net_sm(net.node[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	net_run(&net, net.now + NS_SEC(5));
	for (unsigned int i = 2; i < 6; i++)
		before[i] = net.node[i]->port[1].reregisters;

	/* ClientReregister may be sent only after the SA knows the new LID. */
	assert_int_equal(sm_set_lid(sm, net.node[2]->port[1].guid, 0x123, net.now), 0);
	assert_true(net_until_up(&net, sm, 2));
	assert_int_equal(net.node[3]->port[1].reregisters, before[3]);
	net_run(&net, net.now + NS_SEC(5));
	for (unsigned int i = 3; i < 6; i++)
		assert_int_equal(net.node[i]->port[1].reregisters, before[i] + 1);
	told = net.node[3]->port[1].reregisters;
	net_run(&net, net.now + NS_SEC(60));
	assert_int_equal(net.node[3]->port[1].reregisters, told);

	/* The LID of the SM's own port can be changed, too. */
	sm_lid = net.node[0]->port[0].pi.lid;
	assert_int_equal(sm_set_lid(sm, net.node[0]->port[0].guid, 0x124, net.now), 0);
	net_run(&net, net.now + NS_SEC(5));
	assert_int_not_equal(net.node[0]->port[0].pi.lid, sm_lid);
	for (unsigned int i = 2; i < 6; i++)
		assert_int_equal(net.node[i]->port[1].pi.sm_lid, 0x124);
	assert_int_equal(net.node[3]->port[1].reregisters, told + 1);
	net_assert_connected(&net);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_I16_two_ports_with_one_lid(void **state)
{
	struct net net;
	struct sm *sm;

	net_init(&net);
	net_two_switches(&net, 1);
	for (unsigned int i = 2; i < 6; i++)
		net.node[i]->port[1].pi.lid = 9;
	net.node[5]->port[1].pi.lid = 0xc001;
	sm = net_sm(net.node[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	net_assert_connected(&net);
	assert_non_null(sm_db_port_by_lid(sm_db(sm), 9));
	sm_destroy(sm);
	net_fini(&net);
}

static void test_I16_lmc(void **state)
{
	struct sm_cfg cfg = sm_cfg_default();
	struct net net;
	struct sm *sm;

	cfg.lmc = 2;
	net_init(&net);
	net_two_switches(&net, 2);
	sm = net_sm(net.node[0], &cfg);
	assert_true(net_until_up(&net, sm, 1));
	net_assert_connected(&net);
	for (unsigned int i = 2; i < 6; i++) {
		assert_int_equal(net.node[i]->port[1].pi.lmc, 2);
		assert_int_equal(net.node[i]->port[1].pi.lid % 4, 0);
	}
	assert_int_equal(net.node[0]->port[0].pi.lmc, 0);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_I16_client_reregister(void **state)
{
	struct net net;
	struct net_node *h;
	struct sm *sm;

	net_init(&net);
	net_two_switches(&net, 1);
	h = net.node[4];
	sm = net_sm(net.node[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	net_run(&net, net.now + NS_SEC(5));
	for (unsigned int i = 2; i < 6; i++)
		assert_int_equal(net.node[i]->port[1].reregisters, 1);

	/*
	 * A host that was reset has lost its memberships, so it must get ClientReregister. No other
	 * host may get it.
	 */
	net_reset(h);
	net_cut(h, 1, false);
	net_run(&net, net.now + NS_SEC(5));
	assert_int_equal(h->port[1].reregisters, 2);
	assert_int_equal(net.node[2]->port[1].reregisters, 1);

	/* A new SM does not know the members of groups, so all ports must get ClientReregister. */
	sm_destroy(sm);
	sm = net_sm(net.node[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	assert_int_equal(net.node[2]->port[1].reregisters, 2);
	assert_int_equal(h->port[1].reregisters, 3);
	sm_destroy(sm);
	net_fini(&net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_I16_lids_stay_over_resweep_and_restart),
		cmocka_unit_test(test_I16_lid_waits_for_its_port),
		cmocka_unit_test(test_I16_configured_lids),
		cmocka_unit_test(test_I16_set_lid),
		cmocka_unit_test(test_I16_all_register_again_after_a_lid_changed),
		cmocka_unit_test(test_I16_two_ports_with_one_lid),
		cmocka_unit_test(test_I16_lmc),
		cmocka_unit_test(test_I16_client_reregister),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

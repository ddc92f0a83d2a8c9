/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm_net.h"

#include <errno.h>

#include "check.h"

struct seen {
	struct sm_listener l;
	enum sm_stage stages[32];
	unsigned int n, in, traps;
	ns_t up_at;
};

static void on_stage(void *ctx, const struct sm_sweep *sw, ns_t now)
{
	struct seen *s = ctx;

	if (s->n < ARRAY_SIZE(s->stages))
		s->stages[s->n++] = sw->stage;
	if (sw->stage == SM_STAGE_UP)
		s->up_at = now;
}

static void on_port(void *ctx, const ib_gid *gid, bool in_service, ns_t now)
{
	struct seen *s = ctx;

	s->in += in_service;
}

static void on_notice(void *ctx, const struct mad_notice *n, ns_t now)
{
	struct seen *s = ctx;

	s->traps++;
}

static const struct sm_events seen_ops = {
	.stage = on_stage,
	.port = on_port,
	.notice = on_notice,
};

static void seen_init(struct seen *s, struct sm *sm)
{
	memset(s, 0, sizeof(*s));
	s->l = (struct sm_listener){ .ops = &seen_ops, .ctx = s };
	sm_listen(sm, &s->l);
}

static unsigned int total_sets(const struct net *net)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < net->n; i++) {
		const struct net_node *n = net->node[i];

		sum += n->lft_sets + n->mft_sets + n->si_sets;
		for (unsigned int p = 0; p <= n->info.nports; p++)
			sum += n->port[p].pi_sets + n->port[p].pkey_sets;
	}
	return sum;
}

static void test_one_switch_comes_up(void **state)
{
	struct net net;
	struct net_node *s, *h[3];
	struct sm *sm;

	net_init(&net);
	s = net_switch(&net, 8);
	for (int i = 0; i < 3; i++) {
		h[i] = net_ca(&net, 1);
		net_join(s, h[i]);
	}
	sm = net_sm(s, NULL);
	assert_true(net_until_up(&net, sm, 1));
	net_assert_connected(&net);
	assert_int_equal(net.errors, 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(h[i]->port[1].pi.port_state, IB_PORT_ACTIVE);
		assert_int_equal(h[i]->port[1].pi.sm_lid, s->port[0].pi.lid);
		assert_int_equal(h[i]->port[1].pi.neighbor_mtu, IB_MTU_4096);
		assert_int_equal(h[i]->port[1].pi.gid_prefix, IB_SUBNET_PREFIX_DEFAULT);
		assert_int_equal(h[i]->port[1].pkeys[0], 0xffff);
	}
	assert_int_equal(sm_db(sm)->nnodes, 4);
	assert_int_equal(sm_db(sm)->nlinks, 3);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_stages_come_in_order_and_are_timed(void **state)
{
	static const enum sm_stage order[] = {
		SM_STAGE_DISCOVER, SM_STAGE_ELECT,    SM_STAGE_LIDS,
		SM_STAGE_PKEYS,	   SM_STAGE_ROUTE,    SM_STAGE_MCAST,
		SM_STAGE_ARM,	   SM_STAGE_ACTIVATE, SM_STAGE_UP,
	};
	struct sm_status st;
	struct net net;
	struct seen seen;
	struct sm *sm;

	net_init(&net);
	net_two_switches(&net, 2);
	sm = net_sm(net.node[0], NULL);
	seen_init(&seen, sm);
	assert_true(net_until_up(&net, sm, 1));
	assert_int_equal(seen.n, ARRAY_SIZE(order));
	for (unsigned int i = 0; i < seen.n; i++)
		assert_int_equal(seen.stages[i], order[i]);
	assert_int_equal(seen.in, 6);
	sm_status(sm, &st);
	assert_int_equal(st.last.ended, seen.up_at);
	assert_int_equal(st.last.started, NS_SEC(1));
	assert_true(st.last.ended > st.last.started);
	assert_int_equal(st.last.armed, 12);
	assert_int_equal(st.last.activated, 12);
	assert_int_equal(st.self.state, SMP_SM_MASTER);
	sm_destroy(sm);
	net_fini(&net);
}

/*
 * IBA 1.4 §14.2.5.4: a switch drops packets to MLIDs above MulticastFDBTop. An earlier SM has
 * perhaps set a low value, so the SM must raise it.
 */
static void test_mft_top_covers_the_table(void **state)
{
	struct net net;
	struct sm *sm;

	net_init(&net);
	net_two_switches(&net, 1);
	net.node[0]->si.mft_top = 0xc001;
	net.node[1]->si.mft_top = 0; /* this switch does not support MulticastFDBTop */
	sm = net_sm(net.node[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	assert_int_equal(net.node[0]->si.mft_top, 0xbfff + net.node[0]->si.mft_cap);
	assert_int_equal(net.node[1]->si.mft_top, 0);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_cut_link_is_routed_around(void **state)
{
	struct net net;
	struct net_node *s[3];
	struct seen seen;
	ns_t cut_at;
	struct sm *sm;

	net_init(&net);
	net_ring(&net, s);
	sm = net_sm(s[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	net_run(&net, net.now + NS_SEC(5));
	seen_init(&seen, sm);
	assert_int_equal(
		net_walk(&net.node[3]->port[1], &net.node[4]->port[1], net.node[4]->port[1].pi.lid),
		3);

	cut_at = net.now;
	net_cut(s[0], 1, true);
	net_run(&net, net.now + NS_MSEC(500));
	net_assert_connected(&net);
	assert_int_equal(
		net_walk(&net.node[3]->port[1], &net.node[4]->port[1], net.node[4]->port[1].pi.lid),
		4);
	/*
	 * The trap must have started this sweep. The next light sweep would have come much later.
	 */
	assert_in_range(seen.up_at - cut_at, 1, NS_MSEC(50));
	assert_true(seen.traps >= 1);
	/*
	 * Clause I15: the SM represses each trap with the TID of this trap, because the switch
	 * would otherwise repeat the trap.
	 */
	assert_int_equal(net.represses, seen.traps);

	net_cut(s[0], 1, false);
	net_run(&net, net.now + NS_MSEC(500));
	net_assert_connected(&net);
	assert_int_equal(
		net_walk(&net.node[3]->port[1], &net.node[4]->port[1], net.node[4]->port[1].pi.lid),
		3);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_light_sweep_finds_what_no_trap_told(void **state)
{
	struct net net;
	struct sm *sm;

	net_init(&net);
	net_two_switches(&net, 2);
	sm = net_sm(net.node[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	net_run(&net, net.now + NS_SEC(5));
	/*
	 * The switches do not know the LID of an SM, so they send no traps. SMPs of light sweeps do
	 * not cross the pulled cable. Nevertheless a light sweep must notice the change, by
	 * PortStateChange of a switch.
	 */
	net.node[0]->port[0].pi.sm_lid = net.node[1]->port[0].pi.sm_lid = 0;
	net_cut(net.node[0], 2, true);
	net_run(&net, net.now + NS_SEC(11));
	net_assert_connected(&net);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_quiet_subnet_is_only_looked_at(void **state)
{
	struct sm_status st;
	struct sm_cfg cfg = sm_cfg_default();
	unsigned int sets;
	struct net net;
	uint64_t smps, heavy;
	struct sm *sm;

	net_init(&net);
	net_random(&net, 3, 5, 8, 2);
	cfg.audit_rate = 0; /* audits have tests of their own */
	sm = net_sm(net.node[0], &cfg);
	assert_true(net_until_up(&net, sm, 1));
	net_run(&net, net.now + NS_SEC(5));
	sets = total_sets(&net);
	smps = net.smps;
	sm_status(sm, &st);
	heavy = st.heavy_sweeps;
	/*
	 * A new master makes two heavy sweeps: the first one, and one more for changes that
	 * happened before it was master.
	 */
	assert_int_equal(heavy, 2);

	net_run(&net, net.now + NS_SEC(100));
	sm_status(sm, &st);
	assert_int_equal(st.heavy_sweeps, heavy);
	assert_in_range(st.light_sweeps, 9, 11);
	assert_int_equal(total_sets(&net), sets);
	/*
	 * A light sweep reads SwitchInfo of the five switches and PortInfo of the SM's port: six
	 * requests and six answers.
	 */
	assert_in_range(net.smps - smps, 9 * 12, 11 * 12);

	/* A heavy sweep without a change in the fabric must write nothing. */
	sm_kick(sm, "test", net.now);
	net_run(&net, net.now + NS_SEC(1));
	sm_status(sm, &st);
	assert_int_equal(st.heavy_sweeps, heavy + 1);
	assert_int_equal(total_sets(&net), sets);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_who_was_silent_is_found_soon(void **state)
{
	struct net net;
	struct sm *sm;

	net_init(&net);
	net_two_switches(&net, 2);
	net.node[4]->dead = true;
	sm = net_sm(net.node[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	net_run(&net, net.now + NS_SEC(3));
	assert_int_equal(sm_db(sm)->nnodes, 5);
	assert_non_null(strstr(net.last_warn, "nobody answers behind"));
	/*
	 * The link of this node was up all the time, so no trap reports that the node answers
	 * again. The SM must find it by its own sweeps.
	 */
	net.node[4]->dead = false;
	net_run(&net, net.now + NS_SEC(5));
	net_assert_connected(&net);
	assert_int_equal(sm_db(sm)->nnodes, 6);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_I17_lfts_before_active(void **state)
{
	struct net net;
	struct net_node *s;
	struct sm *sm;

	net_init(&net);
	net_two_switches(&net, 1);
	sm = net_sm(net.node[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	s = net_switch(&net, 8);
	net_join(net.node[1], s);
	net_join(s, net_ca(&net, 1));
	sm_kick(sm, "test", net.now);
	assert_true(net_until_up(&net, sm, 2));
	assert_int_equal(net.active_unrouted, 0);
	net_assert_connected(&net);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_reset_switch_gets_its_tables_again(void **state)
{
	struct net net;
	struct sm *sm;

	net_init(&net);
	net_two_switches(&net, 2);
	sm = net_sm(net.node[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	net_reset(net.node[1]);
	net_cut(net.node[1], 1, false);
	net_run(&net, net.now + NS_SEC(12));
	/* The hosts behind the switch that was reset must be reachable again, too. */
	net_assert_connected(&net);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_bad_configuration_is_refused(void **state)
{
	struct sm_cfg cfg = sm_cfg_default();
	struct net net;
	struct net_node *h;
	struct sm *sm = NULL, *other = NULL;

	net_init(&net);
	h = net_ca(&net, 1);
	cfg.lmc = 8;
	assert_int_equal(sm_create(&sm, net_ep(h, true), &cfg, &net.timers, &net.log), -EINVAL);
	cfg = sm_cfg_default();
	cfg.lids = &(struct sm_lid_entry){ 1, 0xc000 };
	cfg.nlids = 1;
	assert_int_equal(sm_create(&sm, net_ep(h, true), &cfg, &net.timers, &net.log), -EINVAL);
	cfg = sm_cfg_default();
	assert_int_equal(sm_create(&sm, net_ep(h, true), &cfg, &net.timers, &net.log), 0);
	assert_int_equal(sm_create(&other, net_ep(h, true), &cfg, &net.timers, &net.log), -EBUSY);
	sm_destroy(sm);
	sm_destroy(NULL);
	net_fini(&net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_switch_comes_up),
		cmocka_unit_test(test_stages_come_in_order_and_are_timed),
		cmocka_unit_test(test_mft_top_covers_the_table),
		cmocka_unit_test(test_cut_link_is_routed_around),
		cmocka_unit_test(test_light_sweep_finds_what_no_trap_told),
		cmocka_unit_test(test_quiet_subnet_is_only_looked_at),
		cmocka_unit_test(test_who_was_silent_is_found_soon),
		cmocka_unit_test(test_I17_lfts_before_active),
		cmocka_unit_test(test_reset_switch_gets_its_tables_again),
		cmocka_unit_test(test_bad_configuration_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm_net.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

/* --- helpers */

struct seen {
	struct sm_listener l;
	enum sm_stage stages[32];
	unsigned int n, in, out, traps;
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
	s->out += !in_service;
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

/* Two switches, joined by @parallel cables, with two hosts on each: h1 h2 on s1, h3 h4 on s2. */
static void two_switches(struct net *net, unsigned int parallel)
{
	struct net_node *s1 = net_switch(net, 12), *s2 = net_switch(net, 12);

	for (unsigned int i = 0; i < parallel; i++)
		net_join(s1, s2);
	for (int i = 0; i < 4; i++)
		net_join(i < 2 ? s1 : s2, net_ca(net, 1));
}

/* --- cases */

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
	two_switches(&net, 2);
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
	two_switches(&net, 2);
	sm = net_sm(net.node[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	net_assert_connected(&net);
	assert_int_equal(sm_db(sm)->nlinks, 6);
	assert_int_not_equal(net.node[0]->lft[net.node[4]->port[1].pi.lid],
			     net.node[0]->lft[net.node[5]->port[1].pi.lid]);
	sm_destroy(sm);
	net_fini(&net);
}

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
	two_switches(&net, 1);
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
	two_switches(&net, 1);
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

/*
 * IBA 1.4 §14.2.5.4: a switch drops packets to MLIDs above MulticastFDBTop. An earlier SM has
 * perhaps set a low value, so the SM must raise it.
 */
static void test_mft_top_covers_the_table(void **state)
{
	struct net net;
	struct sm *sm;

	net_init(&net);
	two_switches(&net, 1);
	net.node[0]->si.mft_top = 0xc001;
	net.node[1]->si.mft_top = 0; /* this switch does not support MulticastFDBTop */
	sm = net_sm(net.node[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	assert_int_equal(net.node[0]->si.mft_top, 0xbfff + net.node[0]->si.mft_cap);
	assert_int_equal(net.node[1]->si.mft_top, 0);
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
	two_switches(&net, 1);
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
	 * The LID of an absent port stays reserved for this port. But the LID that the other port
	 * had before its change is free again.
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
	two_switches(&net, 1);
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
	two_switches(&net, 1);
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
	two_switches(&net, 2);
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
	two_switches(&net, 2);
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

static void test_kick_in_mid_sweep_makes_another(void **state)
{
	struct sm_status st;
	struct net net;
	struct sm *sm;
	uint64_t heavy;

	net_init(&net);
	two_switches(&net, 2);
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

static void test_who_was_silent_is_found_soon(void **state)
{
	struct net net;
	struct sm *sm;

	net_init(&net);
	two_switches(&net, 2);
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

static void test_I16_client_reregister(void **state)
{
	struct net net;
	struct net_node *h;
	struct sm *sm;

	net_init(&net);
	two_switches(&net, 1);
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

static void test_I17_lfts_before_active(void **state)
{
	struct net net;
	struct net_node *s;
	struct sm *sm;

	net_init(&net);
	two_switches(&net, 1);
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
	two_switches(&net, 2);
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

static void test_node_dies_in_mid_sweep(void **state)
{
	/* One node stops answering after 1 to 40 SMPs. All other nodes must come up. */
	for (unsigned int after = 1; after <= 40; after++) {
		struct net net;
		struct sm *sm;

		net_init(&net);
		two_switches(&net, 2);
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
		struct seen seen;
		uint64_t smps;
		struct net net;
		struct sm *sm;

		net_init(&net);
		net_ring(&net, s);
		sm = net_sm(s[0], NULL);
		assert_true(net_until_up(&net, sm, 1));
		net_run(&net, net.now + NS_SEC(5));
		seen_init(&seen, sm);
		smps = net.smps;
		sm_kick(sm, "test", net.now);
		while (net.smps < smps + after)
			net_run(&net, timers_next(&net.timers));
		net_cut(s[0], 1, true);
		net_run(&net, net.now + NS_SEC(5));
		if (seen.out)
			fail_msg("cut after %u SMPs: %u ports gone", after, seen.out);
		net_assert_connected(&net);
		sm_destroy(sm);
		net_fini(&net);
	}
}

static void test_duplicate_guid_is_named_and_left_out(void **state)
{
	struct net net;
	struct sm *sm;

	net_init(&net);
	two_switches(&net, 1);
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
	two_switches(&net, 1);
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
	two_switches(&net, 1);
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
	two_switches(&net, 1);
	net.node[5]->info.node_type = 9;
	sm = net_sm(net.node[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	assert_int_equal(sm_db(sm)->nnodes, 5);
	assert_non_null(strstr(net.last_err, "impossible NodeInfo"));
	sm_destroy(sm);
	net_fini(&net);
}

static void test_destroy_at_any_moment(void **state)
{
	for (ns_t us = 0; us < 400; us += 3) {
		struct net net;
		struct sm *sm;

		net_init(&net);
		two_switches(&net, 2);
		sm = net_sm(net.node[0], NULL);
		net_run(&net, net.now + NS_USEC(us));
		sm_destroy(sm);
		net_fini(&net);
	}
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
		cmocka_unit_test(test_I16_random_topologies_are_connected),
		cmocka_unit_test(test_random_topologies_with_losses),
		cmocka_unit_test(test_balance_over_equal_ways),
		cmocka_unit_test(test_parallel_links_share_the_load),
		cmocka_unit_test(test_I16_lids_stay_over_resweep_and_restart),
		cmocka_unit_test(test_I16_lid_waits_for_its_port),
		cmocka_unit_test(test_I16_configured_lids),
		cmocka_unit_test(test_mft_top_covers_the_table),
		cmocka_unit_test(test_I16_set_lid),
		cmocka_unit_test(test_I16_all_register_again_after_a_lid_changed),
		cmocka_unit_test(test_I16_two_ports_with_one_lid),
		cmocka_unit_test(test_I16_lmc),
		cmocka_unit_test(test_cut_link_is_routed_around),
		cmocka_unit_test(test_light_sweep_finds_what_no_trap_told),
		cmocka_unit_test(test_quiet_subnet_is_only_looked_at),
		cmocka_unit_test(test_kick_in_mid_sweep_makes_another),
		cmocka_unit_test(test_who_was_silent_is_found_soon),
		cmocka_unit_test(test_I16_client_reregister),
		cmocka_unit_test(test_I17_lfts_before_active),
		cmocka_unit_test(test_reset_switch_gets_its_tables_again),
		cmocka_unit_test(test_sm_on_a_ca_port),
		cmocka_unit_test(test_two_cas_back_to_back),
		cmocka_unit_test(test_sm_waits_for_its_link),
		cmocka_unit_test(test_multi_port_ca_is_one_node),
		cmocka_unit_test(test_I16_path_is_the_minimum_of_its_links),
		cmocka_unit_test(test_node_dies_in_mid_sweep),
		cmocka_unit_test(test_switch_dies_in_mid_sweep),
		cmocka_unit_test(test_cable_pulled_in_mid_sweep_takes_nobody_away),
		cmocka_unit_test(test_duplicate_guid_is_named_and_left_out),
		cmocka_unit_test(test_duplicate_port_guid_is_left_out),
		cmocka_unit_test(test_links_to_oneself),
		cmocka_unit_test(test_more_than_63_hops),
		cmocka_unit_test(test_impossible_node_info_is_refused),
		cmocka_unit_test(test_destroy_at_any_moment),
		cmocka_unit_test(test_bad_configuration_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm_net.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "mad/smi.h"

struct pair {
	struct net net;
	struct sm *a, *b; /* SMs on s1 and s2; b may be NULL */
	uint64_t mkey; /* M_Key of the SMPs that ask() sends */
};

/* Two switches, s1 and s2, joined by two cables; each has one host. */
static void pair_init(struct pair *t)
{
	struct net_node *s1, *s2;

	memset(t, 0, sizeof(*t));
	net_init(&t->net);
	s1 = net_switch(&t->net, 8);
	s2 = net_switch(&t->net, 8);
	net_join(s1, s2);
	net_join(s1, s2);
	net_join(s1, net_ca(&t->net, 1));
	net_join(s2, net_ca(&t->net, 1));
}

static struct sm *start(struct pair *t, unsigned int node, uint8_t priority)
{
	struct sm_cfg cfg = sm_cfg_default();

	cfg.priority = priority;
	return net_sm(t->net.node[node], &cfg);
}

static void pair_fini(struct pair *t)
{
	sm_destroy(t->a);
	sm_destroy(t->b);
	net_fini(&t->net);
}

static enum smp_sm_state state_of(const struct sm *sm)
{
	struct sm_status st;

	sm_status(sm, &st);
	return st.self.state;
}

static uint64_t master_of(const struct sm *sm)
{
	struct sm_status st;

	sm_status(sm, &st);
	return st.master_guid;
}

static void run(struct pair *t, unsigned int s)
{
	net_run(&t->net, t->net.now + NS_SEC(s));
}

static void expect(struct pair *t, const struct sm *master, const struct sm *standby)
{
	assert_int_equal(state_of(master), SMP_SM_MASTER);
	assert_int_equal(state_of(standby), SMP_SM_STANDBY);
	assert_non_null(sm_db(master));
	assert_null(sm_db(standby));
	assert_true(master_of(standby) == master_of(master));
	net_assert_connected(&t->net);
	for (unsigned int i = 2; i < 4; i++)
		assert_int_equal(t->net.node[i]->port[1].pi.sm_lid, sm_db(master)->self->lid);
}

static void test_higher_priority_wins(void **state)
{
	struct pair t;

	pair_init(&t);
	t.a = start(&t, 0, 3);
	t.b = start(&t, 1, 7);
	run(&t, 15);
	expect(&t, t.b, t.a);
	pair_fini(&t);
}

static void test_lower_guid_breaks_the_tie(void **state)
{
	struct pair t;

	pair_init(&t);
	t.b = start(&t, 1, 5);
	t.a = start(&t, 0, 5);
	run(&t, 15);
	expect(&t, t.a, t.b);
	pair_fini(&t);
}

static void test_standby_stays_under_a_running_master(void **state)
{
	struct pair t;
	uint32_t sweeps;
	struct sm_status st;

	pair_init(&t);
	t.a = start(&t, 0, 5);
	run(&t, 2);
	t.b = start(&t, 1, 2);
	run(&t, 30);
	expect(&t, t.a, t.b);
	sm_status(t.b, &st);
	sweeps = (uint32_t)st.heavy_sweeps;
	run(&t, 60);
	sm_status(t.b, &st);
	assert_int_equal(st.heavy_sweeps, sweeps);
	pair_fini(&t);
}

static void test_master_hands_over_to_a_better_one(void **state)
{
	struct pair t;
	uint16_t lid;

	pair_init(&t);
	t.a = start(&t, 0, 5);
	run(&t, 2);
	lid = t.net.node[2]->port[1].pi.lid;
	t.b = start(&t, 1, 9);
	/* Start a sweep, as a trap about the new SM's capability IsSM would. */
	sm_kick(t.a, "test", t.net.now);
	run(&t, 5);
	expect(&t, t.b, t.a);
	assert_int_equal(t.net.node[2]->port[1].pi.lid, lid);
	/* The new master must have made all ports register again. */
	assert_int_equal(t.net.node[2]->port[1].reregisters, 2);
	pair_fini(&t);
}

static void test_standby_takes_over_when_the_master_is_gone(void **state)
{
	struct pair t;
	ns_t gone;

	pair_init(&t);
	t.a = start(&t, 0, 5);
	t.b = start(&t, 1, 2);
	run(&t, 15);
	expect(&t, t.a, t.b);
	sm_destroy(t.a);
	t.a = NULL;
	gone = t.net.now;
	while (state_of(t.b) != SMP_SM_MASTER && t.net.now < gone + NS_SEC(60))
		net_run(&t.net, t.net.now + NS_MSEC(100));
	assert_in_range(t.net.now - gone, NS_SEC(2), NS_SEC(8));
	run(&t, 2);
	net_assert_connected(&t.net);
	pair_fini(&t);
}

/*
 * A standby that was master before finds other LIDs on the ports than those that it remembers. The
 * standby must keep the LIDs that it finds, because they are newer.
 */
static void test_I16_lids_that_another_master_gave_stay(void **state)
{
	struct net_port *h1;
	struct pair t;

	pair_init(&t);
	h1 = &t.net.node[2]->port[1];
	t.a = start(&t, 0, 3);
	run(&t, 5);
	assert_int_equal(state_of(t.a), SMP_SM_MASTER);
	assert_int_not_equal(h1->pi.lid, 0x123);
	t.b = start(&t, 1, 7);
	sm_kick(t.a, "test", t.net.now);
	run(&t, 15);
	expect(&t, t.b, t.a);
	assert_int_equal(sm_set_lid(t.b, h1->guid, 0x123, t.net.now), 0);
	run(&t, 5);
	assert_int_equal(h1->pi.lid, 0x123);
	sm_destroy(t.b);
	t.b = NULL;
	run(&t, 15);
	assert_int_equal(state_of(t.a), SMP_SM_MASTER);
	assert_int_equal(h1->pi.lid, 0x123);
	net_assert_connected(&t.net);
	pair_fini(&t);
}

static void test_standby_finds_the_master_another_way(void **state)
{
	struct pair t;

	pair_init(&t);
	t.a = start(&t, 0, 5);
	t.b = start(&t, 1, 2);
	run(&t, 15);
	net_cut(t.net.node[0], 1, true);
	run(&t, 20);
	expect(&t, t.a, t.b);
	net_cut(t.net.node[0], 1, false);
	net_cut(t.net.node[0], 2, true);
	run(&t, 20);
	expect(&t, t.a, t.b);
	pair_fini(&t);
}

static void test_two_masters_of_merged_subnets_agree(void **state)
{
	struct pair t;

	pair_init(&t);
	net_cut(t.net.node[0], 1, true);
	net_cut(t.net.node[0], 2, true);
	t.a = start(&t, 0, 5);
	t.b = start(&t, 1, 5);
	run(&t, 5);
	assert_int_equal(state_of(t.a), SMP_SM_MASTER);
	assert_int_equal(state_of(t.b), SMP_SM_MASTER);
	net_cut(t.net.node[0], 1, false);
	net_cut(t.net.node[0], 2, false);
	run(&t, 30);
	expect(&t, t.a, t.b);
	pair_fini(&t);
}

/*
 * ask() sends one request from h1 to the SM of s1, as another SM would. .status gets the status of
 * the answer, or -1 if there is none.
 */
struct asked {
	int status, calls;
	struct smp_sm_info info;
};

static void on_answer(void *ctx, int status, const struct mad_addr *from, const void *mad,
		      size_t len, ns_t now)
{
	struct asked *a = ctx;

	a->calls++;
	a->status = status ? -1 : mad_status(mad) & 0x7fff;
	if (!status)
		smp_sm_info_decode(&a->info, (const uint8_t *)mad + SMP_DATA_OFF, SMP_DATA_LEN);
}

static int ask(struct pair *t, uint8_t method, uint32_t mod, uint64_t sm_key, struct asked *ret)
{
	struct mad_agent_cfg ac = { .qp = 0, .mgmt_class = MAD_CLASS_SM_LID, .class_version = 1 };
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SM_DR,
		.class_version = 1,
		.method = method,
		.class_specific = 1,
		.attr_id = SMP_ATTR_SM_INFO,
		.attr_mod = mod,
	};
	struct smp_dr dr = {
		.mkey = t->mkey, .dr_slid = 0xffff, .dr_dlid = 0xffff, .initial_path = { 0, 1 }
	};
	struct smp_sm_info info = { .guid = 42, .sm_key = sm_key };
	uint8_t mad[MAD_LEN], data[SMP_DATA_LEN] = { 0 };
	struct mad_req rq = { .to = mad_addr_smp_dr(),
			      .mad = mad,
			      .len = sizeof(mad),
			      .timeout_ms = 10,
			      .done = on_answer,
			      .ctx = ret };
	struct mad_agent *agent;

	*ret = (struct asked){ 0 };
	smp_sm_info_encode(data, &info);
	smp_encode(mad, &h, &dr, data);
	assert_int_equal(mad_agent_add(net_ep(t->net.node[2], false), &ac, &agent), 0);
	assert_int_equal(mad_request(agent, &rq, NULL, t->net.now), 0);
	net_run(&t->net, t->net.now + NS_MSEC(20));
	assert_int_equal(ret->calls, 1);
	mad_agent_del(agent);
	return ret->status;
}

/*
 * A standby SM on a host. It handles HANDOVER as OpenSM does: it answers the HANDOVER, becomes
 * master, and never sends ACKNOWLEDGE.
 */
struct silent_sm {
	struct mad_agent *agent;
	struct smp_sm_info info;
	bool dead_master; /* the SM answers HANDOVER, but stays standby */
	unsigned int handovers;
};

static void silent_recv(void *ctx, const struct mad_addr *from, const void *req, size_t len,
			ns_t now)
{
	struct silent_sm *s = ctx;
	uint8_t mad[MAD_LEN];

	memcpy(mad, req, sizeof(mad));
	if (mad_attr(mad) != SMP_ATTR_SM_INFO)
		return;
	if (mad_method(mad) == MAD_METHOD_SET && mad_attr_mod(mad) == SMP_SMINFO_HANDOVER) {
		s->handovers++;
		if (!s->dead_master)
			s->info.state = SMP_SM_MASTER;
	}
	smp_sm_info_encode(mad + SMP_DATA_OFF, &s->info);
	smi_make_response(mad, 0);
	mad_reply(s->agent, from, mad, sizeof(mad), now);
}

static void silent_start(struct pair *t, struct silent_sm *s)
{
	struct net_node *h = t->net.node[2];
	struct mad_agent_cfg c = {
		.qp = 0,
		.mgmt_class = MAD_CLASS_SM_LID,
		.class_version = 1,
		.recv = silent_recv,
		.ctx = s,
	};

	s->info = (struct smp_sm_info){ .guid = h->port[1].guid,
					.priority = 9,
					.state = SMP_SM_STANDBY,
					.sm_key = SM_KEY_DEFAULT };
	mad_agent_cfg_method(&c, MAD_METHOD_GET);
	mad_agent_cfg_method(&c, MAD_METHOD_SET);
	assert_int_equal(mad_agent_add(net_ep(h, true), &c, &s->agent), 0);
}

static void test_handover_that_is_answered_but_not_acknowledged(void **state)
{
	struct silent_sm s = { 0 };
	struct pair t;

	pair_init(&t);
	t.a = start(&t, 0, 5);
	run(&t, 2);
	silent_start(&t, &s);
	sm_kick(t.a, "test", t.net.now);
	run(&t, 30);
	assert_int_equal(s.handovers, 1);
	assert_int_equal(state_of(t.a), SMP_SM_STANDBY);
	assert_true(master_of(t.a) == s.info.guid);
	pair_fini(&t);
}

/*
 * The other SM is the better one, but is still in the state DISCOVERING when this SM's sweep asks
 * it. No trap reports that the other SM has become STANDBY, so this SM must ask again, and then
 * send HANDOVER.
 */
static void test_better_sm_that_is_discovering_gets_handover_when_it_stands_by(void **state)
{
	struct silent_sm s = { 0 };
	struct pair t;

	pair_init(&t);
	t.a = start(&t, 0, 5);
	run(&t, 2);
	silent_start(&t, &s);
	s.info.state = SMP_SM_DISCOVERING;
	sm_kick(t.a, "test", t.net.now);
	run(&t, 1);
	assert_int_equal(s.handovers, 0);
	assert_int_equal(state_of(t.a), SMP_SM_MASTER);
	s.info.state = SMP_SM_STANDBY;
	run(&t, 3);
	assert_int_equal(s.handovers, 1);
	assert_int_equal(state_of(t.a), SMP_SM_STANDBY);
	pair_fini(&t);
}

static void test_who_takes_handover_and_is_no_master_is_not_waited_for(void **state)
{
	struct silent_sm s = { .dead_master = true };
	struct pair t;

	pair_init(&t);
	t.a = start(&t, 0, 5);
	run(&t, 2);
	silent_start(&t, &s);
	sm_kick(t.a, "test", t.net.now);
	run(&t, 2);
	assert_int_equal(state_of(t.a), SMP_SM_STANDBY);
	s.info.state = SMP_SM_NOT_ACTIVE;
	run(&t, 60);
	assert_int_equal(state_of(t.a), SMP_SM_MASTER);
	pair_fini(&t);
}

static void test_sm_info_is_answered(void **state)
{
	struct asked a;
	struct pair t;

	pair_init(&t);
	t.a = start(&t, 0, 5);
	run(&t, 2);
	assert_int_equal(ask(&t, MAD_METHOD_GET, 0, 0, &a), 0);
	assert_int_equal(a.info.guid, t.net.node[0]->port[0].guid);
	assert_int_equal(a.info.priority, 5);
	assert_int_equal(a.info.state, SMP_SM_MASTER);
	assert_int_equal(a.info.sm_key, SM_KEY_DEFAULT);
	pair_fini(&t);
}

static void test_the_sm_key_is_for_those_with_the_mkey(void **state)
{
	struct sm_cfg cfg = sm_cfg_default();
	struct asked a;
	struct pair t;

	pair_init(&t);
	cfg.mkey = 0x77;
	t.a = net_sm(t.net.node[0], &cfg);
	run(&t, 2);
	assert_int_equal(ask(&t, MAD_METHOD_GET, 0, 0, &a), 0);
	assert_int_equal(a.info.sm_key, 0);
	t.mkey = 0x77;
	assert_int_equal(ask(&t, MAD_METHOD_GET, 0, 0, &a), 0);
	assert_int_equal(a.info.sm_key, SM_KEY_DEFAULT);
	pair_fini(&t);
}

static void test_control_in_the_wrong_state_is_refused(void **state)
{
	struct asked a;
	struct pair t;

	pair_init(&t);
	t.a = start(&t, 0, 5);
	run(&t, 2);
	/*
	 * A master accepts HANDOVER, accepts ACKNOWLEDGE only if it waits for one, and refuses
	 * other Sets of SMInfo.
	 */
	assert_int_equal(ask(&t, MAD_METHOD_SET, SMP_SMINFO_ACK, SM_KEY_DEFAULT, &a),
			 MAD_STATUS_BAD_VALUE);
	assert_int_equal(ask(&t, MAD_METHOD_SET, SMP_SMINFO_DISABLE, SM_KEY_DEFAULT, &a),
			 MAD_STATUS_BAD_VALUE);
	assert_int_equal(ask(&t, MAD_METHOD_SET, SMP_SMINFO_STANDBY, SM_KEY_DEFAULT, &a),
			 MAD_STATUS_BAD_VALUE);
	assert_int_equal(ask(&t, MAD_METHOD_SET, SMP_SMINFO_DISCOVER, SM_KEY_DEFAULT, &a),
			 MAD_STATUS_BAD_VALUE);
	assert_int_equal(ask(&t, MAD_METHOD_SET, 99, SM_KEY_DEFAULT, &a), MAD_STATUS_BAD_VALUE);
	assert_int_equal(state_of(t.a), SMP_SM_MASTER);
	pair_fini(&t);
}

static void test_standby_is_disabled_and_enabled(void **state)
{
	struct asked a;
	struct pair t;

	pair_init(&t);
	t.a = start(&t, 0, 2);
	t.b = start(&t, 1, 5);
	run(&t, 15);
	expect(&t, t.b, t.a);
	assert_int_equal(ask(&t, MAD_METHOD_SET, SMP_SMINFO_DISABLE, SM_KEY_DEFAULT, &a), 0);
	assert_int_equal(a.info.state, SMP_SM_NOT_ACTIVE);
	run(&t, 15);
	assert_int_equal(state_of(t.a), SMP_SM_NOT_ACTIVE);
	assert_int_equal(ask(&t, MAD_METHOD_SET, SMP_SMINFO_STANDBY, SM_KEY_DEFAULT, &a), 0);
	/*
	 * The sender of STANDBY is no master itself. So SM a must look for the master, and find SM
	 * b.
	 */
	run(&t, 15);
	expect(&t, t.b, t.a);
	assert_int_equal(ask(&t, MAD_METHOD_SET, SMP_SMINFO_DISCOVER, SM_KEY_DEFAULT, &a), 0);
	run(&t, 5);
	expect(&t, t.b, t.a);
	pair_fini(&t);
}

static void test_wrong_sm_key_is_ignored(void **state)
{
	struct sm_cfg cfg = sm_cfg_default();
	struct asked a;
	struct pair t;

	pair_init(&t);
	cfg.sm_key = 0x1234;
	t.a = net_sm(t.net.node[0], &cfg);
	run(&t, 2);
	assert_int_equal(ask(&t, MAD_METHOD_SET, SMP_SMINFO_HANDOVER, 2, &a), -1);
	assert_int_equal(ask(&t, MAD_METHOD_SET, SMP_SMINFO_HANDOVER, 0x1234, &a), 0);
	pair_fini(&t);
}

static void test_names(void **state)
{
	assert_string_equal(sm_state_name(SMP_SM_MASTER), "master");
	assert_string_equal(sm_state_name(17), "?");
	assert_string_equal(sm_stage_name(SM_STAGE_ROUTE), "route");
	assert_string_equal(sm_stage_name(99), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_higher_priority_wins),
		cmocka_unit_test(test_lower_guid_breaks_the_tie),
		cmocka_unit_test(test_standby_stays_under_a_running_master),
		cmocka_unit_test(test_master_hands_over_to_a_better_one),
		cmocka_unit_test(test_standby_takes_over_when_the_master_is_gone),
		cmocka_unit_test(test_I16_lids_that_another_master_gave_stay),
		cmocka_unit_test(test_standby_finds_the_master_another_way),
		cmocka_unit_test(test_two_masters_of_merged_subnets_agree),
		cmocka_unit_test(test_handover_that_is_answered_but_not_acknowledged),
		cmocka_unit_test(
			test_better_sm_that_is_discovering_gets_handover_when_it_stands_by),
		cmocka_unit_test(test_who_takes_handover_and_is_no_master_is_not_waited_for),
		cmocka_unit_test(test_sm_info_is_answered),
		cmocka_unit_test(test_the_sm_key_is_for_those_with_the_mkey),
		cmocka_unit_test(test_control_in_the_wrong_state_is_refused),
		cmocka_unit_test(test_standby_is_disabled_and_enabled),
		cmocka_unit_test(test_wrong_sm_key_is_ignored),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Another program changes tables of nodes. No trap reports such changes, so no sweep follows. The
 * audit, which reads all tables in turn, must restore the tables.
 */
#include "sm_net.h"

#include <string.h>

#include "check.h"
#include "sm/group.h"
#include "wire/mgid.h"

#define ROUND NS_SEC(75) /* a bit longer than a round of the audit, which takes a minute */

struct rig {
	struct net net;
	struct net_node *s1, *s2, *h;
	struct sm *sm;
};

static void rig_up(struct rig *r, const struct sm_cfg *cfg)
{
	net_init(&r->net);
	r->s1 = net_switch(&r->net, 8);
	r->s2 = net_switch(&r->net, 8);
	net_join(r->s1, r->s2);
	r->h = net_ca(&r->net, 1);
	net_join(r->s2, r->h);
	for (int i = 0; i < 3; i++)
		net_join(r->s1, net_ca(&r->net, 1));
	r->sm = net_sm(r->s1, cfg);
	assert_true(net_until_up(&r->net, r->sm, 1));
	net_run(&r->net, r->net.now + NS_SEC(1));
}

static void rig_down(struct rig *r)
{
	sm_destroy(r->sm);
	net_fini(&r->net);
}

static struct sm_status status(const struct rig *r)
{
	struct sm_status st;

	sm_status(r->sm, &st);
	return st;
}

static void test_tables_that_somebody_changed_are_written_again(void **state)
{
	uint64_t sweeps;
	uint8_t lft[64];
	struct rig r;

	rig_up(&r, NULL);
	sweeps = status(&r).heavy_sweeps;
	memcpy(lft, r.s2->lft, sizeof(lft));
	r.h->port[1].pkeys[0] = 0;
	r.h->port[1].pkeys[1] = 0x8001; /* P_Key of a partition of which the port is no member */
	r.s2->port[2].pkeys[0] = 0; /* the P_Key that this port of the switch lets pass */
	/* With VL 15 in an SLtoVL entry, the port discards the packets that it should send. */
	r.h->port[1].sltovl[0] = 15;
	r.s2->sltovl[1 * 9 + 2][0] = 15;
	memset(r.s2->lft, SMP_LFT_NONE, 20);
	net_run(&r.net, r.net.now + ROUND);
	assert_int_equal(r.h->port[1].pkeys[0], 0xffff);
	assert_int_equal(r.h->port[1].pkeys[1], 0);
	assert_int_equal(r.s2->port[2].pkeys[0], 0xffff);
	assert_int_equal(r.h->port[1].sltovl[0], 0);
	assert_int_equal(r.s2->sltovl[1 * 9 + 2][0], 0);
	assert_memory_equal(r.s2->lft, lft, sizeof(lft));
	assert_int_equal(status(&r).repairs, 5);
	assert_int_equal(status(&r).heavy_sweeps, sweeps);
	assert_non_null(strstr(r.net.last_warn, "somebody else changed the"));
	/* The next round repairs nothing. */
	net_run(&r.net, r.net.now + ROUND);
	assert_int_equal(status(&r).repairs, 5);
	rig_down(&r);
}

static void on_joined(void *ctx, int status, ns_t now)
{
	*(int *)ctx = status;
}

static void join(struct net *net, struct sm *sm, struct sm_group *g, const struct net_port *p)
{
	ib_gid gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, p->guid);
	int status = 1;

	assert_int_equal(
		sm_group_join(sm, g, &gid, MCM_JOIN_FULL, false, on_joined, &status, net->now), 0);
	net_run(net, net->now + NS_MSEC(250));
	assert_int_equal(status, 0);
}

/*
 * A switch has more than 16 ports, so its MFT has two positions (one for each 16 ports). Members of
 * a group are at ports of both positions. The test changes some entries of the MFT.
 */
static void test_multicast_tables_that_somebody_changed_are_written_again(void **state)
{
	const unsigned int i = 0xc005 - IB_LID_MCAST_MIN;
	struct ib_mcmember_rec rec = {
		.qkey = 0x80000b1b, .mtu_code = IB_MTU_2048, .pkey = 0xffff, .rate_code = 3
	};
	const uint8_t ip[4] = { 239, 1, 2, 3 };
	struct net_node *s, *a, *b;
	uint64_t before[NET_MLIDS][4];
	struct sm_group *g = NULL;
	unsigned int m, sets;
	struct rig r;

	net_init(&r.net);
	s = net_switch(&r.net, 24);
	a = net_ca(&r.net, 1);
	b = net_ca(&r.net, 1);
	net_link(s, 3, a, 1);
	net_link(s, 20, b, 1);
	r.sm = net_sm(s, NULL);
	assert_true(net_until_up(&r.net, r.sm, 1));
	assert_int_equal(mgid_from_ipv4(&rec.mgid, ip, 0xffff, 2), 0);
	assert_int_equal(sm_group_create(r.sm, &rec, false, &g, r.net.now), 0);
	join(&r.net, r.sm, g, &a->port[1]);
	join(&r.net, r.sm, g, &b->port[1]);
	m = g->rec.mlid - IB_LID_MCAST_MIN;
	assert_int_not_equal(m, i);
	assert_int_equal(s->mft[m][0], 1 << 3 | 1 << 20);
	memcpy(before, s->mft, sizeof(before));
	sets = s->mft_sets;

	s->mft[m][0] &= ~(1u << 20); /* cuts off a member */
	net_run(&r.net, r.net.now + ROUND);
	assert_memory_equal(s->mft, before, sizeof(before));
	assert_int_equal(status(&r).repairs, 1);
	assert_non_null(strstr(r.net.last_warn, "somebody else changed the MFT of"));

	s->mft[m][0] |= 1u << 7; /* packets also go to a port that is no member */
	s->mft[i][0] = 0x3ffffe; /* packets to an MLID without a group go to all ports */
	net_run(&r.net, r.net.now + ROUND);
	assert_memory_equal(s->mft, before, sizeof(before));
	/* Both MLIDs are in one block. It was wrong at both positions, so it got two repairs. */
	assert_int_equal(status(&r).repairs, 3);

	/*
	 * The next round has nothing to repair. So in all rounds there were three repairs, with one
	 * Set each.
	 */
	net_run(&r.net, r.net.now + ROUND);
	assert_int_equal(status(&r).repairs, 3);
	assert_int_equal(s->mft_sets, sets + 3);
	rig_down(&r);
}

static void test_a_round_takes_a_minute_and_its_rate_is_bounded(void **state)
{
	struct sm_cfg cfg = sm_cfg_default();
	uint64_t before, quiet, smps;
	struct rig r;

	cfg.audit_rate = 0;
	rig_up(&r, &cfg);
	before = r.net.smps;
	net_run(&r.net, r.net.now + 10 * ROUND);
	quiet = r.net.smps - before;
	rig_down(&r);

	/* With one read a second, a round of the audit takes longer than a minute. */
	cfg.audit_rate = 1;
	rig_up(&r, &cfg);
	before = r.net.smps;
	net_run(&r.net, r.net.now + 10 * ROUND);
	smps = r.net.smps - before - quiet;
	/* Requests and answers are both counted. */
	assert_in_range(smps, 2 * 700, 2 * 750);
	r.h->port[1].pkeys[0] = 0;
	net_run(&r.net, r.net.now + 5 * ROUND);
	assert_int_equal(r.h->port[1].pkeys[0], 0xffff);
	rig_down(&r);
}

/*
 * A node does not answer. The audit must skip the rest of this node's tables, and go on to the next
 * node.
 */
static void test_a_silent_node_does_not_hide_the_next_one(void **state)
{
	struct sm_cfg cfg = sm_cfg_default();
	struct net_node *s, *silent, *next;
	struct net net;
	struct sm *sm;

	net_init(&net);
	s = net_switch(&net, 16);
	silent = net_ca(&net, 8);
	for (int i = 0; i < 8; i++)
		assert_true(net_join(s, silent));
	next = net_ca(&net, 1);
	net_join(s, next);
	/*
	 * No light sweep may run during this test, because it would notice that the node is gone.
	 */
	cfg.sweep_interval = 100 * ROUND;
	sm = net_sm(s, &cfg);
	assert_true(net_until_up(&net, sm, 1));
	net_run(&net, net.now + NS_SEC(2)); /* a second sweep follows the first one */
	silent->dead = true;
	next->port[1].pkeys[0] = 0;
	net_run(&net, net.now + ROUND);
	assert_int_equal(next->port[1].pkeys[0], 0xffff);
	sm_destroy(sm);
	net_fini(&net);
}

/*
 * Another program changes tables all the time, and sweeps are requested all the time. The log must
 * get only few lines about the repairs and sweeps.
 */
static void test_the_log_stays_readable(void **state)
{
	struct rig r;

	rig_up(&r, NULL);
	for (int i = 0; i < 600; i++) {
		for (unsigned int k = 2; k < 6; k++)
			r.net.node[k]->port[1].pkeys[0] = (uint16_t)i;
		if (i % 7 == 0)
			sm_kick(r.sm, "test", r.net.now);
		net_run(&r.net, r.net.now + NS_SEC(1));
	}
	assert_true(status(&r).repairs > 30);
	assert_int_equal(r.net.errors, 0);
	rig_down(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables_that_somebody_changed_are_written_again),
		cmocka_unit_test(test_multicast_tables_that_somebody_changed_are_written_again),
		cmocka_unit_test(test_a_round_takes_a_minute_and_its_rate_is_bounded),
		cmocka_unit_test(test_a_silent_node_does_not_hide_the_next_one),
		cmocka_unit_test(test_the_log_stays_readable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

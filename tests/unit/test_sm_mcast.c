/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm_net.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "partition/partition.h"
#include "sm/group.h"
#include "wire/mgid.h"

#define MEMBERS_MAX 64

struct answer {
	unsigned int calls;
	int status;
	ns_t at;
};

static void on_done(void *ctx, int status, ns_t now)
{
	struct answer *a = ctx;

	a->calls++;
	a->status = status;
	a->at = now;
}

struct rig {
	struct net net;
	struct sm *sm;
	struct sm_listener l;
	unsigned int created, deleted;
	ib_gid last_deleted;
};

static void on_group(void *ctx, const struct sm_group *g, bool created, ns_t now)
{
	struct rig *r = ctx;

	r->created += created;
	r->deleted += !created;
	if (!created)
		r->last_deleted = g->rec.mgid;
}

static const struct sm_events events = { .group = on_group };

static void rig_up(struct rig *r, struct net_node *at)
{
	r->sm = net_sm(at, NULL);
	r->l = (struct sm_listener){ .ops = &events, .ctx = r };
	r->created = r->deleted = 0;
	sm_listen(r->sm, &r->l);
	assert_true(net_until_up(&r->net, r->sm, 1));
}

static void rig_down(struct rig *r)
{
	sm_destroy(r->sm);
	net_fini(&r->net);
}

static struct sm_group *make_group(struct rig *r, unsigned int n)
{
	struct ib_mcmember_rec rec = {
		.qkey = 0x80000b1b, .mtu_code = IB_MTU_2048, .pkey = 0x7fff, .rate_code = 3
	};
	const uint8_t ip[4] = { 239, 1, (uint8_t)(n >> 8), (uint8_t)n };
	struct sm_group *g = NULL;

	assert_int_equal(mgid_from_ipv4(&rec.mgid, ip, 0xffff, 2), 0);
	assert_int_equal(sm_group_create(r->sm, &rec, false, &g, r->net.now), 0);
	assert_int_equal(g->rec.pkey, 0xffff);
	return g;
}

static ib_gid gid_of(const struct net_port *p)
{
	return ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, p->guid);
}

static void join(struct rig *r, struct sm_group *g, const struct net_port *p, uint8_t state)
{
	struct answer a = { 0 };
	ib_gid gid = gid_of(p);

	assert_int_equal(sm_group_join(r->sm, g, &gid, state, false, on_done, &a, r->net.now), 0);
	net_run(&r->net, r->net.now + NS_MSEC(250));
	assert_int_equal(a.calls, 1);
	assert_int_equal(a.status, 0);
}

struct copies {
	unsigned int n[MEMBERS_MAX];
	struct net *net;
};

static void on_hit(void *ctx, struct net_port *p)
{
	struct copies *c = ctx;

	for (unsigned int i = 0; i < c->net->n; i++) {
		if (c->net->node[i] == p->node)
			c->n[i]++;
	}
}

/*
 * Check that every receiver except the sender gets exactly one copy of a packet, and that no other
 * port gets a copy.
 */
static void assert_delivery(struct rig *r, const struct net_port *src, uint16_t mlid,
			    const bool *receives)
{
	struct copies c = { .net = &r->net };

	assert_true(net_flood(src, mlid, on_hit, &c) >= 0);
	for (unsigned int i = 0; i < r->net.n; i++) {
		bool expect = receives[i] && r->net.node[i] != src->node;

		if (c.n[i] != (expect ? 1u : 0u))
			fail_msg("MLID 0x%x from %s: %u copies at %s", mlid, src->node->desc,
				 c.n[i], r->net.node[i]->desc);
	}
}

/*
 * Three switches in a triangle, s1 - s2 - s3 - s1. The hosts h1 h2 on s1, h3 h4 on s2 and h5 h6 on
 * s3 are the nodes 3 .. 8.
 */
static void triangle(struct net *net)
{
	net_init(net);
	for (int i = 0; i < 3; i++)
		net_switch(net, 20);
	net_link(net->node[0], 1, net->node[1], 1);
	net_link(net->node[1], 2, net->node[2], 1);
	net_link(net->node[2], 2, net->node[0], 2);
	for (unsigned int i = 0; i < 6; i++) {
		struct net_node *h = net_ca(net, 1);

		/* Ports 16 and 17 belong to the second position of an MFT. */
		net_link(net->node[i / 2], 16 + i % 2, h, 1);
	}
}

static struct net_port *host(struct rig *r, unsigned int i)
{
	return &r->net.node[2 + i]->port[1];
}

static void test_I16_broadcast_group_of_the_default_partition(void **state)
{
	struct sm_group *g;
	struct rig r;
	ib_gid mgid;

	triangle(&r.net);
	rig_up(&r, r.net.node[0]);
	assert_int_equal(mgid_broadcast(&mgid, 0xffff, 2), 0);
	g = sm_group_find(r.sm, &mgid);
	assert_non_null(g);
	assert_true(g->admin);
	assert_true(g->broadcast);
	assert_int_equal(r.created, 1);
	assert_ptr_equal(sm_group_by_mlid(r.sm, g->rec.mlid), g);
	assert_ptr_equal(sm_group_next(r.sm, NULL), g);
	assert_null(sm_group_next(r.sm, g));
	rig_down(&r);
}

static void test_R16_to_R20_parameters_of_the_broadcast_group(void **state)
{
	struct sm_group *g;
	struct rig r;

	triangle(&r.net);
	rig_up(&r, r.net.node[0]);
	g = sm_group_next(r.sm, NULL);
	assert_true(g->rec.qkey & IB_QKEY_CONTROLLED); /* R16: controlled Q_Key */
	/* Clause R17: the group's MTU is one that every link of the members supports. */
	assert_int_equal(g->rec.mtu_code, IB_MTU_2048);
	/* Clause R18: in a single subnet, TClass, FlowLabel and HopLimit are 0. */
	assert_int_equal(g->rec.tclass, 0);
	assert_int_equal(g->rec.flow_label, 0);
	assert_int_equal(g->rec.hop_limit, 0);
	assert_int_equal(g->rec.sl, 0); /* Clause R19: SL of the link's multicast packets */
	assert_int_equal(g->rec.scope, 2); /* R20: link-local scope */
	assert_int_equal(mgid_scope(&g->rec.mgid), 2);
	assert_int_equal(g->rec.pkey, 0xffff);
	assert_int_equal(ib_rate_mbps(g->rec.rate_code), 10000);
	rig_down(&r);
}

static void test_R17_group_mtu_is_not_above_a_link(void **state)
{
	struct sm_group *g;
	struct rig r;

	triangle(&r.net);
	r.net.node[5]->port[1].pi.mtu_cap = IB_MTU_1024;
	rig_up(&r, r.net.node[0]);
	g = sm_group_next(r.sm, NULL);
	assert_int_equal(g->rec.mtu_code, IB_MTU_1024);
	assert_non_null(strstr(r.net.last_warn, "group MTU 1024 instead of 2048"));
	rig_down(&r);
}

/*
 * The link of h5 has a smaller MTU. h5 does not belong to the partition, so this MTU must not
 * change the MTU of the partition's group.
 */
static void test_R17_only_the_members_links_count(void **state)
{
	struct sm_partitions *ps;
	struct sm_group *g;
	struct rig r;
	char err[256], text[256];

	triangle(&r.net);
	host(&r, 5)->pi.mtu_cap = IB_MTU_1024;
	rig_up(&r, r.net.node[0]);
	snprintf(text, sizeof(text),
		 "Default=0x7fff : ALL=full;\nLab=0x0001, ipoib : 0x%llx=full, 0x%llx=full;",
		 (unsigned long long)host(&r, 1)->guid, (unsigned long long)host(&r, 3)->guid);
	if (sm_partitions_parse(&ps, "test", text, strlen(text), err, sizeof(err)))
		fail_msg("%s", err);
	sm_set_partitions(r.sm, ps, r.net.now);
	net_run(&r.net, r.net.now + NS_SEC(2));
	g = sm_group_next(r.sm, NULL);
	while (g && g->rec.pkey != 0x8001)
		g = sm_group_next(r.sm, g);
	assert_non_null(g);
	assert_int_equal(g->rec.mtu_code, IB_MTU_2048);
	rig_down(&r);
}

static void smaller_comes_later(struct rig *r)
{
	triangle(&r->net);
	r->net.node[1]->port[17].cut = host(r, 4)->cut = true;
	net_reset(r->net.node[1]);
	net_reset(host(r, 4)->node);
	host(r, 4)->pi.mtu_cap = IB_MTU_1024;
	rig_up(r, r->net.node[0]);
	assert_int_equal(sm_group_next(r->sm, NULL)->rec.mtu_code, IB_MTU_2048);
}

static void test_R17_an_empty_group_is_made_anew_for_a_smaller_member(void **state)
{
	struct rig r;

	smaller_comes_later(&r);
	net_cut(r.net.node[1], 17, false);
	net_run(&r.net, r.net.now + NS_SEC(2));
	assert_int_equal(sm_group_next(r.sm, NULL)->rec.mtu_code, IB_MTU_1024);
	assert_int_equal(r.deleted, 1);
	rig_down(&r);
}

static void test_R17_a_smaller_member_is_said_where_others_would_lose(void **state)
{
	struct rig r;
	char said[512];

	smaller_comes_later(&r);
	join(&r, sm_group_next(r.sm, NULL), host(&r, 1), MCM_JOIN_FULL);
	net_cut(r.net.node[1], 17, false);
	net_run(&r.net, r.net.now + NS_SEC(2));
	assert_int_equal(sm_group_next(r.sm, NULL)->rec.mtu_code, IB_MTU_2048);
	assert_int_equal(r.deleted, 0);
	assert_non_null(strstr(r.net.last_warn, "\"h4 HCA-1\" port 1 carries MTU 1024"));
	memcpy(said, r.net.last_warn, sizeof(said));
	r.net.last_warn[0] = '\0';
	sm_kick(r.sm, "test", r.net.now);
	net_run(&r.net, r.net.now + NS_SEC(2));
	assert_string_equal(r.net.last_warn, ""); /* the SM must not repeat the warning */
	/* Load the partitions again, as the log line tells the administrator to do. */
	sm_set_partitions(r.sm, sm_partitions_default(), r.net.now);
	net_run(&r.net, r.net.now + NS_SEC(2));
	assert_int_equal(sm_group_next(r.sm, NULL)->rec.mtu_code, IB_MTU_1024);
	rig_down(&r);
}

static void test_I24_receivers_get_branches(void **state)
{
	struct sm_group *g;
	struct rig r;
	bool rx[MEMBERS_MAX] = { false };

	triangle(&r.net);
	rig_up(&r, r.net.node[0]);
	g = make_group(&r, 1);
	for (unsigned int i = 1; i <= 6; i += 2) {
		join(&r, g, host(&r, i), MCM_JOIN_FULL);
		rx[2 + i] = true;
	}
	join(&r, g, host(&r, 2), MCM_JOIN_NON);
	rx[2 + 2] = true;
	for (unsigned int i = 1; i <= 6; i++) {
		if (rx[2 + i])
			assert_delivery(&r, host(&r, i), g->rec.mlid, rx);
	}
	rig_down(&r);
}

static void test_I24_send_only_members_get_a_way_in_and_nothing_back(void **state)
{
	struct sm_group *g;
	struct rig r;
	bool rx[MEMBERS_MAX] = { false };

	triangle(&r.net);
	rig_up(&r, r.net.node[0]);
	g = make_group(&r, 1);
	join(&r, g, host(&r, 1), MCM_JOIN_FULL);
	join(&r, g, host(&r, 3), MCM_JOIN_SEND_ONLY_NON);
	join(&r, g, host(&r, 5), MCM_JOIN_SEND_ONLY_FULL);
	rx[2 + 1] = true;
	assert_delivery(&r, host(&r, 3), g->rec.mlid, rx);
	assert_delivery(&r, host(&r, 5), g->rec.mlid, rx);
	assert_delivery(&r, host(&r, 1), g->rec.mlid, rx);
	/* s1 must send no copies to s2 and s3, because the members there only send. */
	assert_int_equal(
		net_flood(host(&r, 1), g->rec.mlid, on_hit, &(struct copies){ .net = &r.net }), 0);
	rig_down(&r);
}

static void test_I24_nothing_leaves_the_receivers_branch(void **state)
{
	struct sm_group *g;
	struct rig r;
	bool rx[MEMBERS_MAX] = { false };

	triangle(&r.net);
	rig_up(&r, r.net.node[0]);
	g = make_group(&r, 1);
	/* The tree was built for the first member, which is on s1, but all receivers are on s2. */
	join(&r, g, host(&r, 1), MCM_JOIN_SEND_ONLY_FULL);
	join(&r, g, host(&r, 3), MCM_JOIN_FULL);
	join(&r, g, host(&r, 4), MCM_JOIN_FULL);
	rx[2 + 3] = rx[2 + 4] = true;
	assert_delivery(&r, host(&r, 1), g->rec.mlid, rx);
	assert_delivery(&r, host(&r, 3), g->rec.mlid, rx);
	assert_int_equal(
		net_flood(host(&r, 3), g->rec.mlid, on_hit, &(struct copies){ .net = &r.net }), 1);
	rig_down(&r);
}

/*
 * s1 does not support multicast, so it has no MFT. The tree must connect s2 and s3 by the cable
 * between them. The hosts on s1 cannot be part of the tree.
 */
static void test_a_switch_without_multicast_is_gone_around(void **state)
{
	bool receives[16] = { 0 };
	struct sm_group *g;
	struct rig r;

	triangle(&r.net);
	r.net.node[0]->si.mft_cap = 0;
	rig_up(&r, r.net.node[1]);
	assert_int_equal(sm_groups_max(r.sm), NET_MLIDS);
	assert_non_null(sm_group_next(r.sm, NULL)); /* the broadcast group exists */
	g = make_group(&r, 1);
	assert_false(sm_group_reaches(r.sm, g, host(&r, 1)->guid));
	assert_true(sm_group_reaches(r.sm, g, host(&r, 3)->guid));
	join(&r, g, host(&r, 3), MCM_JOIN_FULL);
	join(&r, g, host(&r, 5), MCM_JOIN_FULL);
	receives[2 + 3] = receives[2 + 5] = true;
	assert_delivery(&r, host(&r, 3), g->rec.mlid, receives);
	assert_delivery(&r, host(&r, 5), g->rec.mlid, receives);
	assert_string_equal(r.net.last_warn, "");
	/*
	 * A member can be unreachable, for example because it joined before its switch lost its
	 * tables. The other members must get the packets nevertheless, and the log must have a line
	 * about the unreachable member.
	 */
	join(&r, g, host(&r, 1), MCM_JOIN_FULL);
	assert_delivery(&r, host(&r, 3), g->rec.mlid, receives);
	assert_non_null(strstr(r.net.last_warn, "1 of its 3 members"));
	assert_int_equal(r.net.errors, 0);
	rig_down(&r);
}

/*
 * Three switches in a line. The middle switch has room for few groups, so the members of any
 * further group are in two separate parts of the fabric. The tree must connect the members in the
 * part that has more of them.
 */
static void test_the_part_with_most_members_has_the_tree(void **state)
{
	bool receives[16] = { 0 };
	struct sm_group *g;
	struct rig r;

	net_init(&r.net);
	for (int i = 0; i < 3; i++)
		net_switch(&r.net, 20);
	net_link(r.net.node[0], 1, r.net.node[1], 1);
	net_link(r.net.node[1], 2, r.net.node[2], 1);
	for (unsigned int i = 0; i < 6; i++)
		net_link(r.net.node[i / 2], 16 + i % 2, net_ca(&r.net, 1), 1);
	r.net.node[1]->si.mft_cap = 32;
	rig_up(&r, r.net.node[0]);
	for (unsigned int i = 0; i < 31; i++)
		make_group(&r, 100 + i);
	g = make_group(&r, 1);
	assert_true(g->rec.mlid >= IB_LID_MCAST_MIN + 32);
	join(&r, g, host(&r, 1), MCM_JOIN_FULL);
	assert_true(sm_group_reaches(r.sm, g, host(&r, 2)->guid));
	assert_false(sm_group_reaches(r.sm, g, host(&r, 3)->guid));
	assert_false(sm_group_reaches(r.sm, g, host(&r, 5)->guid));
	join(&r, g, host(&r, 5), MCM_JOIN_FULL);
	join(&r, g, host(&r, 6), MCM_JOIN_FULL);
	sm_kick(r.sm, "test", r.net.now);
	net_run(&r.net, r.net.now + NS_SEC(2));
	receives[2 + 5] = receives[2 + 6] = true;
	assert_delivery(&r, host(&r, 5), g->rec.mlid, receives);
	rig_down(&r);
}

static void test_I24_leaving_closes_the_branch(void **state)
{
	struct sm_group *g;
	struct rig r;
	bool rx[MEMBERS_MAX] = { false };

	triangle(&r.net);
	rig_up(&r, r.net.node[0]);
	g = make_group(&r, 1);
	join(&r, g, host(&r, 1), MCM_JOIN_FULL);
	join(&r, g, host(&r, 3), MCM_JOIN_FULL | MCM_JOIN_SEND_ONLY_NON);
	join(&r, g, host(&r, 6), MCM_JOIN_FULL);
	assert_int_equal(sm_group_leave(r.sm, g, host(&r, 3)->guid, MCM_JOIN_FULL, r.net.now),
			 MCM_JOIN_SEND_ONLY_NON);
	net_run(&r.net, r.net.now + NS_MSEC(100));
	rx[2 + 1] = rx[2 + 6] = true;
	assert_delivery(&r, host(&r, 1), g->rec.mlid, rx);
	assert_delivery(&r, host(&r, 3), g->rec.mlid, rx);
	assert_delivery(&r, host(&r, 6), g->rec.mlid, rx);
	rig_down(&r);
}

static void test_group_ends_with_its_last_full_member(void **state)
{
	struct sm_group *g;
	struct rig r;
	uint16_t mlid;
	ib_gid mgid;

	triangle(&r.net);
	rig_up(&r, r.net.node[0]);
	g = make_group(&r, 1);
	mlid = g->rec.mlid;
	mgid = g->rec.mgid;
	join(&r, g, host(&r, 1), MCM_JOIN_FULL);
	join(&r, g, host(&r, 2), MCM_JOIN_SEND_ONLY_FULL);
	join(&r, g, host(&r, 5), MCM_JOIN_NON);
	assert_int_equal(sm_group_leave(r.sm, g, host(&r, 3)->guid, 1, r.net.now), -ENOENT);
	assert_int_equal(sm_group_leave(r.sm, g, host(&r, 5)->guid, 1, r.net.now), -EINVAL);
	assert_int_equal(sm_group_leave(r.sm, g, host(&r, 1)->guid, 1, r.net.now), 0);
	assert_int_equal(r.deleted, 0);
	assert_int_equal(sm_group_leave(r.sm, g, host(&r, 2)->guid, 8, r.net.now), 0);
	assert_int_equal(r.deleted, 1);
	assert_true(ib_gid_equal(&r.last_deleted, &mgid));
	assert_null(sm_group_find(r.sm, &mgid));
	net_run(&r.net, r.net.now + NS_MSEC(100));
	for (unsigned int s = 0; s < 3; s++) {
		for (unsigned int w = 0; w < 4; w++)
			assert_int_equal(r.net.node[s]->mft[mlid - 0xc000][w], 0);
	}
	rig_down(&r);
}

static void test_I17_join_is_answered_after_the_mft_writes(void **state)
{
	struct answer a = { 0 }, b = { 0 };
	struct sm_group *g;
	struct rig r;
	ib_gid gid;

	triangle(&r.net);
	rig_up(&r, r.net.node[0]);
	r.net.latency = NS_MSEC(5);
	g = make_group(&r, 1);
	gid = gid_of(host(&r, 1));
	assert_int_equal(sm_group_join(r.sm, g, &gid, 1, false, on_done, &a, r.net.now), 0);
	gid = gid_of(host(&r, 5));
	assert_int_equal(sm_group_join(r.sm, g, &gid, 1, false, on_done, &b, r.net.now), 0);
	assert_int_equal(a.calls + b.calls, 0);
	while (!b.calls) {
		/* The SM may report that a join is done only after it has written the MFTs. */
		net_run(&r.net, timers_next(&r.net.timers));
	}
	assert_int_equal(a.calls, 1);
	assert_int_equal(a.status, 0);
	assert_int_equal(b.status, 0);
	{
		bool rx[MEMBERS_MAX] = { false };

		rx[2 + 1] = rx[2 + 5] = true;
		assert_delivery(&r, host(&r, 1), g->rec.mlid, rx);
		assert_delivery(&r, host(&r, 5), g->rec.mlid, rx);
	}
	/*
	 * This port is a member already, so no MFT needs to be written, and the join is done at
	 * once.
	 */
	b.calls = 0;
	assert_int_equal(sm_group_join(r.sm, g, &gid, 1, false, on_done, &b, r.net.now), 0);
	assert_int_equal(b.calls, 1);
	rig_down(&r);
}

static void test_I17_join_is_answered_after_200_ms_anyway(void **state)
{
	struct answer a = { 0 };
	struct sm_group *g;
	struct rig r;
	ns_t start;
	ib_gid gid;

	triangle(&r.net);
	rig_up(&r, r.net.node[0]);
	g = make_group(&r, 1);
	join(&r, g, host(&r, 1), MCM_JOIN_FULL);
	r.net.node[2]->dead = true;
	gid = gid_of(host(&r, 5));
	start = r.net.now;
	assert_int_equal(sm_group_join(r.sm, g, &gid, 1, false, on_done, &a, start), 0);
	net_run(&r.net, start + NS_SEC(1));
	assert_int_equal(a.calls, 1);
	assert_int_equal(a.status, -ETIMEDOUT);
	assert_int_equal(a.at - start, NS_MSEC(200));
	rig_down(&r);
}

static void test_pending_joins_end_with_the_sm(void **state)
{
	struct answer a = { 0 };
	struct sm_group *g;
	struct rig r;
	ib_gid gid;

	triangle(&r.net);
	rig_up(&r, r.net.node[0]);
	g = make_group(&r, 1);
	gid = gid_of(host(&r, 1));
	assert_int_equal(sm_group_join(r.sm, g, &gid, 1, false, on_done, &a, r.net.now), 0);
	rig_down(&r);
	assert_int_equal(a.calls, 1);
	assert_int_equal(a.status, -ECANCELED);
}

static void test_groups_survive_a_resweep_and_a_cut_link(void **state)
{
	unsigned int sets;
	struct sm_group *g;
	struct rig r;
	bool rx[MEMBERS_MAX] = { false };

	triangle(&r.net);
	rig_up(&r, r.net.node[0]);
	g = make_group(&r, 1);
	for (unsigned int i = 1; i <= 6; i++) {
		join(&r, g, host(&r, i), MCM_JOIN_FULL);
		rx[2 + i] = true;
	}
	sets = r.net.node[0]->mft_sets + r.net.node[1]->mft_sets + r.net.node[2]->mft_sets;
	net_run(&r.net, r.net.now + NS_SEC(3));
	sm_kick(r.sm, "test", r.net.now);
	net_run(&r.net, r.net.now + NS_SEC(3));
	/* The tree has not changed, so the SM must write no MFT. */
	assert_int_equal(
		r.net.node[0]->mft_sets + r.net.node[1]->mft_sets + r.net.node[2]->mft_sets, sets);
	for (unsigned int port = 1; port <= 2; port++) {
		net_cut(r.net.node[0], port, true);
		net_run(&r.net, r.net.now + NS_SEC(1));
		for (unsigned int i = 1; i <= 6; i++)
			assert_delivery(&r, host(&r, i), g->rec.mlid, rx);
		net_cut(r.net.node[0], port, false);
		net_run(&r.net, r.net.now + NS_SEC(1));
		for (unsigned int i = 1; i <= 6; i++)
			assert_delivery(&r, host(&r, i), g->rec.mlid, rx);
	}
	rig_down(&r);
}

static void test_reset_switch_gets_its_mft_again(void **state)
{
	struct sm_group *g;
	struct rig r;
	bool rx[MEMBERS_MAX] = { false };

	triangle(&r.net);
	rig_up(&r, r.net.node[0]);
	g = make_group(&r, 1);
	for (unsigned int i = 3; i <= 5; i++) {
		join(&r, g, host(&r, i), MCM_JOIN_FULL);
		rx[2 + i] = true;
	}
	net_reset(r.net.node[1]);
	for (unsigned int p = 1; p <= 2; p++)
		net_cut(r.net.node[1], p, false);
	net_run(&r.net, r.net.now + NS_SEC(12));
	for (unsigned int i = 3; i <= 5; i++)
		assert_delivery(&r, host(&r, i), g->rec.mlid, rx);
	rig_down(&r);
}

static void test_membership_ends_with_its_port(void **state)
{
	struct sm_group *g;
	struct rig r;
	ib_gid mgid;

	triangle(&r.net);
	rig_up(&r, r.net.node[0]);
	g = make_group(&r, 1);
	mgid = g->rec.mgid;
	join(&r, g, host(&r, 1), MCM_JOIN_FULL);
	join(&r, g, host(&r, 4), MCM_JOIN_FULL);
	net_cut(r.net.node[1], 17, true);
	net_run(&r.net, r.net.now + NS_SEC(1));
	assert_non_null(sm_group_find(r.sm, &mgid));
	assert_null(sm_group_member(g, host(&r, 4)->guid));
	net_cut(r.net.node[0], 16, true);
	net_run(&r.net, r.net.now + NS_SEC(1));
	assert_null(sm_group_find(r.sm, &mgid));
	assert_int_equal(r.deleted, 1);
	rig_down(&r);
}

static void test_I22_mlids_run_out(void **state)
{
	struct ib_mcmember_rec rec = { .pkey = 0xffff };
	struct sm_group *g;
	struct rig r;

	triangle(&r.net);
	rig_up(&r, r.net.node[0]);
	/*
	 * The switches have room for NET_MLIDS groups. One of these groups is the broadcast group,
	 * and this loop makes the other groups.
	 */
	for (unsigned int i = 1; i < NET_MLIDS; i++)
		make_group(&r, i);
	rec.mgid.raw[0] = 0xff;
	assert_int_equal(sm_group_create(r.sm, &rec, false, &g, r.net.now), -ENOSPC);
	sm_group_delete(r.sm, sm_group_by_mlid(r.sm, 0xc005), r.net.now);
	assert_int_equal(sm_group_create(r.sm, &rec, false, &g, r.net.now), 0);
	assert_int_equal(g->rec.mlid, 0xc005);
	assert_int_equal(sm_group_create(r.sm, &rec, false, &g, r.net.now), -EEXIST);
	rec.mgid.raw[0] = 0xfe;
	assert_int_equal(sm_group_create(r.sm, &rec, false, &g, r.net.now), -EINVAL);
	rig_down(&r);
}

/*
 * Members join and leave during sweeps, and links go up and down. In the end the packets of every
 * group must reach all its members, and no other port.
 */
static void storm(uint64_t seed)
{
	struct prng p;
	struct rig r;

	net_init(&r.net);
	net_random(&r.net, seed, 5, 12, 1);
	rig_up(&r, r.net.node[0]);
	prng_seed(&p, seed);
	for (unsigned int i = 0; i < 4; i++)
		make_group(&r, i);
	for (unsigned int step = 0; step < 200; step++) {
		struct sm_group *g = NULL;
		const struct net_port *port = &r.net.node[5 + prng_below(&p, 12)]->port[1];
		ib_gid gid = gid_of(port);

		for (unsigned int k = prng_below(&p, 4) + 1; k; k--)
			g = sm_group_next(r.sm, g) ? sm_group_next(r.sm, g) : g;
		if (prng_below(&p, 3))
			assert_int_equal(sm_group_join(r.sm, g, &gid, 1 << prng_below(&p, 4), false,
						       NULL, NULL, r.net.now),
					 0);
		else if (sm_group_member(g, port->guid) && g->nmembers > 3)
			sm_group_leave(r.sm, g, port->guid,
				       sm_group_member(g, port->guid)->join_state, r.net.now);
		if (prng_below(&p, 20) == 0)
			sm_kick(r.sm, "test", r.net.now);
		net_run(&r.net, r.net.now + prng_below(&p, 2000000));
		if (sm_group_next(r.sm, NULL) == NULL)
			break;
	}
	net_run(&r.net, r.net.now + NS_SEC(2));
	for (struct sm_group *g = sm_group_next(r.sm, NULL); g; g = sm_group_next(r.sm, g)) {
		bool rx[MEMBERS_MAX] = { false };
		struct sm_mcmember *m;

		list_for_each (m, &g->members, link) {
			for (unsigned int i = 5; i < r.net.n; i++) {
				if (r.net.node[i]->port[1].guid == m->port_guid)
					rx[i] = m->join_state & 3;
			}
		}
		list_for_each (m, &g->members, link) {
			for (unsigned int i = 5; i < r.net.n; i++) {
				if (r.net.node[i]->port[1].guid == m->port_guid)
					assert_delivery(&r, &r.net.node[i]->port[1], g->rec.mlid,
							rx);
			}
		}
	}
	rig_down(&r);
}

static void test_I24_random_membership(void **state)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		print_message("seed %d\n", (int)seed);
		storm(seed);
	}
}

/* Check that no packet from any host to any group goes in a loop. */
static void assert_no_storm(struct rig *r, unsigned int switches, const char *what)
{
	for (struct sm_group *g = sm_group_next(r->sm, NULL); g; g = sm_group_next(r->sm, g)) {
		for (unsigned int i = switches; i < r->net.n; i++) {
			struct copies c = { .net = &r->net };

			if (net_flood(&r->net.node[i]->port[1], g->rec.mlid, on_hit, &c) < 0)
				fail_msg("%s: a packet from %s to 0x%04x goes in a loop", what,
					 r->net.node[i]->desc, g->rec.mlid);
		}
	}
}

/*
 * Links between switches go down and come up, so that trees change. No packet may go in a loop at
 * any moment, also not between the writes of two tables. @whole: each sweep reads the whole subnet
 */
static void no_storm(uint64_t seed, bool whole)
{
	const unsigned int switches = 7, hosts = 14;
	struct sm_cfg cfg = sm_cfg_default();
	struct prng p;
	struct rig r;

	net_init(&r.net);
	net_random(&r.net, seed, switches, hosts, 1);
	for (unsigned int i = 0; i < switches; i++)
		net_join(r.net.node[i], r.net.node[(i + 1) % switches]);
	cfg.partial_sweeps = !whole;
	r.sm = net_sm(r.net.node[0], &cfg);
	assert_true(net_until_up(&r.net, r.sm, 1));
	prng_seed(&p, seed);
	for (unsigned int i = 1; i < 3; i++) {
		struct sm_group *g = make_group(&r, i);

		for (unsigned int h = i; h < hosts; h++)
			join(&r, g, &r.net.node[switches + h]->port[1], 1);
	}
	for (unsigned int step = 0; step < 12; step++) {
		struct net_node *n = r.net.node[prng_below(&p, switches)];
		unsigned int port = 1 + prng_below(&p, 4);
		ns_t end = r.net.now + NS_SEC(1);

		if (!n->port[port].peer || !n->port[port].peer->node->lft)
			continue;
		net_cut(n, port, !n->port[port].cut);
		for (; r.net.now < end; net_run(&r.net, ns_min(end, timers_next(&r.net.timers))))
			assert_no_storm(&r, switches, whole ? "sweeps of all" : "partial sweeps");
	}
	rig_down(&r);
}

static void test_I24_trees_change_without_a_storm(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		no_storm(seed, false);
		no_storm(seed, true);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_I16_broadcast_group_of_the_default_partition),
		cmocka_unit_test(test_R16_to_R20_parameters_of_the_broadcast_group),
		cmocka_unit_test(test_R17_group_mtu_is_not_above_a_link),
		cmocka_unit_test(test_R17_only_the_members_links_count),
		cmocka_unit_test(test_R17_an_empty_group_is_made_anew_for_a_smaller_member),
		cmocka_unit_test(test_R17_a_smaller_member_is_said_where_others_would_lose),
		cmocka_unit_test(test_I24_receivers_get_branches),
		cmocka_unit_test(test_I24_send_only_members_get_a_way_in_and_nothing_back),
		cmocka_unit_test(test_I24_nothing_leaves_the_receivers_branch),
		cmocka_unit_test(test_a_switch_without_multicast_is_gone_around),
		cmocka_unit_test(test_the_part_with_most_members_has_the_tree),
		cmocka_unit_test(test_I24_leaving_closes_the_branch),
		cmocka_unit_test(test_group_ends_with_its_last_full_member),
		cmocka_unit_test(test_I17_join_is_answered_after_the_mft_writes),
		cmocka_unit_test(test_I17_join_is_answered_after_200_ms_anyway),
		cmocka_unit_test(test_pending_joins_end_with_the_sm),
		cmocka_unit_test(test_groups_survive_a_resweep_and_a_cut_link),
		cmocka_unit_test(test_reset_switch_gets_its_mft_again),
		cmocka_unit_test(test_membership_ends_with_its_port),
		cmocka_unit_test(test_I22_mlids_run_out),
		cmocka_unit_test(test_I24_random_membership),
		cmocka_unit_test(test_I24_trees_change_without_a_storm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "fabric/fabric.h"
#include "partition/partition.h"
#include "sm/sm.h"

/*
 * Tests of the SM on a simulated fabric, with real packets, the SMAs of the nodes, traps and link
 * training.
 */

struct rig {
	struct timers ts;
	struct pkt_pool *pool;
	struct fabric *f;
	ns_t now;
	struct log_sink log;
	unsigned int errors;
};

static void on_log(const struct log_sink *sink, enum log_level lvl, const char *fmt, va_list ap)
{
	struct rig *r = sink->ctx;

	r->errors += lvl == LOG_LVL_ERR;
	if (!getenv("SM_TEST_LOG"))
		return;
	fprintf(stderr, "%9.3f ms ", (double)r->now / 1e6);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

static void rig_init(struct rig *r, struct topo *t)
{
	struct fabric_cfg fc = { .timers = &r->ts };

	memset(r, 0, sizeof(*r));
	assert_non_null(t);
	timers_init(&r->ts);
	r->now = NS_SEC(1);
	r->log = (struct log_sink){ .emit = on_log, .ctx = r, .max = LOG_LVL_INFO };
	r->pool = pkt_pool_create(32768, 512);
	fc.pool = r->pool;
	fc.log = &r->log;
	assert_int_equal(fabric_create(&r->f, t, &fc, r->now), 0);
	topo_free(t);
}

static void rig_fini(struct rig *r)
{
	fabric_destroy(r->f);
	timers_fini(&r->ts);
	assert_int_equal(pkt_pool_pkts_used(r->pool), 0);
	pkt_pool_destroy(r->pool);
}

static void rig_pass(struct rig *r, ns_t t)
{
	ns_t end = r->now + t;

	for (;;) {
		do {
			timers_run(&r->ts, r->now);
		} while (fabric_run(r->f, r->now) || timers_next(&r->ts) <= r->now);
		if (timers_next(&r->ts) > end)
			break;
		r->now = timers_next(&r->ts);
	}
	r->now = end;
}

static struct node *node_at(struct rig *r, unsigned int i)
{
	return fabric_node_node(fabric_node_at(r->f, i));
}

/* Start an SM at the first end port of node @i. */
static struct sm *sm_at(struct rig *r, unsigned int i, uint8_t priority)
{
	struct sm_cfg cfg = sm_cfg_default();
	struct node *n = node_at(r, i);
	uint8_t port = node_is_switch(n) ? 0 : 1;
	struct sm *sm = NULL;

	cfg.priority = priority;
	assert_int_equal(sm_create(&sm, n->port[port].ep, &cfg, &r->ts, &r->log), 0);
	node_set_cap(n, port, SMP_CAP_IS_SM, true, r->now);
	sm_start(sm, r->now);
	return sm;
}

static void sm_stop(struct rig *r, unsigned int i, struct sm *sm)
{
	sm_destroy(sm);
	node_set_cap(node_at(r, i), node_is_switch(node_at(r, i)) ? 0 : 1, SMP_CAP_IS_SM, false,
		     r->now);
}

/*
 * Follow the switches' own LFTs from port @at towards @dlid. Returns the number of hops, or -1 if
 * the packet does not arrive.
 */
static int walk(struct rig *r, struct fabric_port *at, uint16_t dlid)
{
	for (int hops = 1; at && hops < 64; hops++) {
		struct node *n = fabric_node_node(fabric_port_node(at));
		struct node_port *np = &n->port[fabric_port_num(at)];
		uint8_t out;

		if (fabric_link_state(at) != FABRIC_LINK_UP || !node_port_active(np))
			return -1;
		at = fabric_port_peer(at);
		n = fabric_node_node(fabric_port_node(at));
		np = node_end_port(n, (uint8_t)fabric_port_num(at));
		if (dlid >= np->pi.lid && dlid < np->pi.lid + (1 << np->pi.lmc))
			return hops;
		if (!node_is_switch(n))
			return -1;
		out = n->sw->lft[dlid];
		at = out && out != SMP_LFT_NONE ? fabric_node_port(fabric_port_node(at), out)
						: NULL;
	}
	return -1;
}

static bool linked(struct rig *r, unsigned int i, unsigned int port)
{
	struct fabric_port *p = fabric_node_port(fabric_node_at(r->f, i), port);

	return p && fabric_link_state(p) == FABRIC_LINK_UP;
}

/* Check that each CA port reaches the LIDs of the end ports of all other nodes. */
static void assert_connected(struct rig *r)
{
	for (unsigned int i = 0; i < fabric_nnodes(r->f); i++) {
		for (unsigned int p = 1; p <= node_at(r, i)->info.nports; p++) {
			if (node_is_switch(node_at(r, i)) || !linked(r, i, p))
				continue;
			for (unsigned int k = 0; k < fabric_nnodes(r->f); k++) {
				struct node *d = node_at(r, k);
				unsigned int q = node_is_switch(d) ? 0 : 1;

				if (k == i || (q && !linked(r, k, q)))
					continue;
				if (walk(r, fabric_node_port(fabric_node_at(r->f, i), p),
					 d->port[q].pi.lid) < 0)
					fail_msg("%s/%u does not reach %s/%u",
						 fabric_node_name(fabric_node_at(r->f, i)), p,
						 fabric_node_name(fabric_node_at(r->f, k)), q);
			}
		}
	}
}

static enum smp_sm_state state_of(const struct sm *sm)
{
	struct sm_status st;

	sm_status(sm, &st);
	return st.self.state;
}

static void test_I16_random_fabrics_come_up(void **state)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct topo_gen_random g = { .seed = seed,
					     .cas = 3 + (unsigned int)seed,
					     .switches = 1 + (unsigned int)seed % 6,
					     .max_ca_ports = 2,
					     .extra_links = (unsigned int)seed };
		struct sm_status st;
		struct rig r;
		struct sm *sm;

		print_message("seed %d\n", (int)seed);
		rig_init(&r, topo_gen_random(&g));
		sm = sm_at(&r, (unsigned int)seed % fabric_nnodes(r.f), 0);
		rig_pass(&r, NS_SEC(1));
		assert_non_null(sm_db(sm));
		assert_int_equal(sm_db(sm)->nnodes, fabric_nnodes(r.f));
		assert_connected(&r);
		assert_int_equal(r.errors, 0);
		sm_status(sm, &st);
		assert_int_equal(st.timeouts, 0);
		sm_stop(&r, (unsigned int)seed % fabric_nnodes(r.f), sm);
		rig_fini(&r);
	}
}

static void test_I14_link_changes_are_followed_by_traps(void **state)
{
	struct fabric_port *p;
	struct sm_status st;
	struct rig r;
	struct sm *sm;

	rig_init(&r, topo_gen_demo(6, 3));
	sm = sm_at(&r, 0, 0);
	rig_pass(&r, NS_SEC(3));
	assert_connected(&r);
	/* Find a cable of the ring between two switches, and pull it. */
	for (unsigned int i = 1;; i++) {
		p = fabric_node_port(fabric_node_find(r.f, "Switch1"), i);
		assert_non_null(p);
		if (fabric_port_peer(p) && !fabric_node_hca(fabric_port_node(fabric_port_peer(p))))
			break;
	}
	assert_int_equal(fabric_link_set(p, false, r.now), 0);
	rig_pass(&r, NS_MSEC(200));
	assert_connected(&r);
	sm_status(sm, &st);
	assert_true(st.traps >= 1);
	assert_int_equal(fabric_link_set(p, true, r.now), 0);
	rig_pass(&r, NS_MSEC(200));
	assert_int_equal(fabric_link_state(p), FABRIC_LINK_UP);
	assert_connected(&r);
	sm_status(sm, &st);
	assert_int_equal(st.light_sweeps, 0);
	sm_stop(&r, 0, sm);
	rig_fini(&r);
}

static void test_I15_capability_trap_makes_the_master_hand_over(void **state)
{
	struct rig r;
	struct sm *a, *b;

	rig_init(&r, topo_gen_demo(4, 2));
	a = sm_at(&r, 0, 3);
	rig_pass(&r, NS_SEC(3));
	assert_int_equal(state_of(a), SMP_SM_MASTER);
	/*
	 * An SM with a higher priority starts on a CA. Only the CA's trap 144 (capability change)
	 * tells the master SM about the new SM, which must become the master.
	 */
	b = sm_at(&r, fabric_nnodes(r.f) - 1, 8);
	rig_pass(&r, NS_SEC(3));
	assert_int_equal(state_of(a), SMP_SM_STANDBY);
	assert_int_equal(state_of(b), SMP_SM_MASTER);
	assert_connected(&r);
	sm_stop(&r, fabric_nnodes(r.f) - 1, b);
	rig_pass(&r, NS_SEC(15));
	assert_int_equal(state_of(a), SMP_SM_MASTER);
	assert_connected(&r);
	sm_stop(&r, 0, a);
	rig_fini(&r);
}

static void test_I26_enforcing_ports_let_management_through(void **state)
{
	struct sm_partitions *ps = NULL;
	static const char text[] = "Lab=0x8001, ipoib : \"Hca1\"=full;";
	char err[128];
	struct rig r;
	struct sm *sm;

	rig_init(&r, topo_gen_demo(4, 2));
	sm = sm_at(&r, 0, 0);
	assert_int_equal(sm_partitions_parse(&ps, "t", text, sizeof(text) - 1, err, sizeof(err)),
			 0);
	sm_set_partitions(sm, ps, r.now);
	rig_pass(&r, NS_SEC(3));
	assert_connected(&r);
	for (unsigned int i = 0; i < fabric_nnodes(r.f); i++) {
		struct fabric_node *fn = fabric_node_at(r.f, i);
		struct node *n = fabric_node_node(fn);
		struct node_port *sp;
		struct fabric_port *p;

		if (node_is_switch(n))
			continue;
		p = fabric_port_peer(fabric_node_port(fn, 1));
		sp = &fabric_node_node(fabric_port_node(p))->port[fabric_port_num(p)];
		assert_true(sp->pi.part_enforce_in && sp->pi.part_enforce_out);
		assert_int_equal(n->port[1].pkeys[0], 0x7fff);
		assert_true(node_pkey_ok(sp, 0x7fff));
		assert_int_equal(node_pkey_ok(sp, 0x8001),
				 strcmp(fabric_node_name(fn), "Hca1") == 0);
	}
	sm_stop(&r, 0, sm);
	rig_fini(&r);
}

static void test_I6_mkey_protects_and_the_sm_knows_it(void **state)
{
	struct sm_cfg cfg = sm_cfg_default();
	struct sm_status st;
	struct sm *sm = NULL;
	struct rig r;

	cfg.mkey = 0x1122334455667788;
	cfg.mkey_protect = 2;
	cfg.mkey_lease = 60;
	rig_init(&r, topo_gen_demo(4, 2));
	assert_int_equal(sm_create(&sm, node_at(&r, 0)->port[0].ep, &cfg, &r.ts, &r.log), 0);
	sm_start(sm, r.now);
	rig_pass(&r, NS_SEC(3));
	sm_kick(sm, "test", r.now);
	rig_pass(&r, NS_SEC(30));
	sm_status(sm, &st);
	assert_int_equal(st.last.nodes, fabric_nnodes(r.f));
	assert_int_equal(st.timeouts, 0);
	for (unsigned int i = 0; i < fabric_nnodes(r.f); i++) {
		const struct node_port *p = node_end_port(node_at(&r, i), 1);

		assert_true(p->pi.mkey == cfg.mkey);
		assert_int_equal(p->pi.mkey_protect, 2);
		assert_int_equal(p->pi.mkey_violations, 0);
	}
	assert_connected(&r);
	sm_destroy(sm);
	rig_fini(&r);
}

static void test_sm_on_the_second_port_of_a_ca(void **state)
{
	static const char text[] = "Switch 8 \"S1\"\n[1] \"H1\"[1]\n[2] \"H1\"[2]\n[3] \"H2\"[1]\n"
				   "Ca 2 \"H1\"\nCa 1 \"H2\"\n";
	struct sm_cfg cfg = sm_cfg_default();
	struct topo_err err;
	struct topo *t = NULL;
	struct sm *sm = NULL;
	struct rig r;
	struct node *n;

	if (topo_parse(&t, "t", text, sizeof(text) - 1, NULL, &err))
		fail_msg("%s", err.text);
	rig_init(&r, t);
	n = fabric_node_node(fabric_node_find(r.f, "H1"));
	assert_int_equal(sm_create(&sm, n->port[2].ep, &cfg, &r.ts, &r.log), 0);
	sm_start(sm, r.now);
	rig_pass(&r, NS_SEC(3));
	assert_non_null(sm_db(sm));
	assert_int_equal(sm_db(sm)->self->num, 2);
	assert_int_equal(n->port[1].pi.sm_lid, n->port[2].pi.lid);
	assert_int_not_equal(n->port[1].pi.lid, n->port[2].pi.lid);
	assert_int_equal(n->port[1].pkeys[0], 0xffff);
	assert_connected(&r);
	assert_int_equal(r.errors, 0);
	sm_destroy(sm);
	rig_fini(&r);
}

/* Tell whether any entry of the switch's MFT contains @port. */
static bool in_a_tree(const struct node *n, unsigned int port)
{
	for (unsigned int i = 0; i < NODE_MCAST_LIDS; i++)
		if (node_mft_mask(n->sw, i)[port / 64] >> port % 64 & 1)
			return true;
	return false;
}

/*
 * A cable connects two ports of one switch; topology files, also those of ibsim, may contain such
 * cables. No route and no multicast tree may use this cable, because it leads to no other node.
 */
static void test_a_cable_between_two_ports_of_a_switch_harms_nobody(void **state)
{
	struct topo *t = topo_gen_demo(4, 2);
	unsigned int last, other = 1;
	struct fabric_port *p;
	struct node *n;
	uint32_t sw;
	struct rig r;
	struct sm *sm;

	assert_int_equal(topo_find(t, "Switch1", &sw), 0);
	last = t->node[sw]->nports;
	while (t->node[sw]->port[other].peer != TOPO_NO_PEER)
		other++;
	assert_int_equal(topo_link(t, sw, other, sw, last), 0);
	rig_init(&r, t);
	sm = sm_at(&r, 0, 0);
	rig_pass(&r, NS_SEC(3));
	assert_connected(&r);
	assert_int_equal(sm_db(sm)->nnodes, fabric_nnodes(r.f));
	n = fabric_node_node(fabric_node_find(r.f, "Switch1"));
	p = fabric_node_port(fabric_node_find(r.f, "Switch1"), last);
	assert_true(node_port_active(&n->port[last]) && node_port_active(&n->port[other]));
	assert_false(in_a_tree(n, last) || in_a_tree(n, other));
	for (unsigned int lid = 1; lid <= n->sw->si.lft_top; lid++)
		assert_true(n->sw->lft[lid] != last && n->sw->lft[lid] != other);
	/*
	 * When this cable is pulled and plugged, the SM must sweep as after a change of any other
	 * cable.
	 */
	assert_int_equal(fabric_link_set(p, false, r.now), 0);
	rig_pass(&r, NS_MSEC(200));
	assert_int_equal(fabric_link_set(p, true, r.now), 0);
	rig_pass(&r, NS_SEC(5));
	assert_true(node_port_active(&n->port[last]));
	assert_connected(&r);
	assert_int_equal(r.errors, 0);
	sm_stop(&r, 0, sm);
	rig_fini(&r);
}

static void test_fabric_of_a_hundred_nodes(void **state)
{
	struct sm_status st;
	struct rig r;
	struct sm *sm;

	rig_init(&r, topo_gen_demo(100, 8));
	sm = sm_at(&r, 0, 0);
	rig_pass(&r, NS_SEC(2));
	assert_connected(&r);
	sm_status(sm, &st);
	assert_int_equal(st.last.nodes, 108);
	assert_int_equal(st.timeouts, 0);
	sm_stop(&r, 0, sm);
	rig_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_I16_random_fabrics_come_up),
		cmocka_unit_test(test_I14_link_changes_are_followed_by_traps),
		cmocka_unit_test(test_I15_capability_trap_makes_the_master_hand_over),
		cmocka_unit_test(test_I26_enforcing_ports_let_management_through),
		cmocka_unit_test(test_I6_mkey_protects_and_the_sm_knows_it),
		cmocka_unit_test(test_sm_on_the_second_port_of_a_ca),
		cmocka_unit_test(test_a_cable_between_two_ports_of_a_switch_harms_nobody),
		cmocka_unit_test(test_fabric_of_a_hundred_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

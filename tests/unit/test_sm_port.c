/* SPDX-License-Identifier: BSD-2-Clause */

/* Tests the Sets of PortInfo with which a sweep configures, arms and activates ports. */

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "sm_net.h"

#include "partition/partition.h"

#define SEEDS 40

/* The test puts an SL into this text. If the SL is not 0, the SM writes SLtoVL tables, too. */
#define PARTITIONS "Default=0x7fff, ipoib, sl=%u : ALL=limited, SELF=full;\nLab=0x0001 : ALL=full;"

static void set_partitions(struct net *net, struct sm *sm, unsigned int sl)
{
	struct sm_partitions *ps;
	char text[256], err[256];

	snprintf(text, sizeof(text), PARTITIONS, sl);
	if (sm_partitions_parse(&ps, "test", text, strlen(text), err, sizeof(err)))
		fail_msg("%s", err);
	sm_set_partitions(sm, ps, net->now);
}

static void each_port(struct net *net, void (*fn)(struct net_port *p, void *ctx), void *ctx)
{
	for (unsigned int i = 0; i < net->n; i++) {
		struct net_node *n = net->node[i];

		for (unsigned int num = n->lft ? 0 : 1; num <= n->info.nports; num++)
			fn(&n->port[num], ctx);
	}
}

static void draw_caps(struct net_port *p, void *ctx)
{
	struct prng *rnd = ctx;

	p->pi.mtu_cap = (uint8_t)(IB_MTU_1024 + prng_below(rnd, 3));
	p->pi.vl_cap = (uint8_t)(1 + prng_below(rnd, 4));
}

static void arm(struct net_port *p, void *ctx)
{
	if (p->pi.port_state == IB_PORT_INIT)
		p->pi.port_state = IB_PORT_ARMED;
}

static void net_make(struct net *net, uint64_t seed)
{
	struct prng rnd;

	net_init(net);
	net_random(net, seed, 1 + (unsigned int)seed % 6, 4 + (unsigned int)seed % 9, 3);
	prng_seed(&rnd, seed);
	each_port(net, draw_caps, &rnd);
}

static struct sm *sm_make(struct net *net, uint64_t seed)
{
	struct sm *sm = net_sm(net->node[seed % net->n], NULL);

	set_partitions(net, sm, seed % 2);
	if (!net_until_up(net, sm, 1))
		fail_msg("seed %d: not up", (int)seed);
	return sm;
}

/*
 * Write the PortInfo of a port to @ret. If @lids is false, LIDs are left out, because they depend
 * on the order of discovery.
 */
static void info_of(const struct net_port *p, bool lids, uint8_t ret[SMP_PORT_INFO_LEN])
{
	struct smp_port_info pi = p->pi;

	if (!lids)
		pi.lid = pi.sm_lid = 0;
	smp_port_info_encode(ret, &pi);
}

static void same_port(const struct net_port *a, const struct net_port *b, bool lids, uint64_t seed)
{
	uint8_t x[SMP_PORT_INFO_LEN], y[SMP_PORT_INFO_LEN];

	info_of(a, lids, x);
	info_of(b, lids, y);
	if (memcmp(x, y, sizeof(x)) || memcmp(a->pkeys, b->pkeys, sizeof(a->pkeys)) ||
	    memcmp(a->sltovl, b->sltovl, sizeof(a->sltovl)))
		fail_msg("seed %d: \"%s\" port %u differs", (int)seed, a->node->desc, a->num);
}

static void same_switch(const struct net_node *a, const struct net_node *b, uint64_t seed)
{
	size_t pairs = (a->info.nports + 1u) * (a->info.nports + 1u);

	if (memcmp(a->lft, b->lft, 0xc000) || memcmp(a->mft, b->mft, NET_MLIDS * sizeof(*a->mft)) ||
	    memcmp(a->sltovl, b->sltovl, pairs * sizeof(*a->sltovl)))
		fail_msg("seed %d: a table of \"%s\" differs", (int)seed, a->desc);
}

static void same_net(const struct net *a, const struct net *b, bool lids, uint64_t seed)
{
	assert_int_equal(a->n, b->n);
	for (unsigned int i = 0; i < a->n; i++) {
		const struct net_node *x = a->node[i], *y = b->node[i];

		for (unsigned int num = x->lft ? 0 : 1; num <= x->info.nports; num++)
			same_port(&x->port[num], &y->port[num], lids, seed);
		if (x->lft && lids)
			same_switch(x, y, seed);
	}
}

/*
 * Check that a port in Initialize got two Sets of PortInfo: the first one configures and arms the
 * port, and the second one activates it.
 */
static void two_sets(struct net_port *p, void *ctx)
{
	bool linked = p->num && p->peer;

	if (p->pi_sets != (linked ? 2u : net_end(p) == p && !p->num ? 1u : 0u))
		fail_msg("seed %d: \"%s\" port %u got %u Sets", *(const int *)ctx, p->node->desc,
			 p->num, p->pi_sets);
	if (linked)
		assert_int_equal(p->pi.port_state, IB_PORT_ACTIVE);
}

/*
 * In one of two equal nets, an earlier SM has armed some ports. The SM must configure such a port
 * by a separate Set before it activates the port. It configures a port in Initialize by the same
 * Set that arms the port. In the end all ports and tables of both nets must be equal.
 */
static void test_I5_arming_configures_as_a_set_of_its_own_does(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct net init, armed;
		struct sm *sm[2];
		int n = (int)seed;

		net_make(&init, seed);
		net_make(&armed, seed);
		each_port(&armed, arm, NULL);
		sm[0] = sm_make(&init, seed);
		sm[1] = sm_make(&armed, seed);
		assert_int_equal(init.errors, 0);
		each_port(&init, two_sets, &n);
		same_net(&init, &armed, true, seed);
		sm_destroy(sm[0]);
		sm_destroy(sm[1]);
		net_fini(&init);
		net_fini(&armed);
	}
}

/*
 * Compare two nets as the previous test does, while SMPs are lost. The SM then repeats Sets. A port
 * refuses a repeated Set if the first one has already changed the port's state.
 */
static void test_I5_arming_configures_when_answers_are_lost(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct net lossy, armed;
		struct sm *sm[2];

		net_make(&lossy, seed);
		net_make(&armed, seed);
		each_port(&armed, arm, NULL);
		lossy.loss_ppm = 30000;
		sm[0] = sm_make(&lossy, seed);
		lossy.loss_ppm = 0;
		sm_kick(sm[0], "test", lossy.now);
		net_run(&lossy, lossy.now + NS_SEC(10));
		sm[1] = sm_make(&armed, seed);
		same_net(&lossy, &armed, false, seed);
		sm_destroy(sm[0]);
		sm_destroy(sm[1]);
		net_fini(&lossy);
		net_fini(&armed);
	}
}

/*
 * A port refuses a Set. The port's answer can contain the values of the request instead of the
 * port's real state, so the SM must not take the port for Armed.
 */
static void test_I5_a_port_that_refuses_to_be_armed_stays_in_init(void **state)
{
	struct net_node *s, *h;
	struct sm_status st;
	struct net net;
	struct sm *sm;

	net_init(&net);
	s = net_switch(&net, 4);
	h = net_ca(&net, 1);
	net_join(s, h);
	h->refuses_arm = true;
	sm = net_sm(s, NULL);
	assert_true(net_until_up(&net, sm, 1));
	assert_int_equal(h->port[1].pi.port_state, IB_PORT_INIT);
	assert_int_equal(sm_db_port_by_guid(sm_db(sm), h->port[1].guid)->pi.port_state,
			 IB_PORT_INIT);
	sm_status(sm, &st);
	assert_int_equal(st.last.errors, 1);
	assert_non_null(
		strstr(net.last_err, "refuses Set(PortInfo), modifier 0x1: MAD status 0x001c"));

	h->refuses_arm = false;
	sm_kick(sm, "test", net.now);
	net_run(&net, net.now + NS_SEC(1));
	assert_int_equal(h->port[1].pi.port_state, IB_PORT_ACTIVE);
	assert_int_equal(h->port[1].pi.lid, sm_db_port_by_guid(sm_db(sm), h->port[1].guid)->lid);
	assert_int_equal(h->port[1].reregisters, 1);
	sm_destroy(sm);
	net_fini(&net);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_I5_arming_configures_as_a_set_of_its_own_does),
		cmocka_unit_test(test_I5_arming_configures_when_answers_are_lost),
		cmocka_unit_test(test_I5_a_port_that_refuses_to_be_armed_stays_in_init),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

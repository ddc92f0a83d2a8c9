/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hostile peer behind an external port answers SMPs as if there were an endless subnet behind
 * this port. The first tests pretend this in different ways. The last two tests are about nodes of
 * the SM's own fabric.
 */
#include "sm_net.h"

#include <string.h>

#include "check.h"
#include "sm/priv.h"

#define HOSTS 4
#define OUT_PORT 20
#define NODES 64 /* sm_cfg.outside_nodes */

struct rig {
	struct net net;
	struct net_node *s1, *abyss;
	struct sm *sm;
};

static bool is_external(void *ctx, uint64_t node_guid, uint8_t port)
{
	const struct rig *r = ctx;

	return node_guid == r->s1->info.node_guid && port == OUT_PORT;
}

static void rig_init(struct rig *r, unsigned int ports)
{
	net_init(&r->net);
	r->s1 = net_switch(&r->net, 24);
	for (unsigned int i = 0; i < HOSTS; i++)
		net_join(r->s1, net_ca(&r->net, 1));
	r->abyss = net_ca(&r->net, 1);
	net_link(r->s1, OUT_PORT, r->abyss, 1);
	r->abyss->abyss_ports = ports;
}

static void rig_start(struct rig *r)
{
	struct sm_cfg cfg = sm_cfg_default();

	cfg.is_external = is_external;
	cfg.is_external_ctx = r;
	cfg.outside_nodes = NODES;
	r->sm = net_sm(r->s1, &cfg);
}

static void rig_down(struct rig *r)
{
	sm_destroy(r->sm);
	net_fini(&r->net);
}

static struct sm_sweep last(const struct rig *r)
{
	struct sm_status st;

	sm_status(r->sm, &st);
	return st.last;
}

static void assert_hosts_connected(struct rig *r)
{
	for (unsigned int i = 1; i <= HOSTS; i++) {
		for (unsigned int k = 1; k <= HOSTS; k++) {
			struct net_port *from = &r->net.node[i]->port[1];
			struct net_port *to = &r->net.node[k]->port[1];

			if (i != k)
				assert_int_equal(net_walk(from, to, to->pi.lid), 2);
		}
	}
}

static void test_nodes_behind_an_external_port_are_bounded(void **state)
{
	/* The peer shows few switches with many ports, or many switches with few ports. */
	static const unsigned int ports[] = { 254, 3 };

	for (unsigned int i = 0; i < ARRAY_SIZE(ports); i++) {
		struct rig r;

		rig_init(&r, ports[i]);
		rig_start(&r);
		assert_true(net_until_up(&r.net, r.sm, 1));
		assert_true(last(&r).nodes > 1 + HOSTS);
		assert_true(last(&r).nodes <= 1 + HOSTS + NODES);
		assert_true(sm_db(r.sm)->nports <= 25 + 2 * HOSTS + 8 * NODES);
		assert_true(last(&r).left_out > 0);
		assert_non_null(
			strstr(r.net.last_err, "\"s1 HCA-1\" port 20 are more than 64 nodes"));
		assert_hosts_connected(&r);
		/* The SM must log once that the limit was reached, and not in each sweep. */
		r.net.errors = 0;
		for (uint64_t gen = 2; gen < 6; gen++) {
			sm_kick(r.sm, "test", r.net.now);
			assert_true(net_until_up(&r.net, r.sm, gen));
			assert_true(last(&r).left_out > 0);
		}
		assert_int_equal(r.net.errors, 0);
		rig_down(&r);
	}
}

static void test_other_guids_each_sweep_do_not_use_up_lids(void **state)
{
	struct rig r;

	rig_init(&r, 30);
	rig_start(&r);
	for (uint64_t gen = 1; gen <= 60; gen++) { /* about 900 different switches in all */
		assert_true(net_until_up(&r.net, r.sm, gen));
		sm_kick(r.sm, "test", r.net.now);
	}
	assert_true(sm_db(r.sm)->top_lid < 1 + HOSTS + 3 * NODES);
	assert_hosts_connected(&r);
	rig_down(&r);
}

static void test_what_is_mute_behind_an_external_port_is_not_waited_for(void **state)
{
	struct rig r;
	ns_t start;

	rig_init(&r, 254);
	r.abyss->abyss_mute = true;
	rig_start(&r);
	start = r.net.now;
	assert_true(net_until_up(&r.net, r.sm, 1));
	assert_true(r.net.now - start < NS_SEC(10));
	assert_hosts_connected(&r);
	rig_down(&r);
}

static void test_what_is_slow_behind_an_external_port_is_waited_for_30_s(void **state)
{
	struct rig r;
	ns_t start;

	rig_init(&r, 3);
	r.abyss->abyss_delay = NS_MSEC(95); /* each answer arrives just before the time-out */
	rig_start(&r);
	start = r.net.now;
	while (!sm_db(r.sm) && r.net.now - start < NS_SEC(100))
		net_run(&r.net, r.net.now + NS_SEC(1));
	assert_non_null(sm_db(r.sm));
	assert_true(r.net.now - start < NS_SEC(40));
	assert_hosts_connected(&r);
	rig_down(&r);
}

/*
 * For a minute the peer causes a sweep every 100 ms, with dozens of faults in each. The SM must log
 * only few lines about these faults, but must log a fault elsewhere in the fabric.
 */
static void log_stays_short(struct rig *r, const char *word)
{
	rig_start(r);
	assert_true(net_until_up(&r->net, r->sm, 1));
	assert_true(last(r).errors > 20);
	assert_non_null(strstr(r->net.last_err, word));
	for (unsigned int i = 0; i < 600; i++) {
		sm_kick(r->sm, "test", r->net.now);
		net_run(&r->net, r->net.now + NS_MSEC(100));
	}
	assert_true(last(r).errors > 20);
	assert_in_range(r->net.errors, 10, 40);
	assert_non_null(strstr(r->net.last_err, "such lines were left out"));
	assert_hosts_connected(r);

	/*
	 * Sweep twice, because in the first sweep the peer perhaps uses up the number of lines that
	 * the log allows.
	 */
	r->net.node[2]->info.node_type = 9;
	for (unsigned int i = 0; i < 2; i++) {
		sm_kick(r->sm, "test", r->net.now);
		net_run(&r->net, r->net.now + NS_SEC(1));
	}
	assert_non_null(strstr(r->net.last_err, "impossible NodeInfo behind \"s1 HCA-1\" port 2"));
	rig_down(r);
}

static void test_faults_behind_an_external_port_do_not_fill_the_log(void **state)
{
	struct rig r;

	rig_init(&r, 60);
	r.abyss->abyss_guid = r.net.node[1]->info.node_guid;
	log_stays_short(&r, "duplicate GUID");

	rig_init(&r, 60);
	r.abyss->abyss_type = 9;
	log_stays_short(&r, "impossible NodeInfo");

	rig_init(&r, 3);
	r.abyss->abyss_status = MAD_STATUS_BAD_ATTR;
	log_stays_short(&r, "refuses");
}

/* The bound on nodes behind an external port must not apply to nodes of the SM's own fabric. */
static void test_nodes_that_are_not_outside_are_not_bounded(void **state)
{
	struct rig r;

	net_init(&r.net);
	net_random(&r.net, 5, 20, 2 * NODES, 1);
	r.s1 = r.net.node[0];
	rig_start(&r);
	assert_true(net_until_up(&r.net, r.sm, 1));
	assert_int_equal(last(&r).nodes, 20 + 2 * NODES);
	assert_int_equal(last(&r).left_out, 0);
	rig_down(&r);
}

/*
 * The SM reaches the second port of a CA over the switch to which this port is cabled. This route
 * is one hop longer than the route to the switch. A directed route has at most 63 hops. So if the
 * switch is 63 hops away, SMPs about the second port must take the route to the first port.
 */
static void test_the_route_to_a_second_port_has_no_more_hops_than_a_route_may_have(void **state)
{
	for (uint8_t hops = IB_MAX_HOPS - 1; hops <= IB_MAX_HOPS; hops++) {
		struct sm_switch fwd = { 0 };
		struct sm_node sw = { .sw = &fwd, .nhops = hops };
		struct sm_node ca = { .info = { .local_port = 1 },
				      .nhops = 2,
				      .path = { 0, 1, 5 } };
		struct sm_port at = { .node = &sw, .num = 9 };
		struct sm_port second = { .node = &ca, .num = 2, .peer = &at };
		struct smp_cmd c;

		(void)state;
		c = sm_cmd_port(&second, MAD_METHOD_GET, SMP_ATTR_PORT_INFO, 2, NULL);
		assert_ptr_equal(c.port, &second);
		assert_ptr_equal(c.node, &ca);
		if (hops < IB_MAX_HOPS) {
			assert_int_equal(c.nhops, IB_MAX_HOPS);
			assert_int_equal(c.path[IB_MAX_HOPS], 9);
		} else {
			assert_int_equal(c.nhops, 2);
			assert_int_equal(c.path[2], 5);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_the_route_to_a_second_port_has_no_more_hops_than_a_route_may_have),
		cmocka_unit_test(test_nodes_behind_an_external_port_are_bounded),
		cmocka_unit_test(test_other_guids_each_sweep_do_not_use_up_lids),
		cmocka_unit_test(test_what_is_mute_behind_an_external_port_is_not_waited_for),
		cmocka_unit_test(test_what_is_slow_behind_an_external_port_is_waited_for_30_s),
		cmocka_unit_test(test_faults_behind_an_external_port_do_not_fill_the_log),
		cmocka_unit_test(test_nodes_that_are_not_outside_are_not_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the guarantees of each routing engine. All ports must reach each other. If an engine
 * guarantees that there are no credit loops, channels must not wait for each other in a circle.
 */
#include "sm_net.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "route/route.h"
#include "sm_loops.h"

static const struct {
	const char *name;
	bool free_of_loops;
} engines[] = {
	{ "minhop", false },
	{ "updn", true },
	{ "ftree", true },
};

static struct sm *routed(struct net *net, const char *engine)
{
	struct sm_cfg cfg = sm_cfg_default();
	struct sm *sm;

	cfg.routing = sm_engine_find(engine);
	assert_non_null(cfg.routing);
	assert_string_equal(sm_engine_name(cfg.routing), engine);
	sm = net_sm(net->node[0], &cfg);
	assert_true(net_until_up(net, sm, 1));
	return sm;
}

static void test_random_topologies(void **state)
{
	for (unsigned int e = 0; e < ARRAY_SIZE(engines); e++) {
		for (uint64_t seed = 1; seed <= 20; seed++) {
			struct net net;
			struct sm *sm;

			net_init(&net);
			net_random(&net, seed, 2 + (unsigned int)seed, 20, 2);
			sm = routed(&net, engines[e].name);
			net_assert_connected(&net);
			if (engines[e].free_of_loops && has_circle(sm_db(sm)))
				fail_msg("%s: a credit loop, seed %u", engines[e].name,
					 (unsigned int)seed);
			sm_destroy(sm);
			net_fini(&net);
		}
	}
}

/*
 * A ring of five switches is the smallest topology in which shortest paths make a credit loop. Here
 * has_circle() must find the loop, unless the engine guarantees that there is none.
 */
static void test_a_ring_of_five(void **state)
{
	for (unsigned int e = 0; e < ARRAY_SIZE(engines); e++) {
		struct net net;
		struct sm *sm;

		net_init(&net);
		for (int i = 0; i < 5; i++)
			net_switch(&net, 4);
		for (int i = 0; i < 5; i++) {
			net_link(net.node[i], 1, net.node[(i + 1) % 5], 2);
			net_link(net.node[i], 3, net_ca(&net, 1), 1);
		}
		sm = routed(&net, engines[e].name);
		net_assert_connected(&net);
		assert_int_equal(has_circle(sm_db(sm)), !engines[e].free_of_loops);
		sm_destroy(sm);
		net_fini(&net);
	}
}

static void test_names(void **state)
{
	assert_null(sm_engine_find("torus"));
	assert_string_equal(sm_engine_name(NULL), "minhop");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_topologies),
		cmocka_unit_test(test_a_ring_of_five),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Guarantees of each routing engine: all ports reach each other and, if the engine says so,
 * channels do not wait for each other in a circle (no credit loop).
 */
#include "sm_net.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "route/route.h"

static const struct {
	const char *name;
	bool free_of_loops;
} engines[] = {
	{ "minhop", false },
	{ "updn", true },
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

/*
 * Graph of channel dependencies. A channel is a link in one direction, numbered by switch index *
 * 256 + the port by which it leaves the switch.
 */
struct deps {
	const struct sm_db *db;
	uint8_t *
		/*
		 * [channels][256]: 1 if a packet in the channel may wait for that port of the next
		 * switch
		 */
		after;
	uint8_t *colour; /* [channels]: 0 not visited, 1 on the current path, 2 done */
};

static const struct sm_node *next_switch(const struct sm_node *n, uint8_t port)
{
	const struct sm_port *peer;

	if (port == 0 || port > n->info.nports)
		return NULL;
	peer = n->port[port].peer;
	return peer && peer->node->sw ? peer->node : NULL;
}

static void deps_fill(struct deps *d)
{
	for (uint32_t s = 0; s < d->db->nswitches; s++) {
		for (unsigned int lid = 1; lid <= d->db->top_lid; lid++) {
			const struct sm_node *n = d->db->sw[s], *t;
			uint8_t out = sm_switch_lft(n->sw, lid), then;

			t = next_switch(n, out);
			if (!t)
				continue;
			then = sm_switch_lft(t->sw, lid);
			if (next_switch(t, then))
				d->after[(s * 256 + out) * 256ul + then] = 1;
		}
	}
}

/* Search depth first; true if a path comes back to a channel that it contains. */
static bool circle_from(struct deps *d, uint32_t channel)
{
	const struct sm_node *t = next_switch(d->db->sw[channel / 256], channel % 256);

	d->colour[channel] = 1;
	for (unsigned int p = 0; t && p < 256; p++) {
		uint32_t next = t->sw->index * 256 + p;

		if (!d->after[channel * 256ul + p] || d->colour[next] == 2)
			continue;
		if (d->colour[next] == 1 || circle_from(d, next))
			return true;
	}
	d->colour[channel] = 2;
	return false;
}

static bool has_circle(const struct sm_db *db)
{
	uint32_t n = db->nswitches * 256;
	struct deps d = { .db = db, .after = calloc(n, 256), .colour = calloc(n, 1) };
	bool found = false;

	assert_non_null(d.after);
	assert_non_null(d.colour);
	deps_fill(&d);
	for (uint32_t c = 0; c < n && !found; c++)
		found = d.colour[c] == 0 && circle_from(&d, c);
	free(d.after);
	free(d.colour);
	return found;
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
 * The smallest topology in which minimum hops give a credit loop, which shows that the check above
 * finds one.
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
	assert_null(sm_engine_find("ftree"));
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

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compare the SM's LFTs with those of a simple implementation of the rule for routes, which
 * computes one destination after the other.
 */
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "route/engine.h"
#include "sm_net.h"
#include "util/list.h"
#include "util/prng.h"

static const struct sm_node *attached(const struct sm_port *p, uint8_t *ret_port)
{
	*ret_port = p->node->sw ? 0 : p->peer->num;
	return p->node->sw ? p->node : p->peer->node;
}

/*
 * Compute the number of links from each switch to @d by a breadth-first search, which does not use
 * the SM's matrix of hops.
 */
static void hops_to(const struct sm_db *db, const struct sm_node *d, uint8_t *hops)
{
	memset(hops, SM_HOPS_NONE, db->nswitches);
	hops[d->sw->index] = 0;
	for (unsigned int round = 0; round < db->nswitches; round++) {
		for (uint32_t s = 0; s < db->nswitches; s++) {
			for (unsigned int p = 1; p <= db->sw[s]->info.nports; p++) {
				const struct sm_port *peer = db->sw[s]->port[p].peer;
				uint8_t via;

				if (!peer || !peer->node->sw)
					continue;
				via = hops[peer->node->sw->index];
				if (via != SM_HOPS_NONE && via + 1 < hops[s])
					hops[s] = via + 1;
			}
		}
	}
}

/*
 * Find the ports of @n that lead one hop nearer to the destination. @hops: number of hops from each
 * switch to the destination
 */
static unsigned int nearer(const struct sm_node *n, const uint8_t *hops, uint8_t *ret)
{
	unsigned int count = 0;

	for (unsigned int p = 1; p <= n->info.nports; p++) {
		const struct sm_port *peer = n->port[p].peer;

		if (peer && peer->node->sw && peer->node != n &&
		    hops[peer->node->sw->index] + 1 == hops[n->sw->index])
			ret[count++] = (uint8_t)p;
	}
	return count;
}

static void check_switch(const struct sm_db *db, const struct sm_node *n)
{
	uint8_t *hops = malloc(db->nswitches), port, cand[256];

	for (uint32_t d = 0; d < db->nswitches; d++) {
		double turn = db->sw[d]->port[0].lid * 0.6180339887498949;
		unsigned int count, at;

		hops_to(db, db->sw[d], hops);
		count = nearer(n, hops, cand);
		at = (unsigned int)((turn - (unsigned int)turn) * count);
		for (unsigned int lid = 1; lid <= db->top_lid; lid++) {
			uint8_t want;

			if (!db->by_lid[lid] || attached(db->by_lid[lid], &port) != db->sw[d])
				continue;
			want = db->sw[d] == n ? port : cand[at % count];
			assert_int_equal(sm_switch_lft(n->sw, lid), want);
			at += port != 0;
		}
	}
	free(hops);
}

static void test_fewest_hops_then_ports_in_turn(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct sm_cfg cfg = sm_cfg_default();
		struct net net;
		struct sm *sm;

		net_init(&net);
		net_random(&net, seed, 2 + (unsigned int)seed % 9, 40, 2);
		cfg.lmc = seed % 3;
		sm = net_sm(net.node[0], &cfg);
		assert_true(net_until_up(&net, sm, 1));
		for (uint32_t s = 0; s < sm_db(sm)->nswitches; s++)
			check_switch(sm_db(sm), sm_db(sm)->sw[s]);
		sm_destroy(sm);
		net_fini(&net);
	}
}

/* The SM computes LFTs in slices of time. The LFTs must not depend on the number of slices. */
static void test_slices_change_nothing(void **state)
{
	struct sm_router *r = NULL;
	struct sm_node *n = NULL;
	unsigned int pauses = 0;
	struct sm_db copy;
	struct net net;
	struct sm *sm;
	struct sm_lft **lft;

	net_init(&net);
	net_random(&net, 7, 12, 60, 1);
	sm = net_sm(net.node[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	copy = *sm_db(sm);
	copy.routes = NULL;
	lft = calloc(copy.nswitches, sizeof(*lft));
	for (uint32_t s = 0; s < copy.nswitches; s++)
		lft[s] = copy.sw[s]->sw->lft;

	assert_int_equal(sm_router_create(&r, &copy, NULL), 0);
	for (;;) {
		int err = sm_router_run(r, 1, &n);

		pauses += err == -EAGAIN;
		assert_true(err == 0 || err == -EAGAIN);
		if (err == 0 && !n)
			break;
	}
	assert_true(pauses >= copy.nswitches);
	sm_router_destroy(r);
	for (uint32_t s = 0; s < copy.nswitches; s++) {
		struct sm_switch *sw = copy.sw[s]->sw;

		assert_ptr_not_equal(sw->lft, lft[s]);
		assert_memory_equal(sw->lft->port, lft[s]->port, copy.top_lid + 1u);
		sm_lft_put(sw->lft);
		sw->lft = lft[s];
	}
	assert_memory_equal(copy.hops, sm_db(sm)->hops, (size_t)copy.nswitches * copy.nswitches);
	free(copy.hops);
	sm_routes_free(copy.routes);
	free(lft);
	sm_destroy(sm);
	net_fini(&net);
}

/*
 * Make @n - 5 switches in a ring, in which some switches have a link to a random switch in place of
 * the next one. Make five more switches without a link.
 */
static void graph_make(struct sm_routes *rt, struct prng *rnd, uint32_t n)
{
	bool *linked = calloc((size_t)n * n, sizeof(*linked));
	uint32_t edges = 0, ring = n - 5;

	for (uint32_t s = 0; s < ring; s++) {
		uint32_t step = prng_below(rnd, 40) ? 1 : prng_below(rnd, ring),
			 to = (s + step) % ring;

		linked[(size_t)s * n + to] = linked[(size_t)to * n + s] = to != s;
	}
	rt->g.edge = calloc((size_t)n * n, sizeof(*rt->g.edge));
	rt->g.first = calloc(n + 1, sizeof(*rt->g.first));
	for (uint32_t s = 0; s < n; s++) {
		rt->g.first[s] = edges;
		for (uint32_t to = 0, port = 1; to < n; to++) {
			if (linked[(size_t)s * n + to])
				rt->g.edge[edges++] = (struct route_edge){ (uint8_t)port++, to };
		}
	}
	rt->g.first[n] = edges;
	free(linked);
}

/*
 * Hops and ports computed for many switches at once must be equal to those computed for one switch
 * at a time.
 */
static void test_many_at_once_are_one_by_one(void **state)
{
	static const uint32_t sizes[] = { 1, 7, 8, 300, 2 * ROUTE_ROWS };
	struct prng rnd;

	prng_seed(&rnd, 5);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint32_t n = sizes[i] + 5;
		struct sm_routes rt = { 0 };
		struct sm_db db = { .nswitches = n, .routes = &rt };
		uint8_t *rows = calloc(n, n);
		struct sm_router *one, *many;

		graph_make(&rt, &rnd, n);
		db.hops = calloc(n, n);
		one = sm_router_open(&db, NULL);
		many = sm_router_open(&db, NULL);
		for (uint32_t from = 0; from < n; from += ROUTE_ROWS)
			assert_int_equal(sm_router_rows(many, from), 0);
		memcpy(rows, db.hops, (size_t)n * n);
		for (uint32_t from = 0; from < n; from++)
			sm_router_row(one, from);
		assert_memory_equal(rows, db.hops, (size_t)n * n);

		assert_int_equal(many->engine->begin(many), 0);
		for (uint32_t s = 0; s < n; s++) {
			for (uint32_t d = 0; d < n; d++) {
				uint8_t a[256], b[256];
				unsigned int count = one->engine->ports(one, s, d, a);

				if (s == d)
					continue;
				assert_int_equal(many->engine->ports(many, s, d, b), count);
				assert_memory_equal(a, b, count);
			}
		}
		sm_router_destroy(one);
		sm_router_destroy(many);
		free(rt.g.edge);
		free(rt.g.first);
		free(db.hops);
		free(rows);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fewest_hops_then_ports_in_turn),
		cmocka_unit_test(test_slices_change_nothing),
		cmocka_unit_test(test_many_at_once_are_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* check.sh: all */

/*
 * The whole stack on virtual time: random topologies, loss, reordering, and links that go down and
 * up. The number of a failing seed is printed; LAB_SEED=N runs only this seed, LAB_VERBOSE=1 shows
 * the log.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/all_lab_check.h"
#include "check.h"

#define SEEDS 25

static struct topo *random_topo(struct prng *r, uint64_t seed)
{
	struct topo_gen_random g = { .seed = seed };

	g.switches = 1 + prng_below(r, 30);
	g.cas = 2 + prng_below(r, 99);
	g.max_ca_ports = 1 + prng_below(r, 2);
	g.extra_links = prng_below(r, g.switches + 1);
	return topo_gen_random(&g);
}

static void draw_shape(struct lab_host *h, void *ctx)
{
	h->shape = prng_below(ctx, 2) ? ETH_SHAPE_ETHERNET : ETH_SHAPE_INFINIBAND;
}

static void flap_links(struct lab *l, struct prng *r)
{
	for (int k = 0; k < 6; k++) {
		struct fabric_node *n = fabric_node_at(l->f, prng_below(r, fabric_nnodes(l->f)));
		unsigned int p = 1 + prng_below(r, fabric_node_node(n)->info.nports);
		struct fabric_port *port = fabric_node_port(n, p);

		if (fabric_port_peer(port))
			fabric_link_set(port, fabric_link_state(port) != FABRIC_LINK_UP, l->now);
		lab_run(l, NS_MSEC(200) + NS_MSEC(prng_below(r, 1500)));
	}
}

static void join_some(struct lab *l, struct prng *r, bool *member)
{
	for (unsigned int i = 0; i < l->nhosts; i++) {
		member[i] = prng_below(r, 3) == 0;
		if (member[i])
			assert_int_equal(
				ipoib_mcast_add(l->host[i].link, IPOIB_IPV4, lab_group, l->now), 0);
	}
	lab_run(l, NS_SEC(3));
}

static void one_seed(uint64_t seed)
{
	struct prng r, shapes;
	struct topo *t;
	struct lab l;
	struct lab_count c;
	bool *want, *member;

	prng_seed(&r, seed);
	prng_seed(&shapes, ~seed);
	t = random_topo(&r, seed);
	assert_non_null(t);
	lab_create(&l, &(struct lab_cfg){ .topo = t,
					  .seed = seed,
					  .crc = seed % 3 ? HCA_CRC_LAZY : HCA_CRC_FULL,
					  .setup = draw_shape,
					  .setup_ctx = &shapes,
					  .verbose = getenv("LAB_VERBOSE") != NULL });
	topo_free(t);
	lab_count_init(&c, &l);
	want = calloc(c.n, sizeof(*want));
	member = calloc(c.n, sizeof(*member));

	lab_faults_on(&l);
	lab_run(&l, NS_SEC(1));
	lab_reachable(&l, want);
	lab_wait_up(&l, want, NS_SEC(120), seed, "under loss");
	flap_links(&l, &r);
	lab_faults_off(&l);
	lab_run(&l, NS_SEC(30));
	lab_reachable(&l, want);
	lab_wait_up(&l, want, NS_SEC(60), seed, "after the faults");
	lab_check_pairs(&l, &c, want, seed);
	join_some(&l, &r, member);
	lab_check_group(&l, &c, want, member, seed);
	lab_check_beliefs(&l, want, seed);
	lab_destroy(&l);
	lab_count_fini(&c);
	free(want);
	free(member);
}

static void test_sim_random_topologies_settle(void **state)
{
	const char *only = getenv("LAB_SEED");

	if (only) {
		one_seed(strtoull(only, NULL, 0));
		return;
	}
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		one_seed(seed);
}

static void test_sim_four_hosts_three_switches(void **state)
{
	struct topo *t = topo_gen_demo(4, 3);
	bool want[4] = { true, true, true, true };
	struct lab_count c;
	struct lab l;

	lab_create(&l, &(struct lab_cfg){
			       .topo = t, .seed = 1, .verbose = getenv("LAB_VERBOSE") != NULL });
	topo_free(t);
	lab_count_init(&c, &l);
	lab_wait_up(&l, want, NS_SEC(5), 1, "at the start");
	lab_check_pairs(&l, &c, want, 1);
	lab_check_beliefs(&l, want, 1);
	lab_destroy(&l);
	lab_count_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sim_four_hosts_three_switches),
		cmocka_unit_test(test_sim_random_topologies_settle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests fat-tree routing: balance, shift permutations (each host sends to the host k places
 * further), LMC, trees with gaps, and topologies that are no fat trees.
 */
#include "sm_net.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "route/route.h"
#include "sm_loops.h"

#define LEVELS 4
#define SWITCHES 256
#define HOSTS 256

/*
 * An extended generalised fat tree. The levels of its switches are 0 (leaf switches) to levels - 1.
 */
struct shape {
	unsigned int levels;
	unsigned int hosts; /* number of hosts at each leaf switch */
	/*
	 * number of children of a switch, by level; [0] is not used, because leaf switches have
	 * hosts as children
	 */
	unsigned int children[LEVELS];
	unsigned int parents[LEVELS]; /* number of parents of a switch, by level */
	unsigned int parallel[LEVELS]; /* number of links to each parent, by level */
};

static const struct shape two = { 2, 4, { 0, 4 }, { 4 }, { 1 } };
static const struct shape two_parallel = { 2, 8, { 0, 6 }, { 4 }, { 2 } };
static const struct shape three = { 3, 3, { 0, 3, 4 }, { 3, 3 }, { 1, 1 } };
/*
 * A leaf switch has 3 * 2 links up for its 6 hosts; a switch of the middle level has 2 * 2 links
 * down and 2 * 2 up.
 */
static const struct shape three_parallel = { 3, 6, { 0, 2, 3 }, { 3, 2 }, { 2, 2 } };
static const struct shape four = { 4, 2, { 0, 2, 2, 2 }, { 2, 2, 2 }, { 1, 1, 1 } };
static const struct shape slim = { 3, 8, { 0, 4, 2 }, { 2, 4 }, { 1, 1 } };
static const struct shape *const shapes[] = { &two,  &two_parallel, &three, &three_parallel,
					      &four, &slim };

struct tree {
	struct net net;
	const struct shape *shape;
	unsigned int first[LEVELS + 1]; /* index in .sw of the first switch, by level */
	struct net_node *sw[SWITCHES], *host[HOSTS];
	unsigned int nhosts;
	struct sm *sm;
};

/*
 * subtrees() returns the number of subtrees whose top switches are at @level. columns() returns the
 * number of top switches that each of these subtrees has.
 */
static unsigned int subtrees(const struct shape *s, unsigned int level)
{
	unsigned int n = 1;

	for (unsigned int l = level + 1; l < s->levels; l++)
		n *= s->children[l];
	return n;
}

static unsigned int columns(const struct shape *s, unsigned int level)
{
	unsigned int n = 1;

	for (unsigned int l = 0; l < level; l++)
		n *= s->parents[l];
	return n;
}

/*
 * Make the switches. Their GUIDs ascend from level to level and from left to right, unless a seed
 * other than 0 shuffles the GUIDs over the places of the tree.
 */
static void make_switches(struct tree *t, uint64_t seed)
{
	unsigned int n = 0, order[SWITCHES];
	struct prng rnd;

	for (unsigned int l = 0; l < t->shape->levels; l++) {
		t->first[l] = n;
		n += subtrees(t->shape, l) * columns(t->shape, l);
	}
	t->first[t->shape->levels] = n;
	assert_true(n <= SWITCHES);
	prng_seed(&rnd, seed);
	for (unsigned int i = 0; i < n; i++) {
		unsigned int j = seed ? prng_below(&rnd, i + 1) : i;

		order[i] = order[j];
		order[j] = i;
	}
	for (unsigned int i = 0; i < n; i++)
		t->sw[order[i]] = net_switch(&t->net, 24);
}

static void link_level(struct tree *t, unsigned int l)
{
	const struct shape *s = t->shape;
	unsigned int cols = columns(s, l), up_cols = columns(s, l + 1);

	for (unsigned int i = t->first[l]; i < t->first[l + 1]; i++) {
		unsigned int sub = (i - t->first[l]) / cols, col = (i - t->first[l]) % cols;

		for (unsigned int k = 0; k < s->parents[l] * s->parallel[l]; k++) {
			unsigned int up =
				sub / s->children[l + 1] * up_cols + col + k % s->parents[l] * cols;

			assert_true(net_join(t->sw[i], t->sw[t->first[l + 1] + up]));
		}
	}
}

/* Make the tree. @absent: percentage of hosts that are left out */
static void tree_make(struct tree *t, const struct shape *shape, uint64_t seed, unsigned int absent)
{
	struct prng rnd;

	memset(t, 0, sizeof(*t));
	net_init(&t->net);
	t->shape = shape;
	make_switches(t, seed);
	prng_seed(&rnd, seed + 1);
	for (unsigned int i = 0; i < t->first[1]; i++) {
		for (unsigned int h = 0; h < shape->hosts; h++) {
			if (prng_below(&rnd, 100) < absent)
				continue;
			t->host[t->nhosts] = net_ca(&t->net, 1);
			assert_true(net_join(t->sw[i], t->host[t->nhosts++]));
		}
	}
	for (unsigned int l = 0; l + 1 < shape->levels; l++)
		link_level(t, l);
}

static const char *engine_used(const struct tree *t)
{
	struct sm_status st;

	sm_status(t->sm, &st);
	return st.routing;
}

static void tree_route(struct tree *t, uint8_t lmc)
{
	struct sm_cfg cfg = sm_cfg_default();

	cfg.routing = sm_engine_find("ftree");
	cfg.lmc = lmc;
	t->sm = net_sm(t->host[0], &cfg);
	assert_true(net_until_up(&t->net, t->sm, 1));
}

static void tree_end(struct tree *t)
{
	sm_destroy(t->sm);
	net_fini(&t->net);
}

static int level_of(const struct tree *t, const struct net_node *n)
{
	for (unsigned int i = 0; i < t->first[t->shape->levels]; i++) {
		unsigned int l = 0;

		if (t->sw[i] != n)
			continue;
		while (i >= t->first[l + 1])
			l++;
		return (int)l;
	}
	return -1; /* the node is a host */
}

static unsigned int index_of(const struct tree *t, const struct net_node *s)
{
	unsigned int i = 0;

	while (t->sw[i] != s)
		i++;
	return i;
}

/*
 * Follow a packet from one host to the @nth LID of another host, and call @fn for each link that
 * leaves a switch.
 */
static void follow(const struct tree *t, unsigned int from, unsigned int to, unsigned int nth,
		   void (*fn)(uint16_t *link), uint16_t *links)
{
	const struct net_port *p = t->host[from]->port[1].peer;
	unsigned int lid = t->host[to]->port[1].pi.lid + nth;

	while (p->node != t->host[to]) {
		const struct net_node *s = p->node;

		assert_true(s->lft[lid] <= s->info.nports);
		fn(&links[index_of(t, s) * 256 + s->lft[lid]]);
		p = s->port[s->lft[lid]].peer;
	}
}

#define SEEN 0x8000 /* marks a link that the packets to the current destination cross */

static void mark(uint16_t *link)
{
	*link |= SEEN;
}

/* Returns, for each link that leaves a switch, the number of hosts to which it carries packets. */
static uint16_t *loads(const struct tree *t, unsigned int nth)
{
	uint16_t *links = calloc(SWITCHES * 256ul, sizeof(*links));

	assert_non_null(links);
	for (unsigned int to = 0; to < t->nhosts; to++) {
		for (unsigned int from = 0; from < t->nhosts; from++) {
			if (from != to)
				follow(t, from, to, nth, mark, links);
		}
		for (unsigned int i = 0; i < SWITCHES * 256ul; i++) {
			if (links[i] & SEEN)
				links[i] = (links[i] & ~SEEN) + 1;
		}
	}
	return links;
}

/*
 * Check that all upward links of a level have equal loads, and that all downward links of a level
 * have equal loads. @full_bisection: check also that each downward link above the leaf switches
 * carries the packets to one host only
 */
static void assert_balanced(const struct tree *t, unsigned int nth, bool full_bisection)
{
	uint16_t *links = loads(t, nth);

	for (unsigned int l = 0; l < t->shape->levels; l++) {
		unsigned int low[2] = { UINT32_MAX, UINT32_MAX }, high[2] = { 0, 0 };

		for (unsigned int i = t->first[l]; i < t->first[l + 1]; i++) {
			for (unsigned int p = 1; p <= t->sw[i]->info.nports; p++) {
				const struct net_port *peer = t->sw[i]->port[p].peer;
				int to = peer && !t->sw[i]->port[p].cut ? level_of(t, peer->node)
									: -1;
				unsigned int n = links[i * 256 + p], up = to > (int)l;

				if (to < 0)
					continue;
				low[up] = n < low[up] ? n : low[up];
				high[up] = n > high[up] ? n : high[up];
			}
		}
		assert_true(low[1] == high[1] || low[1] == UINT32_MAX);
		assert_true(low[0] == high[0] || low[0] == UINT32_MAX);
		if (full_bisection && l)
			assert_int_equal(high[0], 1);
	}
	free(links);
}

static void test_each_link_has_as_many_destinations(void **state)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(shapes); i++) {
		for (uint64_t seed = 0; seed < 4; seed++) {
			struct tree t;

			tree_make(&t, shapes[i], seed, 0);
			tree_route(&t, 0);
			assert_string_equal(engine_used(&t), "ftree");
			assert_balanced(&t, 0, shapes[i] != &slim);
			assert_false(has_circle(sm_db(t.sm)));
			net_assert_connected(&t.net);
			tree_end(&t);
		}
	}
}

static void count(uint16_t *link)
{
	++*link;
}

/*
 * Let every host send to the host that is @k places further, in the order of leaf switches and
 * ports. Check that no link carries two of these flows. @wrap: the last hosts send to the first
 * ones, too. Set @wrap only if each leaf switch has all its hosts, because otherwise a link can
 * carry two flows.
 */
static void assert_shift_is_free(const struct tree *t, unsigned int k, unsigned int nth, bool wrap)
{
	uint16_t *links = calloc(SWITCHES * 256ul, sizeof(*links));

	assert_non_null(links);
	for (unsigned int h = 0; h < (wrap ? t->nhosts : t->nhosts - k); h++)
		follow(t, h, (h + k) % t->nhosts, nth, count, links);
	for (unsigned int i = 0; i < SWITCHES * 256; i++) {
		if (links[i] > 1)
			fail_msg("shift by %u, LID %u: %u flows on one link", k, nth, links[i]);
	}
	free(links);
}

static void test_shift_permutations_share_no_link(void **state)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(shapes); i++) {
		for (unsigned int absent = 0; absent <= 30; absent += 30) {
			struct tree t;

			if (shapes[i] == &slim)
				continue;
			tree_make(&t, shapes[i], 0, absent);
			tree_route(&t, 0);
			for (unsigned int k = 1; k < t.nhosts; k++)
				assert_shift_is_free(&t, k, 0, !absent);
			tree_end(&t);
		}
	}
}

static void test_lmc(void **state)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct tree t;

		tree_make(&t, shapes[i], 0, 0);
		tree_route(&t, 2);
		for (unsigned int nth = 0; nth < 4; nth++) {
			assert_balanced(&t, nth, shapes[i] != &slim);
			for (unsigned int k = 1; k < t.nhosts && shapes[i] != &slim; k++)
				assert_shift_is_free(&t, k, nth, true);
		}
		/*
		 * The paths to the LIDs of one port must use different links, as far as there are
		 * enough links.
		 */
		for (unsigned int h = shapes[i]->hosts; h < t.nhosts; h++) {
			const struct net_port *p = &t.host[h]->port[1];
			unsigned int links = shapes[i]->parents[0] * shapes[i]->parallel[0], n = 0;
			uint32_t seen = 0;

			for (unsigned int nth = 0; nth < 4; nth++)
				seen |= 1u << t.sw[0]->lft[p->pi.lid + nth];
			n = (unsigned int)__builtin_popcount(seen);
			assert_int_equal(n, links < 4 ? links : 4);
		}
		assert_false(has_circle(sm_db(t.sm)));
		net_assert_connected(&t.net);
		tree_end(&t);
	}
}

/* Cut up to @links random links between switches. */
static void damage(struct tree *t, struct prng *rnd, unsigned int links)
{
	for (unsigned int i = 0; i < links; i++) {
		struct net_node *s = t->sw[prng_below(rnd, t->first[t->shape->levels])];
		unsigned int p = 1 + prng_below(rnd, s->info.nports);

		if (s->port[p].peer && s->port[p].peer->node->info.node_type == IB_NODE_SWITCH)
			net_cut(s, p, true);
	}
}

static void test_broken_trees(void **state)
{
	unsigned int fat = 0, all = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(shapes); i++) {
		for (uint64_t seed = 1; seed <= 12; seed++) {
			struct prng rnd;
			struct tree t;

			tree_make(&t, shapes[i], seed, 20);
			prng_seed(&rnd, seed);
			damage(&t, &rnd, (unsigned int)seed);
			tree_route(&t, seed % 2 ? 0 : 1);
			/*
			 * The SM's database must not have the nodes that the cut links have
			 * separated from the SM.
			 */
			for (struct sm_port *p = sm_db_end_port(sm_db(t.sm), NULL); p;
			     p = sm_db_end_port(sm_db(t.sm), p)) {
				struct sm_path path;

				assert_int_equal(
					sm_db_path(sm_db(t.sm), sm_db(t.sm)->self, p, 0, &path), 0);
				for (struct sm_port *q = sm_db_end_port(sm_db(t.sm), NULL); q;
				     q = sm_db_end_port(sm_db(t.sm), q))
					assert_int_equal(sm_db_path(sm_db(t.sm), q, p, 0, &path),
							 0);
			}
			assert_false(has_circle(sm_db(t.sm)));
			all++;
			fat += strcmp(engine_used(&t), "ftree") == 0;
			tree_end(&t);
		}
	}
	assert_true(fat * 4 >= all * 3); /* most of the damaged trees are still fat trees */
}

/*
 * If a leaf switch has lost one link, only the destinations whose packets used this link may get
 * other links.
 */
static void test_one_cable_moves_its_own_destinations_only(void **state)
{
	uint8_t before[256];
	struct tree t;
	unsigned int moved = 0;

	tree_make(&t, &three, 0, 0);
	tree_route(&t, 0);
	memcpy(before, t.sw[0]->lft, sizeof(before));
	net_cut(t.sw[0], 5, true);
	assert_true(net_until_up(&t.net, t.sm, 2));
	assert_string_equal(engine_used(&t), "ftree");
	for (unsigned int h = 0; h < t.nhosts; h++) {
		uint16_t lid = t.host[h]->port[1].pi.lid;

		moved += before[lid] == 5;
		assert_int_equal(before[lid] == 5, t.sw[0]->lft[lid] != before[lid]);
	}
	assert_true(moved > 0);
	net_assert_connected(&t.net);
	tree_end(&t);
}

/*
 * A host is cabled to a switch above the leaf switches, and all hosts of one leaf switch are down.
 * The SM must use fat-tree routing nevertheless.
 */
static void test_hosts_above_and_empty_leaves(void **state)
{
	struct tree t;

	tree_make(&t, &three, 1, 0);
	t.host[t.nhosts] = net_ca(&t.net, 1);
	assert_true(net_join(t.sw[t.first[2]], t.host[t.nhosts++]));
	for (unsigned int p = 1; p <= three.hosts; p++)
		net_cut(t.sw[0], p, true);
	memmove(t.host, t.host + three.hosts, (t.nhosts - three.hosts) * sizeof(t.host[0]));
	t.nhosts -= three.hosts;
	tree_route(&t, 0);
	assert_string_equal(engine_used(&t), "ftree");
	assert_false(has_circle(sm_db(t.sm)));
	net_assert_connected(&t.net);
	tree_end(&t);
}

static void test_another_topology_is_routed_by_updn(void **state)
{
	struct tree t;

	tree_make(&t, &two, 0, 0);
	assert_true(net_join(t.sw[0], t.sw[1])); /* a cable between two leaf switches */
	tree_route(&t, 0);
	assert_string_equal(engine_used(&t), "updn");
	assert_non_null(
		strstr(t.net.last_warn, "routing ftree does not suit the topology, updn is used"));
	assert_non_null(strstr(t.net.last_warn, "from level 0 to level 0"));
	assert_false(has_circle(sm_db(t.sm)));
	net_assert_connected(&t.net);
	/* As long as the cable is there, the SM must not log this warning again. */
	t.net.last_warn[0] = '\0';
	sm_kick(t.sm, "test", t.net.now);
	assert_true(net_until_up(&t.net, t.sm, 2));
	assert_string_equal(t.net.last_warn, "");
	net_cut(t.sw[0], 9, true);
	assert_true(net_until_up(&t.net, t.sm, 3));
	assert_string_equal(engine_used(&t), "ftree");
	assert_balanced(&t, 0, true);
	tree_end(&t);
}

/*
 * After cables were pulled and plugged in again, the tables must be equal to those of an SM that
 * has never seen another topology.
 */
static void test_tables_follow_from_the_topology_alone(void **state)
{
	struct sm_cfg cfg = sm_cfg_default();
	struct prng rnd;
	struct tree t;
	uint8_t *lft;

	cfg.routing = sm_engine_find("ftree");
	tree_make(&t, &three_parallel, 3, 10);
	prng_seed(&rnd, 7);
	tree_route(&t, 0);
	for (unsigned int round = 0; round < 6; round++) {
		struct net_node *s = t.sw[prng_below(&rnd, t.first[1])];
		unsigned int p = s->info.nports;

		while (!s->port[p].peer)
			p--;
		net_cut(s, p, !s->port[p].cut);
		net_run(&t.net, t.net.now + NS_SEC(5));
		lft = malloc(SWITCHES * 256ul);
		assert_non_null(lft);
		for (unsigned int i = 0; i < t.first[3]; i++)
			memcpy(lft + i * 256ul, t.sw[i]->lft, 256);
		sm_destroy(t.sm);
		t.sm = net_sm(t.host[0], &cfg);
		assert_true(net_until_up(&t.net, t.sm, 1));
		for (unsigned int i = 0; i < t.first[3]; i++)
			assert_memory_equal(lft + i * 256ul, t.sw[i]->lft, 256);
		free(lft);
	}
	tree_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_link_has_as_many_destinations),
		cmocka_unit_test(test_shift_permutations_share_no_link),
		cmocka_unit_test(test_lmc),
		cmocka_unit_test(test_broken_trees),
		cmocka_unit_test(test_one_cable_moves_its_own_destinations_only),
		cmocka_unit_test(test_hosts_above_and_empty_leaves),
		cmocka_unit_test(test_another_topology_is_routed_by_updn),
		cmocka_unit_test(test_tables_follow_from_the_topology_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

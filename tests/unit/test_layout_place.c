/* SPDX-License-Identifier: BSD-2-Clause */
#include "layout/layout.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "util/list.h"
#include "util/prng.h"

/*
 * Tests the levels, the order and the places of nodes in a picture. The best picture of some
 * fabrics is known; the other fabrics are random.
 */

struct rig {
	struct layout l;
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct rig));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	layout_free(&r->l);
	free(r);
	return 0;
}

/*
 * Make room for one more element in an array of @n elements. Whenever @n is a power of two, the
 * array is full, and its size is doubled.
 */
static void *grown(void *v, size_t n, size_t size)
{
	if (n & (n - 1))
		return v;
	v = realloc(v, (n ? 2 * n : 1) * size);
	assert_non_null(v);
	return v;
}

static unsigned int add(struct layout *l, bool is_switch)
{
	char name[32];

	l->node = grown(l->node, l->nnodes, sizeof(*l->node));
	snprintf(name, sizeof(name), "%c%zu", is_switch ? 'S' : 'H', l->nnodes);
	l->node[l->nnodes] = (struct layout_node){ .is_switch = is_switch, .name = strdup(name) };
	return (unsigned int)l->nnodes++;
}

static void cable(struct layout *l, unsigned int a, unsigned int b)
{
	l->link = grown(l->link, l->nlinks, sizeof(*l->link));
	l->link[l->nlinks++] = (struct layout_link){ .a = a, .b = b, .up = true };
}

/*
 * Place the nodes, and check what must hold for every picture: no two nodes overlap, and all nodes
 * are inside the picture.
 */
static void place(struct layout *l)
{
	assert_int_equal(layout_place(l), 0);
	for (size_t a = 0; a < l->nnodes; a++) {
		const struct layout_node *m = &l->node[a];

		assert_true(m->level < l->levels);
		assert_true(m->is_switch || m->level == 0);
		if (m->hidden)
			continue;
		assert_true(isfinite(m->x) && m->x >= LAYOUT_APART / 2 - 1e-6);
		assert_true(m->x <= l->width - LAYOUT_APART / 2 + 1e-6);
		assert_true(m->is_switch || m->row < l->rows);
		for (size_t b = 0; l->nnodes < 500 && b < a; b++) {
			const struct layout_node *o = &l->node[b];

			if (!o->hidden && o->level == m->level && o->row == m->row &&
			    fabs(o->x - m->x) < LAYOUT_APART - 1e-6)
				fail_msg("%s at %f and %s at %f", m->name, m->x, o->name, o->x);
		}
	}
}

/* Return the number of crossings between cables that connect switches of different levels */
static unsigned int crossings(const struct layout *l)
{
	unsigned int n = 0;

	for (size_t i = 0; i < l->nlinks; i++)
		for (size_t k = 0; k < i; k++) {
			const struct layout_node *a = &l->node[l->link[i].a],
						 *b = &l->node[l->link[i].b];
			const struct layout_node *c = &l->node[l->link[k].a],
						 *d = &l->node[l->link[k].b];

			if (a->level == c->level && b->level == d->level && a->level != b->level)
				n += (a->x - c->x) * (b->x - d->x) < -1e-9;
		}
	return n;
}

static void test_empty_fabric_and_single_nodes(void **state)
{
	struct rig *r = *state;

	place(&r->l);
	assert_int_equal(r->l.levels, 1);
	add(&r->l, false);
	place(&r->l);
	add(&r->l, true);
	place(&r->l);
	assert_int_equal(r->l.levels, 2);
	assert_int_equal(r->l.node[1].level, 1);
}

static void test_two_cas_back_to_back(void **state)
{
	struct rig *r = *state;

	add(&r->l, false);
	add(&r->l, false);
	cable(&r->l, 0, 1);
	place(&r->l);
	assert_int_equal(r->l.levels, 1);
	assert_int_equal(r->l.rows, 1);
}

/*
 * Each switch of the ring has one CA. The picture must show the switches side by side on one level.
 */
static void test_ring_is_one_level(void **state)
{
	struct rig *r = *state;

	for (unsigned int k = 0; k < 4; k++)
		add(&r->l, true);
	for (unsigned int k = 0; k < 4; k++) {
		cable(&r->l, k, (k + 1) % 4);
		cable(&r->l, k, add(&r->l, false));
	}
	place(&r->l);
	assert_int_equal(r->l.levels, 2);
	for (unsigned int k = 0; k < 4; k++) {
		assert_int_equal(r->l.node[k].level, 1);
		assert_true(fabs(r->l.node[k].x - r->l.node[k + 4].x) <
			    1e-9); /* the switch's CA is directly below the switch */
	}
}

/*
 * A chain S0 - S1 - S2 - S3 - S4 of switches with a CA at each end. The level of a switch must be
 * its distance, in cables, from the nearest CA.
 */
static void test_levels_count_from_the_nearest_ca(void **state)
{
	static const unsigned int levels[] = { 1, 2, 3, 2, 1 };
	struct rig *r = *state;

	for (unsigned int k = 0; k < 5; k++)
		add(&r->l, true);
	for (unsigned int k = 0; k < 4; k++)
		cable(&r->l, k, k + 1);
	cable(&r->l, 0, add(&r->l, false));
	cable(&r->l, 4, add(&r->l, false));
	place(&r->l);
	for (unsigned int k = 0; k < 5; k++)
		assert_int_equal(r->l.node[k].level, levels[k]);
}

static void test_switches_without_any_ca_are_the_lowest(void **state)
{
	struct rig *r = *state;

	add(&r->l, true);
	add(&r->l, true);
	cable(&r->l, 0, 1);
	place(&r->l);
	assert_int_equal(r->l.node[0].level, 1);
	assert_int_equal(r->l.node[1].level, 1);
}

/*
 * Each pod has two leaves and two spines, and each leaf has a cable to each spine of its pod. The
 * nodes are added in an order that mixes the pods. The picture must show the pods beside each
 * other. The four cables of a pod then cross once.
 */
static void test_pods_stand_beside_each_other(void **state)
{
	enum { PODS = 8 };
	struct rig *r = *state;
	unsigned int leaf[PODS][2], spine[PODS][2];

	for (unsigned int i = 0; i < 2; i++)
		for (unsigned int p = 0; p < PODS; p++)
			leaf[p][i] = add(&r->l, true);
	for (unsigned int i = 0; i < 2; i++)
		for (unsigned int p = PODS; p-- > 0;)
			spine[p][i] = add(&r->l, true);
	for (unsigned int p = 0; p < PODS; p++)
		for (unsigned int i = 0; i < 2; i++) {
			cable(&r->l, leaf[p][i], spine[p][0]);
			cable(&r->l, leaf[p][i], spine[p][1]);
			cable(&r->l, leaf[p][i], add(&r->l, false));
		}
	place(&r->l);
	assert_int_equal(r->l.levels, 3);
	assert_int_equal(crossings(&r->l), PODS);
}

/*
 * A switch above other switches must be placed over the middle of these switches, if there is room.
 */
static void test_switch_stands_over_the_middle(void **state)
{
	struct rig *r = *state;
	double sum = 0;

	for (unsigned int k = 0; k < 6; k++)
		add(&r->l, true);
	for (unsigned int k = 0; k < 5; k++) {
		cable(&r->l, k, 5);
		for (unsigned int i = 0; i <= k; i++)
			cable(&r->l, k, add(&r->l, false));
	}
	place(&r->l);
	for (unsigned int k = 0; k < 5; k++)
		sum += r->l.node[k].x;
	assert_true(fabs(r->l.node[5].x - sum / 5) < 1e-9);
}

static void test_parallel_cables_are_counted(void **state)
{
	struct rig *r = *state;
	unsigned int seen = 0;

	for (unsigned int k = 0; k < 3; k++)
		add(&r->l, true);
	for (unsigned int k = 0; k < 3; k++) {
		cable(&r->l, k % 2, 1 - k % 2);
		cable(&r->l, 1, 2);
	}
	cable(&r->l, 0, 2);
	place(&r->l);
	for (unsigned int k = 0; k < 6; k++) {
		assert_int_equal(r->l.link[k].of, 3);
		seen |= 1u << (3 * (k % 2) + r->l.link[k].nth);
	}
	assert_int_equal(seen, 0x3f);
	assert_int_equal(r->l.link[6].of, 1);
}

/*
 * If a switch has many CAs, these CAs must be folded into one node of the picture. A CA with two
 * cables must not be folded, because it shows how switches are connected.
 */
static void test_many_cas_are_folded(void **state)
{
	struct rig *r = *state;
	unsigned int both, folded = 0, hidden = 0;

	add(&r->l, true);
	add(&r->l, true);
	for (unsigned int k = 0; k < LAYOUT_FOLD - 1; k++)
		cable(&r->l, k & 1, add(&r->l, false));
	both = add(&r->l, false);
	cable(&r->l, both, 0);
	cable(&r->l, both, 1);
	place(&r->l);
	assert_int_equal(r->l.node[0].folded + r->l.node[1].folded, 0);
	cable(&r->l, 0, add(&r->l, false));
	place(&r->l);
	for (size_t k = 0; k < r->l.nnodes; k++) {
		folded += r->l.node[k].folded;
		hidden += r->l.node[k].hidden;
	}
	assert_int_equal(folded, LAYOUT_FOLD);
	assert_int_equal(hidden, LAYOUT_FOLD);
	assert_false(r->l.node[both].hidden);
}

static void test_random_fabrics_do_not_overlap(void **state)
{
	struct rig *r = *state;

	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct prng p;
		unsigned int n;

		prng_seed(&p, seed);
		n = 1 + prng_below(&p, 60);
		layout_free(&r->l);
		for (unsigned int k = 0; k < n; k++)
			add(&r->l, prng_below(&p, 3) == 0);
		for (unsigned int k = prng_below(&p, 3 * n); k-- > 0;)
			cable(&r->l, (unsigned int)prng_below(&p, n),
			      (unsigned int)prng_below(&p, n));
		place(&r->l);
	}
}

/*
 * A fat tree of 10,000 CAs: 278 leaf switches with 36 CAs each, and 36 spine switches. An algorithm
 * of quadratic cost would take minutes here.
 */
static void test_large_fat_tree(void **state)
{
	enum { LEAVES = 278, SPINES = 36, CAS = 36 };
	struct rig *r = *state;

	for (unsigned int k = 0; k < LEAVES + SPINES; k++)
		add(&r->l, true);
	for (unsigned int k = 0; k < LEAVES; k++) {
		for (unsigned int s = 0; s < SPINES; s++)
			cable(&r->l, k, LEAVES + s);
		for (unsigned int c = 0; c < CAS; c++)
			cable(&r->l, k, add(&r->l, false));
	}
	place(&r->l);
	assert_int_equal(r->l.levels, 3);
	assert_int_equal(r->l.node[0].folded, CAS);
	assert_true(r->l.width < LEAVES * 2);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_empty_fabric_and_single_nodes),
		CASE(test_two_cas_back_to_back),
		CASE(test_ring_is_one_level),
		CASE(test_levels_count_from_the_nearest_ca),
		CASE(test_switches_without_any_ca_are_the_lowest),
		CASE(test_pods_stand_beside_each_other),
		CASE(test_switch_stands_over_the_middle),
		CASE(test_parallel_cables_are_counted),
		CASE(test_many_cas_are_folded),
		CASE(test_random_fabrics_do_not_overlap),
		CASE(test_large_fat_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

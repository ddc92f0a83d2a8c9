/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "route/ftree.h"

/*
 * DOC: Numbers of links and destinations in a fat tree
 *
 * The parents of a switch are the switches of the next level to which it has links. Switches of one
 * level that have a common parent belong to one family, as children. All their parents belong to
 * this family, too. The w parents of a family have the numbers 0 .. w - 1. The links from a child
 * to parent p have the slots p, p + w, ..., one for each parallel link. If a child lacks a link
 * that other children of the family have, its slot for this link is empty.
 *
 * The numbers of parents have to correspond from family to family. For example, packets for
 * destination j that go up through parent 2 of their family have to come down through parent 2 of
 * the family of j. Otherwise the destinations would not be distributed evenly over the links
 * downwards. Parents of two families correspond if the switches above them connect them. So, if the
 * levels below the parents are taken away, corresponding parents are in the same remaining part of
 * the tree. The parents of a family are ordered by these parts, and within one part by GUID.
 *
 * Destinations are numbered leaf switch by leaf switch, and within a leaf switch in the order of
 * its ports. If upper levels are taken away, the tree falls into parts: into smaller ones, the more
 * levels are taken away. Leaf switches are ordered by the largest parts to which they belong,
 * within them by the next smaller parts, and so on, and at last by GUID. The LIDs of switches,
 * which get little traffic, are numbered separately.
 */

struct leaf {
	/* the parts of the tree that contain the switch, from the largest to the smallest; then the rank of its GUID */
	uint32_t key[FTREE_LEVELS];
	uint32_t s; /* index of the switch */
};

struct parent {
	uint32_t family, part, rank, s;
};

struct slots {
	struct ftree *t;
	const struct sm_router *r;
	uint32_t *rank; /* position of each switch in the order of GUIDs, [nswitches] */
	/*
	 * disjoint sets (find()). While the sets are families, each switch has two elements: one
	 * for its role as a child and one for its role as a parent (as_parent()). At other times
	 * each switch has one element. [2 * nswitches]
	 */
	uint32_t *set;
	/* the part to which each switch belongs if the levels below it are taken away, [nswitches] */
	uint32_t *part;
	uint32_t *number; /* number of each switch among the parents of its family, [nswitches] */
	uint32_t *count; /* number of parents of each family, indexed by find(), [2 * nswitches] */
	/* largest number of parallel links in each family, indexed by find(), [2 * nswitches] */
	uint32_t *width;
	struct parent *parent; /* [nswitches] */
	struct leaf *leaf; /* [nswitches] */
	/* position of each base LID in the order of the destinations (number_destinations()), [top_lid + 1] */
	uint32_t *ordinal;
};

/*
 * Find the representative of a set. Each element points to a lower element of its set, and the lowest element points
 * to itself.
 */
static uint32_t find(uint32_t *set, uint32_t x)
{
	while (set[x] != x)
		x = set[x] = set[set[x]];
	return x;
}

static void join(uint32_t *set, uint32_t a, uint32_t b)
{
	a = find(set, a);
	b = find(set, b);
	set[a > b ? a : b] = a > b ? b : a;
}

static void sets_reset(const struct slots *x)
{
	for (uint32_t i = 0; i < 2 * x->r->db->nswitches; i++)
		x->set[i] = i;
}

/* Call @fn for each link upwards from the switches of @level, or of all levels if @level is FTREE_LEVELS. */
static void each_up(struct slots *x, unsigned int level,
		    void (*fn)(struct slots *, uint32_t lower, uint32_t edge))
{
	const struct route_graph *g = &x->r->rt->g;

	for (uint32_t s = 0; s < x->r->db->nswitches; s++) {
		if (level != FTREE_LEVELS && x->t->level[s] != level)
			continue;
		for (uint32_t e = g->first[s]; e < g->first[s + 1]; e++) {
			if (x->t->level[g->edge[e].to] > x->t->level[s])
				fn(x, s, e);
		}
	}
}

static uint32_t upper(const struct slots *x, uint32_t edge)
{
	return x->r->rt->g.edge[edge].to;
}

static void join_ends(struct slots *x, uint32_t lower, uint32_t edge)
{
	join(x->set, x->rank[lower], x->rank[upper(x, edge)]);
}

static void find_parts(struct slots *x)
{
	sets_reset(x);
	for (unsigned int l = x->t->nlevels; l-- > 0;) {
		each_up(x, l, join_ends);
		for (uint32_t s = 0; s < x->r->db->nswitches; s++) {
			if (x->t->level[s] == l)
				x->part[s] = find(x->set, x->rank[s]);
		}
	}
}

/*
 * Return the element for the role of switch @s as a parent. While the sets are families, each switch has two
 * elements; the other element, whose number is .rank of the switch, is for its role as a child.
 */
static uint32_t as_parent(const struct slots *x, uint32_t s)
{
	return x->r->db->nswitches + x->rank[s];
}

static void join_family(struct slots *x, uint32_t lower, uint32_t edge)
{
	join(x->set, x->rank[lower], as_parent(x, upper(x, edge)));
}

static int parent_cmp(const void *a, const void *b)
{
	const struct parent *p = a, *q = b;

	if (p->family != q->family)
		return p->family < q->family ? -1 : 1;
	if (p->part != q->part)
		return p->part < q->part ? -1 : 1;
	return p->rank < q->rank ? -1 : p->rank > q->rank;
}

static void number_parents(struct slots *x)
{
	uint32_t n = x->r->db->nswitches;

	sets_reset(x);
	each_up(x, FTREE_LEVELS, join_family);
	for (uint32_t s = 0; s < n; s++) {
		x->parent[s] =
			(struct parent){ find(x->set, as_parent(x, s)), x->part[s], x->rank[s], s };
	}
	qsort(x->parent, n, sizeof(*x->parent), parent_cmp);
	for (uint32_t i = 0; i < n; i++)
		x->number[x->parent[i].s] = x->count[x->parent[i].family]++;
}

/*
 * Return how many links of switch @lower lead to the same parent as @edge, and have a lower port
 * number at @lower than @edge.
 */
static uint32_t parallel(const struct slots *x, uint32_t lower, uint32_t edge)
{
	uint32_t count = 0;

	for (uint32_t e = x->r->rt->g.first[lower]; e < edge; e++)
		count += upper(x, e) == upper(x, edge);
	return count;
}

static void measure_width(struct slots *x, uint32_t lower, uint32_t edge)
{
	uint32_t *width = &x->width[find(x->set, x->rank[lower])], n = parallel(x, lower, edge) + 1;

	if (n > *width)
		*width = n;
}

/*
 * Return the index of the edge that is the same link as @edge, seen from the upper end of the link.
 */
static uint32_t reverse(const struct slots *x, uint32_t lower, uint32_t edge)
{
	const struct route_graph *g = &x->r->rt->g;
	const struct sm_port *p = &x->r->db->sw[lower]->port[g->edge[edge].port];
	uint32_t e = g->first[upper(x, edge)];

	while (g->edge[e].port != sm_port_peer_routed(p)->num)
		e++;
	return e;
}

static void set_slot(struct slots *x, uint32_t lower, uint32_t edge)
{
	uint32_t family = find(x->set, x->rank[lower]);
	uint32_t slot = x->number[upper(x, edge)] + x->count[family] * parallel(x, lower, edge);

	x->t->slot[edge] = x->t->slot[reverse(x, lower, edge)] = slot;
	x->t->nslots[lower] = x->count[family] * x->width[family];
}

static int leaf_cmp(const void *a, const void *b)
{
	const struct leaf *p = a, *q = b;

	for (unsigned int i = 0; i < FTREE_LEVELS; i++) {
		if (p->key[i] != q->key[i])
			return p->key[i] < q->key[i] ? -1 : 1;
	}
	return 0;
}

/*
 * Sort the switches for numbering the destinations: leaf switches in the order of their parts, then all other
 * switches.
 */
static void sort_leaves(struct slots *x)
{
	uint32_t n = x->r->db->nswitches;

	sets_reset(x);
	for (uint32_t s = 0; s < n; s++) {
		x->leaf[s].s = s;
		x->leaf[s].key[FTREE_LEVELS - 1] = x->rank[s];
	}
	for (unsigned int l = 0; l + 1 < x->t->nlevels; l++) {
		each_up(x, l, join_ends);
		for (uint32_t s = 0; s < n; s++)
			x->leaf[s].key[FTREE_LEVELS - 2 - l] = find(x->set, x->rank[s]);
	}
	for (uint32_t s = 0; s < n; s++) {
		if (x->t->level[s])
			x->leaf[s].key[0] = n + x->t->level[s];
	}
	qsort(x->leaf, n, sizeof(*x->leaf), leaf_cmp);
}

static void number_destinations(struct slots *x)
{
	const struct sm_db *db = x->r->db;
	uint32_t next = 0;

	for (uint32_t i = 0; i < db->nswitches; i++) {
		const struct sm_node *s = db->sw[x->leaf[i].s];

		x->ordinal[s->port[0].lid] = i;
		for (unsigned int p = 1; p <= s->info.nports; p++) {
			const struct sm_port *q = sm_port_peer_routed(&s->port[p]);

			if (q && !q->node->sw)
				x->ordinal[q->lid] = next++;
		}
	}
}

static uint32_t most_parents(const struct slots *x, unsigned int level)
{
	uint32_t most = 1;

	for (uint32_t s = 0; s < x->r->db->nswitches; s++) {
		uint32_t n = x->count[find(x->set, x->rank[s])];

		if (x->t->level[s] == level && n > most)
			most = n;
	}
	return most;
}

/* Set the array .turn of struct ftree, while the sets in .set are families. */
static void set_turns(struct slots *x, const uint32_t *unit)
{
	const struct sm_routes *rt = x->r->rt;
	uint32_t n = rt->first_target[x->r->db->nswitches];

	for (unsigned int l = 0; l < x->t->nlevels; l++) {
		for (uint32_t i = 0; i < n; i++) {
			uint32_t lid = rt->target[i].lid, base = x->r->db->by_lid[lid]->lid;

			x->t->turn[(size_t)l * n + i] =
				x->ordinal[base] / unit[l] + (lid - base) / unit[l];
		}
	}
}

/* Number the links upwards of all switches, then compute the link that each destination prefers. */
static int set_slots(struct slots *x)
{
	struct ftree *t = x->t;
	uint32_t unit[FTREE_LEVELS] = { 1 }, most = 1;

	find_parts(x);
	number_parents(x);
	each_up(x, FTREE_LEVELS, measure_width);
	each_up(x, FTREE_LEVELS, set_slot);
	for (uint32_t s = 0; s < x->r->db->nswitches; s++) {
		if (t->nslots[s] > most)
			most = t->nslots[s];
	}
	t->by_slot = calloc(most, 1);
	if (!t->by_slot)
		return -ENOMEM;
	/*
	 * Stop multiplying when unit[l - 1] exceeds the highest LID: all quotients in set_turns()
	 * are 0 then, and the product could overflow.
	 */
	for (unsigned int l = 1; l < t->nlevels; l++)
		unit[l] = unit[l - 1] > SM_LID_TOP_MAX ? unit[l - 1]
						       : unit[l - 1] * most_parents(x, l - 1);
	set_turns(x, unit);
	return 0;
}

static int slots_alloc(struct slots *x)
{
	const struct sm_routes *rt = x->r->rt;
	struct ftree *t = x->t;
	size_t n = x->r->db->nswitches;

	t->slot = calloc(rt->g.first[n] + 1u, sizeof(*t->slot));
	t->nslots = calloc(n + 1, sizeof(*t->nslots));
	t->turn = calloc((size_t)t->nlevels * rt->first_target[n] + 1, sizeof(*t->turn));
	x->rank = calloc(n + 1, sizeof(*x->rank));
	x->set = calloc(2 * n + 1, sizeof(*x->set));
	x->part = calloc(n + 1, sizeof(*x->part));
	x->number = calloc(n + 1, sizeof(*x->number));
	x->count = calloc(2 * n + 1, sizeof(*x->count));
	x->width = calloc(2 * n + 1, sizeof(*x->width));
	x->parent = calloc(n + 1, sizeof(*x->parent));
	x->leaf = calloc(n + 1, sizeof(*x->leaf));
	x->ordinal = calloc(x->r->db->top_lid + 1u, sizeof(*x->ordinal));
	return t->slot && t->nslots && t->turn && x->rank && x->set && x->part && x->number &&
			       x->count && x->width && x->parent && x->leaf && x->ordinal
		       ? 0
		       : -ENOMEM;
}

static void slots_free(struct slots *x)
{
	free(x->rank);
	free(x->set);
	free(x->part);
	free(x->number);
	free(x->count);
	free(x->width);
	free(x->parent);
	free(x->leaf);
	free(x->ordinal);
}

static void rank_by_guid(struct slots *x, struct ways_place *v)
{
	/* all .rank are 0, so the order is that of the GUIDs */
	qsort(v, x->r->db->nswitches, sizeof(*v), ways_place_cmp);
	for (uint32_t i = 0; i < x->r->db->nswitches; i++)
		x->rank[v[i].index] = i;
}

int ftree_slots(struct ftree *t, const struct sm_router *r)
{
	struct slots x = { .t = t, .r = r };
	struct ways_place *v = ways_places(r);
	int err = slots_alloc(&x);

	if (!v)
		err = -ENOMEM;
	if (!err) {
		rank_by_guid(&x, v);
		sort_leaves(&x);
		number_destinations(&x);
		err = set_slots(&x);
	}
	slots_free(&x);
	free(v);
	return err;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/route.h"

#include <errno.h>
#include <stdlib.h>

#include "sm/priv.h"

/*
 * DOC: Unicast routing
 *
 * Minimum hops: a breadth-first search from every switch, then for each switch and
 * destination the ports one hop nearer to it, and of those the one that carries the fewest
 * destinations so far. Parallel links are ports like any others. Destinations are taken
 * switch by switch in the order of discovery and LIDs upwards, ports upwards, so the same
 * subnet with the same LIDs gets the same tables.
 *
 * A thousand switches are tens of millions of decisions: switch after switch, so that what one decides
 * by (its loads, its neighbours' rows of hops) stays in the cache, and in slices.
 */

struct edge {
	uint8_t port;
	uint32_t to; /* switch index */
};

struct graph {
	struct edge *edge;
	uint32_t *first; /* [nswitches + 1] into edge[] */
};

/* Where the LIDs of a switch's own port 0 and of its CAs leave it. */
struct target {
	uint16_t lid;
	uint8_t port;
};

struct sm_router {
	struct sm_db *db;
	struct graph g;
	struct target *target; /* all, grouped by switch */
	uint32_t *first_target; /* [nswitches + 1] */
	uint32_t *queue;
	uint32_t next_row, next_switch; /* done so far */
	size_t done; /* steps of this slice */
	uint32_t load[256]; /* destinations per port of the switch that is routed */
};

static struct sm_node *switch_behind(const struct sm_port *p)
{
	if (!p->known || !p->peer || p->peer->node == p->node)
		return NULL;
	return p->peer->node->sw ? p->peer->node : NULL;
}

static int graph_build(struct sm_router *r)
{
	struct sm_db *db = r->db;
	uint32_t n = 0;

	for (uint32_t s = 0; s < db->nswitches; s++)
		n += db->sw[s]->info.nports;
	r->g.edge = calloc(n + 1, sizeof(*r->g.edge));
	r->g.first = calloc(db->nswitches + 1u, sizeof(*r->g.first));
	if (!r->g.edge || !r->g.first)
		return -ENOMEM;

	n = 0;
	for (uint32_t s = 0; s < db->nswitches; s++) {
		struct sm_node *sw = db->sw[s];

		r->g.first[s] = n;
		for (unsigned int p = 1; p <= sw->info.nports; p++) {
			struct sm_node *to = switch_behind(&sw->port[p]);

			if (to)
				r->g.edge[n++] = (struct edge){ (uint8_t)p, to->sw->index };
		}
	}
	r->g.first[db->nswitches] = n;
	return 0;
}

static void hops_from(struct sm_router *r, uint32_t from)
{
	uint32_t n = r->db->nswitches, head = 0, tail = 0;
	uint8_t *row = r->db->hops + (size_t)from * n;

	memset(row, SM_HOPS_NONE, n);
	row[from] = 0;
	r->done += r->g.first[n];
	r->queue[tail++] = from;
	while (head < tail) {
		uint32_t s = r->queue[head++];

		for (uint32_t e = r->g.first[s]; e < r->g.first[s + 1]; e++) {
			uint32_t to = r->g.edge[e].to;

			if (row[to] != SM_HOPS_NONE || row[s] >= IB_MAX_HOPS)
				continue;
			row[to] = row[s] + 1;
			r->queue[tail++] = to;
		}
	}
}

/* The switch that a LID hangs on, and its port there; NULL: none (a CA beside us). */
static struct sm_node *attachment(const struct sm_port *p, uint8_t *ret_port)
{
	if (p->node->sw) {
		*ret_port = 0;
		return p->node;
	}
	if (!p->peer || !p->peer->node->sw)
		return NULL;
	*ret_port = p->peer->num;
	return p->peer->node;
}

static int targets_build(struct sm_router *r)
{
	struct sm_db *db = r->db;
	uint32_t *fill;
	uint8_t port;

	r->target = calloc(db->top_lid + 1u, sizeof(*r->target));
	r->first_target = calloc(db->nswitches + 2u, sizeof(*r->first_target));
	if (!r->target || !r->first_target)
		return -ENOMEM;

	/* Count into [index + 2], sum up, and fill by [index + 1], which then is the start of the next. */
	for (unsigned int lid = 1; lid <= db->top_lid; lid++) {
		struct sm_node *at = db->by_lid[lid] ? attachment(db->by_lid[lid], &port) : NULL;

		if (at)
			r->first_target[at->sw->index + 2]++;
	}
	for (uint32_t s = 2; s <= db->nswitches; s++)
		r->first_target[s] += r->first_target[s - 1];
	fill = r->first_target + 1;
	for (unsigned int lid = 1; lid <= db->top_lid; lid++) {
		struct sm_node *at = db->by_lid[lid] ? attachment(db->by_lid[lid], &port) : NULL;

		if (at)
			r->target[fill[at->sw->index]++] = (struct target){ (uint16_t)lid, port };
	}
	return 0;
}

/*
 * Share out targets [@t .. @end) between the ports @cand: each goes to the port with the least load, the
 * lowest of these. All ports of one level have their turn before the next level.
 */
static void spread(struct sm_router *r, uint8_t *lft, const uint8_t *cand, unsigned int n,
		   const struct target *t, const struct target *end)
{
	uint32_t level = 0;
	unsigned int i = n;

	while (t < end) {
		while (i < n && r->load[cand[i]] != level)
			i++;
		if (i == n) {
			level = r->load[cand[0]];
			for (i = 1; i < n; i++)
				if (r->load[cand[i]] < level)
					level = r->load[cand[i]];
			i = 0;
			continue;
		}
		lft[t->lid] = cand[i];
		/* Little goes to switches themselves. */
		if (t->port)
			r->load[cand[i++]]++;
		t++;
	}
}

/* Egress of switch @s for everything that hangs on switch @d. */
static void route_pair(struct sm_router *r, uint32_t s, uint32_t d, uint8_t *lft)
{
	const uint8_t *hops = r->db->hops;
	const struct target *t = r->target + r->first_target[d];
	const struct target *end = r->target + r->first_target[d + 1];
	size_t n = r->db->nswitches;
	uint8_t cand[256], here = hops[s * n + d];
	unsigned int ncand = 0;

	if (s == d) {
		for (; t < end; t++)
			lft[t->lid] = t->port;
		return;
	}
	if (here == SM_HOPS_NONE)
		return;
	for (uint32_t e = r->g.first[s]; e < r->g.first[s + 1]; e++) {
		if (hops[r->g.edge[e].to * n + d] + 1 == here)
			cand[ncand++] = r->g.edge[e].port;
	}
	if (ncand)
		spread(r, lft, cand, ncand, t, end);
}

static int route_switch(struct sm_router *r, uint32_t s)
{
	struct sm_db *db = r->db;
	struct sm_switch *sw = db->sw[s]->sw;
	size_t len = (db->top_lid / SMP_LFT_PER_BLOCK + 1u) * SMP_LFT_PER_BLOCK;

	sw->lft = malloc(len);
	if (!sw->lft)
		return -ENOMEM;
	memset(sw->lft, SMP_LFT_NONE, len);
	sw->lft_top = db->top_lid;
	memset(r->load, 0, sizeof(r->load));
	for (uint32_t d = 0; d < db->nswitches; d++)
		route_pair(r, s, d, sw->lft);
	r->done += (size_t)(r->g.first[s + 1] - r->g.first[s] + 1) * db->nswitches + db->top_lid;
	return 0;
}

int sm_router_create(struct sm_router **ret, struct sm_db *db)
{
	struct sm_router *r = calloc(1, sizeof(*r));
	size_t n = db->nswitches;

	if (!r)
		return -ENOMEM;
	r->db = db;
	db->hops = malloc(n * n + 1);
	r->queue = calloc(n + 1, sizeof(*r->queue));
	if (!db->hops || !r->queue || graph_build(r) || targets_build(r)) {
		sm_router_destroy(r);
		return -ENOMEM;
	}
	*ret = r;
	return 0;
}

void sm_router_destroy(struct sm_router *r)
{
	if (!r)
		return;
	free(r->g.edge);
	free(r->g.first);
	free(r->target);
	free(r->first_target);
	free(r->queue);
	free(r);
}

int sm_router_run(struct sm_router *r, size_t steps, struct sm_node **ret)
{
	uint32_t n = r->db->nswitches;
	int err;

	*ret = NULL;
	for (; r->next_row < n; r->next_row++) {
		if (r->done >= steps)
			goto pause;
		hops_from(r, r->next_row);
	}
	if (r->next_switch == n)
		return 0;
	if (r->done >= steps)
		goto pause;
	err = route_switch(r, r->next_switch);
	if (!err)
		*ret = r->db->sw[r->next_switch++];
	return err;
pause:
	r->done = 0;
	return -EAGAIN;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/priv.h"

#include <errno.h>
#include <stdlib.h>

/*
 * DOC: Unicast routing
 *
 * Minimum hops: a breadth-first search from every switch, then for each switch and
 * destination the ports one hop nearer to it, and of those the one that carries the fewest
 * destinations so far. Parallel links are ports like any others. Destinations are taken
 * switch by switch in the order of discovery and LIDs upwards, ports upwards, so the same
 * subnet with the same LIDs gets the same tables.
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

struct router {
	struct sm_db *db;
	struct graph g;
	struct target *target; /* all, grouped by switch */
	uint32_t *first_target; /* [nswitches + 1] */
	uint32_t *load; /* [nswitches][256]: destinations per port */
	uint32_t *queue;
};

static struct sm_node *switch_behind(const struct sm_port *p)
{
	if (!p->known || !p->peer || p->peer->node == p->node)
		return NULL;
	return p->peer->node->sw ? p->peer->node : NULL;
}

static int graph_build(struct router *r)
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

static void hops_from(struct router *r, uint32_t from)
{
	uint32_t n = r->db->nswitches, head = 0, tail = 0;
	uint8_t *row = r->db->hops + (size_t)from * n;

	memset(row, SM_HOPS_NONE, n);
	row[from] = 0;
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

static int targets_build(struct router *r)
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

/* Egress of switch @s for everything that hangs on switch @d. */
static void route_pair(struct router *r, uint32_t s, uint32_t d)
{
	const struct sm_db *db = r->db;
	const uint8_t *to_d = db->hops + (size_t)d * db->nswitches;
	uint32_t *load = r->load + (size_t)s * 256;
	uint8_t *lft = db->sw[s]->sw->lft;
	uint8_t cand[256];
	unsigned int n = 0;

	for (uint32_t e = r->g.first[s]; e < r->g.first[s + 1]; e++) {
		if (to_d[s] != SM_HOPS_NONE && to_d[r->g.edge[e].to] + 1 == to_d[s])
			cand[n++] = r->g.edge[e].port;
	}
	for (uint32_t t = r->first_target[d]; t < r->first_target[d + 1]; t++) {
		const struct target *tg = &r->target[t];
		unsigned int best = 0;

		if (s == d) {
			lft[tg->lid] = tg->port;
			continue;
		}
		if (n == 0)
			return;
		for (unsigned int i = 1; i < n; i++) {
			if (load[cand[i]] < load[cand[best]])
				best = i;
		}
		lft[tg->lid] = cand[best];
		load[cand[best]] += tg->port != 0; /* little goes to switches themselves */
	}
}

static int lfts_alloc(struct sm_db *db)
{
	size_t len = (db->top_lid / SMP_LFT_PER_BLOCK + 1u) * SMP_LFT_PER_BLOCK;

	for (uint32_t s = 0; s < db->nswitches; s++) {
		struct sm_switch *sw = db->sw[s]->sw;

		sw->lft = malloc(len);
		if (!sw->lft)
			return -ENOMEM;
		memset(sw->lft, SMP_LFT_NONE, len);
		sw->lft_top = db->top_lid;
	}
	return 0;
}

static int router_run(struct router *r)
{
	struct sm_db *db = r->db;
	size_t n = db->nswitches;

	db->hops = malloc(n * n + 1);
	r->load = calloc(n * 256 + 1, sizeof(*r->load));
	r->queue = calloc(n + 1, sizeof(*r->queue));
	if (!db->hops || !r->load || !r->queue || lfts_alloc(db) || graph_build(r) ||
	    targets_build(r))
		return -ENOMEM;

	for (uint32_t s = 0; s < n; s++)
		hops_from(r, s);
	for (uint32_t d = 0; d < n; d++) {
		for (uint32_t s = 0; s < n; s++)
			route_pair(r, s, d);
	}
	return 0;
}

int sm_route_compute(struct sm_db *db)
{
	struct router r = { .db = db };
	int err = router_run(&r);

	free(r.g.edge);
	free(r.g.first);
	free(r.target);
	free(r.first_target);
	free(r.load);
	free(r.queue);
	return err;
}

static void on_lft(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data, ns_t now)
{
	struct sm *sm = ctx;
	struct sm_fdb *f = cmd->node->sw->fdb;

	if (status == -EPROTO)
		sm_refused(sm, cmd, "LinearForwardingTable");
	else if (status)
		sm_lost(sm, cmd->node, "LinearForwardingTable");
	if (status)
		return;
	memcpy(f->lft + cmd->mod * SMP_LFT_PER_BLOCK, cmd->data, SMP_LFT_PER_BLOCK);
	f->lft_known[cmd->mod] = true;
}

static void lft_write(struct sm *sm, struct sm_node *n, ns_t now)
{
	struct sm_switch *sw = n->sw;
	struct sm_fdb *f = sw->fdb;

	for (uint32_t b = 0; b <= sw->lft_top / SMP_LFT_PER_BLOCK; b++) {
		const uint8_t *want = sw->lft + b * SMP_LFT_PER_BLOCK;
		struct smp_cmd c;

		if (f->lft_known[b] &&
		    memcmp(f->lft + b * SMP_LFT_PER_BLOCK, want, SMP_LFT_PER_BLOCK) == 0)
			continue;
		f->lft_known[b] = false;
		c = sm_cmd_node(n, MAD_METHOD_SET, SMP_ATTR_LFT, b, on_lft);
		memcpy(c.data, want, SMP_LFT_PER_BLOCK);
		sm->sweep.lft_blocks++;
		smpq_add(&sm->sweepq, &c, now);
	}
}

static void on_switch_set(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
			  ns_t now)
{
	struct smp_switch_info si;

	if (status == -EPROTO)
		sm_refused(ctx, cmd, "SwitchInfo");
	else if (status)
		sm_lost(ctx, cmd->node, "Set(SwitchInfo)");
	else if (smp_switch_info_decode(&si, data, SMP_DATA_LEN) == 0)
		cmd->node->sw->si = si;
}

static void switch_info_write(struct sm *sm, struct sm_node *n, ns_t now)
{
	struct smp_switch_info *si = &n->sw->si;
	/* Somebody before us may have limited the MFT: groups beyond would be dropped. */
	uint16_t mft_top = si->mft_top ? IB_LID_MCAST_MIN - 1 + si->mft_cap : 0;
	struct smp_cmd c;

	if (si->lft_top == n->sw->lft_top && si->life_time == sm->cfg.life &&
	    si->mft_top == mft_top)
		return;
	c = sm_cmd_node(n, MAD_METHOD_SET, SMP_ATTR_SWITCH_INFO, 0, on_switch_set);
	si->lft_top = n->sw->lft_top;
	si->life_time = sm->cfg.life;
	si->mft_top = mft_top;
	/* Writing 1 would clear a change that nobody has looked at. */
	si->port_state_change = false;
	smp_switch_info_encode(c.data, si);
	smpq_add(&sm->sweepq, &c, now);
}

int sm_route_start(struct sm *sm, ns_t now)
{
	struct sm_db *db = sm->next;
	int err = sm_route_compute(db);

	for (uint32_t s = 0; !err && s < db->nswitches; s++) {
		struct sm_node *n = db->sw[s];

		if (n->lost)
			continue;
		if (n->sw->si.lft_cap && n->sw->si.lft_cap <= db->top_lid) {
			sm->sweep.errors++;
			sm_err(sm, "\"%s\" has room for %u LIDs, the subnet needs %u", n->desc,
			       n->sw->si.lft_cap, db->top_lid + 1u);
		}
		err = sm_fdb_lft_room(n->sw->fdb, db->top_lid);
		if (err)
			break;
		lft_write(sm, n, now);
		switch_info_write(sm, n, now);
	}
	return err;
}

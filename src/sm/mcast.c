/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/priv.h"

#include <errno.h>
#include <stdlib.h>

/*
 * DOC: Multicast trees
 *
 * The tree of a group: a root switch (the least sum of hops to the members' switches), and from
 * each member's switch the way towards it, always by the lowest port of the lowest
 * neighbour, so that all ways from one switch are one. An edge is open downwards where receivers
 * are below it, and upwards where some are elsewhere: send-only members get a way in and
 * nothing back (I24). The root stays while the topology does, so that a join changes only
 * the branch to the new member.
 *
 * MFT blocks that are not what they should be are jobs, one per switch, block and position;
 * a job sends what is wanted at that moment. A waiter waits for all jobs older than itself.
 *
 * (The analyser does not follow list_del() and takes freed jobs for members still: NOLINT.)
 */

struct mft_job {
	struct list link;
	struct sm *sm;
	struct sm_fdb *fdb;
	uint16_t block;
	uint8_t pos;
	bool open; /* in flight */
	uint64_t seq; /* of the first change that is not on its way */
	uint64_t again; /* changed while in flight; 0: not */
	uint16_t sent[SMP_MFT_PER_BLOCK];
};

struct mft_wait {
	struct list link;
	struct sm *sm;
	uint64_t seq; /* done when all jobs up to this one are */
	struct timer timer;
	sm_group_done_fn *done;
	void *ctx;
};

static void jobs_run(struct sm *sm, ns_t now);

/* A switch's part in the tree that is being computed. */
struct branch {
	uint64_t mask[4];
	uint32_t recv; /* receivers on this switch and below */
	uint32_t next; /* the switch behind @up */
	uint8_t up; /* port towards the root, 0 at the root */
	bool in_tree; /* up is known */
};

struct tree {
	const struct sm_db *db;
	struct branch *br; /* [nswitches] */
	uint32_t receivers;
	uint32_t root;
};

static void mask_set(uint64_t mask[4], unsigned int port)
{
	mask[port / 64] |= 1ull << port % 64;
}

static bool is_receiver(const struct sm_mcmember *m)
{
	return m->join_state & (MCM_JOIN_FULL | MCM_JOIN_NON);
}

#define AT_NOWHERE UINT32_MAX

static void member_find(const struct sm_db *db, struct sm_mcmember *m)
{
	const struct sm_port *p = sm_db_port_by_guid(db, m->port_guid);

	m->at_sweep = db->sweep;
	m->at_switch = AT_NOWHERE;
	if (p && p->node->sw) {
		m->at_switch = p->node->sw->index;
		m->at_port = 0;
	} else if (p && p->peer && p->peer->node->sw) {
		m->at_switch = p->peer->node->sw->index;
		m->at_port = p->peer->num;
	}
}

/* Index of the switch that a member hangs on, m->at_port there; AT_NOWHERE */
static uint32_t member_switch(const struct sm_db *db, struct sm_mcmember *m)
{
	if (m->at_sweep != db->sweep)
		member_find(db, m);
	return m->at_switch;
}

/* Members are counted by switch first: thousands of them hang on some hundred. 0 where memory lacks. */
static uint32_t root_choose(const struct sm_db *db, const struct sm_group *g)
{
	uint32_t *members = calloc(db->nswitches + 1u, sizeof(*members)), best = 0;
	uint64_t best_sum = UINT64_MAX;
	struct sm_mcmember *m;

	if (!members)
		return 0;
	list_for_each (m, &g->members, link) {
		uint32_t at = member_switch(db, m);

		if (at != AT_NOWHERE)
			members[at]++;
	}
	for (uint32_t s = 0; s < db->nswitches; s++) {
		const uint8_t *hops = db->hops + (size_t)s * db->nswitches;
		uint64_t sum = 0;

		for (uint32_t at = 0; at < db->nswitches; at++)
			sum += (uint64_t)members[at] * hops[at];
		if (sum < best_sum) {
			best_sum = sum;
			best = s;
		}
	}
	free(members);
	return best;
}

/* The port of @n that leads one hop nearer to the root; 0 at the root or if none does. */
static uint8_t uplink(const struct tree *t, const struct sm_node *n)
{
	const uint8_t *to_root = t->db->hops + (size_t)t->root * t->db->nswitches;
	uint8_t here = to_root[n->sw->index];

	if (here == 0 || here == SM_HOPS_NONE)
		return 0;
	for (unsigned int i = 1; i <= n->info.nports; i++) {
		const struct sm_port *p = &n->port[i];

		if (p->known && p->peer && p->peer->node->sw &&
		    to_root[p->peer->node->sw->index] + 1 == here)
			return (uint8_t)i;
	}
	return 0;
}

/* A member: its own port, and itself counted on every switch up to the root. */
static void tree_add(struct tree *t, struct sm_mcmember *m)
{
	uint32_t at = member_switch(t->db, m);
	bool recv = is_receiver(m);

	if (at == AT_NOWHERE ||
	    t->db->hops[(size_t)t->root * t->db->nswitches + at] == SM_HOPS_NONE)
		return;
	if (recv) {
		mask_set(t->br[at].mask, m->at_port);
		t->receivers++;
	}
	for (;;) {
		const struct sm_node *n = t->db->sw[at];
		struct branch *b = &t->br[at];

		if (!b->in_tree) {
			b->up = uplink(t, n);
			b->next = b->up ? n->port[b->up].peer->node->sw->index : at;
		}
		b->in_tree = true;
		b->recv += recv;
		if (!b->up)
			return;
		at = b->next;
	}
}

static void tree_open_edges(struct tree *t)
{
	for (uint32_t s = 0; s < t->db->nswitches; s++) {
		const struct sm_node *n = t->db->sw[s];
		struct branch *b = &t->br[s];
		const struct sm_port *peer;

		if (!b->up)
			continue;
		peer = n->port[b->up].peer;
		if (b->recv < t->receivers)
			mask_set(b->mask, b->up);
		if (b->recv)
			mask_set(t->br[peer->node->sw->index].mask, peer->num);
	}
}

/* @changed: what is in flight, if something is, is not the latest */
static void job_add(struct sm *sm, struct sm_fdb *f, unsigned int block, unsigned int pos,
		    bool changed)
{
	struct mft_job *j;

	sm->mft_seq++;
	list_for_each (j, &sm->mft_jobs, link) {
		if (j->fdb != f || j->block != block || j->pos != pos)
			continue;
		if (j->open && changed && !j->again)
			j->again = sm->mft_seq;
		return;
	}
	j = calloc(1, sizeof(*j));
	if (!j) {
		sm->incomplete = true;
		return;
	}
	j->sm = sm;
	j->fdb = sm_fdb_get(f);
	j->block = (uint16_t)block;
	j->pos = (uint8_t)pos;
	j->seq = sm->mft_seq;
	list_add_tail(&sm->mft_jobs, &j->link);
}

static void want(struct sm *sm, struct sm_fdb *f, uint16_t mlid, const uint64_t mask[4])
{
	unsigned int i = mlid - IB_LID_MCAST_MIN, block = i / SMP_MFT_PER_BLOCK;
	bool none = !(mask[0] | mask[1] | mask[2] | mask[3]);
	struct sm_mft_block *b = NULL;
	uint64_t *w;

	if (block < SM_MFT_BLOCKS)
		b = none ? f->mft[block] : sm_fdb_block(f, block);
	if (!b)
		return;
	w = b->want[i % SMP_MFT_PER_BLOCK];
	if (memcmp(w, mask, 4 * sizeof(*w)) == 0)
		return;
	for (unsigned int pos = 0; pos < sm_fdb_positions(f); pos++) {
		if (sm_mask_position(w, pos) != sm_mask_position(mask, pos))
			job_add(sm, f, block, pos, true);
		else if (!(b->known >> pos & 1))
			job_add(sm, f, block, pos, false);
	}
	memcpy(w, mask, 4 * sizeof(*w));
}

static int tree_build(struct tree *t, struct sm_group *g)
{
	struct sm_mcmember *m;

	t->br = calloc(t->db->nswitches + 1u, sizeof(*t->br));
	if (!t->br)
		return -ENOMEM;
	list_for_each (m, &g->members, link)
		tree_add(t, m);
	tree_open_edges(t);
	return 0;
}

void sm_mcast_update(struct sm *sm, struct sm_group *g, ns_t now)
{
	struct tree t = { .db = sm->routed };

	if (!t.db || !t.db->nswitches)
		return;
	if (g->root_sweep != t.db->sweep || g->nmembers == 1) {
		g->root = root_choose(t.db, g);
		g->root_sweep = t.db->sweep;
	}
	t.root = g->root;
	if (tree_build(&t, g)) {
		sm->incomplete = true;
		return;
	}
	for (uint32_t s = 0; s < t.db->nswitches; s++)
		want(sm, t.db->sw[s]->sw->fdb, g->rec.mlid, t.br[s].mask);
	free(t.br);
	jobs_run(sm, now);
}

void sm_mcast_clear(struct sm *sm, uint16_t mlid, ns_t now)
{
	static const uint64_t none[4];

	for (uint32_t s = 0; sm->routed && s < sm->routed->nswitches; s++)
		want(sm, sm->routed->sw[s]->sw->fdb, mlid, none);
	jobs_run(sm, now);
}

static void wait_free(struct mft_wait *w)
{
	timer_cancel(w->sm->timers, &w->timer);
	list_del(&w->link);
	free(w);
}

static void wait_finish(struct mft_wait *w, int status, ns_t now)
{
	sm_group_done_fn *done = w->done;
	void *ctx = w->ctx;

	wait_free(w);
	done(ctx, status, now);
}

static void wait_timer(struct timer *t, ns_t now)
{
	wait_finish(container_of(t, struct mft_wait, timer), -ETIMEDOUT, now);
}

static uint64_t oldest_job(const struct sm *sm)
{
	const struct mft_job *j;
	uint64_t oldest = UINT64_MAX;

	list_for_each (j, &sm->mft_jobs, link) {
		if (j->seq < oldest) /* NOLINT(clang-analyzer-unix.Malloc) */
			oldest = j->seq;
	}
	return oldest;
}

/* Restarted after each: done() may join again, or end everything. */
static void waits_check(struct sm *sm, ns_t now)
{
	while (!list_empty(&sm->mft_waits)) {
		struct mft_wait *w = list_first(&sm->mft_waits, struct mft_wait, link);

		if (w->seq >= oldest_job(sm)) /* NOLINT(clang-analyzer-unix.Malloc) */
			return;
		wait_finish(w, 0, now);
	}
}

void *sm_mcast_wait_alloc(void)
{
	return calloc(1, sizeof(struct mft_wait));
}

void sm_mcast_wait(struct sm *sm, sm_group_done_fn *done, void *ctx, void *mem, ns_t now)
{
	struct mft_wait *w = mem;

	w->sm = sm;
	w->seq = sm->mft_seq;
	w->done = done;
	w->ctx = ctx;
	timer_init(&w->timer, wait_timer);
	timer_arm(sm->timers, &w->timer, now + SM_JOIN_TIMEOUT);
	list_add_tail(&sm->mft_waits, &w->link);
	waits_check(sm, now);
}

static void job_free(struct mft_job *j)
{
	list_del(&j->link);
	sm_fdb_put(j->fdb);
	free(j);
}

/* Not written: unknown from now on, and a sweep looks after the switch. */
static void job_fail(struct sm *sm, struct mft_job *j, const struct smp_cmd *cmd, int status,
		     ns_t now)
{
	struct sm_mft_block *b = j->fdb->mft[j->block];

	b->known &= (uint16_t) ~(1u << j->pos);
	sm_warn(sm, "a switch (node 0x%llx) does not take MulticastForwardingTable block %u: %s",
		(unsigned long long)j->fdb->guid, j->block,
		status == -EPROTO ? "refused" : "no answer");
	job_free(j);
	sm->incomplete = true;
	if (sm->stage == SM_STAGE_IDLE)
		sm_sweep_request(sm, now + SM_RETRY_MIN);
}

static void on_mft(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data, ns_t now)
{
	struct mft_job *j = cmd->arg;
	struct sm *sm = ctx;

	sm->mft_open--;
	j->open = false;
	if (status) {
		job_fail(sm, j, cmd, status, now);
	} else {
		sm_mft_acked(j->fdb->mft[j->block], j->pos, j->sent);
		if (j->again) {
			j->seq = j->again;
			j->again = 0;
		} else {
			job_free(j);
		}
	}
	jobs_run(sm, now);
	waits_check(sm, now);
	if (sm_mcast_idle(sm))
		sm_sweep_advance(sm, now);
}

static void job_send(struct sm *sm, struct mft_job *j, struct sm_node *n, ns_t now)
{
	const struct sm_mft_block *b = j->fdb->mft[j->block];
	struct smp_cmd c = sm_cmd_node(n, MAD_METHOD_SET, SMP_ATTR_MFT,
				       (uint32_t)j->pos << 28 | j->block, on_mft);

	for (unsigned int i = 0; i < SMP_MFT_PER_BLOCK; i++)
		j->sent[i] = sm_mask_position(b->want[i], j->pos);
	smp_mft_block_encode(c.data, j->sent);
	c.arg = j;
	c.node = NULL; /* it may outlive the database */
	if (!smpq_add(&sm->bgq, &c, now)) {
		sm->incomplete = true; /* the next sweep finds the block dirty */
		job_free(j);
		return;
	}
	j->open = true;
	sm->mft_open++;
	if (sm->stage != SM_STAGE_IDLE)
		sm->sweep.mft_blocks++;
}

static void jobs_run(struct sm *sm, ns_t now)
{
	struct mft_job *j, *tmp;

	list_for_each_safe (j, tmp, &sm->mft_jobs, link) { /* NOLINT(clang-analyzer-unix.Malloc) */
		struct sm_node *n;

		if (sm->mft_open >= sm->cfg.max_smps)
			return;
		if (j->open)
			continue;
		n = sm->routed ? sm_db_node(sm->routed, j->fdb->guid) : NULL;
		if (!n || n->lost)
			job_free(j);
		else
			job_send(sm, j, n, now);
	}
}

bool sm_mcast_idle(const struct sm *sm)
{
	return list_empty(&sm->mft_jobs);
}

/* Blocks of switches that were reset, or that did not take them. */
static void requeue_dirty(struct sm *sm)
{
	for (uint32_t s = 0; s < sm->routed->nswitches; s++) {
		struct sm_fdb *f = sm->routed->sw[s]->sw->fdb;

		for (unsigned int b = 0; b < SM_MFT_BLOCKS; b++) {
			for (unsigned int pos = 0; f->mft[b] && pos < sm_fdb_positions(f); pos++) {
				if (sm_mft_dirty(f->mft[b], pos))
					job_add(sm, f, b, pos, false);
			}
		}
	}
}

void sm_mcast_start(struct sm *sm, ns_t now)
{
	struct sm_group *g;

	for (uint32_t s = 0; s < sm->routed->nswitches; s++)
		sm->routed->sw[s]->sw->fdb->mft_cap = sm->routed->sw[s]->sw->si.mft_cap;
	requeue_dirty(sm);
	list_for_each (g, &sm->group_list, link)
		sm_mcast_update(sm, g, now);
	jobs_run(sm, now);
	waits_check(sm, now);
}

void sm_mcast_cancel(struct sm *sm, int status, ns_t now)
{
	smpq_cancel(&sm->bgq);
	sm->light_open = 0;
	sm->mft_open = 0;
	while (!list_empty(&sm->mft_jobs)) {
		struct mft_job *j = list_first(&sm->mft_jobs, struct mft_job, link);

		job_free(j); /* NOLINT(clang-analyzer-unix.Malloc) */
	}
	while (!list_empty(&sm->mft_waits)) {
		struct mft_wait *w = list_first(&sm->mft_waits, struct mft_wait, link);

		wait_finish(w, status, now); /* NOLINT(clang-analyzer-unix.Malloc) */
	}
}

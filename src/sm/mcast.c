/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/priv.h"

#include <errno.h>
#include <stdlib.h>

#include "subnet/tree.h"

/*
 * DOC: Multicast forwarding tables
 *
 * subnet/tree.c computes, for each switch, the ports that a group needs. This file writes these
 * ports to the multicast forwarding tables (MFTs) of the switches.
 *
 * A job is one block (32 MLIDs) at one position (16 ports) of a switch's MFT that must be written.
 * The entries that a job writes are chosen when the job is sent. A waiter, such as the answer to a
 * join, waits until all jobs that are older than the waiter are done.
 *
 * While switches change from old trees to new ones, links of old and new trees together could form a loop. So
 * the jobs first remove the ports that the new trees do not have; until all these ports are removed, every
 * switch has only ports of the old trees. Then the jobs add the ports of the new trees. Nothing is removed from
 * a position whose content is unknown because its switch is new, was reset, or did not answer.
 *
 * Some lines have NOLINT, because the analyser does not follow list_del(), and reports that freed
 * jobs or waiters are still in their list.
 */

struct mft_job {
	struct list link;
	struct sm *sm;
	struct sm_fdb *fdb;
	uint16_t block;
	uint8_t pos;
	bool open; /* true while the write is in flight */
	bool pruned; /* true when the block in the switch has no unwanted ports any more */
	/* number of the oldest change in this block that the switch has not acknowledged */
	uint64_t seq;
	/* number of the first change that was made after the job was sent; 0: there was none */
	uint64_t again;
	uint16_t sent[SMP_MFT_PER_BLOCK];
};

struct mft_wait {
	struct list link;
	struct sm *sm;
	uint64_t seq; /* number of the last change for which the waiter waits */
	struct timer timer;
	sm_group_done_fn *done;
	void *ctx;
};

static void jobs_run(struct sm *sm, ns_t now);

static struct mft_job *job_find(const struct sm *sm, const struct sm_fdb *f, unsigned int block,
				unsigned int pos)
{
	struct mft_job *j;

	list_for_each (j, &sm->mft_jobs, link) {
		if (j->fdb == f && j->block == block && j->pos == pos)
			return j;
	}
	return NULL;
}

/*
 * Tell whether other jobs wait for @j. No job waits if the switch of @j is behind an external port, because this
 * switch may never answer.
 */
static bool holds_others_up(const struct mft_job *j)
{
	const struct sm_node *n = j->sm->routed ? sm_db_node(j->sm->routed, j->fdb->guid) : NULL;

	return n && !n->outside;
}

static void set_pruned(struct mft_job *j, bool pruned)
{
	if (pruned != j->pruned)
		j->sm->mft_unpruned += pruned ? -1 : 1;
	j->pruned = pruned;
}

/*
 * Add a job for a position of an MFT block, unless the position has a job already. @changed: true if the wanted
 * entries have changed; a job that is in flight is then sent once more
 */
static void job_add(struct sm *sm, struct sm_fdb *f, unsigned int block, unsigned int pos,
		    bool changed)
{
	struct mft_job *j = job_find(sm, f, block, pos);

	sm->mft_seq++;
	if (j) {
		if (!changed)
			return;
		if (j->open && !j->again)
			j->again = sm->mft_seq;
		set_pruned(j, !holds_others_up(j));
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
	j->pruned = true;
	set_pruned(j, !holds_others_up(j));
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

/*
 * Log the number of members that the group's packets do not reach, but only if this number has grown. Otherwise
 * every sweep would log the same line.
 */
static void say_unreached(struct sm *sm, struct sm_group *g, uint32_t unreached)
{
	if (unreached > g->unreached)
		sm_warn(sm,
			"multicast group 0x%04x: %u of its %u members are behind switches whose "
			"multicast tables have no room for it: they get nothing",
			g->rec.mlid, unreached, g->nmembers);
	g->unreached = unreached;
}

void sm_mcast_update(struct sm *sm, struct sm_group *g, ns_t now)
{
	struct sm_tree t;

	if (!sm->routed || !sm->routed->nswitches)
		return;
	if (sm_tree_build(&t, sm->routed, g)) {
		sm->incomplete = true;
		return;
	}
	for (uint32_t s = 0; s < t.db->nswitches; s++)
		want(sm, t.db->sw[s]->sw->fdb, g->rec.mlid, t.br[s].mask);
	say_unreached(sm, g, t.unreached);
	sm_tree_free(&t);
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

/*
 * Finish the waiters for which all jobs are done. The loop starts again from the first waiter after
 * each done(), because done() may join another group or cancel any waiter.
 */
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
	set_pruned(j, true);
	list_del(&j->link);
	sm_fdb_put(j->fdb);
	free(j);
}

/*
 * Handle a write that failed: mark the content of the block in the switch as unknown, and request a
 * sweep. The sweep finds out what happened to the switch.
 */
static void job_fail(struct sm *sm, struct mft_job *j, const struct smp_cmd *cmd, int status,
		     ns_t now)
{
	const struct sm_node *n = sm->routed ? sm_db_node(sm->routed, j->fdb->guid) : NULL;
	struct sm_mft_block *b = j->fdb->mft[j->block];

	b->known &= ~(uint16_t)(1u << j->pos);
	sm_fault(sm, n ? n->outside : 0, now,
		 "a switch (node 0x%llx) does not take MulticastForwardingTable block %u: %s",
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
		} else if (!j->pruned && sm_mft_dirty(j->fdb->mft[j->block], j->pos)) {
			set_pruned(j, true);
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
	struct smp_cmd c = sm_cmd_node(n, MAD_METHOD_SET, SMP_ATTR_MFT,
				       (uint32_t)j->pos << 28 | j->block, on_mft);

	sm_mft_next(j->fdb->mft[j->block], j->pos, j->pruned, j->sent);
	smp_mft_block_encode(c.data, j->sent);
	c.arg = j;
	c.node = NULL; /* NULL, because the job may outlive the database */
	if (!smpq_add(&sm->bgq, &c, now)) {
		sm->incomplete = true; /* the next sweep finds that the block is not written */
		job_free(j);
		return;
	}
	j->open = true;
	sm->mft_open++;
	if (sm->stage != SM_STAGE_IDLE)
		sm->sweep.mft_blocks++;
}

/* Tell whether @j can be sent now. As long as any job has ports to remove, no job adds ports. */
static bool job_ready(struct mft_job *j)
{
	if (!j->pruned && !sm_mft_prunable(j->fdb->mft[j->block], j->pos))
		set_pruned(j, true);
	return !j->pruned || !j->sm->mft_unpruned;
}

/*
 * Send the jobs that are ready. Return: true if jobs had ports to remove before, and now none has,
 * so that further jobs may have become ready
 */
static bool jobs_send(struct sm *sm, ns_t now)
{
	unsigned int unpruned = sm->mft_unpruned;
	struct mft_job *j, *tmp;

	list_for_each_safe (j, tmp, &sm->mft_jobs, link) { /* NOLINT(clang-analyzer-unix.Malloc) */
		struct sm_node *n;

		if (sm->mft_open >= sm->cfg.max_smps)
			return false;
		if (j->open || !job_ready(j))
			continue;
		n = sm->routed ? sm_db_node(sm->routed, j->fdb->guid) : NULL;
		if (!n || n->lost)
			job_free(j);
		else
			job_send(sm, j, n, now);
	}
	return unpruned && !sm->mft_unpruned;
}

static void jobs_run(struct sm *sm, ns_t now)
{
	while (jobs_send(sm, now))
		;
}

bool sm_mcast_differs(const struct sm *sm, const struct sm_fdb *f, unsigned int block,
		      unsigned int pos, const uint16_t read[SMP_MFT_PER_BLOCK])
{
	const struct sm_mft_block *b = f->mft[block];

	if (!b || sm_mft_dirty(b, pos) || job_find(sm, f, block, pos))
		return false;
	return !sm_mft_has(b, pos, read);
}

void sm_mcast_repair(struct sm *sm, struct sm_fdb *f, unsigned int block, unsigned int pos,
		     ns_t now)
{
	f->mft[block]->known &= (uint16_t)(~(1u << pos));
	job_add(sm, f, block, pos, false);
	jobs_run(sm, now);
}

bool sm_mcast_idle(const struct sm *sm)
{
	return list_empty(&sm->mft_jobs);
}

/* Add a job for each MFT block that its switch has not acknowledged, or has lost by a reset. */
static void requeue_dirty(struct sm *sm)
{
	for (uint32_t s = 0; s < sm->routed->nswitches; s++) {
		struct sm_fdb *f = sm->routed->sw[s]->sw->fdb;

		for (unsigned int b = 0; b < f->mft_end; b++) {
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

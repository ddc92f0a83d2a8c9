/* SPDX-License-Identifier: BSD-2-Clause */
#include "sa/priv.h"

#include <errno.h>
#include <stdlib.h>

/*
 * DOC: Requests that take longer
 *
 * The number of paths between all ports is the square of the number of ports, and some tables are
 * read only when a client asks for them (sm/learn.h). A request for such paths or tables is stored
 * as a job, together with the part of its answer that is ready. A job runs in slices, and the event
 * loop handles other events after each slice. The next slice runs the first job that does not wait
 * for a table. A new database restarts a job. A job that would restart for the 8th time is dropped.
 *
 * Memory is bounded: the numbers of jobs of a port and of all ports are limited (SA_MAX_JOBS_PORT,
 * SA_MAX_JOBS), and only one job at a time has a partial answer.
 */

/* delay of the next slice, so that other timers and sockets are handled first */
#define SLICE_PAUSE NS_USEC(20)
#define RESTARTS 8

static struct sa_job *job_find(const struct sa_req *r)
{
	struct sa_job *j;

	list_for_each (j, &r->sa->jobs, link) {
		if (j->from.lid == r->from->lid && j->from.qpn == r->from->qpn &&
		    mad_tid(j->mad) == r->m.mad.tid && mad_attr(j->mad) == r->m.mad.attr_id)
			return j;
	}
	return NULL;
}

bool sa_job_repeated(const struct sa_req *r)
{
	return job_find(r);
}

static unsigned int jobs_of(const struct sa *sa, uint16_t lid)
{
	const struct sa_job *j;
	unsigned int n = 0;

	list_for_each (j, &sa->jobs, link)
		n += j->from.lid == lid;
	return n;
}

static void job_free(struct sa_job *j)
{
	sm_learn_forget(j->sa->sm, j);
	list_del(&j->link);
	j->sa->njobs--;
	sa_table_fini(&j->table);
	free(j);
}

static struct sa_job *job_new(const struct sa_req *r)
{
	struct sa *sa = r->sa;
	struct sa_job *j;

	if (sa->njobs >= SA_MAX_JOBS || jobs_of(sa, r->from->lid) >= SA_MAX_JOBS_PORT ||
	    r->m.data_len > SA_DATA_LEN)
		return NULL;
	j = calloc(1, sizeof(*j));
	if (!j)
		return NULL;
	j->sa = sa;
	j->from = *r->from;
	memcpy(j->mad, r->m.data - SA_DATA_OFF, SA_DATA_OFF + r->m.data_len);
	j->len = SA_DATA_OFF + r->m.data_len;
	list_add_tail(&sa->jobs, &j->link);
	sa->njobs++;
	return j;
}

static void jobs_schedule(struct sa *sa, ns_t now)
{
	if (!timer_armed(&sa->job_timer))
		timer_arm(sm_timers(sa->sm), &sa->job_timer, now + SLICE_PAUSE);
}

static void on_learnt(void *ctx, ns_t now)
{
	struct sa_job *j = ctx;

	j->learning = false;
	jobs_schedule(j->sa, now);
}

uint16_t sa_job_slice(struct sa_req *r)
{
	struct sa_job *j = r->job ? r->job : job_new(r);

	if (!j)
		return SA_DROP;
	jobs_schedule(r->sa, r->now);
	return SA_PENDING;
}

uint16_t sa_job_learn(struct sa_req *r, enum sm_table what, const struct sm_port *p)
{
	struct sa_job *j = r->job;
	int err;

	if (j && j->learnt == r->db->generation)
		return 0;
	if (!j)
		j = job_new(r);
	if (!j)
		return SA_DROP;
	j->learnt = r->db->generation;
	err = sm_learn(r->sa->sm, what, p, true, on_learnt, j, r->now);
	if (err == -EINPROGRESS) {
		j->learning = true;
		return SA_PENDING;
	}
	if (!r->job)
		job_free(j);
	return err ? SA_DROP : 0;
}

/*
 * Prepare a job for its next slice. If there is a new database, the job starts from the beginning,
 * because its pair of ports and its records are invalid in the new database. Return: false if the
 * job has restarted too often
 */
static bool job_begin(struct sa_job *j, const struct sm_db *db)
{
	if (j->generation == db->generation)
		return true;
	j->generation = db->generation;
	j->src = j->dst = NULL;
	j->started = false;
	return j->restarts++ < RESTARTS;
}

static void job_run(struct sa_job *j, ns_t now)
{
	struct sa_req r = { .sa = j->sa, .from = &j->from, .now = now, .job = j };
	uint16_t status;

	sa_mad_decode(&r.m, j->mad, j->len);
	if (!sa_req_accept(&r)) {
		job_free(j);
		return;
	}
	if (!job_begin(j, r.db)) {
		j->sa->stats.drop_busy++;
		job_free(j);
		return;
	}
	status = sa_req_handle(&r);
	if (status != SA_PENDING)
		job_free(j);
}

/*
 * Return the first job that does not wait for tables; NULL: there is none. NOLINT, because the
 * analyser does not follow list_del() and believes that a freed job is still in the list.
 */
static struct sa_job *job_ready(const struct sa *sa)
{
	struct sa_job *j;

	list_for_each (j, &sa->jobs, link) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		if (!j->learning)
			return j;
	}
	return NULL;
}

static void job_timer(struct timer *t, ns_t now)
{
	struct sa *sa = container_of(t, struct sa, job_timer);
	struct sa_job *j = job_ready(sa);

	if (j)
		job_run(j, now);
	if (job_ready(sa))
		jobs_schedule(sa, now);
}

void sa_jobs_init(struct sa *sa)
{
	list_init(&sa->jobs);
	timer_init(&sa->job_timer, job_timer);
}

void sa_jobs_clear(struct sa *sa)
{
	struct sa_job *j, *tmp;

	list_for_each_safe (j, tmp, &sa->jobs, link)
		job_free(j);
	timer_cancel(sm_timers(sa->sm), &sa->job_timer);
}

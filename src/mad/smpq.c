/* SPDX-License-Identifier: BSD-2-Clause */
#include "mad/smpq.h"

#include <errno.h>
#include <stdlib.h>

#define RETRY_AFTER NS_MSEC(5)
#define RETRY_MAX 100

struct smp_req {
	struct list link;
	struct smpq *q;
	struct mad_tx *tx;
	struct smp_cmd cmd;
};

static void retry_fire(struct timer *t, ns_t now);
static void run(struct smpq *q, ns_t now);

void smpq_init(struct smpq *q, const struct smpq_cfg *cfg)
{
	*q = (struct smpq){ .cfg = *cfg };
	list_init(&q->wait);
	list_init(&q->open);
	list_init(&q->sources);
	timer_init(&q->retry, retry_fire);
}

static void finish(struct smpq *q, struct smp_req *rq, int status, const void *mad, ns_t now)
{
	bool outer = q->busy;

	list_del(&rq->link);
	if (status == 0) {
		rq->cmd.mad_status = mad_status(mad) & ~MAD_STATUS_DR_D & 0xffff;
		if (rq->cmd.mad_status)
			status = -EPROTO;
	} else {
		q->timeouts += status != -ECANCELED;
		status = -ETIMEDOUT;
	}

	q->busy = true;
	rq->cmd.done(q->cfg.ctx, &rq->cmd, status, mad ? (const uint8_t *)mad + SMP_DATA_OFF : NULL,
		     now);
	q->busy = outer;
	free(rq);
}

static void on_response(void *ctx, int status, const struct mad_addr *from, const void *mad,
			size_t len, ns_t now)
{
	struct smp_req *rq = ctx;
	struct smpq *q = rq->q;

	q->nopen--;
	if (status == 0 && (len != MAD_LEN || mad_attr(mad) != rq->cmd.attr))
		status = -EBADMSG;
	finish(q, rq, status, status ? NULL : mad, now);
	run(q, now);
}

static int send_one(struct smpq *q, struct smp_req *rq, ns_t now)
{
	const struct smp_cmd *c = &rq->cmd;
	struct mad_hdr h = {
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = MAD_CLASS_SM_DR,
		.class_version = 1,
		.method = c->method,
		.class_specific = c->nhops,
		.attr_id = c->attr,
		.attr_mod = c->mod,
	};
	struct smp_dr dr = {
		.mkey = q->cfg.mkey,
		.dr_slid = IB_LID_PERMISSIVE,
		.dr_dlid = IB_LID_PERMISSIVE,
	};
	uint8_t mad[MAD_LEN];
	struct mad_req req = {
		.to = mad_addr_smp_dr(),
		.mad = mad,
		.len = sizeof(mad),
		.timeout_ms = q->cfg.timeout_ms,
		.retries = q->cfg.retries,
		.done = on_response,
		.ctx = rq,
	};

	memcpy(dr.initial_path, c->path, sizeof(c->path));
	smp_encode(mad, &h, &dr, c->method == MAD_METHOD_SET ? c->data : NULL);
	return mad_request(q->cfg.agent, &req, &rq->tx, now);
}

/*
 * Return the queued request that is to be sent next; NULL if none is queued or max_open requests
 * are open.
 */
static struct smp_req *next_in_line(const struct smpq *q)
{
	if (list_empty(&q->wait) || q->nopen >= q->cfg.max_open)
		return NULL;
	return list_first(&q->wait, struct smp_req, link);
}

static bool is_useless(const struct smpq *q, const struct smp_req *rq, ns_t now)
{
	return q->cfg.useless && q->cfg.useless(q->cfg.ctx, &rq->cmd, now);
}

/*
 * Ask the sources for SMPs until an SMP waits, all sources have ended, or max_open requests are
 * open.
 */
static void ask_sources(struct smpq *q, ns_t now)
{
	q->asking = true;
	while (list_empty(&q->wait) && !list_empty(&q->sources) && q->nopen < q->cfg.max_open) {
		struct smpq_source *s = list_first(&q->sources, struct smpq_source, link);

		if (!s->more(s, now))
			list_del(&s->link);
	}
	q->asking = false;
}

static struct smp_req *next_to_send(struct smpq *q, ns_t now)
{
	ask_sources(q, now);
	return next_in_line(q);
}

static void send_waiting(struct smpq *q, ns_t now)
{
	struct smp_req *rq;

	while ((rq = next_to_send(q, now))) {
		if (is_useless(q, rq, now)) {
			/*
			 * Let the timer end the request, because smpq_add() must not call done().
			 */
			if (!q->nopen && !q->busy)
				timer_arm(q->cfg.timers, &q->retry, now + 1);
			return;
		}
		if (send_one(q, rq, now)) {
			/*
			 * While requests are open, run() is called again when one of them ends, so
			 * no timer is needed.
			 */
			if (!q->nopen)
				timer_arm(q->cfg.timers, &q->retry, now + RETRY_AFTER);
			return;
		}
		q->stuck = 0;
		q->nopen++;
		q->sent++;
		list_del(&rq->link);
		list_add_tail(&q->open, &rq->link);
	}
}

/*
 * Send waiting requests, and call idle() if the queue is empty. Only the outermost call of run()
 * calls idle(), because the done() of the last request may add more requests.
 */
static void run(struct smpq *q, ns_t now)
{
	struct smp_req *rq;

	send_waiting(q, now);
	while (!q->busy && (rq = next_in_line(q)) && is_useless(q, rq, now)) {
		finish(q, rq, -ECANCELED, NULL, now);
		send_waiting(q, now);
	}
	if (!q->busy && smpq_idle(q) && q->cfg.idle)
		q->cfg.idle(q->cfg.ctx, now);
}

static void retry_fire(struct timer *t, ns_t now)
{
	struct smpq *q = container_of(t, struct smpq, retry);

	if (!list_empty(&q->wait) &&
	    !is_useless(q, list_first(&q->wait, struct smp_req, link), now) &&
	    ++q->stuck > RETRY_MAX) {
		q->failed = true;
		finish(q, list_first(&q->wait, struct smp_req, link), -EBUSY, NULL, now);
	}
	run(q, now);
}

bool smpq_add(struct smpq *q, const struct smp_cmd *cmd, ns_t now)
{
	struct smp_req *rq = malloc(sizeof(*rq));

	if (!rq) {
		q->failed = true;
		return false;
	}
	*rq = (struct smp_req){ .q = q, .cmd = *cmd };
	list_add_tail(&q->wait, &rq->link);
	if (!q->asking)
		send_waiting(q, now);
	return true;
}

void smpq_add_source(struct smpq *q, struct smpq_source *s, ns_t now)
{
	list_add_tail(&q->sources, &s->link);
	if (!q->asking)
		send_waiting(q, now);
}

void smpq_cancel(struct smpq *q)
{
	struct smp_req *rq, *tmp;

	timer_cancel(q->cfg.timers, &q->retry);
	list_for_each_safe (rq, tmp, &q->open, link) {
		mad_cancel(rq->tx);
		list_del(&rq->link);
		free(rq);
	}
	list_for_each_safe (rq, tmp, &q->wait, link) {
		list_del(&rq->link);
		free(rq);
	}
	list_init(&q->sources);
	q->nopen = 0;
}

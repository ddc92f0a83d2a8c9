/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "cm/priv.h"

static struct cm_request *request_find(struct cm *c, uint32_t request_id)
{
	struct cm_request *q;

	list_for_each (q, &c->requests, link)
		if (q->req.request_id == request_id)
			return q;
	return NULL;
}

/*
 * Return a RequestID that is not in use. The RequestID depends on the time, too, so that an answer
 * to a request that was sent before a restart does not match a later request.
 */
static uint32_t request_id_new(struct cm *c, ns_t now)
{
	uint32_t id;

	do
		id = (uint32_t)(prng_u64(&c->prng) ^ now);
	while (request_find(c, id));
	return id;
}

static void request_close(struct cm_request *q)
{
	timer_cancel(q->cm->timers, &q->timer);
	list_del(&q->link);
	q->cm = NULL;
}

/* Send the SIDR_REQ. A SIDR_REQ that cannot be sent now counts as lost, and is repeated later. */
static void request_send(struct cm_request *q, ns_t now)
{
	uint8_t mad[MAD_LEN];

	sidr_req_encode(mad, q->tid, &q->req);
	(void)mad_reply(q->cm->agent, &q->to, mad, sizeof(mad), now);
	timer_arm(q->cm->timers, &q->timer, now + NS_MSEC(CM_TRY_MS));
}

static void request_timer(struct timer *t, ns_t now)
{
	struct cm_request *q = container_of(t, struct cm_request, timer);
	struct cm *c = q->cm;

	if (q->left) {
		q->left--;
		c->stats.retries++;
		request_send(q, now);
		return;
	}
	c->stats.timeouts++;
	request_close(q);
	q->done(q, -ETIMEDOUT, NULL, now);
}

int cm_request(struct cm *c, struct cm_request *q, ns_t now)
{
	int err = q->cm ? -EALREADY : cm_register(c);

	if (err)
		return err;
	q->cm = c;
	q->left = CM_RETRIES;
	q->req.request_id = request_id_new(c, now);
	q->tid = (uint64_t)mad_agent_id(c->agent) << 32 | q->req.request_id;
	timer_init(&q->timer, request_timer);
	list_add_tail(&c->requests, &q->link);
	c->stats.requests++;
	request_send(q, now);
	return 0;
}

void cm_request_cancel(struct cm_request *q)
{
	if (q->cm)
		request_close(q);
}

void cm_reply_recv(struct cm *c, const struct mad_addr *from, const void *mad, size_t len, ns_t now)
{
	struct cm_request *q;
	struct sidr_rep rep;

	if (sidr_rep_decode(&rep, mad, len)) {
		c->stats.drop_other++;
		return;
	}
	q = request_find(c, rep.request_id);
	if (!q || from->lid != q->to.lid || rep.service_id != q->req.service_id) {
		c->stats.drop_late++;
		return;
	}
	c->stats.answers++;
	request_close(q);
	q->done(q, 0, &rep, now);
}

void cm_requests_init(struct cm *c)
{
	list_init(&c->requests);
}

void cm_requests_fini(struct cm *c)
{
	struct cm_request *q, *tmp;

	list_for_each_safe (q, tmp, &c->requests, link)
		request_close(q);
}

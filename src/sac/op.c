/* SPDX-License-Identifier: BSD-2-Clause */
#include "sac/op.h"

#include <errno.h>

#define SA_CLASS_VERSION 2
/* time until the next try if the MAD endpoint had no room for a request */
#define PUMP_RETRY NS_MSEC(20)

static void pump(struct sac *s, ns_t now);

void sac_op_headers(struct sac_op *op, uint8_t mad[MAD_LEN], uint8_t method, uint16_t attr_id,
		    uint64_t comp_mask)
{
	struct mad_hdr h = {
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = SA_CLASS_VERSION,
		.method = method,
		.attr_id = attr_id,
	};
	struct sa_hdr sa = { .comp_mask = comp_mask };

	/*
	 * The answer to a Set is GetResp; the answer to another method is that method with the
	 * response bit.
	 */
	op->resp_method = (method == MAD_METHOD_SET ? MAD_METHOD_GET : method) | MAD_METHOD_RESP;
	op->attr_id = attr_id;
	sa_mad_encode(mad, &h, &sa);
}

/*
 * Return the status of an answer: 0; a MAD status (> 0); -EBADMSG if the answer does not fit the
 * request; -ENXIO or -EBUSY as sac_outage_status()
 */
static int answer_status(const struct sac_op *op, struct sa_mad *sm, const void *mad, size_t len)
{
	if (sa_mad_decode(sm, mad, len))
		return -EBADMSG;
	if (sm->mad.method != op->resp_method || sm->mad.attr_id != op->attr_id)
		return -EBADMSG;
	return sac_outage_status(sm->mad.status);
}

static void op_done(void *ctx, int status, const struct mad_addr *from, const void *mad, size_t len,
		    ns_t now)
{
	struct sac_op *op = ctx;
	struct sac *s = op->sac;
	struct sa_mad sm;

	op->tx = NULL;
	op->active = false;
	s->nopen--;
	if (!status) {
		s->stats.answers++;
		status = answer_status(op, &sm, mad, len);
	}
	s->stats.timeouts += status == -ETIMEDOUT;
	s->stats.malformed += status == -EBADMSG;
	s->stats.refused += status > 0;
	s->stats.absent += status == -ENXIO;
	s->stats.busy += status == -EBUSY;
	sac_outage_note(s, status, now);
	op->done(op, status, status ? NULL : &sm, now);
	pump(s, now);
}

static int op_send(struct sac *s, struct sac_op *op, ns_t now)
{
	uint8_t mad[MAD_LEN];
	struct mad_req req = {
		.to = mad_addr_gmp(s->port.sm_lid, s->port.sm_sl),
		.mad = mad,
		.len = sizeof(mad),
		.timeout_ms = op->tries.timeout_ms ? op->tries.timeout_ms : SAC_TRY_MS,
		.retries = op->tries.timeout_ms ? op->tries.retries : SAC_RETRIES,
		.done = op_done,
		.ctx = op,
	};

	op->fill(op, mad);
	return mad_request(s->agent, &req, &op->tx, now);
}

static void pump(struct sac *s, ns_t now)
{
	while (s->nqueued && s->nopen < SAC_MAX_OPEN) {
		struct list *q = list_empty(&s->urgent) ? &s->normal : &s->urgent;
		struct sac_op *op = list_first(q, struct sac_op, link);

		if (op_send(s, op, now)) {
			timer_arm(s->timers, &s->pump, now + PUMP_RETRY);
			return;
		}
		list_del(&op->link);
		s->nqueued--;
		s->nopen++;
		s->stats.requests++;
	}
}

static void pump_again(struct timer *t, ns_t now)
{
	pump(container_of(t, struct sac, pump), now);
}

void sac_op_submit(struct sac *s, struct sac_op *op, bool urgent, ns_t now)
{
	op->sac = s;
	op->tx = NULL;
	op->active = true;
	list_add_tail(urgent ? &s->urgent : &s->normal, &op->link);
	s->nqueued++;
	pump(s, now);
}

void sac_op_cancel(struct sac_op *op)
{
	struct sac *s = op->sac;

	if (!op->active)
		return;
	op->active = false;
	if (op->tx) {
		mad_cancel(op->tx);
		op->tx = NULL;
		s->nopen--;
		/*
		 * This function does not know the present time, so a timer that expires at once
		 * sends the next queued request.
		 */
		if (s->nqueued && !timer_armed(&s->pump))
			timer_arm(s->timers, &s->pump, 0);
	} else {
		list_del(&op->link);
		s->nqueued--;
	}
}

void sac_ops_init(struct sac *s)
{
	list_init(&s->urgent);
	list_init(&s->normal);
	timer_init(&s->pump, pump_again);
}

void sac_ops_fini(struct sac *s)
{
	timer_cancel(s->timers, &s->pump);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "sac/op.h"

/* Does a group exist? Get(MCMemberRecord) by MGID, RFC 4391 §10 A. */

struct ask {
	struct sac_op op;
	struct sac_group_query *q;
};

static void ask_fill(struct sac_op *op, uint8_t mad[MAD_LEN])
{
	struct sac_group_query *q = container_of(op, struct ask, op)->q;
	struct ib_mcmember_rec rec = { .mgid = q->mgid };

	sac_op_headers(op, mad, MAD_METHOD_GET, SA_ATTR_MCMEMBER_RECORD, MCM_COMP_MGID);
	ib_mcmember_rec_encode(mad + SA_DATA_OFF, &rec);
}

/* Unlinks the question from its request, so that @q may be asked again by what it calls. */
static struct sac_group_query *ask_end(struct ask *a)
{
	struct sac_group_query *q = a->q;

	sac_op_cancel(&a->op);
	list_del(&q->node);
	q->op = NULL;
	free(a);
	return q;
}

static void ask_done(struct sac_op *op, int status, const struct sa_mad *resp, ns_t now)
{
	struct sac_group_query *q = ask_end(container_of(op, struct ask, op));
	struct ib_mcmember_rec rec;

	if (!status)
		status = ib_mcmember_rec_decode(&rec, resp->data, resp->data_len);
	if (!status && !ib_gid_equal(&rec.mgid, &q->mgid))
		status = -EBADMSG;
	q->done(q, status, status ? NULL : &rec, now);
}

int sac_group_ask(struct sac *s, struct sac_group_query *q, const ib_gid *mgid, ns_t now)
{
	struct ask *a;

	if (q->op)
		return -EALREADY;
	if (!sac_usable(s))
		return -ENETDOWN;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->q = q;
	a->op.fill = ask_fill;
	a->op.done = ask_done;
	q->op = &a->op;
	q->mgid = *mgid;
	list_add_tail(&s->asks, &q->node);
	s->stats.asks++;
	sac_op_submit(s, &a->op, false, now);
	return 0;
}

void sac_group_ask_cancel(struct sac_group_query *q)
{
	if (q->op)
		ask_end(container_of(q->op, struct ask, op));
}

void sac_asks_restart(struct sac *s, ns_t now)
{
	struct list old = LIST_INIT(old);
	struct sac_group_query *q;

	while (!list_empty(&s->asks)) {
		struct list *n = s->asks.next;

		list_del(n);
		list_add_tail(&old, n);
	}
	while (!list_empty(&old)) {
		q = list_first(&old, struct sac_group_query, node);
		sac_op_cancel(q->op);
		if (sac_usable(s)) {
			list_del(&q->node);
			list_add_tail(&s->asks, &q->node);
			sac_op_submit(s, q->op, false, now);
		} else {
			ask_end(container_of(q->op, struct ask, op));
			q->done(q, -ENETDOWN, NULL, now);
		}
	}
}

void sac_asks_fini(struct sac *s)
{
	struct sac_group_query *q, *tmp;

	list_for_each_safe (q, tmp, &s->asks, node)
		sac_group_ask_cancel(q);
}

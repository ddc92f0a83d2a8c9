/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "sac/op.h"

/*
 * Two queries to the SA: whether a group exists, by Get(MCMemberRecord) with the MGID (RFC 4391 §10
 * A), and which groups a partition has, by GetTable(MCMemberRecord) with the P_Key (§11 A).
 */

struct ask {
	struct sac_op op;
	struct sac_group_query *q;
};

static void ask_fill(struct sac_op *op, uint8_t mad[MAD_LEN])
{
	struct sac_group_query *q = container_of(op, struct ask, op)->q;
	struct ib_mcmember_rec rec = { .mgid = q->mgid, .pkey = q->pkey };

	sac_op_headers(op, mad, q->list ? MAD_METHOD_GET_TABLE : MAD_METHOD_GET,
		       SA_ATTR_MCMEMBER_RECORD, q->list ? MCM_COMP_PKEY : MCM_COMP_MGID);
	ib_mcmember_rec_encode(mad + SA_DATA_OFF, &rec);
}

/*
 * Detaches the query from its request. This is done before the callback of the query runs, because
 * the callback may start the query again.
 */
static struct sac_group_query *ask_end(struct ask *a)
{
	struct sac_group_query *q = a->q;

	sac_op_cancel(&a->op);
	list_del(&q->link);
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

static void list_done(struct sac_op *op, int status, const struct sa_mad *resp, ns_t now)
{
	struct sac_group_query *q = ask_end(container_of(op, struct ask, op));
	size_t step = status ? 0 : resp->sa.attr_offset * 8u;
	struct ib_mcmember_rec rec;

	if (!status && resp->data_len && step < MCMEMBER_REC_LEN)
		status = -EBADMSG;
	for (size_t at = 0; !status && at < resp->data_len; at += step) {
		/*
		 * The data may end with the padding of the last segment, which is no whole record.
		 */
		if (ib_mcmember_rec_decode(&rec, resp->data + at, resp->data_len - at))
			break;
		q->done(q, 0, &rec, now);
	}
	q->done(q, status == SA_STATUS_NO_RECORDS ? 0 : status, NULL, now);
}

static int ask_submit(struct sac *s, struct sac_group_query *q, ns_t now)
{
	struct ask *a;

	if (!sac_usable(s))
		return -ENETDOWN;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->q = q;
	a->op.fill = ask_fill;
	a->op.done = q->list ? list_done : ask_done;
	q->op = &a->op;
	list_add_tail(&s->asks, &q->link);
	s->stats.asks++;
	sac_op_submit(s, &a->op, false, now);
	return 0;
}

int sac_group_ask(struct sac *s, struct sac_group_query *q, const ib_gid *mgid, ns_t now)
{
	if (q->op)
		return -EALREADY;
	q->list = false;
	q->mgid = *mgid;
	return ask_submit(s, q, now);
}

int sac_group_list(struct sac *s, struct sac_group_query *q, uint16_t pkey, ns_t now)
{
	if (q->op)
		return -EALREADY;
	q->list = true;
	q->pkey = pkey;
	return ask_submit(s, q, now);
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
		q = list_first(&old, struct sac_group_query, link);
		sac_op_cancel(q->op);
		if (sac_usable(s)) {
			list_del(&q->link);
			list_add_tail(&s->asks, &q->link);
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

	list_for_each_safe (q, tmp, &s->asks, link)
		sac_group_ask_cancel(q);
}

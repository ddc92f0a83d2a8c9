// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

#include <linux/mm.h>

#include "uib.h"

#define SEND_BATCH 64 /* work requests that one run of a QP's work item sends before it yields */

static struct uib_swqe *sqe(struct uib_qp *qp, u32 i)
{
	return &qp->sq[(qp->sq_head + i) % qp->cap.max_send_wr];
}

static struct uib_sge *sqe_sge(struct uib_qp *qp, const struct uib_swqe *w)
{
	return &qp->sq_sge[(w - qp->sq) * qp->cap.max_send_sge];
}

/* --- completions; the consumer's handler is called when the QP's lock has been released */

static bool complete_send(struct uib_qp *qp, const struct uib_swqe *w, enum ib_wc_status status)
{
	struct ib_wc wc = {
		.wr_id = w->wr_id,
		.status = status,
		.opcode = IB_WC_SEND,
		.byte_len = w->len,
		.qp = &qp->ibqp,
		.port_num = UIB_PORT,
	};

	if (!w->signaled && status == IB_WC_SUCCESS)
		return false;
	return uib_cq_push(to_ucq(qp->ibqp.send_cq), &wc, false);
}

/* Takes the oldest work request out of its queue. */
static void pop_send(struct uib_qp *qp)
{
	struct uib_swqe *w = sqe(qp, 0);

	uib_sge_put(sqe_sge(qp, w), w->num_sge);
	qp->sq_head = (qp->sq_head + 1) % qp->cap.max_send_wr;
	qp->sq_count--;
}

static void pop_recv(struct uib_qp *qp)
{
	uib_sge_put(&qp->rq_sge[qp->rq_head * qp->cap.max_recv_sge], qp->rq[qp->rq_head].num_sge);
	qp->rq_head = (qp->rq_head + 1) % qp->cap.max_recv_wr;
	qp->rq_count--;
}

static bool flush_recv(struct uib_qp *qp)
{
	struct ib_wc wc = {
		.status = IB_WC_WR_FLUSH_ERR,
		.opcode = IB_WC_RECV,
		.qp = &qp->ibqp,
		.port_num = UIB_PORT,
	};
	bool fire = false;

	while (qp->rq_count) {
		wc.wr_id = qp->rq[qp->rq_head].wr_id;
		fire |= uib_cq_push(to_ucq(qp->ibqp.recv_cq), &wc, false);
		pop_recv(qp);
	}
	return fire;
}

static bool flush_send(struct uib_qp *qp)
{
	bool fire = false;

	while (qp->sq_count) {
		fire |= complete_send(qp, sqe(qp, 0), IB_WC_WR_FLUSH_ERR);
		pop_send(qp);
	}
	return fire;
}

static void fire(struct ib_cq *cq)
{
	local_bh_disable();
	uib_cq_fire(to_ucq(cq));
	local_bh_enable();
}

/* In SQE only the send queue is flushed. */
static void flush(struct uib_qp *qp)
{
	bool send = false, recv = false;

	spin_lock_irq(&qp->lock);
	if (qp->state == IB_QPS_SQE || qp->state == IB_QPS_ERR)
		send = flush_send(qp);
	if (qp->state == IB_QPS_ERR)
		recv = flush_recv(qp);
	spin_unlock_irq(&qp->lock);
	if (send)
		fire(qp->ibqp.send_cq);
	if (recv)
		fire(qp->ibqp.recv_cq);
}

/*
 * Only this work item takes from the send queue while the QP is in RTS. A send that fails takes the QP to SQE (IBTA 10.3.1):
 * the later ones are flushed, until the consumer asks for RTS again.
 */
static bool send_one(struct uib_qp *qp)
{
	struct uib_swqe *w = NULL;
	enum ib_wc_status status;
	bool due;

	spin_lock_irq(&qp->lock);
	if (qp->state == IB_QPS_RTS && qp->sq_count)
		w = sqe(qp, 0);
	spin_unlock_irq(&qp->lock);
	if (!w)
		return false;
	status = uib_send(qp, w, sqe_sge(qp, w));
	spin_lock_irq(&qp->lock);
	due = complete_send(qp, w, status);
	pop_send(qp);
	if (status != IB_WC_SUCCESS && qp->state == IB_QPS_RTS)
		qp->state = IB_QPS_SQE;
	spin_unlock_irq(&qp->lock);
	if (due)
		fire(qp->ibqp.send_cq);
	return true;
}

static void qp_work(struct work_struct *work)
{
	struct uib_qp *qp = container_of(work, struct uib_qp, work);
	unsigned int i;

	for (i = 0; i < SEND_BATCH; i++) {
		if (!send_one(qp)) {
			flush(qp);
			return;
		}
	}
	queue_work(uib_wq, work);
}

/* --- create and destroy */

static int check_init(const struct ib_qp_init_attr *a)
{
	const struct ib_qp_cap *c = &a->cap;

	if (a->qp_type != IB_QPT_UD && a->qp_type != IB_QPT_GSI && a->qp_type != IB_QPT_SMI)
		return -EOPNOTSUPP;
	if (a->srq || (a->create_flags & ~IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK))
		return -EOPNOTSUPP;
	if (a->qp_type != IB_QPT_UD && a->port_num != UIB_PORT)
		return -EINVAL;
	if (!a->send_cq || !a->recv_cq || c->max_send_wr > UIB_MAX_WR ||
	    c->max_recv_wr > UIB_MAX_WR || c->max_send_sge > UIB_MAX_SGE ||
	    c->max_recv_sge > UIB_MAX_SGE || c->max_inline_data)
		return -EINVAL;
	return 0;
}

static void free_rings(struct uib_qp *qp)
{
	kvfree(qp->sq);
	kvfree(qp->sq_sge);
	kvfree(qp->rq);
	kvfree(qp->rq_sge);
	kfree(qp->gather);
}

static int alloc_rings(struct uib_qp *qp)
{
	struct ib_qp_cap *c = &qp->cap;

	c->max_send_wr = max(c->max_send_wr, 1u);
	c->max_recv_wr = max(c->max_recv_wr, 1u);
	c->max_send_sge = max(c->max_send_sge, 1u);
	c->max_recv_sge = max(c->max_recv_sge, 1u);
	qp->sq = kvcalloc(c->max_send_wr, sizeof(*qp->sq), GFP_KERNEL);
	qp->rq = kvcalloc(c->max_recv_wr, sizeof(*qp->rq), GFP_KERNEL);
	qp->sq_sge =
		kvcalloc((size_t)c->max_send_wr * c->max_send_sge, sizeof(*qp->sq_sge), GFP_KERNEL);
	qp->rq_sge =
		kvcalloc((size_t)c->max_recv_wr * c->max_recv_sge, sizeof(*qp->rq_sge), GFP_KERNEL);
	qp->gather = kmalloc(uib_mtu_octets(IB_MTU_4096), GFP_KERNEL);
	if (qp->sq && qp->rq && qp->sq_sge && qp->rq_sge && qp->gather)
		return 0;
	free_rings(qp);
	return -ENOMEM;
}

/* SMI and GSI are QP0 and QP1. Other numbers are given in cyclic order, so that a number is not used again at once. */
static int take_number(struct uib_qp *qp, enum ib_qp_type type)
{
	struct uib_dev *dev = qp->dev;
	u32 qpn = type == IB_QPT_SMI ? 0 : 1;
	int err;

	if (type == IB_QPT_UD)
		err = xa_alloc_cyclic_irq(&dev->qps, &qpn, qp,
					  XA_LIMIT(UIB_FIRST_QPN, UIB_QPN_MASK - 1), &dev->next_qpn,
					  GFP_KERNEL);
	else
		err = xa_insert_irq(&dev->qps, qpn, qp, GFP_KERNEL);
	if (err < 0)
		return err;
	qp->ibqp.qp_num = qpn;
	return 0;
}

int uib_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct uib_qp *qp = to_uqp(ibqp);
	int err;

	if (udata)
		return -EOPNOTSUPP;
	err = check_init(attr);
	if (err)
		return err;
	qp->dev = to_uib(ibqp->device);
	spin_lock_init(&qp->lock);
	INIT_WORK(&qp->work, qp_work);
	qp->state = IB_QPS_RESET;
	qp->signal_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->block_loopback = attr->create_flags & IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	qp->cap = attr->cap;
	err = alloc_rings(qp);
	if (err)
		return err;
	attr->cap = qp->cap;
	err = take_number(qp, attr->qp_type);
	if (err)
		free_rings(qp);
	return err;
}

/* Stop sending, empty both queues, and remove the QP's completions. */
static void reset(struct uib_qp *qp)
{
	spin_lock_irq(&qp->lock);
	qp->state = IB_QPS_RESET;
	spin_unlock_irq(&qp->lock);
	cancel_work_sync(&qp->work);
	spin_lock_irq(&qp->lock);
	while (qp->sq_count)
		pop_send(qp);
	while (qp->rq_count)
		pop_recv(qp);
	qp->sq_head = qp->rq_head = 0;
	spin_unlock_irq(&qp->lock);
	uib_cq_purge(to_ucq(qp->ibqp.send_cq), &qp->ibqp);
	uib_cq_purge(to_ucq(qp->ibqp.recv_cq), &qp->ibqp);
}

int uib_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct uib_qp *qp = to_uqp(ibqp);

	xa_erase_irq(&qp->dev->qps, ibqp->qp_num);
	uib_mcast_forget(qp);
	reset(qp);
	/* Wait for receivers that found the QP before it was erased, and for the completion handlers that they call. */
	synchronize_rcu();
	free_rings(qp);
	return 0;
}

/* --- modify and query */

int uib_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct uib_qp *qp = to_uqp(ibqp);
	enum ib_qp_state cur, new;
	int err = -EINVAL;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	spin_lock_irq(&qp->lock);
	cur = mask & IB_QP_CUR_STATE ? attr->cur_qp_state : qp->state;
	new = mask &IB_QP_STATE ? attr->qp_state : cur;
	/* If a consumer gives SQE as the current state, RTS passes for SQE. */
	if (cur != qp->state && !(cur == IB_QPS_SQE && qp->state == IB_QPS_RTS))
		goto out;
	if (!ib_modify_qp_is_ok(cur, new, ibqp->qp_type, mask))
		goto out;
	if ((mask & IB_QP_PKEY_INDEX) && attr->pkey_index >= UIB_PKEYS)
		goto out;
	if ((mask & IB_QP_PORT) && attr->port_num != UIB_PORT)
		goto out;
	err = 0;
	if (mask & IB_QP_PKEY_INDEX)
		qp->pkey_index = attr->pkey_index;
	if (mask & IB_QP_QKEY)
		qp->qkey = attr->qkey;
	if (mask & IB_QP_SQ_PSN)
		qp->psn = attr->sq_psn & UIB_QPN_MASK;
	if (new != IB_QPS_RESET)
		qp->state = new;
out:
	spin_unlock_irq(&qp->lock);
	if (err)
		return err;
	if (new == IB_QPS_RESET)
		reset(qp);
	else if (new != cur)
		queue_work(uib_wq, &qp->work);
	return 0;
}

int uib_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init)
{
	struct uib_qp *qp = to_uqp(ibqp);

	memset(attr, 0, sizeof(*attr));
	memset(init, 0, sizeof(*init));
	attr->qp_state = attr->cur_qp_state = READ_ONCE(qp->state);
	attr->qkey = qp->qkey;
	attr->pkey_index = qp->pkey_index;
	attr->sq_psn = qp->psn;
	attr->port_num = UIB_PORT;
	attr->cap = qp->cap;
	init->event_handler = ibqp->event_handler;
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->qp_type = ibqp->qp_type;
	init->cap = qp->cap;
	init->port_num = UIB_PORT;
	init->sq_sig_type = qp->signal_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	if (qp->block_loopback)
		init->create_flags = IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	return 0;
}

/* --- post */

/* Fills @ret, and @ret_len with the sum of their lengths, unless one of them may not be used, or the sum is above @max_len. */
static int take_sges(const struct uib_qp *qp, const struct ib_sge *sge, int n, u32 max, u32 max_len,
		     int access, struct uib_sge *ret, u32 *ret_len)
{
	u32 len = 0;
	int i;

	if (n < 0 || n > max)
		return -EINVAL;
	for (i = 0; i < n; i++) {
		if (check_add_overflow(len, sge[i].length, &len) || len > max_len)
			goto out;
		if (uib_sge_get(qp, &sge[i], access, &ret[i]))
			goto out;
	}
	*ret_len = len;
	return 0;

out:
	uib_sge_put(ret, i);
	return -EINVAL;
}

static int post_one_send(struct uib_qp *qp, const struct ib_send_wr *wr)
{
	const struct ib_ud_wr *ud = ud_wr(wr);
	struct uib_swqe *w;
	int err;

	if (qp->state < IB_QPS_RTS)
		return -EINVAL;
	if (wr->opcode != IB_WR_SEND && wr->opcode != IB_WR_SEND_WITH_IMM)
		return -EINVAL;
	if (wr->send_flags & ~(IB_SEND_SIGNALED | IB_SEND_SOLICITED | IB_SEND_FENCE))
		return -EINVAL;
	if (!ud->ah || ud->ah->pd != qp->ibqp.pd)
		return -EINVAL;
	if (qp->sq_count == qp->cap.max_send_wr)
		return -ENOMEM;
	w = sqe(qp, qp->sq_count);
	err = take_sges(qp, wr->sg_list, wr->num_sge, qp->cap.max_send_sge,
			uib_mtu_octets(IB_MTU_4096), 0, sqe_sge(qp, w), &w->len);
	if (err)
		return err;
	w->wr_id = wr->wr_id;
	w->av = container_of(ud->ah, struct uib_ah, ibah)->av;
	w->dest_qpn = ud->remote_qpn;
	w->qkey = ud->remote_qkey;
	w->pkey_index = ud->pkey_index;
	w->num_sge = wr->num_sge;
	w->imm = wr->ex.imm_data;
	w->has_imm = wr->opcode == IB_WR_SEND_WITH_IMM;
	w->signaled = qp->signal_all || (wr->send_flags & IB_SEND_SIGNALED);
	w->solicited = wr->send_flags & IB_SEND_SOLICITED;
	qp->sq_count++;
	return 0;
}

int uib_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	struct uib_qp *qp = to_uqp(ibqp);
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&qp->lock, flags);
	for (; wr; wr = wr->next) {
		err = post_one_send(qp, wr);
		if (err) {
			*bad = wr;
			break;
		}
	}
	if (qp->sq_count)
		queue_work(uib_wq, &qp->work);
	spin_unlock_irqrestore(&qp->lock, flags);
	return err;
}

static int post_one_recv(struct uib_qp *qp, const struct ib_recv_wr *wr)
{
	struct uib_rwqe *w;
	u32 at;
	int err;

	if (qp->state == IB_QPS_RESET)
		return -EINVAL;
	if (qp->rq_count == qp->cap.max_recv_wr)
		return -ENOMEM;
	at = (qp->rq_head + qp->rq_count) % qp->cap.max_recv_wr;
	w = &qp->rq[at];
	err = take_sges(qp, wr->sg_list, wr->num_sge, qp->cap.max_recv_sge, U32_MAX,
			IB_ACCESS_LOCAL_WRITE, &qp->rq_sge[at * qp->cap.max_recv_sge], &w->len);
	if (err)
		return err;
	w->wr_id = wr->wr_id;
	w->num_sge = wr->num_sge;
	qp->rq_count++;
	return 0;
}

int uib_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct uib_qp *qp = to_uqp(ibqp);
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&qp->lock, flags);
	for (; wr; wr = wr->next) {
		err = post_one_recv(qp, wr);
		if (err) {
			*bad = wr;
			break;
		}
	}
	if (qp->state == IB_QPS_ERR)
		queue_work(uib_wq, &qp->work);
	spin_unlock_irqrestore(&qp->lock, flags);
	return err;
}

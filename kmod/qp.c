// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

#include <linux/mm.h>

#include "uib.h"

/* number of packets that one run of a QP's work item sends before it yields */
#define SEND_BATCH 256

/* --- completions. The consumer's handler is called after the lock of the QP has been released */

static bool complete_send(struct uib_qp *qp, const struct uib_swqe *w, enum ib_wc_status status)
{
	struct ib_wc wc = {
		.wr_id = w->wr_id,
		.status = status,
		.opcode = w->mss ? IB_WC_LSO : IB_WC_SEND,
		.byte_len = w->len,
		.qp = qp->wc_qp,
		.port_num = UIB_PORT,
	};

	if (!w->signaled && status == IB_WC_SUCCESS)
		return false;
	return uib_cq_push(to_ucq(qp->ibqp.send_cq), &wc, false);
}

/* Take the oldest work request out of the send queue. */
static void pop_send(struct uib_qp *qp)
{
	struct uib_swqe *w = uib_sqe(qp, 0);

	uib_sge_put(uib_sqe_sge(qp, w), w->num_sge);
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
		.qp = qp->wc_qp,
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
		fire |= complete_send(qp, uib_sqe(qp, 0), IB_WC_WR_FLUSH_ERR);
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

/* Complete the posted work requests with a flush error. In the state SQE only the send queue is flushed. */
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
 * Send the packet of the oldest work request. The lock is not held while uib_send() runs. The work
 * request stays in the send queue in this time: in RTS only qp->work, which calls this function,
 * removes work requests. A send that fails moves the QP to SQE (IBTA 10.3.1). Later sends are then
 * flushed until the consumer sets RTS again. Return: number of packets; 0 if there was nothing to send
 */
static u32 send_one(struct uib_qp *qp)
{
	struct uib_swqe *w = NULL;
	enum ib_wc_status status;
	u32 packets;
	bool due;

	spin_lock_irq(&qp->lock);
	if (qp->state == IB_QPS_RTS && qp->sq_count)
		w = uib_sqe(qp, 0);
	qp->sending = w;
	spin_unlock_irq(&qp->lock);
	if (!w)
		return 0;
	packets = uib_swqe_packets(w);
	status = uib_send(qp, w, uib_sqe_sge(qp, w));
	spin_lock_irq(&qp->lock);
	qp->sending = false;
	due = complete_send(qp, w, status);
	pop_send(qp);
	if (status != IB_WC_SUCCESS && qp->state == IB_QPS_RTS)
		qp->state = IB_QPS_SQE;
	spin_unlock_irq(&qp->lock);
	if (due)
		fire(qp->ibqp.send_cq);
	return packets;
}

/* Report to the consumer that the QP in SQD is drained, because no send runs any more. */
static void drained(struct uib_qp *qp)
{
	struct ib_event ev = {
		.device = &qp->dev->ibdev,
		.element.qp = &qp->ibqp,
		.event = IB_EVENT_SQ_DRAINED,
	};
	bool due;

	spin_lock_irq(&qp->lock);
	due = qp->drain_event && qp->state == IB_QPS_SQD;
	qp->drain_event = false;
	spin_unlock_irq(&qp->lock);
	if (due && qp->ibqp.event_handler)
		qp->ibqp.event_handler(&ev, qp->ibqp.qp_context);
}

static void qp_work(struct work_struct *work)
{
	struct uib_qp *qp = container_of(work, struct uib_qp, work);
	u32 sent, n = 0;

	do {
		sent = send_one(qp);
		n += sent;
	} while (sent && n < SEND_BATCH);
	uib_burst_send(qp->dev, &qp->burst);
	if (sent) {
		queue_work(uib_wq, work);
		return;
	}
	/* An idle QP of a program keeps no memory that is not counted for the program. */
	if (qp->is_user)
		uib_burst_free(&qp->burst);
	flush(qp);
	drained(qp);
}

/* --- create and destroy */

static int check_init(const struct ib_qp_init_attr *a, bool is_user)
{
	const struct ib_qp_cap *c = &a->cap;

	if (a->qp_type != IB_QPT_UD && a->qp_type != IB_QPT_GSI && a->qp_type != IB_QPT_SMI)
		return -EOPNOTSUPP;
	if (is_user && a->qp_type != IB_QPT_UD)
		return -EPERM;
	if (a->srq || (a->create_flags &
		       ~(IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK | IB_QP_CREATE_IPOIB_UD_LSO)))
		return -EOPNOTSUPP;
	if ((a->create_flags & IB_QP_CREATE_IPOIB_UD_LSO) && (is_user || a->qp_type != IB_QPT_UD))
		return -EINVAL;
	if (a->qp_type != IB_QPT_UD && a->port_num != UIB_PORT)
		return -EINVAL;
	if (!a->send_cq || !a->recv_cq || c->max_send_wr > UIB_MAX_WR ||
	    c->max_recv_wr > UIB_MAX_WR || c->max_send_sge > UIB_MAX_SGE ||
	    c->max_recv_sge > UIB_MAX_SGE || c->max_inline_data)
		return -EINVAL;
	return 0;
}

static u64 ring_octets(const struct ib_qp_cap *c)
{
	return c->max_send_wr *
		       (sizeof(struct uib_swqe) + c->max_send_sge * sizeof(struct uib_sge)) +
	       c->max_recv_wr *
		       (sizeof(struct uib_rwqe) + c->max_recv_sge * sizeof(struct uib_sge));
}

static void free_rings(struct uib_qp *qp)
{
	if (qp->is_user)
		uib_stub_free(qp->wc_qp);
	kvfree(qp->sq);
	kvfree(qp->sq_sge);
	kvfree(qp->sq_lso);
	kvfree(qp->rq);
	kvfree(qp->rq_sge);
	uib_burst_free(&qp->burst);
	uib_quota_give_octets(qp->quota, ring_octets(&qp->cap));
	uib_quota_give(qp->quota, UIB_Q_QP);
}

static int take_quota(struct uib_qp *qp)
{
	int err = uib_quota_take(qp->quota, UIB_Q_QP);

	if (err)
		return err;
	err = uib_quota_take_octets(qp->quota, ring_octets(&qp->cap));
	if (err)
		uib_quota_give(qp->quota, UIB_Q_QP);
	return err;
}

static int alloc_rings(struct uib_qp *qp, bool lso)
{
	struct ib_qp_cap *c = &qp->cap;
	int err;

	c->max_send_wr = max(c->max_send_wr, 1u);
	c->max_recv_wr = max(c->max_recv_wr, 1u);
	c->max_send_sge = max(c->max_send_sge, 1u);
	c->max_recv_sge = max(c->max_recv_sge, 1u);
	err = take_quota(qp);
	if (err)
		return err;
	qp->sq = kvcalloc(c->max_send_wr, sizeof(*qp->sq), GFP_KERNEL_ACCOUNT);
	qp->rq = kvcalloc(c->max_recv_wr, sizeof(*qp->rq), GFP_KERNEL_ACCOUNT);
	qp->sq_sge = kvcalloc((size_t)c->max_send_wr * c->max_send_sge, sizeof(*qp->sq_sge),
			      GFP_KERNEL_ACCOUNT);
	qp->rq_sge = kvcalloc((size_t)c->max_recv_wr * c->max_recv_sge, sizeof(*qp->rq_sge),
			      GFP_KERNEL_ACCOUNT);
	if (lso)
		qp->sq_lso = kvcalloc(c->max_send_wr, UIB_LSO_HDR_MAX, GFP_KERNEL);
	qp->wc_qp = qp->is_user ? uib_stub_new() : &qp->ibqp;
	if (qp->sq && qp->rq && qp->sq_sge && qp->rq_sge && qp->wc_qp && (qp->sq_lso || !lso))
		return 0;
	free_rings(qp);
	return -ENOMEM;
}

/*
 * Assign a number to the QP. SMI and GSI QPs are QP0 and QP1. Other numbers are assigned in cyclic order, so that a
 * number is not reused at once.
 */
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
	qp->wc_qp->qp_num = qpn;
	return 0;
}

int uib_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct uib_qp *qp = to_uqp(ibqp);
	int err;

	err = check_init(attr, udata);
	if (err)
		return err;
	qp->dev = to_uib(ibqp->device);
	qp->is_user = udata;
	qp->quota = uib_quota_of(udata);
	mutex_init(&qp->modify_lock);
	spin_lock_init(&qp->lock);
	INIT_WORK(&qp->work, qp_work);
	qp->state = IB_QPS_RESET;
	qp->signal_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->block_loopback = attr->create_flags & IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	qp->cap = attr->cap;
	err = alloc_rings(qp, attr->create_flags & IB_QP_CREATE_IPOIB_UD_LSO);
	if (err)
		return err;
	attr->cap = qp->cap;
	err = take_number(qp, attr->qp_type);
	if (err)
		free_rings(qp);
	return err;
}

/*
 * Stop sending, empty both queues, and remove the QP's completions. The caller holds modify_lock, so the QP remains
 * in RESET.
 */
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
	uib_cq_purge(to_ucq(qp->ibqp.send_cq), qp->wc_qp);
	uib_cq_purge(to_ucq(qp->ibqp.recv_cq), qp->wc_qp);
}

int uib_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct uib_qp *qp = to_uqp(ibqp);

	xa_erase_irq(&qp->dev->qps, ibqp->qp_num);
	uib_mcast_forget(qp);
	mutex_lock(&qp->modify_lock);
	reset(qp);
	mutex_unlock(&qp->modify_lock);
	/*
	 * Wait for receivers that found the QP before it was removed from the table, and for the completion handlers
	 * that they call.
	 */
	synchronize_rcu();
	free_rings(qp);
	return 0;
}

/* --- modify and query */

static int modify(struct uib_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state cur, new;
	int err = -EINVAL;

	spin_lock_irq(&qp->lock);
	cur = mask & IB_QP_CUR_STATE ? attr->cur_qp_state : qp->state;
	new = mask &IB_QP_STATE ? attr->qp_state : cur;
	/*
	 * If the consumer names SQE as the current state, a QP that has meanwhile recovered to RTS
	 * is accepted, too.
	 */
	if (cur != qp->state && !(cur == IB_QPS_SQE && qp->state == IB_QPS_RTS))
		goto out;
	if (!ib_modify_qp_is_ok(cur, new, qp->ibqp.qp_type, mask))
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
	if (new == IB_QPS_SQD && cur != new)
		qp->drain_event = (mask & IB_QP_EN_SQD_ASYNC_NOTIFY) && attr->en_sqd_async_notify;
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

int uib_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct uib_qp *qp = to_uqp(ibqp);
	int err;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	/* A controlled Q_Key needs CAP_NET_RAW. ib_uverbs checks this only since Linux 6.1.35. */
	if (udata && (mask & IB_QP_QKEY) && (attr->qkey & UIB_QKEY_CONTROLLED) &&
	    !capable(CAP_NET_RAW))
		return -EPERM;
	mutex_lock(&qp->modify_lock);
	err = modify(qp, attr, mask);
	mutex_unlock(&qp->modify_lock);
	return err;
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
	attr->sq_draining = attr->qp_state == IB_QPS_SQD && READ_ONCE(qp->sending);
	attr->path_mtu = READ_ONCE(qp->dev->port.neighbor_mtu);
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
		init->create_flags |= IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	if (qp->sq_lso)
		init->create_flags |= IB_QP_CREATE_IPOIB_UD_LSO;
	return 0;
}

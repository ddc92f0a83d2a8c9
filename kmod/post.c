// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

/* These functions check work requests, and put them into the queues of a QP. */

#include "uib.h"

/*
 * Copy @n SGEs to @ret, and the sum of their lengths to @ret_len. Return: 0; an error if an SGE may not
 * be used, or if the sum is above @max_len
 */
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

/* Tell whether the work request is a large send that the QP accepts. */
static bool is_lso(const struct uib_qp *qp, const struct ib_ud_wr *ud)
{
	return ud->wr.opcode == IB_WR_LSO && qp->sq_lso && ud->mss > 0 &&
	       ud->mss <= uib_mtu_octets(IB_MTU_4096) && ud->hlen > 0 &&
	       uib_lso_ok(ud->header, ud->hlen);
}

static int post_one_send(struct uib_qp *qp, const struct ib_send_wr *wr)
{
	const struct ib_ud_wr *ud = ud_wr(wr);
	struct uib_swqe *w;
	bool lso;
	int err;

	if (qp->state < IB_QPS_RTS)
		return -EINVAL;
	if (wr->opcode != IB_WR_SEND && wr->opcode != IB_WR_SEND_WITH_IMM && !is_lso(qp, ud))
		return -EINVAL;
	if (wr->send_flags &
	    ~(IB_SEND_SIGNALED | IB_SEND_SOLICITED | IB_SEND_FENCE | IB_SEND_IP_CSUM))
		return -EINVAL;
	if ((wr->send_flags & IB_SEND_IP_CSUM) && qp->ibqp.qp_type != IB_QPT_UD)
		return -EINVAL;
	if (!ud->ah || ud->ah->pd != qp->ibqp.pd)
		return -EINVAL;
	if (qp->sq_count == qp->cap.max_send_wr)
		return -ENOMEM;
	w = uib_sqe(qp, qp->sq_count);
	lso = wr->opcode == IB_WR_LSO;
	err = take_sges(qp, wr->sg_list, wr->num_sge, qp->cap.max_send_sge,
			lso ? UIB_LSO_MAX : uib_mtu_octets(IB_MTU_4096), 0, uib_sqe_sge(qp, w),
			&w->len);
	if (err)
		return err;
	w->mss = lso ? ud->mss : 0;
	w->lso_len = lso ? ud->hlen : 0;
	if (lso)
		memcpy(uib_sqe_lso(qp, w), ud->header, ud->hlen);
	w->wr_id = wr->wr_id;
	w->av = container_of(ud->ah, struct uib_ah, ibah)->av;
	w->dest_qpn = ud->remote_qpn;
	w->qkey = ud->remote_qkey;
	w->pkey_index = ud->pkey_index;
	w->num_sge = wr->num_sge;
	w->imm = wr->ex.imm_data;
	w->has_imm = wr->opcode == IB_WR_SEND_WITH_IMM;
	w->csum = lso || (wr->send_flags & IB_SEND_IP_CSUM);
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

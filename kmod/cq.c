// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

#include <linux/mm.h>
#include <rdma/uverbs_ioctl.h>

#include "uib.h"

static u64 ring_octets(const struct uib_cq *cq)
{
	return (u64)cq->size * sizeof(*cq->ring);
}

int uib_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct uib_cq_udata *udata)
{
	struct uib_cq *cq = to_ucq(ibcq);
	int err;

	if (attr->flags)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > UIB_MAX_CQE)
		return -EINVAL;
	cq->quota = uib_quota_of(uib_cq_driver_udata(udata));
	spin_lock_init(&cq->lock);
	cq->size = attr->cqe;
	err = uib_quota_take(cq->quota, UIB_Q_CQ);
	if (err)
		return err;
	err = uib_quota_take_octets(cq->quota, ring_octets(cq));
	if (err)
		goto err_count;
	cq->ring = kvcalloc(cq->size, sizeof(*cq->ring), GFP_KERNEL_ACCOUNT);
	if (!cq->ring) {
		err = -ENOMEM;
		goto err_octets;
	}
	ibcq->cqe = attr->cqe;
	return 0;

err_octets:
	uib_quota_give_octets(cq->quota, ring_octets(cq));
err_count:
	uib_quota_give(cq->quota, UIB_Q_CQ);
	return err;
}

/* ib_core destroys a CQ only when no QP uses it, so the ring can be freed. */
int uib_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct uib_cq *cq = to_ucq(ibcq);

	kvfree(cq->ring);
	uib_quota_give_octets(cq->quota, ring_octets(cq));
	uib_quota_give(cq->quota, UIB_Q_CQ);
	return 0;
}

static struct ib_wc *entry(struct uib_cq *cq, u32 i)
{
	i += cq->head;
	return &cq->ring[i < cq->size ? i : i - cq->size];
}

int uib_poll_cq(struct ib_cq *ibcq, int n, struct ib_wc *wc)
{
	struct uib_cq *cq = to_ucq(ibcq);
	unsigned long flags;
	int i;

	spin_lock_irqsave(&cq->lock, flags);
	for (i = 0; i < n && cq->count; i++) {
		wc[i] = *entry(cq, 0);
		cq->head = cq->head + 1 < cq->size ? cq->head + 1 : 0;
		cq->count--;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return i;
}

int uib_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct uib_cq *cq = to_ucq(ibcq);
	unsigned long irq;
	int missed;

	spin_lock_irqsave(&cq->lock, irq);
	/* If the CQ is armed for the next completion, a later request for SOLICITED has no effect (IBTA 11.4.2.2). */
	if (cq->armed != IB_CQ_NEXT_COMP)
		cq->armed = flags & IB_CQ_SOLICITED_MASK;
	missed = (flags & IB_CQ_REPORT_MISSED_EVENTS) && cq->count;
	spin_unlock_irqrestore(&cq->lock, irq);
	return missed;
}

/*
 * Report to the consumer that the CQ is full. A completion is lost, because the consumer posted more work requests than
 * the CQ has entries, so the CQ cannot be used any more.
 */
static void overflow(struct uib_cq *cq)
{
	struct ib_event ev = {
		.device = cq->ibcq.device,
		.element.cq = &cq->ibcq,
		.event = IB_EVENT_CQ_ERR,
	};

	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&ev, cq->ibcq.cq_context);
}

bool uib_cq_push(struct uib_cq *cq, const struct ib_wc *wc, bool solicited)
{
	unsigned long flags;
	bool fire = false;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->count < cq->size) {
		*entry(cq, cq->count++) = *wc;
		if (wc->status != IB_WC_SUCCESS)
			solicited = true;
		fire = cq->armed == IB_CQ_NEXT_COMP || (cq->armed == IB_CQ_SOLICITED && solicited);
		if (fire)
			cq->armed = 0;
	} else {
		uib_count(to_uib(cq->ibcq.device), UIB_DROP_CQ_FULL);
		fire = !cq->broken;
		cq->overflowed |= fire;
		cq->broken = true;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return fire;
}

void uib_cq_fire(struct uib_cq *cq)
{
	if (unlikely(READ_ONCE(cq->overflowed)) && xchg(&cq->overflowed, false))
		overflow(cq);
	if (cq->ibcq.comp_handler)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
}

void uib_cq_purge(struct uib_cq *cq, const struct ib_qp *wc_qp)
{
	unsigned long flags;
	u32 i, kept = 0;

	spin_lock_irqsave(&cq->lock, flags);
	for (i = 0; i < cq->count; i++)
		if (entry(cq, i)->qp != wc_qp)
			*entry(cq, kept++) = *entry(cq, i);
	cq->count = kept;
	spin_unlock_irqrestore(&cq->lock, flags);
}

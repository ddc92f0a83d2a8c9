// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

/*
 * Verbs for programs. The interface is ABI 1 of rdma-core's provider ipathverbs. Every verb, including post and poll,
 * is a command of ib_uverbs, and the program shares only registered memory with the device.
 *
 * Each process has quotas, which do not grow with the number of contexts that it opens. So one
 * process cannot use up all queue pairs, CQs, MRs, address handles and memberships of a device. For
 * many processes together, the control group "rdma" limits the objects, and the control group
 * "memory" limits the memory that this module allocates for them.
 */

#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "uib.h"

struct uib_quota {
	struct list_head node; /* in dev->quotas */
	struct pid *tgid;
	/* numbers of objects by kind; dev->quota_lock protects only count[UIB_Q_CONTEXT] */
	atomic_t count[UIB_Q_COUNT];
	atomic64_t octets; /* sum of the octets of all queues */
};

static const int limit[UIB_Q_COUNT] = {
	[UIB_Q_CONTEXT] = UIB_USER_CONTEXTS, [UIB_Q_PD] = UIB_USER_PDS, [UIB_Q_AH] = UIB_USER_AHS,
	[UIB_Q_MR] = UIB_USER_MRS,	     [UIB_Q_CQ] = UIB_USER_CQS, [UIB_Q_QP] = UIB_USER_QPS,
	[UIB_Q_MCAST] = UIB_USER_MCASTS,
};

/* --- quotas */

struct uib_quota *uib_quota_of(struct ib_udata *udata)
{
	struct uib_ucontext *c =
		udata ? rdma_udata_to_drv_context(udata, struct uib_ucontext, ibuc) : NULL;

	return c ? c->quota : NULL;
}

int uib_quota_take(struct uib_quota *q, enum uib_quota_kind kind)
{
	if (!q || atomic_add_unless(&q->count[kind], 1, limit[kind]))
		return 0;
	return -ENOMEM;
}

void uib_quota_give(struct uib_quota *q, enum uib_quota_kind kind)
{
	if (q)
		atomic_dec(&q->count[kind]);
}

int uib_quota_take_octets(struct uib_quota *q, u64 n)
{
	if (!q || atomic64_add_return(n, &q->octets) <= UIB_USER_OCTETS)
		return 0;
	uib_quota_give_octets(q, n);
	return -ENOMEM;
}

void uib_quota_give_octets(struct uib_quota *q, u64 n)
{
	if (q)
		atomic64_sub(n, &q->octets);
}

/* --- contexts */

static struct uib_quota *find(struct uib_dev *dev, const struct pid *tgid)
{
	struct uib_quota *q;

	list_for_each_entry(q, &dev->quotas, node)
		if (q->tgid == tgid)
			return q;
	return NULL;
}

static void free_quota(struct uib_quota *q)
{
	if (q)
		put_pid(q->tgid);
	kfree(q);
}

int uib_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct uib_ucontext *c = container_of(ibuc, struct uib_ucontext, ibuc);
	struct uib_dev *dev = to_uib(ibuc->device);
	struct uib_quota *new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT), *q;
	int err;

	if (!new)
		return -ENOMEM;
	new->tgid = get_task_pid(current, PIDTYPE_TGID);
	mutex_lock(&dev->quota_lock);
	q = find(dev, new->tgid);
	if (!q) {
		q = new;
		new = NULL;
		list_add(&q->node, &dev->quotas);
	}
	err = uib_quota_take(q, UIB_Q_CONTEXT);
	mutex_unlock(&dev->quota_lock);
	free_quota(new);
	c->quota = q;
	return err;
}

void uib_dealloc_ucontext(struct ib_ucontext *ibuc)
{
	struct uib_ucontext *c = container_of(ibuc, struct uib_ucontext, ibuc);
	struct uib_dev *dev = to_uib(ibuc->device);
	struct uib_quota *q = c->quota;

	mutex_lock(&dev->quota_lock);
	if (atomic_dec_return(&q->count[UIB_Q_CONTEXT]))
		q = NULL;
	else
		list_del(&q->node);
	mutex_unlock(&dev->quota_lock);
	free_quota(q);
}

/*
 * The device can be removed while programs use it. ib_uverbs then destroys the objects of the programs, and their
 * calls fail with EIO. This module has mapped no memory, so it has nothing to unmap.
 */
void uib_disassociate_ucontext(struct ib_ucontext *ibuc)
{
}

/* --- the QP pointer in completions */

/*
 * ib_uverbs gets a completion from a CQ and then reads the QP number from wc->qp, while another thread may be
 * destroying the QP. So completions for programs point to a copy of the QP that has only the number. The copy is freed
 * when every task has been scheduled out at least once, because ib_uverbs does not sleep between the two steps.
 */
struct stub {
	struct ib_qp ibqp;
	struct rcu_head rcu;
};

struct ib_qp *uib_stub_new(void)
{
	struct stub *s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);

	return s ? &s->ibqp : NULL;
}

static void stub_free(struct rcu_head *rcu)
{
	kfree(container_of(rcu, struct stub, rcu));
}

void uib_stub_free(struct ib_qp *ibqp)
{
	if (ibqp)
		call_rcu_tasks(&container_of(ibqp, struct stub, ibqp)->rcu, stub_free);
}

void uib_stub_exit(void)
{
	uib_rcu_barrier_tasks();
}

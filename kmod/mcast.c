// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

#include <linux/jhash.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "uib.h"

/*
 * Return the hash bucket of a group. The key of the hash is secret, because programs choose the
 * groups that they attach and could cause collisions.
 */
struct hlist_head *uib_mcast_bucket(struct uib_dev *dev, const union ib_gid *mgid)
{
	u32 w[4];

	memcpy(w, mgid->raw, sizeof(w));
	return &dev->mcast[jhash2(w, ARRAY_SIZE(w), dev->mcast_seed) % ARRAY_SIZE(dev->mcast)];
}

static struct uib_mcast *find(struct uib_qp *qp, const union ib_gid *mgid)
{
	struct uib_mcast *m;

	hlist_for_each_entry(m, uib_mcast_bucket(qp->dev, mgid), node)
		if (m->qp == qp && !memcmp(&m->mgid, mgid, sizeof(*mgid)))
			return m;
	return NULL;
}

int uib_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct uib_qp *qp = to_uqp(ibqp);
	struct uib_dev *dev = qp->dev;
	struct uib_mcast *m, *old;
	int err;

	if (ibqp->qp_type != IB_QPT_UD || gid->raw[0] != 0xff || !uib_lid_is_mcast(lid))
		return -EINVAL;
	err = uib_quota_take(qp->quota, UIB_Q_MCAST);
	if (err)
		return err;
	m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	if (!m) {
		uib_quota_give(qp->quota, UIB_Q_MCAST);
		return -ENOMEM;
	}
	m->mgid = *gid;
	m->qp = qp;
	m->attached = 1;
	spin_lock_bh(&dev->mcast_lock);
	old = find(qp, gid);
	if (old)
		old->attached++;
	else
		hlist_add_head_rcu(&m->node, uib_mcast_bucket(dev, gid));
	spin_unlock_bh(&dev->mcast_lock);
	if (old)
		kfree(m);
	return 0;
}

/* The caller holds dev->mcast_lock */
static void detach(struct uib_mcast *m, unsigned int n)
{
	m->attached -= n;
	for (; n; n--)
		uib_quota_give(m->qp->quota, UIB_Q_MCAST);
	if (m->attached)
		return;
	hlist_del_rcu(&m->node);
	kfree_rcu(m, rcu);
}

int uib_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct uib_qp *qp = to_uqp(ibqp);
	struct uib_dev *dev = qp->dev;
	struct uib_mcast *m;
	int err = 0;

	spin_lock_bh(&dev->mcast_lock);
	m = find(qp, gid);
	if (!m)
		err = -EINVAL;
	else
		detach(m, 1);
	spin_unlock_bh(&dev->mcast_lock);
	return err;
}

void uib_mcast_forget(struct uib_qp *qp)
{
	struct uib_dev *dev = qp->dev;
	struct hlist_node *next;
	struct uib_mcast *m;
	unsigned int i;

	spin_lock_bh(&dev->mcast_lock);
	for (i = 0; i < ARRAY_SIZE(dev->mcast); i++)
		hlist_for_each_entry_safe(m, next, &dev->mcast[i], node)
			if (m->qp == qp)
				detach(m, m->attached);
	spin_unlock_bh(&dev->mcast_lock);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

/*
 * Traps, IBTA 13.4.9 and 14.2.5.1. There is one slot for each trap number. The notice in a slot is
 * sent to the SM with the same TID again and again until the SM represses it. The interval depends
 * on PortInfo:SubnetTimeOut. A second notice with the same trap number waits in the slot, and is
 * sent as a new trap after the TrapRepress. The SM must get this new trap, because it may have read
 * the port before the second event.
 */

#include "uib.h"

#define TRAP_CAP_CHANGE 144
#define TRAP_BAD_MKEY 256
#define TRAP_BAD_PKEY 257
#define TRAP_BAD_QKEY 258
#define INTERVAL_MIN (HZ / 10)
#define INTERVAL_MAX (60 * HZ)
#define TYPE_SECURITY 2
#define TYPE_INFO 4
#define GENERIC 0x80

/* Offsets in a notice. DataDetails begin at octet 10 */
#define N_PRODUCER 3
#define N_TRAP 4
#define N_ISSUER 6
#define N_LID1 12
#define N_144_LOCAL 15
#define N_144_CAP_MASK 16
#define N_144_CHANGES 20
#define N_256_DR_SLID 14
#define N_256_METHOD 16
#define N_256_ATTR 18
#define N_256_MOD 20
#define N_256_MKEY 24
#define N_256_DR 33
#define N_256_PATH 34
#define N_256_PATH_MAX 30
#define N_257_LID2 14
#define N_257_KEY 16
#define N_257_SL_QP1 20
#define N_257_QP2 24
#define N_257_GIDS 28

static struct uib_dev *to_dev(struct uib_traps *t)
{
	return container_of(t, struct uib_dev, traps);
}

static struct uib_trap *slot_of(struct uib_traps *t, u16 trap)
{
	switch (trap) {
	case TRAP_CAP_CHANGE:
		return &t->slot[0];
	case TRAP_BAD_MKEY:
		return &t->slot[1];
	case TRAP_BAD_PKEY:
		return &t->slot[2];
	default:
		return &t->slot[3];
	}
}

static unsigned long interval(const struct uib_port *p)
{
	u64 ns = 4096ull << (READ_ONCE(p->subnet_timeout) & 0x1f);

	return clamp_t(unsigned long, nsecs_to_jiffies(ns), INTERVAL_MIN, INTERVAL_MAX);
}

static void send_trap(struct uib_dev *dev, const struct uib_trap *slot, u16 sm_lid)
{
	struct ib_smp smp = {
		.base_version = IB_MGMT_BASE_VERSION,
		.mgmt_class = IB_MGMT_CLASS_SUBN_LID_ROUTED,
		.class_version = 1,
		.method = IB_MGMT_METHOD_TRAP,
		.tid = cpu_to_be64(slot->tid),
		.attr_id = IB_SMP_ATTR_NOTICE,
	};
	struct uib_sge sge = { .addr = (uintptr_t)&smp, .length = sizeof(smp) };
	struct uib_swqe w = { .av.dlid = sm_lid, .len = sizeof(smp), .num_sge = 1 };

	memcpy(smp.data, slot->notice, sizeof(slot->notice));
	uib_send(&dev->sma_qp, &w, &sge);
	uib_burst_send(dev, &dev->sma_qp.burst);
}

/*
 * Tell whether the notice of a slot is due. If it is, @ret gets a copy of the slot, whose notice the caller must send
 * now. If the slot is due again before *@next, *@next becomes that time.
 */
static bool take_due(struct uib_traps *t, struct uib_trap *slot, struct uib_trap *ret,
		     unsigned long *next)
{
	bool due = false;

	spin_lock_bh(&t->lock);
	if (!READ_ONCE(to_dev(t)->port.sm_lid)) {
		slot->state = UIB_TRAP_IDLE;
		slot->again = false;
	}
	if (slot->state != UIB_TRAP_IDLE) {
		due = time_after_eq(jiffies, slot->next_at);
		if (due) {
			slot->next_at = jiffies + interval(&to_dev(t)->port);
			slot->state = UIB_TRAP_SENT;
			*ret = *slot;
		}
		if (time_before(slot->next_at, *next))
			*next = slot->next_at;
	}
	spin_unlock_bh(&t->lock);
	return due;
}

static void trap_work(struct work_struct *work)
{
	struct uib_traps *t = container_of(work, struct uib_traps, work.work);
	unsigned long never = jiffies + 2 * INTERVAL_MAX, next = never;
	struct uib_trap slot;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t->slot); i++)
		if (take_due(t, &t->slot[i], &slot, &next))
			send_trap(to_dev(t), &slot, READ_ONCE(to_dev(t)->port.sm_lid));
	if (next != never)
		queue_delayed_work(uib_wq, &t->work, max_t(long, next - jiffies, 1));
}

static void queue(struct uib_traps *t, struct uib_trap *slot, const u8 *notice)
{
	memcpy(slot->notice, notice, sizeof(slot->notice));
	slot->tid = ++t->last_tid;
	slot->state = UIB_TRAP_QUEUED;
	if (time_before(slot->next_at, jiffies))
		slot->next_at = jiffies;
	mod_delayed_work(uib_wq, &t->work, 0);
}

/* Fill in the fields that all notices have, and put the notice into its slot. */
static void raise(struct uib_dev *dev, u16 trap, u8 type, u8 *notice)
{
	struct uib_traps *t = &dev->traps;
	struct uib_trap *slot = slot_of(t, trap);
	u16 lid = READ_ONCE(dev->port.lid);

	if (!READ_ONCE(dev->port.sm_lid))
		return; /* the port has no SM LID to which a trap could be sent */
	notice[0] = GENERIC | type;
	notice[N_PRODUCER] = RDMA_NODE_IB_CA;
	put_unaligned_be16(trap, notice + N_TRAP);
	put_unaligned_be16(lid, notice + N_ISSUER);
	spin_lock_bh(&t->lock);
	if (slot->state == UIB_TRAP_IDLE) {
		queue(t, slot, notice);
	} else if (slot->state == UIB_TRAP_QUEUED) {
		memcpy(slot->notice, notice, sizeof(slot->notice));
	} else {
		memcpy(slot->next, notice, sizeof(slot->next));
		slot->again = true;
	}
	spin_unlock_bh(&t->lock);
}

void uib_trap_cap_change(struct uib_dev *dev, bool node_desc)
{
	u8 n[IB_SMP_DATA_SIZE] = {};

	put_unaligned_be16(READ_ONCE(dev->port.lid), n + N_LID1);
	put_unaligned_be32(READ_ONCE(dev->port.cap_mask), n + N_144_CAP_MASK);
	if (node_desc) {
		n[N_144_LOCAL] = 1;
		put_unaligned_be16(IB_NOTICE_TRAP_NODE_DESC_CHG, n + N_144_CHANGES);
	}
	raise(dev, TRAP_CAP_CHANGE, TYPE_INFO, n);
}

void uib_trap_bad_mkey(struct uib_dev *dev, const struct ib_smp *smp)
{
	u8 n[IB_SMP_DATA_SIZE] = {}, hops = smp->hop_cnt;

	put_unaligned_be16(READ_ONCE(dev->port.lid), n + N_LID1);
	n[N_256_METHOD] = smp->method;
	memcpy(n + N_256_ATTR, &smp->attr_id, sizeof(smp->attr_id));
	memcpy(n + N_256_MOD, &smp->attr_mod, sizeof(smp->attr_mod));
	memcpy(n + N_256_MKEY, &smp->mkey, sizeof(smp->mkey));
	if (smp->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE) {
		memcpy(n + N_256_DR_SLID, &smp->dr_slid, sizeof(smp->dr_slid));
		n[N_256_DR] = IB_NOTICE_TRAP_DR_NOTICE;
		if (hops > N_256_PATH_MAX) {
			hops = N_256_PATH_MAX;
			n[N_256_DR] |= IB_NOTICE_TRAP_DR_TRUNC;
		}
		n[N_256_DR] |= hops;
		/* Octet 0 of a return path is reserved, so hops count from 1. */
		memcpy(n + N_256_PATH, smp->return_path + 1, hops);
	}
	raise(dev, TRAP_BAD_MKEY, TYPE_SECURITY, n);
}

void uib_trap_bad_key(struct uib_dev *dev, const struct uib_violation *v)
{
	u8 n[IB_SMP_DATA_SIZE] = {};

	put_unaligned_be16(v->slid, n + N_LID1);
	put_unaligned_be16(v->dlid, n + N_257_LID2);
	put_unaligned_be32(v->key, n + N_257_KEY);
	put_unaligned_be32(v->sl << 28 | v->src_qpn, n + N_257_SL_QP1);
	put_unaligned_be32(v->dest_qpn, n + N_257_QP2);
	if (v->gids)
		memcpy(n + N_257_GIDS, v->gids, 2 * sizeof(union ib_gid));
	raise(dev, v->is_qkey ? TRAP_BAD_QKEY : TRAP_BAD_PKEY, TYPE_SECURITY, n);
}

/* Stop the notice of @slot, which the SM has acknowledged. If a second notice waits in the slot, send it. */
static void done(struct uib_traps *t, struct uib_trap *slot)
{
	slot->state = UIB_TRAP_IDLE;
	if (slot->again)
		queue(t, slot, slot->next);
	slot->again = false;
}

bool uib_trap_repress(struct uib_dev *dev, const struct ib_smp *smp)
{
	struct uib_traps *t = &dev->traps;
	bool found = false;
	unsigned int i;

	if (smp->attr_id != IB_SMP_ATTR_NOTICE)
		return false;
	spin_lock_bh(&t->lock);
	for (i = 0; i < ARRAY_SIZE(t->slot) && !found; i++) {
		struct uib_trap *slot = &t->slot[i];

		if (slot->state != UIB_TRAP_SENT || slot->tid != be64_to_cpu(smp->tid))
			continue;
		found = true;
		done(t, slot);
	}
	spin_unlock_bh(&t->lock);
	return found;
}

/* Find the oldest notice that is not acknowledged; NULL if there is none */
static struct uib_trap *oldest(struct uib_traps *t)
{
	struct uib_trap *found = NULL;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t->slot); i++)
		if (t->slot[i].state != UIB_TRAP_IDLE && (!found || t->slot[i].tid < found->tid))
			found = &t->slot[i];
	return found;
}

void uib_trap_get_notice(struct uib_dev *dev, u8 *data)
{
	struct uib_traps *t = &dev->traps;
	const struct uib_trap *slot;

	spin_lock_bh(&t->lock);
	slot = oldest(t);
	if (slot)
		memcpy(data, slot->notice, sizeof(slot->notice));
	spin_unlock_bh(&t->lock);
}

void uib_trap_set_notice(struct uib_dev *dev, const u8 *data)
{
	struct uib_traps *t = &dev->traps;
	struct uib_trap *slot;

	spin_lock_bh(&t->lock);
	slot = oldest(t);
	if (slot && !memcmp(slot->notice + N_TRAP, data + N_TRAP, sizeof(u16)))
		done(t, slot);
	spin_unlock_bh(&t->lock);
}

void uib_traps_init(struct uib_dev *dev)
{
	struct uib_traps *t = &dev->traps;
	unsigned int i;

	spin_lock_init(&t->lock);
	INIT_DELAYED_WORK(&t->work, trap_work);
	for (i = 0; i < ARRAY_SIZE(t->slot); i++)
		t->slot[i].next_at = jiffies;
	/* The SMA sends its traps with this QP, which consumers do not see. */
	dev->sma_qp.dev = dev;
	dev->sma_qp.ibqp.qp_type = IB_QPT_SMI;
}

void uib_traps_exit(struct uib_dev *dev)
{
	cancel_delayed_work_sync(&dev->traps.work);
	uib_burst_free(&dev->sma_qp.burst);
}

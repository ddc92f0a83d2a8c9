/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/mcast.h"

#include "ipoib/action.h"

/*
 * How a multicast packet is sent, in the order of RFC 4391 §10. Some profiles omit the question to
 * the SA in step 2. Some omit step 3, and always drop the packet in step 4.
 *
 *	1. The link is FullMember or SendOnlyNonMember of the group: send.
 *	2. The SA says that the group exists: join it as SendOnlyNonMember, send.
 *	3. The scope is wider than link-local and the all-routers group exists: send to the
 *	all-routers group.
 *	4. Otherwise drop. But if the scope is wider than link-local and the all-routers group does
 *	not exist, cfg.absent_to_broadcast sends the packet to the broadcast group.
 *
 * Profiles with IPOIB_ABSENT_LENT send differently to a group that cannot be joined (mcast_lent.c).
 *
 * The SA's answer is used until trap 66 or 67 about the group arrives, or a time limit expires.
 */

const uint8_t ipoib_all_routers[][16] = {
	[IPOIB_IPV4] = { 224, 0, 0, 2 },
	[IPOIB_IPV6] = { 0xff, 0x02, [15] = 2 },
};

static void mcast_ask(struct ipoib_mcast *m, ns_t now)
{
	int err;

	if (ipoib_mcast_is_member(m)) {
		/* the CA refused the address handle, so request another one */
		const struct ib_mcmember_rec rec = m->rec;

		ipoib_mcast_granted(m, &rec, now);
		return;
	}
	if (m->full.group || m->so.group) { /* the SA client is joining the group */
		ipoib_mcast_set_state(m, IPOIB_MCAST_JOINING, 0);
		return;
	}
	if (!m->link->profile->sender.asks) {
		ipoib_mcast_join_sender(m, now);
		return;
	}
	m->query.done = ipoib_mcast_query_done;
	err = sac_group_ask(m->link->sac, &m->query, &m->mgid, now);
	if (err && err != -EALREADY) {
		m->status = err;
		ipoib_mcast_set_state(m, IPOIB_MCAST_FAILED, now + IPOIB_BACKOFF_MIN);
	} else {
		ipoib_mcast_set_state(m, IPOIB_MCAST_QUERY, 0);
	}
}

void ipoib_mcast_refresh(struct ipoib_mcast *m, ns_t now)
{
	m->used = true;
	if (m->broadcast)
		return; /* link_join.c joins the broadcast group */
	if (m->state == IPOIB_MCAST_IDLE)
		mcast_ask(m, now);
	else if ((m->state == IPOIB_MCAST_ABSENT || m->state == IPOIB_MCAST_FAILED) &&
		 now >= m->until)
		mcast_ask(m, now);
}

/* Steps 3 and 4 of the list at the top of this file. */
static enum ipoib_verdict absent_route(struct ipoib_mcast *m, void **ret_ah,
				       enum ipoib_drop *ret_why, ns_t now)
{
	struct ipoib_link *l = m->link;
	struct ipoib_mcast *r;

	if (ipoib_mcast_is_lent(m))
		return ipoib_mcast_lent_route(m, ret_ah, ret_why, now);
	*ret_why = IPOIB_DROP_NO_GROUP;
	if (!m->beyond_link || l->profile->sender.absent != IPOIB_ABSENT_ROUTERS)
		return IPOIB_DROP;
	if (ipoib_mcast_get(l, m->proto, ipoib_all_routers[m->proto], &r)) {
		*ret_why = IPOIB_DROP_GROUPS_FULL;
		return IPOIB_DROP;
	}
	ipoib_mcast_refresh(r, now);
	switch (r->state) {
	case IPOIB_MCAST_READY:
		*ret_ah = r->ah.ah;
		return IPOIB_SEND;
	case IPOIB_MCAST_ABSENT:
		*ret_ah = l->bcast->ah.ah;
		return l->cfg.absent_to_broadcast && *ret_ah ? IPOIB_SEND : IPOIB_DROP;
	case IPOIB_MCAST_FAILED:
		*ret_why = IPOIB_DROP_GROUP_REFUSED;
		return IPOIB_DROP;
	default:
		list_del(&m->wait_node);
		list_add_tail(&r->waiting, &m->wait_node);
		return IPOIB_HELD;
	}
}

enum ipoib_verdict ipoib_mcast_route(struct ipoib_mcast *m, void **ret_ah, enum ipoib_drop *ret_why,
				     ns_t now)
{
	ipoib_mcast_refresh(m, now);
	switch (m->state) {
	case IPOIB_MCAST_READY:
		*ret_ah = m->ah.ah;
		return IPOIB_SEND;
	case IPOIB_MCAST_ABSENT:
		return absent_route(m, ret_ah, ret_why, now);
	case IPOIB_MCAST_FAILED:
		if (ipoib_mcast_is_lent(m))
			return ipoib_mcast_lent_route(m, ret_ah, ret_why, now);
		*ret_why = IPOIB_DROP_GROUP_REFUSED;
		return IPOIB_DROP;
	default:
		/*
		 * Send with the lender's MLID (mcast_lent.c) until the SA has answered again.
		 */
		if (m->lent.ah)
			return ipoib_mcast_lent_route(m, ret_ah, ret_why, now);
		return IPOIB_HELD;
	}
}

static void release_held(struct ipoib_mcast *m, ns_t now)
{
	struct ipoib_link *l = m->link;
	enum ipoib_drop why = IPOIB_DROP_NONE;
	void *ah = NULL;

	while (m->held.n) {
		enum ipoib_verdict v = ipoib_mcast_route(m, &ah, &why, now);
		struct pkt *pkt;

		if (v == IPOIB_HELD)
			return;
		pkt = ipoib_unhold(l, &m->held);
		if (v == IPOIB_SEND)
			ipoib_act_send(l, pkt, ah, IB_QPN_MCAST, l->qkey);
		else
			ipoib_drop_pkt(l, pkt, why);
	}
}

void ipoib_mcast_release_held(struct ipoib_mcast *m, ns_t now)
{
	struct list todo = LIST_INIT(todo);

	release_held(m, now);
	/*
	 * release_held() puts a group back into .waiting if the group has to wait longer, so
	 * .waiting is emptied first.
	 */
	while (!list_empty(&m->waiting)) {
		struct list *n = m->waiting.next;

		list_del(n);
		list_add_tail(&todo, n);
	}
	while (!list_empty(&todo)) {
		struct ipoib_mcast *w = list_first(&todo, struct ipoib_mcast, wait_node);

		list_del(&w->wait_node);
		release_held(w, now);
	}
}

void ipoib_mcast_query_done(struct sac_group_query *q, int status,
			    const struct ib_mcmember_rec *rec, ns_t now)
{
	struct ipoib_mcast *m = container_of(q, struct ipoib_mcast, query);

	m->status = status;
	switch (status) {
	case 0:
	case SA_STATUS_TOO_MANY_RECORDS:
		/* the SA has one or several records of the group, so the group exists */
		ipoib_mcast_join_sender(m, now);
		break;
	case SA_STATUS_NO_RECORDS:
		ipoib_mcast_set_absent(m, now);
		break;
	default:
		ipoib_mcast_set_state(m, IPOIB_MCAST_FAILED, now + IPOIB_BACKOFF_MIN);
		break;
	}
	ipoib_mcast_release_held(m, now);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/mcast.h"

#include "ipoib/action.h"

/*
 * The egress algorithm of RFC 4391 §10, in its order:
 *
 *	1. a member, FullMember or SendOnlyNonMember:	READY, send
 *	2. else the group exists (the SA is asked):	join SendOnlyNonMember, send
 *	3. else scope above link-local, and there are routers: send to the all-routers group
 *	4. else drop, or (a switch) send to the broadcast group
 *
 * What the SA said is kept; traps 66 and 67 and a time limit end it (R64-R66).
 */

static const uint8_t all_routers_ipv4[4] = { 224, 0, 0, 2 };
static const uint8_t all_routers_ipv6[16] = { 0xff, 0x02, [15] = 2 };

static void mcast_ask(struct ipoib_mcast *m, ns_t now)
{
	int err;

	if (m->full_ok || m->so_ok) { /* a member; the CA refused the address handle */
		const struct ib_mcmember_rec rec = m->rec;

		ipoib_mcast_granted(m, &rec, now);
		return;
	}
	if (m->full.group || m->so.group) { /* the SA client is at it */
		ipoib_mcast_set_state(m, IPOIB_MCAST_JOINING, 0);
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

/* Asks if nothing is known, or what is known has aged. */
static void mcast_refresh(struct ipoib_mcast *m, ns_t now)
{
	m->used = true;
	if (m->broadcast)
		return; /* the link's business */
	if (m->state == IPOIB_MCAST_IDLE)
		mcast_ask(m, now);
	else if ((m->state == IPOIB_MCAST_ABSENT || m->state == IPOIB_MCAST_FAILED) &&
		 now >= m->until)
		mcast_ask(m, now);
}

/* Branches 3 and 4. */
static enum ipoib_verdict absent_route(struct ipoib_mcast *m, struct ipoib_mcast **ret_via,
				       enum ipoib_drop *ret_why, ns_t now)
{
	struct ipoib_link *l = m->link;
	struct ipoib_mcast *r;

	*ret_why = IPOIB_DROP_NO_GROUP;
	if (!m->beyond_link || l->profile->sender_absent != IPOIB_ABSENT_ROUTERS)
		return IPOIB_DROP;
	if (ipoib_mcast_get(l, m->proto,
			    m->proto == IPOIB_IPV4 ? all_routers_ipv4 : all_routers_ipv6, &r)) {
		*ret_why = IPOIB_DROP_GROUPS_FULL;
		return IPOIB_DROP;
	}
	mcast_refresh(r, now);
	switch (r->state) {
	case IPOIB_MCAST_READY:
		*ret_via = r;
		return IPOIB_SEND;
	case IPOIB_MCAST_ABSENT:
		*ret_via = l->bcast;
		return l->cfg.absent_to_broadcast && l->bcast->ah.ah ? IPOIB_SEND : IPOIB_DROP;
	case IPOIB_MCAST_FAILED:
		*ret_why = IPOIB_DROP_GROUP_REFUSED;
		return IPOIB_DROP;
	default:
		list_del(&m->wait_node);
		list_add_tail(&r->waiting, &m->wait_node);
		return IPOIB_HELD;
	}
}

enum ipoib_verdict ipoib_mcast_route(struct ipoib_mcast *m, struct ipoib_mcast **ret_via,
				     enum ipoib_drop *ret_why, ns_t now)
{
	mcast_refresh(m, now);
	switch (m->state) {
	case IPOIB_MCAST_READY:
		*ret_via = m;
		return IPOIB_SEND;
	case IPOIB_MCAST_ABSENT:
		return absent_route(m, ret_via, ret_why, now);
	case IPOIB_MCAST_FAILED:
		*ret_why = IPOIB_DROP_GROUP_REFUSED;
		return IPOIB_DROP;
	default:
		return IPOIB_HELD;
	}
}

static void settle_one(struct ipoib_mcast *m, ns_t now)
{
	struct ipoib_link *l = m->link;
	enum ipoib_drop why = IPOIB_DROP_NONE;
	struct ipoib_mcast *via = m;

	while (m->held.n) {
		enum ipoib_verdict v = ipoib_mcast_route(m, &via, &why, now);
		struct pkt *pkt;

		if (v == IPOIB_HELD)
			return;
		pkt = ipoib_unhold(l, &m->held);
		if (v == IPOIB_SEND)
			ipoib_act_send(l, pkt, via->ah.ah, IB_QPN_MCAST);
		else
			ipoib_drop_pkt(l, pkt, why);
	}
}

void ipoib_mcast_settle(struct ipoib_mcast *m, ns_t now)
{
	struct list todo = LIST_INIT(todo);

	settle_one(m, now);
	/* Taken off first: an undecided all-routers group gets its waiters back. */
	while (!list_empty(&m->waiting)) {
		struct list *n = m->waiting.next;

		list_del(n);
		list_add_tail(&todo, n);
	}
	while (!list_empty(&todo)) {
		struct ipoib_mcast *w = list_first(&todo, struct ipoib_mcast, wait_node);

		list_del(&w->wait_node);
		settle_one(w, now);
	}
}

void ipoib_mcast_query_done(struct sac_group_query *q, int status,
			    const struct ib_mcmember_rec *rec, ns_t now)
{
	struct ipoib_mcast *m = container_of(q, struct ipoib_mcast, query);
	bool traps = sac_subscribed(m->link->sac);

	m->status = status;
	switch (status) {
	case 0:
	case SA_STATUS_TOO_MANY_RECORDS: /* an SA that lists members, not groups: it exists */
		ipoib_mcast_join_sender(m, now);
		break;
	case SA_STATUS_NO_RECORDS:
		ipoib_mcast_set_state(m, IPOIB_MCAST_ABSENT,
				      now + (traps ? IPOIB_ABSENT_TTL : IPOIB_ABSENT_TTL_BLIND));
		break;
	default:
		ipoib_mcast_set_state(m, IPOIB_MCAST_FAILED, now + IPOIB_BACKOFF_MIN);
		break;
	}
	ipoib_mcast_settle(m, now);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/action.h"
#include "ipoib/mcast.h"

/*
 * This file sends to a group that cannot be joined (draft-kashyap-ipoib-ipv4-multicast-01 §6.3).
 * The packet has the MGID of the group, but the MLID of the all-systems group (224.0.0.1), or of
 * the broadcast group if the all-systems group cannot be joined either. These two groups, called
 * lenders in the code, contain all hosts, and receivers of a group recognize the group's MGID
 * (mcast_attach.c). The SL, the rate and the other values of the packet's address vector are the
 * lender's, because the packet travels along the lender's multicast tree. For IPv6, which the draft
 * does not mention, the all-nodes group (ff02::1) is used in place of all-systems.
 */

static const uint8_t all_systems[][16] = {
	[IPOIB_IPV4] = { 224, 0, 0, 1 },
	[IPOIB_IPV6] = { 0xff, 0x02, [15] = 1 },
};

bool ipoib_mcast_is_lent(const struct ipoib_mcast *m)
{
	return m->link->profile->sender.absent == IPOIB_ABSENT_LENT && !m->broadcast;
}

struct ipoib_mcast *ipoib_mcast_all_systems(const struct ipoib_link *l, enum ipoib_proto proto)
{
	ib_gid mgid;

	if (ipoib_mcast_mgid(l, proto, all_systems[proto], &mgid))
		return NULL;
	return ipoib_mcast_find(l, &mgid);
}

bool ipoib_mcast_lends(const struct ipoib_mcast *m)
{
	const struct ipoib_link *l = m->link;

	if (l->profile->sender.absent != IPOIB_ABSENT_LENT)
		return false;
	return m->broadcast || m == ipoib_mcast_all_systems(l, m->proto);
}

/*
 * Returns the record of the lender whose MLID is used for packets to @m. NULL: the packets wait
 * until the all-systems group *@ret_wait is joined or refused
 */
static const struct ib_mcmember_rec *lender(struct ipoib_mcast *m, struct ipoib_mcast **ret_wait,
					    ns_t now)
{
	struct ipoib_link *l = m->link;
	struct ipoib_mcast *a;

	if (ipoib_mcast_get(l, m->proto, all_systems[m->proto], &a) || a == m)
		return &l->group_rec;
	ipoib_mcast_refresh(a, now);
	if (ipoib_mcast_is_member(a))
		return &a->rec;
	if (a->state == IPOIB_MCAST_ABSENT || a->state == IPOIB_MCAST_FAILED)
		return &l->group_rec;
	*ret_wait = a;
	return NULL;
}

/*
 * Finds the address handle for packets to @m with the MLID in @rec. If there is no handle, the
 * function requests one.
 */
static enum ipoib_verdict lent_ah(struct ipoib_mcast *m, const struct ib_mcmember_rec *rec,
				  void **ret_ah, enum ipoib_drop *ret_why, ns_t now)
{
	struct ipoib_ah_attr attr = ipoib_mcast_ah_attr(m, rec);

	if (ipoib_ah_same(&m->lent, &attr)) {
		*ret_ah = m->lent.ah;
		return IPOIB_SEND;
	}
	if (ipoib_ah_asked(&m->lent, &attr))
		return IPOIB_HELD;
	if (now < m->lent_until) {
		*ret_why = IPOIB_DROP_GROUP_REFUSED;
		return IPOIB_DROP;
	}
	ipoib_ah_request(m->link, &m->lent, IPOIB_AH_LENT, m->slot, &attr);
	return IPOIB_HELD;
}

enum ipoib_verdict ipoib_mcast_lent_route(struct ipoib_mcast *m, void **ret_ah,
					  enum ipoib_drop *ret_why, ns_t now)
{
	struct ipoib_mcast *wait = NULL;
	const struct ib_mcmember_rec *rec = lender(m, &wait, now);

	if (!wait)
		return lent_ah(m, rec, ret_ah, ret_why, now);
	/* the old handle is used until the join of the all-systems group is granted or refused */
	if (m->lent.ah) {
		*ret_ah = m->lent.ah;
		return IPOIB_SEND;
	}
	list_del(&m->wait_node);
	list_add_tail(&wait->waiting, &m->wait_node);
	return IPOIB_HELD;
}

void ipoib_mcast_lent_ready(struct ipoib_mcast *m, int err, ns_t now)
{
	if (err) {
		ipoib_ah_drop(m->link, &m->lent);
		m->lent_until = now + IPOIB_BACKOFF_MIN;
	}
	ipoib_mcast_release_held(m, now);
}

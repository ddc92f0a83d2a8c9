/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IPOIB_MCAST_H
#define IPOIB_MCAST_H

/*
 * Groups of a link, for the files of ipoib/: the table, the memberships, and the sending of packets
 * to groups.
 */

#include "ipoib/link.h"

/* mcast.c */
int ipoib_mcasts_init(struct ipoib_link *l); /* makes l->bcast for l->mgid */
void ipoib_mcasts_fini(struct ipoib_link *l);
void ipoib_mcasts_sweep(struct ipoib_link *l, ns_t now);
/*
 * ipoib_mcasts_regroup() - Adopt @mgid, whose scope may differ from the old one, as the MGID of the
 * link's broadcast group. Call ipoib_link_leave() first. Groups with receivers get the MGIDs of the
 * new scope, and the other groups are removed from the table
 */
void ipoib_mcasts_regroup(struct ipoib_link *l, const ib_gid *mgid);
struct ipoib_mcast *ipoib_mcast_find(const struct ipoib_link *l, const ib_gid *mgid);
/*
 * ipoib_mcast_get() - Find the group's entry in the table, or make it. Return: 0; -EINVAL: not a
 * multicast address; -ENOBUFS
 */
int ipoib_mcast_get(struct ipoib_link *l, enum ipoib_proto proto, const uint8_t *group,
		    struct ipoib_mcast **ret);
void ipoib_mcast_set_state(struct ipoib_mcast *m, enum ipoib_mcast_state state, ns_t until);

#define for_each_mcast(l, m)                                               \
	for (m = (l)->mcasts; m < (l)->mcasts + (l)->mcast_slots.top; m++) \
		if (m->link)

/*
 * Tells whether the SA granted a membership of any kind, so that the link may send packets to the
 * group
 */
static inline bool ipoib_mcast_is_member(const struct ipoib_mcast *m)
{
	return m->full_ok || m->so_ok || m->non_ok;
}

/* Tells whether the SA granted a membership by which the link receives the group */
static inline bool ipoib_mcast_receives(const struct ipoib_mcast *m)
{
	return m->full_ok || m->non_ok;
}

/* mcast_join.c */
void ipoib_mcast_join_full(struct ipoib_mcast *m, ns_t now);
void ipoib_mcast_join_sender(struct ipoib_mcast *m, ns_t now);
void ipoib_mcast_leave_sender(struct ipoib_mcast *m, ns_t now);
void ipoib_mcast_leave_full(struct ipoib_mcast *m, ns_t now);
void ipoib_mcast_leave_all(struct ipoib_mcast *m, ns_t now); /* also drops the held packets */
/*
 * ipoib_mcast_granted() - Attach the QP and request an address handle, because the SA has granted a
 * membership
 */
void ipoib_mcast_granted(struct ipoib_mcast *m, const struct ib_mcmember_rec *rec, ns_t now);
/*
 * ipoib_mcast_set_absent() - Record that the group does not exist; the SA is asked again after
 * IPOIB_ABSENT_TTL, or when trap 66 reports the creation of the group
 */
void ipoib_mcast_set_absent(struct ipoib_mcast *m, ns_t now);
/*
 * ipoib_mcast_ah_attr() - Return the address vector of packets that are sent to @m with the MLID of
 * @rec, which is the record of @m or of a lender (mcast_lent.c)
 */
struct ipoib_ah_attr ipoib_mcast_ah_attr(const struct ipoib_mcast *m,
					 const struct ib_mcmember_rec *rec);
void ipoib_mcasts_join(struct ipoib_link *l, ns_t now); /* joins all groups that have receivers */
/*
 * ipoib_mcasts_renew() - Join again every group that the link may create. The parameters of the
 * broadcast group have changed, and the other groups must have the same parameters
 */
void ipoib_mcasts_renew(struct ipoib_link *l, ns_t now);
void ipoib_mcast_created(struct ipoib_link *l, const ib_gid *mgid, ns_t now);
void ipoib_mcast_deleted(struct ipoib_link *l, const ib_gid *mgid, ns_t now);
/*
 * lets the next packet to an absent or failed group ask the SA again, because the SA has lost its
 * state
 */
void ipoib_mcasts_restart(struct ipoib_link *l);

/* ipoib_mcast_join_non(), _leave_non() - Join and leave a group as NonMember, for a router */
void ipoib_mcast_join_non(struct ipoib_mcast *m, ns_t now);
void ipoib_mcast_leave_non(struct ipoib_mcast *m, ns_t now);

/* functions of router.c; they have no effect unless the link belongs to a multicast router */
void ipoib_router_init(struct ipoib_link *l);
void ipoib_router_ask(struct ipoib_link *l, ns_t now); /* asks the SA for all groups */
/* stops asking for the list of groups, because the link is not up any more */
void ipoib_router_stop(struct ipoib_link *l);
void ipoib_router_created(struct ipoib_link *l, const ib_gid *mgid, ns_t now);
void ipoib_router_deleted(struct ipoib_link *l, const ib_gid *mgid, ns_t now);

/* mcast_attach.c */
/*
 * ipoib_mcast_attach() - Attach the QP to those MLIDs of the group on which the QP should receive,
 * and detach the QP from the other MLIDs
 */
void ipoib_mcast_attach(struct ipoib_mcast *m);
void ipoib_mcast_detach(struct ipoib_mcast *m);
void ipoib_mcast_attach_failed(struct ipoib_mcast *m, uint16_t mlid);
void ipoib_mcasts_attach(
	/*
	 * calls ipoib_mcast_attach() for all groups, because the MLID of a lender (mcast_lent.c)
	 * may have changed
	 */
	struct ipoib_link *l);

/* mcast_lent.c */
/*
 * ipoib_mcast_is_lent() - Tell whether packets to @m may be sent with the MLID of another group
 * (mcast_lent.c)
 */
bool ipoib_mcast_is_lent(const struct ipoib_mcast *m);
/*
 * ipoib_mcast_lends() - Tell whether packets to other groups may be sent with the MLID of @m
 * (mcast_lent.c)
 */
bool ipoib_mcast_lends(const struct ipoib_mcast *m);
/*
 * ipoib_mcast_all_systems() - Return the all-systems group, whose MLID is used for groups that
 * cannot be joined; NULL: the all-systems group is not in the table
 */
struct ipoib_mcast *ipoib_mcast_all_systems(const struct ipoib_link *l, enum ipoib_proto proto);
/*
 * ipoib_mcast_lent_route() - Do the work of ipoib_mcast_route() for a packet to the group @m that
 * cannot be joined
 */
enum ipoib_verdict ipoib_mcast_lent_route(struct ipoib_mcast *m, void **ret_ah,
					  enum ipoib_drop *ret_why, ns_t now);

/* mcast_send.c */
/* the all-routers groups by enum ipoib_proto, to which senders fall back (RFC 4391 §10) */
extern const uint8_t ipoib_all_routers[][16];
/*
 * ipoib_mcast_route() - Decide about a packet to @m: send it with *@ret_ah, hold it back, or drop it for the reason
 * *@ret_why
 */
enum ipoib_verdict ipoib_mcast_route(struct ipoib_mcast *m, void **ret_ah, enum ipoib_drop *ret_why,
				     ns_t now);
/*
 * ipoib_mcast_refresh() - Ask the SA about @m, to which a packet is being sent, if the SA was not
 * asked yet or its last answer is too old
 */
void ipoib_mcast_refresh(struct ipoib_mcast *m, ns_t now);
/*
 * ipoib_mcast_release_held() - After a change of the state of @m, route again the packets that are
 * held back for @m or for a group in @m->waiting
 */
void ipoib_mcast_release_held(struct ipoib_mcast *m, ns_t now);
void ipoib_mcast_query_done(struct sac_group_query *q, int status,
			    const struct ib_mcmember_rec *rec, ns_t now);

#endif

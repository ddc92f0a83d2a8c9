/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IPOIB_MCAST_H
#define IPOIB_MCAST_H

/* Groups of a link, for the files of ipoib/: table, memberships, and routing of sent packets. */

#include "ipoib/link.h"

/* mcast.c */
int ipoib_mcasts_init(struct ipoib_link *l); /* makes l->bcast for l->mgid */
void ipoib_mcasts_fini(struct ipoib_link *l);
void ipoib_mcasts_sweep(struct ipoib_link *l, ns_t now);
/*
 * ipoib_mcasts_regroup() - The link is the group @mgid from now on, whose scope may be another one. All groups are left; those
 * with receivers get the MGIDs of the new scope, and the others are forgotten
 */
void ipoib_mcasts_regroup(struct ipoib_link *l, const ib_gid *mgid);
struct ipoib_mcast *ipoib_mcast_find(const struct ipoib_link *l, const ib_gid *mgid);
/* ipoib_mcast_get() - Find or make a group. 0; -EINVAL: not a multicast address; -ENOBUFS */
int ipoib_mcast_get(struct ipoib_link *l, enum ipoib_proto proto, const uint8_t *group,
		    struct ipoib_mcast **ret);
void ipoib_mcast_set_state(struct ipoib_mcast *m, enum ipoib_mcast_state state, ns_t until);

#define for_each_mcast(l, m)                                               \
	for (m = (l)->mcasts; m < (l)->mcasts + (l)->mcast_slots.top; m++) \
		if (m->link)

/* True if the SA granted a membership of any kind, so that packets to the group may be sent */
static inline bool ipoib_mcast_is_member(const struct ipoib_mcast *m)
{
	return m->full_ok || m->so_ok || m->non_ok;
}

/* True if the SA granted a membership by which the link receives the group */
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
/* ipoib_mcast_granted() - The SA granted a membership: attach, and ask for an address handle */
void ipoib_mcast_granted(struct ipoib_mcast *m, const struct ib_mcmember_rec *rec, ns_t now);
void ipoib_mcast_attach(struct ipoib_mcast *m);
void ipoib_mcast_detach(struct ipoib_mcast *m);
void ipoib_mcasts_join(struct ipoib_link *l, ns_t now); /* joins all groups that have receivers */
void ipoib_mcast_created(struct ipoib_link *l, const ib_gid *mgid, ns_t now);
void ipoib_mcast_deleted(struct ipoib_link *l, const ib_gid *mgid, ns_t now);
void ipoib_mcasts_restart(struct ipoib_link *l); /* the SA lost its state */

/* ipoib_mcast_join_non(), _leave_non() - Begin and end to receive a group as NonMember, for a router */
void ipoib_mcast_join_non(struct ipoib_mcast *m, ns_t now);
void ipoib_mcast_leave_non(struct ipoib_mcast *m, ns_t now);

/* router.c: all without effect if the link is no multicast router's */
void ipoib_router_init(struct ipoib_link *l);
void ipoib_router_ask(struct ipoib_link *l, ns_t now); /* asks the SA for all groups */
void ipoib_router_stop(struct ipoib_link *l); /* the link is not up any more */
void ipoib_router_created(struct ipoib_link *l, const ib_gid *mgid, ns_t now);
void ipoib_router_deleted(struct ipoib_link *l, const ib_gid *mgid, ns_t now);

/* mcast_send.c */
/* IP groups of all routers by enum ipoib_proto, to which senders fall back (RFC 4391 §10) */
extern const uint8_t ipoib_all_routers[][16];
/* ipoib_mcast_route() - Decide for a packet to @m: SEND by *@ret_via, hold it, DROP for *@ret_why */
enum ipoib_verdict ipoib_mcast_route(struct ipoib_mcast *m, struct ipoib_mcast **ret_via,
				     enum ipoib_drop *ret_why, ns_t now);
/* ipoib_mcast_release_held() - The state of @m changed: route again what it, and groups waiting for it, hold */
void ipoib_mcast_release_held(struct ipoib_mcast *m, ns_t now);
void ipoib_mcast_query_done(struct sac_group_query *q, int status,
			    const struct ib_mcmember_rec *rec, ns_t now);

#endif

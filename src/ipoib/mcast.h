/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IPOIB_MCAST_H
#define IPOIB_MCAST_H

/* Groups inside a link: the table, memberships, and where a sender's packets go. */

#include "ipoib/link.h"

/* mcast.c */
int ipoib_mcasts_init(struct ipoib_link *l); /* makes l->bcast for l->mgid */
void ipoib_mcasts_fini(struct ipoib_link *l);
void ipoib_mcasts_sweep(struct ipoib_link *l, ns_t now);
struct ipoib_mcast *ipoib_mcast_find(const struct ipoib_link *l, const ib_gid *mgid);
/* ipoib_mcast_get() - Find or make. -EINVAL: not a group; -ENOBUFS */
int ipoib_mcast_get(struct ipoib_link *l, enum ipoib_proto proto, const uint8_t *group,
		    struct ipoib_mcast **ret);
void ipoib_mcast_set_state(struct ipoib_mcast *m, enum ipoib_mcast_state state, ns_t until);

#define for_each_mcast(l, m)                                               \
	for (m = (l)->mcasts; m < (l)->mcasts + (l)->mcast_slots.top; m++) \
		if (m->link)

/* mcast_join.c */
void ipoib_mcast_join_full(struct ipoib_mcast *m, ns_t now);
void ipoib_mcast_join_sender(struct ipoib_mcast *m, ns_t now);
void ipoib_mcast_leave_sender(struct ipoib_mcast *m, ns_t now);
void ipoib_mcast_leave_full(struct ipoib_mcast *m, ns_t now);
void ipoib_mcast_leave_all(struct ipoib_mcast *m, ns_t now); /* held packets are dropped */
/* ipoib_mcast_granted() - A membership was granted with @rec: address handle, attachment */
void ipoib_mcast_granted(struct ipoib_mcast *m, const struct ib_mcmember_rec *rec, ns_t now);
void ipoib_mcast_attach(struct ipoib_mcast *m);
void ipoib_mcast_detach(struct ipoib_mcast *m);
void ipoib_mcasts_join(struct ipoib_link *l, ns_t now); /* the link is up: all receivers' groups */
void ipoib_mcast_created(struct ipoib_link *l, const ib_gid *mgid, ns_t now);
void ipoib_mcast_deleted(struct ipoib_link *l, const ib_gid *mgid, ns_t now);
void ipoib_mcasts_restart(struct ipoib_link *l); /* the SA lost its state */

/* mcast_send.c */
/* ipoib_mcast_route() - Where a packet for @m goes: SEND by *@ret_via, HELD in @m, DROP for *@ret_why */
enum ipoib_verdict ipoib_mcast_route(struct ipoib_mcast *m, struct ipoib_mcast **ret_via,
				     enum ipoib_drop *ret_why, ns_t now);
/* ipoib_mcast_settle() - The state of @m changed: its held packets, and those waiting for it, go on */
void ipoib_mcast_settle(struct ipoib_mcast *m, ns_t now);
void ipoib_mcast_query_done(struct sac_group_query *q, int status,
			    const struct ib_mcmember_rec *rec, ns_t now);

#endif

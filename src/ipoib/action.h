/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IPOIB_ACTION_H
#define IPOIB_ACTION_H

/*
 * The queue of actions for the owner of the link, requests for address handles, and packets that
 * are held back.
 */

#include "ipoib/link.h"

/*
 * ipoib_act() - Append an action of @type, whose other members are zero. The caller fills in these
 * members before it queues another action
 */
struct ipoib_action *ipoib_act(struct ipoib_link *l, enum ipoib_action_type type);

/* ipoib_act_send() - Queue an action that sends a packet that was held back, and count the packet as sent */
void ipoib_act_send(struct ipoib_link *l, struct pkt *pkt, void *ah, uint32_t dest_qpn,
		    uint32_t qkey);

/* The kind of object that an address handle belongs to. */
enum ipoib_ah_kind {
	IPOIB_AH_PATH,
	IPOIB_AH_MCAST,
	IPOIB_AH_LENT, /* the handle ipoib_mcast.lent */
};

/*
 * ipoib_ah_request() - Request an address handle from the owner of the link; when the new handle is
 * ready, it replaces the handle of @a
 */
void ipoib_ah_request(struct ipoib_link *l, struct ipoib_ah *a, enum ipoib_ah_kind kind,
		      uint32_t slot, const struct ipoib_ah_attr *attr);

/*
 * ipoib_ah_same() - Tell whether the handle in use was made from @attr, and no request for another
 * handle is open
 */
bool ipoib_ah_same(const struct ipoib_ah *a, const struct ipoib_ah_attr *attr);

/*
 * ipoib_ah_asked() - Tell whether the owner of the link was asked for a handle with @attr and has
 * not answered yet
 */
bool ipoib_ah_asked(const struct ipoib_ah *a, const struct ipoib_ah_attr *attr);

/*
 * ipoib_ah_drop() - Queue AH_DESTROY for the handle of @a. If a request is open, the handle in its
 * answer will be destroyed, too
 */
void ipoib_ah_drop(struct ipoib_link *l, struct ipoib_ah *a);

/*
 * Called when the owner of the link has answered the request for the handle of a path (path.c) or
 * group (mcast_join.c, mcast_lent.c).
 */
void ipoib_path_ah_ready(struct ipoib_path *p, int err, ns_t now);
void ipoib_mcast_ah_ready(struct ipoib_mcast *m, int err, ns_t now);
void ipoib_mcast_lent_ready(struct ipoib_mcast *m, int err, ns_t now);

/* ipoib_drop_pkt() - Free @pkt and count it under @reason, which is returned */
enum ipoib_drop ipoib_drop_pkt(struct ipoib_link *l, struct pkt *pkt, enum ipoib_drop reason);

/*
 * ipoib_hold() - Hold @pkt back in @q, which has room for @max packets. Return: 0, or the reason why @pkt was dropped
 */
enum ipoib_drop ipoib_hold(struct ipoib_link *l, struct pkt_queue *q, unsigned int max,
			   struct pkt *pkt);
/* ipoib_unhold() - Remove the first packet from @q and return it; NULL: @q is empty */
struct pkt *ipoib_unhold(struct ipoib_link *l, struct pkt_queue *q);
void ipoib_hold_drop(struct ipoib_link *l, struct pkt_queue *q, enum ipoib_drop reason);

#endif

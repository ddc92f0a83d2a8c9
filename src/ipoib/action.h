/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IPOIB_ACTION_H
#define IPOIB_ACTION_H

/* The queue of what the owner has to do, in order, and address handles on it. */

#include "ipoib/link.h"

/* ipoib_act() - Append an action of @type, the rest zeroed, to be filled in before the next call */
struct ipoib_action *ipoib_act(struct ipoib_link *l, enum ipoib_action_type type);

/* ipoib_act_send() - Release a held packet; counts it */
void ipoib_act_send(struct ipoib_link *l, struct pkt *pkt, void *ah, uint32_t dest_qpn);

/* Whose address handle it is. */
enum ipoib_ah_kind {
	IPOIB_AH_PATH,
	IPOIB_AH_MCAST,
};

/* ipoib_ah_request() - Have an address handle made; it replaces the present one when it is ready */
void ipoib_ah_request(struct ipoib_link *l, struct ipoib_ah *a, enum ipoib_ah_kind kind,
		      uint32_t slot, const struct ipoib_ah_attr *attr);

/* ipoib_ah_same() - The handle in use, with none in the making, has @attr */
bool ipoib_ah_same(const struct ipoib_ah *a, const struct ipoib_ah_attr *attr);

/* ipoib_ah_drop() - Give it back, and forget what is in the making */
void ipoib_ah_drop(struct ipoib_link *l, struct ipoib_ah *a);

/* The owner's answer, once it is matched: path.c, mcast.c */
void ipoib_path_ah_ready(struct ipoib_path *p, int err, ns_t now);
void ipoib_mcast_ah_ready(struct ipoib_mcast *m, int err, ns_t now);

/* ipoib_drop_pkt() - Free and count */
enum ipoib_drop ipoib_drop_pkt(struct ipoib_link *l, struct pkt *pkt, enum ipoib_drop reason);

/* ipoib_hold() - Keep @pkt in @q, at most @max there; 0 or the reason why it was dropped */
enum ipoib_drop ipoib_hold(struct ipoib_link *l, struct pkt_queue *q, unsigned int max,
			   struct pkt *pkt);
/* ipoib_unhold() - The next held packet, or NULL */
struct pkt *ipoib_unhold(struct ipoib_link *l, struct pkt_queue *q);
void ipoib_hold_drop(struct ipoib_link *l, struct pkt_queue *q, enum ipoib_drop reason);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IPOIB_NEIGH_H
#define IPOIB_NEIGH_H

/* Neighbours and the paths to their ports, for the files of ipoib/. */

#include "ipoib/link.h"

/* path.c */
/* ipoib_path_get() - Find or make the path to @gid; NULL: the table is full */
struct ipoib_path *ipoib_path_get(struct ipoib_link *l, const ib_gid *gid);
void ipoib_path_put(struct ipoib_path *p); /* frees the path @p if no neighbour uses it */
/*
 * ipoib_path_resolve() - Ask the SA for the path if the path's state is NONE, or if the state is
 * FAILED and the back-off is over
 */
void ipoib_path_resolve(struct ipoib_path *p, ns_t now);
/*
 * ipoib_path_verify() - Ask the SA again if the path is STALE; until the SA answers, packets are
 * sent with the old path
 */
void ipoib_path_verify(struct ipoib_path *p, ns_t now);
/* ipoib_path_stale() - Let the next packet query the SA again, because the path may have changed */
void ipoib_path_stale(struct ipoib_path *p, ns_t now);
void ipoib_paths_stale(struct ipoib_link *l, ns_t now);
void ipoib_paths_stale_gid(struct ipoib_link *l, const ib_gid *gid, ns_t now);
/*
 * ipoib_paths_forget() - Hold packets until the SA has answered with the new LIDs, because the
 * subnet was renumbered
 *
 * Otherwise a packet could reach a node to which the SM has given the old LID of the packet's
 * destination.
 */
void ipoib_paths_forget(struct ipoib_link *l, ns_t now);
/* sets all paths to the state NONE, and drops the packets that wait for the paths */
void ipoib_paths_reset(struct ipoib_link *l);
/* ipoib_paths_sweep() - Visit the slots @from to @to - 1, and let paths become stale whose time is over */
void ipoib_paths_sweep(struct ipoib_link *l, uint32_t from, uint32_t to, ns_t now);
/* ipoib_path_why() - Return the reason for which packets to the FAILED path @p are dropped */
enum ipoib_drop ipoib_path_why(const struct ipoib_path *p);

static inline bool ipoib_path_usable(const struct ipoib_path *p)
{
	return p->state >= IPOIB_PATH_READY && p->state <= IPOIB_PATH_REFRESH;
}

/* neigh.c */
int ipoib_neighs_init(struct ipoib_link *l);
void ipoib_neighs_fini(struct ipoib_link *l);
/* ipoib_neighs_sweep() - Visit the slots @from to @to - 1, and remove the neighbours that were idle for too long */
void ipoib_neighs_sweep(struct ipoib_link *l, uint32_t from, uint32_t to, ns_t now);
/*
 * ipoib_neighs_forget_qkey() - Delete the stored Q_Key of each neighbour whose Q_Key is @qkey,
 * because @qkey is no longer the Q_Key of the link
 */
void ipoib_neighs_forget_qkey(struct ipoib_link *l, uint32_t qkey);
/* sends the packets that were held back for @n, whose path is now usable */
void ipoib_neigh_flush(struct ipoib_neigh *n);
/*
 * ipoib_neigh_learn() - Record @lid as a LID of @n. A received packet without GRH then belongs to
 * @n if its SLID is @lid and its source QPN is the QPN of @n
 * @which:	0: @lid is the DLID of the path; 1: @lid is the SLID of a received packet
 */
void ipoib_neigh_learn(struct ipoib_neigh *n, unsigned int which, uint16_t lid);
struct ipoib_neigh *ipoib_neigh_by_lid(struct ipoib_link *l, uint16_t lid, uint32_t qpn);

/* ipoib_neigh_qkey() - Q_Key of packets to the neighbour */
static inline uint32_t ipoib_neigh_qkey(const struct ipoib_neigh *n)
{
	return n->has_qkey ? n->qkey : n->link->qkey;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IPOIB_NEIGH_H
#define IPOIB_NEIGH_H

/* Neighbours and the paths to their ports, inside a link. */

#include "ipoib/link.h"

/* path.c */
/* ipoib_path_get() - Find or make; NULL: the table is full */
struct ipoib_path *ipoib_path_get(struct ipoib_link *l, const ib_gid *gid);
void ipoib_path_put(struct ipoib_path *p); /* freed if no neighbour is left */
/* ipoib_path_resolve() - Ask, in NONE and, after its back-off, FAILED; verify in STALE */
void ipoib_path_resolve(struct ipoib_path *p, ns_t now);
void ipoib_path_verify(struct ipoib_path *p, ns_t now);
/* ipoib_path_stale() - What is known may be wrong: verify with the next packet, ask without delay */
void ipoib_path_stale(struct ipoib_path *p);
void ipoib_paths_stale(struct ipoib_link *l);
void ipoib_paths_stale_gid(struct ipoib_link *l, const ib_gid *gid);
/* ipoib_paths_forget() - Subnet renumbered: packets wait for the LID; none goes to who has the old one */
void ipoib_paths_forget(struct ipoib_link *l, ns_t now);
void ipoib_paths_reset(struct ipoib_link *l); /* back to NONE; held packets are dropped */
void ipoib_paths_sweep(struct ipoib_link *l, ns_t now);
/* ipoib_path_why() - Why a FAILED path drops packets */
enum ipoib_drop ipoib_path_why(const struct ipoib_path *p);

static inline bool ipoib_path_usable(const struct ipoib_path *p)
{
	return p->state >= IPOIB_PATH_READY && p->state <= IPOIB_PATH_REFRESH;
}

/* neigh.c */
int ipoib_neighs_init(struct ipoib_link *l);
void ipoib_neighs_fini(struct ipoib_link *l);
void ipoib_neighs_sweep(struct ipoib_link *l, ns_t now);
void ipoib_neigh_flush(struct ipoib_neigh *n); /* its held packets leave: the path is usable */
/* ipoib_neigh_learn() - Packets from (@lid, QPN) are its: @which 0 by path, 1 by reception */
void ipoib_neigh_learn(struct ipoib_neigh *n, unsigned int which, uint16_t lid);
struct ipoib_neigh *ipoib_neigh_by_lid(struct ipoib_link *l, uint16_t lid, uint32_t qpn);

#endif

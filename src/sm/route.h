/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SM_ROUTE_H
#define SM_ROUTE_H

/* Unicast routes: hop matrix and LFTs of a database. See the DOC comment in route.c. */

#include "sm/db.h"

struct sm_router;

/* sm_router_create() - LIDs and links of @db are final; fills db->hops and sm_switch.lft. 0 or -ENOMEM */
int sm_router_create(struct sm_router **ret, struct sm_db *db);
/* NULL is accepted. */
void sm_router_destroy(struct sm_router *r);

/**
 * sm_router_run() - The LFT of the next switch
 * @steps:	a slice: after about so many steps, of some nanoseconds each, it pauses
 * @ret:	the switch whose sm_switch.lft is complete now; NULL: no more switches
 *
 * Return: 0; -EAGAIN the slice is over, the next call begins another; -ENOMEM
 */
int sm_router_run(struct sm_router *r, size_t steps, struct sm_node **ret);

#endif

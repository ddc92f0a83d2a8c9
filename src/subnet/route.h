/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SUBNET_ROUTE_H
#define SUBNET_ROUTE_H

/* Unicast routes: hop matrix and LFTs of a database. See the DOC comment in route.c. */

#include "subnet/db.h"

struct sm_router;
struct sm_engine; /* routing engine, subnet/engine.h */

/* sm_engine_find() - Find the routing engine with a name. Return: NULL if there is none */
const struct sm_engine *sm_engine_find(const char *name);
/* sm_engine_name() - Return the name of an engine; NULL stands for the default */
const char *sm_engine_name(const struct sm_engine *e);

/*
 * sm_router_create() - Begin to compute db->hops and sm_switch.lft. LIDs and links of @db must be
 * final. @e: routing engine, NULL: minhop. Return: 0 or -ENOMEM
 */
int sm_router_create(struct sm_router **ret, struct sm_db *db, const struct sm_engine *e);
/* sm_router_destroy() - Free a router, but not its database; NULL is accepted */
void sm_router_destroy(struct sm_router *r);

/**
 * sm_router_run() - Compute the LFT of the next switch
 * @steps:	length of a slice: the function returns after about this many steps of some nanoseconds each
 * @ret:	switch whose sm_switch.lft is complete now; NULL: all switches are
 *
 * Return: 0; -EAGAIN the slice is over, call again to continue; -ENOMEM
 */
int sm_router_run(struct sm_router *r, size_t steps, struct sm_node **ret);

#endif

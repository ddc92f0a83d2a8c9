/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTE_ROUTE_H
#define ROUTE_ROUTE_H

/* Unicast routes: hop matrix and LFTs of a database. See the DOC comment in route.c. */

#include "subnet/db.h"

struct sm_router;
struct sm_engine; /* routing engine, route/engine.h */

/* sm_engine_find() - Find the routing engine with a name. Return: NULL if there is none */
const struct sm_engine *sm_engine_find(const char *name);
/* sm_engine_name() - Return the name of an engine; NULL stands for the default */
const char *sm_engine_name(const struct sm_engine *e);

/*
 * sm_router_create() - Begin to compute db->hops and sm_switch.lft. LIDs and links of @db must be
 * final. @e: routing engine, NULL: minhop. Return: 0 or -ENOMEM
 */
int sm_router_create(struct sm_router **ret, struct sm_db *db, const struct sm_engine *e);
/*
 * sm_router_why() - Return the reason why the requested engine does not compute the routes, as a
 * clause about the topology; "": the requested engine computes them
 */
const char *sm_router_why(const struct sm_router *r);
/* sm_router_engine() - Return the engine that computes the routes */
const struct sm_engine *sm_router_engine(const struct sm_router *r);
/* sm_router_destroy() - Free a router, but not its database; NULL is accepted */
void sm_router_destroy(struct sm_router *r);

/**
 * sm_router_run() - Compute the LFT of the next switch
 * @steps:	length of a slice: the function returns after about this many steps of some nanoseconds each
 * @ret:	switch whose sm_switch.lft is complete now; NULL with return value 0: all LFTs are
 *		complete
 *
 * Return: 0; -EAGAIN: the slice is over, call again to continue; -ENOMEM
 */
int sm_router_run(struct sm_router *r, size_t steps, struct sm_node **ret);

/* sm_engine_is_local() - Tell whether sm_reroute() can be used with an engine; NULL stands for the default */
bool sm_engine_is_local(const struct sm_engine *e);

/**
 * sm_reroute() - Follow changes of links between switches
 * @db:		database whose .hops and LFTs were right before the links changed
 * @at:		the switches at the ends of the links that were added or removed, [@n]
 * @changed:	called for each switch whose LFT has changed entries; the changed blocks then count as not
 *		acknowledged
 *
 * Changes db->hops and the LFTs in place, to the values that sm_router_run() would compute. Return: 0; -ENOMEM, in
 * this case all routes have to be computed again
 */
int sm_reroute(struct sm_db *db, const struct sm_engine *e, struct sm_node *const *at, uint32_t n,
	       void (*changed)(void *ctx, struct sm_node *s), void *ctx);

#endif

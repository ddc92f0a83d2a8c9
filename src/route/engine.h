/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTE_ENGINE_H
#define ROUTE_ENGINE_H

/*
 * The interface between route.c and the routing engines. A routing engine is a file that defines
 * one struct sm_engine, to which an entry of the array `engines` in route.c points. struct
 * sm_router is the state of a route computation.
 */

#include "route/route.h"
#include "subnet/routes.h"

struct sm_router {
	struct sm_db *db;
	const struct sm_engine *engine;
	void *engine_state; /* state of the engine, made by .begin and freed by .end */
	const struct sm_routes *rt; /* links and LIDs of .db, from which the routes are computed */
	uint32_t *queue; /* [nswitches + 1], memory for breadth-first searches */
	uint32_t next_row, next_switch; /* next row of hops, and next switch, to compute */
	size_t done; /* number of steps done in this slice */
	/* reason why .begin chose another engine than the requested one; empty: .begin chose the requested engine */
	char why[256];
};

struct sm_engine {
	const char *name; /* value of the option `[fabric] routing =` that selects this engine */
	/*
	 * Called first. An engine that cannot route this topology writes the reason to r->why, and sets r->engine to
	 * another engine. Return: 0 or -ENOMEM. NULL: the engine has no state
	 */
	int (*begin)(struct sm_router *r);
	/*
	 * Called for each switch @d after its row of db->hops was computed, and before the first
	 * call of .ports. NULL: nothing to do
	 */
	void (*row)(struct sm_router *r, uint32_t d);
	/*
	 * Write to @ret, in ascending order, the ports of switch @s that lead to another switch @d.
	 * Destinations on @d are distributed over these ports. Return: number of ports; 0: no
	 * route. NULL: the engine has .pair
	 */
	unsigned int (*ports)(const struct sm_router *r, uint32_t s, uint32_t d, uint8_t ret[256]);
	/*
	 * Set the ports of switch @s for the LIDs on another switch @d, by route_set(). Return: true if an entry
	 * changed. NULL: the LIDs are distributed over .ports
	 */
	bool (*pair)(struct sm_router *r, uint32_t s, uint32_t d, uint8_t *lft, bool *known);
	/* Frees the state. NULL: nothing to free */
	void (*end)(struct sm_router *r);
	/*
	 * true if the result of .ports depends only on the links of the sending switch, and on the
	 * rows of db->hops for this switch and its neighbours. sm_reroute() can then follow changes
	 * of links
	 */
	bool local;
};

/* Parts of a route computation that route.c, reroute.c and the engines share */
/*
 * sm_router_open() - Make a router for a database that has .routes; the hops in @db->hops are not computed again.
 * Return: NULL if memory ran out
 */
struct sm_router *sm_router_open(struct sm_db *db, const struct sm_engine *e);
/* sm_router_row() - Compute the row of switch @from in db->hops */
void sm_router_row(struct sm_router *r, uint32_t from);
#define ROUTE_ROWS 256 /* number of rows that sm_router_rows() computes */
/*
 * sm_router_rows() - Compute the rows of the ROUTE_ROWS switches from @from on, or of fewer at the
 * end of the matrix. Return: 0 or -ENOMEM
 */
int sm_router_rows(struct sm_router *r, uint32_t from);
/*
 * sm_router_pair() - In @lft, the LFT of switch @s, set the egress ports for all targets on switch @d
 * @known:	set to false for the blocks of @lft in which an entry changes; may be NULL
 *
 * Return: true if an entry changed
 */
bool sm_router_pair(struct sm_router *r, uint32_t s, uint32_t d, uint8_t *lft, bool *known);

/* route_set() - Set an entry of an LFT; @known as for sm_router_pair(). Return: true if the entry changed */
static inline bool route_set(uint8_t *lft, bool *known, uint16_t lid, uint8_t port)
{
	if (lft[lid] == port)
		return false;
	lft[lid] = port;
	if (known)
		known[lid / SMP_LFT_PER_BLOCK] = false;
	return true;
}

extern const struct sm_engine sm_engine_minhop, sm_engine_updn, sm_engine_ftree;

#endif

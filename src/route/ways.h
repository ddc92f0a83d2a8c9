/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTE_WAYS_H
#define ROUTE_WAYS_H

/*
 * DOC: Ways that go up and then down
 *
 * All switches are arranged in one order. In the direction of the switch that is earlier in the
 * order, a link leads up. A path leads up some links, then down some links, and never up again. So
 * no links can wait for each other's buffers in a circle (a credit loop).
 *
 * An LFT chooses by the destination, not by the link on which a packet came. A packet that came
 * down to a switch must not go up again. So a switch that has a path downwards to the destination
 * uses this path for all packets, even if a path upwards is shorter. All other switches send
 * packets up.
 */

#include "route/engine.h"

#define WAY_NONE 0xff
#define WAY_DOWN 0x80 /* flag in struct ways.way: the path goes down only */

struct ways {
	uint32_t *order; /* position of each switch in the order, [nswitches] */
	uint32_t *at; /* index of the switch at each position, [nswitches] */
	/*
	 * row d: length of each switch's path to switch d, with the flag WAY_DOWN if the path goes down
	 * only; WAY_NONE: no path; [nswitches][nswitches]
	 */
	uint8_t *way;
};

/*
 * The values that decide the position of a switch in the order: first .rank, then .guid if ranks
 * are equal.
 */
struct ways_place {
	uint32_t rank;
	uint32_t index;
	uint64_t guid;
};

/*
 * ways_places() - Make an array with an entry for each switch, all with .rank 0. Return: NULL if
 * memory ran out
 */
struct ways_place *ways_places(const struct sm_router *r);
int ways_place_cmp(const void *a, const void *b); /* for qsort() */
/*
 * ways_init() - Sort @v, which becomes the order. Return: 0 or -ENOMEM; in both cases the caller has to call
 * ways_fini()
 */
int ways_init(struct ways *w, const struct sm_router *r, struct ways_place *v);
void ways_fini(struct ways *w);
/* ways_row() - Find the ways of all switches to @d */
void ways_row(const struct ways *w, struct sm_router *r, uint32_t d);
/*
 * ways_edges() - Find the links by which switch @s sends to another switch @d
 * @ret:	indices in the edges of the graph, by ascending ports
 *
 * Return: the number of these links; 0: there is no path
 */
unsigned int ways_edges(const struct ways *w, const struct sm_router *r, uint32_t s, uint32_t d,
			uint32_t ret[256]);

static inline const uint8_t *ways_to(const struct ways *w, const struct sm_router *r, uint32_t d)
{
	return w->way + (size_t)d * r->db->nswitches;
}

static inline bool way_is_down(uint8_t way)
{
	return way != WAY_NONE && (way & WAY_DOWN);
}

#endif

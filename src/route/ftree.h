/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTE_FTREE_H
#define ROUTE_FTREE_H

/* State of the routing engine ftree. See the DOC comments in ftree.c and ftree_slot.c. */

#include "route/ways.h"

#define FTREE_LEVELS 8 /* largest number of levels of switches, as with OpenSM */

struct ftree {
	struct ways w;
	/* the hub (ftree.c): leaf switch at which packets turn from down to up if no path goes up and then down */
	uint32_t hub;
	uint8_t *level; /* level of each switch, from 0 for leaf switches, [nswitches] */
	unsigned int nlevels;
	/* slot of each link: its number among the links that lead up from the switch at its lower end, [edges] */
	uint32_t *slot;
	/* number of slots for links upwards that each switch has, empty slots included, [nswitches] */
	uint32_t *nslots;
	/*
	 * a number for each level and target, [.nlevels][targets]. At a switch of this level with N
	 * slots, the target prefers the slot "number modulo N"
	 */
	uint32_t *turn;
	uint8_t *by_switch; /* memory to mark switches, [nswitches] */
	/*
	 * port of the link in each slot; used while the routes from one switch to another are computed, and all 0 at
	 * other times; [highest number of slots]
	 */
	uint8_t *by_slot;
};

/* ftree_most_adapters() - Return the highest number of channel adapters at one switch */
uint32_t ftree_most_adapters(const struct sm_router *r);
/*
 * ftree_levels() - Find the level of each switch
 * @fewest:	smallest number of channel adapters of a leaf switch
 *
 * Return: 0; -EINVAL: the topology is no fat tree, and r->why contains the reason
 */
int ftree_levels(struct ftree *t, struct sm_router *r, uint32_t fewest);
/* ftree_slots() - Number the links upwards, and the destinations. Return: 0 or -ENOMEM */
int ftree_slots(struct ftree *t, const struct sm_router *r);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SUBNET_ROUTES_H
#define SUBNET_ROUTES_H

/*
 * The input from which unicast routes are computed: the links between switches, and for each LID
 * the switch that has this LID, or to which the CA port with this LID is connected.
 */

#include "subnet/db.h"

/* A link between two switches, as seen from one of them. */
struct route_edge {
	uint8_t port;
	uint32_t to; /* index of the switch at the other end */
};

/* The links of switch s are edge[first[s]] to edge[first[s + 1] - 1]. */
struct route_graph {
	struct route_edge *edge;
	uint32_t *first; /* index in .edge of each switch's first link, [nswitches + 1] */
};

/*
 * A LID of a switch's own port 0, or of a CA port connected to the switch, with the egress port of
 * the switch for this LID.
 */
struct route_target {
	uint16_t lid;
	uint8_t port;
	/*
	 * Number of targets of this switch, beginning with this target, that have successive LIDs; always 1 for a
	 * target with port 0
	 */
	uint16_t run;
};

struct sm_routes {
	struct route_graph g;
	struct route_target *target; /* targets of all switches, grouped by switch */
	/* index in .target of each switch's first target, [nswitches + 1] */
	uint32_t *first_target;
	/* LID of each switch's port 0, [nswitches]. A computation reads it for each pair of switches, so it is kept here in a small array */
	uint16_t *lid;
};

/* sm_routes_create() - Gather the links and LIDs from a database. Return: NULL if memory ran out */
struct sm_routes *sm_routes_create(const struct sm_db *db);
/* sm_routes_relink() - Read the links of the @n switches @at from the database again. Return: 0 or -ENOMEM */
int sm_routes_relink(struct sm_routes *rt, const struct sm_db *db, struct sm_node *const *at,
		     uint32_t n);
void sm_routes_free(struct sm_routes *rt); /* NULL is accepted */

#endif

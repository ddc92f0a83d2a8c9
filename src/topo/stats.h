/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOPO_STATS_H
#define TOPO_STATS_H

/*
 * Counts the objects in a topology, for administrators who have imported the topology.
 */

#include "topo/topo.h"

#define TOPO_STATS_RATES 16

struct topo_stats {
	uint32_t switches, cas, links;
	/*
	 * number of ports that need a LID: port 0 of each switch, and each CA port with a cable
	 */
	uint32_t ends;
	uint32_t lids; /* number of the ports in .ends whose LID is given */
	uint16_t top_lid;
	/* number of remarks of topo_stats_get() by kind; .notes[TOPO_NOTE_LEFT_OUT] stays 0 */
	uint32_t notes[TOPO_NOTE_MAX];
	unsigned int nrates;
	struct {
		char name[16]; /* "4xHDR" */
		uint32_t links;
	} rate[TOPO_STATS_RATES]; /* number of links by rate, the most frequent rate first */
};

/**
 * topo_stats_get() - Count the objects of a topology
 * @name:	name of the file, for remarks
 * @sink:	receives the remarks; may be NULL. There is a remark about
 *		- a cable that the topology lists at one end only,
 *		- a link that runs at a lower rate than the topology says (XDR, FDR10),
 *		- a LID that two ports have,
 *		- a description that two CAs have,
 *		- a node without a cable.
 *
 * Return: 0 or -ENOMEM
 */
int topo_stats_get(struct topo_stats *ret, const struct topo *t, const char *name,
		   const struct topo_sink *sink);

#endif

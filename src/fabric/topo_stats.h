/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_TOPO_STATS_H
#define FABRIC_TOPO_STATS_H

/* What a topology holds, for those who have not seen it. */

#include "fabric/topo.h"

#define TOPO_STATS_RATES 16

struct topo_stats {
	uint32_t switches, cas, links;
	uint32_t ends; /* ports that need a LID: of CAs, with a cable, and of switches */
	uint32_t lids; /* of them, those whose LID is given */
	uint16_t top_lid;
	uint32_t notes[TOPO_NOTE_MAX]; /* of topo_stats_get(); TOPO_NOTE_LEFT_OUT stays 0 */
	unsigned int nrates;
	struct {
		char name[16]; /* "4xHDR" */
		uint32_t links;
	} rate[TOPO_STATS_RATES]; /* the most frequent first */
};

/**
 * topo_stats_get() - Count
 * @name:	of the file, for remarks
 * @sink:	hears of cables that one end denies, of LIDs and descriptions that occur twice, of nodes
 *		without a cable; NULL
 *
 * Return: 0 or -ENOMEM
 */
int topo_stats_get(struct topo_stats *ret, const struct topo *t, const char *name,
		   const struct topo_sink *sink);

#endif

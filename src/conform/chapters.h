/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFORM_CHAPTERS_H
#define CONFORM_CHAPTERS_H

#include "conform/case.h"

extern const struct conform_chapter chapter_bringup, chapter_join, chapter_link, chapter_encap,
	chapter_arp, chapter_nd, chapter_path, chapter_keys, chapter_mgid, chapter_mcast,
	chapter_mcast_later, chapter_rereg;
/* draft-kashyap-ipoib-ipv4-multicast-01 */
extern const struct conform_chapter chapter_v4mc_map, chapter_v4mc;

/* --- judgements that several chapters make */

/* join_mgid_octets() - Octets of the MGID in the first join of the run, those bits that @mask has */
void join_mgid_octets(struct run *r, unsigned int off, unsigned int n, uint8_t mask,
		      const char *what);
/*
 * join_of_another_pkey() - Before the right broadcast group is there: a group of another P_Key. The DUT must send nothing, which is
 * decided when it tries to join again.
 */
void join_of_another_pkey(struct run *r);
/* join_never_creates() - For watch(): the DUT does not try to create the broadcast group */
void join_never_creates(struct run *r, const struct seen *s);

/* bringup_restore() - After the link was down: make the port Active again, and wait for the join. False: in vain */
bool bringup_restore(struct world *w);

#endif

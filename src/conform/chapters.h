/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFORM_CHAPTERS_H
#define CONFORM_CHAPTERS_H

#include "conform/case.h"

/* In the order in which they run */
extern const struct conform_chapter chapter_bringup, chapter_join, chapter_encap, chapter_arp,
	chapter_nd, chapter_path, chapter_keys, chapter_mgid, chapter_mcast, chapter_rereg;
extern const struct conform_chapter *const conform_chapters[];
extern const size_t conform_nchapters;

extern const struct conform_unseen conform_unseen[];
extern const size_t conform_nunseen;
/* Clauses that do not apply with cfg->linux_profile */
extern const struct conform_unseen conform_not_linux[];
extern const size_t conform_nnot_linux;

/* bringup_restore() - After the link was down: make the port Active again, and wait for the join. False: in vain */
bool bringup_restore(struct world *w);

#endif

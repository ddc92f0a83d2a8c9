/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLAUSES_PROFILE_H
#define CLAUSES_PROFILE_H

#include "conform/case.h"

/*
 * conform_profile_at() - Return: row @i of the table of profiles; NULL if there is no row @i. Row 0
 * is the default profile
 */
const struct conform_profile *conform_profile_at(unsigned int i);
/* conform_profile_find() - Return: the profile of this name; NULL if there is none */
const struct conform_profile *conform_profile_find(const char *name);
/* conform_print_list() - Print all cases of a profile, then the clauses without a case and the reason of each */
void conform_print_list(FILE *f, const struct conform_profile *p);

/* Clauses of RFC 4391 and its companion documents that have no case in any profile */
extern const struct conform_reason conform_unseen[];

/*
 * Each of these functions prepares the subnet for one profile. After v4mc_prepare() the SA refuses joins of the group of
 * 224.0.0.1 until the case M22/all-systems makes that group.
 */
void v4mc_prepare(struct world *w);
/* v6ib00: create the group to which MLD reports are sent */
void v6ib_prepare(struct world *w);
/*
 * encaparp00: assign an MLID to the broadcast group, which does not exist yet, and keep the SIDR
 * server silent until the case P18/retry has run
 */
void encaparp_prepare(struct world *w);

#endif

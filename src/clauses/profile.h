/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLAUSES_PROFILE_H
#define CLAUSES_PROFILE_H

#include "conform/case.h"

/* Row @i; NULL past the end. Row 0 is the default */
const struct conform_profile *conform_profile_at(unsigned int i);
/* conform_profile_find() - NULL: there is none of this name */
const struct conform_profile *conform_profile_find(const char *name);
/* All cases of a profile, and the clauses that have none with the reason */
void conform_print_list(FILE *f, const struct conform_profile *p);

/* Clauses of RFC 4391 and the documents beside it without a case, for all profiles */
extern const struct conform_reason conform_unseen[];

/* v4mc01: the SA refuses the group of 224.0.0.1 for a while */
void v4mc_prepare(struct world *w);
/* v6ib00: the group of reports of MLD exists */
void v6ib_prepare(struct world *w);
/* encaparp00: the group has an MLID, and the server of SIDR is silent for a while */
void encaparp_prepare(struct world *w);

#endif

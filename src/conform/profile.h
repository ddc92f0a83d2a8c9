/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFORM_PROFILE_H
#define CONFORM_PROFILE_H

#include "conform/case.h"

/* A clause or case, and a reason. Tables end with an entry whose .id is NULL. */
struct conform_reason {
	const char *id, *why;
};

/* What a link profile is judged by. A row of data: no code asks which profile a DUT has. */
struct conform_profile {
	const char *name;
	const struct world_wire *wire;
	const struct conform_chapter *const
		*chapters; /* in the order in which they run, ends with NULL */
	const struct conform_reason *
		exempt; /* cases of these chapters that do not apply, because the profile does otherwise; may be NULL */
	const struct conform_reason
		*unseen; /* clauses of its own document without a case; may be NULL */
	void (*prepare)(
		struct world
			*w); /* makes what is in the subnet before the DUT comes; may be NULL */
};

/* Row @i; NULL past the end. Row 0 is the default */
const struct conform_profile *conform_profile_at(unsigned int i);
/* Clauses of RFC 4391 and the documents beside it without a case, for all profiles */
extern const struct conform_reason conform_unseen[];

/* v4mc01: the SA refuses the group of 224.0.0.1 for a while */
void v4mc_prepare(struct world *w);
/* v6ib00: the group of reports of MLD exists */
void v6ib_prepare(struct world *w);
/* encaparp00: the group has an MLID, and the server of SIDR is silent for a while */
void encaparp_prepare(struct world *w);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SUBNET_LIDS_H
#define SUBNET_LIDS_H

/* Ranges of LIDs: 2^LMC LIDs, of which the first is a multiple of their number. */

#include "subnet/db.h"

/*
 * sm_lids_free() - Tell whether no port has a LID of the range of @n LIDs from @lid, and none is reserved
 * @reserved:	[SM_LID_TOP_MAX + 1], not 0 for LIDs that are reserved; NULL: none is
 */
bool sm_lids_free(const struct sm_db *db, const uint8_t *reserved, unsigned int lid,
		  unsigned int n);
/* sm_lids_claim() - Assign @p the range of LIDs, sized by its LMC, that begins at @lid */
void sm_lids_claim(struct sm_db *db, struct sm_port *p, unsigned int lid);
/*
 * sm_lids_find() - Return the first LID of the lowest free range of @n LIDs from @hint on, and advance @hint; 0:
 * there is none
 */
unsigned int sm_lids_find(const struct sm_db *db, const uint8_t *reserved, unsigned int n,
			  unsigned int *hint);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SUBNET_LIDS_H
#define SUBNET_LIDS_H

/* A port with an LMC has a range of 2^LMC LIDs. The first LID of a range is a multiple of 2^LMC. */

#include "subnet/db.h"

/*
 * sm_lids_free() - Tell whether the range of @n LIDs that starts with @lid is free: no port has one of these LIDs,
 * and none is reserved
 * @reserved:	array of SM_LID_TOP_MAX + 1 octets; the octet of a LID is not 0 if the LID is reserved. NULL: no LID
 *	is reserved
 */
bool sm_lids_free(const struct sm_db *db, const uint8_t *reserved, unsigned int lid,
		  unsigned int n);
/* sm_lids_claim() - Assign @p the range that begins at @lid. The length of the range follows from the LMC of @p */
void sm_lids_claim(struct sm_db *db, struct sm_port *p, unsigned int lid);
/*
 * sm_lids_find() - Find the lowest free range of @n LIDs. The search begins with the range that
 * contains @hint
 *
 * If a range is found, @hint is set to the LID after this range. Return: the first LID of the
 * range; 0: there is no such range
 */
unsigned int sm_lids_find(const struct sm_db *db, const uint8_t *reserved, unsigned int n,
			  unsigned int *hint);

#endif

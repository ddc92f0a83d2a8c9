/* SPDX-License-Identifier: BSD-2-Clause */
#include "subnet/lids.h"

bool sm_lids_free(const struct sm_db *db, const uint8_t *reserved, unsigned int lid, unsigned int n)
{
	if (lid == 0 || lid % n || lid + n - 1 > SM_LID_TOP_MAX)
		return false;
	for (unsigned int i = lid; i < lid + n; i++) {
		if (db->by_lid[i] || (reserved && reserved[i]))
			return false;
	}
	return true;
}

void sm_lids_claim(struct sm_db *db, struct sm_port *p, unsigned int lid)
{
	unsigned int n = 1u << p->lmc;

	p->lid = (uint16_t)lid;
	for (unsigned int i = lid; i < lid + n; i++)
		db->by_lid[i] = p;
	if (lid + n - 1 > db->top_lid)
		db->top_lid = (uint16_t)(lid + n - 1);
}

unsigned int sm_lids_find(const struct sm_db *db, const uint8_t *reserved, unsigned int n,
			  unsigned int *hint)
{
	for (unsigned int lid = *hint / n * n; lid + n - 1 <= SM_LID_TOP_MAX; lid += n) {
		if (sm_lids_free(db, reserved, lid, n)) {
			*hint = lid + n;
			return lid;
		}
	}
	return 0;
}

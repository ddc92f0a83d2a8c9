/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SA_PATH_H
#define SA_PATH_H

/* Functions that PathRecord and MultiPathRecord share. */

#include "sa/priv.h"

struct sa_path_query {
	const struct sa_req *r;
	struct sa_table *t;
	struct ib_path_rec want;
	uint64_t mask; /* component mask of the request, PATH_COMP_* */
	unsigned int max; /* largest number of paths for one pair of ports */
};

/*
 * sa_path_pair() - Add records of paths from @src to @dst: one for each LID of @dst, but at most
 * @q->max records
 *
 * The LID of @dst at position @first (from 0) in the range of its LIDs comes first. After the last
 * LID, the LIDs before this position follow. Return: number of records added, or -ENOSPC if the
 * table takes no more records
 */
int sa_path_pair(const struct sa_path_query *q, const struct sm_port *src,
		 const struct sm_port *dst, unsigned int first);

/* sa_path_codes_valid() - Tell whether the MTU and rate codes of the request are defined */
bool sa_path_codes_valid(const struct sa_path_query *q);

#endif

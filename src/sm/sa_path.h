/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SM_SA_PATH_H
#define SM_SA_PATH_H

/* What PathRecord and MultiPathRecord share. */

#include "sm/sa_priv.h"

struct sa_path_query {
	const struct sa_req *r;
	struct sa_table *t;
	struct ib_path_rec want;
	uint64_t mask; /* PATH_COMP_* */
	unsigned int max; /* paths of one pair */
};

/*
 * sa_path_pair() - Add the paths from @src to @dst, from that of LID @first of @dst's on. Return: how many,
 * or -ENOSPC if the table takes no more
 */
int sa_path_pair(const struct sa_path_query *q, const struct sm_port *src,
		 const struct sm_port *dst, unsigned int first);

/* sa_path_codes_valid() - MTU and rate that are asked for exist */
bool sa_path_codes_valid(const struct sa_path_query *q);

#endif

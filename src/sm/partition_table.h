/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SM_PARTITION_TABLE_H
#define SM_PARTITION_TABLE_H

/* Building a partition table: for the parser and the default. */

#include "sm/partition.h"
#include "sm/partition_lex.h"

/* A definition without a number: one is given when the whole file is read. */
#define SM_PKEY_AUTO 0

/* NULL: no memory; others -ENOMEM. Partitions move when one is added. */
struct sm_partition *sm_partition_add(struct sm_partitions *ps, const char *name, uint16_t pkey);
int sm_partition_add_rule(struct sm_partition *part, const struct sm_partition_rule *r);
int sm_partition_add_group(struct sm_partition *part, const struct sm_partition_group *g);
struct sm_partition_group sm_partition_group_default(void);

/* sm_partitions_finish() - Numbers, MGIDs and the default partition, once all is read; false: an error */
bool sm_partitions_finish(struct lex *ps);

#endif

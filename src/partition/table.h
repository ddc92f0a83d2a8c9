/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PARTITION_TABLE_H
#define PARTITION_TABLE_H

/* Functions that build a partition table, for the parser and for sm_partitions_default(). */

#include "partition/partition.h"
#include "partition/lex.h"

/*
 * Value of .pkey while no definition has given the partition a P_Key. The partition gets a free
 * P_Key after the whole file was read.
 */
#define SM_PKEY_AUTO 0

/*
 * If memory runs out, sm_partition_add() returns NULL and the next two functions return -ENOMEM.
 * Adding a partition may move the other partitions in memory, so pointers to them become invalid.
 */
struct sm_partition *sm_partition_add(struct sm_partitions *ps, const char *name, uint16_t pkey);
int sm_partition_add_rule(struct sm_partition *part, const struct sm_partition_rule *r);
int sm_partition_add_group(struct sm_partition *part, const struct sm_partition_group *g);
struct sm_partition_group sm_partition_group_default(void);

/*
 * sm_partitions_finish() - Assign the missing P_Keys, complete the MGIDs and add the default
 * partition, after the whole file was read. Return: false after an error
 */
bool sm_partitions_finish(struct lex *ps);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SUBNET_MEMBERSHIP_H
#define SUBNET_MEMBERSHIP_H

/* Decides which ports are members of a partition, by the rules of partitions.conf. */

#include "partition/partition.h"
#include "subnet/db.h"

/*
 * sm_partition_membership() - Return the membership of @p by the last of the most specific rules
 * that name it
 */
enum sm_membership sm_partition_membership(const struct sm_partition *part, const struct sm_port *p,
					   bool is_self);

#endif

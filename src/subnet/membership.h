/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SUBNET_MEMBERSHIP_H
#define SUBNET_MEMBERSHIP_H

/*
 * Decides by the rules of partitions.conf which ports are members of a partition, and arranges the
 * P_Keys in their tables.
 */

#include "partition/partition.h"
#include "subnet/db.h"

/*
 * sm_partition_membership() - Return the membership of @p by the last of the most specific rules
 * that name it
 */
enum sm_membership sm_partition_membership(const struct sm_partition *part, const struct sm_port *p,
					   bool is_self);

bool sm_pkeys_contain(const uint16_t *v, size_t n, uint16_t pkey);
/*
 * sm_pkeys_arrange() - Put @want into a table of @n entries, so that P_Keys in @old keep their
 * index
 * @index0:	P_Key of index 0; 0: any
 *
 * Return: false if they do not fit
 */
bool sm_pkeys_arrange(uint16_t *table, const uint16_t *old, size_t n, const uint16_t *want,
		      size_t nwant, uint16_t index0);

#endif

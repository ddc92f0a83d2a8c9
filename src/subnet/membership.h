/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SUBNET_MEMBERSHIP_H
#define SUBNET_MEMBERSHIP_H

/*
 * These functions decide by the rules of partitions.conf which ports are members of a partition,
 * and arrange the P_Keys in the tables of the ports.
 */

#include "partition/partition.h"
#include "subnet/db.h"
#include "subnet/group.h"

/*
 * sm_partition_membership() - Return the membership of @p. If several rules apply to @p, the last
 * rule of the most specific kind decides
 */
enum sm_membership sm_partition_membership(const struct sm_partition *part, const struct sm_port *p,
					   bool is_self);

/* sm_group_outsider() - Find a member that has lost the P_Key of the group. Return: NULL if there is none */
struct sm_mcmember *sm_group_outsider(const struct sm_db *db, const struct sm_group *g);

bool sm_pkeys_contain(const uint16_t *v, size_t n, uint16_t pkey);
/*
 * sm_pkeys_arrange() - Put @want into @table of @n entries, so that P_Keys of the table @old keep
 * their index
 * @index0:	P_Key that gets index 0; 0: any P_Key
 *
 * Return: false if @want does not fit
 */
bool sm_pkeys_arrange(uint16_t *table, const uint16_t *old, size_t n, const uint16_t *want,
		      size_t nwant, uint16_t index0);

#endif

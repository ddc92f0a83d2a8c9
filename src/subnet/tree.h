/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SUBNET_TREE_H
#define SUBNET_TREE_H

/* The spanning tree of a multicast group. See the DOC comment in tree.c. */

#include "subnet/db.h"
#include "subnet/group.h"

/* The part of a tree that is at one switch. */
struct sm_branch {
	/* ports to which the switch forwards packets of the group: its MFT entry */
	uint64_t mask[4];
	uint32_t recv; /* receivers attached to this switch and to switches below it */
	uint32_t next; /* index of the switch behind port .up */
	uint8_t up; /* port towards the root, 0 at the root */
	bool in_tree; /* true if .up and .next are computed */
};

struct sm_tree {
	const struct sm_db *db;
	struct sm_branch *br; /* branch of each switch, [db->nswitches] */
	/* hops of each switch to the root, [db->nswitches]; SM_HOPS_NONE: no path */
	const uint8_t *to_root;
	uint8_t *own_row; /* memory of .to_root; NULL: .to_root is a row of db->hops */
	uint32_t root; /* index of the root switch */
	uint32_t receivers;
	uint32_t unreached; /* members whose switch has no path to the root */
};

/**
 * sm_tree_build() - Compute the tree of a group
 * @db:		must have at least one switch and computed routes
 * @g:		its .root and .root_sweep are updated
 *
 * Return: 0, the tree is freed by sm_tree_free(); -ENOMEM
 */
int sm_tree_build(struct sm_tree *ret, const struct sm_db *db, struct sm_group *g);
void sm_tree_free(struct sm_tree *t);

/*
 * sm_tree_reaches() - Tell whether the port is in the tree of @g, or would be if it were a member (see
 * sm_group_reaches())
 */
bool sm_tree_reaches(const struct sm_db *db, const struct sm_group *g, uint64_t port_guid);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SM_GROUP_H
#define SM_GROUP_H

/*
 * DOC: Multicast groups
 *
 * Groups, their members and their MLIDs. The SA checks the requests by which clients join and leave groups (component
 * masks, matching parameters, rights to change a membership), and calls the functions of this header. The SM updates
 * the MFTs of all switches, so that the packets of a group follow a tree that reaches all receivers of the group. The
 * MFTs also lead the packets of send-only members into this tree. A group exists while it has a FullMember or a
 * SendOnlyFullMember; groups of the administrator (partitions.conf) exist even without members.
 *
 * Groups survive sweeps, and all groups end when this SM stops being master.
 */

#include "sm/sm.h"
#include "subnet/group.h"

struct sm_group *sm_group_find(const struct sm *sm, const ib_gid *mgid);
struct sm_group *sm_group_by_mlid(const struct sm *sm, uint16_t mlid);
/* sm_group_next() - Iterate over all groups: start with NULL; returns NULL at the end */
struct sm_group *sm_group_next(const struct sm *sm, const struct sm_group *prev);

/*
 * sm_groups_max() - Return the largest possible number of groups: the number of MLIDs for which the largest MFT in
 * the subnet has room, but at most sm_cfg.max_mlids. If a switch has no room for the MLID of a group, the tree of the
 * group leads around this switch
 */
unsigned int sm_groups_max(const struct sm *sm);

/*
 * sm_group_reaches() - Tell whether the port can get the packets of @g. Return: false if the switch
 * at the port has no room for the group in its MFT, or if switches without room separate the port
 * from the other members
 */
bool sm_group_reaches(const struct sm *sm, const struct sm_group *g, uint64_t port_guid);

/* sm_group_member() - Find a member. Return: NULL if the port is not a member */
struct sm_mcmember *sm_group_member(const struct sm_group *g, uint64_t port_guid);

/**
 * sm_group_create() - Make a group and give it an MLID
 * @rec:	parameters of the group; if the MLID is 0, the SM chooses one; port GID and join
 *	state are ignored
 * @admin:	true if the administrator defined the group (partitions.conf), so that it exists without members
 *
 * Calls the function group() of the listeners with created = true.
 * Return: 0; -EEXIST: a group has the MGID; -ENOSPC: the MLID is not free, or none is left (SA status 0x0100);
 * -ENOMEM; -EINVAL: @rec's MGID is not multicast
 */
int sm_group_create(struct sm *sm, const struct ib_mcmember_rec *rec, bool admin,
		    struct sm_group **ret, ns_t now);

/*
 * Called with @status 0 when every switch has acknowledged its MFT, or with -ETIMEDOUT if this takes
 * longer than 200 ms. The SA answers the join in both cases.
 */
typedef void sm_group_done_fn(void *ctx, int status, ns_t now);

/**
 * sm_group_join() - Add JoinState bits to the membership of a port, or make the port a member
 * @port_gid:	GID of an end port; the membership stores it unchanged
 * @done:	called exactly once, possibly before sm_group_join() returns. The status is
 *	-ECANCELED if the SM stops being master or is destroyed while the join waits. @g may
 *	already be freed when @done is called. NULL if the result is not needed
 *
 * Return: 0; -ENOMEM (done is not called)
 */
int sm_group_join(struct sm *sm, struct sm_group *g, const ib_gid *port_gid, uint8_t join_state,
		  bool proxy, sm_group_done_fn *done, void *ctx, ns_t now);

/**
 * sm_group_leave() - Clear JoinState bits of a membership
 *
 * When the last FullMember or SendOnlyFullMember leaves a group that is not the administrator's, the group
 * ends: the listeners' function group() is called with created = false, and @g is freed.
 * Return: the bits that remain; -ENOENT: the port is no member; -EINVAL: @join_state is 0 or has a bit that the
 * member does not have
 */
int sm_group_leave(struct sm *sm, struct sm_group *g, uint64_t port_guid, uint8_t join_state,
		   ns_t now);

/* sm_group_delete() - End a group with all its members */
void sm_group_delete(struct sm *sm, struct sm_group *g, ns_t now);

/* sm_group_drop_port() - End all memberships of a port that left the subnet */
void sm_group_drop_port(struct sm *sm, uint64_t port_guid, ns_t now);

#endif

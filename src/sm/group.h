/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SM_GROUP_H
#define SM_GROUP_H

/*
 * DOC: Multicast groups
 *
 * Groups, their members and their MLIDs. The SA judges requests (component masks,
 * matching parameters, membership rights) and calls in here; the SM keeps the MFTs
 * of all switches in step: receivers get branches, send-only members only a way in
 * (I24). A group exists while it has a FullMember or a SendOnlyFullMember; those of the
 * administrator (partitions.conf) stay.
 *
 * Groups survive sweeps. They end when this SM stops being master.
 */

#include "sm/sm.h"
#include "wire/records.h"

struct sm_mcmember {
	struct list link;
	struct hnode by_guid;
	ib_gid port_gid; /* as the join said it */
	uint64_t port_guid;
	uint8_t join_state; /* MCM_JOIN_* */
	bool proxy;
	/* Where it hangs, as of sweep @at_sweep: a join walks all members. For sm/mcast.c */
	uint8_t at_port;
	uint32_t at_switch;
	uint64_t at_sweep;
};

struct sm_group {
	struct list link; /* of all groups, by creation */
	struct hnode by_mgid;
	/*
	 * MGID, Q_Key, MLID, MTU, TClass, P_Key (full form), rate, life, SL, FlowLabel, HopLimit, scope.
	 * Port GID, join state and selectors are zero.
	 */
	struct ib_mcmember_rec rec;
	bool admin; /* made by the administrator */
	bool broadcast; /* the IPoIB broadcast group of a partition */
	uint64_t creator; /* port GUID of who asked for it; 0 for the administrator's */
	struct list members; /* struct sm_mcmember, by time of joining */
	struct htab by_port; /* the same, by port GUID */
	uint32_t nmembers;
	uint32_t root; /* tree: index of its root switch */
	uint64_t root_sweep; /* which sweep's database it was chosen for */
};

struct sm_group *sm_group_find(const struct sm *sm, const ib_gid *mgid);
struct sm_group *sm_group_by_mlid(const struct sm *sm, uint16_t mlid);
/* sm_group_next() - Walk all: start with NULL; NULL at the end */
struct sm_group *sm_group_next(const struct sm *sm, const struct sm_group *prev);

/* sm_groups_max() - How many there can be: MLIDs of the smallest switch */
unsigned int sm_groups_max(const struct sm *sm);

/* sm_group_member() - NULL if the port is none */
struct sm_mcmember *sm_group_member(const struct sm_group *g, uint64_t port_guid);

/**
 * sm_group_create() - Make a group and give it an MLID
 * @rec:	its parameters; MLID 0: the SM chooses (what the SA wants), port GID and join state ignored
 * @admin:	stays without members
 *
 * Listeners hear group(created).
 * Return: 0; -EEXIST the MGID has one; -ENOSPC MLIDs used up (SA status 0x0100); -ENOMEM;
 * -EINVAL @rec's MGID is not multicast
 */
int sm_group_create(struct sm *sm, const struct ib_mcmember_rec *rec, bool admin,
		    struct sm_group **ret, ns_t now);

/* @status 0: every switch acknowledged; -ETIMEDOUT: 200 ms went by, answer anyway (I17) */
typedef void sm_group_done_fn(void *ctx, int status, ns_t now);

/**
 * sm_group_join() - Add JoinState bits to a port's membership (a new member if it is none)
 * @port_gid:	of an end port; remembered as it is
 * @done:	called exactly once, also from inside this call, and with -ECANCELED by sm_destroy();
 *		NULL if nobody waits. @g may be gone by then
 *
 * Return: 0; -ENOMEM (done is not called)
 */
int sm_group_join(struct sm *sm, struct sm_group *g, const ib_gid *port_gid, uint8_t join_state,
		  bool proxy, sm_group_done_fn *done, void *ctx, ns_t now);

/**
 * sm_group_leave() - Clear JoinState bits
 *
 * The last FullMember or SendOnlyFullMember that leaves ends a group that is not the
 * administrator's: listeners hear group(deleted), @g is gone.
 * Return: the bits that remain; -ENOENT no member; -EINVAL @join_state has a bit the member has not
 */
int sm_group_leave(struct sm *sm, struct sm_group *g, uint64_t port_guid, uint8_t join_state,
		   ns_t now);

/* sm_group_delete() - End a group whatever members it has */
void sm_group_delete(struct sm *sm, struct sm_group *g, ns_t now);

/* sm_group_drop_port() - A port left the subnet: end all its memberships */
void sm_group_drop_port(struct sm *sm, uint64_t port_guid, ns_t now);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFORM_SA_H
#define CONFORM_SA_H

/* The suite's subnet administrator */

#include "world/world.h"

/*
 * world_sa_rx() - Handle a GMP of the DUT: the SA answers a request; an answer to one of the SA's
 * Reports ends the repetition of this Report
 */
void world_sa_rx(struct world *w, const struct seen *s);
void world_sa_fini(struct world *w);

/*
 * world_group() - Return: the group with this MGID, even if it does not exist now; NULL if it never
 * existed, or if another group has taken its entry
 */
struct world_group *world_group(struct world *w, const ib_gid *mgid);
/*
 * world_group_make() - Make a group as the administrator would, with the parameters of the
 * broadcast group. Return: NULL if there is no room for another group
 */
struct world_group *world_group_make(struct world *w, const ib_gid *mgid);
/*
 * world_group_tell() - Report trap 66 (group created) or 67 (group deleted) to the DUT, if the DUT has subscribed;
 * repeat the Report until the DUT answers
 */
void world_group_tell(struct world *w, const ib_gid *mgid, enum mad_trap trap);
/* world_subscribed() - Return: the DUT's subscription to a trap; NULL if it has none */
const struct world_subscription *world_subscribed(const struct world *w, enum mad_trap trap);

/*
 * Conditions for world_wait(). sa_is_full_member(): the DUT is a FullMember of @group, a struct
 * world_group. sa_is_full_member_of(): the DUT is a FullMember of the group with the MGID @mgid.
 * sa_has_subscribed(): the DUT has subscribed to traps 66 and 67
 */
bool sa_is_full_member(const struct world *w, const void *group);
bool sa_is_full_member_of(const struct world *w, const void *mgid);
bool sa_has_subscribed(const struct world *w, const void *arg);

/* MGIDs that the groups of the default link must have; struct world_wire has the mappings */
ib_gid sa_mgid_broadcast(const struct world *w);
ib_gid sa_mgid_ip4(const struct world *w, const uint8_t group[4]);
ib_gid sa_mgid_ip6(const struct world *w, const uint8_t group[16]);
/* MGIDs that the groups of the link with the P_Key @pkey must have */
ib_gid sa_mgid_broadcast_in(const struct world *w, uint16_t pkey);
ib_gid sa_mgid_ip4_in(const struct world *w, uint16_t pkey, const uint8_t group[4]);
ib_gid sa_mgid_ip6_in(const struct world *w, uint16_t pkey, const uint8_t group[16]);

/* Argument of a matcher: describes the SA request of the DUT that the matcher looks for */
struct sa_want {
	uint8_t method; /* 0: any */
	uint16_t attr;
	const ib_gid *gid; /* MGID of an MCMemberRecord, DGID of a PathRecord; NULL accepts any */
	/* JoinState bits, of which the request must have at least one; 0 accepts any */
	uint8_t join_state;
};
bool sa_is(const struct seen *s, const void *want);

/*
 * sa_join_decode() - Decode a request to join or create a group. Return: false if packet @s is no
 * such request
 */
bool sa_join_decode(const struct seen *s, struct sa_mad *q, struct ib_mcmember_rec *m);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFORM_SA_H
#define CONFORM_SA_H

/* The suite's subnet administrator */

#include "world/world.h"

/* world_sa_rx() - The DUT sent a GMP: a request to the SA, which is answered, or the answer to a Report */
void world_sa_rx(struct world *w, const struct seen *s);
void world_sa_fini(struct world *w);

/* world_group() - The group of an MGID, exists or not; NULL: there never was one */
struct world_group *world_group(struct world *w, const ib_gid *mgid);
/* world_group_make() - Make a group as the administrator would, with the parameters of the broadcast group. NULL: no room */
struct world_group *world_group_make(struct world *w, const ib_gid *mgid);
/* world_group_tell() - Report trap 66 or 67 about a group to the DUT, if it has subscribed, until it answers */
void world_group_tell(struct world *w, const ib_gid *mgid, enum mad_trap trap);
/* world_subscribed() - The subscription to a trap; NULL: none */
const struct world_subscription *world_subscribed(const struct world *w, enum mad_trap trap);

/* For world_wait(): the DUT is a FullMember of a group, or of that with an MGID; it has subscribed to traps 66 and 67 */
bool sa_is_full_member(const struct world *w, const void *group);
bool sa_is_full_member_of(const struct world *w, const void *mgid);
bool sa_has_subscribed(const struct world *w, const void *arg);

/* The MGIDs of the link that the suite expects, see wire.h */
ib_gid sa_mgid_broadcast(const struct world *w);
ib_gid sa_mgid_ip4(const struct world *w, const uint8_t group[4]);
ib_gid sa_mgid_ip6(const struct world *w, const uint8_t group[16]);

/* An SA request of the DUT, for matchers */
struct sa_want {
	uint8_t method; /* 0: any */
	uint16_t attr;
	const ib_gid *gid; /* MGID of MCMemberRecord, DGID of PathRecord; NULL: any */
	uint8_t join_state; /* bits, of which one has to be in the request; 0: any */
};
bool sa_is(const struct seen *s, const void *want);

/* sa_join_decode() - Whether the packet is a join, or makes a group */
bool sa_join_decode(const struct seen *s, struct sa_mad *q, struct ib_mcmember_rec *m);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"
#include "text/print.h"
#include "world/sa.h"

/* Cases with a DUT that is a multicast router. RFC 4391 section 11. */

static void joins_as_non_member(struct run *r, const struct ip_group *g, ns_t timeout)
{
	struct sa_want join = { .method = MAD_METHOD_SET,
				.attr = SA_ATTR_MCMEMBER_RECORD,
				.gid = &g->mgid };
	const struct seen *s = expect(r, sa_is, &join, timeout);
	char text[PRINT_GID_LEN];

	if (!s)
		missing(r, "no join of %s, a group of the link, within %u s",
			print_gid(text, sizeof(text), &g->mgid),
			(unsigned int)(timeout / NS_SEC(1)));
	else
		check(r, (s->payload[SA_DATA_OFF + 48] & 15) == MCM_JOIN_NON, s,
		      "JoinState is 0x%x, expected NonMember (2)",
		      s->payload[SA_DATA_OFF + 48] & 15);
}

/*
 * The multicast group existed before the DUT became a multicast router, so the DUT can learn of
 * this group only from the SA's list
 */
static void groups_there(struct run *r)
{
	struct ip_group g = group_of(r->w, "239.70.0.1", "ff15::70:1");

	if (world_group_make(r->w, &g.mgid) && hook(r, "router"))
		joins_as_non_member(r, &g, HOOK_TIME);
}

static void groups_created(struct run *r)
{
	struct ip_group g = group_of(r->w, "239.70.0.2", "ff15::70:2");

	if (!world_group_make(r->w, &g.mgid))
		return;
	world_group_tell(r->w, &g.mgid, MAD_TRAP_MC_CREATED);
	joins_as_non_member(r, &g, WORLD_LONGEST);
	/*
	 * Tell the DUT to stop being a router. The RFC does not say what a router has to do then,
	 * so the DUT's reaction is not judged.
	 */
	if (!r->decided && hook(r, "no-router"))
		hook_ended(r, HOOK_TIME);
}

static const struct conform_case cases[] = {
	{ "R70/list", "a router joins the groups of the link as NonMember", "RFC 4391 §11 A, B",
	  "Obtain a list of all active groups; make a NonMember join for each of IPv4 and IPv6.",
	  "R28 U2 R67", groups_there, NULL },
	{ "R70/created", "a router joins groups that are created later, too", "RFC 4391 §11 C",
	  "Subscribe to creation events with a wildcarded MGID, and join as NonMember.",
	  "R70/list R65", groups_created, NULL },
};

const struct conform_chapter chapter_router = { "multicast routers", cases,
						sizeof(cases) / sizeof(cases[0]) };

/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"
#include "world/peer.h"
#include "world/sa.h"

/*
 * Cases about senders of multicast packets: the four branches of RFC 4391 section 10, for groups
 * that exist, groups that do not exist, and groups that are created later.
 */

static const struct seen *sent(struct run *r, const struct ip_group *g, ns_t timeout)
{
	return expect(r, to_group_of, g, timeout);
}

static void existing(struct run *r)
{
	struct ip_group g = group_of(r->w, "239.7.0.1", "ff15::7:1");
	const struct world_group *there = world_group_make(r->w, &g.mgid);
	struct sa_want join = { .method = MAD_METHOD_SET,
				.attr = SA_ATTR_MCMEMBER_RECORD,
				.gid = &g.mgid };
	const struct seen *s, *j;

	if (!there || !hook(r, "send %s", g.text))
		return;
	s = sent(r, &g, HOOK_TIME);
	if (!s) {
		missing(r, "the group exists, but no packet to it came within 60 s after the "
			   "hook's send");
		return;
	}
	j = seen_since(r, sa_is, &join);
	check(r, j && j->n < s->n, s, "a packet to the group came before any join");
	check_be16(r, s, s->raw + IB_LRH_OFF_DLID, there->rec.mlid, "the DLID (the group's MLID)");
	check_dgid(r, s, &g.mgid, "the DGID of a multicast");
}

static void send_only_non_member(struct run *r)
{
	struct ip_group g = group_of(r->w, "239.7.0.2", "ff15::7:2");
	struct sa_want join = { .method = MAD_METHOD_SET,
				.attr = SA_ATTR_MCMEMBER_RECORD,
				.gid = &g.mgid };
	const struct seen *s;

	if (!world_group_make(r->w, &g.mgid) || !hook(r, "send %s", g.text))
		return;
	s = expect(r, sa_is, &join, HOOK_TIME);
	if (!s)
		missing(r, "no join of an existing group within 60 s after the hook's send");
	else
		check(r, (s->payload[SA_DATA_OFF + 48] & 15) == MCM_JOIN_SEND_ONLY_NON, s,
		      "JoinState is 0x%x, expected SendOnlyNonMember (4)",
		      s->payload[SA_DATA_OFF + 48] & 15);
}

/*
 * Make the DUT send to a link-local group that does not exist. The DUT must drop the packet. A later packet to a
 * group that exists shows that the DUT has handled the first packet.
 */
static void absent_link_local(struct run *r)
{
	struct ip_group g = group_of(r->w, "224.0.0.77", "ff02::77"),
			sentinel = group_of(r->w, "239.7.0.3", "ff15::7:3");
	const struct seen *s;

	if (!world_group_make(r->w, &sentinel.mgid) || !hook(r, "send %s", g.text))
		return;
	if (!hook_ended(r, HOOK_TIME) || !hook(r, "send %s", sentinel.text))
		return;
	if (!sent(r, &sentinel, HOOK_TIME)) {
		missing(r, "no packet to %s, whose group exists, within 60 s", sentinel.text);
		return;
	}
	s = seen_since(r, to_group_of, &g);
	check(r, !s, s, "a packet to an absent link-local group was sent; it has to be dropped");
}

/*
 * Return: the group that does not exist when the case R61 sends to it, and that is created for the
 * case R66
 */
static struct ip_group late_group(const struct run *r)
{
	return group_of(r->w, "239.7.0.4", "ff15::7:4");
}

static void absent_beyond(struct run *r)
{
	struct ip_group group = late_group(r), routers = group_of(r->w, "224.0.0.2", "ff02::2");
	ib_gid bcast = sa_mgid_broadcast(r->w);
	const struct world_group *g = world_group_make(r->w, &routers.mgid),
				 *b = world_group(r->w, &bcast);
	const struct seen *s;

	if (!g || !b)
		return;
	world_group_tell(r->w, &routers.mgid, MAD_TRAP_MC_CREATED);
	if (!hook(r, "send %s", group.text))
		return;
	s = sent(r, &group, HOOK_TIME);
	if (!s) {
		missing(r, "the group is absent, the all-routers group exists, but no packet came "
			   "within 60 s");
		return;
	}
	check(r, s->h.lrh.dlid == g->rec.mlid || s->h.lrh.dlid == b->rec.mlid, s,
	      "the DLID is 0x%04x, expected 0x%04x of the all-routers group (or 0x%04x of the "
	      "broadcast group)",
	      s->h.lrh.dlid, g->rec.mlid, b->rec.mlid);
}

static void moves(struct run *r)
{
	struct ip_group group = late_group(r);
	const struct world_group *g = world_group_make(r->w, &group.mgid);
	ns_t deadline = r->w->now + WORLD_LONGEST;
	const struct seen *s = NULL;

	if (!g)
		return;
	world_group_tell(r->w, &group.mgid, MAD_TRAP_MC_CREATED);
	for (bool last = false; r->w->up && !r->w->interrupted; world_pass(r->w, NS_SEC(3))) {
		mark(r);
		if (!hook(r, "send %s", group.text))
			return;
		s = sent(r, &group, HOOK_TIME);
		if (last || (s && s->h.lrh.dlid == g->rec.mlid))
			break;
		/*
		 * The DUT may wait for its longest back-off before it uses the new group. So the
		 * first packet after that time decides.
		 */
		last = r->w->now >= deadline;
	}
	if (!s)
		missing(r,
			"no packet to a group that was created after the sender had fallen back");
	else
		check_be16(r, s, s->raw + IB_LRH_OFF_DLID, g->rec.mlid,
			   "the DLID 18 s after the group was created");
}

/*
 * Make the DUT send to the broadcast address of its IP subnet, which has a mask of 24 bits, instead
 * of to 255.255.255.255.
 */
static void directed_broadcast(struct run *r)
{
	ib_gid bcast = sa_mgid_broadcast(r->w);
	uint8_t dst[4];
	const struct seen *s;

	memcpy(dst, r->w->dut.ip4, 3);
	dst[3] = 0xff;
	if (!hook(r, "send %u.%u.%u.%u", dst[0], dst[1], dst[2], dst[3]))
		return;
	s = expect(r, ip4_to, dst, HOOK_TIME);
	if (!s)
		missing(r, "no packet to %u.%u.%u.%u within 60 s after the hook's send", dst[0],
			dst[1], dst[2], dst[3]);
	else
		check_dgid(r, s, &bcast, "the DGID of a directed broadcast");
}

static const struct conform_case cases[] = {
	{ "R25/directed", "directed broadcasts of the IP subnet go to the broadcast group",
	  "RFC 4391 §5",
	  "The broadcast group carries net-, subnet- and all-subnets-directed broadcasts.",
	  "R28 U2 R29 R33/dgid P2", directed_broadcast, NULL },
	{ "R60", "a sender joins an existing group, and then sends to the group's MLID",
	  "RFC 4391 §10",
	  "If the group exists, its MLID is used as the DLID; a sender must join before.",
	  "R28 U2 R29 R33/dgid M9 M17 V4 V5 V6 P2", existing, NULL },
	{ "R62", "a sender joins as SendOnlyNonMember", "RFC 4391 §10",
	  "else if the group exists: do SendOnlyNonMember join.", "R60", send_only_non_member,
	  NULL },
	{ "R63", "the DUT does not send packets to a link-local group that the SA does not have",
	  "RFC 4391 §10", "else: drop the packet.", "R60", absent_link_local, NULL },
	{ "R61", "packets to an absent group of wider scope go to the all-routers group",
	  "RFC 4391 §10",
	  "Beyond link-local scope the packet must be sent to the all-router or the broadcast "
	  "group.",
	  "R60", absent_beyond, NULL },
};

const struct conform_chapter chapter_mcast = { "senders", cases, sizeof(cases) / sizeof(cases[0]) };

static const struct conform_case later_cases[] = {
	{ "R66", "when an absent group is created, packets go to its MLID", "RFC 4391 §10",
	  "Packets directed to the all-router group must be forwarded to the right group if it is "
	  "created later.",
	  "R61 M22/all-systems", moves, NULL },
};

const struct conform_chapter chapter_mcast_later = { "senders, and groups that come later",
						     later_cases,
						     sizeof(later_cases) / sizeof(later_cases[0]) };

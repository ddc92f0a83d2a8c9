/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"
#include "clauses/profile.h"
#include "world/peer.h"
#include "world/sa.h"

/*
 * Cases about IPv4 multicast in draft-kashyap-ipoib-ipv4-multicast-01: the mapping of groups to MGIDs, and the nodes
 * that join and create a group.
 */

#define DRAFT "draft-kashyap-ipoib-ipv4-multicast-01 "

static const uint8_t all_systems[4] = { 224, 0, 0, 1 };

/*
 * Make the SA refuse the group of 224.0.0.1, so that a sender has to fall back to the LID of the
 * broadcast group (case M22/broadcast). The case M22/all-systems creates the group later.
 */
void v4mc_prepare(struct world *w)
{
	ib_gid mgid = sa_mgid_ip4(w, all_systems);
	struct world_group *g = world_group_make(w, &mgid);

	g->exists = g->admin = false;
	g->refuse = SA_STATUS_REQ_INVALID;
}

/* --- fields of the broadcast group in the first join */

static void flags(struct run *r)
{
	join_mgid_octets(r, 1, 1, 0xf0, "octet 1 of the MGID (flags 0001)");
}

static void link_local(struct run *r)
{
	join_mgid_octets(r, 1, 1, 0x0f, "octet 1 of the MGID (the scope)");
}

static void other_scope(struct run *r)
{
	if (r->w->map.scope != WORLD_SCOPE_LINK)
		join_mgid_octets(r, 1, 1, 0x0f, "octet 1 of the MGID (the configured scope)");
	else
		not_applicable(r, "the DUT has the default scope; --scope judges a DUT that is "
				  "configured with another one");
}

static void prefix(struct run *r)
{
	/* Octet 1 has the flags and the scope, which the clauses M3, M5 and M7 judge. */
	join_mgid_octets(r, 0, 1, 0xff, "octet 0 of the MGID");
	join_mgid_octets(r, 2, 8, 0xff, "octets 2 to 9 of the MGID");
}

static void all_ones(struct run *r)
{
	if (!r->w->map.subnet)
		join_mgid_octets(r, 10, 2, 0xff, "octets 10 and 11 of the MGID");
	join_mgid_octets(r, 12, 4, 0xff, "octets 12 to 15 of the MGID");
}

static bool has_number(struct run *r)
{
	if (r->w->map.subnet)
		return true;
	not_applicable(r, "the DUT has no subnet number; --subnet-number judges one that has");
	return false;
}

static void subnet_number(struct run *r)
{
	if (has_number(r))
		join_mgid_octets(r, 10, 2, 0xff, "octets 10 and 11 of the MGID (the number)");
}

static void spanning(struct run *r)
{
	if (has_number(r))
		join_mgid_octets(r, 0, 16, 0xff, "the MGID");
}

static const struct conform_case map_cases[] = {
	{ "M7", "the flags of the MGID are 0001", DRAFT "3.2",
	  "The flag bits will always be set to 0001.", "R23", flags, NULL },
	{ "M3", "the scope of the broadcast group is link-local, or that of --scope", DRAFT "3.1",
	  "It is RECOMMENDED that addresses are mapped to link-local scope IB multicast GIDs.",
	  "R23", link_local, NULL },
	{ "M5", "a configured scope is in the MGID of the broadcast group", DRAFT "3.1.1",
	  "It is a MUST to define a configuration parameter that defines the scope bit.", "R23",
	  other_scope, NULL },
	{ "M10", "the prefix of the MGID is FF12", DRAFT "3.3",
	  "The default translation of the IPv4 broadcast address is FF12::255.255.255.255.", "R23",
	  prefix, NULL },
	{ "M8", "the broadcast group is FF1y::255.255.255.255", DRAFT "3.3",
	  "All broadcast addresses are mapped to FF1y::255.255.255.255.", "R23", all_ones, NULL },
	{ "M6", "the subnet number is in the MGID, and the scope is global", DRAFT "3.1.1",
	  "The number MUST be made part of the multicast mapping; the GIDs MUST use the global "
	  "scope.",
	  "R23", subnet_number, NULL },
	{ "M11", "with a subnet number the broadcast group is FF1E::number:255.255.255.255",
	  DRAFT "3.3.1",
	  "The mapping is FF1E::IP_subnet_number:<IPv4 multicast/broadcast address>.", "M6",
	  spanning, NULL },
	{ "M13", "the DUT does not create the broadcast group", DRAFT "5.0",
	  "It is a MUST that the administrator sets up the broadcast group.", "R23", NULL,
	  join_never_creates },
	{ "M13/pkey", "the link does not come up if the broadcast group has another P_Key",
	  DRAFT "5.0, 7.0", "The endpoints must have compatible P_Keys.", "R23 M3 M7 M8 M10",
	  join_of_another_pkey, NULL },
};

const struct conform_chapter chapter_v4mc_map = { "IPv4 groups: the map", map_cases,
						  sizeof(map_cases) / sizeof(map_cases[0]) };

/* --- groups */

static void all_32_bits(struct run *r, const struct seen *s)
{
	ib_gid bcast = sa_mgid_broadcast(r->w);
	struct ib_mcmember_rec m;
	struct sa_mad q;

	if (!sa_join_decode(s, &q, &m) || ib_gid_equal(&m.mgid, &bcast) ||
	    be16_at(m.mgid.raw + 2) == 0x601b)
		return;
	check_octets(r, s, s->payload + SA_DATA_OFF, bcast.raw, 12,
		     "octets 0 to 11 of the MGID of an IPv4 group");
	check(r, m.mgid.raw[12] >> 4 == 14, s,
	      "octet 12 of the MGID is 0x%02x, expected the first octet of a group, 224 to 239",
	      m.mgid.raw[12]);
}

static void grh_has_mgid(struct run *r, const struct seen *s)
{
	const uint8_t *dst = s->net + 16;
	ib_gid mgid = sa_mgid_broadcast(r->w);

	if (data_type(s) != TYPE_IP4 || s->net_len < 20 || !data_is_mcast(s))
		return;
	if (dst[0] >> 4 == 14)
		mgid = sa_mgid_ip4(r->w, dst);
	check_dgid(r, s, &mgid, "the DGID of a multicast");
}

/* --- receivers */

static const uint8_t fresh[4] = { 239, 129, 2, 4 };
#define FRESH "239.129.2.4"

#define CREATES (MCM_COMP_QKEY | MCM_COMP_TCLASS | MCM_COMP_FLOW_LABEL | MCM_COMP_SL)

static void joins_before_it_creates(struct run *r)
{
	ib_gid mgid = sa_mgid_ip4(r->w, fresh);
	struct sa_want want = { .method = MAD_METHOD_SET,
				.attr = SA_ATTR_MCMEMBER_RECORD,
				.gid = &mgid,
				.join_state = MCM_JOIN_FULL };
	const struct seen *s;
	struct sa_mad q;

	if (!hook(r, "join " FRESH))
		return;
	s = expect(r, sa_is, &want, HOOK_TIME);
	if (!s) {
		missing(r, "no FullMember join within 60 s after the hook's join of " FRESH);
		return;
	}
	sa_mad_decode(&q, s->payload, s->payload_len);
	check(r, !(q.sa.comp_mask & CREATES), s,
	      "the first join of the group names parameters (component mask 0x%llx), so it would "
	      "create the group",
	      (unsigned long long)q.sa.comp_mask);
}

static void report_after_join(struct run *r)
{
	static const uint8_t group[4] = { 239, 129, 2, 5 };
	ib_gid mgid = sa_mgid_ip4(r->w, group);
	const struct world_group *g;
	const struct seen *s;

	if (!hook(r, "join 239.129.2.5"))
		return;
	s = expect(r, igmp_reports, group, HOOK_TIME);
	if (!s) {
		missing(r, "no IGMP report within 60 s after the hook's join of 239.129.2.5");
		return;
	}
	g = world_group(r->w, &mgid);
	check(r, g && g->granted && g->granted < s->n, s,
	      "the IGMP report came before the SA granted the join of the IB group");
}

/* --- senders */

/*
 * Group that does not exist yet. The chapter mcast_later, which runs after this chapter, creates
 * the same group (case R66).
 */
static const uint8_t absent[4] = { 239, 7, 0, 4 };

static bool sent_by(struct run *r, uint16_t mlid, const struct seen **ret)
{
	ib_gid mgid = sa_mgid_ip4(r->w, absent);
	ns_t deadline = r->w->now + WORLD_LONGEST;

	*ret = NULL;
	for (bool last = false; r->w->up && !r->w->interrupted; world_pass(r->w, NS_SEC(3))) {
		mark(r);
		if (!hook(r, "send 239.7.0.4"))
			return false;
		*ret = expect(r, ip4_to, absent, HOOK_TIME);
		if (!*ret || (*ret)->h.lrh.dlid == mlid || last)
			break;
		/*
		 * The DUT may wait for its longest back-off before it uses the LID @mlid. So the
		 * first packet after that time decides.
		 */
		last = r->w->now >= deadline;
	}
	if (!*ret) {
		missing(r, "the group is absent; no packet to it came within 60 s after the hook's "
			   "send");
		return false;
	}
	check_be16(r, *ret, (*ret)->raw + IB_LRH_OFF_DLID, mlid, "the DLID");
	check_dgid(r, *ret, &mgid, "the DGID of a multicast");
	return true;
}

static void by_broadcast_lid(struct run *r)
{
	ib_gid bcast = sa_mgid_broadcast(r->w);
	const struct world_group *b = world_group(r->w, &bcast);
	const struct seen *s;

	if (b)
		sent_by(r, b->rec.mlid, &s);
}

static void by_all_systems_lid(struct run *r)
{
	ib_gid mgid = sa_mgid_ip4(r->w, all_systems);
	const struct world_group *g = world_group_make(r->w, &mgid);
	const struct seen *s;

	if (!g)
		return;
	world_group_tell(r->w, &mgid, MAD_TRAP_MC_CREATED);
	sent_by(r, g->rec.mlid, &s);
}

static void senders_do_not_create(struct run *r)
{
	static const uint8_t group[4] = { 239, 7, 0, 6 };
	ib_gid mgid = sa_mgid_ip4(r->w, group);
	struct sa_want want = { .method = MAD_METHOD_SET,
				.attr = SA_ATTR_MCMEMBER_RECORD,
				.gid = &mgid };
	const struct world_group *g;
	const struct seen *s;

	if (!hook(r, "send 239.7.0.6"))
		return;
	s = expect(r, ip4_to, group, HOOK_TIME);
	if (!s) {
		missing(r, "no packet to an absent group within 60 s after the hook's send");
		return;
	}
	g = world_group(r->w, &mgid);
	check(r, !g || !g->exists, seen_since(r, sa_is, &want),
	      "a sender has created the group 239.7.0.6");
}

/*
 * Make the DUT send one packet to a group. The DUT has to leave the group later, because the DUT
 * sends nothing more to the group
 */
static void idle_sender_leaves(struct run *r)
{
	static const uint8_t group[4] = { 239, 7, 0, 8 };
	ib_gid mgid = sa_mgid_ip4(r->w, group);
	const struct world_group *g = world_group_make(r->w, &mgid);
	struct sa_want want = { .method = MAD_METHOD_DELETE,
				.attr = SA_ATTR_MCMEMBER_RECORD,
				.gid = &mgid };
	const struct seen *first, *s;

	if (!g || !hook(r, "send 239.7.0.8"))
		return;
	first = expect(r, ip4_to, group, HOOK_TIME);
	if (!first || !g->dut_state) {
		missing(r, "no join of an existing group within 60 s after the hook's send");
		return;
	}
	s = expect(r, sa_is, &want, NS_SEC(150));
	if (!s)
		missing(r, "a sender has not left its group 150 s after its last packet");
	else
		check(r, s->at - first->at > NS_SEC(110), s,
		      "a sender has left its group %u s after its first packet, expected 120 s "
		      "after the last",
		      (unsigned int)((s->at - first->at) / NS_SEC(1)));
}

static void stays_in_broadcast(struct run *r)
{
	ib_gid bcast = sa_mgid_broadcast(r->w);
	const struct world_group *g = world_group(r->w, &bcast);

	if (g && settle(r))
		check(r, (g->dut_state & MCM_JOIN_FULL) && !g->left, NULL,
		      "the DUT has left the broadcast group, though its link is up");
}

static void leaves_its_own(struct run *r, const struct seen *s)
{
	static const struct sa_want want = { .method = MAD_METHOD_DELETE,
					     .attr = SA_ATTR_MCMEMBER_RECORD };
	const struct world_group *g;
	struct ib_mcmember_rec m;
	struct sa_mad q;

	if (!sa_is(s, &want) || sa_mad_decode(&q, s->payload, s->payload_len) ||
	    ib_mcmember_rec_decode(&m, q.data, q.data_len))
		return;
	g = world_group(r->w, &m.mgid);
	check_octets(r, s, s->payload + SA_DATA_OFF + 16, r->w->dut.gid.raw, 16,
		     "PortGID of a leave");
	check(r, !g || !(m.join_state & ~g->asked & 15), s,
	      "a leave names JoinState 0x%x, and the DUT has asked for 0x%x only", m.join_state,
	      g ? g->asked : 0);
}

static void incompatible_group(struct run *r)
{
	static const uint8_t group[4] = { 239, 7, 0, 9 };
	ib_gid mgid = sa_mgid_ip4(r->w, group), bcast = sa_mgid_broadcast(r->w);
	const struct world_group *b = world_group(r->w, &bcast);
	struct world_group *g = world_group_make(r->w, &mgid);
	const struct seen *s;

	if (!g || !b)
		return;
	g->rec.qkey = 0x80000bad;
	if (!hook(r, "send 239.7.0.9"))
		return;
	s = expect(r, ip4_to, group, HOOK_TIME);
	if (!s)
		missing(r, "a group has another Q_Key; no packet to it came within 60 s");
	else
		check_be32(r, s, s->payload - 8, b->rec.qkey,
			   "the Q_Key of a packet to a group that has another one");
	g->exists = false;
	world_group_tell(r->w, &mgid, MAD_TRAP_MC_DELETED);
}

static const struct conform_case cases[] = {
	{ "M1", "all data is UD", DRAFT "3.0",
	  "The IPv4 on InfiniBand multicast implementations are RECOMMENDED to use the UD service.",
	  "R1", NULL, NULL },
	{ "M8/directed", "directed broadcasts go to the broadcast group, too", DRAFT "3.3",
	  "This mapping applies to any directed broadcast addresses and the limited one.",
	  "R25 R25/directed", NULL, NULL },
	{ "M9", "the MGID of a group is FF1y:: and the 32 bits of its address", DRAFT "3.3",
	  "The mapping is FF1y::<IPv4 multicast address>.", "M3 M7 M8 M10", NULL, all_32_bits },
	{ "M12", "packets have the MLID that the SA returned", DRAFT "4.0",
	  "The LID is determined from the SM; the node keeps track of the groups it has joined.",
	  "R24 R60", NULL, NULL },
	{ "M14", "the DUT joins the broadcast group and takes its parameters", DRAFT "5.0",
	  "Since all members must join the broadcast group the parameters are conveyed.", "R23 R24",
	  NULL, NULL },
	{ "M15", "a group that the DUT creates has the broadcast group's parameters", DRAFT "5.0",
	  "It is RECOMMENDED that the parameters are the same as those of the broadcast group.",
	  "R68", NULL, NULL },
	{ "M17", "the GRH has the MGID of the packet's group", DRAFT "6.0",
	  "The GRH includes the IB multicast group GID.", "U2 R29 R33/dgid", NULL, grh_has_mgid },
	{ "M18", "other groups get the parameters of the broadcast group", DRAFT "6.1",
	  "All nodes join the broadcast group; its parameters are used while creating other "
	  "groups.",
	  "R23 R24 R68", NULL, NULL },
	{ "M19/first", "a receiver tries to join before it creates", DRAFT "6.2",
	  "The host must first try to join the group and only on failure attempt to create it.",
	  "R67", joins_before_it_creates, NULL },
	{ "M19/report", "the DUT joins the IB group before it sends the IGMP report", DRAFT "6.2",
	  "The interface module first creates the IB group and then sends the IGMP message.", "R67",
	  report_after_join, NULL },
	{ "M21", "a sender joins the group", DRAFT "6.3",
	  "The module MUST join the IB multicast group corresponding to the IPv4 address.", "R60",
	  NULL, NULL },
	{ "M22/broadcast",
	  "without the all-systems group, packets have the LID of the broadcast group", DRAFT "6.3",
	  "The corresponding IB GID, but the LID of the limited broadcast address.", "R60 M9 M17",
	  by_broadcast_lid, NULL },
	{ "M22/all-systems", "packets to absent groups have the LID of the all-systems group",
	  DRAFT "6.3",
	  "The corresponding IB GID, but the LID of the all-systems address (224.0.0.1).",
	  "M22/broadcast", by_all_systems_lid, NULL },
	{ "M20", "senders create no groups", DRAFT "6.2",
	  "The creation of IB groups is done by receivers or routers only and not by senders.",
	  "M22/broadcast", senders_do_not_create, NULL },
	{ "M23", "a sender leaves a group after 120 s without a packet", DRAFT "6.4",
	  "It is RECOMMENDED that the duration of the timer be 120 seconds.", "R60",
	  idle_sender_leaves, NULL, .slow = true },
	{ "M28", "packets to a group with another Q_Key keep the Q_Key of the link", DRAFT "7.0",
	  "Implementations must protect against groups with incompatible parameters.",
	  "M22/all-systems", incompatible_group, NULL },
	{ "M24", "the DUT never leaves the broadcast group", DRAFT "6.4",
	  "A host MUST always remain a member of the broadcast group.", "R28 R25",
	  stays_in_broadcast, NULL },
	{ "M25", "a receiver leaves the IB group when it leaves the IPv4 group", DRAFT "6.4",
	  "A receiver MUST leave the IB multicast group when it leaves the IPv4 group.", "R69",
	  NULL, NULL },
	{ "M27", "a leave names only JoinState bits that the DUT has joined with", DRAFT "6.4",
	  "Hosts MUST NOT delete the IB multicast group when they leave the group.", "R69", NULL,
	  leaves_its_own },
};

const struct conform_chapter chapter_v4mc = { "IPv4 groups", cases,
					      sizeof(cases) / sizeof(cases[0]) };

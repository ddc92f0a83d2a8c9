/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"
#include "clauses/profile.h"
#include "world/ip.h"
#include "world/peer.h"
#include "world/sa.h"

/*
 * Cases about IPv6 in draft-kashyap-ipoib-ipv6-over-ib-00: the mapping of groups to MGIDs, and how the DUT handles
 * Router Advertisements.
 */

#define DRAFT "draft-kashyap-ipoib-ipv6-over-ib-00 "

/*
 * MLD reports show when the DUT has joined or left an IP group. The DUT can send the reports only if the group to
 * which they are sent exists.
 */
void v6ib_prepare(struct world *w)
{
	static const uint8_t mld[16] = { 0xff, 2, [15] = 0x16 };
	ib_gid mgid = sa_mgid_ip6(w, mld);

	world_group_make(w, &mgid);
}

/* --- groups */

static void all_hosts(struct run *r)
{
	join_mgid_octets(r, 0, 16, 0xff, "the MGID");
}

static const uint8_t *mgid_of_join(const struct seen *s)
{
	static const struct sa_want want = { .method = MAD_METHOD_SET,
					     .attr = SA_ATTR_MCMEMBER_RECORD };

	return sa_is(s, &want) ? s->payload + SA_DATA_OFF : NULL;
}

static void transient(struct run *r, const struct seen *s)
{
	const uint8_t *mgid = mgid_of_join(s);

	if (mgid)
		check(r, mgid[0] == 0xff && mgid[1] >> 4 == 1, s,
		      "the MGID begins with %02x%02x, expected ff, and flags 1 before the scope",
		      mgid[0], mgid[1]);
}

static void signature(struct run *r, const struct seen *s)
{
	const uint8_t *mgid = mgid_of_join(s);

	if (mgid)
		check_be16(r, s, mgid + 2, 0x3333, "octets 3 and 4 of the MGID");
}

static const struct conform_case map_cases[] = {
	{ "V24", "the DUT joins the all-hosts group FF12:3333::1", DRAFT "6",
	  "All IPv6 hosts join the all-hosts multicast group, IB GID FF12:3333::1.", "R23",
	  all_hosts, NULL },
	{ "V5", "the transient flag is set", DRAFT "4.1", "The transient flag is always set.",
	  "R23", NULL, transient },
	{ "V6", "octets 3 and 4 of MGIDs are 0x3333", DRAFT "4.1",
	  "The 3rd and 4th octet of the IB multicast group MUST always be set to 0x3333.", "R23",
	  NULL, signature },
	{ "V19", "the DUT does not create the all-hosts group", DRAFT "6",
	  "It is a MUST that the subnet administrator sets up the all-hosts IB multicast group.",
	  "R23", NULL, join_never_creates },
	{ "V17/other", "the link does not come up if the all-hosts group has another P_Key",
	  DRAFT "5.1.7", "The P_Key of the group is used; it is configured, and compared.",
	  "R23 V24 V5 V6", join_of_another_pkey, NULL },
};

const struct conform_chapter chapter_v6ib_map = { "IPv6 groups: the map", map_cases,
						  sizeof(map_cases) / sizeof(map_cases[0]) };

/* --- router advertisements */

static void mtu_in_an_advertisement(struct run *r)
{
	struct world_peer *p = world_peer(r->w);
	const struct seen *s;

	if (!answer_of(r, p, 84)) {
		missing(r, "no answer to a ping");
		return;
	}
	peer_advertise(r->w, p, 4096, NULL);
	s = answer_of(r, p, 3000);
	if (!s)
		missing(r, "no answer to pings of 3000 octets after a router advertisement with "
			   "MTU 4096, the group's is 2048");
	else
		check(r, s->net_len <= r->w->ip_mtu, s,
		      "a packet of %zu octets after a router advertisement with MTU 4096, the "
		      "group's is %u",
		      s->net_len, r->w->ip_mtu);
}

#define U_BIT (1ull << 57)

static void advertised_prefix(struct run *r)
{
	static const uint8_t prefix[8] = { 0xfd, 0x0a, 0xc0, 0xf0 };
	uint64_t guid = r->w->dut.node.port_guid;
	bool has = false;

	peer_advertise(r->w, &r->w->peer[0], 0, prefix);
	/*
	 * The second attempt is needed if the DUT first checks that the address is unique
	 * (duplicate address detection).
	 */
	for (unsigned int i = 0; i < 2 && !has; i++)
		has = nd_has_address(r, prefix, guid | U_BIT);
	if (has)
		check(r, true, NULL, "the prefix and the modified EUI-64");
	else if (!(guid & U_BIT) && nd_has_address(r, prefix, guid))
		check(r, false, NULL,
		      "the address ends with the port GUID, whose u bit was not toggled");
	else
		not_applicable(r, "the DUT has made no address of an advertised prefix and its "
				  "port GUID; a host may be configured so");
}

/* --- with the hook */

static bool step_seen(struct run *r, const char *step, const struct ip_group *g)
{
	mark(r);
	if (!hook(r, "%s %s", step, g->text))
		return false;
	if (expect(r, mld_reports, g->ip, HOOK_TIME))
		return true;
	missing(r, "no report of MLD within 60 s after the hook's %s of %s", step, g->text);
	return false;
}

/*
 * Use two IP groups that map to the same MGID, because they differ only in the 16 bits that the
 * mapping leaves out
 */
static void collision(struct run *r)
{
	struct ip_group a = group_of(r->w, NULL, "ff15:1::6:6"),
			b = group_of(r->w, NULL, "ff15:2::6:6");
	struct sa_want leave = { .method = MAD_METHOD_DELETE,
				 .attr = SA_ATTR_MCMEMBER_RECORD,
				 .gid = &a.mgid };

	if (!step_seen(r, "join", &a) || !step_seen(r, "join", &b))
		return;
	if (!check(r, sa_is_full_member_of(r->w, &a.mgid), NULL,
		   "the DUT is not in the IB group of %s and %s", a.text, b.text))
		return;
	if (!step_seen(r, "leave", &a) || !settle(r))
		return;
	if (!check(r, sa_is_full_member_of(r->w, &a.mgid), NULL,
		   "the DUT has left the IB group with %s, though it is still in %s", a.text,
		   b.text))
		return;
	mark(r);
	if (!hook(r, "leave %s", b.text))
		return;
	if (!expect(r, sa_is, &leave, HOOK_TIME))
		missing(r, "the DUT has not left the IB group within 60 s after it left both IP "
			   "groups");
}

static const struct conform_case cases[] = {
	{ "V1", "all data is UD", DRAFT "3",
	  "It is RECOMMENDED that all IPv6 over InfiniBand implementations utilise the UD mode.",
	  "R1", NULL, NULL },
	{ "V2", "the DUT receives packets without a GRH (local) and with a GRH (global)",
	  DRAFT "2.1", "The UD packet may be transmitted in two ways: local and global.",
	  "R34/grh R34/no-grh", NULL, NULL },
	{ "V3", "LID, SL, MTU, P_Key, QPN and Q_Key are known before a packet is sent", DRAFT "2.2",
	  "The implementation must know the following information.",
	  "R50/query R45 R50/lid V14/peer", NULL, NULL },
	{ "V6/collision", "the DUT joins only once for two IPv6 groups with the same MGID",
	  DRAFT "4.1", "FFxy::<112 bits> is mapped to FF1y:3333::<96 bits>.", "V4 V20 R67",
	  collision, NULL },
	{ "V9", "the global address is the advertised prefix and the EUI-64 of the port",
	  DRAFT "4.3",
	  "The IPv6 prefix is prepended to the interface identifier derived from the EUI-64.", "V8",
	  advertised_prefix, NULL },
	{ "V16", "the MTU is that of the group", DRAFT "5.1.6",
	  "The interface MTU is set to the MTU returned when it joins FF12:3333::1.",
	  "R24 R37/sent R37/fragment V16/mtu", NULL, NULL },
	{ "V17", "the group's P_Key is used for all traffic", DRAFT "5.1.7",
	  "The P_Key associated with the all hosts multicast group, for all communication.",
	  "R3 V17/other", NULL, NULL },
	{ "V18", "the DUT ignores an MTU in a router advertisement above the group's", DRAFT "6",
	  "If the MTU is set to be larger than that of the multicast group it MUST be ignored.",
	  "R37/fragment", mtu_in_an_advertisement, NULL },
	{ "V21", "the DUT receives packets with and without a GRH", DRAFT "7",
	  "The GRH header is optional.", "R34/grh R34/no-grh", NULL, NULL },
	{ "V22", "multicasts go to QP 0xFFFFFF", DRAFT "Appendix B",
	  "When multicasting the destination QP is always set to 0xFFFFFF.", "R33", NULL, NULL },
};

const struct conform_chapter chapter_v6ib = { "IPv6", cases, sizeof(cases) / sizeof(cases[0]) };

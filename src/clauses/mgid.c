/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"

#include <string.h>

#include "text/print.h"
#include "world/part.h"
#include "world/peer.h"
#include "world/sa.h"

/*
 * Cases about receivers of multicast packets: the MGID of a group, joining, creating, leaving. RFC
 * 4391 sections 4 and 10.
 */

static void ip4_28_bits(struct run *r, const struct seen *s)
{
	static const uint8_t zeros[6];
	ib_gid bcast = sa_mgid_broadcast(r->w);
	struct ib_mcmember_rec m;
	struct sa_mad q;

	if (!sa_join_decode(s, &q, &m) || be16_at(m.mgid.raw + 2) != 0x401b)
		return;
	/*
	 * A DUT may join the broadcast group of another partition before or beside the group of its
	 * own partition (clause R13), so the P_Key in the MGID is not compared.
	 */
	memcpy(bcast.raw + 4, m.mgid.raw + 4, 2);
	if (ib_gid_equal(&m.mgid, &bcast))
		return;
	check_octets(r, s, s->payload + SA_DATA_OFF + 6, zeros, 6,
		     "the upper bits of the group ID of IPv4");
	check(r, m.mgid.raw[12] <= 0x0f, s, "the group ID of IPv4 has more than 28 bits");
}

#define NAMES(bit) (q.sa.comp_mask & (bit))

static void created_alike(struct run *r, const struct seen *s)
{
	const struct world_group *g;
	struct ib_mcmember_rec m;
	unsigned int hop_limit;
	struct sa_mad q;
	ib_gid bcast;

	/* A Set with a Q_Key can create the group; a Set without a Q_Key can only join it. */
	if (!sa_join_decode(s, &q, &m) || !NAMES(MCM_COMP_QKEY))
		return;
	bcast = sa_mgid_broadcast_in(r->w, part_of_mgid(r->w, &m.mgid));
	g = world_group(r->w, &bcast);
	if (!g || ib_gid_equal(&m.mgid, &bcast))
		return;
	hop_limit = r->w->wire->sidr ? WORLD_SIDR_HOP_LIMIT : g->rec.hop_limit;
	check(r, NAMES(MCM_COMP_PKEY) && m.pkey == g->rec.pkey, s,
	      "P_Key 0x%04x, the broadcast group has 0x%04x", m.pkey, g->rec.pkey);
	check(r, m.qkey == g->rec.qkey || m.qkey == r->w->old_qkey, s,
	      "Q_Key 0x%08x, the broadcast group has 0x%08x", m.qkey, g->rec.qkey);
	check(r, NAMES(MCM_COMP_SL) && m.sl == g->rec.sl, s, "SL %u, the broadcast group has %u",
	      m.sl, g->rec.sl);
	check(r, NAMES(MCM_COMP_HOP_LIMIT) && m.hop_limit == hop_limit, s,
	      "HopLimit %u (component mask 0x%llx), the broadcast group has %u", m.hop_limit,
	      (unsigned long long)q.sa.comp_mask, hop_limit);
	/*
	 * The DUT learns of a new MTU of the broadcast group only when it joins that group again, so
	 * a Set with the old MTU is right, too.
	 */
	check(r,
	      NAMES(MCM_COMP_MTU) &&
		      (m.mtu_code == g->rec.mtu_code || m.mtu_code == r->w->old_mtu_code),
	      s, "MTU code %u (component mask 0x%llx), the broadcast group has %u", m.mtu_code,
	      (unsigned long long)q.sa.comp_mask, g->rec.mtu_code);
}

static struct ip_group fresh(const struct run *r)
{
	return group_of(r->w, "239.129.2.3", "ff15::8102:3");
}

static void receiver(struct run *r)
{
	struct ip_group g = fresh(r);
	struct sa_want want = { .method = MAD_METHOD_SET,
				.attr = SA_ATTR_MCMEMBER_RECORD,
				.gid = &g.mgid,
				.join_state = MCM_JOIN_FULL };
	char text[PRINT_GID_LEN];

	if (!hook(r, "join %s", g.text))
		return;
	if (!expect(r, sa_is, &want, HOOK_TIME)) {
		missing(r, "no FullMember join of %s within 60 s after the hook's join of %s",
			print_gid(text, sizeof(text), &g.mgid), g.text);
		return;
	}
	check(r, world_wait(r->w, sa_is_full_member_of, &g.mgid, NS_SEC(5)), NULL,
	      "the DUT asked to join an absent group, but not so that the group would be created");
}

static void leaves(struct run *r)
{
	struct ip_group g = fresh(r);
	struct sa_want want = { .method = MAD_METHOD_DELETE,
				.attr = SA_ATTR_MCMEMBER_RECORD,
				.gid = &g.mgid,
				.join_state = MCM_JOIN_FULL };

	if (!hook(r, "leave %s", g.text))
		return;
	if (!expect(r, sa_is, &want, HOOK_TIME))
		missing(r, "no Delete(MCMemberRecord) with JoinState FullMember within 60 s after "
			   "the hook's leave");
	else
		check(r, true, NULL, "left");
}

static const struct conform_case cases[] = {
	{ "R11", "the group ID of an IPv4 group has its low 28 bits, and other bits 0",
	  "RFC 4391 §4",
	  "For IPv4, the group ID is placed in the lower 28 bits; the rest is filled with 0.",
	  "R6 R7 R9 R13 R15 R20 R15/limited", NULL, ip4_28_bits },
	{ "R68", "a group that the DUT creates has the parameters of the broadcast group",
	  "RFC 4391 §10", "P_Key, Q_Key, SL, MTU and HopLimit MUST be those of the broadcast-GID.",
	  "R28", NULL, created_alike },
	{ "R67", "a receiver joins its group as FullMember and creates it", "RFC 4391 §10",
	  "A node that joins an IP multicast group attempts a FullMember join; an absent group "
	  "must be created.",
	  "R28 R68 M9 V4 V5 V6", receiver, NULL },
	{ "R69", "a receiver leaves its group as FullMember", "RFC 4391 §10",
	  "When a node leaves an IP multicast group, it SHOULD make a FullMember leave request.",
	  "R67", leaves, NULL },
};

const struct conform_chapter chapter_mgid = { "receivers", cases,
					      sizeof(cases) / sizeof(cases[0]) };

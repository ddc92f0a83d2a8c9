/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"
#include "world/peer.h"
#include "world/sa.h"

/*
 * Cases with a DUT that the SM has made a limited member of the partition. IBTA 10.9; RFC 4391
 * section 4.
 */

#define LIMITED 0x7fff

/* Tell whether the DUT joins the broadcast group, with any P_Key in the MGID */
static bool joins_broadcast(const struct seen *s, const void *bcast)
{
	static const struct sa_want want = { .method = MAD_METHOD_SET,
					     .attr = SA_ATTR_MCMEMBER_RECORD,
					     .join_state = MCM_JOIN_FULL };

	return sa_is(s, &want) &&
	       !memcmp(s->payload + SA_DATA_OFF + 6, (const uint8_t *)bcast + 6, 10);
}

/*
 * Set the P_Key in the DUT's table. From now on the old and the new P_Key are both right, for two
 * reasons:
 * - The DUT may use the new P_Key before it answers the Set.
 * - The answer leaves on VL15, so it may overtake packets with the old P_Key.
 */
static bool set(struct run *r, uint16_t pkey)
{
	r->w->old_pkey = r->w->dut.pkey;
	r->w->dut.pkey = pkey;
	return rereg_set_pkey(r, pkey) && rereg_now(r);
}

/*
 * Make the DUT a limited member of the partition. Return: the DUT's join of the broadcast group;
 * NULL: the DUT did not join, and the case has a verdict
 */
static const struct seen *begin(struct run *r)
{
	ib_gid bcast = sa_mgid_broadcast(r->w);
	const struct seen *s;

	if (!set(r, LIMITED))
		return NULL;
	s = expect(r, joins_broadcast, &bcast, WORLD_LONGEST);
	if (!s)
		not_applicable(r, "with the P_Key 0x7fff the DUT has not joined within 18 s; no "
				  "document says that a limited member has to");
	return s;
}

static bool is_from_full(const struct run *r, const struct seen *s)
{
	return s->h.bth.pkey == WORLD_PKEY;
}

/*
 * Make the DUT a full member again, and wait up to 18 s for an answer with the P_Key 0xffff. Data
 * packets keep their order, so after this answer no packet with 0x7fff can be under way any more.
 * From then on 0x7fff is wrong again. If no answer had 0xffff, make the DUT send one more packet.
 * The case R3 sees all packets, and fails if this packet has 0x7fff, too
 */
static void end(struct run *r)
{
	const struct seen *s;

	if (!set(r, WORLD_PKEY))
		return;
	s = rereg_ping_until(r, is_from_full);
	r->w->old_pkey = WORLD_PKEY;
	if (s && !is_from_full(r, s))
		answer_of(r, &r->w->peer[0], 84);
}

static void full_pkey_in_mgid(struct run *r)
{
	const struct seen *s = begin(r);

	if (s)
		check_be16(r, s, s->payload + SA_DATA_OFF + 4, WORLD_PKEY,
			   "the P_Key in the MGID that a limited member joins");
	end(r);
}

static bool is_from_limited(const struct run *r, const struct seen *s)
{
	return s->h.bth.pkey == LIMITED;
}

static void own_pkey_in_packets(struct run *r)
{
	const struct seen *s = begin(r) ? rereg_ping_until(r, is_from_limited) : NULL;

	if (s)
		check_be16(r, s, s->raw + IB_LRH_LEN + (s->h.has_grh ? IB_GRH_LEN : 0) + 2, LIMITED,
			   "the P_Key of a packet of a limited member");
	end(r);
}

static void not_from_limited(struct run *r)
{
	struct ib_ud_hdr h = peer_headers(r->w, &r->w->peer[0]);

	h.bth.pkey = LIMITED;
	if (begin(r) && rereg_ping_until(r, is_from_limited)) {
		mark(r);
		keys_not_answered(r, &h, "the P_Key of another limited member");
	}
	end(r);
}

static const struct conform_case cases[] = {
	{ "R15/limited", "the MGIDs of a limited member contain the full-membership P_Key",
	  "RFC 4391 §4.1", "A \"Full Membership\" P_Key (high-order bit is set to 1) MUST be used.",
	  "R15 R27", full_pkey_in_mgid, NULL },
	{ "I7/limited", "packets of a limited member have its P_Key, 0x7FFF", "IBTA 10.9.2",
	  "The P_Key of a packet is the entry of the port's table.", "R27 R15/limited",
	  own_pkey_in_packets, NULL },
	{ "R44/both", "limited members do not receive each other's packets", "IBTA 10.9.3",
	  "P_Keys match if 15 bits are equal and one is a full member's.", "I7/limited R44/other",
	  not_from_limited, NULL },
};

const struct conform_chapter chapter_limited = { "limited membership", cases,
						 sizeof(cases) / sizeof(cases[0]) };

/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"
#include "world/peer.h"
#include "world/sa.h"
#include "world/sm.h"

/*
 * Cases in which the broadcast group gets another MTU. RFC 4391 section 7. The new MTU is 4096. An
 * MTU below 2048 is not used, because it could make a DUT lose its IPv6 addresses. Nothing would
 * restore addresses that were configured by hand.
 */

#define MTU IB_MTU_4096

/*
 * Give the broadcast group another MTU, which the DUT learns from its next join. Return: true if
 * the DUT joined
 */
static bool works_with(struct run *r, uint8_t code)
{
	ib_gid bcast = sa_mgid_broadcast(r->w);
	const struct seen *s;

	world_set_mtu(r->w, code);
	if (world_sm_port(r->w, NULL, 0, &s) != 0 || !rereg_now(r))
		return false;
	return world_wait(r->w, sa_is_full_member_of, &bcast, WORLD_LONGEST);
}

/*
 * Wait for an answer that fills the IP MTU, because the DUT may need time to notice the new MTU.
 * Return: this answer, or the last answer if none was long enough
 */
static const struct seen *whole_answer(struct run *r, const struct world_peer *p)
{
	const ns_t deadline = r->w->now + WORLD_LONGEST;
	const struct seen *s;

	do {
		mark(r);
		s = answer_of(r, p, r->w->ip_mtu);
		if (s && s->net_len >= r->w->ip_mtu)
			break;
		world_pass(r->w, NS_MSEC(500));
	} while (s && r->w->now < deadline && r->w->up && !r->w->interrupted);
	return s;
}

static void judge(struct run *r)
{
	const struct world_peer *p = world_peer(r->w);
	const struct seen *s = answer_of(r, p, 84);

	if (!s) {
		not_applicable(r, "the DUT does not answer on a link of MTU 4096, which it MAY "
				  "support");
		return;
	}
	s = whole_answer(r, p);
	if (!s)
		missing(r, "no answer to pings of %u octets on a link of MTU 4096", r->w->ip_mtu);
	else
		check(r, s->net_len >= r->w->ip_mtu, s,
		      "the answer to a ping of %u octets has %zu octets of IP", r->w->ip_mtu,
		      s->net_len);
}

static void larger(struct run *r)
{
	const uint8_t before = r->w->mtu_code;

	if (r->w->dut.port.mtu_cap < MTU) {
		not_applicable(r, "MTUCap is %u: the port cannot do more than 2048",
			       r->w->dut.port.mtu_cap);
		return;
	}
	if (works_with(r, MTU))
		judge(r);
	else
		not_applicable(r, "the DUT does not join a group of MTU 4096, which it MAY "
				  "support");
	if (works_with(r, before))
		rereg_ping_until(r, rereg_any_answer);
}

static const struct conform_case cases[] = {
	{ "R36", "the IP MTU changes when the MTU of the broadcast group becomes 4096",
	  "RFC 4391 §7",
	  "Larger and smaller MTUs MAY be supported; the link's is that of the broadcast group.",
	  "R35 V16/mtu R24/again", larger, NULL },
};

const struct conform_chapter chapter_mtu = { "MTU", cases, sizeof(cases) / sizeof(cases[0]) };

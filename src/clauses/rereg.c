/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"
#include "world/peer.h"
#include "world/sa.h"
#include "world/sm.h"

/* Cases about changes while the link is up: ClientReregister, new parameters of the group, a new LID. */

const struct seen *rereg_now(struct run *r)
{
	const struct seen *s = NULL;

	mark(r);
	if (world_sm_reregister(r->w, &s) < 0)
		missing(r, "no answer to Set(PortInfo) with ClientReregister");
	return s;
}

static bool can_reregister(struct run *r)
{
	if (r->w->dut.port.cap_mask & SMP_CAP_IS_CLIENT_REREG)
		return true;
	not_applicable(r, "IsClientReregistrationSupported is 0 in the CapabilityMask");
	return false;
}

static void echoed(struct run *r)
{
	const struct seen *s = can_reregister(r) ? rereg_now(r) : NULL;

	if (s)
		check(r, sm_attr_data(s)[51] & 0x80, s, "ClientReregister is 0 in the answer");
}

static void joins_again(struct run *r)
{
	ib_gid bcast = sa_mgid_broadcast(r->w);
	struct sa_want want = { .method = MAD_METHOD_SET,
				.attr = SA_ATTR_MCMEMBER_RECORD,
				.gid = &bcast,
				.join_state = MCM_JOIN_FULL };

	if (!rereg_now(r))
		return;
	if (!expect(r, sa_is, &want, WORLD_LONGEST))
		missing(r, "no join of the broadcast group within 18 s after ClientReregister");
	else
		check(r, true, NULL, "joined");
}

static void subscribes_again(struct run *r)
{
	if (!rereg_now(r))
		return;
	if (!world_wait(r->w, sa_has_subscribed, NULL, WORLD_LONGEST))
		missing(r, "no subscription to traps 66 and 67 within 18 s after ClientReregister");
	else
		check(r, true, NULL, "subscribed");
}

const struct seen *rereg_ping_until(struct run *r,
				    bool (*good)(const struct run *r, const struct seen *s))
{
	const struct world_peer *p = &r->w->peer[0];
	struct echo_want want = echo_reply_to(r->w, p, -1);
	ns_t deadline = r->w->now + WORLD_LONGEST;
	const struct seen *s = NULL;

	for (uint16_t seq = 0x100; r->w->now < deadline && r->w->up && !r->w->interrupted; seq++) {
		mark(r);
		want.seq = seq;
		peer_ping(r->w, p, 84, seq);
		s = expect(r, echo_is, &want, NS_SEC(1));
		if (s && good(r, s))
			break;
		world_pass(r->w, NS_MSEC(500));
	}
	if (!s)
		missing(r, "no answer to pings within 18 s");
	return s;
}

static bool has_new_qkey(const struct run *r, const struct seen *s)
{
	return s->h.deth.qkey == WORLD_QKEY_LATER;
}

static void new_qkey(struct run *r)
{
	ib_gid bcast = sa_mgid_broadcast(r->w);
	struct world_group *g = world_group(r->w, &bcast);
	const struct seen *s;

	r->w->old_qkey = WORLD_QKEY;
	for (unsigned int i = 0; i < WORLD_GROUPS; i++)
		r->w->group[i].rec.qkey = WORLD_QKEY_LATER;
	if (!g || !rereg_now(r))
		return;
	s = rereg_ping_until(r, has_new_qkey);
	if (s)
		check_be32(r, s, s->payload - 8, WORLD_QKEY_LATER,
			   "the Q_Key after the group got another one");
	/*
	 * The DUT may send to its other groups with the old Q_Key until it has joined or created
	 * these groups again. Give it time for that, because in the next case only the new Q_Key is
	 * right.
	 */
	world_pass(r->w, NS_SEC(3));
	r->w->old_qkey = WORLD_QKEY_LATER;
}

static void set_other_lid(struct smp_port_info *pi, unsigned int lid)
{
	pi->lid = (uint16_t)lid;
	pi->client_reregister = true;
}

static bool has_new_lid(const struct run *r, const struct seen *s)
{
	return s->h.lrh.slid == r->w->dut.lid;
}

static void new_lid(struct run *r)
{
	const struct seen *s;

	r->w->dut.lid = WORLD_DUT_LID + 1;
	if (world_sm_port(r->w, set_other_lid, r->w->dut.lid, &s) < 0) {
		missing(r, "no answer to Set(PortInfo) with another LID");
		return;
	}
	s = rereg_ping_until(r, has_new_lid);
	if (s)
		check_be16(r, s, s->raw + IB_LRH_OFF_SLID, r->w->dut.lid,
			   "the SLID after the LID was changed");
}

bool rereg_set_pkey(struct run *r, uint16_t pkey)
{
	uint8_t table[SMP_DATA_LEN] = { 0 };
	struct sm_request q = { .method = MAD_METHOD_SET,
				.attr = SMP_ATTR_PKEY_TABLE,
				.data = table };
	const struct seen *s;

	be16_put(table, pkey);
	if (world_sm_ask(r->w, &q, &s) == 0)
		return true;
	missing(r, "the P_Key table cannot be set");
	return false;
}

bool rereg_any_answer(const struct run *r, const struct seen *s)
{
	return true;
}

/*
 * Remove the P_Key of the interface from the table for a while. The interface must not answer while its P_Key is
 * missing. The case gets its verdict when the interface answers a ping that was sent after the P_Key was restored.
 */
static void pkey_removed(struct run *r)
{
	const struct world_peer *p = &r->w->peer[0];
	struct echo_want echo = echo_reply_to(r->w, p, 0x0270);
	struct sm_request q = { .method = MAD_METHOD_GET, .attr = SMP_ATTR_NODE_INFO };
	const uint64_t since = r->w->log.last + 1;
	const struct seen *s;

	if (!rereg_set_pkey(r, 0x8001))
		return;
	for (unsigned int i = 0; i < 3; i++)
		peer_ping(r->w, p, 84, 0x0270);
	world_sm_ask(r->w, &q, &s);
	/*
	 * Wait until the DUT has noticed that the P_Key is missing, because a real SM does not remove a P_Key for an
	 * instant only.
	 */
	world_pass(r->w, NS_SEC(3));
	if (!rereg_set_pkey(r, WORLD_PKEY) || !rereg_ping_until(r, rereg_any_answer))
		return;
	s = world_log_keep(&r->w->kept, world_log_find(&r->w->log, since, echo_is, &echo));
	check(r, !s, s, "a ping was answered, though the port did not have the link's P_Key");
}

static const struct conform_case cases[] = {
	{ "I5/reregister", "the answer to a Set with ClientReregister has this bit set, too",
	  "IBTA 14.2.5.6", "The bit is set in the answer to the Set.", REACHED, echoed, NULL },
	{ "R23/again", "the broadcast group is joined again after ClientReregister",
	  "IBTA 14.4.11; RFC 4391 §5", "It asks the port to join all groups anew.", "I5/reregister",
	  joins_again, NULL },
	{ "R65/again", "subscriptions are made again after ClientReregister",
	  "IBTA 14.4.11; RFC 4391 §10", "It asks the port to subscribe anew.", "R65 I5/reregister",
	  subscribes_again, NULL },
	{ "R24/again", "after ClientReregister the DUT uses the new Q_Key of the broadcast group",
	  "RFC 4391 §5, §9.1.2", "The Q_Key is taken from the response to the join.",
	  "R23/again R52", new_qkey, NULL },
	{ "I16", "a new LID of the port is used at once", "IBTA 14.2.5.6",
	  "The LID is what the SM has set.", "I5/reregister", new_lid, NULL },
	{ "R27", "the DUT answers pings only while its port has the link's P_Key",
	  "RFC 4391 §5, §9.1.2",
	  "The P_Key is configured, and the port must have it assigned by the SM.", "R23/again I16",
	  pkey_removed, NULL },
};

const struct conform_chapter chapter_rereg = { "changes", cases, sizeof(cases) / sizeof(cases[0]) };

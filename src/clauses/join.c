/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"
#include "world/peer.h"
#include "world/sa.h"
#include "world/sm.h"

/* Cases about the broadcast group. RFC 4391 sections 4, 4.1 and 5. */

/* Offsets in MCMemberRecord, IBTA 15.2.5.17 */
#define MCM_MGID 0
#define MCM_PORT_GID 16
#define MCM_SCOPE_STATE 48

static const struct sa_want any_join = { .method = MAD_METHOD_SET,
					 .attr = SA_ATTR_MCMEMBER_RECORD };

static const uint8_t *mcm(const struct seen *s)
{
	return s->payload + SA_DATA_OFF;
}

static uint64_t mask_of(const struct seen *s)
{
	struct sa_mad q;

	return sa_mad_decode(&q, s->payload, s->payload_len) ? 0 : q.sa.comp_mask;
}

/*
 * Return: the first join that the DUT sent in this run. The SA has refused this join, because no
 * broadcast group existed yet
 */
static const struct seen *first_join(struct run *r)
{
	return world_log_keep(&r->w->kept, world_log_find(&r->w->log, 1, sa_is, &any_join));
}

static void full_member(struct run *r)
{
	static const struct {
		uint64_t bit;
		const char *name;
	} need[] = {
		{ MCM_COMP_MGID, "MGID" },
		{ MCM_COMP_PORT_GID, "PortGID" },
		{ MCM_COMP_JOIN_STATE, "JoinState" },
	};
	const struct seen *s = world_expect(r->w, 1, sa_is, &any_join, WORLD_LONGEST);

	if (!s) {
		missing(r, "no Set(MCMemberRecord) within 18 s after the port became Active");
		return;
	}
	check(r, mcm(s)[MCM_SCOPE_STATE] & MCM_JOIN_FULL, s,
	      "JoinState is 0x%x, expected FullMember (1)", mcm(s)[MCM_SCOPE_STATE] & 15);
	for (unsigned int i = 0; i < 3; i++)
		check(r, mask_of(s) & need[i].bit, s, "the component mask 0x%llx does not name %s",
		      (unsigned long long)mask_of(s), need[i].name);
}

static void to_the_sa(struct run *r)
{
	const struct seen *s = first_join(r);

	if (!s)
		return;
	check_be16(r, s, s->raw + IB_LRH_OFF_DLID, WORLD_SM_LID, "DLID");
	check_be16(r, s, s->raw + IB_LRH_OFF_SLID, r->w->dut.lid, "SLID");
	check(r, s->h.deth.src_qp == IB_QP1, s, "the source QP is 0x%x, expected QP1",
	      s->h.deth.src_qp);
	check(r, s->h.deth.qkey == IB_QP1_QKEY, s, "the Q_Key is 0x%x, expected 0x80010000",
	      s->h.deth.qkey);
	check(r, ib_pkey_match(s->h.bth.pkey, WORLD_PKEY), s, "the P_Key is 0x%x", s->h.bth.pkey);
}

static void port_gid(struct run *r)
{
	const struct seen *s = first_join(r);

	if (s)
		check_octets(r, s, mcm(s) + MCM_PORT_GID, r->w->dut.gid.raw, 16, "PortGID");
}

void join_mgid_octets(struct run *r, unsigned int off, unsigned int n, uint8_t mask,
		      const char *what)
{
	const struct seen *s = first_join(r);
	ib_gid want = sa_mgid_broadcast(r->w);
	uint8_t octets[16];

	if (!s)
		return;
	memcpy(octets, mcm(s) + off, n);
	for (unsigned int i = 0; i < n; i++)
		octets[i] = (octets[i] & (uint8_t)~mask) | (want.raw[off + i] & mask);
	check_octets(r, s, mcm(s) + MCM_MGID + off, octets, n, what);
}

static void prefix(struct run *r)
{
	join_mgid_octets(r, 0, 1, 0xff, "octet 0 of the MGID");
}

static void t_flag(struct run *r)
{
	join_mgid_octets(r, 1, 1, 0xf0, "octet 1 of the MGID (flags 1)");
}

static void scope(struct run *r)
{
	join_mgid_octets(r, 1, 1, 0x0f, "octet 1 of the MGID (scope 2)");
}

static void signature(struct run *r)
{
	join_mgid_octets(r, 2, 2, 0xff, "the signature in the MGID");
}

static void pkey_in_mgid(struct run *r)
{
	join_mgid_octets(r, 4, 2, 0x7f, "the P_Key in the MGID");
}

static void pkey_is_full(struct run *r)
{
	join_mgid_octets(r, 4, 1, 0x80, "the P_Key in the MGID (bit of full membership)");
}

static void group_id(struct run *r)
{
	join_mgid_octets(r, 6, 10, 0xff, "the group ID in the MGID");
}

static void after_refusal(struct run *r)
{
	ib_gid bcast = sa_mgid_broadcast(r->w);
	struct world_group *g = world_group_make(r->w, &bcast);

	if (!g)
		return;
	/*
	 * The group exists from now on, but no notice tells the DUT. So the DUT finds the group
	 * when it tries to join again, at the latest after the longest back-off.
	 */
	if (!world_wait(r->w, sa_is_full_member, g, WORLD_LONGEST))
		missing(r, "the join was refused, then the group was made; the DUT did not join it "
			   "within 18 s");
	else
		check(r, true, NULL, "joined");
}

static void nothing_before_join(struct run *r, const struct seen *s)
{
	ib_gid bcast = sa_mgid_broadcast(r->w);
	const struct world_group *g = world_group(r->w, &bcast);

	if (s->kind == SEEN_DATA)
		check(r, g && g->exists, s, "the DUT sent data before there was a broadcast group");
}

static void subscribes(struct run *r)
{
	const struct mad_inform_info *f;

	if (!world_wait(r->w, sa_has_subscribed, NULL, WORLD_LONGEST)) {
		missing(r, "no subscription to trap %u within 18 s after the join",
			world_subscribed(r->w, MAD_TRAP_MC_CREATED) ? 67 : 66);
		return;
	}
	f = &world_subscribed(r->w, MAD_TRAP_MC_CREATED)->info;
	check(r, f->qpn == IB_QP1 || f->qpn == 0, NULL,
	      "the QPN of the subscription is 0x%x, expected 1", f->qpn);
	check(r, ib_gid_is_zero(&f->gid) || ib_gid_is_mcast(&f->gid), NULL,
	      "the subscription names a GID that is no multicast GID");
}

static bool is_data(const struct seen *s, const void *arg)
{
	return s->kind == SEEN_DATA;
}

void join_of_unfit(struct run *r, void (*spoil)(struct world_group *g), const char *why)
{
	ib_gid bcast = sa_mgid_broadcast(r->w);
	struct world_group *g = world_group_make(r->w, &bcast);
	const struct seen *s;

	if (!g)
		return;
	spoil(g);
	if (!world_wait(r->w, sa_is_full_member, g, WORLD_LONGEST)) {
		missing(r, "the DUT did not join the group within 18 s after it was made");
	} else {
		mark(r);
		expect(r, sa_is, &any_join, WORLD_LONGEST);
		s = seen_since(r, is_data, NULL);
		check(r, !s, s, "the DUT sent a packet, though %s", why);
	}
	/*
	 * Delete the unusable group, so that later cases can create a right one, and make the DUT
	 * join again.
	 */
	g->exists = false;
	g->dut_state = 0;
	if (r->w->dut.port.cap_mask & SMP_CAP_IS_CLIENT_REREG)
		world_sm_reregister(r->w, &s);
}

static void another_pkey(struct world_group *g)
{
	g->rec.pkey = 0x8123;
}

void join_of_another_pkey(struct run *r)
{
	join_of_unfit(r, another_pkey, "the P_Key 0x8123 of the group is not its own");
}

void join_never_creates(struct run *r, const struct seen *s)
{
	ib_gid bcast = sa_mgid_broadcast(r->w);
	struct sa_want want = any_join;

	want.gid = &bcast;
	if (sa_is(s, &want))
		check(r, !(mask_of(s) & (MCM_COMP_QKEY | MCM_COMP_TCLASS | MCM_COMP_FLOW_LABEL)), s,
		      "the component mask 0x%llx names what makes a new group",
		      (unsigned long long)mask_of(s));
}

static bool is_report_answer(const struct seen *s, const void *tid)
{
	return s->kind == SEEN_GMP && s->payload_len == MAD_LEN &&
	       mad_class(s->payload) == MAD_CLASS_SA &&
	       mad_method(s->payload) == MAD_METHOD_REPORT_RESP &&
	       mad_tid(s->payload) == *(const uint64_t *)tid;
}

static void report_is_answered(struct run *r)
{
	struct ip_group g = group_of(r->w, "239.255.255.1", "ff15::255:1");
	const struct seen *s;
	uint64_t tid;

	world_group_tell(r->w, &g.mgid, MAD_TRAP_MC_CREATED);
	tid = r->w->tid;
	s = expect(r, is_report_answer, &tid, NS_SEC(5));
	if (!s)
		missing(r, "no ReportResp to a Report of trap 66, which was sent five times");
	else
		check_be16(r, s, s->raw + IB_LRH_OFF_DLID, WORLD_SM_LID,
			   "the DLID of the ReportResp");
}

static const struct conform_case cases[] = {
	{ "R23", "the interface joins the broadcast group as FullMember", "RFC 4391 §5",
	  "Every IPoIB interface MUST \"FullMember\" join the IB multicast group defined by the "
	  "broadcast-GID.",
	  "I5/active P19/ver", full_member, NULL },
	{ "I18", "the DUT sends its join from QP1 to QP1 of the SA", "IBTA 13.5.1, 15.4",
	  "GMPs go from QP1 to QP1 at MasterSMLID, with the Q_Key 0x80010000.", "R23", to_the_sa,
	  NULL },
	{ "R49", "PortGID in the join is the subnet prefix and the port GUID", "RFC 4391 §9.1.1",
	  "It is RECOMMENDED that the GID is formed of the subnet prefix and the port's GUID.",
	  "R23", port_gid, NULL },
	{ "R5", "the MGID of the broadcast group begins with FF", "RFC 4391 §4",
	  "The MGID is FF, flags, scop, signature, P_Key, group ID.", "R23", prefix, NULL },
	{ "R6", "the T flag in the MGID of the broadcast group is 1", "RFC 4391 §4",
	  "The T flag MUST be 1.", "R23", t_flag, NULL },
	{ "R7", "the signature in the MGID of the broadcast group is 0x401B", "RFC 4391 §4",
	  "For IPv4 over IB, the signature MUST be 0x401B.", "R23", signature, NULL },
	{ "R9", "the MGID of the broadcast group contains the link's P_Key", "RFC 4391 §4",
	  "The P_Key of the link is used together with the IP multicast address to form the MGID.",
	  "R23", pkey_in_mgid, NULL },
	{ "R13", "the group ID of the broadcast group is that of 255.255.255.255", "RFC 4391 §4",
	  "The limited broadcast address SHALL be mapped to the broadcast-GID: 48 zero bits and 32 "
	  "ones.",
	  "R23", group_id, NULL },
	{ "R15", "the P_Key in the MGID is the full-membership P_Key", "RFC 4391 §4.1",
	  "A \"Full Membership\" P_Key (high-order bit is set to 1) MUST be used.", "R23",
	  pkey_is_full, NULL },
	{ "R20", "the scope of the broadcast group is link-local", "RFC 4391 §4.1",
	  "The default is RECOMMENDED to be link-local.", "R23", scope, NULL },
};

const struct conform_chapter chapter_join = { "join", cases, sizeof(cases) / sizeof(cases[0]) };

static const struct conform_case link_cases[] = {
	{ "R28", "the DUT repeats the join after the SA has refused it", "RFC 4391 §5",
	  "The group may be created by the administrator, later than the first interface starts.",
	  "R23 R49 R5 R6 R7 R9 R13 R15 R20 M3 M7 M8 M10 M13/pkey V24 V5 V6 V17/other "
	  "P18/join P18/pkey P7/group",
	  after_refusal, NULL },
	{ "R22", "the DUT sends no IPoIB packet before it has joined the broadcast group",
	  "RFC 4391 §5", "The broadcast group MUST be set up for the IPoIB subnet to be formed.",
	  "I4", NULL, nothing_before_join },
	{ "R65", "the interface subscribes to traps 66 and 67", "RFC 4391 §10",
	  "Senders MUST subscribe to the multicast group create and delete traps.", "R28",
	  subscribes, NULL },
	{ "I25", "the DUT answers a Report with a ReportResp", "IBTA 15.4.1.3",
	  "A subscriber answers each Report by a ReportResp.", "R65", report_is_answered, NULL },
};

const struct conform_chapter chapter_link = { "link", link_cases,
					      sizeof(link_cases) / sizeof(link_cases[0]) };

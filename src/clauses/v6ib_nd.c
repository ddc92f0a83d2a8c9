/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"
#include "world/ip.h"
#include "world/peer.h"
#include "world/sa.h"

/*
 * Cases about the link information option of draft-kashyap-ipoib-ipv6-over-ib-00 in Neighbour Discovery, and about
 * packets without an encapsulation header
 */

#define DRAFT "draft-kashyap-ipoib-ipv6-over-ib-00 "

/* Offsets of fields in the link information option */
#define OPT_LID 2
#define OPT_FLAGS 4
#define OPT_QPN 5
#define OPT_QKEY 8
#define OPT_GID 12
#define OPT_LEN 32

static void low_96_bits(struct run *r)
{
	uint8_t group[16];
	ib_gid mgid;

	ip6_solicited_node(group, r->w->dut.ip6);
	mgid = sa_mgid_ip6(r->w, group);
	if (world_wait(r->w, sa_is_full_member_of, &mgid, WORLD_LONGEST))
		check(r, true, NULL, "joined");
	else
		missing(r, "no FullMember join of FF12:3333 and the last 96 bits of the "
			   "solicited-node group of its address within 18 s");
}

static void check_option(struct run *r, const struct seen *s, uint8_t type)
{
	const uint8_t *opt = s->net + ND_OPTION, head[2] = { type, OPT_LEN / 8 };
	uint8_t qpn[4];

	be32_put(qpn, s->h.deth.src_qp);
	if (!check(r, s->net_len >= ND_OPTION + OPT_LEN, s, "no room for an option of 32 octets"))
		return;
	check_octets(r, s, opt, head, 2, "type and Length of the option");
	check_octets(r, s, opt + OPT_QPN, qpn + 1, 3, "the QPN in the option");
	check_octets(r, s, opt + OPT_GID, r->w->dut.gid.raw, 16, "the GID in the option");
	check_octets(r, s, opt + OPT_GID + 16, "\0\0\0", 4, "the padding of the option");
}

static void na_option(struct run *r)
{
	const struct seen *s = nd_advertisement(r);

	if (s)
		check_option(r, s, 2);
}

static void ns_option(struct run *r)
{
	nd_solicits(r, check_option);
}

static void longer_option(uint8_t *p, uint8_t type, const struct world_lladdr *a)
{
	world_wire_v6ib00.put_opt(p, type, a);
	p[1] = 5;
	memset(p + OPT_LEN, 0, 8);
}

static void option_of_40_octets(struct run *r)
{
	struct world_peer *p = world_peer(r->w);

	p->put_opt = longer_option;
	if (answer_of(r, p, 84))
		check(r, true, NULL, "answered");
	else
		missing(r, "no answer to pings of a peer whose option has Length 5");
	p->put_opt = NULL;
}

/*
 * Make the DUT send a Neighbour Advertisement. Return: the octets of its first option, which should
 * be the link information option; NULL: no advertisement came, or it is too short for this option
 */
static const uint8_t *option(struct run *r, const struct seen **ret)
{
	*ret = nd_advertisement(r);
	return *ret && (*ret)->net_len >= ND_OPTION + OPT_LEN ? (*ret)->net + ND_OPTION : NULL;
}

static void own_lid(struct run *r)
{
	const struct seen *s;
	const uint8_t *opt = option(r, &s);

	if (opt)
		check_be16(r, s, opt + OPT_LID, r->w->dut.lid, "the LID in the option");
}

static void own_flags(struct run *r)
{
	const struct seen *s;
	const uint8_t *opt = option(r, &s);

	if (opt)
		check(r, !(opt[OPT_FLAGS] & 7), s,
		      "the capability flags are 0x%02x: the last three bits are for future use",
		      opt[OPT_FLAGS]);
}

static void flags_of_a_peer(struct run *r)
{
	struct world_peer *p = world_peer(r->w);
	const struct seen *s;

	p->addr_flags = 0xf8;
	s = answer_of(r, p, 84);
	if (!s)
		missing(r, "no answer to pings of a peer with all capability flags");
	else
		check(r, s->h.bth.dest_qp == p->qpn, s,
		      "the answer goes to QP 0x%06x, expected 0x%06x, the default QPN",
		      s->h.bth.dest_qp, p->qpn);
	p->addr_flags = 0;
}

static void own_qkey(struct run *r)
{
	const struct world_peer *p = &r->w->peer[0];
	struct echo_want want = echo_reply_to(r->w, p, 0x1401);
	struct ib_ud_hdr h = peer_headers(r->w, p);
	const struct seen *s;
	const uint8_t *opt = option(r, &s);
	uint8_t buf[128];

	if (!opt)
		return;
	h.deth.qkey = be32_at(opt + OPT_QKEY);
	h.bth.dest_qp = be32_at(opt + OPT_QPN - 1) & IB_QPN_MASK;
	mark(r);
	for (unsigned int i = 0; i < 3 && !seen_since(r, echo_is, &want); i++) {
		peer_unicast(r->w, p, &h, buf, peer_echo(buf, r->w, p, 84, 0x1401));
		expect(r, echo_is, &want, NS_SEC(2));
	}
	if (seen_since(r, echo_is, &want))
		check(r, true, NULL, "answered");
	else
		missing(r,
			"no answer to pings with the QPN and the Q_Key 0x%08x of the DUT's option",
			h.deth.qkey);
}

static void qkey_of_a_peer(struct run *r)
{
	struct world_peer *p = world_peer(r->w);
	const struct seen *s;

	p->qkey = 0x1400c0f0;
	s = answer_of(r, p, 84);
	if (!s)
		missing(r, "no answer to pings of a peer whose option has a Q_Key of its own");
	else
		check_be32(r, s, s->payload - 8, p->qkey, "the Q_Key (the peer's option)");
}

static void sl_of_the_group(struct run *r)
{
	const struct seen *s = answer_of(r, world_peer(r->w), 84);

	if (!s)
		missing(r, "no answer to pings");
	else
		check(r, s->h.lrh.sl == WORLD_GROUP_SL, s,
		      "SL is %u, expected %u of the all-hosts group (the PathRecord has %u)",
		      s->h.lrh.sl, WORLD_GROUP_SL, WORLD_PATH_SL);
}

/* --- packets */

static bool is_na_to_all(const struct seen *s, const void *target)
{
	static const uint8_t all_nodes[16] = { 0xff, 2, [15] = 1 };
	struct nd_want want = { .type = ND_NA, .target = target };

	return nd_is(s, &want) && ip6_to(s, all_nodes);
}

/*
 * Make the DUT send an answer to all hosts, by a solicitation without a source address. Judge the
 * DLID and the DGID of the answer. The cases R19 and R24, which see all packets of the run, judge
 * its SL and its other parameters
 */
static void to_all_hosts(struct run *r)
{
	const struct world_peer *p = &r->w->peer[0];
	ib_gid bcast = sa_mgid_broadcast(r->w);
	const struct world_group *g = world_group(r->w, &bcast);
	const struct seen *s = NULL;

	for (unsigned int i = 0; i < 3 && !s; i++) {
		peer_probe(r->w, p, r->w->dut.ip6);
		s = expect(r, is_na_to_all, r->w->dut.ip6, NS_SEC(3));
	}
	if (!s) {
		missing(r, "no Neighbour Advertisement to FF02::1 after a solicitation without a "
			   "source for the DUT's address");
		return;
	}
	check_be16(r, s, s->raw + IB_LRH_OFF_DLID, g ? g->rec.mlid : 0, "the DLID");
	check_dgid(r, s, &bcast, "the DGID of a multicast");
}

static void no_header(struct run *r, const struct seen *s)
{
	if (s->kind == SEEN_DATA)
		check(r, s->payload_len >= IPV6_LEN && s->payload[0] >> 4 == 6, s,
		      "the payload does not begin with an IPv6 header");
}

static void header_is_not_taken_off(struct run *r)
{
	const struct world_peer *p = &r->w->peer[0];
	struct echo_want want = echo_reply_to(r->w, p, 0x2001);
	struct ib_ud_hdr h = peer_headers(r->w, p);
	uint8_t buf[128] = { 0x86, 0xdd };
	const struct seen *s;
	size_t len = peer_echo(buf + 4, r->w, p, 84, 0x2001);

	peer_unicast(r->w, p, &h, buf, len + 4);
	if (!settle(r))
		return;
	s = seen_since(r, echo_is, &want);
	check(r, !s, s, "a ping behind the header of RFC 4391 was answered");
}

/* Tell whether the DUT joins, as FullMember, an MGID that ends with the last 12 octets of a group */
static bool joins_low_bits(const struct seen *s, const void *group)
{
	static const struct sa_want want = { .method = MAD_METHOD_SET,
					     .attr = SA_ATTR_MCMEMBER_RECORD,
					     .join_state = MCM_JOIN_FULL };

	return sa_is(s, &want) &&
	       !memcmp(s->payload + SA_DATA_OFF + 4, (const uint8_t *)group + 4, 12);
}

static void scope_of_the_address(struct run *r)
{
	struct ip_group g = group_of(r->w, NULL, "ff18::4:4");
	const struct seen *s;

	if (!hook(r, "join %s", g.text))
		return;
	s = expect(r, joins_low_bits, g.ip, HOOK_TIME);
	if (!s)
		missing(r, "no FullMember join within 60 s after the hook's join of %s", g.text);
	else
		check_octets(r, s, s->payload + SA_DATA_OFF + 1, g.mgid.raw + 1, 1,
			     "flags and scope of the MGID");
}

static const struct conform_case nd_cases[] = {
	{ "V6/group", "an MGID ends with the last 96 bits of the IPv6 group", DRAFT "4.1",
	  "FFxy::<112 bits> is mapped to FF1y:3333::<96 bits>.", "R28 V5 V6", low_96_bits, NULL },
	{ "V10/na", "the option in a Neighbour Advertisement has the draft's form", DRAFT "5.1",
	  "LID, capability flags, QPN, Q_Key, GID, zero pad, in 32 octets.", "V6/group V20",
	  na_option, NULL },
	{ "V10/ns", "the option in a Neighbour Solicitation has the draft's form", DRAFT "5.1",
	  "LID, capability flags, QPN, Q_Key, GID, zero pad, in 32 octets.", "V10/na", ns_option,
	  NULL },
	{ "V10/received", "the DUT accepts an option of 40 octets, with the padding of 48 bits",
	  DRAFT "5.1", "48 bits: zero pad, so that 40 octets are the next multiple of 8.", "V10/ns",
	  option_of_40_octets, NULL },
	{ "V11", "the LID in the option is the port's", DRAFT "5.1.1",
	  "This is the LID associated with the port.", "V10/na", own_lid, NULL },
	{ "V12", "only defined capability flags are sent", DRAFT "5.1.2",
	  "Only the first 5 bits are defined. The rest are for future use.", "V10/na", own_flags,
	  NULL },
	{ "V13", "a peer with its capability flags set is reached on its default QPN",
	  DRAFT "5.1.2",
	  "The receiver is free to ignore the flag; a host MUST accept packets on the default QPN.",
	  "V10/ns", flags_of_a_peer, NULL },
	{ "V14/own", "the DUT answers packets that have the QPN and Q_Key of its own option",
	  DRAFT "5.1.3",
	  "The default QPN to be used to communicate to the endnode, and the corresponding Q_Key.",
	  "V10/ns", own_qkey, NULL },
	{ "V14/peer", "unicast packets have the Q_Key of the peer's option", DRAFT "5.1.3",
	  "The Q_Key is the corresponding Q_Key the endpoints intend to use.", "V10/ns",
	  qkey_of_a_peer, NULL },
	{ "V14/all", "all packets have the Q_Key of the group or of the peer", DRAFT "5.1.3, 5.1.6",
	  "The Q_Key of the group comes from the join, that of a peer from its option.", "U2", NULL,
	  encap_qkey },
	{ "V15", "unicasts have the SL of the all-hosts group", DRAFT "5.1.5",
	  "This document RECOMMENDS using the SL used with the all-hosts multicast group.",
	  "V10/ns", sl_of_the_group, NULL },
	{ "V20", "packets have no encapsulation header", DRAFT "7",
	  "The packet is determined by the first nibble; there is no additional header.", "U2",
	  NULL, no_header },
	{ "V20/received", "the DUT does not take packets with an encapsulation header for IPv6",
	  DRAFT "7", "The packet is determined by the first nibble.", "V10/ns",
	  header_is_not_taken_off, NULL },
	{ "V24/sent", "packets to all hosts go to FF12:3333::1", DRAFT "6; RFC 4861 7.2.4",
	  "FF12:3333::1 corresponds to the IPv6 all-host multicast address.", "V10/na",
	  to_all_hosts, NULL },
	{ "V16/mtu", "the DUT receives and sends packets of the group's MTU", DRAFT "5.1.6",
	  "The interface MTU is set to the MTU returned when it joins FF12:3333::1.", "V10/ns",
	  encap_full_mtu, NULL },
	{ "V4", "the MGID has the scope of the IPv6 group", DRAFT "4.1",
	  "The scope bits are copied as is.", "R28 V5 V6", scope_of_the_address, NULL },
	{ "V8", "the link-local address is made from the EUI-64 of the port", DRAFT "4.2",
	  "It is RECOMMENDED that it be constructed from the port's EUI-64 as in RFC 2373.",
	  "V10/ns", nd_interface_id, NULL },
};

const struct conform_chapter chapter_v6ib_nd = { "link information", nd_cases,
						 sizeof(nd_cases) / sizeof(nd_cases[0]) };

/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"
#include "clauses/profile.h"
#include "world/ip.h"
#include "world/peer.h"
#include "world/sa.h"

/*
 * Cases about MTU and IPv6 in draft-pelissier-ipoib-encaparp-00, and clauses that are judged by the
 * verdicts of several other cases
 */

#define DRAFT "draft-pelissier-ipoib-encaparp-00 "
#define OPT_LEN 40

/* --- MTU */

static void largest_datagram(struct run *r)
{
	struct world_peer *p = world_peer(r->w);
	struct echo_want want = echo_reply_to(r->w, p, 0x0501);
	struct ib_ud_hdr h = peer_headers(r->w, p);
	uint8_t buf[4096];
	const struct seen *s = NULL;

	if (!answer_of(r, p, 84)) {
		missing(r, "no answer to a ping");
		return;
	}
	for (unsigned int i = 0; i < 3 && !s; i++) {
		peer_unicast(r->w, p, &h, buf, peer_echo(buf, r->w, p, 4092, 0x0501));
		s = expect(r, echo_is, &want, NS_SEC(3));
	}
	if (!s)
		not_applicable(r, "no answer to a datagram of 4092 octets, which is more than the "
				  "default MTU of 2048");
	else
		check(r, s->net_len <= 4092, s, "a datagram of %zu octets", s->net_len);
}

static void path_of_small_mtu(struct run *r)
{
	struct world_peer *p = world_peer(r->w);
	const struct seen *s;

	p->path_mtu = IB_MTU_1024;
	for (unsigned int i = 0; i < 3; i++) {
		peer_ping(r->w, p, 84, (uint16_t)i);
		expect(r, unicast_to, p, NS_SEC(1));
	}
	if (!settle(r))
		return;
	s = seen_since(r, unicast_to, p);
	check(r, !s, s, "a packet went to a peer whose path has an MTU of 1024");
}

/*
 * Advertise @mtu in a Router Advertisement, send an IPv6 ping of 3000 octets, and judge that no
 * packet of the answer is longer than @most octets
 */
static void after_advertisement(struct run *r, uint32_t mtu, unsigned int most)
{
	struct world_peer *p = world_peer(r->w);
	struct echo_want want = { .dst = p->ip6, .seq = 9, .v6 = true };
	const struct seen *s;

	peer_advertise(r->w, p, mtu, NULL);
	s = ping6_for(r, p, 3000, want.seq, echo_is, &want);
	if (!s)
		missing(r,
			"no answer to pings of 3000 octets by IPv6 after a router advertisement "
			"with MTU %u",
			mtu);
	else
		check(r, s->net_len <= most, s,
		      "a packet of %zu octets after a router advertisement with MTU %u, expected "
		      "%u "
		      "at most",
		      s->net_len, mtu, most);
}

static void larger_mtu(struct run *r)
{
	after_advertisement(r, 4000, r->w->ip_mtu);
}

static void smaller_mtu(struct run *r)
{
	after_advertisement(r, 1400, 1400);
	peer_advertise(r->w, &r->w->peer[0], r->w->ip_mtu, NULL);
}

/* --- IPv6 */

#define U_BIT (1ull << 57)

static void complemented(struct run *r)
{
	static const uint8_t prefix[8] = { 0xfe, 0x80 };
	uint64_t guid = r->w->dut.node.port_guid;

	if (nd_has_address(r, prefix, guid ^ U_BIT))
		check(r, true, NULL, "fe80:: and the EUI-64 with the u bit complemented");
	else if (nd_has_address(r, prefix, guid))
		check(r, false, NULL,
		      "the link-local address ends with the port GUID, whose u bit "
		      "was not complemented");
	else
		check(r, false, NULL,
		      "the DUT does not have the address fe80:: and its EUI-64 with the u bit "
		      "complemented");
}

static void check_option(struct run *r, const struct seen *s, uint8_t type)
{
	struct world_lladdr a = { .gid = r->w->dut.gid, .qpn = s->h.deth.src_qp };
	const uint8_t *opt = s->net + ND_OPTION;
	uint8_t want[OPT_LEN];

	if (!check(r, s->net_len >= ND_OPTION + OPT_LEN, s, "no room for an option of 40 octets"))
		return;
	a.qkey = be32_at(opt + 4 + IBARP_QKEY);
	world_wire_encaparp00.put_opt(want, type, &a);
	check_octets(r, s, opt, want, 4, "type, Length and Reserved of the option");
	check_octets(r, s, opt + 4, want + 4, IBARP_ADDR, "EUI-64, QPN and GID in the option");
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

static void single_copy(uint8_t *p, uint8_t type, const struct world_lladdr *a)
{
	world_wire_encaparp00.put_opt(p, type, a);
	memmove(p + 20, p + 24, 16);
	memset(p + 36, 0, 4);
}

static void option_without_copy(struct run *r)
{
	struct world_peer *p = world_peer(r->w);
	struct echo_want want = { .dst = p->ip6, .seq = 3, .v6 = true };
	const struct seen *s;

	p->put_opt = single_copy;
	s = ping6_for(r, p, 84, want.seq, echo_is, &want);
	if (s)
		check(r, s->h.bth.dest_qp == p->qpn, s,
		      "the answer goes to QP 0x%06x, expected 0x%06x", s->h.bth.dest_qp, p->qpn);
	else
		missing(r,
			"no answer to pings of a peer whose option has each word of the GID once");
	p->put_opt = NULL;
}

static const struct conform_case cases[] = {
	{ "P8", "IP packets of 2048 octets arrive if the group's MTU is 4096", DRAFT "3.2",
	  "The default MTU size for IP packets on IBA is 2048 octets.", "P16/request",
	  encap_full_mtu, NULL },
	{ "P8/fragment", "the DUT fragments IP packets that are longer than 2048 octets",
	  DRAFT "3.2", "The default MTU size for IP packets on IBA is 2048 octets.", "P8",
	  encap_fragments, NULL },
	{ "P5", "the DUT accepts an IP datagram of 4092 octets, and sends no longer one", DRAFT "3",
	  "IP Datagram 0-4092B.", "P8", largest_datagram, NULL },
	{ "P7/path", "the DUT does not send on a path with an MTU of 1024", DRAFT "3.2",
	  "The methods are limited to IBA paths that support 2048 byte or 4096 byte MTU.",
	  "P16/request", path_of_small_mtu, NULL },
	{ "P12", "the u bit of the interface identifier is complemented", DRAFT "4",
	  "The U/L bit of the EUI-64 is complemented.", "R10 P4 P16/request", complemented, NULL },
	{ "P13", "the link-local address is fe80::/64 and the interface identifier", DRAFT "4.1",
	  "FE80::/64 and the Interface Identifier.", "P12", NULL, NULL },
	{ "P14/na", "the option in a Neighbour Advertisement has the draft's form", DRAFT "5",
	  "Length 5: Reserved, EUI-64, Reserved8, QPN, QKey, GID.", "R10 P4 P16/request", na_option,
	  NULL },
	{ "P14/ns", "the option in a Neighbour Solicitation has the draft's form", DRAFT "5",
	  "Length 5: Reserved, EUI-64, Reserved8, QPN, QKey, GID.", "R10 P4 P16/request", ns_option,
	  NULL },
	{ "P14/received", "the DUT accepts an option without the repeated word of the GID",
	  DRAFT "5", "GID[127-96] is drawn twice.", "P14/ns", option_without_copy, NULL },
	{ "P10", "a larger MTU in a router advertisement is ignored", DRAFT "3.2",
	  "An MTU larger than 2048 MAY be logged but MUST otherwise be ignored.",
	  "P8/fragment R10 P4", larger_mtu, NULL },
	{ "P9", "a smaller MTU in a router advertisement is used", DRAFT "3.2",
	  "This size may be reduced by a Router Advertisement containing an MTU option.", "P10",
	  smaller_mtu, NULL },
	{ "P1", "all data is UD", DRAFT "2",
	  "IBARP and IP are encapsulated in IBA unreliable datagrams.", "R1", NULL, NULL },
	{ "P18",
	  "SL, DLID, TClass, FlowLabel, HopLmt, DGID, P_Key, Q_Key are those of the SIDR answer",
	  DRAFT "6.2", "These parameters are obtained using the Service ID Resolution Protocol.",
	  "P18/request P18/join P16/request R24 R19 R3 P15/all", NULL, NULL },
	{ "P19", "the DUT uses the values in the private data of the SIDR answer", DRAFT "6.2",
	  "Ver, SL, TClass, DLID, HopLmt, FlowLabel, PKey, QKey, DGID.",
	  "P19/ver P16/request R24 R19", NULL, NULL },
	{ "P24", "IBARP requests have the values of the SIDR answer", DRAFT "6.4",
	  "SL, DLID, TClass, FlowLabel, HopLmt, DGID, PKey, QKey: SIDR; DestQP: multicast.",
	  "P16/request R24 R19 R3 P15/all", NULL, NULL },
};

const struct conform_chapter chapter_encaparp = { "MTU and IPv6", cases,
						  sizeof(cases) / sizeof(cases[0]) };

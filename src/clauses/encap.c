/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"
#include "world/part.h"
#include "world/peer.h"
#include "world/sa.h"

/* Cases about the headers before the IP packet: encapsulation, GRH, keys. RFC 4391 sections 6, 7 and 9.1. */

static void ud_only(struct run *r, const struct seen *s)
{
	if (s->kind == SEEN_DATA)
		check(r, s->h.bth.opcode == IB_OP_UD_SEND_ONLY, s,
		      "the opcode is 0x%02x, expected UD SEND-only", s->h.bth.opcode);
}

static void header(struct run *r, const struct seen *s)
{
	if (s->kind != SEEN_DATA)
		return;
	if (!check(r, s->payload_len >= 4, s,
		   "the payload of %zu octets has no encapsulation header", s->payload_len))
		return;
	if (data_has_known_type(s))
		check(r, data_fits_type(s), s,
		      "what follows the header is not what its type 0x%04x says", data_type(s));
	else
		check(r, !(be16_at(s->payload + 2) == 0x0800 || be16_at(s->payload + 2) == 0x0806),
		      s, "Type and Reserved are exchanged");
}

static void reserved(struct run *r, const struct seen *s)
{
	if (data_type(s) >= 0)
		check_be16(r, s, s->payload + 2, 0, "Reserved of the encapsulation header");
}

static void types(struct run *r, const struct seen *s)
{
	if (data_type(s) >= 0)
		check(r, data_has_known_type(s), s,
		      "the type is 0x%04x, expected 0x0800, 0x0806, 0x8035 or 0x86dd",
		      data_type(s));
}

static void mcast_grh(struct run *r, const struct seen *s)
{
	if (s->kind == SEEN_MALFORMED ||
	    !(s->h.lrh.dlid >= IB_LID_MCAST_MIN && s->h.lrh.dlid <= IB_LID_MCAST_MAX))
		return;
	if (check(r, s->h.has_grh, s, "a multicast packet without a GRH"))
		check(r, ib_gid_is_mcast(&s->h.grh.dgid) && data_is_mcast(s), s,
		      "a packet to a multicast LID whose DGID or DestQP is not multicast");
}

/*
 * Tell whether a sender may use @gid for a group that maps to @mgid. If the group @mgid does not
 * exist, a sender may fall back to two other groups (clause R61): the all-routers group @routers
 * and the broadcast group @bcast.
 */
static bool fits_group(const ib_gid *gid, const ib_gid *mgid, const ib_gid *routers,
		       const ib_gid *bcast)
{
	return ib_gid_equal(gid, mgid) || ib_gid_equal(gid, routers) || ib_gid_equal(gid, bcast);
}

static void mcast_dgid(struct run *r, const struct seen *s)
{
	static const uint8_t routers4[4] = { 224, 0, 0, 2 }, routers6[16] = { 0xff, 2, [15] = 2 };
	const uint16_t pkey = part_of_packet(r->w, s);
	const ib_gid bcast = sa_mgid_broadcast_in(r->w, pkey);
	ib_gid mgid = bcast, routers = bcast;
	const uint8_t *ip = s->net;

	if (data_type(s) < 0 || !data_is_mcast(s) || !s->h.has_grh)
		return;
	if (data_type(s) == TYPE_IP4 && s->net_len >= 20 && ip[16] >> 4 == 14 &&
	    r->w->wire->mgid_ip4) {
		mgid = sa_mgid_ip4_in(r->w, pkey, ip + 16);
		routers = sa_mgid_ip4_in(r->w, pkey, routers4);
	} else if (data_type(s) == TYPE_IP6 && s->net_len >= 40 && ip[24] == 0xff) {
		mgid = sa_mgid_ip6_in(r->w, pkey, ip + 24);
		routers = sa_mgid_ip6_in(r->w, pkey, routers6);
	}
	if (!fits_group(&s->h.grh.dgid, &mgid, &routers, &bcast))
		check_dgid(r, s, &mgid, "the DGID of a multicast");
	else
		check(r, true, s, "right");
}

static const struct world_group *broadcast(struct run *r)
{
	ib_gid bcast = sa_mgid_broadcast(r->w);

	return world_group(r->w, &bcast);
}

static bool to_broadcast(struct run *r, const struct seen *s)
{
	ib_gid bcast = sa_mgid_broadcast(r->w);

	return s->kind == SEEN_DATA && s->h.has_grh && ib_gid_equal(&s->h.grh.dgid, &bcast);
}

void encap_qkey(struct run *r, const struct seen *s)
{
	const ib_gid bcast = sa_mgid_broadcast_in(
		r->w, s->kind == SEEN_DATA ? part_of_packet(r->w, s) : WORLD_PKEY);
	const struct world_group *g = world_group(r->w, &bcast);
	const struct world_peer *p = s->kind == SEEN_DATA && !data_is_mcast(s)
					     ? world_peer_by_lid(r->w, s->h.lrh.dlid)
					     : NULL;
	uint32_t want;

	if (s->kind != SEEN_DATA || !g)
		return;
	want = p ? peer_qkey(r->w, p) : g->rec.qkey;
	if (s->h.deth.qkey == r->w->old_qkey && part_of_packet(r->w, s) == WORLD_PKEY)
		want = r->w->old_qkey;
	check_be32(r, s, s->payload - 8, want, "the Q_Key");
}

/*
 * The group's parameters differ from every default, so a DUT that uses them has learnt them from the answer to its
 * join
 */
static void group_parameters(struct run *r, const struct seen *s)
{
	const struct world_group *g = broadcast(r);
	struct sidr_group v;

	if (!g || !to_broadcast(r, s))
		return;
	v = sidr_group_of(&g->rec);
	check_be16(r, s, s->raw + IB_LRH_OFF_DLID, g->rec.mlid,
		   "the DLID of a packet to the broadcast group");
	if (r->w->wire->sidr)
		v = world_sidr_group(r->w);
	check_be32(r, s, s->raw + 8, 6u << 28 | (uint32_t)v.tclass << 20 | v.flow_label,
		   "IPVer, TClass and FlowLabel of the GRH");
	check(r, s->h.grh.hop_limit == v.hop_limit, s, "HopLmt is %u, expected %u of the group",
	      s->h.grh.hop_limit, v.hop_limit);
}

static void group_sl(struct run *r, const struct seen *s)
{
	if (broadcast(r) && to_broadcast(r, s))
		check(r, s->h.lrh.sl == WORLD_GROUP_SL, s,
		      "SL is %u, expected %u as in the group's record", s->h.lrh.sl,
		      WORLD_GROUP_SL);
}

static void scope(struct run *r, const struct seen *s)
{
	if (s->kind == SEEN_DATA && s->h.has_grh && ib_gid_is_mcast(&s->h.grh.dgid))
		check(r, (s->h.grh.dgid.raw[1] & 15) == r->w->map.scope, s,
		      "the MGID has scope %u, the broadcast group has scope %u",
		      s->h.grh.dgid.raw[1] & 15, r->w->map.scope);
}

static void pkey(struct run *r, const struct seen *s)
{
	if (s->kind == SEEN_DATA)
		check(r,
		      s->h.bth.pkey == WORLD_PKEY || s->h.bth.pkey == r->w->dut.pkey ||
			      s->h.bth.pkey == r->w->old_pkey ||
			      s->h.bth.pkey == part_of_packet(r->w, s),
		      s, "the P_Key is 0x%04x, expected 0x%04x", s->h.bth.pkey, WORLD_PKEY);
}

/* A packet with the old MTU may still be under way when the group gets another MTU, so payloads of either MTU pass. */
static void mtu(struct run *r, const struct seen *s)
{
	const size_t old = 128u << r->w->old_mtu_code;

	if (s->kind == SEEN_DATA)
		check(r, s->payload_len <= r->w->mtu || s->payload_len <= old, s,
		      "a payload of %zu octets, the group's MTU is %u", s->payload_len, r->w->mtu);
}

void encap_reserved_received(struct run *r)
{
	struct world_peer *p = world_peer(r->w);

	p->reserved = 0xbeef;
	if (answer_of(r, p, 84))
		check(r, true, NULL, "answered");
	else
		missing(r, "no answer to pings with Reserved 0xbeef");
	p->reserved = 0;
}

/*
 * Ping the DUT with @ip_len octets from a peer that the DUT has not seen. The pings have a GRH if
 * @grh is true. Judge the length of the answer
 */
static void ping(struct run *r, bool grh, size_t ip_len, const char *what)
{
	struct world_peer *p = world_peer(r->w);
	const unsigned int mtu = r->w->ip_mtu;
	const struct seen *s;

	p->no_grh = !grh;
	s = answer_of(r, p, ip_len);
	if (!s && ip_len > mtu)
		not_applicable(r,
			       "no answer to pings %s; it may be that the DUT does not reassemble",
			       what);
	else if (!s)
		missing(r, "no answer to pings %s", what);
	else if (ip_len <= mtu)
		check(r, s->net_len >= ip_len, s, "the answer has %zu octets of IP, expected %zu",
		      s->net_len, ip_len);
	else /* The first fragment is as long as the MTU allows, in units of 8 octets. */
		check(r, s->net_len <= mtu && s->net_len > mtu - 8, s,
		      "the first fragment has %zu octets, expected %u", s->net_len, mtu);
	p->no_grh = false;
}

static void with_grh(struct run *r)
{
	ping(r, true, 84, "with a GRH");
}

static void without_grh(struct run *r)
{
	ping(r, false, 84, "without a GRH");
}

void encap_full_mtu(struct run *r)
{
	ping(r, true, r->w->ip_mtu, "of the whole IP MTU");
}

void encap_fragments(struct run *r)
{
	ping(r, true, 5000, "of 5000 octets, in fragments");
}

static const struct conform_case cases[] = {
	{ "R1", "all packets on other VLs than VL15 are UD SEND-only", "RFC 4391 §2",
	  "IPoIB MUST be supported over IB's unreliable datagram.", "U2", NULL, ud_only },
	{ "R29", "the payload begins with a Type, a reserved field and a packet of this type",
	  "RFC 4391 §6", "All IP and ARP datagrams have a 4-octet header: Type, Reserved.", "U2",
	  NULL, header },
	{ "R30/sent", "the reserved field of the encapsulation header is sent as 0", "RFC 4391 §6",
	  "The Reserved field MUST be set to zero on send.", "R29", NULL, reserved },
	{ "R31", "the ethertype in the encapsulation header is one of the four of RFC 4391",
	  "RFC 4391 §6", "The type SHALL be 0x0800, 0x0806, 0x8035 or 0x86DD.", "R29", NULL,
	  types },
	{ "R33", "multicast packets have a GRH", "RFC 4391 §6",
	  "A GRH is needed for multicast packets.", "U2", NULL, mcast_grh },
	{ "R33/dgid", "the DGID of a multicast packet is the MGID of its group",
	  "RFC 4391 §4, §6, §10",
	  "An IP multicast address maps to one MGID; ARP is sent to the broadcast-GID.",
	  "U2 R29 R31 V20 P2 P4", NULL, mcast_dgid },
	{ "R52", "all packets have the broadcast group's Q_Key", "RFC 4391 §9.1.2",
	  "The Q_Key of the broadcast group MUST be used for all traffic of the link.", "U2", NULL,
	  encap_qkey },
	{ "R24", "packets to a group have the parameters that the SA returned for the join",
	  "RFC 4391 §5",
	  "The MTU, Q_Key and other parameters are taken from the response to the join.", "U2",
	  NULL, group_parameters },
	{ "R19", "multicast packets have the SL of the broadcast group", "RFC 4391 §4.1",
	  "The SL of the group is used for multicast on the link.", "U2", NULL, group_sl },
	{ "R14", "all MGIDs have the broadcast group's scope", "RFC 4391 §4",
	  "All MGIDs MUST use the same scop bits as the broadcast-GID.", "U2", NULL, scope },
	{ "R3", "all packets have the link's P_Key", "RFC 4391 §3, §9.1.2",
	  "The nodes of a link share P_Key, Q_Key and MTU of the broadcast group.", "U2", NULL,
	  pkey },
	{ "R37/sent", "no packet is longer than the group's MTU", "RFC 4391 §7",
	  "The IP MTU is the IB MTU of the group less 4.", "U2", NULL, mtu },
	{ "R34/grh", "the DUT accepts packets with a GRH", "RFC 4391 §6",
	  "Implementations MUST handle packets with and without GRH.", REACHED, with_grh, NULL },
	{ "R34/no-grh", "the DUT accepts packets without a GRH", "RFC 4391 §6",
	  "Implementations MUST handle packets with and without GRH.", REACHED, without_grh, NULL },
	{ "R30/received", "the DUT ignores Reserved in received packets", "RFC 4391 §6",
	  "The Reserved field MUST be ignored on receive.", REACHED, encap_reserved_received,
	  NULL },
	{ "R35", "the DUT receives and sends IP packets of 2044 octets", "RFC 4391 §7",
	  "An IP MTU of 2044 MUST be supported.", "R34/grh", encap_full_mtu, NULL },
	{ "R37/fragment", "the DUT fragments IP packets that are longer than the IP MTU",
	  "RFC 4391 §7", "The IP MTU is the IB MTU of the group less 4.", "R35 V16/mtu",
	  encap_fragments, NULL },
};

const struct conform_chapter chapter_encap = { "encapsulation", cases,
					       sizeof(cases) / sizeof(cases[0]) };

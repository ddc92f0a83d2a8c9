/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"
#include "clauses/profile.h"
#include "world/ip.h"
#include "world/peer.h"
#include "world/sa.h"

/*
 * Cases about IBARP, and about the headers before the IP packet, in
 * draft-pelissier-ipoib-encaparp-00
 */

#define DRAFT "draft-pelissier-ipoib-encaparp-00 "

/* --- encapsulation */

static void header(struct run *r, const struct seen *s)
{
	if (s->kind != SEEN_DATA)
		return;
	if (!check(r, s->payload_len >= 12, s, "a payload of %zu octets", s->payload_len))
		return;
	switch (be16_at(s->payload + 2)) {
	case TYPE_IP4:
		check(r, s->payload[4] >> 4 == 4 || be16_at(s->payload + 4) == 32, s,
		      "behind the ethertype 0x0800 is neither IPv4 nor IBARP");
		break;
	case TYPE_IP6:
		check(r, s->payload[4] >> 4 == 6, s, "behind the ethertype 0x86dd is no IPv6");
		break;
	default:
		check(r, be16_at(s->payload) != TYPE_IP4 && be16_at(s->payload) != TYPE_IP6, s,
		      "Ethertype and Reserved are exchanged");
	}
}

static void reserved(struct run *r, const struct seen *s)
{
	if (s->kind == SEEN_DATA && s->payload_len >= 4)
		check_be16(r, s, s->payload, 0, "the Reserved field");
}

static void ethertype(struct run *r, const struct seen *s)
{
	if (s->kind == SEEN_DATA && s->payload_len >= 4 && data_type(s) != TYPE_ARP)
		check(r, data_type(s) == TYPE_IP4 || data_type(s) == TYPE_IP6, s,
		      "the ethertype is 0x%04x, expected 0x0800, or 0x86dd for IPv6",
		      be16_at(s->payload + 2));
}

static void ethertype_of_ibarp(struct run *r, const struct seen *s)
{
	if (s->type == TYPE_ARP)
		check_be16(r, s, s->payload + 2, TYPE_IP4, "the ethertype of IBARP");
}

static void length_of_ibarp(struct run *r, const struct seen *s)
{
	if (s->type == TYPE_ARP)
		check(r, s->payload_len == 92, s,
		      "IBARP has %zu octets with the encapsulation, expected 92", s->payload_len);
}

static void fixed_fields(struct run *r, const struct seen *s)
{
	static const uint8_t head[6] = { 0, 32, 8, 0, 32, 4 };

	if (s->type != TYPE_ARP || s->net_len < 8)
		return;
	check_octets(r, s, s->net, head, sizeof(head), "hardware type, protocol and lengths");
	check(r, be16_at(s->net + 6) == 1 || be16_at(s->net + 6) == 2, s,
	      "the operation is %u, expected 1 or 2", be16_at(s->net + 6));
}

/* --- addresses */

static void check_address(struct run *r, const struct seen *s, const uint8_t *at, const char *who)
{
	struct world_lladdr a = { .gid = r->w->dut.gid,
				  .qpn = s->h.deth.src_qp,
				  .qkey = be32_at(at + IBARP_QKEY) };
	uint8_t opt[40];

	world_wire_encaparp00.put_opt(opt, 1, &a);
	check_octets(r, s, at, opt + 4, IBARP_ADDR, who);
}

/*
 * Tell whether a packet is an IBARP reply to a peer. In an IBARP reply, the sender fields hold the
 * addresses of the peer that sent the request.
 */
static bool reply_to(const struct seen *s, const void *peer)
{
	static const struct arp_want want = { .op = 2 };

	return arp_is(s, &want) &&
	       !memcmp(s->net + IBARP_SPA, ((const struct world_peer *)peer)->ip4, 4);
}

static const struct seen *reply_for(struct run *r, const struct world_peer *p)
{
	const struct seen *s = NULL;

	for (unsigned int i = 0; i < 6 && !s; i++) {
		peer_arp_request(r->w, p);
		s = expect(r, reply_to, p, NS_SEC(3));
	}
	if (!s)
		missing(r, "no IBARP reply for %u.%u.%u.%u, asked six times in 18 s",
			r->w->dut.ip4[0], r->w->dut.ip4[1], r->w->dut.ip4[2], r->w->dut.ip4[3]);
	return s;
}

static void reply_is_unicast(struct run *r)
{
	const struct seen *s = reply_for(r, world_peer(r->w));

	if (s)
		check(r, !data_is_mcast(s), s, "the IBARP reply is a multicast");
}

static void reply_is_filled_in(struct run *r)
{
	const struct world_peer *p = world_peer(r->w);
	const struct seen *s = reply_for(r, p);
	uint8_t req[IBARP_OCTETS];

	if (!s)
		return;
	peer_arp_message(req, r->w, p);
	check_octets(r, s, s->net + IBARP_SENDER, req + IBARP_SENDER, IBARP_ADDR,
		     "the sender's EUI-64, QPN, QKey and GID (copied from the request)");
	check_octets(r, s, s->net + IBARP_SPA, p->ip4, 4, "the sender's IP address");
	check_address(r, s, s->net + IBARP_TARGET, "the target's EUI-64, QPN and GID");
	check_octets(r, s, s->net + IBARP_TPA, r->w->dut.ip4, 4, "the target's IP address");
}

static void reply_by_the_senders_values(struct run *r)
{
	struct world_peer *p = world_peer(r->w);
	struct sa_want path = { .attr = SA_ATTR_PATH_RECORD, .gid = &p->gid };
	const struct seen *s, *q;

	p->qkey = 0x1500c0f0;
	p->path_lid = p->lid + 1;
	s = reply_for(r, p);
	if (!s)
		return;
	q = seen_since(r, sa_is, &path);
	check(r, q && q->n < s->n, s,
	      "the IBARP reply came before a query for the PathRecord of SenderGID");
	check_be16(r, s, s->raw + IB_LRH_OFF_DLID, p->path_lid, "the DLID (of the PathRecord)");
	check(r, s->h.lrh.sl == WORLD_PATH_SL, s, "SL is %u, expected %u of the PathRecord",
	      s->h.lrh.sl, WORLD_PATH_SL);
	check(r, s->h.bth.dest_qp == p->qpn, s, "the reply goes to QP 0x%06x, expected 0x%06x",
	      s->h.bth.dest_qp, p->qpn);
	check_be32(r, s, s->payload - 8, p->qkey, "the Q_Key (SenderQKey)");
	check(r, s->h.bth.pkey == WORLD_PKEY, s, "the P_Key is 0x%04x, expected that of the link",
	      s->h.bth.pkey);
}

static void request_is_multicast(struct run *r)
{
	struct world_peer *p = world_peer(r->w);
	const struct seen *s = arp_request_for(r, p, "IBARP");
	struct echo_want want = echo_reply_to(r->w, p, -1);
	ib_gid bcast = sa_mgid_broadcast(r->w);

	if (!s)
		return;
	check(r, data_is_mcast(s), s, "DestQP of the IBARP request is 0x%06x, expected 0xffffff",
	      s->h.bth.dest_qp);
	check_dgid(r, s, &bcast, "the DGID of the IBARP request");
	if (!expect(r, echo_is, &want, NS_SEC(5)))
		missing(r, "the IBARP request was answered, but the ping was not");
}

static void request_has_own_values(struct run *r)
{
	const struct seen *s = arp_request_for(r, world_peer(r->w), "IBARP");

	if (!s)
		return;
	check_address(r, s, s->net + IBARP_SENDER, "the sender's EUI-64, QPN and GID");
	check_octets(r, s, s->net + IBARP_SPA, r->w->dut.ip4, 4, "the sender's IP address");
}

static void peers_qkey(struct run *r)
{
	struct world_peer *p = world_peer(r->w);
	const struct seen *s;

	p->qkey = 0x1600c0f0;
	s = answer_of(r, p, 84);
	if (!s)
		missing(r, "no answer to pings of a peer with a Q_Key of its own");
	else
		check_be32(r, s, s->payload - 8, p->qkey, "the Q_Key (TargetQKey of its reply)");
}

static void own_qkey(struct run *r)
{
	const struct world_peer *p = &r->w->peer[0];
	const struct seen *s = reply_for(r, p);
	struct echo_want want = echo_reply_to(r->w, p, 0x1501);
	struct ib_ud_hdr h = peer_headers(r->w, p);
	uint8_t buf[128];

	if (!s)
		return;
	h.deth.qkey = be32_at(s->net + IBARP_TARGET + IBARP_QKEY);
	h.bth.dest_qp = be32_at(s->net + IBARP_TARGET + IBARP_QPN) & IB_QPN_MASK;
	for (unsigned int i = 0; i < 3 && !seen_since(r, echo_is, &want); i++) {
		peer_unicast(r->w, p, &h, buf, peer_echo(buf, r->w, p, 84, 0x1501));
		expect(r, echo_is, &want, NS_SEC(2));
	}
	if (seen_since(r, echo_is, &want))
		check(r, true, NULL, "answered");
	else
		missing(r, "no answer to pings with TargetQPN and TargetQKey of the DUT's reply");
}

/* --- other formats of messages that the DUT has to accept */

/*
 * Write an IBARP request in the shorter format. The draft draws the first 4 octets of each GID
 * twice, and the shorter format has these octets only once
 */
static size_t single(uint8_t *p, const struct world *w, const struct world_peer *peer)
{
	uint8_t both[IBARP_OCTETS];

	peer_arp_message(both, w, peer);
	memcpy(p, both, IBARP_SENDER + 16);
	memcpy(p + IBARP_SENDER + 16, both + IBARP_SENDER + 20, 20);
	memcpy(p + IBARP_SPA, both + IBARP_TARGET, 16);
	memcpy(p + IBARP_SPA + 16, both + IBARP_TARGET + 20, 20);
	return IBARP_OCTETS - 8;
}

static void request_without_copies(struct run *r)
{
	const struct world_peer *p = world_peer(r->w);
	uint8_t arp[IBARP_OCTETS];
	size_t len = single(arp, r->w, p);
	const struct seen *s = NULL;

	for (unsigned int i = 0; i < 3 && !s; i++) {
		peer_broadcast(r->w, p, TYPE_ARP, arp, len);
		s = expect(r, reply_to, p, NS_SEC(3));
	}
	if (s)
		check(r, true, s, "answered");
	else
		missing(r, "no answer to IBARP requests of 84 octets, which have each word of the "
			   "GID once");
}

static void request_of_type_arp(struct run *r)
{
	const struct world_peer *p = &r->w->peer[0];
	uint8_t arp[IBARP_OCTETS];
	const struct seen *s = NULL;

	peer_arp_message(arp, r->w, p);
	for (unsigned int i = 0; i < 3 && !s; i++) {
		peer_broadcast_as(r->w, p, TYPE_ARP, arp, sizeof(arp));
		s = expect(r, reply_to, p, NS_SEC(3));
	}
	if (s)
		check(r, true, s, "answered");
	else
		missing(r, "no answer to IBARP requests of the ethertype 0x0806");
}

static void other_hardware(struct run *r)
{
	const struct world_peer *p = &r->w->peer[0];
	uint8_t arp[IBARP_OCTETS];

	peer_arp_message(arp, r->w, p);
	be16_put(arp, 1);
	peer_broadcast(r->w, p, TYPE_ARP, arp, sizeof(arp));
	if (settle(r))
		check(r, !seen_since(r, reply_to, p), seen_since(r, reply_to, p),
		      "an IBARP request of hardware type 1 was answered");
}

static const struct conform_case cases[] = {
	{ "P2", "the payload is Reserved, Ethertype, IP datagram", DRAFT "3",
	  "IP datagrams SHALL be encapsulated so: Reserved 2B, Ethertype 2B, IP datagram.", "U2",
	  NULL, header },
	{ "P3", "Reserved is 0", DRAFT "3", "The Reserved field shall be set to 0x0000.", "P2",
	  NULL, reserved },
	{ "P4", "the ethertype is 0x0800, or 0x86DD for IPv6", DRAFT "3, 6.4",
	  "Ethertype SHALL be set to 0x0800.", "P2", NULL, ethertype },
	{ "P22", "the ethertype of IBARP is 0x0800", DRAFT "6.4", "0x0800 for IPv4.", "P2", NULL,
	  ethertype_of_ibarp },
	{ "P20", "IBARP has 92 octets", DRAFT "6.3",
	  "IBA Payload / IBARP contents (92 bytes), as drawn.", "P2", NULL, length_of_ibarp },
	{ "P23", "IBARP has the hardware type, protocol and lengths of the draft", DRAFT "6.4",
	  "Protocol type 0x0800, HLEN 32, PLEN 4, operation 1 or 2.", "P2", NULL, fixed_fields },
	{ "P16/reply", "IBARP replies are unicast", DRAFT "6.1",
	  "The IBARP response is sent unicast to the sender.", "R28 U2 P2 P20 P22 P23",
	  reply_is_unicast, NULL },
	{ "P27", "in an IBARP reply Target is the DUT, and Sender is copied from the request",
	  DRAFT "6.4", "Sender*: copied from request. Target*: the target's own values.",
	  "P16/reply", reply_is_filled_in, NULL },
	{ "P25", "an IBARP reply goes to the QPN in the request, by the path from the SA",
	  DRAFT "6.4",
	  "DestQP: SenderQPN; QKey: SenderQKey; SL and DLID from the PathRecord of SenderGID.",
	  "P16/reply", reply_by_the_senders_values, NULL },
	{ "P16/request", "IBARP requests are multicast", DRAFT "6.1",
	  "The device multicasts an IBARP request to all of the devices on the IP subnet.",
	  "P16/reply", request_is_multicast, NULL },
	{ "P26", "IBARP requests have the DUT's own values in the Sender fields", DRAFT "6.4",
	  "SenderEUI-64, QPN, QKey, GID, IP address: those of the sender.", "P16/request",
	  request_has_own_values, NULL },
	{ "P15/peer", "unicast packets have the Q_Key of the peer's IBARP reply", DRAFT "6",
	  "Parameters to target a node: EUI-64, LID, GID, Q_Key, QPN.", "P16/request", peers_qkey,
	  NULL },
	{ "P15/own", "the DUT answers packets that have the QPN and Q_Key of its IBARP reply",
	  DRAFT "6", "Parameters to target a node: EUI-64, LID, GID, Q_Key, QPN.",
	  "P27 P16/request", own_qkey, NULL },
	{ "P15/all", "all packets have the Q_Key of the group or of the peer", DRAFT "6",
	  "Q_Key: the key that is provided by recipients to initiators.", "U2", NULL, encap_qkey },
	{ "P3/received", "the DUT ignores Reserved in received packets", DRAFT "3",
	  "The Reserved field; nothing is said of other values.", "P16/request",
	  encap_reserved_received, NULL },
	{ "P20/received", "the DUT accepts IBARP without the repeated words of the GIDs",
	  DRAFT "6.3, 6.4", "HLEN is 32, which does not count the word that is drawn twice.",
	  "P16/request", request_without_copies, NULL },
	{ "P22/received", "the DUT accepts IBARP with the ethertype 0x0806", DRAFT "6.4",
	  "ARP has an ethertype of its own, which a sender may use.", "P16/request",
	  request_of_type_arp, NULL },
	{ "P23/ignored", "the DUT does not answer IBARP of another hardware type", "RFC 826",
	  "Hardware type 32.", "P16/request", other_hardware, NULL },
};

const struct conform_chapter chapter_ibarp = { "IBARP", cases, sizeof(cases) / sizeof(cases[0]) };

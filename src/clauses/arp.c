/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"
#include "world/peer.h"
#include "world/sa.h"

/* Cases about ARP and link-layer addresses. RFC 4391 sections 9.1.1 and 9.2. */

static bool is_arp(const struct seen *s)
{
	return data_type(s) == 0x0806 && s->net_len >= ARP_LEN;
}

static void answers(struct run *r)
{
	struct world_peer *p = world_peer(r->w);
	struct arp_want want = { .op = 2, .tpa = p->ip4 };
	static const uint8_t head[8] = { 0, 32, 8, 0, 20, 4, 0, 2 };
	const struct seen *s = NULL;

	for (unsigned int i = 0; i < 6 && !s; i++) {
		peer_arp_request(r->w, p);
		s = expect(r, arp_is, &want, NS_SEC(3));
	}
	if (!s) {
		missing(r, "no ARP reply for %u.%u.%u.%u, asked six times in 18 s",
			r->w->dut.ip4[0], r->w->dut.ip4[1], r->w->dut.ip4[2], r->w->dut.ip4[3]);
		return;
	}
	check_octets(r, s, s->net, head, sizeof(head),
		     "hardware type, protocol, lengths and operation");
	check_octets(r, s, s->net + ARP_SPA, r->w->dut.ip4, 4, "the sender's IP address");
}

static void reply_is_for_the_asker(struct run *r)
{
	const struct world_peer *p = &r->w->peer[0];
	struct arp_want want = { .op = 2, .tpa = p->ip4 };
	const struct seen *s;
	uint8_t addr[20];

	peer_arp_request(r->w, p);
	s = expect(r, arp_is, &want, NS_SEC(5));
	if (!s) {
		missing(r, "no ARP reply within 5 s");
		return;
	}
	be32_put(addr, p->qpn);
	memcpy(addr + 4, p->gid.raw, 16);
	check_octets(r, s, s->net + ARP_THA, addr, 20, "the target's link-layer address");
	check(r, !data_is_mcast(s), s, "the reply is a multicast");
	check(r, s->h.bth.dest_qp == p->qpn, s,
	      "the reply goes to QP 0x%06x, expected 0x%06x of the asker's address",
	      s->h.bth.dest_qp, p->qpn);
}

static void request(struct run *r)
{
	static const uint8_t head[8] = { 0, 32, 8, 0, 20, 4, 0, 1 };
	const struct seen *s = arp_request_for(r, world_peer(r->w), "ARP");

	if (!s)
		return;
	check_octets(r, s, s->net, head, sizeof(head),
		     "hardware type, protocol, lengths and operation");
	check_octets(r, s, s->net + ARP_SPA, r->w->dut.ip4, 4, "the sender's IP address");
}

static void request_is_broadcast(struct run *r)
{
	struct world_peer *p = world_peer(r->w);
	const struct seen *s = arp_request_for(r, p, "ARP");
	struct echo_want want = echo_reply_to(r->w, p, -1);
	ib_gid bcast = sa_mgid_broadcast(r->w);

	if (!s)
		return;
	check_dgid(r, s, &bcast, "the DGID of the ARP request");
	check(r, s->h.bth.dest_qp == IB_QPN_MCAST, s,
	      "DestQP of the ARP request is 0x%06x, expected 0xffffff", s->h.bth.dest_qp);
	if (!expect(r, echo_is, &want, NS_SEC(5)))
		missing(r, "the ARP request was answered, but the ping was not");
}

static void address(struct run *r, const struct seen *s)
{
	if (is_arp(s))
		check_own_address(r, s, s->net + ARP_SHA,
				  "QPN and GID of the sender's link-layer address");
}

static void address_reserved(struct run *r, const struct seen *s)
{
	if (is_arp(s))
		check_octets(r, s, s->net + ARP_SHA, "", 1,
			     "the reserved octet of the sender's link-layer address");
}

static void reserved_received(struct run *r)
{
	struct world_peer *p = world_peer(r->w);
	struct arp_want want = { .op = 2, .tpa = p->ip4 };
	const struct seen *s;

	p->addr_flags = 0xc4;
	peer_arp_request(r->w, p);
	s = expect(r, arp_is, &want, NS_SEC(5));
	if (!s)
		missing(r, "no answer to an ARP request whose sender's address has the reserved "
			   "octet 0xc4");
	else
		check(r, s->h.bth.dest_qp == p->qpn, s,
		      "the reply goes to QP 0x%06x, expected 0x%06x", s->h.bth.dest_qp, p->qpn);
	p->addr_flags = 0;
}

static void unicast_qpn(struct run *r, const struct seen *s)
{
	for (unsigned int i = 0; i < r->w->npeers && i < WORLD_PEERS; i++)
		if (unicast_to(s, &r->w->peer[i]))
			check(r, s->h.bth.dest_qp == r->w->peer[i].qpn, s,
			      "a packet to the LID of a peer goes to QP 0x%06x, its address has "
			      "0x%06x",
			      s->h.bth.dest_qp, r->w->peer[i].qpn);
}

static void other_hardware(struct run *r)
{
	/*
	 * The DUT has a path to this peer already. So if the DUT wrongly answers this request, the
	 * answer comes at once.
	 */
	const struct world_peer *p = &r->w->peer[0];
	struct arp_want want = { .op = 2, .tpa = p->ip4 };
	uint8_t arp[ARP_LEN];

	peer_arp_message(arp, r->w, p);
	be16_put(arp, 1); /* The hardware type is Ethernet, though the addresses have 20 octets. */
	peer_broadcast(r->w, p, 0x0806, arp, sizeof(arp));
	if (settle(r))
		check(r, !seen_since(r, arp_is, &want), seen_since(r, arp_is, &want),
		      "an ARP request of hardware type 1 was answered");
}

static bool is_rarp(const struct seen *s, const void *arg)
{
	return data_type(s) == TYPE_RARP;
}

static void rarp(struct run *r)
{
	static const uint8_t head[8] = { 0, 32, 8, 0, 20, 4, 0, 3 };
	ib_gid bcast = sa_mgid_broadcast(r->w);
	const struct seen *s;

	if (!hook(r, "rarp"))
		return;
	s = expect(r, is_rarp, NULL, HOOK_TIME);
	if (!s) {
		missing(r, "no packet of RARP within 60 s after the hook's rarp");
		return;
	}
	check_octets(r, s, s->net, head, sizeof(head),
		     "hardware type, protocol, lengths and operation");
	check_own_address(r, s, s->net + ARP_SHA, "QPN and GID of the sender");
	check_own_address(r, s, s->net + ARP_THA, "QPN and GID of the target");
	check_dgid(r, s, &bcast, "the DGID of a RARP request");
}

static const struct conform_case cases[] = {
	{ "R56/reply", "the DUT answers ARP requests for its address", "RFC 4391 §9.2; RFC 826",
	  "Hardware type 32, hardware address length 20; the rest as in RFC 826.", "R28 U2 R29",
	  answers, NULL },
	{ "R48/reply", "the ARP reply goes to the QPN of the requester", "RFC 4391 §9.1.1; RFC 826",
	  "All IP traffic MUST go to the QPN of the link-layer address; ARP replies too.",
	  "R56/reply", reply_is_for_the_asker, NULL },
	{ "R56/request", "ARP requests have the form of RFC 4391", "RFC 4391 §9.2; RFC 826",
	  "Hardware type 32, hardware address length 20; the rest as in RFC 826.", "R56/reply",
	  request, NULL },
	{ "R25", "ARP requests go to the broadcast group", "RFC 4391 §5",
	  "The broadcast group carries ARP.", "R56/reply", request_is_broadcast, NULL },
	{ "R46/arp", "the sender's address in ARP consists of the DUT's QPN and GID",
	  "RFC 4391 §9.1.1", "The link-layer address is a reserved octet, the QPN and the GID.",
	  "R29", NULL, address },
	{ "R47/sent", "the reserved octet of the DUT's own link-layer address is 0",
	  "RFC 4391 §9.1.1", "It MUST be set to zero on send.", "R29", NULL, address_reserved },
	{ "R47/received", "the DUT ignores the reserved octet of a peer's link-layer address",
	  "RFC 4391 §9.1.1; RFC 4755", "It MUST be ignored on receive.", "R56/reply",
	  reserved_received, NULL },
	{ "R48/unicast", "unicasts go to the QPN of the peer's address", "RFC 4391 §9.1.1",
	  "All IP traffic MUST go to the QPN of the link-layer address.", "U2", NULL, unicast_qpn },
	{ "R56/ignored", "the DUT does not answer ARP requests of another hardware type", "RFC 826",
	  "Hardware type 32.", "R25", other_hardware, NULL },
	{ "I29", "RARP requests have the form of ARP and go to the broadcast group",
	  "RFC 4391 §6, §9.2; RFC 903", "The type 0x8035; the rest as in ARP.", "R25", rarp, NULL },
};

const struct conform_chapter chapter_arp = { "ARP", cases, sizeof(cases) / sizeof(cases[0]) };

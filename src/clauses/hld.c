/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"
#include "world/ip.h"
#include "world/peer.h"
#include "world/sa.h"

/*
 * Cases of intel-ipoib-linux-hld-2002 (the high-level design of a driver) that need only one link.
 * They concern packets that wait for a path, and clauses that repeat a clause of RFC 4391. The
 * packets have the formats of RFC 4391.
 */

#define HLD "HLD "

/*
 * Send IPv4 echo requests whose encapsulation header names another protocol. A DUT that ignores the encapsulation
 * header answers these requests.
 */
static void type_decides(struct run *r)
{
	static const uint16_t types[] = { TYPE_IP6, TYPE_RARP };
	const struct world_peer *p = &r->w->peer[0];
	struct ib_ud_hdr h = peer_headers(r->w, p);
	struct echo_want want = echo_reply_to(r->w, p, 0x0400);
	uint8_t buf[4 + 84];
	const struct seen *s;

	for (unsigned int i = 0; i < 2; i++) {
		size_t len = peer_echo(buf, r->w, p, 84, 0x0400);

		be16_put(buf, types[i]);
		peer_unicast(r->w, p, &h, buf, len);
		if (!settle(r))
			return;
		s = seen_since(r, echo_is, &want);
		check(r, !s, s, "an echo request of IPv4 behind the type 0x%04x was answered",
		      types[i]);
	}
}

#define HELD 3

/*
 * Send HELD pings, whose answers have to wait in the DUT for the path to @p. Return: false if the
 * DUT does not ask the SA for the path; then the case has a verdict
 */
static bool hold(struct run *r, const struct world_peer *p, uint16_t seq)
{
	struct sa_want query = { .attr = SA_ATTR_PATH_RECORD, .gid = &p->gid };

	peer_ping(r->w, p, 84, seq);
	if (!expect(r, sa_is, &query, NS_SEC(10))) {
		missing(r, "no query for the PathRecord of a peer whose link-layer address the DUT "
			   "has asked for");
		return false;
	}
	for (uint16_t i = 1; i < HELD; i++)
		peer_ping(r->w, p, 84, (uint16_t)(seq + i));
	return settle(r);
}

/*
 * The DUT holds packets back until it has a path. Judge that the DUT sends these packets as soon as
 * the path is known, in the order in which they were queued.
 */
static void drained(struct run *r)
{
	struct world_peer *p = world_peer(r->w);
	struct echo_want any = echo_reply_to(r->w, p, -1);
	uint64_t last = 0;

	p->path_silent = true;
	if (!hold(r, p, 0x2200))
		return;
	p->path_silent = false;
	if (!expect(r, echo_is, &any, WORLD_LONGEST)) {
		missing(r, "the SA answers the query for the path, but what waited for it has not "
			   "left within 18 s");
		return;
	}
	for (int i = 0; i < HELD; i++) {
		struct echo_want want = echo_reply_to(r->w, p, 0x2200 + i);
		const struct seen *s = expect(r, echo_is, &want, NS_SEC(2));

		if (!s) {
			missing(r, "answer %d of %d, which waited for the path, has not left",
				i + 1, HELD);
			return;
		}
		check(r, s->n > last, s, "answer %d left before one that had waited longer", i + 1);
		last = s->n;
	}
}

/*
 * Judge the DUT after the SA has answered that a path does not exist. The DUT has to discard the
 * packets that wait for the path. When the path exists later, a new packet has to make the DUT ask
 * the SA again.
 */
static void freed(struct run *r)
{
	struct world_peer *p = world_peer(r->w);
	const ns_t deadline = r->w->now + WORLD_LONGEST;
	const struct seen *s = NULL;

	p->path_refused = true;
	if (!hold(r, p, 0x2500))
		return;
	s = seen_since(r, unicast_to, p);
	check(r, !s, s, "a packet went to a peer to which the SA knows no path");
	p->path_refused = false;
	s = NULL;
	for (uint16_t seq = 0x2580; !s && r->w->now < deadline && r->w->up; seq++) {
		struct echo_want want = echo_reply_to(r->w, p, seq);

		peer_ping(r->w, p, 84, seq);
		s = expect(r, echo_is, &want, NS_SEC(1));
	}
	if (!s) {
		missing(r, "the SA knows the path now, but the DUT has not sent to the peer within "
			   "18 s");
		return;
	}
	if (!settle(r))
		return;
	for (int i = 0; i < HELD; i++) {
		struct echo_want want = echo_reply_to(r->w, p, 0x2500 + i);

		s = seen_since(r, echo_is, &want);
		check(r, !s, s,
		      "a packet that waited for a path that the SA did not know was sent "
		      "later");
	}
}

static const struct conform_case cases[] = {
	{ "H4", "the DUT ignores packets whose content does not fit the type in the header",
	  HLD "1.1",
	  "The protocol type field in the encapsulation header is used to set the protocol field.",
	  REACHED, type_decides, NULL },
	{ "H22", "packets that waited for an address handle leave in the order in which they came",
	  HLD "2.1.3.2",
	  "When enough information to create a handle becomes available, all sk_buffs waiting on "
	  "it "
	  "will be de-queued and transmitted.",
	  "R45", drained, NULL },
	{ "H25", "the DUT frees packets that wait for a path that the SA does not know",
	  HLD "2.1.4.1",
	  "If the PathRecord lookup was not successful, the entry will be deleted; all pending "
	  "frames will be freed.",
	  "R45", freed, NULL },
	{ "H1", "all packets are UD, multicasts included", HLD "1",
	  "All data transfers use the unreliable datagram service, and UD multicast.", "R1 R33",
	  NULL, NULL },
	{ "H2", "the encapsulation header of four octets contains the protocol type", HLD "1.1",
	  "A four-byte encapsulation header contains the protocol type.", "R29 R31", NULL, NULL },
	{ "H3", "LID, SL and QPN of a unicast packet follow from the hardware address", HLD "1.1",
	  "The driver must associate the virtual hardware address with the UD address vector.",
	  "R48/unicast R50/lid R54", NULL, NULL },
	{ "H5", "the hardware address consists of 8 reserved bits, QPN and GID", HLD "1.2",
	  "A 20 byte value composed of the port GID, UD QPN and a reserved 8 bits.",
	  "R46/arp R46/nd R47/sent R47/nd", NULL, NULL },
	{ "H7", "ARP or Neighbour Discovery precedes the query for the PathRecord", HLD "1.3",
	  "The first step exchanges GID and QPN; the next step is to obtain a PathRecord.",
	  "R56/request R57/ns R50/query R45", NULL, NULL },
	{ "H8", "ARP and Neighbour Discovery have addresses of 20 octets", HLD "1.3",
	  "Outbound ARP and ND frames have the true address, whatever the kernel sees.",
	  "R56/request R56/reply R57/ns R57/na R46/arp R46/nd", NULL, NULL },
	{ "H12", "the hardware type is 32, and broadcasts and multicasts work", HLD "2.1.1",
	  "The type is 32; the flags are IFF_BROADCAST and IFF_MULTICAST.",
	  "R56/request R56/reply R25/directed R67", NULL, NULL },
	{ "H16", "hardware addresses have 20 octets, and broadcasts go to the broadcast group",
	  HLD "2.1.1",
	  "The broadcast address will always be mapped to the all-nodes multicast group.",
	  "R56/request R25 R25/directed", NULL, NULL },
	{ "H19", "the DUT joins and leaves groups when its multicast list changes", HLD "2.1.1",
	  "set_multicast_list is the signal to join or leave a multicast group.", "R67 R69", NULL,
	  NULL },
	{ "H23", "ARP replies and Neighbour Advertisements make neighbour entries", HLD "2.1.4",
	  "Inbound ARP replies and Neighbor Advertisements will generally trigger the process.",
	  "R50/query R57/ns R48/reply", NULL, NULL },
	{ "H26", "the DUT removes the GRH of received packets", HLD "2.2.1",
	  "For receive events, the GRH is stripped.", "R34/grh R34/no-grh", NULL, NULL },
	{ "H28", "while a path is missing, packets to other peers leave", HLD "2.3",
	  "All thread contexts running in the driver cannot be blocked.", "R45", NULL, NULL },
	{ "H29", "the DUT reacts to ClientReregister, a new LID and a removed P_Key", HLD "2.5",
	  "Initialization will be driven by CA and port callback events.", "R23/again I16 R27",
	  NULL, NULL },
};

const struct conform_chapter chapter_hld = { "driver of 2002", cases,
					     sizeof(cases) / sizeof(cases[0]) };

/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"
#include "world/peer.h"
#include "world/sa.h"

/*
 * Cases about paths: the DUT asks the SA for the path to a peer before it sends the first packet to
 * this peer, and sends with the LID and the SL of the PathRecord. RFC 4391 section 9.1.2.
 */

static void asks_first(struct run *r)
{
	struct world_peer *p = world_peer(r->w);
	struct sa_want want = { .attr = SA_ATTR_PATH_RECORD, .gid = &p->gid };
	const uint64_t from_comp = PATH_COMP_SGID | PATH_COMP_SLID;
	const struct seen *s, *early;
	struct sa_mad q;

	p->path_silent = true;
	peer_ping(r->w, p, 84, 1);
	s = expect(r, sa_is, &want, NS_SEC(10));
	if (!s) {
		missing(r, "no query for the PathRecord of a peer whose link-layer address the DUT "
			   "has asked for");
		p->path_silent = false;
		return;
	}
	sa_mad_decode(&q, s->payload, s->payload_len);
	check(r, q.sa.comp_mask & PATH_COMP_DGID, s, "the component mask 0x%llx does not name DGID",
	      (unsigned long long)q.sa.comp_mask);
	check(r, q.sa.comp_mask & from_comp, s,
	      "the component mask 0x%llx names neither SGID nor SLID",
	      (unsigned long long)q.sa.comp_mask);
	early = seen_since(r, unicast_to, p);
	check(r, !early || early->n > s->n, early,
	      "a packet went to the peer before its path was asked for");
	p->path_silent = false;
}

static void waits(struct run *r)
{
	struct world_peer *p = world_peer(r->w);
	struct sa_want query = { .attr = SA_ATTR_PATH_RECORD, .gid = &p->gid };
	struct echo_want reply = echo_reply_to(r->w, p, -1);
	const struct seen *s;

	p->path_silent = true;
	for (unsigned int i = 0; i < 3; i++) {
		peer_ping(r->w, p, 84, (uint16_t)i);
		expect(r, sa_is, &query, NS_SEC(1));
	}
	if (!settle(r))
		return;
	s = seen_since(r, unicast_to, p);
	check(r, !s, s,
	      "a packet went to a peer whose PathRecord the SA has not sent, so SL, rate and LID "
	      "are not known");
	p->path_silent = false;
	for (unsigned int i = 0; i < 9 && !seen_since(r, echo_is, &reply); i++) {
		peer_ping(r->w, p, 84, (uint16_t)i);
		expect(r, echo_is, &reply, NS_SEC(2));
	}
	if (!seen_since(r, echo_is, &reply))
		missing(r,
			"the SA answers again, but the DUT has not sent to the peer within 18 s");
}

/*
 * Ping the DUT from a peer whose own packets have one LID, while the SA's path record for the peer
 * has another LID. Return: the echo reply
 */
static const struct seen *by_path(struct run *r, struct world_peer *p)
{
	const struct seen *s;

	p->path_lid = p->lid + 1;
	s = answer_of(r, p, 84);
	if (!s)
		missing(r, "no answer to a ping");
	return s;
}

static void dlid(struct run *r)
{
	struct world_peer *p = world_peer(r->w);
	const struct seen *s = by_path(r, p);

	if (s)
		check_be16(r, s, s->raw + IB_LRH_OFF_DLID, p->path_lid,
			   "the DLID (the PathRecord's, not the SLID of the ping)");
}

static void sl(struct run *r)
{
	const struct seen *s = by_path(r, world_peer(r->w));

	if (s)
		check(r, s->h.lrh.sl == WORLD_PATH_SL, s, "SL is %u, expected %u of the PathRecord",
		      s->h.lrh.sl, WORLD_PATH_SL);
}

static const struct conform_case cases[] = {
	{ "R50/query", "the DUT asks the SA for the path to a peer before its first unicast packet",
	  "RFC 4391 §9.1.2",
	  "The LID is found by an IBA method: an SA query for the PathRecord of the GID.", REACHED,
	  asks_first, NULL },
	{ "R45", "the DUT sends nothing to a peer while the SA has not answered the path query",
	  "RFC 4391 §9.1",
	  "The rate of a path must be determined before sending; SL and LID come from the SA.",
	  "R50/query", waits, NULL },
	{ "R50/lid", "unicast packets have the DLID of the PathRecord", "RFC 4391 §9.1.2",
	  "The LID is found by an IBA method; a port may have several LIDs.", "R50/query", dlid,
	  NULL },
	{ "R54", "unicast packets have the SL of the PathRecord", "RFC 4391 §9.1.2",
	  "The SL is found by an IBA method.", "R50/query", sl, NULL },
};

const struct conform_chapter chapter_path = { "paths", cases, sizeof(cases) / sizeof(cases[0]) };

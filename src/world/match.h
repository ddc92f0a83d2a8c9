/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORLD_MATCH_H
#define WORLD_MATCH_H

/* Matchers: whether a packet of the DUT is one that a case waits for */

#include "world/world.h"

/* Data of IPoIB, with its ethertype; -1: no data, or too short */
static inline int data_type(const struct seen *s)
{
	return s->type;
}

static inline bool data_is_mcast(const struct seen *s)
{
	return s->h.bth.dest_qp == IB_QPN_MCAST;
}

/* Whether the type is one of RFC 4391's four, and the payload looks like what the type says */
bool data_has_known_type(const struct seen *s);
bool data_fits_type(const struct seen *s);

struct arp_want {
	uint16_t op;
	const uint8_t *tpa; /* target protocol address; NULL: any */
};
bool arp_is(const struct seen *s, const void *want);

struct echo_want {
	const uint8_t *dst; /* 4 octets, or 16 with .v6 */
	int seq; /* -1: any */
	bool v6;
	bool request; /* else a reply */
};
bool echo_is(const struct seen *s, const void *want);
/* The answer to a ping of a peer, by the version of IP that peer_ping() uses; @seq -1: any */
struct echo_want echo_reply_to(const struct world *w, const struct world_peer *p, int seq);

struct nd_want {
	uint8_t type;
	const uint8_t *target; /* NULL: any */
};
bool nd_is(const struct seen *s, const void *want);

/* A packet of IP to this destination, @arg has 4 or 16 octets, with or without GRH */
bool ip4_to(const struct seen *s, const void *dst);
bool ip6_to(const struct seen *s, const void *dst);
/* A unicast packet of any type to a peer, @arg */
bool unicast_to(const struct seen *s, const void *peer);

#endif

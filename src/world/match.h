/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORLD_MATCH_H
#define WORLD_MATCH_H

/* Matchers: functions that tell whether a packet of the DUT is the one for which a case waits */

#include "world/world.h"

/*
 * data_type() - Return: the ethertype of a packet with data; -1 for other packets and for packets that are too short
 */
static inline int data_type(const struct seen *s)
{
	return s->type;
}

static inline bool data_is_mcast(const struct seen *s)
{
	return s->h.bth.dest_qp == IB_QPN_MCAST;
}

/*
 * data_has_known_type() - Tell whether the ethertype is one of the four of RFC 4391.
 * data_fits_type() - Tell whether the payload begins as the ethertype demands
 */
bool data_has_known_type(const struct seen *s);
bool data_fits_type(const struct seen *s);

struct arp_want {
	uint16_t op;
	const uint8_t *tpa; /* target protocol address; NULL: any */
};
bool arp_is(const struct seen *s, const void *want);

struct echo_want {
	const uint8_t *dst; /* destination: 4 octets, or 16 with .v6 */
	int seq; /* sequence number; -1: any */
	bool v6;
	bool request; /* true: the wanted message is a request; false: a reply */
};
bool echo_is(const struct seen *s, const void *want);
/*
 * echo_reply_to() - Return: the argument with which echo_is() accepts the DUT's reply to a
 * peer_ping() from @p. @seq is the sequence number of this ping; -1: any sequence number
 */
struct echo_want echo_reply_to(const struct world *w, const struct world_peer *p, int seq);

struct nd_want {
	uint8_t type;
	const uint8_t *target; /* NULL: any */
};
bool nd_is(const struct seen *s, const void *want);

/*
 * ip4_to(), ip6_to() - Tell whether a packet is an IPv4 or an IPv6 packet to the IP address @dst,
 * with or without a GRH. @dst has 4 octets for IPv4 and 16 octets for IPv6
 */
bool ip4_to(const struct seen *s, const void *dst);
bool ip6_to(const struct seen *s, const void *dst);
/* Tell whether a packet is a unicast packet of any ethertype to @peer, a struct world_peer */
bool unicast_to(const struct seen *s, const void *peer);

#endif

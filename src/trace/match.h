/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TRACE_MATCH_H
#define TRACE_MATCH_H

/* Decides which packets of a fabric a trace shows. */

#include "ipoib/profile.h"
#include "util/pkt.h"

/* Action of the host where the trace begins; the trace shows the packets of this action */
enum trace_what {
	TRACE_PING,
	TRACE_TCP, /* a connection */
	TRACE_UDP, /* a datagram */
	TRACE_ARP, /* ARP, IBARP or Neighbour Discovery resolves an address */
	TRACE_PATH, /* as TRACE_ARP, and the SA is asked for the path */
	TRACE_JOIN, /* a group is joined */
	TRACE_WHATS
};

struct trace_match {
	const struct ipoib_encap *encap; /* encapsulation of the interface where the trace begins */
	/*
	 * .a: LID of the port where the trace begins; .b: LID of the port at the other end, or 0 if
	 * this LID is not known, or if the other end is a multicast group
	 */
	uint16_t a, b;
	unsigned int family; /* 4 or 6 */
	enum trace_what what;
	uint16_t port; /* TCP or UDP port of the packets, as source or as destination */
	bool group; /* the other end is a multicast group */
	bool all_mads; /* show all MADs on QP1, not only those about paths and groups */
};

/* trace_what_of() - Return the enum trace_what that has the name @name, such as "tcp"; -1: there is none */
int trace_what_of(const char *name);

/*
 * trace_match() - Tell whether a packet belongs to the trace
 *
 * The trace shows packets from or to the ports with the LIDs .a and .b, or only the port with the
 * LID .a if .b is 0. Packets on VL 15 do not belong to the trace.
 *
 * MADs on QP1 are shown if they are about paths, unless .what is TRACE_JOIN. MADs about groups are
 * shown if the trace is about IPv6, or if the other end is a group. With .all_mads, all MADs on QP1
 * are shown.
 *
 * Of the other packets, the trace shows address resolution, ICMP, and the kind of packet that .what
 * names. If .b is not 0, a unicast packet must go from one of the two ports to the other. A
 * fragment that is not the first contains no TCP or UDP port, so only its protocol is compared.
 */
bool trace_match(const struct trace_match *m, const struct pkt *p);

#endif

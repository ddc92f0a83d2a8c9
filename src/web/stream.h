/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_STREAM_H
#define WEB_STREAM_H

/*
 * DOC: A reader of events
 *
 * Where one client is in the ring. A reader is never waited for: one that takes nothing for WEB_STREAM_STUCK although something is there, or
 * that is so far behind that the ring has forgotten its next event, is cut off.
 */

#include <stdbool.h>

#include "util/ns.h"
#include "web/ring.h"

#define WEB_STREAM_STUCK NS_SEC(10)
#define WEB_STREAM_BEAT NS_SEC(15) /* a comment is sent when there was nothing else for so long */

struct web_stream {
	const struct web_ring *ring;
	const char *lead; /* text that comes before the next event, or "" */
	uint64_t next; /* number of the event that is sent, or comes next */
	size_t off; /* octets of it that are sent */
	ns_t last; /* time of the last octets */
	ns_t idle; /* last time at which web_stream_slow() saw that nothing was there to take */
};

/**
 * web_stream_start() - Begin behind an event
 * @since:	number of the last event, or of the snapshot, that the client has; NULL: events from now on
 *
 * If events between that one and now are forgotten, or the number is none of this server, the client gets the event
 * "reset" first, which tells it to take a new snapshot.
 */
void web_stream_start(struct web_stream *s, const struct web_ring *r, const uint64_t *since,
		      ns_t now);

/* web_stream_ready() - True if there is something to send */
bool web_stream_ready(const struct web_stream *s, ns_t now);

/* web_stream_read() - Take up to @max octets. Returns how many; 0: nothing is there; -1: the next event is forgotten */
long web_stream_read(struct web_stream *s, char *buf, size_t max, ns_t now);

/* web_stream_slow() - True if the reader must be cut off. Call it at least once a second, so that it knows since when something is there */
bool web_stream_slow(struct web_stream *s, ns_t now);

#endif

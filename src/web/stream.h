/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_STREAM_H
#define WEB_STREAM_H

/*
 * DOC: A reader of events
 *
 * A struct web_stream is the position of one client in the ring of events. The server never waits
 * for a client. It disconnects a client that reads nothing for WEB_STREAM_STUCK although there are
 * events, or whose next event the ring has dropped.
 */

#include <stdbool.h>

#include "util/ns.h"
#include "web/ring.h"

#define WEB_STREAM_STUCK NS_SEC(10)
#define WEB_STREAM_BEAT NS_SEC(15) /* a comment is sent when no event was sent for this time */

struct web_stream {
	const struct web_ring *ring;
	const char *lead; /* text that comes before the next event, or "" */
	uint64_t next; /* number of the event that is being sent, or of the next event */
	size_t off; /* number of octets of event .next that were sent */
	ns_t last; /* time at which octets were last sent */
	ns_t idle; /* last time at which web_stream_slow() found no unread events */
};

/*
 * web_stream_start() - Begin with the event after @since
 * @since:	number of the last event, or of the snapshot, that the client has; NULL: events from now on
 *
 * If the ring has dropped events after @since, or if @since is no number of this server, the client
 * first gets the event "reset". This event makes the client read a new snapshot.
 */
void web_stream_start(struct web_stream *s, const struct web_ring *r, const uint64_t *since,
		      ns_t now);

/* web_stream_ready() - Tell whether there are octets to send to the client */
bool web_stream_ready(const struct web_stream *s, ns_t now);

/*
 * web_stream_read() - Copy up to @max octets for the client to @buf. Return: the number of these
 * octets; 0: there are no octets now; -1: the ring has dropped the next event
 */
long web_stream_read(struct web_stream *s, char *buf, size_t max, ns_t now);

/*
 * web_stream_slow() - Tell whether the client must be disconnected. The caller has to call this
 * function at least once a second, so that the function knows since when there are unread events
 */
bool web_stream_slow(struct web_stream *s, ns_t now);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_RING_H
#define WEB_RING_H

/*
 * DOC: Events
 *
 * A ring buffer with the latest events, in the format of server-sent events (HTML Living Standard,
 * section 9.2), each with a sequence number. The text of an event is made once, however many
 * clients read it. When the ring is full, it drops the oldest events; a client that has not read
 * them needs a new snapshot.
 */

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define WEB_RING_EVENTS 4096
#define WEB_RING_OCTETS (4u << 20)

struct web_ring {
	char *text[WEB_RING_EVENTS]; /* event n is at n % WEB_RING_EVENTS */
	size_t len[WEB_RING_EVENTS];
	uint64_t first, next; /* number of the oldest event, and number of the next event */
	size_t octets; /* sum of the lengths of all texts */
	uint64_t failed; /* counter of events that were lost because memory ran out */
};

/*
 * web_ring_init() - Make an empty ring whose first event has the number @first. A server uses the time of its start,
 * in microseconds of Unix time, so that an earlier server's numbers are lower than all numbers of this server
 */
void web_ring_init(struct web_ring *r, uint64_t first);
void web_ring_fini(struct web_ring *r);

/*
 * web_ring_push() - Add an event. The function takes over the reference to @data. If memory ran
 * out, @data may be NULL. Then the event has a number but no text, so that each client notices that
 * it has missed an event
 */
void web_ring_push(struct web_ring *r, const char *event, json_t *data);

/* web_ring_at() - Return the text of an event; NULL: it was dropped, or does not exist yet */
const char *web_ring_at(const struct web_ring *r, uint64_t number, size_t *ret_len);

#endif

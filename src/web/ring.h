/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_RING_H
#define WEB_RING_H

/*
 * DOC: Events
 *
 * The last events as server-sent events (HTML Living Standard, section 9.2), each with a sequence number. The text of an event is
 * made once, however many clients read it. The ring forgets the oldest events when it is full; a client that has not read
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
	uint64_t first, next; /* numbers of the oldest event, and of the one that comes */
	size_t octets; /* of all texts */
	uint64_t failed; /* counter: events for which there was no memory */
};

/*
 * web_ring_init() - Make an empty ring whose first event has the number @first. A server takes its start in microseconds of
 * Unix time, so that numbers of an earlier server are older than all of this one
 */
void web_ring_init(struct web_ring *r, uint64_t first);
void web_ring_fini(struct web_ring *r);

/*
 * web_ring_push() - Add an event; takes @data, which may be NULL if there was no memory. Without memory the number is used up,
 * so that each client notices that it has missed an event
 */
void web_ring_push(struct web_ring *r, const char *event, json_t *data);

/* web_ring_at() - The text of an event; NULL: it is forgotten, or has not come yet */
const char *web_ring_at(const struct web_ring *r, uint64_t number, size_t *ret_len);

#endif

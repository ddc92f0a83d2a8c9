/* SPDX-License-Identifier: BSD-2-Clause */
#include "web/stream.h"

#include <string.h>

#define RETRY "retry: 2000\n\n" /* milliseconds after which a browser connects again */

void web_stream_start(struct web_stream *s, const struct web_ring *r, const uint64_t *since,
		      ns_t now)
{
	bool missed = since && (*since + 1 < r->first || *since >= r->next);

	*s = (struct web_stream){
		.ring = r,
		.lead = missed ? RETRY "event: reset\ndata: {\"reason\":\"events were missed\"}\n\n"
			       : RETRY,
		.next = since && !missed ? *since + 1 : r->next,
		.last = now,
		.idle = now,
	};
}

/* Tell whether the client has read all events */
static bool idle(const struct web_stream *s)
{
	return !*s->lead && s->next >= s->ring->next;
}

bool web_stream_ready(const struct web_stream *s, ns_t now)
{
	return !idle(s) || now - s->last >= WEB_STREAM_BEAT;
}

static size_t take(char *buf, size_t max, const char *text, size_t len)
{
	size_t n = len < max ? len : max;

	memcpy(buf, text, n);
	return n;
}

long web_stream_read(struct web_stream *s, char *buf, size_t max, ns_t now)
{
	size_t done = 0, len, n;
	const char *text;

	if (idle(s) && web_stream_ready(s, now))
		s->lead = ":\n\n";
	done = take(buf, max, s->lead, strlen(s->lead));
	s->lead += done;
	while (done < max && s->next < s->ring->next) {
		text = web_ring_at(s->ring, s->next, &len);
		if (!text)
			return -1;
		n = take(buf + done, max - done, text + s->off, len - s->off);
		done += n;
		s->off += n;
		if (s->off < len)
			break;
		s->off = 0;
		s->next++;
	}
	if (done)
		s->last = now;
	return (long)done;
}

bool web_stream_slow(struct web_stream *s, ns_t now)
{
	if (idle(s))
		s->idle = now;
	return s->next < s->ring->first || now - ns_max(s->last, s->idle) >= WEB_STREAM_STUCK;
}

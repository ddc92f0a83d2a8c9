/* SPDX-License-Identifier: BSD-2-Clause */
#include "web/ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void web_ring_init(struct web_ring *r, uint64_t first)
{
	memset(r, 0, sizeof(*r));
	r->first = r->next = first;
}

static void forget(struct web_ring *r)
{
	size_t k = r->first++ % WEB_RING_EVENTS;

	free(r->text[k]);
	r->text[k] = NULL;
	r->octets -= r->len[k];
	r->len[k] = 0;
}

void web_ring_fini(struct web_ring *r)
{
	while (r->first != r->next)
		forget(r);
}

void web_ring_push(struct web_ring *r, const char *event, json_t *data)
{
	char *json = data ? json_dumps(data, JSON_COMPACT) : NULL, *text = NULL;
	int len = -1;
	size_t k;

	json_decref(data);
	if (json)
		len = asprintf(&text, "id: %llu\nevent: %s\ndata: %s\n\n",
			       (unsigned long long)r->next, event, json);
	free(json);
	if (len < 0) { /* clients miss this event and need a new snapshot: drop older events */
		r->failed++;
		while (r->first != r->next)
			forget(r);
		r->first = ++r->next;
		return;
	}
	while (r->first != r->next &&
	       (r->next - r->first == WEB_RING_EVENTS || r->octets + (size_t)len > WEB_RING_OCTETS))
		forget(r);
	k = r->next++ % WEB_RING_EVENTS;
	r->text[k] = text;
	r->len[k] = (size_t)len;
	r->octets += (size_t)len;
}

const char *web_ring_at(const struct web_ring *r, uint64_t number, size_t *ret_len)
{
	size_t k = number % WEB_RING_EVENTS;

	if (number < r->first || number >= r->next)
		return NULL;
	*ret_len = r->len[k];
	return r->text[k];
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/timer.h"

#include <stdlib.h>
#include <string.h>

void timers_init(struct timers *ts)
{
	memset(ts, 0, sizeof(*ts));
}

void timers_fini(struct timers *ts)
{
	for (size_t i = 1; i <= ts->n; i++)
		ts->heap[i]->slot = 0;
	free(ts->heap);
	timers_init(ts);
}

static bool timer_before(const struct timer *a, const struct timer *b)
{
	return a->deadline != b->deadline ? a->deadline < b->deadline : a->seq < b->seq;
}

static void heap_place(struct timers *ts, size_t slot, struct timer *t)
{
	ts->heap[slot] = t;
	t->slot = slot;
}

static void heap_up(struct timers *ts, size_t slot, struct timer *t)
{
	for (; slot > 1 && timer_before(t, ts->heap[slot / 2]); slot /= 2)
		heap_place(ts, slot, ts->heap[slot / 2]);
	heap_place(ts, slot, t);
}

static void heap_down(struct timers *ts, size_t slot, struct timer *t)
{
	for (;;) {
		size_t child = slot * 2;

		if (child > ts->n)
			break;
		if (child < ts->n && timer_before(ts->heap[child + 1], ts->heap[child]))
			child++;
		if (!timer_before(ts->heap[child], t))
			break;
		heap_place(ts, slot, ts->heap[child]);
		slot = child;
	}
	heap_place(ts, slot, t);
}

void timer_cancel(struct timers *ts, struct timer *t)
{
	size_t slot = t->slot;
	struct timer *last;

	if (!slot)
		return;

	t->slot = 0;
	last = ts->heap[ts->n--];
	if (last == t)
		return;
	if (slot > 1 && timer_before(last, ts->heap[slot / 2]))
		heap_up(ts, slot, last);
	else
		heap_down(ts, slot, last);
}

static void heap_grow(struct timers *ts)
{
	size_t cap = ts->cap ? ts->cap * 2 : 64;
	struct timer **heap = realloc(ts->heap, (cap + 1) * sizeof(*heap));

	if (!heap)
		/*
		 * out of memory: abort, because a timer that never fires would block its owner for
		 * ever
		 */
		abort();
	ts->heap = heap;
	ts->cap = cap;
}

void timer_arm(struct timers *ts, struct timer *t, ns_t deadline)
{
	timer_cancel(ts, t);
	if (deadline == NS_NEVER)
		return;
	if (ts->n == ts->cap)
		heap_grow(ts);
	/*
	 * A deadline in the past is moved to the time of the last timers_run(), so that the timer
	 * does not fire before timers that are due already.
	 */
	t->deadline = deadline > ts->now ? deadline : ts->now;
	t->seq = ts->seq++;
	heap_up(ts, ++ts->n, t);
}

struct timer *timers_first(const struct timers *ts)
{
	return ts->n ? ts->heap[1] : NULL;
}

ns_t timers_next(const struct timers *ts)
{
	return ts->n ? ts->heap[1]->deadline : NS_NEVER;
}

bool timers_run(struct timers *ts, ns_t now)
{
	uint64_t first_new = ts->seq;

	ts->now = now;
	for (unsigned int n = 0; n < TIMERS_RUN_MAX && timers_next(ts) <= now; n++) {
		struct timer *t = ts->heap[1];

		if (t->seq >= first_new)
			break;
		timer_cancel(ts, t);
		t->fn(t, now);
	}
	return timers_next(ts) <= now;
}

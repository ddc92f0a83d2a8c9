/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/slices.h"

#include "os/clock.h"

#define SLICE 128 /* entries of a table whose rows are sent without a pause */
#define PAUSE NS_MSEC(1) /* time after a slice in which no client gets rows of a table */
#define WAITING (1u << 20) /* octets that a client may have left unread before it gets more rows */

static void next_slice(struct timer *t, ns_t now)
{
	struct ctl_slices *s = container_of(t, struct ctl_slices, next);
	struct inst *in = s->hold.req.in;
	bool more = true;

	s->hold.req.now = now;
	/* @now may be long past. */
	if (clock_now() >= in->next_slice && ctl_unread(&s->hold.req) < WAITING) {
		more = s->some(s, SLICE);
		ctl_flush(&s->hold.req);
		in->next_slice = clock_now() + PAUSE;
	}
	if (more)
		timer_arm(&in->loop.timers, t, clock_now() + PAUSE);
	else
		s->done(s);
}

void ctl_slices_hold(struct ctl_slices *s, struct ctl_req *r, void (*gone)(struct ctl_hold *h))
{
	timer_init(&s->next, next_slice);
	s->hold.rows_at_end = true;
	ctl_hold(r, &s->hold, gone);
}

void ctl_slices_begin(struct ctl_slices *s, ns_t now)
{
	next_slice(&s->next, now);
}

void ctl_slices_stop(struct ctl_slices *s)
{
	timer_cancel(&s->hold.req.in->loop.timers, &s->next);
}

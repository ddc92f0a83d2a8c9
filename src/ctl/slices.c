/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/slices.h"

#include "ctl/priv.h"

#define SLICE 64 /* entries of a table whose rows are sent without a pause */
#define PERIOD NS_MSEC(2) /* time from the begin of a slice to the begin of the next one */
#define UNREAD_MAX (1u << 20) /* octets; a client that has left more unread gets no rows */

/* Returns the answer that has waited longest among those whose clients read; NULL if there is none. */
static struct ctl_slices *next_answer(struct ctl_turns *t)
{
	struct ctl_slices *s;

	list_for_each (s, &t->answers, link)
		if (ctl_unread(&s->hold.req) < UNREAD_MAX)
			return s;
	return NULL;
}

static void send_slice(struct ctl_turns *t, struct ctl_slices *s, ns_t now)
{
	bool more;

	list_del(&s->link);
	s->hold.req.now = now;
	more = s->some(s, SLICE);
	ctl_flush(&s->hold.req);
	if (more)
		list_add_tail(&t->answers, &s->link);
	else
		s->done(s);
}

static void turn(struct timer *timer, ns_t now)
{
	struct ctl *ctl = container_of(timer, struct ctl, slices.timer);
	struct ctl_turns *t = &ctl->slices;
	struct ctl_slices *s = next_answer(t);

	t->next = now + PERIOD;
	if (s)
		send_slice(t, s, now);
	if (!list_empty(&t->answers))
		timer_arm(&ctl->in->loop.timers, timer, t->next);
}

void ctl_turns_init(struct ctl_turns *t)
{
	list_init(&t->answers);
	timer_init(&t->timer, turn);
}

void ctl_slices_hold(struct ctl_slices *s, struct ctl_req *r, void (*gone)(struct ctl_hold *h))
{
	s->ctl = r->client->ctl;
	list_init(&s->link);
	s->hold.rows_at_end = true;
	ctl_hold(r, &s->hold, gone);
}

void ctl_slices_begin(struct ctl_slices *s, ns_t now)
{
	struct ctl_turns *t = &s->ctl->slices;

	list_add_tail(&t->answers, &s->link);
	if (timer_armed(&t->timer))
		return;
	if (now >= t->next)
		turn(&t->timer, now);
	else
		timer_arm(&s->ctl->in->loop.timers, &t->timer, t->next);
}

void ctl_slices_stop(struct ctl_slices *s)
{
	struct ctl_turns *t = &s->ctl->slices;

	list_del(&s->link);
	if (list_empty(&t->answers))
		timer_cancel(&s->ctl->in->loop.timers, &t->timer);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/mon_drops.h"

#include <stdlib.h>

#include "ctl/priv.h"

#define PERIOD NS_SEC(1)

/* Stores the value of a counter that is read for the first time. */
static void store(struct ctl_drops *s, uint64_t value)
{
	if (s->n == s->cap) {
		size_t cap = 2 * s->cap + 256;
		uint64_t *v = reallocarray(s->was, cap, sizeof(*v));

		s->recount |= !v; /* the values are stored again at the next reading */
		if (!v)
			return;
		s->was = v;
		s->cap = cap;
	}
	s->was[s->n++] = value;
	s->at++;
}

static void look_drop(void *ctx, const struct stats_item *it)
{
	struct ctl_drops *s = ctx;
	struct mon_drops *d;
	uint64_t by;

	if (!it->drop || s->recount)
		return;
	if (s->at == s->n) {
		store(s, it->value);
		return;
	}
	by = it->value - s->was[s->at];
	s->was[s->at++] = it->value;
	if (by)
		list_for_each (d, &s->clients, link)
			d->grew(d, it, by, s->now);
}

static void look(struct timer *t, ns_t now)
{
	struct ctl *ctl = container_of(t, struct ctl, drops.timer);
	struct ctl_drops *s = &ctl->drops;

	if (s->recount)
		s->n = 0;
	s->recount = false;
	s->at = 0;
	s->now = now;
	stats_each(ctl, look_drop, s);
	timer_arm(&ctl->in->loop.timers, t, now + PERIOD);
}

void mon_drops_add(struct ctl *ctl, struct mon_drops *d, ns_t now)
{
	struct ctl_drops *s = &ctl->drops;
	bool first = list_empty(&s->clients);

	list_add_tail(&s->clients, &d->link);
	if (!first)
		return;
	timer_init(&s->timer, look);
	s->recount = true;
	look(&s->timer, now);
}

void mon_drops_del(struct ctl *ctl, struct mon_drops *d)
{
	struct ctl_drops *s = &ctl->drops;

	list_del(&d->link);
	if (!list_empty(&s->clients))
		return;
	timer_cancel(&ctl->in->loop.timers, &s->timer);
	free(s->was);
	s->was = NULL;
	s->cap = s->n = 0;
}

void mon_drops_recount(struct ctl *ctl)
{
	ctl->drops.recount = true;
}

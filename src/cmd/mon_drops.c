/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/mon_drops.h"

#include <stdlib.h>
#include <string.h>

#include "ctl/priv.h"
#include "util/hash.h"

/* A drop counter and its value at the last reading */
struct ctl_drop {
	uint64_t key; /* hash of the names of the counter */
	uint64_t value;
};

static uint64_t key_of(const struct stats_item *it)
{
	struct hash_key k = { 0, 0 };

	k.k0 = hash_siphash(&k, it->layer, strlen(it->layer));
	k.k0 = hash_siphash(&k, it->object, strlen(it->object));
	return hash_siphash(&k, it->name, strlen(it->name));
}

/* Stores a counter that was not at this place of the last reading. Without memory, it is stored at the next reading. */
static void store(struct ctl_drops *s, uint64_t key, uint64_t value)
{
	if (s->at == s->cap) {
		size_t cap = 2 * s->cap + 256;
		struct ctl_drop *v = reallocarray(s->was, cap, sizeof(*v));

		if (!v)
			return;
		s->was = v;
		s->cap = cap;
	}
	s->was[s->at++] = (struct ctl_drop){ key, value };
	s->n = s->at;
}

/*
 * Counters come and go with interfaces, SMs, clients and links. From the first place with another counter than at the
 * last reading, the values are only stored. A counter that became smaller belongs to a new object of the same name.
 */
static void look_drop(void *ctx, const struct stats_item *it)
{
	struct ctl_drops *s = ctx;
	struct mon_drops *d;
	uint64_t key, was;

	if (!it->drop)
		return;
	key = key_of(it);
	if (s->at == s->n || s->was[s->at].key != key) {
		store(s, key, it->value);
		return;
	}
	was = s->was[s->at].value;
	s->was[s->at++].value = it->value;
	if (it->value > was)
		list_for_each (d, &s->clients, link)
			d->grew(d, it, it->value - was, s->now);
}

static void look(struct timer *t, ns_t now)
{
	struct ctl *ctl = container_of(t, struct ctl, drops.timer);
	struct ctl_drops *s = &ctl->drops;

	s->at = 0;
	s->now = now;
	stats_each(ctl, look_drop, s);
	s->n = s->at;
	timer_arm(&ctl->in->loop.timers, t, now + NS_SEC(1));
}

void mon_drops_add(struct ctl *ctl, struct mon_drops *d, ns_t now)
{
	struct ctl_drops *s = &ctl->drops;
	bool first = list_empty(&s->clients);

	list_add_tail(&s->clients, &d->link);
	if (!first)
		return;
	timer_init(&s->timer, look);
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

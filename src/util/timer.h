/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_TIMER_H
#define UTIL_TIMER_H

/*
 * Timers of one domain (a simulation, a daemon): a binary heap ordered by
 * deadline, then by the order of arming, so that runs are reproducible. Time is
 * a parameter; one deadline comes out.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/ns.h"

struct timer;

/* @now is the time given to timers_run(), at or after the deadline. */
typedef void timer_fn(struct timer *t, ns_t now);

struct timer {
	timer_fn *fn;
	ns_t deadline;
	uint64_t seq;
	size_t slot; /* 1-based place in the heap; 0: not armed */
};

struct timers {
	struct timer **heap; /* heap[1..n] */
	size_t n, cap;
	uint64_t seq;
};

void timers_init(struct timers *ts);

/* Releases memory; armed timers become unarmed. */
void timers_fini(struct timers *ts);

/* A zeroed struct timer is valid and unarmed; this names its function. */
static inline void timer_init(struct timer *t, timer_fn *fn)
{
	*t = (struct timer){ .fn = fn };
}

static inline bool timer_armed(const struct timer *t)
{
	return t->slot != 0;
}

/* timer_arm() - Fire at @deadline; re-arms an armed timer. NS_NEVER disarms. */
void timer_arm(struct timers *ts, struct timer *t, ns_t deadline);

/* timer_cancel() - Disarm; no effect on an unarmed timer */
void timer_cancel(struct timers *ts, struct timer *t);

/* timers_next() - The earliest deadline, NS_NEVER if none */
ns_t timers_next(const struct timers *ts);

/* timers_run() - Fire everything due at @now, including what the firing arms at or before @now */
void timers_run(struct timers *ts, ns_t now);

#endif

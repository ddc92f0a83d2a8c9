/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_TIMER_H
#define UTIL_TIMER_H

/*
 * The timers of one simulation or one daemon. They are a binary heap, ordered by deadline, and for
 * equal deadlines in the order in which they were armed. So two runs with the same input fire them
 * in the same order. The timers read no clock: the caller passes the time, and sleeps until
 * timers_next().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/ns.h"

struct timer;

/* @now is the time given to timers_run(), which is the deadline or later. */
typedef void timer_fn(struct timer *t, ns_t now);

struct timer {
	timer_fn *fn;
	ns_t deadline;
	uint64_t seq; /* order of arming, which decides between equal deadlines */
	size_t slot; /* place in the heap, from 1; 0 if not armed */
};

struct timers {
	struct timer **heap; /* heap[1..n] */
	size_t n, cap;
	uint64_t seq; /* value that .seq of the next armed timer gets */
	ns_t now; /* time of the last timers_run(); timer_arm() moves an earlier deadline to .now */
};

void timers_init(struct timers *ts);

/* timers_fini() - Release the memory; armed timers become unarmed */
void timers_fini(struct timers *ts);

/* timer_init() - Set a timer's function. A zeroed struct timer is valid and unarmed */
static inline void timer_init(struct timer *t, timer_fn *fn)
{
	*t = (struct timer){ .fn = fn };
}

static inline bool timer_armed(const struct timer *t)
{
	return t->slot != 0;
}

/*
 * timer_arm() - Arm a timer, which may be armed already, to fire at @deadline. NS_NEVER disarms it.
 */
void timer_arm(struct timers *ts, struct timer *t, ns_t deadline);

/* timer_cancel() - Disarm; no effect on an unarmed timer */
void timer_cancel(struct timers *ts, struct timer *t);

/* timers_first() - Return the timer that fires next, and leave it armed; NULL: none is armed */
struct timer *timers_first(const struct timers *ts);

/* timers_next() - Return the earliest deadline; NS_NEVER if no timer is armed */
ns_t timers_next(const struct timers *ts);

#define TIMERS_RUN_MAX 1024 /* largest number of timers that one call of timers_run() fires */

/**
 * timers_run() - Fire timers that are due at @now
 *
 * A timer that is armed during this call waits for the next call, even if it is due already. So two
 * timers that arm each other fire only once in a call. At most TIMERS_RUN_MAX timers fire.
 * Return: true if timers are still due at @now; then the caller does its other work and calls again
 */
bool timers_run(struct timers *ts, ns_t now);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_NS_H
#define UTIL_NS_H

/*
 * Monotonic time in nanoseconds. Modules that do no I/O read no clock, but get the time from their
 * callers. All other modules read the time by clock_now() (os/clock.h).
 */

#include <stdint.h>

typedef uint64_t ns_t;

#define NS_NEVER UINT64_MAX
#define NS_USEC(n) (1000ull * (ns_t)(n))
#define NS_MSEC(n) (1000000ull * (ns_t)(n))
#define NS_SEC(n) (1000000000ull * (ns_t)(n))

static inline ns_t ns_min(ns_t a, ns_t b)
{
	return a < b ? a : b;
}

static inline ns_t ns_max(ns_t a, ns_t b)
{
	return a > b ? a : b;
}

/*
 * ns_backoff() - Time to wait after a failure: @min after the first failure in a row, and twice as
 * long after each further failure, up to @max. @failures includes the last failure, so it is 1 or
 * more.
 */
static inline ns_t ns_backoff(unsigned int failures, ns_t min, ns_t max)
{
	ns_t delay = min;

	while (failures-- > 1 && delay < max)
		delay *= 2;
	return ns_min(delay, max);
}

#endif

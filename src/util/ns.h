/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_NS_H
#define UTIL_NS_H

/* Monotonic time in nanoseconds. Nothing but the daemon's main loop reads a clock. */

#include <stdint.h>

typedef uint64_t ns_t;

#define NS_NEVER UINT64_MAX
#define NS_USEC(n) ((ns_t)(n)*1000ull)
#define NS_MSEC(n) ((ns_t)(n)*1000000ull)
#define NS_SEC(n) ((ns_t)(n)*1000000000ull)

static inline ns_t ns_min(ns_t a, ns_t b)
{
	return a < b ? a : b;
}

static inline ns_t ns_max(ns_t a, ns_t b)
{
	return a > b ? a : b;
}

#endif

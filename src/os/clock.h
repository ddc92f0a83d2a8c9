/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OS_CLOCK_H
#define OS_CLOCK_H

/*
 * The clock of this program. The functions are inline because libuipoib-umad.so and libuipoib-path.so, which other
 * programs load, contain no other code of src/os.
 */

#include <limits.h>
#include <time.h>

#include "util/ns.h"

/* clock_now() - Read CLOCK_MONOTONIC */
static inline ns_t clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return NS_SEC(t.tv_sec) + (ns_t)t.tv_nsec;
}

/* clock_poll_ms() - Return the time-out of a poll() that waits until @deadline: milliseconds, rounded up; -1 for NS_NEVER */
static inline int clock_poll_ms(ns_t deadline)
{
	ns_t now = clock_now(), left;

	if (deadline == NS_NEVER)
		return -1;
	left = deadline > now ? (deadline - now - 1) / NS_MSEC(1) + 1 : 0;
	return left < INT_MAX ? (int)left : INT_MAX;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OS_YIELD_H
#define OS_YIELD_H

/*
 * DOC: Yielding the CPU to readers
 *
 * A socket has room for only some 280 small datagrams (net.core.rmem_default). If the reader of a socket waits for the CPU
 * of a process that writes more than that, the rest is lost. So the process yields the CPU after YIELD_DATAGRAMS datagrams.
 * TCP super-frames are not counted, because TCP sends no more than its receiver has room for.
 *
 * If another program keeps the CPU for long after a yield, yielding would slow down this process by a multiple. So a long
 * yield is followed by a pause that is YIELD_PAUSE times as long.
 *
 * This file makes no system call. Its owner yields, and measures how long that took.
 */

#include <stdbool.h>

#include "util/timer.h"

#define YIELD_DATAGRAMS 64
/* a yield that takes longer is long; readers of 64 datagrams need 20 to 150 us */
#define YIELD_LONG NS_USEC(500)
#define YIELD_PAUSE 20

/* A zeroed struct is the initial state. */
struct yield {
	unsigned int datagrams; /* written since the last yield */
	ns_t off_until; /* time before which the process does not yield */
};

/* yield_wrote() - Report that @n datagrams were written. Return: true if it is time to yield */
bool yield_wrote(struct yield *y, unsigned int n, ns_t now);

/* yield_took() - Report that a yield is over, at @now, and took the time @took */
void yield_took(struct yield *y, ns_t took, ns_t now);

#endif

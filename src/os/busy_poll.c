/* SPDX-License-Identifier: BSD-2-Clause */
#include "os/busy_poll.h"

#define MISSES_MAX 2

ns_t busy_poll_time(const struct busy_poll *b, ns_t now)
{
	if (b->quick < BUSY_POLL_QUICK || now < b->off_until)
		return 0;
	return BUSY_POLL_TIME >> b->misses;
}

void busy_poll_yielded(struct busy_poll *b, ns_t took, bool ready, ns_t now)
{
	if (took <= BUSY_POLL_YIELD) {
		if (ready)
			b->late = 0;
		return;
	}
	/*
	 * This process got the CPU back late, and a packet has come meanwhile. If this happens
	 * several times in a row, a program that sends the requests or the answers probably runs
	 * on this CPU, too. That program can run only while this process does not poll.
	 */
	if (ready && took <= BUSY_POLL_TIME && ++b->late < BUSY_POLL_LATE)
		return;
	b->late = 0;
	b->off = b->off ? 2 * b->off : BUSY_POLL_OFF_MIN;
	if (b->off > BUSY_POLL_OFF_MAX)
		b->off = BUSY_POLL_OFF_MAX;
	b->off_until = now + b->off;
	b->hits = 0;
}

void busy_poll_hit(struct busy_poll *b)
{
	if (++b->hits < BUSY_POLL_QUICK)
		return;
	b->hits = 0;
	b->off = 0;
}

void busy_poll_missed(struct busy_poll *b)
{
	if (++b->misses < MISSES_MAX)
		return;
	b->misses = 0;
	b->quick = 0;
}

void busy_poll_waited(struct busy_poll *b, ns_t waited)
{
	bool quick =
		waited < BUSY_POLL_TIME && b->frames <= BUSY_POLL_FRAMES && b->frames == b->answers;

	if (!b->frames)
		return; /* the wait ended with a timer, or with an event that is not a frame */
	b->frames = b->answers = 0;
	if (!quick) {
		b->quick = 0;
		return;
	}
	b->misses = 0;
	if (b->quick < BUSY_POLL_QUICK)
		b->quick++;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OS_BUSY_POLL_H
#define OS_BUSY_POLL_H

/*
 * DOC: Busy polling
 *
 * While a process sleeps, its CPU may be in an idle state. When a packet comes, the CPU has to be
 * interrupted and to leave this state, so the process wakes up late. If two programs on different
 * hosts send requests and answers in turn, each request and each answer is delayed by this time.
 * So while the loop can expect an answer soon, it polls its files for a short time instead of
 * sleeping.
 *
 * This file decides when to poll, from times that its owner, the loop, measures. It makes no system
 * call. The loop polls after BUSY_POLL_QUICK short waits in a row. A wait is short if it took less
 * than BUSY_POLL_TIME and ended with at most BUSY_POLL_FRAMES frames, all of them answers. A frame
 * is an answer if it comes from a network device to which a frame was written since the previous
 * wait. So the loop does not poll for a stream of packets, because more than BUSY_POLL_FRAMES of
 * them arrive at a time. It does not poll for the acknowledgements of a stream either, because
 * these are not answers.
 *
 * If a poll finds no file ready, the next poll is half as long. After two such polls the loop
 * sleeps again. The owner yields the CPU while it polls. Two cases show that another program needs
 * the CPU:
 *
 *	- The process gets the CPU back late and finds no packet, or gets the CPU back very late.
 *	- The process gets the CPU back late several times in a row, and finds a packet each time.
 *	  Then all programs run on this CPU, and polling is useless.
 *
 * In both cases the loop does not poll for the time BUSY_POLL_OFF_MIN. Each further pause is twice
 * as long as the pause before, up to BUSY_POLL_OFF_MAX. When BUSY_POLL_QUICK polls since the last
 * pause have found a ready file, the next pause is BUSY_POLL_OFF_MIN again.
 */

#include <stdbool.h>

#include "util/timer.h"

/*
 * Waking up a CPU of a virtual machine takes some 45 us. So the answer of a program that sleeps
 * comes after 50 to 90 us
 */
#define BUSY_POLL_TIME NS_USEC(100)
#define BUSY_POLL_QUICK 8
#define BUSY_POLL_FRAMES 2
/* if the process gets the CPU back later than this after a yield, the CPU was "late" */
#define BUSY_POLL_YIELD NS_USEC(5)
/*
 * if the CPU was late this number of times in a row, the loop stops polling, even if a packet had
 * come each time
 */
#define BUSY_POLL_LATE 4
#define BUSY_POLL_OFF_MIN NS_USEC(500)
#define BUSY_POLL_OFF_MAX NS_MSEC(16)

/* A zeroed struct is the initial state, in which the loop sleeps. */
struct busy_poll {
	unsigned int frames; /* number of frames since the last wait */
	unsigned int answers; /* number of these frames that were answers */
	/* number of short waits in a row, as the DOC comment defines them; at most BUSY_POLL_QUICK */
	unsigned int quick;
	/* number of polls without a ready file since the last short wait */
	unsigned int misses;
	ns_t off_until; /* time before which the loop does not poll */
	ns_t off; /* length of the last pause without polling; 0: none yet, or polling has helped since */
	/* number of times in a row that the CPU was late when a packet had come */
	unsigned int late;
	/* number of polls that found a ready file since the last pause; BUSY_POLL_QUICK of them set .off to 0 */
	unsigned int hits;
};

/* busy_poll_frame() - Report that a frame has come. @answer: the frame is an answer */
static inline void busy_poll_frame(struct busy_poll *b, bool answer)
{
	b->frames++;
	b->answers += answer;
}

/* busy_poll_time() - Return the time to poll before sleeping; 0: sleep at once */
ns_t busy_poll_time(const struct busy_poll *b, ns_t now);

/*
 * busy_poll_yielded() - Report that the process yielded the CPU and got it back after the time
 * @took
 * @ready:	a file is ready now
 */
void busy_poll_yielded(struct busy_poll *b, ns_t took, bool ready, ns_t now);

/*
 * busy_poll_hit() - Report that a file became ready within the time that busy_poll_time() returned
 */
void busy_poll_hit(struct busy_poll *b);

/*
 * busy_poll_missed() - Report that no file became ready within the time that busy_poll_time()
 * returned
 */
void busy_poll_missed(struct busy_poll *b);

/*
 * busy_poll_waited() - Report that a wait of @waited, with or without polling, is over, and that all its events
 * were served
 */
void busy_poll_waited(struct busy_poll *b, ns_t waited);

#endif

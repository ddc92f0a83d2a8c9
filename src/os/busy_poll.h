/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OS_BUSY_POLL_H
#define OS_BUSY_POLL_H

/*
 * DOC: Busy polling
 *
 * A process that sleeps until the next packet comes wakes up late, because its CPU has to be interrupted, and perhaps
 * has to leave an idle state. If two programs on different hosts send requests and answers in turn, each request and
 * each answer is delayed by this time. So the loop polls its files for a short time instead of sleeping, while it can
 * expect an answer soon.
 *
 * This file decides when to poll, from times that its owner measures, and makes no system call. The loop polls after
 * BUSY_POLL_QUICK waits in a row that were shorter than BUSY_POLL_TIME and ended with at most BUSY_POLL_FRAMES
 * frames, all of them answers. A frame is an answer if it comes from a network device to which a frame was written
 * since the previous wait. So the loop does not poll for a stream of packets, of which more than BUSY_POLL_FRAMES
 * arrive at a time, nor for the acknowledgements of a stream, which are not answers.
 *
 * A poll in vain makes the next poll half as long, and after two such polls the loop sleeps again. The owner yields
 * the CPU while it polls. If the process gets the CPU back late and finds no packet, or gets the CPU back very late,
 * another program needs the CPU. If the process gets the CPU back late several times in a row and finds a packet each
 * time, all programs run on this CPU, and polling is useless. In both cases the loop pauses polling for
 * BUSY_POLL_OFF_MIN. Each further pause is twice as long, up to BUSY_POLL_OFF_MAX, until BUSY_POLL_QUICK polls have
 * found a ready file.
 */

#include <stdbool.h>

#include "util/timer.h"

#define BUSY_POLL_TIME NS_USEC(50)
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

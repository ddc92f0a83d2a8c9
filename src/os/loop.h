/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OS_LOOP_H
#define OS_LOOP_H

/*
 * DOC: The main loop
 *
 * A loop has one thread, one epoll set and one struct timers. The clock is read once before the events of a wake-up
 * are served. After these events the owner's work() runs timers and moves packets until nothing is left to do, or its
 * budget is used up. Then the loop sleeps until a file is ready or until the next deadline.
 */

#include <stdbool.h>
#include <stdint.h>

#include "os/busy_poll.h"
#include "util/timer.h"

struct loop;

/*
 * A descriptor that may be watched, embedded in its owner. Before the first loop_watch(), .fd is -1 and all other
 * members are zero.
 */
struct loop_fd {
	int fd;
	uint32_t events; /* the events of the last loop_watch() (EPOLLIN ...) */
	void (*fn)(struct loop_fd *f, uint32_t events, ns_t now);
};

struct loop {
	int epfd;
	bool stop;
	ns_t now;
	uint64_t turns; /* number of wake-ups that were handled */
	struct busy_poll poll; /* the owner reports frames by busy_poll_frame() */
	struct timers timers;
	/*
	 * Function that runs after the events of each wake-up. If it returns true, there is more to
	 * do, and the loop does not sleep.
	 */
	bool (*work)(void *ctx, ns_t now);
	void *ctx;
};

/* loop_init() - Initialize a loop. Return: 0 or -errno */
int loop_init(struct loop *l);
void loop_fini(struct loop *l);

/*
 * loop_watch() - Watch @fd for @events, or change the events that are watched. Return: 0 or -errno
 */
int loop_watch(struct loop *l, struct loop_fd *f, int fd, uint32_t events,
	       void (*fn)(struct loop_fd *f, uint32_t events, ns_t now));
/*
 * loop_unwatch() - Stop watching a descriptor. The caller must do so before it closes the
 * descriptor. Allowed inside any callback, and for a descriptor that is not watched
 */
void loop_unwatch(struct loop *l, struct loop_fd *f);

/*
 * loop_turn() - Sleep until an event, at most until @until, and handle the events
 * @busy:	true to handle waiting events without sleeping; on return, true if there is more to do
 *
 * Return: 0 or -errno of epoll
 */
int loop_turn(struct loop *l, bool *busy, ns_t until);

/* loop_run() - Run until loop_stop() is called. Return: 0 or -errno of epoll */
int loop_run(struct loop *l);
static inline void loop_stop(struct loop *l)
{
	l->stop = true;
}

#endif

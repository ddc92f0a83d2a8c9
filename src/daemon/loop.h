/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_LOOP_H
#define DAEMON_LOOP_H

/*
 * DOC: The main loop
 *
 * One thread, one epoll set, one timer domain. This is the only place where a clock
 * is read: once before the events of a wake-up are served. After them the owner's settle()
 * runs timers and moves packets until nothing is left to do, or its budget is used up;
 * then the loop sleeps until a file is ready or the next deadline.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/timer.h"

struct loop;

/* A watched descriptor, embedded in its owner. Zeroed with fd -1: not watched. */
struct loop_fd {
	int fd;
	uint32_t events; /* EPOLLIN ... as last asked for */
	void (*fn)(struct loop_fd *f, uint32_t events, ns_t now);
};

struct loop {
	int epfd;
	bool stop;
	ns_t now;
	struct timers timers;
	/* Runs after the events of each wake-up; true: there is more to do, do not sleep. */
	bool (*settle)(void *ctx, ns_t now);
	void *ctx;
};

/* 0 or -errno */
int loop_init(struct loop *l);
void loop_fini(struct loop *l);

/* loop_clock() - CLOCK_MONOTONIC now */
ns_t loop_clock(void);

/* loop_watch() - Watch @fd for @events, or change what is watched. 0 or -errno */
int loop_watch(struct loop *l, struct loop_fd *f, int fd, uint32_t events,
	       void (*fn)(struct loop_fd *f, uint32_t events, ns_t now));
/* loop_unwatch() - Before the descriptor is closed; safe inside any callback, and twice */
void loop_unwatch(struct loop *l, struct loop_fd *f);

/*
 * loop_turn() - One wake-up, which comes at @until at the latest
 * @busy:	true: do not sleep; on return whether there is more to do
 *
 * Return: 0 or -errno of epoll
 */
int loop_turn(struct loop *l, bool *busy, ns_t until);

/* loop_run() - Until loop_stop(). 0 or -errno of epoll */
int loop_run(struct loop *l);
static inline void loop_stop(struct loop *l)
{
	l->stop = true;
}

#endif

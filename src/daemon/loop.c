/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/loop.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define LOOP_EVENTS 64

ns_t loop_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return NS_SEC(ts.tv_sec) + (ns_t)ts.tv_nsec;
}

int loop_init(struct loop *l)
{
	memset(l, 0, sizeof(*l));
	timers_init(&l->timers);
	l->now = loop_clock();
	l->epfd = epoll_create1(EPOLL_CLOEXEC);
	return l->epfd < 0 ? -errno : 0;
}

void loop_fini(struct loop *l)
{
	timers_fini(&l->timers);
	if (l->epfd >= 0)
		close(l->epfd);
	l->epfd = -1;
}

int loop_watch(struct loop *l, struct loop_fd *f, int fd, uint32_t events,
	       void (*fn)(struct loop_fd *f, uint32_t events, ns_t now))
{
	struct epoll_event ev = { .events = events, .data.ptr = f };
	int op = f->fn && f->fd == fd ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (op == EPOLL_CTL_MOD && f->events == events) {
		f->fn = fn;
		return 0;
	}
	if (epoll_ctl(l->epfd, op, fd, &ev) < 0)
		return -errno;
	*f = (struct loop_fd){ .fd = fd, .events = events, .fn = fn };
	return 0;
}

void loop_unwatch(struct loop *l, struct loop_fd *f)
{
	if (!f->fn)
		return;
	epoll_ctl(l->epfd, EPOLL_CTL_DEL, f->fd, NULL);
	f->fn = NULL; /* an event of this wake-up that is still to come is skipped */
	f->fd = -1;
}

static int loop_wait(struct loop *l, struct epoll_event *ev, bool busy, ns_t until)
{
	ns_t next = timers_next(&l->timers);
	struct timespec ts = { 0 }, *timeout = &ts;

	if (next > until)
		next = until;
	if (!busy && next == NS_NEVER) {
		timeout = NULL;
	} else if (!busy && next > l->now) {
		ts.tv_sec = (time_t)((next - l->now) / NS_SEC(1));
		ts.tv_nsec = (long)((next - l->now) % NS_SEC(1));
	}
	return epoll_pwait2(l->epfd, ev, LOOP_EVENTS, timeout, NULL);
}

/*
 * An owner that is freed by one callback of a wake-up must not be called by a later event of the
 * same wake-up. loop_unwatch() clears fn, but the memory may be gone: owners are freed by timers or
 * in settle(), never inside the event loop below.
 */
int loop_turn(struct loop *l, bool *busy, ns_t until)
{
	struct epoll_event ev[LOOP_EVENTS];
	int n = loop_wait(l, ev, *busy, until);

	if (n < 0 && errno != EINTR)
		return -errno;
	l->now = loop_clock();
	for (int i = 0; i < n; i++) {
		struct loop_fd *f = ev[i].data.ptr;

		if (f->fn)
			f->fn(f, ev[i].events, l->now);
	}
	*busy = l->settle && l->settle(l->ctx, l->now);
	return 0;
}

int loop_run(struct loop *l)
{
	bool busy = true;
	int err = 0;

	while (!err && !l->stop)
		err = loop_turn(l, &busy, NS_NEVER);
	return err;
}

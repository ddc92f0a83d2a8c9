/* SPDX-License-Identifier: BSD-2-Clause */
#include "os/loop.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"

#define LOOP_EVENTS 64

int loop_init(struct loop *l)
{
	memset(l, 0, sizeof(*l));
	timers_init(&l->timers);
	l->now = clock_now();
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
	/* while .fn is NULL, loop_turn() ignores later events of this descriptor in the same wake-up */
	f->fn = NULL;
	f->fd = -1;
}

/*
 * Wait by epoll_pwait2(), or by epoll_wait() where the kernel is older than Linux 5.11 or a sandbox
 * refuses epoll_pwait2(). epoll_wait() sleeps for whole milliseconds, so the time is rounded up.
 */
static int wait_events(int epfd, struct epoll_event *ev, const struct timespec *timeout)
{
	int n = epoll_pwait2(epfd, ev, LOOP_EVENTS, timeout, NULL);
	int64_t ms = -1;

	if (n >= 0 || (errno != ENOSYS && errno != EPERM))
		return n;
	if (timeout)
		ms = (int64_t)timeout->tv_sec * 1000 + (timeout->tv_nsec + 999999) / 1000000;
	return epoll_wait(epfd, ev, LOOP_EVENTS, ms > INT_MAX ? INT_MAX : (int)ms);
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
	return wait_events(l->epfd, ev, timeout);
}

/*
 * Busy polling: looks at the files again and again, without sleeping, for as long as
 * busy_poll_time() expects an answer to a frame (os/busy_poll.h). Return: as epoll_wait(); 0: no
 * file became ready in this time, or no answer is expected
 */
static int poll_events(struct loop *l, struct epoll_event *ev, ns_t began, ns_t until)
{
	ns_t next = timers_next(&l->timers), end = began + busy_poll_time(&l->poll, began);
	static const struct timespec at_once;
	ns_t now = began;
	int n;

	end = end < next ? end : next;
	end = end < until ? end : until;
	if (end <= began)
		return 0;
	n = wait_events(l->epfd, ev, &at_once);
	while (!n && now < end) {
		ns_t before = clock_now();

		sched_yield();
		n = wait_events(l->epfd, ev, &at_once);
		now = clock_now();
		busy_poll_yielded(&l->poll, now - before, n > 0, now);
		if (!n && !busy_poll_time(&l->poll, now))
			return 0;
	}
	if (n > 0)
		busy_poll_hit(&l->poll);
	else if (!n)
		busy_poll_missed(&l->poll);
	return n;
}

/*
 * Callbacks must not free the owner of a struct loop_fd, because a later event of the same wake-up
 * can still refer to the struct. loop_unwatch() clears .fn so that this event is ignored, but
 * reading .fn is allowed only while the struct exists. So owners are freed by timers or in work(),
 * never inside the loop over the events below.
 */
int loop_turn(struct loop *l, bool *busy, ns_t until)
{
	struct epoll_event ev[LOOP_EVENTS];
	ns_t began = l->now = clock_now(), waited;
	int n = *busy ? 0 : poll_events(l, ev, began, until);

	if (!n)
		n = loop_wait(l, ev, *busy, until);
	if (n < 0 && errno != EINTR)
		return -errno;
	l->now = clock_now();
	waited = l->now - began;
	l->turns++;
	for (int i = 0; i < n; i++) {
		struct loop_fd *f = ev[i].data.ptr;

		if (f->fn)
			f->fn(f, ev[i].events, l->now);
	}
	*busy = l->work && l->work(l->ctx, l->now);
	busy_poll_waited(&l->poll, waited);
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

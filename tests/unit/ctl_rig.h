/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UNIT_CTL_RIG_H
#define UNIT_CTL_RIG_H

/*
 * The control server, with all commands, on an instance to which a test may add fabrics. The test
 * runs the loop round by round, and time is virtual.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "cmd/cmd.h"
#include "ctl/ctl.h"
#include "ctl/priv.h"
#include "inst/fab.h"
#include "inst_rig.h"

struct ctl_rig {
	struct inst in;
	struct ctl ctl;
	int peer; /* the client's end of the connection under test; -1: none */
	int fd; /* descriptor that cmd_rig_request() sends with the next request; -1: none */
	ns_t now;
};

static inline int ctl_rig_init(struct ctl_rig *r)
{
	if (inst_rig_init(&r->in))
		return -1;
	snprintf(r->in.cfg.name, sizeof(r->in.cfg.name), "test");
	r->now = r->in.loop.now;
	r->peer = -1;
	r->fd = -1;
	ctl_init(&r->ctl, &r->in, cmd_tables);
	return 0;
}

static inline void ctl_rig_drop_clients(struct ctl_rig *r)
{
	struct ctl_client *c, *tmp;

	if (r->peer >= 0)
		close(r->peer);
	r->peer = -1;
	list_for_each_safe (c, tmp, &r->ctl.clients, link) {
		ctl_client_drop(c);
		ctl_client_free(c);
	}
	timer_cancel(&r->in.loop.timers, &r->ctl.reaper);
}

static inline void ctl_rig_fini(struct ctl_rig *r)
{
	ctl_rig_drop_clients(r);
	for (unsigned int i = 0; i < r->in.nfabs; i++)
		fab_destroy(r->in.fab[i]);
	free(r->in.fab);
	assert_int_equal(pkt_pool_pkts_used(r->in.pool), 0);
	pkt_pool_destroy(r->in.pool);
	loop_fini(&r->in.loop);
}

static inline int ctl_rig_setup(void **state)
{
	struct ctl_rig *r = calloc(1, sizeof(*r));

	*state = r;
	return r ? ctl_rig_init(r) : -1;
}

static inline int ctl_rig_teardown(void **state)
{
	ctl_rig_fini(*state);
	free(*state);
	return 0;
}

/* Serve the ready descriptors once. Returns true if there were any. */
static inline bool ctl_rig_serve(struct ctl_rig *r)
{
	struct epoll_event ev[16];
	int n = epoll_wait(r->in.loop.epfd, ev, 16, 0);

	r->in.loop.now = r->now; /* inst_work() may have stored the real time */
	for (int i = 0; i < n; i++) {
		struct loop_fd *f = ev[i].data.ptr;

		if (f->fn)
			f->fn(f, ev[i].events, r->now);
	}
	return n > 0;
}

/* Serve the ready descriptors and run the due timers once. Returns true if there is more to do. */
static inline bool ctl_rig_spin_once(struct ctl_rig *r)
{
	bool served = ctl_rig_serve(r);

	timers_run(&r->in.loop.timers, r->now);
	/*
	 * A timer that runs in this round may arm a timer that is due at once, such as the timer
	 * that removes clients. The new timer runs in the next round.
	 */
	return served || timers_next(&r->in.loop.timers) <= r->now;
}

/*
 * Run the loop until it is idle. The test fails if the loop does not become idle, for example
 * because a connection keeps it busy.
 */
static inline void ctl_rig_spin(struct ctl_rig *r)
{
	for (int i = 0; i < 10000; i++)
		if (!ctl_rig_spin_once(r))
			return;
	fail_msg("the loop does not come to rest");
}

static inline int ctl_rig_client(struct ctl_rig *r)
{
	int s[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s), 0);
	assert_int_equal(ctl_client_add(&r->ctl.control, s[0]), 0);
	return s[1];
}

/*
 * Read the text that has arrived at @fd, at most @size - 1 octets. *@ret_eof becomes true if the
 * peer has closed the connection after this text.
 */
static inline char *ctl_rig_hear(int fd, char *buf, size_t size, bool *ret_eof)
{
	size_t len = 0;
	ssize_t n = -1;

	while (len < size - 1 && (n = recv(fd, buf + len, size - 1 - len, 0)) > 0)
		len += (size_t)n;
	buf[len] = '\0';
	*ret_eof = n == 0 || (n < 0 && errno == ECONNRESET);
	return buf;
}

#endif

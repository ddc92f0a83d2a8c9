/* SPDX-License-Identifier: BSD-2-Clause */
#include "run/ready.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/clock.h"
#include "util/escape.h"

/*
 * Parse $NOTIFY_SOCKET, the address of the service manager's socket: a path, or an abstract name
 * with '@' in place of its first NUL.
 */
static int manager_address(struct ready *r, const char *where)
{
	size_t len = strlen(where);

	if ((*where != '/' && *where != '@') || len < 2 || len >= sizeof(r->to.sun_path))
		return cli_error(PROTO_EXIT_ENV,
				 "NOTIFY_SOCKET: '%s', expected a path, or '@' and a name, of at "
				 "most %zu octets",
				 where, sizeof(r->to.sun_path) - 1);
	r->to.sun_family = AF_UNIX;
	memcpy(r->to.sun_path, where, len);
	if (*where == '@')
		r->to.sun_path[0] = '\0';
	r->to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	r->sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (r->sock < 0)
		return cli_error(PROTO_EXIT_ENV, "NOTIFY_SOCKET: socket: %s", strerror(errno));
	return 0;
}

/* $WATCHDOG_USEC is for the process that $WATCHDOG_PID names, or for any process if $WATCHDOG_PID is not set. */
static int watchdog_time(struct ready *r, const char *usec)
{
	const char *pid = getenv("WATCHDOG_PID");
	unsigned long long n;
	char *end;

	if (pid && strtoll(pid, NULL, 10) != getpid())
		return 0;
	errno = 0;
	n = strtoull(usec, &end, 10);
	if (errno || *end || *usec < '0' || *usec > '9' || n < 1000 || n / 1000 > INT_MAX)
		return cli_error(PROTO_EXIT_ENV,
				 "WATCHDOG_USEC: '%s', expected microseconds, at least 1000", usec);
	r->watchdog_ms = (long long)(n / 1000);
	return 0;
}

static int check_fd(int fd)
{
	if (fd < 0 || fcntl(fd, F_GETFD) >= 0)
		return 0;
	return cli_error(PROTO_EXIT_USAGE, "--ready-fd %d: %s", fd, strerror(errno));
}

int ready_init(struct ready *r, int fd)
{
	const char *where = getenv("NOTIFY_SOCKET"), *usec = getenv("WATCHDOG_USEC");
	int status = check_fd(fd);

	*r = (struct ready){ .fd = fd, .sock = -1 };
	if (!status && where && *where)
		status = manager_address(r, where);
	if (!status && r->sock >= 0 && usec && *usec)
		status = watchdog_time(r, usec);
	if (fd >= 0 && !status)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	return status;
}

bool ready_wanted(const struct ready *r)
{
	return r->fd >= 0 || r->sock >= 0;
}

static void notify(const struct ready *r, const char *text)
{
	if (r->sock >= 0)
		sendto(r->sock, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&r->to,
		       r->to_len);
}

/* Write the newline of --ready-fd, unless the pipe is full or has no reader any more. */
static void newline(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	void (*old)(int) = signal(SIGPIPE, SIG_IGN);

	if (poll(&p, 1, 0) != 1 || write(fd, "\n", 1) != 1)
		cli_error(0, "--ready-fd %d: nobody reads it", fd);
	signal(SIGPIPE, old);
}

void ready_up(struct ready *r)
{
	r->up = true;
	notify(r, "READY=1\nSTATUS=all interfaces are up");
	if (r->fd < 0)
		return;
	newline(r->fd);
	close(r->fd);
	r->fd = -1;
}

void ready_waits(const struct ready *r, const char *why)
{
	char line[512];
	struct text t = TEXT_IN(line);

	text_add(&t, "STATUS=");
	text_add_escaped(&t, why);
	notify(r, line);
}

void ready_reloads(const struct ready *r, const char *outcome)
{
	char line[512];
	struct text t = TEXT_IN(line);

	/*
	 * Send nothing before the interfaces are up, because READY=1, which ends a reload, would
	 * report that the interfaces are up.
	 */
	if (!r->up)
		return;
	if (!outcome) {
		/* The manager compares MONOTONIC_USEC with the time of its own request (Type=notify-reload). */
		text_add(&t, "RELOADING=1\nMONOTONIC_USEC=%llu",
			 (unsigned long long)(clock_now() / NS_USEC(1)));
	} else {
		text_add(&t, "READY=1\nSTATUS=");
		text_add_escaped(&t, outcome);
	}
	notify(r, line);
}

void ready_alive(const struct ready *r)
{
	notify(r, "WATCHDOG=1");
}

void ready_stops(const struct ready *r)
{
	notify(r, "STOPPING=1");
}

void ready_close(struct ready *r)
{
	if (r->sock >= 0)
		close(r->sock);
	if (r->fd >= 0)
		close(r->fd);
	r->sock = r->fd = -1;
}

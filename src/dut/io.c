/* SPDX-License-Identifier: BSD-2-Clause */
#include "dut/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmdline/cmdline.h"
#include "os/clock.h"
#include "os/sockaddr.h"

#define RCVBUF (4 * 1024 * 1024)

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = 1;
}

static ns_t wall_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return NS_SEC(t.tv_sec) + (ns_t)t.tv_nsec;
}

static ns_t now(void *ctx)
{
	const struct conform_outside *o = ctx;

	return clock_now() + o->epoch;
}

static void send_datagram(void *ctx, const void *data, size_t len)
{
	const struct conform_outside *o = ctx;
	union sockaddr_ip to;
	socklen_t n = sockaddr_of(&to, &o->dut);

	/*
	 * A datagram that cannot be sent is lost, as on any link. ECONNREFUSED may be due to an
	 * earlier datagram (ICMP), so try again once.
	 */
	if (sendto(o->fd, data, len, MSG_DONTWAIT, &to.sa, n) < 0 && errno == ECONNREFUSED)
		sendto(o->fd, data, len, MSG_DONTWAIT, &to.sa, n);
}

/* --- processes that the hook has started */

/*
 * Ends the processes that a step has left in its process group, and then reaps the step's process. The other order
 * would be wrong: as soon as the process is reaped, its pid may become that of another process group.
 */
static int end_step(struct conform_step *s)
{
	int status = 0;

	kill(-s->pid, SIGKILL);
	waitpid(s->pid, &status, 0);
	s->pid = 0;
	return status;
}

static bool has_ended(const struct conform_step *s)
{
	siginfo_t info = { 0 };

	return !waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid;
}

static void reap(struct conform_outside *o)
{
	for (unsigned int i = 0; i < CONFORM_HOOKS; i++) {
		struct conform_step *s = &o->step[i];

		if (!s->pid)
			continue;
		if (has_ended(s)) {
			bool last = s->pid == o->last;
			int status = end_step(s);

			if (last)
				o->last_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
		} else if (clock_now() - s->began > CONFORM_HOOK_TIME) {
			end_step(s);
		}
	}
}

static struct conform_step *place(struct conform_outside *o)
{
	struct conform_step *oldest = o->step;

	reap(o);
	for (unsigned int i = 0; i < CONFORM_HOOKS; i++) {
		if (!o->step[i].pid)
			return &o->step[i];
		if (o->step[i].began < oldest->began)
			oldest = &o->step[i];
	}
	end_step(oldest);
	return oldest;
}

static _Noreturn void child(const struct conform_outside *o, const char *step)
{
	char command[PATH_MAX + 256];
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	/*
	 * The texts of steps consist of letters, digits and ".:% -" only, so they need no quoting
	 */
	snprintf(command, sizeof(command), "%s %s", o->hook, step);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

static int hook(void *ctx, const char *step)
{
	struct conform_outside *o = ctx;
	struct conform_step *s = place(o);
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0)
		child(o, step);
	setpgid(pid, pid);
	*s = (struct conform_step){ pid, clock_now() };
	o->last = pid;
	o->last_status = -EAGAIN;
	return 0;
}

static int hook_status(void *ctx)
{
	struct conform_outside *o = ctx;

	reap(o);
	return o->last_status;
}

/* --- receiving */

static int recv_datagram(void *ctx, void *buf, size_t size, struct ip_endpoint *ret_from,
			 ns_t deadline)
{
	struct conform_outside *o = ctx;
	struct pollfd p = { .fd = o->fd, .events = POLLIN };
	union sockaddr_ip from = { 0 };
	socklen_t len = sizeof(from);
	ns_t t = now(o), wait = deadline > t ? deadline - t : 0;
	struct timespec ts;
	ssize_t n;

	if (interrupted)
		return -EINTR;
	wait = ns_min(wait, NS_SEC(1));
	ts = (struct timespec){ .tv_sec = (time_t)(wait / NS_SEC(1)),
				.tv_nsec = (long)(wait % NS_SEC(1)) };
	if (ppoll(&p, 1, &ts, &o->wait_mask) < 0)
		return interrupted ? -EINTR : -EAGAIN;
	reap(o);
	n = recvfrom(o->fd, buf, size, MSG_DONTWAIT | MSG_TRUNC, &from.sa, &len);
	if (n < 0)
		return -EAGAIN;
	*ret_from = endpoint_of(&from);
	return (int)n;
}

static FILE *capture(void *ctx, const char *case_id)
{
	const struct conform_outside *o = ctx;
	char name[64], path[PATH_MAX];
	FILE *f;

	snprintf(name, sizeof(name), "%s", case_id);
	for (char *p = name; *p; p++)
		if (*p == '/')
			*p = '-';
	snprintf(path, sizeof(path), "%s/%s.pcap", o->pcap_dir, name);
	f = fopen(path, "we");
	if (!f)
		cli_error(PROTO_EXIT_ENV, "conform: %s: %s", path, strerror(errno));
	return f;
}

static void packet_seen(void *ctx, const struct seen *s)
{
	const struct conform_outside *o = ctx;

	fixtures_add(o->fixtures, s);
}

/* --- open and close */

static void set_signals(struct conform_outside *o)
{
	struct sigaction sa = { .sa_handler = on_signal };
	sigset_t block;

	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigprocmask(SIG_BLOCK, &block, &o->wait_mask);
	sigdelset(&o->wait_mask, SIGINT);
	sigdelset(&o->wait_mask, SIGTERM);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

int conform_outside_open(struct conform_outside *o, const struct ip_endpoint *listen)
{
	const int size = RCVBUF;
	union sockaddr_ip a;
	socklen_t len = sockaddr_of(&a, listen);

	o->fd = socket(a.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (o->fd < 0)
		return -errno;
	if (bind(o->fd, &a.sa, len) < 0) {
		int err = -errno;

		close(o->fd);
		return err;
	}
	if (setsockopt(o->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
		setsockopt(o->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	set_signals(o);
	o->epoch = wall_clock() - clock_now();
	o->io = (struct world_io){
		.ctx = o,
		.now = now,
		.send = send_datagram,
		.recv = recv_datagram,
		.hook = o->hook ? hook : NULL,
		.hook_status = hook_status,
		.capture = o->pcap_dir ? capture : NULL,
		.seen = o->fixtures ? packet_seen : NULL,
	};
	return 0;
}

void conform_outside_close(struct conform_outside *o)
{
	for (unsigned int i = 0; i < CONFORM_HOOKS; i++)
		if (o->step[i].pid)
			end_step(&o->step[i]);
	close(o->fd);
}

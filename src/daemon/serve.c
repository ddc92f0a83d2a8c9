/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/ctl.h"
#include "daemon/inst.h"
#include "daemon/proto.h"
#include "daemon/umad.h"
#include "netdev/privs.h"

#define STOP_PATIENCE_MS 5000

struct log_out {
	int fd;
	ns_t t0;
};

static void emit(void *ctx, enum log_level lvl, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

static void emit(void *ctx, enum log_level lvl, const char *fmt, va_list ap)
{
	static const char *const prefix[] = { "error: ", "warning: ", "", "debug: " };
	const struct log_out *o = ctx;
	char line[1024];
	ns_t t = loop_clock() - o->t0;
	int n = snprintf(line, sizeof(line), "%llu.%06llu %s", (unsigned long long)(t / NS_SEC(1)),
			 (unsigned long long)(t % NS_SEC(1) / 1000), prefix[lvl]);

	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
	if ((size_t)n > sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	if (write(o->fd, line, (size_t)n) < 0)
		return; /* nobody reads the log: nothing to be done about it */
}

static void on_signal(struct loop_fd *fd, uint32_t events, ns_t now)
{
	struct inst *in = container_of(fd, struct inst, signal_fd);
	struct signalfd_siginfo si;

	(void)events;
	(void)now;
	if (read(fd->fd, &si, sizeof(si)) == sizeof(si))
		loop_stop(&in->loop);
}

/* Its own: what the supervisor asks for, and only when the loop runs. */
static int watch_signals(struct inst *in)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : loop_watch(&in->loop, &in->signal_fd, fd, EPOLLIN, on_signal);
}

static int exit_status_of(const struct inst *in, int err)
{
	if (in->env_lacks)
		return PROTO_EXIT_ENV;
	switch (err) {
	case -EPERM:
	case -EACCES:
	case -EROFS:
	case -ENOSPC: /* a full disk; user.max_net_namespaces */
	case -EMFILE:
	case -ENFILE:
		return PROTO_EXIT_ENV;
	case -ENOMEM:
	case -EIO:
		return PROTO_EXIT_FAILED;
	default:
		return PROTO_EXIT_USAGE;
	}
}

static int build(struct inst **ret, const struct serve_cfg *cfg, const struct log_sink *log,
		 char err[INST_ERR_MAX])
{
	struct inst_cfg ic = { .log = *log };
	int status;

	snprintf(ic.name, sizeof(ic.name), "%s", cfg->name);
	status = inst_create(ret, &ic, err);
	if (status) /* whatever it is, it is not the user's file */
		return status == -ENOMEM ? PROTO_EXIT_FAILED : PROTO_EXIT_ENV;
	status = watch_signals(*ret);
	if (status) {
		snprintf(err, INST_ERR_MAX, "signalfd: %s", strerror(-status));
		return PROTO_EXIT_FAILED;
	}
	status = ctl_open(*ret, err);
	if (status) /* the name is taken, or there is no place for a socket */
		return status == -EADDRINUSE ? PROTO_EXIT_USAGE : PROTO_EXIT_ENV;
	status = umad_open(*ret, err);
	if (status)
		return PROTO_EXIT_ENV;
	status = inst_load(*ret, cfg->conf, cfg->topo, err);
	return status ? exit_status_of(*ret, status) : 0;
}

/* The leak checker of a sanitized build looks at the process with calls that the filter denies. */
#if defined(__SANITIZE_ADDRESS__)
#define FILTER_CALLS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FILTER_CALLS 0
#endif
#endif
#ifndef FILTER_CALLS
#define FILTER_CALLS 1
#endif

static int drop_privileges(char err[INST_ERR_MAX])
{
	int status = privs_drop_caps(0);

	if (!status && FILTER_CALLS)
		status = privs_seccomp(PRIVS_FILES);
	if (status == -EOPNOTSUPP)
		status = 0;
	if (status)
		snprintf(err, INST_ERR_MAX, "dropping privileges: %s", strerror(-status));
	return status ? PROTO_EXIT_ENV : 0;
}

static void report(int fd, int status, const char *err)
{
	char msg[INST_ERR_MAX + 1];
	size_t n = strlen(err);

	msg[0] = (char)status;
	memcpy(msg + 1, err, n);
	if (write(fd, msg, n + 1) < 0)
		return; /* the supervisor is gone, and so are we */
	close(fd);
}

static int daemon_main(const struct serve_cfg *cfg, int ready_fd)
{
	struct log_out out = { .fd = cfg->log_fd, .t0 = loop_clock() };
	struct log_sink log = { .ctx = &out, .max = cfg->verbosity };
	char err[INST_ERR_MAX] = "";
	struct inst *in = NULL;
	int status;

	if (cfg->log_fd >= 0)
		log.emit = emit;
	status = build(&in, cfg, &log, err);
	if (!status)
		status = drop_privileges(err);
	report(ready_fd, status, err);
	if (!status && (loop_run(&in->loop) || in->broken))
		status = PROTO_EXIT_FAILED;
	if (in) {
		umad_close(in);
		ctl_close(in);
	}
	inst_destroy(in);
	return status;
}

/*
 * Signals of the terminal go to the whole process group: the supervisor decides what comes of them,
 * with SIGTERM, which waits until the daemon's loop looks at it.
 */
static void child(const struct serve_cfg *cfg, int ready_fd, pid_t parent, const sigset_t *mask)
	__attribute__((noreturn));

static void child(const struct serve_cfg *cfg, int ready_fd, pid_t parent, const sigset_t *mask)
{
	sigset_t set = *mask;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(PROTO_EXIT_FAILED);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_SETMASK, &set, NULL);
	exit(daemon_main(cfg, ready_fd));
}

int serve_start(struct serve *s, const struct serve_cfg *cfg)
{
	pid_t parent = getpid(), pid;
	sigset_t all, mask;
	int fds[2], err;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	fflush(NULL);
	/* The supervisor's handlers are not the daemon's. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &mask);
	pid = fork();
	err = -errno;
	if (!pid) {
		close(fds[0]);
		child(cfg, fds[1], parent, &mask);
	}
	sigprocmask(SIG_SETMASK, &mask, NULL);
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return err;
	}
	s->pid = pid;
	s->ready_fd = fds[0];
	snprintf(s->name, sizeof(s->name), "%s", cfg->name);
	return 0;
}

int serve_ready(struct serve *s, char *err, size_t err_len)
{
	char msg[INST_ERR_MAX + 1];
	size_t len = 0;
	ssize_t n;

	while (len < sizeof(msg) - 1) {
		n = read(s->ready_fd, msg + len, sizeof(msg) - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	close(s->ready_fd);
	s->ready_fd = -1;
	msg[len] = '\0';
	if (!len) {
		snprintf(err, err_len, "the daemon ended before it was ready");
		return PROTO_EXIT_FAILED;
	}
	snprintf(err, err_len, "%s", msg + 1);
	return (unsigned char)msg[0];
}

static int reap(struct serve *s, int patience_ms)
{
	int status;

	for (;;) {
		pid_t pid = waitpid(s->pid, &status, patience_ms > 0 ? WNOHANG : 0);

		if (pid == s->pid)
			break;
		if (pid < 0 && errno != EINTR)
			return -errno;
		if (pid == 0) {
			poll(NULL, 0, 10);
			patience_ms -= 10;
			if (patience_ms <= 0)
				return -ETIMEDOUT;
		}
	}
	s->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int serve_stop(struct serve *s)
{
	int status;

	if (s->pid <= 0)
		return 0;
	if (s->ready_fd >= 0)
		close(s->ready_fd);
	kill(s->pid, SIGTERM);
	status = reap(s, STOP_PATIENCE_MS);
	if (status == -ETIMEDOUT) {
		kill(s->pid, SIGKILL);
		status = reap(s, 0);
	}
	if (status > 128) /* it could not clean up: its socket is still there */
		proto_unlink(s->name);
	return status;
}

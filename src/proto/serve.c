/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/journal.h"
#include "proto/proto.h"
#include "os/progress.h"

/*
 * Time that serve_stop() waits for the daemon. On a busy machine the kernel takes many seconds to
 * remove the network namespaces of some hundred hosts.
 */
#define STOP_PATIENCE_MS 30000

/* --- the log */

#define LOG_PATIENCE_S 1 /* time for the last lines of the log, after the daemon has ended */

struct serve_log {
	pthread_t thread;
	int sock, fd; /* .sock is read, .fd is written */
};

/*
 * Relay the log until the daemon has ended. If the reader of the log is slow or never reads, only
 * this thread waits.
 */
static void *relay(void *arg)
{
	struct serve_log *l = arg;
	char buf[16384];
	bool readers = true;
	ssize_t n;

	while ((n = read(l->sock, buf, sizeof(buf))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0 && readers) {
			progress_hide();
			readers = !fd_write_all(l->fd, buf, (size_t)n);
		}
	return NULL;
}

/*
 * Start the thread that relays the log. The caller has blocked all signals. The thread inherits the
 * signal mask, so no signal interrupts it, not even SIGPIPE.
 */
static int log_start(struct serve_log **ret, int sock, int fd)
{
	struct serve_log *l = malloc(sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	l->sock = sock;
	l->fd = fd;
	err = pthread_create(&l->thread, NULL, relay, l);
	if (err) {
		free(l);
		return -err;
	}
	*ret = l;
	return 0;
}

static void log_end(struct serve_log *l)
{
	struct timespec until;

	if (!l)
		return;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LOG_PATIENCE_S;
	if (pthread_timedjoin_np(l->thread, NULL, &until)) {
		/*
		 * The thread still waits for the reader of the log, so do not join the thread. The
		 * thread ends with this process.
		 */
		pthread_detach(l->thread);
		return;
	}
	close(l->sock);
	free(l);
}

/* --- the daemon's process and its supervisor */

/*
 * Run the daemon in this process. The terminal sends SIGINT and SIGHUP to the whole process group.
 * The daemon ignores both signals, and the supervisor ends the daemon by SIGTERM. This signal stays
 * blocked until the daemon's loop is ready to read it.
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
	exit(cfg->run(cfg, ready_fd));
}

/* Runs in the daemon. @log_sock: socket for the log; -1 if there is no log */
static void become_daemon(const struct serve_cfg *cfg, int log_sock, int ready_fd, pid_t parent,
			  const sigset_t *mask)
{
	struct serve_cfg mine = *cfg;

	mine.journal = journal_open(cfg->log_fd);
	mine.log_fd = log_sock;
	/*
	 * child() checks after this call that the parent still runs, so @parent cannot have become
	 * the pid of another process before the call.
	 */
	mine.supervisor = pidfd_open(parent, 0);
	child(&mine, ready_fd, parent, mask);
}

/* Fork the daemon's process. The caller has blocked all signals. */
static int start(struct serve *s, const struct serve_cfg *cfg, const int ready[2], const int log[2],
		 const sigset_t *mask)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		close(ready[0]);
		if (log[0] >= 0)
			close(log[0]);
		become_daemon(cfg, log[1], ready[1], parent, mask);
	}
	s->pid = pid;
	s->ready_fd = ready[0];
	s->clean = cfg->clean;
	snprintf(s->name, sizeof(s->name), "%s", cfg->name);
	s->log = NULL;
	return 0;
}

int serve_start(struct serve *s, const struct serve_cfg *cfg)
{
	int ready[2], log[2] = { -1, -1 }, status;
	sigset_t all, mask;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return -errno;
	if (cfg->log_fd >= 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, log)) {
		status = -errno;
		close(ready[0]);
		close(ready[1]);
		return status;
	}
	fflush(NULL);
	/* Signals are blocked, so that the supervisor's handlers never run in the daemon. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &mask);
	status = start(s, cfg, ready, log, &mask);
	close(ready[1]);
	if (log[1] >= 0)
		close(log[1]);
	if (status)
		close(ready[0]);
	else if (log[0] >= 0 && !log_start(&s->log, log[0], cfg->log_fd))
		log[0] = -1;
	if (log[0] >= 0)
		close(log[0]); /* without a thread the daemon runs on, but has no log */
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return status;
}

int serve_ready(struct serve *s, char *err, size_t err_len)
{
	char msg[SERVE_ERR_MAX + 1];
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
	log_end(s->log);
	s->log = NULL;
	/*
	 * The daemon has no right to remove its sockets. The helper removes the sockets; if the helper was killed,
	 * the supervisor removes them here.
	 */
	if (s->clean)
		s->clean(s->name);
	proto_unlink(s->name);
	return status;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "guest/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * The channel carries the input and output of CMD. CMD itself has pipes or a terminal. cmd_run()
 * returns when CMD itself ends. It does not wait until all pipes are closed, because a background
 * process that CMD has started may keep a pipe open for ever.
 */

enum { IN, OUT, ERR, NPIPES };

struct cmd {
	pid_t pid;
	bool tty;
	/*
	 * ends of the pipes in this process; -1: closed. If CMD has a terminal, end[IN] and
	 * end[OUT] are the same descriptor
	 */
	int end[NPIPES];
	uint8_t in[FRAME_DATA_MAX]; /* input that CMD has not read yet */
	size_t in_len, in_at;
	bool eof; /* close IN when CMD has read .in */
	struct frame_rx rx;
};

/* --- the process */

static void become(char **argv, char **envp, const char *cwd) __attribute__((noreturn));

static void become(char **argv, char **envp, const char *cwd)
{
	sigset_t none;
	int err;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	user_become();
	if (chdir(cwd) < 0)
		fprintf(stderr, "uipoib vm: the folder %s is not in the VM: %m\n", cwd);
	environ = envp;
	execvp(argv[0], argv); /* searches the PATH of CMD's own environment */
	err = errno;
	fprintf(stderr, "uipoib vm: %s: %s\n", argv[0], strerror(err));
	_exit(err == ENOENT ? 127 : 126);
}

static pid_t start_piped(struct cmd *c, char **argv, char **envp, const char *cwd)
{
	int pipes[NPIPES][2];
	pid_t pid;

	for (int i = 0; i < NPIPES; i++)
		if (pipe2(pipes[i], O_CLOEXEC) < 0)
			fatal("pipe: %m");
	pid = fork();
	if (!pid) {
		setsid(); /* makes a process group for CMD; signals are sent to the group */
		for (int i = 0; i < NPIPES; i++)
			dup2(pipes[i][i != IN], i);
		become(argv, envp, cwd);
	}
	for (int i = 0; i < NPIPES; i++) {
		close(pipes[i][i != IN]);
		c->end[i] = pipes[i][i == IN];
	}
	fcntl(c->end[IN], F_SETFL, O_NONBLOCK);
	return pid;
}

static pid_t start_on_tty(struct cmd *c, char **argv, char **envp, const char *cwd)
{
	int terminal;
	pid_t pid = forkpty(&terminal, NULL, NULL, NULL);

	if (!pid)
		become(argv, envp, cwd);
	if (pid < 0)
		fatal("terminal: %m");
	fcntl(terminal, F_SETFD, FD_CLOEXEC);
	fcntl(terminal, F_SETFL, O_NONBLOCK);
	c->end[IN] = c->end[OUT] = terminal;
	c->end[ERR] = -1;
	return pid;
}

/* --- input */

static void close_in(struct cmd *c)
{
	static const char eot = 4;

	if (c->tty && write(c->end[IN], &eot, 1) < 0)
		/* CMD has closed its terminal, so it reads no more input */
		return;
	if (!c->tty)
		close(c->end[IN]);
	c->end[IN] = -1;
}

/* Writes input to CMD. If CMD has closed its standard input, the input is discarded. */
static void push_in(struct cmd *c)
{
	while (c->in_at < c->in_len && c->end[IN] >= 0) {
		ssize_t n = write(c->end[IN], c->in + c->in_at, c->in_len - c->in_at);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0 && errno != EINTR) {
			if (!c->tty)
				close(c->end[IN]);
			c->end[IN] = -1;
		} else if (n > 0) {
			c->in_at += (size_t)n;
		}
	}
	if (c->in_len)
		chan_send(FRAME_STDIN_ACK, NULL, 0);
	c->in_len = c->in_at = 0;
	if (c->eof && c->end[IN] >= 0)
		close_in(c);
}

static void set_size(struct cmd *c, const uint8_t *data)
{
	struct winsize w = { .ws_row = (unsigned short)(data[0] << 8 | data[1]),
			     .ws_col = (unsigned short)(data[2] << 8 | data[3]) };

	if (c->tty)
		ioctl(c->end[OUT], TIOCSWINSZ, &w);
}

/*
 * Close an output of CMD whose reader is gone. CMD's next write to this output ends CMD by SIGPIPE, as it would without
 * a VM.
 */
static void close_out(struct cmd *c, int which)
{
	if (c->end[which] >= 0)
		close(c->end[which]);
	c->end[which] = -1;
}

static void take(struct cmd *c, const struct frame *f)
{
	switch (f->type) {
	case FRAME_STDIN:
		c->eof = !f->len;
		memcpy(c->in, f->data, f->len);
		c->in_len = f->len;
		c->in_at = 0;
		push_in(c);
		break;
	case FRAME_SIGNAL:
		if (f->len == 1)
			kill(-c->pid, f->data[0]);
		break;
	case FRAME_UNREAD:
		if (f->len == 1 && !c->tty)
			close_out(c, f->data[0] == FRAME_STDOUT ? OUT : ERR);
		break;
	case FRAME_WINSIZE:
		if (f->len == 4)
			set_size(c, f->data);
		break;
	default:
		break;
	}
}

static void from_host(struct cmd *c)
{
	struct frame f;
	int status;

	if (!chan_recv(&c->rx))
		power_off(); /* `uipoib vm` has ended */
	while ((status = frame_rx_next(&c->rx, &f)) > 0)
		take(c, &f);
	if (status < 0)
		fatal("the channel: not a frame");
}

/* --- output */

/*
 * Sends one piece of CMD's output. Return: false if the pipe is closed or has no more output at
 * present
 */
static bool pull(struct cmd *c, int which)
{
	uint8_t buf[FRAME_DATA_MAX];
	ssize_t n = read(c->end[which], buf, sizeof(buf));

	if (n > 0) {
		chan_send(which == OUT ? FRAME_STDOUT : FRAME_STDERR, buf, (size_t)n);
		return true;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	close(c->end[which]);
	if (c->end[IN] == c->end[which])
		c->end[IN] = -1;
	c->end[which] = -1;
	return false;
}

/* Sends the output that CMD wrote before its end and that is still in the pipes. */
static void drain(struct cmd *c)
{
	for (int i = OUT; i <= ERR; i++) {
		if (c->end[i] >= 0)
			fcntl(c->end[i], F_SETFL, O_NONBLOCK);
		while (c->end[i] >= 0 && pull(c, i))
			;
	}
}

/* --- waiting for the end of CMD */

/*
 * Reaps all processes that have ended, because orphans have this process, init, as their parent. Return: true if CMD
 * was one of these processes
 */
static bool reap(const struct cmd *c, int *ret_status)
{
	bool ended = false;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == c->pid) {
			*ret_status = status;
			ended = true;
		}
	return ended;
}

static void wait_for_something(struct cmd *c, int sigfd)
{
	struct pollfd p[] = {
		{ .fd = chan_fd(), .events = POLLIN },
		{ .fd = sigfd, .events = POLLIN },
		{ .fd = c->end[OUT], .events = POLLIN },
		{ .fd = c->end[ERR], .events = POLLIN },
		{ .fd = c->in_len ? c->end[IN] : -1, .events = POLLOUT },
	};
	struct signalfd_siginfo si;

	if (poll(p, sizeof(p) / sizeof(p[0]), -1) < 0)
		return;
	if (p[0].revents)
		from_host(c);
	if (p[1].revents && read(sigfd, &si, sizeof(si)) < 0)
		fatal("signals: %m");
	if (p[2].revents && c->end[OUT] >= 0)
		pull(c, OUT);
	if (p[3].revents && c->end[ERR] >= 0)
		pull(c, ERR);
	if (p[4].revents)
		push_in(c);
}

int cmd_run(char **argv, char **envp, const char *cwd, bool tty)
{
	static struct cmd c;
	int sigfd, status = 0;
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigfd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (sigfd < 0)
		fatal("signalfd: %m");
	c.tty = tty;
	c.pid = tty ? start_on_tty(&c, argv, envp, cwd) : start_piped(&c, argv, envp, cwd);
	if (c.pid < 0)
		fatal("fork: %m");
	while (!reap(&c, &status))
		wait_for_something(&c, sigfd);
	drain(&c);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

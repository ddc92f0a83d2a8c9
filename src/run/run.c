/* SPDX-License-Identifier: BSD-2-Clause */
#include "run/run.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmdline/cmdline.h"
#include "conf/conf.h"
#include "daemon/main.h"
#include "os/clock.h"
#include "os/progress.h"
#include "run/boot.h"
#include "run/reload.h"

/*
 * DOC: `run`
 *
 * `run` is the supervisor of an instance. After it has started the daemon, it reads signals from a signalfd:
 *
 *	without CMD	the first SIGINT, SIGTERM or SIGHUP stops the instance cleanly, the second kills it. If the
 *			process has no terminal that can hang up, SIGHUP makes it read the configuration again instead
 *	with CMD	the first signal is passed on to CMD, unless the terminal has sent it to CMD already,
 *			and the second kills CMD; when CMD has ended, the instance is stopped
 */

/*
 * The daemon has to answer the request `wait` at the latest when the time limit for the links is
 * over. The supervisor waits this much longer, because a daemon that makes hundreds of hosts answers
 * late.
 */
#define ANSWER_PATIENCE_MS 20000

struct run {
	struct run_job job;
	struct reload reload; /* used when .reloads is set */
	bool reloads; /* run_reload_begin() has succeeded: the configuration can be read again */
	bool hup_reloads; /* SIGHUP makes the supervisor read the configuration again */
	bool hup_waits; /* SIGHUP came before .reloads was set */
	struct serve serve;
	struct boot boot;
	int sigfd;
	sigset_t old_mask;
};

/* --- signals */

static int catch_signals(struct run *r)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &r->old_mask);
	r->sigfd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return r->sigfd < 0 ? -errno : 0;
}

/* Tell whether the daemon has ended. serve_stop() reads its exit status. */
static bool daemon_ended(const struct run *r)
{
	siginfo_t si = { 0 };

	return waitid(P_PID, (id_t)r->serve.pid, &si, WEXITED | WNOHANG | WNOWAIT) < 0 ||
	       si.si_pid != 0;
}

/* Reads the next signal; returns 0 if no signal has arrived */
static int next_signal(const struct run *r, struct signalfd_siginfo *si)
{
	return read(r->sigfd, si, sizeof(*si)) == sizeof(*si) ? (int)si->ssi_signo : 0;
}

/*
 * Reads all signals that have arrived. Returns a signal that asks the program to end; 0: no such signal has arrived. If
 * SIGHUP has arrived several times, the configuration is read only once.
 */
static int signals(struct run *r)
{
	struct signalfd_siginfo si;
	bool hup = false;
	int sig;

	while ((sig = next_signal(r, &si))) {
		if (sig == SIGHUP && r->hup_reloads)
			hup = true;
		else if (sig != SIGCHLD)
			return sig;
	}
	if (r->reloads)
		reload_reap(&r->reload);
	if (hup && r->reloads)
		reload_now(&r->reload);
	else
		r->hup_waits |= hup;
	return 0;
}

/*
 * Waits until @fd is readable, the daemon has ended or @deadline has come (NS_NEVER: no limit).
 * Meanwhile the function shows the progress of the start and serves reloads. Returns 0, or a signal
 * that asks the program to end.
 */
static int await_until(struct run *r, int fd, ns_t deadline)
{
	struct pollfd p[3] = { { .fd = r->sigfd, .events = POLLIN },
			       { .fd = fd, .events = POLLIN },
			       { .events = POLLIN } };

	for (;;) {
		ns_t tick = r->boot.shown ? clock_now() + NS_MSEC(BOOT_TICK_MS) : NS_NEVER;
		int sig, n;

		p[2].fd = r->reloads ? reload_fd(&r->reload) : -1;
		n = poll(p, 3, clock_poll_ms(ns_min(tick, deadline)));
		if ((!n && clock_now() >= deadline) || (n < 0 && errno != EINTR))
			return 0;
		if (!n) {
			boot_tick(&r->boot);
			continue;
		}
		sig = signals(r);
		if (sig || p[1].revents || daemon_ended(r))
			return sig;
		if (n > 0 && p[2].revents)
			reload_serve(&r->reload);
	}
}

static int await(struct run *r, int fd)
{
	return await_until(r, fd, NS_NEVER);
}

static volatile sig_atomic_t kill_pid;

static void on_impatient(int sig)
{
	(void)sig;
	if (kill_pid > 0)
		kill(kill_pid, SIGKILL);
}

/* Stops the daemon cleanly. If a signal arrives during this time, the daemon is killed at once. */
static int stop(struct run *r)
{
	struct sigaction sa = { .sa_handler = on_impatient };

	boot_end(&r->boot);
	kill_pid = r->serve.pid;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
	return serve_stop(&r->serve);
}

/* --- the command waits until all links are up */

/* Return the exit status for the answer to `wait`, after a message if the status is not 0 */
static int wait_answer(const struct run *r, const json_t *answer)
{
	const json_t *end = json_object_get(answer, "end");
	const char *error = json_string_value(json_object_get(end, "error"));
	int status = (int)json_integer_value(json_object_get(end, "status"));

	if (!status)
		return 0;
	if (r->job.ready && error)
		ready_waits(r->job.ready, error);
	return cli_error(status, "after %g s: %s", (double)r->job.timeout_ms / 1000,
			 error ? error : "");
}

/* Waits until all links are up. Return: 0; -1 - N after signal N; otherwise the exit status, after a message */
static int wait_up(struct run *r)
{
	json_t *args = json_pack("{s:I}", "timeout_ms", (json_int_t)r->job.timeout_ms),
	       *answer = NULL;
	ns_t deadline = clock_now() + NS_MSEC(r->job.timeout_ms + ANSWER_PATIENCE_MS);
	struct proto_client c;
	int status = proto_connect(&c, r->job.name), sig = 0;

	if (!status)
		status = proto_send(&c, "wait", args);
	json_decref(args);
	if (!status)
		sig = await_until(r, c.fd, deadline);
	if (!status && !sig)
		status = proto_recv(&c, 1000, &answer);
	proto_close(&c);
	progress_hide();
	if (sig)
		return -1 - sig;
	if (status == -ETIMEDOUT)
		return cli_error(PROTO_EXIT_TIMEOUT, "after %lld s: the instance does not answer",
				 (r->job.timeout_ms + ANSWER_PATIENCE_MS) / 1000);
	if (status)
		return cli_error(PROTO_EXIT_FAILED, "the instance: %s",
				 status == -EPIPE ? "it ended" : strerror(-status));
	status = wait_answer(r, answer);
	json_decref(answer);
	return status;
}

/* Waits until all links are up, and reports this. Returns a signal that asks the program to end, or else 0 */
static int announce(struct run *r)
{
	int status;

	if (!r->job.ready || !ready_wanted(r->job.ready))
		return 0;
	do
		status = wait_up(r);
	while (status == PROTO_EXIT_TIMEOUT);
	if (!status) {
		boot_end(&r->boot);
		ready_up(r->job.ready);
	}
	return status < 0 ? -1 - status : 0;
}

/* --- without CMD */

/* Reads the answer to a request until its end. Return: false if there is no answer */
static bool answered(struct proto_client *c)
{
	json_t *msg;
	bool end = false;

	while (!end && !proto_recv(c, 1000, &msg)) {
		end = json_object_get(msg, "end");
		json_decref(msg);
	}
	return end;
}

/*
 * In each half of the watchdog's time, the daemon has to answer a request. If the daemon does not answer, the service
 * manager gets no message and ends this process.
 */
static int watched(struct run *r)
{
	struct proto_client c;
	int sig = 0;

	if (proto_connect(&c, r->job.name))
		return await(r, -1);
	while (!sig && !daemon_ended(r) && !proto_send(&c, "instance show", NULL)) {
		sig = await(r, c.fd);
		if (sig || daemon_ended(r) || !answered(&c))
			break;
		ready_alive(r->job.ready);
		sig = await_until(r, -1, clock_now() + NS_MSEC(r->job.ready->watchdog_ms / 2));
	}
	proto_close(&c);
	return sig || daemon_ended(r) ? sig : await(r, -1);
}

static int in_foreground(struct run *r)
{
	struct ready *ready = r->job.ready;
	int sig = announce(r), status;

	if (!sig)
		sig = ready && ready->watchdog_ms ? watched(r) : await(r, -1);
	boot_end(&r->boot);
	if (sig)
		fputs("uipoib: stopping\n", stderr);
	if (ready)
		ready_stops(ready);
	status = stop(r);
	if (status)
		return cli_error(PROTO_EXIT_FAILED, "the instance ended with status %d", status);
	return PROTO_EXIT_OK;
}

/* --- with CMD */

static pid_t spawn(struct run *r)
{
	pid_t parent = getpid(), pid;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	/* CMD has to end when its parent ends, because the hosts end with the parent, too. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(PROTO_EXIT_FAILED);
	sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
	setenv("UIPOIB_NAME", r->job.name, 1);
	if (r->job.fn) {
		int status = r->job.fn(r->job.arg);

		fflush(NULL);
		_exit(status);
	}
	execvp(r->job.cmd[0], r->job.cmd);
	cli_error(0, "%s: %s", r->job.cmd[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/*
 * Pass a signal on to CMD; if it is not the first signal, kill CMD instead. The SIGINT of a Ctrl-C
 * at the terminal is not passed on, because CMD has received that SIGINT, too.
 */
static void forward(pid_t pid, const struct signalfd_siginfo *si, unsigned int nth)
{
	if (nth > 1)
		kill(pid, SIGKILL);
	else if (si->ssi_code <= 0 || si->ssi_signo != SIGINT)
		kill(pid, (int)si->ssi_signo);
}

static int supervise(struct run *r, pid_t pid)
{
	struct pollfd p[2] = { { .fd = r->sigfd, .events = POLLIN }, { .events = POLLIN } };
	struct signalfd_siginfo si;
	unsigned int asked = 0;
	bool lost = false;
	int status, sig;

	while (waitpid(pid, &status, WNOHANG) != pid) {
		p[1].fd = r->reloads ? reload_fd(&r->reload) : -1;
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			break;
		if (r->reloads && p[1].revents)
			reload_serve(&r->reload);
		if (r->reloads)
			reload_reap(&r->reload);
		while ((sig = next_signal(r, &si)))
			if (sig != SIGCHLD)
				forward(pid, &si, ++asked);
		if (!lost && daemon_ended(r)) {
			lost = true;
			cli_error(0, "the instance ended; ending %s",
				  r->job.cmd ? r->job.cmd[0] : "the VM");
			kill(pid, SIGTERM);
		}
	}
	if (lost)
		return PROTO_EXIT_FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int with_cmd(struct run *r)
{
	int status = wait_up(r);
	pid_t pid;

	if (status < 0) {
		stop(r);
		return 128 + (-1 - status);
	}
	boot_end(&r->boot);
	if (!status) {
		if (r->job.ready)
			ready_up(r->job.ready);
		pid = spawn(r);
		status = pid < 0 ? cli_error(PROTO_EXIT_FAILED, "fork: %s", strerror(errno))
				 : supervise(r, pid);
	}
	stop(r);
	return status;
}

/* --- the whole run */

static struct ready *not_for_the_daemon;

/*
 * Runs in the daemon's process. ready_close() closes this process's copy of --ready-fd, so that a
 * reader sees the end of the file as soon as the supervisor closes its own copy.
 */
static int run_daemon(const struct serve_cfg *cfg, int ready_fd)
{
	if (not_for_the_daemon)
		ready_close(not_for_the_daemon);
	return daemon_main(cfg, ready_fd);
}

static int start(struct run *r)
{
	struct serve_cfg sc = {
		.run = run_daemon,
		.clean = daemon_clean,
		.name = r->job.name,
		.conf = r->job.conf,
		.topo = r->job.topo,
		.verbosity =
			(r->job.cmd || r->job.fn ? LOG_LVL_WARN : LOG_LVL_INFO) + r->job.verbose,
		.log_fd = STDERR_FILENO,
	};
	int status;

	not_for_the_daemon = r->job.ready;
	status = serve_start(&r->serve, &sc);

	if (status)
		return cli_error(PROTO_EXIT_FAILED, "starting: %s", strerror(-status));
	status = catch_signals(r);
	return status ? cli_error(PROTO_EXIT_ENV, "signalfd: %s", strerror(-status)) : 0;
}

int run_job(const struct run_job *job)
{
	struct run all = { .job = *job }, *r = &all;
	char err[CONF_ERR_MAX * 2] = "";
	int status, sig;

	boot_begin(&r->boot, job->name);
	r->hup_reloads = job->file && !job->cmd && !job->fn && !run_has_terminal();
	status = start(r);
	if (status)
		return status;
	sig = await(r, r->serve.ready_fd);
	if (sig) {
		stop(r);
		return 128 + sig;
	}
	status = serve_ready(&r->serve, err, sizeof(err));
	if (status) {
		stop(r);
		return cli_error(status, "%s", err);
	}
	r->reloads = run_reload_begin(&r->reload, &r->job);
	if (r->hup_waits)
		reload_now(&r->reload);
	status = r->job.cmd || r->job.fn ? with_cmd(r) : in_foreground(r);
	if (r->reloads)
		reload_close(&r->reload);
	return status;
}

int run_command(int argc, char **argv)
{
	struct run_args a = { .job.timeout_ms = RUN_TIMEOUT_MS, .ready_fd = -1 };
	char err[CONF_ERR_MAX];
	struct ready ready;
	struct conf conf;
	int status = run_parse(&a, argc, argv);

	if (cli_opts.help)
		return run_usage(PROTO_EXIT_OK);
	if (!status)
		status = ready_init(&ready, a.ready_fd);
	if (status)
		return status;
	if (conf_load_with(&conf, a.job.file, &a.over, err)) {
		ready_close(&ready);
		return cli_error(PROTO_EXIT_USAGE, "%s", err);
	}
	a.job.conf = &conf;
	a.job.over = &a.over;
	a.job.ready = &ready;
	status = run_job(&a.job);
	ready_close(&ready);
	conf_free(&conf);
	return status;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "web/web.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/privs.h"
#include "web/api.h"

/*
 * largest number of rows of the command "monitor" that one iteration of the loop reads, so that the loop also serves
 * clients in time
 */
#define MONITOR_LINES 256

/* --- the instance */

static long long unix_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

static void on_live(void *ctx, json_t *rows, const char *error, ns_t now)
{
	struct web *w = ctx;

	(void)error; /* a refused request has no rows */
	w->asked = false;
	web_live_answer(&w->live, rows, now, unix_ms());
}

/*
 * Send the instance the next request that web/live.h chooses. Requests for HTTP clients come first, so nothing
 * is sent here while a request for an HTTP client waits.
 */
static void follow(struct web *w, ns_t now)
{
	const char *cmd;
	json_t *args;

	if (web_http_stats(w->http)->streams || !list_empty(&w->snapshots))
		web_live_want(&w->live, now);
	if (!w->asked && web_ask_quiet(&w->ask) && web_live_next(&w->live, now, &cmd, &args))
		w->asked = !web_ask(&w->ask, cmd, args, on_live, w);
}

/* Returns true if there is more to do at once. */
static bool run_instance(struct web *w, ns_t now)
{
	int status, n = 0;
	json_t *line;

	follow(w, now);
	status = web_ask_run(&w->ask, now);
	if (status < 0) {
		w->lost = true;
		return false;
	}
	while ((status == 0 || status == 1) && n++ < MONITOR_LINES) {
		int got = proto_recv(&w->monitor, 0, &line);

		if (got == -ETIMEDOUT)
			break;
		w->lost |= got != 0;
		if (got)
			return false;
		web_live_event(&w->live, json_object_get(line, "row"), now);
		json_decref(line);
	}
	web_api_run(w, now);
	return status == 1 || n >= MONITOR_LINES;
}

/* --- start */

static int watch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/*
 * Drops rights as the daemon does. Unlike the daemon, this process does not end with its parent, so
 * that it can be run by `nohup`.
 */
static int drop_rights(void)
{
	int status = privs_isolate(PRIVS_SANITIZED ? PRIVS_KEEP_ROOT_DIR : 0, -1);

	if (!status && prctl(PR_SET_PDEATHSIG, 0))
		status = -errno;
	return status;
}

static int filter_calls(void)
{
	int status = PRIVS_SANITIZED ? 0 : privs_seccomp(0);

	return status == -EOPNOTSUPP ? 0 : status;
}

static int failed(char err[WEB_ERR_MAX], int exit_status, const char *what, int status)
{
	snprintf(err, WEB_ERR_MAX, "%s: %s", what, strerror(-status));
	return exit_status;
}

/*
 * Make two connections to the instance, one for questions and one for the events of the instance.
 */
static int connect_both(struct web *w, const char *instance, char err[WEB_ERR_MAX])
{
	int status = web_ask_open(&w->ask, instance);

	if (!status)
		status = proto_connect_ro(&w->monitor, instance);
	if (!status)
		status = proto_send(&w->monitor, "monitor", NULL);
	if (!status)
		return 0;
	if (status == -ENOENT || status == -ECONNREFUSED) {
		snprintf(err, WEB_ERR_MAX,
			 "no instance '%s' is running, or it has no read-only socket", instance);
		return PROTO_EXIT_ENV;
	}
	return failed(err, PROTO_EXIT_ENV, "read-only socket", status);
}

static int load(char err[WEB_ERR_MAX])
{
	int status = web_http_load();

	if (status == -ENOSYS)
		snprintf(err, WEB_ERR_MAX,
			 "this build has no web server; libmicrohttpd-dev was missing when it was "
			 "built, or WEB=0 was given to make");
	else if (status)
		snprintf(err, WEB_ERR_MAX,
			 "libmicrohttpd.so.12 is missing; the package libmicrohttpd12 has it");
	return status ? PROTO_EXIT_ENV : 0;
}

/*
 * The library creates its epoll descriptor before the filter of system calls is set, and serves no client before the
 * filter is set.
 */
static int start(struct web *w, const struct web_cfg *cfg, char err[WEB_ERR_MAX])
{
	int status = drop_rights();

	if (status)
		return failed(err, PROTO_EXIT_ENV, "dropping privileges", status);
	status = web_http_start(&w->http, cfg->sock, cfg->hosts, web_api_request, w);
	if (status)
		return failed(err, PROTO_EXIT_ENV, "libmicrohttpd", status);
	w->feed.http = web_http_stats(w->http);
	status = filter_calls();
	return status ? failed(err, PROTO_EXIT_ENV, "filter of system calls", status) : 0;
}

/* --- the loop */

static int sooner(int ms, ns_t due, ns_t now)
{
	ns_t left = due > now ? (due - now) / NS_MSEC(1) + 1 : 0;

	return left < (ns_t)ms ? (int)left : ms;
}

/*
 * Sleeps until there is something to do. Return: false after a signal, or after the instance has
 * ended
 */
static bool sleep_until(struct web *w, int timeout_ms)
{
	struct pollfd p[] = {
		{ .fd = web_http_fd(w->http), .events = POLLIN },
		{ .fd = w->signals, .events = POLLIN },
		{ .fd = w->ask.client.fd, .events = POLLIN },
		{ .fd = w->monitor.fd, .events = POLLIN },
	};

	if (poll(p, ARRAY_SIZE(p), timeout_ms) < 0 && errno != EINTR)
		w->lost = true;
	return !p[1].revents && !w->lost;
}

/*
 * One iteration of the loop. The instance's messages are read before the clients are served, so
 * that clients get the newest events. Returns the largest number of milliseconds until the next
 * iteration
 */
static int turn(struct web *w)
{
	ns_t now = clock_now();
	bool more = run_instance(w, now);
	int ms = web_http_run(w->http, clock_now());

	if (web_ask_send(&w->ask, now))
		w->lost = true;
	if (more || w->lost)
		return 0;
	return web_ask_quiet(&w->ask) ? sooner(ms, web_live_due(&w->live, now), now) : ms;
}

static int serve(struct web *w, char err[WEB_ERR_MAX])
{
	int ms = 0;

	while (sleep_until(w, ms))
		ms = turn(w);
	if (!w->lost)
		return PROTO_EXIT_OK;
	snprintf(err, WEB_ERR_MAX, "the instance has ended, or does not answer");
	return PROTO_EXIT_FAILED;
}

static void finish(struct web *w, const struct web_cfg *cfg)
{
	if (w->http)
		web_http_stop(w->http);
	else
		close(cfg->sock);
	web_feed_fini(&w->feed);
	web_api_fini(w);
	web_live_fini(&w->live);
	web_ask_close(&w->ask);
	proto_close(&w->monitor);
	if (w->signals >= 0)
		close(w->signals);
}

int web_run(const struct web_cfg *cfg, char err[WEB_ERR_MAX])
{
	struct web w = {
		.instance = cfg->instance, .signals = -1, .ask.client.fd = -1, .monitor.fd = -1
	};
	int status = load(err);

	list_init(&w.ask.queue);
	list_init(&w.snapshots);
	web_feed_init(&w.feed, &w.ask);
	web_live_init(&w.live, (uint64_t)unix_ms() * 1000);
	if (!status)
		status = connect_both(&w, cfg->instance, err);
	if (!status) {
		w.signals = watch_signals();
		if (w.signals < 0)
			status = failed(err, PROTO_EXIT_FAILED, "signalfd", w.signals);
	}
	if (!status)
		status = start(&w, cfg, err);
	if (!status) {
		printf("http://%s/\n", cfg->at);
		fflush(stdout);
		status = serve(&w, err);
	}
	finish(&w, cfg);
	return status;
}

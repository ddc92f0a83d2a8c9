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
#include <unistd.h>

#include "os/loop.h"
#include "os/privs.h"
#include "web/feed.h"
#include "web/http.h"
#include "web/metrics.h"

struct web {
	struct web_feed feed;
	struct web_http *http;
	int signals;
	bool lost; /* the connection to the instance is of no use any more */
};

/* --- answers */

static void metrics(struct web *w, struct web_answer *a)
{
	int status = web_feed_fresh(&w->feed, loop_clock());

	w->lost = status;
	if (!status)
		status = web_metrics(&a->body, &a->len, &w->feed.rows);
	if (status) {
		web_answer_text(a, 503, "The instance does not answer.\n");
		return;
	}
	a->status = 200;
	a->type = "text/plain; version=0.0.4; charset=utf-8";
}

static void on_path(void *ctx, const char *path, struct web_answer *a)
{
	struct web *w = ctx;

	if (w->lost)
		web_answer_text(a, 503, "The instance does not answer.\n");
	else if (!strcmp(path, "/metrics"))
		metrics(w, a);
	else if (!strcmp(path, "/"))
		web_answer_text(
			a, 200,
			"uipoib web: /metrics has the counters of the fabric for Prometheus.\n");
	else
		web_answer_text(a, 404, "There is only /metrics.\n");
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

/* As the daemon; the server outlives whoever started it, if that is wanted, as by `nohup`. */
static int drop_rights(void)
{
	int status = privs_isolate(PRIVS_SANITIZED ? PRIVS_KEEP_ROOT_DIR : 0);

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

static int connect_feed(struct web *w, const char *instance, char err[WEB_ERR_MAX])
{
	int status = web_feed_open(&w->feed, instance);

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

/* The library makes its epoll descriptor while no filter is there, and serves nobody before the filter is. */
static int start(struct web *w, const struct web_cfg *cfg, char err[WEB_ERR_MAX])
{
	int status = drop_rights();

	if (status)
		return failed(err, PROTO_EXIT_ENV, "dropping privileges", status);
	status = web_http_start(&w->http, cfg->sock, cfg->hosts, on_path, w);
	if (status)
		return failed(err, PROTO_EXIT_ENV, "libmicrohttpd", status);
	status = filter_calls();
	return status ? failed(err, PROTO_EXIT_ENV, "filter of system calls", status) : 0;
}

/* --- the loop */

/* True until a signal comes or the instance ends. An instance sends nothing between two answers, so input is its end. */
static bool turn(struct web *w, int timeout_ms)
{
	struct pollfd p[] = {
		{ .fd = web_http_fd(w->http), .events = POLLIN },
		{ .fd = w->signals, .events = POLLIN },
		{ .fd = w->feed.client.fd, .events = POLLIN },
	};

	if (poll(p, 3, timeout_ms) < 0 && errno != EINTR)
		w->lost = true;
	w->lost |= p[2].revents;
	return !p[1].revents && !w->lost;
}

static int serve(struct web *w, char err[WEB_ERR_MAX])
{
	int ms = 0;

	while (turn(w, ms))
		ms = web_http_run(w->http, loop_clock());
	if (!w->lost)
		return PROTO_EXIT_OK;
	web_http_run(w->http, loop_clock()); /* answers that say so */
	snprintf(err, WEB_ERR_MAX, "the instance has ended, or does not answer");
	return PROTO_EXIT_FAILED;
}

int web_run(const struct web_cfg *cfg, char err[WEB_ERR_MAX])
{
	struct web w = { .signals = -1, .feed.client.fd = -1 };
	int status = load(err);

	if (!status)
		status = connect_feed(&w, cfg->instance, err);
	if (!status) {
		w.signals = watch_signals();
		if (w.signals < 0)
			status = failed(err, PROTO_EXIT_FAILED, "signalfd", w.signals);
	}
	if (!status)
		status = start(&w, cfg, err);
	if (!status)
		status = serve(&w, err);
	if (w.http)
		web_http_stop(w.http);
	else
		close(cfg->sock);
	web_feed_close(&w.feed);
	if (w.signals >= 0)
		close(w.signals);
	return status;
}

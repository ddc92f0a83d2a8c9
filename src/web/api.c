/* SPDX-License-Identifier: BSD-2-Clause */
#include "web/api.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "web/page.h"

/*
 * largest age of a stored snapshot that is sent to a client; the age does no harm, because the
 * client then gets all events since the snapshot
 */
#define SNAPSHOT_AGE NS_MSEC(500)
#define JSON "application/json; charset=utf-8"
#define ARGS_MAX 3

static const char no_memory[] = "There is no memory for the answer.\n";

static void answer_copy(struct web_request *r, const char *type, const char *data, size_t len)
{
	char *body = malloc(len ? len : 1);

	if (body)
		memcpy(body, data, len);
	web_http_answer(r, &(struct web_answer){ 200, type, body, len });
}

/* --- metrics */

static void on_rows(void *ctx, const struct web_rows *rows)
{
	struct web_answer a = { .status = 200, .type = "text/plain; version=0.0.4; charset=utf-8" };
	struct web_request *r = ctx;

	if (!rows || web_metrics(&a.body, &a.len, rows))
		web_http_text(r, 503, no_memory);
	else
		web_http_answer(r, &a);
}

static void get_metrics(struct web *w, struct web_request *r)
{
	web_feed_get(&w->feed, clock_now(), on_rows, r);
}

/* --- snapshot and events */

struct waiter {
	struct list link;
	struct web_request *r;
	int section; /* enum web_section; -1: the whole snapshot */
};

static void wait_for(struct web *w, struct web_request *r, int section)
{
	struct waiter *k = calloc(1, sizeof(*k));

	if (!k) {
		web_http_text(r, 503, no_memory);
		return;
	}
	web_live_want(&w->live, clock_now());
	k->r = r;
	k->section = section;
	list_init(&k->link);
	list_add_tail(&w->snapshots, &k->link);
}

static void make_snapshot(struct web *w, ns_t now)
{
	if (w->snapshot && now - w->snapshot_at < SNAPSHOT_AGE)
		return;
	free(w->snapshot);
	w->snapshot = NULL;
	if (!web_live_snapshot(&w->live, w->instance, &w->snapshot, &w->snapshot_len))
		w->snapshot_at = now;
}

static void answer_waiter(struct web *w, const struct waiter *k, ns_t now)
{
	const char *text = k->section < 0 ? NULL : w->live.section[k->section].text;

	if (k->section < 0)
		make_snapshot(w, now);
	if (text)
		answer_copy(k->r, JSON, text, strlen(text));
	else if (k->section < 0 && w->snapshot)
		answer_copy(k->r, JSON, w->snapshot, w->snapshot_len);
	else
		web_http_text(k->r, 503, no_memory);
}

void web_api_run(struct web *w, ns_t now)
{
	struct waiter *k, *tmp;

	if (list_empty(&w->snapshots) || !web_live_ready(&w->live))
		return;
	list_for_each_safe (k, tmp, &w->snapshots, link) {
		list_del(&k->link);
		answer_waiter(w, k, now);
		free(k);
	}
}

void web_api_fini(struct web *w)
{
	struct waiter *k, *tmp;

	list_for_each_safe (k, tmp, &w->snapshots, link) {
		list_del(&k->link);
		free(k);
	}
	free(w->snapshot);
}

static bool number(const char *text, uint64_t *ret)
{
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	return !*end && !errno;
}

/*
 * Answer with the events after a number. The number is in the header Last-Event-ID or, if there is
 * no such header, in the query. A browser that connects again sends both. Then the header has the
 * number of the last event that the browser has received, but the query still has the number with
 * which the browser connected first.
 */
static void get_events(struct web *w, struct web_request *r)
{
	const char *text = web_http_header(r, "Last-Event-ID");
	uint64_t since;

	if (!text)
		text = web_http_arg(r, "since");
	if (text && !number(text, &since)) {
		web_http_text(r, 400, "since: expected the number of an event.\n");
		return;
	}
	web_live_want(&w->live, clock_now());
	web_http_stream(r, &w->live.ring, text ? &since : NULL);
}

/* --- HTTP requests that are passed on to the instance as questions */

struct arg {
	const char *name;
	bool number, optional;
};

static const struct question {
	const char *path, *cmd;
	struct arg arg[ARGS_MAX];
} questions[] = {
	{ "/api/port", "fabric port show", { { "port" }, { "fabric", .optional = true } } },
	{ "/api/ports", "fabric port show", { { "node" }, { "fabric", .optional = true } } },
	{ "/api/link", "link show", { { "dev" } } },
	{ "/api/route", "fabric route", { { "from" }, { "to" }, { "fabric", .optional = true } } },
	{ "/api/tree",
	  "fabric mft show",
	  { { "mlid", .number = true }, { "fabric", .optional = true } } },
};

static void on_answer(void *ctx, json_t *rows, const char *error, ns_t now)
{
	json_t *v = json_pack("{s:O, s:s?}", "rows", rows, "error", error);
	char *text = v ? json_dumps(v, JSON_COMPACT) : NULL;

	(void)now;
	json_decref(v);
	if (text)
		web_http_answer(
			ctx, &(struct web_answer){ error ? 404 : 200, JSON, text, strlen(text) });
	else
		web_http_text(ctx, 503, no_memory);
}

/*
 * Copy an argument of the HTTP query into @args, the arguments of the request that is sent to the
 * instance. Return: false if the argument is invalid, or is missing and not optional
 */
static bool set_arg(json_t *args, const struct arg *a, const char *text)
{
	uint64_t v;

	if (!text)
		return a->optional;
	if (!a->number)
		return !json_object_set_new(args, a->name, json_string(text));
	return number(text, &v) && v <= INT64_MAX &&
	       !json_object_set_new(args, a->name, json_integer((json_int_t)v));
}

static void ask(struct web *w, struct web_request *r, const struct question *q)
{
	json_t *args = json_object();

	for (int k = 0; k < ARGS_MAX && q->arg[k].name; k++) {
		if (set_arg(args, &q->arg[k], web_http_arg(r, q->arg[k].name)))
			continue;
		json_decref(args);
		web_http_text(r, 400, "An argument is missing or wrong. See uipoib(8).\n");
		return;
	}
	if (web_ask(&w->ask, q->cmd, args, on_answer, r))
		web_http_text(r, 503, no_memory);
}

static bool get_question(struct web *w, struct web_request *r, const char *path)
{
	for (size_t k = 0; k < ARRAY_SIZE(questions); k++) {
		if (strcmp(path, questions[k].path))
			continue;
		ask(w, r, &questions[k]);
		return true;
	}
	return false;
}

static bool get_section(struct web *w, struct web_request *r, const char *path)
{
	for (int s = 0; s < WEB_SECTIONS; s++) {
		if (strncmp(path, "/api/", 5) ||
		    strcmp(path + 5, web_section_name((enum web_section)s)))
			continue;
		wait_for(w, r, s);
		return true;
	}
	return false;
}

static bool get_page(struct web_request *r, const char *path)
{
	const struct web_page *p = web_page_find(path);

	if (p)
		answer_copy(r, p->type, p->data, p->len);
	return p;
}

void web_api_request(void *ctx, struct web_request *r, const char *path)
{
	struct web *w = ctx;

	if (w->lost)
		web_http_text(r, 503, "The instance does not answer.\n");
	else if (!strcmp(path, "/metrics"))
		get_metrics(w, r);
	else if (!strcmp(path, "/api/snapshot"))
		wait_for(w, r, -1);
	else if (!strcmp(path, "/api/events"))
		get_events(w, r);
	else if (!get_section(w, r, path) && !get_question(w, r, path) && !get_page(r, path))
		web_http_text(r, 404, "There is nothing by this name. See uipoib(8).\n");
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "web/feed.h"

#include <stdlib.h>

struct waiter {
	struct list link;
	web_feed_fn *fn;
	void *ctx;
};

static void rows_free(struct web_rows *r)
{
	json_decref(r->nodes);
	json_decref(r->links);
	json_decref(r->stats);
	*r = (struct web_rows){ 0 };
}

void web_feed_init(struct web_feed *f, struct web_ask *ask)
{
	*f = (struct web_feed){ .ask = ask };
	list_init(&f->waiters);
}

static void tell(struct web_feed *f, const struct web_rows *rows)
{
	struct waiter *w, *tmp;

	list_for_each_safe (w, tmp, &f->waiters, link) {
		list_del(&w->link);
		if (w->fn)
			w->fn(w->ctx, rows);
		free(w);
	}
}

void web_feed_fini(struct web_feed *f)
{
	struct waiter *w;

	list_for_each (w, &f->waiters, link)
		w->fn = NULL;
	tell(f, NULL);
	rows_free(&f->rows);
	rows_free(&f->coming);
}

static void complete(struct web_feed *f, ns_t now)
{
	rows_free(&f->rows);
	f->rows = f->coming;
	f->rows.http = f->http;
	f->coming = (struct web_rows){ 0 };
	f->at = now;
	tell(f, &f->rows);
}

static void ask(struct web_feed *f, const char *cmd, json_t *args, web_ask_fn *fn)
{
	if (!web_ask(f->ask, cmd, args, fn, f))
		return;
	rows_free(&f->coming);
	tell(f, NULL);
}

static void on_stats(void *ctx, json_t *rows, const char *error, ns_t now)
{
	struct web_feed *f = ctx;

	(void)error; /* a refused request has no rows */
	f->coming.stats = json_incref(rows);
	complete(f, now);
}

static void on_links(void *ctx, json_t *rows, const char *error, ns_t now)
{
	struct web_feed *f = ctx;

	(void)error;
	(void)now;
	f->coming.links = json_incref(rows);
	ask(f, "stats show", NULL, on_stats);
}

static void on_ports(void *ctx, json_t *rows, const char *error, ns_t now);

static void next_ports(struct web_feed *f)
{
	json_t *node = json_array_get(f->coming.nodes, f->ports);

	if (node)
		ask(f, "fabric port show",
		    json_pack("{s:O, s:O}", "node", json_object_get(node, "node"), "fabric",
			      json_object_get(node, "fabric")),
		    on_ports);
	else
		ask(f, "link show", NULL, on_links);
}

static void on_ports(void *ctx, json_t *rows, const char *error, ns_t now)
{
	struct web_feed *f = ctx;

	(void)error;
	(void)now;
	json_object_set(json_array_get(f->coming.nodes, f->ports++), "ports", rows);
	next_ports(f);
}

static void on_nodes(void *ctx, json_t *rows, const char *error, ns_t now)
{
	struct web_feed *f = ctx;

	(void)error;
	(void)now;
	f->coming.nodes = json_incref(rows);
	f->ports = 0;
	next_ports(f);
}

void web_feed_get(struct web_feed *f, ns_t now, web_feed_fn *fn, void *ctx)
{
	bool reads = !list_empty(&f->waiters);
	struct waiter *w;

	if (f->at && now - f->at < WEB_FEED_AGE) {
		fn(ctx, &f->rows);
		return;
	}
	w = calloc(1, sizeof(*w));
	if (!w) {
		fn(ctx, NULL);
		return;
	}
	w->fn = fn;
	w->ctx = ctx;
	list_init(&w->link);
	list_add_tail(&f->waiters, &w->link);
	if (!reads)
		ask(f, "fabric node show", NULL, on_nodes);
}

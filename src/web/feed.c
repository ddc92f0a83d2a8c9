/* SPDX-License-Identifier: BSD-2-Clause */
#include "web/feed.h"

#include <errno.h>
#include <string.h>

#define PATIENCE_MS 10000 /* longest wait for a line of an answer */

int web_feed_open(struct web_feed *f, const char *instance)
{
	memset(f, 0, sizeof(*f));
	return proto_connect_ro(&f->client, instance);
}

static void rows_free(struct web_rows *r)
{
	json_decref(r->nodes);
	json_decref(r->links);
	json_decref(r->stats);
	*r = (struct web_rows){ 0 };
}

void web_feed_close(struct web_feed *f)
{
	rows_free(&f->rows);
	proto_close(&f->client);
}

/* Receives an answer. Its rows are appended to @rows. */
static int receive(struct web_feed *f, json_t *rows)
{
	for (;;) {
		json_t *line, *row;
		int status = proto_recv(&f->client, PATIENCE_MS, &line);
		bool end;

		if (status)
			return status;
		row = json_object_get(line, "row");
		if (row)
			json_array_append(rows, row);
		end = json_object_get(line, "end");
		json_decref(line);
		if (end)
			return 0;
	}
}

/* Asks, and returns the rows by @ret; takes @args. A refused request has no rows, which is no error. */
static int ask(struct web_feed *f, const char *cmd, json_t *args, json_t **ret)
{
	json_t *rows = json_array();
	int status = rows ? proto_send(&f->client, cmd, args) : -ENOMEM;

	json_decref(args);
	if (!status)
		status = receive(f, rows);
	if (status)
		json_decref(rows);
	else
		*ret = rows;
	return status;
}

static int ask_ports(struct web_feed *f, json_t *nodes)
{
	json_t *node, *ports;
	size_t i;

	json_array_foreach(nodes, i, node)
	{
		json_t *args = json_pack("{s:O, s:O}", "node", json_object_get(node, "node"),
					 "fabric", json_object_get(node, "fabric"));
		int status = args ? ask(f, "fabric port show", args, &ports) : -ENOMEM;

		if (status)
			return status;
		json_object_set_new(node, "ports", ports);
	}
	return 0;
}

int web_feed_fresh(struct web_feed *f, ns_t now)
{
	struct web_rows r = { 0 };
	int status;

	if (f->at && now - f->at < WEB_FEED_AGE)
		return 0;
	status = ask(f, "fabric node show", NULL, &r.nodes);
	if (!status)
		status = ask_ports(f, r.nodes);
	if (!status)
		status = ask(f, "link show", NULL, &r.links);
	if (!status)
		status = ask(f, "stats show", NULL, &r.stats);
	if (status) {
		rows_free(&r);
		return status;
	}
	rows_free(&f->rows);
	f->rows = r;
	f->at = now;
	return 0;
}

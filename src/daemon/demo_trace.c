/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/demo_trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define QUIET_MS 200
#define LINE_MAX_ 200

struct trace {
	unsigned int shown; /* number of the packet whose way is being written */
	unsigned int ways; /* ways written */
	bool delivered;
	char way[512];
	size_t len;
};

static const char *str(json_t *row, const char *name)
{
	const char *s = json_string_value(json_object_get(row, name));

	return s ? s : "";
}

static long long num(json_t *row, const char *name)
{
	return json_integer_value(json_object_get(row, name));
}

static void add(struct trace *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct trace *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->way + t->len, sizeof(t->way) - t->len, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < sizeof(t->way) - t->len)
		t->len += (size_t)n;
}

/* Headers of the first packet, a line each. */
static void print_headers(const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		printf("      %.*s\n", (int)(n < LINE_MAX_ ? n : LINE_MAX_), text);
		text += n + (text[n] != '\0');
	}
}

/* One step of a packet's way; the end of it is a line. */
static void on_step(struct trace *t, json_t *row, const char *event)
{
	if (!strcmp(event, "sent"))
		add(t, "%s/%lld", str(row, "node"), num(row, "out_port"));
	else if (!strcmp(event, "lft"))
		add(t, " > %s in %lld LFT[%lld]=%lld", str(row, "node"), num(row, "in_port"),
		    num(row, "dlid"), num(row, "out_port"));
	else if (!strcmp(event, "mft"))
		add(t, " > %s in %lld MFT[%s]", str(row, "node"), num(row, "in_port"),
		    str(row, "dlid"));
	else if (!strcmp(event, "delivered"))
		add(t, " > %s/%lld delivered", str(row, "node"), num(row, "in_port"));
	else
		add(t, " > %s %s %s", str(row, "node"), event, str(row, "reason"));
	if (!strcmp(event, "delivered") || !strcmp(event, "discarded")) {
		t->delivered = !strcmp(event, "delivered");
		printf("      %s\n", t->way);
		t->ways++;
		t->len = 0;
		t->way[0] = '\0';
	}
}

static void on_row(struct trace *t, json_t *row)
{
	const char *event = str(row, "event");

	if (!strcmp(event, "start"))
		return;
	if (!strcmp(event, "packet")) {
		if (!t->shown++)
			print_headers(str(row, "text"));
		return;
	}
	if (num(row, "packet") <= 2) /* the request and its answer */
		on_step(t, row, event);
}

bool demo_trace(struct proto_client *c, const struct demo_net *d, unsigned int from,
		unsigned int to)
{
	json_t *args = json_pack("{s:s, s:s}", "from", d->host[from].name, "to", d->host[to].name);
	struct trace t = { 0 };
	json_t *obj;
	int pinged;

	if (proto_send(c, "trace", args)) {
		json_decref(args);
		return false;
	}
	json_decref(args);
	if (proto_recv(c, 2000, &obj)) /* it has started */
		return false;
	json_decref(obj);
	printf("      one ping from %s to %s as the fabric saw it:\n", d->host[from].name,
	       d->host[to].name);
	pinged = demo_ping_df(d, from, to, 56);
	while (!proto_recv(c, QUIET_MS, &obj)) {
		json_t *row = json_object_get(obj, "row");

		if (row)
			on_row(&t, row);
		json_decref(obj);
	}
	return !pinged && t.ways >= 2 && t.delivered;
}

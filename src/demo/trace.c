/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo/priv.h"
#include "util/escape.h"

/* Shows in a few lines how the fabric forwarded the packets of one ping. */

#define PATIENCE_MS 10000 /* time without a row after which the rest of the trace counts as lost */
#define LINE_MAX_ 200
#define WAYS 16 /* number of packets that are followed: ARP and SA requests may precede the ping */
#define PING_OCTETS 56

struct way {
	bool request, reply, delivered;
	struct text line; /* line of output, whose octets are in .buf */
	char buf[512];
};

struct trace {
	struct way way[WAYS];
	bool printed; /* the headers of the echo request were printed */
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

static void print_headers(const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		char line[LINE_MAX_ + 1];

		snprintf(line, sizeof(line), "%.*s", (int)(n < LINE_MAX_ ? n : LINE_MAX_), text);
		fputs("      ", stdout);
		text_print_escaped(stdout, line);
		putchar('\n');
		text += n + (text[n] != '\0');
	}
}

static void on_packet(struct trace *t, struct way *w, const char *text)
{
	w->request = strstr(text, "ICMP echo request");
	w->reply = strstr(text, "ICMP echo reply");
	if (w->request && !t->printed) {
		t->printed = true;
		print_headers(text);
	}
}

static void on_step(struct way *w, json_t *row, const char *event)
{
	const char *node = str(row, "node");

	if (!strcmp(event, "sent"))
		text_add(&w->line, "%s/%lld", node, num(row, "out_port"));
	else if (!strcmp(event, "lft"))
		text_add(&w->line, " > %s in %lld LFT[%lld]=%lld", node, num(row, "in_port"),
			 num(row, "dlid"), num(row, "out_port"));
	else if (!strcmp(event, "mft"))
		text_add(&w->line, " > %s in %lld MFT[%s]", node, num(row, "in_port"),
			 str(row, "dlid"));
	else if (!strcmp(event, "delivered"))
		text_add(&w->line, " > %s/%lld delivered", node, num(row, "in_port"));
	else
		text_add(&w->line, " > %s %s %s", node, event, str(row, "reason"));
	if (!strcmp(event, "delivered"))
		w->delivered = true;
}

static void on_row(struct trace *t, json_t *row)
{
	const char *event = str(row, "event");
	long long n = num(row, "packet");

	if (n < 1 || n > WAYS)
		return;
	if (!strcmp(event, "packet"))
		on_packet(t, &t->way[n - 1], str(row, "text"));
	else
		on_step(&t->way[n - 1], row, event);
}

/* Tell whether the trace has all hops of the request and of the reply, up to their delivery. */
static bool complete(const struct trace *t)
{
	bool there = false, back = false;

	for (unsigned int i = 0; i < WAYS; i++) {
		there |= t->way[i].request && t->way[i].delivered;
		back |= t->way[i].reply && t->way[i].delivered;
	}
	return there && back;
}

/*
 * Trace one ping over the connection @c. No other request uses this connection, because a trace
 * ends when its connection is closed.
 */
static bool trace(struct demo *d, struct proto_client *c, struct trace *t, int *ret_pinged)
{
	unsigned int last = d->net.n - 1;
	json_t *args =
		json_pack("{s:s, s:s}", "from", d->net.host[0].name, "to", d->net.host[last].name);
	int status = proto_send(c, "trace", args);
	json_t *obj;

	json_decref(args);
	if (status || proto_recv(c, PATIENCE_MS, &obj)) /* the first row: the trace has started */
		return false;
	status = json_object_get(obj, "row") ? 0 : -1;
	json_decref(obj);
	if (status)
		return false;
	*ret_pinged = demo_ping_df(&d->net, 0, last, PING_OCTETS);
	while (!complete(t) && !proto_recv(c, PATIENCE_MS, &obj)) {
		json_t *row = json_object_get(obj, "row");

		if (row)
			on_row(t, row);
		json_decref(obj);
	}
	return true;
}

void demo_act_trace(struct demo *d)
{
	struct trace *t = calloc(1, sizeof(*t));
	bool there = false, back = false, started;
	struct proto_client c;
	int pinged = -1;

	if (!t || proto_connect(&c, d->o->name)) {
		free(t);
		demo_say(d, false, "trace", "no connection to the instance");
		return;
	}
	for (unsigned int i = 0; i < WAYS; i++)
		t->way[i].line = TEXT_IN(t->way[i].buf);
	printf("      one ping from h1 to h%u as the fabric saw it:\n", d->net.n);
	started = trace(d, &c, t, &pinged);
	proto_close(&c);
	for (unsigned int i = 0; i < WAYS; i++) {
		const struct way *w = &t->way[i];

		if ((!w->request || there) && (!w->reply || back))
			continue;
		fputs("      ", stdout);
		text_print_escaped(stdout, w->buf);
		putchar('\n');
		there |= w->request && w->delivered;
		back |= w->reply && w->delivered;
	}
	free(t);
	if (!started || pinged || !there || !back)
		demo_say(d, false, "trace", "%s",
			 !started ? "it does not start"
			 : pinged ? "the ping is not answered"
			 : there  ? "the answer's way is not seen"
				  : "the request's way is not seen");
}

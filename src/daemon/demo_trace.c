/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/demo_priv.h"

/* One ping as the fabric saw it, in a few lines. */

#define QUIET_MS 200 /* after that nothing of it is to come any more */
#define LINE_MAX_ 200
#define WAYS 16 /* packets that are followed: ARP and the SA may have their say first */
#define PING_OCTETS 56

struct way {
	bool request, reply, delivered;
	size_t len;
	char text[512];
};

struct trace {
	struct way way[WAYS];
	bool printed; /* the headers of the request */
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

static void add(struct way *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct way *w, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(w->text + w->len, sizeof(w->text) - w->len, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < sizeof(w->text) - w->len)
		w->len += (size_t)n;
}

static void print_headers(const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		printf("      %.*s\n", (int)(n < LINE_MAX_ ? n : LINE_MAX_), text);
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
		add(w, "%s/%lld", node, num(row, "out_port"));
	else if (!strcmp(event, "lft"))
		add(w, " > %s in %lld LFT[%lld]=%lld", node, num(row, "in_port"), num(row, "dlid"),
		    num(row, "out_port"));
	else if (!strcmp(event, "mft"))
		add(w, " > %s in %lld MFT[%s]", node, num(row, "in_port"), str(row, "dlid"));
	else if (!strcmp(event, "delivered"))
		add(w, " > %s/%lld delivered", node, num(row, "in_port"));
	else
		add(w, " > %s %s %s", node, event, str(row, "reason"));
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

/* Its own connection: the trace ends with it. */
static bool trace(struct demo *d, struct proto_client *c, struct trace *t, int *ret_pinged)
{
	unsigned int last = d->net.n - 1;
	json_t *args =
		json_pack("{s:s, s:s}", "from", d->net.host[0].name, "to", d->net.host[last].name);
	int status = proto_send(c, "trace", args);
	json_t *obj;

	json_decref(args);
	if (status || proto_recv(c, 2000, &obj)) /* it has started */
		return false;
	status = json_object_get(obj, "row") ? 0 : -1;
	json_decref(obj);
	if (status)
		return false;
	*ret_pinged = demo_ping_df(&d->net, 0, last, PING_OCTETS);
	while (!proto_recv(c, QUIET_MS, &obj)) {
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
	printf("      one ping from h1 to h%u as the fabric saw it:\n", d->net.n);
	started = trace(d, &c, t, &pinged);
	proto_close(&c);
	for (unsigned int i = 0; i < WAYS; i++) {
		const struct way *w = &t->way[i];

		if ((!w->request || there) && (!w->reply || back))
			continue;
		printf("      %s\n", w->text);
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

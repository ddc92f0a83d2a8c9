/* SPDX-License-Identifier: BSD-2-Clause */
#include "web/ask.h"

#include <errno.h>
#include <stdlib.h>

/* largest number of lines that one call reads, so that other clients do not wait */
#define LINES_MAX 512

struct question {
	struct list link;
	const char *cmd;
	json_t *args;
	web_ask_fn *fn;
	void *ctx;
};

int web_ask_open(struct web_ask *a, const char *instance)
{
	list_init(&a->queue);
	a->under = NULL;
	a->rows = NULL;
	return proto_connect_ro(&a->client, instance);
}

static void question_free(struct question *q)
{
	if (q)
		json_decref(q->args);
	free(q);
}

/* Removes the first question from the queue and returns it; NULL: the queue is empty */
static struct question *pop(struct web_ask *a)
{
	struct question *q;

	if (list_empty(&a->queue))
		return NULL;
	q = list_first(&a->queue, struct question, link);
	list_del(&q->link);
	return q;
}

void web_ask_close(struct web_ask *a)
{
	struct question *q, *tmp;

	list_for_each_safe (q, tmp, &a->queue, link) {
		list_del(&q->link);
		question_free(q);
	}
	question_free(a->under);
	json_decref(a->rows);
	proto_close(&a->client);
}

int web_ask(struct web_ask *a, const char *cmd, json_t *args, web_ask_fn *fn, void *ctx)
{
	struct question *q = calloc(1, sizeof(*q));

	if (!q) {
		json_decref(args);
		return -ENOMEM;
	}
	q->cmd = cmd;
	q->args = args;
	q->fn = fn;
	q->ctx = ctx;
	list_init(&q->link);
	list_add_tail(&a->queue, &q->link);
	return 0;
}

bool web_ask_quiet(const struct web_ask *a)
{
	return list_empty(&a->queue) && !a->under;
}

int web_ask_send(struct web_ask *a, ns_t now)
{
	struct question *q = a->under ? NULL : pop(a);

	if (!q)
		return 0;
	a->under = q;
	a->rows = json_array();
	if (!a->rows)
		return -ENOMEM;
	a->deadline = now + WEB_ASK_PATIENCE;
	return proto_send(&a->client, q->cmd, q->args);
}

/* Remove the question before its function is called, because the function may ask another question. */
static void answer(struct web_ask *a, const json_t *end, ns_t now)
{
	struct question *q = a->under;
	json_t *rows = a->rows;

	a->under = NULL;
	a->rows = NULL;
	q->fn(q->ctx, rows, json_string_value(json_object_get(end, "error")), now);
	json_decref(rows);
	question_free(q);
}

static int take_line(struct web_ask *a, ns_t now)
{
	json_t *line, *end, *row;
	int status = proto_recv(&a->client, 0, &line);

	if (status)
		return status;
	if (!a->under) { /* the instance sent a line although no question is open */
		json_decref(line);
		return -EPROTO;
	}
	a->deadline = now + WEB_ASK_PATIENCE;
	end = json_object_get(line, "end");
	row = json_object_get(line, "row");
	if (row)
		json_array_append(a->rows, row);
	if (end)
		answer(a, end, now);
	json_decref(line);
	return 0;
}

int web_ask_run(struct web_ask *a, ns_t now)
{
	for (int n = 0; n < LINES_MAX; n++) {
		int status = web_ask_send(a, now);

		if (!status)
			status = take_line(a, now);
		if (status == -ETIMEDOUT)
			return a->under && now > a->deadline ? -ETIMEDOUT : 0;
		if (status)
			return status;
	}
	return 1;
}

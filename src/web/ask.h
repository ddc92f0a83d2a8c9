/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_ASK_H
#define WEB_ASK_H

/*
 * DOC: Questions to the instance
 *
 * Questions wait in a queue and are sent one after the other. While a question is open, the server serves its
 * clients.
 */

#include <stdbool.h>

#include "proto/proto.h"
#include "util/list.h"
#include "util/ns.h"

#define WEB_ASK_PATIENCE NS_SEC(10) /* longest time between two lines of an answer */

struct question; /* ask.c */

struct web_ask {
	struct list queue; /* struct question.link */
	struct question *under; /* question that is under way; NULL: none */
	struct proto_client client;
	json_t *rows; /* rows of the answer that have arrived so far */
	ns_t deadline;
};

/* Gets the rows (borrowed) and the error of the end, or NULL */
typedef void web_ask_fn(void *ctx, json_t *rows, const char *error, ns_t now);

/* web_ask_open() - Connect to the read-only socket of an instance. 0; as proto_connect_ro() */
int web_ask_open(struct web_ask *a, const char *instance);
/* web_ask_close() - Drop all questions; their functions are not called */
void web_ask_close(struct web_ask *a);

/* web_ask() - Put a question into the queue; takes @args. Return: 0; -ENOMEM, and @fn is not called */
int web_ask(struct web_ask *a, const char *cmd, json_t *args, web_ask_fn *fn, void *ctx);
/* web_ask_quiet() - True if nothing is asked */
bool web_ask_quiet(const struct web_ask *a);

/* web_ask_send() - Send the next question, if none is under way. 0 or -errno */
int web_ask_send(struct web_ask *a, ns_t now);

/*
 * web_ask_run() - Read the received lines, call the functions of their questions, and send the next question. To be
 * called when the socket has input. Return: 1: there is more to do at once; 0; -errno: the connection is unusable
 */
int web_ask_run(struct web_ask *a, ns_t now);

#endif

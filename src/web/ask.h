/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_ASK_H
#define WEB_ASK_H

/*
 * DOC: Questions to the instance
 *
 * A question is a command of the control protocol. The server sends questions to the instance one
 * after the other; further questions wait in a queue. While a question has no answer yet, the
 * server continues to serve its clients.
 */

#include <stdbool.h>

#include "proto/proto.h"
#include "util/list.h"
#include "util/ns.h"

#define WEB_ASK_PATIENCE NS_SEC(10) /* longest time between two lines of an answer */

struct question; /* defined in ask.c */

struct web_ask {
	struct list queue; /* list of struct question */
	struct question *under; /* question that is under way; NULL: none */
	struct proto_client client;
	json_t *rows; /* rows of the answer that have arrived so far */
	ns_t deadline;
};

/*
 * Called when an answer is complete. @rows are its rows (borrowed). @error is the error text at the
 * end of the answer; NULL: there was no error
 */
typedef void web_ask_fn(void *ctx, json_t *rows, const char *error, ns_t now);

/*
 * web_ask_open() - Connect to the read-only socket of an instance. Return: 0, or an error as from
 * proto_connect_ro()
 */
int web_ask_open(struct web_ask *a, const char *instance);
/* web_ask_close() - Drop all questions; their functions are not called */
void web_ask_close(struct web_ask *a);

/*
 * web_ask() - Put a question into the queue; takes over @args. Return: 0; -ENOMEM, and @fn is not
 * called
 */
int web_ask(struct web_ask *a, const char *cmd, json_t *args, web_ask_fn *fn, void *ctx);
/* web_ask_quiet() - Tell whether the queue is empty and no question is under way */
bool web_ask_quiet(const struct web_ask *a);

/*
 * web_ask_send() - Send the next question, unless a question still has no answer. Return: 0 or
 * -errno
 */
int web_ask_send(struct web_ask *a, ns_t now);

/*
 * web_ask_run() - Read the received lines; when an answer is complete, call the function of its
 * question and send the next question. Call web_ask_run() when the socket is readable. Return: 1:
 * there are more lines, so call web_ask_run() again at once; 0; -errno: the connection is unusable
 */
int web_ask_run(struct web_ask *a, ns_t now);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_HTTP_H
#define WEB_HTTP_H

/*
 * DOC: HTTP
 *
 * libmicrohttpd without threads: the caller polls web_http_fd() and calls web_http_run(). The
 * library is loaded when the server starts (dlopen), so that the other commands of the program do
 * not need the library and do not wait for it. A build with WEB=0, or without the library's header,
 * has only functions that return -ENOSYS.
 *
 * Any program may connect, so all resources are bounded: WEB_HTTP_CLIENTS connections, of which
 * WEB_HTTP_STREAMS may be readers of events; WEB_HTTP_MEMORY octets for a request, the time
 * WEB_HTTP_ASK until a request has arrived, and the time WEB_HTTP_TAKE until the client has read
 * its answer. Only GET and HEAD are answered, and only if web_host_ok() accepts the request's Host.
 */

#include <stdbool.h>
#include <stddef.h>

#include "util/ns.h"
#include "web/stream.h"

#define WEB_HTTP_CLIENTS 64
#define WEB_HTTP_STREAMS 32
#define WEB_HTTP_MEMORY 16384
#define WEB_HTTP_ASK NS_SEC(5)
/* time limit in place of WEB_HTTP_ASK while all connections are in use */
#define WEB_HTTP_ASK_CROWD NS_MSEC(250)
#define WEB_HTTP_TAKE NS_SEC(30)
/* size of the kernel's send buffer for a client that reads events */
#define WEB_HTTP_SNDBUF (32 * 1024)

struct web_http;

/*
 * An HTTP request. Its handler has to call web_http_answer() or web_http_stream(), at once or later.
 */
struct web_request;

struct web_answer {
	unsigned int status; /* HTTP status */
	const char *type; /* Content-Type; a constant */
	char *body; /* allocated; web_http frees it */
	size_t len;
};

/* Readers of events */
struct web_http_stats {
	unsigned int streams; /* present number of readers */
	/*
	 * numbers of readers that were accepted, refused because there were too many, and
	 * disconnected because they did not read
	 */
	uint64_t opened, refused, slow;
};

/*
 * web_http_load() - Load libmicrohttpd; to be called before web_http_start(). Return: 0; -ENOSYS:
 * this build cannot use the library; -ENOENT: the library is not installed
 */
int web_http_load(void);

/**
 * web_http_start() - Serve a listening socket
 * @sock:	the function takes it; web_http_stop() closes it
 * @hosts:	for web_host_ok(); borrowed
 * @fn:		is called with each request; @path begins with '/' and has no query
 *
 * Return: 0; -ENOSYS; -EIO: the library returned an error; -ENOMEM
 */
int web_http_start(struct web_http **ret, int sock, const char *const *hosts,
		   void (*fn)(void *ctx, struct web_request *r, const char *path), void *ctx);
/*
 * web_http_stop() - Stop the server. Requests without an answer get the status 503. @h may be NULL
 */
void web_http_stop(struct web_http *h);

/* web_http_arg() - Return the decoded value of an argument of the query; NULL: there is none */
const char *web_http_arg(struct web_request *r, const char *name);
/* web_http_header() - Return the value of a header; NULL: there is none */
const char *web_http_header(struct web_request *r, const char *name);

/*
 * web_http_answer() - Answer a request; takes over the body of @a. If the body is NULL because
 * memory ran out, the connection is closed
 */
void web_http_answer(struct web_request *r, const struct web_answer *a);
/* web_http_text() - Send an answer whose body is a constant text */
void web_http_text(struct web_request *r, unsigned int status, const char *text);
/*
 * web_http_stream() - Answer a request by a stream of events, which lasts until the connection
 * ends. @since is as for web_stream_start()
 */
void web_http_stream(struct web_request *r, const struct web_ring *ring, const uint64_t *since);

const struct web_http_stats *web_http_stats(const struct web_http *h);

/* web_http_fd() - Return the descriptor that the caller has to poll for input */
int web_http_fd(const struct web_http *h);

/*
 * web_http_run() - Serve the connections as far as possible without waiting, and close those that
 * have exceeded a time limit. Return: the number of milliseconds after which the caller must call
 * the function again at the latest
 */
int web_http_run(struct web_http *h, ns_t now);

#endif

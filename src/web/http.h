/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_HTTP_H
#define WEB_HTTP_H

/*
 * DOC: HTTP
 *
 * libmicrohttpd without threads: the owner polls web_http_fd() and calls web_http_run(). The library is loaded when the
 * server starts (dlopen), so that no other command of the program needs it or waits for it. A build with WEB=0, or
 * without the library's header, has only functions that return -ENOSYS.
 *
 * Strangers may connect, so everything has a bound: WEB_HTTP_CLIENTS connections, of which WEB_HTTP_STREAMS may be readers of events;
 * WEB_HTTP_MEMORY octets of a request, WEB_HTTP_ASK for a request to arrive, and WEB_HTTP_TAKE for its answer to be taken. Only GET and HEAD
 * are answered, of a request with a Host that web_host_ok() accepts.
 */

#include <stdbool.h>
#include <stddef.h>

#include "util/ns.h"
#include "web/stream.h"

#define WEB_HTTP_CLIENTS 64
#define WEB_HTTP_STREAMS 32
#define WEB_HTTP_MEMORY 16384
#define WEB_HTTP_ASK NS_SEC(5)
#define WEB_HTTP_ASK_CROWD NS_MSEC(250) /* in place of WEB_HTTP_ASK while all places are taken */
#define WEB_HTTP_TAKE NS_SEC(30)
#define WEB_HTTP_SNDBUF (32 * 1024) /* of a reader of events, in the kernel */

struct web_http;

/* A request. It ends with web_http_answer() or web_http_stream(), at once or later. */
struct web_request;

struct web_answer {
	unsigned int status; /* of HTTP */
	const char *type; /* Content-Type; a constant */
	char *body; /* allocated; web_http frees it */
	size_t len;
};

/* Readers of events */
struct web_http_stats {
	unsigned int streams; /* now */
	uint64_t opened, refused, slow; /* counters; .slow: cut off, because they did not read */
};

/* web_http_load() - Load the library; must come before web_http_start(). 0; -ENOSYS not in this build; -ENOENT it is not installed */
int web_http_load(void);

/**
 * web_http_start() - Serve a listening socket
 * @sock:	taken; closed by web_http_stop()
 * @hosts:	for web_host_ok(); borrowed
 * @fn:		is called with each request; @path begins with '/' and has no query
 *
 * Return: 0; -ENOSYS; -EIO the library refuses; -ENOMEM
 */
int web_http_start(struct web_http **ret, int sock, const char *const *hosts,
		   void (*fn)(void *ctx, struct web_request *r, const char *path), void *ctx);
/* web_http_stop() - Requests that were not answered get the status 503. NULL is accepted */
void web_http_stop(struct web_http *h);

/* web_http_arg() - An argument of the query, decoded; NULL: there is none */
const char *web_http_arg(struct web_request *r, const char *name);
/* web_http_header() - The value of a header; NULL: there is none */
const char *web_http_header(struct web_request *r, const char *name);

/* web_http_answer() - End a request; the body is taken. Without a body (no memory) the connection is closed */
void web_http_answer(struct web_request *r, const struct web_answer *a);
/* web_http_text() - The same with a constant text as body */
void web_http_text(struct web_request *r, unsigned int status, const char *text);
/* web_http_stream() - End a request by events, for as long as the client reads them. As web_stream_start() */
void web_http_stream(struct web_request *r, const struct web_ring *ring, const uint64_t *since);

const struct web_http_stats *web_http_stats(const struct web_http *h);

/* web_http_fd() - Descriptor to poll for input */
int web_http_fd(const struct web_http *h);

/* web_http_run() - Do what can be done now, and close connections that are over time. Returns the milliseconds to the next call at the latest */
int web_http_run(struct web_http *h, ns_t now);

#endif

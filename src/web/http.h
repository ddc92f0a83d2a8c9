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
 * Strangers may connect, so everything has a bound: WEB_HTTP_CLIENTS connections, WEB_HTTP_MEMORY octets of a request,
 * WEB_HTTP_ASK for a request to arrive, and WEB_HTTP_TAKE for its answer to be taken. Only GET and HEAD are answered, of
 * a request with a Host that web_host_ok() accepts.
 */

#include <stddef.h>

#include "util/timer.h"

#define WEB_HTTP_CLIENTS 64
#define WEB_HTTP_MEMORY 16384
#define WEB_HTTP_ASK NS_SEC(5)
#define WEB_HTTP_TAKE NS_SEC(30)

struct web_http;

struct web_answer {
	unsigned int status; /* of HTTP */
	const char *type; /* Content-Type; a constant */
	char *body; /* allocated; web_http frees it */
	size_t len;
};

/* web_answer_text() - Make an answer of a constant text; .body is NULL and .len 0 if there is no memory for it */
void web_answer_text(struct web_answer *a, unsigned int status, const char *text);

/* web_http_load() - Load the library; must come before web_http_start(). 0; -ENOSYS not in this build; -ENOENT it is not installed */
int web_http_load(void);

/**
 * web_http_start() - Serve a listening socket
 * @sock:	taken; closed by web_http_stop()
 * @hosts:	for web_host_ok(); borrowed
 * @fn:		makes the answer to a path, which begins with '/' and has no query
 *
 * Return: 0; -ENOSYS; -EIO the library refuses; -ENOMEM
 */
int web_http_start(struct web_http **ret, int sock, const char *const *hosts,
		   void (*fn)(void *ctx, const char *path, struct web_answer *ret), void *ctx);
void web_http_stop(struct web_http *h);

/* web_http_fd() - Descriptor to poll for input */
int web_http_fd(const struct web_http *h);

/* web_http_run() - Do what can be done now, and close connections that are over time. Returns the milliseconds to the next call at the latest */
int web_http_run(struct web_http *h, ns_t now);

#endif

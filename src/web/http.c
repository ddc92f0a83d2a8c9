/* SPDX-License-Identifier: BSD-2-Clause */
#include "web/http.h"

#include <errno.h>
#include <string.h>

#include "web/host.h"

void web_answer_text(struct web_answer *a, unsigned int status, const char *text)
{
	a->status = status;
	a->body = strdup(text);
	a->len = a->body ? strlen(text) : 0;
}

#ifndef UIPOIB_WEB
#define UIPOIB_WEB 0
#endif

#if UIPOIB_WEB

#include <dlfcn.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "os/loop.h"
#include "util/list.h"

#define TICK_MS 500 /* interval at which connections are looked at */

/* --- the library */

#define FUNCTIONS(F)                       \
	F(MHD_start_daemon)                \
	F(MHD_stop_daemon)                 \
	F(MHD_run)                         \
	F(MHD_get_timeout)                 \
	F(MHD_get_daemon_info)             \
	F(MHD_get_connection_info)         \
	F(MHD_create_response_from_buffer) \
	F(MHD_add_response_header)         \
	F(MHD_queue_response)              \
	F(MHD_destroy_response)            \
	F(MHD_lookup_connection_value)

#define MEMBER(f) __typeof__(f) *f;
static struct {
	FUNCTIONS(MEMBER)
} mhd;

/* POSIX promises that the conversion from void * works, and C does not, so the octets are copied. */
static bool find(void *lib, const char *name, void *ret, size_t size)
{
	void *sym = dlsym(lib, name);

	memcpy(ret, &sym, size);
	return sym;
}

int web_http_load(void)
{
	void *lib = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return -ENOENT;
#define FIND(f) || !find(lib, #f, &mhd.f, sizeof(mhd.f))
	if (false FUNCTIONS(FIND))
		return -ENOENT;
	return 0;
}

/* --- connections and their deadlines */

struct connection {
	int fd; /* -1: the place is free */
	ns_t deadline;
};

struct web_http {
	struct MHD_Daemon *daemon;
	const char *const *hosts;
	void (*fn)(void *ctx, const char *path, struct web_answer *ret);
	void *ctx;
	struct connection conn[WEB_HTTP_CLIENTS];
};

static int fd_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i =
		mhd.MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);

	return i ? i->connect_fd : -1;
}

static struct connection *find_fd(struct web_http *h, int fd)
{
	for (size_t k = 0; k < ARRAY_SIZE(h->conn); k++)
		if (h->conn[k].fd == fd)
			return &h->conn[k];
	return NULL;
}

static void set_deadline(struct web_http *h, struct MHD_Connection *c, ns_t span)
{
	int fd = fd_of(c);
	struct connection *k = fd < 0 ? NULL : find_fd(h, fd);

	if (k)
		k->deadline = loop_clock() + span;
}

static void on_connection(void *ctx, struct MHD_Connection *c, void **socket_ctx,
			  enum MHD_ConnectionNotificationCode what)
{
	struct web_http *h = ctx;
	bool starts = what == MHD_CONNECTION_NOTIFY_STARTED;
	int fd = fd_of(c);
	struct connection *k = fd < 0 ? NULL : find_fd(h, starts ? -1 : fd);

	(void)socket_ctx;
	if (!k) /* not reached: the library admits as many connections as there are places */
		return;
	k->fd = starts ? fd : -1;
	k->deadline = loop_clock() + WEB_HTTP_ASK;
}

static void on_completed(void *ctx, struct MHD_Connection *c, void **request_ctx,
			 enum MHD_RequestTerminationCode why)
{
	(void)request_ctx;
	(void)why;
	set_deadline(ctx, c, WEB_HTTP_ASK);
}

/* The library's own time-out starts anew with every octet. A connection that is shut down is closed by the library. */
static void end_late(struct web_http *h, ns_t now)
{
	for (size_t k = 0; k < ARRAY_SIZE(h->conn); k++)
		if (h->conn[k].fd >= 0 && h->conn[k].deadline <= now)
			shutdown(h->conn[k].fd, SHUT_RDWR);
}

/* --- requests */

static const char *const headers[][2] = {
	{ MHD_HTTP_HEADER_CACHE_CONTROL, "no-store" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "X-Frame-Options", "DENY" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'" },
};

static enum MHD_Result answer(struct web_http *h, struct MHD_Connection *c, struct web_answer *a)
{
	struct MHD_Response *r =
		mhd.MHD_create_response_from_buffer(a->len, a->body, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result done;

	if (!r) {
		free(a->body);
		return MHD_NO; /* closes the connection */
	}
	mhd.MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
	if (a->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		mhd.MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	for (size_t k = 0; k < ARRAY_SIZE(headers); k++)
		mhd.MHD_add_response_header(r, headers[k][0], headers[k][1]);
	set_deadline(h, c, WEB_HTTP_TAKE);
	done = mhd.MHD_queue_response(c, a->status, r);
	mhd.MHD_destroy_response(r);
	return done;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *body,
				  size_t *body_len, void **request_ctx)
{
	struct web_answer a = { .type = "text/plain; charset=utf-8" };
	struct web_http *h = ctx;

	(void)version;
	(void)body;
	(void)body_len;
	(void)request_ctx;
	/* A request with a body is answered before its body, and its connection is closed then. */
	if (!web_host_ok(mhd.MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST),
			 h->hosts))
		web_answer_text(&a, MHD_HTTP_FORBIDDEN,
				"This Host is not answered. See --host in uipoib(8).\n");
	else if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		web_answer_text(&a, MHD_HTTP_METHOD_NOT_ALLOWED,
				"Only GET and HEAD are answered.\n");
	else
		h->fn(h->ctx, url, &a);
	return answer(h, c, &a);
}

/* --- start, turns, end */

int web_http_start(struct web_http **ret, int sock, const char *const *hosts,
		   void (*fn)(void *ctx, const char *path, struct web_answer *ret), void *ctx)
{
	struct web_http *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->hosts = hosts;
	h->fn = fn;
	h->ctx = ctx;
	for (size_t k = 0; k < ARRAY_SIZE(h->conn); k++)
		h->conn[k].fd = -1;
	h->daemon = mhd.MHD_start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, on_request, h, MHD_OPTION_LISTEN_SOCKET, sock,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)WEB_HTTP_CLIENTS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)WEB_HTTP_MEMORY,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_NOTIFY_COMPLETED,
		on_completed, h, MHD_OPTION_END);
	if (!h->daemon) {
		free(h);
		return -EIO;
	}
	*ret = h;
	return 0;
}

void web_http_stop(struct web_http *h)
{
	if (!h)
		return;
	mhd.MHD_stop_daemon(h->daemon);
	free(h);
}

int web_http_fd(const struct web_http *h)
{
	return mhd.MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

int web_http_run(struct web_http *h, ns_t now)
{
	MHD_UNSIGNED_LONG_LONG ms;

	mhd.MHD_run(h->daemon);
	end_late(h, now);
	if (mhd.MHD_get_timeout(h->daemon, &ms) != MHD_YES || ms > TICK_MS)
		return TICK_MS;
	return (int)ms;
}

#else

int web_http_load(void)
{
	return -ENOSYS;
}

int web_http_start(struct web_http **ret, int sock, const char *const *hosts,
		   void (*fn)(void *ctx, const char *path, struct web_answer *ret), void *ctx)
{
	(void)ret;
	(void)sock;
	(void)hosts;
	(void)fn;
	(void)ctx;
	return -ENOSYS;
}

void web_http_stop(struct web_http *h)
{
	(void)h;
}

int web_http_fd(const struct web_http *h)
{
	(void)h;
	return -1;
}

int web_http_run(struct web_http *h, ns_t now)
{
	(void)h;
	(void)now;
	return -1;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "web/http.h"

#ifndef UIPOIB_WEB
#define UIPOIB_WEB 0
#endif

#if UIPOIB_WEB /* a build without UIPOIB_WEB uses http_none.c instead */

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "os/clock.h"
#include "os/dl.h"
#include "util/list.h"
#include "web/host.h"

#define TICK_MS 500 /* interval at which the connections are checked */
#define CROWD_TICK_MS 100 /* interval of this check while no further connection can be accepted */

/* --- the library */

#define FUNCTIONS(F)                         \
	F(MHD_start_daemon)                  \
	F(MHD_stop_daemon)                   \
	F(MHD_run)                           \
	F(MHD_get_timeout)                   \
	F(MHD_get_daemon_info)               \
	F(MHD_get_connection_info)           \
	F(MHD_create_response_from_buffer)   \
	F(MHD_create_response_from_callback) \
	F(MHD_add_response_header)           \
	F(MHD_queue_response)                \
	F(MHD_destroy_response)              \
	F(MHD_suspend_connection)            \
	F(MHD_resume_connection)             \
	F(MHD_lookup_connection_value)

DL_TABLE(mhd, FUNCTIONS);

int web_http_load(void)
{
	return dl_load(&mhd, "libmicrohttpd.so.12", mhd_symbols, ARRAY_SIZE(mhd_symbols));
}

/* --- connections and their deadlines */

struct connection {
	int fd; /* -1: the entry is free */
	bool asks; /* true until a request has arrived */
	ns_t deadline;
};

struct web_http {
	struct MHD_Daemon *daemon;
	const char *const *hosts;
	void (*fn)(void *ctx, struct web_request *r, const char *path);
	void *ctx;
	struct connection conn[WEB_HTTP_CLIENTS];
	struct list requests; /* list of struct web_request */
	struct list streams; /* list of struct stream */
	struct web_http_stats stats;
	ns_t now;
	ns_t look_at; /* time of the next check whether clients of streams have left */
};

struct web_request {
	struct list link;
	struct web_http *h;
	struct MHD_Connection *c;
	bool waits; /* true while the connection is suspended, so that the library does not read from it */
	bool streams; /* true if the answer is a stream of events, which has no end */
	struct MHD_Response *response;
	unsigned int status; /* HTTP status */
	bool ended; /* true if the request got its answer, or can get none because memory ran out */
};

/*
 * A client that reads events. The library calls on_take() for the client only while the client's
 * socket has room.
 */
struct stream {
	struct list link;
	struct web_http *h;
	struct MHD_Connection *c;
	struct web_stream at;
	bool waits; /* true while the connection is suspended because there are no events, as in struct web_request */
	bool over;
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

static void set_deadline(struct web_http *h, struct MHD_Connection *c, bool asks, ns_t deadline)
{
	int fd = fd_of(c);
	struct connection *k = fd < 0 ? NULL : find_fd(h, fd);

	if (!k)
		return;
	k->asks = asks;
	k->deadline = deadline;
}

static void on_connection(void *ctx, struct MHD_Connection *c, void **socket_ctx,
			  enum MHD_ConnectionNotificationCode what)
{
	struct web_http *h = ctx;
	bool starts = what == MHD_CONNECTION_NOTIFY_STARTED;
	int fd = fd_of(c);
	struct connection *k = fd < 0 ? NULL : find_fd(h, starts ? -1 : fd);

	(void)socket_ctx;
	if (!k) /* cannot happen: the library admits no more connections than .conn has entries */
		return;
	k->fd = starts ? fd : -1;
	k->asks = true;
	k->deadline = clock_now() + WEB_HTTP_ASK;
}

static bool crowded(struct web_http *h)
{
	return !find_fd(h, -1);
}

/*
 * End connections that have taken too long: shut their sockets down, so that the library closes
 * them. The library's own time-out is not enough, because it starts again with every octet. While
 * all connections are in use, other clients wait. So connections whose request has not arrived yet
 * have less time then.
 */
static void end_late(struct web_http *h, ns_t now)
{
	bool all = crowded(h);

	for (size_t k = 0; k < ARRAY_SIZE(h->conn); k++) {
		const struct connection *c = &h->conn[k];
		ns_t less = all && c->asks ? WEB_HTTP_ASK - WEB_HTTP_ASK_CROWD : 0;

		if (c->fd >= 0 && c->deadline - less <= now)
			shutdown(c->fd, SHUT_RDWR);
	}
}

/* --- answers */

static const char *const headers[][2] = {
	{ MHD_HTTP_HEADER_CACHE_CONTROL, "no-store" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "X-Frame-Options", "DENY" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Content-Security-Policy",
	  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
	  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" },
};

static void set_headers(struct MHD_Response *r, unsigned int status, const char *type)
{
	mhd.MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		mhd.MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
		mhd.MHD_add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "5");
	for (size_t k = 0; k < ARRAY_SIZE(headers); k++)
		mhd.MHD_add_response_header(r, headers[k][0], headers[k][1]);
}

/* Store the answer of a request. A suspended connection is resumed; then the library calls on_request() once more. */
static void end_request(struct web_request *r, unsigned int status, struct MHD_Response *response)
{
	r->status = status;
	r->response = response;
	r->ended = true;
	if (r->waits)
		mhd.MHD_resume_connection(r->c);
	r->waits = false;
}

void web_http_answer(struct web_request *r, const struct web_answer *a)
{
	struct MHD_Response *m = NULL;

	if (a->body)
		m = mhd.MHD_create_response_from_buffer(a->len, a->body, MHD_RESPMEM_MUST_FREE);
	if (m)
		set_headers(m, a->status, a->type);
	else
		free(a->body);
	end_request(r, a->status, m);
}

void web_http_text(struct web_request *r, unsigned int status, const char *text)
{
	web_http_answer(r, &(struct web_answer){ .status = status,
						 .type = "text/plain; charset=utf-8",
						 .body = strdup(text),
						 .len = strlen(text) });
}

/* --- streams */

static ssize_t on_take(void *ctx, uint64_t pos, char *buf, size_t max)
{
	struct stream *s = ctx;
	long n = s->over ? -1 : web_stream_read(&s->at, buf, max, s->h->now);

	(void)pos;
	if (n < 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (!n) {
		s->waits = true;
		mhd.MHD_suspend_connection(s->c);
	}
	return n;
}

static void on_stream_end(void *ctx)
{
	struct stream *s = ctx;

	s->h->stats.streams--;
	list_del(&s->link);
	free(s);
}

static struct stream *stream_new(struct web_request *r, const struct web_ring *ring,
				 const uint64_t *since)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->h = r->h;
	s->c = r->c;
	web_stream_start(&s->at, ring, since, r->h->now);
	list_init(&s->link);
	return s;
}

void web_http_stream(struct web_request *r, const struct web_ring *ring, const uint64_t *since)
{
	struct web_http *h = r->h;
	struct stream *s;
	struct MHD_Response *m = NULL;
	int octets = WEB_HTTP_SNDBUF;

	if (h->stats.streams == WEB_HTTP_STREAMS) {
		h->stats.refused++;
		web_http_text(r, MHD_HTTP_SERVICE_UNAVAILABLE, "Too many read events already.\n");
		return;
	}
	s = stream_new(r, ring, since);
	if (s)
		m = mhd.MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 32768, on_take, s,
							  on_stream_end);
	if (m) {
		list_add_tail(&h->streams, &s->link);
		h->stats.streams++;
		h->stats.opened++;
		set_headers(m, MHD_HTTP_OK, "text/event-stream; charset=utf-8");
		r->streams = true;
		setsockopt(fd_of(r->c), SOL_SOCKET, SO_SNDBUF, &octets, sizeof(octets));
	} else {
		free(s);
	}
	end_request(r, MHD_HTTP_OK, m);
}

static void go_on(struct stream *s)
{
	if (s->waits)
		mhd.MHD_resume_connection(s->c);
	s->waits = false;
}

static void cut(struct stream *s)
{
	s->over = true;
	shutdown(fd_of(s->c), SHUT_RDWR);
	go_on(s);
}

/* Tell whether the client has left. The library does not notice this while the stream waits. */
static bool has_left(const struct stream *s)
{
	char octet;

	return s->waits && !recv(fd_of(s->c), &octet, 1, MSG_PEEK | MSG_DONTWAIT);
}

/*
 * Resume the suspended streams for which there are events now, and close the streams whose clients
 * have left or do not read.
 */
static void look_at_streams(struct web_http *h, ns_t now)
{
	bool looks = now >= h->look_at;
	struct stream *s;

	if (looks)
		h->look_at = now + NS_MSEC(TICK_MS);
	list_for_each (s, &h->streams, link) {
		if (!s->over && web_stream_slow(&s->at, now)) {
			h->stats.slow++;
			cut(s);
		} else if (looks && !s->over && has_left(s)) {
			cut(s);
		} else if (s->waits && web_stream_ready(&s->at, now)) {
			go_on(s);
		}
	}
}

/* --- requests */

const char *web_http_arg(struct web_request *r, const char *name)
{
	return mhd.MHD_lookup_connection_value(r->c, MHD_GET_ARGUMENT_KIND, name);
}

const char *web_http_header(struct web_request *r, const char *name)
{
	return mhd.MHD_lookup_connection_value(r->c, MHD_HEADER_KIND, name);
}

static void serve(struct web_request *r, const char *path, const char *method)
{
	/* If a request has a body, the answer is sent without reading the body, and then the connection is closed. */
	if (!web_host_ok(web_http_header(r, MHD_HTTP_HEADER_HOST), r->h->hosts))
		web_http_text(r, MHD_HTTP_FORBIDDEN,
			      "This Host is not answered. See --host in uipoib(8).\n");
	else if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		web_http_text(r, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET and HEAD are answered.\n");
	else
		r->h->fn(r->h->ctx, r, path);
}

static struct web_request *request_new(struct web_http *h, struct MHD_Connection *c)
{
	struct web_request *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->h = h;
	r->c = c;
	list_init(&r->link);
	list_add_tail(&h->requests, &r->link);
	return r;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *body,
				  size_t *body_len, void **request_ctx)
{
	struct web_http *h = ctx;
	struct web_request *r = *request_ctx;

	(void)version;
	(void)body;
	(void)body_len;
	if (!r) {
		r = *request_ctx = request_new(h, c);
		if (!r)
			return MHD_NO; /* closes the connection */
		set_deadline(h, c, false, h->now + WEB_HTTP_TAKE);
		serve(r, url, method);
		if (!r->ended) {
			r->waits = true;
			mhd.MHD_suspend_connection(c);
			return MHD_YES;
		}
	}
	if (!r->response)
		return MHD_NO;
	set_deadline(h, c, false, r->streams ? NS_NEVER : h->now + WEB_HTTP_TAKE);
	return mhd.MHD_queue_response(c, r->status, r->response);
}

static void on_completed(void *ctx, struct MHD_Connection *c, void **request_ctx,
			 enum MHD_RequestTerminationCode why)
{
	struct web_request *r = *request_ctx;

	(void)why;
	set_deadline(ctx, c, true, clock_now() + WEB_HTTP_ASK);
	if (!r)
		return;
	if (r->response)
		mhd.MHD_destroy_response(r->response);
	list_del(&r->link);
	free(r);
	*request_ctx = NULL;
}

/* --- start, turns, end */

int web_http_start(struct web_http **ret, int sock, const char *const *hosts,
		   void (*fn)(void *ctx, struct web_request *r, const char *path), void *ctx)
{
	struct web_http *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->hosts = hosts;
	h->fn = fn;
	h->ctx = ctx;
	list_init(&h->requests);
	list_init(&h->streams);
	for (size_t k = 0; k < ARRAY_SIZE(h->conn); k++)
		h->conn[k].fd = -1;
	h->daemon = mhd.MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, h,
		MHD_OPTION_LISTEN_SOCKET, sock, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)WEB_HTTP_CLIENTS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)WEB_HTTP_MEMORY, MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, h, MHD_OPTION_END);
	if (!h->daemon) {
		free(h);
		return -EIO;
	}
	*ret = h;
	return 0;
}

/* Resume all connections first, because the library must not be stopped while connections are suspended. */
void web_http_stop(struct web_http *h)
{
	struct web_request *r;
	struct stream *s;

	if (!h)
		return;
	list_for_each (r, &h->requests, link)
		if (r->waits)
			web_http_text(r, MHD_HTTP_SERVICE_UNAVAILABLE, "The server ends.\n");
	list_for_each (s, &h->streams, link) {
		s->over = true;
		go_on(s);
	}
	mhd.MHD_run(h->daemon);
	mhd.MHD_stop_daemon(h->daemon);
	free(h);
}

const struct web_http_stats *web_http_stats(const struct web_http *h)
{
	return &h->stats;
}

int web_http_fd(const struct web_http *h)
{
	return mhd.MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

int web_http_run(struct web_http *h, ns_t now)
{
	MHD_UNSIGNED_LONG_LONG ms;
	int tick;

	h->now = now;
	look_at_streams(h, now);
	mhd.MHD_run(h->daemon);
	end_late(h, now);
	tick = crowded(h) ? CROWD_TICK_MS : TICK_MS;
	if (mhd.MHD_get_timeout(h->daemon, &ms) != MHD_YES || ms > (unsigned int)tick)
		return tick;
	return (int)ms;
}

#endif

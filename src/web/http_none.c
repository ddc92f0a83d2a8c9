/* SPDX-License-Identifier: BSD-2-Clause */
#include "web/http.h"

#include <errno.h>

#ifndef UIPOIB_WEB
#define UIPOIB_WEB 0
#endif

#if !UIPOIB_WEB

/*
 * A build without libmicrohttpd. Only web_http_load() is ever called, because its caller gives up
 * when it returns -ENOSYS.
 */

int web_http_load(void)
{
	return -ENOSYS;
}

int web_http_start(struct web_http **ret, int sock, const char *const *hosts,
		   void (*fn)(void *ctx, struct web_request *r, const char *path), void *ctx)
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

const char *web_http_arg(struct web_request *r, const char *name)
{
	(void)r;
	(void)name;
	return NULL;
}

const char *web_http_header(struct web_request *r, const char *name)
{
	(void)r;
	(void)name;
	return NULL;
}

void web_http_answer(struct web_request *r, const struct web_answer *a)
{
	(void)r;
	(void)a;
}

void web_http_text(struct web_request *r, unsigned int status, const char *text)
{
	(void)r;
	(void)status;
	(void)text;
}

void web_http_stream(struct web_request *r, const struct web_ring *ring, const uint64_t *since)
{
	(void)r;
	(void)ring;
	(void)since;
}

const struct web_http_stats *web_http_stats(const struct web_http *h)
{
	(void)h;
	return NULL;
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

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_API_H
#define WEB_API_H

/* Paths of `uipoib web`, and the functions that answer them. uipoib(8) describes the paths. */

#include "web/ask.h"
#include "web/feed.h"
#include "web/http.h"
#include "web/live.h"

struct web {
	const char *instance;
	struct web_ask ask;
	struct web_feed feed;
	struct web_live live;
	struct proto_client monitor;
	struct web_http *http;
	struct list snapshots; /* requests that wait for a snapshot, or for a part of it */
	char *snapshot; /* the last one; NULL: none */
	size_t snapshot_len;
	ns_t snapshot_at;
	int signals;
	bool asked; /* the question of .live is under way */
	bool lost; /* a connection to the instance is of no use any more */
};

/* web_api_request() - A function of web_http_start(), whose context is a struct web */
void web_api_request(void *ctx, struct web_request *r, const char *path);
/* web_api_run() - Answer the waiting requests, if all their data are known */
void web_api_run(struct web *w, ns_t now);
/* web_api_fini() - Forget requests that wait */
void web_api_fini(struct web *w);

#endif

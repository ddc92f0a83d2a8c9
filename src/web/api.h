/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_API_H
#define WEB_API_H

/*
 * Handles the HTTP requests to `uipoib web`, each of which asks for a path such as /api/snapshot.
 * uipoib(8) describes the paths.
 */

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
	struct list snapshots; /* HTTP requests that wait for a snapshot or for a section of it */
	char *snapshot; /* the last snapshot that was made, as text; NULL: none */
	size_t snapshot_len;
	ns_t snapshot_at;
	int signals;
	bool asked; /* true while the instance has not answered the last question of .live */
	bool lost; /* true if a connection to the instance is broken */
};

/*
 * web_api_request() - Handle an HTTP request; the callback of web_http_start(). @ctx is a struct
 * web
 */
void web_api_request(void *ctx, struct web_request *r, const char *path);
/* web_api_run() - Answer the waiting HTTP requests, if all data that they ask for are known */
void web_api_run(struct web *w, ns_t now);
/* web_api_fini() - Forget the HTTP requests that wait */
void web_api_fini(struct web *w);

#endif

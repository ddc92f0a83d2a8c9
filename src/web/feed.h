/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_FEED_H
#define WEB_FEED_H

/*
 * DOC: The rows of /metrics
 *
 * When a client requests them, rows older than WEB_FEED_AGE are read again. So the load of the instance does not grow
 * with the number of clients. Ports are requested node by node, because the instance forwards no packets while it
 * makes the rows of one answer.
 */

#include "web/ask.h"
#include "web/metrics.h"

#define WEB_FEED_AGE NS_SEC(1)

struct web_feed {
	struct web_ask *ask;
	const struct web_http_stats *http; /* for web_rows */
	struct web_rows rows; /* rows that were read completely last */
	ns_t at; /* time at which .rows were complete; 0: never */
	struct web_rows coming; /* rows that are being read */
	size_t ports; /* nodes whose ports are in .coming */
	struct list waiters; /* who wait for .coming */
};

/* Gets the rows; NULL: memory ran out */
typedef void web_feed_fn(void *ctx, const struct web_rows *rows);

void web_feed_init(struct web_feed *f, struct web_ask *ask);
/* web_feed_fini() - Functions that wait are not called */
void web_feed_fini(struct web_feed *f);

/* web_feed_get() - Call @fn with fresh rows, at once or when they have arrived */
void web_feed_get(struct web_feed *f, ns_t now, web_feed_fn *fn, void *ctx);

#endif

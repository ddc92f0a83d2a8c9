/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_FEED_H
#define WEB_FEED_H

/*
 * DOC: The data for /metrics, rows of answers of the instance
 *
 * When a client requests /metrics, only rows older than WEB_FEED_AGE are read again, so that the
 * load of the instance does not grow with the number of clients. Ports are requested node by node,
 * because the instance forwards no packets while it makes the rows of one answer.
 */

#include "web/ask.h"
#include "web/metrics.h"

#define WEB_FEED_AGE NS_SEC(1)

struct web_feed {
	struct web_ask *ask;
	const struct web_http_stats *http; /* counters that become .http of struct web_rows */
	struct web_rows rows; /* rows that were read completely last */
	ns_t at; /* time at which .rows were complete; 0: never */
	struct web_rows coming; /* rows that are being read */
	size_t ports; /* number of nodes whose ports are in .coming */
	struct list waiters; /* requests that wait until all rows of .coming have been read */
};

/* Called with the rows that were requested; @rows is NULL if memory ran out */
typedef void web_feed_fn(void *ctx, const struct web_rows *rows);

void web_feed_init(struct web_feed *f, struct web_ask *ask);
/* web_feed_fini() - Free the rows; the functions of requests that still wait are not called */
void web_feed_fini(struct web_feed *f);

/*
 * web_feed_get() - Call @fn with rows that are not older than WEB_FEED_AGE, at once or when the
 * instance has sent new rows
 */
void web_feed_get(struct web_feed *f, ns_t now, web_feed_fn *fn, void *ctx);

#endif

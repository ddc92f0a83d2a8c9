/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_FEED_H
#define WEB_FEED_H

/*
 * DOC: What the server knows of the instance
 *
 * The rows come by the read-only socket. They are read again when somebody asks and they are older than WEB_FEED_AGE,
 * so the load of the instance does not grow with the number of those who ask. Ports are asked for node by node, because
 * the instance forwards no packets while it makes the rows of one answer.
 */

#include "proto/proto.h"
#include "util/timer.h"
#include "web/metrics.h"

#define WEB_FEED_AGE NS_SEC(1)

struct web_feed {
	struct proto_client client;
	struct web_rows rows;
	ns_t at; /* time at which .rows were read; 0: never */
};

/* web_feed_open() - Connect to the read-only socket of an instance. 0; as proto_connect_ro() */
int web_feed_open(struct web_feed *f, const char *instance);
void web_feed_close(struct web_feed *f);

/*
 * web_feed_fresh() - Read the rows again if they are too old. 0; -errno: the instance has ended or does not answer, and
 * the connection is of no use any more
 */
int web_feed_fresh(struct web_feed *f, ns_t now);

#endif

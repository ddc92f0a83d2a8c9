/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_METRICS_H
#define WEB_METRICS_H

/*
 * DOC: Metrics
 *
 * The state of an instance in Prometheus' text format 0.0.4. The metrics of switch ports have the
 * names that infiniband_exporter gives them. The metrics of CA ports have the names of
 * node_exporter's collector infiniband. So dashboards and alerts made for a cluster work with this
 * program. The metrics of both kinds of ports have a label `fabric` in addition. Names of metrics
 * that only this program has begin with uipoib_.
 */

#include <jansson.h>
#include <stddef.h>

#include "web/http.h"

/* Rows of the control protocol */
struct web_rows {
	json_t *nodes; /* rows of "fabric node show"; each has "ports", the rows of "fabric port show" for its node */
	json_t *links; /* rows of "link show" */
	json_t *stats; /* rows of "stats show" */
	/* counters of the HTTP server; NULL: no metrics of the server are written */
	const struct web_http_stats *http;
};

/*
 * web_metrics() - Make the answer to /metrics
 * @ret:	the text, UTF-8, which the caller frees
 *
 * If a row lacks a member that a metric needs, this metric is left out. Return: 0; -ENOMEM
 */
int web_metrics(char **ret, size_t *ret_len, const struct web_rows *rows);

#endif

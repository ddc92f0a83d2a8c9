/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEMO_PRIV_H
#define DEMO_PRIV_H

/* Declarations for the files of the demo: its state, lines of output, requests to the instance. */

#include <jansson.h>

#include "demo/demo.h"
#include "demo/conf.h"
#include "demo/net.h"
#include "proto/proto.h"
#include "proto/serve.h"
#include "util/timer.h"

#define DEMO_IFNAME "uib0"

struct demo {
	const struct demo_opts *o;
	struct demo_conf dc;
	struct serve serve;
	struct proto_client c;
	struct demo_net net;
	int cap_fd;
	unsigned int failed;
	ns_t start;
	bool shown; /* all acts were shown, and --keep waits until the daemon ends */
};

/* demo_interrupted() - Tell whether a signal asked the demo to end, so that later failures are not reported */
bool demo_interrupted(void);

/*
 * demo_complain() - Print one line on standard error, with control characters escaped. If the demo was interrupted,
 * nothing is printed. @what may be ""
 */
void demo_complain(const char *what, const char *why);
/* demo_say() - Print a line: " ok " or "FAIL", the check, and the figure */
void demo_say(struct demo *d, bool ok, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * demo_ask() - Send a request; takes @args
 *
 * Return: all rows of the answer as an array, which the caller frees by json_decref(). The array is empty if the
 * request failed. The reason is written into @err ("" on success), or printed on standard error if @err is NULL.
 */
json_t *demo_ask(struct demo *d, const char *cmd, json_t *args, char *err, size_t err_len);

/* Read a member of a row; "?" or 0 if it is absent */
const char *demo_str(json_t *row, const char *name);
double demo_num(json_t *row, const char *name);

/* The acts, in the order in which they are shown */
void demo_act_topology(struct demo *d);
void demo_act_sweep(struct demo *d);
void demo_act_links(struct demo *d);
void demo_act_pings(struct demo *d);
void demo_act_df(struct demo *d);
void demo_act_mcast(struct demo *d);
void demo_act_inject(struct demo *d);
void demo_act_capture(struct demo *d);
void demo_act_flow(struct demo *d); /* also cuts a link that the flow crosses */
void demo_act_trace(struct demo *d);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_DEMO_PRIV_H
#define DAEMON_DEMO_PRIV_H

/* What the parts of the demo share: its state, lines of output, questions to the instance. */

#include <jansson.h>

#include "daemon/demo.h"
#include "daemon/demo_conf.h"
#include "daemon/demo_net.h"
#include "daemon/proto.h"
#include "daemon/serve.h"
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
	bool shown; /* to the end: what --keep waits for now is no part of it */
};

/* demo_interrupted() - A signal asked for the end: nothing that fails after it is worth a word */
bool demo_interrupted(void);

/* demo_say() - One line of the show: " ok " or "FAIL", what was tried, its figure */
void demo_say(struct demo *d, bool ok, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * demo_ask() - All rows of an answer as an array, json_decref() it; takes @args. Empty if it failed, with the
 * reason on standard error, or in @err if that is not NULL ("" on success).
 */
json_t *demo_ask(struct demo *d, const char *cmd, json_t *args, char *err, size_t err_len);

/* Members of a row: "?" and 0 where absent */
const char *demo_str(json_t *row, const char *name);
double demo_num(json_t *row, const char *name);

/* The acts, in order. */
void demo_act_topology(struct demo *d);
void demo_act_sweep(struct demo *d);
void demo_act_links(struct demo *d);
void demo_act_pings(struct demo *d);
void demo_act_df(struct demo *d);
void demo_act_mcast(struct demo *d);
void demo_act_inject(struct demo *d);
void demo_act_capture(struct demo *d);
void demo_act_flow(struct demo *d); /* and a cut link under it */
void demo_act_trace(struct demo *d);

#endif

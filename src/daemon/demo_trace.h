/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_DEMO_TRACE_H
#define DAEMON_DEMO_TRACE_H

/* One ping as the fabric saw it, in a few lines. */

#include "daemon/demo_net.h"
#include "daemon/proto.h"

/* demo_trace() - True if the request was seen from end to end */
bool demo_trace(struct proto_client *c, const struct demo_net *d, unsigned int from,
		unsigned int to);

#endif

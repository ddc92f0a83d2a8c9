/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_STATS_H
#define DAEMON_STATS_H

/* Every counter of an instance, one after the other. */

#include "daemon/inst.h"

struct stats_item {
	const char *
		layer; /* "tap", "eth", "ipoib", "sac", "mad", "hca", "switch", "fabric", "sm", "sa", "udp", "ibsim", "umad" */
	const char *object; /* "uib0@h1", "Hca1/1", "Switch1", name of a fabric */
	const struct inst_iface *iface; /* NULL: it belongs to no interface */
	const char *name; /* "tx_packets", "drop_own_echo" */
	bool drop; /* packets were discarded for the reason that the name says */
	uint64_t value;
};

typedef void stats_fn(void *ctx, const struct stats_item *it);

/*
 * stats_each() - All counters, in an order that does not change while the instance has the
 * same interfaces. @it and its strings are valid during the call.
 */
void stats_each(struct inst *in, stats_fn *fn, void *ctx);

/* stats_iface() - Those of one interface: tap, eth, ipoib */
void stats_iface(struct inst_iface *i, stats_fn *fn, void *ctx);

#endif

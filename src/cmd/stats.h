/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CMD_STATS_H
#define CMD_STATS_H

/* Calls a function for each counter of an instance and of its control server. */

#include "inst/inst.h"

struct ctl;

struct stats_item {
	/*
	 * "tap", "watchdog", "eth", "ipoib", "verbs", "sac", "cm", "mad", "hca", "switch", "fabric", "sm", "sa",
	 * "udp", "ibsim", "umad", "control", "instance"
	 */
	const char *layer;
	/*
	 * object to which the counter belongs: "uib0@h1", "Hca1/1", "Switch1", or the name of a
	 * fabric
	 */
	const char *object;
	const struct inst_iface *iface; /* interface to which the counter belongs; NULL: none */
	const char *name; /* "tx_packets", "drop_own_echo" */
	bool drop; /* the counter counts discarded packets, and its name is the reason */
	uint64_t value;
};

typedef void stats_fn(void *ctx, const struct stats_item *it);

/*
 * stats_each() - Call @fn for all counters, in an order that does not change while the same
 * counters exist. The item and its strings are valid during each call of @fn only.
 */
void stats_each(const struct ctl *ctl, stats_fn *fn, void *ctx);

/* stats_iface() - Call @fn for the counters of one interface, of the layers tap, watchdog, eth and ipoib */
void stats_iface(struct inst_iface *i, stats_fn *fn, void *ctx);

#endif

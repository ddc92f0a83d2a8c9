/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CMD_MON_DROPS_H
#define CMD_MON_DROPS_H

/*
 * Drop counters that grew, for `monitor`. The counters of 200 hosts take milliseconds to read, so they are read once a
 * second for all clients together, and only while there are clients.
 */

#include "cmd/stats.h"

/* A client, which sets .grew. The function is called for a drop counter that grew by @by in the last second. */
struct mon_drops {
	struct list link; /* link in ctl.drops.clients */
	void (*grew)(struct mon_drops *d, const struct stats_item *it, uint64_t by, ns_t now);
};

/* mon_drops_add(), mon_drops_del() - Begin and end to tell a client. mon_drops_del() may not be called by .grew */
void mon_drops_add(struct ctl *ctl, struct mon_drops *d, ns_t now);
void mon_drops_del(struct ctl *ctl, struct mon_drops *d);

#endif

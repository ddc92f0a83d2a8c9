/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INST_IFACE_GROUPS_H
#define INST_IFACE_GROUPS_H

/*
 * Every two seconds while an interface is up, the groups that the kernel has joined on it are read
 * from /proc, and compared with the groups that eth/ has recorded (eth_groups_sync_begin()).
 *
 * A host may have joined tens of thousands of groups. The kernel then needs 0.3 ms for each piece
 * of 4 KiB of the list, and 0.1 s for the whole list. So a long list is read in pieces. After every
 * few pieces, the reading pauses, and the packets of all interfaces are served.
 */

#include "netdev/groups.h"
#include "util/timer.h"

struct inst_iface;

/* State of the comparison of an interface's groups with the kernel's two lists (IPv4 and IPv6) */
struct iface_groups {
	struct timer timer; /* timer for the next piece of a list, or for the next comparison */
	bool reading; /* true while a comparison is under way */
	bool v6; /* true while the IPv6 list is read; the IPv4 list is read first */
	bool exact; /* true if each list of this comparison was read in one piece */
	struct groups_reader reader;
};

void iface_groups_init(struct inst_iface *i);
/* iface_groups_start() - Compare the groups at once, and afterwards every two seconds; called when the TAP was set up */
void iface_groups_start(struct inst_iface *i, ns_t now);
/*
 * iface_groups_stop() - Stop comparing the groups; no effect if iface_groups_start() was not called
 */
void iface_groups_stop(struct inst_iface *i);

#endif

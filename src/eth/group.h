/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ETH_GROUP_H
#define ETH_GROUP_H

/* IP multicast groups that the kernel, or a station behind the TAP, has joined. */

#include "eth/eth.h"
#include "eth/report.h"
#include "util/list.h"

#define ETH_REPORT_LIFE NS_SEC(260) /* lifetime of a report: RFC 3376 §8.4, RFC 3810 §9.4 */
#define ETH_GROUPS_MAX 1024
#define ETH_MEMBERS_MAX 8192 /* members of all groups together */

/* One member of a group: a receiver that reported the group. */
struct eth_member {
	struct list link; /* in eth_group.members */
	/*
	 * id of the station that reported the group; 0: the interface itself, or a bridge with the
	 * interface's MAC
	 */
	uint32_t station;
	ns_t reported; /* time of the last report */
};

struct eth_group {
	struct list link; /* in eth_groups.all */
	struct hlink by_addr; /* in eth_groups.by_addr */
	enum ipoib_proto proto;
	uint8_t addr[16];
	bool always; /* every host receives the group: 224.0.0.1, ff02::1 */
	/*
	 * the kernel has joined the group: the group was in a list of the kernel, and
	 * eth_groups_sync_end() has not found since then that the kernel left it
	 */
	bool kernel;
	bool in_list; /* the group is in the kernel's list that is being read */
	/* number of lists of the kernel in a row that did not have the group */
	unsigned int missed;
	/* the SA has granted or refused the join of this group since the link came up */
	bool join_done;
	struct list members; /* struct eth_member.link */
};

struct eth_groups {
	struct list all; /* struct eth_group.link */
	struct htab by_addr; /* struct eth_group.by_addr */
	unsigned int n, nmembers;
	/*
	 * the log already says that there is no room for a group, and the interface has left no
	 * group since then
	 */
	bool full_logged;
};

void eth_groups_init(struct eth_if *e);
/* eth_groups_fini() - Leave all groups, and free eth_groups.by_addr */
void eth_groups_fini(struct eth_if *e);

struct eth_group *eth_group_find(const struct eth_if *e, enum ipoib_proto proto,
				 const uint8_t *addr);
/*
 * eth_group_report() - Record that @station (0: the interface itself) reported that it joins or
 * leaves a group
 */
void eth_group_report(struct eth_if *e, uint32_t station, const struct eth_report *r, ns_t now);
/* eth_groups_station_gone() - Remove the closed station @station from all groups */
void eth_groups_station_gone(struct eth_if *e, uint32_t station, ns_t now);
/*
 * eth_groups_of() - Return the number of groups that @station reported. If @station is 0 (the
 * interface itself), groups in the kernel's list are not counted
 */
unsigned int eth_groups_of(const struct eth_if *e, uint32_t station);

/* eth_groups_always() - Join the groups that every host receives; called after the TAP came up */
void eth_groups_always(struct eth_if *e, ns_t now);
/* eth_groups_leave() - Leave all groups, because the TAP went down */
void eth_groups_leave(struct eth_if *e, ns_t now);
/*
 * eth_groups_join_done() - Record that the SA has answered the join of the MGID to which @group is
 * mapped
 */
void eth_groups_join_done(struct eth_if *e, enum ipoib_proto proto, const uint8_t *group);
/* eth_groups_link_down() - Record that the link went down and will join all groups again */
void eth_groups_link_down(struct eth_if *e);

#endif

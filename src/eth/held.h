/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ETH_HELD_H
#define ETH_HELD_H

/*
 * Outgoing IGMP and MLD reports. A report is held until the groups in the report are joined.
 *
 * Reports are sent in the order in which they came, because the report of a leave must not overtake
 * the report of an earlier join. So a held report also delays the later reports, for at most
 * ETH_HELD_TIME.
 */

#include "eth/eth.h"

#define ETH_HELD_MAX 64 /* largest number of reports that are held */
#define ETH_HELD_TIME \
	NS_SEC(2) /* a report is sent after this time even if its groups are not joined */

struct eth_held {
	struct pkt *pkt; /* the report; its data begin with the IP header */
	uint16_t ethertype;
	ns_t until; /* time at which the report is sent even if its groups are not joined */
};

struct eth_held_reports {
	struct eth_held ring[ETH_HELD_MAX]; /* queue of held reports, first in, first out */
	unsigned int head, n;
	struct timer timer; /* timer for .until of the first report in .ring */
};

void eth_held_init(struct eth_if *e);
/* eth_held_drop() - Drop all held reports, because the TAP goes down */
void eth_held_drop(struct eth_if *e);
/* eth_held_release() - Send those reports at the front of the queue that need not wait any more */
void eth_held_release(struct eth_if *e, ns_t now);

/* --- snoop.c */

/*
 * eth_snoop() - Examine an outgoing IP multicast packet. Return: true if @p is an IGMP or MLD
 * report that has to wait. The function then owns @p, and sends it later. Otherwise the caller has
 * to send @p
 */
bool eth_snoop(struct eth_if *e, struct pkt *p, uint16_t ethertype, ns_t now);
/* eth_held_add() - Hold the report @p, and take ownership of @p */
void eth_held_add(struct eth_if *e, struct pkt *p, uint16_t ethertype, ns_t now);
/*
 * eth_held_must() - Tell whether the report @p has to wait. It has to wait if @p joins a group
 * whose join the SA has not answered, or if @p would overtake a held report
 */
bool eth_held_must(const struct eth_if *e, const struct pkt *p);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "eth/held.h"

#include "eth/priv.h"

/*
 * IGMP and MLD reports are read on their way to the link. The InfiniBand group is joined before the
 * report is sent, so that no packet that a router sends in response is lost
 * (draft-kashyap-ipoib-ipv4-multicast-01 §6.2).
 */

#define REPORT_MAX 4096 /* octets of a report that are read */

struct snoop {
	struct eth_if *e;
	uint32_t station; /* id of the sender, 0: the interface itself */
	ns_t now;
};

static void on_report(void *ctx, const struct eth_report *r)
{
	struct snoop *s = ctx;

	eth_group_report(s->e, s->station, r, s->now);
}

bool eth_snoop(struct eth_if *e, struct pkt *p, uint16_t ethertype, ns_t now)
{
	const uint8_t *fixed = pkt_pull(p, ethertype == ETH_P_IPV4 ? 20 : 40);
	struct snoop s = { .e = e, .station = frame_info(p)->station, .now = now };
	uint8_t ip[REPORT_MAX];

	if (!e->up || !fixed || !eth_report_maybe(fixed))
		return false;
	if (!eth_report_parse(ip, pkt_copy_out(p, 0, ip, sizeof(ip)), on_report, &s))
		return false;
	if (e->shape->stations && !frame_info(p)->station && eth_groups_of(e, 0)) {
		/*
		 * A report with the interface's MAC may come from a bridge that has the same MAC.
		 * So a query to this MAC is planned. When the query is due, station.c sends it only
		 * if a group that was reported with this MAC is not in the kernel's list.
		 */
		if (e->stations.query_own_at <= now)
			e->stations.query_own_at = now + ETH_QUERY_PERIOD;
		eth_station_wake(e, e->stations.query_own_at);
	}
	if (ethertype == ETH_P_IPV4)
		e->stats.igmp++;
	else
		e->stats.mld++;
	/* a held report may have waited for the join of a group that has just been left */
	eth_held_release(e, now);
	if (!ipoib_link_is_up(e->cfg.link) || !eth_held_must(e, p))
		return false; /* if the link is down, ipoib_tx() drops the report and counts it */
	eth_held_add(e, p, ethertype, now);
	return true;
}

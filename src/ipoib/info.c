/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/link.h"

/* Names of drop reasons, counters and attributes of a link, for other layers. */

static const char *const drop_names[IPOIB_DROP_N] = {
	[IPOIB_DROP_NONE] = "none",
	[IPOIB_DROP_LINK_DOWN] = "link-down",
	[IPOIB_DROP_TX_TYPE] = "tx-ethertype",
	[IPOIB_DROP_TOO_BIG] = "too-big",
	[IPOIB_DROP_HEADROOM] = "no-headroom",
	[IPOIB_DROP_HELD_FULL] = "held-full",
	[IPOIB_DROP_NO_PATH] = "no-path",
	[IPOIB_DROP_NO_AH] = "no-address-handle",
	[IPOIB_DROP_NOT_GROUP] = "not-a-group",
	[IPOIB_DROP_NO_GROUP] = "no-group",
	[IPOIB_DROP_GROUP_REFUSED] = "group-refused",
	[IPOIB_DROP_GROUPS_FULL] = "groups-full",
	[IPOIB_DROP_NEIGH_GONE] = "neighbour-gone",
	[IPOIB_DROP_SHORT] = "short",
	[IPOIB_DROP_RX_TYPE] = "rx-ethertype",
	[IPOIB_DROP_OWN_ECHO] = "own-echo",
	[IPOIB_DROP_RX_LINK_DOWN] = "rx-link-down",
};

const char *ipoib_drop_name(enum ipoib_drop reason)
{
	return reason < IPOIB_DROP_N ? drop_names[reason] : "?";
}

const struct ipoib_stats *ipoib_link_stats(const struct ipoib_link *l)
{
	return &l->stats;
}

const struct ipoib_profile *ipoib_link_profile(const struct ipoib_link *l)
{
	return l->profile;
}

const ib_gid *ipoib_link_broadcast(const struct ipoib_link *l)
{
	return &l->mgid;
}

unsigned int ipoib_link_ip_mtu(const struct ipoib_link *l)
{
	return l->ip_mtu;
}

bool ipoib_link_is_up(const struct ipoib_link *l)
{
	return l->up;
}

void ipoib_link_info(const struct ipoib_link *l, struct ipoib_link_info *ret)
{
	*ret = (struct ipoib_link_info){
		.name = l->name,
		.profile = l->profile,
		.state = l->state,
		.reason = l->reason,
		.since = l->since,
		.port = l->port,
		.pkey = l->pkey,
		.has_qp = l->has_qp,
		.qpn = l->qpn,
		.lladdr = { .qpn = l->qpn, .gid = l->port.gid },
		.no_group = l->no_group,
		.joined = l->joined,
		.neighs = ipoib_slots_used(&l->neigh_slots),
		.max_neighs = l->neigh_slots.max,
		.paths = ipoib_slots_used(&l->path_slots),
		.groups = ipoib_slots_used(&l->mcast_slots),
		.router = l->router,
		.held = l->nheld,
	};
	if (l->joined || ipoib_link_group_known(l))
		ret->mgid = l->mgid;
	if (!l->joined)
		return;
	ret->group = l->group_rec;
	ret->group_mtu = ib_mtu_octets(l->group_rec.mtu_code);
	ret->ip_mtu = l->ip_mtu;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "eth/eth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eth/priv.h"

static const char *const drop_names[ETH_DROP_MAX] = {
	[ETH_DROP_NONE] = "none",
	[ETH_DROP_SHORT] = "tap-short",
	[ETH_DROP_TYPE] = "tap-ethertype",
	[ETH_DROP_VLAN] = "tap-vlan",
	[ETH_DROP_BPDU] = "tap-802.3",
	[ETH_DROP_LLDP] = "tap-lldp",
	[ETH_DROP_SOURCE] = "tap-source-mac",
	[ETH_DROP_SOURCE_TOKEN] = "tap-source-token",
	[ETH_DROP_STATION_LIMIT] = "tap-station-limit",
	[ETH_DROP_STATION_QP] = "tap-station-qp",
	[ETH_DROP_TOKEN] = "tap-unknown-token",
	[ETH_DROP_NO_NEIGH] = "tap-no-neighbour",
	[ETH_DROP_LOCAL] = "tap-local-mac",
	[ETH_DROP_MAC_MISMATCH] = "tap-unicast-in-group-mac",
	[ETH_DROP_ARP] = "tap-arp-nd",
	[ETH_DROP_DHCP] = "tap-dhcp",
	[ETH_DROP_TOO_BIG] = "tap-too-big",
	[ETH_DROP_OFFLOAD] = "tap-offload",
	[ETH_DROP_NO_MEM] = "no-memory",
	[ETH_DROP_HELD] = "tap-reports-held",
	[ETH_DROP_RX_ARP] = "link-arp-nd",
	[ETH_DROP_RX_QKEY] = "link-qkey",
	[ETH_DROP_RX_DHCP] = "link-dhcp",
	[ETH_DROP_RX_DOWN] = "link-tap-down",
};

const char *eth_drop_name(enum eth_drop d)
{
	return d < ETH_DROP_MAX ? drop_names[d] : "?";
}

void eth_drop(struct eth_if *e, enum eth_drop why, struct pkt *p)
{
	e->stats.drops[why] += p ? pkt_count(p) : 1;
	pkt_free(p);
}

static void on_frame(void *ctx, struct eth_frame *f)
{
	struct eth_if *e = ctx;

	e->stats.rx_frames++;
	e->ops->deliver(e->ctx, f);
}

int eth_if_create(struct eth_if **ret, const struct eth_if_cfg *cfg, const struct eth_ops *ops,
		  void *ctx)
{
	struct eth_if *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->cfg = *cfg;
	e->profile = ipoib_link_profile(cfg->link);
	e->ops = ops;
	e->ctx = ctx;
	e->shape = eth_shape_ops(cfg->shape);
	if (!e->shape->stations || !ops->station_open)
		e->cfg.stations = 0;
	else if (e->cfg.stations > ETH_STATIONS_MAX)
		e->cfg.stations = ETH_STATIONS_MAX;
	list_init(&e->peers);
	eth_groups_init(e);
	eth_held_init(e);
	eth_stations_init(e);
	eth_out_init(e);
	eth_gro_init(&e->gro, e->shape->head.len, cfg->gro_tcp, cfg->gro_udp, on_frame, e);
	eth_coalesce_init(e);
	*ret = e;
	return 0;
}

void eth_if_destroy(struct eth_if *e)
{
	if (!e)
		return;
	eth_held_drop(e);
	eth_groups_fini(e);
	eth_out_fini(e);
	eth_stations_fini(e);
	eth_dhcp_fini(e);
	eth_peers_fini(e);
	htab_fini(&e->tokens.peers);
	free(e);
}

void eth_if_set_addr(struct eth_if *e, const uint8_t mac[6], const struct ipoib_lladdr *own)
{
	memcpy(e->mac, mac, sizeof(e->mac));
	e->own = *own;
	e->own.flags = 0;
	e->has_own = true;
}

void eth_if_set_up(struct eth_if *e, bool up, ns_t now)
{
	e->now = now;
	if (e->up == up)
		return;
	e->up = up;
	if (up) {
		eth_groups_always(e, now);
		return;
	}
	eth_held_drop(e);
	eth_groups_leave(e, now);
}

bool eth_action(struct eth_if *e, const struct ipoib_action *act, ns_t now)
{
	e->now = now;
	switch (act->type) {
	case IPOIB_ACT_NEIGH_GONE:
		eth_peer_gone(e, act->neigh);
		return true;
	case IPOIB_ACT_MCAST_READY:
		eth_groups_join_done(e, act->mcast_ready.proto, act->mcast_ready.group);
		eth_held_release(e, now);
		return true;
	case IPOIB_ACT_SEND:
		eth_send_pkt(e, act->send.pkt, act->send.ah, act->send.dest_qpn, act->send.qkey,
			     now);
		eth_send_flush(e, now);
		return true;
	case IPOIB_ACT_AH_DESTROY:
		eth_out_ah_gone(e, act->ah, now);
		return false;
	case IPOIB_ACT_CARRIER:
		if (!act->carrier.up)
			eth_groups_link_down(e);
		return false;
	default:
		return false;
	}
}

const struct eth_stats *eth_if_stats(const struct eth_if *e)
{
	return &e->stats;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/advice.h"
#include "cmd/cmd.h"
#include "inst/fab.h"
#include "inst/iface.h"
#include "inst/port.h"
#include "text/print.h"

/* Interfaces: `link show`. */

static json_t *port_object(const struct inst_iface *i, const struct ipoib_link_info *info)
{
	json_t *o = json_object();

	cmd_set_str(o, "state", print_port_state(info->port.state));
	cmd_set_int(o, "lmc", info->port.lmc);
	cmd_set_int(o, "active_mtu", ib_mtu_octets(info->port.mtu_code));
	cmd_set(o, "rate_mbps", cmd_rate(info->port.rate_code));
	if (info->port.pkey_index >= 0)
		cmd_set_int(o, "pkey_index", info->port.pkey_index);
	else
		cmd_set(o, "pkey_index", json_null());
	cmd_set(o, "sm_lid", json_integer(sac_port(i->port->ifc.sac)->sm_lid));
	cmd_set_bool(o, "subscribed", sac_subscribed(i->port->ifc.sac));
	return o;
}

static json_t *group_object(const struct ib_mcmember_rec *g)
{
	json_t *o = json_object();

	cmd_set(o, "mgid", cmd_gid(&g->mgid));
	cmd_set(o, "mlid", cmd_hex(g->mlid, 4));
	cmd_set(o, "qkey", cmd_hex(g->qkey, 8));
	cmd_set(o, "pkey", cmd_hex(g->pkey, 4));
	cmd_set_int(o, "mtu", ib_mtu_octets(g->mtu_code));
	cmd_set(o, "rate_mbps", cmd_rate(g->rate_code));
	cmd_set_int(o, "sl", g->sl);
	cmd_set_int(o, "tclass", g->tclass);
	cmd_set_int(o, "flow_label", g->flow_label);
	cmd_set_int(o, "hop_limit", g->hop_limit);
	cmd_set_int(o, "scope", g->scope);
	cmd_set_int(o, "packet_life", g->life);
	cmd_set_int(o, "join_state", g->join_state);
	return o;
}

/* Context of station_object(), which appends each station behind a TAP to .list */
struct station_walk {
	json_t *list;
	ns_t now;
};

static json_t *addresses(const struct inst_iface *i)
{
	json_t *v = json_array();

	for (unsigned int k = 0; k < i->naddrs; k++) {
		json_t *ip = cmd_ip(i->addr[k].octets, i->addr[k].family);

		json_array_append_new(
			v, json_sprintf("%s/%u", json_string_value(ip), i->addr[k].prefix_len));
		json_decref(ip);
	}
	return v;
}

static void station_object(void *ctx, const struct eth_station_info *s)
{
	struct station_walk *w = ctx;
	json_t *o = json_object();

	cmd_set(o, "mac", cmd_mac(s->mac));
	cmd_set(o, "qpn", cmd_hex(s->lladdr.qpn, 6));
	cmd_set(o, "lladdr", cmd_lladdr(&s->lladdr));
	cmd_set(o, "age_ms", cmd_ms(w->now - s->since));
	cmd_set(o, "idle_ms", cmd_ms(w->now - s->last_used));
	cmd_set_int(o, "tx_frames", s->tx_frames);
	cmd_set_int(o, "rx_packets", s->rx_packets);
	cmd_set_int(o, "groups", s->groups);
	json_array_append_new(w->list, o);
}

static json_t *stations(const struct inst_iface *i, ns_t now)
{
	struct station_walk w = { .list = json_array(), .now = now };

	eth_station_each(i->ifc.eth, station_object, &w);
	return w.list;
}

static void set_counts(json_t *row, const struct inst_iface *i, const struct ipoib_link_info *info)
{
	cmd_set_int(row, "neighbours", info->neighs);
	cmd_set_int(row, "neighbours_max", info->max_neighs);
	cmd_set_int(row, "paths", info->paths);
	cmd_set_int(row, "groups", info->groups);
	cmd_set_int(row, "held_packets", info->held);
	cmd_set_int(row, "send_queue", ca_send_queue(i->ifc.port->ca).waiting);
}

/*
 * The parameters that the high-level design of 2002 specifies for the driver (CONFORMANCE.md: H15,
 * H17, H34)
 */
static json_t *params_object(const struct inst_iface *i)
{
	const struct iface_params *p = &i->params;
	json_t *o = json_object();

	cmd_set_int(o, "tx_queue_len", p->tx_queue_len);
	cmd_set_int(o, "sq_depth", p->sq_depth);
	cmd_set_int(o, "rq_depth", p->rq_depth);
	cmd_set(o, "timeout_ms", cmd_ms(p->tx_timeout));
	cmd_set_int(o, "mcast_timeout_ms", p->join_tries.timeout_ms);
	cmd_set_int(o, "mcast_retry_cnt", p->join_tries.retries);
	cmd_set_int(o, "path_timeout_ms", p->path_tries.timeout_ms);
	cmd_set_int(o, "debug", i->log.max);
	return o;
}

static void link_row(struct ctl_req *r, struct inst_iface *i)
{
	json_t *row = cmd_iface_row(i);
	struct ipoib_link_info info;
	char advice[ADVICE_MAX];

	ipoib_link_info(i->ifc.ipoib, &info);
	advice_iface(i, advice);
	cmd_set_str(row, "state", ipoib_link_state_name(info.state));
	cmd_set_str(row, "reason", iface_reason(i, &info));
	cmd_set_str(row, "advice", advice);
	cmd_set(row, "since_ms", cmd_ms(r->now - info.since));
	cmd_set_bool(row, "admin_up", i->kernel_up);
	cmd_set_bool(row, "carrier", i->carrier);
	cmd_set(row, "fabric", cmd_port_fabric(i->port));
	cmd_set_str(row, "port", i->port->name);
	cmd_set(row, "pkey", cmd_hex(i->ifc.pkey, 4));
	cmd_set_str(row, "profile", info.profile->name);
	cmd_set_bool(row, "router", info.router);
	cmd_set_int(row, "mtu", info.joined ? info.ip_mtu : 0);
	cmd_set_int(row, "lid", info.port.lid);
	cmd_set(row, "gid", cmd_gid(&info.port.gid));
	cmd_set(row, "qpn", info.has_qp ? cmd_hex(info.qpn, 6) : json_null());
	cmd_set(row, "lladdr", info.has_qp ? cmd_lladdr(&info.lladdr) : json_null());
	cmd_set_str(row, "netdev", i->kind == TAP_INFINIBAND ? "ibtap" : "tap");
	cmd_set(row, "mac", i->kind == TAP_INFINIBAND ? json_null() : cmd_mac(i->ifc.mac));
	cmd_set_int(row, "ifindex", i->ifindex);
	cmd_set(row, "addresses", addresses(i));
	cmd_set(row, "broadcast", info.joined ? cmd_gid(&info.mgid) : json_null());
	cmd_set(row, "mlid", info.joined ? cmd_hex(info.group.mlid, 4) : json_null());
	cmd_set(row, "qkey", info.joined ? cmd_hex(info.group.qkey, 8) : json_null());
	set_counts(row, i, &info);
	cmd_set(row, "stations", stations(i, r->now));
	cmd_set(row, "params", params_object(i));
	cmd_set(row, "port_attr", port_object(i, &info));
	cmd_set(row, "group", info.joined ? group_object(&info.group) : json_null());
	ctl_row(r, row);
}

static void link_show(struct ctl_req *r)
{
	cmd_each_iface(r, link_row);
}

const struct ctl_cmd cmd_link[] = {
	{ "link show", CTL_READS, link_show, (const char *const[]){ "dev", NULL } },
	{ NULL },
};

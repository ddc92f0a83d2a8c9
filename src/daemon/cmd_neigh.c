/* SPDX-License-Identifier: BSD-2-Clause */
#include <linux/neighbour.h>
#include <string.h>

#include "daemon/cmd.h"
#include "netdev/rtnl.h"

/* Neighbours: what the kernel resolved (IP address -> token) and what is behind the token. */

struct walk {
	struct ctl_req *r;
	struct inst_iface *i;
	json_t *kernel; /* token -> its IP addresses */
};

static int on_kernel_neigh(const struct rtnl_neigh *n, void *arg)
{
	json_t *by_mac = arg, *mac, *list;

	if (!n->has_mac || (n->state & (NUD_NOARP | NUD_FAILED | NUD_INCOMPLETE)))
		return 0;
	mac = cmd_mac(n->mac);
	list = json_object_get(by_mac, json_string_value(mac));
	if (!list) {
		list = json_array();
		json_object_set_new(by_mac, json_string_value(mac), list);
	}
	json_array_append_new(list, cmd_ip(n->ip.addr, n->ip.family == RTNL_V6 ? 6 : 4));
	json_decref(mac);
	return 0;
}

json_t *cmd_kernel_neighs(const struct inst_iface *i)
{
	json_t *by_mac = json_object();
	struct rtnl nl;

	rtnl_attach(&nl, i->host->files.rtnl);
	rtnl_neigh_dump(&nl, i->ifindex, on_kernel_neigh, by_mac);
	return by_mac;
}

static void set_path(json_t *row, const struct ipoib_neigh_info *n)
{
	bool known = n->state == IPOIB_PATH_READY || n->state == IPOIB_PATH_STALE ||
		     n->state == IPOIB_PATH_REFRESH;

	cmd_set(row, "lid", known ? json_integer(n->rec.dlid) : json_null());
	cmd_set(row, "sl", known ? json_integer(n->rec.sl) : json_null());
	cmd_set(row, "mtu", known ? json_integer(ib_mtu_octets(n->rec.mtu_code)) : json_null());
	cmd_set(row, "rate_mbps", known ? cmd_rate(n->rec.rate_code) : json_null());
}

static void neigh_row(void *ctx, const struct ipoib_neigh_info *n)
{
	struct walk *w = ctx;
	json_t *row = cmd_iface_row(w->i), *token = NULL, *ips = NULL;
	const struct ipoib_neigh *e = n->neigh;

	if (e->has_token) {
		token = cmd_mac(e->token);
		ips = json_object_get(w->kernel, json_string_value(token));
	}
	cmd_set(row, "ip", ips ? json_incref(ips) : json_array());
	cmd_set(row, "token", token ? token : json_null());
	cmd_set(row, "gid", cmd_gid(&e->lladdr.gid));
	cmd_set(row, "qpn", cmd_hex(e->lladdr.qpn, 6));
	cmd_set(row, "lladdr", cmd_lladdr(&e->lladdr));
	cmd_set_str(row, "state", ipoib_path_state_name(n->state));
	cmd_set(row, "status", cmd_sac_status(n->status));
	set_path(row, n);
	cmd_set(row, "until_ms", cmd_until(n->until, w->r->now));
	cmd_set(row, "idle_ms", cmd_ms(w->r->now - e->last_used));
	cmd_set_int(row, "held_packets", n->held);
	ctl_row(w->r, row);
}

static void neigh_rows(struct ctl_req *r, struct inst_iface *i)
{
	struct walk w = { .r = r, .i = i, .kernel = cmd_kernel_neighs(i) };

	ipoib_neigh_each(i->ipoib, neigh_row, &w);
	json_decref(w.kernel);
}

static void neigh_show(struct ctl_req *r)
{
	cmd_each_iface(r, neigh_rows);
}

const struct ctl_cmd cmd_neigh[] = {
	{ "neigh show", neigh_show, (const char *const[]){ "dev", NULL } },
	{ NULL },
};

/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "cmd/fabric.h"
#include "fabric/fabric.h"
#include "inst/fab.h"
#include "text/print.h"

/* Ports of a fabric and the links between them. */

/* clang-format off */
#define C(member) { #member, offsetof(struct node_counters, member) }
/* clang-format on */

static const struct {
	const char *name;
	size_t off;
} counters[] = {
	C(xmit_data),
	C(rcv_data),
	C(xmit_pkts),
	C(rcv_pkts),
	C(ucast_xmit),
	C(ucast_rcv),
	C(mcast_xmit),
	C(mcast_rcv),
	C(symbol_errors),
	C(link_recovers),
	C(link_downed),
	C(rcv_errors),
	C(rcv_remphys_errors),
	C(rcv_switch_relay_errors),
	C(xmit_discards),
	C(xmit_constraint_errors),
	C(rcv_constraint_errors),
	C(local_link_integrity),
	C(excessive_overruns),
	C(vl15_dropped),
	C(xmit_wait),
};

static json_t *counters_object(const struct node_counters *c)
{
	json_t *o = json_object();

	for (size_t k = 0; k < ARRAY_SIZE(counters); k++)
		cmd_set_int(o, counters[k].name,
			    (long long)*(const uint64_t *)((const char *)c + counters[k].off));
	return o;
}

static const char *phys_name(unsigned int state)
{
	static const char *const names[] = {
		[IB_PHYS_NOP] = "NoChange",	 [IB_PHYS_SLEEP] = "Sleep",
		[IB_PHYS_POLLING] = "Polling",	 [IB_PHYS_DISABLED] = "Disabled",
		[IB_PHYS_TRAINING] = "Training", [IB_PHYS_LINK_UP] = "LinkUp",
	};

	return state < ARRAY_SIZE(names) ? names[state] : "?";
}

static json_t *speed(const struct smp_port_info *pi)
{
	char buf[32];

	return json_string(topo_rate_print(buf, sizeof(buf),
					   (struct topo_rate){ .width = pi->width_active,
							       .speed = pi->speed_active,
							       .ext = pi->speed_ext_active }));
}

static json_t *pkeys(const struct node_port *np)
{
	json_t *v = json_array();

	for (unsigned int k = 0; k < NODE_PKEYS; k++)
		if (np->pkeys[k])
			json_array_append_new(v, cmd_hex(np->pkeys[k], 4));
	return v;
}

static void set_end_port(json_t *row, struct node_port *np)
{
	const struct smp_port_info *pi = &np->pi;
	bool end = np->ep != NULL;
	ib_gid gid;

	if (end)
		gid = node_gid(np, 0);
	cmd_set(row, "lid", end ? json_integer(pi->lid) : json_null());
	cmd_set(row, "lmc", end ? json_integer(pi->lmc) : json_null());
	cmd_set(row, "sm_lid", end ? json_integer(pi->sm_lid) : json_null());
	cmd_set(row, "port_guid", end ? cmd_guid(np->guids[0]) : json_null());
	cmd_set(row, "gid", end ? cmd_gid(&gid) : json_null());
}

static json_t *port_row(const struct inst_fabric *f, struct fabric_port *p)
{
	struct node_port *np = &fabric_node_node(fabric_port_node(p))->port[fabric_port_num(p)];
	const struct fabric_port *peer = fabric_port_peer(p);
	json_t *row = cmd_fabric_row(f);
	char name[FABRIC_NAME_MAX];

	cmd_set_str(row, "port", fabric_port_name(p, name, sizeof(name)));
	cmd_set_str(row, "link", fabric_link_state_name(fabric_link_state(p)));
	cmd_set_str(row, "state", print_port_state(np->pi.port_state));
	cmd_set_str(row, "phys_state", phys_name(np->pi.phys_state));
	set_end_port(row, np);
	cmd_set(row, "speed", speed(&np->pi));
	cmd_set_int(row, "mtu", ib_mtu_octets(np->pi.neighbor_mtu));
	cmd_set_int(row, "mtu_cap", ib_mtu_octets(np->pi.mtu_cap));
	cmd_set_int(row, "oper_vls", np->pi.oper_vls);
	cmd_set(row, "cap_mask", cmd_hex(np->pi.cap_mask, 8));
	cmd_set(row, "pkeys", pkeys(np));
	cmd_set_int(row, "pkey_violations", np->pi.pkey_violations);
	cmd_set_int(row, "qkey_violations", np->pi.qkey_violations);
	cmd_set(row, "peer",
		peer ? ctl_str(fabric_port_name(peer, name, sizeof(name))) : json_null());
	cmd_set_int(row, "xmit_pkts", (long long)np->cnt.xmit_pkts);
	cmd_set_int(row, "rcv_pkts", (long long)np->cnt.rcv_pkts);
	cmd_set_int(row, "xmit_discards", (long long)np->cnt.xmit_discards);
	cmd_set(row, "counters", counters_object(&np->cnt));
	return row;
}

static void node_ports(struct ctl_req *r, struct inst_fabric *f, struct fabric_node *n)
{
	unsigned int nports = fabric_node_node(n)->info.nports;

	for (unsigned int k = fabric_node_hca(n) ? 1 : 0; k <= nports; k++)
		ctl_row(r, port_row(f, fabric_node_port(n, k)));
}

static void all_ports(struct ctl_req *r, struct inst_fabric *f)
{
	for (unsigned int k = 0; k < fabric_nnodes(f->fabric); k++)
		node_ports(r, f, fabric_node_at(f->fabric, k));
}

/*
 * Shows all ports, the ports of the node that the argument "node" names, or the port that the
 * argument "port" names.
 */
void cmd_fabric_port_show(struct ctl_req *r)
{
	bool one = json_object_get(r->args, "port"), node = json_object_get(r->args, "node");
	struct inst_fabric *f;
	struct fabric_node *n;
	struct fabric_port *p;

	if (!one && !node) {
		cmd_each_fabric(r, all_ports);
		return;
	}
	f = ctl_arg_fabric(r);
	if (!f)
		return;
	if (one) {
		p = cmd_arg_port(r, f, "port");
		if (!p)
			return;
		ctl_row(r, port_row(f, p));
	} else {
		n = cmd_arg_node(r, f);
		if (!n)
			return;
		node_ports(r, f, n);
	}
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

void cmd_fabric_link_set(struct ctl_req *r)
{
	struct inst_fabric *f = ctl_arg_fabric(r);
	struct fabric_port *p = f ? cmd_arg_port(r, f, "port") : NULL;
	bool bad, up;
	int status;

	if (!p)
		return;
	up = ctl_arg_bool(r, "up", &bad);
	if (bad)
		return;
	if (!json_object_get(r->args, "up")) {
		ctl_end(r, PROTO_EXIT_USAGE, "up: missing, expected true or false");
		return;
	}
	status = fabric_link_set(p, up, r->now);
	if (status)
		ctl_end(r, PROTO_EXIT_USAGE, "port: %s",
			status == -ENOTCONN ? "it has no cable" : strerror(-status));
	else
		ctl_end(r, PROTO_EXIT_OK, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/fabric.h"

#include "inst/fab.h"
#include "text/print.h"

/* Fabrics as a whole, and their nodes. */

struct fabric_node *cmd_arg_node(struct ctl_req *r, struct inst_fabric *f)
{
	bool bad;
	const char *name = ctl_arg_str(r, "node", &bad);
	struct fabric_node *n = name ? fabric_node_find(f->fabric, name) : NULL;

	if (!bad && !n)
		ctl_end(r, PROTO_EXIT_USAGE,
			name ? "node '%.64s': no such node in fabric %s"
			     : "node%s: missing, expected a node of fabric %s",
			name ? name : "", f->name);
	return bad ? NULL : n;
}

/* --- fabric show */

struct totals {
	unsigned int switches, cas, links,
		links_up; /* number of link ends at first, of links after the division by 2 */
	unsigned int udp, udp_up;
};

static void count_links(struct totals *t, struct fabric_node *n)
{
	unsigned int nports = fabric_node_node(n)->info.nports;

	for (unsigned int k = 1; k <= nports; k++) {
		const struct fabric_port *p = fabric_node_port(n, k), *peer = fabric_port_peer(p);
		bool up = fabric_link_state(p) == FABRIC_LINK_UP;

		if (peer && !fabric_port_node(peer)) {
			t->udp++;
			t->udp_up += up;
		} else if (peer) {
			t->links++;
			t->links_up += up;
		}
	}
}

static struct totals count(const struct inst_fabric *f)
{
	struct totals t = { 0 };

	for (unsigned int k = 0; k < fabric_nnodes(f->fabric); k++) {
		struct fabric_node *n = fabric_node_at(f->fabric, k);

		if (fabric_node_hca(n))
			t.cas++;
		else
			t.switches++;
		count_links(&t, n);
	}
	t.links /= 2; /* each link was counted at both ends */
	t.links_up /= 2;
	return t;
}

static const char *const crc_names[] = {
	[CONF_CRC_LAZY] = "lazy",
	[CONF_CRC_FULL] = "full",
	[CONF_CRC_ICRC] = "icrc",
	[CONF_CRC_OFF] = "lazy",
};

static void fabric_row(struct ctl_req *r, struct inst_fabric *f)
{
	json_t *row = cmd_fabric_row(f);
	struct totals t = count(f);

	cmd_set(row, "topology", f->topology_file ? ctl_str(f->topology_file) : json_null());
	cmd_set_str(row, "crc", crc_names[f->conf.crc]);
	cmd_set_int(row, "switches", t.switches);
	cmd_set_int(row, "cas", t.cas);
	cmd_set_int(row, "links", t.links);
	cmd_set_int(row, "links_up", t.links_up);
	cmd_set_int(row, "udp_links", t.udp);
	cmd_set_int(row, "udp_links_up", t.udp_up);
	cmd_set_int(row, "hops", (long long)fabric_stats(f->fabric)->hops);
	cmd_set(row, "up_ms", f->up_at ? cmd_ms(r->now - f->up_at) : json_null());
	cmd_set(row, "sm", cmd_sm_object(f, r->now));
	ctl_row(r, row);
}

static void fabric_show(struct ctl_req *r)
{
	cmd_each_fabric(r, fabric_row);
}

/* --- fabric node show */

static json_t *node_row(const struct inst_fabric *f, struct fabric_node *n)
{
	const struct node *node = fabric_node_node(n);
	json_t *row = cmd_fabric_row(f);
	uint64_t drops = 0;

	for (int d = 0; d < FABRIC_DROP_MAX; d++)
		drops += fabric_node_drops(n, (enum fabric_drop)d);
	for (int d = 0; fabric_node_hca(n) && d < HCA_DROP_MAX; d++)
		drops += hca_drops(fabric_node_hca(n), (enum hca_drop)d);
	cmd_set_str(row, "node", fabric_node_name(n));
	cmd_set_str(row, "type", node_is_switch(node) ? "switch" : "ca");
	cmd_set_str(row, "description", node->desc);
	cmd_set(row, "node_guid", cmd_guid(node->info.node_guid));
	cmd_set(row, "system_guid", cmd_guid(node->info.sys_guid));
	cmd_set_int(row, "ports", node->info.nports);
	cmd_set(row, "lid",
		node_is_switch(node) ? json_integer(node->port[0].pi.lid) : json_null());
	cmd_set(row, "device_id", cmd_hex(node->info.device_id, 4));
	cmd_set(row, "vendor_id", cmd_hex(node->info.vendor_id, 6));
	cmd_set_int(row, "drops", (long long)drops);
	return row;
}

static void node_rows(struct ctl_req *r, struct inst_fabric *f)
{
	for (unsigned int k = 0; k < fabric_nnodes(f->fabric); k++)
		ctl_row(r, node_row(f, fabric_node_at(f->fabric, k)));
}

static void node_show(struct ctl_req *r)
{
	struct inst_fabric *f;
	struct fabric_node *n;

	if (!json_object_get(r->args, "node")) {
		cmd_each_fabric(r, node_rows);
		return;
	}
	f = ctl_arg_fabric(r);
	n = f ? cmd_arg_node(r, f) : NULL;
	if (!n)
		return;
	ctl_row(r, node_row(f, n));
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

#define FABRIC_ARG             \
	(const char *const[])  \
	{                      \
		"fabric", NULL \
	}
#define NODE_ARGS                      \
	(const char *const[])          \
	{                              \
		"node", "fabric", NULL \
	}

#define PART_ARGS                               \
	(const char *const[])                   \
	{                                       \
		"from", "count", "fabric", NULL \
	}

const struct ctl_cmd cmd_fabric[] = {
	{ "fabric show", CTL_READS, fabric_show, FABRIC_ARG },
	{ "fabric node show", CTL_READS, node_show, NODE_ARGS },
	{ "fabric port show", CTL_READS, cmd_fabric_port_show,
	  (const char *const[]){ "node", "port", "fabric", NULL } },
	{ "fabric map", CTL_READS, cmd_fabric_map, PART_ARGS },
	{ "fabric load", CTL_READS, cmd_fabric_load, PART_ARGS },
	{ "fabric route", CTL_READS, cmd_fabric_route,
	  (const char *const[]){ "from", "to", "fabric", NULL } },
	{ "fabric udp show", CTL_READS, cmd_fabric_udp_show, FABRIC_ARG },
	{ "fabric udp attach", CTL_CHANGES, cmd_fabric_udp_attach,
	  (const char *const[]){ "name", "port", "peer", "fabric", "fresh", NULL } },
	{ "fabric link set", CTL_CHANGES, cmd_fabric_link_set,
	  (const char *const[]){ "port", "up", "fabric", NULL } },
	{ "fabric lft show", CTL_READS, cmd_fabric_lft_show, NODE_ARGS },
	{ "fabric lft set", CTL_CHANGES, cmd_fabric_lft_set,
	  (const char *const[]){ "node", "lid", "port", "fabric", NULL } },
	{ "fabric mft show", CTL_READS, cmd_fabric_mft_show,
	  (const char *const[]){ "node", "mlid", "fabric", NULL } },
	{ "fabric sm show", CTL_READS, cmd_fabric_sm_show, FABRIC_ARG },
	{ "fabric sm start", CTL_CHANGES, cmd_fabric_sm_start,
	  (const char *const[]){ "port", "priority", "fabric", NULL } },
	{ "fabric sm stop", CTL_CHANGES, cmd_fabric_sm_stop,
	  (const char *const[]){ "port", "fabric", NULL } },
	{ "fabric sm restart", CTL_CHANGES, cmd_fabric_sm_restart,
	  (const char *const[]){ "port", "fabric", NULL } },
	{ "fabric lid set", CTL_CHANGES, cmd_fabric_lid_set,
	  (const char *const[]){ "port", "lid", "fabric", NULL } },
	{ "fabric sweep", CTL_CHANGES, cmd_fabric_sweep, FABRIC_ARG },
	{ "fabric partition show", CTL_READS, cmd_fabric_partition_show, FABRIC_ARG },
	{ "fabric partition load", CTL_CHANGES, cmd_fabric_partition_load,
	  (const char *const[]){ "file", "fabric", NULL } },
	{ "fabric group show", CTL_READS, cmd_fabric_group_show, FABRIC_ARG },
	{ NULL },
};

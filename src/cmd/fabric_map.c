/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/fabric.h"
#include "inst/fab.h"

/*
 * Commands for a program that shows the whole fabric all the time. The program asks for nodes by
 * index, in several requests, so that the instance can forward packets between two answers. "fabric
 * map" has the data that seldom changes, and "fabric load" the numbers that change all the time.
 */

#define PART_MAX 1024 /* largest number of nodes in one answer */
#define HOPS_MAX 64 /* largest number of hops that are followed */

/* Tell whether @p is the end of a cable */
static bool has_cable(const struct fabric_port *p)
{
	return fabric_port_num(p) && fabric_port_peer(p);
}

/* --- map: [port, speed, peer, true if the peer is no node of this fabric] for each cable */

static json_t *cable(const struct fabric_port *p)
{
	const struct smp_port_info *pi =
		&fabric_node_node(fabric_port_node(p))->port[fabric_port_num(p)].pi;
	const struct fabric_port *peer = fabric_port_peer(p);
	char name[FABRIC_NAME_MAX], speed[32];

	topo_rate_print(speed, sizeof(speed),
			(struct topo_rate){ .width = pi->width_active,
					    .speed = pi->speed_active,
					    .ext = pi->speed_ext_active });
	return json_pack("[i, s, o, b]", fabric_port_num(p), speed,
			 ctl_str(fabric_port_name(peer, name, sizeof(name))),
			 !fabric_port_node(peer));
}

static json_t *map_row(struct fabric_node *n)
{
	const struct node *node = fabric_node_node(n);
	json_t *row = json_object(), *cables = json_array();

	cmd_set_str(row, "node", fabric_node_name(n));
	cmd_set_str(row, "description", node->desc);
	cmd_set_str(row, "type", node_is_switch(node) ? "switch" : "ca");
	cmd_set(row, "node_guid", cmd_guid(node->info.node_guid));
	cmd_set_int(row, "lid", node->port[node_is_switch(node) ? 0 : 1].pi.lid);
	for (unsigned int k = 1; k <= node->info.nports; k++)
		if (has_cable(fabric_node_port(n, k)))
			json_array_append_new(cables, cable(fabric_node_port(n, k)));
	cmd_set(row, "cables", cables);
	return row;
}

/* --- load: state of the link, data sent in units of 4 octets, and errors, for each cable in the order of the map */

static uint64_t errors_of(const struct node_counters *c)
{
	return c->symbol_errors + c->rcv_errors + c->rcv_remphys_errors + c->xmit_discards +
	       c->xmit_constraint_errors + c->rcv_constraint_errors + c->local_link_integrity +
	       c->excessive_overruns + c->vl15_dropped;
}

static json_t *load_row(struct fabric_node *n)
{
	const struct node *node = fabric_node_node(n);
	json_t *v = json_array();

	for (unsigned int k = 1; k <= node->info.nports; k++) {
		const struct node_counters *c = &node->port[k].cnt;
		const struct fabric_port *p = fabric_node_port(n, k);

		if (!has_cable(p))
			continue;
		json_array_append_new(v, json_integer(fabric_link_state(p)));
		json_array_append_new(v, json_integer((json_int_t)c->xmit_data));
		json_array_append_new(v, json_integer((json_int_t)errors_of(c)));
	}
	return json_pack("{s:o}", "v", v);
}

static void part(struct ctl_req *r, json_t *(*row)(struct fabric_node *n))
{
	struct inst_fabric *f = ctl_arg_fabric(r);
	bool bad = !f;
	long long from = bad ? 0 : ctl_arg_int(r, "from", 0, UINT16_MAX, 0, &bad);
	long long count = bad ? 0 : ctl_arg_int(r, "count", 1, PART_MAX, PART_MAX, &bad);

	if (bad)
		return;
	for (long long k = from; k < from + count && k < fabric_nnodes(f->fabric); k++)
		ctl_row(r, row(fabric_node_at(f->fabric, (unsigned int)k)));
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

void cmd_fabric_map(struct ctl_req *r)
{
	part(r, map_row);
}

void cmd_fabric_load(struct ctl_req *r)
{
	part(r, load_row);
}

/* --- route */

/*
 * Sends the row of the hop that leaves a node by the port @p. Returns the port at which the packet
 * arrives; NULL: the route ends at this hop
 */
static struct fabric_port *hop(struct ctl_req *r, struct inst_fabric *f, struct fabric_port *p,
			       unsigned int lid)
{
	struct fabric_port *peer = fabric_port_peer(p);
	json_t *row = cmd_fabric_row(f);
	char name[FABRIC_NAME_MAX];
	bool up = fabric_link_state(p) == FABRIC_LINK_UP;

	cmd_set_str(row, "port", fabric_port_name(p, name, sizeof(name)));
	cmd_set_int(row, "lid", lid);
	cmd_set(row, "peer",
		peer ? ctl_str(fabric_port_name(peer, name, sizeof(name))) : json_null());
	cmd_set_str(row, "link", fabric_link_state_name(fabric_link_state(p)));
	ctl_row(r, row);
	return up && peer && fabric_port_node(peer) ? peer : NULL;
}

static bool among(struct fabric_node *const *nodes, unsigned int n, const struct fabric_node *node)
{
	for (unsigned int i = 0; i < n; i++)
		if (nodes[i] == node)
			return true;
	return false;
}

/*
 * Follows the LFTs from the end port @p to the LID of the end port @to, which is at a CA or is port 0 of a switch. A
 * switch looks only at the LID, so a route that comes to a switch again is a loop.
 */
static const char *follow(struct ctl_req *r, struct inst_fabric *f, struct fabric_port *p,
			  const struct fabric_port *to, unsigned int lid)
{
	struct fabric_node *before[HOPS_MAX];

	for (unsigned int n = 0; n < HOPS_MAX; n++) {
		struct fabric_node *at = fabric_port_node(p);
		const struct node_switch *sw = fabric_node_node(at)->sw;

		if (p == to || (at == fabric_port_node(to) && !fabric_port_num(to)))
			return NULL;
		if (among(before, n, at))
			return "the route is a loop";
		before[n] = at;
		if (sw &&
		    (lid > sw->si.lft_top || sw->lft[lid] > fabric_node_node(at)->info.nports))
			return "a switch has no entry for the LID";
		if (!sw && n)
			return "the route ends at another port";
		p = hop(r, f, sw ? fabric_node_port(at, sw->lft[lid]) : p, lid);
		if (!p)
			return "a link of the route is not up";
	}
	return "the route is longer than any that is followed";
}

void cmd_fabric_route(struct ctl_req *r)
{
	struct inst_fabric *f = ctl_arg_fabric(r);
	struct fabric_port *from = f ? cmd_arg_port(r, f, "from") : NULL,
			   *to = from ? cmd_arg_port(r, f, "to") : NULL;
	const struct node_port *np;
	const char *problem;

	if (!to)
		return;
	np = &fabric_node_node(fabric_port_node(to))->port[fabric_port_num(to)];
	if (!np->ep || !ib_lid_is_unicast(np->pi.lid)) {
		ctl_end(r, PROTO_EXIT_USAGE, "to: the port has no LID");
		return;
	}
	problem = follow(r, f, from, to, np->pi.lid);
	ctl_end(r, problem ? PROTO_EXIT_FAILED : PROTO_EXIT_OK, problem ? "%s" : NULL, problem);
}

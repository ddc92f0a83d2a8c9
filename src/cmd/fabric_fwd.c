/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/fabric.h"
#include "inst/fab_sm.h"
#include "sm/group.h"

/* Forwarding tables, as the switches hold them. */

static struct fabric_node *switch_arg(struct ctl_req *r, struct inst_fabric *f)
{
	struct fabric_node *n = cmd_arg_node(r, f);

	if (!n || !fabric_node_hca(n))
		return n;
	ctl_end(r, PROTO_EXIT_USAGE, "node '%s': a CA, expected a switch", fabric_node_name(n));
	return NULL;
}

/* --- LFT */

/* Stores for each LID the end port that has the LID, so that table entries can be shown with names. */
static void name_lids(const struct inst_fabric *f, const struct node_port **by_lid)
{
	for (unsigned int k = 0; k < fabric_nnodes(f->fabric); k++) {
		const struct node *n = fabric_node_node(fabric_node_at(f->fabric, k));

		for (unsigned int i = 0; i <= n->info.nports; i++) {
			const struct node_port *p = &n->port[i];

			if (!p->ep || !ib_lid_is_unicast(p->pi.lid))
				continue;
			for (unsigned int j = 0; j < 1u << p->pi.lmc; j++)
				if (p->pi.lid + j < IB_LID_MCAST_MIN)
					by_lid[p->pi.lid + j] = p;
		}
	}
}

static json_t *owner(const struct node_port *p)
{
	if (!p)
		return json_null();
	return ctl_strf("%s/%u", p->node->desc, p->num);
}

static void lft_rows(struct ctl_req *r, struct inst_fabric *f, struct fabric_node *n)
{
	static const struct node_port *by_lid[IB_LID_MCAST_MIN];
	const struct node_switch *sw = fabric_node_node(n)->sw;

	memset(by_lid, 0, sizeof(by_lid));
	name_lids(f, by_lid);
	for (unsigned int lid = 1; lid <= sw->si.lft_top && lid < sizeof(sw->lft); lid++) {
		json_t *row;

		if (sw->lft[lid] == SMP_LFT_NONE)
			continue;
		row = cmd_fabric_row(f);
		cmd_set_str(row, "node", fabric_node_name(n));
		cmd_set_int(row, "lid", lid);
		cmd_set_int(row, "port", sw->lft[lid]);
		cmd_set(row, "destination", owner(by_lid[lid]));
		ctl_row(r, row);
	}
}

void cmd_fabric_lft_show(struct ctl_req *r)
{
	struct inst_fabric *f = ctl_arg_fabric(r);
	struct fabric_node *n = f ? switch_arg(r, f) : NULL;

	if (!n)
		return;
	lft_rows(r, f, n);
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

/*
 * Change one LFT entry in the switch itself. The subnet manager does not know of the change. Port
 * 255 means no port.
 */
void cmd_fabric_lft_set(struct ctl_req *r)
{
	struct inst_fabric *f = ctl_arg_fabric(r);
	struct fabric_node *n = f ? switch_arg(r, f) : NULL;
	struct node *node = n ? fabric_node_node(n) : NULL;
	long long lid, port;
	bool bad;

	if (!node)
		return;
	lid = ctl_arg_int(r, "lid", 1, node->sw->si.lft_top, 0, &bad);
	if (bad)
		return;
	port = ctl_arg_int(r, "port", 0, SMP_LFT_NONE, -1, &bad);
	if (bad)
		return;
	if (!lid || port < 0) {
		ctl_end(r, PROTO_EXIT_USAGE, "expected a LID and a port");
	} else if (port > node->info.nports && port != SMP_LFT_NONE) {
		ctl_end(r, PROTO_EXIT_USAGE,
			"port: expected a number from 0 to %u, or %u for no port",
			node->info.nports, SMP_LFT_NONE);
	} else {
		node->sw->lft[lid] = (uint8_t)port;
		ctl_end(r, PROTO_EXIT_OK, NULL);
	}
}

/* --- MFT */

static json_t *ports_of(const uint64_t mask[4])
{
	json_t *v = json_array();

	for (unsigned int p = 0; p < 256; p++)
		if (mask[p / 64] >> (p % 64) & 1)
			json_array_append_new(v, json_integer(p));
	return v;
}

static json_t *groups_of(const struct inst_fabric *f, uint16_t mlid)
{
	const struct inst_sm *m = fab_sm(f);
	const struct sm_group *g = m ? sm_group_by_mlid(m->sm, mlid) : NULL;

	return g ? cmd_gid(&g->rec.mgid) : json_null();
}

static void mft_row(struct ctl_req *r, const struct inst_fabric *f, struct fabric_node *n,
		    unsigned int k)
{
	const uint64_t *mask = node_mft_mask(fabric_node_node(n)->sw, k);
	json_t *row;

	if (!(mask[0] | mask[1] | mask[2] | mask[3]))
		return;
	row = cmd_fabric_row(f);
	cmd_set_str(row, "node", fabric_node_name(n));
	cmd_set(row, "mlid", cmd_hex(IB_LID_MCAST_MIN + k, 4));
	cmd_set(row, "ports", ports_of(mask));
	cmd_set(row, "mgid", groups_of(f, (uint16_t)(IB_LID_MCAST_MIN + k)));
	ctl_row(r, row);
}

/*
 * Handle a request with the argument "mlid" instead of "node": show the MFT entries of all switches
 * for this MLID, which form the tree of the multicast group
 */
static void mft_tree(struct ctl_req *r, struct inst_fabric *f)
{
	long long mlid;
	bool bad;

	mlid = ctl_arg_int(r, "mlid", IB_LID_MCAST_MIN, IB_LID_MCAST_MIN + NODE_MCAST_LIDS - 1, 0,
			   &bad);
	if (bad)
		return;
	for (unsigned int k = 0; k < fabric_nnodes(f->fabric); k++) {
		struct fabric_node *n = fabric_node_at(f->fabric, k);

		if (!fabric_node_hca(n))
			mft_row(r, f, n, (unsigned int)mlid - IB_LID_MCAST_MIN);
	}
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

void cmd_fabric_mft_show(struct ctl_req *r)
{
	struct inst_fabric *f = ctl_arg_fabric(r);
	struct fabric_node *n;

	if (f && json_object_get(r->args, "mlid")) {
		mft_tree(r, f);
		return;
	}
	n = f ? switch_arg(r, f) : NULL;
	if (!n)
		return;
	for (unsigned int k = 0; k < NODE_MCAST_LIDS; k++)
		mft_row(r, f, n, k);
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

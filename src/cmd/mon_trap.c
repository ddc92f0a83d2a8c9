/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/mon_trap.h"

#include "cmd/cmd.h"
#include "inst/fab.h"
#include "sm/sm.h"
#include "subnet/db.h"
#include "text/print.h"

static json_t *name_of(const struct sm_port *p)
{
	return p ? ctl_strf("%s/%u", p->node->desc, p->num) : json_null();
}

/*
 * Return the node of the fabric that the SM knows as @n; NULL if the node is beyond a link over UDP
 */
static struct fabric_node *fabric_has(const struct inst_fabric *f, const struct sm_node *n)
{
	struct fabric_node *node = fabric_node_find(f->fabric, n->desc);

	return node && fabric_node_node(node)->info.node_guid == n->info.node_guid ? node : NULL;
}

static void add_port(json_t *all, const json_t *common, struct fabric_port *p, bool up)
{
	json_t *row = json_copy((json_t *)common);
	const struct fabric_port *peer = fabric_port_peer(p);
	char name[FABRIC_NAME_MAX];

	cmd_set_str(row, "port", fabric_port_name(p, name, sizeof(name)));
	cmd_set(row, "peer",
		peer ? ctl_str(fabric_port_name(peer, name, sizeof(name))) : json_null());
	cmd_set_str(row, "link", up ? "up" : "down");
	json_array_append_new(all, row);
}

/* Add a row for each port whose link has changed since the last sweep */
static void add_changed(json_t *all, const json_t *common, const struct inst_fabric *f,
			const struct sm_node *n)
{
	struct fabric_node *node = fabric_has(f, n);

	for (unsigned int k = 1; node && k <= n->info.nports; k++) {
		struct fabric_port *p = fabric_node_port(node, k);
		bool up = p && fabric_link_state(p) == FABRIC_LINK_UP;

		if (p && n->port[k].known && up != (n->port[k].pi.port_state != IB_PORT_DOWN))
			add_port(all, common, p, up);
	}
}

static void set_about(json_t *row, const struct sm_db *db, const struct mad_notice *n)
{
	uint16_t lid = mad_notice_get_lid(n);
	ib_gid gid;

	if (n->trap >= MAD_TRAP_GID_IN_SERVICE && n->trap <= MAD_TRAP_MC_DELETED) {
		gid = mad_notice_get_gid(n);
		cmd_set(row, "gid", cmd_gid(&gid));
	} else if (lid != n->issuer_lid) {
		cmd_set(row, "about", name_of(sm_db_port_by_lid(db, lid)));
	}
}

json_t *mon_trap(const struct inst_sm *m, const struct mad_notice *n)
{
	const struct sm_db *db = sm_db(m->sm);
	const struct sm_port *issuer = db ? sm_db_port_by_lid(db, n->issuer_lid) : NULL;
	json_t *all = json_array(), *row = json_object();

	cmd_set_str(row, "what", n->generic ? print_trap(n->trap) : "vendor");
	cmd_set(row, "issuer", name_of(issuer));
	if (db && n->generic && n->trap == MAD_TRAP_LINK_STATE && issuer)
		add_changed(all, row, m->fab, issuer->node);
	else if (db && n->generic)
		set_about(row, db, n);
	if (!json_array_size(all))
		json_array_append(all, row);
	json_decref(row);
	return all;
}

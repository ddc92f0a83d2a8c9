/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/mon_trap.h"

#include <stdio.h>

#include "cmd/cmd.h"
#include "inst/fab.h"
#include "sm/sm.h"
#include "subnet/db.h"
#include "text/print.h"
#include "util/list.h"
#include "util/text.h"
#include "wire/notice.h"

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

/* Add a row to @all for each port of @n whose link has changed since the SM's last sweep */
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

/*
 * Set the members of @row about one end of a packet. The member @who is the name of the port; the
 * members @who_lid, @who_qp and @who_gid are its addresses in the packet. If no port has the LID,
 * for example because the LID of the port has changed, the port is found by its GID.
 */
static void set_end(json_t *row, const struct inst_sm *m, const char *who, uint16_t lid,
		    uint32_t qp, const ib_gid *gid)
{
	const struct sm_db *db = sm_db(m->sm);
	const struct sm_port *p = lid ? sm_db_port_by_lid(db, lid) : NULL;
	char key[16];

	if (!p && gid)
		p = sm_db_port_by_gid(db, gid);
	cmd_set(row, who, name_of(p));
	snprintf(key, sizeof(key), "%s_lid", who);
	cmd_set(row, key, lid ? json_integer(lid) : json_null());
	snprintf(key, sizeof(key), "%s_qp", who);
	cmd_set(row, key, qp ? cmd_hex(qp, 6) : json_null());
	snprintf(key, sizeof(key), "%s_gid", who);
	cmd_set(row, key, gid ? cmd_gid(gid) : json_null());
}

/*
 * Set the members "port" (port @num of the node that has @lid) and "peer" (the other end of its
 * cable)
 */
static void set_port(json_t *row, const struct sm_db *db, uint16_t lid, uint8_t num)
{
	const struct sm_port *end = sm_db_port_by_lid(db, lid), *p = NULL;

	if (end && num <= end->node->info.nports)
		p = &end->node->port[num];
	cmd_set(row, "port", name_of(p));
	cmd_set(row, "peer", name_of(p ? p->peer : NULL));
}

/*
 * Set the members for traps 257 to 259: the wrong key, and the source and the destination of the
 * packet; for trap 259 also the port of the switch
 */
static void set_violation(json_t *row, const struct inst_sm *m, const struct mad_notice *n)
{
	struct notice_violation v;

	notice_violation_decode(&v, n);
	if (n->trap == MAD_TRAP_BAD_QKEY)
		cmd_set(row, "qkey", cmd_hex(v.key, 8));
	else
		cmd_set(row, "pkey", cmd_hex(v.key & 0xffff, 4));
	set_end(row, m, "from", v.slid, v.src_qp, v.has_gids ? &v.sgid : NULL);
	set_end(row, m, "to", v.dlid, v.dest_qp, v.has_gids ? &v.dgid : NULL);
	if (n->trap == MAD_TRAP_SWITCH_BAD_PKEY)
		set_port(row, sm_db(m->sm), v.switch_lid, v.port);
}

/*
 * Return the port that sent the directed-route SMP of @k to the port @to; NULL if the SM does not
 * know the sender. The entries of k->path are the ports by which the SMP arrived at each node. So
 * the path, read from its end, leads from @to back to the sender.
 */
static const struct sm_port *sender_by_route(const struct sm_port *to, const struct notice_mkey *k)
{
	const struct sm_port *p = to;

	if (k->truncated)
		return NULL;
	for (unsigned int i = k->hops; i; i--) {
		const struct sm_node *node = p->node;
		uint8_t out = k->path[i - 1];

		if (out > node->info.nports || !node->port[out].peer)
			return NULL;
		p = node->port[out].peer;
	}
	return p;
}

/*
 * Set the members for trap 256. According to the description of the trap, LIDADDR is the LID of the
 * requester. Some agents, such as Linux's drivers, write their own LID instead. So if LIDADDR is
 * the agent's own LID, it does not name the requester. The wrong M_Key is not shown, because it may
 * be the right M_Key of another fabric.
 */
static void set_mkey(json_t *row, const struct sm_db *db, const struct mad_notice *n,
		     const struct sm_port *issuer)
{
	uint16_t lid = mad_notice_get_lid(n);
	const struct sm_port *from = NULL;
	struct notice_mkey k;

	notice_mkey_decode(&k, n);
	if (k.directed && k.dr_slid != IB_LID_PERMISSIVE)
		from = sm_db_port_by_lid(db, k.dr_slid);
	else if (k.directed && issuer)
		from = sender_by_route(issuer, &k);
	else if (lid != n->issuer_lid)
		from = sm_db_port_by_lid(db, lid);
	cmd_set(row, "from", name_of(from));
	cmd_set(row, "request",
		ctl_strf("%s %s", print_mad_method(MAD_CLASS_SM_LID, k.method),
			 print_attr(MAD_CLASS_SM_LID, k.attr)));
	cmd_set(row, "modifier", cmd_hex(k.mod, 8));
}

/*
 * Set the members for trap 144. The member "changed" lists what the notice reports and the SM has
 * not read yet: the capability bits that differ from those of the last sweep, and other changed
 * attributes. It is null if there are none.
 */
static void set_change(json_t *row, const struct sm_db *db, const struct mad_notice *n)
{
	static const char *const others[] = { "NodeDescription", "LinkWidthEnabled",
					      "LinkSpeedEnabled", "priority of the manager" };
	const struct sm_port *p = sm_db_port_by_lid(db, mad_notice_get_lid(n));
	struct notice_change c;
	char buf[256] = "", item[64];
	struct text t = TEXT_IN(buf);

	notice_change_decode(&c, n);
	for (unsigned int i = 0; p && i < 32; i++) {
		if (!((c.cap_mask ^ p->pi.cap_mask) >> i & 1))
			continue;
		snprintf(item, sizeof(item), "%s %s", print_port_cap(1u << i),
			 c.cap_mask >> i & 1 ? "set" : "cleared");
		text_add_item(&t, ", ", item);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++)
		if (c.others >> i & 1)
			text_add_item(&t, ", ", others[i]);
	cmd_set(row, "capabilities", cmd_hex(c.cap_mask, 8));
	cmd_set(row, "changed", *buf ? ctl_str(buf) : json_null());
}

/* Set the members for traps 64 to 67: the port or the group that was created or deleted */
static void set_gid(json_t *row, const struct sm_db *db, const struct mad_notice *n)
{
	ib_gid gid = mad_notice_get_gid(n);

	cmd_set(row, "gid", cmd_gid(&gid));
	if (n->trap == MAD_TRAP_GID_IN_SERVICE || n->trap == MAD_TRAP_GID_OUT_OF_SERVICE)
		cmd_set(row, "about", name_of(sm_db_port_by_gid(db, &gid)));
}

static void set_details(json_t *row, const struct inst_sm *m, const struct mad_notice *n,
			const struct sm_port *issuer)
{
	const struct sm_db *db = sm_db(m->sm);
	uint16_t lid = mad_notice_get_lid(n);

	switch (n->trap) {
	case MAD_TRAP_GID_IN_SERVICE:
	case MAD_TRAP_GID_OUT_OF_SERVICE:
	case MAD_TRAP_MC_CREATED:
	case MAD_TRAP_MC_DELETED:
		set_gid(row, db, n);
		return;
	case MAD_TRAP_LINK_INTEGRITY:
	case MAD_TRAP_BUFFER_OVERRUN:
	case MAD_TRAP_FLOW_WATCHDOG:
		set_port(row, db, lid, notice_get_port(n));
		return;
	case MAD_TRAP_BAD_MKEY:
		set_mkey(row, db, n, issuer);
		return;
	case MAD_TRAP_BAD_PKEY:
	case MAD_TRAP_BAD_QKEY:
	case MAD_TRAP_SWITCH_BAD_PKEY:
		set_violation(row, m, n);
		return;
	case MAD_TRAP_CAP_CHANGE:
		set_change(row, db, n);
		break;
	case MAD_TRAP_SYSGUID_CHANGE:
		cmd_set(row, "system_guid", cmd_guid(notice_get_sys_guid(n)));
		break;
	}
	if (lid != n->issuer_lid)
		cmd_set(row, "about", name_of(sm_db_port_by_lid(db, lid)));
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
		set_details(row, m, n, issuer);
	if (!json_array_size(all))
		json_array_append(all, row);
	json_decref(row);
	return all;
}

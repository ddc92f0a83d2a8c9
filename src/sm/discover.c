/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/priv.h"

#include <errno.h>
#include <inttypes.h>

#include "subnet/link.h"

/*
 * DOC: Discovery
 *
 * Discovery goes breadth first by directed routes from the SM's own node. For each port with a link, it reads
 * the NodeInfo of the node at the other end of the link. If this node is new, discovery reads NodeDescription
 * and PortInfo as well, and continues at the other end of every link of the node. The NodeGUID identifies a
 * node, so loops, parallel links and further ports of a CA lead to a known node and only add a link.
 *
 * A link needs two trained ends. The ends are read one after the other, and the link may come up or go down between the
 * two reads. So an end that was Down is read again when discovery finds the link from the other end. If the first end
 * is still Down, there is no link.
 *
 * Two nodes with the same GUID are recognised by contradictions: different NodeInfo, or one port with two
 * different neighbours. The node that was found later is left out together with its link, and the error
 * message names both nodes.
 */

static void visit(struct sm *sm, struct sm_port *from, ns_t now);

struct smp_cmd sm_cmd_node(struct sm_node *n, uint8_t method, uint16_t attr, uint32_t mod,
			   smp_done_fn *done)
{
	struct smp_cmd c = {
		.method = method,
		.attr = attr,
		.mod = mod,
		.nhops = n->nhops,
		.done = done,
		.node = n,
	};

	memcpy(c.path, n->path, sizeof(c.path));
	return c;
}

struct smp_cmd sm_cmd_port(struct sm_port *p, uint8_t method, uint16_t attr, uint32_t mod,
			   smp_done_fn *done)
{
	struct sm_node *n = p->node;
	struct smp_cmd c;

	if (!n->sw && p->num != n->info.local_port && p->peer &&
	    p->peer->node->nhops < IB_MAX_HOPS) {
		c = sm_cmd_node(p->peer->node, method, attr, mod, done);
		c.path[++c.nhops] = p->peer->num;
	} else {
		c = sm_cmd_node(n, method, attr, mod, done);
	}
	c.node = n;
	c.port = p;
	return c;
}

/* Record that @n did not answer, and continue this sweep without it. */
static void lost(struct sm *sm, struct sm_node *n, const char *what)
{
	if (n->lost)
		return;
	n->lost = true;
	if (sm_mkey_blamed(sm, n))
		return;
	sm->incomplete = true;
	if (!sm_outside_lost(sm, n->outside))
		return;
	sm_warn(sm, "\"%s\" (node 0x%016" PRIx64 ") does not answer %s: left out", n->desc,
		n->info.node_guid, what);
}

bool sm_failed(struct sm *sm, const struct smp_cmd *cmd, int status, const char *what, ns_t now)
{
	if (status == -EPROTO)
		sm_fault(sm, cmd->node->outside, now,
			 "\"%s\" (node 0x%016" PRIx64
			 ") refuses %s, modifier 0x%x: MAD status 0x%04x",
			 cmd->node->desc, cmd->node->info.node_guid, what, cmd->mod,
			 cmd->mad_status);
	else if (status)
		lost(sm, cmd->node, what);
	return status;
}

static void on_node_desc(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
			 ns_t now)
{
	struct sm_node *n = cmd->node;

	if (sm_failed(ctx, cmd, status, "NodeDescription", now))
		return;
	memcpy(n->desc, data, 64);
	n->desc[64] = '\0';
}

static bool link_trained(const struct sm_port *p)
{
	return p->pi.phys_state == IB_PHYS_LINK_UP && sm_port_up(p);
}

static bool port_info_taken(struct sm *sm, const struct smp_cmd *cmd, int status,
			    const uint8_t *data, ns_t now)
{
	return !sm_failed(sm, cmd, status, "PortInfo", now) &&
	       smp_port_info_decode(&cmd->port->pi, data, SMP_DATA_LEN) == 0;
}

void sm_port_read(struct sm *sm, struct sm_port *p, smp_done_fn *done, ns_t now)
{
	struct smp_cmd c = sm_cmd_node(p->node, MAD_METHOD_GET, SMP_ATTR_PORT_INFO, p->num, done);

	c.port = p;
	smpq_add(&sm->sweepq, &c, now);
}

static void on_port_again(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
			  ns_t now)
{
	struct sm_port *p = cmd->port;
	struct sm *sm = ctx;

	port_info_taken(sm, cmd, status, data, now);
	if (p->peer && !sm_port_up(p))
		sm_db_cut(sm->next, p);
}

static void on_port_info(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
			 ns_t now)
{
	struct sm_port *p = cmd->port;
	struct sm *sm = ctx;

	if (!port_info_taken(sm, cmd, status, data, now))
		return;
	p->known = true;
	/*
	 * The other ports of a CA are found later, by links that lead from other nodes of this
	 * subnet to these ports.
	 */
	if (p->num && link_trained(p) && !p->peer)
		visit(sm, p, now);
	else if (p->peer && !sm_port_up(p))
		sm_port_read(sm, p, on_port_again, now);
}

static void get_all_ports(struct sm *sm, struct sm_node *n, ns_t now)
{
	for (unsigned int i = 0; i <= n->info.nports; i++)
		sm_port_read(sm, &n->port[i], on_port_info, now);
}

static void on_change_cleared(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
			      ns_t now)
{
	if (!sm_failed(ctx, cmd, status, "Set(SwitchInfo)", now))
		get_all_ports(ctx, cmd->node, now);
}

/*
 * PortStateChange is cleared before the ports are read, so that a later change sets the bit again, and the next
 * light sweep sees the change. An SM that is not master leaves the bit set, because another SM may be master and may
 * not have read the bit yet.
 */
static void on_switch_info(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
			   ns_t now)
{
	struct sm_node *n = cmd->node;
	struct sm *sm = ctx;
	struct smp_cmd set;

	if (status == -EPROTO)
		lost(sm, n, "SwitchInfo");
	if (sm_failed(sm, cmd, status, "SwitchInfo", now) ||
	    smp_switch_info_decode(&n->sw->si, data, SMP_DATA_LEN))
		return;
	if (!n->sw->si.port_state_change || sm->state != SMP_SM_MASTER) {
		get_all_ports(sm, n, now);
		return;
	}
	set = sm_cmd_node(n, MAD_METHOD_SET, SMP_ATTR_SWITCH_INFO, 0, on_change_cleared);
	smp_switch_info_encode(set.data, &n->sw->si);
	n->sw->si.port_state_change = false;
	smpq_add(&sm->sweepq, &set, now);
}

/*
 * Take over, from the last sweep, the record of the tables that this SM wrote to the switch. The switch still
 * has these tables, unless it was reset.
 */
static int switch_adopt_fdb(struct sm *sm, struct sm_node *n)
{
	struct sm_node *old = sm->db ? sm_db_node(sm->db, n->info.node_guid) : NULL;

	if (old && old->sw && old->info.nports == n->info.nports)
		n->sw->fdb = sm_fdb_get(old->sw->fdb);
	else
		n->sw->fdb = sm_fdb_create(n->info.node_guid, n->info.nports);
	return n->sw->fdb ? 0 : -ENOMEM;
}

static void ask_node(struct sm *sm, struct sm_node *n, ns_t now)
{
	struct smp_cmd c = sm_cmd_node(n, MAD_METHOD_GET, SMP_ATTR_NODE_DESC, 0, on_node_desc);

	smpq_add(&sm->sweepq, &c, now);
	if (!n->sw) {
		sm_port_read(sm, &n->port[n->info.local_port], on_port_info, now);
		return;
	}
	c = sm_cmd_node(n, MAD_METHOD_GET, SMP_ATTR_SWITCH_INFO, 0, on_switch_info);
	smpq_add(&sm->sweepq, &c, now);
}

/* Two nodes have one GUID. Take the NodeDescription of the second node, and log both names. */
static void on_dup_desc(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
			ns_t now)
{
	const struct sm_port *from = cmd->port;
	struct sm *sm = ctx;
	char desc[65] = "?";

	if (status == 0)
		memcpy(desc, data, 64);
	sm_fault(sm, sm_outside_of(sm, from), now,
		 "duplicate GUID 0x%016" PRIx64
		 ": \"%s\" has it, and \"%s\" behind \"%s\" port %u, which is left out",
		 cmd->node->info.node_guid, cmd->node->desc, desc, from->node->desc, from->num);
}

static void report_dup(struct sm *sm, struct sm_node *known, const struct smp_cmd *via, ns_t now)
{
	struct smp_cmd c = *via;

	c.attr = SMP_ATTR_NODE_DESC;
	c.done = on_dup_desc;
	c.node = known;
	smpq_add(&sm->sweepq, &c, now);
}

static struct sm_node *node_found(struct sm *sm, const struct smp_node_info *info,
				  const struct smp_cmd *cmd, ns_t now)
{
	struct sm_port *other = sm_db_port_by_guid(sm->next, info->port_guid);
	struct sm_node *n;

	if (other) {
		report_dup(sm, other->node, cmd, now);
		return NULL;
	}
	if (!sm_outside_admit(sm, cmd->port, info->nports))
		return NULL;
	n = sm_db_add_node(sm->next, info);
	if (!n)
		return NULL;
	n->outside = sm_outside_of(sm, cmd->port);
	n->nhops = cmd->nhops;
	memcpy(n->path, cmd->path, sizeof(n->path));
	if (n->sw && (switch_adopt_fdb(sm, n) ||
		      sm_db_add_port_guid(sm->next, &n->port[0], info->port_guid)))
		n->lost = true;
	return n;
}

/*
 * Record the GUID of a CA port, if it is not recorded yet. Return: false if another port has this
 * GUID, if the port was found with another GUID before, or if there is no memory
 */
static bool ca_port_found(struct sm *sm, struct sm_node *n, const struct smp_node_info *info)
{
	struct sm_port *p = &n->port[info->local_port];
	struct sm_port *other = sm_db_port_by_guid(sm->next, info->port_guid);

	if (p->guid)
		return p->guid == info->port_guid;
	return !other && sm_db_add_port_guid(sm->next, p, info->port_guid) == 0;
}

static void on_node_info(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
			 ns_t now)
{
	struct sm *sm = ctx;
	/* port through which the node is reached; NULL: the node is the SM's own */
	struct sm_port *from = cmd->port;
	struct smp_node_info info;
	struct sm_node *n;
	struct sm_port *p;
	bool is_new;

	if (status) {
		sm->incomplete = true;
		if (from && !from->node->lost && sm_outside_lost(sm, sm_outside_of(sm, from)))
			sm_warn(sm, "nobody answers behind \"%s\" port %u", from->node->desc,
				from->num);
		return;
	}
	if (smp_node_info_decode(&info, data, SMP_DATA_LEN) || !smp_node_info_sane(&info)) {
		sm_fault(sm, sm_outside_of(sm, from), now,
			 "impossible NodeInfo behind \"%s\" port %u", from ? from->node->desc : "-",
			 from ? from->num : 0);
		return;
	}

	n = sm_db_node(sm->next, info.node_guid);
	is_new = !n;
	if (is_new)
		n = node_found(sm, &info, cmd, now);
	if (!n)
		return;
	p = &n->port[info.local_port];
	if (!sm_same_node(&n->info, &info) || (!n->sw && !ca_port_found(sm, n, &info)) ||
	    (from && !sm_link_join(from, p))) {
		n->lost |= is_new;
		report_dup(sm, n, cmd, now);
		return;
	}
	if (is_new)
		ask_node(sm, n, now);
	else if (!p->known && !n->sw)
		sm_port_read(sm, p, on_port_info, now);
	else if (p->known && from && !sm_port_up(p))
		sm_port_read(sm, p, on_port_again, now);
}

static void visit(struct sm *sm, struct sm_port *from, ns_t now)
{
	struct smp_cmd c = { .method = MAD_METHOD_GET, .attr = SMP_ATTR_NODE_INFO };

	if (from) {
		if (from->node->nhops >= IB_MAX_HOPS) {
			sm_fault(sm, sm_outside_of(sm, from), now,
				 "more than %d hops to what is behind \"%s\" port %u", IB_MAX_HOPS,
				 from->node->desc, from->num);
			return;
		}
		c = sm_cmd_node(from->node, MAD_METHOD_GET, SMP_ATTR_NODE_INFO, 0, NULL);
		c.path[++c.nhops] = from->num;
	}
	c.port = from;
	c.done = on_node_info;
	smpq_add(&sm->sweepq, &c, now);
}

int sm_discover_start(struct sm *sm, ns_t now)
{
	sm->next = sm_db_create(sm->cfg.prefix);
	if (!sm->next)
		return -ENOMEM;
	sm_outside_begin(sm);
	sm->next->sweep = sm->sweep.number;
	sm->next->life = sm->cfg.life;
	visit(sm, NULL, now);
	return 0;
}

/*
 * Complete the database that the discovery has filled. Return: 0; -EIO: the SM's own node does not answer;
 * -EACCES: the SM's own port has another M_Key; -ENOMEM
 */
int sm_discover_finish(struct sm *sm)
{
	struct sm_db *db = sm->next;
	struct sm_node *self = db->nnodes ? db->node[0] : NULL;
	int err;

	if (!self || self->lost)
		return -EIO;
	db->self = &self->port[self->sw ? 0 : self->info.local_port];
	if (!db->self->known)
		return -EIO;
	if (!sm_mkey_sort_out(sm))
		return -EACCES;
	sm_db_drop_lost(db);
	err = sm_db_index_switches(db);
	if (err)
		return err;
	sm_links_measure(db, sm->cfg.max_mtu_code);
	sm->sweep.nodes = db->nnodes;
	sm->sweep.switches = db->nswitches;
	sm->sweep.links = db->nlinks;
	for (struct sm_port *p = sm_db_end_port(db, NULL); p; p = sm_db_end_port(db, p))
		db->nends++;
	sm->sweep.end_ports = db->nends;
	sm->guid = db->self->guid;
	return 0;
}

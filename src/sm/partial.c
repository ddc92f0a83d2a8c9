/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/priv.h"

#include "subnet/link.h"
#include "route/route.h"

/*
 * DOC: Partial sweeps
 *
 * A trap 128, or PortStateChange in a light sweep, names a switch that has a changed port. If only
 * links between known switches have changed, a partial sweep reads only the switches at the ends of
 * these links. The other stages are those of a heavy sweep, with two differences: they handle only
 * the ports whose links came up, and they make these links Active before routes lead over them.
 *
 * A partial sweep changes the published database in place, but the SA sees the change as a whole.
 * The sweep records in each link how the link changed (enum sm_link_change). The SA and the
 * multicast trees still use the links with which the routes were computed. When all links are
 * Active, links and routes change in one step (sm_part_route()). From then on the SA answers by the
 * new routes, some milliseconds before the last switch has acknowledged its LFT. To answer by the
 * old routes until then, the SA would need copies of the tables of half the switches.
 *
 * The switches are asked one after the other, the nearest first. So if a cable was pulled, the sweep
 * has found another directed route to the far end before it asks the switch there.
 *
 * A partial sweep ends if it finds any other change: a node that is new, gone, silent or reset; a
 * changed link of a CA; an external port; a cable that leads to another port than before; or a
 * refused Set. A heavy sweep, which handles all of these changes, then follows at once. Until the
 * heavy sweep replaces the published database, the recorded changes stay in the links, and the SA
 * answers as before.
 */

void sm_part_suspect(struct sm *sm, uint64_t node_guid)
{
	struct sm_part *t = &sm->part;

	for (unsigned int i = 0; i < t->nsuspects; i++) {
		if (t->suspect[i] == node_guid)
			return;
	}
	if (t->nsuspects == SM_PART_MAX)
		sm->whole = true;
	else
		t->suspect[t->nsuspects++] = node_guid;
}

bool sm_part_possible(const struct sm *sm)
{
	return sm->cfg.partial_sweeps && !sm->whole && sm->part.nsuspects && sm->db &&
	       sm->routed == sm->db && sm->state == SMP_SM_MASTER && !sm->incomplete &&
	       !sm->parts_new && sm_engine_is_local(sm->cfg.routing);
}

/* Mark the partial sweep as failed. A heavy sweep begins as soon as no SMP is in flight. */
static void give_up(struct sm *sm, const struct sm_node *n, const char *why)
{
	if (!sm->part.failed)
		sm_dbg(sm, "\"%s\": %s, so a sweep of everything follows", n->desc, why);
	sm->part.failed = true;
}

/*
 * Have the sweep read @n. @forced: read the ports even if PortStateChange is not set, because the other end of a link
 * has changed
 */
static void look_at(struct sm *sm, struct sm_node *n, bool forced)
{
	struct sm_part *t = &sm->part;

	for (unsigned int i = 0; i < t->nsw; i++) {
		if (t->sw[i].n == n) {
			t->sw[i].forced |= forced;
			return;
		}
	}
	if (t->nsw == SM_PART_MAX)
		give_up(sm, n, "too many switches have changes");
	else
		t->sw[t->nsw++] = (struct sm_part_switch){ .n = n, .forced = forced };
}

/* Return the entry of @n in the array of the sweep's switches. If look_at() had no room for @n, return the spare entry */
static struct sm_part_switch *part_switch(struct sm *sm, const struct sm_node *n)
{
	unsigned int i = 0;

	while (i < sm->part.nsw && sm->part.sw[i].n != n)
		i++;
	return &sm->part.sw[i];
}

static void link_down(struct sm *sm, struct sm_port *p)
{
	struct sm_port *q = p->peer;

	sm_link_gone(p);
	sm->part.cut |= sm_droute_over(p, q) || sm_droute_over(q, p);
	look_at(sm, q->node, true);
	part_switch(sm, p->node)->moved = part_switch(sm, q->node)->moved = true;
}

/* Record a port whose link trained, so that the SM configures, arms and activates it. */
static void trained(struct sm *sm, struct sm_port *p)
{
	struct sm_part *t = &sm->part;

	for (unsigned int i = 0; i < t->nports; i++) {
		if (t->port[i] == p)
			return;
	}
	if (t->nports == SM_PART_PORTS)
		give_up(sm, p->node, "too many links came");
	else
		t->port[t->nports++] = p;
}

static void on_port(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
		    ns_t now);

/* Record that the link at @p leads to @q. If @q was read before the link came up, read @q again. */
static void link_up(struct sm *sm, struct sm_port *p, struct sm_port *q, ns_t now)
{
	look_at(sm, q->node, true);
	if (part_switch(sm, q->node)->asked && !sm_port_up(q))
		sm_port_read(sm, q, on_port, now);
	if (sm_link_came(p, q))
		part_switch(sm, p->node)->moved = part_switch(sm, q->node)->moved = true;
	trained(sm, p);
	trained(sm, q);
}

static void on_neighbour(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
			 ns_t now)
{
	struct sm_port *p = cmd->port, *q;
	struct smp_node_info info;
	struct sm_node *n;
	struct sm *sm = ctx;

	if (sm->part.failed)
		return;
	if (status || smp_node_info_decode(&info, data, SMP_DATA_LEN)) {
		give_up(sm, p->node, "what is behind one of its ports does not answer");
		return;
	}
	n = sm_db_node(sm->db, info.node_guid);
	if (!n || !n->sw || n->lost || n->outside || !sm_same_node(&n->info, &info) ||
	    info.local_port < 1 || info.local_port > n->info.nports) {
		give_up(sm, p->node, "a node that is not known as a switch is behind it");
		return;
	}
	q = &n->port[info.local_port];
	if (q == p || (p->peer && p->peer != q) || (q->peer && q->peer != p))
		give_up(sm, p->node, "a port is connected in another way");
	else
		link_up(sm, p, q, now);
}

static void ask_neighbour(struct sm *sm, struct sm_port *p, ns_t now)
{
	struct smp_cmd c =
		sm_cmd_node(p->node, MAD_METHOD_GET, SMP_ATTR_NODE_INFO, 0, on_neighbour);

	if (c.nhops >= IB_MAX_HOPS) {
		give_up(sm, p->node, "too many hops");
		return;
	}
	c.path[++c.nhops] = p->num;
	c.port = p;
	smpq_add(&sm->sweepq, &c, now);
}

/* Find out how the link of @p changed. @is: the present PortInfo of @p */
static void port_judge(struct sm *sm, struct sm_port *p, const struct smp_port_info *is, ns_t now)
{
	bool had = sm_port_peer_now(p) != NULL, has;

	if (!p->num) {
		p->pi = *is;
		if (is->lid != p->lid)
			give_up(sm, p->node, "it was reset");
		return;
	}
	has = is->phys_state == IB_PHYS_LINK_UP && is->port_state >= IB_PORT_INIT;
	if (had && has && is->port_state == IB_PORT_ACTIVE && p->pi.port_state == IB_PORT_ACTIVE) {
		p->pi = *is;
		return;
	}
	if ((had || has) && (sm_outside_of(sm, p) || (had && !p->peer->node->sw) || p->peer == p)) {
		give_up(sm, p->node, "a port changed that does not lead to a switch");
		return;
	}
	if (had && has)
		sm_link_came(p, p->peer);
	p->pi = *is;
	if (has)
		ask_neighbour(sm, p, now);
	else if (had)
		link_down(sm, p);
}

static void on_port(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data, ns_t now)
{
	struct smp_port_info pi;
	struct sm *sm = ctx;

	if (sm->part.failed)
		return;
	if (status || !cmd->port->known || smp_port_info_decode(&pi, data, SMP_DATA_LEN))
		give_up(sm, cmd->node, "a port does not answer");
	else
		port_judge(sm, cmd->port, &pi, now);
}

static void read_ports(struct sm *sm, struct sm_node *n, ns_t now)
{
	for (unsigned int i = 0; i <= n->info.nports; i++)
		sm_port_read(sm, &n->port[i], on_port, now);
}

static void on_cleared(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
		       ns_t now)
{
	struct sm *sm = ctx;

	if (status)
		give_up(sm, cmd->node, "it does not take SwitchInfo");
	else
		read_ports(sm, cmd->node, now);
}

/* Handle SwitchInfo. As in a heavy sweep, PortStateChange is cleared before the ports are read. */
static void on_switch_info(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
			   ns_t now)
{
	struct smp_switch_info si;
	struct sm *sm = ctx;
	struct smp_cmd set;

	if (status || smp_switch_info_decode(&si, data, SMP_DATA_LEN)) {
		give_up(sm, cmd->node, "it does not answer");
		return;
	}
	if (!si.port_state_change) {
		if (part_switch(sm, cmd->node)->forced)
			read_ports(sm, cmd->node, now);
		return;
	}
	set = sm_cmd_node(cmd->node, MAD_METHOD_SET, SMP_ATTR_SWITCH_INFO, 0, on_cleared);
	smp_switch_info_encode(set.data, &si);
	smpq_add(&sm->sweepq, &set, now);
}

static struct sm_part_switch *nearest(struct sm_part *t)
{
	struct sm_part_switch *best = NULL;

	for (unsigned int i = 0; i < t->nsw; i++) {
		if (!t->sw[i].asked && (!best || t->sw[i].n->nhops < best->n->nhops))
			best = &t->sw[i];
	}
	return best;
}

bool sm_part_more(struct sm *sm, ns_t now)
{
	struct sm_part *t = &sm->part;
	struct sm_part_switch *s;
	struct smp_cmd c;

	if (t->failed)
		return false;
	if (t->cut && !sm_db_droutes(sm->db)) {
		give_up(sm, sm->db->self->node, "not every switch is reached");
		return false;
	}
	t->cut = false;
	s = nearest(t);
	if (!s)
		return false;
	s->asked = true;
	c = sm_cmd_node(s->n, MAD_METHOD_GET, SMP_ATTR_SWITCH_INFO, 0, on_switch_info);
	return smpq_add(&sm->sweepq, &c, now);
}

void sm_part_start(struct sm *sm)
{
	struct sm_part *t = &sm->part;

	t->on = true;
	t->failed = t->cut = false;
	t->nsw = t->nports = 0;
	for (unsigned int i = 0; i < t->nsuspects; i++) {
		struct sm_node *n = sm_db_node(sm->db, t->suspect[i]);

		if (!n || !n->sw || n->lost || n->outside)
			give_up(sm, sm->db->self->node, "a switch is not known");
		else
			look_at(sm, n, false);
	}
	t->nsuspects = 0;
	sm->next = sm->db;
}

bool sm_part_gave_up(const struct sm *sm)
{
	return sm->part.on && (sm->part.failed || sm->incomplete || sm->sweep.errors);
}

void sm_part_end(struct sm *sm)
{
	if (sm->part.on)
		sm->next = NULL;
	sm->part.on = false;
}

void sm_part_discovered(struct sm *sm)
{
	const struct sm_sweep *last = &sm->last;

	for (unsigned int i = 0; i < sm->part.nports; i++)
		sm_link_measure(sm->part.port[i], sm->cfg.max_mtu_code);
	sm->sweep.partial = true;
	sm->sweep.nodes = last->nodes;
	sm->sweep.switches = last->switches;
	sm->sweep.end_ports = last->end_ports;
	sm->sweep.sms = last->sms;
}

void sm_part_each_port(struct sm *sm, void (*fn)(struct sm *, struct sm_port *, ns_t), ns_t now)
{
	for (unsigned int i = 0; i < sm->part.nports; i++) {
		if (sm_port_peer_now(sm->part.port[i]))
			fn(sm, sm->part.port[i], now);
	}
}

void sm_part_each_switch(struct sm *sm, void (*fn)(struct sm *, struct sm_node *, ns_t), ns_t now)
{
	for (unsigned int i = 0; i < sm->part.nsw; i++)
		fn(sm, sm->part.sw[i].n, now);
}

struct rerouted {
	struct sm *sm;
	ns_t now;
};

static void on_rerouted(void *ctx, struct sm_node *n)
{
	struct rerouted *r = ctx;

	sm_lft_write(r->sm, n, r->now);
}

int sm_part_route(struct sm *sm, ns_t now)
{
	struct rerouted r = { .sm = sm, .now = now };
	struct sm_node *at[SM_PART_MAX];
	uint32_t n = 0;

	for (unsigned int i = 0; i < sm->part.nsw; i++) {
		sm_links_apply(sm->db, sm->part.sw[i].n);
		if (sm->part.sw[i].moved)
			at[n++] = sm->part.sw[i].n;
	}
	sm->db->sweep = sm->sweep.number;
	sm->sweep.links = sm->db->nlinks;
	return n ? sm_reroute(sm->db, sm->cfg.routing, at, n, on_rerouted, &r) : 0;
}

void sm_part_publish(struct sm *sm, ns_t now)
{
	sm_learn_reset(sm, now);
	for (unsigned int i = 0; i < sm->part.nsw; i++)
		sm_node_forget_tables(sm->part.sw[i].n);
}

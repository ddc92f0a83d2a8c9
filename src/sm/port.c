/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/priv.h"

#include <errno.h>

#include "subnet/link.h"

/*
 * DOC: Port parameters
 *
 * Set(PortInfo) writes every field. So each Set starts from the PortInfo that the port returned. In
 * this PortInfo, smp_port_info_keep() clears the fields in which 0 means "no change". A Set is sent
 * only if it would change a field, so a sweep over an unchanged subnet writes nothing.
 *
 * When LFTs, MFTs and P_Keys are written, the ports go from Init to Armed, and then to Active. A
 * link becomes Active earlier, before the LFTs are written, if both its ends are switches that
 * already forward data. A port that receives data while it is Armed becomes Active by itself.
 *
 * No data passes a port in Init. So its addresses, MTU, VLs and enforcement are written only by the
 * Set that arms the port. This saves one or two SMPs for each port of a new subnet.
 */

static bool port_linked(const struct sm_port *p)
{
	return p->known && p->peer && p->peer != p && p->peer->known && !p->node->lost &&
	       !p->peer->node->lost;
}

/*
 * Record which ports have to register again: those that lost their memberships and subscriptions,
 * and those that are new to this SM. They are recorded before any port is configured, because a new
 * port may stop answering during the sweep. The next sweep then finds the port in the database, so
 * that only the record shows that the port still has to register. In the first sweep of a master
 * there is no database, so every port is new.
 */
static void owe_reregister(struct sm *sm)
{
	for (struct sm_port *p = sm_db_end_port(sm->next, NULL); p;
	     p = sm_db_end_port(sm->next, p)) {
		if (p->pi.lid != p->lid || !sm->db || !sm_db_port_by_guid(sm->db, p->guid))
			sm_rereg_owe(sm, p->guid);
	}
}

/*
 * Tell whether a port has to register again. ClientReregister is set in each sweep until the port
 * has acknowledged it, because a sweep may fail to reach the port.
 */
static bool port_needs_reregister(const struct sm *sm, const struct sm_port *p)
{
	const struct sm_lid_slot *s = sm_lid_slot(&sm->lids, p->guid);

	return s && s->owed && (p->pi.cap_mask & SMP_CAP_IS_CLIENT_REREG);
}

static void want_address(const struct sm *sm, const struct sm_port *p, struct smp_port_info *w)
{
	w->lid = p->lid;
	w->lmc = p->lmc;
	w->gid_prefix = sm->cfg.prefix;
	w->sm_lid = sm->next->self->lid;
	w->sm_sl = sm->cfg.sm_sl;
	w->subnet_timeout = sm->cfg.subnet_timeout;
	w->mkey = sm->cfg.mkey;
	w->mkey_protect = sm->cfg.mkey_protect;
	w->mkey_lease = sm->cfg.mkey_lease;
}

uint8_t sm_port_vls(const struct sm *sm, const struct sm_port *p)
{
	uint8_t vls = sm->cfg.oper_vls;

	if (!p->num || !port_linked(p))
		return p->pi.oper_vls;
	if (vls > p->pi.vl_cap)
		vls = p->pi.vl_cap;
	if (vls > p->peer->pi.vl_cap)
		vls = p->peer->pi.vl_cap;
	return vls;
}

static void want_link(const struct sm *sm, const struct sm_port *p, struct smp_port_info *w)
{
	if (!p->num || !port_linked(p))
		return;
	w->neighbor_mtu = p->mtu_code;
	w->oper_vls = sm_port_vls(sm, p);
}

static void want_enforcement(const struct sm_port *p, struct smp_port_info *w)
{
	if (p->enforce != SM_ENFORCE_KEEP)
		w->part_enforce_in = w->part_enforce_out = p->enforce == SM_ENFORCE_ON;
}

/* Return the PortInfo that the port should have, except for the state of the port */
static struct smp_port_info want(const struct sm *sm, const struct sm_port *p)
{
	struct smp_port_info w = smp_port_info_keep(&p->pi);

	if (sm_port_is_end(p)) {
		want_address(sm, p, &w);
		w.client_reregister = port_needs_reregister(sm, p);
	}
	want_link(sm, p, &w);
	want_enforcement(p, &w);
	return w;
}

static bool differs(const struct smp_port_info *a, const struct smp_port_info *b)
{
	uint8_t x[SMP_PORT_INFO_LEN], y[SMP_PORT_INFO_LEN];

	smp_port_info_encode(x, a);
	smp_port_info_encode(y, b);
	return memcmp(x, y, sizeof(x)) != 0;
}

static void on_set(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data, ns_t now)
{
	struct smp_port_info pi;

	if (!sm_failed(ctx, cmd, status, "Set(PortInfo)", now) &&
	    smp_port_info_decode(&pi, data, SMP_DATA_LEN) == 0)
		cmd->port->pi = pi;
}

/* Record that the port has acknowledged ClientReregister. */
static void has_registered(struct sm *sm, const struct sm_port *p)
{
	struct sm_lid_slot *s = sm_lid_slot(&sm->lids, p->guid);

	if (s)
		s->owed = false;
}

static void on_configured(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
			  ns_t now)
{
	struct smp_port_info asked;

	on_set(ctx, cmd, status, data, now);
	if (status || smp_port_info_decode(&asked, cmd->data, SMP_DATA_LEN) ||
	    !asked.client_reregister)
		return;
	has_registered(ctx, cmd->port);
}

static void port_set(struct sm *sm, struct sm_port *p, const struct smp_port_info *w,
		     smp_done_fn *done, ns_t now)
{
	struct smp_cmd c = sm_cmd_port(p, MAD_METHOD_SET, SMP_ATTR_PORT_INFO, p->num, done);

	smp_port_info_encode(c.data, w);
	sm->sweep.ports_set++;
	smpq_add(&sm->sweepq, &c, now);
}

/*
 * Tell whether the present round of a sweep arms and activates @p. The round before the stage ROUTE
 * handles only links whose two switches already forward data; the round after it handles all links.
 */
static bool in_this_round(const struct sm *sm, const struct sm_port *p)
{
	if (!p->num || !port_linked(p))
		return false;
	return sm->routed == sm->next ||
	       (p->node->sw && p->peer->node->sw && sm_link_harmless(sm->db, p) &&
		sm_link_harmless(sm->db, p->peer));
}

bool sm_port_to_arm(const struct sm_port *p)
{
	return p->num && port_linked(p) && p->pi.port_state == IB_PORT_INIT;
}

static void port_configure(struct sm *sm, struct sm_port *p, ns_t now)
{
	struct smp_port_info base = smp_port_info_keep(&p->pi), w;

	if (sm_port_to_arm(p))
		return;
	w = want(sm, p);
	if (differs(&base, &w))
		port_set(sm, p, &w, on_configured, now);
}

static void each_port(struct sm *sm, void (*fn)(struct sm *, struct sm_port *, ns_t), ns_t now)
{
	if (sm->part.on)
		sm_part_each_port(sm, fn, now);
	else
		sm_feed_ports(sm, &sm->port_feed, fn, now);
}

void sm_ports_start(struct sm *sm, ns_t now)
{
	struct sm_db *db = sm->next;

	for (uint32_t s = 0; s < db->nswitches && !sm->part.on; s++) {
		const struct sm_port *p0 = &db->sw[s]->port[0];

		/* The switch lost its LID, so it was reset and has lost its tables too. */
		if (p0->pi.lid != p0->lid)
			sm_fdb_forget(db->sw[s]->sw->fdb);
	}
	if (!sm->part.on)
		owe_reregister(sm);
	each_port(sm, port_configure, now);
}

/*
 * Read the PortInfo of a port that refused to change its state. The port may have the new state already. If the
 * answer to a Set was lost, the repeated Set is refused with status 0x001c. If received data have made the port
 * Active already, the Set to Active is refused with the same status. The answer to the refused Set does not show
 * the state of the port, because the answer may only repeat the request.
 */
static void read_again(struct sm *sm, const struct smp_cmd *set, smp_done_fn *done, ns_t now)
{
	struct smp_cmd c =
		sm_cmd_port(set->port, MAD_METHOD_GET, SMP_ATTR_PORT_INFO, set->mod, done);

	c.refusal = set->mad_status;
	smpq_add(&sm->sweepq, &c, now);
}

/* Take over the PortInfo that was read after a refused Set. Return: true if the port is in @state or beyond it */
static bool got_there(struct sm *sm, const struct smp_cmd *cmd, int status, const uint8_t *data,
		      uint8_t state, ns_t now)
{
	struct smp_cmd refused = *cmd;

	if (sm_failed(sm, cmd, status, "PortInfo", now) ||
	    smp_port_info_decode(&cmd->port->pi, data, SMP_DATA_LEN))
		return false;
	if (cmd->port->pi.port_state >= state)
		return true;
	refused.mad_status = cmd->refusal;
	sm_failed(sm, &refused, -EPROTO, "Set(PortInfo)", now);
	return false;
}

/*
 * Handle PortInfo after a refused Set to Armed. A port that has left Init has accepted an earlier Set to Armed, which
 * also configured the port.
 */
static void on_arm_read(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
			ns_t now)
{
	if (got_there(ctx, cmd, status, data, IB_PORT_ARMED, now))
		has_registered(ctx, cmd->port);
}

static void on_armed(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
		     ns_t now)
{
	if (status == -EPROTO)
		read_again(ctx, cmd, on_arm_read, now);
	else
		on_configured(ctx, cmd, status, data, now);
}

static void port_arm(struct sm *sm, struct sm_port *p, ns_t now)
{
	struct smp_port_info w;

	if (!sm_port_to_arm(p) || !in_this_round(sm, p))
		return;
	w = want(sm, p);
	w.port_state = IB_PORT_ARMED;
	sm->sweep.armed++;
	port_set(sm, p, &w, on_armed, now);
}

void sm_arm_start(struct sm *sm, ns_t now)
{
	each_port(sm, port_arm, now);
}

static void on_active_read(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
			   ns_t now)
{
	got_there(ctx, cmd, status, data, IB_PORT_ACTIVE, now);
}

static void on_active(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
		      ns_t now)
{
	if (status == -EPROTO)
		read_again(ctx, cmd, on_active_read, now);
	else
		on_set(ctx, cmd, status, data, now);
}

static void port_activate(struct sm *sm, struct sm_port *p, ns_t now)
{
	struct smp_port_info w = smp_port_info_keep(&p->pi);

	if (p->pi.port_state != IB_PORT_ARMED || !in_this_round(sm, p))
		return;
	w.port_state = IB_PORT_ACTIVE;
	sm->sweep.activated++;
	port_set(sm, p, &w, on_active, now);
}

void sm_activate_start(struct sm *sm, ns_t now)
{
	each_port(sm, port_activate, now);
}

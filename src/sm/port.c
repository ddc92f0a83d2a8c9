/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/priv.h"

#include <errno.h>

/*
 * DOC: Port parameters
 *
 * Set(PortInfo) writes every field. So each Set starts from the PortInfo that the port returned,
 * with those fields zero for which zero means "no change". It is sent only if a field differs, so a
 * sweep over an unchanged subnet writes nothing.
 *
 * After LFTs, MFTs and P_Keys are written, all ports go from Init to Armed, and then to Active. A
 * port that receives data while it is Armed becomes Active by itself.
 */

static struct smp_port_info no_change(const struct smp_port_info *pi)
{
	struct smp_port_info s = *pi;

	s.port_state = IB_PORT_NOP;
	s.phys_state = IB_PHYS_NOP;
	s.down_default = 0;
	s.width_enabled = 0;
	s.speed_enabled = 0;
	s.speed_ext_enabled = 0;
	s.client_reregister = false;
	return s;
}

static bool port_linked(const struct sm_port *p)
{
	return p->known && p->peer && p->peer != p && p->peer->known && !p->node->lost &&
	       !p->peer->node->lost;
}

/*
 * Tell whether a port has to register again. It has to if it lost its memberships and
 * subscriptions, or is new to this SM. The bit is sent in each sweep until the port has
 * acknowledged it, because a sweep may fail to reach the port.
 */
static bool port_needs_reregister(struct sm *sm, const struct sm_port *p)
{
	const struct sm_lid_slot *s = sm_lid_slot(&sm->lids, p->guid);

	/* In the first sweep of a master there is no database, so every port is new. */
	if (p->pi.lid != p->lid || !sm->db || !sm_db_port_by_guid(sm->db, p->guid))
		sm_rereg_owe(sm, p->guid);
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

static void want_link(const struct sm *sm, const struct sm_port *p, struct smp_port_info *w)
{
	uint8_t vls = sm->cfg.oper_vls;

	if (!port_linked(p))
		return;
	if (vls > p->pi.vl_cap)
		vls = p->pi.vl_cap;
	if (vls > p->peer->pi.vl_cap)
		vls = p->peer->pi.vl_cap;
	w->neighbor_mtu = p->mtu_code;
	w->oper_vls = vls;
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

static void on_configured(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
			  ns_t now)
{
	const struct sm *sm = ctx;
	struct smp_port_info asked;
	struct sm_lid_slot *s;

	on_set(ctx, cmd, status, data, now);
	if (status || smp_port_info_decode(&asked, cmd->data, SMP_DATA_LEN) ||
	    !asked.client_reregister)
		return;
	s = sm_lid_slot(&sm->lids, cmd->port->guid);
	if (s)
		s->owed = false;
}

static void port_set(struct sm *sm, struct sm_port *p, const struct smp_port_info *w,
		     smp_done_fn *done, ns_t now)
{
	struct smp_cmd c = sm_cmd_port(p, MAD_METHOD_SET, SMP_ATTR_PORT_INFO, p->num, done);

	smp_port_info_encode(c.data, w);
	sm->sweep.ports_set++;
	smpq_add(&sm->sweepq, &c, now);
}

static void port_configure(struct sm *sm, struct sm_port *p, ns_t now)
{
	struct smp_port_info base = no_change(&p->pi), w = base;

	if (sm_port_is_end(p)) {
		want_address(sm, p, &w);
		w.client_reregister = port_needs_reregister(sm, p);
	}
	if (p->num)
		want_link(sm, p, &w);
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
	each_port(sm, port_configure, now);
}

/*
 * Tell whether the port has reached @state although Set failed. If the answer to a Set was lost,
 * the repeated Set fails with status 0x001c, because the port is in that state already. The same
 * happens if received data has made the port Active. The PortInfo in the answer decides.
 */
static bool got_there(const struct smp_cmd *cmd, int status, const uint8_t *data, uint8_t state)
{
	struct smp_port_info pi;

	if (status != -EPROTO || smp_port_info_decode(&pi, data, SMP_DATA_LEN) ||
	    pi.port_state < state)
		return false;
	cmd->port->pi = pi;
	return true;
}

static void on_armed(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
		     ns_t now)
{
	if (!got_there(cmd, status, data, IB_PORT_ARMED))
		on_set(ctx, cmd, status, data, now);
}

static void port_arm(struct sm *sm, struct sm_port *p, ns_t now)
{
	struct smp_port_info w = no_change(&p->pi);

	if (p->num == 0 || !port_linked(p) || p->pi.port_state != IB_PORT_INIT)
		return;
	w.port_state = IB_PORT_ARMED;
	sm->sweep.armed++;
	port_set(sm, p, &w, on_armed, now);
}

void sm_arm_start(struct sm *sm, ns_t now)
{
	each_port(sm, port_arm, now);
}

static void on_active(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
		      ns_t now)
{
	if (!got_there(cmd, status, data, IB_PORT_ACTIVE))
		on_set(ctx, cmd, status, data, now);
}

static void port_activate(struct sm *sm, struct sm_port *p, ns_t now)
{
	struct smp_port_info w = no_change(&p->pi);

	if (p->num == 0 || !port_linked(p) || p->pi.port_state != IB_PORT_ARMED)
		return;
	w.port_state = IB_PORT_ACTIVE;
	sm->sweep.activated++;
	port_set(sm, p, &w, on_active, now);
}

void sm_activate_start(struct sm *sm, ns_t now)
{
	each_port(sm, port_activate, now);
}

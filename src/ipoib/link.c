/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/link.h"

#include <errno.h>
#include <stdlib.h>

#include "ipoib/action.h"
#include "ipoib/mcast.h"
#include "ipoib/neigh.h"
#include "text/print.h"

/*
 * The state of a link is computed from these conditions: the administrative state, the port, its
 * P_Key table, the QP and the broadcast group. Every function that changes one of these conditions
 * calls ipoib_link_advance().
 */

static const char *const link_state_names[] = {
	[IPOIB_LINK_DOWN] = "DOWN",	      [IPOIB_LINK_WAIT_PORT] = "WAIT_PORT",
	[IPOIB_LINK_WAIT_PKEY] = "WAIT_PKEY", [IPOIB_LINK_WAIT_QP] = "WAIT_QP",
	[IPOIB_LINK_JOINING] = "JOINING",     [IPOIB_LINK_UP] = "UP",
	[IPOIB_LINK_REJOINING] = "REJOINING",
};

const char *ipoib_link_state_name(enum ipoib_link_state state)
{
	return link_state_names[state];
}

struct text ipoib_link_reason(struct ipoib_link *l)
{
	l->reason[0] = '\0';
	return (struct text){ .buf = l->reason, .size = sizeof(l->reason) };
}

/*
 * Sets the link's reason to the default text for the state. After a failed join, the state JOINING
 * has another text, which describes the failure.
 */
static void reason_default(struct ipoib_link *l, enum ipoib_link_state state)
{
	struct text t = ipoib_link_reason(l);
	char gid[PRINT_GID_LEN];

	switch (state) {
	case IPOIB_LINK_DOWN:
		text_add(&t, "administratively down");
		break;
	case IPOIB_LINK_WAIT_PORT:
		text_add(&t, "the port is %s%s", print_port_state(l->port.state),
			 l->port.state == IB_PORT_ACTIVE ? ", without a LID" : "");
		break;
	case IPOIB_LINK_WAIT_PKEY:
		text_add(&t, "P_Key 0x%04x is not in the port's table", l->pkey);
		break;
	case IPOIB_LINK_WAIT_QP:
		text_add(&t, "the queue pair is being made");
		break;
	case IPOIB_LINK_JOINING:
		if (!ipoib_link_group_known(l))
			text_add(&t, "asking for the link's group by SIDR");
		else
			text_add(&t, "joining %s", print_gid(gid, sizeof(gid), &l->mgid));
		break;
	case IPOIB_LINK_REJOINING:
		text_add(&t, "joining %s again", print_gid(gid, sizeof(gid), &l->mgid));
		break;
	case IPOIB_LINK_UP:
		break;
	}
}

static void set_state(struct ipoib_link *l, enum ipoib_link_state state, ns_t now)
{
	if (state == l->state)
		return;
	reason_default(l, state);
	ipoib_log(l, LOG_LVL_INFO, "%s -> %s%s%s", link_state_names[l->state],
		  link_state_names[state], l->reason[0] ? ": " : "", l->reason);
	l->state = state;
	l->since = now;
	if (l->cfg.on_state)
		l->cfg.on_state(l->cfg.on_ctx);
}

static enum ipoib_link_state called_for(const struct ipoib_link *l)
{
	if (!l->admin)
		return IPOIB_LINK_DOWN;
	if (l->port.state != IB_PORT_ACTIVE || !ib_lid_is_unicast(l->port.lid))
		return IPOIB_LINK_WAIT_PORT;
	if (l->port.pkey_index < 0)
		return IPOIB_LINK_WAIT_PKEY;
	if (!l->has_qp)
		return IPOIB_LINK_WAIT_QP;
	if (!l->joined || !l->bcast->ah.ah)
		return IPOIB_LINK_JOINING;
	return l->renewing ? IPOIB_LINK_REJOINING : IPOIB_LINK_UP;
}

static void ask_qp(struct ipoib_link *l)
{
	struct ipoib_action *a;

	if (l->qp_asked)
		return;
	l->qp_asked = true;
	l->qp_pkey_index = (uint16_t)l->port.pkey_index;
	l->qp_qkey = 0;
	a = ipoib_act(l, IPOIB_ACT_QP_CREATE);
	a->qp.pkey_index = l->qp_pkey_index;
}

/*
 * Queues the action with the MTU before the action with the carrier, so that an interface never
 * runs with an old MTU.
 */
static void sync_carrier(struct ipoib_link *l, ns_t now)
{
	if (l->up && l->said_mtu != l->ip_mtu) {
		l->said_mtu = l->ip_mtu;
		ipoib_act(l, IPOIB_ACT_MTU)->ip_mtu = l->ip_mtu;
	}
	if (l->up == l->carrier)
		return;
	l->carrier = l->up;
	ipoib_act(l, IPOIB_ACT_CARRIER)->carrier.up = l->up;
	if (l->up) {
		ipoib_mcasts_join(l, now);
		ipoib_router_ask(l, now);
	}
}

void ipoib_link_advance(struct ipoib_link *l, ns_t now)
{
	enum ipoib_link_state state = called_for(l);

	if (state < IPOIB_LINK_JOINING && l->state >= IPOIB_LINK_JOINING)
		ipoib_link_unjoin(l, now);
	set_state(l, state, now);
	l->up = state >= IPOIB_LINK_UP;
	sync_carrier(l, now);
	if (state == IPOIB_LINK_WAIT_QP && !timer_armed(&l->retry))
		ask_qp(l);
	if (state == IPOIB_LINK_JOINING && !l->bcast->full.group && !timer_armed(&l->retry))
		ipoib_link_join(l, now);
}

static void link_retry(struct timer *t, ns_t now)
{
	ipoib_link_advance(container_of(t, struct ipoib_link, retry), now);
}

/*
 * Visits the next slots of the tables, and arms the timer for the rest so that a sweep is spread over IPOIB_SWEEP. The
 * paths need no more steps than the neighbours: a path gets a slot only for a neighbour that has got one, and slots that
 * were freed are used first.
 */
static void sweep_step(struct timer *t, ns_t now)
{
	struct ipoib_link *l = container_of(t, struct ipoib_link, sweep_step);
	uint32_t from = l->sweep_at, top = l->neigh_slots.top;
	ns_t end = l->sweep_began + IPOIB_SWEEP;

	l->sweep_at += IPOIB_SWEEP_STEP;
	ipoib_neighs_sweep(l, from, l->sweep_at, now);
	ipoib_paths_sweep(l, from, l->sweep_at, now);
	if (l->sweep_at < top)
		timer_arm(l->cfg.timers, t,
			  end > now ? now + (end - now) * IPOIB_SWEEP_STEP / (top - from) : now);
}

static void link_sweep(struct timer *t, ns_t now)
{
	struct ipoib_link *l = container_of(t, struct ipoib_link, sweep);

	timer_arm(l->cfg.timers, t, now + IPOIB_SWEEP);
	if (l->qp_stale)
		ipoib_link_sync_qp(l);
	ipoib_mcasts_sweep(l, now);
	if (timer_armed(&l->sweep_step)) /* the steps of the last sweep are late */
		return;
	l->sweep_began = now;
	l->sweep_at = 0;
	sweep_step(&l->sweep_step, now);
}

void ipoib_link_set_admin(struct ipoib_link *l, bool up, ns_t now)
{
	l->admin = up;
	if (!up) {
		timer_cancel(l->cfg.timers, &l->sweep);
		timer_cancel(l->cfg.timers, &l->sweep_step);
		timer_cancel(l->cfg.timers, &l->retry);
	} else if (!timer_armed(&l->sweep)) {
		timer_arm(l->cfg.timers, &l->sweep, now + IPOIB_SWEEP);
	}
	ipoib_link_advance(l, now);
}

void ipoib_link_port_update(struct ipoib_link *l, const struct ipoib_port *port, ns_t now)
{
	bool moved = !ib_gid_equal(&l->port.gid, &port->gid);
	bool renumbered = l->port.lid && port->lid != l->port.lid;

	/*
	 * The port's GID has changed, and with it the link-layer address. The memberships in the SA
	 * contain the old GID, so the link starts again from the beginning.
	 */
	if (moved && l->state >= IPOIB_LINK_JOINING) {
		l->port.state = IB_PORT_DOWN;
		ipoib_link_advance(l, now);
	}
	l->port = *port;
	/*
	 * A subnet manager that changed the LID of this port has probably changed other LIDs, too.
	 * A known path may now lead to a different node with the same QPN, so ask the SA again for
	 * all paths.
	 */
	if (renumbered)
		ipoib_paths_forget(l, now);
	if (l->state == IPOIB_LINK_WAIT_PORT || l->state == IPOIB_LINK_WAIT_PKEY)
		reason_default(l, l->state);
	ipoib_link_advance(l, now);
	ipoib_link_sync_qp(l);
	ipoib_link_check_mtu(l, now);
}

void ipoib_qp_ready(struct ipoib_link *l, uint32_t qpn, int err, ns_t now)
{
	struct text t;

	if (!l->qp_asked || l->has_qp)
		return;
	if (err) {
		l->qp_asked = false;
		timer_arm(l->cfg.timers, &l->retry, now + IPOIB_BACKOFF_MIN);
		t = ipoib_link_reason(l);
		text_add(&t, "the queue pair cannot be made: error %d", -err);
		ipoib_log(l, LOG_LVL_WARN, "%s", l->reason);
		return;
	}
	l->has_qp = true;
	l->qpn = qpn & IB_QPN_MASK;
	ipoib_link_advance(l, now);
	ipoib_link_sync_qp(l);
}

void ipoib_link_set_qpn(struct ipoib_link *l, uint32_t qpn, ns_t now)
{
	if (!l->has_qp)
		return;
	if (l->state >= IPOIB_LINK_JOINING) {
		l->port.state = IB_PORT_DOWN;
		ipoib_link_advance(l, now);
	}
	l->qpn = qpn & IB_QPN_MASK;
}

void ipoib_link_sync_qp(struct ipoib_link *l)
{
	uint32_t qkey = l->joined ? l->qkey : l->qp_qkey;
	struct ipoib_action *a;

	if (!l->has_qp || l->port.pkey_index < 0)
		return;
	if (!l->qp_stale && l->qp_pkey_index == l->port.pkey_index && l->qp_qkey == qkey)
		return;
	l->qp_stale = false;
	l->qp_pkey_index = (uint16_t)l->port.pkey_index;
	l->qp_qkey = qkey;
	a = ipoib_act(l, IPOIB_ACT_QP_MODIFY);
	a->qp.pkey_index = l->qp_pkey_index;
	a->qp.qkey = qkey;
}

static void attach_failed(struct ipoib_link *l, const ib_gid *mgid, uint16_t mlid, int err)
{
	struct ipoib_mcast *m = ipoib_mcast_find(l, mgid);
	char gid[PRINT_GID_LEN];

	l->stats.attach_failures++;
	ipoib_log(l, LOG_LVL_WARN, "attaching to %s: error %d", print_gid(gid, sizeof(gid), mgid),
		  -err);
	if (m)
		ipoib_mcast_attach_failed(m, mlid);
}

void ipoib_action_failed(struct ipoib_link *l, const struct ipoib_action *act, int err, ns_t now)
{
	switch (act->type) {
	case IPOIB_ACT_QP_CREATE:
		ipoib_qp_ready(l, 0, err, now);
		break;
	case IPOIB_ACT_QP_MODIFY:
		l->qp_stale = true;
		ipoib_log(l, LOG_LVL_WARN, "P_Key index %u, Q_Key 0x%08x: the QP refuses, error %d",
			  act->qp.pkey_index, act->qp.qkey, -err);
		break;
	case IPOIB_ACT_AH_CREATE:
		ipoib_ah_ready(l, act->ah_create.cookie, NULL, err, now);
		break;
	case IPOIB_ACT_ATTACH:
		attach_failed(l, &act->mcast.mgid, act->mcast.mlid, err);
		break;
	default: /* the link does not retry the other actions */
		break;
	}
}

static int link_init(struct ipoib_link *l, const struct ipoib_link_cfg *cfg)
{
	int err;

	l->cfg = *cfg;
	l->sac = cfg->sac;
	l->profile = cfg->profile ? cfg->profile : ipoib_profile_at(0);
	l->sl_from = cfg->sl_from ? cfg->sl_from : l->profile->sl_from;
	l->pkey = cfg->pkey | IB_PKEY_FULL;
	l->port = (struct ipoib_port){ .state = IB_PORT_DOWN, .pkey_index = -1 };
	memcpy(l->name, cfg->name, sizeof(l->name));
	l->name[sizeof(l->name) - 1] = '\0';
	reason_default(l, IPOIB_LINK_DOWN);
	timer_init(&l->retry, link_retry);
	timer_init(&l->sweep, link_sweep);
	timer_init(&l->sweep_step, sweep_step);
	l->map = ipoib_profile_map(l->profile, l->pkey, cfg->scope, cfg->subnet);
	err = cfg->subnet && !l->profile->subnet_numbers ? -EINVAL : 0;
	if (!err)
		err = l->profile->mgid_broadcast(&l->mgid, &l->map);
	if (!err)
		err = ipoib_neighs_init(l);
	if (!err)
		err = ipoib_mcasts_init(l);
	ipoib_router_init(l);
	ipoib_link_group_init(l);
	if (!err && cfg->router)
		err = ipoib_link_set_router(l, true, 0);
	return err;
}

static void link_free(struct ipoib_link *l)
{
	ipoib_mcasts_fini(l);
	ipoib_neighs_fini(l);
	for (uint32_t i = 0; i < l->act_n; i++) {
		struct ipoib_action *a = &l->acts[(l->act_head + i) % l->act_cap];

		if (a->type == IPOIB_ACT_SEND)
			pkt_free(a->send.pkt);
	}
	free(l->acts);
	free(l);
}

int ipoib_link_create(struct ipoib_link **ret, const struct ipoib_link_cfg *cfg)
{
	struct ipoib_link *l;
	int err;

	/* A P_Key whose low 15 bits are 0 is invalid (IBTA C10-116). */
	if (!(cfg->pkey & 0x7fff) || cfg->scope > 15 || cfg->max_neighs > IPOIB_NEIGH_LIMIT)
		return -EINVAL;
	if (cfg->profile && cfg->profile->group_from == IPOIB_GROUP_SIDR && !cfg->cm)
		return -EINVAL;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	err = link_init(l, cfg);
	if (err) {
		link_free(l);
		return err;
	}
	l->user.event = ipoib_link_event;
	l->user.no_reports = !l->profile->reports;
	sac_user_add(l->sac, &l->user);
	*ret = l;
	return 0;
}

void ipoib_link_destroy(struct ipoib_link *l)
{
	if (!l)
		return;
	ipoib_link_set_admin(l, false, l->since);
	sac_user_del(&l->user);
	link_free(l);
}

int ipoib_link_own_qp_add(struct ipoib_link *l, uint32_t qpn)
{
	for (unsigned int i = 0; i < l->n_own_qpn; i++)
		if (l->own_qpn[i] == qpn)
			return -EEXIST;
	if (l->n_own_qpn == IPOIB_MAX_OWN_QPS)
		return -ENOSPC;
	l->own_qpn[l->n_own_qpn++] = qpn;
	return 0;
}

void ipoib_link_own_qp_del(struct ipoib_link *l, uint32_t qpn)
{
	for (unsigned int i = 0; i < l->n_own_qpn; i++) {
		if (l->own_qpn[i] == qpn) {
			l->own_qpn[i] = l->own_qpn[--l->n_own_qpn];
			return;
		}
	}
}

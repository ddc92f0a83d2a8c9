/* SPDX-License-Identifier: BSD-2-Clause */
#include "node/priv.h"

#define MOD_PORT 0xffu
/* bit of the attribute modifier that an SM sets if it supports extended speeds */
#define MOD_EXT_SPEEDS (1u << 31)
#define WIDTH_ALL 0xff
#define SPEED_ALL 0xf
#define SPEED_EXT_ALL 31
#define DOWN_DEFAULT_MAX 2
#define SLEEP_DEFAULT 1

static bool is_port0(const struct node_port *p)
{
	return node_is_switch(p->node) && p->num == 0;
}

/*
 * Tell whether @p is an end port: a CA port or port 0 of a switch. End ports have LID, M_Key and
 * GID prefix. The external ports of a switch have none of these.
 */
static bool is_end_port(const struct node_port *p)
{
	return !node_is_switch(p->node) || p->num == 0;
}

/*
 * Tell whether @p is a base port 0, which is always Active and has no LMC. An enhanced port 0 is
 * like a CA port.
 */
static bool is_base_port0(const struct node_port *p)
{
	return is_port0(p) && !p->node->sw->si.enhanced_port0;
}

static struct node_port *port_of(const struct sma_req *r)
{
	if (r->mod & ~(MOD_EXT_SPEEDS | MOD_PORT))
		return NULL;
	return sma_port(r, r->mod & MOD_PORT);
}

uint16_t sma_get_port_info(struct sma_req *r)
{
	const struct node_port *p = port_of(r);
	struct smp_port_info pi;

	if (!p)
		return MAD_STATUS_BAD_VALUE;
	pi = p->pi;
	pi.local_port = r->in_port;
	if (!r->mkey_ok && pi.mkey_protect)
		pi.mkey = 0;
	/*
	 * ClientReregister is a command and not stored. The bit is set only in the answer to a Set
	 * in which the bit was set.
	 */
	pi.client_reregister = r->events & NODE_EV_BIT(NODE_EV_CLIENT_REREGISTER);
	smp_port_info_encode(r->data, &pi);
	return 0;
}

static bool state_ok(const struct node_port *p, const struct smp_port_info *v)
{
	switch (v->port_state) {
	case IB_PORT_NOP:
	case IB_PORT_DOWN:
		break;
	case IB_PORT_ARMED:
		if (p->pi.port_state != IB_PORT_INIT)
			return false;
		break;
	case IB_PORT_ACTIVE:
		if (p->pi.port_state != IB_PORT_ARMED)
			return false;
		break;
	default:
		return false;
	}
	if (v->phys_state == IB_PHYS_NOP)
		return true;
	/*
	 * A Set may change the physical state only if it sets PortState to Down or leaves PortState
	 * unchanged, because a change of the physical state takes the port down.
	 */
	return v->phys_state <= IB_PHYS_DISABLED && v->port_state <= IB_PORT_DOWN;
}

static bool enabled_ok(unsigned int v, unsigned int supported, unsigned int all)
{
	return v == 0 || v == all || !(v & ~supported);
}

static bool link_ok(const struct node_port *p, const struct smp_port_info *v)
{
	const struct smp_port_info *pi = &p->pi;

	return enabled_ok(v->width_enabled, pi->width_supported, WIDTH_ALL) &&
	       enabled_ok(v->speed_enabled, pi->speed_supported, SPEED_ALL) &&
	       (v->speed_ext_enabled == NODE_SPEED_EXT_NONE ||
		enabled_ok(v->speed_ext_enabled, pi->speed_ext_supported, SPEED_EXT_ALL)) &&
	       v->neighbor_mtu <= pi->mtu_cap && v->oper_vls <= pi->vl_cap &&
	       v->down_default <= DOWN_DEFAULT_MAX;
}

/*
 * Tell whether LID, LMC and SM LID are valid for an end port. LID 0 is accepted, because a port has
 * LID 0 until an SM sets another LID, and tools write back the value that they read.
 */
static bool end_ok(const struct node_port *p, const struct smp_port_info *v)
{
	if (v->lid + (1u << v->lmc) > IB_LID_MCAST_MIN || v->sm_lid >= IB_LID_MCAST_MIN)
		return false;
	return v->lmc == 0 || !is_base_port0(p);
}

static uint32_t apply_state(struct node_port *p, const struct smp_port_info *v)
{
	uint8_t phys = v->phys_state;
	uint32_t events;

	if (v->port_state == IB_PORT_ARMED || v->port_state == IB_PORT_ACTIVE)
		return node_port_set_state(p, v->port_state);
	if (v->port_state == IB_PORT_NOP && phys == IB_PHYS_NOP)
		return 0;
	/* Port 0 has no link to train, so it comes up at once. */
	if (is_port0(p))
		return node_port_set_state(p, IB_PORT_INIT);
	if (phys == IB_PHYS_NOP && p->pi.phys_state != IB_PHYS_LINK_UP)
		return 0; /* the link is down already, or the port is Disabled or in Sleep */
	events = node_port_set_state(p, IB_PORT_DOWN);
	if (phys == IB_PHYS_NOP && p->pi.down_default == SLEEP_DEFAULT)
		phys = IB_PHYS_SLEEP;
	if (phys != IB_PHYS_NOP)
		events |= NODE_EV_BIT(NODE_EV_PHYS);
	if (p->link_up && (phys == IB_PHYS_NOP || phys == IB_PHYS_POLLING))
		events |= NODE_EV_BIT(NODE_EV_RETRAIN);
	p->pi.phys_state = phys == IB_PHYS_NOP ? IB_PHYS_POLLING : phys;
	return events;
}

static void apply_enabled(uint8_t *cur, uint8_t v, uint8_t supported, uint8_t all)
{
	if (v)
		*cur = v == all ? supported : v;
}

/* Sets the widths and speeds that a port enables. Return: events as bits */
static uint32_t apply_rate(struct node_port *p, const struct smp_port_info *v)
{
	struct node_rate before = node_rate_enabled(p), after;
	struct smp_port_info *pi = &p->pi;

	apply_enabled(&pi->width_enabled, v->width_enabled, pi->width_supported, WIDTH_ALL);
	apply_enabled(&pi->speed_enabled, v->speed_enabled, pi->speed_supported, SPEED_ALL);
	if (v->speed_ext_enabled == NODE_SPEED_EXT_NONE)
		pi->speed_ext_enabled = NODE_SPEED_EXT_NONE;
	else
		apply_enabled(&pi->speed_ext_enabled, v->speed_ext_enabled, pi->speed_ext_supported,
			      SPEED_EXT_ALL);
	after = node_rate_enabled(p);
	return p->link_up || memcmp(&before, &after, sizeof(before)) == 0
		       ? 0
		       : NODE_EV_BIT(NODE_EV_PHYS);
}

static void apply_link(struct node_port *p, const struct smp_port_info *v)
{
	struct smp_port_info *pi = &p->pi;

	if (v->down_default)
		pi->down_default = v->down_default;
	if (v->neighbor_mtu)
		pi->neighbor_mtu = v->neighbor_mtu;
	if (v->oper_vls)
		pi->oper_vls = v->oper_vls;
	pi->vl_high_limit = v->vl_high_limit;
	pi->vl_stall = v->vl_stall;
	pi->hoq_life = v->hoq_life;
	pi->local_phys_errors = v->local_phys_errors;
	pi->overrun_errors = v->overrun_errors;
	pi->max_credit_hint = v->max_credit_hint;
	pi->link_latency = v->link_latency;
	if (node_is_switch(p->node) && p->num) {
		pi->part_enforce_in = v->part_enforce_in;
		pi->part_enforce_out = v->part_enforce_out;
		pi->filter_raw_in = v->filter_raw_in;
		pi->filter_raw_out = v->filter_raw_out;
	}
}

static uint32_t end_events(const struct smp_port_info *old, const struct smp_port_info *v)
{
	uint32_t events = 0;

	if (v->lid != old->lid || v->lmc != old->lmc)
		events |= NODE_EV_BIT(NODE_EV_LID_CHANGE);
	if (v->sm_lid != old->sm_lid || v->sm_sl != old->sm_sl)
		events |= NODE_EV_BIT(NODE_EV_SM_CHANGE);
	if (v->gid_prefix != old->gid_prefix)
		events |= NODE_EV_BIT(NODE_EV_GID_CHANGE);
	if (v->client_reregister)
		events |= NODE_EV_BIT(NODE_EV_CLIENT_REREGISTER);
	return events;
}

static uint32_t apply_end(struct node_port *p, const struct smp_port_info *v)
{
	struct smp_port_info *pi = &p->pi;
	uint32_t events = end_events(pi, v);

	pi->mkey = v->mkey;
	pi->mkey_lease = v->mkey_lease;
	pi->mkey_protect = v->mkey_protect;
	pi->gid_prefix = v->gid_prefix;
	pi->lid = v->lid;
	pi->lmc = v->lmc;
	pi->sm_lid = v->sm_lid;
	pi->sm_sl = v->sm_sl;
	pi->init_type_reply = v->init_type_reply;
	pi->subnet_timeout = v->subnet_timeout;
	pi->mcast_pkey_trap_suppress = v->mcast_pkey_trap_suppress;
	/* A Set can clear these counters, but cannot write other values. */
	if (!v->mkey_violations)
		pi->mkey_violations = 0;
	if (!v->qkey_violations)
		pi->qkey_violations = 0;
	return events;
}

uint16_t sma_set_port_info(struct sma_req *r)
{
	struct node_port *p = port_of(r);
	struct smp_port_info v;

	smp_port_info_decode(&v, r->data, SMP_DATA_LEN);
	/*
	 * A Set at a CA port may change that port only, because only the M_Key of that port was
	 * checked.
	 */
	if (!p || (is_end_port(p) && p != r->end) || !link_ok(p, &v) ||
	    (!is_base_port0(p) && !state_ok(p, &v)) || (is_end_port(p) && !end_ok(p, &v)))
		return MAD_STATUS_BAD_VALUE;
	r->ev_port = p;
	r->events |= apply_rate(p, &v);
	apply_link(p, &v);
	if (!v.pkey_violations)
		p->pi.pkey_violations = 0;
	if (is_end_port(p))
		r->events |= apply_end(p, &v);
	if (!is_base_port0(p))
		r->events |= apply_state(p, &v);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "node/priv.h"

#define VL_CAP_0_7 4 /* code of VL0 .. VL7: lash wants VL0-3 at least (I13) */
#define VLARB_CAP 8
#define POLLING_DEFAULT 2 /* LinkDownDefaultState */
#define SLEEP_DEFAULT 1
#define SUBNET_TIMEOUT_DEFAULT 18 /* 4.096 us x 2^18 = 1.07 s */
#define RESP_TIME 16
#define HOQ_LIFE_INFINITE 19

#define CAP_ALL (SMP_CAP_IS_SL_MAP | SMP_CAP_IS_SYS_GUID)
#define CAP_END                                                                             \
	(CAP_ALL | SMP_CAP_IS_TRAP | SMP_CAP_IS_CLIENT_REREG | SMP_CAP_IS_CAP_MASK_NOTICE | \
	 SMP_CAP_IS_VENDOR_CLASS)

static bool is_switch(const struct node *n)
{
	return n->info.node_type == IB_NODE_SWITCH;
}

static uint32_t cap_default(const struct node_port *p)
{
	if (!is_switch(p->node))
		return CAP_END;
	return p->num == 0 ? CAP_END | SMP_CAP_IS_MFT_TOP | SMP_CAP_IS_PKEY_TRAP : CAP_ALL;
}

void node_port_init(struct node_port *p)
{
	bool port0 = is_switch(p->node) && p->num == 0;

	p->pi = (struct smp_port_info){
		.cap_mask = cap_default(p),
		.local_port = p->num,
		/* Port 0 has no link that could be down. */
		.port_state = port0 ? IB_PORT_ACTIVE : IB_PORT_DOWN,
		.phys_state = port0 ? IB_PHYS_LINK_UP : IB_PHYS_POLLING,
		.down_default = POLLING_DEFAULT,
		.neighbor_mtu = IB_MTU_4096,
		.mtu_cap = IB_MTU_4096,
		.vl_cap = VL_CAP_0_7,
		.oper_vls = VL_CAP_0_7,
		.vlarb_high_cap = VLARB_CAP,
		.vlarb_low_cap = VLARB_CAP,
		.vl_stall = 7,
		.hoq_life = HOQ_LIFE_INFINITE,
		.subnet_timeout = SUBNET_TIMEOUT_DEFAULT,
		.resp_time = RESP_TIME,
	};
	node_port_speed(p->node, p->num, 2, 4, 0);
	p->pkeys[0] = IB_PKEY_DEFAULT;
	for (unsigned int sl = 0; sl < 16; sl++)
		p->sltovl[sl] = sl % 8;
	timer_init(&p->mkey_lease, node_mkey_lease_fn);
}

/* A code is one bit; what has it does everything slower, too. 2x (16) came after 12x (8). */
static uint8_t up_to(uint8_t code)
{
	return code ? (uint8_t)(code | (code - 1)) : 0;
}

void node_port_speed(struct node *n, uint8_t port, uint8_t width, uint8_t speed, uint8_t ext)
{
	struct smp_port_info *pi = &n->port[port].pi;

	if (ext && !speed)
		speed = 4; /* what LinkSpeedActive says beside an extended speed */
	pi->width_supported = pi->width_enabled = up_to(width);
	pi->width_active = width;
	pi->speed_supported = pi->speed_enabled = up_to(speed);
	pi->speed_active = speed;
	pi->speed_ext_supported = pi->speed_ext_enabled = up_to(ext);
	pi->speed_ext_active = ext;
	if (ext)
		pi->cap_mask |= SMP_CAP_IS_EXT_SPEEDS;
	else
		pi->cap_mask &= ~SMP_CAP_IS_EXT_SPEEDS;
}

static const char *state_name(uint8_t s)
{
	static const char *const names[] = { "NOP", "DOWN", "INIT", "ARMED", "ACTIVE" };

	return names[s];
}

uint32_t node_port_set_state(struct node_port *p, enum ib_port_state state)
{
	uint8_t old = p->pi.port_state;

	if (old == state)
		return 0;
	log_to(p->node->log, LOG_LVL_DEBUG, "node: %s port %u %s -> %s", p->node->desc, p->num,
	       state_name(old), state_name(state));
	p->pi.port_state = state;
	if (state == IB_PORT_ACTIVE)
		return NODE_EV_BIT(NODE_EV_PORT_ACTIVE);
	return old == IB_PORT_ACTIVE ? NODE_EV_BIT(NODE_EV_PORT_ERR) : 0;
}

static uint8_t highest(uint8_t mask)
{
	while (mask & (mask - 1))
		mask &= (uint8_t)(mask - 1);
	return mask;
}

static void link_trained(struct smp_port_info *pi)
{
	pi->phys_state = IB_PHYS_LINK_UP;
	pi->width_active = highest(pi->width_enabled);
	pi->speed_active = highest(pi->speed_enabled);
	pi->speed_ext_active =
		pi->speed_ext_enabled == NODE_SPEED_EXT_NONE ? 0 : highest(pi->speed_ext_enabled);
}

static void link_lost(struct node_port *p)
{
	p->cnt.link_downed++;
	/* Disabled and Sleep were asked for and stay. */
	if (p->pi.phys_state == IB_PHYS_LINK_UP)
		p->pi.phys_state =
			p->pi.down_default == SLEEP_DEFAULT ? IB_PHYS_SLEEP : IB_PHYS_POLLING;
}

void node_link(struct node *n, uint8_t port, bool up, ns_t now)
{
	struct node_port *p = &n->port[port];
	uint8_t old = p->pi.port_state;
	uint32_t events;

	if (p->link_up == up || (up && p->pi.phys_state == IB_PHYS_DISABLED))
		return;
	p->link_up = up;
	if (up)
		link_trained(&p->pi);
	else
		link_lost(p);
	events = node_port_set_state(p, up ? IB_PORT_INIT : IB_PORT_DOWN);
	if (node_is_switch(n) && p->pi.port_state != old) {
		n->sw->si.port_state_change = true;
		node_trap_link_state(n, now);
	}
	node_raise(n, port, events, now);
}

void node_port_armed_rx(struct node_port *p, ns_t now)
{
	if (p->pi.port_state == IB_PORT_ARMED)
		node_raise(p->node, p->num, node_port_set_state(p, IB_PORT_ACTIVE), now);
}

int node_pkey_find(const struct node_port *p, uint16_t pkey)
{
	int limited = -ENOENT;

	for (int i = 0; i < NODE_PKEYS; i++) {
		if (!ib_pkey_match(p->pkeys[i], pkey))
			continue;
		if (p->pkeys[i] & IB_PKEY_FULL)
			return i;
		if (limited < 0)
			limited = i;
	}
	return limited;
}

bool node_pkey_ok(const struct node_port *p, uint16_t pkey)
{
	for (unsigned int i = 0; i < NODE_PKEYS; i++)
		if (ib_pkey_match(p->pkeys[i], pkey))
			return true;
	return false;
}

void node_set_cap(struct node *n, uint8_t port, uint32_t bit, bool on, ns_t now)
{
	struct node_port *p = node_end_port(n, port);
	uint32_t old = p->pi.cap_mask;

	p->pi.cap_mask = on ? old | bit : old & ~bit;
	if (p->pi.cap_mask != old)
		node_trap_cap_change(p, now);
}

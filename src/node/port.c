/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "node/priv.h"

#define VL_CAP_0_7 4 /* VLCap code of VL0 to VL7; OpenSM's routing engine lash needs VL0 to VL3 */
#define VLARB_CAP 8 /* number of entries of one priority, one for each VL of EACH_VL() */
/* index in vlarb[] of the first low-priority block; high-priority blocks start at VLARB_HIGH */
#define VLARB_LOW 0
#define VLARB_HIGH 2
#define VLARB_WEIGHT 4
#define POLLING_DEFAULT 2 /* LinkDownDefaultState: Polling */
#define SLEEP_DEFAULT 1
#define SUBNET_TIMEOUT_DEFAULT 18 /* SubnetTimeOut: 4.096 us x 2^18 = 1.07 s */
#define RESP_TIME 16
#define WIDTH_1X 0x01
#define WIDTH_4X 0x02
#define WIDTH_2X 0x10
#define SPEED_SDR 0x1
#define SPEED_QDR 0x4
#define SPEED_EXT_HDR 0x4
#define SPEED_EXT_NDR 0x8

/* CapabilityMask of end ports. At the other ports of a switch the field is reserved (14.2.5.6). */
#define CAP_END                                                                                \
	(SMP_CAP_IS_SL_MAP | SMP_CAP_IS_SYS_GUID | SMP_CAP_IS_TRAP | SMP_CAP_IS_CLIENT_REREG | \
	 SMP_CAP_IS_CAP_MASK_NOTICE | SMP_CAP_IS_VENDOR_CLASS | SMP_CAP_IS_EXT_SPEEDS |        \
	 SMP_CAP_IS_CAP_MASK2)

static bool is_switch(const struct node *n)
{
	return n->info.node_type == IB_NODE_SWITCH;
}

static uint32_t cap_default(const struct node_port *p)
{
	if (!is_switch(p->node))
		return CAP_END;
	return p->num == 0 ? CAP_END | SMP_CAP_IS_MFT_TOP | SMP_CAP_IS_PKEY_TRAP : 0;
}

/*
 * Set SLtoVL to the values that it has before an SM writes it: SL n maps to VL n, except SL 15,
 * because VL15 in SLtoVL means discard. node_oper_vl() maps VLs above OperationalVLs to lower VLs.
 */
static void init_vls(struct node_port *p)
{
	for (unsigned int sl = 0; sl < 16; sl++)
		p->sltovl[sl] = (uint8_t)(sl < IB_VL15 ? sl : 7);
}

/*
 * Weights before an SM writes VLArbitrationTable: VL0 has high priority, the other VLs have low
 * priority.
 */
/* clang-format off */
#define LOW(vl) { vl, (vl) ? VLARB_WEIGHT : 0 }
#define HIGH(vl) { vl, (vl) ? 0 : VLARB_WEIGHT }
#define EACH_VL(what) what(0), what(1), what(2), what(3), what(4), what(5), what(6), what(7)
/* clang-format on */
static const struct node_rare rare_default = {
	.vlarb = {
		[VLARB_LOW] = { EACH_VL(LOW) },
		[VLARB_HIGH] = { EACH_VL(HIGH) },
	},
};

const struct node_rare *node_rare_get(const struct node_port *p)
{
	return p->rare ? p->rare : &rare_default;
}

struct node_rare *node_rare_own(struct node_port *p)
{
	if (!p->rare) {
		p->rare = malloc(sizeof(*p->rare));
		if (p->rare)
			*p->rare = rare_default;
	}
	return p->rare;
}

void node_port_init(struct node_port *p)
{
	bool port0 = is_switch(p->node) && p->num == 0;

	p->pi = (struct smp_port_info){
		.cap_mask = cap_default(p),
		.local_port = p->num,
		/* Port 0 of a switch has no link, so it is always Active. */
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
		.subnet_timeout = SUBNET_TIMEOUT_DEFAULT,
		.resp_time = RESP_TIME,
	};
	p->peer_rate = (struct node_rate){ 0xff, 0xff, 0xff };
	node_port_rate(p->node, p->num,
		       (struct node_rate){ .width = WIDTH_4X, .speed = SPEED_SDR });
	p->pkeys[0] = IB_PKEY_DEFAULT;
	init_vls(p);
	timer_init(&p->mkey_lease, node_mkey_lease_fn);
}

/*
 * Return the code of the largest width in @mask. A larger code is not always a larger width: 2x has
 * code 16, 12x has code 8.
 */
static uint8_t best_width(uint8_t mask)
{
	static const uint8_t order[] = { 8, 4, 2, 16, 1 };

	for (unsigned int i = 0; i < ARRAY_SIZE(order); i++)
		if (mask & order[i])
			return order[i];
	return 0;
}

static uint8_t highest(uint8_t mask)
{
	while (mask & (mask - 1))
		mask &= (uint8_t)(mask - 1);
	return mask;
}

static void set_active(struct smp_port_info *pi, struct node_rate common)
{
	pi->width_active = best_width(common.width);
	pi->speed_active = highest(common.speed);
	pi->speed_ext_active = highest(common.ext);
}

/* Return all widths up to the largest enabled width; 2x is among them only if 2x itself is enabled */
static uint8_t width_supported(uint8_t enabled)
{
	uint8_t best = best_width(enabled & (uint8_t)~WIDTH_2X);

	return enabled | WIDTH_1X | (best ? (uint8_t)(best | (best - 1)) : 0);
}

static uint8_t up_to(uint8_t mask)
{
	uint8_t best = highest(mask);

	return best ? (uint8_t)(best | (best - 1)) : 0;
}

/*
 * Add the capabilities of the port @pi to CapabilityMask2 of its end port. So port 0 of a switch
 * has the capabilities of all ports of the switch.
 */
static void set_cap2(struct smp_port_info *end, const struct smp_port_info *pi)
{
	if (pi->width_supported & WIDTH_2X)
		end->cap_mask2 |= SMP_CAP2_IS_WIDTH_2X;
	if (pi->speed_ext_supported & SPEED_EXT_HDR)
		end->cap_mask2 |= SMP_CAP2_IS_SPEED_HDR;
	if (pi->speed_ext_supported & SPEED_EXT_NDR)
		end->cap_mask2 |= SMP_CAP2_IS_SPEED_NDR;
}

/*
 * A port supports only the widths and speeds that the topology gives it. An SM enables all
 * supported widths and speeds. If a port supported more than the topology gives it, its link would
 * be faster after the next training.
 */
void node_port_rate(struct node *n, uint8_t port, struct node_rate enabled)
{
	struct smp_port_info *pi = &n->port[port].pi;

	if (enabled.ext)
		enabled.speed |= SPEED_QDR; /* with an extended speed, LinkSpeedActive is QDR */
	pi->width_supported = width_supported(enabled.width);
	pi->width_enabled = enabled.width;
	pi->speed_supported = up_to(enabled.speed);
	pi->speed_enabled = enabled.speed;
	pi->speed_ext_supported = up_to(enabled.ext);
	pi->speed_ext_enabled = enabled.ext;
	set_active(pi, enabled);
	set_cap2(&node_end_port(n, port)->pi, pi);
}

struct node_rate node_rate_enabled(const struct node_port *p)
{
	uint8_t ext = p->pi.speed_ext_enabled;

	return (struct node_rate){
		.width = p->pi.width_enabled,
		.speed = p->pi.speed_enabled,
		.ext = ext == NODE_SPEED_EXT_NONE ? 0 : ext,
	};
}

void node_link_peer(struct node *n, uint8_t port, struct node_rate enabled)
{
	n->port[port].peer_rate = enabled;
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

static void link_trained(struct node_port *p)
{
	struct node_rate r = node_rate_enabled(p);

	p->pi.phys_state = IB_PHYS_LINK_UP;
	r.width &= p->peer_rate.width;
	r.speed &= p->peer_rate.speed;
	r.ext &= p->peer_rate.ext;
	set_active(&p->pi, r);
}

static void link_lost(struct node_port *p)
{
	p->cnt.link_downed++;
	/* If an SM has requested Disabled or Sleep, the port stays in this state. */
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
		link_trained(p);
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

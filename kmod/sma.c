// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

/* The subnet management agent, IBTA 14.2.5 */

#include "uib.h"

#define STATE_NOP 0
#define RESP_TIME 16
/* bit of PortInfo's attribute modifier by which an SM announces that it supports extended speeds */
#define EXT_SPEEDS BIT(31)
#define REREGISTER 0x80
#define PKEYS_PER_BLOCK 32
#define GUIDS_PER_BLOCK 8
/*
 * Offsets in PortInfo after the end of the kernel's struct. CapabilityMask2 and the extended speeds of this port are
 * all 0.
 */
#define P_CAP_MASK2 60
#define P_SPEED_EXT_ENABLED 63
#define SPEED_EXT_NONE 30 /* LinkSpeedExtEnabled: no extended speed */
#define SPEED_EXT_ALL 31

static_assert(offsetof(struct ib_port_info, mkey_violations) == 44);
static_assert(offsetof(struct ib_port_info, max_credit_hint) == 54);
static_assert(offsetof(struct ib_port_info, link_roundtrip_latency) == P_CAP_MASK2 - 3);
static_assert(sizeof(struct ib_port_info) <= IB_SMP_DATA_SIZE);
static_assert(sizeof(struct ib_node_info) == 40);

/* A Get or Set of an attribute, processed with port.lock held. */
struct req {
	struct uib_dev *dev;
	struct uib_port *p;
	u32 mod;
	u8 *data; /* the 64 octets of the attribute: in a Set the received octets, in a Get zeros to be filled in */
	bool mkey_ok; /* the request has the right M_Key, so the answer may contain the M_Key */
	u32 events; /* bit mask of UIB_EV_*: events that the Set has caused */
};

static u16 get_node_desc(struct req *r)
{
	memcpy(r->data, r->dev->ibdev.node_desc, IB_DEVICE_NODE_DESC_MAX);
	return 0;
}

static u16 get_node_info(struct req *r)
{
	struct ib_node_info *n = (void *)r->data;

	n->base_version = IB_MGMT_BASE_VERSION;
	n->class_version = 1;
	n->node_type = RDMA_NODE_IB_CA;
	n->num_ports = 1;
	n->sys_guid = n->node_guid = r->dev->ibdev.node_guid;
	n->port_guid = cpu_to_be64(r->p->guids[0]);
	n->partition_cap = cpu_to_be16(UIB_PKEYS);
	n->revision = cpu_to_be32(1);
	n->local_port_num = UIB_PORT;
	return 0;
}

/* --- PortInfo */

static bool port_ok(const struct req *r)
{
	u32 port = r->mod & ~EXT_SPEEDS;

	return port <= UIB_PORT;
}

static u16 get_port_info(struct req *r)
{
	struct ib_port_info *i = (void *)r->data;
	const struct uib_port *p = r->p;

	if (!port_ok(r))
		return UIB_STATUS_BAD_VALUE;
	i->mkey = cpu_to_be64(r->mkey_ok || !p->mkey_protect ? p->mkey : 0);
	i->gid_prefix = cpu_to_be64(p->gid_prefix);
	i->lid = cpu_to_be16(p->lid);
	i->sm_lid = cpu_to_be16(p->sm_lid);
	i->cap_mask = cpu_to_be32(p->cap_mask);
	i->mkey_lease_period = cpu_to_be16(p->mkey_lease);
	i->local_port_num = UIB_PORT;
	i->link_width_enabled = p->width_enabled;
	i->link_width_supported = UIB_WIDTHS;
	i->link_width_active = UIB_WIDTH;
	i->linkspeed_portstate = UIB_SPEED << 4 | p->state;
	i->portphysstate_linkdown = p->phys_state << 4 | p->down_default;
	i->mkeyprot_resv_lmc = p->mkey_protect << 6 | p->lmc;
	i->linkspeedactive_enabled = UIB_SPEED << 4 | p->speed_enabled;
	i->neighbormtu_mastersmsl = p->neighbor_mtu << 4 | p->sm_sl;
	i->vlcap_inittype = UIB_VL_CAP << 4;
	i->vl_high_limit = p->vl_high_limit;
	i->vl_arb_high_cap = i->vl_arb_low_cap = UIB_VLARB_CAP;
	i->inittypereply_mtucap = p->init_type_reply << 4 | p->mtu_cap;
	i->vlstallcnt_hoqlife = p->vl_stall_hoq_life;
	i->operationalvl_pei_peo_fpi_fpo = p->oper_vls << 4;
	i->mkey_violations = cpu_to_be16(p->mkey_violations);
	i->pkey_violations = cpu_to_be16(p->pkey_violations);
	i->qkey_violations = cpu_to_be16(p->qkey_violations);
	i->guid_cap = UIB_GUIDS;
	/* ClientReregister is not stored, but the answer to the Set that asked for it echoes the bit. */
	i->clientrereg_resv_subnetto = (r->events & UIB_EV_REREGISTER ? REREGISTER : 0) |
				       p->trap_suppress << 5 | p->subnet_timeout;
	i->resv_resptimevalue = RESP_TIME;
	i->localphyerrors_overrunerrors = p->error_limits;
	i->max_credit_hint = cpu_to_be16(p->max_credit_hint);
	memcpy(i->link_roundtrip_latency, p->link_latency, sizeof(p->link_latency));
	r->data[P_SPEED_EXT_ENABLED] = p->speed_ext_enabled;
	return 0;
}

static bool enabled_ok(u8 v, u8 supported, u8 all)
{
	return !v || v == all || !(v & ~supported);
}

static bool state_ok(const struct uib_port *p, const struct ib_port_info *i)
{
	u8 state = i->linkspeed_portstate & 0xf, phys = i->portphysstate_linkdown >> 4;

	if (state == IB_PORT_ARMED && p->state != IB_PORT_INIT)
		return false;
	if (state == IB_PORT_ACTIVE && p->state != IB_PORT_ARMED)
		return false;
	if (state == IB_PORT_INIT || state > IB_PORT_ACTIVE)
		return false;
	/* A Set may name a physical state only if its PortState is Down or "no change". */
	return phys == UIB_PHYS_NOP || (phys <= UIB_PHYS_DISABLED && state <= IB_PORT_DOWN);
}

static u8 speed_ext(const struct ib_port_info *i)
{
	return ((const u8 *)i)[P_SPEED_EXT_ENABLED] & SPEED_EXT_ALL;
}

static bool values_ok(const struct uib_port *p, const struct ib_port_info *i)
{
	u8 ext = speed_ext(i);
	u32 lids = 1 << (i->mkeyprot_resv_lmc & 7);

	return be16_to_cpu(i->lid) + lids <= UIB_LID_MCAST &&
	       be16_to_cpu(i->sm_lid) < UIB_LID_MCAST &&
	       i->neighbormtu_mastersmsl >> 4 <= p->mtu_cap &&
	       i->operationalvl_pei_peo_fpi_fpo >> 4 <= UIB_VL_CAP &&
	       (i->portphysstate_linkdown & 0xf) <= UIB_PHYS_POLLING &&
	       enabled_ok(i->link_width_enabled, UIB_WIDTHS, 0xff) &&
	       enabled_ok(i->linkspeedactive_enabled & 0xf, UIB_SPEED, 0xf) &&
	       (ext == SPEED_EXT_NONE || enabled_ok(ext, 0, SPEED_EXT_ALL));
}

static u32 changes(const struct uib_port *p, const struct ib_port_info *i)
{
	u32 ev = 0;

	if (be16_to_cpu(i->lid) != p->lid || (i->mkeyprot_resv_lmc & 7) != p->lmc)
		ev |= UIB_EV_LID;
	if (be16_to_cpu(i->sm_lid) != p->sm_lid || (i->neighbormtu_mastersmsl & 0xf) != p->sm_sl)
		ev |= UIB_EV_SM;
	if (be64_to_cpu(i->gid_prefix) != p->gid_prefix)
		ev |= UIB_EV_GID;
	if (i->clientrereg_resv_subnetto & REREGISTER)
		ev |= UIB_EV_REREGISTER;
	return ev;
}

/* Apply the fields about management: M_Key, GID prefix, LIDs, traps, and the counters of violations */
static void apply_address(struct uib_port *p, const struct ib_port_info *i)
{
	p->mkey = be64_to_cpu(i->mkey);
	p->mkey_lease = be16_to_cpu(i->mkey_lease_period);
	p->mkey_protect = i->mkeyprot_resv_lmc >> 6;
	p->mkey_lease_runs = false;
	WRITE_ONCE(p->gid_prefix, be64_to_cpu(i->gid_prefix));
	WRITE_ONCE(p->lid, be16_to_cpu(i->lid));
	WRITE_ONCE(p->lmc, i->mkeyprot_resv_lmc & 7);
	p->sm_lid = be16_to_cpu(i->sm_lid);
	p->sm_sl = i->neighbormtu_mastersmsl & 0xf;
	p->init_type_reply = i->inittypereply_mtucap >> 4;
	p->subnet_timeout = i->clientrereg_resv_subnetto & 0x1f;
	p->trap_suppress = i->clientrereg_resv_subnetto >> 5 & 3;
	/* A Set with 0 clears a violation counter. A Set with any other value does not change it. */
	if (!i->mkey_violations)
		p->mkey_violations = 0;
	if (!i->pkey_violations)
		p->pkey_violations = 0;
	if (!i->qkey_violations)
		p->qkey_violations = 0;
}

static void apply_link(struct uib_port *p, const struct ib_port_info *i)
{
	u8 mtu = i->neighbormtu_mastersmsl >> 4, vls = i->operationalvl_pei_peo_fpi_fpo >> 4;
	u8 width = i->link_width_enabled, speed = i->linkspeedactive_enabled & 0xf;
	u8 down = i->portphysstate_linkdown & 0xf, ext = speed_ext(i);

	if (mtu)
		WRITE_ONCE(p->neighbor_mtu, mtu);
	if (vls)
		WRITE_ONCE(p->oper_vls, vls);
	if (width)
		p->width_enabled = width == 0xff ? UIB_WIDTHS : width;
	if (speed)
		p->speed_enabled = speed == 0xf ? UIB_SPEED : speed;
	if (ext)
		p->speed_ext_enabled = ext == SPEED_EXT_ALL ? 0 : ext;
	if (down)
		p->down_default = down;
	p->vl_high_limit = i->vl_high_limit;
	p->vl_stall_hoq_life = i->vlstallcnt_hoqlife;
	p->error_limits = i->localphyerrors_overrunerrors;
	p->max_credit_hint = be16_to_cpu(i->max_credit_hint);
	memcpy(p->link_latency, i->link_roundtrip_latency, sizeof(p->link_latency));
}

static u32 apply_state(struct uib_port *p, const struct ib_port_info *i)
{
	u8 state = i->linkspeed_portstate & 0xf, phys = i->portphysstate_linkdown >> 4;
	bool was_up = p->phys_state == UIB_PHYS_LINK_UP,
	     disabled = p->phys_state == UIB_PHYS_DISABLED;
	u32 ev = 0;

	if (state == IB_PORT_ARMED || state == IB_PORT_ACTIVE) {
		WRITE_ONCE(p->state, state);
		return state == IB_PORT_ACTIVE ? UIB_EV_ACTIVE : 0;
	}
	if (state == STATE_NOP && phys == UIB_PHYS_NOP)
		return 0;
	if (phys == UIB_PHYS_NOP && !was_up)
		return 0; /* the port is already down, or it is Disabled and stays down */
	if (p->state == IB_PORT_ACTIVE)
		ev |= UIB_EV_ERR;
	WRITE_ONCE(p->state, IB_PORT_DOWN);
	if (phys == UIB_PHYS_NOP)
		phys = p->down_default;
	p->phys_state = phys;
	if (disabled)
		return phys == UIB_PHYS_DISABLED ? ev : ev | UIB_EV_ENABLE;
	return ev | UIB_EV_RETRAIN;
}

static u16 set_port_info(struct req *r)
{
	const struct ib_port_info *i = (const void *)r->data;

	if (!port_ok(r) || !values_ok(r->p, i) || !state_ok(r->p, i))
		return UIB_STATUS_BAD_VALUE;
	r->events = changes(r->p, i);
	apply_address(r->p, i);
	apply_link(r->p, i);
	r->events |= apply_state(r->p, i);
	return 0;
}

/* --- tables */

static u16 get_pkeys(struct req *r)
{
	__be16 *to = (void *)r->data;
	u32 first = (r->mod & 0xffff) * PKEYS_PER_BLOCK, i;

	if (r->mod >> 16 > UIB_PORT || first >= UIB_PKEYS)
		return UIB_STATUS_BAD_VALUE;
	for (i = 0; i < PKEYS_PER_BLOCK; i++)
		to[i] = cpu_to_be16(r->p->pkeys[first + i]);
	return 0;
}

static u16 set_pkeys(struct req *r)
{
	const __be16 *from = (const void *)r->data;
	u32 first = (r->mod & 0xffff) * PKEYS_PER_BLOCK, i;

	if (r->mod >> 16 > UIB_PORT || first >= UIB_PKEYS)
		return UIB_STATUS_BAD_VALUE;
	for (i = 0; i < PKEYS_PER_BLOCK; i++) {
		u16 v = be16_to_cpu(from[i]);

		if (v != r->p->pkeys[first + i])
			r->events |= UIB_EV_PKEY;
		WRITE_ONCE(r->p->pkeys[first + i], v);
	}
	return 0;
}

static u16 get_guids(struct req *r)
{
	__be64 *to = (void *)r->data;
	u32 i;

	if (r->mod >= UIB_GUIDS / GUIDS_PER_BLOCK)
		return UIB_STATUS_BAD_VALUE;
	for (i = 0; i < GUIDS_PER_BLOCK; i++)
		to[i] = cpu_to_be64(r->p->guids[r->mod * GUIDS_PER_BLOCK + i]);
	return 0;
}

static u16 set_guids(struct req *r)
{
	const __be64 *from = (const void *)r->data;
	u32 i;

	if (r->mod >= UIB_GUIDS / GUIDS_PER_BLOCK)
		return UIB_STATUS_BAD_VALUE;
	/* Entry 0 of block 0, the port GUID, is read-only. */
	for (i = r->mod ? 0 : 1; i < GUIDS_PER_BLOCK; i++) {
		u64 v = be64_to_cpu(from[i]);

		if (v != r->p->guids[r->mod * GUIDS_PER_BLOCK + i])
			r->events |= UIB_EV_GID;
		WRITE_ONCE(r->p->guids[r->mod * GUIDS_PER_BLOCK + i], v);
	}
	return 0;
}

/*
 * Tell whether the attribute modifier, input port << 8 | output port, is valid. Neither of these two port numbers may
 * be above that of the CA's port. A CA has one table for all valid modifiers.
 */
static bool sltovl_ok(const struct req *r)
{
	return (r->mod >> 8 & 0xff) <= UIB_PORT && (r->mod & 0xff) <= UIB_PORT;
}

static u16 get_sltovl(struct req *r)
{
	unsigned int i;

	if (!sltovl_ok(r))
		return UIB_STATUS_BAD_VALUE;
	for (i = 0; i < 8; i++)
		r->data[i] = r->p->sltovl[2 * i] << 4 | r->p->sltovl[2 * i + 1];
	return 0;
}

static u16 set_sltovl(struct req *r)
{
	unsigned int i;

	if (!sltovl_ok(r))
		return UIB_STATUS_BAD_VALUE;
	for (i = 0; i < 8; i++) {
		WRITE_ONCE(r->p->sltovl[2 * i], r->data[i] >> 4);
		WRITE_ONCE(r->p->sltovl[2 * i + 1], r->data[i] & 0xf);
	}
	return 0;
}

/*
 * Find the table of a block. Blocks 1 and 2 have low priority, blocks 3 and 4 high priority. The 8 entries of each
 * priority fit into blocks 1 and 3, so blocks 2 and 4 have no table.
 */
static u8 *vlarb(struct req *r)
{
	u32 block = r->mod >> 16;

	if ((r->mod & 0xffff) > UIB_PORT || (block != 1 && block != 3))
		return NULL;
	return r->p->vlarb[block - 1];
}

static u16 get_vlarb(struct req *r)
{
	const u8 *table = vlarb(r);

	if (!table)
		return UIB_STATUS_BAD_VALUE;
	memcpy(r->data, table, IB_SMP_DATA_SIZE);
	return 0;
}

static u16 set_vlarb(struct req *r)
{
	u8 *table = vlarb(r);
	unsigned int i;

	if (!table)
		return UIB_STATUS_BAD_VALUE;
	for (i = 0; i < IB_SMP_DATA_SIZE; i += 2) {
		table[i] = r->data[i] & 0xf; /* a VL; the high bits are reserved */
		table[i + 1] = r->data[i + 1];
	}
	return 0;
}

/* --- notices */

static u16 get_notice(struct req *r)
{
	uib_trap_get_notice(r->dev, r->data);
	return 0;
}

static u16 set_notice(struct req *r)
{
	uib_trap_set_notice(r->dev, r->data);
	return 0;
}

/* --- Get and Set of any attribute, and the M_Key */

static const struct attr {
	__be16 id;
	u16 (*get)(struct req *r);
	u16 (*set)(struct req *r);
} attrs[] = {
	{ IB_SMP_ATTR_NOTICE, get_notice, set_notice },
	{ IB_SMP_ATTR_NODE_DESC, get_node_desc, NULL },
	{ IB_SMP_ATTR_NODE_INFO, get_node_info, NULL },
	{ IB_SMP_ATTR_GUID_INFO, get_guids, set_guids },
	{ IB_SMP_ATTR_PORT_INFO, get_port_info, set_port_info },
	{ IB_SMP_ATTR_PKEY_TABLE, get_pkeys, set_pkeys },
	{ IB_SMP_ATTR_SL_TO_VL_TABLE, get_sltovl, set_sltovl },
	{ IB_SMP_ATTR_VL_ARB_TABLE, get_vlarb, set_vlarb },
};

static u16 execute(struct req *r, struct ib_smp *smp)
{
	bool set = smp->method == IB_MGMT_METHOD_SET;
	const struct attr *a = attrs, *end = attrs + ARRAY_SIZE(attrs);
	u8 answer[IB_SMP_DATA_SIZE] __aligned(8) = {};
	u16 status;

	if (smp->base_version != IB_MGMT_BASE_VERSION || smp->class_version != 1)
		return UIB_STATUS_BAD_VERSION;
	if (!set && smp->method != IB_MGMT_METHOD_GET)
		return UIB_STATUS_BAD_METHOD;
	while (a < end && a->id != smp->attr_id)
		a++;
	if (a == end || (set && !a->set))
		return UIB_STATUS_BAD_ATTR;
	if (set) {
		status = a->set(r);
		if (status)
			return status;
	}
	/* The answer to a Set contains the attribute after the change. */
	r->data = answer;
	status = a->get(r);
	if (!status)
		memcpy(smp->data, answer, sizeof(answer));
	return status;
}

/* When the lease period of the M_Key is over, any SM may read the port and its M_Key again (IBTA 14.2.4.2). */
static void expire_lease(struct uib_port *p)
{
	if (p->mkey_lease_runs && time_after(jiffies, p->mkey_lease_ends)) {
		p->mkey_protect = 0;
		p->mkey_lease_runs = false;
	}
}

static bool mkey_permits(struct uib_port *p, const struct ib_smp *smp, bool ok)
{
	if (ok)
		return true;
	return smp->method == IB_MGMT_METHOD_GET && p->mkey_protect < 2;
}

static void mkey_violation(struct uib_port *p)
{
	if (p->mkey_violations < U16_MAX)
		p->mkey_violations++;
	if (p->mkey_lease && !p->mkey_lease_runs) {
		p->mkey_lease_runs = true;
		p->mkey_lease_ends = jiffies + p->mkey_lease * HZ;
	}
}

bool uib_sma(struct uib_dev *dev, struct ib_smp *smp, bool ignore_mkey)
{
	struct uib_port *p = &dev->port;
	struct req r = {
		.dev = dev,
		.p = p,
		.mod = be32_to_cpu(smp->attr_mod),
		.data = smp->data,
	};
	bool permitted;
	u16 status = 0;

	spin_lock_bh(&p->lock);
	expire_lease(p);
	r.mkey_ok = ignore_mkey || !p->mkey || p->mkey == be64_to_cpu(smp->mkey);
	permitted = mkey_permits(p, smp, r.mkey_ok);
	if (permitted) {
		if (r.mkey_ok)
			p->mkey_lease_runs = false;
		status = execute(&r, smp);
	} else {
		mkey_violation(p);
	}
	spin_unlock_bh(&p->lock);
	if (!permitted) {
		uib_count(dev, UIB_DROP_MKEY);
		uib_trap_bad_mkey(dev, smp);
		return false;
	}
	smp->method = IB_MGMT_METHOD_GET_RESP;
	smp->status = cpu_to_be16(status);
	if (smp->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE)
		smp->status |= IB_SMP_DIRECTION;
	uib_port_raise(dev, r.events);
	return true;
}

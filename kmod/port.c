// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

#include "uib.h"

#define VLARB_WEIGHT 4

/*
 * Fill in the tables that the port has until an SM writes them. SL n is mapped to VL n, which uib_port_vl() maps to an
 * operational VL. SL 15 must not be mapped to VL15, because VL15 means that packets are discarded. VL0 has high
 * priority, and the other VLs have low priority.
 */
static void init_vls(struct uib_port *p)
{
	u8 *low = p->vlarb[UIB_VLARB_LOW], *high = p->vlarb[UIB_VLARB_HIGH];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(p->sltovl); i++)
		p->sltovl[i] = i < UIB_VL15 ? i : 7;
	for (i = 0; i < UIB_VLARB_CAP; i++) {
		low[2 * i] = high[2 * i] = i;
		low[2 * i + 1] = i ? VLARB_WEIGHT : 0;
		high[2 * i + 1] = i ? 0 : VLARB_WEIGHT;
	}
}

void uib_port_init(struct uib_port *p, u64 guid, u8 mtu_cap)
{
	spin_lock_init(&p->lock);
	p->gid_prefix = UIB_DEFAULT_PREFIX;
	p->cap_mask = IB_PORT_SL_MAP_SUP | IB_PORT_SYS_IMAGE_GUID_SUP | IB_PORT_CLIENT_REG_SUP |
		      IB_PORT_VENDOR_CLASS_SUP | IB_PORT_TRAP_SUP | IB_PORT_CAP_MASK_NOTICE_SUP |
		      IB_PORT_EXTENDED_SPEEDS_SUP | IB_PORT_CAP_MASK2_SUP;
	p->state = IB_PORT_DOWN;
	p->phys_state = UIB_PHYS_POLLING;
	p->down_default = UIB_PHYS_POLLING;
	/*
	 * NeighborMTU starts with the value of MTUCap, because OpenSM takes a port down if it has
	 * to change NeighborMTU.
	 */
	p->neighbor_mtu = p->mtu_cap = mtu_cap;
	p->oper_vls = UIB_VL_CAP;
	p->width_enabled = UIB_WIDTH;
	p->speed_enabled = UIB_SPEED;
	p->vl_stall_hoq_life = 7 << 5;
	p->subnet_timeout = 18; /* 4.096 us x 2^18 = 1.07 s */
	p->pkeys[0] = IB_DEFAULT_PKEY_FULL;
	p->guids[0] = guid;
	init_vls(p);
}

int uib_pkey_find(const struct uib_port *p, u16 pkey)
{
	int i, limited = -ENOENT;

	for (i = 0; i < UIB_PKEYS; i++) {
		u16 entry = READ_ONCE(p->pkeys[i]);

		if (!uib_pkey_match(entry, pkey))
			continue;
		if (entry & UIB_PKEY_FULL)
			return i;
		if (limited < 0)
			limited = i;
	}
	return limited;
}

bool uib_own_lid(const struct uib_port *p, u16 lid)
{
	u16 own = READ_ONCE(p->lid);

	return own && own >> READ_ONCE(p->lmc) == lid >> READ_ONCE(p->lmc);
}

/*
 * If an SM lowers OperationalVLs and does not write SLtoVL again, SLtoVL contains VLs that do not exist, which this
 * function maps to existing VLs. VL15 in SLtoVL means that packets are discarded, so this function does not change
 * VL15.
 */
u8 uib_port_vl(const struct uib_port *p, u8 sl)
{
	static const u8 vls[16] = { 1, 1, 2, 4, 8, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15 };
	u8 vl = READ_ONCE(p->sltovl[sl & 15]);

	return vl == UIB_VL15 ? vl : vl % vls[READ_ONCE(p->oper_vls) & 15];
}

/* --- states and events */

/*
 * ib_core delivers an event from a work item. When a device is unregistered, ib_core first waits
 * for the holders of references and then for these work items. So this function holds a reference
 * while it raises an event. Otherwise the event could come after both waits, and its work item
 * would use freed caches.
 */
static void dispatch(struct uib_dev *dev, enum ib_event_type type)
{
	struct ib_event ev = {
		.device = &dev->ibdev,
		.element.port_num = UIB_PORT,
		.event = type,
	};

	if (!ib_device_try_get(&dev->ibdev))
		return;
	ib_dispatch_event(&ev);
	ib_device_put(&dev->ibdev);
}

void uib_port_raise(struct uib_dev *dev, u32 events)
{
	static const struct {
		u32 bit;
		enum ib_event_type type;
	} map[] = {
		{ UIB_EV_ERR, IB_EVENT_PORT_ERR },
		{ UIB_EV_LID, IB_EVENT_LID_CHANGE },
		{ UIB_EV_GID, IB_EVENT_GID_CHANGE },
		{ UIB_EV_PKEY, IB_EVENT_PKEY_CHANGE },
		{ UIB_EV_ACTIVE, IB_EVENT_PORT_ACTIVE },
		{ UIB_EV_SM, IB_EVENT_SM_CHANGE },
		{ UIB_EV_REREGISTER, IB_EVENT_CLIENT_REREGISTER },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(map); i++)
		if (events & map[i].bit)
			dispatch(dev, map[i].type);
	if (events & UIB_EV_RETRAIN)
		uib_link_retrain(&dev->link, HZ / 10);
	if (events & UIB_EV_ENABLE)
		uib_link_enable(&dev->link, true);
}

bool uib_port_link_up(struct uib_dev *dev)
{
	struct uib_port *p = &dev->port;
	bool allowed;

	spin_lock_bh(&p->lock);
	allowed = p->phys_state != UIB_PHYS_DISABLED;
	if (allowed) {
		WRITE_ONCE(p->state, IB_PORT_INIT);
		p->phys_state = UIB_PHYS_LINK_UP;
	}
	spin_unlock_bh(&p->lock);
	return allowed;
}

void uib_port_link_down(struct uib_dev *dev)
{
	struct uib_port *p = &dev->port;
	bool was_active;

	spin_lock_bh(&p->lock);
	was_active = p->state == IB_PORT_ACTIVE;
	WRITE_ONCE(p->state, IB_PORT_DOWN);
	/* If the SM has requested another physical state, keep that state. */
	if (p->phys_state == UIB_PHYS_LINK_UP)
		p->phys_state = p->down_default;
	spin_unlock_bh(&p->lock);
	uib_count(dev, UIB_C_LINK_DOWNED);
	if (was_active)
		uib_port_raise(dev, UIB_EV_ERR);
}

void uib_port_armed_rx(struct uib_dev *dev)
{
	struct uib_port *p = &dev->port;
	bool armed;

	spin_lock_bh(&p->lock);
	armed = p->state == IB_PORT_ARMED;
	if (armed)
		WRITE_ONCE(p->state, IB_PORT_ACTIVE);
	spin_unlock_bh(&p->lock);
	if (armed)
		uib_port_raise(dev, UIB_EV_ACTIVE);
}

/* --- verbs */

int uib_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	struct uib_port *p = &to_uib(ibdev)->port;

	spin_lock_bh(&p->lock);
	attr->state = p->state;
	attr->phys_state = p->phys_state;
	attr->max_mtu = p->mtu_cap;
	attr->active_mtu = p->neighbor_mtu;
	attr->gid_tbl_len = UIB_GUIDS;
	attr->pkey_tbl_len = UIB_PKEYS;
	attr->port_cap_flags = p->cap_mask;
	attr->max_msg_sz = uib_mtu_octets(p->mtu_cap);
	attr->bad_pkey_cntr = p->pkey_violations;
	attr->qkey_viol_cntr = p->qkey_violations;
	attr->lid = p->lid;
	attr->lmc = p->lmc;
	attr->sm_lid = p->sm_lid;
	attr->sm_sl = p->sm_sl;
	attr->max_vl_num = UIB_VL_CAP;
	attr->subnet_timeout = p->subnet_timeout;
	attr->init_type_reply = p->init_type_reply;
	attr->active_width = UIB_WIDTH;
	attr->active_speed = UIB_SPEED;
	spin_unlock_bh(&p->lock);
	return 0;
}

int uib_modify_port(struct ib_device *ibdev, u32 port, int mask, struct ib_port_modify *m)
{
	struct uib_dev *dev = to_uib(ibdev);
	struct uib_port *p = &dev->port;
	u32 changed;

	spin_lock_bh(&p->lock);
	changed = p->cap_mask;
	p->cap_mask |= m->set_port_cap_mask;
	p->cap_mask &= ~m->clr_port_cap_mask;
	if (mask & IB_PORT_INIT_TYPE)
		p->init_type_reply = m->init_type & 0xf;
	if (mask & IB_PORT_RESET_QKEY_CNTR)
		p->qkey_violations = 0;
	if (mask & IB_PORT_SHUTDOWN)
		p->phys_state = UIB_PHYS_DISABLED;
	changed ^= p->cap_mask;
	spin_unlock_bh(&p->lock);
	if (changed)
		uib_trap_cap_change(dev, false);
	if (mask & IB_PORT_SHUTDOWN)
		uib_link_enable(&dev->link, false);
	return 0;
}

int uib_query_gid(struct ib_device *ibdev, u32 port, int index, union ib_gid *gid)
{
	struct uib_port *p = &to_uib(ibdev)->port;

	if (index < 0 || index >= UIB_GUIDS)
		return -EINVAL;
	gid->global.subnet_prefix = cpu_to_be64(READ_ONCE(p->gid_prefix));
	gid->global.interface_id = cpu_to_be64(READ_ONCE(p->guids[index]));
	return 0;
}

int uib_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index >= UIB_PKEYS)
		return -EINVAL;
	*pkey = READ_ONCE(to_uib(ibdev)->port.pkeys[index]);
	return 0;
}

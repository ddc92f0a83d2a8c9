/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/smp.h"

#include <errno.h>

/*
 * A directed-route SMP. A LID-routed SMP has M_Key and data at the same offsets, and its other
 * octets are reserved (IBTA 14.2.1.1).
 */
struct smp_wire {
	uint8_t mad_hdr[MAD_HDR_LEN];
	be64 mkey;
	be16 dr_slid, dr_dlid;
	uint8_t resv[28];
	uint8_t data[SMP_DATA_LEN];
	uint8_t initial_path[64], return_path[64];
};
static_assert(sizeof(struct smp_wire) == MAD_LEN, "IBTA 14.2.1.2");
static_assert(offsetof(struct smp_wire, mkey) == SMP_OFF_MKEY, "IBTA 14.2.1.2");
static_assert(offsetof(struct smp_wire, dr_slid) == SMP_OFF_DR_SLID, "IBTA 14.2.1.2");
static_assert(offsetof(struct smp_wire, dr_dlid) == SMP_OFF_DR_DLID, "IBTA 14.2.1.2");
static_assert(offsetof(struct smp_wire, data) == SMP_DATA_OFF, "IBTA 14.2.1.2");
static_assert(offsetof(struct smp_wire, initial_path) == SMP_OFF_INITIAL_PATH, "IBTA 14.2.1.2");
static_assert(offsetof(struct smp_wire, return_path) == SMP_OFF_RETURN_PATH, "IBTA 14.2.1.2");

int smp_hdr_decode(struct mad_hdr *ret, struct smp_dr *ret_dr, const void *p, size_t len)
{
	const struct smp_wire *w = p;

	if (len < sizeof(*w) || !mad_class_is_smp(mad_class(p)))
		return -EBADMSG;

	mad_hdr_decode(ret, w->mad_hdr, sizeof(w->mad_hdr));
	*ret_dr = (struct smp_dr){ .mkey = be64_get(w->mkey) };
	if (ret->mgmt_class == MAD_CLASS_SM_DR) {
		ret_dr->dr_slid = be16_get(w->dr_slid);
		ret_dr->dr_dlid = be16_get(w->dr_dlid);
		/* Octet 0 of each path is reserved, because hops are counted from 1. */
		memcpy(ret_dr->initial_path + 1, w->initial_path + 1, IB_MAX_HOPS);
		memcpy(ret_dr->return_path + 1, w->return_path + 1, IB_MAX_HOPS);
	}
	return 0;
}

void smp_encode(void *mad, const struct mad_hdr *h, const struct smp_dr *dr, const void *data)
{
	struct smp_wire *w = mad;

	memset(w, 0, sizeof(*w));
	mad_hdr_encode(w->mad_hdr, h);
	w->mkey = be64_of(dr->mkey);
	if (h->mgmt_class == MAD_CLASS_SM_DR) {
		w->dr_slid = be16_of(dr->dr_slid);
		w->dr_dlid = be16_of(dr->dr_dlid);
		memcpy(w->initial_path + 1, dr->initial_path + 1, IB_MAX_HOPS);
		memcpy(w->return_path + 1, dr->return_path + 1, IB_MAX_HOPS);
	}
	if (data)
		memcpy(w->data, data, sizeof(w->data));
}

struct node_info_wire {
	uint8_t base_version, class_version, node_type, nports;
	be64 sys_guid, node_guid, port_guid;
	be16 pkey_cap, device_id;
	be32 revision;
	uint8_t local_port;
	be24 vendor_id;
};
static_assert(sizeof(struct node_info_wire) == SMP_NODE_INFO_LEN, "IBTA 14.2.5.3");

int smp_node_info_decode(struct smp_node_info *ret, const void *p, size_t len)
{
	struct node_info_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	*ret = (struct smp_node_info){
		.base_version = w.base_version,
		.class_version = w.class_version,
		.node_type = w.node_type,
		.nports = w.nports,
		.sys_guid = be64_get(w.sys_guid),
		.node_guid = be64_get(w.node_guid),
		.port_guid = be64_get(w.port_guid),
		.pkey_cap = be16_get(w.pkey_cap),
		.device_id = be16_get(w.device_id),
		.revision = be32_get(w.revision),
		.local_port = w.local_port,
		.vendor_id = be24_get(w.vendor_id),
	};
	return 0;
}

bool smp_node_info_sane(const struct smp_node_info *i)
{
	if (i->nports == 0 || i->nports == 255 || i->node_guid == 0 || i->port_guid == 0)
		return false;
	if (i->local_port > i->nports || (i->local_port == 0 && i->node_type != IB_NODE_SWITCH))
		return false;
	return i->node_type >= IB_NODE_CA && i->node_type <= IB_NODE_ROUTER;
}

void smp_node_info_encode(void *p, const struct smp_node_info *i)
{
	struct node_info_wire w = {
		.base_version = i->base_version,
		.class_version = i->class_version,
		.node_type = i->node_type,
		.nports = i->nports,
		.sys_guid = be64_of(i->sys_guid),
		.node_guid = be64_of(i->node_guid),
		.port_guid = be64_of(i->port_guid),
		.pkey_cap = be16_of(i->pkey_cap),
		.device_id = be16_of(i->device_id),
		.revision = be32_of(i->revision),
		.local_port = i->local_port,
		.vendor_id = be24_of(i->vendor_id),
	};

	memcpy(p, &w, sizeof(w));
}

struct switch_info_wire {
	be16 lft_cap, rft_cap, mft_cap, lft_top;
	uint8_t default_port, default_mcast_primary, default_mcast_not_primary;
	uint8_t life_state; /* LifeTimeValue 5, PortStateChange 1, OptimizedSLtoVL 2 bits */
	be16 lids_per_port, enforce_cap;
	uint8_t flags; /* 5 bits as defined below, 3 bits reserved */
	uint8_t resv;
	be16 mft_top;
};
static_assert(sizeof(struct switch_info_wire) == SMP_SWITCH_INFO_LEN, "IBTA 14.2.5.4");

#define SWITCH_PORT_STATE_CHANGE 0x04
#define SWITCH_INBOUND_ENFORCE 0x80
#define SWITCH_OUTBOUND_ENFORCE 0x40
#define SWITCH_FILTER_RAW_IN 0x20
#define SWITCH_FILTER_RAW_OUT 0x10
#define SWITCH_ENHANCED_PORT0 0x08

int smp_switch_info_decode(struct smp_switch_info *ret, const void *p, size_t len)
{
	struct switch_info_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	*ret = (struct smp_switch_info){
		.lft_cap = be16_get(w.lft_cap),
		.rft_cap = be16_get(w.rft_cap),
		.mft_cap = be16_get(w.mft_cap),
		.lft_top = be16_get(w.lft_top),
		.default_port = w.default_port,
		.default_mcast_primary = w.default_mcast_primary,
		.default_mcast_not_primary = w.default_mcast_not_primary,
		.life_time = w.life_state >> 3,
		.port_state_change = w.life_state & SWITCH_PORT_STATE_CHANGE,
		.opt_sl2vl = w.life_state & 3,
		.lids_per_port = be16_get(w.lids_per_port),
		.enforce_cap = be16_get(w.enforce_cap),
		.inbound_enforce = w.flags & SWITCH_INBOUND_ENFORCE,
		.outbound_enforce = w.flags & SWITCH_OUTBOUND_ENFORCE,
		.filter_raw_in = w.flags & SWITCH_FILTER_RAW_IN,
		.filter_raw_out = w.flags & SWITCH_FILTER_RAW_OUT,
		.enhanced_port0 = w.flags & SWITCH_ENHANCED_PORT0,
		.mft_top = be16_get(w.mft_top),
	};
	return 0;
}

void smp_switch_info_encode(void *p, const struct smp_switch_info *i)
{
	struct switch_info_wire w = {
		.lft_cap = be16_of(i->lft_cap),
		.rft_cap = be16_of(i->rft_cap),
		.mft_cap = be16_of(i->mft_cap),
		.lft_top = be16_of(i->lft_top),
		.default_port = i->default_port,
		.default_mcast_primary = i->default_mcast_primary,
		.default_mcast_not_primary = i->default_mcast_not_primary,
		.life_state = (uint8_t)(i->life_time << 3 |
					(i->port_state_change ? SWITCH_PORT_STATE_CHANGE : 0) |
					(i->opt_sl2vl & 3)),
		.lids_per_port = be16_of(i->lids_per_port),
		.enforce_cap = be16_of(i->enforce_cap),
		.flags = (uint8_t)((i->inbound_enforce ? SWITCH_INBOUND_ENFORCE : 0) |
				   (i->outbound_enforce ? SWITCH_OUTBOUND_ENFORCE : 0) |
				   (i->filter_raw_in ? SWITCH_FILTER_RAW_IN : 0) |
				   (i->filter_raw_out ? SWITCH_FILTER_RAW_OUT : 0) |
				   (i->enhanced_port0 ? SWITCH_ENHANCED_PORT0 : 0)),
		.mft_top = be16_of(i->mft_top),
	};

	memcpy(p, &w, sizeof(w));
}

struct sm_info_wire {
	be64 guid, sm_key;
	be32 act_count;
	uint8_t priority_state; /* 4 bits Priority, 4 bits SMState */
};
static_assert(sizeof(struct sm_info_wire) == SMP_SM_INFO_LEN, "IBTA 14.2.5.13");

int smp_sm_info_decode(struct smp_sm_info *ret, const void *p, size_t len)
{
	struct sm_info_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	ret->guid = be64_get(w.guid);
	ret->sm_key = be64_get(w.sm_key);
	ret->act_count = be32_get(w.act_count);
	ret->priority = w.priority_state >> 4;
	ret->state = w.priority_state & 0xf;
	return 0;
}

void smp_sm_info_encode(void *p, const struct smp_sm_info *i)
{
	struct sm_info_wire w = {
		.guid = be64_of(i->guid),
		.sm_key = be64_of(i->sm_key),
		.act_count = be32_of(i->act_count),
		.priority_state = (uint8_t)(i->priority << 4 | (i->state & 0xf)),
	};

	memcpy(p, &w, sizeof(w));
}

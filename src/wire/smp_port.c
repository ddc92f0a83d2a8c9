/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/smp.h"

#include <errno.h>

/*
 * A member that holds two fields of PortInfo has the names of both: first the field in the high
 * bits, then the field in the low bits. Both fields have 4 bits unless a comment says otherwise.
 */
struct port_info_wire {
	be64 mkey, gid_prefix;
	be16 lid, sm_lid;
	be32 cap_mask;
	be16 diag_code, mkey_lease;
	uint8_t local_port;
	uint8_t width_enabled, width_supported, width_active;
	uint8_t speed_supported_port_state;
	uint8_t phys_state_down_default;
	uint8_t mkey_protect_lmc; /* 2 bits M_KeyProtectBits, 3 reserved, 3 bits LMC */
	uint8_t speed_active_enabled;
	uint8_t neighbor_mtu_sm_sl;
	uint8_t vl_cap_init_type;
	uint8_t vl_high_limit, vlarb_high_cap, vlarb_low_cap;
	uint8_t init_type_reply_mtu_cap;
	uint8_t vl_stall_hoq_life; /* 3 bits VLStallCount, 5 bits HOQLife */
	uint8_t oper_vls_flags; /* 4 bits OperationalVLs, 4 flags as defined below */
	be16 mkey_violations, pkey_violations, qkey_violations;
	uint8_t guid_cap;
	uint8_t rereg_suppress_timeout; /* 1 bit ClientReregister, 2 trap suppression, 5 SubnetTimeOut */
	uint8_t resp_time; /* 3 bits reserved, 5 bits RespTimeValue */
	uint8_t local_phys_overrun;
	be16 max_credit_hint;
	be32 link_latency; /* 8 bits reserved, 24 bits LinkRoundTripLatency */
	be16 cap_mask2;
	uint8_t speed_ext_active_supported;
	uint8_t speed_ext_enabled; /* 3 bits reserved, 5 bits LinkSpeedExtEnabled */
};
static_assert(sizeof(struct port_info_wire) == SMP_PORT_INFO_LEN, "IBTA 14.2.5.6");

#define PORT_ENFORCE_IN 0x08
#define PORT_ENFORCE_OUT 0x04
#define PORT_FILTER_RAW_IN 0x02
#define PORT_FILTER_RAW_OUT 0x01
#define PORT_CLIENT_REREG 0x80

static uint8_t nibbles(unsigned int high, unsigned int low)
{
	return (uint8_t)(high << 4 | (low & 0xf));
}

/* Decode octets 28 to 41, which describe the state and the capabilities of the link. */
static void link_decode(struct smp_port_info *ret, const struct port_info_wire *w)
{
	ret->local_port = w->local_port;
	ret->width_enabled = w->width_enabled;
	ret->width_supported = w->width_supported;
	ret->width_active = w->width_active;
	ret->speed_supported = w->speed_supported_port_state >> 4;
	ret->port_state = w->speed_supported_port_state & 0xf;
	ret->phys_state = w->phys_state_down_default >> 4;
	ret->down_default = w->phys_state_down_default & 0xf;
	ret->mkey_protect = w->mkey_protect_lmc >> 6;
	ret->lmc = w->mkey_protect_lmc & 7;
	ret->speed_active = w->speed_active_enabled >> 4;
	ret->speed_enabled = w->speed_active_enabled & 0xf;
	ret->neighbor_mtu = w->neighbor_mtu_sm_sl >> 4;
	ret->sm_sl = w->neighbor_mtu_sm_sl & 0xf;
	ret->vl_cap = w->vl_cap_init_type >> 4;
	ret->init_type = w->vl_cap_init_type & 0xf;
	ret->vl_high_limit = w->vl_high_limit;
	ret->vlarb_high_cap = w->vlarb_high_cap;
	ret->vlarb_low_cap = w->vlarb_low_cap;
	ret->init_type_reply = w->init_type_reply_mtu_cap >> 4;
	ret->mtu_cap = w->init_type_reply_mtu_cap & 0xf;
}

/* Decode octets 42 to 63. */
static void operation_decode(struct smp_port_info *ret, const struct port_info_wire *w)
{
	ret->vl_stall = w->vl_stall_hoq_life >> 5;
	ret->hoq_life = w->vl_stall_hoq_life & 0x1f;
	ret->oper_vls = w->oper_vls_flags >> 4;
	ret->part_enforce_in = w->oper_vls_flags & PORT_ENFORCE_IN;
	ret->part_enforce_out = w->oper_vls_flags & PORT_ENFORCE_OUT;
	ret->filter_raw_in = w->oper_vls_flags & PORT_FILTER_RAW_IN;
	ret->filter_raw_out = w->oper_vls_flags & PORT_FILTER_RAW_OUT;
	ret->mkey_violations = be16_get(w->mkey_violations);
	ret->pkey_violations = be16_get(w->pkey_violations);
	ret->qkey_violations = be16_get(w->qkey_violations);
	ret->guid_cap = w->guid_cap;
	ret->client_reregister = w->rereg_suppress_timeout & PORT_CLIENT_REREG;
	ret->mcast_pkey_trap_suppress = w->rereg_suppress_timeout >> 5 & 3;
	ret->subnet_timeout = w->rereg_suppress_timeout & 0x1f;
	ret->resp_time = w->resp_time & 0x1f;
	ret->local_phys_errors = w->local_phys_overrun >> 4;
	ret->overrun_errors = w->local_phys_overrun & 0xf;
	ret->max_credit_hint = be16_get(w->max_credit_hint);
	ret->link_latency = be32_get(w->link_latency) & 0xffffff;
	ret->cap_mask2 = be16_get(w->cap_mask2);
	ret->speed_ext_active = w->speed_ext_active_supported >> 4;
	ret->speed_ext_supported = w->speed_ext_active_supported & 0xf;
	ret->speed_ext_enabled = w->speed_ext_enabled & 0x1f;
}

int smp_port_info_decode(struct smp_port_info *ret, const void *p, size_t len)
{
	struct port_info_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	*ret = (struct smp_port_info){
		.mkey = be64_get(w.mkey),
		.gid_prefix = be64_get(w.gid_prefix),
		.lid = be16_get(w.lid),
		.sm_lid = be16_get(w.sm_lid),
		.cap_mask = be32_get(w.cap_mask),
		.diag_code = be16_get(w.diag_code),
		.mkey_lease = be16_get(w.mkey_lease),
	};
	link_decode(ret, &w);
	operation_decode(ret, &w);
	return 0;
}

static void link_encode(struct port_info_wire *w, const struct smp_port_info *i)
{
	w->local_port = i->local_port;
	w->width_enabled = i->width_enabled;
	w->width_supported = i->width_supported;
	w->width_active = i->width_active;
	w->speed_supported_port_state = nibbles(i->speed_supported, i->port_state);
	w->phys_state_down_default = nibbles(i->phys_state, i->down_default);
	w->mkey_protect_lmc = (uint8_t)(i->mkey_protect << 6 | (i->lmc & 7));
	w->speed_active_enabled = nibbles(i->speed_active, i->speed_enabled);
	w->neighbor_mtu_sm_sl = nibbles(i->neighbor_mtu, i->sm_sl);
	w->vl_cap_init_type = nibbles(i->vl_cap, i->init_type);
	w->vl_high_limit = i->vl_high_limit;
	w->vlarb_high_cap = i->vlarb_high_cap;
	w->vlarb_low_cap = i->vlarb_low_cap;
	w->init_type_reply_mtu_cap = nibbles(i->init_type_reply, i->mtu_cap);
}

static void operation_encode(struct port_info_wire *w, const struct smp_port_info *i)
{
	w->vl_stall_hoq_life = (uint8_t)(i->vl_stall << 5 | (i->hoq_life & 0x1f));
	w->oper_vls_flags =
		nibbles(i->oper_vls, (i->part_enforce_in ? PORT_ENFORCE_IN : 0) |
					     (i->part_enforce_out ? PORT_ENFORCE_OUT : 0) |
					     (i->filter_raw_in ? PORT_FILTER_RAW_IN : 0) |
					     (i->filter_raw_out ? PORT_FILTER_RAW_OUT : 0));
	w->mkey_violations = be16_of(i->mkey_violations);
	w->pkey_violations = be16_of(i->pkey_violations);
	w->qkey_violations = be16_of(i->qkey_violations);
	w->guid_cap = i->guid_cap;
	w->rereg_suppress_timeout =
		(uint8_t)((i->client_reregister ? PORT_CLIENT_REREG : 0) |
			  (i->mcast_pkey_trap_suppress & 3) << 5 | (i->subnet_timeout & 0x1f));
	w->resp_time = i->resp_time & 0x1f;
	w->local_phys_overrun = nibbles(i->local_phys_errors, i->overrun_errors);
	w->max_credit_hint = be16_of(i->max_credit_hint);
	w->link_latency = be32_of(i->link_latency & 0xffffff);
	w->cap_mask2 = be16_of(i->cap_mask2);
	w->speed_ext_active_supported = nibbles(i->speed_ext_active, i->speed_ext_supported);
	w->speed_ext_enabled = i->speed_ext_enabled & 0x1f;
}

void smp_port_info_encode(void *p, const struct smp_port_info *i)
{
	struct port_info_wire w = {
		.mkey = be64_of(i->mkey),
		.gid_prefix = be64_of(i->gid_prefix),
		.lid = be16_of(i->lid),
		.sm_lid = be16_of(i->sm_lid),
		.cap_mask = be32_of(i->cap_mask),
		.diag_code = be16_of(i->diag_code),
		.mkey_lease = be16_of(i->mkey_lease),
	};

	link_encode(&w, i);
	operation_encode(&w, i);
	memcpy(p, &w, sizeof(w));
}

struct smp_port_info smp_port_info_keep(const struct smp_port_info *pi)
{
	struct smp_port_info s = *pi;

	s.port_state = IB_PORT_NOP;
	s.phys_state = IB_PHYS_NOP;
	s.down_default = 0;
	s.width_enabled = s.speed_enabled = s.speed_ext_enabled = 0;
	s.client_reregister = false;
	return s;
}

/* The codes are 1 VL0, 2 VL0-1, 3 VL0-3, 4 VL0-7, 5 VL0-14. */
unsigned int smp_vl_count(uint8_t code)
{
	static const uint8_t count[] = { 1, 1, 2, 4, 8, 15 };

	return code < sizeof(count) ? count[code] : 1;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/mad.h"

#include <errno.h>

struct mad_hdr_wire {
	uint8_t base_version, mgmt_class, class_version, method;
	be16 status, class_specific;
	be64 tid;
	be16 attr_id, resv;
	be32 attr_mod;
};
static_assert(sizeof(struct mad_hdr_wire) == MAD_HDR_LEN, "IBTA 13.4.2");

int mad_hdr_decode(struct mad_hdr *ret, const void *p, size_t len)
{
	struct mad_hdr_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	*ret = (struct mad_hdr){
		.base_version = w.base_version,
		.mgmt_class = w.mgmt_class,
		.class_version = w.class_version,
		.method = w.method,
		.status = be16_get(w.status),
		.class_specific = be16_get(w.class_specific),
		.tid = be64_get(w.tid),
		.attr_id = be16_get(w.attr_id),
		.attr_mod = be32_get(w.attr_mod),
	};
	return 0;
}

void mad_hdr_encode(void *p, const struct mad_hdr *h)
{
	struct mad_hdr_wire w = {
		.base_version = h->base_version,
		.mgmt_class = h->mgmt_class,
		.class_version = h->class_version,
		.method = h->method,
		.status = be16_of(h->status),
		.class_specific = be16_of(h->class_specific),
		.tid = be64_of(h->tid),
		.attr_id = be16_of(h->attr_id),
		.attr_mod = be32_of(h->attr_mod),
	};

	memcpy(p, &w, sizeof(w));
}

struct class_port_info_wire {
	uint8_t base_version, class_version;
	be16 cap_mask;
	be32 cap_mask2_resp; /* 27 bits CapabilityMask2, 5 bits RespTimeValue */
	ib_gid redirect_gid;
	be32 redirect_tc_sl_fl; /* 8 bits TClass, 4 bits SL, 20 bits FlowLabel */
	be16 redirect_lid, redirect_pkey;
	be32 redirect_qp; /* 8 bits reserved, 24 bits QP */
	be32 redirect_qkey;
	ib_gid trap_gid;
	be32 trap_tc_sl_fl;
	be16 trap_lid, trap_pkey;
	be32 trap_hop_qp; /* 8 bits HopLimit, 24 bits QP */
	be32 trap_qkey;
};
static_assert(sizeof(struct class_port_info_wire) == MAD_CLASS_PORT_INFO_LEN, "IBTA 13.4.8.1");

static be32 tc_sl_fl(uint8_t tclass, uint8_t sl, uint32_t flow_label)
{
	return be32_of((uint32_t)tclass << 24 | (sl & 0xfu) << 20 | (flow_label & 0xfffff));
}

int mad_class_port_info_decode(struct mad_class_port_info *ret, const void *p, size_t len)
{
	struct class_port_info_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	*ret = (struct mad_class_port_info){
		.base_version = w.base_version,
		.class_version = w.class_version,
		.cap_mask = be16_get(w.cap_mask),
		.cap_mask2 = be32_get(w.cap_mask2_resp) >> 5,
		.resp_time = be32_get(w.cap_mask2_resp) & 0x1f,
		.redirect_gid = w.redirect_gid,
		.redirect_tclass = (uint8_t)(be32_get(w.redirect_tc_sl_fl) >> 24),
		.redirect_sl = be32_get(w.redirect_tc_sl_fl) >> 20 & 0xf,
		.redirect_flow_label = be32_get(w.redirect_tc_sl_fl) & 0xfffff,
		.redirect_lid = be16_get(w.redirect_lid),
		.redirect_pkey = be16_get(w.redirect_pkey),
		.redirect_qp = be32_get(w.redirect_qp) & IB_QPN_MASK,
		.redirect_qkey = be32_get(w.redirect_qkey),
		.trap_gid = w.trap_gid,
		.trap_tclass = (uint8_t)(be32_get(w.trap_tc_sl_fl) >> 24),
		.trap_sl = be32_get(w.trap_tc_sl_fl) >> 20 & 0xf,
		.trap_flow_label = be32_get(w.trap_tc_sl_fl) & 0xfffff,
		.trap_lid = be16_get(w.trap_lid),
		.trap_pkey = be16_get(w.trap_pkey),
		.trap_hop_limit = (uint8_t)(be32_get(w.trap_hop_qp) >> 24),
		.trap_qp = be32_get(w.trap_hop_qp) & IB_QPN_MASK,
		.trap_qkey = be32_get(w.trap_qkey),
	};
	return 0;
}

void mad_class_port_info_encode(void *p, const struct mad_class_port_info *c)
{
	struct class_port_info_wire w = {
		.base_version = c->base_version,
		.class_version = c->class_version,
		.cap_mask = be16_of(c->cap_mask),
		.cap_mask2_resp = be32_of(c->cap_mask2 << 5 | (c->resp_time & 0x1f)),
		.redirect_gid = c->redirect_gid,
		.redirect_tc_sl_fl =
			tc_sl_fl(c->redirect_tclass, c->redirect_sl, c->redirect_flow_label),
		.redirect_lid = be16_of(c->redirect_lid),
		.redirect_pkey = be16_of(c->redirect_pkey),
		.redirect_qp = be32_of(c->redirect_qp & IB_QPN_MASK),
		.redirect_qkey = be32_of(c->redirect_qkey),
		.trap_gid = c->trap_gid,
		.trap_tc_sl_fl = tc_sl_fl(c->trap_tclass, c->trap_sl, c->trap_flow_label),
		.trap_lid = be16_of(c->trap_lid),
		.trap_pkey = be16_of(c->trap_pkey),
		.trap_hop_qp =
			be32_of((uint32_t)c->trap_hop_limit << 24 | (c->trap_qp & IB_QPN_MASK)),
		.trap_qkey = be32_of(c->trap_qkey),
	};

	memcpy(p, &w, sizeof(w));
}

struct notice_wire {
	uint8_t generic_type; /* 1 bit IsGeneric, 7 bits Type */
	be24 producer;
	be16 trap, issuer_lid;
	be16 toggle_count; /* 1 bit NoticeToggle, 15 bits NoticeCount */
	uint8_t details[54];
	ib_gid issuer_gid;
};
static_assert(offsetof(struct notice_wire, issuer_gid) == MAD_NOTICE_LEN, "IBTA 13.4.8.2");
static_assert(sizeof(struct notice_wire) == MAD_NOTICE_GID_LEN, "IBTA 13.4.8.2");

int mad_notice_decode(struct mad_notice *ret, const void *p, size_t len)
{
	struct notice_wire w = { 0 };

	/*
	 * A Notice in an SMP has 64 octets and no IssuerGID. In a Report of an SA the IssuerGID
	 * follows.
	 */
	if (len < MAD_NOTICE_GID_LEN && len != MAD_NOTICE_LEN)
		return -EBADMSG;

	memcpy(&w, p, len < sizeof(w) ? len : sizeof(w));
	*ret = (struct mad_notice){
		.generic = w.generic_type & 0x80,
		.type = w.generic_type & 0x7f,
		.producer = be24_get(w.producer),
		.trap = be16_get(w.trap),
		.issuer_lid = be16_get(w.issuer_lid),
		.toggle = be16_get(w.toggle_count) & 0x8000,
		.count = be16_get(w.toggle_count) & 0x7fff,
		.issuer_gid = w.issuer_gid,
	};
	memcpy(ret->details, w.details, sizeof(ret->details));
	return 0;
}

void mad_notice_encode(void *p, const struct mad_notice *n)
{
	struct notice_wire w = {
		.generic_type = (uint8_t)((n->generic ? 0x80 : 0) | (n->type & 0x7f)),
		.producer = be24_of(n->producer),
		.trap = be16_of(n->trap),
		.issuer_lid = be16_of(n->issuer_lid),
		.toggle_count = be16_of((uint16_t)((n->toggle ? 0x8000 : 0) | (n->count & 0x7fff))),
		.issuer_gid = n->issuer_gid,
	};

	memcpy(w.details, n->details, sizeof(w.details));
	memcpy(p, &w, sizeof(w));
}

#define NOTICE_GID_OFF 6

void mad_notice_gid(struct mad_notice *n, const ib_gid *gid)
{
	memcpy(n->details + NOTICE_GID_OFF, gid, sizeof(*gid));
}

ib_gid mad_notice_get_gid(const struct mad_notice *n)
{
	ib_gid g;

	memcpy(&g, n->details + NOTICE_GID_OFF, sizeof(g));
	return g;
}

/*
 * The details of trap 128 begin with the LID. The details of other traps with a LID have 16
 * reserved bits before it.
 */
static size_t notice_lid_off(const struct mad_notice *n)
{
	return n->trap == MAD_TRAP_LINK_STATE ? 0 : 2;
}

void mad_notice_lid(struct mad_notice *n, uint16_t lid)
{
	be16_put(n->details + notice_lid_off(n), lid);
}

uint16_t mad_notice_get_lid(const struct mad_notice *n)
{
	return be16_at(n->details + notice_lid_off(n));
}

void mad_notice_cap_mask(struct mad_notice *n, uint32_t cap_mask)
{
	be32_put(n->details + 6, cap_mask);
}

struct inform_info_wire {
	ib_gid gid;
	be16 lid_begin, lid_end, resv;
	uint8_t generic, subscribe;
	be16 type, trap;
	be32 qpn_resp; /* 24 bits QPN, 3 bits reserved, 5 bits RespTimeValue */
	be32 producer; /* 8 bits reserved, 24 bits ProducerType or VendorID */
};
static_assert(sizeof(struct inform_info_wire) == MAD_INFORM_INFO_LEN, "IBTA 13.4.8.3");

int mad_inform_info_decode(struct mad_inform_info *ret, const void *p, size_t len)
{
	struct inform_info_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	*ret = (struct mad_inform_info){
		.gid = w.gid,
		.lid_begin = be16_get(w.lid_begin),
		.lid_end = be16_get(w.lid_end),
		.generic = w.generic != 0,
		.subscribe = w.subscribe != 0,
		.type = be16_get(w.type),
		.trap = be16_get(w.trap),
		.qpn = be32_get(w.qpn_resp) >> 8,
		.resp_time = be32_get(w.qpn_resp) & 0x1f,
		.producer = be32_get(w.producer) & 0xffffff,
	};
	return 0;
}

void mad_inform_info_encode(void *p, const struct mad_inform_info *i)
{
	struct inform_info_wire w = {
		.gid = i->gid,
		.lid_begin = be16_of(i->lid_begin),
		.lid_end = be16_of(i->lid_end),
		.generic = i->generic,
		.subscribe = i->subscribe,
		.type = be16_of(i->type),
		.trap = be16_of(i->trap),
		.qpn_resp = be32_of(i->qpn << 8 | (i->resp_time & 0x1f)),
		.producer = be32_of(i->producer & 0xffffff),
	};

	memcpy(p, &w, sizeof(w));
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/cm_sidr.h"

#include <errno.h>

struct sidr_req_wire {
	uint8_t hdr[MAD_HDR_LEN];
	be32 request_id;
	be16 pkey, resv;
	be64 service_id;
	uint8_t priv[SIDR_REQ_PRIVATE_LEN];
};
static_assert(sizeof(struct sidr_req_wire) == MAD_LEN, "IBTA 12.11.1");

struct sidr_rep_wire {
	uint8_t hdr[MAD_HDR_LEN];
	be32 request_id;
	uint8_t status, info_len;
	be16 resv;
	be24 qpn;
	uint8_t resv2;
	be64 service_id;
	be32 qkey;
	uint8_t info[SIDR_REP_INFO_LEN];
	uint8_t priv[SIDR_REP_PRIVATE_LEN];
};
static_assert(sizeof(struct sidr_rep_wire) == MAD_LEN, "IBTA 12.11.2");

struct sidr_group_wire {
	uint8_t ver_sl; /* 4 bits Ver, 4 bits SL */
	uint8_t tclass;
	be16 dlid;
	be32 hop_flow; /* 8 bits HopLmt, 4 reserved, 20 bits FlowLabel */
	be16 resv, pkey;
	be32 qkey;
	ib_gid dgid;
};
static_assert(sizeof(struct sidr_group_wire) == SIDR_GROUP_LEN, "draft encaparp-00, 6.2");

static void hdr_encode(void *mad, uint16_t attr, uint64_t tid)
{
	struct mad_hdr h = {
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = MAD_CLASS_CM,
		.class_version = CM_CLASS_VERSION,
		.method = MAD_METHOD_SEND,
		.tid = tid,
		.attr_id = attr,
	};

	mad_hdr_encode(mad, &h);
}

int sidr_req_decode(struct sidr_req *ret, const void *mad, size_t len)
{
	struct sidr_req_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, mad, sizeof(w));
	*ret = (struct sidr_req){
		.request_id = be32_get(w.request_id),
		.pkey = be16_get(w.pkey),
		.service_id = be64_get(w.service_id),
	};
	memcpy(ret->priv, w.priv, sizeof(ret->priv));
	return 0;
}

void sidr_req_encode(void *mad, uint64_t tid, const struct sidr_req *r)
{
	struct sidr_req_wire w = {
		.request_id = be32_of(r->request_id),
		.pkey = be16_of(r->pkey),
		.service_id = be64_of(r->service_id),
	};

	memcpy(w.priv, r->priv, sizeof(w.priv));
	memcpy(mad, &w, sizeof(w));
	hdr_encode(mad, CM_ATTR_SIDR_REQ, tid);
}

int sidr_rep_decode(struct sidr_rep *ret, const void *mad, size_t len)
{
	struct sidr_rep_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, mad, sizeof(w));
	*ret = (struct sidr_rep){
		.request_id = be32_get(w.request_id),
		.status = w.status,
		.info_len = w.info_len,
		.qpn = be24_get(w.qpn),
		.service_id = be64_get(w.service_id),
		.qkey = be32_get(w.qkey),
	};
	memcpy(ret->info, w.info, sizeof(ret->info));
	memcpy(ret->priv, w.priv, sizeof(ret->priv));
	return 0;
}

void sidr_rep_encode(void *mad, uint64_t tid, const struct sidr_rep *r)
{
	struct sidr_rep_wire w = {
		.request_id = be32_of(r->request_id),
		.status = r->status,
		.info_len = r->info_len,
		.qpn = be24_of(r->qpn),
		.service_id = be64_of(r->service_id),
		.qkey = be32_of(r->qkey),
	};

	memcpy(w.info, r->info, sizeof(w.info));
	memcpy(w.priv, r->priv, sizeof(w.priv));
	memcpy(mad, &w, sizeof(w));
	hdr_encode(mad, CM_ATTR_SIDR_REP, tid);
}

int sidr_group_decode(struct sidr_group *ret, const void *p, size_t len)
{
	struct sidr_group_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	*ret = (struct sidr_group){
		.ver = w.ver_sl >> 4,
		.sl = w.ver_sl & 0xf,
		.tclass = w.tclass,
		.dlid = be16_get(w.dlid),
		.hop_limit = (uint8_t)(be32_get(w.hop_flow) >> 24),
		.flow_label = be32_get(w.hop_flow) & 0xfffff,
		.pkey = be16_get(w.pkey),
		.qkey = be32_get(w.qkey),
		.dgid = w.dgid,
	};
	return 0;
}

void sidr_group_encode(void *p, const struct sidr_group *g)
{
	struct sidr_group_wire w = {
		.ver_sl = (uint8_t)(g->ver << 4 | (g->sl & 0xf)),
		.tclass = g->tclass,
		.dlid = be16_of(g->dlid),
		.hop_flow = be32_of((uint32_t)g->hop_limit << 24 | (g->flow_label & 0xfffff)),
		.pkey = be16_of(g->pkey),
		.qkey = be32_of(g->qkey),
		.dgid = g->dgid,
	};

	memcpy(p, &w, sizeof(w));
}

struct sidr_group sidr_group_of(const struct ib_mcmember_rec *rec)
{
	return (struct sidr_group){
		.ver = SIDR_GROUP_VER,
		.sl = rec->sl,
		.tclass = rec->tclass,
		.hop_limit = rec->hop_limit,
		.dlid = rec->mlid,
		.pkey = rec->pkey,
		.flow_label = rec->flow_label,
		.qkey = rec->qkey,
		.dgid = rec->mgid,
	};
}

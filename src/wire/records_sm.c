/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/records_sm.h"

#include <errno.h>

struct link_rec_wire {
	be16 from_lid;
	uint8_t from_port, to_port;
	be16 to_lid, pad;
};
static_assert(sizeof(struct link_rec_wire) == LINK_REC_LEN, "IBTA 15.2.5.13");

int ib_link_rec_decode(struct ib_link_rec *ret, const void *p, size_t len)
{
	struct link_rec_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	*ret = (struct ib_link_rec){
		.from_lid = be16_get(w.from_lid),
		.to_lid = be16_get(w.to_lid),
		.from_port = w.from_port,
		.to_port = w.to_port,
	};
	return 0;
}

void ib_link_rec_encode(void *p, const struct ib_link_rec *r)
{
	struct link_rec_wire w = {
		.from_lid = be16_of(r->from_lid),
		.from_port = r->from_port,
		.to_port = r->to_port,
		.to_lid = be16_of(r->to_lid),
	};

	memcpy(p, &w, sizeof(w));
}

struct sm_info_rec_wire {
	be16 lid, resv;
	uint8_t info[SMP_SM_INFO_LEN];
	uint8_t pad[7];
};
static_assert(sizeof(struct sm_info_rec_wire) == SM_INFO_REC_LEN, "IBTA 15.2.5.10");

int ib_sm_info_rec_decode(struct ib_sm_info_rec *ret, const void *p, size_t len)
{
	struct sm_info_rec_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	ret->lid = be16_get(w.lid);
	smp_sm_info_decode(&ret->info, w.info, sizeof(w.info));
	return 0;
}

void ib_sm_info_rec_encode(void *p, const struct ib_sm_info_rec *r)
{
	struct sm_info_rec_wire w = { .lid = be16_of(r->lid) };

	smp_sm_info_encode(w.info, &r->info);
	memcpy(p, &w, sizeof(w));
}

struct switch_info_rec_wire {
	be16 lid, resv;
	uint8_t info[SMP_SWITCH_INFO_LEN];
};
static_assert(sizeof(struct switch_info_rec_wire) == SWITCH_INFO_REC_LEN, "IBTA 15.2.5.5");

int ib_switch_info_rec_decode(struct ib_switch_info_rec *ret, const void *p, size_t len)
{
	struct switch_info_rec_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	ret->lid = be16_get(w.lid);
	smp_switch_info_decode(&ret->info, w.info, sizeof(w.info));
	return 0;
}

void ib_switch_info_rec_encode(void *p, const struct ib_switch_info_rec *r)
{
	struct switch_info_rec_wire w = { .lid = be16_of(r->lid) };

	smp_switch_info_encode(w.info, &r->info);
	memcpy(p, &w, sizeof(w));
}

struct sltovl_rec_wire {
	be16 lid;
	uint8_t in_port, out_port;
	be32 resv;
	uint8_t data[8];
};
static_assert(sizeof(struct sltovl_rec_wire) == SLTOVL_REC_LEN, "IBTA 15.2.5.4");

int ib_sltovl_rec_decode(struct ib_sltovl_rec *ret, const void *p, size_t len)
{
	struct sltovl_rec_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	ret->lid = be16_get(w.lid);
	ret->in_port = w.in_port;
	ret->out_port = w.out_port;
	memcpy(ret->data, w.data, sizeof(ret->data));
	return 0;
}

void ib_sltovl_rec_encode(void *p, const struct ib_sltovl_rec *r)
{
	struct sltovl_rec_wire w = {
		.lid = be16_of(r->lid),
		.in_port = r->in_port,
		.out_port = r->out_port,
	};

	memcpy(w.data, r->data, sizeof(w.data));
	memcpy(p, &w, sizeof(w));
}

struct inform_rec_wire {
	ib_gid subscriber;
	be16 number;
	uint8_t resv[6];
	uint8_t info[MAD_INFORM_INFO_LEN];
	uint8_t pad[4];
};
static_assert(sizeof(struct inform_rec_wire) == INFORM_REC_LEN, "IBTA 15.2.5.12");

int ib_inform_rec_decode(struct ib_inform_rec *ret, const void *p, size_t len)
{
	struct inform_rec_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	ret->subscriber = w.subscriber;
	ret->number = be16_get(w.number);
	mad_inform_info_decode(&ret->info, w.info, sizeof(w.info));
	return 0;
}

void ib_inform_rec_encode(void *p, const struct ib_inform_rec *r)
{
	struct inform_rec_wire w = { .subscriber = r->subscriber, .number = be16_of(r->number) };

	mad_inform_info_encode(w.info, &r->info);
	memcpy(p, &w, sizeof(w));
}

/* MultiPathRecord (IBTA 15.2.5.20), in which the ServiceID is in two pieces. */
struct multi_path_rec_wire {
	be32 raw_flow_hop;
	uint8_t tclass, reversible_numb;
	be16 pkey, qos_sl;
	uint8_t mtu, rate, life;
	uint8_t service_id_msb;
	uint8_t independence; /* Independence in 2 of the 8 bits */
	uint8_t nsgid, ndgid;
	uint8_t service_id_lsb[7];
};
static_assert(sizeof(struct multi_path_rec_wire) == MULTI_PATH_REC_LEN, "IBTA 15.2.5.20");

static struct ib_path_rec multi_path_common(const struct multi_path_rec_wire *w)
{
	struct ib_path_rec r = {
		.service_id = w->service_id_msb,
		.raw = be32_get(w->raw_flow_hop) >> 31,
		.flow_label = be32_get(w->raw_flow_hop) >> 8 & 0xfffff,
		.hop_limit = be32_get(w->raw_flow_hop) & 0xff,
		.tclass = w->tclass,
		.reversible = w->reversible_numb >> 7,
		.numb_path = w->reversible_numb & 0x7f,
		.pkey = be16_get(w->pkey),
		.qos_class = be16_get(w->qos_sl) >> 4,
		.sl = be16_get(w->qos_sl) & 0xf,
		.mtu_sel = w->mtu >> 6,
		.mtu_code = w->mtu & 0x3f,
		.rate_sel = w->rate >> 6,
		.rate_code = w->rate & 0x3f,
		.life_sel = w->life >> 6,
		.life = w->life & 0x3f,
	};

	for (unsigned int i = 0; i < sizeof(w->service_id_lsb); i++)
		r.service_id = r.service_id << 8 | w->service_id_lsb[i];
	return r;
}

int ib_multi_path_rec_decode(struct ib_multi_path_rec *ret, const void *p, size_t len)
{
	struct multi_path_rec_wire w;
	unsigned int n;

	if (len < sizeof(w))
		return -EBADMSG;
	memcpy(&w, p, sizeof(w));
	n = w.nsgid + w.ndgid;
	if (n > MULTI_PATH_GIDS_MAX || len < sizeof(w) + n * sizeof(ib_gid))
		return -EBADMSG;

	memset(ret, 0, sizeof(*ret));
	ret->path = multi_path_common(&w);
	ret->independence = w.independence >> 6;
	ret->nsgid = w.nsgid;
	ret->ndgid = w.ndgid;
	memcpy(ret->gid, (const uint8_t *)p + sizeof(w), n * sizeof(ib_gid));
	return 0;
}

void ib_multi_path_rec_encode(void *p, const struct ib_multi_path_rec *r)
{
	const struct ib_path_rec *q = &r->path;
	struct multi_path_rec_wire w = {
		.raw_flow_hop = be32_of((uint32_t)q->raw << 31 | (q->flow_label & 0xfffff) << 8 |
					q->hop_limit),
		.tclass = q->tclass,
		.reversible_numb = (uint8_t)(q->reversible << 7 | (q->numb_path & 0x7f)),
		.pkey = be16_of(q->pkey),
		.qos_sl = be16_of((uint16_t)(q->qos_class << 4 | (q->sl & 0xf))),
		.mtu = (uint8_t)(q->mtu_sel << 6 | (q->mtu_code & 0x3f)),
		.rate = (uint8_t)(q->rate_sel << 6 | (q->rate_code & 0x3f)),
		.life = (uint8_t)(q->life_sel << 6 | (q->life & 0x3f)),
		.service_id_msb = (uint8_t)(q->service_id >> 56),
		.independence = (uint8_t)(r->independence << 6),
		.nsgid = r->nsgid,
		.ndgid = r->ndgid,
	};

	for (unsigned int i = 0; i < sizeof(w.service_id_lsb); i++)
		w.service_id_lsb[i] = (uint8_t)(q->service_id >> (48 - 8 * i));
	memcpy(p, &w, sizeof(w));
	memcpy((uint8_t *)p + sizeof(w), r->gid, (r->nsgid + r->ndgid) * sizeof(ib_gid));
}

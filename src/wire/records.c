/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/records.h"

#include <errno.h>

/*
 * Return the octet that holds an MTU, rate or packet life time: 2 bits of selector and 6 bits of
 * value.
 */
static uint8_t sel_value(unsigned int sel, unsigned int value)
{
	return (uint8_t)(sel << 6 | (value & 0x3f));
}

struct path_rec_wire {
	be64 service_id;
	ib_gid dgid, sgid;
	be16 dlid, slid;
	be32 raw_flow_hop; /* 1 bit RawTraffic, 3 reserved, 20 bits FlowLabel, 8 bits HopLimit */
	uint8_t tclass;
	uint8_t reversible_numb; /* 1 bit Reversible, 7 bits NumbPath */
	be16 pkey;
	be16 qos_sl; /* 12 bits QoSClass, 4 bits SL */
	uint8_t mtu, rate, life, preference;
	uint8_t resv[6];
};
static_assert(sizeof(struct path_rec_wire) == PATH_REC_LEN, "IBTA 15.2.5.16");

int ib_path_rec_decode(struct ib_path_rec *ret, const void *p, size_t len)
{
	struct path_rec_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	*ret = (struct ib_path_rec){
		.service_id = be64_get(w.service_id),
		.dgid = w.dgid,
		.sgid = w.sgid,
		.dlid = be16_get(w.dlid),
		.slid = be16_get(w.slid),
		.raw = be32_get(w.raw_flow_hop) >> 31,
		.flow_label = be32_get(w.raw_flow_hop) >> 8 & 0xfffff,
		.hop_limit = be32_get(w.raw_flow_hop) & 0xff,
		.tclass = w.tclass,
		.reversible = w.reversible_numb >> 7,
		.numb_path = w.reversible_numb & 0x7f,
		.pkey = be16_get(w.pkey),
		.qos_class = be16_get(w.qos_sl) >> 4,
		.sl = be16_get(w.qos_sl) & 0xf,
		.mtu_sel = w.mtu >> 6,
		.mtu_code = w.mtu & 0x3f,
		.rate_sel = w.rate >> 6,
		.rate_code = w.rate & 0x3f,
		.life_sel = w.life >> 6,
		.life = w.life & 0x3f,
		.preference = w.preference,
	};
	return 0;
}

void ib_path_rec_encode(void *p, const struct ib_path_rec *r)
{
	struct path_rec_wire w = {
		.service_id = be64_of(r->service_id),
		.dgid = r->dgid,
		.sgid = r->sgid,
		.dlid = be16_of(r->dlid),
		.slid = be16_of(r->slid),
		.raw_flow_hop = be32_of((uint32_t)r->raw << 31 | (r->flow_label & 0xfffff) << 8 |
					r->hop_limit),
		.tclass = r->tclass,
		.reversible_numb = (uint8_t)(r->reversible << 7 | (r->numb_path & 0x7f)),
		.pkey = be16_of(r->pkey),
		.qos_sl = be16_of((uint16_t)(r->qos_class << 4 | (r->sl & 0xf))),
		.mtu = sel_value(r->mtu_sel, r->mtu_code),
		.rate = sel_value(r->rate_sel, r->rate_code),
		.life = sel_value(r->life_sel, r->life),
		.preference = r->preference,
	};

	memcpy(p, &w, sizeof(w));
}

struct mcmember_rec_wire {
	ib_gid mgid, port_gid;
	be32 qkey;
	be16 mlid;
	uint8_t mtu, tclass;
	be16 pkey;
	uint8_t rate, life;
	be32 sl_flow_hop; /* 4 bits SL, 20 bits FlowLabel, 8 bits HopLimit */
	uint8_t scope_join; /* 4 bits Scope, 4 bits JoinState */
	uint8_t proxy_join; /* 1 bit ProxyJoin, 7 bits reserved */
	be16 resv;
};
static_assert(sizeof(struct mcmember_rec_wire) == MCMEMBER_REC_LEN, "IBTA 15.2.5.17");

int ib_mcmember_rec_decode(struct ib_mcmember_rec *ret, const void *p, size_t len)
{
	struct mcmember_rec_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	*ret = (struct ib_mcmember_rec){
		.mgid = w.mgid,
		.port_gid = w.port_gid,
		.qkey = be32_get(w.qkey),
		.mlid = be16_get(w.mlid),
		.mtu_sel = w.mtu >> 6,
		.mtu_code = w.mtu & 0x3f,
		.tclass = w.tclass,
		.pkey = be16_get(w.pkey),
		.rate_sel = w.rate >> 6,
		.rate_code = w.rate & 0x3f,
		.life_sel = w.life >> 6,
		.life = w.life & 0x3f,
		.sl = (uint8_t)(be32_get(w.sl_flow_hop) >> 28),
		.flow_label = be32_get(w.sl_flow_hop) >> 8 & 0xfffff,
		.hop_limit = be32_get(w.sl_flow_hop) & 0xff,
		.scope = w.scope_join >> 4,
		.join_state = w.scope_join & 0xf,
		.proxy_join = w.proxy_join >> 7,
	};
	return 0;
}

void ib_mcmember_rec_encode(void *p, const struct ib_mcmember_rec *r)
{
	struct mcmember_rec_wire w = {
		.mgid = r->mgid,
		.port_gid = r->port_gid,
		.qkey = be32_of(r->qkey),
		.mlid = be16_of(r->mlid),
		.mtu = sel_value(r->mtu_sel, r->mtu_code),
		.tclass = r->tclass,
		.pkey = be16_of(r->pkey),
		.rate = sel_value(r->rate_sel, r->rate_code),
		.life = sel_value(r->life_sel, r->life),
		.sl_flow_hop = be32_of((uint32_t)r->sl << 28 | (r->flow_label & 0xfffff) << 8 |
				       r->hop_limit),
		.scope_join = (uint8_t)(r->scope << 4 | (r->join_state & 0xf)),
		.proxy_join = (uint8_t)(r->proxy_join << 7),
	};

	memcpy(p, &w, sizeof(w));
}

struct node_rec_wire {
	be16 lid, resv;
	uint8_t info[SMP_NODE_INFO_LEN];
	uint8_t desc[64];
};
static_assert(sizeof(struct node_rec_wire) == NODE_REC_LEN, "IBTA 15.2.5.2");

int ib_node_rec_decode(struct ib_node_rec *ret, const void *p, size_t len)
{
	struct node_rec_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	memset(ret, 0, sizeof(*ret));
	ret->lid = be16_get(w.lid);
	smp_node_info_decode(&ret->info, w.info, sizeof(w.info));
	memcpy(ret->desc, w.desc, sizeof(w.desc));
	return 0;
}

void ib_node_rec_encode(void *p, const struct ib_node_rec *r)
{
	struct node_rec_wire w = { .lid = be16_of(r->lid) };

	smp_node_info_encode(w.info, &r->info);
	memcpy(w.desc, r->desc, strnlen(r->desc, sizeof(w.desc)));
	memcpy(p, &w, sizeof(w));
}

struct port_info_rec_wire {
	be16 lid;
	uint8_t port_num, options;
	uint8_t info[SMP_PORT_INFO_LEN];
};
static_assert(sizeof(struct port_info_rec_wire) == PORT_INFO_REC_LEN, "IBTA 15.2.5.3");

int ib_port_info_rec_decode(struct ib_port_info_rec *ret, const void *p, size_t len)
{
	struct port_info_rec_wire w = { 0 };

	/*
	 * Accept a record of an SA that follows IBTA volume 1 before release 1.2.1, in which
	 * PortInfo ended after LocalPhyErrors and OverrunErrors.
	 */
	if (len < PORT_INFO_REC_MIN_LEN)
		return -EBADMSG;

	memcpy(&w, p, len < sizeof(w) ? len : sizeof(w));
	ret->lid = be16_get(w.lid);
	ret->port_num = w.port_num;
	ret->options = w.options;
	smp_port_info_decode(&ret->info, w.info, sizeof(w.info));
	return 0;
}

void ib_port_info_rec_encode(void *p, const struct ib_port_info_rec *r)
{
	struct port_info_rec_wire w = {
		.lid = be16_of(r->lid),
		.port_num = r->port_num,
		.options = r->options,
	};

	smp_port_info_encode(w.info, &r->info);
	memcpy(p, &w, sizeof(w));
}

struct service_rec_wire {
	be64 id;
	ib_gid gid;
	be16 pkey, resv;
	be32 lease;
	uint8_t key[16];
	char name[64];
	uint8_t data[64]; /* ServiceData: 16 numbers of 8 bits, 8 of 16, 4 of 32, 2 of 64 */
};
static_assert(sizeof(struct service_rec_wire) == SERVICE_REC_LEN, "IBTA 15.2.5.14");

int ib_service_rec_decode(struct ib_service_rec *ret, const void *p, size_t len)
{
	struct service_rec_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	memset(ret, 0, sizeof(*ret));
	ret->id = be64_get(w.id);
	ret->gid = w.gid;
	ret->pkey = be16_get(w.pkey);
	ret->lease = be32_get(w.lease);
	memcpy(ret->key, w.key, sizeof(ret->key));
	memcpy(ret->name, w.name, sizeof(ret->name));
	memcpy(ret->data, w.data, sizeof(ret->data));
	return 0;
}

void ib_service_rec_encode(void *p, const struct ib_service_rec *r)
{
	struct service_rec_wire w = {
		.id = be64_of(r->id),
		.gid = r->gid,
		.pkey = be16_of(r->pkey),
		.lease = be32_of(r->lease),
	};

	memcpy(w.key, r->key, sizeof(w.key));
	memcpy(w.name, r->name, sizeof(w.name));
	memcpy(w.data, r->data, sizeof(w.data));
	memcpy(p, &w, sizeof(w));
}

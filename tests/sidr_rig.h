/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SIDR_RIG_H
#define TESTS_SIDR_RIG_H

/*
 * Two ports on the wire of mad_rig.h: a client (LID 1) with an SA client and a CM agent, and a
 * server (LID 2), which is the SA and a SIDR server. The SA knows up to SIDR_RIG_SERVICES
 * ServiceRecords, and every path in its answers leads to LID 2.
 */

#include "cm/cm.h"
#include "mad_rig.h"
#include "sac/sac.h"
#include "wire/records.h"

#define CLIENT_LID 1
#define SERVER_LID 2
#define RIG_SERVICE 0x0200000000001234ull
#define RIG_PKEY 0x8123
#define SIDR_RIG_SERVICES 512

struct sidr_rig {
	struct rig net;
	struct cm *client, *server;
	struct cm_service service;
	struct sac *sac;
	struct sac_port port;
	struct mad_agent *sa;
	/* ServiceRecords that the SA has */
	struct ib_service_rec rec[SIDR_RIG_SERVICES];
	unsigned int nrecs;
	/*
	 * Statuses with which the SA refuses requests for ServiceRecords and for paths; 0: it
	 * grants them.
	 */
	uint16_t service_status, path_status;
	/* The only P_Key for which the SA has a path; 0: the SA has a path for every P_Key. */
	uint16_t path_pkey;
	/* numbers of requests that the SA received, by kind */
	unsigned int service_asks, path_asks, registers, deletes;
	struct ib_service_rec registered; /* record of the last Set */
	uint64_t delete_mask; /* component mask of the last Delete */
	struct ib_service_rec deleted; /* record of the last Delete */
	bool has_record; /* true after a granted Set of a record, false after its Delete */
	/*
	 * Group and Status in the answers of the SIDR server, and the number of requests that it
	 * received.
	 */
	struct sidr_group group;
	uint8_t status;
	unsigned int asked;
	struct sidr_req last;
	struct mad_addr from;
};

static inline ib_gid rig_gid(unsigned int n)
{
	return ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, 0x0002c90300000000ull + n);
}

static inline uint16_t sidr_rig_services(struct sidr_rig *r, uint8_t *data, size_t *ret_len,
					 const struct ib_service_rec *want)
{
	size_t n = 0;

	r->service_asks++;
	for (unsigned int i = 0; i < r->nrecs; i++)
		if (r->rec[i].id == want->id && r->rec[i].pkey == want->pkey)
			ib_service_rec_encode(data + SERVICE_REC_LEN * n++, &r->rec[i]);
	*ret_len = SERVICE_REC_LEN * n;
	return r->service_status;
}

static inline uint16_t sidr_rig_path(struct sidr_rig *r, uint8_t *data)
{
	struct ib_path_rec rec;

	r->path_asks++;
	ib_path_rec_decode(&rec, data, PATH_REC_LEN);
	if (r->path_pkey && rec.pkey != r->path_pkey)
		return SA_STATUS_NO_RECORDS;
	rec.dlid = SERVER_LID;
	rec.slid = CLIENT_LID;
	rec.sl = 3;
	ib_path_rec_encode(data, &rec);
	return r->path_status;
}

static inline uint16_t sidr_rig_register(struct sidr_rig *r, const struct sa_mad *m)
{
	bool set = m->mad.method == MAD_METHOD_SET;

	r->registers += set;
	r->deletes += !set;
	if (!set)
		r->delete_mask = m->sa.comp_mask;
	ib_service_rec_decode(set ? &r->registered : &r->deleted, m->data, m->data_len);
	if (!r->service_status)
		r->has_record = set;
	return r->service_status;
}

static inline void sidr_rig_sa(void *ctx, const struct mad_addr *from, const void *mad, size_t len,
			       ns_t now)
{
	struct sidr_rig *r = ctx;
	static uint8_t out[SA_DATA_OFF + SIDR_RIG_SERVICES * SERVICE_REC_LEN];
	struct sa_hdr sa = { 0 };
	struct ib_service_rec want;
	struct sa_mad m;
	size_t used = SA_DATA_LEN;

	assert_int_equal(sa_mad_decode(&m, mad, len), 0);
	memset(out, 0, sizeof(out));
	memcpy(out, mad, len < sizeof(out) ? len : sizeof(out));
	if (m.mad.method == MAD_METHOD_GET_TABLE) {
		ib_service_rec_decode(&want, m.data, m.data_len);
		memset(out + SA_DATA_OFF, 0, sizeof(out) - SA_DATA_OFF);
		m.mad.status = sidr_rig_services(r, out + SA_DATA_OFF, &used, &want);
		sa.attr_offset = SERVICE_REC_LEN / 8;
	} else if (m.mad.attr_id == SA_ATTR_PATH_RECORD) {
		m.mad.status = sidr_rig_path(r, out + SA_DATA_OFF);
	} else {
		m.mad.status = sidr_rig_register(r, &m);
	}
	m.mad.method = m.mad.method == MAD_METHOD_SET ? MAD_METHOD_GET_RESP
						      : m.mad.method | MAD_METHOD_RESP;
	mad_hdr_encode(out, &m.mad);
	sa_hdr_encode(out + SA_HDR_OFF, &sa);
	if (m.mad.method == MAD_METHOD_GET_TABLE_RESP && !m.mad.status) {
		const struct rmpp_hdr rmpp = { .version = 1, .type = 1, .flags = RMPP_FLAG_ACTIVE };

		rmpp_hdr_encode(out + SA_RMPP_OFF, &rmpp);
		mad_reply(r->sa, from, out, SA_DATA_OFF + used, now);
	} else {
		mad_reply(r->sa, from, out, MAD_LEN, now);
	}
}

static inline void sidr_rig_answer(struct cm_service *v, const struct mad_addr *from,
				   const struct sidr_req *req, struct sidr_rep *ret, ns_t now)
{
	struct sidr_rig *r = container_of(v, struct sidr_rig, service);

	(void)now;
	r->asked++;
	r->last = *req;
	r->from = *from;
	ret->status = r->status;
	if (r->status)
		return;
	ret->qpn = IB_QPN_MCAST;
	ret->qkey = r->group.qkey;
	sidr_group_encode(ret->priv, &r->group);
}

static inline void sidr_rig_port(struct sidr_rig *r, bool active)
{
	r->port.state = active ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	sac_port_update(r->sac, &r->port, r->net.now);
}

/*
 * SA clients make their ServiceKeys from this secret. A test may change the secret for the clients
 * that the test creates later.
 */
static struct hash_key sidr_rig_secret;

static inline void sidr_rig_agents(struct sidr_rig *r)
{
	struct mad_agent_cfg sa = {
		.qp = IB_QP1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = 2,
		.rmpp = true,
		.recv = sidr_rig_sa,
		.ctx = r,
	};
	struct cm_cfg cc = { .ep = r->net.end[0].ep, .timers = &r->net.timers, .seed = 1 };
	struct sac_cfg sc = { .ep = r->net.end[0].ep,
			      .timers = &r->net.timers,
			      .seed = 1,
			      .secret = sidr_rig_secret };

	mad_agent_cfg_method(&sa, MAD_METHOD_GET);
	mad_agent_cfg_method(&sa, MAD_METHOD_SET);
	mad_agent_cfg_method(&sa, MAD_METHOD_GET_TABLE);
	mad_agent_cfg_method(&sa, MAD_METHOD_DELETE);
	assert_int_equal(mad_agent_add(r->net.end[1].ep, &sa, &r->sa), 0);
	assert_int_equal(sac_create(&r->sac, &sc), 0);
	assert_int_equal(cm_create(&r->client, &cc), 0);
	cc.ep = r->net.end[1].ep;
	assert_int_equal(cm_create(&r->server, &cc), 0);
}

static inline void sidr_rig_init(struct sidr_rig *r)
{
	memset(r, 0, sizeof(*r));
	rig_init(&r->net);
	sidr_rig_agents(r);
	r->service = (struct cm_service){ .id = RIG_SERVICE,
					  .pkey = RIG_PKEY,
					  .answer = sidr_rig_answer };
	assert_int_equal(cm_service_add(r->server, &r->service), 0);
	r->group = (struct sidr_group){
		.ver = 1,
		.sl = 2,
		.dlid = 0xc003,
		.pkey = RIG_PKEY,
		.qkey = 0x0b1b,
		.dgid = { { 0xff, 0x12, 0x40, 0x1b, 0x81, 0x23 } },
	};
	r->rec[0] = (struct ib_service_rec){ .id = RIG_SERVICE,
					     .gid = rig_gid(SERVER_LID),
					     .pkey = RIG_PKEY };
	r->nrecs = 1;
	r->port = (struct sac_port){ .lid = CLIENT_LID,
				     .sm_lid = SERVER_LID,
				     .gid = rig_gid(CLIENT_LID) };
	sidr_rig_port(r, true);
}

static inline void sidr_rig_run(struct sidr_rig *r, ns_t d)
{
	rig_run(&r->net, d);
}

static inline void sidr_rig_fini(struct sidr_rig *r)
{
	sac_destroy(r->sac);
	cm_destroy(r->client);
	cm_destroy(r->server);
	mad_agent_del(r->sa);
	rig_fini(&r->net);
}

#endif

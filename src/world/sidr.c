/* SPDX-License-Identifier: BSD-2-Clause */
#include "world/sidr.h"

#include "world/sa.h"

static bool is_cm(const struct seen *s, uint16_t attr)
{
	return s->kind == SEEN_GMP && s->payload_len == MAD_LEN &&
	       mad_class(s->payload) == MAD_CLASS_CM && mad_attr(s->payload) == attr;
}

bool sidr_is_request(const struct seen *s, const void *arg)
{
	return is_cm(s, CM_ATTR_SIDR_REQ);
}

struct sidr_group world_sidr_group(const struct world *w)
{
	ib_gid bcast = sa_mgid_broadcast(w);
	const struct world_group *g = world_group((struct world *)w, &bcast);

	return (struct sidr_group){
		.ver = w->sidr.ver ? w->sidr.ver : SIDR_GROUP_VER,
		.sl = WORLD_GROUP_SL,
		.tclass = WORLD_SIDR_TCLASS,
		.hop_limit = WORLD_SIDR_HOP_LIMIT,
		.dlid = g ? g->rec.mlid : 0,
		.pkey = WORLD_PKEY,
		.flow_label = WORLD_SIDR_FLOW,
		.qkey = g ? g->rec.qkey : WORLD_QKEY,
		.dgid = bcast,
	};
}

static void send_cm(struct world *w, uint16_t dlid, const uint8_t *mad)
{
	struct ib_ud_hdr h = {
		.lrh = { .dlid = dlid, .slid = WORLD_SM_LID },
		.bth = { .opcode = IB_OP_UD_SEND_ONLY, .pkey = WORLD_PKEY, .dest_qp = IB_QP1 },
		.deth = { .qkey = IB_QP1_QKEY, .src_qp = IB_QP1 },
	};

	world_send(w, &h, mad, MAD_LEN);
}

static void answer(struct world *w, const struct seen *s)
{
	struct sidr_group g = world_sidr_group(w);
	struct sidr_rep rep = { .status = w->sidr.status };
	struct sidr_req req;
	uint8_t mad[MAD_LEN];

	if (w->sidr.silent || sidr_req_decode(&req, s->payload, s->payload_len))
		return;
	rep.request_id = req.request_id;
	rep.service_id = req.service_id;
	if (!rep.status) {
		rep.qpn = IB_QPN_MCAST;
		rep.qkey = g.qkey;
		sidr_group_encode(rep.priv, &g);
	}
	sidr_rep_encode(mad, mad_tid(s->payload), &rep);
	send_cm(w, s->h.lrh.slid, mad);
}

void world_sidr_rx(struct world *w, const struct seen *s)
{
	if (is_cm(s, CM_ATTR_SIDR_REQ) && w->wire->sidr && s->h.lrh.dlid == WORLD_SM_LID)
		answer(w, s);
}

static bool is_reply(const struct seen *s, const void *tid)
{
	return is_cm(s, CM_ATTR_SIDR_REP) && mad_tid(s->payload) == *(const uint64_t *)tid;
}

const struct seen *world_sidr_ask(struct world *w, uint64_t service_id, uint32_t id)
{
	struct sidr_req req = { .request_id = id, .pkey = WORLD_PKEY, .service_id = service_id };
	const uint64_t since = w->log.last + 1, tid = id;
	const struct seen *s = NULL;
	uint8_t mad[MAD_LEN];

	sidr_req_encode(mad, tid, &req);
	for (unsigned int i = 0; i < 3 && !s; i++) {
		send_cm(w, w->dut.lid, mad);
		s = world_expect(w, since, is_reply, &tid, NS_SEC(1));
	}
	return s;
}

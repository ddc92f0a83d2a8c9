/* SPDX-License-Identifier: BSD-2-Clause */
#include "world/sa.h"

#include "world/peer.h"
#include "world/sa_priv.h"

/* --- PathRecord */

static void path(struct world *w, const struct seen *s, const struct sa_mad *q)
{
	const ib_gid sm = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, WORLD_SWITCH_GUID);
	uint8_t data[PATH_REC_LEN];
	struct world_peer *p;
	struct ib_path_rec r;

	if (ib_path_rec_decode(&r, q->data, q->data_len))
		return;
	p = world_peer_by_gid(w, &r.dgid);
	if (p && p->path_silent)
		return;
	if (p ? p->path_refused : !ib_gid_equal(&r.dgid, &sm)) {
		sa_answer(w, s, q, q->mad.method == MAD_METHOD_GET ? SA_STATUS_NO_RECORDS : 0, NULL,
			  0);
		return;
	}
	r = (struct ib_path_rec){
		.dgid = r.dgid,
		.sgid = w->dut.gid,
		.dlid = p ? p->path_lid : WORLD_SM_LID,
		.slid = w->dut.lid,
		.reversible = true,
		.pkey = p ? p->pkey : WORLD_PKEY,
		.sl = WORLD_PATH_SL,
		.mtu_sel = SA_SEL_EXACT,
		.mtu_code = p ? p->path_mtu : w->mtu_code,
		.rate_sel = SA_SEL_EXACT,
		.rate_code = WORLD_RATE,
		.life_sel = SA_SEL_EXACT,
		.life = 16,
	};
	ib_path_rec_encode(data, &r);
	sa_answer(w, s, q, 0, data, sizeof(data));
}

/* --- ServiceRecord: names the port of the SIDR server, which clients ask for the broadcast group of the link */

static void service(struct world *w, const struct seen *s, const struct sa_mad *q)
{
	uint8_t data[SERVICE_REC_LEN];
	struct ib_service_rec r;

	if (ib_service_rec_decode(&r, q->data, q->data_len)) {
		sa_answer(w, s, q, MAD_STATUS_BAD_ATTR, NULL, 0);
		return;
	}
	if (q->mad.method == MAD_METHOD_SET || q->mad.method == MAD_METHOD_DELETE) {
		w->sidr.registered = q->mad.method == MAD_METHOD_SET;
		w->sidr.service = r;
	} else if (w->wire->sidr) {
		/*
		 * The answer repeats the ServiceID of the query, even if this ServiceID is wrong.
		 */
		r = (struct ib_service_rec){
			.id = r.id,
			.gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, WORLD_SWITCH_GUID),
			.pkey = WORLD_PKEY,
			.lease = 0xffffffff,
			.name = SIDR_SERVICE_NAME,
		};
	} else {
		sa_answer(w, s, q, q->mad.method == MAD_METHOD_GET ? SA_STATUS_NO_RECORDS : 0, NULL,
			  0);
		return;
	}
	ib_service_rec_encode(data, &r);
	sa_answer(w, s, q, 0, data, sizeof(data));
}

/* --- requests */

static void class_port_info(struct world *w, const struct seen *s, const struct sa_mad *q)
{
	struct mad_class_port_info c = {
		.base_version = MAD_BASE_VERSION,
		.class_version = SA_CLASS_VERSION,
		.cap_mask = SA_CAP_UD_MCAST,
		.resp_time = 18,
	};
	uint8_t data[MAD_CLASS_PORT_INFO_LEN];

	mad_class_port_info_encode(data, &c);
	sa_answer(w, s, q, 0, data, sizeof(data));
}

void world_sa_rx(struct world *w, const struct seen *s)
{
	struct sa_mad q;

	if (s->payload_len != MAD_LEN || sa_mad_decode(&q, s->payload, s->payload_len))
		return;
	if (q.mad.method == MAD_METHOD_REPORT_RESP)
		sa_report_done(w, q.mad.tid);
	if (s->h.lrh.dlid != WORLD_SM_LID)
		return;
	if (q.rmpp.type != RMPP_TYPE_NONE && q.rmpp.type != RMPP_TYPE_DATA) {
		sa_table_acknowledged(w, &q);
		return;
	}
	if (mad_method_is_response(q.mad.method))
		return;
	switch (q.mad.attr_id) {
	case SA_ATTR_CLASS_PORT_INFO:
		class_port_info(w, s, &q);
		break;
	case SA_ATTR_INFORM_INFO:
		sa_inform(w, s, &q);
		break;
	case SA_ATTR_PATH_RECORD:
		path(w, s, &q);
		break;
	case SA_ATTR_MCMEMBER_RECORD:
		sa_mcmember(w, s, &q);
		break;
	case SA_ATTR_SERVICE_RECORD:
		service(w, s, &q);
		break;
	default:
		sa_answer(w, s, &q, MAD_STATUS_BAD_ATTR, NULL, 0);
	}
}

/* --- matchers of the DUT's requests */

bool sa_is(const struct seen *s, const void *arg)
{
	const struct sa_want *want = arg;
	struct ib_mcmember_rec m;
	struct ib_path_rec p;
	struct sa_mad q;

	if (s->kind != SEEN_GMP || s->payload_len != MAD_LEN ||
	    sa_mad_decode(&q, s->payload, s->payload_len) || mad_method_is_response(q.mad.method) ||
	    q.mad.attr_id != want->attr || (want->method && q.mad.method != want->method))
		return false;
	if (want->attr == SA_ATTR_MCMEMBER_RECORD &&
	    !ib_mcmember_rec_decode(&m, q.data, q.data_len))
		return (!want->gid || ib_gid_equal(want->gid, &m.mgid)) &&
		       (!want->join_state || (m.join_state & want->join_state));
	if (want->attr == SA_ATTR_PATH_RECORD && !ib_path_rec_decode(&p, q.data, q.data_len))
		return !want->gid || ib_gid_equal(want->gid, &p.dgid);
	return true;
}

bool sa_join_decode(const struct seen *s, struct sa_mad *q, struct ib_mcmember_rec *m)
{
	static const struct sa_want want = { .method = MAD_METHOD_SET,
					     .attr = SA_ATTR_MCMEMBER_RECORD };

	return sa_is(s, &want) && !sa_mad_decode(q, s->payload, s->payload_len) &&
	       !ib_mcmember_rec_decode(m, q->data, q->data_len);
}

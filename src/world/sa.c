/* SPDX-License-Identifier: BSD-2-Clause */
#include "world/sa.h"

#include <errno.h>

#include "world/part.h"
#include "world/peer.h"
#include "util/list.h"

#define SA_CLASS_VERSION 2

static struct world_map map_of(const struct world *w, uint16_t pkey)
{
	return (struct world_map){ pkey, w->map.scope, w->map.subnet };
}

ib_gid sa_mgid_broadcast_in(const struct world *w, uint16_t pkey)
{
	struct world_map map = map_of(w, pkey);

	return w->wire->mgid_broadcast(&map);
}

ib_gid sa_mgid_ip4_in(const struct world *w, uint16_t pkey, const uint8_t group[4])
{
	struct world_map map = map_of(w, pkey);

	return w->wire->mgid_ip4(&map, group);
}

ib_gid sa_mgid_ip6_in(const struct world *w, uint16_t pkey, const uint8_t group[16])
{
	struct world_map map = map_of(w, pkey);

	return w->wire->mgid_ip6(&map, group);
}

ib_gid sa_mgid_broadcast(const struct world *w)
{
	return sa_mgid_broadcast_in(w, w->map.pkey);
}

ib_gid sa_mgid_ip4(const struct world *w, const uint8_t group[4])
{
	return sa_mgid_ip4_in(w, w->map.pkey, group);
}

ib_gid sa_mgid_ip6(const struct world *w, const uint8_t group[16])
{
	return sa_mgid_ip6_in(w, w->map.pkey, group);
}

/* --- groups */

struct world_group *world_group(struct world *w, const ib_gid *g)
{
	for (unsigned int i = 0; i < WORLD_GROUPS; i++)
		if (w->group[i].rec.mlid && ib_gid_equal(&w->group[i].rec.mgid, g))
			return &w->group[i];
	return NULL;
}

/*
 * Find an entry of the table for a group. A deleted group keeps its entry, and with it its MLID,
 * until another group needs the entry.
 */
static struct world_group *group_place(struct world *w, const ib_gid *g)
{
	struct world_group *p = world_group(w, g);

	for (unsigned int i = 0; i < WORLD_GROUPS && !p; i++)
		if (!w->group[i].rec.mlid)
			p = &w->group[i];
	for (unsigned int i = 0; i < WORLD_GROUPS && !p; i++)
		if (!w->group[i].exists && !w->group[i].refuse)
			p = &w->group[i];
	if (p) {
		*p = (struct world_group){ .rec.mlid = (uint16_t)(WORLD_MLID + (p - w->group)),
					   .asked = world_group(w, g) ? p->asked : 0 };
		p->rec.mgid = *g;
	}
	return p;
}

struct world_group *world_group_make(struct world *w, const ib_gid *g)
{
	const uint16_t pkey = part_of_mgid(w, g);
	const ib_gid bcast = sa_mgid_broadcast_in(w, pkey);
	const struct world_group *b = world_group(w, &bcast);
	struct world_group *p = group_place(w, g);

	if (!p)
		return NULL;
	p->exists = p->admin = true;
	p->rec.qkey = b && b != p && b->exists ? b->rec.qkey : WORLD_QKEY;
	p->rec.mtu_sel = p->rec.rate_sel = p->rec.life_sel = SA_SEL_EXACT;
	p->rec.mtu_code = pkey == WORLD_PKEY2 ? WORLD_MTU2 : w->mtu_code;
	p->rec.rate_code = WORLD_RATE;
	p->rec.life = 16;
	p->rec.tclass = WORLD_TCLASS;
	p->rec.flow_label = WORLD_FLOW;
	p->rec.sl = WORLD_GROUP_SL;
	p->rec.pkey = pkey;
	p->rec.scope = g->raw[1] & 15;
	return p;
}

bool sa_is_full_member(const struct world *w, const void *group)
{
	return ((const struct world_group *)group)->dut_state & MCM_JOIN_FULL;
}

bool sa_is_full_member_of(const struct world *w, const void *gid)
{
	const struct world_group *g = world_group((struct world *)w, gid);

	return g && g->exists && sa_is_full_member(w, g);
}

/* --- answers */

static void send_gmp(struct world *w, const struct ib_ud_hdr *to, const uint8_t *mad)
{
	struct ib_ud_hdr h = {
		.lrh = { .sl = to->lrh.sl, .dlid = to->lrh.slid, .slid = WORLD_SM_LID },
		.bth = { .opcode = IB_OP_UD_SEND_ONLY,
			 /* The SA is a full member of the partition, so its packets have the full P_Key. */
			 .pkey = to->bth.pkey | IB_PKEY_FULL,
			 .dest_qp = to->deth.src_qp },
		.deth = { .qkey = IB_QP1_QKEY, .src_qp = IB_QP1 },
	};

	world_send(w, &h, mad, MAD_LEN);
}

/*
 * --- tables, in RMPP segments. The suite never sends a segment twice; a DUT that has lost a segment asks for the
 * table again.
 */

/* Send the segments up to number @last, which the DUT has allowed by its window */
static void table_send(struct world *w, uint32_t last)
{
	struct world_table *t = &w->table;
	const uint32_t segments = t->len ? (uint32_t)((t->len - 1) / SA_DATA_LEN + 1) : 1;
	struct rmpp_hdr rmpp = { .version = RMPP_VERSION, .type = RMPP_TYPE_DATA };
	uint8_t mad[MAD_LEN];

	while (t->sent < segments && t->sent < last) {
		size_t at = t->sent * (size_t)SA_DATA_LEN;
		size_t n = t->len - at < SA_DATA_LEN ? t->len - at : SA_DATA_LEN;

		rmpp.data1 = ++t->sent;
		rmpp.flags = RMPP_FLAG_ACTIVE | (t->sent == 1 ? RMPP_FLAG_FIRST : 0) |
			     (t->sent == segments ? RMPP_FLAG_LAST : 0);
		/*
		 * PayloadLength of the first segment is the length of all segments together, each with the SA's
		 * header. PayloadLength of the last segment is the length of this segment.
		 */
		rmpp.data2 = t->sent == segments ? (uint32_t)(SA_HDR_LEN + n) : 0;
		if (t->sent == 1)
			rmpp.data2 = (uint32_t)(segments * SA_HDR_LEN + t->len);
		sa_mad_encode(mad, &t->mad, &t->sa);
		rmpp_hdr_encode(mad + SA_RMPP_OFF, &rmpp);
		memcpy(mad + SA_DATA_OFF, t->data + at, n);
		send_gmp(w, &t->to, mad);
	}
}

static void table_acknowledged(struct world *w, const struct sa_mad *q)
{
	if (q->mad.tid == w->table.mad.tid && q->rmpp.type == RMPP_TYPE_ACK)
		table_send(w, q->rmpp.data2);
}

/* Answer a request with a table of @len octets, which are in w->table.data; each record has @size octets */
static void table_answer(struct world *w, const struct seen *s, const struct sa_mad *q, size_t len,
			 size_t size)
{
	struct world_table *t = &w->table;

	t->mad = q->mad;
	t->mad.method = MAD_METHOD_GET_TABLE_RESP;
	t->mad.status = 0;
	t->sa = (struct sa_hdr){ .comp_mask = q->sa.comp_mask,
				 .attr_offset = (uint16_t)(size / 8) };
	t->to = s->h;
	t->len = len;
	t->sent = 0;
	table_send(w, 1);
}

/* Return: the number of octets of one record in a table, which is a multiple of 8 */
static size_t table_step(size_t len)
{
	return (len + 7) & ~(size_t)7;
}

/*
 * Answer the request in packet @s with @status and @len octets of @data. The answer repeats the
 * component mask of the request
 */
static void answer(struct world *w, const struct seen *s, const struct sa_mad *q, uint16_t status,
		   const void *data, size_t len)
{
	struct mad_hdr h = q->mad;
	struct sa_hdr sa = { .comp_mask = q->sa.comp_mask };
	uint8_t mad[MAD_LEN];

	if (h.method == MAD_METHOD_GET_TABLE && !status) {
		memset(w->table.data, 0, table_step(len));
		if (len)
			memcpy(w->table.data, data, len);
		table_answer(w, s, q, table_step(len), table_step(len));
		return;
	}
	h.method = h.method == MAD_METHOD_SET ? MAD_METHOD_GET_RESP : h.method | MAD_METHOD_RESP;
	h.status = status;
	sa_mad_encode(mad, &h, &sa);
	if (len)
		memcpy(mad + SA_DATA_OFF, data, len);
	send_gmp(w, &s->h, mad);
}

static void answer_member(struct world *w, const struct seen *s, const struct sa_mad *q,
			  uint16_t status, const struct ib_mcmember_rec *rec)
{
	uint8_t data[MCMEMBER_REC_LEN];

	ib_mcmember_rec_encode(data, rec);
	answer(w, s, q, status, data, sizeof(data));
}

/* --- MCMemberRecord */

#define JOIN_COMPS (MCM_COMP_MGID | MCM_COMP_PORT_GID | MCM_COMP_JOIN_STATE)
#define CREATE_COMPS \
	(MCM_COMP_QKEY | MCM_COMP_TCLASS | MCM_COMP_PKEY | MCM_COMP_FLOW_LABEL | MCM_COMP_SL)

/*
 * Tell whether a new group would have the parameters of the broadcast group, which an SA that supports IPoIB demands
 */
static bool is_alike(struct world *w, const struct sa_mad *q, const struct ib_mcmember_rec *r)
{
	ib_gid bcast = sa_mgid_broadcast_in(w, part_of_mgid(w, &r->mgid));
	const struct world_group *g = world_group(w, &bcast);

	return g && g->exists && r->pkey == g->rec.pkey && r->qkey == g->rec.qkey &&
	       r->sl == g->rec.sl &&
	       (!(q->sa.comp_mask & MCM_COMP_MTU) || r->mtu_code == g->rec.mtu_code);
}

/* Create the group that a Set requests, if it is a group of the link. Return: a MAD status */
static uint16_t create(struct world *w, const struct sa_mad *q, const struct ib_mcmember_rec *r,
		       struct world_group **ret)
{
	ib_gid bcast = sa_mgid_broadcast_in(w, part_of_mgid(w, &r->mgid));
	struct world_group *g;

	if (!(r->join_state & (MCM_JOIN_FULL | MCM_JOIN_SEND_ONLY_FULL)))
		return SA_STATUS_REQ_INVALID;
	if ((q->sa.comp_mask & CREATE_COMPS) != CREATE_COMPS)
		return SA_STATUS_INSUF_COMPONENTS;
	if (ib_gid_equal(&r->mgid, &bcast) || !is_alike(w, q, r))
		return SA_STATUS_REQ_INVALID;
	g = group_place(w, &r->mgid);
	if (!g)
		return SA_STATUS_NO_RESOURCES;
	*ret = g;
	g->exists = true;
	g->rec.qkey = r->qkey;
	g->rec.tclass = r->tclass;
	g->rec.pkey = r->pkey;
	g->rec.flow_label = r->flow_label;
	g->rec.sl = r->sl;
	g->rec.hop_limit = r->hop_limit;
	g->rec.mtu_sel = g->rec.rate_sel = g->rec.life_sel = SA_SEL_EXACT;
	g->rec.mtu_code = q->sa.comp_mask & MCM_COMP_MTU ? r->mtu_code : w->mtu_code;
	g->rec.rate_code = q->sa.comp_mask & MCM_COMP_RATE ? r->rate_code : WORLD_RATE;
	g->rec.life = 16;
	g->rec.scope = r->mgid.raw[1] & 15;
	return 0;
}

static void join(struct world *w, const struct seen *s, const struct sa_mad *q,
		 const struct ib_mcmember_rec *r)
{
	struct world_group *g = world_group(w, &r->mgid);
	struct ib_mcmember_rec rec = *r;
	uint16_t status = 0;

	if (g && g->silent)
		return;
	if ((q->sa.comp_mask & JOIN_COMPS) != JOIN_COMPS)
		status = SA_STATUS_INSUF_COMPONENTS;
	else if (!ib_gid_equal(&r->port_gid, &w->dut.gid) || !r->join_state)
		status = SA_STATUS_REQ_INVALID;
	else if (g && g->refuse)
		status = g->refuse;
	else if (!g || !g->exists)
		status = create(w, q, r, &g);
	if (!status) {
		g->dut_state |= r->join_state;
		rec = g->rec;
		rec.port_gid = r->port_gid;
		rec.join_state = g->dut_state;
	}
	if (g)
		g->asked |= r->join_state;
	answer_member(w, s, q, status, &rec);
	if (!status && !g->granted)
		g->granted = w->log.last;
}

static void leave(struct world *w, const struct seen *s, const struct sa_mad *q,
		  const struct ib_mcmember_rec *r)
{
	struct world_group *g = world_group(w, &r->mgid);
	bool member = g && g->exists && (g->dut_state & r->join_state);

	if (member) {
		g->left++;
		g->dut_state &= (uint8_t)~r->join_state;
		g->exists = g->admin || (g->dut_state & (MCM_JOIN_FULL | MCM_JOIN_SEND_ONLY_FULL));
	}
	answer_member(w, s, q, member ? 0 : SA_STATUS_REQ_INVALID, r);
}

static bool is_asked_for(const struct ib_mcmember_rec *rec, const struct sa_mad *q,
			 const struct ib_mcmember_rec *r)
{
	if ((q->sa.comp_mask & MCM_COMP_MGID) && !ib_gid_equal(&rec->mgid, &r->mgid))
		return false;
	return !(q->sa.comp_mask & MCM_COMP_PKEY) || ib_pkey_match(rec->pkey, r->pkey);
}

/* Answer with all groups that match. The SA does not reveal the members of groups (IBTA 15.2.5.17). */
static void list_groups(struct world *w, const struct seen *s, const struct sa_mad *q,
			const struct ib_mcmember_rec *r)
{
	const size_t step = table_step(MCMEMBER_REC_LEN);
	size_t len = 0;

	memset(w->table.data, 0, sizeof(w->table.data));
	for (unsigned int i = 0; i < WORLD_GROUPS; i++) {
		if (!w->group[i].exists || !is_asked_for(&w->group[i].rec, q, r))
			continue;
		ib_mcmember_rec_encode(w->table.data + len, &w->group[i].rec);
		len += step;
	}
	table_answer(w, s, q, len, step);
}

static void mcmember(struct world *w, const struct seen *s, const struct sa_mad *q)
{
	const struct world_group *g;
	struct ib_mcmember_rec r;

	if (ib_mcmember_rec_decode(&r, q->data, q->data_len))
		return;
	switch (q->mad.method) {
	case MAD_METHOD_SET:
		join(w, s, q, &r);
		break;
	case MAD_METHOD_DELETE:
		leave(w, s, q, &r);
		break;
	case MAD_METHOD_GET_TABLE:
		list_groups(w, s, q, &r);
		break;
	default:
		g = world_group(w, &r.mgid);
		if (g && g->exists)
			answer_member(w, s, q, 0, &g->rec);
		else
			answer(w, s, q, SA_STATUS_NO_RECORDS, NULL, 0);
	}
}

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
		answer(w, s, q, q->mad.method == MAD_METHOD_GET ? SA_STATUS_NO_RECORDS : 0, NULL,
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
	answer(w, s, q, 0, data, sizeof(data));
}

/* --- subscriptions and reports */

const struct world_subscription *world_subscribed(const struct world *w, enum mad_trap trap)
{
	for (unsigned int i = 0; i < w->nsubs; i++) {
		const struct mad_inform_info *f = &w->sub[i].info;

		if (f->generic && (f->trap == trap || f->trap == 0xffff))
			return &w->sub[i];
	}
	return NULL;
}

bool sa_has_subscribed(const struct world *w, const void *arg)
{
	return world_subscribed(w, MAD_TRAP_MC_CREATED) && world_subscribed(w, MAD_TRAP_MC_DELETED);
}

static bool same(const struct mad_inform_info *a, const struct mad_inform_info *b)
{
	return ib_gid_equal(&a->gid, &b->gid) && a->lid_begin == b->lid_begin &&
	       a->lid_end == b->lid_end && a->generic == b->generic && a->trap == b->trap;
}

static void inform(struct world *w, const struct seen *s, const struct sa_mad *q)
{
	struct mad_inform_info f;
	unsigned int i = 0;

	if (q->mad.method != MAD_METHOD_SET || mad_inform_info_decode(&f, q->data, q->data_len)) {
		answer(w, s, q, MAD_STATUS_BAD_ATTR, NULL, 0);
		return;
	}
	while (i < w->nsubs && !same(&w->sub[i].info, &f))
		i++;
	if (!f.subscribe && i < w->nsubs) {
		w->sub[i] = w->sub[--w->nsubs];
	} else if (f.subscribe && i < WORLD_SUBSCRIPTIONS) {
		w->sub[i] = (struct world_subscription){ f, s->n };
		w->nsubs += i == w->nsubs;
	}
	answer(w, s, q, 0, q->data, MAD_INFORM_INFO_LEN);
}

static void report_send(struct timer *t, ns_t now)
{
	struct world_report *r = container_of(t, struct world_report, timer);
	struct ib_ud_hdr to = { .lrh.slid = r->w->dut.lid,
				.bth.pkey = WORLD_PKEY,
				.deth.src_qp = IB_QP1 };

	if (!r->left)
		return;
	r->left--;
	send_gmp(r->w, &to, r->mad);
	timer_arm(&r->w->timers, t, now + NS_SEC(1));
}

void world_group_tell(struct world *w, const ib_gid *g, enum mad_trap trap)
{
	struct mad_hdr h = {
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = SA_CLASS_VERSION,
		.method = MAD_METHOD_REPORT,
		.tid = ++w->tid,
		.attr_id = MAD_ATTR_NOTICE,
	};
	struct mad_notice n = {
		.generic = true, .type = MAD_NOTICE_TYPE_SM, .producer = 4, .trap = (uint16_t)trap
	};
	struct world_report *r = w->report;

	if (!world_subscribed(w, trap))
		return;
	while (r < w->report + WORLD_REPORTS - 1 && r->left)
		r++;
	n.issuer_lid = WORLD_SM_LID;
	n.issuer_gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, WORLD_SWITCH_GUID);
	mad_notice_gid(&n, g);
	timer_cancel(&w->timers, &r->timer);
	timer_init(&r->timer, report_send);
	r->w = w;
	r->left = 5;
	sa_mad_encode(r->mad, &h, &(struct sa_hdr){ 0 });
	mad_notice_encode(r->mad + SA_DATA_OFF, &n);
	report_send(&r->timer, w->now);
}

static void report_done(struct world *w, uint64_t tid)
{
	for (unsigned int i = 0; i < WORLD_REPORTS; i++)
		if (w->report[i].left && mad_tid(w->report[i].mad) == tid) {
			w->report[i].left = 0;
			timer_cancel(&w->timers, &w->report[i].timer);
		}
}

void world_sa_fini(struct world *w)
{
	for (unsigned int i = 0; i < WORLD_REPORTS; i++)
		timer_cancel(&w->timers, &w->report[i].timer);
}

/* --- ServiceRecord: the port with the SIDR server that knows the group of the link */

static void service(struct world *w, const struct seen *s, const struct sa_mad *q)
{
	uint8_t data[SERVICE_REC_LEN];
	struct ib_service_rec r;

	if (ib_service_rec_decode(&r, q->data, q->data_len)) {
		answer(w, s, q, MAD_STATUS_BAD_ATTR, NULL, 0);
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
		answer(w, s, q, q->mad.method == MAD_METHOD_GET ? SA_STATUS_NO_RECORDS : 0, NULL,
		       0);
		return;
	}
	ib_service_rec_encode(data, &r);
	answer(w, s, q, 0, data, sizeof(data));
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
	answer(w, s, q, 0, data, sizeof(data));
}

void world_sa_rx(struct world *w, const struct seen *s)
{
	struct sa_mad q;

	if (s->payload_len != MAD_LEN || sa_mad_decode(&q, s->payload, s->payload_len))
		return;
	if (q.mad.method == MAD_METHOD_REPORT_RESP)
		report_done(w, q.mad.tid);
	if (s->h.lrh.dlid != WORLD_SM_LID)
		return;
	if (q.rmpp.type != RMPP_TYPE_NONE && q.rmpp.type != RMPP_TYPE_DATA) {
		table_acknowledged(w, &q);
		return;
	}
	if (mad_method_is_response(q.mad.method))
		return;
	switch (q.mad.attr_id) {
	case SA_ATTR_CLASS_PORT_INFO:
		class_port_info(w, s, &q);
		break;
	case SA_ATTR_INFORM_INFO:
		inform(w, s, &q);
		break;
	case SA_ATTR_PATH_RECORD:
		path(w, s, &q);
		break;
	case SA_ATTR_MCMEMBER_RECORD:
		mcmember(w, s, &q);
		break;
	case SA_ATTR_SERVICE_RECORD:
		service(w, s, &q);
		break;
	default:
		answer(w, s, &q, MAD_STATUS_BAD_ATTR, NULL, 0);
	}
}

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

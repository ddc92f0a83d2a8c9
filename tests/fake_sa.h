/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_FAKE_SA_H
#define TESTS_FAKE_SA_H

/*
 * A fake SA for one client port, on virtual time. The client's MAD endpoint sends its MADs to this
 * SA in place of a network. The SA has groups with the client's membership in each, paths by
 * destination GID, and subscriptions. It can be slow, ignore requests, lose answers, and refuse. It
 * can also offer a SIDR service, for which it answers SIDR_REQs.
 */

#include <stdlib.h>
#include <string.h>

#include "mad/ep.h"
#include "util/prng.h"
#include "wire/cm_sidr.h"
#include "wire/records.h"
#include "wire/rmpp.h"

#define SA_LID 1
#define SA_GROUPS 64
#define SA_PATHS 512

struct sa_group {
	bool used;
	bool others; /* true: other ports are members, so the group exists without the client */
	uint8_t have; /* JoinState of the client */
	uint16_t refuse; /* status with which joins are refused; 0: joins are granted */
	/*
	 * If not 0, only joins that have one of these JoinState bits are refused; if 0, all joins
	 * are.
	 */
	uint8_t refuse_bits;
	struct ib_mcmember_rec rec;
	unsigned int joins, leaves, asks; /* numbers of requests; a repeated request counts once */
};

struct sa_path {
	ib_gid gid;
	uint16_t dlid;
	uint8_t sl;
	uint8_t mtu_code; /* code of the path's MTU; 0: that of 2048 octets */
	uint16_t refuse;
	unsigned int asks;
};

struct sa_reply;

/* The SIDR service, whose server is on the same port as the SA. */
struct sa_sidr {
	bool offered; /* true: the SA has a ServiceRecord of this service */
	bool deaf; /* SIDR_REQs stay unanswered */
	uint8_t status; /* Status of the SIDR_REP */
	ib_gid gid;
	struct sidr_group group;
	struct sidr_req last;
	/*
	 * Numbers of requests for the ServiceRecord and of SIDR_REQs; each repetition counts, too.
	 */
	unsigned int asks, requests;
};

struct fake_sa {
	struct timers *timers;
	struct mad_ep *ep;
	struct prng prng;
	ns_t now, delay;
	bool deaf;
	/*
	 * Status with which the port answers requests to the SA while no SA runs there; 0: an SA
	 * runs.
	 */
	uint16_t absent;
	unsigned int loss_ppm; /* share of the requests, and of the answers, that are lost */
	uint16_t next_mlid;
	uint32_t qkey; /* Q_Key of the groups that sa_group_make() makes */
	struct sa_group group[SA_GROUPS];
	struct sa_path path[SA_PATHS];
	bool subscribed[4]; /* [i]: the client has subscribed to trap 64 + i */
	uint16_t inform_refuse;
	uint64_t seen_tid[4096]; /* TIDs of requests, by which repetitions are recognised */
	unsigned int nseen;
	unsigned int requests, retries, open, max_open;
	unsigned int path_asks, joins, leaves, asks, subscribes, unsubscribes, report_resps;
	uint64_t last_comp_mask, join_mask;
	uint64_t join_masks[16]; /* component masks of the first joins that were sent */
	uint8_t last[MAD_LEN];
	struct ib_mcmember_rec last_join;
	struct ib_path_rec last_path;
	struct mad_addr last_to; /* address to which the client sent its last request */
	struct sa_reply *replies; /* answers that have not arrived at the client yet */
	struct sa_sidr sidr;
	/* If not NULL, this function may change each answer before it is sent. */
	void (*twist)(struct fake_sa *sa, uint8_t *mad);
};

struct sa_reply {
	struct timer t;
	struct fake_sa *sa;
	struct mad_addr from;
	uint8_t mad[MAD_LEN];
	struct sa_reply *next;
};

static inline void sa_reply_unlink(struct sa_reply *r)
{
	struct sa_reply **pp = &r->sa->replies;

	while (*pp != r)
		pp = &(*pp)->next;
	*pp = r->next;
}

static inline void sa_reply_fire(struct timer *t, ns_t now)
{
	struct sa_reply *r = container_of(t, struct sa_reply, t);

	sa_reply_unlink(r);
	r->sa->open--;
	r->sa->now = now;
	mad_ep_recv(r->sa->ep, &r->from, r->mad, now);
	free(r);
}

static inline void sa_send_later(struct fake_sa *sa, const uint8_t *mad, ns_t now)
{
	struct sa_reply *r = calloc(1, sizeof(*r));

	r->sa = sa;
	r->from = mad_addr_gmp(sa->last_to.lid, 0); /* LID to which the request was sent */
	memcpy(r->mad, mad, MAD_LEN);
	r->next = sa->replies;
	sa->replies = r;
	sa->open++;
	timer_init(&r->t, sa_reply_fire);
	timer_arm(sa->timers, &r->t, now + sa->delay);
}

static inline void sa_fini(struct fake_sa *sa)
{
	while (sa->replies) {
		struct sa_reply *r = sa->replies;

		sa->replies = r->next;
		timer_cancel(sa->timers, &r->t);
		free(r);
	}
}

static inline struct sa_group *sa_group_find(struct fake_sa *sa, const ib_gid *mgid)
{
	for (int i = 0; i < SA_GROUPS; i++)
		if (sa->group[i].used && ib_gid_equal(&sa->group[i].rec.mgid, mgid))
			return &sa->group[i];
	return NULL;
}

/*
 * Return the entry of sa->group for @mgid. A new entry has no members, so its group does not exist
 * yet.
 */
static inline struct sa_group *sa_group_slot(struct fake_sa *sa, const ib_gid *mgid)
{
	struct sa_group *g = sa_group_find(sa, mgid);

	for (int i = 0; !g && i < SA_GROUPS; i++) {
		if (!sa->group[i].used) {
			g = &sa->group[i];
			*g = (struct sa_group){ .used = true, .rec.mgid = *mgid };
		}
	}
	return g;
}

static inline bool sa_group_exists(const struct sa_group *g)
{
	return g && (g->others || (g->have & (MCM_JOIN_FULL | MCM_JOIN_SEND_ONLY_FULL)));
}

/* Make a group that has other members, such as the broadcast group that an administrator makes. */
static inline struct sa_group *sa_group_make(struct fake_sa *sa, const ib_gid *mgid, uint16_t pkey,
					     uint8_t mtu_code)
{
	struct sa_group *g = sa_group_slot(sa, mgid);

	g->others = true;
	g->rec.qkey = sa->qkey;
	g->rec.pkey = pkey;
	g->rec.mlid = sa->next_mlid++;
	g->rec.mtu_sel = g->rec.rate_sel = g->rec.life_sel = SA_SEL_EXACT;
	g->rec.mtu_code = mtu_code;
	g->rec.rate_code = 3;
	g->rec.life = 0x12;
	g->rec.scope = 2;
	return g;
}

static inline struct sa_path *sa_path_add(struct fake_sa *sa, const ib_gid *gid, uint16_t dlid)
{
	for (int i = 0; i < SA_PATHS; i++) {
		if (!sa->path[i].dlid) {
			sa->path[i] = (struct sa_path){ .gid = *gid, .dlid = dlid };
			return &sa->path[i];
		}
	}
	return NULL;
}

static inline struct sa_path *sa_path_find(struct fake_sa *sa, const ib_gid *gid)
{
	for (int i = 0; i < SA_PATHS; i++)
		if (sa->path[i].dlid && ib_gid_equal(&sa->path[i].gid, gid))
			return &sa->path[i];
	return NULL;
}

/* Returns true only for the first request with this TID. */
static inline bool sa_first(struct fake_sa *sa, uint64_t tid)
{
	for (unsigned int i = 0; i < sa->nseen; i++)
		if (sa->seen_tid[i] == tid)
			return false;
	if (sa->nseen < ARRAY_SIZE(sa->seen_tid))
		sa->seen_tid[sa->nseen++] = tid;
	return true;
}

static inline uint16_t sa_do_path(struct fake_sa *sa, const struct sa_mad *rq, uint8_t *data,
				  bool first)
{
	struct ib_path_rec rec;
	struct sa_path *p;

	ib_path_rec_decode(&rec, rq->data, rq->data_len);
	sa->last_path = rec;
	sa->path_asks += first;
	p = sa_path_find(sa, &rec.dgid);
	if (!p)
		return SA_STATUS_NO_RECORDS;
	p->asks += first;
	if (p->refuse)
		return p->refuse;
	rec.dlid = p->dlid;
	rec.slid = 5;
	rec.sl = p->sl;
	rec.reversible = true;
	rec.mtu_sel = rec.rate_sel = rec.life_sel = SA_SEL_EXACT;
	rec.mtu_code = p->mtu_code ? p->mtu_code : IB_MTU_2048;
	rec.rate_code = 3;
	rec.life = 0x12;
	ib_path_rec_encode(data, &rec);
	return 0;
}

static inline uint16_t sa_do_join(struct fake_sa *sa, const struct sa_mad *rq, uint8_t *data,
				  bool first)
{
	struct ib_mcmember_rec rec;
	struct sa_group *g;

	ib_mcmember_rec_decode(&rec, rq->data, rq->data_len);
	sa->last_join = rec;
	sa->join_mask = rq->sa.comp_mask;
	if (sa->joins < ARRAY_SIZE(sa->join_masks))
		sa->join_masks[sa->joins] = rq->sa.comp_mask;
	sa->joins += first;
	g = sa_group_slot(sa, &rec.mgid);
	g->joins += first;
	if (g->refuse && (!g->refuse_bits || (g->refuse_bits & rec.join_state)))
		return g->refuse;
	if (!sa_group_exists(g)) {
		if (!(rec.join_state & (MCM_JOIN_FULL | MCM_JOIN_SEND_ONLY_FULL)))
			return SA_STATUS_REQ_INVALID;
		if (!(rq->sa.comp_mask & MCM_COMP_QKEY))
			return SA_STATUS_INSUF_COMPONENTS;
		g->rec = rec;
		g->rec.mlid = sa->next_mlid++;
		g->have = 0;
	}
	g->have |= rec.join_state;
	rec = g->rec;
	rec.join_state = g->have;
	ib_mcmember_rec_encode(data, &rec);
	return 0;
}

static inline uint16_t sa_do_leave(struct fake_sa *sa, const struct sa_mad *rq, uint8_t *data,
				   bool first)
{
	struct ib_mcmember_rec rec;
	struct sa_group *g;

	ib_mcmember_rec_decode(&rec, rq->data, rq->data_len);
	sa->leaves += first;
	g = sa_group_find(sa, &rec.mgid);
	if (g)
		g->leaves += first;
	if (!g || (g->have & rec.join_state) != rec.join_state)
		return SA_STATUS_REQ_INVALID;
	g->have &= (uint8_t)~rec.join_state;
	rec = g->rec;
	rec.join_state = g->have;
	ib_mcmember_rec_encode(data, &rec);
	return 0;
}

static inline uint16_t sa_do_ask(struct fake_sa *sa, const struct sa_mad *rq, uint8_t *data,
				 bool first)
{
	struct ib_mcmember_rec rec;
	struct sa_group *g;

	ib_mcmember_rec_decode(&rec, rq->data, rq->data_len);
	sa->asks += first;
	g = sa_group_slot(sa, &rec.mgid);
	g->asks += first;
	if (!sa_group_exists(g))
		return SA_STATUS_NO_RECORDS;
	rec = g->rec;
	rec.join_state = 0;
	ib_mcmember_rec_encode(data, &rec);
	return 0;
}

static inline uint16_t sa_do_inform(struct fake_sa *sa, const struct sa_mad *rq, uint8_t *data,
				    bool first)
{
	struct mad_inform_info i;

	mad_inform_info_decode(&i, rq->data, rq->data_len);
	mad_inform_info_encode(data, &i);
	sa->subscribes += first && i.subscribe;
	sa->unsubscribes += first && !i.subscribe;
	if (sa->inform_refuse)
		return sa->inform_refuse;
	if (i.trap >= 64 && i.trap <= 67)
		sa->subscribed[i.trap - 64] = i.subscribe;
	return 0;
}

/* Answer GetTable(ServiceRecord) by an RMPP transfer of one segment. */
static inline uint16_t sa_do_service(struct fake_sa *sa, const struct sa_mad *rq, uint8_t *mad)
{
	struct rmpp_hdr rmpp = {
		.version = 1, .type = RMPP_TYPE_DATA, .flags = 7, .data1 = 1, .data2 = 20
	};
	struct sa_hdr h = { .attr_offset = SERVICE_REC_LEN / 8 };
	struct ib_service_rec rec;

	ib_service_rec_decode(&rec, rq->data, rq->data_len);
	sa->sidr.asks++;
	memset(mad + SA_DATA_OFF, 0, MAD_LEN - SA_DATA_OFF);
	if (sa->sidr.offered) {
		rec.gid = sa->sidr.gid;
		ib_service_rec_encode(mad + SA_DATA_OFF, &rec);
		rmpp.data2 += SERVICE_REC_LEN;
	}
	sa_hdr_encode(mad + SA_HDR_OFF, &h);
	rmpp_hdr_encode(mad + SA_RMPP_OFF, &rmpp);
	return 0;
}

/* Let SIDR offer the group with the MCMemberRecord @g as the broadcast group of the link. */
static inline void sa_sidr_offer(struct fake_sa *sa, const struct ib_mcmember_rec *g)
{
	sa->sidr.offered = true;
	sa->sidr.gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, 0x5a);
	sa->sidr.group = (struct sidr_group){ .ver = 1,
					      .sl = g->sl,
					      .tclass = g->tclass,
					      .hop_limit = g->hop_limit,
					      .dlid = g->mlid,
					      .pkey = g->pkey,
					      .flow_label = g->flow_label,
					      .qkey = g->qkey,
					      .dgid = g->mgid };
	sa_path_add(sa, &sa->sidr.gid, SA_LID);
}

static inline void sa_sidr_answer(struct fake_sa *sa, const void *mad, ns_t now)
{
	struct sidr_rep rep = { .status = sa->sidr.status };
	uint8_t out[MAD_LEN];
	struct mad_hdr h;

	if (sidr_req_decode(&sa->sidr.last, mad, MAD_LEN))
		return;
	sa->sidr.requests++;
	if (sa->deaf || sa->sidr.deaf)
		return;
	mad_hdr_decode(&h, mad, MAD_LEN);
	rep.request_id = sa->sidr.last.request_id;
	rep.service_id = sa->sidr.last.service_id;
	rep.qkey = sa->sidr.group.qkey;
	sidr_group_encode(rep.priv, &sa->sidr.group);
	sidr_rep_encode(out, h.tid, &rep);
	sa_send_later(sa, out, now);
}

static inline uint16_t sa_do(struct fake_sa *sa, const struct sa_mad *rq, uint8_t *data, bool first)
{
	if (rq->mad.attr_id == SA_ATTR_PATH_RECORD)
		return sa_do_path(sa, rq, data, first);
	if (rq->mad.attr_id == SA_ATTR_INFORM_INFO)
		return sa_do_inform(sa, rq, data, first);
	if (rq->mad.method == MAD_METHOD_SET)
		return sa_do_join(sa, rq, data, first);
	if (rq->mad.method == MAD_METHOD_DELETE)
		return sa_do_leave(sa, rq, data, first);
	return sa_do_ask(sa, rq, data, first);
}

static inline int sa_ep_send(void *ctx, const struct mad_addr *to, const void *mad, ns_t now)
{
	struct fake_sa *sa = ctx;
	uint8_t resp[MAD_LEN];
	struct sa_mad rq;
	struct mad_hdr h;
	bool first;

	sa->now = now;
	if (!mad_hdr_decode(&h, mad, MAD_LEN) && h.mgmt_class == MAD_CLASS_CM) {
		sa->last_to = *to;
		sa_sidr_answer(sa, mad, now);
		return 0;
	}
	if (sa_mad_decode(&rq, mad, MAD_LEN))
		return 0;
	if (rq.mad.method == MAD_METHOD_REPORT_RESP) {
		sa->report_resps++;
		return 0;
	}
	if (rq.rmpp.type == RMPP_TYPE_ACK) /* the client's ACK of an answer to GetTable */
		return 0;
	memcpy(sa->last, mad, MAD_LEN);
	sa->last_to = *to;
	first = sa_first(sa, rq.mad.tid);
	sa->requests += first;
	sa->retries += !first;
	sa->last_comp_mask = rq.sa.comp_mask;
	if (sa->deaf || prng_chance(&sa->prng, sa->loss_ppm))
		return 0;
	memcpy(resp, mad, MAD_LEN);
	h = rq.mad;
	h.method = (h.method == MAD_METHOD_SET ? MAD_METHOD_GET : h.method) | MAD_METHOD_RESP;
	if (h.method == MAD_METHOD_GET_TABLE_RESP && rq.mad.attr_id == SA_ATTR_SERVICE_RECORD)
		h.status = sa->absent ? sa->absent : sa_do_service(sa, &rq, resp);
	else
		h.status = sa->absent ? sa->absent : sa_do(sa, &rq, resp + SA_DATA_OFF, first);
	mad_hdr_encode(resp, &h);
	if (sa->twist)
		sa->twist(sa, resp);
	if (prng_chance(&sa->prng, sa->loss_ppm))
		return 0;
	sa_send_later(sa, resp, now);
	if (sa->open > sa->max_open)
		sa->max_open = sa->open;
	return 0;
}

static const struct mad_ep_ops sa_ep_ops = { .send = sa_ep_send };

/*
 * Let a Report of trap @trap about the group @gid arrive. The sender @from is the SA or another
 * port.
 */
static inline void sa_report_from(struct fake_sa *sa, const struct mad_addr *from, uint16_t trap,
				  const ib_gid *gid, ns_t now)
{
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = 2,
		.method = MAD_METHOD_REPORT,
		.tid = 0x7000 + trap,
		.attr_id = SA_ATTR_NOTICE,
	};
	struct mad_notice n = {
		.generic = true,
		.type = MAD_NOTICE_TYPE_SM,
		.producer = 4,
		.trap = trap,
		.issuer_lid = SA_LID,
	};
	struct sa_hdr s = { 0 };
	uint8_t mad[MAD_LEN];

	mad_notice_gid(&n, gid);
	sa_mad_encode(mad, &h, &s);
	mad_notice_encode(mad + SA_DATA_OFF, &n);
	mad_ep_recv(sa->ep, from, mad, now);
}

static inline void sa_report(struct fake_sa *sa, uint16_t trap, const ib_gid *gid, ns_t now)
{
	struct mad_addr from = mad_addr_gmp(SA_LID, 0);

	sa_report_from(sa, &from, trap, gid, now);
}

/*
 * Act like a restart of the SM: the SA forgets the client's memberships and subscriptions. Groups
 * that have other members get new MLIDs, and other groups end.
 */
static inline void sa_forget(struct fake_sa *sa)
{
	for (int i = 0; i < SA_GROUPS; i++) {
		sa->group[i].have = 0;
		if (sa->group[i].others)
			sa->group[i].rec.mlid = sa->next_mlid++;
	}
	memset(sa->subscribed, 0, sizeof(sa->subscribed));
}

static inline void sa_init(struct fake_sa *sa, struct timers *timers, uint64_t seed)
{
	*sa = (struct fake_sa){
		.timers = timers,
		.delay = NS_USEC(20),
		.next_mlid = 0xc000,
		.qkey = 0x80000b1b,
	};
	prng_seed(&sa->prng, seed);
	sa->ep = mad_ep_create(&sa_ep_ops, sa, timers, NULL);
}

#endif

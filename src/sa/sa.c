/* SPDX-License-Identifier: BSD-2-Clause */
#include "sa/sa.h"

#include <errno.h>
#include <stdlib.h>

#include "sa/priv.h"

bool sa_visible(const struct sa_req *r, const struct sm_port *p)
{
	return r->trusted || r->port == p || sm_ports_share_pkey(r->port, p);
}

void sa_resp_head(const struct sa_req *r, uint8_t *mad, uint16_t status, size_t rec_len)
{
	struct mad_hdr h = r->m.mad;
	const struct sa_hdr sa = {
		.attr_offset = (uint16_t)(rec_len / 8),
		.comp_mask = r->m.sa.comp_mask,
	};

	/* A Set is answered by GetResp, because there is no method SetResp. */
	h.method = h.method == MAD_METHOD_SET ? MAD_METHOD_GET_RESP : h.method | MAD_METHOD_RESP;
	h.status = status;
	mad_hdr_encode(mad, &h);
	memset(mad + SA_RMPP_OFF, 0, SA_RMPP_LEN);
	sa_hdr_encode(mad + SA_HDR_OFF, &sa);
}

void sa_send(struct sa *sa, const struct mad_addr *to, const uint8_t *mad, size_t len, ns_t now)
{
	if (mad_reply(sa->agent, to, mad, len, now)) {
		sa->stats.drop_busy++;
		return;
	}
	sa->stats.answers++;
	if (mad_status(mad))
		sa->stats.errors++;
}

/* Answer with a copy of the request's data and an error status. */
static void answer_error(struct sa_req *r, uint16_t status)
{
	uint8_t mad[MAD_LEN] = { 0 };

	sa_resp_head(r, mad, status, 0);
	memcpy(mad + SA_DATA_OFF, r->m.data,
	       r->m.data_len < SA_DATA_LEN ? r->m.data_len : SA_DATA_LEN);
	/* o13-13.1.1: a subscription that was refused has Subscribe = 0 in its answer. */
	if (r->m.mad.attr_id == SA_ATTR_INFORM_INFO)
		mad[SA_DATA_OFF + MAD_INFORM_SUBSCRIBE_OFF] = 0;
	sa_send(r->sa, r->from, mad, sizeof(mad), r->now);
}

static void answer_one(struct sa_req *r, struct sa_table *t)
{
	size_t used = sa_table_len(t);

	sa_resp_head(r, t->buf, 0, 0);
	if (t->n > 1)
		used = SA_DATA_OFF + t->rec_len;
	memset(t->buf + used, 0, MAD_LEN - used);
	sa_send(r->sa, r->from, t->buf, MAD_LEN, r->now);
}

/*
 * Tell whether an RMPP answer of @len octets may be sent to the port now. The unfinished answers to
 * one port together are limited to SA_MAX_TABLES_PORT octets, because a receiver that acknowledges
 * nothing could use up the memory otherwise. A single answer may be larger.
 */
static bool port_has_room(const struct sa_req *r, size_t len)
{
	size_t busy = mad_agent_rmpp_octets(r->sa->agent, r->from->lid);

	return !busy || busy + len <= SA_MAX_TABLES_PORT;
}

/* Answer by RMPP, even when one segment is enough, as GetTableResp requires. */
static void answer_table(struct sa_req *r, struct sa_table *t)
{
	const struct rmpp_hdr rmpp = {
		.version = RMPP_VERSION,
		.type = RMPP_TYPE_DATA,
		.flags = RMPP_FLAG_ACTIVE,
	};

	/*
	 * Without records AttributeOffset is 0, because the MAD is padded, and a reader would
	 * otherwise take the padding for records.
	 */
	sa_resp_head(r, t->buf, 0, t->n ? t->rec_len : 0);
	if (!port_has_room(r, sa_table_len(t))) {
		r->sa->stats.drop_busy++;
		return;
	}
	rmpp_hdr_encode(t->buf + SA_RMPP_OFF, &rmpp);
	sa_send(r->sa, r->from, t->buf, sa_table_len(t), r->now);
}

/*
 * Return 0 if the number of records is valid for the method (clause I19 of CONFORMANCE.md),
 * otherwise a MAD status.
 */
static uint16_t count_status(const struct sa_req *r, const struct sa_attr_ops *ops,
			     const struct sa_table *t)
{
	switch (r->m.mad.method) {
	case MAD_METHOD_GET_TABLE:
	case MAD_METHOD_GET_MULTI:
		return t->full ? SA_STATUS_NO_RESOURCES : 0;
	case MAD_METHOD_GET:
		if (t->n == 0)
			return SA_STATUS_NO_RECORDS;
		return t->n > 1 && !ops->first ? SA_STATUS_TOO_MANY_RECORDS : 0;
	default:
		return 0;
	}
}

static sa_handler *handler_find(const struct sa_attr_ops *ops, uint8_t method)
{
	switch (method) {
	case MAD_METHOD_GET:
		return ops->collect;
	case MAD_METHOD_GET_TABLE:
		return ops->no_table ? NULL : ops->collect;
	case MAD_METHOD_SET:
		return ops->set;
	case MAD_METHOD_DELETE:
		return ops->del;
	case MAD_METHOD_GET_MULTI:
		return ops->multi;
	default:
		return NULL;
	}
}

static bool method_known(uint8_t method)
{
	return method == MAD_METHOD_GET || method == MAD_METHOD_GET_TABLE ||
	       method == MAD_METHOD_SET || method == MAD_METHOD_DELETE ||
	       method == MAD_METHOD_GET_MULTI;
}

static bool table_method(uint8_t method)
{
	return method == MAD_METHOD_GET_TABLE || method == MAD_METHOD_GET_MULTI;
}

static uint32_t table_limit(const struct sa_attr_ops *ops, uint8_t method)
{
	if (table_method(method))
		return SA_MAX_TABLE / ((ops->rec_len + 7u) & ~7u);
	/* A Get fails if there is more than one record, so two records are enough to know. */
	return method == MAD_METHOD_GET && !ops->first ? 2 : 1;
}

/* Start the answer, unless a job has records from its earlier slices. */
static int table_begin(struct sa_req *r, struct sa_table *t, const struct sa_attr_ops *ops)
{
	if (r->job && r->job->started)
		return 0;
	if (r->job)
		r->job->started = true;
	return sa_table_start(t, ops->rec_len, table_limit(ops, r->m.mad.method));
}

static uint16_t handle(struct sa_req *r)
{
	const struct sa_attr_ops *ops = sa_attr_find(r->m.mad.attr_id);
	uint8_t method = r->m.mad.method;
	struct sa_table *t = r->job ? &r->job->table : &r->sa->table;
	sa_handler *fn = ops ? handler_find(ops, method) : NULL;
	uint16_t status;

	if (!method_known(method))
		return MAD_STATUS_BAD_METHOD;
	if (!fn)
		return MAD_STATUS_BAD_ATTR;
	if (table_begin(r, t, ops))
		return SA_DROP;
	status = fn(r, t);
	if (!status)
		status = count_status(r, ops, t);
	if (status)
		return status;
	if (table_method(method))
		answer_table(r, t);
	else
		answer_one(r, t);
	return 0;
}

/*
 * Tell whether a request is answered at all; "Requests without an answer" in sa.h gives the
 * reasons.
 */
bool sa_req_accept(struct sa_req *r)
{
	uint64_t key = sm_config(r->sa->sm)->sm_key;
	struct sa_stats *st = &r->sa->stats;

	r->db = sm_db(r->sa->sm);
	if (!r->db) {
		st->drop_not_master++;
		return false;
	}
	if (r->m.sa.sm_key && r->m.sa.sm_key != key) {
		st->drop_sm_key++;
		return false;
	}
	r->trusted = r->m.sa.sm_key != 0;
	r->port = sm_db_port_by_lid(r->db, r->from->lid);
	if (!r->port)
		st->drop_requester++;
	return r->port;
}

uint16_t sa_req_handle(struct sa_req *r)
{
	uint16_t status = handle(r);

	switch (status) {
	case 0:
	case SA_PENDING:
	case SA_QUOTA:
		break;
	case SA_DROP:
		r->sa->stats.drop_busy++;
		break;
	case SA_MALFORMED:
		r->sa->stats.drop_malformed++;
		break;
	default:
		answer_error(r, status);
	}
	return status;
}

static void sa_recv(void *ctx, const struct mad_addr *from, const void *mad, size_t len, ns_t now)
{
	struct sa_req r = { .sa = ctx, .from = from, .now = now };

	r.sa->stats.requests++;
	if (sa_mad_decode(&r.m, mad, len)) {
		r.sa->stats.drop_malformed++;
		return;
	}
	if (!sa_req_accept(&r))
		return;
	if (sa_job_repeated(&r)) {
		r.sa->stats.repeated++;
		return;
	}
	if (r.m.mad.method == MAD_METHOD_GET_TABLE)
		r.sa->stats.tables++;
	sa_req_handle(&r);
	sa_table_trim(&r.sa->table);
}

static void on_state(void *ctx, enum smp_sm_state st, ns_t now)
{
	struct sa *sa = ctx;

	if (st == SMP_SM_MASTER)
		return;
	sa_jobs_clear(sa);
	sa_inform_clear(sa);
	sa_services_clear(sa);
}

static void on_stage(void *ctx, const struct sm_sweep *sw, ns_t now)
{
	if (sw->stage != SM_STAGE_UP)
		return;
	sa_inform_refresh(ctx, now);
	sa_sidr_refresh(ctx);
}

static void on_port(void *ctx, const ib_gid *gid, bool in_service, ns_t now)
{
	sa_notice_port(ctx, gid, in_service, now);
}

static void on_group(void *ctx, const struct sm_group *g, bool created, ns_t now)
{
	sa_notice_group(ctx, g, created, now);
}

static void on_notice(void *ctx, const struct mad_notice *n, ns_t now)
{
	sa_notice_trap(ctx, n, now);
}

static const struct sm_events events = {
	.state = on_state,
	.stage = on_stage,
	.port = on_port,
	.group = on_group,
	.notice = on_notice,
};

/*
 * Register for all methods, so that requests with an unknown method are answered with a status.
 * Reports and traps are left to SA clients on the same port.
 */
static int agent_register(struct sa *sa)
{
	struct mad_agent_cfg c = {
		.qp = IB_QP1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = SA_CLASS_VERSION,
		.rmpp = true,
		.recv = sa_recv,
		.ctx = sa,
	};

	for (unsigned int m = 0; m < MAD_METHOD_RESP; m++) {
		if (m != MAD_METHOD_TRAP && m != MAD_METHOD_REPORT && m != MAD_METHOD_TRAP_REPRESS)
			mad_agent_cfg_method(&c, (uint8_t)m);
	}
	return mad_agent_add(sm_ep(sa->sm), &c, &sa->agent);
}

int sa_create(struct sa **ret, struct sm *sm)
{
	struct sa *sa = calloc(1, sizeof(*sa));
	int err;

	if (!sa)
		return -ENOMEM;
	sa->sm = sm;
	list_init(&sa->joins);
	list_init(&sa->subs);
	list_init(&sa->services);
	sa_reports_init(sa);
	sa_jobs_init(sa);
	err = agent_register(sa);
	if (err) {
		free(sa);
		return err;
	}
	sa->listener.ops = &events;
	sa->listener.ctx = sa;
	sm_listen(sm, &sa->listener);
	*ret = sa;
	return 0;
}

void sa_destroy(struct sa *sa)
{
	if (!sa)
		return;
	sm_unlisten(&sa->listener);
	sa_jobs_clear(sa);
	sa_joins_fini(sa);
	sa_inform_clear(sa);
	sa_services_clear(sa);
	sa_sidr_fini(sa);
	mad_agent_del(sa->agent);
	sa_table_fini(&sa->table);
	sa_quota_fini(sa);
	free(sa);
}

const struct sa_stats *sa_stats(const struct sa *sa)
{
	return &sa->stats;
}

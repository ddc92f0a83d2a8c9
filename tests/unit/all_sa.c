/* SPDX-License-Identifier: BSD-2-Clause */
#include "all_sa.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

static void rig_log(const struct log_sink *sink, enum log_level lvl, const char *fmt, va_list ap)
{
	struct sa_rig *r = sink->ctx;
	char line[256];

	vsnprintf(line, sizeof(line), fmt, ap);
	if (strstr(line, "may not join")) {
		r->refusals++;
		memcpy(r->refusal, line, sizeof(line));
	}
	if (getenv("SM_TEST_LOG"))
		fprintf(stderr, "%9.3f ms %s\n", (double)r->now / 1e6, line);
}

static struct log_sink log_sink;

static void rig_turn(struct sa_rig *r)
{
	do {
		timers_run(&r->ts, r->now);
	} while (fabric_run(r->f, r->now) || timers_next(&r->ts) <= r->now);
}

void sa_rig_pass(struct sa_rig *r, ns_t t)
{
	ns_t end = r->now + t;

	for (;;) {
		rig_turn(r);
		if (timers_next(&r->ts) > end)
			break;
		r->now = timers_next(&r->ts);
	}
	r->now = end;
}

struct node_port *sa_rig_port(struct sa_rig *r, const char *name)
{
	char node[64];
	unsigned int num;
	struct fabric_node *n;

	assert_int_equal(sscanf(name, "%63[^/]/%u", node, &num), 2);
	n = fabric_node_find(r->f, node);
	assert_non_null(n);
	return &fabric_node_node(n)->port[num];
}

ib_gid sa_rig_gid(struct sa_rig *r, const char *name)
{
	const struct node_port *p = sa_rig_port(r, name);

	return ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, p->guids[0]);
}

static struct sm_partitions *partitions(const char *text)
{
	struct sm_partitions *ps = NULL;
	char err[256] = "";

	if (sm_partitions_parse(&ps, "test", text, strlen(text), err, sizeof(err)))
		fail_msg("%s", err);
	return ps;
}

void sa_rig_partitions(struct sa_rig *r, const char *text)
{
	sm_set_partitions(r->sm, partitions(text), r->now);
	sa_rig_pass(r, NS_SEC(2));
}

static struct topo *rig_topo(const struct sa_rig_cfg *cfg)
{
	struct topo_err err;
	struct topo *t = NULL;

	if (cfg->hosts)
		return topo_gen_demo(cfg->hosts, cfg->switches);
	if (topo_parse(&t, "rig", cfg->topology, strlen(cfg->topology), NULL, &err))
		fail_msg("%s", err.text);
	return t;
}

void sa_rig_init(struct sa_rig *r, const struct sa_rig_cfg *cfg)
{
	struct sm_cfg sc = sm_cfg_default();
	struct topo *t = rig_topo(cfg);
	struct node_port *at;
	struct fabric_cfg fc = { .timers = &r->ts };

	memset(r, 0, sizeof(*r));
	log_sink = (struct log_sink){ .emit = rig_log, .ctx = r, .max = LOG_LVL_INFO };
	timers_init(&r->ts);
	r->now = NS_SEC(1);
	r->pool = pkt_pool_create(65536, 4096);
	fc.pool = r->pool;
	fc.log = &log_sink;
	assert_non_null(t);
	assert_int_equal(fabric_create(&r->f, t, &fc, r->now), 0);
	topo_free(t);
	at = sa_rig_port(r, cfg->sm ? cfg->sm : "Switch1/0");
	node_set_cap(at->node, at->num, SMP_CAP_IS_SM, true, r->now);
	sc.sm_key = cfg->sm_key;
	sc.mkey = cfg->mkey;
	sc.lmc = cfg->lmc;
	assert_int_equal(sm_create(&r->sm, at->ep, &sc, &r->ts, &log_sink), 0);
	if (cfg->partitions)
		sm_set_partitions(r->sm, partitions(cfg->partitions), r->now);
	assert_int_equal(sa_create(&r->sa, r->sm), 0);
	sm_start(r->sm, r->now);
	sa_rig_pass(r, NS_SEC(2));
	assert_non_null(sm_db(r->sm));
}

void sa_rig_fini(struct sa_rig *r)
{
	sa_destroy(r->sa);
	sm_destroy(r->sm);
	fabric_destroy(r->f);
	timers_fini(&r->ts);
	pkt_pool_destroy(r->pool);
}

static void on_report(void *ctx, const struct mad_addr *from, const void *mad, size_t len, ns_t now)
{
	struct sa_client *c = ctx;
	uint8_t reply[MAD_LEN];
	struct sa_mad m;

	assert_int_equal(len, MAD_LEN);
	assert_int_equal(sa_mad_decode(&m, mad, len), 0);
	assert_int_equal(m.mad.attr_id, SA_ATTR_NOTICE);
	assert_int_equal(from->qpn, IB_QP1);
	if (c->nreports && m.mad.tid == c->last_tid) {
		c->repeats++;
	} else if (c->nreports < CLIENT_REPORTS) {
		assert_int_equal(mad_notice_decode(&c->report[c->nreports++], m.data, m.data_len),
				 0);
		c->last_tid = m.mad.tid;
	}
	if (!c->answer_reports)
		return;
	memcpy(reply, mad, sizeof(reply));
	reply[3] = MAD_METHOD_REPORT_RESP;
	assert_int_equal(mad_reply(c->agent, from, reply, sizeof(reply), now), 0);
}

void sa_client_init(struct sa_client *c, struct sa_rig *r, const char *port)
{
	struct mad_agent_cfg cfg = {
		.qp = IB_QP1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = 2,
		.rmpp = true,
		.recv = on_report,
		.ctx = c,
	};

	memset(c, 0, sizeof(*c));
	c->r = r;
	c->np = sa_rig_port(r, port);
	c->answer_reports = true;
	c->buf = malloc(CLIENT_RESP);
	assert_non_null(c->buf);
	mad_agent_cfg_method(&cfg, MAD_METHOD_REPORT);
	assert_int_equal(mad_agent_add(c->np->ep, &cfg, &c->agent), 0);
}

void sa_client_fini(struct sa_client *c)
{
	mad_agent_del(c->agent);
	free(c->buf);
}

static void on_answer(void *ctx, int status, const struct mad_addr *from, const void *mad,
		      size_t len, ns_t now)
{
	struct sa_client *c = ctx;

	c->done = true;
	c->done_at = now;
	c->status = status;
	if (status)
		return;
	assert_true(len <= CLIENT_RESP);
	memcpy(c->buf, mad, len);
	c->resp_len = len;
	assert_int_equal(sa_mad_decode(&c->resp, c->buf, len), 0);
	/* the SM_Key is 0 in every answer, because the SA must not reveal it (clause I18) */
	assert_int_equal(c->resp.sa.sm_key, 0);
	c->status = c->resp.mad.status;
}

void sa_client_send(struct sa_client *c, uint8_t method, uint16_t attr, uint64_t mask,
		    const void *rec, size_t len)
{
	struct mad_hdr h = {
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = 2,
		.method = method,
		.attr_id = attr,
		.attr_mod = c->attr_mod,
	};
	struct sa_hdr sa = { .sm_key = c->sm_key, .comp_mask = mask };
	const struct rmpp_hdr rmpp = {
		.version = RMPP_VERSION,
		.type = RMPP_TYPE_DATA,
		.flags = RMPP_FLAG_ACTIVE,
	};
	uint8_t mad[MAD_LEN];
	struct mad_req req = {
		.to = mad_addr_gmp(c->np->pi.sm_lid, c->np->pi.sm_sl),
		.mad = mad,
		.len = sizeof(mad),
		.timeout_ms = 500,
		.retries = 1,
		.done = on_answer,
		.ctx = c,
	};

	sa_mad_encode(mad, &h, &sa);
	if (c->rmpp)
		rmpp_hdr_encode(mad + SA_RMPP_OFF, &rmpp);
	if (len)
		memcpy(mad + SA_DATA_OFF, rec, len);
	c->done = false;
	assert_int_equal(mad_request(c->agent, &req, NULL, c->r->now), 0);
}

int sa_client_ask(struct sa_client *c, uint8_t method, uint16_t attr, uint64_t mask,
		  const void *rec, size_t len)
{
	sa_client_send(c, method, attr, mask, rec, len);
	for (unsigned int i = 0; !c->done && i < 20000; i++)
		sa_rig_pass(c->r, NS_USEC(100));
	assert_true(c->done);
	if (c->status == 0 && method == MAD_METHOD_GET_MULTI)
		attr = SA_ATTR_PATH_RECORD;
	if (c->status >= 0)
		assert_int_equal(c->resp.mad.attr_id, attr);
	return c->status;
}

unsigned int sa_client_count(const struct sa_client *c)
{
	size_t size = c->resp.sa.attr_offset * 8u;

	if (!size) {
		assert_int_equal(c->resp_len, SA_DATA_OFF);
		return 0;
	}
	assert_int_equal(c->resp.data_len % size, 0);
	return (unsigned int)(c->resp.data_len / size);
}

const uint8_t *sa_client_rec(const struct sa_client *c, unsigned int i)
{
	assert_true(i < sa_client_count(c));
	return c->resp.data + (size_t)i * c->resp.sa.attr_offset * 8;
}

static bool has_record(const struct sa_client *c, uint8_t method)
{
	return c->status == 0 && (method != MAD_METHOD_GET_TABLE || sa_client_count(c));
}

int sa_client_path(struct sa_client *c, uint8_t method, uint64_t mask,
		   const struct ib_path_rec *want, struct ib_path_rec *ret)
{
	uint8_t wire[PATH_REC_LEN];

	ib_path_rec_encode(wire, want);
	sa_client_ask(c, method, SA_ATTR_PATH_RECORD, mask, wire, sizeof(wire));
	if (ret && has_record(c, method))
		assert_int_equal(ib_path_rec_decode(ret, c->resp.data, c->resp.data_len), 0);
	return c->status;
}

int sa_client_mcm(struct sa_client *c, uint8_t method, uint64_t mask,
		  const struct ib_mcmember_rec *want, struct ib_mcmember_rec *ret)
{
	uint8_t wire[MCMEMBER_REC_LEN];

	ib_mcmember_rec_encode(wire, want);
	sa_client_ask(c, method, SA_ATTR_MCMEMBER_RECORD, mask, wire, sizeof(wire));
	if (ret && has_record(c, method))
		assert_int_equal(ib_mcmember_rec_decode(ret, c->resp.data, c->resp.data_len), 0);
	return c->status;
}

int sa_client_inform(struct sa_client *c, uint16_t trap, bool subscribe)
{
	struct mad_inform_info info = {
		.lid_begin = 0xffff,
		.generic = true,
		.subscribe = subscribe,
		.type = 0xffff,
		.trap = trap,
		.qpn = IB_QP1,
		.resp_time = 19,
		.producer = 0xffffff,
	};
	uint8_t wire[MAD_INFORM_INFO_LEN];

	mad_inform_info_encode(wire, &info);
	return sa_client_ask(c, MAD_METHOD_SET, SA_ATTR_INFORM_INFO, 0, wire, sizeof(wire));
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "mad_rig.h"

#define SA_VERSION 2
#define TIMEOUT_MS 100

static struct rig rig;
static struct rig_got got, heard;

static int setup(void **state)
{
	(void)state;
	rig_init(&rig);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_fini(&rig);
	rig_got_clear(&got);
	rig_got_clear(&heard);
	return 0;
}

static struct mad_agent *agent(unsigned int end, uint8_t mgmt_class, uint8_t version,
			       uint8_t method)
{
	struct mad_agent_cfg c = {
		.qp = !mad_class_is_smp(mgmt_class),
		.mgmt_class = mgmt_class,
		.class_version = version,
		.recv = rig_recv,
		.ctx = &heard,
	};
	struct mad_agent *a;

	if (method)
		mad_agent_cfg_method(&c, method);
	assert_int_equal(mad_agent_add(rig.end[end].ep, &c, &a), 0);
	return a;
}

static struct mad_req request_of(const uint8_t *mad, unsigned int retries)
{
	return (struct mad_req){
		.to = mad_addr_gmp(2, 0),
		.mad = mad,
		.len = MAD_LEN,
		.timeout_ms = TIMEOUT_MS,
		.retries = retries,
		.done = rig_done,
		.ctx = &got,
	};
}

static struct mad_tx *request(struct mad_agent *a, uint8_t method, unsigned int retries)
{
	uint8_t mad[MAD_LEN] = { 0 };
	struct mad_req req = request_of(mad, retries);
	struct mad_tx *tx;

	rig_mad_hdr(mad, MAD_CLASS_SA, SA_VERSION, method, 0x1111);
	assert_int_equal(mad_request(a, &req, &tx, rig.now), 0);
	return tx;
}

/* Let the peer's agent @b answer the last received request, which is heard.msg */
static void answer(struct mad_agent *b, uint8_t method)
{
	uint8_t mad[MAD_LEN] = { 0 };

	assert_non_null(heard.msg);
	memcpy(mad, heard.msg, sizeof(mad));
	mad[3] = method;
	mad[200] = 0x77;
	assert_int_equal(mad_reply(b, &heard.from, mad, sizeof(mad), rig.now), 0);
}

static void test_addresses(void **state)
{
	struct mad_addr dr = mad_addr_smp_dr(), lid = mad_addr_smp_lid(7), g = mad_addr_gmp(9, 3);

	(void)state;
	assert_int_equal(dr.lid, IB_LID_PERMISSIVE);
	assert_int_equal(dr.qp, 0);
	assert_int_equal(dr.qpn, 0);
	assert_int_equal(lid.lid, 7);
	assert_int_equal(lid.qp, 0);
	assert_int_equal(g.lid, 9);
	assert_int_equal(g.sl, 3);
	assert_int_equal(g.qp, 1);
	assert_int_equal(g.qpn, 1);
	assert_int_equal(g.qkey, 0x80010000);
	assert_int_equal(g.pkey, 0xffff);
	assert_false(g.has_grh);
}

static void test_request_is_answered(void **state)
{
	struct mad_agent *a = agent(0, MAD_CLASS_SA, SA_VERSION, 0);
	struct mad_agent *b = agent(1, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET);

	(void)state;
	request(a, MAD_METHOD_GET, 0);
	assert_int_equal(got.calls, 0);
	rig_run(&rig, WIRE_DELAY);
	assert_int_equal(heard.calls, 1);
	assert_int_equal(heard.len, MAD_LEN);
	assert_int_equal(heard.from.lid, 1);
	answer(b, MAD_METHOD_GET_RESP);
	rig_run(&rig, WIRE_DELAY);
	assert_int_equal(got.calls, 1);
	assert_int_equal(got.status, 0);
	assert_int_equal(got.len, MAD_LEN);
	assert_int_equal(got.msg[200], 0x77);
	assert_int_equal(got.from.lid, 2);
	rig_run(&rig, NS_SEC(10));
	assert_int_equal(got.calls, 1);
	assert_int_equal(rig.n, 2);
}

static void test_tids_are_unique_and_name_their_agent(void **state)
{
	struct mad_agent *a = agent(0, MAD_CLASS_SA, SA_VERSION, 0);
	struct mad_agent *b = agent(0, MAD_CLASS_SA, SA_VERSION, 0);
	uint64_t t0, t1, t2;

	(void)state;
	request(a, MAD_METHOD_GET, 0);
	request(a, MAD_METHOD_GET, 0);
	request(b, MAD_METHOD_GET, 0);
	t0 = mad_tid(rig.seen[0].mad);
	t1 = mad_tid(rig.seen[1].mad);
	t2 = mad_tid(rig.seen[2].mad);
	assert_true(t0 != t1 && t1 != t2 && t0 != t2);
	assert_int_equal(t0 >> 32, t1 >> 32);
	assert_int_not_equal(t0 >> 32, t2 >> 32);
}

/*
 * TIDs are consecutive numbers, so any node could guess the TID of a request. A response must be
 * accepted only from the address to which the request was sent.
 */
static void test_response_must_come_from_where_the_request_went(void **state)
{
	struct mad_agent *a = agent(0, MAD_CLASS_SA, SA_VERSION, 0);
	struct mad_addr from = mad_addr_gmp(3, 0);
	uint8_t mad[MAD_LEN] = { 0 };

	(void)state;
	request(a, MAD_METHOD_GET, 0);
	rig_mad_hdr(mad, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET_RESP, mad_tid(rig.seen[0].mad));
	assert_int_equal(mad_ep_recv(rig.end[0].ep, &from, mad, rig.now), -ENOENT);
	assert_int_equal(got.calls, 0);
	assert_int_equal(mad_ep_stats(rig.end[0].ep)->rx_late, 1);
	from.lid = 2;
	assert_int_equal(mad_ep_recv(rig.end[0].ep, &from, mad, rig.now), 0);
	assert_int_equal(got.calls, 1);
}

static void test_response_must_have_tid_class_and_method_pair(void **state)
{
	struct mad_agent *a = agent(0, MAD_CLASS_SA, SA_VERSION, 0);
	struct mad_addr from = mad_addr_gmp(2, 0);
	uint8_t mad[MAD_LEN] = { 0 };
	uint64_t tid;

	(void)state;
	request(a, MAD_METHOD_GET_TABLE, 0);
	tid = mad_tid(rig.seen[0].mad);
	rig_mad_hdr(mad, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET_TABLE_RESP, tid + 1);
	assert_int_equal(mad_ep_recv(rig.end[0].ep, &from, mad, rig.now), -ENOENT);
	rig_mad_hdr(mad, MAD_CLASS_PERF, SA_VERSION, MAD_METHOD_GET_TABLE_RESP, tid);
	assert_int_equal(mad_ep_recv(rig.end[0].ep, &from, mad, rig.now), -ENOENT);
	rig_mad_hdr(mad, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET_RESP, tid);
	assert_int_equal(mad_ep_recv(rig.end[0].ep, &from, mad, rig.now), -ENOENT);
	assert_int_equal(mad_ep_stats(rig.end[0].ep)->rx_late, 3);
	assert_int_equal(got.calls, 0);
	rig_mad_hdr(mad, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET_TABLE_RESP, tid);
	assert_int_equal(mad_ep_recv(rig.end[0].ep, &from, mad, rig.now), 0);
	assert_int_equal(got.calls, 1);
	assert_int_equal(mad_ep_recv(rig.end[0].ep, &from, mad, rig.now), -ENOENT);
	assert_int_equal(got.calls, 1);
}

static void test_method_pairs(void **state)
{
	static const uint8_t pair[][2] = {
		{ MAD_METHOD_GET, MAD_METHOD_GET_RESP },
		{ MAD_METHOD_SET, MAD_METHOD_GET_RESP },
		{ MAD_METHOD_REPORT, MAD_METHOD_REPORT_RESP },
		{ MAD_METHOD_TRAP, MAD_METHOD_TRAP_REPRESS },
		{ MAD_METHOD_GET_TABLE, MAD_METHOD_GET_TABLE_RESP },
		{ MAD_METHOD_GET_TRACE_TABLE, MAD_METHOD_GET_TABLE_RESP },
		{ MAD_METHOD_GET_MULTI, MAD_METHOD_GET_MULTI_RESP },
		{ MAD_METHOD_DELETE, MAD_METHOD_DELETE_RESP },
	};
	struct mad_agent *a = agent(0, MAD_CLASS_SA, SA_VERSION, 0);
	struct mad_addr from = mad_addr_gmp(2, 0);
	uint8_t mad[MAD_LEN] = { 0 };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(pair); i++) {
		request(a, pair[i][0], 0);
		memcpy(mad, rig.seen[i].mad, sizeof(mad));
		mad[3] = pair[i][1];
		assert_int_equal(mad_ep_recv(rig.end[0].ep, &from, mad, rig.now), 0);
		assert_int_equal(got.calls, i + 1);
	}
}

static void test_silence_is_retried_with_the_same_tid(void **state)
{
	struct mad_agent *a = agent(0, MAD_CLASS_SA, SA_VERSION, 0);
	ns_t start = rig.now;

	(void)state;
	request(a, MAD_METHOD_GET, 2);
	rig_run(&rig, NS_SEC(1));
	assert_int_equal(rig.n, 3);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(rig.seen[i].at, start + i * NS_MSEC(TIMEOUT_MS));
		assert_memory_equal(rig.seen[i].mad, rig.seen[0].mad, MAD_LEN);
	}
	assert_int_equal(got.calls, 1);
	assert_int_equal(got.status, -ETIMEDOUT);
	assert_null(got.msg);
	assert_int_equal(got.at, start + 3 * NS_MSEC(TIMEOUT_MS));
	assert_int_equal(mad_ep_stats(rig.end[0].ep)->retries, 2);
	assert_int_equal(mad_ep_stats(rig.end[0].ep)->timeouts, 1);
}

static void test_failure_to_send_is_retried(void **state)
{
	struct mad_agent *a = agent(0, MAD_CLASS_SA, SA_VERSION, 0);
	struct mad_agent *b = agent(1, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET);

	(void)state;
	rig.send_err = -ENETDOWN;
	request(a, MAD_METHOD_GET, 1);
	assert_int_equal(got.calls, 0);
	rig.send_err = 0;
	rig_run(&rig, NS_MSEC(TIMEOUT_MS) + WIRE_DELAY);
	assert_int_equal(heard.calls, 1);
	answer(b, MAD_METHOD_GET_RESP);
	rig_run(&rig, WIRE_DELAY);
	assert_int_equal(got.calls, 1);
	assert_int_equal(got.status, 0);
}

static void test_cancelled_request_is_forgotten(void **state)
{
	struct mad_agent *a = agent(0, MAD_CLASS_SA, SA_VERSION, 0);
	struct mad_agent *b = agent(1, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET);
	struct mad_tx *tx = request(a, MAD_METHOD_GET, 5);

	(void)state;
	rig_run(&rig, WIRE_DELAY);
	mad_cancel(tx);
	answer(b, MAD_METHOD_GET_RESP);
	rig_run(&rig, NS_SEC(5));
	assert_int_equal(got.calls, 0);
	assert_int_equal(rig.n, 2);
	assert_int_equal(mad_ep_stats(rig.end[0].ep)->rx_late, 1);
}

static void test_done_is_never_called_inside_request(void **state)
{
	struct mad_agent *a = agent(0, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET);
	uint8_t mad[MAD_LEN] = { 0 };
	struct mad_req req = request_of(mad, 0);

	(void)state;
	/*
	 * A request to the port's own LID arrives at the same endpoint before ops->send returns.
	 * Nevertheless no callback may be called inside mad_request().
	 */
	rig.direct = true;
	req.to.lid = 1;
	rig_mad_hdr(mad, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET, 0);
	assert_int_equal(mad_request(a, &req, NULL, rig.now), 0);
	assert_int_equal(heard.calls, 0);
	rig_run(&rig, 0);
	assert_int_equal(heard.calls, 1);
	answer(a, MAD_METHOD_GET_RESP);
	assert_int_equal(got.calls, 0);
	rig_run(&rig, 0);
	assert_int_equal(got.calls, 1);
	assert_int_equal(got.status, 0);
}

static void test_limit_of_open_requests(void **state)
{
	struct mad_agent *a = agent(0, MAD_CLASS_SA, SA_VERSION, 0);
	struct mad_ep_limits lim = { .max_tx = 2, .max_rmpp_rx = 1, .max_rmpp_len = 4096 };
	uint8_t mad[MAD_LEN] = { 0 };
	struct mad_req req = request_of(mad, 0);

	(void)state;
	mad_ep_set_limits(rig.end[0].ep, &lim);
	request(a, MAD_METHOD_GET, 0);
	request(a, MAD_METHOD_GET, 0);
	rig_mad_hdr(mad, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET, 0);
	assert_int_equal(mad_request(a, &req, NULL, rig.now), -EBUSY);
	rig_run(&rig, NS_SEC(1));
	assert_int_equal(got.calls, 2);
	assert_int_equal(mad_request(a, &req, NULL, rig.now), 0);
}

static void test_request_refuses_nonsense(void **state)
{
	struct mad_agent *a = agent(0, MAD_CLASS_SA, SA_VERSION, 0);
	uint8_t mad[2 * MAD_LEN] = { 0 };
	struct mad_req ok = request_of(mad, 0), req;

	(void)state;
	rig_mad_hdr(mad, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET, 0);
	req = ok;
	req.len = MAD_LEN - 1;
	assert_int_equal(mad_request(a, &req, NULL, rig.now), -EINVAL);
	req.len = 2 * MAD_LEN; /* the agent does not use RMPP */
	assert_int_equal(mad_request(a, &req, NULL, rig.now), -EINVAL);
	req = ok;
	req.timeout_ms = 0;
	assert_int_equal(mad_request(a, &req, NULL, rig.now), -EINVAL);
	req = ok;
	req.done = NULL;
	assert_int_equal(mad_request(a, &req, NULL, rig.now), -EINVAL);
	mad[1] = MAD_CLASS_SM_LID; /* a class that QP1 does not have */
	assert_int_equal(mad_request(a, &ok, NULL, rig.now), -EINVAL);
	rig_mad_hdr(mad, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET_RESP, 0);
	assert_int_equal(mad_request(a, &ok, NULL, rig.now), -EINVAL);
	assert_int_equal(rig.n, 0);
}

static void test_deleting_an_agent_cancels_its_requests(void **state)
{
	struct mad_agent *a = agent(0, MAD_CLASS_SA, SA_VERSION, 0);

	(void)state;
	request(a, MAD_METHOD_GET, 0);
	request(a, MAD_METHOD_GET, 0);
	mad_agent_del(a);
	assert_int_equal(got.calls, 2);
	assert_int_equal(got.status, -ECANCELED);
	mad_agent_del(NULL);
}

/*
 * The agent under test. When a request of the agent ends, the completion function deletes the
 * agent. This cancels the agent's other requests. When the function is called for a cancelled
 * request, it tries to send a new request, which must be refused.
 */
static struct mad_agent *suicidal;

static void done_removes_agent(void *ctx, int status, const struct mad_addr *from, const void *mad,
			       size_t len, ns_t now)
{
	uint8_t again[MAD_LEN] = { 0 };
	struct mad_req req = request_of(again, 0);

	rig_done(ctx, status, from, mad, len, now);
	if (status == -ECANCELED) {
		rig_mad_hdr(again, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET, 0);
		assert_int_equal(mad_request(suicidal, &req, NULL, now), -EBUSY);
	}
	mad_agent_del(suicidal);
}

static void test_done_may_delete_its_agent(void **state)
{
	uint8_t mad[MAD_LEN] = { 0 };
	struct mad_req req = request_of(mad, 0);

	(void)state;
	suicidal = agent(0, MAD_CLASS_SA, SA_VERSION, 0);
	rig_mad_hdr(mad, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET, 0);
	req.done = done_removes_agent;
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(mad_request(suicidal, &req, NULL, rig.now), 0);
	rig_run(&rig, NS_SEC(1));
	assert_int_equal(got.calls, 3);
	assert_int_equal(got.status, -ECANCELED);
}

static void recv_removes_agent(void *ctx, const struct mad_addr *from, const void *mad, size_t len,
			       ns_t now)
{
	rig_recv(ctx, from, mad, len, now);
	mad_agent_del(suicidal);
}

static void test_recv_may_delete_its_agent(void **state)
{
	struct mad_agent *a = agent(0, MAD_CLASS_SA, SA_VERSION, 0);
	struct mad_agent_cfg c = {
		.qp = 1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = SA_VERSION,
		.recv = recv_removes_agent,
		.ctx = &heard,
	};

	(void)state;
	mad_agent_cfg_method(&c, MAD_METHOD_GET);
	assert_int_equal(mad_agent_add(rig.end[1].ep, &c, &suicidal), 0);
	request(a, MAD_METHOD_GET, 1);
	rig_run(&rig, NS_SEC(1));
	assert_int_equal(heard.calls, 1);
	assert_int_equal(mad_ep_stats(rig.end[1].ep)->rx_unclaimed, 1);
}

static void test_agents_share_a_class_by_methods(void **state)
{
	struct mad_agent_cfg c = {
		.qp = 1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = SA_VERSION,
		.recv = rig_recv,
		.ctx = &heard,
	};
	struct mad_agent *a, *b;

	(void)state;
	mad_agent_cfg_method(&c, MAD_METHOD_REPORT);
	assert_int_equal(mad_agent_add(rig.end[0].ep, &c, &a), 0);
	assert_int_equal(mad_agent_add(rig.end[0].ep, &c, &b), -EBUSY);
	c.class_version++;
	assert_int_equal(mad_agent_add(rig.end[0].ep, &c, &b), 0);
	mad_agent_del(b);
	c.class_version--;
	c.methods[0] = 0;
	mad_agent_cfg_method(&c, MAD_METHOD_GET);
	assert_int_equal(mad_agent_add(rig.end[0].ep, &c, &b), 0);
	mad_agent_del(a);
	mad_agent_cfg_method(&c, MAD_METHOD_REPORT);
	assert_int_equal(mad_agent_add(rig.end[0].ep, &c, &a), -EBUSY);
}

static void test_shared_methods_reach_everybody(void **state)
{
	struct rig_got first = { 0 }, second = { 0 };
	struct mad_agent_cfg c = {
		.qp = 1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = SA_VERSION,
		.shared = true,
		.recv = rig_recv,
		.ctx = &first,
	};
	struct mad_agent *shared, *own, *third;

	(void)state;
	mad_agent_cfg_method(&c, MAD_METHOD_REPORT);
	assert_int_equal(mad_agent_add(rig.end[1].ep, &c, &shared), 0);
	c.shared = false;
	c.ctx = &second;
	assert_int_equal(mad_agent_add(rig.end[1].ep, &c, &own), 0);
	assert_int_equal(mad_agent_add(rig.end[1].ep, &c, &third), -EBUSY);
	request(agent(0, MAD_CLASS_SA, SA_VERSION, 0), MAD_METHOD_REPORT, 0);
	rig_run(&rig, 2 * WIRE_DELAY);
	assert_int_equal(first.calls, 1);
	assert_int_equal(second.calls, 1);
	mad_agent_del(own);
	mad_agent_del(shared);
	rig_got_clear(&first);
	rig_got_clear(&second);
}

/*
 * The high half of the TID on the wire must be the id of the agent. The low half must be the low
 * half of the application's TID, as in the kernel's ib_umad. So an agent cannot have two open
 * requests whose TIDs have the same low half.
 */
static void test_kept_tid_is_the_low_half_once_per_agent(void **state)
{
	struct mad_agent *a = agent(0, MAD_CLASS_SA, SA_VERSION, 0);
	struct mad_agent *b = agent(0, MAD_CLASS_SA, SA_VERSION, 0);
	uint8_t mad[MAD_LEN] = { 0 };
	struct mad_req req = request_of(mad, 0);

	(void)state;
	req.keep_tid = true;
	rig_mad_hdr(mad, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET, 0x7777777712345678);
	assert_int_equal(mad_request(a, &req, NULL, rig.now), 0);
	assert_int_equal(mad_tid(rig.seen[0].mad), (uint64_t)mad_agent_id(a) << 32 | 0x12345678);
	assert_int_equal(mad_request(a, &req, NULL, rig.now), -EEXIST);
	assert_int_equal(mad_request(b, &req, NULL, rig.now), 0);
	assert_int_equal(mad_tid(rig.seen[1].mad), (uint64_t)mad_agent_id(b) << 32 | 0x12345678);
}

static void test_agent_refuses_nonsense(void **state)
{
	struct mad_agent_cfg ok = {
		.qp = 1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = SA_VERSION,
		.recv = rig_recv,
	};
	struct mad_agent_cfg c;
	struct mad_agent *a;

	(void)state;
	c = ok;
	c.qp = 0;
	assert_int_equal(mad_agent_add(rig.end[0].ep, &c, &a), -EINVAL);
	c = ok;
	c.mgmt_class = MAD_CLASS_SM_LID;
	assert_int_equal(mad_agent_add(rig.end[0].ep, &c, &a), -EINVAL);
	c = ok;
	c.mgmt_class = MAD_CLASS_PERF;
	c.rmpp = true; /* MADs of class PerfMgt have no RMPP header */
	assert_int_equal(mad_agent_add(rig.end[0].ep, &c, &a), -EINVAL);
	c = ok;
	c.recv = NULL;
	mad_agent_cfg_method(&c, MAD_METHOD_GET);
	assert_int_equal(mad_agent_add(rig.end[0].ep, &c, &a), -EINVAL);
	c = ok;
	c.mgmt_class = 0; /* an agent that registers methods must have a class */
	mad_agent_cfg_method(&c, MAD_METHOD_GET);
	assert_int_equal(mad_agent_add(rig.end[0].ep, &c, &a), -EINVAL);
	c = ok;
	c.rmpp = c.user_rmpp = true;
	assert_int_equal(mad_agent_add(rig.end[0].ep, &c, &a), -EINVAL);
}

static void test_smp_classes_are_one_registration(void **state)
{
	struct mad_agent *a = agent(0, MAD_CLASS_SM_DR, 1, MAD_METHOD_TRAP);
	struct mad_addr from = mad_addr_smp_lid(2);
	uint8_t mad[MAD_LEN] = { 0 };

	(void)a;
	(void)state;
	rig_mad_hdr(mad, MAD_CLASS_SM_LID, 1, MAD_METHOD_TRAP, 5);
	assert_int_equal(mad_ep_recv(rig.end[0].ep, &from, mad, rig.now), 0);
	rig_mad_hdr(mad, MAD_CLASS_SM_DR, 1, MAD_METHOD_TRAP, 5);
	assert_int_equal(mad_ep_recv(rig.end[0].ep, &from, mad, rig.now), 0);
	assert_int_equal(heard.calls, 2);
	/* The agent is on QP0 only, so a MAD of its class on QP1 must be refused. */
	from.qp = 1;
	assert_int_equal(mad_ep_recv(rig.end[0].ep, &from, mad, rig.now), -EBADMSG);
	from.qp = 0;
	rig_mad_hdr(mad, MAD_CLASS_SA, 2, MAD_METHOD_TRAP, 5);
	assert_int_equal(mad_ep_recv(rig.end[0].ep, &from, mad, rig.now), -EBADMSG);
	rig_mad_hdr(mad, MAD_CLASS_SM_LID, 1, MAD_METHOD_TRAP, 5);
	mad[0] = 2;
	assert_int_equal(mad_ep_recv(rig.end[0].ep, &from, mad, rig.now), -EBADMSG);
	assert_int_equal(mad_ep_stats(rig.end[0].ep)->rx_malformed, 3);
}

/*
 * The SMP classes 0x01 and 0x81 can each have an agent of their own, as in the kernel's ib_mad,
 * because OpenSM registers two agents.
 */
static void test_smp_classes_may_be_two_registrations(void **state)
{
	struct mad_agent_cfg c = {
		.mgmt_class = MAD_CLASS_SM_LID,
		.class_version = 1,
		.one_class = true,
		.recv = rig_recv,
		.ctx = &heard,
	};
	struct mad_addr from = mad_addr_smp_lid(2);
	struct rig_got other = { 0 };
	uint8_t mad[MAD_LEN] = { 0 };
	struct mad_agent *lid, *dr, *x;

	(void)state;
	mad_agent_cfg_method(&c, MAD_METHOD_GET);
	assert_int_equal(mad_agent_add(rig.end[0].ep, &c, &lid), 0);
	c.mgmt_class = MAD_CLASS_SM_DR;
	c.ctx = &other;
	assert_int_equal(mad_agent_add(rig.end[0].ep, &c, &dr), 0);
	assert_int_equal(mad_agent_add(rig.end[0].ep, &c, &x), -EBUSY);
	c.one_class = false;
	assert_int_equal(mad_agent_add(rig.end[0].ep, &c, &x), -EBUSY);
	rig_mad_hdr(mad, MAD_CLASS_SM_DR, 1, MAD_METHOD_GET, 5);
	assert_int_equal(mad_ep_recv(rig.end[0].ep, &from, mad, rig.now), 0);
	assert_int_equal(heard.calls, 0);
	assert_int_equal(other.calls, 1);
	mad[1] = MAD_CLASS_SM_LID;
	assert_int_equal(mad_ep_recv(rig.end[0].ep, &from, mad, rig.now), 0);
	assert_int_equal(heard.calls, 1);
	assert_int_equal(other.calls, 1);
	mad_agent_del(dr);
	rig_got_clear(&other);
}

/*
 * An agent need not be registered for any class, and may send MADs of every class that its QP has,
 * as in the kernel's ib_mad.
 */
static void test_agent_sends_any_class_of_its_qp(void **state)
{
	struct mad_agent *a = agent(0, 0, 0, 0), *b = agent(0, MAD_CLASS_SA, SA_VERSION, 0);
	struct mad_agent *pm = agent(1, MAD_CLASS_PERF, 1, MAD_METHOD_GET);
	uint8_t mad[MAD_LEN] = { 0 };
	struct mad_req req = request_of(mad, 0);

	(void)state;
	rig_mad_hdr(mad, MAD_CLASS_PERF, 1, MAD_METHOD_GET, 0);
	assert_int_equal(mad_request(a, &req, NULL, rig.now), 0);
	rig_run(&rig, WIRE_DELAY);
	answer(pm, MAD_METHOD_GET_RESP);
	rig_run(&rig, WIRE_DELAY);
	assert_int_equal(got.calls, 1);
	assert_int_equal(got.status, 0);
	assert_int_equal(mad_request(b, &req, NULL, rig.now), 0);
	rig_run(&rig, WIRE_DELAY);
	answer(pm, MAD_METHOD_GET_RESP);
	rig_run(&rig, WIRE_DELAY);
	assert_int_equal(got.calls, 2);
	assert_int_equal(got.status, 0);
}

static void test_quota_limits_agents_together(void **state)
{
	struct mad_quota all = { .max_open = 2, .max_octets = 1000 };
	struct mad_quota own = { .up = &all, .max_open = 9, .max_octets = 600 };
	struct mad_agent_cfg c = {
		.qp = 1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = SA_VERSION,
		.rmpp = true,
		.quota = &own,
	};
	struct mad_addr to = mad_addr_gmp(2, 0);
	uint8_t mad[700] = { 0 };
	struct mad_req req = request_of(mad, 0);
	struct mad_agent *a, *b;

	(void)state;
	assert_int_equal(mad_agent_add(rig.end[0].ep, &c, &a), 0);
	c.quota = &all;
	assert_int_equal(mad_agent_add(rig.end[0].ep, &c, &b), 0);
	rig_mad_hdr(mad, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET_TABLE_RESP, 1);
	assert_int_equal(mad_reply(a, &to, mad, 601, rig.now), -EBUSY);
	assert_int_equal(mad_reply(a, &to, mad, 600, rig.now), 0);
	assert_int_equal(own.octets, 600);
	mad[15] = 2; /* another TID */
	assert_int_equal(mad_reply(b, &to, mad, 401, rig.now), -EBUSY);
	rig_mad_hdr(mad, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET, 2);
	assert_int_equal(mad_request(b, &req, NULL, rig.now), 0);
	assert_int_equal(mad_request(b, &req, NULL, rig.now), -EBUSY);
	assert_int_equal(all.open, 2);
	mad_agent_del(b);
	assert_int_equal(all.open, 1);
	all.max_open = 1;
	mad[15] = 3;
	assert_int_equal(mad_request(a, &req, NULL, rig.now), -EBUSY);
	own.min_open = 2; /* two requests are allowed now, whatever the quota "all" says */
	assert_int_equal(mad_request(a, &req, NULL, rig.now), 0);
	assert_int_equal(mad_request(a, &req, NULL, rig.now), -EBUSY);
	rig_run(&rig, NS_SEC(20)); /* nobody answers or sends an ACK */
	assert_int_equal(own.open + all.open, 0);
	assert_int_equal(own.octets + all.octets, 0);
}

static void test_vendor_classes_are_told_apart_by_oui(void **state)
{
	struct mad_agent_cfg c = {
		.qp = 1,
		.mgmt_class = 0x33,
		.class_version = 1,
		.oui = 0x001405,
		.recv = rig_recv,
		.ctx = &heard,
	};
	struct mad_addr from = mad_addr_gmp(2, 0);
	struct mad_agent *a, *b;
	struct rig_got other = { 0 };
	uint8_t mad[MAD_LEN] = { 0 };

	(void)state;
	mad_agent_cfg_method(&c, MAD_METHOD_SET);
	assert_int_equal(mad_agent_add(rig.end[0].ep, &c, &a), 0);
	c.oui = 0x00066a;
	c.ctx = &other;
	assert_int_equal(mad_agent_add(rig.end[0].ep, &c, &b), 0);
	rig_mad_hdr(mad, 0x33, 1, MAD_METHOD_SET, 1);
	mad[38] = 0x06;
	mad[39] = 0x6a;
	assert_int_equal(mad_ep_recv(rig.end[0].ep, &from, mad, rig.now), 0);
	assert_int_equal(other.calls, 1);
	assert_int_equal(heard.calls, 0);
	mad[39] = 0x6b;
	assert_int_equal(mad_ep_recv(rig.end[0].ep, &from, mad, rig.now), -ENOENT);
	rig_got_clear(&other);
}

static void test_reply_keeps_the_tid_and_tells_of_failure(void **state)
{
	struct mad_agent *a = agent(0, MAD_CLASS_SA, SA_VERSION, 0);
	struct mad_addr to = mad_addr_gmp(2, 0);
	uint8_t mad[MAD_LEN] = { 0 };

	(void)state;
	rig_mad_hdr(mad, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET_RESP, 0xabcdef0123456789ull);
	assert_int_equal(mad_reply(a, &to, mad, MAD_LEN, rig.now), 0);
	assert_memory_equal(rig.seen[0].mad, mad, MAD_LEN);
	assert_int_equal(mad_reply(a, &to, mad, MAD_LEN - 1, rig.now), -EINVAL);
	rig.send_err = -ENETDOWN;
	assert_int_equal(mad_reply(a, &to, mad, MAD_LEN, rig.now), -ENETDOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test_setup_teardown(test_request_is_answered, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tids_are_unique_and_name_their_agent, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_response_must_have_tid_class_and_method_pair,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_response_must_come_from_where_the_request_went,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_method_pairs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_silence_is_retried_with_the_same_tid, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_failure_to_send_is_retried, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cancelled_request_is_forgotten, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_done_is_never_called_inside_request, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_limit_of_open_requests, setup, teardown),
		cmocka_unit_test_setup_teardown(test_request_refuses_nonsense, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deleting_an_agent_cancels_its_requests, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_done_may_delete_its_agent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_recv_may_delete_its_agent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_agents_share_a_class_by_methods, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_shared_methods_reach_everybody, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_kept_tid_is_the_low_half_once_per_agent, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_agent_refuses_nonsense, setup, teardown),
		cmocka_unit_test_setup_teardown(test_smp_classes_are_one_registration, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_smp_classes_may_be_two_registrations, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_agent_sends_any_class_of_its_qp, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_quota_limits_agents_together, setup, teardown),
		cmocka_unit_test_setup_teardown(test_vendor_classes_are_told_apart_by_oui, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_reply_keeps_the_tid_and_tells_of_failure,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

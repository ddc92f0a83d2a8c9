/* SPDX-License-Identifier: BSD-2-Clause */
#include "cm/cm.h"

#include "check.h"
#include "mad_rig.h"

/*
 * Tests SIDR in the agent of the communication manager (CM). A wire in memory connects two such
 * agents, a client and a server.
 */

#define CLIENT 1
#define SERVER 2
#define ID 0x0200000000001234ull
#define PKEY 0x8001

struct world {
	struct rig net;
	struct cm *client, *server;
	struct cm_service service;
	unsigned int asked;
	struct cm_request q;
	unsigned int done;
	int status;
	struct sidr_rep rep;
};

static struct world w;

static void answer(struct cm_service *v, const struct mad_addr *from, const struct sidr_req *req,
		   struct sidr_rep *ret, ns_t now)
{
	w.asked++;
	assert_int_equal(ret->request_id, req->request_id);
	ret->status = SIDR_STATUS_OK;
	ret->qpn = 0x123456;
	ret->qkey = 0x0b1b;
	ret->priv[0] = req->priv[0];
	ret->priv[SIDR_REP_PRIVATE_LEN - 1] = 0xee;
}

static void done(struct cm_request *q, int status, const struct sidr_rep *rep, ns_t now)
{
	w.done++;
	w.status = status;
	if (rep)
		w.rep = *rep;
}

static struct cm *agent(unsigned int end, uint64_t seed)
{
	struct cm_cfg cfg = { .ep = w.net.end[end].ep, .timers = &w.net.timers, .seed = seed };
	struct cm *c;

	assert_int_equal(cm_create(&c, &cfg), 0);
	return c;
}

static int setup(void **state)
{
	memset(&w, 0, sizeof(w));
	rig_init(&w.net);
	w.client = agent(0, 1);
	w.server = agent(1, 2);
	w.service = (struct cm_service){ .id = ID, .pkey = PKEY, .answer = answer };
	assert_int_equal(cm_service_add(w.server, &w.service), 0);
	return 0;
}

static int teardown(void **state)
{
	cm_destroy(w.client);
	cm_destroy(w.server);
	rig_fini(&w.net);
	return 0;
}

static void ask(uint64_t id, uint16_t pkey)
{
	w.q = (struct cm_request){
		.to = mad_addr_gmp(SERVER, 0),
		.req = { .pkey = pkey, .service_id = id, .priv = { 0x77 } },
		.done = done,
	};
	assert_int_equal(cm_request(w.client, &w.q, w.net.now), 0);
}

static void test_request_is_answered_by_request_id(void **state)
{
	ask(ID, PKEY);
	assert_int_equal(w.done, 0);
	rig_run(&w.net, NS_SEC(1));
	assert_int_equal(w.done, 1);
	assert_int_equal(w.status, 0);
	assert_int_equal(w.rep.status, SIDR_STATUS_OK);
	assert_int_equal(w.rep.service_id, ID);
	assert_int_equal(w.rep.qpn, 0x123456);
	assert_int_equal(w.rep.priv[0], 0x77);
	assert_int_equal(w.rep.priv[SIDR_REP_PRIVATE_LEN - 1], 0xee);
	assert_int_equal(w.net.n, 2);
	assert_int_equal(cm_stats(w.server)->served, 1);
	/*
	 * The request and the answer must have the same TID, and the method of each must be Send.
	 */
	assert_int_equal(mad_method(w.net.seen[0].mad), MAD_METHOD_SEND);
	assert_int_equal(mad_method(w.net.seen[1].mad), MAD_METHOD_SEND);
	assert_int_equal(mad_tid(w.net.seen[0].mad), mad_tid(w.net.seen[1].mad));
	/* After the answer no more MADs are sent. */
	rig_run(&w.net, NS_SEC(10));
	assert_int_equal(w.done, 1);
	assert_int_equal(w.net.n, 2);
}

static unsigned int to_lose;

static bool lose_some(struct rig *r, uint16_t to, uint8_t *mad)
{
	return to_lose && to_lose--;
}

static void test_a_retry_keeps_request_id_and_tid(void **state)
{
	to_lose = 3;
	w.net.filter = lose_some;
	ask(ID, PKEY);
	rig_run(&w.net, NS_SEC(10));
	assert_int_equal(w.done, 1);
	assert_int_equal(w.status, 0);
	/* the wire saw three requests that were lost, one request that arrived, and the answer */
	assert_int_equal(w.net.n, 5);
	for (unsigned int i = 1; i < 4; i++)
		assert_memory_equal(w.net.seen[i].mad, w.net.seen[0].mad, MAD_LEN);
	assert_int_equal(cm_stats(w.client)->retries, 3);
}

static void test_silence_ends_with_timeout(void **state)
{
	w.net.mute = true;
	ask(ID, PKEY);
	rig_run(&w.net, NS_MSEC(CM_TRY_MS) * (CM_RETRIES + 1) - 1);
	assert_int_equal(w.done, 0);
	rig_run(&w.net, 1);
	assert_int_equal(w.done, 1);
	assert_int_equal(w.status, -ETIMEDOUT);
	assert_int_equal(w.net.n, CM_RETRIES + 1);
}

static void test_a_duplicate_gets_the_same_answer(void **state)
{
	struct sidr_req req = { .request_id = 5, .pkey = PKEY, .service_id = ID };
	struct mad_addr from = mad_addr_gmp(CLIENT, 0);
	uint8_t mad[MAD_LEN];

	sidr_req_encode(mad, 99, &req);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(mad_ep_recv(w.net.end[1].ep, &from, mad, w.net.now), 0);
		rig_run(&w.net, NS_SEC(1));
	}
	assert_int_equal(w.net.n, 3);
	assert_memory_equal(w.net.seen[1].mad, w.net.seen[0].mad, MAD_LEN);
	assert_memory_equal(w.net.seen[2].mad, w.net.seen[0].mad, MAD_LEN);
	assert_int_equal(mad_tid(w.net.seen[0].mad), 99);
}

static void test_an_unknown_service_or_partition_is_status_1(void **state)
{
	ask(ID + 1, PKEY);
	rig_run(&w.net, NS_SEC(1));
	assert_int_equal(w.rep.status, SIDR_STATUS_NO_SERVICE);
	assert_int_equal(w.rep.service_id, ID + 1);
	ask(ID, PKEY + 1);
	rig_run(&w.net, NS_SEC(1));
	assert_int_equal(w.done, 2);
	assert_int_equal(w.rep.status, SIDR_STATUS_NO_SERVICE);
	assert_int_equal(w.asked, 0);
	assert_int_equal(cm_stats(w.server)->refused, 2);
	/*
	 * A P_Key that differs only in the membership bit names the same partition, so the server
	 * must answer the request.
	 */
	ask(ID, PKEY & 0x7fff);
	rig_run(&w.net, NS_SEC(1));
	assert_int_equal(w.rep.status, SIDR_STATUS_OK);
}

static void test_a_port_that_serves_nothing_is_silent(void **state)
{
	cm_service_del(&w.service);
	assert_false(cm_serves(w.server));
	ask(ID, PKEY);
	rig_run(&w.net, NS_SEC(10));
	assert_int_equal(w.status, -ETIMEDOUT);
	assert_int_equal(cm_stats(w.server)->drop_no_server, CM_RETRIES + 1);
}

static void test_answers_that_do_not_fit_are_dropped(void **state)
{
	struct mad_addr from = mad_addr_gmp(SERVER, 0), other = mad_addr_gmp(7, 0);
	struct sidr_rep rep = { .service_id = ID };
	uint8_t mad[MAD_LEN];

	w.net.mute = true;
	ask(ID, PKEY);
	rep.request_id = w.q.req.request_id + 1;
	sidr_rep_encode(mad, w.q.tid, &rep);
	mad_ep_recv(w.net.end[0].ep, &from, mad, w.net.now);
	rep.request_id--;
	sidr_rep_encode(mad, w.q.tid, &rep);
	mad_ep_recv(w.net.end[0].ep, &other, mad, w.net.now);
	rep.service_id++;
	sidr_rep_encode(mad, w.q.tid, &rep);
	mad_ep_recv(w.net.end[0].ep, &from, mad, w.net.now);
	assert_int_equal(w.done, 0);
	assert_int_equal(cm_stats(w.client)->drop_late, 3);
	/*
	 * None of these MADs was accepted as the answer: the first has a wrong request ID, the
	 * second a wrong sender, and the third a wrong ServiceID. In the next MAD these three
	 * fields are right. This MAD must be accepted as the answer, although its TID is not the
	 * TID of the request.
	 */
	rep.service_id--;
	sidr_rep_encode(mad, 0, &rep);
	mad_ep_recv(w.net.end[0].ep, &from, mad, w.net.now);
	assert_int_equal(w.done, 1);
	mad_ep_recv(w.net.end[0].ep, &from, mad, w.net.now);
	assert_int_equal(w.done, 1);
	assert_int_equal(cm_stats(w.client)->drop_late, 4);
}

static void test_other_messages_are_dropped_and_counted(void **state)
{
	struct mad_addr from = mad_addr_gmp(CLIENT, 0);
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_CM,
		.class_version = CM_CLASS_VERSION,
		.method = MAD_METHOD_SEND,
	};
	uint8_t mad[MAD_LEN] = { 0 };

	for (uint16_t attr = CM_ATTR_REQ; attr <= CM_ATTR_DREP; attr++) {
		h.attr_id = attr;
		mad_hdr_encode(mad, &h);
		assert_int_equal(mad_ep_recv(w.net.end[1].ep, &from, mad, w.net.now), 0);
	}
	assert_int_equal(cm_stats(w.server)->drop_other, 7);
	assert_int_equal(w.net.n, 0);
	/*
	 * A MAD of another version of the class, or with another method, must not reach the CM's
	 * agent.
	 */
	h.class_version++;
	mad_hdr_encode(mad, &h);
	assert_int_equal(mad_ep_recv(w.net.end[1].ep, &from, mad, w.net.now), -ENOENT);
	h.class_version--;
	h.method = MAD_METHOD_GET;
	mad_hdr_encode(mad, &h);
	assert_int_equal(mad_ep_recv(w.net.end[1].ep, &from, mad, w.net.now), -ENOENT);
}

static void request_from(uint16_t lid, uint32_t id)
{
	struct sidr_req req = { .request_id = id, .pkey = PKEY, .service_id = ID };
	struct mad_addr from = mad_addr_gmp(lid, 0);
	uint8_t mad[MAD_LEN];

	sidr_req_encode(mad, id, &req);
	mad_ep_recv(w.net.end[1].ep, &from, mad, w.net.now);
}

static void test_a_flood_of_one_source_leaves_others_their_answers(void **state)
{
	w.net.mute = true;
	for (unsigned int i = 0; i < 100000; i++)
		request_from(9, i);
	assert_int_equal(w.asked, CM_SOURCE_BURST);
	assert_int_equal(cm_stats(w.server)->drop_paced, 100000 - CM_SOURCE_BURST);
	for (uint16_t lid = 10; lid < 60; lid++)
		request_from(lid, lid);
	assert_int_equal(w.asked, CM_SOURCE_BURST + 50);
	/* A second later the server must accept CM_SOURCE_RATE more requests from LID 9. */
	rig_run(&w.net, NS_SEC(1));
	for (unsigned int i = 0; i < 1000; i++)
		request_from(9, i);
	assert_in_range(w.asked, CM_SOURCE_BURST + 50 + CM_SOURCE_RATE,
			CM_SOURCE_BURST + 50 + CM_SOURCE_RATE + 1);
}

static void test_a_flood_of_forged_sources_has_bounded_state(void **state)
{
	w.net.mute = true;
	for (unsigned int i = 0; i < 200000; i++)
		request_from((uint16_t)(1 + i % 40000), i);
	assert_int_equal(w.asked, 200000);
	request_from(50, 1);
	assert_int_equal(w.asked, 200001);
}

/* Register an agent for the class of the CM at the server's port, as another program would */
static struct mad_agent *other_program(struct rig_got *got)
{
	struct mad_agent_cfg cfg = {
		.qp = IB_QP1,
		.mgmt_class = MAD_CLASS_CM,
		.class_version = CM_CLASS_VERSION,
		.recv = rig_recv,
		.ctx = got,
	};
	struct mad_agent *a;

	mad_agent_cfg_method(&cfg, MAD_METHOD_SEND);
	assert_int_equal(mad_agent_add(w.net.end[1].ep, &cfg, &a), 0);
	return a;
}

static void test_the_agent_shares_the_class_with_programs(void **state)
{
	struct rig_got got = { 0 };
	struct mad_agent *a = other_program(&got);

	ask(ID, PKEY);
	rig_run(&w.net, NS_SEC(1));
	assert_int_equal(w.status, 0);
	assert_int_equal(w.done, 1);
	assert_int_equal(got.calls, 1);
	rig_got_clear(&got);
	mad_agent_del(a);
}

/*
 * The server's agent does not know the ServiceID of the request. Another program on the same port
 * may serve this ServiceID, so the agent must not refuse the request.
 */
static void test_a_service_that_may_be_another_programs_is_not_refused(void **state)
{
	struct rig_got got = { 0 };
	struct mad_agent *a = other_program(&got);

	ask(ID + 1, PKEY);
	rig_run(&w.net, NS_SEC(10));
	assert_int_equal(w.done, 1);
	assert_int_equal(w.status, -ETIMEDOUT);
	assert_int_equal(got.calls, 1 + CM_RETRIES);
	assert_int_equal(cm_stats(w.server)->refused, 0);
	assert_int_equal(cm_stats(w.server)->drop_no_server, 1 + CM_RETRIES);
	/*
	 * The server's agent must still answer requests for its own services. After the other
	 * program has ended, the agent refuses unknown ServiceIDs again.
	 */
	ask(ID, PKEY);
	rig_run(&w.net, NS_SEC(1));
	assert_int_equal(w.rep.status, SIDR_STATUS_OK);
	rig_got_clear(&got);
	mad_agent_del(a);
	ask(ID + 1, PKEY);
	rig_run(&w.net, NS_SEC(1));
	assert_int_equal(w.status, 0);
	assert_int_equal(w.rep.status, SIDR_STATUS_NO_SERVICE);
}

/*
 * The port of the server has a second CM agent, which only sends requests. An interface on the port
 * of an SM has such an agent. The second agent must not count as another program that might serve
 * the ServiceID of a request.
 */
static void test_another_agent_for_questions_is_no_other_program(void **state)
{
	struct cm *asker = agent(1, 3);
	struct cm_request q = {
		.to = mad_addr_gmp(CLIENT, 0),
		.req = { .pkey = PKEY, .service_id = ID },
		.done = done,
	};

	assert_int_equal(cm_request(asker, &q, w.net.now), 0);
	rig_run(&w.net, NS_SEC(10));
	ask(ID + 1, PKEY);
	rig_run(&w.net, NS_SEC(1));
	assert_int_equal(w.status, 0);
	assert_int_equal(w.rep.status, SIDR_STATUS_NO_SERVICE);
	cm_destroy(asker);
}

static void test_services_are_unique(void **state)
{
	struct cm_service same = w.service, other = w.service;

	same.cm = other.cm = NULL;
	assert_int_equal(cm_service_add(w.server, &same), -EEXIST);
	assert_int_equal(cm_service_add(w.server, &w.service), -EEXIST);
	other.pkey = PKEY + 1;
	assert_int_equal(cm_service_add(w.server, &other), 0);
	cm_service_del(&other);
	cm_service_del(&other);
}

static void test_cancelled_requests_are_forgotten(void **state)
{
	ask(ID, PKEY);
	assert_int_equal(cm_request(w.client, &w.q, w.net.now), -EALREADY);
	cm_request_cancel(&w.q);
	cm_request_cancel(&w.q);
	rig_run(&w.net, NS_SEC(10));
	assert_int_equal(w.done, 0);
	assert_int_equal(cm_stats(w.client)->drop_late, 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_request_is_answered_by_request_id),
		T(test_a_retry_keeps_request_id_and_tid),
		T(test_silence_ends_with_timeout),
		T(test_a_duplicate_gets_the_same_answer),
		T(test_an_unknown_service_or_partition_is_status_1),
		T(test_a_port_that_serves_nothing_is_silent),
		T(test_answers_that_do_not_fit_are_dropped),
		T(test_other_messages_are_dropped_and_counted),
		T(test_a_flood_of_one_source_leaves_others_their_answers),
		T(test_a_flood_of_forged_sources_has_bounded_state),
		T(test_the_agent_shares_the_class_with_programs),
		T(test_a_service_that_may_be_another_programs_is_not_refused),
		T(test_another_agent_for_questions_is_no_other_program),
		T(test_services_are_unique),
		T(test_cancelled_requests_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Tests what is specific to src/verbs, one of the backends of ca.h: in particular faults of the
 * adapter and of libibverbs
 */

#include "verbs/verbs.h"

#include <errno.h>

#include "unit/verbs_rig.h"

#define QKEY 0x0b1b

static struct {
	struct ca_suite_env env;
	unsigned int events[CA_EVENT_DEVICE_BACK + 1], ready, room;
	struct ca_qp *a, *b;
	struct ca_ah *ah;
} t;

static void on_event(void *ctx, enum ca_event ev, ns_t now)
{
	t.events[ev]++;
}

static void on_ready(void *ctx, struct ca_qp *qp)
{
	t.ready++;
}

static void on_room(void *ctx, ns_t now)
{
	t.room++;
}

static const struct ca_notify notify = { .event = on_event, .ready = on_ready, .room = on_room };

static struct ca_qp *make_qp(unsigned int side, unsigned int depth)
{
	struct ca_qp_attr a = { .qkey = QKEY, .rx_depth = depth, .tx_depth = depth };
	struct ca_qp *qp = NULL;

	assert_int_equal(ca_qp_create(t.env.ca[side], &a, &t, &qp), 0);
	return qp;
}

static struct ca_ah_attr peer(void)
{
	struct ca_port_attr p;

	assert_int_equal(ca_port_query(t.env.ca[1], &p), 0);
	return (struct ca_ah_attr){ .dlid = p.lid, .dgid = p.gid, .hop_limit = 1 };
}

static int setup(void **state)
{
	void *ctx[2] = { &t, &t };
	struct ca_ah_attr attr;

	memset(&t, 0, sizeof(t));
	verbs_rig_open(&t.env, &notify, ctx);
	attr = peer();
	t.a = make_qp(0, 16);
	t.b = make_qp(1, 64);
	assert_int_equal(ca_ah_create(t.env.ca[0], &attr, &t.ah), 0);
	return 0;
}

static int teardown(void **state)
{
	verbs_rig_close(&t.env);
	return 0;
}

/* Post @n packets. Returns the number of packets that the queue pair took; the others are freed. */
static unsigned int post(unsigned int n, size_t len)
{
	static const uint8_t octets[4096];
	struct ca_send v[64];
	unsigned int taken;

	assert_true(n <= 64);
	for (unsigned int i = 0; i < n; i++) {
		v[i] = (struct ca_send){ pkt_from_data(t.env.pool, octets, len), t.ah,
					 ca_qp_num(t.b), QKEY };
		assert_non_null(v[i].pkt);
	}
	taken = ca_post_send(t.a, v, n, t.env.now);
	for (unsigned int i = taken; i < n; i++)
		pkt_free(v[i].pkt);
	return taken;
}

static unsigned int drain(void)
{
	struct ca_wc wc[16];
	unsigned int n, sum = 0;

	while ((n = ca_poll(t.b, wc, 16)))
		for (unsigned int i = 0; i < n; i++, sum++)
			pkt_free(wc[i].pkt);
	return sum;
}

static bool works(void)
{
	if (post(1, 32) != 1)
		return false;
	verbs_rig_run(&t.env);
	return drain() == 1;
}

static void test_a_full_send_queue_takes_no_more_and_tells_of_room(void **state)
{
	struct ca_send_queue q;

	fake.hold = true;
	assert_int_equal(post(40, 32), 16);
	assert_int_equal(post(1, 32), 0);
	q = ca_send_queue(t.env.ca[0]);
	assert_true(q.stalled);
	assert_int_equal(q.waiting, 16);
	verbs_rig_run(&t.env);
	assert_int_equal(t.room, 0);
	fake.hold = false;
	verbs_rig_run(&t.env);
	assert_int_equal(t.room, 1);
	q = ca_send_queue(t.env.ca[0]);
	assert_false(q.stalled);
	assert_int_equal(q.waiting, 0);
	assert_int_equal(q.sent, 16);
	assert_int_equal(drain(), 16);
	assert_true(works());
}

/*
 * The adapter does not send what is in its send queue. The caller restarts the queue pair, which
 * empties the send queue. The sends that were in it must not arrive later.
 */
static void test_a_flush_takes_back_what_the_adapter_has(void **state)
{
	fake.hold = true;
	assert_int_equal(post(5, 32), 5);
	assert_int_equal(ca_send_flush(t.env.ca[0], t.env.now), 5);
	assert_int_equal(ca_send_queue(t.env.ca[0]).waiting, 0);
	fake.hold = false;
	verbs_rig_run(&t.env);
	assert_int_equal(drain(), 0);
	assert_int_equal(ca_send_queue(t.env.ca[0]).sent, 0);
	assert_true(works());
}

/*
 * libibverbs accepts only the first work requests of a list. The caller must then keep the packets
 * of the other work requests.
 */
static void test_a_list_that_is_taken_in_part(void **state)
{
	for (unsigned int take = 0; take < 12; take++) {
		fake.take = take;
		assert_int_equal(post(12, 32), take);
		fake.take = FAKE_FOR_EVER;
		verbs_rig_run(&t.env);
		assert_int_equal(drain(), take);
		assert_int_equal(ca_send_queue(t.env.ca[0]).waiting, 0);
	}
}

static void test_a_packet_above_the_mtu_between_others(void **state)
{
	struct ca_send v[5];
	static const uint8_t octets[4096];

	for (unsigned int i = 0; i < 5; i++)
		v[i] = (struct ca_send){ pkt_from_data(t.env.pool, octets, i % 2 ? 3000 : 300),
					 t.ah, ca_qp_num(t.b), QKEY };
	assert_int_equal(ca_post_send(t.a, v, 5, t.env.now), 5);
	verbs_rig_run(&t.env);
	assert_int_equal(drain(), 3);
	assert_int_equal(verbs_stats(t.env.ca[0])->tx_too_long, 2);
}

/*
 * IBTA 10.3.1: a send that fails puts the queue pair into the state SQE, and the sends behind it in
 * the queue are flushed.
 */
static void test_a_send_with_an_error_stops_the_queue_for_a_moment(void **state)
{
	const struct verbs_stats *st = verbs_stats(t.env.ca[0]);
	struct ca_send_queue q;

	fake.hold = true;
	assert_int_equal(post(4, 32), 4);
	fake_fail_send(0);
	fake.hold = false;
	verbs_rig_run(&t.env);
	q = ca_send_queue(t.env.ca[0]);
	assert_int_equal(q.waiting, 0);
	assert_int_equal(q.sent, 0);
	assert_int_equal(st->tx_error, 4);
	assert_int_equal(st->qp_restarts, 1);
	assert_true(fake_qps_work(0));
	assert_int_equal(drain(), 0);
	assert_true(works());
}

static void test_a_queue_pair_in_the_error_state_is_restarted(void **state)
{
	fake_fail_qps(1);
	assert_int_equal(drain(), 0);
	assert_int_equal(verbs_stats(t.env.ca[1])->qp_restarts, 1);
	assert_true(fake_qps_work(1));
	for (unsigned int i = 0; i < 200; i++)
		assert_true(works());
	/* The same fault while sends are pending */
	fake.hold = true;
	assert_int_equal(post(3, 32), 3);
	fake_fail_qps(0);
	fake.hold = false;
	assert_int_equal(ca_send_queue(t.env.ca[0]).waiting, 0);
	assert_true(fake_qps_work(0));
	assert_true(works());
}

/*
 * A restart of a queue pair must neither use a receive buffer twice nor lose one. After the
 * restart, all buffers must be posted and usable.
 */
static void test_restarts_keep_all_buffers(void **state)
{
	for (unsigned int i = 0; i < 50; i++) {
		assert_int_equal(post(10, 32), 10);
		verbs_rig_run(&t.env);
		assert_int_equal(ca_qp_modify(t.b, 0, QKEY), 0);
		assert_int_equal(drain(), 0);
		assert_true(fake_qps_work(1));
		assert_true(works());
	}
}

/* A packet that arrives between the last poll and the arming of the CQ must not be missed. */
static void test_a_packet_that_arrives_while_arming_is_seen(void **state)
{
	assert_int_equal(post(1, 32), 1);
	fake.race = &t.env;
	assert_false(ca_arm(t.b));
	assert_int_equal(drain(), 1);
	assert_true(ca_arm(t.b));
	verbs_rig_run(&t.env);
	assert_int_equal(t.ready, 0);
	assert_int_equal(post(1, 32), 1);
	verbs_rig_run(&t.env);
	assert_int_equal(t.ready, 1);
	assert_int_equal(drain(), 1);
}

/* --- address handles */

static void test_equal_addresses_share_a_handle(void **state)
{
	struct ca_ah_attr attr = peer();
	struct ca_ah *more[3];
	int before = fake.objects;

	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(ca_ah_create(t.env.ca[0], &attr, &more[i]), 0);
	assert_int_equal(fake.objects, before);
	ca_ah_destroy(t.ah);
	for (unsigned int i = 1; i < 3; i++)
		ca_ah_destroy(more[i]);
	t.ah = more[0];
	assert_true(works());
}

static void test_handles_make_room_when_nobody_uses_them(void **state)
{
	struct ca_ah_attr attr = peer();
	struct ca_ah *ah[5];

	verbs_rig_close(&t.env);
	setup(state);
	fake.max_ah = 4; /* limit of the library, which no attribute of the device states */
	for (unsigned int i = 0; i < 3; i++) {
		attr.sl = (uint8_t)(i + 1);
		assert_int_equal(ca_ah_create(t.env.ca[0], &attr, &ah[i]), 0);
	}
	attr.sl = 9;
	assert_int_equal(ca_ah_create(t.env.ca[0], &attr, &ah[3]), -EAGAIN);
	ca_ah_destroy(ah[1]);
	assert_int_equal(ca_ah_create(t.env.ca[0], &attr, &ah[3]), 0);
	assert_int_equal(verbs_stats(t.env.ca[0])->ah_evicted, 1);
	/*
	 * An address handle that a pending send uses must continue to exist until the send has
	 * completed.
	 */
	fake.hold = true;
	assert_int_equal(post(1, 32), 1);
	ca_ah_destroy(t.ah);
	attr.sl = 10;
	assert_int_equal(ca_ah_create(t.env.ca[0], &attr, &ah[4]), -EAGAIN);
	fake.hold = false;
	verbs_rig_run(&t.env);
	assert_int_equal(drain(), 1);
	assert_int_equal(ca_send_queue(t.env.ca[0]).waiting, 0);
	assert_int_equal(ca_ah_create(t.env.ca[0], &attr, &ah[4]), 0);
}

/* The port keeps unused address handles for later users. Their number must be bounded. */
static void test_idle_handles_are_bounded(void **state)
{
	struct ca_ah_attr attr = peer();
	int before = fake.objects;

	attr.has_grh = true;
	for (unsigned int i = 0; i < 2000; i++) {
		struct ca_ah *ah;

		attr.flow_label = i;
		assert_int_equal(ca_ah_create(t.env.ca[0], &attr, &ah), 0);
		ca_ah_destroy(ah);
	}
	assert_int_equal(fake.objects - before, 256);
}

static void test_a_port_that_requires_a_grh_gets_one(void **state)
{
	struct ca_ah_attr attr = peer();
	struct ca_port_attr p;
	struct ca_wc wc;

	fake.grh_required = true;
	assert_int_equal(ca_port_query(t.env.ca[0], &p), 0);
	ca_ah_destroy(t.ah);
	attr.has_grh = false;
	assert_int_equal(ca_ah_create(t.env.ca[0], &attr, &t.ah), 0);
	assert_int_equal(post(1, 32), 1);
	verbs_rig_run(&t.env);
	assert_int_equal(ca_poll(t.b, &wc, 1), 1);
	assert_non_null(wc.grh);
	pkt_free(wc.pkt);
}

/* --- MADs */

struct answers {
	unsigned int ok, timeouts;
};

static void on_answer(void *ctx, int status, const struct mad_addr *from, const void *mad,
		      size_t len, ns_t now)
{
	struct answers *a = ctx;

	a->ok += !status;
	a->timeouts += status == -ETIMEDOUT;
}

static int ask(struct mad_agent *agent, uint16_t lid, struct answers *a)
{
	struct mad_hdr h = {
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = MAD_CLASS_PERF,
		.class_version = 1,
		.method = MAD_METHOD_GET,
		.attr_id = MAD_ATTR_CLASS_PORT_INFO,
	};
	uint8_t mad[MAD_LEN] = { 0 };
	struct mad_req q = {
		.to = mad_addr_gmp(lid, 0),
		.mad = mad,
		.len = MAD_LEN,
		.timeout_ms = 100,
		.retries = 3,
		.done = on_answer,
		.ctx = a,
	};

	mad_hdr_encode(mad, &h);
	return mad_request(agent, &q, NULL, t.env.now);
}

/*
 * Each try of a request must have a TID of its own, because the kernel refuses a request with the
 * TID of an open request.
 */
static void test_requests_that_are_repeated(void **state)
{
	struct mad_agent_cfg c = { .qp = 1, .mgmt_class = MAD_CLASS_PERF, .class_version = 1 };
	struct mad_agent *agent = NULL;
	struct answers a = { 0 };
	uint16_t lid = peer().dlid;

	assert_int_equal(mad_agent_add(ca_mad_ep(t.env.ca[0]), &c, &agent), 0);
	for (unsigned int i = 0; i < 3000; i++) {
		assert_int_equal(ask(agent, lid, &a), 0);
		verbs_rig_run(&t.env);
		assert_int_equal(a.ok, i + 1);
	}
	/* No port has the LID 0x99, so these requests time out. */
	assert_int_equal(ask(agent, 0x99, &a), 0);
	for (unsigned int i = 0; i < 50; i++) {
		t.env.now += NS_MSEC(20);
		verbs_rig_run(&t.env);
	}
	assert_int_equal(a.timeouts, 1);
	assert_int_equal(fake.refused_mads, 0);
	assert_int_equal(verbs_stats(t.env.ca[0])->mad_refused, 0);
	mad_agent_del(agent);
}

static void test_another_program_may_have_the_reports(void **state)
{
	verbs_rig_close(&t.env);
	fake_up(&t.env);
	fake.busy_class = MAD_CLASS_SA;
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(verbs_rig_open_port(&t.env, i, &notify, &t, &t.env.ca[i]), 0);
	t.a = make_qp(0, 16);
	t.b = make_qp(1, 64);
	assert_int_equal(
		ca_ah_create(t.env.ca[0], &(struct ca_ah_attr){ .dlid = peer().dlid }, &t.ah), 0);
	assert_true(works());
}

/* --- faults */

static void test_a_device_that_disappears(void **state)
{
	struct mad_agent_cfg c = { .qp = 1, .mgmt_class = MAD_CLASS_PERF, .class_version = 1 };
	struct ca_ah_attr attr = peer();
	struct mad_agent *agent = NULL;
	struct answers a = { 0 };
	struct ca_port_attr p;
	struct ca_qp *qp = NULL;
	struct ca_ah *ah = NULL;

	assert_int_equal(mad_agent_add(ca_mad_ep(t.env.ca[0]), &c, &agent), 0);
	fake.hold = true;
	assert_int_equal(post(5, 32), 5);
	assert_int_equal(ask(agent, attr.dlid, &a), 0);
	fake_remove(0);
	verbs_rig_run(&t.env);
	assert_int_equal(t.events[CA_EVENT_DEVICE_FATAL], 1);
	assert_int_equal(ca_port_query(t.env.ca[0], &p), 0);
	assert_int_equal(p.state, IB_PORT_DOWN);
	/*
	 * The port must behave like a port that is down: sends are accepted and lost, and no new
	 * object can be made.
	 */
	assert_int_equal(post(8, 32), 8);
	assert_int_equal(verbs_stats(t.env.ca[0])->tx_refused, 8);
	attr.sl = 5;
	assert_int_equal(ca_ah_create(t.env.ca[0], &attr, &ah), -EIO);
	assert_int_equal(
		ca_qp_create(t.env.ca[0], &(struct ca_qp_attr){ .rx_depth = 8 }, NULL, &qp), -EIO);
	assert_int_equal(ca_qp_modify(t.a, 0, QKEY), -EIO);
	assert_true(ca_arm(t.a));
	for (unsigned int i = 0; i < 100; i++) {
		t.env.now += NS_MSEC(20);
		verbs_rig_run(&t.env);
	}
	assert_int_equal(a.timeouts, 1);
	assert_int_equal(t.events[CA_EVENT_DEVICE_FATAL], 1);
	mad_agent_del(agent);
}

/*
 * Send one packet from B to the queue pair @qpn of A, or to a group to which A is attached. Returns
 * true if A received it.
 */
static bool reaches_a(const struct ca_ah_attr *to, uint32_t qpn)
{
	static const uint8_t octets[100];
	struct ca_send s = { .dest_qp = qpn, .qkey = QKEY };
	struct ca_wc wc[4];
	unsigned int n;

	assert_int_equal(ca_ah_create(t.env.ca[1], to, &s.ah), 0);
	s.pkt = pkt_from_data(t.env.pool, octets, sizeof(octets));
	assert_int_equal(ca_post_send(t.b, &s, 1, t.env.now), 1);
	verbs_rig_run(&t.env);
	n = ca_poll(t.a, wc, ARRAY_SIZE(wc));
	for (unsigned int i = 0; i < n; i++)
		pkt_free(wc[i].pkt);
	ca_ah_destroy(s.ah);
	return n == 1;
}

static const ib_gid group = { { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 1 } };

static struct ca_ah_attr to_port(unsigned int side)
{
	struct ca_port_attr p;

	assert_int_equal(ca_port_query(t.env.ca[side], &p), 0);
	return (struct ca_ah_attr){ .dlid = p.lid };
}

/*
 * The device has come back. On it, the queue pair, its group and the address handle that existed
 * before must work.
 */
static void works_again(void)
{
	struct ca_ah_attr mcast = { .dlid = CA_SUITE_MLID, .has_grh = true, .dgid = group };
	struct mad_agent_cfg c = { .qp = 1, .mgmt_class = MAD_CLASS_PERF, .class_version = 1 };
	struct ca_ah_attr self = to_port(0);
	struct mad_agent *agent = NULL;
	struct answers a = { 0 };

	assert_true(works());
	assert_true(reaches_a(&self, ca_qp_num(t.a)));
	assert_true(reaches_a(&mcast, IB_QPN_MCAST));
	assert_int_equal(mad_agent_add(ca_mad_ep(t.env.ca[0]), &c, &agent), 0);
	assert_int_equal(ask(agent, peer().dlid, &a), 0);
	verbs_rig_run(&t.env);
	assert_int_equal(a.ok, 1);
	mad_agent_del(agent);
	t.ready = 0;
	assert_true(ca_arm(t.a));
}

static void test_a_device_that_comes_back(void **state)
{
	char err[VERBS_ERR_MAX];
	struct ca_port_attr p;
	int objects;

	assert_int_equal(ca_attach(t.a, &group, CA_SUITE_MLID), 0);
	works_again();
	objects = fake.objects;
	for (unsigned int round = 1; round <= 3; round++) {
		uint32_t qpn = ca_qp_num(t.a);

		assert_false(verbs_lost(t.env.ca[0]));
		fake.hold = true;
		assert_int_equal(post(5, 32), 5);
		fake.hold = false;
		fake_remove(0);
		assert_true(verbs_rig_dispatch(&t.env));
		assert_true(verbs_lost(t.env.ca[0]));
		for (unsigned int i = 0; i < 3; i++) {
			assert_int_equal(verbs_reopen(t.env.ca[0], t.env.now, err), -EIO);
			assert_string_equal(err, "uverbs0: Input/output error");
			verbs_rig_run(&t.env);
			assert_int_equal(post(2, 32), 2); /* these packets are lost */
		}
		assert_int_equal(ca_qp_num(t.a), qpn);
		assert_int_equal(t.events[CA_EVENT_DEVICE_BACK], round - 1);
		fake_restore(0);
		assert_int_equal(verbs_reopen(t.env.ca[0], t.env.now, err), 0);
		assert_int_equal(t.events[CA_EVENT_DEVICE_BACK], round);
		assert_int_not_equal(ca_qp_num(t.a), qpn);
		assert_int_equal(ca_port_query(t.env.ca[0], &p), 0);
		assert_int_equal(p.state, IB_PORT_ACTIVE);
		works_again();
		assert_int_equal(fake.objects, objects);
	}
}

static void test_a_device_that_comes_back_when_memory_is_short(void **state)
{
	char err[VERBS_ERR_MAX];
	unsigned int i = 0, works_without = 0;

	assert_int_equal(ca_attach(t.a, &group, CA_SUITE_MLID), 0);
	do {
		if (!verbs_lost(t.env.ca[0])) {
			fake_remove(0);
			verbs_rig_run(&t.env);
			fake_restore(0);
		}
		fake.fail_in = ++i;
		if (!verbs_reopen(t.env.ca[0], t.env.now, err))
			works_without += !fake.fail_in;
		else
			assert_true(verbs_lost(t.env.ca[0]));
	} while (!fake.fail_in);
	assert_true(i > 10);
	/*
	 * In two cases the port works: if only its agent for the SA or only its agent for CM cannot
	 * be made.
	 */
	assert_int_equal(works_without, 2);
	fake.fail_in = 0;
	works_again();
}

/*
 * Between the failure of the device and its return, the callers detach from groups and destroy
 * their objects.
 */
static void test_a_device_comes_back_to_nothing(void **state)
{
	char err[VERBS_ERR_MAX];

	assert_int_equal(ca_attach(t.a, &group, CA_SUITE_MLID), 0);
	fake_remove(0);
	verbs_rig_run(&t.env);
	assert_int_equal(verbs_reopen(t.env.ca[0], t.env.now, err), -EIO);
	assert_int_equal(ca_detach(t.a, &group, CA_SUITE_MLID), 0);
	ca_ah_destroy(t.ah);
	ca_qp_destroy(t.a);
	fake_restore(0);
	assert_int_equal(verbs_reopen(t.env.ca[0], t.env.now, err), 0);
	t.a = make_qp(0, 16);
	assert_int_equal(
		ca_ah_create(t.env.ca[0], &(struct ca_ah_attr){ .dlid = peer().dlid }, &t.ah), 0);
	assert_int_equal(ca_attach(t.a, &group, CA_SUITE_MLID), 0);
	works_again();
}

/* Make all objects that a port can have. Returns the first error. */
static int make_everything(void)
{
	ib_gid mgid = { { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 1 } };
	struct ca_qp_attr qa = { .qkey = QKEY, .rx_depth = 8, .tx_depth = 8 };
	struct ca_ah_attr aa = { .dlid = 0x11 };
	struct ca_ah *ah = NULL;
	struct ca_qp *qp = NULL;
	struct ca *ca = NULL;
	int err = verbs_rig_open_port(&t.env, 0, &notify, &t, &ca);

	if (err)
		return err;
	err = ca_qp_create(ca, &qa, NULL, &qp);
	if (!err)
		err = ca_ah_create(ca, &aa, &ah);
	if (!err)
		err = ca_attach(qp, &mgid, CA_SUITE_MLID);
	if (!err)
		err = ca_qp_modify(qp, 0, QKEY + 1);
	ca_close(ca);
	return err;
}

static void test_out_of_memory_at_every_call(void **state)
{
	unsigned int calls;

	ca_close(t.env.ca[0]);
	t.env.ca[0] = NULL;
	fake.made = 0;
	assert_int_equal(make_everything(), 0);
	calls = fake.made;
	assert_true(calls >= 20);
	for (unsigned int i = 1; i <= calls; i++) {
		int before = fake.objects, err;

		fake.fail_in = i;
		err = make_everything();
		assert_true(err == -ENOMEM || err == -EAGAIN || !err);
		assert_int_equal(fake.objects, before);
		assert_int_equal(fake.fail_in, 0);
	}
	assert_int_equal(make_everything(), 0);
}

static void test_other_links_are_refused(void **state)
{
	struct ca *ca = NULL;

	ca_close(t.env.ca[0]);
	t.env.ca[0] = NULL;
	fake.link_layer = IBV_LINK_LAYER_ETHERNET;
	assert_int_equal(verbs_rig_open_port(&t.env, 0, &notify, &t, &ca), -EMEDIUMTYPE);
	fake.link_layer = IBV_LINK_LAYER_UNSPECIFIED;
	assert_int_equal(verbs_rig_open_port(&t.env, 0, &notify, &t, &t.env.ca[0]), 0);
}

/*
 * If a queue pair has attached twice to a group, it can detach twice. If a queue pair is destroyed,
 * it must be detached from all its groups.
 */
static void test_groups_of_a_queue_pair(void **state)
{
	ib_gid mgid = { { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 1 } };
	struct ca_qp *qp = make_qp(0, 8);
	int before = fake.objects;

	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(ca_attach(qp, &mgid, CA_SUITE_MLID), 0);
	assert_int_equal(ca_detach(qp, &mgid, CA_SUITE_MLID), 0);
	assert_int_equal(ca_detach(qp, &mgid, CA_SUITE_MLID), 0);
	assert_int_equal(ca_detach(qp, &mgid, CA_SUITE_MLID), -ENOENT);
	mgid.raw[15] = 2;
	assert_int_equal(ca_attach(qp, &mgid, CA_SUITE_MLID), 0);
	ca_qp_destroy(qp);
	assert_int_equal(fake.objects, before - 3); /* the queue pair and its CQs */
}

/*
 * The buffers of all queue pairs come from one arena. The first queue pairs must leave a part of it
 * for sends and for later queue pairs. A destroyed queue pair must return its part. There must be
 * room for an interface and 64 stations.
 */
static void test_many_queue_pairs_share_the_arena(void **state)
{
	struct ca_qp *qp[64];

	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < 64; i++)
			qp[i] = make_qp(0, 1024);
		fake.hold = true;
		assert_int_equal(post(16, 32), 16);
		fake.hold = false;
		verbs_rig_run(&t.env);
		assert_int_equal(drain(), 16);
		for (unsigned int i = 0; i < 64; i++)
			ca_qp_destroy(qp[i]);
	}
}

static void test_the_arena_ends(void **state)
{
	struct ca_qp_attr a = { .qkey = QKEY, .rx_depth = 1024, .tx_depth = 16 };
	struct ca_qp *qp;
	int objects = 0, err;

	do {
		objects = fake.objects;
		err = ca_qp_create(t.env.ca[0], &a, &t, &qp);
	} while (!err);
	assert_int_equal(err, -ENOBUFS);
	assert_int_equal(fake.objects, objects);
	assert_true(works());
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_a_full_send_queue_takes_no_more_and_tells_of_room),
		T(test_a_flush_takes_back_what_the_adapter_has),
		T(test_a_list_that_is_taken_in_part),
		T(test_a_packet_above_the_mtu_between_others),
		T(test_a_send_with_an_error_stops_the_queue_for_a_moment),
		T(test_a_queue_pair_in_the_error_state_is_restarted),
		T(test_restarts_keep_all_buffers),
		T(test_a_packet_that_arrives_while_arming_is_seen),
		T(test_equal_addresses_share_a_handle),
		T(test_handles_make_room_when_nobody_uses_them),
		T(test_idle_handles_are_bounded),
		T(test_a_port_that_requires_a_grh_gets_one),
		T(test_requests_that_are_repeated),
		T(test_another_program_may_have_the_reports),
		T(test_a_device_that_disappears),
		T(test_a_device_that_comes_back),
		T(test_a_device_that_comes_back_when_memory_is_short),
		T(test_a_device_comes_back_to_nothing),
		T(test_out_of_memory_at_every_call),
		T(test_other_links_are_refused),
		T(test_groups_of_a_queue_pair),
		T(test_many_queue_pairs_share_the_arena),
		T(test_the_arena_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

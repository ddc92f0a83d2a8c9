/* SPDX-License-Identifier: BSD-2-Clause */
#include "umad_rig.h"

/*
 * Tests whole RMPP messages in both directions, and limits for programs that do not read, or that
 * send too many requests.
 */

#define TID 0xdddddddd12345678ull
#define BIG (3u << 20)

static struct umad_rig rig;
static struct umad_conn *a, *b;
static struct umad_mad got;
static uint32_t asker, server;

static void start(const struct umad_limits *lim, uint8_t rmpp_a)
{
	umad_rig_init(&rig, lim);
	a = umad_rig_open(&rig, "a", 0);
	b = umad_rig_open(&rig, "b", 0);
	asker = umad_rig_agent(&rig, a, MAD_CLASS_SA, 2, rmpp_a, 0);
	server = umad_rig_agent(&rig, b, MAD_CLASS_SA, 2, 1, MAD_METHOD_GET_TABLE);
}

static int setup(void **state)
{
	(void)state;
	start(NULL, 1);
	return 0;
}

static int setup_small(void **state)
{
	const struct umad_limits lim = {
		.max_conns = 8,
		.max_queue = 4,
		.max_queue_octets = 5000,
		.max_all_octets = 9000,
		.max_open = 3,
		.max_open_octets = 4000,
		.port_max_open = 5,
		.port_max_open_octets = 6000,
	};

	(void)state;
	start(&lim, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	umad_conn_close(a, rig.now);
	umad_conn_close(b, rig.now);
	umad_rig_fini(&rig);
	return 0;
}

/* Make a message with an RMPP header as OpenSM makes it. The caller must free the message. */
static uint8_t *message(size_t len, uint8_t method, uint64_t tid, bool active)
{
	uint8_t *msg = malloc(len < MAD_LEN ? MAD_LEN : len), head[MAD_LEN];
	struct rmpp_hdr h = {
		.version = RMPP_VERSION,
		.type = RMPP_TYPE_DATA,
		.flags = active ? RMPP_FLAG_ACTIVE : 0,
	};

	assert_non_null(msg);
	umad_rig_mad(head, MAD_CLASS_SA, 2, method, SA_ATTR_NODE_RECORD, tid);
	rmpp_hdr_encode(head + SA_RMPP_OFF, &h);
	memcpy(msg, head, MAD_LEN);
	for (size_t i = SA_DATA_OFF; i < len; i++)
		msg[i] = (uint8_t)(i * 31 + (i >> 8) * 7);
	return msg;
}

static struct umad_mad to_b(uint32_t timeout_ms)
{
	struct umad_mad m = umad_rig_hdr(asker, 2, 1);

	m.timeout_ms = timeout_ms;
	return m;
}

/* Send a request from A to B. Returns the TID with which B's program received it. */
static uint64_t ask(uint64_t tid, uint32_t timeout_ms)
{
	struct umad_mad m = to_b(timeout_ms);
	uint8_t *msg = message(MAD_LEN, MAD_METHOD_GET_TABLE, tid, false);
	const uint8_t *p;

	assert_int_equal(umad_rig_write(&rig, a, &m, msg, MAD_LEN), 0);
	free(msg);
	umad_rig_run(&rig, WIRE_DELAY);
	p = umad_rig_read(b, &got);
	assert_non_null(p);
	assert_int_equal(got.id, server);
	assert_int_equal(got.data_len, MAD_LEN);
	return mad_tid(p);
}

static void answer(uint64_t tid, const uint8_t *msg, size_t len)
{
	struct umad_mad m = umad_rig_hdr(server, 1, 1);
	uint8_t *copy = malloc(len);

	assert_non_null(copy);
	memcpy(copy, msg, len);
	be64_put(copy + 8, tid);
	assert_int_equal(umad_rig_write(&rig, b, &m, copy, len), 0);
	free(copy);
}

/*
 * I20: tables arrive as whole messages. Some lengths are around the length of one segment, others
 * are long.
 */
static void test_I20_tables_come_whole(void **state)
{
	static const size_t lens[] = { 56,  57,	  255,	 256,	257,	455, 456,
				       457, 5000, 65536, 65537, 200000, BIG };

	(void)state;
	for (unsigned int i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		uint8_t *msg = message(lens[i], MAD_METHOD_GET_TABLE_RESP, 0, true);
		const uint8_t *p;

		answer(ask(TID + i, 1000), msg, lens[i]);
		umad_rig_run(&rig, NS_SEC(2));
		p = umad_rig_read(a, &got);
		assert_non_null(p);
		assert_int_equal(got.status, 0);
		assert_int_equal(got.id, asker);
		assert_int_equal(got.data_len, lens[i]);
		assert_int_equal(got.length, 64 + lens[i]);
		assert_int_equal(mad_tid(p) & UINT32_MAX, (TID + i) & UINT32_MAX);
		assert_memory_equal(p + SA_DATA_OFF, msg + SA_DATA_OFF, lens[i] - SA_DATA_OFF);
		free(msg);
	}
}

static void test_I20_requests_may_be_long_too(void **state)
{
	struct umad_mad m = to_b(1000);
	uint8_t *msg = message(3000, MAD_METHOD_GET_TABLE, TID, true);
	const uint8_t *p;

	(void)state;
	assert_int_equal(umad_rig_write(&rig, a, &m, msg, 3000), 0);
	umad_rig_run(&rig, NS_MSEC(100));
	p = umad_rig_read(b, &got);
	assert_non_null(p);
	assert_int_equal(got.data_len, 3000);
	assert_memory_equal(p + SA_DATA_OFF, msg + SA_DATA_OFF, 3000 - SA_DATA_OFF);
	memcpy(msg, p, SA_DATA_OFF);
	msg[3] = MAD_METHOD_GET_TABLE_RESP;
	answer(mad_tid(p), msg, 3000);
	umad_rig_run(&rig, NS_MSEC(100));
	p = umad_rig_read(a, &got);
	assert_non_null(p);
	assert_int_equal(got.data_len, 3000);
	free(msg);
}

/* A program that has set IB_USER_MAD_USER_RMPP when it registered must get single segments. */
static void test_user_rmpp_gets_segments(void **state)
{
	uint8_t *msg = message(600, MAD_METHOD_GET_TABLE_RESP, 0, true);
	struct umad_register reg = umad_rig_reg(MAD_CLASS_SA, 2, 1);
	struct rmpp_hdr h;
	const uint8_t *p;

	(void)state;
	reg.flags = 1;
	asker = (uint32_t)umad_rig_register(&rig, a, &reg);
	answer(ask(TID, 1000), msg, 600);
	umad_rig_run(&rig, NS_MSEC(10));
	p = umad_rig_read(a, &got);
	assert_non_null(p);
	assert_int_equal(got.id, asker);
	assert_int_equal(got.data_len, MAD_LEN);
	assert_int_equal(rmpp_hdr_decode(&h, p + SA_RMPP_OFF, SA_RMPP_LEN), 0);
	assert_int_equal(h.data1, 1);
	assert_true(h.flags & RMPP_FLAG_FIRST);
	/* The server must send no ACK, because this program sends its own ACKs. */
	assert_null(umad_rig_read(a, &got));
	free(msg);
}

static void test_answer_that_stops_is_asked_for_again(void **state)
{
	uint8_t *msg = message(BIG, MAD_METHOD_GET_TABLE_RESP, 0, true);

	(void)state;
	answer(ask(TID, 300), msg, BIG);
	umad_rig_run(&rig, NS_MSEC(50));
	assert_null(umad_rig_read(a, &got));
	rig.mute = true;
	umad_rig_run(&rig, NS_SEC(30));
	assert_non_null(umad_rig_read(a, &got));
	assert_int_equal(got.status, ETIMEDOUT);
	assert_int_equal(got.data_len, MAD_HDR_LEN);
	free(msg);
}

static void test_takes_what_will_be_sent(void **state)
{
	uint8_t *msg = message(3000, MAD_METHOD_GET_TABLE, TID, true);
	struct umad_mad m = to_b(0);

	(void)state;
	assert_true(umad_conn_takes(a, &m, sizeof(m), msg, 4000));
	assert_false(umad_conn_takes(a, &m, sizeof(m), msg, 4001));
	assert_false(umad_conn_takes(a, &m, sizeof(m) - 1, msg, 3000));
	assert_false(umad_conn_takes(a, &m, sizeof(m), msg, (size_t)UMAD_DATA_MAX + 1));
	m.id++;
	assert_false(umad_conn_takes(a, &m, sizeof(m), msg, 3000));
	m.id = UINT32_MAX;
	assert_false(umad_conn_takes(a, &m, sizeof(m), msg, 3000));
	m.id = asker;
	msg[SA_RMPP_OFF + 2] = 0;
	assert_false(umad_conn_takes(a, &m, sizeof(m), msg, 3000));
	free(msg);
}

static void test_memfd_that_was_not_read_is_counted(void **state)
{
	struct umad_mad m = to_b(0);
	struct umad_in in = { .msg = &m, .len = sizeof(m), .big_len = 70000 };

	(void)state;
	m.msg.len = sizeof(m);
	m.data_len = 70000;
	assert_int_equal(umad_conn_recv(a, &in, &rig.ans, rig.now), 0);
	assert_int_equal(umad_rig_stats(a).drops[UMAD_DROP_BUSY], 1);
	m.data_len = 69999;
	assert_int_equal(umad_conn_recv(a, &in, &rig.ans, rig.now), -EPROTO);
	in.big_len = 0;
	assert_int_equal(umad_conn_recv(a, &in, &rig.ans, rig.now), -EPROTO);
}

/*
 * Open requests are limited per file (an opened umad device) and per port. A request above either
 * limit must end with EBUSY. When the open requests have ended, a new request must succeed.
 */
static void test_requests_under_way_are_limited(void **state)
{
	struct umad_conn *c = umad_rig_open(&rig, "a", 0);
	uint32_t id = umad_rig_agent(&rig, c, MAD_CLASS_SA, 2, 1, 0);
	struct umad_mad m = to_b(1000);

	(void)state;
	rig.mute = true;
	for (unsigned int i = 0; i < 4; i++) {
		uint8_t *msg = message(MAD_LEN, MAD_METHOD_GET_TABLE, TID + i, false);

		umad_rig_write(&rig, a, &m, msg, MAD_LEN);
		m.id = id;
		umad_rig_write(&rig, c, &m, msg, MAD_LEN);
		m.id = asker;
		free(msg);
	}
	/* File a now has three open requests, and file c has two. The limit per port is five. */
	assert_int_equal(umad_rig_stats(a).sent, 3);
	assert_int_equal(umad_rig_stats(a).drops[UMAD_DROP_BUSY], 1);
	assert_int_equal(umad_rig_stats(c).sent, 2);
	assert_int_equal(umad_rig_stats(c).drops[UMAD_DROP_BUSY], 2);
	assert_non_null(umad_rig_read(a, &got));
	assert_int_equal(got.status, EBUSY);
	for (unsigned int i = 0; i < 2; i++) {
		assert_non_null(umad_rig_read(c, &got));
		assert_int_equal(got.status, EBUSY);
	}
	umad_conn_close(c, rig.now);
	umad_rig_run(&rig, NS_SEC(2));
	rig.mute = false;
	ask(TID, 10);
}

static void test_a_file_may_always_ask_a_little(void **state)
{
	struct umad_conn *c[300];
	unsigned int n = 0, asked = 0;
	struct umad_mad m = umad_rig_hdr(0, 2, 1);
	uint8_t *msg = message(MAD_LEN, MAD_METHOD_GET_TABLE, TID, false);

	(void)state;
	rig.mute = true;
	m.timeout_ms = 1000;
	while (n + 2 < umad_limits_default.max_conns) {
		c[n] = umad_rig_open(&rig, "a", 0);
		umad_rig_agent(&rig, c[n], MAD_CLASS_SA, 2, 1, 0);
		for (uint64_t k = 0; k < umad_limits_default.max_open; k++) {
			be64_put(msg + 8, k);
			umad_rig_write(&rig, c[n], &m, msg, MAD_LEN);
		}
		asked = (unsigned int)umad_rig_stats(c[n]).sent;
		assert_true(asked >= umad_limits_default.min_open);
		n++;
	}
	assert_int_equal(asked, umad_limits_default.min_open);
	while (n)
		umad_conn_close(c[--n], rig.now);
	free(msg);
}

static void test_queue_of_who_does_not_read_is_bounded(void **state)
{
	uint32_t id = umad_rig_agent(&rig, b, MAD_CLASS_SA, 2, 1, MAD_METHOD_REPORT);
	uint8_t *msg = message(MAD_LEN, MAD_METHOD_REPORT, TID, false);
	struct umad_mad m = to_b(0);
	struct umad_conn_info info;

	(void)state;
	for (unsigned int i = 0; i < 7; i++)
		umad_rig_write(&rig, a, &m, msg, MAD_LEN);
	umad_rig_run(&rig, WIRE_DELAY);
	umad_conn_info(b, &info);
	assert_int_equal(info.queued, 4);
	assert_int_equal(info.st.received, 4);
	assert_int_equal(info.st.drops[UMAD_DROP_QUEUE], 3);
	/*
	 * ready() was called once. The server may call it again only after the queue has been
	 * empty.
	 */
	assert_int_equal(rig.ready, 1);
	for (unsigned int i = 0; i < 4; i++) {
		assert_non_null(umad_rig_read(b, &got));
		assert_int_equal(got.id, id);
	}
	assert_null(umad_rig_read(b, &got));
	umad_rig_write(&rig, a, &m, msg, MAD_LEN);
	umad_rig_run(&rig, WIRE_DELAY);
	assert_int_equal(rig.ready, 2);
	umad_conn_lost(b);
	assert_int_equal(umad_rig_stats(b).drops[UMAD_DROP_MEM], 1);
	assert_null(umad_rig_read(b, &got));
	free(msg);
}

static void send_to(struct umad_conn *to, uint32_t lid, uint64_t tid, size_t len)
{
	struct umad_mad m = umad_rig_hdr(lid == 2 ? asker : server, (uint16_t)lid, 1);
	uint8_t *msg = message(len, MAD_METHOD_REPORT, tid, true);

	(void)to;
	assert_int_equal(umad_rig_write(&rig, lid == 2 ? a : b, &m, msg, len), 0);
	umad_rig_run(&rig, NS_MSEC(50));
	free(msg);
}

static void test_octets_of_queues_are_bounded(void **state)
{
	struct umad_stats sb, sa;

	(void)state;
	umad_rig_agent(&rig, a, MAD_CLASS_SA, 2, 1, MAD_METHOD_REPORT);
	umad_rig_agent(&rig, b, MAD_CLASS_SA, 2, 1, MAD_METHOD_REPORT);
	/* The limit of a file's queue is 5000 octets. */
	send_to(b, 2, 1, 3900);
	send_to(b, 2, 2, 3000); /* above the limit */
	send_to(b, 2, 3, 1000);
	sb = umad_rig_stats(b);
	assert_int_equal(sb.received, 2);
	assert_int_equal(sb.drops[UMAD_DROP_QUEUE], 1);
	send_to(a, 1, 4, 3900); /* 8800 octets in the queues of all files; the limit is 9000 */
	send_to(a, 1, 5, 300);
	sa = umad_rig_stats(a);
	assert_int_equal(sa.received, 1);
	assert_int_equal(sa.drops[UMAD_DROP_MEM], 1);
	assert_non_null(umad_rig_read(b, &got));
	send_to(a, 1, 6, 300);
	assert_int_equal(umad_rig_stats(a).received, 2);
}

static void test_queue_with_a_mad_above_its_limit_takes_no_other(void **state)
{
	const struct umad_limits lim = {
		.max_conns = 2,
		.max_queue = 4,
		.max_queue_octets = 1000,
		.max_all_octets = 2000,
		.max_open = 3,
		.max_open_octets = 4000,
		.port_max_open = 5,
		.port_max_open_octets = 6000,
	};
	struct umad_stats st;

	(void)state;
	start(&lim, 1);
	umad_rig_agent(&rig, a, MAD_CLASS_SA, 2, 1, MAD_METHOD_REPORT);
	umad_rig_agent(&rig, b, MAD_CLASS_SA, 2, 1, MAD_METHOD_REPORT);
	/* B's queue is empty, so it takes a MAD above .max_queue_octets and .max_all_octets. */
	send_to(b, 2, 1, 3900);
	send_to(b, 2, 2, MAD_LEN);
	send_to(a, 1, 3, MAD_LEN); /* the queues together are above their limit, too */
	st = umad_rig_stats(b);
	assert_int_equal(st.received, 1);
	assert_int_equal(st.drops[UMAD_DROP_QUEUE], 1);
	st = umad_rig_stats(a);
	assert_int_equal(st.received, 0);
	assert_int_equal(st.drops[UMAD_DROP_MEM], 1);
	assert_non_null(umad_rig_read(b, &got));
	send_to(b, 2, 4, MAD_LEN);
	assert_int_equal(umad_rig_stats(b).received, 2);
}

static void test_counts_of_closed_files_are_kept(void **state)
{
	struct umad_conn *c = umad_rig_open(&rig, "a", 0);
	struct umad_mad m = umad_rig_hdr(0, 2, 1);
	uint8_t data[40] = { 0 };

	(void)state;
	umad_rig_write(&rig, c, &m, data, sizeof(data));
	umad_conn_close(c, rig.now);
	assert_int_equal(umad_srv_closed(rig.srv)->drops[UMAD_DROP_MALFORMED], 1);
	for (int d = 0; d < UMAD_DROP_MAX; d++)
		assert_true(strlen(umad_drop_name((enum umad_drop)d)) > 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define L(name) cmocka_unit_test_teardown(name, teardown)
#define S(name) cmocka_unit_test_setup_teardown(name, setup_small, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_I20_tables_come_whole),
		T(test_I20_requests_may_be_long_too),
		T(test_user_rmpp_gets_segments),
		T(test_answer_that_stops_is_asked_for_again),
		S(test_takes_what_will_be_sent),
		T(test_memfd_that_was_not_read_is_counted),
		S(test_requests_under_way_are_limited),
		T(test_a_file_may_always_ask_a_little),
		S(test_queue_of_who_does_not_read_is_bounded),
		S(test_octets_of_queues_are_bounded),
		L(test_queue_with_a_mad_above_its_limit_takes_no_other),
		T(test_counts_of_closed_files_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "mad_rig.h"

#include "mad/priv.h"
#include "util/prng.h"

#define SA_VERSION 2
#define TIMEOUT_MS 2000
#define WINDOW 64
#define TABLE_MAX (SA_DATA_OFF + 2000 * SA_DATA_LEN)

static struct rig rig;
static struct rig_got got, heard;
static struct mad_agent *client, *server;
static uint8_t table[TABLE_MAX];
static struct prng prng;

static struct mad_agent *agent(unsigned int end, uint8_t mgmt_class, bool rmpp, bool serve)
{
	struct mad_agent_cfg c = {
		.qp = 1,
		.mgmt_class = mgmt_class,
		.class_version = SA_VERSION,
		.oui = mgmt_class == MAD_CLASS_SA ? 0 : 0x001405,
		.rmpp = rmpp,
		.recv = rig_recv,
		.ctx = &heard,
	};
	struct mad_agent *a;

	if (serve) {
		mad_agent_cfg_method(&c, MAD_METHOD_GET_TABLE);
		mad_agent_cfg_method(&c, MAD_METHOD_GET_MULTI);
	}
	assert_int_equal(mad_agent_add(rig.end[end].ep, &c, &a), 0);
	return a;
}

static int setup(void **state)
{
	(void)state;
	rig_init(&rig);
	client = agent(0, MAD_CLASS_SA, true, false);
	server = agent(1, MAD_CLASS_SA, true, true);
	prng_seed(&prng, 1);
	for (size_t i = 0; i < sizeof(table); i++)
		table[i] = (uint8_t)prng_u64(&prng);
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

static struct mad_tx *ask_len(uint8_t method, size_t len, unsigned int timeout_ms,
			      unsigned int retries)
{
	static uint8_t mad[TABLE_MAX];
	struct mad_req req = {
		.to = mad_addr_gmp(2, 0),
		.mad = mad,
		.len = len,
		.timeout_ms = timeout_ms,
		.retries = retries,
		.done = rig_done,
		.ctx = &got,
	};
	struct mad_tx *tx;

	memcpy(mad, table, sizeof(mad));
	rig_mad_hdr(mad, MAD_CLASS_SA, SA_VERSION, method, 0);
	assert_int_equal(mad_request(client, &req, &tx, rig.now), 0);
	return tx;
}

/* Send a GetTable from the client, and deliver it to the server */
static struct mad_tx *ask(unsigned int timeout_ms, unsigned int retries)
{
	struct mad_tx *tx = ask_len(MAD_METHOD_GET_TABLE, MAD_LEN, timeout_ms, retries);

	rig_run(&rig, WIRE_DELAY);
	assert_non_null(heard.msg);
	return tx;
}

/*
 * Write the headers of a GetTableResp into table[]. Active is the only RMPP flag, as in the headers
 * that an SA hands to its MAD layer
 */
static void table_headers(void)
{
	rig_mad_hdr(table, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET_TABLE_RESP, mad_tid(heard.msg));
	table[SA_RMPP_OFF + 2] = RMPP_FLAG_ACTIVE;
	be16_put(table + SA_HDR_OFF + 8, 25);
	for (unsigned int i = SA_DATA_OFF; i < MAD_LEN; i++)
		table[i] = (uint8_t)(i * 7);
}

static void answer(size_t data)
{
	table_headers();
	assert_int_equal(mad_reply(server, &heard.from, table, SA_DATA_OFF + data, rig.now), 0);
}

static void check_answered(size_t data)
{
	assert_int_equal(got.calls, 1);
	assert_int_equal(got.status, 0);
	assert_int_equal(got.len, SA_DATA_OFF + data);
	assert_memory_equal(got.msg + SA_DATA_OFF, table + SA_DATA_OFF, data);
	assert_memory_equal(got.msg + SA_HDR_OFF, table + SA_HDR_OFF, SA_HDR_LEN);
}

static struct rmpp_hdr rmpp_of(const uint8_t *mad)
{
	struct rmpp_hdr h;

	assert_int_equal(rmpp_hdr_decode(&h, mad + SA_RMPP_OFF, SA_RMPP_LEN), 0);
	return h;
}

static struct rmpp_hdr seen(unsigned int i)
{
	assert_true(i < rig.n);
	return rmpp_of(rig.seen[i].mad);
}

/*
 * Check that the last MAD on the wire is a STOP or an ABORT (@type) with @status, sent to LID @to
 */
static void check_refused(uint16_t to, enum rmpp_type type, enum rmpp_status status)
{
	struct rmpp_hdr h = seen(rig.n - 1);

	assert_int_equal(rig.seen[rig.n - 1].to, to);
	assert_int_equal(h.type, type);
	assert_int_equal(h.status, status);
	assert_int_equal(h.flags, RMPP_FLAG_ACTIVE);
}

static void test_I20_one_segment_has_flags_7_and_is_acknowledged(void **state)
{
	struct rmpp_hdr h;

	(void)state;
	ask(TIMEOUT_MS, 0);
	answer(120);
	h = seen(1);
	assert_int_equal(h.version, 1);
	assert_int_equal(h.type, RMPP_TYPE_DATA);
	assert_int_equal(h.flags, 7);
	assert_int_equal(h.data1, 1);
	assert_int_equal(h.data2, 140);
	rig_run(&rig, 2 * WIRE_DELAY);
	check_answered(120);
	h = seen(2);
	assert_int_equal(h.type, RMPP_TYPE_ACK);
	assert_int_equal(h.flags, RMPP_FLAG_ACTIVE);
	assert_int_equal(h.data1, 1);
	assert_int_equal(mad_method(rig.seen[2].mad), MAD_METHOD_GET_TABLE);
	assert_int_equal(mad_tid(rig.seen[2].mad), mad_tid(rig.seen[1].mad));
	rig_run(&rig, NS_SEC(30));
	assert_int_equal(rig.n, 3);
	assert_int_equal(heard.calls, 1);
}

static void test_I20_table_without_records_is_rmpp_too(void **state)
{
	(void)state;
	ask(TIMEOUT_MS, 0);
	answer(0);
	assert_int_equal(seen(1).flags, 7);
	assert_int_equal(seen(1).data2, 20);
	rig_run(&rig, 2 * WIRE_DELAY);
	check_answered(0);
}

static void test_I20_payload_length_counts_20_a_segment(void **state)
{
	const size_t data = 2 * SA_DATA_LEN + 64;

	(void)state;
	ask(TIMEOUT_MS, 0);
	answer(data);
	rig_run(&rig, NS_SEC(1));
	check_answered(data);
	/*
	 * The MADs on the wire, by their index: 0: request; 1: first segment; 2: ACK of segment 1;
	 * 3 and 4: other segments; 5: ACK of segments 2 and 3
	 */
	assert_int_equal(rig.n, 6);
	assert_int_equal(seen(1).flags, RMPP_FLAG_ACTIVE | RMPP_FLAG_FIRST);
	assert_int_equal(seen(1).data2, 3 * 20 + data);
	assert_int_equal(seen(3).flags, RMPP_FLAG_ACTIVE);
	assert_int_equal(seen(3).data2, 0);
	assert_int_equal(seen(4).flags, RMPP_FLAG_ACTIVE | RMPP_FLAG_LAST);
	assert_int_equal(seen(4).data1, 3);
	assert_int_equal(seen(4).data2, 20 + 64);
	for (unsigned int i = 64; i < SA_DATA_LEN; i++)
		assert_int_equal(rig.seen[4].mad[SA_DATA_OFF + i], 0);
}

static void test_I20_every_size_around_the_segment_boundaries(void **state)
{
	(void)state;
	for (size_t data = 0; data <= 3 * SA_DATA_LEN; data += data % SA_DATA_LEN < 3 ? 1 : 49) {
		ask(TIMEOUT_MS, 0);
		answer(data);
		rig_run(&rig, NS_SEC(1));
		check_answered(data);
		rig_got_clear(&got);
		rig_got_clear(&heard);
	}
}

static unsigned int in_flight, most_in_flight;
static uint32_t win_last;

/* Filter of the wire: fail if a segment is beyond the window of the last ACK. */
static bool watch_window(struct rig *r, uint16_t to, uint8_t *mad)
{
	struct rmpp_hdr h = rmpp_of(mad);

	(void)r;
	if (h.type == RMPP_TYPE_ACK) {
		assert_int_equal(to, 2);
		assert_true(h.data2 >= h.data1);
		win_last = h.data2;
		in_flight = 0;
	} else if (h.type == RMPP_TYPE_DATA && to == 1) {
		assert_true(h.data1 <= (win_last ? win_last : 1));
		if (++in_flight > most_in_flight)
			most_in_flight = in_flight;
	}
	return false;
}

static void test_I20_window(void **state)
{
	const size_t data = 1000 * SA_DATA_LEN;

	(void)state;
	in_flight = most_in_flight = 0;
	win_last = 0;
	ask(TIMEOUT_MS, 0);
	rig.filter = watch_window;
	answer(data);
	rig_run(&rig, NS_SEC(1));
	check_answered(data);
	assert_int_equal(most_in_flight, WINDOW);
	assert_int_equal(mad_ep_stats(rig.end[1].ep)->retries, 0);
}

static void test_I20_request_waits_while_segments_come(void **state)
{
	(void)state;
	/*
	 * The time-out of 5 ms is the longest time without progress, and not the longest time of
	 * the whole transfer. So sixteen windows must arrive, although their transfer takes longer
	 * than 5 ms.
	 */
	ask(5, 0);
	answer(1000 * SA_DATA_LEN);
	rig_run(&rig, NS_SEC(1));
	check_answered(1000 * SA_DATA_LEN);
	assert_int_equal(mad_ep_stats(rig.end[0].ep)->retries, 0);
}

static bool lossy(struct rig *r, uint16_t to, uint8_t *mad)
{
	(void)r;
	(void)to;
	(void)mad;
	return prng_chance(&prng, 150000);
}

static void test_I20_loss_of_anything_is_repaired(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		size_t data = seed * 977;

		ask(TIMEOUT_MS, 0);
		prng_seed(&prng, seed);
		rig.filter = lossy;
		answer(data);
		rig_run(&rig, NS_SEC(300));
		rig.filter = NULL;
		if (got.calls != 1 || got.status)
			fail_msg("seed %llu: %u calls, status %d", (unsigned long long)seed,
				 got.calls, got.status);
		check_answered(data);
		rig_got_clear(&got);
		rig_got_clear(&heard);
	}
}

static uint32_t lose_ack_of;

static bool lose_one_ack(struct rig *r, uint16_t to, uint8_t *mad)
{
	struct rmpp_hdr h = rmpp_of(mad);

	(void)r;
	(void)to;
	if (h.type != RMPP_TYPE_ACK || h.data1 != lose_ack_of)
		return false;
	lose_ack_of = 0;
	return true;
}

static void test_I20_lost_last_ack_is_repeated(void **state)
{
	(void)state;
	ask(TIMEOUT_MS, 0);
	rig.filter = lose_one_ack;
	lose_ack_of = 3;
	answer(3 * SA_DATA_LEN);
	rig_run(&rig, NS_SEC(30));
	assert_int_equal(lose_ack_of, 0);
	check_answered(3 * SA_DATA_LEN);
	assert_int_equal(mad_ep_stats(rig.end[1].ep)->retries, 1);
	assert_int_equal(mad_ep_stats(rig.end[1].ep)->rmpp_aborts, 0);
	assert_int_equal(seen(rig.n - 1).type, RMPP_TYPE_ACK);
	assert_int_equal(seen(rig.n - 1).data1, 3);
}

static bool deaf(struct rig *r, uint16_t to, uint8_t *mad)
{
	(void)r;
	(void)mad;
	return to == 1;
}

static void test_I20_silent_receiver_is_given_up(void **state)
{
	unsigned int before;

	(void)state;
	ask(TIMEOUT_MS, 0);
	before = rig.n;
	rig.filter = deaf;
	answer(500 * SA_DATA_LEN);
	rig_run(&rig, NS_SEC(60));
	/*
	 * The first segment must be sent once and repeated five times, and then an ABORT must be
	 * sent.
	 */
	assert_int_equal(rig.n - before, 7);
	for (unsigned int i = 0; i < 6; i++)
		assert_int_equal(seen(before + i).data1, 1);
	check_refused(1, RMPP_TYPE_ABORT, RMPP_STATUS_TMR);
	assert_int_equal(mad_method(rig.seen[rig.n - 1].mad), MAD_METHOD_GET_TABLE_RESP);
	assert_int_equal(mad_ep_stats(rig.end[1].ep)->rmpp_aborts, 1);
	assert_int_equal(got.status, -ETIMEDOUT);
	assert_int_equal(timers_next(&rig.timers), NS_NEVER);
}

static void test_I20_silent_receivers_cost_bounded_memory(void **state)
{
	struct mad_ep_limits lim = {
		.max_tx = 100,
		.max_rmpp_rx = 10,
		.max_rmpp_len = TABLE_MAX,
		.max_rmpp_tx_len = 3 * TABLE_MAX,
	};
	struct mad_addr to = mad_addr_gmp(1, 0);

	(void)state;
	ask(TIMEOUT_MS, 0);
	mad_ep_set_limits(rig.end[1].ep, &lim);
	rig.filter = deaf;
	table_headers();
	for (unsigned int i = 0; i < 5; i++) {
		be64_put(table + 8, i);
		assert_int_equal(mad_reply(server, &to, table, TABLE_MAX, rig.now),
				 i < 3 ? 0 : -EBUSY);
	}
	rig_run(&rig, NS_SEC(60));
	assert_int_equal(mad_reply(server, &to, table, TABLE_MAX, rig.now), 0);
	/* the number of simultaneous transfers is limited, too */
	lim.max_tx = 2;
	mad_ep_set_limits(rig.end[1].ep, &lim);
	be64_put(table + 8, 100);
	assert_int_equal(mad_reply(server, &to, table, 300, rig.now), 0);
	be64_put(table + 8, 101);
	assert_int_equal(mad_reply(server, &to, table, 300, rig.now), -EBUSY);
	be64_put(table + 8, 102);
	assert_int_equal(mad_reply(server, &to, table, TABLE_MAX + 1, rig.now), -EINVAL);
}

static void test_I20_repeated_request_gets_no_second_transfer(void **state)
{
	unsigned int n;

	(void)state;
	ask(TIMEOUT_MS, 0);
	answer(10 * SA_DATA_LEN);
	n = rig.n;
	answer(10 * SA_DATA_LEN);
	assert_int_equal(rig.n, n);
	rig_run(&rig, NS_SEC(1));
	check_answered(10 * SA_DATA_LEN);
	/* The first transfer has ended, so the server may send the same answer again. */
	n = rig.n;
	answer(10 * SA_DATA_LEN);
	assert_int_equal(rig.n, n + 1);
}

static bool only_first_segments(struct rig *r, uint16_t to, uint8_t *mad)
{
	struct rmpp_hdr h = rmpp_of(mad);

	(void)r;
	return to == 1 && h.type == RMPP_TYPE_DATA && h.data1 > 3;
}

static void test_I20_sender_that_stops_is_asked_again(void **state)
{
	(void)state;
	ask(TIMEOUT_MS, 1);
	rig.filter = only_first_segments;
	answer(10 * SA_DATA_LEN);
	rig_run(&rig, 2 * WIRE_DELAY);
	mad_agent_del(server);
	rig_run(&rig, NS_SEC(5) + NS_MSEC(10));
	/*
	 * The server is gone and sends no further segment. So the client must end its reception
	 * with an ABORT, and then repeat the request.
	 */
	assert_int_equal(seen(rig.n - 2).type, RMPP_TYPE_ABORT);
	assert_int_equal(seen(rig.n - 2).status, RMPP_STATUS_T2L);
	assert_int_equal(mad_method(rig.seen[rig.n - 1].mad), MAD_METHOD_GET_TABLE);
	assert_int_equal(seen(rig.n - 1).type, RMPP_TYPE_NONE);
	assert_int_equal(got.calls, 0);
	rig_run(&rig, NS_SEC(3));
	assert_int_equal(got.calls, 1);
	assert_int_equal(got.status, -ETIMEDOUT);
}

static uint8_t segment[MAD_LEN]; /* segment of a response that the test makes */

/*
 * Complete the segment with the RMPP header @h, and deliver it to the client's endpoint as if the
 * server had sent it.
 */
static int segment_recv(struct rmpp_hdr h)
{
	struct mad_addr from = mad_addr_gmp(2, 0);

	if (!h.version)
		h.version = 1;
	h.flags |= RMPP_FLAG_ACTIVE;
	rig_mad_hdr(segment, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET_TABLE_RESP,
		    mad_tid(rig.seen[0].mad));
	rmpp_hdr_encode(segment + SA_RMPP_OFF, &h);
	memset(segment + SA_DATA_OFF, (int)h.data1, SA_DATA_LEN);
	return mad_ep_recv(rig.end[0].ep, &from, segment, rig.now);
}

static int data_recv(uint32_t seg, uint8_t flags, uint32_t payload)
{
	return segment_recv((struct rmpp_hdr){
		.type = RMPP_TYPE_DATA, .flags = flags, .data1 = seg, .data2 = payload });
}

static void test_I20_bad_segments_are_aborted(void **state)
{
	static const struct {
		struct rmpp_hdr h;
		enum rmpp_status status;
		bool later; /* true: the bad segment arrives after a valid first segment */
	} bad[] = {
		{ { .type = 1, .flags = 0, .data1 = 1 }, RMPP_STATUS_BAD_FIRST, false },
		{ { .type = 1, .flags = 2, .data1 = 2 }, RMPP_STATUS_BAD_FIRST, true },
		{ { .type = 1, .flags = 0, .data1 = 0 }, RMPP_STATUS_BAD_FIRST, true },
		{ { .type = 1, .flags = 6, .data1 = 1, .data2 = 19 }, RMPP_STATUS_BAD_LEN, false },
		{ { .type = 1, .flags = 6, .data1 = 1, .data2 = 221 }, RMPP_STATUS_BAD_LEN, false },
		{ { .type = 1, .flags = 4, .data1 = 2, .data2 = 19 }, RMPP_STATUS_BAD_LEN, true },
		{ { .type = 1, .flags = 2, .data1 = 1, .status = 1 },
		  RMPP_STATUS_BAD_STATUS,
		  false },
	};

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		rig.n = 0;
		ask_len(MAD_METHOD_GET_TABLE, MAD_LEN, TIMEOUT_MS, 3);
		if (bad[i].later)
			assert_int_equal(data_recv(1, RMPP_FLAG_FIRST, 500), 0);
		assert_int_equal(segment_recv(bad[i].h), 0);
		check_refused(2, RMPP_TYPE_ABORT, bad[i].status);
		assert_int_equal(got.calls, i + 1);
		assert_int_equal(got.status, -ECONNABORTED);
	}
}

static void test_I20_unknown_version_and_type_are_aborted(void **state)
{
	(void)state;
	ask_len(MAD_METHOD_GET_TABLE, MAD_LEN, TIMEOUT_MS, 0);
	assert_int_equal(
		segment_recv((struct rmpp_hdr){ .version = 2, .type = 1, .flags = 2, .data1 = 1 }),
		-EBADMSG);
	check_refused(2, RMPP_TYPE_ABORT, RMPP_STATUS_UNV);
	assert_int_equal(segment_recv((struct rmpp_hdr){ .type = 9 }), -EBADMSG);
	check_refused(2, RMPP_TYPE_ABORT, RMPP_STATUS_BAD_TYPE);
}

static void test_I20_segments_in_any_order(void **state)
{
	(void)state;
	ask_len(MAD_METHOD_GET_TABLE, MAD_LEN, TIMEOUT_MS, 0);
	data_recv(1, RMPP_FLAG_FIRST, 4 * 20 + 3 * 200 + 8);
	data_recv(4, RMPP_FLAG_LAST, 28);
	data_recv(2, 0, 0);
	data_recv(4, RMPP_FLAG_LAST, 28); /* the segment arrives twice */
	assert_int_equal(got.calls, 0);
	data_recv(3, 0, 0);
	assert_int_equal(got.calls, 1);
	assert_int_equal(got.len, SA_DATA_OFF + 608);
	for (unsigned int i = 0; i < 608; i++)
		assert_int_equal(got.msg[SA_DATA_OFF + i], 1 + i / 200);
	assert_int_equal(seen(rig.n - 1).type, RMPP_TYPE_ACK);
	assert_int_equal(seen(rig.n - 1).data1, 4);
}

static void test_I20_segments_beyond_the_window_or_the_last_are_refused(void **state)
{
	unsigned int n;

	(void)state;
	ask_len(MAD_METHOD_GET_TABLE, MAD_LEN, TIMEOUT_MS, 0);
	data_recv(1, RMPP_FLAG_FIRST, 0);
	n = rig.n;
	data_recv(2 + WINDOW, 0, 0);
	assert_int_equal(rig.n, n);
	data_recv(3, RMPP_FLAG_LAST, 220);
	data_recv(4, 0, 0);
	check_refused(2, RMPP_TYPE_ABORT, RMPP_STATUS_BAD_LEN);
	assert_int_equal(got.status, -ECONNABORTED);
	/*
	 * A segment marked Last has a lower number than another segment, which has arrived already.
	 */
	ask_len(MAD_METHOD_GET_TABLE, MAD_LEN, TIMEOUT_MS, 0);
	memcpy(rig.seen[0].mad, rig.seen[rig.n - 1].mad, MAD_LEN);
	data_recv(1, RMPP_FLAG_FIRST, 0);
	data_recv(4, 0, 0);
	data_recv(3, RMPP_FLAG_LAST, 220);
	check_refused(2, RMPP_TYPE_ABORT, RMPP_STATUS_BAD_LEN);
	assert_int_equal(got.calls, 2);
}

static void test_I20_message_too_long_is_stopped(void **state)
{
	struct mad_ep_limits lim = { .max_tx = 10, .max_rmpp_rx = 4, .max_rmpp_len = 1000 };

	(void)state;
	mad_ep_set_limits(rig.end[0].ep, &lim);
	ask_len(MAD_METHOD_GET_TABLE, MAD_LEN, TIMEOUT_MS, 0);
	data_recv(1, RMPP_FLAG_FIRST, 0);
	for (uint32_t s = 2; s < 5; s++)
		data_recv(s, 0, 0);
	assert_int_equal(got.calls, 0);
	data_recv(5, 0, 0);
	check_refused(2, RMPP_TYPE_STOP, RMPP_STATUS_RESX);
	assert_int_equal(got.calls, 1);
	assert_int_equal(got.status, -ECONNABORTED);
}

static int multi_recv_at(unsigned int end, uint16_t lid, uint64_t tid, uint32_t seg)
{
	struct rmpp_hdr h = {
		.version = 1,
		.type = RMPP_TYPE_DATA,
		.flags = RMPP_FLAG_ACTIVE | (seg == 1 ? RMPP_FLAG_FIRST : 0),
		.data1 = seg,
	};
	struct mad_addr from = mad_addr_gmp(lid, 0);
	uint8_t mad[MAD_LEN];

	rig_mad_hdr(mad, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET_MULTI, tid);
	rmpp_hdr_encode(mad + SA_RMPP_OFF, &h);
	return mad_ep_recv(rig.end[end].ep, &from, mad, rig.now);
}

static int multi_recv(uint64_t tid, uint32_t seg)
{
	return multi_recv_at(1, 1, tid, seg);
}

/*
 * A sender begins many messages and does not continue them. The receiver must still have room for
 * messages of other senders, and for answers to its own requests.
 */
static void test_I20_beginnings_leave_room_for_others_and_for_answers(void **state)
{
	const struct mad_ep_limits lim = { .max_tx = 10,
					   .max_rmpp_rx = 16,
					   .max_rmpp_len = 1u << 20 };
	uint64_t tid = 1;

	(void)state;
	agent(0, MAD_CLASS_SA, true, true);
	mad_ep_set_limits(rig.end[0].ep, &lim);
	for (; tid <= 8; tid++)
		assert_int_equal(multi_recv_at(0, 2, tid, 1), 0);
	assert_int_equal(multi_recv_at(0, 2, tid++, 1), -ENOENT);
	for (; tid <= 9 + 4; tid++)
		assert_int_equal(multi_recv_at(0, 3, tid, 1), 0);
	assert_int_equal(multi_recv_at(0, 4, tid, 1), -ENOENT);
	rig.n = 0;
	ask_len(MAD_METHOD_GET_TABLE, MAD_LEN, TIMEOUT_MS, 0);
	data_recv(1, RMPP_FLAG_FIRST | RMPP_FLAG_LAST, 20 + SA_DATA_LEN);
	assert_int_equal(got.calls, 1);
	assert_int_equal(got.status, 0);
	/*
	 * The receiver ends a reception after some seconds without a segment. So now a new
	 * reception must be possible.
	 */
	rig_run(&rig, NS_SEC(6));
	assert_int_equal(multi_recv_at(0, 2, tid++, 1), 0);
}

static void test_I20_receptions_are_limited(void **state)
{
	struct mad_ep_limits lim = { .max_tx = 10, .max_rmpp_rx = 3, .max_rmpp_len = 1u << 30 };
	uint32_t seg;

	(void)state;
	mad_ep_set_limits(rig.end[1].ep, &lim);
	for (uint64_t tid = 1; tid <= 3; tid++)
		assert_int_equal(multi_recv(tid, 1), 0);
	assert_int_equal(multi_recv(4, 1), -ENOENT);
	check_refused(1, RMPP_TYPE_STOP, RMPP_STATUS_RESX);
	/*
	 * These messages answer no request, so their greatest length is far below that of a
	 * response.
	 */
	for (seg = 2; mad_ep_stats(rig.end[1].ep)->rmpp_aborts < 2; seg++)
		assert_int_equal(multi_recv(1, seg), 0);
	assert_in_range(seg * SA_DATA_LEN, 250000, 270000);
	/*
	 * The receiver ends a reception after some seconds without a segment. So now a new
	 * reception must be possible.
	 */
	rig_run(&rig, NS_SEC(6));
	assert_int_equal(multi_recv(5, 1), 0);
}

static void test_I20_stop_and_abort_end_a_request(void **state)
{
	static const uint8_t types[] = { RMPP_TYPE_STOP, RMPP_TYPE_ABORT };

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		rig.n = 0;
		ask_len(MAD_METHOD_GET_TABLE, MAD_LEN, TIMEOUT_MS, 3);
		if (i >= 2)
			data_recv(1, RMPP_FLAG_FIRST, 0);
		assert_int_equal(segment_recv((struct rmpp_hdr){ .type = types[i % 2],
								 .status = RMPP_STATUS_UNSPEC }),
				 0);
		assert_int_equal(got.calls, i + 1);
		assert_int_equal(got.status, -ECONNABORTED);
		/* A STOP or ABORT is not answered. A second one finds no transfer to end. */
		assert_int_not_equal(seen(rig.n - 1).type, RMPP_TYPE_ABORT);
		assert_int_equal(segment_recv((struct rmpp_hdr){ .type = types[i % 2] }), -ENOENT);
	}
}

/* Deliver an ACK, STOP or ABORT from LID @lid, about the answer that the server is sending */
static int control_recv(struct rmpp_hdr h, uint16_t lid)
{
	struct mad_addr from = mad_addr_gmp(lid, 0);
	uint8_t mad[MAD_LEN];

	if (!h.version)
		h.version = 1;
	h.flags = RMPP_FLAG_ACTIVE;
	rig_mad_hdr(mad, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET_TABLE, mad_tid(heard.msg));
	rmpp_hdr_encode(mad + SA_RMPP_OFF, &h);
	return mad_ep_recv(rig.end[1].ep, &from, mad, rig.now);
}

static void test_I20_bad_acks_abort_the_sender(void **state)
{
	static const struct {
		struct rmpp_hdr h;
		enum rmpp_status status;
	} bad[] = {
		{ { .type = RMPP_TYPE_ACK, .data1 = 1, .data2 = 0 }, RMPP_STATUS_W2S },
		{ { .type = RMPP_TYPE_ACK, .data1 = 2, .data2 = 9 }, RMPP_STATUS_S2B },
		{ { .type = RMPP_TYPE_ACK, .data1 = 99, .data2 = 99 }, RMPP_STATUS_S2B },
		{ { .type = RMPP_TYPE_ACK, .data1 = 1, .data2 = 9, .status = 3 },
		  RMPP_STATUS_BAD_STATUS },
	};

	(void)state;
	ask(TIMEOUT_MS, 0);
	rig.filter = deaf;
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		answer(5 * SA_DATA_LEN);
		assert_int_equal(control_recv(bad[i].h, 1), 0);
		check_refused(1, RMPP_TYPE_ABORT, bad[i].status);
		assert_int_equal(control_recv(bad[i].h, 1), -ENOENT);
	}
}

static void test_I20_stop_and_abort_end_the_sender(void **state)
{
	unsigned int n;

	(void)state;
	ask(TIMEOUT_MS, 0);
	rig.filter = deaf;
	answer(5 * SA_DATA_LEN);
	n = rig.n;
	/* a STOP from another LID must not end the transfer */
	assert_int_equal(control_recv((struct rmpp_hdr){ .type = RMPP_TYPE_STOP }, 3), -ENOENT);
	assert_int_equal(control_recv((struct rmpp_hdr){ .type = RMPP_TYPE_STOP, .status = 1 }, 1),
			 0);
	rig_run(&rig, NS_SEC(60));
	assert_int_equal(rig.n, n);
	answer(5 * SA_DATA_LEN);
	assert_int_equal(rig.n, n + 1);
	assert_int_equal(
		control_recv((struct rmpp_hdr){ .type = RMPP_TYPE_ABORT, .status = 127 }, 1), 0);
	rig_run(&rig, NS_SEC(60));
	assert_int_equal(rig.n, n + 1);
	assert_int_equal(mad_ep_stats(rig.end[1].ep)->rmpp_aborts, 2);
}

static void test_I20_old_acks_change_nothing(void **state)
{
	unsigned int n;

	(void)state;
	ask(TIMEOUT_MS, 0);
	rig.filter = deaf;
	answer(20 * SA_DATA_LEN);
	control_recv((struct rmpp_hdr){ .type = RMPP_TYPE_ACK, .data1 = 1, .data2 = 10 }, 1);
	n = rig.n;
	assert_int_equal(seen(n - 1).data1, 10);
	control_recv((struct rmpp_hdr){ .type = RMPP_TYPE_ACK, .data1 = 1, .data2 = 10 }, 1);
	control_recv((struct rmpp_hdr){ .type = RMPP_TYPE_ACK, .data1 = 0, .data2 = 1 }, 1);
	assert_int_equal(rig.n, n);
	control_recv((struct rmpp_hdr){ .type = RMPP_TYPE_ACK, .data1 = 10, .data2 = 12 }, 1);
	assert_int_equal(rig.n, n + 2);
	assert_int_equal(seen(n).data1, 11);
}

/*
 * The receiver's ACKs say that its window ends at segment 2^20, and then at 2^32 - 1. Nevertheless
 * the sender may be only RMPP_TX_WINDOW segments ahead of the last confirmed segment.
 */
static void test_I20_window_of_an_ack_is_capped(void **state)
{
	static const uint32_t last[] = { 1u << 20, 0xffffffff };
	unsigned int before;

	(void)state;
	ask(TIMEOUT_MS, 0);
	rig.filter = deaf;
	answer((RMPP_TX_WINDOW + 500) * SA_DATA_LEN);
	for (unsigned int i = 0; i < ARRAY_SIZE(last); i++) {
		before = rig.n;
		control_recv(
			(struct rmpp_hdr){ .type = RMPP_TYPE_ACK, .data1 = 1, .data2 = last[i] },
			1);
		assert_int_equal(rig.n - before, i ? 0 : RMPP_TX_WINDOW);
	}
	/*
	 * A further ACK has the same end of the window, and confirms 100 more segments. The sender
	 * must send exactly 100 more segments.
	 */
	before = rig.n;
	control_recv((struct rmpp_hdr){ .type = RMPP_TYPE_ACK, .data1 = 101, .data2 = 0xffffffff },
		     1);
	assert_int_equal(rig.n - before, 100);
	assert_int_equal(seen(rig.n - 1).data1, RMPP_TX_WINDOW + 101);
}

static void test_I20_cancelled_request_drops_its_reception(void **state)
{
	struct mad_tx *tx = ask(TIMEOUT_MS, 0);

	(void)state;
	answer(500 * SA_DATA_LEN);
	rig_run(&rig, 4 * WIRE_DELAY);
	mad_cancel(tx);
	rig_run(&rig, NS_SEC(60));
	assert_int_equal(got.calls, 0);
	assert_true(mad_ep_stats(rig.end[0].ep)->rx_late > 0);
}

static void test_I20_request_of_many_segments(void **state)
{
	uint8_t mad[MAD_LEN];

	(void)state;
	ask_len(MAD_METHOD_GET_MULTI, SA_DATA_OFF + 900, TIMEOUT_MS, 0);
	rig_run(&rig, 20 * WIRE_DELAY);
	assert_int_equal(heard.calls, 1);
	assert_int_equal(heard.len, SA_DATA_OFF + 900);
	assert_memory_equal(heard.msg + MAD_LEN, table + MAD_LEN, 900 - SA_DATA_LEN);
	assert_int_equal(got.calls, 0);
	/* The answer to a request may be a single MAD, although the request was sent by RMPP. */
	rig_mad_hdr(mad, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET_MULTI_RESP, mad_tid(heard.msg));
	assert_int_equal(mad_reply(server, &heard.from, mad, MAD_LEN, rig.now), 0);
	rig_run(&rig, NS_SEC(1));
	assert_int_equal(got.calls, 1);
	assert_int_equal(got.status, 0);
}

static void test_I20_request_of_many_segments_to_nobody(void **state)
{
	(void)state;
	rig.filter = deaf;
	rig.mute = true;
	ask_len(MAD_METHOD_GET_MULTI, SA_DATA_OFF + 900, 100, 2);
	rig_run(&rig, NS_SEC(1));
	assert_int_equal(got.calls, 1);
	assert_int_equal(got.status, -ETIMEDOUT);
	assert_int_equal(rig.n, 4);
}

static void test_without_rmpp_an_agent_gets_single_mads(void **state)
{
	struct mad_addr from = mad_addr_gmp(2, 0);
	uint8_t mad[MAD_LEN];
	struct mad_agent *a;

	(void)state;
	mad_agent_del(client);
	a = agent(0, MAD_CLASS_SA, false, true);
	rig_mad_hdr(mad, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET_TABLE, 1);
	mad[SA_RMPP_OFF] = 1;
	mad[SA_RMPP_OFF + 1] = RMPP_TYPE_DATA;
	mad[SA_RMPP_OFF + 2] = RMPP_FLAG_ACTIVE;
	assert_int_equal(mad_ep_recv(rig.end[0].ep, &from, mad, rig.now), 0);
	assert_int_equal(heard.calls, 1);
	assert_int_equal(heard.len, MAD_LEN);
	assert_int_equal(rig.n, 0);
	mad_agent_del(a);
}

/*
 * An agent with .user_rmpp handles RMPP itself, as with IB_USER_MAD_USER_RMPP in the kernel's
 * ib_umad. The agent must get every segment.
 */
static void test_user_rmpp_gets_every_segment(void **state)
{
	struct mad_agent_cfg c = {
		.qp = 1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = SA_VERSION,
		.user_rmpp = true,
		.recv = rig_recv,
		.ctx = &heard,
	};
	struct mad_addr from = mad_addr_gmp(2, 0);
	uint8_t mad[MAD_LEN] = { 0 };
	struct mad_req req = {
		.to = from,
		.mad = mad,
		.len = MAD_LEN,
		.timeout_ms = TIMEOUT_MS,
		.done = rig_done,
		.ctx = &got,
	};
	struct mad_agent *a;

	(void)state;
	assert_int_equal(mad_agent_add(rig.end[0].ep, &c, &a), 0);
	rig_mad_hdr(mad, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET_TABLE, 0);
	assert_int_equal(mad_request(a, &req, NULL, rig.now), 0);
	assert_int_equal(data_recv(1, RMPP_FLAG_FIRST, 500), 0);
	assert_int_equal(got.calls, 1);
	assert_int_equal(got.len, MAD_LEN);
	assert_int_equal(data_recv(2, 0, 0), 0);
	assert_int_equal(data_recv(3, RMPP_FLAG_LAST, 100), 0);
	assert_int_equal(heard.calls, 2);
	assert_int_equal(heard.len, MAD_LEN);
	/* No ACK was sent, because the user of the agent must send ACKs. */
	assert_int_equal(rig.n, 1);
	mad_agent_del(a);
	assert_int_equal(data_recv(3, RMPP_FLAG_LAST, 100), -ENOENT);
}

static void test_segments_go_to_the_agent_that_asked(void **state)
{
	struct mad_addr from = mad_addr_gmp(2, 0);
	uint8_t mad[MAD_LEN] = { 0 };
	struct mad_req req = {
		.to = from,
		.mad = mad,
		.len = MAD_LEN,
		.timeout_ms = TIMEOUT_MS,
		.done = rig_done,
		.ctx = &got,
	};
	struct mad_agent *raw = agent(0, MAD_CLASS_SA, false, false);

	(void)state;
	/*
	 * One agent of the class uses RMPP, but the agent that sends the request does not. So the
	 * latter must get the segment as it was received.
	 */
	rig_mad_hdr(mad, MAD_CLASS_SA, SA_VERSION, MAD_METHOD_GET_TABLE, 0);
	assert_int_equal(mad_request(raw, &req, NULL, rig.now), 0);
	assert_int_equal(data_recv(1, RMPP_FLAG_FIRST, 500), 0);
	assert_int_equal(got.calls, 1);
	assert_int_equal(got.status, 0);
	assert_memory_equal(got.msg, segment, MAD_LEN);
	assert_int_equal(rig.n, 1);
}

static void test_I20_peers_with_the_same_tid_are_told_apart(void **state)
{
	struct mad_addr one = mad_addr_gmp(1, 0), other = mad_addr_gmp(1, 0);
	unsigned int n;

	(void)state;
	ask(TIMEOUT_MS, 0);
	rig.filter = deaf;
	other.qpn = 0x99;
	table_headers();
	assert_int_equal(mad_reply(server, &one, table, 1000, rig.now), 0);
	assert_int_equal(mad_reply(server, &other, table, 1000, rig.now), 0);
	n = rig.n;
	assert_int_equal(seen(n - 1).data1, 1);
	assert_int_equal(seen(n - 2).data1, 1);
	/*
	 * Two receivers get answers with the same TID. An ACK of one receiver must continue only
	 * the transfer to this receiver.
	 */
	control_recv((struct rmpp_hdr){ .type = RMPP_TYPE_ACK, .data1 = 1, .data2 = 2 }, 1);
	assert_int_equal(rig.n, n + 1);
	assert_int_equal(seen(n).data1, 2);
	control_recv((struct rmpp_hdr){ .type = RMPP_TYPE_STOP, .status = 1 }, 1);
	rig_run(&rig, NS_SEC(1));
	assert_int_equal(rig.n, n + 2);
	assert_int_equal(seen(n + 1).data1, 1);
}

static void test_I20_vendor_classes_repeat_40_octets(void **state)
{
	const size_t len = 40 + 3 * 216 + 5;
	struct mad_agent *a = agent(0, 0x33, true, false);
	struct mad_agent *b = agent(1, 0x33, true, true);
	struct mad_req req = {
		.to = mad_addr_gmp(2, 0),
		.mad = table,
		.len = len,
		.timeout_ms = TIMEOUT_MS,
		.done = rig_done,
		.ctx = &got,
	};

	(void)state;
	(void)b;
	rig_mad_hdr(table, 0x33, SA_VERSION, MAD_METHOD_GET_MULTI, 0);
	be32_put(table + SA_HDR_OFF, 0x001405);
	assert_int_equal(mad_request(a, &req, NULL, rig.now), 0);
	assert_int_equal(seen(0).data2, 4 * 4 + 3 * 216 + 5);
	rig_run(&rig, 20 * WIRE_DELAY);
	assert_int_equal(heard.calls, 1);
	assert_int_equal(heard.len, len);
	assert_memory_equal(heard.msg + SA_HDR_OFF, table + SA_HDR_OFF, len - SA_HDR_OFF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_I20_one_segment_has_flags_7_and_is_acknowledged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I20_table_without_records_is_rmpp_too, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I20_payload_length_counts_20_a_segment, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I20_every_size_around_the_segment_boundaries,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_I20_window, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I20_request_waits_while_segments_come, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I20_loss_of_anything_is_repaired, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I20_lost_last_ack_is_repeated, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I20_silent_receiver_is_given_up, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I20_silent_receivers_cost_bounded_memory,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_I20_repeated_request_gets_no_second_transfer,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_I20_sender_that_stops_is_asked_again, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I20_bad_segments_are_aborted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I20_unknown_version_and_type_are_aborted,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_I20_segments_in_any_order, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_I20_segments_beyond_the_window_or_the_last_are_refused, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_I20_message_too_long_is_stopped, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I20_receptions_are_limited, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_I20_beginnings_leave_room_for_others_and_for_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I20_stop_and_abort_end_a_request, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I20_bad_acks_abort_the_sender, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I20_stop_and_abort_end_the_sender, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I20_old_acks_change_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I20_window_of_an_ack_is_capped, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I20_cancelled_request_drops_its_reception,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_I20_request_of_many_segments, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I20_request_of_many_segments_to_nobody, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_without_rmpp_an_agent_gets_single_mads, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_user_rmpp_gets_every_segment, setup, teardown),
		cmocka_unit_test_setup_teardown(test_segments_go_to_the_agent_that_asked, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I20_peers_with_the_same_tid_are_told_apart,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_I20_vendor_classes_repeat_40_octets, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

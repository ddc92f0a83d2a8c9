/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "ibsim_golden.h"
#include "ibsim_rig.h"
#include "wire/sa.h"

#define PEER 0x30 /* LID of another node */
#define AGENT3 (3ull << 32) /* TID of the client's agent 3 */
#define GIVE_UP (NS_MSEC(IBSIM_TRY_MS) * (IBSIM_RETRIES + 1))

static int setup(void **state)
{
	static struct ibsim_rig r;

	ibsim_rig_init(&r);
	*state = &r;
	return 0;
}

static int teardown(void **state)
{
	ibsim_rig_fini(*state);
	return 0;
}

static void ask(struct ibsim_rig *r, unsigned int id, uint64_t tid)
{
	ibsim_rig_send(r, id, PEER, MAD_CLASS_SM_LID, MAD_METHOD_GET, SMP_ATTR_NODE_INFO, tid);
}

static const struct ibsim_stats *stats(const struct ibsim_rig *r)
{
	return ibsim_srv_stats(r->srv);
}

/* --- requests */

/*
 * An answer for a client must have the low 48 bits of the request's TID, and the id of the client
 * in bits 63-48, as with ibsim.
 */
static void test_ibsim_response_has_the_clients_tid(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id;
	const struct ibsim_pkt *k;

	ibsim_rig_connect(r, 1);
	id = ibsim_rig_connect(r, 2);
	ask(r, id, 0xffff000312345678ull);
	assert_int_equal(mad_tid(ibsim_rig_wire(r, 0)) & UINT32_MAX, 0x12345678);
	ibsim_rig_answer(r, 0);
	k = ibsim_rig_got(r, id);
	assert_true(mad_tid(k->mad) == 0x0001000312345678ull);
	assert_int_equal(mad_method(k->mad), MAD_METHOD_GET_RESP);
	assert_int_equal(k->status, 0);
	assert_int_equal(k->dlid, RIG_LID);
	assert_int_equal(k->slid, PEER);
	assert_int_equal(k->len, MAD_LEN);
	assert_int_equal(r->nout, 1);
}

static void test_ibsim_equal_tids_of_two_clients(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int a = ibsim_rig_connect(r, 1), b = ibsim_rig_connect(r, 2);

	ask(r, a, AGENT3 | 7);
	ask(r, b, AGENT3 | 7);
	assert_int_equal(r->n.nsent, 2);
	ibsim_rig_answer(r, 0); /* answers the request of client b */
	assert_int_equal(r->nout, 1);
	assert_int_equal(r->out[0].id, b);
	ibsim_rig_answer(r, 1);
	assert_int_equal(r->nout, 2);
	assert_int_equal(r->out[1].id, a);
	assert_true(mad_tid(r->out[1].k.mad) == ((uint64_t)a << 48 | AGENT3 | 7));
	ibsim_rig_answer(r, 1); /* a second answer belongs to no request */
	assert_int_equal(r->nout, 2);
}

static void test_ibsim_equal_tids_of_two_agents_of_a_client(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 1);

	ask(r, id, AGENT3 | 7);
	ask(r, id, 4ull << 32 | 7);
	assert_int_equal(r->n.nsent, 2);
	ibsim_rig_answer(r, 1);
	assert_true(mad_tid(r->out[0].k.mad) == (AGENT3 | 7));
	ibsim_rig_answer(r, 0);
	assert_true(mad_tid(r->out[1].k.mad) == (4ull << 32 | 7));
}

static void test_ibsim_a_repeated_request_is_open_already(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 1);

	ask(r, id, 7);
	ask(r, id, 7);
	assert_int_equal(r->n.nsent, 1);
	assert_int_equal(stats(r)->drop_duplicate, 1);
	ibsim_rig_answer(r, 0);
	assert_int_equal(r->nout, 1);
	ask(r, id, 7);
	assert_int_equal(r->n.nsent, 2);
}

/*
 * The kernel repeats requests, but libumad2sim does not, so the server must repeat them. libibmad
 * waits one second for an answer, so a request must time out in less than one second.
 */
static void test_ibsim_lost_requests_are_repeated_then_come_back(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 1);
	const struct ibsim_pkt *k;

	assert_true(GIVE_UP < NS_SEC(1));
	ask(r, id, AGENT3 | 9);
	ibsim_rig_run(r, GIVE_UP - 1);
	assert_int_equal(r->n.nsent, IBSIM_RETRIES + 1);
	assert_int_equal(r->nout, 0);
	ibsim_rig_run(r, 1);
	k = ibsim_rig_got(r, id);
	assert_int_equal(k->status, IBSIM_STATUS_TIMEOUT);
	assert_true(mad_tid(k->mad) == (AGENT3 | 9));
	assert_int_equal(mad_method(k->mad), MAD_METHOD_GET);
	ibsim_rig_answer(r, 0); /* the answer is too late */
	assert_int_equal(r->nout, 1);
	assert_int_equal(stats(r)->timeouts, 1);
}

/*
 * The MAD that a client gets back after a time-out must have the octets that ibsim sends, except
 * for the padding.
 */
static void test_ibsim_lost_golden(void **state)
{
	struct ibsim_rig *r = *state;

	ibsim_rig_connect(r, 1);
	ibsim_rig_connect(r, 2);
	ibsim_srv_recv(r->srv, 1, golden_lost, IBSIM_PKT_LEN, r->n.now);
	ibsim_rig_run(r, GIVE_UP);
	assert_int_equal(r->nout, 1);
	assert_memory_equal(r->out[0].raw, golden_lost_back, 20);
	assert_memory_equal(r->out[0].raw + 24, golden_lost_back + 24, IBSIM_PKT_LEN - 24);
}

static void test_ibsim_lids_that_are_nobodys_come_back_at_once(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 1);
	static const struct {
		uint16_t lid;
		uint8_t mgmt_class;
	} v[] = { { 0, MAD_CLASS_SM_LID },    { 0xc000, MAD_CLASS_SM_LID },
		  { 0, MAD_CLASS_PERF },      { 0xffff, MAD_CLASS_PERF },
		  { 0xc123, MAD_CLASS_PERF }, { 0xfffe, MAD_CLASS_SM_LID } };

	for (unsigned int i = 0; i < ARRAY_SIZE(v); i++) {
		ibsim_rig_send(r, id, v[i].lid, v[i].mgmt_class, MAD_METHOD_GET, 1, i);
		assert_int_equal(r->nout, i + 1);
		assert_int_equal(r->out[i].k.status, IBSIM_STATUS_TIMEOUT);
	}
	assert_int_equal(r->n.nsent, 0);
	assert_int_equal(stats(r)->drop_address, ARRAY_SIZE(v));
}

static void test_ibsim_directed_route_to_oneself(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 1);
	struct smp_node_info info;
	const struct ibsim_pkt *k;

	ibsim_rig_send(r, id, IB_LID_PERMISSIVE, MAD_CLASS_SM_DR, MAD_METHOD_GET,
		       SMP_ATTR_NODE_INFO, AGENT3 | 1);
	ibsim_rig_run(r, 0);
	k = ibsim_rig_got(r, id);
	assert_int_equal(k->status, 0);
	assert_int_equal(k->slid, IB_LID_PERMISSIVE);
	assert_int_equal(mad_status(k->mad), MAD_STATUS_DR_D);
	assert_int_equal(smp_node_info_decode(&info, k->mad + SMP_DATA_OFF, SMP_DATA_LEN), 0);
	assert_true(info.node_guid == RIG_GUID);
	assert_int_equal(r->n.nsent, 0);
}

static void test_ibsim_gmp_address(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 1);
	const struct mad_addr *to = &r->n.sent[0].to;

	ibsim_rig_send(r, id, PEER, MAD_CLASS_SA, MAD_METHOD_GET, SA_ATTR_PATH_RECORD, 1);
	assert_int_equal(to->qp, IB_QP1);
	assert_int_equal(to->qpn, IB_QP1);
	assert_int_equal(to->qkey, IB_QP1_QKEY);
	assert_int_equal(to->lid, PEER);
	assert_false(to->has_grh);
	ibsim_rig_answer(r, 0);
	assert_int_equal(ibsim_rig_got(r, id)->dest_qp, 1);
	assert_int_equal(ibsim_rig_got(r, id)->src_qp, 1);
}

static void test_ibsim_open_requests_are_bounded(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int a = ibsim_rig_connect(r, 1), b = ibsim_rig_connect(r, 2);
	struct ibsim_client_show s;

	for (unsigned int i = 0; i < IBSIM_OPEN_MAX; i++)
		ask(r, a, i);
	assert_int_equal(r->nout, 0);
	ask(r, a, 5000);
	assert_int_equal(ibsim_rig_got(r, a)->status, IBSIM_STATUS_TIMEOUT);
	assert_int_equal(mad_tid(ibsim_rig_got(r, a)->mad), 5000);
	assert_int_equal(stats(r)->drop_open, 1);
	ask(r, b, 1); /* the limit of client a must not affect client b */
	ibsim_rig_answer(r, 0);
	assert_int_equal(ibsim_rig_got(r, b)->status, 0);
	assert_true(ibsim_srv_client(r->srv, a, &s));
	assert_int_equal(s.open, IBSIM_OPEN_MAX);
	ibsim_rig_answer(r, 1);
	ask(r, a, 5001);
	assert_int_equal(stats(r)->drop_open, 1);
}

static void test_ibsim_garbage_is_counted(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 1);
	struct ibsim_pkt k = { .dlid = PEER, .len = MAD_LEN };
	uint8_t raw[400] = { 0 };

	/*
	 * one of these datagrams has the valid length of 288 octets, but its MAD is all zeros,
	 * which is malformed
	 */
	for (size_t n = 0; n < sizeof(raw); n++)
		ibsim_srv_recv(r->srv, id, raw, n, r->n.now);
	assert_int_equal(stats(r)->drop_malformed, sizeof(raw));
	for (unsigned int v = 0; v < 256; v++) {
		k.mad[0] = (uint8_t)v;
		k.mad[1] = MAD_CLASS_PERF;
		k.mad[3] = MAD_METHOD_GET;
		if (v != MAD_BASE_VERSION)
			ibsim_rig_send_pkt(r, id, &k);
	}
	assert_int_equal(stats(r)->drop_malformed, sizeof(raw) + 255);
	ibsim_srv_recv(r->srv, 77, golden_lost, IBSIM_PKT_LEN, r->n.now);
	ibsim_srv_recv(r->srv, UINT32_MAX, golden_lost, IBSIM_PKT_LEN, r->n.now);
	assert_int_equal(stats(r)->drop_no_client, 2);
	assert_int_equal(r->n.nsent, 0);
	assert_int_equal(r->nout, 0);
}

/* --- MADs that are no requests */

static void test_ibsim_responses_go_out_as_they_are(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 1);
	static const struct {
		uint8_t mgmt_class, method;
	} v[] = { { MAD_CLASS_SM_LID, MAD_METHOD_TRAP_REPRESS },
		  { MAD_CLASS_SM_LID, MAD_METHOD_GET_RESP },
		  { MAD_CLASS_SA, MAD_METHOD_GET_RESP },
		  { MAD_CLASS_SA, MAD_METHOD_REPORT_RESP },
		  { MAD_CLASS_CM, MAD_METHOD_SEND } };

	for (unsigned int i = 0; i < ARRAY_SIZE(v); i++) {
		ibsim_rig_send(r, id, PEER, v[i].mgmt_class, v[i].method, 2, 0x123456789abcdef0ull);
		assert_int_equal(r->n.nsent, i + 1);
		assert_true(mad_tid(ibsim_rig_wire(r, 0)) == 0x123456789abcdef0ull);
		assert_int_equal(mad_method(ibsim_rig_wire(r, 0)), v[i].method);
	}
	ibsim_rig_run(r, NS_SEC(5));
	assert_int_equal(r->n.nsent, ARRAY_SIZE(v)); /* none of these MADs was repeated */
	assert_int_equal(r->nout, 0);
	assert_int_equal(stats(r)->responses, ARRAY_SIZE(v));
}

/*
 * A client has sent a trap. The TrapRepress must reach this client, because an OpenSM in standby
 * does nothing else until the TrapRepress arrives.
 */
static void test_ibsim_a_trap_is_answered_by_its_repress(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 1);

	ibsim_rig_send(r, id, PEER, MAD_CLASS_SM_LID, MAD_METHOD_TRAP, 2, 0x128c);
	assert_int_equal(r->n.nsent, 1);
	ibsim_rig_answer(r, 0);
	assert_int_equal(r->nout, 1);
	assert_int_equal(mad_method(ibsim_rig_got(r, id)->mad), MAD_METHOD_TRAP_REPRESS);
	assert_int_equal(mad_tid(ibsim_rig_got(r, id)->mad) & 0xffffffff, 0x128c);
	ibsim_rig_send(r, id, PEER, MAD_CLASS_SM_LID, MAD_METHOD_TRAP, 2, 0x128d);
	ibsim_rig_run(r, NS_SEC(5));
	assert_int_equal(r->nout, 2);
	assert_int_equal(r->out[1].k.status, IBSIM_STATUS_TIMEOUT);
}

/* --- unsolicited */

static void sm_info_arrives(struct ibsim_rig *r)
{
	node_rig_smp(&r->n, 1, MAD_METHOD_GET, SMP_ATTR_SM_INFO, 0, NULL);
}

static unsigned int sm_client(struct ibsim_rig *r, uint32_t pid)
{
	unsigned int id = ibsim_rig_connect(r, pid);

	assert_int_equal(ibsim_rig_set_issm(r, id, pid, true), IBSIM_CTL_SET_ISSM);
	ask(r, id, pid);
	ibsim_rig_answer(r, 0);
	r->nout = 0;
	r->n.nsent = 0;
	return id;
}

static void sa_request_arrives(struct ibsim_rig *r, uint8_t method, const struct rmpp_hdr *rmpp)
{
	struct mad_hdr h = { 1, MAD_CLASS_SA, 2, method, 0, 0, 0x55, SA_ATTR_PATH_RECORD, 0 };
	struct mad_addr from = mad_addr_gmp(PEER, 0);
	uint8_t mad[MAD_LEN] = { 0 };

	mad_hdr_encode(mad, &h);
	if (rmpp)
		rmpp_hdr_encode(mad + SA_RMPP_OFF, rmpp);
	from.port = 1;
	node_mad_rx(&r->n.n, 1, &from, mad, r->n.now);
}

static void test_ibsim_requests_for_an_sm(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = sm_client(r, 1);
	const struct ibsim_pkt *k;

	sm_info_arrives(r);
	k = ibsim_rig_got(r, id);
	assert_int_equal(mad_attr(k->mad), SMP_ATTR_SM_INFO);
	/* the client must get all 64 bits of the TID, because its answer must have the same TID */
	assert_true(mad_tid(k->mad) == RIG_TID);
	assert_int_equal(k->slid, RIG_SM_LID);
	assert_int_equal(k->dlid, RIG_LID);
	assert_int_equal(k->src_qp, 0);
	assert_int_equal(r->n.nsent, 0);

	sa_request_arrives(r, MAD_METHOD_GET, NULL);
	k = ibsim_rig_got(r, id);
	assert_int_equal(mad_class(k->mad), MAD_CLASS_SA);
	assert_int_equal(k->slid, PEER);
	assert_int_equal(k->dest_qp, 1);
	assert_int_equal(k->src_qp, 1);

	node_rig_smp(&r->n, 1, MAD_METHOD_TRAP, SMP_ATTR_NOTICE, 0, NULL);
	assert_int_equal(mad_method(ibsim_rig_got(r, id)->mad), MAD_METHOD_TRAP);
	assert_int_equal(stats(r)->unsolicited, 3);
}

static void test_ibsim_requests_without_an_sm(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 1);

	ask(r, id, 1);
	r->n.nsent = 0;
	sm_info_arrives(r);
	assert_int_equal(r->n.nsent, 1); /* answered by the SMA: attribute not supported */
	assert_int_equal(mad_status(ibsim_rig_wire(r, 0)), MAD_STATUS_BAD_ATTR);
	sa_request_arrives(r, MAD_METHOD_GET, NULL);
	assert_int_equal(r->nout, 0);
}

/*
 * libumad2sim aborts when it gets a MAD of a class that its program has not registered. ibsim does
 * not see registrations. The first SMP of an SM shows that the SM has registered its classes, so
 * the SM must get no MADs before it has sent an SMP.
 */
static void test_ibsim_an_sm_gets_nothing_before_its_first_smp(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 1);

	ibsim_rig_set_issm(r, id, 1, true);
	sm_info_arrives(r);
	sa_request_arrives(r, MAD_METHOD_GET, NULL);
	ibsim_rig_send(r, id, PEER, MAD_CLASS_PERF, MAD_METHOD_GET, 1, 1);
	sm_info_arrives(r);
	assert_int_equal(r->nout, 0);
	ask(r, id, 2);
	sm_info_arrives(r);
	assert_int_equal(r->nout, 1);
}

/* MADs of classes that no SM registers must be dropped. */
static void test_ibsim_other_classes_are_nobodys(void **state)
{
	struct ibsim_rig *r = *state;

	sm_client(r, 1);
	for (unsigned int c = 0; c < 256; c++) {
		struct mad_hdr h = { 1, (uint8_t)c, 1, MAD_METHOD_SEND, 0, 0, 0x55, 0x10, 0 };
		struct mad_addr from = mad_addr_gmp(PEER, 0);
		uint8_t mad[MAD_LEN] = { 0 };

		if (mad_class_is_smp((uint8_t)c))
			continue;
		mad_hdr_encode(mad, &h);
		from.port = 1;
		node_mad_rx(&r->n.n, 1, &from, mad, r->n.now);
	}
	sa_request_arrives(r, MAD_METHOD_REPORT, NULL);
	assert_int_equal(r->nout, 0);
}

static void test_ibsim_the_first_sm_of_a_port_gets_them(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int a = sm_client(r, 1), b = sm_client(r, 2);

	sm_info_arrives(r);
	assert_int_equal(r->nout, 1);
	assert_int_equal(r->out[0].id, a);
	ibsim_rig_set_issm(r, a, 1, false);
	sm_info_arrives(r);
	assert_int_equal(r->nout, 2);
	assert_int_equal(r->out[1].id, b);
}

/* --- clients that do not read their socket, and clients that have died */

static void test_ibsim_a_slow_client_gets_all_in_order(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 1);

	for (unsigned int i = 0; i < 20; i++)
		ask(r, id, i);
	ibsim_rig_answer(r, 19);
	assert_int_equal(r->nout, 1);
	r->send_err = -EAGAIN;
	for (unsigned int i = 1; i < 10; i++)
		ibsim_rig_answer(r, 19 - i);
	r->send_err = 0;
	ibsim_rig_answer(r, 9); /* this MAD must not overtake the MADs in the queue */
	for (unsigned int i = 11; i < 20; i++)
		ibsim_rig_answer(r, 19 - i);
	assert_int_equal(r->nout, 1);
	ibsim_srv_writable(r->srv, id, r->n.now);
	assert_int_equal(r->nout, 20);
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(mad_tid(r->out[i].k.mad), i);
}

static void test_ibsim_the_queue_of_who_never_reads_is_bounded(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = sm_client(r, 1);
	struct ibsim_client_show s;

	r->send_err = -EAGAIN;
	for (unsigned int i = 0; i < IBSIM_UNSOLICITED_MAX + 7; i++)
		sm_info_arrives(r);
	assert_true(ibsim_srv_client(r->srv, id, &s));
	assert_int_equal(s.queued, IBSIM_UNSOLICITED_MAX);
	assert_int_equal(stats(r)->drop_queue, 7);
	r->send_err = 0;
	ibsim_srv_writable(r->srv, id, r->n.now);
	assert_int_equal(r->nout, IBSIM_UNSOLICITED_MAX);
	assert_true(ibsim_srv_client(r->srv, id, &s));
	assert_int_equal(s.queued, 0);
}

/*
 * An answer must always find room in the queue of a client, because OpenSM waits for ever for an
 * answer that was lost.
 */
static void test_ibsim_answers_have_room_whatever_else_waits(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = sm_client(r, 1);
	struct ibsim_client_show s;

	for (unsigned int i = 0; i < 9; i++)
		ask(r, id, i);
	r->nout = 0;
	r->send_err = -EAGAIN;
	for (unsigned int i = 0; i < IBSIM_UNSOLICITED_MAX + 7; i++)
		sm_info_arrives(r);
	for (unsigned int i = 0; i < 9; i++)
		ibsim_rig_answer(r, i);
	assert_true(ibsim_srv_client(r->srv, id, &s));
	assert_int_equal(s.queued, IBSIM_UNSOLICITED_MAX + 9);
	assert_int_equal(stats(r)->drop_queue, 7);
	r->send_err = 0;
	ibsim_srv_writable(r->srv, id, r->n.now);
	assert_int_equal(r->nout, IBSIM_UNSOLICITED_MAX + 9);
	for (unsigned int i = 0; i < 9; i++)
		assert_int_equal(mad_tid(r->out[IBSIM_UNSOLICITED_MAX + i].k.mad), 8 - i);
}

/*
 * The process of the client was killed, so its socket refuses datagrams. The client must be
 * removed.
 */
static void test_ibsim_a_client_that_refuses_is_dead(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = sm_client(r, 1);

	assert_true(r->issm);
	r->send_err = -ECONNREFUSED;
	sm_info_arrives(r);
	assert_false(r->issm);
	assert_int_equal(stats(r)->deaths, 1);
	ibsim_rig_run(r, 0);
	assert_false(r->is_open[id]);
	r->send_err = 0;
	r->n.nsent = 0;
	sm_info_arrives(r); /* no client is an SM any more, so no client gets the SMInfo request */
	assert_int_equal(r->n.nsent, 1);
	assert_int_equal(r->nout, 0);
}

static void test_ibsim_requests_of_the_dead_end(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int a = ibsim_rig_connect(r, 1), b;

	ask(r, a, 1);
	ibsim_srv_gone(r->srv, a, "test", r->n.now);
	ibsim_srv_gone(r->srv, a, "test", r->n.now);
	ibsim_srv_gone(r->srv, 99, "test", r->n.now);
	assert_int_equal(stats(r)->deaths, 1);
	ibsim_rig_answer(r, 0);
	ask(r, a, 2);
	assert_int_equal(stats(r)->drop_no_client, 1);
	ibsim_srv_writable(r->srv, a, r->n.now);
	ibsim_rig_run(r, NS_SEC(2));
	assert_int_equal(r->n.nsent, 1); /* the request was not repeated */
	b = ibsim_rig_connect(r, 2); /* b gets the id of the client that died */
	assert_int_equal(a, b);
	ibsim_rig_answer(r, 0);
	assert_int_equal(r->nout, 0);
}

/* --- RMPP */

static void table_response_arrives(struct ibsim_rig *r, struct rmpp_hdr rmpp)
{
	struct mad_addr from = r->n.sent[r->n.nsent - 1].to;
	uint8_t mad[MAD_LEN];

	memcpy(mad, ibsim_rig_wire(r, 0), sizeof(mad));
	mad[3] = MAD_METHOD_GET_TABLE_RESP;
	rmpp_hdr_encode(mad + SA_RMPP_OFF, &rmpp);
	from.port = 1;
	node_mad_rx(&r->n.n, 1, &from, mad, r->n.now);
}

static struct rmpp_hdr rmpp_sent(const struct ibsim_rig *r)
{
	struct rmpp_hdr h;

	assert_int_equal(rmpp_hdr_decode(&h, ibsim_rig_wire(r, 0) + SA_RMPP_OFF, SA_RMPP_LEN), 0);
	return h;
}

/*
 * An answer can arrive as an RMPP segment. The client must get the answer as one MAD with the
 * length of the whole message, because saquery computes the number of records from this length. The
 * sender of the answer must get the ACK for which it waits.
 */
static void test_ibsim_a_whole_rmpp_message(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 1);
	struct rmpp_hdr h;

	ibsim_rig_send(r, id, PEER, MAD_CLASS_SA, MAD_METHOD_GET_TABLE, SA_ATTR_PATH_RECORD, 1);
	table_response_arrives(r, (struct rmpp_hdr){ .version = 1,
						     .type = RMPP_TYPE_DATA,
						     .flags = 7,
						     .data1 = 1,
						     .data2 = 84 });
	assert_int_equal(ibsim_rig_got(r, id)->len, 120);
	assert_int_equal(r->n.nsent, 2);
	h = rmpp_sent(r);
	assert_int_equal(h.type, RMPP_TYPE_ACK);
	assert_int_equal(h.data1, 1);
	assert_int_equal(h.flags, RMPP_FLAG_ACTIVE);
	assert_int_equal(mad_method(ibsim_rig_wire(r, 0)), MAD_METHOD_GET_TABLE);
	assert_int_equal(mad_tid(ibsim_rig_wire(r, 0)), mad_tid(ibsim_rig_wire(r, 1)));
	assert_int_equal(r->n.sent[1].to.lid, PEER);
}

static void test_ibsim_more_segments_are_not_wanted(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 1);

	ibsim_rig_send(r, id, PEER, MAD_CLASS_SA, MAD_METHOD_GET_TABLE, SA_ATTR_PATH_RECORD, 1);
	table_response_arrives(r, (struct rmpp_hdr){ .version = 1,
						     .type = RMPP_TYPE_DATA,
						     .flags = 3,
						     .data1 = 1,
						     .data2 = 7000 });
	assert_int_equal(ibsim_rig_got(r, id)->len, MAD_LEN);
	assert_int_equal(rmpp_sent(r).type, RMPP_TYPE_STOP);
	assert_int_equal(rmpp_sent(r).status, RMPP_STATUS_RESX);
}

static void test_ibsim_impossible_payload_lengths(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 1);
	static const uint32_t v[] = { 0, 19, 221, 7000, UINT32_MAX };

	for (unsigned int i = 0; i < ARRAY_SIZE(v); i++) {
		ibsim_rig_send(r, id, PEER, MAD_CLASS_SA, MAD_METHOD_GET_TABLE, 1, i);
		table_response_arrives(r, (struct rmpp_hdr){ .version = 1,
							     .type = RMPP_TYPE_DATA,
							     .flags = 7,
							     .data1 = 1,
							     .data2 = v[i] });
		assert_int_equal(ibsim_rig_got(r, id)->len, MAD_LEN);
	}
}

/*
 * OpenSM's answer to saquery has the RMPP flag Active and the length of the answer, and leaves the
 * other RMPP fields to the kernel. So the server must write the header of a complete segment.
 */
static void test_ibsim_opensms_table_becomes_a_segment(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 1);
	struct rmpp_hdr h;

	ibsim_srv_recv(r->srv, id, golden_table_resp, IBSIM_PKT_LEN, r->n.now);
	h = rmpp_sent(r);
	assert_int_equal(h.version, 1);
	assert_int_equal(h.type, RMPP_TYPE_DATA);
	assert_int_equal(h.flags, RMPP_FLAG_ACTIVE | RMPP_FLAG_FIRST | RMPP_FLAG_LAST);
	assert_int_equal(h.data1, 1);
	assert_int_equal(h.data2, 84);
	assert_memory_equal(ibsim_rig_wire(r, 0) + SA_HDR_OFF, golden_table_resp + 32 + SA_HDR_OFF,
			    84);
}

/*
 * A table was too long and has been cut. Its segment must not be marked Last, so that no program
 * takes a part of the table for the whole table.
 */
static void test_ibsim_a_cut_table_does_not_look_whole(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 1);
	struct ibsim_pkt k;

	ibsim_pkt_decode(&k, golden_table_resp, IBSIM_PKT_LEN);
	k.len = MAD_LEN;
	ibsim_rig_send_pkt(r, id, &k);
	assert_int_equal(rmpp_sent(r).flags, RMPP_FLAG_ACTIVE | RMPP_FLAG_FIRST);
}

/*
 * An SM must get no ACKs, because OpenSM would take an ACK for a repetition of the query. It would
 * answer the query again, the answer would cause another ACK, and so on.
 */
static void test_ibsim_an_sm_gets_no_acks(void **state)
{
	struct ibsim_rig *r = *state;
	struct rmpp_hdr h = { .version = 1, .flags = RMPP_FLAG_ACTIVE };
	unsigned int id = sm_client(r, 1);

	for (h.type = RMPP_TYPE_ACK; h.type <= RMPP_TYPE_ABORT; h.type++)
		sa_request_arrives(r, MAD_METHOD_GET_TABLE, &h);
	assert_int_equal(r->nout, 0);
	assert_int_equal(stats(r)->drop_rmpp, 3);
	h.type = RMPP_TYPE_DATA;
	sa_request_arrives(r, MAD_METHOD_GET_MULTI, &h);
	assert_int_equal(mad_method(ibsim_rig_got(r, id)->mad), MAD_METHOD_GET_MULTI);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_ibsim_response_has_the_clients_tid),
		T(test_ibsim_equal_tids_of_two_clients),
		T(test_ibsim_equal_tids_of_two_agents_of_a_client),
		T(test_ibsim_a_repeated_request_is_open_already),
		T(test_ibsim_lost_requests_are_repeated_then_come_back),
		T(test_ibsim_lost_golden),
		T(test_ibsim_lids_that_are_nobodys_come_back_at_once),
		T(test_ibsim_directed_route_to_oneself),
		T(test_ibsim_gmp_address),
		T(test_ibsim_open_requests_are_bounded),
		T(test_ibsim_garbage_is_counted),
		T(test_ibsim_responses_go_out_as_they_are),
		T(test_ibsim_a_trap_is_answered_by_its_repress),
		T(test_ibsim_requests_for_an_sm),
		T(test_ibsim_requests_without_an_sm),
		T(test_ibsim_an_sm_gets_nothing_before_its_first_smp),
		T(test_ibsim_other_classes_are_nobodys),
		T(test_ibsim_the_first_sm_of_a_port_gets_them),
		T(test_ibsim_a_slow_client_gets_all_in_order),
		T(test_ibsim_the_queue_of_who_never_reads_is_bounded),
		T(test_ibsim_answers_have_room_whatever_else_waits),
		T(test_ibsim_a_client_that_refuses_is_dead),
		T(test_ibsim_requests_of_the_dead_end),
		T(test_ibsim_a_whole_rmpp_message),
		T(test_ibsim_more_segments_are_not_wanted),
		T(test_ibsim_impossible_payload_lengths),
		T(test_ibsim_opensms_table_becomes_a_segment),
		T(test_ibsim_a_cut_table_does_not_look_whole),
		T(test_ibsim_an_sm_gets_no_acks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

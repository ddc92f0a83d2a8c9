/* SPDX-License-Identifier: BSD-2-Clause */
#include "umad_rig.h"
#include "wire/pma.h"

/*
 * Tests write() and read() of single MADs on a umad device. Sources:
 * drivers/infiniband/core/user_mad.c and mad.c of Linux 6.1.
 */

#define HDR_LEN 64 /* struct ib_user_mad_hdr */
#define TID 0xdddddddd12345678ull

static struct umad_rig rig;
static struct umad_conn *a, *b;
static uint8_t mad[MAD_LEN];
static struct umad_mad got;

static int setup(void **state)
{
	(void)state;
	umad_rig_init(&rig, NULL);
	a = umad_rig_open(&rig, "a", 0);
	b = umad_rig_open(&rig, "b", 0);
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

/* Make the header of a MAD to LID 2 from agent @id of A's program. */
static struct umad_mad hdr(uint32_t id, uint32_t qpn, uint32_t timeout_ms, uint32_t retries)
{
	struct umad_mad m = umad_rig_hdr(id, 2, qpn);

	m.timeout_ms = timeout_ms;
	m.retries = retries;
	return m;
}

static uint64_t tid_of(const uint8_t *p)
{
	return mad_tid(p);
}

static uint64_t drops(const struct umad_conn *c, enum umad_drop d)
{
	return umad_rig_stats(c).drops[d];
}

static void nothing_to_read(struct umad_conn *c)
{
	struct umad_mad m;

	assert_null(umad_rig_read(c, &m));
}

static void test_request_is_answered_by_a_pma(void **state)
{
	uint32_t id = umad_rig_agent(&rig, a, MAD_CLASS_PERF, 1, 0, 0);
	struct umad_mad m = hdr(id, 1, 100, 3);
	const uint8_t *p;

	(void)state;
	umad_rig_mad(mad, MAD_CLASS_PERF, 1, MAD_METHOD_GET, MAD_ATTR_CLASS_PORT_INFO, TID);
	assert_int_equal(umad_rig_write(&rig, a, &m, mad, sizeof(mad)), 0);
	nothing_to_read(a);
	umad_rig_run(&rig, 2 * WIRE_DELAY);
	assert_int_equal(rig.ready, 1);
	p = umad_rig_read(a, &got);
	assert_non_null(p);
	assert_int_equal(got.id, id);
	assert_int_equal(got.status, 0);
	assert_int_equal(got.data_len, MAD_LEN);
	assert_int_equal(got.length, HDR_LEN + MAD_LEN);
	assert_int_equal(be16_at(got.lid), 2);
	assert_int_equal(be32_at(got.qpn), 1);
	assert_int_equal(got.pkey_index, 0);
	assert_int_equal(got.grh_present, 0);
	assert_int_equal(mad_method(p), MAD_METHOD_GET_RESP);
	assert_int_equal((uint32_t)tid_of(p), (uint32_t)TID);
	assert_int_equal(rig.nseen, 2);
	umad_rig_run(&rig, NS_SEC(2));
	nothing_to_read(a);
	assert_int_equal(umad_rig_stats(a).sent, 1);
	assert_int_equal(umad_rig_stats(a).received, 1);
}

static void test_high_half_of_a_tid_is_the_agents(void **state)
{
	uint32_t x = umad_rig_agent(&rig, a, MAD_CLASS_PERF, 1, 0, 0);
	uint32_t y = umad_rig_agent(&rig, a, MAD_CLASS_PERF, 1, 0, 0);
	struct umad_mad m = hdr(x, 1, 100, 0);

	(void)state;
	umad_rig_mad(mad, MAD_CLASS_PERF, 1, MAD_METHOD_GET, MAD_ATTR_CLASS_PORT_INFO, TID);
	assert_int_equal(umad_rig_write(&rig, a, &m, mad, sizeof(mad)), 0);
	m.id = y; /* another agent, with the same low half of the TID */
	assert_int_equal(umad_rig_write(&rig, a, &m, mad, sizeof(mad)), 0);
	assert_int_equal((uint32_t)tid_of(rig.seen[0].mad), (uint32_t)TID);
	assert_int_not_equal(tid_of(rig.seen[0].mad), TID);
	assert_int_not_equal(tid_of(rig.seen[0].mad), tid_of(rig.seen[1].mad));
	umad_rig_run(&rig, 2 * WIRE_DELAY);
	assert_non_null(umad_rig_read(a, &got));
	assert_int_equal(got.id, x);
	assert_non_null(umad_rig_read(a, &got));
	assert_int_equal(got.id, y);
}

static void test_request_that_times_out_comes_back(void **state)
{
	uint32_t id = umad_rig_agent(&rig, a, MAD_CLASS_PERF, 1, 0, 0);
	struct umad_mad m = hdr(id, 1, 100, 3);
	const uint8_t *p;

	(void)state;
	rig.mute = true;
	m.sl = 5;
	m.length = 77;
	umad_rig_mad(mad, MAD_CLASS_PERF, 1, MAD_METHOD_GET, PMA_ATTR_PORT_COUNTERS, TID);
	assert_int_equal(umad_rig_write(&rig, a, &m, mad, sizeof(mad)), 0);
	umad_rig_run(&rig, NS_MSEC(399));
	nothing_to_read(a);
	assert_int_equal(rig.nseen, 4);
	umad_rig_run(&rig, NS_MSEC(1));
	p = umad_rig_read(a, &got);
	assert_non_null(p);
	assert_int_equal(got.status, ETIMEDOUT);
	assert_int_equal(got.id, id);
	assert_int_equal(got.data_len, MAD_HDR_LEN);
	assert_int_equal(got.timeout_ms, 100);
	assert_int_equal(got.retries, 3);
	assert_int_equal(got.length, 77); /* unchanged */
	assert_int_equal(got.sl, 5);
	assert_int_equal(be16_at(got.lid), 2);
	assert_memory_equal(p, rig.seen[0].mad, MAD_HDR_LEN);
	assert_int_equal(umad_rig_stats(a).timeouts, 1);
	assert_int_equal(rig.nseen, 4);
}

static void test_retries_have_an_end(void **state)
{
	uint32_t id = umad_rig_agent(&rig, a, MAD_CLASS_PERF, 1, 0, 0);
	struct umad_mad m = hdr(id, 1, 1, UINT32_MAX);

	(void)state;
	rig.mute = true;
	umad_rig_mad(mad, MAD_CLASS_PERF, 1, MAD_METHOD_GET, PMA_ATTR_PORT_COUNTERS, TID);
	assert_int_equal(umad_rig_write(&rig, a, &m, mad, sizeof(mad)), 0);
	umad_rig_run(&rig, NS_MSEC(255));
	nothing_to_read(a);
	umad_rig_run(&rig, NS_MSEC(1));
	assert_non_null(umad_rig_read(a, &got));
	assert_int_equal(got.status, ETIMEDOUT);
	assert_int_equal(got.retries, UINT32_MAX);
}

static void test_without_time_out_no_answer_is_expected(void **state)
{
	uint32_t id = umad_rig_agent(&rig, a, MAD_CLASS_PERF, 1, 0, 0);
	struct umad_mad m = hdr(id, 1, 0, 9);

	(void)state;
	umad_rig_mad(mad, MAD_CLASS_PERF, 1, MAD_METHOD_GET, MAD_ATTR_CLASS_PORT_INFO, TID);
	assert_int_equal(umad_rig_write(&rig, a, &m, mad, sizeof(mad)), 0);
	assert_int_equal((uint32_t)tid_of(rig.seen[0].mad), (uint32_t)TID);
	assert_int_not_equal(tid_of(rig.seen[0].mad), TID);
	umad_rig_run(&rig, NS_SEC(5));
	nothing_to_read(a);
	assert_int_equal(rig.nseen, 2); /* the answer arrived, but no request was open for it */
}

static void test_tid_under_way_is_refused(void **state)
{
	uint32_t id = umad_rig_agent(&rig, a, MAD_CLASS_PERF, 1, 0, 0);
	struct umad_mad m = hdr(id, 1, 100, 0);
	const uint8_t *p;

	(void)state;
	umad_rig_mad(mad, MAD_CLASS_PERF, 1, MAD_METHOD_GET, MAD_ATTR_CLASS_PORT_INFO, TID);
	assert_int_equal(umad_rig_write(&rig, a, &m, mad, sizeof(mad)), 0);
	assert_int_equal(umad_rig_write(&rig, a, &m, mad, sizeof(mad)), 0);
	p = umad_rig_read(a, &got);
	assert_non_null(p);
	assert_int_equal(got.status, EINVAL);
	assert_int_equal(got.data_len, MAD_HDR_LEN);
	assert_int_equal(rig.nseen, 1);
	umad_rig_run(&rig, 2 * WIRE_DELAY);
	assert_non_null(umad_rig_read(a, &got));
	assert_int_equal(got.status, 0);
}

/*
 * IBTA 13.5.3.2: a MAD that is no response goes to the agent that has registered for its version,
 * class and method. In vendor classes the OUI must match, too.
 */
static void test_unsolicited_mads_go_to_who_registered(void **state)
{
	uint32_t sa = umad_rig_agent(&rig, b, MAD_CLASS_SA, 2, 0, MAD_METHOD_REPORT);
	uint32_t vendor = umad_rig_agent(&rig, b, 0x33, 1, 0, MAD_METHOD_SET);
	uint32_t mine = umad_rig_agent(&rig, a, 0, 0, 0, 0);
	struct umad_mad m = hdr(mine, 1, 0, 0);
	const uint8_t *p;

	(void)state;
	umad_rig_mad(mad, MAD_CLASS_SA, 2, MAD_METHOD_REPORT, MAD_ATTR_NOTICE, TID);
	umad_rig_write(&rig, a, &m, mad, sizeof(mad));
	mad[2] = 1; /* another class version */
	umad_rig_write(&rig, a, &m, mad, sizeof(mad));
	umad_rig_mad(mad, 0x33, 1, MAD_METHOD_SET, 1, TID);
	mad[37] = OUI_TEST >> 16;
	mad[38] = OUI_TEST >> 8 & 0xff;
	mad[39] = OUI_TEST & 0xff;
	umad_rig_write(&rig, a, &m, mad, sizeof(mad));
	mad[39]++;
	umad_rig_write(&rig, a, &m, mad, sizeof(mad));
	umad_rig_run(&rig, 2 * WIRE_DELAY);
	p = umad_rig_read(b, &got);
	assert_non_null(p);
	assert_int_equal(got.id, sa);
	assert_int_equal(be16_at(got.lid), 1);
	assert_int_equal(mad_method(p), MAD_METHOD_REPORT);
	p = umad_rig_read(b, &got);
	assert_non_null(p);
	assert_int_equal(got.id, vendor);
	nothing_to_read(b);
}

/*
 * There is a program on each side: a server (such as ibping -S or OpenSM) and its client. The
 * client must get the response with the TID of its own request.
 */
static void test_responses_keep_their_tid(void **state)
{
	uint32_t srv = umad_rig_agent(&rig, b, MAD_CLASS_SA, 2, 0, MAD_METHOD_GET);
	uint32_t id = umad_rig_agent(&rig, a, MAD_CLASS_SA, 2, 0, 0);
	struct umad_mad m = hdr(id, 1, 100, 0), back;
	uint64_t tid;
	const uint8_t *p;

	(void)state;
	umad_rig_mad(mad, MAD_CLASS_SA, 2, MAD_METHOD_GET, SA_ATTR_NODE_RECORD, TID);
	umad_rig_write(&rig, a, &m, mad, sizeof(mad));
	umad_rig_run(&rig, WIRE_DELAY);
	p = umad_rig_read(b, &got);
	assert_non_null(p);
	tid = tid_of(p);
	memcpy(mad, p, sizeof(mad));
	mad[3] = MAD_METHOD_GET_RESP;
	mad[200] = 0x5a;
	back = umad_rig_hdr(srv, be16_at(got.lid), be32_at(got.qpn));
	back.timeout_ms = 100; /* has no meaning in a response */
	umad_rig_write(&rig, b, &back, mad, sizeof(mad));
	assert_int_equal(tid_of(rig.seen[1].mad), tid);
	umad_rig_run(&rig, WIRE_DELAY);
	p = umad_rig_read(a, &got);
	assert_non_null(p);
	assert_int_equal(got.id, id);
	assert_int_equal(p[200], 0x5a);
	umad_rig_run(&rig, NS_SEC(1));
	nothing_to_read(b);
}

static void dr_mad(uint8_t hops)
{
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SM_DR,
		.class_version = 1,
		.method = MAD_METHOD_GET,
		.class_specific = hops,
		.tid = TID,
		.attr_id = SMP_ATTR_NODE_DESC,
	};
	struct smp_dr dr = { .dr_slid = 0xffff, .dr_dlid = 0xffff, .initial_path = { 0, 1 } };

	smp_encode(mad, &h, &dr, NULL);
}

static const char *asked_desc(const struct umad_mad *m)
{
	static char desc[65];
	const uint8_t *p;

	umad_rig_write(&rig, a, m, mad, sizeof(mad));
	umad_rig_run(&rig, 3 * WIRE_DELAY);
	p = umad_rig_read(a, &got);
	assert_non_null(p);
	assert_int_equal(got.status, 0);
	assert_int_equal(mad_method(p), MAD_METHOD_GET_RESP);
	memcpy(desc, p + SMP_DATA_OFF, 64);
	return desc;
}

static void test_smps_directed_and_lid_routed(void **state)
{
	uint32_t id = umad_rig_agent(&rig, a, MAD_CLASS_SM_DR, 1, 0, 0);
	struct umad_mad m = umad_rig_hdr(id, 0xffff, 0);

	(void)state;
	m.timeout_ms = 100;
	dr_mad(0); /* a directed route of 0 hops ends at the program's own port */
	assert_string_equal(asked_desc(&m), "node A");
	assert_int_equal(rig.nseen, 0);
	assert_int_equal(be16_at(got.lid), 0xffff);
	assert_int_equal(be32_at(got.qpn), 0);
	dr_mad(1);
	assert_string_equal(asked_desc(&m), "node B");
	assert_int_equal(be16_at(got.lid), 0xffff);
	umad_rig_mad(mad, MAD_CLASS_SM_LID, 1, MAD_METHOD_GET, SMP_ATTR_NODE_DESC, TID);
	be16_put(m.lid, 2); /* an agent may send every class of its QP, not only its own */
	assert_string_equal(asked_desc(&m), "node B");
	assert_int_equal(be16_at(got.lid), 2);
	be16_put(m.lid, 1);
	assert_string_equal(asked_desc(&m), "node A");
}

/*
 * An agent that has registered for SMInfo must get the request. If no agent has registered for
 * SMInfo, the SMA refuses the request (14.4.1).
 */
static void test_sminfo_goes_to_the_sm(void **state)
{
	uint32_t sm = umad_rig_agent(&rig, b, MAD_CLASS_SM_LID, 1, 0, MAD_METHOD_GET);
	uint32_t id = umad_rig_agent(&rig, a, MAD_CLASS_SM_LID, 1, 0, 0);
	struct umad_mad m = umad_rig_hdr(id, 2, 0);

	(void)state;
	m.timeout_ms = 100;
	umad_rig_mad(mad, MAD_CLASS_SM_LID, 1, MAD_METHOD_GET, SMP_ATTR_SM_INFO, TID);
	umad_rig_write(&rig, a, &m, mad, sizeof(mad));
	/* the SMA always answers this attribute itself */
	mad[17] = SMP_ATTR_NODE_INFO & 0xff;
	mad[15]++;
	umad_rig_write(&rig, a, &m, mad, sizeof(mad));
	umad_rig_run(&rig, 2 * WIRE_DELAY);
	assert_non_null(umad_rig_read(b, &got));
	assert_int_equal(got.id, sm);
	nothing_to_read(b);
	assert_non_null(umad_rig_read(a, &got));
	nothing_to_read(a);
}

static void test_address_of_both_directions(void **state)
{
	uint32_t sa = umad_rig_agent(&rig, b, MAD_CLASS_SA, 2, 0, MAD_METHOD_REPORT);
	uint32_t id = umad_rig_agent(&rig, a, MAD_CLASS_SA, 2, 0, 0);
	ib_gid gid = node_gid(&rig.b.n.port[1], 0), from = node_gid(&rig.a.n.port[1], 0);
	struct umad_mad m = hdr(id, 1, 0, 0);
	const struct mad_addr *to = &rig.seen[0].to;

	(void)state;
	(void)sa;
	rig.a.n.port[1].pkeys[3] = 0x8003;
	rig.b.n.port[1].pkeys[5] = 0x0003;
	rig.b.n.port[1].pi.lmc = 2;
	be16_put(m.lid, 2);
	m.sl = 7;
	m.path_bits = 1;
	m.pkey_index = 3;
	be32_put(m.qkey, 0x1234); /* ignored: QP1 has a fixed Q_Key */
	m.grh_present = 1;
	memcpy(m.gid, gid.raw, sizeof(m.gid));
	m.hop_limit = 64;
	m.traffic_class = 0x21;
	be32_put(m.flow_label, 0x54321);
	umad_rig_mad(mad, MAD_CLASS_SA, 2, MAD_METHOD_REPORT, MAD_ATTR_NOTICE, TID);
	umad_rig_write(&rig, a, &m, mad, sizeof(mad));
	assert_int_equal(to->qp, 1);
	assert_int_equal(to->qpn, 1);
	assert_int_equal(to->qkey, IB_QP1_QKEY);
	assert_int_equal(to->lid, 2);
	assert_int_equal(to->sl, 7);
	assert_int_equal(to->path_bits, 1);
	assert_int_equal(to->pkey, 0x8003);
	assert_true(to->has_grh);
	assert_memory_equal(to->gid.raw, gid.raw, 16);
	assert_int_equal(to->hop_limit, 64);
	assert_int_equal(to->tclass, 0x21);
	assert_int_equal(to->flow_label, 0x54321);
	umad_rig_run(&rig, WIRE_DELAY);
	assert_non_null(umad_rig_read(b, &got));
	assert_int_equal(got.pkey_index, 5);
	/* The path bits are the low bits of the MAD's DLID. Their number is the LMC of the port. */
	assert_int_equal(got.path_bits, 2);
	assert_int_equal(got.sl, 7);
	assert_int_equal(got.grh_present, 1);
	assert_memory_equal(got.gid, from.raw, 16);
	assert_int_equal(got.traffic_class, 0x21);
	assert_int_equal(be32_at(got.flow_label), 0x54321);
}

static void test_short_mads_are_padded(void **state)
{
	uint32_t id = umad_rig_agent(&rig, a, MAD_CLASS_PERF, 1, 0, 0);
	struct umad_mad m = hdr(id, 1, 0, 0);
	const uint8_t zero[MAD_LEN] = { 0 };

	(void)state;
	umad_rig_mad(mad, MAD_CLASS_PERF, 1, MAD_METHOD_GET, MAD_ATTR_CLASS_PORT_INFO, TID);
	memset(mad + 24, 0xee, sizeof(mad) - 24);
	for (size_t len = 0; len <= MAD_LEN; len++) {
		uint8_t *exact = malloc(len ? len : 1);
		struct umad_conn *c = umad_rig_open(&rig, "a", 0);

		assert_non_null(exact);
		memcpy(exact, mad, len);
		m.id = umad_rig_agent(&rig, c, MAD_CLASS_PERF, 1, 0, 0);
		rig.nseen = 0;
		/*
		 * A message of length 0 must come with a memfd, so the server must report that the
		 * memfd is missing.
		 */
		assert_int_equal(umad_rig_write(&rig, c, &m, exact, len), len ? 0 : -EPROTO);
		assert_int_equal(rig.nseen, len >= 36);
		assert_int_equal(drops(c, UMAD_DROP_MALFORMED), len > 0 && len < 36);
		if (len >= 36) {
			assert_memory_equal(rig.seen[0].mad + 24, mad + 24, len - 24);
			assert_memory_equal(rig.seen[0].mad + len, zero, MAD_LEN - len);
		}
		free(exact);
		umad_conn_close(c, rig.now);
	}
}

static void refused(const struct umad_mad *m, size_t len, bool known)
{
	uint64_t before = drops(a, UMAD_DROP_MALFORMED);
	static uint8_t data[2 * MAD_LEN];

	memcpy(data, mad, sizeof(mad));
	rig.nseen = 0;
	assert_int_equal(umad_rig_write(&rig, a, m, data, len), 0);
	assert_int_equal(rig.nseen, 0);
	assert_int_equal(drops(a, UMAD_DROP_MALFORMED), before + 1);
	if (known) {
		assert_non_null(umad_rig_read(a, &got));
		assert_int_equal(got.status, EINVAL);
	}
	nothing_to_read(a);
}

static void test_sends_the_kernel_refuses(void **state)
{
	uint32_t perf = umad_rig_agent(&rig, a, MAD_CLASS_PERF, 1, 0, 0);
	uint32_t rmpp = umad_rig_agent(&rig, a, MAD_CLASS_SA, 2, 1, 0);
	struct umad_mad ok = hdr(perf, 1, 100, 0), m;

	(void)state;
	umad_rig_mad(mad, MAD_CLASS_PERF, 1, MAD_METHOD_GET, MAD_ATTR_CLASS_PORT_INFO, TID);
	m = ok;
	m.id = 2;
	refused(&m, MAD_LEN, false);
	m.id = UMAD_AGENTS_MAX;
	refused(&m, MAD_LEN, false);
	m.id = UINT32_MAX;
	refused(&m, MAD_LEN, false);
	m = ok;
	m.pkey_index = NODE_PKEYS;
	refused(&m, MAD_LEN, true);
	m.pkey_index = UINT16_MAX;
	refused(&m, MAD_LEN, true);
	m = ok;
	m.grh_present = 1;
	m.gid_index = NODE_GUIDS;
	refused(&m, MAD_LEN, true);
	refused(&ok, MAD_LEN + 1, true); /* longer than any MAD without RMPP */
	m = ok;
	m.id = rmpp; /* an RMPP agent may only send MADs of classes with RMPP */
	refused(&m, MAD_LEN, true);
	umad_rig_mad(mad, MAD_CLASS_SM_LID, 1, MAD_METHOD_GET, SMP_ATTR_NODE_DESC, TID);
	refused(&ok, MAD_LEN, true); /* an agent of QP1 may send no SMP */
	umad_rig_mad(mad, MAD_CLASS_SA, 2, MAD_METHOD_GET, SA_ATTR_NODE_RECORD, TID);
	refused(&ok, SA_DATA_OFF - 1, true);
}

static void test_lengths_must_agree(void **state)
{
	uint32_t id = umad_rig_agent(&rig, a, MAD_CLASS_PERF, 1, 0, 0);
	struct {
		struct umad_mad m;
		uint8_t data[MAD_LEN];
	} msg = { .m = hdr(id, 1, 0, 0) };

	(void)state;
	msg.m.msg.len = offsetof(__typeof__(msg), data) + MAD_LEN;
	msg.m.data_len = MAD_LEN + 1;
	assert_int_equal(umad_rig_msg(&rig, a, &msg, msg.m.msg.len, false), -EPROTO);
	msg.m.data_len = MAD_LEN - 1;
	assert_int_equal(umad_rig_msg(&rig, a, &msg, msg.m.msg.len, false), -EPROTO);
	msg.m.data_len = MAD_LEN;
	assert_int_equal(umad_rig_msg(&rig, a, &msg, msg.m.msg.len - 1, false), -EPROTO);
	assert_int_equal(rig.nseen, 0);
}

static void test_failure_to_send_ends_like_a_loss(void **state)
{
	uint32_t id = umad_rig_agent(&rig, a, MAD_CLASS_PERF, 1, 0, 0);
	struct umad_mad m = hdr(id, 1, 50, 1);

	(void)state;
	rig.xmit_err = -ENETDOWN;
	umad_rig_mad(mad, MAD_CLASS_PERF, 1, MAD_METHOD_GET, MAD_ATTR_CLASS_PORT_INFO, TID);
	umad_rig_write(&rig, a, &m, mad, sizeof(mad));
	nothing_to_read(a);
	umad_rig_run(&rig, NS_MSEC(100));
	assert_non_null(umad_rig_read(a, &got));
	assert_int_equal(got.status, ETIMEDOUT);
	m.timeout_ms = 0;
	umad_rig_write(&rig, a, &m, mad, sizeof(mad));
	assert_int_equal(drops(a, UMAD_DROP_DOWN), 1);
	nothing_to_read(a);
}

static void test_requests_end_with_their_agent_and_file(void **state)
{
	uint32_t id = umad_rig_agent(&rig, a, MAD_CLASS_PERF, 1, 0, 0);
	struct umad_unregister u = { .msg = { UMAD_UNREGISTER, sizeof(u) }, .id = id };
	struct umad_conn *c = umad_rig_open(&rig, "a", 0);
	struct umad_mad m = hdr(id, 1, 100, 0);

	(void)state;
	umad_rig_mad(mad, MAD_CLASS_PERF, 1, MAD_METHOD_GET, MAD_ATTR_CLASS_PORT_INFO, TID);
	umad_rig_write(&rig, a, &m, mad, sizeof(mad));
	assert_int_equal(umad_rig_msg(&rig, a, &u, sizeof(u), true), 0);
	m.id = umad_rig_agent(&rig, c, MAD_CLASS_PERF, 1, 0, 0);
	umad_rig_write(&rig, c, &m, mad, sizeof(mad));
	umad_conn_close(c, rig.now);
	umad_rig_run(&rig, NS_SEC(1));
	nothing_to_read(a);
	assert_int_equal(rig.nseen, 4); /* the answers arrive and are dropped */
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_request_is_answered_by_a_pma),
		T(test_high_half_of_a_tid_is_the_agents),
		T(test_request_that_times_out_comes_back),
		T(test_retries_have_an_end),
		T(test_without_time_out_no_answer_is_expected),
		T(test_tid_under_way_is_refused),
		T(test_unsolicited_mads_go_to_who_registered),
		T(test_responses_keep_their_tid),
		T(test_smps_directed_and_lid_routed),
		T(test_sminfo_goes_to_the_sm),
		T(test_address_of_both_directions),
		T(test_short_mads_are_padded),
		T(test_sends_the_kernel_refuses),
		T(test_lengths_must_agree),
		T(test_failure_to_send_ends_like_a_loss),
		T(test_requests_end_with_their_agent_and_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

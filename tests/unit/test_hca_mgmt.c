/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Tests QP0 and QP1 of a soft HCA: which packets reach the agents of the node, and which packets
 * the agents send.
 */

#include <errno.h>

#include "node/mad_pkt.h"
#include "unit/hca_rig.h"
#include "wire/rmpp.h"
#include "wire/sa.h"

#define PING_OUI 0x001405

static void get(uint8_t mad[MAD_LEN], uint8_t mgmt_class, uint8_t version, uint16_t attr)
{
	struct mad_hdr h = {
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = mgmt_class,
		.class_version = version,
		.method = MAD_METHOD_GET,
		.tid = 0x1122334455667788ull,
		.attr_id = attr,
	};

	memset(mad, 0, MAD_LEN);
	mad_hdr_encode(mad, &h);
}

static struct ib_ud_hdr smp_hdr(uint16_t dlid)
{
	struct ib_ud_hdr h = rig_hdr(IB_QP0);

	h.lrh.vl = IB_VL15;
	h.lrh.sl = 0;
	h.lrh.dlid = dlid;
	h.deth.qkey = 0;
	h.deth.src_qp = IB_QP0;
	return h;
}

static struct ib_ud_hdr gmp_hdr(void)
{
	struct ib_ud_hdr h = rig_hdr(IB_QP1);

	h.deth.qkey = IB_QP1_QKEY;
	h.deth.src_qp = IB_QP1;
	return h;
}

static struct pkt *mad_pkt(struct rig *r, const struct ib_ud_hdr *h, const void *mad, size_t len)
{
	struct pkt *p = pkt_from_data(r->pool, mad, len);

	assert_non_null(p);
	ib_ud_hdr_encode(pkt_push(p, ib_ud_hdr_len(h->has_grh)), h, len);
	crc_pkt_seal(p);
	return p;
}

/*
 * Check the headers of the only packet that the HCA sent. Returns the headers; @mad gets the MAD in
 * the packet.
 */
static struct ib_ud_hdr answer(struct rig *r, uint8_t mad[MAD_LEN])
{
	struct ib_ud_hdr h;
	uint8_t buf[80];
	struct pkt *p;
	int hlen;

	timers_run(&r->timers, r->now);
	assert_int_equal(r->nout, 1);
	p = r->out[0];
	assert_int_equal(crc_pkt_check(p), CRC_OK);
	assert_int_equal(p->flags & PKT_CRC, PKT_CRC);
	hlen = ib_ud_hdr_decode(&h, buf, pkt_copy_out(p, 0, buf, sizeof(buf)));
	assert_true(hlen > 0);
	assert_int_equal(p->len - (unsigned int)hlen, MAD_LEN);
	assert_int_equal(h.lrh.vl, p->vl);
	pkt_copy_out(p, (uint32_t)hlen, mad, MAD_LEN);
	return h;
}

/* --- QP0 */

static void test_I3_smps_pass_in_init_armed_and_active(void **state)
{
	static const uint8_t states[] = { IB_PORT_INIT, IB_PORT_ARMED, IB_PORT_ACTIVE };
	struct rig *r = *state;

	for (unsigned int i = 0; i < 3; i++) {
		struct ib_ud_hdr h = smp_hdr(RIG_LID1), a;
		struct smp_node_info info;
		uint8_t mad[MAD_LEN];

		rig_port(r, 1)->pi.port_state = states[i];
		get(mad, MAD_CLASS_SM_LID, 1, SMP_ATTR_NODE_INFO);
		rig_forget(r);
		rig_rx(r, 1, mad_pkt(r, &h, mad, MAD_LEN));
		a = answer(r, mad);
		/*
		 * length and fields as in a trace of OpenSM: 290 octets, PktLen 0x48, VL15, P_Key
		 * 0xffff, Q_Key 0
		 */
		assert_int_equal(r->out[0]->len + r->out[0]->tail_len, 290);
		assert_int_equal(a.lrh.pkt_len, 0x48);
		assert_int_equal(a.lrh.vl, IB_VL15);
		assert_int_equal(a.lrh.dlid, RIG_FAR_LID);
		assert_int_equal(a.lrh.slid, RIG_LID1);
		assert_int_equal(a.bth.dest_qp, IB_QP0);
		assert_int_equal(a.bth.pkey, 0xffff);
		assert_int_equal(a.deth.qkey, 0);
		assert_int_equal(mad_method(mad), MAD_METHOD_GET_RESP);
		assert_int_equal(smp_node_info_decode(&info, smp_data(mad), SMP_DATA_LEN), 0);
		assert_int_equal(info.port_guid, RIG_GUID1);
		assert_int_equal(info.local_port, 1);
		assert_int_equal(info.node_type, IB_NODE_CA);
		assert_int_equal(info.nports, 2);
		/*
		 * The state must not have changed: only a packet on a data VL makes an Armed port
		 * Active, and this packet was on VL15.
		 */
		assert_int_equal(rig_port(r, 1)->pi.port_state, states[i]);
	}
	assert_int_equal(rig_drops(r), 0);
}

static void test_I3_smps_skip_pkey_and_qkey(void **state)
{
	struct rig *r = *state;
	struct ib_ud_hdr h = smp_hdr(RIG_LID1);
	uint8_t mad[MAD_LEN];

	h.bth.pkey = 0x1234;
	h.deth.qkey = 0x99;
	get(mad, MAD_CLASS_SM_LID, 1, SMP_ATTR_NODE_INFO);
	rig_rx(r, 1, mad_pkt(r, &h, mad, MAD_LEN));
	answer(r, mad);
	assert_int_equal(mad_method(mad), MAD_METHOD_GET_RESP);
	assert_int_equal(rig_drops(r), 0);
}

/* An SMP with a directed route of one hop and permissive LIDs must reach a port without a LID. */
static void test_I1_directed_route_to_a_port_without_lid(void **state)
{
	struct rig *r = *state;
	struct ib_ud_hdr h = smp_hdr(IB_LID_PERMISSIVE), a;
	struct mad_hdr mh = {
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = MAD_CLASS_SM_DR,
		.class_version = 1,
		.method = MAD_METHOD_GET,
		/* hop pointer 1 and hop count 1: the request has made its last hop */
		.class_specific = 0x0101,
		.tid = 7,
		.attr_id = SMP_ATTR_PORT_INFO,
		.attr_mod = 1,
	};
	struct smp_dr dr = { .dr_slid = 0xffff, .dr_dlid = 0xffff, .initial_path = { 0, 5 } };
	uint8_t mad[MAD_LEN];

	h.lrh.slid = IB_LID_PERMISSIVE;
	rig_port(r, 1)->pi.port_state = IB_PORT_INIT;
	rig_port(r, 1)->pi.lid = 0;
	smp_encode(mad, &mh, &dr, NULL);
	rig_rx(r, 1, mad_pkt(r, &h, mad, MAD_LEN));
	a = answer(r, mad);
	assert_int_equal(a.lrh.dlid, IB_LID_PERMISSIVE);
	assert_int_equal(a.lrh.slid, IB_LID_PERMISSIVE);
	assert_int_equal(a.lrh.vl, IB_VL15);
	assert_int_equal(mad_method(mad), MAD_METHOD_GET_RESP);
	assert_int_equal(mad_status(mad), MAD_STATUS_DR_D);
}

/* A Set(PortInfo) takes the link down. The answer must be sent before the link goes down. */
static void test_I5_the_answer_to_link_down_leaves(void **state)
{
	struct rig *r = *state;
	struct ib_ud_hdr h = smp_hdr(RIG_LID1);
	struct mad_hdr mh = {
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = MAD_CLASS_SM_LID,
		.class_version = 1,
		.method = MAD_METHOD_SET,
		.attr_id = SMP_ATTR_PORT_INFO,
		.attr_mod = 1,
	};
	struct smp_port_info pi = rig_port(r, 1)->pi;
	struct smp_dr dr = { 0 };
	uint8_t data[SMP_DATA_LEN] = { 0 }, mad[MAD_LEN];

	pi.port_state = IB_PORT_DOWN;
	pi.phys_state = IB_PHYS_NOP;
	smp_port_info_encode(data, &pi);
	smp_encode(mad, &mh, &dr, data);
	rig_rx(r, 1, mad_pkt(r, &h, mad, MAD_LEN));
	answer(r, mad);
	assert_int_equal(mad_method(mad), MAD_METHOD_GET_RESP);
	assert_int_equal(mad_status(mad), 0);
	assert_int_equal(rig_port(r, 1)->pi.port_state, IB_PORT_DOWN);
	assert_int_equal(r->events[NODE_EV_RETRAIN], 1);
	assert_int_equal(r->events[NODE_EV_PORT_ERR], 1);
	assert_int_equal(rig_drops(r), 0);
}

static void test_mads_have_256_octets(void **state)
{
	struct rig *r = *state;
	struct ib_ud_hdr s = smp_hdr(RIG_LID1), g = gmp_hdr();
	uint8_t mad[MAD_LEN + 4] = { 0 };

	get(mad, MAD_CLASS_SM_LID, 1, SMP_ATTR_NODE_INFO);
	rig_expect_drop(r, 1, mad_pkt(r, &s, mad, MAD_LEN - 4), HCA_DROP_LEN);
	rig_expect_drop(r, 1, mad_pkt(r, &s, mad, MAD_LEN + 4), HCA_DROP_LEN);
	rig_expect_drop(r, 1, mad_pkt(r, &s, mad, 0), HCA_DROP_LEN);
	rig_expect_drop(r, 1, mad_pkt(r, &g, mad, MAD_LEN - 1), HCA_DROP_LEN);
}

/* --- QP1 */

static void test_I3_qp1_takes_any_pkey_of_the_table(void **state)
{
	static const uint16_t good[] = { 0xffff, 0x7fff, 0x8001, 0x0001, 0x8002 };
	static const uint16_t bad[] = { 0x0002 /* both limited */, 0x8003, 0x8000, 0 };
	struct rig *r = *state;
	struct ib_ud_hdr h = gmp_hdr();
	uint8_t mad[MAD_LEN];

	for (unsigned int i = 0; i < sizeof(good) / sizeof(*good); i++) {
		struct ib_ud_hdr a;

		h.bth.pkey = good[i];
		get(mad, MAD_CLASS_PERF, 1, MAD_ATTR_CLASS_PORT_INFO);
		rig_forget(r);
		rig_rx(r, 1, mad_pkt(r, &h, mad, MAD_LEN));
		a = answer(r, mad);
		assert_int_equal(a.lrh.dlid, RIG_FAR_LID);
		assert_int_equal(a.lrh.sl, 3);
		assert_int_equal(a.bth.dest_qp, IB_QP1);
		assert_int_equal(a.deth.qkey, IB_QP1_QKEY);
		assert_int_equal(a.deth.src_qp, IB_QP1);
		assert_int_equal(mad_method(mad), MAD_METHOD_GET_RESP);
	}
	assert_int_equal(rig_drops(r), 0);
	rig_forget(r);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		h.bth.pkey = bad[i];
		rig_expect_drop(r, 1, mad_pkt(r, &h, mad, MAD_LEN), HCA_DROP_PKEY);
	}
	assert_int_equal(rig_port(r, 1)->pi.pkey_violations, 4);
}

static void test_I3_qp1_has_a_fixed_qkey(void **state)
{
	struct rig *r = *state;
	struct ib_ud_hdr h = gmp_hdr();
	uint8_t mad[MAD_LEN];

	get(mad, MAD_CLASS_PERF, 1, MAD_ATTR_CLASS_PORT_INFO);
	h.deth.qkey = 0x80010001;
	rig_expect_drop(r, 1, mad_pkt(r, &h, mad, MAD_LEN), HCA_DROP_QKEY);
	h.deth.qkey = 0;
	rig_expect_drop(r, 1, mad_pkt(r, &h, mad, MAD_LEN), HCA_DROP_QKEY);
	assert_int_equal(rig_port(r, 1)->pi.qkey_violations, 2);
}

static void test_I4_qp1_needs_an_active_port(void **state)
{
	struct rig *r = *state;
	struct ib_ud_hdr h = gmp_hdr();
	uint8_t mad[MAD_LEN];

	get(mad, MAD_CLASS_PERF, 1, MAD_ATTR_CLASS_PORT_INFO);
	rig_port(r, 1)->pi.port_state = IB_PORT_INIT;
	rig_expect_drop(r, 1, mad_pkt(r, &h, mad, MAD_LEN), HCA_DROP_PORT_STATE);
}

static void test_I34_ibping_is_answered(void **state)
{
	struct rig *r = *state;
	struct ib_ud_hdr h = gmp_hdr(), a;
	uint8_t mad[MAD_LEN];

	get(mad, MAD_CLASS_OPENIB_PING, 1, 0);
	mad[37] = PING_OUI >> 16 & 0xff;
	mad[38] = PING_OUI >> 8 & 0xff;
	mad[39] = PING_OUI & 0xff;
	rig_rx(r, 1, mad_pkt(r, &h, mad, MAD_LEN));
	a = answer(r, mad);
	assert_int_equal(a.lrh.dlid, RIG_FAR_LID);
	assert_int_equal(a.bth.dest_qp, IB_QP1);
	assert_int_equal(mad_class(mad), MAD_CLASS_OPENIB_PING);
	assert_int_equal(mad_method(mad), MAD_METHOD_GET_RESP);
	assert_int_equal(mad_tid(mad), 0x1122334455667788ull);
}

/* The request has a GRH. The answer must have one, too, with the two GIDs exchanged. */
static void test_I18_gmp_with_grh_is_answered_with_grh(void **state)
{
	struct rig *r = *state;
	struct ib_ud_hdr h = rig_hdr_grh(IB_QP1), a;
	uint8_t mad[MAD_LEN];

	h.deth.qkey = IB_QP1_QKEY;
	h.deth.src_qp = IB_QP1;
	get(mad, MAD_CLASS_PERF, 1, MAD_ATTR_CLASS_PORT_INFO);
	rig_rx(r, 1, mad_pkt(r, &h, mad, MAD_LEN));
	a = answer(r, mad);
	assert_true(a.has_grh);
	assert_memory_equal(&a.grh.dgid, &h.grh.sgid, sizeof(ib_gid));
	assert_memory_equal(&a.grh.sgid, &h.grh.dgid, sizeof(ib_gid));
}

/* --- sending */

struct reply {
	unsigned int n;
	int status;
	uint16_t from;
};

static void on_reply(void *ctx, int status, const struct mad_addr *from, const void *mad,
		     size_t len, ns_t now)
{
	struct reply *re = ctx;

	re->n++;
	re->status = status;
	re->from = from ? from->lid : 0;
}

static struct mad_agent *pma_client(struct rig *r)
{
	struct mad_agent_cfg c = { .qp = 1, .mgmt_class = MAD_CLASS_PERF, .class_version = 1 };
	struct mad_agent *a = NULL;

	assert_int_equal(mad_agent_add(rig_port(r, 1)->ep, &c, &a), 0);
	return a;
}

static void request(struct rig *r, struct mad_agent *agent, uint16_t lid, struct reply *re)
{
	uint8_t mad[MAD_LEN];
	struct mad_req q = {
		.to = mad_addr_gmp(lid, 0),
		.mad = mad,
		.len = MAD_LEN,
		.timeout_ms = 100,
		.retries = 1,
		.done = on_reply,
		.ctx = re,
	};

	*re = (struct reply){ 0 };
	get(mad, MAD_CLASS_PERF, 1, MAD_ATTR_CLASS_PORT_INFO);
	assert_int_equal(mad_request(agent, &q, NULL, r->now), 0);
}

/*
 * A request is sent to a LID of the HCA itself. The answer must not arrive before mad_request() has
 * returned.
 */
static void test_I8_mads_to_an_own_lid_stay_inside(void **state)
{
	struct rig *r = *state;
	struct mad_agent *a = pma_client(r);
	struct reply re;

	rig_port(r, 1)->pi.lmc = 1;
	request(r, a, RIG_LID1 + 1, &re);
	assert_int_equal(re.n, 0);
	while (timers_run(&r->timers, r->now))
		;
	assert_int_equal(re.n, 1);
	assert_int_equal(re.status, 0);
	assert_int_equal(r->nout, 0);
	assert_int_equal(rig_port(r, 1)->cnt.xmit_pkts, 0);
	assert_int_equal(rig_port(r, 1)->cnt.rcv_pkts, 0);
	mad_agent_del(a);
}

#define OWN_TABLE (SA_DATA_OFF + 1000 * SA_DATA_LEN)

struct own_sa {
	struct mad_agent *agent;
	unsigned int asked;
};

static void own_sa_recv(void *ctx, const struct mad_addr *from, const void *mad, size_t len,
			ns_t now)
{
	static uint8_t table[OWN_TABLE];
	struct own_sa *sa = ctx;

	sa->asked++;
	memcpy(table, mad, SA_DATA_OFF);
	table[MAD_OFF_METHOD] = MAD_METHOD_GET_TABLE_RESP;
	table[SA_RMPP_OFF + 2] = RMPP_FLAG_ACTIVE;
	assert_int_equal(mad_reply(sa->agent, from, table, sizeof(table), now), 0);
}

/*
 * An SA sends an answer of 1000 segments to an interface on the SA's own port. The segments must be
 * sent in many runs of the timers, so that other timers run in between.
 */
static void test_rmpp_to_an_own_lid_takes_many_runs_of_the_timers(void **state)
{
	struct rig *r = *state;
	struct own_sa sa = { 0 };
	struct mad_agent_cfg c = {
		.qp = 1, .mgmt_class = MAD_CLASS_SA, .class_version = 2, .rmpp = true
	};
	uint8_t mad[MAD_LEN];
	struct reply re = { 0 };
	struct mad_req q = {
		.to = mad_addr_gmp(RIG_LID1, 0),
		.mad = mad,
		.len = MAD_LEN,
		.timeout_ms = 100,
		.done = on_reply,
		.ctx = &re,
	};
	unsigned int runs = 0;

	c.recv = own_sa_recv;
	c.ctx = &sa;
	mad_agent_cfg_method(&c, MAD_METHOD_GET_TABLE);
	assert_int_equal(mad_agent_add(rig_port(r, 1)->ep, &c, &sa.agent), 0);
	get(mad, MAD_CLASS_SA, 2, SA_ATTR_PATH_RECORD);
	mad[MAD_OFF_METHOD] = MAD_METHOD_GET_TABLE;
	assert_int_equal(mad_request(sa.agent, &q, NULL, r->now), 0);
	while (timers_next(&r->timers) <= r->now) {
		timers_run(&r->timers, r->now);
		runs++;
	}
	assert_int_equal(sa.asked, 1);
	assert_int_equal(re.n, 1);
	assert_int_equal(re.status, 0);
	/* each run of the timers sends at most one window of segments */
	assert_true(runs > 1000 / 64);
	assert_int_equal(r->nout, 0);
	mad_agent_del(sa.agent);
}

static void test_mads_to_others_go_out_and_are_counted(void **state)
{
	struct rig *r = *state;
	struct mad_agent *a = pma_client(r);
	struct ib_ud_hdr h;
	struct reply re;
	uint8_t mad[MAD_LEN];

	request(r, a, RIG_FAR_LID, &re);
	h = answer(r, mad);
	assert_int_equal(h.lrh.dlid, RIG_FAR_LID);
	assert_int_equal(h.lrh.slid, RIG_LID1);
	assert_int_equal(h.bth.pkey, 0xffff);
	assert_int_equal(h.deth.qkey, IB_QP1_QKEY);
	assert_int_equal(rig_port(r, 1)->cnt.xmit_pkts, 1);
	assert_int_equal(rig_port(r, 1)->cnt.xmit_data, 0x48);
	assert_int_equal(rig_port(r, 1)->cnt.ucast_xmit, 1);
	mad_agent_del(a);
	assert_int_equal(re.n, 1);
	assert_int_equal(re.status, -ECANCELED);
}

/*
 * The port is a limited member of the default partition. The packet must have the limited P_Key,
 * which is in the port's table, whether the sender gives the limited or the full P_Key.
 */
static void test_I7_limited_members_send_gmps(void **state)
{
	static const uint16_t pkeys[] = { 0xffff, 0x7fff };
	struct rig *r = *state;
	struct mad_agent_cfg c = { .qp = 1, .mgmt_class = MAD_CLASS_SA, .class_version = 2 };
	struct mad_addr to = mad_addr_gmp(RIG_FAR_LID, 0);
	struct mad_agent *a = NULL;
	uint8_t mad[MAD_LEN];

	assert_int_equal(mad_agent_add(rig_port(r, 1)->ep, &c, &a), 0);
	rig_port(r, 1)->pkeys[0] = 0x7fff;
	for (unsigned int i = 0; i < 2; i++) {
		get(mad, MAD_CLASS_SA, 2, MAD_ATTR_CLASS_PORT_INFO);
		to.pkey = pkeys[i];
		rig_forget(r);
		assert_int_equal(mad_reply(a, &to, mad, MAD_LEN, r->now), 0);
		assert_int_equal(answer(r, mad).bth.pkey, 0x7fff);
	}
	to.pkey = 0x8123; /* this P_Key is not in the port's table, so nothing must be sent */
	rig_forget(r);
	mad_reply(a, &to, mad, MAD_LEN, r->now);
	assert_int_equal(r->nout, 0);
	mad_agent_del(a);
}

static void test_I4_gmps_need_an_active_port(void **state)
{
	struct rig *r = *state;
	struct mad_agent *a = pma_client(r);
	struct reply re;

	rig_port(r, 1)->pi.port_state = IB_PORT_INIT;
	request(r, a, RIG_FAR_LID, &re);
	timers_run(&r->timers, r->now);
	assert_int_equal(r->nout, 0);
	assert_int_equal(hca_drops(r->h, HCA_DROP_TX_STATE), 1);
	/* When the agent repeats the request, the port is Active, so the request must be sent. */
	rig_port(r, 1)->pi.port_state = IB_PORT_ACTIVE;
	r->now += NS_MSEC(150);
	timers_run(&r->timers, r->now);
	assert_int_equal(r->nout, 1);
	mad_agent_del(a);
}

static void test_I3_smps_go_out_in_init(void **state)
{
	struct rig *r = *state;
	struct mad_agent_cfg c = { .qp = 0, .mgmt_class = MAD_CLASS_SM_LID, .class_version = 1 };
	struct mad_addr to = mad_addr_smp_lid(RIG_FAR_LID);
	struct mad_agent *a = NULL;
	struct ib_ud_hdr h;
	uint8_t mad[MAD_LEN];

	assert_int_equal(mad_agent_add(rig_port(r, 1)->ep, &c, &a), 0);
	rig_port(r, 1)->pi.port_state = IB_PORT_INIT;
	get(mad, MAD_CLASS_SM_LID, 1, SMP_ATTR_NODE_INFO);
	assert_int_equal(mad_reply(a, &to, mad, MAD_LEN, r->now), 0);
	h = answer(r, mad);
	assert_int_equal(h.lrh.vl, IB_VL15);
	assert_int_equal(h.lrh.dlid, RIG_FAR_LID);
	node_link(hca_node(r->h), 1, false, r->now);
	rig_forget(r);
	mad_reply(a, &to, mad, MAD_LEN, r->now);
	assert_int_equal(r->nout, 0);
	assert_int_equal(hca_drops(r->h, HCA_DROP_TX_STATE), 1);
	mad_agent_del(a);
}

static void test_I14_violations_are_reported_to_the_sm(void **state)
{
	struct rig *r = *state;
	struct ib_ud_hdr h = rig_hdr(0x48), a;
	struct mad_notice notice;
	uint8_t mad[MAD_LEN];

	rig_qp(r, 1, 0x48, 0);
	rig_port(r, 1)->pi.sm_lid = RIG_FAR_LID;
	h.deth.qkey = 1;
	rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_QKEY);
	a = answer(r, mad);
	assert_int_equal(a.lrh.vl, IB_VL15);
	assert_int_equal(a.lrh.dlid, RIG_FAR_LID);
	assert_int_equal(mad_method(mad), MAD_METHOD_TRAP);
	assert_int_equal(mad_notice_decode(&notice, smp_data(mad), MAD_NOTICE_LEN), 0);
	assert_int_equal(notice.trap, MAD_TRAP_BAD_QKEY);
	assert_int_equal(mad_notice_get_lid(&notice), RIG_FAR_LID);
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_I3_smps_pass_in_init_armed_and_active),
		T(test_I3_smps_skip_pkey_and_qkey),
		T(test_I1_directed_route_to_a_port_without_lid),
		T(test_I5_the_answer_to_link_down_leaves),
		T(test_mads_have_256_octets),
		T(test_I3_qp1_takes_any_pkey_of_the_table),
		T(test_I3_qp1_has_a_fixed_qkey),
		T(test_I4_qp1_needs_an_active_port),
		T(test_I34_ibping_is_answered),
		T(test_I18_gmp_with_grh_is_answered_with_grh),
		T(test_I8_mads_to_an_own_lid_stay_inside),
		T(test_rmpp_to_an_own_lid_takes_many_runs_of_the_timers),
		T(test_mads_to_others_go_out_and_are_counted),
		T(test_I7_limited_members_send_gmps),
		T(test_I4_gmps_need_an_active_port),
		T(test_I3_smps_go_out_in_init),
		T(test_I14_violations_are_reported_to_the_sm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

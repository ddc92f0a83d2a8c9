/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the trace events that describe the way of a packet through the fabric. Packets for which
 * the filter match() returns false must not be traced.
 */
#include "check.h"

#include <string.h>

#include "fabric/fault.h"
#include "fabric/trace.h"
#include "fabric_rig.h"
#include "util/list.h"

static struct rig r;
static struct hca_qp *q1, *q2;

struct seen {
	enum fabric_trace_kind kind;
	const char *node;
	uint8_t in, out;
	uint64_t mask;
	int drop, hca_drop;
	uint16_t dlid;
};
static struct seen seen[64];
static unsigned int nseen;
/* LIDs of the packets to trace; 0: any LID */
static uint16_t want_slid, want_dlid;

static bool match(void *ctx, const struct pkt *p)
{
	const uint8_t *lrh = p->hdr + p->head;

	return (!want_dlid || be16_at(lrh + 2) == want_dlid) &&
	       (!want_slid || be16_at(lrh + 6) == want_slid);
}

static void event(void *ctx, const struct fabric_trace_event *ev)
{
	assert_true(nseen < ARRAY_SIZE(seen));
	seen[nseen++] = (struct seen){
		.kind = ev->kind,
		.node = ev->node ? fabric_node_name(ev->node) : "",
		.in = ev->in_port,
		.out = ev->out_port,
		.mask = ev->mask[0],
		.drop = ev->drop,
		.hca_drop = ev->hca_drop,
		.dlid = be16_at(ev->pkt->hdr + ev->pkt->head + 2),
	};
}

static int setup(void **state)
{
	struct hca_qp_attr attr = { .port = 1, .qkey = 0x1b };

	memset(&r, 0, sizeof(r));
	nseen = 0;
	rig_init(&r, "Switch 4 \"s1\"\n[1] \"h1\"[1]\n[4] \"s2\"[4]\n\nSwitch 4 \"s2\"\n[2] "
		     "\"h2\"[1]\n\n"
		     "Hca 1 \"h1\"\n\nHca 1 \"h2\"\n");
	rig_configure(&r);
	assert_int_equal(hca_qp_create(fabric_node_hca(rig_node(&r, "h1")), &attr, NULL, &q1), 0);
	assert_int_equal(hca_qp_create(fabric_node_hca(rig_node(&r, "h2")), &attr, NULL, &q2), 0);
	return 0;
}

static int teardown(void **state)
{
	rig_fini(&r);
	return 0;
}

static void trace(uint16_t slid, uint16_t dlid)
{
	struct fabric_trace t = { .match = match, .event = event };

	want_slid = slid;
	want_dlid = dlid;
	fabric_trace_set(r.f, &t);
}

static void send_to(uint16_t dlid, uint32_t qpn, const ib_gid *group)
{
	struct hca_ah_attr attr = { .port = 1, .dlid = dlid, .has_grh = group != NULL };
	struct hca_send s = { .dest_qp = qpn, .qkey = 0x1b };

	if (group)
		attr.dgid = *group;
	assert_int_equal(hca_ah_create(fabric_node_hca(rig_node(&r, "h1")), &attr, &s.ah), 0);
	s.pkt = pkt_from_data(r.pool, "hello", 5);
	assert_int_equal(hca_post_send(q1, &s, 1, r.now), 1);
	rig_settle(&r);
	hca_ah_destroy(s.ah);
}

static unsigned int received(void)
{
	struct hca_wc wc[8];
	unsigned int n = hca_poll(q2, wc, 8);

	for (unsigned int i = 0; i < n; i++)
		pkt_free(wc[i].pkt);
	return n;
}

static void check(unsigned int i, enum fabric_trace_kind kind, const char *node, uint8_t in,
		  uint8_t out)
{
	assert_true(i < nseen);
	assert_int_equal(seen[i].kind, kind);
	assert_string_equal(seen[i].node, node);
	assert_int_equal(seen[i].in, in);
	assert_int_equal(seen[i].out, out);
}

static void test_unicast_way(void **state)
{
	uint16_t to = rig_lid(&r, "h2/1");

	trace(rig_lid(&r, "h1/1"), to);
	send_to(to, hca_qp_num(q2), NULL);
	assert_int_equal(nseen, 4);
	check(0, FABRIC_TRACE_SENT, "h1", 0, 1);
	check(1, FABRIC_TRACE_LFT, "s1", 1, 4);
	check(2, FABRIC_TRACE_LFT, "s2", 4, 2);
	check(3, FABRIC_TRACE_DELIVERED, "h2", 1, 0);
	assert_int_equal(seen[3].dlid, to);
	assert_int_equal(received(), 1);
}

static void test_multicast_way(void **state)
{
	ib_gid g = { { 0xff, 0x12, [15] = 9 } };

	node_mft_own(rig_sw(&r, "s1")->sw)[3][0] = 1ull << 1 | 1ull << 4;
	node_mft_own(rig_sw(&r, "s2")->sw)[3][0] = 1ull << 2 | 1ull << 4;
	assert_int_equal(hca_attach(q2, &g, 0xc003), 0);
	trace(0, 0xc003);
	send_to(0xc003, IB_QPN_MCAST, &g);
	assert_int_equal(nseen, 4);
	check(1, FABRIC_TRACE_MFT, "s1", 1, 0);
	assert_int_equal(seen[1].mask, 1ull << 1 | 1ull << 4);
	check(2, FABRIC_TRACE_MFT, "s2", 4, 0);
	check(3, FABRIC_TRACE_DELIVERED, "h2", 1, 0);
	assert_int_equal(received(), 1);
}

static void test_discards_have_their_reason(void **state)
{
	uint16_t to = rig_lid(&r, "h2/1");

	trace(0, to);
	send_to(to, 0x777, NULL); /* no QP of h2 has the number 0x777 */
	check(3, FABRIC_TRACE_DISCARDED, "h2", 1, 0);
	assert_int_equal(seen[3].hca_drop, HCA_DROP_QPN);
	assert_int_equal(seen[3].drop, -1);
	nseen = 0;
	rig_sw(&r, "s2")->sw->lft[to] = SMP_LFT_NONE;
	send_to(to, hca_qp_num(q2), NULL);
	check(2, FABRIC_TRACE_LFT, "s2", 4, SMP_LFT_NONE);
	check(3, FABRIC_TRACE_DISCARDED, "s2", 0, 4);
	assert_int_equal(seen[3].drop, FABRIC_DROP_DLID);
	assert_int_equal(seen[3].hca_drop, -1);
	nseen = 0;
	fabric_link_set(rig_port(&r, "s1/4"), false, r.now);
	rig_np(&r, "s1/4")->pi.port_state = IB_PORT_ACTIVE;
	send_to(to, hca_qp_num(q2), NULL);
	check(2, FABRIC_TRACE_DISCARDED, "s1", 0, 4);
	assert_int_equal(seen[2].drop, FABRIC_DROP_STATE_OUT);
}

static void test_faults_show(void **state)
{
	struct fault_spec cut = { .kind = FAULT_CUT };
	uint16_t to = rig_lid(&r, "h2/1");

	assert_int_equal(fabric_fault_add(rig_port(&r, "s1/4"), &cut, NULL), 0);
	trace(0, to);
	send_to(to, hca_qp_num(q2), NULL);
	assert_int_equal(nseen, 3);
	check(2, FABRIC_TRACE_FAULT, "s1", 0, 4);
}

static void test_others_are_not_shown(void **state)
{
	uint16_t to = rig_lid(&r, "h2/1");

	trace(to, 0);
	send_to(to, hca_qp_num(q2), NULL);
	trace(0, (uint16_t)(to + 1));
	send_to(to, hca_qp_num(q2), NULL);
	assert_int_equal(nseen, 0);
	trace(0, 0);
	send_to(to, hca_qp_num(q2), NULL);
	assert_int_equal(nseen, 4);
	fabric_trace_set(r.f, NULL);
	send_to(to, hca_qp_num(q2), NULL);
	assert_int_equal(nseen, 4);
	assert_int_equal(received(), 4);
}

static void test_smp_in_a_switch(void **state)
{
	struct rig_end *e = rig_attach(&r, "s1/2");

	trace(0, 0xffff);
	rig_send_smp(e, MAD_METHOD_GET, SMP_ATTR_NODE_INFO, 0, NULL);
	assert_int_equal(nseen, 1);
	check(0, FABRIC_TRACE_SMI, "s1", 2, 0);
	assert_int_equal(e->n, 1);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_unicast_way),
		CASE(test_multicast_way),
		CASE(test_discards_have_their_reason),
		CASE(test_faults_show),
		CASE(test_others_are_not_shown),
		CASE(test_smp_in_a_switch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

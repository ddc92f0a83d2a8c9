/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/node_pair.h"

static uint8_t gmp[MAD_LEN];

static struct mad_addr sender(void)
{
	struct mad_addr a = mad_addr_gmp(0x31, 4);

	a.qpn = 0x777;
	a.pkey = 0x8001;
	a.path_bits = 1;
	return a;
}

static void gmp_make(uint8_t mgmt_class, uint8_t method, uint16_t attr)
{
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = mgmt_class,
		.class_version = 1,
		.method = method,
		.tid = RIG_TID,
		.attr_id = attr,
	};

	memset(gmp, 0, sizeof(gmp));
	mad_hdr_encode(gmp, &h);
}

/*
 * Deliver the MAD in gmp[] to port @in_port of the node, and replace it by the node's answer.
 * Returns the MAD status of the answer.
 */
static uint16_t ask(struct node_rig *r, uint8_t in_port)
{
	struct mad_addr from = sender();
	unsigned int n = r->nsent;

	from.port = in_port;
	node_mad_rx(&r->n, in_port, &from, gmp, r->now);
	assert_int_equal(r->nsent, n + 1);
	assert_memory_equal(&r->sent[n].to, &from, sizeof(from));
	assert_int_equal(r->sent[n].egress, node_is_switch(&r->n) ? 0 : in_port);
	memcpy(gmp, r->sent[n].mad, sizeof(gmp));
	assert_int_equal(mad_method(gmp), MAD_METHOD_GET_RESP);
	assert_int_equal(mad_tid(gmp), RIG_TID);
	return mad_status(gmp);
}

static uint16_t counters(struct node_rig *r, uint8_t in_port, uint8_t method,
			 struct pma_port_counters *c)
{
	uint16_t status;

	gmp_make(MAD_CLASS_PERF, method, PMA_ATTR_PORT_COUNTERS);
	pma_port_counters_encode(gmp + PMA_DATA_OFF, c);
	status = ask(r, in_port);
	pma_port_counters_decode(c, gmp + PMA_DATA_OFF, PMA_PORT_COUNTERS_LEN);
	return status;
}

static uint16_t counters_ext(struct node_rig *r, uint8_t in_port, uint8_t method,
			     struct pma_port_counters_ext *c)
{
	uint16_t status;

	gmp_make(MAD_CLASS_PERF, method, PMA_ATTR_PORT_COUNTERS_EXT);
	pma_port_counters_ext_encode(gmp + PMA_DATA_OFF, c);
	status = ask(r, in_port);
	pma_port_counters_ext_decode(c, gmp + PMA_DATA_OFF, PMA_PORT_COUNTERS_EXT_LEN);
	return status;
}

static struct node_counters numbered(uint64_t first)
{
	struct node_counters c;
	uint64_t *v = (uint64_t *)(void *)&c;

	for (unsigned int i = 0; i < sizeof(c) / sizeof(*v); i++)
		v[i] = first + i;
	return c;
}

static void test_pma_class_port_info(void **state)
{
	struct mad_class_port_info c;

	(void)state;
	gmp_make(MAD_CLASS_PERF, MAD_METHOD_GET, MAD_ATTR_CLASS_PORT_INFO);
	assert_int_equal(ask(&ca, 1), 0);
	mad_class_port_info_decode(&c, gmp + PMA_DATA_OFF, MAD_CLASS_PORT_INFO_LEN);
	assert_int_equal(c.base_version, 1);
	assert_int_equal(c.class_version, 1);
	assert_int_equal(c.cap_mask, PMA_CAP_EXT_WIDTH | PMA_CAP_XMIT_WAIT);
	gmp_make(MAD_CLASS_PERF, MAD_METHOD_GET, MAD_ATTR_CLASS_PORT_INFO);
	assert_int_equal(ask(&sw, 1), 0);
	mad_class_port_info_decode(&c, gmp + PMA_DATA_OFF, MAD_CLASS_PORT_INFO_LEN);
	assert_int_equal(c.cap_mask,
			 PMA_CAP_EXT_WIDTH | PMA_CAP_XMIT_WAIT | PMA_CAP_ALL_PORT_SELECT);
}

/* Every counter has a different value, so that the test notices if two counters are exchanged. */
static void test_pma_port_counters(void **state)
{
	struct node_counters v = numbered(1);
	struct pma_port_counters c = { .port_select = 2 };

	(void)state;
	v.local_link_integrity = 14;
	v.excessive_overruns = 13;
	ca.n.port[2].cnt = v;
	assert_int_equal(counters(&ca, 1, MAD_METHOD_GET, &c), 0);
	assert_int_equal(c.port_select, 2);
	assert_int_equal(c.symbol_errors, v.symbol_errors);
	assert_int_equal(c.link_recovers, v.link_recovers);
	assert_int_equal(c.link_downed, v.link_downed);
	assert_int_equal(c.rcv_errors, v.rcv_errors);
	assert_int_equal(c.rcv_remphys_errors, v.rcv_remphys_errors);
	assert_int_equal(c.rcv_switch_relay_errors, v.rcv_switch_relay_errors);
	assert_int_equal(c.xmit_discards, v.xmit_discards);
	assert_int_equal(c.xmit_constraint_errors, v.xmit_constraint_errors);
	assert_int_equal(c.rcv_constraint_errors, v.rcv_constraint_errors);
	assert_int_equal(c.local_link_integrity_errors, 14);
	assert_int_equal(c.excessive_overruns, 13);
	assert_int_equal(c.vl15_dropped, v.vl15_dropped);
	assert_int_equal(c.xmit_data, v.xmit_data);
	assert_int_equal(c.rcv_data, v.rcv_data);
	assert_int_equal(c.xmit_pkts, v.xmit_pkts);
	assert_int_equal(c.rcv_pkts, v.rcv_pkts);
	assert_int_equal(c.xmit_wait, v.xmit_wait);
}

/*
 * Set every counter of the port to at least 2 to the power of @bits. Check that each counter of
 * PortCounters that has @bits bits or fewer shows its maximum.
 */
static void assert_full(unsigned int bits)
{
	struct pma_port_counters c = { .port_select = 1 };

	ca.n.port[1].cnt = numbered(1ull << bits);
	assert_int_equal(counters(&ca, 1, MAD_METHOD_GET, &c), 0);
	assert_int_equal(c.local_link_integrity_errors, 0xf);
	assert_int_equal(c.excessive_overruns, 0xf);
	if (bits >= 8) {
		assert_int_equal(c.link_recovers, 0xff);
		assert_int_equal(c.link_downed, 0xff);
		assert_int_equal(c.xmit_constraint_errors, 0xff);
		assert_int_equal(c.rcv_constraint_errors, 0xff);
	}
	if (bits >= 16) {
		assert_int_equal(c.symbol_errors, 0xffff);
		assert_int_equal(c.rcv_errors, 0xffff);
		assert_int_equal(c.rcv_remphys_errors, 0xffff);
		assert_int_equal(c.rcv_switch_relay_errors, 0xffff);
		assert_int_equal(c.xmit_discards, 0xffff);
		assert_int_equal(c.vl15_dropped, 0xffff);
	}
	if (bits >= 32) {
		assert_int_equal(c.xmit_data, 0xffffffff);
		assert_int_equal(c.rcv_data, 0xffffffff);
		assert_int_equal(c.xmit_pkts, 0xffffffff);
		assert_int_equal(c.rcv_pkts, 0xffffffff);
		assert_int_equal(c.xmit_wait, 0xffffffff);
	}
}

static void test_pma_port_counters_saturate(void **state)
{
	(void)state;
	assert_full(4);
	assert_full(8);
	assert_full(16);
	assert_full(32);
	assert_full(40);
}

static void test_pma_set_clears_what_is_selected(void **state)
{
	struct pma_port_counters c = { .port_select = 1 };

	(void)state;
	ca.n.port[1].cnt = numbered(100);
	for (unsigned int bit = 0; bit < 17; bit++) {
		memset(&node_rare_own(&ca.n.port[1])->cnt_base, 0, sizeof(struct node_counters));
		c = (struct pma_port_counters){ .port_select = 1 };
		if (bit < 16)
			c.counter_select = (uint16_t)(1u << bit);
		else
			c.counter_select2 = 1;
		assert_int_equal(counters(&ca, 1, MAD_METHOD_SET, &c), 0);
		assert_int_equal(c.symbol_errors == 0, bit == 0);
		assert_int_equal(c.link_recovers == 0, bit == 1);
		assert_int_equal(c.link_downed == 0, bit == 2);
		assert_int_equal(c.rcv_errors == 0, bit == 3);
		assert_int_equal(c.rcv_remphys_errors == 0, bit == 4);
		assert_int_equal(c.rcv_switch_relay_errors == 0, bit == 5);
		assert_int_equal(c.xmit_discards == 0, bit == 6);
		assert_int_equal(c.xmit_constraint_errors == 0, bit == 7);
		assert_int_equal(c.rcv_constraint_errors == 0, bit == 8);
		assert_int_equal(c.local_link_integrity_errors == 0, bit == 9);
		assert_int_equal(c.excessive_overruns == 0, bit == 10);
		assert_int_equal(c.vl15_dropped == 0, bit == 11);
		assert_int_equal(c.xmit_data == 0, bit == 12);
		assert_int_equal(c.rcv_data == 0, bit == 13);
		assert_int_equal(c.xmit_pkts == 0, bit == 14);
		assert_int_equal(c.rcv_pkts == 0, bit == 15);
		assert_int_equal(c.xmit_wait == 0, bit == 16);
	}
	/* the counters continue from the written values */
	c = (struct pma_port_counters){ .port_select = 1, .counter_select = 0xffff };
	assert_int_equal(counters(&ca, 1, MAD_METHOD_SET, &c), 0);
	ca.n.port[1].cnt.xmit_pkts += 7;
	assert_int_equal(counters(&ca, 1, MAD_METHOD_GET, &c), 0);
	assert_int_equal(c.xmit_pkts, 7);
	assert_int_equal(c.rcv_pkts, 0);
}

static void test_pma_set_writes_the_value(void **state)
{
	struct pma_port_counters c = { .port_select = 1, .counter_select = 1, .symbol_errors = 55 };

	(void)state;
	ca.n.port[1].cnt.symbol_errors = 3;
	assert_int_equal(counters(&ca, 1, MAD_METHOD_SET, &c), 0);
	assert_int_equal(c.symbol_errors, 55);
	ca.n.port[1].cnt.symbol_errors++;
	assert_int_equal(counters(&ca, 1, MAD_METHOD_GET, &c), 0);
	assert_int_equal(c.symbol_errors, 56);
}

static void test_pma_extended_counters(void **state)
{
	struct pma_port_counters_ext c = { .port_select = 1 };
	struct pma_port_counters s = { .port_select = 1, .counter_select = 0xffff };
	struct node_counters v = numbered(1ull << 40);

	(void)state;
	ca.n.port[1].cnt = v;
	/* Clearing PortCounters does not clear PortCountersExtended. */
	assert_int_equal(counters(&ca, 1, MAD_METHOD_SET, &s), 0);
	assert_int_equal(counters_ext(&ca, 1, MAD_METHOD_GET, &c), 0);
	assert_true(c.xmit_data == v.xmit_data);
	assert_true(c.rcv_data == v.rcv_data);
	assert_true(c.xmit_pkts == v.xmit_pkts);
	assert_true(c.rcv_pkts == v.rcv_pkts);
	assert_true(c.ucast_xmit_pkts == v.ucast_xmit);
	assert_true(c.ucast_rcv_pkts == v.ucast_rcv);
	assert_true(c.mcast_xmit_pkts == v.mcast_xmit);
	assert_true(c.mcast_rcv_pkts == v.mcast_rcv);
	c = (struct pma_port_counters_ext){ .port_select = 1, .counter_select = 0x81 };
	assert_int_equal(counters_ext(&ca, 1, MAD_METHOD_SET, &c), 0);
	assert_true(c.xmit_data == 0);
	assert_true(c.rcv_data == v.rcv_data);
	assert_true(c.mcast_rcv_pkts == 0);
	/* Clearing PortCountersExtended does not clear PortCounters. */
	s = (struct pma_port_counters){ .port_select = 1 };
	assert_int_equal(counters(&ca, 1, MAD_METHOD_GET, &s), 0);
	assert_int_equal(s.xmit_data, 0);
}

static void test_pma_all_ports(void **state)
{
	struct pma_port_counters c = { .port_select = 0xff };
	struct pma_port_counters_ext e = { .port_select = 0xff };

	(void)state;
	for (unsigned int i = 0; i <= 4; i++) {
		sw.n.port[i].cnt.xmit_pkts = 1u << (4 * i);
		sw.n.port[i].cnt.symbol_errors = 0x8000;
	}
	assert_int_equal(counters(&sw, 1, MAD_METHOD_GET, &c), 0);
	assert_int_equal(c.xmit_pkts, 0x11110);
	assert_int_equal(c.symbol_errors, 0xffff);
	assert_int_equal(counters_ext(&sw, 1, MAD_METHOD_GET, &e), 0);
	assert_true(e.xmit_pkts == 0x11110);
	c = (struct pma_port_counters){ .port_select = 0xff, .counter_select = 0xffff };
	assert_int_equal(counters(&sw, 1, MAD_METHOD_SET, &c), 0);
	assert_int_equal(c.xmit_pkts, 0);
	c = (struct pma_port_counters){ .port_select = 3 };
	assert_int_equal(counters(&sw, 1, MAD_METHOD_GET, &c), 0);
	assert_int_equal(c.xmit_pkts, 0);
	/*
	 * PortSelect 0xff means all ports, but not port 0 of a switch that has no enhanced port 0.
	 */
	c = (struct pma_port_counters){ .port_select = 0 };
	assert_int_equal(counters(&sw, 1, MAD_METHOD_GET, &c), 0);
	assert_int_equal(c.xmit_pkts, 1);
	sw.n.sw->si.enhanced_port0 = true;
	c = (struct pma_port_counters){ .port_select = 0xff };
	assert_int_equal(counters(&sw, 1, MAD_METHOD_GET, &c), 0);
	assert_int_equal(c.xmit_pkts, 1);
}

static void test_pma_refusals(void **state)
{
	struct pma_port_counters c = { .port_select = 3 };
	struct pma_port_counters_ext e = { .port_select = 3 };

	(void)state;
	assert_int_equal(counters(&ca, 1, MAD_METHOD_GET, &c), MAD_STATUS_BAD_VALUE);
	assert_int_equal(counters_ext(&ca, 1, MAD_METHOD_GET, &e), MAD_STATUS_BAD_VALUE);
	c.port_select = 0;
	assert_int_equal(counters(&ca, 1, MAD_METHOD_GET, &c), MAD_STATUS_BAD_VALUE);
	c.port_select = 0xff; /* ClassPortInfo says that AllPortSelect is not supported */
	assert_int_equal(counters(&ca, 1, MAD_METHOD_GET, &c), MAD_STATUS_BAD_VALUE);
	gmp_make(MAD_CLASS_PERF, MAD_METHOD_SET, MAD_ATTR_CLASS_PORT_INFO);
	assert_int_equal(ask(&ca, 1), MAD_STATUS_BAD_ATTR);
	gmp_make(MAD_CLASS_PERF, MAD_METHOD_SEND, PMA_ATTR_PORT_COUNTERS);
	assert_int_equal(ask(&ca, 1), MAD_STATUS_BAD_METHOD);
	gmp_make(MAD_CLASS_PERF, MAD_METHOD_GET, PMA_ATTR_PORT_COUNTERS);
	gmp[2] = 2;
	assert_int_equal(ask(&ca, 1), MAD_STATUS_BAD_VERSION);
}

static void test_I34_ibping(void **state)
{
	(void)state;
	gmp_make(MAD_CLASS_OPENIB_PING, MAD_METHOD_GET, 0);
	gmp[38] = 0x14;
	gmp[39] = 0x05;
	memset(gmp + 40, 0xab, MAD_LEN - 40);
	assert_int_equal(ask(&ca, 2), 0);
	assert_string_equal((char *)gmp + 40, "rig node");
	assert_int_equal(gmp[40 + 9], 0xab);
	assert_int_equal(gmp[255], 0xab);
	assert_int_equal(be32_at(gmp + 36), 0x001405);
}

static void ping_heard(void *ctx, const struct mad_addr *from, const void *mad, size_t len,
		       ns_t now)
{
	unsigned int *n = ctx;

	(void)from;
	(void)mad;
	(void)len;
	(void)now;
	++*n;
}

static void test_I34_an_ibping_server_answers_for_itself(void **state)
{
	unsigned int n = 0;
	struct mad_agent_cfg c = {
		.qp = 1,
		.mgmt_class = MAD_CLASS_OPENIB_PING,
		.class_version = 1,
		.oui = 0x001405,
		.recv = ping_heard,
		.ctx = &n,
	};
	struct mad_addr from = sender();
	struct mad_agent *a;

	(void)state;
	mad_agent_cfg_method(&c, MAD_METHOD_GET);
	assert_int_equal(mad_agent_add(ca.n.port[1].ep, &c, &a), 0);
	gmp_make(MAD_CLASS_OPENIB_PING, MAD_METHOD_GET, 0);
	gmp[38] = 0x14;
	gmp[39] = 0x05;
	node_mad_rx(&ca.n, 1, &from, gmp, ca.now);
	assert_int_equal(n, 1);
	assert_int_equal(ca.nsent, 0);
	/* No agent serves pings at port 2, so the node answers. */
	assert_int_equal(ask(&ca, 2), 0);
	assert_int_equal(n, 1);
}

static void test_I34_other_vendors_and_answers_are_not_echoed(void **state)
{
	struct mad_addr from = sender();

	(void)state;
	gmp_make(MAD_CLASS_OPENIB_PING, MAD_METHOD_GET, 0);
	gmp[38] = 0x14;
	gmp[39] = 0x06;
	assert_int_equal(ask(&ca, 1), MAD_STATUS_BAD_ATTR);
	gmp[39] = 0x05;
	gmp[3] = MAD_METHOD_GET_RESP;
	node_mad_rx(&ca.n, 1, &from, gmp, ca.now);
	assert_int_equal(ca.nsent, 1);
	assert_int_equal(ca.n.dropped, 2);
	assert_int_equal(ca.n.gmps, 2);
}

/*
 * No agent serves these classes (congestion control, device management, vendor classes, SA,
 * communication management). Their requests are refused with the status that Linux uses.
 */
static void test_I19_a_class_that_nobody_serves_is_refused(void **state)
{
	static const uint8_t classes[] = { MAD_CLASS_SA, 0x06, 0x07, 0x0a, 0x21, 0x33 };
	struct mad_addr from = sender();

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(classes); i++) {
		gmp_make(classes[i], MAD_METHOD_GET, 0x11);
		assert_int_equal(ask(&ca, 1), MAD_STATUS_BAD_ATTR);
		gmp_make(classes[i], MAD_METHOD_SET, 0x11);
		assert_int_equal(ask(&sw, 1), MAD_STATUS_BAD_ATTR);
	}
	/*
	 * MADs that expect no answer, and MADs of another base version, must not be refused but
	 * ignored.
	 */
	ca.nsent = 0;
	gmp_make(MAD_CLASS_SA, MAD_METHOD_SEND, 0x11);
	node_mad_rx(&ca.n, 1, &from, gmp, ca.now);
	gmp_make(MAD_CLASS_SA, MAD_METHOD_TRAP, 2);
	node_mad_rx(&ca.n, 1, &from, gmp, ca.now);
	gmp_make(MAD_CLASS_SA, MAD_METHOD_GET, 2);
	gmp[0] = 2;
	node_mad_rx(&ca.n, 1, &from, gmp, ca.now);
	assert_int_equal(ca.nsent, 0);
}

static unsigned int heard;

static void recv(void *ctx, const struct mad_addr *from, const void *mad, size_t len, ns_t now)
{
	(void)from;
	(void)mad;
	(void)now;
	assert_int_equal(len, MAD_LEN);
	assert_ptr_equal(ctx, &heard);
	heard++;
}

static void test_gmps_go_to_the_agents_of_the_port(void **state)
{
	struct mad_agent_cfg c = {
		.qp = 1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = 1,
		.recv = recv,
		.ctx = &heard,
	};
	struct mad_addr from = sender();
	struct mad_agent *a;

	(void)state;
	heard = 0;
	mad_agent_cfg_method(&c, MAD_METHOD_GET);
	assert_int_equal(mad_agent_add(ca.n.port[2].ep, &c, &a), 0);
	gmp_make(MAD_CLASS_SA, MAD_METHOD_GET, 1);
	node_mad_rx(&ca.n, 1, &from, gmp, ca.now);
	assert_int_equal(heard, 0);
	gmp_make(MAD_CLASS_SA, MAD_METHOD_GET, 1);
	node_mad_rx(&ca.n, 2, &from, gmp, ca.now);
	assert_int_equal(heard, 1);
	gmp_make(MAD_CLASS_SA, MAD_METHOD_GET, 1);
	/* The agents of a switch are at its port 0. */
	assert_null(sw.n.port[1].ep);
	assert_int_equal(mad_agent_add(sw.n.port[0].ep, &c, &a), 0);
	node_mad_rx(&sw.n, 3, &from, gmp, sw.now);
	assert_int_equal(heard, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pma_class_port_info, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pma_port_counters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pma_port_counters_saturate, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pma_set_clears_what_is_selected, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_pma_set_writes_the_value, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pma_extended_counters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pma_all_ports, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pma_refusals, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I34_ibping, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I34_an_ibping_server_answers_for_itself, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I34_other_vendors_and_answers_are_not_echoed,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_I19_a_class_that_nobody_serves_is_refused,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_gmps_go_to_the_agents_of_the_port, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/node_pair.h"

/*
 * Tests performance management beyond PortCounters: counters of errors by reason, counters of words
 * by SL, and sampling (IBTA 16.1).
 */

static uint8_t gmp[MAD_LEN];

/*
 * Send an attribute of @len octets to the node. The octets of the answer replace @data. Returns the
 * MAD status.
 */
static uint16_t ask(struct node_rig *r, uint8_t method, uint16_t attr, void *data, size_t len)
{
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_PERF,
		.class_version = 1,
		.method = method,
		.tid = RIG_TID,
		.attr_id = attr,
	};
	struct mad_addr from = mad_addr_gmp(0x31, 4);
	unsigned int n = r->nsent;

	memset(gmp, 0, sizeof(gmp));
	mad_hdr_encode(gmp, &h);
	memcpy(gmp + PMA_DATA_OFF, data, len);
	from.port = 1;
	node_mad_rx(&r->n, 1, &from, gmp, r->now);
	assert_int_equal(r->nsent, n + 1);
	memcpy(data, r->sent[n].mad + PMA_DATA_OFF, len);
	r->nsent = n;
	return mad_status(r->sent[n].mad);
}

static uint16_t rcv_details(struct node_rig *r, uint8_t method, struct pma_rcv_error_details *d)
{
	uint8_t data[PMA_RCV_ERROR_DETAILS_LEN];
	uint16_t status;

	pma_rcv_error_details_encode(data, d);
	status = ask(r, method, PMA_ATTR_PORT_RCV_ERROR_DETAILS, data, sizeof(data));
	pma_rcv_error_details_decode(d, data, sizeof(data));
	return status;
}

static uint16_t xmit_details(struct node_rig *r, uint8_t method, struct pma_xmit_discard_details *d)
{
	uint8_t data[PMA_XMIT_DISCARD_DETAILS_LEN];
	uint16_t status;

	pma_xmit_discard_details_encode(data, d);
	status = ask(r, method, PMA_ATTR_PORT_XMIT_DISCARD_DETAILS, data, sizeof(data));
	pma_xmit_discard_details_decode(d, data, sizeof(data));
	return status;
}

static uint16_t data_sl(struct node_rig *r, uint8_t method, uint16_t attr, struct pma_data_sl *d)
{
	uint8_t data[PMA_DATA_SL_LEN];
	uint16_t status;

	pma_data_sl_encode(data, d);
	status = ask(r, method, attr, data, sizeof(data));
	pma_data_sl_decode(d, data, sizeof(data));
	return status;
}

static uint16_t control(struct node_rig *r, uint8_t method, struct pma_samples_control *c)
{
	uint8_t data[PMA_SAMPLES_CONTROL_LEN];
	uint16_t status;

	pma_samples_control_encode(data, c);
	status = ask(r, method, PMA_ATTR_PORT_SAMPLES_CONTROL, data, sizeof(data));
	pma_samples_control_decode(c, data, sizeof(data));
	return status;
}

static struct pma_samples_result result(struct node_rig *r)
{
	uint8_t data[PMA_SAMPLES_RESULT_LEN] = { 0 };
	struct pma_samples_result v;

	assert_int_equal(ask(r, MAD_METHOD_GET, PMA_ATTR_PORT_SAMPLES_RESULT, data, sizeof(data)),
			 0);
	pma_samples_result_decode(&v, data, sizeof(data));
	return v;
}

static void test_rcv_error_details(void **state)
{
	struct pma_rcv_error_details d = { .port_select = 3 };
	struct node_port *p = &sw.n.port[3];

	(void)state;
	for (unsigned int i = 0; i < NODE_RCV_REASONS; i++)
		for (unsigned int k = 0; k <= i; k++)
			node_count_rcv(p, (enum node_rcv_reason)i);
	assert_int_equal(p->cnt.rcv_errors, 1 + 2 + 3);
	assert_int_equal(p->cnt.rcv_switch_relay_errors, 4 + 5 + 6);
	assert_int_equal(rcv_details(&sw, MAD_METHOD_GET, &d), 0);
	assert_int_equal(d.port_select, 3);
	assert_int_equal(d.local_physical, 1);
	assert_int_equal(d.malformed, 2);
	assert_int_equal(d.buffer_overrun, 3);
	assert_int_equal(d.dlid_mapping, 4);
	assert_int_equal(d.vl_mapping, 5);
	assert_int_equal(d.looping, 6);
	/*
	 * A Set clears only the counters that CounterSelect selects, and only at the selected port.
	 */
	d = (struct pma_rcv_error_details){ .port_select = 3, .counter_select = 0x28 };
	assert_int_equal(rcv_details(&sw, MAD_METHOD_SET, &d), 0);
	assert_int_equal(d.buffer_overrun, 3);
	assert_int_equal(d.dlid_mapping, 0);
	assert_int_equal(d.vl_mapping, 5);
	assert_int_equal(d.looping, 0);
	p->cnt.rcv_by_reason[NODE_RCV_MALFORMED] = 0x10000;
	sw.n.port[1].cnt.rcv_by_reason[NODE_RCV_VL_MAPPING] = 7;
	d = (struct pma_rcv_error_details){ .port_select = 0xff };
	assert_int_equal(rcv_details(&sw, MAD_METHOD_GET, &d), 0);
	assert_int_equal(d.malformed, 0xffff);
	assert_int_equal(d.vl_mapping, 12);
	d.port_select = 5;
	assert_int_equal(rcv_details(&sw, MAD_METHOD_GET, &d), MAD_STATUS_BAD_VALUE);
}

static void test_xmit_discard_details(void **state)
{
	struct pma_xmit_discard_details d = { .port_select = 2 };
	struct node_port *p = &ca.n.port[2];

	(void)state;
	for (unsigned int i = 0; i < NODE_XMIT_REASONS; i++)
		for (unsigned int k = 0; k <= i; k++)
			node_count_discard(p, (enum node_xmit_reason)i);
	assert_int_equal(p->cnt.xmit_discards, 10);
	assert_int_equal(xmit_details(&ca, MAD_METHOD_GET, &d), 0);
	assert_int_equal(d.inactive, 1);
	assert_int_equal(d.neighbor_mtu, 2);
	assert_int_equal(d.sw_lifetime, 3);
	assert_int_equal(d.sw_hoq_lifetime, 4);
	d.counter_select = 0xf;
	d.neighbor_mtu = d.inactive = d.sw_lifetime = d.sw_hoq_lifetime = 0;
	assert_int_equal(xmit_details(&ca, MAD_METHOD_SET, &d), 0);
	assert_int_equal(d.neighbor_mtu, 0);
	assert_int_equal(d.sw_hoq_lifetime, 0);
	assert_int_equal(p->cnt.xmit_discards, 10); /* the counter in PortCounters is not cleared */
}

static void test_data_by_sl(void **state)
{
	struct pma_data_sl d;

	(void)state;
	for (unsigned int sl = 0; sl < PMA_SLS; sl++) {
		ca.n.port[1].cnt.xmit_sl[sl] = 100 + sl;
		ca.n.port[1].cnt.rcv_sl[sl] = (1ull << 32) + sl;
	}
	d = (struct pma_data_sl){ .port_select = 1 };
	assert_int_equal(data_sl(&ca, MAD_METHOD_GET, PMA_ATTR_PORT_XMIT_DATA_SL, &d), 0);
	for (unsigned int sl = 0; sl < PMA_SLS; sl++)
		assert_int_equal(d.words[sl], 100 + sl);
	d = (struct pma_data_sl){ .port_select = 1 };
	assert_int_equal(data_sl(&ca, MAD_METHOD_GET, PMA_ATTR_PORT_RCV_DATA_SL, &d), 0);
	for (unsigned int sl = 0; sl < PMA_SLS; sl++)
		assert_int_equal(d.words[sl], 0xffffffff);
	d = (struct pma_data_sl){ .port_select = 1, .counter_select = 0x8001 };
	assert_int_equal(data_sl(&ca, MAD_METHOD_SET, PMA_ATTR_PORT_XMIT_DATA_SL, &d), 0);
	assert_int_equal(d.words[0], 0);
	assert_int_equal(d.words[1], 101);
	assert_int_equal(d.words[14], 114);
	assert_int_equal(d.words[15], 0);
}

static void test_samples_idle(void **state)
{
	struct pma_samples_control c = { .port_select = 1 };
	struct pma_samples_result v = result(&ca);

	(void)state;
	assert_int_equal(v.status, PMA_SAMPLE_DONE);
	assert_int_equal(control(&ca, MAD_METHOD_GET, &c), 0);
	assert_int_equal(c.status, PMA_SAMPLE_DONE);
	assert_int_equal(c.mechanisms, 0); /* 0: one sampling mechanism */
	assert_int_equal(c.counter_width, 4); /* code 4: 32 bits */
	assert_int_equal(c.counter_masks_0_9, 1u << 27 | 1u << 24 | 1u << 21 | 1u << 18 | 1u << 15);
	assert_int_equal(c.counter_masks_10_14, 0);
}

/*
 * SampleInterval begins when the time SampleStart has passed. The port must count the events in
 * this interval, and no other events.
 */
static void test_samples_count_an_interval(void **state)
{
	struct node_counters *cnt = &sw.n.port[4].cnt;
	struct pma_samples_control c = {
		.port_select = 4,
		.start = 250000, /* 1 ms in ticks of 4 ns */
		.interval = 500000,
		.tag = 0xbeef,
		.select = { PMA_SAMPLE_RCV_PKTS, PMA_SAMPLE_XMIT_DATA, PMA_SAMPLE_XMIT_WAIT },
	};
	struct pma_samples_result v;

	(void)state;
	cnt->rcv_pkts = 1000;
	assert_int_equal(control(&sw, MAD_METHOD_SET, &c), 0);
	assert_int_equal(c.status, PMA_SAMPLE_STARTED);
	cnt->rcv_pkts += 5; /* before the interval */
	node_rig_run(&sw, NS_USEC(1001));
	assert_int_equal(result(&sw).status, PMA_SAMPLE_RUNNING);
	cnt->rcv_pkts += 7;
	cnt->xmit_data += 1ull << 40;
	/* While sampling runs, another request changes nothing. */
	c.tag = 1;
	assert_int_equal(control(&sw, MAD_METHOD_SET, &c), 0);
	assert_int_equal(c.tag, 0xbeef);
	assert_int_equal(c.status, PMA_SAMPLE_RUNNING);
	node_rig_run(&sw, NS_USEC(1998));
	assert_int_equal(result(&sw).status, PMA_SAMPLE_RUNNING);
	node_rig_run(&sw, NS_USEC(1));
	cnt->rcv_pkts += 9; /* after the interval */
	v = result(&sw);
	assert_int_equal(v.status, PMA_SAMPLE_DONE);
	assert_int_equal(v.tag, 0xbeef);
	assert_int_equal(v.counter[0], 7);
	assert_int_equal(v.counter[1], 0xffffffff);
	assert_int_equal(v.counter[2], 0);
}

static void test_samples_refusals(void **state)
{
	struct pma_samples_control c = { .port_select = 5 };
	uint8_t data[PMA_SAMPLES_RESULT_LEN] = { 0 };

	(void)state;
	assert_int_equal(control(&sw, MAD_METHOD_GET, &c), MAD_STATUS_BAD_VALUE);
	c.port_select = 0;
	assert_int_equal(control(&ca, MAD_METHOD_GET, &c), MAD_STATUS_BAD_VALUE);
	c = (struct pma_samples_control){ .port_select = 1, .select = { 6 } };
	assert_int_equal(control(&ca, MAD_METHOD_SET, &c), MAD_STATUS_BAD_VALUE);
	c = (struct pma_samples_control){ .port_select = 1, .select = { [5] = 1 } };
	assert_int_equal(control(&ca, MAD_METHOD_SET, &c), MAD_STATUS_BAD_VALUE);
	assert_int_equal(ask(&ca, MAD_METHOD_SET, PMA_ATTR_PORT_SAMPLES_RESULT, data, sizeof(data)),
			 MAD_STATUS_BAD_ATTR);
	assert_int_equal(result(&ca).status, PMA_SAMPLE_DONE);
}

/* These attributes are neither modelled nor announced in ClassPortInfo, so they must be refused. */
static void test_I19_other_attributes_are_refused(void **state)
{
	static const uint16_t attrs[] = { 0x0d, 0x13, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c,
					  0x1f, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0xff00 };
	uint8_t data[4] = { 0, 1 };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(attrs); i++) {
		assert_int_equal(ask(&ca, MAD_METHOD_GET, attrs[i], data, 4), MAD_STATUS_BAD_ATTR);
		assert_int_equal(ask(&sw, MAD_METHOD_SET, attrs[i], data, 4), MAD_STATUS_BAD_ATTR);
	}
	assert_int_equal(ask(&ca, MAD_METHOD_REPORT, PMA_ATTR_PORT_COUNTERS, data, 4),
			 MAD_STATUS_BAD_METHOD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		CASE(test_rcv_error_details),
		CASE(test_xmit_discard_details),
		CASE(test_data_by_sl),
		CASE(test_samples_idle),
		CASE(test_samples_count_an_interval),
		CASE(test_samples_refusals),
		CASE(test_I19_other_attributes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

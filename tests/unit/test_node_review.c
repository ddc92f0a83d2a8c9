/* SPDX-License-Identifier: BSD-2-Clause */
#include "node_rig.h"

/*
 * Settings that an SM makes by directed-route SMPs must have the same effect as those that it makes
 * by LID-routed SMPs.
 */

/*
 * Deliver a directed-route SMP of one hop at @in_port, in the form in which it arrives from the
 * neighbour at this port.
 */
static void dr_smp(struct node_rig *r, uint8_t in_port, uint8_t method, uint16_t attr, uint32_t mod,
		   const void *data)
{
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SM_DR,
		.class_version = 1,
		.method = method,
		.class_specific = 0x0101, /* hop pointer 1, hop count 1 */
		.tid = RIG_TID,
		.attr_id = attr,
		.attr_mod = mod,
	};
	struct smp_dr dr = { .dr_slid = IB_LID_PERMISSIVE, .dr_dlid = IB_LID_PERMISSIVE };
	struct mad_addr from = mad_addr_smp_dr();
	uint8_t mad[MAD_LEN];

	from.port = in_port;
	dr.initial_path[1] = 1;
	smp_encode(mad, &h, &dr, data);
	node_mad_rx(&r->n, in_port, &from, mad, r->now);
}

static void set_state(struct node_rig *r, uint8_t in_port, uint32_t mod, uint8_t state,
		      uint8_t phys)
{
	struct smp_port_info pi = node_rig_nop(r, in_port, mod);
	uint8_t data[64];

	pi.port_state = state;
	pi.phys_state = phys;
	smp_port_info_encode(data, &pi);
	r->nsent = 0;
	dr_smp(r, in_port, MAD_METHOD_SET, SMP_ATTR_PORT_INFO, mod, data);
}

static void assert_answered(const struct node_rig *r, uint8_t port)
{
	assert_int_equal(r->nsent, 1);
	assert_int_equal(r->sent[0].egress, port);
	assert_int_equal(mad_method(r->sent[0].mad), MAD_METHOD_GET_RESP);
	assert_int_equal(mad_status(r->sent[0].mad), MAD_STATUS_DR_D);
	assert_int_equal(r->sent[0].mad[SMP_OFF_HOP_PTR], 1);
}

static void test_I5_link_down_is_answered_by_the_very_port(void **state)
{
	static const uint8_t phys[] = { IB_PHYS_NOP, IB_PHYS_POLLING, IB_PHYS_DISABLED };

	(void)state;
	for (unsigned int sw = 0; sw < 2; sw++) {
		for (unsigned int i = 0; i < sizeof(phys); i++) {
			struct node_rig r;

			node_rig_init(&r, sw ? IB_NODE_SWITCH : IB_NODE_CA, 2);
			node_link(&r.n, 2, true, r.now);
			set_state(&r, 2, 2, IB_PORT_DOWN, phys[i]);
			assert_answered(&r, 2);
			assert_int_equal(r.n.port[2].pi.port_state, IB_PORT_DOWN);
			/*
			 * The owner of the node takes the link down when it gets the event. So the
			 * event must come after the answer was sent.
			 */
			assert_true(r.nevents > 0);
			assert_int_equal(r.sent[0].events, 0);
			node_rig_fini(&r);
		}
	}
}

static void test_I1_a_port_that_is_down_forwards_nothing(void **state)
{
	uint8_t data[64] = { 0 }, mad[MAD_LEN];
	struct mad_addr from = mad_addr_smp_dr();
	struct node_rig r;

	(void)state;
	node_rig_init(&r, IB_NODE_SWITCH, 2);
	node_link(&r.n, 1, true, r.now);
	node_link(&r.n, 2, true, r.now);
	set_state(&r, 1, 2, IB_PORT_DOWN, 0);
	assert_answered(&r, 1);
	r.nsent = 0;

	/*
	 * The state of port 2 is Down although its cable is connected, so an SMP that would leave
	 * by port 2 must be discarded.
	 */
	dr_smp(&r, 1, MAD_METHOD_GET, SMP_ATTR_NODE_INFO, 0, data);
	memcpy(mad, r.sent[0].mad, sizeof(mad));
	assert_int_equal(r.nsent, 1);
	r.nsent = 0;
	mad[3] = MAD_METHOD_GET;
	be16_put(mad + 4, 0);
	mad[SMP_OFF_HOP_PTR] = 1;
	mad[SMP_OFF_HOP_CNT] = 2;
	mad[SMP_OFF_INITIAL_PATH + 2] = 2;
	node_mad_rx(&r.n, 1, &from, mad, r.now);
	assert_int_equal(r.nsent, 0);
	assert_int_equal(r.n.dropped, 1);
	node_rig_fini(&r);
}

static void test_I5_a_port_without_link_answers_nothing(void **state)
{
	struct node_rig r;

	(void)state;
	node_rig_init(&r, IB_NODE_CA, 2);
	r.nsent = 0;
	dr_smp(&r, 1, MAD_METHOD_GET, SMP_ATTR_NODE_INFO, 0, NULL);
	assert_int_equal(r.nsent, 0);
	node_rig_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_I5_link_down_is_answered_by_the_very_port),
		cmocka_unit_test(test_I1_a_port_that_is_down_forwards_nothing),
		cmocka_unit_test(test_I5_a_port_without_link_answers_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

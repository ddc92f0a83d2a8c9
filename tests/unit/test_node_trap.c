/* SPDX-License-Identifier: BSD-2-Clause */
#define CA_PORTS 1
#include "unit/node_pair.h"

/* Return the notice in the MAD that was sent last, which must be a trap. */
static struct mad_notice last_trap(const struct node_rig *r)
{
	const uint8_t *mad;
	struct mad_notice n;

	assert_true(r->nsent > 0);
	mad = r->sent[r->nsent - 1].mad;
	assert_int_equal(mad_class(mad), MAD_CLASS_SM_LID);
	assert_int_equal(mad_method(mad), MAD_METHOD_TRAP);
	assert_int_equal(mad_attr(mad), MAD_ATTR_NOTICE);
	assert_int_equal(mad_notice_decode(&n, mad + SMP_DATA_OFF, 64), 0);
	assert_true(n.generic);
	return n;
}

static void repress(struct node_rig *r, uint64_t tid)
{
	struct mad_addr from = mad_addr_smp_lid(RIG_SM_LID);
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SM_LID,
		.class_version = 1,
		.method = MAD_METHOD_TRAP_REPRESS,
		.tid = tid,
		.attr_id = MAD_ATTR_NOTICE,
	};
	struct smp_dr dr = { 0 };
	uint8_t mad[MAD_LEN];

	smp_encode(mad, &h, &dr, NULL);
	node_mad_rx(&r->n, 1, &from, mad, r->now);
}

static uint64_t last_tid(const struct node_rig *r)
{
	return mad_tid(r->sent[r->nsent - 1].mad);
}

static bool state_change(void)
{
	struct smp_switch_info si;

	assert_int_equal(node_rig_get(&sw, 1, SMP_ATTR_SWITCH_INFO, 0), 0);
	smp_switch_info_decode(&si, sw.data, 64);
	return si.port_state_change;
}

static void clear_state_change(bool value)
{
	struct smp_switch_info si;
	uint8_t data[64] = { 0 };

	assert_int_equal(node_rig_get(&sw, 1, SMP_ATTR_SWITCH_INFO, 0), 0);
	smp_switch_info_decode(&si, sw.data, 64);
	si.port_state_change = value;
	smp_switch_info_encode(data, &si);
	assert_int_equal(node_rig_set(&sw, 1, SMP_ATTR_SWITCH_INFO, 0, data), 0);
}

static void test_I14_port_state_change_follows_the_link(void **state)
{
	(void)state;
	assert_false(state_change());
	node_link(&sw.n, 2, true, sw.now);
	assert_true(state_change());
	clear_state_change(false); /* writing 0 does not clear PortStateChange */
	assert_true(state_change());
	clear_state_change(true);
	assert_false(state_change());
	/* A change of state that the SM makes must raise no trap. */
	assert_int_equal(node_rig_state(&sw, 1, 2, IB_PORT_ARMED, 0), 0);
	assert_int_equal(node_rig_state(&sw, 1, 2, IB_PORT_ACTIVE, 0), 0);
	assert_false(state_change());
	node_link(&sw.n, 2, false, sw.now);
	assert_true(state_change());
	clear_state_change(true);
	node_link(&sw.n, 2, true, sw.now);
	assert_true(state_change());
}

static void test_I14_trap_128_from_switches_only(void **state)
{
	struct mad_notice n;

	(void)state;
	node_rig_lids(&sw, 1);
	sw.nsent = 0;
	node_link(&sw.n, 2, true, sw.now);
	node_rig_run(&sw, 0);
	assert_int_equal(sw.nsent, 1);
	n = last_trap(&sw);
	assert_int_equal(n.trap, MAD_TRAP_LINK_STATE);
	assert_int_equal(n.type, MAD_NOTICE_TYPE_URGENT);
	assert_int_equal(n.producer, IB_NODE_SWITCH);
	assert_int_equal(n.issuer_lid, 5);
	assert_int_equal(mad_notice_get_lid(&n), 5);
	node_rig_lids(&ca, 1);
	ca.nsent = 0;
	node_link(&ca.n, 1, true, ca.now);
	node_link(&ca.n, 1, false, ca.now);
	node_rig_run(&ca, NS_SEC(10));
	assert_int_equal(ca.nsent, 0);
}

static void test_I14_trap_144_on_capability_change(void **state)
{
	struct mad_notice n;

	(void)state;
	node_rig_lids(&ca, 1);
	ca.nsent = 0;
	node_set_cap(&ca.n, 1, SMP_CAP_IS_SM, true, ca.now);
	node_rig_run(&ca, 0);
	assert_int_equal(ca.nsent, 1);
	n = last_trap(&ca);
	assert_int_equal(n.trap, MAD_TRAP_CAP_CHANGE);
	assert_int_equal(n.producer, IB_NODE_CA);
	assert_int_equal(be32_at(n.details + 6), ca.n.port[1].pi.cap_mask);
	assert_true(ca.n.port[1].pi.cap_mask & SMP_CAP_IS_SM);
	repress(&ca, last_tid(&ca));
	/* This call does not change the capability. */
	node_set_cap(&ca.n, 1, SMP_CAP_IS_SM, true, ca.now);
	node_rig_run(&ca, NS_SEC(5));
	assert_int_equal(ca.nsent, 1);
	node_set_cap(&ca.n, 1, SMP_CAP_IS_SM, false, ca.now);
	node_rig_run(&ca, NS_SEC(1));
	assert_int_equal(ca.nsent, 2);
	assert_false(ca.n.port[1].pi.cap_mask & SMP_CAP_IS_SM);
}

static struct notice_violation violation(uint32_t key)
{
	return (struct notice_violation){
		.slid = 0x11,
		.dlid = 0x12,
		.sl = 3,
		.src_qp = 0x48,
		.dest_qp = 0x123456,
		.key = key,
		.has_gids = true,
		.sgid = ib_gid_of(1, 2),
		.dgid = ib_gid_of(3, 4),
	};
}

static void check_257_258(const struct mad_notice *n, uint32_t key)
{
	assert_int_equal(be16_at(n->details + 2), 0x11);
	assert_int_equal(be16_at(n->details + 4), 0x12);
	assert_int_equal(be32_at(n->details + 6), key);
	assert_int_equal(be32_at(n->details + 10), 0x30000048);
	assert_int_equal(be32_at(n->details + 14), 0x123456);
	assert_int_equal(be64_at(n->details + 18 + 8), 2);
	assert_int_equal(be64_at(n->details + 34), 3);
}

static void test_I14_traps_257_and_258(void **state)
{
	struct notice_violation v = violation(0x8123);
	struct mad_notice n;

	(void)state;
	node_rig_lids(&ca, 1);
	ca.nsent = 0;
	node_pkey_violation(&ca.n, 1, &v, ca.now);
	node_rig_run(&ca, 0);
	n = last_trap(&ca);
	assert_int_equal(n.trap, MAD_TRAP_BAD_PKEY);
	assert_int_equal(n.type, MAD_NOTICE_TYPE_SECURITY);
	check_257_258(&n, 0x8123);
	assert_int_equal(ca.n.port[1].pi.pkey_violations, 1);
	v.key = 0x80010001;
	node_qkey_violation(&ca.n, 1, &v, ca.now);
	node_rig_run(&ca, 0);
	n = last_trap(&ca);
	assert_int_equal(n.trap, MAD_TRAP_BAD_QKEY);
	check_257_258(&n, 0x80010001);
	assert_int_equal(ca.n.port[1].pi.qkey_violations, 1);
	assert_int_equal(ca.nsent, 2);
}

static void test_I14_trap_259_of_a_switch_port(void **state)
{
	struct notice_violation v = violation(0x8123);
	struct mad_notice n;

	(void)state;
	node_rig_lids(&sw, 1);
	sw.nsent = 0;
	node_pkey_violation(&sw.n, 3, &v, sw.now);
	node_rig_run(&sw, 0);
	n = last_trap(&sw);
	assert_int_equal(n.trap, MAD_TRAP_SWITCH_BAD_PKEY);
	assert_int_equal(be16_at(n.details), 0x00ff);
	assert_int_equal(be16_at(n.details + 2), 0x11);
	assert_int_equal(be16_at(n.details + 4), 0x12);
	assert_int_equal(be16_at(n.details + 6), 0x8123);
	assert_int_equal(be32_at(n.details + 8), 0x30000048);
	assert_int_equal(be32_at(n.details + 12), 0x123456);
	assert_int_equal(be64_at(n.details + 16), 1);
	assert_int_equal(be64_at(n.details + 40), 4);
	assert_int_equal(be16_at(n.details + 48), 5);
	assert_int_equal(n.details[50], 3);
	assert_int_equal(sw.n.port[3].pi.pkey_violations, 1);
	assert_int_equal(sw.n.port[0].pi.pkey_violations, 0);
	/* A P_Key violation at port 0 of a switch is reported by trap 257, as at a CA. */
	node_pkey_violation(&sw.n, 0, &v, sw.now);
	node_rig_run(&sw, 0);
	assert_int_equal(last_trap(&sw).trap, MAD_TRAP_BAD_PKEY);
}

static void test_violations_saturate(void **state)
{
	struct notice_violation v = violation(1);

	(void)state;
	for (unsigned int i = 0; i < 70000; i++) {
		node_pkey_violation(&ca.n, 1, &v, ca.now);
		node_qkey_violation(&ca.n, 1, &v, ca.now);
	}
	assert_int_equal(ca.n.port[1].pi.pkey_violations, 0xffff);
	assert_int_equal(ca.n.port[1].pi.qkey_violations, 0xffff);
}

static void test_I15_traps_are_lid_routed_to_the_master(void **state)
{
	(void)state;
	node_rig_lids(&sw, 1);
	sw.nsent = 0;
	node_link(&sw.n, 2, true, sw.now);
	node_rig_run(&sw, 0);
	assert_int_equal(sw.nsent, 1);
	assert_int_equal(sw.sent[0].egress, 0);
	assert_int_equal(sw.sent[0].to.lid, RIG_SM_LID);
	assert_int_equal(sw.sent[0].to.qp, 0);
	assert_int_equal(sw.sent[0].to.qpn, 0);
}

static void test_I15_none_while_there_is_no_sm(void **state)
{
	(void)state;
	node_link(&sw.n, 2, true, sw.now);
	node_rig_run(&sw, NS_SEC(10));
	assert_int_equal(sw.nsent, 0);
	/* The repetition of a trap must end when the SM's LID is removed. */
	node_rig_lids(&sw, 1);
	node_link(&sw.n, 2, false, sw.now);
	node_rig_run(&sw, 0);
	sw.nsent = 0;
	sw.n.port[0].pi.sm_lid = 0;
	node_rig_run(&sw, NS_SEC(100));
	assert_int_equal(sw.nsent, 0);
	assert_int_equal(timers_next(&sw.timers), NS_NEVER);
}

static void test_I15_repeated_with_the_same_tid_until_repressed(void **state)
{
	uint64_t tid;

	(void)state;
	node_rig_lids(&sw, 1);
	sw.nsent = 0;
	node_link(&sw.n, 2, true, sw.now);
	node_rig_run(&sw, NS_SEC(10));
	assert_in_range(sw.nsent, 5, 11);
	tid = mad_tid(sw.sent[0].mad);
	for (unsigned int i = 1; i < sw.nsent; i++) {
		assert_memory_equal(sw.sent[i].mad, sw.sent[0].mad, MAD_LEN);
		assert_true(sw.sent[i].at - sw.sent[i - 1].at >= NS_SEC(1));
	}
	sw.nsent = 0;
	repress(&sw, tid + 1); /* the TID of another trap */
	node_rig_run(&sw, NS_SEC(2));
	assert_true(sw.nsent > 0);
	repress(&sw, tid);
	sw.nsent = 0;
	node_rig_run(&sw, NS_SEC(100));
	assert_int_equal(sw.nsent, 0);
}

static void test_I15_a_failure_to_send_is_repeated(void **state)
{
	(void)state;
	node_rig_lids(&sw, 1);
	sw.nsent = 0;
	sw.xmit_err = -ENETDOWN;
	node_link(&sw.n, 2, true, sw.now);
	node_rig_run(&sw, NS_MSEC(100));
	sw.xmit_err = 0;
	node_rig_run(&sw, NS_SEC(2));
	assert_true(sw.nsent > 0);
}

static void test_I15_rate_is_limited(void **state)
{
	struct smp_port_info pi;

	(void)state;
	node_rig_lids(&sw, 1);
	sw.nsent = 0;
	/* A link goes down and up again and again, and the SM represses each trap at once. */
	for (unsigned int i = 0; i < 1000; i++) {
		node_link(&sw.n, 2, i % 2 == 0, sw.now);
		node_rig_run(&sw, NS_MSEC(5));
		if (sw.nsent)
			repress(&sw, last_tid(&sw));
	}
	assert_in_range(sw.nsent, 3, 6);
	/* SubnetTimeOut limits the rate of traps: 15 means one in 134 ms. */
	pi = node_rig_nop(&sw, 1, 0);
	pi.subnet_timeout = 15;
	assert_int_equal(node_rig_set_port_info(&sw, 1, 0, &pi), 0);
	node_rig_run(&sw, NS_SEC(2));
	sw.nsent = 0;
	node_link(&sw.n, 3, true, sw.now);
	node_rig_run(&sw, NS_SEC(1));
	assert_in_range(sw.nsent, 7, 9);
}

static void test_I15_what_happens_meanwhile_is_a_new_trap(void **state)
{
	uint64_t tid;

	(void)state;
	node_rig_lids(&sw, 1);
	sw.nsent = 0;
	node_link(&sw.n, 2, true, sw.now);
	node_rig_run(&sw, 0);
	tid = last_tid(&sw);
	node_link(&sw.n, 2, false, sw.now);
	node_link(&sw.n, 2, true, sw.now);
	node_rig_run(&sw, NS_MSEC(10));
	assert_int_equal(sw.nsent, 1);
	repress(&sw, tid);
	node_rig_run(&sw, NS_SEC(2));
	assert_true(sw.nsent >= 2);
	assert_int_not_equal(last_tid(&sw), tid);
	repress(&sw, last_tid(&sw));
	sw.nsent = 0;
	node_rig_run(&sw, NS_SEC(10));
	assert_int_equal(sw.nsent, 0);
}

static void test_notice_can_be_read_and_acknowledged(void **state)
{
	struct mad_notice n;
	uint8_t data[64];

	(void)state;
	node_rig_lids(&sw, 1);
	assert_int_equal(node_rig_get(&sw, 1, SMP_ATTR_NOTICE, 0), 0);
	mad_notice_decode(&n, sw.data, 64);
	assert_int_equal(n.trap, 0);
	node_link(&sw.n, 2, true, sw.now);
	node_rig_run(&sw, 0);
	assert_int_equal(node_rig_get(&sw, 1, SMP_ATTR_NOTICE, 0), 0);
	mad_notice_decode(&n, sw.data, 64);
	assert_int_equal(n.trap, MAD_TRAP_LINK_STATE);
	memcpy(data, sw.data, sizeof(data));
	assert_int_equal(node_rig_set(&sw, 1, SMP_ATTR_NOTICE, 0, data), 0);
	mad_notice_decode(&n, sw.data, 64);
	assert_int_equal(n.trap, 0);
	sw.nsent = 0;
	node_rig_run(&sw, NS_SEC(10));
	assert_int_equal(sw.nsent, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_I14_port_state_change_follows_the_link, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I14_trap_128_from_switches_only, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I14_trap_144_on_capability_change, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I14_traps_257_and_258, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I14_trap_259_of_a_switch_port, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_violations_saturate, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I15_traps_are_lid_routed_to_the_master, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I15_none_while_there_is_no_sm, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I15_repeated_with_the_same_tid_until_repressed,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_I15_a_failure_to_send_is_repeated, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I15_rate_is_limited, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I15_what_happens_meanwhile_is_a_new_trap,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_notice_can_be_read_and_acknowledged, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

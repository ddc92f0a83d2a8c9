/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/node_pair.h"

static uint8_t state_of(struct node_rig *r, uint8_t port)
{
	return r->n.port[port].pi.port_state;
}

static void test_I13_capabilities(void **state)
{
	struct smp_port_info pi = node_rig_port_info(&ca, 1, 0);

	(void)state;
	assert_true(pi.vl_cap >= 3);
	assert_int_equal(pi.mtu_cap, IB_MTU_4096);
	assert_int_equal(pi.port_state, IB_PORT_DOWN);
	assert_int_equal(pi.phys_state, IB_PHYS_POLLING);
	assert_int_equal(pi.lid, 0);
	assert_true(pi.cap_mask & SMP_CAP_IS_CLIENT_REREG);
	assert_false(pi.cap_mask & SMP_CAP_IS_SM);
}

static void test_I13_speeds_and_widths_come_from_the_topology(void **state)
{
	struct smp_port_info pi;

	(void)state;
	node_port_rate(&ca.n, 2, (struct node_rate){ .width = 2, .speed = 6, .ext = 2 });
	node_link(&ca.n, 2, true, ca.now);
	pi = node_rig_port_info(&ca, 1, 2);
	assert_int_equal(pi.width_active, 2);
	assert_int_equal(pi.width_enabled, 2);
	assert_int_equal(pi.width_supported, 3);
	assert_int_equal(pi.speed_active, 4);
	assert_int_equal(pi.speed_enabled, 6);
	assert_int_equal(pi.speed_supported, 7);
	assert_int_equal(pi.speed_ext_active, 2);
	assert_int_equal(pi.speed_ext_enabled, 2);
	assert_int_equal(pi.speed_ext_supported, 3);
	assert_true(pi.cap_mask & SMP_CAP_IS_EXT_SPEEDS);
	assert_int_equal(pi.cap_mask2, 0);
	/*
	 * Width 2x has a higher code than 4x, although it is slower. The speed NDR is announced in
	 * CapabilityMask2.
	 */
	node_port_rate(&ca.n, 1, (struct node_rate){ .width = 0x12, .speed = 1, .ext = 8 });
	node_link(&ca.n, 1, true, ca.now);
	pi = node_rig_port_info(&ca, 1, 1);
	assert_int_equal(pi.width_active, 2);
	assert_int_equal(pi.width_supported, 0x13);
	assert_int_equal(pi.speed_active, 4);
	assert_int_equal(pi.speed_ext_active, 8);
	assert_int_equal(pi.cap_mask2,
			 SMP_CAP2_IS_WIDTH_2X | SMP_CAP2_IS_SPEED_HDR | SMP_CAP2_IS_SPEED_NDR);
	/*
	 * A switch reports the capability of HDR at port 0; its external ports have no capabilities
	 * (14.2.5.6).
	 */
	node_port_rate(&sw.n, 3, (struct node_rate){ .width = 2, .speed = 1, .ext = 4 });
	assert_int_equal(node_rig_port_info(&sw, 1, 0).cap_mask2, SMP_CAP2_IS_SPEED_HDR);
	pi = node_rig_port_info(&sw, 1, 3);
	assert_int_equal(pi.cap_mask, 0);
	assert_int_equal(pi.cap_mask2, 0);
}

/*
 * If an SM enables all rates that a port supports, the link must not become faster than the
 * topology file allows.
 */
static void test_I13_all_enabled_trains_as_before(void **state)
{
	struct smp_port_info pi, after;

	(void)state;
	node_port_rate(&ca.n, 1, (struct node_rate){ .width = 2, .speed = 1, .ext = 0 });
	pi = node_rig_nop(&ca, 1, 1);
	pi.width_enabled = 0xff;
	pi.speed_enabled = 15;
	pi.speed_ext_enabled = 31;
	assert_int_equal(node_rig_set_port_info(&ca, 1, 1, &pi), 0);
	node_link(&ca.n, 1, true, ca.now);
	after = node_rig_port_info(&ca, 1, 1);
	assert_int_equal(after.width_enabled, 3);
	assert_int_equal(after.width_active, 2);
	assert_int_equal(after.speed_active, 1);
	assert_int_equal(after.speed_ext_active, 0);
}

/* A link must train to the best rate that both ends have enabled (7.6.2). */
static void test_I13_ends_agree_on_a_rate(void **state)
{
	struct smp_port_info pi;

	(void)state;
	node_port_rate(&ca.n, 1, (struct node_rate){ .width = 0xb, .speed = 7, .ext = 7 });
	node_link_peer(&ca.n, 1, (struct node_rate){ .width = 3, .speed = 3, .ext = 0 });
	node_link(&ca.n, 1, true, ca.now);
	pi = node_rig_port_info(&ca, 1, 1);
	assert_int_equal(pi.width_active, 2);
	assert_int_equal(pi.speed_active, 2);
	assert_int_equal(pi.speed_ext_active, 0);
	assert_int_equal(pi.width_enabled, 0xb);
	assert_int_equal(pi.speed_ext_enabled, 7);
}

static void test_I5_link_up_is_init_then_armed_then_active(void **state)
{
	(void)state;
	node_link(&ca.n, 1, true, ca.now);
	assert_int_equal(state_of(&ca, 1), IB_PORT_INIT);
	assert_int_equal(ca.n.port[1].pi.phys_state, IB_PHYS_LINK_UP);
	assert_int_equal(node_rig_state(&ca, 1, 1, IB_PORT_ARMED, 0), 0);
	assert_int_equal(state_of(&ca, 1), IB_PORT_ARMED);
	assert_int_equal(ca.nevents, 0);
	assert_int_equal(node_rig_state(&ca, 1, 1, IB_PORT_ACTIVE, 0), 0);
	assert_int_equal(state_of(&ca, 1), IB_PORT_ACTIVE);
	assert_int_equal(node_rig_events(&ca, 1, NODE_EV_PORT_ACTIVE), 1);
	assert_true(node_port_active(&ca.n.port[1]));
	assert_int_equal(state_of(&ca, 2), IB_PORT_DOWN);
}

static void test_I5_other_transitions_get_0x1c(void **state)
{
	static const uint8_t steps[] = { IB_PORT_DOWN, IB_PORT_INIT, IB_PORT_ARMED,
					 IB_PORT_ACTIVE };

	(void)state;
	for (unsigned int from = 0; from < 4; from++) {
		for (unsigned int to = 2; to < 16; to++) {
			bool ok = (from == 1 && to == IB_PORT_ARMED) ||
				  (from == 2 && to == IB_PORT_ACTIVE);

			ca.n.port[1].pi.port_state = steps[from];
			ca.n.port[1].pi.phys_state = from ? IB_PHYS_LINK_UP : IB_PHYS_POLLING;
			assert_int_equal(node_rig_state(&ca, 1, 1, (uint8_t)to, 0),
					 ok ? 0 : MAD_STATUS_BAD_VALUE);
			assert_int_equal(state_of(&ca, 1), ok ? to : steps[from]);
		}
	}
}

static void up_active(struct node_rig *r, uint8_t in_port, uint8_t port)
{
	node_link(&r->n, port, true, r->now);
	assert_int_equal(node_rig_state(r, in_port, port, IB_PORT_ARMED, 0), 0);
	assert_int_equal(node_rig_state(r, in_port, port, IB_PORT_ACTIVE, 0), 0);
	r->nevents = 0;
}

static void test_I5_down_retrains(void **state)
{
	(void)state;
	up_active(&ca, 1, 1);
	assert_int_equal(node_rig_state(&ca, 1, 1, IB_PORT_DOWN, 0), 0);
	assert_int_equal(state_of(&ca, 1), IB_PORT_DOWN);
	assert_int_equal(ca.n.port[1].pi.phys_state, IB_PHYS_POLLING);
	assert_int_equal(node_rig_events(&ca, 1, NODE_EV_PORT_ERR), 1);
	assert_int_equal(node_rig_events(&ca, 1, NODE_EV_RETRAIN), 1);
	/* The node sent the answer before it raised the event to its owner. */
	assert_int_equal(ca.sent[ca.nsent - 1].events, 0);
	node_link(&ca.n, 1, false, ca.now);
	node_link(&ca.n, 1, true, ca.now);
	assert_int_equal(state_of(&ca, 1), IB_PORT_INIT);
	assert_int_equal(ca.n.port[1].cnt.link_downed, 1);
}

static void test_I5_disabled_stays_down_until_polling(void **state)
{
	(void)state;
	up_active(&ca, 1, 1);
	assert_int_equal(node_rig_state(&ca, 1, 1, IB_PORT_DOWN, IB_PHYS_DISABLED), 0);
	assert_int_equal(ca.n.port[1].pi.phys_state, IB_PHYS_DISABLED);
	assert_int_equal(node_rig_events(&ca, 1, NODE_EV_PHYS), 1);
	assert_int_equal(node_rig_events(&ca, 1, NODE_EV_RETRAIN), 0);
	node_link(&ca.n, 1, false, ca.now);
	assert_int_equal(ca.n.port[1].pi.phys_state, IB_PHYS_DISABLED);
	node_link(&ca.n, 1, true, ca.now);
	assert_int_equal(state_of(&ca, 1), IB_PORT_DOWN);
	/* A Set of the port's state to Down must not enable a disabled port. */
	assert_int_equal(node_rig_state(&ca, 1, 1, IB_PORT_DOWN, 0), 0);
	assert_int_equal(ca.n.port[1].pi.phys_state, IB_PHYS_DISABLED);
	ca.nevents = 0;
	assert_int_equal(node_rig_state(&ca, 1, 1, IB_PORT_DOWN, IB_PHYS_POLLING), 0);
	assert_int_equal(ca.n.port[1].pi.phys_state, IB_PHYS_POLLING);
	assert_int_equal(node_rig_events(&ca, 1, NODE_EV_PHYS), 1);
	node_link(&ca.n, 1, true, ca.now);
	assert_int_equal(state_of(&ca, 1), IB_PORT_INIT);
}

static void test_I5_polling_on_a_link_that_is_up_retrains(void **state)
{
	(void)state;
	up_active(&ca, 1, 1);
	assert_int_equal(node_rig_state(&ca, 1, 1, IB_PORT_NOP, IB_PHYS_POLLING), 0);
	assert_int_equal(state_of(&ca, 1), IB_PORT_DOWN);
	assert_int_equal(node_rig_events(&ca, 1, NODE_EV_RETRAIN), 1);
}

static void test_I5_physical_states_that_nobody_can_ask_for(void **state)
{
	(void)state;
	up_active(&ca, 1, 1);
	for (uint8_t phys = IB_PHYS_TRAINING; phys < 16; phys++)
		assert_int_equal(node_rig_state(&ca, 1, 1, IB_PORT_DOWN, phys),
				 MAD_STATUS_BAD_VALUE);
	assert_int_equal(node_rig_state(&ca, 1, 1, IB_PORT_ACTIVE, IB_PHYS_POLLING),
			 MAD_STATUS_BAD_VALUE);
	assert_int_equal(state_of(&ca, 1), IB_PORT_ACTIVE);
}

static void test_I5_link_down_default_is_where_a_lost_link_goes(void **state)
{
	struct smp_port_info pi;

	(void)state;
	up_active(&ca, 1, 1);
	pi = node_rig_nop(&ca, 1, 1);
	pi.down_default = 1;
	assert_int_equal(node_rig_set_port_info(&ca, 1, 1, &pi), 0);
	node_link(&ca.n, 1, false, ca.now);
	assert_int_equal(ca.n.port[1].pi.phys_state, IB_PHYS_SLEEP);
	pi.down_default = 3;
	assert_int_equal(node_rig_set_port_info(&ca, 1, 1, &pi), MAD_STATUS_BAD_VALUE);
}

static void test_I5_nop_keeps(void **state)
{
	struct smp_port_info pi;
	uint8_t before[64];

	(void)state;
	up_active(&ca, 1, 1);
	pi = node_rig_nop(&ca, 1, 1);
	memcpy(before, ca.data, sizeof(before));
	pi.neighbor_mtu = 0;
	assert_int_equal(node_rig_set_port_info(&ca, 1, 1, &pi), 0);
	node_rig_port_info(&ca, 1, 1);
	assert_memory_equal(before, ca.data, sizeof(before));
	assert_int_equal(ca.nevents, 0);
}

static void test_I5_values_that_are_refused_change_nothing(void **state)
{
	struct smp_port_info before, ok, bad[9];
	uint8_t raw[64];

	(void)state;
	up_active(&ca, 1, 1);
	before = node_rig_port_info(&ca, 1, 1);
	memcpy(raw, ca.data, sizeof(raw));
	ok = node_rig_nop(&ca, 1, 1);
	ok.gid_prefix = 0x1234;
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
		bad[i] = ok;
	bad[0].neighbor_mtu = before.mtu_cap + 1;
	bad[1].lid = 0xc000;
	bad[2].lid = 0xbff9;
	bad[2].lmc = 3; /* the range of LIDs ends above 0xbfff */
	bad[3].sm_lid = 0xc000;
	bad[4].width_enabled = 8;
	bad[5].speed_enabled = 8;
	bad[6].speed_ext_enabled = 1;
	bad[7].oper_vls = before.vl_cap + 1;
	bad[8].port_state = IB_PORT_ARMED;
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		if (node_rig_set_port_info(&ca, 1, 1, &bad[i]) != MAD_STATUS_BAD_VALUE)
			fail_msg("bad value %u was accepted", i);
	}
	node_rig_port_info(&ca, 1, 1);
	assert_memory_equal(raw, ca.data, sizeof(raw));
	assert_int_equal(node_rig_set_port_info(&ca, 1, 1, &ok), 0);
	ok.lid = 0xbff8;
	ok.lmc = 3;
	assert_int_equal(node_rig_set_port_info(&ca, 1, 1, &ok), 0);
}

static void test_I5_read_only_fields_are_ignored(void **state)
{
	struct smp_port_info pi = node_rig_nop(&ca, 1, 1), after;

	(void)state;
	pi.cap_mask = 0xffffffff;
	pi.mtu_cap = 1;
	pi.vl_cap = 1;
	pi.guid_cap = 1;
	pi.width_supported = 0xff;
	pi.width_active = 8;
	pi.neighbor_mtu = 4;
	assert_int_equal(node_rig_set_port_info(&ca, 1, 1, &pi), 0);
	after = node_rig_port_info(&ca, 1, 1);
	assert_false(after.cap_mask & SMP_CAP_IS_SM);
	assert_int_equal(after.mtu_cap, IB_MTU_4096);
	assert_true(after.vl_cap > 1);
	assert_int_equal(after.guid_cap, NODE_GUIDS);
	assert_int_equal(after.width_supported, 3);
	assert_int_equal(after.width_active, 2);
	assert_int_equal(after.neighbor_mtu, 4);
}

static void test_I5_enabled_all_means_supported(void **state)
{
	struct smp_port_info pi, after;

	(void)state;
	node_port_rate(&ca.n, 1, (struct node_rate){ .width = 3, .speed = 7, .ext = 3 });
	pi = node_rig_nop(&ca, 1, 1);
	pi.width_enabled = 1;
	pi.speed_enabled = 3;
	pi.speed_ext_enabled = 30;
	assert_int_equal(node_rig_set_port_info(&ca, 1, 1, &pi), 0);
	after = node_rig_port_info(&ca, 1, 1);
	assert_int_equal(after.width_enabled, 1);
	assert_int_equal(after.speed_enabled, 3);
	assert_int_equal(after.speed_ext_enabled, 30);
	/* The link trains with the width that is enabled. */
	node_link(&ca.n, 1, true, ca.now);
	after = node_rig_port_info(&ca, 1, 1);
	assert_int_equal(after.width_active, 1);
	assert_int_equal(after.speed_active, 2);
	assert_int_equal(after.speed_ext_active, 0);
	pi.width_enabled = 0xff;
	pi.speed_enabled = 15;
	pi.speed_ext_enabled = 31;
	assert_int_equal(node_rig_set_port_info(&ca, 1, 1, &pi), 0);
	after = node_rig_port_info(&ca, 1, 1);
	assert_int_equal(after.width_enabled, 3);
	assert_int_equal(after.speed_enabled, 7);
	assert_int_equal(after.speed_ext_enabled, 3);
}

static void test_I5_lid_sm_and_prefix_changes_are_told(void **state)
{
	struct smp_port_info pi = node_rig_nop(&ca, 2, 0);

	(void)state;
	pi.lid = 9;
	assert_int_equal(node_rig_set_port_info(&ca, 2, 0, &pi), 0);
	assert_int_equal(ca.nevents, 1);
	assert_int_equal(node_rig_events(&ca, 2, NODE_EV_LID_CHANGE), 1);
	pi.sm_lid = 3;
	assert_int_equal(node_rig_set_port_info(&ca, 2, 0, &pi), 0);
	pi.sm_sl = 2;
	assert_int_equal(node_rig_set_port_info(&ca, 2, 0, &pi), 0);
	assert_int_equal(node_rig_events(&ca, 2, NODE_EV_SM_CHANGE), 2);
	pi.gid_prefix = 0x1234;
	assert_int_equal(node_rig_set_port_info(&ca, 2, 0, &pi), 0);
	assert_int_equal(node_rig_events(&ca, 2, NODE_EV_GID_CHANGE), 1);
	assert_int_equal(ca.nevents, 4);
	assert_int_equal(node_rig_set_port_info(&ca, 2, 0, &pi), 0);
	assert_int_equal(ca.nevents, 4);
	/* Each port has a LID of its own. */
	assert_int_equal(ca.n.port[1].pi.lid, 0);
}

static void test_I5_client_reregister_is_echoed_and_not_kept(void **state)
{
	struct smp_port_info pi = node_rig_nop(&ca, 1, 0);

	(void)state;
	pi.client_reregister = true;
	assert_int_equal(node_rig_set_port_info(&ca, 1, 0, &pi), 0);
	assert_int_equal(smp_port_info_decode(&pi, ca.data, 64), 0);
	assert_true(pi.client_reregister);
	assert_int_equal(node_rig_events(&ca, 1, NODE_EV_CLIENT_REREGISTER), 1);
	assert_false(node_rig_port_info(&ca, 1, 0).client_reregister);
}

static void test_I5_modifier(void **state)
{
	(void)state;
	assert_int_equal(node_rig_get(&ca, 1, SMP_ATTR_PORT_INFO, 0x80000001), 0);
	assert_int_equal(node_rig_get(&ca, 1, SMP_ATTR_PORT_INFO, 3), MAD_STATUS_BAD_VALUE);
	assert_int_equal(node_rig_get(&ca, 1, SMP_ATTR_PORT_INFO, 0x101), MAD_STATUS_BAD_VALUE);
	assert_int_equal(node_rig_get(&sw, 1, SMP_ATTR_PORT_INFO, 5), MAD_STATUS_BAD_VALUE);
	assert_int_equal(node_rig_get(&sw, 1, SMP_ATTR_PORT_INFO, 4), 0);
	/* In a request to a CA, port number 0 means the port that received the request. */
	ca.n.port[2].pi.lid = 77;
	assert_int_equal(node_rig_port_info(&ca, 2, 0).lid, 77);
	assert_int_equal(node_rig_port_info(&ca, 1, 0).lid, 0);
	assert_int_equal(node_rig_port_info(&ca, 1, 2).lid, 77);
}

static void test_I12_local_port_is_the_ingress(void **state)
{
	(void)state;
	assert_int_equal(node_rig_port_info(&sw, 3, 2).local_port, 3);
	assert_int_equal(node_rig_port_info(&ca, 2, 1).local_port, 2);
}

static void test_I12_switch_port_0_has_the_lid(void **state)
{
	struct smp_port_info pi = node_rig_nop(&sw, 2, 0);

	(void)state;
	pi.lid = 11;
	pi.sm_lid = 12;
	pi.gid_prefix = 0x1234;
	assert_int_equal(node_rig_set_port_info(&sw, 2, 0, &pi), 0);
	assert_int_equal(sw.n.port[0].pi.lid, 11);
	assert_int_equal(node_rig_events(&sw, 0, NODE_EV_LID_CHANGE), 1);
	pi = node_rig_nop(&sw, 2, 3);
	assert_int_equal(pi.lid, 0);
	/* An external port of a switch must ignore the fields of PortInfo that only port 0 has. */
	sw.nevents = 0;
	pi.lid = 0xffff;
	pi.sm_lid = 0xffff;
	pi.mkey = 5;
	pi.gid_prefix = 6;
	pi.lmc = 7;
	pi.client_reregister = true;
	assert_int_equal(node_rig_set_port_info(&sw, 2, 3, &pi), 0);
	assert_int_equal(sw.nevents, 0);
	assert_int_equal(sw.n.port[3].pi.lid, 0);
	assert_int_equal(sw.n.port[3].pi.mkey, 0);
	assert_int_equal(sw.n.port[0].pi.lid, 11);
	assert_int_equal(sw.n.port[0].pi.mkey, 0);
}

static void test_I5_base_port_0_is_always_active(void **state)
{
	struct smp_port_info pi = node_rig_nop(&sw, 2, 0);

	(void)state;
	assert_int_equal(state_of(&sw, 0), IB_PORT_ACTIVE);
	pi.port_state = IB_PORT_DOWN;
	assert_int_equal(node_rig_set_port_info(&sw, 2, 0, &pi), 0);
	pi.port_state = IB_PORT_ACTIVE;
	assert_int_equal(node_rig_set_port_info(&sw, 2, 0, &pi), 0);
	assert_int_equal(state_of(&sw, 0), IB_PORT_ACTIVE);
	assert_int_equal(sw.nevents, 0);
	pi.lmc = 1;
	assert_int_equal(node_rig_set_port_info(&sw, 2, 0, &pi), MAD_STATUS_BAD_VALUE);
}

static void test_I5_enhanced_port_0_has_states_and_lmc(void **state)
{
	struct node_cfg cfg = node_rig_cfg(IB_NODE_SWITCH, 4);
	static struct node_rig esw;
	struct smp_port_info pi;

	(void)state;
	cfg.enhanced_port0 = true;
	node_rig_init_cfg(&esw, &cfg);
	pi = node_rig_nop(&esw, 1, 0);
	pi.lid = 8;
	pi.lmc = 1;
	assert_int_equal(node_rig_set_port_info(&esw, 1, 0, &pi), 0);
	assert_int_equal(node_rig_state(&esw, 1, 0, IB_PORT_DOWN, 0), 0);
	assert_int_equal(state_of(&esw, 0), IB_PORT_INIT);
	assert_int_equal(node_rig_events(&esw, 0, NODE_EV_PORT_ERR), 1);
	assert_int_equal(node_rig_events(&esw, 0, NODE_EV_RETRAIN), 0);
	assert_int_equal(node_rig_state(&esw, 1, 0, IB_PORT_ACTIVE, 0), MAD_STATUS_BAD_VALUE);
	assert_int_equal(node_rig_state(&esw, 1, 0, IB_PORT_ARMED, 0), 0);
	assert_int_equal(node_rig_state(&esw, 1, 0, IB_PORT_ACTIVE, 0), 0);
	node_rig_fini(&esw);
}

static void test_switch_port_enforcement_is_set(void **state)
{
	struct smp_port_info pi = node_rig_nop(&sw, 1, 2);

	(void)state;
	pi.part_enforce_in = pi.part_enforce_out = pi.filter_raw_in = true;
	pi.hoq_life = 3;
	assert_int_equal(node_rig_set_port_info(&sw, 1, 2, &pi), 0);
	pi = node_rig_port_info(&sw, 1, 2);
	assert_true(pi.part_enforce_in && pi.part_enforce_out && pi.filter_raw_in);
	assert_false(pi.filter_raw_out);
	assert_int_equal(pi.hoq_life, 3);
	/*
	 * A CA port must ignore partition enforcement, because only switch ports have this
	 * function.
	 */
	pi = node_rig_nop(&ca, 1, 1);
	pi.part_enforce_in = true;
	assert_int_equal(node_rig_set_port_info(&ca, 1, 1, &pi), 0);
	assert_false(ca.n.port[1].pi.part_enforce_in);
}

static void test_violation_counters_are_cleared_by_zero_only(void **state)
{
	struct smp_port_info pi;

	(void)state;
	ca.n.port[1].pi.pkey_violations = 4;
	ca.n.port[1].pi.qkey_violations = 5;
	ca.n.port[1].pi.mkey_violations = 6;
	pi = node_rig_nop(&ca, 1, 1);
	assert_int_equal(pi.pkey_violations, 4);
	pi.pkey_violations = 100;
	pi.qkey_violations = 0;
	assert_int_equal(node_rig_set_port_info(&ca, 1, 1, &pi), 0);
	pi = node_rig_port_info(&ca, 1, 1);
	assert_int_equal(pi.pkey_violations, 4);
	assert_int_equal(pi.qkey_violations, 0);
	assert_int_equal(pi.mkey_violations, 6);
}

static void test_I4_data_in_armed_makes_active(void **state)
{
	(void)state;
	node_link(&ca.n, 1, true, ca.now);
	node_port_armed_rx(&ca.n.port[1], ca.now);
	assert_int_equal(state_of(&ca, 1), IB_PORT_INIT);
	assert_int_equal(node_rig_state(&ca, 1, 1, IB_PORT_ARMED, 0), 0);
	node_port_armed_rx(&ca.n.port[1], ca.now);
	assert_int_equal(state_of(&ca, 1), IB_PORT_ACTIVE);
	assert_int_equal(node_rig_events(&ca, 1, NODE_EV_PORT_ACTIVE), 1);
}

static void test_lost_link_is_down_and_told(void **state)
{
	(void)state;
	up_active(&ca, 1, 1);
	node_link(&ca.n, 1, true, ca.now);
	assert_int_equal(state_of(&ca, 1), IB_PORT_ACTIVE);
	node_link(&ca.n, 1, false, ca.now);
	assert_int_equal(state_of(&ca, 1), IB_PORT_DOWN);
	assert_int_equal(ca.nevents, 1);
	assert_int_equal(node_rig_events(&ca, 1, NODE_EV_PORT_ERR), 1);
	assert_int_equal(ca.n.port[1].cnt.link_downed, 1);
	node_link(&ca.n, 1, false, ca.now);
	assert_int_equal(ca.n.port[1].cnt.link_downed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_I13_capabilities, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I13_speeds_and_widths_come_from_the_topology,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_I13_all_enabled_trains_as_before, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I13_ends_agree_on_a_rate, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I5_link_up_is_init_then_armed_then_active,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_I5_other_transitions_get_0x1c, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I5_down_retrains, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I5_disabled_stays_down_until_polling, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I5_polling_on_a_link_that_is_up_retrains,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_I5_physical_states_that_nobody_can_ask_for,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_I5_link_down_default_is_where_a_lost_link_goes,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_I5_nop_keeps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I5_values_that_are_refused_change_nothing,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_I5_read_only_fields_are_ignored, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I5_enabled_all_means_supported, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I5_lid_sm_and_prefix_changes_are_told, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I5_client_reregister_is_echoed_and_not_kept,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_I5_modifier, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I12_local_port_is_the_ingress, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I12_switch_port_0_has_the_lid, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I5_base_port_0_is_always_active, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I5_enhanced_port_0_has_states_and_lmc, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_switch_port_enforcement_is_set, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_violation_counters_are_cleared_by_zero_only,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_I4_data_in_armed_makes_active, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_lost_link_is_down_and_told, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

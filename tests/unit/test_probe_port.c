/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests findings about a port, its managers and its partition. Each test makes one fault, and the
 * probe must report this fault and no other.
 */
#include "probe_rig.h"

#include <string.h>

static void test_healthy(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_healthy(&r);
	assert_non_null(strstr(rig_fact(&r, "port"), "Active, LinkUp"));
	assert_non_null(strstr(rig_fact(&r, "sm"), "master, answers in 1.0 ms"));
	assert_non_null(strstr(rig_fact(&r, "group"),
			       "MLID 0xc000, MTU 2048, 10000 Mb/s, SL 0, Q_Key 0x00000b1b"));
	assert_string_equal(rig_fact(&r, "partition"), "0x8001, full member");
	rig_peer(&r);
	rig_interface(&r);
	rig_healthy(&r);
	assert_non_null(
		strstr(rig_fact(&r, "interface"), "ib0: up, carrier, datagram mode, MTU 2044"));
	assert_non_null(strstr(rig_fact(&r, "path"), "LID 9"));
	assert_non_null(rig_fact(&r, "peer"));
}

/*
 * If the configuration of the probe has no P_Key, the probe must take the P_Key of the interface.
 * If there is no interface either, it must take the first entry of the port's P_Key table.
 */
static void test_choice_of_the_partition(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.cfg.pkey = 1;
	rig_healthy(&r);
	r.cfg.pkey = 0;
	rig_interface(&r);
	rig_healthy(&r);
	rig_init(&r);
	r.cfg.pkey = 0;
	rig_finds(&r, PROBE_GROUP_ABSENT, "ff12:401b:ffff::ffff:ffff does not exist");
	r.own.pkey[0] = 0;
	rig_finds(&r, PROBE_PKEY_UNKNOWN, "first entry");
}

/*
 * Port 0 of a switch has no link, and the switch's NodeInfo names another port. Neither of these
 * facts may be a finding.
 */
static void test_port_0_of_a_switch(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.own.node.node_type = IB_NODE_SWITCH;
	r.own.port.phys_state = 0;
	r.own.port.width_active = 1;
	r.own.port.speed_active = 1;
	rig_healthy(&r);
	r.own.port.port_state = IB_PORT_INIT;
	rig_finds(&r, PROBE_NOT_ACTIVE, "Init");
}

/* --- the port */

static void test_port_without_link(void **state)
{
	static const struct {
		uint8_t phys;
		enum probe_kind kind;
		const char *words;
	} cases[] = {
		{ IB_PHYS_POLLING, PROBE_NO_LINK, "no link (Polling)" },
		{ IB_PHYS_TRAINING, PROBE_NO_LINK, "Training" },
		{ IB_PHYS_DISABLED, PROBE_DISABLED, "Disabled" },
		{ IB_PHYS_SLEEP, PROBE_DISABLED, "Sleep" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig r;

		rig_init(&r);
		r.own.port.port_state = IB_PORT_DOWN;
		r.own.port.phys_state = cases[i].phys;
		rig_finds(&r, cases[i].kind, cases[i].words);
		assert_int_equal(r.requests,
				 /*
				  * the probe asks the port itself for NodeInfo, PortInfo and
				  * P_KeyTable
				  */
				 3);
	}
}

static void test_port_that_no_manager_has_seen(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.own.port.port_state = IB_PORT_INIT;
	r.own.port.sm_lid = 0;
	r.own.port.lid = 0;
	rig_finds(&r, PROBE_NOT_ACTIVE, "Init, and no subnet manager has found it");
	rig_init(&r);
	r.own.port.port_state = IB_PORT_ARMED;
	rig_finds(&r, PROBE_NOT_ACTIVE, "state is Armed");
}

static void test_lids(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.own.port.lid = 0;
	rig_finds(&r, PROBE_NO_LID, "its LID is 0");
	rig_init(&r);
	r.own.port.sm_lid = 0;
	rig_finds(&r, PROBE_NO_SM, "subnet manager is 0");
	r.own.port.sm_lid = 0xc001;
	rig_finds(&r, PROBE_NO_SM, "subnet manager is 49153");
}

static void test_port_that_is_silent(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.fault = (struct rig_fault){ .mgmt_class = MAD_CLASS_SM_DR, .attr = SMP_ATTR_PORT_INFO };
	rig_finds(&r, PROBE_NO_ANSWER, "no answer to Get(PortInfo)");
	r.fault = (struct rig_fault){ .mgmt_class = MAD_CLASS_SM_DR,
				      .attr = SMP_ATTR_NODE_INFO,
				      .status = 4 };
	rig_finds(&r, PROBE_NO_ANSWER,
		  "status 0x0004 (class or version not supported) to Get(NodeInfo)");
	r.fault = (struct rig_fault){ .mgmt_class = MAD_CLASS_SM_DR, .attr = SMP_ATTR_PKEY_TABLE };
	rig_finds(&r, PROBE_NO_ANSWER, "no answer to Get(P_KeyTable)");
}

static bool is_behind(const uint8_t *mad)
{
	return mad_class(mad) == MAD_CLASS_SM_DR && mad[SMP_OFF_HOP_CNT];
}

/*
 * Turn the answers of the node behind the link into traps. The probe ignores traps, so its requests
 * to this node time out.
 */
static void silence_link(struct rig *r, uint8_t *mad)
{
	(void)r;
	if (is_behind(mad))
		mad[MAD_OFF_METHOD] = MAD_METHOD_TRAP;
}

static void silence_all(struct rig *r, uint8_t *mad)
{
	(void)r;
	if (is_behind(mad) || mad_class(mad) != MAD_CLASS_SM_DR)
		mad[MAD_OFF_METHOD] = MAD_METHOD_TRAP;
}

static void test_link(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.link.port.neighbor_mtu = IB_MTU_2048;
	rig_finds(&r, PROBE_LINK_MTU, "4096 at this end and 2048");
	rig_init(&r);
	r.twist = silence_all;
	r.rtt = NS_MSEC(200);
	r.cfg.patience = NS_MSEC(200);
	rig_finds_both(&r, PROBE_SILENT_LINK, PROBE_SM_SILENT);
	assert_int_equal(r.report.lost, 3);
	/*
	 * The SMA of the node behind the link does not answer, perhaps because it checks M_Keys.
	 * The SA on this node answers, so the silence of the SMA must be no finding.
	 */
	r.twist = silence_link;
	rig_healthy(&r);
	assert_int_equal(r.report.lost, 1);
}

/* --- managers */

static void test_subnet_manager(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.fault = (struct rig_fault){ .dlid = RIG_SM_LID };
	rig_finds(&r, PROBE_SM_SILENT, "LID 1: no answer to Get(SMInfo)");
	r.fault.status = MAD_STATUS_BAD_ATTR;
	rig_finds(&r, PROBE_SM_SILENT, "to Get(SMInfo), so no subnet manager is there any more");
	r.fault = (struct rig_fault){ .mgmt_class = MAD_CLASS_SM_LID, .attr = SMP_ATTR_SM_INFO };
	rig_finds(&r, PROBE_SM_HIDDEN, "no answer to Get(SMInfo)");
	assert_int_equal(r.report.faults, 0);
	rig_init(&r);
	r.sm.state = SMP_SM_STANDBY;
	rig_finds(&r, PROBE_SM_NOT_MASTER, "LID 1 is standby");
	rig_init(&r);
	r.rtt = NS_MSEC(400);
	rig_finds_both(&r, PROBE_SM_SLOW, PROBE_SA_SLOW);
	assert_int_equal(r.report.faults, 0);
}

static void test_subnet_administrator(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_peer(&r);
	r.fault = (struct rig_fault){ .mgmt_class = MAD_CLASS_SA };
	rig_finds(&r, PROBE_SA_SILENT, "LID 1: no answer to Get(ClassPortInfo)");
	r.fault.status = MAD_STATUS_BAD_VERSION;
	rig_finds(&r, PROBE_SA_REFUSES, "no subnet administrator is there");
	r.fault.status = MAD_STATUS_BUSY;
	rig_finds(&r, PROBE_SA_REFUSES, "status 0x0001 (busy) to Get(ClassPortInfo)");
	rig_init(&r);
	r.own_lid = 77;
	rig_finds(&r, PROBE_SA_OTHER_LID, "has LID 77 for this port, whose LID is 5");
	r.own_lid = 0;
	rig_finds(&r, PROBE_SA_OTHER_LID, "no path to this port's own GID: status 0x0300");
	rig_init(&r);
	r.own.port.lmc = 1;
	r.own_lid = RIG_LID + 1; /* a path may lead to any of the port's LIDs */
	rig_healthy(&r);
}

/* --- the partition */

static void test_partition(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.own.pkey[1] = 0x8002;
	rig_finds(&r, PROBE_PKEY_MISSING, "does not have P_Key 0x8001");
	r.own.pkey[1] = 0x0001;
	rig_finds(&r, PROBE_PKEY_LIMITED, "limited member of partition 0x8001");
	assert_int_equal(r.report.faults, 0);
	r.own.pkey[7] = 0x8001; /* the port has both forms of the P_Key; the full one is used */
	rig_healthy(&r);
	r.own.pkey[1] = 0x8001;
	r.own.pkey[7] = 0x0001;
	rig_healthy(&r);
}

static void refuse_second_block(struct rig *r, uint8_t *mad)
{
	(void)r;
	if (mad_attr(mad) == SMP_ATTR_PKEY_TABLE && mad_attr_mod(mad) == 1)
		be16_put(mad + MAD_OFF_STATUS, MAD_STATUS_BAD_VALUE);
}

static void test_table_of_two_blocks(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.own.node.pkey_cap = 64;
	r.own.pkey[1] = 0;
	r.own.pkey[63] = 0x8001;
	rig_healthy(&r);
	/*
	 * The probe got only a part of the table. Perhaps the P_Key is in the other part, so its
	 * absence must not be reported.
	 */
	r.twist = refuse_second_block;
	rig_finds(&r, PROBE_NO_ANSWER,
		  "status 0x001c (invalid attribute or modifier) to Get(P_KeyTable)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_healthy),
		cmocka_unit_test(test_choice_of_the_partition),
		cmocka_unit_test(test_port_0_of_a_switch),
		cmocka_unit_test(test_port_without_link),
		cmocka_unit_test(test_port_that_no_manager_has_seen),
		cmocka_unit_test(test_lids),
		cmocka_unit_test(test_port_that_is_silent),
		cmocka_unit_test(test_link),
		cmocka_unit_test(test_subnet_manager),
		cmocka_unit_test(test_subnet_administrator),
		cmocka_unit_test(test_partition),
		cmocka_unit_test(test_table_of_two_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

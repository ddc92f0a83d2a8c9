/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests findings about the broadcast group, the kernel's interface and a peer. Each test makes one
 * fault, and the probe must report this fault and no other.
 */
#include "probe_rig.h"

#include <string.h>

#include "wire/mgid.h"

/* --- the broadcast group */

static void test_group_is_absent(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.ngroups = 0;
	rig_finds(&r, PROBE_GROUP_ABSENT, "ff12:401b:8001::ffff:ffff does not exist");
	rig_init(&r);
	r.group[0].mgid = r.group[1].mgid;
	r.ngroups = 1;
	rig_finds(&r, PROBE_GROUP_ABSENT, "does not exist");
}

static void test_group_has_another_scope(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	mgid_broadcast(&r.group[0].mgid, RIG_PKEY, 5);
	r.group[0].scope = 5;
	r.ngroups = 1;
	rig_finds(&r, PROBE_GROUP_SCOPE, "but ff15:401b:8001::ffff:ffff of scope 5 does");
	/*
	 * If this group is the broadcast group of the kernel's interface, its scope must be no
	 * finding.
	 */
	rig_interface(&r);
	r.cfg.ifc.broadcast = r.group[0].mgid;
	rig_healthy(&r);
}

static void test_group_does_not_fit_the_port(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.own.port.neighbor_mtu = IB_MTU_1024;
	r.link.port.neighbor_mtu = IB_MTU_1024;
	rig_finds(&r, PROBE_GROUP_MTU, "MTU 2048, and the port's link 1024");
	rig_init(&r);
	r.own.port.width_active = 1;
	r.own.port.speed_active = 1;
	rig_finds(&r, PROBE_GROUP_RATE, "10000 Mb/s, and the port's link 2500");
	rig_init(&r);
	r.group[0].sl = 3;
	rig_healthy(&r);
	r.vl[3] = 15;
	rig_finds(&r, PROBE_GROUP_SL, "SL 3, which the port maps to VL 15, and it has 4 VLs");
	r.vl[3] = 4;
	rig_finds(&r, PROBE_GROUP_SL, "VL 4");
	r.vl[3] = 3;
	rig_healthy(&r);
}

static void test_groups_differ_in_their_qkey(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.group[1].qkey = 0x1234;
	rig_finds(&r, PROBE_GROUP_QKEY,
		  "has Q_Key 0x00001234, and the broadcast group of its link 0x00000b1b");
	r.group[1].qkey = 0; /* the SA does not show the Q_Key */
	rig_healthy(&r);
	r.group[1].qkey = 0x1234;
	mgid_broadcast(&r.group[1].mgid, 0x8002, 2); /* the group belongs to another link */
	rig_healthy(&r);
}

static void test_group_with_wrong_fields(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.group[0].mlid = 12;
	rig_finds(&r, PROBE_GROUP_FIELD, "MLID 0x000c");
	rig_init(&r);
	r.group[0].pkey = 0xffff;
	rig_finds(&r, PROBE_GROUP_FIELD, "P_Key 0x8001, and its record 0xffff");
	rig_init(&r);
	r.group[0].scope = 5;
	rig_finds(&r, PROBE_GROUP_FIELD, "scope 2, and its record 5");
	rig_init(&r);
	r.group[0].mtu_code = 9;
	rig_finds(&r, PROBE_GROUP_FIELD, "reserved MTU code 9");
}

static void test_group_is_refused(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.fault = (struct rig_fault){ .mgmt_class = MAD_CLASS_SA,
				      .attr = SA_ATTR_MCMEMBER_RECORD,
				      .status = SA_STATUS_DENIED };
	rig_finds(&r, PROBE_SA_REFUSES,
		  "status 0x0700 (ERR_REQ_DENIED) to Get(MCMemberRecord), field MGID");
	r.fault.status = 0;
	rig_finds(&r, PROBE_SA_SILENT, "no answer to Get(MCMemberRecord)");
}

/* --- the interface */

static void test_interface(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_interface(&r);
	r.cfg.ifc.carrier = false;
	rig_finds(&r, PROBE_IF_NO_CARRIER, "ib0 is up, but has no carrier");
	r.own.pkey[1] = 0;
	/*
	 * The missing P_Key is the reason why there is no carrier, so the carrier must not be a
	 * finding of its own.
	 */
	rig_finds(&r, PROBE_PKEY_MISSING, "0x8001");
	r.own.pkey[1] = RIG_PKEY;
	r.cfg.ifc.up = false;
	rig_finds(&r, PROBE_IF_DOWN, "ib0 is down");
	rig_interface(&r);
	r.cfg.ifc.mtu = 4092;
	rig_finds(&r, PROBE_IF_MTU, "MTU 4092, and the broadcast group allows 2044");
	r.cfg.ifc.carrier = false;
	/*
	 * Without carrier, the interface does not have the MTU of the group yet, so the MTU must be
	 * no finding.
	 */
	rig_finds(&r, PROBE_IF_NO_CARRIER, "no carrier");
	r.cfg.ifc.carrier = true;
	r.cfg.ifc.mtu = 1500; /* the administrator may set a lower MTU */
	rig_healthy(&r);
	r.cfg.ifc.connected = true;
	r.cfg.ifc.mtu = 65520;
	rig_finds(&r, PROBE_IF_CONNECTED, "connected mode");
	assert_int_equal(r.report.faults, 0);
}

static void test_interface_is_no_member(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.member = false;
	rig_healthy(&r); /* no interface is on the link, so the port need not be a member */
	rig_interface(&r);
	rig_finds(&r, PROBE_IF_NOT_MEMBER, "does not have the port as a member");
	r.cfg.sm_key = 0; /* without an SM_Key the SA is not asked for members */
	rig_healthy(&r);
	r.cfg.sm_key = 7; /* a wrong SM_Key, to which OpenSM gives no answer */
	r.fault = (struct rig_fault){ .mgmt_class = MAD_CLASS_SA,
				      .attr = SA_ATTR_MCMEMBER_RECORD,
				      .with_port = true };
	rig_healthy(&r);
}

/* --- the peer */

static void test_neighbour(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_interface(&r);
	strcpy(r.cfg.address, "10.4.0.9");
	r.cfg.neigh = PROBE_NEIGH_ABSENT;
	rig_finds(&r, PROBE_NEIGH_NONE, "ib0 has no neighbour 10.4.0.9");
	/*
	 * If an IPv6 address has no neighbour entry, `uipoib check` gives this address to the probe
	 * as the GID of the peer. Here rig_peer() sets the GID instead. The probe must find the
	 * peer by it.
	 */
	rig_peer(&r);
	rig_healthy(&r);
	r.peer_known = false;
	rig_finds(&r, PROBE_NEIGH_NONE, "ib0 has no neighbour 10.4.0.9, and as a GID");
	r.peer_known = true;
	r.cfg.has_peer = false;
	r.cfg.neigh = PROBE_NEIGH_UNRESOLVED;
	rig_finds(&r, PROBE_NEIGH_FAILED, "no link-layer address for its neighbour 10.4.0.9");
	r.cfg.neigh = PROBE_NEIGH_KNOWN;
	rig_peer(&r);
	rig_healthy(&r);
	r.peer_known = false;
	rig_finds(&r, PROBE_NEIGH_STALE,
		  "neighbour 10.4.0.9 of ib0 has GID fe80::1:9, to which there is no path");
}

static void test_peer_without_path(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_peer(&r);
	r.peer_known = false;
	rig_finds(&r, PROBE_PEER_UNKNOWN,
		  "no path to fe80::1:9: status 0x0300 (ERR_NO_RECORDS) to Get(PathRecord), field "
		  "DGID");
	r.peer_known = true;
	r.path_pkey = 0x7fff;
	r.path.pkey = 0xffff;
	rig_finds(&r, PROBE_PATH_REFUSED, "field P_Key 0x8001; with P_Key 0xffff there is one");
}

static void test_path_with_a_small_mtu(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_peer(&r);
	r.path.mtu_code = IB_MTU_1024;
	rig_finds(&r, PROBE_PATH_MTU, "MTU 1024, and the broadcast group 2048");
}

static void test_peer(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_peer(&r);
	r.fault = (struct rig_fault){ .mgmt_class = MAD_CLASS_SM_LID, .dlid = RIG_PEER_LID };
	rig_finds(&r, PROBE_PEER_SILENT, "LID 9: no answer to Get(NodeInfo)");
	rig_init(&r);
	rig_peer(&r);
	r.peer.node.port_guid = 0x777;
	rig_finds(&r, PROBE_PEER_OTHER,
		  "at LID 9, to which the path leads, is the port with GUID 0x0000000000000777");
	rig_init(&r);
	rig_peer(&r);
	r.peer.port.neighbor_mtu = IB_MTU_1024;
	rig_finds(&r, PROBE_PEER_MTU, "link has MTU 1024, and the broadcast group 2048");
	rig_init(&r);
	rig_peer(&r);
	r.peer_member = false;
	rig_finds(&r, PROBE_PEER_NOT_MEMBER, "fe80::1:9 is no member");
}

static void test_pkeys_of_the_peer(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_peer(&r);
	r.peer.pkey[1] = 0x8003;
	rig_finds(&r, PROBE_PEER_PKEY, "peer's table does not have P_Key 0x8001");
	/* the peer is a limited member, and the probe's port is a full member */
	r.peer.pkey[1] = 0x0001;
	rig_healthy(&r);
	r.own.pkey[1] = 0x0001;
	rig_finds_both(&r, PROBE_PKEY_LIMITED, PROBE_PEER_PKEY);
	assert_non_null(strstr(r.report.finding[1].what, "both ports are limited members"));
}

/* --- MADs that do not answer the probe's request */

static void spoil_tid(struct rig *r, uint8_t *mad)
{
	(void)r;
	if (mad_class(mad) == MAD_CLASS_SA)
		be32_put(mad + MAD_OFF_TID + 4, 0x9999);
}

static void cut_sa(struct rig *r, uint8_t *mad)
{
	(void)r;
	if (mad_class(mad) == MAD_CLASS_SA && mad_method(mad) == MAD_METHOD_GET_TABLE_RESP)
		be16_put(mad + SA_HDR_OFF + 8, 2); /* AttributeOffset */
}

static void test_answers_that_do_not_fit(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.twist = spoil_tid;
	r.rtt = NS_MSEC(100);
	r.cfg.patience = NS_MSEC(100);
	rig_finds(&r, PROBE_SA_SILENT, "no answer to Get(ClassPortInfo)");
	rig_init(&r);
	r.twist = cut_sa;
	/* The SA's answer is cut, so the probe does not get the Q_Key of this group. */
	r.group[1].qkey = 0x1234;
	rig_healthy(&r);
}

/* Every kind of finding must have a name of its own, a reason and an advice. */
static void test_kinds(void **state)
{
	(void)state;
	for (unsigned int a = 0; a < PROBE_KINDS; a++) {
		const struct chk_kind_info *i = probe_kind_info(a);

		assert_true(i->name && i->why && i->todo);
		for (unsigned int b = 0; b < a; b++)
			assert_string_not_equal(i->name, probe_kind_info(b)->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_group_is_absent),
		cmocka_unit_test(test_group_has_another_scope),
		cmocka_unit_test(test_group_does_not_fit_the_port),
		cmocka_unit_test(test_groups_differ_in_their_qkey),
		cmocka_unit_test(test_group_with_wrong_fields),
		cmocka_unit_test(test_group_is_refused),
		cmocka_unit_test(test_interface),
		cmocka_unit_test(test_interface_is_no_member),
		cmocka_unit_test(test_neighbour),
		cmocka_unit_test(test_peer_without_path),
		cmocka_unit_test(test_path_with_a_small_mtu),
		cmocka_unit_test(test_peer),
		cmocka_unit_test(test_pkeys_of_the_peer),
		cmocka_unit_test(test_answers_that_do_not_fit),
		cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

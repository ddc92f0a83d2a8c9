/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/all_sa.h"

#include <errno.h>

#include "check.h"
#include "fabric/fault.h"
#include "wire/mgid.h"

/*
 * Tests of MCMemberRecord: rows I17, I18, I22, I23, I24 and I26 of CONFORMANCE.md; RFC 4391 §4.1,
 * §5, §10.
 */

/*
 * Component masks of the Linux driver's requests: join of the broadcast group, join of another
 * group, leave.
 */
#define LINUX_BROADCAST 0x10083u
#define LINUX_GROUP 0x173f7u
#define LINUX_LEAVE 0x10003u

struct fix {
	struct sa_rig r;
	struct sa_client c;
	/* MCMemberRecord of the broadcast group, from the answer to the client's join */
	struct ib_mcmember_rec bc;
};

static struct ib_mcmember_rec of(struct fix *f, const char *port, uint8_t join_state)
{
	struct ib_mcmember_rec rec = {
		.port_gid = sa_rig_gid(&f->r, port),
		.pkey = 0xffff,
		.join_state = join_state,
	};

	mgid_broadcast(&rec.mgid, 0xffff, 2);
	return rec;
}

static int set(struct fix *f, uint64_t mask, const struct ib_mcmember_rec *want,
	       struct ib_mcmember_rec *ret)
{
	return sa_client_mcm(&f->c, MAD_METHOD_SET, mask, want, ret);
}

static int leave(struct fix *f, const struct ib_mcmember_rec *want)
{
	return sa_client_mcm(&f->c, MAD_METHOD_DELETE, LINUX_LEAVE, want, NULL);
}

static void fix_init(struct fix *f, const struct sa_rig_cfg *cfg)
{
	struct ib_mcmember_rec want;

	sa_rig_init(&f->r, cfg);
	sa_client_init(&f->c, &f->r, "Hca1/1");
	want = of(f, "Hca1/1", MCM_JOIN_FULL);
	assert_int_equal(set(f, LINUX_BROADCAST, &want, &f->bc), 0);
}

static void fix_default(struct fix *f)
{
	fix_init(f, &(struct sa_rig_cfg){ .hosts = 4, .switches = 2, .sm_key = 7 });
}

static void fix_fini(struct fix *f)
{
	sa_client_fini(&f->c);
	sa_rig_fini(&f->r);
}

/*
 * Return the MCMemberRecord with which the Linux driver joins the group 239.0.0.@last: it has the
 * parameters of the broadcast group.
 */
static struct ib_mcmember_rec group(struct fix *f, unsigned int last, uint8_t join_state)
{
	const uint8_t ip[4] = { 239, 0, 0, (uint8_t)last };
	struct ib_mcmember_rec rec = f->bc;

	assert_int_equal(mgid_from_ipv4(&rec.mgid, ip, 0xffff, 2), 0);
	rec.mlid = 0;
	rec.join_state = join_state;
	return rec;
}

static bool switch_has(struct fix *f, const char *sw, uint16_t mlid, unsigned int port)
{
	const struct node *n = sa_rig_port(&f->r, sw)->node;

	return node_mft_mask(n->sw, mlid - IB_LID_MCAST_MIN)[port / 64] >> port % 64 & 1;
}

/*
 * Return the lowest port number, @from or above, of a port of switch @sw that is connected to
 * @node; 0 if there is none.
 */
static unsigned int port_to(struct fix *f, const char *sw, const char *node, unsigned int from)
{
	struct fabric_node *n = fabric_node_find(f->r.f, sw);
	unsigned int last = fabric_node_node(n)->info.nports;

	for (unsigned int p = from; p <= last; p++) {
		struct fabric_port *peer = fabric_port_peer(fabric_node_port(n, p));

		if (peer && fabric_port_node(peer) == fabric_node_find(f->r.f, node))
			return p;
	}
	return 0;
}

static unsigned int mft_ports(struct fix *f, uint16_t mlid)
{
	unsigned int n = 0;

	for (unsigned int s = 1; s <= 2; s++) {
		const char *name = s == 1 ? "Switch1/0" : "Switch2/0";

		for (unsigned int p = 0; p <= sa_rig_port(&f->r, name)->node->info.nports; p++)
			n += switch_has(f, name, mlid, p);
	}
	return n;
}

static void test_R22_R28_join_of_the_broadcast_group(void **state)
{
	struct fix f;

	fix_default(&f);
	assert_int_equal(f.c.resp.mad.method, MAD_METHOD_GET_RESP);
	assert_int_equal(f.bc.qkey, SM_QKEY_DEFAULT); /* R16: a controlled Q_Key */
	assert_true(f.bc.qkey & IB_QKEY_CONTROLLED);
	assert_int_equal(f.bc.scope, 2); /* R20: link-local scope */
	assert_int_equal(f.bc.mtu_sel, SA_SEL_EXACT);
	assert_int_equal(f.bc.mtu_code, IB_MTU_2048);
	assert_int_equal(f.bc.rate_sel, SA_SEL_EXACT);
	assert_int_equal(f.bc.rate_code, 3);
	assert_int_equal(f.bc.sl, 0); /* Clause R19: SL of the link's multicast packets */
	assert_int_equal(f.bc.pkey, 0xffff);
	assert_int_equal(f.bc.join_state, MCM_JOIN_FULL);
	assert_true(ib_lid_is_mcast(f.bc.mlid));
	fix_fini(&f);
}

static void test_I22_prefix_is_echoed(void **state)
{
	struct ib_mcmember_rec want, got;
	struct fix f;

	fix_default(&f);
	want = of(&f, "Hca1/1", MCM_JOIN_FULL);
	assert_int_equal(set(&f, LINUX_BROADCAST, &want, &got), 0);
	assert_true(ib_gid_equal(&got.port_gid, &want.port_gid));
	be64_put(want.port_gid.raw, 0x2001000000000000ull);
	assert_int_equal(set(&f, LINUX_BROADCAST, &want, NULL), SA_STATUS_INVALID_GID);
	fix_fini(&f);
}

static void test_I17_the_answer_comes_after_the_tables(void **state)
{
	struct ib_mcmember_rec want, got;
	struct fix f;

	fix_default(&f);
	want = group(&f, 9, MCM_JOIN_FULL);
	assert_int_equal(set(&f, LINUX_GROUP, &want, &got), 0);
	/*
	 * No time has passed since the answer, so the switch had its MFT entry before the answer
	 * was sent.
	 */
	assert_int_equal(mft_ports(&f, got.mlid), 1);
	assert_true(switch_has(&f, "Switch1/0", got.mlid, 1));
	fix_fini(&f);
}

static void test_I17_a_silent_switch_delays_it_by_200_ms(void **state)
{
	const struct fault_spec cut = { .kind = FAULT_CUT, .cls = FAULT_ALL };
	struct ib_mcmember_rec want;
	uint8_t wire[MCMEMBER_REC_LEN];
	struct fix f;
	ns_t asked;

	fix_default(&f);
	assert_int_not_equal(port_to(&f, "Switch1", "Hca1", 1), 0);
	f.c.sm_key = 7; /* a trusted requester may join other ports */
	want = group(&f, 9, MCM_JOIN_FULL);
	want.port_gid = sa_rig_gid(&f.r, port_to(&f, "Switch2", "Hca2", 1) ? "Hca2/1" : "Hca4/1");
	for (unsigned int p = 1; (p = port_to(&f, "Switch1", "Switch2", p)); p++)
		assert_int_equal(
			fabric_fault_add(fabric_node_port(fabric_node_find(f.r.f, "Switch1"), p),
					 &cut, NULL),
			0);
	ib_mcmember_rec_encode(wire, &want);
	asked = f.r.now;
	sa_client_send(&f.c, MAD_METHOD_SET, SA_ATTR_MCMEMBER_RECORD, LINUX_GROUP, wire,
		       sizeof(wire));
	sa_rig_pass(&f.r, NS_MSEC(190));
	assert_false(f.c.done);
	sa_rig_pass(&f.r, NS_MSEC(20));
	assert_true(f.c.done);
	assert_int_equal(f.c.status, 0);
	assert_true(f.c.done_at - asked == NS_MSEC(200));
	fix_fini(&f);
}

static void test_I17_a_membership_that_ended_meanwhile_is_not_confirmed(void **state)
{
	const struct fault_spec cut = { .kind = FAULT_CUT, .cls = FAULT_ALL };
	struct ib_mcmember_rec want;
	uint8_t wire[MCMEMBER_REC_LEN];
	struct fix f;
	ns_t asked;

	fix_default(&f);
	f.c.sm_key = 7;
	want = group(&f, 9, MCM_JOIN_FULL);
	want.port_gid = sa_rig_gid(&f.r, port_to(&f, "Switch2", "Hca2", 1) ? "Hca2/1" : "Hca4/1");
	for (unsigned int p = 1; (p = port_to(&f, "Switch1", "Switch2", p)); p++)
		fabric_fault_add(fabric_node_port(fabric_node_find(f.r.f, "Switch1"), p), &cut,
				 NULL);
	ib_mcmember_rec_encode(wire, &want);
	asked = f.r.now;
	sa_client_send(&f.c, MAD_METHOD_SET, SA_ATTR_MCMEMBER_RECORD, LINUX_GROUP, wire,
		       sizeof(wire));
	sa_rig_pass(&f.r, NS_MSEC(100));
	sm_group_delete(f.r.sm, sm_group_find(f.r.sm, &want.mgid), f.r.now);
	sa_rig_pass(&f.r, NS_MSEC(300));
	assert_false(f.c.done);
	/*
	 * After 500 ms the client's repetition of its request counts as a new request, which is
	 * granted.
	 */
	sa_rig_pass(&f.r, NS_MSEC(400));
	assert_true(f.c.done);
	assert_int_equal(f.c.status, 0);
	assert_true(f.c.done_at - asked >= NS_MSEC(500));
	assert_non_null(sm_group_find(f.r.sm, &want.mgid));
	fix_fini(&f);
}

static void test_R17_switch_port_0_has_no_rate(void **state)
{
	struct ib_mcmember_rec want;
	struct sa_client c;
	struct fix f;

	fix_default(&f);
	sa_client_init(&c, &f.r, "Switch1/0");
	/* 2.5 Gb/s; the SA must not compare this rate with the rate of the group */
	c.np->pi.width_active = 1;
	c.np->pi.speed_active = 1;
	sm_kick(f.r.sm, "test", f.r.now);
	sa_rig_pass(&f.r, NS_SEC(1));
	want = of(&f, "Switch1/0", MCM_JOIN_FULL);
	assert_int_equal(sa_client_mcm(&c, MAD_METHOD_SET, LINUX_BROADCAST, &want, NULL), 0);
	assert_true(switch_has(&f, "Switch1/0", f.bc.mlid, 0));
	sa_client_fini(&c);
	fix_fini(&f);
}

static void test_I22_join_state_bits_add_up_and_leave_one_by_one(void **state)
{
	struct ib_mcmember_rec want, got;
	struct fix f;

	fix_default(&f);
	want = group(&f, 1, MCM_JOIN_FULL);
	assert_int_equal(set(&f, LINUX_GROUP, &want, &got), 0);
	want.join_state = MCM_JOIN_NON;
	assert_int_equal(set(&f, LINUX_GROUP, &want, &got), 0);
	assert_int_equal(got.join_state, MCM_JOIN_FULL | MCM_JOIN_NON);
	/* a JoinState that the port does not have */
	want.join_state = MCM_JOIN_SEND_ONLY_NON;
	assert_int_equal(leave(&f, &want), SA_STATUS_REQ_INVALID);
	want.join_state = MCM_JOIN_NON;
	assert_int_equal(leave(&f, &want), 0);
	assert_int_equal(f.c.resp.mad.method, MAD_METHOD_DELETE_RESP);
	assert_int_equal(ib_mcmember_rec_decode(&got, f.c.resp.data, f.c.resp.data_len), 0);
	assert_int_equal(got.join_state, MCM_JOIN_FULL);
	assert_non_null(sm_group_find(f.r.sm, &want.mgid));
	want.join_state = MCM_JOIN_FULL;
	assert_int_equal(leave(&f, &want), 0);
	assert_null(sm_group_find(f.r.sm, &want.mgid));
	fix_fini(&f);
}

static void test_who_is_behind_a_switch_without_multicast_is_refused(void **state)
{
	struct ib_mcmember_rec want;
	struct sa_client c2;
	struct fix f;

	fix_default(&f);
	sa_rig_port(&f.r, "Switch2/0")->node->sw->si.mft_cap = 0;
	sm_kick(f.r.sm, "test", f.r.now);
	sa_rig_pass(&f.r, NS_SEC(2));
	want = group(&f, 1, MCM_JOIN_FULL);
	assert_int_equal(set(&f, LINUX_GROUP, &want, NULL), 0);
	sa_client_init(&c2, &f.r, "Hca4/1");
	want.port_gid = sa_rig_gid(&f.r, "Hca4/1");
	assert_int_equal(sa_client_mcm(&c2, MAD_METHOD_SET, LINUX_GROUP, &want, NULL),
			 SA_STATUS_NO_RESOURCES);
	assert_non_null(strstr(f.r.refusal, "no multicast table that it needs has room"));
	/* The refused request must not have created the group. */
	want.mgid.raw[15]++;
	assert_int_equal(sa_client_mcm(&c2, MAD_METHOD_SET, LINUX_GROUP, &want, NULL),
			 SA_STATUS_NO_RESOURCES);
	assert_null(sm_group_find(f.r.sm, &want.mgid));
	sa_client_fini(&c2);
	fix_fini(&f);
}

static void test_I22_administrative_groups_stay(void **state)
{
	struct ib_mcmember_rec want;
	struct fix f;

	fix_default(&f);
	want = of(&f, "Hca1/1", MCM_JOIN_FULL);
	assert_int_equal(leave(&f, &want), 0);
	assert_non_null(sm_group_find(f.r.sm, &want.mgid));
	fix_fini(&f);
}

static void test_I23_the_same_join_and_the_same_leave_twice(void **state)
{
	struct ib_mcmember_rec want;
	uint8_t first[MCMEMBER_REC_LEN];
	struct fix f;

	fix_default(&f);
	want = group(&f, 1, MCM_JOIN_FULL);
	assert_int_equal(set(&f, LINUX_GROUP, &want, NULL), 0);
	memcpy(first, f.c.resp.data, sizeof(first));
	assert_int_equal(set(&f, LINUX_GROUP, &want, NULL), 0);
	assert_memory_equal(first, f.c.resp.data, sizeof(first));
	assert_int_equal(sm_group_find(f.r.sm, &want.mgid)->nmembers, 1);
	assert_int_equal(leave(&f, &want), 0);
	assert_int_equal(leave(&f, &want), SA_STATUS_REQ_INVALID);
	fix_fini(&f);
}

static void test_I23_repeats_of_a_request_are_one_join(void **state)
{
	struct ib_mcmember_rec want;
	uint8_t wire[MCMEMBER_REC_LEN], mad[MAD_LEN];
	const struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = 2,
		.method = MAD_METHOD_SET,
		.attr_id = SA_ATTR_MCMEMBER_RECORD,
		.tid = 0x123400000001ull,
	};
	const struct sa_hdr sa = { .comp_mask = LINUX_GROUP };
	struct mad_addr from;
	struct node_port *at;
	struct fix f;
	uint64_t answers;

	fix_default(&f);
	want = group(&f, 1, MCM_JOIN_FULL);
	ib_mcmember_rec_encode(wire, &want);
	sa_mad_encode(mad, &h, &sa);
	memcpy(mad + SA_DATA_OFF, wire, sizeof(wire));
	from = mad_addr_gmp(f.c.np->pi.lid, 0);
	at = sa_rig_port(&f.r, "Switch1/0");
	answers = sa_stats(f.r.sa)->answers;
	for (int i = 0; i < 3; i++)
		mad_ep_recv(at->ep, &from, mad, f.r.now);
	assert_int_equal(sa_stats(f.r.sa)->dup_joins, 2);
	sa_rig_pass(&f.r, NS_MSEC(300));
	assert_int_equal(sa_stats(f.r.sa)->answers, answers + 1);
	fix_fini(&f);
}

static void test_I22_creation_needs_its_components(void **state)
{
	static const uint64_t needed[] = { MCM_COMP_QKEY, MCM_COMP_TCLASS, MCM_COMP_PKEY,
					   MCM_COMP_FLOW_LABEL, MCM_COMP_SL };
	static const uint64_t join[] = { MCM_COMP_MGID, MCM_COMP_PORT_GID, MCM_COMP_JOIN_STATE };
	struct ib_mcmember_rec want;
	struct fix f;

	fix_default(&f);
	want = group(&f, 1, MCM_JOIN_FULL);
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		assert_int_equal(set(&f, LINUX_GROUP & ~needed[i], &want, NULL),
				 SA_STATUS_INSUF_COMPONENTS);
	for (size_t i = 0; i < ARRAY_SIZE(join); i++)
		assert_int_equal(set(&f, LINUX_GROUP & ~join[i], &want, NULL),
				 SA_STATUS_INSUF_COMPONENTS);
	assert_int_equal(set(&f, LINUX_BROADCAST, &want, NULL), SA_STATUS_INSUF_COMPONENTS);
	assert_null(sm_group_find(f.r.sm, &want.mgid));
	/* Create a group with the shortest component mask that allows this. */
	assert_int_equal(set(&f,
			     MCM_COMP_MGID | MCM_COMP_PORT_GID | MCM_COMP_JOIN_STATE |
				     MCM_COMP_QKEY | MCM_COMP_TCLASS | MCM_COMP_PKEY |
				     MCM_COMP_FLOW_LABEL | MCM_COMP_SL,
			     &want, NULL),
			 0);
	fix_fini(&f);
}

static void test_R62_non_members_do_not_create(void **state)
{
	struct ib_mcmember_rec want, got;
	struct fix f;

	fix_default(&f);
	want = group(&f, 1, MCM_JOIN_SEND_ONLY_NON);
	assert_int_equal(set(&f, LINUX_GROUP, &want, NULL), SA_STATUS_REQ_INVALID);
	want.join_state = MCM_JOIN_NON;
	assert_int_equal(set(&f, LINUX_GROUP, &want, NULL), SA_STATUS_REQ_INVALID);
	want.join_state = 0;
	assert_int_equal(set(&f, LINUX_GROUP, &want, NULL), SA_STATUS_REQ_INVALID);
	assert_null(sm_group_find(f.r.sm, &want.mgid));
	want.join_state = MCM_JOIN_FULL;
	assert_int_equal(set(&f, LINUX_GROUP, &want, NULL), 0);
	/*
	 * The group exists now, so a join needs only the short mask with which Linux joins the
	 * broadcast group.
	 */
	want.join_state = MCM_JOIN_SEND_ONLY_NON;
	assert_int_equal(set(&f, LINUX_BROADCAST, &want, &got), 0);
	assert_int_equal(got.join_state, MCM_JOIN_FULL | MCM_JOIN_SEND_ONLY_NON);
	fix_fini(&f);
}

static void test_R67_send_only_full_member_creates(void **state)
{
	struct ib_mcmember_rec want, got;
	struct fix f;

	fix_default(&f);
	want = group(&f, 22, MCM_JOIN_SEND_ONLY_FULL);
	assert_int_equal(set(&f, LINUX_GROUP, &want, &got), 0);
	assert_int_equal(got.join_state, MCM_JOIN_SEND_ONLY_FULL);
	/*
	 * Clause I24: the port is a SendOnlyFullMember, so no switch may forward packets of the
	 * group to this port.
	 */
	assert_int_equal(mft_ports(&f, got.mlid), 0);
	assert_non_null(sm_group_find(f.r.sm, &want.mgid));
	assert_int_equal(leave(&f, &want), 0);
	assert_null(sm_group_find(f.r.sm, &want.mgid));
	fix_fini(&f);
}

static void test_I24_send_only_gets_no_branch(void **state)
{
	struct ib_mcmember_rec want, got;
	struct fix f;

	fix_default(&f);
	f.c.sm_key = 7; /* a trusted requester may join other ports */
	want = group(&f, 1, MCM_JOIN_FULL);
	assert_int_equal(set(&f, LINUX_GROUP, &want, &got), 0);
	assert_int_equal(mft_ports(&f, got.mlid), 1);
	want.port_gid = sa_rig_gid(&f.r, "Hca2/1");
	want.join_state = MCM_JOIN_SEND_ONLY_NON;
	assert_int_equal(set(&f, LINUX_GROUP, &want, &got), 0);
	want.port_gid = sa_rig_gid(&f.r, "Hca3/1");
	want.join_state = MCM_JOIN_NON; /* a NonMember also receives */
	assert_int_equal(set(&f, LINUX_GROUP, &want, &got), 0);
	for (unsigned int i = 1; i <= 2; i++) {
		const char *sw = i == 1 ? "Switch1" : "Switch2",
			   *sw0 = i == 1 ? "Switch1/0" : "Switch2/0";
		unsigned int p = port_to(&f, sw, "Hca2", 1), q = port_to(&f, sw, "Hca3", 1);

		assert_false(p && switch_has(&f, sw0, got.mlid, p));
		assert_true(!q || switch_has(&f, sw0, got.mlid, q));
	}
	assert_true(mft_ports(&f, got.mlid) >= 2);
	fix_fini(&f);
}

static void test_R68_I23_ip_groups_have_the_broadcast_groups_parameters(void **state)
{
	struct ib_mcmember_rec want, got, w;
	struct fix f;

	fix_default(&f);
	want = group(&f, 1, MCM_JOIN_FULL);
	w = want, w.qkey ^= 1;
	assert_int_equal(set(&f, LINUX_GROUP, &w, NULL), SA_STATUS_REQ_INVALID);
	w = want, w.sl = 1;
	assert_int_equal(set(&f, LINUX_GROUP, &w, NULL), SA_STATUS_REQ_INVALID);
	w = want, w.mtu_code = IB_MTU_1024;
	assert_int_equal(set(&f, LINUX_GROUP, &w, NULL), SA_STATUS_REQ_INVALID);
	w = want, w.hop_limit = 1;
	assert_int_equal(set(&f, LINUX_GROUP, &w, NULL), SA_STATUS_REQ_INVALID);
	w = want, w.pkey = 0x8001;
	assert_int_equal(set(&f, LINUX_GROUP, &w, NULL), SA_STATUS_REQ_INVALID);
	w = want, w.tclass = 1;
	assert_int_equal(set(&f, LINUX_GROUP, &w, NULL), SA_STATUS_REQ_INVALID);
	w = want, w.flow_label = 1;
	assert_int_equal(set(&f, LINUX_GROUP, &w, NULL), SA_STATUS_REQ_INVALID);
	w = want, w.rate_code = 2;
	assert_int_equal(set(&f, LINUX_GROUP, &w, NULL), SA_STATUS_REQ_INVALID);
	/*
	 * The SA refuses a group if its partition, or its scope, has no broadcast group. OpenSM
	 * refuses such a group with its error 1B1B.
	 */
	w = want, be16_put(w.mgid.raw + 4, 0x8001);
	assert_int_equal(set(&f, LINUX_GROUP, &w, NULL), SA_STATUS_REQ_INVALID);
	w = want, w.mgid.raw[1] = 0x15;
	assert_int_equal(set(&f, LINUX_GROUP, &w, NULL), SA_STATUS_REQ_INVALID);
	w = want, w.mgid.raw[1] = 0x02; /* R6: flag T is missing */
	assert_int_equal(set(&f, LINUX_GROUP, &w, NULL), SA_STATUS_REQ_INVALID);
	assert_int_equal(set(&f, LINUX_GROUP, &want, &got), 0);
	assert_int_equal(got.mtu_code, f.bc.mtu_code);
	assert_int_equal(got.rate_code, f.bc.rate_code);
	assert_int_equal(got.life, f.bc.life);
	assert_int_not_equal(got.mlid, f.bc.mlid);
	fix_fini(&f);
}

static void test_I22_joins_that_do_not_match_are_refused(void **state)
{
	struct ib_mcmember_rec want, w;
	struct fix f;

	fix_default(&f);
	want = f.bc;
	want.join_state = MCM_JOIN_FULL;
	w = want, w.qkey = 0xb1b;
	assert_int_equal(set(&f, LINUX_GROUP, &w, NULL), SA_STATUS_REQ_INVALID);
	w = want, w.mtu_code = IB_MTU_4096;
	assert_int_equal(set(&f, LINUX_GROUP, &w, NULL), SA_STATUS_REQ_INVALID);
	w = want, w.mlid++;
	assert_int_equal(set(&f, LINUX_BROADCAST | MCM_COMP_MLID, &w, NULL), SA_STATUS_REQ_INVALID);
	w = want, w.scope = 5;
	assert_int_equal(set(&f, LINUX_BROADCAST | MCM_COMP_SCOPE, &w, NULL),
			 SA_STATUS_REQ_INVALID);
	w = want, w.mtu_sel = SA_SEL_GT, w.mtu_code = IB_MTU_1024;
	assert_int_equal(set(&f, LINUX_GROUP, &w, NULL), 0);
	fix_fini(&f);
}

static void test_R17_R26_ports_that_are_too_slow_are_refused(void **state)
{
	static const char topology[] = "Switch 8 \"Switch1\"\n[1] \"Hca1\"[1] w=1 s=1\n"
				       "[2] \"Hca2\"[1]\n\n"
				       "Hca 1 \"Hca1\"\n[1] \"Switch1\"[1] w=1 s=1\n\n"
				       "Hca 1 \"Hca2\"\n[1] \"Switch1\"[2]\n";
	struct ib_mcmember_rec want;
	struct fix f;

	sa_rig_init(&f.r, &(struct sa_rig_cfg){ .topology = topology });
	sa_client_init(&f.c, &f.r, "Hca1/1");
	want = of(&f, "Hca1/1", MCM_JOIN_FULL);
	/*
	 * The link of the port runs at 2.5 Gb/s, which is less than the group's rate of 10 Gb/s, so
	 * the join is refused.
	 */
	assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_SET, LINUX_BROADCAST, &want, NULL),
			 SA_STATUS_REQ_INVALID);
	assert_int_equal(sm_group_find(f.r.sm, &want.mgid)->nmembers, 0);
	sa_client_fini(&f.c);
	sa_client_init(&f.c, &f.r, "Hca2/1");
	want = of(&f, "Hca2/1", MCM_JOIN_FULL);
	assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_SET, LINUX_BROADCAST, &want, NULL), 0);
	/* Create a group with an MTU above the MTU of the creator's port; this must be refused. */
	want.mgid.raw[2] = 0x12;
	want.mtu_sel = SA_SEL_GT;
	want.mtu_code = IB_MTU_4096;
	want.rate_sel = SA_SEL_LARGEST;
	assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_SET, LINUX_GROUP, &want, NULL),
			 SA_STATUS_REQ_INVALID);
	want.mtu_sel = SA_SEL_EXACT;
	assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_SET, LINUX_GROUP, &want, NULL), 0);
	sa_client_fini(&f.c);
	sa_rig_fini(&f.r);
}

static void test_I26_pkey_of_the_port_is_needed_and_lost_with_it(void **state)
{
	struct ib_mcmember_rec want, w;
	struct fix f;

	fix_init(&f, &(struct sa_rig_cfg){
			     .hosts = 3,
			     .switches = 2,
			     .sm_key = 7,
			     .partitions = "Default=0x7fff, ipoib : ALL=full;\n"
					   "A=0x0001, ipoib : \"Hca1\"=full, \"Hca2\"=full;\n" });
	want = of(&f, "Hca1/1", MCM_JOIN_FULL);
	want.pkey = 0x8001;
	mgid_broadcast(&want.mgid, 0x8001, 2);
	assert_int_equal(set(&f, LINUX_BROADCAST, &want, NULL), 0);
	/*
	 * Hca3 is no member of partition A, so not even a trusted client can join Hca3 to a group
	 * of this partition.
	 */
	want.port_gid = sa_rig_gid(&f.r, "Hca3/1");
	f.c.sm_key = 7;
	assert_int_equal(set(&f, LINUX_BROADCAST, &want, NULL), SA_STATUS_REQ_INVALID);
	/* Not even a trusted client can create a group in partition A for Hca3. */
	w = sm_group_find(f.r.sm, &want.mgid)->rec;
	w.mgid.raw[15] = 0x77;
	w.mtu_sel = w.rate_sel = SA_SEL_EXACT;
	w.port_gid = want.port_gid;
	w.join_state = MCM_JOIN_FULL;
	assert_int_equal(set(&f, LINUX_GROUP, &w, NULL), SA_STATUS_REQ_INVALID);
	f.c.sm_key = 0;

	/* The client's port sees the group only while the port is a member of the partition. */
	assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_GET, MCM_COMP_MGID, &want, NULL), 0);
	sa_rig_partitions(&f.r, "Default=0x7fff, ipoib : ALL=full;\n"
				"A=0x0001, ipoib : \"Hca2\"=full;\n");
	assert_int_equal(sm_group_find(f.r.sm, &want.mgid)->nmembers, 0);
	assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_GET, MCM_COMP_MGID, &want, NULL),
			 SA_STATUS_NO_RECORDS);
	want.port_gid = sa_rig_gid(&f.r, "Hca1/1");
	assert_int_equal(set(&f, LINUX_BROADCAST, &want, NULL), SA_STATUS_REQ_INVALID);
	fix_fini(&f);
}

static void test_I18_untrusted_get_hides_members(void **state)
{
	struct ib_mcmember_rec want, got;
	struct fix f;

	fix_default(&f);
	want = f.bc;
	assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_GET, MCM_COMP_MGID, &want, &got), 0);
	assert_true(ib_gid_is_zero(&got.port_gid));
	assert_int_equal(got.join_state, 0);
	assert_int_equal(got.mlid, f.bc.mlid);
	/*
	 * A query that names a member by components must not reveal this member to a requester that
	 * is not allowed to see the member.
	 */
	want.port_gid = sa_rig_gid(&f.r, "Hca2/1");
	assert_int_equal(
		sa_client_mcm(&f.c, MAD_METHOD_GET, MCM_COMP_MGID | MCM_COMP_PORT_GID, &want, &got),
		0);
	assert_true(ib_gid_is_zero(&got.port_gid));

	f.c.sm_key = 7;
	assert_int_equal(
		sa_client_mcm(&f.c, MAD_METHOD_GET, MCM_COMP_MGID | MCM_COMP_PORT_GID, &want, &got),
		SA_STATUS_NO_RECORDS);
	want.port_gid = sa_rig_gid(&f.r, "Hca1/1");
	assert_int_equal(
		sa_client_mcm(&f.c, MAD_METHOD_GET, MCM_COMP_MGID | MCM_COMP_PORT_GID, &want, &got),
		0);
	assert_true(ib_gid_equal(&got.port_gid, &want.port_gid));
	assert_int_equal(got.join_state, MCM_JOIN_FULL);
	fix_fini(&f);
}

static void test_R70_all_groups_in_a_table(void **state)
{
	struct ib_mcmember_rec want, got;
	struct fix f;

	fix_default(&f);
	for (unsigned int i = 1; i <= 20; i++) {
		want = group(&f, i, MCM_JOIN_FULL);
		assert_int_equal(set(&f, LINUX_GROUP, &want, NULL), 0);
	}
	assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_GET_TABLE, MCM_COMP_PKEY, &f.bc, &got), 0);
	assert_int_equal(sa_client_count(&f.c), 21);
	assert_int_equal(f.c.resp.sa.attr_offset, 7);
	want = f.bc;
	want.mlid = 0xc000 + 500;
	assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_GET_TABLE, MCM_COMP_MLID, &want, NULL), 0);
	assert_int_equal(sa_client_count(&f.c), 0);
	assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_GET, 0, &want, NULL),
			 SA_STATUS_TOO_MANY_RECORDS);
	fix_fini(&f);
}

static void test_memberships_of_others_need_the_partition_or_trust(void **state)
{
	struct ib_mcmember_rec want, got;
	struct sa_client other;
	struct fix f;

	fix_default(&f);
	/* A port joins for another port of its partition, so the record has ProxyJoin set. */
	want = of(&f, "Hca2/1", MCM_JOIN_FULL);
	assert_int_equal(set(&f, LINUX_BROADCAST, &want, &got), 0);
	assert_true(got.proxy_join);
	assert_int_equal(leave(&f, &want), 0);
	/* If a port has made its membership itself, no other port can end this membership. */
	sa_client_init(&other, &f.r, "Hca2/1");
	assert_int_equal(sa_client_mcm(&other, MAD_METHOD_SET, LINUX_BROADCAST, &want, &got), 0);
	assert_false(got.proxy_join);
	sa_client_fini(&other);
	assert_int_equal(leave(&f, &want), SA_STATUS_REQ_INVALID);
	assert_int_equal(set(&f, LINUX_BROADCAST, &want, NULL), SA_STATUS_REQ_INVALID);
	f.c.sm_key = 7;
	assert_int_equal(leave(&f, &want), 0);
	fix_fini(&f);
}

static void test_R28_the_first_node_may_make_the_broadcast_group(void **state)
{
	struct ib_mcmember_rec want, got;
	struct fix f;

	sa_rig_init(&f.r,
		    &(struct sa_rig_cfg){
			    .hosts = 2,
			    .switches = 1,
			    .partitions = "Default=0x7fff : ALL=full;\nA=0x0001 : ALL=full;\n" });
	sa_client_init(&f.c, &f.r, "Hca1/1");
	want = of(&f, "Hca1/1", MCM_JOIN_FULL);
	want.qkey = 0x80001111;
	want.mtu_code = IB_MTU_2048;
	want.mtu_sel = want.rate_sel = SA_SEL_EXACT;
	want.rate_code = 3;
	assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_SET, LINUX_BROADCAST, &want, NULL),
			 SA_STATUS_INSUF_COMPONENTS);
	want.pkey = 0x8001; /* Clause R9: a P_Key other than the P_Key in the MGID */
	assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_SET, LINUX_GROUP, &want, NULL),
			 SA_STATUS_REQ_INVALID);
	want.pkey = 0xffff;
	assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_SET, LINUX_GROUP, &want, &got), 0);
	assert_int_equal(got.qkey, 0x80001111);
	assert_int_equal(got.scope, 2);
	sa_client_fini(&f.c);
	sa_rig_fini(&f.r);
}

static void test_I22_the_sa_chooses_mgids_and_runs_out_of_mlids(void **state)
{
	struct ib_mcmember_rec want, got;
	ib_gid first;
	struct fix f;
	int status = 0;
	unsigned int n = 0;

	fix_default(&f);
	want = f.bc;
	want.join_state = MCM_JOIN_FULL;
	memset(&want.mgid, 0, sizeof(want.mgid));
	assert_int_equal(set(&f, LINUX_GROUP, &want, &got), 0);
	first = got.mgid;
	assert_int_equal(mgid_signature(&first), 0xa01b);
	assert_int_equal(mgid_scope(&first), 2);
	while (!status && n++ < 1100)
		status = set(&f, LINUX_GROUP, &want, &got);
	assert_int_equal(status, SA_STATUS_NO_RESOURCES);
	assert_false(ib_gid_equal(&first, &got.mgid));
	/* After one of these groups has ended, another one can be created. */
	want.mgid = first;
	assert_int_equal(leave(&f, &want), 0);
	memset(&want.mgid, 0, sizeof(want.mgid));
	assert_int_equal(set(&f, LINUX_GROUP, &want, &got), 0);
	fix_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R22_R28_join_of_the_broadcast_group),
		cmocka_unit_test(test_I22_prefix_is_echoed),
		cmocka_unit_test(test_who_is_behind_a_switch_without_multicast_is_refused),
		cmocka_unit_test(test_I17_the_answer_comes_after_the_tables),
		cmocka_unit_test(test_I17_a_silent_switch_delays_it_by_200_ms),
		cmocka_unit_test(test_I17_a_membership_that_ended_meanwhile_is_not_confirmed),
		cmocka_unit_test(test_R17_switch_port_0_has_no_rate),
		cmocka_unit_test(test_I22_join_state_bits_add_up_and_leave_one_by_one),
		cmocka_unit_test(test_I22_administrative_groups_stay),
		cmocka_unit_test(test_I23_the_same_join_and_the_same_leave_twice),
		cmocka_unit_test(test_I23_repeats_of_a_request_are_one_join),
		cmocka_unit_test(test_I22_creation_needs_its_components),
		cmocka_unit_test(test_R62_non_members_do_not_create),
		cmocka_unit_test(test_R67_send_only_full_member_creates),
		cmocka_unit_test(test_I24_send_only_gets_no_branch),
		cmocka_unit_test(test_R68_I23_ip_groups_have_the_broadcast_groups_parameters),
		cmocka_unit_test(test_I22_joins_that_do_not_match_are_refused),
		cmocka_unit_test(test_R17_R26_ports_that_are_too_slow_are_refused),
		cmocka_unit_test(test_I26_pkey_of_the_port_is_needed_and_lost_with_it),
		cmocka_unit_test(test_I18_untrusted_get_hides_members),
		cmocka_unit_test(test_R70_all_groups_in_a_table),
		cmocka_unit_test(test_memberships_of_others_need_the_partition_or_trust),
		cmocka_unit_test(test_R28_the_first_node_may_make_the_broadcast_group),
		cmocka_unit_test(test_I22_the_sa_chooses_mgids_and_runs_out_of_mlids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

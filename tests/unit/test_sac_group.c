/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "sac_rig.h"
#include "wire/mgid.h"

struct user {
	struct sac_group_ref ref;
	int granted, failed, status;
	ns_t at[64]; /* times at which the join failed */
	struct ib_mcmember_rec rec;
	struct sac_rig *leave_in_done;
};

static void done(struct sac_group_ref *ref, int status, const struct ib_mcmember_rec *rec, ns_t now)
{
	struct user *u = container_of(ref, struct user, ref);

	u->status = status;
	if (status) {
		if (u->failed < 64)
			u->at[u->failed] = now;
		u->failed++;
	} else {
		u->granted++;
		u->rec = *rec;
	}
	if (u->leave_in_done)
		sac_group_leave(u->leave_in_done->sac, ref, now);
}

static ib_gid group(unsigned int n)
{
	ib_gid g;
	uint8_t addr[4] = { 239, 0, (uint8_t)(n >> 8), (uint8_t)n };

	assert_int_equal(mgid_from_ipv4(&g, addr, RIG_PKEY, 2), 0);
	return g;
}

static struct sac_join join_of(unsigned int n, uint8_t join_state, bool create)
{
	struct sac_join j = {
		.create = create,
		.rec = { .mgid = group(n), .pkey = RIG_PKEY, .join_state = join_state },
	};

	if (create) {
		j.rec.qkey = 0x80000b1b;
		j.rec.mtu_code = IB_MTU_2048;
		j.rec.rate_code = 3;
	}
	return j;
}

static void join(struct sac_rig *r, struct user *u, unsigned int n, uint8_t join_state, bool create)
{
	struct sac_join j = join_of(n, join_state, create);

	u->ref.done = done;
	assert_int_equal(sac_group_join(r->sac, &u->ref, &j, r->now), 0);
}

static struct sa_group *at_sa(struct sac_rig *r, unsigned int n)
{
	ib_gid g = group(n);

	return sa_group_find(&r->sa, &g);
}

static struct sa_group *make(struct sac_rig *r, unsigned int n)
{
	ib_gid g = group(n);

	return sa_group_make(&r->sa, &g, RIG_PKEY, IB_MTU_2048);
}

static void test_R23_join_uses_the_component_masks_of_linux(void **state)
{
	struct user a = { 0 }, b = { 0 };
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	make(&r, 1);
	join(&r, &a, 1, MCM_JOIN_FULL, false);
	assert_int_equal(a.granted, 0);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.sa.last_comp_mask, 0x10083);
	assert_int_equal(a.granted, 1);
	assert_int_equal(a.rec.mlid, at_sa(&r, 1)->rec.mlid);
	join(&r, &b, 2, MCM_JOIN_FULL, true);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.sa.last_comp_mask, 0x173f7);
	assert_int_equal(b.granted, 1);
	assert_int_equal(r.sa.last_join.mtu_sel, SA_SEL_EXACT);
	assert_int_equal(r.sa.last_join.qkey, 0x80000b1b);
	assert_memory_equal(&r.sa.last_join.port_gid, &r.port.gid, 16);
	sac_rig_fini(&r);
}

static void test_two_users_share_one_membership(void **state)
{
	struct user a = { 0 }, b = { 0 };
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	make(&r, 1);
	join(&r, &a, 1, MCM_JOIN_FULL, false);
	join(&r, &b, 1, MCM_JOIN_FULL, false);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(a.granted, 1);
	assert_int_equal(b.granted, 1);
	assert_int_equal(r.sa.joins, 1);
	sac_group_leave(r.sac, &a.ref, r.now);
	sac_rig_run(&r, NS_SEC(2));
	assert_int_equal(r.sa.leaves, 0);
	sac_group_leave(r.sac, &b.ref, r.now);
	sac_rig_run(&r, NS_SEC(2));
	assert_int_equal(r.sa.leaves, 1);
	assert_int_equal(r.sa.last_comp_mask, 0x10003);
	assert_int_equal(at_sa(&r, 1)->have, 0);
	sac_rig_fini(&r);
}

static void test_late_user_is_told_of_what_is_granted_already(void **state)
{
	struct user a = { 0 }, b = { 0 };
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	make(&r, 1);
	join(&r, &a, 1, MCM_JOIN_FULL, false);
	sac_rig_run(&r, NS_MSEC(1));
	join(&r, &b, 1, MCM_JOIN_FULL, false);
	assert_int_equal(b.granted, 0); /* the callback never runs inside the call */
	sac_rig_run(&r, 0);
	assert_int_equal(b.granted, 1);
	assert_int_equal(a.granted, 1);
	assert_int_equal(r.sa.joins, 1);
	sac_rig_fini(&r);
}

static void test_I22_join_state_bits_come_and_go_one_by_one(void **state)
{
	struct user a = { 0 }, b = { 0 };
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	make(&r, 1);
	join(&r, &a, 1, MCM_JOIN_SEND_ONLY_NON, false);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(at_sa(&r, 1)->have, MCM_JOIN_SEND_ONLY_NON);
	join(&r, &b, 1, MCM_JOIN_FULL, true);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.sa.last_join.join_state, MCM_JOIN_FULL);
	assert_int_equal(at_sa(&r, 1)->have, MCM_JOIN_SEND_ONLY_NON | MCM_JOIN_FULL);
	sac_group_leave(r.sac, &a.ref, r.now);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(at_sa(&r, 1)->have, MCM_JOIN_FULL);
	assert_int_equal(b.granted, 1);
	sac_rig_fini(&r);
}

static int warnings;

static void count_warnings(const struct log_sink *sink, enum log_level lvl, const char *fmt,
			   va_list ap)
{
	warnings += lvl <= LOG_LVL_WARN;
}

static void deny(struct fake_sa *sa, uint8_t *mad)
{
	(void)sa;
	be16_put(mad + 4, SA_STATUS_DENIED);
}

static void test_union_of_join_states_is_asked_with_what_makes_a_group(void **state)
{
	struct user a = { 0 }, b = { 0 };
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	make(&r, 1);
	join(&r, &a, 1, MCM_JOIN_SEND_ONLY_NON, false);
	join(&r, &b, 1, MCM_JOIN_FULL, true);
	sac_rig_run(&r, NS_MSEC(1));
	sa_forget(&r.sa);
	/* The group has no other member now, so it has ended with the restart of the SA. */
	at_sa(&r, 1)->others = false;
	sac_reregister(r.sac, r.now);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.sa.join_mask, 0x173f7);
	assert_int_equal(a.granted, 2);
	assert_int_equal(b.granted, 2);
	/*
	 * Clause I22: a Delete must have only JoinState bits that the port has, because the SA
	 * refuses any other Delete as a whole.
	 */
	at_sa(&r, 1)->have &= (uint8_t)~MCM_JOIN_SEND_ONLY_NON;
	sac_group_leave(r.sac, &a.ref, r.now);
	sac_group_leave(r.sac, &b.ref, r.now);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(at_sa(&r, 1)->have, 0);
	sac_rig_fini(&r);
}

/*
 * The SA can refuse two JoinState bits together, but grant one of them alone. For example, a router
 * may become NonMember, but not FullMember, of a group with another SL. So the client must ask for
 * the bits one by one.
 */
static void test_bits_that_are_refused_together_are_asked_for_one_by_one(void **state)
{
	struct user full = { 0 }, non = { 0 };
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	make(&r, 1)->refuse = SA_STATUS_REQ_INVALID;
	at_sa(&r, 1)->refuse_bits = MCM_JOIN_FULL;
	join(&r, &non, 1, MCM_JOIN_NON, false);
	sac_rig_run(&r, NS_MSEC(1));
	join(&r, &full, 1, MCM_JOIN_FULL, true);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(non.granted, 1);
	assert_int_equal(full.failed, 1);
	sa_forget(&r.sa);
	sac_reregister(r.sac, r.now);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(at_sa(&r, 1)->have, MCM_JOIN_NON);
	assert_int_equal(non.granted, 2);
	assert_int_equal(non.failed, 0);
	assert_int_equal(full.failed, 2);
	assert_int_equal(full.status, SA_STATUS_REQ_INVALID);
	sac_rig_fini(&r);
}

static void test_bits_that_are_refused_one_by_one_back_off_together(void **state)
{
	static const unsigned int base[] = { 1, 2, 4, 8, 16, 16 };
	struct user full = { 0 }, non = { 0 };
	struct sac_rig r;

	sac_rig_init(&r, false, 7);
	make(&r, 1)->refuse = SA_STATUS_REQ_INVALID;
	join(&r, &full, 1, MCM_JOIN_FULL, true);
	join(&r, &non, 1, MCM_JOIN_NON, false);
	sac_rig_run(&r, NS_SEC(90));
	assert_true(full.failed > 6);
	assert_in_range(full.failed - non.failed, 0, 1);
	for (size_t i = 0; i < ARRAY_SIZE(base); i++) {
		ns_t gap = full.at[i + 1] - full.at[i];

		assert_true(gap >= NS_SEC(base[i]));
		assert_true(gap <= NS_SEC(base[i]) + NS_MSEC(250) * base[i] + NS_MSEC(1));
	}
	/*
	 * The SA now grants one of the two bits. The client must not request this bit again, and
	 * must request the other bit as before.
	 */
	at_sa(&r, 1)->refuse_bits = MCM_JOIN_FULL;
	sac_rig_run(&r, NS_SEC(21));
	assert_int_equal(non.granted, 1);
	at_sa(&r, 1)->refuse = 0;
	sac_rig_run(&r, NS_SEC(21));
	assert_int_equal(full.granted, 1);
	assert_int_equal(non.granted, 1);
	sac_rig_fini(&r);
}

static void test_a_refused_bit_waits_while_the_other_is_granted(void **state)
{
	struct user full = { 0 }, non = { 0 };
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	make(&r, 1)->refuse = SA_STATUS_REQ_INVALID;
	at_sa(&r, 1)->refuse_bits = MCM_JOIN_FULL;
	join(&r, &full, 1, MCM_JOIN_FULL, true);
	join(&r, &non, 1, MCM_JOIN_NON, false);
	sac_rig_run(&r, NS_MSEC(500));
	assert_int_equal(non.granted, 1);
	assert_int_equal(full.failed, 1);
	/* The joins are for FullMember, both bits together, FullMember again, and NonMember. */
	assert_int_equal(r.sa.joins, 4);
	sac_rig_run(&r, NS_SEC(1));
	assert_int_equal(full.failed, 2);
	sac_group_leave(r.sac, &full.ref, r.now);
	sac_group_leave(r.sac, &non.ref, r.now);
	sac_rig_run(&r, NS_SEC(20));
	assert_int_equal(at_sa(&r, 1)->have, 0);
	assert_int_equal(r.sa.leaves, 1);
	sac_rig_fini(&r);
}

/*
 * draft-kashyap-ipoib-ipv4-multicast-01 §6.2: try to join the group, and create it only if the join
 * fails.
 */
static void test_M19_join_first_creates_only_what_is_not_there(void **state)
{
	struct sac_join j = join_of(1, MCM_JOIN_FULL, true);
	struct user a = { .ref.done = done };
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	j.join_first = true;
	make(&r, 1);
	assert_int_equal(sac_group_join(r.sac, &a.ref, &j, r.now), 0);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(a.granted, 1);
	assert_int_equal(r.sa.joins, 1);
	assert_int_equal(r.sa.join_masks[0], 0x10083);
	/*
	 * The SA restarts and forgets the group, which had no other member. The client must create
	 * the group again. Its user must get a grant, and no failure.
	 */
	at_sa(&r, 1)->others = false;
	sa_forget(&r.sa);
	sac_reregister(r.sac, r.now);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.sa.joins, 3);
	assert_int_equal(r.sa.join_masks[1], 0x10083);
	assert_int_equal(r.sa.join_masks[2], 0x173f7);
	assert_int_equal(a.granted, 2);
	assert_int_equal(a.failed, 0);
	sac_rig_fini(&r);
}

static void test_M19_join_first_that_may_not_create_backs_off(void **state)
{
	struct sac_join j = join_of(1, MCM_JOIN_FULL, true);
	struct user a = { .ref.done = done };
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	j.join_first = true;
	make(&r, 1)->refuse = SA_STATUS_NO_RESOURCES;
	assert_int_equal(sac_group_join(r.sac, &a.ref, &j, r.now), 0);
	sac_rig_run(&r, NS_SEC(10));
	assert_true(a.failed >= 3);
	assert_int_equal(r.sa.joins, 2 * a.failed);
	for (int i = 0; i < 2 * a.failed; i++)
		assert_int_equal(r.sa.join_masks[i], i % 2 ? 0x173f7 : 0x10083);
	assert_true(a.at[2] - a.at[1] >= NS_SEC(2));
	sac_rig_fini(&r);
}

/*
 * A router wants a group as FullMember and as NonMember, and the group does not exist. The join as
 * FullMember creates the group, so the SA then grants both bits of JoinState.
 */
static void test_M19_join_first_of_several_bits(void **state)
{
	struct sac_join j = join_of(1, MCM_JOIN_FULL, true);
	struct user full = { .ref.done = done }, non = { 0 };
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	sac_rig_port(&r, false);
	j.join_first = true;
	join(&r, &non, 1, MCM_JOIN_NON, false);
	assert_int_equal(sac_group_join(r.sac, &full.ref, &j, r.now), 0);
	sac_rig_port(&r, true);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(full.granted, 1);
	assert_int_equal(non.granted, 1);
	assert_int_equal(full.failed + non.failed, 0);
	assert_int_equal(at_sa(&r, 1)->have, MCM_JOIN_FULL | MCM_JOIN_NON);
	sac_rig_fini(&r);
}

static void test_I23_duplicate_delete_is_success(void **state)
{
	static const struct log_sink sink = { .emit = count_warnings, .max = LOG_LVL_WARN };
	struct user a = { 0 };
	struct sac_stats st;
	struct sac_rig r;

	warnings = 0;
	sac_rig_log = &sink;
	sac_rig_init(&r, false, 1);
	sac_rig_log = NULL;
	make(&r, 1);
	join(&r, &a, 1, MCM_JOIN_FULL, false);
	sac_rig_run(&r, NS_MSEC(1));
	/*
	 * The SA has carried out the client's first Delete, but the SA's answer was lost. So the SA
	 * refuses the repeated Delete. This refusal must not be logged.
	 */
	at_sa(&r, 1)->have = 0;
	sac_group_leave(r.sac, &a.ref, r.now);
	sac_rig_run(&r, NS_SEC(5));
	assert_int_equal(r.sa.leaves, 1);
	sac_stats(r.sac, &st);
	assert_int_equal(st.groups, 0);
	assert_true(sac_idle(r.sac));
	assert_int_equal(warnings, 0);
	/*
	 * R71: the SA client must not log a refused join, because only the user of the group knows
	 * what follows from the refusal.
	 */
	make(&r, 2)->refuse = SA_STATUS_DENIED;
	join(&r, &a, 2, MCM_JOIN_FULL, false);
	sac_rig_run(&r, NS_SEC(20));
	assert_true(a.failed > 2);
	assert_int_equal(warnings, 0);
	/*
	 * The SA client must log a refused leave, because the user gets no report of the refusal.
	 */
	at_sa(&r, 2)->refuse = 0;
	sac_rig_run(&r, NS_SEC(20));
	assert_int_equal(a.granted, 2);
	r.sa.twist = deny;
	sac_group_leave(r.sac, &a.ref, r.now);
	sac_rig_run(&r, NS_SEC(5));
	assert_int_equal(warnings, 1);
	sac_rig_fini(&r);
}

static void test_join_backs_off_1_to_16_s(void **state)
{
	static const unsigned int base[] = { 1, 2, 4, 8, 16, 16, 16 };
	struct user a = { 0 };
	struct sac_rig r;

	sac_rig_init(&r, false, 7);
	make(&r, 1)->refuse = SA_STATUS_REQ_INVALID;
	join(&r, &a, 1, MCM_JOIN_FULL, false);
	sac_rig_run(&r, NS_SEC(90));
	assert_true(a.failed > 7);
	for (size_t i = 0; i < ARRAY_SIZE(base); i++) {
		ns_t gap = a.at[i + 1] - a.at[i];

		assert_true(gap >= NS_SEC(base[i]));
		assert_true(gap <= NS_SEC(base[i]) + NS_MSEC(250) * base[i] + NS_MSEC(1));
	}
	assert_int_equal(a.status, SA_STATUS_REQ_INVALID);
	at_sa(&r, 1)->refuse = 0;
	sac_rig_run(&r, NS_SEC(21));
	assert_int_equal(a.granted, 1);
	sac_rig_fini(&r);
}

static void test_back_off_differs_by_seed(void **state)
{
	ns_t at[2];

	for (uint64_t seed = 0; seed < 2; seed++) {
		struct user a = { 0 };
		struct sac_rig r;

		sac_rig_init(&r, false, seed);
		make(&r, 1)->refuse = SA_STATUS_REQ_INVALID;
		join(&r, &a, 1, MCM_JOIN_FULL, false);
		sac_rig_run(&r, NS_SEC(3));
		at[seed] = a.at[1];
		sac_rig_fini(&r);
	}
	assert_true(at[0] != at[1]);
}

static void test_silent_sa_is_retried_without_end(void **state)
{
	struct user a = { 0 };
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	make(&r, 1);
	r.sa.deaf = true;
	join(&r, &a, 1, MCM_JOIN_FULL, false);
	sac_rig_run(&r, NS_SEC(30));
	assert_int_equal(a.status, -ETIMEDOUT);
	r.sa.deaf = false;
	sac_rig_run(&r, NS_SEC(25));
	assert_int_equal(a.granted, 1);
	sac_rig_fini(&r);
}

/*
 * The user chooses how long and how often a join is tried: mcast_timeout and mcast_retry_cnt of
 * intel-ipoib-linux-hld-2002, section 4.2.
 */
static void test_H34_a_join_is_tried_as_its_user_says(void **state)
{
	struct sac_join j = join_of(1, MCM_JOIN_FULL, false);
	struct user a = { .ref.done = done };
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	make(&r, 1);
	r.sa.deaf = true;
	j.tries = (struct sac_tries){ .timeout_ms = 40, .retries = 2 };
	assert_int_equal(sac_group_join(r.sac, &a.ref, &j, r.now), 0);
	sac_rig_run(&r, NS_MSEC(3 * 40 - 1));
	assert_int_equal(r.sa.retries, 2);
	assert_int_equal(a.failed, 0);
	sac_rig_run(&r, NS_MSEC(40));
	assert_int_equal(a.failed, 1);
	assert_int_equal(a.status, -ETIMEDOUT);
	sac_rig_fini(&r);

	a = (struct user){ .ref.done = done };
	sac_rig_init(&r, false, 1);
	make(&r, 1);
	r.sa.deaf = true;
	j.tries = (struct sac_tries){ .timeout_ms = 2000, .retries = 0 };
	assert_int_equal(sac_group_join(r.sac, &a.ref, &j, r.now), 0);
	sac_rig_run(&r, NS_MSEC(1999));
	assert_int_equal(r.sa.retries, 0);
	assert_int_equal(a.failed, 0);
	sac_rig_run(&r, NS_MSEC(200));
	assert_int_equal(a.failed, 1);
	sac_rig_fini(&r);
}

static void no_event(struct sac_user *u, enum sac_event ev, const ib_gid *gid, ns_t now)
{
}

/*
 * Without subscriptions, a NonMember does not learn that its group has ended and that others have
 * created a new group with this MGID. So the client must request the NonMember's membership again
 * as soon as it has subscribed.
 */
static void test_R70_nonmember_joins_again_when_reports_begin_to_come(void **state)
{
	struct sac_user subscriber = { .event = no_event };
	struct user non = { 0 }, full = { 0 };
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	r.sa.inform_refuse = SA_STATUS_NO_RESOURCES;
	sac_user_add(r.sac, &subscriber);
	make(&r, 1);
	make(&r, 2);
	join(&r, &non, 1, MCM_JOIN_NON, false);
	join(&r, &full, 2, MCM_JOIN_FULL, false);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(non.granted, 1);
	at_sa(&r, 1)->have = 0; /* the group ended, and others created a new one */
	r.sa.inform_refuse = 0;
	sac_rig_run(&r, NS_SEC(20));
	assert_true(sac_subscribed(r.sac));
	assert_int_equal(at_sa(&r, 1)->have, MCM_JOIN_NON);
	assert_int_equal(non.granted, 2);
	assert_int_equal(at_sa(&r, 1)->joins, 2);
	/*
	 * A group does not end while it has a FullMember. So the FullMember's membership need not
	 * be requested again.
	 */
	assert_int_equal(at_sa(&r, 2)->joins, 1);
	/*
	 * While the subscription lasts, the client does not request the NonMember's membership
	 * again.
	 */
	sac_rig_run(&r, NS_SEC(100));
	assert_int_equal(at_sa(&r, 1)->joins, 2);
	sac_rig_fini(&r);
}

static void test_reregister_joins_every_group_again(void **state)
{
	struct user u[20];
	struct sac_rig r;

	memset(u, 0, sizeof(u));
	sac_rig_init(&r, false, 1);
	for (unsigned int i = 0; i < 20; i++)
		join(&r, &u[i], i, MCM_JOIN_FULL, true);
	sac_rig_run(&r, NS_MSEC(2));
	sa_forget(&r.sa);
	sac_reregister(r.sac, r.now);
	sac_rig_run(&r, NS_MSEC(2));
	for (unsigned int i = 0; i < 20; i++) {
		assert_int_equal(u[i].granted, 2);
		assert_int_equal(at_sa(&r, i)->have, MCM_JOIN_FULL);
		/*
		 * The SA created the group again with another MLID. The user must have got the new
		 * MLID.
		 */
		assert_int_equal(u[i].rec.mlid, at_sa(&r, i)->rec.mlid);
	}
	assert_true(r.sa.max_open <= SAC_MAX_OPEN);
	sac_rig_fini(&r);
}

static void test_port_bounce_joins_again(void **state)
{
	struct user a = { 0 };
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	make(&r, 1);
	join(&r, &a, 1, MCM_JOIN_FULL, false);
	sac_rig_run(&r, NS_MSEC(1));
	sac_rig_port(&r, false);
	sac_rig_run(&r, NS_SEC(5));
	assert_int_equal(a.granted, 1);
	r.sa.group[0].have = 0;
	sac_rig_port(&r, true);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(a.granted, 2);
	assert_int_equal(at_sa(&r, 1)->have, MCM_JOIN_FULL);
	sac_rig_fini(&r);
}

static void test_leave_while_the_join_is_open_leaves_what_is_granted(void **state)
{
	struct user a = { 0 };
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	make(&r, 1);
	join(&r, &a, 1, MCM_JOIN_FULL, false);
	sac_group_leave(r.sac, &a.ref, r.now);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(a.granted, 0);
	assert_int_equal(r.sa.joins, 1);
	assert_int_equal(r.sa.leaves, 1);
	assert_int_equal(at_sa(&r, 1)->have, 0);
	sac_rig_fini(&r);
}

static void test_membership_that_a_restart_overtook_is_left(void **state)
{
	struct user a = { 0 };
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	make(&r, 1);
	/* The SA grants this join at once, but its answer is still on the way. */
	join(&r, &a, 1, MCM_JOIN_FULL, false);
	assert_int_equal(at_sa(&r, 1)->have, MCM_JOIN_FULL);
	sac_group_leave(r.sac, &a.ref, r.now);
	sac_reregister(r.sac, r.now); /* although this SA has forgotten nothing */
	sac_rig_run(&r, NS_SEC(1));
	assert_int_equal(at_sa(&r, 1)->have, 0);
	sac_rig_fini(&r);
}

/*
 * The Report of trap 67 (group deleted) is late. It is about an earlier group of this MGID, which
 * had ended before the client joined the present group. The client is still a member, so it must
 * send a Delete when its user leaves.
 */
static void test_membership_that_a_late_trap_67_overtook_is_left(void **state)
{
	struct user a = { 0 };
	ib_gid g = group(1);
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	make(&r, 1);
	/* The SA grants this join at once, but its answer is still on the way. */
	join(&r, &a, 1, MCM_JOIN_FULL, false);
	sa_report(&r.sa, MAD_TRAP_MC_DELETED, &g, r.now);
	sac_rig_run(&r, NS_SEC(1));
	assert_int_equal(at_sa(&r, 1)->have, MCM_JOIN_FULL);
	sac_group_leave(r.sac, &a.ref, r.now);
	sac_rig_run(&r, NS_SEC(1));
	assert_int_equal(at_sa(&r, 1)->have, 0);
	sac_rig_fini(&r);
}

/*
 * The port was down for a moment, but the SA has not forgotten the port's memberships. The user
 * left the group in this time, so the client must send a Delete as soon as the port is up.
 */
static void test_membership_that_ended_while_the_port_was_down_is_left(void **state)
{
	struct user a = { 0 };
	struct sac_stats st;
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	make(&r, 1);
	join(&r, &a, 1, MCM_JOIN_FULL, false);
	sac_rig_run(&r, NS_MSEC(1));
	sac_rig_port(&r, false);
	sac_rig_run(&r, NS_SEC(1));
	sac_group_leave(r.sac, &a.ref, r.now);
	sac_rig_run(&r, NS_SEC(1));
	sac_rig_port(&r, true);
	sac_rig_run(&r, NS_SEC(1));
	assert_int_equal(at_sa(&r, 1)->have, 0);
	sac_stats(r.sac, &st);
	assert_int_equal(st.groups, 0);
	sac_rig_fini(&r);
}

static struct user *leaver;
static struct sac *of_leaver;

static void leave_deleted(struct sac_user *u, enum sac_event ev, const ib_gid *gid, ns_t now)
{
	if (ev == SAC_EV_GROUP_DELETED)
		sac_group_leave(of_leaver, &leaver->ref, now);
}

/*
 * The Report of trap 67 is about an earlier group, as in
 * test_membership_that_a_late_trap_67_overtook_is_left(), but it arrives after the SA has granted
 * both JoinState bits. When the client reports that the group was deleted, the user of one bit
 * leaves. The SA still has this bit, so the client must send a Delete for it.
 */
static void test_bit_that_a_late_trap_67_ended_is_left(void **state)
{
	struct sac_user u = { .event = leave_deleted };
	struct user a = { 0 }, b = { 0 };
	ib_gid g = group(1);
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	sac_user_add(r.sac, &u);
	make(&r, 1);
	join(&r, &a, 1, MCM_JOIN_FULL, false);
	join(&r, &b, 1, MCM_JOIN_NON, false);
	sac_rig_run(&r, NS_SEC(1));
	assert_int_equal(at_sa(&r, 1)->have, MCM_JOIN_FULL | MCM_JOIN_NON);
	of_leaver = r.sac;
	leaver = &b;
	sa_report(&r.sa, MAD_TRAP_MC_DELETED, &g, r.now);
	sac_rig_run(&r, NS_SEC(1));
	assert_int_equal(at_sa(&r, 1)->have, MCM_JOIN_FULL);
	sac_rig_fini(&r);
}

static void test_leave_is_repeated_to_a_silent_sa(void **state)
{
	struct user a = { 0 };
	struct sac_stats st;
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	make(&r, 1);
	join(&r, &a, 1, MCM_JOIN_FULL, false);
	sac_rig_run(&r, NS_MSEC(1));
	r.sa.deaf = true;
	sac_group_leave(r.sac, &a.ref, r.now);
	sac_rig_run(&r, NS_SEC(2));
	r.sa.deaf = false;
	sac_rig_run(&r, NS_SEC(2));
	assert_int_equal(at_sa(&r, 1)->have, 0);
	/* A Delete that gets no answer must be repeated only for some time. */
	join(&r, &a, 1, MCM_JOIN_FULL, false);
	sac_rig_run(&r, NS_MSEC(1));
	r.sa.deaf = true;
	sac_group_leave(r.sac, &a.ref, r.now);
	sac_rig_run(&r, NS_SEC(20));
	sac_stats(r.sac, &st);
	assert_int_equal(st.groups, 0);
	sac_rig_fini(&r);
}

/*
 * The user leaves the group before the SA has answered the join, and then the client shuts down. It
 * has little time for this, so it must send the Delete at once, without waiting for the answer.
 */
static void test_shutdown_leaves_a_group_whose_join_has_no_answer_yet(void **state)
{
	struct user a = { 0 };
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	make(&r, 1);
	r.sa.delay = NS_SEC(10); /* delay of answers; the SA carries out requests at once */
	join(&r, &a, 1, MCM_JOIN_FULL, false);
	assert_int_equal(at_sa(&r, 1)->have, MCM_JOIN_FULL);
	sac_group_leave(r.sac, &a.ref, r.now);
	sac_shutdown(r.sac, r.now);
	assert_int_equal(at_sa(&r, 1)->have, 0);
	assert_false(sac_idle(r.sac));
	sac_rig_fini(&r);
}

/*
 * A join has timed out. Perhaps the SA has granted the join, and only the SA's answer was lost. So
 * the client must send a Delete when it shuts down.
 */
static void test_shutdown_leaves_a_group_whose_join_timed_out(void **state)
{
	struct user a = { 0 };
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	make(&r, 1);
	r.sa.delay = NS_SEC(100);
	join(&r, &a, 1, MCM_JOIN_FULL, false);
	while (!sac_idle(r.sac))
		sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(at_sa(&r, 1)->have, MCM_JOIN_FULL);
	sac_group_leave(r.sac, &a.ref, r.now);
	sac_shutdown(r.sac, r.now);
	assert_int_equal(at_sa(&r, 1)->have, 0);
	assert_false(sac_idle(r.sac));
	sac_rig_fini(&r);
}

static void test_leave_from_inside_done(void **state)
{
	struct user a = { 0 }, b = { 0 };
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	make(&r, 1);
	a.leave_in_done = &r;
	join(&r, &a, 1, MCM_JOIN_SEND_ONLY_NON, false);
	join(&r, &b, 1, MCM_JOIN_FULL, false);
	sac_rig_run(&r, NS_SEC(1));
	assert_int_equal(a.granted, 1);
	assert_int_equal(b.granted, 1);
	assert_int_equal(at_sa(&r, 1)->have, MCM_JOIN_FULL);
	sac_rig_fini(&r);
}

static void test_shared_port_never_leaves_and_joins_every_60_s(void **state)
{
	struct user a = { 0 }, b = { 0 };
	struct sac_rig r;

	sac_rig_init(&r, true, 1);
	make(&r, 1);
	make(&r, 2);
	join(&r, &a, 1, MCM_JOIN_FULL, false);
	join(&r, &b, 2, MCM_JOIN_FULL, false);
	sac_rig_run(&r, NS_MSEC(1));
	sac_group_leave(r.sac, &b.ref, r.now);
	/*
	 * The kernel's driver on the same port has left the group. The SA has one membership per
	 * port, so this client's membership has ended, too.
	 */
	at_sa(&r, 1)->have = 0;
	sac_rig_run(&r, NS_SEC(61));
	assert_int_equal(r.sa.leaves, 0);
	assert_int_equal(at_sa(&r, 1)->have, MCM_JOIN_FULL);
	assert_int_equal(at_sa(&r, 2)->joins, 1);
	sac_rig_fini(&r);
}

static struct {
	int calls, status;
	struct ib_mcmember_rec rec;
} asked;

static void answered(struct sac_group_query *q, int status, const struct ib_mcmember_rec *rec,
		     ns_t now)
{
	asked.calls++;
	asked.status = status;
	if (rec)
		asked.rec = *rec;
}

static void test_R60_existence_is_asked_by_get(void **state)
{
	struct sac_group_query q = { .done = answered };
	ib_gid g1 = group(1), g2 = group(2);
	struct sac_rig r;

	memset(&asked, 0, sizeof(asked));
	sac_rig_init(&r, false, 1);
	make(&r, 1);
	assert_int_equal(sac_group_ask(r.sac, &q, &g1, r.now), 0);
	assert_int_equal(sac_group_ask(r.sac, &q, &g1, r.now), -EALREADY);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(asked.calls, 1);
	assert_int_equal(asked.status, 0);
	assert_int_equal(asked.rec.mlid, at_sa(&r, 1)->rec.mlid);
	assert_int_equal(r.sa.last[3], MAD_METHOD_GET);
	assert_int_equal(r.sa.last_comp_mask, MCM_COMP_MGID);
	assert_int_equal(sac_group_ask(r.sac, &q, &g2, r.now), 0);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(asked.status, SA_STATUS_NO_RECORDS);
	/*
	 * If the user cancels a query, the client must not call the user any more. If the port goes
	 * down, an open query must end with an error.
	 */
	sac_group_ask(r.sac, &q, &g2, r.now);
	sac_group_ask_cancel(&q);
	sac_rig_run(&r, NS_SEC(3));
	assert_int_equal(asked.calls, 2);
	sac_group_ask(r.sac, &q, &g2, r.now);
	sac_rig_port(&r, false);
	assert_int_equal(asked.calls, 3);
	assert_int_equal(asked.status, -ENETDOWN);
	sac_rig_fini(&r);
}

static void test_trap_67_has_a_receiver_make_its_group_again(void **state)
{
	struct user a = { 0 };
	ib_gid g = group(1);
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	join(&r, &a, 1, MCM_JOIN_FULL, true);
	sac_rig_run(&r, NS_MSEC(1));
	at_sa(&r, 1)->have = 0;
	sa_report(&r.sa, MAD_TRAP_MC_DELETED, &g, r.now);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(a.granted, 2);
	assert_int_equal(at_sa(&r, 1)->have, MCM_JOIN_FULL);
	sac_rig_fini(&r);
}

static void twist_mlid(struct fake_sa *sa, uint8_t *mad)
{
	be16_put(mad + SA_DATA_OFF + 36, 0x0007);
}

static void test_a_group_without_multicast_lid_is_no_answer(void **state)
{
	struct user a = { 0 };
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	make(&r, 1);
	r.sa.twist = twist_mlid;
	join(&r, &a, 1, MCM_JOIN_FULL, false);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(a.granted, 0);
	assert_int_equal(a.status, -EBADMSG);
	sac_rig_fini(&r);
}

static void test_join_refuses_what_is_no_group(void **state)
{
	struct sac_group_ref ref = { .done = done };
	struct sac_join j = join_of(1, 0, false);
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	assert_int_equal(sac_group_join(r.sac, &ref, &j, r.now), -EINVAL);
	j = join_of(1, 0x10, false);
	assert_int_equal(sac_group_join(r.sac, &ref, &j, r.now), -EINVAL);
	j = join_of(1, MCM_JOIN_FULL, false);
	j.rec.mgid = peer_gid(1);
	assert_int_equal(sac_group_join(r.sac, &ref, &j, r.now), -EINVAL);
	assert_null(ref.group);
	sac_rig_fini(&r);
}

static void test_random_loss_and_changes_end_in_agreement(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct user u[8];
		struct prng rng;
		struct sac_rig r;

		memset(u, 0, sizeof(u));
		prng_seed(&rng, seed);
		sac_rig_init(&r, false, seed);
		r.sa.loss_ppm = 300000;
		for (int step = 0; step < 200; step++) {
			unsigned int i = prng_below(&rng, 8);

			if (u[i].ref.group)
				sac_group_leave(r.sac, &u[i].ref, r.now);
			else
				join(&r, &u[i], i / 2, MCM_JOIN_FULL, true);
			if (prng_below(&rng, 20) == 0) {
				sa_forget(&r.sa);
				sac_reregister(r.sac, r.now);
			}
			sac_rig_run(&r, NS_MSEC(prng_below(&rng, 700)));
		}
		r.sa.loss_ppm = 0;
		sac_rig_run(&r, NS_SEC(60));
		for (unsigned int i = 0; i < 4; i++) {
			bool want = u[2 * i].ref.group || u[2 * i + 1].ref.group;
			struct sa_group *g = at_sa(&r, i);

			if ((g && g->have == MCM_JOIN_FULL) != want)
				fail_msg("seed %llu group %u", (unsigned long long)seed, i);
		}
		assert_true(sac_idle(r.sac));
		sac_rig_fini(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R23_join_uses_the_component_masks_of_linux),
		cmocka_unit_test(test_two_users_share_one_membership),
		cmocka_unit_test(test_late_user_is_told_of_what_is_granted_already),
		cmocka_unit_test(test_I22_join_state_bits_come_and_go_one_by_one),
		cmocka_unit_test(test_union_of_join_states_is_asked_with_what_makes_a_group),
		cmocka_unit_test(test_bits_that_are_refused_together_are_asked_for_one_by_one),
		cmocka_unit_test(test_bits_that_are_refused_one_by_one_back_off_together),
		cmocka_unit_test(test_a_refused_bit_waits_while_the_other_is_granted),
		cmocka_unit_test(test_M19_join_first_creates_only_what_is_not_there),
		cmocka_unit_test(test_M19_join_first_that_may_not_create_backs_off),
		cmocka_unit_test(test_M19_join_first_of_several_bits),
		cmocka_unit_test(test_I23_duplicate_delete_is_success),
		cmocka_unit_test(test_join_backs_off_1_to_16_s),
		cmocka_unit_test(test_back_off_differs_by_seed),
		cmocka_unit_test(test_silent_sa_is_retried_without_end),
		cmocka_unit_test(test_H34_a_join_is_tried_as_its_user_says),
		cmocka_unit_test(test_R70_nonmember_joins_again_when_reports_begin_to_come),
		cmocka_unit_test(test_reregister_joins_every_group_again),
		cmocka_unit_test(test_port_bounce_joins_again),
		cmocka_unit_test(test_leave_while_the_join_is_open_leaves_what_is_granted),
		cmocka_unit_test(test_membership_that_a_restart_overtook_is_left),
		cmocka_unit_test(test_membership_that_a_late_trap_67_overtook_is_left),
		cmocka_unit_test(test_bit_that_a_late_trap_67_ended_is_left),
		cmocka_unit_test(test_membership_that_ended_while_the_port_was_down_is_left),
		cmocka_unit_test(test_leave_is_repeated_to_a_silent_sa),
		cmocka_unit_test(test_shutdown_leaves_a_group_whose_join_has_no_answer_yet),
		cmocka_unit_test(test_shutdown_leaves_a_group_whose_join_timed_out),
		cmocka_unit_test(test_leave_from_inside_done),
		cmocka_unit_test(test_shared_port_never_leaves_and_joins_every_60_s),
		cmocka_unit_test(test_R60_existence_is_asked_by_get),
		cmocka_unit_test(test_trap_67_has_a_receiver_make_its_group_again),
		cmocka_unit_test(test_a_group_without_multicast_lid_is_no_answer),
		cmocka_unit_test(test_join_refuses_what_is_no_group),
		cmocka_unit_test(test_random_loss_and_changes_end_in_agreement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

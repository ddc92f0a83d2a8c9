/* SPDX-License-Identifier: BSD-2-Clause */
#include "sac_rig.h"

#include "wire/mgid.h"

/* Tests a join of a group before the SA has answered the Delete of the earlier membership. */

struct user {
	struct sac_group_ref ref;
	unsigned int granted, failed;
	ns_t granted_at;
};

static void done(struct sac_group_ref *ref, int status, const struct ib_mcmember_rec *rec, ns_t now)
{
	struct user *u = container_of(ref, struct user, ref);

	(void)rec;
	u->granted += !status;
	u->failed += status != 0;
	u->granted_at = now;
}

static void join(struct sac_rig *r, struct user *u)
{
	struct sac_join j = { .rec = { .pkey = RIG_PKEY, .join_state = MCM_JOIN_FULL } };

	assert_int_equal(mgid_broadcast(&j.rec.mgid, RIG_PKEY, 2), 0);
	u->ref.done = done;
	assert_int_equal(sac_group_join(r->sac, &u->ref, &j, r->now), 0);
}

static struct sa_group *member_of(struct sac_rig *r, struct user *u)
{
	struct sa_group *g;
	ib_gid mgid;

	sac_rig_init(r, false, 1);
	assert_int_equal(mgid_broadcast(&mgid, RIG_PKEY, 2), 0);
	g = sa_group_make(&r->sa, &mgid, RIG_PKEY, IB_MTU_2048);
	g->others = true;
	join(r, u);
	sac_rig_run(r, NS_SEC(1));
	assert_int_equal(u->granted, 1);
	r->sa.delay = NS_MSEC(10);
	return g;
}

static void test_I22_a_join_behind_a_leave_is_granted_by_its_own_answer(void **state)
{
	struct user a = { 0 };
	struct sa_group *g;
	struct sac_rig r;
	ns_t began;

	(void)state;
	g = member_of(&r, &a);
	began = r.now;
	sac_group_leave(r.sac, &a.ref, r.now);
	join(&r, &a);
	sac_rig_run(&r, NS_SEC(1));
	assert_int_equal(a.granted, 2);
	assert_int_equal(a.failed, 0);
	/* The new join was sent only after the Delete had been answered. */
	assert_true(a.granted_at == began + NS_MSEC(20));
	assert_int_equal(g->have, MCM_JOIN_FULL);
	sac_rig_fini(&r);
}

static void test_I22_a_refusal_behind_a_leave_is_told_and_so_is_the_grant_after_it(void **state)
{
	struct user a = { 0 };
	struct sa_group *g;
	struct sac_rig r;

	(void)state;
	g = member_of(&r, &a);
	sac_group_leave(r.sac, &a.ref, r.now);
	g->refuse = SA_STATUS_REQ_INVALID;
	join(&r, &a);
	sac_rig_run(&r, NS_MSEC(100));
	assert_int_equal(a.granted, 1);
	assert_int_equal(a.failed, 1);
	g->refuse = 0;
	sac_rig_run(&r, NS_SEC(20));
	assert_int_equal(a.granted, 2);
	assert_int_equal(g->have, MCM_JOIN_FULL);
	sac_rig_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_I22_a_join_behind_a_leave_is_granted_by_its_own_answer),
		cmocka_unit_test(
			test_I22_a_refusal_behind_a_leave_is_told_and_so_is_the_grant_after_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "sac_rig.h"

#include "sac/client.h"

static struct {
	int n;
	enum sac_event ev[32];
	ib_gid gid;
} heard;

static void event(struct sac_user *u, enum sac_event ev, const ib_gid *gid, ns_t now)
{
	assert_true(heard.n < 32);
	heard.ev[heard.n++] = ev;
	if (gid)
		heard.gid = *gid;
}

static void user_init(struct sac_rig *r, struct sac_user *u, bool shared)
{
	memset(&heard, 0, sizeof(heard));
	sac_rig_init(r, shared, 1);
	*u = (struct sac_user){ .event = event };
	sac_user_add(r->sac, u);
}

static void test_R65_subscribes_to_traps_64_to_67_once(void **state)
{
	struct sac_user u, second = { .event = event };
	struct sac_rig r;

	user_init(&r, &u, false);
	sac_user_add(r.sac, &second);
	assert_false(sac_subscribed(r.sac));
	sac_rig_run(&r, NS_MSEC(1));
	for (int i = 0; i < 4; i++)
		assert_true(r.sa.subscribed[i]);
	assert_int_equal(r.sa.subscribes, 4);
	assert_true(sac_subscribed(r.sac));
	/* LIDRangeBegin 0xFFFF asks for Reports about all LIDs (IBTA 13.4.8.3). */
	assert_int_equal(be16_at(r.sa.last + SA_DATA_OFF + 16), 0xffff);
	sac_rig_run(&r, NS_SEC(100));
	assert_int_equal(r.sa.subscribes, 4);
	sac_rig_fini(&r);
}

static void test_no_user_no_subscription(void **state)
{
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	sac_rig_run(&r, NS_SEC(10));
	assert_int_equal(r.sa.subscribes, 0);
	sac_rig_fini(&r);
}

static void test_user_without_reports_is_no_reason_to_subscribe(void **state)
{
	struct sac_user quiet = { .event = event, .no_reports = true }, u = { .event = event };
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	sac_user_add(r.sac, &quiet);
	sac_rig_run(&r, NS_SEC(10));
	assert_int_equal(r.sa.subscribes, 0);
	sac_user_add(r.sac, &u);
	sac_rig_run(&r, NS_SEC(10));
	assert_int_equal(r.sa.subscribes, 4);
	sac_rig_fini(&r);
}

static void test_R65_subscription_is_repeated_until_granted(void **state)
{
	struct sac_user u;
	struct sac_rig r;

	user_init(&r, &u, false);
	r.sa.inform_refuse = SA_STATUS_NO_RESOURCES;
	sac_rig_run(&r, NS_SEC(10));
	assert_false(sac_subscribed(r.sac));
	r.sa.inform_refuse = 0;
	sac_rig_run(&r, NS_SEC(20));
	assert_true(sac_subscribed(r.sac));
	sac_rig_fini(&r);
}

static void test_I25_report_is_answered_and_told(void **state)
{
	static const enum sac_event want[] = { SAC_EV_GID_IN, SAC_EV_GID_OUT, SAC_EV_GROUP_CREATED,
					       SAC_EV_GROUP_DELETED };
	struct mad_addr sa = mad_addr_gmp(SA_LID, 0);
	uint8_t short_mad[MAD_LEN - 1] = { 0 };
	ib_gid gid = peer_gid(77);
	struct sac_stats st;
	struct sac_user u;
	struct sac_rig r;

	user_init(&r, &u, false);
	sac_rig_run(&r, NS_MSEC(1));
	for (uint16_t trap = 64; trap <= 67; trap++) {
		memset(&heard.gid, 0, sizeof(heard.gid));
		sa_report(&r.sa, trap, &gid, r.now);
		assert_int_equal(r.sa.report_resps, trap - 63);
		assert_int_equal(heard.n, trap - 63);
		assert_int_equal(heard.ev[trap - 64], want[trap - 64]);
		assert_memory_equal(&heard.gid, &gid, 16);
	}
	/*
	 * A Report to which the client has not subscribed must be answered, but not be passed to a
	 * user.
	 */
	sa_report(&r.sa, MAD_TRAP_LINK_STATE, &gid, r.now);
	assert_int_equal(r.sa.report_resps, 5);
	assert_int_equal(heard.n, 4);
	sac_stats(r.sac, &st);
	assert_int_equal(st.reports, 4);
	assert_int_equal(st.reports_ignored, 1);
	/* A Report that is shorter than a MAD must only be counted. */
	sac_report_recv(r.sac, &sa, short_mad, sizeof(short_mad), r.now);
	assert_int_equal(r.sa.report_resps, 5);
	sac_stats(r.sac, &st);
	assert_int_equal(st.reports, 4);
	assert_int_equal(st.reports_ignored, 2);
	sac_rig_fini(&r);
}

/*
 * Any port can send a Report to QP1. The client may believe a Report only if it comes from QP1 of
 * the port whose LID is in PortInfo:MasterSMLID.
 */
static void test_report_of_another_port_is_dropped(void **state)
{
	struct mad_addr other_lid = mad_addr_gmp(SA_LID + 1, 0), other_qp = mad_addr_gmp(SA_LID, 0);
	ib_gid gid = peer_gid(77);
	struct sac_stats st;
	struct sac_user u;
	struct sac_rig r;

	user_init(&r, &u, false);
	sac_rig_run(&r, NS_MSEC(1));
	other_qp.qpn = 0x48;
	sa_report_from(&r.sa, &other_lid, MAD_TRAP_MC_DELETED, &gid, r.now);
	sa_report_from(&r.sa, &other_qp, MAD_TRAP_GID_OUT_OF_SERVICE, &gid, r.now);
	assert_int_equal(heard.n, 0);
	assert_int_equal(r.sa.report_resps, 0);
	sac_stats(r.sac, &st);
	assert_int_equal(st.reports_foreign, 2);
	assert_int_equal(st.reports, 0);
	/*
	 * A Set(PortInfo) gives the port the LID of a new SM. From then on the client must believe
	 * Reports of the new SM, and drop those of the old SM.
	 */
	r.port.sm_lid = SA_LID + 1;
	sac_rig_port(&r, true);
	heard.n = 0;
	sa_report_from(&r.sa, &other_lid, MAD_TRAP_MC_CREATED, &gid, r.now);
	assert_int_equal(heard.n, 1);
	sa_report(&r.sa, MAD_TRAP_MC_CREATED, &gid, r.now);
	assert_int_equal(heard.n, 1);
	sac_rig_fini(&r);
}

static void path_got(struct sac_path_wait *w, int status, const struct ib_path_rec *rec, ns_t now)
{
}

static void test_trap_65_forgets_the_path(void **state)
{
	struct sac_path_wait w = { .done = path_got };
	struct sac_path_key key = { peer_gid(RIG_LID), peer_gid(9), RIG_PKEY, 0 };
	struct ib_path_rec rec;
	struct sac_user u;
	struct sac_rig r;

	user_init(&r, &u, false);
	sa_path_add(&r.sa, &key.dgid, 9);
	sac_path_get(r.sac, &key, &w, &rec, r.now);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(sac_path_get(r.sac, &key, &w, &rec, r.now), 0);
	sa_report(&r.sa, MAD_TRAP_GID_OUT_OF_SERVICE, &key.dgid, r.now);
	assert_int_equal(sac_path_get(r.sac, &key, &w, &rec, r.now), -EINPROGRESS);
	sac_rig_run(&r, NS_MSEC(1));
	sac_rig_fini(&r);
}

static void test_restart_is_told_and_subscribes_again(void **state)
{
	struct sac_user u;
	struct sac_rig r;

	user_init(&r, &u, false);
	sac_rig_run(&r, NS_MSEC(1));
	sa_forget(&r.sa);
	sac_reregister(r.sac, r.now);
	assert_int_equal(heard.n, 1);
	assert_int_equal(heard.ev[0], SAC_EV_RESTART);
	assert_false(sac_subscribed(r.sac));
	sac_rig_run(&r, NS_MSEC(1));
	assert_true(sac_subscribed(r.sac));
	assert_int_equal(r.sa.subscribes, 8);
	/* If no attribute of the port has changed, the client must raise no event. */
	sac_rig_port(&r, true);
	assert_int_equal(heard.n, 1);
	sac_rig_fini(&r);
}

static struct sac *restarting; /* the SA client, for restarted() */

static void restarted(struct sac_user *u, enum sac_event ev, const ib_gid *gid, ns_t now)
{
	assert_int_equal(ev, SAC_EV_RESTART);
	assert_false(sac_subscribed(restarting));
	heard.n++;
}

/*
 * When the SA restarts, the client must report this to its users before it subscribes again. A user
 * that is a router then lists all groups, because it perhaps missed the creation of a group (RFC
 * 4391 section 11).
 */
static void test_R70_subscription_of_the_sa_before_is_forgotten_when_users_are_told(void **state)
{
	struct sac_user u;
	struct sac_rig r;

	user_init(&r, &u, false);
	sac_rig_run(&r, NS_MSEC(1));
	assert_true(sac_subscribed(r.sac));
	restarting = r.sac;
	u.event = restarted;
	sac_reregister(r.sac, r.now);
	assert_int_equal(heard.n, 1);
	sac_rig_run(&r, NS_MSEC(1));
	assert_true(sac_subscribed(r.sac));
	sac_rig_fini(&r);
}

static void test_shutdown_unsubscribes_unless_shared(void **state)
{
	for (int shared = 0; shared < 2; shared++) {
		struct sac_user u;
		struct sac_rig r;

		user_init(&r, &u, shared);
		sac_rig_run(&r, NS_MSEC(1));
		sac_shutdown(r.sac, r.now);
		assert_int_equal(sac_idle(r.sac), shared);
		sac_rig_run(&r, NS_MSEC(1));
		assert_true(sac_idle(r.sac));
		assert_int_equal(r.sa.unsubscribes, shared ? 0 : 4);
		assert_int_equal(r.sa.subscribed[2], shared);
		sac_rig_fini(&r);
	}
}

static void test_statuses_have_words(void **state)
{
	char buf[SAC_STATUS_LEN];

	assert_non_null(strstr(sac_status_print(buf, sizeof(buf), 0x0200), "0x0200"));
	assert_string_equal(sac_status_print(buf, sizeof(buf), -ETIMEDOUT),
			    "no answer from the SA");
	assert_int_equal(strlen(sac_status_print(buf, 5, -ETIMEDOUT)), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R65_subscribes_to_traps_64_to_67_once),
		cmocka_unit_test(test_no_user_no_subscription),
		cmocka_unit_test(test_user_without_reports_is_no_reason_to_subscribe),
		cmocka_unit_test(test_R65_subscription_is_repeated_until_granted),
		cmocka_unit_test(test_I25_report_is_answered_and_told),
		cmocka_unit_test(test_report_of_another_port_is_dropped),
		cmocka_unit_test(test_trap_65_forgets_the_path),
		cmocka_unit_test(test_restart_is_told_and_subscribes_again),
		cmocka_unit_test(
			test_R70_subscription_of_the_sa_before_is_forgotten_when_users_are_told),
		cmocka_unit_test(test_shutdown_unsubscribes_unless_shared),
		cmocka_unit_test(test_statuses_have_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

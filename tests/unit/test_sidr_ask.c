/* SPDX-License-Identifier: BSD-2-Clause */
#include "sidr/sidr.h"

#include "check.h"
#include "sidr_rig.h"
#include "util/prng.h"

static struct sidr_rig r;
static struct sidr_ask ask;
static struct sidr_result got;
static unsigned int done;
static ns_t at[64];

static void on_done(struct sidr_ask *a, const struct sidr_result *res, ns_t now)
{
	assert_ptr_equal(a, &ask);
	if (done < 64)
		at[done] = now;
	done++;
	got = *res;
}

static int setup(void **state)
{
	done = 0;
	memset(&ask, 0, sizeof(ask));
	ask.done = on_done;
	sidr_rig_init(&r);
	return 0;
}

static int teardown(void **state)
{
	sidr_stop(&ask);
	sidr_rig_fini(&r);
	return 0;
}

static void start(void)
{
	sidr_start(r.client, r.sac, &ask, RIG_SERVICE, RIG_PKEY, r.net.now);
	assert_int_equal(done, 0);
}

static void assert_text(const char *want)
{
	char buf[SIDR_RESULT_LEN];

	assert_string_equal(sidr_result_print(buf, sizeof(buf), &got), want);
}

static void test_P18_ServiceRecord_PathRecord_and_SIDR_REQ_in_this_order(void **state)
{
	start();
	sidr_rig_run(&r, NS_SEC(1));
	assert_int_equal(done, 1);
	assert_int_equal(got.why, SIDR_OK);
	assert_memory_equal(&got.group.dgid, &r.group.dgid, 16);
	assert_int_equal(got.group.dlid, 0xc003);
	assert_int_equal(got.group.sl, 2);
	assert_int_equal(got.group.qkey, 0x0b1b);
	assert_int_equal(got.server, SERVER_LID);
	assert_int_equal(r.service_asks, 1);
	assert_int_equal(r.path_asks, 1);
	assert_int_equal(r.asked, 1);
	assert_int_equal(r.last.service_id, RIG_SERVICE);
	assert_int_equal(r.last.pkey, RIG_PKEY);
	assert_int_equal(r.from.sl, 3); /* the SL in the SA's PathRecord */
	assert_int_equal(r.from.pkey, RIG_PKEY);
	assert_int_equal(r.from.qkey, IB_QP1_QKEY);
	assert_text("SIDR: group ff12:401b:8123::, from LID 2");
	/* The answer was right, so no further request may follow. */
	sidr_rig_run(&r, NS_SEC(1000));
	assert_int_equal(done, 1);
	assert_int_equal(r.asked, 1);
}

static void test_no_path_in_the_partition_leads_to_the_default_P_Key(void **state)
{
	r.path_pkey = 0xffff;
	start();
	sidr_rig_run(&r, NS_SEC(1));
	assert_int_equal(got.why, SIDR_OK);
	assert_int_equal(r.path_asks, 2);
	assert_int_equal(r.from.pkey, 0xffff);
	assert_int_equal(r.last.pkey, RIG_PKEY);
}

/*
 * Check that each failed attempt is followed by the next one after a pause. The pauses are 1, 2, 4,
 * 8, 16, 16 s ..., and each can be up to a quarter longer.
 */
static void assert_backoff(enum sidr_why why, const char *text)
{
	start();
	sidr_rig_run(&r, NS_SEC(120));
	assert_int_equal(got.why, why);
	assert_text(text);
	assert_in_range(done, 7, 12);
	for (unsigned int i = 1; i < done; i++) {
		ns_t base = ns_backoff(i, NS_SEC(1), NS_SEC(16));

		/*
		 * If the server does not answer, each attempt itself takes CM_TRY_MS * (CM_RETRIES
		 * + 1).
		 */
		assert_in_range(at[i] - at[i - 1], base, base + base / 4 + NS_SEC(4));
	}
}

static void test_no_ServiceRecord(void **state)
{
	r.nrecs = 0;
	assert_backoff(SIDR_NO_SERVICE, "the SA has no ServiceRecord of the service");
	assert_int_equal(r.asked, 0);
}

static void test_no_ServiceRecord_in_this_partition(void **state)
{
	r.rec[0].pkey = RIG_PKEY + 1;
	start();
	sidr_rig_run(&r, NS_MSEC(500));
	assert_int_equal(got.why, SIDR_NO_SERVICE);
}

static void test_the_SA_refuses_the_ServiceRecord(void **state)
{
	r.service_status = SA_STATUS_DENIED;
	assert_backoff(SIDR_SA, "ServiceRecord: status 0x0700 (ERR_REQ_DENIED)");
}

static void test_no_path(void **state)
{
	r.path_status = SA_STATUS_NO_RECORDS;
	start();
	sidr_rig_run(&r, NS_MSEC(500));
	assert_int_equal(got.why, SIDR_PATH);
	assert_text("PathRecord of the SIDR server: status 0x0300 (ERR_NO_RECORDS)");
	r.path_status = 0;
	sidr_rig_run(&r, NS_SEC(20));
	assert_int_equal(got.why, SIDR_OK);
}

static void test_a_silent_server(void **state)
{
	cm_service_del(&r.service);
	assert_backoff(SIDR_SILENT, "SIDR: no answer from LID 2");
}

static void test_status_other_than_0(void **state)
{
	r.status = SIDR_STATUS_REJECTED;
	assert_backoff(SIDR_REFUSED,
		       "SIDR: Status 2 (rejected by the service provider), from LID 2");
	r.status = 0;
	sidr_rig_run(&r, NS_SEC(20));
	assert_int_equal(got.why, SIDR_OK);
	/* A correct answer must set the number of failures back to 0. */
	sidr_good(&ask);
	assert_int_equal(ask.rounds, 0);
}

static void test_P19_Ver_other_than_1(void **state)
{
	r.group.ver = 2;
	assert_backoff(SIDR_VERSION, "SIDR: Ver 2, expected 1, from LID 2");
	r.group.ver = 0;
	sidr_rig_run(&r, NS_SEC(20));
	assert_int_equal(got.why, SIDR_VERSION);
	assert_int_equal(got.status, 0);
}

static void test_values_that_are_no_group(void **state)
{
	r.group.dlid = 7;
	start();
	sidr_rig_run(&r, NS_MSEC(500));
	assert_int_equal(got.why, SIDR_BAD_GROUP);
	assert_text("SIDR: no group of the partition (DLID 0x0007, P_Key 0x8123), from LID 2");
	r.group.dlid = 0xc003;
	r.group.dgid.raw[0] = 0xfe;
	sidr_rig_run(&r, NS_SEC(3));
	assert_int_equal(got.why, SIDR_BAD_GROUP);
	r.group.dgid.raw[0] = 0xff;
	r.group.pkey = RIG_PKEY + 1;
	sidr_rig_run(&r, NS_SEC(6));
	assert_int_equal(got.why, SIDR_BAD_GROUP);
	r.group.pkey = RIG_PKEY & 0x7fff;
	sidr_rig_run(&r, NS_SEC(12));
	assert_int_equal(got.why, SIDR_OK);
}

static void test_ClientReregister_asks_anew(void **state)
{
	start();
	sidr_rig_run(&r, NS_SEC(1));
	r.group.dlid = 0xc009;
	sac_reregister(r.sac, r.net.now);
	assert_int_equal(done, 1);
	sidr_rig_run(&r, NS_SEC(1));
	assert_int_equal(done, 2);
	assert_int_equal(got.group.dlid, 0xc009);
	assert_int_equal(r.service_asks, 2);
	assert_int_equal(r.asked, 2);
}

static void test_ClientReregister_in_every_step(void **state)
{
	start();
	for (unsigned int i = 0; i < 40; i++) {
		sac_reregister(r.sac, r.net.now);
		sidr_rig_run(&r, NS_USEC(500) * i);
	}
	sidr_rig_run(&r, NS_SEC(1));
	assert_int_equal(got.why, SIDR_OK);
	assert_int_equal(ask.state, SIDR_STATE_DONE);
}

static void test_a_port_that_is_down_asks_nothing(void **state)
{
	sidr_rig_port(&r, false);
	start();
	sidr_rig_run(&r, NS_SEC(100));
	assert_int_equal(done, 0);
	assert_int_equal(ask.state, SIDR_STATE_WAIT_PORT);
	sidr_rig_port(&r, true);
	sidr_rig_run(&r, NS_SEC(1));
	assert_int_equal(got.why, SIDR_OK);
	/* The link goes down while a SIDR request is open. */
	sac_reregister(r.sac, r.net.now);
	sidr_rig_run(&r, NS_MSEC(3));
	sidr_rig_port(&r, false);
	sidr_rig_run(&r, NS_SEC(100));
	assert_int_equal(done, 1);
	sidr_rig_port(&r, true);
	sidr_rig_run(&r, NS_SEC(1));
	assert_int_equal(done, 2);
}

/* --- the order of several servers */

static ib_gid
	asked[SIDR_RIG_SERVICES]; /* GIDs of the servers in the order in which they were asked */

/*
 * The user's callback. The user accepts only the values that the server of the last record gives,
 * and rejects the values of all other servers.
 */
static void on_wrong(struct sidr_ask *a, const struct sidr_result *res, ns_t now)
{
	if (done < SIDR_RIG_SERVICES)
		asked[done] = a->server_gid;
	on_done(a, res, now);
	if (res->why != SIDR_OK)
		return;
	if (ib_gid_equal(&a->server_gid, &r.rec[r.nrecs - 1].gid))
		sidr_good(a);
	else
		sidr_again(a, now);
}

/*
 * Register @n servers. The SA gives a path to the GID of each one, but every path leads to the port
 * with LID 2.
 */
static void servers(unsigned int n)
{
	r.nrecs = n;
	for (unsigned int i = 1; i < n; i++) {
		r.rec[i] = r.rec[0];
		r.rec[i].gid = rig_gid(1000 + i);
	}
	ask.done = on_wrong;
}

static void assert_asked_once_each(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int k = 0; k < i; k++)
			assert_false(ib_gid_equal(&asked[i], &asked[k]));
}

static void test_the_first_attempt_goes_to_the_first_record_and_the_next_to_others(void **state)
{
	servers(3);
	cm_service_del(&r.service);
	start();
	sidr_rig_run(&r, NS_SEC(12));
	assert_int_equal(done, 3);
	assert_memory_equal(&asked[0], &r.rec[0].gid, 16);
	assert_asked_once_each(3);
}

/*
 * A SIDR_REQ has no GRH, so it cannot reach a port of another subnet. The client must not ask
 * servers whose GIDs have another subnet prefix. Otherwise one port could register any number of
 * such servers, and the client would ask each of them in vain.
 */
static void test_servers_of_other_subnets_are_not_asked(void **state)
{
	servers(3);
	r.rec[0].gid.raw[7] = r.rec[1].gid.raw[7] = 1;
	start();
	sidr_rig_run(&r, NS_SEC(1));
	assert_int_equal(done, 1);
	assert_memory_equal(&asked[0], &r.rec[2].gid, 16);
	assert_int_equal(ask.state, SIDR_STATE_DONE);
	r.rec[2].gid.raw[7] = 1;
	sac_reregister(r.sac, r.net.now);
	sidr_rig_run(&r, NS_SEC(1));
	assert_int_equal(done, 2);
	assert_int_equal(got.why, SIDR_NO_SERVICE);
}

static void test_one_right_server_of_512_is_found_in_one_round(void **state)
{
	servers(SIDR_RIG_SERVICES);
	start();
	/* The pause before the next server is 1 s, or up to a quarter more. */
	sidr_rig_run(&r, NS_SEC(SIDR_RIG_SERVICES) * 4 / 3);
	assert_memory_equal(&ask.server_gid, &r.rec[r.nrecs - 1].gid, 16);
	assert_int_equal(ask.state, SIDR_STATE_DONE);
	assert_in_range(done, 2, SIDR_RIG_SERVICES);
	assert_asked_once_each(done);
	/*
	 * After a ClientReregister, and after the link was down, the server whose values were right
	 * must be asked first.
	 */
	done = 0;
	sac_reregister(r.sac, r.net.now);
	sidr_rig_run(&r, NS_SEC(1));
	assert_int_equal(done, 1);
	assert_int_equal(ask.state, SIDR_STATE_DONE);
	sidr_stop(&ask);
	done = 0;
	start();
	sidr_rig_run(&r, NS_SEC(1));
	assert_int_equal(done, 1);
	assert_int_equal(ask.state, SIDR_STATE_DONE);
}

/*
 * The pause before the next server of a round is 1 s. The pauses between the rounds are 1, 2, 4, 8,
 * 16, 16 s. Each pause can be up to a quarter longer.
 */
static void test_the_backoff_grows_with_each_round_of_wrong_answers(void **state)
{
	static const unsigned int want[] = {
		1, 1, 1, 1, 1, 2, 1, 1, 4, 1, 1, 8, 1, 1, 16, 1, 1, 16
	};

	servers(4);
	r.rec[3].pkey = RIG_PKEY + 1; /* so the SA's answer lacks the right server */
	start();
	sidr_rig_run(&r, NS_SEC(100));
	assert_true(done > ARRAY_SIZE(want));
	for (unsigned int i = 0; i < ARRAY_SIZE(want); i++)
		assert_in_range(at[i + 1] - at[i], NS_SEC(want[i]),
				NS_SEC(want[i]) * 5 / 4 + NS_MSEC(100));
}

static void test_a_server_that_gave_right_values_before_is_asked_again_after_an_outage(void **state)
{
	servers(3);
	start();
	sidr_rig_run(&r, NS_SEC(10));
	assert_int_equal(ask.state, SIDR_STATE_DONE);
	/*
	 * The SA has no ServiceRecords for a moment. This must not count as a failure of the
	 * server.
	 */
	r.service_status = SA_STATUS_NO_RECORDS;
	sac_reregister(r.sac, r.net.now);
	sidr_rig_run(&r, NS_MSEC(500));
	r.service_status = 0;
	done = 0;
	sidr_rig_run(&r, NS_SEC(3));
	assert_int_equal(done, 1);
	assert_memory_equal(&asked[0], &r.rec[2].gid, 16);
	assert_int_equal(ask.state, SIDR_STATE_DONE);
}

static void test_values_that_are_good_after_all_end_the_question(void **state)
{
	start();
	sidr_rig_run(&r, NS_SEC(1));
	sidr_again(&ask, r.net.now);
	sidr_good(&ask);
	sidr_rig_run(&r, NS_SEC(100));
	assert_int_equal(done, 1);
	assert_int_equal(ask.state, SIDR_STATE_DONE);
}

static void test_again_waits_for_the_backoff(void **state)
{
	start();
	sidr_rig_run(&r, NS_SEC(1));
	for (unsigned int i = 0; i < 3; i++)
		sidr_again(&ask, r.net.now);
	sidr_rig_run(&r, NS_SEC(1) - 1);
	assert_int_equal(done, 1);
	sidr_rig_run(&r, NS_SEC(1));
	assert_int_equal(done, 2);
	assert_int_equal(got.why, SIDR_OK);
}

static unsigned int seed;

static bool lossy(struct rig *net, uint16_t to, uint8_t *mad)
{
	struct prng p;

	prng_seed(&p, seed * 1000003ull + net->n);
	return prng_chance(&p, 300000);
}

static void test_loss_does_not_keep_the_answer_away(void **state)
{
	r.net.filter = lossy;
	for (seed = 1; seed <= 50; seed++) {
		done = 0;
		sac_reregister(r.sac, r.net.now); /* the SA client forgets the path */
		start();
		sidr_rig_run(&r, NS_SEC(90));
		assert_true(done);
		assert_int_equal(got.why, SIDR_OK);
		assert_int_equal(ask.state, SIDR_STATE_DONE);
	}
}

static void test_stop_in_every_step_leaves_nothing(void **state)
{
	for (unsigned int i = 0; i < 30; i++) {
		unsigned int before;

		done = 0;
		sac_reregister(r.sac, r.net.now); /* the SA client forgets the path */
		start();
		sidr_rig_run(&r, NS_USEC(500) * i);
		before = done;
		sidr_stop(&ask);
		sidr_rig_run(&r, NS_SEC(5));
		assert_int_equal(done, before);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_P18_ServiceRecord_PathRecord_and_SIDR_REQ_in_this_order),
		T(test_no_path_in_the_partition_leads_to_the_default_P_Key),
		T(test_no_ServiceRecord),
		T(test_no_ServiceRecord_in_this_partition),
		T(test_the_SA_refuses_the_ServiceRecord),
		T(test_no_path),
		T(test_a_silent_server),
		T(test_status_other_than_0),
		T(test_P19_Ver_other_than_1),
		T(test_values_that_are_no_group),
		T(test_ClientReregister_asks_anew),
		T(test_ClientReregister_in_every_step),
		T(test_a_port_that_is_down_asks_nothing),
		T(test_the_first_attempt_goes_to_the_first_record_and_the_next_to_others),
		T(test_servers_of_other_subnets_are_not_asked),
		T(test_one_right_server_of_512_is_found_in_one_round),
		T(test_the_backoff_grows_with_each_round_of_wrong_answers),
		T(test_a_server_that_gave_right_values_before_is_asked_again_after_an_outage),
		T(test_values_that_are_good_after_all_end_the_question),
		T(test_again_waits_for_the_backoff),
		T(test_loss_does_not_keep_the_answer_away),
		T(test_stop_in_every_step_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

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
	assert_int_equal(r.from.sl, 3); /* the SL of the path */
	assert_int_equal(r.from.pkey, RIG_PKEY);
	assert_int_equal(r.from.qkey, IB_QP1_QKEY);
	assert_text("SIDR: group ff12:401b:8123::, from LID 2");
	/* Answered is answered. */
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

/* Each failure is followed by another attempt 1, 2, 4, 8, 16, 16 s later, and up to a quarter of that. */
static void assert_backoff(enum sidr_why why, const char *text)
{
	start();
	sidr_rig_run(&r, NS_SEC(120));
	assert_int_equal(got.why, why);
	assert_text(text);
	assert_in_range(done, 7, 12);
	for (unsigned int i = 1; i < done; i++) {
		ns_t base = ns_backoff(i, NS_SEC(1), NS_SEC(16));

		/* A silent server costs CM_TRY_MS * (CM_RETRIES + 1) more. */
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
	/* A success ends the row of failures. */
	assert_int_equal(ask.failures, 0);
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
	/* It goes down in the middle of a question. */
	sac_reregister(r.sac, r.net.now);
	sidr_rig_run(&r, NS_MSEC(3));
	sidr_rig_port(&r, false);
	sidr_rig_run(&r, NS_SEC(100));
	assert_int_equal(done, 1);
	sidr_rig_port(&r, true);
	sidr_rig_run(&r, NS_SEC(1));
	assert_int_equal(done, 2);
}

static void test_the_next_attempt_goes_to_another_server(void **state)
{
	/* There is a path to every GID here, but LID 2 is the only port. */
	for (unsigned int i = 1; i < 3; i++) {
		r.rec[i] = r.rec[0];
		r.rec[i].gid = rig_gid(10 + i);
	}
	r.nrecs = 3;
	cm_service_del(&r.service);
	start();
	sidr_rig_run(&r, NS_MSEC(100));
	assert_memory_equal(&ask.service.gid, &r.rec[0].gid, 16);
	sidr_rig_run(&r, NS_SEC(5));
	assert_memory_equal(&ask.service.gid, &r.rec[1].gid, 16);
	sidr_rig_run(&r, NS_SEC(6));
	assert_memory_equal(&ask.service.gid, &r.rec[2].gid, 16);
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
		sac_reregister(r.sac, r.net.now); /* forgets the path */
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
		sac_reregister(r.sac, r.net.now); /* forgets the path */
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
		T(test_the_next_attempt_goes_to_another_server),
		T(test_again_waits_for_the_backoff),
		T(test_loss_does_not_keep_the_answer_away),
		T(test_stop_in_every_step_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

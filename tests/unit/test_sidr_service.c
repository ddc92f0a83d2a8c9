/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Tests the ServiceRecords that a port registers, and whose leases the SA client renews
 * (sac/service.c).
 */

#include "check.h"
#include "sidr_rig.h"
#include "util/prng.h"

static struct sidr_rig r;
static struct sac_service *svc;

static int setup(void **state)
{
	sidr_rig_init(&r);
	svc = NULL;
	return 0;
}

static int teardown(void **state)
{
	sidr_rig_fini(&r);
	return 0;
}

static void add(void)
{
	assert_int_equal(
		sac_service_register(r.sac, RIG_SERVICE, RIG_PKEY, "IBARP", &svc, r.net.now), 0);
}

static void test_a_service_is_registered_with_the_GID_of_the_port(void **state)
{
	ib_gid gid = rig_gid(CLIENT_LID);

	add();
	assert_false(sac_service_registered(svc));
	sidr_rig_run(&r, NS_SEC(1));
	assert_true(sac_service_registered(svc));
	assert_int_equal(r.registers, 1);
	assert_int_equal(r.registered.id, RIG_SERVICE);
	assert_int_equal(r.registered.pkey, RIG_PKEY);
	assert_int_equal(r.registered.lease, SAC_SERVICE_LEASE);
	assert_memory_equal(&r.registered.gid, &gid, 16);
	assert_string_equal(r.registered.name, "IBARP");
}

static void test_the_lease_is_renewed_before_it_ends(void **state)
{
	add();
	sidr_rig_run(&r, NS_SEC(1));
	for (unsigned int i = 2; i < 20; i++) {
		sidr_rig_run(&r, NS_SEC(SAC_SERVICE_LEASE) / 2 + NS_SEC(1));
		assert_int_equal(r.registers, i);
	}
}

static void test_ClientReregister_registers_again(void **state)
{
	add();
	sidr_rig_run(&r, NS_SEC(1));
	sac_reregister(r.sac, r.net.now);
	assert_false(sac_service_registered(svc));
	sidr_rig_run(&r, NS_SEC(1));
	assert_true(sac_service_registered(svc));
	assert_int_equal(r.registers, 2);
}

static void test_a_refused_registration_is_repeated(void **state)
{
	r.service_status = SA_STATUS_NO_RESOURCES;
	add();
	sidr_rig_run(&r, NS_SEC(60));
	assert_in_range(r.registers, 5, 8);
	assert_false(sac_service_registered(svc));
	r.service_status = 0;
	sidr_rig_run(&r, NS_SEC(20));
	assert_true(sac_service_registered(svc));
}

static void test_a_port_that_comes_later_registers_then(void **state)
{
	sidr_rig_port(&r, false);
	add();
	sidr_rig_run(&r, NS_SEC(1000));
	assert_int_equal(r.registers, 0);
	sidr_rig_port(&r, true);
	sidr_rig_run(&r, NS_SEC(1));
	assert_int_equal(r.registers, 1);
	sidr_rig_port(&r, false);
	sidr_rig_run(&r, NS_SEC(1000));
	assert_int_equal(r.registers, 1);
}

static void test_a_service_that_ends_is_deleted(void **state)
{
	add();
	sidr_rig_run(&r, NS_SEC(1));
	sac_service_withdraw(svc, r.net.now);
	sidr_rig_run(&r, NS_SEC(1));
	assert_int_equal(r.deletes, 1);
	assert_true(sac_idle(r.sac));
	sidr_rig_run(&r, NS_SEC(1000));
	assert_int_equal(r.registers, 1);
	assert_int_equal(r.deletes, 1);
}

static void test_a_service_that_ends_before_it_was_registered(void **state)
{
	/* The Set has been sent and cannot be cancelled, so it must be followed by a Delete. */
	add();
	sac_service_withdraw(svc, r.net.now);
	sidr_rig_run(&r, NS_SEC(5));
	assert_int_equal(r.deletes, 1);
	/*
	 * The service ends while the port is down, before the client has sent anything. So the
	 * client must send nothing at all.
	 */
	sidr_rig_port(&r, false);
	add();
	sac_service_withdraw(svc, r.net.now);
	sidr_rig_port(&r, true);
	sidr_rig_run(&r, NS_SEC(5));
	assert_int_equal(r.deletes, 1);
	assert_int_equal(r.registers, 1);
	sac_service_withdraw(NULL, r.net.now);
}

/* lose() drops the next @to_lose MADs to the SA that have the method @lost_method. */
static uint8_t lost_method;
static unsigned int to_lose;

static bool lose(struct rig *net, uint16_t to, uint8_t *mad)
{
	bool hit = to == SERVER_LID && to_lose && mad_method(mad) == lost_method;

	to_lose -= hit;
	return hit;
}

static void lose_next(uint8_t method, unsigned int n)
{
	r.net.filter = lose;
	lost_method = method;
	to_lose = n;
}

/*
 * The service ends and begins again. The new Set must wait until the Delete has been answered or
 * given up, so that a repeated Delete cannot arrive after the Set.
 */
static void test_a_service_that_ends_and_begins_again_is_registered(void **state)
{
	add();
	sidr_rig_run(&r, NS_SEC(1));
	lose_next(MAD_METHOD_DELETE, 1);
	sac_service_withdraw(svc, r.net.now);
	add();
	sidr_rig_run(&r, NS_SEC(5));
	assert_true(r.has_record);
	assert_true(sac_service_registered(svc));
	assert_int_equal(r.deletes, 1);
	/*
	 * The lease in the SA's record has become shorter since the Set. So the component mask of
	 * the Delete must not contain the lease.
	 */
	assert_int_equal(r.delete_mask,
			 SERVICE_COMP_ID | SERVICE_COMP_GID | SERVICE_COMP_PKEY | SERVICE_COMP_KEY);
	assert_int_equal(r.registers, 2);
	/* The client must continue to renew the lease of the service. */
	sidr_rig_run(&r, NS_SEC(SAC_SERVICE_LEASE));
	assert_in_range(r.registers, 3, 4);
	assert_int_equal(r.deletes, 1);
}

/*
 * The service ends, begins and ends again while the Set is on its way. In the end there must be no
 * record.
 */
static void test_the_last_wish_wins(void **state)
{
	lose_next(MAD_METHOD_SET, 2);
	add();
	sac_service_withdraw(svc, r.net.now);
	add();
	sac_service_withdraw(svc, r.net.now);
	sidr_rig_run(&r, NS_SEC(5));
	assert_false(r.has_record);
	assert_int_equal(r.registers, 1);
	assert_int_equal(r.deletes, 1);
	assert_true(sac_idle(r.sac));
	/*
	 * The service ends and begins again while the Set is on its way. So the client must send no
	 * Delete.
	 */
	lose_next(MAD_METHOD_SET, 2);
	add();
	sac_service_withdraw(svc, r.net.now);
	add();
	sidr_rig_run(&r, NS_SEC(5));
	assert_true(r.has_record);
	assert_int_equal(r.deletes, 1);
}

static bool lossy(struct rig *net, uint16_t to, uint8_t *mad)
{
	struct prng p;

	prng_seed(&p, 77 + net->n);
	return prng_chance(&p, 300000);
}

static void test_the_last_wish_wins_under_loss(void **state)
{
	struct prng p;

	prng_seed(&p, 1);
	r.net.filter = lossy;
	svc = NULL;
	for (unsigned int i = 0; i < 200; i++) {
		for (unsigned int k = prng_below(&p, 4); k-- > 0;) {
			if (svc) {
				sac_service_withdraw(svc, r.net.now);
				svc = NULL;
			} else {
				add();
			}
			sidr_rig_run(&r, NS_MSEC(prng_below(&p, 600)));
		}
		sidr_rig_run(&r, NS_SEC(30));
		assert_int_equal(r.has_record, svc != NULL);
	}
}

static void test_two_registrations_of_one_service_are_refused(void **state)
{
	struct sac_service *other;

	add();
	assert_int_equal(
		sac_service_register(r.sac, RIG_SERVICE, RIG_PKEY, "IBARP", &other, r.net.now),
		-EEXIST);
	assert_int_equal(
		sac_service_register(r.sac, RIG_SERVICE, RIG_PKEY + 1, "IBARP", &other, r.net.now),
		0);
	sidr_rig_run(&r, NS_SEC(1));
	assert_int_equal(r.registers, 2);
}

/*
 * A Delete and all its SAC_RETRIES repetitions get lost. The client must then send a new Delete.
 * The first MAD of the new Delete gets lost, too.
 */
static void test_a_withdrawal_is_repeated(void **state)
{
	add();
	sidr_rig_run(&r, NS_SEC(1));
	lose_next(MAD_METHOD_DELETE, SAC_RETRIES + 2);
	sac_service_withdraw(svc, r.net.now);
	sidr_rig_run(&r, NS_SEC(10));
	assert_false(r.has_record);
	assert_int_equal(r.deletes, 1);
	/*
	 * The client stops trying when the lease has run out, because the SA then deletes the
	 * record by itself.
	 */
	add();
	sidr_rig_run(&r, NS_SEC(1));
	lose_next(MAD_METHOD_DELETE, 1000);
	sac_service_withdraw(svc, r.net.now);
	sidr_rig_run(&r, NS_SEC(100));
	assert_int_equal(1000 - to_lose, 3 * (SAC_RETRIES + 1));
}

static void test_a_withdrawal_survives_ClientReregister(void **state)
{
	add();
	sidr_rig_run(&r, NS_SEC(1));
	lose_next(MAD_METHOD_DELETE, 1);
	sac_service_withdraw(svc, r.net.now);
	sac_reregister(r.sac, r.net.now);
	sidr_rig_run(&r, NS_SEC(5));
	assert_false(r.has_record);
}

/*
 * Other ports must not be able to delete or change the record. So it has a ServiceKey, which they
 * do not know.
 */
static void test_the_record_has_a_ServiceKey(void **state)
{
	static const uint8_t none[16];
	uint8_t key[16];

	add();
	sidr_rig_run(&r, NS_SEC(1));
	memcpy(key, r.registered.key, sizeof(key));
	assert_memory_not_equal(key, none, sizeof(key));
	sac_service_withdraw(svc, r.net.now);
	sidr_rig_run(&r, NS_SEC(1));
	assert_memory_equal(r.deleted.key, key, sizeof(key));
	/* The ServiceKey depends on the secret of the SA client. */
	sidr_rig_fini(&r);
	sidr_rig_secret.k0++;
	sidr_rig_init(&r);
	add();
	sidr_rig_run(&r, NS_SEC(1));
	assert_memory_not_equal(r.registered.key, key, sizeof(key));
}

static unsigned int answers, nrecords;
static int status;
static struct ib_service_rec rec;

static void on_record(struct sac_service_query *q, const struct ib_service_rec *v)
{
	nrecords++;
	rec = *v;
}

static void on_answer(struct sac_service_query *q, int st, ns_t now)
{
	answers++;
	status = st;
}

static void test_records_that_are_no_answer_are_passed_over(void **state)
{
	struct sac_service_query q = {
		.id = RIG_SERVICE, .pkey = RIG_PKEY, .record = on_record, .done = on_answer
	};

	answers = nrecords = 0;
	r.nrecs = 3;
	r.rec[1] = r.rec[2] = r.rec[0];
	r.rec[0].gid = (ib_gid){ 0 };
	r.rec[1].gid.raw[0] = 0xff;
	assert_int_equal(sac_service_ask(r.sac, &q, r.net.now), 0);
	assert_int_equal(sac_service_ask(r.sac, &q, r.net.now), -EALREADY);
	sidr_rig_run(&r, NS_SEC(1));
	assert_int_equal(answers, 1);
	assert_int_equal(nrecords, 1);
	assert_int_equal(status, 0);
	assert_memory_equal(&rec.gid, &r.rec[2].gid, 16);
	r.nrecs = 2;
	assert_int_equal(sac_service_ask(r.sac, &q, r.net.now), 0);
	sidr_rig_run(&r, NS_SEC(1));
	assert_int_equal(status, SA_STATUS_NO_RECORDS);
	/* A ClientReregister ends an open query with an error. */
	assert_int_equal(sac_service_ask(r.sac, &q, r.net.now), 0);
	sac_reregister(r.sac, r.net.now);
	assert_int_equal(status, -ENETDOWN);
	/* If the SA client is destroyed, it must drop an open query without a call of q.done(). */
	assert_int_equal(sac_service_ask(r.sac, &q, r.net.now), 0);
	answers = 0;
	sidr_rig_fini(&r);
	assert_int_equal(answers, 0);
	sidr_rig_init(&r);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_a_service_is_registered_with_the_GID_of_the_port),
		T(test_the_lease_is_renewed_before_it_ends),
		T(test_ClientReregister_registers_again),
		T(test_a_refused_registration_is_repeated),
		T(test_a_port_that_comes_later_registers_then),
		T(test_a_service_that_ends_is_deleted),
		T(test_a_service_that_ends_before_it_was_registered),
		T(test_a_service_that_ends_and_begins_again_is_registered),
		T(test_the_last_wish_wins),
		T(test_the_last_wish_wins_under_loss),
		T(test_two_registrations_of_one_service_are_refused),
		T(test_a_withdrawal_is_repeated),
		T(test_a_withdrawal_survives_ClientReregister),
		T(test_the_record_has_a_ServiceKey),
		T(test_records_that_are_no_answer_are_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

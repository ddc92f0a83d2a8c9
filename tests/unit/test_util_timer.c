/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/timer.h"

#include "check.h"
#include "util/list.h"
#include "util/prng.h"

struct rec {
	struct timer t;
	struct timers *ts;
	int id;
	ns_t again;
};

static int fired[64];
static int nfired;

static void record(struct timer *t, ns_t now)
{
	struct rec *r = container_of(t, struct rec, t);

	assert_true(now >= t->deadline);
	fired[nfired++] = r->id;
	if (r->again) {
		timer_arm(r->ts, t, r->again);
		r->again = 0;
	}
}

static void count(struct timer *t, ns_t now)
{
	nfired++;
}

static void test_timer_equal_deadlines_in_insertion_order(void **state)
{
	struct timers ts;
	struct rec r[8];

	(void)state;
	timers_init(&ts);
	nfired = 0;
	for (int i = 0; i < 8; i++) {
		r[i] = (struct rec){ .id = i };
		timer_init(&r[i].t, record);
		timer_arm(&ts, &r[i].t, 100);
	}
	timer_arm(&ts, &r[0].t, 100); /* armed again, so it runs last */
	timer_cancel(&ts, &r[3].t);
	assert_int_equal(timers_next(&ts), 100);
	timers_run(&ts, 99);
	assert_int_equal(nfired, 0);
	timers_run(&ts, 100);
	assert_int_equal(nfired, 7);
	assert_int_equal(fired[0], 1);
	assert_int_equal(fired[2], 4);
	assert_int_equal(fired[6], 0);
	assert_true(timers_next(&ts) == NS_NEVER);
	timers_fini(&ts);
}

static void test_timer_rearm_from_callback(void **state)
{
	struct timers ts;
	struct rec r = { .id = 1, .again = 20 };

	(void)state;
	timers_init(&ts);
	nfired = 0;
	timer_init(&r.t, record);
	r.ts = &ts;
	timer_arm(&ts, &r.t, 10);
	assert_true(timers_run(&ts, 30));
	assert_int_equal(nfired, 1);
	assert_true(timer_armed(&r.t));
	assert_false(timers_run(&ts, 30));
	assert_int_equal(nfired, 2);
	assert_false(timer_armed(&r.t));
	timers_fini(&ts);
}

/*
 * Two timers arm themselves again and again for a time in the past. A run of the timers must end
 * nevertheless, and other timers must run, too.
 */
static void test_timers_that_rearm_themselves_do_not_starve_others(void **state)
{
	struct timers ts;
	struct rec r[3];

	(void)state;
	timers_init(&ts);
	nfired = 0;
	for (int i = 0; i < 3; i++) {
		r[i] = (struct rec){ .ts = &ts, .id = i, .again = i < 2 ? 1 : 0 };
		timer_init(&r[i].t, record);
		timer_arm(&ts, &r[i].t, (ns_t)i + 10);
	}
	for (int run = 0; run < 4; run++) {
		assert_int_equal(nfired, run ? 1 + 2 * run : 0);
		assert_true(timers_run(&ts, 100));
		r[0].again = r[1].again = 1;
	}
	assert_int_equal(fired[2], 2);
	for (int i = 3; i < nfired; i++)
		assert_int_equal(fired[i], (i - 3) % 2);
	timers_fini(&ts);
}

static void test_one_run_has_a_budget(void **state)
{
	static struct timer many[2 * TIMERS_RUN_MAX + 1];
	struct timers ts;

	(void)state;
	timers_init(&ts);
	nfired = 0;
	for (unsigned int i = 0; i < ARRAY_SIZE(many); i++) {
		timer_init(&many[i], count);
		timer_arm(&ts, &many[i], 5);
	}
	assert_true(timers_run(&ts, 5));
	assert_int_equal(nfired, TIMERS_RUN_MAX);
	assert_int_equal(timers_next(&ts), 5);
	assert_true(timers_run(&ts, 5));
	assert_false(timers_run(&ts, 5));
	assert_int_equal(nfired, ARRAY_SIZE(many));
	timers_fini(&ts);
}

static void test_timer_heap_order_random(void **state)
{
	struct timers ts;
	struct rec r[64];
	struct prng rng;
	ns_t last = 0;

	(void)state;
	timers_init(&ts);
	prng_seed(&rng, 7);
	for (int i = 0; i < 64; i++) {
		r[i] = (struct rec){ .id = i };
		timer_init(&r[i].t, record);
		timer_arm(&ts, &r[i].t, 1 + prng_below(&rng, 50));
	}
	for (int i = 0; i < 64; i += 3)
		timer_cancel(&ts, &r[i].t);
	nfired = 0;
	timers_run(&ts, 1000);
	assert_int_equal(nfired, 42);
	for (int i = 0; i < nfired; i++) {
		assert_true(r[fired[i]].t.deadline >= last);
		last = r[fired[i]].t.deadline;
	}
	timers_fini(&ts);
}

static void test_backoff_doubles_up_to_its_maximum(void **state)
{
	static const ns_t want[] = { 1, 2, 4, 8, 16, 16, 16 };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(want); i++)
		assert_int_equal(ns_backoff(i + 1, NS_SEC(1), NS_SEC(16)), NS_SEC(want[i]));
	assert_int_equal(ns_backoff(3, NS_SEC(1), NS_SEC(3)), NS_SEC(3));
	assert_int_equal(ns_backoff(UINT32_MAX, NS_SEC(1), NS_SEC(16)), NS_SEC(16));
	assert_int_equal(ns_backoff(0, NS_SEC(1), NS_SEC(16)), NS_SEC(1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timer_equal_deadlines_in_insertion_order),
		cmocka_unit_test(test_timer_rearm_from_callback),
		cmocka_unit_test(test_timers_that_rearm_themselves_do_not_starve_others),
		cmocka_unit_test(test_one_run_has_a_budget),
		cmocka_unit_test(test_backoff_doubles_up_to_its_maximum),
		cmocka_unit_test(test_timer_heap_order_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

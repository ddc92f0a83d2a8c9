/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include "util/pace.h"

#define EVERY NS_SEC(1)
#define BURST 3

static void test_who_keeps_the_pace_is_never_held_up(void **state)
{
	struct pace a = { 0 }, b = { 0 };

	(void)state;
	for (ns_t now = NS_SEC(5); now < NS_SEC(500); now += EVERY) {
		assert_true(pace_take(&a, 1, EVERY, now));
		assert_true(pace_promise(&b, 1, EVERY, now) == now);
	}
}

static void test_a_burst_then_one_each_interval(void **state)
{
	struct pace p = { 0 };
	unsigned int n = 0;

	(void)state;
	for (ns_t now = NS_SEC(5); now < NS_SEC(15); now += NS_MSEC(1))
		n += pace_take(&p, BURST, EVERY, now);
	assert_in_range(n, BURST + 9, BURST + 10);
	/* After a quiet time the pacer must allow another burst. */
	n = 0;
	for (ns_t now = NS_SEC(100); now < NS_SEC(100) + NS_MSEC(10); now += NS_MSEC(1))
		n += pace_take(&p, BURST, EVERY, now);
	assert_int_equal(n, BURST);
}

static void test_a_promise_is_kept_and_never_far_away(void **state)
{
	struct pace p = { 0 };
	ns_t promised = 0, kept = 0;
	unsigned int n = 0;

	(void)state;
	for (ns_t now = NS_SEC(5); now < NS_SEC(15); now += NS_MSEC(1)) {
		ns_t at = pace_promise(&p, BURST, EVERY, now);

		assert_true(at >= now && at <= now + EVERY);
		if (at == promised)
			continue;
		/*
		 * The pacer has said that a request may be sent at the time in "promised". Before
		 * this time has come, the pacer must not name a later time, because a request would
		 * then be delayed twice.
		 */
		assert_true(promised <= now);
		kept = promised = at;
		n++;
	}
	assert_in_range(n, BURST + 9, BURST + 11);
	assert_true(kept >= NS_SEC(14));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_keeps_the_pace_is_never_held_up),
		cmocka_unit_test(test_a_burst_then_one_each_interval),
		cmocka_unit_test(test_a_promise_is_kept_and_never_far_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

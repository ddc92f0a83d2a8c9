/* SPDX-License-Identifier: BSD-2-Clause */
#include <limits.h>

#include "check.h"
#include "os/clock.h"

static void test_a_poll_without_a_deadline_has_no_limit(void **state)
{
	assert_int_equal(clock_poll_ms(NS_NEVER), -1);
}

static void test_a_poll_whose_deadline_has_passed_does_not_wait(void **state)
{
	assert_int_equal(clock_poll_ms(0), 0);
	assert_int_equal(clock_poll_ms(clock_now()), 0);
}

/*
 * clock_poll_ms() must round up. Otherwise poll() would end before the deadline, and the caller
 * would repeat it many times in the last millisecond.
 */
static void test_a_poll_does_not_end_before_its_deadline(void **state)
{
	ns_t deadline;
	int ms;

	do {
		deadline = clock_now() + NS_MSEC(100);
		ms = clock_poll_ms(deadline);
	} while (clock_now() >= deadline); /* again, if the process did not run for 100 ms */
	assert_in_range(ms, 1, 100);
	assert_true(clock_now() + NS_MSEC(ms) >= deadline);
}

static void test_a_poll_whose_deadline_is_years_away_waits(void **state)
{
	assert_int_equal(clock_poll_ms(NS_NEVER - 1), INT_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_poll_without_a_deadline_has_no_limit),
		cmocka_unit_test(test_a_poll_whose_deadline_has_passed_does_not_wait),
		cmocka_unit_test(test_a_poll_does_not_end_before_its_deadline),
		cmocka_unit_test(test_a_poll_whose_deadline_is_years_away_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

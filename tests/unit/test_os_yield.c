/* SPDX-License-Identifier: BSD-2-Clause */
#include "os/yield.h"

#include "check.h"

static void test_yields_after_each_64_datagrams(void **state)
{
	struct yield y = { 0 };
	unsigned int yields = 0;
	ns_t now = NS_SEC(5);

	for (unsigned int i = 0; i < 640; i++) {
		bool due = yield_wrote(&y, 1, now);

		assert_int_equal(due, i % YIELD_DATAGRAMS == YIELD_DATAGRAMS - 1);
		if (due)
			yield_took(&y, NS_USEC(50), now += NS_USEC(50));
		yields += due;
	}
	assert_int_equal(yields, 10);
	assert_true(yield_wrote(&y, 100, now));
	assert_false(yield_wrote(&y, YIELD_DATAGRAMS - 1, now));
	assert_false(yield_wrote(&y, 0, now));
}

/* Another program that needs the CPU for long slices must not get a slice after each 64 datagrams. */
static void test_pauses_after_a_long_yield(void **state)
{
	struct yield y = { 0 };
	ns_t now = NS_SEC(5), took = NS_MSEC(3), away = 0;

	for (ns_t end = now + NS_SEC(1); now < end; now += NS_USEC(60)) {
		if (!yield_wrote(&y, YIELD_DATAGRAMS, now))
			continue;
		away += took;
		yield_took(&y, took, now += took);
	}
	assert_in_range(away, NS_SEC(1) / (YIELD_PAUSE + 2), NS_SEC(1) / YIELD_PAUSE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_yields_after_each_64_datagrams),
		cmocka_unit_test(test_pauses_after_a_long_yield),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

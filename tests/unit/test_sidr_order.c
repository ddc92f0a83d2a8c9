/* SPDX-License-Identifier: BSD-2-Clause */
#include "sidr/order.h"

#include "check.h"

#define SERVERS 512

static struct sidr_order o;
static bool seen[SERVERS];

static ib_gid gid(unsigned int n)
{
	return ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, 0x0002c90300000000ull + n);
}

/*
 * Offer the servers @from to @to - 1 to the code under test. Returns the number of the server that
 * it chooses.
 */
static unsigned int choose(unsigned int from, unsigned int to, bool *ret_last)
{
	ib_gid g;

	for (unsigned int i = from; i < to; i++) {
		g = gid(i);
		sidr_order_offer(&o, &g);
	}
	*ret_last = sidr_order_choose(&o, &g);
	return (unsigned int)(ib_gid_guid(&g) - 0x0002c90300000000ull);
}

static void test_each_server_is_chosen_once_a_round(void **state)
{
	for (unsigned int n = 1; n <= SERVERS; n = n * 2 + 1) {
		sidr_order_init(&o, n, 1);
		for (unsigned int round = 0; round < 3; round++) {
			memset(seen, 0, sizeof(seen));
			for (unsigned int i = 0; i < n; i++) {
				bool last;
				unsigned int k = choose(0, n, &last);

				assert_false(seen[k]);
				seen[k] = true;
				assert_int_equal(last, i == n - 1);
				sidr_order_failed(&o);
				if (!round && !i)
					assert_int_equal(k, 0); /* the SA's first record */
			}
		}
	}
}

static void test_the_order_does_not_depend_on_that_of_the_records(void **state)
{
	unsigned int forth[8], k;
	bool last;

	sidr_order_init(&o, 5, 6);
	for (unsigned int i = 0; i < 8; i++) {
		forth[i] = choose(0, 8, &last);
		sidr_order_failed(&o);
	}
	for (unsigned int i = 0; i < 8; i++) {
		for (unsigned int j = 8; j-- > 0;) {
			ib_gid g = gid(j);

			sidr_order_offer(&o, &g);
		}
		k = choose(0, 0, &last);
		assert_int_equal(k, forth[i]);
		assert_int_equal(last, i == 7);
		sidr_order_failed(&o);
	}
}

static void test_a_round_begins_with_the_server_whose_values_were_right(void **state)
{
	unsigned int k;
	bool last;

	sidr_order_init(&o, 7, 8);
	choose(0, 20, &last);
	sidr_order_failed(&o);
	k = choose(0, 20, &last);
	sidr_order_answered(&o);
	sidr_order_good(&o);
	sidr_order_restart(&o);
	assert_int_equal(choose(0, 20, &last), k);
	/*
	 * Server k answers, but before it is known that its values are right, another server is
	 * chosen. When the values of server k turn out to be right, the next round must begin with
	 * server k.
	 */
	sidr_order_answered(&o);
	sidr_order_failed(&o);
	assert_true(choose(0, 20, &last) != k);
	sidr_order_good(&o);
	sidr_order_restart(&o);
	assert_int_equal(choose(0, 20, &last), k);
	/* When server k has failed, all other servers must be asked before it is asked again. */
	for (unsigned int i = 0; i < 19; i++) {
		sidr_order_failed(&o);
		assert_true(choose(0, 20, &last) != k);
	}
	assert_true(last);
	/* From now on, there is no record of server k. */
	sidr_order_good(&o);
	sidr_order_restart(&o);
	for (unsigned int i = 0; i < 20; i++) {
		if (i != k) {
			ib_gid g = gid(i);

			sidr_order_offer(&o, &g);
		}
	}
	assert_true(choose(0, 0, &last) != k);
}

static void test_records_that_come_and_go_do_not_end_a_round_early_or_late(void **state)
{
	bool last;

	sidr_order_init(&o, 9, 10);
	choose(0, 3, &last);
	assert_false(last);
	sidr_order_failed(&o);
	/*
	 * The records of all other servers are gone. So server 0 must be chosen again, as the only
	 * and last server of its round.
	 */
	assert_int_equal(choose(0, 1, &last), 0);
	assert_true(last);
	sidr_order_failed(&o);
	/* Server 1 has registered. It must be chosen next, as the last server of this round. */
	assert_int_equal(choose(0, 2, &last), 1);
	assert_true(last);
	sidr_order_failed(&o);
	assert_int_equal(choose(0, 2, &last), 0);
	assert_false(last);
}

/*
 * A foreign port replaces all its records by new ones after each attempt, so that there is always a
 * server that was not asked yet. Nevertheless the right server must get its turn.
 */
static void test_new_records_all_the_time_do_not_hold_up_the_turn(void **state)
{
	sidr_order_init(&o, 11, 12);
	for (unsigned int i = 0; i < 20 * SERVERS; i++) {
		ib_gid g = gid(0);
		unsigned int from = 1 + i * (SERVERS - 1);
		bool last;

		if (i) /* in later rounds another record comes before the right one */
			sidr_order_offer(&o, &g);
		if (!choose(from, from + SERVERS - 1, &last))
			return;
		sidr_order_failed(&o);
	}
	fail();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_server_is_chosen_once_a_round),
		cmocka_unit_test(test_the_order_does_not_depend_on_that_of_the_records),
		cmocka_unit_test(test_a_round_begins_with_the_server_whose_values_were_right),
		cmocka_unit_test(test_records_that_come_and_go_do_not_end_a_round_early_or_late),
		cmocka_unit_test(test_new_records_all_the_time_do_not_hold_up_the_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */

/* The sweep of a link's table of neighbours, on virtual time. */

#include "check.h"
#include "ipoib_rig.h"

static struct ipoib_rig r;

/* Fills the table of a link, whose largest number of neighbours is @n. */
static void fill(unsigned int n)
{
	struct ipoib_link_cfg cfg = { .max_neighs = n };
	struct ipoib_link_info i;

	rig_init_cfg(&r, &cfg, 1);
	rig_up(&r);
	for (unsigned int k = 0; k < n; k++)
		rig_neigh(&r, 100 + k, 0x77);
	ipoib_link_info(r.link, &i);
	assert_int_equal(i.neighs, n);
	assert_int_equal(i.max_neighs, n);
}

/* The number of a peer, for rig_neigh(), whose slot in the table that fill() makes is in the @step-th step of a sweep */
static unsigned int peer_in_step(unsigned int step)
{
	return 100 + step * IPOIB_SWEEP_STEP + 7;
}

static unsigned int neighbours(void)
{
	struct ipoib_link_info i;

	ipoib_link_info(r.link, &i);
	return i.neighs;
}

static void next_timer(void)
{
	r.s.now = timers_next(&r.s.timers);
	timers_run(&r.s.timers, r.s.now);
	rig_drain(&r);
}

/*
 * A large table is swept in steps, so that packets never wait for more than a step. A step removes a limited number of idle
 * neighbours, and in the end all of them are removed.
 */
static void check_steps(unsigned int n)
{
	ns_t last = NS_SEC(1) + IPOIB_NEIGH_IDLE +
		    (IPOIB_SWEEP_STEP / IPOIB_SWEEP_REMOVE + 2) * IPOIB_SWEEP;
	unsigned int left;

	fill(n);
	while ((left = neighbours())) {
		next_timer();
		assert_in_range(left - neighbours(), 0, IPOIB_SWEEP_REMOVE);
	}
	assert_in_range(r.s.now, IPOIB_NEIGH_IDLE, last);
	rig_fini(&r);
}

static void test_large_table_is_swept_in_steps(void **state)
{
	static const unsigned int n[] = { 1, IPOIB_SWEEP_STEP, IPOIB_SWEEP_STEP + 1,
					  3 * IPOIB_SWEEP_STEP + 1, IPOIB_NEIGH_DEFAULT };

	for (size_t k = 0; k < ARRAY_SIZE(n); k++)
		check_steps(n[k]);
}

/* The steps of a sweep are spread evenly over IPOIB_SWEEP. */
static void test_steps_of_a_sweep_are_spread(void **state)
{
	enum { STEPS = 4 };
	ns_t at[2 * STEPS];

	fill(STEPS * IPOIB_SWEEP_STEP);
	for (unsigned int k = 0; k < 2 * STEPS; k++) {
		unsigned int before = neighbours();

		while (neighbours() == before)
			next_timer();
		at[k] = r.s.now;
		assert_int_equal(before - neighbours(), IPOIB_SWEEP_REMOVE);
	}
	for (unsigned int k = 1; k < 2 * STEPS; k++)
		assert_in_range(at[k] - at[k - 1], IPOIB_SWEEP / STEPS - NS_MSEC(1),
				IPOIB_SWEEP / STEPS + NS_MSEC(1));
	rig_fini(&r);
}

/* A neighbour is idle only if a whole sweep has passed without a packet, wherever in the table it is. */
static void test_sweep_in_steps_spares_what_is_used(void **state)
{
	enum { N = 3 * IPOIB_SWEEP_STEP };
	static struct ipoib_neigh *kept[3];

	fill(N);
	for (unsigned int k = 0; k < 3; k++)
		kept[k] = rig_neigh(&r, peer_in_step(k), 0x77);
	while (neighbours() > 3) {
		for (unsigned int k = 0; k < 3; k++)
			assert_ptr_equal(rig_neigh(&r, peer_in_step(k), 0x77), kept[k]);
		rig_run(&r, IPOIB_SWEEP);
	}
	rig_fini(&r);
}

/* A path expires, whichever step of the sweep its neighbour is in. */
static void test_path_expires_in_each_step(void **state)
{
	static struct ipoib_neigh *n[3];
	ns_t expired;

	fill(2 * IPOIB_SWEEP_STEP + 8);
	for (unsigned int k = 0; k < 3; k++) {
		rig_peer(&r, peer_in_step(k));
		n[k] = rig_neigh(&r, peer_in_step(k), 0x77);
		rig_tx_neigh(&r, n[k], 1);
	}
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nsent, 3);
	for (expired = r.s.now + SAC_PATH_TTL + IPOIB_SWEEP; r.s.now < expired;) {
		rig_run(&r, IPOIB_SWEEP);
		for (unsigned int k = 0; k < 3; k++)
			rig_neigh(&r, peer_in_step(k), 0x77);
	}
	assert_int_equal(r.s.sa.path_asks, 3);
	for (unsigned int k = 0; k < 3; k++)
		assert_int_equal(rig_tx_neigh(&r, n[k], 2), IPOIB_SEND);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.s.sa.path_asks, 6);
	assert_int_equal(ipoib_link_stats(r.link)->paths_refreshed, 3);
	rig_fini(&r);
}

/* A link that is set down in the middle of a sweep begins a new one when it is up again. */
static void test_sweep_begins_anew_after_the_link_was_down(void **state)
{
	fill(3 * IPOIB_SWEEP_STEP);
	rig_run(&r, IPOIB_NEIGH_IDLE + IPOIB_SWEEP / 2);
	ipoib_link_set_admin(r.link, false, r.s.now);
	rig_run(&r, IPOIB_NEIGH_IDLE);
	assert_int_equal(neighbours(), 3 * IPOIB_SWEEP_STEP);
	ipoib_link_set_admin(r.link, true, r.s.now);
	rig_run(&r, IPOIB_SWEEP + IPOIB_SWEEP / 4);
	assert_int_equal(neighbours(), 3 * IPOIB_SWEEP_STEP - IPOIB_SWEEP_REMOVE);
	rig_fini(&r);
}

static void test_more_neighbours_than_the_limit_are_refused(void **state)
{
	struct ipoib_link_cfg cfg = { .pkey = RIG_PKEY, .max_neighs = IPOIB_NEIGH_LIMIT + 1 };
	struct ipoib_link *l;

	assert_int_equal(ipoib_link_create(&l, &cfg), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_large_table_is_swept_in_steps),
		cmocka_unit_test(test_steps_of_a_sweep_are_spread),
		cmocka_unit_test(test_sweep_in_steps_spares_what_is_used),
		cmocka_unit_test(test_path_expires_in_each_step),
		cmocka_unit_test(test_sweep_begins_anew_after_the_link_was_down),
		cmocka_unit_test(test_more_neighbours_than_the_limit_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

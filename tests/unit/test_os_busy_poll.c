/* SPDX-License-Identifier: BSD-2-Clause */
#include "os/busy_poll.h"

#include "check.h"

static struct busy_poll b;
static ns_t now;

static int setup(void **state)
{
	b = (struct busy_poll){ 0 };
	now = NS_SEC(5);
	return 0;
}

/*
 * Tell the code under test that a wait of @d has ended with @frames frames. The first @answers of
 * them were answers.
 */
static void waited(ns_t d, unsigned int frames, unsigned int answers)
{
	for (unsigned int i = 0; i < frames; i++)
		busy_poll_frame(&b, i < answers);
	busy_poll_waited(&b, d);
}

static void begin_polling(void)
{
	for (unsigned int i = 0; i < BUSY_POLL_QUICK; i++)
		waited(NS_USEC(20), 1, 1);
	assert_int_equal(busy_poll_time(&b, now), BUSY_POLL_TIME);
}

static void test_polls_after_eight_quick_answers(void **state)
{
	for (unsigned int i = 0; i < BUSY_POLL_QUICK; i++) {
		assert_int_equal(busy_poll_time(&b, now), 0);
		waited(BUSY_POLL_TIME - 1, 1 + i % BUSY_POLL_FRAMES, 1 + i % BUSY_POLL_FRAMES);
	}
	assert_int_equal(busy_poll_time(&b, now), BUSY_POLL_TIME);
}

/*
 * Busy polling begins after BUSY_POLL_QUICK short waits in a row. Each of the waits in other[] must
 * break such a row. During busy polling, each of them must end busy polling.
 */
static void test_other_waits_end_it(void **state)
{
	static const struct {
		ns_t d;
		unsigned int frames, answers;
	} other[] = {
		{ BUSY_POLL_TIME, 1, 1 }, /* the wait was too long */
		{ NS_USEC(20), 1, 0 }, /* data in one direction get no answers */
		{ NS_USEC(20), 2, 1 },
		{ NS_USEC(20), BUSY_POLL_FRAMES + 1, BUSY_POLL_FRAMES + 1 }, /* a bulk transfer */
	};

	for (unsigned int k = 0; k < sizeof(other) / sizeof(other[0]); k++) {
		setup(NULL);
		for (unsigned int i = 1; i < BUSY_POLL_QUICK; i++)
			waited(NS_USEC(20), 1, 1);
		waited(other[k].d, other[k].frames, other[k].answers);
		waited(NS_USEC(20), 1, 1);
		assert_int_equal(busy_poll_time(&b, now), 0);
		setup(NULL);
		begin_polling();
		waited(other[k].d, other[k].frames, other[k].answers);
		assert_int_equal(busy_poll_time(&b, now), 0);
		begin_polling();
	}
}

static void test_waits_without_frames_change_nothing(void **state)
{
	begin_polling();
	waited(NS_SEC(1), 0, 0);
	waited(0, 0, 0);
	assert_int_equal(busy_poll_time(&b, now), BUSY_POLL_TIME);
}

static void test_two_misses_end_it(void **state)
{
	begin_polling();
	busy_poll_missed(&b);
	assert_int_equal(busy_poll_time(&b, now), BUSY_POLL_TIME / 2);
	busy_poll_missed(&b);
	assert_int_equal(busy_poll_time(&b, now), 0);
	begin_polling();
	/*
	 * An answer between two misses resets the count of misses, so the next miss must count as
	 * the first one.
	 */
	busy_poll_missed(&b);
	waited(NS_USEC(20), 1, 1);
	assert_int_equal(busy_poll_time(&b, now), BUSY_POLL_TIME);
	busy_poll_missed(&b);
	assert_int_equal(busy_poll_time(&b, now), BUSY_POLL_TIME / 2);
}

/*
 * Let the process yield the CPU and get it back after @took. @ready: a file descriptor is ready
 * then. Returns the time for which busy polling is off afterwards.
 */
static ns_t off_after(ns_t took, bool ready)
{
	ns_t d = 0;

	busy_poll_yielded(&b, took, ready, now);
	while (!busy_poll_time(&b, now + d))
		d += NS_USEC(100);
	now += d;
	return d;
}

static void test_who_needs_the_cpu_ends_it_for_longer_and_longer(void **state)
{
	ns_t want = BUSY_POLL_OFF_MIN;

	begin_polling();
	assert_int_equal(off_after(BUSY_POLL_YIELD, false), 0);
	for (unsigned int i = 0; i < 8; i++) {
		assert_int_equal(
			off_after(i % 2 ? BUSY_POLL_YIELD + 1 : BUSY_POLL_TIME + 1, !(i % 2)),
			want);
		want = want * 2 < BUSY_POLL_OFF_MAX ? want * 2 : BUSY_POLL_OFF_MAX;
	}
	for (unsigned int i = 0; i < BUSY_POLL_QUICK; i++)
		busy_poll_hit(&b);
	assert_int_equal(off_after(BUSY_POLL_YIELD + 1, false), BUSY_POLL_OFF_MIN);
}

static void test_programs_on_this_cpu_end_it(void **state)
{
	begin_polling();
	/*
	 * Two programs share this CPU. One long wait for the CPU must not end busy polling, but
	 * BUSY_POLL_LATE of them in a row must.
	 */
	for (unsigned int i = 0; i < 3 * BUSY_POLL_LATE; i++) {
		assert_int_equal(off_after(BUSY_POLL_TIME, true), 0);
		assert_int_equal(off_after(BUSY_POLL_YIELD, true), 0);
	}
	for (unsigned int i = 1; i < BUSY_POLL_LATE; i++)
		assert_int_equal(off_after(BUSY_POLL_TIME, true), 0);
	assert_int_equal(off_after(BUSY_POLL_TIME, true), BUSY_POLL_OFF_MIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_polls_after_eight_quick_answers, setup),
		cmocka_unit_test_setup(test_other_waits_end_it, setup),
		cmocka_unit_test_setup(test_waits_without_frames_change_nothing, setup),
		cmocka_unit_test_setup(test_two_misses_end_it, setup),
		cmocka_unit_test_setup(test_programs_on_this_cpu_end_it, setup),
		cmocka_unit_test_setup(test_who_needs_the_cpu_ends_it_for_longer_and_longer, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

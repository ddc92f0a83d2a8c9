/* SPDX-License-Identifier: BSD-2-Clause */
#include "helper/follow_ask.h"

#include <errno.h>

#include "check.h"

/*
 * Act as the helper from @now on: give @gen, the number of a namespace, as the answer to each
 * question of @f. End when the next question is due at @until or later. Returns the number of
 * questions.
 */
static unsigned int ask_until(struct follow *f, ns_t now, ns_t until, int gen)
{
	unsigned int n = 0;

	while (follow_next(f) < until) {
		now = ns_max(now, follow_next(f));
		follow_asked(f);
		follow_answered(f, gen, now);
		n++;
	}
	return n;
}

static void test_follow_asks_every_ten_seconds_without_an_event(void **state)
{
	struct follow f;

	(void)state;
	follow_init(&f, NS_SEC(1));
	assert_int_equal(follow_next(&f), NS_SEC(11));
	follow_event(&f);
	assert_true(follow_next(&f) <= NS_SEC(1));
	follow_asked(&f);
	assert_int_equal(follow_answered(&f, 1, NS_SEC(2)), 0);
	assert_int_equal(follow_next(&f), NS_SEC(12));
	assert_int_equal(ask_until(&f, NS_SEC(2), NS_SEC(60), 1), 5);
	follow_asked(&f);
	assert_int_equal(follow_answered(&f, 0, NS_SEC(60)), FOLLOW_LOST);
}

static void test_follow_has_one_question_at_a_time(void **state)
{
	struct follow f;

	(void)state;
	follow_init(&f, 0);
	follow_event(&f);
	follow_asked(&f);
	follow_event(&f);
	assert_true(follow_next(&f) == NS_NEVER);
	/*
	 * An event came after the question was sent, so the answer may be older than the event. So
	 * the question must be asked again.
	 */
	assert_int_equal(follow_answered(&f, 1, NS_SEC(1)), 0);
	assert_in_range(follow_next(&f), NS_SEC(1), NS_SEC(2));
}

static void test_follow_namespace_is_lost_and_comes(void **state)
{
	struct follow f;

	(void)state;
	follow_init(&f, 0);
	follow_event(&f);
	follow_asked(&f);
	assert_int_equal(follow_answered(&f, 0, NS_SEC(1)), FOLLOW_LOST);
	assert_false(f.present);
	/*
	 * `ip netns add` makes a file, and later mounts the namespace on this file. The mount
	 * raises no inotify event, so the question must be repeated without an event.
	 */
	follow_asked(&f);
	assert_int_equal(follow_answered(&f, 0, NS_SEC(2)), 0);
	assert_in_range(follow_next(&f), NS_SEC(2), NS_SEC(3));
	follow_asked(&f);
	assert_int_equal(follow_answered(&f, 2, NS_SEC(3)), FOLLOW_CAME);
	assert_true(f.present);
	assert_int_equal(f.gen, 2);
	assert_int_equal(follow_next(&f), NS_SEC(13));
}

/*
 * The namespace is replaced. The first answer is that the namespace is gone, so the daemon closes
 * the files of the old namespace. Only the answer to a second question brings the files of the new
 * namespace.
 */
static void test_follow_namespace_is_replaced_between_two_questions(void **state)
{
	struct follow f;

	(void)state;
	follow_init(&f, 0);
	follow_event(&f);
	assert_int_equal(follow_asked(&f), 1);
	assert_int_equal(follow_answered(&f, 0, NS_SEC(1)), FOLLOW_LOST);
	assert_false(f.present);
	/* the second question is sent soon, not only after the regular interval */
	assert_in_range(follow_next(&f), NS_SEC(1), NS_MSEC(1500));
	assert_int_equal(follow_asked(&f), 0);
	assert_int_equal(follow_answered(&f, 2, NS_SEC(2)), FOLLOW_CAME);
	assert_true(f.present);
	follow_event(&f);
	assert_int_equal(follow_asked(&f), 2);
}

static void test_follow_asks_again_when_the_helper_cannot_tell(void **state)
{
	struct follow f;

	(void)state;
	follow_init(&f, 0);
	follow_event(&f);
	follow_asked(&f);
	assert_int_equal(follow_answered(&f, -EMFILE, NS_SEC(1)), 0);
	assert_true(f.present);
	assert_in_range(follow_next(&f), NS_SEC(2), NS_SEC(2));
	follow_asked(&f);
	assert_int_equal(follow_answered(&f, 0, NS_SEC(2)), FOLLOW_LOST);
}

static void test_follow_while_gone_is_asked_once_a_second(void **state)
{
	struct follow f;

	(void)state;
	follow_init(&f, 0);
	follow_event(&f);
	assert_in_range(ask_until(&f, 0, NS_SEC(100), 0), 95, 105);
}

/*
 * At each question the helper finds another namespace, because names are added and removed all the
 * time. The questions must become rarer.
 */
static void
test_follow_namespace_that_changes_all_the_time_is_followed_ever_more_slowly(void **state)
{
	struct follow f;
	unsigned int n = 0;
	int made = 1;
	ns_t now = 0;

	(void)state;
	follow_init(&f, 0);
	while (now < NS_SEC(100)) {
		follow_event(&f);
		now = ns_max(now, follow_next(&f));
		if (follow_asked(&f)) {
			follow_answered(&f, 0, now);
			made++;
			n++;
		} else {
			follow_answered(&f, made, now);
		}
	}
	assert_in_range(n, 10, 20);
	/*
	 * The namespace was present for a minute. So the delay of the next question after this loss
	 * must be as short as after the first loss.
	 */
	now += NS_SEC(60);
	follow_event(&f);
	follow_asked(&f);
	follow_answered(&f, 0, now);
	assert_in_range(follow_next(&f), now, now + NS_SEC(1));
	assert_int_equal(f.losses, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_follow_asks_every_ten_seconds_without_an_event),
		cmocka_unit_test(test_follow_has_one_question_at_a_time),
		cmocka_unit_test(test_follow_namespace_is_lost_and_comes),
		cmocka_unit_test(test_follow_namespace_is_replaced_between_two_questions),
		cmocka_unit_test(test_follow_asks_again_when_the_helper_cannot_tell),
		cmocka_unit_test(test_follow_while_gone_is_asked_once_a_second),
		cmocka_unit_test(
			test_follow_namespace_that_changes_all_the_time_is_followed_ever_more_slowly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

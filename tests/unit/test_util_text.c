/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "util/escape.h"

static void test_text_is_cut_at_its_buffer_whatever_is_added(void **state)
{
	char buf[8] = "", guard[4] = "abc";
	struct text t = TEXT_IN(buf);

	(void)state;
	text_add_item(&t, ", ", "one");
	assert_string_equal(buf, "one");
	text_add_item(&t, ", ", "two");
	assert_string_equal(buf, "one, tw");
	for (int i = 0; i < 100; i++) {
		text_add_item(&t, ", ", "three");
		text_add(&t, "%1000d", i);
		assert_int_equal(t.len, sizeof(buf) - 1);
	}
	assert_string_equal(buf, "one, tw");
	assert_string_equal(guard, "abc");
}

static void test_text_without_room_is_left_alone(void **state)
{
	char buf[1] = "x";
	struct text t = { .buf = buf, .size = 0 };

	(void)state;
	text_add(&t, "y");
	assert_int_equal(buf[0], 'x');
}

/* --- text from untrusted sources */

static char *escape(char *buf, size_t size, const char *s)
{
	struct text t = { .buf = buf, .size = size };

	buf[0] = '\0';
	text_add_escaped(&t, s);
	return buf;
}

static void shows(const char *s, const char *want)
{
	char buf[256];

	assert_string_equal(escape(buf, sizeof(buf), s), want);
	assert_int_equal(text_is_plain(s), !strcmp(s, want));
	/* Text that is escaped already must not change when it is escaped again. */
	assert_string_equal(escape(buf, sizeof(buf), want), want);
}

static void test_text_escapes_what_acts_on_a_terminal(void **state)
{
	(void)state;
	shows("Switch1 port 7", "Switch1 port 7");
	shows("a\\b", "a\\b");
	shows("\x1b]0;owned\x07", "\\x1b]0;owned\\x07");
	shows("one\r\ntwo\ttabbed\x7f", "one\\x0d\\x0atwo\\x09tabbed\\x7f");
	shows("\xc2\x9b"
	      "31m",
	      "\\xc2\\x9b"
	      "31m"); /* U+009B, a control sequence introducer in one character */
	shows("\xe2\x80\xae"
	      "left",
	      "\\xe2\\x80\\xae"
	      "left"); /* U+202E, right-to-left override */
	shows("\xe2\x81\xa6", "\\xe2\\x81\\xa6"); /* U+2066, left-to-right isolate */
}

static void test_text_keeps_utf8_and_escapes_the_rest(void **state)
{
	static const char *const bad[][2] = {
		{ "\xff\xfe", "\\xff\\xfe" },
		{ "\xc3", "\\xc3" }, /* a cut character */
		{ "\xe4\xb8", "\\xe4\\xb8" },
		{ "\xc0\xaf", "\\xc0\\xaf" }, /* overlong encoding of '/' */
		{ "\xe0\x80\xaf", "\\xe0\\x80\\xaf" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" }, /* surrogate U+D800 */
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" }, /* above U+10FFFF */
		{ "\x80"
		  "a",
		  "\\x80"
		  "a" },
	};

	(void)state;
	shows("M\xc3\xbcnchen \xe4\xb8\xad \xf0\x9f\x90\xa7",
	      "M\xc3\xbcnchen \xe4\xb8\xad \xf0\x9f\x90\xa7");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		shows(bad[i][0], bad[i][1]);
}

static void test_text_for_json_is_utf8_and_else_as_it_was(void **state)
{
	char *s = text_utf8("\x1b[m \xc3\xbc \xff\n");

	(void)state;
	assert_string_equal(s, "\x1b[m \xc3\xbc \\xff\n");
	free(s);
}

static void test_text_is_not_cut_within_a_character(void **state)
{
	char buf[4];

	(void)state;
	assert_string_equal(escape(buf, sizeof(buf), "ab\xc3\xbc"), "ab");
	assert_string_equal(escape(buf, sizeof(buf), "a\x1b"), "a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_is_cut_at_its_buffer_whatever_is_added),
		cmocka_unit_test(test_text_without_room_is_left_alone),
		cmocka_unit_test(test_text_escapes_what_acts_on_a_terminal),
		cmocka_unit_test(test_text_keeps_utf8_and_escapes_the_rest),
		cmocka_unit_test(test_text_for_json_is_utf8_and_else_as_it_was),
		cmocka_unit_test(test_text_is_not_cut_within_a_character),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the entries for systemd's journal, octet by octet, and which descriptors count as a stream
 * to the journal.
 */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/journal.h"

static void test_fields_are_framed_by_their_length(void **state)
{
	static const char want[] = "PRIORITY\n\1\0\0\0\0\0\0\0"
				   "6\n"
				   "MESSAGE\n\5\0\0\0\0\0\0\0"
				   "hello\n";
	struct journal_entry e = { .len = 0 };

	journal_add(&e, "PRIORITY", "6");
	journal_add(&e, "UIPOIB_HOST", NULL);
	journal_add(&e, "MESSAGE", "hello");
	assert_int_equal(e.len, sizeof(want) - 1);
	assert_memory_equal(e.buf, want, e.len);
}

static void test_a_line_end_in_a_value_begins_no_field(void **state)
{
	static const char evil[] = "x\nPRIORITY=0\n_UID=0\n";
	struct journal_entry e = { .len = 0 };
	const unsigned char *length = e.buf + sizeof("MESSAGE");

	journal_add(&e, "MESSAGE", evil);
	assert_int_equal(e.len, sizeof("MESSAGE") + 8 + sizeof(evil));
	assert_int_equal(length[0], sizeof(evil) - 1);
	for (unsigned int k = 1; k < 8; k++)
		assert_int_equal(length[k], 0);
	assert_memory_equal(length + 8, evil, sizeof(evil) - 1);
	assert_int_equal(e.buf[e.len - 1], '\n');
}

static void test_values_of_256_octets_and_more_have_their_length(void **state)
{
	struct journal_entry e = { .len = 0 };
	char value[0x235 + 1];

	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	journal_add(&e, "M", value);
	assert_int_equal(e.buf[2], 0x35);
	assert_int_equal(e.buf[3], 0x02);
	assert_int_equal(e.len, 2 + 8 + 0x235 + 1);
}

static void test_what_does_not_fit_is_cut_off(void **state)
{
	struct journal_entry e = { .len = 0 };
	static char value[2 * JOURNAL_ENTRY_MAX];
	size_t n;

	memset(value, 'v', sizeof(value) - 1);
	journal_add(&e, "MESSAGE", value);
	assert_int_equal(e.len, sizeof(e.buf));
	n = e.buf[8] | (size_t)e.buf[9] << 8;
	assert_int_equal(n, sizeof(e.buf) - 8 - 8 - 1);
	assert_int_equal(e.buf[sizeof(e.buf) - 1], '\n');
	journal_add(&e, "PRIORITY", "6");
	assert_int_equal(e.len, sizeof(e.buf));
}

static void test_only_the_stream_of_the_environment_is_the_journals(void **state)
{
	char stream[64];
	struct stat st;
	int p[2];

	assert_int_equal(pipe(p), 0);
	assert_int_equal(fstat(p[1], &st), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	unsetenv("JOURNAL_STREAM");
	assert_false(journal_is_stream(p[1]));
	setenv("JOURNAL_STREAM", stream, 1);
	assert_true(journal_is_stream(p[1]));
	assert_false(journal_is_stream(STDIN_FILENO));
	assert_false(journal_is_stream(-1));
	strcat(stream, "0");
	setenv("JOURNAL_STREAM", stream, 1);
	assert_false(journal_is_stream(p[1]));
	assert_int_equal(journal_open(p[1]), -1);
	unsetenv("JOURNAL_STREAM");
	close(p[0]);
	close(p[1]);
}

static void test_a_journal_that_does_not_read_makes_nobody_wait(void **state)
{
	struct journal_entry e = { .len = 0 };
	int s[2], err = 0;

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, s), 0);
	journal_add(&e, "MESSAGE", "hello");
	for (unsigned int k = 0; !err && k < 100000; k++)
		err = journal_send(s[0], &e);
	assert_int_equal(err, -EAGAIN);
	close(s[1]);
	assert_int_equal(journal_send(s[0], &e), -ECONNREFUSED);
	close(s[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields_are_framed_by_their_length),
		cmocka_unit_test(test_a_line_end_in_a_value_begins_no_field),
		cmocka_unit_test(test_values_of_256_octets_and_more_have_their_length),
		cmocka_unit_test(test_what_does_not_fit_is_cut_off),
		cmocka_unit_test(test_only_the_stream_of_the_environment_is_the_journals),
		cmocka_unit_test(test_a_journal_that_does_not_read_makes_nobody_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the progress line of a long operation, with a pseudo-terminal or a pipe as standard error.
 */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/progress.h"

static int reader, saved;

static void become_stderr(int fd)
{
	saved = dup(STDERR_FILENO);
	assert_true(saved >= 0);
	assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	close(fd);
}

static void open_terminal(unsigned short columns)
{
	struct winsize w = { .ws_row = 24, .ws_col = columns };
	int slave;

	reader = posix_openpt(O_RDWR | O_NOCTTY);
	assert_true(reader >= 0);
	assert_int_equal(grantpt(reader), 0);
	assert_int_equal(unlockpt(reader), 0);
	slave = open(ptsname(reader), O_RDWR | O_NOCTTY);
	assert_true(slave >= 0);
	assert_int_equal(ioctl(slave, TIOCSWINSZ, &w), 0);
	become_stderr(slave);
}

static int setup(void **state)
{
	setenv("TERM", "xterm", 1);
	return 0;
}

static int teardown(void **state)
{
	progress_end();
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(reader);
	return 0;
}

/* Return all octets that have reached the other end of the pseudo-terminal or pipe */
static const char *seen(void)
{
	static char buf[65536];
	struct pollfd p = { .fd = reader, .events = POLLIN };
	size_t len = 0;
	ssize_t n;

	/* Octets sometimes need a moment from one end of a pseudo-terminal to the other. */
	while (len < sizeof(buf) - 1 && poll(&p, 1, 100) > 0) {
		n = read(reader, buf + len, sizeof(buf) - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	buf[len] = '\0';
	return buf;
}

static void test_a_line_is_written_anew_and_removed(void **state)
{
	open_terminal(80);
	progress_stage("%s: reading", "lab");
	progress_stage("%s: writing", "lab");
	progress_end();
	progress_end();
	progress_hide();
	assert_string_equal(seen(), "\r\033[Klab: reading\r\033[Klab: writing\r\033[K");
}

static void test_other_output_hides_the_line_once(void **state)
{
	open_terminal(80);
	progress_stage("one");
	progress_hide();
	progress_hide();
	progress_stage("two");
	assert_string_equal(seen(), "\r\033[Kone\r\033[K\r\033[Ktwo");
}

static void test_the_line_is_written_at_most_ten_times_a_second(void **state)
{
	ns_t begin = clock_now();
	unsigned int lines = 0;

	open_terminal(80);
	do
		progress_say("x");
	while (clock_now() - begin < NS_MSEC(550));
	/*
	 * If the process did not run during most of the loop, the loop has written only one line.
	 * One more call makes sure that there are two lines.
	 */
	progress_say("x");
	for (const char *p = seen(); (p = strchr(p, 'x')); p++)
		lines++;
	assert_in_range(lines, 2, (unsigned int)((clock_now() - begin) / NS_MSEC(100)) + 1);
}

static void test_a_line_does_not_wrap_and_has_no_controls(void **state)
{
	open_terminal(10);
	progress_stage("123456789012345");
	assert_string_equal(seen(), "\r\033[K123456789");
	progress_stage("12345678\xc3\xa9\xc3\xa9");
	assert_string_equal(seen(), "\r\033[K12345678\xc3\xa9");
	progress_stage("a\033[2J\nb");
	assert_string_equal(seen(), "\r\033[Ka\\x1b[2J\\");
}

static void test_a_dumb_terminal_gets_nothing(void **state)
{
	open_terminal(80);
	setenv("TERM", "dumb", 1);
	assert_false(progress_shown());
	progress_stage("one");
	progress_end();
	assert_string_equal(seen(), "");
}

static void test_a_pipe_gets_nothing(void **state)
{
	int p[2];

	assert_int_equal(pipe(p), 0);
	reader = p[0];
	become_stderr(p[1]);
	assert_false(progress_shown());
	progress_stage("one");
	progress_say("two");
	progress_end();
	assert_string_equal(seen(), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_line_is_written_anew_and_removed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_other_output_hides_the_line_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_the_line_is_written_at_most_ten_times_a_second,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_line_does_not_wrap_and_has_no_controls,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_dumb_terminal_gets_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_pipe_gets_nothing, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

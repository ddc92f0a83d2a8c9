/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/logq.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

struct rig {
	struct logq q;
	int reader;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	int s[2];

	if (!r || socketpair(AF_UNIX, SOCK_STREAM, 0, s))
		return -1;
	r->q.sock = s[0];
	r->reader = s[1];
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	close(r->q.sock);
	close(r->reader);
	free(r);
	return 0;
}

static void add(struct rig *r, unsigned int n)
{
	char line[32];

	logq_add(&r->q, line, (size_t)snprintf(line, sizeof(line), "line %u\n", n));
}

/* Flush the queue whenever the socket has room, and return all octets that arrive at the reader */
static char *drain(struct rig *r)
{
	static char text[1 << 20];
	size_t len = 0;
	ssize_t n;

	do {
		logq_send(&r->q);
		n = recv(r->reader, text + len, sizeof(text) - len - 1, MSG_DONTWAIT);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	text[len] = '\0';
	return text;
}

static void test_log_lines_come_in_order(void **state)
{
	struct rig *r = *state;

	add(r, 1);
	add(r, 2);
	assert_false(logq_send(&r->q));
	assert_string_equal(drain(r), "line 1\nline 2\n");
}

/*
 * No program reads the log. The daemon must not wait, its memory must stay bounded, and the daemon
 * must count the lines that are lost.
 */
static void test_log_that_nobody_reads_loses_lines_and_says_how_many(void **state)
{
	const unsigned int lines = 200000;
	struct rig *r = *state;
	unsigned int next = 0, of;
	unsigned long lost = 0;
	char *p, *end;

	for (unsigned int i = 0; i < lines; i++) {
		add(r, i);
		logq_send(&r->q);
	}
	assert_true(r->q.lost > 0);
	lost = r->q.lost;
	p = drain(r);
	for (; sscanf(p, "line %u\n", &of) == 1; p = strchr(p, '\n') + 1)
		assert_int_equal(of, next++);
	assert_int_equal(*p, '\0');
	assert_int_equal(next + lost, lines);

	add(r, 7);
	p = drain(r);
	assert_int_equal(strtoul(p, &end, 10), lost);
	assert_string_equal(end, " lines of the log were lost: nobody read it\nline 7\n");
	add(r, 8);
	assert_string_equal(drain(r), "line 8\n");
}

static void test_log_whose_reader_is_gone_costs_nothing(void **state)
{
	struct rig *r = *state;

	close(r->reader);
	r->reader = -1;
	add(r, 1);
	assert_false(logq_send(&r->q));
	logq_finish(&r->q, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_log_lines_come_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_log_that_nobody_reads_loses_lines_and_says_how_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_log_whose_reader_is_gone_costs_nothing, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/cmd.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "ctl_rig.h"

/*
 * Tests what the instance does in a reload. Requests of clients and requests of the supervisor
 * arrive in each possible order. The instance accepts requests of the supervisor only on
 * connections whose peer (SO_PEERCRED) is its parent process. So each test runs in a child process,
 * and uses socket pairs that the parent process has made.
 */

#define PAIRS 8
#define OK "{\"end\":{\"status\":0}}\n"
#define CHANGES(text) "{\"row\":{\"changes\":\"" text "\"}}\n" OK

static int made[PAIRS][2]; /* socket pairs of the parent process; next: made[used] */
static unsigned int used;

/*
 * The test's ends of four connections to the instance. Two are the supervisor's: one to wait for
 * reloads that clients request, and one to report outcomes. The other two belong to two clients
 */
static int waits, reports, first, second;

static int supervisor(struct ctl_rig *r)
{
	assert_true(used < PAIRS);
	assert_int_equal(ctl_client_add(&r->ctl.control, made[used][0]), 0);
	return made[used++][1];
}

static int setup(void **state)
{
	struct ctl_rig *r;

	if (ctl_rig_setup(state))
		return -1;
	r = *state;
	waits = supervisor(r);
	reports = supervisor(r);
	first = ctl_rig_client(r);
	second = ctl_rig_client(r);
	return 0;
}

static int teardown(void **state)
{
	close(waits);
	close(reports);
	close(first);
	close(second);
	return ctl_rig_teardown(state);
}

static void ask(struct ctl_rig *r, int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	ctl_rig_spin(r);
}

static void hears(int fd, const char *text)
{
	char buf[1024];
	bool eof;

	assert_string_equal(ctl_rig_hear(fd, buf, sizeof(buf), &eof), text);
	assert_false(eof);
}

static void await(struct ctl_rig *r, int fd)
{
	ask(r, fd, "{\"v\":1,\"cmd\":\"reload await\"}\n");
}

static void reload(struct ctl_rig *r, int fd)
{
	ask(r, fd, "{\"v\":1,\"cmd\":\"reload\"}\n");
}

/*
 * Let the supervisor report the outcome of a reload. @asked: true if a client requested the reload,
 * false if a signal did
 */
static void done(struct ctl_rig *r, int fd, const char *outcome, bool asked)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"v\":1,\"cmd\":\"reload done\",\"args\":{\"status\":0,\"text\":\"%s\","
		 "\"asked\":%s,\"changed\":true}}\n",
		 outcome, asked ? "true" : "false");
	ask(r, fd, text);
	hears(fd, OK);
}

static void test_reload_is_answered_with_its_outcome(void **state)
{
	struct ctl_rig *r = *state;

	await(r, waits);
	hears(waits, "");
	reload(r, first);
	hears(waits, OK);
	hears(first, "");
	done(r, reports, "kept 1", true);
	hears(first, CHANGES("kept 1"));
}

/*
 * A client requests a reload while another reload runs. The running reload may already have read
 * the file, so the client must get the outcome of the next reload.
 */
static void test_reload_during_another_one_gets_the_outcome_of_the_next(void **state)
{
	struct ctl_rig *r = *state;

	await(r, waits);
	reload(r, first);
	hears(waits, OK);
	reload(r, second);
	done(r, reports, "kept 1", true);
	hears(first, CHANGES("kept 1"));
	hears(second, "");
	await(r, waits);
	hears(waits, OK);
	done(r, reports, "kept 2", true);
	hears(second, CHANGES("kept 2"));
}

static void test_reload_between_an_outcome_and_the_next_await_is_answered(void **state)
{
	struct ctl_rig *r = *state;

	await(r, waits);
	reload(r, first);
	hears(waits, OK);
	done(r, reports, "kept 1", true);
	hears(first, CHANGES("kept 1"));
	reload(r, second);
	hears(second, "");
	await(r, waits);
	hears(waits, OK);
	done(r, reports, "kept 2", true);
	hears(second, CHANGES("kept 2"));
}

/*
 * A client requests a reload while a reload that a signal has started is running. The client must
 * not get the outcome of this running reload.
 */
static void test_reload_during_one_of_a_signal_gets_the_outcome_of_its_own(void **state)
{
	struct ctl_rig *r = *state;

	await(r, waits);
	reload(r, first);
	hears(waits, OK);
	done(r, reports, "kept 1", false);
	hears(first, "");
	done(r, reports, "kept 2", true);
	hears(first, CHANGES("kept 2"));
}

static int run(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_reload_is_answered_with_its_outcome),
		CASE(test_reload_during_another_one_gets_the_outcome_of_the_next),
		CASE(test_reload_between_an_outcome_and_the_next_await_is_answered),
		CASE(test_reload_during_one_of_a_signal_gets_the_outcome_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	int status;
	pid_t pid;

	for (unsigned int i = 0; i < PAIRS; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, made[i]))
			return 1;
	pid = fork();
	if (!pid)
		return run();
	return pid < 0 || waitpid(pid, &status, 0) != pid || status ? 1 : 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests a listening socket on a real event loop, in a process that has no free file descriptors. */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/listener.h"

static struct listener l;
static struct loop loop;
static char path[64];
static int taken, last_pid;

static void take(struct listener *at, int sock, int pid, ns_t now)
{
	assert_ptr_equal(at, &l);
	taken++;
	last_pid = pid;
	close(sock);
}

static int setup(void **state)
{
	int s;

	taken = last_pid = 0;
	snprintf(path, sizeof(path), "/tmp/test_os_listener.%d", (int)getpid());
	assert_int_equal(loop_init(&loop), 0);
	listener_init(&l);
	assert_int_equal(listener_socket(&s, path, SOCK_STREAM, 4), 0);
	assert_int_equal(listener_start(&l, &loop, s, take), 0);
	return 0;
}

static int teardown(void **state)
{
	listener_stop(&l);
	listener_stop(&l);
	loop_fini(&loop);
	unlink(path);
	return 0;
}

static int client(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(sa.sun_path, path);
	assert_true(s >= 0);
	assert_int_equal(connect(s, (struct sockaddr *)&sa, sizeof(sa)), 0);
	return s;
}

/* Run the loop once without waiting. Returns true if a descriptor was ready. */
static bool turn(void)
{
	struct epoll_event ev;
	bool busy = true, ready = epoll_wait(loop.epfd, &ev, 1, 0) > 0;

	assert_int_equal(loop_turn(&loop, &busy, 0), 0);
	return ready;
}

static void test_a_connection_is_taken_with_its_process(void **state)
{
	int c = client();
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_true(turn());
	assert_int_equal(taken, 1);
	assert_int_equal(last_pid, getpid());
	assert_false(turn());
	close(c);
}

static void test_out_of_descriptors_it_does_not_spin(void **state)
{
	struct rlimit saved, none;
	int c = client();

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &saved), 0);
	none = saved;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_true(turn());
	assert_int_equal(taken, 0);
	/*
	 * The client must stay in the listen queue, and the loop must sleep instead of calling
	 * accept() all the time.
	 */
	for (int i = 0; i < 10; i++)
		assert_false(turn());
	assert_int_equal(timers_next(&loop.timers) > loop.now, true);
	timers_run(&loop.timers, timers_next(&loop.timers));
	assert_true(turn()); /* there is still no free descriptor */
	assert_false(turn());
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &saved), 0);
	assert_int_equal(taken, 0);
	timers_run(&loop.timers, timers_next(&loop.timers));
	assert_true(turn());
	assert_int_equal(taken, 1);
	close(c);
}

static void test_what_is_left_of_a_killed_instance_gives_way(void **state)
{
	int s;

	assert_int_equal(listener_socket(&s, path, SOCK_SEQPACKET, 4), 0);
	close(s);
	assert_int_equal(listener_socket(&s, "/nonexistent/x", SOCK_STREAM, 4), -ENOENT);
	assert_int_equal(
		listener_socket(&s,
				"/tmp/a-name-that-is-longer-than-the-108-octets-which-struct-"
				"sockaddr-un-has-for-the-path-of-a-socket-of-this-family-12345",
				SOCK_STREAM, 4),
		-ENAMETOOLONG);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_a_connection_is_taken_with_its_process),
		CASE(test_out_of_descriptors_it_does_not_spin),
		CASE(test_what_is_left_of_a_killed_instance_gives_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

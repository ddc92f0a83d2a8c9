/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "cmd/cmd.h"
#include "ctl/ctl.h"
#include "proto/proto.h"

/*
 * Clause R72: only some users are allowed to set up interfaces and to send requests to the SA
 * through the daemon. Tests which users are allowed.
 */

#define NOBODY 65534

static struct inst in;
static struct ctl *ctl;
static char path[108];

static int setup(void **state)
{
	char err[INST_ERR_MAX];

	inst_init(&in, &(struct inst_cfg){ 0 });
	ifc_set_init(&in.ifcs, &in.loop.timers, NULL, NULL);
	snprintf(in.cfg.name, sizeof(in.cfg.name), "test-%d", (int)getpid());
	if (loop_init(&in.loop) || ctl_open(&ctl, &in, cmd_tables, err))
		return -1;
	return proto_path(path, sizeof(path), in.cfg.name);
}

static int teardown(void **state)
{
	ctl_close(ctl);
	loop_fini(&in.loop);
	return access(path, F_OK) ? 0 : -1;
}

/*
 * Send a request as the user @uid. Returns 0 if there was an answer, 1 if the file permissions
 * forbade the connection, 2 if the server refused the user. If @through is true, the file
 * permissions are not checked for this user (setfsuid).
 */
static int ask_as(unsigned int uid, bool through)
{
	static const char request[] = "{\"v\":1,\"cmd\":\"instance show\"}\n";
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	char buf[512];
	int s;

	memcpy(sa.sun_path, path, sizeof(path));
	if (uid && seteuid(uid))
		return 10;
	if (through)
		setfsuid(0);
	s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s < 0)
		return 11;
	if (connect(s, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return errno == EACCES ? 1 : 12;
	if (send(s, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0)
		return 2;
	return recv(s, buf, sizeof(buf), 0) > 0 ? 0 : 2;
}

static int child_says(unsigned int uid, bool through)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid)
		_exit(ask_as(uid, through));
	while (waitpid(pid, &status, WNOHANG) != pid) {
		struct epoll_event ev[8];
		int n = epoll_wait(in.loop.epfd, ev, 8, 10);

		for (int i = 0; i < n; i++) {
			struct loop_fd *f = ev[i].data.ptr;

			if (f->fn)
				f->fn(f, ev[i].events, 0);
		}
		timers_run(&in.loop.timers, 0);
	}
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_R72_the_socket_is_its_owners(void **state)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(st.st_uid, geteuid());
	assert_int_equal(child_says(0, false), 0);
}

static void test_R72_another_user_is_refused_twice(void **state)
{
	if (geteuid())
		skip(); /* only root can act as another user */
	/* refused by the file modes of the socket */
	assert_int_equal(child_says(NOBODY, false), 1);
	/* refused by the server, which reads the client's user ID */
	assert_int_equal(child_says(NOBODY, true), 2);
	assert_int_equal(child_says(0, false), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_R72_the_socket_is_its_owners, setup, teardown),
		cmocka_unit_test_setup_teardown(test_R72_another_user_is_refused_twice, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd_rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Tests of the socket through which clients reach an instance. */

static void socket_env(char name[PROTO_NAME_MAX], char dir[32])
{
	snprintf(name, PROTO_NAME_MAX, "unit-test-%d", (int)getpid());
	snprintf(dir, 32, "/tmp/uipoib-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	setenv("XDG_RUNTIME_DIR", dir, 1); /* root would use another folder */
}

/*
 * Let many clients connect at the same time with non-blocking sockets, as libuipoib-path does. No
 * connection may be refused.
 */
static void clients_at_once(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd[CTL_CLIENTS_MAX];

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
	for (int i = 0; i < CTL_CLIENTS_MAX; i++) {
		fd[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		assert_int_equal(connect(fd[i], (struct sockaddr *)&sa, sizeof(sa)), 0);
	}
	for (int i = 0; i < CTL_CLIENTS_MAX; i++)
		close(fd[i]);
}

static void test_socket_is_private_exclusive_and_removed(void **state)
{
	struct ctl_rig *r = *state;
	struct proto_client c;
	char name[PROTO_NAME_MAX], dir[32], path[108], err[INST_ERR_MAX] = "";
	struct inst other = { 0 };
	struct ctl *ctl, *ctl2;
	struct stat st;

	socket_env(name, dir);
	snprintf(r->in.cfg.name, sizeof(r->in.cfg.name), "%s", name);
	snprintf(other.cfg.name, sizeof(other.cfg.name), "%s", name);
	assert_int_equal(loop_init(&other.loop), 0);

	assert_int_equal(ctl_open(&ctl, &r->in, cmd_tables, err), 0);
	assert_int_equal(proto_path(path, sizeof(path), name), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(ctl_open(&ctl2, &other, cmd_tables, err), -EADDRINUSE);
	assert_non_null(strstr(err, name));
	assert_int_equal(proto_connect(&c, name), 0);
	cmd_rig_settle(r);
	assert_int_equal(proto_send(&c, "instance show", NULL), 0);
	cmd_rig_settle(r);
	proto_close(&c);
	cmd_rig_settle(r);
	clients_at_once(path);
	cmd_rig_settle(r);
	ctl_close(ctl);
	assert_int_equal(stat(path, &st), -1);
	assert_int_equal(proto_connect(&c, name), -ENOENT);
	loop_fini(&other.loop);
	rmdir(dir);
}

/* An instance was killed and left its socket file. The next instance must replace the file. */
static void test_socket_of_a_dead_instance_is_replaced(void **state)
{
	struct ctl_rig *r = *state;
	char name[PROTO_NAME_MAX], dir[32], path[108], err[INST_ERR_MAX] = "";
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct proto_client c;
	struct ctl *ctl;
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	socket_env(name, dir);
	assert_int_equal(proto_dir(path, sizeof(path), 1), 0);
	assert_int_equal(proto_path(path, sizeof(path), name), 0);
	memcpy(sa.sun_path, path, sizeof(path));
	assert_int_equal(bind(s, (struct sockaddr *)&sa, sizeof(sa)), 0);
	close(s);
	assert_int_equal(proto_connect(&c, name), -ECONNREFUSED);
	snprintf(r->in.cfg.name, sizeof(r->in.cfg.name), "%s", name);
	assert_int_equal(ctl_open(&ctl, &r->in, cmd_tables, err), 0);
	assert_int_equal(proto_connect(&c, name), 0);
	proto_close(&c);
	ctl_close(ctl);
	rmdir(dir);
}

static void test_names_of_instances(void **state)
{
	(void)state;
	assert_true(proto_name_ok("lab"));
	assert_true(proto_name_ok("a.b_c-9"));
	assert_true(proto_name_ok("0123456789012345678901234567890"));
	assert_false(proto_name_ok("01234567890123456789012345678901"));
	assert_false(proto_name_ok(""));
	assert_false(proto_name_ok("."));
	assert_false(proto_name_ok("../x"));
	assert_false(proto_name_ok("a b"));
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, cmd_rig_setup, ctl_rig_teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_socket_is_private_exclusive_and_removed),
		CASE(test_socket_of_a_dead_instance_is_replaced),
		cmocka_unit_test(test_names_of_instances),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "helper/helper.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "netdev_env.h"
#include "os/privs.h"
#include "unit/helper_answer.h"

/*
 * Tests the device files of RDMA ports. After netdev_helper_seal(), an attacker may control the
 * main process. The tests check which files the helper makes when such a main process requests
 * them. In place of the kernel's /sys, this process and its helpers see a tmpfs. The tmpfs has one
 * RDMA device, fake0, whose files uverbs7 and umad3 have the device numbers of /dev/null and
 * /dev/zero.
 */

static bool have_sys;

static int put(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (!f)
		return -1;
	fputs(text, f);
	return fclose(f);
}

static int make_device(void)
{
	return system("mkdir -p /sys/class/infiniband/fake0/ports/1 "
		      "/sys/class/infiniband_verbs/uverbs7 "
		      "/sys/class/infiniband_mad/umad3") ||
	       put("/sys/class/infiniband_verbs/uverbs7/ibdev", "fake0\n") ||
	       put("/sys/class/infiniband_verbs/uverbs7/dev", "1:3\n") ||
	       put("/sys/class/infiniband_mad/umad3/ibdev", "fake0\n") ||
	       put("/sys/class/infiniband_mad/umad3/port", "1\n") ||
	       put("/sys/class/infiniband_mad/umad3/dev", "1:5\n");
}

static int remove_device(void)
{
	return system("rm -r /sys/class");
}

static int group_setup(void **state)
{
	have_sys = !env_setup(state) && !geteuid() && !unshare(CLONE_NEWNS) &&
		   !mount("", "/", "", MS_PRIVATE | MS_REC, NULL) &&
		   !mount("fake", "/sys", "tmpfs", 0, NULL);
	return 0;
}

static void need_sys(void)
{
	env_need_netns();
	if (have_sys)
		return;
	print_message("# no mounts are permitted\n");
	skip();
}

static int ask(struct netdev_helper *h, const char *port)
{
	struct helper_answer a = { 0 };
	int err = netdev_post_rdma_nodes(h, port, helper_answered, &a);

	return err ? err : helper_await(h, &a);
}

static dev_t number_of(int folder, const char *name)
{
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISCHR(st.st_mode))
		return 0;
	return st.st_rdev;
}

static void test_helper_makes_the_files_of_a_port_that_was_named(void **state)
{
	struct netdev_helper *h;
	int folder, again;

	need_sys();
	assert_int_equal(make_device(), 0);
	assert_int_equal(netdev_helper_start(0, &h), 0);
	assert_int_equal(netdev_rdma_add(h, "fake0/1", &folder), 0);
	assert_int_equal(netdev_rdma_add(h, "fake1/1", &again), 0);
	close(again);
	assert_int_equal(netdev_helper_seal(h), 0);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(ask(h, "fake0/1"), 0);
		assert_int_equal(number_of(folder, "uverbs7"), makedev(1, 3));
		assert_int_equal(number_of(folder, "umad3"), makedev(1, 5));
	}
	/*
	 * The device fake0 is removed. At the next request the helper must remove the files of
	 * fake0.
	 */
	assert_int_equal(ask(h, "fake1/1"), -ENODEV);
	assert_int_equal(remove_device(), 0);
	assert_int_equal(ask(h, "fake0/1"), -ENODEV);
	assert_int_equal(number_of(folder, "uverbs7"), 0);
	assert_int_equal(number_of(folder, "umad3"), 0);
	assert_int_equal(make_device(), 0);
	assert_int_equal(ask(h, "fake0/1"), 0);
	assert_int_equal(number_of(folder, "uverbs7"), makedev(1, 3));
	close(folder);
	netdev_helper_stop(h);
	assert_int_equal(remove_device(), 0);
}

static void test_helper_sealed_makes_no_other_device_files(void **state)
{
	static const char *const bad[] = {
		"",	    "fake0",   "/1",	 "fake0/",	  "fake0/x",
		"../etc/1", "..//1",   ".hid/1", "fake0/1/../..", "fa ke/1",
		"fake0/1x", "fake0/+", "a\nb/1", "fake0/ports/1",
	};
	char longest[300];
	struct netdev_helper *h;
	int folder;

	need_sys();
	assert_int_equal(make_device(), 0);
	assert_int_equal(netdev_helper_start(0, &h), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(netdev_rdma_add(h, bad[i], &folder), -EINVAL);
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(netdev_rdma_add(h, longest, &folder), -EINVAL);
	memcpy(longest + 70, "/1", 3);
	assert_int_equal(netdev_rdma_add(h, longest, &folder), -EINVAL);
	for (unsigned int i = 0; i < NETDEV_RDMA_MAX; i++) {
		char name[24];

		snprintf(name, sizeof(name), "other%u/1", i);
		assert_int_equal(netdev_rdma_add(h, name, &folder), 0);
		close(folder);
	}
	assert_int_equal(netdev_rdma_add(h, "fake0/1", &folder), -EINVAL);
	assert_int_equal(netdev_helper_seal(h), 0);
	assert_int_equal(netdev_rdma_add(h, "fake0/1", &folder), -EPERM);
	assert_int_equal(ask(h, "fake0/1"), -EPERM);
	assert_int_equal(ask(h, "other0/1"), -ENODEV);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(ask(h, bad[i]), -EPERM);
	netdev_helper_stop(h);
	assert_int_equal(remove_device(), 0);
}

/*
 * Act as the main process after privs_isolate(): in /dev the process must see only the device files
 * that the helper has made, and /sys must be read-only.
 */
static int isolated(void)
{
	struct netdev_helper *h;
	int folder, fd;
	char c = 'x';

	if (make_device() || netdev_helper_start(0, &h) || netdev_rdma_add(h, "fake0/1", &folder) ||
	    netdev_helper_seal(h))
		return 1;
	if (privs_isolate(0, folder))
		return 2;
	if (access("/sys/class/infiniband_verbs/uverbs7/ibdev", R_OK) ||
	    !access("/dev/infiniband/uverbs7", F_OK) || !access("/dev/null", F_OK) ||
	    !access("/etc", F_OK))
		return 3;
	if (ask(h, "fake0/1"))
		return 4;
	fd = open("/dev/infiniband/umad3", O_RDWR | O_CLOEXEC);
	if (fd < 0 || read(fd, &c, 1) != 1 || c)
		return 5;
	if (open("/dev/infiniband/x", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0 ||
	    !unlink("/dev/infiniband/umad3") || !mkdir("/new", 0700) ||
	    open("/sys/class/infiniband_mad/umad3/dev", O_WRONLY | O_CLOEXEC) >= 0)
		return 6;
	return 0;
}

static void test_helper_files_are_all_that_the_main_process_sees(void **state)
{
	pid_t pid;
	int status;

	need_sys();
	pid = fork();
	if (!pid)
		_exit(isolated());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(remove_device(), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_helper_makes_the_files_of_a_port_that_was_named),
		cmocka_unit_test(test_helper_sealed_makes_no_other_device_files),
		cmocka_unit_test(test_helper_files_are_all_that_the_main_process_sees),
	};

	return cmocka_run_group_tests(tests, group_setup, NULL);
}

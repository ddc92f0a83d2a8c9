/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/netns.h"

#include <net/if.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "netdev/tap.h"
#include "netdev_env.h"

static void test_netns_spec_forms(void **state)
{
	static const char *const bad[] = { "",
					   ".",
					   "..",
					   ".h1",
					   "a/b",
					   "a b",
					   "a\nb",
					   "pid:",
					   "pid:0",
					   "pid:-1",
					   "pid:1x",
					   "pid: 1",
					   "pid:99999999999" };
	struct netns_spec s = { .pid = 77 };
	char longest[NETNS_SPEC_MAX + 2];

	(void)state;
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(netns_spec_parse(&s, bad[i]), -EINVAL);
	memset(longest, 'a', sizeof(longest));
	longest[NETNS_NAME_MAX + 1] = 0;
	assert_int_equal(netns_spec_parse(&s, longest), -EINVAL);
	assert_int_equal(s.pid, 77);
	longest[NETNS_NAME_MAX] = 0;
	assert_int_equal(netns_spec_parse(&s, longest), 0);
	memset(longest, '/', sizeof(longest));
	longest[NETNS_SPEC_MAX + 1] = 0;
	assert_int_equal(netns_spec_parse(&s, longest), -EINVAL);
	longest[NETNS_SPEC_MAX] = 0;
	assert_int_equal(netns_spec_parse(&s, longest), 0);
	assert_int_equal(s.kind, NETNS_PATH);
	assert_string_equal(s.path, longest);

	assert_int_equal(netns_spec_parse(&s, "h1"), 0);
	assert_int_equal(s.kind, NETNS_NAME);
	assert_string_equal(s.path, "/run/netns/h1");
	assert_int_equal(netns_spec_parse(&s, "pid:17"), 0);
	assert_int_equal(s.kind, NETNS_PID);
	assert_int_equal(s.pid, 17);
	assert_string_equal(s.path, "/proc/17/ns/net");
}

static void test_netns_open_only_network_namespaces(void **state)
{
	struct netns_spec s;
	int fd;

	(void)state;
	assert_int_equal(netns_spec_parse(&s, "/proc/self/ns/net"), 0);
	assert_int_equal(netns_open(&s, &fd), 0);
	assert_int_equal(netns_check(&s, fd), 0);
	close(fd);
	assert_int_equal(netns_spec_parse(&s, "/proc/self/ns/mnt"), 0);
	assert_int_equal(netns_open(&s, &fd), -EINVAL);
	assert_int_equal(netns_spec_parse(&s, "/dev/null"), 0);
	assert_int_equal(netns_open(&s, &fd), -EINVAL);
	assert_int_equal(netns_spec_parse(&s, "/nonexistent"), 0);
	assert_int_equal(netns_open(&s, &fd), -ENOENT);
}

static int count_links(void *arg)
{
	struct if_nameindex *v = if_nameindex();
	unsigned int up = 0;
	struct ifreq ifr = { .ifr_name = "lo" };
	int n = 0, s = socket(AF_INET, SOCK_DGRAM, 0);

	while (v && v[n].if_index)
		n++;
	if_freenameindex(v);
	up = !ioctl(s, SIOCGIFFLAGS, &ifr) && (ifr.ifr_flags & IFF_UP);
	close(s);
	return up ? n : -ENETDOWN;
}

static int add_tap(void *arg)
{
	return tap_open("t0", arg, NULL);
}

static void test_netns_call_comes_back(void **state)
{
	struct netns_spec self;
	int fd, home, tap;

	(void)state;
	env_need_tap();
	netns_spec_parse(&self, "/proc/self/ns/net");
	assert_int_equal(netns_open(&self, &home), 0);
	assert_int_equal(netns_create(&fd), 0);
	assert_int_equal(netns_check(&self, home), 0);
	assert_false(netns_same(home, fd));
	/* The new namespace has one interface, lo, which is up. */
	assert_int_equal(netns_call(fd, count_links, NULL), 1);
	assert_int_equal(netns_call(fd, add_tap, &tap), 0);
	assert_int_equal(netns_call(fd, count_links, NULL), 2);
	assert_int_equal(netns_check(&self, home), 0);
	assert_int_equal(netns_call(tap, count_links, NULL), -EINVAL);
	close(tap);
	assert_int_equal(netns_call(fd, count_links, NULL), 1);
	close(fd);
	close(home);
}

static int make_pipe_of_ns(void *arg, int fds[NETNS_RUN_FDS], unsigned int *n)
{
	fds[0] = open("/proc/self/ns/net", O_RDONLY);
	fds[1] = open("/dev/null", O_RDONLY);
	*n = 2;
	return *(int *)arg;
}

static int die(void *arg, int fds[NETNS_RUN_FDS], unsigned int *n)
{
	_exit(3);
}

static void test_netns_run_brings_descriptors_back(void **state)
{
	int fd, fds[NETNS_RUN_FDS], arg = 0;
	unsigned int n;

	(void)state;
	env_need_netns();
	assert_int_equal(netns_create(&fd), 0);
	assert_int_equal(netns_run(fd, make_pipe_of_ns, &arg, fds, &n), 0);
	assert_int_equal(n, 2);
	assert_true(netns_same(fds[0], fd));
	assert_int_equal(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
	close(fds[0]);
	close(fds[1]);
	arg = -EXDEV;
	assert_int_equal(netns_run(fd, make_pipe_of_ns, &arg, fds, &n), -EXDEV);
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(netns_run(fd, die, NULL, fds, &n), -ECHILD);
	close(fd);
}

static void test_netns_names_come_and_go(void **state)
{
	struct netns_spec s;
	char name[40];
	int a, b, c, watch;

	(void)state;
	env_need_netns();
	if (geteuid() || access("/run", W_OK)) {
		print_message("# /run is not writable\n");
		skip();
	}
	snprintf(name, sizeof(name), "uipoib-test-%d", (int)getpid());
	assert_int_equal(netns_spec_parse(&s, name), 0);
	assert_int_equal(netns_open(&s, &a), -ENOENT);
	assert_int_equal(netns_create_named(&s, &a), 0);
	assert_int_equal(netns_create_named(&s, &b), -EEXIST);
	assert_int_equal(netns_open(&s, &b), 0);
	assert_true(netns_same(a, b));
	assert_int_equal(netns_check(&s, a), 0);

	assert_int_equal(netns_watch(&watch), 0);
	assert_int_equal(netns_watch_add(watch, &s), 0);
	assert_int_equal(netns_remove_named(&s, b), 0);
	env_wait(watch, POLLIN);
	netns_watch_drain(watch);
	close(watch);
	assert_int_equal(netns_check(&s, a), -ESTALE);
	assert_int_equal(netns_remove_named(&s, a), -ESTALE);

	/* A new namespace with the name of a removed namespace is a different namespace. */
	assert_int_equal(netns_create_named(&s, &c), 0);
	assert_int_equal(netns_check(&s, a), -ESTALE);
	assert_int_equal(netns_remove_named(&s, a), -ESTALE);
	assert_int_equal(netns_remove_named(&s, c), 0);
	assert_int_equal(access(s.path, F_OK), -1);
	close(a);
	close(b);
	close(c);
}

static int child_status(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_netns_userns_is_root_of_its_namespaces(void **state)
{
	pid_t pid = fork();
	int fd, tap, st;

	(void)state;
	if (!pid) {
		if (netns_enter_userns())
			_exit(77);
		if (geteuid() || getegid() || netns_create(&fd))
			_exit(1);
		st = netns_call(fd, add_tap, &tap);
		/*
		 * EACCES and ENOENT mean that /dev/net/tun cannot be opened, so nobody can make a
		 * TAP here. The test must not fail then. It must fail on any other error, for
		 * example on the error for a missing capability.
		 */
		_exit(st == 0 || st == -EACCES || st == -ENOENT ? 0 : 2);
	}
	st = child_status(pid);
	if (st == 77) {
		print_message("# user namespaces are not permitted\n");
		skip();
	}
	assert_int_equal(st, 0);
}

static void test_netns_enter_shows_its_links_in_sys(void **state)
{
	struct netns_spec self;
	int fd, tap;
	pid_t pid;

	(void)state;
	env_need_tap();
	assert_int_equal(netns_create(&fd), 0);
	assert_int_equal(netns_call(fd, add_tap, &tap), 0);
	netns_spec_parse(&self, "/proc/self/ns/net");
	pid = fork();
	if (!pid) {
		if (netns_enter(-1, fd) || netns_check(&self, fd))
			_exit(1);
		_exit(access("/sys/class/net/t0", F_OK) ? 2 : 0);
	}
	assert_int_equal(child_status(pid), 0);
	assert_int_equal(access("/sys/class/net/t0", F_OK), -1);
	close(tap);
	close(fd);
}

static int set_sysctl(void *arg)
{
	return netns_sysctl_write("net/ipv4/conf/t0/arp_ignore", "3");
}

static int get_sysctl(void *arg)
{
	char c = 0;
	int fd = open("/proc/sys/net/ipv4/conf/t0/arp_ignore", O_RDONLY);
	int res = fd < 0 ? -errno : (int)read(fd, &c, 1);

	close(fd);
	return res == 1 ? c : res;
}

static void test_netns_sysctl_is_that_of_the_namespace(void **state)
{
	int fd, tap;

	(void)state;
	env_need_tap();
	assert_int_equal(netns_create(&fd), 0);
	assert_int_equal(netns_call(fd, add_tap, &tap), 0);
	assert_int_equal(set_sysctl(NULL), -ENOENT);
	assert_int_equal(netns_call(fd, get_sysctl, NULL), '0');
	assert_int_equal(netns_call(fd, set_sysctl, NULL), 0);
	assert_int_equal(netns_call(fd, get_sysctl, NULL), '3');
	close(tap);
	close(fd);
}

/*
 * Other processes add and remove names of namespaces as fast as they can. One call must read only
 * some of these events, so that the caller is not delayed.
 */
static void test_netns_watch_drain_is_bounded(void **state)
{
	char dir[] = "/tmp/uipoib-test-XXXXXX", path[64];
	struct netns_spec s;
	int watch, left, drained;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/ns", dir);
	assert_int_equal(netns_spec_parse(&s, path), 0);
	assert_int_equal(netns_watch(&watch), 0);
	assert_int_equal(netns_watch_add(watch, &s), 0);
	for (int k = 0; k < 4000; k++) {
		int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

		assert_true(fd >= 0);
		close(fd);
		assert_int_equal(unlink(path), 0);
	}
	netns_watch_drain(watch);
	assert_int_equal(ioctl(watch, FIONREAD, &left), 0);
	assert_true(left > 0);
	for (drained = 0; left && drained < 100; drained++) {
		netns_watch_drain(watch);
		assert_int_equal(ioctl(watch, FIONREAD, &left), 0);
	}
	assert_int_equal(left, 0);
	close(watch);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_netns_spec_forms),
		cmocka_unit_test(test_netns_open_only_network_namespaces),
		cmocka_unit_test(test_netns_call_comes_back),
		cmocka_unit_test(test_netns_run_brings_descriptors_back),
		cmocka_unit_test(test_netns_names_come_and_go),
		cmocka_unit_test(test_netns_userns_is_root_of_its_namespaces),
		cmocka_unit_test(test_netns_enter_shows_its_links_in_sys),
		cmocka_unit_test(test_netns_sysctl_is_that_of_the_namespace),
		cmocka_unit_test(test_netns_watch_drain_is_bounded),
	};

	return cmocka_run_group_tests(tests, env_setup, NULL);
}

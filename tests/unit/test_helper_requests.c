/* SPDX-License-Identifier: BSD-2-Clause */
#include "helper/helper.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "os/fdpass.h"
#include "helper/proto.h"
#include "os/privs.h"
#include "helper_rig.h"

/* ----- requests that the helper must refuse */

static void test_helper_touches_only_its_own(void **state)
{
	struct rtnl_ip ip = v4("10.4.0.1");
	struct helper_answer d = { 0 };
	struct host t;
	uint32_t own;

	(void)state;
	host_make(&t);
	/*
	 * Interface 1 of the host's namespace is lo, which is not a TAP of the helper. The
	 * namespace of the test has no TAP of the helper.
	 */
	assert_int_equal(netdev_link_up(t.h, t.ns, 1, false), -ENODEV);
	assert_int_equal(netdev_helper_refused(t.h), NETDEV_REFUSED_REQUEST);
	assert_int_equal(netdev_ns_open(t.h, NULL, &own, NULL), 0);
	assert_int_not_equal(own, t.ns);
	assert_int_equal(netdev_addr_add(t.h, own, t.ifindex, &ip, 24), -ENODEV);
	assert_int_equal(netdev_post_neigh_del(t.h, own, 1, &peer_mac, 1, helper_answered, &d), 0);
	helper_await_answers(t.h, &d, 1);
	assert_int_equal(d.err, -ENODEV);
	assert_int_equal(netdev_link_up(t.h, 0, t.ifindex, true), -EBADF);
	assert_int_equal(netdev_link_up(t.h, 99, t.ifindex, true), -EBADF);

	assert_int_equal(tap_forget(&t), 0);
	assert_int_equal(tap_forget(&t), -ENODEV);
	assert_int_equal(netdev_link_up(t.h, t.ns, t.ifindex, true), -ENODEV);
	host_free(&t);
}

static void test_helper_tap_configurations_refused(void **state)
{
	static const struct netdev_tap_conf bad[] = {
		{ .ifname = "" },
		{ .ifname = "a/b" },
		{ .ifname = "a:b" },
		{ .ifname = "a b" },
		{ .ifname = "uib%d" },
		{ .ifname = "sixteen-letters-" }, /* a name without final NUL */
		{ .ifname = "uib1", .mac = { 1 } },
		{ .ifname = "uib1", .mtu = 67 },
		{ .ifname = "uib1", .mtu = 65522 },
		{ .ifname = "uib1", .kind = (enum tap_kind)2 },
		{ .ifname = "uib1", .kind = TAP_INFINIBAND, .mac = { 2 } },
	};
	struct host t;
	int fd, ifindex;

	(void)state;
	host_make(&t);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(netdev_tap_create(t.h, t.ns, &bad[i], &fd, &ifindex), -EINVAL);
		assert_int_equal(netdev_helper_refused(t.h), NETDEV_REFUSED_REQUEST);
	}
	host_free(&t);
}

static void test_helper_survives_malformed_requests(void **state)
{
	struct helper_req req = { .op = HELPER_N_OPS, .seq = 1000000 };
	struct helper_rsp rsp;
	struct host t;
	int fds[FDPASS_MAX], sock, null = open("/dev/null", O_RDONLY);
	unsigned int n;

	(void)state;
	host_make(&t);
	sock = netdev_helper_fd(t.h);
	/* about 40 lengths only, because the socket has no room for more requests */
	for (size_t len = 1; len < sizeof(req); len += sizeof(req) / 40)
		assert_int_equal(send(sock, &req, len, 0), len);
	assert_int_equal(fdpass_send(sock, &req, sizeof(req), &null, 1), 0);
	env_wait(sock, POLLIN);
	assert_int_equal(fdpass_recv(sock, &rsp, sizeof(rsp), fds, &n), 0);
	assert_int_equal(rsp.err, -ENOSYS);
	assert_int_equal(rsp.seq, 1000000);
	req.op = HELPER_NS_OPEN;
	memset(req.spec, 'a', sizeof(req.spec));
	assert_int_equal(fdpass_send(sock, &req, sizeof(req), NULL, 0), 0);
	env_wait(sock, POLLIN);
	assert_int_equal(fdpass_recv(sock, &rsp, sizeof(rsp), fds, &n), 0);
	assert_int_equal(rsp.err, -EINVAL);
	assert_int_equal(netdev_link_up(t.h, t.ns, t.ifindex, true), 0);
	close(null);
	host_free(&t);
}

/* ----- namespaces */

static void test_helper_ns_handles_are_counted(void **state)
{
	struct netdev_helper *h;
	struct netdev_ns_info info;
	uint32_t a, b, c;
	char spec[32];
	int fd;

	(void)state;
	env_need_netns();
	assert_int_equal(netdev_helper_start(0, &h), 0);
	assert_int_equal(netdev_ns_open(h, NULL, &a, &info), 0);
	assert_false(info.created || info.named);
	assert_int_equal(netdev_ns_open(h, NULL, &b, NULL), 0);
	assert_int_equal(a, b);
	assert_int_equal(netdev_ns_create(h, &c), 0);
	assert_int_not_equal(a, c);
	/* a is the number of the namespace of this process */
	snprintf(spec, sizeof(spec), "pid:%d", (int)getpid());
	assert_int_equal(netdev_ns_open(h, spec, &b, &info), 0);
	assert_int_equal(a, b);
	assert_int_equal(netdev_ns_close(h, a), 0);
	assert_int_equal(netdev_ns_close(h, a), 0);
	assert_int_equal(netdev_ns_fds(h, a, &fd, NULL), 0);
	close(fd);
	assert_int_equal(netdev_ns_close(h, a), 0);
	assert_int_equal(netdev_ns_close(h, a), -EBADF);
	assert_int_equal(netdev_ns_open(h, "/nonexistent", &a, NULL), -ENOENT);
	assert_int_equal(netdev_helper_refused(h), NETDEV_REFUSED_NETNS);
	assert_int_equal(netdev_ns_open(h, "/dev/null", &a, NULL), -EINVAL);
	assert_int_equal(netdev_ns_open(h, "", &a, NULL), -EINVAL);
	assert_int_equal(netdev_ns_open(h, "a/b", &a, NULL), -EINVAL);
	netdev_helper_stop(h);
}

static void test_helper_named_ns_goes_with_the_helper(void **state)
{
	struct netdev_ns_info info, again;
	struct netdev_helper *h, *h2;
	uint32_t a, b;
	char name[40];

	(void)state;
	need_run_dir();
	snprintf(name, sizeof(name), "uipoib-test-h%d", (int)getpid());
	assert_int_equal(netdev_helper_start(0, &h), 0);
	assert_int_equal(netdev_helper_start(0, &h2), 0);
	assert_int_equal(netdev_ns_open(h, name, &a, &info), 0);
	assert_true(info.created && info.named);
	assert_int_equal(access(info.path, F_OK), 0);
	assert_int_equal(netdev_ns_open(h, name, &b, NULL), 0);
	assert_int_equal(a, b);
	/*
	 * A second helper opens the same namespace, which exists already. When this helper stops,
	 * it must not remove the namespace, because the first helper created the namespace.
	 */
	assert_int_equal(netdev_ns_open(h2, name, &b, &again), 0);
	assert_false(again.created);
	netdev_helper_stop(h2);
	assert_int_equal(access(info.path, F_OK), 0);
	netdev_helper_stop(h);
	assert_int_equal(access(info.path, F_OK), -1);
}

static void test_helper_many_namespaces(void **state)
{
	enum { N = 100 }; /* not more than 100, because the kernel takes 16 ms to close a TAP */
	static struct tap tap[N];
	struct netdev_helper *h;
	struct rtnl_ip ip = v4("10.4.0.1");
	int made = 0;

	(void)state;
	env_need_tap();
	assert_int_equal(netdev_helper_start(0, &h), 0);
	for (; made < N; made++) {
		struct netdev_tap_conf conf = { .ifname = "uib0" };
		uint32_t ns;
		int fd, ifindex;

		assert_int_equal(netdev_ns_create(h, &ns), 0);
		assert_int_equal(netdev_tap_create(h, ns, &conf, &fd, &ifindex), 0);
		assert_int_equal(tap_attach(&tap[made], TAP_ETHERNET, fd, TAP_OFFLOAD_DEFAULT), 0);
		assert_int_equal(netdev_addr_add(h, ns, ifindex, &ip, 24), 0);
		assert_int_equal(netdev_link_up(h, ns, ifindex, true), 0);
	}
	while (made)
		tap_close(&tap[--made]);
	netdev_helper_stop(h);
}

static void test_helper_userns_needs_no_privileges(void **state)
{
	struct netdev_tap_conf conf = { .ifname = "uib0" };
	struct netdev_helper *h;
	struct netdev_ns_info info;
	uint32_t a, b, own;
	int err, net_fd, user_fd, fd, ifindex;

	(void)state;
	err = netdev_helper_start(NETDEV_HELPER_USERNS, &h);
	if (err == -EPERM || err == -EUSERS || err == -ENOSPC) {
		print_message("# user namespaces are not permitted\n");
		skip();
	}
	assert_int_equal(err, 0);
	assert_true(netdev_helper_in_userns(h));
	/*
	 * The helper is in a user namespace and has no privileges outside of it. So it keeps the
	 * names of namespaces itself, and must not change /run/netns.
	 */
	assert_int_equal(netdev_ns_open(h, "uipoib-test-user", &a, &info), 0);
	assert_true(info.created && !info.named);
	assert_int_equal(access("/run/netns/uipoib-test-user", F_OK), -1);
	assert_int_equal(netdev_ns_open(h, "uipoib-test-user", &b, NULL), 0);
	assert_int_equal(a, b);
	assert_int_equal(netdev_ns_fds(h, a, &net_fd, &user_fd), 0);
	assert_true(net_fd >= 0 && user_fd >= 0);
	close(net_fd);
	close(user_fd);
	err = netdev_tap_create(h, a, &conf, &fd, &ifindex);
	if (err == -EACCES || err == -ENOENT) {
		assert_int_equal(netdev_helper_refused(h), NETDEV_REFUSED_TUN);
	} else {
		assert_int_equal(err, 0);
		close(fd);
	}
	/*
	 * The helper has no privileges in the namespace in which it was started, so it cannot make
	 * a TAP there.
	 */
	assert_int_equal(netdev_ns_open(h, NULL, &own, NULL), 0);
	err = netdev_tap_create(h, own, &conf, &fd, &ifindex);
	assert_true(err == -EPERM);
	assert_int_equal(netdev_helper_refused(h), NETDEV_REFUSED_NETNS);
	netdev_helper_stop(h);
}

/* ----- the helper ends before its client, or the client before the helper */

static void test_helper_works_after_privileges_are_gone(void **state)
{
	struct host t;
	pid_t pid;
	int status;

	(void)state;
	env_need_tap();
	pid = fork();
	if (!pid) {
		struct rtnl_link l;
		struct rtnl_ip ip = v4("10.4.0.9");

		host_make(&t);
		if (privs_drop_caps(0) || (privs_seccomp(0) && privs_seccomp(0) != -EOPNOTSUPP))
			_exit(1);
		/*
		 * Without privileges, the process can still read the link's settings and use its
		 * TAP, but it can change the namespace only through the helper.
		 */
		if (rtnl_link_get(&t.nl, t.ifindex, NULL, &l) || tap_set_carrier(&t.tap, true))
			_exit(2);
		if (rtnl_addr_add(&t.nl, t.ifindex, &ip, 24) != -EPERM)
			_exit(3);
		if (netdev_addr_add(t.h, t.ns, t.ifindex, &ip, 24) ||
		    netdev_link_up(t.h, t.ns, t.ifindex, true))
			_exit(4);
		host_free(&t);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_helper_dies_with_the_main_process(void **state)
{
	struct netdev_ns_info info;
	struct netdev_helper *h;
	char name[40], c;
	int p[2], status;
	uint32_t ns;
	pid_t pid;

	(void)state;
	need_run_dir();
	snprintf(name, sizeof(name), "uipoib-test-k%d", (int)getpid());
	snprintf(info.path, sizeof(info.path), "/run/netns/%s", name);
	assert_int_equal(pipe(p), 0);
	pid = fork();
	if (!pid) {
		if (netdev_helper_start(0, &h) || netdev_ns_open(h, name, &ns, NULL))
			_exit(1);
		/*
		 * The client is killed (kill -9), so that only the helper can remove the
		 * namespace's name.
		 */
		raise(SIGKILL);
	}
	close(p[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	/*
	 * The read ends as soon as the client is dead, because the helper has not inherited the
	 * pipe. The helper removes the name of the namespace some time later.
	 */
	assert_int_equal(read(p[0], &c, 1), 0);
	close(p[0]);
	{
		struct netns_spec spec;
		int watch, err;

		assert_int_equal(netns_spec_parse(&spec, name), 0);
		assert_int_equal(netns_watch(&watch), 0);
		err = netns_watch_add(watch, &spec);
		while (!err && !access(info.path, F_OK)) {
			env_wait(watch, POLLIN);
			netns_watch_drain(watch);
		}
		close(watch);
	}
	assert_int_equal(access(info.path, F_OK), -1);
}

static void test_helper_gone_is_an_error_not_a_signal(void **state)
{
	struct netdev_helper *h;
	struct pollfd p = { .events = POLLIN };
	struct helper_answer d = { 0 };
	uint32_t ns;

	(void)state;
	env_need_netns();
	assert_int_equal(netdev_helper_start(0, &h), 0);
	p.fd = netdev_helper_fd(h);
	assert_int_equal(poll(&p, 1, 0), 0);
	/* the helper exits when it reads end of file from its socket */
	assert_int_equal(shutdown(p.fd, SHUT_WR), 0);
	env_wait(p.fd, POLLIN);
	assert_int_equal(netdev_ns_create(h, &ns), -EPIPE);
	assert_int_equal(netdev_helper_refused(h), NETDEV_REFUSED_HELPER);
	assert_int_equal(netdev_ns_create(h, &ns), -EPIPE);
	/*
	 * Refused jobs must not stay in the queue, so the error must not change when more jobs are
	 * posted than the queue can hold.
	 */
	for (int k = 0; k < 2 * NETDEV_JOBS_MAX; k++)
		assert_int_equal(netdev_post_ns_follow(h, 1, 1, helper_answered, &d), -EPIPE);
	assert_int_equal(d.n, 0);
	netdev_helper_stop(h);
	netdev_helper_stop(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_helper_touches_only_its_own),
		cmocka_unit_test(test_helper_tap_configurations_refused),
		cmocka_unit_test(test_helper_survives_malformed_requests),
		cmocka_unit_test(test_helper_ns_handles_are_counted),
		cmocka_unit_test(test_helper_named_ns_goes_with_the_helper),
		cmocka_unit_test(test_helper_many_namespaces),
		cmocka_unit_test(test_helper_userns_needs_no_privileges),
		cmocka_unit_test(test_helper_works_after_privileges_are_gone),
		cmocka_unit_test(test_helper_dies_with_the_main_process),
		cmocka_unit_test(test_helper_gone_is_an_error_not_a_signal),
	};

	return cmocka_run_group_tests(tests, env_setup, NULL);
}

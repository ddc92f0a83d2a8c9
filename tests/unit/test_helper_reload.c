/* SPDX-License-Identifier: BSD-2-Clause */
#include "helper/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netdev/tap.h"
#include "netdev_env.h"
#include "unit/helper_answer.h"

/*
 * Tests a second helper that uses the namespaces of the first helper, as at a reload. The second
 * helper gets a namespace by a descriptor, makes a TAP that can have only one name, and is sealed.
 * Then the test detaches the second helper from its struct netdev_helper, and attaches it to a new
 * struct netdev_helper.
 */

struct rig {
	struct netdev_helper *first, *h;
	uint32_t ns_of_first, ns, number;
	int net_fd, user_fd;
	struct tap tap;
	pid_t pid;
};

static int place(struct rig *r, const char *name)
{
	struct netdev_tap_conf c = { .mtu = 2044 };
	struct helper_answer d = { 0 };

	snprintf(c.ifname, sizeof(c.ifname), "%s", name);
	assert_int_equal(netdev_post_tap_place(r->h, r->ns, r->number, &c, helper_answered, &d), 0);
	return helper_await(r->h, &d);
}

static struct rig *rig(void)
{
	static struct rig r;
	int fd, sock;

	env_need_tap();
	r = (struct rig){ 0 };
	assert_int_equal(netdev_helper_start(0, &r.first), 0);
	assert_int_equal(netdev_ns_create(r.first, &r.ns_of_first), 0);
	assert_int_equal(netdev_ns_fds(r.first, r.ns_of_first, &r.net_fd, &r.user_fd), 0);
	assert_int_equal(netdev_helper_seal(r.first), 0);
	assert_int_equal(netdev_helper_start_in(r.user_fd, &r.h), 0);
	assert_int_equal(netdev_ns_adopt(r.h, r.net_fd, &r.ns), 0);
	assert_int_equal(
		netdev_tap_named(r.h, r.ns, TAP_ETHERNET, "uib0123456789ab", false, &fd, &r.number),
		0);
	assert_int_equal(tap_attach(&r.tap, TAP_ETHERNET, fd, TAP_OFFLOAD_DEFAULT), 0);
	assert_int_equal(netdev_helper_seal(r.h), 0);
	sock = netdev_helper_detach(r.h, &r.pid);
	assert_int_equal(netdev_helper_attach(sock, &r.h), 0);
	return &r;
}

static void rig_free(struct rig *r)
{
	int status;

	tap_close(&r->tap);
	close(r->net_fd);
	if (r->user_fd >= 0)
		close(r->user_fd);
	netdev_helper_stop(r->h);
	assert_int_equal(waitpid(r->pid, &status, 0), r->pid);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	netdev_helper_stop(r->first);
}

static int open_rtnl(void *arg)
{
	return rtnl_open(arg);
}

static void test_reload_a_tap_comes_into_the_namespace_of_the_first_helper(void **state)
{
	struct rig *r = rig();
	struct netdev_ns_files files;
	struct rtnl_link l;
	struct rtnl nl;

	(void)state;
	assert_int_equal(netdev_ns_files(r->first, r->ns_of_first, NETDEV_FILE_RTNL, &files),
			 -EPERM);
	assert_true(place(r, "uib0123456789ab") > 0);
	assert_int_equal(netns_call(r->net_fd, open_rtnl, &nl), 0);
	assert_int_equal(rtnl_link_get(&nl, 0, "uib0123456789ab", &l), 0);
	assert_int_equal(l.mtu, 2044);
	rtnl_close(&nl);
	rig_free(r);
}

static void test_reload_a_named_tap_gets_no_other_name(void **state)
{
	static const char *const others[] = { "uib0123456789a", "uib0123456789ac", "lo", "x" };
	struct rig *r = rig();

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(place(r, others[i]), -EPERM);
	assert_true(place(r, "uib0123456789ab") > 0);
	rig_free(r);
}

static void test_reload_a_sealed_helper_adopts_no_namespace(void **state)
{
	struct rig *r = rig();
	uint32_t ns, number;
	int fd;

	(void)state;
	assert_int_equal(netdev_ns_adopt(r->h, r->net_fd, &ns), -EPERM);
	assert_int_equal(netdev_tap_named(r->h, r->ns, TAP_ETHERNET, "uib1", false, &fd, &number),
			 -EPERM);
	assert_int_equal(netdev_ns_adopt(r->first, r->net_fd, &ns), -EPERM);
	rig_free(r);
}

static void test_reload_a_file_that_is_no_namespace_is_refused(void **state)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC),
	    user = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	struct netdev_helper *h;
	uint32_t ns;

	(void)state;
	env_need_tap();
	assert_int_equal(netdev_helper_start_in(-1, &h), 0);
	assert_int_equal(netdev_ns_adopt(h, null, &ns), -EINVAL);
	assert_int_equal(netdev_ns_adopt(h, user, &ns), -EINVAL);
	assert_int_equal(netdev_ns_adopt(h, -1, &ns), -EINVAL);
	netdev_helper_stop(h);
	close(null);
	close(user);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reload_a_tap_comes_into_the_namespace_of_the_first_helper),
		cmocka_unit_test(test_reload_a_named_tap_gets_no_other_name),
		cmocka_unit_test(test_reload_a_sealed_helper_adopts_no_namespace),
		cmocka_unit_test(test_reload_a_file_that_is_no_namespace_is_refused),
	};

	return cmocka_run_group_tests(tests, env_setup, NULL);
}

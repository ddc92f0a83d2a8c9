/* SPDX-License-Identifier: BSD-2-Clause */
#include "helper/helper.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "os/fdpass.h"
#include "helper_rig.h"

/*
 * Tests what the helper does with the TAP of an interface when the named namespace of the TAP is
 * deleted and created again after netdev_helper_seal()
 */

struct follow {
	struct netdev_helper *h;
	struct netns_spec spec;
	char name[40];
	uint32_t ns, gen;
	struct tap tap;
	int ifindex;
};

static const struct netdev_tap_conf follow_conf = {
	.ifname = "uib0",
	.mac = { 2, 0xaa, 0xbb, 0xcc, 0xdd, 0xee },
	.mtu = 1900,
};

static void follow_make(struct follow *t)
{
	struct netdev_ns_info info;
	int fd;

	need_run_dir();
	env_need_tap();
	snprintf(t->name, sizeof(t->name), "uipoib-test-f%d", (int)getpid());
	assert_int_equal(netns_spec_parse(&t->spec, t->name), 0);
	assert_int_equal(netdev_helper_start(0, &t->h), 0);
	assert_int_equal(netdev_ns_open(t->h, t->name, &t->ns, &info), 0);
	assert_true(info.created && info.named && info.follows);
	assert_int_equal(netdev_tap_create(t->h, t->ns, &follow_conf, &fd, &t->ifindex), 0);
	assert_int_equal(tap_attach(&t->tap, TAP_ETHERNET, fd, TAP_OFFLOAD_DEFAULT), 0);
	t->gen = 1;
}

static void follow_free(struct follow *t)
{
	tap_close(&t->tap);
	netdev_helper_stop(t->h);
}

static bool no_files(const struct helper_answer *d)
{
	return d->fd < 0 && d->files.rtnl < 0 && d->files.events < 0 && d->files.igmp < 0 &&
	       d->files.igmp6 < 0 && d->files.dump < 0;
}

static struct helper_answer follow_ask(struct follow *t)
{
	struct helper_answer d = { 0 };

	assert_int_equal(netdev_post_ns_follow(t->h, t->ns, t->gen, helper_answered, &d), 0);
	helper_await_answers(t->h, &d, 1);
	return d;
}

/*
 * Act as a daemon when the namespace of a host is gone. The answer to the first request reports the
 * loss and brings no files. A real daemon then closes the old files. The second request, with .gen
 * 0, asks for the files of the new namespace.
 */
static struct helper_answer follow_ask_new(struct follow *t)
{
	struct helper_answer d = follow_ask(t);

	assert_int_equal(d.err, 0);
	assert_int_equal(d.value, 0);
	assert_true(no_files(&d));
	t->gen = 0;
	return follow_ask(t);
}

static struct helper_answer tap_return(struct follow *t)
{
	struct helper_answer d = { 0 };

	assert_int_equal(netdev_post_tap_return(t->h, t->ns, &follow_conf, helper_answered, &d), 0);
	helper_await_answers(t->h, &d, 1);
	return d;
}

static void remove_name(const struct follow *t)
{
	int fd;

	assert_int_equal(netns_open(&t->spec, &fd), 0);
	assert_int_equal(netns_remove_named(&t->spec, fd), 0);
	close(fd);
}

/*
 * Delete the namespace and create another one of the same name. Returns a descriptor of the new
 * namespace.
 */
static int make_again(const struct follow *t)
{
	int fd = -1;

	remove_name(t);
	assert_int_equal(netns_create_named(&t->spec, &fd), 0);
	return fd;
}

static void close_files(const struct helper_answer *d)
{
	fdpass_close((int[]){ d->fd, d->files.rtnl, d->files.events, d->files.igmp, d->files.igmp6,
			      d->files.dump },
		     6);
}

/*
 * Check that the TAP is in the namespace @d->fd with the requested name and index, and that the
 * helper can change the TAP there.
 */
static void check_returned(struct follow *t, const struct helper_answer *d)
{
	struct rtnl_ip ip = v4("10.4.0.1");
	struct rtnl_link l;
	struct rtnl nl;

	rtnl_attach(&nl, d->files.rtnl);
	assert_int_equal(rtnl_link_get(&nl, t->ifindex, NULL, &l), 0);
	assert_string_equal(l.name, "uib0");
	assert_int_equal(l.mtu, follow_conf.mtu);
	assert_memory_equal(l.mac, follow_conf.mac, 6);
	assert_false(l.flags & IFF_UP);
	assert_int_equal(netdev_addr_add(t->h, t->ns, t->ifindex, &ip, 24), 0);
	assert_int_equal(netdev_link_up(t->h, t->ns, t->ifindex, true), 0);
	assert_int_equal(tap_set_carrier(&t->tap, true), 0);
}

static void test_helper_namespace_that_is_made_again_is_opened_by_its_name(void **state)
{
	struct follow t;
	int last = 1;

	(void)state;
	follow_make(&t);
	assert_int_equal(netdev_helper_seal(t.h), 0);
	for (int k = 0; k < 2; k++) {
		struct helper_answer d = follow_ask(&t);
		int fd;

		assert_int_equal(d.value, t.gen);
		assert_true(no_files(&d));
		remove_name(&t);
		d = follow_ask(&t);
		assert_int_equal(d.err, 0);
		assert_int_equal(d.value, 0);
		assert_int_equal(tap_return(&t).err, -ESTALE);
		assert_int_equal(netns_create_named(&t.spec, &fd), 0);
		t.gen = 0;
		d = follow_ask(&t);
		assert_int_equal(d.err, 0);
		assert_true(d.value > 0 && d.value != last);
		last = d.value;
		assert_true(netns_same(d.fd, fd));
		t.gen = (uint32_t)d.value;
		t.ifindex = tap_return(&t).value;
		check_returned(&t, &d);
		close(fd);
		close_files(&d);
	}
	follow_free(&t);
	/*
	 * The test itself created the last namespace, so the helper has not removed the name of
	 * this namespace.
	 */
	remove_name(&t);
}

static void test_helper_lets_go_of_a_namespace_whose_name_means_another(void **state)
{
	struct helper_answer d;
	struct follow t;
	int fd;

	(void)state;
	follow_make(&t);
	assert_int_equal(netdev_helper_seal(t.h), 0);
	fd = make_again(&t);
	d = follow_ask_new(&t);
	assert_true(netns_same(d.fd, fd));
	close_files(&d);
	/*
	 * Another host that was in the replaced namespace sends its request later. The request
	 * still has .gen 1, the number of the old namespace. This host must get the new namespace,
	 * too.
	 */
	t.gen = 1;
	d = follow_ask_new(&t);
	assert_true(netns_same(d.fd, fd));
	close_files(&d);
	remove_name(&t);
	close(fd);
	follow_free(&t);
}

/*
 * The name of the namespace is a symbolic link into /proc. After netdev_helper_seal() the helper
 * cannot follow such a link. So the answer to netdev_ns_open() must already state that the helper
 * cannot follow this namespace.
 */
static void test_helper_does_not_follow_a_name_that_is_a_link(void **state)
{
	char dir[] = "/tmp/uipoib-test-XXXXXX", link[64], target[64];
	struct netdev_ns_info info;
	struct netdev_helper *h;
	uint32_t ns;

	(void)state;
	need_run_dir();
	assert_non_null(mkdtemp(dir));
	snprintf(link, sizeof(link), "%s/ns", dir);
	snprintf(target, sizeof(target), "/proc/%d/ns/net", (int)getpid());
	assert_int_equal(symlink(target, link), 0);
	assert_int_equal(netdev_helper_start(0, &h), 0);
	assert_int_equal(netdev_ns_open(h, link, &ns, &info), 0);
	assert_true(info.named);
	assert_false(info.follows);
	netdev_helper_stop(h);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(rmdir(dir), 0);
}

/*
 * When a namespace is replaced, the helper gives the old one up for all hosts that have opened it.
 * So the helper may follow the namespace only if each of these hosts has opened it by a name that
 * can be followed.
 */
static void test_helper_does_not_follow_a_namespace_that_is_opened_in_another_way_too(void **state)
{
	char name[40], path[64];
	struct netdev_ns_info info;
	struct helper_answer d = { 0 };
	struct follow t;
	uint32_t ns;
	int fd;

	(void)state;
	follow_make(&t);
	assert_int_equal(netdev_ns_open(t.h, t.spec.path, &ns, &info), 0);
	assert_int_equal(ns, t.ns);
	/*
	 * t.spec.path is the path of the file t.name in /run/netns, so the helper can follow a
	 * namespace that was opened by this path
	 */
	assert_true(info.follows);
	assert_int_equal(netns_open(&t.spec, &fd), 0);
	snprintf(name, sizeof(name), "/tmp/uipoib-test-l%d", (int)getpid());
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	assert_int_equal(symlink(path, name), 0);
	assert_int_equal(netdev_ns_open(t.h, name, &ns, &info), 0);
	assert_int_equal(ns, t.ns);
	assert_false(info.follows);
	assert_int_equal(netdev_helper_seal(t.h), 0);
	remove_name(&t);
	assert_int_equal(netdev_post_ns_follow(t.h, t.ns, 1, helper_answered, &d), 0);
	helper_await_answers(t.h, &d, 1);
	assert_int_equal(d.err, -EINVAL);
	assert_int_equal(netdev_link_up(t.h, t.ns, t.ifindex, true), 0);
	assert_int_equal(unlink(name), 0);
	close(fd);
	follow_free(&t);
}

static void test_helper_lets_go_of_nothing_when_it_cannot_look(void **state)
{
	struct follow t;
	struct helper_answer d;

	(void)state;
	follow_make(&t);
	assert_int_equal(netdev_helper_seal(t.h), 0);
	remove_name(&t);
	assert_int_equal(symlink(t.spec.path, t.spec.path), 0);
	d = follow_ask(&t);
	assert_int_equal(d.err, -ELOOP);
	assert_true(no_files(&d));
	assert_int_equal(netdev_link_up(t.h, t.ns, t.ifindex, true), 0);
	assert_int_equal(unlink(t.spec.path), 0);
	d = follow_ask(&t);
	assert_int_equal(d.err, 0);
	assert_int_equal(d.value, 0);
	follow_free(&t);
}

/* A TAP of another program in a namespace */
struct stranger {
	const char *name;
	int ifindex; /* interface index to request; 0: the kernel chooses one */
	int fd;
};

static int stranger_open(void *arg)
{
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	struct stranger *o = arg;

	o->fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	if (o->fd < 0)
		return -errno;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", o->name);
	if (o->ifindex && ioctl(o->fd, TUNSETIFINDEX, &o->ifindex))
		return -errno;
	return ioctl(o->fd, TUNSETIFF, &ifr) ? -errno : 0;
}

static int count_strangers(void *arg)
{
	return !!if_nametoindex("tap4") + !!if_nametoindex("tap5") + !!if_nametoindex("tap6") +
	       !!if_nametoindex("mine");
}

/* Replace the namespace by another one; @ret_fd gets a descriptor of the new namespace */
static void replace(struct follow *t, int *ret_fd)
{
	struct helper_answer d;

	*ret_fd = make_again(t);
	d = follow_ask_new(t);
	assert_int_equal(d.err, 0);
	t->gen = (uint32_t)d.value;
	close_files(&d);
}

static void test_helper_moves_no_link_whose_name_is_that_of_a_parked_tap(void **state)
{
	struct stranger o[3] = { { .name = "tap4" }, { .name = "tap5" }, { .name = "tap6" } };
	struct netdev_tap_conf conf = { .ifname = "uib1" };
	struct helper_answer d = { 0 };
	struct follow t;
	int first, second, fd, ifindex;

	(void)state;
	follow_make(&t);
	assert_int_equal(netdev_tap_create(t.h, t.ns, &conf, &fd, &ifindex), 0);
	assert_int_equal(netdev_helper_seal(t.h), 0);
	/*
	 * closing the descriptor of t.tap deletes this TAP, so the helper cannot move this TAP back
	 * to the helper's own namespace
	 */
	tap_close(&t.tap);
	replace(&t, &first);
	assert_int_equal(netdev_post_tap_return(t.h, t.ns, &conf, helper_answered, &d), 0);
	helper_await_answers(t.h, &d, 1);
	assert_int_equal(d.err, 0);
	for (unsigned int k = 0; k < 3; k++)
		assert_int_equal(netns_call(first, stranger_open, &o[k]), 0);
	replace(&t, &second);
	assert_int_equal(netns_call(first, count_strangers, NULL), 3);
	assert_int_equal(tap_return(&t).err, -ENODEV);
	for (unsigned int k = 0; k < 3; k++)
		close(o[k].fd);
	close(fd);
	remove_name(&t);
	close(first);
	close(second);
	netdev_helper_stop(t.h);
}

static void test_helper_moves_no_link_that_has_the_index_of_a_tap(void **state)
{
	struct stranger o = { .name = "mine" };
	struct follow t;
	int old, new;

	(void)state;
	follow_make(&t);
	assert_int_equal(netdev_helper_seal(t.h), 0);
	assert_int_equal(netns_open(&t.spec, &old), 0);
	tap_close(&t.tap);
	o.ifindex = t.ifindex;
	assert_int_equal(netns_call(old, stranger_open, &o), 0);
	replace(&t, &new);
	assert_int_equal(netns_call(old, count_strangers, NULL), 1);
	assert_int_equal(tap_return(&t).err, -ENODEV);
	close(o.fd);
	remove_name(&t);
	close(old);
	close(new);
	netdev_helper_stop(t.h);
}

/*
 * A TAP was deleted, and a link of another program has the TAP's former index. Requests for the TAP
 * must not change this link.
 */
static void test_helper_changes_no_link_that_has_the_index_of_a_tap(void **state)
{
	struct rtnl_link_conf down = { .set = RTNL_SET_MTU | RTNL_SET_UP, .mtu = 1280 };
	struct rtnl_ip ip = v4("10.4.0.1");
	struct stranger o = { .name = "mine" };
	struct rtnl_link before, after;
	struct host t;
	int ns, user;

	(void)state;
	host_make(&t);
	assert_int_equal(netdev_ns_fds(t.h, t.ns, &ns, &user), 0);
	tap_close(&t.tap);
	o.ifindex = t.ifindex;
	assert_int_equal(netns_call(ns, stranger_open, &o), 0);
	assert_int_equal(rtnl_link_get(&t.nl, t.ifindex, NULL, &before), 0);
	assert_int_equal(set_link(&t, &down), -ENODEV);
	assert_int_equal(netdev_addr_add(t.h, t.ns, t.ifindex, &ip, 24), -ENODEV);
	assert_int_equal(neigh_del(&t, &peer_mac, 1), -ENODEV);
	assert_int_equal(rtnl_link_get(&t.nl, t.ifindex, NULL, &after), 0);
	assert_string_equal(after.name, "mine");
	assert_int_equal(after.mtu, before.mtu);
	assert_int_equal(after.flags & IFF_UP, before.flags & IFF_UP);
	close(o.fd);
	close(ns);
	if (user >= 0)
		close(user);
	host_free(&t);
}

static int set_mac_of_uib0(void *arg)
{
	struct ifreq ifr = {
		.ifr_name = "uib0",
		.ifr_hwaddr = { .sa_family = 1, .sa_data = { 2, 9, 9, 9, 9, 9 } },
	};
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = ioctl(s, SIOCSIFHWADDR, &ifr) ? -errno : 0;

	(void)arg;
	close(s);
	return err;
}

/*
 * An administrator has changed the name or the MAC of the TAP. The helper must still recognize the
 * TAP.
 */
static void test_helper_knows_its_tap_by_its_mac_or_by_its_mark(void **state)
{
	int (*const change[])(void *arg) = { env_rename_uib0, set_mac_of_uib0 };

	(void)state;
	for (unsigned int k = 0; k < 2; k++) {
		struct rtnl_link_conf mtu = { .set = RTNL_SET_MTU, .mtu = 1280 };
		struct rtnl_ip ip = v4("10.4.0.1");
		struct host t;
		int ns, user;

		host_make(&t);
		assert_int_equal(netdev_ns_fds(t.h, t.ns, &ns, &user), 0);
		assert_int_equal(netns_call(ns, change[k], NULL), 0);
		assert_int_equal(set_link(&t, &mtu), 0);
		assert_int_equal(netdev_addr_add(t.h, t.ns, t.ifindex, &ip, 24), 0);
		assert_int_equal(neigh_del(&t, &peer_mac, 1), 0);
		close(ns);
		if (user >= 0)
			close(user);
		host_free(&t);
	}
}

static void test_helper_takes_no_link_that_has_the_name_of_a_tap(void **state)
{
	struct rtnl_ip ip = v4("10.4.0.1");
	struct follow t;
	int ns, other;

	(void)state;
	follow_make(&t);
	assert_int_equal(netdev_helper_seal(t.h), 0);
	tap_close(&t.tap);
	assert_int_equal(netns_open(&t.spec, &ns), 0);
	assert_int_equal(netns_call(ns, env_open_uib0, &other), 0);
	assert_int_equal(tap_return(&t).err, -ENODEV);
	for (int k = 1; k < 10; k++)
		assert_int_equal(netdev_addr_add(t.h, t.ns, t.ifindex + k, &ip, 24), -ENODEV);
	close(other);
	close(ns);
	netdev_helper_stop(t.h);
}

static void test_helper_parks_a_tap_that_was_renamed(void **state)
{
	struct helper_answer d;
	struct follow t;
	int ns, fd;

	(void)state;
	follow_make(&t);
	assert_int_equal(netdev_helper_seal(t.h), 0);
	assert_int_equal(netns_open(&t.spec, &ns), 0);
	assert_int_equal(netns_call(ns, env_rename_uib0, NULL), 0);
	fd = make_again(&t);
	d = follow_ask_new(&t);
	t.ifindex = tap_return(&t).value;
	check_returned(&t, &d);
	close_files(&d);
	remove_name(&t);
	close(ns);
	close(fd);
	follow_free(&t);
}

static void test_helper_tap_whose_name_is_taken_returns_later(void **state)
{
	struct helper_answer d, back;
	struct follow t;
	int fd, other;

	(void)state;
	follow_make(&t);
	assert_int_equal(netdev_helper_seal(t.h), 0);
	fd = make_again(&t);
	assert_int_equal(netns_call(fd, env_open_uib0, &other), 0);
	d = follow_ask_new(&t);
	back = tap_return(&t);
	assert_int_equal(back.err, -EBUSY);
	close(other);
	t.ifindex = tap_return(&t).value;
	check_returned(&t, &d);
	close_files(&d);
	remove_name(&t);
	close(fd);
	follow_free(&t);
}

/* Return a limit of open files that is just high enough for the files that are open now */
static struct rlimit no_more_files(void)
{
	struct rlimit lim;
	int low = dup(0);

	assert_true(low >= 0);
	close(low);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &lim), 0);
	lim.rlim_cur = (rlim_t)low;
	return lim;
}

static void test_helper_files_that_find_no_room_are_asked_for_again(void **state)
{
	struct rlimit saved, low;
	struct follow t;
	struct helper_answer d;
	int fd;

	(void)state;
	follow_make(&t);
	assert_int_equal(netdev_helper_seal(t.h), 0);
	fd = make_again(&t);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &saved), 0);
	low = no_more_files();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	/* Closing the files of the old namespace needs no new file, so it must succeed. */
	d = follow_ask(&t);
	assert_int_equal(d.err, 0);
	assert_int_equal(d.value, 0);
	t.gen = 0;
	d = follow_ask(&t);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &saved), 0);
	assert_int_equal(d.err, -EMFILE);
	assert_true(no_files(&d));
	d = follow_ask(&t);
	assert_int_equal(d.err, 0);
	assert_true(netns_same(d.fd, fd));
	close_files(&d);
	remove_name(&t);
	close(fd);
	follow_free(&t);
}

static void test_helper_sealed_follows_only_what_was_named_before(void **state)
{
	uint32_t anonymous, own, got;
	struct helper_answer d = { 0 };
	struct follow t;
	char pid[24];

	(void)state;
	follow_make(&t);
	snprintf(pid, sizeof(pid), "pid:%d", (int)getpid());
	assert_int_equal(netdev_ns_create(t.h, &anonymous), 0);
	assert_int_equal(netdev_ns_open(t.h, pid, &own, NULL), 0);
	assert_int_equal(netdev_ns_open(t.h, NULL, &own, NULL), 0);
	assert_int_equal(netdev_helper_seal(t.h), 0);
	assert_int_equal(netdev_post_ns_follow(t.h, anonymous, 7, helper_answered, &d), 0);
	helper_await_answers(t.h, &d, 1);
	assert_int_equal(d.err, -EINVAL);
	assert_true(no_files(&d));
	assert_int_equal(netdev_post_ns_follow(t.h, own, 7, helper_answered, &d), 0);
	helper_await_answers(t.h, &d, 2);
	assert_int_equal(d.err, -EINVAL);
	assert_int_equal(netdev_post_ns_follow(t.h, 99, 7, helper_answered, &d), 0);
	helper_await_answers(t.h, &d, 3);
	assert_int_equal(d.err, -EBADF);
	assert_int_equal(netdev_ns_open(t.h, t.name, &got, NULL), -EPERM);
	assert_int_equal(netdev_ns_open(t.h, pid, &got, NULL), -EPERM);
	follow_free(&t);
	assert_int_equal(access(t.spec.path, F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_helper_namespace_that_is_made_again_is_opened_by_its_name),
		cmocka_unit_test(test_helper_lets_go_of_a_namespace_whose_name_means_another),
		cmocka_unit_test(test_helper_does_not_follow_a_name_that_is_a_link),
		cmocka_unit_test(
			test_helper_does_not_follow_a_namespace_that_is_opened_in_another_way_too),
		cmocka_unit_test(test_helper_lets_go_of_nothing_when_it_cannot_look),
		cmocka_unit_test(test_helper_moves_no_link_whose_name_is_that_of_a_parked_tap),
		cmocka_unit_test(test_helper_moves_no_link_that_has_the_index_of_a_tap),
		cmocka_unit_test(test_helper_changes_no_link_that_has_the_index_of_a_tap),
		cmocka_unit_test(test_helper_knows_its_tap_by_its_mac_or_by_its_mark),
		cmocka_unit_test(test_helper_takes_no_link_that_has_the_name_of_a_tap),
		cmocka_unit_test(test_helper_parks_a_tap_that_was_renamed),
		cmocka_unit_test(test_helper_tap_whose_name_is_taken_returns_later),
		cmocka_unit_test(test_helper_files_that_find_no_room_are_asked_for_again),
		cmocka_unit_test(test_helper_sealed_follows_only_what_was_named_before),
	};

	return cmocka_run_group_tests(tests, env_setup, NULL);
}

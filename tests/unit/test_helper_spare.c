/* SPDX-License-Identifier: BSD-2-Clause */
#include "helper/helper.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "netdev/tap.h"
#include "netdev_env.h"
#include "unit/helper_answer.h"
#include "os/fdpass.h"

/*
 * Tests spare TAPs: they wait in a namespace that only the helper uses, until the helper places
 * them into the namespace of a host. The helper does this after netdev_helper_seal(), too.
 */

#define SPARES 3

struct rig {
	struct netdev_helper *h;
	uint32_t ns, number[SPARES];
	int net_fd, user_fd;
	struct tap tap[SPARES];
	struct netdev_ns_files files;
	struct rtnl nl;
};

static int place(struct rig *r, uint32_t number, const char *name)
{
	struct netdev_tap_conf c = { .mac = { 2, 0xaa, 0, 0, 0, 1 }, .mtu = 2044 };
	struct helper_answer d = { 0 };

	snprintf(c.ifname, sizeof(c.ifname), "%s", name);
	assert_int_equal(netdev_post_tap_place(r->h, r->ns, number, &c, helper_answered, &d), 0);
	return helper_await(r->h, &d);
}

static int park(struct rig *r, uint32_t number)
{
	struct helper_answer d = { 0 };

	assert_int_equal(netdev_post_tap_park(r->h, r->ns, number, helper_answered, &d), 0);
	return helper_await(r->h, &d);
}

static void make_spares(struct rig *r)
{
	for (unsigned int k = 0; k < SPARES; k++) {
		int fd;

		assert_int_equal(netdev_tap_spare(r->h, r->ns, TAP_ETHERNET, "ib0_1_", false, &fd,
						  &r->number[k]),
				 0);
		assert_int_equal(tap_attach(&r->tap[k], TAP_ETHERNET, fd, TAP_OFFLOAD_DEFAULT), 0);
	}
}

static struct rig *rig(void)
{
	static struct rig r;

	env_need_tap();
	r = (struct rig){ 0 };
	assert_int_equal(netdev_helper_start(0, &r.h), 0);
	assert_int_equal(netdev_ns_create(r.h, &r.ns), 0);
	assert_int_equal(netdev_ns_fds(r.h, r.ns, &r.net_fd, &r.user_fd), 0);
	assert_int_equal(netdev_ns_files(r.h, r.ns, NETDEV_FILE_RTNL, &r.files), 0);
	rtnl_attach(&r.nl, r.files.rtnl);
	make_spares(&r);
	assert_int_equal(netdev_helper_seal(r.h), 0);
	return &r;
}

static void rig_free(struct rig *r)
{
	for (unsigned int k = 0; k < SPARES; k++)
		tap_close(&r->tap[k]);
	rtnl_close(&r->nl);
	close(r->net_fd);
	if (r->user_fd >= 0)
		close(r->user_fd);
	netdev_helper_stop(r->h);
}

static bool link_is_there(struct rig *r, const char *name)
{
	struct rtnl_link l;

	return !rtnl_link_get(&r->nl, 0, name, &l);
}

static void test_H30_spare_taps_come_and_go_after_the_seal(void **state)
{
	struct rtnl_ip ip = { .family = RTNL_V4, .addr = { 10, 4, 0, 1 } };
	struct rig *r = rig();

	(void)state;
	for (unsigned int round = 0; round < 3; round++) {
		struct rtnl_link l;
		int ifindex[2];

		ifindex[0] = place(r, r->number[0], "ib0_1_7fff");
		ifindex[1] = place(r, r->number[1], round ? "ib0_1_14" : "ib0_1_8");
		assert_true(ifindex[0] > 0 && ifindex[1] > 0);
		assert_int_equal(rtnl_link_get(&r->nl, ifindex[0], NULL, &l), 0);
		assert_string_equal(l.name, "ib0_1_7fff");
		assert_int_equal(l.mtu, 2044);
		assert_false(l.flags & IFF_UP);
		assert_int_equal(netdev_addr_add(r->h, r->ns, ifindex[0], &ip, 24), 0);
		assert_int_equal(netdev_link_up(r->h, r->ns, ifindex[0], true), 0);
		assert_int_equal(park(r, r->number[0]), 0);
		assert_false(link_is_there(r, "ib0_1_7fff"));
		assert_true(link_is_there(r, round ? "ib0_1_14" : "ib0_1_8"));
		assert_int_equal(netdev_link_up(r->h, r->ns, ifindex[0], true), -ENODEV);
		assert_int_equal(park(r, r->number[1]), 0);
		assert_int_equal(park(r, r->number[1]), 0);
		assert_false(link_is_there(r, "ib0_1_14"));
	}
	rig_free(r);
}

static void test_spare_tap_has_a_name_that_no_other_has(void **state)
{
	struct rig *r = rig();

	(void)state;
	assert_true(place(r, r->number[0], "ib0_1_14") > 0);
	assert_int_equal(place(r, r->number[1], "ib0_1_14"), -EBUSY);
	assert_int_equal(park(r, r->number[0]), 0);
	assert_true(place(r, r->number[1], "ib0_1_14") > 0);
	rig_free(r);
}

static void test_spare_tap_of_nobody_is_refused(void **state)
{
	struct rig *r = rig();
	uint32_t number;
	int fd;

	(void)state;
	assert_int_equal(place(r, 0, "ib0_1_14"), -ENODEV);
	assert_int_equal(place(r, r->number[SPARES - 1] + 1, "ib0_1_14"), -ENODEV);
	assert_int_equal(park(r, 0), -ENODEV);
	assert_int_equal(place(r, r->number[0], "a/b"), -EINVAL);
	assert_int_equal(place(r, r->number[0], ""), -EINVAL);
	/* After netdev_helper_seal() the helper makes no more spare TAPs. */
	assert_int_equal(netdev_tap_spare(r->h, r->ns, TAP_ETHERNET, "ib0_1_", false, &fd, &number),
			 -EPERM);
	rig_free(r);
}

/*
 * A host learns late that its namespace was created again, and asks a second time to place its TAP.
 * The TAP is already in the new namespace, and must stay there with its name.
 */
static void test_spare_tap_that_is_placed_keeps_its_name(void **state)
{
	struct rig *r = rig();
	int ifindex;

	(void)state;
	ifindex = place(r, r->number[0], "ib0_1_14");
	assert_true(ifindex > 0);
	assert_int_equal(place(r, r->number[0], "ib0_1_14"), ifindex);
	assert_int_equal(place(r, r->number[0], "ib0_1_15"), -EALREADY);
	assert_true(link_is_there(r, "ib0_1_14"));
	assert_false(link_is_there(r, "ib0_1_15"));
	assert_int_equal(place(r, r->number[1], "ib0_1_14"), -EBUSY);
	assert_int_equal(park(r, r->number[0]), 0);
	assert_int_equal(place(r, r->number[1], "ib0_1_14") > 0, 1);
	assert_true(place(r, r->number[0], "ib0_1_15") > 0);
	rig_free(r);
}

/*
 * The helper must refuse names that have a meaning for other programs, because an attacker who
 * controls the main process could ask for such a name.
 */
static void test_spare_tap_has_a_name_that_the_configuration_allows(void **state)
{
	static const char *const no[] = { "eth0",	 "lo",	      "ib0_1_",	    "ib0_1_0",
					  "ib0_1_014",	 "ib0_1_14 ", "ib0_1_14x",  "ib0_1_1F",
					  "ib0_1_10000", "ib0_1_all", "ib0_2_14",   "ib1_1_14",
					  "xib0_1_14",	 "ib0_1",     "ib0_1_14.5", "IB0_1_14" };
	struct rig *r = rig();

	(void)state;
	for (unsigned int k = 0; k < sizeof(no) / sizeof(no[0]); k++) {
		assert_true(place(r, r->number[0], no[k]) < 0);
		assert_true(!strcmp(no[k], "lo") || !link_is_there(r, no[k]));
	}
	assert_true(place(r, r->number[0], "ib0_1_1") > 0);
	assert_true(place(r, r->number[1], "ib0_1_7fff") > 0);
	rig_free(r);
}

/*
 * The TAP of a configured interface has a number, too, but is no spare TAP. The helper must not
 * move this TAP.
 */
static void test_spare_requests_are_for_spare_taps_only(void **state)
{
	struct netdev_tap_conf c = { .ifname = "uib0" };
	struct rig r = { 0 };
	int fd, ifindex;

	(void)state;
	env_need_tap();
	assert_int_equal(netdev_helper_start(0, &r.h), 0);
	assert_int_equal(netdev_ns_create(r.h, &r.ns), 0);
	assert_int_equal(netdev_ns_files(r.h, r.ns, NETDEV_FILE_RTNL, &r.files), 0);
	rtnl_attach(&r.nl, r.files.rtnl);
	assert_int_equal(netdev_tap_create(r.h, r.ns, &c, &fd, &ifindex), 0);
	make_spares(&r);
	assert_int_equal(netdev_helper_seal(r.h), 0);
	for (uint32_t n = 0; n <= r.number[SPARES - 1]; n++) {
		bool is_spare = n >= r.number[0];

		assert_int_equal(park(&r, n), is_spare ? 0 : n ? -EPERM : -ENODEV);
		assert_int_equal(place(&r, n, "ib0_1_14") > 0, is_spare);
		assert_int_equal(park(&r, n), is_spare ? 0 : n ? -EPERM : -ENODEV);
	}
	assert_true(link_is_there(&r, "uib0"));
	assert_int_equal(netdev_link_up(r.h, r.ns, ifindex, true), 0);
	for (unsigned int k = 0; k < SPARES; k++)
		tap_close(&r.tap[k]);
	close(fd);
	rtnl_close(&r.nl);
	netdev_helper_stop(r.h);
}

/*
 * A TAP was deleted, here by closing its descriptor. A request to park this TAP must fail, and the
 * helper must forget the TAP.
 */
static void test_spare_tap_that_was_deleted_is_lost(void **state)
{
	struct rig *r = rig();

	(void)state;
	assert_true(place(r, r->number[0], "ib0_1_14") > 0);
	tap_close(&r->tap[0]);
	assert_int_equal(park(r, r->number[0]), -ENODEV);
	assert_int_equal(place(r, r->number[0], "ib0_1_14"), -ENODEV);
	assert_true(place(r, r->number[1], "ib0_1_14") > 0);
	rig_free(r);
}

/*
 * The namespace is deleted and created again. It must be possible to place a TAP of the old
 * namespace into the new one. A TAP that was parked before the new namespace exists must be free,
 * so it can be placed with another name.
 */
static void test_spare_taps_of_a_namespace_that_is_made_again(void **state)
{
	struct netdev_ns_info info;
	struct rig r = { 0 };
	struct netns_spec spec;
	struct helper_answer d = { 0 };
	char name[40];
	int fd;

	(void)state;
	env_need_tap();
	if (geteuid() || access("/run", W_OK))
		skip();
	snprintf(name, sizeof(name), "uipoib-test-s%d", (int)getpid());
	assert_int_equal(netns_spec_parse(&spec, name), 0);
	assert_int_equal(netdev_helper_start(0, &r.h), 0);
	assert_int_equal(netdev_ns_open(r.h, name, &r.ns, &info), 0);
	assert_true(info.follows);
	make_spares(&r);
	assert_int_equal(netdev_helper_seal(r.h), 0);
	assert_true(place(&r, r.number[0], "ib0_1_1") > 0);
	assert_true(place(&r, r.number[1], "ib0_1_2") > 0);
	assert_int_equal(netns_open(&spec, &fd), 0);
	assert_int_equal(netns_remove_named(&spec, fd), 0);
	close(fd);
	assert_int_equal(netdev_post_ns_follow(r.h, r.ns, 1, helper_answered, &d), 0);
	assert_int_equal(helper_await(r.h, &d), 0);
	assert_int_equal(park(&r, r.number[1]), 0);
	assert_int_equal(place(&r, r.number[0], "ib0_1_1"), -ESTALE);
	assert_int_equal(netns_create_named(&spec, &fd), 0);
	d.n = 0;
	assert_int_equal(netdev_post_ns_follow(r.h, r.ns, 2, helper_answered, &d), 0);
	assert_int_equal(helper_await(r.h, &d), 2);
	assert_true(place(&r, r.number[0], "ib0_1_1") > 0);
	assert_true(place(&r, r.number[1], "ib0_1_3") > 0);
	for (unsigned int k = 0; k < SPARES; k++)
		tap_close(&r.tap[k]);
	assert_int_equal(netns_remove_named(&spec, fd), 0);
	close(fd);
	netdev_helper_stop(r.h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_H30_spare_taps_come_and_go_after_the_seal),
		cmocka_unit_test(test_spare_tap_has_a_name_that_no_other_has),
		cmocka_unit_test(test_spare_tap_of_nobody_is_refused),
		cmocka_unit_test(test_spare_tap_that_is_placed_keeps_its_name),
		cmocka_unit_test(test_spare_tap_has_a_name_that_the_configuration_allows),
		cmocka_unit_test(test_spare_requests_are_for_spare_taps_only),
		cmocka_unit_test(test_spare_tap_that_was_deleted_is_lost),
		cmocka_unit_test(test_spare_taps_of_a_namespace_that_is_made_again),
	};

	return cmocka_run_group_tests(tests, env_setup, NULL);
}

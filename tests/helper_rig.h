/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_HELPER_RIG_H
#define TESTS_HELPER_RIG_H

/*
 * A helper process with a network namespace and a TAP in it, for tests of the requests that the
 * helper serves.
 */

#include <arpa/inet.h>

#include "helper/helper.h"
#include "netdev/tap.h"
#include "netdev_env.h"
#include "unit/helper_answer.h"

static const uint8_t peer_mac[RTNL_HW_MAX] = { 6, 1, 2, 3, 4, 5 };

static inline struct rtnl_ip v4(const char *text)
{
	struct rtnl_ip ip = { .family = RTNL_V4 };

	assert_int_equal(inet_pton(AF_INET, text, ip.addr), 1);
	return ip;
}

static inline struct rtnl_ip v6(const char *text)
{
	struct rtnl_ip ip = { .family = RTNL_V6 };

	assert_int_equal(inet_pton(AF_INET6, text, ip.addr), 1);
	return ip;
}

/*
 * A helper process, an unnamed network namespace that the helper has opened, and a TAP in this
 * namespace.
 */
struct host {
	struct netdev_helper *h;
	uint32_t ns;
	struct tap tap;
	int ifindex;
	struct netdev_ns_files files;
	struct rtnl_events events;
	struct rtnl nl;
};

static inline void host_make(struct host *t)
{
	struct netdev_tap_conf conf = {
		.ifname = "uib0",
		.mac = { 2, 0xaa, 0xbb, 0xcc, 0xdd, 0xee },
		.mtu = 2044,
		.txqlen = 500,
	};
	int fd;

	env_need_tap();
	assert_int_equal(netdev_helper_start(0, &t->h), 0);
	assert_int_equal(netdev_ns_create(t->h, &t->ns), 0);
	assert_int_equal(netdev_ns_files(t->h, t->ns,
					 NETDEV_FILE_RTNL | NETDEV_FILE_EVENTS | NETDEV_FILE_GROUPS,
					 &t->files),
			 0);
	rtnl_attach(&t->nl, t->files.rtnl);
	t->events = (struct rtnl_events){ .fd = t->files.events };
	assert_int_equal(netdev_tap_create(t->h, t->ns, &conf, &fd, &t->ifindex), 0);
	assert_int_equal(tap_attach(&t->tap, TAP_ETHERNET, fd, TAP_OFFLOAD_DEFAULT), 0);
}

static inline void host_free(struct host *t)
{
	tap_close(&t->tap);
	rtnl_close(&t->nl);
	close(t->files.events);
	close(t->files.igmp);
	if (t->files.igmp6 >= 0)
		close(t->files.igmp6);
	netdev_helper_stop(t->h);
}

static inline int set_link(struct host *t, const struct rtnl_link_conf *c)
{
	struct helper_answer d = { 0 };

	assert_int_equal(netdev_post_link(t->h, t->ns, t->ifindex, c, helper_answered, &d), 0);
	return helper_await(t->h, &d);
}

static inline int tap_forget(struct host *t)
{
	struct helper_answer d = { 0 };

	assert_int_equal(netdev_post_tap_forget(t->h, t->ns, t->ifindex, helper_answered, &d), 0);
	return helper_await(t->h, &d);
}

static inline int neigh_del(struct host *t, const uint8_t (*mac)[RTNL_HW_MAX], unsigned int n)
{
	struct helper_answer d = { 0 };

	assert_int_equal(
		netdev_post_neigh_del(t->h, t->ns, t->ifindex, mac, n, helper_answered, &d), 0);
	return helper_await(t->h, &d);
}

/* Skip the test if the process may not make a named network namespace. */
static inline void need_run_dir(void)
{
	env_need_netns();
	if (!geteuid() && !access("/run", W_OK))
		return;
	print_message("# /run is not writable\n");
	skip();
}

#endif

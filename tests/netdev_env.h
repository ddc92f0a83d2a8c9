/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_NETDEV_ENV_H
#define TESTS_NETDEV_ENV_H

/*
 * Network namespaces and TAPs of the real kernel, for tests that run as root or in a user
 * namespace. A test is skipped if it needs one of them and the process may not make it.
 */

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "netdev/netns.h"
#include "netdev/tap.h"

#define ENV_PATIENCE_MS 10000

static int env_netns_err, env_tun_err;

/*
 * Set-up of a test group: enter a user namespace unless the process runs as root, and find out
 * whether the process may make network namespaces and TAPs.
 */
static int env_setup(void **state)
{
	int fd;

	(void)state;
	env_netns_err = geteuid() ? netns_enter_userns() : 0;
	if (!env_netns_err)
		env_netns_err = netns_create(&fd);
	if (!env_netns_err)
		close(fd);
	fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	env_tun_err = fd < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return 0;
}

static inline void env_need_netns(void)
{
	if (!env_netns_err)
		return;
	print_message("# network namespaces are not permitted: %s\n", strerror(-env_netns_err));
	skip();
}

static inline void env_need_tap(void)
{
	env_need_netns();
	if (!env_tun_err)
		return;
	print_message("# /dev/net/tun: %s\n", strerror(-env_tun_err));
	skip();
}

/* Wait until one of @events is pending on @fd. The test fails if none comes for a long time. */
static inline void env_wait(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };
	int n;

	do
		n = poll(&p, 1, ENV_PATIENCE_MS);
	while (n < 0 && errno == EINTR);
	assert_int_equal(n, 1);
}

/*
 * Enter the network namespace @fd, and stay there. So each test must enter a namespace of its own.
 */
static inline void env_enter(int fd)
{
	assert_int_equal(setns(fd, CLONE_NEWNET), 0);
}

/* Make a new namespace and enter it. */
static inline void env_enter_new(void)
{
	int fd;

	assert_int_equal(netns_create(&fd), 0);
	env_enter(fd);
	close(fd);
}

/*
 * The functions below open a TAP "uib0", and rename it, in the caller's network namespace. A test
 * passes them to netns_call().
 */
static inline int env_open_uib0(void *arg)
{
	return tap_open("uib0", arg, NULL);
}

static inline int env_rename_uib0(void *arg)
{
	struct ifreq ifr = { .ifr_name = "uib0", .ifr_newname = "other" };
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = ioctl(s, SIOCSIFNAME, &ifr) ? -errno : 0;

	(void)arg;
	close(s);
	return err;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/rtnl.h"

#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <net/if.h>
#include <stdlib.h>

#include "netdev/rtnl_msg.h"
#include "netdev/tap.h"
#include "netdev_env.h"

/* ----- decoding */

static struct nlmsghdr *link_msg(char *buf)
{
	static const uint8_t mac[6] = { 2, 1, 2, 3, 4, 5 };
	void *body;
	struct nlmsghdr *nlh = rtnl_begin(buf, RTM_NEWLINK, 0, sizeof(struct ifinfomsg), &body);
	struct ifinfomsg *ifi = body;

	ifi->ifi_index = 7;
	ifi->ifi_flags = IFF_UP | IFF_RUNNING;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, "uib0");
	mnl_attr_put_u32(nlh, IFLA_MTU, 2044);
	mnl_attr_put_u8(nlh, IFLA_OPERSTATE, 6);
	mnl_attr_put_u8(nlh, IFLA_CARRIER, 1);
	mnl_attr_put(nlh, IFLA_ADDRESS, 6, mac);
	return nlh;
}

static void test_rtnl_link_event(void **state)
{
	char buf[512] __attribute__((aligned(4)));
	struct rtnl_event ev;

	(void)state;
	assert_int_equal(rtnl_event_decode(&ev, link_msg(buf)), 0);
	assert_int_equal(ev.type, RTNL_LINK_NEW);
	assert_int_equal(ev.ifindex, 7);
	assert_int_equal(ev.link.flags, IFF_UP | IFF_RUNNING);
	assert_int_equal(ev.link.mtu, 2044);
	assert_int_equal(ev.link.operstate, 6);
	assert_int_equal(ev.link.carrier, 1);
	assert_true(ev.link.has_mac);
	assert_int_equal(ev.link.mac[5], 5);
	assert_string_equal(ev.link.name, "uib0");
}

static void test_rtnl_link_event_odd_attributes(void **state)
{
	char buf[512] __attribute__((aligned(4)));
	struct nlmsghdr *nlh = link_msg(buf);
	struct rtnl_event ev;

	(void)state;
	/* An InfiniBand address, a name too long, an MTU of two octets: left as they were. */
	mnl_attr_put(nlh, IFLA_ADDRESS, 20, "01234567890123456789");
	mnl_attr_put_strz(nlh, IFLA_IFNAME, "a name much too long");
	mnl_attr_put_u16(nlh, IFLA_TXQLEN, 9);
	assert_int_equal(rtnl_event_decode(&ev, nlh), 0);
	assert_string_equal(ev.link.name, "uib0");
	assert_int_equal(ev.link.mac[5], 5);
	assert_int_equal(ev.link.txqlen, 0);
}

static struct nlmsghdr *addr_msg(char *buf, uint16_t type, uint8_t family)
{
	void *body;
	struct nlmsghdr *nlh = rtnl_begin(buf, type, 0, sizeof(struct ifaddrmsg), &body);
	struct ifaddrmsg *ifa = body;

	ifa->ifa_family = family;
	ifa->ifa_prefixlen = 24;
	ifa->ifa_index = 9;
	ifa->ifa_flags = 0x80;
	return nlh;
}

static void test_rtnl_addr_event(void **state)
{
	static const uint8_t local[4] = { 10, 4, 0, 1 }, peer[4] = { 10, 4, 0, 2 };
	char buf[512] __attribute__((aligned(4)));
	struct nlmsghdr *nlh = addr_msg(buf, RTM_DELADDR, AF_INET);
	struct rtnl_event ev;

	(void)state;
	assert_int_equal(rtnl_event_decode(&ev, nlh), -EBADMSG); /* no address */
	mnl_attr_put(nlh, IFA_ADDRESS, 4, peer);
	mnl_attr_put(nlh, IFA_LOCAL, 4, local);
	mnl_attr_put_u32(nlh, IFA_FLAGS, IFA_F_TENTATIVE | 0x100);
	assert_int_equal(rtnl_event_decode(&ev, nlh), 0);
	assert_int_equal(ev.type, RTNL_ADDR_DEL);
	assert_int_equal(ev.ifindex, 9);
	assert_int_equal(ev.addr.ip.family, RTNL_V4);
	assert_memory_equal(ev.addr.ip.addr, local, 4);
	assert_int_equal(ev.addr.plen, 24);
	assert_int_equal(ev.addr.flags, IFA_F_TENTATIVE | 0x100);
}

static void test_rtnl_every_truncation_refused_or_harmless(void **state)
{
	struct rtnl_event ev;

	(void)state;
	for (uint32_t cut = NLMSG_HDRLEN;; cut++) {
		char buf[512] __attribute__((aligned(4)));
		struct nlmsghdr *nlh = link_msg(buf);
		uint32_t whole = nlh->nlmsg_len;
		char *copy = calloc(1, NLMSG_ALIGN(cut)); /* padded, as netlink has it */
		int err;

		if (cut > whole) {
			free(copy);
			break;
		}
		nlh->nlmsg_len = cut;
		memcpy(copy, buf, cut); /* so that a sanitizer sees what is read behind it */
		err = rtnl_event_decode(&ev, (struct nlmsghdr *)copy);
		assert_int_equal(err, cut < NLMSG_LENGTH(sizeof(struct ifinfomsg)) ? -EBADMSG : 0);
		free(copy);
	}
}

static void test_rtnl_other_messages_of_no_interest(void **state)
{
	char buf[512] __attribute__((aligned(4)));
	struct nlmsghdr *nlh = link_msg(buf);
	struct rtnl_event ev;

	(void)state;
	nlh->nlmsg_type = RTM_NEWNEIGH;
	assert_int_equal(rtnl_event_decode(&ev, nlh), -EOPNOTSUPP);
	assert_int_equal(rtnl_event_decode(&ev, addr_msg(buf, RTM_NEWADDR, AF_PACKET)), -EBADMSG);
}

/* ----- against the kernel */

static int count(const struct rtnl_link *l, void *arg)
{
	(*(int *)arg)++;
	return l->ifindex == 1 && strcmp(l->name, "lo") ? -EPROTO : 0;
}

static int first(const struct rtnl_link *l, void *arg)
{
	return l->ifindex;
}

static void test_rtnl_dumps_and_errors(void **state)
{
	struct rtnl_link_conf mtu = { .set = RTNL_SET_MTU, .mtu = 100000 };
	struct rtnl_link l;
	struct rtnl nl;
	int fds[3], n = 0;

	(void)state;
	env_need_tap();
	env_enter_new();
	assert_int_equal(rtnl_open(&nl), 0);
	assert_int_equal(tap_open("t0", &fds[0], NULL), 0);
	assert_int_equal(tap_open("t1", &fds[1], NULL), 0);
	assert_int_equal(rtnl_link_dump(&nl, count, &n), 0);
	assert_int_equal(n, 3);
	/* One that is ended early leaves nothing behind for the next. */
	assert_int_equal(rtnl_link_dump(&nl, first, NULL), 1);
	assert_int_equal(rtnl_link_get(&nl, 0, "t1", &l), 0);
	assert_string_equal(l.name, "t1");
	assert_int_equal(rtnl_link_get(&nl, 0, "t2", &l), -ENODEV);
	assert_int_equal(rtnl_link_get(&nl, 4711, NULL, &l), -ENODEV);
	assert_int_equal(rtnl_link_get(&nl, 0, "a-name-of-20-letters", &l), -ENODEV);
	assert_int_equal(rtnl_link_set(&nl, l.ifindex, &mtu), -EINVAL);
	assert_non_null(strstr(nl.err, "mtu")); /* the kernel's own words */
	assert_int_equal(rtnl_link_get(&nl, 0, "lo", &l), 0);
	assert_string_equal(nl.err, "");
	close(fds[0]);
	close(fds[1]);
	rtnl_close(&nl);
	rtnl_close(&nl);
}

static void ignore(const struct rtnl_event *ev, void *arg)
{
}

static void test_rtnl_lost_events_are_said(void **state)
{
	struct rtnl_link_conf c = { .set = RTNL_SET_TXQLEN };
	int fd, size = 2048, tap, err = 0;
	struct rtnl_link l;
	struct rtnl nl;

	(void)state;
	env_need_tap();
	env_enter_new();
	assert_int_equal(rtnl_open(&nl), 0);
	assert_int_equal(tap_open("t0", &tap, NULL), 0);
	assert_int_equal(rtnl_link_get(&nl, 0, "t0", &l), 0);
	assert_int_equal(rtnl_events_open(&fd), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
	for (unsigned int i = 0; i < 100; i++) {
		c.txqlen = 100 + i;
		assert_int_equal(rtnl_link_set(&nl, l.ifindex, &c), 0);
	}
	err = rtnl_events_read(fd, ignore, NULL);
	assert_int_equal(err, -ENOBUFS);
	assert_true(rtnl_events_read(fd, ignore, NULL) >= 0);
	close(fd);
	close(tap);
	rtnl_close(&nl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rtnl_link_event),
		cmocka_unit_test(test_rtnl_link_event_odd_attributes),
		cmocka_unit_test(test_rtnl_addr_event),
		cmocka_unit_test(test_rtnl_every_truncation_refused_or_harmless),
		cmocka_unit_test(test_rtnl_other_messages_of_no_interest),
		cmocka_unit_test(test_rtnl_dumps_and_errors),
		cmocka_unit_test(test_rtnl_lost_events_are_said),
	};

	return cmocka_run_group_tests(tests, env_setup, NULL);
}

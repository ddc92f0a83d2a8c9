/* SPDX-License-Identifier: BSD-2-Clause */
#include "helper/helper.h"

#include <net/if.h>
#include <netinet/ip.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "netdev/groups.h"
#include "groups_read.h"
#include "kernel_tables.h"
#include "helper_rig.h"

/*
 * Tests what the helper does with interfaces, addresses and neighbours of a namespace, and in which
 * order.
 */

static void test_helper_tap_is_as_asked_for(void **state)
{
	static const uint8_t mac[6] = { 2, 0xaa, 0xbb, 0xcc, 0xdd, 0xee };
	struct netdev_tap_conf conf = { .ifname = "uib0" };
	struct rtnl_link l;
	struct host t;
	int fd, ifindex;

	(void)state;
	host_make(&t);
	assert_int_equal(rtnl_link_get(&t.nl, 0, "uib0", &l), 0);
	assert_int_equal(l.ifindex, t.ifindex);
	assert_int_equal(l.mtu, 2044);
	assert_int_equal(l.txqlen, 500);
	assert_memory_equal(l.mac, mac, 6);
	assert_int_equal(l.flags & IFF_UP, 0);
	assert_int_equal(l.carrier, 0);
	/* the interface must not be in the namespace of the test itself */
	assert_int_equal(if_nametoindex("uib0"), 0);

	assert_int_equal(netdev_tap_create(t.h, t.ns, &conf, &fd, &ifindex), -EBUSY);
	assert_int_equal(netdev_helper_refused(t.h), NETDEV_REFUSED_TAP);
	assert_string_equal(netdev_helper_error(t.h), "making the TAP: Device or resource busy");

	assert_int_equal(set_link(&t,
				  &(struct rtnl_link_conf){
					  .set = RTNL_SET_MTU | RTNL_SET_MAC,
					  .mtu = 1500,
					  .mac = { 6, 1, 2, 3, 4, 5 },
				  }),
			 0);
	assert_int_equal(netdev_link_up(t.h, t.ns, t.ifindex, true), 0);
	assert_int_equal(rtnl_link_get(&t.nl, t.ifindex, NULL, &l), 0);
	assert_int_equal(l.mtu, 1500);
	assert_memory_equal(l.mac, peer_mac, 6);
	assert_int_equal(l.flags & IFF_UP, IFF_UP);
	host_free(&t);
}

struct seen {
	int ifindex;
	unsigned int up, down, running, gone, addr;
};

static void on_event(const struct rtnl_event *ev, void *arg)
{
	struct seen *s = arg;

	if (ev->ifindex != s->ifindex)
		return;
	if (ev->type == RTNL_LINK_NEW) {
		s->up += !!(ev->link.flags & IFF_UP);
		s->down += !(ev->link.flags & IFF_UP);
		s->running += !!(ev->link.flags & IFF_RUNNING);
	}
	s->gone += ev->type == RTNL_LINK_DEL;
	s->addr += ev->type == RTNL_ADDR_NEW;
}

/*
 * Read the kernel's events from the descriptor that the helper has passed, until *@counter is not
 * 0.
 */
static void await(struct host *t, struct seen *s, const unsigned int *counter)
{
	while (!*counter) {
		env_wait(t->files.events, POLLIN);
		assert_true(rtnl_events_read(&t->events, on_event, s) >= 0);
	}
}

static void test_helper_events_of_the_namespace(void **state)
{
	struct rtnl_ip ip = v4("10.4.0.1");
	struct seen s = { 0 };
	struct host t;

	(void)state;
	host_make(&t);
	s.ifindex = t.ifindex;
	assert_int_equal(rtnl_events_read(&t.events, on_event, &s) >= 0, 1);
	s = (struct seen){ .ifindex = t.ifindex };
	assert_int_equal(tap_set_carrier(&t.tap, true), 0);
	assert_int_equal(netdev_link_up(t.h, t.ns, t.ifindex, true), 0);
	await(&t, &s, &s.up);
	await(&t, &s, &s.running);
	assert_int_equal(netdev_addr_add(t.h, t.ns, t.ifindex, &ip, 24), 0);
	await(&t, &s, &s.addr);
	s.down = 0;
	assert_int_equal(netdev_link_up(t.h, t.ns, t.ifindex, false), 0);
	await(&t, &s, &s.down);
	tap_close(&t.tap);
	await(&t, &s, &s.gone);
	host_free(&t);
}

static int find_addr(const struct rtnl_addr *a, void *arg)
{
	const struct rtnl_addr *want = arg;

	return a->ip.family == want->ip.family && a->plen == want->plen &&
			       !memcmp(a->ip.addr, want->ip.addr,
				       want->ip.family == RTNL_V4 ? 4 : 16)
		       ? 1
		       : 0;
}

static int link_local(const struct rtnl_addr *a, void *arg)
{
	return a->ip.family == RTNL_V6 && a->ip.addr[0] == 0xfe ? 1 : 0;
}

static int tentative(const struct rtnl_addr *a, void *arg)
{
	return a->ip.family == RTNL_V6 && (a->flags & IFA_F_TENTATIVE) ? 1 : 0;
}

static void test_helper_addresses(void **state)
{
	struct rtnl_addr a = { .ip = v4("10.4.0.1"), .plen = 24 };
	struct rtnl_addr ll = { .ip = v6("fe80::2:c903:1:2"), .plen = 64 };
	struct host t;

	(void)state;
	host_make(&t);
	assert_int_equal(tap_set_carrier(&t.tap, true), 0);
	assert_int_equal(netdev_link_up(t.h, t.ns, t.ifindex, true), 0);
	/*
	 * The only link-local address must be the one that is made from the GUID (RFC 4391 §8), so
	 * the kernel must not have added one that is made from the MAC.
	 */
	assert_int_equal(kernel_addr_dump(&t.nl, t.ifindex, link_local, NULL), 0);
	assert_int_equal(netdev_addr_add(t.h, t.ns, t.ifindex, &ll.ip, 64), 0);
	assert_int_equal(kernel_addr_dump(&t.nl, t.ifindex, find_addr, &ll), 1);
	assert_int_equal(kernel_addr_dump(&t.nl, t.ifindex, tentative, NULL), 1);

	assert_int_equal(netdev_addr_add(t.h, t.ns, t.ifindex, &a.ip, 24), 0);
	assert_int_equal(netdev_addr_add(t.h, t.ns, t.ifindex, &a.ip, 24), -EEXIST);
	assert_int_equal(netdev_helper_refused(t.h), NETDEV_REFUSED_ADDR);
	assert_int_equal(kernel_addr_dump(&t.nl, t.ifindex, find_addr, &a), 1);
	assert_int_equal(netdev_addr_add(t.h, t.ns, t.ifindex, &a.ip, 33), -EINVAL);
	assert_int_equal(netdev_helper_refused(t.h), NETDEV_REFUSED_REQUEST);
	host_free(&t);
}

static int set_forwarding(void *arg)
{
	return netns_sysctl_write("net/ipv6/conf/uib0/forwarding", arg);
}

static void test_helper_token_waits_for_router_advertisements(void **state)
{
	struct rtnl_link_conf c = { .set = RTNL_SET_TOKEN, .token = { 0, 2, 0xc9, 3, 0, 1, 0, 2 } };
	struct helper_answer d = { 0 };
	struct host t;
	int ns;

	(void)state;
	host_make(&t);
	assert_int_equal(netdev_ns_fds(t.h, t.ns, &ns, NULL), 0);
	assert_int_equal(netns_call(ns, set_forwarding, (char[]){ "1" }), 0);
	assert_int_equal(netdev_post_link(t.h, t.ns, t.ifindex, &c, helper_answered, &d), 0);
	helper_await_answers(t.h, &d, 1);
	assert_int_equal(d.err, -EINVAL);
	assert_non_null(strstr(d.text, "IPv6 token"));
	assert_int_equal(netns_call(ns, set_forwarding, (char[]){ "0" }), 0);
	assert_int_equal(set_link(&t, &c), 0);
	close(ns);
	host_free(&t);
}

static void up_with_address(struct host *t)
{
	struct rtnl_ip net = v4("10.4.0.1");

	assert_int_equal(tap_set_carrier(&t->tap, true), 0);
	assert_int_equal(netdev_link_up(t->h, t->ns, t->ifindex, true), 0);
	assert_int_equal(netdev_addr_add(t->h, t->ns, t->ifindex, &net, 16), 0);
}

static void test_helper_neighbours_of_many_macs_by_one_job(void **state)
{
	static const uint8_t mac[2][RTNL_HW_MAX] = { { 6, 9, 9, 9, 9, 9 }, { 6, 1, 2, 3, 4, 5 } };
	static const uint8_t stays[RTNL_HW_MAX] = { 6, 7, 7, 7, 7, 7 };
	struct rtnl_ip a = v4("10.4.0.2"), b = v4("10.4.0.3"), c = v4("10.4.0.4"),
		       d = v6("fe80::2");
	struct host t;

	(void)state;
	host_make(&t);
	up_with_address(&t);
	assert_int_equal(kernel_neigh_add(&t.nl, t.ifindex, &a, mac[1]), 0);
	assert_int_equal(kernel_neigh_add(&t.nl, t.ifindex, &b, mac[0]), 0);
	assert_int_equal(kernel_neigh_add(&t.nl, t.ifindex, &c, stays), 0);
	assert_int_equal(kernel_neigh_add(&t.nl, t.ifindex, &d, mac[1]), 0);
	assert_int_equal(neigh_del(&t, mac, 2), 3);
	assert_int_equal(neigh_del(&t, mac, 2), 0);
	assert_int_equal(neigh_del(&t, &stays, 1), 1);
	assert_int_equal(netdev_post_neigh_del(t.h, t.ns, t.ifindex, mac, 0, helper_answered, NULL),
			 -EINVAL);
	assert_int_equal(netdev_post_neigh_del(t.h, t.ns, t.ifindex, mac, NETDEV_HWS_MAX + 1,
					       helper_answered, NULL),
			 -EINVAL);
	host_free(&t);
}

/*
 * The kernel has learnt two neighbours, and the administrator has made a third one permanent. Only
 * the two learnt neighbours must be deleted.
 */
static void test_helper_all_neighbours_that_the_kernel_learnt(void **state)
{
	struct rtnl_ip a = v4("10.4.0.2"), b = v4("10.4.0.3"), c = v6("fd00::3");
	struct helper_answer d = { 0 };
	struct host t;

	(void)state;
	host_make(&t);
	up_with_address(&t);
	assert_int_equal(kernel_neigh_add(&t.nl, t.ifindex, &a, peer_mac), 0);
	assert_int_equal(kernel_neigh_add(&t.nl, t.ifindex, &c, peer_mac), 0);
	assert_int_equal(kernel_neigh_put(&t.nl, t.ifindex, &b, peer_mac, NUD_PERMANENT), 0);
	assert_int_equal(netdev_post_neigh_del_all(t.h, t.ns, t.ifindex, helper_answered, &d), 0);
	helper_await_answers(t.h, &d, 1);
	assert_int_equal(d.err, 0);
	assert_int_equal(d.value, 2);
	assert_int_equal(neigh_del(&t, &peer_mac, 1), 0);
	assert_int_equal(rtnl_neigh_del(&t.nl, t.ifindex, &b), 0);
	host_free(&t);
}

static void test_helper_neighbours_of_a_mac_however_many(void **state)
{
	struct rtnl_ip a = v4("10.4.0.1");
	struct host t;
	int n = 0;

	(void)state;
	host_make(&t);
	up_with_address(&t);
	for (unsigned int i = 2; i < 1500; i++) {
		a.addr[2] = (uint8_t)(i >> 8);
		a.addr[3] = (uint8_t)i;
		/*
		 * the table can be full before the end of the loop, because the kernel limits the
		 * neighbours of all namespaces together
		 */
		if (kernel_neigh_add(&t.nl, t.ifindex, &a, peer_mac))
			break;
		n++;
	}
	assert_int_equal(neigh_del(&t, &peer_mac, 1), n);
	assert_int_equal(neigh_del(&t, &peer_mac, 1), 0);
	host_free(&t);
}

/*
 * The kernel has no IPv6 on a device whose MTU is below 1280. When the MTU is 1280 or more again,
 * the helper's answer to the change of the MTU must be 1.
 */
static void test_helper_says_when_ipv6_begins_again(void **state)
{
	static const struct {
		unsigned int mtu;
		int begins;
	} steps[] = { { 1500, 0 }, { 1279, 0 }, { 1000, 0 }, { 1280, 1 }, { 2044, 0 } };
	struct host t;

	(void)state;
	host_make(&t);
	for (size_t k = 0; k < sizeof(steps) / sizeof(steps[0]); k++) {
		struct rtnl_link_conf c = { .set = RTNL_SET_MTU, .mtu = steps[k].mtu };

		assert_int_equal(set_link(&t, &c), steps[k].begins);
	}
	host_free(&t);
}

struct order {
	struct helper_answer *log;
	unsigned int at; /* number of answers that had arrived before the answer to this job */
	int err;
};

static void on_ordered(void *ctx, const struct netdev_answer *a)
{
	struct order *o = ctx;

	o->at = o->log->n++;
	o->err = a->err;
}

static void test_helper_jobs_are_done_in_order_within_a_namespace(void **state)
{
	struct rtnl_link_conf c = { .set = RTNL_SET_MTU };
	struct helper_answer log = { 0 };
	struct order o[100];
	struct rtnl_link l;
	struct host t;

	(void)state;
	host_make(&t);
	for (unsigned int k = 0; k < 100; k++) {
		o[k] = (struct order){ .log = &log };
		c.mtu = 1300 + k;
		if (k % 10 == 5)
			assert_int_equal(netdev_post_neigh_del(t.h, t.ns, t.ifindex, &peer_mac, 1,
							       on_ordered, &o[k]),
					 0);
		else
			assert_int_equal(
				netdev_post_link(t.h, t.ns, t.ifindex, &c, on_ordered, &o[k]), 0);
	}
	helper_await_answers(t.h, &log, 100);
	for (unsigned int k = 0; k < 100; k++) {
		assert_int_equal(o[k].at, k);
		assert_int_equal(o[k].err, 0);
	}
	assert_int_equal(rtnl_link_get(&t.nl, t.ifindex, NULL, &l), 0);
	assert_int_equal(l.mtu, 1399);
	host_free(&t);
}

static void test_helper_that_does_not_answer_holds_up_nobody(void **state)
{
	struct rtnl_link_conf c = { .set = RTNL_SET_MTU, .mtu = 1400 };
	struct helper_answer d = { 0 }, never = { 0 };
	struct host t;
	pid_t pid = 0;
	unsigned int n = 0;
	char path[64];
	FILE *f;

	(void)state;
	host_make(&t);
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	f = fopen(path, "r");
	assert_true(f && fscanf(f, "%d", &pid) == 1);
	fclose(f);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	while (!netdev_post_link(t.h, t.ns, t.ifindex, &c, helper_answered, n % 2 ? &d : &never))
		n++;
	assert_int_equal(n, NETDEV_JOBS_MAX);
	assert_int_equal(netdev_post_link(t.h, t.ns, t.ifindex, &c, helper_answered, &d), -ENOBUFS);
	assert_int_equal(netdev_helper_dispatch(t.h), 0);
	netdev_cancel(t.h, &never);
	assert_int_equal(kill(pid, SIGCONT), 0);
	helper_await_answers(t.h, &d, n / 2);
	assert_int_equal(never.n, 0);
	host_free(&t);
}

static int inet_socket(void *arg)
{
	(void)arg;
	return socket(AF_INET, SOCK_DGRAM, 0);
}

static void test_helper_groups_are_those_of_the_namespace(void **state)
{
	struct netdev_group g[16];
	struct ip_mreqn m = { .imr_multiaddr.s_addr = htonl(0xefc80102) };
	size_t before = 0, n;
	struct host t;
	int s, ns;

	(void)state;
	host_make(&t);
	assert_int_equal(netdev_link_up(t.h, t.ns, t.ifindex, true), 0);
	assert_int_equal(read_groups(AF_INET, t.files.igmp, t.ifindex, g, 16, &before), 0);
	assert_int_equal(netdev_ns_fds(t.h, t.ns, &ns, NULL), 0);
	s = netns_call(ns, inet_socket, NULL);
	assert_true(s >= 0);
	close(ns);
	m.imr_ifindex = t.ifindex;
	assert_int_equal(setsockopt(s, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof(m)), 0);
	assert_int_equal(read_groups(AF_INET, t.files.igmp, t.ifindex, g, 16, &n), 0);
	assert_int_equal(n, before + 1);
	assert_memory_equal(g[0].addr, ((uint8_t[]){ 239, 200, 1, 2 }), 4);
	close(s);
	assert_int_equal(read_groups(AF_INET, t.files.igmp, t.ifindex, g, 16, &n), 0);
	assert_int_equal(n, before);
	/* the kernel joins ff02::1 by itself */
	assert_int_equal(read_groups(AF_INET6, t.files.igmp6, t.ifindex, g, 16, &n), 0);
	assert_true(n >= 1);
	host_free(&t);
}

static void test_helper_sockets_have_the_names_of_the_namespace(void **state)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "\0uipoib-test" };
	uint32_t other;
	struct host t;
	int a, b, c;

	(void)state;
	host_make(&t);
	assert_int_equal(netdev_ns_create(t.h, &other), 0);
	assert_int_equal(netdev_ns_socket(t.h, t.ns, SOCK_DGRAM, &a), 0);
	assert_int_equal(netdev_ns_socket(t.h, t.ns, SOCK_DGRAM, &b), 0);
	assert_int_equal(netdev_ns_socket(t.h, other, SOCK_DGRAM, &c), 0);
	assert_int_equal(bind(a, (struct sockaddr *)&un, sizeof(un)), 0);
	assert_int_equal(bind(b, (struct sockaddr *)&un, sizeof(un)), -1);
	assert_int_equal(bind(c, (struct sockaddr *)&un, sizeof(un)), 0);
	close(a);
	close(b);
	close(c);
	assert_int_equal(netdev_ns_socket(t.h, t.ns, SOCK_RAW, &a), -EINVAL);
	host_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_helper_tap_is_as_asked_for),
		cmocka_unit_test(test_helper_events_of_the_namespace),
		cmocka_unit_test(test_helper_addresses),
		cmocka_unit_test(test_helper_token_waits_for_router_advertisements),
		cmocka_unit_test(test_helper_neighbours_of_many_macs_by_one_job),
		cmocka_unit_test(test_helper_all_neighbours_that_the_kernel_learnt),
		cmocka_unit_test(test_helper_neighbours_of_a_mac_however_many),
		cmocka_unit_test(test_helper_says_when_ipv6_begins_again),
		cmocka_unit_test(test_helper_jobs_are_done_in_order_within_a_namespace),
		cmocka_unit_test(test_helper_that_does_not_answer_holds_up_nobody),
		cmocka_unit_test(test_helper_groups_are_those_of_the_namespace),
		cmocka_unit_test(test_helper_sockets_have_the_names_of_the_namespace),
	};

	return cmocka_run_group_tests(tests, env_setup, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "helper/helper.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "os/fdpass.h"
#include "netdev/groups.h"
#include "helper/proto.h"
#include "os/privs.h"
#include "netdev/tap.h"
#include "groups_read.h"
#include "kernel_tables.h"
#include "netdev_env.h"

static const uint8_t peer_mac[RTNL_HW_MAX] = { 6, 1, 2, 3, 4, 5 };

static struct rtnl_ip v4(const char *text)
{
	struct rtnl_ip ip = { .family = RTNL_V4 };

	assert_int_equal(inet_pton(AF_INET, text, ip.addr), 1);
	return ip;
}

static struct rtnl_ip v6(const char *text)
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

static void host_make(struct host *t)
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

static void host_free(struct host *t)
{
	tap_close(&t->tap);
	rtnl_close(&t->nl);
	close(t->files.events);
	close(t->files.igmp);
	if (t->files.igmp6 >= 0)
		close(t->files.igmp6);
	netdev_helper_stop(t->h);
}

struct done {
	unsigned int n; /* number of answers so far */
	int err, value, fd;
	struct netdev_ns_files files;
	char text[NETDEV_ERR_MAX];
};

static void on_done(void *ctx, const struct netdev_answer *a)
{
	struct done *d = ctx;

	d->n++;
	d->err = a->err;
	d->value = a->value;
	d->fd = a->fd;
	d->files = a->files;
	snprintf(d->text, sizeof(d->text), "%s", a->text);
}

static void await_answers(struct netdev_helper *h, const struct done *d, unsigned int n)
{
	while (d->n < n) {
		env_wait(netdev_helper_fd(h), POLLIN);
		assert_int_equal(netdev_helper_dispatch(h), 0);
	}
}

static int set_link(struct host *t, const struct rtnl_link_conf *c)
{
	struct done d = { 0 };

	assert_int_equal(netdev_post_link(t->h, t->ns, t->ifindex, c, on_done, &d), 0);
	await_answers(t->h, &d, 1);
	return d.err;
}

static int neigh_del(struct host *t, const uint8_t (*mac)[RTNL_HW_MAX], unsigned int n)
{
	struct done d = { 0 };

	assert_int_equal(netdev_post_neigh_del(t->h, t->ns, t->ifindex, mac, n, on_done, &d), 0);
	await_answers(t->h, &d, 1);
	return d.err ? d.err : d.value;
}

/* ----- interfaces */

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
 * Read the kernel's events, for which the helper has passed a descriptor, until *@counter is not 0.
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
	 * the kernel must have been told to make none from the MAC.
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
	struct done d = { 0 };
	struct host t;
	int ns;

	(void)state;
	host_make(&t);
	assert_int_equal(netdev_ns_fds(t.h, t.ns, &ns, NULL), 0);
	assert_int_equal(netns_call(ns, set_forwarding, (char[]){ "1" }), 0);
	assert_int_equal(netdev_post_link(t.h, t.ns, t.ifindex, &c, on_done, &d), 0);
	await_answers(t.h, &d, 1);
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
	assert_int_equal(netdev_post_neigh_del(t.h, t.ns, t.ifindex, mac, 0, on_done, NULL),
			 -EINVAL);
	assert_int_equal(
		netdev_post_neigh_del(t.h, t.ns, t.ifindex, mac, NETDEV_HWS_MAX + 1, on_done, NULL),
		-EINVAL);
	host_free(&t);
}

/*
 * The kernel has learnt two neighbours, and the administrator has made a third one permanent. Only
 * the two must be deleted.
 */
static void test_helper_all_neighbours_that_the_kernel_learnt(void **state)
{
	struct rtnl_ip a = v4("10.4.0.2"), b = v4("10.4.0.3"), c = v6("fd00::3");
	struct done d = { 0 };
	struct host t;

	(void)state;
	host_make(&t);
	up_with_address(&t);
	assert_int_equal(kernel_neigh_add(&t.nl, t.ifindex, &a, peer_mac), 0);
	assert_int_equal(kernel_neigh_add(&t.nl, t.ifindex, &c, peer_mac), 0);
	assert_int_equal(kernel_neigh_put(&t.nl, t.ifindex, &b, peer_mac, NUD_PERMANENT), 0);
	assert_int_equal(netdev_post_neigh_del_all(t.h, t.ns, t.ifindex, on_done, &d), 0);
	await_answers(t.h, &d, 1);
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
		 * the table may be full earlier, because the kernel limits the neighbours of all
		 * namespaces together
		 */
		if (kernel_neigh_add(&t.nl, t.ifindex, &a, peer_mac))
			break;
		n++;
	}
	assert_int_equal(neigh_del(&t, &peer_mac, 1), n);
	assert_int_equal(neigh_del(&t, &peer_mac, 1), 0);
	host_free(&t);
}

struct order {
	struct done *log;
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
	struct done log = { 0 };
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
	await_answers(t.h, &log, 100);
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
	struct done d = { 0 }, never = { 0 };
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
	while (!netdev_post_link(t.h, t.ns, t.ifindex, &c, on_done, n % 2 ? &d : &never))
		n++;
	assert_int_equal(n, NETDEV_JOBS_MAX);
	assert_int_equal(netdev_post_link(t.h, t.ns, t.ifindex, &c, on_done, &d), -ENOBUFS);
	assert_int_equal(netdev_helper_dispatch(t.h), 0);
	netdev_cancel(t.h, &never);
	assert_int_equal(kill(pid, SIGCONT), 0);
	await_answers(t.h, &d, n / 2);
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
	size_t before, n;
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

/* ----- the trust boundary */

static void test_helper_touches_only_its_own(void **state)
{
	struct rtnl_ip ip = v4("10.4.0.1");
	struct done d = { 0 };
	struct host t;
	uint32_t own;

	(void)state;
	host_make(&t);
	/*
	 * Interface 1 of the namespace is lo, which is not a TAP of the helper. In the namespace of
	 * the test no interface has the index of the TAP.
	 */
	assert_int_equal(netdev_link_up(t.h, t.ns, 1, false), -ENODEV);
	assert_int_equal(netdev_helper_refused(t.h), NETDEV_REFUSED_REQUEST);
	assert_int_equal(netdev_ns_open(t.h, NULL, &own, NULL), 0);
	assert_int_not_equal(own, t.ns);
	assert_int_equal(netdev_addr_add(t.h, own, t.ifindex, &ip, 24), -ENODEV);
	assert_int_equal(netdev_post_neigh_del(t.h, own, 1, &peer_mac, 1, on_done, &d), 0);
	await_answers(t.h, &d, 1);
	assert_int_equal(d.err, -ENODEV);
	assert_int_equal(netdev_link_up(t.h, 0, t.ifindex, true), -EBADF);
	assert_int_equal(netdev_link_up(t.h, 99, t.ifindex, true), -EBADF);

	assert_int_equal(netdev_tap_forget(t.h, t.ns, t.ifindex), 0);
	assert_int_equal(netdev_tap_forget(t.h, t.ns, t.ifindex), -ENODEV);
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
	for (size_t len = 1; len < sizeof(req);
	     len += sizeof(req) / 40) /* the socket takes no more */
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
	/* this process is in the same namespace */
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

static void need_run_dir(void)
{
	env_need_netns();
	if (!geteuid() && !access("/run", W_OK))
		return;
	print_message("# /run is not writable\n");
	skip();
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
	 * it must not remove the namespace, because it did not create it.
	 */
	assert_int_equal(netdev_ns_open(h2, name, &b, &again), 0);
	assert_false(again.created);
	netdev_helper_stop(h2);
	assert_int_equal(access(info.path, F_OK), 0);
	netdev_helper_stop(h);
	assert_int_equal(access(info.path, F_OK), -1);
}

/* ----- a namespace that is deleted and created again after netdev_helper_seal() */

static int open_uib0(void *arg)
{
	return tap_open("uib0", arg, NULL);
}

static int rename_uib0(void *arg)
{
	struct ifreq ifr = { .ifr_name = "uib0", .ifr_newname = "other" };
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = ioctl(s, SIOCSIFNAME, &ifr) ? -errno : 0;

	close(s);
	return err;
}

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

static bool no_files(const struct done *d)
{
	return d->fd < 0 && d->files.rtnl < 0 && d->files.events < 0 && d->files.igmp < 0 &&
	       d->files.igmp6 < 0 && d->files.dump < 0;
}

static struct done follow_ask(struct follow *t)
{
	struct done d = { 0 };

	assert_int_equal(netdev_post_ns_follow(t->h, t->ns, t->gen, on_done, &d), 0);
	await_answers(t->h, &d, 1);
	return d;
}

/*
 * Ask as a daemon does that knows that the namespace is gone: first close its files, then ask for
 * those of the new namespace.
 */
static struct done follow_ask_new(struct follow *t)
{
	struct done d = follow_ask(t);

	assert_int_equal(d.err, 0);
	assert_int_equal(d.value, 0);
	assert_true(no_files(&d));
	t->gen = 0;
	return follow_ask(t);
}

static struct done tap_return(struct follow *t)
{
	struct done d = { 0 };

	assert_int_equal(netdev_post_tap_return(t->h, t->ns, &follow_conf, on_done, &d), 0);
	await_answers(t->h, &d, 1);
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

static void close_files(const struct done *d)
{
	fdpass_close((int[]){ d->fd, d->files.rtnl, d->files.events, d->files.igmp, d->files.igmp6,
			      d->files.dump },
		     6);
}

/*
 * Check that the TAP is in the namespace @d->fd with the name and the index that were requested,
 * and that the helper can change it there.
 */
static void check_returned(struct follow *t, const struct done *d)
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
		struct done d = follow_ask(&t);
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
	 * The helper did not create the last namespace, so it has not removed the namespace's name,
	 * and the test does so.
	 */
	remove_name(&t);
}

static void test_helper_lets_go_of_a_namespace_whose_name_means_another(void **state)
{
	struct done d;
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
	 * Another host in the same namespace asks later, and still has the number of the old
	 * namespace. This host must get the new namespace, too.
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
 * The name of the namespace is a link into /proc. After netdev_helper_seal() the helper cannot
 * follow such a link, so it must say before that it cannot follow this namespace.
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
 * When a namespace is replaced, the helper leaves it for all hosts that opened it. So the helper
 * may leave it only if each of these hosts opened it by a name that can be followed.
 */
static void test_helper_does_not_follow_a_namespace_that_is_opened_in_another_way_too(void **state)
{
	char name[40], path[64];
	struct netdev_ns_info info;
	struct done d = { 0 };
	struct follow t;
	uint32_t ns;
	int fd;

	(void)state;
	follow_make(&t);
	assert_int_equal(netdev_ns_open(t.h, t.spec.path, &ns, &info), 0);
	assert_int_equal(ns, t.ns);
	assert_true(info.follows); /* the same file */
	assert_int_equal(netns_open(&t.spec, &fd), 0);
	snprintf(name, sizeof(name), "/tmp/uipoib-test-l%d", (int)getpid());
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	assert_int_equal(symlink(path, name), 0);
	assert_int_equal(netdev_ns_open(t.h, name, &ns, &info), 0);
	assert_int_equal(ns, t.ns);
	assert_false(info.follows);
	assert_int_equal(netdev_helper_seal(t.h), 0);
	remove_name(&t);
	assert_int_equal(netdev_post_ns_follow(t.h, t.ns, 1, on_done, &d), 0);
	await_answers(t.h, &d, 1);
	assert_int_equal(d.err, -EINVAL);
	assert_int_equal(netdev_link_up(t.h, t.ns, t.ifindex, true), 0);
	assert_int_equal(unlink(name), 0);
	close(fd);
	follow_free(&t);
}

static void test_helper_lets_go_of_nothing_when_it_cannot_look(void **state)
{
	struct follow t;
	struct done d;

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
	struct done d;

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
	struct done d = { 0 };
	struct follow t;
	int first, second, fd, ifindex;

	(void)state;
	follow_make(&t);
	assert_int_equal(netdev_tap_create(t.h, t.ns, &conf, &fd, &ifindex), 0);
	assert_int_equal(netdev_helper_seal(t.h), 0);
	/*
	 * without the descriptor of the TAP, the helper cannot move it back to the helper's own
	 * namespace
	 */
	tap_close(&t.tap);
	replace(&t, &first);
	assert_int_equal(netdev_post_tap_return(t.h, t.ns, &conf, on_done, &d), 0);
	await_answers(t.h, &d, 1);
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
 * A TAP was deleted, and another program's link has got its index. Requests for the TAP must not
 * change this link.
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
 * An administrator has changed the name or the MAC of the TAP. The helper must still recognize it.
 */
static void test_helper_knows_its_tap_by_its_mac_or_by_its_mark(void **state)
{
	int (*const change[])(void *arg) = { rename_uib0, set_mac_of_uib0 };

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
	assert_int_equal(netns_call(ns, open_uib0, &other), 0);
	assert_int_equal(tap_return(&t).err, -ENODEV);
	for (int k = 1; k < 10; k++)
		assert_int_equal(netdev_addr_add(t.h, t.ns, t.ifindex + k, &ip, 24), -ENODEV);
	close(other);
	close(ns);
	netdev_helper_stop(t.h);
}

static void test_helper_parks_a_tap_that_was_renamed(void **state)
{
	struct done d;
	struct follow t;
	int ns, fd;

	(void)state;
	follow_make(&t);
	assert_int_equal(netdev_helper_seal(t.h), 0);
	assert_int_equal(netns_open(&t.spec, &ns), 0);
	assert_int_equal(netns_call(ns, rename_uib0, NULL), 0);
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
	struct done d, back;
	struct follow t;
	int fd, other;

	(void)state;
	follow_make(&t);
	assert_int_equal(netdev_helper_seal(t.h), 0);
	fd = make_again(&t);
	assert_int_equal(netns_call(fd, open_uib0, &other), 0);
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
	struct done d;
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
	struct done d = { 0 };
	struct follow t;
	char pid[24];

	(void)state;
	follow_make(&t);
	snprintf(pid, sizeof(pid), "pid:%d", (int)getpid());
	assert_int_equal(netdev_ns_create(t.h, &anonymous), 0);
	assert_int_equal(netdev_ns_open(t.h, pid, &own, NULL), 0);
	assert_int_equal(netdev_ns_open(t.h, NULL, &own, NULL), 0);
	assert_int_equal(netdev_helper_seal(t.h), 0);
	assert_int_equal(netdev_post_ns_follow(t.h, anonymous, 7, on_done, &d), 0);
	await_answers(t.h, &d, 1);
	assert_int_equal(d.err, -EINVAL);
	assert_true(no_files(&d));
	assert_int_equal(netdev_post_ns_follow(t.h, own, 7, on_done, &d), 0);
	await_answers(t.h, &d, 2);
	assert_int_equal(d.err, -EINVAL);
	assert_int_equal(netdev_post_ns_follow(t.h, 99, 7, on_done, &d), 0);
	await_answers(t.h, &d, 3);
	assert_int_equal(d.err, -EBADF);
	assert_int_equal(netdev_ns_open(t.h, t.name, &got, NULL), -EPERM);
	assert_int_equal(netdev_ns_open(t.h, pid, &got, NULL), -EPERM);
	follow_free(&t);
	assert_int_equal(access(t.spec.path, F_OK), -1);
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
	 * The user has no privileges, so the helper has names of its own and must not change
	 * /run/netns.
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
		 * Without privileges, reading from the kernel and calls on the TAP still work, but
		 * changes work only through the helper.
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
	 * The pipe ends as soon as the client is dead, because the helper does not have it. The
	 * helper removes the name of the namespace some time later.
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
	struct done d = { 0 };
	uint32_t ns;

	(void)state;
	env_need_netns();
	assert_int_equal(netdev_helper_start(0, &h), 0);
	p.fd = netdev_helper_fd(h);
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(shutdown(p.fd, SHUT_WR), 0); /* the helper exits when its socket ends */
	env_wait(p.fd, POLLIN);
	assert_int_equal(netdev_ns_create(h, &ns), -EPIPE);
	assert_int_equal(netdev_helper_refused(h), NETDEV_REFUSED_HELPER);
	assert_int_equal(netdev_ns_create(h, &ns), -EPIPE);
	/* A job that was refused must not stay in the queue, so the queue does not become full. */
	for (int k = 0; k < 2 * NETDEV_JOBS_MAX; k++)
		assert_int_equal(netdev_post_ns_follow(h, 1, 1, on_done, &d), -EPIPE);
	assert_int_equal(d.n, 0);
	netdev_helper_stop(h);
	netdev_helper_stop(NULL);
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
		cmocka_unit_test(test_helper_jobs_are_done_in_order_within_a_namespace),
		cmocka_unit_test(test_helper_that_does_not_answer_holds_up_nobody),
		cmocka_unit_test(test_helper_groups_are_those_of_the_namespace),
		cmocka_unit_test(test_helper_sockets_have_the_names_of_the_namespace),
		cmocka_unit_test(test_helper_touches_only_its_own),
		cmocka_unit_test(test_helper_tap_configurations_refused),
		cmocka_unit_test(test_helper_survives_malformed_requests),
		cmocka_unit_test(test_helper_ns_handles_are_counted),
		cmocka_unit_test(test_helper_named_ns_goes_with_the_helper),
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
		cmocka_unit_test(test_helper_many_namespaces),
		cmocka_unit_test(test_helper_userns_needs_no_privileges),
		cmocka_unit_test(test_helper_works_after_privileges_are_gone),
		cmocka_unit_test(test_helper_dies_with_the_main_process),
		cmocka_unit_test(test_helper_gone_is_an_error_not_a_signal),
	};

	return cmocka_run_group_tests(tests, env_setup, NULL);
}

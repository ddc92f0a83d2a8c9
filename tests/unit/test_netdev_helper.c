/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/helper.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "netdev/fdpass.h"
#include "netdev/groups.h"
#include "netdev/helper_proto.h"
#include "netdev/privs.h"
#include "netdev/tap.h"
#include "netdev_env.h"

static const uint8_t peer_mac[6] = { 6, 1, 2, 3, 4, 5 };

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

/* A helper, an anonymous namespace of its, a TAP there. */
struct host {
	struct netdev_helper *h;
	uint32_t ns;
	struct tap tap;
	int ifindex;
	struct netdev_ns_files files;
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
	assert_int_equal(netdev_tap_create(t->h, t->ns, &conf, &fd, &t->ifindex), 0);
	assert_int_equal(tap_attach(&t->tap, fd, TAP_OFFLOAD_DEFAULT), 0);
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
	assert_int_equal(if_nametoindex("uib0"), 0); /* not with us */

	assert_int_equal(netdev_tap_create(t.h, t.ns, &conf, &fd, &ifindex), -EBUSY);
	assert_int_equal(netdev_helper_refused(t.h), NETDEV_REFUSED_TAP);
	assert_string_equal(netdev_helper_error(t.h), "making the TAP: Device or resource busy");

	assert_int_equal(netdev_link_mtu(t.h, t.ns, t.ifindex, 1500), 0);
	assert_int_equal(netdev_link_mac(t.h, t.ns, t.ifindex, peer_mac), 0);
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

/* Read events until *@counter moves. */
static void await(struct host *t, struct seen *s, const unsigned int *counter)
{
	while (!*counter) {
		env_wait(t->files.events, POLLIN);
		assert_true(rtnl_events_read(t->files.events, on_event, s) >= 0);
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
	assert_int_equal(rtnl_events_read(t.files.events, on_event, &s) >= 0, 1);
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

static void test_helper_addresses(void **state)
{
	struct rtnl_addr a = { .ip = v4("10.4.0.1"), .plen = 24 };
	struct rtnl_addr ll = { .ip = v6("fe80::2:c903:1:2"), .plen = 64 };
	struct host t;

	(void)state;
	host_make(&t);
	assert_int_equal(tap_set_carrier(&t.tap, true), 0);
	assert_int_equal(netdev_link_up(t.h, t.ns, t.ifindex, true), 0);
	/* RFC 4391 §8: the address comes from the GUID; the kernel made none from the MAC. */
	assert_int_equal(rtnl_addr_dump(&t.nl, t.ifindex, link_local, NULL), 0);
	assert_int_equal(netdev_addr_add(t.h, t.ns, t.ifindex, &ll.ip, 64), 0);
	assert_int_equal(rtnl_addr_dump(&t.nl, t.ifindex, find_addr, &ll), 1);
	assert_int_equal(rtnl_addr_tentative(&t.nl, t.ifindex), 1);

	assert_int_equal(netdev_addr_add(t.h, t.ns, t.ifindex, &a.ip, 24), 0);
	assert_int_equal(netdev_addr_add(t.h, t.ns, t.ifindex, &a.ip, 24), -EEXIST);
	assert_int_equal(netdev_helper_refused(t.h), NETDEV_REFUSED_ADDR);
	assert_int_equal(rtnl_addr_dump(&t.nl, t.ifindex, find_addr, &a), 1);
	assert_int_equal(netdev_addr_del(t.h, t.ns, t.ifindex, &a.ip, 24), 0);
	assert_int_equal(rtnl_addr_dump(&t.nl, t.ifindex, find_addr, &a), 0);
	assert_int_equal(netdev_addr_del(t.h, t.ns, t.ifindex, &a.ip, 24), -EADDRNOTAVAIL);
	assert_int_equal(netdev_addr_add(t.h, t.ns, t.ifindex, &a.ip, 33), -EINVAL);
	assert_int_equal(netdev_helper_refused(t.h), NETDEV_REFUSED_REQUEST);
	host_free(&t);
}

static void test_helper_token_waits_for_router_advertisements(void **state)
{
	static const uint8_t token[8] = { 0, 2, 0xc9, 3, 0, 1, 0, 2 };
	struct host t;

	(void)state;
	host_make(&t);
	assert_int_equal(
		netdev_sysctl_set(t.h, t.ns, t.ifindex, "net.ipv6.conf.IF.forwarding", "1"), 0);
	assert_int_equal(netdev_token_set(t.h, t.ns, t.ifindex, token), -EINVAL);
	assert_int_equal(netdev_helper_refused(t.h), NETDEV_REFUSED_TOKEN);
	assert_non_null(strstr(netdev_helper_error(t.h), "IPv6 token"));
	assert_int_equal(
		netdev_sysctl_set(t.h, t.ns, t.ifindex, "net.ipv6.conf.IF.forwarding", "0"), 0);
	assert_int_equal(netdev_token_set(t.h, t.ns, t.ifindex, token), 0);
	assert_string_equal(netdev_helper_error(t.h), "");
	host_free(&t);
}

static void test_helper_neighbours_by_address_and_by_mac(void **state)
{
	static const uint8_t other[6] = { 6, 9, 9, 9, 9, 9 };
	struct rtnl_ip net = v4("10.4.0.1"), a = v4("10.4.0.2"), b = v4("10.4.0.3"),
		       c = v4("10.4.0.4"), d = v6("fe80::2");
	struct host t;

	(void)state;
	host_make(&t);
	assert_int_equal(tap_set_carrier(&t.tap, true), 0);
	assert_int_equal(netdev_link_up(t.h, t.ns, t.ifindex, true), 0);
	assert_int_equal(netdev_addr_add(t.h, t.ns, t.ifindex, &net, 24), 0);
	assert_int_equal(netdev_neigh_add(t.h, t.ns, t.ifindex, &a, peer_mac), 0);
	assert_int_equal(netdev_neigh_add(t.h, t.ns, t.ifindex, &b, peer_mac), 0);
	assert_int_equal(netdev_neigh_add(t.h, t.ns, t.ifindex, &c, other), 0);
	assert_int_equal(netdev_neigh_add(t.h, t.ns, t.ifindex, &d, peer_mac), 0);

	assert_int_equal(netdev_neigh_del_mac(t.h, t.ns, t.ifindex, peer_mac), 3);
	assert_int_equal(netdev_neigh_del_mac(t.h, t.ns, t.ifindex, peer_mac), 0);
	assert_int_equal(netdev_neigh_del(t.h, t.ns, t.ifindex, &c), 0);
	assert_int_equal(netdev_neigh_del(t.h, t.ns, t.ifindex, &c), -ENOENT);
	host_free(&t);
}

static void test_helper_neighbours_of_a_mac_however_many(void **state)
{
	struct rtnl_ip net = v4("10.4.0.1"), a = net;
	struct host t;

	(void)state;
	host_make(&t);
	assert_int_equal(tap_set_carrier(&t.tap, true), 0);
	assert_int_equal(netdev_link_up(t.h, t.ns, t.ifindex, true), 0);
	assert_int_equal(netdev_addr_add(t.h, t.ns, t.ifindex, &net, 24), 0);
	for (uint8_t i = 2; i < 152; i++) {
		a.addr[3] = i;
		assert_int_equal(netdev_neigh_add(t.h, t.ns, t.ifindex, &a, peer_mac), 0);
	}
	assert_int_equal(netdev_neigh_del_mac(t.h, t.ns, t.ifindex, peer_mac), 150);
	host_free(&t);
}

static void test_helper_default_route(void **state)
{
	struct rtnl_ip net = v4("10.4.0.1"), gw = v4("10.4.0.254"), far = v4("192.0.2.1");
	struct host t;

	(void)state;
	host_make(&t);
	assert_int_equal(netdev_link_up(t.h, t.ns, t.ifindex, true), 0);
	assert_int_equal(netdev_addr_add(t.h, t.ns, t.ifindex, &net, 24), 0);
	assert_int_equal(netdev_route_default(t.h, t.ns, t.ifindex, &far), -ENETUNREACH);
	assert_int_equal(netdev_helper_refused(t.h), NETDEV_REFUSED_ROUTE);
	assert_int_equal(netdev_route_default(t.h, t.ns, t.ifindex, &gw), 0);
	assert_int_equal(netdev_route_default(t.h, t.ns, t.ifindex, &gw), -EEXIST);
	host_free(&t);
}

static void test_helper_groups_are_those_of_the_namespace(void **state)
{
	struct netdev_group g[16];
	struct ip_mreqn m = { .imr_multiaddr.s_addr = htonl(0xefc80102) };
	size_t before, n;
	struct host t;
	int s;

	(void)state;
	host_make(&t);
	assert_int_equal(netdev_link_up(t.h, t.ns, t.ifindex, true), 0);
	assert_int_equal(groups_read(AF_INET, t.files.igmp, t.ifindex, g, 16, &before), 0);
	assert_int_equal(netdev_ns_socket(t.h, t.ns, AF_INET, SOCK_DGRAM, &s), 0);
	m.imr_ifindex = t.ifindex;
	assert_int_equal(setsockopt(s, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof(m)), 0);
	assert_int_equal(groups_read(AF_INET, t.files.igmp, t.ifindex, g, 16, &n), 0);
	assert_int_equal(n, before + 1);
	assert_memory_equal(g[0].addr, ((uint8_t[]){ 239, 200, 1, 2 }), 4);
	close(s);
	assert_int_equal(groups_read(AF_INET, t.files.igmp, t.ifindex, g, 16, &n), 0);
	assert_int_equal(n, before);
	/* ff02::1 at least */
	assert_int_equal(groups_read(AF_INET6, t.files.igmp6, t.ifindex, g, 16, &n), 0);
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
	assert_int_equal(netdev_ns_socket(t.h, t.ns, AF_UNIX, SOCK_DGRAM, &a), 0);
	assert_int_equal(netdev_ns_socket(t.h, t.ns, AF_UNIX, SOCK_DGRAM, &b), 0);
	assert_int_equal(netdev_ns_socket(t.h, other, AF_UNIX, SOCK_DGRAM, &c), 0);
	assert_int_equal(bind(a, (struct sockaddr *)&un, sizeof(un)), 0);
	assert_int_equal(bind(b, (struct sockaddr *)&un, sizeof(un)), -1);
	assert_int_equal(bind(c, (struct sockaddr *)&un, sizeof(un)), 0);
	close(a);
	close(b);
	close(c);
	assert_int_equal(netdev_ns_socket(t.h, t.ns, AF_PACKET, SOCK_DGRAM, &a), -EINVAL);
	assert_int_equal(netdev_ns_socket(t.h, t.ns, AF_INET, SOCK_RAW, &a), -EINVAL);
	host_free(&t);
}

/* ----- the trust boundary */

static void test_helper_touches_only_its_own(void **state)
{
	struct rtnl_ip ip = v4("10.4.0.1");
	struct host t;
	uint32_t own;

	(void)state;
	host_make(&t);
	/* lo of the namespace, and an index that means something only elsewhere */
	assert_int_equal(netdev_link_up(t.h, t.ns, 1, false), -ENODEV);
	assert_int_equal(netdev_helper_refused(t.h), NETDEV_REFUSED_REQUEST);
	assert_int_equal(netdev_ns_open(t.h, NULL, &own, NULL), 0);
	assert_int_not_equal(own, t.ns);
	assert_int_equal(netdev_addr_add(t.h, own, t.ifindex, &ip, 24), -ENODEV);
	assert_int_equal(netdev_neigh_del_mac(t.h, own, 1, peer_mac), -ENODEV);
	assert_int_equal(netdev_sysctl_set(t.h, own, 0, "net.ipv4.ip_forward", "0"), -EPERM);
	assert_int_equal(netdev_sysctl_set(t.h, own, 1, "net.ipv4.conf.IF.arp_ignore", "0"),
			 -EPERM);
	assert_int_equal(netdev_link_up(t.h, 0, t.ifindex, true), -EBADF);
	assert_int_equal(netdev_link_up(t.h, 99, t.ifindex, true), -EBADF);

	assert_int_equal(netdev_tap_forget(t.h, t.ns, t.ifindex), 0);
	assert_int_equal(netdev_tap_forget(t.h, t.ns, t.ifindex), -ENODEV);
	assert_int_equal(netdev_link_up(t.h, t.ns, t.ifindex, true), -ENODEV);
	host_free(&t);
}

static void test_helper_sysctl_keys(void **state)
{
	static const char *const bad[] = {
		"kernel.core_pattern",
		"net",
		"net.",
		"net.ipv4",
		"net.ipv4.",
		"net..conf",
		"net.ipv4.conf.IF.IF",
		"net.ipv4.conf.all.arp_ignore",
		"net.ipv4.conf/IF.arp_ignore",
		"net.ipv4.conf.IF.arp_ignore.",
		"net.ipv4.conf.If.arp_ignore",
		"net/../kernel.IF.core_pattern",
	};
	char longest[NETDEV_KEY_MAX + 1] = "net.ipv4.conf.IF.";
	struct host t;

	(void)state;
	host_make(&t);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(netdev_sysctl_set(t.h, t.ns, t.ifindex, bad[i], "1"), -EINVAL);
	memset(longest + 17, 'a', NETDEV_KEY_MAX - 17);
	assert_int_equal(netdev_sysctl_set(t.h, t.ns, t.ifindex, longest, "1"), -EINVAL);
	assert_int_equal(
		netdev_sysctl_set(t.h, t.ns, t.ifindex, "net.ipv4.conf.IF.arp_ignore", "1\n"),
		-EINVAL);
	assert_int_equal(netdev_sysctl_set(t.h, t.ns, t.ifindex, "net.ipv4.conf.IF.nonesuch", "1"),
			 -ENOENT);
	assert_int_equal(netdev_helper_refused(t.h), NETDEV_REFUSED_SYSCTL);
	assert_int_equal(
		netdev_sysctl_set(t.h, t.ns, t.ifindex, "net.ipv4.conf.IF.arp_ignore", "1"), 0);
	/* A namespace of ours is ours as a whole. */
	assert_int_equal(netdev_sysctl_set(t.h, t.ns, 0, "net.ipv4.conf.all.arp_ignore", "2"), 0);
	assert_int_equal(netdev_sysctl_set(t.h, t.ns, 0, "net.ipv4.conf.IF.arp_ignore", "2"),
			 -EINVAL);
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
		{ .ifname = "sixteen-letters-" }, /* no final zero */
		{ .ifname = "uib1", .mac = { 1 } },
		{ .ifname = "uib1", .mtu = 67 },
		{ .ifname = "uib1", .mtu = 65522 },
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
	for (size_t len = 1; len < sizeof(req); len += 37)
		assert_int_equal(send(sock, &req, len, 0), len);
	assert_int_equal(fdpass_send(sock, &req, sizeof(req), &null, 1), 0);
	assert_int_equal(fdpass_recv(sock, &rsp, sizeof(rsp), fds, &n), 0);
	assert_int_equal(rsp.err, -ENOSYS);
	assert_int_equal(rsp.seq, 1000000);
	req.op = HELPER_NS_OPEN;
	memset(req.spec, 'a', sizeof(req.spec));
	assert_int_equal(fdpass_send(sock, &req, sizeof(req), NULL, 0), 0);
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
	assert_int_equal(netdev_ns_check(h, c), 0);
	/* we are in it ourselves */
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
	/* Another helper finds it, and leaves it. */
	assert_int_equal(netdev_ns_open(h2, name, &b, &again), 0);
	assert_false(again.created);
	netdev_helper_stop(h2);
	assert_int_equal(access(info.path, F_OK), 0);
	assert_int_equal(netdev_ns_check(h, a), 0);
	netdev_helper_stop(h);
	assert_int_equal(access(info.path, F_OK), -1);
}

static void test_helper_sees_that_a_name_was_deleted(void **state)
{
	struct netdev_tap_conf conf = { .ifname = "uib0" };
	struct netns_spec spec;
	struct netdev_helper *h;
	uint8_t data[60] = { 2 };
	struct iovec iov = { data, sizeof(data) };
	struct tap tap;
	uint32_t ns;
	char name[40];
	int fd, ns_fd, ifindex;

	(void)state;
	env_need_tap();
	need_run_dir();
	snprintf(name, sizeof(name), "uipoib-test-d%d", (int)getpid());
	assert_int_equal(netns_spec_parse(&spec, name), 0);
	assert_int_equal(netdev_helper_start(0, &h), 0);
	assert_int_equal(netdev_ns_open(h, name, &ns, NULL), 0);
	assert_int_equal(netdev_tap_create(h, ns, &conf, &fd, &ifindex), 0);
	assert_int_equal(tap_attach(&tap, fd, 0), 0);
	assert_int_equal(netdev_link_up(h, ns, ifindex, true), 0);
	assert_int_equal(netns_open(&spec, &ns_fd), 0);
	assert_int_equal(netns_remove_named(&spec, ns_fd), 0); /* `ip netns del` */
	close(ns_fd);
	/* The TAP itself shows nothing: */
	assert_int_equal(tap_write(&tap, NULL, &iov, 1), 0);
	assert_int_equal(netdev_ns_check(h, ns), -ESTALE);
	tap_close(&tap);
	netdev_helper_stop(h);
}

static void test_helper_many_namespaces(void **state)
{
	enum { N = 100 }; /* closing a TAP takes the kernel 16 ms */
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
		assert_int_equal(tap_attach(&tap[made], fd, TAP_OFFLOAD_DEFAULT), 0);
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
	/* A name of the helper's own: nobody else's /run/netns is touched. */
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
	/* In the namespace we came from it is nobody. */
	assert_int_equal(netdev_ns_open(h, NULL, &own, NULL), 0);
	err = netdev_tap_create(h, own, &conf, &fd, &ifindex);
	assert_true(err == -EPERM);
	assert_int_equal(netdev_helper_refused(h), NETDEV_REFUSED_NETNS);
	netdev_helper_stop(h);
}

/* ----- lives and deaths */

static void test_helper_works_after_privileges_are_gone(void **state)
{
	struct host t;
	pid_t pid;
	int status;

	(void)state;
	env_need_tap();
	pid = fork();
	if (!pid) {
		char name[IFNAMSIZ];
		struct rtnl_link l;
		struct rtnl_ip ip = v4("10.4.0.9");

		host_make(&t);
		if (privs_drop_caps(0) || (privs_seccomp(0) && privs_seccomp(0) != -EOPNOTSUPP))
			_exit(1);
		/* Dumps and the TAP's own calls need nobody's help, changes do. */
		if (rtnl_link_get(&t.nl, t.ifindex, NULL, &l) || tap_check(&t.tap, name) ||
		    tap_set_carrier(&t.tap, true))
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
		/* kill -9 leaves nobody to clean up but the helper */
		raise(SIGKILL);
	}
	close(p[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	/* It keeps no descriptors of ours, so this is an event of its own: the name goes. */
	assert_int_equal(read(p[0], &c, 1), 0);
	close(p[0]);
	{
		struct netns_spec spec;
		int watch, err = netns_watch(&watch);

		assert_int_equal(netns_spec_parse(&spec, name), 0);
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
	uint32_t ns;

	(void)state;
	env_need_netns();
	assert_int_equal(netdev_helper_start(0, &h), 0);
	p.fd = netdev_helper_fd(h);
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(shutdown(p.fd, SHUT_WR), 0); /* its socket ends: it exits */
	env_wait(p.fd, POLLIN);
	assert_int_equal(netdev_ns_create(h, &ns), -EPIPE);
	assert_int_equal(netdev_helper_refused(h), NETDEV_REFUSED_HELPER);
	assert_int_equal(netdev_ns_create(h, &ns), -EPIPE);
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
		cmocka_unit_test(test_helper_neighbours_by_address_and_by_mac),
		cmocka_unit_test(test_helper_neighbours_of_a_mac_however_many),
		cmocka_unit_test(test_helper_default_route),
		cmocka_unit_test(test_helper_groups_are_those_of_the_namespace),
		cmocka_unit_test(test_helper_sockets_have_the_names_of_the_namespace),
		cmocka_unit_test(test_helper_touches_only_its_own),
		cmocka_unit_test(test_helper_sysctl_keys),
		cmocka_unit_test(test_helper_tap_configurations_refused),
		cmocka_unit_test(test_helper_survives_malformed_requests),
		cmocka_unit_test(test_helper_ns_handles_are_counted),
		cmocka_unit_test(test_helper_named_ns_goes_with_the_helper),
		cmocka_unit_test(test_helper_sees_that_a_name_was_deleted),
		cmocka_unit_test(test_helper_many_namespaces),
		cmocka_unit_test(test_helper_userns_needs_no_privileges),
		cmocka_unit_test(test_helper_works_after_privileges_are_gone),
		cmocka_unit_test(test_helper_dies_with_the_main_process),
		cmocka_unit_test(test_helper_gone_is_an_error_not_a_signal),
	};

	return cmocka_run_group_tests(tests, env_setup, NULL);
}

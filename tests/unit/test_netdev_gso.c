/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/tap.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "netdev/rtnl.h"
#include "netdev_env.h"
#include "tap_frames.h"

/*
 * 10.9.0.1  a: t0  ---  the relay below  ---  t0 :b  10.9.0.2
 *
 * Two kernels in two namespaces exchange super-frames and packets with partial checksums through
 * the packet descriptors of the relay. The receiving kernel must accept them unchanged.
 */
struct side {
	int ns;
	struct tap tap;
	const char *addr;
};

struct relay {
	struct side a, b;
	struct pkt_pool *pool;
	struct tap_rx rx;
	unsigned int gso[TAP_GSO_UDP6 + 1]; /* number of frames that came from .a.tap, by kind */
	unsigned int partial; /* number of these frames with a partial checksum */
	uint16_t gso_size; /* gso_size of the last super-frame */
};

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

static int side_setup(void *arg)
{
	struct rtnl_link_conf c = { .set = RTNL_SET_UP | RTNL_SET_MTU, .mtu = 2044 };
	struct rtnl_ip ip = { .family = RTNL_V4 };
	struct side *s = arg;
	struct rtnl_link l;
	struct rtnl nl;
	int fd, err;

	netns_sysctl_write("net/ipv6/conf/default/disable_ipv6", "1");
	inet_pton(AF_INET, s->addr, ip.addr);
	err = tap_open("t0", &fd, NULL);
	if (err)
		return err;
	err = tap_attach(&s->tap, TAP_ETHERNET, fd, TAP_OFFLOAD_DEFAULT);
	if (!err)
		err = tap_set_carrier(&s->tap, true);
	if (!err)
		err = rtnl_open(&nl);
	if (err)
		return err;
	err = rtnl_link_get(&nl, 0, "t0", &l);
	if (!err)
		err = rtnl_link_set(&nl, l.ifindex, &c);
	if (!err)
		err = rtnl_addr_add(&nl, l.ifindex, &ip, 24);
	rtnl_close(&nl);
	return err;
}

static void relay_make(struct relay *r)
{
	env_need_tap();
	memset(r, 0, sizeof(*r));
	r->a.addr = "10.9.0.1";
	r->b.addr = "10.9.0.2";
	r->pool = pkt_pool_create(PKT_BATCH, PKT_BATCH);
	tap_rx_init(&r->rx, r->pool);
	assert_int_equal(netns_create(&r->a.ns), 0);
	assert_int_equal(netns_create(&r->b.ns), 0);
	assert_int_equal(netns_call(r->a.ns, side_setup, &r->a), 0);
	assert_int_equal(netns_call(r->b.ns, side_setup, &r->b), 0);
}

static void relay_free(struct relay *r)
{
	tap_close(&r->a.tap);
	tap_close(&r->b.tap);
	close(r->a.ns);
	close(r->b.ns);
	tap_rx_fini(&r->rx);
	assert_int_equal(pkt_pool_bufs_used(r->pool), 0);
	pkt_pool_destroy(r->pool);
}

static void carry(struct relay *r, struct tap *from, struct tap *to)
{
	struct tap_frame f[PKT_BATCH];
	int n = read_frames(from, &r->rx, f, PKT_BATCH);

	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		struct tap_vnet v;

		if (from == &r->a.tap) {
			r->gso[f[i].vnet.gso]++;
			r->partial += f[i].vnet.needs_csum;
			if (f[i].vnet.gso)
				r->gso_size = f[i].vnet.gso_size;
		}
		assert_int_equal(tap_vnet_to_pkt(f[i].pkt, &f[i].vnet, TAP_ETHERNET), 0);
		tap_vnet_from_pkt(&v, f[i].pkt, TAP_ETHERNET);
		assert_int_equal(write_pkt(to, &v, f[i].pkt), 0);
		pkt_free(f[i].pkt);
	}
}

/* Wait until a TAP or a socket is ready, and relay frames between the TAPs. */
static void step(struct relay *r, int sock_a, short events_a, int sock_b)
{
	struct pollfd p[] = {
		{ .fd = r->a.tap.fd, .events = POLLIN },
		{ .fd = r->b.tap.fd, .events = POLLIN },
		{ .fd = sock_a, .events = events_a },
		{ .fd = sock_b, .events = POLLIN },
	};

	assert_true(poll(p, 4, ENV_PATIENCE_MS) > 0);
	if (p[0].revents)
		carry(r, &r->a.tap, &r->b.tap);
	if (p[1].revents)
		carry(r, &r->b.tap, &r->a.tap);
}

static int new_socket(void *arg)
{
	return socket(AF_INET, *(int *)arg | SOCK_NONBLOCK, 0);
}

static int socket_in(int ns, int type)
{
	int fd = netns_call(ns, new_socket, &type);

	assert_true(fd >= 0);
	return fd;
}

static struct sockaddr_in at(const char *addr)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(5001) };

	inet_pton(AF_INET, addr, &sin.sin_addr);
	return sin;
}

static uint8_t octet(size_t i)
{
	return (uint8_t)(i * 2654435761u >> 13);
}

static void test_gso_tcp_stream_in_super_frames(void **state)
{
	enum { TOTAL = 4 << 20 };
	static uint8_t data[TOTAL], got[65536];
	struct sockaddr_in sin = at("10.9.0.2");
	size_t sent = 0, received = 0;
	int listener, a, b = -1;
	struct relay r;

	(void)state;
	for (size_t i = 0; i < TOTAL; i++)
		data[i] = octet(i);
	relay_make(&r);
	listener = socket_in(r.b.ns, SOCK_STREAM);
	assert_int_equal(bind(listener, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(listen(listener, 1), 0);
	a = socket_in(r.a.ns, SOCK_STREAM);
	assert_int_equal(connect(a, (struct sockaddr *)&sin, sizeof(sin)), -1);
	while (b < 0) {
		step(&r, -1, 0, listener);
		b = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
	}
	while (received < TOTAL) {
		ssize_t n;

		step(&r, a, sent < TOTAL ? POLLOUT : 0, b);
		n = send(a, data + sent, TOTAL - sent, MSG_NOSIGNAL);
		sent += n > 0 ? (size_t)n : 0;
		while ((n = recv(b, got, sizeof(got), 0)) > 0) {
			assert_memory_equal(got, data + received, n);
			received += (size_t)n;
		}
	}
	assert_true(r.gso[TAP_GSO_TCP4] > 0);
	assert_true(r.gso_size > 1900 && r.gso_size <= 2044 - 40);
	/* If the relay got a frame for each TCP segment, there would be over 2000 frames. */
	assert_true(r.gso[TAP_GSO_TCP4] + r.gso[TAP_GSO_NONE] < TOTAL / 2044);
	assert_true(r.partial >= r.gso[TAP_GSO_TCP4]);
	assert_int_equal(r.a.tap.stats.rx_bad + r.b.tap.stats.rx_bad, 0);
	close(a);
	close(b);
	close(listener);
	relay_free(&r);
}

static void test_gso_udp_datagrams_in_super_frames(void **state)
{
	static uint8_t data[10 * 1000 + 500], got[2000];
	struct sockaddr_in sin = at("10.9.0.2");
	size_t received = 0;
	int a, b, size = 1000;
	struct relay r;

	(void)state;
	relay_make(&r);
	if (!(r.a.tap.offload & TAP_OFFLOAD_USO)) {
		relay_free(&r);
		print_message("# this kernel's TAPs have no UDP segmentation\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = octet(i);
	b = socket_in(r.b.ns, SOCK_DGRAM);
	assert_int_equal(bind(b, (struct sockaddr *)&sin, sizeof(sin)), 0);
	a = socket_in(r.a.ns, SOCK_DGRAM);
	assert_int_equal(connect(a, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(setsockopt(a, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size)), 0);
	assert_int_equal(send(a, data, sizeof(data), 0), sizeof(data));
	while (received < sizeof(data)) {
		ssize_t n;

		step(&r, -1, 0, b);
		while ((n = recv(b, got, sizeof(got), 0)) > 0) {
			assert_int_equal(n, received < 10000 ? 1000 : 500);
			assert_memory_equal(got, data + received, n);
			received += (size_t)n;
		}
	}
	assert_int_equal(r.gso[TAP_GSO_UDP4], 1);
	assert_int_equal(r.gso_size, 1000);
	close(a);
	close(b);
	relay_free(&r);
}

static void test_gso_off_means_single_packets(void **state)
{
	struct sockaddr_in sin = at("10.9.0.2");
	int a, b, size = 1000;
	uint8_t data[3000] = { 0 };
	struct relay r;

	(void)state;
	relay_make(&r);
	assert_int_equal(tap_set_offload(&r.a.tap, 0), 0);
	b = socket_in(r.b.ns, SOCK_DGRAM);
	assert_int_equal(bind(b, (struct sockaddr *)&sin, sizeof(sin)), 0);
	a = socket_in(r.a.ns, SOCK_DGRAM);
	assert_int_equal(connect(a, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(setsockopt(a, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size)), 0);
	assert_int_equal(send(a, data, sizeof(data), 0), sizeof(data));
	for (unsigned int n = 0; n < 3;) {
		step(&r, -1, 0, b);
		while (recv(b, data, sizeof(data), 0) == 1000)
			n++;
	}
	assert_int_equal(r.gso[TAP_GSO_UDP4], 0);
	assert_int_equal(r.partial, 0);
	close(a);
	close(b);
	relay_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gso_tcp_stream_in_super_frames),
		cmocka_unit_test(test_gso_udp_datagrams_in_super_frames),
		cmocka_unit_test(test_gso_off_means_single_packets),
	};

	return cmocka_run_group_tests(tests, env_setup, NULL);
}

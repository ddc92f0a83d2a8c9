/* SPDX-License-Identifier: BSD-2-Clause */
/* check.sh: guest */
#include "netdev/ibtap.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <sys/socket.h>

#include "netdev/rtnl.h"
#include "netdev_env.h"
#include "tap_frames.h"

/*
 * test, through AF_PACKET  ---  t0 (kernel)  ---  test, through the descriptor of /dev/ibtap
 *
 * The test is at both ends. It is skipped if ibtap.ko is not loaded; tests/interop/linux/ibtap.sh
 * runs it in a virtual machine.
 */
struct bench {
	struct pkt_pool *pool;
	struct tap tap;
	struct tap_rx rx;
	int packet;
};

#define HLEN 44
#define LONGEST (HLEN + 65520) /* longest frame that a socket can send: header + largest MTU */

static const uint8_t own[20] = { 0, 0, 1, 1, 0xfe, 0x80, [19] = 1 };
static const uint8_t peer[20] = { 0, 0, 1, 2, 0xfe, 0x80, [19] = 2 };
static const uint8_t bcast[20] = { 0,	 0xff, 0xff, 0xff,	  0xff, 0x12, 0x40,
				   0x1b, 0x81, 0x23, [16] = 0xff, 0xff, 0xff, 0xff };

static void need_module(void)
{
	env_need_netns();
	if (!access("/dev/ibtap", R_OK | W_OK))
		return;
	print_message("# /dev/ibtap: %s\n", strerror(errno));
	skip();
}

static int open_packet(int ifindex)
{
	struct sockaddr_ll sll = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(0x88b5),
		.sll_ifindex = ifindex,
	};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), size = 4 << 20;

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sll, sizeof(sll)), 0);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	return fd;
}

static void bench_make(struct bench *b)
{
	struct rtnl_link_conf c = { .set = RTNL_SET_UP | RTNL_SET_MTU, .mtu = 65520 };
	struct rtnl_link l;
	struct rtnl nl;
	int fd;

	need_module();
	env_enter_new();
	netns_sysctl_write("net/ipv6/conf/default/disable_ipv6", "1");
	b->pool = pkt_pool_create(64, 4);
	tap_rx_init(&b->rx, b->pool);
	assert_int_equal(ibtap_open("t0", &fd, NULL), 0);
	assert_int_equal(
		tap_attach(&b->tap, TAP_INFINIBAND, fd, TAP_OFFLOAD_DEFAULT | TAP_OFFLOAD_ECN), 0);
	assert_int_equal(b->tap.offload, TAP_OFFLOAD_DEFAULT | TAP_OFFLOAD_ECN);
	assert_int_equal(ibtap_set_addr(&b->tap, own), 0);
	assert_int_equal(ibtap_set_broadcast(&b->tap, bcast), 0);
	assert_int_equal(ibtap_set_max_mtu(&b->tap, 65520), 0);
	assert_int_equal(tap_set_carrier(&b->tap, true), 0);
	assert_int_equal(rtnl_open(&nl), 0);
	assert_int_equal(rtnl_link_get(&nl, 0, "t0", &l), 0);
	assert_int_equal(rtnl_link_set(&nl, l.ifindex, &c), 0);
	rtnl_close(&nl);
	b->packet = open_packet(l.ifindex);
}

static void bench_free(struct bench *b)
{
	close(b->packet);
	tap_close(&b->tap);
	tap_rx_fini(&b->rx);
	assert_int_equal(pkt_pool_pkts_used(b->pool), 0);
	pkt_pool_destroy(b->pool);
}

/* Make a frame of @len octets from @src to @dst. */
static void make_frame(uint8_t *f, size_t len, const uint8_t src[20], const uint8_t dst[20])
{
	for (size_t i = 0; i < len; i++)
		f[i] = (uint8_t)(i * 7 + len);
	memcpy(f, src, 20);
	memcpy(f + 20, dst, 20);
	memcpy(f + 40, "\x88\xb5\0\0", 4);
}

static void test_ibtap_names(void **state)
{
	const char *what = NULL;
	int a, b;

	(void)state;
	need_module();
	env_enter_new();
	assert_int_equal(ibtap_open("", &a, NULL), -EINVAL);
	assert_int_equal(ibtap_open("sixteen-letters-", &a, NULL), -EINVAL);
	assert_int_equal(ibtap_open("ib%d", &a, &what), -EINVAL);
	assert_string_equal(what, "naming the device");
	assert_int_equal(ibtap_open("t0", &a, NULL), 0);
	assert_int_equal(ibtap_open("t0", &b, &what), -EEXIST);
	assert_string_equal(what, "making the device");
	close(a);
}

static void test_ibtap_attach_refuses_other_descriptors(void **state)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct tap t = { .fd = -1 };

	(void)state;
	assert_int_equal(tap_attach(&t, TAP_INFINIBAND, fd, 0), -ENOTTY);
	assert_int_equal(t.fd, -1);
	close(fd);
}

static void test_ibtap_addresses(void **state)
{
	struct bench b;

	(void)state;
	bench_make(&b);
	assert_int_equal(ibtap_set_addr(&b.tap, bcast), -EADDRNOTAVAIL);
	assert_int_equal(ibtap_set_broadcast(&b.tap, own), -EADDRNOTAVAIL);
	assert_int_equal(ibtap_set_max_mtu(&b.tap, 67), -EINVAL);
	assert_int_equal(tap_set_offload(&b.tap, TAP_OFFLOAD_TSO), 0);
	assert_int_equal(b.tap.offload, 0);
	assert_int_equal(tap_set_offload(&b.tap, TAP_OFFLOAD_CSUM | TAP_OFFLOAD_ECN), 0);
	assert_int_equal(b.tap.offload, TAP_OFFLOAD_CSUM);
	bench_free(&b);
}

static void test_ibtap_reads_frames_of_all_lengths(void **state)
{
	static const size_t len[] = {
		HLEN, HLEN + 1, TAP_SMALL, TAP_SMALL + 1, 2088, 9000, LONGEST
	};
	static uint8_t f[LONGEST], got[LONGEST];
	struct tap_frame t;
	struct bench b;

	(void)state;
	bench_make(&b);
	assert_int_equal(tap_read(&b.tap, &b.rx, &t), -EAGAIN);
	for (unsigned int i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
		make_frame(f, len[i], own, peer);
		assert_int_equal(send(b.packet, f, len[i], 0), (ssize_t)len[i]);
		assert_int_equal(tap_read(&b.tap, &b.rx, &t), 0);
		assert_int_equal(t.pkt->len, len[i]);
		assert_int_equal(pkt_copy_out(t.pkt, 0, got, sizeof(got)), len[i]);
		assert_memory_equal(got, f, len[i]);
		assert_int_equal(t.vnet.gso, TAP_GSO_NONE);
		pkt_free(t.pkt);
	}
	bench_free(&b);
}

static void test_ibtap_writes_frames(void **state)
{
	static uint8_t f[LONGEST], got[LONGEST];
	struct bench b;

	(void)state;
	bench_make(&b);
	for (size_t len = HLEN + 1; len <= LONGEST; len = len * 3) {
		struct iovec iov[3] = { { 0 }, { f, 30 }, { f + 30, len - 30 } };

		make_frame(f, len, peer, own);
		assert_int_equal(tap_write(&b.tap, NULL, iov, 2), 0);
		assert_int_equal(recv(b.packet, got, sizeof(got), 0), (ssize_t)len);
		assert_memory_equal(got, f, len);
	}
	bench_free(&b);
}

static void test_ibtap_refuses_a_header_that_lies(void **state)
{
	const struct tap_vnet v = { .gso = TAP_GSO_TCP4,
				    .gso_size = 100,
				    .needs_csum = true,
				    .csum_start = HLEN + 20,
				    .csum_offset = 16 };
	uint8_t f[400];
	struct iovec iov[2] = { { 0 }, { f, sizeof(f) } };
	struct bench b;

	(void)state;
	bench_make(&b);
	make_frame(f, sizeof(f), peer, own);
	assert_int_equal(tap_write(&b.tap, &v, iov, 1), -EINVAL);
	assert_int_equal(b.tap.stats.tx_err, 1);
	bench_free(&b);
}

int main(void)
{
	const struct CMUnitTest t[] = {
		cmocka_unit_test(test_ibtap_names),
		cmocka_unit_test(test_ibtap_attach_refuses_other_descriptors),
		cmocka_unit_test(test_ibtap_addresses),
		cmocka_unit_test(test_ibtap_reads_frames_of_all_lengths),
		cmocka_unit_test(test_ibtap_writes_frames),
		cmocka_unit_test(test_ibtap_refuses_a_header_that_lies),
	};

	return cmocka_run_group_tests(t, env_setup, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/tap.h"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "netdev/rtnl.h"
#include "netdev/rtnl_msg.h"
#include "netdev_env.h"
#include "tap_frames.h"
#include "util/prng.h"

/*
 * test, through AF_PACKET  ---  t0 (kernel)  ---  test, through the TAP's descriptor
 *
 * The test is at both ends. The TAP is in a namespace of its own without IPv6, so that no other
 * packets appear.
 */
struct bench {
	struct pkt_pool *pool;
	struct tap tap;
	struct tap_rx rx;
	struct rtnl nl;
	int ifindex;
	int packet;
};

#define MTU 65521 /* the largest MTU of a TAP */

static int open_packet(int ifindex)
{
	struct sockaddr_ll sll = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = ifindex,
	};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), size = 4 << 20;

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sll, sizeof(sll)), 0);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	return fd;
}

static void bench_make(struct bench *b, unsigned int npkts, unsigned int nbufs)
{
	struct rtnl_link_conf c = {
		.set = RTNL_SET_UP | RTNL_SET_MTU | RTNL_SET_TXQLEN,
		.mtu = MTU,
		.txqlen = 1000,
	};
	struct rtnl_link l;
	int fd;

	env_need_tap();
	env_enter_new();
	netns_sysctl_write("net/ipv6/conf/default/disable_ipv6", "1");
	b->pool = pkt_pool_create(npkts, nbufs);
	tap_rx_init(&b->rx, b->pool);
	assert_int_equal(tap_open("t0", &fd, NULL), 0);
	assert_int_equal(tap_attach(&b->tap, TAP_ETHERNET, fd, TAP_OFFLOAD_DEFAULT), 0);
	assert_int_equal(rtnl_open(&b->nl), 0);
	assert_int_equal(rtnl_link_get(&b->nl, 0, "t0", &l), 0);
	b->ifindex = l.ifindex;
	/*
	 * Set the carrier before the device comes up. Otherwise the kernel would attach the
	 * queueing discipline some time after the carrier was set, and packets could get lost until
	 * then.
	 */
	assert_int_equal(tap_set_carrier(&b->tap, true), 0);
	assert_int_equal(rtnl_link_set(&b->nl, l.ifindex, &c), 0);
	b->packet = open_packet(l.ifindex);
}

static void bench_free(struct bench *b)
{
	close(b->packet);
	rtnl_close(&b->nl);
	tap_close(&b->tap);
	tap_rx_fini(&b->rx);
	assert_int_equal(pkt_pool_pkts_used(b->pool), 0);
	assert_int_equal(pkt_pool_bufs_used(b->pool), 0);
	pkt_pool_destroy(b->pool);
}

/* Make a frame of @len octets whose content depends on @seed. */
static void make_frame(uint8_t *f, size_t len, uint32_t seed)
{
	struct prng rng;

	prng_seed(&rng, seed);
	for (size_t i = 0; i < len; i++)
		f[i] = (uint8_t)prng_below(&rng, 256);
	f[0] = 2;
	f[12] = 0x88;
	f[13] = 0xb5; /* local experimental EtherType */
}

static void send_frame(struct bench *b, size_t len, uint32_t seed)
{
	static uint8_t f[TAP_FRAME_MAX];

	make_frame(f, len, seed);
	assert_int_equal(send(b->packet, f, len, 0), (ssize_t)len);
}

static void check_frame(const struct tap_frame *f, size_t len, uint32_t seed)
{
	static uint8_t want[TAP_FRAME_MAX], got[TAP_FRAME_MAX];

	make_frame(want, len, seed);
	assert_int_equal(f->pkt->len, len);
	assert_int_equal(pkt_copy_out(f->pkt, 0, got, sizeof(got)), len);
	assert_memory_equal(got, want, len);
	assert_int_equal(f->vnet.gso, TAP_GSO_NONE);
	assert_false(f->vnet.needs_csum);
	assert_int_equal(f->pkt->nslices, len > TAP_SMALL);
	assert_int_equal(pkt_hdr_len(f->pkt), len > TAP_SMALL ? 0 : len);
}

/* ----- the device */

static void test_tap_names(void **state)
{
	const char *what = NULL;
	int a, b;

	(void)state;
	env_need_tap();
	env_enter_new();
	assert_int_equal(tap_open("", &a, NULL), -EINVAL);
	assert_int_equal(tap_open("sixteen-letters-", &a, NULL), -EINVAL);
	assert_int_equal(tap_open("tap%d", &a, &what), -EINVAL);
	assert_non_null(what);
	assert_int_equal(tap_open("t0", &a, NULL), 0);
	assert_int_equal(tap_open("t0", &b, &what), -EBUSY);
	assert_string_equal(what, "making the TAP");
	close(a);
	assert_int_equal(tap_open("fifteen-letters", &a, NULL), 0);
	close(a);
}

static void test_tap_attach_refuses_other_descriptors(void **state)
{
	int fd = open("/dev/null", O_RDWR);
	struct tap t = { .fd = -1 };

	(void)state;
	assert_true(tap_attach(&t, TAP_ETHERNET, fd, 0) < 0);
	assert_int_equal(t.fd, -1);
	close(fd);
}

static void test_tap_carrier(void **state)
{
	struct rtnl_link l;
	struct bench b;

	(void)state;
	bench_make(&b, 1, 2);
	assert_int_equal(rtnl_link_get(&b.nl, b.ifindex, NULL, &l), 0);
	assert_int_equal(l.carrier, 1);
	assert_int_equal(l.mtu, MTU);
	assert_int_equal(l.txqlen, 1000);
	assert_int_equal(tap_set_carrier(&b.tap, false), 0);
	assert_int_equal(rtnl_link_get(&b.nl, b.ifindex, NULL, &l), 0);
	assert_int_equal(l.carrier, 0);
	bench_free(&b);
}

static void test_tap_offload_dependencies(void **state)
{
	struct bench b;

	(void)state;
	bench_make(&b, 1, 2);
	assert_true((b.tap.offload & (TAP_OFFLOAD_CSUM | TAP_OFFLOAD_TSO)) ==
		    (TAP_OFFLOAD_CSUM | TAP_OFFLOAD_TSO));
	assert_int_equal(tap_set_offload(&b.tap, TAP_OFFLOAD_TSO), 0);
	assert_int_equal(b.tap.offload, 0);
	assert_int_equal(tap_set_offload(&b.tap, TAP_OFFLOAD_CSUM | TAP_OFFLOAD_ECN), 0);
	assert_int_equal(b.tap.offload, TAP_OFFLOAD_CSUM);
	bench_free(&b);
}

static int del_link(struct rtnl *nl, int ifindex)
{
	char buf[128] __attribute__((aligned(NLMSG_ALIGNTO)));
	void *body;
	struct nlmsghdr *nlh = rtnl_begin(buf, RTM_DELLINK, 0, sizeof(struct ifinfomsg), &body);

	((struct ifinfomsg *)body)->ifi_index = ifindex;
	return rtnl_talk(nl, nlh, NULL, NULL);
}

static void test_tap_errors_of_a_downed_and_a_deleted_device(void **state)
{
	struct rtnl_link_conf down = { .set = RTNL_SET_DOWN };
	uint8_t data[60] = { 2 };
	struct tap_frame f;
	struct iovec iov[2] = { { 0 }, { data, sizeof(data) } };
	struct bench b;

	(void)state;
	bench_make(&b, 2, 2);
	assert_int_equal(read_frames(&b.tap, &b.rx, &f, 1), 0);
	assert_int_equal(tap_write(&b.tap, NULL, iov, 1), 0);
	assert_int_equal(rtnl_link_set(&b.nl, b.ifindex, &down), 0);
	assert_int_equal(tap_write(&b.tap, NULL, iov, 1), -EIO);
	assert_int_equal(b.tap.stats.tx_err, 1);
	assert_int_equal(tap_read(&b.tap, &b.rx, &f), -EAGAIN);

	assert_int_equal(del_link(&b.nl, b.ifindex), 0);
	assert_int_equal(tap_write(&b.tap, NULL, iov, 1), -EBADFD);
	assert_int_equal(read_frames(&b.tap, &b.rx, &f, 1), -EBADFD);
	bench_free(&b);
}

/* ----- reading */

static void test_tap_read_lengths(void **state)
{
	static const size_t len[] = { 14,   15,	  60,	TAP_SMALL, TAP_SMALL + 1,
				      1514, 2058, 9014, 65534,	   65535 };
	struct tap_frame f;
	struct bench b;

	(void)state;
	bench_make(&b, 4, 4);
	for (unsigned int i = 0; i < 10; i++) {
		send_frame(&b, len[i], i);
		assert_int_equal(tap_read(&b.tap, &b.rx, &f), 0);
		check_frame(&f, len[i], i);
		pkt_free(f.pkt);
	}
	assert_int_equal(b.tap.stats.rx_frames, 10);
	assert_int_equal(tap_read(&b.tap, &b.rx, &f), -EAGAIN);
	bench_free(&b);
}

static void test_tap_read_packs_frames(void **state)
{
	struct tap_frame f[PKT_BATCH];
	struct bench b;

	(void)state;
	bench_make(&b, PKT_BATCH, 8);
	for (unsigned int i = 0; i < PKT_BATCH; i++)
		send_frame(&b, 2000, i);
	assert_int_equal(read_frames(&b.tap, &b.rx, f, PKT_BATCH), PKT_BATCH);
	/* 34 frames fill a buffer, and one more buffer is reserved for the next frame. */
	assert_in_range(pkt_pool_bufs_used(b.pool), (PKT_BATCH + 33) / 34,
			(PKT_BATCH + 33) / 34 + 1);
	for (unsigned int i = 0; i < PKT_BATCH; i++) {
		check_frame(&f[i], 2000, i);
		pkt_free(f[i].pkt);
	}
	bench_free(&b);
}

static void test_tap_read_any_mixture(void **state)
{
	static const uint32_t top[] = { 100, 400, 3000, 65535 };
	struct tap_frame f[PKT_BATCH];
	size_t len[PKT_BATCH];
	struct prng rng;
	struct bench b;

	(void)state;
	bench_make(&b, PKT_BATCH, PKT_BATCH + 2);
	prng_seed(&rng, 42);
	for (unsigned int round = 0; round < 40; round++) {
		unsigned int n = 1 + prng_below(&rng, PKT_BATCH);

		for (unsigned int i = 0; i < n; i++) {
			len[i] = 14 + prng_below(&rng, top[prng_below(&rng, 4)] - 13);
			send_frame(&b, len[i], round * 100 + i);
		}
		assert_int_equal(read_frames(&b.tap, &b.rx, f, n), n);
		for (unsigned int i = 0; i < n; i++) {
			check_frame(&f[i], len[i], round * 100 + i);
			pkt_free(f[i].pkt);
		}
	}
	assert_int_equal(b.tap.stats.rx_bad, 0);
	bench_free(&b);
}

static void test_tap_read_without_memory_leaves_frames_queued(void **state)
{
	struct tap_frame f[4];
	struct bench b;

	(void)state;
	bench_make(&b, 2, 2);
	for (unsigned int i = 0; i < 3; i++)
		send_frame(&b, 60000, i);
	/* The second frame fills its buffer, and no buffer is left for a third frame. */
	assert_int_equal(read_frames(&b.tap, &b.rx, f, 4), 2);
	assert_int_equal(read_frames(&b.tap, &b.rx, f + 2, 2), -ENOBUFS);
	assert_in_range(b.tap.stats.rx_nobuf, 1, 2);
	check_frame(&f[0], 60000, 0);
	check_frame(&f[1], 60000, 1);
	pkt_free(f[0].pkt);
	pkt_free(f[1].pkt);
	assert_int_equal(tap_read(&b.tap, &b.rx, &f[2]), 0);
	check_frame(&f[2], 60000, 2);
	pkt_free(f[2].pkt);
	bench_free(&b);
}

/* ----- writing */

static void test_tap_write_from_parts(void **state)
{
	static uint8_t want[20000], got[TAP_FRAME_MAX];
	struct iovec iov[4] = { { 0 }, { want, 5 }, { want + 5, 9995 }, { want + 10000, 10000 } };
	struct pkt *p;
	struct bench b;

	(void)state;
	bench_make(&b, 2, 2);
	make_frame(want, sizeof(want), 1);
	assert_int_equal(tap_write(&b.tap, NULL, iov, 3), 0);
	assert_int_equal(recv(b.packet, got, sizeof(got), 0), sizeof(want));
	assert_memory_equal(got, want, sizeof(want));

	p = pkt_from_data(b.pool, want, 80);
	assert_int_equal(write_pkt(&b.tap, NULL, p), 0);
	assert_int_equal(recv(b.packet, got, sizeof(got), 0), 80);
	assert_memory_equal(got, want, 80);
	pkt_free(p);
	assert_int_equal(b.tap.stats.tx_frames, 2);
	assert_int_equal(b.tap.stats.tx_octets, 20080);
	bench_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tap_names),
		cmocka_unit_test(test_tap_attach_refuses_other_descriptors),
		cmocka_unit_test(test_tap_carrier),
		cmocka_unit_test(test_tap_offload_dependencies),
		cmocka_unit_test(test_tap_errors_of_a_downed_and_a_deleted_device),
		cmocka_unit_test(test_tap_read_lengths),
		cmocka_unit_test(test_tap_read_packs_frames),
		cmocka_unit_test(test_tap_read_any_mixture),
		cmocka_unit_test(test_tap_read_without_memory_leaves_frames_queued),
		cmocka_unit_test(test_tap_write_from_parts),
	};

	return cmocka_run_group_tests(tests, env_setup, NULL);
}

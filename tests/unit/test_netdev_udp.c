/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/udp_sock.h"

#include <net/if.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "netdev_env.h"

/*
 * UDP sockets on the loopback interface: every datagram must arrive unchanged, however datagrams
 * are batched into system calls.
 */

#define PATIENCE_MS 10000
#define PKTS 4096
#define BUFS 256

static const struct ip_endpoint lo4 = { .family = 4, .addr = { 127, 0, 0, 1 } };
static const struct ip_endpoint lo6 = { .family = 6, .addr = { [15] = 1 } };

struct rig {
	struct pkt_pool *pool;
	struct udp_rx *rx;
	struct udp_sock a, b;
	struct ip_endpoint at_a, at_b;
};

static void open_rig(struct rig *r, const struct ip_endpoint *lo)
{
	r->pool = pkt_pool_create(PKTS, BUFS);
	assert_non_null(r->pool);
	r->rx = udp_rx_create(r->pool);
	assert_non_null(r->rx);
	assert_int_equal(udp_sock_open(&r->a, lo, &r->at_a), 0);
	assert_int_equal(udp_sock_open(&r->b, lo, &r->at_b), 0);
	assert_int_not_equal(r->at_b.port, 0);
}

static void close_rig(struct rig *r)
{
	udp_sock_close(&r->a);
	udp_sock_close(&r->a);
	udp_sock_close(&r->b);
	udp_rx_destroy(r->rx);
	assert_int_equal(pkt_pool_pkts_used(r->pool), 0);
	assert_int_equal(pkt_pool_bufs_used(r->pool), 0);
	pkt_pool_destroy(r->pool);
}

/* Returns the content of octet @i of datagram @number, which has @len octets. */
static uint8_t octet(unsigned int number, size_t len, size_t i)
{
	return (uint8_t)(number * 31 + len * 7 + i * 13 + (i >> 8));
}

/*
 * Make a packet that consists of headers, up to two slices and a tail, like the packets of a
 * fabric.
 */
static struct pkt *make(struct rig *r, unsigned int number, size_t len)
{
	size_t hdr = len < 80 ? len / 2 : 68, tail = len < 80 ? len - hdr : 6;
	size_t body = len - hdr - tail, first = number & 1 ? body / 3 : body, at = 0;
	struct pkt_buf *b = pkt_buf_alloc(r->pool);
	struct pkt *p = pkt_alloc(r->pool);

	assert_true(p && b && tail <= PKT_TAIL_MAX + 40);
	if (tail > PKT_TAIL_MAX) {
		hdr += tail - PKT_TAIL_MAX;
		tail = PKT_TAIL_MAX;
	}
	pkt_push(p, (unsigned int)hdr);
	for (size_t i = 0; i < hdr; i++)
		pkt_hdr(p)[i] = octet(number, len, at++);
	for (size_t i = 0; i < body; i++)
		b->data[i] = octet(number, len, at++);
	if (first)
		pkt_add_slice(p, b, b->data, (uint32_t)first);
	if (body > first)
		pkt_add_slice(p, b, b->data + first, (uint32_t)(body - first));
	for (size_t i = 0; i < tail; i++)
		p->tail[i] = octet(number, len, at++);
	p->tail_len = (uint8_t)tail;
	pkt_buf_put(b);
	return p;
}

static void wait_for(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
}

static void send_all(struct rig *r, const size_t *len, unsigned int n)
{
	struct pkt *v[PKT_BATCH];
	unsigned int done = 0;
	struct udp_batch b;

	for (unsigned int i = 0; i < n; i++)
		v[i] = make(r, i, len[i]);
	while (done < n) {
		bool gso = r->a.gso;
		int sent;

		udp_batch_begin(&b, gso);
		for (unsigned int i = done; i < n; i++)
			assert_true(udp_batch_add(&b, v[i]));
		sent = udp_sock_send(&r->a, &r->at_b, &b);
		if (sent == -EOPNOTSUPP) {
			assert_true(gso && !r->a.gso);
			continue;
		}
		assert_true(sent > 0);
		done += (unsigned int)sent;
	}
	pkt_free_batch(v, n);
}

static void check_dgram(const struct rig *r, const struct udp_dgram *d, unsigned int number,
			size_t len)
{
	assert_int_equal(d->len, len);
	assert_true(ip_endpoint_equal(&d->from, &r->at_a));
	assert_true(d->data >= d->buf->data && d->data + len <= d->buf->data + PKT_BUF_SIZE);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(d->data[i], octet(number, len, i));
}

/*
 * Receive @n datagrams, and keep references to all their buffers until the end, as packets that
 * wait in queues do.
 */
static void recv_all(struct rig *r, const size_t *len, unsigned int n)
{
	struct udp_dgram kept[PKT_BATCH];
	unsigned int got = 0;

	while (got < n) {
		const struct udp_dgram *d;
		int k;

		wait_for(r->b.fd, POLLIN);
		k = udp_sock_recv(&r->b, r->rx, &d);
		assert_true(k >= 0 && got + (unsigned int)k <= n);
		for (int i = 0; i < k; i++) {
			kept[got] = d[i];
			pkt_buf_get(kept[got++].buf);
		}
	}
	for (unsigned int i = 0; i < n; i++) {
		check_dgram(r, &kept[i], i, len[i]);
		pkt_buf_put(kept[i].buf);
	}
}

static void round_trip(struct rig *r, const size_t *len, unsigned int n)
{
	send_all(r, len, n);
	recv_all(r, len, n);
}

static void test_udp_runs_of_equal_size_are_few_messages(void **state)
{
	size_t len[PKT_BATCH];
	struct rig r;

	open_rig(&r, &lo4);
	for (unsigned int i = 0; i < PKT_BATCH; i++)
		len[i] = i == PKT_BATCH - 1 ? 500 : 2120;
	round_trip(&r, len, PKT_BATCH);
	if (r.a.gso)
		/*
		 * 30 datagrams of 2120 octets are 63,600 octets, which fit into one UDP_SEGMENT
		 * message (at most 65,507 octets); 31 do not.
		 */
		assert_true(r.a.stats.send_msgs <= (PKT_BATCH + 29) / 30);
	assert_int_equal(r.a.stats.send_calls, 1);
	close_rig(&r);
}

static void test_udp_every_mixture_of_sizes_arrives_whole_and_in_order(void **state)
{
	static const struct ip_endpoint *const lo[] = { &lo4, &lo6 };
	static const size_t sizes[] = { 14, 90, 290, 290, 2120, 2120, 2120, 4222, 1000 };
	size_t len[PKT_BATCH];

	srand(7);
	for (unsigned int f = 0; f < 2; f++) {
		struct rig r;

		open_rig(&r, lo[f]);
		for (unsigned int round = 0; round < 200; round++) {
			unsigned int n = 1 + (unsigned int)rand() % PKT_BATCH;
			size_t same = sizes[(unsigned int)rand() % 9];

			for (unsigned int i = 0; i < n; i++)
				len[i] = rand() % 3 ? same : sizes[(unsigned int)rand() % 9];
			round_trip(&r, len, n);
		}
		close_rig(&r);
	}
}

static void test_udp_without_gso_or_gro_the_same(void **state)
{
	size_t len[PKT_BATCH];
	int off = 0;
	struct rig r;

	open_rig(&r, &lo4);
	for (unsigned int i = 0; i < PKT_BATCH; i++)
		len[i] = 2120;
	r.a.gso = false;
	round_trip(&r, len, PKT_BATCH);
	assert_int_equal(r.a.stats.send_msgs, PKT_BATCH);
	r.a.gso = true;
	assert_int_equal(setsockopt(r.b.fd, IPPROTO_UDP, 104 /* UDP_GRO */, &off, sizeof(off)), 0);
	round_trip(&r, len, PKT_BATCH);
	close_rig(&r);
}

/*
 * Enter a new namespace whose loopback interface is up and has the MTU @mtu. Returns a descriptor
 * of the previous namespace.
 */
static int small_lo(int mtu)
{
	struct ifreq ifr = { .ifr_name = "lo" };
	int old = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), fd;

	assert_true(old >= 0);
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ifr.ifr_mtu = mtu;
	assert_int_equal(ioctl(fd, SIOCSIFMTU, &ifr), 0);
	ifr.ifr_flags = IFF_UP;
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &ifr), 0);
	close(fd);
	return old;
}

/*
 * The kernel refuses UDP_SEGMENT with segments above the path's MTU. Such datagrams must be sent
 * one by one, so that IP can fragment them.
 */
static void test_udp_segments_larger_than_the_path_go_one_by_one(void **state)
{
	size_t len[PKT_BATCH];
	struct rig r;
	int old;

	env_need_netns();
	old = small_lo(1500);
	open_rig(&r, &lo4);
	for (unsigned int i = 0; i < PKT_BATCH; i++)
		len[i] = 2120;
	round_trip(&r, len, PKT_BATCH);
	assert_int_equal(r.a.stats.send_msgs, PKT_BATCH);
	assert_false(r.a.gso);
	assert_int_equal(r.a.stats.gso_refused, 1);
	round_trip(&r, len, PKT_BATCH);
	assert_int_equal(r.a.stats.gso_refused, 1);
	close_rig(&r);
	assert_int_equal(setns(old, CLONE_NEWNET), 0);
	close(old);
}

static void test_udp_empty_datagrams_are_seen(void **state)
{
	const struct udp_dgram *d = NULL;
	struct rig r;

	open_rig(&r, &lo6);
	assert_int_equal(udp_sock_recv(&r.b, r.rx, &d), 0);
	assert_int_equal(udp_sock_send_empty(&r.a, &r.at_b), 0);
	wait_for(r.b.fd, POLLIN);
	assert_int_equal(udp_sock_recv(&r.b, r.rx, &d), 1);
	assert_int_equal(d[0].len, 0);
	assert_true(ip_endpoint_equal(&d[0].from, &r.at_a));
	close_rig(&r);
}

/*
 * Send @n datagrams of one octet each by one UDP_SEGMENT message. Returns false if the kernel
 * refuses so many datagrams in a message.
 */
static bool send_message(int fd, const struct ip_endpoint *to, unsigned int n)
{
	static const uint8_t octets[1024];
	struct sockaddr_in sa = {
		.sin_family = AF_INET,
		.sin_port = htons(to->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	return sendto(fd, octets, n, 0, (struct sockaddr *)&sa, sizeof(sa)) == (ssize_t)n;
}

/*
 * A foreign sender can put more datagrams into one message than uipoib does. Nothing may be written
 * beyond the end of udp_rx.v.
 */
static void test_udp_messages_of_as_many_datagrams_as_the_kernel_takes(void **state)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), one = 1;
	unsigned int segs = 1024, got = 0;
	struct rig r;

	open_rig(&r, &lo4);
	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &one, sizeof(one)), 0);
	while (!send_message(fd, &r.at_b, segs))
		assert_true(segs /= 2);
	for (unsigned int i = 1; i < 3 * UDP_SOCK_MSGS; i++)
		assert_true(send_message(fd, &r.at_b, segs));
	while (got < 3 * UDP_SOCK_MSGS * segs) {
		const struct udp_dgram *d;
		int k;

		wait_for(r.b.fd, POLLIN);
		k = udp_sock_recv(&r.b, r.rx, &d);
		assert_in_range(k, 1, UDP_SOCK_MAX);
		for (int i = 0; i < k; i++)
			assert_int_equal(d[i].len, 1);
		got += (unsigned int)k;
	}
	assert_int_equal(r.b.stats.recv_cut, 0);
	close(fd);
	close_rig(&r);
}

static void test_udp_a_peer_that_is_not_there_is_counted_and_harms_nothing(void **state)
{
	size_t len[3] = { 290, 290, 2120 };
	struct ip_endpoint nobody;
	const struct udp_dgram *d;
	struct udp_sock gone;
	struct rig r;

	open_rig(&r, &lo4);
	assert_int_equal(udp_sock_open(&gone, &lo4, &nobody), 0);
	udp_sock_close(&gone);
	assert_int_equal(udp_sock_send_empty(&r.a, &nobody), 0);
	wait_for(r.a.fd, 0); /* poll() reports POLLERR */
	/* An ICMP error is pending on the socket. The next calls must succeed nevertheless. */
	assert_int_equal(udp_sock_recv(&r.a, r.rx, &d), 0);
	assert_int_equal(udp_sock_send_empty(&r.a, &nobody), 0);
	wait_for(r.a.fd, 0);
	round_trip(&r, len, 3);
	udp_sock_errors(&r.a);
	assert_true(r.a.stats.icmp_errors >= 1);
	close_rig(&r);
}

/*
 * Received packets share buffers. So even many packets that wait must need only few buffers.
 */
static void test_udp_a_thousand_packets_that_wait_hold_few_buffers(void **state)
{
	enum { N = 1920 };
	static struct pkt_buf *kept[N];
	size_t len[PKT_BATCH];
	unsigned int got = 0;
	struct rig r;

	open_rig(&r, &lo4);
	for (unsigned int i = 0; i < PKT_BATCH; i++)
		len[i] = i & 1 ? 2120 : 2116;
	while (got < N) {
		const struct udp_dgram *d;
		unsigned int batch = 0;

		send_all(&r, len, PKT_BATCH);
		while (batch < PKT_BATCH) {
			int k;

			wait_for(r.b.fd, POLLIN);
			k = udp_sock_recv(&r.b, r.rx, &d);
			assert_true(k >= 0);
			for (int i = 0; i < k; i++, batch++)
				kept[got++] = pkt_buf_get(d[i].buf);
		}
	}
	/*
	 * 1920 packets take 2176 octets each (2116 or 2120, rounded up to a multiple of 64), so
	 * they need 60 buffers of 68 KiB. The slots for the next receive call need UDP_SOCK_MSGS
	 * more buffers.
	 */
	assert_true(pkt_pool_bufs_used(r.pool) < 64 + UDP_SOCK_MSGS + 8);
	for (unsigned int i = 0; i < got; i++)
		pkt_buf_put(kept[i]);
	close_rig(&r);
}

static void test_udp_without_buffers_nothing_is_read_and_nothing_lost(void **state)
{
	size_t len[1] = { 2120 };
	struct pkt_buf *all[BUFS];
	const struct udp_dgram *d;
	unsigned int n = 0;
	struct rig r;

	open_rig(&r, &lo4);
	send_all(&r, len, 1);
	while (n < BUFS && (all[n] = pkt_buf_alloc(r.pool)))
		n++;
	wait_for(r.b.fd, POLLIN);
	assert_int_equal(udp_sock_recv(&r.b, r.rx, &d), -ENOBUFS);
	while (n)
		pkt_buf_put(all[--n]);
	recv_all(&r, len, 1);
	close_rig(&r);
}

static void test_udp_addresses_that_cannot_be(void **state)
{
	static const struct ip_endpoint elsewhere = { .family = 4, .addr = { 192, 0, 2, 1 } };
	struct ip_endpoint bound;
	struct udp_sock s, t;

	assert_int_equal(udp_sock_open(&s, &elsewhere, NULL), -EADDRNOTAVAIL);
	assert_int_equal(s.fd, -1);
	assert_int_equal(udp_sock_open(&s, &lo4, &bound), 0);
	assert_true(s.rcvbuf > 0 && s.sndbuf > 0);
	assert_int_equal(udp_sock_open(&t, &bound, NULL), -EADDRINUSE);
	udp_sock_close(&s);
	udp_sock_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_udp_runs_of_equal_size_are_few_messages),
		cmocka_unit_test(test_udp_every_mixture_of_sizes_arrives_whole_and_in_order),
		cmocka_unit_test(test_udp_without_gso_or_gro_the_same),
		cmocka_unit_test(test_udp_segments_larger_than_the_path_go_one_by_one),
		cmocka_unit_test(test_udp_empty_datagrams_are_seen),
		cmocka_unit_test(test_udp_messages_of_as_many_datagrams_as_the_kernel_takes),
		cmocka_unit_test(test_udp_a_peer_that_is_not_there_is_counted_and_harms_nothing),
		cmocka_unit_test(test_udp_a_thousand_packets_that_wait_hold_few_buffers),
		cmocka_unit_test(test_udp_without_buffers_nothing_is_read_and_nothing_lost),
		cmocka_unit_test(test_udp_addresses_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, env_setup, NULL);
}

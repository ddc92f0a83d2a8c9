/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * These tests check how much is read from the TAPs, and when:
 * - No packet may be lost that could have waited in the kernel.
 * - No host may delay the other hosts.
 * - Packets that wait for an answer of the SA must leave buffers for other packets.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "eth/csum.h"
#include "unit/all_lab.h"
#include "util/list.h"

#define ETH_LEN 14
#define TCP_LEN 20
#define MAX_FLOWS 64

static struct lab lab;
static struct {
	uint64_t octets[MAX_FLOWS]; /* octets of TCP payload that have arrived, by source port */
	unsigned int frames; /* frames of TCP that arrived */
	unsigned int packets; /* packets of other protocols */
	uint64_t before[MAX_FLOWS]; /* values of .octets when the first of .packets arrived */
} got;

static void on_frame(struct lab *l, struct lab_host *to, const struct eth_frame *f)
{
	uint8_t h[ETH_LEN + 40 + TCP_LEN] = { 0 };
	size_t ip_len, n = pkt_copy_out(f->first, 0, h, sizeof(h));
	bool v6 = be16_at(h + 12) == ETH_P_IPV6_;

	ip_len = v6 ? 40 : 20;
	if (n < ETH_LEN + ip_len)
		return;
	if (h[ETH_LEN + (v6 ? 6 : 9)] == 6) {
		unsigned int flow = be16_at(h + ETH_LEN + ip_len);

		assert_true(flow < MAX_FLOWS);
		got.frames++;
		got.octets[flow] += f->len - ETH_LEN - ip_len - TCP_LEN;
	} else if (h[ETH_LEN + (v6 ? 6 : 9)] == 253 && !got.packets++) {
		memcpy(got.before, got.octets, sizeof(got.before));
	}
}

static void begin_with(unsigned int hosts, bool trains)
{
	struct topo *t = topo_gen_demo(hosts, 3);

	lab_create(&lab, &(struct lab_cfg){ .topo = t, .seed = 1, .trains = trains });
	topo_free(t);
	lab.frame = on_frame;
	memset(&got, 0, sizeof(got));
	lab_run(&lab, NS_SEC(5));
	assert_true(lab_all_up(&lab, NULL));
	for (unsigned int a = 0; a < hosts; a++)
		for (unsigned int b = 0; b < hosts; b++)
			if (a != b)
				/* enough packets for all hosts to learn all paths */
				lab_send(&lab.host[a], &lab.host[b], "hello", 5);
	lab_run(&lab, NS_SEC(1));
	assert_int_equal(got.packets, hosts * (hosts - 1));
	memset(&got, 0, sizeof(got));
}

static void begin(unsigned int hosts)
{
	begin_with(hosts, false);
}

/* Send a TCP super-frame in the form in which the kernel writes it to a TAP. */
static void send_super(struct lab_host *from, const struct lab_host *to, bool v6, unsigned int flow,
		       size_t n, uint16_t mss)
{
	static uint8_t b[ETH_LEN + 40 + TCP_LEN + 65535];
	size_t ip_len = v6 ? 40 : 20;
	uint8_t *ip = b + ETH_LEN, *tcp = ip + ip_len;
	struct pkt *p;

	memset(b, 0, ETH_LEN + ip_len + TCP_LEN);
	memcpy(b, lab_mac(from, to), 6);
	memcpy(b + 6, from->ifc.mac, 6);
	be16_put(b + 12, v6 ? ETH_P_IPV6_ : ETH_P_IPV4);
	ip[0] = v6 ? 0x60 : 0x45;
	if (v6) {
		be16_put(ip + 4, (uint16_t)(TCP_LEN + n));
		ip[6] = 6;
		ip[8] = ip[24] = 0xfd;
	} else {
		be16_put(ip + 2, (uint16_t)(20 + TCP_LEN + n));
		ip[6] = 0x40;
		ip[8] = 64;
		ip[9] = 6;
		ip[16] = 10;
	}
	be16_put(tcp, (uint16_t)flow);
	tcp[12] = 0x50;
	tcp[13] = 0x10;
	p = pkt_from_data(lab.pool, b, ETH_LEN + ip_len + TCP_LEN + n);
	assert_non_null(p);
	frame_info(p)->gso = v6 ? FRAME_GSO_TCP6 : FRAME_GSO_TCP4;
	frame_info(p)->gso_size = mss;
	frame_info(p)->csum_start = (uint16_t)ip_len;
	frame_info(p)->csum_offset = 16;
	frame_info(p)->csum = FRAME_CSUM_PARTIAL;
	lab_frame(from, p);
}

static void check_no_drops(void)
{
	for (int d = 0; d < FABRIC_DROP_MAX; d++)
		if (fabric_stats(lab.f)->drops[d])
			fail_msg("fabric: %s %llu", fabric_drop_name(d),
				 (unsigned long long)fabric_stats(lab.f)->drops[d]);
	for (unsigned int i = 0; i < lab.nhosts; i++) {
		const struct hca *h = fabric_node_hca(lab.host[i].node);
		const struct eth_stats *e = eth_if_stats(lab.host[i].ifc.eth);

		assert_int_equal(hca_drops(h, HCA_DROP_NO_RX), 0);
		for (int d = 0; d < ETH_DROP_MAX; d++)
			assert_int_equal(e->drops[d], 0);
	}
}

static void one_flow(bool v6, uint16_t mss)
{
	begin(2);
	for (unsigned int i = 0; i < 200; i++)
		send_super(&lab.host[0], &lab.host[1], v6, 1, 65000, mss);
	lab_run(&lab, NS_SEC(1));
	assert_int_equal(got.octets[1], 200 * 65000);
	check_no_drops();
	lab_destroy(&lab);
}

/*
 * A CA that computes checksums, made of the simulated HCA of a port and a changed copy of its
 * ca_ops
 */
static struct {
	const struct ca_ops *below;
	struct ca_ops ops;
	unsigned int made;
} maker;

static unsigned int make_and_post(struct ca_qp *qp, const struct ca_send *v, unsigned int n,
				  ns_t now)
{
	for (unsigned int i = 0; i < n; i++) {
		if (frame_info(v[i].pkt)->csum != FRAME_CSUM_PARTIAL)
			continue;
		assert_true(qp->ca->csum);
		assert_int_equal(eth_csum_complete(v[i].pkt, IPOIB_HDR_LEN), 0);
		maker.made++;
	}
	return maker.below->post_send(qp, v, n, now);
}

/* Replace the device of the CA. @csum: the new device computes checksums */
static void replace_device(struct ca *ca, bool csum)
{
	ca->csum = csum;
	ca->notify->event(ca->ctx, CA_EVENT_DEVICE_BACK, lab.now);
	lab_run(&lab, NS_SEC(1));
}

/*
 * An interface must leave checksums to its CA if this CA computes them, and must compute them
 * otherwise.
 */
static void test_checksums_of_a_ca_that_is_replaced(void **state)
{
	struct ca *ca;

	begin(2);
	ca = lab.host[0].ifc.port->ca;
	maker.below = ca->ops;
	maker.ops = *ca->ops;
	maker.ops.post_send = make_and_post;
	maker.made = 0;
	ca->ops = &maker.ops;
	for (unsigned int round = 1; round <= 2; round++) {
		replace_device(ca, true);
		send_super(&lab.host[0], &lab.host[1], false, 1, 65000, 1000);
		lab_run(&lab, NS_SEC(1));
		assert_int_equal(maker.made, 65 * round);
		replace_device(ca, false);
		send_super(&lab.host[0], &lab.host[1], false, 1, 65000, 1000);
		lab_run(&lab, NS_SEC(1));
		assert_int_equal(maker.made, 65 * round);
		assert_int_equal(got.octets[1], 2 * round * 65000);
	}
	check_no_drops();
	ca->ops = maker.below;
	lab_destroy(&lab);
}

/*
 * With segments of this size, 64 super-frames are cut into 2112 packets, which is more than an
 * egress queue holds (2048). No packet may be lost.
 */
static void test_super_frames_of_ipv6_lose_nothing(void **state)
{
	one_flow(true, 1984);
}

static void test_super_frames_at_a_small_mtu_lose_nothing(void **state)
{
	one_flow(false, 980);
	one_flow(true, 960);
}

/*
 * Each super-frame that is read from the sender's TAP must be written to the receiver's TAP as one
 * frame, however many frames wait in the sender's TAP.
 */
static void test_super_frames_are_delivered_whole(void **state)
{
	static const size_t sizes[] = { 65000, 62000, 65000, 30000, 65000, 64000, 3000 };
	unsigned int sent = 0;

	begin_with(2, true);
	for (unsigned int i = 0; i < 10; i++)
		for (unsigned int k = 0; k < ARRAY_SIZE(sizes); k++, sent++)
			send_super(&lab.host[0], &lab.host[1], false, 1, sizes[k], 1988);
	lab_run(&lab, NS_SEC(1));
	assert_int_equal(got.frames, sent);
	check_no_drops();
	lab_destroy(&lab);
}

/*
 * Linux makes no segments of less than 8 octets, so one frame can become four times as many packets
 * as an egress queue holds. No packet may be lost.
 */
static void test_frame_of_eight_thousand_segments_loses_nothing(void **state)
{
	begin(2);
	send_super(&lab.host[0], &lab.host[1], false, 1, 65000, 8);
	lab_run(&lab, NS_SEC(1));
	assert_int_equal(got.octets[1], 65000);
	check_no_drops();
	lab_destroy(&lab);
}

/*
 * Eight flows from four hosts to one host share one egress queue of the switch and one receive
 * ring. No packet may be lost.
 */
static void test_eight_flows_to_one_host_lose_nothing(void **state)
{
	begin(5);
	for (unsigned int i = 0; i < 50; i++)
		for (unsigned int flow = 0; flow < 8; flow++)
			send_super(&lab.host[1 + flow / 2], &lab.host[0], flow & 1, flow, 65000,
				   1000);
	lab_run(&lab, NS_SEC(1));
	for (unsigned int flow = 0; flow < 8; flow++)
		assert_int_equal(got.octets[flow], 50 * 65000);
	check_no_drops();
	lab_destroy(&lab);
}

/* One host sends eight flows to eight other hosts. No packet may be lost. */
static void test_eight_flows_of_one_host_lose_nothing(void **state)
{
	begin(9);
	for (unsigned int i = 0; i < 50; i++)
		for (unsigned int flow = 0; flow < 8; flow++)
			send_super(&lab.host[0], &lab.host[1 + flow], true, flow, 65000, 960);
	lab_run(&lab, NS_SEC(1));
	for (unsigned int flow = 0; flow < 8; flow++)
		assert_int_equal(got.octets[flow], 50 * 65000);
	check_no_drops();
	lab_destroy(&lab);
}

/*
 * Host 0's frames become 160,000 segments, and host 1 sends one packet. The share of a
 * TAP in each turn is counted in packets (IFC_QUANTUM), not in frames. So host 1's packet must
 * arrive early.
 */
static void test_host_that_sends_tiny_segments_does_not_delay_others(void **state)
{
	begin(3);
	for (unsigned int i = 0; i < 20; i++)
		send_super(&lab.host[0], &lab.host[2], false, 1, 65000, 8);
	lab_send(&lab.host[1], &lab.host[2], "ping", 4);
	lab_run(&lab, NS_SEC(1));
	assert_int_equal(got.octets[1], 20 * 65000);
	assert_int_equal(got.packets, 1);
	assert_true(got.before[1] <= 2 * IFC_ROOM * 8);
	lab_destroy(&lab);
}

/*
 * Hosts under equal load get equal shares when shares are counted in packets, whatever the sizes of
 * their segments are.
 */
static void test_hosts_share_by_packets(void **state)
{
	begin(4);
	for (unsigned int i = 0; i < 10; i++)
		send_super(&lab.host[0], &lab.host[3], false, 0, 65000, 100); /* 6500 packets */
	for (unsigned int i = 0; i < 100; i++)
		/* also 6500 packets */
		send_super(&lab.host[1], &lab.host[3], false, 1, 65000, 1000);
	/*
	 * Host 2 sends a thousand packets and then one small packet, which must arrive after all of
	 * them.
	 */
	for (unsigned int i = 0; i < 20; i++)
		send_super(&lab.host[2], &lab.host[3], false, 2, 65000, 1300);
	lab_send(&lab.host[2], &lab.host[3], "end", 3);
	lab_run(&lab, NS_SEC(1));
	assert_int_equal(got.before[2], 20 * 65000);
	assert_in_range(got.before[0] / 100, 800, 1400);
	assert_in_range(got.before[1] / 1000, 800, 1400);
	lab_destroy(&lab);
}

static void test_taps_wait_for_receive_rings(void **state)
{
	begin(2);
	send_super(&lab.host[0], &lab.host[1], false, 1, 65000, 1300);
	ifc_transmit(&lab.set, lab.now);
	while (list_empty(&lab.set.rx_ready) && fabric_run(lab.f, lab.now))
		;
	assert_false(list_empty(&lab.set.rx_ready));
	send_super(&lab.host[0], &lab.host[1], false, 1, 65000, 1300);
	ifc_transmit(&lab.set, lab.now);
	assert_int_equal(lab.host[0].tap.n, 1);
	lab_run(&lab, NS_MSEC(1));
	assert_int_equal(got.octets[1], 2 * 65000);
	lab_destroy(&lab);
}

static unsigned int asked;

static int no_buffer(void *ctx, struct pkt **ret)
{
	asked++;
	return -ENOBUFS;
}

/*
 * No buffer is free, so the interface cannot read its TAP. Then ifc_transmit_left() returns false,
 * and the owner of the interface may sleep. So a timer must make the interface read the TAP again
 * after IFC_RETRY.
 */
static void test_tap_without_a_buffer_is_read_again_later(void **state)
{
	const struct ifc_ops *ops;
	struct ifc_ops none;

	begin(2);
	ops = lab.host[0].ifc.ops;
	none = *ops;
	none.read = no_buffer;
	lab.host[0].ifc.ops = &none;
	asked = 0;
	send_super(&lab.host[0], &lab.host[1], false, 1, 65000, 1300);
	for (int i = 0; i < 10; i++)
		ifc_transmit(&lab.set, lab.now);
	assert_int_equal(asked, 1);
	assert_false(ifc_transmit_left(&lab.set));
	lab.host[0].ifc.ops = ops;
	lab_run(&lab, IFC_RETRY + NS_MSEC(1));
	assert_int_equal(got.octets[1], 65000);
	lab_destroy(&lab);
}

/*
 * The SA is silent. One host sends to hundreds of peers to which it has no path, and its packets
 * are held. The other hosts must be able to send to their peers as before.
 */
static void test_held_packets_leave_buffers_to_other_hosts(void **state)
{
	uint8_t text[1400] = { 0 };

	begin(3);
	lab_sm_stop(&lab);
	for (unsigned int i = 0; i < 400; i++) {
		struct lab_host nobody = { .addr = { .qpn = 0x1000 } };

		nobody.addr.gid = lab.host[1].addr.gid;
		nobody.addr.gid.raw[15] ^= 0x80;
		nobody.addr.gid.raw[14] ^= (uint8_t)i;
		nobody.addr.gid.raw[13] ^= (uint8_t)(i >> 8);
		for (unsigned int k = 0; k < 4; k++)
			lab_send(&lab.host[0], &nobody, text, sizeof(text));
		if (i % 4 == 0) {
			send_super(&lab.host[0], &nobody, false, 1, 65000, 1000);
			lab_run(&lab, NS_USEC(1));
		}
	}
	lab_run(&lab, NS_MSEC(1));
	assert_true(ipoib_link_stats(lab.host[0].link)->tx_held > 100);
	assert_true(pkt_pool_bufs_used(lab.pool) <= 512);
	assert_true(pkt_pool_bufs_used(lab.pool) * (uint64_t)PKT_BUF_SIZE <= 4u << 20);
	for (unsigned int i = 0; i < 50; i++)
		send_super(&lab.host[1], &lab.host[2], false, 2, 65000, 1000);
	lab_run(&lab, NS_MSEC(1));
	assert_int_equal(got.octets[2], 50 * 65000);
	lab_sm_start(&lab, NULL, NULL);
	lab_destroy(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checksums_of_a_ca_that_is_replaced),
		cmocka_unit_test(test_super_frames_of_ipv6_lose_nothing),
		cmocka_unit_test(test_super_frames_at_a_small_mtu_lose_nothing),
		cmocka_unit_test(test_super_frames_are_delivered_whole),
		cmocka_unit_test(test_frame_of_eight_thousand_segments_loses_nothing),
		cmocka_unit_test(test_eight_flows_to_one_host_lose_nothing),
		cmocka_unit_test(test_eight_flows_of_one_host_lose_nothing),
		cmocka_unit_test(test_host_that_sends_tiny_segments_does_not_delay_others),
		cmocka_unit_test(test_hosts_share_by_packets),
		cmocka_unit_test(test_taps_wait_for_receive_rings),
		cmocka_unit_test(test_tap_without_a_buffer_is_read_again_later),
		cmocka_unit_test(test_held_packets_leave_buffers_to_other_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

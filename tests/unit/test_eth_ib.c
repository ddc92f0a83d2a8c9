/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/eth_ib.h"

#include "ipoib/link.h"
#include "unit/eth_report.h"
#include "wire/dhcp.h"
#include "wire/inet.h"

/*
 * The InfiniBand shape of an interface: frames of a device of ARP hardware type 32, from the TAP to
 * the link and from the link to the TAP. ARP and Neighbour Discovery are tested in
 * test_eth_ib_addr.c.
 */

static const uint8_t v6_own[16] = { 0xfd, [15] = 5 }, v6_peer[16] = { 0xfd, [15] = 7 };
static const uint8_t all_ones[20] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
				      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

static void begin(void)
{
	ib_begin("rfc4391");
}

static void tx4(const char *dst, const uint8_t ip[4])
{
	uint8_t b[100];

	ib_tx(hw(dst), ETH_P_IPV4, b, er_udp4(b, er_ip_own, ip, 10));
}

static void tx6(const char *dst, const uint8_t ip[16])
{
	uint8_t b[100];

	ib_tx(hw(dst), ETH_P_IPV6_, b, er_ip6(b, v6_own, ip, 59, 64, "data", 4));
}

/* --- from the kernel */

/*
 * On the link the encapsulation header takes the place of the frame's link header (clauses R29 and
 * H21). The destination address in the frame determines the QPN and the path of the packet.
 */
static void test_H21_unicast_goes_to_the_port_of_the_address(void **state)
{
	uint8_t b[100];
	size_t n = er_udp4(b, er_ip_own, er_ip_peer, 10);

	begin();
	ib_tx(hw(PEER_HW), ETH_P_IPV4, b, n);
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].len, 4 + n);
	assert_int_equal(be32_at(er.sent[0].data), 0x08000000);
	assert_memory_equal(er.sent[0].data + 4, b, n);
	assert_int_equal(er.sent[0].dest_qpn, ER_PEER_QPN);
	assert_int_equal(er.sent[0].ah.dlid, ER_PEER);
	assert_int_equal(er.sent[0].qkey, er.r.link->qkey);
	assert_int_equal(er_drops_sum(), 0);
	ib_end();
}

/*
 * The first octet of an address is reserved (RFC 4391 §9.1.1). The interface must ignore this octet
 * in frames from the kernel.
 */
static void test_R46_reserved_octets_from_the_kernel_are_ignored(void **state)
{
	uint8_t b[100], src[20], dst[20];
	size_t n = er_udp4(b, er_ip_own, er_ip_peer, 10);
	struct pkt *p;

	begin();
	memcpy(src, OWN_HW, 20);
	memcpy(dst, PEER_HW, 20);
	src[0] = 0x80;
	dst[0] = 0xff;
	p = ib_frame(src, dst, ETH_P_IPV4, b, n);
	pkt_hdr(p)[42] = 0x12; /* an octet of the reserved field of the link header */
	er_tx_pkt(p);
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 1);
	assert_int_equal(be32_at(er.sent[0].data), 0x08000000);
	assert_int_equal(er.sent[0].dest_qpn, ER_PEER_QPN);
	ib_end();
}

static void check_dropped(enum eth_drop why)
{
	er_check_dropped(why);
	ib_end();
	begin();
}

static void test_short_frames(void **state)
{
	uint8_t b[100];
	size_t n = er_udp4(b, er_ip_own, er_ip_peer, 10);

	begin();
	for (uint32_t len = 0; len < HLEN; len += 43) {
		struct pkt *p = ib_frame(hw(OWN_HW), hw(PEER_HW), ETH_P_IPV4, b, n);

		pkt_trim(p, len);
		er_tx_pkt(p);
		check_dropped(ETH_DROP_SHORT);
	}
	ib_tx(hw(PEER_HW), ETH_P_IPV4, b, 0);
	check_dropped(ETH_DROP_SHORT);
	ib_tx(hw(PEER_HW), ETH_P_IPV4, b, 19);
	check_dropped(ETH_DROP_SHORT);
	ib_tx(hw(PEER_HW), ETH_P_IPV4, b,
	      n - 1); /* the IP header claims more octets than the frame has */
	check_dropped(ETH_DROP_SHORT);
	ib_tx(hw(PEER_HW), ETH_P_IPV6_, b,
	      40); /* the ethertype is IPv6, but the header is that of IPv4 */
	check_dropped(ETH_DROP_SHORT);
	ib_end();
}

static void test_R30_other_ethertypes(void **state)
{
	static const struct {
		uint16_t type;
		enum eth_drop why;
	} types[] = { { 0x88cc, ETH_DROP_LLDP }, { 0x8100, ETH_DROP_VLAN },
		      { 0x88a8, ETH_DROP_VLAN }, { 0x0026, ETH_DROP_BPDU },
		      { 0x8847, ETH_DROP_TYPE }, { 0xffff, ETH_DROP_TYPE } };
	uint8_t b[100] = { 0 };

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		ib_tx(hw(PEER_HW), types[i].type, b, sizeof(b));
		check_dropped(types[i].why);
	}
	ib_end();
}

static void test_source_that_is_not_our_own_address(void **state)
{
	static const struct {
		unsigned int at; /* offset of the octet that differs */
		uint8_t x;
	} wrong[] = { { 1, 1 }, { 3, 1 }, { 4, 1 }, { 11, 0x80 }, { 19, 4 } };
	uint8_t b[100], src[20];
	size_t n = er_udp4(b, er_ip_own, er_ip_peer, 10);

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		memcpy(src, OWN_HW, 20);
		src[wrong[i].at] ^= wrong[i].x;
		er_tx_pkt(ib_frame(src, hw(PEER_HW), ETH_P_IPV4, b, n));
		check_dropped(ETH_DROP_SOURCE);
	}
	er_tx_pkt(ib_frame(hw(NO_HW), hw(PEER_HW), ETH_P_IPV4, b, n));
	check_dropped(ETH_DROP_SOURCE);
	ib_end();
}

/*
 * Frames come from the TAP before the interface has a queue pair, and therefore before it has an
 * address.
 */
static void test_source_before_there_is_an_address(void **state)
{
	struct eth_if_cfg cfg = { .shape = ETH_SHAPE_INFINIBAND };
	static const struct eth_ops none;
	struct eth_if *e;
	uint8_t b[100];
	struct pkt *p;

	begin();
	cfg.link = er.r.link;
	cfg.pool = er.r.pool;
	cfg.timers = &er.r.s.timers;
	assert_int_equal(eth_if_create(&e, &cfg, &none, NULL), 0);
	p = ib_frame(hw(NO_HW), hw(PEER_HW), ETH_P_IPV4, b, er_udp4(b, er_ip_own, er_ip_peer, 1));
	eth_tx(e, &p, 1, er.r.s.now);
	assert_int_equal(eth_if_stats(e)->drops[ETH_DROP_SOURCE], 1);
	eth_if_destroy(e);
	ib_end();
}

static void test_destinations_that_no_port_can_have(void **state)
{
	static const char *const bad[] = {
		NO_HW,
		"\0\0\0\0\xfe\x80\0\0\0\0\0\0\0\x02\xc9\x03\0\0\0\x07", /* QP0 */
		"\0\0\0\1\xfe\x80\0\0\0\0\0\0\0\x02\xc9\x03\0\0\0\x07", /* QP1 */
		"\0\xff\xff\xff\xfe\x80\0\0\0\0\0\0\0\x02\xc9\x03\0\0\0\x07",
		"\0\0\0\x77\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", /* no GID */
	};

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		tx4(bad[i], er_ip_peer);
		check_dropped(ETH_DROP_NO_NEIGH);
	}
	ib_end();
}

static void test_no_room_for_one_more_neighbour(void **state)
{
	struct ipoib_lladdr a = er_peer_addr(ER_PEER, 2);

	begin();
	while (ipoib_neigh_get(er.r.link, &a, er.r.s.now))
		a.qpn++;
	/* the neighbour table is full, but it contains the neighbour with QPN 0x77 */
	tx4(PEER_HW, er_ip_peer);
	assert_int_equal(er.nsent, 1);
	er_clear();
	ib_tx(hw("\0\xf0\0\0\xfe\x80\0\0\0\0\0\0\0\x02\xc9\x03\0\0\0\x07"), ETH_P_IPV4,
	      (uint8_t[20]){ 0x45, [3] = 20 }, 20);
	er_check_dropped(ETH_DROP_NO_NEIGH);
	ib_end();
}

static void test_own_address_as_the_destination(void **state)
{
	uint8_t dst[20];

	begin();
	tx4(OWN_HW, er_ip_own);
	check_dropped(ETH_DROP_LOCAL);
	memcpy(dst, OWN_HW, 20);
	dst[0] = 0x80;
	tx4((const char *)dst, er_ip_own);
	check_dropped(ETH_DROP_LOCAL);
	ib_end();
}

/*
 * A link-layer address with the GID of the interface's own port, but with another QPN, belongs to
 * another interface on this port. Packets to this address must be sent as to any neighbour.
 */
static void test_another_interface_of_the_port_is_a_neighbour(void **state)
{
	begin();
	rig_peer(&er.r, RIG_LID);
	tx4("\0\0\0\x49\xfe\x80\0\0\0\0\0\0\0\x02\xc9\x03\0\0\0\x05", er_ip_peer);
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].dest_qpn, 0x49);
	assert_int_equal(er.sent[0].ah.dlid, RIG_LID);
	ib_end();
}

static void check_sent_to(ib_gid mgid)
{
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].dest_qpn, 0xffffff);
	assert_true(er.sent[0].ah.has_grh);
	assert_memory_equal(&er.sent[0].ah.dgid, &mgid, 16);
	er_clear();
}

#define GROUP4_HW \
	"\0\xff\xff\xff\xff\x12\x40\x1b\x80\x01\0\0\0\0\0\0\x0f\x01\x02\x03" /* 239.1.2.3 */
#define GROUP6_HW "\0\xff\xff\xff\xff\x12\x60\x1b\x80\x01\0\0\0\0\0\0\0\0\0\x09" /* ff0e::9 */

static const uint8_t group4[4] = { 239, 1, 2, 3 };
static const uint8_t group6[16] = { 0xff, 0x0e, [15] = 9 };

static void test_R25_groups(void **state)
{
	static const uint8_t directed[4] = { 10, 4, 0, 255 }, ones[4] = { 255, 255, 255, 255 };
	ib_gid m4 = rig_mgid4(0xef010203), m6;

	begin();
	rig_sa_make(&er.r, 0xef010203);
	assert_int_equal(mgid_from_ipv6(&m6, group6, RIG_PKEY, 2), 0);
	sa_group_make(&er.r.s.sa, &m6, RIG_PKEY, IB_MTU_2048);
	tx4(GROUP4_HW, group4);
	check_sent_to(m4);
	tx6(GROUP6_HW, group6);
	check_sent_to(m6);
	tx4(BCAST_HW, directed);
	check_sent_to(rig_bcast());
	tx4(BCAST_HW, ones);
	check_sent_to(rig_bcast());
	assert_int_equal(er_drops_sum(), 0);
	ib_end();
}

/*
 * On every link the kernel writes the MGIDs of RFC 4391 into frames, whatever the profile is. So
 * the interface must derive the group from the IP destination, not from the frame's destination.
 */
static void test_group_is_taken_from_the_ip_destination(void **state)
{
	static const uint8_t ones[4] = { 255, 255, 255, 255 };

	begin();
	rig_sa_make(&er.r, 0xef010203);
	tx4(BCAST_HW, group4);
	check_sent_to(rig_mgid4(0xef010203));
	tx4(GROUP6_HW, group4);
	check_sent_to(rig_mgid4(0xef010203));
	tx4(GROUP4_HW, ones);
	check_sent_to(rig_bcast());
	ib_end();
	ib_begin("v6ib00");
	{
		ib_gid mgid = { { 0xff, 0x1e, 0x33, 0x33, [15] = 9 } };

		sa_group_make(&er.r.s.sa, &mgid, RIG_PKEY, IB_MTU_2048);
		tx6(GROUP6_HW, group6);
		check_sent_to(mgid);
	}
	ib_end();
}

/* A frame to the address of all ones must be sent to the broadcast group (HLD of 2002, §2.1.1). */
static void test_H16_all_ones_are_the_broadcast_group(void **state)
{
	static const uint8_t directed[4] = { 10, 4, 0, 255 };

	begin();
	tx4((const char *)all_ones, directed);
	check_sent_to(rig_bcast());
	ib_end();
}

static void test_unicast_ip_to_a_group(void **state)
{
	/* the broadcast group of another partition */
	static const char other[] =
		"\0\xff\xff\xff\xff\x12\x40\x1b\x80\x02\0\0\0\0\0\0\xff\xff\xff\xff";

	begin();
	tx4(GROUP4_HW, er_ip_peer);
	check_dropped(ETH_DROP_MAC_MISMATCH);
	tx4(other, er_ip_peer);
	check_dropped(ETH_DROP_MAC_MISMATCH);
	tx6(BCAST_HW, v6_peer);
	check_dropped(ETH_DROP_MAC_MISMATCH);
	ib_end();
}

/*
 * A frame with a multicast IP packet has a unicast destination address, so the packet must be sent
 * to this one receiver (RFC 6085).
 */
static void test_multicast_ip_to_one_receiver(void **state)
{
	begin();
	tx4(PEER_HW, group4);
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].dest_qpn, ER_PEER_QPN);
	ib_end();
}

static void test_what_follows_the_ip_packet_is_removed(void **state)
{
	uint8_t b[100] = { 0 };
	size_t n = er_udp4(b, er_ip_own, er_ip_peer, 10);

	begin();
	ib_tx(hw(PEER_HW), ETH_P_IPV4, b, n + 7);
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].len, 4 + n);
	ib_end();
}

/* --- to the kernel */

static void test_H20_H21_unicast_to_the_kernel(void **state)
{
	uint8_t b[100];
	size_t n = er_udp4(b, er_ip_peer, er_ip_own, 10);

	begin();
	ib_rx(ETH_P_IPV4, b, n, NULL);
	assert_memory_equal(ib_got(hw(PEER_HW), hw(OWN_HW), ETH_P_IPV4), b, n);
	assert_int_equal(er.got[0].len, HLEN + n);
	ib_end();
}

static void test_H21_multicast_to_the_kernel_has_the_address_of_the_group(void **state)
{
	static const uint8_t all4[4] = { 224, 0, 0, 1 }, directed[4] = { 10, 4, 0, 255 };
	static const char all4_hw[] =
		"\0\xff\xff\xff\xff\x12\x40\x1b\x80\x01\0\0\0\0\0\0\x00\x00\x00\x01";
	ib_gid bcast = rig_bcast(), m4 = rig_mgid4(0xe0000001);
	uint8_t b[100];
	size_t n;

	begin();
	n = er_udp4(b, er_ip_peer, all4, 10);
	ib_rx(ETH_P_IPV4, b, n, &m4);
	ib_got(hw(PEER_HW), hw(all4_hw), ETH_P_IPV4);
	er_clear();
	n = er_ip6(b, v6_peer, group6, 59, 64, "data", 4);
	ib_rx(ETH_P_IPV6_, b, n, &bcast);
	ib_got(hw(PEER_HW), hw(GROUP6_HW), ETH_P_IPV6_);
	er_clear();
	n = er_udp4(b, er_ip_peer, directed, 10);
	ib_rx(ETH_P_IPV4, b, n, &bcast);
	ib_got(hw(PEER_HW), hw(BCAST_HW), ETH_P_IPV4);
	ib_end();
}

/* On a link of profile v6ib00, frames for the kernel must have the MGIDs of this profile. */
static void test_multicast_of_another_map(void **state)
{
	static const char mine[] = "\0\xff\xff\xff\xff\x1e\x33\x33\0\0\0\0\0\0\0\0\0\0\0\x09";
	static const char hosts[] = "\0\xff\xff\xff\xff\x12\x33\x33\0\0\0\0\0\0\0\0\0\0\0\x01";
	ib_gid mgid = { { 0xff, 0x1e, 0x33, 0x33, [15] = 9 } };
	uint8_t b[100];

	ib_begin("v6ib00");
	ib_rx(ETH_P_IPV6_, b, er_ip6(b, v6_peer, group6, 59, 64, "data", 4), &mgid);
	ib_got(hw(PEER_HW), hw(mine), ETH_P_IPV6_);
	er_clear();
	/* The destination GID is a multicast group, but the IP destination is a unicast address. */
	ib_rx(ETH_P_IPV6_, b, er_ip6(b, v6_peer, v6_own, 59, 64, "data", 4), &mgid);
	ib_got(hw(PEER_HW), hw(hosts), ETH_P_IPV6_);
	ib_end();
}

/*
 * A packet without a GRH identifies its sender only by LID and QPN. Without a path to the sender,
 * the source address of the frame must be zeros. After the path has been resolved, frames must have
 * the sender's address.
 */
static void test_unknown_sender_is_zero(void **state)
{
	uint8_t b[100];
	size_t n = er_udp4(b, er_ip_peer, er_ip_own, 10);

	begin();
	er_rx_pkt(er_packet(ETH_P_IPV4, b, n), ER_PEER, ER_PEER_QPN, false, NULL);
	ib_got(hw(NO_HW), hw(OWN_HW), ETH_P_IPV4);
	tx4(PEER_HW, er_ip_peer);
	er_clear();
	er_rx_pkt(er_packet(ETH_P_IPV4, b, n), ER_PEER, ER_PEER_QPN, false, NULL);
	ib_got(hw(PEER_HW), hw(OWN_HW), ETH_P_IPV4);
	ib_end();
}

/* --- offloads */

static struct pkt *super(bool udp, size_t payload, uint16_t size)
{
	static uint8_t b[65000], t[65000];
	size_t l4 = udp ? 8 : 20, n;
	uint8_t proto = udp ? 17 : 6;
	struct pkt *p;

	memset(t, 0, l4);
	if (udp) {
		be16_put(t + 4, (uint16_t)(8 + payload));
	} else {
		be32_put(t + 4, 1000);
		t[12] = 0x50;
		t[13] = 0x10;
	}
	for (size_t i = 0; i < payload; i++)
		t[l4 + i] = (uint8_t)(i / 7 + i);
	n = er_ip4(b, er_ip_own, er_ip_peer, proto, t, l4 + payload);
	b[6] = 0x40; /* DF, as Linux sends it */
	be16_put(b + 10, 0);
	be16_put(b + 10, (uint16_t)~er_sum(b, 20, 0));
	be16_put(b + 20 + (udp ? 6 : 16), er_sum(b + 12, 8, (uint32_t)(proto + l4 + payload)));
	p = ib_frame(hw(OWN_HW), hw(PEER_HW), ETH_P_IPV4, b, n);
	frame_info(p)->csum = FRAME_CSUM_PARTIAL;
	frame_info(p)->csum_start = 20;
	frame_info(p)->csum_offset = udp ? 6 : 16;
	frame_info(p)->gso = udp ? FRAME_GSO_UDP : FRAME_GSO_TCP4;
	frame_info(p)->gso_size = size;
	return p;
}

static void check_segments(bool udp, size_t payload)
{
	size_t l4 = udp ? 8 : 20, done = 0;

	for (unsigned int i = 0; i < er.nsent; i++) {
		const uint8_t *ip = er.sent[i].data + 4;
		size_t n = er.sent[i].len - 4 - 20 - l4;

		assert_int_equal(be32_at(er.sent[i].data), 0x08000000);
		er_check_ip(ip, er.sent[i].len - 4);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(ip[20 + l4 + k], (uint8_t)((done + k) / 7 + done + k));
		done += n;
	}
	assert_int_equal(done, payload);
}

static void test_super_frames_are_segmented(void **state)
{
	begin();
	tx4(PEER_HW, er_ip_peer);
	for (int udp = 0; udp < 2; udp++) {
		er_clear();
		er_tx_pkt(super(udp, 60000, 2004));
		assert_int_equal(er.nsent, 30);
		check_segments(udp, 60000);
	}
	assert_int_equal(er_drops_sum(), 0);
	assert_int_equal(pkt_pool_pkts_used(er.r.pool), 0);
	ib_end();
}

/* While the path to the destination is being resolved, a super-frame must be held as one packet. */
static void test_super_frame_waits_for_the_path(void **state)
{
	begin();
	er_tx_pkt(super(false, 3000, 1000));
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 3);
	check_segments(false, 3000);
	ib_end();
}

/*
 * TCP segments that arrive in one batch must be coalesced into one super-frame, behind the link
 * header of 44 octets.
 */
static void test_packets_are_coalesced(void **state)
{
	struct ipoib_rx v[3] = { 0 };
	const uint8_t *ip;

	begin();
	tx4(PEER_HW, er_ip_peer);
	er_clear();
	er_tx_pkt(super(false, 3000, 1000));
	assert_int_equal(er.nsent, 3);
	for (int i = 0; i < 3; i++)
		v[i] = (struct ipoib_rx){ .pkt = pkt_from_data(er.r.pool, er.sent[i].data,
							       er.sent[i].len),
					  .src_qp = ER_PEER_QPN,
					  .slid = ER_PEER };
	eth_rx(er.e, NULL, v, 3, er.r.s.now);
	ip = ib_got(hw(PEER_HW), hw(OWN_HW), ETH_P_IPV4);
	assert_int_equal(er.got[0].n, 3);
	assert_int_equal(er.got[0].gso, FRAME_GSO_TCP4);
	assert_int_equal(er.got[0].len, HLEN + 40 + 3000);
	assert_int_equal(be16_at(ip + 2), 3040);
	for (size_t k = 0; k < 3000; k++)
		assert_int_equal(ip[40 + k], (uint8_t)(k / 7 + k));
	ib_end();
}

/*
 * Tests the longest headers with which segments are coalesced: IPv6, and TCP with 40 octets of
 * options
 */
static void test_packets_with_long_headers_are_coalesced(void **state)
{
	struct ipoib_rx v[2] = { 0 };
	uint8_t t[60 + 100], b[IPOIB_HDR_LEN + 40 + sizeof(t)] = { 0x86, 0xdd };
	uint32_t sum;

	begin();
	for (unsigned int i = 0; i < 2; i++) {
		memset(t, 0, sizeof(t));
		be32_put(t + 4, i * 100);
		t[12] = 0xf0;
		t[13] = 0x10;
		memset(t + 20, 1, 40);
		er_ip6(b + 4, v6_peer, v6_own, 6, 64, t, sizeof(t));
		sum = er_sum(b + 4 + 8, 32, (uint32_t)(6 + sizeof(t)));
		be16_put(b + 4 + 40 + 16, (uint16_t)~er_sum(b + 4 + 40, sizeof(t), sum));
		v[i] = (struct ipoib_rx){ .pkt = pkt_from_data(er.r.pool, b, sizeof(b)),
					  .src_qp = ER_PEER_QPN,
					  .slid = ER_PEER };
	}
	eth_rx(er.e, NULL, v, 2, er.r.s.now);
	assert_int_equal(er.ngot, 1);
	assert_int_equal(er.got[0].n, 2);
	assert_int_equal(er.got[0].len, HLEN + 100 + 200);
	ib_end();
}

/* --- groups of the kernel, DHCP, neighbours */

static bool joined(void)
{
	struct sa_group *g = rig_sa_group(&er.r, 0xef010203);

	return g && (g->have & MCM_JOIN_FULL);
}

static void test_M19_report_waits_for_the_join(void **state)
{
	uint8_t b[64];
	size_t n = report_igmp(b, V2_REPORT, group4);

	begin();
	er_tx_pkt(ib_frame(hw(OWN_HW), hw(GROUP4_HW), ETH_P_IPV4, b, n));
	assert_int_equal(er.nsent, 0);
	er_run(NS_MSEC(10));
	assert_true(joined());
	assert_int_equal(er.nsent, 1);
	assert_memory_equal(er.sent[0].data + 4, b, n);
	ib_end();
}

/*
 * The kernel's lists contain all groups that the host receives, so the interface must not send
 * queries for group members into the TAP.
 */
static void test_no_queries_are_sent(void **state)
{
	uint8_t b[64];

	begin();
	ib_tx(hw(GROUP4_HW), ETH_P_IPV4, b, report_igmp(b, V2_REPORT, group4));
	er_run(NS_SEC(200));
	assert_int_equal(er.ngot, 0);
	er_groups_sync(&group4, 1, NULL, 0);
	for (int i = 0; i < 10; i++) {
		er_run(NS_SEC(60));
		er_groups_sync(&group4, 1, NULL, 0);
	}
	assert_true(joined());
	er_groups_sync(NULL, 0, NULL, 0);
	er_run(NS_SEC(1));
	assert_false(joined());
	assert_int_equal(er.ngot, 0);
	assert_int_equal(eth_if_stats(er.e)->queries, 0);
	ib_end();
}

static void test_there_are_no_stations(void **state)
{
	uint8_t b[100], src[20];

	er_max_stations = 4;
	begin();
	memcpy(src, OWN_HW, 20);
	src[3]++;
	er_tx_pkt(ib_frame(src, hw(PEER_HW), ETH_P_IPV4, b, er_udp4(b, er_ip_own, er_ip_peer, 1)));
	er_check_dropped(ETH_DROP_SOURCE);
	assert_int_equal(er.nstation, 0);
	er_max_stations = 0;
	ib_end();
}

/*
 * The link forgets an idle neighbour. The kernel's entry for the neighbour is still right, so the
 * interface must not report the neighbour as forgotten, and a later packet must reach the
 * neighbour.
 */
static void test_idle_neighbour_is_forgotten_and_found_again(void **state)
{
	struct ipoib_lladdr a = er_peer_addr(ER_PEER, ER_PEER_QPN);

	begin();
	tx4(PEER_HW, er_ip_peer);
	assert_non_null(ipoib_neigh_find(er.r.link, &a));
	er_run(NS_SEC(700));
	assert_null(ipoib_neigh_find(er.r.link, &a));
	assert_int_equal(er.ngone + er.nlladdr_gone, 0);
	er_clear();
	tx4(PEER_HW, er_ip_peer);
	assert_int_equal(er.nsent, 1);
	ib_end();
}

static void test_nothing_is_delivered_while_the_device_is_down(void **state)
{
	uint8_t b[100];

	begin();
	eth_if_set_up(er.e, false, er.r.s.now);
	ib_rx(ETH_P_IPV4, b, er_udp4(b, er_ip_peer, er_ip_own, 10), NULL);
	assert_int_equal(er.ngot, 0);
	assert_int_equal(er_drops(ETH_DROP_RX_DOWN), 1);
	ib_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_H21_unicast_goes_to_the_port_of_the_address),
		cmocka_unit_test(test_R46_reserved_octets_from_the_kernel_are_ignored),
		cmocka_unit_test(test_short_frames),
		cmocka_unit_test(test_R30_other_ethertypes),
		cmocka_unit_test(test_source_that_is_not_our_own_address),
		cmocka_unit_test(test_source_before_there_is_an_address),
		cmocka_unit_test(test_destinations_that_no_port_can_have),
		cmocka_unit_test(test_no_room_for_one_more_neighbour),
		cmocka_unit_test(test_own_address_as_the_destination),
		cmocka_unit_test(test_another_interface_of_the_port_is_a_neighbour),
		cmocka_unit_test(test_R25_groups),
		cmocka_unit_test(test_group_is_taken_from_the_ip_destination),
		cmocka_unit_test(test_H16_all_ones_are_the_broadcast_group),
		cmocka_unit_test(test_unicast_ip_to_a_group),
		cmocka_unit_test(test_multicast_ip_to_one_receiver),
		cmocka_unit_test(test_what_follows_the_ip_packet_is_removed),
		cmocka_unit_test(test_H20_H21_unicast_to_the_kernel),
		cmocka_unit_test(test_H21_multicast_to_the_kernel_has_the_address_of_the_group),
		cmocka_unit_test(test_multicast_of_another_map),
		cmocka_unit_test(test_unknown_sender_is_zero),
		cmocka_unit_test(test_super_frames_are_segmented),
		cmocka_unit_test(test_super_frame_waits_for_the_path),
		cmocka_unit_test(test_packets_are_coalesced),
		cmocka_unit_test(test_packets_with_long_headers_are_coalesced),
		cmocka_unit_test(test_M19_report_waits_for_the_join),
		cmocka_unit_test(test_no_queries_are_sent),
		cmocka_unit_test(test_there_are_no_stations),
		cmocka_unit_test(test_idle_neighbour_is_forgotten_and_found_again),
		cmocka_unit_test(test_nothing_is_delivered_while_the_device_is_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

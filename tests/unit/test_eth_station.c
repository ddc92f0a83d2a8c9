/* SPDX-License-Identifier: BSD-2-Clause */
#include "eth/station.h"
#include "unit/eth_report.h"

#define MAX 4
#define ENCAP 4

static const uint8_t a[6] = { 0x52, 0x54, 0, 0, 0, 0xa };
static const uint8_t b[6] = { 0x52, 0x54, 0, 0, 0, 0xb };
static const uint8_t a_ip[4] = { 10, 4, 0, 0xa }, no_ip[4];
static const uint8_t a_ll[16] = { 0xfe, 0x80, [8] = 0x50, 0x54, 0, 0xff, 0xfe, 0, 0, 0xa };
static const uint8_t zero[20];
static const uint8_t group_mac[6] = { 1, 0, 0x5e, 1, 2, 3 };
static const uint8_t g1[4] = { 239, 1, 2, 3 }, g2[4] = { 239, 1, 2, 4 };

static void begin(unsigned int max)
{
	er_max_stations = max;
	er_init_peer();
	er_max_stations = 0;
	rig_sa_make(&er.r, 0xe0000002);
}

static struct eth_station_info info[ETH_STATIONS_MAX];
static unsigned int ninfo;

static void on_station(void *ctx, const struct eth_station_info *i)
{
	info[ninfo++] = *i;
}

static unsigned int count(void)
{
	ninfo = 0;
	eth_station_each(er.e, on_station, NULL);
	return ninfo;
}

/* Send a datagram from the station with @mac to the peer. */
static void talk(const uint8_t mac[6])
{
	uint8_t d[100];

	er_tx_from(mac, er_peer_mac, ETH_P_IPV4, d, er_udp4(d, a_ip, er_ip_peer, 10));
}

static struct ipoib_lladdr address(const uint8_t mac[6])
{
	return (struct ipoib_lladdr){ .qpn = er_station(mac)->qpn, .gid = er.own.gid };
}

static size_t arp(uint8_t *p, uint16_t hrd, uint16_t op, const void *sha, const uint8_t spa[4],
		  const void *tha, const uint8_t tpa[4])
{
	struct arp_pkt x = { .hrd = hrd, .pro = 0x0800, .pln = 4, .op = op };

	x.hln = hrd == ARP_HRD_ETHER ? 6 : 20;
	memcpy(x.sha, sha, x.hln);
	memcpy(x.tha, tha, x.hln);
	memcpy(x.spa, spa, 4);
	memcpy(x.tpa, tpa, 4);
	return arp_encode(p, &x);
}

/* --- each station has its own queue pair, and so its own link-layer address */

static void test_station_sends_by_its_own_queue_pair(void **state)
{
	begin(MAX);
	talk(a);
	talk(b);
	talk(er.mac);
	assert_int_equal(er.nsent, 3);
	assert_int_equal(er.sent[0].src_qpn, er_station(a)->qpn);
	assert_int_equal(er.sent[1].src_qpn, er_station(b)->qpn);
	assert_int_not_equal(er_station(a)->qpn, er_station(b)->qpn);
	assert_int_equal(er.sent[2].src_qpn, 0);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(er.sent[i].dest_qpn, ER_PEER_QPN);
	talk(a);
	assert_int_equal(er.sent[3].src_qpn, er_station(a)->qpn);
	assert_int_equal(er.nstation, 2);
	assert_int_equal(count(), 2);
	assert_memory_equal(info[0].mac, a, 6);
	assert_int_equal(info[0].lladdr.qpn, er_station(a)->qpn);
	assert_true(ib_gid_equal(&info[0].lladdr.gid, &er.own.gid));
	assert_int_equal(info[0].tx_frames, 2);
	assert_int_equal(eth_if_stats(er.e)->stations_added, 2);
	er_fini();
}

static void test_what_comes_by_its_queue_pair_goes_to_its_mac(void **state)
{
	uint8_t d[100];
	size_t n = er_udp4(d, er_ip_peer, a_ip, 10);

	begin(MAX);
	talk(a);
	talk(b);
	er_rx_station(b, ETH_P_IPV4, d, n);
	er_rx_station(a, ETH_P_IPV4, d, n);
	er_rx(ETH_P_IPV4, d, n);
	assert_int_equal(er.ngot, 3);
	assert_memory_equal(er.got[0].data, b, 6);
	assert_memory_equal(er.got[1].data, a, 6);
	assert_memory_equal(er.got[2].data, er.mac, 6);
	for (unsigned int i = 0; i < 3; i++)
		assert_memory_equal(er.got[i].data + 6, er_peer_mac, 6);
	count();
	assert_int_equal(info[0].rx_packets, 1);
	er_fini();
}

/*
 * ARP messages of a station must contain the address of the station's queue pair (R46), and packets
 * to this address must reach the station (R48).
 */
static void test_R46_R48_arp_of_a_station(void **state)
{
	struct ipoib_lladdr peer = er_peer_addr(ER_PEER, ER_PEER_QPN), own;
	uint8_t m[64], hw[20], peer_hw[20];
	size_t n;

	begin(MAX);
	ipoib_lladdr_encode(peer_hw, &peer);
	n = arp(m, ARP_HRD_ETHER, ARP_OP_REQUEST, a, a_ip, zero, er_ip_peer);
	er_tx_from(a, er_bcast_mac, ETH_P_ARP4, m, n);
	own = address(a);
	ipoib_lladdr_encode(hw, &own);
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].src_qpn, own.qpn);
	n = arp(m, ARP_HRD_INFINIBAND, ARP_OP_REQUEST, hw, a_ip, zero, er_ip_peer);
	assert_int_equal(er.sent[0].len, ENCAP + n);
	assert_memory_equal(er.sent[0].data + ENCAP, m, n);

	n = arp(m, ARP_HRD_INFINIBAND, ARP_OP_REPLY, peer_hw, er_ip_peer, hw, a_ip);
	er_rx_station(a, ETH_P_ARP4, m, n);
	n = arp(m, ARP_HRD_ETHER, ARP_OP_REPLY, er_peer_mac, er_ip_peer, a, a_ip);
	assert_int_equal(er.ngot, 1);
	assert_memory_equal(er.got[0].data, a, 6);
	assert_int_equal(er.got[0].len, 14 + n);
	assert_memory_equal(er.got[0].data + 14, m, n);
	er_fini();
}

static enum ipoib_path_state seen;

static void on_neigh(void *ctx, const struct ipoib_neigh_info *i)
{
	const struct ipoib_lladdr *want = ctx;

	if (i->neigh->lladdr.qpn == want->qpn)
		seen = i->state;
}

/*
 * A station gets an ARP reply. The path to the sender of the reply must be resolved at once, as for
 * a reply to the interface itself (clause R50), because the station will send packets to this
 * sender.
 */
static void test_R50_reply_to_a_station_asks_for_the_path(void **state)
{
	struct ipoib_lladdr third = er_peer_addr(9, 0x99), own;
	uint8_t m[64], hw[20], third_hw[20];
	uint32_t at = 0;
	size_t n;

	begin(MAX);
	rig_peer(&er.r, 9);
	talk(a);
	own = address(a);
	ipoib_lladdr_encode(hw, &own);
	ipoib_lladdr_encode(third_hw, &third);
	n = arp(m, ARP_HRD_INFINIBAND, ARP_OP_REPLY, third_hw, er_ip_peer, hw, a_ip);
	er_rx_station(a, ETH_P_ARP4, m, n);
	seen = IPOIB_PATH_NONE;
	ipoib_neigh_some(er.r.link, &at, UINT32_MAX, on_neigh, &third);
	assert_int_equal(seen, IPOIB_PATH_QUERY);
	er_fini();
}

static void test_R57_nd_of_a_station(void **state)
{
	static const uint8_t ll_peer[16] = { 0xfe, 0x80, [15] = 7 };
	static const uint8_t sol[16] = { 0xff, 2, [11] = 1, 0xff, 0, 0, 7 };
	static const uint8_t sol_mac[6] = { 0x33, 0x33, 0xff, 0, 0, 7 };
	uint8_t m[32] = { 135 }, ip[100], out[IPOIB_ALEN];
	struct ipoib_lladdr own;
	size_t n;
	ib_gid mgid;

	begin(MAX);
	assert_int_equal(mgid_from_ipv6(&mgid, sol, RIG_PKEY, 2), 0);
	sa_group_make(&er.r.s.sa, &mgid, RIG_PKEY, IB_MTU_2048);
	memcpy(m + 8, ll_peer, 16);
	m[24] = 1;
	m[25] = 1;
	memcpy(m + 26, a, 6);
	n = er_icmp6(ip, a_ll, sol, m, sizeof(m));
	er_tx_from(a, sol_mac, ETH_P_IPV6_, ip, n);
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 1);
	own = address(a);
	/*
	 * although the packet was held until the link had joined the group, it must have the
	 * station's QPN
	 */
	assert_int_equal(er.sent[0].src_qpn, own.qpn);
	ipoib_lladdr_encode(out, &own);
	er_check_ip(er.sent[0].data + ENCAP, er.sent[0].len - ENCAP);
	assert_int_equal(er.sent[0].len, ENCAP + n + 16);
	assert_memory_equal(er.sent[0].data + ENCAP + 40 + 24 + 4, out, sizeof(out));
	er_fini();
}

/*
 * QEMU sends this RARP when a virtual machine has been moved to this host. The interface has no
 * station with the machine's MAC yet, so the RARP must create this station.
 */
static void test_I29_rarp_announcement_of_a_station(void **state)
{
	struct ipoib_lladdr own;
	uint8_t m[64], hw[20];
	size_t n = arp(m, ARP_HRD_ETHER, ARP_OP_RREQUEST, a, no_ip, a, no_ip);

	begin(MAX);
	er_tx_from(a, er_bcast_mac, ETH_P_RARP4, m, n);
	own = address(a);
	ipoib_lladdr_encode(hw, &own);
	n = arp(m, ARP_HRD_INFINIBAND, ARP_OP_RREQUEST, hw, no_ip, hw, no_ip);
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].dest_qpn, IB_QPN_MCAST);
	assert_int_equal(er.sent[0].src_qpn, own.qpn);
	assert_memory_equal(er.sent[0].data + ENCAP, m, n);
	er_fini();
}

/*
 * The SM changes the subnet prefix, and so the GID of the interface. The addresses of the stations
 * must get the new GID.
 */
static void test_address_follows_the_interfaces_gid(void **state)
{
	struct ipoib_lladdr moved;

	begin(MAX);
	talk(a);
	moved = er.own;
	moved.gid.raw[0] = 0x20;
	eth_if_set_addr(er.e, er.mac, &moved);
	count();
	assert_true(ib_gid_equal(&info[0].lladdr.gid, &moved.gid));
	er_fini();
}

/*
 * An HCA delivers a multicast packet also to other queue pairs of the sending port that are
 * attached to the group. So the interface receives a copy of each multicast packet that one of its
 * stations has sent. The interface must drop this copy.
 */
static void test_I27_own_echo_of_a_station(void **state)
{
	ib_gid bcast = rig_bcast();
	struct ipoib_rx v = { .slid = RIG_LID };
	uint8_t h[40] = { 0x60 }, d[100];
	uint32_t qpn;

	begin(MAX);
	talk(a);
	qpn = er_station(a)->qpn;
	memcpy(h + 8, &er.own.gid, 16);
	memcpy(h + 24, &bcast, 16);
	v.src_qp = qpn;
	v.grh = h;
	v.pkt = er_packet(ETH_P_IPV4, d, er_udp4(d, a_ip, er_ip_peer, 10));
	eth_rx(er.e, NULL, &v, 1, er.r.s.now);
	assert_int_equal(er.ngot, 0);
	assert_int_equal(ipoib_link_stats(er.r.link)->drops[IPOIB_DROP_OWN_ECHO], 1);
	er_fini();
}

static void test_super_frame_of_a_station(void **state)
{
	uint8_t d[6000] = { 0 };
	size_t n = er_udp4(d, a_ip, er_ip_peer, 4000);
	struct pkt *p;

	begin(MAX);
	p = er_frame(er_peer_mac, a, ETH_P_IPV4, d, n);
	frame_info(p)->gso = FRAME_GSO_UDP;
	frame_info(p)->gso_size = 1000;
	frame_info(p)->csum = FRAME_CSUM_PARTIAL;
	frame_info(p)->csum_start = 20;
	frame_info(p)->csum_offset = 6;
	er_tx_pkt(p);
	assert_int_equal(er.nsent, 4);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(er.sent[i].src_qpn, er_station(a)->qpn);
	er_fini();
}

static void test_packet_held_for_its_path_leaves_by_its_queue_pair(void **state)
{
	uint8_t d[100], mac[6];
	size_t n = er_udp4(d, a_ip, er_ip_peer, 10);

	begin(MAX);
	er_learn(9, 0x99, mac);
	er_tx_from(a, mac, ETH_P_IPV4, d, n);
	er_tx(mac, ETH_P_IPV4, d, n);
	assert_int_equal(er.nsent, 0);
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 2);
	assert_int_equal(er.sent[0].src_qpn, er_station(a)->qpn);
	assert_int_equal(er.sent[1].src_qpn, 0);
	er_fini();
}

/* --- source MACs that get no station */

static void test_sources_that_are_none(void **state)
{
	static const uint8_t group[6] = { 0x53, 0x54, 0, 0, 0, 1 };

	begin(MAX);
	talk(group);
	talk(er_bcast_mac);
	talk(zero);
	assert_int_equal(er_drops(ETH_DROP_SOURCE), 3);
	assert_int_equal(er_drops_sum(), 3);
	assert_int_equal(er.nstation, 0);
	er_fini();
}

/*
 * In the TAP, a MAC stands for each peer (the peer's token). When a bridge sends a peer's frame
 * back, the frame's source MAC is this token. The interface must create no station for a token. It
 * must also create none for the MAC that stands for unknown senders.
 */
static void test_tokens_of_peers_are_not_learnt(void **state)
{
	static const uint8_t nobody[6] = { 0x06 }, chance[6] = { 0x06, 1, 2, 3, 4, 5 };
	uint8_t d[100];

	begin(MAX);
	er_tx_from(er_peer_mac, er_bcast_mac, ETH_P_IPV4, d, er_udp4(d, a_ip, er_ip_peer, 10));
	talk(nobody);
	assert_int_equal(er_drops(ETH_DROP_SOURCE_TOKEN), 2);
	assert_int_equal(er_drops_sum(), 2);
	assert_int_equal(er.nstation, 0);
	/*
	 * A MAC that begins with 0x06 need not be a token: Linux chooses such a MAC for one in 64
	 * interfaces with a random MAC.
	 */
	talk(chance);
	assert_int_equal(er.nsent, 1);
	assert_non_null(er_station(chance));
	er_fini();
}

/* A station has the MAC that a peer would get as its token. The peer must get another token. */
static void test_token_that_a_station_has_is_salted(void **state)
{
	struct ipoib_lladdr third = er_peer_addr(9, 0x99);
	uint8_t token[6], mac[6];

	begin(MAX);
	eth_token(token, &third, RIG_PKEY);
	talk(token);
	assert_non_null(er_station(token));
	er_learn(9, 0x99, mac);
	assert_memory_not_equal(mac, token, 6);
	assert_int_equal(eth_if_stats(er.e)->token_collisions, 1);
	er_fini();
}

static void test_what_a_bridge_floods_to_its_own_stations(void **state)
{
	uint8_t d[100];
	size_t n = er_udp4(d, a_ip, er_ip_own, 10);

	begin(MAX);
	talk(a);
	talk(b);
	er_clear();
	er_tx_from(a, b, ETH_P_IPV4, d, n);
	er_tx_from(a, er.mac, ETH_P_IPV4, d, n);
	assert_int_equal(er_drops(ETH_DROP_LOCAL), 2);
	assert_int_equal(er_drops_sum(), 2);
	/*
	 * the kernel's neighbour entry for the other station is right, so it must not be reported
	 * as gone
	 */
	assert_int_equal(er.ngone, 0);
	er_fini();
}

static void test_types_that_are_refused_make_no_station(void **state)
{
	uint8_t d[100] = { 0 };

	begin(MAX);
	er_tx_from(a, er_bcast_mac, 0x88cc, d, 60); /* LLDP */
	er_tx_from(a, er_bcast_mac, 0x0026, d, 60); /* a frame of the spanning tree protocol */
	assert_int_equal(er.nstation, 0);
	er_fini();
}

/* --- limits */

static void test_limit_and_who_gives_way(void **state)
{
	static const uint8_t c[6] = { 0x52, 0x54, 0, 0, 0, 0xc };

	begin(2);
	talk(a);
	er_run(NS_SEC(1));
	talk(b);
	er_run(NS_SEC(8));
	/*
	 * station a has been idle for 9 s, and a new station replaces only a station that was idle
	 * for 10 s
	 */
	talk(c);
	assert_int_equal(er_drops(ETH_DROP_STATION_LIMIT), 1);
	er_run(NS_SEC(1));
	talk(c);
	assert_null(er_station(a));
	assert_non_null(er_station(b));
	assert_non_null(er_station(c));
	assert_int_equal(count(), 2);
	assert_int_equal(er_drops_sum(), 1);
	er_fini();
}

static void test_a_flood_of_macs_is_bounded(void **state)
{
	begin(MAX);
	for (unsigned int i = 0; i < 200; i++) {
		uint8_t mac[6] = { 0x52, 0x54, 1, 0, 0, (uint8_t)i };

		talk(mac);
		er_clear();
	}
	assert_int_equal(er.nstation, MAX);
	assert_int_equal(er_drops(ETH_DROP_STATION_LIMIT), 200 - MAX);
	er_fini();
}

static void test_no_queue_pair(void **state)
{
	begin(MAX);
	er.station_err = -ENOMEM;
	talk(a);
	assert_int_equal(er_drops(ETH_DROP_STATION_QP), 1);
	assert_int_equal(er_drops_sum(), 1);
	assert_int_equal(count(), 0);
	er.station_err = 0;
	talk(a);
	assert_int_equal(er.nsent, 1);
	er_fini();
}

static void test_none_while_the_link_is_down(void **state)
{
	begin(MAX);
	talk(b);
	ipoib_link_set_admin(er.r.link, false, er.r.s.now);
	er_run(NS_MSEC(10));
	er_clear();
	talk(a);
	assert_int_equal(er_drops(ETH_DROP_STATION_QP), 1);
	/*
	 * station b has a queue pair, so the interface passes the station's packet to the link; the
	 * link is down and drops the packet
	 */
	talk(b);
	assert_int_equal(ipoib_link_stats(er.r.link)->drops[IPOIB_DROP_LINK_DOWN], 1);
	assert_int_equal(er.nsent, 0);
	assert_int_equal(er.nstation, 1);
	er_fini();
}

/* --- ageing */

static void test_idle_station_ages_out(void **state)
{
	begin(MAX);
	talk(a);
	er_run(NS_SEC(299));
	assert_non_null(er_station(a));
	er_run(NS_SEC(2));
	assert_null(er_station(a));
	assert_int_equal(count(), 0);
	assert_int_equal(eth_if_stats(er.e)->stations_aged, 1);
	/*
	 * The QPN of the closed station must be free, so that the link accepts it as one of its own
	 * QPNs again.
	 */
	assert_int_equal(ipoib_link_own_qp_add(er.r.link, er.station[0].qpn), 0);
	ipoib_link_own_qp_del(er.r.link, er.station[0].qpn);
	er_run(NS_SEC(3600));
	talk(a);
	assert_int_equal(er.nstation, 2);
	er_fini();
}

static void test_either_direction_keeps_it(void **state)
{
	uint8_t d[100];
	size_t n = er_udp4(d, er_ip_peer, a_ip, 10);

	begin(MAX);
	talk(a);
	for (unsigned int i = 0; i < 5; i++) {
		er_run(NS_SEC(200));
		er_rx_station(a, ETH_P_IPV4, d, n);
		er_run(NS_SEC(200));
		talk(a);
		er_clear();
	}
	er_run(NS_SEC(299));
	assert_non_null(er_station(a));
	assert_int_equal(er.nstation, 1);
	er_fini();
}

/*
 * A packet of a station is held back. Meanwhile the station is removed, and a new station gets the
 * place of the removed station in the table. The packet must be dropped. It must not be sent by the
 * queue pair of the new station.
 */
static void test_packet_of_a_station_that_went(void **state)
{
	struct ipoib_action act = { .type = IPOIB_ACT_SEND };
	uint8_t d[100];
	uint32_t id;

	begin(1);
	talk(a);
	id = eth_station_by_mac(er.e, a)->id;
	er_run(NS_SEC(20));
	talk(b); /* station b gets the place in the table that station a had */
	assert_int_equal(eth_if_stats(er.e)->stations_aged, 1);
	assert_int_equal(eth_station_by_mac(er.e, b)->id % ETH_STATIONS_MAX, id % ETH_STATIONS_MAX);
	er_clear();
	act.send.pkt = er_packet(ETH_P_IPV4, d, er_udp4(d, a_ip, er_ip_peer, 10));
	frame_info(act.send.pkt)->station = id;
	assert_true(eth_action(er.e, &act, er.r.s.now));
	er_check_dropped(ETH_DROP_STATION_QP);
	er_fini();
}

/* --- groups */

static bool member(const uint8_t group[4])
{
	ib_gid mgid;

	assert_int_equal(mgid_from_ipv4(&mgid, group, RIG_PKEY, 2), 0);
	for (unsigned int i = 0; i < er.r.natt; i++)
		if (ib_gid_equal(&er.r.att[i].mgid, &mgid))
			return true;
	return false;
}

static void report(const uint8_t mac[6], uint8_t type, const uint8_t group[4])
{
	uint8_t d[64];

	er_tx_from(mac, group_mac, ETH_P_IPV4, d, report_igmp(d, type, group));
	er_run(NS_MSEC(10));
}

static void sync4(const uint8_t (*v4)[4], unsigned int n)
{
	er_groups_sync(v4, n, NULL, 0);
	er_run(NS_MSEC(10));
}

static unsigned int groups_of(const uint8_t mac[6])
{
	count();
	for (unsigned int i = 0; i < ninfo; i++)
		if (!memcmp(info[i].mac, mac, 6))
			return info[i].groups;
	return 0;
}

static void test_I30_a_group_lasts_while_a_station_is_in_it(void **state)
{
	begin(MAX);
	report(a, V2_REPORT, g1);
	report(b, V2_REPORT, g1);
	report(b, V2_REPORT, g2);
	assert_int_equal(groups_of(a), 1);
	assert_int_equal(groups_of(b), 2);
	report(a, V2_LEAVE, g1);
	assert_true(member(g1));
	assert_int_equal(groups_of(a), 0);
	report(a, V2_LEAVE, g2); /* station a has never joined g2 */
	assert_true(member(g2));
	report(b, V2_LEAVE, g1);
	assert_false(member(g1));
	assert_true(member(g2));
	er_fini();
}

static void test_I30_the_kernels_list_is_about_itself_alone(void **state)
{
	begin(MAX);
	report(a, V2_REPORT, g1);
	report(er.mac, V2_REPORT, g1);
	sync4(&g1, 1);
	report(a, V2_LEAVE, g1);
	assert_true(member(g1)); /* the kernel's list still has this group */
	report(a, V2_REPORT, g1);
	sync4(NULL, 0);
	assert_true(member(g1)); /* the station has not left the group */
	report(a, V2_LEAVE, g1);
	assert_false(member(g1));
	er_fini();
}

static void test_I30_groups_of_a_station_that_ages_out_are_left(void **state)
{
	begin(MAX);
	report(b, V2_REPORT, g2);
	report(a, V2_REPORT, g1);
	report(a, V2_REPORT, g2);
	/* station b sends reports, so only station a is idle */
	for (unsigned int i = 0; i < 4; i++) {
		er_run(NS_SEC(100));
		report(b, V2_REPORT, g2);
		er_clear();
	}
	assert_null(er_station(a));
	assert_false(member(g1));
	assert_true(member(g2));
	er_fini();
}

/* --- queries that the interface sends */

/*
 * Check that two queries (IGMP and MLD) were sent to @mac, with the content that RFC 3376 and RFC
 * 3810 require.
 */
static void check_queries(unsigned int at, const uint8_t mac[6])
{
	static const uint8_t nobody[6] = { 0x06 };
	static const uint8_t igmp[] = { 0x11, 10, 0, 0, 0, 0, 0, 0, 2, 125, 0, 0 };
	const struct er_got *q4 = &er.got[at], *q6 = &er.got[at + 1];
	const uint8_t *ip = q4->data + 14;
	uint32_t sum;

	assert_true(er.ngot >= at + 2);
	for (unsigned int i = at; i < at + 2; i++) {
		assert_memory_equal(er.got[i].data, mac, 6);
		assert_memory_equal(er.got[i].data + 6, nobody, 6);
	}
	assert_int_equal(be16_at(q4->data + 12), 0x0800);
	assert_int_equal(q4->len, 14 + 24 + 12);
	assert_memory_equal(ip, "\x46\xc0\0\x24\0\0\0\0\1\2", 10);
	assert_memory_equal(ip + 12, "\0\0\0\0\xe0\0\0\1\x94\4\0\0", 12);
	assert_int_equal(er_sum(ip, 24, 0), 0xffff);
	assert_int_equal(er_sum(ip + 24, 12, 0), 0xffff);
	assert_memory_equal(ip + 24, igmp, 2);
	assert_memory_equal(ip + 28, igmp + 4, 8);

	ip = q6->data + 14;
	assert_int_equal(be16_at(q6->data + 12), 0x86dd);
	assert_int_equal(q6->len, 14 + 40 + 8 + 28);
	assert_memory_equal(ip, "\x60\0\0\0\0\x24\0\1\xfe\x80\0\0\0\0\0\0", 16);
	assert_memory_equal(ip + 24, "\xff\2\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
	assert_memory_equal(ip + 40, "\x3a\0\5\2\0\0\1\0\x82\0", 10);
	assert_memory_equal(ip + 52, "\x03\xe8\0\0", 4); /* Maximum Response Delay 1000 ms */
	assert_memory_equal(ip + 72, "\2\x7d\0\0", 4);
	sum = er_sum(ip + 8, 32, 58 + 28);
	assert_int_equal(er_sum(ip + 48, 28, sum), 0xffff);
}

static void test_I30_a_new_station_is_asked_soon_and_then_again(void **state)
{
	begin(MAX);
	talk(a);
	er_run(NS_MSEC(900));
	assert_int_equal(er.ngot, 0);
	er_run(NS_MSEC(200));
	assert_int_equal(er.ngot, 2);
	/*
	 * the queries must be sent to all MACs, because there may be stations that have sent
	 * nothing yet
	 */
	check_queries(0, er_bcast_mac);
	er_run(NS_MSEC(123800));
	assert_int_equal(er.ngot, 2);
	talk(b);
	er_run(NS_MSEC(200));
	assert_int_equal(er.ngot, 4);
	check_queries(2, a);
	er_run(NS_SEC(1));
	assert_int_equal(er.ngot, 6);
	check_queries(4, er_bcast_mac);
	er_run(NS_SEC(125));
	assert_int_equal(er.ngot, 10);
	check_queries(6, b);
	check_queries(8, a);
	assert_int_equal(eth_if_stats(er.e)->queries, 10);
	er_fini();
}

static void test_I30_who_answers_stays_in_its_groups_and_who_does_not_is_out(void **state)
{
	begin(MAX);
	report(a, V2_REPORT, g1);
	report(a, V2_REPORT, g2);
	for (unsigned int i = 0; i < 10; i++) {
		unsigned int before = er.ngot;

		er_run(NS_SEC(125));
		assert_true(er.ngot >= before + 2);
		report(a, V2_REPORT, g1);
		sync4(NULL, 0);
		if (i == 1)
			assert_true(member(g2)); /* 250 s after the last report */
		if (i == 2)
			assert_false(member(g2)); /* 375 s without a report have passed */
		assert_true(member(g1));
	}
	er_fini();
}

/*
 * The interface must send queries to its own MAC only if this MAC has reported a group that is not
 * in the kernel's list.
 */
static void test_I30_the_interface_is_asked_only_about_groups_it_does_not_list(void **state)
{
	begin(MAX);
	report(er.mac, V2_REPORT, g1);
	sync4(&g1, 1);
	er_run(NS_SEC(1000));
	assert_int_equal(er.ngot, 0);
	/* a bridge reports group g2 with the interface's MAC, so g2 is not in the kernel's list */
	report(er.mac, V2_REPORT, g2);
	sync4(&g1, 1);
	er_run(NS_SEC(124));
	assert_int_equal(er.ngot, 0);
	er_run(NS_SEC(2));
	assert_int_equal(er.ngot, 2);
	check_queries(0, er.mac);
	report(er.mac, V2_REPORT, g2);
	er_run(NS_SEC(240));
	sync4(&g1, 1);
	assert_true(member(g2));
	er_fini();
}

static void test_nobody_is_asked_while_the_tap_is_down(void **state)
{
	begin(MAX);
	talk(a);
	eth_if_set_up(er.e, false, er.r.s.now);
	er_run(NS_SEC(200));
	assert_int_equal(eth_if_stats(er.e)->queries, 0);
	er_fini();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_station_sends_by_its_own_queue_pair),
		cmocka_unit_test(test_what_comes_by_its_queue_pair_goes_to_its_mac),
		cmocka_unit_test(test_R46_R48_arp_of_a_station),
		cmocka_unit_test(test_R50_reply_to_a_station_asks_for_the_path),
		cmocka_unit_test(test_R57_nd_of_a_station),
		cmocka_unit_test(test_I29_rarp_announcement_of_a_station),
		cmocka_unit_test(test_address_follows_the_interfaces_gid),
		cmocka_unit_test(test_I27_own_echo_of_a_station),
		cmocka_unit_test(test_super_frame_of_a_station),
		cmocka_unit_test(test_packet_held_for_its_path_leaves_by_its_queue_pair),
		cmocka_unit_test(test_sources_that_are_none),
		cmocka_unit_test(test_tokens_of_peers_are_not_learnt),
		cmocka_unit_test(test_token_that_a_station_has_is_salted),
		cmocka_unit_test(test_what_a_bridge_floods_to_its_own_stations),
		cmocka_unit_test(test_types_that_are_refused_make_no_station),
		cmocka_unit_test(test_limit_and_who_gives_way),
		cmocka_unit_test(test_a_flood_of_macs_is_bounded),
		cmocka_unit_test(test_no_queue_pair),
		cmocka_unit_test(test_none_while_the_link_is_down),
		cmocka_unit_test(test_idle_station_ages_out),
		cmocka_unit_test(test_either_direction_keeps_it),
		cmocka_unit_test(test_packet_of_a_station_that_went),
		cmocka_unit_test(test_I30_a_group_lasts_while_a_station_is_in_it),
		cmocka_unit_test(test_I30_the_kernels_list_is_about_itself_alone),
		cmocka_unit_test(test_I30_groups_of_a_station_that_ages_out_are_left),
		cmocka_unit_test(test_I30_a_new_station_is_asked_soon_and_then_again),
		cmocka_unit_test(test_I30_who_answers_stays_in_its_groups_and_who_does_not_is_out),
		cmocka_unit_test(
			test_I30_the_interface_is_asked_only_about_groups_it_does_not_list),
		cmocka_unit_test(test_nobody_is_asked_while_the_tap_is_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/eth_rig.h"

#include "eth/token.h"

/* Tests the octets of packets on links whose profile is not the default, such as v6ib00. */

/*
 * profile = v6ib00: a Neighbour Solicitation of fe80::202:c903:0:5 for fe80::202:c903:0:7. By
 * draft-kashyap-ipoib-ipv6-over-ib-00 §7 the IB payload begins with the IPv6 header. The option is
 * that of §5.1, with values of the rig's interface: LID 5, no flags, QPN 0x48, Q_Key 0x80000b1b
 * (which comes from the broadcast group), the GID, and 4 octets of padding. The payload length is
 * 24 (RFC 4861 §4.3) + 32 = 56.
 *
 * The checksum is over these 16-bit words:
 * 	source		fe80 + 0202 + c903 + 0005 = 1c98a
 * 	destination	ff02 + 0001 + ff00 + 0007 = 1fe0a
 * 	length, type 58	0038 + 003a = 0072
 * 	message		8700, target fe80 + 0202 + c903 + 0007 = 1c98c, in all 2508c
 * 	option		0104 + 0005 + 0000 + 0048 + 8000 + 0b1b + fe80 + 0002 + c903 + 0005 = 253f6
 * 	sum		1c98a + 1fe0a + 0072 + 2508c + 253f6 = 86c88, folded 6c90, inverted 936f
 */
static const uint8_t solicitation[] = {
	0x60, 0x00, 0x00, 0x00, 0x00, 0x38, 0x3a, 0xff, /* IPv6 */
	0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* source */
	0x02, 0x02, 0xc9, 0x03, 0x00, 0x00, 0x00, 0x05, /* */
	0xff, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* destination */
	0x00, 0x00, 0x00, 0x01, 0xff, 0x00, 0x00, 0x07, /* */
	0x87, 0x00, 0x93, 0x6f, 0x00, 0x00, 0x00, 0x00, /* type 135 */
	0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* target */
	0x02, 0x02, 0xc9, 0x03, 0x00, 0x00, 0x00, 0x07, /* */
	0x01, 0x04, 0x00, 0x05, 0x00, 0x00, 0x00, 0x48, /* type 1, Length 4, LID, flags, QPN */
	0x80, 0x00, 0x0b, 0x1b, 0xfe, 0x80, 0x00, 0x00, /* Q_Key, GID */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xc9, 0x03, /* */
	0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, /* padding */
};

static const uint8_t ll_peer[16] = { 0xfe, 0x80, [8] = 2, 2, 0xc9, 3, [15] = 7 };
static const uint8_t sol_peer[16] = { 0xff, 2, [11] = 1, 0xff, 0, 0, 7 };
static const uint8_t sol_peer_mac[6] = { 0x33, 0x33, 0xff, 0, 0, 7 };

#define PEER_QKEY 0x01234567u

static void begin_v6ib(void)
{
	er_profile = ipoib_profile_find("v6ib00");
	assert_non_null(er_profile);
	er_init();
	rig_peer(&er.r, ER_PEER);
}

static void end(void)
{
	er_fini();
	er_profile = NULL;
}

static struct pkt *plain(const void *data, size_t n)
{
	struct pkt *p = pkt_from_data(er.r.pool, data, n);

	assert_non_null(p);
	return p;
}

/* Q_Key in the option that advertisement() writes */
static uint32_t said_qkey = PEER_QKEY;
/*
 * Write a Neighbour Advertisement of the peer. The advertisement's option has @units times 8
 * octets, and contains @lid and @flags
 */
static size_t advertisement(uint8_t *b, unsigned int units, uint16_t lid, uint8_t flags)
{
	struct nd_port a = { .lladdr = er_peer_addr(ER_PEER, ER_PEER_QPN),
			     .lid = lid,
			     .qkey = said_qkey };
	uint8_t m[24 + 40] = { ICMP6_NA, [4] = 0x60 };

	memcpy(m + 8, ll_peer, 16);
	nd_opt_link_info_encode(m + 24, ND_OPT_TLLA, &a);
	m[24 + 1] = (uint8_t)units;
	m[24 + 4] = flags;
	return er_icmp6(b, ll_peer, er_ll_own, m, 24 + units * 8);
}

/*
 * Let the peer's advertisement arrive with @units, @lid and @flags. Afterwards er_peer_mac is the
 * peer's MAC in the TAP.
 */
static void peer_answers(unsigned int units, uint16_t lid, uint8_t flags)
{
	uint8_t b[200];

	er_rx_pkt(plain(b, advertisement(b, units, lid, flags)), ER_PEER, ER_PEER_QPN, false, NULL);
	assert_int_equal(er.ngot, 1);
	assert_int_equal(er.got[0].len, 14 + 40 + 24 + 8);
	assert_int_equal(er.got[0].data[14 + 40 + 24], ND_OPT_TLLA);
	memcpy(er_peer_mac, er.got[0].data + 14 + 40 + 24 + 2, 6);
	er_clear();
	er_run(NS_MSEC(10));
}

static void send_to_peer(void)
{
	uint8_t b[100];

	er_tx(er_peer_mac, ETH_P_IPV6_, b, er_ip6(b, er_ll_own, ll_peer, 59, 64, "data", 4));
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].len, 44);
	assert_memory_equal(er.sent[0].data, b, 44);
}

static void test_V10_V20_V22_solicitation_is_the_octets_of_the_draft(void **state)
{
	uint8_t b[100], m[24 + 8] = { ICMP6_NS };
	ib_gid mgid = { { 0xff, 0x12, 0x33, 0x33, [11] = 1, 0xff, 0, 0, 7 } };

	begin_v6ib();
	sa_group_make(&er.r.s.sa, &mgid, RIG_PKEY, IB_MTU_2048);
	memcpy(m + 8, ll_peer, 16);
	m[24] = ND_OPT_SLLA;
	m[25] = 1;
	memcpy(m + 26, er.mac, 6);
	er_tx(sol_peer_mac, ETH_P_IPV6_, b, er_icmp6(b, er_ll_own, sol_peer, m, sizeof(m)));
	er_run(NS_SEC(1));
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].len, sizeof(solicitation));
	assert_memory_equal(er.sent[0].data, solicitation, sizeof(solicitation));
	assert_int_equal(er.sent[0].dest_qpn, 0xffffff);
	assert_true(er.sent[0].ah.has_grh);
	assert_memory_equal(&er.sent[0].ah.dgid, &mgid, 16);
	assert_int_equal(er.sent[0].qkey, 0x80000b1b);
	end();
}

/*
 * The peer's option has a wrong LID, and flags that announce RC and separate QPs for other
 * services. The LID in an option is only a hint, so packets must have the LID of the PathRecord. A
 * host may ignore the flags, because the peer accepts all packets on its default QPN (clause V13).
 * So packets must have the default QPN, which is in the option.
 */
static void test_V3_V13_V14_unicasts_have_the_qpn_and_qkey_of_the_option(void **state)
{
	for (unsigned int units = 4; units <= 5; units++) {
		begin_v6ib();
		peer_answers(units, 0x99, ND_CAP_QPN | ND_CAP_RC);
		send_to_peer();
		assert_int_equal(er.sent[0].qkey, PEER_QKEY);
		assert_int_equal(er.sent[0].dest_qpn, ER_PEER_QPN);
		assert_int_equal(er.sent[0].ah.dlid, ER_PEER);
		assert_int_equal(er_drops_sum(), 0);
		end();
	}
}

/*
 * Another node advertises a wrong Q_Key for the peer, before and after the peer has advertised its
 * own Q_Key. In both cases packets to the peer must have the peer's own Q_Key.
 */
static void test_V14_a_qkey_that_the_peer_has_said_is_not_replaced_by_others(void **state)
{
	uint8_t b[200];

	begin_v6ib();
	for (int round = 0; round < 2; round++) {
		said_qkey = 0x666;
		er_rx_pkt(plain(b, advertisement(b, 4, 0, 0)), 9, 0x99, false, NULL);
		er_clear();
		if (!round) {
			said_qkey = PEER_QKEY;
			peer_answers(4, 0, 0);
		}
	}
	said_qkey = PEER_QKEY;
	send_to_peer();
	assert_int_equal(er.sent[0].qkey, PEER_QKEY);
	end();
}

static void test_V10_other_options_are_refused(void **state)
{
	static const unsigned int units[] = { 1, 3, 6 };
	uint8_t b[200];

	begin_v6ib();
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		uint8_t m[24 + 48] = {
			ICMP6_NA, [4] = 0x60, [24] = ND_OPT_TLLA, [25] = (uint8_t)units[i]
		};

		er_rx_pkt(plain(b, er_icmp6(b, ll_peer, er_ll_own, m, 24 + 8 * units[i])), ER_PEER,
			  ER_PEER_QPN, false, NULL);
	}
	assert_int_equal(er.ngot, 0);
	assert_int_equal(er_drops(ETH_DROP_RX_ARP), ARRAY_SIZE(units));
	end();
}

/* A unicast with a GRH and one without (clauses V2, V21) must arrive on the default QPN (V13). */
static void test_V2_V13_V21_unicasts_arrive_with_and_without_a_grh(void **state)
{
	uint8_t b[100];
	size_t n;

	begin_v6ib();
	n = er_ip6(b, ll_peer, er_ll_own, 59, 64, "data", 4);
	for (int grh = 0; grh < 2; grh++) {
		er_rx_pkt(plain(b, n), ER_PEER, ER_PEER_QPN, grh, NULL);
		assert_int_equal(er.ngot, 1);
		assert_int_equal(be16_at(er.got[0].data + 12), ETH_P_IPV6_);
		assert_int_equal(er.got[0].len, 14 + n);
		assert_memory_equal(er.got[0].data + 14, b, n);
		er_clear();
	}
	end();
}

static void test_V20_what_is_not_ipv6_is_dropped_and_counted(void **state)
{
	static const uint8_t v4[20] = { 0x45 }, arp[28] = { 0, 1, 8, 0, 6, 4, 0, 1 };
	uint8_t b[100];

	begin_v6ib();
	er_tx(er_bcast_mac, ETH_P_IPV4, v4, sizeof(v4));
	er_tx(er_bcast_mac, ETH_P_ARP4, arp, sizeof(arp));
	assert_int_equal(er_drops(ETH_DROP_TYPE), 2);
	assert_int_equal(er.nsent, 0);
	/*
	 * An IPv4 packet, a packet with the encapsulation header of RFC 4391, and an empty packet
	 * arrive from the link.
	 */
	er_rx_pkt(plain(v4, sizeof(v4)), ER_PEER, ER_PEER_QPN, true, NULL);
	er_rx(ETH_P_IPV6_, b, er_ip6(b, ll_peer, er_ll_own, 59, 64, "data", 4));
	er_rx_pkt(plain("", 0), ER_PEER, ER_PEER_QPN, true, NULL);
	assert_int_equal(er.ngot, 0);
	assert_int_equal(ipoib_link_stats(er.r.link)->drops[IPOIB_DROP_RX_TYPE], 2);
	assert_int_equal(ipoib_link_stats(er.r.link)->drops[IPOIB_DROP_SHORT], 1);
	end();
}

/*
 * A station has its own queue pair. The option in the station's solicitation must have the QPN of
 * the station's queue pair.
 */
static void test_V14_option_of_a_station_has_its_qpn(void **state)
{
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 0x51 };
	uint8_t b[100], m[24 + 8] = { ICMP6_NS };
	ib_gid mgid = { { 0xff, 0x12, 0x33, 0x33, [11] = 1, 0xff, 0, 0, 7 } };

	er_max_stations = 4;
	begin_v6ib();
	sa_group_make(&er.r.s.sa, &mgid, RIG_PKEY, IB_MTU_2048);
	memcpy(m + 8, ll_peer, 16);
	m[24] = ND_OPT_SLLA;
	m[25] = 1;
	memcpy(m + 26, mac, 6);
	er_tx_from(mac, sol_peer_mac, ETH_P_IPV6_, b,
		   er_icmp6(b, er_ll_own, sol_peer, m, sizeof(m)));
	er_run(NS_SEC(1));
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].src_qpn, er_station(mac)->qpn);
	assert_int_equal(be32_at(er.sent[0].data + 40 + 24 + 4), er_station(mac)->qpn);
	eth_if_set_up(er.e, false, er.r.s.now);
	er_run(NS_SEC(400));
	er_max_stations = 0;
	end();
}

/*
 * Send the peer a Redirect that names the node with @mac as the better next hop. Copies the option
 * that the interface sends to the link to @option, and returns the length of the option
 */
static size_t redirect(const uint8_t mac[6], uint8_t option[ND_OPT_LINK_INFO])
{
	uint8_t m[40 + ND_OPT_LLADDR_ETHER] = { ICMP6_REDIRECT, [40] = ND_OPT_TLLA, [41] = 1 },
		       b[100];
	const uint8_t *ip = er.sent[0].data;
	size_t n;

	er_clear();
	memcpy(m + 8, ll_peer, 16);
	memcpy(m + 24, ll_peer, 16);
	memcpy(m + 42, mac, 6);
	er_tx(er_peer_mac, ETH_P_IPV6_, b, er_icmp6(b, er_ll_own, ll_peer, m, sizeof(m)));
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 1);
	er_check_ip(ip, er.sent[0].len);
	assert_int_equal(be16_at(ip + 4) + 40, er.sent[0].len);
	n = er.sent[0].len - 80;
	assert_in_range(n, 0, ND_OPT_LINK_INFO);
	memcpy(option, ip + 80, n);
	return n;
}

/*
 * The option of v6ib00 contains a LID, and the interface learns the LID of another node only from
 * the path to that node. Without this path, the Redirect must be sent without the option, as RFC
 * 4861 §4.5 allows. The receiver of the Redirect then sends a solicitation to that node.
 */
static void test_V11_redirect_to_a_node_whose_lid_is_not_known_has_no_option(void **state)
{
	struct ipoib_lladdr a = er_peer_addr(9, 0x99);
	struct ipoib_neigh *n;
	uint8_t mac[6], opt[ND_OPT_LINK_INFO];

	begin_v6ib();
	peer_answers(4, ER_PEER, 0);
	rig_peer(&er.r, 9);
	assert_int_equal(eth_lladdr_to_mac(er.e, &a, mac, &n, er.r.s.now), 0);
	assert_int_equal(redirect(mac, opt), 0);
	ipoib_neigh_probe(ipoib_neigh_find(er.r.link, &a), er.r.s.now);
	er_run(NS_MSEC(10));
	assert_int_equal(redirect(mac, opt), ND_OPT_LINK_INFO);
	assert_int_equal(be16_at(opt + 2), 9);
	assert_int_equal(be32_at(opt + 4), 0x99);
	/* The interface always has its own LID. */
	assert_int_equal(redirect(er.mac, opt), ND_OPT_LINK_INFO);
	assert_int_equal(be16_at(opt + 2), RIG_LID);
	end();
}

/* In v6ib00, no octets of an encapsulation come before the IP headers of datagrams that are coalesced. */
static void test_datagrams_without_encapsulation_become_a_train(void **state)
{
	uint8_t b[400], m[8 + 300] = { 0 };
	struct pkt *v[4];
	size_t n = sizeof(m);

	er_trains = true;
	begin_v6ib();
	peer_answers(5, ER_PEER, 0x80);
	send_to_peer();
	er_clear();
	be16_put(m + 4, (uint16_t)n);
	for (unsigned int i = 0; i < ARRAY_SIZE(v); i++) {
		m[8] = (uint8_t)i;
		er_ip6(b, er_ll_own, ll_peer, 17, 64, m, n);
		be16_put(b + 46, er_sum(b + 8, 32, (uint32_t)(17 + n)));
		v[i] = er_frame(er_peer_mac, er.mac, ETH_P_IPV6_, b, 40 + n);
		frame_info(v[i])->csum = FRAME_CSUM_PARTIAL;
		frame_info(v[i])->csum_start = 40;
		frame_info(v[i])->csum_offset = 6;
	}
	eth_tx(er.e, v, ARRAY_SIZE(v), er.r.s.now);
	assert_int_equal(er.nsent, ARRAY_SIZE(v));
	for (unsigned int i = 0; i < ARRAY_SIZE(v); i++) {
		assert_int_equal(er.sent[i].train, ARRAY_SIZE(v));
		assert_int_equal(er.sent[i].data[48], i);
		er_check_ip(er.sent[i].data, er.sent[i].len);
	}
	end();
	er_trains = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_V10_V20_V22_solicitation_is_the_octets_of_the_draft),
		cmocka_unit_test(test_V3_V13_V14_unicasts_have_the_qpn_and_qkey_of_the_option),
		cmocka_unit_test(test_V14_a_qkey_that_the_peer_has_said_is_not_replaced_by_others),
		cmocka_unit_test(test_V10_other_options_are_refused),
		cmocka_unit_test(test_V2_V13_V21_unicasts_arrive_with_and_without_a_grh),
		cmocka_unit_test(test_V20_what_is_not_ipv6_is_dropped_and_counted),
		cmocka_unit_test(test_V14_option_of_a_station_has_its_qpn),
		cmocka_unit_test(test_V11_redirect_to_a_node_whose_lid_is_not_known_has_no_option),
		cmocka_unit_test(test_datagrams_without_encapsulation_become_a_train),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

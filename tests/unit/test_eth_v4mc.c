/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/eth_rig.h"

/*
 * profile = v4mc01: tests the translation of packets from the TAP, octet by octet.
 * draft-kashyap-ipoib-ipv4-multicast-01 defines the MGIDs; the payload of a packet has the format
 * of RFC 4391.
 *
 * The array below is an ARP request of 10.4.0.5 for 10.4.0.7: ethertype and two reserved octets
 * (RFC 4391 §6); hardware type 32, protocol 0x0800, lengths 20 and 4, operation 1 (RFC 4391
 * §9.1.1); the sender's address, which is a reserved octet, QPN 0x48 and GID fe80::2:c903:0:5; the
 * sender's IP address; 20 octets without meaning; the requested IP address. The request is sent to
 * all hosts, with the MGID FF12::255.255.255.255 (§3.3 of the draft).
 */
static const uint8_t request[] = {
	0x08, 0x06, 0x00, 0x00, /* IPoIB */
	0x00, 0x20, 0x08, 0x00, 0x14, 0x04, 0x00, 0x01, /* ARP */
	0x00, 0x00, 0x00, 0x48, 0xfe, 0x80, 0x00, 0x00, /* sender */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xc9, 0x03, /* */
	0x00, 0x00, 0x00, 0x05, 0x0a, 0x04, 0x00, 0x05, /* */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* target */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* */
	0x00, 0x00, 0x00, 0x00, 0x0a, 0x04, 0x00, 0x07, /* */
};

/*
 * UDP from 10.4.0.5 port 5000 to 225.1.1.1 port 5000, TTL 1, with 4 octets of data. IP length 20 +
 * 8 + 4 = 0x20. Header checksum: 4500 + 0020 + 0111 + 0a04 + 0005 + e101 + 0101 = 1323c, folded
 * 323d, inverted cdc2. UDP checksum: pseudo header 0a04 + 0005 + e101 + 0101 + 0011 + 000c = ec28,
 * UDP 1388 + 1388 + 000c = 271c, data 6461 + 7461 = d8c2, sum 1ec06, folded ec07, inverted 13f8.
 * The MGID is FF12::225.1.1.1, which contains all 32 bits of the IP address (§3.3 of the draft).
 */
static const uint8_t datagram[] = {
	0x08, 0x00, 0x00, 0x00, /* IPoIB */
	0x45, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00, 0x00, /* IP */
	0x01, 0x11, 0xcd, 0xc2, 0x0a, 0x04, 0x00, 0x05, /* */
	0xe1, 0x01, 0x01, 0x01, 0x13, 0x88, 0x13, 0x88, /* UDP */
	0x00, 0x0c, 0x13, 0xf8, 0x64, 0x61, 0x74, 0x61, /* */
};

static const ib_gid bcast = { { 0xff, 0x12, [12] = 0xff, 0xff, 0xff, 0xff } };
static const ib_gid group = { { 0xff, 0x12, [12] = 0xe1, 0x01, 0x01, 0x01 } };
static const ib_gid systems = { { 0xff, 0x12, [12] = 0xe0, 0x00, 0x00, 0x01 } };
static const uint8_t group_mac[6] = { 0x01, 0, 0x5e, 1, 1, 1 };
static const uint8_t group_ip[4] = { 225, 1, 1, 1 };

static void begin(void)
{
	er_profile = ipoib_profile_find("v4mc01");
	assert_non_null(er_profile);
	er_init();
	er_clear();
}

static void end(void)
{
	er_fini();
	er_profile = NULL;
}

static uint16_t mlid(const ib_gid *mgid)
{
	return sa_group_find(&er.r.s.sa, mgid)->rec.mlid;
}

/* Check the octets of the sent packet and its destination. Clause M17: the GRH has the MGID. */
static void check_sent(const void *want, size_t n, const ib_gid *mgid, uint16_t dlid)
{
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].len, n);
	assert_memory_equal(er.sent[0].data, want, n);
	assert_int_equal(er.sent[0].dest_qpn, 0xffffff);
	assert_int_equal(er.sent[0].qkey, 0x80000b1b);
	assert_true(er.sent[0].ah.has_grh);
	assert_memory_equal(&er.sent[0].ah.dgid, mgid, 16);
	assert_int_equal(er.sent[0].ah.dlid, dlid);
	er_clear();
}

static void test_M8_M17_arp_request_goes_to_the_broadcast_group(void **state)
{
	uint8_t arp[28] = { 0, 1, 8, 0, 6, 4, 0, 1 };

	begin();
	memcpy(arp + 8, er.mac, 6);
	memcpy(arp + 14, er_ip_own, 4);
	memcpy(arp + 24, er_ip_peer, 4);
	er_tx(er_bcast_mac, ETH_P_ARP4, arp, sizeof(arp));
	er_run(NS_MSEC(10));
	check_sent(request, sizeof(request), &bcast, mlid(&bcast));
	end();
}

/* The limited broadcast and directed broadcasts must both be sent to the broadcast group. */
static void test_M8_every_broadcast_goes_to_the_broadcast_group(void **state)
{
	static const uint8_t dst[2][4] = { { 255, 255, 255, 255 }, { 10, 4, 0, 255 } };
	uint8_t b[104] = { 8, 0 };

	begin();
	for (int i = 0; i < 2; i++) {
		size_t n = er_udp4(b + 4, er_ip_own, dst[i], 16);

		er_tx(er_bcast_mac, ETH_P_IPV4, b + 4, n);
		er_run(NS_MSEC(10));
		check_sent(b, 4 + n, &bcast, mlid(&bcast));
	}
	end();
}

static void test_M9_M17_M21_multicast_goes_to_its_group(void **state)
{
	begin();
	sa_group_make(&er.r.s.sa, &group, RIG_PKEY, IB_MTU_2048);
	er_tx(group_mac, ETH_P_IPV4, datagram + 4, sizeof(datagram) - 4);
	er_run(NS_MSEC(10));
	check_sent(datagram, sizeof(datagram), &group, mlid(&group));
	end();
}

/*
 * The group 225.1.1.1 of the datagram does not exist at the SA. The datagram must be sent to the
 * MLID of the group 224.0.0.1. This group always exists, because the kernel is always a member of
 * it. The MGID in the GRH must still be that of 225.1.1.1.
 */
static void test_M22_multicast_to_an_absent_group(void **state)
{
	begin();
	er_tx(group_mac, ETH_P_IPV4, datagram + 4, sizeof(datagram) - 4);
	er_run(NS_MSEC(10));
	check_sent(datagram, sizeof(datagram), &group, mlid(&systems));
	end();
}

static void test_M24_the_link_is_in_all_systems(void **state)
{
	begin();
	assert_int_equal(sa_group_find(&er.r.s.sa, &systems)->have, MCM_JOIN_FULL);
	end();
}

/* A unicast within the subnet must have no GRH, and must have the encapsulation of RFC 4391. */
static void test_M1_unicast_octets(void **state)
{
	uint8_t b[64] = { 8, 0 };
	size_t n = er_ip4(b + 4, er_ip_own, er_ip_peer, 253, "data", 4);

	begin();
	er_learn(ER_PEER, ER_PEER_QPN, er_peer_mac);
	er_run(NS_MSEC(10));
	er_clear();
	er_tx(er_peer_mac, ETH_P_IPV4, b + 4, n);
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].len, 4 + n);
	assert_memory_equal(er.sent[0].data, b, 4 + n);
	assert_int_equal(er.sent[0].dest_qpn, ER_PEER_QPN);
	assert_int_equal(er.sent[0].qkey, 0x80000b1b);
	assert_int_equal(er.sent[0].ah.dlid, ER_PEER);
	assert_false(er.sent[0].ah.has_grh);
	end();
}

/*
 * A report of IGMPv2 must be sent to the group that it reports, and only after this group has been
 * created at the SA.
 */
static void test_M19_group_is_joined_before_its_igmp_report_leaves(void **state)
{
	uint8_t igmp[8] = { 0x16, [4] = 225, 1, 1, 1 }, b[64] = { 8, 0 };
	size_t n;

	begin();
	be16_put(igmp + 2, 0xffff - (0x1600 + 0xe101 + 0x0101));
	n = er_ip4(b + 4, er_ip_own, group_ip, 2, igmp, sizeof(igmp));
	er.r.s.sa.deaf = true;
	er_tx(group_mac, ETH_P_IPV4, b + 4, n);
	er_run(NS_MSEC(100));
	assert_int_equal(er.nsent, 0);
	er.r.s.sa.deaf = false;
	er_run(NS_SEC(1));
	assert_int_equal(sa_group_find(&er.r.s.sa, &group)->have, MCM_JOIN_FULL);
	check_sent(b, 4 + n, &group, mlid(&group));
	end();
}

static void test_M22_multicast_is_received_whatever_lid_it_came_by(void **state)
{
	begin();
	er_rx_mcast(&group, ETH_P_IPV4, datagram + 4, sizeof(datagram) - 4);
	assert_int_equal(er.ngot, 1);
	assert_memory_equal(er.got[0].data, group_mac, 6);
	assert_memory_equal(er.got[0].data + 14, datagram + 4, sizeof(datagram) - 4);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_M8_M17_arp_request_goes_to_the_broadcast_group),
		cmocka_unit_test(test_M8_every_broadcast_goes_to_the_broadcast_group),
		cmocka_unit_test(test_M9_M17_M21_multicast_goes_to_its_group),
		cmocka_unit_test(test_M22_multicast_to_an_absent_group),
		cmocka_unit_test(test_M24_the_link_is_in_all_systems),
		cmocka_unit_test(test_M1_unicast_octets),
		cmocka_unit_test(test_M19_group_is_joined_before_its_igmp_report_leaves),
		cmocka_unit_test(test_M22_multicast_is_received_whatever_lid_it_came_by),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

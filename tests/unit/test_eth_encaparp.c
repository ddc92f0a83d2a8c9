/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/eth_report.h"

#include <stdio.h>

#include "wire/ibarp.h"

/*
 * Profile encaparp00 (draft-pelissier-ipoib-encaparp-00): tests how packets are translated from
 * the TAP to the link and from the link to the TAP, octet by octet. "§" means a section of this
 * draft. The rig's own port has LID 5, GUID 0002c90300000005 and QPN 0x48; the link has the Q_Key
 * 0x80000b1b and the P_Key 0x8001.
 */

#define PEER_QKEY 0x01234567u

static const uint8_t ll_peer[16] = { 0xfe, 0x80, [8] = 2, 2, 0xc9, 3, [15] = 7 };
static const uint8_t zero_mac[6];

static void begin(void)
{
	er_profile = ipoib_profile_find("encaparp00");
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

/*
 * Let a packet of the peer arrive in the encapsulation of profile encaparp00: to the broadcast
 * group if @mcast is true, otherwise to the queue pair of the rig's interface
 */
static void from_peer(uint16_t type, const void *data, size_t n, bool mcast)
{
	static uint8_t b[4096];
	ib_gid g = rig_bcast();

	be16_put(b + 2, type);
	memcpy(b + 4, data, n);
	er_rx_pkt(plain(b, n + 4), ER_PEER, ER_PEER_QPN, mcast, mcast ? &g : NULL);
}

static struct nd_port port_of(unsigned int lid, uint32_t qpn, uint32_t qkey)
{
	return (struct nd_port){ .lladdr = er_peer_addr(lid, qpn),
				 .has_qkey = true,
				 .qkey = qkey,
				 .eui64 = 0x0002c90300000000 + lid };
}

static struct ibarp_pkt message(uint16_t op)
{
	struct ibarp_pkt a = { .op = op };

	a.sender = port_of(ER_PEER, ER_PEER_QPN, PEER_QKEY);
	a.target = port_of(RIG_LID, RIG_QPN, 0x80000b1b);
	memcpy(a.spa, er_ip_peer, 4);
	memcpy(a.tpa, er_ip_own, 4);
	return a;
}

static void rx_ibarp(const struct ibarp_pkt *a, bool mcast)
{
	uint8_t b[IBARP_LEN];

	ibarp_encode(b, a);
	from_peer(ETH_P_IPV4, b, sizeof(b), mcast);
}

/* Send an ARP message from the TAP, as the kernel does. */
static void tx_arp(const uint8_t dst[6], uint16_t op, const uint8_t tha[6], const uint8_t tpa[4])
{
	struct arp_pkt a = {
		.hrd = ARP_HRD_ETHER, .pro = ETH_P_IPV4, .hln = 6, .pln = 4, .op = op
	};
	uint8_t b[ARP_ETHER_LEN];

	memcpy(a.sha, er.mac, 6);
	memcpy(a.spa, er_ip_own, 4);
	memcpy(a.tha, tha, 6);
	memcpy(a.tpa, tpa, 4);
	er_tx(dst, ETH_P_ARP4, b, arp_encode(b, &a));
	er_run(NS_MSEC(10));
}

static void got_arp(struct arp_pkt *ret)
{
	assert_int_equal(er.ngot, 1);
	assert_int_equal(be16_at(er.got[0].data + 12), ETH_P_ARP4);
	assert_int_equal(arp_decode(ret, er.got[0].data + 14, er.got[0].len - 14), 0);
	assert_int_equal(ret->hrd, ARP_HRD_ETHER);
}

/*
 * Let the peer's IBARP request for the IP address of the rig's interface arrive. Afterwards
 * er_peer_mac is the peer's MAC in the TAP.
 */
static void peer_asks(void)
{
	struct ibarp_pkt ask = message(ARP_OP_REQUEST);
	struct arp_pkt a;

	rx_ibarp(&ask, true);
	got_arp(&a);
	memcpy(er_peer_mac, a.sha, 6);
	er_clear();
}

/*
 * A packet as in the figure of §3: Reserved 0x0000, Ethertype, IP datagram. The datagram has 24
 * octets and is for 10.4.0.7. Its header checksum is the complement of 4500 + 0018 + 4011 + 0a04 +
 * 0005 + 0a04 + 0007 = 993d. The length and checksum of UDP are wrong, but the link does not check
 * them.
 */
static const uint8_t unicast[] = {
	0x00, 0x00, 0x08, 0x00, /* Reserved, Ethertype */
	0x45, 0x00, 0x00, 0x18, 0x00, 0x00, 0x00, 0x00, /* IPv4 */
	0x40, 0x11, 0x66, 0xc2, 0x0a, 0x04, 0x00, 0x05, /* */
	0x0a, 0x04, 0x00, 0x07, 0x12, 0x34, 0x56, 0x78, /* */
};

static void test_P2_P3_P4_P6_P15_unicast_is_the_octets_of_the_draft(void **state)
{
	begin();
	peer_asks();
	er_tx(er_peer_mac, ETH_P_IPV4, unicast + 4, sizeof(unicast) - 4);
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].len, sizeof(unicast));
	assert_memory_equal(er.sent[0].data, unicast, sizeof(unicast));
	/*
	 * The packet must have the QPN and the Q_Key that the peer's request advertised, and the
	 * LID of the path to the GID that this request advertised
	 */
	assert_int_equal(er.sent[0].dest_qpn, ER_PEER_QPN);
	assert_int_equal(er.sent[0].qkey, PEER_QKEY);
	assert_int_equal(er.sent[0].ah.dlid, ER_PEER);
	end();
}

/*
 * The datagram of unicast[], but to 239.1.2.3. Header checksum: 4500 + 0018 + 0111 + 0a04 + 0005 +
 * ef01 + 0203 = 14136, folded 4137, inverted bec8. The MGID is that of RFC 4391 for P_Key 0x8001:
 * FF12:401B:8001:: with the low 28 bits of the IP address, f01:203.
 */
static const uint8_t multicast[] = {
	0x00, 0x00, 0x08, 0x00, /* Reserved, Ethertype */
	0x45, 0x00, 0x00, 0x18, 0x00, 0x00, 0x00, 0x00, /* IPv4, with TTL 1 */
	0x01, 0x11, 0xbe, 0xc8, 0x0a, 0x04, 0x00, 0x05, /* */
	0xef, 0x01, 0x02, 0x03, 0x12, 0x34, 0x56, 0x78, /* */
};

static void test_P2_P22_multicast_is_the_octets_of_the_draft(void **state)
{
	static const uint8_t mac[6] = { 1, 0, 0x5e, 1, 2, 3 };
	ib_gid mgid = { { 0xff, 0x12, 0x40, 0x1b, 0x80, 0x01, [12] = 0x0f, 1, 2, 3 } };

	begin();
	sa_group_make(&er.r.s.sa, &mgid, RIG_PKEY, IB_MTU_2048);
	er_tx(mac, ETH_P_IPV4, multicast + 4, sizeof(multicast) - 4);
	er_run(NS_SEC(1));
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].len, sizeof(multicast));
	assert_memory_equal(er.sent[0].data, multicast, sizeof(multicast));
	assert_int_equal(er.sent[0].dest_qpn, 0xffffff);
	assert_int_equal(er.sent[0].qkey, 0x80000b1b);
	assert_memory_equal(&er.sent[0].ah.dgid, &mgid, 16);
	end();
}

/*
 * An IBARP request of 92 octets, as in the figure of §6.3. The sender's values are those of column
 * SENDER of §6.4: the EUI-64, QPN, Q_Key, GID and IP address of the rig's interface. The target has
 * the requested IP address 10.4.0.7; its other values may be "anything", and are 0 here.
 */
static const uint8_t request[] = {
	0x00, 0x00, 0x08, 0x00, /* Reserved16, Ethertype */
	/* The next 8 octets: Hardware Type 32, Protocol Type 0x0800, HLEN, PLEN, Operation */
	0x00, 0x20, 0x08, 0x00, 0x20, 0x04, 0x00, 0x01, /* HLEN 32, PLEN 4, Operation 1 */
	0x00, 0x02, 0xc9, 0x03, 0x00, 0x00, 0x00, 0x05, /* Sender EUI-64 */
	0x00, 0x00, 0x00, 0x48, /* Reserved8, Sender QPN */
	0x80, 0x00, 0x0b, 0x1b, /* Sender QKey */
	0xfe, 0x80, 0x00, 0x00, /* SenderGID[127-96] */
	0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* SenderGID[127-96], [95-64] */
	0x00, 0x02, 0xc9, 0x03, 0x00, 0x00, 0x00, 0x05, /* SenderGID[63-32], [31-0] */
	0x0a, 0x04, 0x00, 0x05, /* Sender IP Address */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* Target EUI-64 */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* Target QPN, QKey */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* TargetGID */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* */
	0x00, 0x00, 0x00, 0x00, /* */
	0x0a, 0x04, 0x00, 0x07, /* Target IP Address */
};

static void check_request(void)
{
	ib_gid mgid = rig_bcast();

	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].len, sizeof(request));
	assert_memory_equal(er.sent[0].data, request, sizeof(request));
	assert_int_equal(er.sent[0].dest_qpn, 0xffffff);
	assert_int_equal(er.sent[0].qkey, 0x80000b1b);
	assert_true(er.sent[0].ah.has_grh);
	assert_memory_equal(&er.sent[0].ah.dgid, &mgid, 16);
}

static void test_P16_P20_P22_P23_P26_request_is_the_octets_of_the_draft(void **state)
{
	assert_int_equal(sizeof(request), 92);
	begin();
	tx_arp(er_bcast_mac, ARP_OP_REQUEST, zero_mac, er_ip_peer);
	check_request();
	end();
}

/*
 * To probe whether a neighbour is still there, the kernel sends a request to this neighbour only.
 * On the link every IBARP request must be a multicast.
 */
static void test_P16_request_to_one_neighbour_is_multicast(void **state)
{
	begin();
	peer_asks();
	tx_arp(er_peer_mac, ARP_OP_REQUEST, er_peer_mac, er_ip_peer);
	check_request();
	end();
}

/*
 * The rig's reply to a request of the peer, by column TARGET of §6.4. In a reply, too, "sender" is
 * the requester: here the peer at GID fe80::2:c903:0:7, whose values are copied from the request.
 * The target is the rig's port.
 *
 * The peer's EUI-64 is not the low half of its GID. This is allowed, because only the GID at index
 * 0 must contain the EUI-64, and a port can use another of its GIDs. The octet Reserved8 before the
 * sender's QPN was not 0 in the request.
 */
static const uint8_t reply[] = {
	0x00, 0x00, 0x08, 0x00, /* Reserved16, Ethertype */
	0x00, 0x20, 0x08, 0x00, /* Hardware Type 32, Protocol Type */
	0x20, 0x04, 0x00, 0x02, /* HLEN 32, PLEN 4, Operation 2 */
	0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, /* Sender EUI-64, copied */
	0x00, 0x00, 0x00, 0x77, /* Reserved8, Sender QPN, copied */
	0x01, 0x23, 0x45, 0x67, /* Sender QKey, copied */
	0xfe, 0x80, 0x00, 0x00, /* SenderGID[127-96], copied */
	0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* SenderGID[127-96], [95-64], copied */
	0x00, 0x02, 0xc9, 0x03, 0x00, 0x00, 0x00, 0x07, /* SenderGID[63-32], [31-0], copied */
	0x0a, 0x04, 0x00, 0x07, /* Sender IP Address, copied */
	0x00, 0x02, 0xc9, 0x03, 0x00, 0x00, 0x00, 0x05, /* Target EUI-64 */
	0x00, 0x00, 0x00, 0x48, /* Reserved8, Target QPN */
	0x80, 0x00, 0x0b, 0x1b, /* Target QKey */
	0xfe, 0x80, 0x00, 0x00, /* TargetGID[127-96] */
	0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* TargetGID[127-96], [95-64] */
	0x00, 0x02, 0xc9, 0x03, 0x00, 0x00, 0x00, 0x05, /* TargetGID[63-32], [31-0] */
	0x0a, 0x04, 0x00, 0x05, /* Target IP Address, copied */
};

static void test_P16_P25_P27_reply_is_the_octets_of_the_draft(void **state)
{
	struct ibarp_pkt ask = message(ARP_OP_REQUEST);
	struct arp_pkt a;
	uint8_t b[IBARP_LEN];

	assert_int_equal(sizeof(reply), 92);
	begin();
	ask.sender.eui64 = 0x1122334455667788;
	ibarp_encode(b, &ask);
	b[16] = 0x5a;
	from_peer(ETH_P_IPV4, b, sizeof(b), true);
	got_arp(&a);
	assert_int_equal(a.op, ARP_OP_REQUEST);
	assert_memory_equal(a.spa, er_ip_peer, 4);
	assert_memory_equal(a.tpa, er_ip_own, 4);
	tx_arp(a.sha, ARP_OP_REPLY, a.sha, er_ip_peer);
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].len, sizeof(reply));
	assert_memory_equal(er.sent[0].data, reply, sizeof(reply));
	/*
	 * The reply must be sent to the SenderQPN of the request, with its SenderQKey, and to the
	 * LID in the PathRecord to SenderGID (clause P25)
	 */
	assert_int_equal(er.sent[0].dest_qpn, 0x77);
	assert_int_equal(er.sent[0].qkey, PEER_QKEY);
	assert_int_equal(er.sent[0].ah.dlid, ER_PEER);
	end();
}

/*
 * Some hosts send ARP replies as broadcasts (RFC 3927 §2.5). On the link an IBARP reply must be a
 * unicast.
 */
static void test_P16_reply_to_all_is_unicast(void **state)
{
	begin();
	peer_asks();
	tx_arp(er_bcast_mac, ARP_OP_REPLY, er_peer_mac, er_ip_peer);
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].dest_qpn, ER_PEER_QPN);
	assert_int_equal(be16_at(er.sent[0].data + 10), ARP_OP_REPLY);
	end();
}

/*
 * The TAP sends an announcement in the form of an ARP reply without a target (RFC 5227 §3). On the
 * link this announcement must become a request for the host's own address.
 */
static void test_P16_announcement_as_a_reply_becomes_a_request(void **state)
{
	static const uint8_t *const targets[] = { zero_mac, er_bcast_mac, er.mac };
	uint8_t want[sizeof(request)];

	memcpy(want, request, sizeof(want));
	memcpy(want + sizeof(want) - 4, er_ip_own, 4);
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		begin();
		tx_arp(er_bcast_mac, ARP_OP_REPLY, targets[i], er_ip_own);
		assert_int_equal(er.nsent, 1);
		assert_memory_equal(er.sent[0].data, want, sizeof(want));
		assert_int_equal(er.sent[0].dest_qpn, 0xffffff);
		end();
	}
}

/*
 * The peer sends an IBARP reply, in which the answering port is the target. In the ARP reply for
 * the TAP, this port must be the sender.
 */
static void test_P27_reply_of_a_peer(void **state)
{
	struct ibarp_pkt answer = message(ARP_OP_REPLY);
	struct arp_pkt a;

	begin();
	answer.target = answer.sender;
	answer.sender = port_of(RIG_LID, RIG_QPN, 0x80000b1b);
	memcpy(answer.spa, er_ip_own, 4);
	memcpy(answer.tpa, er_ip_peer, 4);
	rx_ibarp(&answer, false);
	got_arp(&a);
	assert_int_equal(a.op, ARP_OP_REPLY);
	assert_memory_equal(a.spa, er_ip_peer, 4);
	assert_memory_equal(a.tpa, er_ip_own, 4);
	assert_memory_equal(a.tha, er.mac, 6);
	er_clear();
	/* Let the path query end, so that the packet is sent at once. */
	er_run(NS_MSEC(10));
	er_tx(a.sha, ETH_P_IPV4, unicast + 4, sizeof(unicast) - 4);
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].dest_qpn, ER_PEER_QPN);
	assert_int_equal(er.sent[0].qkey, PEER_QKEY);
	end();
}

/*
 * A request of the peer asks for the address of another host. The interface must learn the peer's
 * GID, QPN and Q_Key from it nevertheless, because the draft allows any receiver to use them.
 */
static void test_P17_sender_of_a_request_for_another_host_is_learnt(void **state)
{
	struct ibarp_pkt ask = message(ARP_OP_REQUEST);
	struct arp_pkt a;

	begin();
	ask.tpa[3] = 99;
	rx_ibarp(&ask, true);
	got_arp(&a);
	assert_int_equal(a.tpa[3], 99);
	er_clear();
	er_tx(a.sha, ETH_P_IPV4, unicast + 4, sizeof(unicast) - 4);
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].qkey, PEER_QKEY);
	end();
}

/*
 * The target fields of a request, except the requested IP address, may contain anything, so the
 * interface must learn nothing from them.
 */
static void test_P26_target_of_a_request_is_not_learnt(void **state)
{
	struct ibarp_pkt ask = message(ARP_OP_REQUEST);
	struct ipoib_lladdr other = er_peer_addr(9, 0x99);

	begin();
	ask.target = port_of(9, 0x99, 0x666);
	rx_ibarp(&ask, true);
	assert_int_equal(er.ngot, 1);
	assert_null(ipoib_neigh_find(er.r.link, &other));
	end();
}

/*
 * The interface must accept two variants of IBARP that the draft does not exclude: messages without
 * the second copies of the GIDs' first words, and messages with the ethertype of ARP.
 */
static void test_P20_P22_other_forms_of_ibarp_are_understood(void **state)
{
	struct ibarp_pkt ask = message(ARP_OP_REQUEST);
	uint8_t b[IBARP_LEN], single[IBARP_LEN_SINGLE];

	ibarp_encode(b, &ask);
	memcpy(single, b, 24);
	memcpy(single + 24, b + 28, 36);
	memcpy(single + 60, b + 68, 20);
	begin();
	from_peer(ETH_P_ARP4, b, sizeof(b), true);
	from_peer(ETH_P_IPV4, single, sizeof(single), true);
	from_peer(ETH_P_ARP4, single, sizeof(single), true);
	assert_int_equal(er.ngot, 3);
	for (unsigned int i = 1; i < 3; i++) {
		assert_int_equal(er.got[i].len, er.got[0].len);
		assert_memory_equal(er.got[i].data, er.got[0].data, er.got[0].len);
	}
	assert_int_equal(er_drops_sum(), 0);
	end();
}

static void test_P4_P22_other_packets_are_dropped_and_counted(void **state)
{
	static const uint16_t types[] = { 0, 0x8035, 0x88cc, ETH_P_IPV4, ETH_P_IPV6_, ETH_P_ARP4 };
	static const uint8_t body[60] = { 0x20 }, arp[56] = { 0, 32, 8, 0, 20, 5, 0, 1 };
	const uint64_t *drops;

	begin();
	drops = ipoib_link_stats(er.r.link)->drops;
	/*
	 * The payload is neither IPv4 (first half octet 4) nor IPv6 (6) nor IBARP (hardware type
	 * 32, PLEN 4), so the packet must be dropped, whatever its ethertype is.
	 */
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		from_peer(types[i], i % 2 ? body : arp, i % 2 ? sizeof(body) : sizeof(arp), false);
	assert_int_equal(drops[IPOIB_DROP_RX_TYPE], ARRAY_SIZE(types));
	/* this packet has the encapsulation of RFC 4391 */
	er_rx(ETH_P_IPV4, unicast + 4, sizeof(unicast) - 4);
	assert_int_equal(drops[IPOIB_DROP_RX_TYPE], ARRAY_SIZE(types) + 1);
	for (size_t n = 0; n <= 4; n++)
		er_rx_pkt(plain(unicast, n), ER_PEER, ER_PEER_QPN, true, NULL);
	assert_int_equal(drops[IPOIB_DROP_SHORT], 5);
	assert_int_equal(er.ngot, 0);
	/*
	 * An ARP message of RFC 4391 arrives. The header of such a message differs from that of
	 * IBARP only in HLEN, which is 20. Then the TAP sends RARP, for which the draft has no
	 * format. Both messages must be dropped.
	 */
	from_peer(ETH_P_ARP4, (uint8_t[56]){ 0, 32, 8, 0, 20, 4, 0, 1 }, 56, true);
	assert_int_equal(er_drops(ETH_DROP_RX_ARP), 1);
	er_tx(er_bcast_mac, ETH_P_RARP4, arp, 28);
	assert_int_equal(er_drops(ETH_DROP_TYPE), 1);
	assert_int_equal(er.nsent, 0);
	end();
}

/* The reserved field of a packet, and octets after the end of an IBARP message, must be ignored. */
static void test_P3_reserved_field_is_ignored(void **state)
{
	uint8_t b[sizeof(unicast)];

	begin();
	memcpy(b, unicast, sizeof(b));
	be16_put(b, 0xffff);
	er_rx_pkt(plain(b, sizeof(b)), ER_PEER, ER_PEER_QPN, true, NULL);
	assert_int_equal(er.ngot, 1);
	assert_memory_equal(er.got[0].data + 14, unicast + 4, sizeof(unicast) - 4);
	end();
}

/*
 * A peer whose path has an MTU of 4096 may send 4092 octets. The interface must deliver such a
 * datagram, although its own IP MTU is smaller.
 */
static void test_P5_datagram_of_4092_octets_arrives(void **state)
{
	static uint8_t b[4092];

	begin();
	er_ip4(b, er_ip_peer, er_ip_own, 253, b + 20, sizeof(b) - 20);
	from_peer(ETH_P_IPV4, b, sizeof(b), false);
	assert_int_equal(er.ngot, 1);
	assert_int_equal(er.got[0].len, 14 + sizeof(b));
	end();
}

/*
 * A Neighbour Solicitation of fe80::202:c903:0:5 for fe80::202:c903:0:7, with the option as in the
 * figure of §5. An interface identifier is the EUI-64 (0002c903...) with its u bit complemented
 * (§4). The payload length is 24 (RFC 4861 §4.3) + 40 = 64.
 *
 * The checksum is over these 16-bit words:
 *	source		fe80 + 0202 + c903 + 0005 = 1c98a
 *	destination	ff02 + 0001 + ff00 + 0007 = 1fe0a
 *	length, type 58	0040 + 003a = 007a
 *	message		8700, target fe80 + 0202 + c903 + 0007 = 1c98c, in all 2508c
 *	option		0105 + 0002 + c903 + 0005 + 0048 + 8000 + 0b1b + fe80 + fe80 + 0002 + c903
 *			+ 0005 = 41b7c
 *	sum		1c98a + 1fe0a + 007a + 2508c + 41b7c = a3416, folded 3420, inverted cbdf
 */
static const uint8_t solicitation[] = {
	0x00, 0x00, 0x86, 0xdd, /* Reserved, Ethertype */
	0x60, 0x00, 0x00, 0x00, 0x00, 0x40, 0x3a, 0xff, /* IPv6 */
	0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* source */
	0x02, 0x02, 0xc9, 0x03, 0x00, 0x00, 0x00, 0x05, /* */
	0xff, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* destination */
	0x00, 0x00, 0x00, 0x01, 0xff, 0x00, 0x00, 0x07, /* */
	0x87, 0x00, 0xcb, 0xdf, 0x00, 0x00, 0x00, 0x00, /* type 135 */
	0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* target */
	0x02, 0x02, 0xc9, 0x03, 0x00, 0x00, 0x00, 0x07, /* */
	0x01, 0x05, 0x00, 0x00, /* Type 1, Length 5, Reserved */
	0x00, 0x02, 0xc9, 0x03, 0x00, 0x00, 0x00, 0x05, /* EUI-64 */
	0x00, 0x00, 0x00, 0x48, 0x80, 0x00, 0x0b, 0x1b, /* Reserved8, QPN, QKey */
	0xfe, 0x80, 0x00, 0x00, /* GID[127-96] */
	0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* GID[127-96], [95-64] */
	0x00, 0x02, 0xc9, 0x03, 0x00, 0x00, 0x00, 0x05, /* GID[63-32], [31-0] */
};

static void test_P12_P14_P22_solicitation_is_the_octets_of_the_draft(void **state)
{
	static const uint8_t sol_peer[16] = { 0xff, 2, [11] = 1, 0xff, 0, 0, 7 };
	static const uint8_t mac[6] = { 0x33, 0x33, 0xff, 0, 0, 7 };
	ib_gid mgid = { { 0xff, 0x12, 0x60, 0x1b, 0x80, 0x01, [11] = 1, 0xff, 0, 0, 7 } };
	uint8_t b[100], m[24 + 8] = { ICMP6_NS, [24] = ND_OPT_SLLA, 1 };

	begin();
	sa_group_make(&er.r.s.sa, &mgid, RIG_PKEY, IB_MTU_2048);
	memcpy(m + 8, ll_peer, 16);
	memcpy(m + 26, er.mac, 6);
	er_tx(mac, ETH_P_IPV6_, b, er_icmp6(b, er_ll_own, sol_peer, m, sizeof(m)));
	er_run(NS_SEC(1));
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].len, sizeof(solicitation));
	assert_memory_equal(er.sent[0].data, solicitation, sizeof(solicitation));
	assert_memory_equal(&er.sent[0].ah.dgid, &mgid, 16);
	end();
}

/*
 * Let a Neighbour Advertisement arrive that advertises @qkey as the peer's Q_Key. The advertisement
 * comes from queue pair @qpn of the port with LID @lid
 */
static void advertises(uint32_t qkey, unsigned int lid, uint32_t qpn)
{
	struct nd_port a = port_of(ER_PEER, ER_PEER_QPN, qkey);
	uint8_t b[4 + 40 + 64] = { [2] = 0x86, 0xdd }, m[64] = { ICMP6_NA, [4] = 0x60 };

	memcpy(m + 8, ll_peer, 16);
	nd_opt_ibarp_encode(m + 24, ND_OPT_TLLA, &a);
	er_icmp6(b + 4, ll_peer, er_ll_own, m, sizeof(m));
	er_rx_pkt(plain(b, sizeof(b)), lid, qpn, true, NULL);
}

static void send6(void)
{
	uint8_t b[100];

	er_clear();
	er_tx(er_peer_mac, ETH_P_IPV6_, b, er_ip6(b, er_ll_own, ll_peer, 59, 64, "data", 4));
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 1);
}

/*
 * Unicasts to the peer must have the QPN and the Q_Key of the peer's option (clause P15). While the
 * path to the peer is known, an advertisement from another port must not change the Q_Key. An
 * advertisement from the peer's port may change the Q_Key, whichever queue pair of this port has
 * sent the advertisement.
 */
static void test_P14_P15_unicasts_have_the_qpn_and_qkey_of_the_option(void **state)
{
	begin();
	advertises(PEER_QKEY, ER_PEER, ER_PEER_QPN);
	assert_int_equal(er.ngot, 1);
	memcpy(er_peer_mac, er.got[0].data + 14 + 40 + 24 + 2, 6);
	er_run(NS_MSEC(10));
	send6();
	assert_int_equal(er.sent[0].dest_qpn, ER_PEER_QPN);
	assert_int_equal(er.sent[0].qkey, PEER_QKEY);
	advertises(0x666, 9, 0x99);
	send6();
	assert_int_equal(er.sent[0].qkey, PEER_QKEY);
	advertises(0x777, ER_PEER, ER_PEER_QPN + 1);
	send6();
	assert_int_equal(er.sent[0].qkey, 0x777);
	assert_int_equal(er.sent[0].dest_qpn, ER_PEER_QPN);
	end();
}

/*
 * If the Q_Key of a send request has bit 31, the CA sends the Q_Key of the sending queue pair
 * instead. So the only Q_Key with bit 31 that packets to a peer can have is the Q_Key of the link.
 * The interface must refuse any other Q_Key with bit 31.
 */
static void test_P14_P20_controlled_qkey_other_than_the_links_is_refused(void **state)
{
	struct ibarp_pkt ask = message(ARP_OP_REQUEST);

	begin();
	ask.sender.qkey = 0x80000666;
	rx_ibarp(&ask, true);
	advertises(0x80000666, ER_PEER, ER_PEER_QPN);
	assert_int_equal(er.ngot, 0);
	assert_int_equal(er_drops(ETH_DROP_RX_QKEY), 2);
	ask.sender.qkey = 0x80000b1b;
	rx_ibarp(&ask, true);
	advertises(0x80000b1b, ER_PEER, ER_PEER_QPN);
	assert_int_equal(er.ngot, 2);
	assert_int_equal(er_drops_sum(), 2);
	end();
}

static char logged[256];
static unsigned int lines;

static void on_log(const struct log_sink *sink, enum log_level lvl, const char *fmt, va_list ap)
{
	vsnprintf(logged, sizeof(logged), fmt, ap);
	lines++;
}

/* Let a router advertisement arrive that has an MTU option with @mtu */
static void advertises_mtu(uint32_t mtu)
{
	static const uint8_t all_nodes[16] = { 0xff, 2, [15] = 1 };
	uint8_t b[4 + 40 + 24] = { [2] = 0x86, 0xdd }, m[24] = { ICMP6_RA, [16] = ND_OPT_MTU, 1 };
	ib_gid g = rig_bcast();

	be32_put(m + 20, mtu);
	er_icmp6(b + 4, ll_peer, all_nodes, m, sizeof(m));
	er_rx_pkt(plain(b, sizeof(b)), ER_PEER, ER_PEER_QPN, true, &g);
	assert_int_equal(er.ngot, 1);
	assert_memory_equal(er.got[0].data + 14, b + 4,
			    sizeof(b) - 4); /* the kernel gets the message unchanged */
	er_clear();
}

static void test_P10_larger_mtu_in_an_advertisement_is_logged(void **state)
{
	static const struct log_sink log = { .emit = on_log, .max = LOG_LVL_INFO };

	er_log = &log;
	begin();
	lines = 0;
	advertises_mtu(1400);
	advertises_mtu(2044);
	assert_int_equal(lines, 0);
	for (int i = 0; i < 5; i++)
		advertises_mtu(2045);
	assert_int_equal(lines, 1);
	assert_non_null(strstr(logged, "MTU 2045, more than the link's 2044: ignored"));
	er_run(NS_SEC(60));
	advertises_mtu(4096);
	assert_int_equal(lines, 2);
	assert_non_null(strstr(logged, "MTU 4096"));
	end();
	er_log = NULL;
}

/*
 * A station has its own queue pair. The IBARP request of a station must have the QPN of the
 * station's queue pair.
 */
static void test_P20_request_of_a_station_has_its_qpn(void **state)
{
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 0x51 };
	struct arp_pkt a = {
		.hrd = ARP_HRD_ETHER, .pro = ETH_P_IPV4, .hln = 6, .pln = 4, .op = ARP_OP_REQUEST
	};
	uint8_t b[ARP_ETHER_LEN];

	er_max_stations = 4;
	begin();
	memcpy(a.sha, mac, 6);
	er_tx_from(mac, er_bcast_mac, ETH_P_ARP4, b, arp_encode(b, &a));
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].src_qpn, er_station(mac)->qpn);
	assert_int_equal(be32_at(er.sent[0].data + 20), er_station(mac)->qpn);
	eth_if_set_up(er.e, false, er.r.s.now);
	er_run(NS_SEC(400));
	er_max_stations = 0;
	end();
}

/*
 * The interface must not create a neighbour entry from a reply to another host, or from a reply
 * about an address that no port can have.
 */
static void test_P27_reply_with_impossible_addresses(void **state)
{
	struct ibarp_pkt answer = message(ARP_OP_REPLY);
	struct arp_pkt a;

	begin();
	answer.target = port_of(ER_PEER, ER_PEER_QPN, PEER_QKEY);
	answer.sender = port_of(9, 0x99, 1);
	rx_ibarp(&answer, false);
	got_arp(&a);
	assert_memory_equal(a.tha, zero_mac, 6);
	answer.target.lladdr.qpn = IB_QP1;
	rx_ibarp(&answer, false);
	answer.target = port_of(ER_PEER, ER_PEER_QPN, PEER_QKEY);
	answer.target.lladdr.gid = rig_bcast();
	rx_ibarp(&answer, false);
	assert_int_equal(er.ngot, 1);
	assert_int_equal(er_drops(ETH_DROP_RX_ARP), 2);
	/*
	 * The link has no neighbour entry for the MAC to which the kernel replies, so the reply
	 * must be dropped.
	 */
	tx_arp(er_bcast_mac, ARP_OP_REPLY, (uint8_t[6]){ 6, 1, 2, 3, 4, 5 }, er_ip_peer);
	assert_int_equal(er_drops(ETH_DROP_ARP), 1);
	end();
}

static void change_qkey(uint32_t qkey)
{
	ib_gid g = rig_bcast();
	struct sa_group *bcast = sa_group_find(&er.r.s.sa, &g);

	bcast->rec.qkey = qkey;
	sa_sidr_offer(&er.r.s.sa, &bcast->rec);
	sac_reregister(er.r.s.sac, er.r.s.now);
	er_run(NS_SEC(1));
	assert_true(ipoib_link_is_up(er.r.link));
	er_clear();
}

/* Send a packet to the peer, and return the Q_Key of this packet. */
static uint32_t qkey_to_peer(void)
{
	er_clear();
	er_tx(er_peer_mac, ETH_P_IPV4, unicast + 4, sizeof(unicast) - 4);
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 1);
	return er.sent[0].qkey;
}

static void peer_asks_with(uint32_t qkey)
{
	struct ibarp_pkt ask = message(ARP_OP_REQUEST);
	struct arp_pkt a;

	er_clear();
	ask.sender.qkey = qkey;
	rx_ibarp(&ask, true);
	got_arp(&a);
	memcpy(er_peer_mac, a.sha, 6);
}

/*
 * The Q_Key of the broadcast group changes. Packets to a peer that advertised a Q_Key of its own
 * must still have this Q_Key. Packets to a peer that advertised the group's old Q_Key must have the
 * group's new Q_Key. Each of the two Q_Keys of the group may have bit 31 set or clear. (In other
 * Q_Keys, clause P14 does not allow bit 31.)
 */
static void test_P15_qkey_of_a_peer_when_that_of_the_group_changes(void **state)
{
	static const uint32_t groups[] = { 0x80000b1b, 0x00000b1b, 0x80000c1c, 0x00000c1c };

	begin();
	for (size_t i = 1; i < ARRAY_SIZE(groups); i++) {
		peer_asks_with(PEER_QKEY);
		change_qkey(groups[i]);
		assert_int_equal(qkey_to_peer(), PEER_QKEY);
	}
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		uint32_t before = groups[(i + 3) % 4];

		change_qkey(before);
		peer_asks_with(before);
		change_qkey(groups[i]);
		assert_int_equal(qkey_to_peer(), groups[i]);
	}
	end();
}

/*
 * Let the request @ask arrive, and let the kernel reply. @ret gets the IBARP reply that is sent to
 * the link, without its encapsulation header
 */
static void reply_to(const struct ibarp_pkt *ask, uint8_t ret[IBARP_LEN])
{
	struct arp_pkt a;

	er_clear();
	rx_ibarp(ask, true);
	got_arp(&a);
	tx_arp(a.sha, ARP_OP_REPLY, a.sha, er_ip_peer);
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].len, 4 + IBARP_LEN);
	memcpy(ret, er.sent[0].data + 4, IBARP_LEN);
}

/*
 * Each of the peer's requests advertises different values. The reply to a request must repeat the
 * values of this request, even if another port forwarded the request.
 */
static void test_P27_sender_of_a_reply_is_that_of_the_request(void **state)
{
	static const uint32_t qkeys[] = { PEER_QKEY, 0x666, 0x80000b1b, 0x777 };
	struct ibarp_pkt ask = message(ARP_OP_REQUEST), got;
	uint8_t b[IBARP_LEN];

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(qkeys); i++) {
		ask.sender.qkey = qkeys[i];
		ask.sender.eui64 = 0x1122334455667700 + i;
		/*
		 * The first two requests come from the peer. The others are forwarded by another
		 * port, when the path to the peer is already known.
		 */
		if (i < 2) {
			reply_to(&ask, b);
		} else {
			struct arp_pkt a;
			uint8_t m[4 + IBARP_LEN] = { 0, 0, 8, 0 };
			ib_gid g = rig_bcast();

			er_clear();
			ibarp_encode(m + 4, &ask);
			er_rx_pkt(plain(m, sizeof(m)), 9, 0x99, true, &g);
			got_arp(&a);
			tx_arp(a.sha, ARP_OP_REPLY, a.sha, er_ip_peer);
			assert_int_equal(er.nsent, 1);
			memcpy(b, er.sent[0].data + 4, IBARP_LEN);
			/*
			 * The reply must have the Q_Key that the peer itself advertised last,
			 * because requests from another port must not change the Q_Key.
			 */
			assert_int_equal(er.sent[0].qkey, qkeys[1]);
		}
		assert_int_equal(ibarp_decode(&got, b, sizeof(b)), 0);
		assert_int_equal(got.sender.qkey, qkeys[i]);
		assert_int_equal(got.sender.eui64, ask.sender.eui64);
		assert_int_equal(got.sender.lladdr.qpn, ER_PEER_QPN);
		assert_memory_equal(&got.sender.lladdr.gid, &ask.sender.lladdr.gid, 16);
	}
	end();
}

/*
 * The reply must be sent to SenderQPN with SenderQKey, on the path that the SA gives from the rig's
 * port to SenderGID.
 */
static void test_P25_reply_takes_the_path_to_SenderGID(void **state)
{
	struct ibarp_pkt ask = message(ARP_OP_REQUEST);
	struct fake_sa *sa = &er.r.s.sa;
	ib_gid own = peer_gid(RIG_LID);
	struct arp_pkt a;

	begin();
	rig_peer(&er.r, 9)->sl = 6; /* the path to another port, which the reply must not take */
	sa_path_find(sa, &ask.sender.lladdr.gid)->sl = 4;
	/* the peer asks for replies to another queue pair than the one from which it sends */
	ask.sender.lladdr.qpn = 0x1234;
	rx_ibarp(&ask, true);
	got_arp(&a);
	sa->path_asks = 0;
	tx_arp(a.sha, ARP_OP_REPLY, a.sha, er_ip_peer);
	assert_int_equal(sa->path_asks, 1);
	assert_memory_equal(&sa->last_path.dgid, &ask.sender.lladdr.gid, 16);
	assert_memory_equal(&sa->last_path.sgid, &own, 16);
	assert_int_equal(sa->last_path.pkey, RIG_PKEY);
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].ah.dlid, ER_PEER);
	assert_int_equal(er.sent[0].ah.sl, 4);
	assert_int_equal(er.sent[0].dest_qpn, 0x1234);
	assert_int_equal(er.sent[0].qkey, PEER_QKEY);
	end();
}

static void over_a_router(struct fake_sa *sa, uint8_t *mad)
{
	struct ib_path_rec rec;
	struct sa_mad m;

	if (sa_mad_decode(&m, mad, MAD_LEN) || m.mad.attr_id != SA_ATTR_PATH_RECORD)
		return;
	ib_path_rec_decode(&rec, mad + SA_DATA_OFF, PATH_REC_LEN);
	rec.hop_limit = 7;
	rec.tclass = 0x5a;
	rec.flow_label = 0x54321;
	ib_path_rec_encode(mad + SA_DATA_OFF, &rec);
}

static void test_P25_grh_of_a_reply_is_that_of_the_path(void **state)
{
	struct ibarp_pkt ask = message(ARP_OP_REQUEST);
	struct arp_pkt a;

	begin();
	er.r.s.sa.twist = over_a_router;
	rx_ibarp(&ask, true);
	got_arp(&a);
	tx_arp(a.sha, ARP_OP_REPLY, a.sha, er_ip_peer);
	assert_int_equal(er.nsent, 1);
	assert_true(er.sent[0].ah.has_grh);
	assert_memory_equal(&er.sent[0].ah.dgid, &ask.sender.lladdr.gid, 16);
	assert_int_equal(er.sent[0].ah.hop_limit, 7);
	assert_int_equal(er.sent[0].ah.tclass, 0x5a);
	assert_int_equal(er.sent[0].ah.flow_label, 0x54321);
	end();
}

/*
 * The SA restarts, and SIDR gives the link a broadcast group of another scope. So the MGIDs of all
 * IP groups change. The membership report for an IP group waits until the link has joined the group
 * with its new MGID. The report must then be sent at once, and not only after its time limit.
 */
static void test_P18_report_of_a_group_after_the_scope_has_changed(void **state)
{
	static const uint8_t group[4] = { 239, 1, 2, 3 };
	static const uint8_t group_mac[6] = { 1, 0, 0x5e, 1, 2, 3 };
	ib_gid dgid = { { 0xff, 0x15, 0xca, 0xfe, [15] = 1 } };
	ib_gid mgid = { { 0xff, 0x15, 0x40, 0x1b, 0x80, 0x01, [12] = 15, 1, 2, 3 } };
	struct fake_sa *sa = &er.r.s.sa;
	uint8_t b[64];
	size_t n;

	begin();
	n = report_igmp(b, V2_REPORT, group);
	er_tx(group_mac, ETH_P_IPV4, b, n);
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 1);
	sa_sidr_offer(sa, &sa_group_make(sa, &dgid, RIG_PKEY, IB_MTU_2048)->rec);
	sac_reregister(er.r.s.sac, er.r.s.now);
	er_run(NS_SEC(1));
	assert_true(ipoib_link_is_up(er.r.link));
	er_clear();
	er_tx(group_mac, ETH_P_IPV4, b, n);
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 1);
	assert_memory_equal(&er.sent[0].ah.dgid, &mgid, 16);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_P2_P3_P4_P6_P15_unicast_is_the_octets_of_the_draft),
		cmocka_unit_test(test_P2_P22_multicast_is_the_octets_of_the_draft),
		cmocka_unit_test(test_P16_P20_P22_P23_P26_request_is_the_octets_of_the_draft),
		cmocka_unit_test(test_P16_request_to_one_neighbour_is_multicast),
		cmocka_unit_test(test_P16_P25_P27_reply_is_the_octets_of_the_draft),
		cmocka_unit_test(test_P16_reply_to_all_is_unicast),
		cmocka_unit_test(test_P16_announcement_as_a_reply_becomes_a_request),
		cmocka_unit_test(test_P27_reply_of_a_peer),
		cmocka_unit_test(test_P17_sender_of_a_request_for_another_host_is_learnt),
		cmocka_unit_test(test_P26_target_of_a_request_is_not_learnt),
		cmocka_unit_test(test_P20_P22_other_forms_of_ibarp_are_understood),
		cmocka_unit_test(test_P4_P22_other_packets_are_dropped_and_counted),
		cmocka_unit_test(test_P3_reserved_field_is_ignored),
		cmocka_unit_test(test_P5_datagram_of_4092_octets_arrives),
		cmocka_unit_test(test_P12_P14_P22_solicitation_is_the_octets_of_the_draft),
		cmocka_unit_test(test_P14_P15_unicasts_have_the_qpn_and_qkey_of_the_option),
		cmocka_unit_test(test_P14_P20_controlled_qkey_other_than_the_links_is_refused),
		cmocka_unit_test(test_P10_larger_mtu_in_an_advertisement_is_logged),
		cmocka_unit_test(test_P20_request_of_a_station_has_its_qpn),
		cmocka_unit_test(test_P27_reply_with_impossible_addresses),
		cmocka_unit_test(test_P15_qkey_of_a_peer_when_that_of_the_group_changes),
		cmocka_unit_test(test_P27_sender_of_a_reply_is_that_of_the_request),
		cmocka_unit_test(test_P25_reply_takes_the_path_to_SenderGID),
		cmocka_unit_test(test_P25_grh_of_a_reply_is_that_of_the_path),
		cmocka_unit_test(test_P18_report_of_a_group_after_the_scope_has_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/eth_rig.h"

#include "ipoib/link.h"

/*
 * Tests ARP messages in both directions, octet by octet. On the TAP the messages have the format of
 * RFC 826 (hardware type 1, address length 6). On the link they have the format of RFC 4391 §9.2
 * (hardware type 32, address length 20). The interface has LID 5 and QPN 0x48, the peer has LID 7
 * and QPN 0x77.
 */

#define OWN_MAC "\x02\xf7\x64\xef\xc6\xfe"
#define PEER_MAC "\x06\xf1\x2b\x60\x5c\x8b"
#define OWN_HW "\0\0\0\x48\xfe\x80\0\0\0\0\0\0\0\x02\xc9\x03\0\0\0\x05"
#define PEER_HW "\0\0\0\x77\xfe\x80\0\0\0\0\0\0\0\x02\xc9\x03\0\0\0\x07"
#define BCAST_HW "\0\xff\xff\xff\xff\x12\x40\x1b\x80\x01\0\0\0\0\0\0\xff\xff\xff\xff"
#define NO_MAC "\0\0\0\0\0\0"
#define NO_HW "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define OWN_IP "\x0a\x04\x00\x05"
#define PEER_IP "\x0a\x04\x00\x07"
#define NO_IP "\0\0\0\0"

#define ETHER(op, sha, spa, tha, tpa) ("\0\x01\x08\0\x06\x04\0" op sha spa tha tpa)
#define LINK(op, sha, spa, tha, tpa) ("\0\x20\x08\0\x14\x04\0" op sha spa tha tpa)
#define REQUEST "\x01"
#define REPLY "\x02"
#define RREQUEST "\x03"
#define RREPLY "\x04"

static void tx(const uint8_t *dst, uint16_t type, const char *ether)
{
	er_tx(dst, type, ether, ARP_ETHER_LEN);
	er_run(NS_MSEC(10));
}

/*
 * Check that exactly one packet was sent, that its destination is @dest_qpn, and that it has the
 * ARP message @link.
 */
static void check_sent(uint16_t type, uint32_t dest_qpn, const char *link)
{
	const struct er_sent *s = &er.sent[er.nsent - 1];

	assert_int_equal(er.nsent, 1);
	assert_int_equal(s->len, IPOIB_HDR_LEN + ARP_IPOIB_LEN);
	assert_int_equal(be16_at(s->data), type);
	assert_memory_equal(s->data + 4, link, ARP_IPOIB_LEN);
	assert_int_equal(s->dest_qpn, dest_qpn);
	assert_int_equal(s->qkey, er.r.link->qkey);
	er_clear();
}

static void check_got(const uint8_t *dst, uint16_t type, const char *ether)
{
	const struct er_got *g = &er.got[er.ngot - 1];

	assert_int_equal(er.ngot, 1);
	assert_int_equal(g->len, 14 + ARP_ETHER_LEN);
	assert_memory_equal(g->data, dst, 6);
	assert_memory_equal(g->data + 6, PEER_MAC, 6);
	assert_int_equal(be16_at(g->data + 12), type);
	assert_memory_equal(g->data + 14, ether, ARP_ETHER_LEN);
	er_clear();
}

static void rx_bcast(uint16_t type, const char *link)
{
	ib_gid mgid = rig_bcast();

	er_rx_mcast(&mgid, type, link, ARP_IPOIB_LEN);
}

static uint8_t peer_mac[6];

static void begin(void)
{
	er_init();
	er_learn(ER_PEER, ER_PEER_QPN, peer_mac);
	assert_memory_equal(er.mac, OWN_MAC, 6);
	assert_memory_equal(peer_mac, PEER_MAC, 6);
}

static void test_R56_request_to_the_link(void **state)
{
	begin();
	tx(er_bcast_mac, 0x0806, ETHER(REQUEST, OWN_MAC, OWN_IP, NO_MAC, PEER_IP));
	check_sent(0x0806, 0xffffff, LINK(REQUEST, OWN_HW, OWN_IP, NO_HW, PEER_IP));
	assert_int_equal(eth_if_stats(er.e)->arp_tx, 1);
	er_fini();
}

static void test_R25_request_goes_to_the_broadcast_group(void **state)
{
	ib_gid bcast = rig_bcast();

	begin();
	er_tx(er_bcast_mac, 0x0806, ETHER(REQUEST, OWN_MAC, OWN_IP, NO_MAC, PEER_IP),
	      ARP_ETHER_LEN);
	assert_int_equal(er.nsent, 1);
	assert_true(er.sent[0].ah.has_grh);
	assert_true(ib_gid_equal(&er.sent[0].ah.dgid, &bcast));
	er_fini();
}

static void test_R56_request_from_the_link(void **state)
{
	begin();
	rx_bcast(0x0806, LINK(REQUEST, PEER_HW, PEER_IP, NO_HW, OWN_IP));
	check_got(er_bcast_mac, 0x0806, ETHER(REQUEST, PEER_MAC, PEER_IP, NO_MAC, OWN_IP));
	/*
	 * er_learn() in begin() has let a message of the peer arrive, so two messages were counted
	 */
	assert_int_equal(eth_if_stats(er.e)->arp_rx, 2);
	er_fini();
}

static void test_R48_reply_goes_to_the_qpn_of_the_address(void **state)
{
	begin();
	tx(peer_mac, 0x0806, ETHER(REPLY, OWN_MAC, OWN_IP, PEER_MAC, PEER_IP));
	assert_int_equal(er.sent[0].ah.dlid, ER_PEER);
	check_sent(0x0806, ER_PEER_QPN, LINK(REPLY, OWN_HW, OWN_IP, PEER_HW, PEER_IP));
	er_fini();
}

static void test_R48_unicast_revalidation_goes_to_the_qpn(void **state)
{
	begin();
	/*
	 * The kernel probes a stale neighbour entry by a unicast request. On the link the request
	 * must be a unicast, too (clause R59).
	 */
	tx(peer_mac, 0x0806, ETHER(REQUEST, OWN_MAC, OWN_IP, NO_MAC, PEER_IP));
	check_sent(0x0806, ER_PEER_QPN, LINK(REQUEST, OWN_HW, OWN_IP, NO_HW, PEER_IP));
	er_fini();
}

static void test_R50_reply_to_us_asks_for_the_path(void **state)
{
	unsigned int asks;

	begin();
	asks = er.r.s.sa.path_asks;
	er_rx(0x0806, LINK(REPLY, PEER_HW, PEER_IP, OWN_HW, OWN_IP), ARP_IPOIB_LEN);
	check_got(er.mac, 0x0806, ETHER(REPLY, PEER_MAC, PEER_IP, OWN_MAC, OWN_IP));
	er_run(NS_MSEC(10));
	assert_int_equal(er.r.s.sa.path_asks, asks + 1);
	/*
	 * The link has resolved the path since the peer's reply arrived, so this packet must be
	 * sent at once.
	 */
	tx(peer_mac, 0x0806, ETHER(REPLY, OWN_MAC, OWN_IP, PEER_MAC, PEER_IP));
	assert_int_equal(ipoib_link_stats(er.r.link)->tx_held, 0);
	er_fini();
}

/*
 * A host that receives an announcement (gratuitous ARP) must not query the path to its sender,
 * because otherwise every host on the link would send a query to the SA at the same time.
 */
static void test_announcement_asks_for_no_path(void **state)
{
	unsigned int asks;

	begin();
	asks = er.r.s.sa.path_asks;
	rx_bcast(0x0806, LINK(REPLY, PEER_HW, PEER_IP, PEER_HW, PEER_IP));
	check_got(er_bcast_mac, 0x0806, ETHER(REPLY, PEER_MAC, PEER_IP, PEER_MAC, PEER_IP));
	rx_bcast(0x0806, LINK(REQUEST, PEER_HW, PEER_IP, NO_HW, PEER_IP));
	check_got(er_bcast_mac, 0x0806, ETHER(REQUEST, PEER_MAC, PEER_IP, NO_MAC, PEER_IP));
	er_run(NS_MSEC(10));
	assert_int_equal(er.r.s.sa.path_asks, asks);
	er_fini();
}

static void test_announcements_and_probe_to_the_link(void **state)
{
	begin();
	/* A probe for an address conflict has the sender IP address zero (RFC 5227 §2.1.1). */
	tx(er_bcast_mac, 0x0806, ETHER(REQUEST, OWN_MAC, NO_IP, NO_MAC, OWN_IP));
	check_sent(0x0806, 0xffffff, LINK(REQUEST, OWN_HW, NO_IP, NO_HW, OWN_IP));
	tx(er_bcast_mac, 0x0806, ETHER(REQUEST, OWN_MAC, OWN_IP, NO_MAC, OWN_IP));
	check_sent(0x0806, 0xffffff, LINK(REQUEST, OWN_HW, OWN_IP, NO_HW, OWN_IP));
	tx(er_bcast_mac, 0x0806, ETHER(REPLY, OWN_MAC, OWN_IP, OWN_MAC, OWN_IP));
	check_sent(0x0806, 0xffffff, LINK(REPLY, OWN_HW, OWN_IP, OWN_HW, OWN_IP));
	tx(er_bcast_mac, 0x0806, ETHER(REPLY, OWN_MAC, OWN_IP, "\xff\xff\xff\xff\xff\xff", OWN_IP));
	check_sent(0x0806, 0xffffff, LINK(REPLY, OWN_HW, OWN_IP, NO_HW, OWN_IP));
	assert_int_equal(er_drops_sum(), 0);
	er_fini();
}

static void test_probe_from_the_link(void **state)
{
	begin();
	rx_bcast(0x0806, LINK(REQUEST, PEER_HW, NO_IP, NO_HW, OWN_IP));
	check_got(er_bcast_mac, 0x0806, ETHER(REQUEST, PEER_MAC, NO_IP, NO_MAC, OWN_IP));
	er_fini();
}

/*
 * In a request, the target hardware address has no meaning (RFC 826), so the link must not create a
 * neighbour entry for this address.
 */
static void test_target_of_a_request_is_a_hint(void **state)
{
	struct ipoib_link_info before, after;

	begin();
	tx(er_bcast_mac, 0x0806,
	   ETHER(REQUEST, OWN_MAC, OWN_IP, "\xff\xff\xff\xff\xff\xff", PEER_IP));
	check_sent(0x0806, 0xffffff, LINK(REQUEST, OWN_HW, OWN_IP, NO_HW, PEER_IP));
	tx(er_bcast_mac, 0x0806, ETHER(REQUEST, OWN_MAC, OWN_IP, "\x06\1\2\3\4\5", PEER_IP));
	check_sent(0x0806, 0xffffff, LINK(REQUEST, OWN_HW, OWN_IP, NO_HW, PEER_IP));
	tx(er_bcast_mac, 0x0806, ETHER(REQUEST, OWN_MAC, OWN_IP, PEER_MAC, PEER_IP));
	check_sent(0x0806, 0xffffff, LINK(REQUEST, OWN_HW, OWN_IP, PEER_HW, PEER_IP));

	ipoib_link_info(er.r.link, &before);
	/*
	 * The target hardware address of the first request is the broadcast address, as in requests
	 * that `arping -U` sends on IPoIB. That of the second request is an address that the link
	 * does not know.
	 */
	rx_bcast(0x0806, LINK(REQUEST, PEER_HW, PEER_IP, BCAST_HW, PEER_IP));
	check_got(er_bcast_mac, 0x0806, ETHER(REQUEST, PEER_MAC, PEER_IP, NO_MAC, PEER_IP));
	rx_bcast(0x0806, LINK(REQUEST, PEER_HW, PEER_IP,
			      "\0\0\1\1\xfe\x80\0\0\0\0\0\0\0\x02\xc9\x03\0\0\0\x09", PEER_IP));
	check_got(er_bcast_mac, 0x0806, ETHER(REQUEST, PEER_MAC, PEER_IP, NO_MAC, PEER_IP));
	ipoib_link_info(er.r.link, &after);
	assert_int_equal(before.neighs, after.neighs);
	/*
	 * Now the target is an address that the link knows, and then the interface's own address.
	 */
	rx_bcast(0x0806, LINK(REQUEST, PEER_HW, PEER_IP, PEER_HW, PEER_IP));
	check_got(er_bcast_mac, 0x0806, ETHER(REQUEST, PEER_MAC, PEER_IP, PEER_MAC, PEER_IP));
	rx_bcast(0x0806, LINK(REQUEST, PEER_HW, PEER_IP, OWN_HW, OWN_IP));
	check_got(er_bcast_mac, 0x0806, ETHER(REQUEST, PEER_MAC, PEER_IP, OWN_MAC, OWN_IP));
	assert_int_equal(er_drops_sum(), 0);
	er_fini();
}

static void test_reply_must_say_whom_it_is_for(void **state)
{
	begin();
	tx(peer_mac, 0x0806, ETHER(REPLY, OWN_MAC, OWN_IP, "\x06\1\2\3\4\5", PEER_IP));
	assert_int_equal(er.nsent, 0);
	assert_int_equal(er_drops(ETH_DROP_ARP), 1);
	assert_int_equal(er_drops_sum(), 1);
	er_fini();
}

static void test_sender_must_have_an_address(void **state)
{
	static const char *const bad[] = {
		LINK(REQUEST, NO_HW, PEER_IP, NO_HW, OWN_IP),
		LINK(REQUEST, BCAST_HW, PEER_IP, NO_HW, OWN_IP),
		LINK(REPLY, "\0\0\0\1\xfe\x80\0\0\0\0\0\0\0\x02\xc9\x03\0\0\0\x07", PEER_IP, OWN_HW,
		     OWN_IP),
	};

	begin();
	tx(er_bcast_mac, 0x0806, ETHER(REQUEST, NO_MAC, OWN_IP, NO_MAC, PEER_IP));
	tx(er_bcast_mac, 0x0806,
	   ETHER(REQUEST, "\xff\xff\xff\xff\xff\xff", OWN_IP, NO_MAC, PEER_IP));
	tx(er_bcast_mac, 0x0806, ETHER(REQUEST, "\x52\1\2\3\4\5", OWN_IP, NO_MAC, PEER_IP));
	assert_int_equal(er.nsent, 0);
	assert_int_equal(er_drops(ETH_DROP_ARP), 3);
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
		rx_bcast(0x0806, bad[i]);
	assert_int_equal(er.ngot, 0);
	assert_int_equal(er_drops(ETH_DROP_RX_ARP), 3);
	assert_int_equal(er_drops_sum(), 6);
	er_fini();
}

/* PEER_HW with the flag 0x80 of RFC 4755, which means that the peer supports connected mode */
#define PEER_FLAGS_HW "\x80\0\0\x77\xfe\x80\0\0\0\0\0\0\0\x02\xc9\x03\0\0\0\x07"

static void test_R47_flags_are_ignored_and_sent_as_zero(void **state)
{
	begin();
	er_rx(0x0806,
	      LINK(REPLY, PEER_FLAGS_HW, PEER_IP,
		   "\xc0\0\0\x48\xfe\x80\0\0\0\0\0\0\0\x02\xc9\x03\0\0\0\x05", OWN_IP),
	      ARP_IPOIB_LEN);
	check_got(er.mac, 0x0806, ETHER(REPLY, PEER_MAC, PEER_IP, OWN_MAC, OWN_IP));
	tx(peer_mac, 0x0806, ETHER(REQUEST, OWN_MAC, OWN_IP, PEER_MAC, PEER_IP));
	check_sent(0x0806, ER_PEER_QPN, LINK(REQUEST, OWN_HW, OWN_IP, PEER_HW, PEER_IP));
	er_fini();
}

/*
 * The requester's address may have flags. The reply must contain the address with the same flags
 * (RFC 826 swaps the addresses), because Linux's arping accepts no other reply.
 */
static void test_R56_a_reply_is_to_the_address_as_the_peer_gave_it(void **state)
{
	begin();
	rx_bcast(0x0806, LINK(REQUEST, PEER_FLAGS_HW, PEER_IP, NO_HW, OWN_IP));
	check_got(er_bcast_mac, 0x0806, ETHER(REQUEST, PEER_MAC, PEER_IP, NO_MAC, OWN_IP));
	tx(peer_mac, 0x0806, ETHER(REPLY, OWN_MAC, OWN_IP, PEER_MAC, PEER_IP));
	check_sent(0x0806, ER_PEER_QPN, LINK(REPLY, OWN_HW, OWN_IP, PEER_FLAGS_HW, PEER_IP));
	rx_bcast(0x0806, LINK(REQUEST, PEER_HW, PEER_IP, NO_HW, OWN_IP));
	check_got(er_bcast_mac, 0x0806, ETHER(REQUEST, PEER_MAC, PEER_IP, NO_MAC, OWN_IP));
	tx(peer_mac, 0x0806, ETHER(REPLY, OWN_MAC, OWN_IP, PEER_MAC, PEER_IP));
	check_sent(0x0806, ER_PEER_QPN, LINK(REPLY, OWN_HW, OWN_IP, PEER_HW, PEER_IP));
	er_fini();
}

static void test_ethernet_padding_is_not_carried(void **state)
{
	uint8_t padded[46] = { 0 };

	begin();
	memcpy(padded, ETHER(REQUEST, OWN_MAC, OWN_IP, NO_MAC, PEER_IP), ARP_ETHER_LEN);
	memset(padded + ARP_ETHER_LEN, 0xa5, sizeof(padded) - ARP_ETHER_LEN);
	er_tx(er_bcast_mac, 0x0806, padded, sizeof(padded));
	check_sent(0x0806, 0xffffff, LINK(REQUEST, OWN_HW, OWN_IP, NO_HW, PEER_IP));
	er_fini();
}

static void test_I29_rarp_is_rewritten_like_arp(void **state)
{
	begin();
	tx(er_bcast_mac, 0x8035, ETHER(RREQUEST, OWN_MAC, NO_IP, OWN_MAC, NO_IP));
	check_sent(0x8035, 0xffffff, LINK(RREQUEST, OWN_HW, NO_IP, OWN_HW, NO_IP));
	rx_bcast(0x8035, LINK(RREQUEST, PEER_HW, NO_IP, PEER_HW, NO_IP));
	check_got(er_bcast_mac, 0x8035, ETHER(RREQUEST, PEER_MAC, NO_IP, PEER_MAC, NO_IP));
	tx(peer_mac, 0x8035, ETHER(RREPLY, OWN_MAC, OWN_IP, PEER_MAC, PEER_IP));
	check_sent(0x8035, ER_PEER_QPN, LINK(RREPLY, OWN_HW, OWN_IP, PEER_HW, PEER_IP));
	er_rx(0x8035, LINK(RREPLY, PEER_HW, PEER_IP, OWN_HW, OWN_IP), ARP_IPOIB_LEN);
	check_got(er.mac, 0x8035, ETHER(RREPLY, PEER_MAC, PEER_IP, OWN_MAC, OWN_IP));
	er_fini();
}

/*
 * A RARP request (RFC 903) can ask for the IP address of a third host. In the request on the TAP, a
 * MAC (the token of this host) must take the place of this host's link-layer address. Packets to
 * this MAC must reach the host.
 */
static void test_rarp_target_gets_a_token(void **state)
{
	struct ipoib_lladdr third = er_peer_addr(9, 0x99);
	uint8_t token[6];

	begin();
	eth_token(token, &third, RIG_PKEY);
	rx_bcast(0x8035, LINK(RREQUEST, PEER_HW, NO_IP,
			      "\0\0\0\x99\xfe\x80\0\0\0\0\0\0\0\x02\xc9\x03\0\0\0\x09", NO_IP));
	assert_int_equal(er.ngot, 1);
	assert_memory_equal(er.got[0].data + 14 + 18, token, 6);
	assert_non_null(ipoib_neigh_find(er.r.link, &third));
	er_fini();
}

static void test_truncated_at_every_length(void **state)
{
	const char *ether = ETHER(REQUEST, OWN_MAC, OWN_IP, NO_MAC, PEER_IP);
	const char *link = LINK(REQUEST, PEER_HW, PEER_IP, NO_HW, OWN_IP);

	begin();
	for (size_t n = 0; n < ARP_ETHER_LEN; n++)
		er_tx(er_bcast_mac, n & 1 ? 0x0806 : 0x8035, ether, n);
	assert_int_equal(er_drops(ETH_DROP_ARP), ARP_ETHER_LEN);
	for (size_t n = 0; n < ARP_IPOIB_LEN; n++)
		er_rx(n & 1 ? 0x0806 : 0x8035, link, n);
	assert_int_equal(er_drops(ETH_DROP_RX_ARP), ARP_IPOIB_LEN);
	assert_int_equal(er_drops_sum(), ARP_ETHER_LEN + ARP_IPOIB_LEN);
	assert_int_equal(er.nsent + er.ngot, 0);
	er_fini();
}

static void test_R56_other_types_and_lengths_are_refused(void **state)
{
	/*
	 * offsets of octets in the hardware type, in the protocol type and in the two address
	 * lengths
	 */
	static const uint8_t at[] = { 1, 2, 4, 5 };

	begin();
	for (unsigned int i = 0; i < ARRAY_SIZE(at); i++) {
		uint8_t ether[ARP_ETHER_LEN], link[ARP_IPOIB_LEN];

		memcpy(ether, ETHER(REQUEST, OWN_MAC, OWN_IP, NO_MAC, PEER_IP), sizeof(ether));
		memcpy(link, LINK(REQUEST, PEER_HW, PEER_IP, NO_HW, OWN_IP), sizeof(link));
		ether[at[i]]++;
		link[at[i]]++;
		er_tx(er_bcast_mac, 0x0806, ether, sizeof(ether));
		er_rx(0x0806, link, sizeof(link));
		assert_int_equal(er_drops(ETH_DROP_ARP), i + 1);
		assert_int_equal(er_drops(ETH_DROP_RX_ARP), i + 1);
	}
	/*
	 * A message from the TAP has the format of the link, and a message from the link has the
	 * format of the TAP. Both must be dropped.
	 */
	er_tx(er_bcast_mac, 0x0806, LINK(REQUEST, OWN_HW, OWN_IP, NO_HW, PEER_IP), ARP_IPOIB_LEN);
	er_rx(0x0806, ETHER(REQUEST, PEER_MAC, PEER_IP, NO_MAC, OWN_IP), ARP_ETHER_LEN);
	assert_int_equal(er_drops(ETH_DROP_ARP), 5);
	assert_int_equal(er_drops(ETH_DROP_RX_ARP), 5);
	assert_int_equal(er.nsent + er.ngot, 0);
	er_fini();
}

static void test_no_address_of_our_own_yet(void **state)
{
	struct eth_if_cfg cfg = { .pkey = RIG_PKEY };
	static const struct eth_ops none;
	struct eth_if *e;
	struct pkt *p;

	begin();
	cfg.link = er.r.link;
	cfg.pool = er.r.pool;
	cfg.timers = &er.r.s.timers;
	assert_int_equal(eth_if_create(&e, &cfg, &none, NULL), 0);
	p = er_frame(er_bcast_mac, (const uint8_t *)NO_MAC, 0x0806,
		     ETHER(REQUEST, NO_MAC, OWN_IP, NO_MAC, PEER_IP), ARP_ETHER_LEN);
	eth_tx(e, &p, 1, er.r.s.now);
	assert_int_equal(eth_if_stats(e)->drops[ETH_DROP_ARP], 1);
	eth_if_destroy(e);
	er_fini();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R56_request_to_the_link),
		cmocka_unit_test(test_R25_request_goes_to_the_broadcast_group),
		cmocka_unit_test(test_R56_request_from_the_link),
		cmocka_unit_test(test_R48_reply_goes_to_the_qpn_of_the_address),
		cmocka_unit_test(test_R48_unicast_revalidation_goes_to_the_qpn),
		cmocka_unit_test(test_R50_reply_to_us_asks_for_the_path),
		cmocka_unit_test(test_announcement_asks_for_no_path),
		cmocka_unit_test(test_announcements_and_probe_to_the_link),
		cmocka_unit_test(test_probe_from_the_link),
		cmocka_unit_test(test_target_of_a_request_is_a_hint),
		cmocka_unit_test(test_reply_must_say_whom_it_is_for),
		cmocka_unit_test(test_sender_must_have_an_address),
		cmocka_unit_test(test_R47_flags_are_ignored_and_sent_as_zero),
		cmocka_unit_test(test_R56_a_reply_is_to_the_address_as_the_peer_gave_it),
		cmocka_unit_test(test_ethernet_padding_is_not_carried),
		cmocka_unit_test(test_I29_rarp_is_rewritten_like_arp),
		cmocka_unit_test(test_rarp_target_gets_a_token),
		cmocka_unit_test(test_truncated_at_every_length),
		cmocka_unit_test(test_R56_other_types_and_lengths_are_refused),
		cmocka_unit_test(test_no_address_of_our_own_yet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

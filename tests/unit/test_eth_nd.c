/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/eth_rig.h"

/*
 * Tests Neighbour Discovery messages (RFC 4861) in two formats: in the TAP, link-layer address
 * options have 8 octets (RFC 2464 §6), and on the link 24 octets (RFC 4391 §9.3).
 */

#define OWN_MAC "\x02\xf7\x64\xef\xc6\xfe"
#define PEER_MAC "\x06\xf1\x2b\x60\x5c\x8b"
#define OWN_HW "\0\0\0\x48\xfe\x80\0\0\0\0\0\0\0\x02\xc9\x03\0\0\0\x05"
#define PEER_HW "\0\0\0\x77\xfe\x80\0\0\0\0\0\0\0\x02\xc9\x03\0\0\0\x07"

#define RS 133
#define RA 134
#define NS 135
#define NA 136
#define REDIRECT 137
#define SOLICITED 0x40

static const uint8_t ll_own[16] = { 0xfe, 0x80, [8] = 2, 2, 0xc9, 3, [15] = 5 };
static const uint8_t ll_peer[16] = { 0xfe, 0x80, [8] = 2, 2, 0xc9, 3, [15] = 7 };
static const uint8_t any[16];
static const uint8_t all_nodes[16] = { 0xff, 2, [15] = 1 };
static const uint8_t sol_node[16] = { 0xff, 2, [11] = 1, 0xff, 0, 0, 5 };
static const uint8_t sol_peer[16] = { 0xff, 2, [11] = 1, 0xff, 0, 0, 7 };
static const uint8_t mac_sol_peer[6] = { 0x33, 0x33, 0xff, 0, 0, 7 };

static uint8_t peer_mac[6];

/* One message in two formats: as it is in the TAP, and as it is on the link */
struct msg {
	uint8_t ether[600], link[600];
	size_t ne, nl;
};

static void both(struct msg *m, const void *p, size_t n)
{
	memcpy(m->ether + m->ne, p, n);
	memcpy(m->link + m->nl, p, n);
	m->ne += n;
	m->nl += n;
}

static struct msg msg(uint8_t type, size_t fixed)
{
	struct msg m = { .ether = { type } };
	uint8_t b[40] = { type };

	for (size_t i = 5; i < fixed; i++)
		b[i] = (uint8_t)(i * 3);
	m.ne = m.nl = 0;
	both(&m, b, fixed);
	return m;
}

static void lladdr(struct msg *m, uint8_t type, const char *mac, const char *hw)
{
	uint8_t e[8] = { type, 1 }, l[24] = { type, 3 };

	memcpy(e + 2, mac, 6);
	memcpy(l + 4, hw, 20); /* R58: two zero octets before the address */
	memcpy(m->ether + m->ne, e, sizeof(e));
	memcpy(m->link + m->nl, l, sizeof(l));
	m->ne += sizeof(e);
	m->nl += sizeof(l);
}

static void option(struct msg *m, uint8_t type, size_t units)
{
	uint8_t b[256] = { type, (uint8_t)units };

	for (size_t i = 2; i < units * 8; i++)
		b[i] = (uint8_t)(0x80 + i);
	both(m, b, units * 8);
}

static const uint8_t *mac_of(const uint8_t dst[16])
{
	static uint8_t mac[6] = { 0x33, 0x33 };

	memcpy(mac + 2, dst + 12, 4);
	return dst[0] == 0xff ? mac : peer_mac;
}

static void tx_msg(const uint8_t *src, const uint8_t *dst, const uint8_t *m, size_t n)
{
	uint8_t b[700];

	er_tx(mac_of(dst), 0x86dd, b, er_icmp6(b, src, dst, m, n));
	er_run(NS_SEC(1)); /* time for the path query, or for the join of the group */
}

static void rx_msg(const uint8_t *src, const uint8_t *dst, const uint8_t *m, size_t n)
{
	uint8_t b[700];
	ib_gid mgid;

	n = er_icmp6(b, src, dst, m, n);
	if (dst[0] != 0xff) {
		er_rx(0x86dd, b, n);
		return;
	}
	assert_int_equal(mgid_from_ipv6(&mgid, dst, RIG_PKEY, 2), 0);
	er_rx_mcast(&mgid, 0x86dd, b, n);
}

/*
 * Check that the packet @ip consists of an IPv6 header from @src to @dst and the ICMPv6 message @m,
 * whose checksum is right.
 */
static void check_ip(const uint8_t *ip, size_t len, const uint8_t *src, const uint8_t *dst,
		     const uint8_t *m, size_t n)
{
	uint8_t want[700];

	assert_int_equal(len, er_icmp6(want, src, dst, m, n));
	assert_memory_equal(ip, want, len);
	er_check_ip(ip, len);
}

static void check_to_link(const struct msg *m, const uint8_t *src, const uint8_t *dst)
{
	tx_msg(src, dst, m->ether, m->ne);
	assert_int_equal(er.nsent, 1);
	assert_int_equal(be16_at(er.sent[0].data), 0x86dd);
	check_ip(er.sent[0].data + 4, er.sent[0].len - 4, src, dst, m->link, m->nl);
	assert_int_equal(er.sent[0].dest_qpn, dst[0] == 0xff ? 0xffffff : ER_PEER_QPN);
	er_clear();
}

static void check_from_link(const struct msg *m, const uint8_t *src, const uint8_t *dst)
{
	rx_msg(src, dst, m->link, m->nl);
	assert_int_equal(er.ngot, 1);
	assert_memory_equal(er.got[0].data, dst[0] == 0xff ? mac_of(dst) : er.mac, 6);
	assert_memory_equal(er.got[0].data + 6, PEER_MAC, 6);
	check_ip(er.got[0].data + 14, er.got[0].len - 14, src, dst, m->ether, m->ne);
	er_clear();
}

static void begin(void)
{
	er_init();
	er_learn(ER_PEER, ER_PEER_QPN, peer_mac);
	assert_memory_equal(er.mac, OWN_MAC, 6);
	assert_memory_equal(peer_mac, PEER_MAC, 6);
	/* other hosts have joined these groups, so the groups exist */
	for (int i = 0; i < 3; i++) {
		static const uint8_t *const g[] = { sol_peer, sol_node, all_nodes };
		ib_gid mgid;

		assert_int_equal(mgid_from_ipv6(&mgid, g[i], RIG_PKEY, 2), 0);
		sa_group_make(&er.r.s.sa, &mgid, RIG_PKEY, IB_MTU_2048);
	}
}

static void test_R57_neighbour_solicitation(void **state)
{
	struct msg m = msg(NS, 24), in = m;

	begin();
	lladdr(&m, ND_OPT_SLLA, OWN_MAC, OWN_HW);
	check_to_link(&m, ll_own, sol_peer);
	check_to_link(&m, ll_own, ll_peer); /* unicast, as for neighbour unreachability detection */
	lladdr(&in, ND_OPT_SLLA, PEER_MAC, PEER_HW);
	check_from_link(&in, ll_peer, sol_node);
	check_from_link(&in, ll_peer, ll_own);
	assert_int_equal(eth_if_stats(er.e)->nd_tx, 2);
	assert_int_equal(eth_if_stats(er.e)->nd_rx, 2);
	assert_int_equal(er_drops_sum(), 0);
	er_fini();
}

static void test_R57_neighbour_advertisement(void **state)
{
	struct msg m = msg(NA, 24), in = m;

	begin();
	lladdr(&m, ND_OPT_TLLA, OWN_MAC, OWN_HW);
	check_to_link(&m, ll_own, ll_peer);
	check_to_link(&m, ll_own, all_nodes);
	lladdr(&in, ND_OPT_TLLA, PEER_MAC, PEER_HW);
	check_from_link(&in, ll_peer, ll_own);
	check_from_link(&in, ll_peer, all_nodes);
	er_fini();
}

static void test_R57_router_solicitation(void **state)
{
	struct msg m = msg(RS, 8), in = m;

	begin();
	lladdr(&m, ND_OPT_SLLA, OWN_MAC, OWN_HW);
	check_to_link(&m, ll_own, all_nodes);
	lladdr(&in, ND_OPT_SLLA, PEER_MAC, PEER_HW);
	check_from_link(&in, ll_peer, all_nodes);
	er_fini();
}

/*
 * The MTU option of a router advertisement must not be changed, because the TAP and the IPoIB link
 * have the same IP MTU.
 */
static void test_R57_router_advertisement_among_other_options(void **state)
{
	struct msg m = msg(RA, 16), in = m;

	begin();
	option(&m, ND_OPT_MTU, 1);
	lladdr(&m, ND_OPT_SLLA, OWN_MAC, OWN_HW);
	option(&m, 3, 4); /* prefix information option */
	option(&m, 25, 3); /* RDNSS */
	check_to_link(&m, ll_own, all_nodes);
	lladdr(&in, ND_OPT_SLLA, PEER_MAC, PEER_HW);
	option(&in, 3, 4);
	option(&in, 3, 4);
	option(&in, ND_OPT_MTU, 1);
	check_from_link(&in, ll_peer, all_nodes);
	check_from_link(&in, ll_peer, ll_own);
	er_fini();
}

/*
 * A redirect quotes a packet whose octets look like an option. The quoted packet must not be
 * changed.
 */
static void test_R57_redirect(void **state)
{
	struct msg m = msg(REDIRECT, 40), in = m;

	begin();
	lladdr(&m, ND_OPT_TLLA, PEER_MAC, PEER_HW);
	option(&m, ND_OPT_REDIRECTED, 16);
	check_to_link(&m, ll_own, ll_peer);
	lladdr(&in, ND_OPT_TLLA, PEER_MAC, PEER_HW);
	option(&in, ND_OPT_REDIRECTED, 16);
	check_from_link(&in, ll_peer, ll_own);
	er_fini();
}

static void test_own_address_from_the_link_is_our_mac(void **state)
{
	struct msg m = msg(REDIRECT, 40);

	begin();
	lladdr(&m, ND_OPT_TLLA, OWN_MAC, OWN_HW);
	check_from_link(&m, ll_peer, ll_own);
	er_fini();
}

static void test_both_options_and_a_repeated_one(void **state)
{
	struct msg m = msg(NS, 24);

	begin();
	lladdr(&m, ND_OPT_SLLA, OWN_MAC, OWN_HW);
	lladdr(&m, ND_OPT_TLLA, PEER_MAC, PEER_HW);
	lladdr(&m, ND_OPT_SLLA, OWN_MAC, OWN_HW);
	option(&m, 14, 1); /* nonce */
	check_to_link(&m, ll_own, sol_peer);
	check_from_link(&m, ll_peer, sol_node);
	er_fini();
}

/*
 * A Neighbour Solicitation of duplicate address detection has the source :: and no address option
 * (RFC 4862 §5.4.2). A router solicitation can have the source ::, too, and then has no address
 * option either. Both messages must pass unchanged.
 */
static void test_duplicate_address_detection_passes(void **state)
{
	struct msg m = msg(NS, 24), rs = msg(RS, 8);

	begin();
	check_to_link(&m, any, sol_peer);
	check_from_link(&m, any, sol_node);
	option(&m, 14, 1); /* nonce option, RFC 7527 */
	check_to_link(&m, any, sol_peer);
	check_from_link(&m, any, sol_node);
	check_to_link(&rs, any, all_nodes);
	er_fini();
}

static void test_R47_R58_reserved_octets_are_ignored_on_receive(void **state)
{
	struct msg m = msg(NA, 24);

	begin();
	lladdr(&m, ND_OPT_TLLA, PEER_MAC, PEER_HW);
	m.link[24 + 2] = 0xaa;
	m.link[24 + 3] = 0xbb;
	m.link[24 + 4] = 0x80; /* flag of RFC 4755 */
	check_from_link(&m, ll_peer, ll_own);
	er_fini();
}

/*
 * The address options in dnsmasq's router advertisements have the two zero octets after the address
 * (80000040 fe80.. 0000) instead of before it. The interface must accept such an option.
 */
static void test_R58_two_zero_octets_behind_the_address_are_understood(void **state)
{
	struct msg m = msg(RA, 16), odd;

	begin();
	lladdr(&m, ND_OPT_SLLA, PEER_MAC, PEER_HW);
	memmove(m.link + 16 + 2, m.link + 16 + 4, 20);
	memset(m.link + 16 + 22, 0, 2);
	check_from_link(&m, ll_peer, all_nodes);
	m.link[16 + 2] = 0x80; /* flag of RFC 4755 */
	check_from_link(&m, ll_peer, all_nodes);
	/*
	 * If the last two octets are not zero, the option must be read in the layout of RFC 4391.
	 */
	odd = m;
	odd.link[16 + 23] = 1;
	er_clear();
	rx_msg(ll_peer, all_nodes, odd.link, odd.nl);
	assert_int_equal(er.ngot, 1);
	assert_memory_not_equal(er.got[0].data + 14 + 40 + 16 + 2, PEER_MAC, 6);
	er_fini();
}

static void test_R50_only_an_answer_asks_for_the_path(void **state)
{
	struct msg m = msg(NA, 24);
	unsigned int asks;

	begin();
	asks = er.r.s.sa.path_asks;
	m.link[4] = m.ether[4] = 0x20; /* flag Override; not Solicited */
	lladdr(&m, ND_OPT_TLLA, PEER_MAC, PEER_HW);
	check_from_link(&m, ll_peer, all_nodes);
	er_run(NS_MSEC(10));
	assert_int_equal(er.r.s.sa.path_asks, asks);
	m.link[4] = m.ether[4] = 0x20 | SOLICITED;
	check_from_link(&m, ll_peer, ll_own);
	er_run(NS_MSEC(10));
	assert_int_equal(er.r.s.sa.path_asks, asks + 1);
	er_fini();
}

static void test_wrong_checksum_is_not_mended(void **state)
{
	struct msg m = msg(NS, 24);
	uint8_t b[700];
	size_t n;

	begin();
	lladdr(&m, ND_OPT_SLLA, OWN_MAC, OWN_HW);
	n = er_icmp6(b, ll_own, sol_peer, m.ether, m.ne);
	b[n - 1] ^= 1;
	er_tx(mac_sol_peer, 0x86dd, b, n);
	assert_int_equal(er_drops(ETH_DROP_ARP), 1);
	n = er_icmp6(b, ll_peer, ll_own, m.link, m.nl);
	b[n - 1] ^= 1;
	er_rx(0x86dd, b, n);
	assert_int_equal(er_drops(ETH_DROP_RX_ARP), 1);
	assert_int_equal(er_drops_sum(), 2);
	assert_int_equal(er.nsent + er.ngot, 0);
	er_fini();
}

static void test_partial_checksum_is_completed_first(void **state)
{
	struct msg m = msg(NS, 24);
	uint8_t b[700];
	struct pkt *p;
	size_t n;

	begin();
	for (int slice = 0; slice < 2; slice++) { /* payload in hdr[], then in a buffer */
		lladdr(&m, ND_OPT_SLLA, OWN_MAC, OWN_HW);
		n = er_icmp6(b, ll_own, ll_peer, m.ether, m.ne);
		be16_put(b + 42, er_sum(b + 8, 32, (uint32_t)(58 + m.ne)));
		p = er_frame(peer_mac, er.mac, 0x86dd, b, n);
		assert_int_equal(p->nslices, slice);
		frame_info(p)->csum = FRAME_CSUM_PARTIAL;
		frame_info(p)->csum_start = 40;
		frame_info(p)->csum_offset = 2;
		er_tx_pkt(p);
		er_run(NS_MSEC(10));
		assert_int_equal(er.nsent, 1);
		check_ip(er.sent[0].data + 4, er.sent[0].len - 4, ll_own, ll_peer, m.link, m.nl);
		er_clear();
		option(&m, 14, 3);
	}
	er_fini();
}

static void test_malformed_options_are_refused(void **state)
{
	static const struct {
		uint8_t n, octets[32];
	} tail[] = {
		/* an option of length zero, with which a parser could loop for ever */
		{ 8, { 14, 0 } },
		{ 8, { 14, 2 } }, /* the length reaches beyond the end of the message */
		{ 1, { 14 } },
		{ 7, { ND_OPT_MTU, 1 } },
		/* neither an option of Ethernet (8 octets) nor one of InfiniBand (24 octets) */
		{ 16, { ND_OPT_SLLA, 2 } },
		{ 32, { ND_OPT_TLLA, 4 } },
	};

	begin();
	for (unsigned int i = 0; i < ARRAY_SIZE(tail); i++) {
		struct msg m = msg(NS, 24);

		both(&m, tail[i].octets, tail[i].n);
		tx_msg(ll_own, ll_peer, m.ether, m.ne);
		rx_msg(ll_peer, ll_own, m.link, m.nl);
		assert_int_equal(er_drops(ETH_DROP_ARP), i + 1);
		assert_int_equal(er_drops(ETH_DROP_RX_ARP), i + 1);
	}
	assert_int_equal(er.nsent + er.ngot, 0);
	er_fini();
}

/*
 * A message from the link has an address option of 8 octets, as on Ethernet, and a message from the
 * TAP has one of 24 octets, as on InfiniBand. Both messages must be dropped.
 */
static void test_R57_option_length_is_the_links(void **state)
{
	struct msg m = msg(NS, 24);

	begin();
	lladdr(&m, ND_OPT_SLLA, OWN_MAC, OWN_HW);
	tx_msg(ll_own, ll_peer, m.link, m.nl);
	rx_msg(ll_peer, ll_own, m.ether, m.ne);
	assert_int_equal(er_drops(ETH_DROP_ARP), 1);
	assert_int_equal(er_drops(ETH_DROP_RX_ARP), 1);
	assert_int_equal(er_drops_sum(), 2);
	er_fini();
}

static void test_unknown_and_impossible_addresses_are_refused(void **state)
{
	struct msg a = msg(NS, 24), b = a, c = a;

	begin();
	lladdr(&a, ND_OPT_SLLA, "\x06\1\2\3\4\5", OWN_HW);
	tx_msg(ll_own, ll_peer, a.ether, a.ne);
	assert_int_equal(er_drops(ETH_DROP_ARP), 1);
	lladdr(&b, ND_OPT_SLLA, PEER_MAC,
	       "\0\xff\xff\xff\xfe\x80\0\0\0\0\0\0\0\x02\xc9\x03\0\0\0\x07");
	rx_msg(ll_peer, ll_own, b.link, b.nl);
	lladdr(&c, ND_OPT_SLLA, PEER_MAC, "\0\0\0\x77\xff\x12\0\0\0\0\0\0\0\x02\xc9\x03\0\0\0\x07");
	rx_msg(ll_peer, ll_own, c.link, c.nl);
	assert_int_equal(er_drops(ETH_DROP_RX_ARP), 2);
	assert_int_equal(er_drops_sum(), 3);
	er_fini();
}

/*
 * A message is cut at every length, and the length in its IP header is adapted. The interface may
 * translate the message only if the octets before the cut are a complete message.
 */
static void test_truncated_at_every_length(void **state)
{
	struct msg m = msg(NA, 24), in = m;
	unsigned int whole = 0;

	begin();
	lladdr(&m, ND_OPT_TLLA, OWN_MAC, OWN_HW);
	lladdr(&in, ND_OPT_TLLA, PEER_MAC, PEER_HW);
	for (size_t n = 4; n < m.ne; n++) {
		tx_msg(ll_own, ll_peer, m.ether, n);
		whole += n == 24;
		assert_int_equal(er.nsent, whole);
	}
	assert_int_equal(er_drops(ETH_DROP_ARP), m.ne - 4 - 1);
	whole = 0;
	for (size_t n = 4; n < in.nl; n++) {
		rx_msg(ll_peer, ll_own, in.link, n);
		whole += n == 24;
		assert_int_equal(er.ngot, whole);
	}
	assert_int_equal(er_drops(ETH_DROP_RX_ARP), in.nl - 4 - 1);
	er_fini();
}

/* The packet is one octet shorter than its IP header says, so it must be dropped. */
static void test_short_ip_payload(void **state)
{
	struct msg m = msg(NS, 24);
	uint8_t b[700];
	size_t n;

	begin();
	lladdr(&m, ND_OPT_SLLA, PEER_MAC, PEER_HW);
	n = er_icmp6(b, ll_peer, ll_own, m.link, m.nl);
	er_rx(0x86dd, b, n - 1);
	assert_int_equal(er_drops(ETH_DROP_RX_ARP), 1);
	assert_int_equal(er_drops_sum(), 1);
	er_fini();
}

static void test_message_above_the_bound(void **state)
{
	static uint8_t m[5000], b[5100];

	begin();
	m[0] = NS;
	er_tx(peer_mac, 0x86dd, b, er_icmp6(b, ll_own, ll_peer, m, 4096));
	assert_int_equal(er_drops(ETH_DROP_ARP), 1);
	assert_int_equal(er_drops_sum(), 1);
	er_fini();
}

/*
 * Packets that are not valid Neighbour Discovery must pass unchanged. Examples are other ICMPv6
 * messages, and messages whose hop limit is not 255. Such a hop limit shows that a message has come
 * through a router (RFC 4861).
 */
static void test_what_is_not_nd_passes_as_it_is(void **state)
{
	struct msg m = msg(NS, 24), echo = msg(128, 8);
	uint8_t b[700];
	size_t n;

	begin();
	lladdr(&m, ND_OPT_SLLA, OWN_MAC, OWN_HW);
	n = er_icmp6(b, ll_own, ll_peer, m.ether, m.ne);
	b[7] = 254;
	er_tx(peer_mac, 0x86dd, b, n);
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 1);
	assert_memory_equal(er.sent[0].data + 4, b, n);
	er_rx(0x86dd, b, n);
	assert_int_equal(er.ngot, 1);
	assert_memory_equal(er.got[0].data + 14, b, n);
	er_clear();
	both(&echo, "\1\1payload", 10);
	check_to_link(&echo, ll_own, ll_peer);
	check_from_link(&echo, ll_peer, ll_own);
	assert_int_equal(eth_if_stats(er.e)->nd_tx + eth_if_stats(er.e)->nd_rx, 0);
	er_fini();
}

/*
 * A neighbour is first seen in ARP and then in Neighbour Discovery. The 20 octets of its address
 * are the same in both protocols (R46), so there must be one neighbour entry, not two.
 */
static void test_R46_nd_and_arp_name_the_same_neighbour(void **state)
{
	struct ipoib_lladdr a = er_peer_addr(ER_PEER, ER_PEER_QPN);
	struct ipoib_link_info before, after;
	struct msg m = msg(NS, 24);

	begin(); /* makes a neighbour entry by ARP */
	ipoib_link_info(er.r.link, &before);
	lladdr(&m, ND_OPT_SLLA, PEER_MAC, PEER_HW);
	check_from_link(&m, ll_peer, sol_node);
	ipoib_link_info(er.r.link, &after);
	assert_int_equal(before.neighs, after.neighs);
	assert_non_null(ipoib_neigh_find(er.r.link, &a));
	er_fini();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R57_neighbour_solicitation),
		cmocka_unit_test(test_R57_neighbour_advertisement),
		cmocka_unit_test(test_R57_router_solicitation),
		cmocka_unit_test(test_R57_router_advertisement_among_other_options),
		cmocka_unit_test(test_R57_redirect),
		cmocka_unit_test(test_own_address_from_the_link_is_our_mac),
		cmocka_unit_test(test_both_options_and_a_repeated_one),
		cmocka_unit_test(test_duplicate_address_detection_passes),
		cmocka_unit_test(test_R47_R58_reserved_octets_are_ignored_on_receive),
		cmocka_unit_test(test_R58_two_zero_octets_behind_the_address_are_understood),
		cmocka_unit_test(test_R50_only_an_answer_asks_for_the_path),
		cmocka_unit_test(test_wrong_checksum_is_not_mended),
		cmocka_unit_test(test_partial_checksum_is_completed_first),
		cmocka_unit_test(test_malformed_options_are_refused),
		cmocka_unit_test(test_R57_option_length_is_the_links),
		cmocka_unit_test(test_unknown_and_impossible_addresses_are_refused),
		cmocka_unit_test(test_truncated_at_every_length),
		cmocka_unit_test(test_short_ip_payload),
		cmocka_unit_test(test_message_above_the_bound),
		cmocka_unit_test(test_what_is_not_nd_passes_as_it_is),
		cmocka_unit_test(test_R46_nd_and_arp_name_the_same_neighbour),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/eth_ib.h"

#include <stdio.h>

#include "eth/token.h"
#include "wire/ibarp.h"

/*
 * The InfiniBand shape of an interface: ARP, RARP and Neighbour Discovery. On a device of ARP
 * hardware type 32 the kernel uses the message formats of RFC 4391. So the messages pass unchanged
 * on links of profile rfc4391, and are rewritten on links of other profiles. The octets on the link
 * do not depend on the shape, and are checked by the tests of the Ethernet shape.
 */

#define FLAG_PEER "\x80\0\0\x77\xfe\x80\0\0\0\0\0\0\0\x02\xc9\x03\0\0\0\x07"
#define FLAG_OWN "\x80\0\0\x48\xfe\x80\0\0\0\0\0\0\0\x02\xc9\x03\0\0\0\x05"
#define ALL_ONES                                                                       \
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" \
	"\xff"
#define QP1 "\0\0\0\x01\xfe\x80\0\0\0\0\0\0\0\x02\xc9\x03\0\0\0\x07"
#define OWN_IP "\x0a\x04\x00\x05"
#define PEER_IP "\x0a\x04\x00\x07"
#define NO_IP "\0\0\0\0"

#define ARP(op, sha, spa, tha, tpa) ("\0\x20\x08\0\x14\x04\0" op sha spa tha tpa)
#define REQUEST "\x01"
#define REPLY "\x02"
#define RREQUEST "\x03"
#define RREPLY "\x04"

#define PEER_QKEY 0x01234567u

static const uint8_t ll_peer[16] = { 0xfe, 0x80, [8] = 2, 2, 0xc9, 3, [15] = 7 };
static const uint8_t sol_peer[16] = { 0xff, 2, [11] = 1, 0xff, 0, 0, 7 };
static const uint8_t all_nodes[16] = { 0xff, 2, [15] = 1 };
#define SOL_PEER_HW "\0\xff\xff\xff\xff\x12\x60\x1b\x80\x01\0\0\0\0\0\x01\xff\0\0\x07"
#define ALL_NODES_HW "\0\xff\xff\xff\xff\x12\x60\x1b\x80\x01\0\0\0\0\0\0\0\0\0\x01"

static void begin(void)
{
	ib_begin("rfc4391");
}

/* --- ARP and RARP on links of profile rfc4391 */

static void check_sent(uint16_t type, uint32_t qpn, const void *msg, size_t n)
{
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].dest_qpn, qpn);
	assert_int_equal(be32_at(er.sent[0].data), (uint32_t)type << 16);
	assert_int_equal(er.sent[0].len, 4 + n);
	assert_memory_equal(er.sent[0].data + 4, msg, n);
	er_clear();
}

static void test_R56_arp_passes_to_the_link(void **state)
{
	static const struct {
		const char *msg, *dst;
		uint16_t type;
	} m[] = {
		{ ARP(REQUEST, OWN_HW, OWN_IP, NO_HW, PEER_IP), BCAST_HW, ETH_P_ARP4 },
		{ ARP(REQUEST, OWN_HW, OWN_IP, BCAST_HW, PEER_IP), BCAST_HW, ETH_P_ARP4 },
		{ ARP(REQUEST, OWN_HW, OWN_IP, NO_HW, PEER_IP), ALL_ONES, ETH_P_ARP4 },
		/*
		 * request to one neighbour, by which the kernel probes whether the neighbour is
		 * still there
		 */
		{ ARP(REQUEST, OWN_HW, OWN_IP, PEER_HW, PEER_IP), PEER_HW, ETH_P_ARP4 },
		{ ARP(REPLY, OWN_HW, OWN_IP, PEER_HW, PEER_IP), PEER_HW, ETH_P_ARP4 },
		/* the target address has QP1, but the target address of a request has no meaning */
		{ ARP(REQUEST, OWN_HW, OWN_IP, QP1, PEER_IP), BCAST_HW, ETH_P_ARP4 },
		/* announcements, RFC 5227 §3 */
		{ ARP(REQUEST, OWN_HW, OWN_IP, NO_HW, OWN_IP), BCAST_HW, ETH_P_ARP4 },
		{ ARP(REPLY, OWN_HW, OWN_IP, OWN_HW, OWN_IP), BCAST_HW, ETH_P_ARP4 },
		{ ARP(REPLY, OWN_HW, OWN_IP, NO_HW, OWN_IP), BCAST_HW, ETH_P_ARP4 },
		{ ARP(REPLY, OWN_HW, OWN_IP, BCAST_HW, OWN_IP), BCAST_HW, ETH_P_ARP4 },
		{ ARP(RREQUEST, OWN_HW, NO_IP, OWN_HW, NO_IP), BCAST_HW, ETH_P_RARP4 },
		{ ARP(RREPLY, OWN_HW, OWN_IP, PEER_HW, PEER_IP), PEER_HW, ETH_P_RARP4 },
	};

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(m); i++) {
		ib_tx(hw(m[i].dst), m[i].type, m[i].msg, ARP_IPOIB_LEN);
		check_sent(m[i].type, m[i].dst[4] == '\xff' ? 0xffffff : ER_PEER_QPN, m[i].msg,
			   ARP_IPOIB_LEN);
	}
	assert_int_equal(eth_if_stats(er.e)->arp_tx, ARRAY_SIZE(m));
	assert_int_equal(er_drops_sum(), 0);
	ib_end();
}

/*
 * The reserved octet of the interface's own address must be 0 in all messages (RFC 4391 §9.1.1). In
 * a reply, the reserved octet of the peer's address must be as the peer has sent it (RFC 826).
 */
static void test_R46_reserved_octets_of_arp(void **state)
{
	begin();
	ib_tx(hw(BCAST_HW), ETH_P_ARP4, ARP(REQUEST, FLAG_OWN, OWN_IP, NO_HW, PEER_IP),
	      ARP_IPOIB_LEN);
	check_sent(ETH_P_ARP4, 0xffffff, ARP(REQUEST, OWN_HW, OWN_IP, NO_HW, PEER_IP),
		   ARP_IPOIB_LEN);
	ib_tx(hw(PEER_HW), ETH_P_ARP4, ARP(REPLY, FLAG_OWN, OWN_IP, FLAG_PEER, PEER_IP),
	      ARP_IPOIB_LEN);
	check_sent(ETH_P_ARP4, ER_PEER_QPN, ARP(REPLY, OWN_HW, OWN_IP, FLAG_PEER, PEER_IP),
		   ARP_IPOIB_LEN);
	ib_tx(hw(PEER_HW), ETH_P_ARP4, ARP(REPLY, OWN_HW, OWN_IP, FLAG_OWN, OWN_IP), ARP_IPOIB_LEN);
	check_sent(ETH_P_ARP4, ER_PEER_QPN, ARP(REPLY, OWN_HW, OWN_IP, OWN_HW, OWN_IP),
		   ARP_IPOIB_LEN);
	ib_end();
}

static void test_R56_arp_that_is_refused(void **state)
{
	static const char *const bad[] = {
		ARP(REQUEST, NO_HW, OWN_IP, NO_HW, PEER_IP),
		ARP(REQUEST, BCAST_HW, OWN_IP, NO_HW, PEER_IP),
		ARP(REQUEST, QP1, OWN_IP, NO_HW, PEER_IP),
		ARP(REPLY, OWN_HW, OWN_IP, QP1, PEER_IP),
		"\0\x01\x08\0\x06\x04\0\x01\2\0\0\0\0\5\x0a\4\0\5\0\0\0\0\0\0\x0a\4"
		"\0\7" /* an ARP message of Ethernet, padded */
		"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		begin();
		ib_tx(hw(BCAST_HW), ETH_P_ARP4, bad[i], ARP_IPOIB_LEN);
		er_check_dropped(ETH_DROP_ARP);
		ib_end();
	}
	begin();
	ib_tx(hw(BCAST_HW), ETH_P_ARP4, ARP(REQUEST, OWN_HW, OWN_IP, NO_HW, PEER_IP),
	      ARP_IPOIB_LEN - 1);
	er_check_dropped(ETH_DROP_ARP);
	ib_end();
}

static void test_R56_arp_passes_from_the_link(void **state)
{
	static const char *const m[] = {
		ARP(REQUEST, PEER_HW, PEER_IP, NO_HW, OWN_IP),
		ARP(REQUEST, FLAG_PEER, PEER_IP, BCAST_HW, OWN_IP),
		ARP(REQUEST, FLAG_PEER, PEER_IP, FLAG_OWN, OWN_IP),
		ARP(REPLY, PEER_HW, PEER_IP, OWN_HW, OWN_IP),
		ARP(REPLY, FLAG_PEER, PEER_IP, NO_HW, PEER_IP),
		ARP(REPLY, PEER_HW, PEER_IP, QP1, PEER_IP),
	};
	ib_gid bcast = rig_bcast();

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(m); i++) {
		const ib_gid *mgid = i % 2 ? NULL : &bcast;

		ib_rx(ETH_P_ARP4, m[i], ARP_IPOIB_LEN, mgid);
		assert_memory_equal(ib_got(hw(PEER_HW), hw(mgid ? BCAST_HW : OWN_HW), ETH_P_ARP4),
				    m[i], ARP_IPOIB_LEN);
		assert_int_equal(er.got[0].len, HLEN + ARP_IPOIB_LEN);
		er_clear();
	}
	ib_rx(ETH_P_RARP4, ARP(RREPLY, PEER_HW, PEER_IP, OWN_HW, OWN_IP), ARP_IPOIB_LEN, NULL);
	assert_memory_equal(ib_got(hw(PEER_HW), hw(OWN_HW), ETH_P_RARP4),
			    ARP(RREPLY, PEER_HW, PEER_IP, OWN_HW, OWN_IP), ARP_IPOIB_LEN);
	assert_int_equal(er_drops_sum(), 0);
	ib_end();
}

static void test_R56_arp_from_the_link_that_is_refused(void **state)
{
	static const char *const bad[] = {
		ARP(REQUEST, NO_HW, PEER_IP, NO_HW, OWN_IP),
		ARP(REQUEST, BCAST_HW, PEER_IP, NO_HW, OWN_IP),
		ARP(REPLY, QP1, PEER_IP, OWN_HW, OWN_IP),
		ARP(RREPLY, PEER_HW, PEER_IP, QP1, OWN_IP),
		"\0\x01\x08\0\x06\x04\0\x01\2\0\0\0\0\5\x0a\4\0\5\0\0\0\0\0\0\x0a\4"
		"\0\7" /* an ARP message of Ethernet, padded */
		"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
	};

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ib_rx(ETH_P_ARP4, bad[i], ARP_IPOIB_LEN, NULL);
	ib_rx(ETH_P_ARP4, ARP(REQUEST, PEER_HW, PEER_IP, NO_HW, OWN_IP), ARP_IPOIB_LEN - 1, NULL);
	assert_int_equal(er.ngot, 0);
	assert_int_equal(er_drops(ETH_DROP_RX_ARP), ARRAY_SIZE(bad) + 1);
	ib_end();
}

static unsigned int asks(void)
{
	er_run(NS_MSEC(10));
	er_clear();
	return er.r.s.sa.path_asks;
}

static void test_R50_only_an_arp_reply_to_us_asks_for_the_path(void **state)
{
	static const char *const not_to_us[] = {
		ARP(REQUEST, PEER_HW, PEER_IP, NO_HW, OWN_IP),
		ARP(REPLY, PEER_HW, PEER_IP, NO_HW, PEER_IP),
		ARP(REPLY, PEER_HW, PEER_IP, PEER_HW, PEER_IP),
	};
	unsigned int before;

	begin();
	before = asks();
	for (size_t i = 0; i < ARRAY_SIZE(not_to_us); i++)
		ib_rx(ETH_P_ARP4, not_to_us[i], ARP_IPOIB_LEN, NULL);
	assert_int_equal(asks(), before);
	ib_rx(ETH_P_ARP4, ARP(REPLY, PEER_HW, PEER_IP, FLAG_OWN, OWN_IP), ARP_IPOIB_LEN, NULL);
	assert_int_equal(asks(), before + 1);
	ib_end();
}

/* --- Neighbour Discovery on links of profile rfc4391 */

/*
 * Write a message with an address option of 24 octets, two of which are zero. @pad is the number of
 * zero octets before the address: 2, or 0 if the zero octets are after the address
 */
static size_t nd(uint8_t *m, uint8_t type, uint8_t opt, const char *lladdr, unsigned int pad)
{
	size_t fixed = nd_fixed_len(type);

	memset(m, 0, fixed + 24);
	m[0] = type;
	if (fixed >= 24)
		memcpy(m + 8, ll_peer, 16);
	m[fixed] = opt;
	m[fixed + 1] = 3;
	memcpy(m + fixed + 2 + pad, lladdr, 20);
	return fixed + 24;
}

static void make_group(const uint8_t group[16])
{
	const struct ipoib_link *l = er.r.link;
	ib_gid mgid;

	assert_int_equal(ipoib_mcast_mgid(l, IPOIB_IPV6, group, &mgid), 0);
	sa_group_make(&er.r.s.sa, &mgid, RIG_PKEY, IB_MTU_2048);
}

static const struct {
	uint8_t type, opt;
} messages[] = {
	{ ICMP6_RS, ND_OPT_SLLA }, { ICMP6_RA, ND_OPT_SLLA },	    { ICMP6_NS, ND_OPT_SLLA },
	{ ICMP6_NA, ND_OPT_TLLA }, { ICMP6_REDIRECT, ND_OPT_TLLA },
};

static void test_R58_nd_passes_to_the_link(void **state)
{
	uint8_t m[200], b[300], want[300];
	size_t n;

	begin();
	make_group(all_nodes);
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
		const char *lladdr = messages[i].type == ICMP6_REDIRECT ? PEER_HW : OWN_HW;
		const char *flags = messages[i].type == ICMP6_REDIRECT ? FLAG_PEER : FLAG_OWN;

		n = nd(m, messages[i].type, messages[i].opt, lladdr, 2);
		n = er_icmp6(want, er_ll_own, all_nodes, m, n);
		ib_tx(hw(ALL_NODES_HW), ETH_P_IPV6_, want, n);
		er_run(NS_SEC(1));
		check_sent(ETH_P_IPV6_, 0xffffff, want, n);
		/*
		 * The kernel's address has flags in its reserved octet. On the link this octet must
		 * be 0 (clause R46).
		 */
		n = nd(m, messages[i].type, messages[i].opt, flags, 2);
		n = er_icmp6(b, er_ll_own, all_nodes, m, n);
		ib_tx(hw(ALL_NODES_HW), ETH_P_IPV6_, b, n);
		check_sent(ETH_P_IPV6_, 0xffffff, want, n);
	}
	assert_int_equal(eth_if_stats(er.e)->nd_tx, 2 * ARRAY_SIZE(messages));
	ib_end();
}

static void test_R58_nd_passes_from_the_link(void **state)
{
	uint8_t m[200], b[300];
	ib_gid mgid;
	size_t n;

	begin();
	assert_int_equal(mgid_from_ipv6(&mgid, all_nodes, RIG_PKEY, 2), 0);
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
		n = nd(m, messages[i].type, messages[i].opt, FLAG_PEER, 2);
		n = er_icmp6(b, ll_peer, all_nodes, m, n);
		ib_rx(ETH_P_IPV6_, b, n, &mgid);
		assert_memory_equal(ib_got(hw(PEER_HW), hw(ALL_NODES_HW), ETH_P_IPV6_), b, n);
		assert_int_equal(er.got[0].len, HLEN + n);
		er_clear();
	}
	assert_int_equal(er_drops_sum(), 0);
	ib_end();
}

static void test_R58_nd_that_is_refused(void **state)
{
	static const char *const bad[] = { BCAST_HW, NO_HW, QP1 };
	uint8_t m[200], b[300];
	size_t n;

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		n = nd(m, ICMP6_NS, ND_OPT_SLLA, bad[i], 2);
		ib_tx(hw(SOL_PEER_HW), ETH_P_IPV6_, b, er_icmp6(b, er_ll_own, sol_peer, m, n));
		ib_rx(ETH_P_IPV6_, b, er_icmp6(b, ll_peer, er_ll_own, m, n), NULL);
	}
	/* the address option of Ethernet, which is shorter */
	n = nd(m, ICMP6_NS, ND_OPT_SLLA, OWN_HW, 2) - 16;
	m[25] = 1;
	ib_tx(hw(SOL_PEER_HW), ETH_P_IPV6_, b, er_icmp6(b, er_ll_own, sol_peer, m, n));
	ib_rx(ETH_P_IPV6_, b, er_icmp6(b, ll_peer, er_ll_own, m, n), NULL);
	/* wrong checksum */
	n = er_icmp6(b, ll_peer, er_ll_own, m, nd(m, ICMP6_NS, ND_OPT_SLLA, PEER_HW, 2));
	b[n - 1] ^= 1;
	ib_tx(hw(PEER_HW), ETH_P_IPV6_, b, n);
	ib_rx(ETH_P_IPV6_, b, n, NULL);
	assert_int_equal(er.nsent + er.ngot, 0);
	assert_int_equal(er_drops(ETH_DROP_ARP), ARRAY_SIZE(bad) + 2);
	assert_int_equal(er_drops(ETH_DROP_RX_ARP), ARRAY_SIZE(bad) + 2);
	ib_end();
}

/*
 * dnsmasq writes the two zero octets of the option after the address instead of before it. The
 * interface must correct the option, because a kernel would otherwise read an address that no port
 * has.
 */
static void test_R58_two_zero_octets_behind_the_address_are_understood(void **state)
{
	uint8_t m[200], b[300], want[300];
	size_t n;

	begin();
	n = er_icmp6(want, ll_peer, er_ll_own, m, nd(m, ICMP6_RA, ND_OPT_SLLA, PEER_HW, 2));
	er_icmp6(b, ll_peer, er_ll_own, m, nd(m, ICMP6_RA, ND_OPT_SLLA, PEER_HW, 0));
	ib_rx(ETH_P_IPV6_, b, n, NULL);
	assert_memory_equal(ib_got(hw(PEER_HW), hw(OWN_HW), ETH_P_IPV6_), want, n);
	er_icmp6(want, er_ll_own, ll_peer, m, nd(m, ICMP6_RA, ND_OPT_SLLA, OWN_HW, 2));
	er_icmp6(b, er_ll_own, ll_peer, m, nd(m, ICMP6_RA, ND_OPT_SLLA, OWN_HW, 0));
	ib_tx(hw(PEER_HW), ETH_P_IPV6_, b, n);
	check_sent(ETH_P_IPV6_, ER_PEER_QPN, want, n);
	ib_end();
}

static void test_R50_only_a_solicited_advertisement_asks_for_the_path(void **state)
{
	uint8_t m[200], b[300];
	unsigned int before;
	size_t n;

	begin();
	before = asks();
	n = nd(m, ICMP6_NA, ND_OPT_TLLA, PEER_HW, 2);
	ib_rx(ETH_P_IPV6_, b, er_icmp6(b, ll_peer, er_ll_own, m, n), NULL);
	assert_int_equal(asks(), before);
	m[4] = 0x60;
	ib_rx(ETH_P_IPV6_, b, er_icmp6(b, ll_peer, er_ll_own, m, n), NULL);
	assert_int_equal(asks(), before + 1);
	ib_end();
}

static unsigned int lines;

static void count_line(const struct log_sink *sink, enum log_level lvl, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

static void count_line(const struct log_sink *sink, enum log_level lvl, const char *fmt, va_list ap)
{
	lines += strstr(fmt, "router advertisement with MTU") != NULL;
}

static void test_R36_mtu_option_larger_than_the_link_is_logged(void **state)
{
	static const struct log_sink log = { count_line, NULL, LOG_LVL_DEBUG };
	uint8_t m[16 + 8] = { ICMP6_RA, [16] = ND_OPT_MTU, 1 }, b[100];
	size_t n;

	er_log = &log;
	begin();
	be32_put(m + 20, 9000);
	n = er_icmp6(b, ll_peer, er_ll_own, m, sizeof(m));
	ib_rx(ETH_P_IPV6_, b, n, NULL);
	assert_memory_equal(ib_got(hw(PEER_HW), hw(OWN_HW), ETH_P_IPV6_), b, n);
	assert_int_equal(lines, 1);
	ib_end();
	er_log = NULL;
}

/* --- all profiles */

/*
 * The packet that the interface sends to the link for a message of the kernel, once for the
 * Ethernet shape and once for the InfiniBand shape. The two packets must have the same octets.
 */
struct wire {
	uint8_t data[2][300];
	size_t len[2];
	uint32_t qpn[2];
};

static size_t put_arp(uint8_t *b, uint16_t op, const uint8_t *sha, const uint8_t *tha)
{
	bool ib = er_shape == ETH_SHAPE_INFINIBAND;
	struct arp_pkt a = { .hrd = ib ? ARP_HRD_INFINIBAND : ARP_HRD_ETHER,
			     .pro = ETH_P_IPV4,
			     .hln = ib ? 20 : 6,
			     .pln = 4,
			     .op = op };

	memcpy(a.sha, sha, a.hln);
	memcpy(a.spa, er_ip_own, 4);
	memcpy(a.tha, tha, a.hln);
	memcpy(a.tpa, er_ip_peer, 4);
	return arp_encode(b, &a);
}

static size_t put_nd(uint8_t *b, uint8_t type, uint8_t opt, const uint8_t *lladdr,
		     const uint8_t *dst)
{
	bool ib = er_shape == ETH_SHAPE_INFINIBAND;
	size_t fixed = nd_fixed_len(type), n = fixed + (ib ? 24 : 8);
	uint8_t m[100] = { type };

	if (type == ICMP6_NA)
		m[4] = 0x60;
	if (fixed >= 24)
		memcpy(m + 8, type == ICMP6_NA ? er_ll_own : ll_peer, 16);
	m[fixed] = opt;
	m[fixed + 1] = ib ? 3 : 1;
	memcpy(m + fixed + (ib ? 4 : 2), lladdr, ib ? 20 : 6);
	return er_icmp6(b, er_ll_own, dst, m, n);
}

/*
 * Let the peer send the address request of the link's profile (IBARP, ARP or ND), so that the link
 * learns the peer's address, and its Q_Key if the request has one.
 */
static void peer_asks(void)
{
	struct nd_port port = { .lladdr = er_peer_addr(ER_PEER, ER_PEER_QPN),
				.has_qkey = true,
				.qkey = PEER_QKEY,
				.eui64 = 0x1122334455667788 };
	const struct ipoib_profile *p = ipoib_link_profile(er.r.link);
	struct ibarp_pkt ib = { .op = ARP_OP_REQUEST, .sender = port };
	ib_gid bcast = *ipoib_link_broadcast(er.r.link);
	uint8_t m[24 + IPOIB_ND_OPT_MAX] = { ICMP6_NS }, b[200];

	memcpy(ib.spa, er_ip_peer, 4);
	memcpy(ib.tpa, er_ip_own, 4);
	memcpy(m + 8, er_ll_own, 16);
	p->nd.encode(m + 24, ND_OPT_SLLA, &port);
	if (p->resolve == IPOIB_RESOLVE_IBARP) {
		ibarp_encode(b, &ib);
		ib_rx(ETH_P_ARP4, b, IBARP_LEN, &bcast);
	} else if (p->resolve == IPOIB_RESOLVE_ARP) {
		ib_rx(ETH_P_ARP4, ARP(REQUEST, PEER_HW, PEER_IP, NO_HW, OWN_IP), ARP_IPOIB_LEN,
		      &bcast);
	} else {
		ib_rx(ETH_P_IPV6_, b, er_icmp6(b, ll_peer, er_ll_own, m, 24u + p->nd.len), NULL);
	}
	assert_int_equal(er.ngot, 1);
	er_clear();
}

enum { ASK, ASK_ONE, ANSWER, ANNOUNCE, SOLICIT, ADVERTISE, REDIRECT_TO_PEER, NMESSAGES };

static void send(int which, const uint8_t *own, const uint8_t *peer, const uint8_t *all,
		 const uint8_t *nobody, const uint8_t *sol)
{
	bool ib = er_shape == ETH_SHAPE_INFINIBAND;
	const uint8_t *dst = all;
	uint16_t type = ETH_P_ARP4;
	uint8_t b[300];
	size_t n = 0;

	switch (which) {
	case ASK:
		n = put_arp(b, ARP_OP_REQUEST, own, nobody);
		break;
	case ASK_ONE:
		n = put_arp(b, ARP_OP_REQUEST, own, nobody);
		dst = peer;
		break;
	case ANSWER:
		n = put_arp(b, ARP_OP_REPLY, own, peer);
		dst = peer;
		break;
	case ANNOUNCE:
		n = put_arp(b, ARP_OP_REPLY, own, nobody);
		break;
	case SOLICIT:
		n = put_nd(b, ICMP6_NS, ND_OPT_SLLA, own, sol_peer);
		dst = sol;
		break;
	case ADVERTISE:
		n = put_nd(b, ICMP6_NA, ND_OPT_TLLA, own, ll_peer);
		dst = peer;
		break;
	case REDIRECT_TO_PEER:
		n = put_nd(b, ICMP6_REDIRECT, ND_OPT_TLLA, peer, ll_peer);
		dst = peer;
		break;
	}
	if (which >= SOLICIT)
		type = ETH_P_IPV6_;
	er_tx_pkt(ib ? ib_frame(own, dst, type, b, n) : er_frame(dst, own, type, b, n));
	er_run(NS_SEC(1));
}

static void wire_of(struct wire *w, const struct ipoib_profile *p, enum eth_shape shape, int which)
{
	static const uint8_t sol_mac[6] = { 0x33, 0x33, 0xff, 0, 0, 7 }, zero[20];
	struct ipoib_lladdr a = er_peer_addr(ER_PEER, ER_PEER_QPN);
	uint8_t token[6];

	er_shape = shape;
	er_profile = p;
	er_init();
	rig_peer(&er.r, ER_PEER);
	make_group(sol_peer);
	peer_asks();
	eth_token(token, &a, RIG_PKEY);
	if (shape == ETH_SHAPE_INFINIBAND)
		send(which, hw(OWN_HW), hw(PEER_HW), hw(BCAST_HW), zero, hw(SOL_PEER_HW));
	else
		send(which, er.mac, token, er_bcast_mac, zero, sol_mac);
	w->len[shape] = 0;
	if (er.nsent) {
		assert_int_equal(er.nsent, 1);
		assert_true(er.sent[0].len <= sizeof(w->data[shape]));
		memcpy(w->data[shape], er.sent[0].data, er.sent[0].len);
		w->len[shape] = er.sent[0].len;
		w->qpn[shape] = er.sent[0].dest_qpn;
	}
	ib_end();
}

static void test_wire_of_every_profile_does_not_depend_on_the_shape(void **state)
{
	const struct ipoib_profile *p;
	struct wire w;

	for (unsigned int i = 0; (p = ipoib_profile_at(i)); i++)
		for (int k = 0; k < NMESSAGES; k++) {
			wire_of(&w, p, ETH_SHAPE_ETHERNET, k);
			wire_of(&w, p, ETH_SHAPE_INFINIBAND, k);
			if (w.len[0] != w.len[1] || w.qpn[0] != w.qpn[1] ||
			    memcmp(w.data[0], w.data[1], w.len[0]) != 0)
				fail_msg("%s: message %d differs", p->name, k);
			/* A message may be dropped only if it is ARP and the profile has no ARP. */
			if (!w.len[0] && !(p->resolve == IPOIB_RESOLVE_ND && k < SOLICIT))
				fail_msg("%s: message %d was not sent", p->name, k);
		}
}

/*
 * Check that packets to the peer have the Q_Key @qkey, which the peer advertised (clauses P17 and
 * V14).
 */
static void check_qkey(uint32_t qkey)
{
	uint8_t b[100];

	ib_tx(hw(PEER_HW), ETH_P_IPV6_, b, er_ip6(b, er_ll_own, ll_peer, 59, 64, "data", 4));
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].dest_qpn, ER_PEER_QPN);
	assert_int_equal(er.sent[0].qkey, qkey);
	er_clear();
}

/* --- encaparp00 */

static void rx_ibarp(uint16_t op, const struct ipoib_lladdr *sender,
		     const struct ipoib_lladdr *target, bool mcast)
{
	struct ibarp_pkt a = {
		.op = op,
		.sender = { .lladdr = *sender, .has_qkey = true, .qkey = PEER_QKEY },
		.target = { .lladdr = *target, .has_qkey = true, .qkey = PEER_QKEY },
	};
	ib_gid bcast = rig_bcast();
	uint8_t b[IBARP_LEN];

	memcpy(a.spa, op == ARP_OP_REQUEST ? er_ip_peer : er_ip_own, 4);
	memcpy(a.tpa, op == ARP_OP_REQUEST ? er_ip_own : er_ip_peer, 4);
	ibarp_encode(b, &a);
	ib_rx(ETH_P_ARP4, b, sizeof(b), mcast ? &bcast : NULL);
}

static void test_P16_request_of_a_peer_becomes_arp_of_20_octets(void **state)
{
	struct ipoib_lladdr peer = er_peer_addr(ER_PEER, ER_PEER_QPN), none = { 0 };

	ib_begin("encaparp00");
	rx_ibarp(ARP_OP_REQUEST, &peer, &none, true);
	assert_memory_equal(ib_got(hw(PEER_HW), hw(BCAST_HW), ETH_P_ARP4),
			    ARP(REQUEST, PEER_HW, PEER_IP, NO_HW, OWN_IP), ARP_IPOIB_LEN);
	er_clear();
	check_qkey(PEER_QKEY);
	ib_end();
}

static void test_P27_reply_of_a_peer_becomes_arp_of_20_octets(void **state)
{
	struct ipoib_lladdr peer = er_peer_addr(ER_PEER, ER_PEER_QPN);
	unsigned int before;

	ib_begin("encaparp00");
	before = asks();
	rx_ibarp(ARP_OP_REPLY, &er.own, &peer, false);
	assert_memory_equal(ib_got(hw(PEER_HW), hw(OWN_HW), ETH_P_ARP4),
			    ARP(REPLY, PEER_HW, PEER_IP, OWN_HW, OWN_IP), ARP_IPOIB_LEN);
	assert_int_equal(asks(), before + 1);
	check_qkey(PEER_QKEY);
	ib_end();
}

static void test_P16_ibarp_that_is_refused(void **state)
{
	struct ipoib_lladdr bad = er_peer_addr(ER_PEER, 1), none = { 0 };

	ib_begin("encaparp00");
	rx_ibarp(ARP_OP_REQUEST, &none, &none, true);
	rx_ibarp(ARP_OP_REQUEST, &bad, &none, true);
	rx_ibarp(ARP_OP_REPLY, &er.own, &bad, false);
	assert_int_equal(er.ngot, 0);
	assert_int_equal(er_drops(ETH_DROP_RX_ARP), 3);
	ib_tx(hw(BCAST_HW), ETH_P_ARP4, ARP(REQUEST, NO_HW, OWN_IP, NO_HW, PEER_IP), ARP_IPOIB_LEN);
	ib_tx(hw(PEER_HW), ETH_P_ARP4, ARP(REPLY, OWN_HW, OWN_IP, QP1, PEER_IP), ARP_IPOIB_LEN);
	ib_tx(hw(BCAST_HW), ETH_P_ARP4, ARP(REQUEST, OWN_HW, OWN_IP, NO_HW, PEER_IP),
	      ARP_IPOIB_LEN - 1);
	assert_int_equal(er_drops(ETH_DROP_ARP), 3);
	assert_int_equal(er.nsent, 0);
	ib_end();
}

/*
 * The peer advertises a Q_Key that has bit 31, and that is not the link's Q_Key. Packets that the
 * interface sends cannot have such a Q_Key, so the peer's request must be dropped
 */
static void test_P17_qkey_that_cannot_be_used(void **state)
{
	struct ibarp_pkt a = { .op = ARP_OP_REQUEST,
			       .sender = { .lladdr = er_peer_addr(ER_PEER, ER_PEER_QPN),
					   .qkey = 0x80000666 } };
	ib_gid bcast = rig_bcast();
	uint8_t b[IBARP_LEN];

	ib_begin("encaparp00");
	ibarp_encode(b, &a);
	ib_rx(ETH_P_ARP4, b, sizeof(b), &bcast);
	assert_int_equal(er.ngot, 0);
	assert_int_equal(er_drops(ETH_DROP_RX_QKEY), 1);
	ib_end();
}

/*
 * A peer has been idle for so long that the link deletes the values that the peer has advertised,
 * such as its Q_Key. The kernel still has the peer's address. If the kernel used this address,
 * packets to the peer would have a wrong Q_Key. So the interface must report the peer by the
 * callback .lladdr_gone. The owner of the interface then makes the kernel resolve the address
 * again.
 */
static void test_V14_peer_that_is_forgotten_is_reported(void **state)
{
	static const char *const profiles[] = { "encaparp00", "v6ib00" };
	struct ipoib_lladdr a = er_peer_addr(ER_PEER, ER_PEER_QPN);

	for (size_t i = 0; i < ARRAY_SIZE(profiles); i++) {
		ib_begin(profiles[i]);
		peer_asks();
		er_run(NS_SEC(550));
		check_qkey(PEER_QKEY); /* the peer is in use, so its values must be kept */
		er_run(NS_SEC(550));
		assert_int_equal(er.nlladdr_gone, 0);
		check_qkey(PEER_QKEY);
		er_run(NS_SEC(700));
		assert_int_equal(er.nlladdr_gone, 1);
		assert_int_equal(er.lladdr_gone.qpn, a.qpn);
		assert_true(ib_gid_equal(&er.lladdr_gone.gid, &a.gid));
		assert_null(ipoib_neigh_find(er.r.link, &a));
		assert_int_equal(er.ngone, 0);
		ib_end();
	}
}

/* --- options of Neighbour Discovery in other formats */

static void check_option_from_link(const struct ipoib_profile *p, unsigned int units)
{
	struct nd_port port = { .lladdr = er_peer_addr(ER_PEER, ER_PEER_QPN),
				.has_qkey = true,
				.qkey = PEER_QKEY };
	uint8_t m[24 + 40] = { ICMP6_NA, [4] = 0x60 }, b[200], want[200];
	size_t n;

	memcpy(m + 8, ll_peer, 16);
	p->nd.encode(m + 24, ND_OPT_TLLA, &port);
	m[25] = (uint8_t)units;
	if (p->nd.has_lid)
		/* flags of v6ib00, which are in the octet that RFC 4391 reserves */
		m[28] = ND_CAP_RC;
	ib_rx(ETH_P_IPV6_, b, er_icmp6(b, ll_peer, er_ll_own, m, 24 + 8 * units), NULL);
	n = nd(m, ICMP6_NA, ND_OPT_TLLA, PEER_HW, 2);
	m[4] = 0x60;
	n = er_icmp6(want, ll_peer, er_ll_own, m, n);
	assert_memory_equal(ib_got(hw(PEER_HW), hw(OWN_HW), ETH_P_IPV6_), want, n);
	assert_int_equal(er.got[0].len, HLEN + n);
	er_clear();
	er_run(NS_MSEC(10));
	check_qkey(PEER_QKEY);
}

static void test_P26_V10_options_from_the_link_become_those_of_20_octets(void **state)
{
	static const struct {
		const char *profile;
		unsigned int units;
	} forms[] = { { "encaparp00", 5 }, { "v6ib00", 4 }, { "v6ib00", 5 } };

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		ib_begin(forms[i].profile);
		check_option_from_link(er_profile, forms[i].units);
		ib_end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R56_arp_passes_to_the_link),
		cmocka_unit_test(test_R46_reserved_octets_of_arp),
		cmocka_unit_test(test_R56_arp_that_is_refused),
		cmocka_unit_test(test_R56_arp_passes_from_the_link),
		cmocka_unit_test(test_R56_arp_from_the_link_that_is_refused),
		cmocka_unit_test(test_R50_only_an_arp_reply_to_us_asks_for_the_path),
		cmocka_unit_test(test_R58_nd_passes_to_the_link),
		cmocka_unit_test(test_R58_nd_passes_from_the_link),
		cmocka_unit_test(test_R58_nd_that_is_refused),
		cmocka_unit_test(test_R58_two_zero_octets_behind_the_address_are_understood),
		cmocka_unit_test(test_R50_only_a_solicited_advertisement_asks_for_the_path),
		cmocka_unit_test(test_R36_mtu_option_larger_than_the_link_is_logged),
		cmocka_unit_test(test_wire_of_every_profile_does_not_depend_on_the_shape),
		cmocka_unit_test(test_P16_request_of_a_peer_becomes_arp_of_20_octets),
		cmocka_unit_test(test_P27_reply_of_a_peer_becomes_arp_of_20_octets),
		cmocka_unit_test(test_P16_ibarp_that_is_refused),
		cmocka_unit_test(test_P17_qkey_that_cannot_be_used),
		cmocka_unit_test(test_V14_peer_that_is_forgotten_is_reported),
		cmocka_unit_test(test_P26_V10_options_from_the_link_become_those_of_20_octets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

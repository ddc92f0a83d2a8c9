/* SPDX-License-Identifier: BSD-2-Clause */
#include "text/print.h"

#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "util/list.h"
#include "util/prng.h"
#include "wire/arp.h"
#include "crc/crc.h"
#include "wire/ibarp.h"

static void assert_gid_text(const uint16_t w[8], const char *want)
{
	char s[PRINT_GID_LEN];
	ib_gid g, back;

	for (int i = 0; i < 8; i++)
		be16_put(g.raw + 2 * i, w[i]);
	assert_string_equal(print_gid(s, sizeof(s), &g), want);
	assert_int_equal(print_gid_parse(&back, s), 0);
	assert_memory_equal(&back, &g, 16);
}

/* The rules of RFC 5952 §4, most of them with the RFC's own examples. */
static void test_gid_in_the_form_of_rfc5952(void **state)
{
	/* §4.1 no leading zeros */
	assert_gid_text((uint16_t[]){ 0x2001, 0xdb8, 1, 2, 3, 4, 5, 6 }, "2001:db8:1:2:3:4:5:6");
	/* §4.2.1 as short as possible */
	assert_gid_text((uint16_t[]){ 0x2001, 0xdb8, 0, 0, 0, 0, 2, 1 }, "2001:db8::2:1");
	assert_gid_text((uint16_t[]){ 0, 0, 0, 0, 0, 0, 0, 0 }, "::");
	assert_gid_text((uint16_t[]){ 0, 0, 0, 0, 0, 0, 0, 1 }, "::1");
	assert_gid_text((uint16_t[]){ 1, 0, 0, 0, 0, 0, 0, 0 }, "1::");
	/* §4.2.2: "::" must not be used for a single group of zeros. */
	assert_gid_text((uint16_t[]){ 0x2001, 0xdb8, 0, 1, 1, 1, 1, 1 }, "2001:db8:0:1:1:1:1:1");
	/*
	 * §4.2.3: "::" replaces the longest run of zeros; of several longest runs, the first one.
	 */
	assert_gid_text((uint16_t[]){ 0x2001, 0, 0, 1, 0, 0, 0, 1 }, "2001:0:0:1::1");
	assert_gid_text((uint16_t[]){ 0x2001, 0xdb8, 0, 0, 1, 0, 0, 1 }, "2001:db8::1:0:0:1");
	assert_gid_text((uint16_t[]){ 0, 0, 1, 0, 0, 0, 1, 0 }, "0:0:1::1:0");
	assert_gid_text((uint16_t[]){ 0, 0, 1, 2, 3, 4, 0, 0 }, "::1:2:3:4:0:0");
	/* §4.3: hexadecimal digits are lower case. These are GIDs as uipoib's fabrics have them. */
	assert_gid_text((uint16_t[]){ 0xfe80, 0, 0, 0, 2, 0xc903, 0, 1 }, "fe80::2:c903:0:1");
	assert_gid_text((uint16_t[]){ 0xff12, 0x401b, 0xffff, 0, 0, 0, 0xffff, 0xffff },
			"ff12:401b:ffff::ffff:ffff");
}

static void test_gid_there_and_back_random(void **state)
{
	struct prng r;

	prng_seed(&r, 1);
	for (int round = 0; round < 20000; round++) {
		char s[PRINT_GID_LEN];
		ib_gid g, back;

		for (int i = 0; i < 8; i++)
			be16_put(g.raw + 2 * i, prng_below(&r, 2) ? 0 : (uint16_t)prng_u64(&r));
		print_gid(s, sizeof(s), &g);
		assert_int_equal(print_gid_parse(&back, s), 0);
		assert_memory_equal(&back, &g, 16);
		assert_null(strstr(s, ":::"));
	}
}

static void test_gid_parse_refuses(void **state)
{
	static const char *const bad[] = { "",		":",	    "1:2:3:4:5:6:7",	 "1::2::3",
					   "12345::",	"fe80::1 ", "1:2:3:4:5:6:7:8:9", "g::",
					   "fe80::1/64" };
	ib_gid g, was;

	memset(&was, 0x5a, sizeof(was));
	g = was;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(print_gid_parse(&g, bad[i]), -EINVAL);
	assert_memory_equal(&g, &was, sizeof(g));
}

static void test_lladdr_as_ip_link_shows_it(void **state)
{
	const struct ipoib_lladdr a = { .flags = 0x80,
					.qpn = 0x404,
					.gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT,
							 0x0002c90300000001ull) };
	char s[64];

	assert_string_equal(print_lladdr(s, sizeof(s), &a),
			    "80:00:04:04:fe:80:00:00:00:00:00:00:00:02:c9:03:00:00:00:01");
}

static void test_headers_one_line_each(void **state)
{
	const struct ib_lrh lrh = { .lnh = 2, .dlid = 4, .slid = 2, .pkt_len = 25 };
	const struct ib_lrh mc = { .vl = 1, .sl = 1, .lnh = 3, .dlid = 0xc000, .slid = 2 };
	const struct ib_grh grh = {
		.ip_ver = 6,
		.nxt_hdr = 0x1b,
		.tclass = 1,
		.flow_label = 0xabc,
		.pay_len = 80,
		.sgid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, 1),
		.dgid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, 2),
	};
	const struct ib_bth bth = {
		.opcode = 0x64, .pad = 2, .pkey = 0xffff, .dest_qp = 0x48, .psn = 7
	};
	const struct ib_deth deth = { .qkey = 0x80010000, .src_qp = 1 };
	char s[PRINT_LINE];

	assert_string_equal(print_lrh(s, sizeof(s), &lrh), "LRH VL 0 SL 0 DLID 4 SLID 2 PktLen 25");
	assert_string_equal(print_lrh(s, sizeof(s), &mc),
			    "LRH VL 1 SL 1 DLID 0xc000 SLID 2 PktLen 0");
	assert_string_equal(
		print_grh(s, sizeof(s), &grh),
		"GRH TClass 1 FlowLabel 0x00abc PayLen 80 HopLmt 0 SGID fe80::1 DGID fe80::2");
	assert_string_equal(print_bth(s, sizeof(s), &bth),
			    "BTH 0x64 UD SEND-only P_Key 0xffff DestQP 0x000048 PSN 7 PadCnt 2");
	assert_string_equal(print_deth(s, sizeof(s), &deth),
			    "DETH Q_Key 0x80010000 SrcQP 0x000001");
}

/* ICMP echo request 10.4.0.1 > 10.4.0.4 behind an IPoIB encapsulation header */
static const uint8_t ping[] = { 0x08, 0x00, 0x00, 0x00, 0x45, 0x00, 0x00, 0x1c, 0x00, 0x00, 0x40,
				0x00, 0x40, 0x01, 0x26, 0xdb, 10,   4,	  0,	1,    10,   4,
				0,    4,    8,	  0,	0xf7, 0xff, 0,	  0,	0,    0 };

static void test_ipoib_ipv4(void **state)
{
	uint8_t p[sizeof(ping) + 20];
	char s[PRINT_LINE];

	assert_string_equal(print_ipoib(s, sizeof(s), ping, sizeof(ping)),
			    "IPv4 10.4.0.1 > 10.4.0.4 ICMP echo request");

	memset(p, 0, sizeof(p));
	memcpy(p, ping, 24);
	p[4 + 3] = 20 + 8;
	p[4 + 9] = 17;
	be16_put(p + 24, 68);
	be16_put(p + 26, 67);
	be16_put(p + 28, 8);
	assert_string_equal(print_ipoib(s, sizeof(s), p, 4 + 28),
			    "IPv4 10.4.0.1 > 10.4.0.4 UDP 68 > 67 length 8");
	p[4 + 3] = 40;
	p[4 + 9] = 6;
	be32_put(p + 28, 1);
	be32_put(p + 32, 2);
	p[24 + 13] = 0x12;
	be16_put(p + 24 + 14, 100);
	assert_string_equal(print_ipoib(s, sizeof(s), p, 4 + 40),
			    "IPv4 10.4.0.1 > 10.4.0.4 TCP 68 > 67 seq 1 ack 2 flags SA window 100");
	be16_put(p + 4 + 6, 185);
	assert_string_equal(print_ipoib(s, sizeof(s), p, 4 + 40),
			    "IPv4 10.4.0.1 > 10.4.0.4 fragment at 1480 protocol 6");
}

static void test_ipoib_arp(void **state)
{
	struct arp_pkt a = { .hrd = 32,
			     .pro = 0x0800,
			     .hln = 20,
			     .pln = 4,
			     .op = 1,
			     .spa = { 10, 4, 0, 1 },
			     .tpa = { 10, 4, 0, 4 } };
	uint8_t p[4 + ARP_IPOIB_LEN];
	char s[PRINT_LINE];

	a.sha[3] = 0x48;
	ipoib_hdr_encode(p, ETH_P_ARP4);
	arp_encode(p + 4, &a);
	assert_string_equal(print_ipoib(s, sizeof(s), p, sizeof(p)),
			    "ARP who-has 10.4.0.4 tell 10.4.0.1 at "
			    "00:00:00:48:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00");
	a.op = ARP_OP_REPLY;
	arp_encode(p + 4, &a);
	assert_string_equal(print_ipoib(s, sizeof(s), p, sizeof(p)),
			    "ARP reply 10.4.0.1 at "
			    "00:00:00:48:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00");
	assert_string_equal(print_ipoib(s, sizeof(s), p, sizeof(p) - 1), "ARP, malformed");
}

static void test_ipoib_neighbour_solicitation(void **state)
{
	uint8_t p[4 + 40 + 24 + 24] = { 0 };
	const struct ipoib_lladdr a = { .qpn = 0x48 };
	char s[PRINT_LINE];

	ipoib_hdr_encode(p, ETH_P_IPV6_);
	p[4] = 0x60;
	p[4 + 5] = 48;
	p[4 + 6] = 58;
	p[4 + 8] = 0xfe;
	p[4 + 9] = 0x80;
	p[4 + 23] = 1;
	p[4 + 24] = 0xff;
	p[4 + 25] = 0x02;
	p[4 + 39] = 2;
	p[44] = ICMP6_NS;
	p[44 + 8] = 0xfe;
	p[44 + 9] = 0x80;
	p[44 + 23] = 4;
	nd_opt_lladdr_encode(p + 68, ND_OPT_SLLA, &a);
	assert_string_equal(print_ipoib(s, sizeof(s), p, sizeof(p)),
			    "IPv6 fe80::1 > ff02::2 ICMPv6 neighbor solicitation target fe80::4 "
			    "source 00:00:00:48:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00");
}

/*
 * Packets of profile v6ib00 have no header before the IPv6 header, and ND options with LID, flags,
 * QPN, Q_Key and GID.
 */
static void test_V10_V12_V20_ipv6_without_a_header(void **state)
{
	uint8_t p[40 + 24 + 32] = { 0x60, [5] = 56, [6] = 58 };
	struct nd_port a = { .lladdr.qpn = 0x48, .lid = 5, .qkey = 0x80004391 };
	char s[PRINT_LINE];

	p[8] = 0xfe;
	p[9] = 0x80;
	p[23] = 1;
	p[24] = 0xff;
	p[25] = 0x02;
	p[39] = 2;
	p[40] = ICMP6_NS;
	p[48] = 0xfe;
	p[49] = 0x80;
	p[63] = 4;
	a.lladdr.gid.raw[0] = 0xfe;
	a.lladdr.gid.raw[1] = 0x80;
	a.lladdr.gid.raw[15] = 9;
	nd_opt_link_info_encode(p + 64, ND_OPT_SLLA, &a);
	p[64 + 4] = 0x48;
	assert_string_equal(print_ipoib(s, sizeof(s), p, sizeof(p)),
			    "IPv6 fe80::1 > ff02::2 ICMPv6 neighbor solicitation target fe80::4 "
			    "source LID 5 QPN 0x000048 Q_Key 0x80004391 GID fe80::9 RC QPN");
	/*
	 * A packet that ends within the IPv6 header is taken for one with an encapsulation header.
	 * So its first octets are printed as an EtherType.
	 */
	assert_string_equal(print_ipoib(s, sizeof(s), p, 39), "ethertype 0x6000, 35 octets");
}

/*
 * In profile encaparp00, Reserved16 comes before the EtherType. An IBARP packet has the EtherType
 * of IPv4. With the EtherType of ARP, it must be printed in the same way.
 */
static void test_P2_P20_ibarp_in_words(void **state)
{
	struct ibarp_pkt a = { .op = ARP_OP_REQUEST,
			       .spa = { 10, 4, 0, 1 },
			       .tpa = { 10, 4, 0, 4 } };
	uint8_t p[4 + IBARP_LEN] = { 0 };
	char s[PRINT_LINE];

	a.sender.lladdr.qpn = 0x48;
	a.sender.qkey = 0x80000b1b;
	a.sender.eui64 = 0x2c90300000005;
	a.sender.lladdr.gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, 0x2c90300000005);
	a.target = a.sender;
	a.target.lladdr.qpn = 0x77;
	for (unsigned int type = ETH_P_IPV4; type <= ETH_P_ARP4; type += ETH_P_ARP4 - ETH_P_IPV4) {
		be16_put(p + 2, (uint16_t)type);
		a.op = ARP_OP_REQUEST;
		ibarp_encode(p + 4, &a);
		assert_string_equal(
			print_ipoib(s, sizeof(s), p, sizeof(p)),
			"IBARP who-has 10.4.0.4 tell 10.4.0.1 at EUI-64 0002c90300000005 "
			"QPN 0x000048 Q_Key 0x80000b1b GID fe80::2:c903:0:5");
		a.op = ARP_OP_REPLY;
		ibarp_encode(p + 4, &a);
		assert_string_equal(print_ipoib(s, sizeof(s), p, sizeof(p)),
				    "IBARP reply to 10.4.0.1 10.4.0.4 at EUI-64 0002c90300000005 "
				    "QPN 0x000077 Q_Key 0x80000b1b GID fe80::2:c903:0:5");
	}
	assert_string_equal(print_ipoib(s, sizeof(s), p, 83), "IBARP, malformed");
	memcpy(p + 4, ping + 4, sizeof(ping) - 4);
	be16_put(p + 2, ETH_P_IPV4);
	assert_non_null(strstr(print_ipoib(s, sizeof(s), p, sizeof(ping)), "ICMP echo request"));
	be16_put(p + 2, ETH_P_RARP4);
	assert_string_equal(print_ipoib(s, sizeof(s), p, 8), "ethertype 0x0000, 4 octets");
}

static void test_P14_option_in_words(void **state)
{
	uint8_t p[4 + 40 + 24 + 40] = { [3] = 0xdd, [4] = 0x60, [9] = 64, [10] = 58 };
	struct nd_port a = { .lladdr.qpn = 0x48, .eui64 = 5, .qkey = 0x80004391 };
	char s[PRINT_LINE];

	p[2] = 0x86;
	p[44] = ICMP6_NA;
	a.lladdr.gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, 5);
	nd_opt_ibarp_encode(p + 68, ND_OPT_TLLA, &a);
	assert_string_equal(print_ipoib(s, sizeof(s), p, sizeof(p)),
			    "IPv6 :: > :: ICMPv6 neighbor advertisement target :: target EUI-64 "
			    "0000000000000005 QPN 0x000048 Q_Key 0x80004391 GID fe80::5");
}

static void test_ipoib_other_type(void **state)
{
	const uint8_t p[] = { 0x88, 0xcc, 0, 0, 1, 2, 3 };
	char s[PRINT_LINE];

	assert_string_equal(print_ipoib(s, sizeof(s), p, sizeof(p)), "ethertype 0x88cc, 3 octets");
	assert_string_equal(print_ipoib(s, sizeof(s), p, 3), "3 octets, less than an IPoIB header");
}

/*
 * Each truncated packet is in a heap block of its exact length, so that the sanitizer notices reads
 * beyond the end.
 */
static void test_ipoib_truncated(void **state)
{
	char s[PRINT_LINE];

	for (size_t len = 0; len < sizeof(ping); len++) {
		uint8_t *p = malloc(len ? len : 1);

		assert_non_null(p);
		memcpy(p, ping, len);
		print_ipoib(s, sizeof(s), p, len);
		assert_null(strstr(s, "echo request"));
		if (len >= 24)
			assert_non_null(strstr(s, "malformed: header 20, total 28"));
		free(p);
	}
}

static size_t make_packet(uint8_t *buf, bool grh)
{
	const struct ib_ud_hdr h = {
		.lrh = { .dlid = 4, .slid = 2 },
		.has_grh = grh,
		.grh = { .ip_ver = 6, .nxt_hdr = 0x1b, .hop_limit = 1 },
		.bth = { .opcode = 0x64, .pkey = 0xffff, .dest_qp = 0x49 },
		.deth = { .qkey = 0xb1b, .src_qp = 0x48 },
	};
	size_t n = ib_ud_hdr_encode(buf, &h, sizeof(ping));
	uint32_t icrc;
	uint16_t vcrc;

	memcpy(buf + n, ping, sizeof(ping));
	n += sizeof(ping);
	icrc = crc_icrc(buf, n);
	/* The CRCs are the only little-endian fields of a packet, so write the low octet first. */
	for (unsigned int i = 0; i < 4; i++)
		buf[n + i] = (uint8_t)(icrc >> 8 * i);
	vcrc = crc_vcrc(buf, n + 4);
	buf[n + 4] = (uint8_t)vcrc;
	buf[n + 5] = (uint8_t)(vcrc >> 8);
	return n + 6;
}

static void test_packet_lines(void **state)
{
	char s[4 * PRINT_LINE];
	uint8_t buf[200];
	size_t n = make_packet(buf, false);

	print_packet(s, sizeof(s), buf, n);
	assert_non_null(strstr(s,
			       "LRH VL 0 SL 0 DLID 4 SLID 2 PktLen 16\n"
			       "BTH 0x64 UD SEND-only P_Key 0xffff DestQP 0x000049 PSN 0 PadCnt 0\n"
			       "DETH Q_Key 0x00000b1b SrcQP 0x000048\n"
			       "IPv4 10.4.0.1 > 10.4.0.4 ICMP echo request\n"
			       "ICRC "));
	assert_non_null(strstr(s, " ok VCRC "));
	assert_string_equal(s + strlen(s) - 4, " ok\n");

	buf[n - 7] ^= 1;
	print_packet(s, sizeof(s), buf, n);
	assert_non_null(strstr(s, " wrong VCRC "));
	assert_non_null(strstr(s, " wrong\n"));

	make_packet(buf, true);
	print_packet(s, sizeof(s), buf, n + 40);
	assert_non_null(
		strstr(s, "\nGRH TClass 0 FlowLabel 0x00000 PayLen 56 HopLmt 1 SGID :: DGID ::\n"));
}

static void test_packet_to_qp1_is_a_mad(void **state)
{
	const struct ib_ud_hdr h = { .bth = { .opcode = 0x64, .dest_qp = 1 } };
	uint8_t buf[28 + 256 + 6] = { 0 };
	uint8_t mad[256] = { 1, 3, 2, 1 };
	char s[4 * PRINT_LINE], line[PRINT_LINE];

	memcpy(buf + ib_ud_hdr_encode(buf, &h, 256), mad, 256);
	print_packet(s, sizeof(s), buf, sizeof(buf));
	print_mad(line, sizeof(line), mad, sizeof(mad));
	assert_non_null(strstr(s, line));
}

static void test_packet_truncated(void **state)
{
	char s[4 * PRINT_LINE];
	uint8_t buf[200];
	size_t n = make_packet(buf, true);

	for (size_t len = 0; len < n; len++) {
		uint8_t *p = malloc(len ? len : 1);

		assert_non_null(p);
		memcpy(p, buf, len);
		print_packet(s, sizeof(s), p, len);
		assert_null(strstr(s, "ICRC"));
		assert_int_equal(s[strlen(s) - 1], '\n');
		free(p);
	}
}

/* A packet whose PktLen is smaller than its headers. */
static void test_packet_of_wrong_pktlen(void **state)
{
	char s[4 * PRINT_LINE];
	uint8_t buf[200];
	size_t n = make_packet(buf, false);

	for (unsigned int words = 0; words < 8; words++) {
		be16_put(buf + 4, (uint16_t)words);
		print_packet(s, sizeof(s), buf, n);
		assert_non_null(strstr(s, "less than the headers"));
	}
}

static void test_small_buffers_get_a_nul(void **state)
{
	char s[4 * PRINT_LINE];
	uint8_t buf[200];
	size_t n = make_packet(buf, true);

	for (size_t size = 1; size < 600; size++) {
		memset(s, 'x', sizeof(s));
		assert_ptr_equal(print_packet(s, size, buf, n), s);
		assert_non_null(memchr(s, 0, size));
		assert_int_equal(s[size], 'x');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gid_in_the_form_of_rfc5952),
		cmocka_unit_test(test_gid_there_and_back_random),
		cmocka_unit_test(test_gid_parse_refuses),
		cmocka_unit_test(test_lladdr_as_ip_link_shows_it),
		cmocka_unit_test(test_headers_one_line_each),
		cmocka_unit_test(test_ipoib_ipv4),
		cmocka_unit_test(test_ipoib_arp),
		cmocka_unit_test(test_ipoib_neighbour_solicitation),
		cmocka_unit_test(test_V10_V12_V20_ipv6_without_a_header),
		cmocka_unit_test(test_P2_P20_ibarp_in_words),
		cmocka_unit_test(test_P14_option_in_words),
		cmocka_unit_test(test_ipoib_other_type),
		cmocka_unit_test(test_ipoib_truncated),
		cmocka_unit_test(test_packet_lines),
		cmocka_unit_test(test_packet_to_qp1_is_a_mad),
		cmocka_unit_test(test_packet_truncated),
		cmocka_unit_test(test_packet_of_wrong_pktlen),
		cmocka_unit_test(test_small_buffers_get_a_nul),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

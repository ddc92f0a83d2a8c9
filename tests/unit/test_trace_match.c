/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "trace/match.h"
#include "wire/ib_hdr.h"
#include "wire/ipoib_hdr.h"
#include "wire/sa.h"

/* Tests of trace/match.h: which packets of a fabric a trace shows. */

enum lids { A = 5, B = 6, C = 7, SM = 1, GROUP = 0xc010 };

#define V4_LEN 20
#define V6_LEN 40
#define QPN 0x123456

/* --- packets */

/*
 * Make a UD packet with the given payload. All octets are in the packet descriptor; the packet has
 * no buffer.
 */
static struct pkt packet(uint16_t slid, uint16_t dlid, uint32_t qpn, const uint8_t *payload,
			 size_t len)
{
	struct ib_ud_hdr h = { .lrh = { .slid = slid, .dlid = dlid },
			       .has_grh = !ib_lid_is_unicast(dlid),
			       .bth = { .opcode = IB_OP_UD_SEND_ONLY, .dest_qp = qpn } };
	struct pkt p = { .head = PKT_HDR_MAX };
	uint8_t all[PKT_HDR_MAX];
	unsigned int n = ib_ud_hdr_encode(all, &h, len);

	assert_true(n + len <= sizeof(all));
	memcpy(all + n, payload, len);
	p.len = n + (uint32_t)len;
	p.head = (uint16_t)(PKT_HDR_MAX - p.len);
	memcpy(p.hdr + p.head, all, p.len);
	return p;
}

/*
 * Write the encapsulation header of RFC 4391 and an IPv4 packet of @proto, with @options octets of
 * IP options before @l4. @frag: fragment offset and flags
 */
static size_t ipv4(uint8_t *ret, uint8_t proto, unsigned int options, uint16_t frag,
		   const uint8_t *l4, size_t len)
{
	memset(ret, 0, 4 + V4_LEN + options);
	be16_put(ret, ETH_P_IPV4);
	ret[4] = (uint8_t)(0x40 | (V4_LEN + options) / 4);
	be16_put(ret + 4 + 6, frag);
	ret[4 + 9] = proto;
	memcpy(ret + 4 + V4_LEN + options, l4, len);
	return 4 + V4_LEN + options + len;
}

static size_t ipv6(uint8_t *ret, uint8_t next, const uint8_t *l4, size_t len)
{
	memset(ret, 0, 4 + V6_LEN);
	be16_put(ret, ETH_P_IPV6_);
	ret[4] = 0x60;
	ret[4 + 6] = next;
	memcpy(ret + 4 + V6_LEN, l4, len);
	return 4 + V6_LEN + len;
}

/* Source port 40000, destination port 80 */
static const uint8_t to_80[20] = { 0x9c, 0x40, 0, 80 };
static const uint8_t from_80[20] = { 0, 80, 0x9c, 0x40 };
static const uint8_t echo[8] = { 8 };
static const uint8_t ns[24] = { 135 };
static const uint8_t rs[8] = { 133 };
static const uint8_t echo6[8] = { 128 };

/* --- traces */

static struct trace_match trace_of(enum trace_what what, unsigned int family)
{
	return (struct trace_match){ .encap = &ipoib_profile_at(0)->encap,
				     .a = A,
				     .b = B,
				     .family = family,
				     .what = what,
				     .port = 80 };
}

static bool shows(const struct trace_match *m, uint16_t slid, uint16_t dlid, const uint8_t *payload,
		  size_t len)
{
	struct pkt p = packet(slid, dlid, QPN, payload, len);

	return trace_match(m, &p);
}

static bool shows4(enum trace_what what, uint8_t proto, const uint8_t *l4, size_t len)
{
	struct trace_match m = trace_of(what, 4);
	uint8_t p[128];

	return shows(&m, A, B, p, ipv4(p, proto, 0, 0, l4, len));
}

static bool shows6(enum trace_what what, uint8_t next, const uint8_t *l4, size_t len)
{
	struct trace_match m = trace_of(what, 6);
	uint8_t p[128];

	return shows(&m, A, B, p, ipv6(p, next, l4, len));
}

/*
 * Returns a text with one character for each value of enum trace_what, in the order of the values.
 * The character is the letter of the value (from "PTUARJ") if a trace with this value shows the
 * packet. Otherwise it is '.'.
 */
static const char *who4(uint8_t proto, const uint8_t *l4, size_t len)
{
	static char ret[TRACE_WHATS + 1];

	for (int i = 0; i < TRACE_WHATS; i++)
		ret[i] = shows4((enum trace_what)i, proto, l4, len) ? "PTUARJ"[i] : '.';
	return ret;
}

static const char *who6(uint8_t next, const uint8_t *l4, size_t len)
{
	static char ret[TRACE_WHATS + 1];

	for (int i = 0; i < TRACE_WHATS; i++)
		ret[i] = shows6((enum trace_what)i, next, l4, len) ? "PTUARJ"[i] : '.';
	return ret;
}

static void test_each_kind_of_trace_shows_its_packets(void **state)
{
	static const uint8_t to_81[20] = { 0x9c, 0x40, 0, 81 };

	(void)state;
	assert_string_equal(who4(1, echo, sizeof(echo)), "PTU...");
	assert_string_equal(who4(6, to_80, sizeof(to_80)), ".T....");
	assert_string_equal(who4(6, from_80, sizeof(from_80)), ".T....");
	assert_string_equal(who4(6, to_81, sizeof(to_81)), "......");
	assert_string_equal(who4(17, to_80, sizeof(to_80)), "..U...");
	assert_string_equal(who4(17, to_81, sizeof(to_81)), "......");
	assert_string_equal(who4(2, (const uint8_t[8]){ 0x22 }, 8), ".....J");
	assert_string_equal(who4(58, echo6, sizeof(echo6)), "......");
	assert_string_equal(who4(132, to_80, sizeof(to_80)), "......");

	assert_string_equal(who6(58, echo6, sizeof(echo6)), "PTU...");
	assert_string_equal(who6(58, ns, sizeof(ns)), "PTUAR.");
	assert_string_equal(who6(58, rs, sizeof(rs)), "PTU...");
	assert_string_equal(who6(6, to_80, sizeof(to_80)), ".T....");
	assert_string_equal(who6(17, from_80, sizeof(from_80)), "..U...");
	assert_string_equal(who6(1, echo, sizeof(echo)), "......");
}

static void test_arp_belongs_to_ipv4_except_to_a_join(void **state)
{
	uint8_t arp[60] = { 0x08, 0x06 };

	(void)state;
	for (int i = 0; i < TRACE_WHATS; i++) {
		struct trace_match m4 = trace_of((enum trace_what)i, 4);
		struct trace_match m6 = trace_of((enum trace_what)i, 6);

		assert_int_equal(shows(&m4, A, GROUP, arp, sizeof(arp)), i != TRACE_JOIN);
		assert_false(shows(&m6, A, GROUP, arp, sizeof(arp)));
	}
}

static void test_options_and_extension_headers_stand_before_the_protocol(void **state)
{
	/* A Hop-by-Hop header of 8 octets, and then ICMPv6 with a report of MLDv2 */
	static const uint8_t mld[16] = { 58, 0, 5, 2, [8] = 143 };
	/* A fragment header (offset 0, more fragments), and then TCP */
	static const uint8_t first[28] = { 6, 0, 0, 1, [8] = 0x9c, 0x40, 0, 80 };
	struct trace_match m = trace_of(TRACE_TCP, 4);
	uint8_t p[128];

	(void)state;
	assert_true(shows(&m, A, B, p, ipv4(p, 6, 8, 0, to_80, sizeof(to_80))));
	assert_string_equal(who6(0, mld, sizeof(mld)), "PTU..J");
	assert_string_equal(who6(44, first, sizeof(first)), ".T....");
}

static void test_later_fragments_have_no_port(void **state)
{
	static const uint8_t later[16] = { 17, 0, 0x01, 0x00 };
	struct trace_match udp = trace_of(TRACE_UDP, 4), tcp = trace_of(TRACE_TCP, 4);
	uint8_t p[128];
	size_t n = ipv4(p, 17, 0, 185, (const uint8_t[8]){ 0 }, 8);

	(void)state;
	assert_true(shows(&udp, A, B, p, n));
	assert_false(shows(&tcp, A, B, p, n));
	assert_string_equal(who6(44, later, sizeof(later)), "..U...");
}

static void test_a_packet_that_is_cut_short_is_not_shown(void **state)
{
	static const uint8_t long_options[8] = { 58, 7 };
	struct trace_match m4 = trace_of(TRACE_TCP, 4), m6 = trace_of(TRACE_TCP, 6);
	uint8_t p[128];
	size_t n4 = ipv4(p, 6, 0, 0, to_80, 4);

	(void)state;
	assert_true(shows(&m4, A, B, p, n4));
	for (size_t n = 0; n < n4; n++)
		assert_false(shows(&m4, A, B, p, n));
	p[4] = 0x44; /* a header of 16 octets */
	assert_false(shows(&m4, A, B, p, n4));
	assert_false(shows(&m6, A, B, p, ipv6(p, 0, long_options, sizeof(long_options))));
	assert_false(shows(&m6, A, B, p, ipv6(p, 44, long_options, 4)));
	assert_false(shows(&m6, A, B, p, ipv6(p, 6, to_80, 3)));
}

static void test_only_packets_of_the_two_ports_are_shown(void **state)
{
	struct trace_match m = trace_of(TRACE_PING, 4);
	uint8_t p[128];
	size_t n = ipv4(p, 1, 0, 0, echo, sizeof(echo));
	struct pkt smp;

	(void)state;
	assert_true(shows(&m, A, B, p, n));
	assert_true(shows(&m, B, A, p, n));
	assert_true(shows(&m, A, GROUP, p, n));
	assert_true(shows(&m, B, GROUP, p, n));
	assert_false(shows(&m, A, C, p, n));
	assert_false(shows(&m, C, B, p, n));
	assert_false(shows(&m, C, GROUP, p, n));
	m.b = 0; /* the trace knows only one end */
	assert_true(shows(&m, C, A, p, n));
	assert_false(shows(&m, C, B, p, n));
	smp = packet(A, B, QPN, p, n);
	smp.vl = IB_VL15;
	assert_false(trace_match(&m, &smp));
}

/* --- MADs */

static bool shows_mad(const struct trace_match *m, uint8_t mgmt_class, uint16_t attr)
{
	uint8_t mad[MAD_HDR_LEN];
	struct mad_hdr h = { .base_version = 1, .mgmt_class = mgmt_class, .attr_id = attr };
	struct pkt p;

	mad_hdr_encode(mad, &h);
	p = packet(A, SM, IB_QP1, mad, sizeof(mad));
	return trace_match(m, &p);
}

static void test_requests_about_paths_and_groups_are_shown_where_they_play_a_part(void **state)
{
	(void)state;
	for (int i = 0; i < TRACE_WHATS; i++) {
		struct trace_match m = trace_of((enum trace_what)i, 4);

		assert_int_equal(shows_mad(&m, MAD_CLASS_SA, SA_ATTR_PATH_RECORD), i != TRACE_JOIN);
		assert_false(shows_mad(&m, MAD_CLASS_SA, SA_ATTR_MCMEMBER_RECORD));
		assert_false(shows_mad(&m, MAD_CLASS_SA, SA_ATTR_SERVICE_RECORD));
		assert_false(shows_mad(&m, MAD_CLASS_PERF, SA_ATTR_PATH_RECORD));
		m.group = true;
		assert_true(shows_mad(&m, MAD_CLASS_SA, SA_ATTR_MCMEMBER_RECORD));
		m = trace_of((enum trace_what)i, 6);
		assert_true(shows_mad(&m, MAD_CLASS_SA, SA_ATTR_MCMEMBER_RECORD));
		m.all_mads = true;
		assert_true(shows_mad(&m, MAD_CLASS_PERF, SA_ATTR_PATH_RECORD));
	}
}

static void test_names(void **state)
{
	(void)state;
	assert_int_equal(trace_what_of("ping"), TRACE_PING);
	assert_int_equal(trace_what_of("join"), TRACE_JOIN);
	assert_int_equal(trace_what_of("tc"), -1);
	assert_int_equal(trace_what_of(""), -1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_kind_of_trace_shows_its_packets),
		cmocka_unit_test(test_arp_belongs_to_ipv4_except_to_a_join),
		cmocka_unit_test(test_options_and_extension_headers_stand_before_the_protocol),
		cmocka_unit_test(test_later_fragments_have_no_port),
		cmocka_unit_test(test_a_packet_that_is_cut_short_is_not_shown),
		cmocka_unit_test(test_only_packets_of_the_two_ports_are_shown),
		cmocka_unit_test(
			test_requests_about_paths_and_groups_are_shown_where_they_play_a_part),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

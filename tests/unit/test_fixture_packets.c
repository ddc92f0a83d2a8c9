/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture/describe.h"
#include "fixture/fixture.h"
#include "wire/arp.h"
#include "crc/crc.h"
#include "wire/dhcp.h"
#include "wire/ibarp.h"
#include "wire/records.h"
#include "world/ip.h"

/*
 * Tests the fixtures of whole packets: the kind of the message, the offsets of its fields, and the
 * description of the packet
 */

#define PEER_QPN 0x112233
static const ib_gid GID_A = { { 0xfe, 0x80, [8] = 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6,
				0xa7 } };
static const ib_gid GID_B = { { 0xfe, 0x80, [8] = 0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6,
				0xb7 } };
static const uint8_t IP_A[4] = { 10, 9, 0, 1 }, IP_B[4] = { 10, 9, 0, 2 },
		     GROUP[4] = { 239, 1, 2, 3 };
static const uint8_t IP6_A[16] = { 0xfd, 9, [15] = 1 }, IP6_B[16] = { 0xfd, 9, [15] = 2 };
static const uint8_t IP6_GROUP[16] = { 0xff, 2, [15] = 1 }, IP6_NONE[16];

struct rig {
	struct world_log log;
	struct fixtures all;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	r->log.wire = &world_wire_rfc4391;
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	fixtures_fini(&r->all);
	world_log_fini(&r->log);
	free(r);
	return 0;
}

static const struct seen *packet(struct rig *r, bool ours, uint32_t qpn, const void *payload,
				 size_t len)
{
	const struct ib_ud_hdr h = {
		.lrh = { .vl = qpn ? 0 : 15, .sl = 3, .dlid = 0x1234, .slid = 0x5678 },
		.has_grh = qpn > 1,
		.grh = { .ip_ver = 6,
			 .tclass = 0x2a,
			 .flow_label = 0x54321,
			 .nxt_hdr = IB_GRH_NXTHDR,
			 .hop_limit = 0x40,
			 .sgid = GID_A,
			 .dgid = GID_B },
		.bth = { .opcode = IB_OP_UD_SEND_ONLY,
			 .pkey = 0xffff,
			 .dest_qp = qpn,
			 .psn = 0x123456 },
		.deth = { .qkey = 0x80c0f0a1, .src_qp = 0x654321 },
	};
	uint8_t raw[IB_PKT_MAX] = { 0 };
	size_t n = ib_ud_hdr_encode(raw, &h, len);

	memcpy(raw + n, payload, len);
	n += len + (-len & 3);
	crc_put(raw, n);
	return world_log_add(&r->log, raw, n + IB_ICRC_LEN + IB_VCRC_LEN, ours, 0);
}

static const struct seen *data(struct rig *r, bool ours, uint16_t type, const void *net, size_t len)
{
	uint8_t p[4096];
	size_t n = r->log.wire->hdr_len;

	if (n)
		r->log.wire->put_hdr(p, type, 0);
	memcpy(p + n, net, len);
	return packet(r, ours, PEER_QPN, p, n + len);
}

static void is_kind(const struct seen *s, const char *name, bool timed)
{
	struct fixture x;

	assert_non_null(s);
	if (!name) {
		assert_false(fixture_kind(&x, s));
		return;
	}
	assert_true(fixture_kind(&x, s));
	assert_string_equal(x.name, name);
	assert_int_equal(x.timed, timed);
}

/* --- descriptions of packets */

struct asked {
	const struct seen *s;
	const char *layout, *field;
	/*
	 * .n: index of the requested field among the fields with this name; .found: number of
	 * fields with this name so far
	 */
	unsigned int n, found;
	size_t end; /* end of the last field so far, in bits from the start of the packet */
	uint64_t value;
	size_t octet;
};

static void piece(void *ctx, const struct piece *p)
{
	struct asked *a = ctx;
	uint64_t v = 0;

	assert_int_equal(p->bit, a->end);
	assert_true(p->bits > 0);
	a->end += p->bits;
	if (strcmp(p->layout->name, a->layout) != 0 || strcmp(p->name, a->field) != 0)
		return;
	for (size_t i = p->bit; i < p->bit + p->bits && p->bits <= 64; i++)
		v = v << 1 | (a->s->raw[i / 8] >> (7 - i % 8) & 1);
	if (a->found++ == a->n) {
		a->value = v;
		a->octet = p->bit / 8;
	}
}

static struct asked ask(const struct seen *s, const char *layout, const char *field, unsigned int n)
{
	struct asked a = { .s = s, .layout = layout, .field = field, .n = n };

	describe(s, piece, &a);
	assert_int_equal(a.end, 8 * s->len);
	if (a.found <= n)
		fail_msg("%s has no %s[%u]", layout, field, n);
	return a;
}

#define IS(s, layout, field, want) assert_int_equal(ask(s, layout, field, 0).value, want)
#define IS_OCTETS(s, layout, field, n, want, len) \
	assert_memory_equal((s)->raw + ask(s, layout, field, n).octet, want, len)

static void test_headers_and_crcs(void **state)
{
	struct rig *r = *state;
	uint8_t ip[IPV4_LEN + 9] = { 0 };
	const struct seen *s;
	size_t end;

	ip4_put(ip, IP_A, IP_B, 1, 0, sizeof(ip));
	s = data(r, false, TYPE_IP4, ip, sizeof(ip));
	assert_int_equal(s->kind, SEEN_DATA);
	IS(s, "LRH", "SL", 3);
	IS(s, "LRH", "DLID", 0x1234);
	IS(s, "LRH", "SLID", 0x5678);
	IS(s, "LRH", "PktLen", (s->len - IB_VCRC_LEN) / 4);
	IS(s, "GRH", "TClass", 0x2a);
	IS(s, "GRH", "FlowLabel", 0x54321);
	IS_OCTETS(s, "GRH", "SGID", 0, &GID_A, 16);
	IS_OCTETS(s, "GRH", "DGID", 0, &GID_B, 16);
	IS(s, "BTH", "DestQP", PEER_QPN);
	IS(s, "BTH", "PSN", 0x123456);
	IS(s, "BTH", "PadCnt", 3);
	IS(s, "DETH", "Q_Key", 0x80c0f0a1);
	IS(s, "DETH", "SrcQP", 0x654321);
	IS(s, "IPoIB header", "Type", 0x0800);
	assert_int_equal(ask(s, "BTH", "Pad", 0).octet, s->len - 9);
	end = s->len - IB_VCRC_LEN - IB_ICRC_LEN;
	assert_int_equal(ask(s, "ICRC", "ICRC", 0).octet, end);
	assert_true(crc_icrc_follows(s->raw, end));
	assert_int_equal(ask(s, "VCRC", "VCRC", 0).octet, end + IB_ICRC_LEN);
	assert_true(crc_vcrc_follows(s->raw, end + IB_ICRC_LEN));
}

/* --- ARP, IBARP and Neighbour Discovery options, in the encoding of src/wire */

static void test_arp(void **state)
{
	struct rig *r = *state;
	const struct ipoib_lladdr from = { .qpn = 0x010203, .gid = GID_A };
	const struct ipoib_lladdr to = { .qpn = 0x111213, .gid = GID_B };
	struct arp_pkt a = { .hrd = ARP_HRD_INFINIBAND, .pro = 0x0800, .hln = 20, .pln = 4 };
	uint8_t p[ARP_IPOIB_LEN];
	const struct seen *s;

	a.op = ARP_OP_REQUEST;
	ipoib_lladdr_encode(a.sha, &from);
	ipoib_lladdr_encode(a.tha, &to);
	memcpy(a.spa, IP_A, 4);
	memcpy(a.tpa, IP_B, 4);
	assert_int_equal(arp_encode(p, &a), sizeof(p));
	s = data(r, true, TYPE_ARP, p, sizeof(p));
	is_kind(s, "suite-ARP-request", false);
	IS(s, "ARP", "HardwareType", 32);
	IS(s, "ARP", "HardwareAddressLength", 20);
	IS(s, "ARP", "Operation", 1);
	IS(s, "ARP", "SenderQPN", 0x010203);
	IS_OCTETS(s, "ARP", "SenderGID", 0, &GID_A, 16);
	IS_OCTETS(s, "ARP", "SenderProtocolAddress", 0, IP_A, 4);
	IS(s, "ARP", "TargetQPN", 0x111213);
	IS_OCTETS(s, "ARP", "TargetGID", 0, &GID_B, 16);
	IS_OCTETS(s, "ARP", "TargetProtocolAddress", 0, IP_B, 4);
	is_kind(data(r, false, TYPE_RARP, p, sizeof(p)), "dut-RARP-request", false);
	is_kind(data(r, false, TYPE_ARP, p, sizeof(p) - 1), NULL, false);
}

static struct nd_port port(const ib_gid *gid, uint32_t qpn, uint32_t qkey)
{
	return (struct nd_port){ .lladdr = { .qpn = qpn, .gid = *gid },
				 .lid = 0x4321,
				 .has_qkey = true,
				 .qkey = qkey,
				 .eui64 = ib_gid_guid(gid) };
}

static void test_ibarp(void **state)
{
	struct rig *r = *state;
	struct ibarp_pkt a = { .op = ARP_OP_REPLY };
	uint8_t p[IBARP_LEN];
	const struct seen *s;

	a.sender = port(&GID_A, 0x010203, 0x04050607);
	a.target = port(&GID_B, 0x111213, 0x14151617);
	memcpy(a.spa, IP_A, 4);
	memcpy(a.tpa, IP_B, 4);
	ibarp_encode(p, &a);
	r->log.wire = &world_wire_encaparp00;
	s = data(r, false, TYPE_IP4, p, sizeof(p));
	is_kind(s, "dut-IBARP-reply", false);
	IS(s, "IPoIB header", "Type", 0x0800);
	assert_int_equal(ask(s, "IPoIB header", "Type", 0).octet - (size_t)(s->payload - s->raw),
			 2);
	IS_OCTETS(s, "IBARP", "SenderEUI-64", 0, GID_A.raw + 8, 8);
	IS(s, "IBARP", "SenderQPN", 0x010203);
	IS(s, "IBARP", "SenderQ_Key", 0x04050607);
	IS_OCTETS(s, "IBARP", "SenderGID", 0, &GID_A, 16);
	IS_OCTETS(s, "IBARP", "SenderProtocolAddress", 0, IP_A, 4);
	IS_OCTETS(s, "IBARP", "TargetEUI-64", 0, GID_B.raw + 8, 8);
	IS(s, "IBARP", "TargetQPN", 0x111213);
	IS(s, "IBARP", "TargetQ_Key", 0x14151617);
	IS_OCTETS(s, "IBARP", "TargetGID", 0, &GID_B, 16);
	IS_OCTETS(s, "IBARP", "TargetProtocolAddress", 0, IP_B, 4);
}

/* Return a packet with a Neighbour Solicitation, which has the option @opt if @opt_len is not 0 */
static const struct seen *solicitation(struct rig *r, const uint8_t *src, const uint8_t *dst,
				       const void *opt, size_t opt_len)
{
	uint8_t p[128] = { 0 };

	ip6_put(p, src, dst, PROTO_ICMPV6, ND_FIXED + opt_len);
	p[IPV6_LEN] = ND_NS;
	memcpy(p + IPV6_LEN + 8, IP6_B, 16);
	if (opt_len)
		memcpy(p + IPV6_LEN + ND_FIXED, opt, opt_len);
	return data(r, false, TYPE_IP6, p, IPV6_LEN + ND_FIXED + opt_len);
}

#define OPT "Link-Layer Address option"

static void test_options_with_addresses(void **state)
{
	struct rig *r = *state;
	const struct nd_port a = port(&GID_A, 0x010203, 0x04050607);
	uint8_t opt[40];
	const struct seen *s;

	nd_opt_lladdr_encode(opt, ND_OPT_SLLA, &a.lladdr);
	s = solicitation(r, IP6_A, IP6_GROUP, opt, 24);
	IS_OCTETS(s, "Neighbor Solicitation", "TargetAddress", 0, IP6_B, 16);
	IS(s, OPT, "Length", 3);
	IS(s, OPT, "QPN", 0x010203);
	IS_OCTETS(s, OPT, "GID", 0, &GID_A, 16);

	r->log.wire = &world_wire_v6ib00;
	nd_opt_link_info_encode(opt, ND_OPT_SLLA, &a);
	s = solicitation(r, IP6_A, IP6_GROUP, opt, 32);
	IS(s, OPT, "LID", 0x4321);
	IS(s, OPT, "QPN", 0x010203);
	IS(s, OPT, "Q_Key", 0x04050607);
	IS_OCTETS(s, OPT, "GID", 0, &GID_A, 16);

	r->log.wire = &world_wire_encaparp00;
	nd_opt_ibarp_encode(opt, ND_OPT_SLLA, &a);
	s = solicitation(r, IP6_A, IP6_GROUP, opt, 40);
	IS_OCTETS(s, OPT, "EUI-64", 0, GID_A.raw + 8, 8);
	IS(s, OPT, "QPN", 0x010203);
	IS(s, OPT, "Q_Key", 0x04050607);
	IS_OCTETS(s, OPT, "GID", 0, &GID_A, 16);
}

static void test_other_options(void **state)
{
	static const uint8_t
		opt[] = {
			3, 4,	 64, 0xc0,     0,  0, 0, 9, 0, 0, 0, 8,	 0, 0, 0,
			0, 0xfd, 7,  [32] = 5, 1,  0, 0, 0, 0, 8, 0, 14, 1, 1, 2,
			3, 4,	 5,  6,	       25, 1, 7, 7, 7, 7, 7, 7,	 1, 2 /* Length too large */
		};
	const struct seen *s = solicitation(*state, IP6_A, IP6_GROUP, opt, sizeof(opt));

	IS(s, "Prefix Information option", "PrefixLength", 64);
	IS(s, "Prefix Information option", "L", 1);
	IS(s, "Prefix Information option", "A", 1);
	IS(s, "Prefix Information option", "ValidLifetime", 9);
	IS(s, "Prefix Information option", "PreferredLifetime", 8);
	IS_OCTETS(s, "Prefix Information option", "Prefix", 0, opt + 16, 16);
	IS(s, "MTU option", "MTU", 0x0800);
	IS(s, "Nonce option", "Nonce", 0x010203040506);
	IS(s, "Neighbor Discovery option", "Type", 25);
	IS(s, "Neighbor Discovery option", "Data", 0x070707070707);
	IS(s, "IPv6", "Data", 0x0102);
}

/* --- IP */

static void test_echo_and_fragments(void **state)
{
	struct rig *r = *state;
	uint8_t p[IPV4_LEN + 32] = { 0 };
	const struct seen *s;

	icmp_echo(p + IPV4_LEN, ECHO_REQUEST, 0x0506, 32);
	ip4_put(p, IP_A, IP_B, 0x0102, 0, sizeof(p));
	s = data(r, false, TYPE_IP4, p, sizeof(p));
	is_kind(s, "dut-IPv4-ICMP-echo-request", false);
	IS(s, "IPv4", "IHL", 5);
	IS(s, "IPv4", "TotalLength", sizeof(p));
	IS(s, "IPv4", "Identification", 0x0102);
	IS(s, "IPv4", "TimeToLive", 64);
	IS(s, "IPv4", "Protocol", PROTO_ICMP);
	IS_OCTETS(s, "IPv4", "SourceAddress", 0, IP_A, 4);
	IS_OCTETS(s, "IPv4", "DestinationAddress", 0, IP_B, 4);
	IS(s, "ICMP echo", "Identifier", 0xc0f0);
	IS(s, "ICMP echo", "SequenceNumber", 0x0506);
	IS_OCTETS(s, "ICMP echo", "Data", 0, p + IPV4_LEN + 8, 24);
	ip4_put(p, IP_A, IP_B, 1, 0x2000, sizeof(p));
	s = data(r, true, TYPE_IP4, p, sizeof(p));
	is_kind(s, "suite-IPv4-fragment-first", false);
	IS(s, "IPv4", "MF", 1);
	ip4_put(p, IP_A, IP_B, 1, 0x0123, sizeof(p));
	s = data(r, true, TYPE_IP4, p, sizeof(p));
	is_kind(s, "suite-IPv4-fragment-later", false);
	IS(s, "IPv4", "FragmentOffset", 0x123);
	IS_OCTETS(s, "IPv4", "Data", 0, p + IPV4_LEN, 32);
	be16_put(p + 2, sizeof(p) + 1);
	is_kind(data(r, true, TYPE_IP4, p, sizeof(p)), NULL, false);
}

static const struct seen *ip6(struct rig *r, const uint8_t *dst, uint8_t proto, const void *upper,
			      size_t len)
{
	uint8_t p[256];

	ip6_put(p, IP6_A, dst, proto, len);
	memcpy(p + IPV6_LEN, upper, len);
	return data(r, false, TYPE_IP6, p, IPV6_LEN + len);
}

static void test_ip6_and_its_headers(void **state)
{
	static const uint8_t frag[] = { PROTO_UDP, 0, 0x01, 0x24, 1, 2, 3, 4, 9, 9 };
	static const uint8_t report[] = {
		PROTO_ICMPV6, 0,    5,	      2,   0, 0, 1,    0, 143,	       0,
		0xab,	      0xcd, 0,	      0,   0, 2, 4,    0, 0,	       0,
		0xff,	      2,    [36] = 3, 1,   0, 1, 0xff, 5, [56] = 0xfd, 1,
		[72] = 0xaa,  0xbb, 0xcc,     0xdd
	};
	struct rig *r = *state;
	const struct seen *s = ip6(r, IP6_B, PROTO_FRAGMENT, frag, sizeof(frag));

	is_kind(s, "dut-IPv6-fragment-later", false);
	IS(s, "IPv6", "Version", 6);
	IS(s, "IPv6", "PayloadLength", sizeof(frag));
	IS(s, "IPv6", "NextHeader", PROTO_FRAGMENT);
	IS(s, "IPv6", "HopLimit", 255);
	IS_OCTETS(s, "IPv6", "SourceAddress", 0, IP6_A, 16);
	IS_OCTETS(s, "IPv6", "DestinationAddress", 0, IP6_B, 16);
	IS(s, "Fragment Header", "NextHeader", PROTO_UDP);
	IS(s, "Fragment Header", "FragmentOffset", 0x24);
	IS(s, "Fragment Header", "M", 0);
	IS(s, "Fragment Header", "Identification", 0x01020304);
	s = ip6(r, IP6_GROUP, PROTO_HOPOPT, report, sizeof(report));
	is_kind(s, "dut-IPv6-ICMPv6-MLDv2-report-multicast", true);
	IS(s, "Hop-by-Hop Options", "NextHeader", PROTO_ICMPV6);
	IS(s, "MLDv2 Report", "Checksum", 0xabcd);
	IS(s, "MLDv2 Report", "NumberOfRecords", 2);
	IS(s, "MLDv2 Multicast Address Record", "RecordType", 4);
	assert_int_equal(ask(s, "MLDv2 Multicast Address Record", "RecordType", 1).value, 3);
	IS_OCTETS(s, "MLDv2 Multicast Address Record", "MulticastAddress", 1, report + 40, 16);
	IS_OCTETS(s, "MLDv2 Multicast Address Record", "SourceAddresses", 0, report + 56, 16);
	IS(s, "MLDv2 Multicast Address Record", "AuxiliaryData", 0xaabbccdd);
}

static const struct seen *ip4(struct rig *r, const uint8_t *dst, uint8_t proto, const void *upper,
			      size_t len)
{
	uint8_t p[64];

	ip4_put(p, IP_A, dst, 1, 0, IPV4_LEN + len);
	p[9] = proto;
	memcpy(p + IPV4_LEN, upper, len);
	return data(r, false, TYPE_IP4, p, IPV4_LEN + len);
}

static void test_reports_of_ip4(void **state)
{
	static const uint8_t v2[] = { 0x16, 5, 0x12, 0x34, 239, 1, 2, 3 };
	static const uint8_t v3[] = { 0x22, 0, 0,   0, 0, 0, 0,	 1, 4, 0,
				      0,    1, 239, 1, 2, 3, 10, 9, 0, 7 };
	struct rig *r = *state;
	const struct seen *s = ip4(r, GROUP, PROTO_IGMP, v2, sizeof(v2));

	is_kind(s, "dut-IPv4-IGMP-v2-report", true);
	IS(s, "IGMP", "MaxRespTime", 5);
	IS(s, "IGMP", "Checksum", 0x1234);
	IS_OCTETS(s, "IGMP", "GroupAddress", 0, GROUP, 4);
	s = ip4(r, GROUP, PROTO_IGMP, v3, sizeof(v3));
	is_kind(s, "dut-IPv4-IGMP-v3-report", true);
	IS(s, "IGMPv3 Report", "NumberOfGroupRecords", 1);
	IS(s, "IGMPv3 Group Record", "RecordType", 4);
	IS_OCTETS(s, "IGMPv3 Group Record", "MulticastAddress", 0, GROUP, 4);
	IS_OCTETS(s, "IGMPv3 Group Record", "SourceAddresses", 0, v3 + 16, 4);
	is_kind(ip4(r, GROUP, 99, v2, sizeof(v2)), NULL, false);
}

static void test_dhcp(void **state)
{
	const struct dhcp_hdr h = { .op = DHCP_OP_REQUEST,
				    .htype = DHCP_HTYPE_INFINIBAND,
				    .hlen = 0,
				    .xid = 0x01020304,
				    .secs = 0x0506,
				    .flags = DHCP_FLAG_BROADCAST,
				    .ciaddr = { 10, 9, 0, 1 },
				    .giaddr = { 10, 9, 0, 4 },
				    .chaddr = { 1, 2, 3 } };
	static const uint8_t options[] = { 99, 130, 83,	 99,  0,   53, 1, DHCP_DISCOVER,
					   12, 2,   'a', 'b', 255, 0,  0 };
	uint8_t p[IPV4_LEN + UDP_LEN + DHCP_FIXED_LEN + sizeof(options)] = { 0 };
	uint8_t *m = p + IPV4_LEN + UDP_LEN;
	const struct seen *s;

	dhcp_hdr_encode(m, &h);
	memcpy(m + DHCP_FIXED_LEN, options, sizeof(options));
	udp4_put(p, IP_A, DHCP_PORT_CLIENT, IP_B, DHCP_PORT_SERVER,
		 DHCP_FIXED_LEN + sizeof(options));
	s = data(*state, false, TYPE_IP4, p, sizeof(p));
	is_kind(s, "dut-IPv4-DHCP-DISCOVER", false);
	IS(s, "UDP", "SourcePort", DHCP_PORT_CLIENT);
	IS(s, "UDP", "DestinationPort", DHCP_PORT_SERVER);
	IS(s, "UDP", "Length", UDP_LEN + DHCP_FIXED_LEN + sizeof(options));
	IS(s, "DHCP", "op", DHCP_OP_REQUEST);
	IS(s, "DHCP", "htype", DHCP_HTYPE_INFINIBAND);
	IS(s, "DHCP", "xid", 0x01020304);
	IS(s, "DHCP", "secs", 0x0506);
	IS(s, "DHCP", "flags", DHCP_FLAG_BROADCAST);
	IS_OCTETS(s, "DHCP", "ciaddr", 0, h.ciaddr, 4);
	IS_OCTETS(s, "DHCP", "giaddr", 0, h.giaddr, 4);
	IS_OCTETS(s, "DHCP", "chaddr", 0, h.chaddr, 16);
	IS(s, "DHCP", "magic cookie", 0x63825363);
	IS(s, "DHCP Pad option", "code", 0);
	IS(s, "DHCP option", "code", 53);
	IS(s, "DHCP option", "data", DHCP_DISCOVER);
	assert_int_equal(ask(s, "DHCP option", "length", 1).value, 2);
	assert_int_equal(ask(s, "DHCP option", "data", 1).value, 'a' << 8 | 'b');
	IS(s, "DHCP End option", "code", 255);
	IS(s, "DHCP End option", "Padding", 0);
}

/* Tests that .timed is true only for probes (DAD and reachability), which timers send */
static void test_neighbour_solicitations(void **state)
{
	struct rig *r = *state;

	is_kind(solicitation(r, IP6_A, IP6_GROUP, NULL, 0),
		"dut-IPv6-ICMPv6-neighbor-solicitation-multicast", false);
	is_kind(solicitation(r, IP6_NONE, IP6_GROUP, NULL, 0),
		"dut-IPv6-ICMPv6-neighbor-solicitation-DAD", true);
	is_kind(solicitation(r, IP6_A, IP6_B, NULL, 0), "dut-IPv6-ICMPv6-neighbor-solicitation",
		true);
}

/* --- MADs */

static const struct seen *sa(struct rig *r, uint8_t method, uint16_t attr, struct rmpp_hdr *rmpp,
			     unsigned int words, const void *records, size_t len)
{
	const struct mad_hdr h = { .base_version = 1,
				   .mgmt_class = MAD_CLASS_SA,
				   .class_version = 2,
				   .method = method,
				   .tid = 0x0102030405060708,
				   .attr_id = attr };
	const struct sa_hdr sa = { .attr_offset = (uint16_t)words, .comp_mask = 0x10083 };
	uint8_t m[MAD_LEN];

	sa_mad_encode(m, &h, &sa);
	if (rmpp)
		rmpp_hdr_encode(m + SA_RMPP_OFF, rmpp);
	memset(m + SA_DATA_OFF, 0, SA_DATA_LEN);
	memcpy(m + SA_DATA_OFF, records, len);
	return packet(r, false, IB_QP1, m, sizeof(m));
}

static void test_records_of_the_sa(void **state)
{
	struct ib_path_rec a = { .dgid = GID_A, .dlid = 0x1111 },
			   b = { .dgid = GID_B, .dlid = 0x2222 };
	struct rmpp_hdr rmpp = { .version = 1,
				 .type = RMPP_TYPE_DATA,
				 .flags = RMPP_FLAG_ACTIVE | RMPP_FLAG_FIRST | RMPP_FLAG_LAST,
				 .data1 = 1,
				 .data2 = SA_HDR_LEN + 2 * PATH_REC_LEN };
	struct rig *r = *state;
	uint8_t both[2 * PATH_REC_LEN];
	const struct seen *s;

	ib_path_rec_encode(both, &a);
	ib_path_rec_encode(both + PATH_REC_LEN, &b);
	s = sa(r, MAD_METHOD_GET_TABLE_RESP, SA_ATTR_PATH_RECORD, &rmpp, 8, both, sizeof(both));
	is_kind(s, "dut-SubnAdmGetTableResp-PathRecord", false);
	IS(s, "MAD header", "TransactionID", 0x0102030405060708);
	IS(s, "RMPP header", "RMPPFlags", 7);
	IS(s, "SA header", "AttributeOffset", 8);
	IS(s, "SA header", "ComponentMask", 0x10083);
	IS(s, "PathRecord", "DLID", 0x1111);
	assert_int_equal(ask(s, "PathRecord", "DLID", 1).value, 0x2222);
	IS_OCTETS(s, "PathRecord", "DGID", 1, &GID_B, 16);
	IS(s, "SA header", "Reserved", 0);
	rmpp.flags = RMPP_FLAG_ACTIVE | RMPP_FLAG_FIRST;
	is_kind(sa(r, MAD_METHOD_GET_TABLE_RESP, SA_ATTR_PATH_RECORD, &rmpp, 8, both, 128), NULL,
		false);
	s = sa(r, MAD_METHOD_GET, SA_ATTR_PATH_RECORD, NULL, 0, both, PATH_REC_LEN);
	is_kind(s, "dut-SubnAdmGet-PathRecord", false);
	IS(s, "PathRecord", "DLID", 0x1111);
}

static const struct seen *mad(struct rig *r, uint8_t mgmt_class, uint8_t method, uint16_t status,
			      uint16_t attr)
{
	const struct mad_hdr h = { .base_version = 1,
				   .mgmt_class = mgmt_class,
				   .class_version = 1,
				   .method = method,
				   .status = status,
				   .attr_id = attr };
	uint8_t m[MAD_LEN] = { 0 };

	mad_hdr_encode(m, &h);
	return packet(r, false, mad_class_is_smp(mgmt_class) ? IB_QP0 : IB_QP1, m, sizeof(m));
}

static void test_names_of_mads(void **state)
{
	struct rig *r = *state;

	is_kind(mad(r, MAD_CLASS_SM_DR, MAD_METHOD_GET, 0, SMP_ATTR_NODE_INFO),
		"dut-SubnGet-NodeInfo", false);
	is_kind(mad(r, MAD_CLASS_SM_DR, MAD_METHOD_GET_RESP, MAD_STATUS_DR_D, SMP_ATTR_NODE_INFO),
		"dut-SubnGetResp-NodeInfo", false);
	is_kind(mad(r, MAD_CLASS_SM_LID, MAD_METHOD_GET, 0, SMP_ATTR_NODE_INFO),
		"dut-SubnGet-NodeInfo-lid", false);
	is_kind(mad(r, MAD_CLASS_PERF, MAD_METHOD_GET, 0, MAD_ATTR_CLASS_PORT_INFO),
		"dut-PerformanceGet-ClassPortInfo", false);
	is_kind(mad(r, MAD_CLASS_SM_LID, MAD_METHOD_GET_RESP, MAD_STATUS_BAD_ATTR,
		    SMP_ATTR_NODE_INFO),
		NULL, false);
	is_kind(mad(r, MAD_CLASS_SM_DR, MAD_METHOD_GET_RESP, MAD_STATUS_DR_D | MAD_STATUS_BUSY,
		    SMP_ATTR_NODE_INFO),
		NULL, false);
	is_kind(mad(r, MAD_CLASS_SM_DR, 0x7f, 0, SMP_ATTR_NODE_INFO), NULL, false);
	is_kind(mad(r, MAD_CLASS_SM_DR, MAD_METHOD_GET, 0, 0xff77), NULL, false);
}

/* --- the files */

static void test_first_of_a_kind_is_kept(void **state)
{
	struct rig *r = *state;
	const struct seen *first = mad(r, MAD_CLASS_SM_DR, MAD_METHOD_SET, 0, SMP_ATTR_PORT_INFO);

	fixtures_add(&r->all, first);
	fixtures_add(&r->all, mad(r, MAD_CLASS_SM_DR, MAD_METHOD_GET, 0, SMP_ATTR_NODE_INFO));
	fixtures_add(&r->all, mad(r, MAD_CLASS_SM_DR, MAD_METHOD_SET, 0, SMP_ATTR_PORT_INFO));
	fixtures_add(&r->all, mad(r, MAD_CLASS_SM_DR, MAD_METHOD_SET, 0, 0xff77));
	fixtures_sort(&r->all);
	assert_false(r->all.no_memory);
	assert_int_equal(r->all.n, 2);
	assert_string_equal(r->all.v[0].name, "dut-SubnGet-NodeInfo");
	assert_string_equal(r->all.v[1].name, "dut-SubnSet-PortInfo");
	assert_int_equal(r->all.v[1].s->n, first->n);
}

static json_t *written(int (*put)(void *ctx, FILE *f), void *ctx)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	json_t *o;

	assert_int_equal(put(ctx, f), 0);
	fclose(f);
	o = json_loadb(text, len, 0, NULL);
	assert_non_null(o);
	free(text);
	return o;
}

static int put_one(void *ctx, FILE *f)
{
	return fixture_json(ctx, f);
}

static int put_index(void *ctx, FILE *f)
{
	return fixtures_index(ctx, "rfc4391", f);
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	assert_non_null(s);
	return s;
}

static void test_json_of_a_packet(void **state)
{
	struct rig *r = *state;
	json_t *o, *bth, *grh, *f;

	fixtures_add(&r->all, solicitation(r, IP6_A, IP6_GROUP, NULL, 0));
	o = written(put_one, &r->all.v[0]);
	assert_string_equal(text_of(o, "name"), "dut-IPv6-ICMPv6-neighbor-solicitation-multicast");
	assert_string_equal(text_of(o, "from"), "dut");
	assert_non_null(strstr(text_of(o, "what"), "neighbor solicitation"));
	assert_int_equal(strlen(text_of(o, "octets")), 2 * r->all.v[0].s->len);
	assert_int_equal(strncmp(text_of(o, "octets"), "00331234", 8), 0);
	grh = json_array_get(json_object_get(o, "parts"), 1);
	bth = json_array_get(json_object_get(o, "parts"), 2);
	assert_string_equal(text_of(bth, "in"), "BTH");
	assert_string_equal(text_of(bth, "document"), "IBTA volume 1");
	assert_string_equal(text_of(bth, "section"), "9.2");
	assert_int_equal(json_integer_value(json_object_get(bth, "offset")), 48);
	f = json_array_get(json_object_get(bth, "fields"), 3);
	assert_string_equal(json_string_value(json_array_get(f, 0)), "PadCnt");
	assert_int_equal(json_integer_value(json_array_get(f, 1)), 10);
	assert_int_equal(json_integer_value(json_array_get(f, 2)), 2);
	assert_true(json_is_integer(json_array_get(f, 3)));
	f = json_array_get(json_object_get(grh, "fields"), 7);
	assert_string_equal(json_string_value(json_array_get(f, 0)), "DGID");
	assert_string_equal(json_string_value(json_array_get(f, 3)),
			    "fe80000000000000b0b1b2b3b4b5b6b7");
	json_decref(o);
}

static void test_index(void **state)
{
	struct rig *r = *state;
	json_t *o, *list;

	fixtures_add(&r->all, solicitation(r, IP6_NONE, IP6_GROUP, NULL, 0));
	fixtures_add(&r->all, mad(r, MAD_CLASS_SM_DR, MAD_METHOD_SET, 0, SMP_ATTR_PORT_INFO));
	fixtures_sort(&r->all);
	o = written(put_index, &r->all);
	list = json_object_get(o, "fixtures");
	assert_string_equal(text_of(o, "profile"), "rfc4391");
	assert_int_equal(json_array_size(list), 2);
	assert_true(json_is_true(json_object_get(json_array_get(list, 0), "timed")));
	assert_true(json_is_false(json_object_get(json_array_get(list, 1), "timed")));
	assert_string_equal(text_of(json_array_get(list, 1), "json"), "dut-SubnSet-PortInfo.json");
	assert_string_equal(text_of(json_array_get(list, 1), "pcap"), "dut-SubnSet-PortInfo.pcap");
	json_decref(o);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_headers_and_crcs),
		TEST(test_arp),
		TEST(test_ibarp),
		TEST(test_options_with_addresses),
		TEST(test_other_options),
		TEST(test_echo_and_fragments),
		TEST(test_ip6_and_its_headers),
		TEST(test_reports_of_ip4),
		TEST(test_dhcp),
		TEST(test_neighbour_solicitations),
		TEST(test_records_of_the_sa),
		TEST(test_names_of_mads),
		TEST(test_first_of_a_kind_is_kept),
		TEST(test_json_of_a_packet),
		TEST(test_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

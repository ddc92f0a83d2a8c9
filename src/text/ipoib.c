/* SPDX-License-Identifier: BSD-2-Clause */
#include "text/print.h"

#include <inttypes.h>

#include "wire/arp.h"
#include "wire/ibarp.h"
#include "util/text.h"
#include "wire/ip.h"

static void add_ipv4(struct text *t, const uint8_t a[4])
{
	text_add(t, "%u.%u.%u.%u", a[0], a[1], a[2], a[3]);
}

static void add_ipv6(struct text *t, const uint8_t a[16])
{
	char s[PRINT_GID_LEN];
	ib_gid g;

	memcpy(g.raw, a, sizeof(g.raw));
	text_add(t, "%s", print_gid(s, sizeof(s), &g));
}

const char *print_icmp(uint8_t type)
{
	switch (type) {
	case 0:
		return "echo reply";
	case 3:
		return "destination unreachable";
	case 5:
		return "redirect";
	case 8:
		return "echo request";
	case 11:
		return "time exceeded";
	default:
		return NULL;
	}
}

const char *print_icmp6(uint8_t type)
{
	switch (type) {
	case 1:
		return "destination unreachable";
	case 2:
		return "packet too big";
	case 3:
		return "time exceeded";
	case 128:
		return "echo request";
	case 129:
		return "echo reply";
	case 130:
		return "MLD query";
	case 131:
		return "MLDv1 report";
	case 132:
		return "MLDv1 done";
	case 143:
		return "MLDv2 report";
	case ICMP6_RS:
		return "router solicitation";
	case ICMP6_RA:
		return "router advertisement";
	case ICMP6_NS:
		return "neighbor solicitation";
	case ICMP6_NA:
		return "neighbor advertisement";
	case ICMP6_REDIRECT:
		return "redirect";
	default:
		return NULL;
	}
}

const char *print_igmp(uint8_t type)
{
	switch (type) {
	case 0x11:
		return "query";
	case 0x12:
		return "v1 report";
	case 0x16:
		return "v2 report";
	case 0x17:
		return "leave";
	case 0x22:
		return "v3 report";
	default:
		return NULL;
	}
}

static void add_type(struct text *t, const char *proto, const char *name, uint8_t type)
{
	if (name)
		text_add(t, " %s %s", proto, name);
	else
		text_add(t, " %s type %u", proto, type);
}

static void add_link_info(struct text *t, const struct nd_port *a)
{
	static const char *const names[] = { "UC", "RC", "RE", "R6", "QPN" };
	char s[PRINT_GID_LEN];

	text_add(t, "LID %u QPN 0x%06x Q_Key 0x%08x GID %s", a->lid, a->lladdr.qpn, a->qkey,
		 print_gid(s, sizeof(s), &a->lladdr.gid));
	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (a->lladdr.flags & (ND_CAP_UC >> i))
			text_add(t, " %s", names[i]);
}

static void add_ibarp_hw(struct text *t, const struct nd_port *a)
{
	char s[PRINT_GID_LEN];

	text_add(t, "EUI-64 %016" PRIx64 " QPN 0x%06x Q_Key 0x%08x GID %s", a->eui64, a->lladdr.qpn,
		 a->qkey, print_gid(s, sizeof(s), &a->lladdr.gid));
}

/*
 * Forms of link-layer address options: on links with the encapsulation header of RFC 4391, on links
 * without a header (profile v6ib00), and on links with the header of profile encaparp00
 */
enum nd_form {
	ND_FORM_RFC4391,
	ND_FORM_LINK_INFO,
	ND_FORM_IBARP,
};

/* Add a source or target link-layer address. */
static void add_nd_option(struct text *t, const struct nd_opt *o, enum nd_form form)
{
	const char *name = o->type == ND_OPT_SLLA ? "source" : "target";
	char s[3 * IPOIB_ALEN];
	struct ipoib_lladdr a;
	struct nd_port port;

	if (!nd_opt_lladdr_decode(&a, o)) {
		text_add(t, " %s %s", name, print_lladdr(s, sizeof(s), &a));
	} else if (form == ND_FORM_LINK_INFO && !nd_opt_link_info_decode(&port, o)) {
		text_add(t, " %s ", name);
		add_link_info(t, &port);
	} else if (form == ND_FORM_IBARP && !nd_opt_ibarp_decode(&port, o)) {
		text_add(t, " %s ", name);
		add_ibarp_hw(t, &port);
	}
}

/* Add the target address and the link-layer addresses of an ND message. */
static void add_nd(struct text *t, const uint8_t *p, size_t len, enum nd_form form)
{
	size_t pos = nd_fixed_len(p[0]);
	struct nd_opt o;

	if (!pos || len < pos)
		return;
	if (p[0] == ICMP6_NS || p[0] == ICMP6_NA || p[0] == ICMP6_REDIRECT) {
		text_add(t, " target ");
		add_ipv6(t, p + 8);
	}
	while (nd_opt_next(&o, p, len, &pos) == 1)
		add_nd_option(t, &o, form);
}

static void add_tcp(struct text *t, const uint8_t *p, size_t len)
{
	static const char names[] = "FSRPAUEC"; /* letters of the flags, least significant first */

	text_add(t, " seq %u ack %u flags ", be32_at(p + 4), be32_at(p + 8));
	for (unsigned int i = 0; i < 8; i++)
		if (p[13] & (1u << i))
			text_add(t, "%c", names[i]);
	text_add(t, " window %u", be16_at(p + 14));
}

/* Add the header of the transport protocol @proto, which has @len octets at @p. */
static void add_l4(struct text *t, uint8_t proto, const uint8_t *p, size_t len, enum nd_form form)
{
	if (proto == PROTO_ICMP && len >= 1) {
		add_type(t, "ICMP", print_icmp(p[0]), p[0]);
	} else if (proto == PROTO_ICMPV6 && len >= 1) {
		add_type(t, "ICMPv6", print_icmp6(p[0]), p[0]);
		add_nd(t, p, len, form);
	} else if (proto == PROTO_IGMP && len >= 1) {
		add_type(t, "IGMP", print_igmp(p[0]), p[0]);
	} else if (proto == PROTO_UDP && len >= 8) {
		text_add(t, " UDP %u > %u length %u", be16_at(p), be16_at(p + 2), be16_at(p + 4));
	} else if (proto == PROTO_TCP && len >= 20) {
		text_add(t, " TCP %u > %u", be16_at(p), be16_at(p + 2));
		add_tcp(t, p, len);
	} else {
		text_add(t, " protocol %u", proto);
	}
}

static void add_ip4(struct text *t, const uint8_t *p, size_t len)
{
	size_t ihl, total;

	if (len < 20 || p[0] >> 4 != 4) {
		text_add(t, "IPv4, malformed");
		return;
	}
	ihl = 4u * (p[0] & 0xf);
	total = be16_at(p + 2);
	text_add(t, "IPv4 ");
	add_ipv4(t, p + 12);
	text_add(t, " > ");
	add_ipv4(t, p + 16);
	if (ihl < 20 || ihl > total || total > len) {
		text_add(t, ", malformed: header %zu, total %zu of %zu octets", ihl, total, len);
		return;
	}
	if (be16_at(p + 6) & IPV4_OFFSET) {
		text_add(t, " fragment at %u protocol %u", 8 * (be16_at(p + 6) & IPV4_OFFSET),
			 p[9]);
		return;
	}
	add_l4(t, p[9], p + ihl, total - ihl, ND_FORM_RFC4391);
}

static void add_ip6(struct text *t, const uint8_t *p, size_t len, enum nd_form form)
{
	size_t pay, skip = 0;
	uint8_t proto;

	if (len < IPV6_LEN || p[0] >> 4 != 6) {
		text_add(t, "IPv6, malformed");
		return;
	}
	pay = be16_at(p + 4);
	proto = p[6];
	text_add(t, "IPv6 ");
	add_ipv6(t, p + 8);
	text_add(t, " > ");
	add_ipv6(t, p + 24);
	if (pay > len - IPV6_LEN) {
		text_add(t, ", malformed: payload %zu of %zu octets", pay, len - IPV6_LEN);
		return;
	}
	p += IPV6_LEN;
	/*
	 * MLD messages have a hop-by-hop options header with a Router Alert (RFC 2710 section 3).
	 */
	if (proto == PROTO_HOPOPT && pay >= 8) {
		proto = p[0];
		skip = 8u * (p[1] + 1u);
		if (skip > pay) {
			text_add(t, ", malformed: hop-by-hop options");
			return;
		}
	}
	add_l4(t, proto, p + skip, pay - skip, form);
}

static void add_arp(struct text *t, const char *name, const uint8_t *p, size_t len)
{
	struct ipoib_lladdr a = { 0 };
	char s[3 * IPOIB_ALEN];
	struct arp_pkt arp;

	if (arp_decode(&arp, p, len) || arp.hrd != ARP_HRD_INFINIBAND) {
		text_add(t, "%s, malformed", name);
		return;
	}
	if (arp.op == ARP_OP_REQUEST) {
		text_add(t, "%s who-has ", name);
		add_ipv4(t, arp.tpa);
		text_add(t, " tell ");
	} else if (arp.op == ARP_OP_REPLY) {
		text_add(t, "%s reply ", name);
	} else {
		text_add(t, "%s operation %u ", name, arp.op);
	}
	add_ipv4(t, arp.spa);
	if (!ipoib_lladdr_decode(&a, arp.sha, sizeof(arp.sha)))
		text_add(t, " at %s", print_lladdr(s, sizeof(s), &a));
	if (arp.op == ARP_OP_RREPLY && !ipoib_lladdr_decode(&a, arp.tha, sizeof(arp.tha))) {
		text_add(t, " to ");
		add_ipv4(t, arp.tpa);
		text_add(t, " at %s", print_lladdr(s, sizeof(s), &a));
	}
}

/*
 * Add an IBARP message. A request has only the link-layer address of the sender. The reply has the
 * link-layer address of the target, for which the request asks.
 */
static void add_ibarp(struct text *t, const uint8_t *p, size_t len)
{
	struct ibarp_pkt a;

	if (ibarp_decode(&a, p, len)) {
		text_add(t, "IBARP, malformed");
		return;
	}
	if (a.op == ARP_OP_REQUEST) {
		text_add(t, "IBARP who-has ");
		add_ipv4(t, a.tpa);
		text_add(t, " tell ");
		add_ipv4(t, a.spa);
	} else {
		text_add(t, "IBARP reply to ");
		add_ipv4(t, a.spa);
		text_add(t, " ");
		add_ipv4(t, a.tpa);
	}
	text_add(t, " at ");
	add_ibarp_hw(t, a.op == ARP_OP_REQUEST ? &a.sender : &a.target);
}

/*
 * Add a packet of profile encaparp00, whose header is two zero octets and then the ethertype. The
 * caller has seen that the first two octets are zero. Return: false if the ethertype is unknown.
 */
static bool add_reserved_type(struct text *t, const uint8_t *p, size_t len)
{
	uint16_t type = be16_at(p + 2);
	const uint8_t *o = p + IPOIB_HDR_LEN;

	len -= IPOIB_HDR_LEN;
	if (type == ETH_P_ARP4 || (type == ETH_P_IPV4 && ibarp_is(o, len)))
		add_ibarp(t, o, len);
	else if (type == ETH_P_IPV4)
		add_ip4(t, o, len);
	else if (type == ETH_P_IPV6_)
		add_ip6(t, o, len, ND_FORM_IBARP);
	else
		return false;
	return true;
}

char *print_ipoib(char *buf, size_t size, const void *p, size_t len)
{
	struct text t = { .buf = buf, .size = size };
	const uint8_t *o = (const uint8_t *)p + IPOIB_HDR_LEN;
	int type = ipoib_hdr_decode(p, len);

	/*
	 * profile v6ib00: packets have no encapsulation header, and an IPv6 packet begins with the
	 * nibble 6. No ethertype of IPoIB begins with this nibble.
	 */
	if (len >= IPV6_LEN && *(const uint8_t *)p >> 4 == 6) {
		add_ip6(&t, p, len, ND_FORM_LINK_INFO);
		return buf;
	}
	if (type < 0) {
		text_add(&t, "%zu octets, less than an IPoIB header", len);
		return buf;
	}
	if (!type && add_reserved_type(&t, p, len))
		return buf;
	len -= IPOIB_HDR_LEN;
	switch (type) {
	case ETH_P_IPV4:
		add_ip4(&t, o, len);
		break;
	case ETH_P_IPV6_:
		add_ip6(&t, o, len, ND_FORM_RFC4391);
		break;
	case ETH_P_ARP4:
		add_arp(&t, "ARP", o, len);
		break;
	case ETH_P_RARP4:
		add_arp(&t, "RARP", o, len);
		break;
	default:
		text_add(&t, "ethertype 0x%04x, %zu octets", type, len);
	}
	return buf;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "eth/report.h"
#include "wire/inet.h"
#include "wire/ip.h"

/* Parser of the IGMP (RFC 1112, 2236, 3376) and MLD (RFC 2710, 3810) reports that hosts send. */

#define IGMP_V1_REPORT 0x12
#define IGMP_V2_REPORT 0x16
#define IGMP_V2_LEAVE 0x17
#define IGMP_V3_REPORT 0x22
#define MLD_V1_REPORT 131
#define MLD_V1_DONE 132
#define MLD_V2_REPORT 143

/* Types of group records, RFC 3376 §4.2.12, RFC 3810 §5.2.12. */
enum record { IS_IN = 1, IS_EX, TO_IN, TO_EX, ALLOW, BLOCK };

struct walk {
	enum ipoib_proto proto;
	void (*fn)(void *ctx, const struct eth_report *r);
	void *ctx;
};

static void tell(const struct walk *w, const uint8_t *group, bool join)
{
	struct eth_report r = { .proto = w->proto, .join = join };

	memcpy(r.group, group, w->proto == IPOIB_IPV4 ? 4 : 16);
	w->fn(w->ctx, &r);
}

/*
 * Reduces a group record to a join or a leave. InfiniBand groups cannot select sources, so a host
 * that selects some sources joins the whole group, and INCLUDE with no source is a leave. BLOCK
 * removes sources but does not show whether any source remains, so BLOCK is ignored. Types that are
 * not listed in the switch are ignored, too (RFC 3376 §4.2.12).
 */
static void record(const struct walk *w, uint8_t type, unsigned int nsrc, const uint8_t *group)
{
	switch (type) {
	case IS_EX:
	case TO_EX:
		tell(w, group, true);
		break;
	case IS_IN:
	case TO_IN:
		tell(w, group, nsrc != 0);
		break;
	case ALLOW:
		if (nsrc)
			tell(w, group, true);
		break;
	default:
		break;
	}
}

/*
 * Parses group records. Each record consists of a type, the number of auxiliary words, the number
 * of sources, the group, the addresses of the sources, and the auxiliary words.
 */
static void records(const struct walk *w, const uint8_t *p, size_t len, unsigned int n)
{
	size_t alen = w->proto == IPOIB_IPV4 ? 4 : 16;

	while (n-- && len >= 4 + alen) {
		unsigned int nsrc = be16_at(p + 2);
		size_t size = 4 + alen + nsrc * alen + p[1] * 4u;

		if (size > len)
			return;
		record(w, p[0], nsrc, p + 4);
		p += size;
		len -= size;
	}
}

static bool parse_igmp(struct walk *w, const uint8_t *ip, size_t len)
{
	size_t ihl = (ip[0] & 0x0f) * 4u;
	const uint8_t *p;

	w->proto = IPOIB_IPV4;
	if (ip[9] != PROTO_IGMP || (be16_at(ip + 6) & IPV4_FRAGMENT) || ihl < IPV4_LEN ||
	    len < ihl + 8)
		return false;
	p = ip + ihl;
	len -= ihl;
	if (inet_fold(inet_sum(0, p, len)))
		return false;
	switch (p[0]) {
	case IGMP_V1_REPORT:
	case IGMP_V2_REPORT:
	case IGMP_V2_LEAVE:
		tell(w, p + 4, p[0] != IGMP_V2_LEAVE);
		return true;
	case IGMP_V3_REPORT:
		records(w, p + 8, len - 8, be16_at(p + 6));
		return true;
	default:
		return false;
	}
}

static bool parse_icmp6(struct walk *w, const uint8_t *ip, const uint8_t *p, size_t len)
{
	uint32_t pseudo = inet_pseudo6(ip + 8, ip + 24, PROTO_ICMPV6, (uint32_t)len);

	if (len < 8 || inet_fold(inet_sum(pseudo, p, len)))
		return false;
	switch (p[0]) {
	case MLD_V1_REPORT:
	case MLD_V1_DONE:
		if (len < 24)
			return false;
		tell(w, p + 8, p[0] == MLD_V1_REPORT);
		return true;
	case MLD_V2_REPORT:
		records(w, p + 8, len - 8, be16_at(p + 6));
		return true;
	default:
		return false;
	}
}

/* Parses an MLD message, which follows a hop-by-hop header with the router alert option. */
static bool parse_mld(struct walk *w, const uint8_t *ip, size_t len)
{
	const uint8_t *p = ip + IPV6_LEN;
	uint8_t next = ip[6];

	w->proto = IPOIB_IPV6;
	len -= IPV6_LEN;
	if (next == PROTO_HOPOPT) {
		size_t n;

		if (len < 8)
			return false;
		n = (p[1] + 1u) * 8;
		if (len < n)
			return false;
		next = p[0];
		p += n;
		len -= n;
	}
	return next == PROTO_ICMPV6 && parse_icmp6(w, ip, p, len);
}

bool eth_report_maybe(const uint8_t *ip)
{
	if (ip[0] >> 4 == 4)
		return ip[9] == PROTO_IGMP;
	return ip[6] == PROTO_HOPOPT || ip[6] == PROTO_ICMPV6;
}

bool eth_report_parse(const uint8_t *ip, size_t len,
		      void (*fn)(void *ctx, const struct eth_report *r), void *ctx)
{
	struct walk w = { .fn = fn, .ctx = ctx };

	if (len >= IPV4_LEN && ip[0] >> 4 == 4)
		return parse_igmp(&w, ip, len);
	return len >= IPV6_LEN && ip[0] >> 4 == 6 && parse_mld(&w, ip, len);
}

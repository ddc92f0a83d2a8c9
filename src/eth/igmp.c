/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "eth/priv.h"

/* Reports of IGMP (RFC 1112, 2236, 3376) and MLD (RFC 2710, 3810), as a host sends them. */

#define PROTO_IGMP 2
#define PROTO_HOPOPTS 0
#define PROTO_ICMPV6 58
#define IGMP_V1_REPORT 0x12
#define IGMP_V2_REPORT 0x16
#define IGMP_V2_LEAVE 0x17
#define IGMP_V3_REPORT 0x22
#define MLD_V1_REPORT 131
#define MLD_V1_DONE 132
#define MLD_V2_REPORT 143

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

/* Group records: type, auxiliary words, sources, group, addresses. */
static void records(const struct walk *w, const uint8_t *p, size_t len, unsigned int n)
{
	size_t alen = w->proto == IPOIB_IPV4 ? 4 : 16;

	while (n-- && len >= 4 + alen) {
		unsigned int nsrc = be16_at(p + 2);
		size_t size = 4 + alen + nsrc * alen + p[1] * 4u;

		if (p[0] == IS_EX || p[0] == TO_EX || (nsrc && p[0] != BLOCK))
			tell(w, p + 4, true);
		else if (p[0] == TO_IN || p[0] == IS_IN)
			tell(w, p + 4, false);
		if (size > len)
			return;
		p += size;
		len -= size;
	}
}

static bool parse_igmp(struct walk *w, const uint8_t *ip, size_t len)
{
	size_t ihl = (ip[0] & 0x0f) * 4u;
	const uint8_t *p = ip + ihl;

	w->proto = IPOIB_IPV4;
	if (ip[9] != PROTO_IGMP || ihl < 20 || len < ihl + 8)
		return false;
	switch (p[0]) {
	case IGMP_V1_REPORT:
	case IGMP_V2_REPORT:
	case IGMP_V2_LEAVE:
		tell(w, p + 4, p[0] != IGMP_V2_LEAVE);
		return true;
	case IGMP_V3_REPORT:
		records(w, p + 8, len - ihl - 8, be16_at(p + 6));
		return true;
	default:
		return false;
	}
}

/* MLD comes behind a hop-by-hop header with the router alert option. */
static bool parse_mld(struct walk *w, const uint8_t *ip, size_t len)
{
	const uint8_t *p = ip + 40;
	uint8_t next = ip[6];
	size_t left = len - 40;

	w->proto = IPOIB_IPV6;
	if (next == PROTO_HOPOPTS) {
		size_t n;

		if (left < 8)
			return false;
		n = (p[1] + 1u) * 8;
		if (left < n)
			return false;
		next = p[0];
		p += n;
		left -= n;
	}
	if (next != PROTO_ICMPV6 || left < 8)
		return false;
	switch (p[0]) {
	case MLD_V1_REPORT:
	case MLD_V1_DONE:
		if (left < 24)
			return false;
		tell(w, p + 8, p[0] == MLD_V1_REPORT);
		return true;
	case MLD_V2_REPORT:
		records(w, p + 8, left - 8, be16_at(p + 6));
		return true;
	default:
		return false;
	}
}

bool eth_report_parse(const uint8_t *ip, size_t len,
		      void (*fn)(void *ctx, const struct eth_report *r), void *ctx)
{
	struct walk w = { .fn = fn, .ctx = ctx };

	if (len >= 20 && ip[0] >> 4 == 4)
		return parse_igmp(&w, ip, len);
	return len >= 40 && ip[0] >> 4 == 6 && parse_mld(&w, ip, len);
}

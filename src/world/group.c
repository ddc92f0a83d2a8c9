/* SPDX-License-Identifier: BSD-2-Clause */
#include "world/group.h"

#include <stdlib.h>

#include "text/print.h"
#include "world/ip.h"
#include "world/match.h"
#include "world/sa.h"

static void parse_ip4(uint8_t ret[4], const char *text)
{
	for (unsigned int i = 0; i < 4; i++, text++)
		ret[i] = (uint8_t)strtoul(text, (char **)&text, 10);
}

struct ip_group group_of(const struct world *w, const char *ip4, const char *ip6)
{
	struct ip_group g = { .text = w->wire->arp ? ip4 : ip6, .v6 = !w->wire->arp };
	ib_gid gid = { 0 };

	if (g.v6) {
		print_gid_parse(&gid, ip6);
		memcpy(g.ip, gid.raw, 16);
		g.mgid = sa_mgid_ip6(w, g.ip);
	} else {
		parse_ip4(g.ip, ip4);
		g.mgid = sa_mgid_ip4(w, g.ip);
	}
	return g;
}

bool to_group_of(const struct seen *s, const void *arg)
{
	const struct ip_group *g = arg;

	return g->v6 ? ip6_to(s, g->ip) : ip4_to(s, g->ip);
}

bool igmp_reports(const struct seen *s, const void *group)
{
	const uint8_t *ip = s->net;

	if (data_type(s) != TYPE_IP4 || s->net_len < 28 || ip[9] != 2)
		return false;
	for (size_t at = (ip[0] & 15u) * 4 + 4; at + 4 <= s->net_len; at += 4)
		if (!memcmp(ip + at, group, 4))
			return true;
	return false;
}

bool mld_reports(const struct seen *s, const void *group)
{
	static const uint8_t mld[16] = { 0xff, 2, [15] = 0x16 };

	if (!ip6_to(s, mld))
		return false;
	for (size_t at = IPV6_LEN; at + 16 <= s->net_len; at += 4)
		if (!memcmp(s->net + at, group, 16))
			return true;
	return false;
}

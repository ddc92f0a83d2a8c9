/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/eth_report.h"

static const uint8_t igmpv3_dst[4] = { 224, 0, 0, 22 }, all_routers4[4] = { 224, 0, 0, 2 };
const uint8_t report_mldv2_dst[16] = { 0xff, 2, [15] = 0x16 };

void report_mend_igmp(uint8_t *ip, size_t len)
{
	size_t ihl = (ip[0] & 15) * 4u;

	be16_put(ip + ihl + 2, 0);
	be16_put(ip + ihl + 2, (uint16_t)~er_sum(ip + ihl, len - ihl, 0));
}

size_t report_igmp(uint8_t *b, uint8_t type, const uint8_t group[4])
{
	uint8_t m[8] = { type };
	const uint8_t *dst = type == V2_LEAVE ? all_routers4 : group;
	size_t n;

	memcpy(m + 4, group, 4);
	n = er_ip4(b, er_ip_own, dst, 2, m, sizeof(m));
	report_mend_igmp(b, n);
	return n;
}

static size_t records(uint8_t *m, size_t alen, const struct report_rec *r, unsigned int n)
{
	size_t at = 8;

	be16_put(m + 6, (uint16_t)n);
	for (unsigned int i = 0; i < n; i++) {
		size_t size = 4 + alen + r[i].nsrc * alen + r[i].aux * 4u;

		memset(m + at, 0xe5, size);
		m[at] = r[i].type;
		m[at + 1] = r[i].aux;
		be16_put(m + at + 2, r[i].nsrc);
		memcpy(m + at + 4, r[i].group, alen);
		at += size;
	}
	return at;
}

/* Write an IGMPv3 report. It has the IP option Router Alert, as RFC 3376 §4 requires of reports. */
size_t report_igmp3(uint8_t *b, const struct report_rec *r, unsigned int n)
{
	uint8_t m[2000] = { 0x94, 4, 0, 0, V3_REPORT };
	size_t len = er_ip4(b, er_ip_own, igmpv3_dst, 2, m, 4 + records(m + 4, 4, r, n));

	b[0] = 0x46;
	be16_put(b + 10, 0);
	be16_put(b + 10, (uint16_t)~er_sum(b, 24, 0));
	report_mend_igmp(b, len);
	return len;
}

void report_mend_mld(uint8_t *b, size_t len)
{
	size_t l4 = b[6] == 0 ? 48 : 40;
	uint32_t pseudo = er_sum(b + 8, 32, (uint32_t)(58 + len - l4));

	be16_put(b + l4 + 2, 0);
	be16_put(b + l4 + 2, (uint16_t)~er_sum(b + l4, len - l4, pseudo));
}

size_t report_mld(uint8_t *b, uint8_t type, const uint8_t group[16])
{
	uint8_t m[32] = { 58, 0, 5, 2, 0, 0, 1, 0, type };
	size_t n;

	memcpy(m + 16, group, 16);
	n = er_ip6(b, er_ll_own, group, 0, 1, m, sizeof(m));
	report_mend_mld(b, n);
	return n;
}

size_t report_mld2(uint8_t *b, const struct report_rec *r, unsigned int n)
{
	uint8_t m[2000] = { 58, 0, 5, 2, 0, 0, 1, 0, MLD2_REPORT };
	size_t len = er_ip6(b, er_ll_own, report_mldv2_dst, 0, 1, m, 8 + records(m + 8, 16, r, n));

	report_mend_mld(b, len);
	return len;
}

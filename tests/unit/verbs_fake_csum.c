/* SPDX-License-Identifier: BSD-2-Clause */

/* The checksums of the imitated adapters, computed without src/wire/inet */

#include "unit/verbs_fake_priv.h"

#define ENCAP 4 /* octets of the encapsulation of RFC 4391 before the IP header */
#define IP_LEN 20

static uint32_t sum_of(const uint8_t *p, size_t n, uint32_t sum)
{
	for (size_t i = 0; i < n; i++)
		sum += (uint32_t)(i % 2 ? p[i] : p[i] << 8);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/*
 * Return the offset of the TCP or UDP checksum in an IPv4 packet with encapsulation; 0: the adapter
 * finds none
 */
static size_t field_of(const uint8_t *pkt, size_t len)
{
	const uint8_t *ip = pkt + ENCAP;
	size_t at;

	if (len < ENCAP + IP_LEN || pkt[0] != 8 || pkt[1] || ip[0] != 0x45 ||
	    (ip[6] << 8 | ip[7]) & 0x3fff)
		return 0;
	at = ip[9] == 6 ? 16 : ip[9] == 17 ? 6 : 0;
	return at && ENCAP + IP_LEN + at + 2 <= len ? ENCAP + IP_LEN + at : 0;
}

/* Return the sum of the pseudo-header and of all octets behind the IP header. */
static uint32_t sum_l4(const uint8_t *pkt, size_t len)
{
	size_t n = len - ENCAP - IP_LEN;

	return sum_of(pkt + ENCAP + IP_LEN, n,
		      sum_of(pkt + ENCAP + 12, 8, (uint32_t)(pkt[ENCAP + 9] + n)));
}

void fake_csum_make(uint8_t *pkt, size_t len)
{
	size_t at = field_of(pkt, len);
	uint32_t sum;

	assert_int_not_equal(at, 0); /* src/verbs asks for no other checksum */
	pkt[at] = pkt[at + 1] = 0;
	sum = ~sum_l4(pkt, len) & 0xffff;
	if (!sum && pkt[ENCAP + 9] == 17)
		sum = 0xffff;
	pkt[at] = (uint8_t)(sum >> 8);
	pkt[at + 1] = (uint8_t)sum;
}

bool fake_csum_right(const uint8_t *pkt, size_t len)
{
	return field_of(pkt, len) && sum_of(pkt + ENCAP, IP_LEN, 0) == 0xffff &&
	       sum_l4(pkt, len) == 0xffff;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

/*
 * The offloads of IPoIB: checksums of IP, TCP and UDP, and the headers of the segments of a large send. The packets have
 * the encapsulation header of RFC 4391, section 6, before the IP header.
 */

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/string.h>
#include <net/checksum.h>

#include "inet.h"

#define ENCAP_LEN 4
#define IP4_LEN_MIN 20
#define IP6_LEN 40
#define UDP_LEN 8
#define TCP_LEN_MIN 20
#define IP4_MORE_AND_OFFSET 0x3fff /* more fragments follow, or this is not the first one */
#define TCP_AT_SEQ 4
#define TCP_AT_FLAGS 13
#define TCP_FIN 0x01
#define TCP_PSH 0x08
#define TCP_CWR 0x80

/* An IP packet, and the TCP or UDP segment in it */
struct segment {
	u8 *ip, *l4; /* .l4: the octets after the IP header */
	u32 ip_len, l4_len; /* octets of the IP header, and after it */
	u8 proto; /* IPPROTO_TCP or IPPROTO_UDP; 0: another protocol, extension headers, or a fragment */
	bool v4;
};

/* Fill in @s, except .l4_len, from the IP header in the @len octets at @p. Return: false if there is none */
static bool find_header(struct segment *s, u8 *p, u32 len)
{
	u8 *ip = p + ENCAP_LEN;

	if (len < ENCAP_LEN + IP4_LEN_MIN)
		return false;
	*s = (struct segment){ .ip = ip };
	switch (get_unaligned_be16(p)) {
	case ETH_P_IP:
		s->v4 = true;
		s->ip_len = (ip[0] & 0xf) * 4;
		s->proto = get_unaligned_be16(ip + 6) & IP4_MORE_AND_OFFSET ? 0 : ip[9];
		break;
	case ETH_P_IPV6:
		s->ip_len = IP6_LEN;
		s->proto = ip[6];
		break;
	default:
		return false;
	}
	if (s->proto != IPPROTO_TCP && s->proto != IPPROTO_UDP)
		s->proto = 0;
	s->l4 = ip + s->ip_len;
	return ip[0] >> 4 == (s->v4 ? 4 : 6) && s->ip_len >= IP4_LEN_MIN &&
	       s->ip_len <= len - ENCAP_LEN;
}

/* Fill in @s for the @len octets at @p. Return: false if they are no IP packet */
static bool find(struct segment *s, u8 *p, u32 len)
{
	u32 total;

	if (!find_header(s, p, len))
		return false;
	total = s->v4 ? get_unaligned_be16(s->ip + 2) : IP6_LEN + get_unaligned_be16(s->ip + 4);
	if (total < s->ip_len || total > len - ENCAP_LEN)
		return false;
	s->l4_len = total - s->ip_len;
	if (s->l4_len < (s->proto == IPPROTO_TCP ? TCP_LEN_MIN : UDP_LEN))
		s->proto = 0;
	return true;
}

/* --- checksums */

static u8 *checksum_of(const struct segment *s)
{
	return s->l4 + (s->proto == IPPROTO_TCP ? 16 : 6);
}

/* Return the folded sum of the pseudo-header and the segment (RFC 9293, section 3.1). The sum of a good segment is 0. */
static __sum16 l4_sum(const struct segment *s)
{
	const u8 *addresses = s->ip + (s->v4 ? 12 : 8);
	__wsum sum = csum_partial(addresses, s->v4 ? 8 : 32, 0);

	sum = csum_add(sum, (__force __wsum)cpu_to_be32(s->l4_len));
	sum = csum_add(sum, (__force __wsum)cpu_to_be32(s->proto));
	return csum_fold(csum_partial(s->l4, s->l4_len, sum));
}

static __sum16 ip4_sum(const struct segment *s)
{
	return csum_fold(csum_partial(s->ip, s->ip_len, 0));
}

bool uib_inet_csum_ok(const u8 *p, u32 len)
{
	struct segment s;

	if (!find(&s, (u8 *)p, len) || !s.proto || (s.v4 && ip4_sum(&s)))
		return false;
	/* A UDP datagram without a checksum is left to the IP stack, because there is nothing to check. */
	if (s.proto == IPPROTO_UDP &&
	    (!get_unaligned_be16(checksum_of(&s)) || get_unaligned_be16(s.l4 + 4) != s.l4_len))
		return false;
	return !l4_sum(&s);
}

void uib_inet_csum_put(u8 *p, u32 len)
{
	struct segment s;
	__sum16 sum;

	if (!find(&s, p, len))
		return;
	if (s.v4) {
		memset(s.ip + 10, 0, sizeof(sum));
		sum = ip4_sum(&s);
		memcpy(s.ip + 10, &sum, sizeof(sum));
	}
	if (!s.proto)
		return;
	memset(checksum_of(&s), 0, sizeof(sum));
	sum = l4_sum(&s);
	/* In UDP, 0 means that there is no checksum (RFC 768). */
	if (!sum && s.proto == IPPROTO_UDP)
		sum = (__force __sum16)U16_MAX;
	memcpy(checksum_of(&s), &sum, sizeof(sum));
}

/* --- large sends */

bool uib_lso_ok(const u8 *hdr, u32 len)
{
	struct segment s;

	if (len > UIB_LSO_HDR_MAX || !find_header(&s, (u8 *)hdr, len) || s.proto != IPPROTO_TCP)
		return false;
	len -= ENCAP_LEN + s.ip_len;
	return len >= TCP_LEN_MIN && (s.l4[12] >> 4) * 4 == len;
}

void uib_lso_header(u8 *to, const u8 *hdr, u32 hdr_len, u32 index, u32 mss, u32 len, bool last)
{
	struct segment s;
	u8 *tcp;

	memcpy(to, hdr, hdr_len);
	find_header(&s, to, hdr_len);
	tcp = s.l4;
	if (s.v4) {
		put_unaligned_be16(hdr_len - ENCAP_LEN + len, s.ip + 2);
		put_unaligned_be16(get_unaligned_be16(s.ip + 4) + index, s.ip + 4);
	} else {
		put_unaligned_be16(hdr_len - ENCAP_LEN - IP6_LEN + len, s.ip + 4);
	}
	put_unaligned_be32(get_unaligned_be32(tcp + TCP_AT_SEQ) + index * mss, tcp + TCP_AT_SEQ);
	if (index)
		tcp[TCP_AT_FLAGS] &= ~TCP_CWR;
	if (!last)
		tcp[TCP_AT_FLAGS] &= ~(TCP_FIN | TCP_PSH);
}

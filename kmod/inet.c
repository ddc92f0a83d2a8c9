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
	u8 *ip, *l4; /* .l4 is NULL if the IP packet has another protocol, is a fragment or has extension headers */
	u32 ip_len, l4_len; /* octets of the IP header, and of the segment */
	u8 proto;
	bool v4;
};

static bool find_ip4(struct segment *s, u32 len)
{
	u32 total;

	if (len < IP4_LEN_MIN || s->ip[0] >> 4 != 4)
		return false;
	s->v4 = true;
	s->ip_len = (s->ip[0] & 0xf) * 4;
	total = get_unaligned_be16(s->ip + 2);
	if (s->ip_len < IP4_LEN_MIN || total < s->ip_len || total > len)
		return false;
	s->l4_len = total - s->ip_len;
	s->proto = get_unaligned_be16(s->ip + 6) & IP4_MORE_AND_OFFSET ? IPPROTO_RAW : s->ip[9];
	return true;
}

static bool find_ip6(struct segment *s, u32 len)
{
	if (len < IP6_LEN || s->ip[0] >> 4 != 6)
		return false;
	s->ip_len = IP6_LEN;
	s->l4_len = get_unaligned_be16(s->ip + 4);
	s->proto = s->ip[6];
	return s->l4_len <= len - IP6_LEN;
}

static u32 l4_len_min(u8 proto)
{
	switch (proto) {
	case IPPROTO_TCP:
		return TCP_LEN_MIN;
	case IPPROTO_UDP:
		return UDP_LEN;
	default:
		return U32_MAX;
	}
}

/* Fill in @s for the @len octets at @p. Return: false if they are no IP packet */
static bool find(struct segment *s, u8 *p, u32 len)
{
	bool found = false;

	*s = (struct segment){ .ip = p + ENCAP_LEN };
	if (len < ENCAP_LEN)
		return false;
	if (get_unaligned_be16(p) == ETH_P_IP)
		found = find_ip4(s, len - ENCAP_LEN);
	else if (get_unaligned_be16(p) == ETH_P_IPV6)
		found = find_ip6(s, len - ENCAP_LEN);
	if (found && s->l4_len >= l4_len_min(s->proto))
		s->l4 = s->ip + s->ip_len;
	return found;
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

	if (!find(&s, (u8 *)p, len) || !s.l4 || (s.v4 && ip4_sum(&s)))
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
	if (!s.l4)
		return;
	memset(checksum_of(&s), 0, sizeof(sum));
	sum = l4_sum(&s);
	/* In UDP, 0 means that there is no checksum (RFC 768). */
	if (!sum && s.proto == IPPROTO_UDP)
		sum = (__force __sum16)U16_MAX;
	memcpy(checksum_of(&s), &sum, sizeof(sum));
}

/* --- large sends */

static bool is_tcp_header(const u8 *ip, u32 ip_len, u8 proto, u32 len)
{
	return proto == IPPROTO_TCP && len >= ip_len + TCP_LEN_MIN &&
	       ip_len + (ip[ip_len + 12] >> 4) * 4 == len;
}

bool uib_lso_ok(const u8 *hdr, u32 len)
{
	const u8 *ip = hdr + ENCAP_LEN;

	if (len < ENCAP_LEN + IP4_LEN_MIN + TCP_LEN_MIN || len > UIB_LSO_HDR_MAX)
		return false;
	len -= ENCAP_LEN;
	switch (get_unaligned_be16(hdr)) {
	case ETH_P_IP:
		return ip[0] >> 4 == 4 && (ip[0] & 0xf) * 4 >= IP4_LEN_MIN &&
		       !(get_unaligned_be16(ip + 6) & IP4_MORE_AND_OFFSET) &&
		       is_tcp_header(ip, (ip[0] & 0xf) * 4, ip[9], len);
	case ETH_P_IPV6:
		return ip[0] >> 4 == 6 && is_tcp_header(ip, IP6_LEN, ip[6], len);
	default:
		return false;
	}
}

void uib_lso_header(u8 *to, const u8 *hdr, u32 hdr_len, u32 index, u32 mss, u32 len, bool last)
{
	u8 *ip = to + ENCAP_LEN, *tcp;

	memcpy(to, hdr, hdr_len);
	if (get_unaligned_be16(to) == ETH_P_IP) {
		tcp = ip + (ip[0] & 0xf) * 4;
		put_unaligned_be16(hdr_len - ENCAP_LEN + len, ip + 2);
		put_unaligned_be16(get_unaligned_be16(ip + 4) + index, ip + 4);
	} else {
		tcp = ip + IP6_LEN;
		put_unaligned_be16(hdr_len - ENCAP_LEN - IP6_LEN + len, ip + 4);
	}
	put_unaligned_be32(get_unaligned_be32(tcp + TCP_AT_SEQ) + index * mss, tcp + TCP_AT_SEQ);
	if (index)
		tcp[TCP_AT_FLAGS] &= ~TCP_CWR;
	if (!last)
		tcp[TCP_AT_FLAGS] &= ~(TCP_FIN | TCP_PSH);
}

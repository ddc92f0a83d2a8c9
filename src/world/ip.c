/* SPDX-License-Identifier: BSD-2-Clause */
#include "world/ip.h"

#include <string.h>

#include "util/be.h"
#include "wire/inet.h"

static void put_ip4(uint8_t *ip, const uint8_t src[4], const uint8_t dst[4], uint16_t id,
		    uint16_t frag, uint8_t proto, size_t len)
{
	memset(ip, 0, IPV4_LEN);
	ip[0] = 0x45;
	be16_put(ip + 2, (uint16_t)len);
	be16_put(ip + 4, id);
	be16_put(ip + 6, frag);
	ip[8] = 64;
	ip[9] = proto;
	memcpy(ip + 12, src, 4);
	memcpy(ip + 16, dst, 4);
	be16_put(ip + 10, inet_fold(inet_sum(0, ip, IPV4_LEN)));
}

void ip4_put(uint8_t *ip, const uint8_t src[4], const uint8_t dst[4], uint16_t id, uint16_t frag,
	     size_t len)
{
	put_ip4(ip, src, dst, id, frag, PROTO_ICMP, len);
}

void udp4_put(uint8_t *ip, const uint8_t src[4], uint16_t sport, const uint8_t dst[4],
	      uint16_t dport, size_t len)
{
	uint8_t *udp = ip + IPV4_LEN;
	uint32_t pseudo;

	len += UDP_LEN;
	pseudo = inet_pseudo4(src, dst, PROTO_UDP, (uint32_t)len);
	put_ip4(ip, src, dst, 0, 0, PROTO_UDP, IPV4_LEN + len);
	be16_put(udp, sport);
	be16_put(udp + 2, dport);
	be16_put(udp + 4, (uint16_t)len);
	be16_put(udp + 6, 0);
	be16_put(udp + 6, inet_fold_udp(inet_sum(pseudo, udp, len), true));
}

void ip6_put(uint8_t *ip, const uint8_t src[16], const uint8_t dst[16], uint8_t proto, size_t len)
{
	memset(ip, 0, IPV6_LEN);
	ip[0] = 0x60;
	be16_put(ip + 4, (uint16_t)len);
	ip[6] = proto;
	ip[7] = 255;
	memcpy(ip + 8, src, 16);
	memcpy(ip + 24, dst, 16);
}

void ip6_sum(uint8_t *icmp, const uint8_t src[16], const uint8_t dst[16], size_t len)
{
	be16_put(icmp + 2, 0);
	be16_put(icmp + 2, inet_fold(inet_sum(inet_pseudo6(src, dst, PROTO_ICMPV6, (uint32_t)len),
					      icmp, len)));
}

void icmp_echo(uint8_t *icmp, uint8_t type, uint16_t seq, size_t len)
{
	memset(icmp, 0, 8);
	icmp[0] = type;
	be16_put(icmp + 4, 0xc0f0);
	be16_put(icmp + 6, seq);
	for (size_t i = 8; i < len; i++)
		icmp[i] = (uint8_t)i;
}

void icmp_sum(uint8_t *icmp, size_t len)
{
	be16_put(icmp + 2, 0);
	be16_put(icmp + 2, inet_fold(inet_sum(0, icmp, len)));
}

void ip6_solicited_node(uint8_t ret[16], const uint8_t ip[16])
{
	static const uint8_t group[13] = { 0xff, 2, [11] = 1, [12] = 0xff };

	memcpy(ret, group, 13);
	memcpy(ret + 13, ip + 13, 3);
}

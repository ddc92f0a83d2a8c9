/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORLD_IP_H
#define WORLD_IP_H

/* Writers of IP and ICMP packets */

#include <stddef.h>
#include <stdint.h>

#include "wire/ip.h"

#define ECHO_REQUEST 8
#define ECHO_REPLY 0
#define ECHO6_REQUEST 128
#define ECHO6_REPLY 129
#define ND_RA 134
#define ND_NS 135
#define ND_NA 136
#define ND_FIXED 24 /* octets of a solicitation or advertisement before the options */

/*
 * ip4_put() - Write an IPv4 header with ICMP as its protocol; @frag is the 16-bit field with the
 * flags and the fragment offset; @len includes the header
 */
void ip4_put(uint8_t *ip, const uint8_t src[4], const uint8_t dst[4], uint16_t id, uint16_t frag,
	     size_t len);
/* udp4_put() - Write the headers of IPv4 and UDP before @len octets of data, which the buffer already holds */
void udp4_put(uint8_t *ip, const uint8_t src[4], uint16_t sport, const uint8_t dst[4],
	      uint16_t dport, size_t len);
/* ip6_put() - Write an IPv6 header for @len octets of payload; @proto is its Next Header value */
void ip6_put(uint8_t *ip, const uint8_t src[16], const uint8_t dst[16], uint8_t proto, size_t len);
/*
 * ip6_sum() - Fill in the checksum of @len octets of ICMPv6 at @icmp, in an IPv6 packet from @src
 * to @dst
 */
void ip6_sum(uint8_t *icmp, const uint8_t src[16], const uint8_t dst[16], size_t len);
/* icmp_echo() - Write an echo message of @len octets without a checksum */
void icmp_echo(uint8_t *icmp, uint8_t type, uint16_t seq, size_t len);
/* icmp_sum() - Fill in the checksum of an ICMPv4 message of @len octets */
void icmp_sum(uint8_t *icmp, size_t len);
/* ip6_solicited_node() - Write the solicited-node group of an address */
void ip6_solicited_node(uint8_t ret[16], const uint8_t ip[16]);

#endif

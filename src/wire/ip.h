/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_IP_H
#define WIRE_IP_H

/* Numbers of the IP headers (RFC 791, RFC 8200) that several rooms read or write */

#define IPV4_LEN 20 /* octets of a header without options */
#define IPV4_OFFSET \
	0x1fff /* mask of the fragment offset, in 8 octets, in the word of flags and offset */
#define IPV4_FRAGMENT \
	0x3fff /* the same with the flag More Fragments: 0 if the packet is no fragment */
#define IPV6_LEN 40
#define IPV6_FRAGMENT_LEN 8
#define UDP_LEN 8

/* Values of IPv4's protocol and IPv6's next header */
#define PROTO_HOPOPT 0
#define PROTO_ICMP 1
#define PROTO_IGMP 2
#define PROTO_TCP 6
#define PROTO_UDP 17
#define PROTO_FRAGMENT 44
#define PROTO_ICMPV6 58

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_IP_H
#define WIRE_IP_H

/* Constants of the IP headers (RFC 791, RFC 8200) that several folders of src/ use */

#define IPV4_LEN 20 /* octets of a header without options */
/* mask of the fragment offset (in units of 8 octets) in the word of flags and fragment offset */
#define IPV4_OFFSET 0x1fff
/* mask of the fragment offset and the flag More Fragments; both are 0 unless the packet is a fragment */
#define IPV4_FRAGMENT 0x3fff
#define IPV6_LEN 40
#define IPV6_FRAGMENT_LEN 8
#define UDP_LEN 8

/* Values of the Protocol field of IPv4 and the Next Header field of IPv6 */
#define PROTO_HOPOPT 0
#define PROTO_ICMP 1
#define PROTO_IGMP 2
#define PROTO_TCP 6
#define PROTO_UDP 17
#define PROTO_FRAGMENT 44
#define PROTO_ICMPV6 58

#endif

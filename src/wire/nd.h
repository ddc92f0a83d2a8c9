/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_ND_H
#define WIRE_ND_H

/*
 * Neighbour Discovery messages (RFC 4861) and their link-layer address options. The option of RFC
 * 4391 §9.3 has Length 3, two zero octets, and the link-layer address of 20 octets. The option of
 * draft-kashyap-ipoib-ipv6-over-ib-00 §5.1 has Length 4, LID, capability flags, QPN, Q_Key and GID.
 * The option of draft-pelissier-ipoib-encaparp-00 is in wire/ibarp.h.
 */

#include <stddef.h>

#include "wire/ipoib_hdr.h"

#define ICMP6_RS 133
#define ICMP6_RA 134
#define ICMP6_NS 135
#define ICMP6_NA 136
#define ICMP6_REDIRECT 137
#define ND_OPT_SLLA 1
#define ND_OPT_TLLA 2
#define ND_OPT_REDIRECTED 4
#define ND_OPT_MTU 5

struct nd_opt {
	uint8_t type;
	uint16_t len; /* octets of the option, type and length included */
	const uint8_t *data; /* first octet of the option, its type */
};

/*
 * nd_fixed_len() - Return the number of octets before the options of a message with this ICMPv6
 * type (RS 8, RA 16, NS 24, NA 24, Redirect 40); 0: not a Neighbour Discovery message
 */
unsigned int nd_fixed_len(uint8_t icmp_type);

/*
 * nd_opt_next() - Get the next option of @p, at offset *pos. Return: 1: the option is in @ret, and
 * *pos is the offset after the option; 0: no more options; -EBADMSG: an option has length 0, or
 * exceeds the message
 */
int nd_opt_next(struct nd_opt *ret, const uint8_t *p, size_t len, size_t *pos);

/*
 * The values of a port that a link-layer address option contains. Some formats of the option
 * contain only some of the values.
 */
struct nd_port {
	struct ipoib_lladdr lladdr;
	uint16_t lid; /* 0: unknown */
	bool has_qkey;
	uint32_t qkey; /* Q_Key of packets to the QP; valid only if .has_qkey is true */
	uint64_t eui64; /* low half of the port's GID at index 0; 0: unknown */
};

#define ND_OPT_LLADDR_ETHER 8
#define ND_OPT_LLADDR_IPOIB 24

#define ND_OPT_LINK_INFO 32
/*
 * Capability flags of draft-kashyap (§5.1.2), in the first 5 bits of an octet: the transports besides UD that a node
 * supports
 */
#define ND_CAP_UC 0x80
#define ND_CAP_RC 0x40
#define ND_CAP_RAW_ETHERTYPE 0x20
#define ND_CAP_RAW_IPV6 0x10
/* the node has separate QPs for the services, but all services also accept packets on the default QP */
#define ND_CAP_QPN 0x08

/*
 * nd_opt_lladdr_decode() - Decode an IPoIB source or target link-layer address option of 24 octets.
 * Return: 0 or -EBADMSG
 */
int nd_opt_lladdr_decode(struct ipoib_lladdr *ret, const struct nd_opt *o);
/* nd_opt_lladdr_encode() - Write the option of 24 octets, with two zero octets before the address */
void nd_opt_lladdr_encode(void *p, uint8_t type, const struct ipoib_lladdr *a);

/*
 * nd_opt_link_info_decode() - Decode the option of draft-kashyap; .lladdr.flags gets the option's
 * capability flags
 *
 * The draft says "Length: 32", but with the 48 bits of padding that it draws, the option exceeds 32
 * octets. The next multiple of 8 is 40. So options of 32 octets and options of 40 octets are
 * accepted. Return: 0; -EBADMSG: the option has another length, or it is neither a source nor a
 * target link-layer address option
 */
int nd_opt_link_info_decode(struct nd_port *ret, const struct nd_opt *o);
/* nd_opt_link_info_encode() - Write the option of 32 octets, with capability flags 0 */
void nd_opt_link_info_encode(void *p, uint8_t type, const struct nd_port *a);

#endif

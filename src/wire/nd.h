/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_ND_H
#define WIRE_ND_H

/*
 * Neighbour Discovery messages and their link-layer address options (RFC 4861,
 * RFC 4391 §9.3: Length 3, two zero octets, then the 20-octet address).
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
	uint16_t len; /* octets with type and length */
	const uint8_t *data; /* the option from its type octet on */
};

/*
 * nd_fixed_len() - Octets of the message before its options, by ICMPv6 type (RS 8,
 * RA 16, NS 24, NA 24, Redirect 40); 0: not an ND message
 */
unsigned int nd_fixed_len(uint8_t icmp_type);

/*
 * nd_opt_next() - Walk the options in [*pos, @len) of @p
 * Return: 1 an option in @ret, *pos advanced; 0 the end; -EBADMSG zero length or past the end
 */
int nd_opt_next(struct nd_opt *ret, const uint8_t *p, size_t len, size_t *pos);

#define ND_OPT_LLADDR_ETHER 8
#define ND_OPT_LLADDR_IPOIB 24

/* nd_opt_lladdr_decode() - An IPoIB SLLA/TLLA option (24 octets); 0 or -EBADMSG */
int nd_opt_lladdr_decode(struct ipoib_lladdr *ret, const struct nd_opt *o);
/* Writes 24 octets with two zero octets before the address. */
void nd_opt_lladdr_encode(void *p, uint8_t type, const struct ipoib_lladdr *a);

#endif

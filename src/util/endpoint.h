/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_ENDPOINT_H
#define UTIL_ENDPOINT_H

/* An IP address and a UDP port, for code that does not include the headers of sockets. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct ip_endpoint {
	uint8_t family; /* address family, 4 or 6; 0 for no address */
	uint16_t port; /* UDP port in host order */
	/*
	 * address in network order; IPv4 uses the first 4 octets, and the remaining 12 octets are 0
	 */
	uint8_t addr[16];
};

static inline bool ip_endpoint_same_addr(const struct ip_endpoint *a, const struct ip_endpoint *b)
{
	return a->family == b->family && !memcmp(a->addr, b->addr, sizeof(a->addr));
}

static inline bool ip_endpoint_equal(const struct ip_endpoint *a, const struct ip_endpoint *b)
{
	return a->port == b->port && ip_endpoint_same_addr(a, b);
}

/* ip_endpoint_is_loopback() - Tell whether the address is in 127.0.0.0/8 or is ::1 */
static inline bool ip_endpoint_is_loopback(const struct ip_endpoint *e)
{
	static const uint8_t lo6[16] = { [15] = 1 };

	return e->family == 4 ? e->addr[0] == 127 : !memcmp(e->addr, lo6, sizeof(lo6));
}

#endif

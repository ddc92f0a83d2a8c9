/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_ENDPOINT_H
#define UTIL_ENDPOINT_H

/* An IP address with a UDP port, without the headers of sockets. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct ip_endpoint {
	uint8_t family; /* 4 or 6; 0: none */
	uint16_t port; /* host order */
	uint8_t addr[16]; /* network order; IPv4: the first 4, the others 0 */
};

static inline bool ip_endpoint_same_addr(const struct ip_endpoint *a, const struct ip_endpoint *b)
{
	return a->family == b->family && !memcmp(a->addr, b->addr, sizeof(a->addr));
}

static inline bool ip_endpoint_equal(const struct ip_endpoint *a, const struct ip_endpoint *b)
{
	return a->port == b->port && ip_endpoint_same_addr(a, b);
}

/* 127.0.0.0/8 or ::1 */
static inline bool ip_endpoint_is_loopback(const struct ip_endpoint *e)
{
	static const uint8_t lo6[16] = { [15] = 1 };

	return e->family == 4 ? e->addr[0] == 127 : !memcmp(e->addr, lo6, sizeof(lo6));
}

#endif

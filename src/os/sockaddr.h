/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OS_SOCKADDR_H
#define OS_SOCKADDR_H

/* Conversion between struct ip_endpoint and a socket address */

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "util/endpoint.h"

union sockaddr_ip {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* Returns the length of the address. */
static inline socklen_t sockaddr_of(union sockaddr_ip *a, const struct ip_endpoint *e)
{
	memset(a, 0, sizeof(*a));
	if (e->family == 4) {
		a->in.sin_family = AF_INET;
		a->in.sin_port = htons(e->port);
		memcpy(&a->in.sin_addr, e->addr, 4);
		return sizeof(a->in);
	}
	a->in6.sin6_family = AF_INET6;
	a->in6.sin6_port = htons(e->port);
	memcpy(&a->in6.sin6_addr, e->addr, 16);
	return sizeof(a->in6);
}

/* Return the endpoint of a socket address; all zeros if it is not an IP address */
static inline struct ip_endpoint endpoint_of(const union sockaddr_ip *a)
{
	struct ip_endpoint e = { 0 };

	if (a->sa.sa_family == AF_INET) {
		e.family = 4;
		e.port = ntohs(a->in.sin_port);
		memcpy(e.addr, &a->in.sin_addr, 4);
	} else if (a->sa.sa_family == AF_INET6) {
		e.family = 6;
		e.port = ntohs(a->in6.sin6_port);
		memcpy(e.addr, &a->in6.sin6_addr, 16);
	}
	return e;
}

#endif

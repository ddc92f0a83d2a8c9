/* SPDX-License-Identifier: BSD-2-Clause */
#include "web/host.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#define HOST_MAX 256 /* longest name of a host in the DNS, and a NUL */

/*
 * Tell whether the text after the host is a valid end of a Host header: "", or ":" with up to five
 * digits
 */
static bool is_port(const char *s)
{
	size_t n;

	if (!*s)
		return true;
	n = strspn(s + 1, "0123456789");
	return *s == ':' && n > 0 && n <= 5 && !s[1 + n];
}

/*
 * Copy the host part of a Host header, without brackets and port, to @ret. Return: false if the
 * header contains no valid host
 */
static bool split(char ret[HOST_MAX], const char *host, bool *ret_v6)
{
	const char *end;

	*ret_v6 = *host == '[';
	host += *ret_v6;
	end = host + strcspn(host, *ret_v6 ? "]" : ":");
	if (end == host || end - host >= HOST_MAX || (*ret_v6 && *end != ']'))
		return false;
	memcpy(ret, host, (size_t)(end - host));
	ret[end - host] = '\0';
	return is_port(end + *ret_v6);
}

bool web_host_ok(const char *host, const char *const *names)
{
	char name[HOST_MAX];
	struct in6_addr addr;
	bool v6;

	if (!host || !split(name, host, &v6))
		return false;
	if (v6)
		return inet_pton(AF_INET6, name, &addr) == 1;
	if (inet_pton(AF_INET, name, &addr) == 1 || !strcasecmp(name, "localhost"))
		return true;
	for (; *names; names++)
		if (!strcasecmp(name, *names))
			return true;
	return false;
}

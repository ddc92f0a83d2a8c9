/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/conf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int conf_parse_uint(unsigned long *ret, const char *s, unsigned long min, unsigned long max)
{
	unsigned long v;
	char *end;

	if (*s < '0' || *s > '9') /* strtoul() would take a sign or blanks */
		return -EINVAL;
	errno = 0;
	v = strtoul(s, &end, 0);
	if (*end || errno || v < min || v > max)
		return -EINVAL;
	*ret = v;
	return 0;
}

int conf_parse_addr(struct conf_addr *ret, const char *s)
{
	struct conf_addr a = { .family = strchr(s, ':') ? 6 : 4 };
	const char *slash = strchr(s, '/');
	char host[64];
	unsigned long plen;

	if (!slash || (size_t)(slash - s) >= sizeof(host))
		return -EINVAL;
	memcpy(host, s, (size_t)(slash - s));
	host[slash - s] = '\0';
	if (inet_pton(a.family == 6 ? AF_INET6 : AF_INET, host, a.octets) != 1)
		return -EINVAL;
	if (conf_parse_uint(&plen, slash + 1, 0, a.family == 6 ? 128 : 32))
		return -EINVAL;
	a.prefix_len = (uint8_t)plen;
	*ret = a;
	return 0;
}

static int copy_name(char dst[CONF_NAME_MAX], const char *s, size_t len)
{
	if (!len || len >= CONF_NAME_MAX)
		return -EINVAL;
	memcpy(dst, s, len);
	dst[len] = '\0';
	return 0;
}

static int port_error(const char *s, char err[CONF_ERR_MAX])
{
	if (!strncmp(s, "udp:", 4) || !strncmp(s, "verbs:", 6))
		snprintf(err, CONF_ERR_MAX,
			 "port '%s': this build has ports of software fabrics only, "
			 "expected fabric:NAME/NODE/PORT",
			 s);
	else
		snprintf(err, CONF_ERR_MAX, "port '%s': expected fabric:NAME/NODE/PORT", s);
	return -EINVAL;
}

/* Node names may hold slashes: the fabric ends at the first, the port follows the last. */
int conf_parse_port(struct conf_port *ret, const char *s, char err[CONF_ERR_MAX])
{
	struct conf_port p = { 0 };
	const char *name, *first, *last;
	unsigned long num;

	if (strncmp(s, "fabric:", 7))
		return port_error(s, err);
	name = s + 7;
	first = strchr(name, '/');
	last = strrchr(name, '/');
	if (!first || first == last || copy_name(p.fabric, name, (size_t)(first - name)) ||
	    copy_name(p.node, first + 1, (size_t)(last - first - 1)) ||
	    conf_parse_uint(&num, last + 1, 0, 254))
		return port_error(s, err);
	p.port = (uint8_t)num;
	*ret = p;
	return 0;
}

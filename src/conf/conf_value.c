/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/conf_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int conf_parse_uint(unsigned long *ret, const char *s, unsigned long min, unsigned long max)
{
	unsigned long v;
	char *end;

	if (*s < '0' || *s > '9') /* strtoul() would accept a sign or blanks */
		return -EINVAL;
	errno = 0;
	v = strtoul(s, &end, 0);
	if (*end || errno || v < min || v > max)
		return -EINVAL;
	*ret = v;
	return 0;
}

bool conf_parse_u64(uint64_t *ret, const char *v)
{
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(v, &end, 0);
	if (*v < '0' || *v > '9' || *end || errno)
		return false;
	*ret = n;
	return true;
}

int conf_set_service_id(struct conf_parser *p, uint64_t *dst, const char *value)
{
	uint64_t id;

	if (!conf_parse_u64(&id, value) || !id)
		return conf_fail(
			p,
			"[%s] sidr-service: '%s', expected a ServiceID, a number of 64 bits "
			"other than 0, as 0x1",
			p->section, value);
	*dst = id;
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

int conf_parse_endpoint(struct ip_endpoint *ret, const char *s)
{
	struct ip_endpoint e = { .family = *s == '[' ? 6 : 4 };
	const char *host = s + (e.family == 6), *colon = strrchr(s, ':'), *end = colon;
	char text[INET6_ADDRSTRLEN];
	unsigned long port;

	if (!colon)
		return -EINVAL;
	if (e.family == 6 && *--end != ']')
		return -EINVAL;
	if (end < host || (size_t)(end - host) >= sizeof(text))
		return -EINVAL;
	memcpy(text, host, (size_t)(end - host));
	text[end - host] = '\0';
	if (inet_pton(e.family == 6 ? AF_INET6 : AF_INET, text, e.addr) != 1 ||
	    conf_parse_uint(&port, colon + 1, 1, 65535))
		return -EINVAL;
	e.port = (uint16_t)port;
	*ret = e;
	return 0;
}

char *conf_print_endpoint(const struct ip_endpoint *e, char buf[CONF_ENDPOINT_MAX])
{
	char text[INET6_ADDRSTRLEN] = "";

	buf[0] = '\0';
	if (!e->family)
		return buf;
	inet_ntop(e->family == 6 ? AF_INET6 : AF_INET, e->addr, text, sizeof(text));
	snprintf(buf, CONF_ENDPOINT_MAX, e->family == 6 ? "[%s]:%u" : "%s:%u", text, e->port);
	return buf;
}

#define FABRIC_PORT "fabric:NAME/NODE/PORT"
#define UDP_PORT "udp:ADDR:PORT,guid=0x...[,listen=ADDR:PORT]"
#define VERBS_PORT "verbs:DEVICE/PORT"

static int port_error(const char *s, char err[CONF_ERR_MAX])
{
	snprintf(err, CONF_ERR_MAX,
		 "port '%s': expected " FABRIC_PORT ", " UDP_PORT " or " VERBS_PORT, s);
	return -EINVAL;
}

static int verbs_error(const char *s, const char *what, char err[CONF_ERR_MAX])
{
	snprintf(err, CONF_ERR_MAX, "port '%s': %s, expected " VERBS_PORT " as verbs:mlx5_0/1", s,
		 what);
	return -EINVAL;
}

/* Parse verbs:DEVICE/PORT. Device names are names of files in sysfs, so they contain no slashes. */
static int parse_verbs_port(struct conf_port *ret, const char *s, char err[CONF_ERR_MAX])
{
	struct conf_port p = { .verbs = true, .fabric = "verbs:" };
	const char *dev = s + 6, *slash = strchr(dev, '/');
	unsigned long num;

	if (!slash)
		return verbs_error(s, "no number of a port", err);
	if (slash == dev || copy_name(p.node, dev, (size_t)(slash - dev)))
		return verbs_error(s, "no name of a device", err);
	if (conf_parse_uint(&num, slash + 1, 1, 254))
		return verbs_error(s, "no number of a port from 1 to 254", err);
	p.port = (uint8_t)num;
	*ret = p;
	return 0;
}

static int udp_error(const char *s, const char *what, char err[CONF_ERR_MAX])
{
	snprintf(err, CONF_ERR_MAX, "port '%s': %s, expected " UDP_PORT, s, what);
	return -EINVAL;
}

/* Parse one ",key=value" of a udp: port. Returns NULL, or a text that names the error. */
static const char *udp_option(struct conf_port *p, const char *opt)
{
	char *end;

	if (!strncmp(opt, "listen=", 7)) {
		if (p->listen.family)
			return "listen is given twice";
		if (conf_parse_endpoint(&p->listen, opt + 7))
			return "listen is no ADDR:PORT";
		return p->listen.family == p->peer.family ? NULL
							  : "listen is of another IP version";
	}
	if (strncmp(opt, "guid=", 5))
		return "an unknown option";
	if (p->guid)
		return "guid is given twice";
	errno = 0;
	p->guid = strncmp(opt + 5, "0x", 2) ? 0 : strtoull(opt + 7, &end, 16);
	/*
	 * An EUI-64 with bit 56 set belongs to a group, and an EUI-64 with all bits set means that
	 * there is no EUI-64.
	 */
	if (!p->guid || *end || errno || opt[7] == '-' || opt[7] == '+' || p->guid == UINT64_MAX ||
	    p->guid >> 56 & 1)
		return "guid is no EUI-64 of a device as 0x and 16 digits";
	return NULL;
}

static int parse_udp_port(struct conf_port *ret, const char *s, char err[CONF_ERR_MAX])
{
	struct conf_port p = { .udp = true, .port = 1, .node = CONF_UDP_NODE };
	char text[256], *opt, *save = NULL, *peer, name[CONF_ENDPOINT_MAX];
	const char *wrong = NULL;

	if (strlen(s + 4) >= sizeof(text))
		return udp_error(s, "too long", err);
	snprintf(text, sizeof(text), "%s", s + 4);
	peer = strtok_r(text, ",", &save);
	if (!peer || conf_parse_endpoint(&p.peer, peer))
		return udp_error(s, "no ADDR:PORT of the peer", err);
	while (!wrong && (opt = strtok_r(NULL, ",", &save)))
		wrong = udp_option(&p, opt);
	if (!wrong && !p.guid)
		wrong = "guid is missing";
	if (wrong)
		return udp_error(s, wrong, err);
	/*
	 * Print the address again in the usual notation, so that a peer has only one name, even if
	 * the configuration gives its address in two notations.
	 */
	snprintf(p.fabric, sizeof(p.fabric), "udp:%s", conf_print_endpoint(&p.peer, name));
	*ret = p;
	return 0;
}

/*
 * Parse a port. In fabric:NAME/NODE/PORT, names of nodes may contain slashes, so the fabric's name
 * ends at the first slash, and the port's number follows the last slash.
 */
int conf_parse_port(struct conf_port *ret, const char *s, char err[CONF_ERR_MAX])
{
	struct conf_port p = { 0 };
	const char *name, *first, *last;
	unsigned long num;

	if (!strncmp(s, "udp:", 4))
		return parse_udp_port(ret, s, err);
	if (!strncmp(s, "verbs:", 6))
		return parse_verbs_port(ret, s, err);
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

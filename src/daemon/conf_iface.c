/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/conf_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/ib.h"

/* [interface NAME] and [interface NAME@HOST] */

static struct conf_iface *cur_iface(struct conf_parser *p)
{
	return &p->c.iface[p->c.nifaces - 1];
}

static int set_port(struct conf_parser *p, const char *v)
{
	char why[CONF_ERR_MAX];

	if (conf_parse_port(&cur_iface(p)->port, v, why))
		return conf_fail(p, "[%s] %s", p->section, why);
	return 0;
}

static int set_pkey(struct conf_parser *p, const char *v)
{
	unsigned long pkey;

	/* IBTA C10-116: the low 15 bits of a valid P_Key are not all zero. */
	if (conf_parse_uint(&pkey, v, 1, 0xffff) || !(pkey & 0x7fff))
		return conf_fail(p, "[%s] pkey: '%s', expected 0x0001-0x7fff or 0x8001-0xffff",
				 p->section, v);
	cur_iface(p)->pkey = (uint16_t)pkey;
	return 0;
}

static int set_profile(struct conf_parser *p, const char *v)
{
	if (strcmp(v, "rfc4391"))
		return conf_fail(p, "[%s] profile: '%s', expected rfc4391", p->section, v);
	snprintf(cur_iface(p)->profile, sizeof(cur_iface(p)->profile), "%s", v);
	return 0;
}

static int set_netns(struct conf_parser *p, const char *v)
{
	struct conf_iface *i = cur_iface(p);
	unsigned long pid;

	if (!strncmp(v, "pid:", 4)) {
		if (conf_parse_uint(&pid, v + 4, 1, 1ul << 22))
			return conf_fail(p, "[%s] netns: '%s', expected pid:N", p->section, v);
	} else if (!*v || (*v != '/' && (strchr(v, '/') || *v == '.'))) {
		return conf_fail(p, "[%s] netns: '%s', expected a name, an absolute path or pid:N",
				 p->section, v);
	}
	i->netns = strdup(v);
	return i->netns ? 0 : conf_fail_nomem(p);
}

static int set_address(struct conf_parser *p, const char *v)
{
	struct conf_iface *i = cur_iface(p);

	if (i->naddrs == CONF_ADDRS_MAX)
		return conf_fail(p, "[%s] address: more than %d", p->section, CONF_ADDRS_MAX);
	if (conf_parse_addr(&i->addr[i->naddrs], v))
		return conf_fail(p,
				 "[%s] address: '%s', expected ADDRESS/PREFIX as 10.4.0.1/24 or "
				 "fd00::1/64",
				 p->section, v);
	i->naddrs++;
	return 0;
}

static int set_dhcp(struct conf_parser *p, const char *v)
{
	if (strcmp(v, "rewrite") && strcmp(v, "raw"))
		return conf_fail(p, "[%s] dhcp: '%s', expected rewrite or raw", p->section, v);
	cur_iface(p)->dhcp_raw = !strcmp(v, "raw");
	return 0;
}

static int set_stations(struct conf_parser *p, const char *v)
{
	unsigned long n;

	if (conf_parse_uint(&n, v, 0, CONF_STATIONS_MAX))
		return conf_fail(p, "[%s] stations: '%s', expected 0-%d", p->section, v,
				 CONF_STATIONS_MAX);
	cur_iface(p)->stations = (unsigned int)n;
	return 0;
}

static int set_qpn(struct conf_parser *p, const char *v)
{
	unsigned long qpn;

	/* Low ones are for QPs that anybody makes. */
	if (conf_parse_uint(&qpn, v, 0x100, IB_QPN_MCAST - 1))
		return conf_fail(p, "[%s] qpn: '%s', expected 0x100-0x%x", p->section, v,
				 IB_QPN_MCAST - 1);
	cur_iface(p)->qpn = (uint32_t)qpn;
	return 0;
}

static int set_mtu(struct conf_parser *p, const char *v)
{
	unsigned long mtu;

	if (conf_parse_uint(&mtu, v, 68, 4092))
		return conf_fail(p, "[%s] mtu: '%s', expected 68-4092", p->section, v);
	cur_iface(p)->mtu = (unsigned int)mtu;
	return 0;
}

static const struct conf_key keys[] = {
	{ "port", set_port, .required = true },
	{ "pkey", set_pkey },
	{ "profile", set_profile },
	{ "netns", set_netns },
	{ "address", set_address, .repeatable = true },
	{ "dhcp", set_dhcp },
	{ "stations", set_stations },
	{ "qpn", set_qpn },
	{ "mtu", set_mtu },
};

static int begin(struct conf_parser *p, char *name)
{
	char *host = strchr(name, '@');
	struct conf_iface *i;

	if (host)
		*host++ = '\0';
	if (!conf_name_ok(name, IFNAMSIZ) || (host && !conf_name_ok(host, CONF_NAME_MAX)))
		return conf_fail(
			p,
			"[%s]: expected [interface NAME] or [interface NAME@HOST], NAME at "
			"most %d octets",
			p->section, IFNAMSIZ - 1);
	for (size_t k = 0; k < p->c.nifaces; k++)
		if (!strcmp(p->c.iface[k].name, name) &&
		    !strcmp(p->c.iface[k].host, host ? host : ""))
			return conf_fail(p, "[%s]: given twice, first in line %u", p->section,
					 p->c.iface[k].line);
	i = conf_grow(p->c.iface, p->c.nifaces, sizeof(*i));
	if (!i)
		return conf_fail_nomem(p);
	p->c.iface = i;
	i = &i[p->c.nifaces++];
	snprintf(i->name, sizeof(i->name), "%s", name);
	snprintf(i->host, sizeof(i->host), "%s", host ? host : "");
	snprintf(i->profile, sizeof(i->profile), "rfc4391");
	i->pkey = 0xffff;
	i->stations = CONF_STATIONS_DEFAULT;
	i->line = p->line;
	return 0;
}

/* Ports of the same CA must say the same of it, and a GUID has one CA. */
static int check_udp(struct conf_parser *p, const struct conf_iface *f)
{
	for (const struct conf_iface *o = p->c.iface; o < f; o++) {
		bool same = !strcmp(o->port.fabric, f->port.fabric);

		if (!o->port.udp)
			continue;
		if (same && (o->port.guid != f->port.guid ||
			     !ip_endpoint_equal(&o->port.listen, &f->port.listen)))
			return conf_fail(p,
					 "[interface %s%s%s] port: guid or listen differ from "
					 "those of %s in line %u",
					 f->name, *f->host ? "@" : "", f->host, o->port.fabric,
					 o->line);
		if (!same && o->port.guid == f->port.guid)
			return conf_fail(p,
					 "[interface %s%s%s] port: the guid is that of %s in line "
					 "%u",
					 f->name, *f->host ? "@" : "", f->host, o->port.fabric,
					 o->line);
	}
	return 0;
}

static bool same_port(const struct conf_port *a, const struct conf_port *b)
{
	return !strcmp(a->fabric, b->fabric) && !strcmp(a->node, b->node) && a->port == b->port;
}

/* A QPN names one QP of a port. */
static int check_qpn(struct conf_parser *p, const struct conf_iface *f)
{
	for (const struct conf_iface *o = p->c.iface; o < f; o++)
		if (o->qpn == f->qpn && same_port(&o->port, &f->port))
			return conf_fail(p,
					 "[interface %s%s%s] qpn: 0x%06x is that of the interface "
					 "in line %u, on the same port",
					 f->name, *f->host ? "@" : "", f->host, f->qpn, o->line);
	return 0;
}

static int check(struct conf_parser *p)
{
	for (size_t i = 0; i < p->c.nifaces; i++) {
		const struct conf_iface *f = &p->c.iface[i];

		p->line = f->line;
		if ((f->port.udp && check_udp(p, f)) || (f->qpn && check_qpn(p, f)))
			return -EINVAL;
		if (!f->port.udp && !conf_find_fabric(&p->c, f->port.fabric))
			return conf_fail(p, "[interface %s%s%s] port: no [fabric %s] in this file",
					 f->name, *f->host ? "@" : "", f->host, f->port.fabric);
	}
	return 0;
}

const struct conf_section conf_section_iface = {
	.word = "interface",
	.begin = begin,
	.check = check,
	.keys = keys,
	.nkeys = ARRAY_SIZE(keys),
};

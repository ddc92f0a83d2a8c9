/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/conf_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* [udp-link NAME] */

static struct conf_udp_link *cur(struct conf_parser *p)
{
	return &p->c.udp[p->c.nudps - 1];
}

static int set_port(struct conf_parser *p, const char *v)
{
	char why[CONF_ERR_MAX];

	if (conf_parse_port(&cur(p)->port, v, why))
		return conf_fail(p, "[%s] %s", p->section, why);
	if (cur(p)->port.udp || cur(p)->port.verbs)
		return conf_fail(p, "[%s] port: '%s', expected fabric:NAME/NODE/PORT", p->section,
				 v);
	return 0;
}

static int set_endpoint(struct conf_parser *p, const char *key, struct ip_endpoint *dst,
			const char *v)
{
	if (conf_parse_endpoint(dst, v))
		return conf_fail(p,
				 "[%s] %s: '%s', expected ADDR:PORT as 127.0.0.1:5001 or "
				 "[::1]:5001",
				 p->section, key, v);
	return 0;
}

static int set_listen(struct conf_parser *p, const char *v)
{
	return set_endpoint(p, "listen", &cur(p)->listen, v);
}

static int set_peer(struct conf_parser *p, const char *v)
{
	return set_endpoint(p, "peer", &cur(p)->peer, v);
}

static const struct conf_key keys[] = {
	{ "port", .set = set_port, .required = true },
	{ "listen", .set = set_listen, .required = true },
	{ "peer", .set = set_peer },
};

static int begin(struct conf_parser *p, char *name)
{
	struct conf_udp_link *u;

	if (!conf_name_ok(name, CONF_NAME_MAX))
		return conf_fail(
			p, "[%s]: '%s', expected a name without blanks or / @ :", p->section, name);
	for (size_t i = 0; i < p->c.nudps; i++)
		if (!strcmp(p->c.udp[i].name, name))
			return conf_fail(p, "[%s]: given twice, first in line %u", p->section,
					 p->c.udp[i].line);
	u = conf_grow(p->c.udp, p->c.nudps, sizeof(*u));
	if (!u)
		return conf_fail_nomem(p);
	p->c.udp = u;
	u = &u[p->c.nudps++];
	snprintf(u->name, sizeof(u->name), "%s", name);
	u->line = p->line;
	return 0;
}

static int check_one(struct conf_parser *p, const struct conf_udp_link *u)
{
	char text[CONF_ENDPOINT_MAX];

	p->line = u->line;
	if (!conf_find_fabric(&p->c, u->port.fabric))
		return conf_fail(p, "[udp-link %s] port: no [fabric %s] in this file", u->name,
				 u->port.fabric);
	if (u->peer.family && u->peer.family != u->listen.family)
		return conf_fail(p, "[udp-link %s] peer: '%s', expected the IP version of listen",
				 u->name, conf_print_endpoint(&u->peer, text));
	/*
	 * The first sender becomes the peer of a link without "peer". Links are not authenticated,
	 * so allow a link without "peer" on loopback only.
	 */
	if (!u->peer.family && !ip_endpoint_is_loopback(&u->listen))
		return conf_fail(p,
				 "[udp-link %s] listen: '%s' is not a loopback address, expected "
				 "a peer beside it",
				 u->name, conf_print_endpoint(&u->listen, text));
	for (const struct conf_udp_link *o = p->c.udp; o < u; o++)
		if (ip_endpoint_equal(&o->listen, &u->listen))
			return conf_fail(p, "[udp-link %s] listen: '%s' is that of [udp-link %s]",
					 u->name, conf_print_endpoint(&u->listen, text), o->name);
	return 0;
}

static int check(struct conf_parser *p)
{
	int status = 0;

	for (size_t i = 0; !status && i < p->c.nudps; i++)
		status = check_one(p, &p->c.udp[i]);
	return status;
}

static void *current(struct conf_parser *p)
{
	return cur(p);
}

const struct conf_section conf_section_udp = {
	.word = "udp-link",
	.begin = begin,
	.check = check,
	.current = current,
	.keys = keys,
	.nkeys = ARRAY_SIZE(keys),
};

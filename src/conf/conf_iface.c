/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/conf_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipoib/limits.h"
#include "util/hex.h"
#include "wire/cm_sidr.h"
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

static int set_profile(struct conf_parser *p, const char *v)
{
	const struct ipoib_profile *row = ipoib_profile_find(v);
	char names[128] = "";

	if (row) {
		cur_iface(p)->profile = row;
		return 0;
	}
	for (unsigned int i = 0; (row = ipoib_profile_at(i)); i++) {
		size_t n = strlen(names);

		snprintf(names + n, sizeof(names) - n, "%s%s", n ? " or " : "", row->name);
	}
	return conf_fail(p, "[%s] profile: '%s', expected %s", p->section, v, names);
}

static int set_sl(struct conf_parser *p, const char *v)
{
	struct conf_iface *i = cur_iface(p);
	unsigned long sl;

	if (!strcmp(v, "path")) {
		i->sl_from = IPOIB_SL_PATH;
	} else if (!strcmp(v, "group")) {
		i->sl_from = IPOIB_SL_GROUP;
	} else if (!conf_parse_uint(&sl, v, 0, 15)) {
		i->sl_from = IPOIB_SL_FIXED;
		i->sl = (uint8_t)sl;
	} else {
		return conf_fail(p, "[%s] sl: '%s', expected path, group or 0-15", p->section, v);
	}
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
	free(i->netns); /* the value from the file, which a setting of the command line replaces */
	i->netns = strdup(v);
	return i->netns ? 0 : conf_fail_nomem(p);
}

/* Tell whether the low 15 bits of a P_Key are not all zero, as IBTA C10-116 requires. */
static bool is_pkey(unsigned long v)
{
	return v & 0x7fff;
}

/* ADDRESS/PREFIX, or ADDRESS/PREFIX,pkey=P_KEY */
static int parse_addr_of_pkey(struct conf_addr *ret, const char *v)
{
	const char *comma = strchr(v, ',');
	char text[CONF_LINE_MAX + 1];
	unsigned long pkey = 0;
	int err;

	if (comma && (strncmp(comma, ",pkey=", 6) || conf_parse_uint(&pkey, comma + 6, 1, 0xffff) ||
		      !is_pkey(pkey)))
		return -EINVAL;
	snprintf(text, sizeof(text), "%.*s", comma ? (int)(comma - v) : (int)strlen(v), v);
	err = conf_parse_addr(ret, text);
	if (!err)
		ret->pkey = (uint16_t)pkey;
	return err;
}

static int set_address(struct conf_parser *p, const char *v)
{
	struct conf_iface *i = cur_iface(p);

	if (i->naddrs == CONF_ADDRS_MAX)
		return conf_fail(p, "[%s] address: more than %d", p->section, CONF_ADDRS_MAX);
	if (parse_addr_of_pkey(&i->addr[i->naddrs], v))
		return conf_fail(p,
				 "[%s] address: '%s', expected ADDRESS/PREFIX as 10.4.0.1/24 or "
				 "fd00::1/64, or ADDRESS/PREFIX,pkey=P_KEY",
				 p->section, v);
	i->naddrs++;
	return 0;
}

/* The message does not repeat the value, because more people read logs than may know the secret. */
static int set_secret(struct conf_parser *p, const char *v)
{
	struct conf_iface *i = cur_iface(p);
	uint8_t all = 0;

	for (unsigned int k = 0; k < 2 * CONF_SECRET_LEN; k++) {
		int digit = strlen(v) == 2 * CONF_SECRET_LEN ? hex_digit(v[k]) : -1;

		if (digit < 0)
			return conf_fail(p,
					 "[%s] ip6-secret: %zu octets, expected %d hexadecimal "
					 "digits",
					 p->section, strlen(v), 2 * CONF_SECRET_LEN);
		i->secret[k / 2] = (uint8_t)(i->secret[k / 2] << 4 | digit);
		all |= (uint8_t)digit;
	}
	if (!all)
		return conf_fail(p, "[%s] ip6-secret: all zero, expected a secret", p->section);
	i->secret_given = true;
	return 0;
}

static int set_pkeys(struct conf_parser *p, const char *v)
{
	struct conf_iface *i = cur_iface(p);
	char text[CONF_LINE_MAX + 1], *save = NULL;
	unsigned long pkey;

	snprintf(text, sizeof(text), "%s", v);
	for (char *w = strtok_r(text, ", \t", &save); w; w = strtok_r(NULL, ", \t", &save)) {
		if (i->npkeys == CONF_PKEYS_MAX)
			return conf_fail(p, "[%s] pkeys: more than %d", p->section, CONF_PKEYS_MAX);
		if (conf_parse_uint(&pkey, w, 1, 0xffff) || !is_pkey(pkey))
			return conf_fail(p,
					 "[%s] pkeys: '%s', expected P_Keys as 0x8001,0x8014, each "
					 "0x0001-0x7fff or 0x8001-0xffff",
					 p->section, w);
		i->pkeys[i->npkeys++] = (uint16_t)pkey;
	}
	return i->npkeys ? 0
			 : conf_fail(p, "[%s] pkeys: '', expected P_Keys as 0x8001,0x8014",
				     p->section);
}

static int set_sidr_service(struct conf_parser *p, const char *v)
{
	return conf_set_service_id(p, &cur_iface(p)->sidr_service, v);
}

#define MEMBER(m) KEY_MEMBER(struct conf_iface, m)

static const struct conf_key keys[] = {
	{ "port", .set = set_port, .required = true },
	{ "pkey", CONF_NUMBER, MEMBER(pkey), .def = 0xffff, .min = 1, .max = 0xffff,
	  .given = offsetof(struct conf_iface, pkey_given), .allowed = is_pkey,
	  .expected = "0x0001-0x7fff or 0x8001-0xffff" },
	{ "pkeys", .set = set_pkeys, .repeatable = true },
	{ "devices", CONF_NUMBER, MEMBER(devices), .def = CONF_DEVICES_DEFAULT,
	  .given = offsetof(struct conf_iface, devices_given), .min = 1, .max = CONF_DEVICES_MAX },
	{ "profile", .set = set_profile },
	/* 0 and 15 are reserved (IBTA 4.1.1). */
	{ "scope", CONF_NUMBER, MEMBER(scope), .min = 1, .max = 14 },
	{ "subnet-number", CONF_NUMBER, MEMBER(subnet), .min = 1, .max = 65535 },
	{ "sl", .set = set_sl },
	{ "netns", .set = set_netns },
	{ "netdev", CONF_WORD, MEMBER(netdev), KEY_WORDS("tap", "ibtap"),
	  .expected = "tap or ibtap" },
	{ "address", .set = set_address, .repeatable = true },
	{ "dhcp", CONF_WORD, MEMBER(dhcp_raw), KEY_WORDS("rewrite", "raw"),
	  .expected = "rewrite or raw" },
	{ "router", CONF_WORD, MEMBER(router), KEY_WORDS("auto", "no", "yes"),
	  .expected = "auto, yes or no" },
	{ "sidr-server", CONF_WORD, MEMBER(sidr_server), KEY_WORDS("no", "yes"),
	  .expected = "yes or no" },
	{ "sidr-service", .set = set_sidr_service },
	{ "stations", CONF_NUMBER, MEMBER(stations), .def = CONF_STATIONS_DEFAULT,
	  .max = CONF_STATIONS_MAX },
	{ "neighbours", CONF_NUMBER, MEMBER(neighbours), .def = IPOIB_NEIGH_DEFAULT, .min = 16,
	  .max = CONF_NEIGHBOURS_MAX },
	/* Lower QPNs are left for queue pairs without a configured number. */
	{ "qpn", CONF_NUMBER, MEMBER(qpn), .min = 0x100, .max = IB_QPN_MCAST - 1,
	  .expected = "0x100-0xfffffe" },
	{ "mtu", CONF_NUMBER, MEMBER(mtu), .min = 68, .max = 4096 },
	{ "tx-queue-len", CONF_NUMBER, MEMBER(tx_queue_len), .def = 1000, .min = 1,
	  .max = 1000000 },
	{ "sq-depth", CONF_NUMBER, MEMBER(sq_depth), .def = 1024, .min = 1, .max = 1024 },
	{ "tx-timeout", CONF_NUMBER, MEMBER(tx_timeout), .def = 1000, .min = 10, .max = 600000 },
	{ "rq-depth", CONF_NUMBER, MEMBER(rq_depth), .def = 4096, .min = 2, .max = 65536 },
	{ "mcast-timeout", CONF_NUMBER, MEMBER(mcast_timeout), .def = 250, .min = 10,
	  .max = 60000 },
	{ "mcast-retry-cnt", CONF_NUMBER, MEMBER(mcast_retries), .def = 5, .max = 100 },
	{ "path-timeout", CONF_NUMBER, MEMBER(path_timeout), .def = 250, .min = 10, .max = 60000 },
	{ "debug", CONF_NUMBER, MEMBER(debug), .def = CONF_DEBUG_DEFAULT, .max = 3 },
	{ "ip6-iid", CONF_WORD, MEMBER(iid), KEY_WORDS("eui64", "stable", "lid"),
	  .expected = "eui64, stable or lid" },
	{ "ip6-secret", .set = set_secret },
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
	i->profile = ipoib_profile_at(0);
	conf_key_defaults(&conf_section_iface, i);
	i->sidr_service = SIDR_SERVICE_ID_DEFAULT;
	i->line = p->line;
	return 0;
}

/*
 * Call conf_fail() for a wrong key of section @f, which was read before, with a message that names
 * section and key.
 */
static int fail_key(struct conf_parser *p, const struct conf_iface *f, const char *key,
		    const char *why, ...) __attribute__((format(printf, 4, 5)));
static int fail_key(struct conf_parser *p, const struct conf_iface *f, const char *key,
		    const char *why, ...)
{
	char text[CONF_ERR_MAX];
	va_list ap;

	va_start(ap, why);
	vsnprintf(text, sizeof(text), why, ap);
	va_end(ap);
	return conf_fail(p, "[interface %s%s%s] %s: %s", f->name, *f->host ? "@" : "", f->host, key,
			 text);
}

/*
 * Interfaces with the same UDP peer share one CA, so they must give the same GUID and the same
 * listen address. Two CAs must not have the same GUID.
 */
static int check_udp(struct conf_parser *p, const struct conf_iface *f)
{
	for (const struct conf_iface *o = p->c.iface; o < f; o++) {
		bool same = !strcmp(o->port.fabric, f->port.fabric);

		if (!o->port.udp)
			continue;
		if (same && (o->port.guid != f->port.guid ||
			     !ip_endpoint_equal(&o->port.listen, &f->port.listen)))
			return fail_key(p, f, "port",
					"guid or listen differ from those of %s in line %u",
					o->port.fabric, o->line);
		if (!same && o->port.guid == f->port.guid)
			return fail_key(p, f, "port", "the guid is that of %s in line %u",
					o->port.fabric, o->line);
	}
	return 0;
}

static bool same_port(const struct conf_port *a, const struct conf_port *b)
{
	return !strcmp(a->fabric, b->fabric) && !strcmp(a->node, b->node) && a->port == b->port;
}

/* Two interfaces on one port cannot have the same QPN. */
static int check_qpn(struct conf_parser *p, const struct conf_iface *f)
{
	if (f->port.verbs)
		return fail_key(
			p, f, "qpn",
			"0x%06x, expected none, because the adapter of a port verbs:DEVICE/PORT "
			"chooses the number",
			f->qpn);
	for (const struct conf_iface *o = p->c.iface; o < f; o++)
		if (o->qpn == f->qpn && same_port(&o->port, &f->port))
			return fail_key(
				p, f, "qpn",
				"0x%06x is that of the interface in line %u, on the same port",
				f->qpn, o->line);
	return 0;
}

/*
 * Refuse router = yes for a profile whose nodes are not told when a group is created. A multicast
 * router must be told, because it joins each group that is created on its link.
 */
static int check_router(struct conf_parser *p, const struct conf_iface *f)
{
	if (f->router != CONF_ROUTER_YES || f->profile->reports)
		return 0;
	return fail_key(
		p, f, "router",
		"'yes', expected no, because profile %s does not follow groups that are created",
		f->profile->name);
}

/* Refuse IPv4 addresses if the profile carries no IPv4, because no packet could have them. */
static int check_addresses(struct conf_parser *p, const struct conf_iface *f)
{
	if (ipoib_profile_has(f->profile, IPOIB_IPV4))
		return 0;
	for (unsigned int k = 0; k < f->naddrs; k++)
		if (f->addr[k].family == 4)
			return fail_key(p, f, "address",
					"an IPv4 address, expected IPv6 only, because profile %s "
					"carries no IPv4",
					f->profile->name);
	return 0;
}

/* Refuse a secret that is not used to make an interface identifier. */
static int check_secret(struct conf_parser *p, const struct conf_iface *f)
{
	if (!f->secret_given || f->iid == CONF_IID_STABLE)
		return 0;
	return fail_key(p, f, "ip6-secret", "given, expected together with ip6-iid = stable only");
}

static struct ipoib_map map_of(const struct conf_iface *f)
{
	return ipoib_profile_map(f->profile, f->pkey, f->scope, f->subnet);
}

static int check_scope(struct conf_parser *p, const struct conf_iface *f)
{
	struct ipoib_map map = map_of(f);
	ib_gid mgid;

	if (f->subnet && !f->profile->subnet_numbers)
		return fail_key(
			p, f, "subnet-number",
			"'%u', expected none, because groups of profile %s have no such number",
			f->subnet, f->profile->name);
	if (!f->profile->mgid_broadcast(&mgid, &map))
		return 0;
	return fail_key(p, f, "scope", "'%u', expected %u, because %s%s", f->scope,
			f->subnet ? MGID_SCOPE_GLOBAL : f->profile->scope,
			f->subnet ? "a subnet-number is global" : "no other is of profile ",
			f->subnet ? "" : f->profile->name);
}

/*
 * Two interfaces of a port with different P_Keys must not have the same broadcast group. Without
 * this check they could have the same group in a profile whose MGIDs do not contain the P_Key.
 */
static int check_link(struct conf_parser *p, const struct conf_iface *f)
{
	struct ipoib_map map = map_of(f);
	ib_gid own, other;

	f->profile->mgid_broadcast(&own, &map);
	for (const struct conf_iface *o = p->c.iface; o < f; o++) {
		if (!((o->pkey ^ f->pkey) & 0x7fff) || !same_port(&o->port, &f->port))
			continue;
		map = map_of(o);
		o->profile->mgid_broadcast(&other, &map);
		if (ib_gid_equal(&own, &other))
			return fail_key(p, f, "pkey",
					"0x%04x, expected 0x%04x as in line %u, because the two "
					"have one broadcast group in profile %s",
					f->pkey, o->pkey, o->line, f->profile->name);
	}
	return 0;
}

/*
 * Refuse a SIDR server on an interface if the subnet manager of the fabric is a SIDR server
 * already. One server is enough for the clients of a partition. Besides, the interface could be on
 * the port of the subnet manager, and then both servers would be on the same port.
 */
static int check_sidr(struct conf_parser *p, const struct conf_iface *f)
{
	const struct conf_fabric *fab = conf_find_fabric(&p->c, f->port.fabric);

	if (!f->sidr_server || !fab || !fab->sidr_server)
		return 0;
	return fail_key(p, f, "sidr-server",
			"'yes', expected no, because the subnet manager of [fabric %s] serves "
			"(section in line %u)",
			fab->name, fab->line);
}

/* Checks the keys of a section whose profile makes one interface of it. */
static int check_one(struct conf_parser *p, const struct conf_iface *f)
{
	if (f->npkeys)
		return fail_key(p, f, "pkeys",
				"expected pkey, because the profile has one interface");
	if (f->devices_given)
		return fail_key(p, f, "devices",
				"expected no such key, because the profile has one interface");
	for (unsigned int k = 0; k < f->naddrs; k++)
		if (f->addr[k].pkey)
			return fail_key(
				p, f, "address",
				"',pkey=', expected none, because the profile has one interface");
	return 0;
}

static bool has_pkey(const struct conf_iface *f, uint16_t pkey)
{
	for (unsigned int k = 0; k < f->npkeys; k++)
		if (!((f->pkeys[k] ^ pkey) & 0x7fff))
			return true;
	return !f->npkeys;
}

/* Checks the keys of a section whose profile has an interface for each P_Key. */
static int check_by_pkey(struct conf_parser *p, struct conf_iface *f)
{
	if (f->pkey_given && f->npkeys)
		return fail_key(p, f, "pkeys", "expected pkey or pkeys, not both");
	if (f->pkey_given)
		f->pkeys[f->npkeys++] = f->pkey;
	if (f->qpn)
		return fail_key(p, f, "qpn",
				"expected none, because the profile has several interfaces");
	for (unsigned int k = 0; k < f->naddrs; k++) {
		struct conf_addr *a = &f->addr[k];

		if (!a->pkey && f->npkeys == 1)
			a->pkey = f->pkeys[0];
		if (!a->pkey)
			return fail_key(p, f, "address",
					"no P_Key, expected ADDRESS/PREFIX,pkey=P_KEY, because the "
					"profile has an interface for each P_Key");
		if (!has_pkey(f, a->pkey))
			return fail_key(p, f, "address", "expected a P_Key that is one of pkeys");
	}
	for (const struct conf_iface *o = p->c.iface; o < f; o++)
		if (o->profile->ifname && !strcmp(o->host, f->host) &&
		    same_port(&o->port, &f->port))
			return fail_key(p, f, "port",
					"that of line %u, whose profile has an interface for each "
					"P_Key already",
					o->line);
	return 0;
}

static int check_pkeys(struct conf_parser *p, struct conf_iface *f)
{
	return f->profile->ifname ? check_by_pkey(p, f) : check_one(p, f);
}

static bool same_netns(const struct conf_iface *a, const struct conf_iface *b)
{
	return !strcmp(a->host, b->host) || (a->netns && b->netns && !strcmp(a->netns, b->netns));
}

/*
 * Another section may make devices that are named by their P_Key. Refuse the name of an interface
 * if such a device could get the same name in the same network namespace.
 */
static int check_name(struct conf_parser *p, const struct conf_iface *f)
{
	const struct conf_iface *end = p->c.iface + p->c.nifaces;

	if (f->profile->is_ifname)
		return 0;
	for (const struct conf_iface *o = p->c.iface; o < end; o++)
		if (o->profile->is_ifname && same_netns(o, f) && o->profile->is_ifname(f->name))
			return fail_key(p, f, "name",
					"'%s', expected another, because line %u has interfaces of "
					"such names, one for each P_Key",
					f->name, o->line);
	return 0;
}

static int check(struct conf_parser *p)
{
	for (size_t i = 0; i < p->c.nifaces; i++) {
		struct conf_iface *f = &p->c.iface[i];

		p->line = f->line;
		if (check_name(p, f) || check_pkeys(p, f) || (f->port.udp && check_udp(p, f)) ||
		    (f->qpn && check_qpn(p, f)) || check_router(p, f) || check_addresses(p, f) ||
		    check_secret(p, f) || check_scope(p, f) || check_link(p, f) || check_sidr(p, f))
			return -EINVAL;
		if (!f->port.udp && !f->port.verbs && !conf_find_fabric(&p->c, f->port.fabric))
			return fail_key(p, f, "port", "no [fabric %s] in this file",
					f->port.fabric);
	}
	return 0;
}

static void *current(struct conf_parser *p)
{
	return cur_iface(p);
}

const struct conf_section conf_section_iface = {
	.word = "interface",
	.begin = begin,
	.check = check,
	.current = current,
	.keys = keys,
	.nkeys = ARRAY_SIZE(keys),
};

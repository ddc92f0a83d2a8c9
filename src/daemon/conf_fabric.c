/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/conf_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* [fabric NAME] */

static struct conf_fabric *cur_fabric(struct conf_parser *p)
{
	return &p->c.fabric[p->c.nfabrics - 1];
}

static int set_topology(struct conf_parser *p, const char *v)
{
	return conf_set_path(p, &cur_fabric(p)->topology, "topology", v);
}

static int set_partitions(struct conf_parser *p, const char *v)
{
	return conf_set_path(p, &cur_fabric(p)->partitions, "partitions", v);
}

static int set_capture(struct conf_parser *p, const char *v)
{
	return conf_set_path(p, &cur_fabric(p)->capture, "capture", v);
}

static int set_sm(struct conf_parser *p, const char *v)
{
	if (!strcmp(v, "embedded"))
		cur_fabric(p)->sm_embedded = true;
	else if (!strcmp(v, "external"))
		cur_fabric(p)->sm_embedded = false;
	else
		return conf_fail(p, "[%s] sm: '%s', expected embedded or external", p->section, v);
	return 0;
}

static int set_sm_port(struct conf_parser *p, const char *v)
{
	struct conf_fabric *f = cur_fabric(p);
	const char *slash = strrchr(v, '/');
	unsigned long num;

	if (!slash || slash == v || (size_t)(slash - v) >= sizeof(f->sm_node) ||
	    conf_parse_uint(&num, slash + 1, 0, 254))
		return conf_fail(p, "[%s] sm-port: '%s', expected NODE/PORT", p->section, v);
	memcpy(f->sm_node, v, (size_t)(slash - v));
	f->sm_node[slash - v] = '\0';
	f->sm_port = (uint8_t)num;
	return 0;
}

static int set_crc(struct conf_parser *p, const char *v)
{
	static const char *const name[] = {
		[CONF_CRC_FULL] = "full",
		[CONF_CRC_ICRC] = "icrc",
		[CONF_CRC_OFF] = "off",
	};

	for (size_t i = 0; i < ARRAY_SIZE(name); i++) {
		if (strcmp(v, name[i]))
			continue;
		cur_fabric(p)->crc = (enum conf_crc)i;
		return 0;
	}
	return conf_fail(p, "[%s] crc: '%s', expected full, icrc or off", p->section, v);
}

static int set_sm_key(struct conf_parser *p, const char *v)
{
	struct conf_fabric *f = cur_fabric(p);
	char *end;

	errno = 0;
	f->sm_key = strtoull(v, &end, 0);
	if (*v < '0' || *v > '9' || *end || errno)
		return conf_fail(p, "[%s] sm-key: '%s', expected a number of 64 bits, as 1 or 0x1",
				 p->section, v);
	f->sm_key_given = true;
	return 0;
}

static int set_fabric_mtu(struct conf_parser *p, const char *v)
{
	unsigned long mtu;

	if (conf_parse_uint(&mtu, v, 256, 4096) || (mtu & (mtu - 1)))
		return conf_fail(p, "[%s] mtu: '%s', expected 256, 512, 1024, 2048 or 4096",
				 p->section, v);
	cur_fabric(p)->mtu = (unsigned int)mtu;
	return 0;
}

/* What programs find in IBSIM_SOCKNAME: any word that fits into their socket's name */
static int set_ibsim(struct conf_parser *p, const char *v)
{
	struct conf_fabric *f = cur_fabric(p);

	if (!*v || strlen(v) >= sizeof(f->ibsim) || strpbrk(v, " \t"))
		return conf_fail(p, "[%s] ibsim: '%s', expected a name of at most %zu octets",
				 p->section, v, sizeof(f->ibsim) - 1);
	snprintf(f->ibsim, sizeof(f->ibsim), "%s", strcmp(v, "no") ? v : "");
	return 0;
}

static const struct conf_key keys[] = {
	{ "topology", set_topology, .required = true },
	{ "sm", set_sm },
	{ "sm-port", set_sm_port },
	{ "sm-key", set_sm_key },
	{ "partitions", set_partitions },
	{ "crc", set_crc },
	{ "mtu", set_fabric_mtu },
	{ "capture", set_capture },
	{ "ibsim", set_ibsim },
};

static int begin(struct conf_parser *p, char *name)
{
	struct conf_fabric *f;

	if (!conf_name_ok(name, CONF_NAME_MAX))
		return conf_fail(
			p, "[%s]: '%s', expected a name without blanks or / @ :", p->section, name);
	for (size_t i = 0; i < p->c.nfabrics; i++)
		if (!strcmp(p->c.fabric[i].name, name))
			return conf_fail(p, "[%s]: given twice, first in line %u", p->section,
					 p->c.fabric[i].line);
	f = conf_grow(p->c.fabric, p->c.nfabrics, sizeof(*f));
	if (!f)
		return conf_fail_nomem(p);
	p->c.fabric = f;
	f = &f[p->c.nfabrics++];
	snprintf(f->name, sizeof(f->name), "%s", name);
	f->sm_embedded = true;
	f->line = p->line;
	return 0;
}

const struct conf_section conf_section_fabric = {
	.word = "fabric",
	.begin = begin,
	.keys = keys,
	.nkeys = ARRAY_SIZE(keys),
};

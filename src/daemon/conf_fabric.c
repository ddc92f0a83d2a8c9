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

static bool parse_key(uint64_t *ret, const char *v)
{
	char *end;
	uint64_t key;

	errno = 0;
	key = strtoull(v, &end, 0);
	if (*v < '0' || *v > '9' || *end || errno)
		return false;
	*ret = key;
	return true;
}

static int set_sm_key(struct conf_parser *p, const char *v)
{
	struct conf_fabric *f = cur_fabric(p);

	if (!parse_key(&f->sm_key, v))
		return conf_fail(p, "[%s] sm-key: '%s', expected a number of 64 bits, as 1 or 0x1",
				 p->section, v);
	f->sm_key_given = true;
	return 0;
}

static int set_mkey(struct conf_parser *p, const char *v)
{
	struct conf_fabric *f = cur_fabric(p);

	if (strcmp(v, "none") && (!parse_key(&f->mkey.key, v) || !f->mkey.key))
		return conf_fail(p,
				 "[%s] m-key: '%s', expected a number of 64 bits other than 0, as "
				 "0x1, or none",
				 p->section, v);
	return 0;
}

static int set_mkey_protect(struct conf_parser *p, const char *v)
{
	unsigned long n;

	if (conf_parse_uint(&n, v, 0, 3))
		return conf_fail(p, "[%s] m-key-protect: '%s', expected 0 to 3", p->section, v);
	cur_fabric(p)->mkey.protect = (uint8_t)n;
	cur_fabric(p)->mkey_detail = true;
	return 0;
}

static int set_mkey_lease(struct conf_parser *p, const char *v)
{
	unsigned long n;

	if (conf_parse_uint(&n, v, 0, UINT16_MAX) || (n && n < CONF_MKEY_LEASE_MIN))
		return conf_fail(
			p, "[%s] m-key-lease: '%s', expected 0 (for ever) or %d to %d seconds",
			p->section, v, CONF_MKEY_LEASE_MIN, UINT16_MAX);
	cur_fabric(p)->mkey.lease = (uint16_t)n;
	cur_fabric(p)->mkey_detail = true;
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
	{ "m-key", set_mkey },
	{ "m-key-protect", set_mkey_protect },
	{ "m-key-lease", set_mkey_lease },
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
	f->mkey.protect = CONF_MKEY_PROTECT_DEFAULT;
	f->line = p->line;
	return 0;
}

/* Who asks for protection is not to believe that there is any. */
static int check_mkey(struct conf_parser *p, const struct conf_fabric *f)
{
	p->line = f->line;
	if (f->mkey.key && !f->sm_embedded)
		return conf_fail(
			p,
			"[fabric %s] m-key: with sm = external its subnet manager sets it, "
			"expected none",
			f->name);
	if (f->mkey_detail && !f->mkey.key)
		return conf_fail(p,
				 "[fabric %s] m-key-protect, m-key-lease: expected with an m-key",
				 f->name);
	return 0;
}

static int check(struct conf_parser *p)
{
	for (size_t i = 0; i < p->c.nfabrics; i++) {
		int status = check_mkey(p, &p->c.fabric[i]);

		if (status)
			return status;
	}
	return 0;
}

const struct conf_section conf_section_fabric = {
	.word = "fabric",
	.begin = begin,
	.check = check,
	.keys = keys,
	.nkeys = ARRAY_SIZE(keys),
};

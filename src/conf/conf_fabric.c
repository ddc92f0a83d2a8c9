/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/conf_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "route/route.h"
#include "wire/cm_sidr.h"

/* [fabric NAME] */

static struct conf_fabric *cur_fabric(struct conf_parser *p)
{
	return &p->c.fabric[p->c.nfabrics - 1];
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

static int set_sm_key(struct conf_parser *p, const char *v)
{
	struct conf_fabric *f = cur_fabric(p);

	if (!conf_parse_u64(&f->sm_key, v))
		return conf_fail(p, "[%s] sm-key: '%s', expected a number of 64 bits, as 1 or 0x1",
				 p->section, v);
	f->sm_key_given = true;
	return 0;
}

static int set_mkey(struct conf_parser *p, const char *v)
{
	struct conf_fabric *f = cur_fabric(p);

	if (strcmp(v, "none") && (!conf_parse_u64(&f->mkey.key, v) || !f->mkey.key))
		return conf_fail(p,
				 "[%s] m-key: '%s', expected a number of 64 bits other than 0, as "
				 "0x1, or none",
				 p->section, v);
	return 0;
}

static int set_sidr_service(struct conf_parser *p, const char *v)
{
	return conf_set_service_id(p, &cur_fabric(p)->sidr_service, v);
}

static int set_routing(struct conf_parser *p, const char *v)
{
	cur_fabric(p)->routing = sm_engine_find(v);
	if (!cur_fabric(p)->routing)
		return conf_fail(p, "[%s] routing: '%s', expected minhop, updn or ftree",
				 p->section, v);
	return 0;
}

static bool is_mtu(unsigned long v)
{
	return !(v & (v - 1));
}

/* The value becomes part of the name of a socket, so it has to be a short word without blanks. */
static int set_ibsim(struct conf_parser *p, const char *v)
{
	struct conf_fabric *f = cur_fabric(p);

	if (!*v || strlen(v) >= sizeof(f->ibsim) || strpbrk(v, " \t"))
		return conf_fail(p, "[%s] ibsim: '%s', expected a name of at most %zu octets",
				 p->section, v, sizeof(f->ibsim) - 1);
	snprintf(f->ibsim, sizeof(f->ibsim), "%s", strcmp(v, "no") ? v : "");
	return 0;
}

static bool is_lease(unsigned long v)
{
	return !v || v >= CONF_MKEY_LEASE_MIN;
}

#define MEMBER(m) KEY_MEMBER(struct conf_fabric, m)

static const struct conf_key keys[] = {
	{ "topology", CONF_PATH, MEMBER(topology), .required = true },
	{ "sm", CONF_WORD, MEMBER(sm_embedded), .def = true, KEY_WORDS("external", "embedded"),
	  .expected = "embedded or external" },
	{ "sm-port", .set = set_sm_port },
	{ "sm-priority", CONF_NUMBER, MEMBER(sm_priority), .max = 15 },
	{ "sm-key", .set = set_sm_key },
	{ "m-key", .set = set_mkey },
	{ "m-key-protect", CONF_NUMBER, MEMBER(mkey.protect),
	  .given = offsetof(struct conf_fabric, mkey_detail), .def = CONF_MKEY_PROTECT_DEFAULT,
	  .max = 3 },
	{ "m-key-lease", CONF_NUMBER, MEMBER(mkey.lease),
	  .given = offsetof(struct conf_fabric, mkey_detail), .max = UINT16_MAX,
	  .allowed = is_lease, .expected = "0 (for ever) or 10 to 65535 seconds" },
	{ "partitions", CONF_PATH, MEMBER(partitions) },
	{ "routing", .set = set_routing },
	{ "partial-sweeps", CONF_WORD, MEMBER(partial_sweeps), .def = true, KEY_WORDS("no", "yes"),
	  .expected = "yes or no" },
	{ "lmc", CONF_NUMBER, MEMBER(lmc), .max = 7 },
	{ "sidr-server", CONF_WORD, MEMBER(sidr_server), KEY_WORDS("no", "yes"),
	  .expected = "yes or no" },
	{ "sidr-service", .set = set_sidr_service },
	{ "outside-nodes", CONF_NUMBER, MEMBER(outside_nodes), .min = 1,
	  .max = CONF_OUTSIDE_NODES_MAX },
	{ "crc", CONF_WORD, MEMBER(crc), KEY_WORDS("lazy", "full", "icrc", "off"),
	  .expected = "lazy, full, icrc or off" },
	{ "mtu", CONF_NUMBER, MEMBER(mtu), .min = 256, .max = 4096, .allowed = is_mtu,
	  .expected = "256, 512, 1024, 2048 or 4096" },
	{ "capture", CONF_PATH, MEMBER(capture) },
	{ "ibsim", .set = set_ibsim },
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
	conf_key_defaults(&conf_section_fabric, f);
	f->sidr_service = SIDR_SERVICE_ID_DEFAULT;
	f->line = p->line;
	return 0;
}

static void *current(struct conf_parser *p)
{
	return cur_fabric(p);
}

/*
 * Refuse settings of M_Key protection that would have no effect. If they were accepted, the user
 * would believe that the fabric is protected.
 */
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

static int check_lmc(struct conf_parser *p, const struct conf_fabric *f)
{
	p->line = f->line;
	if (f->lmc && !f->sm_embedded)
		return conf_fail(p,
				 "[fabric %s] lmc: with sm = external its subnet manager sets it, "
				 "expected none",
				 f->name);
	return 0;
}

static int check_sidr(struct conf_parser *p, const struct conf_fabric *f)
{
	p->line = f->line;
	if (f->sidr_server && !f->sm_embedded)
		return conf_fail(p,
				 "[fabric %s] sidr-server: with sm = external an interface serves, "
				 "expected no here and sidr-server = yes in its section",
				 f->name);
	return 0;
}

static int check(struct conf_parser *p)
{
	for (size_t i = 0; i < p->c.nfabrics; i++) {
		int status = check_mkey(p, &p->c.fabric[i]);

		if (!status)
			status = check_lmc(p, &p->c.fabric[i]);
		if (!status)
			status = check_sidr(p, &p->c.fabric[i]);
		if (status)
			return status;
	}
	return 0;
}

const struct conf_section conf_section_fabric = {
	.word = "fabric",
	.begin = begin,
	.check = check,
	.current = current,
	.keys = keys,
	.nkeys = ARRAY_SIZE(keys),
};

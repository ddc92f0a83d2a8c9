/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/topo_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/list.h"

#define MAX_INCLUDES 9 /* deep, as in ibsim */
#define MAX_FILES 1024 /* in all */

static int fail(struct topo_parser *p, const char *file, unsigned int line, const char *fmt,
		va_list ap)
{
	int n = snprintf(p->err->text, sizeof(p->err->text), "%s:%u: ", file, line);

	if (n > 0 && (size_t)n < sizeof(p->err->text))
		vsnprintf(p->err->text + n, sizeof(p->err->text) - (size_t)n, fmt, ap);
	return -EINVAL;
}

int topo_fail(struct topo_parser *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(p, p->file, p->line, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

int topo_fail_at(struct topo_parser *p, const char *file, unsigned int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(p, file, line, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int fail_expected(struct topo_parser *p, const struct topo_cur *c, const char *what)
{
	char found[64];

	return topo_fail(p, "expected %s, found %s", what, topo_found(c, found, sizeof(found)));
}

/* After '=': a number up to @max and the end of the line (or of the code before a comment). */
static int take_value(struct topo_parser *p, struct topo_cur *c, uint64_t max, uint64_t *ret)
{
	uint64_t v;

	topo_skip_ws(c);
	if (!topo_take(c, '='))
		return fail_expected(p, c, "'='");
	topo_skip_ws(c);
	if (!topo_take_uint(c, max, &v))
		return fail_expected(p, c, "a number in range");
	topo_skip_ws(c);
	if (!topo_cur_end(c) && *c->p != '#')
		return fail_expected(p, c, "the end of the line");
	*ret = v;
	return 0;
}

static int parse_vendid(struct topo_parser *p, struct topo_cur *c)
{
	uint64_t v = 0;
	int err = take_value(p, c, 0xffffff, &v);

	if (!err)
		p->vendor_id = (uint32_t)v;
	return err;
}

static int parse_devid(struct topo_parser *p, struct topo_cur *c)
{
	uint64_t v = 0;
	int err = take_value(p, c, 0xffff, &v);

	if (!err)
		p->device_id = (uint16_t)v;
	return err;
}

static int parse_sysimgguid(struct topo_parser *p, struct topo_cur *c)
{
	return take_value(p, c, UINT64_MAX, &p->sys_guid);
}

static int parse_rate(struct topo_parser *p, struct topo_cur *c, uint8_t *ret, unsigned int min,
		      unsigned int max)
{
	uint64_t v = 0;
	int err = take_value(p, c, 255, &v);

	if (err)
		return err;
	if (v < min || v > max)
		return topo_fail(p, "expected a mask between %u and %u, found %u", min, max,
				 (unsigned int)v);
	*ret = (uint8_t)v;
	return 0;
}

static int parse_width(struct topo_parser *p, struct topo_cur *c)
{
	return parse_rate(p, c, &p->rate.width, 1, 31);
}

static int parse_speed(struct topo_parser *p, struct topo_cur *c)
{
	return parse_rate(p, c, &p->rate.speed, 1, 7);
}

static int parse_extspeed(struct topo_parser *p, struct topo_cur *c)
{
	return parse_rate(p, c, &p->rate.ext, 0, 15);
}

/* "=GUID" sets where counting goes on, "+N" counts from the last GUID that was set. */
static int parse_guid(struct topo_parser *p, struct topo_cur *c, uint64_t *base, uint64_t *next)
{
	uint64_t v, port = 0;
	struct topo_cur at;
	bool relative;

	topo_skip_ws(c);
	relative = topo_take(c, '+');
	if (!relative && !topo_take(c, '='))
		return fail_expected(p, c, "'=' or '+'");
	topo_skip_ws(c);
	at = *c;
	if (!topo_take_uint(c, UINT64_MAX, &v) || (!relative && !v))
		return fail_expected(p, &at, "a GUID");
	if (topo_take(c, '(')) {
		if (!topo_take_hex(c, &port) || !port)
			return fail_expected(p, c, "a port GUID");
		if (!topo_take(c, ')'))
			return fail_expected(p, c, "')'");
	}
	topo_skip_ws(c);
	if (!topo_cur_end(c) && *c->p != '#')
		return fail_expected(p, c, "the end of the line");
	if (!relative)
		*base = v;
	*next = relative ? *base + v : v;
	p->port0_guid = port;
	return 0;
}

static int parse_caguid(struct topo_parser *p, struct topo_cur *c)
{
	return parse_guid(p, c, &p->ca_base, &p->t->next_ca_guid);
}

static int parse_switchguid(struct topo_parser *p, struct topo_cur *c)
{
	return parse_guid(p, c, &p->switch_base, &p->t->next_switch_guid);
}

static int parse_module(struct topo_parser *p, struct topo_cur *c)
{
	char name[sizeof(p->module)];

	topo_skip_ws(c);
	topo_take(c, '=');
	topo_skip_ws(c);
	if (!topo_take_quoted(c, name, sizeof(name)))
		return fail_expected(p, c, "a quoted module name of at most 20 characters");
	if (strpbrk(name, "#@"))
		return topo_fail(p, "expected a module name without '#' and '@', found \"%s\"",
				 name);
	memcpy(p->module, name, sizeof(name));
	return 0;
}

/*
 * The description follows '#': quoted, or up to what ibnetdiscover says of port 0. Leaves the cursor
 * behind it.
 */
static void take_desc(struct topo_cur *c, char buf[TOPO_DESC_MAX + 1])
{
	static const char *const ends[] = { " enhanced port ", " base port ", " lid ", " lmc " };
	const char *e = c->end;
	size_t n;

	if (topo_take_quoted(c, buf, TOPO_DESC_MAX + 1))
		return;
	if (topo_take(c, '"')) {
		e = memchr(c->p, '"', (size_t)(c->end - c->p));
		e = e ? e : c->end;
	}
	for (size_t i = 0; e == c->end && i < ARRAY_SIZE(ends); i++) {
		const char *s = topo_seek(c, ends[i]);

		if (s)
			e = s;
	}
	n = (size_t)(e - c->p);
	if (n > TOPO_DESC_MAX)
		n = TOPO_DESC_MAX;
	memcpy(buf, c->p, n);
	buf[n] = '\0';
	c->p = e;
}

static int take_node_name(struct topo_parser *p, struct topo_cur *c, char name[TOPO_NAME_MAX + 1])
{
	struct topo_cur at;
	char id[65];

	topo_skip_ws(c);
	at = *c;
	if (!topo_take_quoted(c, id, sizeof(id)) || !*id)
		return fail_expected(p, &at, "a quoted name of 1 to 64 characters");
	if (strpbrk(id, "#@"))
		return topo_fail(p, "expected a name without '#' and '@', found \"%s\"", id);
	if (snprintf(name, TOPO_NAME_MAX + 1, "%s%s%s", p->module, *p->module ? "#" : "", id) >
	    TOPO_NAME_MAX)
		return topo_fail(p, "the name \"%s\" is too long", id);
	return 0;
}

static int add_node(struct topo_parser *p, enum ib_node_type type, unsigned int nports,
		    const char *name, const char *desc)
{
	uint64_t guid = type == IB_NODE_CA ? p->t->next_ca_guid : p->t->next_switch_guid;
	uint32_t old;
	int err = topo_add_node(p->t, type, nports, name, desc, &p->node);

	if (err == -EEXIST && !topo_find(p->t, name, &old) && !strcmp(p->t->node[old]->name, name))
		return topo_fail(p, "node \"%s\" was defined on line %u already", name,
				 p->t->node[old]->line);
	if (err == -EEXIST)
		return topo_fail(p, "node \"%s\": GUID 0x%llx belongs to another node already",
				 name, (unsigned long long)guid);
	if (err == -ENOSPC)
		return topo_fail(p, "more than %u nodes", TOPO_MAX_NODES);
	return err;
}

/* Type, ports, "name" # "description" base port 0 lid 1 lmc 0 */
static int parse_node(struct topo_parser *p, struct topo_cur *c, enum ib_node_type type)
{
	char name[TOPO_NAME_MAX + 1], desc[TOPO_DESC_MAX + 1] = "";
	struct topo_node *n;
	struct topo_cur at;
	uint64_t nports;
	int err;

	topo_skip_ws(c);
	at = *c;
	if (!topo_take_uint(c, 254, &nports) || !nports)
		return fail_expected(p, &at, "a number of ports between 1 and 254");
	err = take_node_name(p, c, name);
	if (err)
		return err;
	topo_skip_ws(c);
	if (topo_take(c, '#')) {
		topo_skip_ws(c);
		take_desc(c, desc);
	} else if (!topo_cur_end(c)) {
		return fail_expected(p, c, "'#' or the end of the line");
	}
	err = add_node(p, type, (unsigned int)nports, name, desc);
	if (err)
		return err;

	n = p->t->node[p->node];
	n->line = p->line;
	n->vendor_id = p->vendor_id;
	n->device_id = p->device_id;
	if (p->sys_guid)
		n->sys_guid = p->sys_guid;
	for (unsigned int i = 0; i <= n->nports; i++)
		n->port[i].rate = p->rate;
	if (type == IB_NODE_SWITCH) {
		n->enhanced_port0 = topo_seek(c, "enhanced port 0") != NULL;
		topo_comment_lid(c, &n->port[0].lid, &n->port[0].lmc);
		if (p->port0_guid)
			n->port[0].guid = p->port0_guid;
	}
	p->vendor_id = 0;
	p->sys_guid = p->port0_guid = 0;
	return 0;
}

static int parse_switch(struct topo_parser *p, struct topo_cur *c)
{
	return parse_node(p, c, IB_NODE_SWITCH);
}

static int parse_ca(struct topo_parser *p, struct topo_cur *c)
{
	return parse_node(p, c, IB_NODE_CA);
}

static int parse_text(struct topo_parser *p, const char *file, const char *text, size_t len);

static int parse_include(struct topo_parser *p, struct topo_cur *c)
{
	const char *file = p->file;
	unsigned int line = p->line;
	char name[256], *text;
	size_t len;
	int err;

	topo_skip_ws(c);
	if (!topo_take_quoted(c, name, sizeof(name)) || !*name)
		return fail_expected(p, c, "a quoted file name");
	if (!p->reader)
		return topo_fail(p, "include \"%s\": files are not read here", name);
	if (p->depth == MAX_INCLUDES || p->nfiles == MAX_FILES)
		return topo_fail(p, "include \"%s\": too many files, or they include each other",
				 name);
	err = p->reader->read(p->reader->ctx, name, &text, &len);
	if (err) {
		topo_fail(p, "include \"%s\": %s", name, strerror(-err));
		return err;
	}
	p->depth++;
	err = parse_text(p, name, text, len);
	p->depth--;
	free(text);
	p->file = file;
	p->line = line;
	return err;
}

static int parse_refused(struct topo_parser *p, struct topo_cur *c)
{
	return topo_fail(p,
			 "routers, console commands and port aliases of ibsim are not supported");
}

/* What `ibnetdiscover -g` says of chassis carries nothing that is needed. */
static int parse_ignored(struct topo_parser *p, struct topo_cur *c)
{
	return 0;
}

static const struct keyword {
	const char *word;
	int (*parse)(struct topo_parser *p, struct topo_cur *c);
} keywords[] = {
	{ "Switch", parse_switch },
	{ "Ca", parse_ca },
	{ "Hca", parse_ca },
	{ "vendid", parse_vendid },
	{ "devid", parse_devid },
	{ "sysimgguid", parse_sysimgguid },
	{ "switchguid", parse_switchguid },
	{ "switchguids", parse_switchguid },
	{ "caguid", parse_caguid },
	{ "caguids", parse_caguid },
	{ "hcaguid", parse_caguid },
	{ "hcaguids", parse_caguid },
	{ "width", parse_width },
	{ "speed", parse_speed },
	{ "extspeed", parse_extspeed },
	{ "module", parse_module },
	{ "include", parse_include },
	{ "Rt", parse_refused },
	{ "rtguid", parse_refused },
	{ "do", parse_refused },
	{ "pdebug", parse_refused },
	{ "Chassis", parse_ignored },
	{ "Non-Chassis", parse_ignored },
};

static int parse_line(struct topo_parser *p, struct topo_cur *c)
{
	for (const char *s = c->p; s < c->end; s++)
		if ((unsigned char)*s < 0x20 && *s != '\t')
			return topo_fail(p, "expected text, found the control character 0x%02x",
					 *s);
	if (topo_cur_end(c) || *c->p != '[')
		topo_skip_ws(c);
	if (topo_cur_end(c)) {
		p->node = TOPO_NO_PEER; /* an empty line ends a record */
		return 0;
	}
	if (*c->p == '#')
		return 0;
	if (*c->p == '[')
		return topo_parse_port(p, c);
	if (*c->p == '@')
		return parse_refused(p, c);
	p->node = TOPO_NO_PEER;
	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
		if (topo_take_word(c, keywords[i].word))
			return keywords[i].parse(p, c);
	return fail_expected(p, c, "Switch, Ca, Hca, a port in brackets or a setting");
}

static int add_file(struct topo_parser *p, const char *file)
{
	char **v = realloc(p->files, (p->nfiles + 1u) * sizeof(char *));

	if (!v)
		return -ENOMEM;
	p->files = v;
	v[p->nfiles] = strdup(file);
	if (!v[p->nfiles])
		return -ENOMEM;
	p->file = v[p->nfiles++];
	p->line = 0;
	return 0;
}

static int parse_text(struct topo_parser *p, const char *file, const char *text, size_t len)
{
	const char *end = text + len;
	int err = add_file(p, file);

	while (!err && text < end) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		struct topo_cur c = { text, nl ? nl : end };

		text = nl ? nl + 1 : end;
		if (c.end > c.p && c.end[-1] == '\r')
			c.end--;
		p->line++;
		err = parse_line(p, &c);
	}
	p->node = TOPO_NO_PEER;
	return err;
}

int topo_parse(struct topo **ret, const char *name, const char *text, size_t len,
	       const struct topo_reader *reader, struct topo_err *err)
{
	struct topo_parser p = {
		.t = topo_create(),
		.reader = reader,
		.err = err,
		.rate = { .width = 2, .speed = 1 },
		.node = TOPO_NO_PEER,
	};
	int rc = -ENOMEM;

	snprintf(err->text, sizeof(err->text), "%s: out of memory", name);
	if (p.t) {
		p.ca_base = p.t->next_ca_guid;
		p.switch_base = p.t->next_switch_guid;
		rc = parse_text(&p, name, text, len);
	}
	if (!rc)
		rc = topo_resolve(&p);
	for (unsigned int i = 0; i < p.nfiles; i++)
		free(p.files[i]);
	free(p.files);
	free(p.links);
	if (rc) {
		topo_free(p.t);
		return rc;
	}
	err->text[0] = '\0';
	*ret = p.t;
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "topo/priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/list.h"

#define MAX_INCLUDES 9 /* nesting depth of include, as in ibsim */
#define MAX_FILES 1024 /* largest number of files, included files counted */
/* largest number of lines left out; a text with more such lines is no topology */
#define MAX_LEFT_OUT 1000

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

bool topo_left_out(struct topo_parser *p)
{
	if (!p->sink || ++p->left_out > MAX_LEFT_OUT)
		return false;
	p->sink->note(p->sink->ctx, TOPO_NOTE_LEFT_OUT, p->err->text);
	return true;
}

void topo_note(struct topo_parser *p, enum topo_note kind, const char *fmt, ...)
{
	struct topo_err *outer = p->err, text;
	va_list ap;

	if (!p->sink)
		return;
	p->err = &text;
	va_start(ap, fmt);
	fail(p, p->file, p->line, fmt, ap);
	va_end(ap);
	p->err = outer;
	p->sink->note(p->sink->ctx, kind, text.text);
}

int topo_fail_expected(struct topo_parser *p, const struct topo_cur *c, const char *what)
{
	char found[64];

	return topo_fail(p, "expected %s, found %s", what, topo_found(c, found, sizeof(found)));
}

/* Read '=', a number of at most @max, and the end of the line or the start of a comment. */
static int take_value(struct topo_parser *p, struct topo_cur *c, uint64_t max, uint64_t *ret)
{
	uint64_t v;

	topo_skip_ws(c);
	if (!topo_take(c, '='))
		return topo_fail_expected(p, c, "'='");
	topo_skip_ws(c);
	if (!topo_take_uint(c, max, &v))
		return topo_fail_expected(p, c, "a number in range");
	topo_skip_ws(c);
	if (!topo_cur_end(c) && *c->p != '#')
		return topo_fail_expected(p, c, "the end of the line");
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

/* "=GUID" sets the GUID of the next node, "+N" sets it to the last "=GUID" plus N. */
static int parse_guid(struct topo_parser *p, struct topo_cur *c, uint64_t *base, uint64_t *next)
{
	uint64_t v, port = 0;
	struct topo_cur at;
	bool relative;

	topo_skip_ws(c);
	relative = topo_take(c, '+');
	if (!relative && !topo_take(c, '='))
		return topo_fail_expected(p, c, "'=' or '+'");
	topo_skip_ws(c);
	at = *c;
	if (!topo_take_uint(c, UINT64_MAX, &v) || (!relative && !v))
		return topo_fail_expected(p, &at, "a GUID");
	if (topo_take(c, '(')) {
		if (!topo_take_hex(c, &port) || !port)
			return topo_fail_expected(p, c, "a port GUID");
		if (!topo_take(c, ')'))
			return topo_fail_expected(p, c, "')'");
	}
	topo_skip_ws(c);
	if (!topo_cur_end(c) && *c->p != '#')
		return topo_fail_expected(p, c, "the end of the line");
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
		return topo_fail_expected(p, c, "a quoted module name of at most 20 characters");
	if (strpbrk(name, "#@"))
		return topo_fail(p, "expected a module name without '#' and '@', found \"%s\"",
				 name);
	memcpy(p->module, name, sizeof(name));
	return 0;
}

static int parse_switch(struct topo_parser *p, struct topo_cur *c)
{
	return topo_parse_node(p, c, IB_NODE_SWITCH);
}

static int parse_ca(struct topo_parser *p, struct topo_cur *c)
{
	return topo_parse_node(p, c, IB_NODE_CA);
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
		return topo_fail_expected(p, c, "a quoted file name");
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
	return topo_fail(p, "console commands and port aliases of ibsim are not supported");
}

static int parse_router(struct topo_parser *p, struct topo_cur *c)
{
	char found[64];

	return topo_fail(p, "routers are not supported: %s", topo_found(c, found, sizeof(found)));
}

static int parse_unknown_node(struct topo_parser *p, struct topo_cur *c)
{
	return topo_fail(p, "a node of unknown type is not supported");
}

/*
 * Ignore lines about chassis, which `ibnetdiscover -g` prints, and the GUID lines of nodes that are
 * refused.
 */
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
	{ "Rt", parse_router },
	{ "rtguid", parse_ignored },
	{ "???", parse_unknown_node },
	{ "???guid", parse_ignored },
	{ "do", parse_refused },
	{ "pdebug", parse_refused },
	{ "Chassis", parse_ignored },
	{ "Non-Chassis", parse_ignored },
	{ "Hostname", parse_ignored },
};

static bool is_node(const struct keyword *k)
{
	return k->parse == parse_switch || k->parse == parse_ca || k->parse == parse_router ||
	       k->parse == parse_unknown_node;
}

static int parse_keyword(struct topo_parser *p, const struct keyword *k, struct topo_cur *c)
{
	int err;

	p->node = TOPO_NO_PEER;
	p->skipping = false;
	err = k->parse(p, c);
	if (err != -EINVAL || !is_node(k))
		return err;
	/*
	 * A lenient parser leaves the node out and continues, so skip the port lines of this node.
	 */
	p->node = TOPO_NO_PEER;
	p->skipping = true;
	topo_next_node(p);
	return err;
}

static int parse_line(struct topo_parser *p, struct topo_cur *c)
{
	for (const char *s = c->p; s < c->end; s++)
		if (((unsigned char)*s < 0x20 && *s != '\t') || *s == 0x7f)
			return topo_fail(p, "expected text, found the control character 0x%02x",
					 *s);
	if (topo_cur_end(c) || *c->p != '[')
		topo_skip_ws(c);
	if (topo_cur_end(c)) {
		p->node = TOPO_NO_PEER; /* an empty line ends a record */
		p->skipping = false;
		return 0;
	}
	if (*c->p == '#')
		return 0;
	if (*c->p == '[')
		return topo_parse_port(p, c);
	if (*c->p == '@')
		return parse_refused(p, c);
	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
		if (topo_take_word(c, keywords[i].word))
			return parse_keyword(p, &keywords[i], c);
	/*
	 * The line may be a tool's error message between the port lines of a node. So do not end
	 * the node: the next port lines still belong to it.
	 */
	return topo_fail_expected(p, c, "Switch, Ca, Hca, a port in brackets or a setting");
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
		if (err == -EINVAL && topo_left_out(p))
			err = 0;
	}
	p->node = TOPO_NO_PEER;
	return err;
}

static int parse(struct topo **ret, const char *name, const char *text, size_t len,
		 const struct topo_reader *reader, const struct topo_sink *sink,
		 struct topo_err *err)
{
	struct topo_parser p = {
		.t = topo_create(),
		.reader = reader,
		.sink = sink,
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

int topo_parse(struct topo **ret, const char *name, const char *text, size_t len,
	       const struct topo_reader *reader, struct topo_err *err)
{
	return parse(ret, name, text, len, reader, NULL, err);
}

int topo_parse_found(struct topo **ret, const char *name, const char *text, size_t len,
		     const struct topo_sink *sink, struct topo_err *err)
{
	return parse(ret, name, text, len, NULL, sink, err);
}

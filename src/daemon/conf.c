/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/conf.h"

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/file.h"
#include "util/list.h"

/*
 * DOC: What inih does not do for us
 *
 * Debian's libinih merges repeated sections, takes an indented line as the
 * continuation of a value and splits lines over its 200-octet buffer. All three
 * would read a file as something its author did not write. So lines reach inih
 * through next_line(), which refuses them and knows the line number for messages.
 */
#define CONF_LINE_MAX 199 /* of inih's buffer, with the line end */
#define CONF_SECTIONS_MAX 4096

enum section_kind { SECTION_NONE, SECTION_FABRIC, SECTION_IFACE };

struct parser {
	struct conf c;
	const char *file;
	const char *pos, *end;
	unsigned int line;
	enum section_kind kind;
	char section[CONF_LINE_MAX + 1];
	uint64_t seen; /* keys of this section that were given: bit per table row */
	char *err;
	int status;
};

static int fail(struct parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The first error stands: inih goes on for a while after it. */
static int fail(struct parser *p, const char *fmt, ...)
{
	size_t n;
	va_list ap;

	if (p->status)
		return -EINVAL;
	p->status = -EINVAL;
	n = (size_t)snprintf(p->err, CONF_ERR_MAX, "%s:%u: ", p->file, p->line);
	if (n >= CONF_ERR_MAX)
		n = 0;
	va_start(ap, fmt);
	vsnprintf(p->err + n, CONF_ERR_MAX - n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int fail_nomem(struct parser *p)
{
	if (!p->status) {
		snprintf(p->err, CONF_ERR_MAX, "%s: out of memory", p->file);
		p->status = -ENOMEM;
	}
	return -ENOMEM;
}

/* @name is relative to the configuration's folder; "-" and absolute paths stay. */
static char *resolve_path(const struct parser *p, const char *name)
{
	const char *slash = strrchr(p->file, '/');
	char *path;

	if (*name == '/' || !strcmp(name, "-") || !slash)
		return strdup(name);
	if (asprintf(&path, "%.*s/%s", (int)(slash - p->file), p->file, name) < 0)
		return NULL;
	return path;
}

static struct conf_fabric *cur_fabric(struct parser *p)
{
	return &p->c.fabric[p->c.nfabrics - 1];
}

static struct conf_iface *cur_iface(struct parser *p)
{
	return &p->c.iface[p->c.nifaces - 1];
}

static int set_path(struct parser *p, char **dst, const char *key, const char *value)
{
	if (!*value)
		return fail(p, "[%s] %s: empty, expected a path", p->section, key);
	*dst = resolve_path(p, value);
	return *dst ? 0 : fail_nomem(p);
}

static int set_topology(struct parser *p, const char *v)
{
	return set_path(p, &cur_fabric(p)->topology, "topology", v);
}

static int set_partitions(struct parser *p, const char *v)
{
	return set_path(p, &cur_fabric(p)->partitions, "partitions", v);
}

static int set_capture(struct parser *p, const char *v)
{
	return set_path(p, &cur_fabric(p)->capture, "capture", v);
}

static int set_sm(struct parser *p, const char *v)
{
	if (!strcmp(v, "embedded"))
		cur_fabric(p)->sm_embedded = true;
	else if (!strcmp(v, "external"))
		cur_fabric(p)->sm_embedded = false;
	else
		return fail(p, "[%s] sm: '%s', expected embedded or external", p->section, v);
	return 0;
}

static int set_sm_port(struct parser *p, const char *v)
{
	struct conf_fabric *f = cur_fabric(p);
	const char *slash = strrchr(v, '/');
	unsigned long num;

	if (!slash || slash == v || (size_t)(slash - v) >= sizeof(f->sm_node) ||
	    conf_parse_uint(&num, slash + 1, 0, 254))
		return fail(p, "[%s] sm-port: '%s', expected NODE/PORT", p->section, v);
	memcpy(f->sm_node, v, (size_t)(slash - v));
	f->sm_node[slash - v] = '\0';
	f->sm_port = (uint8_t)num;
	return 0;
}

static int set_crc(struct parser *p, const char *v)
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
	return fail(p, "[%s] crc: '%s', expected full, icrc or off", p->section, v);
}

static int set_fabric_mtu(struct parser *p, const char *v)
{
	unsigned long mtu;

	if (conf_parse_uint(&mtu, v, 256, 4096) || (mtu & (mtu - 1)))
		return fail(p, "[%s] mtu: '%s', expected 256, 512, 1024, 2048 or 4096", p->section,
			    v);
	cur_fabric(p)->mtu = (unsigned int)mtu;
	return 0;
}

static int set_port(struct parser *p, const char *v)
{
	char why[CONF_ERR_MAX];

	if (conf_parse_port(&cur_iface(p)->port, v, why))
		return fail(p, "[%s] %s", p->section, why);
	return 0;
}

static int set_pkey(struct parser *p, const char *v)
{
	unsigned long pkey;

	/* IBTA C10-116: the low 15 bits of a valid P_Key are not all zero. */
	if (conf_parse_uint(&pkey, v, 1, 0xffff) || !(pkey & 0x7fff))
		return fail(p, "[%s] pkey: '%s', expected 0x0001-0x7fff or 0x8001-0xffff",
			    p->section, v);
	cur_iface(p)->pkey = (uint16_t)pkey;
	return 0;
}

static int set_profile(struct parser *p, const char *v)
{
	if (strcmp(v, "rfc4391"))
		return fail(p, "[%s] profile: '%s', expected rfc4391", p->section, v);
	snprintf(cur_iface(p)->profile, sizeof(cur_iface(p)->profile), "%s", v);
	return 0;
}

static int set_netns(struct parser *p, const char *v)
{
	struct conf_iface *i = cur_iface(p);
	unsigned long pid;

	if (!strncmp(v, "pid:", 4)) {
		if (conf_parse_uint(&pid, v + 4, 1, 1ul << 22))
			return fail(p, "[%s] netns: '%s', expected pid:N", p->section, v);
	} else if (!*v || (*v != '/' && (strchr(v, '/') || *v == '.'))) {
		return fail(p, "[%s] netns: '%s', expected a name, an absolute path or pid:N",
			    p->section, v);
	}
	i->netns = strdup(v);
	return i->netns ? 0 : fail_nomem(p);
}

static int set_address(struct parser *p, const char *v)
{
	struct conf_iface *i = cur_iface(p);

	if (i->naddrs == CONF_ADDRS_MAX)
		return fail(p, "[%s] address: more than %d", p->section, CONF_ADDRS_MAX);
	if (conf_parse_addr(&i->addr[i->naddrs], v))
		return fail(p,
			    "[%s] address: '%s', expected ADDRESS/PREFIX as 10.4.0.1/24 or "
			    "fd00::1/64",
			    p->section, v);
	i->naddrs++;
	return 0;
}

static int set_dhcp(struct parser *p, const char *v)
{
	if (strcmp(v, "rewrite") && strcmp(v, "raw"))
		return fail(p, "[%s] dhcp: '%s', expected rewrite or raw", p->section, v);
	cur_iface(p)->dhcp_raw = !strcmp(v, "raw");
	return 0;
}

static int set_mtu(struct parser *p, const char *v)
{
	unsigned long mtu;

	if (conf_parse_uint(&mtu, v, 68, 4092))
		return fail(p, "[%s] mtu: '%s', expected 68-4092", p->section, v);
	cur_iface(p)->mtu = (unsigned int)mtu;
	return 0;
}

struct key {
	const char *name;
	int (*set)(struct parser *p, const char *value);
	bool repeatable, required;
};

static const struct key fabric_keys[] = {
	{ "topology", set_topology, .required = true },
	{ "sm", set_sm },
	{ "sm-port", set_sm_port },
	{ "partitions", set_partitions },
	{ "crc", set_crc },
	{ "mtu", set_fabric_mtu },
	{ "capture", set_capture },
};

static const struct key iface_keys[] = {
	{ "port", set_port, .required = true },
	{ "pkey", set_pkey },
	{ "profile", set_profile },
	{ "netns", set_netns },
	{ "address", set_address, .repeatable = true },
	{ "dhcp", set_dhcp },
	{ "mtu", set_mtu },
};

static const struct key *section_keys(enum section_kind kind, size_t *ret_n)
{
	*ret_n = kind == SECTION_FABRIC ? ARRAY_SIZE(fabric_keys) : ARRAY_SIZE(iface_keys);
	return kind == SECTION_FABRIC ? fabric_keys : iface_keys;
}

static int unknown_key(struct parser *p, const char *name)
{
	char list[256] = "";
	size_t n, used = 0;
	const struct key *k = section_keys(p->kind, &n);

	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
					 k[i].name);
	return fail(p, "[%s] %s: unknown key, expected one of %s", p->section, name, list);
}

static int on_key(struct parser *p, const char *name, const char *value)
{
	size_t n;
	const struct key *k = section_keys(p->kind, &n);

	for (size_t i = 0; i < n; i++) {
		if (strcmp(k[i].name, name))
			continue;
		if ((p->seen & 1ull << i) && !k[i].repeatable)
			return fail(p, "[%s] %s: given twice", p->section, name);
		p->seen |= 1ull << i;
		return k[i].set(p, value);
	}
	return unknown_key(p, name);
}

/* inih: 1 goes on, 0 stops. */
static int on_ini(void *user, const char *section, const char *name, const char *value)
{
	struct parser *p = user;

	(void)section; /* on_section() saw it already, with its checks */
	if (p->status)
		return 0;
	if (p->kind == SECTION_NONE)
		return fail(p, "%s: a key before the first [section]", name) == 0;
	return on_key(p, name, value) == 0;
}

static int section_end(struct parser *p)
{
	size_t n;
	const struct key *k = section_keys(p->kind, &n);

	if (p->kind == SECTION_NONE)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (k[i].required && !(p->seen & 1ull << i))
			return fail(p, "[%s] %s: missing", p->section, k[i].name);
	return 0;
}

static void *grow(void *v, size_t n, size_t size)
{
	void *bigger = realloc(v, (n + 1) * size);

	if (bigger)
		memset((char *)bigger + n * size, 0, size);
	return bigger;
}

static bool name_ok(const char *s, size_t max)
{
	size_t len = strlen(s);

	return len > 0 && len < max && !strpbrk(s, " \t/@:[]") && s[0] != '.';
}

static int add_fabric(struct parser *p, const char *name)
{
	struct conf_fabric *f;

	if (!name_ok(name, CONF_NAME_MAX))
		return fail(p, "[%s]: '%s', expected a name without blanks or / @ :", p->section,
			    name);
	for (size_t i = 0; i < p->c.nfabrics; i++)
		if (!strcmp(p->c.fabric[i].name, name))
			return fail(p, "[%s]: given twice, first in line %u", p->section,
				    p->c.fabric[i].line);
	f = grow(p->c.fabric, p->c.nfabrics, sizeof(*f));
	if (!f)
		return fail_nomem(p);
	p->c.fabric = f;
	f = &f[p->c.nfabrics++];
	snprintf(f->name, sizeof(f->name), "%s", name);
	f->sm_embedded = true;
	f->line = p->line;
	p->kind = SECTION_FABRIC;
	return 0;
}

static int add_iface(struct parser *p, char *name)
{
	char *host = strchr(name, '@');
	struct conf_iface *i;

	if (host)
		*host++ = '\0';
	if (!name_ok(name, IFNAMSIZ) || (host && !name_ok(host, CONF_NAME_MAX)))
		return fail(p,
			    "[%s]: expected [interface NAME] or [interface NAME@HOST], NAME at "
			    "most %d octets",
			    p->section, IFNAMSIZ - 1);
	for (size_t k = 0; k < p->c.nifaces; k++)
		if (!strcmp(p->c.iface[k].name, name) &&
		    !strcmp(p->c.iface[k].host, host ? host : ""))
			return fail(p, "[%s]: given twice, first in line %u", p->section,
				    p->c.iface[k].line);
	i = grow(p->c.iface, p->c.nifaces, sizeof(*i));
	if (!i)
		return fail_nomem(p);
	p->c.iface = i;
	i = &i[p->c.nifaces++];
	snprintf(i->name, sizeof(i->name), "%s", name);
	snprintf(i->host, sizeof(i->host), "%s", host ? host : "");
	snprintf(i->profile, sizeof(i->profile), "rfc4391");
	i->pkey = 0xffff;
	i->line = p->line;
	p->kind = SECTION_IFACE;
	return 0;
}

static int on_section(struct parser *p, const char *line, size_t len)
{
	const char *close = memchr(line, ']', len);
	char body[CONF_LINE_MAX + 1];
	char *name;

	if (section_end(p))
		return -EINVAL;
	p->kind = SECTION_NONE;
	p->seen = 0;
	if (!close)
		return fail(p, "'[' without ']'");
	memcpy(body, line + 1, (size_t)(close - line - 1));
	body[close - line - 1] = '\0';
	snprintf(p->section, sizeof(p->section), "%s", body);
	if (p->c.nfabrics + p->c.nifaces >= CONF_SECTIONS_MAX)
		return fail(p, "more than %d sections", CONF_SECTIONS_MAX);

	name = strchr(body, ' ');
	if (name) {
		*name++ = '\0';
		name += strspn(name, " \t");
	}
	if (name && !strcmp(body, "fabric"))
		return add_fabric(p, name);
	if (name && !strcmp(body, "interface"))
		return add_iface(p, name);
	return fail(p, "[%s]: unknown section, expected [fabric NAME] or [interface NAME]",
		    p->section);
}

static int check_line(struct parser *p, const char *s, size_t len)
{
	size_t blanks = 0;

	if (memchr(s, '\0', len))
		return fail(p, "a NUL octet");
	while (blanks < len && (s[blanks] == ' ' || s[blanks] == '\t' || s[blanks] == '\r'))
		blanks++;
	if (blanks == len || s[blanks] == ';' || s[blanks] == '#')
		return 0;
	if (blanks)
		return fail(p, "an indented line, expected it to start in the first column");
	if (s[0] == '[')
		return on_section(p, s, len);
	if (!memchr(s, '=', len))
		return fail(p, "'%.*s', expected key = value", (int)len, s);
	return 0;
}

/* ini_reader: as fgets() */
static char *next_line(char *str, int num, void *stream)
{
	struct parser *p = stream;
	const char *nl;
	size_t len;

	if (p->pos == p->end || p->status)
		return NULL;
	nl = memchr(p->pos, '\n', (size_t)(p->end - p->pos));
	len = (size_t)((nl ? nl : p->end) - p->pos);
	p->line++;
	if (len + 2 > (size_t)num || len >= CONF_LINE_MAX) {
		fail(p, "a line of %zu octets, expected at most %d", len, CONF_LINE_MAX - 1);
		return NULL;
	}
	if (check_line(p, p->pos, len))
		return NULL;
	memcpy(str, p->pos, len);
	str[len] = '\n';
	str[len + 1] = '\0';
	p->pos += len + (nl ? 1 : 0);
	return str;
}

static const struct conf_fabric *find_fabric(const struct conf *c, const char *name)
{
	for (size_t i = 0; i < c->nfabrics; i++)
		if (!strcmp(c->fabric[i].name, name))
			return &c->fabric[i];
	return NULL;
}

/* What only the whole file can tell. */
static int check_whole(struct parser *p)
{
	for (size_t i = 0; i < p->c.nifaces; i++) {
		const struct conf_iface *f = &p->c.iface[i];

		p->line = f->line;
		if (!find_fabric(&p->c, f->port.fabric))
			return fail(p, "[interface %s%s%s] port: no [fabric %s] in this file",
				    f->name, *f->host ? "@" : "", f->host, f->port.fabric);
	}
	return 0;
}

int conf_parse(struct conf *ret, const char *text, size_t len, const char *file,
	       char err[CONF_ERR_MAX])
{
	struct parser p = { .file = file, .pos = text, .end = text + len, .err = err };
	int line;

	line = ini_parse_stream(next_line, &p, on_ini, &p);
	if (!p.status && line != 0) {
		p.line = line > 0 ? (unsigned int)line : p.line;
		fail(&p, "expected key = value");
	}
	if (!p.status && !section_end(&p))
		check_whole(&p);
	if (p.status) {
		conf_free(&p.c);
		return p.status;
	}
	*ret = p.c;
	return 0;
}

int conf_load(struct conf *ret, const char *file, char err[CONF_ERR_MAX])
{
	char *text;
	size_t len;
	int status = file_read(file, &text, &len);

	if (status) {
		snprintf(err, CONF_ERR_MAX, "%s: %s", file, strerror(-status));
		return status;
	}
	status = conf_parse(ret, text, len, file, err);
	free(text);
	return status;
}

void conf_free(struct conf *c)
{
	for (size_t i = 0; i < c->nfabrics; i++) {
		free(c->fabric[i].topology);
		free(c->fabric[i].partitions);
		free(c->fabric[i].capture);
	}
	for (size_t i = 0; i < c->nifaces; i++)
		free(c->iface[i].netns);
	free(c->fabric);
	free(c->iface);
	memset(c, 0, sizeof(*c));
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/conf.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_priv.h"
#include "os/file.h"
#include "util/escape.h"
#include "util/text.h"

/*
 * DOC: Checks of lines that inih does not make
 *
 * Debian's libinih merges repeated sections, takes an indented line as the continuation of a value and splits lines
 * that are longer than its buffer of 200 octets. Each of these three features would give a file another meaning than
 * its author intended. So lines reach inih through next_line(), which refuses such files and knows the line number
 * for messages.
 */
#define CONF_SECTIONS_MAX 4096

/* Return the length of the longest beginning of a text that can be the name of a key */
static size_t key_len(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && (isalnum((unsigned char)text[n]) || text[n] == '-' || text[n] == '_'))
		n++;
	return n;
}

/*
 * Return how many octets of a command-line setting SECTION.KEY=VALUE a message shows as the place
 * of the error. The value is not shown here, because it may be a secret. If the value is useful and
 * no secret, another part of the message shows it. If there is no '=', the user may have written
 * another character in its place. So only section and key are shown in this case.
 */
static int shown(const char *setting)
{
	const char *dot = strrchr(setting, '.'), *key = dot ? dot + 1 : setting;
	size_t n = strcspn(setting, "=");

	if (!setting[n])
		n = (size_t)(key - setting) + key_len(key, strlen(key));
	return n < 128 ? (int)n : 128;
}

/* Keep the first error only, because inih may call on_ini() a few more times after an error. */
int conf_fail(struct conf_parser *p, const char *fmt, ...)
{
	size_t n;
	va_list ap;

	if (p->status)
		return -EINVAL;
	p->status = -EINVAL;
	if (p->setting)
		n = (size_t)snprintf(p->err, CONF_ERR_MAX, "-o %.*s: ", shown(p->setting),
				     p->setting);
	else
		n = (size_t)snprintf(p->err, CONF_ERR_MAX, "%s:%u: ", p->file, p->line);
	if (n >= CONF_ERR_MAX)
		n = 0;
	va_start(ap, fmt);
	vsnprintf(p->err + n, CONF_ERR_MAX - n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

int conf_fail_nomem(struct conf_parser *p)
{
	if (!p->status) {
		snprintf(p->err, CONF_ERR_MAX, "%s: out of memory", p->file);
		p->status = -ENOMEM;
	}
	return -ENOMEM;
}

/*
 * Return the path of the file @name. A relative @name is relative to the configuration's folder.
 * "-" and absolute paths are returned unchanged.
 */
static char *resolve_path(const struct conf_parser *p, const char *name)
{
	const char *slash = strrchr(p->file, '/');
	char *path;

	if (*name == '/' || !strcmp(name, "-") || !slash)
		return strdup(name);
	if (asprintf(&path, "%.*s/%s", (int)(slash - p->file), p->file, name) < 0)
		return NULL;
	return path;
}

int conf_set_path(struct conf_parser *p, char **dst, const char *key, const char *value)
{
	if (!*value)
		return conf_fail(p, "[%s] %s: empty, expected a path", p->section, key);
	free(*dst); /* the path from the file, which a setting of the command line replaces */
	*dst = resolve_path(p, value);
	return *dst ? 0 : conf_fail_nomem(p);
}

static const struct conf_section *const sections[] = {
	&conf_section_fabric,
	&conf_section_udp,
	&conf_section_iface,
};

static int unknown_key(struct conf_parser *p, const char *name)
{
	char list[CONF_ERR_MAX] = "";
	struct text t = TEXT_IN(list);

	for (size_t i = 0; i < p->kind->nkeys; i++)
		text_add_item(&t, ", ", p->kind->keys[i].name);
	return conf_fail(p, "[%s] %s: unknown key, expected one of %s", p->section, name, list);
}

int conf_key_given(struct conf_parser *p, const char *name, const char *value)
{
	const struct conf_key *k = p->kind->keys;

	for (size_t i = 0; i < p->kind->nkeys; i++) {
		if (strcmp(k[i].name, name))
			continue;
		if ((p->seen & 1ull << i) && !k[i].repeatable)
			return conf_fail(p, "[%s] %s: given twice", p->section, name);
		p->seen |= 1ull << i;
		return conf_key_set(p, &k[i], value);
	}
	return unknown_key(p, name);
}

/* Keeps the text of a key, because conf_diff() compares the settings of two files as texts. */
static int keep(struct conf_parser *p, const char *name, const char *value)
{
	struct conf_setting *s = conf_grow(p->c.setting, p->c.nsettings, sizeof(*s));

	if (!s)
		return conf_fail_nomem(p);
	p->c.setting = s;
	s += p->c.nsettings++;
	s->section = p->section_line;
	s->line = p->line;
	s->key = strdup(name);
	s->value = strdup(value);
	return s->key && s->value ? 0 : conf_fail_nomem(p);
}

/* Callback of inih for each key. Return: 1 to let inih continue, 0 to stop it */
static int on_ini(void *user, const char *section, const char *name, const char *value)
{
	struct conf_parser *p = user;

	(void)section; /* on_section() has already checked and stored the section */
	if (p->status)
		return 0;
	if (!p->kind)
		return conf_fail(p, "%s: a key before the first [section]", name) == 0;
	return conf_key_given(p, name, value) == 0 && keep(p, name, value) == 0;
}

static int section_end(struct conf_parser *p)
{
	if (!p->kind)
		return 0;
	if (conf_override(p))
		return -EINVAL;
	for (size_t i = 0; i < p->kind->nkeys; i++)
		if (p->kind->keys[i].required && !(p->seen & 1ull << i))
			return conf_fail(p, "[%s] %s: missing", p->section, p->kind->keys[i].name);
	return 0;
}

void *conf_grow(void *v, size_t n, size_t size)
{
	void *bigger = realloc(v, (n + 1) * size);

	if (bigger)
		memset((char *)bigger + n * size, 0, size);
	return bigger;
}

bool conf_name_ok(const char *s, size_t max)
{
	size_t len = strlen(s);

	return len > 0 && len < max && !strpbrk(s, " \t/@:[]") && s[0] != '.' && text_is_plain(s);
}

/* Fail with the message "unknown section, expected [fabric NAME] or ..." */
static int unknown_section(struct conf_parser *p)
{
	char list[CONF_ERR_MAX] = "";
	struct text t = TEXT_IN(list);
	size_t n = ARRAY_SIZE(sections);

	for (size_t i = 0; i < n; i++) {
		text_add_item(&t, i + 1 < n ? ", " : " or ", "[");
		text_add(&t, "%s NAME]", sections[i]->word);
	}
	return conf_fail(p, "[%s]: unknown section, expected %s", p->section, list);
}

static int on_section(struct conf_parser *p, const char *line, size_t len)
{
	const char *close = memchr(line, ']', len);
	char body[CONF_LINE_MAX + 1];
	char *name;

	if (section_end(p))
		return -EINVAL;
	p->kind = NULL;
	p->seen = 0;
	if (!close)
		return conf_fail(p, "'[' without ']'");
	memcpy(body, line + 1, (size_t)(close - line - 1));
	body[close - line - 1] = '\0';
	snprintf(p->section, sizeof(p->section), "%s", body);
	if (p->nsections++ == CONF_SECTIONS_MAX)
		return conf_fail(p, "more than %d sections", CONF_SECTIONS_MAX);

	name = strchr(body, ' ');
	if (name) {
		*name++ = '\0';
		name += strspn(name, " \t");
	}
	p->section_line = p->line;
	for (size_t i = 0; name && i < ARRAY_SIZE(sections); i++) {
		if (strcmp(body, sections[i]->word))
			continue;
		p->kind = sections[i];
		return sections[i]->begin(p, name);
	}
	return unknown_section(p);
}

static int check_line(struct conf_parser *p, const char *s, size_t len)
{
	size_t blanks = 0;

	if (memchr(s, '\0', len))
		return conf_fail(p, "a NUL octet");
	while (blanks < len && (s[blanks] == ' ' || s[blanks] == '\t' || s[blanks] == '\r'))
		blanks++;
	if (blanks == len || s[blanks] == ';' || s[blanks] == '#')
		return 0;
	if (blanks)
		return conf_fail(p, "an indented line, expected it to start in the first column");
	if (s[0] == '[')
		return on_section(p, s, len);
	if (!memchr(s, '=', len))
		/* show only the key, because the text after it may be a secret */
		return conf_fail(p, "'%.*s', expected key = value", (int)key_len(s, len), s);
	return 0;
}

/* The reader that inih calls for each line, with the arguments and the return value of fgets() */
static char *next_line(char *str, int num, void *stream)
{
	struct conf_parser *p = stream;
	const char *nl;
	size_t len;

	if (p->pos == p->end || p->status)
		return NULL;
	nl = memchr(p->pos, '\n', (size_t)(p->end - p->pos));
	len = (size_t)((nl ? nl : p->end) - p->pos);
	p->line++;
	if (len + 2 > (size_t)num || len >= CONF_LINE_MAX) {
		conf_fail(p, "a line of %zu octets, expected at most %d", len, CONF_LINE_MAX - 1);
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

const struct conf_fabric *conf_find_fabric(const struct conf *c, const char *name)
{
	for (size_t i = 0; i < c->nfabrics; i++)
		if (!strcmp(c->fabric[i].name, name))
			return &c->fabric[i];
	return NULL;
}

/* Run the checks that need several sections. The whole file was read before this call. */
static void check_whole(struct conf_parser *p)
{
	for (size_t i = 0; !p->status && i < ARRAY_SIZE(sections); i++)
		if (sections[i]->check)
			sections[i]->check(p);
}

int conf_parse_with(struct conf *ret, const char *text, size_t len, const char *file,
		    const struct conf_overrides *over, char err[CONF_ERR_MAX])
{
	struct conf_parser p = {
		.file = file,
		.pos = text,
		.end = text + len,
		.over = over,
		.err = err,
	};
	int line;

	line = ini_parse_stream(next_line, &p, on_ini, &p);
	if (!p.status && line != 0) {
		p.line = line > 0 ? (unsigned int)line : p.line;
		conf_fail(&p, "expected key = value");
	}
	if (!p.status && !section_end(&p) && !conf_override_check(&p))
		check_whole(&p);
	if (!p.status) {
		p.c.file = strdup(file);
		if (!p.c.file)
			conf_fail_nomem(&p);
	}
	if (p.status) {
		conf_free(&p.c);
		return p.status;
	}
	*ret = p.c;
	return 0;
}

int conf_parse(struct conf *ret, const char *text, size_t len, const char *file,
	       char err[CONF_ERR_MAX])
{
	return conf_parse_with(ret, text, len, file, NULL, err);
}

int conf_load_with(struct conf *ret, const char *file, const struct conf_overrides *over,
		   char err[CONF_ERR_MAX])
{
	char *text;
	size_t len;
	int status = file_read(file, &text, &len);

	if (status) {
		snprintf(err, CONF_ERR_MAX, "%s: %s", file, strerror(-status));
		return status;
	}
	status = conf_parse_with(ret, text, len, file, over, err);
	free(text);
	return status;
}

int conf_load(struct conf *ret, const char *file, char err[CONF_ERR_MAX])
{
	return conf_load_with(ret, file, NULL, err);
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
	for (size_t i = 0; i < c->nsettings; i++) {
		free(c->setting[i].key);
		free(c->setting[i].value);
	}
	free(c->setting);
	free(c->fabric);
	free(c->iface);
	free(c->udp);
	free(c->file);
	memset(c, 0, sizeof(*c));
}

void conf_drop_iface(struct conf *c, size_t nth)
{
	free(c->iface[nth].netns);
	memmove(&c->iface[nth], &c->iface[nth + 1], (--c->nifaces - nth) * sizeof(*c->iface));
}

int conf_blame(const struct conf *c, unsigned int line, const char *section, int status, char *err,
	       size_t size)
{
	struct text t = { .buf = err, .size = size };
	char *why;

	if (!status || !c->file)
		return status;
	why = strdup(err);
	text_add(&t, "%s:%u: [%s] %s", c->file, line, section, why ? why : strerror(-status));
	free(why);
	return status;
}

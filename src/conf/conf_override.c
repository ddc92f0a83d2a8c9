/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "conf/conf_priv.h"

/*
 * Settings of the command line (CONFORMANCE.md, H29: the command line wins over the file):
 *
 *	interface.rq-depth=512			for all interfaces
 *	interface:uib0@h1.debug=3		for one interface
 *	fabric:lab.crc=off			for one fabric
 *
 * The sections, keys and ranges of values are those of the file, and so are the error messages. A
 * setting is applied at the end of its section in the file, so it replaces the value in the file.
 */

struct setting {
	const char *word; /* kind of the section */
	const char *name; /* name of the section; "" for all */
	const char *key;
	const char *value;
	char text[CONF_LINE_MAX + 1]; /* copy of the setting, into which the other members point */
};

/*
 * Split a setting into section, key and value. Names of sections may contain dots but keys do not,
 * so the last dot before the first '=' ends the section.
 */
static int parse(struct setting *ret, const char *text)
{
	char *eq, *dot, *colon;

	if (strlen(text) >= sizeof(ret->text))
		return -EINVAL;
	memcpy(ret->text, text, strlen(text) + 1);
	eq = strchr(ret->text, '=');
	if (!eq)
		return -EINVAL;
	*eq = '\0';
	dot = strrchr(ret->text, '.');
	if (!dot || dot == ret->text || !dot[1])
		return -EINVAL;
	*dot = '\0';
	colon = strchr(ret->text, ':');
	if (colon)
		*colon = '\0';
	ret->word = ret->text;
	ret->name = colon ? colon + 1 : "";
	ret->key = dot + 1;
	ret->value = eq + 1;
	return colon && !colon[1] ? -EINVAL : 0;
}

/*
 * Tell whether a setting is for the section that is being read. p->section is the text between the
 * brackets, such as "interface uib0".
 */
static bool is_for(const struct conf_parser *p, const struct setting *s)
{
	const char *name = strchr(p->section, ' ');

	if (strcmp(s->word, p->kind->word) != 0)
		return false;
	return !*s->name || (name && !strcmp(s->name, name + strspn(name, " \t")));
}

static const struct conf_key *find_key(const struct conf_section *kind, const char *name)
{
	for (size_t i = 0; i < kind->nkeys; i++)
		if (!strcmp(kind->keys[i].name, name))
			return &kind->keys[i];
	return NULL;
}

static int take(struct conf_parser *p, const struct setting *s)
{
	const struct conf_key *k = find_key(p->kind, s->key);

	if (k && k->repeatable)
		return conf_fail(p, "[%s] %s: may be given several times, expected in the file",
				 p->section, s->key);
	if (k)
		p->seen &= ~(1ull << (k - p->kind->keys));
	return conf_key_given(p, s->key, s->value);
}

int conf_override(struct conf_parser *p)
{
	struct setting s;
	int status = 0;

	for (unsigned int i = 0; p->over && !status && i < p->over->n; i++) {
		p->setting = p->over->text[i];
		if (parse(&s, p->setting))
			status = conf_fail(p, "expected SECTION[:NAME].KEY=VALUE, as "
					      "interface:uib0@h1.rq-depth=512");
		else if (is_for(p, &s)) {
			p->used |= 1ull << i;
			status = take(p, &s);
		}
	}
	p->setting = NULL;
	return status;
}

int conf_override_check(struct conf_parser *p)
{
	for (unsigned int i = 0; p->over && i < p->over->n; i++) {
		if (p->used & 1ull << i)
			continue;
		p->setting = p->over->text[i];
		return conf_fail(p, "expected the name of a section of %s", p->file);
	}
	return 0;
}

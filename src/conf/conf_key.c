/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "conf/conf_priv.h"
#include "util/member.h"

/*
 * Functions that read and write the members of a section's struct. The section's table of keys
 * describes the members.
 */

static bool find_word(const char *const *words, const char *value, unsigned long *ret)
{
	for (unsigned long i = 0; words[i]; i++) {
		if (strcmp(words[i], value))
			continue;
		*ret = i;
		return true;
	}
	return false;
}

void conf_key_defaults(const struct conf_section *s, void *object)
{
	for (size_t i = 0; i < s->nkeys; i++) {
		const struct conf_key *k = &s->keys[i];

		if (k->type == CONF_NUMBER || k->type == CONF_WORD)
			member_put((char *)object + k->off, k->size, k->def);
	}
}

int conf_key_set(struct conf_parser *p, const struct conf_key *k, const char *value)
{
	char *object = p->kind->current(p);
	unsigned long v = 0;
	bool ok;

	if (k->type == CONF_OWN)
		return k->set(p, value);
	if (k->type == CONF_PATH)
		return conf_set_path(p, (char **)(void *)(object + k->off), k->name, value);
	ok = k->type == CONF_WORD ? find_word(k->words, value, &v)
				  : !conf_parse_uint(&v, value, k->min, k->max);
	if (ok && k->allowed)
		ok = k->allowed(v);
	if (!ok && k->expected)
		return conf_fail(p, "[%s] %s: '%s', expected %s", p->section, k->name, value,
				 k->expected);
	if (!ok)
		return conf_fail(p, "[%s] %s: '%s', expected %lu-%lu", p->section, k->name, value,
				 k->min, k->max);
	member_put(object + k->off, k->size, v);
	if (k->given)
		object[k->given] = true;
	return 0;
}

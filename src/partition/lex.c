/* SPDX-License-Identifier: BSD-2-Clause */
#include "partition/lex.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool lex_fail(struct lex *ps, const char *fmt, ...)
{
	char msg[256];
	va_list ap;

	if (ps->code)
		/* keep the first error, because later errors may only be consequences of it */
		return false;
	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	if (ps->err_len)
		snprintf(ps->err, ps->err_len, "%s:%u: %s", ps->file, ps->line, msg);
	ps->code = -EINVAL;
	return false;
}

bool lex_no_memory(struct lex *ps)
{
	ps->code = -ENOMEM;
	return false;
}

void lex_skip(struct lex *ps, bool newline)
{
	while (ps->p < ps->end) {
		char c = *ps->p;

		if (c == '#') {
			while (ps->p < ps->end && *ps->p != '\n')
				ps->p++;
			continue;
		}
		if (c == '\\' && ps->p + 1 < ps->end && ps->p[1] == '\n') {
			ps->p += 2;
			ps->line++;
			continue;
		}
		if (c == '\n' && newline)
			return;
		if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
			return;
		ps->line += c == '\n';
		ps->p++;
	}
}

char lex_peek(struct lex *ps)
{
	lex_skip(ps, false);
	return ps->p < ps->end ? *ps->p : '\0';
}

bool lex_accept(struct lex *ps, char c)
{
	if (lex_peek(ps) != c || ps->p >= ps->end)
		return false;
	ps->p++;
	return true;
}

static bool word_char(char c, bool gid)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' || (gid && c == ':');
}

bool lex_word(struct lex *ps, char *ret, size_t size, bool gid)
{
	size_t n = 0;

	lex_skip(ps, false);
	while (ps->p < ps->end && word_char(*ps->p, gid)) {
		if (n + 1 == size)
			return lex_fail(ps, "a word of more than %zu characters", size - 1);
		ret[n++] = *ps->p++;
	}
	ret[n] = '\0';
	return true;
}

const char *lex_found(struct lex *ps)
{
	if (lex_peek(ps) == '\0' && ps->p >= ps->end)
		return "the end of the file";
	ps->one[0] = isprint((unsigned char)*ps->p) ? *ps->p : '?';
	ps->one[1] = '\0';
	return ps->one;
}

bool lex_number(struct lex *ps, const char *what, const char *word, uint64_t max, uint64_t *ret)
{
	char *stop;

	errno = 0;
	*ret = strtoull(word, &stop, 0);
	if (!isdigit((unsigned char)word[0]) || *stop || errno || *ret > max)
		return lex_fail(ps, "%s \"%s\": expected a number from 0 to 0x%llx", what, word,
				(unsigned long long)max);
	return true;
}

bool lex_value(struct lex *ps, const char *key, char *word, size_t size, bool gid)
{
	if (!lex_accept(ps, '='))
		return lex_fail(ps, "found '%s' after \"%s\": expected '='", lex_found(ps), key);
	if (!lex_word(ps, word, size, gid))
		return false;
	if (!word[0])
		return lex_fail(ps, "found '%s' after \"%s=\": expected a value", lex_found(ps),
				key);
	return true;
}

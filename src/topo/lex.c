/* SPDX-License-Identifier: BSD-2-Clause */
#include "topo/lex.h"

#include <stdio.h>
#include <string.h>

void topo_skip_ws(struct topo_cur *c)
{
	while (c->p < c->end && (*c->p == ' ' || *c->p == '\t'))
		c->p++;
}

bool topo_take(struct topo_cur *c, char ch)
{
	if (topo_cur_end(c) || *c->p != ch)
		return false;
	c->p++;
	return true;
}

static bool is_letter(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}

bool topo_take_word(struct topo_cur *c, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(c->end - c->p) < n || memcmp(c->p, word, n) != 0)
		return false;
	if (c->p + n < c->end && is_letter(c->p[n]))
		return false;
	c->p += n;
	return true;
}

static int digit_of(char ch)
{
	if (ch >= '0' && ch <= '9')
		return ch - '0';
	if (ch >= 'a' && ch <= 'f')
		return ch - 'a' + 10;
	if (ch >= 'A' && ch <= 'F')
		return ch - 'A' + 10;
	return 16;
}

static bool take_number(struct topo_cur *c, unsigned int base, uint64_t max, uint64_t *ret)
{
	const char *s = c->p;
	uint64_t v = 0;

	if (c->end - s > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		base = 16;
		s += 2;
	}
	if (s == c->end || (unsigned int)digit_of(*s) >= base)
		return false;
	for (; s < c->end && (unsigned int)digit_of(*s) < base; s++) {
		unsigned int d = (unsigned int)digit_of(*s);

		if (v > (max - d) / base || d > max)
			return false;
		v = v * base + d;
	}
	c->p = s;
	*ret = v;
	return true;
}

bool topo_take_uint(struct topo_cur *c, uint64_t max, uint64_t *ret)
{
	return take_number(c, 10, max, ret);
}

bool topo_take_hex(struct topo_cur *c, uint64_t *ret)
{
	return take_number(c, 16, UINT64_MAX, ret);
}

bool topo_take_quoted(struct topo_cur *c, char *buf, size_t size)
{
	const char *e;
	size_t n;

	if (topo_cur_end(c) || *c->p != '"')
		return false;
	e = memchr(c->p + 1, '"', (size_t)(c->end - c->p - 1));
	if (!e)
		return false;
	n = (size_t)(e - c->p - 1);
	if (n >= size)
		return false;
	memcpy(buf, c->p + 1, n);
	buf[n] = '\0';
	c->p = e + 1;
	return true;
}

const char *topo_seek(const struct topo_cur *c, const char *s)
{
	return memmem(c->p, (size_t)(c->end - c->p), s, strlen(s));
}

char *topo_found(const struct topo_cur *c, char *buf, size_t size)
{
	int n = (int)(c->end - c->p);

	if (!n)
		snprintf(buf, size, "the end of the line");
	else
		snprintf(buf, size, "'%.*s'%s", n < 40 ? n : 40, c->p, n < 40 ? "" : "...");
	return buf;
}

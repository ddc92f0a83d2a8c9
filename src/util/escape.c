/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/escape.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NOT_UTF8 UINT32_MAX

/*
 * Tell whether s[0] to s[n - 1] are octets that can follow the first octet of a character in UTF-8.
 * A NUL cannot follow.
 */
static bool follow(const unsigned char *s, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return false;
	return true;
}

/*
 * Return the first character of @text, which is not empty, and set *@ret_len to the number of
 * octets of this character. For an invalid octet, return NOT_UTF8 and set *@ret_len to 1 (RFC 3629
 * §4).
 */
static uint32_t next_char(const char *text, unsigned int *ret_len)
{
	const unsigned char *s = (const unsigned char *)text;
	uint32_t c;

	*ret_len = 1;
	if (*s < 0x80)
		return *s;
	if (*s >= 0xc2 && *s < 0xe0 && follow(s + 1, 1)) {
		*ret_len = 2;
		return (uint32_t)(*s & 0x1f) << 6 | (s[1] & 0x3f);
	}
	if ((*s & 0xf0) == 0xe0 && follow(s + 1, 2)) {
		c = (uint32_t)(*s & 0x0f) << 12 | (uint32_t)(s[1] & 0x3f) << 6 | (s[2] & 0x3f);
		if (c < 0x800 || (c >= 0xd800 && c < 0xe000))
			return NOT_UTF8;
		*ret_len = 3;
		return c;
	}
	if (*s >= 0xf0 && *s < 0xf5 && follow(s + 1, 3)) {
		c = (uint32_t)(*s & 0x07) << 18 | (uint32_t)(s[1] & 0x3f) << 12 |
		    (uint32_t)(s[2] & 0x3f) << 6 | (s[3] & 0x3f);
		if (c < 0x10000 || c > 0x10ffff)
			return NOT_UTF8;
		*ret_len = 4;
		return c;
	}
	return NOT_UTF8;
}

static bool is_plain(uint32_t c)
{
	if (c < ' ' || (c >= 0x7f && c < 0xa0))
		return false;
	return c != NOT_UTF8 && c != 0x200e && c != 0x200f && (c < 0x2028 || c > 0x202e) &&
	       (c < 0x2066 || c > 0x2069);
}

static bool is_utf8(uint32_t c)
{
	return c != NOT_UTF8;
}

#define PIECE_MAX 17 /* four octets as \xNN, and the NUL */

/*
 * Write the first character of @s to @piece, escaped unless @keep accepts it. Returns the rest of
 * @s.
 */
static const char *next_piece(char piece[PIECE_MAX], const char *s, bool (*keep)(uint32_t c))
{
	struct text t = { .buf = piece, .size = PIECE_MAX };
	unsigned int len;
	uint32_t c = next_char(s, &len);

	if (keep(c))
		text_add(&t, "%.*s", (int)len, s);
	else
		for (unsigned int i = 0; i < len; i++)
			text_add(&t, "\\x%02x", (unsigned char)s[i]);
	return s + len;
}

void text_add_escaped(struct text *t, const char *s)
{
	char piece[PIECE_MAX];

	while (*s) {
		s = next_piece(piece, s, is_plain);
		if (t->len + strlen(piece) >= t->size)
			return; /* the character does not fit whole, and is never cut in two */
		text_add(t, "%s", piece);
	}
}

void text_print_escaped(FILE *f, const char *s)
{
	char piece[PIECE_MAX];

	while (*s) {
		s = next_piece(piece, s, is_plain);
		fputs(piece, f);
	}
}

char *text_utf8(const char *s)
{
	size_t size = strlen(s) * 4 + 1;
	struct text t = { .buf = malloc(size), .size = size };
	char piece[PIECE_MAX];

	if (!t.buf)
		return NULL;
	t.buf[0] = '\0';
	while (*s) {
		s = next_piece(piece, s, is_utf8);
		text_add(&t, "%s", piece);
	}
	return t.buf;
}

bool text_is_plain(const char *s)
{
	unsigned int len;

	for (; *s; s += len)
		if (!is_plain(next_char(s, &len)))
			return false;
	return true;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_TEXT_H
#define UTIL_TEXT_H

/*
 * Functions that build a line of text in a buffer of the caller. struct text keeps count of the
 * room that is left.
 */

#include <stddef.h>

/*
 * A text that grows in .buf, whose .size octets include the NUL. The caller sets .len to 0 at the
 * start. Text that does not fit is cut off, and .len never reaches .size.
 */
struct text {
	char *buf;
	size_t size, len;
};

/* TEXT_IN() - An empty text in the array @array */
#define TEXT_IN(array)                                 \
	(struct text)                                  \
	{                                              \
		.buf = (array), .size = sizeof(array), \
	}

/* text_add() - Append text that is formatted as by printf() */
void text_add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* text_add_item() - Append @word, with @sep before it unless the text is empty */
void text_add_item(struct text *t, const char *sep, const char *word);

/*
 * text_s() - Return the plural ending of a noun after the number @n: "1 link", but "0 links" and "2
 * links"
 */
static inline const char *text_s(unsigned long long n)
{
	return n == 1 ? "" : "s";
}

#endif

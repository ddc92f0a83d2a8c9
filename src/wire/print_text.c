/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/print_text.h"

#include <stdarg.h>
#include <stdio.h>

void text_add(struct text *t, const char *fmt, ...)
{
	size_t room = t->len < t->size ? t->size - t->len : 0;
	va_list ap;
	int n;

	if (room == 0)
		return;

	va_start(ap, fmt);
	n = vsnprintf(t->buf + t->len, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->len += (size_t)n < room ? (size_t)n : room - 1;
}

void text_add_quoted(struct text *t, const void *s, size_t len)
{
	const unsigned char *c = s;

	text_add(t, " \"");
	for (size_t i = 0; i < len && c[i] != '\0'; i++)
		text_add(t, "%c", c[i] >= ' ' && c[i] <= '~' ? c[i] : '.');
	text_add(t, "\"");
}

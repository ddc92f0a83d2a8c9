/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/text.h"

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

void text_add_item(struct text *t, const char *sep, const char *word)
{
	text_add(t, "%s%s", t->len ? sep : "", word);
}

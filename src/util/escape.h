/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_ESCAPE_H
#define UTIL_ESCAPE_H

/*
 * DOC: Escaping untrusted text
 *
 * A NodeDescription, a name in a file or a message of another program is untrusted text. It may
 * contain sequences that move the cursor or change the title of a terminal. It may contain line
 * ends that fake a line of a log. It may contain octets that are not UTF-8, which JSON does not
 * allow. Such text is escaped once, at the place where it is printed or logged or becomes JSON.
 *
 * Escaped octets are written as \xNN. A backslash stays as it is, so text that is already escaped does not change, and
 * text can pass through several programs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "util/text.h"

/*
 * text_add_escaped() - Append @s for a terminal or a log, on one line, so that it has no effect on the terminal or on
 * other lines
 *
 * Escapes control characters (also DEL and U+0080 to U+009F), characters that change the direction or the lines of
 * a text (U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069), and octets that are not UTF-8.
 */
void text_add_escaped(struct text *t, const char *s);

/* text_print_escaped() - Write the escaped @s, of any length, to a file */
void text_print_escaped(FILE *f, const char *s);

/*
 * text_utf8() - Return a copy of @s in which only octets that are not UTF-8 are escaped. The caller
 * frees the copy by free(). Return: NULL if out of memory
 */
char *text_utf8(const char *s);

/* text_is_plain() - Tell whether text_add_escaped() would append @s unchanged */
bool text_is_plain(const char *s);

#endif

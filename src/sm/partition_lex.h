/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SM_PARTITION_LEX_H
#define SM_PARTITION_LEX_H

/*
 * Words, numbers and errors of partitions.conf. White space, "#" comments and "\" before the end of
 * a line are skipped everywhere. Functions that return bool return false once an error was
 * recorded; the first error counts.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORD_MAX 80

struct sm_partitions;

struct lex {
	const char *file, *p, *end;
	unsigned int line;
	char *err;
	size_t err_len;
	struct sm_partitions *ps;
	char one[2]; /* what lex_found() found */
	int code; /* what ended it: -EINVAL, -ENOMEM */
};

/* Both record an error and return false. */
bool lex_fail(struct lex *ps, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool lex_no_memory(struct lex *ps);

/* lex_skip() - What counts for nothing; @newline: but stop at the end of a line */
void lex_skip(struct lex *ps, bool newline);

/* lex_peek() - The next character that counts; NUL at the end */
char lex_peek(struct lex *ps);
bool lex_accept(struct lex *ps, char c);

/* lex_word() - The next word, empty if something else comes; @gid: with colons */
bool lex_word(struct lex *ps, char *ret, size_t size, bool gid);

/* lex_found() - What comes instead of what was expected, for messages; valid until the next call */
const char *lex_found(struct lex *ps);

/* lex_number() - @word as a decimal, octal or 0x number of at most @max; @what names it in the error */
bool lex_number(struct lex *ps, const char *what, const char *word, uint64_t max, uint64_t *ret);

/* lex_value() - "=" and a word that is not empty, after @key */
bool lex_value(struct lex *ps, const char *key, char *word, size_t size, bool gid);

#endif

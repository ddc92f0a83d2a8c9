/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PARTITION_LEX_H
#define PARTITION_LEX_H

/*
 * Words, numbers and errors of partitions.conf. White space, "#" comments and "\" before the end of
 * a line are skipped (lex_skip()). Functions that can fail record an error and return false. Of
 * several errors the first one is reported.
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
	char one[2]; /* string that lex_found() returns */
	int code; /* error that ended parsing, -EINVAL or -ENOMEM; 0 while there is no error */
};

/* lex_fail() and lex_no_memory() - Record an error. Return: false */
bool lex_fail(struct lex *ps, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool lex_no_memory(struct lex *ps);

/* lex_skip() - Skip white space and comments; if @newline is true, only up to the end of the line */
void lex_skip(struct lex *ps, bool newline);

/*
 * lex_peek() - Skip white space and comments, and return the next character; NUL at the end of the
 * file
 */
char lex_peek(struct lex *ps);
/*
 * lex_accept() - Consume the next character if it is @c. Return: false if it is another character
 */
bool lex_accept(struct lex *ps, char c);

/*
 * lex_word() - Read a word; @ret is "" if the next character cannot begin a word. If @gid is true, the word may
 * contain colons
 */
bool lex_word(struct lex *ps, char *ret, size_t size, bool gid);

/*
 * lex_found() - Return the next character as text for an error message, valid until the next call
 */
const char *lex_found(struct lex *ps);

/*
 * lex_number() - Convert @word, a decimal, octal or 0x number of at most @max. @what is the name of
 * the number in an error message
 */
bool lex_number(struct lex *ps, const char *what, const char *word, uint64_t max, uint64_t *ret);

/*
 * lex_value() - Read "=" and a word, which must not be empty. @key is the name before the "=", for
 * messages
 */
bool lex_value(struct lex *ps, const char *key, char *word, size_t size, bool gid);

#endif

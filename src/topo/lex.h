/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOPO_LEX_H
#define TOPO_LEX_H

/*
 * Functions that read the words of one line. A function that finds its word moves the cursor past
 * the word. Otherwise it returns false and does not move the cursor.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct topo_cur {
	const char *p, *end;
};

static inline bool topo_cur_end(const struct topo_cur *c)
{
	return c->p == c->end;
}

void topo_skip_ws(struct topo_cur *c);
/* Read the character @ch. */
bool topo_take(struct topo_cur *c, char ch);
/* Read @word, which must not be followed by a further letter. */
bool topo_take_word(struct topo_cur *c, const char *word);
/* Read a number of at most @max: decimal, or hexadecimal with 0x. */
bool topo_take_uint(struct topo_cur *c, uint64_t max, uint64_t *ret);
/* Read a hexadecimal number with or without 0x. */
bool topo_take_hex(struct topo_cur *c, uint64_t *ret);
/* Read a text in quotes of at most @size - 1 octets; @buf is written only on success. */
bool topo_take_quoted(struct topo_cur *c, char *buf, size_t size);
/* Find @s in the rest of the line; NULL if the rest does not contain @s. The cursor does not move. */
const char *topo_seek(const struct topo_cur *c, const char *s);

/*
 * Write the rest of the line for an error message: quoted and cut, or "the end of the line".
 * Return: @buf
 */
char *topo_found(const struct topo_cur *c, char *buf, size_t size);

#endif

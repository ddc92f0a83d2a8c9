/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_TOPO_LEX_H
#define FABRIC_TOPO_LEX_H

/* The words of one line. Readers advance over what they take, and only then. */

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
/* One character, or false */
bool topo_take(struct topo_cur *c, char ch);
/* A word at the cursor that ends where its letters end */
bool topo_take_word(struct topo_cur *c, const char *word);
/* Decimal, or hexadecimal with 0x, at most @max */
bool topo_take_uint(struct topo_cur *c, uint64_t max, uint64_t *ret);
/* Hexadecimal with or without 0x */
bool topo_take_hex(struct topo_cur *c, uint64_t *ret);
/* "text" of at most @size - 1 octets; false leaves @buf as it was */
bool topo_take_quoted(struct topo_cur *c, char *buf, size_t size);
/* Where @s starts in the rest of the line, or NULL */
const char *topo_seek(const struct topo_cur *c, const char *s);

/* The rest of the line for a message: quoted and cut, or "end of line". Returns @buf */
char *topo_found(const struct topo_cur *c, char *buf, size_t size);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_PRINT_TEXT_H
#define WIRE_PRINT_TEXT_H

/* Appending to a caller's buffer, and the parts of print_mad() that its files share. */

#include <stddef.h>
#include <stdint.h>

#include "wire/smp.h"

/* Zero @len at start; what does not fit is cut, with a NUL. */
struct text {
	char *buf;
	size_t size, len;
};

void text_add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* text_add_quoted() - ' "..."': a string of at most @len octets, what is not printable ASCII as '.' */
void text_add_quoted(struct text *t, const void *s, size_t len);

/* Each adds ' key value ...'; nothing if @len is too short for the attribute. */
void text_add_notice(struct text *t, const void *p, size_t len);
void text_add_class_port_info(struct text *t, const void *p, size_t len);
void text_add_node_info(struct text *t, const struct smp_node_info *i);
void text_add_port_info(struct text *t, const struct smp_port_info *i);

/* What follows the common header of an SA MAD */
void text_add_sa(struct text *t, const void *mad, size_t len);

#endif

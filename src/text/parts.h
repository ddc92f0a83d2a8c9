/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TEXT_PARTS_H
#define TEXT_PARTS_H

/* Functions that are shared by the files which implement print_mad() */

#include <stddef.h>
#include <stdint.h>

#include "util/text.h"
#include "wire/smp.h"

/*
 * text_add_quoted() - Add a space and, in quotes, the string @s of at most @len octets. Octets that
 * do not print become '.'
 */
void text_add_quoted(struct text *t, const void *s, size_t len);

/*
 * Each of these functions appends the fields of one attribute to @t as ' key value ...', or nothing
 * if @len is too short for the attribute.
 */
void text_add_notice(struct text *t, const void *p, size_t len);
void text_add_class_port_info(struct text *t, const void *p, size_t len);
void text_add_node_info(struct text *t, const struct smp_node_info *i);
void text_add_port_info(struct text *t, const struct smp_port_info *i);

/* Add the headers and the attribute that follow the common header of an SA MAD. */
void text_add_sa(struct text *t, const void *mad, size_t len);

/* Add the fields of a SIDR_REQ or SIDR_REP; add nothing for other MADs of communication management. */
void text_add_cm(struct text *t, const void *mad, size_t len);

#endif

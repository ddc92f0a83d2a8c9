/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LAYOUT_DRAW_H
#define LAYOUT_DRAW_H

/* Pictures of a fabric that layout_place() has laid out. Names may be any text, because they are escaped. */

#include <jansson.h>
#include <stdio.h>

#include "layout/layout.h"

/*
 * layout_dot() - Write the graph in the language of Graphviz. `neato -n2` draws it with these coordinates; dot
 * computes its own coordinates, with these levels
 */
void layout_dot(const struct layout *l, FILE *out);

/*
 * layout_svg() - Write an SVG document, which has no scripts and refers to nothing outside. The colours follow the
 * viewer's choice of a dark or light theme
 */
void layout_svg(const struct layout *l, FILE *out);

/**
 * layout_rows() - Make a layout, without coordinates, from rows of the control protocol
 * @nodes:	rows of "fabric node show"
 * @ports:	rows of "fabric port show"
 *
 * Cables that lead out of the process are omitted. If the rows belong to several fabrics, the fabrics are drawn
 * beside each other.
 * Return: 0; -ENOMEM
 */
int layout_rows(struct layout *ret, const json_t *nodes, const json_t *ports);

#endif

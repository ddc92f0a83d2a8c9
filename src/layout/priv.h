/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LAYOUT_PRIV_H
#define LAYOUT_PRIV_H

/* Declarations that the steps of layout_place() share */

#include "layout/layout.h"

/* The neighbours of each node: node k has one row in .to. Parallel cables count as one neighbour */
struct layout_graph {
	/*
	 * start[k] is the index in .to at which the row of node k begins; start[nnodes] is the end
	 * of .to
	 */
	unsigned int *start;
	unsigned int *to;
};

/* Switches by level, each level in its order from left to right */
struct layout_order {
	unsigned int *at; /* indices of switches */
	/*
	 * start[k] is the index in .at of the first switch of level k, for k from 1, because level 0 has no switches;
	 * start[levels] is the end of .at
	 */
	unsigned int *start;
};

/* These functions allocate the arrays in their results. Return: 0 or -ENOMEM */
int layout_graph_make(struct layout_graph *g, const struct layout *l);
int layout_order_make(struct layout_order *o, struct layout *l, const struct layout_graph *g);

/* layout_levels() - Set .level of nodes, and .levels. Return: 0 or -ENOMEM */
int layout_levels(struct layout *l, const struct layout_graph *g);

/*
 * layout_coordinates() - Set .x, .row, .folded, .hidden of nodes, and .rows and .width. Return: 0
 * or -ENOMEM
 */
int layout_coordinates(struct layout *l, const struct layout_graph *g,
		       const struct layout_order *o);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LAYOUT_LAYOUT_H
#define LAYOUT_LAYOUT_H

/*
 * DOC: A fabric laid out by levels
 *
 * CAs are level 0, switches with CAs level 1, and any other switch is one level above the lowest of
 * its neighbours. So a fat tree looks like a tree, and the switches of a ring that all have CAs
 * stand side by side.
 *
 * In each level the switches are put into an order in which they stand near their neighbours above
 * and below, so that few cables cross. To find the order, the switches of a level are sorted by the
 * mean of their neighbours' places. All levels are sorted in this way several times (Sugiyama,
 * Tagawa and Toda 1981).
 *
 * The CAs of a switch stand in a block below the switch. In a large fabric, CAs with one cable are
 * folded. A folded CA is not drawn, and its switch shows the number of folded CAs.
 *
 * A switch of level 1 stands above its block of CAs. The best place of a switch of a higher level
 * is the mean of its neighbours' places in the level below. The switches of a level keep their
 * order and a distance of at least LAYOUT_APART. Under these conditions, the sum of the squares of
 * their distances from their best places is as small as possible.
 *
 * The unit of lengths is the width of a box together with the space beside the box. The same input
 * gives the same picture.
 */

#include <stdbool.h>
#include <stddef.h>

#define LAYOUT_FOLD 128 /* with more CAs than this, the CAs with one cable are folded */
#define LAYOUT_APART 1.0 /* smallest distance of two switches of a level, or of two CAs of a row */

struct layout_node {
	char *name; /* any text, allocated */
	char *note; /* a second line, any text, allocated; may be NULL */
	bool is_switch;
	bool keep; /* this CA is never folded */

	/* Results of layout_place() */
	unsigned int level;
	/* row of a CA in the block below its switch, from 0 at the top; 0 for a switch */
	unsigned int row;
	unsigned int folded; /* for a switch: number of its folded CAs */
	bool hidden; /* a folded CA, which has no place */
	double x;
};

/* A cable between two nodes of the fabric */
struct layout_link {
	unsigned int a, b; /* indices of its ends in .node */
	unsigned int a_port, b_port;
	bool up;
	char speed[16]; /* "4xQDR" */
	/*
	 * Results of layout_place(). .nth is the index, from 0, of this cable among the cables
	 * between the same two nodes. .of is the number of these cables
	 */
	unsigned int nth, of;
};

struct layout {
	struct layout_node *node;
	struct layout_link *link;
	size_t nnodes, nlinks;

	/* results of layout_place() */
	unsigned int levels; /* number of levels, including level 0 of the CAs */
	unsigned int rows; /* largest number of rows of CAs below a switch */
	double width; /* width of the picture: all .x are between 0 and .width */
};

/*
 * layout_place() - Compute the members marked as results. The ends of links must be valid. Return:
 * 0 or -ENOMEM
 */
int layout_place(struct layout *l);

/* layout_free() - Free nodes, links and the texts of nodes, but not @l itself */
void layout_free(struct layout *l);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_MODEL_H
#define WEB_MODEL_H

/*
 * DOC: What the page shows of the fabrics
 *
 * The nodes and cables of all fabrics of an instance, laid out by levels, and the load of each cable. The model is made of rows of "fabric
 * map", and rows of "fabric load" bring it up to date. What changes becomes an event, once for all clients.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "layout/layout.h"
#include "util/ns.h"
#include "web/ring.h"

#define WEB_LINK_OUTSIDE \
	(~0u) /* in place of a node: this end of the cable is outside the instance's fabrics */
#define WEB_LINKS_PER_EVENT 512

struct web_link {
	unsigned int node[2], port[2]; /* its ends, A and B */
	const char *speed; /* "4xEDR" */
	const char *outside; /* name of end B if that is outside */
	unsigned int shape; /* index in .layout.link; WEB_LINK_OUTSIDE: none */
	/* Present values, and the values in the last event, which the clients know */
	struct web_load {
		unsigned int state; /* enum fabric_link_state */
		uint64_t rate[2],
			errors[2]; /* octets a second sent by A and by B; errors counted at each */
	} now, told;
};

/* One end of a cable, in the order of the rows of "fabric map" */
struct web_end {
	unsigned int link, side; /* .side: 0 for A, 1 for B */
	uint64_t data; /* PortXmitData, units of four octets */
	ns_t at; /* time of .data; 0: never read */
};

struct web_node {
	const json_t *row; /* of "fabric map" */
	unsigned int fabric;
	unsigned int end, nends; /* its ends in .end */
};

struct web_fabric {
	const char *name;
	unsigned int first, n; /* its nodes */
};

struct web_model {
	json_t *rows; /* array of {"fabric", "rows", "keep"}, into which the other members point */
	struct web_fabric *fabric;
	struct web_node *node;
	struct web_end *end;
	struct web_link *link;
	size_t nfabrics, nnodes, nends, nlinks;
	struct layout layout; /* has the nodes in the same order */
};

/**
 * web_model_build() - Make the model of rows
 * @rows:	the function takes them; array of objects: "fabric" is the name, "rows" are those of "fabric map" in
 *	their order, and "keep" is an
 *		object whose keys are names of nodes that are not folded
 *
 * Return: 1: the rows have not changed, and nothing was done; 0; -ENOMEM, -EPROTO: the model is empty
 */
int web_model_build(struct web_model *m, json_t *rows);
void web_model_free(struct web_model *m);

/**
 * web_model_load() - Update the model by rows of "fabric load"
 * @from:	index in the fabric of the first row's node
 *
 * Return: 0; -EPROTO: the rows contradict the model, because the map has changed
 */
int web_model_load(struct web_model *m, unsigned int fabric, unsigned int from, const json_t *rows,
		   ns_t now);

/*
 * web_model_tell() - Push events "links" with the links that changed. A rate counts as changed if it differs by more than an eighth, or
 * if it becomes 0. Without @r, as for a model that no client knows, there are no events. Returns the number of links
 */
size_t web_model_tell(struct web_model *m, struct web_ring *r, long long unix_ms);

/* web_model_snapshot() - Write the members "fabrics", "levels", "nodes" and "links" of a snapshot, as they are in the events up to now */
void web_model_snapshot(const struct web_model *m, FILE *out);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_MODEL_H
#define WEB_MODEL_H

/*
 * DOC: The fabrics as the page shows them
 *
 * The model has the nodes and cables of all fabrics of an instance, and the load of each cable. It
 * also has the places of nodes and cables in the picture of the fabrics, which shows the nodes by
 * levels (layout/layout.h). The model is built from the rows of the command "fabric map". The rows
 * of "fabric load" update it. The text of an event about changes is made once, and all clients get
 * this text.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "layout/layout.h"
#include "util/ns.h"
#include "web/ring.h"

/* in place of the index of a node: this end of the cable is outside the instance's fabrics */
#define WEB_LINK_OUTSIDE (~0u)
#define WEB_LINKS_PER_EVENT 512

struct web_link {
	unsigned int node[2], port[2]; /* node and port of each end of the cable, A and B */
	const char *speed; /* "4xEDR" */
	/* name of end B of the cable if end B is outside the instance's fabrics */
	const char *outside;
	unsigned int shape; /* index in web_model.layout.link; WEB_LINK_OUTSIDE: none */
	/*
	 * Load of a cable. .now has the present values; .told has the values that the last event
	 * has sent to the clients
	 */
	struct web_load {
		unsigned int state; /* enum fabric_link_state */
		uint64_t rate[2],
			/*
			 * rate: octets per second that ends A and B of the cable send; errors:
			 * number of errors that ends A and B have counted
			 */
			errors[2];
	} now, told;
};

/* One end of a cable. The ends are in the order of the rows of "fabric map" */
struct web_end {
	unsigned int link, side; /* .side: 0 for A, 1 for B */
	uint64_t data; /* value of PortXmitData, in units of four octets */
	ns_t at; /* time of .data; 0: never read */
};

struct web_node {
	const json_t *row; /* row of "fabric map" */
	unsigned int fabric;
	/* the node's ends are web_model.end[end] to web_model.end[end + nends - 1] */
	unsigned int end, nends;
};

struct web_fabric {
	const char *name;
	/* the fabric's nodes are web_model.node[first] to web_model.node[first + n - 1] */
	unsigned int first, n;
};

struct web_model {
	json_t *rows; /* array of {"fabric", "rows", "keep"}, into which the other members point */
	struct web_fabric *fabric;
	struct web_node *node;
	struct web_end *end;
	struct web_link *link;
	size_t nfabrics, nnodes, nends, nlinks;
	struct layout layout; /* places in the picture; has the nodes in the order of .node */
};

/*
 * web_model_build() - Build the model from rows
 * @rows:	array of objects, one for each fabric; the function takes over the reference. Each
 *	object has three members. "fabric" is the name of the fabric. "rows" are the rows of
 *	"fabric map" in their order. "keep" is an object whose keys are the names of the nodes that
 *	must not be folded (layout/layout.h)
 *
 * Return: 0; 1: the rows are the same as before, and nothing was done; -ENOMEM or -EPROTO: error,
 * and the model is empty now
 */
int web_model_build(struct web_model *m, json_t *rows);
void web_model_free(struct web_model *m);

/**
 * web_model_load() - Update the model from rows of "fabric load"
 * @from:	index of the node of the first row, counted within the fabric
 *
 * Return: 0; -EPROTO: the rows contradict the model, because the map has changed
 */
int web_model_load(struct web_model *m, unsigned int fabric, unsigned int from, const json_t *rows,
		   ns_t now);

/*
 * web_model_tell() - Push events "links" with the links that have changed since the last such
 * event. A rate counts as changed if it differs from the last rate sent by more than an eighth of
 * that rate, or if it becomes 0. @r is NULL if no client has got the model yet; then no events are
 * pushed. Return: the number of links that changed
 */
size_t web_model_tell(struct web_model *m, struct web_ring *r, long long unix_ms);

/*
 * web_model_snapshot() - Write the members "fabrics", "levels", "nodes" and "links" of a snapshot.
 * For each link, the snapshot has the values in .told, even if .now has newer values. So a client
 * can apply the next events to the snapshot
 */
void web_model_snapshot(const struct web_model *m, FILE *out);

#endif

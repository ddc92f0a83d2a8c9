/* SPDX-License-Identifier: BSD-2-Clause */
#include "web/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * This file makes the model of the fabrics. First it numbers the nodes and the ends of cables. Then
 * it makes a cable from each end, unless it has already made this cable from the other end.
 */

void web_model_free(struct web_model *m)
{
	json_decref(m->rows);
	free(m->fabric);
	free(m->node);
	free(m->end);
	free(m->link);
	layout_free(&m->layout);
	*m = (struct web_model){ 0 };
}

static const char *str(const json_t *row, const char *key)
{
	const char *s = json_string_value(json_object_get(row, key));

	return s ? s : "";
}

static const json_t *cables_of(const struct web_node *n)
{
	return json_object_get(n->row, "cables");
}

static int allocate(struct web_model *m)
{
	size_t i, k;
	json_t *f, *row;

	m->nfabrics = json_array_size(m->rows);
	json_array_foreach(m->rows, i, f)
	{
		m->nnodes += json_array_size(json_object_get(f, "rows"));
		json_array_foreach(json_object_get(f, "rows"), k, row)
		{
			m->nends += json_array_size(json_object_get(row, "cables"));
		}
	}
	m->fabric = calloc(m->nfabrics + 1, sizeof(*m->fabric));
	m->node = calloc(m->nnodes + 1, sizeof(*m->node));
	m->end = calloc(m->nends + 1, sizeof(*m->end));
	m->link = calloc(m->nends + 1, sizeof(*m->link));
	m->layout.node = calloc(m->nnodes + 1, sizeof(*m->layout.node));
	m->layout.link = calloc(m->nends + 1, sizeof(*m->layout.link));
	return m->fabric && m->node && m->end && m->link && m->layout.node && m->layout.link
		       ? 0
		       : -ENOMEM;
}

/*
 * Returns the key of a port, "NODE/PORT", in an index of all ends; NULL: out of memory. The key
 * begins with the number of the fabric, because two fabrics may have nodes of the same name.
 */
static char *port_key(unsigned int fabric, const char *port)
{
	char *key = NULL;

	return asprintf(&key, "%u %s", fabric, port) < 0 ? NULL : key;
}

static int add_end(struct web_model *m, json_t *index, const struct web_node *n,
		   const json_t *cable)
{
	char *key = NULL;
	int status;

	m->end[m->nends].link = WEB_LINK_OUTSIDE;
	if (asprintf(&key, "%u %s/%lld", n->fabric, str(n->row, "node"),
		     (long long)json_integer_value(json_array_get(cable, 0))) < 0)
		return -ENOMEM;
	status = json_object_set_new(index, key, json_integer((json_int_t)m->nends++));
	free(key);
	return status ? -ENOMEM : 0;
}

static int add_ends(struct web_model *m, json_t *index, struct web_node *n)
{
	const json_t *cable;
	size_t i;

	n->end = (unsigned int)m->nends;
	json_array_foreach(cables_of(n), i, cable)
	{
		int status = add_end(m, index, n, cable);

		if (status)
			return status;
	}
	n->nends = (unsigned int)m->nends - n->end;
	return 0;
}

static int add_node(struct web_model *m, json_t *index, const json_t *row, const json_t *keep)
{
	struct layout_node *shape = &m->layout.node[m->nnodes];
	struct web_node *n = &m->node[m->nnodes++];

	*n = (struct web_node){ .row = row, .fabric = (unsigned int)m->nfabrics };
	shape->is_switch = !strcmp(str(row, "type"), "switch");
	shape->keep = json_object_get(keep, str(row, "node"));
	shape->name = strdup(str(row, "node"));
	m->layout.nnodes = m->nnodes;
	return shape->name ? add_ends(m, index, n) : -ENOMEM;
}

static int add_nodes(struct web_model *m, json_t *index)
{
	size_t i, k;
	json_t *f, *row;
	int status;

	/* the loop counts again, and uses each count as the index of the next entry */
	m->nfabrics = m->nnodes = m->nends = 0;
	json_array_foreach(m->rows, i, f)
	{
		struct web_fabric *w = &m->fabric[m->nfabrics];

		*w = (struct web_fabric){ .name = str(f, "fabric"),
					  .first = (unsigned int)m->nnodes };
		json_array_foreach(json_object_get(f, "rows"), k, row)
		{
			status = add_node(m, index, row, json_object_get(f, "keep"));
			if (status)
				return status;
			w->n++;
		}
		m->nfabrics++;
	}
	return 0;
}

/* --- cables */

static unsigned int port_of(const json_t *cable)
{
	return (unsigned int)json_integer_value(json_array_get(cable, 0));
}

static void add_shape(struct web_model *m, struct web_link *l)
{
	struct layout_link *shape = &m->layout.link[m->layout.nlinks];

	l->shape = (unsigned int)m->layout.nlinks++;
	*shape = (struct layout_link){ .a = l->node[0],
				       .b = l->node[1],
				       .a_port = l->port[0],
				       .b_port = l->port[1],
				       .up = true };
}

/*
 * Return: the index in .end of the other end of a cable; -1: the other end is outside all fabrics,
 * or no row of the map has it
 */
static long peer_of(const struct web_node *n, const json_t *index, const json_t *cable)
{
	const char *peer = json_string_value(json_array_get(cable, 2));
	char *key;
	const json_t *v;

	if (!peer || json_is_true(json_array_get(cable, 3)))
		return -1;
	key = port_key(n->fabric, peer);
	v = key ? json_object_get(index, key) : NULL;
	free(key);
	return v ? (long)json_integer_value(v) : -1;
}

/* Return: the index of the node that has this end of a cable, found by binary search */
static unsigned int node_of_end(const struct web_model *m, unsigned int end)
{
	size_t low = 0, high = m->nnodes;

	while (high - low > 1) {
		size_t mid = (low + high) / 2;

		if (m->node[mid].end <= end)
			low = mid;
		else
			high = mid;
	}
	return (unsigned int)low;
}

static void add_cable(struct web_model *m, const json_t *index, unsigned int node, unsigned int end,
		      const json_t *cable)
{
	long peer = peer_of(&m->node[node], index, cable);
	struct web_link *l = &m->link[m->nlinks];
	const char *speed = json_string_value(json_array_get(cable, 1));

	if (peer >= 0 && m->end[peer].link != WEB_LINK_OUTSIDE)
		return; /* the cable was added when its other end was handled */
	*l = (struct web_link){ .node = { node, WEB_LINK_OUTSIDE },
				.port = { port_of(cable), 0 },
				.speed = speed ? speed : "",
				.shape = WEB_LINK_OUTSIDE };
	m->end[end].link = (unsigned int)m->nlinks++;
	if (peer < 0 || (unsigned int)peer == end) {
		l->outside = json_string_value(json_array_get(cable, 2));
		return;
	}
	m->end[peer].link = m->end[end].link;
	m->end[peer].side = 1;
	l->node[1] = node_of_end(m, (unsigned int)peer);
	l->port[1] = port_of(json_array_get(cables_of(&m->node[l->node[1]]),
					    (size_t)peer - m->node[l->node[1]].end));
	add_shape(m, l);
}

static void add_cables(struct web_model *m, const json_t *index)
{
	for (unsigned int n = 0; n < m->nnodes; n++) {
		const json_t *cable;
		size_t i;

		json_array_foreach(cables_of(&m->node[n]), i, cable)
		{
			unsigned int end = m->node[n].end + (unsigned int)i;

			if (m->end[end].link == WEB_LINK_OUTSIDE)
				add_cable(m, index, n, end, cable);
		}
	}
}

static int make(struct web_model *m)
{
	json_t *index = json_object();
	int status = index ? allocate(m) : -ENOMEM;

	if (!status)
		status = add_nodes(m, index);
	if (!status) {
		add_cables(m, index);
		status = layout_place(&m->layout);
	}
	json_decref(index);
	return status;
}

int web_model_build(struct web_model *m, json_t *rows)
{
	int status;

	if (json_equal(rows, m->rows)) {
		json_decref(rows);
		return 1;
	}
	web_model_free(m);
	m->rows = rows;
	status = rows ? make(m) : -ENOMEM;
	if (status)
		web_model_free(m);
	return status;
}

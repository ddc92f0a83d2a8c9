/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layout/draw.h"

static const char *str(const json_t *row, const char *key)
{
	const char *s = json_string_value(json_object_get(row, key));

	return s ? s : "";
}

/*
 * Find the node of a port whose name is "NODE/PORT", and store the port's number in @ret_port.
 * Return: the node's index; -1: there is no such node
 */
static long find(json_t *by_name, const json_t *row, const char *port, unsigned int *ret_port)
{
	const char *slash = strrchr(port, '/');
	char *key = NULL;
	const json_t *v;

	if (!slash || asprintf(&key, "%s %.*s", str(row, "fabric"), (int)(slash - port), port) < 0)
		return -1;
	*ret_port = (unsigned int)strtoul(slash + 1, NULL, 10);
	v = json_object_get(by_name, key);
	free(key);
	return v ? (long)json_integer_value(v) : -1;
}

static int add_node(struct layout *l, json_t *by_name, const json_t *row)
{
	struct layout_node *n = &l->node[l->nnodes];
	char *key = NULL;
	const json_t *lid = json_object_get(row, "lid");
	int status;

	n->is_switch = !strcmp(str(row, "type"), "switch");
	n->name = strdup(str(row, "node"));
	if (json_is_integer(lid) &&
	    asprintf(&n->note, "LID %lld", (long long)json_integer_value(lid)) < 0)
		n->note = NULL;
	l->nnodes++;
	if (!n->name || asprintf(&key, "%s %s", str(row, "fabric"), n->name) < 0)
		return -ENOMEM;
	status = json_object_set_new(by_name, key, json_integer((json_int_t)l->nnodes - 1));
	free(key);
	return status ? -ENOMEM : 0;
}

/* Both ends of a cable have a row. Add the cable only for the end with the lower index. */
static void add_link(struct layout *l, json_t *by_name, const json_t *row)
{
	struct layout_link *k = &l->link[l->nlinks];
	long a = find(by_name, row, str(row, "port"), &k->a_port),
	     b = find(by_name, row, str(row, "peer"), &k->b_port);

	if (a < 0 || b < 0 || b < a || (a == b && k->b_port <= k->a_port))
		return;
	k->a = (unsigned int)a;
	k->b = (unsigned int)b;
	k->up = !strcmp(str(row, "link"), "up");
	snprintf(k->speed, sizeof(k->speed), "%s", str(row, "speed"));
	l->nlinks++;
}

int layout_rows(struct layout *ret, const json_t *nodes, const json_t *ports)
{
	json_t *by_name = json_object();
	struct layout l = {
		.node = calloc(json_array_size(nodes) + 1, sizeof(*l.node)),
		.link = calloc(json_array_size(ports) + 1, sizeof(*l.link)),
	};
	int status = by_name && l.node && l.link ? 0 : -ENOMEM;
	const json_t *row;
	size_t i;

	for (i = 0; !status && i < json_array_size(nodes); i++)
		status = add_node(&l, by_name, json_array_get(nodes, i));
	for (i = 0; !status && (row = json_array_get(ports, i)); i++)
		add_link(&l, by_name, row);
	json_decref(by_name);
	if (status)
		layout_free(&l);
	else
		*ret = l;
	return status;
}

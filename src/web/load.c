/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "web/model.h"

/*
 * Takes load and state of cables from the rows of the command "fabric load", and writes them as
 * events and as part of the snapshot.
 */

#define VALUES 3 /* values for each cable in a row: state, data, errors */
#define WORD 4 /* PortXmitData is in units of four octets (IBTA 16.1.3.5) */

static const char *state_name(unsigned int state)
{
	static const char *const names[] = { "none", "disabled", "down", "training", "up" };

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

static uint64_t value(const json_t *v, size_t k)
{
	return (uint64_t)json_integer_value(json_array_get(v, k));
}

/*
 * Update the rates of one end of a cable from its row. A counter whose value is lower than before
 * was cleared. Then its growth is unknown, and the rate keeps its former value.
 */
static void take_end(struct web_model *m, struct web_end *e, const json_t *v, size_t k, ns_t now)
{
	struct web_load *l = &m->link[e->link].now;
	uint64_t data = value(v, k + 1);

	if (!e->side)
		l->state = (unsigned int)value(v, k);
	l->errors[e->side] = value(v, k + 2);
	if (e->at && now > e->at && data >= e->data)
		l->rate[e->side] =
			(uint64_t)((double)(data - e->data) * WORD * 1e9 / (double)(now - e->at));
	e->data = data;
	e->at = now;
}

int web_model_load(struct web_model *m, unsigned int fabric, unsigned int from, const json_t *rows,
		   ns_t now)
{
	const json_t *row;
	size_t i;

	if (fabric >= m->nfabrics || json_array_size(rows) > m->fabric[fabric].n ||
	    from > m->fabric[fabric].n - json_array_size(rows))
		return -EPROTO;
	json_array_foreach(rows, i, row)
	{
		const struct web_node *n = &m->node[m->fabric[fabric].first + from + i];
		const json_t *v = json_object_get(row, "v");

		if (json_array_size(v) != (size_t)VALUES * n->nends)
			return -EPROTO;
		for (unsigned int k = 0; k < n->nends; k++)
			take_end(m, &m->end[n->end + k], v, (size_t)VALUES * k, now);
	}
	return 0;
}

/* --- events */

static bool rate_moved(uint64_t now, uint64_t told)
{
	uint64_t d = now > told ? now - told : told - now;

	return !now != !told || d > told / 8;
}

static bool moved(const struct web_load *now, const struct web_load *told)
{
	return now->state != told->state || now->errors[0] != told->errors[0] ||
	       now->errors[1] != told->errors[1] || rate_moved(now->rate[0], told->rate[0]) ||
	       rate_moved(now->rate[1], told->rate[1]);
}

static void push(struct web_ring *r, json_t *links, long long unix_ms)
{
	web_ring_push(r, "links", json_pack("{s:I, s:o}", "unix_ms", unix_ms, "links", links));
}

size_t web_model_tell(struct web_model *m, struct web_ring *r, long long unix_ms)
{
	json_t *links = NULL;
	size_t told = 0;

	for (size_t k = 0; k < m->nlinks; k++) {
		struct web_link *l = &m->link[k];

		if (!moved(&l->now, &l->told))
			continue;
		l->told = l->now;
		told++;
		if (!r)
			continue;
		if (!links)
			links = json_array();
		json_array_append_new(
			links,
			json_pack("[I, s, I, I, I, I]", (json_int_t)k, state_name(l->now.state),
				  (json_int_t)l->now.rate[0], (json_int_t)l->now.rate[1],
				  (json_int_t)l->now.errors[0], (json_int_t)l->now.errors[1]));
		if (json_array_size(links) >= WEB_LINKS_PER_EVENT) {
			push(r, links, unix_ms);
			links = NULL;
		}
	}
	if (links)
		push(r, links, unix_ms);
	return told;
}

/* --- snapshot */

static void put_text(FILE *out, const char *name, const json_t *v)
{
	fprintf(out, "\"%s\":", name);
	json_dumpf(v, out, JSON_COMPACT | JSON_ENCODE_ANY);
}

static void put_node(const struct web_model *m, size_t k, FILE *out)
{
	const struct layout_node *shape = &m->layout.node[k];
	const struct web_node *n = &m->node[k];

	putc('{', out);
	put_text(out, "name", json_object_get(n->row, "node"));
	putc(',', out);
	put_text(out, "description", json_object_get(n->row, "description"));
	putc(',', out);
	put_text(out, "guid", json_object_get(n->row, "node_guid"));
	fprintf(out, ",\"lid\":%lld,\"fabric\":%u,\"switch\":%s",
		(long long)json_integer_value(json_object_get(n->row, "lid")), n->fabric,
		shape->is_switch ? "true" : "false");
	if (shape->hidden)
		fputs(",\"hidden\":true}", out);
	else
		fprintf(out, ",\"x\":%.2f,\"level\":%u,\"row\":%u,\"folded\":%u}", shape->x,
			shape->level, shape->row, shape->folded);
}

static void put_link(const struct web_model *m, const struct web_link *l, FILE *out)
{
	json_t *outside = l->outside ? json_string(l->outside) : NULL;
	const struct web_load *v = &l->told;
	const struct layout_link *shape =
		l->shape == WEB_LINK_OUTSIDE ? NULL : &m->layout.link[l->shape];

	fprintf(out, "{\"a\":[%u,%u],", l->node[0], l->port[0]);
	if (shape)
		fprintf(out, "\"b\":[%u,%u],\"nth\":%u,\"of\":%u", l->node[1], l->port[1],
			shape->nth, shape->of);
	else
		put_text(out, "outside", outside);
	fprintf(out,
		",\"speed\":\"%s\",\"state\":\"%s\",\"rate\":[%llu,%llu],\"errors\":[%llu,%llu]}",
		l->speed, state_name(v->state), (unsigned long long)v->rate[0],
		(unsigned long long)v->rate[1], (unsigned long long)v->errors[0],
		(unsigned long long)v->errors[1]);
	json_decref(outside);
}

void web_model_snapshot(const struct web_model *m, FILE *out)
{
	fputs("\"fabrics\":[", out);
	for (size_t k = 0; k < m->nfabrics; k++) {
		json_t *name = json_string(m->fabric[k].name);

		fputs(k ? ",{" : "{", out);
		put_text(out, "name", name);
		fprintf(out, ",\"first\":%u,\"nodes\":%u}", m->fabric[k].first, m->fabric[k].n);
		json_decref(name);
	}
	fprintf(out, "],\"levels\":%u,\"rows\":%u,\"width\":%.2f,\"nodes\":[", m->layout.levels,
		m->layout.rows, m->layout.width);
	for (size_t k = 0; k < m->nnodes; k++) {
		fputs(k ? ",\n" : "\n", out);
		put_node(m, k, out);
	}
	fputs("],\"links\":[", out);
	for (size_t k = 0; k < m->nlinks; k++) {
		fputs(k ? ",\n" : "\n", out);
		put_link(m, &m->link[k], out);
	}
	putc(']', out);
}

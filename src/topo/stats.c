/* SPDX-License-Identifier: BSD-2-Clause */
#include "topo/stats.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counter {
	const struct topo *t;
	const char *name;
	const struct topo_sink *sink;
	struct topo_stats s;
};

static void note(struct counter *c, enum topo_note kind, unsigned int line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void note(struct counter *c, enum topo_note kind, unsigned int line, const char *fmt, ...)
{
	char text[320];
	va_list ap;
	int n;

	c->s.notes[kind]++;
	if (!c->sink)
		return;
	n = snprintf(text, sizeof(text), "%s:%u: ", c->name, line);
	va_start(ap, fmt);
	if (n > 0 && (size_t)n < sizeof(text))
		vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	c->sink->note(c->sink->ctx, kind, text);
}

/* --- cables */

static void count_rate(struct topo_stats *s, const char *name)
{
	unsigned int i;

	for (i = 0; i < s->nrates; i++)
		if (!strcmp(s->rate[i].name, name))
			break;
	if (i == TOPO_STATS_RATES)
		return;
	if (i == s->nrates)
		snprintf(s->rate[s->nrates++].name, sizeof(s->rate[i].name), "%s", name);
	s->rate[i].links++;
}

static void count_link(struct counter *c, const struct topo_node *n, unsigned int num)
{
	const struct topo_port *p = &n->port[num];
	const struct topo_node *peer = c->t->node[p->peer];
	struct topo_rate r = topo_rate(c->t, n->index, num);
	char name[16];

	c->s.links++;
	count_rate(&c->s, topo_rate_print(name, sizeof(name), r));
	if (!peer->port[p->peer_port].line != !p->line) {
		const struct topo_node *silent = p->line ? peer : n;

		note(c, TOPO_NOTE_ONE_SIDED, p->line + peer->port[p->peer_port].line,
		     "no line of \"%s\" has this cable", silent->desc);
	}
	if (r.also)
		note(c, TOPO_NOTE_SLOWER, p->line, "%s runs as %s", name,
		     r.also & TOPO_ALSO_XDR ? "NDR" : "QDR");
}

static void count_node(struct counter *c, const struct topo_node *n)
{
	bool cabled = false;

	c->s.switches += n->type == IB_NODE_SWITCH;
	c->s.cas += n->type == IB_NODE_CA;
	c->s.ends += n->type == IB_NODE_SWITCH;
	for (unsigned int k = 1; k <= n->nports; k++) {
		const struct topo_port *p = &n->port[k];

		if (p->peer == TOPO_NO_PEER)
			continue;
		cabled = true;
		c->s.ends += n->type == IB_NODE_CA;
		if (p->peer > n->index)
			count_link(c, n, k);
	}
	if (!cabled)
		note(c, TOPO_NOTE_ALONE, n->line, "\"%s\" has no cable", n->desc);
}

/* --- LIDs and descriptions that occur twice */

static const struct topo_node *lid_owner(const struct topo_node *n, unsigned int k)
{
	bool end = n->type == IB_NODE_SWITCH ? k == 0 : k > 0 && n->port[k].peer != TOPO_NO_PEER;

	return end && n->port[k].lid ? n : NULL;
}

static int count_lids(struct counter *c)
{
	const struct topo_node **by_lid = calloc(IB_LID_MCAST_MIN, sizeof(*by_lid));

	if (!by_lid)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->t->n; i++) {
		const struct topo_node *n = c->t->node[i];

		for (unsigned int k = 0; k <= n->nports; k++) {
			uint16_t lid = n->port[k].lid;

			if (!lid_owner(n, k))
				continue;
			c->s.lids++;
			if (lid > c->s.top_lid)
				c->s.top_lid = lid;
			if (by_lid[lid])
				note(c, TOPO_NOTE_SAME_LID,
				     n->port[k].line ? n->port[k].line : n->line,
				     "LID %u of \"%s\" is that of \"%s\" too", lid, n->desc,
				     by_lid[lid]->desc);
			else
				by_lid[lid] = n;
		}
	}
	free(by_lid);
	return 0;
}

static int by_desc(const void *a, const void *b)
{
	const struct topo_node *const *x = a, *const *y = b;
	int d = strcmp((*x)->desc, (*y)->desc);

	return d ? d : (*x)->index < (*y)->index ? -1 : 1;
}

/*
 * Remark on CAs with equal descriptions, because descriptions of CAs are host names, which should
 * differ. Descriptions of switches need not differ.
 */
static int count_descs(struct counter *c)
{
	const struct topo_node **v = calloc(c->t->n + 1u, sizeof(*v));
	uint32_t n = 0, first = 0;

	if (!v)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->t->n; i++)
		if (c->t->node[i]->type == IB_NODE_CA)
			v[n++] = c->t->node[i];
	if (n)
		qsort(v, n, sizeof(*v), by_desc);
	for (uint32_t i = 1; i < n; i++) {
		if (strcmp(v[i]->desc, v[first]->desc) != 0)
			first = i;
		else
			note(c, TOPO_NOTE_SAME_DESC, v[i]->line,
			     "\"%s\" is described as the CA of line %u", v[i]->desc,
			     v[first]->line);
	}
	free(v);
	return 0;
}

static void sort_rates(struct topo_stats *s)
{
	for (unsigned int i = 1; i < s->nrates; i++)
		for (unsigned int k = i; k && s->rate[k].links > s->rate[k - 1].links; k--) {
			typeof(s->rate[0]) tmp = s->rate[k];

			s->rate[k] = s->rate[k - 1];
			s->rate[k - 1] = tmp;
		}
}

int topo_stats_get(struct topo_stats *ret, const struct topo *t, const char *name,
		   const struct topo_sink *sink)
{
	struct counter c = { .t = t, .name = name, .sink = sink };
	int err;

	for (uint32_t i = 0; i < t->n; i++)
		count_node(&c, t->node[i]);
	err = count_lids(&c);
	if (!err)
		err = count_descs(&c);
	if (err)
		return err;
	sort_rates(&c.s);
	*ret = c.s;
	return 0;
}

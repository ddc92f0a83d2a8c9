/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/priv.h"

#include <stdlib.h>
#include <string.h>

/*
 * Credit loops (Dally and Seitz: a routing is free of deadlocks if its channel dependency graph has no cycle). A channel
 * is a link between two switches in one direction. A channel depends on the next one if packets come by it and go on by
 * the next. Counted are the routes from CAs to CAs, as ibdmchk does, because packets of switches themselves are few.
 */

struct graph {
	struct chk *c;
	uint32_t *
		first; /* number of the first channel of each node, minus 1 as ports count from 1; [f->n] */
	uint32_t n; /* channels */
	uint64_t (*next)[4]; /* ports of the next switch on which a channel depends, [n] */
	const struct chk_node **from; /* switch at which a channel begins, [n] */
	uint8_t *gone; /* channels that are in no cycle, [n] */
	uint32_t *waits; /* number of channels that depend on a channel, [n] */
	uint8_t *seen; /* switches that were followed for the present LID, [f->n] */
};

static uint32_t channel(const struct graph *g, const struct chk_node *n, unsigned int port)
{
	return g->first[n->index] + port - 1;
}

static uint8_t port_of(const struct graph *g, uint32_t ch)
{
	return (uint8_t)(ch - g->first[g->from[ch]->index] + 1);
}

static const struct chk_node *next_switch(const struct chk *c, const struct chk_node *n,
					  unsigned int lid, uint8_t *ret_out)
{
	uint8_t out = lid < n->sw->lft_len ? n->sw->lft[lid] : SMP_LFT_NONE;
	const struct chk_node *next;

	if (!out || out > n->nports || !chk_carries(c->f, &n->port[out]))
		return NULL;
	next = chk_peer(c->f, &n->port[out]);
	*ret_out = out;
	return next && next->sw ? next : NULL;
}

/* True if the route ends; one that goes round in a circle is a finding of lft.c, and is not counted here. */
static bool ends(const struct chk *c, const struct chk_node *n, unsigned int lid)
{
	uint8_t out;

	for (uint32_t k = 0; n && k <= c->nsw; k++)
		n = next_switch(c, n, lid, &out);
	return !n;
}

/* Note the dependencies on the route from a switch to the LID. */
static void follow(struct graph *g, const struct chk_node *n, unsigned int lid)
{
	uint8_t out = 0, then = 0;
	const struct chk_node *next = next_switch(g->c, n, lid, &out), *after;

	while (next && !g->seen[n->index]) {
		g->seen[n->index] = 1;
		after = next_switch(g->c, next, lid, &then);
		if (after)
			g->next[channel(g, n, out)][then / 64] |= 1ull << (then % 64);
		n = next;
		next = after;
		out = then;
	}
}

static void fill(struct graph *g)
{
	struct chk *c = g->c;
	uint8_t *leaf = calloc(c->nsw + 1, 1);

	if (!leaf) {
		c->no_memory = true;
		return;
	}
	for (uint32_t i = 0; i < c->nsw; i++)
		leaf[i] = chk_has_cas(c, c->sw[i]);
	for (unsigned int lid = 1; lid < IB_LID_MCAST_MIN; lid++) {
		if (!c->by_lid[lid].node || c->by_lid[lid].node->sw)
			continue;
		for (uint32_t i = 0; i < c->nsw; i++)
			g->seen[c->sw[i]->index] = 0;
		for (uint32_t i = 0; i < c->nsw; i++)
			if (leaf[i] && ends(c, c->sw[i], lid))
				follow(g, c->sw[i], lid);
	}
	free(leaf);
}

/* --- cycles */

/*
 * Find the channel after @prev (UINT32_MAX: the first channel) on which @ch depends and that may be in a cycle. Return:
 * UINT32_MAX if there is none
 */
static uint32_t next_of(const struct graph *g, uint32_t ch, unsigned int *at)
{
	const struct chk_node *n = g->from[ch], *to;

	to = chk_peer(g->c->f, &n->port[port_of(g, ch)]);
	for (; *at <= to->nports; ++*at)
		if (g->next[ch][*at / 64] >> (*at % 64) & 1 && !g->gone[channel(g, to, *at)])
			return channel(g, to, (*at)++);
	return UINT32_MAX;
}

/*
 * Take out the channels on which no channel depends, again and again, until each channel that is left has one that depends
 * on it.
 */
static bool peel(struct graph *g)
{
	uint32_t *todo = calloc(g->n + 1, sizeof(*todo)), k = 0, ch;

	if (!todo)
		return false;
	for (uint32_t i = 0; i < g->n; i++)
		for (unsigned int at = 1; g->from[i] && (ch = next_of(g, i, &at)) != UINT32_MAX;)
			g->waits[ch]++;
	for (uint32_t i = 0; i < g->n; i++)
		if (!g->waits[i])
			todo[k++] = i;
	while (k) {
		uint32_t i = todo[--k];

		for (unsigned int at = 1; g->from[i] && (ch = next_of(g, i, &at)) != UINT32_MAX;)
			if (!--g->waits[ch])
				todo[k++] = ch;
		g->gone[i] = 1;
	}
	free(todo);
	return true;
}

/*
 * Every channel that is left is waited for by another one that is left, so a walk backwards must come to a channel
 * twice. Walking forwards may end at a channel that is only behind a cycle; so go back. Return: a channel in a cycle
 */
static uint32_t on_cycle(const struct graph *g, uint32_t start, uint32_t *before)
{
	uint32_t ch;

	for (uint32_t i = 0; i < g->n; i++)
		before[i] = UINT32_MAX;
	for (uint32_t i = 0; i < g->n; i++)
		for (unsigned int at = 1;
		     g->from[i] && !g->gone[i] && (ch = next_of(g, i, &at)) != UINT32_MAX;)
			before[ch] = i;
	for (uint32_t k = 0; k < g->n; k++)
		start = before[start];
	return start;
}

/* --- the report */

/* Tell whether a port sends all SLs on one lane, as far as the tables are known */
static bool one_lane(const struct chk_node *n, uint8_t in, uint8_t out)
{
	const struct chk_port *p = &n->port[out];
	const uint8_t *vl;

	if (p->known && p->pi.oper_vls <= 1)
		return true;
	if (!p->sltovl)
		return false;
	vl = p->sltovl[in];
	for (unsigned int sl = 1; sl < 16; sl++)
		if (vl[sl] != vl[0])
			return false;
	return true;
}

/* @before leads backwards along the cycle, so the channels are listed in that order and printed in the other. */
static void report(struct graph *g, uint32_t start, const uint32_t *before, uint32_t left)
{
	uint32_t *list = g->waits; /* this array is not needed any more */
	char where[CHK_WHERE_MAX] = "";
	struct text t = TEXT_IN(where);
	uint32_t ch = start, links = 0;
	bool sure = true;

	do {
		const struct chk_node *p = g->from[before[ch]];
		uint8_t in = p->port[port_of(g, before[ch])].peer_port;

		sure = sure && one_lane(g->from[ch], in, port_of(g, ch));
		list[links++] = ch;
		ch = before[ch];
	} while (ch != start);
	for (uint32_t i = links; i-- > 0;) {
		text_add(&t, "%s", t.len ? " > " : "");
		chk_name_port(&t, g->from[list[i]], port_of(g, list[i]));
	}
	chk_add_where(g->c, sure ? CHK_CREDIT_LOOP : CHK_CREDIT_LOOP_BY_VL, where,
		      "routes between CAs make %u links wait for each other in a circle; %u links "
		      "are in such circles or between them",
		      links, left);
}

static void find(struct graph *g)
{
	uint32_t *before = calloc(g->n + 1, sizeof(*before)), left = 0, start = 0;

	if (!before || !peel(g)) {
		g->c->no_memory = true;
		free(before);
		return;
	}
	for (uint32_t i = 0; i < g->n; i++)
		if (g->from[i] && !g->gone[i]) {
			start = i;
			left++;
		}
	if (left) {
		start = on_cycle(g, start, before);
		report(g, start, before, left);
	}
	free(before);
}

static bool number(struct graph *g)
{
	const struct chk *c = g->c;

	g->first = calloc(c->f->n + 1, sizeof(*g->first));
	if (!g->first)
		return false;
	for (uint32_t i = 0; i < c->nsw; i++) {
		g->first[c->sw[i]->index] = g->n;
		g->n += c->sw[i]->nports;
	}
	g->next = calloc(g->n + 1, sizeof(*g->next));
	g->from = calloc(g->n + 1, sizeof(*g->from));
	g->gone = calloc(g->n + 1, 1);
	g->waits = calloc(g->n + 1, sizeof(*g->waits));
	g->seen = calloc(c->f->n + 1, 1);
	if (!g->next || !g->from || !g->gone || !g->waits || !g->seen)
		return false;
	for (uint32_t i = 0; i < c->nsw; i++)
		for (unsigned int p = 1; p <= c->sw[i]->nports; p++) {
			const struct chk_node *peer = chk_peer(c->f, &c->sw[i]->port[p]);

			if (peer && peer->sw)
				g->from[channel(g, c->sw[i], p)] = c->sw[i];
		}
	return true;
}

void chk_credits(struct chk *c)
{
	struct graph g = { .c = c };

	if (number(&g)) {
		fill(&g);
		find(&g);
	} else {
		c->no_memory = true;
	}
	free(g.first);
	free(g.next);
	free(g.from);
	free(g.gone);
	free(g.waits);
	free(g.seen);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/priv.h"

#include <stdlib.h>
#include <string.h>

/*
 * Finds credit loops. According to Dally and Seitz, a routing is free of deadlocks if its channel
 * dependency graph has no cycle. A channel is a link between two switches in one direction. A
 * channel depends on another channel if packets arrive by the first and leave by the second. As in
 * ibdmchk, only routes from CAs to CAs count, because switches themselves send few packets.
 */

struct graph {
	struct chk *c;
	/*
	 * for each node of the fabric, index of the channel that leaves the node by port 1; the
	 * channels of the node's other ports follow
	 */
	uint32_t *first;
	uint32_t n; /* number of channels */
	/*
	 * for each channel, bit mask of egress ports of the switch at which the channel ends: the
	 * channel depends on the channels that begin at these ports
	 */
	uint64_t (*next)[4];
	const struct chk_node **from; /* switch at which each channel begins */
	uint8_t *gone; /* 1 for each channel that was found to be in no cycle */
	/*
	 * number of channels that depend on this channel; in peel_back(), number of channels on
	 * which this channel depends
	 */
	uint32_t *waits;
};

static uint32_t channel(const struct graph *g, const struct chk_node *n, unsigned int port)
{
	return g->first[n->index] + port - 1;
}

static uint8_t port_of(const struct graph *g, uint32_t ch)
{
	return (uint8_t)(ch - g->first[g->from[ch]->index] + 1);
}

/*
 * Record the dependencies on the routes to a LID. Skip routes that never arrive because they are
 * loops; lft.c reports such loops.
 */
static void depend(struct graph *g, const struct chk_routes *r)
{
	for (uint32_t i = 0; i < r->n; i++) {
		const struct chk_way *w = &r->way[r->sw[i]->index], *then;

		if (w->end != CHK_WAY_ENDS || !w->next)
			continue;
		then = &r->way[w->next->index];
		if (then->next)
			g->next[channel(g, r->sw[i], w->out)][then->out / 64] |=
				1ull << (then->out % 64);
	}
}

static bool fill(struct graph *g)
{
	struct chk *c = g->c;
	struct chk_routes r;
	bool ok = chk_routes_init(&r, c);

	for (unsigned int lid = 1; ok && lid < IB_LID_MCAST_MIN; lid++) {
		if (!chk_is_ca_lid(c, lid))
			continue;
		chk_routes_to(&r, lid);
		depend(g, &r);
	}
	c->steps += r.steps;
	chk_routes_fini(&r);
	return ok;
}

/* --- cycles */

/*
 * Find a channel on which @ch depends. Removed channels do not count. The search starts at egress
 * port *@at of the switch at which @ch ends. If it finds a channel, it sets *@at to the next port.
 * Return: the channel; UINT32_MAX: there is none
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

/* Remove channels on which no channel depends, until each remaining channel has a channel that depends on it. */
static void peel_front(struct graph *g, uint32_t *todo)
{
	uint32_t k = 0, ch;

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
}

/*
 * Find a channel that depends on @ch. Removed channels do not count. The search starts at ingress
 * port *@at of the switch at which @ch begins. If it finds a channel, it sets *@at to the next
 * port. Return: the channel; UINT32_MAX: there is none
 */
static uint32_t prev_of(const struct graph *g, uint32_t ch, unsigned int *at)
{
	const struct chk_node *n = g->from[ch];
	unsigned int out = port_of(g, ch);

	for (; *at <= n->nports; ++*at) {
		const struct chk_node *m = chk_peer(g->c->f, &n->port[*at]);
		uint32_t p;

		if (!m || !m->sw || chk_peer(g->c->f, &m->port[n->port[*at].peer_port]) != n)
			continue;
		p = channel(g, m, n->port[*at].peer_port);
		if (g->from[p] && !g->gone[p] && g->next[p][out / 64] >> (out % 64) & 1) {
			++*at;
			return p;
		}
	}
	return UINT32_MAX;
}

/*
 * Remove channels that depend on no remaining channel. A cycle can lead to such a channel, but the
 * channel is in no cycle itself.
 */
static void peel_back(struct graph *g, uint32_t *todo)
{
	uint32_t k = 0, ch;

	for (uint32_t i = 0; i < g->n; i++) {
		g->waits[i] = 0;
		for (unsigned int at = 1;
		     g->from[i] && !g->gone[i] && next_of(g, i, &at) != UINT32_MAX;)
			g->waits[i]++;
		if (g->from[i] && !g->gone[i] && !g->waits[i])
			todo[k++] = i;
	}
	while (k) {
		uint32_t i = todo[--k];

		g->gone[i] = 1;
		for (unsigned int at = 1; (ch = prev_of(g, i, &at)) != UINT32_MAX;)
			if (!--g->waits[ch])
				todo[k++] = ch;
	}
}

/* Remove all channels but those in a cycle, or on a way from one cycle to another. Return: false if memory ran out */
static bool peel(struct graph *g)
{
	uint32_t *todo = calloc(g->n + 1, sizeof(*todo));

	if (!todo)
		return false;
	peel_front(g, todo);
	peel_back(g, todo);
	free(todo);
	return true;
}

/*
 * Find a channel in a cycle. On each remaining channel, another remaining channel depends. A search
 * that goes from each channel to a channel that depends on it must therefore visit some channel
 * twice. The channels between the two visits are a cycle. Return: a channel in this cycle
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

/*
 * Write the turns of the cycle to @ret, in the order in which packets go. The array is filled from
 * its end, because @before[ch] is the channel before ch in the cycle. Return: false if memory ran
 * out
 */
static bool write_loop(const struct graph *g, uint32_t start, const uint32_t *before,
		       struct chk_loop *ret)
{
	uint32_t ch = start, n = 0;

	do {
		ch = before[ch];
		n++;
	} while (ch != start);
	ret->turn = calloc(n, sizeof(*ret->turn));
	if (!ret->turn)
		return false;
	ret->n = n;
	while (n--) {
		const struct chk_node *p = g->from[before[ch]];

		ret->turn[n] = (struct chk_turn){
			.node = g->from[ch]->index,
			.in = p->port[port_of(g, before[ch])].peer_port,
			.out = port_of(g, ch),
		};
		ch = before[ch];
	}
	return true;
}

static bool find(struct graph *g, struct chk_loop *ret)
{
	uint32_t *before = calloc(g->n + 1, sizeof(*before)), start = 0;
	bool ok = before && peel(g);

	for (uint32_t i = 0; ok && i < g->n; i++)
		if (g->from[i] && !g->gone[i]) {
			start = i;
			ret->links++;
		}
	if (ok && ret->links)
		ok = write_loop(g, on_cycle(g, start, before), before, ret);
	free(before);
	return ok;
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
	if (!g->next || !g->from || !g->gone || !g->waits)
		return false;
	for (uint32_t i = 0; i < c->nsw; i++)
		for (unsigned int p = 1; p <= c->sw[i]->nports; p++) {
			const struct chk_node *peer = chk_peer(c->f, &c->sw[i]->port[p]);

			if (peer && peer->sw)
				g->from[channel(g, c->sw[i], p)] = c->sw[i];
		}
	return true;
}

bool chk_find_loop(struct chk *c, struct chk_loop *ret)
{
	struct graph g = { .c = c };
	bool ok = number(&g) && fill(&g);

	*ret = (struct chk_loop){ 0 };
	ok = ok && find(&g, ret);
	free(g.first);
	free(g.next);
	free(g.from);
	free(g.gone);
	free(g.waits);
	return ok;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "topo/topo.h"

#include <stdio.h>
#include <stdlib.h>

#include "util/prng.h"

#define GEN_MAX_PORTS 254

/*
 * A planned cable. Its ports get their numbers after the number of ports of each switch is known.
 */
struct edge {
	/* nodes at the two ends: 0 to nsw - 1 are switches, higher numbers are CAs */
	uint32_t a, b;
};

struct plan {
	unsigned int nsw, nca;
	struct edge *edge;
	size_t nedges;
	/*
	 * .degree: number of cables of each node; .used: number of ports of each node that are in
	 * use
	 */
	unsigned int *degree, *used;
	unsigned int spare; /* number of ports that each switch keeps free */
};

static int plan_init(struct plan *g, unsigned int nsw, unsigned int nca, size_t max_edges)
{
	*g = (struct plan){ .nsw = nsw, .nca = nca };
	g->edge = calloc(max_edges + 1, sizeof(*g->edge));
	g->degree = calloc((size_t)nsw + nca, sizeof(*g->degree));
	g->used = calloc((size_t)nsw + nca, sizeof(*g->used));
	return g->edge && g->degree && g->used ? 0 : -1;
}

static void plan_fini(struct plan *g)
{
	free(g->edge);
	free(g->degree);
	free(g->used);
}

static void plan_edge(struct plan *g, uint32_t a, uint32_t b)
{
	g->edge[g->nedges++] = (struct edge){ a, b };
	g->degree[a]++;
	g->degree[b]++;
}

static int plan_add_node(const struct plan *g, struct topo *t, unsigned int i)
{
	bool sw = i < g->nsw;
	unsigned int ports = g->degree[i] + (sw ? g->spare : 0);
	char name[24];
	uint32_t index;

	if (sw && ports < 8)
		ports = 8;
	snprintf(name, sizeof(name), "%s%u", sw ? "Switch" : "Hca", sw ? i + 1 : i - g->nsw + 1);
	if (topo_add_node(t, sw ? IB_NODE_SWITCH : IB_NODE_CA, ports, name, NULL, &index))
		return -1;
	/* Enable the widths 1x and 4x and the speeds SDR to QDR, so that links run at 4xQDR. */
	for (unsigned int k = 1; k <= ports; k++)
		t->node[index]->port[k].rate = (struct topo_rate){ .width = 3, .speed = 7 };
	return 0;
}

static struct topo *plan_build(struct plan *g)
{
	struct topo *t = topo_create();

	for (unsigned int i = 0; t && i < g->nsw + g->nca; i++)
		if (plan_add_node(g, t, i))
			goto fail;
	for (size_t i = 0; t && i < g->nedges; i++) {
		const struct edge *e = &g->edge[i];

		if (topo_link(t, e->a, ++g->used[e->a], e->b, ++g->used[e->b]))
			goto fail;
	}
	return t;
fail:
	topo_free(t);
	return NULL;
}

/*
 * The cables of hosts are planned before the cables of the ring, so hosts get the lowest port
 * numbers of their switch.
 */
struct topo *topo_gen_demo(unsigned int hosts, unsigned int switches)
{
	struct topo *t = NULL;
	struct plan g;

	if (!hosts || !switches || hosts + switches > TOPO_MAX_NODES || hosts > TOPO_MAX_NODES)
		return NULL;
	if (plan_init(&g, switches, hosts, (size_t)hosts + switches))
		goto out;
	g.spare = 1;
	for (unsigned int i = 0; i < hosts; i++)
		plan_edge(&g, switches + i, (uint32_t)((uint64_t)i * switches / hosts));
	for (unsigned int i = 0; switches > 1 && i < switches; i++)
		plan_edge(&g, i, (i + 1) % switches);
	t = plan_build(&g);
out:
	plan_fini(&g);
	return t;
}

/* Find a switch that has a free port, starting at a random switch. Return: -1 if there is none */
static int pick_switch(const struct plan *g, struct prng *r, int other_than)
{
	unsigned int at = prng_below(r, g->nsw);

	for (unsigned int i = 0; i < g->nsw; i++) {
		unsigned int k = (at + i) % g->nsw;

		if ((int)k != other_than && g->degree[k] < GEN_MAX_PORTS)
			return (int)k;
	}
	return -1;
}

static int plan_random(struct plan *g, const struct topo_gen_random *c, struct prng *r)
{
	for (unsigned int i = 1; i < c->switches; i++)
		plan_edge(g, i, prng_below(r, i));
	for (unsigned int i = 0; i < c->cas; i++) {
		unsigned int ports = 1 + prng_below(r, c->max_ca_ports);

		for (unsigned int k = 0; k < ports; k++) {
			int sw = pick_switch(g, r, -1);

			if (sw < 0)
				return -1;
			plan_edge(g, c->switches + i, (uint32_t)sw);
		}
	}
	for (unsigned int i = 0; i < c->extra_links && c->switches > 1; i++) {
		int a = pick_switch(g, r, -1), b = a < 0 ? -1 : pick_switch(g, r, a);

		if (b < 0)
			return -1;
		plan_edge(g, (uint32_t)a, (uint32_t)b);
	}
	return 0;
}

struct topo *topo_gen_random(const struct topo_gen_random *c)
{
	struct topo *t = NULL;
	struct prng r;
	struct plan g;

	if (!c->switches || c->switches > 4096 || c->cas > 16384 || !c->max_ca_ports ||
	    c->max_ca_ports > 254 || c->extra_links > 65536)
		return NULL;
	prng_seed(&r, c->seed);
	if (!plan_init(&g, c->switches, c->cas,
		       (size_t)c->switches + (size_t)c->cas * c->max_ca_ports + c->extra_links) &&
	    !plan_random(&g, c, &r))
		t = plan_build(&g);
	plan_fini(&g);
	return t;
}

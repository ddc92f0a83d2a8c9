/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/priv.h"

#include <stdlib.h>

/*
 * A circle of links is a credit loop only if the packets that wait for each other are on the same virtual lane. The lane
 * at each turn is that of the packet's SL, and the SL is that of the path, which only the SA knows.
 */

/* --- paths that make a dependency */

struct edge {
	const struct chk_node *a; /* switch at which the first link begins */
	uint8_t out;
	const struct chk_node *b; /* switch at its other end, where the second link begins */
	uint8_t then;
};

/*
 * Follow the route from a switch to a LID. Return: true if it takes both links of @e; *@ret_in is the port by which it
 * came to the first of them, 0 if it begins there
 */
static bool takes(const struct chk *c, const struct chk_node *n, unsigned int lid,
		  const struct edge *e, uint8_t *ret_in)
{
	uint8_t out = 0, then = 0, in = 0;

	for (const struct chk_node *next; (next = chk_next_switch(c, n, lid, &out)); n = next) {
		if (n == e->a && out == e->out) {
			*ret_in = in;
			return chk_next_switch(c, next, lid, &then) && then == e->then;
		}
		in = n->port[out].peer_port;
	}
	return false;
}

/* Find a CA at a switch: its LID, and the switch's port. */
static bool find_ca(const struct chk *c, const struct chk_node *n, uint16_t *ret_lid,
		    uint8_t *ret_port)
{
	for (unsigned int p = 1; p <= n->nports; p++) {
		const struct chk_node *ca = chk_peer(c->f, &n->port[p]);

		if (!ca || ca->sw || !chk_carries(c->f, &n->port[p]) ||
		    !ca->port[n->port[p].peer_port].lid)
			continue;
		*ret_lid = ca->port[n->port[p].peer_port].lid;
		*ret_port = (uint8_t)p;
		return true;
	}
	return false;
}

static bool find_path_to(const struct chk *c, unsigned int lid, const struct edge *e,
			 struct chk_wait *ret)
{
	for (uint32_t i = 0; i < c->nsw; i++) {
		uint8_t port = 0, in = 0;
		uint16_t slid = 0;

		if (!find_ca(c, c->sw[i], &slid, &port) || !chk_route_ends(c, c->sw[i], lid) ||
		    !takes(c, c->sw[i], lid, e, &in))
			continue;
		*ret = (struct chk_wait){
			.hold = { e->a->index, in ? in : port, e->out },
			.want = { e->b->index, e->a->port[e->out].peer_port, e->then },
			.slid = slid,
			.dlid = (uint16_t)lid,
		};
		return true;
	}
	return false;
}

static bool find_path(const struct chk *c, const struct edge *e, struct chk_wait *ret)
{
	for (unsigned int lid = 1; lid < IB_LID_MCAST_MIN; lid++)
		if (c->by_lid[lid].node && !c->by_lid[lid].node->sw && find_path_to(c, lid, e, ret))
			return true;
	return false;
}

static bool find_waits(const struct chk *c, const struct chk_loop *l, struct chk_wait *ret)
{
	for (uint32_t i = 0; i < l->n; i++) {
		const struct chk_turn *t = &l->turn[i], *u = &l->turn[(i + 1) % l->n];
		const struct edge e = { c->f->node[t->node], t->out, c->f->node[u->node], u->out };

		if (!find_path(c, &e, &ret[i]))
			return false;
	}
	return true;
}

/* --- lanes */

static const struct chk_port *port_of(const struct chk_fabric *f, const struct chk_turn *t)
{
	return &f->node[t->node]->port[t->out];
}

/* True if all SLs are on one lane behind this turn */
static bool one_lane(const struct chk_fabric *f, const struct chk_turn *t)
{
	const struct chk_port *p = port_of(f, t);
	const uint8_t *vl = p->sltovl ? p->sltovl[t->in] : NULL;

	if (p->known && p->pi.oper_vls <= 1)
		return true;
	for (unsigned int sl = 0; vl && sl < 16; sl++)
		if (vl[sl] != vl[0] || vl[sl] == CHK_NO_VL)
			return false;
	return vl != NULL;
}

static uint8_t lane(const struct chk_fabric *f, const struct chk_turn *t, uint8_t sl)
{
	const struct chk_port *p = port_of(f, t);

	return p->sltovl ? p->sltovl[t->in][sl & 15] : CHK_NO_VL;
}

static bool find_sl(const struct chk_fabric *f, const struct chk_wait *w, uint8_t *ret)
{
	for (uint32_t i = 0; i < f->npaths; i++)
		if (f->path[i].slid == w->slid && f->path[i].dlid == w->dlid) {
			*ret = f->path[i].sl;
			return true;
		}
	return false;
}

/* Each wait must be for the lane that the next one holds. */
static bool closes(const struct chk_fabric *f, const struct chk_wait *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct chk_wait *v = &w[(i + 1) % n];
		uint8_t sl = 0, next = 0, vl;

		if (!find_sl(f, &w[i], &sl) || !find_sl(f, v, &next))
			return false;
		vl = lane(f, &w[i].want, sl);
		if (vl == CHK_NO_VL || vl != lane(f, &v->hold, next))
			return false;
	}
	return true;
}

/* True if it is known that each link of the loop waits for the next one on the same lane */
static bool is_sure(const struct chk *c, const struct chk_loop *l)
{
	struct chk_wait w[CHK_WAITS_MAX];
	bool one = true;

	for (uint32_t i = 0; i < l->n; i++)
		one = one && one_lane(c->f, &l->turn[i]);
	if (one)
		return true;
	return c->f->npaths && l->n <= CHK_WAITS_MAX && find_waits(c, l, w) &&
	       closes(c->f, w, l->n);
}

uint32_t chk_credit_waits(const struct chk_fabric *f, struct chk_wait ret[CHK_WAITS_MAX])
{
	struct chk c = { .f = f };
	struct chk_loop l = { 0 };
	uint32_t n = 0;

	if (chk_index(&c) < 0)
		return 0;
	if (chk_find_loop(&c, &l) && l.n && l.n <= CHK_WAITS_MAX && !is_sure(&c, &l) &&
	    find_waits(&c, &l, ret))
		n = l.n;
	free(l.turn);
	chk_index_fini(&c);
	return n;
}

/* --- the check */

void chk_credits(struct chk *c)
{
	char where[CHK_WHERE_MAX] = "";
	struct text t = TEXT_IN(where);
	struct chk_loop l = { 0 };

	if (!chk_find_loop(c, &l)) {
		c->no_memory = true;
		return;
	}
	for (uint32_t i = 0; i < l.n; i++) {
		text_add(&t, "%s", t.len ? " > " : "");
		chk_name_port(&t, c->f->node[l.turn[i].node], l.turn[i].out);
	}
	if (l.n)
		chk_add_where(
			c, is_sure(c, &l) ? CHK_CREDIT_LOOP : CHK_CREDIT_LOOP_BY_VL, where,
			"routes between CAs make %u links wait for each other in a circle; %u "
			"links are in such circles or between them",
			l.n, l.links);
	free(l.turn);
}

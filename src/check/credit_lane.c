/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/priv.h"

#include <stdlib.h>

/*
 * A cycle of channels is a credit loop only if the packets that wait for each other use the same
 * virtual lane. At each switch, the SL of a packet and the SLtoVL table determine the lane on which
 * the packet leaves. The SL of a path has to be requested from the SA.
 */

/* --- paths that make a dependency */

/*
 * Tell whether the route from some CA to the LID uses the link of turn @t and next the link of turn
 * @u. If so, write this dependency to @ret
 */
static bool find_wait(const struct chk_routes *r, unsigned int lid, const struct chk_turn *t,
		      const struct chk_turn *u, struct chk_wait *ret)
{
	const struct chk_way *hold = &r->way[t->node], *want = &r->way[u->node];
	uint8_t port = 0;
	uint16_t slid = 0;

	if (hold->end != CHK_WAY_ENDS || !hold->next || hold->next->index != u->node ||
	    hold->out != t->out || !want->next || want->out != u->out ||
	    !chk_find_ca(r->c, hold->leaf, &slid, &port))
		return false;
	*ret = (struct chk_wait){
		.hold = { t->node, hold->in ? hold->in : port, t->out },
		.want = { u->node, u->in, u->out },
		.slid = slid,
		.dlid = (uint16_t)lid,
	};
	return true;
}

/*
 * For each dependency of the loop, find a path that causes it. If several paths cause it, take one
 * with the lowest DLID. Return: false if no path causes one of the dependencies, or if memory ran
 * out
 */
static bool find_waits(const struct chk *c, const struct chk_loop *l, struct chk_wait *ret)
{
	bool found[CHK_WAITS_MAX] = { false };
	struct chk_routes r;
	bool ok = chk_routes_init(&r, c);
	uint32_t left = l->n;

	for (unsigned int lid = 1; ok && left && lid < IB_LID_MCAST_MIN; lid++) {
		if (!chk_is_ca_lid(c, lid))
			continue;
		chk_routes_to(&r, lid);
		for (uint32_t i = 0; i < l->n; i++) {
			if (found[i] ||
			    !find_wait(&r, lid, &l->turn[i], &l->turn[(i + 1) % l->n], &ret[i]))
				continue;
			found[i] = true;
			left--;
		}
	}
	chk_routes_fini(&r);
	return ok && !left;
}

/* --- lanes */

static const struct chk_port *port_of(const struct chk_fabric *f, const struct chk_turn *t)
{
	return &f->node[t->node]->port[t->out];
}

/* Tell whether packets of all SLs leave this switch on the same virtual lane */
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

/* Tell whether each packet of the loop waits for the lane that the next packet occupies. */
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

/* Tell whether it is certain that each link of the loop waits for the next link on the same lane */
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
			c, is_sure(c, &l) ? CHK_CREDIT_LOOP : CHK_CREDIT_LOOP_BY_VL, where, 0,
			"routes between CAs make %u links wait for each other in a circle; %u "
			"links are in such circles or between them",
			l.n, l.links);
	free(l.turn);
}

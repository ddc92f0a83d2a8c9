/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/priv.h"

#include <stdlib.h>

/*
 * Routes from CAs to one LID. These routes form a tree that ends at the LID. If there are faults,
 * some routes form loops instead, and other routes lead into the loops. Where a route meets a
 * switch that was visited before, the rest of the route is known already. So each switch is visited
 * once for each LID, however long the routes are.
 */

const struct chk_node *chk_next_switch(const struct chk *c, const struct chk_node *n,
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

bool chk_find_ca(const struct chk *c, const struct chk_node *n, uint16_t *ret_lid,
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

bool chk_routes_init(struct chk_routes *r, const struct chk *c)
{
	uint16_t lid;
	uint8_t port;

	*r = (struct chk_routes){ .c = c };
	r->leaf = calloc(c->nsw + 1, sizeof(*r->leaf));
	r->sw = calloc(c->nsw + 1, sizeof(*r->sw));
	r->way = calloc(c->f->n + 1, sizeof(*r->way));
	if (!r->leaf || !r->sw || !r->way)
		return false;
	for (uint32_t i = 0; i < c->nsw; i++)
		if (chk_find_ca(c, c->sw[i], &lid, &port))
			r->leaf[r->nleaves++] = c->sw[i];
	return true;
}

void chk_routes_fini(struct chk_routes *r)
{
	free(r->leaf);
	free(r->sw);
	free(r->way);
}

/* Follow the route from a leaf switch until it ends, or meets a switch from which the rest of the route is known. */
static void follow(struct chk_routes *r, const struct chk_node *leaf, unsigned int lid)
{
	const struct chk_node *n = leaf;
	uint32_t first = r->n;
	enum chk_way_end end;
	uint8_t in = 0;

	while (n && r->way[n->index].end == CHK_WAY_UNSEEN) {
		struct chk_way *w = &r->way[n->index];

		*w = (struct chk_way){ .end = CHK_WAY_CIRCLES, .leaf = leaf, .in = in };
		r->sw[r->n++] = n;
		w->next = chk_next_switch(r->c, n, lid, &w->out);
		if (w->next)
			in = n->port[w->out].peer_port;
		n = w->next;
	}
	/*
	 * Store the end of the route for all switches that this search visited. Until then these
	 * switches count as part of a loop, so if the search comes back to one of them, the route
	 * is a loop.
	 */
	end = n ? r->way[n->index].end : CHK_WAY_ENDS;
	for (uint32_t i = first; i < r->n; i++)
		r->way[r->sw[i]->index].end = end;
}

void chk_routes_to(struct chk_routes *r, unsigned int lid)
{
	for (uint32_t i = 0; i < r->n; i++)
		r->way[r->sw[i]->index].end = CHK_WAY_UNSEEN;
	r->n = 0;
	for (uint32_t i = 0; i < r->nleaves; i++)
		follow(r, r->leaf[i], lid);
	r->steps += r->n;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/priv.h"

#include <errno.h>
#include <stdlib.h>

static void own(struct chk *c, const struct chk_node *n, const struct chk_port *p)
{
	if (!ib_lid_is_unicast(p->lid))
		return;
	for (unsigned int lid = p->lid; lid < p->lid + (1u << p->lmc); lid++)
		if (lid < IB_LID_MCAST_MIN && !c->by_lid[lid].node)
			c->by_lid[lid] = (struct chk_owner){ n, p };
}

/* --- port GUIDs */

static int by_guid(const void *a, const void *b)
{
	const struct chk_port_guid *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	if (x->node != y->node)
		return x->node->index < y->node->index ? -1 : 1;
	return x->port->num - y->port->num;
}

static uint32_t collect(const struct chk_fabric *f, struct chk_port_guid *ret)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		const struct chk_node *n = f->node[i];

		for (unsigned int p = 0; p <= n->nports; p++) {
			if (!chk_is_end(n, &n->port[p]) || !n->port[p].guid)
				continue;
			if (ret)
				ret[k] = (struct chk_port_guid){ n->port[p].guid, n, &n->port[p] };
			k++;
		}
	}
	return k;
}

const struct chk_port_guid *chk_find_port(const struct chk *c, uint64_t guid)
{
	uint32_t lo = 0, hi = c->nby_guid;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (c->by_guid[mid].guid < guid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < c->nby_guid && c->by_guid[lo].guid == guid ? &c->by_guid[lo] : NULL;
}

/* --- connected parts of the fabric */

static uint32_t root(uint32_t *part, uint32_t i)
{
	while (part[i] != i) {
		part[i] = part[part[i]];
		i = part[i];
	}
	return i;
}

/* For each link that carries data, merge the parts at its two ends. */
static void connect(struct chk *c)
{
	const struct chk_fabric *f = c->f;

	for (uint32_t i = 0; i < f->n; i++)
		c->part[i] = i;
	for (uint32_t i = 0; i < f->n; i++) {
		const struct chk_node *n = f->node[i];

		for (unsigned int p = 1; p <= n->nports; p++) {
			const struct chk_node *peer = chk_peer(f, &n->port[p]);

			/*
			 * A CA does not forward packets, so two links of a CA do not connect the
			 * nodes at their other ends.
			 */
			if (peer && n->sw && peer->sw && chk_carries(f, &n->port[p]))
				c->part[root(c->part, i)] = root(c->part, peer->index);
		}
	}
	for (uint32_t i = 0; i < f->n; i++)
		c->part[i] = root(c->part, i);
}

int chk_index(struct chk *c)
{
	c->by_lid = calloc(IB_LID_MCAST_MIN, sizeof(*c->by_lid));
	c->part = calloc(c->f->n + 1, sizeof(*c->part));
	c->sw = calloc(c->f->n + 1, sizeof(*c->sw));
	c->nby_guid = collect(c->f, NULL);
	c->by_guid = calloc(c->nby_guid + 1, sizeof(*c->by_guid));
	if (!c->by_lid || !c->part || !c->sw || !c->by_guid) {
		chk_index_fini(c);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < c->f->n; i++) {
		const struct chk_node *n = c->f->node[i];

		if (n->sw)
			c->sw[c->nsw++] = n;
		for (unsigned int p = 0; p <= n->nports; p++)
			if (chk_is_end(n, &n->port[p]))
				own(c, n, &n->port[p]);
	}
	collect(c->f, c->by_guid);
	qsort(c->by_guid, c->nby_guid, sizeof(*c->by_guid), by_guid);
	connect(c);
	return 0;
}

bool chk_has_cas(const struct chk *c, const struct chk_node *n)
{
	for (unsigned int p = 1; p <= n->nports; p++) {
		const struct chk_node *peer = chk_peer(c->f, &n->port[p]);

		if (peer && !peer->sw && chk_carries(c->f, &n->port[p]))
			return true;
	}
	return false;
}

void chk_index_fini(struct chk *c)
{
	free(c->by_lid);
	free(c->part);
	free(c->sw);
	free(c->by_guid);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/priv.h"

#include <inttypes.h>
#include <stdlib.h>

/* Identity: GUIDs, LIDs, and which subnet manager a port has. */

/* --- GUIDs */

static void twins(struct chk *c)
{
	for (uint32_t i = 0; i < c->f->ntwins; i++) {
		const struct chk_twin *w = &c->f->twin[i];
		const struct chk_node *n = c->f->node[w->node];
		char behind[CHK_WHERE_MAX] = "";
		struct text t = TEXT_IN(behind);

		chk_name_port(&t, c->f->node[w->behind], w->behind_port);
		chk_add(c, CHK_SAME_NODE_GUID, n, -1,
			"another node with the node GUID 0x%016" PRIx64 " is behind %s", n->guid,
			behind);
	}
}

struct port_guid {
	uint64_t guid;
	const struct chk_node *node;
	uint8_t port;
};

static int by_guid(const void *a, const void *b)
{
	const struct port_guid *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	if (x->node != y->node)
		return x->node->index < y->node->index ? -1 : 1;
	return x->port - y->port;
}

static size_t collect(const struct chk_fabric *f, struct port_guid *ret)
{
	size_t k = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		const struct chk_node *n = f->node[i];

		for (unsigned int p = 0; p <= n->nports; p++)
			if (chk_is_end(n, &n->port[p]) && n->port[p].guid) {
				if (ret)
					ret[k] = (struct port_guid){ n->port[p].guid, n,
								     (uint8_t)p };
				k++;
			}
	}
	return k;
}

void chk_guids(struct chk *c)
{
	size_t k = collect(c->f, NULL);
	struct port_guid *v = calloc(k + 1, sizeof(*v));

	twins(c);
	if (!v) {
		c->no_memory = true;
		return;
	}
	collect(c->f, v);
	qsort(v, k, sizeof(*v), by_guid);
	for (size_t i = 1; i < k; i++) {
		char first[CHK_WHERE_MAX] = "";
		struct text t = TEXT_IN(first);

		if (v[i].guid != v[i - 1].guid)
			continue;
		chk_name_port(&t, v[i - 1].node, v[i - 1].port);
		chk_add(c, CHK_SAME_PORT_GUID, v[i].node, v[i].port,
			"has the port GUID 0x%016" PRIx64 ", which %s has, too", v[i].guid, first);
	}
	free(v);
}

/* --- LIDs */

static void lids_of(struct chk *c, const struct chk_node *n, const struct chk_port *p)
{
	if (!p->lid && p->known && p->pi.port_state == IB_PORT_ACTIVE) {
		chk_add(c, CHK_NO_LID, n, p->num, "is Active, but has no LID");
		return;
	}
	for (unsigned int lid = p->lid; p->lid && lid < p->lid + (1u << p->lmc); lid++) {
		char first[CHK_WHERE_MAX] = "";
		struct text t = TEXT_IN(first);

		if (lid >= IB_LID_MCAST_MIN) {
			chk_add(c, CHK_SAME_LID, n, p->num, "has LID %u, which is no unicast LID",
				lid);
			return;
		}
		if (c->by_lid[lid].port == p)
			continue;
		chk_name_port(&t, c->by_lid[lid].node, c->by_lid[lid].port->num);
		chk_add(c, CHK_SAME_LID, n, p->num, "has LID %u, which %s has, too", lid, first);
		return;
	}
}

void chk_lids(struct chk *c)
{
	for (uint32_t i = 0; i < c->f->n; i++) {
		const struct chk_node *n = c->f->node[i];

		for (unsigned int p = 0; p <= n->nports; p++)
			if (chk_is_end(n, &n->port[p]))
				lids_of(c, n, &n->port[p]);
	}
}

/* --- subnet managers */

static bool has_manager(const struct chk_node *n, const struct chk_port *p)
{
	return chk_is_end(n, p) && p->known && p->lid && p->pi.sm_lid &&
	       (n->sw || p->pi.port_state == IB_PORT_ACTIVE);
}

/* The LID that most ports have as that of their SM; 0: no port has one. */
static uint16_t usual_manager(const struct chk_fabric *f)
{
	uint32_t *votes = calloc(65536, sizeof(*votes));
	uint16_t best = 0;

	if (!votes)
		return 0;
	for (uint32_t i = 0; i < f->n; i++) {
		const struct chk_node *n = f->node[i];

		for (unsigned int p = 0; p <= n->nports; p++) {
			uint16_t lid = n->port[p].pi.sm_lid;

			if (has_manager(n, &n->port[p]) && ++votes[lid] > votes[best])
				best = lid;
		}
	}
	free(votes);
	return best;
}

void chk_managers(struct chk *c)
{
	uint16_t usual = usual_manager(c->f);

	for (uint32_t i = 0; usual && i < c->f->n; i++) {
		const struct chk_node *n = c->f->node[i];

		for (unsigned int p = 0; p <= n->nports; p++) {
			uint16_t lid = n->port[p].pi.sm_lid;

			if (has_manager(n, &n->port[p]) && lid != usual)
				chk_add(c, CHK_OTHER_SM, n, (int)p,
					"has LID %u as that of its subnet manager, but most ports "
					"have LID %u",
					lid, usual);
		}
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/priv.h"

#include <inttypes.h>
#include <stdlib.h>

/* Checks of GUIDs, of LIDs, and of the LID of the subnet manager that each port has stored. */

/* --- GUIDs */

static void twins(struct chk *c)
{
	for (uint32_t i = 0; i < c->f->ntwins; i++) {
		const struct chk_twin *w = &c->f->twin[i];
		const struct chk_node *n = c->f->node[w->node];
		char behind[CHK_WHERE_MAX] = "";
		struct text t = TEXT_IN(behind);

		chk_name_port(&t, c->f->node[w->behind], w->behind_port);
		chk_add(c, CHK_SAME_NODE_GUID, n, -1, c->f->node[w->behind]->guid + w->behind_port,
			"another node with the node GUID 0x%016" PRIx64 " is behind %s", n->guid,
			behind);
	}
}

void chk_guids(struct chk *c)
{
	twins(c);
	for (uint32_t i = 1; i < c->nby_guid; i++) {
		const struct chk_port_guid *before = &c->by_guid[i - 1], *x = &c->by_guid[i];
		char first[CHK_WHERE_MAX] = "";
		struct text t = TEXT_IN(first);

		if (x->guid != before->guid)
			continue;
		chk_name_port(&t, before->node, before->port->num);
		chk_add(c, CHK_SAME_PORT_GUID, x->node, x->port->num, before->node->guid,
			"has the port GUID 0x%016" PRIx64 ", which %s has, too", x->guid, first);
	}
}

/* --- LIDs */

static void lids_of(struct chk *c, const struct chk_node *n, const struct chk_port *p)
{
	if (!p->lid && p->known && p->pi.port_state == IB_PORT_ACTIVE) {
		chk_add(c, CHK_NO_LID, n, p->num, 0, "is Active, but has no LID");
		return;
	}
	for (unsigned int lid = p->lid; p->lid && lid < p->lid + (1u << p->lmc); lid++) {
		char first[CHK_WHERE_MAX] = "";
		struct text t = TEXT_IN(first);

		if (lid >= IB_LID_MCAST_MIN) {
			chk_add(c, CHK_SAME_LID, n, p->num, lid,
				"has LID %u, which is no unicast LID", lid);
			return;
		}
		if (c->by_lid[lid].port == p)
			continue;
		chk_name_port(&t, c->by_lid[lid].node, c->by_lid[lid].port->num);
		chk_add(c, CHK_SAME_LID, n, p->num, lid, "has LID %u, which %s has, too", lid,
			first);
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

/* Return: the LID of the subnet manager that most ports have stored; 0: no port has stored one */
static uint16_t usual_manager(struct chk *c)
{
	const struct chk_fabric *f = c->f;
	uint32_t *votes = calloc(65536, sizeof(*votes));
	uint16_t best = 0;

	if (!votes) {
		c->no_memory = true;
		return 0;
	}
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

/* --- SMInfo: the answers of the subnet managers */

static bool is_master(const struct chk_manager *m)
{
	return m->info.state == SMP_SM_MASTER;
}

/* Return: the first subnet manager that answered that it is the master; NULL: none did */
static const struct chk_manager *first_master(const struct chk_fabric *f)
{
	for (uint32_t i = 0; i < f->nmanagers; i++)
		if (is_master(&f->manager[i]))
			return &f->manager[i];
	return NULL;
}

static void masters(struct chk *c, const struct chk_manager *first)
{
	const struct chk_fabric *f = c->f;
	char name[CHK_WHERE_MAX] = "";
	struct text t = TEXT_IN(name);

	chk_name_port(&t, f->node[first->node], first->port);
	for (const struct chk_manager *m = first + 1; m < f->manager + f->nmanagers; m++)
		if (is_master(m))
			chk_add(c, CHK_TWO_MASTERS, f->node[m->node], m->port,
				f->node[first->node]->guid,
				"is a master subnet manager (priority %u), and so is %s (priority "
				"%u)",
				m->info.priority, name, first->info.priority);
}

static void other(struct chk *c, const struct chk_node *n, const struct chk_port *p, uint16_t usual,
		  const char *whose)
{
	if (has_manager(n, p) && p->pi.sm_lid != usual)
		chk_add(c, CHK_OTHER_SM, n, p->num, p->pi.sm_lid,
			"has LID %u as that of its subnet manager, but %s LID %u", p->pi.sm_lid,
			whose, usual);
}

/*
 * Checks the SM LID that each port has stored. It should be the LID of the master SM that answered
 * SMInfo. If no master answered, the SM LID that most ports have stored is taken as the right LID.
 */
void chk_managers(struct chk *c)
{
	const struct chk_manager *m = first_master(c->f);
	const struct chk_node *at = m ? c->f->node[m->node] : NULL;
	uint16_t usual = at ? at->port[m->port].lid : 0;
	const char *whose = usual ? "the master has" : "most ports have";

	if (m)
		masters(c, m);
	if (!usual)
		usual = usual_manager(c);
	for (uint32_t i = 0; usual && i < c->f->n; i++) {
		const struct chk_node *n = c->f->node[i];

		for (unsigned int p = 0; p <= n->nports; p++)
			other(c, n, &n->port[p], usual, whose);
	}
}

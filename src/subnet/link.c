/* SPDX-License-Identifier: BSD-2-Clause */
#include "subnet/link.h"

bool sm_link_join(struct sm_port *a, struct sm_port *b)
{
	if ((a->peer && a->peer != b) || (b->peer && b->peer != a))
		return false;
	a->peer = b;
	b->peer = a;
	return true;
}

static void note(struct sm_port *p, enum sm_link_change c)
{
	p->change = p->peer->change = (uint8_t)c;
}

static void disconnect(struct sm_port *p)
{
	struct sm_port *q = p->peer;

	note(p, SM_LINK_KEPT);
	p->peer = q->peer = NULL;
	p->vls_mapped = q->vls_mapped = 0;
}

void sm_link_gone(struct sm_port *p)
{
	if (p->change == SM_LINK_CAME)
		disconnect(p);
	else
		note(p, SM_LINK_GONE);
}

bool sm_link_came(struct sm_port *p, struct sm_port *q)
{
	bool known = p->peer && p->change != SM_LINK_CAME;

	p->peer = q;
	q->peer = p;
	note(p, known ? SM_LINK_BACK : SM_LINK_CAME);
	return !known;
}

void sm_links_apply(struct sm_db *db, struct sm_node *sw)
{
	for (unsigned int i = 1; i <= sw->info.nports; i++) {
		struct sm_port *p = &sw->port[i];

		if (p->change == SM_LINK_GONE) {
			db->nlinks--;
			disconnect(p);
		} else if (p->change != SM_LINK_KEPT) {
			db->nlinks += p->change == SM_LINK_CAME;
			note(p, SM_LINK_KEPT);
		}
	}
}

static uint8_t port_rate(const struct smp_port_info *pi)
{
	unsigned int rate = ib_rate_code(pi->width_active, pi->speed_active, pi->speed_ext_active);

	/* A link whose width and speed have no rate code counts as the slowest link, 2.5 Gb/s. */
	return (uint8_t)(rate ? rate : 2);
}

void sm_link_measure(struct sm_port *p, uint8_t max_mtu_code)
{
	uint8_t mtu = p->pi.mtu_cap;

	if (p->peer && p->peer->known && p->peer->pi.mtu_cap < mtu)
		mtu = p->peer->pi.mtu_cap;
	if (mtu > max_mtu_code)
		mtu = max_mtu_code;
	p->mtu_code = mtu < IB_MTU_256 ? IB_MTU_256 : mtu;
	p->rate_code = port_rate(&p->pi);
}

void sm_links_measure(struct sm_db *db, uint8_t max_mtu_code)
{
	uint32_t ends = 0;

	for (uint32_t i = 0; i < db->nnodes; i++) {
		struct sm_node *n = db->node[i];

		for (unsigned int num = 0; num <= n->info.nports; num++) {
			struct sm_port *p = &n->port[num];

			if (!p->known)
				continue;
			sm_link_measure(p, max_mtu_code);
			ends += p->peer && p->peer != p && p->num;
		}
	}
	db->nlinks = ends / 2;
}

bool sm_link_harmless(const struct sm_db *db, const struct sm_port *p)
{
	const struct sm_node *old = sm_db_node(db, p->node->info.node_guid);
	const struct sm_port *was;

	if (!old || !old->sw || old->info.nports < p->num || !sm_fdb_written(p->node->sw->fdb))
		return false;
	was = sm_port_peer_routed(&old->port[p->num]);
	return !was || (was->num == p->peer->num &&
			was->node->info.node_guid == p->peer->node->info.node_guid);
}

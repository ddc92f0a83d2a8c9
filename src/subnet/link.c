/* SPDX-License-Identifier: BSD-2-Clause */
#include "subnet/link.h"

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

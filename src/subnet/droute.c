/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "subnet/db.h"

/*
 * This file computes directed routes from the SM to all nodes, over the links that the running
 * sweep has found.
 */

bool sm_droute_over(const struct sm_port *p, const struct sm_port *q)
{
	const struct sm_node *n = q->node;

	return n->nhops == p->node->nhops + 1 && n->path[n->nhops] == p->num &&
	       memcmp(n->path + 1, p->node->path + 1, p->node->nhops) == 0;
}

static void route_to(struct sm_node *n, const struct sm_node *from, uint8_t port)
{
	memcpy(n->path, from->path, from->nhops + 1u);
	n->nhops = from->nhops + 1;
	n->path[n->nhops] = port;
}

bool sm_db_droutes(struct sm_db *db)
{
	struct sm_node **queue = calloc(db->nswitches + 1u, sizeof(struct sm_node *));
	bool *seen = calloc(db->nswitches + 1u, sizeof(*seen));
	uint32_t head = 0, tail = 0;
	struct sm_node *first = db->self->node;

	if (queue && seen && !first->sw && db->self->peer) {
		route_to(db->self->peer->node, first, db->self->num);
		first = db->self->peer->node;
	}
	if (queue && seen && first->sw) {
		seen[first->sw->index] = true;
		queue[tail++] = first;
	}
	while (head < tail) {
		struct sm_node *s = queue[head++];

		for (unsigned int i = 1; i <= s->info.nports; i++) {
			const struct sm_port *peer = sm_port_peer_now(&s->port[i]);
			struct sm_node *n = peer ? peer->node : NULL;

			if (!n || n == db->self->node || s->nhops >= IB_MAX_HOPS)
				continue;
			if (!n->sw && peer->num == n->info.local_port)
				route_to(n, s, (uint8_t)i);
			if (!n->sw || seen[n->sw->index])
				continue;
			seen[n->sw->index] = true;
			route_to(n, s, (uint8_t)i);
			queue[tail++] = n;
		}
	}
	free(queue);
	free(seen);
	return tail == db->nswitches;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "subnet/db.h"

/* Directed routes from the SM to all nodes. */

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
			const struct sm_port *peer = s->port[i].peer;
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

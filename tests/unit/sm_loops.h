/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SM_LOOPS_H
#define TESTS_SM_LOOPS_H

/*
 * Finds credit loops in the LFTs of a subnet database (struct sm_db). A channel is a link in one
 * direction. Its number is 256 * (index of the switch that sends into it) + (port of this switch).
 */

#include <stdlib.h>

#include "check.h"
#include "subnet/db.h"

/* Graph of channel dependencies. */
struct deps {
	const struct sm_db *db;
	/*
	 * [256 * c + p]: 1 if a packet in channel c can wait for port p of the switch at which
	 * channel c ends
	 */
	uint8_t *after;
	uint8_t *colour; /* [channels]: 0 not visited, 1 on the current path, 2 done */
};

static const struct sm_node *next_switch(const struct sm_node *n, uint8_t port)
{
	const struct sm_port *peer;

	if (port == 0 || port > n->info.nports)
		return NULL;
	peer = n->port[port].peer;
	return peer && peer->node->sw ? peer->node : NULL;
}

static void deps_fill(struct deps *d)
{
	for (uint32_t s = 0; s < d->db->nswitches; s++) {
		for (unsigned int lid = 1; lid <= d->db->top_lid; lid++) {
			const struct sm_node *n = d->db->sw[s], *t;
			uint8_t out = sm_switch_lft(n->sw, lid), then;

			t = next_switch(n, out);
			if (!t)
				continue;
			then = sm_switch_lft(t->sw, lid);
			if (next_switch(t, then))
				d->after[(s * 256 + out) * 256ul + then] = 1;
		}
	}
}

/*
 * Search depth first from @channel. Return true if the search comes back to a channel of the path
 * that it is following. Then the channels from there to the end of this path wait for each other in
 * a circle, which is a credit loop.
 */
static bool circle_from(struct deps *d, uint32_t channel)
{
	const struct sm_node *t = next_switch(d->db->sw[channel / 256], channel % 256);

	d->colour[channel] = 1;
	for (unsigned int p = 0; t && p < 256; p++) {
		uint32_t next = t->sw->index * 256 + p;

		if (!d->after[channel * 256ul + p] || d->colour[next] == 2)
			continue;
		if (d->colour[next] == 1 || circle_from(d, next))
			return true;
	}
	d->colour[channel] = 2;
	return false;
}

static inline bool has_circle(const struct sm_db *db)
{
	uint32_t n = db->nswitches * 256;
	struct deps d = { .db = db, .after = calloc(n, 256), .colour = calloc(n, 1) };
	bool found = false;

	assert_non_null(d.after);
	assert_non_null(d.colour);
	deps_fill(&d);
	for (uint32_t c = 0; c < n && !found; c++)
		found = d.colour[c] == 0 && circle_from(&d, c);
	free(d.after);
	free(d.colour);
	return found;
}

#endif

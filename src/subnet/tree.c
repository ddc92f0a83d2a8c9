/* SPDX-License-Identifier: BSD-2-Clause */
#include "subnet/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * DOC: Multicast trees
 *
 * The root of a group's tree is the switch with the least sum of hops to the members' switches. Of
 * several such switches it is the one with the lowest GUID. The tree consists of the paths from
 * each member's switch to the root. A path always takes the lowest port that leads one hop nearer,
 * so all paths through a switch continue in the same way. A link of the tree carries packets
 * downwards if receivers are below it, and upwards if receivers are elsewhere. So send-only members
 * can send, and nothing is sent to them. While a group has two or more members, its root changes
 * only after a heavy or partial sweep, so that a join changes only the branch to the new member.
 *
 * A switch whose MulticastFDBCap is too small for the MLID of the group cannot be in the tree.
 * Paths lead around such switches. A member does not get packets if it is attached to such a
 * switch, or if every path to it goes through such switches. If these switches divide the other
 * switches into parts, the tree is in the part with most members.
 */

#define NOWHERE UINT32_MAX /* index for "no switch", and number for "no part" */

static void mask_set(uint64_t mask[4], unsigned int port)
{
	mask[port / 64] |= 1ull << port % 64;
}

static bool is_receiver(const struct sm_mcmember *m)
{
	return m->join_state & (MCM_JOIN_FULL | MCM_JOIN_NON);
}

static bool holds(const struct sm_db *db, uint32_t s, uint16_t mlid)
{
	return db->sw[s]->sw->si.mft_cap > mlid - IB_LID_MCAST_MIN;
}

static bool all_hold(const struct sm_db *db, uint16_t mlid)
{
	for (uint32_t s = 0; s < db->nswitches; s++) {
		if (!holds(db, s, mlid))
			return false;
	}
	return true;
}

/* Return the index of the switch that sm_port_attachment() finds, or NOWHERE if there is none. */
static uint32_t attached_at(const struct sm_port *p, uint8_t *ret_port)
{
	const struct sm_node *n = sm_port_attachment(p, ret_port);

	return n ? n->sw->index : NOWHERE;
}

/*
 * Return the index of the switch to which a member is attached, or NOWHERE. The result is stored in
 * @m, and is valid until db->sweep changes.
 */
static uint32_t member_switch(const struct sm_db *db, struct sm_mcmember *m)
{
	if (m->at_sweep != db->sweep) {
		m->at_sweep = db->sweep;
		m->at_switch = attached_at(sm_db_port_by_guid(db, m->port_guid), &m->at_port);
	}
	return m->at_switch;
}

/*
 * Number the parts of the fabric. Switches with room for @mlid get the same number in @part if a
 * path over such switches connects them. Switches without room get NOWHERE. @queue has room for the
 * index of each switch. Return: number of parts
 */
static uint32_t parts_find(const struct sm_db *db, uint16_t mlid, uint32_t *part, uint32_t *queue)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < db->nswitches; s++)
		part[s] = NOWHERE;
	for (uint32_t from = 0; from < db->nswitches; from++) {
		uint32_t head = 0, tail = 0;

		if (part[from] != NOWHERE || !holds(db, from, mlid))
			continue;
		part[from] = n++;
		queue[tail++] = from;
		while (head < tail) {
			const struct sm_node *at = db->sw[queue[head++]];

			for (unsigned int i = 1; i <= at->info.nports; i++) {
				const struct sm_node *next = sm_port_switch_behind(&at->port[i]);
				uint32_t to;

				if (!next)
					continue;
				to = next->sw->index;
				if (part[to] != NOWHERE || !holds(db, to, mlid))
					continue;
				part[to] = part[from];
				queue[tail++] = to;
			}
		}
	}
	return n;
}

/* Set @part to 0 for switches of the part with most members, and to NOWHERE for all others. */
static void parts_keep_biggest(const struct sm_db *db, const uint32_t *members, uint32_t *part,
			       uint32_t *count, uint32_t n)
{
	uint32_t best = 0;

	memset(count, 0, n * sizeof(*count));
	for (uint32_t s = 0; s < db->nswitches; s++) {
		if (part[s] != NOWHERE)
			count[part[s]] += members[s];
	}
	for (uint32_t i = 1; i < n; i++) {
		if (count[i] > count[best])
			best = i;
	}
	for (uint32_t s = 0; s < db->nswitches; s++)
		part[s] = part[s] == best ? 0 : NOWHERE;
}

static void members_count(const struct sm_db *db, const struct sm_group *g, uint32_t *members)
{
	struct sm_mcmember *m;

	list_for_each (m, &g->members, link) {
		uint32_t at = member_switch(db, m);

		if (at != NOWHERE)
			members[at]++;
	}
}

/*
 * Return the switch with the least sum of hops to all members. If several switches have this sum,
 * return the one with the lowest GUID.
 * @members:	number of members at each switch
 * @part:	NOWHERE for each switch that is not to be considered; NULL: consider all switches
 * @with:	memory for a list of the switches with members
 */
static uint32_t root_central(const struct sm_db *db, const uint32_t *members, const uint32_t *part,
			     uint32_t *with)
{
	uint64_t best_sum = UINT64_MAX;
	uint32_t best = 0, nwith = 0;

	for (uint32_t s = 0; s < db->nswitches; s++) {
		if (members[s])
			with[nwith++] = s;
	}

	for (uint32_t s = 0; s < db->nswitches; s++) {
		const uint8_t *hops = db->hops + (size_t)s * db->nswitches;
		uint64_t sum = 0;

		if (part && part[s] == NOWHERE)
			continue;
		for (uint32_t i = 0; i < nwith; i++)
			sum += (uint64_t)members[with[i]] * hops[with[i]];
		if (sum < best_sum ||
		    (sum == best_sum && db->sw[s]->info.node_guid < db->sw[best]->info.node_guid)) {
			best_sum = sum;
			best = s;
		}
	}
	return best;
}

/*
 * Choose the root of the tree. Members are counted by switch first, because thousands of them are
 * attached to some hundred switches. @all: every switch has room for the group. Return: index of
 * the switch; 0 if memory ran out
 */
static uint32_t root_choose(const struct sm_db *db, const struct sm_group *g, bool all)
{
	size_t n = db->nswitches + 1u;
	uint32_t *v = calloc(3 * n, sizeof(*v)), root;

	if (!v)
		return 0;
	members_count(db, g, v);
	if (!all) {
		uint32_t nparts = parts_find(db, g->rec.mlid, v + n, v + 2 * n);

		parts_keep_biggest(db, v, v + n, v + 2 * n, nparts);
	}
	root = root_central(db, v, all ? NULL : v + n, v + 2 * n);
	free(v);
	return root;
}

/*
 * Write to @row the hops from @root to each switch, through switches with room for @mlid only.
 * Return: 0 or -ENOMEM
 */
static int row_around(const struct sm_db *db, uint32_t root, uint16_t mlid, uint8_t *row)
{
	uint32_t *queue = calloc(db->nswitches + 1u, sizeof(*queue)), head = 0, tail = 0;

	if (!queue)
		return -ENOMEM;
	memset(row, SM_HOPS_NONE, db->nswitches);
	if (holds(db, root, mlid)) {
		row[root] = 0;
		queue[tail++] = root;
	}
	while (head < tail) {
		uint32_t s = queue[head++];
		const struct sm_node *n = db->sw[s];

		for (unsigned int i = 1; i <= n->info.nports && row[s] < IB_MAX_HOPS; i++) {
			const struct sm_node *next = sm_port_switch_behind(&n->port[i]);
			uint32_t to;

			if (!next)
				continue;
			to = next->sw->index;
			if (row[to] != SM_HOPS_NONE || !holds(db, to, mlid))
				continue;
			row[to] = row[s] + 1;
			queue[tail++] = to;
		}
	}
	free(queue);
	return 0;
}

/* Return the lowest port of @n that leads one hop nearer to the root; 0 at the root, or if there is no such port. */
static uint8_t uplink(const struct sm_tree *t, const struct sm_node *n)
{
	uint8_t here = t->to_root[n->sw->index];

	if (here == 0 || here == SM_HOPS_NONE)
		return 0;
	for (unsigned int i = 1; i <= n->info.nports; i++) {
		const struct sm_node *next = sm_port_switch_behind(&n->port[i]);

		if (next && t->to_root[next->sw->index] + 1 == here)
			return (uint8_t)i;
	}
	return 0;
}

/*
 * Add a member and its path to the root. If the member is a receiver, count it on every switch of
 * the path. Also add the switch port to which the receiver is attached to the switch's port mask.
 */
static void tree_add(struct sm_tree *t, struct sm_mcmember *m)
{
	uint32_t at = member_switch(t->db, m);
	bool recv = is_receiver(m);

	if (at == NOWHERE)
		return;
	if (t->to_root[at] == SM_HOPS_NONE) {
		t->unreached++;
		return;
	}
	if (recv) {
		mask_set(t->br[at].mask, m->at_port);
		t->receivers++;
	}
	for (;;) {
		const struct sm_node *n = t->db->sw[at];
		struct sm_branch *b = &t->br[at];

		if (!b->in_tree) {
			b->up = uplink(t, n);
			b->next = b->up ? n->port[b->up].peer->node->sw->index : at;
		}
		b->in_tree = true;
		b->recv += recv;
		if (!b->up)
			return;
		at = b->next;
	}
}

static void tree_open_edges(struct sm_tree *t)
{
	for (uint32_t s = 0; s < t->db->nswitches; s++) {
		const struct sm_node *n = t->db->sw[s];
		struct sm_branch *b = &t->br[s];
		const struct sm_port *peer;

		if (!b->up)
			continue;
		peer = n->port[b->up].peer;
		if (b->recv < t->receivers)
			mask_set(b->mask, b->up);
		if (b->recv)
			mask_set(t->br[peer->node->sw->index].mask, peer->num);
	}
}

static int hops_to_root(struct sm_tree *t, uint16_t mlid, bool all)
{
	if (all) {
		t->to_root = t->db->hops + (size_t)t->root * t->db->nswitches;
		return 0;
	}
	t->own_row = malloc(t->db->nswitches);
	t->to_root = t->own_row;
	return t->own_row ? row_around(t->db, t->root, mlid, t->own_row) : -ENOMEM;
}

int sm_tree_build(struct sm_tree *ret, const struct sm_db *db, struct sm_group *g)
{
	bool all = all_hold(db, g->rec.mlid);
	struct sm_tree t = { .db = db };
	struct sm_mcmember *m;

	if (g->root_sweep != db->sweep || g->nmembers == 1) {
		g->root = root_choose(db, g, all);
		g->root_sweep = db->sweep;
	}
	t.root = g->root;
	t.br = calloc(db->nswitches + 1u, sizeof(*t.br));
	if (!t.br || hops_to_root(&t, g->rec.mlid, all)) {
		sm_tree_free(&t);
		return -ENOMEM;
	}
	list_for_each (m, &g->members, link)
		tree_add(&t, m);
	tree_open_edges(&t);
	*ret = t;
	return 0;
}

void sm_tree_free(struct sm_tree *t)
{
	free(t->br);
	free(t->own_row);
}

bool sm_tree_reaches(const struct sm_db *db, const struct sm_group *g, uint64_t port_guid)
{
	uint8_t port, *row;
	uint32_t at;
	bool ret;

	if (!db || !db->nswitches || all_hold(db, g->rec.mlid))
		return true;
	at = attached_at(sm_db_port_by_guid(db, port_guid), &port);
	if (at == NOWHERE)
		return true;
	if (!holds(db, at, g->rec.mlid))
		return false;
	/*
	 * The root will be chosen again, because a first member joins or the topology has changed, so the present
	 * root does not matter.
	 */
	if (!g->nmembers || g->root_sweep != db->sweep)
		return true;
	row = malloc(db->nswitches);
	ret = row && !row_around(db, g->root, g->rec.mlid, row) && row[at] != SM_HOPS_NONE;
	free(row);
	return ret;
}

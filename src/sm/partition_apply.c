/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/priv.h"

#include <errno.h>
#include <stdlib.h>

#include "wire/mgid.h"

static bool is_self(const struct sm *sm, const struct sm_port *p)
{
	return p->guid == sm->guid;
}

static size_t add_pkeys(const struct sm *sm, const struct sm_partition *part,
			const struct sm_port *p, uint16_t v[2])
{
	switch (sm_partition_membership(part, p, is_self(sm, p))) {
	case SM_MEMBER_FULL:
		v[0] = part->pkey | IB_PKEY_FULL;
		return 1;
	case SM_MEMBER_LIMITED:
		v[0] = part->pkey;
		return 1;
	case SM_MEMBER_BOTH:
		v[0] = part->pkey | IB_PKEY_FULL;
		v[1] = part->pkey;
		return 2;
	default:
		return 0;
	}
}

size_t sm_partition_pkeys(const struct sm *sm, const struct sm_port *p, uint16_t *ret, size_t max,
			  uint16_t *ret_index0)
{
	uint16_t deflt = 0, first = 0;
	size_t n = 0;

	for (size_t i = 0; i < sm->parts->n; i++) {
		const struct sm_partition *part = &sm->parts->part[i];
		uint16_t v[2];
		size_t k = add_pkeys(sm, part, p, v);

		if (k && part->pkey == 0x7fff)
			deflt = v[0];
		if (k && part->indx0 && !first)
			first = v[0];
		for (size_t j = 0; j < k; j++) {
			if (n < max)
				ret[n] = v[j];
			n++;
		}
	}
	*ret_index0 = first ? first : deflt;
	return n;
}

/*
 * Tell whether multicast packets of the partition may cross the link of @p: they may if the link
 * connects two switches, or if @p is the port of a CA that is a member.
 */
static bool in_reach(const struct sm *sm, const struct sm_partition *part, const struct sm_port *p)
{
	if (!p->known || !p->peer)
		return false;
	if (p->node->sw)
		return p->peer->node->sw;
	return sm_partition_membership(part, p, is_self(sm, p)) != SM_MEMBER_NONE;
}

/*
 * Find the lowest MTU of the physical links that the group may use, because the MTU of the group must not
 * exceed the MTU of any of these links (RFC 4391 §5).
 */
static uint8_t lowest_mtu(const struct sm *sm, const struct sm_db *db,
			  const struct sm_partition *part, const struct sm_port **ret_where)
{
	uint8_t lowest = IB_MTU_4096;

	*ret_where = NULL;
	for (uint32_t i = 0; i < db->nnodes; i++) {
		const struct sm_node *n = db->node[i];

		for (unsigned int num = 1; num <= n->info.nports; num++) {
			const struct sm_port *p = &n->port[num];

			if (p->mtu_code < lowest && in_reach(sm, part, p)) {
				lowest = p->mtu_code;
				*ret_where = p;
			}
		}
	}
	return lowest;
}

/*
 * Return the parameters that the group can have in the present subnet. @ret_where is the port that
 * limits the MTU, or NULL.
 */
static struct ib_mcmember_rec group_rec(const struct sm *sm, const struct sm_partition *part,
					const struct sm_partition_group *pg,
					const struct sm_port **ret_where)
{
	uint8_t mtu = lowest_mtu(sm, sm->routed, part, ret_where);

	if (mtu >= pg->mtu_code)
		*ret_where = NULL;
	return (struct ib_mcmember_rec){
		.mgid = pg->mgid,
		.qkey = pg->qkey,
		.mtu_code = *ret_where ? mtu : pg->mtu_code,
		.tclass = pg->tclass,
		.pkey = part->pkey | IB_PKEY_FULL,
		.rate_code = pg->rate_code,
		.life = sm->cfg.life,
		.sl = pg->sl,
		.flow_label = pg->flow_label,
		.scope = pg->scope,
	};
}

/*
 * End a group. Its members have to join again. They get ClientReregister, because members that have
 * not subscribed to trap 67 would not notice the end of the group otherwise.
 */
static void group_end(struct sm *sm, struct sm_group *g, ns_t now)
{
	const struct sm_mcmember *m;

	list_for_each (m, &g->members, link)
		sm_rereg_owe(sm, m->port_guid);
	sm_group_delete(sm, g, now);
}

/*
 * End a group. If it is the broadcast group of an IPoIB link, end all groups of this link, because these groups have
 * its parameters (RFC 4391 §10).
 */
static void link_end(struct sm *sm, struct sm_group *of, ns_t now)
{
	const uint16_t pkey = of->rec.pkey;
	struct sm_group *g, *tmp;

	if (!of->broadcast) {
		group_end(sm, of, now);
		return;
	}

	list_for_each_safe (g, tmp, &sm->group_list, link) {
		if (g->rec.pkey == pkey && mgid_is_ipoib(&g->rec.mgid))
			group_end(sm, g, now);
	}
}

/*
 * Tell whether the group @bc has members. If @bc is a broadcast group, tell whether any group of
 * its IPoIB link has members: all groups of a link have the parameters of its broadcast group, so
 * the MTU is lowered for all of them or for none.
 */
static bool link_has_members(const struct sm *sm, const struct sm_group *bc)
{
	const struct sm_group *g;

	if (!bc->broadcast)
		return bc->nmembers;
	for (g = sm_group_next(sm, NULL); g; g = sm_group_next(sm, g)) {
		if (g->nmembers && g->rec.pkey == bc->rec.pkey && mgid_is_ipoib(&g->rec.mgid))
			return true;
	}
	return false;
}

/*
 * If a link has a lower MTU than the group, the port at this link cannot join. A group without members
 * is then deleted, so that it can be created again with the MTU of the link. A group with members is
 * not changed, because the administrator has to decide whether its members lose their memberships.
 * Return: true if the group was deleted
 */
static bool too_big(struct sm *sm, struct sm_group *g, const struct sm_partition *part,
		    const struct sm_partition_group *pg, ns_t now)
{
	const struct sm_port *where;
	struct ib_mcmember_rec rec = group_rec(sm, part, pg, &where);

	if (!where || rec.mtu_code >= g->rec.mtu_code) {
		g->mtu_said = 0;
		return false;
	}
	if (!link_has_members(sm, g)) {
		link_end(sm, g, now);
		return true;
	}
	if (g->mtu_said != rec.mtu_code)
		sm_warn(sm,
			"partition \"%s\": \"%s\" port %u carries MTU %u, less than the group's "
			"%u, and cannot "
			"join; \"uipoib fabric partitions FILE\" or \"uipoib fabric sm restart\" "
			"makes the group "
			"anew with MTU %u for all",
			part->name, where->node->desc, where->num, ib_mtu_octets(rec.mtu_code),
			ib_mtu_octets(g->rec.mtu_code), ib_mtu_octets(rec.mtu_code));
	g->mtu_said = rec.mtu_code;
	return false;
}

static void group_make(struct sm *sm, const struct sm_partition *part,
		       const struct sm_partition_group *pg, ns_t now)
{
	struct sm_group *g = sm_group_find(sm, &pg->mgid);
	const struct sm_port *where;
	struct ib_mcmember_rec rec;
	int err;

	if (g) {
		g->admin = true;
		g->broadcast = pg->broadcast;
		if (!too_big(sm, g, part, pg, now))
			return;
	}
	rec = group_rec(sm, part, pg, &where);
	if (where)
		sm_warn(sm,
			"partition \"%s\": group MTU %u instead of %u, for the link of \"%s\" port "
			"%u carries no more",
			part->name, ib_mtu_octets(rec.mtu_code), ib_mtu_octets(pg->mtu_code),
			where->node->desc, where->num);
	err = sm_group_create(sm, &rec, true, &g, now);
	if (err)
		sm_err(sm, "partition \"%s\": no multicast group: %s", part->name,
		       err == -ENOSPC ? "the MLIDs are used up" : "out of memory");
	else
		g->broadcast = pg->broadcast;
}

void sm_partition_groups(struct sm *sm, ns_t now)
{
	for (size_t i = 0; i < sm->parts->n; i++) {
		const struct sm_partition *part = &sm->parts->part[i];

		for (size_t j = 0; j < part->ngroups; j++)
			group_make(sm, part, &part->group[j], now);
	}
}

static const struct sm_partition_group *listed(const struct sm_partition *part, const ib_gid *mgid)
{
	for (size_t i = 0; part && i < part->ngroups; i++) {
		if (ib_gid_equal(&part->group[i].mgid, mgid))
			return &part->group[i];
	}
	return NULL;
}

/*
 * A membership ends when the P_Key disappears from the port's table, not when the port's line disappears from
 * partitions.conf. The host at the port notices the change of its table, and joins again when the P_Key is
 * back. If the line returns before the tables were written, nothing changes for the member.
 */
void sm_partition_revise(struct sm *sm, const struct sm_db *db, ns_t now)
{
	struct sm_group *g, *tmp;

	list_for_each_safe (g, tmp, &sm->group_list, link) {
		const ib_gid mgid = g->rec.mgid;
		struct sm_mcmember *m;

		while (sm_group_find(sm, &mgid) == g && (m = sm_group_outsider(db, g)))
			sm_group_leave(sm, g, m->port_guid, m->join_state, now);
	}
}

/* Turn a group that partitions.conf no longer names into an ordinary group, which ends with its last member. */
static void group_unlist(struct sm *sm, struct sm_group *g, ns_t now)
{
	g->admin = g->broadcast = false;
	if (!sm_group_needed(g))
		sm_group_delete(sm, g, now);
}

static bool rec_differs(const struct ib_mcmember_rec *a, const struct ib_mcmember_rec *b)
{
	return a->qkey != b->qkey || a->mtu_code != b->mtu_code || a->rate_code != b->rate_code ||
	       a->sl != b->sl || a->tclass != b->tclass || a->flow_label != b->flow_label;
}

/* If partitions.conf gives other parameters to a group than before, end the group. Return: true if it ended */
static bool group_revise(struct sm *sm, struct sm_group *g, const struct sm_partition *part,
			 const struct sm_partition_group *pg, ns_t now)
{
	const struct sm_port *where;
	struct ib_mcmember_rec rec;

	if (!g->admin || !sm->routed)
		return false;
	rec = group_rec(sm, part, pg, &where);
	if (!rec_differs(&rec, &g->rec))
		return false;
	sm_info(sm, "partition \"%s\": the parameters of a group changed", part->name);
	g->broadcast = pg->broadcast;
	link_end(sm, g, now);
	return true;
}

static void groups_revise(struct sm *sm, const struct sm_partition *part, ns_t now)
{
	bool changed = false;

	for (size_t i = 0; i < part->ngroups; i++) {
		struct sm_group *g = sm_group_find(sm, &part->group[i].mgid);

		changed |= g && group_revise(sm, g, part, &part->group[i], now);
	}
	for (size_t i = 0; changed && i < part->ngroups; i++)
		group_make(sm, part, &part->group[i], now);
}

void sm_set_partitions(struct sm *sm, struct sm_partitions *ps, ns_t now)
{
	struct sm_group *g, *tmp;

	sm_partitions_free(sm->parts);
	sm->parts = ps;
	sm->parts_new = true;
	list_for_each_safe (g, tmp, &sm->group_list, link) {
		if (g->admin && !listed(sm_partitions_find(ps, g->rec.pkey), &g->rec.mgid))
			group_unlist(sm, g, now);
	}
	for (size_t i = 0; i < ps->n; i++)
		groups_revise(sm, &ps->part[i], now);
	sm_kick(sm, "the partitions changed", now);
}

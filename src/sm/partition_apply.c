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

/* R17: nobody on the link may have an MTU below the group's. */
static uint8_t lowest_mtu(const struct sm_db *db, const struct sm_port **ret_where)
{
	uint8_t lowest = IB_MTU_4096;

	*ret_where = NULL;
	for (uint32_t i = 0; i < db->nnodes; i++) {
		const struct sm_node *n = db->node[i];

		for (unsigned int num = 1; num <= n->info.nports; num++) {
			const struct sm_port *p = &n->port[num];

			if (p->known && p->peer && p->mtu_code < lowest) {
				lowest = p->mtu_code;
				*ret_where = p;
			}
		}
	}
	return lowest;
}

/* What the group is to be in the subnet as it is. */
static struct ib_mcmember_rec group_rec(const struct sm *sm, const struct sm_partition *part,
					const struct sm_partition_group *pg,
					const struct sm_port **ret_where)
{
	uint8_t mtu = lowest_mtu(sm->routed, ret_where);

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

/* Tables of a port that did not answer are not known: the next sweep will tell. */
static bool has_pkey(const struct sm_db *db, const struct sm_mcmember *m, uint16_t pkey)
{
	const struct sm_port *p = sm_db_port_by_guid(db, m->port_guid);

	return !p || p->node->lost || sm_port_pkey(p, pkey);
}

/* A member that cannot be one any more; NULL */
static struct sm_mcmember *outsider(const struct sm_db *db, const struct sm_group *g)
{
	struct sm_mcmember *m;

	list_for_each (m, &g->members, link) {
		if (!has_pkey(db, m, g->rec.pkey))
			return m;
	}
	return NULL;
}

/*
 * A membership ends with the P_Key in the port's table and not with the line in the file: its
 * owner sees that, too, and joins again when the P_Key is back. A line that comes back before the
 * tables were written has never been away.
 */
void sm_partition_revise(struct sm *sm, const struct sm_db *db, ns_t now)
{
	struct sm_group *g, *tmp;

	list_for_each_safe (g, tmp, &sm->group_list, link) {
		const ib_gid mgid = g->rec.mgid;
		struct sm_mcmember *m;

		while (sm_group_find(sm, &mgid) == g && (m = outsider(db, g)))
			sm_group_leave(sm, g, m->port_guid, m->join_state, now);
	}
}

/* The file does not name the group any more. */
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

/* The members have to join again; those that do not listen to trap 67 learn it by ClientReregister. */
static void group_end(struct sm *sm, struct sm_group *g, ns_t now)
{
	const struct sm_mcmember *m;

	list_for_each (m, &g->members, link)
		sm_rereg_owe(sm, m->port_guid);
	sm_group_delete(sm, g, now);
}

/* All groups of a link have the parameters of its broadcast group (R68): they end with it. */
static void link_end(struct sm *sm, uint16_t pkey, ns_t now)
{
	struct sm_group *g, *tmp;

	list_for_each_safe (g, tmp, &sm->group_list, link) {
		if (g->rec.pkey == pkey && mgid_is_ipoib(&g->rec.mgid))
			group_end(sm, g, now);
	}
}

/* Returns true if @g, which the file names, was not as it says. */
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
	if (pg->broadcast)
		link_end(sm, g->rec.pkey, now);
	else
		group_end(sm, g, now);
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

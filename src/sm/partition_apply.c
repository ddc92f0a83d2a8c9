/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/priv.h"

#include <errno.h>
#include <stdlib.h>

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

static void group_make(struct sm *sm, const struct sm_partition *part,
		       const struct sm_partition_group *pg, ns_t now)
{
	struct ib_mcmember_rec rec = {
		.mgid = pg->mgid,
		.qkey = pg->qkey,
		.mtu_code = pg->mtu_code,
		.tclass = pg->tclass,
		.pkey = part->pkey | IB_PKEY_FULL,
		.rate_code = pg->rate_code,
		.life = sm->cfg.life,
		.sl = pg->sl,
		.flow_label = pg->flow_label,
		.scope = pg->scope,
	};
	const struct sm_port *where;
	uint8_t mtu = lowest_mtu(sm->routed, &where);
	struct sm_group *g = sm_group_find(sm, &pg->mgid);
	int err;

	if (g) {
		g->admin = true;
		g->broadcast = pg->broadcast;
		return;
	}
	if (mtu < rec.mtu_code && where) {
		sm_warn(sm,
			"partition \"%s\": group MTU %u instead of %u, for the link of \"%s\" port "
			"%u carries no more",
			part->name, ib_mtu_octets(mtu), ib_mtu_octets(rec.mtu_code),
			where->node->desc, where->num);
		rec.mtu_code = mtu;
	}
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

/* A member that may not be one any more; NULL */
static struct sm_mcmember *outsider(struct sm *sm, const struct sm_group *g,
				    const struct sm_partition *part)
{
	struct sm_mcmember *m;

	list_for_each (m, &g->members, link) {
		const struct sm_port *p = sm_db_port_by_guid(sm->db, m->port_guid);

		if (!p || sm_partition_membership(part, p, is_self(sm, p)) == SM_MEMBER_NONE)
			return m;
	}
	return NULL;
}

/* I26: what is left of @g under the new table. */
static void group_revise(struct sm *sm, struct sm_group *g, ns_t now)
{
	const struct sm_partition *part = sm_partitions_find(sm->parts, g->rec.pkey);
	const ib_gid mgid = g->rec.mgid;

	if (!part) {
		sm_group_delete(sm, g, now);
		return;
	}
	if (g->admin && !listed(part, &g->rec.mgid)) {
		g->admin = g->broadcast = false;
		if (!g->nmembers) {
			sm_group_delete(sm, g, now);
			return;
		}
	}
	while (sm->db && sm_group_find(sm, &mgid) == g) {
		struct sm_mcmember *m = outsider(sm, g, part);

		if (!m)
			return;
		sm_group_leave(sm, g, m->port_guid, m->join_state, now);
	}
}

void sm_set_partitions(struct sm *sm, struct sm_partitions *ps, ns_t now)
{
	struct sm_group *g, *tmp;

	sm_partitions_free(sm->parts);
	sm->parts = ps;
	list_for_each_safe (g, tmp, &sm->group_list, link)
		group_revise(sm, g, now);
	sm_kick(sm, "the partitions changed", now);
}

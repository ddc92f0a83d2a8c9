/* SPDX-License-Identifier: BSD-2-Clause */
#include "sa/priv.h"

/*
 * MCMemberRecord (IBTA 15.2.5.17): Get and GetTable. A trusted request sees every member. Other
 * requests see one record for each group, with PortGID, JoinState and ProxyJoin zero, and cannot
 * select by these fields.
 */

static bool plain_match(const struct ib_mcmember_rec *have, const struct ib_mcmember_rec *want,
			uint64_t mask)
{
	/* Bit 15 of P_Keys is not compared, because it only marks full members. */
	return (!(mask & MCM_COMP_MGID) || ib_gid_equal(&have->mgid, &want->mgid)) &&
	       (!(mask & MCM_COMP_QKEY) || have->qkey == want->qkey) &&
	       (!(mask & MCM_COMP_MLID) || have->mlid == want->mlid) &&
	       (!(mask & MCM_COMP_TCLASS) || have->tclass == want->tclass) &&
	       (!(mask & MCM_COMP_PKEY) || ((have->pkey ^ want->pkey) & 0x7fff) == 0) &&
	       (!(mask & MCM_COMP_SL) || have->sl == want->sl) &&
	       (!(mask & MCM_COMP_FLOW_LABEL) || have->flow_label == want->flow_label) &&
	       (!(mask & MCM_COMP_HOP_LIMIT) || have->hop_limit == want->hop_limit) &&
	       (!(mask & MCM_COMP_SCOPE) || have->scope == want->scope);
}

bool sa_mcm_match(const struct ib_mcmember_rec *have, const struct ib_mcmember_rec *want,
		  uint64_t mask)
{
	return plain_match(have, want, mask) &&
	       sa_sel_allows(sa_sel(mask, MCM_COMP_MTU_SEL, MCM_COMP_MTU, want->mtu_sel),
			     ib_mtu_octets(have->mtu_code), ib_mtu_octets(want->mtu_code)) &&
	       sa_sel_allows(sa_sel(mask, MCM_COMP_RATE_SEL, MCM_COMP_RATE, want->rate_sel),
			     ib_rate_mbps(have->rate_code), ib_rate_mbps(want->rate_code)) &&
	       sa_sel_allows(sa_sel(mask, MCM_COMP_LIFE_SEL, MCM_COMP_LIFE, want->life_sel),
			     have->life, want->life);
}

struct ib_mcmember_rec sa_mcm_show(const struct sm_group *g)
{
	struct ib_mcmember_rec rec = g->rec;

	rec.mtu_sel = rec.rate_sel = rec.life_sel = SA_SEL_EXACT;
	return rec;
}

bool sa_mcm_supports(const struct sm_port *p, const struct ib_mcmember_rec *rec)
{
	if (rec->mtu_code > p->mtu_code)
		return false;
	/* Port 0 of a switch has no link, so it supports every rate. */
	return !p->peer || ib_rate_mbps(rec->rate_code) <= ib_rate_mbps(p->rate_code);
}

static bool member_match(const struct sa_req *r, const struct sm_mcmember *m,
			 const struct ib_mcmember_rec *want)
{
	uint64_t mask = r->m.sa.comp_mask;

	if ((mask & MCM_COMP_PORT_GID) && (sm_db_port_by_gid(r->db, &want->port_gid) == NULL ||
					   m->port_guid != ib_gid_guid(&want->port_gid)))
		return false;
	/* A member matches if it has all JoinState bits of the request. */
	if ((mask & MCM_COMP_JOIN_STATE) && (m->join_state & want->join_state) != want->join_state)
		return false;
	return !(mask & MCM_COMP_PROXY_JOIN) || m->proxy == want->proxy_join;
}

static bool members_add(const struct sa_req *r, struct sa_table *t, const struct sm_group *g,
			const struct ib_mcmember_rec *want)
{
	const struct sm_mcmember *m;

	list_for_each (m, &g->members, link) {
		struct ib_mcmember_rec rec = sa_mcm_show(g);
		uint8_t *slot;

		if (!member_match(r, m, want))
			continue;
		rec.port_gid = m->port_gid;
		rec.join_state = m->join_state;
		rec.proxy_join = m->proxy;
		slot = sa_table_add(t);
		if (!slot)
			return false;
		ib_mcmember_rec_encode(slot, &rec);
	}
	return true;
}

static bool group_add(struct sa_table *t, const struct sm_group *g)
{
	struct ib_mcmember_rec rec = sa_mcm_show(g);
	uint8_t *slot = sa_table_add(t);

	if (slot)
		ib_mcmember_rec_encode(slot, &rec);
	return slot;
}

/*
 * Add the records of a group that match the request. Return: false when the table has no room for
 * more records
 */
static bool group_judge(const struct sa_req *r, struct sa_table *t, const struct sm_group *g,
			const struct ib_mcmember_rec *want)
{
	if (!sa_mcm_match(&g->rec, want, r->m.sa.comp_mask) ||
	    (!r->trusted && !sm_port_pkey(r->port, g->rec.pkey)))
		return true;
	return r->trusted ? members_add(r, t, g, want) : group_add(t, g);
}

static uint64_t cost(const struct sa_req *r)
{
	const struct sm_group *g;
	uint64_t n = 0;

	for (g = sm_group_next(r->sa->sm, NULL); g; g = sm_group_next(r->sa->sm, g))
		n += 1 + (r->trusted ? g->nmembers : 0);
	return n;
}

uint16_t sa_mcmember_collect(struct sa_req *r, struct sa_table *t)
{
	struct ib_mcmember_rec want;
	const struct sm_group *g;

	if (ib_mcmember_rec_decode(&want, r->m.data, r->m.data_len))
		return SA_MALFORMED;
	if (r->m.sa.comp_mask & MCM_COMP_MGID) {
		g = sm_group_find(r->sa->sm, &want.mgid);
		if (g)
			group_judge(r, t, g, &want);
		return 0;
	}
	if (!sa_quota_take(r, SA_WORK_SCAN, cost(r)))
		return SA_QUOTA;
	for (g = sm_group_next(r->sa->sm, NULL); g; g = sm_group_next(r->sa->sm, g)) {
		if (!group_judge(r, t, g, &want))
			break;
	}
	return 0;
}

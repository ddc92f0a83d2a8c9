/* SPDX-License-Identifier: BSD-2-Clause */
#include "world/sa_priv.h"

#include "world/part.h"

/* --- MGIDs */

static struct world_map map_of(const struct world *w, uint16_t pkey)
{
	return (struct world_map){ pkey, w->map.scope, w->map.subnet };
}

ib_gid sa_mgid_broadcast_in(const struct world *w, uint16_t pkey)
{
	struct world_map map = map_of(w, pkey);

	return w->wire->mgid_broadcast(&map);
}

ib_gid sa_mgid_ip4_in(const struct world *w, uint16_t pkey, const uint8_t group[4])
{
	struct world_map map = map_of(w, pkey);

	return w->wire->mgid_ip4(&map, group);
}

ib_gid sa_mgid_ip6_in(const struct world *w, uint16_t pkey, const uint8_t group[16])
{
	struct world_map map = map_of(w, pkey);

	return w->wire->mgid_ip6(&map, group);
}

ib_gid sa_mgid_broadcast(const struct world *w)
{
	return sa_mgid_broadcast_in(w, w->map.pkey);
}

ib_gid sa_mgid_ip4(const struct world *w, const uint8_t group[4])
{
	return sa_mgid_ip4_in(w, w->map.pkey, group);
}

ib_gid sa_mgid_ip6(const struct world *w, const uint8_t group[16])
{
	return sa_mgid_ip6_in(w, w->map.pkey, group);
}

/* --- groups */

struct world_group *world_group(struct world *w, const ib_gid *g)
{
	for (unsigned int i = 0; i < WORLD_GROUPS; i++)
		if (w->group[i].rec.mlid && ib_gid_equal(&w->group[i].rec.mgid, g))
			return &w->group[i];
	return NULL;
}

/*
 * Find an entry of the table for a group. A deleted group keeps its entry, and therefore its MLID,
 * until another group needs the entry.
 */
static struct world_group *group_place(struct world *w, const ib_gid *g)
{
	struct world_group *p = world_group(w, g);

	for (unsigned int i = 0; i < WORLD_GROUPS && !p; i++)
		if (!w->group[i].rec.mlid)
			p = &w->group[i];
	for (unsigned int i = 0; i < WORLD_GROUPS && !p; i++)
		if (!w->group[i].exists && !w->group[i].refuse)
			p = &w->group[i];
	if (p) {
		*p = (struct world_group){ .rec.mlid = (uint16_t)(WORLD_MLID + (p - w->group)),
					   .asked = world_group(w, g) ? p->asked : 0 };
		p->rec.mgid = *g;
	}
	return p;
}

struct world_group *world_group_make(struct world *w, const ib_gid *g)
{
	const uint16_t pkey = part_of_mgid(w, g);
	const ib_gid bcast = sa_mgid_broadcast_in(w, pkey);
	const struct world_group *b = world_group(w, &bcast);
	struct world_group *p = group_place(w, g);

	if (!p)
		return NULL;
	p->exists = p->admin = true;
	p->rec.qkey = b && b != p && b->exists ? b->rec.qkey : WORLD_QKEY;
	p->rec.mtu_sel = p->rec.rate_sel = p->rec.life_sel = SA_SEL_EXACT;
	p->rec.mtu_code = pkey == WORLD_PKEY2 ? WORLD_MTU2 : w->mtu_code;
	p->rec.rate_code = WORLD_RATE;
	p->rec.life = 16;
	p->rec.tclass = WORLD_TCLASS;
	p->rec.flow_label = WORLD_FLOW;
	p->rec.sl = WORLD_GROUP_SL;
	p->rec.pkey = pkey;
	p->rec.scope = g->raw[1] & 15;
	return p;
}

bool sa_is_full_member(const struct world *w, const void *group)
{
	return ((const struct world_group *)group)->dut_state & MCM_JOIN_FULL;
}

bool sa_is_full_member_of(const struct world *w, const void *gid)
{
	const struct world_group *g = world_group((struct world *)w, gid);

	return g && g->exists && sa_is_full_member(w, g);
}

/* --- MCMemberRecord */

static void answer_member(struct world *w, const struct seen *s, const struct sa_mad *q,
			  uint16_t status, const struct ib_mcmember_rec *rec)
{
	uint8_t data[MCMEMBER_REC_LEN];

	ib_mcmember_rec_encode(data, rec);
	sa_answer(w, s, q, status, data, sizeof(data));
}

#define JOIN_COMPS (MCM_COMP_MGID | MCM_COMP_PORT_GID | MCM_COMP_JOIN_STATE)
#define CREATE_COMPS \
	(MCM_COMP_QKEY | MCM_COMP_TCLASS | MCM_COMP_PKEY | MCM_COMP_FLOW_LABEL | MCM_COMP_SL)

/*
 * Tell whether a new group would have the P_Key, the Q_Key, the SL and, if the request gives one,
 * the MTU of the broadcast group. An SA that supports IPoIB refuses to create a group for which
 * these differ.
 */
static bool is_alike(struct world *w, const struct sa_mad *q, const struct ib_mcmember_rec *r)
{
	ib_gid bcast = sa_mgid_broadcast_in(w, part_of_mgid(w, &r->mgid));
	const struct world_group *g = world_group(w, &bcast);

	return g && g->exists && r->pkey == g->rec.pkey && r->qkey == g->rec.qkey &&
	       r->sl == g->rec.sl &&
	       (!(q->sa.comp_mask & MCM_COMP_MTU) || r->mtu_code == g->rec.mtu_code);
}

/*
 * Create the group that a Set requests, unless it is the broadcast group or is_alike() refuses it.
 * Return: a MAD status
 */
static uint16_t create(struct world *w, const struct sa_mad *q, const struct ib_mcmember_rec *r,
		       struct world_group **ret)
{
	ib_gid bcast = sa_mgid_broadcast_in(w, part_of_mgid(w, &r->mgid));
	struct world_group *g;

	if (!(r->join_state & (MCM_JOIN_FULL | MCM_JOIN_SEND_ONLY_FULL)))
		return SA_STATUS_REQ_INVALID;
	if ((q->sa.comp_mask & CREATE_COMPS) != CREATE_COMPS)
		return SA_STATUS_INSUF_COMPONENTS;
	if (ib_gid_equal(&r->mgid, &bcast) || !is_alike(w, q, r))
		return SA_STATUS_REQ_INVALID;
	g = group_place(w, &r->mgid);
	if (!g)
		return SA_STATUS_NO_RESOURCES;
	*ret = g;
	g->exists = true;
	g->rec.qkey = r->qkey;
	g->rec.tclass = r->tclass;
	g->rec.pkey = r->pkey;
	g->rec.flow_label = r->flow_label;
	g->rec.sl = r->sl;
	g->rec.hop_limit = r->hop_limit;
	g->rec.mtu_sel = g->rec.rate_sel = g->rec.life_sel = SA_SEL_EXACT;
	g->rec.mtu_code = q->sa.comp_mask & MCM_COMP_MTU ? r->mtu_code : w->mtu_code;
	g->rec.rate_code = q->sa.comp_mask & MCM_COMP_RATE ? r->rate_code : WORLD_RATE;
	g->rec.life = 16;
	g->rec.scope = r->mgid.raw[1] & 15;
	return 0;
}

static void join(struct world *w, const struct seen *s, const struct sa_mad *q,
		 const struct ib_mcmember_rec *r)
{
	struct world_group *g = world_group(w, &r->mgid);
	struct ib_mcmember_rec rec = *r;
	uint16_t status = 0;

	if (g && g->silent)
		return;
	if ((q->sa.comp_mask & JOIN_COMPS) != JOIN_COMPS)
		status = SA_STATUS_INSUF_COMPONENTS;
	else if (!ib_gid_equal(&r->port_gid, &w->dut.gid) || !r->join_state)
		status = SA_STATUS_REQ_INVALID;
	else if (g && g->refuse)
		status = g->refuse;
	else if (!g || !g->exists)
		status = create(w, q, r, &g);
	if (!status) {
		g->dut_state |= r->join_state;
		rec = g->rec;
		rec.port_gid = r->port_gid;
		rec.join_state = g->dut_state;
	}
	if (g)
		g->asked |= r->join_state;
	answer_member(w, s, q, status, &rec);
	if (!status && !g->granted)
		g->granted = w->log.last;
}

static void leave(struct world *w, const struct seen *s, const struct sa_mad *q,
		  const struct ib_mcmember_rec *r)
{
	struct world_group *g = world_group(w, &r->mgid);
	bool member = g && g->exists && (g->dut_state & r->join_state);

	if (member) {
		g->left++;
		g->dut_state &= (uint8_t)~r->join_state;
		g->exists = g->admin || (g->dut_state & (MCM_JOIN_FULL | MCM_JOIN_SEND_ONLY_FULL));
	}
	answer_member(w, s, q, member ? 0 : SA_STATUS_REQ_INVALID, r);
}

static bool is_asked_for(const struct ib_mcmember_rec *rec, const struct sa_mad *q,
			 const struct ib_mcmember_rec *r)
{
	if ((q->sa.comp_mask & MCM_COMP_MGID) && !ib_gid_equal(&rec->mgid, &r->mgid))
		return false;
	return !(q->sa.comp_mask & MCM_COMP_PKEY) || ib_pkey_match(rec->pkey, r->pkey);
}

/* Answer with all groups that match. The SA does not reveal the members of groups (IBTA 15.2.5.17). */
static void list_groups(struct world *w, const struct seen *s, const struct sa_mad *q,
			const struct ib_mcmember_rec *r)
{
	const size_t step = sa_table_step(MCMEMBER_REC_LEN);
	size_t len = 0;

	memset(w->table.data, 0, sizeof(w->table.data));
	for (unsigned int i = 0; i < WORLD_GROUPS; i++) {
		if (!w->group[i].exists || !is_asked_for(&w->group[i].rec, q, r))
			continue;
		ib_mcmember_rec_encode(w->table.data + len, &w->group[i].rec);
		len += step;
	}
	sa_answer_table(w, s, q, len, step);
}

void sa_mcmember(struct world *w, const struct seen *s, const struct sa_mad *q)
{
	const struct world_group *g;
	struct ib_mcmember_rec r;

	if (ib_mcmember_rec_decode(&r, q->data, q->data_len))
		return;
	switch (q->mad.method) {
	case MAD_METHOD_SET:
		join(w, s, q, &r);
		break;
	case MAD_METHOD_DELETE:
		leave(w, s, q, &r);
		break;
	case MAD_METHOD_GET_TABLE:
		list_groups(w, s, q, &r);
		break;
	default:
		g = world_group(w, &r.mgid);
		if (g && g->exists)
			answer_member(w, s, q, 0, &g->rec);
		else
			sa_answer(w, s, q, SA_STATUS_NO_RECORDS, NULL, 0);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "sa/priv.h"

/*
 * LinkRecord (IBTA 15.2.5.13): a record for each direction of each link. A LID in the request may be
 * any LID of the port. LIDs in the records are base LIDs; every port of a switch has the LID of port
 * 0. SMInfoRecord (15.2.5.10): a record for this SM and for each other SM that the last sweep
 * found.
 */

static bool link_matches(const struct sa_req *r, const struct ib_link_rec *want,
			 const struct sm_port *p)
{
	uint64_t mask = r->m.sa.comp_mask;

	return (!(mask & LINK_COMP_FROM_LID) || sm_port_has_lid(sm_port_end(p), want->from_lid)) &&
	       (!(mask & LINK_COMP_FROM_PORT) || p->num == want->from_port) &&
	       (!(mask & LINK_COMP_TO_PORT) || p->peer->num == want->to_port) &&
	       (!(mask & LINK_COMP_TO_LID) || sm_port_has_lid(sm_port_end(p->peer), want->to_lid));
}

static bool link_visible(const struct sa_req *r, const struct sm_port *p)
{
	const struct sm_port *a = sm_port_end(p), *b = sm_port_end(p->peer);

	return sa_visible(r, a) && sa_visible(r, b) &&
	       (r->trusted || a == b || sm_ports_share_pkey(a, b));
}

/*
 * Add the LinkRecords of a node that match the request. Return: false when the table has no room
 * for more records
 */
static bool links_of(const struct sa_req *r, struct sa_table *t, const struct ib_link_rec *want,
		     const struct sm_node *n)
{
	for (unsigned int i = 1; i <= n->info.nports; i++) {
		const struct sm_port *p = &n->port[i];
		struct ib_link_rec rec;
		uint8_t *slot;

		if (!p->known || !sm_port_peer_routed(p) || !p->peer->known ||
		    !link_matches(r, want, p) || !link_visible(r, p))
			continue;
		rec = (struct ib_link_rec){
			.from_lid = sm_port_lid(p),
			.to_lid = sm_port_lid(p->peer),
			.from_port = p->num,
			.to_port = p->peer->num,
		};
		slot = sa_table_add(t);
		if (!slot)
			return false;
		ib_link_rec_encode(slot, &rec);
	}
	return true;
}

uint16_t sa_link_collect(struct sa_req *r, struct sa_table *t)
{
	struct ib_link_rec want;

	if (ib_link_rec_decode(&want, r->m.data, r->m.data_len))
		return SA_MALFORMED;
	if (r->m.sa.comp_mask & LINK_COMP_FROM_LID) {
		const struct sm_port *p = sm_db_port_by_lid(r->db, want.from_lid);

		if (p)
			links_of(r, t, &want, p->node);
		return 0;
	}
	if (!sa_quota_take(r, SA_WORK_SCAN, r->db->nlinks * 2ull))
		return SA_QUOTA;
	for (uint32_t i = 0; i < r->db->nnodes; i++) {
		if (!links_of(r, t, &want, r->db->node[i]))
			break;
	}
	return 0;
}

static bool sm_matches(const struct sa_req *r, const struct ib_sm_info_rec *want,
		       const struct sm_port *p, const struct smp_sm_info *info)
{
	uint64_t mask = r->m.sa.comp_mask;

	return (!(mask & SM_INFO_COMP_LID) || sm_port_has_lid(p, want->lid)) &&
	       (!(mask & SM_INFO_COMP_GUID) || info->guid == want->info.guid) &&
	       (!(mask & SM_INFO_COMP_ACT_COUNT) || info->act_count == want->info.act_count) &&
	       (!(mask & SM_INFO_COMP_PRIORITY) || info->priority == want->info.priority) &&
	       (!(mask & SM_INFO_COMP_STATE) || info->state == want->info.state);
}

static void sm_add(const struct sa_req *r, struct sa_table *t, const struct ib_sm_info_rec *want,
		   const struct smp_sm_info *info)
{
	const struct sm_port *p = sm_db_port_by_guid(r->db, info->guid);
	struct ib_sm_info_rec rec = { .info = *info };
	uint8_t *slot;

	if (!p || !sa_visible(r, p) || !sm_matches(r, want, p, info))
		return;
	rec.lid = p->lid;
	rec.info.sm_key = 0;
	slot = sa_table_add(t);
	if (slot)
		ib_sm_info_rec_encode(slot, &rec);
}

uint16_t sa_sm_info_collect(struct sa_req *r, struct sa_table *t)
{
	struct ib_sm_info_rec want;
	struct sm_status st;

	if (ib_sm_info_rec_decode(&want, r->m.data, r->m.data_len))
		return SA_MALFORMED;
	sm_status(r->sa->sm, &st);
	sm_add(r, t, &want, &st.self);
	for (uint32_t i = 0; i < st.nothers; i++)
		sm_add(r, t, &want, &st.others[i].info);
	return 0;
}

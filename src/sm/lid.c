/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/priv.h"

#include <errno.h>

/* This file connects the SM with its book of LIDs (subnet/lid_book.h). */

void sm_rereg_owe(struct sm *sm, uint64_t port_guid)
{
	struct sm_lid_slot *s = sm_lid_slot(&sm->lids, port_guid);

	if (s)
		s->owed = true;
}

bool sm_mkey_said(struct sm *sm, uint64_t port_guid, bool said)
{
	struct sm_lid_slot *s = sm_lid_slot(&sm->lids, port_guid);
	bool before;

	/* a port to which this SM has not assigned a LID has no slot in the LID book yet, so make one */
	if (!s && said)
		s = sm_lid_note(&sm->lids, port_guid, 0);
	if (!s)
		return false;
	before = s->mkey_said;
	s->mkey_said = said;
	return before;
}

struct sm_source *sm_source_of(struct sm *sm, uint16_t lid)
{
	const struct sm_port *p = sm->db ? sm_db_port_by_lid(sm->db, lid) : NULL;
	struct sm_lid_slot *s = p ? sm_lid_slot(&sm->lids, p->guid) : NULL;

	return s ? &s->source : &sm->strangers;
}

int sm_lid_seed(struct sm *sm, const struct sm_lid_entry *e, size_t n)
{
	sm->lids.lmc = sm->cfg.lmc;
	for (size_t i = 0; i < n; i++) {
		struct sm_lid_slot *s;

		if (!ib_lid_is_unicast(e[i].lid))
			return -EINVAL;
		s = sm_lid_note(&sm->lids, e[i].port_guid, e[i].lid);
		if (!s)
			return -ENOMEM;
		s->configured = true;
	}
	return 0;
}

static void no_lid(void *ctx, const struct sm_port *p)
{
	struct sm *sm = ctx;

	sm->sweep.errors++;
	sm_err(sm, "no LID is left for \"%s\" port %u", p->node->desc, p->num);
}

int sm_lid_assign(struct sm *sm)
{
	return sm_lid_book_assign(&sm->lids, sm->next, &sm->sweep.lids_assigned, no_lid, sm);
}

int sm_set_lid(struct sm *sm, uint64_t port_guid, uint16_t lid, ns_t now)
{
	const struct sm_port *p;
	unsigned int n;

	if (sm->state != SMP_SM_MASTER || !sm->db)
		return -EAGAIN;
	p = sm_db_port_by_guid(sm->db, port_guid);
	if (!p)
		return -ENOENT;
	n = 1u << p->lmc;
	if (!lid || lid % n || lid + n - 1 > SM_LID_TOP_MAX)
		return -EINVAL;
	if (sm_lid_book_taken(&sm->lids, sm->db, p, lid))
		return -EEXIST;
	if (!sm_lid_note(&sm->lids, port_guid, lid))
		return -ENOMEM;
	sm_info(sm, "\"%s\" port %u is to have LID %u instead of %u", p->node->desc, p->num, lid,
		p->lid);
	sm_kick(sm, "another LID", now);
	return 0;
}

void sm_lid_tell(struct sm *sm, const struct sm_db *old, ns_t now)
{
	bool moved = false;

	for (struct sm_port *p = sm_db_end_port(sm->db, NULL); p && !moved;
	     p = sm_db_end_port(sm->db, p)) {
		const struct sm_port *was = old ? sm_db_port_by_guid(old, p->guid) : NULL;

		moved = was && (was->lid != p->lid || was->lmc != p->lmc);
	}
	if (!moved)
		return;
	for (struct sm_port *p = sm_db_end_port(sm->db, NULL); p; p = sm_db_end_port(sm->db, p)) {
		if (!p->node->sw)
			sm_rereg_owe(sm, p->guid);
	}
	sm_sweep_again(sm, now + SM_KICK_DELAY);
}

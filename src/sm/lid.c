/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "subnet/lids.h"

/*
 * A port keeps its LID as long as the SM remembers its GUID, even while the port is absent. After a
 * restart of the SM, or after another SM was master, the LIDs found on the ports are kept. Only a
 * port without such a LID, or whose LID another port has, gets a new one: the lowest LID that no
 * port has or had.
 */

static struct sm_lid_slot *slot_find(const struct sm *sm, uint64_t guid)
{
	for (struct hlink *h = htab_first(&sm->lids, sm_guid_hash(guid)); h; h = htab_next(h)) {
		struct sm_lid_slot *s = container_of(h, struct sm_lid_slot, by_guid);

		if (s->guid == guid)
			return s;
	}
	return NULL;
}

static int slot_set(struct sm *sm, uint64_t guid, uint16_t lid)
{
	struct sm_lid_slot *s = slot_find(sm, guid);

	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s || htab_add(&sm->lids, &s->by_guid, sm_guid_hash(guid))) {
			free(s);
			return -ENOMEM;
		}
		s->guid = guid;
	}
	s->lid = lid;
	return 0;
}

void sm_rereg_owe(struct sm *sm, uint64_t port_guid)
{
	struct sm_lid_slot *s = slot_find(sm, port_guid);

	if (s)
		s->owed = true;
}

void sm_rereg_paid(struct sm *sm, uint64_t port_guid)
{
	struct sm_lid_slot *s = slot_find(sm, port_guid);

	if (s)
		s->owed = false;
}

bool sm_rereg_owed(const struct sm *sm, uint64_t port_guid)
{
	const struct sm_lid_slot *s = slot_find(sm, port_guid);

	return s && s->owed;
}

bool sm_mkey_said(struct sm *sm, uint64_t port_guid, bool said)
{
	struct sm_lid_slot *s = slot_find(sm, port_guid);
	bool before;

	/* the port has no slot yet, because it got no LID from us */
	if (!s && said && slot_set(sm, port_guid, 0) == 0)
		s = slot_find(sm, port_guid);
	if (!s)
		return false;
	before = s->mkey_said;
	s->mkey_said = said;
	return before;
}

struct sm_source *sm_source_of(struct sm *sm, uint16_t lid)
{
	const struct sm_port *p = sm->db ? sm_db_port_by_lid(sm->db, lid) : NULL;
	struct sm_lid_slot *s = p ? slot_find(sm, p->guid) : NULL;

	return s ? &s->source : &sm->strangers;
}

int sm_lid_seed(struct sm *sm, const struct sm_lid_entry *e, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!ib_lid_is_unicast(e[i].lid) || slot_set(sm, e[i].port_guid, e[i].lid))
			return ib_lid_is_unicast(e[i].lid) ? -ENOMEM : -EINVAL;
		slot_find(sm, e[i].port_guid)->configured = true;
	}
	return 0;
}

void sm_lid_forget(struct sm *sm)
{
	for (struct hlink *h = htab_each(&sm->lids, NULL); h; h = htab_each(&sm->lids, h)) {
		struct sm_lid_slot *s = container_of(h, struct sm_lid_slot, by_guid);

		if (!s->configured)
			s->lid = 0;
	}
}

void sm_lid_fini(struct sm *sm)
{
	struct hlink *h = htab_each(&sm->lids, NULL);

	while (h) {
		struct hlink *next = htab_each(&sm->lids, h);

		free(container_of(h, struct sm_lid_slot, by_guid));
		h = next;
	}
	htab_fini(&sm->lids);
}

/* Reserve the LIDs of all remembered ports, present or absent. */
static void reserve_known(const struct sm *sm, uint8_t *reserved)
{
	for (struct hlink *h = htab_each(&sm->lids, NULL); h; h = htab_each(&sm->lids, h)) {
		const struct sm_lid_slot *s = container_of(h, struct sm_lid_slot, by_guid);

		for (unsigned int i = 0; s->lid && i < 1u << sm->cfg.lmc; i++) {
			if (s->lid + i <= SM_LID_TOP_MAX)
				reserved[s->lid + i] = 1;
		}
	}
}

static void claim_remembered(struct sm *sm, struct sm_db *db)
{
	for (struct sm_port *p = sm_db_end_port(db, NULL); p; p = sm_db_end_port(db, p)) {
		const struct sm_lid_slot *s = slot_find(sm, p->guid);

		p->lmc = p->node->sw ? 0 : sm->cfg.lmc;
		if (s && sm_lids_free(db, NULL, s->lid, 1u << p->lmc))
			sm_lids_claim(db, p, s->lid);
	}
}

static void claim_found(struct sm_db *db, const uint8_t *reserved)
{
	for (struct sm_port *p = sm_db_end_port(db, NULL); p; p = sm_db_end_port(db, p)) {
		if (!p->lid && sm_lids_free(db, reserved, p->pi.lid, 1u << p->lmc))
			sm_lids_claim(db, p, p->pi.lid);
	}
}

static int claim_new(struct sm *sm, struct sm_db *db, const uint8_t *reserved)
{
	/*
	 * Single LIDs and aligned ranges are searched from separate hints, so that a range does not
	 * make the search skip single LIDs.
	 */
	unsigned int hint1 = 1, hintn = 1;

	for (struct sm_port *p = sm_db_end_port(db, NULL); p; p = sm_db_end_port(db, p)) {
		unsigned int n = 1u << p->lmc;

		if (!p->lid) {
			unsigned int lid = sm_lids_find(db, reserved, n, n > 1 ? &hintn : &hint1);

			/* every free LID belongs to an absent port, so take one of those */
			if (!lid)
				lid = sm_lids_find(db, NULL, n, &(unsigned int){ 1 });
			if (!lid) {
				sm->sweep.errors++;
				sm_err(sm, "no LID is left for \"%s\" port %u", p->node->desc,
				       p->num);
				continue;
			}
			sm_lids_claim(db, p, lid);
		}
		if (p->pi.lid != p->lid)
			sm->sweep.lids_assigned++;
		if (slot_set(sm, p->guid, p->lid))
			return -ENOMEM;
		slot_find(sm, p->guid)->outside = p->node->outside;
	}
	return 0;
}

/* Tell whether a slot may be freed. A Report in progress points to the .source of its slot. */
static bool may_forget(const struct sm *sm, const struct sm_lid_slot *s)
{
	return (s->outside || !s->lid) && !s->configured && !s->source.unproven &&
	       !sm_db_port_by_guid(sm->db, s->guid);
}

void sm_lid_purge(struct sm *sm)
{
	struct hlink *h, *next;
	uint32_t away = 0;

	for (h = htab_each(&sm->lids, NULL); h; h = htab_each(&sm->lids, h))
		away += may_forget(sm, container_of(h, struct sm_lid_slot, by_guid));
	if (away <= sm->cfg.outside_nodes)
		return;
	for (h = htab_each(&sm->lids, NULL); h; h = next) {
		struct sm_lid_slot *s = container_of(h, struct sm_lid_slot, by_guid);

		next = htab_each(&sm->lids, h);
		if (!may_forget(sm, s))
			continue;
		htab_del(&sm->lids, h);
		free(s);
	}
}

int sm_lid_assign(struct sm *sm)
{
	uint8_t *reserved = calloc(SM_LID_TOP_MAX + 1, 1);
	int err;

	if (!reserved)
		return -ENOMEM;
	reserve_known(sm, reserved);
	claim_remembered(sm, sm->next);
	claim_found(sm->next, reserved);
	err = claim_new(sm, sm->next, reserved);
	free(reserved);
	return err;
}

/* Tell whether another port, present or absent, has a LID of the range that starts with @lid. */
static bool others_have(const struct sm *sm, const struct sm_port *p, unsigned int lid)
{
	unsigned int n = 1u << p->lmc;

	for (unsigned int i = lid; i < lid + n; i++) {
		if (sm->db->by_lid[i] && sm->db->by_lid[i] != p)
			return true;
	}
	for (struct hlink *h = htab_each(&sm->lids, NULL); h; h = htab_each(&sm->lids, h)) {
		const struct sm_lid_slot *s = container_of(h, struct sm_lid_slot, by_guid);

		/*
		 * Absent ports are taken for CA ports, which have 2^LMC LIDs. Ports that are
		 * present were checked above.
		 */
		if (s->guid != p->guid && !sm_db_port_by_guid(sm->db, s->guid) &&
		    s->lid < lid + n && lid < s->lid + (1u << sm->cfg.lmc))
			return true;
	}
	return false;
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
	if (others_have(sm, p, lid))
		return -EEXIST;
	if (slot_set(sm, port_guid, lid))
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

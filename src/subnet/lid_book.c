/* SPDX-License-Identifier: BSD-2-Clause */
#include "subnet/lid_book.h"

#include <errno.h>
#include <stdlib.h>

#include "subnet/lids.h"
#include "util/list.h"

struct sm_lid_slot *sm_lid_slot(const struct sm_lid_book *b, uint64_t port_guid)
{
	uint64_t hash = sm_guid_hash(port_guid);

	for (struct hlink *h = htab_first(&b->slots, hash); h; h = htab_next(h)) {
		struct sm_lid_slot *s = container_of(h, struct sm_lid_slot, by_guid);

		if (s->guid == port_guid)
			return s;
	}
	return NULL;
}

struct sm_lid_slot *sm_lid_note(struct sm_lid_book *b, uint64_t port_guid, uint16_t lid)
{
	struct sm_lid_slot *s = sm_lid_slot(b, port_guid);

	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s || htab_add(&b->slots, &s->by_guid, sm_guid_hash(port_guid))) {
			free(s);
			return NULL;
		}
		s->guid = port_guid;
	}
	s->lid = lid;
	return s;
}

void sm_lid_book_forget(struct sm_lid_book *b)
{
	for (struct hlink *h = htab_each(&b->slots, NULL); h; h = htab_each(&b->slots, h)) {
		struct sm_lid_slot *s = container_of(h, struct sm_lid_slot, by_guid);

		if (!s->configured)
			s->lid = 0;
	}
}

void sm_lid_book_fini(struct sm_lid_book *b)
{
	struct hlink *h = htab_each(&b->slots, NULL);

	while (h) {
		struct hlink *next = htab_each(&b->slots, h);

		free(container_of(h, struct sm_lid_slot, by_guid));
		h = next;
	}
	htab_fini(&b->slots);
}

/*
 * Tell whether a slot may be freed. Open Reports (.source.unproven) prevent this, because they
 * point to the slot's .source.
 */
static bool may_forget(const struct sm_db *db, const struct sm_lid_slot *s)
{
	return (s->outside || !s->lid) && !s->configured && !s->source.unproven &&
	       !sm_db_port_by_guid(db, s->guid);
}

void sm_lid_book_purge(struct sm_lid_book *b, const struct sm_db *db, uint32_t max)
{
	struct hlink *h, *next;
	uint32_t away = 0;

	for (h = htab_each(&b->slots, NULL); h; h = htab_each(&b->slots, h))
		away += may_forget(db, container_of(h, struct sm_lid_slot, by_guid));
	if (away <= max)
		return;
	for (h = htab_each(&b->slots, NULL); h; h = next) {
		struct sm_lid_slot *s = container_of(h, struct sm_lid_slot, by_guid);

		next = htab_each(&b->slots, h);
		if (!may_forget(db, s))
			continue;
		htab_del(&b->slots, h);
		free(s);
	}
}

/* Reserve the LIDs of all remembered ports, present or absent. */
static void reserve_known(const struct sm_lid_book *b, uint8_t *reserved)
{
	for (struct hlink *h = htab_each(&b->slots, NULL); h; h = htab_each(&b->slots, h)) {
		const struct sm_lid_slot *s = container_of(h, struct sm_lid_slot, by_guid);

		for (unsigned int i = 0; s->lid && i < 1u << b->lmc; i++) {
			if (s->lid + i <= SM_LID_TOP_MAX)
				reserved[s->lid + i] = 1;
		}
	}
}

static void claim_remembered(const struct sm_lid_book *b, struct sm_db *db)
{
	for (struct sm_port *p = sm_db_end_port(db, NULL); p; p = sm_db_end_port(db, p)) {
		const struct sm_lid_slot *s = sm_lid_slot(b, p->guid);

		p->lmc = p->node->sw ? 0 : b->lmc;
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

static unsigned int find_new(const struct sm_db *db, const uint8_t *reserved, unsigned int n,
			     unsigned int *hint)
{
	unsigned int lid = sm_lids_find(db, reserved, n, hint);

	/* if only LIDs of absent ports are free, use one of these */
	return lid ? lid : sm_lids_find(db, NULL, n, &(unsigned int){ 1 });
}

/*
 * Give new LIDs to the end ports that have none yet. A port for which no LID is left keeps LID 0.
 */
static void claim_new(struct sm_db *db, const uint8_t *reserved)
{
	/*
	 * Single LIDs and aligned ranges are searched from separate hints, so that a range does not
	 * make the search skip single LIDs.
	 */
	unsigned int hint1 = 1, hintn = 1;

	for (struct sm_port *p = sm_db_end_port(db, NULL); p; p = sm_db_end_port(db, p)) {
		unsigned int n = 1u << p->lmc, lid;

		if (p->lid)
			continue;
		lid = find_new(db, reserved, n, n > 1 ? &hintn : &hint1);
		if (lid)
			sm_lids_claim(db, p, lid);
	}
}

int sm_lid_book_assign(struct sm_lid_book *b, struct sm_db *db, uint32_t *assigned,
		       void (*none)(void *ctx, const struct sm_port *p), void *ctx)
{
	uint8_t *reserved = calloc(SM_LID_TOP_MAX + 1, 1);

	if (!reserved)
		return -ENOMEM;
	reserve_known(b, reserved);
	claim_remembered(b, db);
	claim_found(db, reserved);
	claim_new(db, reserved);
	free(reserved);
	for (struct sm_port *p = sm_db_end_port(db, NULL); p; p = sm_db_end_port(db, p)) {
		struct sm_lid_slot *s;

		if (!p->lid) {
			none(ctx, p);
			continue;
		}
		*assigned += p->pi.lid != p->lid;
		s = sm_lid_note(b, p->guid, p->lid);
		if (!s)
			return -ENOMEM;
		s->outside = p->node->outside;
	}
	return 0;
}

bool sm_lid_book_taken(const struct sm_lid_book *b, const struct sm_db *db, const struct sm_port *p,
		       unsigned int lid)
{
	unsigned int n = 1u << p->lmc;

	for (unsigned int i = lid; i < lid + n; i++) {
		if (db->by_lid[i] && db->by_lid[i] != p)
			return true;
	}
	for (struct hlink *h = htab_each(&b->slots, NULL); h; h = htab_each(&b->slots, h)) {
		const struct sm_lid_slot *s = container_of(h, struct sm_lid_slot, by_guid);

		/*
		 * An absent port counts as a CA port, which has 2^LMC LIDs. The ports that are
		 * present were checked above.
		 */
		if (s->guid != p->guid && !sm_db_port_by_guid(db, s->guid) && s->lid < lid + n &&
		    lid < s->lid + (1u << b->lmc))
			return true;
	}
	return false;
}

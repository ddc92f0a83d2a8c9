/* SPDX-License-Identifier: BSD-2-Clause */
#include "sa/priv.h"

#include <stdlib.h>

/*
 * DOC: ServiceRecords
 *
 * IBTA 15.2.5.14: ports register the addresses of their services for a lease time. ServiceID, GID
 * and P_Key identify a record. A record that was registered with a ServiceKey is protected: only
 * requests with this key, requests of the port whose GID is in the record, and trusted requests can
 * change or delete it. Only trusted requests see the keys, but any request may contain a key to
 * select the records that have this key. A record with a P_Key is visible to members of that
 * partition only.
 *
 * As in OpenSM, Delete identifies the record by ServiceID, GID and P_Key, whatever the component
 * mask is. osmtest relies on this: it deletes with a mask that has only the name.
 */

#define COMPS_SET (SERVICE_COMP_ID | SERVICE_COMP_GID)
#define LEASE_FOREVER 0xffffffffu

/* clang-format off */
#define DATA8(i) { 896 + 8 * (i), 8 }
#define DATA16(i) { 1024 + 16 * (i), 16 }
#define DATA32(i) { 1152 + 32 * (i), 32 }
#define DATA64(i) { 1280 + 64 * (i), 64 }
/* clang-format on */

static const struct
	sa_field
		fields
			[] = {
				{ 0, 64 },    { 64, 128 },  { 192, 16 }, { 0 },
				{ 224, 32 }, /* ServiceID, GID, P_Key, reserved, lease */
				{ 256, 128 }, { 384, 512 }, /* key, name */
				DATA8(0),     DATA8(1),	    DATA8(2),	 DATA8(3),
				DATA8(4),     DATA8(5),	    DATA8(6),	 DATA8(7),
				DATA8(8),     DATA8(9),	    DATA8(10),	 DATA8(11),
				DATA8(12),    DATA8(13),    DATA8(14),	 DATA8(15),
				DATA16(0),    DATA16(1),    DATA16(2),	 DATA16(3),
				DATA16(4),    DATA16(5),    DATA16(6),	 DATA16(7),
				DATA32(0),    DATA32(1),    DATA32(2),	 DATA32(3),
				DATA64(0),    DATA64(1),
			};

static const uint8_t no_key[16];

static void service_free(struct sa_service *s)
{
	timer_cancel(sm_timers(s->sa->sm), &s->timer);
	list_del(&s->link);
	s->sa->nservices--;
	s->sa->nown -= s->own;
	free(s);
}

static void service_expired(struct timer *t, ns_t now)
{
	struct sa_service *s = container_of(t, struct sa_service, timer);

	s->sa->stats.leases_expired++;
	service_free(s);
}

void sa_services_clear(struct sa *sa)
{
	struct sa_service *s, *tmp;

	list_for_each_safe (s, tmp, &sa->services, link)
		service_free(s);
}

void sa_services_clear_own(struct sa *sa)
{
	struct sa_service *s, *tmp;

	list_for_each_safe (s, tmp, &sa->services, link)
		if (s->own)
			service_free(s);
}

const struct sa_service *sa_service_next(const struct sa *sa, const struct sa_service *prev)
{
	const struct list *n = prev ? prev->link.next : sa->services.next;

	return n == &sa->services ? NULL : container_of(n, struct sa_service, link);
}

static struct sa_service *service_find(const struct sa *sa, const struct ib_service_rec *rec)
{
	struct sa_service *s;

	list_for_each (s, &sa->services, link) {
		if (s->rec.id == rec->id && ib_gid_equal(&s->rec.gid, &rec->gid) &&
		    s->rec.pkey == rec->pkey)
			return s;
	}
	return NULL;
}

/*
 * Return the record of @s for an answer to @r, with the remaining lease time, and with the key only
 * if @r is trusted.
 */
static struct ib_service_rec service_show(const struct sa_req *r, const struct sa_service *s)
{
	struct ib_service_rec rec = s->rec;

	if (!r->trusted)
		memset(rec.key, 0, sizeof(rec.key));
	if (s->expires != NS_NEVER)
		rec.lease = s->expires > r->now ? (uint32_t)((s->expires - r->now) / NS_SEC(1)) : 0;
	return rec;
}

static bool pkey_allowed(const struct sa_req *r, uint16_t pkey)
{
	return r->trusted || !pkey || sm_port_pkey(r->port, pkey);
}

static bool key_allowed(const struct sa_req *r, const struct sa_service *s,
			const struct ib_service_rec *rec)
{
	const uint8_t *key = r->m.sa.comp_mask & SERVICE_COMP_KEY ? rec->key : no_key;

	if (s->own)
		return false;
	return r->trusted || memcmp(s->rec.key, no_key, sizeof(no_key)) == 0 ||
	       memcmp(s->rec.key, key, sizeof(no_key)) == 0 ||
	       ib_gid_guid(&s->rec.gid) == r->port->guid;
}

uint16_t sa_service_collect(struct sa_req *r, struct sa_table *t)
{
	uint64_t mask = r->m.sa.comp_mask;
	const struct sa_service *s;

	if (r->m.data_len < SERVICE_REC_LEN)
		return SA_MALFORMED;
	if (!sa_quota_take(r, SA_WORK_SCAN, r->sa->nservices))
		return SA_QUOTA;
	list_for_each (s, &r->sa->services, link) {
		struct ib_service_rec rec = service_show(r, s);
		uint8_t wire[SERVICE_REC_LEN], *slot;

		memcpy(rec.key, s->rec.key, sizeof(rec.key));
		ib_service_rec_encode(wire, &rec);
		if (!pkey_allowed(r, s->rec.pkey) ||
		    !sa_match(fields, ARRAY_SIZE(fields), mask, r->m.data, wire))
			continue;
		slot = sa_table_add(t);
		if (!slot)
			break;
		rec = service_show(r, s);
		ib_service_rec_encode(slot, &rec);
	}
	return 0;
}

/*
 * Tell whether the port that offers the service is a member of the record's partition. A record
 * without a P_Key or with an MGID passes.
 */
static bool owner_has_pkey(const struct sa_req *r, const struct ib_service_rec *rec)
{
	const struct sm_port *owner;

	if (!rec->pkey || ib_gid_is_mcast(&rec->gid))
		return true;
	/*
	 * Use only the GUID in the record's GID to find the port that offers the service, as OpenSM
	 * does. The subnet prefix is not compared, because osmtest writes it in the wrong byte
	 * order.
	 */
	owner = sm_db_port_by_guid(r->db, ib_gid_guid(&rec->gid));
	return owner && sm_port_pkey(owner, rec->pkey);
}

/*
 * Decode the ServiceRecord of a request. Components that are not in the component mask get their
 * default values.
 */
static uint16_t rec_decode(const struct sa_req *r, struct ib_service_rec *ret)
{
	uint64_t mask = r->m.sa.comp_mask;

	if (ib_service_rec_decode(ret, r->m.data, r->m.data_len))
		return SA_MALFORMED;
	if ((mask & COMPS_SET) != COMPS_SET)
		return SA_STATUS_INSUF_COMPONENTS;
	if (!(mask & SERVICE_COMP_PKEY))
		ret->pkey = 0;
	if (!(mask & SERVICE_COMP_LEASE))
		ret->lease = LEASE_FOREVER;
	if (!(mask & SERVICE_COMP_KEY))
		memset(ret->key, 0, sizeof(ret->key));
	return pkey_allowed(r, ret->pkey) && owner_has_pkey(r, ret) ? 0 : SA_STATUS_REQ_INVALID;
}

static unsigned int services_by(const struct sa *sa, uint64_t port_guid)
{
	const struct sa_service *s;
	unsigned int n = 0;

	list_for_each (s, &sa->services, link)
		n += !s->own && s->port_guid == port_guid;
	return n;
}

static struct sa_service *service_new(struct sa *sa, uint64_t port_guid)
{
	struct sa_service *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->sa = sa;
	s->port_guid = port_guid;
	timer_init(&s->timer, service_expired);
	list_add_tail(&sa->services, &s->link);
	sa->nservices++;
	return s;
}

void sa_service_add_own(struct sa *sa, const struct ib_service_rec *rec, uint64_t port_guid)
{
	struct sa_service *s = service_new(sa, port_guid);

	if (!s)
		return;
	s->own = true;
	sa->nown++;
	s->rec = *rec;
	s->rec.lease = LEASE_FOREVER;
	s->expires = NS_NEVER;
	list_del(&s->link);
	list_add_head(&sa->services, &s->link);
}

static uint16_t answer(struct sa_req *r, struct sa_table *t, const struct ib_service_rec *rec)
{
	uint8_t *slot = sa_table_add(t);

	if (!slot)
		return SA_DROP;
	ib_service_rec_encode(slot, rec);
	return 0;
}

uint16_t sa_service_set(struct sa_req *r, struct sa_table *t)
{
	struct ib_service_rec rec;
	uint16_t status = rec_decode(r, &rec);
	struct sa_service *s;

	if (status)
		return status;
	s = service_find(r->sa, &rec);
	if (s && !key_allowed(r, s, &rec))
		return SA_STATUS_DENIED;
	if (!s && (r->sa->nservices - r->sa->nown >= SA_MAX_SERVICES ||
		   services_by(r->sa, r->port->guid) >= SA_MAX_SERVICES_PORT))
		return SA_STATUS_NO_RESOURCES;
	if (!s)
		s = service_new(r->sa, r->port->guid);
	if (!s)
		return SA_DROP;
	s->rec = rec;
	s->expires = rec.lease == LEASE_FOREVER ? NS_NEVER : r->now + NS_SEC(rec.lease);
	timer_arm(sm_timers(r->sa->sm), &s->timer, s->expires);
	rec = service_show(r, s);
	if (!(r->m.sa.comp_mask & SERVICE_COMP_PKEY))
		rec.pkey = IB_PKEY_DEFAULT; /* OpenSM answers with this P_Key too */
	return answer(r, t, &rec);
}

uint16_t sa_service_delete(struct sa_req *r, struct sa_table *t)
{
	struct ib_service_rec rec;
	struct sa_service *s;

	if (ib_service_rec_decode(&rec, r->m.data, r->m.data_len))
		return SA_MALFORMED;
	s = service_find(r->sa, &rec);
	if (!s || !pkey_allowed(r, s->rec.pkey))
		return SA_STATUS_NO_RECORDS;
	if (!key_allowed(r, s, &rec))
		return SA_STATUS_DENIED;
	rec = service_show(r, s);
	service_free(s);
	return answer(r, t, &rec);
}

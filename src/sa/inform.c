/* SPDX-License-Identifier: BSD-2-Clause */
#include "sa/priv.h"

#include <stdlib.h>

/*
 * DOC: Subscriptions
 *
 * A subscription (InformInfo, IBTA 13.4.8.3, 13.4.11, 15.4.4) selects the notices that a port
 * wants. The SA sends Reports to the address from which the request for the subscription came. The
 * QPN of the subscription is the QPN of that address. A request that ends a subscription contains
 * this QPN, or 0, which means the QPN from which the request itself comes. A repeated request does
 * not make a second subscription. A subscription ends when a request with InformInfo:Subscribe = 0
 * ends it, when its port leaves the subnet, or when the SM is no longer master.
 *
 * A subscriber that is not trusted must share a P_Key with the ports that the subscription names by
 * GID or LIDs (o13-14.1.1). Only trusted subscribers get the traps about key violations, 256 to
 * 259.
 */

#define ANY16 0xffffu
#define ANY24 0xffffffu

static bool info_equal(const struct mad_inform_info *a, const struct mad_inform_info *b)
{
	return ib_gid_equal(&a->gid, &b->gid) && a->lid_begin == b->lid_begin &&
	       a->lid_end == b->lid_end && a->generic == b->generic && a->type == b->type &&
	       a->trap == b->trap && a->qpn == b->qpn && a->producer == b->producer;
}

static struct sa_subscription *sub_find(const struct sa_req *r, const struct mad_inform_info *info)
{
	struct sa_subscription *s;

	list_for_each (s, &r->sa->subs, link) {
		if (s->port_guid == r->port->guid && info_equal(&s->info, info))
			return s;
	}
	return NULL;
}

static unsigned int subs_of(const struct sa *sa, uint64_t port_guid)
{
	const struct sa_subscription *s;
	unsigned int n = 0;

	list_for_each (s, &sa->subs, link)
		n += s->port_guid == port_guid;
	return n;
}

/*
 * Return the lowest number that no subscription of the port has. A port has at most 64
 * subscriptions.
 */
static uint16_t number_free(const struct sa *sa, uint64_t port_guid)
{
	const struct sa_subscription *s;
	uint64_t used = 0;

	static_assert(SA_MAX_SUBSCRIPTIONS_PORT <= 64, "a bit each");
	list_for_each (s, &sa->subs, link) {
		if (s->port_guid == port_guid)
			used |= 1ull << s->number;
	}
	return (uint16_t)__builtin_ctzll(~used);
}

static void sub_free(struct sa *sa, struct sa_subscription *s)
{
	sa_reports_forget(sa, s);
	list_del(&s->link);
	sa->nsubs--;
	free(s);
}

static uint16_t subscribe(struct sa_req *r, const struct mad_inform_info *info)
{
	struct sa_subscription *s = sub_find(r, info);

	if (s) {
		s->addr = *r->from;
		return 0;
	}
	if (r->sa->nsubs >= SA_MAX_SUBSCRIPTIONS ||
	    subs_of(r->sa, r->port->guid) >= SA_MAX_SUBSCRIPTIONS_PORT)
		return SA_STATUS_NO_RESOURCES;
	s = calloc(1, sizeof(*s));
	if (!s)
		return SA_DROP;
	s->port_guid = r->port->guid;
	s->addr = *r->from;
	s->info = *info;
	s->trusted = r->trusted;
	s->number = number_free(r->sa, s->port_guid);
	list_add_tail(&r->sa->subs, &s->link);
	r->sa->nsubs++;
	return 0;
}

static uint16_t unsubscribe(struct sa_req *r, const struct mad_inform_info *info)
{
	struct sa_subscription *s = sub_find(r, info);

	if (!s)
		return SA_STATUS_REQ_INVALID;
	sub_free(r->sa, s);
	return 0;
}

static bool trap_secret(bool generic, uint16_t trap)
{
	return generic && trap >= MAD_TRAP_BAD_MKEY && trap <= MAD_TRAP_SWITCH_BAD_PKEY;
}

/*
 * Return the last LID of a subscription's range. If the end of the range is 0, the range has only
 * one LID, as in OpenSM.
 */
static uint16_t last_lid(const struct mad_inform_info *i)
{
	return i->lid_end ? i->lid_end : i->lid_begin;
}

static bool info_valid(const struct mad_inform_info *i)
{
	return !ib_gid_is_zero(&i->gid) || i->lid_begin == ANY16 || last_lid(i) >= i->lid_begin;
}

static bool reaches(const struct sa_req *r, const struct sm_port *p)
{
	return r->trusted || r->port == p || sm_ports_share_pkey(r->port, p);
}

/*
 * Return the last LID of the subscription's range, or the highest LID of the subnet if the range
 * ends above it.
 */
static unsigned int last_named(const struct sa_req *r, const struct mad_inform_info *i)
{
	return last_lid(i) < r->db->top_lid ? last_lid(i) : r->db->top_lid;
}

/*
 * Return the number of ports that info_allowed() will check. This number is charged to the quota of
 * the requester. Return 0 for a single port, whose check is free.
 */
static unsigned int info_cost(const struct sa_req *r, const struct mad_inform_info *i)
{
	unsigned int last = last_named(r, i);

	if (r->trusted || !ib_gid_is_zero(&i->gid) || i->lid_begin == ANY16 || last <= i->lid_begin)
		return 0;
	return last - i->lid_begin + 1;
}

/*
 * Tell whether the subscription is permitted. A subscriber that is not trusted must share a P_Key
 * with every port that the subscription names, and must not name a trap about key violations.
 */
static bool info_allowed(const struct sa_req *r, const struct mad_inform_info *i)
{
	unsigned int last = last_named(r, i);
	const struct sm_port *p;

	if (!r->trusted && trap_secret(i->generic, i->trap))
		return false;
	if (!ib_gid_is_zero(&i->gid)) {
		p = sm_db_port_by_gid(r->db, &i->gid);
		/* A subscription to traps 66 and 67, which are about groups, may name an MGID. */
		return p ? reaches(r, p) : ib_gid_is_mcast(&i->gid);
	}
	if (i->lid_begin == ANY16)
		return true;
	for (unsigned int lid = i->lid_begin; lid <= last; lid++) {
		p = sm_db_port_by_lid(r->db, lid);
		if (p && !reaches(r, p))
			return false;
	}
	return true;
}

uint16_t sa_inform_set(struct sa_req *r, struct sa_table *t)
{
	struct mad_inform_info info;
	uint16_t status;
	uint8_t *slot;

	if (mad_inform_info_decode(&info, r->m.data, r->m.data_len))
		return SA_MALFORMED;
	if (r->m.data[MAD_INFORM_SUBSCRIBE_OFF] > 1)
		return SA_STATUS_REQ_INVALID;
	if (info.subscribe || !info.qpn)
		info.qpn = r->from->qpn;
	if (!info_valid(&info))
		return SA_STATUS_REQ_INVALID;
	if (info.subscribe && info_cost(r, &info) &&
	    !sa_quota_take(r, SA_WORK_SCAN, info_cost(r, &info)))
		return SA_QUOTA;
	if (info.subscribe)
		status = info_allowed(r, &info) ? subscribe(r, &info) : SA_STATUS_REQ_INVALID;
	else
		status = unsubscribe(r, &info);
	if (status)
		return status;
	slot = sa_table_add(t);
	if (!slot)
		return SA_DROP;
	/* The answer repeats the request unchanged (o13-12.1.1). */
	memcpy(slot, r->m.data, MAD_INFORM_INFO_LEN);
	return 0;
}

/*
 * Collect an InformInfoRecord (15.2.5.12) for each subscription. Each port's subscriptions are
 * numbered separately. Only trusted requests see the QPNs of subscribers.
 */
uint16_t sa_inform_collect(struct sa_req *r, struct sa_table *t)
{
	const uint64_t mask = r->m.sa.comp_mask;
	const struct sa_subscription *s;
	struct ib_inform_rec want;

	if (ib_inform_rec_decode(&want, r->m.data, r->m.data_len))
		return SA_MALFORMED;
	if (!sa_quota_take(r, SA_WORK_SCAN, r->sa->nsubs))
		return SA_QUOTA;
	list_for_each (s, &r->sa->subs, link) {
		const struct sm_port *p = sm_db_port_by_guid(r->db, s->port_guid);
		struct ib_inform_rec rec = { .number = s->number, .info = s->info };
		uint8_t *slot;

		if (!p || !sa_visible(r, p))
			continue;
		rec.subscriber = sm_port_gid(r->db, p);
		if (((mask & INFORM_COMP_SUBSCRIBER) &&
		     !ib_gid_equal(&rec.subscriber, &want.subscriber)) ||
		    ((mask & INFORM_COMP_ENUM) && rec.number != want.number))
			continue;
		if (!r->trusted)
			rec.info.qpn = 0;
		slot = sa_table_add(t);
		if (!slot)
			break;
		ib_inform_rec_encode(slot, &rec);
	}
	return 0;
}

void sa_inform_refresh(struct sa *sa, ns_t now)
{
	const struct sm_db *db = sm_db(sa->sm);
	struct sa_subscription *s, *tmp;

	if (!db)
		return;
	list_for_each_safe (s, tmp, &sa->subs, link) {
		const struct sm_port *p = sm_db_port_by_guid(db, s->port_guid);

		if (!p || !p->lid)
			sub_free(sa, s);
		else if (!sm_port_has_lid(p, s->addr.lid))
			s->addr.lid = p->lid;
	}
}

void sa_inform_clear(struct sa *sa)
{
	struct sa_subscription *s, *tmp;

	list_for_each_safe (s, tmp, &sa->subs, link)
		sub_free(sa, s);
}

const struct sa_subscription *sa_subscription_next(const struct sa *sa,
						   const struct sa_subscription *prev)
{
	const struct list *n = prev ? prev->link.next : sa->subs.next;

	return n == &sa->subs ? NULL : container_of(n, struct sa_subscription, link);
}

/*
 * Tell whether the source of a notice is a source that the subscription names. A GID in the
 * subscription may be the GID of the issuer of the notice, or the GID that one of the traps 64 to
 * 67 reports.
 */
static bool source_wanted(const struct mad_inform_info *i, const struct mad_notice *n)
{
	if (!ib_gid_is_zero(&i->gid)) {
		ib_gid about = mad_notice_get_gid(n);

		return ib_gid_equal(&i->gid, &n->issuer_gid) ||
		       (n->generic && n->trap >= MAD_TRAP_GID_IN_SERVICE &&
			n->trap <= MAD_TRAP_MC_DELETED && ib_gid_equal(&i->gid, &about));
	}
	return i->lid_begin == ANY16 ||
	       (n->issuer_lid >= i->lid_begin && n->issuer_lid <= last_lid(i));
}

static bool wanted(const struct mad_inform_info *i, const struct mad_notice *n)
{
	return i->generic == n->generic && (i->type == ANY16 || i->type == n->type) &&
	       (i->trap == ANY16 || i->trap == n->trap) &&
	       (i->producer == ANY24 || i->producer == n->producer) && source_wanted(i, n);
}

/*
 * A condition that a subscriber must meet to receive a notice. If neither .port nor .pkey is set,
 * every subscriber meets it.
 */
struct audience {
	/* subscribers must be this port or share a P_Key with it; NULL: no condition */
	const struct sm_port *port;
	uint16_t pkey; /* P_Key that subscribers must have; 0: no condition */
};

static bool may_hear(const struct sm_db *db, const struct sa_subscription *s,
		     const struct audience *a)
{
	const struct sm_port *p = sm_db_port_by_guid(db, s->port_guid);

	if (!p)
		return false;
	if (a->pkey && !sm_port_pkey(p, a->pkey))
		return false;
	return !a->port || a->port == p || sm_ports_share_pkey(p, a->port);
}

static void notify(struct sa *sa, const struct mad_notice *n, const struct audience *a, ns_t now)
{
	const struct sm_db *db = sm_db(sa->sm);
	struct sa_subscription *s;

	if (!db)
		return;
	list_for_each (s, &sa->subs, link) {
		if ((s->trusted || !trap_secret(n->generic, n->trap)) && wanted(&s->info, n) &&
		    may_hear(db, s, a))
			sa_report(sa, s, n, now);
	}
}

/* Make the notice of a trap 64 to 67, which the SA issues as a class manager at the SM's port (IBTA 13.4.8.2). */
static struct mad_notice own_notice(const struct sm_db *db, uint16_t trap, const ib_gid *about)
{
	struct mad_notice n = {
		.generic = true,
		.type = MAD_NOTICE_TYPE_SM,
		.producer = 4,
		.trap = trap,
		.issuer_lid = db->self->lid,
		.issuer_gid = sm_port_gid(db, db->self),
	};

	mad_notice_gid(&n, about);
	return n;
}

void sa_notice_port(struct sa *sa, const ib_gid *gid, bool in_service, ns_t now)
{
	const struct sm_db *db = sm_db(sa->sm);
	struct audience a = { 0 };
	struct mad_notice n;

	if (!db)
		return;
	a.port = sm_db_port_by_gid(db, gid);
	n = own_notice(db, in_service ? MAD_TRAP_GID_IN_SERVICE : MAD_TRAP_GID_OUT_OF_SERVICE, gid);
	notify(sa, &n, &a, now);
}

void sa_notice_group(struct sa *sa, const struct sm_group *g, bool created, ns_t now)
{
	const struct sm_db *db = sm_db(sa->sm);
	struct audience a = { .pkey = g->rec.pkey };
	struct mad_notice n;

	if (!db)
		return;
	n = own_notice(db, created ? MAD_TRAP_MC_CREATED : MAD_TRAP_MC_DELETED, &g->rec.mgid);
	notify(sa, &n, &a, now);
}

void sa_notice_trap(struct sa *sa, const struct mad_notice *n, ns_t now)
{
	const struct sm_db *db = sm_db(sa->sm);
	struct mad_notice out = *n;
	struct audience a = { 0 };

	if (!db)
		return;
	a.port = sm_db_port_by_lid(db, n->issuer_lid);
	if (a.port)
		out.issuer_gid = sm_port_gid(db, a.port);
	notify(sa, &out, &a, now);
}

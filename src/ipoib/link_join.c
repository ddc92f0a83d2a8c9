/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/link.h"

#include "ipoib/action.h"
#include "ipoib/mcast.h"
#include "ipoib/neigh.h"
#include "text/print.h"

/*
 * The broadcast group defines the link (RFC 4391 §5). This file joins this group, adopts the group's parameters, and
 * describes the reason when a join failed.
 */

/*
 * Q_Key of a broadcast group that the link creates, if no Q_Key is configured: a controlled Q_Key,
 * RFC 4391 §4.1.
 */
#define CREATE_QKEY 0x80004391u

static void bcast_done(struct sac_group_ref *r, int status, const struct ib_mcmember_rec *rec,
		       ns_t now);

static struct sac_join bcast_join(const struct ipoib_link *l)
{
	const struct ipoib_link_cfg *c = &l->cfg;
	struct sac_join j = {
		.rec.mgid = l->mgid,
		.rec.pkey = l->pkey,
		.rec.join_state = MCM_JOIN_FULL,
		.create = c->create_broadcast && !l->profile->joins_only,
		.tries = c->join_tries,
	};

	if (!j.create)
		return j;
	j.rec.qkey = c->create_qkey ? c->create_qkey : CREATE_QKEY;
	j.rec.mtu_code = c->create_mtu_code ? c->create_mtu_code : l->port.mtu_code;
	j.rec.rate_code = l->port.rate_code;
	return j;
}

static ns_t join_backoff(struct ipoib_link *l)
{
	return ns_backoff(++l->retries, IPOIB_BACKOFF_MIN, IPOIB_BACKOFF_MAX);
}

void ipoib_link_join(struct ipoib_link *l, ns_t now)
{
	struct sac_join j;

	if (!ipoib_link_group_known(l)) {
		ipoib_link_group_ask(l, now);
		return;
	}
	j = bcast_join(l);
	l->bcast->full.done = bcast_done;
	if (sac_group_join(l->sac, &l->bcast->full, &j, now))
		timer_arm(l->cfg.timers, &l->retry, now + join_backoff(l));
}

void ipoib_link_leave(struct ipoib_link *l, ns_t now)
{
	struct ipoib_mcast *m;

	timer_cancel(l->cfg.timers, &l->retry);
	l->up = l->joined = l->renewing = l->granted = l->no_group = false;
	l->retries = 0;
	ipoib_router_stop(l);
	for_each_mcast(l, m) ipoib_mcast_leave_all(m, now);
	ipoib_paths_reset(l);
}

void ipoib_link_unjoin(struct ipoib_link *l, ns_t now)
{
	ipoib_link_leave(l, now);
	ipoib_link_group_forget(l);
}

/*
 * Tells whether a field of @rec does not fit this port or link, and writes to @t which field. After
 * a refused join, diagnosed() passes the record of the existing group: the refusal contains only a
 * status, and this record shows the probable cause.
 */
static bool rec_unfit(const struct ipoib_link *l, const struct ib_mcmember_rec *rec, struct text *t)
{
	unsigned int mtu = ib_mtu_octets(rec->mtu_code);
	unsigned int port_mtu = ib_mtu_octets(l->port.mtu_code);

	if (!mtu)
		text_add(t, "MTU code %u is none", rec->mtu_code);
	else if (!l->profile->ip_mtu(mtu))
		text_add(t, "MTU %u, which no link of profile %s has", mtu, l->profile->name);
	else if (port_mtu && mtu > port_mtu)
		text_add(t,
			 "MTU %u above the port's %u, the SM has to make the group anew (uipoib "
			 "fabric partitions FILE)",
			 mtu, port_mtu);
	else if ((rec->pkey ^ l->pkey) & 0x7fff)
		text_add(t, "P_Key 0x%04x is not the link's 0x%04x", rec->pkey, l->pkey);
	return t->len != 0;
}

static bool rec_too_fast(const struct ipoib_link *l, const struct ib_mcmember_rec *rec,
			 struct text *t)
{
	unsigned int rate = ib_rate_mbps(rec->rate_code);
	unsigned int port_rate = ib_rate_mbps(l->port.rate_code);

	if (!port_rate || rate <= port_rate)
		return false;
	text_add(t, "rate %u Mb/s above the port's %u", rate, port_rate);
	return true;
}

static void say_refused(struct ipoib_link *l, const char *status, const char *why)
{
	char gid[PRINT_GID_LEN];
	struct text t = ipoib_link_reason(l);

	text_add(&t, "join of %s refused: %s%s%s", print_gid(gid, sizeof(gid), &l->mgid), status,
		 *why ? ": " : "", why);
}

/*
 * Logs the link's reason after a failed join. Callers complete the reason first. The first line is
 * a warning. While joins continue to fail with the same status, further lines are debug messages.
 */
static void log_refused(struct ipoib_link *l)
{
	ipoib_log(l, l->refusal_said ? LOG_LVL_DEBUG : LOG_LVL_WARN, "%s", l->reason);
	l->refusal_said = true;
}

/*
 * Sets the link's reason after a join that the SA did not answer. The reason contains the SA
 * client's status.
 */
static void say_outage(struct ipoib_link *l, int status)
{
	char gid[PRINT_GID_LEN], text[SAC_STATUS_LEN];
	struct text t = ipoib_link_reason(l);

	text_add(&t, "joining %s%s: %s", print_gid(gid, sizeof(gid), &l->mgid),
		 l->joined ? " again" : "", sac_status_print(text, sizeof(text), status));
}

/*
 * Adds to the reason of a refused join the field that does not fit. After the refusal the SA was
 * asked for the record of the group, and @rec is this record.
 */
static void diagnosed(struct sac_group_query *q, int status, const struct ib_mcmember_rec *rec,
		      ns_t now)
{
	struct ipoib_link *l = container_of(q, struct ipoib_mcast, query)->link;
	char status_text[SAC_STATUS_LEN], why[128] = "";
	struct text t = { .buf = why, .size = sizeof(why) };

	if (l->joined || l->state != IPOIB_LINK_JOINING)
		return;
	l->no_group = status == SA_STATUS_NO_RECORDS;
	if (l->no_group)
		text_add(&t, "the group does not exist");
	else if (!status && !rec_unfit(l, rec, &t))
		rec_too_fast(l, rec, &t);
	say_refused(l, sac_status_print(status_text, sizeof(status_text), l->bcast->status), why);
	log_refused(l);
}

/*
 * Leaves all other groups, because the membership of the broadcast group was lost. The SA client
 * continues to ask for the membership, because the link keeps its reference to the broadcast group.
 */
static void bcast_lost(struct ipoib_link *l, ns_t now)
{
	struct ipoib_mcast *m;

	for_each_mcast(l, m)
	{
		if (!m->broadcast)
			ipoib_mcast_leave_all(m, now);
	}
	ipoib_paths_reset(l);
	ipoib_mcast_detach(l->bcast);
	l->bcast->full_ok = false;
	ipoib_ah_drop(l, &l->bcast->ah);
	ipoib_hold_drop(l, &l->bcast->held, IPOIB_DROP_LINK_DOWN);
	ipoib_mcast_set_state(l->bcast, IPOIB_MCAST_JOINING, 0);
	l->joined = l->renewing = false;
	ipoib_link_advance(l, now);
}

static void bcast_refused(struct ipoib_link *l, int status, ns_t now)
{
	struct ipoib_mcast *m = l->bcast;
	char text[SAC_STATUS_LEN];

	l->stats.joins_failed++;
	if (m->status != status)
		l->refusal_said = false;
	m->status = status;
	/*
	 * An SA that cannot be reached or does not answer may be restarting, so an existing
	 * membership stays in use.
	 */
	if (status < 0) {
		l->no_group = false;
		say_outage(l, status);
		if (!sac_status_is_outage(status))
			log_refused(l);
		return;
	}
	if (l->joined)
		bcast_lost(l, now);
	ipoib_link_group_again(l, now);
	say_refused(l, sac_status_print(text, sizeof(text), status), "");
	m->query.done = diagnosed;
	if (sac_group_ask(l->sac, &m->query, &l->mgid, now))
		log_refused(l);
}

/*
 * Leaves the broadcast group, because the record that the SA granted does not fit this port. The
 * join is repeated later.
 */
static void bcast_unfit(struct ipoib_link *l, const char *why, ns_t now)
{
	l->granted = false;
	l->stats.joins_failed++;
	l->refusal_said &= l->bcast->status == -EPROTO;
	l->bcast->status = -EPROTO;
	timer_arm(l->cfg.timers, &l->retry, now + join_backoff(l));
	if (l->joined)
		bcast_lost(l, now);
	sac_group_leave(l->sac, &l->bcast->full, now);
	ipoib_link_group_again(l, now);
	say_refused(l, "granted, but unfit", why);
	log_refused(l);
}

static bool rec_same(const struct ib_mcmember_rec *a, const struct ib_mcmember_rec *b)
{
	return a->qkey == b->qkey && a->mtu_code == b->mtu_code && a->sl == b->sl &&
	       a->rate_code == b->rate_code && a->tclass == b->tclass &&
	       a->flow_label == b->flow_label && a->hop_limit == b->hop_limit && a->pkey == b->pkey;
}

static void say_once(struct ipoib_link *l)
{
	if (l->qkey_said)
		return;
	l->qkey_said = true;
	if (!(l->qkey & IB_QKEY_CONTROLLED))
		ipoib_log(l, LOG_LVL_WARN, "Q_Key 0x%08x is not a controlled one (RFC 4391 §4.1)",
			  l->qkey);
	if (l->ip_mtu < IPOIB_MIN_IPV6_MTU)
		ipoib_log(l, LOG_LVL_WARN, "MTU %u is too small for IPv6", l->ip_mtu);
}

/*
 * Adopts the MTU, the Q_Key and the other parameters of the link from the answer to the join (RFC
 * 4391 §5).
 */
static void bcast_adopt(struct ipoib_link *l, const struct ib_mcmember_rec *rec, ns_t now)
{
	bool changed = l->joined && !rec_same(&l->group_rec, rec);
	bool other_sl = l->joined && l->group_rec.sl != rec->sl;
	uint32_t former_qkey = l->qkey;
	unsigned int mtu = l->profile->ip_mtu(ib_mtu_octets(rec->mtu_code));

	l->group_rec = *rec;
	l->qkey = rec->qkey;
	l->ip_mtu = l->cfg.max_ip_mtu && l->cfg.max_ip_mtu < mtu ? l->cfg.max_ip_mtu : mtu;
	l->joined = true;
	l->renewing = l->refusal_said = false;
	l->retries = 0;
	l->bcast->full_ok = true;
	ipoib_link_group_good(l);
	say_once(l);
	ipoib_link_sync_qp(l);
	ipoib_mcast_granted(l->bcast, rec, now);
	if (changed && l->up)
		ipoib_mcasts_renew(l, now);
	if (former_qkey != rec->qkey)
		ipoib_neighs_forget_qkey(l, former_qkey);
	/* The address handles of the paths still have the SL of the former record. */
	if (other_sl && l->sl_from == IPOIB_SL_GROUP)
		ipoib_paths_stale(l, now);
	ipoib_link_advance(l, now);
}

void ipoib_link_granted(struct ipoib_link *l, ns_t now)
{
	char why[128] = "";
	struct text t = { .buf = why, .size = sizeof(why) };

	if (ipoib_link_group_differs(l, &l->granted_rec, &t)) {
		if (l->joined && ipoib_link_group_renew(l, now)) {
			l->renewing = true;
			ipoib_link_advance(l, now);
			return;
		}
		bcast_unfit(l, why, now);
		ipoib_link_group_wrong(l, now);
	} else if (rec_unfit(l, &l->granted_rec, &t)) {
		bcast_unfit(l, why, now);
	} else if (ipoib_link_group_doubt(l, &l->granted_rec, now)) {
		l->renewing = l->joined;
		ipoib_link_advance(l, now);
	} else {
		ipoib_link_group_values(l, &l->granted_rec);
		bcast_adopt(l, &l->granted_rec, now);
	}
}

static void bcast_done(struct sac_group_ref *r, int status, const struct ib_mcmember_rec *rec,
		       ns_t now)
{
	struct ipoib_link *l = container_of(r, struct ipoib_mcast, full)->link;

	l->granted = !status;
	if (status) {
		bcast_refused(l, status, now);
		return;
	}
	l->no_group = false;
	l->granted_rec = *rec;
	if (ipoib_link_group_known(l))
		ipoib_link_granted(l, now);
}

void ipoib_link_check_mtu(struct ipoib_link *l, ns_t now)
{
	char why[128] = "";
	struct text t = { .buf = why, .size = sizeof(why) };

	if (l->joined && rec_unfit(l, &l->group_rec, &t))
		bcast_unfit(l, why, now);
}

void ipoib_link_event(struct sac_user *u, enum sac_event ev, const ib_gid *gid, ns_t now)
{
	struct ipoib_link *l = container_of(u, struct ipoib_link, user);
	bool bcast = gid && ib_gid_equal(gid, &l->mgid);

	/*
	 * If the profile has no .reports, Reports are ignored. Reports arrive if another user of
	 * the port has subscribed to them.
	 */
	if (ev != SAC_EV_RESTART && !l->profile->reports)
		return;
	switch (ev) {
	case SAC_EV_RESTART:
		ipoib_link_group_restart(l);
		ipoib_paths_stale(l, now);
		ipoib_mcasts_restart(l);
		ipoib_router_ask(l, now);
		l->renewing = l->joined;
		break;
	case SAC_EV_GID_IN:
	case SAC_EV_GID_OUT:
		ipoib_paths_stale_gid(l, gid, now);
		return;
	case SAC_EV_GROUP_CREATED:
		ipoib_mcast_created(l, gid, now);
		ipoib_router_created(l, gid, now);
		if (bcast)
			l->no_group = false;
		/* Join at once, even if the back-off is not over. */
		if (bcast && l->state == IPOIB_LINK_JOINING && !l->joined)
			ipoib_link_join(l, now);
		return;
	case SAC_EV_GROUP_DELETED:
		ipoib_router_deleted(l, gid, now);
		ipoib_mcast_deleted(l, gid, now);
		l->renewing |= bcast && l->joined;
		break;
	}
	ipoib_link_advance(l, now);
}

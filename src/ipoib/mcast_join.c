/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/mcast.h"

#include "ipoib/action.h"
#include "text/print.h"

/* Memberships of groups other than the broadcast group. */

static void full_done(struct sac_group_ref *r, int status, const struct ib_mcmember_rec *rec,
		      ns_t now);
static void so_done(struct sac_group_ref *r, int status, const struct ib_mcmember_rec *rec,
		    ns_t now);

/*
 * Returns a join with the parameters of the broadcast group. RFC 4391 §10: a group has the P_Key, Q_Key, SL, MTU
 * and HopLimit of the broadcast group. The other parameters are copied, too.
 */
static struct sac_join join_like_broadcast(const struct ipoib_mcast *m, uint8_t join_state,
					   bool create)
{
	struct sac_join j = {
		.rec = m->link->group_rec,
		.create = create,
		.tries = m->link->cfg.join_tries,
	};

	j.rec.mgid = m->mgid;
	j.rec.pkey = m->link->pkey;
	j.rec.join_state = join_state;
	j.rec.mlid = 0;
	return j;
}

static void say_ready(struct ipoib_mcast *m, int status)
{
	struct ipoib_action *a;

	if (!m->receivers)
		return;
	a = ipoib_act(m->link, IPOIB_ACT_MCAST_READY);
	a->mcast_ready.proto = m->proto;
	memcpy(a->mcast_ready.group, m->group, sizeof(m->group));
	a->mcast_ready.status = status;
}

struct ipoib_ah_attr ipoib_mcast_ah_attr(const struct ipoib_mcast *m,
					 const struct ib_mcmember_rec *rec)
{
	return (struct ipoib_ah_attr){
		.dlid = rec->mlid,
		.sl = rec->sl,
		.rate_code = rec->rate_code,
		.has_grh = true, /* multicast packets always have a GRH, RFC 4391 §6 */
		.tclass = rec->tclass,
		.hop_limit = rec->hop_limit,
		.flow_label = rec->flow_label,
		.dgid = m->mgid,
	};
}

static void mcast_ready(struct ipoib_mcast *m, ns_t now)
{
	m->failures = 0;
	ipoib_ah_drop(m->link, &m->lent);
	ipoib_mcast_set_state(m, IPOIB_MCAST_READY, 0);
	ipoib_mcast_release_held(m, now);
}

void ipoib_mcast_granted(struct ipoib_mcast *m, const struct ib_mcmember_rec *rec, ns_t now)
{
	struct ipoib_ah_attr attr = ipoib_mcast_ah_attr(m, rec);

	m->rec = *rec;
	m->status = 0;
	ipoib_mcast_attach(m);
	if (ipoib_mcast_lends(m))
		ipoib_mcasts_attach(m->link);
	if (ipoib_ah_same(&m->ah, &attr)) {
		mcast_ready(m, now);
	} else {
		ipoib_mcast_set_state(m, IPOIB_MCAST_AH_WAIT, 0);
		ipoib_ah_request(m->link, &m->ah, IPOIB_AH_MCAST, m->slot, &attr);
	}
}

static ns_t mcast_backoff(struct ipoib_mcast *m)
{
	return ns_backoff(++m->failures, IPOIB_BACKOFF_MIN, IPOIB_BACKOFF_MAX);
}

static void mcast_fail(struct ipoib_mcast *m, ns_t until, ns_t now)
{
	ipoib_ah_drop(m->link, &m->ah);
	ipoib_mcast_set_state(m, IPOIB_MCAST_FAILED, until);
	ipoib_mcast_release_held(m, now);
}

void ipoib_mcast_set_absent(struct ipoib_mcast *m, ns_t now)
{
	bool traps = sac_subscribed(m->link->sac);

	ipoib_mcast_set_state(m, IPOIB_MCAST_ABSENT,
			      now + (traps ? IPOIB_ABSENT_TTL : IPOIB_ABSENT_TTL_BLIND));
}

/*
 * Continues to send with an earlier membership, because the SA has refused the kind of membership
 * that was requested last.
 */
static void go_on_as_member(struct ipoib_mcast *m, ns_t now)
{
	const struct ib_mcmember_rec rec = m->rec;

	ipoib_mcast_granted(m, &rec, now);
}

/*
 * Handles a join of @r that was refused or not answered. If the link has another membership of the
 * group, the link continues to send packets. While r->group is set, the SA client repeats the join.
 * Otherwise the link repeats the join, at the time that this function stores.
 */
static void join_missed(struct ipoib_mcast *m, const struct sac_group_ref *r, ns_t now)
{
	ns_t until = r->group ? NS_NEVER : now + mcast_backoff(m);

	ipoib_mcast_attach(m);
	if (!ipoib_mcast_is_member(m)) {
		mcast_fail(m, until, now);
		return;
	}
	if (m->state == IPOIB_MCAST_JOINING)
		go_on_as_member(m, now);
	if (!r->group)
		m->until = until;
}

/*
 * Returns the name of a parameter in which the group differs from the broadcast group but must not
 * differ; NULL: no such parameter differs.
 */
static const char *rec_differs(const struct ipoib_mcast *m, const struct ib_mcmember_rec *rec)
{
	const struct ib_mcmember_rec *g = &m->link->group_rec;

	if (rec->qkey != g->qkey)
		return "Q_Key";
	if (rec->mtu_code != g->mtu_code)
		return "MTU";
	if ((rec->pkey ^ g->pkey) & 0x7fff)
		return "P_Key";
	return NULL;
}

static void mcast_log(const struct ipoib_mcast *m, const char *what, const char *why)
{
	char gid[PRINT_GID_LEN];

	/* RFC 4391 §12: failures of multicast operations are logged. */
	ipoib_log(m->link, LOG_LVL_WARN, "%s of %s: %s", what,
		  print_gid(gid, sizeof(gid), &m->mgid), why);
}

static void join_failed(struct ipoib_mcast *m, const char *what, int status)
{
	char text[SAC_STATUS_LEN];

	m->link->stats.joins_failed++;
	if (m->status != status && !sac_status_is_outage(status))
		mcast_log(m, what, sac_status_print(text, sizeof(text), status));
	m->status = status;
}

void ipoib_mcast_join_full(struct ipoib_mcast *m, ns_t now)
{
	struct sac_join j = join_like_broadcast(m, MCM_JOIN_FULL, true);
	int err;

	j.join_first = m->link->profile->join_first;
	sac_group_ask_cancel(&m->query);
	ipoib_mcast_attach(m);
	m->full.done = full_done;
	err = sac_group_join(m->link->sac, &m->full, &j, now);
	if (err) {
		join_failed(m, "join", err);
		say_ready(m, err);
		join_missed(m, &m->full, now);
	} else if (m->state != IPOIB_MCAST_READY && m->state != IPOIB_MCAST_AH_WAIT) {
		ipoib_mcast_set_state(m, IPOIB_MCAST_JOINING, 0);
	}
}

static void full_done(struct sac_group_ref *r, int status, const struct ib_mcmember_rec *rec,
		      ns_t now)
{
	struct ipoib_mcast *m = container_of(r, struct ipoib_mcast, full);
	const char *differs = status ? NULL : rec_differs(m, rec);

	if (!status && !differs) {
		m->full_ok = true;
		ipoib_mcast_granted(m, rec, now);
		/* a FullMember is allowed to send, so the send-only membership is not needed */
		ipoib_mcast_leave_sender(m, now);
		say_ready(m, 0);
		return;
	}
	if (differs) {
		mcast_log(m, "join, other than the broadcast group's", differs);
		m->link->stats.joins_failed++;
		status = m->status = -EPROTO;
		ipoib_mcast_leave_sender(m, now);
		ipoib_mcast_leave_non(m, now);
		ipoib_mcast_leave_full(m, now);
	} else {
		join_failed(m, "join", status);
	}
	say_ready(m, status);
	/* If the SA does not answer, an earlier membership stays in use. The SA client repeats the join. */
	if (status > 0)
		m->full_ok = false;
	join_missed(m, &m->full, now);
}

void ipoib_mcast_join_sender(struct ipoib_mcast *m, ns_t now)
{
	const struct ipoib_sender *s = &m->link->profile->sender;
	struct sac_join j = join_like_broadcast(m, s->join_state, s->creates);
	int err;

	if (ipoib_mcast_is_member(m)) {
		go_on_as_member(m, now);
		return;
	}
	m->so.done = so_done;
	err = sac_group_join(m->link->sac, &m->so, &j, now);
	if (err) {
		join_failed(m, "send-only join", err);
		ipoib_mcast_set_state(m, IPOIB_MCAST_FAILED, now + mcast_backoff(m));
	} else {
		ipoib_mcast_set_state(m, IPOIB_MCAST_JOINING, 0);
	}
}

/*
 * Tells whether a refusal of the send-only join means that the group does not exist. It does if the
 * SA was not asked before the join, the join creates no group, and no other membership shows that
 * the group exists.
 */
static bool so_asked(const struct ipoib_mcast *m)
{
	const struct ipoib_sender *s = &m->link->profile->sender;

	return !s->asks && !s->creates && !m->full_ok && !m->non_ok;
}

static void so_done(struct sac_group_ref *r, int status, const struct ib_mcmember_rec *rec,
		    ns_t now)
{
	struct ipoib_mcast *m = container_of(r, struct ipoib_mcast, so);
	const char *differs = status ? NULL : rec_differs(m, rec);

	if (!status && !differs) {
		m->so_ok = true;
		ipoib_mcast_granted(m, rec, now);
		return;
	}
	if (status < 0 && m->so_ok)
		return;
	if (status > 0 && so_asked(m)) {
		sac_group_leave(m->link->sac, &m->so, now);
		m->so_ok = false;
		m->status = status;
		ipoib_mcast_set_absent(m, now);
		ipoib_mcast_release_held(m, now);
		return;
	}
	if (differs) {
		mcast_log(m, "send-only join, other than the broadcast group's", differs);
		m->link->stats.joins_failed++;
	} else {
		join_failed(m, "send-only join", status);
	}
	sac_group_leave(m->link->sac, &m->so, now);
	m->so_ok = false;
	join_missed(m, &m->so, now);
}

/* Stops sending to the group if the link has no membership of the group any more. */
static void mcast_left(struct ipoib_mcast *m)
{
	if (ipoib_mcast_is_member(m))
		return;
	ipoib_ah_drop(m->link, &m->ah);
	if (m->state == IPOIB_MCAST_READY || m->state == IPOIB_MCAST_AH_WAIT)
		ipoib_mcast_set_state(m, IPOIB_MCAST_IDLE, 0);
}

void ipoib_mcast_leave_sender(struct ipoib_mcast *m, ns_t now)
{
	if (!m->so.group)
		return;
	sac_group_leave(m->link->sac, &m->so, now);
	m->so_ok = false;
	mcast_left(m);
}

void ipoib_mcast_leave_full(struct ipoib_mcast *m, ns_t now)
{
	m->full_ok = false;
	ipoib_mcast_attach(m);
	sac_group_leave(m->link->sac, &m->full, now);
	mcast_left(m);
}

static void non_done(struct sac_group_ref *r, int status, const struct ib_mcmember_rec *rec,
		     ns_t now)
{
	struct ipoib_mcast *m = container_of(r, struct ipoib_mcast, non);
	const char *differs = status ? NULL : rec_differs(m, rec);

	if (!status && !differs) {
		m->non_ok = true;
		ipoib_mcast_granted(m, rec, now);
		return;
	}
	if (status < 0) /* the SA gave no answer, and the SA client repeats the join */
		return;
	if (differs)
		mcast_log(m, "join of a router, other than the broadcast group's", differs);
	else if (status != SA_STATUS_REQ_INVALID) /* this status means that the group was deleted */
		join_failed(m, "join of a router", status);
	ipoib_mcast_leave_non(m, now);
}

void ipoib_mcast_join_non(struct ipoib_mcast *m, ns_t now)
{
	struct sac_join j = join_like_broadcast(m, MCM_JOIN_NON, false);
	int err;

	m->routed = true;
	m->non.done = non_done;
	err = sac_group_join(m->link->sac, &m->non, &j, now);
	if (!err)
		return;
	join_failed(m, "join of a router", err);
	ipoib_mcast_leave_non(m, now);
}

void ipoib_mcast_leave_non(struct ipoib_mcast *m, ns_t now)
{
	if (!m->routed)
		return;
	m->routed = m->non_ok = false;
	ipoib_mcast_attach(m);
	sac_group_leave(m->link->sac, &m->non, now);
	m->last_used = now;
	mcast_left(m);
}

void ipoib_mcast_leave_all(struct ipoib_mcast *m, ns_t now)
{
	sac_group_ask_cancel(&m->query);
	ipoib_mcast_leave_sender(m, now);
	ipoib_mcast_leave_non(m, now);
	ipoib_mcast_leave_full(m, now);
	ipoib_mcast_detach(m);
	ipoib_ah_drop(m->link, &m->ah);
	ipoib_ah_drop(m->link, &m->lent);
	m->lent_until = 0;
	list_del(&m->wait_node);
	m->failures = 0;
	ipoib_mcast_set_state(m, IPOIB_MCAST_IDLE, 0);
	ipoib_hold_drop(m->link, &m->held, IPOIB_DROP_LINK_DOWN);
}

void ipoib_mcasts_join(struct ipoib_link *l, ns_t now)
{
	struct ipoib_mcast *m;

	for_each_mcast(l, m)
	{
		if (m->receivers && m->broadcast)
			say_ready(m, 0);
		else if (m->receivers)
			ipoib_mcast_join_full(m, now);
	}
}

void ipoib_mcasts_renew(struct ipoib_link *l, ns_t now)
{
	const struct ipoib_sender *s = &l->profile->sender;
	struct ipoib_mcast *m;

	for_each_mcast(l, m)
	{
		struct sac_join j = join_like_broadcast(m, s->join_state, s->creates);

		if (s->creates && m->so.group && sac_group_join(l->sac, &m->so, &j, now))
			ipoib_mcast_leave_sender(m, now);
	}
	ipoib_mcasts_join(l, now);
}

void ipoib_mcast_ah_ready(struct ipoib_mcast *m, int err, ns_t now)
{
	if (err) {
		mcast_log(m, "address handle", "refused by the CA");
		/*
		 * Receiving needs no address handle, so the group stays attached. The next packet
		 * or sweep (IPOIB_SWEEP) requests a new handle.
		 */
		mcast_fail(m, now + mcast_backoff(m), now);
	} else {
		mcast_ready(m, now);
	}
	if (m->broadcast)
		ipoib_link_advance(m->link, now);
}

void ipoib_mcast_created(struct ipoib_link *l, const ib_gid *mgid, ns_t now)
{
	struct ipoib_mcast *m = ipoib_mcast_find(l, mgid);

	if (!m || m->broadcast || m->full.group)
		return;
	if (m->state != IPOIB_MCAST_ABSENT && m->state != IPOIB_MCAST_FAILED)
		return;
	/*
	 * RFC 4391 §10: until now packets to this group were sent to the all-routers group; from
	 * now on they are sent to this group.
	 */
	ipoib_mcast_set_state(m, IPOIB_MCAST_IDLE, 0);
	ipoib_mcast_release_held(m, now);
}

void ipoib_mcast_deleted(struct ipoib_link *l, const ib_gid *mgid, ns_t now)
{
	struct ipoib_mcast *m = ipoib_mcast_find(l, mgid);

	if (!m || m->broadcast || m->state == IPOIB_MCAST_QUERY)
		return;
	m->full_ok = false;
	ipoib_mcast_leave_sender(m, now);
	ipoib_ah_drop(l, &m->ah);
	if (m->full.group) /* the SA client joins again, which creates the group */
		ipoib_mcast_set_state(m, IPOIB_MCAST_JOINING, 0);
	else
		ipoib_mcast_set_absent(m, now);
	ipoib_mcast_release_held(m, now);
}

void ipoib_mcasts_restart(struct ipoib_link *l)
{
	struct ipoib_mcast *m;

	for_each_mcast(l, m)
	{
		if (!m->broadcast && !m->full.group && !m->so.group &&
		    (m->state == IPOIB_MCAST_ABSENT || m->state == IPOIB_MCAST_FAILED))
			ipoib_mcast_set_state(m, IPOIB_MCAST_IDLE, 0);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "sac/op.h"
#include "text/print.h"

/*
 * The SA sees one membership of this port in a group, with one set of JoinState bits, even if the
 * group has many references. The client stores three sets of JoinState bits. `want` is the union of
 * the bits in the references. `have` has the bits that the SA has granted. `may` has the bits that
 * the SA may have recorded; these can be more than `have`, because the answer to a join can get
 * lost, or come after a restart. group_step() is called after each change of one of the sets. It
 * sends the request that brings `have` and `may` closer to `want`.
 */

/*
 * MGID, PortGID, P_Key, JoinState (0x10083): the components with which Linux joins the broadcast
 * group
 */
#define MCM_COMP_JOIN (MCM_COMP_MGID | MCM_COMP_PORT_GID | MCM_COMP_PKEY | MCM_COMP_JOIN_STATE)
/* 0x173f7: all components that creating a group needs */
#define MCM_COMP_CREATE                                                                      \
	(MCM_COMP_JOIN | MCM_COMP_QKEY | MCM_COMP_MTU_SEL | MCM_COMP_MTU | MCM_COMP_TCLASS | \
	 MCM_COMP_RATE_SEL | MCM_COMP_RATE | MCM_COMP_SL | MCM_COMP_FLOW_LABEL |             \
	 MCM_COMP_HOP_LIMIT)
#define MCM_COMP_LEAVE (MCM_COMP_MGID | MCM_COMP_PORT_GID | MCM_COMP_JOIN_STATE)
#define MCM_JOIN_ALL \
	(MCM_JOIN_FULL | MCM_JOIN_NON | MCM_JOIN_SEND_ONLY_NON | MCM_JOIN_SEND_ONLY_FULL)

struct sac_group {
	struct hlink by_mgid;
	struct list all;
	struct list refs;
	struct list calling; /* references that the running group_call() has not examined yet */
	bool pinned; /* true while group_call() runs, so that the group is not freed */
	struct sac *sac;
	ib_gid mgid;
	uint8_t have, may;
	uint8_t asked; /* JoinState bits of the request in .op */
	/* the SA refused a join with several bits, so each later join has only one bit */
	bool apart;
	/*
	 * JoinState bits that the SA refused in a join with one bit; they are requested again at
	 * .retry_at, other bits at once
	 */
	uint8_t refused;
	bool leaving; /* true if the request in .op is a Delete */
	/*
	 * a join with MGID, PortGID, P_Key and JoinState alone was refused, so the next join has
	 * all parameters and creates the group
	 */
	bool creating;
	bool overtaken; /* the references have changed since the request in .op was sent */
	/*
	 * the client was not subscribed to Reports when the last join was granted, so the client
	 * may have missed the end of the group
	 */
	bool blind;
	struct sac_op op;
	/* timer for the end of a back-off, or for callbacks that have to be called */
	struct timer timer;
	int status;
	unsigned int failures, leave_failures;
	ns_t retry_at;
	struct ib_mcmember_rec rec;
};

/*
 * number of tries of a Delete. If none is answered, the client assumes that the SA has restarted,
 * and has lost the membership, or that the SM will set ClientReregister
 */
#define LEAVE_TRIES 3

static void group_step(struct sac_group *g, ns_t now);

static uint64_t mgid_hash(const ib_gid *mgid)
{
	static const struct hash_key hk = { 0x7361632067726f75ull, 1 };

	return hash_siphash(&hk, mgid->raw, sizeof(mgid->raw));
}

static struct sac_group *group_find(const struct sac *s, const ib_gid *mgid)
{
	struct hlink *n;

	for (n = htab_first(&s->group_tab, mgid_hash(mgid)); n; n = htab_next(n)) {
		struct sac_group *g = container_of(n, struct sac_group, by_mgid);

		if (ib_gid_equal(&g->mgid, mgid))
			return g;
	}
	return NULL;
}

static void group_timer(struct timer *t, ns_t now);

static struct sac_group *group_new(struct sac *s, const ib_gid *mgid)
{
	struct sac_group *g;

	if (s->ngroups >= SAC_MAX_GROUPS)
		return NULL;
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	if (htab_add(&s->group_tab, &g->by_mgid, mgid_hash(mgid))) {
		free(g);
		return NULL;
	}
	g->sac = s;
	g->mgid = *mgid;
	list_init(&g->refs);
	list_init(&g->calling);
	list_add_tail(&s->groups, &g->all);
	timer_init(&g->timer, group_timer);
	s->ngroups++;
	return g;
}

static void group_free(struct sac_group *g)
{
	struct sac *s = g->sac;

	sac_op_cancel(&g->op);
	timer_cancel(s->timers, &g->timer);
	htab_del(&s->group_tab, &g->by_mgid);
	list_del(&g->all);
	s->ngroups--;
	free(g);
}

static uint8_t refs_want(const struct list *refs)
{
	const struct sac_group_ref *r;
	uint8_t want = 0;

	list_for_each (r, refs, link)
		want |= r->join.rec.join_state;
	return want;
}

static uint8_t group_want(const struct sac_group *g)
{
	return refs_want(&g->refs) | refs_want(&g->calling);
}

/* Return the JoinState bits that the SA has granted, without the bits that an open Delete removes */
static uint8_t group_holds(const struct sac_group *g)
{
	return g->op.active && g->leaving ? g->have & (uint8_t)~g->asked : g->have;
}

static bool ref_granted(const struct sac_group *g, const struct sac_group_ref *r)
{
	return !(r->join.rec.join_state & ~group_holds(g));
}

/*
 * Calls done() of the references whose bits were just granted. If @status is not 0, also calls
 * done() of the references that want a bit of the failed join.
 */
static void group_call(struct sac_group *g, int status, ns_t now)
{
	const struct ib_mcmember_rec rec = g->rec;

	if (g->pinned)
		return;
	g->pinned = true;
	while (!list_empty(&g->refs)) {
		struct list *n = g->refs.next;

		list_del(n);
		list_add_tail(&g->calling, n);
	}
	while (!list_empty(&g->calling)) {
		struct sac_group_ref *r = list_first(&g->calling, struct sac_group_ref, link);
		bool granted = ref_granted(g, r);

		list_del(&r->link);
		list_add_tail(&g->refs, &r->link);
		if (granted && !r->told) {
			r->told = true;
			r->done(r, 0, &rec, now);
		} else if (!granted && status && (r->join.rec.join_state & g->asked)) {
			r->done(r, status, NULL, now);
		}
	}
	g->pinned = false;
}

static bool group_has_calls(const struct sac_group *g)
{
	const struct sac_group_ref *r;

	list_for_each (r, &g->refs, link) {
		if (ref_granted(g, r) && !r->told)
			return true;
	}
	return false;
}

static void group_timer(struct timer *t, ns_t now)
{
	struct sac_group *g = container_of(t, struct sac_group, timer);

	group_call(g, 0, now);
	group_step(g, now);
}

/*
 * Returns the parameters for a join of @bits: those of a reference that wants one of the bits,
 * preferably of a reference that can create the group.
 */
static const struct sac_join *group_template(const struct sac_group *g, uint8_t bits)
{
	const struct sac_group_ref *r, *best = NULL;

	list_for_each (r, &g->refs, link) {
		if (!(r->join.rec.join_state & bits))
			continue;
		if (!best || (r->join.create && !best->join.create))
			best = r;
	}
	return best ? &best->join : NULL;
}

static bool join_creates(const struct sac_group *g, const struct sac_join *j)
{
	return j && j->create && (!j->join_first || g->creating);
}

static void join_fill(struct sac_op *op, uint8_t mad[MAD_LEN])
{
	struct sac_group *g = container_of(op, struct sac_group, op);
	const struct sac_join *j = group_template(g, g->asked);
	struct ib_mcmember_rec rec = { .pkey = IB_PKEY_DEFAULT };

	if (j)
		rec = j->rec;
	rec.mgid = g->mgid;
	rec.port_gid = g->sac->port.gid;
	rec.join_state = g->asked;
	rec.mtu_sel = rec.rate_sel = SA_SEL_EXACT;
	sac_op_headers(op, mad, MAD_METHOD_SET, SA_ATTR_MCMEMBER_RECORD,
		       join_creates(g, j) ? MCM_COMP_CREATE : MCM_COMP_JOIN);
	ib_mcmember_rec_encode(mad + SA_DATA_OFF, &rec);
}

/*
 * Checks and decodes the answer to a join. The answer must contain the MGID of this group and a
 * multicast LID, because otherwise packets would be sent to other groups or ports.
 */
static int join_answer(const struct sac_group *g, const struct sa_mad *resp,
		       struct ib_mcmember_rec *ret)
{
	int err = ib_mcmember_rec_decode(ret, resp->data, resp->data_len);

	if (err)
		return err;
	if (!ib_gid_equal(&ret->mgid, &g->mgid) || !ib_lid_is_mcast(ret->mlid))
		return -EBADMSG;
	return 0;
}

static void group_log(const struct sac_group *g, enum log_level lvl, const char *what, int status)
{
	char gid[PRINT_GID_LEN], text[SAC_STATUS_LEN];

	sac_log(g->sac, lvl, "sa: %s of %s, JoinState 0x%x: %s", what,
		print_gid(gid, sizeof(gid), &g->mgid), g->asked,
		sac_status_print(text, sizeof(text), status));
}

static void join_failed(struct sac_group *g, int status, ns_t now)
{
	/*
	 * This line has the level debug, because each user of a reference logs what the failure
	 * means to this user (RFC 4391 §12).
	 */
	group_log(g, LOG_LVL_DEBUG, "join", status);
	g->status = status;
	if (status > 0)
		g->may &= (uint8_t)~g->asked;
	/*
	 * If the SA refuses JoinState bits in several joins, the back-off begins with the first
	 * refusal, and later refusals do not lengthen it.
	 */
	if (!g->refused) {
		g->failures++;
		g->retry_at = now + sac_backoff(g->sac, g->failures, status);
	}
	if (status > 0 && g->apart)
		g->refused |= g->asked;
}

static void join_granted(struct sac_group *g, const struct ib_mcmember_rec *rec)
{
	g->rec = *rec;
	g->have |= g->asked;
	g->blind = !sac_subscribed(g->sac);
	g->status = 0;
	/*
	 * If the SA has refused JoinState bits, the back-off of these bits is still running, so
	 * .failures and .retry_at stay.
	 */
	if (g->refused)
		return;
	g->failures = 0;
	g->retry_at = 0;
}

/*
 * An SA refuses a join as a whole, although it might grant some of its bits. For example, a port
 * may be NonMember of a group whose rate is too high for a FullMember. Returns true if @status
 * refuses a join with several bits, so that the bits have to be requested one by one.
 */
static bool join_splits(struct sac_group *g, int status)
{
	if (status <= 0 || !(g->asked & (g->asked - 1)))
		return false;
	group_log(g, LOG_LVL_DEBUG, "join", status);
	g->may &= (uint8_t)~g->asked;
	g->apart = true;
	return true;
}

/*
 * Tells whether to join again, this time with the parameters that create the group, because a join
 * without parameters was refused and the group may not exist.
 */
static bool join_goes_on(struct sac_group *g, int status)
{
	const struct sac_join *j = group_template(g, g->asked);
	bool created = g->creating;

	g->creating = false;
	if (status <= 0 || created || !j || !j->create || !j->join_first)
		return false;
	group_log(g, LOG_LVL_DEBUG, "join", status);
	g->may &= (uint8_t)~g->asked;
	g->creating = true;
	return true;
}

static void join_done(struct sac_op *op, int status, const struct sa_mad *resp, ns_t now)
{
	struct sac_group *g = container_of(op, struct sac_group, op);
	struct ib_mcmember_rec rec;

	if (!status)
		status = join_answer(g, resp, &rec);
	if (status > 0 && g->overtaken) {
		g->may &= (uint8_t)~g->asked;
		g->creating = false;
		group_step(g, now);
		return;
	}
	if (join_splits(g, status) || join_goes_on(g, status)) {
		group_step(g, now);
		return;
	}
	if (status)
		join_failed(g, status, now);
	else
		join_granted(g, &rec);
	group_call(g, status, now);
	group_step(g, now);
}

static void leave_fill(struct sac_op *op, uint8_t mad[MAD_LEN])
{
	struct sac_group *g = container_of(op, struct sac_group, op);
	struct ib_mcmember_rec rec = {
		.mgid = g->mgid,
		.port_gid = g->sac->port.gid,
		.join_state = g->asked,
	};

	sac_op_headers(op, mad, MAD_METHOD_DELETE, SA_ATTR_MCMEMBER_RECORD, MCM_COMP_LEAVE);
	ib_mcmember_rec_encode(mad + SA_DATA_OFF, &rec);
}

static void leave_done(struct sac_op *op, int status, const struct sa_mad *resp, ns_t now)
{
	struct sac_group *g = container_of(op, struct sac_group, op);

	/*
	 * If the SA has carried out a Delete but its answer was lost, the SA refuses the repeated
	 * Delete. That is no error.
	 */
	if (status && status != SA_STATUS_REQ_INVALID)
		group_log(g, sac_status_is_outage(status) ? LOG_LVL_DEBUG : LOG_LVL_WARN, "leave",
			  status);
	g->have &= (uint8_t)~g->asked;
	if (status < 0 && ++g->leave_failures < LEAVE_TRIES) {
		g->retry_at = now + sac_backoff(g->sac, g->leave_failures, status);
	} else {
		g->may &= (uint8_t)~g->asked;
		g->leave_failures = 0;
	}
	group_call(g, 0, now);
	group_step(g, now);
}

static void group_submit(struct sac_group *g, bool leaving, uint8_t bits, ns_t now)
{
	const struct sac_join *j = group_template(g, bits);
	struct sac *s = g->sac;

	g->op.tries = !leaving && j ? j->tries : (struct sac_tries){ 0 };
	g->leaving = leaving;
	g->asked = bits;
	g->overtaken = false;
	g->op.fill = leaving ? leave_fill : join_fill;
	g->op.done = leaving ? leave_done : join_done;
	if (leaving) {
		s->stats.leaves++;
	} else {
		s->stats.joins++;
		g->may |= bits;
	}
	sac_op_submit(s, &g->op, true, now);
}

/* Returns the JoinState bits that are wanted and neither granted nor refused. */
static uint8_t group_lacks(const struct sac_group *g, uint8_t want)
{
	return want & (uint8_t)~g->have & (uint8_t)~g->refused;
}

/*
 * Sends the next request for the group. @due: some references wait for a callback, which the timer
 * has to make at once
 */
static void group_ask(struct sac_group *g, uint8_t want, bool due, ns_t now)
{
	uint8_t join = group_lacks(g, want);
	uint8_t leave = g->may & (uint8_t)~want;

	if (g->apart)
		join &= (uint8_t)-join;
	/*
	 * A Delete has only one bit, because an SA refuses a Delete in which one of the bits is not
	 * in the membership.
	 */
	if (join)
		group_submit(g, false, join, now);
	else
		group_submit(g, true, leave & (uint8_t)-leave, now);
	timer_arm(g->sac->timers, &g->timer, due ? now : NS_NEVER);
}

/* Sends the next request for the group, or frees the group if none is needed. */
static void group_step(struct sac_group *g, ns_t now)
{
	struct sac *s = g->sac;
	uint8_t want = group_want(g);
	bool due = group_has_calls(g);

	if (g->pinned)
		return;
	if (g->op.active) {
		timer_arm(s->timers, &g->timer, due ? now : NS_NEVER);
		return;
	}
	/*
	 * On a port that the kernel's IPoIB uses, too, no Delete is sent, because the kernel may
	 * need the membership.
	 */
	if (s->shared)
		g->may = g->have &= want;
	if (!want && !g->may) {
		group_free(g);
		return;
	}
	if (!sac_usable(s)) {
		timer_cancel(s->timers, &g->timer);
		return;
	}
	if (now >= g->retry_at)
		g->refused = 0;
	if (!(want & ~g->have))
		g->apart = false;
	if (!(want & ~g->have) && !(g->may & ~want))
		timer_arm(s->timers, &g->timer, due ? now : NS_NEVER);
	else if (now < g->retry_at && !(g->refused && group_lacks(g, want)))
		timer_arm(s->timers, &g->timer, due ? now : g->retry_at);
	else
		group_ask(g, want, due, now);
}

static bool join_valid(const struct sac_group_ref *r, const struct sac_join *j)
{
	if (!ib_gid_is_mcast(&j->rec.mgid))
		return false;
	if (!j->rec.join_state || (j->rec.join_state & ~MCM_JOIN_ALL))
		return false;
	return !r->group || ib_gid_equal(&r->group->mgid, &j->rec.mgid);
}

/*
 * Removes a queued request of the group. A request that was sent stays open until it is answered.
 */
static void group_unqueue(struct sac_group *g)
{
	if (g->op.active && !sac_op_is_open(&g->op))
		sac_op_cancel(&g->op);
}

int sac_group_join(struct sac *s, struct sac_group_ref *r, const struct sac_join *j, ns_t now)
{
	struct sac_group *g = r->group;

	if (!join_valid(r, j))
		return -EINVAL;
	if (!g)
		g = group_find(s, &j->rec.mgid);
	if (!g)
		g = group_new(s, &j->rec.mgid);
	if (!g)
		return -ENOBUFS;
	if (!r->group) {
		r->group = g;
		list_add_tail(&g->refs, &r->link);
	}
	r->join = *j;
	r->told = false;
	if (!ref_granted(g, r)) {
		g->retry_at = 0;
		g->failures = 0;
		g->creating = false;
	}
	group_unqueue(g);
	g->overtaken = g->op.active;
	group_step(g, now);
	return 0;
}

void sac_group_leave(struct sac *s, struct sac_group_ref *r, ns_t now)
{
	struct sac_group *g = r->group;

	if (!g)
		return;
	r->group = NULL;
	list_del(&r->link);
	group_unqueue(g);
	group_step(g, now);
}

void sac_groups_restart(struct sac *s, ns_t now)
{
	struct sac_group *g, *tmp;

	list_for_each_safe (g, tmp, &s->groups, all) {
		struct sac_group_ref *r;

		sac_op_cancel(&g->op);
		g->have =
			/*
			 * the SA may still have the membership after a restart of the client, so
			 * `may` keeps its bits
			 */
			0;
		g->failures = g->leave_failures = 0;
		g->apart = g->creating = false;
		g->refused = 0;
		g->retry_at = 0;
		list_for_each (r, &g->refs, link)
			r->told = false;
		group_step(g, now);
	}
}

void sac_groups_shutdown(struct sac *s, ns_t now)
{
	struct sac_group *g, *tmp;

	list_for_each_safe (g, tmp, &s->groups, all) {
		if (group_want(g))
			continue;
		if (!g->leaving)
			sac_op_cancel(&g->op);
		g->retry_at = 0;
		group_step(g, now);
	}
}

void sac_groups_hurry(struct sac *s, ns_t now)
{
	struct sac_group *g;

	list_for_each (g, &s->groups, all) {
		if (!sac_status_is_outage(g->status) || g->op.active)
			continue;
		g->retry_at = 0;
		timer_arm(s->timers, &g->timer, now);
	}
}

/*
 * Forgets what the SA has granted, because the SA may have ended the membership. `may` keeps its
 * bits, because the end is not certain.
 */
static void group_doubt(struct sac_group *g)
{
	struct sac_group_ref *r;

	g->have = 0;
	list_for_each (r, &g->refs, link)
		r->told = false;
}

/*
 * Doubts the membership. The membership may still exist, because a Report that arrives late may be
 * about an earlier group with this MGID.
 */
void sac_groups_deleted(struct sac *s, const ib_gid *mgid)
{
	struct sac_group *g = group_find(s, mgid);

	if (g)
		group_doubt(g);
}

/*
 * Joins again the groups whose end the client may have missed. A group with a FullMember or a
 * SendOnlyFullMember does not end. So groups of which this port is such a member are not joined
 * again.
 */
void sac_groups_verify(struct sac *s, ns_t now)
{
	struct sac_group *g, *tmp;

	list_for_each_safe (g, tmp, &s->groups, all) {
		if (!g->blind || g->have & (MCM_JOIN_FULL | MCM_JOIN_SEND_ONLY_FULL))
			continue;
		g->blind = false;
		group_doubt(g);
		group_step(g, now);
	}
}

void sac_groups_resume(struct sac *s, const ib_gid *mgid, ns_t now)
{
	struct sac_group *g = group_find(s, mgid);

	if (g)
		group_step(g, now);
}

/*
 * Joins all groups again from time to time on a port that the kernel's IPoIB uses, too. When the
 * kernel leaves a group, the port's membership ends, and the client does not notice it.
 */
static void groups_rejoin(struct timer *t, ns_t now)
{
	struct sac *s = container_of(t, struct sac, rejoin);

	timer_arm(s->timers, t, now + SAC_SHARED_REJOIN);
	if (sac_usable(s))
		sac_groups_restart(s, now);
}

void sac_groups_init(struct sac *s)
{
	list_init(&s->groups);
	list_init(&s->asks);
	timer_init(&s->rejoin, groups_rejoin);
	if (s->shared)
		timer_arm(s->timers, &s->rejoin, SAC_SHARED_REJOIN);
}

void sac_groups_fini(struct sac *s)
{
	struct sac_group *g, *tmp;

	list_for_each_safe (g, tmp, &s->groups, all) {
		while (!list_empty(&g->refs)) {
			list_first(&g->refs, struct sac_group_ref, link)->group = NULL;
			list_del(g->refs.next);
		}
		group_free(g);
	}
	timer_cancel(s->timers, &s->rejoin);
	htab_fini(&s->group_tab);
}

void sac_group_each(const struct sac *s, void (*fn)(void *ctx, const struct sac_group_info *i),
		    void *ctx)
{
	const struct sac_group *g;

	list_for_each (g, &s->groups, all) {
		struct sac_group_info i = {
			.mgid = g->mgid,
			.want = group_want(g),
			.have = g->have,
			.status = g->status,
			.failures = g->failures,
			.retry_at = g->failures ? g->retry_at : NS_NEVER,
			.rec = g->rec,
		};
		const struct list *n;

		for (n = g->refs.next; n != &g->refs; n = n->next)
			i.refs++;
		fn(ctx, &i);
	}
}

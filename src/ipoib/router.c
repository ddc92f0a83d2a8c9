/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/mcast.h"
#include "text/print.h"

/*
 * A multicast router must receive every group of a link. On Ethernet the router's interface is
 * promiscuous. An IPoIB interface does three things instead (RFC 4391 §11): it asks the SA for the
 * list of the link's groups, joins each group as NonMember, and learns of new groups from traps 66.
 * A NonMember does not keep the group alive.
 *
 * The subscription to traps 66 and 67 must be complete before the list is requested. Otherwise the router would miss
 * a group that is created between the list and the subscription. So if the list was requested too early, it is
 * requested again soon.
 */

static void group_found(struct ipoib_link *l, const ib_gid *mgid, ns_t now)
{
	struct ipoib_mcast *m;
	uint8_t group[16];
	int version = l->profile->mgid_group(group, mgid, &l->map);

	if (version < 0 || !l->up)
		/*
		 * the MGID is that of no IP group of this link, or the answer came after the link
		 * went down
		 */
		return;
	if (!ipoib_mcast_get(l, version == 4 ? IPOIB_IPV4 : IPOIB_IPV6, group, &m)) {
		if (!m->routed && !m->broadcast)
			ipoib_mcast_join_non(m, now);
	} else if (!l->router_full_logged) {
		l->router_full_logged = true;
		ipoib_log(l, LOG_LVL_WARN, "more groups than %u: the router does not receive all",
			  IPOIB_MAX_GROUPS);
	}
}

static void list_done(struct sac_group_query *q, int status, const struct ib_mcmember_rec *rec,
		      ns_t now)
{
	struct ipoib_link *l = container_of(q, struct ipoib_link, router_list);
	char text[SAC_STATUS_LEN];
	ns_t wait;

	if (rec) {
		group_found(l, &rec->mgid, now);
		return;
	}
	if (status) {
		wait = ns_backoff(++l->router_failures, IPOIB_BACKOFF_MIN, IPOIB_BACKOFF_MAX);
		if (l->router_failures == 1 && !sac_status_is_outage(status))
			ipoib_log(l, LOG_LVL_WARN, "list of all groups, for the router: %s",
				  sac_status_print(text, sizeof(text), status));
	} else {
		l->router_failures = 0;
		wait = l->router_sure ? IPOIB_ROUTER_LIST : IPOIB_ABSENT_TTL_BLIND;
	}
	timer_arm(l->cfg.timers, &l->router_timer, now + wait);
}

static void ask_again(struct timer *t, ns_t now)
{
	ipoib_router_ask(container_of(t, struct ipoib_link, router_timer), now);
}

static int all_routers_of(struct ipoib_link *l, enum ipoib_proto proto, ns_t now)
{
	if (!ipoib_profile_has(l->profile, proto))
		return 0;
	return ipoib_mcast_add(l, proto, ipoib_all_routers[proto], now);
}

/*
 * Joins the all-routers groups as FullMember, because senders fall back to these groups (RFC 4391
 * §10).
 */
static int all_routers_add(struct ipoib_link *l, ns_t now)
{
	int err = all_routers_of(l, IPOIB_IPV4, now);

	if (err)
		return err;
	err = all_routers_of(l, IPOIB_IPV6, now);
	if (err)
		ipoib_mcast_del(l, IPOIB_IPV4, ipoib_all_routers[IPOIB_IPV4], now);
	return err;
}

static void all_routers_del(struct ipoib_link *l, ns_t now)
{
	ipoib_mcast_del(l, IPOIB_IPV4, ipoib_all_routers[IPOIB_IPV4], now);
	ipoib_mcast_del(l, IPOIB_IPV6, ipoib_all_routers[IPOIB_IPV6], now);
}

void ipoib_router_init(struct ipoib_link *l)
{
	timer_init(&l->router_timer, ask_again);
}

int ipoib_link_set_router(struct ipoib_link *l, bool router, ns_t now)
{
	struct ipoib_mcast *m;
	int err;

	if (router == l->router)
		return 0;
	if (!router) {
		ipoib_router_stop(l);
		l->router = false;
		for_each_mcast(l, m) ipoib_mcast_leave_non(m, now);
		all_routers_del(l, now);
		return 0;
	}
	if (!l->profile->reports)
		return -EOPNOTSUPP;
	err = all_routers_add(l, now);
	if (err)
		return err;
	l->router = true;
	ipoib_router_ask(l, now);
	return 0;
}

void ipoib_router_ask(struct ipoib_link *l, ns_t now)
{
	if (!l->router || !l->up)
		return;
	timer_cancel(l->cfg.timers, &l->router_timer);
	l->router_list.done = list_done;
	l->router_sure = sac_subscribed(l->sac);
	if (sac_group_list(l->sac, &l->router_list, l->pkey, now))
		timer_arm(l->cfg.timers, &l->router_timer, now + IPOIB_BACKOFF_MIN);
}

void ipoib_router_stop(struct ipoib_link *l)
{
	if (!l->router)
		return;
	sac_group_ask_cancel(&l->router_list);
	timer_cancel(l->cfg.timers, &l->router_timer);
	l->router_full_logged = false;
}

void ipoib_router_created(struct ipoib_link *l, const ib_gid *mgid, ns_t now)
{
	if (l->router)
		group_found(l, mgid, now);
}

/*
 * Arranges that the list of all groups is requested again soon, by the timer or when the open
 * request is answered.
 */
static void doubt_list(struct ipoib_link *l, ns_t now)
{
	ns_t soon = now + IPOIB_ABSENT_TTL_BLIND;

	l->router_sure = false;
	if (timer_armed(&l->router_timer) && l->router_timer.deadline > soon)
		timer_arm(l->cfg.timers, &l->router_timer, soon);
}

void ipoib_router_deleted(struct ipoib_link *l, const ib_gid *mgid, ns_t now)
{
	struct ipoib_mcast *m = ipoib_mcast_find(l, mgid);

	if (!m || !m->routed)
		return;
	ipoib_mcast_leave_non(m, now);
	/*
	 * The Report of the deletion may be a repetition, about an earlier group with this MGID. It
	 * may then arrive after the Report that the present group was created. So the list of
	 * groups is requested again.
	 */
	doubt_list(l, now);
}

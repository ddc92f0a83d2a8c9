/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "eth/priv.h"

/*
 * DOC: Groups of the kernel
 *
 * What the kernel and the stations behind the TAP want to receive is learnt from the reports they
 * send. For the kernel itself that is compared with its own lists from time to time, since it
 * reports nothing of 224.0.0.1, ff02::1 or with IGMP turned off. Stations have no lists we could
 * read: they are asked (query.c), each is remembered with the groups it reported, and a group is
 * left when nobody is left in it. The IB join comes before the report is let through, so that what the
 * report asks for is not lost (draft-kashyap-ipoib-ipv4-multicast-01 §6.2).
 *
 * Reports leave in the order in which they came: a leave must not overtake the join before it.
 * So one that waits keeps those behind it waiting too, for two seconds at the most.
 */

#define REPORT_MAX 4096

static const uint8_t all_systems4[16] = { 224, 0, 0, 1 };
static const uint8_t all_nodes6[16] = { 0xff, 0x02, [15] = 1 };

static const struct hash_key group_key = { 0x7569706f69622d67ull, 0x726f7570732d7631ull };

static size_t alen(enum ipoib_proto proto)
{
	return proto == IPOIB_IPV4 ? 4 : 16;
}

static uint64_t group_hash(enum ipoib_proto proto, const uint8_t *addr)
{
	return hash_siphash(&group_key, addr, alen(proto));
}

static struct eth_group *group_find(const struct eth_if *e, enum ipoib_proto proto,
				    const uint8_t *addr)
{
	struct hnode *n;

	for (n = htab_first(&e->group_tab, group_hash(proto, addr)); n; n = htab_next(n)) {
		struct eth_group *g = container_of(n, struct eth_group, by_addr);

		if (g->proto == proto && !memcmp(g->addr, addr, alen(proto)))
			return g;
	}
	return NULL;
}

/* --- who reported it */

static struct eth_member *member_find(const struct eth_group *g, uint32_t station)
{
	struct eth_member *m;

	list_for_each (m, &g->members, link)
		if (m->station == station)
			return m;
	return NULL;
}

static void member_free(struct eth_if *e, struct eth_member *m)
{
	if (!m)
		return;
	list_del(&m->link);
	e->nmembers--;
	free(m);
}

static void member_seen(struct eth_if *e, struct eth_group *g, uint32_t station, ns_t now)
{
	struct eth_member *m = member_find(g, station);

	if (!m) {
		m = e->nmembers < ETH_MEMBERS_MAX ? calloc(1, sizeof(*m)) : NULL;
		if (!m)
			return;
		m->station = station;
		list_add_tail(&g->members, &m->link);
		e->nmembers++;
	}
	m->reported = now;
}

static void members_expire(struct eth_if *e, struct eth_group *g, ns_t now)
{
	struct eth_member *m, *tmp;

	list_for_each_safe (m, tmp, &g->members, link)
		if (now >= m->reported + ETH_REPORT_LIFE)
			member_free(e, m);
}

/* --- groups */

/* NULL: no group, or no room */
static struct eth_group *group_new(struct eth_if *e, enum ipoib_proto proto, const uint8_t *addr,
				   ns_t now)
{
	struct eth_group *g = e->ngroups < ETH_GROUPS_MAX ? calloc(1, sizeof(*g)) : NULL;

	if (!g)
		return NULL;
	list_init(&g->members);
	g->proto = proto;
	memcpy(g->addr, addr, alen(proto));
	if (htab_add(&e->group_tab, &g->by_addr, group_hash(proto, addr))) {
		free(g);
		return NULL;
	}
	if (ipoib_mcast_add(e->cfg.link, proto, g->addr, now)) {
		htab_del(&e->group_tab, &g->by_addr);
		free(g);
		return NULL;
	}
	list_add_tail(&e->groups, &g->link);
	e->ngroups++;
	return g;
}

static struct eth_group *group_get(struct eth_if *e, enum ipoib_proto proto, const uint8_t *addr,
				   ns_t now)
{
	struct eth_group *g = group_find(e, proto, addr);

	if (!g)
		g = group_new(e, proto, addr, now);
	if (!g && !e->full_said) {
		/* RFC 4391 §12 */
		e->full_said = true;
		log_to(e->cfg.log, LOG_LVL_WARN,
		       "a group that the kernel joined cannot be received: %u are", e->ngroups);
	}
	return g;
}

static void group_leave(struct eth_if *e, struct eth_group *g, ns_t now)
{
	struct eth_member *m, *tmp;

	list_for_each_safe (m, tmp, &g->members, link)
		member_free(e, m);
	ipoib_mcast_del(e->cfg.link, g->proto, g->addr, now);
	list_del(&g->link);
	htab_del(&e->group_tab, &g->by_addr);
	e->ngroups--;
	e->full_said = false;
	free(g);
}

/* Nobody that we know of receives it. */
static void group_leave_empty(struct eth_if *e, struct eth_group *g, ns_t now)
{
	if (!g->always && !g->kernel && list_empty(&g->members))
		group_leave(e, g, now);
}

void eth_groups_station_gone(struct eth_if *e, uint32_t station, ns_t now)
{
	struct eth_group *g, *tmp;

	list_for_each_safe (g, tmp, &e->groups, link) {
		struct eth_member *m = member_find(g, station);

		if (!m)
			continue;
		member_free(e, m);
		group_leave_empty(e, g, now);
	}
}

unsigned int eth_groups_of(const struct eth_if *e, uint32_t station)
{
	const struct eth_group *g;
	unsigned int n = 0;

	list_for_each (g, &e->groups, link)
		n += (station || !g->kernel) && member_find(g, station);
	return n;
}

void eth_groups_always(struct eth_if *e, ns_t now)
{
	struct eth_group *g;

	g = group_get(e, IPOIB_IPV4, all_systems4, now);
	if (g)
		g->always = true;
	g = group_get(e, IPOIB_IPV6, all_nodes6, now);
	if (g)
		g->always = true;
}

void eth_groups_unsettle(struct eth_if *e)
{
	struct eth_group *g;

	list_for_each (g, &e->groups, link)
		g->settled = false;
}

/* --- reports that wait for their joins: a ring, first in, first out */

static struct eth_held *held_first(struct eth_if *e)
{
	return &e->held[e->held_head];
}

static struct eth_held held_take(struct eth_if *e)
{
	struct eth_held h = *held_first(e);

	e->held_head = (e->held_head + 1) % ETH_HELD_MAX;
	e->nheld--;
	return h;
}

static void hold(struct eth_if *e, struct pkt *p, uint16_t ethertype, ns_t now)
{
	if (e->nheld == ETH_HELD_MAX) {
		eth_drop(e, ETH_DROP_HELD, p);
		return;
	}
	e->held[(e->held_head + e->nheld++) % ETH_HELD_MAX] =
		(struct eth_held){ .pkt = p, .ethertype = ethertype, .until = now + ETH_HELD_TIME };
	if (e->nheld == 1)
		timer_arm(e->cfg.timers, &e->held_timer, held_first(e)->until);
}

static void release(struct eth_if *e, ns_t now)
{
	static const uint8_t group_mac[6] = { 1 };
	struct eth_held h = held_take(e);
	struct ipoib_tx t = { .pkt = h.pkt, .ethertype = h.ethertype };
	enum eth_drop why = eth_ip_dst(e, &t, group_mac);

	if (why)
		eth_drop(e, why, t.pkt);
	else
		eth_tx_link(e, &t, 1, now);
}

struct waits {
	const struct eth_if *e;
	bool wait;
};

static void still_waits(void *ctx, const struct eth_report *r)
{
	struct waits *w = ctx;
	struct eth_group *g = r->join ? group_find(w->e, r->proto, r->group) : NULL;

	w->wait |= g && !g->settled;
}

static bool must_wait(const struct eth_if *e, const struct pkt *p)
{
	struct waits w = { .e = e };
	uint8_t ip[REPORT_MAX];

	eth_report_parse(ip, pkt_copy_out(p, 0, ip, sizeof(ip)), still_waits, &w);
	return w.wait;
}

static void release_settled(struct eth_if *e, ns_t now)
{
	while (e->nheld && (now >= held_first(e)->until || !must_wait(e, held_first(e)->pkt)))
		release(e, now);
	timer_arm(e->cfg.timers, &e->held_timer, e->nheld ? held_first(e)->until : NS_NEVER);
}

static void on_held_timer(struct timer *t, ns_t now)
{
	release_settled(container_of(t, struct eth_if, held_timer), now);
}

static void held_drop(struct eth_if *e)
{
	while (e->nheld)
		eth_drop(e, ETH_DROP_HELD, held_take(e).pkt);
	timer_cancel(e->cfg.timers, &e->held_timer);
}

void eth_groups_leave(struct eth_if *e, ns_t now)
{
	struct eth_group *g, *tmp;

	held_drop(e);
	list_for_each_safe (g, tmp, &e->groups, link)
		group_leave(e, g, now);
}

/* --- the kernel's own lists */

/* ff01:: and ff00:: never appear on a link. */
static bool is_group(enum ipoib_proto proto, const uint8_t *a)
{
	return proto == IPOIB_IPV4 ? a[0] >> 4 == 0xe : a[0] == 0xff && (a[1] & 0x0f) > 1;
}

static void seen_in_kernel(struct eth_if *e, enum ipoib_proto proto, const uint8_t *addr, ns_t now)
{
	struct eth_group *g;

	if (!is_group(proto, addr))
		return;
	g = group_get(e, proto, addr, now);
	if (g)
		g->in_list = true;
}

/* The list is the last word on what the kernel had joined; reports on all else. */
static void group_compare(struct eth_if *e, struct eth_group *g, ns_t now)
{
	if (g->kernel && !g->in_list)
		member_free(e, member_find(g, 0));
	members_expire(e, g, now);
	g->kernel = g->in_list;
	group_leave_empty(e, g, now);
}

void eth_groups_sync(struct eth_if *e, const uint8_t (*v4)[4], unsigned int n4,
		     const uint8_t (*v6)[16], unsigned int n6, ns_t now)
{
	struct eth_group *g, *tmp;

	e->now = now;
	if (!e->up)
		return;
	list_for_each (g, &e->groups, link)
		g->in_list = false;
	for (unsigned int i = 0; i < n4; i++)
		seen_in_kernel(e, IPOIB_IPV4, v4[i], now);
	for (unsigned int i = 0; i < n6; i++)
		seen_in_kernel(e, IPOIB_IPV6, v6[i], now);
	list_for_each_safe (g, tmp, &e->groups, link)
		group_compare(e, g, now);
	release_settled(e, now); /* what waited for a group that is left */
}

/* --- reports */

struct snoop {
	struct eth_if *e;
	uint32_t station; /* whose report it is */
	ns_t now;
};

static void on_join(struct snoop *s, const struct eth_report *r)
{
	struct eth_group *g = group_get(s->e, r->proto, r->group, s->now);

	if (!g)
		return;
	member_seen(s->e, g, s->station, s->now);
	group_leave_empty(s->e, g, s->now); /* no room to note the member: who would end it? */
}

static void on_leave(struct snoop *s, const struct eth_report *r)
{
	struct eth_group *g = group_find(s->e, r->proto, r->group);

	if (!g || g->always)
		return;
	member_free(s->e, member_find(g, s->station));
	/* Its own list decides, soon, about what the kernel has joined: the leave may be a bridge's. */
	group_leave_empty(s->e, g, s->now);
}

static void on_report(void *ctx, const struct eth_report *r)
{
	if (!is_group(r->proto, r->group))
		return;
	if (r->join)
		on_join(ctx, r);
	else
		on_leave(ctx, r);
}

bool eth_snoop(struct eth_if *e, struct pkt *p, uint16_t ethertype, ns_t now)
{
	const uint8_t *fixed = pkt_pull(p, ethertype == ETH_P_IPV4 ? 20 : 40);
	struct snoop s = { .e = e, .station = p->from, .now = now };
	uint8_t ip[REPORT_MAX];

	if (!e->up || !fixed || !eth_report_maybe(fixed))
		return false;
	if (!eth_report_parse(ip, pkt_copy_out(p, 0, ip, sizeof(ip)), on_report, &s))
		return false;
	if (!p->from && eth_groups_of(e, 0)) {
		/* Perhaps a bridge's: if the list does not have it by then, it is asked. */
		if (e->query_at <= now)
			e->query_at = now + ETH_QUERY_PERIOD;
		eth_station_wake(e, e->query_at);
	}
	if (ethertype == ETH_P_IPV4)
		e->stats.igmp++;
	else
		e->stats.mld++;
	release_settled(e, now); /* what waited for a group that is left */
	if (!ipoib_link_is_up(e->cfg.link) || (!e->nheld && !must_wait(e, p)))
		return false; /* a link that is down says so itself */
	hold(e, p, ethertype, now);
	return true;
}

/* IPv6 groups that agree in their low 80 bits share an MGID, of which READY names one (RFC 4391 §4). */
static bool same_mgid(const struct eth_group *g, enum ipoib_proto proto, const uint8_t *addr)
{
	if (g->proto != proto)
		return false;
	return proto == IPOIB_IPV4 ? !memcmp(g->addr, addr, 4) : !memcmp(g->addr + 6, addr + 6, 10);
}

void eth_snoop_ready(struct eth_if *e, enum ipoib_proto proto, const uint8_t *group, ns_t now)
{
	struct eth_group *g;

	list_for_each (g, &e->groups, link)
		if (same_mgid(g, proto, group))
			g->settled = true;
	release_settled(e, now);
}

void eth_snoop_init(struct eth_if *e)
{
	list_init(&e->groups);
	timer_init(&e->held_timer, on_held_timer);
}

void eth_snoop_fini(struct eth_if *e)
{
	eth_groups_leave(e, e->now);
	htab_fini(&e->group_tab);
}

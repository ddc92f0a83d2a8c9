/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "eth/priv.h"

/*
 * DOC: Groups of the kernel
 *
 * What the kernel behind the TAP wants to receive is learnt from the reports it sends, and
 * compared with its own lists from time to time, since it reports nothing of 224.0.0.1, ff02::1 or
 * with IGMP turned off. The IB join comes before the report is let through, so
 * that what the report asks for is not lost (draft-kashyap-ipoib-ipv4-multicast-01 §6.2).
 */

#define REPORT_MAX 4096

static const uint8_t all_systems4[16] = { 224, 0, 0, 1 };
static const uint8_t all_nodes6[16] = { 0xff, 0x02, [15] = 1 };

static size_t alen(enum ipoib_proto proto)
{
	return proto == IPOIB_IPV4 ? 4 : 16;
}

static struct eth_group *group_find(const struct eth_if *e, enum ipoib_proto proto,
				    const uint8_t *addr)
{
	struct eth_group *g;

	list_for_each (g, &e->groups, link)
		if (g->proto == proto && !memcmp(g->addr, addr, alen(proto)))
			return g;
	return NULL;
}

static struct eth_group *group_get(struct eth_if *e, enum ipoib_proto proto, const uint8_t *addr,
				   ns_t now)
{
	struct eth_group *g = group_find(e, proto, addr);

	if (g)
		return g;
	g = e->ngroups < ETH_GROUPS_MAX ? calloc(1, sizeof(*g)) : NULL;
	if (!g)
		return NULL;
	g->proto = proto;
	memcpy(g->addr, addr, alen(proto));
	if (ipoib_mcast_add(e->cfg.link, proto, g->addr, now)) {
		free(g);
		return NULL;
	}
	list_add_tail(&e->groups, &g->link);
	e->ngroups++;
	return g;
}

static void group_leave(struct eth_if *e, struct eth_group *g, ns_t now)
{
	ipoib_mcast_del(e->cfg.link, g->proto, g->addr, now);
	list_del(&g->link);
	e->ngroups--;
	free(g);
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

void eth_groups_leave(struct eth_if *e, ns_t now)
{
	struct eth_group *g, *tmp;

	list_for_each_safe (g, tmp, &e->groups, link)
		group_leave(e, g, now);
}

/* --- the kernel's own lists */

static void seen_in_kernel(struct eth_if *e, enum ipoib_proto proto, const uint8_t *addr, ns_t now)
{
	struct eth_group *g = group_get(e, proto, addr, now);

	if (g)
		g->kernel = true;
}

/* ff01:: and ff00:: never appear on a link. */
static bool on_link6(const uint8_t a[16])
{
	return a[0] == 0xff && (a[1] & 0x0f) > 1;
}

void eth_groups_sync(struct eth_if *e, const uint8_t (*v4)[4], unsigned int n4,
		     const uint8_t (*v6)[16], unsigned int n6, ns_t now)
{
	struct eth_group *g, *tmp;

	if (!e->up)
		return;
	list_for_each (g, &e->groups, link)
		g->kernel = false;
	for (unsigned int i = 0; i < n4; i++)
		seen_in_kernel(e, IPOIB_IPV4, v4[i], now);
	for (unsigned int i = 0; i < n6; i++)
		if (on_link6(v6[i]))
			seen_in_kernel(e, IPOIB_IPV6, v6[i], now);
	list_for_each_safe (g, tmp, &e->groups, link)
		if (!g->always && !g->kernel &&
		    (!g->reported || now >= g->reported + ETH_REPORT_GRACE))
			group_leave(e, g, now);
}

/* --- reports */

struct snoop {
	struct eth_if *e;
	ns_t now;
	bool wait;
};

static void on_report(void *ctx, const struct eth_report *r)
{
	struct snoop *s = ctx;
	struct eth_group *g;

	if (r->proto == IPOIB_IPV6 && !on_link6(r->group))
		return;
	if (r->join) {
		g = group_get(s->e, r->proto, r->group, s->now);
		if (!g)
			return;
		g->reported = s->now;
		s->wait |= !g->settled;
		return;
	}
	g = group_find(s->e, r->proto, r->group);
	if (!g || g->always)
		return;
	g->reported = 0;
	/* A leave may be for one of several sockets' filters: the kernel's list decides, soon. */
	if (!g->kernel)
		group_leave(s->e, g, s->now);
}

static void still_waits(void *ctx, const struct eth_report *r)
{
	struct snoop *s = ctx;
	struct eth_group *g = r->join ? group_find(s->e, r->proto, r->group) : NULL;

	s->wait |= g && !g->settled;
}

static void release(struct eth_if *e, struct eth_held *h, ns_t now)
{
	struct ipoib_tx t = { .pkt = h->pkt, .ethertype = h->ethertype };
	static const uint8_t group_mac[6] = { 1 };
	enum eth_drop why = eth_ip_dst(e, &t, group_mac);

	list_del(&h->link);
	e->nheld--;
	free(h);
	if (why)
		eth_drop(e, why, t.pkt);
	else
		eth_tx_link(e, &t, 1, now);
}

static void release_settled(struct eth_if *e, ns_t now)
{
	struct eth_held *h, *tmp;
	uint8_t ip[REPORT_MAX];

	list_for_each_safe (h, tmp, &e->held, link) {
		struct snoop s = { .e = e, .now = now };

		if (now < h->until)
			eth_report_parse(ip, pkt_copy_out(h->pkt, 0, ip, sizeof(ip)), still_waits,
					 &s);
		if (!s.wait)
			release(e, h, now);
	}
	if (!list_empty(&e->held))
		timer_arm(e->cfg.timers, &e->held_timer,
			  list_first(&e->held, struct eth_held, link)->until);
}

static void on_held_timer(struct timer *t, ns_t now)
{
	release_settled(container_of(t, struct eth_if, held_timer), now);
}

bool eth_snoop(struct eth_if *e, struct pkt *p, uint16_t ethertype, ns_t now)
{
	struct snoop s = { .e = e, .now = now };
	uint8_t ip[REPORT_MAX];
	size_t len = pkt_copy_out(p, 0, ip, sizeof(ip));
	struct eth_held *h;

	if (!eth_report_parse(ip, len, on_report, &s))
		return false;
	if (ethertype == ETH_P_IPV4)
		e->stats.igmp++;
	else
		e->stats.mld++;
	if (!s.wait || !ipoib_link_is_up(e->cfg.link))
		return false; /* a link that is down says so itself */
	h = e->nheld < ETH_HELD_MAX ? calloc(1, sizeof(*h)) : NULL;
	if (!h) {
		eth_drop(e, ETH_DROP_HELD, p);
		return true;
	}
	*h = (struct eth_held){ .pkt = p, .ethertype = ethertype, .until = now + ETH_HELD_TIME };
	list_add_tail(&e->held, &h->link);
	e->nheld++;
	if (!timer_armed(&e->held_timer)) {
		timer_init(&e->held_timer, on_held_timer);
		timer_arm(e->cfg.timers, &e->held_timer, h->until);
	}
	return true;
}

void eth_snoop_ready(struct eth_if *e, enum ipoib_proto proto, const uint8_t *group, ns_t now)
{
	struct eth_group *g = group_find(e, proto, group);

	if (!g || g->settled)
		return;
	g->settled = true;
	release_settled(e, now);
}

void eth_snoop_free(struct eth_if *e)
{
	struct eth_held *h, *tmp;

	timer_cancel(e->cfg.timers, &e->held_timer);
	list_for_each_safe (h, tmp, &e->held, link) {
		list_del(&h->link);
		pkt_free(h->pkt);
		free(h);
	}
	e->nheld = 0;
}

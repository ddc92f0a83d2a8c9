/* SPDX-License-Identifier: BSD-2-Clause */
#include "eth/held.h"

#include <errno.h>

#include "eth/priv.h"

#define REPORT_MAX 4096 /* octets of a report that are read */

static struct eth_held *held_first(struct eth_if *e)
{
	return &e->held.ring[e->held.head];
}

static struct eth_held held_take(struct eth_if *e)
{
	struct eth_held h = *held_first(e);

	e->held.head = (e->held.head + 1) % ETH_HELD_MAX;
	e->held.n--;
	return h;
}

void eth_held_add(struct eth_if *e, struct pkt *p, uint16_t ethertype, ns_t now)
{
	/* A report that waits is moved to a small buffer, so that it does not occupy a large one. */
	if (e->held.n == ETH_HELD_MAX || pkt_shrink(p) == -ENOMEM) {
		eth_drop(e, ETH_DROP_HELD, p);
		return;
	}
	e->held.ring[(e->held.head + e->held.n++) % ETH_HELD_MAX] =
		(struct eth_held){ .pkt = p, .ethertype = ethertype, .until = now + ETH_HELD_TIME };
	if (e->held.n == 1)
		timer_arm(e->cfg.timers, &e->held.timer, held_first(e)->until);
}

static void release(struct eth_if *e, ns_t now)
{
	static const struct eth_dst group = { .to = ETH_TO_GROUP };
	struct eth_held h = held_take(e);
	struct ipoib_tx t = { .pkt = h.pkt, .ethertype = h.ethertype };
	enum eth_drop why = eth_ip_dst(e, &t, &group, now);

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
	struct eth_group *g = r->join ? eth_group_find(w->e, r->proto, r->group) : NULL;

	w->wait |= g && !g->join_done;
}

static bool must_wait(const struct eth_if *e, const struct pkt *p)
{
	struct waits w = { .e = e };
	uint8_t ip[REPORT_MAX];

	eth_report_parse(ip, pkt_copy_out(p, 0, ip, sizeof(ip)), still_waits, &w);
	return w.wait;
}

void eth_held_release(struct eth_if *e, ns_t now)
{
	while (e->held.n && (now >= held_first(e)->until || !must_wait(e, held_first(e)->pkt)))
		release(e, now);
	timer_arm(e->cfg.timers, &e->held.timer, e->held.n ? held_first(e)->until : NS_NEVER);
}

static void on_held_timer(struct timer *t, ns_t now)
{
	eth_held_release(container_of(t, struct eth_if, held.timer), now);
}

void eth_held_drop(struct eth_if *e)
{
	while (e->held.n)
		eth_drop(e, ETH_DROP_HELD, held_take(e).pkt);
	timer_cancel(e->cfg.timers, &e->held.timer);
}

bool eth_held_must(const struct eth_if *e, const struct pkt *p)
{
	return e->held.n || must_wait(e, p);
}

void eth_held_init(struct eth_if *e)
{
	timer_init(&e->held.timer, on_held_timer);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eth/priv.h"

/*
 * DOC: Stations
 *
 * A frame whose source MAC is not the interface's own comes from a station behind it: a bridge's
 * other ports, a macvlan, a virtual machine. Its address on the link is the port's GID and the
 * number of a queue pair of its own, so that a peer's answer finds its way back to its MAC.
 *
 * Who may be one: any unicast MAC that is not the token of a peer. A token as source is a frame that
 * came from the link and goes round, or a pretender. The rest of 06:... is allowed: Linux
 * chooses such a MAC for one random interface in 64.
 *
 * There are at most cfg.stations; one that was idle for a while gives way to a new one, so that
 * a flood of made-up MACs does not keep others out for the whole ageing time.
 */

static const uint8_t zero[6], broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
static const uint8_t unknown_sender[6] = { 0x06 }; /* rx.c: nothing is ever sent to it, or by it */

struct eth_station *eth_station_by_mac(const struct eth_if *e, const uint8_t mac[6])
{
	struct hnode *n;

	if (!e->nstations)
		return NULL;
	for (n = htab_first(&e->stations, eth_mac_hash(mac)); n; n = htab_next(n)) {
		struct eth_station *st = container_of(n, struct eth_station, by_mac);

		if (eth_mac_equal(st->mac, mac))
			return st;
	}
	return NULL;
}

struct eth_station *eth_station_by_id(const struct eth_if *e, uint32_t id)
{
	struct eth_station *st = e->station[id % ETH_STATIONS_MAX];

	return st && st->id == id ? st : NULL;
}

bool eth_mac_is_local(const struct eth_if *e, const uint8_t mac[6])
{
	return (e->has_own && eth_mac_equal(mac, e->mac)) || eth_station_by_mac(e, mac);
}

const uint8_t *eth_local_mac(const struct eth_if *e, const struct ipoib_lladdr *a)
{
	if (!e->has_own || !ib_gid_equal(&a->gid, &e->own.gid))
		return NULL;
	if (a->qpn == e->own.qpn)
		return e->mac;
	for (unsigned int i = 0; i < ETH_STATIONS_MAX; i++)
		if (e->station[i] && e->station[i]->qpn == a->qpn)
			return e->station[i]->mac;
	return NULL;
}

/* --- life */

void eth_station_wake(struct eth_if *e, ns_t at)
{
	if (!timer_armed(&e->station_timer) || e->station_timer.deadline > at)
		timer_arm(e->cfg.timers, &e->station_timer, at);
}

static void station_close(struct eth_if *e, struct eth_station *st, ns_t now)
{
	eth_groups_station_gone(e, st->id, now);
	htab_del(&e->stations, &st->by_mac);
	e->station[st->id % ETH_STATIONS_MAX] = NULL;
	e->nstations--;
	ipoib_link_own_qp_del(e->cfg.link, st->qpn);
	e->ops->station_close(e->ctx, st->qp);
	free(st);
}

/* The one that was idle longest, if that is long enough. */
static bool station_make_room(struct eth_if *e, ns_t now)
{
	struct eth_station *oldest = NULL;

	for (unsigned int i = 0; i < ETH_STATIONS_MAX; i++) {
		struct eth_station *st = e->station[i];

		if (st && (!oldest || st->last_used < oldest->last_used))
			oldest = st;
	}
	if (!oldest || now < oldest->last_used + ETH_STATION_SPARE)
		return false;
	e->stats.stations_aged++;
	station_close(e, oldest, now);
	return true;
}

/* Never 0, and no number twice in 2^26 stations. */
static uint32_t station_id(struct eth_if *e)
{
	uint32_t slot = 0;

	while (e->station[slot])
		slot++;
	if (!(++e->station_seq % (UINT32_MAX / ETH_STATIONS_MAX)))
		e->station_seq = 1;
	return e->station_seq * ETH_STATIONS_MAX + slot;
}

static int station_open(struct eth_if *e, struct eth_station *st)
{
	int err = e->ops->station_open(e->ctx, st, st->mac, &st->qp, &st->qpn);

	if (err)
		return err;
	err = ipoib_link_own_qp_add(e->cfg.link, st->qpn);
	if (!err) {
		err = htab_add(&e->stations, &st->by_mac, eth_mac_hash(st->mac));
		if (err)
			ipoib_link_own_qp_del(e->cfg.link, st->qpn);
	}
	if (err)
		e->ops->station_close(e->ctx, st->qp);
	return err;
}

static struct eth_station *station_new(struct eth_if *e, const uint8_t mac[6], ns_t now)
{
	struct eth_station *st = calloc(1, sizeof(*st));

	if (!st)
		return NULL;
	memcpy(st->mac, mac, sizeof(st->mac));
	st->id = station_id(e);
	st->since = now;
	st->query_at = now + ETH_QUERY_PERIOD;
	if (station_open(e, st)) {
		free(st);
		return NULL;
	}
	e->station[st->id % ETH_STATIONS_MAX] = st;
	e->nstations++;
	e->stats.stations_added++;
	/* Where one is there may be others, who are silent: all are asked. */
	if (!e->query_all_at)
		e->query_all_at = now + ETH_QUERY_SOON;
	eth_station_wake(e, e->query_all_at);
	return st;
}

static enum eth_drop may_be_station(const struct eth_if *e, const uint8_t mac[6])
{
	if ((mac[0] & 1) || eth_mac_equal(mac, zero))
		return ETH_DROP_SOURCE;
	if (eth_peer_by_mac(e, mac) || eth_mac_equal(mac, unknown_sender))
		return ETH_DROP_SOURCE_TOKEN;
	/* Without the main one's address a queue pair has none: P_Key index and Q_Key are the link's. */
	if (!e->has_own || !ipoib_link_is_up(e->cfg.link))
		return ETH_DROP_STATION_QP;
	return ETH_DROP_NONE;
}

enum eth_drop eth_station_from(struct eth_if *e, const uint8_t mac[6], struct pkt *p, ns_t now)
{
	struct eth_station *st = eth_station_by_mac(e, mac);

	if (!st) {
		enum eth_drop why = may_be_station(e, mac);

		if (why)
			return why;
		if (e->nstations >= e->cfg.stations && !station_make_room(e, now))
			return ETH_DROP_STATION_LIMIT;
		st = station_new(e, mac, now);
		if (!st)
			return ETH_DROP_STATION_QP;
	}
	st->last_used = now;
	st->tx_frames++;
	p->from = st->id;
	return ETH_DROP_NONE;
}

/* --- ageing, and queries, which keep alive what stations receive */

static ns_t earlier(ns_t a, ns_t b)
{
	return a < b ? a : b;
}

static void query_all_due(struct eth_if *e, ns_t now)
{
	if (!e->query_all_at || now < e->query_all_at)
		return;
	e->query_all_at = 0;
	eth_query(e, broadcast);
}

static void query_due(struct eth_if *e, const uint8_t mac[6], ns_t *at, ns_t now)
{
	if (now < *at)
		return;
	*at = now + ETH_QUERY_PERIOD;
	eth_query(e, mac);
}

static void on_station_timer(struct timer *t, ns_t now)
{
	struct eth_if *e = container_of(t, struct eth_if, station_timer);
	ns_t next;

	query_all_due(e, now);
	next = e->query_all_at ? e->query_all_at : NS_NEVER;
	for (unsigned int i = 0; i < ETH_STATIONS_MAX; i++) {
		struct eth_station *st = e->station[i];

		if (!st)
			continue;
		if (now >= st->last_used + ETH_STATION_AGE) {
			e->stats.stations_aged++;
			station_close(e, st, now);
			continue;
		}
		query_due(e, st->mac, &st->query_at, now);
		next = earlier(next, earlier(st->query_at, st->last_used + ETH_STATION_AGE));
	}
	/* A bridge may have the interface's own MAC. */
	if (eth_groups_of(e, 0)) {
		query_due(e, e->mac, &e->query_at, now);
		next = earlier(next, e->query_at);
	}
	timer_arm(e->cfg.timers, t, next);
}

void eth_stations_init(struct eth_if *e)
{
	timer_init(&e->station_timer, on_station_timer);
}

void eth_stations_fini(struct eth_if *e)
{
	timer_cancel(e->cfg.timers, &e->station_timer);
	for (unsigned int i = 0; i < ETH_STATIONS_MAX; i++)
		if (e->station[i])
			station_close(e, e->station[i], e->now);
	htab_fini(&e->stations);
}

void eth_station_each(const struct eth_if *e,
		      void (*fn)(void *ctx, const struct eth_station_info *i), void *ctx)
{
	for (unsigned int i = 0; i < ETH_STATIONS_MAX; i++) {
		const struct eth_station *st = e->station[i];
		struct eth_station_info info = { 0 };

		if (!st)
			continue;
		memcpy(info.mac, st->mac, sizeof(info.mac));
		info.lladdr.qpn = st->qpn;
		info.lladdr.gid = e->own.gid;
		info.since = st->since;
		info.last_used = st->last_used;
		info.tx_frames = st->tx_frames;
		info.rx_packets = st->rx_packets;
		info.groups = eth_groups_of(e, st->id);
		fn(ctx, &info);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "eth/station.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eth/priv.h"

/*
 * DOC: Stations
 *
 * A frame whose source MAC is not the interface's own comes from a station behind the TAP. A
 * station can be a host on another port of a bridge, a macvlan or a virtual machine. The link-layer
 * address of a station consists of the port's GID and the number of the station's own queue pair.
 * The queue pair at which an answer of a peer arrives shows which station gets the answer.
 *
 * Any unicast MAC that is not the token of a peer is accepted as a station. A frame whose source
 * MAC is a token came from the link and went in a loop, or is forged. Other MACs that begin with 06
 * are allowed, because one in 64 of the random MACs that Linux chooses begins with 06.
 *
 * There are at most cfg.stations stations. When all are in use, a new station replaces the station
 * that has been idle longest, provided that it has been idle for at least ETH_STATION_SPARE. So a
 * flood of invented MACs does not keep real stations out for the whole ageing time
 * (ETH_STATION_AGE).
 */

static const uint8_t zero[6], broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
/* source MAC of frames from unknown senders, see ether.c */
static const uint8_t unknown_sender[6] = { 0x06 };

struct eth_station *eth_station_by_mac(const struct eth_if *e, const uint8_t mac[6])
{
	struct hlink *n;

	if (!e->stations.n)
		return NULL;
	for (n = htab_first(&e->stations.by_mac, eth_mac_hash(mac)); n; n = htab_next(n)) {
		struct eth_station *st = container_of(n, struct eth_station, by_mac);

		if (eth_mac_equal(st->mac, mac))
			return st;
	}
	return NULL;
}

struct eth_station *eth_station_by_id(const struct eth_if *e, uint32_t id)
{
	struct eth_station *st = e->stations.slot[id % ETH_STATIONS_MAX];

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
		if (e->stations.slot[i] && e->stations.slot[i]->qpn == a->qpn)
			return e->stations.slot[i]->mac;
	return NULL;
}

bool eth_lladdr_is_local(const struct eth_if *e, const struct ipoib_lladdr *a)
{
	return eth_local_mac(e, a) != NULL;
}

/* --- opening, ageing and closing stations */

void eth_station_wake(struct eth_if *e, ns_t at)
{
	if (!timer_armed(&e->stations.timer) || e->stations.timer.deadline > at)
		timer_arm(e->cfg.timers, &e->stations.timer, at);
}

static void station_close(struct eth_if *e, struct eth_station *st, ns_t now)
{
	eth_groups_station_gone(e, st->id, now);
	htab_del(&e->stations.by_mac, &st->by_mac);
	e->stations.slot[st->id % ETH_STATIONS_MAX] = NULL;
	e->stations.n--;
	ipoib_link_own_qp_del(e->cfg.link, st->qpn);
	e->ops->station_close(e->ctx, st->qp);
	free(st);
}

/*
 * Removes all old queue pair numbers from the table before it enters the new numbers, because the
 * new number of a station may be the old number of another station.
 */
void eth_stations_renumber(struct eth_if *e, uint32_t (*qpn)(void *qp))
{
	struct eth_station *const *slot = e->stations.slot;

	for (unsigned int i = 0; i < ETH_STATIONS_MAX; i++)
		if (slot[i])
			ipoib_link_own_qp_del(e->cfg.link, slot[i]->qpn);
	for (unsigned int i = 0; i < ETH_STATIONS_MAX; i++) {
		if (!slot[i])
			continue;
		slot[i]->qpn = qpn(slot[i]->qp);
		ipoib_link_own_qp_add(e->cfg.link, slot[i]->qpn);
	}
}

/* Closes the station that was idle longest, if it was idle for ETH_STATION_SPARE. */
static bool station_make_room(struct eth_if *e, ns_t now)
{
	struct eth_station *oldest = NULL;

	for (unsigned int i = 0; i < ETH_STATIONS_MAX; i++) {
		struct eth_station *st = e->stations.slot[i];

		if (st && (!oldest || st->last_used < oldest->last_used))
			oldest = st;
	}
	if (!oldest || now < oldest->last_used + ETH_STATION_SPARE)
		return false;
	e->stats.stations_aged++;
	station_close(e, oldest, now);
	return true;
}

/* Makes an id that is never 0, and is not used again before 2^26 other stations were made. */
static uint32_t station_id(struct eth_if *e)
{
	uint32_t slot = 0;

	while (e->stations.slot[slot])
		slot++;
	if (!(++e->stations.seq % (UINT32_MAX / ETH_STATIONS_MAX)))
		e->stations.seq = 1;
	return e->stations.seq * ETH_STATIONS_MAX + slot;
}

static int station_open(struct eth_if *e, struct eth_station *st)
{
	int err = e->ops->station_open(e->ctx, st, st->mac, &st->qp, &st->qpn);

	if (err)
		return err;
	err = ipoib_link_own_qp_add(e->cfg.link, st->qpn);
	if (!err) {
		err = htab_add(&e->stations.by_mac, &st->by_mac, eth_mac_hash(st->mac));
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
	e->stations.slot[st->id % ETH_STATIONS_MAX] = st;
	e->stations.n++;
	e->stats.stations_added++;
	/*
	 * A new station may be behind a bridge together with stations that have sent nothing yet,
	 * so query all stations.
	 */
	if (!e->stations.query_all_at)
		e->stations.query_all_at = now + ETH_QUERY_SOON;
	eth_station_wake(e, e->stations.query_all_at);
	return st;
}

static enum eth_drop may_be_station(const struct eth_if *e, const uint8_t mac[6])
{
	if ((mac[0] & 1) || eth_mac_equal(mac, zero))
		return ETH_DROP_SOURCE;
	if (eth_peer_by_mac(e, mac) || eth_mac_equal(mac, unknown_sender))
		return ETH_DROP_SOURCE_TOKEN;
	/*
	 * A new queue pair needs a P_Key index and a Q_Key, which are not known while the link is
	 * down.
	 */
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
		if (e->stations.n >= e->cfg.stations && !station_make_room(e, now))
			return ETH_DROP_STATION_LIMIT;
		st = station_new(e, mac, now);
		if (!st)
			return ETH_DROP_STATION_QP;
	}
	st->last_used = now;
	st->tx_frames++;
	frame_info(p)->station = st->id;
	return ETH_DROP_NONE;
}

/*
 * --- ageing of stations, and queries; the answers to queries keep the stations' group memberships
 * alive
 */

static ns_t earlier(ns_t a, ns_t b)
{
	return a < b ? a : b;
}

static void query_all_due(struct eth_if *e, ns_t now)
{
	if (!e->stations.query_all_at || now < e->stations.query_all_at)
		return;
	e->stations.query_all_at = 0;
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
	struct eth_if *e = container_of(t, struct eth_if, stations.timer);
	ns_t next;

	query_all_due(e, now);
	next = e->stations.query_all_at ? e->stations.query_all_at : NS_NEVER;
	for (unsigned int i = 0; i < ETH_STATIONS_MAX; i++) {
		struct eth_station *st = e->stations.slot[i];

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
	/*
	 * A bridge may have the interface's MAC. The groups that were reported with this MAC and
	 * are not in the kernel's list may be the bridge's, so the MAC is queried.
	 */
	if (eth_groups_of(e, 0)) {
		query_due(e, e->mac, &e->stations.query_own_at, now);
		next = earlier(next, e->stations.query_own_at);
	}
	timer_arm(e->cfg.timers, t, next);
}

void eth_stations_init(struct eth_if *e)
{
	timer_init(&e->stations.timer, on_station_timer);
}

void eth_stations_fini(struct eth_if *e)
{
	timer_cancel(e->cfg.timers, &e->stations.timer);
	for (unsigned int i = 0; i < ETH_STATIONS_MAX; i++)
		if (e->stations.slot[i])
			station_close(e, e->stations.slot[i], e->now);
	htab_fini(&e->stations.by_mac);
}

void eth_station_each(const struct eth_if *e,
		      void (*fn)(void *ctx, const struct eth_station_info *i), void *ctx)
{
	for (unsigned int i = 0; i < ETH_STATIONS_MAX; i++) {
		const struct eth_station *st = e->stations.slot[i];
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

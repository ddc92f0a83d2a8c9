/* SPDX-License-Identifier: BSD-2-Clause */
#include "world/world.h"

#include <errno.h>

#include "world/part.h"
#include "world/peer.h"
#include "world/sa.h"
#include "world/sidr.h"
#include "world/sm.h"
#include "crc/crc.h"

static void on_keepalive(void *ctx, const struct ip_endpoint *peer, ns_t now)
{
	struct world *w = ctx;

	w->io->send(w->io->ctx, NULL, 0);
}

static void on_carrier(void *ctx, bool up, ns_t now)
{
	struct world *w = ctx;

	w->up = up;
	if (up)
		return;
	w->downs++;
	w->dut.active = false;
}

static const struct udp_link_ops ops = { .keepalive = on_keepalive, .carrier = on_carrier };

int world_init(struct world *w, const struct world_io *io, const struct world_cfg *cfg)
{
	static const uint8_t ip4[4] = { 10, 9, 0, 1 }, ip6[16] = { 0xfd, 9, [15] = 1 };
	static const uint8_t none[16];

	*w = (struct world){
		.io = io,
		.wire = cfg->wire,
		.log.wire = cfg->wire,
		.map = { WORLD_PKEY, cfg->scope, cfg->subnet },
		.now = io->now(io->ctx),
		.dut.lid = WORLD_DUT_LID,
		.dut.pkey = WORLD_PKEY,
		.old_qkey = WORLD_QKEY,
		.old_pkey = WORLD_PKEY,
	};
	if (!w->map.scope)
		w->map.scope = cfg->subnet ? WORLD_SCOPE_GLOBAL : WORLD_SCOPE_LINK;
	world_set_mtu(w, w->wire->mtu);
	timers_init(&w->timers);
	memcpy(w->dut.ip4, memcmp(cfg->ip4, none, 4) ? cfg->ip4 : ip4, 4);
	memcpy(w->dut.ip6, memcmp(cfg->ip6, none, 16) ? cfg->ip6 : ip6, 16);
	memcpy(w->part.ip4, w->dut.ip4, 4);
	w->part.ip4[2] = WORLD_PKEY2 & 0xff;
	w->conf = cfg->conf;
	udp_link_init(&w->link, &w->timers, &cfg->dut, &ops, w, w->now);
	return 0;
}

void world_set_mtu(struct world *w, uint8_t code)
{
	w->old_mtu_code = w->mtu_code;
	w->mtu_code = code;
	w->mtu = 128u << code;
	w->ip_mtu = w->wire->ip_mtu(w->mtu);
	for (unsigned int i = 0; i < WORLD_GROUPS; i++)
		w->group[i].rec.mtu_code = code;
	for (unsigned int i = 0; i < WORLD_PEERS; i++)
		w->peer[i].path_mtu = code;
}

void world_fini(struct world *w)
{
	world_sa_fini(w);
	udp_link_fini(&w->link);
	timers_fini(&w->timers);
	world_log_release(&w->kept);
	world_log_fini(&w->log);
}

static const struct seen *log_packet(struct world *w, const uint8_t *raw, size_t len, bool ours)
{
	const struct seen *s = world_log_add(&w->log, raw, len, ours, w->now);

	if (s && w->io->seen)
		w->io->seen(w->io->ctx, s);
	return s;
}

void world_send_raw(struct world *w, const uint8_t *raw, size_t len)
{
	log_packet(w, raw, len, true);
	if (w->up)
		w->io->send(w->io->ctx, raw, len);
}

void world_send(struct world *w, const struct ib_ud_hdr *h, const void *payload, size_t len)
{
	uint8_t raw[IB_PKT_MAX] = { 0 };
	unsigned int hdr;

	if (len > 4096)
		return;
	hdr = ib_ud_hdr_encode(raw, h, len);
	if (len)
		memcpy(raw + hdr, payload, len);
	len = hdr + ((len + 3) & ~(size_t)3);
	crc_put(raw, len);
	world_send_raw(w, raw, len + IB_ICRC_LEN + IB_VCRC_LEN);
}

static void received(struct world *w, const uint8_t *raw, size_t len)
{
	const struct seen *s = log_packet(w, raw, len, false);

	if (!s)
		return;
	if (w->watch)
		w->watch(w->watch_ctx, s);
	switch (s->kind) {
	case SEEN_SMP:
		world_sm_rx(w, s);
		break;
	case SEEN_GMP:
		world_sa_rx(w, s);
		world_sidr_rx(w, s);
		break;
	case SEEN_DATA:
		world_peer_rx(w, s);
		break;
	case SEEN_MALFORMED:
		break;
	}
}

bool world_turn(struct world *w, ns_t deadline)
{
	uint8_t raw[IB_PKT_MAX + 1];
	struct ip_endpoint from;
	int n;

	timers_run(&w->timers, w->now);
	n = w->io->recv(w->io->ctx, raw, sizeof(raw), &from,
			ns_min(deadline, timers_next(&w->timers)));
	w->now = w->io->now(w->io->ctx);
	if (n == -EINTR)
		w->interrupted = true;
	if (n >= 0 && udp_link_rx(&w->link, &from, raw, (size_t)n, w->now) == UDP_DROP_NONE &&
	    n > 0)
		received(w, raw, (size_t)n);
	timers_run(&w->timers, w->now);
	return w->now < deadline && !w->interrupted;
}

void world_pass(struct world *w, ns_t time)
{
	ns_t deadline = w->now + time;

	while (world_turn(w, deadline))
		;
}

bool world_wait(struct world *w, bool (*done)(const struct world *w, const void *arg),
		const void *arg, ns_t timeout)
{
	ns_t deadline = w->now + timeout;

	while (!done(w, arg))
		if (!world_turn(w, deadline))
			return done(w, arg);
	return true;
}

static bool is_up(const struct world *w, const void *arg)
{
	return w->up;
}

/*
 * Longest time until the link is up at both ends: two times UDP_LINK_SILENCE (4 s), one time
 * UDP_LINK_TIMEOUT (3 s), and two times UDP_LINK_KEEPALIVE (1 s)
 */
#define LINK_TIME NS_SEC(13)

bool world_link_up(struct world *w)
{
	return world_wait(w, is_up, NULL, LINK_TIME);
}

const struct seen *world_expect(struct world *w, uint64_t from, seen_match *match, const void *arg,
				ns_t timeout)
{
	ns_t deadline = w->now + timeout;
	const struct seen *s;
	bool more = true;

	for (;;) {
		/* number of the first packet that the next iteration tests with @match */
		uint64_t next = w->log.last + 1;

		s = world_log_find(&w->log, from, match, arg);
		if (s || !more)
			return world_log_keep(&w->kept, s);
		from = next;
		more = world_turn(w, deadline);
	}
}

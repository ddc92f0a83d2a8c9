/* SPDX-License-Identifier: BSD-2-Clause */
#include "conform/case.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "world/peer.h"
#include "world/sa.h"
#include "text/print.h"
#include "crc/crc.h"

/* exit status with which the user's hook program reports that the DUT's system cannot do a step */
#define HOOK_UNABLE 77
#define GRH_DGID 24 /* offset of the DGID in the GRH */

static void decide(struct run *r, enum conform_verdict v, const char *fmt, va_list ap)
{
	if (r->decided)
		return;
	r->decided = true;
	r->res->verdict = v;
	vsnprintf(r->res->why, sizeof(r->res->why), fmt, ap);
}

static struct conform_octets copy(const struct seen *s)
{
	struct conform_octets o = { .data = s ? malloc(s->len) : NULL };

	if (o.data) {
		memcpy(o.data, s->raw, s->len);
		o.len = s->len;
	}
	return o;
}

bool check(struct run *r, bool ok, const struct seen *s, const char *fmt, ...)
{
	va_list ap;

	r->res->checked++;
	if (ok || r->decided)
		return ok;
	va_start(ap, fmt);
	decide(r, CONFORM_FAIL, fmt, ap);
	va_end(ap);
	r->res->seen = copy(s);
	if (s)
		r->res->last = s->n;
	return false;
}

static void hex(char *buf, size_t size, const uint8_t *p, size_t n)
{
	*buf = 0;
	for (size_t i = 0; i < n && 2 * i + 2 < size; i++)
		snprintf(buf + 2 * i, size - 2 * i, "%02x", p[i]);
}

/*
 * Store the packet that was expected: a copy of @s with the right value of the field at @off, and
 * matching CRCs
 */
static void set_expected(struct run *r, const struct seen *s, size_t off, const void *want,
			 size_t n)
{
	struct conform_octets o = copy(s);

	if (!o.data)
		return;
	memcpy(o.data + off, want, n);
	if (s->kind != SEEN_MALFORMED)
		crc_put(o.data, o.len - IB_ICRC_LEN - IB_VCRC_LEN);
	r->res->expected = o;
}

bool check_octets(struct run *r, const struct seen *s, const uint8_t *at, const void *want,
		  size_t n, const char *what)
{
	bool first = !r->decided, inside = at >= s->raw && at + n <= s->raw + s->len;
	char is[80], should[80];

	if (!inside)
		return check(r, false, s, "%s: the packet is too short for it", what);
	hex(is, sizeof(is), at, n);
	hex(should, sizeof(should), want, n);
	if (check(r, !memcmp(at, want, n), s, "%s is 0x%s, expected 0x%s", what, is, should))
		return true;
	if (first)
		set_expected(r, s, (size_t)(at - s->raw), want, n);
	return false;
}

bool check_be16(struct run *r, const struct seen *s, const uint8_t *at, uint16_t want,
		const char *what)
{
	be16 v = be16_of(want);

	return check_octets(r, s, at, &v, sizeof(v), what);
}

bool check_be32(struct run *r, const struct seen *s, const uint8_t *at, uint32_t want,
		const char *what)
{
	be32 v = be32_of(want);

	return check_octets(r, s, at, &v, sizeof(v), what);
}

bool check_own_address(struct run *r, const struct seen *s, const uint8_t *at, const char *what)
{
	uint8_t addr[20];

	be32_put(addr, s->h.deth.src_qp);
	memcpy(addr + 4, r->w->dut.gid.raw, 16);
	return check_octets(r, s, at + 1, addr + 1, 19, what);
}

bool check_dgid(struct run *r, const struct seen *s, const ib_gid *want, const char *what)
{
	return check(r, s->h.has_grh, s, "%s: the packet has no GRH", what) &&
	       check_octets(r, s, s->raw + IB_LRH_LEN + GRH_DGID, want->raw, 16, what);
}

/*
 * Return: the reason why the DUT need not act, for example because the link is down; NULL: the DUT
 * must act
 */
static const char *excuse(struct run *r)
{
	const struct world_io *io = r->w->io;
	int status;

	if (r->w->interrupted)
		return "interrupted";
	if (!r->w->up)
		return "the link went down";
	if (!r->hooked)
		return NULL;
	status = io->hook_status(io->ctx);
	if (status == -EAGAIN && r->w->now - r->hooked_at >= r->hook_time)
		return "the hook's step did not end in time";
	return status > 0 ? "the hook did not do the step: its status is not 0" : NULL;
}

void missing(struct run *r, const char *fmt, ...)
{
	const char *why = excuse(r);
	va_list ap;

	if (r->hooked && r->w->io->hook_status(r->w->io->ctx) == HOOK_UNABLE) {
		not_applicable(r, "the hook says that the DUT cannot do this (status 77)");
		return;
	}
	if (why) {
		inconclusive(r, "%s", why);
		return;
	}
	r->res->checked++;
	va_start(ap, fmt);
	decide(r, CONFORM_FAIL, fmt, ap);
	va_end(ap);
}

void not_applicable(struct run *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	decide(r, CONFORM_NA, fmt, ap);
	va_end(ap);
}

void inconclusive(struct run *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	decide(r, CONFORM_INCONCLUSIVE, fmt, ap);
	va_end(ap);
}

/* --- acting and waiting */

bool hook(struct run *r, const char *fmt, ...)
{
	const struct world_io *io = r->w->io;
	char step[200];
	va_list ap;
	int err;

	if (!io->hook) {
		inconclusive(r, "no --hook to make the DUT act");
		return false;
	}
	va_start(ap, fmt);
	vsnprintf(step, sizeof(step), fmt, ap);
	va_end(ap);
	r->hooked = true;
	r->hooked_at = r->w->now;
	r->hook_time = HOOK_TIME;
	err = io->hook(io->ctx, step);
	if (err)
		inconclusive(r, "the hook cannot be run: %s", strerror(-err));
	return !err;
}

static bool step_ended(const struct world *w, const void *arg)
{
	return w->io->hook_status(w->io->ctx) != -EAGAIN;
}

bool hook_ended(struct run *r, ns_t timeout)
{
	if (world_wait(r->w, step_ended, NULL, timeout))
		return true;
	inconclusive(r, "the hook's step does not end");
	return false;
}

const struct seen *expect(struct run *r, seen_match *match, const void *arg, ns_t timeout)
{
	ns_t deadline = r->w->now + timeout;
	const struct seen *s;

	if (!r->hooked)
		return world_expect(r->w, r->since, match, arg, timeout);
	/* If the hook program fails, the loop ends early, because the DUT will not react. */
	do {
		s = world_expect(r->w, r->since, match, arg,
				 ns_min(NS_SEC(1), deadline - r->w->now));
	} while (!s && r->w->now < deadline && !excuse(r));
	return s;
}

void mark(struct run *r)
{
	r->since = r->w->log.last + 1;
}

const struct seen *seen_since(struct run *r, seen_match *match, const void *arg)
{
	return world_log_keep(&r->w->kept, world_log_find(&r->w->log, r->since, match, arg));
}

typedef void send_ping(struct world *w, const struct world_peer *p, size_t ip_len, uint16_t seq);

static const struct seen *three_pings(struct run *r, send_ping *ping, const struct world_peer *p,
				      size_t ip_len, uint16_t seq, seen_match *match,
				      const void *arg)
{
	const struct seen *s = NULL;

	for (unsigned int i = 0; i < 3 && !s; i++) {
		ping(r->w, p, ip_len, seq);
		s = expect(r, match, arg, NS_SEC(3));
	}
	return s;
}

const struct seen *ping_for(struct run *r, const struct world_peer *p, size_t ip_len, uint16_t seq,
			    seen_match *match, const void *arg)
{
	return three_pings(r, peer_ping, p, ip_len, seq, match, arg);
}

const struct seen *ping6_for(struct run *r, const struct world_peer *p, size_t ip_len, uint16_t seq,
			     seen_match *match, const void *arg)
{
	return three_pings(r, peer_ping6, p, ip_len, seq, match, arg);
}

const struct seen *arp_request_for(struct run *r, const struct world_peer *p, const char *name)
{
	struct arp_want want = { .op = 1, .tpa = p->ip4 };
	const struct seen *s = ping_for(r, p, 84, 1, arp_is, &want);

	if (!s)
		missing(r, "no %s request for %u.%u.%u.%u, which had sent pings", name, p->ip4[0],
			p->ip4[1], p->ip4[2], p->ip4[3]);
	return s;
}

const struct seen *answer_of(struct run *r, const struct world_peer *p, size_t ip_len)
{
	struct echo_want want = echo_reply_to(r->w, p, 7);

	return ping_for(r, p, ip_len, 7, echo_is, &want);
}

bool settle(struct run *r)
{
	const uint64_t since = r->w->log.last + 1;
	uint16_t seq = (uint16_t)(0x8000 | (since & 0x7fff));
	const struct world_peer *p = &r->w->peer[0];
	struct echo_want want = echo_reply_to(r->w, p, seq);

	for (unsigned int i = 0; i < 3; i++) {
		peer_ping(r->w, p, 84, seq);
		if (world_expect(r->w, since, echo_is, &want, NS_SEC(2)))
			return true;
	}
	inconclusive(r, "the DUT no longer answers pings of a peer that it knows, so its silence "
			"says nothing");
	return false;
}

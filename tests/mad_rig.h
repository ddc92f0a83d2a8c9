/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_MAD_RIG_H
#define TESTS_MAD_RIG_H

/*
 * Two MAD endpoints, with LIDs 1 and 2, joined by a wire on virtual time. A MAD arrives a
 * millisecond after it was sent. A filter sees each MAD when the MAD is sent, and may lose or change
 * it.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "mad/ep.h"
#include "util/list.h"
#include "wire/sa.h"

#define WIRE_DELAY NS_MSEC(1)
#define WIRE_LOG 2048

struct rig;

struct rig_end {
	struct rig *rig;
	struct mad_ep *ep;
	uint16_t lid;
};

struct rig_mad {
	struct timer timer;
	struct rig *rig;
	uint16_t from, to;
	struct mad_addr addr;
	uint8_t mad[MAD_LEN];
};

struct rig {
	struct timers timers;
	struct log_sink log;
	ns_t now;
	struct rig_end end[2];
	/* This filter may change @mad. If it returns true, the MAD is lost. NULL: all MADs pass. */
	bool (*filter)(struct rig *r, uint16_t to, uint8_t *mad);
	unsigned int n; /* number of calls of ops->send so far */
	struct {
		uint16_t to;
		ns_t at;
		uint8_t mad[MAD_LEN];
	} seen[WIRE_LOG];
	int send_err; /* value that ops->send returns */
	bool direct; /* true: each MAD is delivered within the call that sends it */
	bool mute; /* true: no MAD arrives */
};

static inline struct rig_end *rig_end_of(struct rig *r, uint16_t lid)
{
	return lid >= 1 && lid <= 2 ? &r->end[lid - 1] : NULL;
}

static inline struct mad_addr rig_addr_from(uint16_t lid, const struct mad_addr *to)
{
	struct mad_addr from = *to;

	from.lid = lid;
	from.qpn = to->qp;
	from.port = 1;
	return from;
}

static inline void rig_arrive(struct timer *t, ns_t now)
{
	struct rig_mad *m = container_of(t, struct rig_mad, timer);
	struct rig_end *e = rig_end_of(m->rig, m->to);
	struct mad_addr from = rig_addr_from(m->from, &m->addr);

	if (e && e->ep && !m->rig->mute)
		mad_ep_recv(e->ep, &from, m->mad, now);
	free(m);
}

static inline int rig_send(void *ctx, const struct mad_addr *to, const void *mad, ns_t now)
{
	struct rig_end *e = ctx;
	struct rig *r = e->rig;
	struct rig_mad *m;
	unsigned int i = r->n++;

	if (r->send_err)
		return r->send_err;
	m = calloc(1, sizeof(*m));
	assert_non_null(m);
	m->rig = r;
	m->from = e->lid;
	m->to = to->lid;
	m->addr = *to;
	memcpy(m->mad, mad, MAD_LEN);
	if (i < WIRE_LOG) {
		r->seen[i].to = to->lid;
		r->seen[i].at = now;
		memcpy(r->seen[i].mad, mad, MAD_LEN);
	}
	if (r->filter && r->filter(r, to->lid, m->mad)) {
		free(m);
		return 0;
	}
	timer_init(&m->timer, rig_arrive);
	if (r->direct)
		rig_arrive(&m->timer, now);
	else
		timer_arm(&r->timers, &m->timer, now + WIRE_DELAY);
	return 0;
}

static const struct mad_ep_ops rig_ops = { .send = rig_send };

static inline void rig_init(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	timers_init(&r->timers);
	for (unsigned int i = 0; i < 2; i++) {
		r->end[i] = (struct rig_end){ .rig = r, .lid = (uint16_t)(i + 1) };
		r->end[i].ep = mad_ep_create(&rig_ops, &r->end[i], &r->timers, &r->log);
		assert_non_null(r->end[i].ep);
	}
	r->now = NS_SEC(1);
}

static inline void rig_run(struct rig *r, ns_t for_ns)
{
	ns_t end = r->now + for_ns, next;

	while ((next = timers_next(&r->timers)) <= end) {
		if (next > r->now)
			r->now = next;
		timers_run(&r->timers, r->now);
	}
	r->now = end;
}

/*
 * Destroy both endpoints, and check for leaks: no MAD may be on the wire, and no timer may be
 * armed.
 */
static inline void rig_fini(struct rig *r)
{
	for (unsigned int i = 0; i < 2; i++) {
		mad_ep_destroy(r->end[i].ep);
		r->end[i].ep = NULL;
	}
	r->mute = true;
	rig_run(r, 2 * WIRE_DELAY);
	assert_int_equal(timers_next(&r->timers), NS_NEVER);
	timers_fini(&r->timers);
}

/* Arguments of the last call of a callback (of a request or of an agent). */
struct rig_got {
	unsigned int calls;
	int status;
	size_t len;
	uint8_t *msg;
	struct mad_addr from;
	ns_t at;
};

static inline void rig_keep(struct rig_got *g, int status, const struct mad_addr *from,
			    const void *msg, size_t len, ns_t now)
{
	assert_true(msg || !len);
	g->calls++;
	g->status = status;
	g->len = len;
	g->at = now;
	free(g->msg);
	g->msg = NULL;
	if (from)
		g->from = *from;
	if (msg) {
		g->msg = malloc(len ? len : 1);
		assert_non_null(g->msg);
		memcpy(g->msg, msg, len);
	}
}

static inline void rig_done(void *ctx, int status, const struct mad_addr *from, const void *mad,
			    size_t len, ns_t now)
{
	rig_keep(ctx, status, from, mad, len, now);
}

static inline void rig_recv(void *ctx, const struct mad_addr *from, const void *mad, size_t len,
			    ns_t now)
{
	rig_keep(ctx, 0, from, mad, len, now);
}

static inline void rig_got_clear(struct rig_got *g)
{
	free(g->msg);
	*g = (struct rig_got){ 0 };
}

static inline void rig_mad_hdr(uint8_t *mad, uint8_t mgmt_class, uint8_t version, uint8_t method,
			       uint64_t tid)
{
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = mgmt_class,
		.class_version = version,
		.method = method,
		.tid = tid,
		.attr_id = SA_ATTR_PATH_RECORD,
	};

	memset(mad, 0, MAD_LEN);
	mad_hdr_encode(mad, &h);
}

#endif

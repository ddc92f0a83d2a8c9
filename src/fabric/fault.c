/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/fault.h"

#include <errno.h>
#include <stdlib.h>

#include "fabric/fabric_priv.h"
#include "fabric/fault_priv.h"
#include "util/prng.h"
#include "wire/crc.h"

/*
 * Faults hold at most this many packets: a delay on a busy link is a buffer, and
 * buffers are bounded. What does not fit is lost, as in a router.
 */
#define MAX_HELD 16384

/* A held packet: when it goes on. In the order of release. */
struct held {
	struct pkt *pkt;
	ns_t at;
	uint64_t seq;
};

struct fault {
	struct fabric_dev dev;
	struct list all;
	struct fabric *f;
	unsigned int id;
	struct fault_spec spec;
	struct prng prng;
	uint64_t seen, hit, seq;
	ns_t last_release; /* delay keeps order: not before the one ahead */
	struct timer timer;
	struct held *heap; /* [1..nheld], made when first needed */
	unsigned int nheld;
};

/* --- held packets: a binary heap by time of release, then by order of arrival */

static bool earlier(const struct held *a, const struct held *b)
{
	return a->at != b->at ? a->at < b->at : a->seq < b->seq;
}

static void heap_push(struct fault *x, struct pkt *p, ns_t at)
{
	unsigned int i = ++x->nheld;
	struct held h = { p, at, x->seq++ };

	for (; i > 1 && earlier(&h, &x->heap[i / 2]); i /= 2)
		x->heap[i] = x->heap[i / 2];
	x->heap[i] = h;
}

static struct pkt *heap_pop(struct fault *x)
{
	struct pkt *p = x->heap[1].pkt;
	struct held h = x->heap[x->nheld--];
	unsigned int i = 1;

	while (2 * i <= x->nheld) {
		unsigned int c = 2 * i;

		if (c < x->nheld && earlier(&x->heap[c + 1], &x->heap[c]))
			c++;
		if (!earlier(&x->heap[c], &h))
			break;
		x->heap[i] = x->heap[c];
		i = c;
	}
	x->heap[i] = h;
	return p;
}

static void lose(struct fault *x, struct pkt *p, ns_t now)
{
	if (x->f->tracing && fabric_trace_wants(x->f, p)) {
		struct fabric_trace_event ev = {
			.kind = FABRIC_TRACE_FAULT,
			.node = x->dev.port->node,
			.out_port = x->dev.port->num,
			.drop = -1,
			.hca_drop = -1,
			.pkt = p,
			.now = now,
		};

		fabric_trace_emit(x->f, &ev);
	}
	pkt_free(p);
}

static void release(struct timer *t, ns_t now)
{
	struct fault *x = container_of(t, struct fault, timer);
	struct pkt_queue q = { 0 };

	while (x->nheld && x->heap[1].at <= now)
		pkt_queue_add(&q, heap_pop(x));
	if (x->nheld)
		timer_arm(x->f->cfg.timers, &x->timer, x->heap[1].at);
	/* Last: an owner that is called from there may remove this fault. */
	fabric_dev_emit(&x->dev, &q, now);
}

static void hold(struct fault *x, struct pkt *p, ns_t at, ns_t now)
{
	if (x->nheld == MAX_HELD) {
		lose(x, p, now);
		return;
	}
	heap_push(x, p, at);
	timer_arm(x->f->cfg.timers, &x->timer, x->heap[1].at);
}

/* --- corruption */

/* The octet of a packet in parts, made private; NULL if there is no buffer for that. */
static uint8_t *octet_at(struct pkt *p, uint32_t off)
{
	if (off < pkt_hdr_len(p))
		return pkt_hdr(p) + off;
	if (off >= p->len)
		return p->tail + (off - p->len);
	if (pkt_unshare(p))
		return NULL;
	return fabric_own_octet(p, off - pkt_hdr_len(p));
}

/* One bit of the octets [from, to). CRCs first: in a packet without them it would go unnoticed. */
static bool flip(struct fault *x, struct pkt *p, uint32_t from, uint32_t to)
{
	uint32_t bit;
	uint8_t *o;

	if (!(p->flags & PKT_CRC))
		fabric_pkt_seal(p);
	bit = prng_below(&x->prng, (to - from) * 8);
	o = octet_at(p, from + bit / 8);
	if (!o)
		return false;
	*o ^= (uint8_t)(1u << bit % 8);
	return true;
}

static bool corrupt(struct fault *x, struct pkt *p)
{
	if (p->tail_len < IB_ICRC_LEN + IB_VCRC_LEN)
		return false;
	return flip(x, p, 0, p->len + p->tail_len);
}

/* Where the BTH ends; 0: there is none, so no ICRC either */
static uint32_t bth_end(const struct pkt *p)
{
	const uint8_t *lrh = p->hdr + p->head;
	unsigned int lnh = pkt_hdr_len(p) >= IB_LRH_LEN ? lrh[1] & 3u : 0;

	if (lnh != IB_LNH_LOCAL && lnh != IB_LNH_GLOBAL)
		return 0;
	return IB_LRH_LEN + (lnh == IB_LNH_GLOBAL ? IB_GRH_LEN : 0) + IB_BTH_LEN;
}

/* Behind the BTH nothing is looked at on the way, and all of it is the ICRC's. */
static bool damage(struct fault *x, struct pkt *p)
{
	uint32_t from = bth_end(p), to = p->len + p->tail_len - IB_VCRC_LEN;

	if (!from || p->len < from || p->tail_len < IB_ICRC_LEN + IB_VCRC_LEN ||
	    !flip(x, p, from, to))
		return false;
	crc_pkt_mend_vcrc(p);
	return true;
}

/* A receiver sees a flipped bit as a symbol that does not exist. */
static void count_symbol_error(struct fabric_port *p)
{
	if (p && p->np)
		p->np->cnt.symbol_errors++;
}

/* --- one packet */

static bool is_mad(const struct pkt *p)
{
	const uint8_t *h = p->hdr + p->head;
	unsigned int n = (h[1] & 3) == IB_LNH_GLOBAL ? IB_LRH_LEN + IB_GRH_LEN : IB_LRH_LEN;

	if (p->vl == IB_VL15)
		return true;
	if (!(h[1] & 2) || pkt_hdr_len(p) < n + IB_BTH_LEN)
		return false;
	return (be32_at(h + n + 4) & IB_QPN_MASK) <= IB_QP1;
}

static bool concerns(const struct fault *x, const struct pkt *p)
{
	return x->spec.cls == FAULT_ALL || is_mad(p) == (x->spec.cls == FAULT_MAD);
}

static bool dice(struct fault *x)
{
	return prng_chance(&x->prng, x->spec.ppm);
}

static void apply_delay(struct fault *x, struct pkt *p, ns_t now)
{
	ns_t at = now + x->spec.delay;

	if (x->spec.jitter)
		at += prng_u64(&x->prng) % (x->spec.jitter + 1);
	if (at < x->last_release)
		at = x->last_release;
	x->last_release = at;
	x->hit++;
	hold(x, p, at, now);
}

static void apply_duplicate(struct fault *x, struct pkt *p, struct pkt_queue *out)
{
	struct pkt *copy = dice(x) ? pkt_clone(p) : NULL;

	pkt_queue_add(out, p);
	if (!copy)
		return;
	x->hit++;
	pkt_queue_add(out, copy);
}

static void apply(struct fault *x, struct pkt *p, struct pkt_queue *out, ns_t now)
{
	switch (x->spec.kind) {
	case FAULT_CUT:
		break;
	case FAULT_LOSS:
		if (dice(x))
			break;
		pkt_queue_add(out, p);
		return;
	case FAULT_CORRUPT:
		if (dice(x) && corrupt(x, p)) {
			x->hit++;
			count_symbol_error(x->dev.port->peer);
		}
		pkt_queue_add(out, p);
		return;
	case FAULT_DAMAGE:
		if (dice(x) && damage(x, p))
			x->hit++;
		pkt_queue_add(out, p);
		return;
	case FAULT_DUPLICATE:
		apply_duplicate(x, p, out);
		return;
	case FAULT_REORDER:
		if (!dice(x)) {
			pkt_queue_add(out, p);
			return;
		}
		x->hit++;
		hold(x, p, now + x->spec.delay, now);
		return;
	case FAULT_DELAY:
		apply_delay(x, p, now);
		return;
	}
	x->hit++;
	lose(x, p, now);
}

static void fault_pass(struct fabric_dev *d, struct pkt_queue *q, ns_t now)
{
	struct fault *x = container_of(d, struct fault, dev);
	struct pkt_queue out = { 0 };
	struct pkt *p;

	while ((p = pkt_queue_pop(q))) {
		if (!concerns(x, p)) {
			pkt_queue_add(&out, p);
			continue;
		}
		x->seen++;
		apply(x, p, &out, now);
	}
	*q = out;
}

static void fault_flush(struct fabric_dev *d)
{
	struct fault *x = container_of(d, struct fault, dev);

	while (x->nheld) {
		if (d->port->np)
			node_count_discard(d->port->np, NODE_XMIT_INACTIVE);
		fabric_port_drop(d->port, heap_pop(x), FABRIC_DROP_LINK_DOWN, x->f->now);
	}
	x->last_release = 0;
	timer_cancel(x->f->cfg.timers, &x->timer);
}

static void fault_free(struct fault *x)
{
	while (x->nheld)
		pkt_free(heap_pop(x));
	timer_cancel(x->f->cfg.timers, &x->timer);
	list_del(&x->all);
	free(x->heap);
	free(x);
}

static void fault_gone(struct fabric_dev *d)
{
	fault_free(container_of(d, struct fault, dev));
}

static const struct fabric_dev_ops fault_ops = {
	.pass = fault_pass,
	.flush = fault_flush,
	.gone = fault_gone,
};

int fabric_fault_add(struct fabric_port *port, const struct fault_spec *spec, unsigned int *ret_id)
{
	struct fabric *f = port->f;
	struct fault *x;

	if (!port->link)
		return -ENOTCONN;
	if (!fault_spec_ok(spec))
		return -EINVAL;
	x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	if (spec->kind == FAULT_DELAY || spec->kind == FAULT_REORDER) {
		x->heap = calloc(MAX_HELD + 1, sizeof(*x->heap));
		if (!x->heap) {
			free(x);
			return -ENOMEM;
		}
	}
	x->f = f;
	x->id = ++f->last_fault;
	x->spec = *spec;
	prng_seed(&x->prng, f->cfg.seed + x->id * 0x9e3779b97f4a7c15ull);
	timer_init(&x->timer, release);
	list_add_tail(&f->faults, &x->all);
	fabric_dev_add(port, &x->dev, &fault_ops);
	if (ret_id)
		*ret_id = x->id;
	return 0;
}

int fabric_fault_del(struct fabric *f, unsigned int id, ns_t now)
{
	struct pkt_queue q = { 0 };
	struct fault *x;

	list_for_each (x, &f->faults, all) {
		if (x->id != id)
			continue;
		while (x->nheld)
			pkt_queue_add(&q, heap_pop(x));
		timer_cancel(f->cfg.timers, &x->timer);
		/* Out of all lists before packets move: their receivers may ask for the list. */
		list_del(&x->all);
		fabric_dev_emit_last(&x->dev, &q, now);
		fault_free(x);
		return 0;
	}
	return -ENOENT;
}

bool fabric_fault_next(const struct fabric *f, unsigned int after, struct fault_info *ret)
{
	struct fault *x;

	list_for_each (x, &f->faults, all) {
		if (x->id <= after)
			continue;
		*ret = (struct fault_info){
			.id = x->id,
			.port = x->dev.port,
			.spec = x->spec,
			.seen = x->seen,
			.hit = x->hit,
			.held = x->nheld,
		};
		return true;
	}
	return false;
}

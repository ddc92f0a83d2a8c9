/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/fault.h"

#include <errno.h>
#include <stdlib.h>

#include "fabric/fabric_priv.h"
#include "fabric/fault_priv.h"
#include "util/prng.h"
#include "crc/crc.h"

/*
 * Largest number of packets that a fault holds back. A delay on a busy link needs a buffer, and
 * buffers are bounded. Packets beyond this number are lost, as in a router whose buffer is full.
 */
#define MAX_HELD 16384

/* A packet that is held back until its timer in fault.due expires */
struct held {
	struct timer at;
	struct pkt *pkt;
	struct held *next_free;
};

struct fault {
	struct fabric_dev dev;
	struct list all;
	struct fabric *f;
	unsigned int id;
	struct fault_spec spec;
	struct prng prng;
	uint64_t seen, hit;
	/* time before which a delay releases no further packet, so that packets keep their order */
	ns_t last_release;
	/* timer of the fabric, armed for the earliest timer in .due */
	struct timer timer;
	/* timers of the packets that are held back, ordered by release time and then by arrival */
	struct timers due;
	/*
	 * array of MAX_HELD places for packets that are held back; NULL if faults of this kind hold
	 * back no packets
	 */
	struct held *held;
	struct held *free_held; /* list of the places in .held that were in use and are free now */
	/* .nheld: number of packets held back; .nused: number of places that were ever in use */
	unsigned int nheld, nused;
};

/* --- held packets */

static void put_held(struct fault *x, struct pkt *p, ns_t at)
{
	struct held *h = x->free_held;

	if (h)
		x->free_held = h->next_free;
	else
		h = &x->held[x->nused++];
	*h = (struct held){ .pkt = p };
	timer_arm(&x->due, &h->at, at);
	x->nheld++;
}

static struct pkt *take_held(struct fault *x)
{
	struct held *h = container_of(timers_first(&x->due), struct held, at);

	timer_cancel(&x->due, &h->at);
	h->next_free = x->free_held;
	x->free_held = h;
	x->nheld--;
	return h->pkt;
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

	while (timers_next(&x->due) <= now)
		pkt_queue_add(&q, take_held(x));
	timer_arm(x->f->cfg.timers, &x->timer, timers_next(&x->due));
	/*
	 * This call must be the last statement, because delivery to an HCA may call back the owner
	 * of the HCA, which may remove this fault.
	 */
	fabric_dev_emit(&x->dev, &q, now);
}

static void hold(struct fault *x, struct pkt *p, ns_t at, ns_t now)
{
	if (x->nheld == MAX_HELD) {
		lose(x, p, now);
		return;
	}
	put_held(x, p, at);
	timer_arm(x->f->cfg.timers, &x->timer, timers_next(&x->due));
}

/* --- corruption */

/*
 * Return a pointer to an octet of a packet, in memory that no other packet shares; NULL if there is
 * no buffer for a copy.
 */
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

/*
 * Flip one bit of the octets [from, to). A packet without CRCs first gets CRCs, because without
 * CRCs no receiver would notice the flipped bit.
 */
static bool flip(struct fault *x, struct pkt *p, uint32_t from, uint32_t to)
{
	uint32_t bit;
	uint8_t *o;

	if (!(p->flags & PKT_CRC))
		fabric_pkt_seal(p);
	p->flags &= ~(uint32_t)(PKT_VCRC_OK | PKT_ICRC_OK);
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

/* Return the offset of the end of the BTH; 0 for a packet without BTH, and so without ICRC. */
static uint32_t bth_end(const struct pkt *p)
{
	const uint8_t *lrh = p->hdr + p->head;

	if (pkt_hdr_len(p) < IB_LRH_LEN || !ib_lrh_has_bth(lrh))
		return 0;
	return ib_bth_off(lrh) + IB_BTH_LEN;
}

/*
 * Flip a bit after the BTH. No switch reads octets after the BTH, and the ICRC covers all of them.
 */
static bool damage(struct fault *x, struct pkt *p)
{
	uint32_t from = bth_end(p), to = p->len + p->tail_len - IB_VCRC_LEN;

	if (!from || p->len < from || p->tail_len < IB_ICRC_LEN + IB_VCRC_LEN ||
	    !flip(x, p, from, to))
		return false;
	crc_pkt_mend_vcrc(p);
	return true;
}

/*
 * Cut octets off the end. A packet without CRCs first gets CRCs, so that no valid CRCs are computed
 * later over the remaining octets.
 */
static bool truncate_pkt(struct fault *x, struct pkt *p)
{
	uint32_t keep;

	if (p->len < IB_LRH_LEN || p->len + p->tail_len <= IB_LRH_LEN)
		return false;
	fabric_pkt_seal(p);
	p->flags &= ~(uint32_t)(PKT_VCRC_OK | PKT_ICRC_OK);
	keep = IB_LRH_LEN + (uint32_t)prng_below(&x->prng, p->len + p->tail_len - IB_LRH_LEN);
	if (keep < p->len)
		pkt_trim(p, keep);
	p->tail_len = (uint8_t)(keep - p->len);
	return true;
}

/* Count a symbol error at the receiver, because a flipped bit usually makes an invalid symbol. */
static void count_symbol_error(struct fabric_port *p)
{
	if (p && p->np)
		p->np->cnt.symbol_errors++;
}

/* --- one packet */

static bool is_mad(const struct pkt *p)
{
	const uint8_t *h = p->hdr + p->head;
	unsigned int bth = ib_bth_off(h);

	if (p->vl == IB_VL15)
		return true;
	if (!ib_lrh_has_bth(h) || pkt_hdr_len(p) < bth + IB_BTH_LEN)
		return false;
	return ib_bth_dest_qp(h + bth) <= IB_QP1;
}

static bool concerns(const struct fault *x, const struct pkt *p)
{
	return x->spec.cls == FAULT_ALL || is_mad(p) == (x->spec.cls == FAULT_MAD);
}

static bool dice(struct fault *x)
{
	return prng_chance(&x->prng, x->spec.ppm);
}

static void apply_cut(struct fault *x, struct pkt *p, struct pkt_queue *out, ns_t now)
{
	(void)out;
	x->hit++;
	lose(x, p, now);
}

static void apply_loss(struct fault *x, struct pkt *p, struct pkt_queue *out, ns_t now)
{
	if (dice(x))
		apply_cut(x, p, out, now);
	else
		pkt_queue_add(out, p);
}

static void apply_corrupt(struct fault *x, struct pkt *p, struct pkt_queue *out, ns_t now)
{
	(void)now;
	if (dice(x) && corrupt(x, p)) {
		x->hit++;
		count_symbol_error(x->dev.port->peer);
	}
	pkt_queue_add(out, p);
}

static void apply_damage(struct fault *x, struct pkt *p, struct pkt_queue *out, ns_t now)
{
	(void)now;
	x->hit += dice(x) && damage(x, p);
	pkt_queue_add(out, p);
}

static void apply_truncate(struct fault *x, struct pkt *p, struct pkt_queue *out, ns_t now)
{
	(void)now;
	x->hit += dice(x) && truncate_pkt(x, p);
	pkt_queue_add(out, p);
}

static void apply_duplicate(struct fault *x, struct pkt *p, struct pkt_queue *out, ns_t now)
{
	struct pkt *copy = dice(x) ? pkt_clone(p) : NULL;

	(void)now;
	pkt_queue_add(out, p);
	if (!copy)
		return;
	x->hit++;
	pkt_queue_add(out, copy);
}

static void apply_reorder(struct fault *x, struct pkt *p, struct pkt_queue *out, ns_t now)
{
	if (!dice(x)) {
		pkt_queue_add(out, p);
		return;
	}
	x->hit++;
	hold(x, p, now + x->spec.delay, now);
}

static void apply_delay(struct fault *x, struct pkt *p, struct pkt_queue *out, ns_t now)
{
	ns_t at = now + x->spec.delay;

	(void)out;
	if (x->spec.jitter)
		at += prng_u64(&x->prng) % (x->spec.jitter + 1);
	if (at < x->last_release)
		at = x->last_release;
	x->last_release = at;
	x->hit++;
	hold(x, p, at, now);
}

static void apply_nothing(struct fault *x, struct pkt *p, struct pkt_queue *out, ns_t now)
{
	(void)x;
	(void)now;
	pkt_queue_add(out, p);
}

const struct fault_kind_info fault_kinds[FAULT_KINDS] = {
	[FAULT_LOSS] = { "loss", apply_loss, .has_share = true },
	[FAULT_CORRUPT] = { "corrupt", apply_corrupt, .has_share = true },
	[FAULT_DAMAGE] = { "damage", apply_damage, .has_share = true },
	[FAULT_TRUNCATE] = { "truncate", apply_truncate, .has_share = true },
	[FAULT_DUPLICATE] = { "duplicate", apply_duplicate, .has_share = true },
	[FAULT_REORDER] = { "reorder", apply_reorder, .has_share = true, .has_delay = true },
	[FAULT_DELAY] = { "delay", apply_delay, .has_delay = true, .has_jitter = true },
	[FAULT_CUT] = { "cut", apply_cut },
	/* The data queue of the port is stopped, so only packets on VL15 reach this device. */
	[FAULT_STALL] = { "stall", apply_nothing, .has_no_class = true },
};

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
		fault_kinds[x->spec.kind].apply(x, p, &out, now);
	}
	*q = out;
}

static void fault_flush(struct fabric_dev *d)
{
	struct fault *x = container_of(d, struct fault, dev);

	while (x->nheld) {
		if (d->port->np)
			node_count_discard(d->port->np, NODE_XMIT_INACTIVE);
		fabric_port_drop(d->port, take_held(x), FABRIC_DROP_LINK_DOWN, x->f->now);
	}
	x->last_release = 0;
	timer_cancel(x->f->cfg.timers, &x->timer);
}

static void fault_free(struct fault *x)
{
	while (x->nheld)
		pkt_free(take_held(x));
	timer_cancel(x->f->cfg.timers, &x->timer);
	list_del(&x->all);
	timers_fini(&x->due);
	free(x->held);
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
	timers_init(&x->due);
	if (fault_kinds[spec->kind].has_delay) {
		x->held = calloc(MAX_HELD, sizeof(*x->held));
		if (!x->held) {
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
	if (spec->kind == FAULT_STALL)
		fabric_port_stall(port, true);
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
			pkt_queue_add(&q, take_held(x));
		timer_cancel(f->cfg.timers, &x->timer);
		/*
		 * Unlink the fault before its packets are sent, because the owner of an HCA that
		 * receives a packet may call fabric_fault_next().
		 */
		list_del(&x->all);
		if (x->spec.kind == FAULT_STALL)
			fabric_port_stall(x->dev.port, false);
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
			.held = x->spec.kind == FAULT_STALL ? x->dev.port->q[FABRIC_Q_DATA].n
							    : x->nheld,
		};
		return true;
	}
	return false;
}

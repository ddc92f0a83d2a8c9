/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "verbs/priv.h"

/*
 * Every work request requests a completion. Suppose that only the last request of a list did so. If
 * the adapter accepted only a part of the list, no completion would report the accepted requests.
 */

static struct verbs_tx *tx_at(struct verbs_qp *q, unsigned int i)
{
	return &q->tx[(q->tx_head + i) % q->tx_depth];
}

/* Release the resources that the oldest @n sends have used. */
static void release(struct verbs_qp *q, unsigned int n)
{
	struct verbs_port *p = q->port;

	for (unsigned int i = 0; i < n; i++) {
		struct verbs_tx *t = tx_at(q, i);

		p->free_slot[p->nfree++] = t->slot;
		verbs_ah_put(t->ah);
	}
	q->tx_head = (q->tx_head + n) % q->tx_depth;
	q->tx_n -= n;
}

void verbs_tx_drop(struct verbs_qp *q)
{
	if (q->tx)
		release(q, q->tx_n);
}

static void done(struct verbs_qp *q, const struct ibv_wc *wc)
{
	struct verbs_port *p = q->port;
	uint32_t seq = (uint32_t)wc->wr_id, first = q->tx_seq - q->tx_n;
	unsigned int n = seq - first + 1;

	if (n > q->tx_n)
		return;
	release(q, n);
	if (wc->status == IBV_WC_SUCCESS) {
		p->sent += n;
		return;
	}
	p->sent += n - 1;
	p->stats.tx_error++;
	q->broken = true;
}

bool verbs_tx_reap(struct verbs_qp *q)
{
	struct ibv_wc wc[VERBS_BATCH];
	int n;

	if (!q->tx_n || q->port->dead)
		return false;
	n = ibv_poll_cq(q->scq, VERBS_BATCH, wc);
	for (int i = 0; i < n; i++)
		done(q, &wc[i]);
	return n > 0;
}

/*
 * Poll all completions of sends, and restart the queue pair if a send with an error has stopped it.
 */
static void reap_all(struct verbs_qp *q)
{
	while (verbs_tx_reap(q))
		;
	verbs_qp_mend(q);
}

/* --- posting */

struct chain {
	struct ibv_send_wr wr[VERBS_CHAIN];
	struct ibv_sge sge[VERBS_CHAIN];
	unsigned int n;
};

/* Tell whether the packet has only a partial checksum, which the adapter has to complete. */
static bool partial(const struct ca_send *s)
{
	return frame_info_const(s->pkt)->csum == FRAME_CSUM_PARTIAL;
}

static void add(struct verbs_qp *q, struct chain *c, const struct ca_send *s)
{
	struct verbs_port *p = q->port;
	struct verbs_ah *ah = container_of(s->ah, struct verbs_ah, ah);
	uint32_t slot = p->free_slot[--p->nfree];
	uint8_t *buf = verbs_slot(p, slot);
	unsigned int k = c->n++;

	c->sge[k] = (struct ibv_sge){
		.addr = (uintptr_t)buf,
		.length = (uint32_t)pkt_copy_out(s->pkt, 0, buf, VERBS_SLOT),
		.lkey = p->mr->lkey,
	};
	c->wr[k] = (struct ibv_send_wr){
		.wr_id = q->tx_seq++,
		.sg_list = &c->sge[k],
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | (partial(s) ? IBV_SEND_IP_CSUM : 0u),
		.wr.ud = { .ah = ah->h, .remote_qpn = s->dest_qp, .remote_qkey = s->qkey },
	};
	if (k)
		c->wr[k - 1].next = &c->wr[k];
	ah->refs++;
	*tx_at(q, q->tx_n++) = (struct verbs_tx){ .slot = slot, .ah = ah };
}

/* Takes back the last @n sends, which were not posted. */
static void undo(struct verbs_qp *q, unsigned int n)
{
	struct verbs_port *p = q->port;

	for (; n; n--, q->tx_n--, q->tx_seq--) {
		struct verbs_tx *t = tx_at(q, q->tx_n - 1);

		p->free_slot[p->nfree++] = t->slot;
		verbs_ah_put(t->ah);
	}
}

/*
 * Posts the list of work requests @c, and returns how many of its sends the adapter has accepted.
 * *ret_err is the reason for which the adapter refused the other sends.
 */
static unsigned int post(struct verbs_qp *q, struct chain *c, int *ret_err)
{
	struct ibv_send_wr *bad = NULL;
	unsigned int taken = c->n;

	*ret_err = ibv_post_send(q->h, c->wr, &bad);
	if (!*ret_err)
		return taken;
	/* A library that does not report which request it refused has accepted none. */
	taken = bad >= c->wr && bad < c->wr + c->n ? (unsigned int)(bad - c->wr) : 0;
	undo(q, c->n - taken);
	return taken;
}

static unsigned int room(const struct verbs_qp *q)
{
	unsigned int n = q->tx_depth - q->tx_n;

	return n < q->port->nfree ? n : q->port->nfree;
}

/*
 * Return the counter of the reason for which the packet must be dropped; NULL: it can be posted
 */
static uint64_t *reason(const struct verbs_qp *q, const struct ca_send *s)
{
	struct verbs_port *p = q->port;

	if (p->dead || q->stopped || verbs_ah_make(container_of(s->ah, struct verbs_ah, ah)) ||
	    (partial(s) && !p->ca.csum))
		return &p->stats.tx_refused;
	return s->pkt->len > p->mtu ? &p->stats.tx_too_long : NULL;
}

static void lose(const struct ca_send *s, uint64_t *why)
{
	++*why;
	pkt_free(s->pkt);
}

/*
 * Posts the first packets of @v as one list of work requests. A packet that reason() or the adapter
 * refuses is lost, except if the adapter's queue is full. Returns the number of packets that were
 * posted or lost; 0: the queue is full.
 */
static unsigned int post_some(struct verbs_qp *q, const struct ca_send *v, unsigned int n)
{
	uint64_t *why = reason(q, v);
	struct chain c = { .n = 0 };
	unsigned int taken;
	int err;

	if (why) {
		lose(v, why);
		return 1;
	}
	while (c.n < n && c.n < VERBS_CHAIN && room(q) && !reason(q, &v[c.n]))
		add(q, &c, &v[c.n]);
	if (!c.n)
		return 0;
	taken = post(q, &c, &err);
	for (unsigned int k = 0; k < taken; k++) {
		if (!list_empty(&q->port->taps))
			verbs_tap_sent(q, &v[k]);
		pkt_free(v[k].pkt);
	}
	if (!err || err == ENOMEM || err == EAGAIN) /* all sends were taken, or the queue is full */
		return taken;
	lose(&v[taken], &q->port->stats.tx_refused);
	return taken + 1;
}

unsigned int verbs_post_send(struct ca_qp *qp, const struct ca_send *v, unsigned int n, ns_t now)
{
	struct verbs_qp *q = verbs_qp_of(qp);
	unsigned int done_n = 0, more;

	(void)now;
	if (room(q) < n)
		reap_all(q);
	while (done_n < n) {
		more = post_some(q, v + done_n, n - done_n);
		if (!more)
			break;
		done_n += more;
	}
	return done_n;
}

/* --- the send queues of the port */

unsigned int verbs_queued(struct ca *ca)
{
	const struct verbs_port *p = verbs_port_of(ca);
	const struct verbs_qp *q;
	unsigned int n = 0;

	list_for_each (q, &p->qps, link)
		n += q->tx_n;
	return n;
}

/*
 * Tell whether the queue has no room because of its own sends: it is full, or the arena is used up. The function
 * then requests an event for the next completion of a send. A send that completed before the request makes no
 * event, so the function polls once more.
 */
static bool is_full(struct verbs_qp *q)
{
	if (!q->tx_n || room(q) || q->port->dead)
		return false;
	if (!q->scq_armed)
		q->scq_armed = !ibv_req_notify_cq(q->scq, 0);
	reap_all(q);
	return q->tx_n && !room(q);
}

struct ca_send_queue verbs_send_queue(struct ca *ca)
{
	struct verbs_port *p = verbs_port_of(ca);
	struct ca_send_queue s = { 0 };
	struct verbs_qp *q;

	list_for_each (q, &p->qps, link) {
		reap_all(q);
		s.stalled |= is_full(q);
		s.waiting += q->tx_n;
	}
	s.sent = p->sent;
	return s;
}

unsigned int verbs_send_flush(struct ca *ca, ns_t now)
{
	struct verbs_port *p = verbs_port_of(ca);
	struct verbs_qp *q;
	unsigned int n = 0;

	(void)now;
	list_for_each (q, &p->qps, link) {
		reap_all(q);
		if (!q->tx_n)
			continue;
		n += q->tx_n;
		if (verbs_qp_restart(q))
			log_to(p->log, LOG_LVL_WARN, "port %s: a queue pair does not restart",
			       p->name);
	}
	return n;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/fabric_priv.h"

/* Ports: egress queues, the list of ready ports, devices, delivery to the other end of the link. */

static void mark_ready(struct fabric_port *p)
{
	struct fabric *f = p->f;

	if (p->is_ready)
		return;
	p->is_ready = true;
	p->next_ready = NULL;
	if (f->ready_tail)
		f->ready_tail->next_ready = p;
	else
		f->ready_head = p;
	f->ready_tail = p;
}

static struct fabric_port *next_ready(struct fabric *f)
{
	struct fabric_port *p = f->ready_head;

	if (!p)
		return NULL;
	f->ready_head = p->next_ready;
	if (!f->ready_head)
		f->ready_tail = NULL;
	p->is_ready = false;
	return p;
}

void fabric_unready(struct fabric *f, struct fabric_port *p)
{
	struct fabric_port *prev = NULL, *at = f->ready_head;

	for (; at && at != p; at = at->next_ready)
		prev = at;
	if (!at)
		return;
	if (prev)
		prev->next_ready = p->next_ready;
	else
		f->ready_head = p->next_ready;
	if (f->ready_tail == p)
		f->ready_tail = prev;
	p->is_ready = false;
}

static void drop(struct fabric_port *p, struct pkt *pkt, enum fabric_drop why, ns_t now)
{
	struct fabric *f = p->f;

	f->stats.drops[why] += pkt_count(pkt);
	if (p->node)
		p->node->drops[why] += pkt_count(pkt);
	if (f->tracing && fabric_trace_wants(f, pkt)) {
		struct fabric_trace_event ev = {
			.kind = FABRIC_TRACE_DISCARDED,
			.node = p->node,
			.out_port = p->num,
			.drop = (int)why,
			.hca_drop = -1,
			.pkt = pkt,
			.now = now,
		};

		fabric_trace_emit(f, &ev);
	}
	pkt_free(pkt);
}

/*
 * While a trace runs, drop the packets of a train one by one, so that the trace shows each of them.
 */
void fabric_port_drop(struct fabric_port *p, struct pkt *pkt, enum fabric_drop why, ns_t now)
{
	struct pkt *one;

	while (p->f->tracing && pkt_is_train(pkt) && (one = train_split_link(pkt, 1)))
		drop(p, one, why, now);
	drop(p, pkt, why, now);
}

/* Discard a packet at an egress port, and count it in PortXmitDiscards (IBTA 16.1.3.5). */
static void drop_xmit(struct fabric_port *p, struct pkt *pkt, enum fabric_drop why, ns_t now)
{
	static const enum node_xmit_reason reasons[FABRIC_DROP_MAX] = {
		[FABRIC_DROP_LINK_DOWN] = NODE_XMIT_INACTIVE,
		[FABRIC_DROP_QUEUE] = NODE_XMIT_HOQ_LIFETIME,
		[FABRIC_DROP_HOPS] = NODE_XMIT_LIFETIME,
	};

	if (p->np)
		node_count_discard_n(p->np, reasons[why], pkt_count(pkt));
	fabric_port_drop(p, pkt, why, now);
}

/*
 * Discard a packet for which the egress queue has no room. VL15 has no flow control, so on hardware
 * this port would send a packet on VL15 in any case, and the other end would drop it. So a VL15
 * packet is counted in VL15Dropped of the other end (IBTA 16.1.3.5).
 */
static void drop_full(struct fabric_port *p, struct pkt *pkt)
{
	if (pkt->vl != IB_VL15 || !p->peer || !p->peer->np) {
		drop_xmit(p, pkt, FABRIC_DROP_QUEUE, p->f->now);
		return;
	}
	p->peer->np->cnt.vl15_dropped += pkt_count(pkt);
	fabric_port_drop(p, pkt, FABRIC_DROP_QUEUE, p->f->now);
}

static bool is_held(const struct fabric_port *p, unsigned int class)
{
	return class == FABRIC_Q_DATA && p->stalls;
}

static void enqueue(struct fabric_port *p, unsigned int class, struct pkt *pkt)
{
	pkt_queue_add(&p->q[class], pkt);
	if (is_held(p, class))
		return;
	p->f->queued += pkt_count(pkt);
	mark_ready(p);
}

enum fabric_drop fabric_port_send(struct fabric_port *p, struct pkt *pkt)
{
	unsigned int class = pkt->vl == IB_VL15 ? FABRIC_Q_VL15 : FABRIC_Q_DATA;
	struct pkt_queue *q = &p->q[class];
	struct pkt *first;
	unsigned int room;

	if (!p->up) {
		drop_xmit(p, pkt, FABRIC_DROP_LINK_DOWN, p->f->now);
		return FABRIC_DROP_LINK_DOWN;
	}
	room = q->n < p->f->depth[class] ? p->f->depth[class] - q->n : 0;
	if (pkt_count(pkt) <= room) {
		enqueue(p, class, pkt);
		return FABRIC_SENT;
	}
	first = room ? train_split_link(pkt, room) : NULL;
	if (first)
		enqueue(p, class, first);
	drop_full(p, pkt);
	return FABRIC_DROP_QUEUE;
}

void fabric_port_stall(struct fabric_port *p, bool on)
{
	unsigned int n = p->q[FABRIC_Q_DATA].n;

	p->stalls += on ? 1 : -1u;
	if (on && p->stalls == 1)
		p->f->queued -= n;
	if (on || p->stalls)
		return;
	p->f->queued += n;
	if (n)
		mark_ready(p);
}

struct fabric_send_queue fabric_send_queue(const struct fabric_port *p)
{
	return (struct fabric_send_queue){
		.waiting = p->q[FABRIC_Q_DATA].n,
		.sent = p->sent,
		.stalled = p->stalls > 0,
	};
}

/* Discard the packets in a queue. Returns their number. */
static unsigned int discard(struct fabric_port *p, unsigned int class, enum fabric_drop why,
			    ns_t now)
{
	unsigned int n = p->q[class].n;
	struct pkt *pkt;

	while ((pkt = pkt_queue_pop(&p->q[class]))) {
		if (!is_held(p, class))
			p->f->queued -= pkt_count(pkt);
		drop_xmit(p, pkt, why, now);
	}
	return n;
}

unsigned int fabric_send_flush(struct fabric_port *p, ns_t now)
{
	return discard(p, FABRIC_Q_DATA, FABRIC_DROP_QUEUE, now);
}

void fabric_port_purge(struct fabric_port *p)
{
	struct fabric_dev *d;

	for (unsigned int i = 0; i < FABRIC_NQUEUES; i++)
		discard(p, i, FABRIC_DROP_LINK_DOWN, p->f->now);
	list_for_each (d, &p->devs, on_port) {
		if (d->ops->flush)
			d->ops->flush(d);
	}
}

static void deliver(struct fabric_port *from, struct pkt **v, unsigned int n, ns_t now)
{
	struct fabric_port *to = from->peer;

	switch (to->kind) {
	case PORT_SWITCH:
	case PORT_ZERO:
		fabric_switch_rx(to, v, n, now);
		break;
	case PORT_CA:
		if (to->f->tracing)
			fabric_trace_hca_rx(to, v, n, now);
		else
			hca_rx(to->node->hca, to->num, v, n, now);
		break;
	case PORT_EXT:
		to->ext->tx(to->ext_ctx, v, n, now);
		break;
	}
}

/*
 * Pass packets through the devices from @at to the last one, and then over the link. If @at is the
 * head of the list of devices, no device is left. The devices may have added packets to @q, so @q
 * may have more than one batch. The link may go down between two batches, because deliver() calls
 * the owners of HCAs, which may disable the link.
 */
static void pass_devs(struct fabric_port *p, struct list *at, struct pkt_queue *q, ns_t now)
{
	struct pkt *v[PKT_BATCH];

	for (; at != &p->devs && q->n; at = at->next) {
		struct fabric_dev *d = list_entry(at, struct fabric_dev, on_port);

		d->ops->pass(d, q, now);
	}
	while (q->n) {
		unsigned int n = 0;

		while (n < PKT_BATCH && q->n)
			v[n++] = pkt_queue_pop(q);
		if (p->up) {
			deliver(p, v, n, now);
			continue;
		}
		for (unsigned int i = 0; i < n; i++)
			drop_xmit(p, v[i], FABRIC_DROP_LINK_DOWN, now);
	}
}

void fabric_dev_add(struct fabric_port *p, struct fabric_dev *d, const struct fabric_dev_ops *ops)
{
	d->ops = ops;
	d->port = p;
	list_add_tail(&p->devs, &d->on_port);
}

void fabric_dev_del(struct fabric_dev *d)
{
	list_del(&d->on_port);
	d->port = NULL;
}

void fabric_dev_emit(struct fabric_dev *d, struct pkt_queue *q, ns_t now)
{
	d->port->f->now = now;
	pass_devs(d->port, d->on_port.next, q, now);
}

void fabric_dev_emit_last(struct fabric_dev *d, struct pkt_queue *q, ns_t now)
{
	struct fabric_port *p = d->port;
	struct list *next = d->on_port.next;

	fabric_dev_del(d);
	p->f->now = now;
	pass_devs(p, next, q, now);
}

struct fabric_sum fabric_sum(struct pkt **v, unsigned int n, uint64_t by_sl[PMA_SLS])
{
	struct fabric_sum s = { 0 };
	/* number of 4-octet words, in packets with the SL sl, that are not added to by_sl[] yet */
	uint64_t words = 0;
	uint8_t sl = 0;

	for (unsigned int i = 0; i < n; i++) {
		unsigned int w = pkt_words(v[i]);

		s.words += w;
		s.packets += pkt_count(v[i]);
		if (pkt_hdr_len(v[i]) < IB_LRH_LEN)
			continue;
		if (pkt_sl(v[i]) != sl) {
			by_sl[sl] += words;
			words = 0;
			sl = pkt_sl(v[i]);
		}
		words += w;
		s.mcast += ib_lid_is_mcast(pkt_dlid(v[i])) ? pkt_count(v[i]) : 0;
	}
	by_sl[sl] += words;
	return s;
}

/* Count packets that leave a switch. An HCA counts its packets itself. */
static void count_xmit(struct fabric_port *p, struct pkt **v, unsigned int n)
{
	struct node_counters *c = &p->np->cnt;
	struct fabric_sum s = fabric_sum(v, n, c->xmit_sl);

	c->xmit_pkts += s.packets;
	c->xmit_data += s.words;
	c->mcast_xmit += s.mcast;
	c->ucast_xmit += s.packets - s.mcast;
}

/* Tell whether trains have to be cut at @p, because a device, a trace or an external end must see each packet */
static bool cuts_trains(const struct fabric_port *p)
{
	return !list_empty(&p->devs) || p->f->tracing ||
	       (p->peer->kind == PORT_EXT && !p->peer->ext->trains);
}

/*
 * Take the first descriptor (struct pkt) out of a queue. If it is a train of more than @max
 * packets, or a train at a port that cuts trains, split it, and leave the rest in the queue.
 * Return: the descriptor; NULL if the queue is empty
 */
static struct pkt *take(struct fabric_port *p, unsigned int class, unsigned int max, ns_t now)
{
	struct pkt *pkt, *first;

	while ((pkt = pkt_queue_pop(&p->q[class]))) {
		if (pkt_is_train(pkt) && cuts_trains(p))
			max = 1;
		first = pkt_count(pkt) > max ? train_split_link(pkt, max) : pkt;
		if (first && first != pkt)
			pkt_queue_push(&p->q[class], pkt);
		p->f->queued -= pkt_count(first ? first : pkt);
		p->sent += class == FABRIC_Q_DATA ? pkt_count(first ? first : pkt) : 0;
		if (first)
			return first;
		fabric_port_drop(p, pkt, FABRIC_DROP_NO_MEM, now);
	}
	return NULL;
}

/*
 * Take a batch of packets out of the queues of a port. Returns the number of descriptors, and in *ret_packets the
 * number of packets
 */
static unsigned int take_batch(struct fabric_port *p, struct pkt **v, unsigned int *ret_packets,
			       ns_t now)
{
	unsigned int n = 0, packets = 0;

	for (unsigned int i = 0; i < FABRIC_NQUEUES && !is_held(p, i); i++) {
		struct pkt *pkt;

		while (packets < PKT_BATCH && (pkt = take(p, i, PKT_BATCH - packets, now))) {
			if (p->kind != PORT_ZERO && !pkt->hops) {
				drop_xmit(p, pkt, FABRIC_DROP_HOPS, now);
				continue;
			}
			if (p->peer->kind == PORT_EXT && !fabric_border_transit(pkt)) {
				drop_xmit(p, pkt, FABRIC_DROP_HOPS, now);
				continue;
			}
			if (p->q[i].head)
				__builtin_prefetch(p->q[i].head);
			pkt->hops -= p->kind != PORT_ZERO;
			packets += pkt_count(pkt);
			v[n++] = pkt;
		}
	}
	*ret_packets = packets;
	return n;
}

static unsigned int drain(struct fabric_port *p, ns_t now)
{
	struct pkt *v[PKT_BATCH];
	unsigned int packets, n = take_batch(p, v, &packets, now);

	if (p->q[FABRIC_Q_VL15].n || (p->q[FABRIC_Q_DATA].n && !is_held(p, FABRIC_Q_DATA)))
		mark_ready(p);
	if (!n)
		return 1;
	if (p->kind != PORT_CA && p->kind != PORT_EXT)
		count_xmit(p, v, n);
	if (p->kind != PORT_ZERO)
		p->f->stats.hops += packets;
	if (p->f->tracing)
		for (unsigned int i = 0; i < n; i++)
			fabric_trace_sent(p, v[i], now);

	if (list_empty(&p->devs)) {
		deliver(p, v, n, now);
	} else {
		struct pkt_queue q = { 0 };

		for (unsigned int i = 0; i < n; i++)
			pkt_queue_add(&q, v[i]);
		pass_devs(p, p->devs.next, &q, now);
	}
	return packets;
}

bool fabric_run(struct fabric *f, ns_t now)
{
	unsigned int done = 0;
	struct fabric_port *p;

	f->now = now;
	/*
	 * f->running is true if this call comes from a callback inside fabric_run(). The outer call
	 * moves the packets after the callback.
	 */
	if (f->running)
		return f->ready_head != NULL;
	f->running = true;
	while (done < FABRIC_BUDGET && (p = next_ready(f)))
		done += drain(p, now);
	f->running = false;
	return f->ready_head != NULL;
}

unsigned int fabric_queued(const struct fabric *f)
{
	return f->queued;
}

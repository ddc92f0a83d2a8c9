/* SPDX-License-Identifier: BSD-2-Clause */
#include "eth/send.h"

#include <errno.h>

#include "eth/csum.h"
#include "eth/priv.h"
#include "eth/shape.h"
#include "train/train.h"

static_assert(TRAIN_HDR_MAX + ETH_HEAD_MAX <= PKT_HDR_MAX,
	      "another interface of ours puts its link header before the headers of a packet");

#define NO_LIMIT UINT32_MAX /* eth_out.room before the first eth_set_room() */
#define HDR_GUESS 100 /* octets of IP and TCP headers with options, assumed by eth_tx_cost() */

static void pkt_to_batch(struct eth_if *e, struct pkt *p, const struct eth_send *to, ns_t now)
{
	struct eth_out *o = &e->out;

	o->batch[o->n] = *to;
	o->batch[o->n].pkt = p;
	if (o->room != NO_LIMIT)
		o->room -= pkt_count(p) < o->room ? pkt_count(p) : o->room;
	if (++o->n == PKT_BATCH)
		eth_send_flush(e, now);
}

void eth_send_flush(struct eth_if *e, ns_t now)
{
	unsigned int n = e->out.n;

	e->out.n = 0;
	if (n)
		e->ops->post(e->ctx, e->out.batch, n, now);
}

/* Sends a single packet. If the CA cannot make the packet's checksum, this process makes it. */
static void send_one(struct eth_if *e, struct pkt *p, const struct eth_send *to, ns_t now)
{
	int status = 0;

	if (!e->out.csum_by_ca || !eth_csum_by_ca(p))
		status = eth_csum_complete(p, e->profile->encap.len);
	if (status)
		eth_drop(e, status == -ENOMEM ? ETH_DROP_NO_MEM : ETH_DROP_OFFLOAD, p);
	else
		pkt_to_batch(e, p, to, now);
}

/*
 * Returns the number of frames of the TAP that @p represents, so that a drop of @p counts as so many:
 * one, or the datagrams that were coalesced
 */
static unsigned int frames_of(const struct pkt *p)
{
	unsigned int datagrams = frame_info_const(p)->coalesced;

	return datagrams && !pkt_is_train(p) ? datagrams : pkt_count(p);
}

/* --- super-frames: their packets are posted as far as the send queue has room */

static struct eth_send *first_waiting(struct eth_out *o)
{
	return &o->waiting[o->head];
}

static void take_first(struct eth_if *e)
{
	struct eth_out *o = &e->out;

	pkt_free(first_waiting(o)->pkt);
	o->head = (o->head + 1) % ETH_WAITING_MAX;
	o->nwaiting--;
	o->begun = false;
}

static enum eth_drop why_not(int status)
{
	switch (status) {
	case -EMSGSIZE:
		return ETH_DROP_TOO_BIG;
	case -ENOMEM:
		return ETH_DROP_NO_MEM;
	default:
		return ETH_DROP_OFFLOAD;
	}
}

static bool begin_first(struct eth_if *e)
{
	struct eth_out *o = &e->out;
	int status;

	if (o->begun)
		return true;
	status = train_make(first_waiting(o)->pkt, e->profile->encap.len,
			    ipoib_link_ip_mtu(e->cfg.link));
	if (!status) {
		o->begun = true;
		o->coalesced = frame_info(first_waiting(o)->pkt)->coalesced;
		o->whole = e->cfg.trains && first_waiting(o)->dest_qpn != IB_QPN_MCAST &&
			   pkt_is_train(first_waiting(o)->pkt) &&
			   train_may_travel(first_waiting(o)->pkt);
		return true;
	}
	e->stats.drops[why_not(status)] += frames_of(first_waiting(o)->pkt);
	return false;
}

/*
 * Looks up the queue pair of a frame that waited, because the frame's station may have been closed
 * in the meantime.
 */
static bool find_qp(struct eth_if *e, struct eth_send *to)
{
	struct eth_station *st;

	if (!frame_info(to->pkt)->station)
		return true;
	st = eth_station_by_id(e, frame_info(to->pkt)->station);
	to->qp = st ? st->qp : NULL;
	if (!st)
		e->stats.drops[ETH_DROP_STATION_QP] += frames_of(to->pkt);
	return st != NULL;
}

/*
 * Takes packets from the train *@t: as many as the send queue has room for, or only one packet if
 * trains are not posted. *@t becomes NULL with the last packet. Return: NULL if the packet pool has
 * no free descriptor
 */
static struct pkt *next_part(const struct eth_out *o, struct pkt **t)
{
	unsigned int n = o->whole ? o->room : 1;
	struct pkt *p = *t;

	if (pkt_count(p) > n) {
		frame_info(p)->offload = !o->whole && o->csum_by_ca && eth_csum_by_ca(p);
		return train_split(p, n);
	}
	*t = NULL;
	return p;
}

/*
 * Sends the super-frame that has waited longest. Return: true if no part of the super-frame waits
 * any more, because all its packets were posted or dropped; false if a part waits for room
 */
static bool send_first(struct eth_if *e, ns_t now)
{
	struct eth_send *first = first_waiting(&e->out);
	struct pkt *p;

	if (!find_qp(e, first) || !begin_first(e))
		return true;
	while (e->out.room && first->pkt && (p = next_part(&e->out, &first->pkt))) {
		e->stats.tx_segments += e->out.coalesced ? 0 : pkt_count(p);
		if (pkt_is_train(p))
			pkt_to_batch(e, p, first, now);
		else
			send_one(e, p, first, now);
	}
	if (!first->pkt)
		return true;
	if (!e->out.room)
		return false;
	e->stats.drops[ETH_DROP_NO_MEM] += pkt_count(first->pkt);
	return true;
}

static void send_waiting(struct eth_if *e, ns_t now)
{
	while (e->out.nwaiting && send_first(e, now))
		take_first(e);
}

static void send_super(struct eth_if *e, const struct eth_send *to, ns_t now)
{
	struct eth_out *o = &e->out;

	if (o->nwaiting == ETH_WAITING_MAX) {
		e->stats.drops[ETH_DROP_NO_MEM] += frames_of(to->pkt);
		pkt_free(to->pkt);
		return;
	}
	o->waiting[(o->head + o->nwaiting++) % ETH_WAITING_MAX] = *to;
	send_waiting(e, now);
}

void eth_set_room(struct eth_if *e, unsigned int packets)
{
	e->out.room = packets;
}

void eth_set_csum(struct eth_if *e, bool by_ca)
{
	e->out.csum_by_ca = by_ca;
}

unsigned int eth_tx_more(struct eth_if *e, ns_t now)
{
	send_waiting(e, now);
	eth_send_flush(e, now);
	return e->out.nwaiting;
}

unsigned int eth_tx_waiting(const struct eth_if *e)
{
	return e->out.nwaiting;
}

unsigned int eth_tx_cost(const struct eth_if *e, const struct pkt *p)
{
	unsigned int size = frame_info_const(p)->gso_size, mtu = ipoib_link_ip_mtu(e->cfg.link);

	if (!frame_info_const(p)->gso || !size)
		return 1;
	if (mtu > 2 * HDR_GUESS && size > mtu - HDR_GUESS)
		size = mtu - HDR_GUESS;
	return (p->len + size - 1) / size;
}

void eth_out_ah_gone(struct eth_if *e, const void *ah, ns_t now)
{
	struct eth_out *o = &e->out;
	unsigned int last = 0;

	for (unsigned int i = 0; i < o->nwaiting; i++)
		if (o->waiting[(o->head + i) % ETH_WAITING_MAX].ah == ah)
			last = i + 1;
	/*
	 * All super-frames up to the last one that uses @ah are posted, so that the order of
	 * super-frames does not change.
	 */
	while (last--) {
		o->room = NO_LIMIT;
		send_first(e, now);
		take_first(e);
	}
	eth_send_flush(e, now);
}

void eth_out_init(struct eth_if *e)
{
	e->out.room = NO_LIMIT;
}

void eth_out_fini(struct eth_if *e)
{
	while (e->out.nwaiting)
		take_first(e);
}

/* --- all packets */

void eth_send_pkt(struct eth_if *e, struct pkt *p, void *ah, uint32_t dest_qpn, uint32_t qkey,
		  ns_t now)
{
	struct eth_send to = { .pkt = p, .ah = ah, .dest_qpn = dest_qpn, .qkey = qkey };

	if (!find_qp(e, &to))
		pkt_free(p);
	else if (frame_info(p)->gso)
		send_super(e, &to, now);
	else
		send_one(e, p, &to, now);
}

void eth_tx_link(struct eth_if *e, struct ipoib_tx *v, unsigned int n, ns_t now)
{
	e->now = now;
	ipoib_tx(e->cfg.link, v, n, now);
	for (unsigned int i = 0; i < n; i++)
		if (v[i].verdict == IPOIB_SEND)
			eth_coalesce(e, &v[i], n);
	eth_coalesce_flush(e);
	eth_send_flush(e, now);
}

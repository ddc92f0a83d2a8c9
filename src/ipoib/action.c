/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/action.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define ACTS_MIN 64
#define ACTS_KEPT 4096 /* a ring for more actions is freed when it is empty */

/* Doubles the size of the ring of actions. The actions begin at index 0 of the new ring. */
static void acts_grow(struct ipoib_link *l)
{
	uint32_t cap = l->act_cap ? l->act_cap * 2 : ACTS_MIN;
	struct ipoib_action *a = malloc(cap * sizeof(*a));

	if (!a)
		/* without this action the link would hang, or an address handle would leak */
		abort();
	for (uint32_t i = 0; i < l->act_n; i++)
		a[i] = l->acts[(l->act_head + i) % l->act_cap];
	free(l->acts);
	l->acts = a;
	l->act_cap = cap;
	l->act_head = 0;
}

static void acts_free(struct ipoib_link *l)
{
	free(l->acts);
	l->acts = NULL;
	l->act_cap = l->act_head = 0;
}

struct ipoib_action *ipoib_act(struct ipoib_link *l, enum ipoib_action_type type)
{
	struct ipoib_action *a;

	if (l->act_n == l->act_cap)
		acts_grow(l);
	if (!l->act_n && l->cfg.on_action)
		l->cfg.on_action(l->cfg.on_ctx);
	a = &l->acts[(l->act_head + l->act_n++) % l->act_cap];
	*a = (struct ipoib_action){ .type = type };
	return a;
}

/*
 * Tells whether @a is a NEIGH_GONE action that the owner no longer needs: since @a was queued, the
 * neighbour was used again, released or removed.
 */
static bool act_obsolete(const struct ipoib_action *a)
{
	struct ipoib_neigh *n = a->neigh;

	if (a->type != IPOIB_ACT_NEIGH_GONE)
		return false;
	if (n->link && n->used)
		n->dying = false;
	return !n->link || !n->dying || !n->refs;
}

int ipoib_next_action(struct ipoib_link *l, struct ipoib_action *ret)
{
	if (!l->act_n && l->act_cap > ACTS_KEPT)
		acts_free(l);
	while (l->act_n) {
		const struct ipoib_action *a = &l->acts[l->act_head];

		l->act_head = (l->act_head + 1) % l->act_cap;
		l->act_n--;
		if (act_obsolete(a))
			continue;
		*ret = *a;
		return 0;
	}
	return -EAGAIN;
}

void ipoib_act_send(struct ipoib_link *l, struct pkt *pkt, void *ah, uint32_t dest_qpn,
		    uint32_t qkey)
{
	struct ipoib_action *a = ipoib_act(l, IPOIB_ACT_SEND);

	l->stats.tx_packets++;
	l->stats.tx_octets += pkt->len - l->profile->encap.len;
	l->stats.tx_mcast += dest_qpn == IB_QPN_MCAST;
	a->send.pkt = pkt;
	a->send.ah = ah;
	a->send.dest_qpn = dest_qpn;
	a->send.qkey = qkey;
}

/*
 * A cookie consists of a sequence number, the kind of object and the slot of the object, and is
 * never 0.
 */
#define COOKIE_SLOT_BITS 24

static_assert(IPOIB_NEIGH_LIMIT <= 1u << COOKIE_SLOT_BITS,
	      "a cookie has room for the slot of each path");

void ipoib_ah_request(struct ipoib_link *l, struct ipoib_ah *a, enum ipoib_ah_kind kind,
		      uint32_t slot, const struct ipoib_ah_attr *attr)
{
	struct ipoib_action *act = ipoib_act(l, IPOIB_ACT_AH_CREATE);

	if (!++l->ah_seq) /* a cookie is never 0 */
		l->ah_seq = 1;
	a->cookie = (uint64_t)l->ah_seq << 32 | (uint64_t)kind << COOKIE_SLOT_BITS | slot;
	a->next = *attr;
	act->ah_create.cookie = a->cookie;
	act->ah_create.attr = *attr;
}

static bool attr_equal(const struct ipoib_ah_attr *a, const struct ipoib_ah_attr *b)
{
	return a->dlid == b->dlid && a->sl == b->sl && a->src_path_bits == b->src_path_bits &&
	       a->rate_code == b->rate_code && a->has_grh == b->has_grh && a->tclass == b->tclass &&
	       a->hop_limit == b->hop_limit && a->flow_label == b->flow_label &&
	       ib_gid_equal(&a->dgid, &b->dgid);
}

bool ipoib_ah_same(const struct ipoib_ah *a, const struct ipoib_ah_attr *attr)
{
	return a->ah && !a->cookie && attr_equal(&a->attr, attr);
}

bool ipoib_ah_asked(const struct ipoib_ah *a, const struct ipoib_ah_attr *attr)
{
	return a->cookie && attr_equal(&a->next, attr);
}

static void ah_destroy(struct ipoib_link *l, void *ah)
{
	if (ah)
		ipoib_act(l, IPOIB_ACT_AH_DESTROY)->ah = ah;
}

void ipoib_ah_drop(struct ipoib_link *l, struct ipoib_ah *a)
{
	ah_destroy(l, a->ah);
	a->ah = NULL;
	a->cookie = 0;
}

static struct ipoib_ah *ah_find(struct ipoib_link *l, uint64_t cookie)
{
	uint32_t slot = (uint32_t)cookie & ((1u << COOKIE_SLOT_BITS) - 1);
	struct ipoib_ah *a = NULL;

	switch ((uint32_t)cookie >> COOKIE_SLOT_BITS) {
	case IPOIB_AH_PATH:
		if (slot < l->path_slots.top && l->paths[slot].link)
			a = &l->paths[slot].ah;
		break;
	case IPOIB_AH_MCAST:
		if (slot < l->mcast_slots.top && l->mcasts[slot].link)
			a = &l->mcasts[slot].ah;
		break;
	case IPOIB_AH_LENT:
		if (slot < l->mcast_slots.top && l->mcasts[slot].link)
			a = &l->mcasts[slot].lent;
		break;
	}
	return a && cookie && a->cookie == cookie ? a : NULL;
}

void ipoib_ah_ready(struct ipoib_link *l, uint64_t cookie, void *ah, int err, ns_t now)
{
	struct ipoib_ah *a = ah_find(l, cookie);

	l->stats.ah_failures += err != 0;
	if (!a) {
		if (!err)
			ah_destroy(l, ah);
		return;
	}
	a->cookie = 0;
	if (!err) {
		ah_destroy(l, a->ah);
		a->ah = ah;
		a->attr = a->next;
	}
	switch ((uint32_t)cookie >> COOKIE_SLOT_BITS) {
	case IPOIB_AH_PATH:
		ipoib_path_ah_ready(container_of(a, struct ipoib_path, ah), err, now);
		break;
	case IPOIB_AH_MCAST:
		ipoib_mcast_ah_ready(container_of(a, struct ipoib_mcast, ah), err, now);
		break;
	case IPOIB_AH_LENT:
		ipoib_mcast_lent_ready(container_of(a, struct ipoib_mcast, lent), err, now);
		break;
	}
}

enum ipoib_drop ipoib_drop_pkt(struct ipoib_link *l, struct pkt *pkt, enum ipoib_drop reason)
{
	l->stats.drops[reason] += pkt_count(pkt);
	pkt_free(pkt);
	return reason;
}

/* Returns the total size of the buffers that a packet occupies while it is held back. */
static uint32_t held_cost(const struct pkt *pkt)
{
	uint32_t cost = 0;

	for (unsigned int i = 0; i < pkt->nslices; i++)
		cost += pkt->slice[i].buf->small ? PKT_SMALL_SIZE : PKT_BUF_SIZE;
	return cost;
}

/*
 * Packets that are held back must leave buffers for other traffic, because the TAPs are read into
 * free buffers. So a packet that fits into a small buffer is moved into one, and a link holds back
 * a limited number of packets and octets. While more than half of the pool is in use, no link holds
 * back a further packet.
 */
static bool hold_allowed(struct ipoib_link *l, const struct pkt_queue *q, unsigned int max,
			 struct pkt *pkt)
{
	if (q->n >= max || l->nheld >= IPOIB_HELD_LINK || pkt_pool_is_scarce(pkt->pool))
		return false;
	if (pkt_shrink(pkt) == -ENOMEM)
		return false;
	return l->held_octets + held_cost(pkt) <= IPOIB_HELD_OCTETS;
}

enum ipoib_drop ipoib_hold(struct ipoib_link *l, struct pkt_queue *q, unsigned int max,
			   struct pkt *pkt)
{
	if (!hold_allowed(l, q, max, pkt))
		return ipoib_drop_pkt(l, pkt, IPOIB_DROP_HELD_FULL);
	l->nheld++;
	l->held_octets += held_cost(pkt);
	l->stats.tx_held++;
	pkt_queue_add(q, pkt);
	return IPOIB_DROP_NONE;
}

struct pkt *ipoib_unhold(struct ipoib_link *l, struct pkt_queue *q)
{
	struct pkt *pkt = pkt_queue_pop(q);

	if (!pkt)
		return NULL;
	l->nheld--;
	l->held_octets -= held_cost(pkt);
	return pkt;
}

void ipoib_hold_drop(struct ipoib_link *l, struct pkt_queue *q, enum ipoib_drop reason)
{
	struct pkt *pkt;

	while ((pkt = ipoib_unhold(l, q)))
		ipoib_drop_pkt(l, pkt, reason);
}

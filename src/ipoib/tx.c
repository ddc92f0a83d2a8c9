/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/action.h"
#include "ipoib/mcast.h"
#include "ipoib/neigh.h"
#include "util/frame.h"

/* The send path: ipoib_tx() -> tx_one() -> tx_neigh() or tx_group(). */

static void tx_drop(struct ipoib_link *l, struct ipoib_tx *v, enum ipoib_drop reason)
{
	v->verdict = IPOIB_DROP;
	v->reason = ipoib_drop_pkt(l, v->pkt, reason);
	v->pkt = NULL;
}

static void tx_hold(struct ipoib_link *l, struct ipoib_tx *v, struct pkt_queue *q, unsigned int max)
{
	v->reason = ipoib_hold(l, q, max, v->pkt);
	v->verdict = v->reason ? IPOIB_DROP : IPOIB_HELD;
	v->pkt = NULL;
}

static void tx_send(struct ipoib_link *l, struct ipoib_tx *v, void *ah, uint32_t dest_qpn,
		    uint32_t qkey)
{
	l->stats.tx_packets++;
	l->stats.tx_octets += v->pkt->len - l->profile->encap.len;
	v->verdict = IPOIB_SEND;
	v->ah = ah;
	v->dest_qpn = dest_qpn;
	v->qkey = qkey;
}

static void tx_neigh(struct ipoib_link *l, struct ipoib_tx *v, ns_t now)
{
	struct ipoib_neigh *n = v->neigh;
	struct ipoib_path *p = n->path;

	n->used = true;
	if (p->state == IPOIB_PATH_READY) {
		tx_send(l, v, p->ah.ah, n->lladdr.qpn, ipoib_neigh_qkey(n));
		return;
	}
	ipoib_path_resolve(p, now);
	ipoib_path_verify(p, now);
	if (ipoib_path_usable(p))
		tx_send(l, v, p->ah.ah, n->lladdr.qpn, ipoib_neigh_qkey(n));
	else if (p->state == IPOIB_PATH_FAILED)
		tx_drop(l, v, ipoib_path_why(p));
	else
		tx_hold(l, v, &n->held, IPOIB_HELD_NEIGH);
}

static void tx_group(struct ipoib_link *l, struct ipoib_tx *v, struct ipoib_mcast *m, ns_t now)
{
	enum ipoib_drop why = IPOIB_DROP_NO_GROUP;
	void *ah = NULL;

	switch (ipoib_mcast_route(m, &ah, &why, now)) {
	case IPOIB_SEND:
		l->stats.tx_mcast++;
		tx_send(l, v, ah, IB_QPN_MCAST, l->qkey);
		break;
	case IPOIB_HELD:
		tx_hold(l, v, &m->held, IPOIB_HELD_GROUP);
		break;
	default:
		tx_drop(l, v, why);
		break;
	}
}

static void tx_mcast(struct ipoib_link *l, struct ipoib_tx *v, enum ipoib_proto proto, ns_t now)
{
	struct ipoib_mcast *m;

	switch (ipoib_mcast_get(l, proto, v->group, &m)) {
	case 0:
		tx_group(l, v, m, now);
		break;
	case -EINVAL:
		tx_drop(l, v, IPOIB_DROP_NOT_GROUP);
		break;
	default:
		tx_drop(l, v, IPOIB_DROP_GROUPS_FULL);
		break;
	}
}

static void tx_one(struct ipoib_link *l, struct ipoib_tx *v, ns_t now)
{
	uint8_t *hdr;

	v->reason = IPOIB_DROP_NONE;
	if (!l->up)
		return tx_drop(l, v, IPOIB_DROP_LINK_DOWN);
	if (!l->profile->encap.carries(v->ethertype))
		return tx_drop(l, v, IPOIB_DROP_TX_TYPE);
	if (v->pkt->len > l->ip_mtu && frame_info(v->pkt)->gso == FRAME_GSO_NONE)
		return tx_drop(l, v, IPOIB_DROP_TOO_BIG);
	hdr = pkt_push(v->pkt, l->profile->encap.len);
	if (!hdr)
		return tx_drop(l, v, IPOIB_DROP_HEADROOM);
	l->profile->encap.write(hdr, v->ethertype);

	switch (v->dst) {
	case IPOIB_DST_NEIGH:
		return tx_neigh(l, v, now);
	case IPOIB_DST_BROADCAST:
		return tx_group(l, v, l->bcast, now);
	case IPOIB_DST_MCAST4:
		return tx_mcast(l, v, IPOIB_IPV4, now);
	case IPOIB_DST_MCAST6:
		return tx_mcast(l, v, IPOIB_IPV6, now);
	default:
		return tx_drop(l, v, IPOIB_DROP_NOT_GROUP);
	}
}

void ipoib_tx(struct ipoib_link *l, struct ipoib_tx *v, unsigned int n, ns_t now)
{
	for (unsigned int i = 0; i < n; i++)
		tx_one(l, &v[i], now);
}

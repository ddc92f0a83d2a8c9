/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "eth/priv.h"
#include "train/train.h"

static bool is_dhcp(const struct eth_if *e, struct pkt *p)
{
	const uint8_t *ip = pkt_pull(p, 20);

	return ip && eth_is_dhcp(e, p, ip);
}

static struct pkt *rewrite(struct eth_if *e, struct ipoib_rx *r, ns_t now, enum eth_drop *why)
{
	struct pkt *p;

	if (r->ethertype == ETH_P_ARP4 && e->profile->resolve == IPOIB_RESOLVE_IBARP)
		p = eth_ibarp_from_link(e, r, now, why);
	else if (r->ethertype == ETH_P_ARP4 || r->ethertype == ETH_P_RARP4)
		p = eth_arp_from_link(e, r->pkt, now, why);
	else if (r->ethertype == ETH_P_IPV6_ && eth_nd_type(r->pkt))
		p = eth_nd_from_link(e, r->pkt, r->src, now, why);
	else if (r->ethertype == ETH_P_IPV4 && is_dhcp(e, r->pkt))
		p = eth_dhcp_from_link(e, r->pkt, r->src, why);
	else
		return r->pkt;
	if (p && p != r->pkt)
		pkt_free(r->pkt);
	return p;
}

static void deliver_one(struct eth_if *e, const struct eth_station *st, struct ipoib_rx *r,
			ns_t now)
{
	const struct eth_head *head = &e->shape->head;
	uint8_t header[ETH_HEAD_MAX] = { 0 };
	enum eth_drop why = ETH_DROP_NO_MEM;
	uint8_t *h;
	struct pkt *p;

	be16_put(header + head->type_at, r->ethertype);
	e->shape->header(e, header, st, r);
	p = rewrite(e, r, now, &why);
	if (!p) {
		eth_drop(e, why, r->pkt);
		return;
	}
	h = pkt_push(p, head->len);
	if (!h) {
		eth_drop(e, ETH_DROP_NO_MEM, p);
		return;
	}
	memcpy(h, header, head->len);
	eth_gro_add(&e->gro, p, r->ethertype);
}

/*
 * Tells whether the train r->pkt (packets of one flow, train/train.h) may be written to the TAP as
 * one super-frame. The result is false if the TAP does not accept super-frames of this kind, or if
 * the packets of the train have to be checked for DHCP.
 */
static bool takes_whole(const struct eth_if *e, const struct ipoib_rx *r)
{
	if (frame_info(r->pkt)->gso != FRAME_GSO_UDP)
		return e->gro.tcp;
	return e->gro.udp && !(r->ethertype == ETH_P_IPV4 && is_dhcp(e, r->pkt));
}

static void deliver(struct eth_if *e, const struct eth_station *st, struct ipoib_rx *r, ns_t now)
{
	if (pkt_is_train(r->pkt) && takes_whole(e, r))
		train_to_frame(r->pkt);
	while (pkt_is_train(r->pkt)) {
		struct ipoib_rx one = *r;

		one.pkt = train_split(r->pkt, 1);
		if (!one.pkt) {
			eth_drop(e, ETH_DROP_NO_MEM, r->pkt);
			return;
		}
		deliver_one(e, st, &one, now);
	}
	deliver_one(e, st, r, now);
}

void eth_rx(struct eth_if *e, struct eth_station *st, struct ipoib_rx *v, unsigned int n, ns_t now)
{
	e->now = now;
	if (st) {
		for (unsigned int i = 0; i < n; i++)
			st->rx_packets += pkt_count(v[i].pkt);
		st->last_used = now;
	}
	ipoib_rx(e->cfg.link, v, n, now);
	for (unsigned int i = 0; i < n; i++) {
		if (v[i].verdict != IPOIB_DELIVER)
			continue;
		e->stats.rx_packets += pkt_count(v[i].pkt);
		if (e->up)
			deliver(e, st, &v[i], now);
		else
			eth_drop(e, ETH_DROP_RX_DOWN, v[i].pkt);
	}
	eth_gro_flush(&e->gro);
}

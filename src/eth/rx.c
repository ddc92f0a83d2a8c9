/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "eth/priv.h"

/*
 * Source MAC in frames from a sender whose address is not known yet, because it sent no packet with a
 * GRH and no path leads to its LID. No frame is ever sent to this MAC.
 */
static const uint8_t unknown_sender[6] = { 0x06 };
static const uint8_t broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

static void dst_mac(uint8_t ret[6], const uint8_t local[6], const struct ipoib_rx *r)
{
	uint8_t ip[40];
	size_t len;

	if (!r->mcast) {
		memcpy(ret, local, 6);
		return;
	}
	memcpy(ret, broadcast, 6);
	len = pkt_copy_out(r->pkt, 0, ip, sizeof(ip));
	if (r->ethertype == ETH_P_IPV4 && len >= 20 && ip[16] >> 4 == 0xe) {
		ret[0] = 0x01; /* MAC of an IPv4 group: RFC 1112 §6.4 */
		ret[1] = 0x00;
		ret[2] = 0x5e;
		ret[3] = ip[17] & 0x7f;
		ret[4] = ip[18];
		ret[5] = ip[19];
	} else if (r->ethertype == ETH_P_IPV6_ && len == 40 && ip[24] == 0xff) {
		ret[0] = ret[1] = 0x33; /* MAC of an IPv6 group: RFC 2464 §7 */
		memcpy(ret + 2, ip + 36, 4);
	}
}

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

static void deliver(struct eth_if *e, const uint8_t local[6], struct ipoib_rx *r, ns_t now)
{
	const uint8_t *src = r->src ? eth_peer_mac(e, r->src) : NULL;
	uint8_t mac[ETH_HLEN_];
	enum eth_drop why = ETH_DROP_NO_MEM;
	uint8_t *h;
	struct pkt *p;

	memcpy(mac + 6, src ? src : unknown_sender, 6);
	be16_put(mac + 12, r->ethertype);
	dst_mac(mac, local, r);
	p = rewrite(e, r, now, &why);
	if (!p) {
		eth_drop(e, why, r->pkt);
		return;
	}
	h = pkt_push(p, ETH_HLEN_);
	if (!h) {
		eth_drop(e, ETH_DROP_NO_MEM, p);
		return;
	}
	memcpy(h, mac, ETH_HLEN_);
	eth_gro_add(&e->gro, p);
}

void eth_rx(struct eth_if *e, struct eth_station *st, struct ipoib_rx *v, unsigned int n, ns_t now)
{
	const uint8_t *local = st ? st->mac : e->mac;

	e->now = now;
	if (st) {
		st->rx_packets += n;
		st->last_used = now;
	}
	ipoib_rx(e->cfg.link, v, n, now);
	for (unsigned int i = 0; i < n; i++) {
		if (v[i].verdict != IPOIB_DELIVER)
			continue;
		e->stats.rx_packets++;
		if (e->up)
			deliver(e, local, &v[i], now);
		else
			eth_drop(e, ETH_DROP_RX_DOWN, v[i].pkt);
	}
	eth_gro_flush(&e->gro);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "eth/priv.h"

#define ETH_TYPE_MIN 0x0600 /* lower values are a length, IEEE 802.3 */
#define ETH_TYPE_VLAN 0x8100
#define ETH_TYPE_QINQ 0x88a8
#define ETH_TYPE_LLDP 0x88cc

static const uint8_t broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

static enum eth_drop check_type(const struct eth_if *e, uint16_t type)
{
	if (type < ETH_TYPE_MIN)
		return ETH_DROP_BPDU;
	if (type == ETH_TYPE_VLAN || type == ETH_TYPE_QINQ)
		return ETH_DROP_VLAN;
	if (type == ETH_TYPE_LLDP)
		return ETH_DROP_LLDP;
	return e->profile->encap.carries(type) ? ETH_DROP_NONE : ETH_DROP_TYPE;
}

static enum eth_drop unicast_dst(struct eth_if *e, struct ipoib_tx *t, const uint8_t mac[6])
{
	t->dst = IPOIB_DST_NEIGH;
	t->neigh = eth_peer_by_mac(e, mac);
	if (t->neigh)
		return ETH_DROP_NONE;
	return eth_mac_is_local(e, mac) ? ETH_DROP_LOCAL : ETH_DROP_TOKEN;
}

static bool is_ones4(const uint8_t a[4])
{
	return be32_at(a) == 0xffffffff;
}

/*
 * The group is taken from the IP destination, because the MAC has only 23 or 32 bits of it. An IPv4
 * packet to an address that is no group goes to the broadcast group if the MAC is all ones (directed
 * broadcast, RFC 4391 §5) or the address is 255.255.255.255. A unicast MAC means one receiver,
 * whatever the IP destination is (RFC 6085; a bridge that turns multicast into unicast).
 */
enum eth_drop eth_ip_dst(struct eth_if *e, struct ipoib_tx *t, const uint8_t mac[6])
{
	bool v6 = t->ethertype == ETH_P_IPV6_;
	unsigned int hlen = v6 ? 40 : 20;
	const uint8_t *ip = pkt_pull(t->pkt, hlen), *dst;

	if (!ip || ip[0] >> 4 != (v6 ? 6 : 4))
		return ETH_DROP_SHORT;
	if (!(mac[0] & 1))
		return unicast_dst(e, t, mac);
	dst = ip + (v6 ? 24 : 16);
	if (v6 ? dst[0] == 0xff : dst[0] >> 4 == 0xe) {
		t->dst = v6 ? IPOIB_DST_MCAST6 : IPOIB_DST_MCAST4;
		memcpy(t->group, dst, v6 ? 16 : 4);
		return ETH_DROP_NONE;
	}
	if (v6 || (!eth_mac_equal(mac, broadcast) && !is_ones4(dst)))
		return ETH_DROP_MAC_MISMATCH;
	t->dst = IPOIB_DST_BROADCAST;
	return ETH_DROP_NONE;
}

/* Removes the padding of small Ethernet frames, which IPoIB does not carry. */
static enum eth_drop trim_padding(struct pkt *p, bool v6)
{
	const uint8_t *ip = pkt_pull(p, v6 ? 40 : 20);
	uint32_t len;

	if (!ip)
		return ETH_DROP_SHORT;
	if (frame_info(p)->gso)
		return ETH_DROP_NONE;
	len = v6 ? 40u + be16_at(ip + 4) : be16_at(ip + 2);
	if (len > p->len || len < (v6 ? 40u : 20u))
		return ETH_DROP_SHORT;
	pkt_trim(p, len);
	return ETH_DROP_NONE;
}

/* Replaces t->pkt by its rewritten form. */
static enum eth_drop replace(struct ipoib_tx *t, struct pkt *p, enum eth_drop why)
{
	if (!p)
		return why;
	if (p == t->pkt)
		return ETH_DROP_NONE;
	frame_info(p)->station = frame_info(t->pkt)->station;
	pkt_free(t->pkt);
	t->pkt = p;
	return ETH_DROP_NONE;
}

static enum eth_drop arp_out(struct eth_if *e, struct ipoib_tx *t, const uint8_t mac[6])
{
	enum eth_drop why = ETH_DROP_NONE;
	struct pkt *p;

	if (e->profile->resolve == IPOIB_RESOLVE_IBARP) {
		p = eth_ibarp_to_link(e, t, &why);
		return replace(t, p, why);
	}
	if (mac[0] & 1)
		t->dst = IPOIB_DST_BROADCAST;
	else
		why = unicast_dst(e, t, mac);
	if (why)
		return why;
	p = eth_arp_to_link(e, t->pkt, &why);
	return replace(t, p, why);
}

static enum eth_drop ip_out(struct eth_if *e, struct ipoib_tx *t, const uint8_t mac[6], ns_t now)
{
	bool v6 = t->ethertype == ETH_P_IPV6_;
	enum eth_drop why = trim_padding(t->pkt, v6);

	if (!why)
		why = eth_ip_dst(e, t, mac);
	if (!why && v6 && eth_nd_type(t->pkt)) {
		struct pkt *p = eth_nd_to_link(e, t->pkt, &why);

		why = replace(t, p, why);
	} else if (!why && !v6 && eth_is_dhcp(e, t->pkt, pkt_pull(t->pkt, 20))) {
		struct pkt *p = eth_dhcp_to_link(e, t->pkt, now, &why);

		why = replace(t, p, why);
	}
	if (!why && (t->dst == IPOIB_DST_MCAST4 || t->dst == IPOIB_DST_MCAST6) &&
	    !frame_info(t->pkt)->gso && eth_snoop(e, t->pkt, t->ethertype, now))
		t->pkt = NULL; /* eth_snoop() took the packet */
	return why;
}

static enum eth_drop classify(struct eth_if *e, struct ipoib_tx *t, uint8_t mac[6], ns_t now)
{
	const uint8_t *h = pkt_pull(t->pkt, ETH_HLEN_);
	enum eth_drop why;

	if (!h)
		return ETH_DROP_SHORT;
	memcpy(mac, h, 6);
	t->ethertype = be16_at(h + 12);
	why = check_type(e, t->ethertype);
	if (!why && !eth_mac_equal(h + 6, e->mac))
		why = eth_station_from(e, h + 6, t->pkt, now);
	if (why)
		return why;
	pkt_trim_head(t->pkt, ETH_HLEN_);
	if (t->ethertype == ETH_P_IPV4 || t->ethertype == ETH_P_IPV6_)
		return ip_out(e, t, mac, now);
	return arp_out(e, t, mac);
}

void eth_tx(struct eth_if *e, struct pkt **v, unsigned int n, ns_t now)
{
	struct ipoib_tx t[PKT_BATCH];
	unsigned int k = 0;

	e->now = now;
	for (unsigned int i = 0; i < n; i++) {
		uint8_t mac[6] = { 0 };
		enum eth_drop why;

		t[k] = (struct ipoib_tx){ .pkt = v[i] };
		e->stats.tx_frames++;
		why = classify(e, &t[k], mac, now);
		if (why == ETH_DROP_TOKEN)
			eth_token_unknown(e, mac, now);
		if (why)
			eth_drop(e, why, t[k].pkt);
		else if (t[k].pkt)
			k++;
	}
	if (k)
		eth_tx_link(e, t, k, now);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "eth/priv.h"
#include "eth/seg.h"

#define ETH_TYPE_MIN 0x0600 /* below: a length, IEEE 802.3 */
#define ETH_TYPE_VLAN 0x8100
#define ETH_TYPE_QINQ 0x88a8
#define ETH_TYPE_LLDP 0x88cc

static const uint8_t broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

/* --- out: verdicts become packets to post */

void eth_send_flush(struct eth_if *e, ns_t now)
{
	unsigned int n = e->npost;

	e->npost = 0;
	if (n)
		e->ops->post(e->ctx, e->post, n, now);
}

static void gather(struct eth_if *e, struct pkt *p, const struct eth_send *to, ns_t now)
{
	e->post[e->npost] = *to;
	e->post[e->npost].pkt = p;
	if (++e->npost == PKT_BATCH)
		eth_send_flush(e, now);
}

static void send_super(struct eth_if *e, struct pkt *p, const struct eth_send *to, ns_t now)
{
	struct eth_seg s;
	struct pkt *seg;
	int status = eth_seg_start(&s, p, IPOIB_HDR_LEN, ipoib_link_ip_mtu(e->cfg.link));

	if (status) {
		eth_drop(e, status == -EMSGSIZE ? ETH_DROP_TOO_BIG : ETH_DROP_OFFLOAD, p);
		return;
	}
	while ((seg = eth_seg_next(&s))) {
		e->stats.tx_segments++;
		gather(e, seg, to, now);
	}
	if (!eth_seg_done(&s))
		e->stats.drops[ETH_DROP_NO_MEM]++;
	pkt_free(p);
}

static void send_one(struct eth_if *e, struct pkt *p, const struct eth_send *to, ns_t now)
{
	int status = eth_csum_complete(p, IPOIB_HDR_LEN);

	if (status)
		eth_drop(e, status == -ENOMEM ? ETH_DROP_NO_MEM : ETH_DROP_OFFLOAD, p);
	else
		gather(e, p, to, now);
}

void eth_send_pkt(struct eth_if *e, struct pkt *p, void *ah, uint32_t dest_qpn, uint32_t qkey,
		  ns_t now)
{
	struct eth_send to = { .ah = ah, .dest_qpn = dest_qpn, .qkey = qkey };

	if (p->from) {
		struct eth_station *st = eth_station_by_id(e, p->from);

		if (!st) {
			eth_drop(e, ETH_DROP_STATION_QP, p); /* it went while this was held */
			return;
		}
		to.qp = st->qp;
	}
	if (p->gso)
		send_super(e, p, &to, now);
	else
		send_one(e, p, &to, now);
}

void eth_tx_link(struct eth_if *e, struct ipoib_tx *v, unsigned int n, ns_t now)
{
	ipoib_tx(e->cfg.link, v, n, now);
	for (unsigned int i = 0; i < n; i++)
		if (v[i].verdict == IPOIB_SEND)
			eth_send_pkt(e, v[i].pkt, v[i].ah, v[i].dest_qpn, v[i].qkey, now);
	eth_send_flush(e, now);
}

/* --- in: frames become packets with a destination */

static enum eth_drop check_type(uint16_t type)
{
	if (type < ETH_TYPE_MIN)
		return ETH_DROP_BPDU;
	if (type == ETH_TYPE_VLAN || type == ETH_TYPE_QINQ)
		return ETH_DROP_VLAN;
	if (type == ETH_TYPE_LLDP)
		return ETH_DROP_LLDP;
	return ipoib_type_valid(type) ? ETH_DROP_NONE : ETH_DROP_TYPE;
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
 * The group is taken from the IP destination, not from the MAC (I28): 23 or 32 bits of a MAC do not
 * name a group. Only an all-ones MAC means the broadcast group for an IPv4 address that is not a
 * group's: a directed broadcast (RFC 4391 §5). A unicast MAC is the kernel's word that one
 * receiver is meant, whatever the IP destination (RFC 6085, a bridge's multicast to unicast).
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

/* Ethernet pads small frames; IPoIB does not carry the padding. */
static enum eth_drop trim_padding(struct pkt *p, bool v6)
{
	const uint8_t *ip = pkt_pull(p, v6 ? 40 : 20);
	uint32_t len;

	if (!ip)
		return ETH_DROP_SHORT;
	if (p->gso)
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
	p->from = t->pkt->from;
	pkt_free(t->pkt);
	t->pkt = p;
	return ETH_DROP_NONE;
}

static enum eth_drop arp_out(struct eth_if *e, struct ipoib_tx *t, const uint8_t mac[6])
{
	enum eth_drop why = ETH_DROP_NONE;
	struct pkt *p;

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
	if (!why && (t->dst == IPOIB_DST_MCAST4 || t->dst == IPOIB_DST_MCAST6) && !t->pkt->gso &&
	    eth_snoop(e, t->pkt, t->ethertype, now))
		t->pkt = NULL; /* held */
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
	why = check_type(t->ethertype);
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
			eth_token_void(e, mac, now);
		if (why)
			eth_drop(e, why, t[k].pkt);
		else if (t[k].pkt)
			k++;
	}
	if (k)
		eth_tx_link(e, t, k, now);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "eth/priv.h"

#define ETH_TYPE_MIN 0x0600 /* a smaller value is no ethertype but a length (IEEE 802.3) */
#define ETH_TYPE_VLAN 0x8100
#define ETH_TYPE_QINQ 0x88a8
#define ETH_TYPE_LLDP 0x88cc

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

static enum eth_drop unicast_dst(struct eth_if *e, struct ipoib_tx *t, const uint8_t *hw, ns_t now)
{
	t->dst = IPOIB_DST_NEIGH;
	t->neigh = e->shape->neigh(e, hw, now);
	return t->neigh ? ETH_DROP_NONE : e->shape->no_neigh(e, hw, now);
}

static bool is_ones4(const uint8_t a[4])
{
	return be32_at(a) == 0xffffffff;
}

/*
 * Determines the destination of an IP packet, by the first of these rules that applies:
 *
 *	1. A frame to a unicast hardware address is sent to one receiver, whatever the IP
 *	   destination is (RFC 6085). For example, a bridge that converts multicast to unicast sends
 *	   packets to a group in such frames.
 *	2. A packet whose IP destination is a group is sent to this group.
 *	3. An IPv4 packet is sent to the broadcast group if the frame has the broadcast address as
 *	   its destination (directed broadcast, RFC 4391 §5), or if the IP destination is
 *	   255.255.255.255.
 *
 * Rule 2 does not use the frame's destination address, for two reasons. A MAC contains only 23 or
 * 32 bits of the group. In the InfiniBand shape the kernel computes MGIDs as RFC 4391 does, but the
 * link's profile may have other MGIDs.
 */
enum eth_drop eth_ip_dst(struct eth_if *e, struct ipoib_tx *t, const struct eth_dst *dst, ns_t now)
{
	bool v6 = t->ethertype == ETH_P_IPV6_;
	unsigned int hlen = v6 ? 40 : 20;
	const uint8_t *ip = pkt_pull(t->pkt, hlen), *to;

	if (!ip || ip[0] >> 4 != (v6 ? 6 : 4))
		return ETH_DROP_SHORT;
	if (dst->to == ETH_TO_ONE)
		return unicast_dst(e, t, dst->hw, now);
	to = ip + (v6 ? 24 : 16);
	if (v6 ? to[0] == 0xff : to[0] >> 4 == 0xe) {
		t->dst = v6 ? IPOIB_DST_MCAST6 : IPOIB_DST_MCAST4;
		memcpy(t->group, to, v6 ? 16 : 4);
		return ETH_DROP_NONE;
	}
	if (v6 || (dst->to != ETH_TO_ALL && !is_ones4(to)))
		return ETH_DROP_MAC_MISMATCH;
	t->dst = IPOIB_DST_BROADCAST;
	return ETH_DROP_NONE;
}

/*
 * Removes octets after the IP packet, such as the padding of small Ethernet frames, because IPoIB does not carry
 * them.
 */
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

/* Replaces t->pkt by the rewritten packet @p. */
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

static enum eth_drop arp_out(struct eth_if *e, struct ipoib_tx *t, const struct eth_dst *dst,
			     ns_t now)
{
	enum eth_drop why = ETH_DROP_NONE;
	struct pkt *p;

	if (e->profile->resolve == IPOIB_RESOLVE_IBARP) {
		p = eth_ibarp_to_link(e, t, now, &why);
		return replace(t, p, why);
	}
	if (dst->to == ETH_TO_ONE)
		why = unicast_dst(e, t, dst->hw, now);
	else
		t->dst = IPOIB_DST_BROADCAST;
	if (why)
		return why;
	p = eth_arp_to_link(e, t->pkt, &why);
	return replace(t, p, why);
}

static enum eth_drop ip_out(struct eth_if *e, struct ipoib_tx *t, const struct eth_dst *dst,
			    ns_t now)
{
	bool v6 = t->ethertype == ETH_P_IPV6_;
	enum eth_drop why = trim_padding(t->pkt, v6);

	if (!why)
		why = eth_ip_dst(e, t, dst, now);
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

static enum eth_drop classify(struct eth_if *e, struct ipoib_tx *t, ns_t now)
{
	const struct eth_shape_ops *s = e->shape;
	const uint8_t *h = pkt_pull(t->pkt, s->head.len);
	struct eth_dst dst;
	enum eth_drop why;

	if (!h)
		return ETH_DROP_SHORT;
	memcpy(dst.hw, h + s->dst_at, s->alen);
	dst.to = s->to(e, dst.hw);
	t->ethertype = be16_at(h + s->head.type_at);
	why = check_type(e, t->ethertype);
	if (!why)
		why = s->from(e, h + s->src_at, t->pkt, now);
	if (why)
		return why;
	pkt_trim_head(t->pkt, s->head.len);
	if (t->ethertype == ETH_P_IPV4 || t->ethertype == ETH_P_IPV6_)
		return ip_out(e, t, &dst, now);
	return arp_out(e, t, &dst, now);
}

void eth_tx(struct eth_if *e, struct pkt **v, unsigned int n, ns_t now)
{
	struct ipoib_tx t[PKT_BATCH];
	unsigned int k = 0;

	e->now = now;
	for (unsigned int i = 0; i < n; i++) {
		enum eth_drop why;

		t[k] = (struct ipoib_tx){ .pkt = v[i] };
		e->stats.tx_frames++;
		why = classify(e, &t[k], now);
		if (why)
			eth_drop(e, why, t[k].pkt);
		else if (t[k].pkt)
			k++;
	}
	if (k)
		eth_tx_link(e, t, k, now);
}

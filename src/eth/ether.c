/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "eth/priv.h"
#include "wire/arp.h"

/* The Ethernet shape: frames of a TAP, with MACs that are tokens (token.h) or the MACs of stations (station.h). */

/*
 * Source MAC of frames from senders whose address is unknown. A packet without a GRH contains the
 * sender's LID, but not its GID. So the address stays unknown until the sender sends a packet with
 * a GRH, or this process learns a path to this LID. Frames of the kernel to this MAC are dropped.
 */
static const uint8_t unknown_sender[6] = { 0x06 };
static const uint8_t broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

/* --- frames from the kernel */

static enum eth_to ether_to(const struct eth_if *e, const uint8_t *mac)
{
	if (!(mac[0] & 1))
		return ETH_TO_ONE;
	return eth_mac_equal(mac, broadcast) ? ETH_TO_ALL : ETH_TO_GROUP;
}

static enum eth_drop ether_from(struct eth_if *e, const uint8_t *mac, struct pkt *p, ns_t now)
{
	return eth_mac_equal(mac, e->mac) ? ETH_DROP_NONE : eth_station_from(e, mac, p, now);
}

static struct ipoib_neigh *ether_neigh(struct eth_if *e, const uint8_t *mac, ns_t now)
{
	return eth_peer_by_mac(e, mac);
}

static enum eth_drop ether_no_neigh(struct eth_if *e, const uint8_t *mac, ns_t now)
{
	if (eth_mac_is_local(e, mac))
		return ETH_DROP_LOCAL;
	eth_token_unknown(e, mac, now);
	return ETH_DROP_TOKEN;
}

/* --- frames to the kernel */

static void dst_mac(uint8_t *ret, const uint8_t local[6], const struct ipoib_rx *r)
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

static void ether_header(struct eth_if *e, uint8_t *h, const struct eth_station *st,
			 const struct ipoib_rx *r)
{
	const uint8_t *src = r->src ? eth_peer_mac(e, r->src) : NULL;

	dst_mac(h, st ? st->mac : e->mac, r);
	memcpy(h + 6, src ? src : unknown_sender, 6);
}

/* --- addresses in ARP and ND */

static int ether_target(struct eth_if *e, const struct ipoib_lladdr *a, bool needed, uint8_t *ret,
			ns_t now)
{
	const uint8_t *mac = eth_local_mac(e, a);
	struct ipoib_neigh *n;

	memset(ret, 0, 6);
	if (needed)
		return eth_lladdr_to_mac(e, a, ret, &n, now);
	n = mac ? NULL : ipoib_neigh_find(e->cfg.link, a);
	if (n)
		mac = eth_peer_mac(e, n);
	if (mac)
		memcpy(ret, mac, 6);
	return 0;
}

const struct eth_shape_ops eth_shape_ether = {
	.head = { .len = 14, .type_at = 12 },
	.dst_at = 0,
	.src_at = 6,
	.alen = 6,
	.arp_hrd = ARP_HRD_ETHER,
	.stations = true,
	.to = ether_to,
	.from = ether_from,
	.neigh = ether_neigh,
	.no_neigh = ether_no_neigh,
	.header = ether_header,
	.lladdr = eth_mac_to_lladdr,
	.hw = eth_lladdr_to_mac,
	.target = ether_target,
	.peer_init = eth_token_init,
	.peer_fini = eth_token_fini,
	.peer_gone = eth_token_gone,
};

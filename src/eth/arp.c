/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "eth/priv.h"
#include "wire/arp.h"

/*
 * ARP and RARP, RFC 4391 §9.2. A message keeps its content; hardware type and hardware addresses
 * become those of the other side.
 *
 * The sender's hardware address must be valid, because receivers store it. What the target's
 * hardware address means depends on the operation. In a reply it is the receiver of the reply, and
 * in a RARP message the host that the message is about (RFC 903). In an ARP request it has no
 * meaning (RFC 826: "not yet known") and is often zero or the broadcast address. An address without
 * meaning is never a reason to refuse the message, and no neighbour is made for it.
 *
 * The reserved octet of an address that we send is 0 (§9.1.1). In the target's address of a reply it
 * is as the requester sent it, because RFC 826 swaps the addresses and Linux's arping checks that.
 */

static const uint8_t zero[IPOIB_ALEN];
static const uint8_t ones[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

static bool is_rarp(const struct arp_pkt *a)
{
	return a->op == ARP_OP_RREQUEST || a->op == ARP_OP_RREPLY;
}

/* Replaces a MAC in @ha by 20 octets, zero if it is unknown. 0; -ENOENT: unknown and @required */
static int hw_to_link(const struct eth_if *e, uint8_t ha[20], bool required)
{
	struct ipoib_lladdr a;
	uint8_t mac[6];
	int status;

	memcpy(mac, ha, sizeof(mac));
	memset(ha, 0, IPOIB_ALEN);
	status = eth_mac_to_lladdr(e, mac, &a);
	if (!status)
		ipoib_lladdr_encode(ha, &a);
	return required ? status : 0;
}

/* Sets the reserved octet of the peer's address in @ha as the peer itself sent it. */
static void restore_flags(const struct eth_if *e, const uint8_t mac[6], uint8_t ha[20])
{
	struct ipoib_neigh *n = eth_peer_by_mac(e, mac);

	if (n)
		ha[0] = ((struct eth_peer *)n->user)->flags;
}

static void keep_flags(const struct eth_if *e, const uint8_t mac[6], const struct ipoib_lladdr *a)
{
	struct ipoib_neigh *n = eth_peer_by_mac(e, mac);

	if (n)
		((struct eth_peer *)n->user)->flags = a->flags;
}

static bool is_unset(const uint8_t mac[6])
{
	return eth_mac_equal(mac, zero) || eth_mac_equal(mac, ones);
}

struct pkt *eth_arp_to_link(struct eth_if *e, struct pkt *p, enum eth_drop *why)
{
	uint8_t in[ARP_ETHER_LEN], out[ARP_IPOIB_LEN], tha[6];
	struct arp_pkt a;
	bool target;

	*why = ETH_DROP_ARP;
	if (arp_decode(&a, in, pkt_copy_out(p, 0, in, sizeof(in))) || a.hrd != ARP_HRD_ETHER)
		return NULL;
	/* An announcement may be a reply without a target, RFC 5227 §3. */
	target = a.op != ARP_OP_REQUEST && !is_unset(a.tha);
	memcpy(tha, a.tha, sizeof(tha));
	if (hw_to_link(e, a.sha, true) || hw_to_link(e, a.tha, target))
		return NULL;
	if (a.op == ARP_OP_REPLY)
		restore_flags(e, tha, a.tha);
	a.hrd = ARP_HRD_INFINIBAND;
	a.hln = IPOIB_ALEN;
	arp_encode(out, &a);
	*why = ETH_DROP_NO_MEM;
	p = pkt_from_data(e->cfg.pool, out, sizeof(out));
	e->stats.arp_tx += p != NULL;
	return p;
}

/* Finds the MAC of the target; zero where the address is missing, or unknown and without meaning. */
static int target_from_link(struct eth_if *e, const struct arp_pkt *a, uint8_t ret[6], ns_t now)
{
	struct ipoib_neigh *n;
	struct ipoib_lladdr t;
	const uint8_t *mac;

	memset(ret, 0, 6);
	if (!memcmp(a->tha, zero, IPOIB_ALEN))
		return 0;
	ipoib_lladdr_decode(&t, a->tha, IPOIB_ALEN);
	if (is_rarp(a) || eth_local_mac(e, &t))
		return eth_lladdr_to_mac(e, &t, ret, now, false);
	n = ipoib_neigh_find(e->cfg.link, &t);
	mac = n ? eth_peer_mac(e, n) : NULL;
	if (mac)
		memcpy(ret, mac, 6);
	return 0;
}

/* Traffic follows a reply to us, so the path to its sender is resolved now. Announcements need no path. */
static bool is_answer(const struct eth_if *e, const struct arp_pkt *a, const uint8_t tha[6])
{
	return a->op == ARP_OP_REPLY && eth_mac_is_local(e, tha);
}

struct pkt *eth_arp_from_link(struct eth_if *e, struct pkt *p, ns_t now, enum eth_drop *why)
{
	uint8_t in[ARP_IPOIB_LEN], out[ARP_ETHER_LEN], sha[6], tha[6];
	struct ipoib_lladdr sender;
	struct arp_pkt a;

	*why = ETH_DROP_RX_ARP;
	if (arp_decode(&a, in, pkt_copy_out(p, 0, in, sizeof(in))) || a.hrd != ARP_HRD_INFINIBAND)
		return NULL;
	ipoib_lladdr_decode(&sender, a.sha, IPOIB_ALEN);
	if (target_from_link(e, &a, tha, now) ||
	    eth_lladdr_to_mac(e, &sender, sha, now, is_answer(e, &a, tha)))
		return NULL;
	keep_flags(e, sha, &sender);
	memcpy(a.sha, sha, sizeof(sha));
	memcpy(a.tha, tha, sizeof(tha));
	a.hrd = ARP_HRD_ETHER;
	a.hln = sizeof(sha);
	arp_encode(out, &a);
	*why = ETH_DROP_NO_MEM;
	p = pkt_from_data(e->cfg.pool, out, sizeof(out));
	e->stats.arp_rx += p != NULL;
	return p;
}

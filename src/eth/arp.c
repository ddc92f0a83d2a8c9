/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "eth/priv.h"
#include "wire/arp.h"

/*
 * ARP and RARP, RFC 4391 §9.2. Messages pass in both directions between the kernel and the link.
 * The hardware type and the hardware addresses in a message are replaced by those of the receiving
 * side, and the rest stays.
 *
 * The sender's hardware address must be valid, because receivers store it. The meaning of the target's hardware
 * address depends on the operation. In a reply it is the address of the receiver, and in a RARP message the address
 * of the host that the message is about (RFC 903). In an ARP request it has no meaning (RFC 826: "not yet known") and
 * is often zero or the broadcast address. An address without meaning is never a reason to refuse the message, and no
 * neighbour is made for it.
 *
 * The reserved octet of link-layer addresses in sent messages is 0 (§9.1.1). But a reply repeats the reserved
 * octet of the requester's address unchanged, because RFC 826 swaps the addresses, and Linux's arping checks this.
 */

static bool is_rarp(const struct arp_pkt *a)
{
	return a->op == ARP_OP_RREQUEST || a->op == ARP_OP_RREPLY;
}

/*
 * Replaces the hardware address @ha, which has the kernel's format, by the link-layer address of
 * the port with this hardware address. *ret_flags is the reserved octet of this port's address.
 * Return: 0; -ENOENT: @required is set, but no port has the hardware address @ha
 */
static int hw_to_link(const struct eth_if *e, uint8_t ha[20], bool required, uint8_t *ret_flags)
{
	struct ipoib_lladdr a;
	int status = e->shape->lladdr(e, ha, &a);

	ipoib_lladdr_encode(ha, &a);
	*ret_flags = a.flags;
	return required ? status : 0;
}

struct pkt *eth_arp_to_link(struct eth_if *e, struct pkt *p, enum eth_drop *why)
{
	uint8_t in[ARP_IPOIB_LEN], out[ARP_IPOIB_LEN], flags;
	struct arp_pkt a;
	bool target;

	*why = ETH_DROP_ARP;
	if (arp_decode(&a, in, pkt_copy_out(p, 0, in, sizeof(in))) || a.hrd != e->shape->arp_hrd)
		return NULL;
	/*
	 * In a reply, the target's hardware address is allowed to be unset, because an ARP
	 * announcement can be a reply without this address (RFC 5227 §3).
	 */
	target = a.op != ARP_OP_REQUEST && !eth_hw_is_unset(e, a.tha);
	if (hw_to_link(e, a.sha, true, &flags) || hw_to_link(e, a.tha, target, &flags))
		return NULL;
	if (a.op == ARP_OP_REPLY)
		a.tha[0] = flags;
	a.hrd = ARP_HRD_INFINIBAND;
	a.hln = IPOIB_ALEN;
	arp_encode(out, &a);
	*why = ETH_DROP_NO_MEM;
	p = pkt_from_data(e->cfg.pool, out, sizeof(out));
	e->stats.arp_tx += p != NULL;
	return p;
}

/*
 * Converts the target's hardware address in @a into the kernel's format. A RARP message is about
 * its target, so the target's address in a RARP message must be convertible unless it is zero.
 */
static int target_from_link(struct eth_if *e, const struct arp_pkt *a,
			    const struct ipoib_lladdr *target, uint8_t ret[20], ns_t now)
{
	static const uint8_t zero[IPOIB_ALEN];

	return e->shape->target(e, target, is_rarp(a) && memcmp(a->tha, zero, sizeof(zero)), ret,
				now);
}

static void note_sender(struct eth_if *e, struct ipoib_neigh *n, const struct ipoib_lladdr *sender)
{
	if (n && n->user)
		((struct eth_peer *)n->user)->flags = sender->flags;
}

struct pkt *eth_arp_from_link(struct eth_if *e, struct pkt *p, ns_t now, enum eth_drop *why)
{
	uint8_t in[ARP_IPOIB_LEN], out[ARP_IPOIB_LEN];
	struct ipoib_lladdr sender, target;
	struct ipoib_neigh *n;
	struct arp_pkt a, k;
	size_t len;

	*why = ETH_DROP_RX_ARP;
	if (arp_decode(&a, in, pkt_copy_out(p, 0, in, sizeof(in))) || a.hrd != ARP_HRD_INFINIBAND)
		return NULL;
	k = a;
	k.hrd = e->shape->arp_hrd;
	k.hln = e->shape->alen;
	ipoib_lladdr_decode(&sender, a.sha, IPOIB_ALEN);
	ipoib_lladdr_decode(&target, a.tha, IPOIB_ALEN);
	if (target_from_link(e, &a, &target, k.tha, now) ||
	    e->shape->hw(e, &sender, k.sha, &n, now))
		return NULL;
	note_sender(e, n, &sender);
	/*
	 * If a reply is for this interface or for one of its stations, packets to the reply's
	 * sender will follow. So the path to this sender is resolved now. Other replies are
	 * announcements, which need no path.
	 */
	if (n && a.op == ARP_OP_REPLY && eth_lladdr_is_local(e, &target))
		ipoib_neigh_probe(n, now);
	len = arp_encode(out, &k);
	*why = ETH_DROP_NO_MEM;
	p = pkt_from_data(e->cfg.pool, out, len);
	e->stats.arp_rx += p != NULL;
	return p;
}

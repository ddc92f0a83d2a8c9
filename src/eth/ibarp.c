/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "eth/priv.h"
#include "wire/arp.h"
#include "wire/ibarp.h"

/*
 * Translation between the kernel's ARP and IBARP (draft-pelissier-ipoib-encaparp-00 §6). "Sender" and "target" have
 * different meanings in these protocols. In ARP the sender is the host that sends the message, so a reply swaps the
 * addresses (RFC 826). In IBARP the sender is the port that asks, and the target is the port that is asked. An
 * IBARP reply repeats the sender and the target of the request (§6.4).
 *
 * Requests are always multicast (§6.1), so a request that the kernel sends to one neighbour, to see whether the
 * neighbour is still there, reaches all hosts. Replies are always unicast, so an announcement that is an ARP reply
 * (RFC 5227 §3) becomes a request for the sender's own address, which is also an announcement.
 */

/*
 * Fills in *ret for the port that has the hardware address @hw. If the port is a peer, the values
 * are those that the peer has advertised; otherwise they are the interface's values.
 * Return: 0 or -ENOENT
 */
static int port_of(const struct eth_if *e, const uint8_t *hw, struct nd_port *ret)
{
	struct ipoib_lladdr a;
	int status = e->shape->lladdr(e, hw, &a);

	if (!status)
		*ret = ipoib_nd_port(e->cfg.link, &a);
	return status;
}

static bool is_ours(const struct eth_if *e, const uint8_t *hw)
{
	struct ipoib_lladdr a;

	return !e->shape->lladdr(e, hw, &a) && eth_lladdr_is_local(e, &a);
}

/*
 * Stores the values that a request contains about its sender. The reply repeats these values, even
 * if the link does not use them for packets to the sender.
 */
static void note_asker(struct ipoib_neigh *n, const struct nd_port *port)
{
	struct eth_peer *p = n->user;

	p->asked = true;
	p->asked_qkey = port->qkey;
	p->asked_eui64 = port->eui64;
}

static void copy_asker(const struct ipoib_neigh *n, struct nd_port *ret)
{
	const struct eth_peer *p = n->user;

	if (!p || !p->asked)
		return;
	ret->qkey = p->asked_qkey;
	ret->eui64 = p->asked_eui64;
}

/*
 * Translates the kernel's answer: the sender of the kernel's ARP reply becomes the target in IBARP.
 */
static bool reply_to_link(struct eth_if *e, struct ipoib_tx *t, const struct arp_pkt *a,
			  struct ibarp_pkt *ret, ns_t now)
{
	t->dst = IPOIB_DST_NEIGH;
	t->neigh = e->shape->neigh(e, a->tha, now);
	ret->op = ARP_OP_REPLY;
	memcpy(ret->spa, a->tpa, sizeof(ret->spa));
	memcpy(ret->tpa, a->spa, sizeof(ret->tpa));
	if (!t->neigh || port_of(e, a->tha, &ret->sender) || port_of(e, a->sha, &ret->target))
		return false;
	copy_asker(t->neigh, &ret->sender);
	return true;
}

/*
 * Translates a request of the kernel. The target's hardware address in a request can have any value
 * (§6.4); this function writes zero.
 */
static bool request_to_link(struct eth_if *e, struct ipoib_tx *t, const struct arp_pkt *a,
			    struct ibarp_pkt *ret)
{
	t->dst = IPOIB_DST_BROADCAST;
	ret->op = ARP_OP_REQUEST;
	memcpy(ret->spa, a->spa, sizeof(ret->spa));
	memcpy(ret->tpa, a->op == ARP_OP_REPLY ? a->spa : a->tpa, sizeof(ret->tpa));
	return !port_of(e, a->sha, &ret->sender);
}

static bool to_link(struct eth_if *e, struct ipoib_tx *t, const struct arp_pkt *a,
		    struct ibarp_pkt *ret, ns_t now)
{
	if (a->op == ARP_OP_REQUEST)
		return request_to_link(e, t, a, ret);
	if (a->op != ARP_OP_REPLY)
		return false;
	if (eth_hw_is_unset(e, a->tha) || is_ours(e, a->tha))
		return request_to_link(e, t, a, ret);
	return reply_to_link(e, t, a, ret, now);
}

struct pkt *eth_ibarp_to_link(struct eth_if *e, struct ipoib_tx *t, ns_t now, enum eth_drop *why)
{
	uint8_t in[ARP_IPOIB_LEN], out[IBARP_LEN];
	struct ibarp_pkt ib = { 0 };
	struct arp_pkt a;
	struct pkt *p;

	*why = ETH_DROP_ARP;
	if (arp_decode(&a, in, pkt_copy_out(t->pkt, 0, in, sizeof(in))) ||
	    a.hrd != e->shape->arp_hrd || !to_link(e, t, &a, &ib, now))
		return NULL;
	ibarp_encode(out, &ib);
	*why = ETH_DROP_NO_MEM;
	p = pkt_from_data(e->cfg.pool, out, sizeof(out));
	e->stats.arp_tx += p != NULL;
	return p;
}

/*
 * Learns the address of @port: the sender of an IBARP request (§6.1), or the target of an IBARP
 * reply. @ret gets the port's hardware address, which becomes the sender's address in the ARP
 * packet for the kernel. *ret_n: the neighbour; NULL if the address is that of the interface or of
 * a station
 */
static enum eth_drop learn(struct eth_if *e, const struct ipoib_rx *r, const struct nd_port *port,
			   uint8_t *ret, struct ipoib_neigh **ret_n, ns_t now)
{
	int err = e->shape->hw(e, &port->lladdr, ret, ret_n, now);

	if (!err && *ret_n)
		err = eth_peer_said(e, *ret_n, r->src, port);
	if (err)
		return err == -EKEYREJECTED ? ETH_DROP_RX_QKEY : ETH_DROP_RX_ARP;
	return ETH_DROP_NONE;
}

static enum eth_drop request_from_link(struct eth_if *e, const struct ipoib_rx *r,
				       const struct ibarp_pkt *ib, struct arp_pkt *ret, ns_t now)
{
	struct ipoib_neigh *n;
	enum eth_drop why = learn(e, r, &ib->sender, ret->sha, &n, now);

	memcpy(ret->spa, ib->spa, sizeof(ret->spa));
	memcpy(ret->tpa, ib->tpa, sizeof(ret->tpa));
	if (!why && n)
		note_asker(n, &ib->sender);
	return why;
}

/*
 * Translates a reply from the link. The target's hardware address in the ARP reply is the hardware
 * address of the asking port. In the Ethernet shape a port that is neither the interface nor a
 * station nor a known peer has no hardware address. The field is then zero, which the kernel
 * ignores.
 */
static enum eth_drop reply_from_link(struct eth_if *e, const struct ipoib_rx *r,
				     const struct ibarp_pkt *ib, struct arp_pkt *ret, ns_t now)
{
	struct ipoib_neigh *n;
	enum eth_drop why;

	memcpy(ret->spa, ib->tpa, sizeof(ret->spa));
	memcpy(ret->tpa, ib->spa, sizeof(ret->tpa));
	e->shape->target(e, &ib->sender.lladdr, false, ret->tha, now);
	why = learn(e, r, &ib->target, ret->sha, &n, now);
	/*
	 * If the reply is for this interface or for a station, packets to the target will follow.
	 * So the path to the target is resolved now.
	 */
	if (!why && n && eth_lladdr_is_local(e, &ib->sender.lladdr))
		ipoib_neigh_probe(n, now);
	return why;
}

static enum eth_drop from_link(struct eth_if *e, const struct ipoib_rx *r,
			       const struct ibarp_pkt *ib, struct arp_pkt *ret, ns_t now)
{
	ret->op = ib->op;
	return ib->op == ARP_OP_REQUEST ? request_from_link(e, r, ib, ret, now)
					: reply_from_link(e, r, ib, ret, now);
}

struct pkt *eth_ibarp_from_link(struct eth_if *e, const struct ipoib_rx *r, ns_t now,
				enum eth_drop *why)
{
	uint8_t in[IBARP_LEN], out[ARP_IPOIB_LEN];
	struct arp_pkt a = {
		.hrd = e->shape->arp_hrd, .pro = ETH_P_IPV4, .hln = e->shape->alen, .pln = 4
	};
	struct ibarp_pkt ib;
	struct pkt *p;
	size_t len;

	*why = ETH_DROP_RX_ARP;
	if (ibarp_decode(&ib, in, pkt_copy_out(r->pkt, 0, in, sizeof(in))))
		return NULL;
	*why = from_link(e, r, &ib, &a, now);
	if (*why)
		return NULL;
	len = arp_encode(out, &a);
	*why = ETH_DROP_NO_MEM;
	p = pkt_from_data(e->cfg.pool, out, len);
	e->stats.arp_rx += p != NULL;
	return p;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "eth/priv.h"
#include "wire/arp.h"
#include "wire/ibarp.h"

/*
 * Translation between the kernel's ARP and IBARP (draft-pelissier-ipoib-encaparp-00 §6). "Sender" and "target" have
 * different meanings in the two. In ARP the sender is the host that sends the message, so a reply swaps the addresses (RFC
 * 826). In IBARP the sender is the port that asks and the target is the port that is asked, also in the reply, which
 * repeats the sender of the request (§6.4).
 *
 * Requests are always multicast (§6.1), so a request that the kernel sends to one neighbour, to see whether it is still
 * there, goes to all. Replies are always unicast, so an announcement in the form of a reply, which RFC 5227 §3
 * permits, becomes a request for the sender's own address, which is the other form of an announcement.
 */

static const uint8_t unset[2][6] = { { 0 }, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };

static bool is_unset(const uint8_t mac[6])
{
	return eth_mac_equal(mac, unset[0]) || eth_mac_equal(mac, unset[1]);
}

/* The values of the port that @mac stands for: our own, or those that the peer advertised. 0 or -ENOENT */
static int port_of_mac(const struct eth_if *e, const uint8_t mac[6], struct nd_port *ret)
{
	struct ipoib_lladdr a;
	int status = eth_mac_to_lladdr(e, mac, &a);

	if (!status)
		*ret = ipoib_nd_port(e->cfg.link, &a);
	return status;
}

/* Keeps what a request says of its sender, because the reply repeats it, whether or not packets to that port use it. */
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

	if (!p->asked)
		return;
	ret->qkey = p->asked_qkey;
	ret->eui64 = p->asked_eui64;
}

/* The kernel answers: the sender of its ARP reply becomes the target in IBARP. */
static bool reply_to_link(struct eth_if *e, struct ipoib_tx *t, const struct arp_pkt *a,
			  struct ibarp_pkt *ret)
{
	t->dst = IPOIB_DST_NEIGH;
	t->neigh = eth_peer_by_mac(e, a->tha);
	ret->op = ARP_OP_REPLY;
	memcpy(ret->spa, a->tpa, sizeof(ret->spa));
	memcpy(ret->tpa, a->spa, sizeof(ret->tpa));
	if (!t->neigh || port_of_mac(e, a->tha, &ret->sender) ||
	    port_of_mac(e, a->sha, &ret->target))
		return false;
	copy_asker(t->neigh, &ret->sender);
	return true;
}

/* §6.4: the target's hardware address in a request may be anything; we leave it zero. */
static bool request_to_link(struct eth_if *e, struct ipoib_tx *t, const struct arp_pkt *a,
			    struct ibarp_pkt *ret)
{
	t->dst = IPOIB_DST_BROADCAST;
	ret->op = ARP_OP_REQUEST;
	memcpy(ret->spa, a->spa, sizeof(ret->spa));
	memcpy(ret->tpa, a->op == ARP_OP_REPLY ? a->spa : a->tpa, sizeof(ret->tpa));
	return !port_of_mac(e, a->sha, &ret->sender);
}

static bool to_link(struct eth_if *e, struct ipoib_tx *t, const struct arp_pkt *a,
		    struct ibarp_pkt *ret)
{
	if (a->op == ARP_OP_REQUEST)
		return request_to_link(e, t, a, ret);
	if (a->op != ARP_OP_REPLY)
		return false;
	if (is_unset(a->tha) || eth_mac_is_local(e, a->tha))
		return request_to_link(e, t, a, ret);
	return reply_to_link(e, t, a, ret);
}

struct pkt *eth_ibarp_to_link(struct eth_if *e, struct ipoib_tx *t, enum eth_drop *why)
{
	uint8_t in[ARP_ETHER_LEN], out[IBARP_LEN];
	struct ibarp_pkt ib = { 0 };
	struct arp_pkt a;
	struct pkt *p;

	*why = ETH_DROP_ARP;
	if (arp_decode(&a, in, pkt_copy_out(t->pkt, 0, in, sizeof(in))) || a.hrd != ARP_HRD_ETHER ||
	    !to_link(e, t, &a, &ib))
		return NULL;
	ibarp_encode(out, &ib);
	*why = ETH_DROP_NO_MEM;
	p = pkt_from_data(e->cfg.pool, out, sizeof(out));
	e->stats.arp_tx += p != NULL;
	return p;
}

/* The asking port's MAC in an answer to it: ours, or that of a peer that we know; else zero, which the kernel ignores. */
static void asker_mac(struct eth_if *e, const struct nd_port *port, uint8_t ret[6])
{
	const uint8_t *mac = eth_local_mac(e, &port->lladdr);
	struct ipoib_neigh *n;

	if (!mac) {
		n = ipoib_neigh_find(e->cfg.link, &port->lladdr);
		mac = n ? eth_peer_mac(e, n) : NULL;
	}
	memcpy(ret, mac ? mac : unset[0], 6);
}

/*
 * Learns the address of a port: of the sender from every request, whoever is asked (§6.1), and of the target from every
 * reply. The MAC that stands for this port becomes the sender's in ARP.
 */
static enum eth_drop learn(struct eth_if *e, const struct ipoib_rx *r, const struct nd_port *port,
			   bool probe, uint8_t ret[6], ns_t now)
{
	struct ipoib_neigh *n;

	if (eth_lladdr_to_mac(e, &port->lladdr, ret, now, false))
		return ETH_DROP_RX_ARP;
	n = eth_peer_by_mac(e, ret);
	if (!n)
		return ETH_DROP_NONE;
	if (ipoib_neigh_said(n, r->src, port))
		return ETH_DROP_RX_QKEY;
	if (probe)
		ipoib_neigh_probe(n, now);
	return ETH_DROP_NONE;
}

static enum eth_drop learn_asker(struct eth_if *e, const struct ipoib_rx *r,
				 const struct nd_port *port, uint8_t ret[6], ns_t now)
{
	enum eth_drop why = learn(e, r, port, false, ret, now);
	struct ipoib_neigh *n = why ? NULL : eth_peer_by_mac(e, ret);

	if (n)
		note_asker(n, port);
	return why;
}

static enum eth_drop from_link(struct eth_if *e, const struct ipoib_rx *r,
			       const struct ibarp_pkt *ib, struct arp_pkt *ret, ns_t now)
{
	ret->op = ib->op;
	if (ib->op == ARP_OP_REQUEST) {
		memcpy(ret->spa, ib->spa, sizeof(ret->spa));
		memcpy(ret->tpa, ib->tpa, sizeof(ret->tpa));
		return learn_asker(e, r, &ib->sender, ret->sha, now);
	}
	memcpy(ret->spa, ib->tpa, sizeof(ret->spa));
	memcpy(ret->tpa, ib->spa, sizeof(ret->tpa));
	asker_mac(e, &ib->sender, ret->tha);
	/* Traffic follows a reply to us, so the path to the target is resolved now. */
	return learn(e, r, &ib->target, eth_mac_is_local(e, ret->tha), ret->sha, now);
}

struct pkt *eth_ibarp_from_link(struct eth_if *e, const struct ipoib_rx *r, ns_t now,
				enum eth_drop *why)
{
	uint8_t in[IBARP_LEN], out[ARP_ETHER_LEN];
	struct arp_pkt a = { .hrd = ARP_HRD_ETHER, .pro = ETH_P_IPV4, .hln = 6, .pln = 4 };
	struct ibarp_pkt ib;
	struct pkt *p;

	*why = ETH_DROP_RX_ARP;
	if (ibarp_decode(&ib, in, pkt_copy_out(r->pkt, 0, in, sizeof(in))))
		return NULL;
	*why = from_link(e, r, &ib, &a, now);
	if (*why)
		return NULL;
	arp_encode(out, &a);
	*why = ETH_DROP_NO_MEM;
	p = pkt_from_data(e->cfg.pool, out, sizeof(out));
	e->stats.arp_rx += p != NULL;
	return p;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "eth/priv.h"
#include "wire/arp.h"

/*
 * The InfiniBand shape: a device of type 32, whose hardware addresses are the link-layer addresses of ports and groups. The
 * link header has the source, the destination, the ethertype, and two octets of zero (kmod/ibtap.h).
 *
 * The first octet of a link-layer address is ignored in the destination and source of a frame. ARP
 * and ND messages to the kernel keep this octet as the peer sent it. In messages to the link the
 * octet is zero (RFC 4391 §9.1.1), as ipoib_lladdr_encode() writes it. The exception is the target
 * address of an ARP reply, see arp.c.
 *
 * The link makes a neighbour when the kernel sends a frame to the neighbour's address. The link is allowed to remove
 * the neighbour while the kernel still has the address, because the address stays valid. But messages of a peer may
 * also contain the peer's Q_Key, which must not be forgotten before the kernel asks the peer again. So this layer
 * keeps a reference to such a neighbour (peer.h), and the kernel's entry is deleted together with the neighbour.
 *
 * Neighbours that are looked up during one call into this layer, such as eth_tx(), are not freed
 * before the call ends. The reason: ipoib_neigh_get() marks them as used, and the link frees only
 * neighbours that are not marked.
 */

#define SRC_AT 0
#define DST_AT 20
#define TYPE_AT 40
#define GID_AT 4 /* offset of the GID in an address */

static struct ipoib_lladdr decode(const uint8_t *hw)
{
	struct ipoib_lladdr a;

	ipoib_lladdr_decode(&a, hw, IPOIB_ALEN);
	return a;
}

/* --- frames from the kernel */

static const uint8_t all_ones[IPOIB_ALEN] = {
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
};

/*
 * Tells what kind of destination @hw is. intel-ipoib-linux-hld-2002 §2.1.1 treats an address of all
 * ones as a broadcast address, too.
 */
static enum eth_to ib_to(const struct eth_if *e, const uint8_t *hw)
{
	const ib_gid *all = ipoib_link_broadcast(e->cfg.link);

	if (hw[GID_AT] != 0xff)
		return ETH_TO_ONE;
	if (!memcmp(hw + GID_AT, all->raw, sizeof(all->raw)) ||
	    !memcmp(hw, all_ones, sizeof(all_ones)))
		return ETH_TO_ALL;
	return ETH_TO_GROUP;
}

static enum eth_drop ib_from(struct eth_if *e, const uint8_t *hw, struct pkt *p, ns_t now)
{
	struct ipoib_lladdr a = decode(hw);

	return eth_lladdr_is_local(e, &a) ? ETH_DROP_NONE : ETH_DROP_SOURCE;
}

static struct ipoib_neigh *ib_neigh(struct eth_if *e, const uint8_t *hw, ns_t now)
{
	struct ipoib_lladdr a = decode(hw);

	return eth_lladdr_is_local(e, &a) ? NULL : ipoib_neigh_get(e->cfg.link, &a, now);
}

static enum eth_drop ib_no_neigh(struct eth_if *e, const uint8_t *hw, ns_t now)
{
	struct ipoib_lladdr a = decode(hw);

	return eth_lladdr_is_local(e, &a) ? ETH_DROP_LOCAL : ETH_DROP_NO_NEIGH;
}

/* --- frames to the kernel */

/*
 * Return the MGID to which an IP packet is sent: the MGID of the destination, or the MGID of the
 * broadcast group if the destination is no IP group.
 */
static ib_gid dst_group(const struct eth_if *e, const struct ipoib_rx *r)
{
	const struct ipoib_link *l = e->cfg.link;
	uint8_t ip[40];
	size_t len = pkt_copy_out(r->pkt, 0, ip, sizeof(ip));
	ib_gid mgid;

	if (r->ethertype == ETH_P_IPV4 && len >= 20 && ip[16] >> 4 == 0xe &&
	    !ipoib_mcast_mgid(l, IPOIB_IPV4, ip + 16, &mgid))
		return mgid;
	if (r->ethertype == ETH_P_IPV6_ && len == 40 && ip[24] == 0xff &&
	    !ipoib_mcast_mgid(l, IPOIB_IPV6, ip + 24, &mgid))
		return mgid;
	return *ipoib_link_broadcast(l);
}

/*
 * Writes the link header. If the sender's address is unknown (ether.c, unknown_sender), the source
 * stays zero. A source made of the QPN and a zero GID would look like an address, and would be the
 * same for senders with equal QPNs. The kernel's ib_ipoib sets the source of every received packet
 * to zero.
 */
static void ib_header(struct eth_if *e, uint8_t *h, const struct eth_station *st,
		      const struct ipoib_rx *r)
{
	struct ipoib_lladdr dst = e->own;

	if (r->src)
		ipoib_lladdr_encode(h + SRC_AT, &r->src->lladdr);
	if (r->mcast)
		dst = (struct ipoib_lladdr){ .qpn = IB_QPN_MCAST, .gid = dst_group(e, r) };
	ipoib_lladdr_encode(h + DST_AT, &dst);
}

/* --- addresses in ARP and ND */

static int ib_lladdr(const struct eth_if *e, const uint8_t *hw, struct ipoib_lladdr *ret)
{
	*ret = decode(hw);
	if (eth_lladdr_is_local(e, ret))
		ret->flags = 0;
	return ipoib_lladdr_is_unicast(ret) ? 0 : -ENOENT;
}

static int ib_target(struct eth_if *e, const struct ipoib_lladdr *a, bool needed, uint8_t *ret,
		     ns_t now)
{
	ipoib_lladdr_encode(ret, a);
	ret[0] = a->flags;
	return needed && !ipoib_lladdr_is_unicast(a) ? -ENOBUFS : 0;
}

static int ib_hw(struct eth_if *e, const struct ipoib_lladdr *a, uint8_t *ret,
		 struct ipoib_neigh **ret_n, ns_t now)
{
	bool local = eth_lladdr_is_local(e, a);

	*ret_n = local ? NULL : ipoib_neigh_get(e->cfg.link, a, now);
	ib_target(e, a, false, ret, now);
	return local || *ret_n ? 0 : -ENOBUFS;
}

/* --- the InfiniBand shape stores no data for a neighbour */

static bool ib_peer_init(struct eth_if *e, struct eth_peer *p)
{
	return true;
}

static void ib_peer_fini(struct eth_if *e, struct eth_peer *p)
{
}

static void ib_peer_gone(struct eth_if *e, const struct eth_peer *p)
{
	if (e->ops->lladdr_gone)
		e->ops->lladdr_gone(e->ctx, &p->neigh->lladdr);
}

const struct eth_shape_ops eth_shape_ib = {
	.head = { .len = 44, .type_at = TYPE_AT },
	.dst_at = DST_AT,
	.src_at = SRC_AT,
	.alen = IPOIB_ALEN,
	.nd_pad = 2,
	.arp_hrd = ARP_HRD_INFINIBAND,
	.to = ib_to,
	.from = ib_from,
	.neigh = ib_neigh,
	.no_neigh = ib_no_neigh,
	.header = ib_header,
	.lladdr = ib_lladdr,
	.hw = ib_hw,
	.target = ib_target,
	.peer_init = ib_peer_init,
	.peer_fini = ib_peer_fini,
	.peer_gone = ib_peer_gone,
};

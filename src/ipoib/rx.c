/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/action.h"
#include "ipoib/neigh.h"
#include "wire/ib_hdr.h"

/*
 * The receive path. The HCA has already checked the CRCs, the P_Key, the Q_Key and, of multicast
 * packets, the MGID.
 */

/*
 * The fields of the GRH that rx_one() needs. They are copied before the packet is changed, because
 * the GRH and the packet may share memory.
 */
struct rx_grh {
	bool present, mcast;
	ib_gid sgid;
};

static struct rx_grh rx_grh_read(const uint8_t *grh)
{
	struct rx_grh r = { .present = grh != NULL };

	if (grh) {
		memcpy(r.sgid.raw, grh + 8, sizeof(r.sgid.raw));
		r.mcast = grh[24] == 0xff;
	}
	return r;
}

static bool own_qp(const struct ipoib_link *l, uint32_t qpn)
{
	if (qpn == l->qpn)
		return true;
	for (unsigned int i = 0; i < l->n_own_qpn; i++)
		if (l->own_qpn[i] == qpn)
			return true;
	return false;
}

/*
 * Tells whether @v is a multicast packet that this interface sent itself. The HCA delivers a
 * multicast packet also to the QP that sent it. The source LID can be any LID of the port (LMC), so
 * path bits are not compared.
 */
static bool is_own_echo(const struct ipoib_link *l, const struct ipoib_rx *v,
			const struct rx_grh *grh)
{
	if ((v->slid ^ l->port.lid) >> l->port.lmc)
		return false;
	if (grh->present && !ib_gid_equal(&grh->sgid, &l->port.gid))
		return false;
	return own_qp(l, v->src_qp);
}

static struct ipoib_neigh *rx_source(struct ipoib_link *l, const struct ipoib_rx *v,
				     const struct rx_grh *grh, ns_t now)
{
	struct ipoib_lladdr a = { .qpn = v->src_qp, .gid = grh->sgid };
	struct ipoib_neigh *n;

	if (!grh->present) {
		n = ipoib_neigh_by_lid(l, v->slid, v->src_qp);
		if (n)
			n->used = true;
		return n;
	}
	n = ipoib_neigh_get(l, &a, now);
	/*
	 * The SLID of a packet from another subnet is the LID of a router, so the SLID does not
	 * identify the sender.
	 */
	if (n && ib_gid_prefix(&a.gid) == ib_gid_prefix(&l->port.gid))
		ipoib_neigh_learn(n, 1, v->slid);
	return n;
}

static enum ipoib_drop rx_one(struct ipoib_link *l, struct ipoib_rx *v, ns_t now)
{
	struct rx_grh grh = rx_grh_read(v->grh);
	const struct ipoib_encap *encap = &l->profile->encap;
	uint32_t seen = v->pkt->len < encap->look ? v->pkt->len : encap->look;
	const uint8_t *hdr;
	int type;

	v->src = NULL;
	v->mcast = grh.mcast;
	if (!l->up)
		return IPOIB_DROP_RX_LINK_DOWN;
	if (is_own_echo(l, v, &grh))
		return IPOIB_DROP_OWN_ECHO;
	hdr = pkt_pull(v->pkt, seen);
	if (!hdr)
		return IPOIB_DROP_SHORT;
	type = encap->read(hdr, seen);
	if (type < 0)
		return IPOIB_DROP_SHORT;
	if (!encap->carries((uint16_t)type))
		return IPOIB_DROP_RX_TYPE;
	pkt_trim_head(v->pkt, encap->len);
	v->ethertype = (uint16_t)type;
	v->src = rx_source(l, v, &grh, now);
	return IPOIB_DROP_NONE;
}

void ipoib_rx(struct ipoib_link *l, struct ipoib_rx *v, unsigned int n, ns_t now)
{
	for (unsigned int i = 0; i < n; i++) {
		v[i].reason = rx_one(l, &v[i], now);
		/*
		 * the octets of the GRH may have been overwritten, so they must not be used any
		 * more
		 */
		v[i].grh = NULL;
		if (v[i].reason) {
			v[i].verdict = IPOIB_DROP;
			ipoib_drop_pkt(l, v[i].pkt, v[i].reason);
			v[i].pkt = NULL;
			continue;
		}
		v[i].verdict = IPOIB_DELIVER;
		l->stats.rx_packets += pkt_count(v[i].pkt);
		l->stats.rx_octets += pkt_octets(v[i].pkt);
		l->stats.rx_mcast += v[i].mcast ? pkt_count(v[i].pkt) : 0;
		l->stats.rx_no_source += v[i].src ? 0 : pkt_count(v[i].pkt);
	}
}

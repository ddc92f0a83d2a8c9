/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/priv.h"

/*
 * Checks in the order of IBTA 7.8.1 (link), 8.3 (network) and 9.6 (transport). One
 * thing differs: the CRCs are verified in one pass, so a bad ICRC is found with the
 * VCRC and before the addresses.
 */

static unsigned int lnh(const uint8_t *lrh)
{
	return lrh[1] & 3;
}

/*
 * See that LRH .. DETH lie in hdr[], where the receiver finds the GRH below the
 * payload: a packet from a datagram has them in its first slice. 0: too short
 */
static unsigned int rx_headers(struct pkt *p)
{
	unsigned int have = pkt_hdr_len(p), len;
	uint8_t h[HCA_HDR_MAX];

	if (have >= IB_LRH_LEN)
		len = ib_ud_hdr_len(lnh(pkt_hdr(p)) == IB_LNH_GLOBAL);
	else if (pkt_copy_out(p, 0, h, IB_LRH_LEN) == IB_LRH_LEN)
		len = ib_ud_hdr_len(lnh(h) == IB_LNH_GLOBAL);
	else
		return 0;
	if (p->len < len)
		return 0;
	if (have < len) {
		pkt_copy_out(p, 0, h, len);
		pkt_trim_head(p, len);
		memcpy(pkt_push(p, len), h, len);
	}
	return len;
}

/* PktLen, PayLen, PadCnt and what is really there say the same. */
static bool rx_lengths(const struct hca_rx_ctx *r)
{
	const struct pkt *p = r->pkt;
	const uint8_t *h = p->hdr + p->head, *bth = h + r->hdr_len - IB_BTH_LEN - IB_DETH_LEN;
	unsigned int pad = bth[1] >> 4 & 3;
	unsigned int octets = (be16_at(h + 4) & 0x7ff) * 4;

	if (p->tail_len != pad + IB_ICRC_LEN + IB_VCRC_LEN || octets != p->len + pad + IB_ICRC_LEN)
		return false;
	return r->hdr_len != HCA_HDR_MAX ||
	       be16_at(h + IB_LRH_LEN + 4) == octets - IB_LRH_LEN - IB_GRH_LEN;
}

/* The packet is well formed and undamaged. */
static enum hca_drop rx_form(struct hca_rx_ctx *r)
{
	const uint8_t *h = pkt_hdr(r->pkt);
	enum hca_drop why;

	if (lnh(h) != IB_LNH_LOCAL && lnh(h) != IB_LNH_GLOBAL)
		return HCA_DROP_VERSION; /* raw packets */
	if (!rx_lengths(r))
		return HCA_DROP_LEN;
	why = hca_tail_check(r->pkt);
	if (why != HCA_OK)
		return why;
	if (ib_ud_hdr_decode(&r->hdr, h, r->hdr_len) != (int)r->hdr_len ||
	    r->hdr.bth.opcode != IB_OP_UD_SEND_ONLY)
		return HCA_DROP_VERSION;
	if (r->hdr.has_grh && (r->hdr.grh.ip_ver != 6 || r->hdr.grh.nxt_hdr != IB_GRH_NXTHDR))
		return HCA_DROP_VERSION;
	return HCA_OK;
}

/* VL15 carries SMPs and nothing else does (I3). */
static enum hca_drop rx_state_smp(const struct hca_rx_ctx *r)
{
	uint8_t state = r->np->pi.port_state;

	if (state < IB_PORT_INIT)
		return HCA_DROP_PORT_STATE;
	if (r->hdr.lrh.vl != IB_VL15 || r->hdr.bth.dest_qp != IB_QP0 || r->hdr.has_grh ||
	    ib_lid_is_mcast(r->hdr.lrh.dlid))
		return HCA_DROP_VL15;
	return HCA_OK;
}

static enum hca_drop rx_state(const struct hca_rx_ctx *r)
{
	if (r->hdr.lrh.vl == IB_VL15 || r->hdr.bth.dest_qp == IB_QP0)
		return rx_state_smp(r);
	if (r->np->pi.port_state == IB_PORT_ARMED)
		node_port_armed_rx(r->np, r->now); /* the far end is Active already (I4) */
	if (!node_port_active(r->np))
		return HCA_DROP_PORT_STATE;
	/* NeighborMTU limits what a port sends, MTUCap what it takes (14.2.5.6). */
	if (r->pkt->len - r->hdr_len > ib_mtu_octets(r->np->pi.mtu_cap))
		return HCA_DROP_MTU;
	return HCA_OK;
}

/* One of the port's GIDs, under its own or the default prefix (I8) */
static bool rx_own_gid(const struct node_port *np, const ib_gid *gid)
{
	uint64_t prefix = ib_gid_prefix(gid), guid = ib_gid_guid(gid);

	if (prefix != np->pi.gid_prefix && prefix != IB_SUBNET_PREFIX_DEFAULT)
		return false;
	for (unsigned int i = 0; guid && i < NODE_GUIDS; i++)
		if (np->guids[i] == guid)
			return true;
	return false;
}

static enum hca_drop rx_mcast_address(const struct hca_rx_ctx *r)
{
	if (r->hdr.bth.dest_qp != IB_QPN_MCAST)
		return HCA_DROP_QPN;
	if (!r->hdr.has_grh)
		return HCA_DROP_NO_GRH;
	return ib_gid_is_mcast(&r->hdr.grh.dgid) ? HCA_OK : HCA_DROP_DGID;
}

static enum hca_drop rx_address(const struct hca_rx_ctx *r)
{
	uint16_t dlid = r->hdr.lrh.dlid;

	if (ib_lid_is_mcast(dlid))
		return rx_mcast_address(r);
	/* The permissive LID is for SMPs; on other VLs it names nobody. */
	if (!hca_own_lid(r->np, dlid) && (dlid != IB_LID_PERMISSIVE || r->hdr.lrh.vl != IB_VL15))
		return HCA_DROP_DLID;
	if (r->hdr.has_grh && !rx_own_gid(r->np, &r->hdr.grh.dgid))
		return HCA_DROP_DGID;
	return HCA_OK;
}

static enum hca_drop qp_check(const struct hca_qp *qp, const struct hca_rx_ctx *r)
{
	if (!ib_pkey_match(r->hdr.bth.pkey, r->np->pkeys[qp->pkey_index]))
		return HCA_DROP_PKEY;
	if (r->hdr.deth.qkey != qp->qkey)
		return HCA_DROP_QKEY;
	return hca_qp_full(qp) ? HCA_DROP_NO_RX : HCA_OK;
}

static enum hca_drop qp_refuse(struct hca_qp *qp, enum hca_drop why)
{
	qp->stats.rx_dropped++;
	return why;
}

/* Takes @p, which is r->pkt or a clone of it. There is room in the ring. */
static void qp_deliver(struct hca_qp *qp, const struct hca_rx_ctx *r, struct pkt *p)
{
	struct hca_wc *wc = &qp->ring[qp->tail++ & qp->mask];

	wc->pkt = p;
	wc->grh = r->hdr.has_grh ? pkt_hdr(p) + IB_LRH_LEN : NULL;
	wc->src_qp = r->hdr.deth.src_qp;
	wc->slid = r->hdr.lrh.slid;
	wc->pkey_index = qp->pkey_index;
	wc->sl = r->hdr.lrh.sl;
	wc->dlid_path_bits = ib_lid_is_mcast(r->hdr.lrh.dlid)
				     ? 0
				     : r->hdr.lrh.dlid & ((1u << r->np->pi.lmc) - 1);
	p->head = (uint16_t)(p->head + r->hdr_len);
	p->len -= r->hdr_len;
	p->tail_len = 0;
	p->flags &= ~(uint32_t)(PKT_CRC | PKT_ICRC);
	qp->stats.rx_pkts++;
	qp->stats.rx_octets += p->len;
	if (!qp->armed)
		return;
	qp->armed = false;
	list_add_tail(&qp->hca->ready, &qp->ready);
}

static enum hca_drop rx_ucast(struct hca_rx_ctx *r)
{
	struct hca_qp *qp = hca_qp_find(r->hca, r->hdr.bth.dest_qp);
	enum hca_drop why;

	if (!qp || qp->np != r->np)
		return HCA_DROP_QPN;
	why = qp_check(qp, r);
	if (why != HCA_OK)
		return qp_refuse(qp, why);
	qp_deliver(qp, r, r->pkt);
	return HCA_OK;
}

/* Each QP but the last gets a clone. Dropped only if nobody took it. */
static enum hca_drop rx_mcast(struct hca_rx_ctx *r)
{
	struct hca_group *g = hca_group_find(r->hca, (uint8_t)r->np->num, &r->hdr.grh.dgid);
	enum hca_drop why = HCA_DROP_MGID;
	struct hca_qp *last = NULL;

	for (unsigned int i = 0; g && i < g->n; i++) {
		struct hca_qp *qp = g->member[i].qp;
		enum hca_drop d = qp_check(qp, r);
		struct pkt *clone;

		if (d != HCA_OK) {
			why = qp_refuse(qp, d);
			continue;
		}
		clone = last ? pkt_clone(r->pkt) : NULL;
		if (clone)
			qp_deliver(last, r, clone);
		else if (last)
			qp_refuse(last, HCA_DROP_NO_MEM);
		last = qp;
	}
	if (!last)
		return why;
	qp_deliver(last, r, r->pkt);
	return HCA_OK;
}

static enum hca_drop rx_run(struct hca_rx_ctx *r)
{
	enum hca_drop why = rx_form(r);

	if (why == HCA_OK)
		why = rx_state(r);
	if (why == HCA_OK)
		why = rx_address(r);
	if (why != HCA_OK)
		return why;
	if (ib_lid_is_mcast(r->hdr.lrh.dlid))
		return rx_mcast(r);
	if (r->hdr.bth.dest_qp <= IB_QP1)
		return hca_mgmt_rx(r);
	return rx_ucast(r);
}

/* Bad keys that came by the link are what PortInfo counts and traps 257 and 258 report. */
static void rx_violation(const struct hca_rx_ctx *r, enum hca_drop why)
{
	const struct ib_ud_hdr *h = &r->hdr;
	struct node_violation v = {
		.slid = h->lrh.slid,
		.dlid = h->lrh.dlid,
		.sl = h->lrh.sl,
		.src_qp = h->deth.src_qp,
		.dest_qp = h->bth.dest_qp,
		.key = why == HCA_DROP_PKEY ? h->bth.pkey : h->deth.qkey,
		.has_gids = h->has_grh,
		.sgid = h->grh.sgid,
		.dgid = h->grh.dgid,
	};

	if (why == HCA_DROP_PKEY)
		node_pkey_violation(&r->hca->node, r->np->num, &v, r->now);
	else
		node_qkey_violation(&r->hca->node, r->np->num, &v, r->now);
}

static void rx_count_error(struct node_port *np, enum hca_drop why)
{
	if (why == HCA_DROP_LEN || why == HCA_DROP_VERSION)
		node_count_rcv(np, NODE_RCV_MALFORMED);
	else if (why == HCA_DROP_ICRC || why == HCA_DROP_VCRC)
		node_count_rcv(np, NODE_RCV_LOCAL_PHYSICAL);
}

static void rx_drop(const struct hca_rx_ctx *r, enum hca_drop why, bool from_link)
{
	r->hca->drops[why]++;
	pkt_free(r->pkt);
	if (!from_link)
		return;
	rx_count_error(r->np, why);
	/* The trap may need the descriptor that was freed just now. */
	if (why == HCA_DROP_PKEY || why == HCA_DROP_QKEY)
		rx_violation(r, why);
}

/* Packets and words are counted with their errors, IBTA 16.1.3.5: PktLen, LRH .. ICRC. */
static void rx_count(const struct hca_rx_ctx *r)
{
	struct node_counters *c = &r->np->cnt;
	const struct pkt *p = r->pkt;
	unsigned int octets = p->len + p->tail_len;
	unsigned int words = octets > IB_VCRC_LEN ? (octets - IB_VCRC_LEN) / 4 : 0;
	const uint8_t *lrh = p->hdr + p->head;

	c->rcv_pkts++;
	c->rcv_data += words;
	if (r->hdr_len)
		c->rcv_sl[lrh[1] >> 4] += words;
	if (r->hdr_len && ib_lid_is_mcast(be16_at(lrh + 2)))
		c->mcast_rcv++;
	else
		c->ucast_rcv++;
}

static void rx_one(struct hca *h, struct node_port *np, struct pkt *p, ns_t now, bool from_link)
{
	struct hca_rx_ctx r;
	enum hca_drop why;

	r.hca = h;
	r.np = np;
	r.pkt = p;
	r.now = now;
	r.hdr_len = rx_headers(p);
	if (from_link)
		rx_count(&r);
	why = r.hdr_len ? rx_run(&r) : HCA_DROP_LEN;
	if (why != HCA_OK)
		rx_drop(&r, why, from_link);
}

void hca_rx_local(struct hca *h, uint8_t port, struct pkt *p, ns_t now)
{
	rx_one(h, hca_port(h, port), p, now, false);
}

void hca_rx(struct hca *h, uint8_t port, struct pkt **v, unsigned int n, ns_t now)
{
	struct node_port *np = hca_port(h, port);

	assert(hca_port_valid(h, port));
	for (unsigned int i = 0; i < n; i++) {
		if (i + 1 < n)
			__builtin_prefetch(v[i + 1]->hdr + PKT_HDR_MAX - 128);
		rx_one(h, np, v[i], now, true);
	}
	hca_notify(h);
}

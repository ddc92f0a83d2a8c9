/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/priv.h"

/*
 * The checks are made in the order of IBTA 7.8.1 (link), 8.3 (network) and 9.6 (transport), with one
 * difference: both CRCs are verified in one pass, so a wrong ICRC is found before wrong addresses.
 */

/*
 * Moves the headers (from the LRH to the DETH) into hdr[] if they lie in the first slice, as in a
 * packet that came in a UDP datagram. The receiver of the packet expects the GRH in hdr[]. Return:
 * octets of the headers; 0: the packet is too short
 */
static unsigned int rx_headers(struct pkt *p)
{
	unsigned int have = pkt_hdr_len(p), len;
	uint8_t h[IB_UD_HDR_MAX];

	if (have >= IB_LRH_LEN)
		len = ib_ud_hdr_len(ib_lrh_has_grh(pkt_hdr(p)));
	else if (pkt_copy_out(p, 0, h, IB_LRH_LEN) == IB_LRH_LEN)
		len = ib_ud_hdr_len(ib_lrh_has_grh(h));
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

/* Tell whether PktLen, PayLen and PadCnt agree with the octets of the packet. */
static bool rx_lengths(const struct hca_rx_ctx *r)
{
	const struct pkt *p = r->pkt;
	const uint8_t *h = p->hdr + p->head, *bth = h + r->hdr_len - IB_BTH_LEN - IB_DETH_LEN;
	unsigned int pad = ib_bth_pad(bth);
	unsigned int octets = (be16_at(h + IB_LRH_OFF_PKT_LEN) & IB_LRH_PKT_LEN_MASK) * 4;

	if (pkt_is_train(p)) /* The packets of a train get these fields when the train is cut. */
		return true;
	if (p->tail_len != pad + IB_ICRC_LEN + IB_VCRC_LEN || octets != p->len + pad + IB_ICRC_LEN)
		return false;
	return r->hdr_len != IB_UD_HDR_MAX ||
	       be16_at(h + IB_LRH_LEN + IB_GRH_OFF_PAY_LEN) == octets - IB_LRH_LEN - IB_GRH_LEN;
}

/* Checks that the packet is well formed and undamaged. */
static enum hca_drop rx_form(struct hca_rx_ctx *r)
{
	const uint8_t *h = pkt_hdr(r->pkt);
	enum hca_drop why;

	if (!ib_lrh_has_bth(h))
		return HCA_DROP_VERSION; /* a raw packet */
	if (!rx_lengths(r))
		return HCA_DROP_LEN;
	why = pkt_is_train(r->pkt) ? HCA_OK
				   : hca_tail_check(r->pkt); /* rx_one() checks trains earlier */
	if (why != HCA_OK)
		return why;
	if (ib_ud_hdr_decode(&r->hdr, h, r->hdr_len) != (int)r->hdr_len ||
	    r->hdr.bth.opcode != IB_OP_UD_SEND_ONLY)
		return HCA_DROP_VERSION;
	if (r->hdr.has_grh && (r->hdr.grh.ip_ver != 6 || r->hdr.grh.nxt_hdr != IB_GRH_NXTHDR))
		return HCA_DROP_VERSION;
	return HCA_OK;
}

/* Check a packet that is on VL15 or for QP0. SMPs use VL15, and no other packets do. */
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
		node_port_armed_rx(r->np,
				   /*
				    * a data packet shows that the port at the other end is Active
				    * already
				    */
				   r->now);
	if (!node_port_active(r->np))
		return HCA_DROP_PORT_STATE;
	/* MTUCap limits received packets; NeighborMTU limits only packets that the port sends (14.2.5.6). */
	if (train_first_len(r->pkt) - r->hdr_len > ib_mtu_octets(r->np->pi.mtu_cap))
		return HCA_DROP_MTU;
	return HCA_OK;
}

/*
 * Tell whether @gid is one of the port's GIDs, under the port's subnet prefix or under the default
 * prefix.
 */
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
	/* The permissive LID is valid for SMPs only, so on other VLs it counts as the LID of another port. */
	if (!node_own_lid(r->np, dlid) && (dlid != IB_LID_PERMISSIVE || r->hdr.lrh.vl != IB_VL15))
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
	return hca_qp_room(qp) ? HCA_OK : HCA_DROP_NO_RX;
}

/* Puts @p, which is r->pkt or its clone, into the ring, which must have room; takes ownership of @p. */
static void qp_deliver(struct hca_qp *qp, const struct hca_rx_ctx *r, struct pkt *p)
{
	struct hca_wc *wc = hca_qp_add(qp, p);

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
	p->flags &= ~(uint32_t)(PKT_CRC | PKT_ICRC | PKT_VCRC_OK | PKT_ICRC_OK);
	train_unseal(p);
	if (!qp->armed)
		return;
	qp->armed = false;
	list_add_tail(&qp->hca->ready, &qp->ready);
}

/*
 * Deliver those packets of a train for which the ring has room, and leave the other packets in
 * r->pkt.
 */
static enum hca_drop rx_part(struct hca_qp *qp, struct hca_rx_ctx *r)
{
	struct pkt *first = train_split_link(r->pkt, hca_qp_room(qp));

	if (!first)
		return HCA_DROP_NO_MEM;
	qp_deliver(qp, r, first);
	return HCA_DROP_NO_RX;
}

static enum hca_drop rx_ucast(struct hca_rx_ctx *r)
{
	struct hca_qp *qp = hca_qp_find(r->hca, r->hdr.bth.dest_qp);
	enum hca_drop why;

	if (!qp || qp->np != r->np)
		return HCA_DROP_QPN;
	why = qp_check(qp, r);
	if (why != HCA_OK)
		return why;
	if (pkt_count(r->pkt) > hca_qp_room(qp))
		return rx_part(qp, r);
	qp_deliver(qp, r, r->pkt);
	return HCA_OK;
}

/*
 * Deliver a multicast packet. Of the QPs that accept the packet, the last gets the packet itself,
 * and the others get clones. If no QP accepts the packet, it counts as dropped. A clone for which
 * there is no memory counts as a dropped packet, too.
 */
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
			why = d;
			continue;
		}
		clone = last ? pkt_clone(r->pkt) : NULL;
		if (clone)
			qp_deliver(last, r, clone);
		else if (last)
			r->hca->drops[HCA_DROP_NO_MEM] += pkt_count(r->pkt);
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

/*
 * Handle a packet from the link that has a wrong key: increase the counter in PortInfo, and send
 * trap 257 or 258.
 */
static void rx_violation(const struct hca_rx_ctx *r, enum hca_drop why)
{
	const struct ib_ud_hdr *h = &r->hdr;
	bool pkey = why == HCA_DROP_PKEY;
	/*
	 * rx_form() has decoded the headers before any key is checked, but the analyzer does not
	 * see this.
	 */
	/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
	uint32_t key = pkey ? h->bth.pkey : h->deth.qkey;
	struct notice_violation v = node_violation_of(h, key);

	if (pkey)
		node_pkey_violation(&r->hca->node, r->np->num, &v, r->now);
	else
		node_qkey_violation(&r->hca->node, r->np->num, &v, r->now);
}

static void rx_count_error(struct node_port *np, enum hca_drop why, unsigned int n)
{
	if (why == HCA_DROP_LEN || why == HCA_DROP_VERSION)
		node_count_rcv_n(np, NODE_RCV_MALFORMED, n);
	else if (why == HCA_DROP_ICRC || why == HCA_DROP_VCRC)
		node_count_rcv_n(np, NODE_RCV_LOCAL_PHYSICAL, n);
}

static void rx_drop(const struct hca_rx_ctx *r, enum hca_drop why, bool from_link)
{
	unsigned int n = pkt_count(r->pkt);

	r->hca->drops[why] += n;
	pkt_free(r->pkt);
	if (!from_link)
		return;
	rx_count_error(r->np, why, n);
	/* The packet was freed above, so that a descriptor is free for the trap. */
	if (why == HCA_DROP_PKEY || why == HCA_DROP_QKEY)
		while (n--)
			rx_violation(r, why);
}

/*
 * Count received packets. The data counters include packets with errors, in words from LRH to ICRC
 * (16.1.3.5).
 */
static void rx_count(const struct hca_rx_ctx *r)
{
	struct node_counters *c = &r->np->cnt;
	const struct pkt *p = r->pkt;
	unsigned int octets = p->len + p->tail_len;
	unsigned int words = octets > IB_VCRC_LEN ? (octets - IB_VCRC_LEN) / 4 : 0;
	const uint8_t *lrh = p->hdr + p->head;

	if (pkt_is_train(p))
		words = train_words(p);
	c->rcv_pkts += pkt_count(p);
	c->rcv_data += words;
	if (r->hdr_len)
		c->rcv_sl[ib_lrh_sl(lrh)] += words;
	if (r->hdr_len && ib_lid_is_mcast(be16_at(lrh + IB_LRH_OFF_DLID)))
		c->mcast_rcv += pkt_count(p);
	else
		c->ucast_rcv += pkt_count(p);
}

static void rx_packets(struct hca *h, struct node_port *np, struct pkt *p, ns_t now, bool from_link)
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

/*
 * Tell whether a train must be cut, so that each packet is accepted or dropped by itself. This is
 * necessary
 *
 * - if the full packets exceed the MTU, because the last packet may be short enough to pass,
 * - if a packet is damaged, because the other packets may be good.
 */
static bool rx_must_cut(const struct node_port *np, struct pkt *p)
{
	return train_first_len(p) - rx_headers(p) > ib_mtu_octets(np->pi.mtu_cap) ||
	       hca_tail_check(p) != HCA_OK;
}

static void rx_one(struct hca *h, struct node_port *np, struct pkt *p, ns_t now, bool from_link)
{
	if (pkt_is_train(p) && rx_must_cut(np, p)) {
		struct pkt *one;

		while (pkt_is_train(p) && (one = train_split_link(p, 1)))
			rx_packets(h, np, one, now, from_link);
		if (pkt_is_train(p)) {
			h->drops[HCA_DROP_NO_MEM] += pkt_count(p);
			pkt_free(p);
			return;
		}
	}
	rx_packets(h, np, p, now, from_link);
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

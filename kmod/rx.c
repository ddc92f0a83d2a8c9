// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

#include <linux/crc32.h>

#include "uib.h"

/* IBV_WC_IP_CSUM_OK of rdma-core; ib_uverbs passes the flags of a completion to programs unchanged */
#define USER_WC_IP_CSUM_OK BIT(2)

/* A packet and the header fields that the checks have decoded. The checks run in the order of IBTA 7.8.1, 8.3 and 9.6. */
struct rx {
	struct uib_dev *dev;
	const u8 *pkt, *grh, *bth, *deth, *payload; /* grh is NULL if the packet has none */
	u32 len; /* octets from LRH to VCRC */
	u32 payload_len;
	u16 dlid, slid, pkey;
	u32 dest_qpn, src_qpn, qkey;
	u8 vl, sl;
	bool wire, has_imm;
	bool csum_ok; /* the payload is an IP packet with right checksums (inet.c) */
};

static u8 lnh(const u8 *lrh)
{
	return lrh[1] & 3;
}

static enum uib_counter check_icrc(const u8 *pkt, u32 hdr_len, u32 len)
{
	u32 end = len - UIB_ICRC_LEN - UIB_VCRC_LEN;
	u32 crc = uib_icrc_hdr(pkt, hdr_len);

	crc = crc32_le(crc, pkt + hdr_len, end - hdr_len);
	return ~crc == get_unaligned_le32(pkt + end) ? UIB_C_NONE : UIB_DROP_ICRC;
}

static enum uib_counter parse_grh(struct rx *r)
{
	r->grh = r->pkt + UIB_LRH_LEN;
	if (r->grh[0] >> 4 != 6 || r->grh[6] != UIB_GRH_NXTHDR)
		return UIB_DROP_VERSION;
	if (get_unaligned_be16(r->grh + 4) != r->len - UIB_VCRC_LEN - UIB_LRH_LEN - UIB_GRH_LEN)
		return UIB_DROP_LEN;
	return UIB_C_NONE;
}

/* Check the lengths, the ICRC and the versions of the headers. udp.c has checked LVer, PktLen and VCRC before. */
static enum uib_counter parse(struct rx *r)
{
	bool global = lnh(r->pkt) == UIB_LNH_GLOBAL;
	u32 hdr_len = UIB_LRH_LEN + (global ? UIB_GRH_LEN : 0) + UIB_BTH_LEN + UIB_DETH_LEN;
	u32 crcs = UIB_ICRC_LEN + UIB_VCRC_LEN, pad;
	enum uib_counter why;

	if (!global && lnh(r->pkt) != UIB_LNH_LOCAL)
		return UIB_DROP_VERSION;
	if (r->len < hdr_len + crcs)
		return UIB_DROP_LEN;
	if (r->wire) {
		why = check_icrc(r->pkt, hdr_len, r->len);
		if (why != UIB_C_NONE)
			return why;
	}
	if (global) {
		why = parse_grh(r);
		if (why != UIB_C_NONE)
			return why;
	}
	r->deth = r->pkt + hdr_len - UIB_DETH_LEN;
	r->bth = r->deth - UIB_BTH_LEN;
	r->has_imm = r->bth[0] == UIB_OP_SEND_IMM;
	if ((r->bth[0] != UIB_OP_SEND && !r->has_imm) || (r->bth[1] & 0xf))
		return UIB_DROP_VERSION;
	if (r->has_imm)
		hdr_len += UIB_IMM_LEN;
	pad = r->bth[1] >> 4 & 3;
	if (r->len < hdr_len + pad + crcs)
		return UIB_DROP_LEN;
	r->payload = r->pkt + hdr_len;
	r->payload_len = r->len - hdr_len - pad - crcs;
	r->pkey = get_unaligned_be16(r->bth + 2);
	r->dest_qpn = get_unaligned_be32(r->bth + 4) & UIB_QPN_MASK;
	r->qkey = get_unaligned_be32(r->deth);
	r->src_qpn = get_unaligned_be32(r->deth + 4) & UIB_QPN_MASK;
	return UIB_C_NONE;
}

/* Check a packet on VL15 or to QP0: SMPs must be on VL15, and other packets must not be on VL15. */
static enum uib_counter check_smp(const struct rx *r)
{
	if (READ_ONCE(r->dev->port.state) < IB_PORT_INIT)
		return UIB_DROP_PORT_STATE;
	if (r->vl != UIB_VL15 || r->dest_qpn != 0 || r->grh || uib_lid_is_mcast(r->dlid))
		return UIB_DROP_VL15;
	return UIB_C_NONE;
}

static enum uib_counter check_state(const struct rx *r)
{
	struct uib_port *port = &r->dev->port;

	if (r->vl == UIB_VL15 || r->dest_qpn == 0)
		return check_smp(r);
	if (READ_ONCE(port->state) == IB_PORT_ARMED)
		uib_port_armed_rx(r->dev);
	if (READ_ONCE(port->state) != IB_PORT_ACTIVE)
		return UIB_DROP_PORT_STATE;
	/*
	 * Packets may be as long as MTUCap allows. NeighborMTU limits only the packets that a port sends (IBTA
	 * 14.2.5.6).
	 */
	return r->payload_len > uib_mtu_octets(port->mtu_cap) ? UIB_DROP_MTU : UIB_C_NONE;
}

/* Tell whether @gid is a GID of the port, with the port's subnet prefix or with the default prefix. */
static bool own_gid(const struct uib_port *port, const u8 *gid)
{
	u64 prefix = get_unaligned_be64(gid), guid = get_unaligned_be64(gid + 8);
	unsigned int i;

	if (prefix != READ_ONCE(port->gid_prefix) && prefix != UIB_DEFAULT_PREFIX)
		return false;
	for (i = 0; guid && i < UIB_GUIDS; i++)
		if (READ_ONCE(port->guids[i]) == guid)
			return true;
	return false;
}

static enum uib_counter check_address(const struct rx *r)
{
	const u8 *dgid = r->grh ? r->grh + 24 : NULL;

	if (uib_lid_is_mcast(r->dlid)) {
		if (r->dest_qpn != UIB_QPN_MASK)
			return UIB_DROP_QPN;
		if (!dgid)
			return UIB_DROP_NO_GRH;
		return dgid[0] == 0xff ? UIB_C_NONE : UIB_DROP_DGID;
	}
	/* The permissive LID is allowed for SMPs only. */
	if (!uib_own_lid(&r->dev->port, r->dlid) &&
	    (r->dlid != UIB_LID_PERMISSIVE || r->vl != UIB_VL15))
		return UIB_DROP_DLID;
	if (dgid && !own_gid(&r->dev->port, dgid))
		return UIB_DROP_DGID;
	return UIB_C_NONE;
}

/*
 * Check the P_Key and the Q_Key. QP0 checks neither of the two. QP1 accepts any P_Key of the table and has a fixed
 * Q_Key. A UD QP has one P_Key and one Q_Key.
 */
static enum uib_counter check_keys(const struct rx *r, const struct uib_qp *qp, u16 *ret_index)
{
	const struct uib_port *port = &r->dev->port;
	int index = READ_ONCE(qp->pkey_index);

	*ret_index = 0;
	if (qp->ibqp.qp_type == IB_QPT_SMI)
		return UIB_C_NONE;
	if (qp->ibqp.qp_type == IB_QPT_GSI)
		index = uib_pkey_find(port, r->pkey);
	else if (!uib_pkey_match(READ_ONCE(port->pkeys[index]), r->pkey))
		index = -ENOENT;
	if (index < 0)
		return UIB_DROP_PKEY;
	*ret_index = index;
	if (r->qkey != (qp->ibqp.qp_type == IB_QPT_GSI ? IB_QP1_QKEY : READ_ONCE(qp->qkey)))
		return UIB_DROP_QKEY;
	return UIB_C_NONE;
}

/*
 * Copy @len octets of @data to the buffers of a receive, from offset @skip of these buffers on.
 * Return: false if the memory region of one of the buffers has been deregistered
 */
static bool scatter(const struct uib_sge *sge, unsigned int n, u32 skip, const u8 *data, u32 len)
{
	for (; n && len; sge++, n--) {
		u32 part;

		if (skip >= sge->length) {
			skip -= sge->length;
			continue;
		}
		part = min(sge->length - skip, len);
		if (!uib_sge_write(sge, skip, data, part))
			return false;
		data += part;
		len -= part;
		skip = 0;
	}
	return true;
}

static void fill_wc(const struct rx *r, struct uib_qp *qp, u16 pkey_index, struct ib_wc *wc)
{
	*wc = (struct ib_wc){
		.status = IB_WC_SUCCESS,
		.opcode = IB_WC_RECV,
		.byte_len = UIB_GRH_LEN + r->payload_len,
		.qp = qp->wc_qp,
		.src_qp = r->src_qpn,
		.slid = r->slid,
		.pkey_index = pkey_index,
		.sl = r->sl,
		.port_num = UIB_PORT,
	};
	if (r->grh)
		wc->wc_flags |= IB_WC_GRH;
	if (r->has_imm) {
		wc->wc_flags |= IB_WC_WITH_IMM;
		memcpy(&wc->ex.imm_data, r->deth + UIB_DETH_LEN, UIB_IMM_LEN);
	}
	if (r->csum_ok)
		wc->wc_flags |= qp->is_user ? USER_WC_IP_CSUM_OK : IB_WC_IP_CSUM_OK;
	if (!uib_lid_is_mcast(r->dlid))
		wc->dlid_path_bits = r->dlid & ((1 << READ_ONCE(r->dev->port.lmc)) - 1);
}

/*
 * Put the packet into the oldest posted receive. The first 40 octets of the buffer are for the GRH, even if the
 * packet has none. *@fire becomes true if the caller must call uib_cq_fire().
 */
static enum uib_counter receive(const struct rx *r, struct uib_qp *qp, u16 pkey_index, bool *fire)
{
	struct uib_rwqe *w = &qp->rq[qp->rq_head];
	struct uib_sge *sge = &qp->rq_sge[qp->rq_head * qp->cap.max_recv_sge];
	struct ib_wc wc;

	if (qp->state < IB_QPS_RTR || qp->state > IB_QPS_SQE)
		return UIB_DROP_QP_STATE;
	if (!qp->rq_count || w->len < UIB_GRH_LEN + r->payload_len)
		return UIB_DROP_NO_RX;
	fill_wc(r, qp, pkey_index, &wc);
	wc.wr_id = w->wr_id;
	if ((r->grh && !scatter(sge, w->num_sge, 0, r->grh, UIB_GRH_LEN)) ||
	    !scatter(sge, w->num_sge, UIB_GRH_LEN, r->payload, r->payload_len)) {
		wc.status = IB_WC_LOC_PROT_ERR;
		qp->state = IB_QPS_ERR;
		queue_work(uib_wq, &qp->work);
	}
	uib_sge_put(sge, w->num_sge);
	qp->rq_head = (qp->rq_head + 1) % qp->cap.max_recv_wr;
	qp->rq_count--;
	*fire = uib_cq_push(to_ucq(qp->ibqp.recv_cq), &wc, r->bth[1] & 0x80);
	return UIB_C_NONE;
}

static enum uib_counter deliver(const struct rx *r, struct uib_qp *qp)
{
	enum uib_counter why;
	unsigned long flags;
	bool fire = false;
	u16 index;

	if (qp->ibqp.qp_type != IB_QPT_UD && r->payload_len != sizeof(struct ib_mad))
		return UIB_DROP_LEN;
	why = check_keys(r, qp, &index);
	if (why != UIB_C_NONE)
		return why;
	spin_lock_irqsave(&qp->lock, flags);
	why = receive(r, qp, index, &fire);
	spin_unlock_irqrestore(&qp->lock, flags);
	if (fire)
		uib_cq_fire(to_ucq(qp->ibqp.recv_cq));
	return why;
}

static enum uib_counter deliver_ucast(const struct rx *r)
{
	struct uib_qp *qp = xa_load(&r->dev->qps, r->dest_qpn);

	if (!qp)
		return UIB_DROP_QPN;
	return deliver(r, qp);
}

/*
 * Give a copy of the packet to every QP that is attached to the group. The packet counts as dropped
 * only if no QP accepted a copy.
 */
static enum uib_counter deliver_mcast(const struct rx *r)
{
	const union ib_gid *mgid = (const void *)(r->grh + 24);
	enum uib_counter why = UIB_DROP_MGID, d;
	struct uib_mcast *m;

	hlist_for_each_entry_rcu(m, uib_mcast_bucket(r->dev, mgid), node) {
		if (memcmp(&m->mgid, mgid, sizeof(*mgid)))
			continue;
		if (!r->wire && m->qp->block_loopback && m->qp->ibqp.qp_num == r->src_qpn)
			continue;
		d = deliver(r, m->qp);
		if (why != UIB_C_NONE)
			why = d;
	}
	return why;
}

static enum uib_counter run(struct rx *r)
{
	enum uib_counter why = parse(r);

	if (why == UIB_C_NONE)
		why = check_state(r);
	if (why == UIB_C_NONE)
		why = check_address(r);
	if (why != UIB_C_NONE)
		return why;
	r->csum_ok = r->dest_qpn > 1 && uib_inet_csum_ok(r->payload, r->payload_len);
	return uib_lid_is_mcast(r->dlid) ? deliver_mcast(r) : deliver_ucast(r);
}

/* Count a received packet, even if it is dropped later (IBTA 16.1.3.5). */
static void count(const struct rx *r)
{
	u32 words = (r->len - UIB_VCRC_LEN) / 4;

	uib_count(r->dev, UIB_C_RCV_PKTS);
	uib_count_add(r->dev, UIB_C_RCV_DATA, words);
	uib_count_add(r->dev, UIB_C_RCV_SL + r->sl, words);
	uib_count(r->dev, uib_lid_is_mcast(r->dlid) ? UIB_C_MCAST_RCV : UIB_C_UCAST_RCV);
}

static void violation(const struct rx *r, bool is_qkey)
{
	struct uib_port *port = &r->dev->port;
	u16 *counter = is_qkey ? &port->qkey_violations : &port->pkey_violations;
	struct uib_violation v = {
		.slid = r->slid,
		.dlid = r->dlid,
		.src_qpn = r->src_qpn,
		.dest_qpn = r->dest_qpn,
		.key = is_qkey ? r->qkey : r->pkey,
		.sl = r->sl,
		.is_qkey = is_qkey,
		.gids = r->grh ? r->grh + 8 : NULL,
	};

	spin_lock_bh(&port->lock);
	if (*counter < U16_MAX)
		(*counter)++;
	spin_unlock_bh(&port->lock);
	uib_trap_bad_key(r->dev, &v);
}

static void drop(const struct rx *r, enum uib_counter why)
{
	struct uib_dev *dev = r->dev;

	uib_count(dev, why);
	if (!r->wire)
		return;
	if (why == UIB_DROP_LEN || why == UIB_DROP_VERSION) {
		uib_count(dev, UIB_C_RCV_ERRORS);
		uib_count(dev, UIB_C_RCV_MALFORMED);
	} else if (why == UIB_DROP_ICRC) {
		uib_count(dev, UIB_C_RCV_ERRORS);
		uib_count(dev, UIB_C_RCV_PHYSICAL);
	} else if (why == UIB_DROP_NO_RX && r->vl == UIB_VL15) {
		uib_count(dev, UIB_C_VL15_DROPPED);
	} else if (why == UIB_DROP_PKEY) {
		violation(r, false);
	} else if (why == UIB_DROP_QKEY) {
		violation(r, true);
	}
}

void uib_rx(struct uib_dev *dev, const u8 *pkt, u32 len, bool wire)
{
	struct rx r = {
		.dev = dev,
		.pkt = pkt,
		.len = len,
		.wire = wire,
		.vl = pkt[0] >> 4,
		.sl = pkt[1] >> 4,
		.dlid = get_unaligned_be16(pkt + 2),
		.slid = get_unaligned_be16(pkt + 6),
	};
	enum uib_counter why;

	if (wire)
		count(&r);
	why = run(&r);
	if (why != UIB_C_NONE)
		drop(&r, why);
}

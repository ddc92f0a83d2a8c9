// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

#include <linux/crc32.h>

#include "uib.h"

/* A packet that is being made, and the place in the buffers of the work request from which its payload comes */
struct tx {
	struct uib_qp *qp;
	const struct uib_swqe *w;
	const struct uib_sge *sge; /* the buffer with the next octet of the payload */
	u32 skip; /* octets of this buffer that earlier packets contain */
	u16 pkey;
	u8 vl;
	/* the members below belong to one packet */
	u8 *pkt;
	u32 hdr_len, payload_len, len; /* .len: octets from LRH to VCRC */
	u8 pad;
};

static u8 *put_lrh(struct tx *t, u8 *h, const struct uib_swqe *w)
{
	const struct uib_port *port = &t->qp->dev->port;
	u16 slid = READ_ONCE(port->lid), mask = (1 << READ_ONCE(port->lmc)) - 1;

	/* A directed-route SMP has the permissive LID as source LID, too. */
	if (w->av.dlid == UIB_LID_PERMISSIVE)
		slid = UIB_LID_PERMISSIVE;
	else
		slid = (slid & ~mask) | (w->av.path_bits & mask);
	h[0] = t->vl << 4;
	h[1] = w->av.sl << 4 | (w->av.has_grh ? UIB_LNH_GLOBAL : UIB_LNH_LOCAL);
	put_unaligned_be16(w->av.dlid, h + 2);
	put_unaligned_be16((t->len - UIB_VCRC_LEN) / 4, h + 4);
	put_unaligned_be16(slid, h + 6);
	return h + UIB_LRH_LEN;
}

static u8 *put_grh(struct tx *t, u8 *h, const struct uib_swqe *w)
{
	const struct uib_port *port = &t->qp->dev->port;

	put_unaligned_be32(6 << 28 | w->av.tclass << 20 | (w->av.flow_label & 0xfffff), h);
	put_unaligned_be16(t->len - UIB_VCRC_LEN - UIB_LRH_LEN - UIB_GRH_LEN, h + 4);
	h[6] = UIB_GRH_NXTHDR;
	h[7] = w->av.hop_limit;
	put_unaligned_be64(READ_ONCE(port->gid_prefix), h + 8);
	put_unaligned_be64(READ_ONCE(port->guids[w->av.sgid_index]), h + 16);
	memcpy(h + 24, w->av.dgid.raw, sizeof(w->av.dgid));
	return h + UIB_GRH_LEN;
}

static void put_bth(struct tx *t, u8 *h, const struct uib_swqe *w, u16 pkey)
{
	struct uib_qp *qp = t->qp;
	u32 qkey = READ_ONCE(qp->qkey);

	h[0] = w->has_imm ? UIB_OP_SEND_IMM : UIB_OP_SEND;
	h[1] = (w->solicited ? 0x80 : 0) | t->pad << 4;
	put_unaligned_be16(pkey, h + 2);
	put_unaligned_be32(w->dest_qpn & UIB_QPN_MASK, h + 4);
	put_unaligned_be32(qp->psn++ & UIB_QPN_MASK, h + 8);
	h += UIB_BTH_LEN;
	if (qp->ibqp.qp_type == IB_QPT_SMI)
		qkey = 0;
	else if (!(w->qkey & UIB_QKEY_CONTROLLED))
		qkey = w->qkey; /* a Q_Key with the high bit set selects the Q_Key of the QP, IBTA 10.2.5 */
	put_unaligned_be32(qkey, h);
	put_unaligned_be32(qp->ibqp.qp_num, h + 4);
	if (w->has_imm)
		memcpy(h + UIB_DETH_LEN, &w->imm, UIB_IMM_LEN);
}

/* Decide the lengths of a packet with @payload_len octets of payload. */
static void measure(struct tx *t, u32 payload_len)
{
	const struct uib_swqe *w = t->w;

	t->hdr_len = UIB_LRH_LEN + (w->av.has_grh ? UIB_GRH_LEN : 0) + UIB_BTH_LEN + UIB_DETH_LEN +
		     (w->has_imm ? UIB_IMM_LEN : 0);
	t->payload_len = payload_len;
	t->pad = -payload_len & 3;
	t->len = t->hdr_len + payload_len + t->pad + UIB_ICRC_LEN + UIB_VCRC_LEN;
}

static void put_headers(struct tx *t)
{
	u8 *h = put_lrh(t, t->pkt, t->w);

	if (t->w->av.has_grh)
		h = put_grh(t, h, t->w);
	put_bth(t, h, t->w, t->pkey);
}

/* Copy the next @len octets of the work request's buffers. Return: false if a memory region is deregistered already */
static bool take(struct tx *t, u8 *to, u32 len)
{
	while (len) {
		u32 part = min(t->sge->length - t->skip, len);

		if (!uib_sge_read(t->sge, t->skip, to, part))
			return false;
		to += part;
		len -= part;
		t->skip += part;
		if (t->skip == t->sge->length) {
			t->sge++;
			t->skip = 0;
		}
	}
	return true;
}

static void put_crcs(struct tx *t)
{
	u8 *payload = t->pkt + t->hdr_len, *tail = payload + t->payload_len;
	u32 icrc = uib_icrc_hdr(t->pkt, t->hdr_len);
	u16 vcrc;

	memset(tail, 0, t->pad);
	tail += t->pad;
	icrc = crc32_le(icrc, payload, tail - payload);
	put_unaligned_le32(~icrc, tail);
	tail += UIB_ICRC_LEN;
	vcrc = uib_vcrc(U16_MAX, t->pkt, tail - t->pkt);
	put_unaligned_le16(~vcrc, tail);
}

/*
 * Tell whether the packets of the work request may be sent. Return: UIB_C_NONE if they may, with .vl and .pkey;
 * otherwise the counter of the reason
 */
static enum uib_counter check(struct tx *t, const struct uib_swqe *w)
{
	const struct uib_port *port = &t->qp->dev->port;
	u16 index = t->qp->ibqp.qp_type == IB_QPT_GSI ? w->pkey_index : t->qp->pkey_index;

	if (t->qp->ibqp.qp_type == IB_QPT_SMI) {
		/*
		 * SMPs are sent in every port state, because even the answer to a Set(PortInfo) that requests Down
		 * has to be sent.
		 */
		t->vl = UIB_VL15;
		t->pkey = 0xffff;
		return w->av.has_grh ? UIB_DROP_TX_VL15 : UIB_C_NONE;
	}
	if (READ_ONCE(port->state) != IB_PORT_ACTIVE)
		return UIB_DROP_TX_STATE;
	if (w->lso_len + min_t(u32, w->len, w->mss ?: U32_MAX) >
	    uib_mtu_octets(READ_ONCE(port->neighbor_mtu)))
		return UIB_DROP_TX_MTU;
	t->pkey = index < UIB_PKEYS ? READ_ONCE(port->pkeys[index]) : 0;
	if (!(t->pkey & ~UIB_PKEY_FULL))
		return UIB_DROP_TX_PKEY;
	t->vl = uib_port_vl(port, w->av.sl);
	return t->vl == UIB_VL15 ? UIB_DROP_TX_VL15 : UIB_C_NONE;
}

void uib_tx_dropped(struct uib_dev *dev, enum uib_counter why, u32 n)
{
	uib_count_add(dev, why, n);
	uib_count_add(dev, UIB_C_XMIT_DISCARDS, n);
	if (why == UIB_DROP_TX_STATE || why == UIB_DROP_TX_DOWN)
		uib_count_add(dev, UIB_C_XMIT_INACTIVE, n);
	else if (why == UIB_DROP_TX_MTU)
		uib_count_add(dev, UIB_C_XMIT_MTU, n);
}

static bool attached(struct uib_qp *qp, const union ib_gid *mgid)
{
	struct uib_mcast *m;

	hlist_for_each_entry_rcu(m, uib_mcast_bucket(qp->dev, mgid), node)
		if (!memcmp(&m->mgid, mgid, sizeof(*mgid)) && !(m->qp == qp && qp->block_loopback))
			return true;
	return false;
}

/*
 * Deliver the packet to this port itself (IBTA 10.5, 17.2), if the DLID is one of the port's LIDs, or if QPs of this port
 * are attached to the packet's multicast group.
 */
static void loop_back(struct tx *t)
{
	struct uib_dev *dev = t->qp->dev;

	local_bh_disable();
	rcu_read_lock();
	if (!uib_lid_is_mcast(t->w->av.dlid) || attached(t->qp, &t->w->av.dgid))
		uib_rx(dev, t->pkt, t->len, false);
	rcu_read_unlock();
	local_bh_enable();
}

static bool is_port_info_answer(const struct tx *t)
{
	const struct ib_smp *smp = (const void *)(t->pkt + t->hdr_len);

	return t->payload_len >= offsetof(struct ib_smp, mkey) &&
	       smp->method == IB_MGMT_METHOD_GET_RESP && smp->attr_id == IB_SMP_ATTR_PORT_INFO;
}

static void transmit(struct tx *t)
{
	struct uib_qp *qp = t->qp;
	bool mcast = uib_lid_is_mcast(t->w->av.dlid),
	     own = uib_own_lid(&qp->dev->port, t->w->av.dlid);
	bool retrain = t->vl == UIB_VL15 && is_port_info_answer(t);

	put_crcs(t);
	if (mcast || own)
		loop_back(t);
	if (own)
		return;
	uib_burst_add(qp->dev, &qp->burst, t->len, t->w->av.sl, mcast);
	if (retrain) {
		uib_burst_send(qp->dev, &qp->burst);
		uib_link_retrain_now(&qp->dev->link);
	}
}

/*
 * Copy the payload into the packet. After this copy, a program can neither change the octets under the CRCs nor
 * deregister their memory.
 */
static bool put_payload(struct tx *t, u32 index, bool last)
{
	const struct uib_swqe *w = t->w;
	u8 *payload = t->pkt + t->hdr_len;
	u32 len = t->payload_len - w->lso_len;

	if (!take(t, payload + w->lso_len, len))
		return false;
	if (w->mss)
		uib_lso_header(payload, uib_sqe_lso(t->qp, w), w->lso_len, index, w->mss, len,
			       last);
	if (w->csum)
		uib_inet_csum_put(payload, t->payload_len);
	return true;
}

enum ib_wc_status uib_send(struct uib_qp *qp, const struct uib_swqe *w, const struct uib_sge *sge)
{
	struct tx t = { .qp = qp, .w = w, .sge = sge };
	u32 n = uib_swqe_packets(w), left = w->len, i;
	enum uib_counter why = check(&t, w);

	if (why != UIB_C_NONE) {
		uib_tx_dropped(qp->dev, why, n);
		return IB_WC_SUCCESS;
	}
	for (i = 0; i < n; i++) {
		u32 part = w->mss ? min_t(u32, left, w->mss) : left;

		measure(&t, w->lso_len + part);
		t.pkt = uib_burst_room(&qp->burst, t.len);
		if (!t.pkt) {
			uib_tx_dropped(qp->dev, UIB_DROP_NO_MEM, n - i);
			break;
		}
		put_headers(&t);
		if (!put_payload(&t, i, i == n - 1))
			return IB_WC_LOC_PROT_ERR;
		transmit(&t);
		left -= part;
		cond_resched();
	}
	return IB_WC_SUCCESS;
}

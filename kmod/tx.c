// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

#include <linux/crc32.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "uib.h"

/* The parts of a packet: headers, buffers of the work request, pad and CRCs */
struct tx {
	struct uib_qp *qp;
	u8 hdr[UIB_HDR_MAX], tail[UIB_TAIL_MAX];
	u32 hdr_len, len; /* .len: octets from LRH to VCRC */
	u8 vl, pad;
	struct kvec v[UIB_MAX_SGE + 2];
	unsigned int n;
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

static void put_headers(struct tx *t, const struct uib_swqe *w, u16 pkey)
{
	u8 *h = t->hdr;

	t->hdr_len = UIB_LRH_LEN + (w->av.has_grh ? UIB_GRH_LEN : 0) + UIB_BTH_LEN + UIB_DETH_LEN +
		     (w->has_imm ? UIB_IMM_LEN : 0);
	t->pad = -w->len & 3;
	t->len = t->hdr_len + w->len + t->pad + UIB_ICRC_LEN + UIB_VCRC_LEN;
	h = put_lrh(t, h, w);
	if (w->av.has_grh)
		h = put_grh(t, h, w);
	put_bth(t, h, w, pkey);
}

/*
 * Add the buffers of the work request to the packet. Buffers of the kernel are not copied. The
 * octets of a memory region are copied first. Otherwise a program could change its memory between
 * the computation of the CRCs and the transmission, or deregister the region. Return: false if a
 * region is deregistered already
 */
static bool put_parts(struct tx *t, const struct uib_swqe *w, const struct uib_sge *sge)
{
	u8 *copy = t->qp->gather;
	unsigned int i;

	t->v[t->n++] = (struct kvec){ t->hdr, t->hdr_len };
	for (i = 0; i < w->num_sge; i++) {
		void *at = (void *)(uintptr_t)sge[i].addr;

		if (!sge[i].length)
			continue;
		if (sge[i].mr) {
			if (!uib_sge_read(&sge[i], copy, sge[i].length))
				return false;
			at = copy;
			copy += sge[i].length;
		}
		t->v[t->n++] = (struct kvec){ at, sge[i].length };
	}
	memset(t->tail, 0, sizeof(t->tail));
	t->v[t->n++] = (struct kvec){ t->tail, t->pad + UIB_ICRC_LEN + UIB_VCRC_LEN };
	return true;
}

static void put_crcs(struct tx *t)
{
	u8 *tail = t->tail;
	unsigned int i;
	u32 icrc;
	u16 vcrc;

	icrc = uib_icrc_hdr(t->hdr, t->hdr_len);
	vcrc = uib_vcrc(U16_MAX, t->hdr, t->hdr_len);
	for (i = 1; i < t->n - 1; i++) {
		icrc = crc32_le(icrc, t->v[i].iov_base, t->v[i].iov_len);
		vcrc = uib_vcrc(vcrc, t->v[i].iov_base, t->v[i].iov_len);
	}
	icrc = crc32_le(icrc, tail, t->pad);
	put_unaligned_le32(~icrc, tail + t->pad);
	vcrc = uib_vcrc(vcrc, tail, t->pad + UIB_ICRC_LEN);
	put_unaligned_le16(~vcrc, tail + t->pad + UIB_ICRC_LEN);
}

/*
 * Tell whether the packet may be sent. Return: UIB_C_NONE if it may, with the P_Key in *@ret_pkey; otherwise the counter
 * of the reason
 */
static enum uib_counter check(struct tx *t, const struct uib_swqe *w, u16 *ret_pkey)
{
	const struct uib_port *port = &t->qp->dev->port;
	u16 index = t->qp->ibqp.qp_type == IB_QPT_GSI ? w->pkey_index : t->qp->pkey_index;

	if (t->qp->ibqp.qp_type == IB_QPT_SMI) {
		/*
		 * SMPs are sent in every port state, because even the answer to a Set(PortInfo) that requests Down
		 * has to be sent.
		 */
		t->vl = UIB_VL15;
		*ret_pkey = 0xffff;
		return w->av.has_grh ? UIB_DROP_TX_VL15 : UIB_C_NONE;
	}
	if (READ_ONCE(port->state) != IB_PORT_ACTIVE)
		return UIB_DROP_TX_STATE;
	if (w->len > uib_mtu_octets(READ_ONCE(port->neighbor_mtu)))
		return UIB_DROP_TX_MTU;
	*ret_pkey = index < UIB_PKEYS ? READ_ONCE(port->pkeys[index]) : 0;
	if (!(*ret_pkey & ~UIB_PKEY_FULL))
		return UIB_DROP_TX_PKEY;
	t->vl = uib_port_vl(port, w->av.sl);
	return t->vl == UIB_VL15 ? UIB_DROP_TX_VL15 : UIB_C_NONE;
}

static void drop(struct uib_dev *dev, enum uib_counter why)
{
	uib_count(dev, why);
	uib_count(dev, UIB_C_XMIT_DISCARDS);
	if (why == UIB_DROP_TX_STATE || why == UIB_DROP_TX_DOWN)
		uib_count(dev, UIB_C_XMIT_INACTIVE);
	else if (why == UIB_DROP_TX_MTU)
		uib_count(dev, UIB_C_XMIT_MTU);
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
 * Deliver a copy of a sent packet to this port itself (IBTA 10.5, 17.2). uib_send() calls this function if the DLID
 * is one of the port's LIDs, or if QPs of this port are attached to the packet's multicast group.
 */
static void loop_back(struct tx *t)
{
	struct uib_dev *dev = t->qp->dev;
	u8 *copy = kmalloc(t->len, GFP_KERNEL), *at = copy;
	unsigned int i;

	if (!copy) {
		uib_count(dev, UIB_DROP_NO_MEM);
		return;
	}
	for (i = 0; i < t->n; at += t->v[i++].iov_len)
		memcpy(at, t->v[i].iov_base, t->v[i].iov_len);
	local_bh_disable();
	rcu_read_lock();
	uib_rx(dev, copy, t->len, false);
	rcu_read_unlock();
	local_bh_enable();
	kfree(copy);
}

static void count(struct uib_dev *dev, const struct tx *t, const struct uib_swqe *w)
{
	u32 words = (t->len - UIB_VCRC_LEN) / 4;

	uib_count(dev, UIB_C_XMIT_PKTS);
	uib_count_add(dev, UIB_C_XMIT_DATA, words);
	uib_count_add(dev, UIB_C_XMIT_SL + w->av.sl, words);
	uib_count(dev, uib_lid_is_mcast(w->av.dlid) ? UIB_C_MCAST_XMIT : UIB_C_UCAST_XMIT);
}

static bool is_port_info_answer(const struct uib_swqe *w, const struct uib_sge *sge)
{
	const struct ib_smp *smp = (const void *)(uintptr_t)sge->addr;

	return w->num_sge && !sge->mr && sge->length >= offsetof(struct ib_smp, mkey) &&
	       smp->method == IB_MGMT_METHOD_GET_RESP && smp->attr_id == IB_SMP_ATTR_PORT_INFO;
}

static void transmit(struct tx *t, const struct uib_swqe *w, const struct uib_sge *sge)
{
	struct uib_dev *dev = t->qp->dev;
	int err;

	put_crcs(t);
	err = uib_link_send(&dev->link, t->v, t->n, t->len);
	if (err)
		drop(dev, err == -ENETDOWN ? UIB_DROP_TX_DOWN : UIB_DROP_TX_ERROR);
	else
		count(dev, t, w);
	if (t->vl == UIB_VL15 && is_port_info_answer(w, sge))
		uib_link_retrain_now(&dev->link);
}

enum ib_wc_status uib_send(struct uib_qp *qp, const struct uib_swqe *w, const struct uib_sge *sge)
{
	struct tx t = { .qp = qp };
	enum uib_counter why;
	u16 pkey;
	bool own;

	why = check(&t, w, &pkey);
	if (why != UIB_C_NONE) {
		drop(qp->dev, why);
		return IB_WC_SUCCESS;
	}
	put_headers(&t, w, pkey);
	if (!put_parts(&t, w, sge))
		return IB_WC_LOC_PROT_ERR;
	if (uib_lid_is_mcast(w->av.dlid)) {
		rcu_read_lock();
		own = attached(qp, &w->av.dgid);
		rcu_read_unlock();
		if (own)
			loop_back(&t);
	} else if (uib_own_lid(&qp->dev->port, w->av.dlid)) {
		loop_back(&t);
		return IB_WC_SUCCESS;
	}
	transmit(&t, w, sge);
	return IB_WC_SUCCESS;
}

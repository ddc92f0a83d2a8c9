/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/priv.h"

#include <errno.h>

/* Values that are the same for all packets of a batch */
struct tx {
	struct hca *hca;
	struct hca_qp *qp;
	struct node_port *np;
	unsigned int mtu;
	uint16_t pkey;
	bool active;
	ns_t now;
};

/* Moves the payload from hdr[] to a separate buffer, because there is no room for the headers before it. */
static int make_room(struct pkt *p)
{
	struct pkt_buf *b = pkt_buf_alloc(p->pool);
	uint32_t len = p->len;

	if (!b)
		return -ENOMEM;
	pkt_copy_out(p, 0, b->data, len);
	pkt_trim_head(p, len);
	pkt_add_slice(p, b, b->data, len);
	pkt_buf_put(b);
	return 0;
}

static enum hca_drop tx_check(const struct tx *t, const struct hca_send *s)
{
	if (!t->active)
		return HCA_DROP_TX_STATE;
	if (train_first_len(s->pkt) > t->mtu)
		return HCA_DROP_MTU;
	if (!(t->pkey & ~IB_PKEY_FULL))
		return HCA_DROP_PKEY;
	if (hca_ah_stale(s->ah))
		hca_ah_refresh(s->ah);
	if (s->ah->vl == IB_VL15)
		return HCA_DROP_VL15; /* discard packets whose SL maps to VL15 (7.6.6) */
	if (s->pkt->head < s->ah->hdr_len && make_room(s->pkt))
		return HCA_DROP_NO_MEM;
	return HCA_OK;
}

/*
 * Writes the headers (from the LRH to the DETH) before the payload; for a train, writes the headers
 * of its first packet. Returns the length of all packets from LRH to ICRC in 4-octet words
 */
static uint32_t tx_headers(const struct tx *t, const struct hca_send *s)
{
	struct hca_ah *ah = s->ah;
	struct pkt *p = s->pkt;
	uint32_t len = train_first_len(p);
	unsigned int pad = -len & 3;
	uint16_t words = (uint16_t)((ah->hdr_len + len + pad + IB_ICRC_LEN) / 4);
	uint8_t *h = pkt_push(p, ah->hdr_len);
	uint8_t *deth = h + ah->hdr_len - IB_DETH_LEN, *bth = deth - IB_BTH_LEN;

	if (ah->hdr_len == IB_UD_HDR_MAX) {
		memcpy(h, ah->tmpl, IB_UD_HDR_MAX);
		be16_put(h + IB_LRH_LEN + IB_GRH_OFF_PAY_LEN,
			 (uint16_t)(words * 4 - IB_LRH_LEN - IB_GRH_LEN));
	} else {
		memcpy(h, ah->tmpl, IB_UD_HDR_MAX - IB_GRH_LEN);
	}
	be16_put(h + IB_LRH_OFF_PKT_LEN, words);
	ib_bth_set_pad(bth, pad);
	be16_put(bth + IB_BTH_OFF_PKEY, t->pkey);
	be32_put(bth + IB_BTH_OFF_DEST_QP, s->dest_qp & IB_QPN_MASK);
	be32_put(bth + IB_BTH_OFF_PSN, t->qp->psn & IB_QPN_MASK);
	t->qp->psn += pkt_count(p);
	/* If the high bit of the Q_Key in a work request is set, the Q_Key of the QP is used (10.2.5). */
	be32_put(deth + IB_DETH_OFF_QKEY, s->qkey & IB_QKEY_CONTROLLED ? t->qp->qkey : s->qkey);
	be32_put(deth + IB_DETH_OFF_SRC_QP, t->qp->qpn);
	p->vl = ah->vl;
	p->hops = PKT_HOPS;
	return pkt_is_train(p) ? train_words(p) : words;
}

/*
 * Delivers a copy of a multicast packet to the QPs of this HCA that are attached to the group, the
 * sending QP included.
 */
static void tx_mcast_copy(const struct tx *t, const struct hca_send *s)
{
	struct pkt *copy;

	if (!hca_group_find(t->hca, t->qp->port, &s->ah->attr.dgid))
		return;
	copy = pkt_clone(s->pkt);
	if (!copy) {
		t->hca->drops[HCA_DROP_NO_MEM] += pkt_count(s->pkt);
		return;
	}
	hca_tail_seal(copy, HCA_CRC_LAZY);
	hca_rx_local(t->hca, t->qp->port, copy, t->now);
}

static void tx_packets(const struct tx *t, const struct hca_send *s)
{
	enum hca_drop why = tx_check(t, s);
	struct pkt *p = s->pkt;
	uint32_t words;

	assert(s->ah->np == t->np);
	if (why != HCA_OK) {
		t->hca->drops[why] += pkt_count(p);
		pkt_free(p);
		return;
	}
	words = tx_headers(t, s);
	if (s->ah->mcast) {
		tx_mcast_copy(t, s);
	} else if (node_own_lid(t->np, s->ah->attr.dlid)) {
		/* The packet does not leave the HCA, so it needs no CRCs and the counters of the link do not change. */
		hca_tail_seal(p, HCA_CRC_LAZY);
		hca_rx_local(t->hca, t->qp->port, p, t->now);
		return;
	}
	hca_tail_seal(p, t->hca->crc);
	hca_count_xmit(t->np, s->ah->attr.sl, pkt_count(p), words, s->ah->mcast);
	t->hca->ops->xmit(t->hca->ctx, t->qp->port, p, t->now);
}

/*
 * Tell whether the packets of a train must be sent one by one. This is necessary
 *
 * - if the HCA is configured without trains, or if hdr[] has no room for the headers,
 * - if the packets are multicast, because the group may have several receivers,
 * - if the packets are for QP0 or QP1, which take single packets only,
 * - if the full packets exceed the MTU, because the last packet may be short enough to pass.
 */
static bool tx_one_by_one(const struct tx *t, const struct hca_send *s)
{
	return !t->hca->trains || s->ah->mcast || (s->dest_qp & IB_QPN_MASK) <= IB_QP1 ||
	       train_first_len(s->pkt) > t->mtu || s->pkt->head < s->ah->hdr_len;
}

/*
 * Tell whether a train must be cut. It is cut if its packets must be sent one by one, or if there
 * is no memory for the CRCs of its packets (the seals of the train, train/seal.c).
 */
static bool tx_must_cut(const struct tx *t, const struct hca_send *s)
{
	return tx_one_by_one(t, s) || (t->hca->crc != HCA_CRC_LAZY && train_take_seals(s->pkt));
}

static void tx_one(const struct tx *t, const struct hca_send *s)
{
	struct hca_send one = *s;

	if (pkt_is_train(s->pkt) && tx_must_cut(t, s)) {
		while (pkt_is_train(s->pkt) && (one.pkt = train_split(s->pkt, 1)))
			tx_packets(t, &one);
		if (pkt_is_train(s->pkt)) {
			t->hca->drops[HCA_DROP_NO_MEM] += pkt_count(s->pkt);
			pkt_free(s->pkt);
			return;
		}
	}
	tx_packets(t, s);
}

unsigned int hca_post_send(struct hca_qp *qp, const struct hca_send *v, unsigned int n, ns_t now)
{
	struct tx t = {
		.hca = qp->hca,
		.qp = qp,
		.np = qp->np,
		.mtu = ib_mtu_octets(qp->np->pi.neighbor_mtu),
		.pkey = qp->np->pkeys[qp->pkey_index],
		.active = node_port_active(qp->np),
		.now = now,
	};

	for (unsigned int i = 0; i < n; i++) {
		if (i + 1 < n)
			__builtin_prefetch(v[i + 1].pkt->hdr + PKT_HDR_MAX - 128, 1);
		tx_one(&t, &v[i]);
	}
	hca_notify(t.hca);
	return n;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/ib_hdr.h"

#include <errno.h>

/*
 * The structs with the wire formats have alignment 1 and are read and written in place. A local copy would be filled
 * by small stores and read by wide loads, and each such load waits until the stores are done. The comments give the
 * fields of each member, with their numbers of bits.
 */
struct lrh_wire {
	uint8_t vl_lver; /* VL 4, LVer 4 */
	uint8_t sl_lnh; /* SL 4, reserved 2, LNH 2 */
	be16 dlid;
	be16 pkt_len; /* reserved 5, PktLen 11 */
	be16 slid;
};
static_assert(sizeof(struct lrh_wire) == IB_LRH_LEN, "IBTA 7.7");

struct grh_wire {
	be32 ver_tc_flow; /* IPVer 4, TClass 8, FlowLabel 20 */
	be16 pay_len;
	uint8_t nxt_hdr, hop_limit;
	ib_gid sgid, dgid;
};
static_assert(sizeof(struct grh_wire) == IB_GRH_LEN, "IBTA 8.3");

struct bth_wire {
	uint8_t opcode;
	uint8_t flags; /* SE 1, M 1, PadCnt 2, TVer 4 */
	be16 pkey;
	be32 dest_qp; /* reserved (variant) 8, DestQP 24 */
	be32 psn; /* A 1, reserved 7, PSN 24 */
};
static_assert(sizeof(struct bth_wire) == IB_BTH_LEN, "IBTA 9.2");

struct deth_wire {
	be32 qkey;
	be32 src_qp; /* reserved 8, SrcQP 24 */
};
static_assert(sizeof(struct deth_wire) == IB_DETH_LEN, "IBTA 9.3.3");

#define GRH_FLOW_MASK 0xfffffu
#define BTH_SE 0x80u
#define BTH_MIGREQ 0x40u
#define BTH_ACK_REQ 0x80000000u

int ib_lrh_decode(struct ib_lrh *ret, const void *p, size_t len)
{
	const struct lrh_wire *w = p;

	if (len < sizeof(*w))
		return -EBADMSG;

	ret->vl = w->vl_lver >> 4;
	ret->lver = w->vl_lver & 0xf;
	ret->sl = w->sl_lnh >> 4;
	ret->lnh = w->sl_lnh & 0x3;
	ret->dlid = be16_get(w->dlid);
	ret->slid = be16_get(w->slid);
	ret->pkt_len = be16_get(w->pkt_len) & IB_LRH_PKT_LEN_MASK;
	return 0;
}

void ib_lrh_encode(void *p, const struct ib_lrh *h)
{
	struct lrh_wire *w = p;

	w->vl_lver = (uint8_t)(h->vl << 4 | (h->lver & 0xf));
	w->sl_lnh = (uint8_t)(h->sl << 4 | (h->lnh & 0x3));
	w->dlid = be16_of(h->dlid);
	w->pkt_len = be16_of(h->pkt_len & IB_LRH_PKT_LEN_MASK);
	w->slid = be16_of(h->slid);
}

int ib_grh_decode(struct ib_grh *ret, const void *p, size_t len)
{
	const struct grh_wire *w = p;
	uint32_t word;

	if (len < sizeof(*w))
		return -EBADMSG;

	word = be32_get(w->ver_tc_flow);
	ret->ip_ver = (uint8_t)(word >> 28);
	ret->tclass = (uint8_t)(word >> 20);
	ret->flow_label = word & GRH_FLOW_MASK;
	ret->pay_len = be16_get(w->pay_len);
	ret->nxt_hdr = w->nxt_hdr;
	ret->hop_limit = w->hop_limit;
	ret->sgid = w->sgid;
	ret->dgid = w->dgid;
	return 0;
}

void ib_grh_encode(void *p, const struct ib_grh *h)
{
	struct grh_wire *w = p;

	w->ver_tc_flow = be32_of((uint32_t)(h->ip_ver & 0xf) << 28 | (uint32_t)h->tclass << 20 |
				 (h->flow_label & GRH_FLOW_MASK));
	w->pay_len = be16_of(h->pay_len);
	w->nxt_hdr = h->nxt_hdr;
	w->hop_limit = h->hop_limit;
	w->sgid = h->sgid;
	w->dgid = h->dgid;
}

int ib_bth_decode(struct ib_bth *ret, const void *p, size_t len)
{
	const struct bth_wire *w = p;
	uint32_t psn;

	if (len < sizeof(*w))
		return -EBADMSG;

	psn = be32_get(w->psn);
	ret->opcode = w->opcode;
	ret->se = w->flags & BTH_SE;
	ret->migreq = w->flags & BTH_MIGREQ;
	ret->ack_req = psn & BTH_ACK_REQ;
	ret->pad = (w->flags >> 4) & 0x3;
	ret->tver = w->flags & 0xf;
	ret->pkey = be16_get(w->pkey);
	ret->dest_qp = be32_get(w->dest_qp) & IB_QPN_MASK;
	ret->psn = psn & 0xffffffu;
	return 0;
}

void ib_bth_encode(void *p, const struct ib_bth *h)
{
	struct bth_wire *w = p;

	w->opcode = h->opcode;
	w->flags = (uint8_t)((h->se ? BTH_SE : 0) | (h->migreq ? BTH_MIGREQ : 0) |
			     (h->pad & 0x3) << 4 | (h->tver & 0xf));
	w->pkey = be16_of(h->pkey);
	w->dest_qp = be32_of(h->dest_qp & IB_QPN_MASK);
	w->psn = be32_of((h->ack_req ? BTH_ACK_REQ : 0) | (h->psn & 0xffffffu));
}

int ib_deth_decode(struct ib_deth *ret, const void *p, size_t len)
{
	const struct deth_wire *w = p;

	if (len < sizeof(*w))
		return -EBADMSG;

	ret->qkey = be32_get(w->qkey);
	ret->src_qp = be32_get(w->src_qp) & IB_QPN_MASK;
	return 0;
}

void ib_deth_encode(void *p, const struct ib_deth *h)
{
	struct deth_wire *w = p;

	w->qkey = be32_of(h->qkey);
	w->src_qp = be32_of(h->src_qp & IB_QPN_MASK);
}

int ib_ud_hdr_decode(struct ib_ud_hdr *ret, const void *p, size_t len)
{
	const uint8_t *o = p;
	const struct bth_wire *bth;
	unsigned int hlen;
	bool has_grh;

	if (len < IB_LRH_LEN || !ib_lrh_has_bth(o))
		return -EBADMSG;
	has_grh = ib_lrh_has_grh(o);
	hlen = ib_ud_hdr_len(has_grh);
	if (len < hlen)
		return -EBADMSG;
	bth = (const struct bth_wire *)(o + hlen - IB_DETH_LEN - IB_BTH_LEN);
	if (ib_lrh_lver(o) || (bth->flags & 0xf) || bth->opcode != IB_OP_UD_SEND_ONLY)
		return -EPROTO; /* unknown LVer, TVer or opcode */

	ret->has_grh = has_grh;
	ib_lrh_decode(&ret->lrh, o, IB_LRH_LEN);
	if (has_grh)
		ib_grh_decode(&ret->grh, o + IB_LRH_LEN, IB_GRH_LEN);
	ib_bth_decode(&ret->bth, bth, IB_BTH_LEN);
	ib_deth_decode(&ret->deth, bth + 1, IB_DETH_LEN);
	return (int)hlen;
}

unsigned int ib_ud_hdr_encode(void *p, const struct ib_ud_hdr *h, size_t payload_len)
{
	unsigned int hlen = ib_ud_hdr_len(h->has_grh);
	unsigned int pad = -payload_len & 3;
	size_t total = hlen + payload_len + pad + IB_ICRC_LEN;
	struct lrh_wire *lrh = p;
	struct bth_wire *bth = (struct bth_wire *)((uint8_t *)p + hlen - IB_DETH_LEN - IB_BTH_LEN);

	ib_lrh_encode(lrh, &h->lrh);
	lrh->sl_lnh = (uint8_t)(h->lrh.sl << 4 | (h->has_grh ? IB_LNH_GLOBAL : IB_LNH_LOCAL));
	lrh->pkt_len = be16_of((total / 4) & IB_LRH_PKT_LEN_MASK);
	if (h->has_grh) {
		struct grh_wire *grh = (struct grh_wire *)(lrh + 1);

		ib_grh_encode(grh, &h->grh);
		grh->pay_len = be16_of((uint16_t)(total - IB_LRH_LEN - IB_GRH_LEN));
	}
	ib_bth_encode(bth, &h->bth);
	bth->flags = (uint8_t)((bth->flags & ~0x30u) | pad << 4);
	ib_deth_encode(bth + 1, &h->deth);
	return hlen;
}

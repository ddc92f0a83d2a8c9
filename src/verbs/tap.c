/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "verbs/priv.h"
#include "wire/ib_hdr.h"

/*
 * Makes the headers of packets for those who watch a port. The fields of the headers come from
 * address handles, work requests and completions. Fields that libibverbs does not show are 0: VL,
 * SE, M, and the PSN, which the adapter counts.
 */

static_assert(VERBS_HDR_MAX == IB_UD_HDR_MAX, "LRH, GRH, BTH, DETH");

void verbs_tap_add(struct ca *ca, struct verbs_tap *t)
{
	list_add_tail(&verbs_port_of(ca)->taps, &t->link);
}

static void show(const struct verbs_port *p, struct verbs_seen s, const struct ib_ud_hdr *h,
		 const uint8_t *grh)
{
	uint8_t hdr[IB_UD_HDR_MAX];
	struct verbs_tap *t;

	s.hdr = hdr;
	s.hdr_len = ib_ud_hdr_encode(hdr, h, s.payload->len);
	if (grh)
		memcpy(hdr + IB_LRH_LEN, grh, IB_GRH_LEN);
	list_for_each (t, &p->taps, link)
		t->seen(t, &s);
}

/*
 * Return the BTH of a packet, with the P_Key of the queue pair. The P_Key of a received packet has
 * the same lower 15 bits; its membership bit is not known.
 */
static struct ib_bth bth_of(const struct verbs_qp *q, uint32_t dest_qp)
{
	const struct verbs_port *p = q->port;

	return (struct ib_bth){
		.opcode = IB_OP_UD_SEND_ONLY,
		.pkey = q->pkey_index < p->attr.pkey_tbl_len ? p->pkeys[q->pkey_index] : 0,
		.dest_qp = dest_qp,
	};
}

void verbs_tap_sent(struct verbs_qp *q, const struct ca_send *s)
{
	const struct verbs_port *p = q->port;
	const struct ca_ah_attr *a = &container_of(s->ah, const struct verbs_ah, ah)->attr;
	const struct verbs_seen seen = {
		.sent = true,
		.no_csum = frame_info_const(s->pkt)->csum == FRAME_CSUM_PARTIAL,
		.payload = s->pkt,
	};
	const struct ib_ud_hdr h = {
		.lrh = { .sl = a->sl, .dlid = a->dlid, .slid = p->attr.lid | a->src_path_bits },
		.has_grh = a->has_grh,
		.grh = {
			.ip_ver = 6,
			.tclass = a->tclass,
			.flow_label = a->flow_label,
			.nxt_hdr = IB_GRH_NXTHDR,
			.hop_limit = a->hop_limit,
			.sgid = p->attr.gid,
			.dgid = a->dgid,
		},
		.bth = bth_of(q, s->dest_qp),
		/* IBTA 10.2.5: with bit 31 set, the adapter sends the Q_Key of the queue pair */
		.deth = { .qkey = s->qkey & IB_QKEY_CONTROLLED ? q->qkey : s->qkey, .src_qp = q->num },
	};

	show(p, seen, &h, NULL);
}

/* Return the MLID by which the queue pair is attached to the group of a GRH; 0: the packet was sent to one port */
static uint16_t mlid_of(const struct verbs_qp *q, const uint8_t *grh)
{
	const struct verbs_group *g;

	list_for_each (g, &q->groups, link)
		if (grh &&
		    !memcmp(grh + IB_GRH_LEN - sizeof(g->gid.raw), g->gid.raw, sizeof(g->gid.raw)))
			return g->mlid;
	return 0;
}

void verbs_tap_received(struct verbs_qp *q, const struct ca_wc *wc)
{
	const struct verbs_port *p = q->port;
	uint16_t mlid = mlid_of(q, wc->grh);
	const struct verbs_seen seen = { .has_grh = wc->grh, .payload = wc->pkt };
	const struct ib_ud_hdr h = {
		.lrh = {
			.sl = wc->sl,
			.slid = wc->slid,
			.dlid = mlid ? mlid : p->attr.lid | wc->dlid_path_bits,
		},
		.has_grh = wc->grh,
		.bth = bth_of(q, mlid ? IB_QPN_MCAST : q->num),
		.deth = { .qkey = q->qkey, .src_qp = wc->src_qp },
	};

	show(p, seen, &h, wc->grh);
}

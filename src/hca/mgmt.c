/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/priv.h"

#include <errno.h>

#include "node/mad_pkt.h"

/*
 * Check the keys of a packet for QP0 or QP1. QP1 accepts any P_Key of the port's table, and only
 * the Q_Key IB_QP1_QKEY. QP0 accepts any P_Key and any Q_Key.
 */
static enum hca_drop mgmt_keys(const struct hca_rx_ctx *r)
{
	if (r->hdr.bth.dest_qp == IB_QP0)
		return HCA_OK;
	if (!node_pkey_ok(r->np, r->hdr.bth.pkey))
		return HCA_DROP_PKEY;
	return r->hdr.deth.qkey == IB_QP1_QKEY ? HCA_OK : HCA_DROP_QKEY;
}

enum hca_drop hca_mgmt_rx(struct hca_rx_ctx *r)
{
	enum hca_drop why = mgmt_keys(r);
	uint8_t payload[MAD_LEN], mad[MAD_LEN];
	struct mad_addr from;
	size_t len = r->pkt->len - r->hdr_len;

	if (why != HCA_OK)
		return why;
	pkt_copy_out(r->pkt, r->hdr_len, payload, sizeof(payload));
	if (mad_pkt_parse(&from, mad, &r->hdr, r->np, r->np->num, payload, len))
		return HCA_DROP_LEN;
	/*
	 * The packet is freed before the answer is made, because the answer may need the packet's
	 * descriptor.
	 */
	pkt_free(r->pkt);
	node_mad_rx(&r->hca->node, r->np->num, &from, mad, r->now);
	return HCA_OK;
}

/*
 * Queue a MAD that a port sends to its own LID. A timer delivers the MAD later. If the MAD were
 * received inside the call that sends it, a requester would get its answer before mad_request()
 * returns. Besides, two agents that answer each other would recurse.
 */
static int mgmt_queue(struct hca *h, uint8_t port, struct pkt *p, ns_t now)
{
	if (h->mad_loop[port].n >= HCA_MAD_LOOP_MAX) {
		pkt_free(p);
		return -ENOBUFS;
	}
	pkt_queue_add(&h->mad_loop[port], p);
	if (!timer_armed(&h->mad_loop_timer))
		timer_arm(h->timers, &h->mad_loop_timer, now);
	return 0;
}

void hca_mgmt_loop(struct timer *t, ns_t now)
{
	struct hca *h = container_of(t, struct hca, mad_loop_timer);

	for (unsigned int port = 1; port <= h->node.info.nports; port++) {
		/*
		 * Answers to these MADs arm the timer again, and are received when the timer fires
		 * next.
		 */
		for (unsigned int n = h->mad_loop[port].n; n; n--)
			hca_rx_local(h, (uint8_t)port, pkt_queue_pop(&h->mad_loop[port]), now);
	}
	hca_notify(h);
}

static int mgmt_check(const struct node_port *np, const struct mad_addr *to)
{
	if (to->qp == IB_QP0) {
		/*
		 * Check the state of the physical link instead of PortState, because the answer to
		 * a Set(PortInfo) that sets Down must still be sent.
		 */
		if (!np->link_up)
			return -ENETDOWN;
		return to->lid == IB_LID_PERMISSIVE || ib_lid_is_unicast(to->lid) ? 0 : -EINVAL;
	}
	if (!node_port_active(np))
		return -ENETDOWN;
	/*
	 * Ignore bit 15 of the P_Key, because the table of a limited member has the P_Key without
	 * bit 15.
	 */
	if (node_pkey_find(np, to->pkey | IB_PKEY_FULL) < 0 ||
	    hca_sl_to_vl(np, to->sl & 15) == IB_VL15)
		return -EINVAL;
	return ib_lid_is_unicast(to->lid) ? 0 : -EINVAL;
}

int hca_mgmt_xmit(void *ctx, uint8_t egress, const struct mad_addr *to, const void *mad, ns_t now)
{
	struct hca *h = ctx;
	struct node_port *np;
	struct pkt *p;
	int err;

	if (!hca_port_valid(h, egress))
		return -EINVAL;
	np = hca_port(h, egress);
	err = mgmt_check(np, to);
	if (err) {
		h->drops[HCA_DROP_TX_STATE] += err == -ENETDOWN;
		return err;
	}
	p = mad_pkt_build(h->pool, np, to, mad,
			  to->qp == IB_QP0 ? IB_VL15 : hca_sl_to_vl(np, to->sl & 15),
			  h->crc != HCA_CRC_LAZY);
	if (!p) {
		h->drops[HCA_DROP_NO_MEM]++;
		return -ENOMEM;
	}
	if (node_own_lid(np, to->lid))
		return mgmt_queue(h, egress, p, now);
	hca_count_xmit(np, to->qp == IB_QP0 ? 0 : to->sl & 15, 1,
		       (uint16_t)((p->len + p->tail_len - IB_VCRC_LEN) / 4), false);
	h->ops->xmit(h->ctx, egress, p, now);
	return 0;
}

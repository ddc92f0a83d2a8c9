/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/fabric_priv.h"

#include <errno.h>
#include <string.h>

#include "mad/smi.h"
#include "node/mad_pkt.h"
#include "crc/crc.h"

/* Port 0 of a switch, the management port, has QP0 and QP1 and no other queue pairs. */

static void violation(struct fabric_port *in, const struct ib_ud_hdr *h, bool pkey, ns_t now)
{
	struct notice_violation v = node_violation_of(h, pkey ? h->bth.pkey : h->deth.qkey);

	if (pkey)
		node_pkey_violation(in->node->node, 0, &v, now);
	else
		node_qkey_violation(in->node->node, 0, &v, now);
}

/*
 * Check a packet for port 0. Packets for QP0 must use VL15 and must not have a GRH, and VL15 is for
 * QP0 only.
 */
static enum fabric_drop check(struct fabric_port *in, const struct ib_ud_hdr *h, ns_t now)
{
	const struct node_port *p0 = &in->node->node->port[0];

	if (h->bth.opcode != IB_OP_UD_SEND_ONLY)
		return FABRIC_DROP_PORT0;
	if (h->lrh.vl == IB_VL15 || h->bth.dest_qp == IB_QP0)
		return h->lrh.vl == IB_VL15 && h->bth.dest_qp == IB_QP0 && !h->has_grh
			       ? FABRIC_SENT
			       : FABRIC_DROP_VL15;
	if (h->bth.dest_qp != IB_QP1)
		return FABRIC_DROP_PORT0;
	if (!node_pkey_ok(p0, h->bth.pkey)) {
		violation(in, h, true, now);
		return FABRIC_DROP_PORT0_KEY;
	}
	if (h->deth.qkey != IB_QP1_QKEY) {
		violation(in, h, false, now);
		return FABRIC_DROP_PORT0_KEY;
	}
	return FABRIC_SENT;
}

/*
 * --- SMPs that stay in their packet
 *
 * Most SMPs that a switch gets in a sweep only pass it on their way to another node. Most other
 * SMPs are Gets and Sets that the switch answers. The code below changes such an SMP in the packet
 * in which it came, and sends the same packet on, or back as the response. Making a new packet
 * would take several times as long.
 */

/*
 * LRH, BTH and DETH of an SMP that a switch forwards on a directed route: VL 15, permissive LIDs, and 0 in fields
 * without a required value
 */
static const uint8_t smp_hdr[] = {
	0xf0,
	0x02,
	0xff,
	0xff,
	0x00,
	0x48,
	0xff,
	0xff, /* LRH */
	IB_OP_UD_SEND_ONLY,
	0,
	0xff,
	0xff,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0, /* BTH */
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0, /* DETH */
};

/*
 * Return the MAD in @p if it is an SMP that may be changed in place and sent on in the same packet.
 * Return NULL while the fabric is traced, or if the packet
 *
 * - has headers that differ from smp_hdr[],
 * - has a CRC,
 * - shares its octets with another packet,
 * - has a forged SLID (fabric_border_slid_ok()).
 */
static uint8_t *plain_smp(const struct fabric_port *in, struct pkt *p)
{
	const struct pkt_slice *s = &p->slice[0];

	if (p->flags & ~(uint32_t)PKT_OUTSIDE || in->f->tracing || p->nslices != 1 ||
	    s->len != MAD_LEN || s->buf->refs != 1 || pkt_hdr_len(p) != sizeof(smp_hdr) ||
	    p->tail_len != IB_ICRC_LEN + IB_VCRC_LEN ||
	    memcmp(pkt_hdr(p), smp_hdr, sizeof(smp_hdr)) != 0)
		return NULL;
	if (in->peer->kind == PORT_EXT && !fabric_border_slid_ok(in, pkt_hdr(p)))
		return NULL;
	return s->buf->data + (s->data - s->buf->data);
}

/* Send the SMP in @p, which was changed in place, out of @port. If @port is 0, discard the SMP. */
static void send_smp(struct fabric_node *sw, uint8_t port, struct pkt *p, ns_t now)
{
	p->hops = PKT_HOPS;
	p->flags = 0;
	sw->f->now = now;
	if (!port || !sw->port[port].up)
		pkt_free(p);
	else if (fabric_port_send(&sw->port[port], p) == FABRIC_SENT)
		return;
	sw->node->dropped++;
}

static void answer_smp(struct fabric_port *in, struct pkt *p, uint8_t *mad, ns_t now)
{
	struct node_smp_events ev;
	uint8_t port = node_smp_serve(in->node->node, in->num, mad, &ev, now);

	send_smp(in->node, port, p, now);
	if (ev.events)
		node_raise(in->node->node, ev.port, ev.events, now);
}

bool fabric_switch_smp(struct fabric_port *in, struct pkt *p, ns_t now)
{
	uint8_t *mad = in->num ? plain_smp(in, p) : NULL;

	if (!mad)
		return false;
	if (smi_passes(mad)) {
		fabric_port0_count(&in->node->port[0], p, 0);
		send_smp(in->node, node_smp_pass(in->node->node, in->num, mad), p, now);
		return true;
	}
	/* Devices at port 0, such as captures, have to see the response as a packet of its own. */
	if (!node_smp_for_sma(mad) || !list_empty(&in->node->port[0].devs))
		return false;
	fabric_port0_count(&in->node->port[0], p, 0);
	answer_smp(in, p, mad, now);
	return true;
}

/* --- MADs for port 0 that are copied out of their packet */

void fabric_switch_rx_port0(struct fabric_port *in, struct pkt *p, ns_t now)
{
	struct fabric_node *sw = in->node;
	uint8_t payload[MAD_LEN], mad[MAD_LEN];
	enum fabric_drop why = FABRIC_DROP_PORT0;
	struct mad_addr from;
	struct ib_ud_hdr h;
	int hlen;

	if (crc_pkt_check(p) != CRC_OK) {
		node_count_rcv(&sw->node->port[0], NODE_RCV_LOCAL_PHYSICAL);
		return fabric_port_drop(&sw->port[0], p, FABRIC_DROP_ICRC, now);
	}
	hlen = ib_ud_hdr_decode(&h, pkt_hdr(p), pkt_hdr_len(p));
	if (hlen > 0)
		why = check(in, &h, now);
	if (why == FABRIC_SENT) {
		size_t len = p->len - (unsigned int)hlen;

		pkt_copy_out(p, (uint32_t)hlen, payload, sizeof(payload));
		if (mad_pkt_parse(&from, mad, &h, &sw->node->port[0], in->num, payload, len))
			why = FABRIC_DROP_PORT0;
	}
	if (why != FABRIC_SENT)
		return fabric_port_drop(&sw->port[0], p, why, now);
	/*
	 * Free the packet before the MAD is answered, because the answer may need the packet's
	 * descriptor.
	 */
	pkt_free(p);
	node_mad_rx(sw->node, in->num, &from, mad, now);
}

/*
 * Tell whether this SMP originates at port 0; if not, it only passes through the switch. A request
 * leaves its origin with hop pointer 1, a response with a hop pointer equal to the hop count
 * (14.2.2).
 */
static bool is_own(const uint8_t *mad)
{
	bool response = mad[4] & 0x80; /* the D bit */

	if (mad[1] != MAD_CLASS_SM_DR)
		return true;
	return mad[SMP_OFF_HOP_PTR] == (response ? mad[SMP_OFF_HOP_CNT] : 1);
}

/* Pass an SMP that port 0 sends on a directed route through the devices of port 0, so that captures at port 0 show the SMP. */
static void show_devs(struct fabric_port *p0, struct pkt *p, ns_t now)
{
	struct pkt_queue q = { 0 };
	struct fabric_dev *d;

	pkt_queue_add(&q, p);
	list_for_each (d, &p0->devs, on_port)
		d->ops->pass(d, &q, now);
}

/*
 * Send a MAD of port 0. A LID-routed MAD enters the switch through the queue of port 0, and is
 * forwarded by LFT and SLtoVL like any other packet.
 */
static int switch_xmit(void *ctx, uint8_t egress, const struct mad_addr *to, const void *mad,
		       ns_t now)
{
	struct fabric_node *sw = ctx;
	struct fabric_port *out;
	struct pkt *p;

	if (egress > sw->node->info.nports)
		return -EINVAL;
	out = &sw->port[egress];
	if (!out->up)
		return -ENETDOWN;
	p = mad_pkt_build(sw->f->cfg.pool, &sw->node->port[0], to, mad,
			  to->qp == IB_QP0 ? IB_VL15 : 0, sw->f->cfg.crc != HCA_CRC_LAZY);
	if (!p) {
		sw->drops[FABRIC_DROP_NO_MEM]++;
		sw->f->stats.drops[FABRIC_DROP_NO_MEM]++;
		return -ENOMEM;
	}
	sw->f->now = now;
	if (egress && !list_empty(&sw->port[0].devs) && is_own(mad))
		show_devs(&sw->port[0], p, now);
	return fabric_port_send(out, p) == FABRIC_SENT ? 0 : -ENOBUFS;
}

static void switch_event(void *ctx, uint8_t port, enum node_event ev, ns_t now)
{
	fabric_node_event(ctx, port, ev, now);
}

const struct node_ops fabric_switch_ops = { .xmit = switch_xmit, .event = switch_event };

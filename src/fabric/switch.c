/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/fabric_priv.h"

#include "crc/crc.h"

/*
 * DOC: Forwarding
 *
 * A packet first passes the checks of the link and the ingress port (length, LVer, VCRC, port
 * state, raw filter, P_Key). Then its egress ports are looked up. Each egress port checks the
 * packet again (state, VL, MTU, raw filter, P_Key). A packet that passes is put into the port's
 * queue. SMPs skip the checks that are only for data packets: SMPs also pass ports in state Init,
 * and the P_Key and SL of an SMP are not checked. Packets for port 0 go to switch_port0.c. See IBTA
 * volume 1, 18.2.
 */

#define unlikely(x) __builtin_expect(!!(x), 0)

/* What all steps of forwarding need to know about one packet at one switch */
struct hop {
	struct fabric_port *in;
	struct fabric_node *sw;
	const uint8_t *lrh;
	uint16_t dlid;
	uint8_t sl;
	bool is_smp;
	ns_t now;
};

static void trace_decision(const struct hop *h, const struct pkt *p, enum fabric_trace_kind kind,
			   uint8_t out, const uint64_t mask[4])
{
	struct fabric_trace_event ev = {
		.kind = kind,
		.node = h->sw,
		.in_port = h->in->num,
		.out_port = out,
		.drop = -1,
		.hca_drop = -1,
		.pkt = p,
		.now = h->now,
	};

	if (!fabric_trace_wants(h->sw->f, p))
		return;
	if (mask)
		memcpy(ev.mask, mask, sizeof(ev.mask));
	fabric_trace_emit(h->sw->f, &ev);
}

/* Report the P_Key violation of @p at switch port @at; for a train, report one violation for each of its packets. */
static void report_pkey(const struct hop *h, const struct fabric_port *at, struct pkt *p)
{
	const uint8_t *bth = h->lrh + ib_bth_off(h->lrh);
	struct notice_violation v;
	struct ib_ud_hdr u;

	/*
	 * A packet that is not a UD SEND has no DETH at a known offset, so the packet's source QP
	 * is reported as 0.
	 */
	if (ib_ud_hdr_decode(&u, h->lrh, pkt_hdr_len(p)) < 0)
		u = (struct ib_ud_hdr){
			.lrh = { .slid = be16_at(h->lrh + IB_LRH_OFF_SLID),
				 .dlid = h->dlid,
				 .sl = h->sl },
			.bth = { .dest_qp = ib_bth_dest_qp(bth) },
		};
	v = node_violation_of(&u, ib_bth_pkey(bth));
	for (unsigned int i = 0; i < pkt_count(p); i++)
		node_pkey_violation(h->sw->node, at->num, &v, h->now);
}

static uint16_t pkey_of(const struct hop *h)
{
	return ib_bth_pkey(h->lrh + ib_bth_off(h->lrh));
}

/*
 * At the ingress port, compare only the low 15 bits of the P_Key, so that packets of a limited
 * member pass. These packets have the limited P_Key, and OpenSM writes the same limited P_Key to
 * the table of the member's switch port. At the egress port the rule of end ports applies: two
 * limited P_Keys do not match (IBTA 10.9.3).
 */
static bool pkey_ok_in(const struct hop *h)
{
	return !ib_lrh_has_bth(h->lrh) || node_pkey_ok(h->in->np, pkey_of(h) | IB_PKEY_FULL);
}

static bool pkey_ok_out(const struct hop *h, const struct fabric_port *at)
{
	return !ib_lrh_has_bth(h->lrh) || node_pkey_ok(at->np, pkey_of(h));
}

/*
 * Return the number of payload octets, to be compared with the MTU. If the transport is not UD, the
 * function assumes the longest headers. If the packet has shorter headers, the result is up to 28
 * octets too small.
 */
static uint32_t payload_len(const struct hop *h, const struct pkt *p)
{
	uint32_t hdr = IB_LRH_LEN;

	if (ib_lrh_has_bth(h->lrh)) {
		const uint8_t *bth = h->lrh + ib_bth_off(h->lrh);

		hdr = ib_bth_off(h->lrh) + IB_BTH_LEN;
		if (*bth == IB_OP_UD_SEND_ONLY)
			hdr += IB_DETH_LEN;
		else if (*bth == IB_OP_UD_SEND_ONLY_IMM)
			hdr += IB_DETH_LEN + 4;
		else
			hdr += 28; /* octets of the longest extended headers: DETH, RETH, ImmDt */
	}
	return train_first_len(p) > hdr ? train_first_len(p) - hdr : 0;
}

/*
 * Count a packet that its egress port discards. If SLtoVL maps the packet's SL to VL15, the packet
 * is counted at the ingress port instead, as a failure of the relay (IBTA 16.1.3.5).
 */
static enum fabric_drop drop_out(const struct hop *h, struct fabric_port *out, const struct pkt *p,
				 enum fabric_drop why)
{
	unsigned int n = pkt_count(p);

	if (why == FABRIC_DROP_PKEY_OUT || why == FABRIC_DROP_RAW_OUT)
		out->np->cnt.xmit_constraint_errors += n;
	else if (why == FABRIC_DROP_VL)
		node_count_rcv_n(h->in->np, NODE_RCV_VL_MAPPING, n);
	else
		node_count_discard_n(
			out->np, why == FABRIC_DROP_MTU ? NODE_XMIT_MTU : NODE_XMIT_INACTIVE, n);
	return why;
}

/*
 * Check whether @p may leave by @out, and set its VL for the egress link. Return: FABRIC_SENT or
 * the reason
 */
static enum fabric_drop egress(const struct hop *h, struct fabric_port *out, struct pkt *p)
{
	const struct smp_port_info *pi = &out->np->pi;
	const struct node *n = h->sw->node;
	uint8_t vl;

	if (h->is_smp)
		return FABRIC_SENT;
	if (unlikely(!out->up || pi->port_state != IB_PORT_ACTIVE))
		return drop_out(h, out, p, FABRIC_DROP_STATE_OUT);
	vl = node_switch_vl(n, h->in->num, out->num)[h->sl];
	if (unlikely(vl == IB_VL15))
		return drop_out(h, out, p, FABRIC_DROP_VL);
	vl = node_oper_vl(out->np, vl);
	if (unlikely(payload_len(h, p) > ib_mtu_octets(pi->neighbor_mtu)))
		return drop_out(h, out, p, FABRIC_DROP_MTU);
	if (unlikely(pi->filter_raw_out) && !ib_lrh_has_bth(h->lrh))
		return drop_out(h, out, p, FABRIC_DROP_RAW_OUT);
	if (unlikely(pi->part_enforce_out) && !pkey_ok_out(h, out)) {
		report_pkey(h, out, p);
		return drop_out(h, out, p, FABRIC_DROP_PKEY_OUT);
	}
	if (vl != p->vl)
		train_set_vl(p, vl);
	return FABRIC_SENT;
}

static void drop_in(const struct hop *h, struct pkt *p, enum fabric_drop why)
{
	fabric_port_drop(h->in, p, why, h->now);
}

/* Discard a packet that has no egress port, and count it in PortRcvSwitchRelayErrors (IBTA 16.1.3.5). */
static void drop_relay(const struct hop *h, struct pkt *p, enum fabric_drop why)
{
	node_count_rcv_n(h->in->np,
			 why == FABRIC_DROP_LOOP ? NODE_RCV_LOOPING : NODE_RCV_DLID_MAPPING,
			 pkt_count(p));
	drop_in(h, p, why);
}

/* Count packets that are lost because there is no free descriptor. */
static void drop_no_mem(const struct hop *h, const struct pkt *p)
{
	h->sw->drops[FABRIC_DROP_NO_MEM] += pkt_count(p);
	h->sw->f->stats.drops[FABRIC_DROP_NO_MEM] += pkt_count(p);
}

/* Call @fn for each packet of a train. */
static void cut(const struct hop *h, struct fabric_port *out, struct pkt *p,
		void (*fn)(const struct hop *h, struct fabric_port *out, struct pkt *p))
{
	while (pkt_is_train(p)) {
		struct pkt *one = train_split_link(p, 1);

		if (!one) {
			drop_no_mem(h, p);
			pkt_free(p);
			return;
		}
		fn(h, out, one);
	}
	fn(h, out, p);
}

static void send_packets(const struct hop *h, struct fabric_port *out, struct pkt *p)
{
	enum fabric_drop why = egress(h, out, p);

	if (unlikely(why != FABRIC_SENT))
		fabric_port_drop(out, p, why, h->now);
	else
		fabric_port_send(out, p);
}

static void send_out(const struct hop *h, struct fabric_port *out, struct pkt *p)
{
	/*
	 * Cut a train whose full packets exceed the MTU, because its last packet may be short
	 * enough to pass.
	 */
	if (unlikely(pkt_is_train(p)) &&
	    payload_len(h, p) > ib_mtu_octets(out->np->pi.neighbor_mtu))
		cut(h, out, p, send_packets);
	else
		send_packets(h, out, p);
}

/* --- multicast */

static void send_copy(const struct hop *h, struct fabric_port *out, const struct pkt *p)
{
	struct pkt *copy = pkt_clone(p);

	if (copy) {
		send_out(h, out, copy);
		return;
	}
	drop_no_mem(h, p);
}

/*
 * Send copies to the member ports that are Active, but never to the ingress port. Port 0 may be a
 * member, too, but it has no QP that could join a group, so packets for port 0 are only counted.
 */
static void forward_mcast(const struct hop *h, struct pkt *p)
{
	struct fabric_port *ports = h->sw->port, *last = NULL;
	const struct node_switch *s = h->sw->node->sw;
	unsigned int index = h->dlid - IB_LID_MCAST_MIN;
	uint64_t mask[4];

	if (h->is_smp || index >= NODE_MCAST_LIDS)
		return drop_relay(h, p, h->is_smp ? FABRIC_DROP_VL15 : FABRIC_DROP_MLID);
	memcpy(mask, node_mft_mask(s, index), sizeof(mask));
	if (unlikely(h->sw->f->tracing))
		trace_decision(h, p, FABRIC_TRACE_MFT, 0, mask);
	if (!(mask[0] | mask[1] | mask[2] | mask[3]))
		return drop_relay(h, p, FABRIC_DROP_MLID);
	if ((mask[0] & 1) && h->in->num) {
		ports[0].np->cnt.rcv_pkts += pkt_count(p);
		ports[0].np->cnt.mcast_rcv += pkt_count(p);
		ports[0].np->cnt.rcv_data += pkt_words(p);
		ports[0].np->cnt.rcv_sl[h->sl] += pkt_words(p);
	}
	mask[0] &= ~1ull;
	mask[h->in->num / 64] &= ~(1ull << h->in->num % 64);

	for (unsigned int w = 0; w < 4; w++) {
		for (uint64_t m = mask[w]; m; m &= m - 1) {
			unsigned int num = w * 64 + (unsigned int)__builtin_ctzll(m);

			if (num > h->sw->node->info.nports || !node_port_active(ports[num].np))
				continue;
			if (last)
				send_copy(h, last, p);
			last = &ports[num];
		}
	}
	if (last)
		send_out(h, last, p);
	else
		/*
		 * The MFT entry has no active port other than port 0 and the ingress port. So the
		 * packet has reached all its receivers and is not counted as dropped.
		 */
		pkt_free(p);
}

/* --- unicast */

static void packet_to_port0(const struct hop *h, struct fabric_port *port0, struct pkt *p)
{
	if (unlikely(h->sw->f->tracing))
		trace_decision(h, p, FABRIC_TRACE_SMI, 0, NULL);
	fabric_port0_count(port0, p, h->sl);
	fabric_switch_rx_port0(h->in, p, h->now);
}

static void to_port0(const struct hop *h, struct pkt *p)
{
	cut(h, &h->sw->port[0], p, packet_to_port0);
}

static void forward_ucast(const struct hop *h, struct pkt *p)
{
	const struct node_switch *s = h->sw->node->sw;
	unsigned int out;

	/* The permissive LID addresses the node that receives the packet, but only for SMPs (14.2.2). */
	if (h->dlid == IB_LID_PERMISSIVE && h->is_smp)
		return to_port0(h, p);
	/* Port 0 can send to itself even before an SM has written the LFT. */
	if (unlikely(h->in->num == 0) && node_own_lid(&h->sw->node->port[0], h->dlid))
		return to_port0(h, p);
	if (!fabric_lft_has(s, h->dlid))
		return drop_relay(h, p, FABRIC_DROP_DLID);
	out = s->lft[h->dlid];
	if (unlikely(h->sw->f->tracing))
		trace_decision(h, p, FABRIC_TRACE_LFT, (uint8_t)out, NULL);
	if (out == 0) {
		if (!node_own_lid(&h->sw->node->port[0], h->dlid))
			return drop_relay(h, p, FABRIC_DROP_PORT0);
		return to_port0(h, p);
	}
	if (out > h->sw->node->info.nports)
		return drop_relay(h, p, FABRIC_DROP_DLID);
	if (out == h->in->num)
		return drop_relay(h, p, FABRIC_DROP_LOOP);
	send_out(h, &h->sw->port[out], p);
}

/* --- ingress */

/*
 * Check length, LVer and VCRC, as the link and network layers do. Return: FABRIC_SENT or the reason
 */
static enum fabric_drop check_form(const struct fabric_port *in, struct pkt *p)
{
	const uint8_t *lrh = pkt_hdr(p);
	unsigned int have = pkt_hdr_len(p);

	if (pkt_is_train(p)) /* The packets of a train get their lengths when the train is cut. */
		return train_check_vcrc(p) == CRC_OK ? FABRIC_SENT : FABRIC_DROP_VCRC;
	if (have < IB_LRH_LEN || p->tail_len < IB_VCRC_LEN ||
	    (be16_at(lrh + IB_LRH_OFF_PKT_LEN) & IB_LRH_PKT_LEN_MASK) * 4 !=
		    p->len + p->tail_len - IB_VCRC_LEN)
		return FABRIC_DROP_LEN;
	if (ib_lrh_has_bth(lrh) && have < ib_bth_off(lrh) + IB_BTH_LEN)
		return FABRIC_DROP_LEN;
	if (ib_lrh_lver(lrh))
		return FABRIC_DROP_VERSION;
	if ((p->flags & PKT_CRC) && in->num) {
		if (crc_pkt_check_vcrc(p) != CRC_OK)
			return FABRIC_DROP_VCRC;
		/*
		 * The VCRC needs no second check, because only faults change octets of a packet,
		 * and faults clear PKT_VCRC_OK.
		 */
		if (in->f->cfg.crc == HCA_CRC_LAZY)
			p->flags |= PKT_VCRC_OK;
	}
	return FABRIC_SENT;
}

/* Check port state, raw filter and P_Key of a data packet. Return: FABRIC_SENT or the reason */
static enum fabric_drop check_data(const struct hop *h, struct pkt *p)
{
	struct node_port *np = h->in->np;

	if (unlikely(np->pi.port_state == IB_PORT_ARMED))
		node_port_armed_rx(np, h->now); /* a data packet makes an Armed port Active */
	if (unlikely(np->pi.port_state != IB_PORT_ACTIVE))
		return FABRIC_DROP_STATE_IN;
	if (unlikely(np->pi.filter_raw_in) && !ib_lrh_has_bth(h->lrh)) {
		np->cnt.rcv_constraint_errors += pkt_count(p);
		return FABRIC_DROP_RAW_IN;
	}
	if (unlikely(np->pi.part_enforce_in) && !pkey_ok_in(h)) {
		np->cnt.rcv_constraint_errors += pkt_count(p);
		report_pkey(h, h->in, p);
		return FABRIC_DROP_PKEY_IN;
	}
	return FABRIC_SENT;
}

static void rx_one(struct fabric_port *in, struct pkt *p, ns_t now);

static void rx_again(const struct hop *h, struct fabric_port *out, struct pkt *p)
{
	(void)out;
	rx_one(h->in, p, h->now);
}

static void rx_one(struct fabric_port *in, struct pkt *p, ns_t now)
{
	enum fabric_drop why = check_form(in, p);
	struct hop h = { .in = in, .sw = in->node, .lrh = pkt_hdr(p), .now = now };

	/* Some packets of the train may be good, so check the packets one by one. */
	if (unlikely(why != FABRIC_SENT && pkt_is_train(p)))
		return cut(&h, NULL, p, rx_again);
	if (unlikely(why != FABRIC_SENT)) {
		node_count_rcv_n(in->np,
				 why == FABRIC_DROP_VCRC ? NODE_RCV_LOCAL_PHYSICAL
							 : NODE_RCV_MALFORMED,
				 pkt_count(p));
		return drop_in(&h, p, why);
	}
	h.dlid = be16_at(h.lrh + 2);
	h.sl = ib_lrh_sl(h.lrh);
	h.is_smp = ib_lrh_vl(h.lrh) == IB_VL15;
	if (unlikely(in->peer->kind == PORT_EXT) && !fabric_border_slid_ok(in, h.lrh))
		return drop_in(&h, p, FABRIC_DROP_SLID);
	if (!h.is_smp && in->num) {
		why = check_data(&h, p);
		if (unlikely(why != FABRIC_SENT))
			return drop_in(&h, p, why);
	}
	if (ib_lid_is_mcast(h.dlid))
		forward_mcast(&h, p);
	else
		forward_ucast(&h, p);
}

/*
 * Count received packets and words, including those with errors. Packets that port 0 receives are
 * counted in packet_to_port0() and forward_mcast(), and packets that port 0 sends in port.c.
 */
static void count_rcv(struct fabric_port *in, struct pkt **v, unsigned int n)
{
	struct node_counters *c = &in->np->cnt;
	struct fabric_sum s = fabric_sum(v, n, c->rcv_sl);

	c->rcv_pkts += s.packets;
	c->rcv_data += s.words;
	c->mcast_rcv += s.mcast;
	c->ucast_rcv += s.packets - s.mcast;
}

void fabric_switch_rx(struct fabric_port *in, struct pkt **v, unsigned int n, ns_t now)
{
	if (in->num)
		count_rcv(in, v, n);
	for (unsigned int i = 0; i < n; i++) {
		if (i + 1 < n)
			__builtin_prefetch(v[i + 1]->hdr + v[i + 1]->head);
		if (v[i]->vl != IB_VL15 || !fabric_switch_smp(in, v[i], now))
			rx_one(in, v[i], now);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/fabric_priv.h"

#include <assert.h>

#include "crc/crc.h"

/*
 * DOC: Packets from outside
 *
 * Two rules protect a fabric from packets that come in by its external ends.
 *
 * Source LIDs. The SA and the ports trust SLIDs, so packets with forged SLIDs are discarded. The
 * LFTs tell where an SLID belongs. An SLID in a packet that comes in at an external port is
 * accepted in two cases:
 *
 *	1. The LFT of the switch leads to the SLID by this external port.
 *	2. The LFTs, followed from switch to switch, lead out of the fabric by another external
 *	   port, and partitions are enforced at neither of the two ports.
 *
 * Case 2 is for a fabric of switches that has several links to this fabric: the answer to a packet
 * may take another link than the packet. The SM enforces partitions at a switch port only if an end
 * port is behind it. So where partitions are enforced, no switch is behind the external port, and
 * only case 1 is accepted. An SLID that leads to a CA or switch of this fabric is never accepted.
 *
 * Transits. Each link that a packet crosses costs a part of its hop budget. But a packet on the
 * wire does not contain its budget, so a packet that comes in gets a new budget. Packets in a loop
 * over external links would therefore circulate for ever. To prevent this, the six reserved bits of
 * BTH octet 4 count how many times a packet that came in by an external end has left by an external
 * end. The ICRC leaves that octet out (IBTA 7.8.1), receivers ignore the bits (9.2), and the fabric
 * keeps no state about the packet. A packet without BTH has no such bits and does not leave again.
 */

#define BTH_TRANSITS 4 /* octet of the BTH: FECN, BECN, then six reserved bits */

/*
 * Return the port to which the LFT of @sw sends packets for @lid; NULL if the LFT has no such port,
 * or if it is port 0, the switch itself
 */
static const struct fabric_port *way_to(const struct fabric_node *sw, uint16_t lid)
{
	const struct node_switch *s = sw->node->sw;
	unsigned int out;

	if (!fabric_lft_has(s, lid))
		return NULL;
	out = s->lft[lid];
	return out && out <= sw->node->info.nports ? &sw->port[out] : NULL;
}

/*
 * Tell whether the LFTs lead from @out to an external port without partition enforcement. Follow
 * the LFTs from switch to switch over at most PKT_HOPS links, because the LFTs may have a loop.
 */
static bool leads_outside(const struct fabric_port *out, uint16_t lid)
{
	for (unsigned int hops = 0; out && hops < PKT_HOPS; hops++) {
		if (!out->peer)
			return false;
		if (out->peer->kind == PORT_EXT)
			return !out->np->pi.part_enforce_in;
		if (out->peer->kind != PORT_SWITCH)
			return false;
		out = way_to(out->peer->node, lid);
	}
	return false;
}

bool fabric_border_slid_ok(const struct fabric_port *in, const uint8_t *lrh)
{
	uint16_t slid = be16_at(lrh + 6);
	const struct fabric_port *out;

	if (in->peer->ext->inside)
		return true;
	/*
	 * An SMP on a directed route has the permissive SLID, and a port that has no LID yet sends
	 * SMPs with SLID 0. Neither SLID belongs to a port, so both are accepted without a check.
	 */
	if (ib_lrh_vl(lrh) == IB_VL15 && (slid == IB_LID_PERMISSIVE || slid == 0))
		return true;
	out = way_to(in->node, slid);
	return out == in || (!in->np->pi.part_enforce_in && leads_outside(out, slid));
}

bool fabric_border_transit(struct pkt *p)
{
	const uint8_t *lrh = pkt_hdr(p);
	uint8_t *count;

	if (!(p->flags & PKT_OUTSIDE))
		return true;
	assert(!pkt_is_train(p)); /* only interfaces of this process make trains */
	if (!ib_lrh_has_bth(lrh) || pkt_hdr_len(p) < ib_bth_off(lrh) + IB_BTH_LEN)
		return false;
	count = pkt_hdr(p) + ib_bth_off(lrh) + BTH_TRANSITS;
	if ((*count & FABRIC_TRANSITS_MAX) == FABRIC_TRANSITS_MAX)
		return false;
	/*
	 * Adding 1 cannot change the FECN and BECN bits above the count, because a count of 63 was
	 * refused above.
	 */
	++*count;
	if (p->flags & PKT_CRC)
		crc_pkt_mend_vcrc(p);
	return true;
}

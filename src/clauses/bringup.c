/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"
#include "world/sa.h"
#include "world/sm.h"

/*
 * Cases about the link, the SMA, and the states of the port up to Active. IBTA volume 1, chapter
 * 14.
 */

static void link_up(struct run *r)
{
	struct world *w = r->w;

	if (!world_link_up(w) && w->interrupted)
		return;
	check(r, w->up, NULL, "no valid datagram came from the DUT's address within 13 s");
}

static void valid_datagrams(struct run *r, const struct seen *s)
{
	check(r, s->kind != SEEN_MALFORMED, s,
	      "the packet is no UD packet, has a wrong length, or a wrong ICRC");
}

static int get(struct run *r, uint16_t attr, uint32_t mod, const struct seen **ret)
{
	struct sm_request q = { .method = MAD_METHOD_GET, .attr = attr, .mod = mod };
	int status = world_sm_ask(r->w, &q, ret);

	if (status < 0)
		missing(r, "no answer to SubnGet of attribute 0x%04x, asked three times", attr);
	return status;
}

static void node_info(struct run *r)
{
	struct world_dut *d = &r->w->dut;
	const struct seen *s;

	if (get(r, SMP_ATTR_NODE_INFO, 0, &s) < 0)
		return;
	smp_node_info_decode(&d->node, sm_attr_data(s), SMP_DATA_LEN);
	d->gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, d->node.port_guid);
	check(r, mad_status(s->payload) == MAD_STATUS_DR_D, s,
	      "the status is 0x%04x, expected the D bit alone", mad_status(s->payload));
	check(r, d->node.node_type == IB_NODE_CA, s, "NodeType is %u: the DUT must be a CA (1)",
	      d->node.node_type);
	check(r, d->node.nports >= 1 && d->node.local_port >= 1, s,
	      "NumPorts and LocalPortNum must not be 0");
	check(r, d->node.node_guid && d->node.port_guid, s, "a GUID is 0");
}

static void directed_route(struct run *r)
{
	static const uint8_t permissive[2] = { 0xff, 0xff };
	const struct seen *s;

	if (get(r, SMP_ATTR_NODE_INFO, 0, &s) < 0)
		return;
	check_octets(r, s, s->payload + MAD_OFF_METHOD, "\x81", 1, "the method");
	check(r, mad_status(s->payload) & MAD_STATUS_DR_D, s, "the D bit of the answer is 0");
	check_octets(r, s, s->payload + SMP_OFF_HOP_CNT, "\1", 1, "HopCount");
	check_octets(r, s, s->payload + SMP_OFF_HOP_PTR, "\1", 1, "HopPointer");
	check_octets(r, s, s->payload + SMP_OFF_RETURN_PATH + 1, &r->w->dut.node.local_port, 1,
		     "ReturnPath[1]");
	check_octets(r, s, s->raw + IB_LRH_OFF_DLID, permissive, 2, "DLID");
	check_octets(r, s, s->raw + IB_LRH_OFF_SLID, permissive, 2, "SLID");
}

static void smps_on_vl15(struct run *r, const struct seen *s)
{
	if (s->kind == SEEN_MALFORMED || (s->kind != SEEN_SMP && s->h.lrh.vl != IB_VL15))
		return;
	check(r, s->h.lrh.vl == IB_VL15, s, "an SMP came on VL %u, expected VL 15", s->h.lrh.vl);
	check(r, s->kind == SEEN_SMP, s, "a packet for QP 0x%x came on VL 15", s->h.bth.dest_qp);
	check(r, !s->h.has_grh, s, "an SMP has a GRH");
	check(r, s->h.deth.src_qp == IB_QP0, s, "an SMP comes from QP 0x%x", s->h.deth.src_qp);
}

static void port_info(struct run *r)
{
	struct smp_port_info *pi = &r->w->dut.port;
	const struct seen *s;

	if (get(r, SMP_ATTR_PORT_INFO, 0x80000001, &s) < 0)
		return;
	smp_port_info_decode(pi, sm_attr_data(s), SMP_DATA_LEN);
	check(r, (mad_status(s->payload) & 0x7fff) == 0, s,
	      "status 0x%04x, though bit 31 of the modifier is to be ignored",
	      mad_status(s->payload));
	check(r, pi->port_state == IB_PORT_INIT, s,
	      "PortState is %u, expected Init (2) on a link that has just come up", pi->port_state);
	check(r, pi->phys_state == IB_PHYS_LINK_UP, s,
	      "PortPhysicalState is %u, expected LinkUp (5)", pi->phys_state);
	check(r, pi->mtu_cap >= r->w->wire->mtu, s,
	      "MTUCap is %u: the group will have the MTU %u (code %u)", pi->mtu_cap, r->w->mtu,
	      r->w->wire->mtu);
}

static void set_state(struct smp_port_info *pi, unsigned int state)
{
	pi->port_state = (uint8_t)state;
}

static void set_lid(struct smp_port_info *pi, unsigned int lid)
{
	pi->lid = (uint16_t)lid;
}

static void set_mtu(struct smp_port_info *pi, unsigned int code)
{
	pi->neighbor_mtu = (uint8_t)code;
}

/*
 * Send a Set(PortInfo) that the DUT has to refuse. Judge that the answer has status 0x1C (invalid
 * field value), that the port is still in Init, and that its LID is unchanged
 */
static void refused(struct run *r, void (*change)(struct smp_port_info *pi, unsigned int arg),
		    unsigned int arg)
{
	const struct seen *s;
	struct smp_port_info pi;
	int status = world_sm_port(r->w, change, arg, &s);

	if (status < 0) {
		missing(r, "no answer to Set(PortInfo)");
		return;
	}
	check(r, status == MAD_STATUS_BAD_VALUE, s,
	      "the status of Set(PortInfo) is 0x%04x, expected 0x001c", status);
	if (get(r, SMP_ATTR_PORT_INFO, 1, &s) < 0)
		return;
	smp_port_info_decode(&pi, sm_attr_data(s), SMP_DATA_LEN);
	check(r, pi.port_state == IB_PORT_INIT, s,
	      "PortState is %u after the refused Set, expected Init", pi.port_state);
	check(r, pi.lid == r->w->dut.port.lid, s, "the refused Set has changed the LID to 0x%x",
	      pi.lid);
}

static void no_active_from_init(struct run *r)
{
	refused(r, set_state, IB_PORT_ACTIVE);
}

static void no_multicast_lid(struct run *r)
{
	refused(r, set_lid, IB_LID_MCAST_MIN);
}

static void no_mtu_above_cap(struct run *r)
{
	refused(r, set_mtu, r->w->dut.port.mtu_cap + 1u);
}

static void nop_keeps(struct run *r)
{
	const struct seen *s;
	int status = world_sm_port(r->w, NULL, 0, &s);

	if (status < 0) {
		missing(r, "no answer to Set(PortInfo)");
		return;
	}
	check(r, status == 0, s, "the status of Set(PortInfo) is 0x%04x, expected 0", status);
	check(r, r->w->dut.port.port_state == IB_PORT_INIT, s,
	      "PortState NOP has made PortState %u, expected Init", r->w->dut.port.port_state);
	check_be16(r, s, sm_attr_data(s) + 16, r->w->dut.lid, "LID in the answer");
	check_be16(r, s, sm_attr_data(s) + 18, WORLD_SM_LID, "MasterSMLID in the answer");
}

static void pkey_table(struct run *r)
{
	const struct seen *s;

	if (get(r, SMP_ATTR_PKEY_TABLE, 0, &s) < 0)
		return;
	check(r, r->w->dut.node.pkey_cap >= 1, s, "PartitionCap is 0");
	check_be16(r, s, sm_attr_data(s), IB_PKEY_DEFAULT, "entry 0 of the P_Key table");
}

static void active(struct run *r)
{
	const struct seen *s;
	int status = world_sm_activate(r->w, &s);

	if (status < 0) {
		missing(r, "no answer to a Set on the way to Active");
		return;
	}
	check(r, status == 0, s, "status 0x%04x on the way to Active", status);
	check(r, r->w->dut.port.port_state == IB_PORT_ACTIVE, s,
	      "PortState is %u, expected Active (4)", r->w->dut.port.port_state);
}

static void data_only_when_active(struct run *r, const struct seen *s)
{
	if (s->kind == SEEN_MALFORMED || s->kind == SEEN_SMP || s->h.lrh.vl == IB_VL15)
		return;
	check(r, r->w->dut.active, s, "a packet came on VL %u before the port was Active",
	      s->h.lrh.vl);
}

static void lid_routed(struct run *r)
{
	struct sm_request q = { .method = MAD_METHOD_GET,
				.attr = SMP_ATTR_NODE_INFO,
				.by_lid = true };
	const struct seen *s;

	if (world_sm_ask(r->w, &q, &s) < 0) {
		missing(r, "no answer to a LID-routed SubnGet(NodeInfo)");
		return;
	}
	check_octets(r, s, s->payload + MAD_OFF_CLASS, "\1", 1, "the class");
	check_be16(r, s, s->raw + IB_LRH_OFF_DLID, WORLD_SM_LID, "DLID");
	check_be16(r, s, s->raw + IB_LRH_OFF_SLID, r->w->dut.lid, "SLID");
}

static void unknown_attribute(struct run *r)
{
	struct sm_request q = { .method = MAD_METHOD_GET, .attr = 0x7f7f };
	const struct seen *s;
	int status = world_sm_ask(r->w, &q, &s);

	if (status < 0)
		missing(r, "no answer to SubnGet of an attribute that does not exist");
	else
		check(r, status == MAD_STATUS_BAD_ATTR, s, "status 0x%04x, expected 0x000c",
		      status);
}

static const struct conform_case cases[] = {
	{ "U1", "the UDP link comes up", "doc/udp-link.md, States",
	  "An end sends keepalives, and is up as soon as it hears a valid datagram.", NULL, link_up,
	  NULL },
	{ "U2", "each datagram of the DUT is one packet with correct lengths and CRCs",
	  "doc/udp-link.md, Datagrams; IBTA 7.8",
	  "One datagram is one packet, from LRH to VCRC. Both CRCs MUST be right.", "U1", NULL,
	  valid_datagrams },
	{ "I2/node-info", "the SMA answers SubnGet(NodeInfo)", "IBTA 14.2.5.3",
	  "Each node answers NodeInfo, in Init and every later state.", "U1", node_info, NULL },
	{ "I1", "the answer to a directed-route SMP takes the same route back", "IBTA 14.2.2",
	  "The D bit is set, ReturnPath has the port, the LIDs are permissive.", "I2/node-info",
	  directed_route, NULL },
	{ "I3", "SMPs use QP0 and VL15, without GRH", "IBTA 13.5.1, 14.2.1",
	  "QP0 only on VL15, without GRH; VL15 only for QP0.", "U1", NULL, smps_on_vl15 },
	{ "I5/init", "PortInfo of a port that has just come up has PortState Init",
	  "IBTA 14.2.5.6, 7.2.3",
	  "PortState is Init when the link has come up; bit 31 of the modifier is ignored.",
	  "I2/node-info", port_info, NULL },
	{ "I5/skip", "a Set that would change the port from Init directly to Active is refused",
	  "IBTA 7.2.7", "Active only from Armed, otherwise status 0x1C.", "I5/init",
	  no_active_from_init, NULL },
	{ "I5/lid", "a Set of a LID of the multicast range is refused", "IBTA 14.2.5.6",
	  "A LID of 0xC000 or more is refused.", "I5/init", no_multicast_lid, NULL },
	{ "I5/mtu", "a Set of a NeighborMTU above MTUCap is refused", "IBTA 14.2.5.6",
	  "NeighborMTU above MTUCap is refused with status 0x1C.", "I5/init", no_mtu_above_cap,
	  NULL },
	{ "I5/nop", "a Set with PortState NOP keeps the port state and sets the other fields",
	  "IBTA 14.2.5.6", "The value 0 of PortState keeps the state.", "I5/init", nop_keeps,
	  NULL },
	{ "I7", "entry 0 of the P_Key table is 0xFFFF", "IBTA 10.9.1.2",
	  "The table begins with the default P_Key, 0xFFFF.", "I2/node-info", pkey_table, NULL },
	{ "I5/active", "the SM can set the port from Init to Armed, and then to Active",
	  "IBTA 7.2.7, 14.2.5.6", "Armed from Init, Active from Armed.", "I5/init", active, NULL },
	{ "I4", "the DUT sends nothing but SMPs before its port is Active", "IBTA 7.2.3",
	  "Other VLs than VL15 only in Active.", "U1", NULL, data_only_when_active },
	{ "I2/lid", "the SMA answers LID-routed SMPs at its LID", "IBTA 14.2.1",
	  "The answer goes to the SLID.", "I5/active", lid_routed, NULL },
	{ "I5/attribute", "the SMA answers an unknown attribute with status 0x0C", "IBTA 13.4.7",
	  "The status is 0x0C for a combination of method and attribute that is not supported.",
	  "I5/active", unknown_attribute, NULL },
};

const struct conform_chapter chapter_bringup = { "bring-up", cases,
						 sizeof(cases) / sizeof(cases[0]) };

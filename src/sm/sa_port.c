/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa_priv.h"

/* PortInfoRecord (IBTA 15.2.5.3): of end ports, and of all ports of switches. */

#define PI(bit) (32 + (bit)) /* PortInfo begins after LID, port number and options */
#define COMP_CAP_MASK 7
#define CAP_MASK_SUBSET 0x80000000u /* attribute modifier: bits that are set at least */

static const struct sa_field fields[] = {
	{ 0 },
	{ 16, 8 },
	{ 24, 8 }, /* the LID: any of the port's; port number; options */
	{ PI(0), 64 },
	{ PI(64), 64 },
	{ PI(128), 16 },
	{ PI(144), 16 }, /* M_Key, prefix, LID, SM LID */
	[COMP_CAP_MASK] = { PI(160), 32 },
	{ PI(192), 16 },
	{ PI(208), 16 },
	{ PI(224), 8 }, /* DiagCode, lease, LocalPortNum */
	{ PI(232), 8 },
	{ PI(240), 8 },
	{ PI(248), 8 }, /* LinkWidth enabled, supported, active */
	{ PI(256), 4 },
	{ PI(260), 4 },
	{ PI(264), 4 }, /* LinkSpeedSupported, state, physical state */
	{ PI(268), 4 },
	{ PI(272), 2 },
	{ PI(277), 3 }, /* DownDefault, M_KeyProtect, LMC */
	{ PI(280), 4 },
	{ PI(284), 4 },
	{ PI(288), 4 }, /* LinkSpeed active, enabled; NeighborMTU */
	{ PI(292), 4 },
	{ PI(296), 4 },
	{ PI(300), 4 }, /* MasterSMSL, VLCap, InitType */
	{ PI(304), 8 },
	{ PI(312), 8 },
	{ PI(320), 8 }, /* VL high limit, arbitration caps */
	{ PI(328), 4 },
	{ PI(332), 4 },
	{ PI(336), 3 }, /* InitTypeReply, MTUCap, VLStallCount */
	{ PI(339), 5 },
	{ PI(344), 4 }, /* HOQLife, OperationalVLs */
	{ PI(348), 1 },
	{ PI(349), 1 },
	{ PI(350), 1 },
	{ PI(351), 1 }, /* enforcement, raw filters */
	{ PI(352), 16 },
	{ PI(368), 16 },
	{ PI(384), 16 }, /* violations of M_Key, P_Key, Q_Key */
	{ PI(400), 8 },
	{ PI(411), 5 },
	{ PI(419), 5 }, /* GUIDCap, SubnetTimeOut, RespTimeValue */
	{ PI(424), 4 },
	{ PI(428), 4 }, /* LocalPhyErrors, OverrunErrors */
};

static bool port_matches(const struct sa_req *r, const uint8_t *wire)
{
	uint64_t mask = r->m.sa.comp_mask, cap_bit = 1ull << COMP_CAP_MASK;

	if ((mask & cap_bit) && (r->m.mad.attr_mod & CAP_MASK_SUBSET)) {
		uint32_t want = be32_at(r->m.data + PI(160) / 8);

		if ((be32_at(wire + PI(160) / 8) & want) != want)
			return false;
		mask &= ~cap_bit;
	}
	return sa_match(fields, ARRAY_SIZE(fields), mask, r->m.data, wire);
}

/* Returns false when the table takes no more. */
static bool port_add(const struct sa_req *r, struct sa_table *t, const struct sm_port *p)
{
	struct ib_port_info_rec rec = { .lid = sm_port_lid(p), .port_num = p->num, .info = p->pi };
	uint8_t wire[PORT_INFO_REC_LEN], *slot;

	if (!r->trusted)
		rec.info.mkey = 0;
	ib_port_info_rec_encode(wire, &rec);
	if (!port_matches(r, wire))
		return true;
	slot = sa_table_add(t);
	if (!slot)
		return false;
	memcpy(slot, wire, sizeof(wire));
	return true;
}

static bool node_add(const struct sa_req *r, struct sa_table *t, const struct sm_node *n)
{
	for (unsigned int i = sm_node_is_switch(n) ? 0 : 1; i <= n->info.nports; i++) {
		const struct sm_port *p = &n->port[i], *end = sm_port_end(p);

		if (!p->known || !sa_visible(r, end))
			continue;
		if ((r->m.sa.comp_mask & PORT_INFO_COMP_LID) &&
		    !sm_port_has_lid(end, be16_at(r->m.data)))
			continue;
		if (!port_add(r, t, p))
			return false;
	}
	return true;
}

uint16_t sa_port_collect(struct sa_req *r, struct sa_table *t)
{
	/* Who sends the short record of old may not ask by what it lacks: it is absent, not zero. */
	if (r->m.data_len < PORT_INFO_REC_MIN_LEN)
		return SA_MALFORMED;
	for (uint32_t i = 0; i < r->db->nnodes; i++) {
		if (!node_add(r, t, r->db->node[i]))
			break;
	}
	return 0;
}

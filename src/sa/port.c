/* SPDX-License-Identifier: BSD-2-Clause */
#include "sa/priv.h"

/* PortInfoRecord (IBTA 15.2.5.3): a record for each end port and each physical port of a switch. */

#define PI(bit) (32 + (bit)) /* PortInfo begins after LID, port number and options of the record */
#define COMP_CAP_MASK 7
#define COMP_CAP_MASK2 53
/* attribute modifier bit: a port matches if it has all bits of the request's capability masks */
#define CAP_MASK_SUBSET 0x80000000u

/*
 * Fields by component number. A component without a field is reserved, or requests an action
 * instead of describing the state of the port. Such a component matches every value.
 */
static const struct sa_field fields[] = {
	[1] = { 16, 8 }, /* port number; component 0 is the LID, which node_add() compares */
	[2] = { 24, 8 }, /* options */
	[3] = { PI(0), 64 }, /* M_Key */
	[4] = { PI(64), 64 }, /* prefix */
	[5] = { PI(128), 16 }, /* LID */
	[6] = { PI(144), 16 }, /* SM LID */
	[COMP_CAP_MASK] = { PI(160), 32 },
	[8] = { PI(192), 16 }, /* DiagCode */
	[9] = { PI(208), 16 }, /* M_Key lease */
	[10] = { PI(224), 8 }, /* LocalPortNum */
	[11] = { PI(232), 8 }, /* LinkWidth enabled, supported, active */
	[12] = { PI(240), 8 },
	[13] = { PI(248), 8 },
	[14] = { PI(256), 4 }, /* LinkSpeedSupported */
	[15] = { PI(260), 4 }, /* state */
	[16] = { PI(264), 4 }, /* physical state */
	[17] = { PI(268), 4 }, /* DownDefault */
	[18] = { PI(272), 2 }, /* M_KeyProtect */
	[20] = { PI(277), 3 }, /* LMC */
	[21] = { PI(280), 4 }, /* LinkSpeed active, enabled */
	[22] = { PI(284), 4 },
	[23] = { PI(288), 4 }, /* NeighborMTU */
	[24] = { PI(292), 4 }, /* MasterSMSL */
	[25] = { PI(296), 4 }, /* VLCap */
	[26] = { PI(300), 4 }, /* InitType */
	[27] = { PI(304), 8 }, /* VL high limit, arbitration caps */
	[28] = { PI(312), 8 },
	[29] = { PI(320), 8 },
	[30] = { PI(328), 4 }, /* InitTypeReply */
	[31] = { PI(332), 4 }, /* MTUCap */
	[32] = { PI(336), 3 }, /* VLStallCount */
	[33] = { PI(339), 5 }, /* HOQLife */
	[34] = { PI(344), 4 }, /* OperationalVLs */
	[35] = { PI(348), 1 }, /* enforcement in, out; raw filters */
	[36] = { PI(349), 1 },
	[37] = { PI(350), 1 },
	[38] = { PI(351), 1 },
	[39] = { PI(352), 16 }, /* violations of M_Key, P_Key, Q_Key */
	[40] = { PI(368), 16 },
	[41] = { PI(384), 16 },
	[42] = { PI(400), 8 }, /* GUIDCap */
	[45] = { PI(411), 5 }, /* SubnetTimeOut */
	[47] = { PI(419), 5 }, /* RespTimeValue */
	[48] = { PI(424), 4 }, /* LocalPhyErrors */
	[49] = { PI(428), 4 }, /* OverrunErrors */
	[50] = { PI(432), 16 }, /* MaxCreditHint */
	[52] = { PI(456), 24 }, /* LinkRoundTripLatency */
	[COMP_CAP_MASK2] = { PI(480), 16 },
	[54] = { PI(496), 4 }, /* LinkSpeedExt active, supported, enabled */
	[55] = { PI(500), 4 },
	[57] = { PI(507), 5 },
};

/* Tell whether all bits that are set in a component of the request are set in the record. */
static bool has_bits(const struct sa_req *r, const uint8_t *wire, unsigned int comp)
{
	unsigned int at = fields[comp].off / 8, n = fields[comp].bits / 8;

	for (unsigned int i = at; i < at + n; i++) {
		if ((wire[i] & r->m.data[i]) != r->m.data[i])
			return false;
	}
	return true;
}

static bool port_matches(const struct sa_req *r, const uint8_t *wire)
{
	static const unsigned int masks[] = { COMP_CAP_MASK, COMP_CAP_MASK2 };
	uint64_t mask = r->m.sa.comp_mask;

	for (size_t i = 0; i < ARRAY_SIZE(masks) && r->m.mad.attr_mod & CAP_MASK_SUBSET; i++) {
		if ((mask & 1ull << masks[i]) && !has_bits(r, wire, masks[i]))
			return false;
		mask &= ~(1ull << masks[i]);
	}
	return sa_match(fields, ARRAY_SIZE(fields), mask, r->m.data, wire);
}

/*
 * Tell whether the answer to @r shows M_Keys: @r is trusted, and the SM_Key of the SM is not the
 * default SM_Key, which is public.
 */
static bool sees_mkeys(const struct sa_req *r)
{
	return r->trusted && sm_config(r->sa->sm)->sm_key != SM_KEY_DEFAULT;
}

/*
 * Add the PortInfoRecord of @p if it matches the request. Return: false when the table has no room
 * for more records
 */
static bool port_add(const struct sa_req *r, struct sa_table *t, const struct sm_port *p)
{
	struct ib_port_info_rec rec = { .lid = sm_port_lid(p), .port_num = p->num, .info = p->pi };
	uint8_t wire[PORT_INFO_REC_LEN], *slot;

	/*
	 * ClientReregister is a command that the port has carried out, not a part of the port's
	 * state
	 */
	rec.info.client_reregister = false;
	if (!sees_mkeys(r))
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

static uint64_t ports(const struct sm_db *db)
{
	uint64_t n = sm_db_end_ports(db);

	for (uint32_t i = 0; i < db->nswitches; i++)
		n += db->sw[i]->info.nports;
	return n;
}

uint16_t sa_port_collect(struct sa_req *r, struct sa_table *t)
{
	/*
	 * The short PortInfoRecord of IBTA 1.2 is refused, because components beyond its end would
	 * wrongly count as zero.
	 */
	if (r->m.data_len < PORT_INFO_REC_LEN)
		return SA_MALFORMED;
	if (r->m.sa.comp_mask & PORT_INFO_COMP_LID) {
		const struct sm_port *p = sm_db_port_by_lid(r->db, be16_at(r->m.data));

		if (p)
			node_add(r, t, p->node);
		return 0;
	}
	if (!sa_quota_take(r, SA_WORK_SCAN, ports(r->db)))
		return SA_QUOTA;
	for (uint32_t i = 0; i < r->db->nnodes; i++) {
		if (!node_add(r, t, r->db->node[i]))
			break;
	}
	return 0;
}

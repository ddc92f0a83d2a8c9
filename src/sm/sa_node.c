/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa_priv.h"

/* NodeRecord (IBTA 15.2.5.2): one per end port, the port's GUID and number in its NodeInfo. */

static const struct sa_field fields[] = {
	{ 0 }, /* the LID: any of the port's, see below */
	{ 0 },	      { 32, 8 },   { 40, 8 }, /* BaseVersion, ClassVersion */
	{ 48, 8 },    { 56, 8 }, /* NodeType, NumPorts */
	{ 64, 64 },   { 128, 64 }, { 192, 64 }, /* GUIDs of system, node, port */
	{ 256, 16 },  { 272, 16 }, { 288, 32 }, /* PartitionCap, DeviceID, Revision */
	{ 320, 8 },   { 328, 24 }, /* LocalPortNum, VendorID */
	{ 352, 512 }, /* NodeDescription */
};

static void node_rec(const struct sm_port *p, uint8_t *ret)
{
	struct ib_node_rec rec = { .lid = sm_port_lid(p), .info = p->node->info };

	rec.info.port_guid = p->guid;
	if (!sm_node_is_switch(p->node))
		rec.info.local_port = p->num;
	memcpy(rec.desc, p->node->desc, sizeof(rec.desc));
	ib_node_rec_encode(ret, &rec);
}

uint16_t sa_node_collect(struct sa_req *r, struct sa_table *t)
{
	uint64_t mask = r->m.sa.comp_mask;

	if (r->m.data_len < NODE_REC_LEN)
		return SA_MALFORMED;
	for (struct sm_port *p = sm_db_end_port(r->db, NULL); p; p = sm_db_end_port(r->db, p)) {
		uint8_t wire[NODE_REC_LEN], *rec;

		if ((mask & NODE_COMP_LID) && !sm_port_has_lid(p, be16_at(r->m.data)))
			continue;
		node_rec(p, wire);
		if (!sa_match(fields, ARRAY_SIZE(fields), mask, r->m.data, wire) ||
		    !sa_visible(r, p))
			continue;
		rec = sa_table_add(t);
		if (!rec)
			break;
		memcpy(rec, wire, sizeof(wire));
	}
	return 0;
}

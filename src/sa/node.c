/* SPDX-License-Identifier: BSD-2-Clause */
#include "sa/priv.h"

/*
 * NodeRecord (IBTA 15.2.5.2): a record for each end port. The NodeInfo in the record has the GUID
 * and the number of this port.
 */

static const struct sa_field fields[] = {
	{ 0 }, /* LID: port_named() compares the LID, because any LID of the port matches */
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

	/*
	 * The NodeInfo in the database describes the port by which discovery found the node, so
	 * replace that port's GUID and number by those of @p.
	 */
	rec.info.port_guid = p->guid;
	rec.info.local_port = p->num;
	memcpy(rec.desc, p->node->desc, sizeof(rec.desc));
	ib_node_rec_encode(ret, &rec);
}

/*
 * Add the NodeRecord of @p if it matches the request. Return: false when the table has no room for
 * more records
 */
static bool node_add(const struct sa_req *r, struct sa_table *t, const struct sm_port *p)
{
	uint8_t wire[NODE_REC_LEN], *rec;

	node_rec(p, wire);
	if (!sa_match(fields, ARRAY_SIZE(fields), r->m.sa.comp_mask, r->m.data, wire) ||
	    !sa_visible(r, p))
		return true;
	rec = sa_table_add(t);
	if (!rec)
		return false;
	memcpy(rec, wire, sizeof(wire));
	return true;
}

/*
 * Find the port if the request selects by LID or by port GUID. Return: false if the request selects
 * by neither; otherwise true, and @ret is the port, or NULL if there is no such port
 */
static bool port_named(const struct sa_req *r, const struct sm_port **ret)
{
	uint64_t mask = r->m.sa.comp_mask;

	if (mask & NODE_COMP_LID)
		*ret = sm_db_port_by_lid(r->db, be16_at(r->m.data));
	else if (mask & NODE_COMP_PORT_GUID)
		*ret = sm_db_port_by_guid(r->db, be64_at(r->m.data + 192 / 8));
	else
		return false;
	return true;
}

uint16_t sa_node_collect(struct sa_req *r, struct sa_table *t)
{
	const struct sm_port *p = NULL;

	if (r->m.data_len < NODE_REC_LEN)
		return SA_MALFORMED;
	if (port_named(r, &p)) {
		if (p)
			node_add(r, t, p);
		return 0;
	}
	if (!sa_quota_take(r, SA_WORK_SCAN, sm_db_end_ports(r->db)))
		return SA_QUOTA;
	for (p = sm_db_end_port(r->db, NULL); p; p = sm_db_end_port(r->db, p)) {
		if (!node_add(r, t, p))
			break;
	}
	return 0;
}

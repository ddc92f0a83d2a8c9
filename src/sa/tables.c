/* SPDX-License-Identifier: BSD-2-Clause */
#include "sa/priv.h"

/*
 * Records of the tables of ports: P_KeyTableRecord (IBTA 15.2.5.11), SLtoVLMappingTableRecord
 * (15.2.5.4), VLArbitrationTableRecord (15.2.5.9), GUIDInfoRecord (15.2.5.18). Tables that the SM
 * has not read yet are read before the answer. P_Key tables are shown to trusted requests only.
 *
 * The LID in a request may be any LID of the port; for a switch it is a LID of port 0. The port
 * number selects a port of a switch; a CA port is identified by its LID alone.
 */

struct table_query {
	struct sa_table *t;
	struct ib_table_rec want;
	uint64_t mask;
	uint64_t comp_block, comp_port;
	unsigned int first_block;
	enum sm_table what;
	/*
	 * true if only end ports have the table; false if physical ports of switches have it, too
	 */
	bool ends;
	/* Add the record of one block of @p. Return: false when the table takes no more records */
	bool (*add)(const struct table_query *q, const struct sm_port *p, unsigned int block);
};

static const uint8_t *block_of(const struct sm_port *p, enum sm_table what, unsigned int b)
{
	static const uint8_t none[SMP_DATA_LEN];
	const struct sm_tables *t = sm_tables_of(p);

	if (!t || !(t->asked & 1u << what))
		return none;
	switch (what) {
	case SM_TABLE_PKEY:
		return b < t->npkey ? t->pkey[b] : none;
	case SM_TABLE_SLTOVL:
		return b < t->nsltovl ? t->sltovl[b] : none;
	case SM_TABLE_VLARB:
		return b < SM_VLARB_BLOCKS ? t->vlarb[b] : none;
	case SM_TABLE_GUID:
		return b < t->nguid ? t->guid[b] : none;
	}
	return none;
}

/*
 * Add the records of the table of @p that match the request. Return: false when the answer has no
 * room for more records
 */
static bool port_add(const struct sa_req *r, const struct table_query *q, const struct sm_port *p)
{
	unsigned int n = sm_table_blocks(p, q->what), b = 0;

	if (!sa_visible(r, sm_port_end(p)))
		return true;
	/*
	 * In the SLtoVL table of a CA the ingress port is reserved, so this component of the
	 * request is ignored.
	 */
	if ((q->mask & q->comp_block) && (q->what != SM_TABLE_SLTOVL || p->node->sw)) {
		if (q->want.block < q->first_block || q->want.block - q->first_block >= n)
			return true;
		b = q->want.block - q->first_block;
		n = b + 1;
	}
	for (; b < n; b++) {
		if (!q->add(q, p, b))
			return false;
	}
	return true;
}

static bool switch_add(const struct sa_req *r, const struct table_query *q, const struct sm_node *n)
{
	unsigned int i = 0, last = q->ends ? 0 : n->info.nports;

	if (q->mask & q->comp_port) {
		if (q->want.port > last)
			return true;
		i = last = q->want.port;
	}
	for (; i <= last; i++) {
		if (n->port[i].known && !port_add(r, q, &n->port[i]))
			return false;
	}
	return true;
}

static bool end_add(const struct sa_req *r, const struct table_query *q, const struct sm_port *p)
{
	return p->node->sw ? switch_add(r, q, p->node) : port_add(r, q, p);
}

static uint64_t cost(const struct sm_db *db, enum sm_table what)
{
	uint64_t units = sm_db_end_ports(db);

	for (uint32_t i = 0; i < db->nswitches; i++) {
		uint64_t n = db->sw[i]->info.nports;

		units += what == SM_TABLE_SLTOVL ? n * n : n;
	}
	return units;
}

static uint16_t tables_add(struct sa_req *r, const struct table_query *q, bool by_lid)
{
	const struct sm_port *p = by_lid ? sm_db_port_by_lid(r->db, q->want.lid) : NULL;
	uint16_t status;

	if (by_lid && !p)
		return 0;
	if (!by_lid && !sa_quota_take(r, SA_WORK_SCAN, cost(r->db, q->what)))
		return SA_QUOTA;
	status = sa_job_learn(r, q->what, p);
	if (status)
		return status;
	if (by_lid) {
		end_add(r, q, p);
		return 0;
	}
	for (p = sm_db_end_port(r->db, NULL); p; p = sm_db_end_port(r->db, p)) {
		if (!end_add(r, q, p))
			break;
	}
	return 0;
}

static bool pkey_add(const struct table_query *q, const struct sm_port *p, unsigned int block)
{
	struct ib_table_rec rec = { .lid = sm_port_lid(p),
				    .port = p->num,
				    .block = (uint16_t)block };
	uint8_t *slot = sa_table_add(q->t);

	if (!slot)
		return false;
	if (p->pkeys)
		smp_pkey_block_encode(rec.data, p->pkeys + block * SMP_PKEYS_PER_BLOCK);
	else
		memcpy(rec.data, block_of(p, q->what, block), sizeof(rec.data));
	ib_pkey_table_rec_encode(slot, &rec);
	return true;
}

uint16_t sa_pkey_collect(struct sa_req *r, struct sa_table *t)
{
	struct table_query q = {
		.t = t,
		.mask = r->m.sa.comp_mask,
		.comp_block = PKEY_TABLE_COMP_BLOCK,
		.comp_port = PKEY_TABLE_COMP_PORT,
		.what = SM_TABLE_PKEY,
		.add = pkey_add,
	};

	if (ib_pkey_table_rec_decode(&q.want, r->m.data, r->m.data_len))
		return SA_MALFORMED;
	if (!r->trusted)
		return SA_STATUS_REQ_INVALID;
	return tables_add(r, &q, q.mask & PKEY_TABLE_COMP_LID);
}

static bool vlarb_add(const struct table_query *q, const struct sm_port *p, unsigned int block)
{
	struct ib_table_rec rec = {
		.lid = sm_port_lid(p),
		.port = p->num,
		.block = (uint16_t)(block + 1),
	};
	uint8_t *slot = sa_table_add(q->t);

	if (!slot)
		return false;
	memcpy(rec.data, block_of(p, q->what, block), sizeof(rec.data));
	ib_vlarb_rec_encode(slot, &rec);
	return true;
}

uint16_t sa_vlarb_collect(struct sa_req *r, struct sa_table *t)
{
	struct table_query q = {
		.t = t,
		.mask = r->m.sa.comp_mask,
		.comp_block = VLARB_COMP_BLOCK,
		.comp_port = VLARB_COMP_PORT,
		.first_block = 1,
		.what = SM_TABLE_VLARB,
		.add = vlarb_add,
	};

	if (ib_vlarb_rec_decode(&q.want, r->m.data, r->m.data_len))
		return SA_MALFORMED;
	return tables_add(r, &q, q.mask & VLARB_COMP_LID);
}

/* An SLtoVL table of a switch has a block for each ingress port. @p is the egress port. */
static bool sltovl_add(const struct table_query *q, const struct sm_port *p, unsigned int block)
{
	struct ib_sltovl_rec rec = { .lid = sm_port_lid(p) };
	uint8_t *slot;

	if (p->node->sw) {
		if (!p->node->port[block].known)
			return true;
		rec.in_port = (uint8_t)block;
		rec.out_port = p->num;
	}
	slot = sa_table_add(q->t);
	if (!slot)
		return false;
	memcpy(rec.data, block_of(p, q->what, block), sizeof(rec.data));
	ib_sltovl_rec_encode(slot, &rec);
	return true;
}

uint16_t sa_sltovl_collect(struct sa_req *r, struct sa_table *t)
{
	struct table_query q = {
		.t = t,
		.mask = r->m.sa.comp_mask,
		.comp_block = SLTOVL_COMP_IN_PORT,
		.comp_port = SLTOVL_COMP_OUT_PORT,
		.what = SM_TABLE_SLTOVL,
		.add = sltovl_add,
	};
	struct ib_sltovl_rec want;

	if (ib_sltovl_rec_decode(&want, r->m.data, r->m.data_len))
		return SA_MALFORMED;
	q.want = (struct ib_table_rec){ .lid = want.lid,
					.block = want.in_port,
					.port = want.out_port };
	return tables_add(r, &q, q.mask & SLTOVL_COMP_LID);
}

static bool guid_add(const struct table_query *q, const struct sm_port *p, unsigned int block)
{
	struct ib_table_rec rec = { .lid = p->lid, .block = (uint16_t)block };
	uint8_t *slot;

	memcpy(rec.data, block_of(p, q->what, block), sizeof(rec.data));
	for (unsigned int i = 0; i < SMP_GUIDS_PER_BLOCK; i++) {
		if ((q->mask & GUID_INFO_COMP_GUID0 << i) &&
		    memcmp(rec.data + i * 8, q->want.data + i * 8, 8) != 0)
			return true;
	}
	slot = sa_table_add(q->t);
	if (!slot)
		return false;
	ib_guid_info_rec_encode(slot, &rec);
	return true;
}

uint16_t sa_guid_collect(struct sa_req *r, struct sa_table *t)
{
	struct table_query q = {
		.t = t,
		.mask = r->m.sa.comp_mask,
		.comp_block = GUID_INFO_COMP_BLOCK,
		.what = SM_TABLE_GUID,
		.ends = true,
		.add = guid_add,
	};

	if (ib_guid_info_rec_decode(&q.want, r->m.data, r->m.data_len))
		return SA_MALFORMED;
	return tables_add(r, &q, q.mask & GUID_INFO_COMP_LID);
}

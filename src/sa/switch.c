/* SPDX-License-Identifier: BSD-2-Clause */
#include "subnet/fdb.h"
#include "sa/priv.h"

/*
 * Records of switches: SwitchInfoRecord (IBTA 15.2.5.5), LinearForwardingTableRecord (15.2.5.6) and
 * MulticastForwardingTableRecord (15.2.5.8). LFTs are shown as the SM computed them, MFTs as the
 * switches acknowledged them. The LID in a request may be any LID of port 0.
 */

typedef bool switch_fn(const struct sa_req *r, struct sa_table *t, const struct sm_node *n,
		       const struct ib_table_rec *want);

/*
 * Call @fn for the switch with @lid, or for all switches. @per: number of records of one switch,
 * which are charged to the quota
 */
static uint16_t each_switch(struct sa_req *r, struct sa_table *t, bool by_lid, uint16_t lid,
			    const struct ib_table_rec *want, uint64_t per, switch_fn *fn)
{
	if (by_lid) {
		const struct sm_port *p = sm_db_port_by_lid(r->db, lid);

		if (p && p->node->sw && sa_visible(r, p))
			fn(r, t, p->node, want);
		return 0;
	}
	if (!sa_quota_take(r, SA_WORK_SCAN, per * r->db->nswitches))
		return SA_QUOTA;
	for (uint32_t i = 0; i < r->db->nswitches; i++) {
		const struct sm_node *n = r->db->sw[i];

		if (sa_visible(r, &n->port[0]) && !fn(r, t, n, want))
			break;
	}
	return 0;
}

static bool switch_info_add(const struct sa_req *r, struct sa_table *t, const struct sm_node *n,
			    const struct ib_table_rec *want)
{
	const struct ib_switch_info_rec rec = { .lid = n->port[0].lid, .info = n->sw->si };
	uint8_t *slot = sa_table_add(t);

	if (slot)
		ib_switch_info_rec_encode(slot, &rec);
	return slot;
}

uint16_t sa_switch_info_collect(struct sa_req *r, struct sa_table *t)
{
	struct ib_switch_info_rec want;

	if (ib_switch_info_rec_decode(&want, r->m.data, r->m.data_len))
		return SA_MALFORMED;
	return each_switch(r, t, r->m.sa.comp_mask & SWITCH_INFO_COMP_LID, want.lid, NULL, 1,
			   switch_info_add);
}

static bool lft_block_add(struct sa_table *t, const struct sm_node *n, unsigned int block)
{
	struct ib_table_rec rec = { .lid = n->port[0].lid, .block = (uint16_t)block };
	uint8_t *slot;

	for (unsigned int i = 0; i < SMP_LFT_PER_BLOCK; i++)
		rec.data[i] = sm_switch_lft(n->sw, block * SMP_LFT_PER_BLOCK + i);
	slot = sa_table_add(t);
	if (slot)
		ib_lft_rec_encode(slot, &rec);
	return slot;
}

static bool lft_add(const struct sa_req *r, struct sa_table *t, const struct sm_node *n,
		    const struct ib_table_rec *want)
{
	unsigned int first = 0, last = n->sw->lft_top / SMP_LFT_PER_BLOCK;

	if (r->m.sa.comp_mask & LFT_COMP_BLOCK) {
		if (want->block > last)
			return true;
		first = last = want->block;
	}
	for (unsigned int b = first; b <= last; b++) {
		if (!lft_block_add(t, n, b))
			return false;
	}
	return true;
}

uint16_t sa_lft_collect(struct sa_req *r, struct sa_table *t)
{
	struct ib_table_rec want;

	if (ib_lft_rec_decode(&want, r->m.data, r->m.data_len))
		return SA_MALFORMED;
	return each_switch(r, t, r->m.sa.comp_mask & LFT_COMP_LID, want.lid, &want,
			   r->db->top_lid / SMP_LFT_PER_BLOCK + 1u, lft_add);
}

static bool mft_block_add(struct sa_table *t, const struct sm_node *n, unsigned int block,
			  unsigned int position)
{
	struct ib_table_rec rec = {
		.lid = n->port[0].lid,
		.block = (uint16_t)block,
		.position = (uint8_t)position,
	};
	const struct sm_mft_block *b = n->sw->fdb->mft[block];
	uint16_t masks[SMP_MFT_PER_BLOCK] = { 0 };
	uint8_t *slot;

	for (unsigned int i = 0; b && i < SMP_MFT_PER_BLOCK; i++)
		masks[i] = sm_mask_position(b->have[i], position);
	smp_mft_block_encode(rec.data, masks);
	slot = sa_table_add(t);
	if (slot)
		ib_mft_rec_encode(slot, &rec);
	return slot;
}

/* Return the number of MFT blocks up to the last block that was ever used; 0: none */
static unsigned int mft_blocks(const struct sm_fdb *f)
{
	unsigned int n = f ? SM_MFT_BLOCKS : 0;

	while (n && !f->mft[n - 1])
		n--;
	return n;
}

static bool mft_add(const struct sa_req *r, struct sa_table *t, const struct sm_node *n,
		    const struct ib_table_rec *want)
{
	uint64_t mask = r->m.sa.comp_mask;
	unsigned int blocks = mft_blocks(n->sw->fdb), first = 0;
	unsigned int positions = (n->info.nports + 16u) / 16, pos = 0;

	if (mask & MFT_COMP_BLOCK) {
		first = want->block;
		blocks = want->block < blocks ? want->block + 1u : 0;
	}
	if (mask & MFT_COMP_POSITION) {
		pos = want->position;
		positions = want->position < positions ? want->position + 1u : 0;
	}
	for (unsigned int b = first; b < blocks; b++) {
		for (unsigned int i = pos; i < positions; i++) {
			if (!mft_block_add(t, n, b, i))
				return false;
		}
	}
	return true;
}

uint16_t sa_mft_collect(struct sa_req *r, struct sa_table *t)
{
	struct ib_table_rec want;

	if (ib_mft_rec_decode(&want, r->m.data, r->m.data_len))
		return SA_MALFORMED;
	return each_switch(r, t, r->m.sa.comp_mask & MFT_COMP_LID, want.lid, &want, 8, mft_add);
}

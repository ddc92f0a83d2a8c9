/* SPDX-License-Identifier: BSD-2-Clause */
#include "subnet/item.h"

static unsigned int pkey_blocks(const struct sm_port *p)
{
	return p->pkeys ? (p->npkeys + SMP_PKEYS_PER_BLOCK - 1u) / SMP_PKEYS_PER_BLOCK : 0;
}

static unsigned int sltovl_tables(const struct sm_port *p)
{
	if (!p->num || !sm_port_carries(p))
		return 0;
	return p->node->sw ? p->node->info.nports + 1u : 1;
}

static unsigned int lft_blocks(const struct sm_port *p)
{
	return p->num == 0 && p->node->sw ? sm_fdb_lft_blocks(p->node->sw->fdb) : 0;
}

/*
 * Return the number of MFT items of a port. A block that no group has ever used has no items: if
 * another program changes such a block, this does no harm, because the whole block is written when
 * the first of its groups is created.
 */
static unsigned int mft_items(const struct sm_port *p)
{
	const struct sm_fdb *f = p->num == 0 && p->node->sw ? p->node->sw->fdb : NULL;
	unsigned int n = 0;

	for (unsigned int b = 0; f && b < f->mft_end; b++)
		n += f->mft[b] ? sm_fdb_positions(f) : 0;
	return n;
}

static struct sm_item mft_item(const struct sm_fdb *f, unsigned int i)
{
	unsigned int b = 0, skip = i / sm_fdb_positions(f);

	while (!f->mft[b] || skip--)
		b++;
	return (struct sm_item){ SM_ITEM_MFT, b, i % sm_fdb_positions(f) };
}

unsigned int sm_port_items(const struct sm_port *p)
{
	if (!p->known || p->node->lost)
		return 0;
	return pkey_blocks(p) + sltovl_tables(p) + lft_blocks(p) + mft_items(p);
}

struct sm_item sm_port_item(const struct sm_port *p, unsigned int i)
{
	if (i < pkey_blocks(p))
		return (struct sm_item){ SM_ITEM_PKEYS, i, 0 };
	i -= pkey_blocks(p);
	if (i < sltovl_tables(p))
		return (struct sm_item){ SM_ITEM_SLTOVL, i, 0 };
	i -= sltovl_tables(p);
	if (i < lft_blocks(p))
		return (struct sm_item){ SM_ITEM_LFT, i, 0 };
	return mft_item(p->node->sw->fdb, i - lft_blocks(p));
}

uint64_t sm_db_items(const struct sm_db *db)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < db->nnodes; i++) {
		for (unsigned int num = 0; num <= db->node[i]->info.nports; num++)
			n += sm_port_items(&db->node[i]->port[num]);
	}
	return n;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "node/priv.h"

#define MFT_BLOCK 0x1ffu /* block number of MulticastForwardingTable: bits 0-8 of the modifier */
#define MFT_POSITION_SHIFT 28
#define MFT_PORTS 16 /* ports in one position (bits 28-31 of the modifier) */
#define MFT_TOP_NONE 0xbfffu /* MulticastFDBTop of an empty table (14.2.5.4) */

uint16_t sma_get_switch_info(struct sma_req *r)
{
	smp_switch_info_encode(r->data, &r->n->sw->si);
	return 0;
}

static bool switch_info_ok(const struct smp_switch_info *si, const struct smp_switch_info *v)
{
	if (v->lft_top >= si->lft_cap)
		return false;
	return v->mft_top == 0 ||
	       (v->mft_top >= MFT_TOP_NONE && v->mft_top < IB_LID_MCAST_MIN + si->mft_cap);
}

uint16_t sma_set_switch_info(struct sma_req *r)
{
	struct smp_switch_info *si = &r->n->sw->si, v;

	smp_switch_info_decode(&v, r->data, SMP_DATA_LEN);
	if (!switch_info_ok(si, &v))
		return MAD_STATUS_BAD_VALUE;
	si->lft_top = v.lft_top;
	si->mft_top = v.mft_top;
	si->default_port = v.default_port;
	si->default_mcast_primary = v.default_mcast_primary;
	si->default_mcast_not_primary = v.default_mcast_not_primary;
	si->life_time = v.life_time;
	if (v.port_state_change)
		si->port_state_change = false; /* writing 1 clears the bit */
	return 0;
}

static uint8_t *lft_block(const struct sma_req *r)
{
	const struct node_switch *sw = r->n->sw;

	if (r->mod >= sw->si.lft_cap / SMP_LFT_PER_BLOCK)
		return NULL;
	return &r->n->sw->lft[r->mod * SMP_LFT_PER_BLOCK];
}

uint16_t sma_get_lft(struct sma_req *r)
{
	const uint8_t *block = lft_block(r);

	if (!block)
		return MAD_STATUS_BAD_VALUE;
	memcpy(r->data, block, SMP_LFT_PER_BLOCK);
	return 0;
}

uint16_t sma_set_lft(struct sma_req *r)
{
	uint8_t *block = lft_block(r);

	if (!block)
		return MAD_STATUS_BAD_VALUE;
	memcpy(block, r->data, SMP_LFT_PER_BLOCK);
	return 0;
}

/*
 * Position of the port masks in one block of the MFT. The block has 32 MLIDs from 0xc000 + .first
 * on, each with a mask of 16 ports. The mask begins at bit .shift of word .word of the MFT entry
 */
struct mft_place {
	unsigned int first, word, shift;
	uint16_t valid; /* mask of the ports that exist */
};

static bool mft_place(const struct sma_req *r, struct mft_place *ret)
{
	unsigned int first = (r->mod & MFT_BLOCK) * SMP_MFT_PER_BLOCK;
	unsigned int port = (r->mod >> MFT_POSITION_SHIFT) * MFT_PORTS;
	unsigned int beyond;

	if (r->mod & ~(MFT_BLOCK | 0xfu << MFT_POSITION_SHIFT))
		return false;
	if (first >= NODE_MCAST_LIDS || port > r->n->info.nports)
		return false;
	ret->first = first;
	ret->word = port / 64;
	ret->shift = port % 64;
	beyond = r->n->info.nports + 1u - port;
	ret->valid = beyond >= MFT_PORTS ? 0xffff : (uint16_t)((1u << beyond) - 1);
	return true;
}

uint16_t sma_get_mft(struct sma_req *r)
{
	uint16_t masks[SMP_MFT_PER_BLOCK];
	struct mft_place at;

	if (!mft_place(r, &at))
		return MAD_STATUS_BAD_VALUE;
	for (unsigned int i = 0; i < SMP_MFT_PER_BLOCK; i++)
		masks[i] = (uint16_t)(node_mft_mask(r->n->sw, at.first + i)[at.word] >> at.shift);
	smp_mft_block_encode(r->data, masks);
	return 0;
}

static bool all_zero(const uint16_t masks[SMP_MFT_PER_BLOCK])
{
	uint16_t any = 0;

	for (unsigned int i = 0; i < SMP_MFT_PER_BLOCK; i++)
		any |= masks[i];
	return !any;
}

uint16_t sma_set_mft(struct sma_req *r)
{
	struct node_switch *sw = r->n->sw;
	uint16_t masks[SMP_MFT_PER_BLOCK];
	struct mft_place at;

	if (!mft_place(r, &at))
		return MAD_STATUS_BAD_VALUE;
	smp_mft_block_decode(masks, r->data, SMP_DATA_LEN);
	if (!sw->mft && all_zero(masks))
		return 0;
	if (!node_mft_own(sw))
		return MAD_STATUS_BUSY;
	for (unsigned int i = 0; i < SMP_MFT_PER_BLOCK; i++) {
		uint64_t *w = &sw->mft[at.first + i][at.word];

		*w &= ~(0xffffull << at.shift);
		*w |= (uint64_t)(masks[i] & at.valid) << at.shift;
	}
	return 0;
}

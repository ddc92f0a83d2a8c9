/* SPDX-License-Identifier: BSD-2-Clause */
#include "subnet/fdb.h"

#include <errno.h>
#include <stdlib.h>

struct sm_fdb *sm_fdb_create(uint64_t guid, uint8_t nports)
{
	struct sm_fdb *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->refs = 1;
	f->guid = guid;
	f->nports = nports;
	return f;
}

struct sm_fdb *sm_fdb_get(struct sm_fdb *f)
{
	f->refs++;
	return f;
}

void sm_fdb_put(struct sm_fdb *f)
{
	if (!f || --f->refs)
		return;
	for (unsigned int b = 0; b < SM_MFT_BLOCKS; b++)
		free(f->mft[b]);
	free(f->lft);
	free(f->lft_known);
	free(f);
}

void sm_fdb_forget(struct sm_fdb *f)
{
	for (uint32_t b = 0; b < f->lft_blocks; b++)
		f->lft_known[b] = false;
	for (unsigned int b = 0; b < SM_MFT_BLOCKS; b++) {
		if (f->mft[b])
			f->mft[b]->known = 0;
	}
}

int sm_fdb_lft_room(struct sm_fdb *f, uint16_t top)
{
	uint32_t n = top / SMP_LFT_PER_BLOCK + 1;
	uint8_t *lft;
	bool *known;

	if (n <= f->lft_blocks)
		return 0;
	lft = realloc(f->lft, n * SMP_LFT_PER_BLOCK);
	if (!lft)
		return -ENOMEM;
	f->lft = lft;
	known = realloc(f->lft_known, n * sizeof(*known));
	if (!known)
		return -ENOMEM;
	f->lft_known = known;
	for (; f->lft_blocks < n; f->lft_blocks++)
		known[f->lft_blocks] = false;
	return 0;
}

struct sm_mft_block *sm_fdb_block(struct sm_fdb *f, unsigned int b)
{
	if (b >= SM_MFT_BLOCKS || b * SMP_MFT_PER_BLOCK >= f->mft_cap)
		return NULL;
	if (!f->mft[b])
		f->mft[b] = calloc(1, sizeof(*f->mft[b]));
	return f->mft[b];
}

bool sm_mft_dirty(const struct sm_mft_block *b, unsigned int pos)
{
	if (!(b->known >> pos & 1))
		return true;
	for (unsigned int i = 0; i < SMP_MFT_PER_BLOCK; i++) {
		if (sm_mask_position(b->want[i], pos) != sm_mask_position(b->have[i], pos))
			return true;
	}
	return false;
}

void sm_mft_acked(struct sm_mft_block *b, unsigned int pos, const uint16_t sent[SMP_MFT_PER_BLOCK])
{
	unsigned int shift = pos % 4 * 16;

	for (unsigned int i = 0; i < SMP_MFT_PER_BLOCK; i++) {
		uint64_t *w = &b->have[i][pos / 4];

		*w = (*w & ~(0xffffull << shift)) | (uint64_t)sent[i] << shift;
	}
	b->known |= (uint16_t)(1u << pos);
}

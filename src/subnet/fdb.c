/* SPDX-License-Identifier: BSD-2-Clause */
#include "subnet/fdb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t lft_size(uint32_t blocks)
{
	return (size_t)blocks * SMP_LFT_PER_BLOCK;
}

struct sm_lft *sm_lft_create(uint16_t top)
{
	uint32_t blocks = top / SMP_LFT_PER_BLOCK + 1u;
	struct sm_lft *t = malloc(sizeof(*t) + lft_size(blocks));

	if (!t)
		return NULL;
	t->refs = 1;
	t->blocks = blocks;
	memset(t->port, SMP_LFT_NONE, lft_size(blocks));
	return t;
}

struct sm_lft *sm_lft_get(struct sm_lft *t)
{
	t->refs++;
	return t;
}

void sm_lft_put(struct sm_lft *t)
{
	if (t && !--t->refs)
		free(t);
}

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
	for (unsigned int b = 0; b < f->mft_end; b++)
		free(f->mft[b]);
	sm_lft_put(f->lft);
	free(f->lft_known);
	free(f);
}

void sm_fdb_forget(struct sm_fdb *f)
{
	for (uint32_t b = 0; b < f->lft_room; b++)
		f->lft_known[b] = false;
	for (unsigned int b = 0; b < f->mft_end; b++) {
		if (f->mft[b])
			f->mft[b]->known = 0;
	}
}

static int known_room(struct sm_fdb *f, uint32_t blocks)
{
	bool *known;

	if (blocks <= f->lft_room)
		return 0;
	known = realloc(f->lft_known, blocks * sizeof(*known));
	if (!known)
		return -ENOMEM;
	f->lft_known = known;
	memset(known + f->lft_room, 0, blocks - f->lft_room);
	f->lft_room = blocks;
	return 0;
}

static bool block_equal(const struct sm_lft *a, const struct sm_lft *b, uint32_t i)
{
	return i < a->blocks && i < b->blocks &&
	       memcmp(a->port + lft_size(i), b->port + lft_size(i), SMP_LFT_PER_BLOCK) == 0;
}

int sm_fdb_lft_set(struct sm_fdb *f, struct sm_lft **t)
{
	struct sm_lft *old = f->lft;
	bool same = old && old->blocks == (*t)->blocks;

	if (known_room(f, (*t)->blocks))
		return -ENOMEM;
	for (uint32_t b = 0; b < f->lft_room; b++) {
		if (old && block_equal(old, *t, b))
			continue;
		f->lft_known[b] = false;
		same &= b >= (*t)->blocks;
	}
	if (same) {
		sm_lft_put(*t);
		*t = sm_lft_get(old);
		return 0;
	}
	sm_lft_put(old);
	f->lft = sm_lft_get(*t);
	return 0;
}

struct sm_mft_block *sm_fdb_block(struct sm_fdb *f, unsigned int b)
{
	if (b >= SM_MFT_BLOCKS || b * SMP_MFT_PER_BLOCK >= f->mft_cap)
		return NULL;
	if (!f->mft[b])
		f->mft[b] = calloc(1, sizeof(*f->mft[b]));
	if (b >= f->mft_end)
		f->mft_end = b + 1;
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

bool sm_mft_prunable(const struct sm_mft_block *b, unsigned int pos)
{
	for (unsigned int i = 0; i < SMP_MFT_PER_BLOCK && b->known >> pos & 1; i++) {
		if (sm_mask_position(b->have[i], pos) & ~sm_mask_position(b->want[i], pos))
			return true;
	}
	return false;
}

void sm_mft_next(const struct sm_mft_block *b, unsigned int pos, bool pruned,
		 uint16_t ret[SMP_MFT_PER_BLOCK])
{
	for (unsigned int i = 0; i < SMP_MFT_PER_BLOCK; i++)
		ret[i] = sm_mask_position(b->want[i], pos) &
			 (pruned ? UINT16_MAX : sm_mask_position(b->have[i], pos));
}

bool sm_mft_has(const struct sm_mft_block *b, unsigned int pos,
		const uint16_t read[SMP_MFT_PER_BLOCK])
{
	for (unsigned int i = 0; i < SMP_MFT_PER_BLOCK; i++) {
		if (sm_mask_position(b->have[i], pos) != read[i])
			return false;
	}
	return true;
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

bool sm_fdb_written(const struct sm_fdb *f)
{
	for (uint32_t b = 0; b < sm_fdb_lft_blocks(f); b++) {
		if (!f->lft_known[b])
			return false;
	}
	for (unsigned int b = 0; b < f->mft_end; b++) {
		for (unsigned int pos = 0; f->mft[b] && pos < sm_fdb_positions(f); pos++) {
			if (sm_mft_dirty(f->mft[b], pos))
				return false;
		}
	}
	return f->lft;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SUBNET_FDB_H
#define SUBNET_FDB_H

/*
 * The entries of a switch's forwarding tables that the switch has acknowledged, and the entries that the tables
 * should have. The databases of successive sweeps share one struct sm_fdb for each switch, so that only differences
 * are written, and a table that did not change is stored only once.
 */

#include <stdbool.h>
#include <stdint.h>

#include "wire/smp.h"

/* number of MFT blocks, limited by the 9 bits in the attribute modifier */
#define SM_MFT_BLOCKS 512
#define SM_MFT_POSITIONS 16

/* A linear forwarding table. struct sm_switch and struct sm_fdb have references to the same table. */
struct sm_lft {
	unsigned int refs;
	uint32_t blocks;
	uint8_t port[]; /* egress port of each LID, [blocks * 64]; SMP_LFT_NONE: none */
};

/* sm_lft_create() - Make an empty LFT for LIDs 0 .. @top. Return: NULL if memory ran out */
struct sm_lft *sm_lft_create(uint16_t top);
struct sm_lft *sm_lft_get(struct sm_lft *t);
void sm_lft_put(struct sm_lft *t); /* NULL is accepted */

/* One MFT block: 32 MLIDs with a port mask each. */
struct sm_mft_block {
	uint64_t want[SMP_MFT_PER_BLOCK][4];
	uint64_t have[SMP_MFT_PER_BLOCK][4];
	/*
	 * a bit for each position of the mask (16 ports each): 1 if have[] has the switch's entries at this position
	 */
	uint16_t known;
};

struct sm_fdb {
	unsigned int refs;
	uint64_t guid; /* node GUID of the switch */
	uint8_t nports;
	uint16_t mft_cap; /* number of MLIDs that the MFT holds */
	struct sm_lft *lft; /* LFT that the switch should have; NULL: not computed yet */
	/* true for blocks of .lft that the switch has acknowledged, [lft_room >= .lft->blocks] */
	bool *lft_known;
	uint32_t lft_room;
	struct sm_mft_block *mft[SM_MFT_BLOCKS]; /* MFT blocks; NULL: the block was never used */
	unsigned int mft_end; /* number of the block after the last block that was ever used */
};

struct sm_fdb *sm_fdb_create(uint64_t guid, uint8_t nports);
struct sm_fdb *sm_fdb_get(struct sm_fdb *f);
void sm_fdb_put(struct sm_fdb *f);

/* sm_fdb_forget() - Mark all tables as unknown, because the switch was reset */
void sm_fdb_forget(struct sm_fdb *f);

/*
 * sm_fdb_lft_set() - Make @t the LFT that the switch should have. Blocks in which @t differs from
 * the previous LFT then count as not acknowledged
 * @t:	if the previous LFT is equal, the function frees @t and returns the previous LFT in its
 *	place
 *
 * Return: 0, and @f has a reference of its own; -ENOMEM
 */
int sm_fdb_lft_set(struct sm_fdb *f, struct sm_lft **t);

/* sm_fdb_lft_blocks() - Return the number of blocks of the LFT that the switch should have */
static inline uint32_t sm_fdb_lft_blocks(const struct sm_fdb *f)
{
	return f->lft ? f->lft->blocks : 0;
}

/*
 * sm_fdb_written() - Tell whether an LFT was computed for the switch, and the switch has
 * acknowledged all entries of this LFT and of its MFT
 */
bool sm_fdb_written(const struct sm_fdb *f);

static inline unsigned int sm_fdb_positions(const struct sm_fdb *f)
{
	return (f->nports + 16u) / 16;
}

/*
 * sm_fdb_block() - Get or make block @b. Return: NULL if memory ran out or the MFT of the switch
 * has no such block
 */
struct sm_mft_block *sm_fdb_block(struct sm_fdb *f, unsigned int b);

/* Get the 16 ports of a position from a 256-bit port mask. */
static inline uint16_t sm_mask_position(const uint64_t mask[4], unsigned int pos)
{
	return (uint16_t)(mask[pos / 4] >> (pos % 4 * 16));
}

/* sm_mft_dirty() - Tell whether @pos of the block has to be written */
bool sm_mft_dirty(const struct sm_mft_block *b, unsigned int pos);

/* sm_mft_prunable() - Tell whether the switch's entries at @pos contain ports that are not wanted */
bool sm_mft_prunable(const struct sm_mft_block *b, unsigned int pos);

/*
 * sm_mft_next() - Get the entries to write to @pos. If @pruned, these are the wanted entries.
 * Otherwise they only remove ports from the entries of the switch: each entry has those wanted
 * ports that the switch's entry has already
 */
void sm_mft_next(const struct sm_mft_block *b, unsigned int pos, bool pruned,
		 uint16_t ret[SMP_MFT_PER_BLOCK]);

/*
 * sm_mft_has() - Tell whether @read, the entries that were read from the switch at @pos, are the
 * entries that the block has recorded for the switch
 */
bool sm_mft_has(const struct sm_mft_block *b, unsigned int pos,
		const uint16_t read[SMP_MFT_PER_BLOCK]);

/* sm_mft_acked() - Record that the switch has acknowledged @sent for @pos */
void sm_mft_acked(struct sm_mft_block *b, unsigned int pos, const uint16_t sent[SMP_MFT_PER_BLOCK]);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SM_FDB_H
#define SM_FDB_H

/*
 * What a switch's forwarding tables hold as far as it acknowledged them, and what
 * its MFT should hold. Shared by the databases of successive sweeps, so that only
 * differences are written.
 */

#include <stdbool.h>
#include <stdint.h>

#include "wire/smp.h"

#define SM_MFT_BLOCKS 512 /* 9 bits of the attribute modifier */
#define SM_MFT_POSITIONS 16

/* One block: 32 MLIDs, a port mask each. */
struct sm_mft_block {
	uint64_t want[SMP_MFT_PER_BLOCK][4];
	uint64_t have[SMP_MFT_PER_BLOCK][4];
	uint16_t known; /* bit per position: have[] is what the switch holds */
};

struct sm_fdb {
	unsigned int refs;
	uint64_t guid; /* of the node */
	uint8_t nports;
	uint16_t mft_cap; /* MLIDs */
	uint8_t *lft; /* [lft_blocks * 64] as acknowledged */
	bool *lft_known; /* [lft_blocks] */
	uint32_t lft_blocks;
	struct sm_mft_block *mft[SM_MFT_BLOCKS]; /* NULL: never used */
};

struct sm_fdb *sm_fdb_create(uint64_t guid, uint8_t nports);
struct sm_fdb *sm_fdb_get(struct sm_fdb *f);
void sm_fdb_put(struct sm_fdb *f);

/* sm_fdb_forget() - The switch was reset: nothing is known of its tables */
void sm_fdb_forget(struct sm_fdb *f);

/* sm_fdb_lft_room() - Room for LIDs 0 .. @top. 0 or -ENOMEM */
int sm_fdb_lft_room(struct sm_fdb *f, uint16_t top);

static inline unsigned int sm_fdb_positions(const struct sm_fdb *f)
{
	return (f->nports + 16u) / 16;
}

/* sm_fdb_block() - Block @b, made if it does not exist; NULL: no memory or beyond the switch's capacity */
struct sm_mft_block *sm_fdb_block(struct sm_fdb *f, unsigned int b);

/* The 16 ports of a position in a 256-bit port mask. */
static inline uint16_t sm_mask_position(const uint64_t mask[4], unsigned int pos)
{
	return (uint16_t)(mask[pos / 4] >> (pos % 4 * 16));
}

/* sm_mft_dirty() - @pos of the block is not what it should be */
bool sm_mft_dirty(const struct sm_mft_block *b, unsigned int pos);

/* sm_mft_acked() - The switch took @sent for @pos */
void sm_mft_acked(struct sm_mft_block *b, unsigned int pos, const uint16_t sent[SMP_MFT_PER_BLOCK]);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IPOIB_SLOTS_H
#define IPOIB_SLOTS_H

/*
 * Allocator of indices into a table of fixed size. Freed indices are used first, so that memory at
 * the end of the table is not written until it is needed.
 */

#include <errno.h>
#include <stdint.h>

struct ipoib_slots {
	uint32_t *free; /* stack of the indices that ipoib_slots_put() gave back */
	/*
	 * .nfree: number of indices in .free; .top: the first index that was never used; .max:
	 * size of the table
	 */
	uint32_t nfree, top, max;
};

#define IPOIB_NO_SLOT UINT32_MAX

int ipoib_slots_init(struct ipoib_slots *s, uint32_t max);
void ipoib_slots_fini(struct ipoib_slots *s);

/* ipoib_slots_get() - Allocate an index; IPOIB_NO_SLOT: the table is full */
uint32_t ipoib_slots_get(struct ipoib_slots *s);
void ipoib_slots_put(struct ipoib_slots *s, uint32_t slot);

static inline uint32_t ipoib_slots_used(const struct ipoib_slots *s)
{
	return s->top - s->nfree;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IPOIB_SLOTS_H
#define IPOIB_SLOTS_H

/* Numbers of free places in a table that was sized at start. Untouched places stay untouched. */

#include <errno.h>
#include <stdint.h>

struct ipoib_slots {
	uint32_t *free; /* stack of given back numbers */
	uint32_t nfree, top, max; /* numbers below top have been used */
};

#define IPOIB_NO_SLOT UINT32_MAX

int ipoib_slots_init(struct ipoib_slots *s, uint32_t max);
void ipoib_slots_fini(struct ipoib_slots *s);

/* ipoib_slots_get() - A number, or IPOIB_NO_SLOT */
uint32_t ipoib_slots_get(struct ipoib_slots *s);
void ipoib_slots_put(struct ipoib_slots *s, uint32_t slot);

static inline uint32_t ipoib_slots_used(const struct ipoib_slots *s)
{
	return s->top - s->nfree;
}

#endif

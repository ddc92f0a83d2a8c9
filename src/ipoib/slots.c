/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/slots.h"

#include <assert.h>
#include <stdlib.h>

int ipoib_slots_init(struct ipoib_slots *s, uint32_t max)
{
	*s = (struct ipoib_slots){ .max = max };
	s->free = malloc(max * sizeof(*s->free));
	return s->free ? 0 : -ENOMEM;
}

void ipoib_slots_fini(struct ipoib_slots *s)
{
	free(s->free);
}

uint32_t ipoib_slots_get(struct ipoib_slots *s)
{
	if (s->nfree)
		return s->free[--s->nfree];
	return s->top < s->max ? s->top++ : IPOIB_NO_SLOT;
}

void ipoib_slots_put(struct ipoib_slots *s, uint32_t slot)
{
	assert(slot < s->top && s->nfree < s->top);
	s->free[s->nfree++] = slot;
}

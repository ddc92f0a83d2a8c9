/* SPDX-License-Identifier: BSD-2-Clause */
#include "os/yield.h"

bool yield_wrote(struct yield *y, unsigned int n, ns_t now)
{
	y->datagrams += n;
	if (y->datagrams < YIELD_DATAGRAMS)
		return false;
	y->datagrams = 0;
	return now >= y->off_until;
}

void yield_took(struct yield *y, ns_t took, ns_t now)
{
	if (took > YIELD_LONG)
		y->off_until = now + YIELD_PAUSE * took;
}

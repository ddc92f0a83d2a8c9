/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/pace.h"

#include <stdio.h>

/*
 * The generic cell rate algorithm: .due lies in the future by one interval for each use that the
 * allowance has not regained yet.
 */

static ns_t earliest(const struct pace *p, unsigned int burst, ns_t every)
{
	ns_t ahead = (burst - 1) * every;

	return p->due > ahead ? p->due - ahead : 0;
}

static void use(struct pace *p, ns_t every, ns_t now)
{
	p->due = (p->due > now ? p->due : now) + every;
}

bool pace_take(struct pace *p, unsigned int burst, ns_t every, ns_t now)
{
	if (earliest(p, burst, every) > now)
		return false;
	use(p, every, now);
	return true;
}

ns_t pace_promise(struct pace *p, unsigned int burst, ns_t every, ns_t now)
{
	ns_t at = earliest(p, burst, every);

	if (p->promised > now)
		return p->promised;
	use(p, every, now);
	p->promised = at > now ? at : now;
	return p->promised;
}

bool pace_line(struct pace_lines *l, unsigned int burst, ns_t every, ns_t now, char ret[PACE_LINE])
{
	ret[0] = 0;
	if (!pace_take(&l->pace, burst, every, now)) {
		l->left_out += l->left_out < UINT32_MAX;
		return false;
	}
	if (l->left_out)
		snprintf(ret, PACE_LINE, "; %u such lines were left out", l->left_out);
	l->left_out = 0;
	return true;
}

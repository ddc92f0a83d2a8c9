/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/pace.h"

/* The generic cell rate algorithm: @due runs ahead of now by what was used and is not paid for yet. */

static ns_t earliest(const struct sm_pace *p, unsigned int burst, ns_t every)
{
	ns_t ahead = (burst - 1) * every;

	return p->due > ahead ? p->due - ahead : 0;
}

static void use(struct sm_pace *p, ns_t every, ns_t now)
{
	p->due = (p->due > now ? p->due : now) + every;
}

bool sm_pace_take(struct sm_pace *p, unsigned int burst, ns_t every, ns_t now)
{
	if (earliest(p, burst, every) > now)
		return false;
	use(p, every, now);
	return true;
}

ns_t sm_pace_promise(struct sm_pace *p, unsigned int burst, ns_t every, ns_t now)
{
	ns_t at = earliest(p, burst, every);

	if (p->promised > now)
		return p->promised;
	use(p, every, now);
	p->promised = at > now ? at : now;
	return p->promised;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "helper/follow_ask.h"

/* least time between an answer of the helper process and the next question to it */
#define GAP NS_MSEC(50)
/* interval between questions to the helper process while the namespace does not exist */
#define LOOK NS_SEC(1)
/* interval between questions to the helper process while the namespace exists */
#define LOOK_PRESENT NS_SEC(10)
#define BACKOFF_MIN NS_MSEC(100)
#define BACKOFF_MAX NS_SEC(10)
/* if the namespace was present for this time, the number of its losses starts from 1 again */
#define STEADY NS_SEC(60)

void follow_init(struct follow *f, ns_t now)
{
	*f = (struct follow){
		.gen = 1,
		.present = true,
		.came = now,
		.look_at = now + LOOK_PRESENT,
	};
}

void follow_event(struct follow *f)
{
	f->event = true;
}

ns_t follow_next(const struct follow *f)
{
	if (f->asked)
		return NS_NEVER;
	if (f->event)
		return f->not_before;
	return ns_max(f->look_at, f->not_before);
}

uint32_t follow_asked(struct follow *f)
{
	f->asked = true;
	f->event = false;
	return f->present ? f->gen : 0;
}

static void lost(struct follow *f, ns_t now)
{
	f->losses = now - f->came >= STEADY ? 1 : f->losses + 1;
	f->present = false;
	f->not_before = now + ns_backoff(f->losses, BACKOFF_MIN, BACKOFF_MAX);
	/*
	 * ask as soon as the back-off is over, because another namespace may have the name already
	 */
	f->look_at = now;
}

enum follow_change follow_answered(struct follow *f, int gen, ns_t now)
{
	f->asked = false;
	f->not_before = now + GAP;
	f->look_at = now + (f->present ? LOOK_PRESENT : LOOK);
	if (gen < 0) {
		/*
		 * The helper process could not tell whether the namespace has changed, so ask
		 * again.
		 */
		f->event = true;
		f->not_before = now + LOOK;
		return FOLLOW_SAME;
	}
	if (f->present && (uint32_t)gen != f->gen) {
		lost(f, now);
		return FOLLOW_LOST;
	}
	if (!gen || f->present)
		return FOLLOW_SAME;
	f->gen = (uint32_t)gen;
	f->present = true;
	f->came = now;
	f->look_at = now + LOOK_PRESENT;
	return FOLLOW_CAME;
}

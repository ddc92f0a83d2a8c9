/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SM_PACE_H
#define SM_PACE_H

/*
 * DOC: Traps of those who do not keep to 13.4.9
 *
 * An SMA repeats a trap once per SubnetTimeOut at most. Whoever keeps to that gets a sweep, a line in the log and
 * Reports to the subscribers for each of its traps, as they come. Who sends more, by fault or by malice, has an
 * allowance of its own and cannot use up that of others: a sweep that it asks for too often is put off, never
 * forgotten; what it says too often is repressed and counted, but not passed on.
 *
 * Sources are the LIDs that traps come from, not what traps say; those that are nobody's share one allowance.
 *
 * The SA holds ports to the same: groups that they have made (each is a row of trees, traps 66 and 67 to
 * everybody), and lines about their joins in the log.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/timer.h"

struct sm_pace {
	ns_t due; /* when all that was used is paid for */
	ns_t promised;
};

/* What a port may still cause. */
struct sm_source {
	struct sm_pace sweeps, reports; /* by traps */
	struct sm_pace groups, refusals; /* by joins */
	uint32_t refusals_unsaid;
	uint32_t unproven; /* Reports under way to subscriptions of its that have not answered */
};

struct sm;

/* sm_source_of() - The allowance of the port that has @lid */
struct sm_source *sm_source_of(struct sm *sm, uint16_t lid);

/* sm_pace_take() - One more, of @burst at once and one each @every; false: too many */
bool sm_pace_take(struct sm_pace *p, unsigned int burst, ns_t every, ns_t now);

/* sm_pace_promise() - When it may be: @now or later. Who asks before then is told the same time. */
ns_t sm_pace_promise(struct sm_pace *p, unsigned int burst, ns_t every, ns_t now);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SUBNET_SOURCE_H
#define SUBNET_SOURCE_H

/*
 * DOC: Limits of the work that one port can cause
 *
 * An SMA repeats a trap at most once per SubnetTimeOut (IBTA 13.4.9). Each trap of a compliant port
 * immediately causes a sweep, a log line, and Reports to the subscribers. A port that sends more
 * traps, by fault or by malice, must not affect other ports. So there are limits on the rates of
 * sweeps and of Reports that the traps of one port cause. A sweep above the limit is delayed, never
 * forgotten. A Report above the limit is not sent: the trap is answered with TrapRepress and
 * counted, but not passed on.
 *
 * A source is identified by the LID from which its traps come, not by their content. All LIDs that
 * no port has count as one source.
 *
 * In the same way, the SA limits the rate at which a port makes groups. For each group, the SM has
 * to compute a tree, and the SA has to report traps 66 and 67 to all subscribers. The SA also
 * limits the log lines about refused joins of the port.
 */

#include <stdint.h>

#include "util/pace.h"

/* Rate limits and counters of one port. */
struct sm_source {
	struct pace sweeps, reports; /* limits of sweeps and Reports that the port's traps cause */
	struct pace groups; /* rate limit of new groups */
	struct pace_lines refusals; /* rate limit of log lines about refused joins */
	/*
	 * number of outstanding Reports to those subscriptions of the port that did not answer
	 * their last Report, or that have had no Report before
	 */
	uint32_t unproven;
};

struct sm;

/*
 * sm_source_of() - Return the limits and counters of the port that has @lid, or the limits and
 * counters that all unknown LIDs share
 */
struct sm_source *sm_source_of(struct sm *sm, uint16_t lid);

#endif

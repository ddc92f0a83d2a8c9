/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SUBNET_SOURCE_H
#define SUBNET_SOURCE_H

/*
 * DOC: Limits of the work that one port can cause
 *
 * An SMA repeats a trap at most once per SubnetTimeOut (13.4.9). Each trap of a compliant port
 * immediately causes a sweep, a log line, and Reports to the subscribers. A port that sends more
 * traps, by fault or by malice, has its own allowances, so that it does not affect other ports.
 * Sweeps beyond its allowance are delayed, never forgotten. Reports beyond its allowance are not
 * sent: the trap is repressed and counted, but not passed on.
 *
 * A source is identified by the LID from which its traps come, not by their content. All LIDs that
 * no port has share one allowance.
 *
 * The SA limits ports in the same way: the groups that they make (each costs a tree, and traps 66
 * and 67 to all subscribers), and log lines about their joins.
 */

#include <stdint.h>

#include "util/pace.h"

/* Allowances and counters of one port. */
struct sm_source {
	struct pace sweeps, reports; /* allowances of sweeps and Reports for the port's traps */
	struct pace groups; /* allowance of new groups */
	struct pace_lines refusals; /* log lines about refused joins */
	/*
	 * number of outstanding Reports to those subscriptions of the port that did not answer
	 * their last Report, or that have had no Report before
	 */
	uint32_t unproven;
};

struct sm;

/*
 * sm_source_of() - Return the allowances of the port that has @lid, or the allowances that unknown
 * LIDs share
 */
struct sm_source *sm_source_of(struct sm *sm, uint16_t lid);

#endif

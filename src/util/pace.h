/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_PACE_H
#define UTIL_PACE_H

/*
 * DOC: Allowances
 *
 * An allowance limits how much work others can cause in this process, such as answers to a peer or
 * lines in the log. It permits a burst of uses, and after the burst one use in each interval.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/timer.h"

#define PACE_LINE 48

struct pace {
	ns_t due; /* time at which the allowance is complete again if no more of it is used */
	ns_t promised; /* time that pace_promise() returned last */
};

/* Allowance for lines in the log */
struct pace_lines {
	struct pace pace;
	uint32_t left_out; /* number of lines that were not logged since the last logged line */
};

/*
 * pace_take() - Use the allowance once. The allowance has at most @burst uses, and regains one use
 * per interval @every. Return: false if the allowance is used up
 */
bool pace_take(struct pace *p, unsigned int burst, ns_t every, ns_t now);

/*
 * pace_promise() - Use the allowance once, possibly in advance. Return: the earliest time, @now or
 * later, at which the allowance permits this use. Further calls before that time return the same
 * time and use nothing
 */
ns_t pace_promise(struct pace *p, unsigned int burst, ns_t every, ns_t now);

/*
 * pace_line() - Tell whether a line may be logged; @burst and @every as for pace_take()
 * @ret:	end of the line, "; N such lines were left out", or ""
 *
 * A line that may not be logged is counted.
 */
bool pace_line(struct pace_lines *l, unsigned int burst, ns_t every, ns_t now, char ret[PACE_LINE]);

#endif

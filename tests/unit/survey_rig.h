/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SURVEY_RIG_H
#define TESTS_SURVEY_RIG_H

/*
 * A fabric that answers Gets: every node of a model (tests/check_rig.h) has the agents that the model describes, and a
 * directed route is followed port by port. A survey at the CA h1 reads it on virtual time.
 */

#include "check_rig.h"
#include "survey/survey.h"

struct rig {
	struct chk_fabric *real;
	uint32_t own; /* node at whose port the survey is */
	struct survey_cfg cfg;
	/*
	 * Requests to this node (by its name) for this attribute are lost, or are refused if .status is not 0. Node
	 * NULL: no request; attribute 0: all attributes
	 */
	const char *silent;
	uint16_t silent_attr, status;
	/*
	 * .times: number of requests that are lost or refused in this way (0: all); .hits: number of such requests so
	 * far
	 */
	unsigned int times, hits;
	/* called when the counters are read the second time */
	void (*between)(struct rig *r);
	/* may change an answer before it is delivered */
	void (*twist)(uint8_t *mad);
	/* results */
	ns_t now;
	unsigned int open, most_open;
	uint64_t most_in_100ms;
	struct survey_stats st;
};

void rig_init(struct rig *r, struct chk_fabric *real);
/* rig_read() - Read the fabric, and free the model from which the agents answer */
struct chk_fabric *rig_read(struct rig *r);

#endif

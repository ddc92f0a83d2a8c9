/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SURVEY_RIG_H
#define TESTS_SURVEY_RIG_H

/*
 * A fabric that answers Get requests. The rig follows directed routes port by port through a model
 * (tests/check_rig.h). Each node answers as the model describes. A survey that runs at the CA h1
 * reads this fabric on virtual time.
 */

#include "check_rig.h"
#include "survey/survey.h"

struct rig {
	struct chk_fabric *real;
	uint32_t own; /* index of the node at whose port the survey runs */
	struct survey_cfg cfg;
	/*
	 * .silent: name of a node (NULL: no request is lost or refused). .silent_attr: an attribute
	 * (0: all attributes). Requests for this attribute to this node are lost if .status is 0.
	 * Otherwise they are refused with the MAD status .status
	 */
	const char *silent;
	uint16_t silent_attr, status;
	/*
	 * .times: number of requests to lose or refuse (0: all). .hits: number of requests that
	 * were lost or refused so far
	 */
	unsigned int times, hits;
	/* called before the survey reads the counters the second time */
	void (*between)(struct rig *r);
	/* called with each answer before it is delivered, and may change it */
	void (*twist)(uint8_t *mad);
	/* results */
	ns_t now;
	unsigned int open, most_open;
	uint64_t most_in_100ms;
	struct survey_stats st;
};

void rig_init(struct rig *r, struct chk_fabric *real);
/*
 * rig_read() - Survey the fabric, and return the fabric that the survey has found. Free .real, by
 * which the agents have answered
 */
struct chk_fabric *rig_read(struct rig *r);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFORM_CONFORM_H
#define CONFORM_CONFORM_H

/*
 * DOC: A conformance suite for IPoIB
 *
 * The suite tests a device from outside, at one end of a UDP link (doc/udp-link.md). At the other
 * end is the device under test, the DUT: any implementation that has one CA port. The suite
 * simulates the rest of the InfiniBand subnet: a switch, the SM, the SA and peers with IPoIB
 * interfaces. The suite looks at the packets of the DUT, and judges these packets clause by clause.
 *
 * The directories world/, conform/ and clauses/ use the codecs of wire/, the functions of text/
 * that print packets, and the state machine of udp/ for the link. They do not use ipoib/, eth/,
 * sac/, sidr/, sm/ and sa/, which a DUT built from this repository uses. A fault in shared code
 * would be the same in the suite and in the DUT, so the suite would not notice the fault.
 *
 *	world/world.h	the subnet: link, log of packets, waiting; sm.h, sa.h, peer.h: its SM, its SA, its peers
 *	conform/case.h	definition of a case and of a profile, and the functions with which cases judge
 *	clauses/	the chapters, a file each; profile.h: for each link profile its chapters, and the clauses that
 *			cannot be seen from outside
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "world/world.h"

struct conform_profile; /* case.h */

struct conform_cfg {
	/*
	 * configuration of the simulated subnet; world.wire is ignored, because .profile
	 * sets it
	 */
	struct world_cfg world;
	/* ids of clauses or cases, ending with NULL; a NULL pointer selects all */
	const char *const *clauses;
	const struct conform_profile *profile; /* a row of the table in clauses/profile.h */
	bool slow; /* also run the cases that take minutes */
};

enum conform_verdict {
	CONFORM_NOT_RUN,
	CONFORM_PASS,
	CONFORM_FAIL,
	CONFORM_INCONCLUSIVE, /* the case could not judge the DUT, because a condition for the test was not met */
	CONFORM_NA, /* the clause does not apply to this DUT */
};
const char *conform_verdict_name(enum conform_verdict v);

struct conform_case;

/* A whole packet, from LRH to VCRC, for reports */
struct conform_octets {
	uint8_t *data; /* allocated; NULL if there is no packet */
	size_t len;
};

struct conform_result {
	const struct conform_case *c;
	enum conform_verdict verdict;
	unsigned int checked; /* packets, or other events, that were judged */
	char why[400]; /* for FAIL: the fault; for INCONCLUSIVE and NA: the reason */
	/* result of the case whose failure explains this failure; NULL if there is none */
	const struct conform_result *because;
	/* for FAIL: the packet with the fault, and the packet that would have been right */
	struct conform_octets seen, expected;
	bool exempt; /* the verdict is NA because the case is in .exempt of the DUT's profile */
	uint64_t first, last; /* numbers of the first and last packet of this case in the log */
};

struct conform_report {
	struct conform_result *v;
	size_t n;
	bool interrupted;
	ns_t took;
	/*
	 * packets: number of packets that the DUT sent; overwritten: number of these packets that
	 * later packets have replaced in the log before the report was written
	 */
	uint64_t packets, overwritten;
};

/*
 * conform_run() - Run the cases that @cfg selects, and the cases on which these depend
 * @progress:	called for each result as soon as the case has ended; may be NULL
 *
 * Return: 0 and a report, also if the DUT never answered or the user interrupted the run; -ENOENT:
 * @ret_unknown is a word in @cfg->clauses that names no case; -ENOMEM
 */
int conform_run(struct conform_report *ret, const struct conform_cfg *cfg,
		const struct world_io *io,
		void (*progress)(void *ctx, const struct conform_result *r), void *ctx,
		const char **ret_unknown);
void conform_report_fini(struct conform_report *r);

/* conform_count() - Return: the number of results with this verdict */
size_t conform_count(const struct conform_report *r, enum conform_verdict v);

/* --- output */

void conform_print_result(FILE *f, const struct conform_result *r);
/*
 * conform_print_summary() - Print each failure in detail: the octets sent and expected side by
 * side, and the earlier failure that explains this failure
 */
void conform_print_summary(FILE *f, const struct conform_report *r);
void conform_print_json(FILE *f, const struct conform_report *r);
void conform_print_junit(FILE *f, const struct conform_report *r);

#endif

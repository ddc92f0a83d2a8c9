/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

/*
 * DOC: Findings
 *
 * chk_run() looks for faults in a fabric (check/model.h) and returns a list of findings. A finding
 * is either a fault, or a note about something that may be intended. It names its place in the
 * fabric. For each kind of finding, chk_kind_info() returns the reason why it matters, and the
 * action that the user should take. Only faults make `uipoib fabric check` fail.
 */

#include "check/model.h"
#include "partition/partition.h"

enum chk_kind {
	/* reading */
	CHK_NO_ANSWER,
	CHK_REFUSED,
	CHK_CUT,
	/* identity */
	CHK_SAME_NODE_GUID,
	CHK_SAME_PORT_GUID,
	CHK_SAME_LID,
	CHK_NO_LID,
	/* links */
	CHK_NOT_ACTIVE,
	CHK_SLOW,
	CHK_NARROW,
	CHK_LIMITED,
	CHK_MTU_DIFFERS,
	CHK_OTHER_SM,
	CHK_TWO_MASTERS,
	/* unicast */
	CHK_LFT_LOOP,
	CHK_LFT_HOLE,
	CHK_LFT_HOLE_APART,
	CHK_LFT_DEAD_END,
	CHK_CREDIT_LOOP,
	CHK_CREDIT_LOOP_BY_VL,
	/* multicast */
	CHK_MFT_LOOP,
	CHK_MFT_SPLIT,
	CHK_MFT_DEAD_END,
	CHK_MFT_MISSES,
	/* partitions */
	CHK_PKEY_MISSING,
	CHK_PKEY_EXTRA,
	CHK_PKEY_ENFORCED,
	/* counters */
	CHK_COUNTER_GROWS,
	CHK_COUNTER_MOVES,
	CHK_COUNTER_FULL,
	CHK_KINDS,
};

struct chk_kind_info {
	const char *name; /* a word, as in JSON: "lft-loop" */
	bool note; /* true for a note about something that may be intended */
	const char *why; /* one sentence that says why findings of this kind matter */
	const char *todo; /* one sentence: what the user should do */
};
const struct chk_kind_info *chk_kind_info(enum chk_kind kind);

#define CHK_WHERE_MAX 256
#define CHK_WHAT_MAX 480
struct chk_finding {
	enum chk_kind kind;
	/* GUID of the node that .where names; 0 if the finding is about several nodes */
	uint64_t guid;
	/*
	 * number that distinguishes findings of one kind at one place, such as an MLID, a LID or a P_Key; 0: only
	 * one finding of the kind is possible at the place
	 */
	uint64_t about;
	/* place of the finding: a node, a port as NODE/PORT, or a link; names are not escaped */
	char where[CHK_WHERE_MAX];
	/* the finding as a sentence without a full stop; names are not escaped */
	char what[CHK_WHAT_MAX];
};

/* Two ports of a switch that a route uses: packets come in at port .in and leave by port .out. */
struct chk_turn {
	uint32_t node;
	uint8_t in, out;
};

/*
 * An edge of a credit loop: packets that left by port .hold.out wait until port .want.out is free.
 * .slid and .dlid are the LIDs of a path on which packets wait in this way
 */
struct chk_wait {
	struct chk_turn hold, want;
	uint16_t slid, dlid;
};
#define CHK_WAITS_MAX 64

/*
 * chk_credit_waits() - List the waits of a credit loop. The caller can then read the data that
 * decides which virtual lanes the loop occupies: for each wait, SLtoVL at both switches, and the SL
 * of the path (chk_add_path()).
 *
 * Return: number of waits in @ret; 0 for one of these reasons:
 *  - There is no credit loop.
 *  - The loop can be judged without this data.
 *  - The loop is longer than @ret.
 *  - Memory ran out.
 */
uint32_t chk_credit_waits(const struct chk_fabric *f, struct chk_wait ret[CHK_WAITS_MAX]);

#define CHK_FINDINGS_MAX 10000
struct chk_report {
	struct chk_finding *finding;
	uint32_t n;
	uint32_t left_out; /* findings for which there was no room or no memory */
	uint32_t faults, notes; /* numbers of findings, including those left out */
	/*
	 * number of switches visited while routes were followed to find credit loops; tests use it
	 * as a measure of the work
	 */
	uint64_t steps;
};

struct chk_opts {
	const struct sm_partitions *partitions; /* P_Keys that ports should have; NULL: unknown */
};

/*
 * chk_run() - Run all checks on @f. Return: 0; -ENOMEM. In both cases the report is valid, and the caller frees it
 * with chk_report_fini()
 */
int chk_run(const struct chk_fabric *f, const struct chk_opts *o, struct chk_report *ret);
void chk_report_fini(struct chk_report *r);

/*
 * chk_report_confirm() - Remove from @r the findings that @again, the report of a later reading of
 * the same fabric, does not contain. The removed findings were about states that did not last. Two
 * findings are the same if kind, place and .about are equal. Texts are not compared, because the
 * numbers in the texts change. Findings about growth of counters stay, because each of them follows
 * from two readings already. If one of the reports is not complete, no finding is removed. The
 * function sorts @again
 */
void chk_report_confirm(struct chk_report *r, struct chk_report *again);

#endif

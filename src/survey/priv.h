/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SURVEY_PRIV_H
#define SURVEY_PRIV_H

#include "survey/survey.h"

enum ask {
	/*
	 * NodeInfo of the node behind .port of .node; if .node is CHK_NO_NODE, NodeInfo of the node
	 * from which the survey sends
	 */
	ASK_NODE_INFO,
	ASK_NODE_DESC,
	ASK_SWITCH_INFO,
	ASK_PORT_INFO, /* .port of the task is the first port */
	ASK_LFT,
	/*
	 * .step counts all blocks of MLIDs for position 0 (ports 0 to 15), then all blocks for
	 * position 1 (ports 16 to 31), and so on
	 */
	ASK_MFT,
	ASK_PKEYS,
	ASK_SLTOVL, /* .port is the egress port, and .blocks the ingress port */
	ASK_COUNTERS, /* .port of the task is the first port */
	ASK_SM_INFO,
};

/*
 * A task is a series of requests of one kind to one node, for a whole table or for several
 * successive ports. The number of the next request, counted from 0, is .step.
 */
struct task {
	struct task *next;
	uint32_t node;
	uint8_t port;
	enum ask ask;
	uint32_t step, count;
	uint32_t blocks; /* for an MFT: number of blocks of each position */
};

/*
 * A request that was sent and has no answer yet, with the members of its task that are needed to
 * handle the answer
 */
struct open {
	bool used;
	uint32_t tid;
	uint32_t node, step, blocks;
	uint8_t port;
	enum ask ask;
	uint16_t attr;
	uint32_t mod;
	uint8_t qpn;
	ns_t until;
	unsigned int busy; /* number of times that the agent has answered that it is busy */
	/* time at which the request is sent again to a busy agent; 0: an answer is still awaited */
	ns_t again;
};

enum phase { DISCOVER, COUNT, TABLES, WAIT, COUNT_AGAIN, GROUPS, LANES, DONE };

struct survey {
	struct survey_cfg cfg;
	struct chk_fabric *f;
	enum phase phase;
	struct task *first, *last; /* queue of the tasks whose requests are not sent yet */
	uint32_t ntasks;
	struct open open[SURVEY_WINDOW_MAX];
	unsigned int nopen;
	uint32_t seq;
	/* time limit of the survey, after which no request is sent; 0: no request was sent yet */
	ns_t end;
	ns_t not_before; /* time at which the rate limit .per_second allows the next request */
	ns_t counted; /* time at which the first reading of counters ended */
	ns_t now; /* time at which the answer that is being handled arrived */
	struct survey_stats st;
};

/* --- requests: ask.c */

/*
 * ask_fill() - Write the request that .ask, .node, .port, .step and .blocks of @o describe, and set
 * .attr, .mod and .qpn of @o. Return: false if the request cannot be sent; this does not count as a
 * loss
 */
bool ask_fill(const struct survey *s, struct open *o, struct survey_mad *ret);
/* ask_add() - Queue a task. If there is no memory for the task, set .cut of the fabric */
void ask_add(struct survey *s, enum ask ask, uint32_t node, uint8_t port, uint32_t count,
	     uint32_t blocks);

/*
 * --- answers: answer.c. @data has the 64 octets of an SMP's attribute, or all octets behind the header in a MAD of
 * another class
 */

void answer(struct survey *s, const struct open *o, const uint8_t *data);
/*
 * answer_none() - Process the outcome of a request that got no data: no answer came (@status 0), or
 * an answer with the error @status
 */
void answer_none(struct survey *s, const struct open *o, uint16_t status);
/*
 * answer_unknown() - Mark the data that are missing in the fabric because a request of this kind has no answer, or
 * was not sent
 */
void answer_unknown(struct survey *s, enum ask ask, uint32_t node, uint8_t port);
/* answer_unasked() - Treat all the remaining requests of a task as requests without an answer */
void answer_unasked(struct survey *s, const struct task *t);
/* answer_twins() - Find the links whose ends contradict each other, after all links were followed */
void answer_twins(struct survey *s);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SURVEY_SURVEY_H
#define SURVEY_SURVEY_H

/*
 * DOC: Reading a fabric by Gets
 *
 * A survey reads a live fabric into the model of check/model.h, by Get requests of subnet management (directed
 * routes) and of performance management (by LID). Gets change nothing in the fabric. The survey does no I/O itself:
 * survey_next() returns requests, limited by a window and by a rate, and survey_recv() processes the answers. The
 * caller sends and receives. The caller also repeats requests, and reports a request as lost when all repetitions have failed.
 *
 *	discover	NodeInfo and PortInfo, breadth first; each port whose link is up leads to a further node
 *	first count	PortCounters of all ports that are up
 *	tables		LFTs, P_Key tables, SMInfo of the ports that report a subnet manager (IsSM)
 *	second count	PortCounters again, not sooner than .counter_ms after the first
 *	groups		MFTs: at the end, so that the SA can be asked for the members at nearly the same time (survey/sa.h)
 *	lanes		if there is a credit loop, the SLtoVL tables on which the loop depends
 *
 * Requests that were lost or refused are added to the fabric's list of silences. An agent that is busy is asked again
 * three times. The memory is bounded by .octets_max, and the time by .within, however many switches a device pretends
 * to have.
 */

#include "check/model.h"
#include "util/timer.h"
#include "wire/mad.h"

#define SURVEY_WINDOW_MAX 128

struct survey_cfg {
	unsigned int window; /* requests open at once, 1 to SURVEY_WINDOW_MAX */
	unsigned int per_second; /* largest number of requests a second, at least 1 */
	/*
	 * time after which a request without an answer counts as lost, even if the transport has not reported the
	 * loss
	 */
	ns_t patience;
	ns_t within; /* time, counted from the first request, after which no more requests are sent */
	uint64_t mkey; /* M_Key of the requests */
	bool counters; /* read counters twice */
	unsigned int counter_ms; /* least time between the two readings of counters */
	size_t octets_max; /* largest number of octets of the fabric's data */
};
struct survey_cfg survey_cfg_default(void);
/*
 * survey_cfg_again() - Return the configuration for a second reading of the fabric, which confirms
 * the findings of the first. The second reading does not wait between its two counts of the
 * counters. It reads the counters only to confirm which agents do not answer, because findings
 * about the growth of counters need no confirmation
 */
struct survey_cfg survey_cfg_again(const struct survey_cfg *cfg);

/* A request to be sent */
struct survey_mad {
	uint8_t mad[MAD_LEN];
	uint8_t qpn; /* number of the queue pair at both ends, 0 or 1 */
	uint16_t dlid; /* destination LID; IB_LID_PERMISSIVE if the request has a directed route */
};

/*
 * survey_fits() - Tell whether @mad, which has at least the 24 octets of the MAD header, belongs to
 * a request of this class, TID, attribute and modifier: @mad is the request itself, or the answer.
 * The transport may have changed the upper half of the TID
 */
static inline bool survey_fits(const void *mad, uint8_t mgmt_class, uint32_t tid, uint16_t attr,
			       uint32_t mod)
{
	return mad_class(mad) == mgmt_class && (uint32_t)mad_tid(mad) == tid &&
	       mad_attr(mad) == attr && mad_attr_mod(mad) == mod;
}

struct survey_stats {
	uint64_t sent, answered, refused, lost;
	/* number of answers with the status busy; after each such answer the request was repeated */
	uint64_t busy;
	/*
	 * number of received MADs that answer no open request, or whose length or attribute does
	 * not fit the request
	 */
	uint64_t unexpected;
};

struct survey;

/* survey_create() - Begin to read a fabric. Return: NULL if out of memory */
struct survey *survey_create(const struct survey_cfg *cfg);
/* survey_free() - Free a survey, or NULL */
void survey_free(struct survey *s);

/*
 * survey_next() - Return: true: *@ret must be sent now; false: there is nothing to send until a MAD arrives or until
 * survey_deadline()
 */
bool survey_next(struct survey *s, struct survey_mad *ret, ns_t now);
/* survey_recv() - Process a received MAD. A MAD that does not answer an open request is counted and ignored */
void survey_recv(struct survey *s, const void *mad, size_t len, ns_t now);
/*
 * survey_lost() - Record that the transport has given up a request, of which @mad has at least the
 * 24 octets of the header
 */
void survey_lost(struct survey *s, const void *mad, size_t len, ns_t now);
/*
 * survey_deadline() - Return the time at which survey_next() must be called even if no MAD arrives; NS_NEVER: there
 * is no such time
 */
ns_t survey_deadline(const struct survey *s);

bool survey_done(const struct survey *s);
const struct survey_stats *survey_stats(const struct survey *s);
/* survey_take() - Return the part of the fabric that was read; the caller frees it with chk_fabric_free() */
struct chk_fabric *survey_take(struct survey *s);

#endif

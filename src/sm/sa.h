/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SM_SA_H
#define SM_SA_H

/*
 * DOC: Subnet administration
 *
 * What the master SM knows, for clients that ask by MADs of class 0x03 on QP1 (IBTA volume 1,
 * chapter 15): PathRecord and MultiPathRecord, MCMemberRecord, NodeRecord, PortInfoRecord, LinkRecord,
 * SMInfoRecord, SwitchInfoRecord, the records of LFT, MFT, P_Key, SLtoVL, VL arbitration and GUID tables,
 * ServiceRecord, InformInfo with its Reports, InformInfoRecord, ClassPortInfo.
 *
 * Silence. A request is answered only by a master that has published a database, and only
 * to a port of that database. The rest is dropped and counted, as OpenSM does: clients repeat what was not
 * answered after a few hundred milliseconds, but take an answer Busy (0x0001) as the end of their query.
 * The same goes for requests that find a bound of this SA reached.
 *
 * Trust. A request whose SM_Key is the SM's is trusted. One with none (0) sees only ports and groups with which
 * its port shares a P_Key, and no M_Keys, ServiceKeys or members of groups. Any other
 * SM_Key is dropped.
 *
 * Subscriptions, services and joins under way end when the SM stops being master; the
 * ClientReregister of the next one brings them back.
 */

#include "sm/sm.h"
#include "wire/records.h"

struct sa;

#define SA_MAX_JOINS 4096 /* joins that wait for their MFT writes */
#define SA_MAX_SUBSCRIPTIONS 16384
#define SA_MAX_SUBSCRIPTIONS_PORT 64
#define SA_GROUPS_SHARE 4 /* one port makes at most this part of all groups that there can be */
#define SA_GROUPS_BURST 2048 /* that a port has made at once; then SA_GROUPS_RATE a second */
#define SA_GROUPS_RATE 20
#define SA_REFUSALS_BURST 32 /* lines in the log about a port's joins at once; then one a second */
#define SA_MAX_SERVICES 4096
#define SA_MAX_SERVICES_PORT 512 /* registered by one port */
#define SA_MAX_REPORTS 32768 /* that wait for their turn or their ReportResp */
#define SA_MAX_TABLE (80u << 20) /* octets of one answer; more is refused with 0x0100 */
#define SA_MAX_TABLES_PORT (8u << 20) /* on their way to one port; one may be larger */
#define SA_MAX_JOBS 64 /* requests that take several turns */
#define SA_MAX_JOBS_PORT 4

/**
 * sa_create() - Make the SA of a subnet manager
 * @sm:	borrowed; must outlive the SA
 *
 * Registers with the SM's endpoint and as its listener.
 * Return: 0; -EBUSY the endpoint has an SA; -ENOMEM
 */
int sa_create(struct sa **ret, struct sm *sm);

/* sa_destroy() - Open joins stay unanswered; groups and members stay with the SM. NULL is accepted */
void sa_destroy(struct sa *sa);

struct sa_stats {
	uint64_t requests, answers; /* answers: with whatever status */
	uint64_t errors; /* answers with a status other than 0 */
	uint64_t paths, joins, leaves,
		tables; /* requests by kind: PathRecord, Set and Delete, GetTable */
	uint64_t dup_joins; /* repeated while the first was under way */
	uint64_t repeated; /* the same of requests that take longer than a turn */
	uint64_t drop_not_master; /* not master, or the first sweep is not through */
	uint64_t drop_requester; /* of a LID that is no port of the database */
	uint64_t drop_sm_key;
	uint64_t drop_malformed;
	uint64_t drop_busy; /* a bound was reached, the endpoint was full, or no memory */
	uint64_t drop_quota; /* a port, or all of them, asked for too much: DOC in sa_quota.c */
	uint64_t reports, reports_answered; /* sent (once each, not repeats) */
	uint64_t reports_lost; /* nobody answered, or too many waited */
	uint64_t leases_expired;
};
const struct sa_stats *sa_stats(const struct sa *sa);

/* A subscription (InformInfo). */
struct sa_subscription {
	struct list link;
	uint64_t port_guid; /* of the subscriber */
	uint16_t number; /* which of its port's */
	struct mad_addr addr; /* where Reports go */
	struct mad_inform_info info;
	bool trusted;
	bool proven; /* it answered its last Report */
	bool silent; /* it did not */
	unsigned int nreports; /* that wait, or are on their way */
	uint64_t reports, lost;
};

/* A ServiceRecord. */
struct sa_service {
	struct list link;
	struct sa *sa;
	struct ib_service_rec rec; /* lease: as asked for */
	uint64_t port_guid; /* who registered it */
	ns_t expires; /* NS_NEVER: indefinite */
	struct timer timer;
};

/* Walk all: start with NULL; NULL at the end. Valid until time moves on. */
const struct sa_subscription *sa_subscription_next(const struct sa *sa,
						   const struct sa_subscription *prev);
const struct sa_service *sa_service_next(const struct sa *sa, const struct sa_service *prev);

#endif

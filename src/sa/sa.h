/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SA_SA_H
#define SA_SA_H

/*
 * DOC: Subnet administration
 *
 * The SA answers MADs of class 0x03 that clients send to QP1 of the master SM (IBTA volume 1,
 * chapter 15). It serves these attributes: ClassPortInfo, PathRecord, MultiPathRecord,
 * MCMemberRecord, NodeRecord, PortInfoRecord, LinkRecord, SMInfoRecord, SwitchInfoRecord,
 * ServiceRecord, InformInfo with its Reports, InformInfoRecord, and the records of LFT, MFT, P_Key,
 * SLtoVL, VL arbitration and GUID tables.
 *
 * Requests without an answer. A request is answered only by a master that has published a database,
 * and only if it comes from a port of that database. All other requests are dropped and counted, as
 * OpenSM does. The reason is that clients repeat an unanswered request after a few hundred
 * milliseconds, but give up when they are answered with Busy (0x0001). For the same reason,
 * requests beyond a bound of this SA are dropped and not answered with Busy.
 *
 * Trust. A request with the SM_Key of the SM is trusted. The answer to a request with SM_Key 0
 * shows only ports and groups with which the sender shares a P_Key. It shows no M_Keys, no
 * ServiceKeys and no members of groups. A request with any other SM_Key is dropped.
 *
 * Subscriptions, services and open joins end when the SM stops being master. The next master sets
 * ClientReregister, upon which the clients register again.
 */

#include "cm/cm.h"
#include "sm/sm.h"
#include "wire/records.h"

struct sa;

#define SA_MAX_JOINS 4096 /* largest number of joins that wait until their MFTs are written */
#define SA_MAX_SUBSCRIPTIONS 16384
#define SA_MAX_SUBSCRIPTIONS_PORT 64
/* the groups that one port has made are at most 1/4 of the groups that the SA allows */
#define SA_GROUPS_SHARE 4
/* largest number of groups that a port may make in a burst; after that, SA_GROUPS_RATE a second */
#define SA_GROUPS_BURST 2048
#define SA_GROUPS_RATE 20
/* largest number of log lines about a port's refused joins in a burst; after that, one a second */
#define SA_REFUSALS_BURST 32
#define SA_MAX_SERVICES 4096
#define SA_MAX_SERVICES_PORT 512 /* ServiceRecords that one port may register */
#define SA_MAX_REPORTS 32768 /* largest number of Reports that wait to be sent or answered */
#define SA_MAX_TABLE (80u << 20) /* octets of one answer; a larger answer is refused with 0x0100 */
/* largest number of octets of unfinished RMPP answers to one port, unless a single answer is larger */
#define SA_MAX_TABLES_PORT (8u << 20)
/* largest number of requests that take several iterations of the event loop */
#define SA_MAX_JOBS 64
#define SA_MAX_JOBS_PORT 4

/**
 * sa_create() - Make the SA of a subnet manager
 * @sm:	borrowed; must outlive the SA
 *
 * Registers a MAD agent at the endpoint of the SM, and a listener for the events of the SM.
 * Return: 0; -EBUSY: the endpoint already has an SA; -ENOMEM
 */
int sa_create(struct sa **ret, struct sm *sm);

/*
 * sa_destroy() - Destroy the SA. Open joins stay unanswered; groups and members stay with the SM.
 * NULL is accepted
 */
void sa_destroy(struct sa *sa);

/*
 * sa_sidr_start() - Let the node of the subnet manager answer SIDR requests for the broadcast
 * groups of all partitions, under @service_id. Call it before sm_start(). The owner of the port
 * must set the capability bit IsCommunicationManagementSupported, and clear it after sa_destroy()
 *
 * Return: 0; -ENOMEM; -EBUSY: a program has registered for communication management on the port and
 * does not share the class
 */
int sa_sidr_start(struct sa *sa, uint64_t service_id);
/* sa_cm() - Return the CM agent of the SIDR server; NULL: there is no SIDR server */
const struct cm *sa_cm(const struct sa *sa);

struct sa_stats {
	uint64_t requests, answers; /* requests received, and answers with any status */
	uint64_t errors; /* answers with a status other than 0 */
	/* requests by kind: PathRecord, Set and Delete of MCMemberRecord, GetTable */
	uint64_t paths, joins, leaves, tables;
	uint64_t dup_joins; /* joins that repeat a join whose answer is still pending */
	uint64_t repeated; /* repetitions of requests that have a job (job.c) */
	/* requests that arrived while this SM was not master or had no database yet */
	uint64_t drop_not_master;
	uint64_t drop_requester; /* requests from a LID that belongs to no port of the database */
	uint64_t drop_sm_key;
	uint64_t drop_malformed;
	/*
	 * requests dropped because a bound was reached, the MAD endpoint was full or memory ran out
	 */
	uint64_t drop_busy;
	uint64_t drop_quota; /* requests over the quota of a port or of all ports: DOC in quota.c */
	/*
	 * .reports: number of Reports that were sent, without their repetitions; .reports_answered:
	 * number of these that were answered
	 */
	uint64_t reports, reports_answered;
	/* Reports that were not answered, or not sent because too many waited */
	uint64_t reports_lost;
	uint64_t leases_expired;
};
const struct sa_stats *sa_stats(const struct sa *sa);

/* A subscription (InformInfo). */
struct sa_subscription {
	struct list link;
	uint64_t port_guid; /* port GUID of the subscriber */
	uint16_t number; /* number among the subscriptions of the same port */
	struct mad_addr addr; /* address that Reports are sent to */
	struct mad_inform_info info;
	bool trusted;
	bool proven; /* true if the last Report to the subscriber was answered */
	bool silent; /* true if the last Report to the subscriber was not answered */
	/* number of Reports to the subscriber that wait or are not answered yet */
	unsigned int nreports;
	uint64_t reports, lost;
};

/* A registered ServiceRecord. */
struct sa_service {
	struct list link;
	struct sa *sa;
	struct ib_service_rec rec; /* record as registered, with the lease that was requested */
	uint64_t port_guid; /* port that registered the service */
	bool own; /* the SM's own record (sidr.c), which requests cannot change */
	ns_t expires; /* time at which the lease ends; NS_NEVER: no lease */
	struct timer timer;
};

/*
 * Iterate over all entries: start with NULL; returns NULL at the end. Pointers are valid until the next event is
 * handled.
 */
const struct sa_subscription *sa_subscription_next(const struct sa *sa,
						   const struct sa_subscription *prev);
const struct sa_service *sa_service_next(const struct sa *sa, const struct sa_service *prev);

#endif

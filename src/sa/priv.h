/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SA_PRIV_H
#define SA_PRIV_H

/*
 * Declarations that only the files of the SA use.
 *
 *	sa.c		the agent: accepts requests, finds the handler, answers; events of the SM
 *	table.c		records of an answer; matching by component mask
 *	attrs.c		table of the attributes; ClassPortInfo
 *	job.c		requests that take several iterations of the event loop
 *	quota.c		limits of the work that requests cause
 *	path.c		PathRecord		node.c		NodeRecord
 *	multipath.c	MultiPathRecord		link.c		LinkRecord, SMInfoRecord
 *	switch.c	SwitchInfo, LFT, MFT	tables.c	P_Key, SLtoVL, VLArb, GUID
 *	port.c		PortInfoRecord		service.c	ServiceRecord
 *	mcmember.c	MCMemberRecord: Get	join.c		MCMemberRecord: Set and Delete
 *	create.c	creation of a group, and its parameters
 *	inform.c	subscriptions		report.c	Reports
 *	sidr.c		the SIDR server of the SM's node
 */

#include "sm/group.h"
#include "sm/learn.h"
#include "subnet/source.h"
#include "sa/sa.h"
#include "wire/records_sm.h"

/*
 * Records of one answer. The buffer has room for the headers of the answer before the records, and
 * is not freed, because the next answer uses it, too.
 */
struct sa_table {
	uint8_t *buf;
	size_t cap;
	/* octets of a record, rounded up to a multiple of 8 as AttributeOffset requires */
	size_t rec_len;
	size_t max; /* size of the answer in octets when it has .limit records */
	uint32_t n, limit;
	bool full; /* true if a record had no room, because of .limit or because memory ran out */
};

/* sa_table_start() - Begin an answer without records. Return: 0, -ENOMEM */
int sa_table_start(struct sa_table *t, size_t rec_len, uint32_t limit);
/*
 * sa_table_add() - Append a zeroed record. Return: NULL if there are .limit records, or no memory
 */
uint8_t *sa_table_add(struct sa_table *t);
size_t sa_table_len(const struct sa_table *t);
/* sa_table_trim() - Free the buffer if a large answer made it grow */
void sa_table_trim(struct sa_table *t);
void sa_table_fini(struct sa_table *t);

/*
 * Position (.off) and size (.bits) of a component in its record, both in bits. Size 0: the
 * component is reserved and matches every value.
 */
struct sa_field {
	uint16_t off, bits;
};

/* sa_match() - Tell whether two records in wire form agree in all components of @mask */
bool sa_match(const struct sa_field *f, size_t nfields, uint64_t mask, const uint8_t *a,
	      const uint8_t *b);

/* Kinds of work that quota.c limits. */
enum sa_work {
	SA_WORK_SCAN, /* records that are examined by a request that looks at all objects of a kind */
	SA_WORK_PATHS, /* pairs of ports that are examined by a PathRecord request that leaves an end open */
	SA_WORKS
};

struct sa_account {
	int64_t units;
	ns_t filled;
	bool used;
};

struct sa {
	struct sm *sm;
	struct mad_agent *agent;
	struct sm_listener listener;
	struct sa_stats stats;
	struct sa_table table;
	/* used by join.c */
	struct list joins;
	unsigned int njoins;
	uint32_t mgid_seq;
	/* used by inform.c and report.c */
	struct list subs;
	unsigned int nsubs;
	struct list reports, open, held;
	/*
	 * .nreports: number of all Reports; .nopen: number of Reports that were sent and wait for
	 * their ReportResp
	 */
	unsigned int nreports, nopen;
	struct timer report_timer;
	/* used by service.c */
	struct list services;
	/*
	 * .nservices: number of all services; .nown: number of services of the SM itself, which do
	 * not count against the limits on services
	 */
	unsigned int nservices, nown;
	/* used by sidr.c */
	struct cm *cm; /* NULL: the node serves no SIDR */
	struct cm_service sidr;
	/* used by job.c and quota.c */
	struct list jobs; /* list of struct sa_job in the order of their requests */
	unsigned int njobs;
	struct timer job_timer;
	/*
	 * accounts of ports for their quotas (quota.c), by base LID; NULL: nothing was charged yet
	 */
	struct sa_account (*accounts)[SA_WORKS];
	struct sa_account all_accounts[SA_WORKS];
};

/*
 * A request that is not answered yet, because the SM still reads the tables that the answer needs, or because making
 * the answer takes more than one slice of time.
 */
struct sa_job {
	struct list link;
	struct sa *sa;
	struct mad_addr from;
	uint8_t mad[MAD_LEN];
	size_t len;
	uint64_t generation; /* generation of the database to which .table, .src and .dst belong */
	uint64_t learnt; /* generation of the database whose tables were read for this request */
	unsigned int restarts;
	bool learning;
	/* The part of the answer that is ready, and the pair of ports that was examined last. */
	bool started;
	struct sa_table table;
	const struct sm_port *src, *dst;
};

/* A request while its handler runs. */
struct sa_req {
	struct sa *sa;
	const struct sm_db *db;
	const struct sm_port *port; /* port that sent the request */
	const struct mad_addr *from;
	struct sa_mad m;
	bool trusted;
	ns_t now;
	/* job that stores the request; NULL while no job has been made for it */
	struct sa_job *job;
};

/* Values that a handler returns instead of a MAD status. */
#define SA_PENDING 0xffff /* the answer follows later */
#define SA_DROP 0xfffe /* no answer; counted in drop_busy */
#define SA_MALFORMED 0xfffd /* no answer; counted in drop_malformed */
#define SA_QUOTA 0xfffc /* no answer; quota.c has counted it already */

/*
 * A handler fills @t and returns a MAD status. Get and GetTable share a handler, which stops when
 * sa_table_add() returns NULL. The caller of the handler decides afterwards whether the number of
 * records suits the method (statuses of Get and GetTable, clause I19 of CONFORMANCE.md).
 */
typedef uint16_t sa_handler(struct sa_req *r, struct sa_table *t);

sa_handler sa_path_collect, sa_node_collect, sa_port_collect;
sa_handler sa_mcmember_collect, sa_mcmember_set, sa_mcmember_delete;
sa_handler sa_service_collect, sa_service_set, sa_service_delete;
sa_handler sa_inform_set, sa_inform_collect;
sa_handler sa_multi_path_collect, sa_link_collect, sa_sm_info_collect;
sa_handler sa_switch_info_collect, sa_lft_collect, sa_mft_collect;
sa_handler sa_pkey_collect, sa_sltovl_collect, sa_vlarb_collect, sa_guid_collect;

#define SA_CLASS_VERSION 2

struct sa_attr_ops {
	uint16_t attr;
	uint16_t rec_len;
	/*
	 * true if Get answers with the first of several matching records, false if Get fails when
	 * several records match
	 */
	bool first;
	bool no_table;
	sa_handler *collect, *set, *del, *multi;
};

/* sa_attr_find() - Find an attribute. Return: NULL if the SA does not have it */
const struct sa_attr_ops *sa_attr_find(uint16_t attr);

/*
 * sa_req_accept() - Check the SM_Key and the requester, and set .db, .port and .trusted of @r. Return:
 * false if the request must not be answered
 */
bool sa_req_accept(struct sa_req *r);
/*
 * sa_req_handle() - Handle a request and send its answer. Return: the status; SA_PENDING if
 * the answer follows later
 */
uint16_t sa_req_handle(struct sa_req *r);

/*
 * sa_quota_take() - Charge @units records to the account of the requester, and to the account that
 * all ports have together. Handlers that go over the whole database call this function first.
 * Return: false if an account is overdrawn. In this case the handler returns SA_QUOTA
 */
bool sa_quota_take(const struct sa_req *r, enum sa_work kind, uint64_t units);
/*
 * sa_quota_group() - Tell whether the requester may make another group now. If the result is false,
 * the caller returns SA_QUOTA
 */
bool sa_quota_group(const struct sa_req *r);
void sa_quota_fini(struct sa *sa);

/*
 * sa_job_slice() - Have the handler run again in a later iteration of the event loop, with r->job set.
 * The handler must return the value that this function returns
 */
uint16_t sa_job_slice(struct sa_req *r);
/*
 * sa_job_learn() - Start to read the tables that a handler needs: those of all ports of @p's node,
 * or of all nodes if @p is NULL. Return: 0 if the tables are known already; otherwise a value that
 * the handler has to return. If this value is SA_PENDING, the handler is called again when the
 * tables have been read
 */
uint16_t sa_job_learn(struct sa_req *r, enum sm_table what, const struct sm_port *p);
/* sa_job_repeated() - Tell whether a request repeats an earlier request that has a job */
bool sa_job_repeated(const struct sa_req *r);
void sa_jobs_init(struct sa *sa);
void sa_jobs_clear(struct sa *sa);

/*
 * sa_visible() - Tell whether the requester may know about @p: the request is trusted, or comes
 * from @p or from a port that shares a P_Key with @p
 */
bool sa_visible(const struct sa_req *r, const struct sm_port *p);

/* sa_resp_head() - Write the headers of the answer to @r: SM_Key 0, RMPP header zero */
void sa_resp_head(const struct sa_req *r, uint8_t *mad, uint16_t status, size_t rec_len);
void sa_send(struct sa *sa, const struct mad_addr *to, const uint8_t *mad, size_t len, ns_t now);

/*
 * Maps an MTU code or a rate code to its MTU or rate. The results are compared, not the codes,
 * because rate codes are not in the order of the rates.
 */
typedef unsigned int sa_order(unsigned int code);
/*
 * sa_code_best() - Find the code of the largest MTU or rate that is not above @cap and that
 * selector @sel allows for the requested code @want. Selector 3 asks for the largest. Return: 0 if
 * there is no such code
 */
uint8_t sa_code_best(sa_order *order, uint8_t cap, unsigned int sel, uint8_t want);
/* Return the selector that applies. A value without a selector means "exactly"; no value means "largest". */
static inline unsigned int sa_sel(uint64_t mask, uint64_t sel_bit, uint64_t value_bit,
				  unsigned int sel)
{
	if (!(mask & value_bit))
		return SA_SEL_LARGEST;
	return mask & sel_bit ? sel : SA_SEL_EXACT;
}

/*
 * Tell whether selector @sel, as returned by sa_sel(), allows value @have if value @want is
 * requested.
 */
static inline bool sa_sel_allows(unsigned int sel, unsigned int have, unsigned int want)
{
	switch (sel) {
	case SA_SEL_GT:
		return have > want;
	case SA_SEL_LT:
		return have < want;
	case SA_SEL_EXACT:
		return have == want;
	default:
		return true;
	}
}

/*
 * sa_code_valid() - Tell whether a code is defined. If the request does not give the code, or asks
 * for the largest value, the function returns true
 */
static inline bool sa_code_valid(sa_order *order, bool given, unsigned int sel, uint8_t code)
{
	return !given || sel == SA_SEL_LARGEST || order(code);
}

/*
 * sa_mcm_match() - Tell whether a group agrees with the components of a request, except PortGID,
 * JoinState and ProxyJoin, which are ignored
 */
bool sa_mcm_match(const struct ib_mcmember_rec *have, const struct ib_mcmember_rec *want,
		  uint64_t mask);
/* sa_mcm_show() - Return the record of a group for an answer, with all selectors "exactly" */
struct ib_mcmember_rec sa_mcm_show(const struct sm_group *g);
/* sa_mcm_supports() - Tell whether @p can send and receive at the MTU and rate of the group */
bool sa_mcm_supports(const struct sm_port *p, const struct ib_mcmember_rec *rec);

/* sa_group_make() - Create the group for a join whose MGID no group has yet. Return: 0 or a MAD status */
uint16_t sa_group_make(struct sa_req *r, const struct ib_mcmember_rec *want,
		       const struct sm_port *port, struct sm_group **ret);

void sa_joins_fini(struct sa *sa);

/*
 * sa_inform_refresh() - Take the LIDs of subscribers from a new database, and end the
 * subscriptions of ports that left the subnet
 */
void sa_inform_refresh(struct sa *sa, ns_t now);
void sa_inform_clear(struct sa *sa);

/* sa_report() - Send a Report with the notice @n to @s */
void sa_report(struct sa *sa, struct sa_subscription *s, const struct mad_notice *n, ns_t now);
void sa_reports_init(struct sa *sa);
/* sa_reports_forget() - Cancel the Reports to @s */
void sa_reports_forget(struct sa *sa, const struct sa_subscription *s);

/*
 * Send Reports about a port, a group or a forwarded trap to the subscribers that may receive the
 * Reports.
 */
void sa_notice_port(struct sa *sa, const ib_gid *gid, bool in_service, ns_t now);
void sa_notice_group(struct sa *sa, const struct sm_group *g, bool created, ns_t now);
void sa_notice_trap(struct sa *sa, const struct mad_notice *n, ns_t now);

void sa_services_clear(struct sa *sa);
/*
 * sa_service_add_own() - Add a ServiceRecord of the SM itself. The record never expires. It is
 * added at the head of the list, so that it precedes the records that ports registered
 */
void sa_service_add_own(struct sa *sa, const struct ib_service_rec *rec, uint64_t port_guid);
void sa_services_clear_own(struct sa *sa);

/*
 * sa_sidr_refresh() - Replace the SIDR server's ServiceRecords by records of the groups that exist
 * now. To be called when a new database has been published
 */
void sa_sidr_refresh(struct sa *sa);
void sa_sidr_fini(struct sa *sa);

#endif

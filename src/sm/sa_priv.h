/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SM_SA_PRIV_H
#define SM_SA_PRIV_H

/*
 * What the files of the SA share and nobody else sees.
 *
 *	sa.c		the agent: who asks, which handler, answers; the SM's events
 *	sa_table.c	records of an answer, matching by component
 *	sa_attrs.c	which attributes there are; ClassPortInfo
 *	sa_job.c	requests that take longer than a turn
 *	sa_quota.c	how much work anybody may cause
 *	sa_path.c	PathRecord		sa_node.c	NodeRecord
 *	sa_multipath.c	MultiPathRecord		sa_link.c	LinkRecord, SMInfoRecord
 *	sa_switch.c	SwitchInfo, LFT, MFT	sa_tables.c	P_Key, SLtoVL, VLArb, GUID
 *	sa_port.c	PortInfoRecord		sa_service.c	ServiceRecord
 *	sa_mcmember.c	MCMemberRecord: Get	sa_join.c	Set and Delete
 *	sa_create.c	may a group be made, and with what parameters
 *	sa_inform.c	subscriptions		sa_report.c	Reports
 */

#include "sm/group.h"
#include "sm/learn.h"
#include "sm/pace.h"
#include "sm/sa.h"
#include "wire/records_sm.h"

/* Records of one answer, after room for its headers. The memory is kept for the next one. */
struct sa_table {
	uint8_t *buf;
	size_t cap;
	size_t rec_len; /* rounded up to 8 octets, as tables have it */
	size_t max; /* octets that @limit records have */
	uint32_t n, limit;
	bool full; /* there were more than @limit */
};

/* sa_table_start() - 0 or -ENOMEM */
int sa_table_start(struct sa_table *t, size_t rec_len, uint32_t limit);
/* sa_table_add() - The next record, zeroed; NULL: no more are wanted, or no memory */
uint8_t *sa_table_add(struct sa_table *t);
size_t sa_table_len(const struct sa_table *t);
/* sa_table_trim() - After a large answer: do not keep its memory */
void sa_table_trim(struct sa_table *t);
void sa_table_fini(struct sa_table *t);

/* Where component i of a record is: bits from its first octet on. 0 bits: reserved, matches all. */
struct sa_field {
	uint16_t off, bits;
};

/* sa_match() - Do both records (wire form) agree in all components of @mask */
bool sa_match(const struct sa_field *f, size_t nfields, uint64_t mask, const uint8_t *a,
	      const uint8_t *b);

/* Work that may be caused, see sa_quota.c. */
enum sa_work {
	SA_WORK_SCAN, /* everything of a kind is looked at */
	SA_WORK_PATHS, /* paths from or to all ports */
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
	/* sa_join.c */
	struct list joins;
	unsigned int njoins;
	uint32_t mgid_seq;
	/* sa_inform.c, sa_report.c */
	struct list subs;
	unsigned int nsubs;
	struct list reports, open, held;
	unsigned int nreports, nopen; /* all; of them sent */
	struct timer report_timer;
	/* sa_service.c */
	struct list services;
	unsigned int nservices;
	/* sa_job.c, sa_quota.c */
	struct list jobs; /* in the order they came */
	unsigned int njobs;
	struct timer job_timer;
	struct sa_account (*accounts)[SA_WORKS]; /* by base LID; NULL: nobody has used any */
	struct sa_account all_accounts[SA_WORKS];
};

/* A request that is not answered yet: it waits for tables, or for its turn. */
struct sa_job {
	struct list link;
	struct sa *sa;
	struct mad_addr from;
	uint8_t mad[MAD_LEN];
	size_t len;
	uint64_t generation; /* of the database that it is about */
	uint64_t learnt; /* its tables were asked for in that one */
	unsigned int restarts;
	bool learning;
	/* The answer so far, and how far it is. */
	bool started;
	struct sa_table table;
	const struct sm_port *src, *dst;
};

/* A request while it is being judged. */
struct sa_req {
	struct sa *sa;
	const struct sm_db *db;
	const struct sm_port *port; /* the requester's */
	const struct mad_addr *from;
	struct sa_mad m;
	bool trusted;
	ns_t now;
	struct sa_job *job; /* NULL: it has just come */
};

/* What a handler returns instead of a status. */
#define SA_PENDING 0xffff /* it answers later itself */
#define SA_DROP 0xfffe /* no answer, counted as busy */
#define SA_MALFORMED 0xfffd /* no answer */
#define SA_QUOTA 0xfffc /* no answer, counted already */

/*
 * A handler fills @t and returns a MAD status. Get and GetTable share one, which stops when sa_table_add()
 * returns NULL; how many records there may be is judged afterwards (I19).
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
	bool first; /* Get: the first of several answers */
	bool no_table;
	sa_handler *collect, *set, *del, *multi;
};

/* sa_attr_find() - NULL: there is no such attribute */
const struct sa_attr_ops *sa_attr_find(uint16_t attr);

/* sa_req_accept() - Judge who asks, and fill in what the database says of it. false: no answer */
bool sa_req_accept(struct sa_req *r);
/* sa_req_handle() - Answer it. Returns SA_PENDING if that comes later */
uint16_t sa_req_handle(struct sa_req *r);

/*
 * sa_quota_take() - May @r have @units records judged. Handlers that go over the whole database ask before
 * they do. false: answer SA_QUOTA
 */
bool sa_quota_take(const struct sa_req *r, enum sa_work kind, uint64_t units);
/* sa_quota_group() - May @r's port have another group made. false: answer SA_QUOTA */
bool sa_quota_group(const struct sa_req *r);
void sa_quota_fini(struct sa *sa);

/* sa_job_slice() - @r goes on another time: return what this returns. r->job is set then */
uint16_t sa_job_slice(struct sa_req *r);
/*
 * sa_job_learn() - The handler needs tables of all ports of @p's node; NULL: of all nodes. 0: they are
 * there; else return what this returns, the handler is called again
 */
uint16_t sa_job_learn(struct sa_req *r, enum sm_table what, const struct sm_port *p);
/* sa_job_repeated() - A client repeats what is under way still */
bool sa_job_repeated(const struct sa_req *r);
void sa_jobs_init(struct sa *sa);
void sa_jobs_clear(struct sa *sa);

/* sa_visible() - May the requester know about @p (it shares a P_Key with it, or is trusted) */
bool sa_visible(const struct sa_req *r, const struct sm_port *p);

/* sa_resp_head() - Headers of the answer to @r: SM_Key 0 (I18), RMPP empty */
void sa_resp_head(const struct sa_req *r, uint8_t *mad, uint16_t status, size_t rec_len);
void sa_send(struct sa *sa, const struct mad_addr *to, const uint8_t *mad, size_t len, ns_t now);

/* MTU and rate codes are ordered by what they stand for. */
typedef unsigned int sa_order(unsigned int code);
/*
 * sa_code_best() - The best code that @sel allows beside @want and that is not above @cap; 0 if there
 * is none. Selector 3 asks for the largest.
 */
uint8_t sa_code_best(sa_order *order, uint8_t cap, unsigned int sel, uint8_t want);
/* The selector component may be absent: then the value is meant. */
static inline unsigned int sa_sel(uint64_t mask, uint64_t sel_bit, uint64_t value_bit,
				  unsigned int sel)
{
	if (!(mask & value_bit))
		return SA_SEL_LARGEST;
	return mask & sel_bit ? sel : SA_SEL_EXACT;
}

/* Whether @have is what selector @sel, as sa_sel() has it, wants of a value @want. */
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

/* sa_code_valid() - A code that a request has, and is not asking for the largest, stands for something */
static inline bool sa_code_valid(sa_order *order, bool given, unsigned int sel, uint8_t code)
{
	return !given || sel == SA_SEL_LARGEST || order(code);
}

/* sa_mcm_match() - Does a group agree with the components of a request; PortGID, JoinState, Proxy aside */
bool sa_mcm_match(const struct ib_mcmember_rec *have, const struct ib_mcmember_rec *want,
		  uint64_t mask);
/* sa_mcm_show() - @rec as answers have it: "exactly" selectors (I21) */
struct ib_mcmember_rec sa_mcm_show(const struct sm_group *g);
/* sa_mcm_supports() - Can packets of the group leave and reach @p (R17, R26) */
bool sa_mcm_supports(const struct sm_port *p, const struct ib_mcmember_rec *rec);

/* sa_group_make() - A join found no group. Return: 0 or a MAD status */
uint16_t sa_group_make(struct sa_req *r, const struct ib_mcmember_rec *want,
		       const struct sm_port *port, struct sm_group **ret);

void sa_joins_fini(struct sa *sa);

/* sa_inform_refresh() - A new database: addresses may have changed, subscribers may be gone */
void sa_inform_refresh(struct sa *sa, ns_t now);
void sa_inform_clear(struct sa *sa);

/* sa_report() - Send a notice to @s */
void sa_report(struct sa *sa, struct sa_subscription *s, const struct mad_notice *n, ns_t now);
void sa_reports_init(struct sa *sa);
/* sa_reports_forget() - Cancel those to @s */
void sa_reports_forget(struct sa *sa, const struct sa_subscription *s);

/* Notices of the SA itself and traps of others, to whom it may concern. */
void sa_notice_port(struct sa *sa, const ib_gid *gid, bool in_service, ns_t now);
void sa_notice_group(struct sa *sa, const struct sm_group *g, bool created, ns_t now);
void sa_notice_trap(struct sa *sa, const struct mad_notice *n, ns_t now);

void sa_services_clear(struct sa *sa);

#endif

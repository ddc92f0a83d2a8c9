/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SAC_SAC_H
#define SAC_SAC_H

/*
 * DOC: SA client
 *
 * The SA client sends the requests of one port to the subnet administrator. All interfaces on the
 * port share the client, because the SA knows ports and not interfaces: the SA identifies members
 * by (MGID, PortGID), and paths by GIDs.
 *
 * - Paths are cached. One query serves all callers that wait for the path.
 * - Interfaces hold references to groups. The SA sees the union of the JoinState bits of all
 *   references to a group.
 * - The port has one subscription for each of the traps 64 to 67, if at least one user needs the
 *   Reports (sac_user.no_reports).
 * - At most SAC_MAX_OPEN requests are open at a time. Queued joins are sent before other queued
 *   requests.
 *
 * A status is an int everywhere: 0; a MAD status as received (> 0); or a negative errno.
 * -ETIMEDOUT: no answer after all retries; -ENXIO: the port of the SM answers that no SA runs
 * there; -EBUSY: the SA is too busy; -ENETDOWN: the port is not usable; -ECANCELED: the MAD
 * endpoint was destroyed; -EBADMSG: the answer does not fit the request. sac_status_print() makes
 * text of a status. Only a MAD status means that the SA refused the request.
 *
 * After a change of LID, GID or SM, and on ClientReregister, users first get SAC_EV_RESTART. Then
 * the client joins every referenced group again, subscribes again and forgets all paths.
 *
 * A callback is never called inside the call that requested it, and may call any function of this
 * header. The client never reads a clock; retries and back-off run on the timers of the owner.
 */

#include "mad/ep.h"
#include "util/hash.h"
#include "util/list.h"
#include "util/log.h"
#include "util/timer.h"
#include "wire/records.h"

/* Limits and times. */
#define SAC_MAX_OPEN 16 /* largest number of requests that wait for an answer of the SA at a time */
/* largest number of cached paths, pending ones included, unless sac_paths_room() asks for more */
#define SAC_MAX_PATHS 16384
/* largest number of groups that have references or that the client still has to leave */
#define SAC_MAX_GROUPS 4096
#define SAC_TRY_MS 250 /* time to wait for an answer to each try */
#define SAC_RETRIES 5 /* tries after the first try */
/* back-off after the first failure; it doubles with each further failure in a row */
#define SAC_BACKOFF_MIN NS_SEC(1)
/*
 * longest back-off; up to a quarter of each back-off is added at random, so that not all ports send
 * at the same time
 */
#define SAC_BACKOFF_MAX NS_SEC(16)
/* longest back-off if the SM's port says that it has no SA; short, as such answers cost little */
#define SAC_BACKOFF_ABSENT NS_SEC(4)
/*
 * time for which a path is valid after the SA's answer, in this cache and in the interfaces that
 * use the path
 */
#define SAC_PATH_TTL NS_SEC(300)
/* interval between joins of the same group on a port that the kernel's IPoIB uses, too */
#define SAC_SHARED_REJOIN NS_SEC(60)

struct sac;

/* Time-out and number of tries of a request to the SA */
struct sac_tries {
	/*
	 * time to wait for an answer to each try; 0: both members have their defaults, SAC_TRY_MS
	 * and SAC_RETRIES
	 */
	unsigned int timeout_ms;
	unsigned int retries; /* number of tries after the first one, unless .timeout_ms is 0 */
};

struct sac_cfg {
	struct mad_ep *ep; /* borrowed, must outlive the client */
	struct timers *timers; /* borrowed */
	const struct log_sink *log; /* borrowed; NULL: nothing is logged */
	uint64_t seed; /* seed of the random part of back-offs */
	/*
	 * secret from which ServiceKeys and the numbers of sac_secret() are made; it never leaves
	 * this machine
	 */
	struct hash_key secret;
	/*
	 * True if the kernel's IPoIB uses the same port. The SA cannot tell the two users apart. So
	 * the client neither leaves groups at the SA nor unsubscribes, because the kernel may need
	 * the membership or the subscription. When the kernel leaves a group, the client loses its
	 * membership, too. So the client joins its groups again every 60 s.
	 */
	bool shared;
};

/* sac_create() - Make a client. Return: 0; -ENOMEM; -EBUSY: another agent handles SA Reports */
int sac_create(struct sac **ret, const struct sac_cfg *cfg);

/*
 * sac_destroy() - Free the client. References to groups, and callers that still wait, are dropped
 * without a callback. NULL is accepted
 */
void sac_destroy(struct sac *s);

struct sac_port {
	/* enum ib_port_state; the client sends requests only while the port is Active */
	uint8_t state;
	uint8_t sm_sl;
	uint16_t lid, sm_lid; /* LIDs of the port and of the SM; 0: not known yet */
	ib_gid gid; /* GID with index 0 */
};

/* sac_port_update() - Set the attributes of the port; no effect if they have not changed */
void sac_port_update(struct sac *s, const struct sac_port *port, ns_t now);

/*
 * sac_reregister() - Handle ClientReregister, or a change of the SM that the attributes do not show
 */
void sac_reregister(struct sac *s, ns_t now);

const struct sac_port *sac_port(const struct sac *s);
/*
 * sac_secret() - Return a number that others cannot guess, and which is different for each @purpose
 */
uint64_t sac_secret(const struct sac *s, uint64_t purpose);

/* sac_usable() - Tell whether the port is Active and has a LID and an SM LID */
bool sac_usable(const struct sac *s);

/* sac_subscribed() - Tell whether the SA has confirmed the subscriptions to traps 66 and 67 */
bool sac_subscribed(const struct sac *s);

/*
 * sac_shutdown() - Unsubscribe, and leave the groups that have no reference, even while joins are
 * open. Call this function before the client is destroyed, and after all references have been left.
 *
 * sac_idle() - Return true if no request is queued or open. Also return true if the port is not
 * usable (sac_usable())
 */
void sac_shutdown(struct sac *s, ns_t now);
bool sac_idle(const struct sac *s);

/* Events that all users of the port get */
enum sac_event {
	/*
	 * the client begins anew: after this event it joins the groups again and drops all cached
	 * paths
	 */
	SAC_EV_RESTART,
	/*
	 * trap 64: a port with @gid has joined the subnet; the cached paths to this GID were
	 * dropped
	 */
	SAC_EV_GID_IN,
	/*
	 * trap 65: the port with @gid has left the subnet; the cached paths to this GID were
	 * dropped
	 */
	SAC_EV_GID_OUT,
	SAC_EV_GROUP_CREATED, /* trap 66: the group with MGID @gid was created */
	SAC_EV_GROUP_DELETED, /* trap 67: the group with MGID @gid was deleted */
};

struct sac_user {
	struct list link;
	bool no_reports; /* this user does not need the Reports of traps 64 to 67 */
	void (*event)(struct sac_user *u, enum sac_event ev, const ib_gid *gid, ns_t now);
};
void sac_user_add(struct sac *s, struct sac_user *u);
void sac_user_del(struct sac_user *u);

/* --- Paths --- */

struct sac_path_key {
	ib_gid sgid, dgid;
	uint16_t pkey; /* P_Key of the link; bit 15 is set for full members */
	uint8_t tclass;
};

/* A caller that waits for a path. The caller zeroes the struct and sets @done. */
struct sac_path_wait {
	struct list link;
	bool waiting;
	/*
	 * time-out and number of tries of the query; used if this caller is the first that waits
	 * for the path
	 */
	struct sac_tries tries;
	/* @rec is the path; NULL unless @status is 0; valid during the call only */
	void (*done)(struct sac_path_wait *w, int status, const struct ib_path_rec *rec, ns_t now);
};

/**
 * sac_path_get() - Get the path to a port from the cache, or ask the SA
 * @ret:	written only with return value 0
 *
 * After a failed query a back-off begins: 1 s, doubled up to 16 s by further failures. Until the
 * back-off is over, this function does not ask the SA again, and returns the status of the failed
 * query.
 * Return: 0; -EINPROGRESS: w->done() will be called once; the status of a query that failed shortly
 * before, such as a MAD status (> 0) or -ETIMEDOUT; -ENETDOWN; -ENOBUFS: too many paths, or no
 * memory
 */
int sac_path_get(struct sac *s, const struct sac_path_key *key, struct sac_path_wait *w,
		 struct ib_path_rec *ret, ns_t now);

/*
 * sac_paths_room() - Say that a user may need @n paths at a time, or, with a negative number, that it no longer does
 *
 * The cache has room for the paths of all users together, and at least for SAC_MAX_PATHS.
 */
void sac_paths_room(struct sac *s, int n);

/* sac_path_cancel() - Do not call w->done() any more; no effect if @w does not wait */
void sac_path_cancel(struct sac_path_wait *w);

/*
 * sac_path_until() - Return the time at which the cached answer for @key expires
 *
 * A user that stores the path asks for a new one at this time, and not a whole lifetime after it
 * got the path: the answer may already have been old when the user got it. Return: @now if the
 * cache has no valid answer
 */
ns_t sac_path_until(const struct sac *s, const struct sac_path_key *key, ns_t now);

enum sac_path_state {
	SAC_PATH_PENDING,
	SAC_PATH_VALID,
	SAC_PATH_FAILED, /* the query failed; sac_path_get() asks the SA again after .until */
};

struct sac_path_info {
	struct sac_path_key key;
	enum sac_path_state state;
	int status; /* result of the last query */
	struct ib_path_rec rec; /* the path; valid in SAC_PATH_VALID */
	ns_t until; /* time at which the path leaves this state */
	unsigned int waiters;
};
/*
 * sac_path_some() - Call @fn for about *n cached paths, advance *at, which is 0 at first, and reduce *n, all as htab_some()
 * does. Paths may come and go between two calls. Return: false if no paths are left
 */
bool sac_path_some(const struct sac *s, uint64_t *at, unsigned int *n,
		   void (*fn)(void *ctx, const struct sac_path_info *i), void *ctx);

/* --- Groups --- */

struct sac_join {
	/*
	 * The caller sets mgid, pkey and join_state (MCM_JOIN_*); the client fills in port_gid. With @create the
	 * caller also sets qkey, mtu, rate, tclass, sl, flow_label and hop_limit. The SA creates a missing group with
	 * these parameters, and compares them with the parameters of an existing group.
	 */
	struct ib_mcmember_rec rec;
	bool create;
	struct sac_tries tries;
	/*
	 * With .create: first join an existing group, with MGID, PortGID, P_Key and JoinState only,
	 * and create the group only after a refusal
	 */
	bool join_first;
};

/* The reference of one user to a group. The user zeroes the struct and sets @done. */
struct sac_group_ref {
	struct list link;
	struct sac_group *group; /* group that is referenced; NULL: none */
	struct sac_join join;
	bool told; /* true if .done was called with the record of the present membership */
	/*
	 * Called when a join has succeeded or failed. With status 0, @rec is the record in the SA's
	 * answer. If the client has to join again later, this function is called again, because the
	 * parameters of the group may have changed. After a failure further attempts follow, 1 to
	 * 16 s apart, until the reference is left.
	 */
	void (*done)(struct sac_group_ref *r, int status, const struct ib_mcmember_rec *rec,
		     ns_t now);
};

/**
 * sac_group_join() - Take a reference to a group, or change the parameters of a reference
 *
 * The client joins at once with the JoinState bits that the SA has not granted yet, even if the SA refused these bits
 * before.
 * Return: 0: @r->done will be called; -ENOBUFS: too many groups; -EINVAL: the MGID is no multicast GID, or differs
 * from the MGID of the group that @r refers to, or the JoinState bits are 0 or unknown
 */
int sac_group_join(struct sac *s, struct sac_group_ref *r, const struct sac_join *j, ns_t now);

/*
 * sac_group_leave() - Drop a reference, and delete at the SA the JoinState bits that no other
 * reference has
 */
void sac_group_leave(struct sac *s, struct sac_group_ref *r, ns_t now);

/*
 * A question to the SA: whether a group exists (Get(MCMemberRecord)), or which groups exist. The caller zeroes the
 * struct and sets @done.
 */
struct sac_group_query;
typedef void sac_group_query_fn(struct sac_group_query *q, int status,
				const struct ib_mcmember_rec *rec, ns_t now);
struct sac_group_query {
	struct list link; /* link in the list of all queries of the client */
	struct sac_op *op; /* the request to the SA; NULL if it is neither queued nor open */
	/*
	 * After sac_group_ask(): called once. SA_STATUS_NO_RECORDS means that the group does not
	 * exist.
	 * After sac_group_list(): called with status 0 for each group, and then once more, without
	 * a record, with the status of the query
	 */
	sac_group_query_fn *done;
	ib_gid mgid;
	bool list; /* true if the query is for all groups of the partition .pkey */
	uint16_t pkey;
};

/*
 * sac_group_ask() - Ask the SA for the group @mgid. Return: 0; -EALREADY: @q waits for an answer
 * already; -ENETDOWN; -ENOMEM
 */
int sac_group_ask(struct sac *s, struct sac_group_query *q, const ib_gid *mgid, ns_t now);
/*
 * sac_group_list() - Ask for all groups of a partition: GetTable(MCMemberRecord) by P_Key. Return: as sac_group_ask()
 */
int sac_group_list(struct sac *s, struct sac_group_query *q, uint16_t pkey, ns_t now);
void sac_group_ask_cancel(struct sac_group_query *q);

struct sac_group_info {
	ib_gid mgid;
	uint8_t want, have; /* JoinState bits; .want: of all references; .have: granted by the SA */
	unsigned int refs;
	int status; /* status of the last join or leave */
	unsigned int failures; /* failed attempts since the last success */
	ns_t retry_at; /* time of the next join or leave after a failure; NS_NEVER: no failure */
	/*
	 * record of the last join that the SA granted; all zeros before the SA has granted a join
	 */
	struct ib_mcmember_rec rec;
};
void sac_group_each(const struct sac *s, void (*fn)(void *ctx, const struct sac_group_info *i),
		    void *ctx);

/* --- Services --- */

/*
 * Lease of the ServiceRecords that a client registers, in seconds; after half of this time the
 * registration is renewed
 */
#define SAC_SERVICE_LEASE 300

/*
 * A query for the ports that offer a service: GetTable(ServiceRecord). The caller zeroes the struct and sets the
 * fields below .op.
 */
struct sac_service_query {
	struct list link;
	struct sac_op *op; /* the request to the SA; NULL if it is neither queued nor open */
	uint64_t id; /* ServiceID of the wanted service */
	uint16_t pkey;
	/*
	 * Called for each record of the answer that has this ServiceID, this P_Key and a unicast
	 * GID, in the order of the answer. The callback must not call any function of this header.
	 */
	void (*record)(struct sac_service_query *q, const struct ib_service_rec *rec);
	/*
	 * Called once, after all records. @status is 0 if there was a record, SA_STATUS_NO_RECORDS if there was
	 * none, and -ENETDOWN if the client was restarted, so that the caller should ask again. With any other
	 * status the query has failed
	 */
	void (*done)(struct sac_service_query *q, int status, ns_t now);
};

/*
 * sac_service_ask() - Ask for the ports that offer service q->id. Return: 0; -EALREADY: @q waits for an answer
 * already; -ENETDOWN; -ENOMEM
 */
int sac_service_ask(struct sac *s, struct sac_service_query *q, ns_t now);
void sac_service_ask_cancel(struct sac_service_query *q);

struct sac_service;

/**
 * sac_service_register() - Register a service of this port, and keep it registered
 * @name:	ServiceName, at most 64 octets
 *
 * The ServiceRecord has the port's GID with index 0 and a ServiceKey, so that others cannot change or delete it.
 * The client registers the record when the port is usable, renews its lease, and registers it again after each
 * restart. A request that failed is repeated with the client's back-off.
 * Return: 0; -ENOMEM; -EEXIST: this client has registered the service already
 */
int sac_service_register(struct sac *s, uint64_t id, uint16_t pkey, const char *name,
			 struct sac_service **ret, ns_t now);
/*
 * sac_service_withdraw() - End a registration by a Delete. The Delete is repeated a few times if no
 * answer comes. The caller must not use @v any more. The service may be registered again at once.
 * NULL is accepted
 */
void sac_service_withdraw(struct sac_service *v, ns_t now);
/*
 * sac_service_registered() - Tell whether the SA has confirmed the ServiceRecord since the last
 * restart of the client
 */
bool sac_service_registered(const struct sac_service *v);

/* --- Output --- */

#define SAC_STATUS_LEN 64
/*
 * sac_status_print() - Write a status as text, such as "status 0x0200 (request invalid)" or "no
 * answer from the SA"; at most @size octets, a NUL included
 */
char *sac_status_print(char *buf, size_t size, int status);

/*
 * sac_status_is_outage() - Tell whether @status means that no SA works at the moment. The client
 * logs such an outage itself, and retries the request
 */
bool sac_status_is_outage(int status);

struct sac_stats {
	uint64_t requests, answers, refused, timeouts, malformed;
	/*
	 * .absent: answers from a port that has no SA; .busy: answers from an SA that is too busy
	 */
	uint64_t absent, busy;
	uint64_t path_hits, path_queries, path_failed_hits;
	uint64_t joins, leaves, asks, service_asks;
	uint64_t reports, reports_ignored, restarts;
	/* number of Reports that were dropped because they did not come from QP1 of the SM's LID */
	uint64_t reports_foreign;
	unsigned int open, queued, paths, groups;
};
void sac_stats(const struct sac *s, struct sac_stats *ret);

#endif

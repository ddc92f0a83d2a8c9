/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SAC_SAC_H
#define SAC_SAC_H

/*
 * DOC: SA client
 *
 * What one port asks its subnet administrator, shared by all interfaces on it: the SA knows
 * members by (MGID, PortGID) and paths by GIDs, not interfaces. Paths are cached, one query
 * serves many waiters; group memberships are references, the SA sees their union; traps 64-67
 * are subscribed to once. Requests are paced: at most SAC_MAX_OPEN are open, joins first.
 *
 * A status is an int everywhere: 0; a MAD status as received (> 0); or -errno: -ETIMEDOUT no
 * answer after all retries, -ENXIO the SM's host answers that it has no SA, -EBUSY the SA is too busy,
 * -ENETDOWN no usable port, -ECANCELED, -EBADMSG an answer that cannot be one. sac_status_print() makes text of
 * it. Only a MAD status is a refusal: the others say nothing about what was asked for.
 *
 * After a change of LID, GID or SM, and on ClientReregister, the client joins every referenced
 * group again, subscribes again and forgets all paths; users hear SAC_EV_RESTART first.
 *
 * No callback is called from inside the call that asked for it, and every callback may call
 * back in. Nothing here reads a clock; retries and back-off run on the owner's timers.
 */

#include "mad/ep.h"
#include "util/list.h"
#include "util/log.h"
#include "util/timer.h"
#include "wire/records.h"

/* Limits and times. */
#define SAC_MAX_OPEN 16 /* requests open at the SA */
#define SAC_MAX_PATHS 16384 /* cached paths, pending ones included */
#define SAC_MAX_GROUPS 4096 /* referenced groups */
#define SAC_TRY_MS 250 /* first answer is awaited this long ... */
#define SAC_RETRIES 5 /* ... and the request repeated so often */
#define SAC_BACKOFF_MIN NS_SEC(1) /* after a failure, doubled up to ... */
#define SAC_BACKOFF_MAX NS_SEC(16) /* ... and up to a quarter more, so that ports spread */
#define SAC_BACKOFF_ABSENT \
	NS_SEC(4) /* ... SAC_BACKOFF_MAX where there is no SA at all: that is answered at once */
#define SAC_PATH_TTL NS_SEC(300) /* a cached path is asked for again after */
#define SAC_SHARED_REJOIN NS_SEC(60) /* see struct sac_cfg */

struct sac;

struct sac_cfg {
	struct mad_ep *ep; /* borrowed, must outlive the client */
	struct timers *timers; /* borrowed */
	const struct log_sink *log; /* borrowed; NULL is silent */
	uint64_t seed; /* of the back-off jitter */
	/*
	 * Another IPoIB (the kernel's) shares the port: the SA cannot tell it from us, so no
	 * Delete and no unsubscribe is sent, and groups are joined again every 60 s.
	 */
	bool shared;
};

/* sac_create() - 0; -ENOMEM; -EBUSY: another agent of the endpoint handles SA Reports */
int sac_create(struct sac **ret, const struct sac_cfg *cfg);

/* Calls nothing back; references and waits must be gone or are forgotten. NULL is accepted. */
void sac_destroy(struct sac *s);

struct sac_port {
	uint8_t state; /* enum ib_port_state; Active is usable */
	uint8_t sm_sl;
	uint16_t lid, sm_lid; /* 0: not known yet */
	ib_gid gid; /* index 0 */
};

/* sac_port_update() - The port's attributes now; same values as before: nothing happens */
void sac_port_update(struct sac *s, const struct sac_port *port, ns_t now);

/* sac_reregister() - ClientReregister, or an SM change that the attributes do not show */
void sac_reregister(struct sac *s, ns_t now);

const struct sac_port *sac_port(const struct sac *s);

/* sac_usable() - The port is Active and has a LID and an SM */
bool sac_usable(const struct sac *s);

/* sac_subscribed() - The SA confirmed the subscriptions to traps 66 and 67 */
bool sac_subscribed(const struct sac *s);

/*
 * sac_shutdown() - Begin to leave: unsubscribe. References should have been left before.
 * sac_idle() says when nothing is open any more; a port that is down is idle at once.
 */
void sac_shutdown(struct sac *s, ns_t now);
bool sac_idle(const struct sac *s);

/* Events that concern every user of the port. */
enum sac_event {
	SAC_EV_RESTART, /* paths are void, memberships are being renewed */
	SAC_EV_GID_IN, /* trap 64; the path to @gid was forgotten */
	SAC_EV_GID_OUT, /* trap 65; likewise */
	SAC_EV_GROUP_CREATED, /* trap 66, @gid is the MGID */
	SAC_EV_GROUP_DELETED, /* trap 67 */
};

struct sac_user {
	struct list node;
	void (*event)(struct sac_user *u, enum sac_event ev, const ib_gid *gid, ns_t now);
};
void sac_user_add(struct sac *s, struct sac_user *u);
void sac_user_del(struct sac_user *u);

/* --- Paths --- */

struct sac_path_key {
	ib_gid sgid, dgid;
	uint16_t pkey; /* as the link uses it, bit 15 set for full members */
	uint8_t tclass;
};

/* One who waits for a path. Zero it, set @done. */
struct sac_path_wait {
	struct list node;
	bool waiting;
	/* @rec is borrowed, and NULL unless @status is 0 */
	void (*done)(struct sac_path_wait *w, int status, const struct ib_path_rec *rec, ns_t now);
};

/**
 * sac_path_get() - Path to a port: from the cache, or by a query
 * @ret:	written only with return value 0
 *
 * A failed query is remembered: until its back-off (1 s, doubled up to 16 s while it goes on
 * failing) is over, its status is the answer.
 * Return: 0; -EINPROGRESS: @w will be called once; a MAD status (> 0) or -ETIMEDOUT of a query
 * that failed shortly before; -ENETDOWN; -ENOBUFS: too many paths
 */
int sac_path_get(struct sac *s, const struct sac_path_key *key, struct sac_path_wait *w,
		 struct ib_path_rec *ret, ns_t now);

/* sac_path_cancel() - Do not call @w; no effect if it is not waiting */
void sac_path_cancel(struct sac_path_wait *w);

/* sac_path_forget() - Ask anew the next time, whatever the cache says */
void sac_path_forget(struct sac *s, const struct sac_path_key *key);

enum sac_path_state {
	SAC_PATH_PENDING,
	SAC_PATH_VALID,
	SAC_PATH_FAILED, /* negative, until @until */
};

struct sac_path_info {
	struct sac_path_key key;
	enum sac_path_state state;
	int status; /* of the last query */
	struct ib_path_rec rec; /* SAC_PATH_VALID */
	ns_t until; /* valid or failed until */
	unsigned int waiters;
};
void sac_path_each(const struct sac *s, void (*fn)(void *ctx, const struct sac_path_info *i),
		   void *ctx);

/* --- Groups --- */

struct sac_join {
	/*
	 * mgid, pkey and join_state (MCM_JOIN_*) always; port_gid is filled in. With @create
	 * also qkey, mtu, rate, tclass, sl, flow_label, hop_limit, which the SA uses for a group
	 * that does not exist, and compares for one that does.
	 */
	struct ib_mcmember_rec rec;
	bool create;
};

/* One user's reference to a group. Zero it, set @done. */
struct sac_group_ref {
	struct list node;
	struct sac_group *group; /* NULL: no reference */
	struct sac_join join;
	bool told; /* @done has had the present outcome */
	/*
	 * Called after every attempt: status 0 with the record the SA answered (also after each
	 * re-join, with what may be other parameters), else why it failed; tries go on, 1 to
	 * 16 s apart, until the reference is left.
	 */
	void (*done)(struct sac_group_ref *r, int status, const struct ib_mcmember_rec *rec,
		     ns_t now);
};

/**
 * sac_group_join() - Take a reference, or change the parameters of one
 *
 * Joins what the SA has not granted yet; if it was refused before, it is tried again at once.
 * Return: 0: @r->done will be called; -ENOBUFS: too many groups; -EINVAL: not an MGID, or no
 * or an unknown join_state, or another MGID than @r had
 */
int sac_group_join(struct sac *s, struct sac_group_ref *r, const struct sac_join *j, ns_t now);

/* sac_group_leave() - Drop the reference; bits that nobody wants any more are left at the SA */
void sac_group_leave(struct sac *s, struct sac_group_ref *r, ns_t now);

/* A question whether a group exists: Get(MCMemberRecord). Zero it, set @done. */
struct sac_group_query;
typedef void sac_group_query_fn(struct sac_group_query *q, int status,
				const struct ib_mcmember_rec *rec, ns_t now);
struct sac_group_query {
	struct list node; /* among all queries of the client */
	struct sac_op *op; /* NULL: not asking */
	sac_group_query_fn *done; /* SA_STATUS_NO_RECORDS: there is no such group */
	ib_gid mgid;
};

/* sac_group_ask() - 0; -EALREADY: @q is asking; -ENETDOWN; -ENOMEM */
int sac_group_ask(struct sac *s, struct sac_group_query *q, const ib_gid *mgid, ns_t now);
void sac_group_ask_cancel(struct sac_group_query *q);

struct sac_group_info {
	ib_gid mgid;
	uint8_t want, have; /* join states wanted by references, granted by the SA */
	unsigned int refs;
	int status; /* of the last attempt */
	unsigned int failures; /* in a row */
	ns_t retry_at; /* NS_NEVER: nothing to retry */
	struct ib_mcmember_rec rec; /* as last granted; zero before */
};
void sac_group_each(const struct sac *s, void (*fn)(void *ctx, const struct sac_group_info *i),
		    void *ctx);

/* --- For the eye --- */

#define SAC_STATUS_LEN 64
/* "status 0x0200 (request invalid)", "no answer from the SA"; writes at most @size with a NUL */
char *sac_status_print(char *buf, size_t size, int status);

/* sac_status_is_outage() - There is no SA at the moment: the client has said so, and goes on asking */
bool sac_status_is_outage(int status);

struct sac_stats {
	uint64_t requests, answers, refused, timeouts, malformed;
	uint64_t absent, busy; /* answers of a host without an SA, and of an SA that says so */
	uint64_t path_hits, path_queries, path_failed_hits;
	uint64_t joins, leaves, asks;
	uint64_t reports, reports_ignored, restarts;
	unsigned int open, queued, paths, groups;
};
void sac_stats(const struct sac *s, struct sac_stats *ret);

#endif

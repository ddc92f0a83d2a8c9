/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SAC_CLIENT_H
#define SAC_CLIENT_H

/* Declarations that only the files of the SA client use */

#include "sac/sac.h"
#include "util/hash.h"
#include "util/prng.h"

/*
 * One request to the SA. The request is queued while SAC_MAX_OPEN requests are open; then it is
 * sent, and stays open until done() is called.
 */
struct sac_op {
	struct list link;
	struct sac *sac;
	struct mad_tx *tx; /* the open MAD request; NULL while queued */
	bool active; /* true while the request is queued, or sent and not yet answered */
	uint8_t resp_method;
	uint16_t attr_id;
	struct sac_tries tries; /* time-out and number of tries; set before the request is queued */
	/*
	 * Writes the MAD. Called when the MAD is sent, not when the request is queued, so that the
	 * MAD is up to date.
	 */
	void (*fill)(struct sac_op *op, uint8_t mad[MAD_LEN]);
	/*
	 * called when the request has ended; @resp is the SA's answer, or NULL unless @status is 0
	 */
	void (*done)(struct sac_op *op, int status, const struct sa_mad *resp, ns_t now);
};

#define SAC_NTRAPS 4 /* number of traps that the client subscribes to: 64 to 67 */

/* A subscription to the Reports of one trap. */
struct sac_inform {
	struct sac_op op;
	struct timer retry;
	struct sac *sac;
	uint16_t trap;
	bool subscribed;
	unsigned int failures;
	int status; /* result of the last request */
};

/* A time without a working SA, see outage.c */
struct sac_outage {
	/* number of requests that have failed in the present outage; 0: there is no outage */
	unsigned int failed;
	bool silent,
		/*
		 * .silent: the log has a line which says that the SA does not answer; .busy: the
		 * log has a line which says that the SA answers Busy
		 */
		busy;
	bool absent; /* the log has a line which says that no SA runs at the SM LID */
	ns_t since;
};

struct sac {
	struct mad_ep *ep;
	struct mad_agent *agent;
	struct timers *timers;
	const struct log_sink *log;
	struct prng prng;
	struct hash_key secret;
	bool shared, closing;
	struct sac_port port;
	struct list users;

	/* members of op.c */
	struct list urgent, normal; /* requests that wait to be sent */
	unsigned int nopen, nqueued;
	struct timer pump;
	struct sac_outage outage;

	/* members of path.c */
	struct htab path_tab;
	/*
	 * lists of struct sac_path: .paths in the order of their answers, oldest first; .pending
	 * while the SA is asked
	 */
	struct list paths, pending;
	unsigned int npaths, needed; /* .needed: paths that the users need at a time */
	struct timer path_sweep;

	/* members of group.c and ask.c */
	struct htab group_tab;
	struct list groups; /* list of struct sac_group in the order of their first reference */
	unsigned int ngroups;
	struct timer rejoin;
	struct list asks;

	/* members of service.c */
	struct list service_asks; /* list of struct sac_service_query */
	struct list services; /* list of struct sac_service */

	/* members of inform.c */
	struct sac_inform inform[SAC_NTRAPS];
	struct timer inform_start;

	struct sac_stats stats;
};

#define sac_log(s, lvl, ...) log_to((s)->log, lvl, __VA_ARGS__)

/* sac_backoff() - Return the time to wait after @failures failures in a row, of which the last had @status */
ns_t sac_backoff(struct sac *s, unsigned int failures, int status);

/*
 * sac_outage_status() - Translate the MAD status of an answer: -ENXIO if @mad_status means that no
 * SA runs at the SM LID; -EBUSY if the SA is too busy; otherwise @mad_status
 */
int sac_outage_status(int mad_status);
/* sac_outage_note() - Begin, continue or end an outage, because a request ended with @status */
void sac_outage_note(struct sac *s, int status, ns_t now);
/* sac_groups_hurry() - Repeat at once those joins and leaves that failed in an outage */
void sac_groups_hurry(struct sac *s, ns_t now);
void sac_inform_hurry(struct sac *s, ns_t now);
void sac_paths_hurry(struct sac *s);
void sac_services_hurry(struct sac *s, ns_t now);

/*
 * sac_restart() - Join groups, query paths, register services and subscribe again, because the SA
 * may have lost the state of this port, or cannot be reached
 */
void sac_restart(struct sac *s, ns_t now);

/* sac_tell() - Pass an event to all users of the client */
void sac_tell(struct sac *s, enum sac_event ev, const ib_gid *gid, ns_t now);

/*
 * Creation, restart and destruction of the parts of the client: op.c, path.c, group.c, ask.c,
 * service.c, inform.c
 */
void sac_ops_init(struct sac *s);
void sac_ops_fini(struct sac *s);
void sac_paths_init(struct sac *s);
void sac_paths_fini(struct sac *s);
void sac_paths_restart(struct sac *s, ns_t now);
void sac_paths_forget_gid(struct sac *s, const ib_gid *dgid);
void sac_groups_init(struct sac *s);
void sac_groups_fini(struct sac *s);
void sac_groups_restart(struct sac *s, ns_t now);
/*
 * sac_groups_shutdown() - Leave at once those groups that have no reference. An open join does not
 * delay the leave, because the SA may have granted the join already
 */
void sac_groups_shutdown(struct sac *s, ns_t now);
/*
 * sac_groups_deleted() - Treat the membership of a group as uncertain, because the SA reports that
 * the group was deleted
 */
void sac_groups_deleted(struct sac *s, const ib_gid *mgid);
/*
 * sac_groups_verify() - Join again those groups that may have been deleted before the client was
 * subscribed to the Reports about deleted groups
 */
void sac_groups_verify(struct sac *s, ns_t now);
/* sac_groups_resume() - Join a group again if it has references */
void sac_groups_resume(struct sac *s, const ib_gid *mgid, ns_t now);
void sac_asks_fini(struct sac *s);
void sac_asks_restart(struct sac *s, ns_t now);
void sac_services_init(struct sac *s);
void sac_services_fini(struct sac *s);
void sac_services_restart(struct sac *s, ns_t now);
void sac_inform_init(struct sac *s);
void sac_inform_fini(struct sac *s);
void sac_inform_forget(struct sac *s);
void sac_inform_resume(struct sac *s, ns_t now);
void sac_inform_stop(struct sac *s, ns_t now);
/* sac_report_recv() - Handle an unsolicited MAD of the SA class: a Report, if it is from the SA */
void sac_report_recv(void *ctx, const struct mad_addr *from, const void *mad, size_t len, ns_t now);

#endif

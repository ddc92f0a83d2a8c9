/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SAC_CLIENT_H
#define SAC_CLIENT_H

/* The client's insides, shared by the files of sac/. */

#include "sac/sac.h"
#include "util/hash.h"
#include "util/prng.h"

/* One request to the SA: queued until there is room, then open, then done. */
struct sac_op {
	struct list node;
	struct sac *sac;
	struct mad_tx *tx; /* open */
	bool active; /* queued or open */
	uint8_t resp_method;
	uint16_t attr_id;
	/* Writes the MAD when it is sent, not when it was queued: always what is wanted now. */
	void (*fill)(struct sac_op *op, uint8_t mad[MAD_LEN]);
	/* @resp is NULL unless @status is 0 */
	void (*done)(struct sac_op *op, int status, const struct sa_mad *resp, ns_t now);
};

#define SAC_NTRAPS 4 /* 64-67 */

/* A subscription to one trap. */
struct sac_inform {
	struct sac_op op;
	struct timer retry;
	struct sac *sac;
	uint16_t trap;
	bool subscribed;
	unsigned int failures;
	int status; /* of the last */
};

/* Requests fail for want of an SA, see outage.c. */
struct sac_outage {
	unsigned int failed; /* 0: none */
	bool silent, busy; /* said */
	bool absent; /* said: its host has none */
	ns_t since;
};

struct sac {
	struct mad_ep *ep;
	struct mad_agent *agent;
	struct timers *timers;
	const struct log_sink *log;
	struct prng prng;
	bool shared, closing;
	struct sac_port port;
	struct list users;

	/* op.c */
	struct list urgent, normal; /* queued */
	unsigned int nopen, nqueued;
	struct timer pump;
	struct sac_outage outage;

	/* path.c */
	struct htab path_tab;
	struct list paths; /* the oldest answer first */
	unsigned int npaths;
	struct timer path_sweep;

	/* group.c, ask.c */
	struct htab group_tab;
	struct list groups; /* in the order of their first reference */
	unsigned int ngroups;
	struct timer rejoin;
	struct list asks;

	/* inform.c */
	struct sac_inform inform[SAC_NTRAPS];
	struct timer inform_start;

	struct sac_stats stats;
};

#define sac_log(s, lvl, ...) log_to((s)->log, lvl, __VA_ARGS__)

/* sac_backoff() - How long to wait after the @failures-th failure in a row, the last for @status */
ns_t sac_backoff(struct sac *s, unsigned int failures, int status);

/* sac_outage_status() - The status of an answer, with what only says that there is no SA as -ENXIO or -EBUSY */
int sac_outage_status(int mad_status);
/* sac_outage_note() - A request ended with @status */
void sac_outage_note(struct sac *s, int status, ns_t now);
/* What had to wait because there was no SA is tried now. */
void sac_groups_hurry(struct sac *s, ns_t now);
void sac_inform_hurry(struct sac *s, ns_t now);
void sac_paths_hurry(struct sac *s);

/* sac_restart() - The SA knows nothing of us any more, or is out of reach */
void sac_restart(struct sac *s, ns_t now);

/* sac_tell() - An event to all users */
void sac_tell(struct sac *s, enum sac_event ev, const ib_gid *gid, ns_t now);

/* The files' shares of creation, restart and destruction. */
void sac_ops_init(struct sac *s);
void sac_ops_fini(struct sac *s);
void sac_paths_init(struct sac *s);
void sac_paths_fini(struct sac *s);
void sac_paths_restart(struct sac *s, ns_t now);
void sac_paths_forget_gid(struct sac *s, const ib_gid *dgid);
void sac_groups_init(struct sac *s);
void sac_groups_fini(struct sac *s);
void sac_groups_restart(struct sac *s, ns_t now);
void sac_groups_deleted(struct sac *s, const ib_gid *mgid); /* forget the membership */
void sac_groups_resume(struct sac *s, const ib_gid *mgid, ns_t now); /* join what is still wanted */
void sac_asks_fini(struct sac *s);
void sac_asks_restart(struct sac *s, ns_t now);
void sac_inform_init(struct sac *s);
void sac_inform_fini(struct sac *s);
void sac_inform_restart(struct sac *s, ns_t now);
void sac_inform_stop(struct sac *s, ns_t now);
/* An unsolicited MAD of the SA class: Report */
void sac_report_recv(void *ctx, const struct mad_addr *from, const void *mad, size_t len, ns_t now);

#endif

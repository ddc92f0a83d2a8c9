/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HELPER_PRIV_H
#define HELPER_PRIV_H

/*
 * The main process' side of the helper: helper.c has the calls that wait for their answer, and
 * jobs.c has the jobs.
 */

#include <sys/types.h>

#include "helper/proto.h"
#include "util/list.h"

/*
 * Largest number of jobs that are sent and not answered. The requests and responses of so few jobs
 * fit in the socket's buffers, so neither side ever blocks.
 */
#define HELPER_SENT_MAX 32

/* Jobs of one namespace. At most one of them is sent at a time. */
struct helper_queue {
	struct list jobs; /* list of struct helper_job.link; the first job may be under way */
	/* link in netdev_helper.ready; not in this list while no job of this queue may be sent */
	struct list ready;
	bool under_way; /* true while the first job is sent and not yet answered */
};

struct netdev_helper {
	int sock;
	/*
	 * the helper process, for whose end this process has to wait; .pidfd -1 and .pid 0: the
	 * helper is a child of another process
	 */
	int pidfd;
	pid_t pid;
	uint32_t seq; /* tag of the last request */
	bool userns;
	/* step at which the last call was refused; jobs do not set .refused */
	enum netdev_refusal refused;
	char err[NETDEV_ERR_MAX]; /* text of the last refusal */

	/* queues, indexed by namespace handle - 1; NULL until a job is posted */
	struct helper_queue *queue;
	/* list of struct helper_queue.ready: the queues whose first job may be sent */
	struct list ready;
	unsigned int njobs; /* number of jobs in all queues */
	struct helper_queue *sent[HELPER_SENT_MAX]; /* queues whose first job is under way */
	unsigned int nsent; /* number of entries in .sent */
};

void helper_jobs_init(struct netdev_helper *h);
void helper_jobs_fini(struct netdev_helper *h);

/* helper_receive() - Take the next response, without waiting. 0; -EAGAIN; -EPIPE; -errno */
int helper_receive(struct netdev_helper *h, struct helper_rsp *rsp, int ret_fds[HELPER_FDS_MAX]);

/*
 * helper_job_done() - Pass a response to the job that it answers, if there is such a job; takes
 * ownership of the descriptors @fds
 */
void helper_job_done(struct netdev_helper *h, const struct helper_rsp *rsp,
		     int fds[HELPER_FDS_MAX]);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MAD_SMPQ_H
#define MAD_SMPQ_H

/*
 * DOC: SMP pipelines
 *
 * A pipeline sends the directed-route SMPs for one purpose, such as a sweep. Only a bounded number
 * of SMPs is open at a time. The other SMPs wait until an open SMP is answered. A sweep fills a
 * pipeline, and continues when the pipeline is empty.
 */

#include "mad/ep.h"
#include "util/list.h"
#include "wire/smp.h"

struct sm_node;
struct sm_port;
struct smpq;
struct smp_cmd;

/*
 * Called once for each SMP: when its response came, or when the pipeline has given up the SMP.
 * @status is 0; -EPROTO if the response has a MAD status other than 0, which is in cmd->mad_status;
 * or -ETIMEDOUT if no valid response came. @data are the 64 data octets of the response, or NULL
 * with -ETIMEDOUT. The function may add SMPs to the queue.
 */
typedef void smp_done_fn(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
			 ns_t now);

struct smp_cmd {
	uint8_t method;
	uint16_t attr;
	uint32_t mod;
	uint8_t nhops;
	uint8_t path[IB_MAX_HOPS + 1]; /* egress ports of the route in [1] to [nhops] */
	uint8_t data[SMP_DATA_LEN]; /* attribute to be written by a Set */
	smp_done_fn *done;
	struct sm_node *node; /* node that the SMP is about, for use by done() */
	struct sm_port *port;
	void *arg;
	uint16_t mad_status; /* status of the response */
	uint16_t
		refusal; /* in a Get that follows a refused Set, for done(): MAD status of the refusal */
};

struct smpq_cfg {
	struct mad_agent *agent;
	struct timers *timers;
	uint64_t mkey;
	unsigned int max_open, timeout_ms, retries;
	void *ctx; /* first argument of smp_done_fn, idle() and useless() */
	/*
	 * Called before a request is sent. If the function returns true, the request is not sent and not counted, but
	 * ends with -ETIMEDOUT. NULL: all requests are sent
	 */
	bool (*useless)(void *ctx, const struct smp_cmd *cmd, ns_t now);
	/* Called when no request is queued or open any more, but not by smpq_cancel(). */
	void (*idle)(void *ctx, ns_t now);
};

/*
 * A source of many SMPs, each of which is made only when it can be sent, so that no SMPs wait in
 * memory. The source belongs to the caller, which may use it again after the source has ended.
 */
struct smpq_source {
	struct list link; /* link in smpq.sources */
	/*
	 * Add the next SMPs of the source by smpq_add(), if there are any. Return: false if the
	 * source has ended
	 */
	bool (*more)(struct smpq_source *s, ns_t now);
};

struct smpq {
	struct smpq_cfg cfg;
	struct list wait, open;
	struct list sources; /* struct smpq_source; the first source is asked when no SMP waits */
	unsigned int nopen;
	bool asking; /* true inside more() */
	bool failed; /* true after an SMP was dropped because it could not be queued or sent */
	bool busy; /* true inside done() */
	unsigned int stuck; /* number of timer expiries in a row at which nothing could be sent */
	uint64_t sent, timeouts;
	struct timer retry; /* armed while requests are queued although no request is open */
};

void smpq_init(struct smpq *q, const struct smpq_cfg *cfg);

/*
 * smpq_add() - Queue a copy of @cmd and send waiting SMPs; never calls done() itself. Return: false
 * if out of memory, in which case done() is not called for @cmd
 */
bool smpq_add(struct smpq *q, const struct smp_cmd *cmd, ns_t now);

/*
 * smpq_add_source() - Send the SMPs of @s after the SMPs that are queued. If fewer than max_open
 * requests are open, more() is called at once
 */
void smpq_add_source(struct smpq *q, struct smpq_source *s, ns_t now);

/* smpq_cancel() - Remove all SMPs and sources from the queue; no callback is called */
void smpq_cancel(struct smpq *q);

static inline bool smpq_idle(const struct smpq *q)
{
	return list_empty(&q->wait) && list_empty(&q->open) && list_empty(&q->sources);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SM_SMPQ_H
#define SM_SMPQ_H

/*
 * DOC: SMP pipelines
 *
 * Directed-route SMPs of one purpose: a bounded number is outstanding, the others wait
 * their turn. A sweep fills a pipeline, and goes on when it has run dry.
 */

#include "mad/ep.h"
#include "util/list.h"
#include "wire/smp.h"

struct sm_node;
struct sm_port;
struct smpq;
struct smp_cmd;

/*
 * @status: 0; -ETIMEDOUT; -EPROTO with a MAD status other than 0, see cmd->mad_status. @data: 64 octets
 * of the response, NULL with -ETIMEDOUT. May add to the queue.
 */
typedef void smp_done_fn(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
			 ns_t now);

struct smp_cmd {
	uint8_t method;
	uint16_t attr;
	uint32_t mod;
	uint8_t nhops;
	uint8_t path[IB_MAX_HOPS + 1]; /* [1 .. nhops] */
	uint8_t data[SMP_DATA_LEN]; /* of a Set */
	smp_done_fn *done;
	struct sm_node *node; /* whom it is about, for done() */
	struct sm_port *port;
	void *arg;
	uint16_t mad_status; /* of the response */
};

struct smpq_cfg {
	struct mad_agent *agent;
	struct timers *timers;
	uint64_t mkey;
	unsigned int max_open, timeout_ms, retries;
	void *ctx; /* of smp_done_fn and idle */
	/* After the last request was done. Not called by smpq_cancel(). */
	void (*idle)(void *ctx, ns_t now);
};

struct smpq {
	struct smpq_cfg cfg;
	struct list wait, open;
	unsigned int nopen;
	bool failed; /* an SMP was given up for want of memory */
	bool busy; /* inside done() */
	unsigned int stuck; /* retries in a row that sent nothing */
	uint64_t sent, timeouts;
	struct timer retry; /* the endpoint had no room and nothing of ours is open */
};

void smpq_init(struct smpq *q, const struct smpq_cfg *cfg);

/*
 * smpq_add() - Queue a copy of @cmd and send what may be sent; done() is never called from here.
 * false: no memory, done() is never called at all
 */
bool smpq_add(struct smpq *q, const struct smp_cmd *cmd, ns_t now);

/* smpq_cancel() - Forget everything; no callback is called */
void smpq_cancel(struct smpq *q);

static inline bool smpq_idle(const struct smpq *q)
{
	return list_empty(&q->wait) && list_empty(&q->open);
}

#endif

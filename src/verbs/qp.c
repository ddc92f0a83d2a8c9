/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/priv.h"

static int modify(struct verbs_qp *q, struct ibv_qp_attr *a, int mask)
{
	int err = q->port->lib->modify_qp(q->h, a, mask | IBV_QP_STATE);

	return err > 0 ? -err : err;
}

static int to_init(struct verbs_qp *q)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.pkey_index = q->pkey_index,
		.port_num = q->port->num,
		.qkey = q->qkey,
	};

	return modify(q, &a, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
}

/*
 * Bring the queue pair to the state RTS. Receive buffers are posted before the queue pair can
 * receive, so that there are buffers for the first packets.
 */
static int to_rts(struct verbs_qp *q)
{
	struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR };
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS };
	int err = to_init(q);

	if (err)
		return err;
	verbs_rx_fill(q);
	err = modify(q, &rtr, 0);
	if (!err)
		err = modify(q, &rts, IBV_QP_SQ_PSN);
	if (!err)
		q->stopped = q->broken = false;
	return err;
}

/*
 * Forget the work requests of a queue pair after a reset: no work request is open any more, and the
 * completions that remain in the CQs are useless.
 */
static void forget(struct verbs_qp *q)
{
	struct ibv_wc wc[VERBS_BATCH];

	while (ibv_poll_cq(q->rcq, VERBS_BATCH, wc) > 0)
		;
	while (ibv_poll_cq(q->scq, VERBS_BATCH, wc) > 0)
		;
	q->stash_n = q->stash_at = 0;
	verbs_tx_drop(q);
	for (q->nidle = 0; q->nidle < q->rx_depth; q->nidle++)
		q->idle[q->nidle] = q->idle[q->rx_depth + q->nidle];
}

int verbs_qp_restart(struct verbs_qp *q)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RESET };
	int err = q->port->dead ? -EIO : modify(q, &a, 0);

	q->stopped = true;
	if (err)
		return err;
	forget(q);
	return to_rts(q);
}

/*
 * A send with an error changes the state of the queue pair to SQE, and the sends behind it are flushed. When all of
 * these sends have completed, the state can be set to RTS again, and the receive queue loses nothing (IBTA 10.3.1).
 */
static void leave_sqe(struct verbs_qp *q)
{
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS };

	while (verbs_tx_reap(q))
		;
	q->broken = q->tx_n > 0 || modify(q, &rts, 0);
	if (!q->broken)
		q->port->stats.qp_restarts++;
}

void verbs_qp_mend(struct verbs_qp *q)
{
	struct ibv_qp_attr a = { 0 };
	struct ibv_qp_init_attr init;
	int err;

	if (!q->broken || q->port->dead)
		return;
	q->broken = false;
	if (q->port->lib->query_qp(q->h, &a, IBV_QP_STATE, &init) || a.qp_state == IBV_QPS_RTS)
		return;
	if (a.qp_state == IBV_QPS_SQE) {
		leave_sqe(q);
		return;
	}
	err = verbs_qp_restart(q);
	if (!err)
		q->port->stats.qp_restarts++;
	else
		log_to(q->port->log, LOG_LVL_WARN,
		       "port %s: queue pair 0x%06x does not restart: %s", q->port->name, q->num,
		       strerror(-err));
}

/* --- making */

static unsigned int depth_of(const struct verbs_port *p, unsigned int want)
{
	unsigned int d = want ? want : VERBS_DEPTH_MAX;

	if (d > VERBS_DEPTH_MAX)
		d = VERBS_DEPTH_MAX;
	if (p->limits.max_qp_wr > 0 && d > (unsigned int)p->limits.max_qp_wr)
		d = (unsigned int)p->limits.max_qp_wr;
	if (p->limits.max_cqe > 0 && d > (unsigned int)p->limits.max_cqe)
		d = (unsigned int)p->limits.max_cqe;
	return d;
}

/*
 * Return the largest number of receive buffers for a queue pair. An eighth of the memory for
 * packets (the arena) is for sends, and an eighth is for the receives of the port's first queue
 * pair. Later queue pairs belong to further interfaces, or to stations, which are MAC addresses
 * behind an interface (eth/station.h). Each later queue pair gets a 32nd of @spare, the free memory
 * without the eighth for sends. This part is so small that the memory suffices for the largest
 * number of stations.
 */
static unsigned int share_of(const struct verbs_qp *q, unsigned int spare)
{
	const struct verbs_port *p = q->port;
	bool first = p->qps.next == &q->link;
	unsigned int share = first ? p->nslots / 8 : spare / 32;

	return share > VERBS_RX_MIN ? share : VERBS_RX_MIN;
}

static int take_slots(struct verbs_qp *q, unsigned int want)
{
	struct verbs_port *p = q->port;
	unsigned int spare = p->nfree > p->nslots / 8 ? p->nfree - p->nslots / 8 : 0;
	unsigned int share = share_of(q, spare);

	q->rx_depth = depth_of(p, want);
	if (q->rx_depth > share)
		q->rx_depth = share;
	if (q->rx_depth > spare) {
		q->rx_depth = 0;
		return -ENOBUFS;
	}
	/*
	 * The array has two lists: from index 0 the slots that are not posted, and from index
	 * rx_depth all slots of the queue pair.
	 */
	q->idle = calloc(2ul * q->rx_depth, sizeof(*q->idle));
	if (!q->idle)
		return -ENOMEM;
	for (; q->nidle < q->rx_depth; q->nidle++)
		q->idle[q->nidle] = q->idle[q->rx_depth + q->nidle] = p->free_slot[--p->nfree];
	return 0;
}

static int make_queues(struct verbs_qp *q)
{
	struct verbs_port *p = q->port;
	struct ibv_qp_init_attr init = {
		.qp_context = q,
		.qp_type = IBV_QPT_UD,
		.cap = { .max_recv_wr = q->rx_depth, .max_recv_sge = 1, .max_send_sge = 1 },
	};

	errno = 0;
	q->scq = p->lib->create_cq(p->ctx, (int)q->tx_depth, q, p->channel, 0);
	if (q->scq)
		q->rcq = p->lib->create_cq(p->ctx, (int)q->rx_depth, q, p->channel, 0);
	if (!q->rcq)
		return errno ? -errno : -EIO;
	init.send_cq = q->scq;
	init.recv_cq = q->rcq;
	init.cap.max_send_wr = q->tx_depth;
	q->h = p->lib->create_qp(p->pd, &init);
	if (!q->h)
		return errno ? -errno : -EIO;
	q->num = q->h->qp_num;
	return to_rts(q);
}

static int check(const struct verbs_port *p, uint16_t pkey_index)
{
	if (p->dead)
		return -EIO;
	return pkey_index < p->attr.pkey_tbl_len ? 0 : -EINVAL;
}

int verbs_qp_create(struct ca *ca, const struct ca_qp_attr *attr, void *ctx, struct ca_qp **ret)
{
	struct verbs_port *p = verbs_port_of(ca);
	int err = check(p, attr->pkey_index);
	struct verbs_qp *q;

	if (err)
		return err;
	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->qp = (struct ca_qp){ .ca = ca, .ctx = ctx };
	q->port = p;
	q->pkey_index = attr->pkey_index;
	q->qkey = attr->qkey;
	list_init(&q->groups);
	list_add_tail(&p->qps, &q->link);
	q->tx_depth = depth_of(p, attr->tx_depth);
	q->tx = calloc(q->tx_depth, sizeof(*q->tx));
	err = q->tx ? take_slots(q, attr->rx_depth) : -ENOMEM;
	if (!err)
		err = make_queues(q);
	if (err) {
		verbs_qp_destroy(&q->qp);
		return err;
	}
	*ret = &q->qp;
	return 0;
}

bool verbs_qp_unmake(struct verbs_qp *q)
{
	const struct verbs_lib *lib = q->port->lib;
	bool gone;

	if (q->h)
		verbs_groups_detach(q);
	gone = !q->h || !lib->destroy_qp(q->h) || q->port->dead;
	if (q->rcq)
		lib->destroy_cq(q->rcq);
	if (q->scq)
		lib->destroy_cq(q->scq);
	q->h = NULL;
	q->rcq = q->scq = NULL;
	q->stopped = true;
	q->broken = q->scq_armed = false;
	q->stash_n = q->stash_at = 0;
	if (gone)
		verbs_tx_drop(q);
	return gone;
}

int verbs_qp_remake(struct verbs_qp *q)
{
	int err;

	for (q->nidle = 0; q->nidle < q->rx_depth; q->nidle++)
		q->idle[q->nidle] = q->idle[q->rx_depth + q->nidle];
	err = make_queues(q);
	return err ? err : verbs_groups_attach(q);
}

/*
 * The adapter writes to posted buffers until the queue pair is destroyed. If the destruction fails, the slots are
 * never used again, because the adapter may still write to them.
 */
void verbs_qp_destroy(struct ca_qp *cqp)
{
	struct verbs_qp *q = verbs_qp_of(cqp);
	struct verbs_port *p = q->port;

	verbs_groups_leave(q);
	list_del(&q->link);
	if (verbs_qp_unmake(q)) {
		for (unsigned int i = 0; q->idle && i < q->rx_depth; i++)
			p->free_slot[p->nfree++] = q->idle[q->rx_depth + i];
	} else {
		log_to(p->log, LOG_LVL_WARN, "port %s: queue pair 0x%06x cannot be destroyed",
		       p->name, q->num);
	}
	free(q->tx);
	free(q->idle);
	free(q);
}

int verbs_qp_modify(struct ca_qp *qp, uint16_t pkey_index, uint32_t qkey)
{
	struct verbs_qp *q = verbs_qp_of(qp);
	int err = check(q->port, pkey_index);

	if (err)
		return err;
	q->pkey_index = pkey_index;
	q->qkey = qkey;
	return verbs_qp_restart(q);
}

uint32_t verbs_qp_num(const struct ca_qp *qp)
{
	return container_of(qp, const struct verbs_qp, qp)->num;
}

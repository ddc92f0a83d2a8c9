/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/hca.h"

#include <errno.h>
#include <stdlib.h>

#include "hca/priv.h"

static const char *const drop_names[] = {
	[HCA_DROP_LEN] = "length",
	[HCA_DROP_VERSION] = "version",
	[HCA_DROP_ICRC] = "icrc",
	[HCA_DROP_VCRC] = "vcrc",
	[HCA_DROP_PORT_STATE] = "port-state",
	[HCA_DROP_VL15] = "vl15",
	[HCA_DROP_DLID] = "dlid",
	[HCA_DROP_DGID] = "dgid",
	[HCA_DROP_QPN] = "qpn",
	[HCA_DROP_QP_STATE] = "qp-state",
	[HCA_DROP_PKEY] = "pkey",
	[HCA_DROP_QKEY] = "qkey",
	[HCA_DROP_MGID] = "mgid",
	[HCA_DROP_NO_GRH] = "no-grh",
	[HCA_DROP_NO_RX] = "no-rx",
	[HCA_DROP_MTU] = "mtu",
	[HCA_DROP_NO_MEM] = "no-mem",
	[HCA_DROP_TX_STATE] = "tx-state",
};
static_assert(ARRAY_SIZE(drop_names) == HCA_DROP_MAX, "every reason has a name");

const char *hca_drop_name(enum hca_drop d)
{
	return (unsigned int)d < HCA_DROP_MAX ? drop_names[d] : "?";
}

static void node_event(void *ctx, uint8_t port, enum node_event ev, ns_t now)
{
	struct hca *h = ctx;

	h->ops->event(h->ctx, port, ev, now);
}

static const struct node_ops node_ops = { .xmit = hca_mgmt_xmit, .event = node_event };

int hca_create(struct hca **ret, const struct hca_cfg *cfg, const struct hca_ops *ops, void *ctx,
	       struct timers *timers, struct pkt_pool *pool, const struct log_sink *log)
{
	struct hca *h;
	int err;

	if (cfg->node.type != IB_NODE_CA || (unsigned int)cfg->crc > HCA_CRC_LAZY)
		return -EINVAL;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->ops = ops;
	h->ctx = ctx;
	h->timers = timers;
	h->pool = pool;
	h->log = log;
	h->crc = cfg->crc;
	h->trains = cfg->trains;
	h->max_qps = cfg->max_qps ? cfg->max_qps : HCA_MAX_QPS;
	h->next_qpn = HCA_FIRST_QPN;
	list_init(&h->ahs);
	list_init(&h->ready);
	timer_init(&h->mad_loop_timer, hca_mgmt_loop);

	err = -ENOMEM;
	h->mad_loop = calloc(cfg->node.nports + 1u, sizeof(*h->mad_loop));
	if (!h->mad_loop)
		goto out_free;
	err = node_init(&h->node, &cfg->node, &node_ops, h, timers, log);
	if (err)
		goto out_loop;
	*ret = h;
	return 0;

out_loop:
	free(h->mad_loop);
out_free:
	free(h);
	return err;
}

void hca_destroy(struct hca *h)
{
	struct hca_ah *ah, *next;
	struct hlink *n;
	unsigned int nports;

	if (!h)
		return;
	while ((n = htab_each(&h->qps, NULL)))
		hca_qp_destroy(container_of(n, struct hca_qp, by_qpn));
	list_for_each_safe (ah, next, &h->ahs, link)
		hca_ah_destroy(ah);
	/*
	 * Call node_fini() before freeing the queues in h->mad_loop, because a request that
	 * node_fini() cancels may send a MAD to this HCA.
	 */
	nports = h->node.info.nports;
	node_fini(&h->node);
	timer_cancel(h->timers, &h->mad_loop_timer);
	for (unsigned int i = 0; i <= nports; i++)
		pkt_queue_purge(&h->mad_loop[i]);
	hca_group_fini(h);
	htab_fini(&h->qps);
	free(h->mad_loop);
	free(h);
}

bool hca_trains(const struct hca *h)
{
	return h->trains;
}

struct node *hca_node(struct hca *h)
{
	return &h->node;
}

uint64_t hca_drops(const struct hca *h, enum hca_drop d)
{
	return (unsigned int)d < HCA_DROP_MAX ? h->drops[d] : 0;
}

/*
 * ops->ready() may poll, send, arm and destroy QPs. If ops->ready() sends to another QP of this
 * HCA, this other QP is added to h->ready. Only the outermost call of hca_notify() empties
 * h->ready, so there is no recursion.
 */
void hca_notify(struct hca *h)
{
	if (h->notifying)
		return;
	h->notifying = true;
	while (!list_empty(&h->ready)) {
		struct hca_qp *qp = list_first(&h->ready, struct hca_qp, ready);

		list_del(&qp->ready);
		h->ops->ready(h->ctx, qp);
	}
	h->notifying = false;
}

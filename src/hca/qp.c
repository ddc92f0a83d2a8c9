/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct hca_qp *hca_qp_find(struct hca *h, uint32_t qpn)
{
	struct hlink *n = htab_first(&h->qps, qpn);

	return n ? container_of(n, struct hca_qp, by_qpn) : NULL;
}

static bool qpn_usable(struct hca *h, uint32_t qpn)
{
	return qpn > IB_QP1 && qpn < IB_QPN_MCAST && !hca_qp_find(h, qpn);
}

/*
 * Choose a QPN: @hint if it is usable, otherwise the next number in rising order. So a new QP
 * without a hint does not get the number of a QP that was just destroyed and for which packets may
 * still arrive. Return: 0 if no number is free
 */
static uint32_t qpn_alloc(struct hca *h, uint32_t hint)
{
	uint32_t qpn;

	if (h->qps.n >= h->max_qps)
		return 0;
	if (qpn_usable(h, hint))
		return hint;
	for (uint32_t tries = 0; tries < IB_QPN_MCAST - HCA_FIRST_QPN; tries++) {
		qpn = h->next_qpn++;
		if (h->next_qpn >= IB_QPN_MCAST)
			h->next_qpn = HCA_FIRST_QPN;
		if (qpn_usable(h, qpn))
			return qpn;
	}
	return 0;
}

static uint32_t ring_size(uint32_t depth)
{
	uint32_t n = 1;

	while (n < depth)
		n *= 2;
	return n;
}

static int qp_init(struct hca_qp *qp, struct hca *h, const struct hca_qp_attr *attr, void *ctx)
{
	qp->hca = h;
	qp->np = hca_port(h, attr->port);
	qp->ctx = ctx;
	qp->qkey = attr->qkey;
	qp->pkey_index = attr->pkey_index;
	qp->port = attr->port;
	qp->depth = attr->rx_depth ? attr->rx_depth : HCA_RX_DEPTH;
	qp->mask = ring_size(qp->depth) - 1;
	list_init(&qp->ready);
	qp->qpn = qpn_alloc(h, attr->qpn_hint);
	if (!qp->qpn)
		return -ENOSPC;
	qp->ring = calloc(qp->mask + 1, sizeof(*qp->ring));
	if (!qp->ring)
		return -ENOMEM;
	return htab_add(&h->qps, &qp->by_qpn, qp->qpn);
}

int hca_qp_create(struct hca *h, const struct hca_qp_attr *attr, void *ctx, struct hca_qp **ret)
{
	struct hca_qp *qp;
	int err;

	if (!hca_port_valid(h, attr->port) || attr->pkey_index >= NODE_PKEYS ||
	    attr->rx_depth > HCA_RX_DEPTH_MAX)
		return -EINVAL;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	err = qp_init(qp, h, attr, ctx);
	if (err) {
		free(qp->ring);
		free(qp);
		return err;
	}
	*ret = qp;
	return 0;
}

/* Drops the packets in the receive ring, as a transition to RESET does. */
static void qp_flush(struct hca_qp *qp)
{
	while (qp->head != qp->tail) {
		struct pkt *p = hca_qp_take(qp).pkt;

		qp->hca->drops[HCA_DROP_QP_STATE] += pkt_count(p);
		pkt_free(p);
	}
}

void hca_qp_destroy(struct hca_qp *qp)
{
	if (!qp)
		return;
	qp_flush(qp);
	list_del(&qp->ready);
	hca_group_forget(qp);
	htab_del(&qp->hca->qps, &qp->by_qpn);
	free(qp->ring);
	free(qp);
}

int hca_qp_modify(struct hca_qp *qp, uint16_t pkey_index, uint32_t qkey)
{
	if (pkey_index >= NODE_PKEYS)
		return -EINVAL;
	/*
	 * A pending call of ops->ready() is still made. The owner then polls, finds no packet and
	 * arms the QP again.
	 */
	qp_flush(qp);
	qp->pkey_index = pkey_index;
	qp->qkey = qkey;
	qp->psn = 0;
	return 0;
}

uint32_t hca_qp_num(const struct hca_qp *qp)
{
	return qp->qpn;
}

void *hca_qp_ctx(const struct hca_qp *qp)
{
	return qp->ctx;
}

/*
 * Takes the first @n packets of the train at the head of the ring. Return: false if the train has
 * no more than @n packets, or if there is no descriptor for these packets; the caller then takes
 * the whole train
 */
static bool take_part(struct hca_qp *qp, unsigned int n, struct hca_wc *ret)
{
	struct hca_wc *wc = &qp->ring[qp->head & qp->mask];
	struct pkt *p = wc->pkt, *first;

	if (pkt_count(p) <= n)
		return false;
	first = train_split(p, n);
	if (!first)
		return false;
	qp->waiting -= n;
	*ret = *wc;
	ret->pkt = first;
	/*
	 * Copy the GRH, which is before the payload in hdr[], to the new descriptor, and let
	 * ret->grh point to the copy.
	 */
	if (wc->grh) {
		uint8_t *grh = first->hdr + (wc->grh - p->hdr);

		memcpy(grh, wc->grh, IB_GRH_LEN);
		ret->grh = grh;
	}
	return true;
}

unsigned int hca_poll(struct hca_qp *qp, struct hca_wc *v, unsigned int n)
{
	unsigned int got = 0;

	for (unsigned int packets = 0; packets < n && qp->head != qp->tail; got++) {
		if (!take_part(qp, n - packets, &v[got]))
			v[got] = hca_qp_take(qp);
		packets += pkt_count(v[got].pkt);
	}
	return got;
}

bool hca_arm(struct hca_qp *qp)
{
	if (qp->head != qp->tail)
		return false;
	qp->armed = true;
	return true;
}
